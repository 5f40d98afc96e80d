/*
 * What the kernel says about the page cache.
 */
#include "cached.h"

#include <linux/magic.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat	451		/* Linux 6.5 */
#endif

int64_t
cached_pages(int fd, uint64_t off, uint64_t len)
{
	uint64_t range[2] = { off, len };	/* struct cachestat_range */
	uint64_t pages[5] = { 0 };	/* struct cachestat, cached first */

	return syscall(SYS_cachestat, fd, range, pages, 0) == 0 ?
	    (int64_t)pages[0] : -1;
}

bool
cached_only(unsigned long type)
{
	return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}
