/*
 * Single requests of a worker: made, counted, and explained if they fail.
 * Offsets are bytes of the map.
 */
#ifndef PARDD_TRANSFER_H
#define PARDD_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "end/endpoint.h"

/* Fail the job because of a read that failed or ended too early. */
void transfer_fail_read(struct worker *, const struct io *);

/* Whether to read past all caches, which isolates an error. */
enum care { NORMALLY, CAREFULLY };

/*
 * Read len bytes at off + at into the worker's buffer, from byte "at" of it on.
 */
struct io transfer_read(struct worker *, uint64_t off, size_t at, size_t len,
    enum care);

/* The bad byte that a failed read named, if within the read; else NOWHERE. */
static inline uint64_t
transfer_hint(const struct io *io)
{
	return io->bad_off >= io->off + io->done &&
	    io->bad_off < io->off + io->len ? io->bad_off : NOWHERE;
}

/* Before the request of a write to the target.  They do not nest. */
static inline void
transfer_begin(struct worker *w)
{
	w->writes++;
}

/* After its result is known, and a failure has set job->doubt. */
static inline void
transfer_end(struct worker *w)
{
	w->writes++;
}

/*
 * Wait for the writes that are in flight now, but not for those that begin
 * meanwhile.
 */
void transfer_await(struct job *);

/*
 * Write len bytes of the buffer, from byte "at" of it on, to off + at, but not
 * to those of several targets whose bits are set in "but".  Returns false if it
 * failed; then the copy is being stopped.
 */
bool transfer_rewrite(struct worker *, uint64_t off, size_t at, size_t len,
    unsigned but);

/* The same, to all targets. */
static inline bool
transfer_write(struct worker *w, uint64_t off, size_t at, size_t len)
{
	return transfer_rewrite(w, off, at, len, 0);
}

/*
 * Have len bytes zeroed without writing them.  Returns 0 or an errno value; any
 * but EOPNOTSUPP stops the copy.
 */
int transfer_zero(struct worker *, uint64_t off, uint64_t len);

/*
 * Write the first len bytes of the buffer to off, with padding if the copy ends
 * there.  Returns false if it failed; then the copy is being stopped.
 */
bool transfer_write_end(struct worker *, uint64_t off, size_t len);

/*
 * Take the result of a write, and repeat it as retries= says.  Returns false if
 * it failed; then the copy is being stopped.
 */
bool transfer_wrote(struct worker *, struct io *);

/*
 * Set the status of a claimed range (map_settle).  Returns false without
 * memory; then the copy is being stopped.
 */
bool transfer_settle(struct worker *, uint64_t off, uint64_t len,
    enum seg_status to);

/*
 * Fail the job because a source whose size was known ends at "end": it has
 * shrunk during the copy.
 */
void transfer_fail_short(struct worker *, uint64_t end);

/* Fail the job because there is no memory for the map. */
void transfer_fail_map(struct job *);

/*
 * The copy ends at off + len: pad the len bytes of the buffer with zeros to
 * whole blocks of the target.  Returns the new length.
 */
size_t transfer_pad(struct worker *, uint64_t off, size_t len);

#endif
