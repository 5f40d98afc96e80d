/*
 * The gaps of a rescue: what is unread, and which of it is read next.  Used by
 * rescue.c.
 */
#ifndef PARDD_GAPS_H
#define PARDD_GAPS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "map/map.h"
#include "rescue/pattern.h"

enum gap_kind {
	GAP_FRESH,			/* nobody was there */
	GAP_SKIPPED,		/* jumped over; a neighbour is good */
	GAP_DEAD,			/* no neighbour is good */
	GAP_FAILED,			/* one read of it has failed */
	GAP_KINDS,
};

struct gap {			/* bytes, in the direction of the rescue */
	uint64_t	 off, end;
	enum gap_kind	 kind;
	enum seg_status	 status;	/* in the map */
	bool		 front, back;	/* the neighbour on that side is good */
	bool		 urgent;	/* to be read at once */
	bool		 asked;	/* all of it is one piece, for a reader */
	bool		 foretold;	/* GAP_FRESH: the next run of a
					 * pattern was left out before it;
					 * else: it is that run */
	unsigned	 fails;	/* jumps or probes in it that failed */
	uint64_t	 met;	/* GAP_FRESH: where the bad run was met */
	uint64_t	 was;	/* its length when it was made */
	uint64_t	 got;	/* bytes read of it since then */
	double		 hope;	/* good bytes expected for each error */
	uint64_t	 age;	/* the older first */
};

struct gap_piece {			/* of a gap, being read */
	struct gap	 gap;
	uint64_t	 off, end;
	bool		 busy;
	bool		 shared;	/* what follows it is open to others:
					 * it was expected to be good */
	bool		 left;	/* likewise, bad */
};

enum { GAPS_RUNS = 16, GAPS_LOWS = 32, GAPS_SCALES = 64, GAPS_ASKS = 64 };

struct gaps {			/* g: lock */
	pthread_mutex_t	 lock;
	struct map	*map;	/* I */
	uint64_t	 block, off;	/* I: see gaps_begin */
	uint64_t	 unit;	/* g: what fails as a whole, as learned: */
	uint64_t	 edges, ends;	/* g: from exact ends of damage, in
					 * blocks, ORed, and how many */
	uint64_t	 lost;	/* g: units of several blocks that failed */
	uint64_t	 first;	/* I: likewise */
	/* I while workers run: */
	uint64_t	 length;	/* of the map */
	uint64_t	 phase;	/* a unit begins at a multiple of it, less
				 * phase, in the direction of the rescue */
	bool		 backwards, bad;
	unsigned	 words;	/* rescue= */
	double		 seek, read;	/* g: s: a seek, if it takes any, and a
					 * short read; */
	double		 last, error, longest;	/* g: s: an error, by the
						 * shorter of the last two */
	struct gap	*heap;	/* g: the highest hope first */
	size_t		 n, room;	/* g */
	int		 err;	/* g: ENOMEM: it is not all there */
	uint64_t	 age;	/* g */
	struct gap_piece	 piece[WORKERS_MOST];	/* g: what each reads */
	uint64_t	 have;	/* g: bytes read, in earlier runs too, */
	uint64_t	 errors;	/* g: and errors met */
	struct yield {		/* g: of gaps: what came of them, */
		double		 bytes, errors;
	}		 fresh, yield[GAP_KINDS][GAPS_SCALES];	/* by length */
	uint64_t	 run[GAPS_RUNS];	/* g: bytes that were enough to
						 * cross the last bad runs */
	size_t		 runs;	/* g: how many there were */
	struct {
		uint64_t	 len;	/* bytes that were too few, */
		size_t		 run;	/* for this one */
	}		 low[GAPS_LOWS];	/* g */
	size_t		 lows;	/* g */
	struct forecast	 forecast;	/* g: bad runs that are alike */
	struct run	 exact;	/* g: what is known of the last one, */
	struct run	 within;	/* g: which lies in here, */
	bool		 unproved;	/* g: if the middle of that is bad */
	bool		 rest;		/* g: little is hoped for: ends first */
	uint64_t	 dry;		/* g: probes in dead gaps that failed,
					 * in a row */
	bool		 given_up;	/* g: only given up ones are left */
	bool		 heals;		/* g: a piece that failed has been read
					 * in small reads; the last one */
	bool		 tried;		/* g: one was tried at once */
	pthread_cond_t	 moved;		/* g: asked has changed */
	struct seg	 asked[GAPS_ASKS];	/* g: what readers wait for */
	atomic_uint	 asks;		/* g: how many of them */
	bool		 closed;	/* g: nothing will be asked any more */
	struct {
		uint64_t	 off, end;
	}		 fine;		/* g: read by the block, for pieces
					 * that failed there have healed */
};

/*
 * Begin without gaps, for blocks of so many bytes; the map begins "off" bytes
 * behind the start of the disk.  Before the first error "first" bytes are read
 * at a time.  gaps_end frees it.
 */
void gaps_begin(struct gaps *, struct map *, uint64_t block, uint64_t off,
    uint64_t first);
void gaps_end(struct gaps *);

/*
 * Take from the map all that was not read, or all that is bad, where nobody
 * reads.  rescue= says what is left out.  "given_up": an earlier run has come
 * to what promises next to nothing.  Returns 0 or ENOMEM.
 */
struct gaps_fill {
	bool		 bad, backwards, given_up;
	unsigned	 words;		/* rescue= */
};
int gaps_fill(struct gaps *, const struct gaps_fill *);

/* An error took so many seconds; a quick read takes "read", or 0: unknown. */
void gaps_error(struct gaps *, double seconds, double read, bool rotates);

/* Bytes to read at a time, by what was met so far. */
uint64_t gaps_piece(struct gaps *);

/*
 * Readers wait for n ranges of the map, GAPS_ASKS at most, the most urgent one
 * first: nothing else is taken until those are read, or found to be bad.  Each
 * call replaces what the last one has said.
 */
void gaps_ask(struct gaps *, const struct seg *, size_t n);

/* No reader asks any more: with rescue=ondemand nothing is left to be taken. */
void gaps_close(struct gaps *);

enum gaps_next { GAPS_NONE, GAPS_ONE, GAPS_ALONE, GAPS_WAIT, GAPS_NO_MEMORY };

/*
 * Take the next piece for worker "who", with its status, of at most so many
 * bytes.  calm: only if it may be read while others read what follows it; else
 * GAPS_ALONE.  GAPS_WAIT: others read what was asked for, or with
 * rescue=ondemand nothing is: gaps_rest waits for that to change, or a moment.
 * GAPS_NO_MEMORY: it is not known what is left.
 */
enum gaps_next gaps_take(struct gaps *, unsigned who, bool calm, uint64_t most,
    struct seg *piece);
void gaps_rest(struct gaps *);

/*
 * Take what follows the worker's last piece, which was good, if that is next
 * and at most so long.
 */
bool gaps_take_on(struct gaps *, unsigned who, bool calm, uint64_t most,
    struct seg *piece);

enum gaps_answer { READ_WELL, READ_SLOWLY, READ_FAILED };

/*
 * The piece was read, "good" bytes of it.  The map gets the status of what is
 * bad.  Returns 0 or ENOMEM.
 */
int gaps_give(struct gaps *, unsigned who, uint64_t good, enum gaps_answer);

/*
 * Somebody who reads at "off" has taken so long that it will probably fail:
 * others go on behind it.  Returns 0 or ENOMEM.
 */
int gaps_leave(struct gaps *, uint64_t off);

/* Whether only gaps are left that promise next to nothing. */
bool gaps_given_up(struct gaps *);

#endif
