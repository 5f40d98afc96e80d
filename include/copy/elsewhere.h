/*
 * Whether other parts of the source can be read: a bad block looks much like a
 * source that no longer answers.
 */
#ifndef PARDD_ELSEWHERE_H
#define PARDD_ELSEWHERE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "copy/job.h"
#include "end/endpoint.h"
#include "map/map.h"

/*
 * Judge a read of an end with coe=1.  After many failures in a row, or one
 * timeout, other blocks are read.  If none of them can be, the source is gone,
 * and the read fails with ENODEV.  A read that timed out while others can be
 * read becomes a medium error.  What the source of a copy gives after an error
 * and is junk (junk.h) fails with ENODEV, too.
 */
void elsewhere_feel(struct worker *, struct lane *, struct io *);

/*
 * The same of a doubtful read alone: it becomes a medium error if other blocks
 * can be read.  If the copy is being stopped, it fails with ECANCELED instead.
 */
void elsewhere_resolve(struct worker *, struct lane *, struct io *);

/*
 * For the lead, once no worker reads: check what is still in doubt.  Junk is
 * the fault of the copy.
 */
void elsewhere_last(struct worker *);

/*
 * For the rescue, which judges otherwise (liveness.h): a random number below n
 * (> 0), and a random byte that has a status in the map (false if none has).
 * *dice is any number but 0.
 */
uint64_t elsewhere_random(uint64_t *dice, uint64_t n);
bool elsewhere_pick(struct job *, enum seg_status, uint64_t *dice,
    uint64_t *off);

/*
 * Reread the block of an end that has the byte at "off", past the page
 * cache, into io->buf; io->len is its size.
 */
bool elsewhere_read(struct worker *, struct lane *, struct io *, uint64_t off);

/* Whether a read failed because it timed out, or was lost on its way. */
static inline bool
elsewhere_late(const struct io *io)
{
	return io->err == ETIMEDOUT || io->err == ETIME || io->err == ENOLINK;
}

/* Make it fail with ENODEV, because nothing can be read any more. */
void elsewhere_gone(struct io *);

#endif
