/*
 * The zones of a disk that must be written in order within each zone:
 * host-managed SMR, ZNS.  All positions are bytes.
 */
#ifndef PARDD_ZONES_H
#define PARDD_ZONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum zone_use {			/* what it takes of the limits of the disk: */
	ZONE_IDLE,		/* nothing: it is empty, full, or in no order */
	ZONE_CLOSED,		/* active: it is written in part */
	ZONE_OPEN,		/* and open, until the disk itself closes it */
	ZONE_HELD,		/* and open, by a command, until another */
};

struct zone {
	uint64_t	 start, end;
	uint64_t	 room;		/* end of its usable blocks */
	uint64_t	 next;		/* write pointer, or room */
	bool		 ordered;	/* must be written in order */
	bool		 broken;	/* read-only or offline */
	enum zone_use	 use;
};

struct zones {
	size_t		 n;
	struct zone	 zone[];	/* in order, without gaps */
};

/*
 * Read the current state of the zones behind a descriptor.  *z is malloc'ed,
 * the caller frees it.  Returns 0, or an errno value with *z NULL.
 */
int zones_read(int fd, struct zones **z);

/* The zone that contains this byte, or NULL. */
const struct zone *zones_at(const struct zones *, uint64_t off);

/*
 * Check that a range may be written: its zones are empty, or may be reset
 * without losing anything before "from".  Returns 0, or -1 with *f.
 */
int zones_check(const struct zones *, uint64_t from, uint64_t to, bool reset,
    const char *name, struct fault *f);

/*
 * Reset the zones of the range that are not empty.  Returns 0 or an errno
 * value.
 */
int zones_reset(int fd, const struct zones *, uint64_t from, uint64_t to);

/*
 * The first zone of a range that is not written up to its end, or that of the
 * range; or NULL.
 */
const struct zone *zones_unwritten(const struct zones *, uint64_t from,
    uint64_t to);

/*
 * The size of all zones but the last, which may be smaller; 0 if they differ.
 */
uint64_t zones_size(const struct zones *);

/*
 * How many zones of a range can be written at a time, so that no more than
 * "most" are open or active with those that are elsewhere, and with "left" that
 * the copy leaves written in part.  0: not even one.
 */
struct zone_limits;
unsigned zones_available(const struct zones *, uint64_t from, uint64_t to,
    const struct zone_limits *most, unsigned left);

/*
 * How many zones of a range are left written in part before the last one is
 * written, if as much is written to them as to those of the other disk.
 */
unsigned zones_left(const struct zones *, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from);

/*
 * Whether the zones of two disks have the same boundaries, from "from" here and
 * "other_from" there; and whether, up to "to", the write pointers agree as
 * well.
 */
bool zones_fit(const struct zones *, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from);
bool zones_equal(const struct zones *, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from);

#endif
