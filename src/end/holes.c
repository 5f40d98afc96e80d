/*
 * Holes where data should be.  A file that somebody has cut off is made long
 * again by what is written next, and then has a hole where data was.  So in the
 * end its holes are counted, where a file system gives blocks to all that is
 * written, zeros too, and tells which bytes have none.
 */
#include "holes.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Whether they are to be counted.  tmpfs would go through all pages for it, but
 * knows exactly how many there are.
 */
static bool
countable(int fd, uint64_t most)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) != 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:		/* and ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return true;
	case TMPFS_MAGIC:
		return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 +
		    most < (uint64_t)st.st_size;
	default:
		return false;
	}
}

/* Bytes of holes; it is enough to find more than "most". */
static uint64_t
count(int fd, uint64_t from, uint64_t to, uint64_t most)
{
	uint64_t sum = 0;
	off_t start, end = (off_t)from;

	while (sum <= most) {
		start = lseek(fd, end, SEEK_HOLE);
		if (start < 0 || (uint64_t)start >= to)
			break;
		end = lseek(fd, start, SEEK_DATA);
		if (end < 0 || (uint64_t)end > to)
			end = (off_t)to;
		sum += (uint64_t)(end - start);
	}
	return sum;
}

bool
holes_more(int fd, uint64_t from, uint64_t to, uint64_t most)
{
	return most < to - from && countable(fd, most) &&
	    count(fd, from, to, most) > most;
}

uint64_t
holes_in(int fd, uint64_t from, uint64_t to)
{
	return countable(fd, 0) ? count(fd, from, to, UINT64_MAX) : 0;
}
