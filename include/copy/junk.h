/*
 * Whether what is read after errors is really on the disk.
 */
#ifndef PARDD_JUNK_H
#define PARDD_JUNK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "end/lane.h"
#include "map/map.h"

struct job;
struct worker;

enum { JUNK_KNOWN = 16, JUNK_HELD = 96, JUNK_LATE = 16 };

struct sample {			/* a block that was read */
	uint64_t	 at;	/* its first byte, in the source */
	uint64_t	 sum;	/* of its contents; 0: zeros */
};

struct held {			/* what is doubtful */
	struct seg	 seg;	/* with its old status */
	uint64_t	 sum;	/* of the block that is doubtful */
};

struct edge {			/* how a read began or ended */
	struct sample	 block;
	struct seg	 read;	/* with its old status; empty: a test */
};

struct junk {
	pthread_mutex_t	 look;	/* held while known blocks are reread */
	pthread_mutex_t	 lock;	/* guards all below */
	struct sample	 known[JUNK_KNOWN];	/* blocks that differ from each
						 * other */
	size_t		 n, next;	/* how many; the one read next */
	size_t		 more;		/* further ones that were seen */
	struct edge	 late[JUNK_LATE];	/* of the last reads, */
	size_t		 lates;		/* how many there were */
	struct held	*held;		/* room for JUNK_HELD; NULL: none is
					 * held, as the first error ends it */
	size_t		 helds;		/* how many */
	size_t		 asked;		/* of these, being confirmed now */
	size_t		 errors;	/* reads of the source that failed */
	size_t		 believed;	/* the number when last confirmed */
	bool		 due;		/* to be confirmed at the next read */
};

/*
 * Begin empty, with room for what is doubtful if the run goes on after errors;
 * and free it.  Returns 0 or ENOMEM.
 */
int junk_begin(struct junk *, bool goes_on);
void junk_end(struct junk *);

/* The sum of a block of len bytes; that of zeros is 0. */
uint64_t junk_sum(const unsigned char *, size_t len);

/* Remember n blocks of the source that were read, and the one read last. */
void junk_know(struct junk *, const struct sample *, size_t n,
    const struct sample *last);

/* Note that a block at "at" of the source was read as a test. */
void junk_saw(struct junk *, uint64_t at, const unsigned char *, size_t len);

/*
 * Record a read of the source at io->off, of a range that had the status "was".
 * Returns false if it is junk, or may be: the io has become one that failed.
 * Holds no lock meanwhile except junk.look.
 */
bool junk_feel(struct worker *, struct io *, enum seg_status was);

/* Whether something is held that junk_last should confirm. */
bool junk_held(struct job *);

/*
 * For the lead when nobody else reads, with its lane to the source attached:
 * the same for all that is held.  *io is filled in if it is junk.
 */
bool junk_last(struct worker *, struct io *);

/*
 * List what is held because of errors, with its old status, and have it
 * confirmed at the next read.  Returns how many there are.
 */
size_t junk_doubted(struct job *, struct seg held[JUNK_HELD]);

/*
 * Whether some of a range is held because of errors, and then have it confirmed
 * at the next read, or by junk_settle.  Any thread.
 */
bool junk_doubts(struct job *, uint64_t off, uint64_t len);

/*
 * For a worker that has nothing to read: the same for all that is held, if
 * somebody waits for it.  Returns what junk_feel does.
 */
bool junk_settle(struct worker *, struct io *);

/*
 * Give what was not confirmed the status that it had before.  For the lead.
 */
void junk_forgive(struct job *);

#endif
