/*
 * Zoned disks as targets: host-managed SMR and ZNS, by their block node.  A
 * zone accepts writes at its write pointer only, so it is written by one worker
 * in order, past the page cache, which would write its pages in any order.
 * Several zones are written at a time, each by its own worker (piece.c), if the
 * disk does not rotate, and allows it.
 *
 * There are no blocks between the capacity of a zone and its end.  Zeros for
 * that gap are left out, because it reads as zeros; anything else is an error.
 *
 * If the source is zoned too, its write pointers are part of the copy: nothing
 * is written beyond them, and at the end those of the target must be equal.
 */
#include "end/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "zones.h"

struct zoned {			/* priv of an endpoint */
	int		 fd;		/* to read, and later to write */
	struct zones	*zones;
	struct zones	*source;	/* those of the source, or NULL */
	int		 source_fd;
	uint64_t	 source_from;	/* where the copy begins there, */
	uint64_t	 from, to;	/* and where it lies here */
	struct zone_limits most;	/* of the disk */
	bool		 rotates;	/* or cannot be looked up */
};

static int
zoned_close(struct endpoint *ep)
{
	struct zoned *zd = ep->priv;
	int err = zd->fd >= 0 && close(zd->fd) != 0 ? errno : 0;

	if (zd->source_fd >= 0)
		close(zd->source_fd);
	free(zd->zones);
	free(zd->source);
	free(zd);
	return err;
}

/* A write must end at a physical block. */
static int
zoned_ask(struct endpoint *ep, struct zoned *zd, struct fault *f)
{
	int read_only = 0, err;
	unsigned block = 0;
	struct disk disk;
	uint64_t bytes;

	zd->fd = reopen(ep->fd, endpoint_path(ep), O_RDONLY | O_NOCTTY);
	if (zd->fd < 0)
		return fault_found(f, ep);
	if (ioctl(zd->fd, BLKROGET, &read_only) == 0 && read_only != 0) {
		errno = EROFS;
		return fault_found(f, ep);
	}
	if (ioctl(zd->fd, BLKPBSZGET, &block) != 0 ||
	    ioctl(zd->fd, BLKGETSIZE64, &bytes) != 0)
		return fault_errno(f, errno, "%s: size", ep->name);
	if (block < 512 || block > 65536 || bytes > INT64_MAX)
		return fault_set(f, STATUS_FILE, "%s says it has %llu bytes in "
		    "blocks of %u", ep->name, (unsigned long long)bytes, block);
	err = zones_read(zd->fd, &zd->zones);
	if (err != 0)
		return fault_errno(f, err, "%s: its zones", ep->name);
	ep->geo.block = ep->geo.io_align = block;
	ep->geo.size = ep->geo.room = (int64_t)bytes;
	ep->geo.zone = zones_size(zd->zones);
	zd->most = disk_zone_limits(ep->id.node);
	zd->rotates = !disk_of_block(ep->id.node, &disk) || disk.rotates;
	return 0;
}

static int
zoned_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct zoned *zd = calloc(1, sizeof(*zd));

	(void)look;
	if (zd == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	zd->fd = zd->source_fd = -1;
	ep->priv = zd;
	if (zoned_ask(ep, zd, f) != 0) {
		zoned_close(ep);
		return -1;
	}
	ep->is.seekable = ep->is.past_cache = true;
	ep->is.durable = ep->is.zoned = true;
	ep->sync_why = "a zoned disk is written in order";
	return 0;
}

/* Get the zones of a zoned source.  Returns 0 or an errno value. */
static int
take_source(struct zoned *zd, const struct endpoint *src, uint64_t src_from)
{
	char model[32];
	bool cached;

	if (src->kind != END_BLOCK ||
	    !disk_zoned(src->id.node, model, sizeof(model)))
		return 0;
	if (zd->source_fd < 0)
		zd->source_fd = src->be->view(src, &cached);
	if (zd->source_fd < 0)
		return errno;
	zd->source_from = src_from;
	return zd->source != NULL ? 0 : zones_read(zd->source_fd, &zd->source);
}

/* Whether the write pointers can become equal to those of the source. */
static bool
zoned_fits(const struct zoned *zd)
{
	return zd->source == NULL || zones_fit(zd->zones, zd->from, zd->to,
	    zd->source, zd->source_from);
}

/* How many zones the disk lets be written at a time. */
static unsigned
at_a_time(const struct zoned *zd)
{
	unsigned left = zd->source == NULL ? 0 : zones_left(zd->zones, zd->from,
	    zd->to, zd->source, zd->source_from);

	return zones_available(zd->zones, zd->from, zd->to, &zd->most, left);
}

static unsigned
zoned_writers(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from)
{
	struct zoned *zd = ep->priv;

	zd->from = from;
	zd->to = to;
	if (zd->rotates || take_source(zd, src, src_from) != 0 ||
	    !zoned_fits(zd))
		return 1;
	return at_a_time(zd);
}

static int
zoned_check_range(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f)
{
	struct zoned *zd = ep->priv;
	int err;

	zd->from = from;
	zd->to = to;
	if (ep->spec.rescue)
		return fault_set(f, STATUS_REFUSED, "%s is a zoned disk, and "
		    "written in order: map= cannot be used, because a rescue "
		    "goes back; rescue to a file first", ep->name);
	if ((ep->spec.flags & FLAG_SPARING) != 0)
		return fault_set(f, STATUS_REFUSED, "%s is a zoned disk: "
		    "oflag=sparing cannot be used, because no block of it can "
		    "be written alone", ep->name);
	if (zones_check(zd->zones, from, to, (ep->spec.flags & FLAG_RESET) != 0,
	    ep->name, f) != 0)
		return -1;
	err = take_source(zd, src, src_from);
	if (err != 0)
		return fault_errno(f, err, "%s: its zones", src->name);
	if (!zoned_fits(zd))
		return fault_set(f, STATUS_REFUSED, "%s and %s have "
		    "different zones, or the copy begins within one: their "
		    "write pointers cannot become equal", src->name, ep->name);
	if (at_a_time(zd) == 0)
		return fault_set(f, STATUS_REFUSED, "%s would have more zones "
		    "open or written in part than it allows: finish or reset "
		    "some", ep->name);
	return 0;
}

static int
zoned_prepare(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct zoned *zd = ep->priv;
	int fd = reopen(zd->fd, endpoint_path(ep), O_WRONLY | O_DIRECT |
	    O_NOCTTY), err = 0;

	(void)length;
	if (fd < 0)
		return fault_found(f, ep);
	close(zd->fd);
	zd->fd = fd;
	if ((ep->spec.flags & FLAG_RESET) != 0)
		err = zones_reset(fd, zd->zones, zd->from, zd->to);
	return err == 0 ? 0 : fault_errno(f, err, "%s: resetting its zones",
	    ep->name);
}

/* The length of the run at "at" that is to be written, or left out. */
static uint64_t
run_at(const struct zoned *zd, uint64_t at, bool *out)
{
	const struct zone *z = zones_at(zd->zones, at), *other;
	uint64_t room, behind;

	*out = false;
	if (z == NULL || !z->ordered)
		return z == NULL ? UINT64_MAX : z->end - at;
	room = z->room;
	other = zd->source == NULL ? NULL : zones_at(zd->source, at - zd->from +
	    zd->source_from);
	if (other != NULL && other->ordered) {
		behind = z->start + (other->next - other->start);
		room = behind < room ? behind : room;
	}
	*out = at >= room;
	return (*out ? z->end : room) - at;
}

static void
write_part(const struct zoned *zd, struct io *io, size_t n,
    struct clock_limit *limit)
{
	ssize_t got = pwrite(zd->fd, io->buf + io->done, n,
	    (off_t)(io->off + io->done));
	int err = got < 0 ? errno : EIO;

	if (got > 0)
		io->done += (size_t)got;
	else if (!io_again(err, limit))
		io->err = disk_gone(zd->fd) ? ENODEV : err;
}

static void
zoned_transfer(struct lane *lane, struct io *io)
{
	const struct zoned *zd = lane->ep->priv;
	struct clock_limit limit = { .seconds = lane->ep->spec.timeout };

	if (io->op != OP_WRITE)
		io->err = EOPNOTSUPP;
	while (io->done < io->len && io->err == 0) {
		uint64_t at = io->off + io->done;
		size_t left = io->len - io->done, n;
		bool out;
		uint64_t run = run_at(zd, at, &out);

		n = run < left ? (size_t)run : left;
		if (!out) {
			write_part(zd, io, n, &limit);
		} else if (all_zero(io->buf + io->done, n)) {
			io->done += n;
		} else {
			io->err = ENOSPC;
			snprintf(io->why, sizeof(io->why), "the zone has no "
			    "blocks from there on, but the data is not zeros");
		}
	}
}

static int
zoned_flush(struct endpoint *ep, struct fault *f)
{
	const struct zoned *zd = ep->priv;
	int err = flush_fd(fdatasync, zd->fd, ep->spec.timeout);

	return err == 0 ? 0 : fault_errno(f, err, "%s: flushing", ep->name);
}

/* Check that no zone was reset after it had been written. */
static int
check_written(const struct endpoint *ep, uint64_t from, uint64_t to,
    struct fault *f)
{
	const struct zoned *zd = ep->priv;
	struct zones *now;
	const struct zone *lost;
	int err = zones_read(zd->fd, &now);

	if (err != 0)
		return fault_errno(f, err, "%s: its zones, at the end",
		    ep->name);
	lost = zones_unwritten(now, from, to);
	if (lost != NULL)
		fault_set(f, STATUS_FILE, "%s: the zone at byte %llu was reset "
		    "during the copy", ep->name,
		    (unsigned long long)lost->start);
	free(now);
	return lost == NULL ? 0 : -1;
}

/* With a zoned source, compare the write pointers. */
static int
check_equal(const struct endpoint *ep, uint64_t to, struct fault *f)
{
	const struct zoned *zd = ep->priv;
	struct zones *now, *source = NULL;
	bool equal = false;
	int err = zones_read(zd->fd, &now);

	if (err == 0)
		err = zones_read(zd->source_fd, &source);
	if (err == 0)
		equal = zones_equal(now, zd->from, to, source, zd->source_from);
	free(now);
	free(source);
	if (err != 0)
		return fault_errno(f, err, "%s: its zones and those of the "
		    "source, at the end", ep->name);
	return equal ? 0 : fault_set(f, STATUS_MISMATCH, "%s: its write "
	    "pointers are not those of the source", ep->name);
}

static int
zoned_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f)
{
	const struct zoned *zd = ep->priv;

	(void)holes;
	return zd->source != NULL ? check_equal(ep, to, f) :
	    check_written(ep, from, to, f);
}

static int
zoned_view(const struct endpoint *ep, bool *cached)
{
	const struct zoned *zd = ep->priv;

	*cached = false;
	return reopen(zd->fd, endpoint_path(ep), O_RDONLY);
}

const struct backend zoned_backend = {
	.open = zoned_open,
	.writers = zoned_writers,
	.check_range = zoned_check_range,
	.prepare = zoned_prepare,
	.transfer = zoned_transfer,
	.check_kept = zoned_check_kept,
	.flush = zoned_flush,
	.view = zoned_view,
	.open_readback = file_readback,
	.close = zoned_close,
};
