/*
 * The pulse.  A device that was taken away often says so (ENODEV), but behind
 * an adapter, a loop device or a network each read may just fail, and so would
 * the rest of the disk, as bad as that.  So no error counts for good until a
 * read that succeeds after it has proved that the disk is there.
 *
 * With MANY errors in a row, and at the end, some blocks are asked, and who
 * else meets an error waits for the answer: the last good ones of this run;
 * some of all that any run has read, which the map knows; some that nobody has
 * tried.  The source is there if one of them can be read.  Where nothing was
 * ever read nothing can be concluded, and all is bad.
 *
 *	look	over those reads, by a worker that holds no other: lost
 *	lock	a few instructions, a leaf: what is noted
 */
#include "rescue/pulse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "copy/job.h"
#include "copy/transfer.h"
#include "rescue/rescue.h"

enum {
	MANY = 16,
	SPREAD = 8,		/* blocks asked of what has one status */
	ALL = PULSE_GOOD + 2 * SPREAD,
	FEW = 2,		/* who has stopped the run waits for them */
};

struct asked {			/* bytes of the source */
	uint64_t	at[ALL];
	size_t		n;
};

void
pulse_begin(struct pulse *p)
{
	p->bads = p->proved = p->goods = 0;
	p->lost = p->blank = false;
	pthread_mutex_init(&p->look, NULL);
	pthread_mutex_init(&p->lock, NULL);
}

void
pulse_end(struct pulse *p)
{
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->look);
}

size_t
pulse_mark(struct worker *w)
{
	struct pulse *p = &w->job->rescue->pulse;
	size_t mark;

	pthread_mutex_lock(&p->lock);
	mark = p->bads;
	pthread_mutex_unlock(&p->lock);
	return mark;
}

/* The errors before the mark were met before this read began. */
static void
note_good(struct pulse *p, uint64_t off, size_t mark)
{
	pthread_mutex_lock(&p->lock);
	if (mark > p->proved)
		p->proved = mark;
	p->good[p->goods++ % PULSE_GOOD] = off;
	pthread_mutex_unlock(&p->lock);
}

static void
note_bad(struct rescue *r, uint64_t off, uint64_t len, enum seg_status was)
{
	struct pulse *p = &r->pulse;

	pthread_mutex_lock(&p->lock);
	if (p->bads == p->proved) {
		p->pass = r->pass;
		p->retry = r->retry;
	}
	p->bad[p->bads++ % PULSE_BAD] = (struct seg){ off, len, was };
	pthread_mutex_unlock(&p->lock);
}

void
pulse_note(struct worker *w, uint64_t off, uint64_t len, enum seg_status was)
{
	note_bad(w->job->rescue, off, len, was);
}

/* Whether it is time to look. */
static bool
in_doubt(struct pulse *p)
{
	bool many;

	pthread_mutex_lock(&p->lock);
	many = p->bads >= p->proved + MANY && (p->goods > 0 || !p->blank);
	pthread_mutex_unlock(&p->lock);
	return many;
}

/* The last that this run has read. */
static void
ask_last(struct pulse *p, struct asked *a)
{
	pthread_mutex_lock(&p->lock);
	while (a->n < PULSE_GOOD && a->n < p->goods) {
		a->at[a->n] = p->good[a->n];
		a->n++;
	}
	pthread_mutex_unlock(&p->lock);
}

/* Of what the map gives a status, some blocks that lie evenly in it. */
static void
ask_map(struct job *job, enum seg_status status, uint64_t bytes,
    struct asked *a)
{
	uint64_t step = bytes / SPREAD, passed = 0, next = 0;
	struct seg s = { .len = 0 };
	size_t most = a->n + SPREAD;

	if (step < job->p->block)
		step = job->p->block;
	while (a->n < most && map_next(&job->map, s.off + s.len, status, &s)) {
		for (; a->n < most && next < passed + s.len; next += step)
			a->at[a->n++] = job->p->src_off + s.off + next -
			    passed;
		passed += s.len;
	}
}

/* The same of what was read outside of this copy, by the map's file. */
static void
ask_file(const struct job *job, struct asked *a)
{
	const struct mapfile *m = &job->rescue->keeper.file;
	size_t i, step = m->n / SPREAD + 1, most = a->n + SPREAD;
	size_t next = 0;

	for (i = 0; i < m->n && a->n < most; i++)
		if (m->seg[i].status == FINISHED && i >= next) {
			a->at[a->n++] = m->seg[i].off;
			next = i + step;
		}
}

/* Whom to ask; nobody, if nothing was ever read. */
static void
ask(struct job *job, struct asked *a)
{
	struct map_totals t = map_totals(&job->map);
	struct pulse *p = &job->rescue->pulse;

	*a = (struct asked){ .n = 0 };
	ask_last(p, a);
	ask_map(job, FINISHED, t.finished, a);
	if (a->n == 0)
		ask_file(job, a);
	if (a->n > 0) {
		ask_map(job, UNTRIED, t.untried, a);
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->blank = true;
	pthread_mutex_unlock(&p->lock);
}

/* Read the block at "off" again, past the page cache; its errno. */
static int
read_again(struct worker *w, struct io *io, uint64_t off)
{
	io->off = off - off % io->len;
	lane_transfer(&w->src, io);
	return io->err;
}

/* Ask some of them; all, unless the run is stopped meanwhile. */
static bool
is_there(struct worker *w, size_t most)
{
	struct pulse *p = &w->job->rescue->pulse;
	struct io io = { .op = OP_READ, .len = w->job->p->block,
		.careful = true };
	size_t i, n, mark = pulse_mark(w);
	bool is = false;
	struct asked a;

	ask(w->job, &a);
	n = a.n < most ? a.n : most;
	io.buf = aligned_alloc(4096, (io.len + 4095) / 4096 * 4096);
	if (io.buf == NULL || n == 0) {
		free(io.buf);
		return true;
	}
	for (i = 0; i < n && !is && (most < ALL || !w->job->stop); i++)
		is = read_again(w, &io, a.at[i]) == 0;
	free(io.buf);
	if (is)
		note_good(p, a.at[i - 1], mark);
	return is || i < n;
}

static bool
lost(struct worker *w)
{
	struct pulse *p = &w->job->rescue->pulse;
	bool is;

	if (!in_doubt(p))
		return false;
	pthread_mutex_lock(&p->look);
	if (!p->lost && in_doubt(p))
		p->lost = !is_there(w, ALL);
	is = p->lost;
	pthread_mutex_unlock(&p->look);
	return is;
}

static void
say_gone(struct io *io)
{
	io->err = ENODEV;
	io->status = 0;
	snprintf(io->why, sizeof(io->why), "no answer any more, not even for "
	    "what could be read before");
}

void
pulse_feel(struct worker *w, struct io *io, uint64_t off, enum seg_status was,
    size_t mark)
{
	struct pulse *p = &w->job->rescue->pulse;

	if (io->status == STATUS_TIMEOUT || io->err == ETIMEDOUT ||
	    io->err == ETIME) {
		io->err = EIO;
		io->status = 0;
	}
	if (io->done > 0)
		note_good(p, io->off, mark);
	if (!errno_is_medium(io->err))
		return;
	note_bad(w->job->rescue, off + io->done, io->len - io->done, was);
	if (lost(w))
		say_gone(io);
}

void
pulse_last(struct worker *w)
{
	struct pulse *p = &w->job->rescue->pulse;
	const struct seg *s = &p->bad[(p->bads - 1) % PULSE_BAD];
	const bool stopped = w->job->stop;
	struct io io = { .op = OP_READ };
	bool is;

	if (p->bads == p->proved || w->job->gone || w->job->doubt)
		return;
	/* the workers' lanes are gone by now */
	is = lane_attach(&w->src, w->job->p->src, w->job->halt) == 0;
	if (is) {
		w->src.requests = &w->asked[SOURCE];
		is = is_there(w, stopped ? FEW : ALL);
		lane_detach(&w->src);
	}
	if (is)
		return;
	p->lost = true;
	if (stopped)
		return;
	io.off = w->job->p->src_off + s->off;
	io.len = (size_t)s->len;
	say_gone(&io);
	transfer_fail_read(w->job, &io);
}

/* Without memory it stays as it is: no worse than bad. */
static void
forgive(struct map *map, const struct seg *s)
{
	static const enum seg_status all[] = { BAD, UNTRIMMED, UNSCRAPED };
	uint64_t end = s->off + s->len;
	struct seg part;
	size_t i;

	map_back(map, s);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		part = (struct seg){ s->off, 0, all[i] };
		while (all[i] != s->status && map_next(map, part.off +
		    part.len, all[i], &part) && part.off < end)
			(void)map_set(map, part.off, part.off + part.len <
			    end ? part.len : end - part.off, s->status);
	}
}

/* The last first: what failed twice had its first status before the first. */
void
pulse_forgive(struct job *job)
{
	const struct pulse *p = &job->rescue->pulse;
	size_t i, first = p->bads > p->proved + PULSE_BAD ?
	    p->bads - PULSE_BAD : p->proved;

	for (i = p->bads; i > first; i--)
		forgive(&job->map, &p->bad[(i - 1) % PULSE_BAD]);
}
