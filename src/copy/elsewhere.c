/*
 * Does the source read elsewhere?  A device that was removed often says so
 * (ENODEV), but behind a multipath without paths, an adapter or a network every
 * read may simply fail, and with coe=1 each block of the rest would be tried.
 *
 * So after MANY failed reads in a row, blocks that the copy has read before are
 * read again, at random, and then some that it has not tried yet.  One that can
 * be read is enough.  If nothing was ever read, nothing can be concluded.
 *
 * A read that took too long, or got lost on its way, ends the copy at once
 * unless others can be read: the next ones would take as long.
 */
#include "copy/elsewhere.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"

enum {
	MANY = 16,		/* failed reads in a row */
	ASKED = 8,		/* blocks of either kind that are read then, */
	FEW = 2,		/* or when each may take long */
};

uint64_t
elsewhere_random(uint64_t *dice, uint64_t n)
{
	*dice ^= *dice << 13;		/* xorshift */
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return *dice % n;
}

bool
elsewhere_pick(struct job *job, enum seg_status status, uint64_t *dice,
    uint64_t *off)
{
	uint64_t at = elsewhere_random(dice, map_totals(&job->map).end);
	struct seg s;

	if (!map_next(&job->map, at, status, &s) &&
	    !map_next(&job->map, 0, status, &s))
		return false;
	*off = s.off + (s.off != at ? elsewhere_random(dice, s.len) : 0);
	return true;
}

bool
elsewhere_read(struct worker *w, struct io *io, uint64_t off)
{
	io->off = off - lane_place(&w->src, off) % io->len;
	io->done = 0;
	io->err = io->status = 0;
	lane_transfer(&w->src, io);
	return io->err == 0;
}

bool
elsewhere_late(const struct io *io)
{
	return io->err == ETIMEDOUT || io->err == ETIME || io->err == ENOLINK;
}

void
elsewhere_gone(struct io *io)
{
	io->err = ENODEV;
	io->status = 0;
	snprintf(io->why, sizeof(io->why), "no answer any more, not even for "
	    "what could be read before");
}

enum answer { YES, NO, UNKNOWN };

/* Whether a block can be read: up to "most" that were before, then others. */
static enum answer
ask(struct worker *w, struct io *io, unsigned most)
{
	uint64_t dice = clock_ns() | 1, off;
	enum answer none = UNKNOWN;
	unsigned i;

	for (i = 0; i < 2 * most; i++) {
		if (w->job->stop)
			return UNKNOWN;
		if (!elsewhere_pick(w->job, i < most ? FINISHED : UNTRIED,
		    &dice, &off))
			continue;
		if (elsewhere_read(w, io, off))
			return YES;
		if (i < most)
			none = NO;
	}
	return none;
}

static enum answer
reads(struct worker *w, unsigned most)
{
	struct io io = { .op = OP_READ, .len = w->job->p->sector,
		.careful = true };
	enum answer answer;

	io.buf = page_alloc(io.len);
	if (io.buf == NULL)
		return UNKNOWN;
	answer = ask(w, &io, most);
	free(io.buf);
	return answer;
}

void
elsewhere_feel(struct worker *w, struct io *io)
{
	struct job *job = w->job;
	bool late = io->status == 0 && elsewhere_late(io);
	enum answer answer;

	if (io->done > 0)
		job->failing = 0;
	if (job->p->opts->coe == 0 || job->p->src->is.streamed ||
	    (!late && (!errno_is_medium(io->err) ||
	    ++job->failing % MANY != 0)))
		return;
	answer = reads(w, late ? FEW : ASKED);
	if (answer == NO)
		elsewhere_gone(io);
	else if (late && answer == YES)
		io->err = EIO;
}
