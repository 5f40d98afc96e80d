/*
 * Reading the contents of a source.
 */
#ifndef PARDD_LOOK_H
#define PARDD_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "end/endpoint.h"
#include "map/map.h"
#include "plan/plan.h"

struct look {
	const struct plan *p;
	unsigned	 how;	/* enum fs_how */
	struct lane	 lane;
	uint64_t	 base;	/* byte of the source where it begins */
	unsigned char	*buf;	/* ROOM bytes, aligned */
	struct map	*known;	/* ranges read, or unreadable; or NULL */
	bool		 target;	/* that can be read: */
	struct endpoint	 reader;
	struct lane	 there;
};

/*
 * "known" is what the target has already, and what could not be read, or NULL.
 * Returns 0 or an errno value; look_close ends it.
 */
int look_open(struct look *, const struct plan *, unsigned how,
    struct map *known);
void look_close(struct look *);

/*
 * For fs_map_read: len bytes at off of the file system; an errno value.
 * Unreadable data is EIO, and not read again.
 */
int look_read(void *arg, uint64_t off, void *buf, size_t len);

/* Whether some of the source could not be read. */
bool look_lost(const struct look *, uint64_t off, uint64_t len);

#endif
