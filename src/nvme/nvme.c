/*
 * NVMe disks by their commands: ng nodes, and block nodes with the word nvme,
 * which use the ng node of the same namespace, or their own ioctl if there is
 * none.
 *
 * The block layer retries a bad block six times, hides the status, and merges
 * requests.  Here one request is one command, and its status is reported.  The
 * disk does not name the bad block, so the copy repeats a failed read in
 * smaller parts.
 *
 * Commands are as large as the disk (MDTS) and the host accept; each page of a
 * scattered buffer is a segment for the host.  If one is still refused, the
 * limit is halved for all lanes.
 *
 * Nothing reports that the disk has lost power, and with it its cache, so its
 * count of power cycles is compared with the earlier one.  A failed flush is
 * never repeated: the next one would succeed, and not show the loss.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "disk/sysfs.h"
#include "end/backend.h"
#include "nvme.h"
#include "scsi/scsi.h"

/*
 * NVMe commands that failed through no fault of the disk: which of them are
 * repeated, and after how long.
 *
 * A transient error is retried a few times.  A command that has used up its
 * timeout would do so again, so it is retried once, or not at all if the copy
 * can continue after its blocks.  If there is no path to the namespace (its
 * controllers are being reset or connected, or none of them has a path in
 * service), the block layer would wait without limit; here all lanes together
 * wait for up to timeout=.
 */

enum {
	TRIES = 10,		/* retries of a transient error */
	LATE_TRIES = 1,		/* retries after a timeout */
	TICK = 100,		/* ms between looks at a path */
	MS = 1000000,		/* ns */
};

/* Read the state of the controller; false if unknown. */
static bool
nvme_controller_state(int fd, char *state, size_t room)
{
	struct stat st;
	int dir;
	bool told;

	if (fstat(fd, &st) != 0)
		return false;
	dir = sysfs_open(S_ISBLK(st.st_mode) ? "block" : "char", st.st_rdev);
	told = sysfs_text(dir, "device/state", state, room);
	if (dir >= 0)
		close(dir);
	return told;
}

/* Wait for a controller that is being reset, for up to timeout=. */
static void
await_reset(const struct lane *lane)
{
	const struct nvme *nv = lane->ep->priv;
	unsigned left = nv->how.timeout / TICK;
	char state[32];

	while (left-- > 0 && nvme_controller_state(nv->fd, state,
	    sizeof(state)) && (strcmp(state, "resetting") == 0 ||
	    strcmp(state, "connecting") == 0) && !lane_halted(lane, TICK))
		continue;
}

/* Whether to look for a path once more, after a pause. */
static bool
await_way(const struct lane *lane, struct io *io, struct nvme_wait *w)
{
	struct nvme *nv = lane->ep->priv;
	uint64_t now = clock_ns();

	if (w->since == 0)
		w->since = now;
	if (!nv->away && now - w->since < (uint64_t)nv->how.timeout * MS) {
		if (!lane_halted(lane, TICK))
			return true;
		if (io->op == OP_READ)
			io->err = ECANCELED;
	}
	nv->away = true;
	return false;
}

/* Whether the command has used up its timeout. */
static bool
nvme_wait_late(const struct nvme *nv, const struct nvme_wait *w)
{
	return clock_ns() - w->began >= (uint64_t)nv->how.timeout * MS;
}

/* How often a failed command may be repeated. */
static unsigned
nvme_wait_tries(const struct lane *lane, const struct io *io,
    const struct nvme_wait *w)
{
	const struct endpoint *ep = lane->ep;

	if (!nvme_wait_late(ep->priv, w))
		return TRIES;
	return io->op == OP_READ && !ep->is.back &&
	    (ep->spec.coe || ep->spec.rescue) ? 0 : LATE_TRIES;
}

static bool
nvme_passes(const struct lane *lane, struct io *io,
    const struct nvme_reply *r, struct nvme_wait *w)
{
	struct nvme *nv = lane->ep->priv;

	if ((r->result != NVME_AGAIN && r->result != NVME_AWAY) ||
	    node_lost(nv->fd))
		return false;
	if (r->result == NVME_AGAIN && w->tries >= nvme_wait_tries(lane, io, w))
		return false;
	nv->again++;
	if (r->result == NVME_AWAY)
		return await_way(lane, io, w);
	if (r->err == EINTR)
		await_reset(lane);
	scsi_pause((int)w->tries++);
	return true;
}

/*
 * Flush, once.  After a failed flush, a successful one would not show the loss,
 * so only a flush that was not executed is repeated, for up to timeout=.
 */
static bool
nvme_flush_out(const struct nvme *nv, struct nvme_reply *r)
{
	uint64_t end = clock_ns() + (uint64_t)nv->how.timeout * MS;
	int try = 0;

	while (!nvme_flush(nv->fd, &nv->disk, nv->how.timeout, r)) {
		if (!r->unrun || node_lost(nv->fd) || clock_ns() >= end ||
		    (nv->away && try >= TRIES))
			return false;
		scsi_pause(try++);
	}
	return true;
}

/*
 * Opening NVMe disks, and the limits of their commands.
 */

enum {
	USUAL = 64 << 10,	/* bytes per command, if unknown */
	ZEROES = 32 << 20,	/* bytes per Write Zeroes, at most */
	BYTES = 1 << 30,	/* per command */
};

static int
nvme_open_flags(const struct endpoint *ep, bool look)
{
	return (ep->spec.role == SOURCE || look ? O_RDONLY : O_RDWR) |
	    O_NONBLOCK;
}

/*
 * Open the ng node of a block node, if there is one for the same namespace;
 * else -1.
 */
static int
open_generic(const struct disk *d, int flags)
{
	char path[300];
	struct stat st;
	int fd;

	if (d->ng[0] == '\0')
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", d->ng);
	fd = open(path, flags | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != d->ng_node)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Refuse a partition: commands would ignore where it begins.  A block node is
 * opened read-only, which is enough for NVMe commands, and keeps udev from
 * probing the disk when it is closed.
 */
static int
open_block(const struct endpoint *ep, struct nvme *nv, bool look,
    struct fault *f)
{
	struct disk d;

	if (!disk_of_block(ep->id.node, &d) || d.err != 0)
		return fault_errno(f, d.err, "%s: finding its NVMe disk",
		    ep->name);
	if (d.partition != 0)
		return fault_set(f, STATUS_REFUSED, "%s is a partition, and "
		    "NVMe commands to it go to the whole disk; name that disk, "
		    "and the partition by ipart= or opart=", ep->name);
	nv->fd = open_generic(&d, nvme_open_flags(ep, look));
	nv->by_ring = nv->fd >= 0;
	if (nv->fd < 0)
		nv->fd = reopen(ep->fd, endpoint_path(ep), O_RDONLY |
		    O_NONBLOCK);
	return 0;
}

static int
nvme_open_node(const struct endpoint *ep, struct nvme *nv, bool look,
    struct fault *f)
{
	struct stat st;

	if (fstat(ep->fd, &st) == 0 && S_ISBLK(st.st_mode)) {
		if (open_block(ep, nv, look, f) != 0)
			return -1;
	} else {
		nv->fd = reopen(ep->fd, endpoint_path(ep), nvme_open_flags(ep,
		    look));
		nv->by_ring = true;
	}
	if (nv->fd < 0)
		return fault_found(f, ep);
	if (ep->spec.role == SOURCE && (ep->spec.flags & FLAG_EXCL) != 0)
		return fault_set(f, STATUS_USAGE, "%s: NVMe nodes do not "
		    "support iflag=excl; the block device does", ep->name);
	if (ep->spec.role == SOURCE && (ep->spec.flags & FLAG_FLOCK) != 0 &&
	    flock(nv->fd, LOCK_EX | LOCK_NB) != 0)
		return fault_errno(f, errno, "%s: flock", ep->name);
	return nvme_ask(nv->fd, ep->spec.timeout * 1000,
	    ep->name, &nv->disk, f);
}

/* Bytes that the host accepts: an unaligned buffer touches one more page. */
static uint64_t
host_most(int dir)
{
	uint64_t bytes = sysfs_number(dir, "queue/max_hw_sectors_kb") << 10;
	uint64_t segments = sysfs_number(dir, "queue/max_segments");

	if (bytes == 0 || segments < 2)
		return USUAL;
	segments = (segments - 1) * PAGE;
	return bytes < segments ? bytes : segments;
}

/* n bytes, in whole blocks, of which one command has so many at most. */
static uint32_t
whole_blocks(const struct nvme *nv, uint64_t n)
{
	uint64_t most = MIN((uint64_t)NVME_BLOCKS * nv->disk.block, BYTES);

	n = MIN(n, most);
	return (uint32_t)(n - n % nv->disk.block);
}

static struct commands
nvme_ask_limits(const struct endpoint *ep, const struct nvme *nv)
{
	int dir = node_dir(ep);
	uint64_t most = dir < 0 ? USUAL : host_most(dir);
	uint64_t zeroes = dir < 0 ? 0 : sysfs_number(dir,
	    "queue/write_zeroes_max_bytes");

	if (dir >= 0)
		close(dir);
	if (nv->disk.most > 0 && nv->disk.most < most)
		most = nv->disk.most;
	return (struct commands){ .unit = nv->disk.block,
		.end = nv->disk.blocks * nv->disk.block,
		.most = whole_blocks(nv, MAX(most, nv->disk.block)),
		.zero_most = !nv->disk.has_zeroes ? 0 :
		    whole_blocks(nv, MIN(zeroes, ZEROES)) };
}

/* Refuse a disk that the kernel or the disk itself protects from writes. */
static int
nvme_check_target(const struct endpoint *ep, const struct nvme *nv,
    struct fault *f)
{
	char model[32];
	bool zoned = disk_zoned(ep->id.dev, model, sizeof(model)) &&
	    strcmp(model, "host-managed") == 0;

	if (zoned)
		return endpoint_zoned(ep, f);
	if (!nv->disk.protected && !node_read_only(ep))
		return 0;
	errno = EROFS;
	return fault_found(f, ep);
}

static int
nvme_close(struct endpoint *ep)
{
	struct nvme *nv = ep->priv;
	int err = nv->fd >= 0 && close(nv->fd) != 0 ? errno : 0;

	free(nv);
	return err;
}

static int
nvme_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct nvme *nv = calloc(1, sizeof(*nv));

	if (nv == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	nv->fd = -1;
	ep->priv = nv;
	if (nvme_open_node(ep, nv, look, f) != 0 ||
	    (ep->spec.role == TARGET && nvme_check_target(ep, nv, f) != 0)) {
		nvme_close(ep);
		return -1;
	}
	if (ep->spec.role == SOURCE && !look)
		node_settle(ep);
	nv->how = (struct nvme_command){
		.fua = (ep->spec.flags & FLAG_FUA) != 0,
		.timeout = ep->spec.timeout * 1000 };
	ep->cmd = nvme_ask_limits(ep, nv);
	ep->geo.block = ep->geo.io_align = nv->disk.block;
	ep->geo.size = ep->geo.room = (int64_t)ep->cmd.end;
	ep->geo.io_max = ep->cmd.most;
	ep->is.seekable = ep->is.past_cache = ep->is.probed = true;
	ep->is.durable = ep->spec.role == TARGET;
	ep->is.zeroes = ep->spec.role == TARGET && ep->cmd.zero_most > 0 &&
	    !nv->how.fua;
	ep->is.wide = nv->by_ring;
	ep->sync_why = nv->by_ring ? NULL : "the namespace has no ng node";
	return 0;
}

enum {
	OUT_OF_RANGE = 22,	/* status of sg3_utils */
};

static int
nvme_start(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct nvme *nv = ep->priv;

	(void)length, (void)f;
	nv->powered = nvme_power(nv->fd, nv->how.timeout, &nv->power);
	return 0;
}

/* --- commands ----------------------------------------------------------- */

static struct nvme_command
nvme_compose_io(const struct lane *lane, const struct io *io)
{
	const struct endpoint *ep = lane->ep;
	const struct nvme *nv = ep->priv;
	struct nvme_command c = nv->how;

	c.op = io->op;
	c.lba = (io->off + io->done) / nv->disk.block;
	c.blocks = (uint32_t)((io->len - io->done) / nv->disk.block);
	c.buf = io->buf + io->done;
	c.free = io->op == OP_ZERO && (ep->spec.flags & FLAG_TRIM) != 0 &&
	    nv->disk.frees_zeros;
	/* a rescue first wants what is easily read */
	c.hasty = ep->spec.rescue && ep->spec.role == SOURCE &&
	    !ep->is.back && !io->careful;
	return c;
}

/* Whether the disk has changed since the copy began. */
static bool
nvme_changed(const struct endpoint *ep)
{
	const struct nvme *nv = ep->priv;
	struct fault f;

	return nvme_kept(nv->fd, nv->how.timeout, ep->name, &nv->disk, &f) != 0;
}

/* Put the reason why the command failed for good into the io. */
static void
nvme_fail(struct lane *lane, struct io *io, const struct nvme_reply *r)
{
	struct nvme *nv = lane->ep->priv;
	bool medium = r->result == NVME_MEDIUM || r->result == NVME_FREE;
	bool other = r->result == NVME_CHANGED ||
	    ((r->unknown || r->status == OUT_OF_RANGE) &&
	    (nv->changed || nvme_changed(lane->ep)));

	if (io->err == ECANCELED)
		return;
	io->err = medium ? EIO : r->err != 0 ? r->err : EPROTO;
	io->status = r->status;
	if (io->err == EINTR)
		io->err = ETIMEDOUT;
	snprintf(io->why, sizeof(io->why), "%s", r->why);
	if (other) {
		nv->changed = true;
		io->err = EPROTO;
		snprintf(io->why, sizeof(io->why), "the disk was "
		    "reformatted%s%s", r->why[0] != '\0' ? ": " : "", r->why);
	} else if (!medium && node_lost(nv->fd)) {
		io->err = ENODEV;
		io->status = 0;
		snprintf(io->why, sizeof(io->why), "the device has gone");
	} else if (!medium) {
		io->doubtful = io->op == OP_READ && !r->unknown &&
		    (r->err == 0 || r->err == EINTR);
		if (r->result != NVME_AWAY)
			return;
		io->err = ETIMEDOUT;
		io->status = STATUS_TIMEOUT;
		snprintf(io->why, sizeof(io->why), "no path to it: %s", r->why);
	}
}

/*
 * Run a command and judge the answer.  A status that suggests another format is
 * believed only if the disk says that it has one.
 */
static void
nvme_run_retried(const struct lane *lane, const struct nvme_command *c,
    struct nvme_reply *r, struct nvme_wait *w)
{
	struct nvme *nv = lane->ep->priv;

	w->began = clock_ns();
	if (nv->changed)
		*r = (struct nvme_reply){ .result = NVME_CHANGED };
	else
		nvme_run(nv->fd, &nv->disk, c, r);
	if (r->result == NVME_CHANGED && !nv->changed &&
	    !nvme_changed(lane->ep))
		r->result = NVME_AGAIN;
	if (r->result == NVME_DONE)
		nv->away = false;
}

/*
 * Whether half of it is to be tried: not all of it may be free, or the host
 * takes less.
 */
static bool
nvme_halve(struct lane *lane, struct nvme_command *c,
    const struct nvme_reply *r)
{
	const struct nvme *nv = lane->ep->priv;
	bool is_free = r->result == NVME_FREE && nv->disk.zeros;

	if (!is_free && (r->result != NVME_SMALLER || c->op == OP_ZERO ||
	    !request_shrink(lane, (size_t)c->blocks * nv->disk.block)))
		return false;
	c->blocks /= 2;
	if (is_free)
		lane->step = c->blocks;
	return true;
}

/*
 * On a disk that reports deallocated blocks, lane->step is the number of blocks
 * per command, or 0: any.
 */
static void
nvme_transfer(struct lane *lane, struct io *io)
{
	struct nvme *nv = lane->ep->priv;
	struct nvme_command c = nvme_compose_io(lane, io);
	struct nvme_wait wait = { .tries = 0 };
	struct nvme_reply r;

	if (lane->step > 0 && c.blocks > lane->step)
		c.blocks = lane->step;
	for (;;) {
		nvme_run_retried(lane, &c, &r, &wait);
		if (r.result == NVME_DONE) {
			lane->step *= lane->step < NVME_BLOCKS ? 2 : 1;
			break;
		}
		if (r.result == NVME_FREE && nv->disk.zeros && c.blocks == 1) {
			memset(c.buf, 0, nv->disk.block);
			break;
		}
		if (nvme_halve(lane, &c, &r) ||
		    nvme_passes(lane, io, &r, &wait))
			continue;
		nvme_fail(lane, io, &r);
		if (c.op == OP_ZERO && r.unknown)
			io->err = EOPNOTSUPP;
		return;
	}
	io->done += (size_t)c.blocks * nv->disk.block;
}

/* --- asynchronous requests ------------------------------------------------ */

static bool
nvme_begin(struct lane *lane, struct io *io, struct io_uring_sqe *sqe)
{
	const struct nvme *nv = lane->ep->priv;
	struct nvme_command c = nvme_compose_io(lane, io);

	if (nv->changed)
		return false;
	nvme_prepare(sqe, nv->fd, &nv->disk, &c);
	return true;
}

/* Leave to transfer what may succeed at a second try, or in parts. */
static void
nvme_finish(struct lane *lane, struct io *io, int result)
{
	struct nvme *nv = lane->ep->priv;
	struct nvme_reply r;

	nvme_judge(&r, io->op, result);
	switch (r.result) {
	case NVME_DONE:
		io->done = io->len;
		break;
	case NVME_AGAIN:
	case NVME_AWAY:
	case NVME_SMALLER:
	case NVME_FREE:
		break;
	case NVME_CHANGED:
		if (nv->changed || nvme_changed(lane->ep))
			nvme_fail(lane, io, &r);
		break;
	default:
		nvme_fail(lane, io, &r);
	}
}

/* --- after the last write ------------------------------------------------- */

/* If power was lost since the first write, the cache is lost too. */
static int
check_power(const struct endpoint *ep, struct fault *f)
{
	const struct nvme *nv = ep->priv;
	struct nvme_power now;

	if (!nv->powered)
		return 0;
	if (!nvme_power(nv->fd, nv->how.timeout, &now))
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: whether it lost "
		    "power meanwhile is not known: its SMART log can no longer "
		    "be read", ep->name);
	if (memcmp(&now, &nv->power, sizeof(now)) == 0)
		return 0;
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: it lost power during the "
	    "copy, and what was in its cache may be lost", ep->name);
}

static int
nvme_flush_target(struct endpoint *ep, struct fault *f)
{
	struct nvme *nv = ep->priv;
	struct nvme_reply r = { .err = 0 };

	if (!nv->unflushed && nvme_flush_out(nv, &r))
		return check_power(ep, f);
	if (!nv->unflushed) {
		snprintf(nv->why, sizeof(nv->why), "%s", r.why[0] != '\0' ?
		    r.why : errno_words(r.err));
		nv->unflushed = true;
	}
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: Flush failed: %s",
	    ep->name, nv->why);
}

static int
nvme_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f)
{
	const struct nvme *nv = ep->priv;

	(void)from, (void)to, (void)holes;
	return nvme_kept(nv->fd, nv->how.timeout, ep->name, &nv->disk, f);
}

/* Reads with FUA come from the medium (NVM, Read command). */
static int
nvme_open_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *f)
{
	const struct nvme *of = target->priv;
	struct nvme *nv = calloc(1, sizeof(*nv));

	if (nv == NULL)
		return fault_errno(f, ENOMEM, "%s", target->name);
	nv->disk = of->disk;
	nv->how = of->how;
	nv->how.fua = true;
	nv->fd = fcntl(of->fd, F_DUPFD_CLOEXEC, 3);
	r->be = &nvme_backend;
	r->priv = nv;
	if (nv->fd >= 0 && endpoint_try_fua(r, "Read", 0, f) == 0)
		return 0;
	if (nv->fd < 0)
		fault_errno(f, errno, "%s: opening it to read it back",
		    target->name);
	nvme_close(r);
	return -1;
}

static void
nvme_note(const struct endpoint *ep, char *text, size_t room)
{
	const struct nvme *nv = ep->priv;
	int n = 0;

	text[0] = '\0';
	if (!ep->spec.loud)
		return;
	if (nv->again > 0)
		n = snprintf(text, room, "%u commands retried", nv->again);
	if (ep->cmd.shrunk > 0)
		snprintf(text + n, room - (size_t)n, "%sthe host takes %u "
		    "blocks a command", n > 0 ? "; " : "", ep->cmd.most /
		    ep->cmd.unit);
}

const struct backend nvme_backend = {
	.open = nvme_open,
	.prepare = nvme_start,
	.transfer = nvme_transfer,
	.start = nvme_begin,
	.finish = nvme_finish,
	.check_kept = nvme_check_kept,
	.flush = nvme_flush_target,
	.open_readback = nvme_open_readback,
	.note = nvme_note,
	.close = nvme_close,
};
