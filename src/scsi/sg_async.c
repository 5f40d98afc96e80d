/*
 * Asynchronous SCSI commands: engine=async on sg nodes.
 *
 * The kernel takes a command by write(2) and returns its answer by read(2); a
 * poll covers all answers of the lane.  This needs a descriptor of the lane's
 * own, open for writing whatever the commands do, so it is done only on
 * request.  Of a request with several commands, one is in flight at a time.
 * Retries are left to transfer, on the lane's first descriptor.
 */
#include "sg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "end/reopen.h"

struct sg_call {			/* the commands of one io */
	struct io	*io;
	struct scsi_flight flight;	/* the current one, */
	struct scsi_reply reply;	/* the last reply */
};

struct sg_async {
	int		 fd;
	unsigned	 idle;		/* a bit per call that has no io */
	unsigned	 sent;		/* a bit per call with a command in
					 * flight */
	int		 id;		/* of the last command */
	struct sg_call	 call[SCSI_FLIGHTS];
};

/* Why commands cannot be asynchronous, or NULL. */
static const char *
sg_async_refusal(const struct endpoint *ep, const struct sg *sg)
{
	if (!ep->spec.async)
		return "SCSI commands are waited for";
	if (sg->path.node != SCSI_SG)
		return "bsg and block nodes have SG_IO, which waits";
	if (sg->how.mmap)
		return "mmap has one buffer for all commands";
	if (sg->shared)
		return "excl leaves one descriptor for all workers";
	return NULL;
}

/* Bytes per command that disk and host accept without trials. */
static uint64_t
most_bytes(const struct sg *sg)
{
	uint64_t most = (uint64_t)sg->most * sg->disk.block;
	int host = 0;

	if (ioctl(sg->path.fd, BLKSECTGET, &host) == 0 && host > 0 &&
	    (unsigned)host >= sg->disk.block && (unsigned)host < most)
		most = (unsigned)host;	/* bytes, of an sg node */
	return most;
}

void
sg_async_offer(struct endpoint *ep)
{
	const struct sg *sg = ep->priv;

	ep->sync_why = sg_async_refusal(ep, sg);
	if (ep->sync_why != NULL)
		return;
	ep->geo.depth = SCSI_FLIGHTS;
	ep->geo.io_max = most_bytes(sg);
}

int
sg_async_open(const struct endpoint *ep, struct sg_async **async)
{
	const struct sg *sg = ep->priv;
	struct sg_async *a = calloc(1, sizeof(*a));
	int err;

	*async = NULL;
	if (a == NULL)
		return ENOMEM;
	a->idle = (1U << SCSI_FLIGHTS) - 1;
	a->fd = reopen(sg->path.fd, endpoint_path(ep), O_RDWR | O_NONBLOCK);
	err = a->fd < 0 ? errno : scsi_prepare(a->fd);
	if (err != 0) {
		sg_async_close(a);
		return err;
	}
	*async = a;
	return 0;
}

void
sg_async_close(struct sg_async *a)
{
	if (a == NULL)
		return;
	if (a->fd >= 0)
		close(a->fd);
	free(a);
}

bool
sg_fits(const struct sg *sg, const struct io *io)
{
	uint64_t at = io->off / sg->disk.block, n = io->len / sg->disk.block;

	return io->op != OP_ZERO && io->off % sg->disk.block == 0 &&
	    io->len % sg->disk.block == 0 && at < sg->disk.blocks &&
	    n <= sg->disk.blocks - at;
}

/* Send the next command of an io; false if that failed. */
static bool
send_next(struct sg *sg, struct sg_async *a, struct sg_call *call)
{
	const struct io *io = call->io;
	struct scsi_command *c = &call->flight.command;
	size_t left = (io->len - io->done) / sg->disk.block;
	struct scsi_reply reply = { .result = SCSI_AGAIN };
	unsigned most = sg->most;

	if (sg->changed)
		return false;
	*c = sg->how;
	c->write = io->op != OP_READ;
	c->lba = (io->off + io->done) / sg->disk.block;
	c->blocks = left < most ? (uint32_t)left : most;
	c->buf = io->buf + io->done;
	a->id = a->id < INT_MAX ? a->id + 1 : 0;
	sg_sends(sg, c);
	reply.err = scsi_send(a->fd, &call->flight, a->id);
	if (reply.err != 0) {
		sg_sent(sg, c, &reply);
		return false;
	}
	a->sent |= 1U << (call - a->call);
	return true;
}

bool
sg_start(struct lane *lane, struct io *io)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	struct sg_async *a = l->async;
	int i = ffs((int)a->idle) - 1;

	if (i < 0 || !sg_fits(sg, io))
		return false;
	a->call[i].io = io;
	if (!send_next(sg, a, &a->call[i]))
		return false;
	a->idle &= ~(1U << i);
	io->flight = &a->call[i];
	return true;
}

int
sg_pollfd(struct lane *lane, short *events)
{
	const struct sg_lane *l = lane->priv;

	*events = POLLIN;
	return l->async == NULL || l->async->sent == 0 ? -1 : l->async->fd;
}

/* Take an answer: send the next command, or end the io. */
static void
sg_async_answered(struct lane *lane, struct sg_call *call)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	struct scsi_reply *r = &call->reply;
	struct io *io = call->io;

	sg_sent(sg, &call->flight.command, r);
	if (r->result == SCSI_MOVED && r->moved > 0 &&
	    r->moved < io->len - io->done) {
		io->done += r->moved;
		r->moved = 0;
		if (send_next(sg, l->async, call))
			return;
	}
	lane_over(lane, io);
}

/*
 * If the disk is gone, poll reports nothing, but answers still arrive, and have
 * to be fetched now and then.
 */
void
sg_service(struct lane *lane)
{
	const struct sg_lane *l = lane->priv;
	struct sg_async *a = l->async;
	bool any = false;
	unsigned i;

	for (i = 0; i < SCSI_FLIGHTS; i++) {
		if ((a->sent & 1U << i) == 0 || scsi_take(a->fd,
		    &a->call[i].flight, &a->call[i].reply) != 0)
			continue;
		any = true;
		a->sent &= ~(1U << i);
		sg_async_answered(lane, &a->call[i]);
	}
	if (!any && a->sent != 0)
		scsi_pause(2);
}

void
sg_take(struct lane *lane, struct io *io, struct scsi_reply *r)
{
	const struct sg_lane *l = lane->priv;
	struct sg_async *a = l->async;
	struct sg_call *call = io->flight;

	a->idle |= 1U << (call - a->call);
	io->flight = NULL;
	*r = call->reply;
}
