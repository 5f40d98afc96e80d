/*
 * Finding the edges of a bad run.  Blocks between good and bad data are tried,
 * an eighth of the way from the good side, because trying a bad block takes
 * many times longer than a good one.  Bad blocks are recorded; good ones will
 * be read again with their neighbours.
 */
#include "edges.h"

#include <stdlib.h>

#include "base/number.h"
#include "block.h"
#include "copy/transfer.h"
#include "pass.h"
#include "rescue/liveness.h"
#include "rescue/rescue.h"

enum { PART = 8 };

struct search {
	struct worker	*w;
	uint64_t	 ticket;
	unsigned char	*buf;
	bool		 over;		/* it cannot be determined */
};

/* Whether the block at off, which is untried or failed, can be read. */
static bool
is_read(struct search *s, uint64_t off, size_t len, enum seg_status was)
{
	struct worker *w = s->w;
	size_t mark = liveness_mark(w);
	struct seg at = { off, 0, was };	/* others need not avoid it */
	struct io io = { .op = OP_READ, .buf = s->buf,
		.off = off, .len = len, .careful = true };

	exclusive_reads(&w->job->rescue->exclusive, s->ticket, &at);
	lane_transfer(&w->src, &io);
	liveness_feel(w, &io, off, was, mark);
	if (io.err == 0 && io.done == len)
		return true;
	if (!errno_is_medium(io.err))	/* the next read meets it, too */
		s->over = true;
	else if (map_set(&w->job->map, off, len, BAD) != 0)
		transfer_fail_map(w->job);
	return false;
}

static bool
is_good(struct search *s, uint64_t off, size_t len)
{
	struct job *job = s->w->job;
	enum seg_status was = map_at(&job->map, off);

	if (was == FINISHED || was == BAD)
		return was == FINISHED;
	if ((was != UNTRIED && was != UNTRIMMED) || pass_given_up(job) ||
	    job->stop || job->rate.paused ||
	    !rate_wait(&job->rate, len, job->halt)) {
		s->over = true;
		return false;
	}
	return is_read(s, off, len, was);
}

/* How far to go from the good side next: growing in the beginning. */
static uint64_t
next_step(uint64_t step, uint64_t way, bool met)
{
	uint64_t most = way / PART;

	return met || step * PART > most ? most : step * PART;
}

/* The end of the bad run from "from" on, at most "to". */
static uint64_t
edges_find_end(struct search *s, uint64_t from, uint64_t to)
{
	uint64_t step = 0, at;
	bool met = false;
	size_t len;

	while (from < to && !s->over) {
		at = block_last(s->w->job->rescue, from, to - step);
		len = block_at(s->w->job->rescue, at, to);
		if (is_good(s, at, len)) {
			to = at;
		} else {
			from = at + len;
			met = true;
		}
		step = next_step(step == 0 ? len : step, to - from, met);
	}
	return to;
}

/* The beginning of the bad run before "to", at least "from". */
static uint64_t
find_begin(struct search *s, uint64_t from, uint64_t to)
{
	uint64_t step = 0, at;
	bool met = false;
	size_t len;

	while (from < to && !s->over) {
		at = block_last(s->w->job->rescue, from, from + step + 1);
		len = block_at(s->w->job->rescue, at, to);
		if (is_good(s, at, len)) {
			from = at + len;
		} else {
			to = at;
			met = true;
		}
		step = next_step(step == 0 ? len : step, to - from, met);
	}
	return from;
}

/* Whether a jump has crossed a real run: try a block in its middle. */
static bool
is_run(struct search *s, const struct bad_run *bad)
{
	const struct rescue *r = s->w->job->rescue;
	uint64_t at = block_last(r, bad->last, bad->last +
	    (bad->end - bad->last) / 2 + 1);

	return bad->sure || !is_good(s, at, block_at(r, at, bad->end));
}

void
edges_find(struct worker *w, uint64_t ticket, const struct bad_run *bad)
{
	struct rescue *r = w->job->rescue;
	struct search s = { .w = w, .ticket = ticket };
	struct run run;

	if ((ticket == 0 && w->job->p->workers > 1) ||
	    pass_backwards(w->job, r->pass))
		return;
	s.buf = page_alloc(r->unit);
	if (s.buf == NULL)
		return;
	if (is_run(&s, bad)) {
		run.end = edges_find_end(&s, bad->last, bad->end);
		run.off = find_begin(&s, bad->off, bad->first);
		if (!s.over && run.off < run.end)
			course_learn(&r->course, &run);
	}
	free(s.buf);
}
