/*
 * Flushing a file or block device.
 *
 * The kernel sends no flush to a disk that it believes to have no cache, on its
 * own or because someone has set that, and it may be wrong.  So a SCSI disk is
 * then sent a command to flush its cache, and so are the disks below a dm or md
 * device.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "disk/below.h"
#include "disk/disk.h"
#include "disk/sysfs.h"
#include "scsi/scsi.h"

static int
flush_unasked(const struct endpoint *ep, int err, struct fault *f)
{
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: whether a disk has to be "
	    "asked to flush its cache cannot be looked up: %s", ep->name,
	    errno_words(err));
}

/*
 * Whether the kernel believes that the disk has no cache (1 or 0); -1 with *f:
 * that could not be asked.
 */
static int
said_write_through(const struct endpoint *ep, dev_t node, struct fault *f)
{
	int dir = sysfs_open("block", node), err = 0;
	char cache[32];
	bool is;

	if (dir < 0)
		return sysfs_unasked(errno) == 0 ? 0 :
		    flush_unasked(ep, errno, f);
	if (!sysfs_text(dir, "queue/write_cache", cache, sizeof(cache)) &&
	    !sysfs_text(dir, "../queue/write_cache", cache, sizeof(cache)))
		err = sysfs_unasked(errno);
	is = strcmp(cache, "write through") == 0 &&
	    (faccessat(dir, "device/scsi_disk", F_OK, 0) == 0 ||
	    faccessat(dir, "../device/scsi_disk", F_OK, 0) == 0);
	close(dir);
	return err == 0 ? is : flush_unasked(ep, err, f);
}

/*
 * A disk that rejects the command has no cache; the kernel concludes the same.
 */
static int
flush_scsi(const struct endpoint *ep, int fd, struct fault *f)
{
	struct scsi_path path = scsi_path(fd, ep->spec.timeout * 1000);
	struct scsi_reply r;

	if (scsi_sync(&path, true, &r) || r.unknown || r.err == ENOTTY ||
	    r.err == EPERM)
		return 0;
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: SYNCHRONIZE CACHE failed"
	    ": %s", ep->name, r.why[0] != '\0' ? r.why : errno_words(r.err));
}

struct flush {
	const struct endpoint *ep;
	struct fault	*f;
};

/* Open the node of a disk.  Returns a negative errno value if that fails. */
static int
open_member(dev_t node, const char *name)
{
	char path[300];
	int fd;

	if (!disk_path(node, name, path, sizeof(path)))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fd;
}

/*
 * A disk that the target lies on.  The kernel itself reports one that has gone.
 * Without permission to ask the disk we have to believe the kernel.
 */
static int
flush_member(dev_t node, const char *name, void *arg)
{
	const struct flush *flush = arg;
	int fd, failed = said_write_through(flush->ep, node, flush->f);

	if (failed <= 0)
		return failed;
	fd = open_member(node, name);
	if (fd < 0)
		return fd == -EACCES || fd == -EPERM || disk_lost(node, true) ?
		    0 : fault_set(flush->f, STATUS_NOT_FLUSHED, "%s: %s, which "
		    "it lies on, cannot be asked to flush its cache: %s",
		    flush->ep->name, name, errno_words(-fd));
	failed = flush_scsi(flush->ep, fd, flush->f);
	close(fd);
	return failed;
}

static int
flush_disk(const struct endpoint *ep, const struct file *file, struct fault *f)
{
	struct flush flush = { ep, f };
	struct stat st;
	int got;

	if (!file->device || fstat(file->plain, &st) != 0)
		return 0;
	got = said_write_through(ep, st.st_rdev, f);
	if (got != 0)
		return got < 0 ? got : flush_scsi(ep, file->plain, f);
	got = below_each(st.st_rdev, flush_member, &flush);
	return got > 0 ? flush_unasked(ep, got, f) : got;
}

/*
 * A device has one cache.  A file is flushed by each descriptor that may have
 * written to it, because to a FUSE daemon these are different open files;
 * "overwrites" is for file systems where they are not.
 */
static int
flush_all(const struct endpoint *ep, const struct file *file, struct fault *f)
{
	const int fds[] = { file->flush, file->plain,
		file->overwrites ? -1 : file->direct };
	size_t i;
	int err;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] < 0)
			continue;
		err = flush_fd(fdatasync, fds[i], ep->spec.timeout);
		if (err != 0)
			return fault_errno(f, err, "%s: flushing", ep->name);
		if (ep->is.device)
			break;
	}
	return 0;
}

int
file_flush(struct endpoint *ep, struct fault *f)
{
	struct file *file = ep->priv;
	uint64_t at;

	if (flush_all(ep, file, f) != 0)
		return -1;
	return file_cut_off(file, &at) ? endpoint_cut_off(ep, at, f) :
	    flush_disk(ep, file, f);
}
