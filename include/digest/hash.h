/*
 * Digests of what is copied, in the order of its bytes: hash= and expect=.
 *
 * Workers post what they have read, in any order, and go on to write it.  A
 * thread for each algorithm takes the pieces in order.  The memory of a piece
 * can be reused once all of them have taken it.
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

enum { HASH_HEX = 128 + 1 };	/* size of a digest in hex */

struct hash;			/* of a run; has its own lock */

struct hash_piece {		/* the worker's; lent from post to wait */
	struct hash_piece *next;	/* in the list of those posted */
	uint64_t	 off;	/* bytes of the copy */
	const unsigned char *buf;
	size_t		 len;
	unsigned	 wanted;	/* bits: algorithms that still need
					 * it, */
	unsigned	 held;		/* and those that are reading it */
	pthread_cond_t	 taken;
};

struct hash_range {		/* a range with a digest of its own */
	uint64_t	 off, len;	/* bytes; in order, without overlaps */
	unsigned char	 want[64];
	bool		 right;		/* it has this digest */
};

struct hash_sum {			/* the result of an algorithm */
	const char	*name;	/* as in hash= */
	const char	*tag;	/* as in the output of cksum */
	char		 hex[HASH_HEX];	/* "": the copy is not complete */
	const char	*expected;	/* points into opts; NULL: none */
	const char	*packed;	/* the digest of the packed bytes, if
				 * one is expected; NULL: not known */
	bool		 differs;	/* neither is as expected */
};

/*
 * Prepare what opts ask for; *made is NULL if that is nothing.  Returns 0, or
 * -1 with *f if a library is missing. hash_close frees it.
 */
int hash_open(struct hash **made, const struct opts *, struct fault *f);
void hash_close(struct hash *);

/*
 * Prepare to compare what is copied with the digests of these ranges, which
 * stay the caller's until hash_close.  Data between them is ignored.
 */
int hash_open_ranges(struct hash **made, const struct algorithm *,
    struct hash_range *, size_t n, struct fault *f);

/* The first range whose data does not have its digest, or NULL. */
const struct hash_range *hash_wrong(const struct hash *);

/* Compute the digest of len bytes.  Returns 0, or -1 with *f. */
int hash_once(const struct algorithm *, const void *buf, size_t len,
    char hex[HASH_HEX], struct fault *f);

/*
 * The same for bytes that come in parts, without a thread: hash_open_ranges
 * without ranges, hash_add, hash_result, which leaves "" if it has failed, and
 * hash_close.
 */
void hash_add(struct hash *, const void *buf, size_t len);
void hash_result(struct hash *, char hex[HASH_HEX]);

/*
 * From here on h may be NULL; then nothing happens.
 *
 * Set the ranges that nobody will post; they count as zeros.  They are in
 * order, in positions of which "base" is the start of the copy, and stay the
 * caller's until hash_close.  Call before hash_start.
 */
struct seg;
void hash_gaps(struct hash *, const struct seg *, size_t n, uint64_t base);

/* Start the threads, with signals blocked.  Returns 0, or -1 with *f. */
int hash_start(struct hash *, struct fault *f);

/*
 * Pass len bytes at off of the copy to all algorithms.  The piece and the
 * buffer must not change until hash_wait has returned.
 */
void hash_post(struct hash *, struct hash_piece *, uint64_t off,
    const unsigned char *buf, size_t len);
void hash_wait(struct hash *, struct hash_piece *);

/* Whether hash_wait would return at once. */
bool hash_taken(struct hash *, struct hash_piece *);

/*
 * A piece will never be posted: nobody waits any longer, and there is no
 * digest.
 */
void hash_stop(struct hash *);

/*
 * Everything was posted: end the threads, and finish the digests if the copy
 * was read up to its end, "end" bytes; "packed" is the digest of what they were
 * unpacked from, or "", and stays the caller's.  Returns 0, or -1 with *f if
 * libcrypto has failed.  Not for a run that was abandoned.
 */
int hash_finish(struct hash *, uint64_t end, const char *packed,
    struct fault *f);

/* Whether it is the packed bytes that are as expected. */
bool hash_packed(const struct hash_sum *);

/* The n results; before hash_finish without digests. */
const struct hash_sum *hash_digests(const struct hash *, size_t *n);

#endif
