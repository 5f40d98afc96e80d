/*
 * The contents of an end as a descriptor for libblkid.
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
	bool	 sparse;	/* holds only what view_fill has read */
	bool	 cached;	/* leave the page cache alone */
	uint64_t size;		/* bytes of the whole end */
	uint64_t filled;	/* bytes up to which it can be read */
	uint64_t edge;		/* bytes at both ends that were read */
	uint32_t sector;	/* bytes; 0: unknown */
	struct map *map;	/* what to trust, or NULL: everything */
	int	 from;		/* target of a rescue; or -1: a SCSI end */
};

/*
 * Open a view of an end that has contents (see struct backend).  Returns 0 or
 * an errno value; call view_close in either case.  That drops what was read
 * from the page cache, unless part of it was there before.
 */
int view_open(struct view *, struct endpoint *);

/*
 * The same for the target of a rescue: it has what was read of the source,
 * "whole", according to the map, and zeros elsewhere.
 */
int view_rescued(struct view *, struct endpoint *ep,
    const struct endpoint *whole, struct map *map);
/*
 * The same for an end that is to be overwritten: zeros, but for what view_fill
 * reads.
 */
int view_bare(struct view *, struct endpoint *ep);
void view_close(struct view *);

/*
 * Read a range into the view.  If the view is sparse, this must precede every
 * access; otherwise it only saves requests.  Returns 0 or an errno value.
 */
int view_fill(const struct view *, uint64_t off, uint64_t len);

/* The same for the first and the last "edge" bytes of a range. */
int view_fill_ends(const struct view *, uint64_t off, uint64_t len,
    uint64_t edge);

/* The same for the whole end; those bytes are not read again. */
int view_edges(struct view *, uint64_t edge);

/*
 * Whether the contents of a range are known: a rescue may not have read them.
 */
bool view_known(const struct view *, uint64_t off, uint64_t len);

/* Read a whole range; false if that is not possible, or it exceeds the end. */
bool view_read(const struct view *, uint64_t off, unsigned char *buf,
    size_t len);

#endif
