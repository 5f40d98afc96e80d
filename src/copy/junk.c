/*
 * Junk after errors.  Some disks and bridges, after enough errors, answer every
 * read without an error, but with zeros, with 0xFF, or with the block once more
 * that they read last.  So once there was an error, what repeats one byte or
 * one block, or begins or ends as a read elsewhere did just before, is trusted
 * only while a block that was read before, and is none of that, still reads as
 * it did:
 *
 *	known	such blocks, one of which is read, each in turn
 *	late	how the last reads began and ended
 *	held	what is in doubt; if not confirmed, it becomes untried
 *
 * A known block is read at the first doubtful read after each error, after a
 * number of them, once a map was saved without them, and at the end.  While
 * none can be read, what is held stays so; at the end, or once too much is, the
 * source is taken for gone.
 *
 * An error is noticed when its read returns, and other workers have read
 * meanwhile.  So what is doubtful is held even before any error, and trusted as
 * more follows.
 *
 *	look	over the reads of known blocks
 *	lock	a few instructions, a leaf: all else
 */
#include "copy/junk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "copy/job.h"

enum {
	MANY = 64,		/* held pieces that trigger a check */
	TRIES = 3,		/* known blocks tried, unless one is right */
};

int
junk_begin(struct junk *j, bool goes_on)
{
	*j = (struct junk){ .held = goes_on ? malloc(JUNK_HELD *
	    sizeof(*j->held)) : NULL };
	pthread_mutex_init(&j->look, NULL);
	pthread_mutex_init(&j->lock, NULL);
	return goes_on && j->held == NULL ? ENOMEM : 0;
}

void
junk_end(struct junk *j)
{
	free(j->held);
	pthread_mutex_destroy(&j->lock);
	pthread_mutex_destroy(&j->look);
}

uint64_t
junk_sum(const unsigned char *buf, size_t len)
{
	uint64_t sum = 0, word = 0;
	size_t i;

	for (i = 0; i < len; i += sizeof(word)) {
		memcpy(&word, buf + i, MIN(sizeof(word), len - i));
		sum = (sum ^ word) * 0x9E3779B97F4A7C15;
		sum ^= sum >> 32;
	}
	return sum;
}

/* lock: the next known block with another sum, or NULL. */
static const struct sample *
junk_other_known(struct junk *j, uint64_t sum)
{
	const struct sample *s;
	size_t i;

	for (i = 0; i < j->n; i++) {
		s = &j->known[j->next++ % j->n];
		if (s->sum != sum)
			return s;
	}
	return NULL;
}

/*
 * lock: the first blocks, and then, if "later", ever fewer: those at the start
 * of a disk may all go bad.
 */
static void
junk_know_block(struct junk *j, const struct sample *s, bool later)
{
	size_t i;

	for (i = 0; i < j->n; i++)
		if (j->known[i].sum == s->sum)
			return;
	if (j->n < JUNK_KNOWN) {
		j->known[j->n++] = *s;
	} else if (later) {
		if ((j->more & (j->more + 1)) == 0)	/* 0, 1, 3, 7 ... */
			j->known[__builtin_popcountll(j->more) %
			    JUNK_KNOWN] = *s;
		j->more++;
	}
}

/* lock */
static void
junk_note_edge(struct junk *j, const struct sample *s, struct seg read)
{
	j->late[j->lates++ % JUNK_LATE] = (struct edge){ *s, read };
}

void
junk_know(struct junk *j, const struct sample *s, size_t n,
    const struct sample *last)
{
	size_t i;

	pthread_mutex_lock(&j->lock);
	for (i = 0; i < n; i++)
		junk_know_block(j, &s[i], false);
	if (n > 0)
		junk_note_edge(j, last, (struct seg){ .len = 0 });
	pthread_mutex_unlock(&j->lock);
}

void
junk_saw(struct junk *j, uint64_t at, const unsigned char *buf, size_t len)
{
	const struct sample s = { at, junk_sum(buf, len) };

	pthread_mutex_lock(&j->lock);
	junk_note_edge(j, &s, (struct seg){ .len = 0 });
	pthread_mutex_unlock(&j->lock);
}

/* lock: a read elsewhere that has just begun or ended with this block. */
static const struct edge *
junk_came_late(const struct junk *j, const struct sample *s)
{
	size_t i, n = j->lates < JUNK_LATE ? j->lates : JUNK_LATE;

	for (i = 0; i < n; i++)
		if (j->late[i].block.sum == s->sum &&
		    j->late[i].block.at != s->at)
			return &j->late[i];
	return NULL;
}

/* What a read has brought: its whole blocks, and what it looks like. */
struct look {
	struct sample	 first, last;	/* of its blocks */
	bool		 repeats;	/* one block, or one byte */
};

/* Returns false if it has no whole block. */
static bool
junk_look_at(const struct worker *w, const struct io *io, struct look *l)
{
	const size_t block = w->job->p->sector;
	const uint64_t from = lane_place(&w->src, io->off);
	const unsigned char *buf = io->buf;
	size_t skip = (size_t)(round_up(from, block) - from), n, last;

	if (skip + block > io->done)
		return false;
	buf += skip;
	n = (io->done - skip) / block * block;
	last = n - block;
	l->first = (struct sample){ from + skip, junk_sum(buf, block) };
	l->last = (struct sample){ from + skip + last, last == 0 ?
	    l->first.sum : junk_sum(buf + last, block) };
	l->repeats = last > 0 ? memcmp(buf, buf + block, last) == 0 :
	    memcmp(buf, buf + 1, block - 1) == 0;
	return true;
}

/*
 * lock: of the first n held, stop holding those with another sum than that of a
 * known block that is right.
 */
static void
junk_drop(struct junk *j, size_t n, uint64_t known)
{
	size_t i, kept = 0, asked = 0;

	for (i = 0; i < j->helds; i++)
		if (i >= n || j->held[i].sum == known) {
			asked += i < n;
			j->held[kept++] = j->held[i];
		}
	j->helds = kept;
	j->asked = asked;
}

/*
 * lock: what repeats often continues more of it.  There is room, because
 * workers that hold too many run a check, one after the other.
 */
static void
junk_hold(struct junk *j, const struct held *h)
{
	struct seg *seg;
	size_t i;

	for (i = j->asked; i < j->helds; i++) {
		seg = &j->held[i].seg;
		if (j->held[i].sum == h->sum && seg->status == h->seg.status &&
		    seg->off + seg->len == h->seg.off) {
			seg->len += h->seg.len;
			return;
		}
	}
	if (j->errors == 0 && j->helds == MANY)
		memmove(j->held, j->held + 1, --j->helds * sizeof(*j->held));
	if (j->helds < JUNK_HELD)
		j->held[j->helds++] = *h;
}

/*
 * lock: record a read; whether a known block is to be read because of it.  Of
 * two reads with the same edge, the one recorded first can be the junk.
 */
static bool
junk_note(struct junk *j, const struct look *l, const struct seg *read)
{
	const struct edge *first = junk_came_late(j, &l->first);
	const struct edge *late = first != NULL ? first :
	    junk_came_late(j, &l->last);
	struct held h = { *read, l->repeats || first != NULL ? l->first.sum :
	    l->last.sum };
	struct held other = { .sum = h.sum };
	bool doubtful = l->repeats || late != NULL;

	if (late != NULL && !l->repeats)
		other.seg = late->read;
	junk_know_block(j, &l->first, !doubtful);
	junk_know_block(j, &l->last, !doubtful);
	junk_note_edge(j, &l->first, *read);
	junk_note_edge(j, &l->last, *read);
	if (!doubtful || junk_other_known(j, h.sum) == NULL)
		return j->due;
	junk_hold(j, &h);
	if (other.seg.len > 0)
		junk_hold(j, &other);
	return j->due || j->errors > j->believed ||
	    (j->errors > 0 && j->helds >= MANY);
}

/* What is held first, and a known block to confirm it; false: there is none. */
static bool
junk_choose(struct junk *j, struct sample *known, struct held *first)
{
	const struct sample *s;

	pthread_mutex_lock(&j->lock);
	*first = j->held[0];
	s = junk_other_known(j, first->sum);
	if (s != NULL)
		*known = *s;
	pthread_mutex_unlock(&j->lock);
	return s != NULL;
}

/* A block that cannot be read any more makes room for another. */
static void
junk_unknow(struct junk *j, const struct sample *s)
{
	size_t i;

	pthread_mutex_lock(&j->lock);
	for (i = 0; i < j->n && j->n == JUNK_KNOWN; i++)
		if (j->known[i].sum == s->sum)
			j->known[i] = j->known[--j->n];
	pthread_mutex_unlock(&j->lock);
}

/*
 * Read known blocks.  Returns 0 if they are what they were, of which one is
 * enough: a source in use may change; else EIO; why the source is gone; EAGAIN
 * if none can be read; or ECANCELED.
 */
static int
junk_reread(struct worker *w, struct io *io, struct sample *known,
    struct held *first, unsigned tries)
{
	unsigned i, other = 0;

	for (i = 0; i < tries && (i < TRIES || !w->job->stop) &&
	    junk_choose(&w->job->junk, known, first); i++) {
		io->off = lane_off(&w->src, known->at);
		io->done = 0;
		io->err = io->status = 0;
		lane_transfer(&w->src, io);
		if (io->err != 0 || io->done < io->len) {
			if (errno_is_gone(io->err) || io->err == ECANCELED)
				return io->err;
			junk_unknow(&w->job->junk, known);
		} else if (junk_sum(io->buf, io->len) == known->sum) {
			junk_saw(&w->job->junk, known->at, io->buf, io->len);
			return 0;
		} else if (++other == TRIES) {
			break;
		}
	}
	return other == 0 ? EAGAIN : EIO;
}

/*
 * Confirm all that is held; else as junk_reread, and the first.  It may wait
 * for a block that can be read, unless it must be known now.
 */
static int
junk_confirm(struct worker *w, struct held *first, bool now)
{
	struct junk *j = &w->job->junk;
	struct io io = { .op = OP_READ, .len = w->job->p->sector,
		.careful = true };
	struct sample known = { .sum = 0 };
	size_t errors;
	int err = 0;

	io.buf = page_alloc(io.len);
	if (io.buf == NULL)
		return ENOMEM;
	pthread_mutex_lock(&j->lock);
	j->asked = j->helds;
	j->due = false;
	errors = j->errors;
	now = now || (j->helds >= MANY && !w->job->stop);
	while (err == 0 && j->asked > 0) {
		pthread_mutex_unlock(&j->lock);
		err = junk_reread(w, &io, &known, first, now ? JUNK_KNOWN :
		    TRIES);
		pthread_mutex_lock(&j->lock);
		if (err == 0)
			junk_drop(j, j->asked, known.sum);
	}
	j->asked = 0;
	if ((err == EAGAIN || err == ECANCELED) && !now)
		err = 0;
	if (err == 0)
		j->believed = errors;
	pthread_mutex_unlock(&j->lock);
	free(io.buf);
	return err;
}

/* What is no data, or may be none, as err says. */
static void
junk_say(struct io *io, uint64_t sum, int err)
{
	io->err = err == EIO || err == EAGAIN ? ENODEV : err;
	io->status = 0;
	io->done = 0;
	snprintf(io->why, sizeof(io->why), "%s", err == EAGAIN ?
	    "no answer any longer, even for what could be read before" :
	    err != EIO ? "" : sum == 0 ?
	    "zeros, as there are now where it had something else" :
	    "the same again, as there is now where it had something else");
}

bool
junk_feel(struct worker *w, struct io *io, enum seg_status was)
{
	struct junk *j = &w->job->junk;
	const struct seg read = { io->off, io->done, was };
	struct held first = { .sum = 0 };
	struct look l;
	bool whole = junk_look_at(w, io, &l), ask;
	int err;

	pthread_mutex_lock(&j->lock);
	ask = whole && junk_note(j, &l, &read);
	j->errors += io->err != 0 && io->err != ECANCELED;
	pthread_mutex_unlock(&j->lock);
	if (!ask)
		return true;
	pthread_mutex_lock(&j->look);
	err = junk_confirm(w, &first, false);
	pthread_mutex_unlock(&j->look);
	if (err != 0)
		junk_say(io, first.sum, err);
	return err == 0;
}

bool
junk_held(struct job *job)
{
	struct junk *j = &job->junk;
	bool some;

	pthread_mutex_lock(&j->lock);
	some = j->helds > 0 && j->errors > 0;
	pthread_mutex_unlock(&j->lock);
	return some;
}

bool
junk_last(struct worker *w, struct io *io)
{
	struct held first = { .sum = 0 };
	int err = junk_held(w->job) ? junk_confirm(w, &first, true) : 0;

	if (err == 0)
		return true;
	io->off = first.seg.off;
	io->len = (size_t)first.seg.len;
	junk_say(io, first.sum, err);
	return false;
}

bool
junk_doubts(struct job *job, uint64_t off, uint64_t len)
{
	struct junk *j = &job->junk;
	bool some = false;
	size_t i;

	pthread_mutex_lock(&j->lock);
	for (i = 0; i < j->helds && j->errors > 0 && !some; i++)
		some = j->held[i].seg.off < off + len &&
		    off < j->held[i].seg.off + j->held[i].seg.len;
	j->due = j->due || some;
	pthread_mutex_unlock(&j->lock);
	return some;
}

bool
junk_settle(struct worker *w, struct io *io)
{
	struct junk *j = &w->job->junk;
	bool due, right;

	pthread_mutex_lock(&j->lock);
	due = j->due;
	pthread_mutex_unlock(&j->lock);
	if (!due)
		return true;
	pthread_mutex_lock(&j->look);
	right = junk_last(w, io);
	pthread_mutex_unlock(&j->look);
	return right;
}

size_t
junk_doubted(struct job *job, struct seg held[JUNK_HELD])
{
	struct junk *j = &job->junk;
	size_t i, n;

	pthread_mutex_lock(&j->lock);
	n = j->errors > 0 ? j->helds : 0;
	for (i = 0; i < n; i++)
		held[i] = j->held[i].seg;
	j->due = n > 0;
	pthread_mutex_unlock(&j->lock);
	return n;
}

void
junk_forgive(struct job *job)
{
	struct junk *j = &job->junk;
	size_t i;

	for (i = 0; i < j->helds; i++)
		(void)map_set(&job->map, j->held[i].seg.off,
		    j->held[i].seg.len, j->held[i].seg.status);
}
