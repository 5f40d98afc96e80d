/*
 * Verify.  During the copy, piece.c records a digest of each chunk that is
 * written.  After the flush all workers go through the table, one entry at a
 * time, and read the target back past the caches (sparing.c):
 *
 *	check	the digest is the same: RIGHT, else DIFFERS
 *	mend	the source is read again and gets a new digest; the target is
 *		rewritten, flushed, and checked again
 *
 * For both see below.  Differences are narrowed down to logical blocks
 * by rereading the source.  If it cannot be read again (a pipe, random bytes),
 * they are neither narrowed down nor mended. verify=source compares the target
 * with the source itself; the digests then serve for what cannot be read again.
 *
 * With verify=stream a worker that looks for work may instead check data
 * written before.  The entries are in four parts, whose boundaries only grow:
 *
 *	0 .. begun	are checked, or being checked
 *	begun .. ready	can be: they were written, and flushed after that
 *	ready .. low	are written; flushed after a LOT of bytes or a beat
 *	low ..		still to be written, or being written
 *
 * A third of the workers may check, so that the others keep both ends busy; all
 * of them, once the check is more than LAG behind.  The rest is checked after
 * the copy, as without "stream".
 *
 *	s	verify->lock, held for a few instructions; takes digests.lock
 *		and map.lock, which are leaves
 */
#include "verify/verify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "copy/piece.h"
#include "copy/ranges.h"
#include "copy/sparing.h"
#include "copy/transfer.h"
#include "copy/worker.h"
#include "digest/digest_table.h"
#include "open/tee.h"

/*
 * Verify one entry: compare the target with the digest, or with the source;
 * narrow differences down, and mend them.
 */

enum {
	RANGES_MOST = 1 << 16,	/* ranges; beyond this, whole chunks are
				 * recorded */
	SECTOR = 512,
	FAN = 16,		/* parts of a read that failed */
	LOST = 16,		/* failed reads of the smallest size in a
				 * chunk */
};

/* Whether the source can be read a second time, with the same result. */
static bool
verify_repeatable(const struct plan *p)
{
	return !p->src->is.streamed && (p->src->spec.flags & FLAG_RANDOM) == 0;
}

/* --------------------------------------------------------- the source again */

/* The next range without bytes of the source: lost, or left out. */
static bool
next_blank(struct map *map, uint64_t from, struct seg *s)
{
	struct seg left;
	bool lost = map_next(map, from, BAD, s);
	bool out = map_next(map, from, OUTSIDE, &left);

	if (out && (!lost || left.off < s->off))
		*s = left;
	return lost || out;
}

/*
 * The length of the run of bytes that were read, or that were lost and made
 * zero.
 */
static size_t
until_lost(struct worker *w, uint64_t off, size_t at, size_t len, bool *lost)
{
	struct seg s;
	uint64_t from = off + at;

	*lost = false;
	if (!next_blank(&w->job->map, from, &s) || s.off >= off + len)
		return len - at;
	*lost = s.off == from;
	if (!*lost)
		return (size_t)(s.off - from);
	return s.len < len - at ? (size_t)s.len : len - at;
}

/*
 * Reread a range into the worker's buffer, in the form that the target should
 * have: zeros for lost data and for padding.  Returns true if all was read;
 * otherwise *io is the read that failed or ended early.
 */
static bool
read_again(struct worker *w, uint64_t off, size_t len, struct io *io)
{
	uint64_t end = w->job->p->length;
	size_t data = off + len > end ? (size_t)(end - off) : len, at, n;
	bool lost;

	for (at = 0; at < data; at += n) {
		n = until_lost(w, off, at, data, &lost);
		if (lost) {
			memset(w->buf + at, 0, n);
			continue;
		}
		*io = transfer_read(w, off, at, n, CAREFULLY);
		if (io->err != 0 || io->done < n)
			return false;
	}
	memset(w->buf + data, 0, len - data);
	return true;
}

/* ------------------------------------------------------------- what differs */

/* If there is no memory for the range, its chunk is reported anyway. */
static void
differ_set(struct worker *w, struct map *differ, uint64_t off, uint64_t len,
    enum seg_status status)
{
	struct fault f;

	if (map_set(differ, off, len, status) == 0)
		return;
	fault_errno(&f, ENOMEM, "the list of what differs");
	job_fail(w->job, &f);
}

/* All of a chunk differs, except what was left out of it. */
static void
set_differing(struct worker *w, struct map *differ, const struct check *c)
{
	struct seg s = { .off = c->off };
	uint64_t end = c->off + c->len;

	differ_set(w, differ, c->off, c->len, BAD);
	while (map_next(&w->job->map, s.off + s.len, OUTSIDE, &s) &&
	    s.off < end)
		differ_set(w, differ, s.off, MIN(s.len, end - s.off), UNTRIED);
}

/* How many bytes of a chunk had differed at an earlier check. */
static uint64_t
check_bytes_differed(struct map *differ, const struct check *c)
{
	struct seg s = { .off = c->off };
	uint64_t sum = 0, end = c->off + c->len;

	while (map_next(differ, s.off + s.len, BAD, &s) && s.off < end)
		sum += s.off + s.len < end ? s.len : end - s.off;
	return sum;
}

/*
 * Zero the parts left out, here and in the source's data, so that they do not
 * matter.  Returns how many bytes they are.
 */
static size_t
check_mask(struct worker *w, const struct check *c, unsigned char *has)
{
	struct seg s = { .off = c->off };
	uint64_t end = c->off + c->len, n;
	size_t sum = 0;

	while (map_next(&w->job->map, s.off + s.len, OUTSIDE, &s) &&
	    s.off < end) {
		n = MIN(s.len, end - s.off);
		if (has != NULL)
			memset(has + (s.off - c->off), 0, (size_t)n);
		sum += (size_t)n;
	}
	return sum;
}

/*
 * Of a range that was marked as differing, unmark the parts where the target
 * equals the worker's buffer, from byte "at" on.
 */
static void
clear_same(struct worker *w, uint64_t off, size_t at,
    const unsigned char *has, size_t n)
{
	const struct plan *p = w->job->p;
	size_t unit = p->dst->geo.block > 0 ? p->dst->geo.block : SECTOR;
	size_t i, len;
	bool same = false;

	for (i = 0; i < n; i += len) {
		len = sparing_run(w->buf + at + i, has + i, n - i,
		    lane_place(&w->dst, off + i), unit, &same);
		if (same)
			differ_set(w, &w->job->verify->target[0].differ,
			    off + i, len, UNTRIED);
	}
}

/*
 * Read a chunk back in smaller parts, because it cannot be read as a whole.  A
 * failing read may take seconds, so after many of them the rest stays as it is.
 */
static void
narrow_unread(struct worker *w, const struct check *c)
{
	size_t unit = w->job->back.geo.io_align, step = unit, lost = 0, at, n;
	struct check part = *c;
	unsigned char *has;
	struct io io;

	while (step < c->len / FAN)
		step *= FAN;
	for (at = 0; at < c->len && lost < LOST && !w->job->stop; at += n) {
		part.off = c->off + at;
		n = step - (size_t)(lane_place(&w->back, part.off) % step);
		part.len = n = MIN(n, (size_t)c->len - at);
		io = sparing_read(w, part.off, n, &has);
		if (io.err != 0 && !errno_is_medium(io.err)) {
			sparing_fail(w, &io);
		} else if (io.done < n && n > unit) {
			step /= FAN;
			n = 0;
		} else {
			check_mask(w, &part, has);
			clear_same(w, part.off, at, has, io.done);
			lost += io.done < n;
		}
	}
}

/* Unmark what is equal to the source after all. */
static void
check_narrow(struct worker *w, const struct check *c, const unsigned char *has,
    const struct io *back)
{
	struct verify *v = w->job->verify;
	struct io io;

	if (!verify_repeatable(w->job->p) ||
	    !read_again(w, c->off, (size_t)c->len, &io) ||
	    (back->done == c->len && memcmp(w->buf, has, back->done) == 0) ||
	    map_totals(&v->target[0].differ).bad_ranges > RANGES_MOST)
		return;
	if (back->done == c->len) {
		clear_same(w, c->off, 0, has, back->done);
		return;
	}
	narrow_unread(w, c);
	/* but it was unreadable */
	if (check_bytes_differed(&v->target[0].differ, c) == 0)
		set_differing(w, &v->target[0].differ, c);
}

/*
 * verify=sample: look for what was read among what was written, because that is
 * what a device with less room than it pretends to have does.
 */
static void
check_find(struct worker *w, struct checked *of, const struct check *c,
    const unsigned char *has)
{
	struct verify *v = w->job->verify;
	struct digest d;
	struct check other;
	size_t i;

	if (v->sample == NULL || of->before != 0 ||
	    all_zero(has, (size_t)c->len) ||
	    !digest_of(v->digests.by, has, (size_t)c->len, &d))
		return;
	for (i = 0; digest_table_at(&v->digests, i, &other); i++)
		if (other.len == c->len && other.off != c->off &&
		    other.state != CHECK_NONE && digest_same(&d,
		    &other.digest)) {
			of->before = c->off - other.off;
			return;
		}
}

/* Record a chunk that differs, or cannot be read back. */
static void
check_differs(struct worker *w, size_t i, const struct check *c,
    const unsigned char *has, const struct io *back)
{
	struct verify *v = w->job->verify;
	struct checked *of = &v->target[0];
	uint_fast64_t nowhere = NOWHERE;
	struct seg s;

	set_differing(w, &of->differ, c);
	if (back->err == 0 && back->done == c->len)
		check_find(w, of, c, has);
	check_narrow(w, c, has, back);
	if (map_next(&of->differ, c->off, BAD, &s))
		atomic_compare_exchange_strong(&of->first, &nowhere, s.off);
	v->differing++;
	digest_table_mark(&v->digests, i, CHECK_DIFFERS);
}

/* Record that a chunk is right, whether or not it had differed. */
static void
check_mended(struct worker *w, struct map *differ, const struct check *c)
{
	uint64_t n = check_bytes_differed(differ, c);

	if (n > 0)
		differ_set(w, differ, c->off, c->len, UNTRIED);
	w->job->verify->mended += n;
}

static void
check_right(struct worker *w, size_t i, const struct check *c, size_t masked)
{
	struct verify *v = w->job->verify;

	check_mended(w, &v->target[0].differ, c);
	v->target[0].right += c->len - masked;
	digest_table_mark(&v->digests, i, CHECK_RIGHT);
}

/* -------------------------------------------------------------------- check */

/* Whether the data has the digest from the copy. */
static bool
as_noted(const struct verify *v, const struct check *c, const void *buf)
{
	struct digest d;

	return digest_of(v->digests.by, buf, (size_t)c->len, &d) &&
	    digest_same(&d, &c->digest);
}

enum measure { BY_DIGEST, BY_SOURCE, BY_NOTHING };

/*
 * What to compare a chunk with; if the source, that is now in the worker's
 * buffer.  BY_NOTHING: it could not be read, and the run is being stopped.
 */
static enum measure
check_measure(struct worker *w, const struct check *c)
{
	const struct plan *p = w->job->p;
	struct io io;

	if ((p->verify != VERIFY_SOURCE && c->state != CHECK_NONE) ||
	    !verify_repeatable(p))
		return BY_DIGEST;
	if (read_again(w, c->off, (size_t)c->len, &io))
		return BY_SOURCE;
	if (io.err == 0 || (p->opts->coe != 0 && errno_is_medium(io.err)))
		return BY_DIGEST;
	transfer_fail_read(w, &io);
	return BY_NOTHING;
}

/*
 * Whether a chunk read back is right.  With a digest of the whole copy, the
 * first reading counts, whatever the source has now.  A chunk left out in part
 * has no digest.
 */
static bool
is_right(const struct worker *w, const struct check *c,
    const unsigned char *has, size_t masked, enum measure by)
{
	bool noted = w->job->p->hash != NULL && (masked == 0 ||
	    c->state != CHECK_NONE);

	if (by == BY_SOURCE)
		return memcmp(w->buf, has, (size_t)c->len) == 0 &&
		    (!noted || as_noted(w->job->verify, c, has));
	return c->state != CHECK_NONE && as_noted(w->job->verify, c, has);
}

/*
 * A file that ends in zeros gets its length at the end of the copy: check the
 * part beyond its present end later.
 */
static bool
check_early(const struct job *job)
{
	return job->phase == PHASE_COPYING &&
	    (job->p->store == STORE_SPARSE || job->p->holes ||
	    job->p->used != NULL);
}

static void
target_differs(struct worker *w, struct checked *of, const struct check *c,
    const unsigned char *has)
{
	uint_fast64_t nowhere = NOWHERE;

	set_differing(w, &of->differ, c);
	if (has != NULL)
		check_find(w, of, c, has);
	atomic_compare_exchange_strong(&of->first, &nowhere, c->off);
}

/*
 * What sparing_read got from one of several targets, or NULL if that was less
 * than len bytes.  The buffer has room for as many bytes again after it.
 */
static unsigned char *
check_data_of(struct worker *w, unsigned target, uint64_t off, size_t len)
{
	const struct io *io = tee_read(&w->back, target);
	size_t before = (size_t)(lane_place(&w->back, off) %
	    w->job->back.geo.io_align);

	return io == NULL || io->err != 0 || io->done < before + len ? NULL :
	    io->buf + before;
}

/*
 * Where the copy ends on one of several targets, which may need less padding
 * than others.  What is left out is not padded.
 */
static uint64_t
checked_end(struct job *job, unsigned target)
{
	uint64_t end = map_totals(&job->map).end;

	if (end == 0 || map_at(&job->map, end - 1) == OUTSIDE)
		return end;
	return ranges_end(plan_each(job->p, target), end);
}

/*
 * Check one of several targets; false if it differs.  Ignore what it has behind
 * its end.
 */
static bool
check_target(struct worker *w, unsigned target, const struct check *c,
    size_t masked, enum measure by)
{
	struct job *job = w->job;
	struct checked *of = &job->verify->target[target];
	size_t data = (size_t)MIN(c->len, checked_end(job, target) - c->off);
	unsigned char *has;

	has = check_data_of(w, target, c->off, data);
	if (has != NULL) {
		memset(has + data, 0, (size_t)c->len - data);
		check_mask(w, c, has);
	}
	if (has == NULL)
		of->unread = true;
	if (has == NULL || !is_right(w, c, has, masked, by)) {
		target_differs(w, of, c, has);
		return false;
	}
	check_mended(w, &of->differ, c);
	of->right += c->len - masked;
	return true;
}

/*
 * Check the same entry of all remaining targets.  Nothing is narrowed down: of
 * a target that differs all of it is written again.
 */
static bool
check_each(struct worker *w, size_t entry, const struct check *c, size_t masked)
{
	struct job *job = w->job;
	enum measure by = check_measure(w, c);
	bool all = true;
	unsigned char *has;
	struct io io;
	unsigned i;

	if (by == BY_NOTHING)
		return false;
	io = sparing_read(w, c->off, (size_t)c->len, &has);
	if (io.err != 0) {
		sparing_fail(w, &io);
		return false;
	}
	for (i = 0; i < job->p->targets; i++)
		if (tee_read(&w->back, i) != NULL)
			all &= check_target(w, i, c, masked, by);
	job->verify->differing += !all;
	digest_table_mark(&job->verify->digests, entry, all ? CHECK_RIGHT :
	    CHECK_DIFFERS);
	job->verify->masked += masked;
	job->verify->read += c->len - masked;
	return !job->stop;
}

/* Read an entry back; false if the run is being stopped. */
static bool
verify_check(struct worker *w, size_t i, const struct check *c)
{
	struct job *job = w->job;
	size_t masked = check_mask(w, c, NULL);
	unsigned char *has;
	enum measure by = BY_DIGEST;
	bool whole;
	struct io io;

	if (masked == c->len) {
		check_right(w, i, c, masked);
		job->verify->masked += masked;
		return !job->stop;
	}
	if (!rate_wait(&job->rate, c->len, job->halt))
		return false;
	if (job->p->targets > 1)
		return check_each(w, i, c, masked);
	io = sparing_read(w, c->off, (size_t)c->len, &has);
	if (io.err != 0 && !errno_is_medium(io.err)) {
		sparing_fail(w, &io);
		return false;
	}
	if (io.err == 0 && io.done < c->len && check_early(job))
		return !job->stop;
	check_mask(w, c, has);
	whole = io.err == 0 && io.done == c->len;
	if (whole)
		by = check_measure(w, c);
	else
		job->verify->target[0].unread = true;
	if (by == BY_NOTHING)
		return false;
	if (whole && is_right(w, c, has, masked, by))
		check_right(w, i, c, masked);
	else
		check_differs(w, i, c, has, &io);
	job->verify->masked += masked;
	job->verify->read += c->len - masked;
	return !job->stop;
}

/* Take the next entry that is not yet right; false: none is left. */
static bool
verify_check_next(struct worker *w)
{
	struct verify *v = w->job->verify;
	size_t i = v->next++;
	struct check c;

	if (v->sample != NULL && i >= v->samples)
		return false;
	if (v->sample != NULL)
		i = v->sample[i];
	if (w->job->stop || !digest_table_at(&v->digests, i, &c))
		return false;
	return c.state == CHECK_RIGHT || c.state == CHECK_DIFFERS ||
	    verify_check(w, i, &c);
}

/* --------------------------------------------------------------------- mend */

/*
 * Where a chunk differs.  If it does at several targets, then in the same
 * ranges.
 */
static struct map *
what_differs(struct verify *v, const struct check *c)
{
	unsigned i;

	for (i = 0; i < v->targets; i++)
		if (check_bytes_differed(&v->target[i].differ, c) > 0)
			return &v->target[i].differ;
	return &v->target[0].differ;
}

/* The counted bytes of a chunk will be checked again. */
static void
check_uncount(struct worker *w, const struct check *c)
{
	struct verify *v = w->job->verify;
	size_t masked = check_mask(w, c, NULL);
	struct checked *of;

	for (of = v->target; of < v->target + v->targets; of++)
		if (check_bytes_differed(&of->differ, c) == 0)
			of->right -= c->len - masked;
	v->masked -= masked;
}

/* The targets that do not differ in a chunk, as bits. */
static unsigned
check_healthy(struct verify *v, const struct check *c)
{
	unsigned i, healthy = 0;

	for (i = 0; i < v->targets; i++)
		if (check_bytes_differed(&v->target[i].differ, c) == 0)
			healthy |= 1U << i;
	return healthy;
}

/*
 * Rewrite what differs in a chunk, in whole pages of the target; of several, in
 * all but those.
 */
static bool
write_again(struct worker *w, const struct check *c, unsigned but)
{
	const struct plan *p = w->job->p;
	struct map *differ = what_differs(w->job->verify, c);
	uint64_t at = c->off, end = c->off + c->len, from, to;
	struct seg s;

	while (map_next(differ, at, BAD, &s) && s.off < end) {
		from = lane_border_before(&w->dst, s.off, p->grain);
		from = from > at ? from : at;
		to = lane_border(&w->dst, s.off + s.len, p->grain);
		to = to < end ? to : end;
		if (!transfer_rewrite(w, c->off, (size_t)(from - c->off),
		    (size_t)(to - from), but))
			return false;
		at = to;
	}
	return true;
}

/*
 * Do nothing if the source cannot be read again, or has changed since the
 * digest was made and the copy's digest is wanted.  If it has only changed, the
 * new data is written to all targets.
 */
static bool
check_mend(struct worker *w, const struct check *c)
{
	struct verify *v = w->job->verify;
	size_t len = (size_t)c->len;
	struct io io;
	bool same;

	v->read += c->len - check_mask(w, c, NULL);
	if (!read_again(w, c->off, len, &io))
		return true;
	same = as_noted(v, c, w->buf);
	if (w->job->p->hash != NULL && !same)
		return true;
	if (!piece_note(w, c->off, len))
		return false;
	v->differing--;
	check_uncount(w, c);
	return write_again(w, c, same ? check_healthy(v, c) : 0);
}

/* Take the next entry that differs; false: none is left. */
static bool
verify_mend_next(struct worker *w)
{
	struct verify *v = w->job->verify;
	size_t i = v->next++;
	struct check c;

	if (w->job->stop || !digest_table_at(&v->digests, i, &c))
		return false;
	return c.state != CHECK_DIFFERS || check_mend(w, &c);
}

enum {
	LOT = 64 << 20,		/* bytes worth a flush */
	LOT_LEAST = 8 << 20,
	LOTS = 16,		/* at least, so that little is left at the
				 * end */
	LAG = 256 << 20,	/* bytes */
	SAMPLES = 128,		/* places of verify=sample, at most, */
	PLACE = 64 << 10,	/* and their bytes */
};

static const double beat = 1.0;	/* seconds */

/*
 * The bytes that have a digest: of verify=sample those of a place, unless there
 * would be too many, or some come from base=.
 */
static uint64_t
verify_chunk(const struct plan *p)
{
	uint64_t n = p->claim, length = p->bounded ? p->length :
	    p->dst->lim.end - p->dst_off;

	while (p->verify == VERIFY_SAMPLE && n > PLACE && n % 2 == 0 &&
	    length / (n / 2) <= CHECKS_USUAL && !opts_changed(p->opts))
		n /= 2;
	return n;
}

/* Make the table and the maps.  Returns 0 or ENOMEM. */
static int
make_tables(struct verify *v, const struct plan *p)
{
	uint64_t chunk = verify_chunk(p);
	unsigned i;

	if (digest_table_init(&v->digests, p->bounded ? p->length : 0,
	    chunk, p->phase % chunk, ranges_by(p)) != 0)
		return ENOMEM;
	for (i = 0; i < v->targets; i++) {
		v->target[i].first = NOWHERE;
		if (map_init(&v->target[i].differ, INT64_MAX, p->claim, 0) != 0)
			return ENOMEM;
	}
	return 0;
}

int
verify_begin(struct job *job, struct fault *f)
{
	const struct plan *p = job->p;
	struct verify *v;

	if (p->verify == 0)
		return 0;
	v = calloc(1, sizeof(*v) + p->targets * sizeof(v->target[0]));
	if (v == NULL)
		return fault_errno(f, ENOMEM, "the digests of the copy");
	v->targets = p->targets;
	v->flushed = clock_seconds();
	pthread_mutex_init(&v->lock, NULL);
	if (make_tables(v, p) != 0) {
		verify_free(v);
		return fault_errno(f, ENOMEM, "the digests of the copy");
	}
	job->digests = &v->digests;
	job->verify = v;
	return 0;
}

void
verify_free(struct verify *v)
{
	unsigned i;

	if (v == NULL)
		return;
	digest_table_free(&v->digests);
	free(v->sample);
	for (i = 0; i < v->targets; i++)
		map_free(&v->target[i].differ);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

uint64_t
verify_right(struct job *job)
{
	struct verify *v = job->verify;
	uint64_t least = UINT64_MAX;
	unsigned i;

	for (i = 0; i < v->targets; i++)
		if (tee_dropped(job->p->dst, i) == NULL &&
		    v->target[i].right < least)
			least = v->target[i].right;
	return least == UINT64_MAX ? 0 : least;
}

uint64_t
verify_differing(struct job *job)
{
	struct verify *v = job->verify;
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < v->targets; i++)
		sum += map_totals(&v->target[i].differ).bad;
	return sum;
}

/* Whether everything on a target was checked, as far as it is alike. */
static bool
verify_proven(struct job *job, unsigned target)
{
	struct verify *v = job->verify;
	struct checked *of = &v->target[target];

	return v->done && tee_dropped(job->p->dst, target) == NULL &&
	    (map_totals(&of->differ).bad > 0 || of->right + v->masked ==
	    v->wanted);
}

void
verify_results(struct job *job, struct result *target)
{
	struct verify *v = job->verify;
	unsigned i;

	for (i = 0; i < v->targets; i++) {
		target[i].unread = v->target[i].unread;
		target[i].proven = verify_proven(job, i);
		target[i].before = (int64_t)v->target[i].before;
		map_take(&target[i].differ, &v->target[i].differ);
	}
}

/* ----------------------------------------------------------- after the copy */

static int
sample_by_place(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Choose the place that has this byte of the copy. */
static void
sample_add(struct verify *v, uint64_t off)
{
	v->sample[v->samples++] = (size_t)((off + v->digests.phase) /
	    v->digests.chunk);
}

/*
 * By chance, one in each of as many parts of what was copied: whatever was left
 * out cannot differ.
 */
static void
sample_by_chance(struct verify *v, struct map *map)
{
	struct map_totals t = map_totals(map);
	uint64_t part = (t.end - t.outside) / (SAMPLES - v->samples), dice;
	uint64_t from, before = 0;	/* bytes that were left out before */
	struct seg out;
	bool more = map_next(map, 0, OUTSIDE, &out);

	for (from = 0; part > 0 && v->samples < SAMPLES; from += part) {
		if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
			dice = 0;
		for (dice = from + dice % part; more && out.off <= dice +
		    before; more = map_next(map, out.off + out.len, OUTSIDE,
		    &out))
			before += out.len;
		sample_add(v, dice + before);
	}
}

/*
 * verify=sample: all of a small copy, else both ends; both sides of each power
 * of two of the target, because a device that pretends to be larger keeps one
 * of them where the other belongs; and places by chance.  In order, so that the
 * oldest come first, which no cache has.  Returns 0 or ENOMEM.
 */
static int
verify_choose(struct verify *v, struct job *job)
{
	size_t n = digest_table_count(&v->digests), i, j;
	uint64_t from = plan_first(job->p)->dst_off, at;
	struct check c;

	v->sample = calloc(SAMPLES, sizeof(*v->sample));
	if (v->sample == NULL)
		return ENOMEM;
	for (; n <= SAMPLES && v->samples < n; v->samples++)
		v->sample[v->samples] = v->samples;
	if (n > SAMPLES) {
		sample_add(v, 0);
		sample_add(v, v->digests.end - 1);
		for (at = PLACE; at < from + v->digests.end; at *= 2)
			if (at > from) {
				sample_add(v, at - from - 1);
				sample_add(v, at - from);
			}
		sample_by_chance(v, &job->map);
	}
	qsort(v->sample, v->samples, sizeof(*v->sample), sample_by_place);
	for (v->wanted = 0, i = j = 0; i < v->samples; i++)
		if ((i == 0 || v->sample[i] != v->sample[j - 1]) &&
		    digest_table_at(&v->digests, v->sample[i], &c)) {
			v->sample[j++] = v->sample[i];
			v->wanted += c.len;
		}
	v->samples = j;
	return 0;
}

static void
verify_pass(struct job *job, const struct task *task)
{
	job->verify->next = 0;
	job->verify->read = 0;
	workers_run(job, task);
}

/* Whether the copy went far enough for a check to make sense. */
static bool
verify_worthwhile(struct job *job)
{
	struct map_totals t = map_totals(&job->map);

	return !job->stop && job->flush.status == 0 &&
	    t.untried + t.claimed == 0;
}

static void
verify_flush(struct job *job)
{
	job->phase = PHASE_FLUSHING;
	if (job_flush(job, &job->flush) != 0)
		job->flush.status = STATUS_NOT_FLUSHED;
}

void
verify_run(struct job *job)
{
	static const struct task checking = { .phase = PHASE_VERIFYING,
		.step = verify_check_next };
	static const struct task repairing = { .phase = PHASE_REPAIRING,
		.step = verify_mend_next };
	struct verify *v = job->verify;
	bool sample = job->p->verify == VERIFY_SAMPLE;
	int64_t left = job->p->dst->is.zoned || job->p->dst->encoded != NULL ||
	    sample ? 0 :
	    job->p->opts->mends;
	uint64_t end = round_up(map_totals(&job->map).end, job->p->pad);
	struct fault f;
	int err;

	if (!verify_worthwhile(job))
		return;
	v->wanted = end;
	err = digest_table_end(&v->digests, end);
	if (err == 0 && sample)
		err = verify_choose(v, job);
	if (err != 0) {
		fault_errno(&f, err, "the digests of the copy");
		job_fail(job, &f);
		return;
	}
	verify_pass(job, &checking);
	while (v->differing > 0 && left-- > 0 && verify_repeatable(job->p) &&
	    !job->stop) {
		verify_pass(job, &repairing);
		verify_flush(job); /* even if stopped: data was rewritten */
		if (job->stop || job->flush.status != 0)
			return;
		verify_pass(job, &checking);
	}
	v->done = !job->stop;
}

/* ------------------------------------------------------ during the copy */

/* s: whether a worker may check, and finds something to check. */
static bool
may_check(const struct job *job, const struct verify *v)
{
	unsigned usual = job->p->workers / 3 > 0 ? job->p->workers / 3 : 1;
	bool late = (v->low - v->begun) * job->p->claim > LAG;

	return v->begun < v->ready && (late || v->checking < usual);
}

/* Bytes per flush, and by how much the check is behind at the end. */
static uint64_t
verify_lot(const struct plan *p)
{
	uint64_t n = p->bounded ? p->length / LOTS : LOT;

	return n < LOT_LEAST ? LOT_LEAST : n < LOT ? n : LOT;
}

/* s: whether it is time to flush. */
static bool
may_flush(const struct job *job, const struct verify *v)
{
	return !v->flushing && v->low > v->ready &&
	    ((v->low - v->ready) * job->p->claim >= verify_lot(job->p) ||
	    clock_seconds() - v->flushed >= beat);
}

/*
 * s: advance over chunks written meanwhile, except one that is still growing.
 */
static void
raise_low(struct job *job, struct verify *v)
{
	uint64_t border = UINT64_MAX;
	struct check c;
	struct seg s;

	if (!digest_table_at(&v->digests, v->low, &c))
		return;
	if (map_next(&job->map, c.off, CLAIMED, &s))
		border = s.off;
	if (map_next(&job->map, c.off, UNTRIED, &s) && s.off < border)
		border = s.off;
	while (digest_table_at(&v->digests, v->low, &c) && c.whole &&
	    c.off + c.len <= border)
		v->low++;
}

static bool
flush_behind(struct job *job, size_t upto)
{
	struct verify *v = job->verify;
	struct fault f;
	bool ok = job_flush(job, &f) == 0;

	pthread_mutex_lock(&v->lock);
	v->flushing = false;
	v->flushed = clock_seconds();
	if (ok)
		v->ready = upto;
	pthread_mutex_unlock(&v->lock);
	if (!ok) {
		f.status = STATUS_NOT_FLUSHED;
		job->doubt = true;
		job_fail(job, &f);
	}
	return ok;
}

static bool
check_behind(struct worker *w, size_t i)
{
	struct verify *v = w->job->verify;
	struct check c;
	bool more = digest_table_at(&v->digests, i, &c) &&
	    verify_check(w, i, &c);

	pthread_mutex_lock(&v->lock);
	v->checking--;
	pthread_mutex_unlock(&v->lock);
	return more;
}

static bool
work_behind(struct worker *w)
{
	struct job *job = w->job;
	struct verify *v = job->verify;
	size_t i = 0;
	enum { COPY, CHECK, FLUSH } todo = COPY;

	pthread_mutex_lock(&v->lock);
	raise_low(job, v);
	if (may_check(job, v)) {
		todo = CHECK;
		i = v->begun++;
		v->checking++;
	} else if (may_flush(job, v)) {
		todo = FLUSH;
		i = v->low;
		v->flushing = true;
	}
	pthread_mutex_unlock(&v->lock);
	if (job->stop || todo == COPY)
		return piece_copy(w);
	return todo == CHECK ? check_behind(w, i) : flush_behind(job, i);
}

const struct task verify_streaming = { .phase = PHASE_COPYING,
	.step = work_behind };
