/*
 * The gaps of a rescue's map: parts with one status, the largest first.  Used
 * by rescue.c.
 */
#ifndef PARDD_GAPS_H
#define PARDD_GAPS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map/map.h"

struct gap {
	uint64_t	 off, end;	/* bytes of the map */
	bool		 front, back;	/* the neighbour on that side is good */
	bool		 framed;	/* both neighbours are bad blocks */
	double		 trust;	/* 1, less with each try in its middle that
				 * failed */
};

/* Whether to take gaps without a good neighbour too. */
enum inner {
	NO_INNER,
	HOPEFUL_INNER,		/* as long as it pays */
	EACH_INNER,		/* large ones at least once each */
};

struct gaps {			/* g: lock */
	pthread_mutex_t	 lock;
	unsigned	 parts;	/* I: of a gap, one of so many is read */
	struct gap	*heap;	/* g: ordered by size */
	size_t		 n, room;	/* g */
	uint64_t	 smallest;	/* I while workers run: bytes; smaller
					 * gaps without a good neighbour are
					 * left */
	size_t		 won, lost;	/* g: reads in the middle of such
					 * gaps */
	size_t		 patience;	/* g: how many of these may fail */
};

/* Begin empty; 1/parts of a gap is read at a time. gaps_end frees it. */
void gaps_begin(struct gaps *, unsigned parts);
void gaps_end(struct gaps *);

/*
 * Collect all gaps of a status from the map.  Returns 0 or ENOMEM.  Only for
 * the lead.
 */
int gaps_fill(struct gaps *, struct map *, enum seg_status, enum inner);

/*
 * Take a gap, and choose a piece of it to read: 1/parts of it, at an end with a
 * good neighbour, or in the middle; from "least" to "most" bytes.  Returns
 * false when none is left.
 */
bool gaps_take(struct gaps *, size_t least, size_t most, struct gap *,
    struct seg *piece);

/*
 * Put back the rest of a gap after its piece was read. good: all of it was
 * good; tried: the piece is settled, otherwise it is still to be read.  Returns
 * 0 or ENOMEM.
 */
int gaps_give(struct gaps *, const struct gap *, const struct seg *piece,
    bool good, bool tried);

/* Take a gap as a whole.  Returns false when none is left. */
bool gaps_take_all(struct gaps *, struct seg *);

#endif
