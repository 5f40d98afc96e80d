/*
 * A regular file or a block device as an end: what its parts share.
 */
#ifndef PARDD_FILE_H
#define PARDD_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "backend.h"

enum { PAGE = 4096 };		/* the least unit of a direct file request */

struct file {
	int		 plain;		/* or -1 */
	int		 direct;	/* or -1 */
	int		 flush;		/* with map=, or -1: see above */
	uint32_t	 align;		/* of direct offsets and lengths */
	uint32_t	 read_align;	/* the same for reads: they may share */
	bool		 device;
	bool		 prefer_direct;
	bool		 overwrites;	/* direct, where there are blocks */
	bool		 behind;	/* leave no trace in the page cache */
	bool		 cached;	/* some of it was there before us */
	bool		 borrowed;	/* plain's offset is others' too */
	bool		 waits;		/* each write, for the medium */
	atomic_bool	 no_dontcache;	/* no such flag in this kernel */
	atomic_bool	 no_zero;	/* it cannot zero here, */
	atomic_bool	 no_trim;	/* nor by freeing blocks */
	uint64_t	 length;	/* at the start; no blocks behind */
	uint64_t	 medium;	/* a number of it, or 0 */
	uint64_t	 from, to;	/* of a target file: will be written */
	atomic_uint_fast64_t high;	/* written up to here; of a file */
	atomic_uint_fast64_t cut;	/* it ended here once, or NOWHERE */
	struct {			/* of a source, the file below it: */
		bool		known;
		uint64_t	holes;	/* bytes, in what is read */
		struct timespec	changed;
	}		 below;
};

/* file_open.c: the slots of the backend that open and close. */
int file_open(struct endpoint *, bool look, struct fault *);
int file_check_range(struct endpoint *, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *);
int file_prepare(struct endpoint *, int64_t length, struct fault *);
int file_view(const struct endpoint *, bool *cached);
int file_close(struct endpoint *);

/* file_kept.c: the number of the medium; 0: not known, or there is none. */
uint64_t file_medium(int fd);

/* Whether the device, what it lies on, or the medium in it is gone. */
bool file_gone(const struct file *);

/* A write has moved io->done bytes of a file: it was so long once. */
void file_note_written(struct file *, const struct io *);

/* Whether the file ends before what was written, and where then. */
bool file_cut_off(struct file *, uint64_t *at);

/* The slots of the backend. */
void file_look_below(struct endpoint *, uint64_t from, uint64_t to);
bool file_written(const struct endpoint *, struct timespec *);
int file_check_kept(const struct endpoint *, uint64_t from, uint64_t to,
    uint64_t most, struct fault *);

#endif
