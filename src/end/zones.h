/*
 * The zones of a disk that takes writes in the order of its zones only:
 * host-managed SMR, ZNS.  All positions are bytes.
 */
#ifndef PARDD_ZONES_H
#define PARDD_ZONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

struct zone {
	uint64_t	 start, end;
	uint64_t	 room;		/* there are no blocks from here on */
	uint64_t	 next;		/* where it is written next, or room */
	bool		 ordered;	/* else it is like any disk */
	bool		 broken;	/* read-only or offline */
};

struct zones {
	size_t		 n;
	struct zone	 zone[];	/* in order, without gaps */
};

/*
 * The zones of the disk behind a descriptor, as they are now.  *z is malloc'ed
 * and the caller's.  Returns an errno, and then it is NULL.
 */
int zones_read(int fd, struct zones **z);

/* The zone that has this byte, or NULL. */
const struct zone *zones_at(const struct zones *, uint64_t off);

/*
 * Whether from "from" to "to" may be written: nothing is in those zones, or
 * they may be reset, which loses nothing before "from".  0, or -1 with *f.
 */
int zones_check(const struct zones *, uint64_t from, uint64_t to, bool reset,
    const char *name, struct fault *f);

/* Reset those zones in which there is something.  Returns an errno. */
int zones_reset(int fd, const struct zones *, uint64_t from, uint64_t to);

/*
 * Whether two disks have their zones alike, one beginning "from" where the
 * other has "other_from"; and whether those up to "to" are written as far.
 */
bool zones_fit(const struct zones *, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from);
bool zones_equal(const struct zones *, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from);

#endif
