/*
 * Does the source read elsewhere?  A device that was removed often says so
 * (ENODEV), but behind a multipath without paths, an adapter or a network every
 * read may simply fail, and with coe=1 each block of the rest would be tried.
 *
 * So after MANY failed reads in a row, blocks that the copy has read before are
 * read again, at random, and then some that it has not tried yet.  One that can
 * be read is enough.  If nothing was ever read, that says little: the beginning
 * may be bad, or most of it.  Then it takes MANY_FIRST failed reads, and many
 * more anywhere in the source, none of which fails as if the source had looked
 * at the block.
 *
 * What can be read may be junk by then (junk.h).
 *
 * A read that took too long, got lost on its way, or failed as both bad blocks
 * and bad disks do (io.doubtful), ends the copy at once unless other blocks can
 * be read: the next reads would take as long.
 */
#include "copy/elsewhere.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "copy/junk.h"
#include "copy/transfer.h"

enum {
	MANY = 16,		/* failed reads in a row */
	ASKED = 8,		/* blocks of either kind that are read then, */
	ASKED_DOUBT = 4,	/* if it is doubtful, */
	FEW = 2,		/* or when each may take long */
	MANY_FIRST = 16 * MANY,	/* if nothing was ever read, */
	ASKED_FIRST = 64,	/* and blocks that are read then */
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
elsewhere_read(struct worker *w, struct lane *lane, struct io *io, uint64_t off)
{
	io->off = off - lane_place(lane, off) % io->len;
	io->done = 0;
	io->err = io->status = 0;
	io->careful = lane->ep->carrier == NULL;	/* else it is a try */
	lane_transfer(lane, io);
	if (io->err == 0 && io->done == io->len && lane == &w->src)
		junk_saw(&w->job->junk, lane_place(lane, io->off), io->buf,
		    io->len);
	return io->err == 0;
}

void
elsewhere_gone(struct io *io)
{
	io->err = ENODEV;
	io->status = 0;
	snprintf(io->why, sizeof(io->why), "no answer any longer, even for "
	    "what could be read before");
}

enum answer { YES, NO, UNKNOWN };

/* A byte anywhere in the end, also outside of the copy. */
static uint64_t
elsewhere_any(const struct lane *lane, uint64_t *dice)
{
	return lane_off(lane, elsewhere_random(dice,
	    (uint64_t)lane->ep->geo.size));
}

/* Whether a block can be read: tries up to "most" read before, then others. */
static enum answer
elsewhere_probe(struct worker *w, struct lane *lane, struct io *io,
    unsigned most)
{
	uint64_t dice = clock_ns() | 1, off;
	enum answer none = UNKNOWN;
	unsigned i;

	for (i = 0; i < 2 * most; i++) {
		if (w->job->stop)
			return UNKNOWN;
		if (!elsewhere_pick(w->job, i < most ? FINISHED : UNTRIED,
		    &dice, &off)) {
			if (i < most || lane->ep->geo.size <= 0)
				continue;
			off = elsewhere_any(lane, &dice);
		}
		if (elsewhere_read(w, lane, io, off))
			return YES;
		if (i < most)
			none = NO;
		if (io->status == STATUS_TIMEOUT)
			break;
	}
	return none;
}

/* An unspecific error: the source may not have read the block at all. */
static bool
error_unexplained(const struct io *io)
{
	return io->err == EIO && io->status == 0;
}

/* The same if nothing was ever read: "most" blocks, anywhere in the end. */
static enum answer
ask_anywhere(struct worker *w, struct lane *lane, struct io *io, unsigned most)
{
	uint64_t dice = clock_ns() | 1;
	unsigned i;

	for (i = 0; i < most; i++) {
		if (w->job->stop || lane->ep->geo.size <= 0)
			return UNKNOWN;
		if (elsewhere_read(w, lane, io, elsewhere_any(lane, &dice)))
			return YES;
		if (!error_unexplained(io))
			return UNKNOWN;
	}
	return NO;
}

static enum answer
with_buffer(struct worker *w, struct lane *lane, enum answer (*asks)(struct
    worker *, struct lane *, struct io *, unsigned), unsigned most)
{
	struct io io = { .op = OP_READ, .len = w->job->p->sector };
	enum answer answer;

	io.buf = page_alloc(io.len);
	if (io.buf == NULL)
		return UNKNOWN;
	answer = asks(w, lane, &io, most);
	free(io.buf);
	return answer;
}

void
elsewhere_resolve(struct worker *w, struct lane *lane, struct io *io)
{
	if (!io->doubtful)
		return;
	if (with_buffer(w, lane, elsewhere_probe, io->status ==
	    STATUS_TIMEOUT ? FEW : ASKED_DOUBT) == YES)
		io->err = EIO;
	else if (w->job->stop)
		io->err = ECANCELED;
}

/* After so many failed reads in a row: nothing was ever read, nor can be. */
static bool
source_dead(struct worker *w, struct lane *lane, const struct io *io,
    unsigned failed)
{
	return failed % MANY_FIRST == 0 && error_unexplained(io) &&
	    map_totals(&w->job->map).finished == 0 &&
	    with_buffer(w, lane, ask_anywhere, ASKED_FIRST) == NO;
}

void
elsewhere_feel(struct worker *w, struct lane *lane, struct io *io)
{
	struct job *job = w->job;
	atomic_uint *failing = &job->failing[lane == &w->dst];
	bool late = io->status == 0 && elsewhere_late(io);
	enum answer answer;
	unsigned failed = 0;

	if (io->done > 0)
		*failing = 0;
	if (job->p->opts->coe == 0 || lane->ep->is.streamed)
		return;
	elsewhere_resolve(w, lane, io);
	if (lane == &w->src && job->compare == NULL &&
	    !junk_feel(w, io, UNTRIED))
		return;
	if (!late && (!errno_is_medium(io->err) ||
	    (failed = ++*failing) % MANY != 0))
		return;
	answer = with_buffer(w, lane, elsewhere_probe, late ? FEW : ASKED);
	if (answer == NO) {
		elsewhere_gone(io);
	} else if (late && answer == YES) {
		io->err = EIO;
	} else if (!late && answer == UNKNOWN &&
	    source_dead(w, lane, io, failed)) {
		elsewhere_gone(io);
		snprintf(io->why, sizeof(io->why), "no answer, wherever it is "
		    "read");
	}
}

void
elsewhere_last(struct worker *w)
{
	const struct plan *p = w->job->p;
	struct io io = { .op = OP_READ };

	if (w->job->stop || !junk_held(w->job))
		return;
	/* the workers have detached their lanes */
	if (lane_attach(&w->src, p->src, p->src_off, w->job->halt) != 0) {
		elsewhere_gone(&io);
		transfer_fail_read(w, &io);
		return;
	}
	w->src.requests = &w->asked[SOURCE];
	if (!junk_last(w, &io))
		transfer_fail_read(w, &io);
	lane_detach(&w->src);
}
