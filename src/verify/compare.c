/*
 * Compare.  A worker claims a piece of the map, reads it from both ends (half
 * of the workers begin with the second end), and compares the two.  The map
 * records the ranges compared, and a second map where the ends differ.  A
 * stream is read under the lock that assigns its positions, as in a copy.
 *
 * Ranges that are holes in both files are not read.
 *
 * With coe=1 a block that cannot be read is BAD in the map, and is neither
 * equal nor different.
 */
#include "verify/verify.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "copy/elsewhere.h"
#include "copy/sparing.h"
#include "copy/transfer.h"
#include "copy/worker.h"
#include "map/mapfile.h"
#include "plan/names.h"

enum { RANGES_MOST = 1 << 20 };	/* ranges; beyond this, one per piece */

struct reading {		/* a piece of one end */
	struct worker	*w;
	struct lane	*lane;
	unsigned char	*buf;
	size_t		 n;	/* bytes read; fewer than the piece at the
				 * end */
};

/* --- beginning ---------------------------------------------------------- */

/*
 * Never replace an existing map: it may be that of a rescue.  Only the
 * temporary file of a killed run may be there.
 */
int
compare_look(const struct plan *p, struct fault *f)
{
	const char *path = p->opts->map;
	static const char *const suffix[] = { "", ".bak" };
	char name[PATH_MAX + sizeof(".bak")];
	struct stat st;
	size_t i;

	if (p->work != WORK_COMPARE || path == NULL)
		return 0;
	if (names_map(p, f) != 0)
		return -1;
	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
		if (lstat(name, &st) == 0)
			return fault_set(f, STATUS_REFUSED, "%s already "
			    "exists, and compare=1 writes a new map", name);
	}
	return path_check(path, path, f);
}

/*
 * The longer of two ends, if both sizes are known and count= does not limit
 * them.
 */
static const struct endpoint *
compare_longer(const struct plan *p)
{
	uint64_t a = (uint64_t)p->src->geo.size, b = (uint64_t)p->dst->geo.size;

	if (p->counted || p->src->geo.size < 0 || p->dst->geo.size < 0)
		return NULL;
	a = a > p->src_off ? a - p->src_off : 0;
	b = b > p->dst_off ? b - p->dst_off : 0;
	return a > b ? p->src : a < b ? p->dst : NULL;
}

int
compare_begin(struct job *job, struct fault *f)
{
	struct compare *c;

	if (compare_look(job->p, f) != 0)
		return -1;
	c = calloc(1, sizeof(*c));
	if (c == NULL || map_init(&c->differ, INT64_MAX, job->p->chunk,
	    0) != 0) {
		free(c);
		return fault_errno(f, ENOMEM, "what differs");
	}
	c->longer = compare_longer(job->p);
	job->compare = c;
	return 0;
}

void
compare_free(struct compare *c)
{
	if (c == NULL)
		return;
	map_free(&c->differ);
	free(c);
}

/* --- holes -------------------------------------------------------------- */

struct holes {			/* the holes of one end */
	int		 fd;	/* -1: zeros throughout */
	uint64_t	 base;
};

/* Find out the holes of an end; false if that is not possible. */
static bool
holes_of(const struct endpoint *ep, uint64_t base, struct holes *h)
{
	bool cached;

	*h = (struct holes){ .fd = -1, .base = base };
	if (ep->kind == END_ZEROS)
		return true;
	if (!endpoint_is_file(ep) || ep->carrier != NULL)
		return false;
	h->fd = endpoint_view(ep, &cached);
	return h->fd >= 0;
}

/*
 * The next byte from "at" on that is data, or in a hole; "end" if there is
 * none.
 */
static uint64_t
holes_next(const struct holes *h, uint64_t at, int whence, uint64_t end)
{
	off_t to;

	if (h->fd < 0)
		return whence == SEEK_DATA ? end : at;
	to = lseek(h->fd, (off_t)(h->base + at), whence);
	if (to < 0 && errno == ENXIO)	/* no more data up to its present end */
		to = lseek(h->fd, 0, SEEK_END);
	if (to < (off_t)(h->base + at))
		return whence == SEEK_DATA ? at : end;
	return (uint64_t)to - h->base > end ? end : (uint64_t)to - h->base;
}

/* The same in either of two ends. */
static uint64_t
next_of_both(const struct holes *a, const struct holes *b, uint64_t at,
    int whence, uint64_t end)
{
	uint64_t x = holes_next(a, at, whence, end), y =
	    holes_next(b, at, whence, end);

	return MIN(x, y);
}

/* Take ranges that are holes in both ends out of the map. */
static void
skip_holes(struct job *job)
{
	const struct plan *p = job->p;
	uint64_t at = 0, data, end = p->length;
	struct holes a = { .fd = -1 }, b = { .fd = -1 };
	bool known = p->bounded && holes_of(p->src, p->src_off, &a);

	known = known && holes_of(p->dst, p->dst_off, &b);
	while (known && at < end && !job->stop) {
		data = next_of_both(&a, &b, at, SEEK_DATA, end);
		if (data > at && map_set(&job->map, at, data - at,
		    FINISHED) == 0)
			job->compare->compared += data - at;
		/* past the data of one end, the other may still have some */
		at = data < end ? next_of_both(&a, &b, data, SEEK_HOLE, end) :
		    end;
		if (at <= data && data < end)
			at = MIN(data + p->chunk, end);
	}
	if (a.fd >= 0)
		close(a.fd);
	if (b.fd >= 0)
		close(b.fd);
}

/* --- reading ------------------------------------------------------------ */

static bool
reading_streams(const struct reading *s)
{
	return s->lane->ep->is.streamed;
}

/* The offset in the end of the next byte to read. */
static uint64_t
next_place(const struct reading *s, const struct seg *seg)
{
	return lane_place(s->lane, seg->off + s->n);
}

static void
fail_side(struct job *job, const struct reading *s, const struct io *io)
{
	struct fault f;

	if (io->err == ECANCELED && job->stop)
		return;
	lane_describe(&f, s->lane, io, "reading");
	if (io->err == ESPIPE)
		fault_set(&f, STATUS_SHORT, "%s ends before skip= or seek=",
		    s->lane->ep->name);
	else if (io->status == 0 && errno_is_medium(io->err))
		f.status = STATUS_MEDIUM;
	job_fail(job, &f);
}

static struct io
read_side(const struct reading *s, uint64_t off, size_t at, size_t len,
    enum care care)
{
	struct io io = { .op = OP_READ, .buf = s->buf + at,
		.off = off + at, .len = len, .careful = care == CAREFULLY };

	lane_transfer(s->lane, &io);
	elsewhere_feel(s->w, s->lane, &io);
	return io;
}

/* Read one block by itself, repeated up to retries= times. */
static struct io
compare_read_block(const struct job *job, const struct reading *s, uint64_t off,
    size_t at, size_t len)
{
	struct io io;

	do {
		io = read_side(s, off, at, len, CAREFULLY);
	} while (lane_again(s->lane, &io) && !job->stop);
	return io;
}

/* After a failed read, read block by block. */
static bool
compare_salvage(struct job *job, struct reading *s, const struct seg *seg)
{
	uint64_t block = job->p->block;
	size_t n, over, len = (size_t)seg->len;
	struct io io;

	over = (size_t)(next_place(s, seg) % block);
	s->n -= MIN(s->n, over);
	while (s->n < len && !job->stop) {
		n = (size_t)(block - next_place(s, seg) % block);
		n = MIN(n, len - s->n);
		io = compare_read_block(job, s, seg->off, s->n, n);
		if (errno_is_medium(io.err) && job->p->opts->coe != 0) {
			io.err = map_settle(&job->map, seg->off + s->n, n, BAD);
			io.done = n;
		}
		if (io.err != 0) {
			fail_side(job, s, &io);
			return false;
		}
		s->n += io.done;
		if (io.done < n)
			return true;
	}
	return s->n == len;
}

/* Read a piece of an end; false if that failed and stopped the run. */
static bool
compare_fetch(struct job *job, struct reading *s, const struct seg *seg)
{
	struct io io = read_side(s, seg->off, 0, (size_t)seg->len, NORMALLY);

	s->n = io.done;
	if (errno_is_medium(io.err) && !reading_streams(s))
		return compare_salvage(job, s, seg);
	if (io.err != 0)
		fail_side(job, s, &io);
	return io.err == 0;
}

/* An end of known size that ends early has shrunk during the run. */
static void
fail_short(struct job *job, const struct reading *s, const struct seg *seg)
{
	struct fault f;

	fault_set(&f, STATUS_SHORT, "%s was truncated meanwhile: it has no "
	    "byte %llu", s->lane->ep->name, (ull)next_place(s, seg));
	job_fail(job, &f);
}

/* --- comparing ---------------------------------------------------------- */

static bool
compare_differs(struct job *job, uint64_t off, uint64_t len)
{
	struct fault f;

	job->compare->told++;
	if (map_set(&job->compare->differ, off, len, BAD) == 0)
		return true;
	fault_errno(&f, ENOMEM, "what differs");
	job_fail(job, &f);
	return false;
}

/* Compare n bytes of both ends. */
static bool
compare_bytes(struct worker *w, const unsigned char *a, const unsigned char *b,
    uint64_t off, size_t n)
{
	struct job *job = w->job;
	size_t at, len, unit = job->p->block;
	bool same = false, ok = true;

	if (memcmp(a, b, n) == 0)
		return true;
	if (job->compare->told > RANGES_MOST)
		return compare_differs(job, off, n);
	for (at = 0; at < n && ok; at += len) {
		len = sparing_run(a + at, b + at, n - at,
		    lane_place(&w->src, off + at), unit, &same);
		ok = same || compare_differs(job, off + at, len);
	}
	return ok;
}

/*
 * Bytes that one end has lost count as equal: zero them in both buffers.
 * Returns how many there are.
 */
static size_t
blank_lost(struct job *job, unsigned char *a, unsigned char *b, uint64_t off,
    size_t n)
{
	struct seg s = { .off = off };
	uint64_t end = off + n;
	size_t at, len, lost = 0;

	while (map_next(&job->map, s.off + s.len, BAD, &s) && s.off < end) {
		at = (size_t)(s.off - off);
		len = (size_t)MIN(s.len, end - s.off);
		memset(a + at, 0, len);
		memset(b + at, 0, len);
		lost += len;
	}
	return lost;
}

/*
 * Whether an end continues where the other one, a stream, ended within a piece:
 * an end with a size has all of the piece.
 */
static bool
goes_on(const struct reading *s, size_t n)
{
	return reading_streams(s) ? s->n > n : s->lane->ep->geo.size >= 0;
}

/* For a stream, under its lock: the piece in which it ends. */
static void
end_stream(struct job *job, const struct reading *a, const struct reading *b,
    const struct seg *seg)
{
	size_t n = (size_t)seg->len;

	n = reading_streams(a) ? MIN(n, a->n) : n;
	n = reading_streams(b) ? MIN(n, b->n) : n;
	if (n == seg->len)
		return;
	map_end(&job->map, seg->off + n);
	if (goes_on(a, n))
		job->compare->longer = a->lane->ep;
	else if (goes_on(b, n))
		job->compare->longer = b->lane->ep;
}

/* The other end was compared to its end: find out whether a stream has more. */
static void
compare_probe(struct job *job, struct reading *s)
{
	struct io io;

	if (job->stop || !reading_streams(s) || job->p->counted ||
	    job->compare->longer != NULL ||
	    map_totals(&job->map).end < job->p->length)
		return;
	io = read_side(s, job->p->length, 0, 1, NORMALLY);
	if (io.err != 0)
		fail_side(job, s, &io);
	else if (io.done > 0)
		job->compare->longer = s->lane->ep;
}

/*
 * Claim a piece, and read its part of a stream.  Returns as map_claim, also -1
 * if the read failed.
 */
static int
compare_claim(struct job *job, struct reading *a, struct reading *b,
    struct seg *seg)
{
	bool ordered = reading_streams(a) || reading_streams(b), ok = true;
	struct fault f;
	int claimed;

	if (ordered)
		pthread_mutex_lock(&job->order);
	claimed = job->stop ? 0 : map_claim(&job->map, seg);
	if (claimed < 0) {
		fault_errno(&f, ENOMEM, "the map of what is compared");
		job_fail(job, &f);
	}
	if (claimed > 0)
		ok = rate_wait(&job->rate, seg->len, job->halt);
	if (claimed > 0 && ordered && ok) {
		ok = !reading_streams(a) || compare_fetch(job, a, seg);
		ok = ok && (!reading_streams(b) || compare_fetch(job, b, seg));
		if (ok)
			end_stream(job, a, b, seg);
	}
	if (claimed == 0 && ordered) {
		compare_probe(job, a);
		compare_probe(job, b);
	}
	if (ordered)
		pthread_mutex_unlock(&job->order);
	return ok ? claimed : -1;
}

/* Read the rest of a piece, and compare. */
static bool
compare_rest(struct worker *w, struct reading *first, struct reading *second,
    const struct seg *seg)
{
	struct job *job = w->job;
	struct reading *both[] = { first, second };
	size_t n = (size_t)seg->len, lost, i;

	for (i = 0; i < 2; i++)
		if (!reading_streams(both[i]) &&
		    !compare_fetch(job, both[i], seg))
			return false;
	for (i = 0; i < 2; i++) {
		if (!reading_streams(both[i]) && both[i]->n < n) {
			fail_short(job, both[i], seg);
			return false;
		}
	}
	n = MIN(first->n, second->n);
	lost = blank_lost(job, first->buf, second->buf, seg->off, n);
	if (n > 0 && !compare_bytes(w, first->buf, second->buf, seg->off, n))
		return false;
	job->read += n - lost;
	job->compare->compared += n - lost;
	return transfer_settle(w, seg->off, n, FINISHED) && n == seg->len;
}

static bool
compare_piece(struct worker *w)
{
	struct job *job = w->job;
	struct reading a = { w, &w->src, w->buf, 0 };
	struct reading b = { w, &w->dst, w->other, 0 };
	bool swapped = (w - job->worker) % 2 != 0, more;
	struct seg seg;

	if (compare_claim(job, &a, &b, &seg) <= 0)
		return false;
	more = compare_rest(w, swapped ? &b : &a, swapped ? &a : &b, &seg);
	/* the rest stays untried */
	return transfer_settle(w, seg.off, seg.len, UNTRIED) && more;
}

/* --- the map ------------------------------------------------------------ */

static int
compare_append(struct mapfile *m, uint64_t from, uint64_t to,
    enum seg_status status)
{
	struct seg s = { from, to - from, status };

	return from < to ? mapfile_append(m, &s) : 0;
}

/*
 * The next range from off on that differs or could not be read; false if there
 * is none.
 */
static bool
next_found(struct job *job, uint64_t off, struct seg *s)
{
	struct seg lost;
	bool any = map_next(&job->compare->differ, off, BAD, s);

	s->status = FINISHED;
	if (!map_next(&job->map, off, BAD, &lost) ||
	    (any && s->off <= lost.off))
		return any;
	if (any)
		lost.len = MIN(lost.len, s->off - lost.off);
	*s = lost;
	return true;
}

/*
 * Differences are marked finished, because this map will be used as a domain.
 */
static int
compare_compose(struct job *job, struct mapfile *m)
{
	const struct plan *p = job->p;
	uint64_t at = 0, end = p->src->geo.size > 0 ?
	    (uint64_t)p->src->geo.size :
	    p->src_off + map_totals(&job->map).end;
	struct seg s = { .off = 0 };

	while (next_found(job, s.off + s.len, &s)) {
		if (compare_append(m, at, p->src_off + s.off, UNTRIED) != 0)
			return ENOMEM;
		at = p->src_off + s.off + s.len;
		if (compare_append(m, at - s.len, at, s.status) != 0)
			return ENOMEM;
	}
	return compare_append(m, at, end, UNTRIED);
}

static void
compare_save(struct job *job)
{
	struct mapfile m = { .phase = FINISHED, .pass = 1 };
	const char *path = job->p->opts->map;
	struct map_totals t = map_totals(&job->map);
	struct fault f = { .status = 0 };

	if (path == NULL || job->stop || t.untried + t.claimed > 0)
		return;
	m.target = strdup(MAP_COMPARED);
	if (m.target == NULL || compare_compose(job, &m) != 0)
		fault_errno(&f, ENOMEM, "%s", path);
	else
		mapfile_save(&m, path, "Compared: finished is what differs, "
		    "bad what could not be read", &f);
	mapfile_free(&m);
	if (f.status != 0)
		job_fail(job, &f);
}

void
compare_run(struct job *job)
{
	static const struct task comparing = { .phase = PHASE_COMPARING,
		.step = compare_piece };
	const struct plan *p = job->p;
	struct map_totals t;

	job->phase = PHASE_COMPARING;
	skip_holes(job);
	workers_run(job, &comparing);
	t = map_totals(&job->map);
	compare_save(job);
	endpoint_drop_cache(p->src, p->src_off, t.end);
	endpoint_drop_cache(p->dst, p->dst_off, t.end);
}
