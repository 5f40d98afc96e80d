/*
 * Opening SCSI disks, and their lanes.
 *
 * Each lane has its own descriptor, because a descriptor has one reserved
 * buffer and takes at most 16 commands at a time.
 *
 * With iflag=sparse the disk is queried for the mapped blocks.  The others are
 * not read if it says that they read as zeros (LBPRZ).
 */
#include "sg.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <scsi/sg_lib.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/status.h"
#include "cli/opts.h"
#include "end/node.h"
#include "end/reopen.h"

enum {
	RESERVE = 1 << 20,	/* bytes of a descriptor's own buffer */
	GAP = 64 << 10,		/* bytes: shortest unmapped run to skip */
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
		return fault_set(f, STATUS_USAGE,
		    "%s: mmap is for sg nodes, and does not go with excl",
		    ep->name);
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
sg_extent(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	struct sg *sg = ep->priv;
	uint64_t block = sg->disk.block, lba = off / block;
	struct scsi_span s;
	enum scsi_result r = scsi_mapped(&sg->path, lba, GAP / block, &s);

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
	    sg->disk.zeros && sg_extent(ep, 0, &x) == 0;
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

	sg->most = most_blocks(sg);
	ep->geo.block = ep->geo.io_align = sg->disk.block;
	ep->geo.size = ep->geo.room = (int64_t)(sg->disk.blocks *
	    sg->disk.block);
	ep->is.seekable = ep->is.past_cache = true;
	ep->is.durable = ep->spec.role == TARGET;
	ep->is.sparse = has_gaps(ep);
	ep->is.zeroes = ep->spec.role == TARGET && sg->disk.same_most > 0 &&
	    !sg->how.fua;		/* WRITE SAME has no FUA bit */
}

int
sg_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct sg *sg = calloc(1, sizeof(*sg));

	if (sg == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	sg->path.fd = -1;
	sg->good = NOWHERE;
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
int
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

int
sg_detach(struct lane *lane)
{
	const struct sg *sg = lane->ep->priv;
	struct sg_lane *l = lane->priv;

	if (l->map != NULL)
		munmap(l->map, l->map_len);
	if (l->path.fd >= 0 && !sg->shared)
		close(l->path.fd);
	sg_async_close(l->async);
	free(l->bounce);
	free(l);
	return 0;
}

int
sg_attach(struct lane *lane)
{
	const struct sg *sg = lane->ep->priv;
	struct sg_lane *l = calloc(1, sizeof(*l));
	int err = 0;

	if (l == NULL)
		return ENOMEM;
	lane->priv = l;
	l->bounce = page_alloc(SG_BOUNCE);
	l->path = sg->path;
	if (!sg->shared)
		l->path.fd = reopen(sg->path.fd, endpoint_path(lane->ep),
		    sg_open_flags(lane->ep, false));
	if (l->path.fd < 0)
		err = errno;
	if (err == 0 && l->bounce == NULL)
		err = ENOMEM;
	if (err == 0)
		err = sg_reserve_buffer(lane->ep, l);
	if (err == 0 && lane->ep->geo.depth > 0)
		err = sg_async_open(lane->ep, &l->async);
	if (err != 0)
		sg_detach(lane);
	return err;
}
