/*
 * SCSI commands that are not waited for: engine=async on sg nodes.
 *
 * The kernel takes a command by write(2) and gives its answer by read(2); the
 * ring polls for answers.  Both are done on a descriptor of the lane's own,
 * open for writing, whatever the commands do; so it is only done where asked
 * for.  Each answer wakes all polls of that descriptor: sg_reap may say "not
 * yet", and the io is submitted again.  A request of many commands has one
 * under way at a time.  What has to be tried again is left to transfer, on the
 * lane's first descriptor.
 */
#include "sg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <liburing.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "end/reopen.h"

struct sg_async {
	int		 fd;
	unsigned	 idle;		/* a bit for each not under way */
	int		 id;		/* the last one's */
	struct scsi_flight flight[SCSI_FLIGHTS];
};

/* Why the commands cannot be left to themselves, or NULL. */
static const char *
waits(const struct endpoint *ep, const struct sg *sg)
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

/* Bytes of a command that disk and host take without being tried. */
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

	ep->sync_why = waits(ep, sg);
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

/* The next command of an io; false when it was not sent. */
static bool
send_next(struct sg *sg, struct sg_async *a, const struct io *io,
    struct scsi_flight *flight)
{
	size_t left = (io->len - io->done) / sg->disk.block;
	struct scsi_reply reply = { .result = SCSI_AGAIN };
	unsigned most = sg->most;

	if (sg->changed)
		return false;
	flight->command = sg->how;
	flight->command.write = io->op != OP_READ;
	flight->command.lba = (io->off + io->done) / sg->disk.block;
	flight->command.blocks = left < most ? (uint32_t)left : most;
	flight->command.buf = io->buf + io->done;
	a->id = a->id < INT_MAX ? a->id + 1 : 0;
	sg_sends(sg, &flight->command);
	reply.err = scsi_send(a->fd, flight, a->id);
	if (reply.err != 0)
		sg_sent(sg, &flight->command, &reply);
	return reply.err == 0;
}

bool
sg_submit(struct lane *lane, struct io *io, struct io_uring_sqe *sqe)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	struct sg_async *a = l->async;
	int i = ffs((int)a->idle) - 1;

	if (io->flight == NULL) {
		if (i < 0 || !sg_fits(sg, io) ||
		    !send_next(sg, a, io, &a->flight[i]))
			return false;
		a->idle &= ~(1U << i);
		io->flight = &a->flight[i];
	}
	io_uring_prep_poll_add(sqe, a->fd, POLLIN);
	return true;
}

static void
land(struct sg_async *a, struct io *io)
{
	struct scsi_flight *flight = io->flight;

	a->idle |= 1U << (flight - a->flight);
	io->flight = NULL;
}

/* Its answer is there: go on with the next command, or end. */
static enum reaped
answered(struct lane *lane, struct io *io, const struct scsi_reply *r)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;

	sg_sent(sg, &((struct scsi_flight *)io->flight)->command, r);
	sg->again += r->result == SCSI_AGAIN;
	if (r->result == SCSI_MOVED)
		io->done += r->moved;
	if (r->moved > 0 && io->done < io->len &&
	    send_next(sg, l->async, io, io->flight))
		return REAP_WAIT;
	land(l->async, io);
	if (r->result != SCSI_SMALLER && !sg_passes(lane->ep, io, r))
		sg_give_up(lane, io, r);
	return io->done == io->len || io->err != 0 ? REAP_DONE : REAP_TRANSFER;
}

/*
 * A poll is woken by each answer to the descriptor.  Where it can tell nothing,
 * since the disk is gone, the answers come all the same, but have to be asked
 * for now and then.
 */
enum reaped
sg_reap(struct lane *lane, struct io *io, int result)
{
	const struct sg_lane *l = lane->priv;
	struct scsi_reply r;

	if (scsi_take(l->async->fd, io->flight, &r) == 0)
		return answered(lane, io, &r);
	if (result < 0 || (result & POLLIN) == 0)
		scsi_pause(2);
	return REAP_WAIT;
}
