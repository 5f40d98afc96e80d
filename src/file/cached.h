/*
 * The page cache of a file, and file systems that are nothing else.
 */
#ifndef PARDD_CACHED_H
#define PARDD_CACHED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The pages of len bytes at off in the page cache; len 0: up to the end.  -1:
 * the kernel does not say, as before Linux 6.5 (cachestat(2)).
 */
int64_t cached_pages(int fd, uint64_t off, uint64_t len);

/* Whether file systems of this type (statfs(2)) have no medium below it. */
bool cached_only(unsigned long type);

#endif
