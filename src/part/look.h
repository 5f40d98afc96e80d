/*
 * A look at what lies on a source.
 */
#ifndef PARDD_LOOK_H
#define PARDD_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "end/endpoint.h"
#include "map/map.h"
#include "plan/plan.h"

struct look {
	const struct plan *p;
	unsigned	 how;	/* enum fs_how */
	struct lane	 lane;
	uint64_t	 base;	/* of the file system, on the source */
	unsigned char	*buf;	/* ROOM bytes, aligned */
	struct map	*known;	/* what the target has already, or NULL */
	struct endpoint	 reader;	/* of the target, if that is known */
	struct lane	 there;
};

/*
 * "known" is what the target has already, or NULL.  Returns 0 or an errno
 * value; look_close ends it.
 */
int look_open(struct look *, const struct plan *, unsigned how,
    struct map *known);
void look_close(struct look *);

/* For fs_map_read: len bytes at off of the file system; an errno value. */
int look_read(void *arg, uint64_t off, void *buf, size_t len);

#endif
