/*
 * Whether a file or a device still is what was opened.
 *
 * Somebody may cut a target file off while it is written.  What is written next
 * makes it long again, with a hole where data was.  So its length is held now
 * and then against what was written last, and its holes are counted in the end.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/below.h"
#include "disk/disk.h"
#include "disk/sysfs.h"
#include "end/reopen.h"
#include "holes.h"

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ	_IOR(0x12, 128, uint64_t)	/* Linux 5.15 */
#endif

uint64_t
file_medium(int fd)
{
	uint64_t number;

	return ioctl(fd, BLKGETDISKSEQ, &number) == 0 ? number : 0;
}

/* A drive looks for its medium when it is opened. */
static bool
ejected(const struct file *file, dev_t node)
{
	int dir = sysfs_open("block", node), fd;
	bool is = false;

	if (dir < 0)
		return false;
	if (sysfs_number(dir, "removable") != 0 ||
	    sysfs_number(dir, "../removable") != 0) {
		fd = reopen(file->plain, "", O_RDONLY);
		is = fd < 0 && errno == ENOMEDIUM;
		if (fd >= 0)
			close(fd);
	}
	close(dir);
	return is || file_medium(file->plain) != file->medium;
}

bool
file_gone(const struct file *file)
{
	struct stat st;

	return disk_gone(file->plain) || (fstat(file->plain, &st) == 0 &&
	    (below_gone(st.st_rdev) || ejected(file, st.st_rdev)));
}

bool
file_cut_off(struct file *file, uint64_t *at)
{
	uint64_t high = file->high;
	struct stat st;

	if (high > 0 && fstat(file->plain, &st) == 0 &&
	    (uint64_t)st.st_size < high)
		file->cut = (uint64_t)st.st_size;
	*at = file->cut;
	return *at != NOWHERE;
}

void
file_note_written(struct file *file, const struct io *io)
{
	uint64_t end = io->off + io->done, high = file->high;

	if (io->op != OP_WRITE || file->device || io->done == 0)
		return;
	while (high < end &&
	    !atomic_compare_exchange_weak(&file->high, &high, end))
		continue;
}

static int
device_kept(const struct endpoint *ep, const struct stat *st, uint64_t length,
    struct fault *f)
{
	const struct file *file = ep->priv;

	if (file_medium(file->plain) != file->medium)
		return fault_set(f, status_errno(ENODEV), "%s: the medium was "
		    "changed during the copy", ep->name);
	return below_kept(st->st_rdev, length, f);
}

int
file_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t most, struct fault *f)
{
	struct file *file = ep->priv;
	struct stat st;
	uint64_t at;

	if (fstat(file->plain, &st) != 0)
		return 0;
	if (ep->is.device)
		return device_kept(ep, &st, to, f);
	if ((uint64_t)st.st_size < to)
		return endpoint_cut_off(ep, (uint64_t)st.st_size, f);
	if (file_cut_off(file, &at))
		return endpoint_cut_off(ep, at, f);
	if (!file->borrowed && holes_more(file->plain, from, to, most))
		return endpoint_holed(ep, f);
	return endpoint_named(ep, &st, f);
}
