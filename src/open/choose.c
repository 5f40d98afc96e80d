/*
 * Choosing a backend by what the descriptor says; the name does not matter.
 */
#include "choose.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "end/backend.h"

enum {				/* minors of MEM_MAJOR */
	MINOR_NULL = 3,
	MINOR_ZERO = 5,
	MINOR_RANDOM = 8,
	MINOR_URANDOM = 9,
};

#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC	0x19800202
#endif

/*
 * Whether a file may have contents beyond its size.  If that cannot be read, it
 * may: reading the file in order tells why.
 */
static bool
hides_content(const struct endpoint *ep, int path, off_t size)
{
	int fd = reopen(path, endpoint_path(ep), O_RDONLY | O_NONBLOCK |
	    ((ep->spec.flags & FLAG_NOATIME) != 0 ? O_NOATIME : 0));
	char c;
	bool may = fd < 0 || pread(fd, &c, 1, size) != 0;

	if (fd >= 0)
		close(fd);
	return may;
}

/*
 * Whether the kernel generates the contents of a file when it is read, so that
 * its size is not real.  Such a file is read in order to its end, and has
 * nothing to flush.  Files of known file systems are not read to find out,
 * because some forget what they have returned.  A server of FUSE or 9p may
 * report wrong sizes.
 */
static bool
choose_pseudo(const struct endpoint *ep, int path, const struct stat *st)
{
	switch ((unsigned long)ep->fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
		return true;
	case FUSE_SUPER_MAGIC:
	case V9FS_MAGIC:
		break;
	default:
		if (st->st_size != 0)
			return false;
	}
	return ep->spec.role == SOURCE && hides_content(ep, path, st->st_size);
}

static int
choose_unsupported(struct fault *f, const struct endpoint *ep, const char *what)
{
	return fault_set(f, STATUS_FILE, "%s is %s, which is not supported",
	    ep->name, what);
}

/* The kernel's name for the subsystem of a character device; "" if unknown. */
static void
node_subsystem(const struct stat *st, char *name, size_t room)
{
	char link[64], to[256];
	const char *base;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/subsystem",
	    major(st->st_rdev), minor(st->st_rdev));
	n = readlink(link, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	base = strrchr(to, '/');
	snprintf(name, room, "%s", base == NULL ? "" : base + 1);
}

static int
no_nvme(const struct endpoint *ep, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%s is an NVMe controller: name a "
	    "disk of it, such as /dev/nvme0n1 or /dev/ng0n1", ep->name);
}

static void
choose_identity(struct endpoint *ep, dev_t dev, ino_t ino)
{
	ep->id.known = true;
	ep->id.dev = dev;
	ep->id.ino = ino;
}

/* Identify a disk by its block node, if it has one. */
static void
identify_disk(struct endpoint *ep, dev_t node)
{
	struct disk d;

	if (disk_of_char(node, &d) && d.node != 0)
		choose_identity(ep, d.node, 0);
	else
		choose_identity(ep, node, 1);
}

/*
 * Whether a read returns one message and drops what does not fit; and whether
 * messages may be lost on their way.
 */
static bool
has_messages(int fd, bool *lossy)
{
	int type, domain = AF_UNSPEC;
	socklen_t len = sizeof(type);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0)
		return false;
	*lossy = domain != AF_UNIX && (type == SOCK_DGRAM || type == SOCK_RAW);
	return type != SOCK_STREAM;
}

static int
choose_char(struct endpoint *ep, const struct stat *st, struct fault *f)
{
	bool zeros = st->st_rdev == makedev(MEM_MAJOR, MINOR_ZERO) &&
	    ep->spec.role == SOURCE;
	char drivers[32];

	if (zeros || st->st_rdev == makedev(MEM_MAJOR, MINOR_NULL)) {
		ep->be = &null_backend;
		ep->is.endless = zeros;
		return 0;
	}
	node_subsystem(st, drivers, sizeof(drivers));
	if (major(st->st_rdev) == SCSI_GENERIC_MAJOR ||
	    strcmp(drivers, "bsg") == 0) {
		ep->be = &sg_backend;
		identify_disk(ep, st->st_rdev);
		return 0;
	}
	if (major(st->st_rdev) == SCSI_TAPE_MAJOR)
		return choose_unsupported(f, ep, "a tape");
	if (strcmp(drivers, "nvme-generic") == 0) {
		ep->be = &nvme_backend;
		identify_disk(ep, st->st_rdev);
		return 0;
	}
	if (strncmp(drivers, "nvme", 4) == 0)
		return no_nvme(ep, f);
	ep->be = &stream_backend;
	ep->is.endless = ep->spec.role == SOURCE &&
	    (st->st_rdev == makedev(MEM_MAJOR, MINOR_RANDOM) ||
	    st->st_rdev == makedev(MEM_MAJOR, MINOR_URANDOM));
	return 0;
}

/* Refuse words that apply only to another kind of end. */
int
choose_misused(const struct endpoint *ep, struct fault *f)
{
	if ((ep->spec.flags & FLAG_NVME) != 0 && ep->be != &nvme_backend)
		return fault_set(f, STATUS_USAGE, "%s: nvme is for NVMe disks",
		    ep->name);
	if ((ep->spec.flags & FLAG_RESET) != 0 && ep->be != &zoned_backend)
		return fault_set(f, STATUS_USAGE, "%s: oflag=reset is for "
		    "zoned disks", ep->name);
	if (ep->spec.since != NULL && ep->be != &rbd_backend)
		return fault_set(f, STATUS_USAGE, "%s: iflag=since: is for "
		    "Ceph images", ep->name);
	if (ep->spec.bitmap != NULL && ep->be != &nbd_backend)
		return fault_set(f, STATUS_USAGE, "%s: iflag=bitmap: is for "
		    "NBD exports", ep->name);
	if (ep->be == &sg_backend ||
	    (ep->spec.flags & (FLAG_SGIO | FLAG_MMAP)) == 0)
		return 0;
	return fault_set(f, STATUS_USAGE, "%s: sgio is for block devices, mmap "
	    "for SCSI generic ones", ep->name);
}

/* Whether the target is a disk whose zones must be written in order. */
static bool
choose_zoned(const struct endpoint *ep, const struct stat *st)
{
	char model[32];

	return ep->spec.role == TARGET &&
	    disk_zoned(st->st_rdev, model, sizeof(model)) &&
	    strcmp(model, "host-managed") == 0;
}

static const struct backend *
block_backend(const struct endpoint *ep, const struct stat *st)
{
	if ((ep->spec.flags & FLAG_NVME) != 0)
		return &nvme_backend;
	if ((ep->spec.flags & FLAG_SGIO) != 0)
		return &sg_backend;
	return choose_zoned(ep, st) ? &zoned_backend : &file_backend;
}

/* Choose a backend by the type of file that was found. */
static int
choose_backend(struct endpoint *ep, int fd, const struct stat *st,
    struct fault *f)
{
	bool lossy;

	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		if (fstatfs(fd, &ep->fs) != 0)
			return fault_errno(f, errno, "%s", ep->name);
		ep->held = (uint64_t)st->st_blocks * 512;
		if (ep->fs.f_type == MQUEUE_MAGIC)
			return choose_unsupported(f, ep, "a message queue");
		ep->be = choose_pseudo(ep, fd, st) ? &stream_backend :
		    &file_backend;
		choose_identity(ep, st->st_dev, st->st_ino);
		return 0;
	case S_IFBLK:
		ep->be = block_backend(ep, st);
		ep->is.device = true;
		choose_identity(ep, st->st_rdev, 0);
		return 0;
	case S_IFCHR:
		ep->is.device = true;
		return choose_char(ep, st, f);
	case S_IFIFO:
		ep->is.piped = true;
		ep->be = &stream_backend;
		return 0;
	case S_IFSOCK:
		if (!ep->is.inherited)
			return choose_unsupported(f, ep, "a socket");
		if (has_messages(fd, &lossy) && (lossy ||
		    ep->spec.role == SOURCE))
			return choose_unsupported(f, ep, lossy ? "a socket "
			    "whose messages may be lost" :
			    "a socket of messages");
		ep->is.piped = true;
		ep->be = &stream_backend;
		return 0;
	case S_IFLNK:
		return fault_set(f, status_errno(ELOOP),
		    "%s is a symbolic link, and nofollow is set", ep->name);
	case S_IFDIR:
		return fault_set(f, status_errno(EISDIR), "%s is a "
		    "directory; %s", ep->name, ep->spec.role == TARGET ?
		    "name a file in it" :
		    "name a file, or the disk it lies on (pardd -l)");
	default:
		return choose_unsupported(f, ep, "of an unknown type");
	}
}

/* Write in order, from the end of the file on. */
void
choose_append(struct endpoint *ep, const struct stat *st)
{
	ep->spec.flags |= FLAG_APPEND;
	ep->be = &stream_backend;
	ep->lim.base = (uint64_t)st->st_size;
}

/* Choose the backend, and check the words of iflag= or oflag= against it. */
int
choose(struct endpoint *ep, int fd, const struct stat *st, struct fault *f)
{
	ep->id.node = st->st_rdev;
	ep->id.file_dev = st->st_dev;
	ep->id.file_ino = st->st_ino;
	ep->id.written = st->st_mtim;
	ep->id.size = st->st_size;
	ep->is.linked = S_ISREG(st->st_mode) && st->st_nlink > 0;
	if (choose_backend(ep, fd, st, f) != 0)
		return -1;
	if (ep->spec.role == TARGET && (ep->spec.flags & FLAG_EXCL) != 0 &&
	    !ep->is.device && !ep->is.inherited)
		return fault_errno(f, EEXIST, "%s", ep->name);
	if (choose_misused(ep, f) != 0)
		return -1;
	if ((ep->spec.flags & FLAG_APPEND) != 0 && ep->is.device &&
	    ep->be != &null_backend)
		return fault_set(f, STATUS_USAGE,
		    "%s: oflag=append is for files, not for devices", ep->name);
	if ((ep->spec.flags & FLAG_APPEND) != 0 && ep->be == &file_backend)
		choose_append(ep, st);
	return 0;
}
