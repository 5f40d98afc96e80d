/*
 * A regular file or block device as an end, as file.c, file_flush.c
 * and file_kept.c share it.
 */
#ifndef PARDD_FILE_H
#define PARDD_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "disk/below.h"
#include "end/backend.h"

enum { PAGE = 4096 };		/* smallest unit of a direct request */

struct file {
	int		 plain;		/* descriptor, or -1 */
	int		 direct;	/* with O_DIRECT, or -1 */
	int		 flush;		/* opened with map=, or -1: see
					 * file.c */
	int		 counts;	/* finds holes, which moves it; or -1 */
	uint32_t	 align;		/* of direct offsets and lengths */
	uint32_t	 read_align;	/* for reads; may be smaller */
	bool		 device;
	bool		 prefer_direct;
	bool		 overwrites;	/* direct where blocks are allocated */
	bool		 behind;	/* drop our pages from the cache */
	bool		 cached;	/* parts may have been in the page
					 * cache before */
	bool		 borrowed;	/* plain's offset is shared with
					 * others */
	bool		 waits;		/* writes wait for the medium */
	atomic_bool	 no_dontcache;	/* the kernel lacks RWF_DONTCACHE */
	atomic_bool	 stalled;	/* EAGAIN lasted for timeout= */
	atomic_bool	 no_trim;	/* blocks cannot be freed */
	atomic_bool	 shifted;	/* once: see below_shifted */
	uint64_t	 length;	/* at the start; no blocks beyond it */
	uint64_t	 medium;	/* its number, or 0 */
	struct below_place place;	/* where its bytes were at the start */
	uint64_t	 from, to;	/* range of a target file to be
					 * written */
	atomic_uint_fast64_t high;	/* a target file ends there or later */
	uint64_t	 before;	/* bytes of holes before "from", if
					 * the file has so much */
	atomic_uint_fast64_t cut;	/* a write found the file cut off
					 * here */
	struct {			/* the file that a device lies on: */
		int		fd;	/* for queries, or -1 */
		uint64_t	start;	/* of the device there */
		bool		known;	/* and of a source: */
		uint64_t	holes;	/* bytes, in the range to be read */
		struct timespec	changed, written;
		uint64_t	writes;	/* by the loop devices above it */
	}		 below;
};

/*
 * Lock a range of a target file, and on an overlay also that of the layer's
 * file, against other copies; the lock lasts until fd is closed.  Returns 0, or
 * -1 with *f if another copy has it.
 */
int file_lock(const struct endpoint *, int fd, uint64_t from, uint64_t to,
    struct fault *);

/* file_flush.c, as in struct backend. */
int file_flush(struct endpoint *, struct fault *);

/* The number of the medium; 0: unknown, or there is none. */
uint64_t file_medium(int fd);

/* Whether the device, what it lies on, or its medium is gone. */
bool file_gone(const struct file *);

/*
 * Check that the bytes of a device lie where they did when it was opened.
 * Returns 0, or -1 with *f: with this status, if they do not.
 */
int file_stayed(const struct endpoint *, int status, struct fault *f);

/* Whether the file ends earlier than was noted; if so, *at is where. */
bool file_cut_off(struct file *, uint64_t *at);

/* Whether others wrote to the file that a source lies on. */
bool file_below_moved(const struct endpoint *);

/* The rest of file_kept.c, as in endpoint.h and struct backend. */
void file_look_below(struct endpoint *, uint64_t from, uint64_t to);
int file_check_kept(const struct endpoint *, uint64_t from, uint64_t to,
    uint64_t most, struct fault *);

/*
 * The page cache of a file, and file systems that are nothing else.
 */

/*
 * The pages of len bytes at off in the page cache; len 0: up to the end.  -1:
 * the kernel does not say, as before Linux 6.5 (cachestat(2)).
 */
int64_t cached_pages(int fd, uint64_t off, uint64_t len);

/* Whether file systems of this type (statfs(2)) have no medium below it. */
bool cached_only(unsigned long type);

/*
 * Write back a range of a file, as sync_file_range(2) does with these flags.
 * Whoever begins that may be the only one to be told that data is lost: ext4
 * drops what it finds no blocks for, and the next flush succeeds.  Returns 0,
 * also where it cannot be asked for, or an errno value.
 */
int write_back(int fd, uint64_t from, uint64_t to, unsigned flags);

/*
 * Holes in a file.
 */

/*
 * Whether more than "most" of the bytes in a range of a file are holes; false
 * if that is unknown.  Moves the offset of the descriptor.
 */
bool holes_more(int fd, uint64_t from, uint64_t to, uint64_t most);

/* How many of them are holes; 0 if unknown.  Moves the offset too. */
uint64_t holes_in(int fd, uint64_t from, uint64_t to);

#endif
