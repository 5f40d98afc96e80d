/*
 * Is the source still there?  A device that was removed often says so (ENODEV),
 * but behind an adapter, a loop device or a network every read may simply fail,
 * and the whole rest of the disk would be recorded as bad.  So an error is
 * final only once a later read has succeeded.
 *
 * After MANY errors in a row, and at the end, some blocks are read as a test; a
 * worker that meets an error meanwhile waits for the result.  They are blocks
 * that any run has read before, which the map knows, at random; if those fail,
 * some untried ones.  If nothing was ever read, nothing can be concluded, and
 * all is bad.  After a good answer the next test is half as urgent: where seeks
 * are slow it takes as long as an error.
 *
 * A disk with dead heads may still answer from its cache.  So no block is
 * tested twice, or chosen because it was read recently, and so many must be
 * read that they cannot all be cached: half of them if little was read before,
 * few if much was.  Untried blocks are in no cache, so one of them is enough.
 *
 *	look	over those reads, by a worker that holds no other: lost, dice
 *	lock	a few instructions, a leaf: what is recorded
 */
#include "rescue/liveness.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "copy/elsewhere.h"
#include "copy/job.h"
#include "copy/transfer.h"
#include "rescue/rescue.h"

enum {
	MANY = 16,
	ASKED = 16,		/* blocks read before, at most */
	FRESH = 6,		/* untried blocks, likewise */
	ROUNDS = 3,		/* times ASKED, while some answer */
	FEW = 2,		/* blocks when the user waits */
};

/* bytes: a generous four times the cache of a disk */
static const uint64_t cacheable = (uint64_t)2 << 30;

void
liveness_begin(struct liveness *l)
{
	l->bads = l->proved = 0;
	l->patience = MANY;
	l->lost = l->blank = l->read = false;
	l->dice = clock_ns() | 1;
	pthread_mutex_init(&l->look, NULL);
	pthread_mutex_init(&l->lock, NULL);
}

void
liveness_end(struct liveness *l)
{
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->look);
}

size_t
liveness_mark(struct worker *w)
{
	struct liveness *l = &w->job->rescue->liveness;
	size_t mark;

	pthread_mutex_lock(&l->lock);
	mark = l->bads;
	pthread_mutex_unlock(&l->lock);
	return mark;
}

/*
 * A read was good: it proves errors before the mark, which was set before it
 * began.  The next test comes after "patience" errors.
 */
static void
note_good(struct liveness *l, size_t mark, size_t patience)
{
	pthread_mutex_lock(&l->lock);
	if (mark > l->proved)
		l->proved = mark;
	l->patience = patience;
	l->read = true;
	pthread_mutex_unlock(&l->lock);
}

/* Whether it is time to test the source. */
static bool
in_doubt(struct liveness *l)
{
	bool many;

	pthread_mutex_lock(&l->lock);
	many = l->bads >= l->proved + l->patience && (l->read || !l->blank);
	pthread_mutex_unlock(&l->lock);
	return many;
}

/* A random byte that was read outside of this copy, by the map file. */
static bool
any_outside(const struct worker *w, uint64_t *off)
{
	const struct mapfile *m = &w->job->rescue->mapsaver.file;
	uint64_t *dice = &w->job->rescue->liveness.dice;
	size_t first = m->n > 0 ? (size_t)elsewhere_random(dice, m->n) : 0, i;
	const struct seg *s;

	for (i = 0; i < m->n; i++) {
		s = &m->seg[(first + i) % m->n];
		if (s->status != FINISHED || s->off + s->len >
		    (uint64_t)w->job->p->src->geo.size)
			continue;
		*off = lane_off(&w->src, s->off + elsewhere_random(dice,
		    s->len));
		return true;
	}
	return false;
}

/* How many of ASKED blocks, all read before, must be readable. */
static unsigned
liveness_needed(uint64_t finished)
{
	const unsigned least = ASKED / 8, most = ASKED / 2;

	return finished <= cacheable ? most :
	    least + (unsigned)((most - least) * cacheable / finished);
}

enum answer { YES, SOME, NO, NOTHING_READ, STOPPED };

/* Test up to "most" blocks that were read before. */
static enum answer
ask_read(struct worker *w, struct io *io, unsigned most)
{
	struct job *job = w->job;
	uint64_t *dice = &job->rescue->liveness.dice, off;
	unsigned need = most < ASKED ? most :
	    liveness_needed(map_totals(&job->map).finished), good = 0, i;

	for (i = 0; good < need && most - i >= need - good; i++) {
		if (most == ASKED && job->stop)
			return STOPPED;
		if (!elsewhere_pick(job, FINISHED, dice, &off) &&
		    !any_outside(w, &off))
			return NOTHING_READ;
		good += elsewhere_read(w, &w->src, io, off);
	}
	return good == need ? YES : good > 0 ? SOME : NO;
}

/* Test untried blocks; one readable block is enough. */
static enum answer
ask_fresh(struct worker *w, struct io *io)
{
	uint64_t *dice = &w->job->rescue->liveness.dice, off;
	unsigned i;

	for (i = 0; i < FRESH && elsewhere_pick(w->job, UNTRIED, dice, &off);
	    i++) {
		if (w->job->stop)
			return STOPPED;
		if (elsewhere_read(w, &w->src, io, off))
			return YES;
	}
	return NO;
}

static enum answer
liveness_probe(struct worker *w, struct io *io, unsigned most)
{
	enum answer answer = ask_read(w, io, most);
	unsigned i;

	if (most < ASKED)
		return answer;
	for (i = 1; i < ROUNDS && answer == SOME; i++)
		answer = ask_read(w, io, most);
	return answer == SOME || answer == NO ? ask_fresh(w, io) : answer;
}

/*
 * Whether the source answers, as far as is known; tests up to "most" blocks
 * read before.
 */
static bool
liveness_there(struct worker *w, unsigned most)
{
	struct liveness *l = &w->job->rescue->liveness;
	struct io io = { .op = OP_READ, .len = w->job->p->sector };
	size_t mark = liveness_mark(w);
	enum answer answer;

	io.buf = page_alloc(io.len);
	if (io.buf == NULL)
		return true;
	answer = liveness_probe(w, &io, most);
	free(io.buf);
	if (answer == YES)
		note_good(l, mark, 2 * (size_t)MANY);
	if (answer == NOTHING_READ) {
		pthread_mutex_lock(&l->lock);
		l->blank = true;
		pthread_mutex_unlock(&l->lock);
	}
	return answer != NO && answer != SOME;
}

static bool
liveness_lost(struct worker *w)
{
	struct liveness *l = &w->job->rescue->liveness;
	bool is;

	if (!in_doubt(l))
		return false;
	pthread_mutex_lock(&l->look);
	if (!l->lost && in_doubt(l))
		l->lost = !liveness_there(w, ASKED);
	is = l->lost;
	pthread_mutex_unlock(&l->look);
	return is;
}

void
liveness_gone(struct job *job)
{
	struct liveness *l = &job->rescue->liveness;

	pthread_mutex_lock(&l->look);
	l->lost = true;
	pthread_mutex_unlock(&l->look);
}

void
liveness_feel(struct worker *w, struct io *io, uint64_t off,
    enum seg_status was, size_t mark)
{
	struct liveness *l = &w->job->rescue->liveness;

	if (io->status == STATUS_TIMEOUT || elsewhere_late(io)) {
		io->err = EIO;
		io->status = 0;
	} else {
		elsewhere_resolve(w, &w->src, io);
	}
	if (!junk_feel(w, io, was)) {
		liveness_gone(w->job);
		return;
	}
	if (io->done > 0)
		note_good(l, mark, MANY);
	if (!errno_is_medium(io->err))
		return;
	pthread_mutex_lock(&l->lock);
	l->bad[l->bads++ % LIVENESS_BADS] = (struct seg){ off + io->done,
		io->len - io->done, was };
	pthread_mutex_unlock(&l->lock);
	if (liveness_lost(w))
		elsewhere_gone(io);
}

/* The same at the end; a stop meanwhile leaves few questions, but not none. */
static bool
is_there_at_last(struct worker *w)
{
	bool stopped = w->job->stop;

	return liveness_there(w, stopped ? FEW : ASKED) &&
	    (stopped || !w->job->stop || liveness_there(w, FEW));
}

/* Whether the disk that gave the last errors, and data, is still there. */
static bool
ends_well(struct worker *w, struct io *io)
{
	struct liveness *l = &w->job->rescue->liveness;

	if (l->bads > l->proved && !is_there_at_last(w)) {
		elsewhere_gone(io);
		return false;
	}
	return junk_last(w, io);
}

void
liveness_last(struct worker *w)
{
	struct liveness *l = &w->job->rescue->liveness;
	const struct seg *s;
	const bool stopped = w->job->stop;
	struct io io = { .op = OP_READ };
	bool well = false;

	if ((l->bads == l->proved && !junk_held(w->job)) ||
	    w->job->gone || w->job->doubt)
		return;
	/* the workers have detached their lanes */
	if (lane_attach(&w->src, w->job->p->src, w->job->p->src_off,
	    w->job->halt) == 0) {
		w->src.requests = &w->asked[SOURCE];
		well = ends_well(w, &io);
		lane_detach(&w->src);
	} else {
		elsewhere_gone(&io);
	}
	if (well)
		return;
	l->lost = true;
	if (stopped)
		return;
	if (l->bads > l->proved) {
		s = &l->bad[(l->bads - 1) % LIVENESS_BADS];
		io.off = s->off;
		io.len = (size_t)s->len;
	}
	transfer_fail_read(w, &io);
}

/*
 * Give a range its status back.  Without memory it stays bad, which is no
 * worse.
 */
static void
liveness_untry(struct map *map, const struct seg *s)
{
	static const enum seg_status all[] = { BAD, UNTRIMMED, UNSCRAPED };
	uint64_t end = s->off + s->len;
	struct seg part;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		part = (struct seg){ s->off, 0, all[i] };
		while (all[i] != s->status && map_next(map, part.off +
		    part.len, all[i], &part) && part.off < end)
			(void)map_set(map, part.off, part.off + part.len <
			    end ? part.len : end - part.off, s->status);
	}
}

/*
 * Last error first, so that a range that failed twice gets its original status.
 */
void
liveness_forgive(struct job *job)
{
	const struct liveness *l = &job->rescue->liveness;
	size_t i, first = l->bads > l->proved + LIVENESS_BADS ?
	    l->bads - LIVENESS_BADS : l->proved;

	for (i = l->bads; i > first; i--)
		liveness_untry(&job->map, &l->bad[(i - 1) % LIVENESS_BADS]);
}
