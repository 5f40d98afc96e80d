/*
 * SCSI disks by their commands: sg and bsg nodes, and block nodes with the word
 * sgio.
 *
 * Commands are as large as the disk (VPD B0h) and the host accept.  The limit
 * of the host is found by trying: one that is refused as too large halves it
 * for all lanes.
 *
 * Zeros are made by WRITE SAME (16), if the disk says how many blocks it may
 * cover (VPD B0h): one block is sent for all of them.
 *
 * A residual is data that was not moved, and is requested again.  Transient
 * errors (unit attention, aborted command, busy) are retried ten times with
 * growing pauses, but not if the medium may have changed.  A read that still
 * fails is treated as a bad block if other blocks can be read.
 */
#include "sg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <poll.h>
#include <scsi/sg.h>
#include <scsi/sg_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/opts.h"
#include "end/backend.h"

/* --- composing the command for an io, and what to do when it fails ------- */

/*
 * The medium has changed.  Only one command is told so: keep its reason, and
 * fail all commands of all lanes from here on.
 */
static void
sg_change(struct sg *sg, struct io *io, const char *why)
{
	sg->changed = true;
	io->err = EPROTO;
	io->status = UNIT_ATTENTION;
	io->bad_off = NOWHERE;
	snprintf(io->why, sizeof(io->why), "the medium was changed or removed"
	    "%s%s", why[0] != '\0' ? ": " : "", why);
}

/* Whether the cache of the disk may hold the data of the command. */
static bool
sg_command_cached(const struct scsi_command *c)
{
	return c->write && !c->fua;
}

void
sg_sends(struct sg *sg, const struct scsi_command *c)
{
	sg->writes += sg_command_cached(c);
}

void
sg_sent(struct sg *sg, const struct scsi_command *c, const struct scsi_reply *r)
{
	bool run = r->err == 0 && r->status != UNIT_ATTENTION &&
	    r->status != BUSY && r->status != TASK_SET_FULL;

	sg->writes -= sg_command_cached(c) && !run;
	sg->recovered += r->recovered;
	sg->indirect += r->indirect;
}

/*
 * Whether another disk answers by now.  What it did not say before is not
 * compared; what it does not say now is "silent".
 */
static bool
sg_is_other(const struct scsi_path *path, const struct scsi_identity *was,
    bool silent)
{
	const struct scsi_identity is = scsi_identity(path);

	return (was->serial != 0 && (is.serial == 0 ? silent :
	    is.serial != was->serial)) || (was->names != 0 &&
	    (is.names == 0 ? silent : is.names != was->names));
}

/*
 * Whether a command that failed may be repeated.  Not if the target reports an
 * earlier failure, nor if the disk was restarted after writes without FUA:
 * those are lost.  The failure may be reported to the lane that reads the
 * target back instead; that is no problem if all of it will be read back.
 */
static bool
sg_passes(const struct endpoint *ep, const struct io *io,
    const struct scsi_reply *r)
{
	const struct sg *sg = ep->priv;
	const struct sg *of = sg->target != NULL ? sg->target : sg;
	bool source = io->op == OP_READ && !ep->is.back;

	if (r->renamed && sg_is_other(&of->path, &of->identity, true))
		return false;
	if (r->result == SCSI_AGAIN)
		return !r->restarted || of->writes == 0 ||
		    (of != sg && ep->spec.verify);
	return r->result == SCSI_MOVED || (r->result == SCSI_EARLIER && source);
}

/* Some disks report this for blocks that they cannot read. */
static bool
sg_may_be_bad(const struct lane *lane, const struct io *io,
    const struct scsi_reply *r)
{
	return io->op == OP_READ && !lane->probes &&
	    (r->status == ABORTED_COMMAND || r->status == OUT_OF_RANGE ||
	    r->status == STATUS_TIMEOUT);
}

struct scsi_command
sg_compose(const struct lane *lane, const struct io *io, unsigned char *buf)
{
	const struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	struct scsi_command c = sg->how;

	c.write = io->op != OP_READ;
	c.same = io->op == OP_ZERO;
	c.unmap = c.same && (lane->ep->spec.flags & FLAG_TRIM) != 0 &&
	    sg->disk.frees_zeros;
	c.mmap = l->map != NULL && !c.same;
	c.direct = c.direct && !lane->probes;
	c.lba = (io->off + io->done) / c.block;
	c.blocks = (uint32_t)((io->len - io->done) / c.block);
	c.buf = buf;
	return c;
}

/* Run it once, and count what users may want to know. */
static void
sg_run(const struct lane *lane, const struct scsi_command *c,
    struct scsi_reply *r)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	size_t len = (size_t)c->blocks * c->block;

	if (c->mmap && c->write)
		memcpy(l->map, c->buf, len);
	sg_sends(sg, c);
	scsi_run(&l->path, c, r);
	sg_sent(sg, c, r);
	if (c->mmap && !c->write)
		memcpy(c->buf, l->map, r->moved);
}

/* Put the reason why the command failed for good into the io. */
static void
sg_give_up(struct lane *lane, struct io *io, const struct scsi_reply *r)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	uint32_t block = sg->disk.block;

	if (r->result == SCSI_CHANGED) {
		sg_change(sg, io, r->why);
		return;
	}
	if (r->renamed && r->result == SCSI_AGAIN) {
		sg->changed = true;
		io->err = ENODEV;
		snprintf(io->why, sizeof(io->why), "another disk answers there "
		    "now, by its serial number");
		return;
	}
	io->err = r->result == SCSI_MEDIUM ? EIO : r->err != 0 ? r->err :
	    EPROTO;
	io->status = r->status;
	io->bad_off = r->has_info && r->result == SCSI_MEDIUM &&
	    r->info < INT64_MAX / block ? r->info * block : NOWHERE;
	snprintf(io->why, sizeof(io->why), "%s%s", r->result == SCSI_EARLIER ?
	    "an earlier command failed: " : "", r->result == SCSI_MOVED &&
	    r->why[0] == '\0' ? "the disk reports success, but has moved no "
	    "data" : r->why);
	if ((r->result == SCSI_FATAL || r->result == SCSI_AGAIN) &&
	    node_lost(l->path.fd)) {
		io->err = ENODEV;
		io->status = 0;
		snprintf(io->why, sizeof(io->why), "the device has gone");
	} else if (sg->changed) {
		sg_change(sg, io, "");
	} else if (sg_may_be_bad(lane, io, r)) {
		io->doubtful = true;
		sg->aborts = sg->aborts || r->status == ABORTED_COMMAND;
	}
}

/*
 * Asynchronous SCSI commands: engine=async on sg nodes.
 *
 * The kernel takes a command by write(2) and returns its answer by read(2); a
 * poll covers all answers of the lane.  This needs a descriptor of the lane's
 * own, open for writing whatever the commands do, so it is done only on
 * request.  Retries are left to transfer, on the lane's first descriptor.
 */

struct sg_call {			/* a command of an io, and its answer */
	struct io	*io;
	struct scsi_flight flight;
	struct scsi_reply reply;
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
most_bytes(const struct endpoint *ep)
{
	const struct sg *sg = ep->priv;
	uint64_t most = ep->cmd.most;
	int host = 0;

	if (ioctl(sg->path.fd, BLKSECTGET, &host) == 0 && host > 0 &&
	    (unsigned)host >= sg->disk.block && (unsigned)host < most)
		most = (unsigned)host;	/* bytes, of an sg node */
	return most;
}

/*
 * Set whether commands of the open endpoint can be asynchronous: why not
 * (sync_why), or how many per lane and how large.
 */
static void
sg_async_offer(struct endpoint *ep)
{
	const struct sg *sg = ep->priv;

	ep->sync_why = sg_async_refusal(ep, sg);
	if (ep->sync_why != NULL)
		return;
	ep->geo.depth = SCSI_FLIGHTS;
	ep->geo.io_max = most_bytes(ep);
}

static void
sg_async_close(struct sg_async *a)
{
	if (a == NULL)
		return;
	if (a->fd >= 0)
		close(a->fd);
	free(a);
}

/*
 * Open what a lane needs for that: its own descriptor, and room for
 * the commands.  Returns 0, or an errno value with *async NULL.
 */
static int
sg_async_open(const struct endpoint *ep, struct sg_async **async)
{
	const struct sg *sg = ep->priv;
	struct sg_async *a = calloc(1, sizeof(*a));
	int err, one = 1;

	*async = NULL;
	if (a == NULL)
		return ENOMEM;
	a->idle = (1U << SCSI_FLIGHTS) - 1;
	a->fd = reopen(sg->path.fd, endpoint_path(ep), O_RDWR | O_NONBLOCK);
	if (a->fd < 0 || ioctl(a->fd, SG_SET_FORCE_PACK_ID, &one) != 0) {
		err = errno;
		sg_async_close(a);
		return err;
	}
	*async = a;
	return 0;
}

static bool
sg_start(struct lane *lane, struct io *io, struct io_uring_sqe *unused)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	struct sg_async *a = l->async;
	int i = ffs((int)a->idle) - 1;
	struct scsi_reply unsent = { .result = SCSI_AGAIN };
	struct scsi_command *c;

	(void)unused;
	if (i < 0 || sg->changed)
		return false;
	c = &a->call[i].flight.command;
	*c = sg_compose(lane, io, io->buf + io->done);
	a->id = a->id < INT_MAX ? a->id + 1 : 0;
	sg_sends(sg, c);
	unsent.err = scsi_send(a->fd, &a->call[i].flight, a->id);
	if (unsent.err != 0) {
		sg_sent(sg, c, &unsent);
		return false;
	}
	a->call[i].io = io;
	a->idle &= ~(1U << i);
	a->sent |= 1U << i;
	io->flight = &a->call[i];
	return true;
}

static int
sg_pollfd(struct lane *lane, short *events)
{
	const struct sg_lane *l = lane->priv;

	*events = POLLIN;
	return l->async == NULL || l->async->sent == 0 ? -1 : l->async->fd;
}

/*
 * If the disk is gone, poll reports nothing, but answers still arrive, and have
 * to be fetched now and then.
 */
static void
sg_service(struct lane *lane)
{
	struct sg *sg = lane->ep->priv;
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
		sg_sent(sg, &a->call[i].flight.command, &a->call[i].reply);
		lane_over(lane, a->call[i].io);
	}
	if (!any && a->sent != 0)
		scsi_pause(2);
}

/*
 * Opening SCSI disks, and their lanes.
 *
 * Each lane has its own descriptor, because a descriptor has one reserved
 * buffer and takes at most 16 commands at a time.
 *
 * With iflag=sparse the disk is queried for the mapped blocks.  The others are
 * not read if it says that they read as zeros (LBPRZ).
 */

enum {
	RESERVE = 1 << 20,	/* bytes of a descriptor's own buffer */
	GAP = 64 << 10,		/* bytes: shortest unmapped run to skip */
	SAME = 32 << 20,	/* bytes per WRITE SAME, at most */
};

/* Whether claim.c claims and locks the end: a block node that is the target. */
static bool
sg_claimed(const struct endpoint *ep)
{
	return ep->spec.role == TARGET && (ep->spec.flags & FLAG_SGIO) != 0;
}

static bool
sg_open_exclusive(const struct endpoint *ep)
{
	return (ep->spec.flags & FLAG_EXCL) != 0 && !sg_claimed(ep);
}

static int
sg_open_flags(const struct endpoint *ep, bool look)
{
	bool excl = sg_open_exclusive(ep) && !look;
	int flags = O_NONBLOCK;		/* else it waits for others' claims */

	/* sg takes O_EXCL only together with O_RDWR */
	flags |= (ep->spec.role == SOURCE && !excl) || look ? O_RDONLY : O_RDWR;
	return flags | (excl ? O_EXCL : 0);
}

int
sg_close(struct endpoint *ep)
{
	struct sg *sg = ep->priv;
	int err = sg->path.fd >= 0 && close(sg->path.fd) != 0 ? errno : 0;

	free(sg);
	return err;
}

struct scsi_command
sg_common(const struct endpoint *ep, const struct scsi_disk *disk)
{
	bool by_mmap = (ep->spec.flags & FLAG_MMAP) != 0;

	return (struct scsi_command){
		.fua = (ep->spec.flags & FLAG_FUA) != 0,
		.dpo = (ep->spec.flags & FLAG_DPO) != 0,
		.direct = (ep->spec.flags & FLAG_DIO) != 0 && !by_mmap,
		.mmap = by_mmap,
		.cdb_size = ep->spec.cdb_size,
		.timeout = ep->spec.timeout * 1000,
		.block = disk->block,
	};
}

/*
 * Refuse a block node that is a partition or made of other disks.  It would
 * pass commands on to a disk that is larger and knows nothing about where the
 * node begins.  A node of size 0 is a disk whose block size the kernel does not
 * support.
 */
static int
check_whole(const struct endpoint *ep, const struct sg *sg, struct fault *f)
{
	uint64_t all = sg->disk.blocks * sg->disk.block, bytes;

	if (sg->path.node != SCSI_BLOCK)
		return 0;
	if (ioctl(sg->path.fd, BLKGETSIZE64, &bytes) != 0)
		return fault_errno(f, errno, "%s: size", ep->name);
	if (bytes == 0 || bytes >= all)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s has %llu bytes, and SCSI "
	    "commands to it go to a disk that has %llu; name that disk, "
	    "and the partition by ipart= or opart=", ep->name,
	    (unsigned long long)bytes, (unsigned long long)all);
}

static int
sg_open_node(struct endpoint *ep, struct sg *sg, bool look, struct fault *f)
{
	sg->path.fd = reopen(ep->fd, endpoint_path(ep),
	    sg_open_flags(ep, look));
	if (sg->path.fd < 0)
		return fault_found(f, ep);
	if ((ep->spec.flags & FLAG_FLOCK) != 0 && !sg_claimed(ep) &&
	    flock(sg->path.fd, LOCK_EX | LOCK_NB) != 0)
		return fault_errno(f, errno, "%s: flock", ep->name);
	sg->path = scsi_path(sg->path.fd, ep->spec.timeout * 1000);
	sg->shared = sg_open_exclusive(ep);
	if ((ep->spec.flags & FLAG_MMAP) != 0 &&
	    (sg->path.node != SCSI_SG || sg->shared))
		return fault_set(f, STATUS_USAGE, "%s: mmap is for sg nodes, "
		    "and does not go with excl", ep->name);
	if (scsi_ask(&sg->path, ep->name, &sg->disk, f) != 0 ||
	    check_whole(ep, sg, f) != 0)
		return -1;
	sg->identity = scsi_identity(&sg->path);
	sg->how = sg_common(ep, &sg->disk);
	return 0;
}

/* Blocks per command, by what the disk says and the CDB can express. */
static unsigned
most_blocks(const struct sg *sg)
{
	unsigned most = sg->how.cdb_size == 6 ? 256 : 0xffff;

	if (sg->disk.most > 0 && sg->disk.most < most)
		most = sg->disk.most;
	return most;
}

int
sg_extent(const struct endpoint *ep, uint64_t off, bool changed,
    struct extent *x)
{
	struct sg *sg = ep->priv;
	uint64_t block = sg->disk.block, lba = off / block;
	struct scsi_span s;
	enum scsi_result r = scsi_mapped(&sg->path, lba, GAP / block, &s);

	(void)changed;
	if (r == SCSI_CHANGED)
		sg->changed = true;
	if (r != SCSI_MOVED)
		return EIO;
	if (s.blocks > sg->disk.blocks - lba)
		s.blocks = sg->disk.blocks - lba;
	*x = (struct extent){ off, (lba + s.blocks) * block - off, !s.mapped };
	return 0;
}

static bool
has_gaps(const struct endpoint *ep)
{
	const struct sg *sg = ep->priv;
	struct extent x;

	return ep->spec.role == SOURCE && (ep->spec.flags & FLAG_SPARSE) != 0 &&
	    sg->disk.zeros && sg_extent(ep, 0, false, &x) == 0;
}

/* Refuse a disk that the kernel or the disk itself protects from writes. */
static int
sg_check_target(const struct endpoint *ep, const struct sg *sg, struct fault *f)
{
	if (sg->disk.type == PDT_ZBC)
		return endpoint_zoned(ep, f);
	if (!node_read_only(ep))
		return 0;
	errno = EROFS;
	return fault_found(f, ep);
}

void
sg_fill_in(struct endpoint *ep)
{
	struct sg *sg = ep->priv;

	ep->cmd = (struct commands){ .unit = sg->disk.block,
		.most = most_blocks(sg) * sg->disk.block,
		/* a slow disk executes it within the timeout */
		.zero_most = MIN(sg->disk.same_most, SAME /
		    MAX(sg->disk.block, 1U)) * sg->disk.block,
		.end = sg->disk.blocks * sg->disk.block };
	ep->geo.block = ep->geo.io_align = sg->disk.block;
	ep->geo.size = ep->geo.room = (int64_t)ep->cmd.end;
	ep->is.seekable = ep->is.past_cache = ep->is.probed = true;
	ep->is.durable = ep->spec.role == TARGET;
	ep->is.sparse = has_gaps(ep);
	ep->is.zeroes = ep->spec.role == TARGET && sg->disk.same_most > 0 &&
	    !sg->how.fua;		/* WRITE SAME has no FUA bit */
}

static int
sg_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct sg *sg = calloc(1, sizeof(*sg));

	if (sg == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	sg->path.fd = -1;
	ep->priv = sg;
	if (sg_open_node(ep, sg, look || sg_claimed(ep), f) != 0 ||
	    (ep->spec.role == TARGET && sg_check_target(ep, sg, f) != 0)) {
		sg_close(ep);
		return -1;
	}
	if (ep->spec.role == SOURCE && !look)
		node_settle(ep);
	sg_fill_in(ep);
	sg_async_offer(ep);
	return 0;
}

/*
 * A block node is opened for writing as late as possible, because closing such
 * a descriptor makes udev probe the disk.
 */
static int
sg_prepare(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct sg *sg = ep->priv;
	int fd;

	(void)length;
	if (!sg_claimed(ep))
		return 0;
	fd = reopen(sg->path.fd, endpoint_path(ep), sg_open_flags(ep, false));
	if (fd < 0)
		return fault_found(f, ep);
	close(sg->path.fd);
	sg->path.fd = fd;
	return 0;
}

/* Get the reserved buffer, used for each command that fits into it. */
static int
sg_reserve_buffer(const struct endpoint *ep, struct sg_lane *l)
{
	const struct sg *sg = ep->priv;
	int bytes = RESERVE;

	if (sg->path.node != SCSI_SG)
		return 0;
	if (ioctl(l->path.fd, SG_SET_RESERVED_SIZE, &bytes) != 0 ||
	    !sg->how.mmap)
		return 0;		/* it keeps the default size */
	if (ioctl(l->path.fd, SG_GET_RESERVED_SIZE, &bytes) != 0)
		return errno;
	l->map_len = (size_t)bytes - (size_t)bytes % sg->disk.block;
	l->map = mmap(NULL, l->map_len, ep->spec.role == TARGET ? PROT_READ |
	    PROT_WRITE : PROT_READ, MAP_SHARED, l->path.fd, 0);
	if (l->map == MAP_FAILED) {
		l->map = NULL;
		return errno;
	}
	return 0;
}

static int
sg_detach(struct lane *lane)
{
	const struct sg *sg = lane->ep->priv;
	struct sg_lane *l = lane->priv;

	if (l->map != NULL)
		munmap(l->map, l->map_len);
	if (l->path.fd >= 0 && !sg->shared && !lane->probes)
		close(l->path.fd);
	sg_async_close(l->async);
	free(l);
	return 0;
}

static int
sg_attach(struct lane *lane)
{
	const struct sg *sg = lane->ep->priv;
	struct sg_lane *l = calloc(1, sizeof(*l));
	int err = 0;

	if (l == NULL)
		return ENOMEM;
	lane->priv = l;
	l->path = sg->path;
	if (lane->probes)
		return 0;	/* by the descriptor of the queries */
	if (!sg->shared)
		l->path.fd = reopen(sg->path.fd, endpoint_path(lane->ep),
		    sg_open_flags(lane->ep, false));
	if (l->path.fd < 0)
		err = errno;
	if (err == 0)
		err = sg_reserve_buffer(lane->ep, l);
	if (err == 0 && lane->ep->geo.depth > 0)
		err = sg_async_open(lane->ep, &l->async);
	if (err != 0)
		sg_detach(lane);
	return err;
}

/* How often to repeat a command that was aborted. */
static int
sg_tries(const struct sg *sg, const struct io *io, const struct scsi_reply *r)
{
	return sg->aborts && io->op == OP_READ &&
	    r->status == ABORTED_COMMAND ? FEW_TRIES : SCSI_TRIES;
}

void
sg_transfer(struct lane *lane, struct io *io)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	unsigned char *buf = io->op == OP_ZERO ? lane_bounce(lane) :
	    io->buf + io->done;
	struct scsi_command c = sg_compose(lane, io, buf);
	struct scsi_reply r;
	int try = 0;

	if (c.mmap)		/* what the reserved buffer has room for */
		c.blocks = MIN(c.blocks, (uint32_t)(l->map_len / c.block));
	if (io->op == OP_ZERO && buf != NULL)
		memset(buf, 0, sg->disk.block);
	io->err = buf == NULL ? ENOMEM : 0;
	while (io->err == 0) {
		if (sg->changed) {
			sg_change(sg, io, "");
			break;
		}
		sg_run(lane, &c, &r);
		if (r.result == SCSI_MOVED && r.moved > 0) {
			io->done += r.moved;
			break;
		}
		if (r.result == SCSI_SMALLER && !c.same &&
		    request_shrink(lane, (size_t)c.blocks * c.block)) {
			c.blocks /= 2;
			continue;
		}
		if (sg_passes(lane->ep, io, &r) && try < sg_tries(sg, io, &r)) {
			sg->again++;
			scsi_pause(try++);
			continue;
		}
		sg_give_up(lane, io, &r);
		if (c.same && r.unknown)
			io->err = EOPNOTSUPP;
	}
}

void
sg_end(struct lane *lane, struct io *io, const struct scsi_reply *r)
{
	struct sg *sg = lane->ep->priv;

	sg->again += r->result == SCSI_AGAIN;
	if (r->result == SCSI_MOVED)
		io->done += r->moved;
	else if (r->result != SCSI_SMALLER && !sg_passes(lane->ep, io, r))
		sg_give_up(lane, io, r);
}

static void
sg_finish(struct lane *lane, struct io *io, int result)
{
	const struct sg_lane *l = lane->priv;
	struct sg_call *call = io->flight;

	(void)result;
	io->flight = NULL;
	sg_end(lane, io, &call->reply);
	l->async->idle |= 1U << (call - l->async->call);
}

int
sg_flush(struct endpoint *ep, struct fault *f)
{
	const struct sg *sg = ep->priv;
	struct scsi_reply r = { .result = SCSI_CHANGED };

	if (!sg->changed && scsi_sync(&sg->path, sg->writes > 0, &r))
		return 0;
	if (r.result == SCSI_CHANGED)
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: the medium was "
		    "changed or removed before it was flushed", ep->name);
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: SYNCHRONIZE CACHE failed"
	    ": %s", ep->name, r.why[0] != '\0' ? r.why : errno_words(r.err));
}

/*
 * Reads with FUA come from the medium: cached blocks are written first, and not
 * returned (SBC-4, READ (10), force unit access).  A disk without FUA refuses
 * the command, and then its medium cannot be verified.
 */
int
sg_readback(const struct endpoint *target, struct endpoint *r, struct fault *f)
{
	struct sg *of = target->priv;
	struct sg *sg = malloc(sizeof(*sg));

	if (sg == NULL)
		return fault_errno(f, ENOMEM, "%s", target->name);
	*sg = (struct sg){ .path = of->path, .disk = of->disk,
		.how = of->how, .shared = of->shared, .target = of };
	sg->how.fua = true;
	sg->how.mmap = false;
	sg->how.cdb_size = of->how.cdb_size == 6 ? 10 : of->how.cdb_size;
	r->be = target->be;
	r->priv = sg;
	r->spec.flags &= ~(unsigned)FLAG_EXCL;
	if (sg->path.node != SCSI_CARRIED)
		sg->path.fd = of->shared ? fcntl(of->path.fd, F_DUPFD_CLOEXEC,
		    3) : reopen(of->path.fd, endpoint_path(target), O_RDONLY |
		    O_NONBLOCK);
	if (sg->path.node != SCSI_CARRIED && sg->path.fd < 0)
		fault_errno(f, errno, "%s: opening it to read it back",
		    target->name);
	else if (endpoint_try_fua(r, "READ", ILLEGAL_REQUEST, f) == 0)
		return 0;
	sg_close(r);
	return -1;
}

void
sg_note(const struct endpoint *ep, char *text, size_t room)
{
	const struct sg *sg = ep->priv;
	bool loud = ep->spec.loud;
	int n = 0;

	text[0] = '\0';
	if (sg->recovered > 0)
		n += snprintf(text + n, room - (size_t)n,
		    "%u recovered errors; ", sg->recovered);
	if (sg->again > 0 && loud)
		n += snprintf(text + n, room - (size_t)n,
		    "%u commands retried; ", sg->again);
	if (ep->cmd.shrunk > 0 && loud)
		n += snprintf(text + n, room - (size_t)n, "the host takes %u "
		    "blocks a command; ", ep->cmd.most / ep->cmd.unit);
	if (sg->indirect > 0)
		n += snprintf(text + n, room - (size_t)n, "%u commands were "
		    "not direct (/sys/module/sg/parameters/allow_dio); ",
		    sg->indirect);
	if (n > 1)
		text[n - 2] = '\0';
}

int
sg_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t most, struct fault *f)
{
	const struct sg *sg = ep->priv;

	(void)from, (void)to, (void)most;
	return !sg_is_other(&sg->path, &sg->identity, false) ? 0 :
	    fault_set(f, status_errno(ENODEV), "%s: another disk answers "
	    "there now, by its serial number", ep->name);
}

const struct backend sg_backend = {
	.open = sg_open,
	.prepare = sg_prepare,
	.attach = sg_attach,
	.detach = sg_detach,
	.transfer = sg_transfer,
	.extent = sg_extent,
	.check_kept = sg_check_kept,
	.start = sg_start,
	.pollfd = sg_pollfd,
	.service = sg_service,
	.finish = sg_finish,
	.flush = sg_flush,
	.open_readback = sg_readback,
	.note = sg_note,
	.close = sg_close,
};
