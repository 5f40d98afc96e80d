/*
 * Holes and zeros.
 *
 * A hole of the source is not read.  The worker that claims queries the extent
 * there, and claims a whole hole at once, however long; so claiming is done
 * under a lock, and the extent is kept for the next claim.  Holes shorter than
 * LEAST are read with the data around them, because querying, claiming and
 * settling cost more.
 *
 * At the target, zeros are always created, never assumed.  A file that ends
 * before them is extended, otherwise they are punched into it; a device is told
 * to zero the blocks; and if neither works, zeros are written.
 *
 * A call that creates zeros cannot be interrupted, and may be immediate or take
 * as long as writing them.  So a long hole is done in steps, each as long as
 * the step before suggests for a fifth of a second.  If a target file has no
 * data there, one step does it all.
 *
 * Zeros begin and end at multiples of plan->grain at the target, so that no
 * page or block is both zeroed and written.
 */
#include "copy/sparse.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/number.h"
#include "copy/job.h"
#include "copy/transfer.h"

/*
 * Sharing instead of copying.  If the file system supports it (btrfs, XFS,
 * bcachefs), the target gets the blocks of the source until one of the two is
 * written to.  What cannot be shared stays in the map for the workers to copy;
 * if sharing fails, that is everything.
 */

enum { STEP = 1 << 30 };	/* bytes; a signal waits for one step */

static int
reflink_range(struct job *job)
{
	const struct plan *p = job->p;
	uint64_t off, n;
	int err = 0;

	for (off = p->share_off; off < p->share_end && !job->stop; off += n) {
		n = p->share_end - off < STEP ? p->share_end - off : STEP;
		err = endpoint_share(p->dst, p->dst_off + off, p->src,
		    p->src_off + off, n);
		if (err == 0)
			err = map_set(&job->map, off, n, FINISHED);
		if (err != 0)
			return err;
		job->shared += n;
		job->read += n;
		job->written += n;
	}
	return err;
}

/* The reason in plain words, or NULL. */
static const char *
reflink_refusal(int err)
{
	switch (err) {
	case EXDEV:
		return "the files are in two file systems";
	case EOPNOTSUPP:
	case ENOTTY:
		return "this file system cannot share blocks";
	case EINVAL:
		return "the file system does not let these two files share "
		    "blocks";
	default:
		return NULL;
	}
}

void
reflink_run(struct job *job)
{
	const struct plan *p = job->p;
	struct fault f;
	int err = reflink_range(job);

	if (err == 0 || (p->opts->reflink & REFLINK_ALWAYS) == 0)
		return;
	fault_errno(&f, err, "reflink=always: %s", p->dst->name);
	if (reflink_refusal(err) != NULL)
		fault_set(&f, f.status, "reflink=always: %s: %s", p->dst->name,
		    reflink_refusal(err));
	job_fail(job, &f);
}

enum {
	LEAST = 64 << 10,	/* shortest hole that is not read, bytes */
	STEP_LEAST = 1 << 20,	/* bytes zeroed at a time, on a device at
				 * first */
	STEP_FILE = 64 << 20,	/* the same in a file, which frees blocks */
	STEP_MOST = 1 << 30,
	GROWTH = 16,		/* the most a step may grow from one to the
				 * next */
};

static const uint64_t step_time = 200000000;	/* ns; how long a signal has to
						 * wait */

/* The source's extent at off; if unknown, data. */
static struct extent
source_extent(const struct worker *w, uint64_t off)
{
	struct extent x;

	if (lane_extent(&w->src, off, &x) != 0)
		return (struct extent){ off, UINT64_MAX - off, false };
	return x;
}

/* The source's extent at off, from the last answer if that covers it. */
static struct extent
extent_at(struct worker *w, uint64_t off)
{
	struct extent *x = &w->job->extent;

	if (off < x->off || off - x->off >= x->len)
		*x = source_extent(w, off);
	return *x;
}

/*
 * Find the part of a hole between off and end that can be zeroed; false: none.
 */
static bool
hole_zeroable(const struct worker *w, const struct extent *x, uint64_t off,
    uint64_t end, struct seg *got)
{
	const struct plan *p = w->job->p;
	uint64_t to = x->off + x->len < end ? x->off + x->len : end;

	if (!x->hole)
		return false;
	if (to == p->length)
		to -= to % p->pad;	/* a block that is padded is written */
	if (to != p->length)
		to = lane_border_before(&w->dst, to, p->grain);
	off = lane_border(&w->dst, off, p->grain);
	if (off >= to)
		return false;
	*got = (struct seg){ off, to - off, CLAIMED };
	return to - off >= LEAST || to == p->length;
}

/* The end of the data at off: the next hole that is long enough, or "end". */
static uint64_t
data_end(struct worker *w, uint64_t off, uint64_t end)
{
	struct extent x;
	struct seg hole;

	while (off < end) {
		x = extent_at(w, off);
		if (hole_zeroable(w, &x, off, UINT64_MAX, &hole))
			return hole.off < end ? hole.off : end;
		off = x.off + x.len;
	}
	return end;
}

int
sparse_claim(struct worker *w, struct seg *got, bool *is_hole)
{
	struct job *job = w->job;
	struct extent x;
	struct seg next, hole;
	uint64_t end;
	int claimed = 0;

	*is_hole = false;
	pthread_mutex_lock(&job->order);
	if (!job->stop && map_peek(&job->map, &next)) {
		end = next.off + next.len;
		x = extent_at(w, next.off);
		*is_hole = hole_zeroable(w, &x, next.off, end, &hole) &&
		    hole.off == next.off;
		if (*is_hole)
			end = hole.off + hole.len;
		else if (next.len > job->p->chunk)
			end = next.off + job->p->chunk;
		if (!*is_hole)
			end = data_end(w, next.off, end);
		claimed = map_claim_to(&job->map, end, *is_hole, got);
	}
	pthread_mutex_unlock(&job->order);
	return claimed;
}

/* Zeroed bytes count as written. */
static void
zeros_count(struct job *job, uint64_t len)
{
	job->written += len;
	job->zeroed += len;
}

/*
 * Zero len bytes, or write zeros from the buffer at "at" if that is not
 * possible.
 */
static bool
zero_at(struct worker *w, uint64_t off, size_t at, size_t len)
{
	switch (transfer_zero(w, off + at, len)) {
	case 0:
		zeros_count(w->job, len);
		return true;
	case EOPNOTSUPP:
		if (w->job->p->store != STORE_SPARSE)
			memset(w->buf + at, 0, len);
		return transfer_write(w, off, at, len);
	default:
		return false;
	}
}

/*
 * Zeroing n bytes has taken so many ns: adapt the step.  More bytes than a step
 * may have are those of a range without data, whose time says nothing.
 */
static void
zero_step_adapt(struct worker *w, uint64_t n, uint64_t took)
{
	uint64_t most = MIN(n, STEP_MOST / GROWTH) * GROWTH, step = most;

	if (n > STEP_MOST || (n < w->zeros && took < step_time))
		return;
	if (took > 0)
		step = MIN(n * step_time / took, most);
	step -= step % STEP_LEAST;
	w->zeros = step > STEP_LEAST ? step : STEP_LEAST;
}

/* The bytes from off on in which a target file has no data; 0 if unknown. */
static uint64_t
nothing_at(const struct worker *w, uint64_t off)
{
	const struct endpoint *dst = w->job->p->dst;
	/* for the length of one request, on 32 bits too */
	const uint64_t most = (uint64_t)SIZE_MAX / 4 + 1;
	struct extent x;
	int err;

	if (dst->is.device || dst->is.inherited)
		return 0;
	err = lane_extent(&w->dst, off, &x);
	if (err == ENXIO)
		return most;		/* the file ends before off */
	return err == 0 && x.hole ? MIN(x.len, most) : 0;
}

/*
 * How much of a hole to zero in one step, up to a boundary or its end.
 * "moves": the device may have to write it, so rate= applies.
 */
static uint64_t
at_once(struct worker *w, uint64_t off, uint64_t len, bool moves)
{
	struct job *job = w->job;
	uint64_t n, unit = job->p->grain, nothing, most;

	if (w->zeros == 0)
		w->zeros = job->p->dst->is.device ? STEP_LEAST : STEP_FILE;
	n = MIN(len, w->zeros);
	nothing = n < len ? nothing_at(w, off) : 0;
	if (nothing > n)
		n = MIN(len, nothing);
	if (moves && job->rate.bytes > 0) {
		most = rate_piece(&job->rate, job->p, job->p->room);
		n = MIN(n, most);
	}
	return n < len && n > unit ? n - n % unit : n;
}

/*
 * Zero some of the next len bytes of a hole; *made is how much was zeroed
 * without writing.  Returns how many bytes were done, or 0 after a failure.
 */
static uint64_t
zero_some(struct worker *w, uint64_t off, uint64_t len, bool *moves,
    uint64_t *made)
{
	struct job *job = w->job;
	uint64_t n = at_once(w, off, len, *moves), start;

	*made = 0;
	if (*moves && !rate_wait(&job->rate, n, job->halt))
		return 0;
	start = clock_ns();
	switch (transfer_zero(w, off, n)) {
	case 0:
		zero_step_adapt(w, n, clock_ns() - start);
		*made = n;
		return n;
	case EOPNOTSUPP:
		n = MIN(n, job->p->room);
		if (!*moves && !rate_wait(&job->rate, n, job->halt))
			return 0;
		*moves = true;
		memset(w->buf, 0, (size_t)n);
		return transfer_write(w, off, 0, (size_t)n) ? n : 0;
	default:
		return 0;
	}
}

bool
sparse_hole(struct worker *w, const struct seg *hole)
{
	struct job *job = w->job;
	uint64_t off = hole->off, end = off + hole->len, n, made;
	bool moves = job->p->dst->is.device, ok = true;

	for (; off < end && ok && !job->stop; off += n) {
		n = zero_some(w, off, end - off, &moves, &made);
		zeros_count(job, made);
		job->read += n;
		job->holes += n;
		ok = n > 0 && transfer_settle(w, off, n, FINISHED);
	}
	return transfer_settle(w, hole->off, hole->len, UNTRIED) && ok;
}

/* How much of the cleared range lies in the last block, if that is padded. */
static size_t
in_last(const struct plan *p, const struct seg *s)
{
	uint64_t end = s->off + s->len;

	return end == p->length ? (size_t)MIN(end % p->pad, s->len) : 0;
}

bool
sparse_clear(struct worker *w)
{
	struct job *job = w->job;
	bool moves = job->p->dst->is.device, ok = true;
	struct seg s;
	uint64_t off, end, n, made;
	size_t last;
	int claimed = job->stop ? 0 : map_claim_to(&job->map, UINT64_MAX, true,
	    &s);

	if (claimed < 0)
		transfer_fail_map(job);
	if (claimed <= 0)
		return false;
	last = in_last(job->p, &s);
	end = s.off + s.len - last;
	for (off = s.off; off < end && ok && !job->stop; off += n) {
		n = zero_some(w, off, end - off, &moves, &made);
		ok = n > 0;
	}
	if (ok && last > 0) {
		memset(w->buf, 0, last);
		ok = transfer_write_end(w, end, last);
	}
	return transfer_settle(w, s.off, s.len, OUTSIDE) && ok;
}

/*
 * The length of the run of zeros, or of data, that begins at "at" in the
 * buffer.  Fewer zeros than "least" count as data.
 */
static size_t
run_of_zeros(const struct worker *w, uint64_t off, size_t at, size_t len,
    bool *zero)
{
	const struct plan *p = w->job->p;
	uint64_t start = lane_place(&w->dst, off), unit = p->grain;
	size_t least = p->dst->is.device ? LEAST : (size_t)unit;
	size_t zeros = 0, end = at, n;

	for (; end < len; end += n) {
		n = (size_t)(unit - (start + end) % unit);
		n = n < len - end ? n : len - end;
		if (n == unit && all_zero(w->buf + end, n))
			zeros += n;
		else if (zeros >= least)
			break;
		else
			zeros = 0;
		if (zeros >= least && zeros < end + n - at)
			return end + n - zeros - at;
	}
	*zero = zeros >= least;
	return end - at;
}

/* The length of a hole of the source, or of its data, by its extents. */
static size_t
run_of_extent(const struct worker *w, uint64_t off, size_t at, size_t len,
    bool *zero)
{
	const struct plan *p = w->job->p;
	struct extent x = source_extent(w, off + at);
	uint64_t end = x.off + x.len, all = off + len;

	end = end < all ? end : all;
	if (x.hole && end != all)
		end = lane_border_before(&w->dst, end, p->grain);
	*zero = x.hole && end > off + at;
	if (!*zero)
		end = lane_border(&w->dst, end > off + at ? end : off + at + 1,
		    p->grain);
	return (size_t)((end < all ? end : all) - off) - at;
}

bool
sparse_write(struct worker *w, uint64_t off, size_t len)
{
	bool look = w->job->p->store == STORE_SPARSE, zero, ok = true;
	size_t at, n;

	for (at = 0; at < len && ok; at += n) {
		zero = false;
		n = look ? run_of_zeros(w, off, at, len, &zero) :
		    run_of_extent(w, off, at, len, &zero);
		ok = zero ? zero_at(w, off, at, n) :
		    transfer_write(w, off, at, n);
	}
	return ok;
}
