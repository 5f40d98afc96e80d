/*
 * A worker's access to an end.  Every request begins here, is counted, and ends
 * here.
 */
#include "end/lane.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/number.h"
#include "end/backend.h"
#include "end/gauge.h"

int
lane_attach(struct lane *lane, struct endpoint *ep, uint64_t origin, int halt)
{
	*lane = (struct lane){ .ep = ep, .origin = origin, .halt = halt };
	lane->last = &lane->over;
	return ep->be->attach == NULL ? 0 : ep->be->attach(lane);
}

void
lane_unattached(struct fault *f, const struct lane *lane, int err)
{
	if (err == ENXIO)	/* a node without its device, which was there */
		err = ENODEV;
	if (lane->why == NULL)
		fault_errno(f, err, "%s: starting a worker", lane->ep->name);
	else
		fault_set(f, status_errno(err), "%s: starting a worker: %s",
		    lane->ep->name, lane->why);
	f->err = (unsigned char)err;
}

int
lane_detach(struct lane *lane)
{
	int err = lane->ep->be->detach == NULL ? 0 : lane->ep->be->detach(lane);

	free(lane->bounce);
	return err;
}

bool
lane_halted(const struct lane *lane, int ms)
{
	struct pollfd p = { .fd = lane->halt, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

void
lane_describe(struct fault *f, const struct lane *lane, const struct io *io,
    const char *what)
{
	uint64_t at = lane_place(lane, io->off + io->done);

	if (io->why[0] == '\0')
		fault_errno(f, io->err, "%s: %s at byte %" PRIu64,
		    lane->ep->name, what, at);
	else
		fault_set(f, status_errno(io->err), "%s: %s at byte %" PRIu64
		    ": %s", lane->ep->name, what, at, io->why);
	f->err = (unsigned char)io->err;
	if (io->status != 0)
		f->status = io->status;
}

int
lane_extent(const struct lane *lane, uint64_t off, struct extent *x)
{
	const struct backend *be = lane->ep->be;
	int err = be->extent == NULL ? EOPNOTSUPP :
	    be->extent(lane->ep, lane_place(lane, off), false, x);

	if (err == 0)
		x->off = lane_off(lane, x->off);
	return err;
}

uint64_t
lane_border(const struct lane *lane, uint64_t off, uint64_t unit)
{
	return lane_off(lane, round_up(lane_place(lane, off), unit));
}

uint64_t
lane_border_before(const struct lane *lane, uint64_t off, uint64_t unit)
{
	return off - MIN(off, lane_place(lane, off) % unit);
}

/* Reset the result; returns how many bytes there is room for. */
static uint64_t
lane_begin(const struct lane *lane, struct io *io)
{
	uint64_t end = io->op == OP_READ ? UINT64_MAX : lane->ep->lim.end;

	io->done = 0;
	io->err = 0;
	io->status = 0;
	io->bad_off = NOWHERE;
	io->doubtful = io->spent = false;
	io->buf_in_use = false;
	io->why[0] = '\0';
	return end > io->off ? end - io->off : 0;
}

/* There is one writer, so no atomic addition is needed. */
static void
lane_count(atomic_uint *n)
{
	atomic_store_explicit(n,
	    atomic_load_explicit(n, memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

/* From here until it ends, the request has offsets of the end. */
static void
lane_to_end_offsets(const struct lane *lane, struct io *io)
{
	io->off = lane_place(lane, io->off);
}

static void
lane_to_own_offsets(const struct lane *lane, struct io *io)
{
	io->off = lane_off(lane, io->off);
	if (io->bad_off != NOWHERE)
		io->bad_off = lane_off(lane, io->bad_off);
}

static void
lane_began(const struct lane *lane, struct io *io)
{
	if (lane->requests != NULL)
		lane_count(&lane->requests->begun);
	if (lane->gauge != NULL)
		gauge_begin(lane, io, clock_ns());
}

static void
lane_request_ended(const struct lane *lane, struct io *io)
{
	if (lane->requests != NULL)
		lane_count(&lane->requests->ended);
	if (lane->gauge != NULL)
		gauge_note(lane, io, clock_ns());
	lane_to_own_offsets(lane, io);
}

static void
lane_transfer_once(struct lane *lane, struct io *io)
{
	uint64_t room = lane_begin(lane, io);
	size_t len = io->len;

	if (room < len)
		io->len = (size_t)room;
	if (io->len > 0)
		request_carry_out(lane, io);
	if (room < len && io->err == 0 && io->done == room) {
		io->err = ENOSPC;	/* as at the end of a disk */
		snprintf(io->why, sizeof(io->why), "partition %u ends there",
		    lane->ep->lim.part);
	}
	io->len = len;
}

void
lane_finish(struct lane *lane, struct io *io, int result)
{
	lane->ep->be->finish(lane, io, result);
	if (io->err == 0 && io->done < io->len)
		request_carry_out(lane, io);
	lane_request_ended(lane, io);
}

bool
lane_serves(const struct lane *lane)
{
	return lane->ep->be->service != NULL;
}

/* Start the next command of a request. */
static bool
lane_start_command(struct lane *lane, struct io *io, struct io_uring_sqe *sqe)
{
	size_t len = io->len, n = request_next(lane, io);
	bool started;

	if (!lane_serves(lane) && n < len)
		return false;
	io->len = io->done + n;
	started = lane->ep->be->start(lane, io, sqe);
	io->len = len;
	return started;
}

/* Whether all of a request moves data by commands, and fits into the end. */
static bool
lane_takes_whole(const struct lane *lane, const struct io *io)
{
	const struct commands *cmd = &lane->ep->cmd;

	return io->op != OP_ZERO && (cmd->unit == 0 ||
	    (io->off % cmd->unit == 0 && io->len % cmd->unit == 0 &&
	    io->off < cmd->end && io->len <= cmd->end - io->off));
}

bool
lane_start(struct lane *lane, struct io *io, struct io_uring_sqe *sqe)
{
	lane_to_end_offsets(lane, io);
	if (lane->ep->be->start == NULL || lane_begin(lane, io) < io->len ||
	    !lane_takes_whole(lane, io) || !lane_start_command(lane, io, sqe)) {
		lane_to_own_offsets(lane, io);
		return false;
	}
	lane_began(lane, io);
	return true;
}

int
lane_pollfd(struct lane *lane, short *events)
{
	const struct backend *be = lane->ep->be;

	return be->pollfd == NULL ? -1 : be->pollfd(lane, events);
}

void
lane_service(struct lane *lane)
{
	lane->ep->be->service(lane);
}

void
lane_over(struct lane *lane, struct io *io)
{
	io->next = NULL;
	*lane->last = io;
	lane->last = &io->next;
}

/* A command of the io has ended; false if the next one is under way. */
static bool
lane_command_ended(struct lane *lane, struct io *io)
{
	size_t before = io->done;

	lane->ep->be->finish(lane, io, 0);
	if (io->err != 0 || io->done == io->len)
		return true;
	if (io->done > before && lane_start_command(lane, io, NULL))
		return false;
	request_carry_out(lane, io);
	return true;
}

struct io *
lane_ended(struct lane *lane)
{
	struct io *io;

	while ((io = lane->over) != NULL) {
		lane->over = io->next;
		if (lane->over == NULL)
			lane->last = &lane->over;
		if (!lane_command_ended(lane, io))
			continue;
		lane_request_ended(lane, io);
		return io;
	}
	return NULL;
}

void
lane_transfer(struct lane *lane, struct io *io)
{
	lane_to_end_offsets(lane, io);
	lane_began(lane, io);
	lane_transfer_once(lane, io);
	lane_request_ended(lane, io);
}

bool
lane_again(struct lane *lane, struct io *io)
{
	bool worth = lane->again < lane->ep->spec.retries &&
	    (io->op == OP_READ ? errno_is_medium(io->err) :
	    io->op == OP_WRITE && io->err == EIO && !io->spent);

	lane->again = worth ? lane->again + 1 : 0;
	if (worth && io->op == OP_WRITE) {
		io->buf += io->done;
		io->off += io->done;
		io->len -= io->done;
		io->done = 0;
	}
	return worth;
}

void
lane_pack(struct lane *lane, uint64_t off, const unsigned char *buf, size_t len)
{
	if (lane->ep->be->pack != NULL && len > 0)
		lane->ep->be->pack(lane, lane_place(lane, off), buf, len);
}

void
endpoint_probe(struct endpoint *ep, struct io *io)
{
	struct lane lane = { .ep = ep, .halt = -1, .probes = true };

	io->err = ep->be->attach == NULL ? 0 : ep->be->attach(&lane);
	if (io->err != 0)
		return;
	lane_transfer(&lane, io);
	lane_detach(&lane);
}
