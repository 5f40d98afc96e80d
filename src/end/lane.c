/*
 * A worker's way into an end: what begins here, is counted, and ends here.
 */
#include "end/lane.h"

#include <errno.h>
#include <stdio.h>

#include "backend.h"
#include "base/clock.h"
#include "end/gauge.h"

int
lane_attach(struct lane *lane, struct endpoint *ep, int halt)
{
	*lane = (struct lane){ .ep = ep, .halt = halt };
	return ep->be->attach == NULL ? 0 : ep->be->attach(lane);
}

int
lane_detach(struct lane *lane)
{
	return lane->ep->be->detach == NULL ? 0 : lane->ep->be->detach(lane);
}

/* As if it had not been tried; returns how much of it there is room for. */
static uint64_t
begin(const struct lane *lane, struct io *io)
{
	uint64_t end = io->op == OP_READ ? UINT64_MAX : lane->ep->end;

	io->done = 0;
	io->err = 0;
	io->status = 0;
	io->bad_off = NOWHERE;
	io->spent = false;
	io->why[0] = '\0';
	return end > io->off ? end - io->off : 0;
}

/* There is no other writer, so that no lock prefix is needed. */
static void
count(atomic_uint *n)
{
	atomic_store_explicit(n,
	    atomic_load_explicit(n, memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

static void
began(const struct lane *lane, struct io *io)
{
	if (lane->requests != NULL)
		count(&lane->requests->begun);
	if (lane->gauge != NULL)
		gauge_begin(lane, io, clock_ns());
}

static void
ended(const struct lane *lane, const struct io *io)
{
	if (lane->requests != NULL)
		count(&lane->requests->ended);
	if (lane->gauge != NULL)
		gauge_note(lane, io, clock_ns());
}

bool
lane_submit(struct lane *lane, struct io *io, struct io_uring_sqe *sqe)
{
	const struct backend *be = lane->ep->be;

	if (io->flight != NULL)
		return be->submit(lane, io, sqe);
	if (begin(lane, io) < io->len || be->submit == NULL ||
	    !be->submit(lane, io, sqe))
		return false;
	began(lane, io);
	return true;
}

static void
transfer(struct lane *lane, struct io *io)
{
	uint64_t room = begin(lane, io);
	size_t len = io->len;

	if (room < len)
		io->len = (size_t)room;
	if (io->len > 0)
		lane->ep->be->transfer(lane, io);
	if (room < len && io->err == 0 && io->done == room) {
		io->err = ENOSPC;	/* as at the end of a disk */
		snprintf(io->why, sizeof(io->why), "partition %u ends there",
		    lane->ep->part);
	}
	io->len = len;
}

bool
lane_finish(struct lane *lane, struct io *io, int result)
{
	enum reaped reaped = lane->ep->be->reap(lane, io, result);

	if (reaped == REAP_WAIT)
		return false;
	if (reaped == REAP_TRANSFER)
		transfer(lane, io);
	ended(lane, io);
	return true;
}

void
lane_transfer(struct lane *lane, struct io *io)
{
	began(lane, io);
	transfer(lane, io);
	ended(lane, io);
}
