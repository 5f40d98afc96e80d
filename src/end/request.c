/*
 * A request on its way from a lane to its end: the part that all kinds of end
 * have in common.
 *
 * An end that takes commands (struct commands) is given one after the other:
 * of whole units, no larger than it takes, and never beyond its end.  What
 * begins or ends within a unit is read by way of a buffer of the lane.  Zeros
 * that an end has refused to make once are not asked for again.
 */
#include "end/backend.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"

enum {
	BOUNCE = 128 << 10,	/* bytes, to read parts of units */
	LEAST = 4096,		/* bytes that any host takes */
};

unsigned char *
lane_bounce(struct lane *lane)
{
	if (lane->bounce == NULL)
		lane->bounce = page_alloc(BOUNCE);
	return lane->bounce;
}

/* Bytes of a command of this kind. */
static uint64_t
request_most(const struct lane *lane, enum op op)
{
	return op == OP_ZERO ? lane->ep->cmd.zero_most : lane->ep->cmd.most;
}

size_t
request_next(const struct lane *lane, const struct io *io)
{
	const struct commands *cmd = &lane->ep->cmd;
	uint64_t at = io->off + io->done, left = io->len - io->done;

	if (cmd->unit == 0)
		return (size_t)left;
	if (at % cmd->unit != 0 || at >= cmd->end)
		return 0;
	if (left < cmd->end - at)
		left -= left % cmd->unit;
	else
		left = cmd->end - at;
	return (size_t)MIN(left, request_most(lane, io->op));
}

bool
request_shrink(struct lane *lane, size_t refused)
{
	struct commands *cmd = &lane->ep->cmd;
	uint64_t half = refused / cmd->unit / 2 * cmd->unit;

	if (half < LEAST)
		return false;
	if (cmd->most > half)
		cmd->most = (unsigned)half;
	cmd->shrunk++;
	return true;
}

/* Have the end do the next n bytes. */
static void
request_command(struct lane *lane, struct io *io, size_t n)
{
	size_t len = io->len;

	io->len = io->done + n;
	lane->ep->be->transfer(lane, io);
	io->len = len;
}

/* Read units of which the request has only a part, and take that. */
static void
request_read_part(struct lane *lane, struct io *io)
{
	const struct commands *cmd = &lane->ep->cmd;
	unsigned char *buf = io->buf, *bounce = lane_bounce(lane);
	uint64_t off = io->off, at = off + io->done;
	size_t skip = (size_t)(at % cmd->unit), done = io->done;
	size_t len = io->len, want = len - done, got;

	if (bounce == NULL) {
		io->err = ENOMEM;
		return;
	}
	io->buf = bounce;
	io->off = at - skip;
	io->done = 0;
	io->len = MIN((size_t)round_up(skip + want, cmd->unit), BOUNCE);
	request_command(lane, io, request_next(lane, io));
	got = io->done > skip ? MIN(io->done - skip, want) : 0;
	memcpy(buf + done, bounce + skip, got);
	io->buf = buf;
	io->off = off;
	io->done = done + got;
	io->len = len;
}

/* One step of a request; false if it went no further. */
static bool
request_step(struct lane *lane, struct io *io)
{
	const struct commands *cmd = &lane->ep->cmd;
	size_t before = io->done, n = request_next(lane, io);

	if (n > 0)
		request_command(lane, io, n);
	else if (io->off + io->done >= cmd->end)
		io->err = io->op == OP_READ ? 0 : ENOSPC;
	else if (io->op == OP_READ)
		request_read_part(lane, io);
	else
		io->err = EINVAL;
	return io->err == 0 && io->done > before;
}

/* Whether the end may be asked to make these zeros. */
static bool
request_zeroable(const struct commands *cmd, const struct io *io)
{
	return !cmd->no_zero && cmd->zero_most > 0 &&
	    io->off % cmd->unit == 0 && io->len % cmd->unit == 0;
}

void
request_carry_out(struct lane *lane, struct io *io)
{
	struct commands *cmd = &lane->ep->cmd;

	if (cmd->unit == 0) {
		lane->ep->be->transfer(lane, io);
	} else if (io->op == OP_ZERO && !request_zeroable(cmd, io)) {
		io->err = EOPNOTSUPP;
		return;
	}
	while (cmd->unit > 0 && io->done < io->len && request_step(lane, io))
		continue;
	if (io->op != OP_ZERO)
		return;
	if (io->err == EOPNOTSUPP)
		cmd->no_zero = true;
	if (io->err == EBUSY)		/* someone else is reading it now */
		io->err = EOPNOTSUPP;
}
