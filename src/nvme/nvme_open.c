/*
 * Opening NVMe disks, and the limits of their commands.
 */
#include "nvme_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "disk/sysfs.h"
#include "end/node.h"
#include "end/reopen.h"

enum {
	USUAL = 64 << 10,	/* bytes per command, if unknown */
	ZEROES = 32 << 20,	/* bytes per Write Zeroes, at most */
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

static void
set_limits(const struct endpoint *ep, struct nvme *nv)
{
	int dir = node_dir(ep);
	uint64_t most = dir < 0 ? USUAL : host_most(dir);
	uint64_t zeroes = dir < 0 ? 0 : sysfs_number(dir,
	    "queue/write_zeroes_max_bytes");

	if (dir >= 0)
		close(dir);
	if (nv->disk.most > 0 && nv->disk.most < most)
		most = nv->disk.most;
	most /= nv->disk.block;
	nv->most = most == 0 ? 1 : most < NVME_BLOCKS ? (unsigned)most :
	    NVME_BLOCKS;
	zeroes = (zeroes < ZEROES ? zeroes : ZEROES) / nv->disk.block;
	nv->zero_most = !nv->disk.has_zeroes ? 0 : zeroes < NVME_BLOCKS ?
	    (uint32_t)zeroes : NVME_BLOCKS;
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

int
nvme_close(struct endpoint *ep)
{
	struct nvme *nv = ep->priv;
	int err = nv->fd >= 0 && close(nv->fd) != 0 ? errno : 0;

	free(nv);
	return err;
}

int
nvme_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct nvme *nv = calloc(1, sizeof(*nv));

	if (nv == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	nv->fd = -1;
	nv->good = NOWHERE;
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
	set_limits(ep, nv);
	ep->geo.block = ep->geo.io_align = nv->disk.block;
	ep->geo.size = ep->geo.room = (int64_t)(nv->disk.blocks *
	    nv->disk.block);
	ep->geo.io_max = (uint64_t)nv->most * nv->disk.block;
	ep->is.seekable = ep->is.past_cache = true;
	ep->is.durable = ep->spec.role == TARGET;
	ep->is.zeroes = ep->spec.role == TARGET && nv->zero_most > 0 &&
	    !nv->how.fua;
	ep->is.wide = nv->by_ring;
	ep->sync_why = nv->by_ring ? NULL : "the namespace has no ng node";
	return 0;
}
