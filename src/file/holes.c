/*
 * Holes where data should be.  When someone truncates a file, the next write
 * extends it again and leaves a hole where data was.  So holes are counted at
 * the end, on file systems that allocate blocks for all that is written, even
 * zeros, and that report holes.
 */
#include "holes.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Whether holes can be counted. tmpfs would have to visit every page, but knows
 * the exact number of blocks.
 */
static bool
holes_countable(int fd, uint64_t most)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) != 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:		/* also ext2, ext3 */
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

/* Count bytes of holes, but stop at more than "most". */
static uint64_t
holes_bytes(int fd, uint64_t from, uint64_t to, uint64_t most)
{
	uint64_t sum = 0;
	off_t start, end = (off_t)from;

	while (sum <= most) {
		start = lseek(fd, end, SEEK_HOLE);
		if (start < 0 || (uint64_t)start >= to)
			break;
		end = lseek(fd, start, SEEK_DATA);
		if ((uint64_t)end > to)		/* or there is no more: -1 */
			end = (off_t)to;
		sum += (uint64_t)(end - start);
	}
	return sum;
}

bool
holes_more(int fd, uint64_t from, uint64_t to, uint64_t most)
{
	return most < to - from && holes_countable(fd, most) &&
	    holes_bytes(fd, from, to, most) > most;
}

uint64_t
holes_in(int fd, uint64_t from, uint64_t to)
{
	return holes_countable(fd, 0) ? holes_bytes(fd, from, to, UINT64_MAX) :
	    0;
}
