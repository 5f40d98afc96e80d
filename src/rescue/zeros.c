/*
 * Zeros after errors.  Some disks, after enough errors, answer every read with
 * zeros and no error.  So once there was an error, zeros are trusted only while
 * a block that is known not to be zeros still reads as such:
 *
 *	known	such blocks, one of which is read, each in turn
 *	held	zeros read since; if not confirmed, they become untried
 *
 * This is done at the first zeros after each error, after a number of zeros,
 * and at the end.
 *
 * An error is noticed when its read returns, and other workers have read
 * meanwhile.  So the most recent zeros are held even before any error, and
 * trusted as others follow.
 *
 *	lock	a few instructions, a leaf: all of it
 */
#include "rescue/zeros.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "copy/job.h"
#include "rescue/rescue.h"

enum {
	MANY = 64,		/* held zeros that trigger a check */
	TRIES = 3,		/* blocks tried, as long as they fail */
};

void
zeros_begin(struct zeros *z)
{
	z->sick = false;
	z->n = z->next = z->helds = z->asked = z->errors = 0;
	pthread_mutex_init(&z->lock, NULL);
}

void
zeros_end(struct zeros *z)
{
	pthread_mutex_destroy(&z->lock);
}

void
zeros_know(struct zeros *z, uint64_t off)
{
	pthread_mutex_lock(&z->lock);
	if (z->n < ZEROS_KNOWN)
		z->known[z->n++] = off;
	pthread_mutex_unlock(&z->lock);
}

/* Remember a block that is not zeros, of data that the source really has. */
static void
learn(const struct worker *w, const struct io *io)
{
	struct zeros *z = &w->job->rescue->zeros;
	size_t block = w->job->p->sector, at;
	uint64_t from = lane_place(&w->src, io->off);
	bool full;

	pthread_mutex_lock(&z->lock);
	full = z->n == ZEROS_KNOWN;
	pthread_mutex_unlock(&z->lock);
	at = (size_t)(round_up(from, block) - from);
	for (; !full && at + block <= io->done; at += block)
		if (!all_zero(io->buf + at, block)) {
			zeros_know(z, from + at);
			return;
		}
}

/* lock: stop holding the first n. */
static void
drop(struct zeros *z, size_t n)
{
	z->helds -= n;
	memmove(z->held, z->held + n, z->helds * sizeof(*z->held));
}

/*
 * lock: zeros often continue others.  There is room, because workers that hold
 * too many run a check, one after the other.
 */
static void
hold(struct zeros *z, const struct seg *s)
{
	size_t i;

	for (i = z->asked; i < z->helds; i++)
		if (z->held[i].status == s->status &&
		    z->held[i].off + z->held[i].len == s->off) {
			z->held[i].len += s->len;
			return;
		}
	if (z->helds < ZEROS_HELD)
		z->held[z->helds++] = *s;
}

bool
zeros_feel(struct worker *w, const struct io *io, uint64_t off,
    enum seg_status was, size_t errors)
{
	struct rescue *r = w->job->rescue;
	struct zeros *z = &r->zeros;
	const struct seg s = { off, io->done, was };
	bool ask, is = true;

	if (!all_zero(io->buf, io->done)) {
		learn(w, io);
		return true;
	}
	errors += z->sick;
	pthread_mutex_lock(&z->lock);
	if (z->n > 0)
		hold(z, &s);
	if (errors == 0 && z->helds > MANY)
		drop(z, 1);
	ask = errors > 0 && z->n > 0 && (errors > z->errors ||
	    z->helds >= MANY);
	pthread_mutex_unlock(&z->lock);
	if (!ask)
		return true;
	pthread_mutex_lock(&r->liveness.look);
	is = !r->liveness.lost && zeros_confirm(w, errors);
	r->liveness.lost |= !is;
	pthread_mutex_unlock(&r->liveness.look);
	return is;
}

bool
zeros_held(struct job *job, size_t errors)
{
	struct zeros *z = &job->rescue->zeros;
	bool some;

	pthread_mutex_lock(&z->lock);
	some = z->helds > 0 && (errors > 0 || z->sick);
	pthread_mutex_unlock(&z->lock);
	return some;
}

/* A known block, to check all zeros held so far. */
static uint64_t
choose(struct zeros *z)
{
	uint64_t off;

	pthread_mutex_lock(&z->lock);
	off = z->known[z->next++ % z->n];
	z->asked = z->helds;
	pthread_mutex_unlock(&z->lock);
	return off;
}

/* These zeros are really on the disk. */
static void
confirmed(struct zeros *z, size_t errors)
{
	pthread_mutex_lock(&z->lock);
	drop(z, z->asked);
	z->asked = 0;
	if (errors > z->errors)
		z->errors = errors;
	pthread_mutex_unlock(&z->lock);
}

bool
zeros_confirm(struct worker *w, size_t errors)
{
	struct zeros *z = &w->job->rescue->zeros;
	struct io io = { .op = OP_READ, .len = w->job->p->sector,
		.careful = true };
	uint64_t at;
	unsigned i;
	bool lied;

	io.buf = page_alloc(io.len);
	if (io.buf == NULL)
		return true;
	for (i = 0; i < TRIES && (i == 0 || io.err != 0); i++) {
		at = choose(z);
		io.off = lane_off(&w->src, at - at % io.len);
		io.done = 0;
		io.err = io.status = 0;
		lane_transfer(&w->src, &io);
	}
	lied = io.err == 0 && io.done == io.len &&
	    all_zero(io.buf, io.len);
	free(io.buf);
	if (!lied)		/* failed reads are the concern of liveness.c */
		confirmed(z, errors);
	return !lied;
}

void
zeros_forgive(struct job *job)
{
	struct zeros *z = &job->rescue->zeros;
	size_t i;

	for (i = 0; i < z->helds; i++)
		(void)map_set(&job->map, z->held[i].off, z->held[i].len,
		    z->held[i].status);
}
