/*
 * The gaps of a rescue's map: what has one status, the largest part first.
 * Used by rescue.c.
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
	bool		 front, back;	/* what adjoins it there is good */
	bool		 framed;	/* it is a bad block, there and there */
};

/* Whether to take those, too, of which no end is good. */
enum inner {
	NO_INNER,
	HOPEFUL_INNER,		/* as long as it helps */
	EACH_INNER,		/* the large ones, each once at least */
};

struct gaps {			/* g: lock */
	pthread_mutex_t	 lock;
	unsigned	 parts;	/* I: of a gap, one of so many is read */
	struct gap	*heap;	/* g: the largest first */
	size_t		 n, room;	/* g */
	uint64_t	 smallest;	/* I while workers run: bytes, of those
				 * of which no end is good */
	size_t		 won, lost;	/* g: reads in the midst of those */
	size_t		 patience;	/* g: with those that are lost */
};

/*
 * With nothing in it, and with one of so many parts of a gap to be read at a
 * time; and with what it takes given back.
 */
void gaps_begin(struct gaps *, unsigned parts);
void gaps_end(struct gaps *);

/* Take all of a status off the map.  Returns 0 or ENOMEM.  The lead's. */
int gaps_fill(struct gaps *, struct map *, enum seg_status, enum inner);

/*
 * Take a gap, to be read in part: *piece, from an end that is good, one of so
 * many, or from its midst; "least" bytes at least and "most" at most.  Returns
 * false when none is left.
 */
bool gaps_take(struct gaps *, size_t least, size_t most, struct gap *,
    struct seg *piece);

/*
 * Give back what is left of a gap.  good: all of the piece was; tried: it is of
 * no matter any more, else it is still to be read.  Returns 0 or ENOMEM.
 */
int gaps_give(struct gaps *, const struct gap *, const struct seg *piece,
    bool good, bool tried);

/* Take a whole one.  Returns false when none is left. */
bool gaps_take_all(struct gaps *, struct seg *);

#endif
