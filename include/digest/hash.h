/*
 * Digests of what is copied, in the order of its bytes: hash= and expect=.
 *
 * Workers post what they have read, in any order, and go on to write it; a
 * thread for each algorithm takes the pieces in order.  A piece may be used
 * anew once all have taken it.
 */
#ifndef PARDD_HASH_H
#define PARDD_HASH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/fault.h"
#include "cli/opts.h"

enum { HASH_HEX = 128 + 1 };	/* room for a digest in hexadecimal */

struct hash;			/* of a run; locks for itself */

struct hash_piece {		/* its worker's, lent from post to wait */
	struct hash_piece *next;	/* of those that are posted */
	uint64_t	 off;	/* bytes of the copy */
	const unsigned char *buf;
	size_t		 len;
	unsigned	 wanted;	/* bits of who has not read it yet */
	unsigned	 held;		/* and of who is reading it */
	pthread_cond_t	 taken;
};

struct hash_range {		/* of a copy, that has a digest of its own */
	uint64_t	 off, len;	/* bytes; in order, and apart */
	unsigned char	 want[64];
	bool		 right;		/* and that is what was copied */
};

struct hash_sum {			/* what became of an algorithm */
	const char	*name;	/* as in hash= */
	const char	*tag;	/* as in a line of cksum */
	char		 hex[HASH_HEX];	/* "": not all was copied */
	const char	*expected;	/* in opts; NULL: nothing */
	bool		 differs;	/* from what was expected */
};

/*
 * What opts ask for; *made is NULL when that is nothing.  Returns 0, or -1 and
 * *f where a library is missing.  hash_close frees it.
 */
int hash_open(struct hash **made, const struct opts *, struct fault *f);
void hash_close(struct hash *);

/*
 * One that holds what is copied against these ranges, which stay the caller's
 * until hash_close.  What lies between them is nothing.
 */
int hash_open_ranges(struct hash **made, const struct algorithm *,
    struct hash_range *, size_t n, struct fault *f);

/* The first range that was not copied as it should be, or NULL. */
const struct hash_range *hash_wrong(const struct hash *);

/* The digest of so many bytes.  Returns 0, or -1 with *f. */
int hash_once(const struct algorithm *, const void *buf, size_t len,
    char hex[HASH_HEX], struct fault *f);

/*
 * Of here on h may be NULL, and then nothing is done.
 *
 * Nothing will be posted for these ranges, which are taken as zeros; they are
 * in order, and the copy begins at "base" of their places.  They stay the
 * caller's, until hash_close.  Before hash_start.
 */
struct seg;
void hash_gaps(struct hash *, const struct seg *, size_t n, uint64_t base);

/*
 * Start the threads, with signals blocked.  Returns 0, or -1 with *f.
 */
int hash_start(struct hash *, struct fault *f);

/*
 * Give len bytes at off of the copy to all algorithms.  Neither changes until
 * hash_wait has returned.
 */
void hash_post(struct hash *, struct hash_piece *, uint64_t off,
    const unsigned char *buf, size_t len);
void hash_wait(struct hash *, struct hash_piece *);

/* The same without waiting: whether hash_wait would have returned at once. */
bool hash_taken(struct hash *, struct hash_piece *);

/* A piece will be missing: nobody waits, and there is no digest. */
void hash_stop(struct hash *);

/*
 * Nothing more is posted: end the threads, and make the digests if the copy has
 * been read up to its end, which is that many bytes.  Returns 0, or -1 with *f
 * when libcrypto failed.  Not for a run that was abandoned.
 */
int hash_finish(struct hash *, uint64_t end, struct fault *f);

/* The digests, n of them; before hash_finish without their hex. */
const struct hash_sum *hash_digests(const struct hash *, size_t *n);

#endif
