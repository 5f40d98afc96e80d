/*
 * What a block map is made of, while the copy goes on: its pieces, in any
 * order, and their digests.  Locks for itself; the lock is a leaf.
 */
#ifndef PARDD_BMAP_TABLE_H
#define PARDD_BMAP_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest/digest_table.h"
#include "digest/digester.h"

struct bmap_piece {
	uint64_t	 off, len;	/* bytes of the image */
	struct digest	 digest;
	size_t		 order;		/* in which it was noted */
};

/* c: lock; I: set by bmap_table_init, then const */
struct bmap_table {
	pthread_mutex_t	 lock;
	const struct digester *by;	/* I */
	struct bmap_piece *piece;	/* c */
	size_t		 n, room;	/* c */
};

/*
 * Who makes the digests stays the caller's, for as long as there is the table.
 * bmap_table_free takes one that is all zero, too.
 */
void bmap_table_init(struct bmap_table *, const struct digester *);
void bmap_table_free(struct bmap_table *);

/*
 * The target is being given len bytes at off.  What is noted twice counts as
 * noted last.  Returns 0, ENOMEM, or EFBIG: no reader would take the map.
 */
int bmap_table_note(struct bmap_table *, uint64_t off, const void *buf,
    size_t len);

/*
 * The copy is over: bring them in order.  False where pieces overlap, so that
 * nobody knows what the digests are of.
 */
bool bmap_table_settle(struct bmap_table *);

#endif
