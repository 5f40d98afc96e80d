/*
 * What an end holds, as a descriptor for libblkid to read.
 */
#ifndef PARDD_BLKID_VIEW_H
#define PARDD_BLKID_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "end/endpoint.h"
#include "map/map.h"

struct view {
	struct endpoint *ep;
	int	 fd;
	bool	 sparse;	/* holds what view_fill has brought */
	bool	 cached;	/* not ours to drop from the page cache */
	uint64_t size;		/* bytes, of the whole end */
	uint64_t filled;	/* bytes that can be brought */
	uint64_t edge;		/* bytes at both ends that are there */
	uint32_t sector;	/* bytes; 0: the contents must tell */
	struct map *map;	/* what to believe, or NULL: all */
	int	 from;		/* a rescue's target; -1: SCSI */
};

/*
 * Open a view of an end that has contents, see struct backend.  Returns 0 or an
 * errno value; it has to be closed either way.  What it reads is dropped from
 * the page cache then, unless some of it was there before.
 */
int view_open(struct view *, struct endpoint *);

/*
 * The same of the target of a rescue: what was read of the source, which is
 * "whole", as the map says, and zeros elsewhere.
 */
int view_rescued(struct view *, struct endpoint *ep,
    const struct endpoint *whole, struct map *map);
void view_close(struct view *);

/*
 * Bring a range: where it is not there by itself it must have been before it is
 * read; elsewhere it saves requests.  Returns 0 or an errno.
 */
int view_fill(const struct view *, uint64_t off, uint64_t len);

/* The same of the first and last "edge" bytes of a range. */
int view_fill_ends(const struct view *, uint64_t off, uint64_t len,
    uint64_t edge);

/* The same of the whole end; they are not brought again. */
int view_edges(struct view *, uint64_t edge);

/* Whether what lies there is known: a rescue may not have read it. */
bool view_known(const struct view *, uint64_t off, uint64_t len);

/* Read all of a range; false when it cannot be, or goes beyond the end. */
bool view_read(const struct view *, uint64_t off, unsigned char *buf,
    size_t len);

#endif
