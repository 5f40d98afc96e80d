/*
 * Rescue.  The map is gone over in passes, each of which takes what has one
 * status and gives it another:
 *
 *	copy	?  ->  +, or * for the rest of a read that failed
 *	trim	*  ->  single blocks from both ends up to the first bad one (-),
 *		       and / for what lies between
 *	scrape	/  ->  block by block, + or -
 *	retry	-  ->  the same, in changing direction
 *	fill	what is left is written over as fill= says, and stays what it is
 *
 * A read that failed is given up as far as one cluster, the rest is left for
 * later, in pieces of that size.  After an error the first copy pass leaves out
 * a part that grows with each error; the second comes back over what was left
 * out, from behind, and gives up each gap at its first error; the third leaves
 * out nothing.  All workers work on a pass together, and one that is stuck in a
 * slow read holds up none.
 *
 * The keeper saves the map: what it says is finished was flushed before.  An
 * error of an earlier write is told once, to whoever asks first, and the flush
 * after it succeeds.  So the first that fails at the target is the end of all
 * saving, and the file stays as it was.
 */
#include "rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "number.h"
#include "piece.h"
#include "safety.h"
#include "status.h"

enum how { COPY, TRIM, SCRAPE, FILL };

struct pass {
	const char	*text;
	enum seg_status	 from;
	enum how	 how;
	bool		 backwards, skip;
	char		 phase;		/* ddrescue's name for it */
	int		 number;
};

static const struct pass passes[] = {
	{ "Copying non-tried blocks... Pass 1 (forwards)", UNTRIED, COPY,
	    false, true, '?', 1 },
	{ "Copying non-tried blocks... Pass 2 (backwards)", UNTRIED, COPY,
	    true, true, '?', 2 },
	{ "Copying non-tried blocks... Pass 5 (forwards)", UNTRIED, COPY,
	    false, false, '?', 5 },
	{ "Trimming failed blocks... (forwards)", UNTRIMMED, TRIM, false,
	    false, '*', 1 },
	{ "Scraping failed blocks... (forwards)", UNSCRAPED, SCRAPE, false,
	    false, '/', 1 },
};

static const struct pass retries[] = {
	{ "Retrying bad sectors... (forwards)", BAD, SCRAPE, false, false,
	    '-', 1 },
	{ "Retrying bad sectors... (backwards)", BAD, SCRAPE, true, false,
	    '-', 2 },
};

static const struct pass fills[] = {
	{ "Filling what was not read", UNTRIED, FILL, false, false, 'F', 1 },
	{ "Filling what was not read", UNTRIMMED, FILL, false, false, 'F', 1 },
	{ "Filling what was not read", UNSCRAPED, FILL, false, false, 'F', 1 },
	{ "Filling what was not read", BAD, FILL, false, false, 'F', 1 },
};

static const struct pass over = { "Finished", FINISHED, COPY, false, false,
	'+', 1 };

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

enum { CLUSTER = 64 << 10 };	/* bytes given up to trimming for one error */

static const double slow_read = 1.0;	/* seconds; worth leaving the area */

/* Text from outside must not make lines of its own. */
static void
append_text(char *to, size_t room, const char *key, const char *value)
{
	size_t n = strlen(to);

	n += (size_t)snprintf(to + n, room - n, "%s%s=", n > 0 ? " " : "", key);
	for (; *value != '\0' && n + 5 < room; value++)
		n += (size_t)snprintf(to + n, room - n,
		    *value > ' ' && *value < 0x7f ? "%c" : "\\x%02X",
		    (unsigned char)*value);
}

static void
name_source(struct rescue *r, const struct plan *p)
{
	char text[32];
	struct disk d;

	r->source[0] = '\0';
	snprintf(text, sizeof(text), "%lld", (long long)p->src->size);
	append_text(r->source, sizeof(r->source), "size", text);
	snprintf(text, sizeof(text), "%u", p->src->block);
	append_text(r->source, sizeof(r->source), "block", text);
	if (!endpoint_disk(p->src, &d))
		return;
	append_text(r->source, sizeof(r->source), "serial", d.serial);
	append_text(r->source, sizeof(r->source), "wwn", d.wwn);
}

/* Put what the file says of the range of this copy into the map. */
static int
apply(struct job *job, const struct mapfile *m)
{
	uint64_t from = job->p->src_off, to = from + job->p->length, a, b;
	size_t i;

	for (i = 0; i < m->n; i++) {
		const struct seg *s = &m->seg[i];

		a = s->off > from ? s->off : from;
		b = s->off + s->len < to ? s->off + s->len : to;
		if (a < b && map_set(&job->map, a - from, b - a,
		    s->status) != 0)
			return ENOMEM;
	}
	return 0;
}

/* Take out of the map what the domain does not call finished. */
static int
limit(struct job *job, const struct mapfile *domain)
{
	uint64_t from = job->p->src_off, to = from + job->p->length, at = from;
	uint64_t a;
	size_t i;

	for (i = 0; i <= domain->n && at < to; i++) {
		const struct seg *s = &domain->seg[i];

		if (i < domain->n && s->status != FINISHED)
			continue;
		a = i == domain->n || s->off > to ? to : s->off;
		if (a > at && map_set(&job->map, at - from, a - at,
		    OUTSIDE) != 0)
			return ENOMEM;
		if (i < domain->n && s->off + s->len > at)
			at = s->off + s->len;
	}
	return 0;
}

static int
apply_domain(struct job *job, struct fault *f)
{
	const char *path = job->p->opts->domain;
	struct mapfile domain;
	int failed;

	if (path == NULL)
		return 0;
	failed = mapfile_load(&domain, path, f);
	if (failed == 0 && domain.n == 0)
		failed = fault_set(f, STATUS_REFUSED,
		    "%s does not exist, or says nothing", path);
	if (failed == 0 && limit(job, &domain) != 0)
		failed = fault_errno(f, ENOMEM, "%s", path);
	mapfile_free(&domain);
	return failed;
}

/* A mistyped map must not become a file among the devices either. */
static int
check_folder(const char *path, struct fault *f)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int dir, among;

	if (slash != NULL)
		snprintf(folder, sizeof(folder), "%.*s",
		    slash == path ? 1 : (int)(slash - path), path);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fault_errno(f, errno, "%s", path);
	among = among_devices(dir);
	close(dir);
	return !among ? 0 : fault_set(f, STATUS_REFUSED,
	    "%s: no file is created among the devices", path);
}

/* A map that knows more than there is, or of another disk, is another's. */
static int
check(const struct rescue *r, const struct job *job, struct fault *f)
{
	const struct plan *p = job->p;
	const char *path = p->opts->map;
	bool finished = false;
	uint64_t end = 0;
	size_t i;

	if (r->file.source != NULL && strcmp(r->file.source, r->source) != 0)
		return fault_set(f, STATUS_REFUSED, "%s is the map of another "
		    "source: %s; this one is: %s", path, r->file.source,
		    r->source);
	for (i = 0; i < r->file.n; i++)
		if (r->file.seg[i].status != UNTRIED) {
			end = r->file.seg[i].off + r->file.seg[i].len;
			finished |= r->file.seg[i].status == FINISHED;
		}
	if (end > (uint64_t)p->src->size)
		return fault_set(f, STATUS_REFUSED, "%s goes past the end of "
		    "%s: it is the map of another source", path,
		    p->src->name);
	if (finished && p->dst->absent)
		return fault_set(f, STATUS_REFUSED, "%s says that parts are "
		    "finished, but %s does not exist", path, p->dst->name);
	return 0;
}

/* Whether a file is the end; one that is to be created goes by its folder. */
static bool
is_end(const char *path, const struct endpoint *ep)
{
	const char *slash = strrchr(path, '/');
	const char *base = strrchr(ep->name, '/');
	size_t len = slash == NULL ? 1 : (size_t)(slash - path) + 1;
	char folder[PATH_MAX];
	struct stat a, b;

	if (!ep->absent)
		return ep->id.known && lstat(path, &a) == 0 &&
		    a.st_dev == ep->id.dev && a.st_ino == ep->id.ino;
	snprintf(folder, sizeof(folder), "%.*s", (int)len,
	    slash == NULL ? "." : path);
	return strcmp(slash == NULL ? path : slash + 1,
	    base == NULL ? ep->name : base + 1) == 0 &&
	    stat(folder, &a) == 0 && fstat(ep->dir, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Saving the map must not replace what is copied. */
static int
own_files(const struct plan *p, struct fault *f)
{
	static const char *const suffix[] = { "", ".tmp", ".bak" };
	const struct endpoint *ends[] = { p->src, p->dst };
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < 2 * COUNT(suffix); i++)
		if (snprintf(path, sizeof(path), "%s%s", p->opts->map,
		    suffix[i / 2]) < PATH_MAX && is_end(path, ends[i % 2]))
			return fault_set(f, STATUS_REFUSED, "%s is an end of "
			    "the copy: map= needs it for the map", path);
	return 0;
}

int
rescue_begin(struct rescue *r, struct job *job, struct fault *f)
{
	const struct plan *p = job->p;

	job->rescue = r;
	name_source(r, p);
	r->quit = eventfd(0, EFD_CLOEXEC);
	r->pass = &passes[0];
	r->start = job_clock();
	if (r->quit < 0)
		return fault_errno(f, errno, "eventfd");
	if (check_folder(p->opts->map, f) != 0 || own_files(p, f) != 0 ||
	    mapfile_load(&r->file, p->opts->map, f) != 0 ||
	    check(r, job, f) != 0)
		return -1;
	if (apply(job, &r->file) != 0)
		return fault_errno(f, ENOMEM, "%s", p->opts->map);
	if (apply_domain(job, f) != 0)
		return -1;
	return rescue_write(job, f);
}

void
rescue_free(struct rescue *r)
{
	if (r->quit >= 0)
		close(r->quit);
	mapfile_free(&r->file);
}

static int
add(struct mapfile *m, uint64_t off, uint64_t to, enum seg_status status)
{
	struct seg s = { off, to - off, status };

	return off < to ? mapfile_append(m, &s) : 0;
}

/* What the file said before, between two positions. */
static int
add_before(struct mapfile *m, const struct mapfile *old, uint64_t from,
    uint64_t to)
{
	uint64_t at = from, a, b;
	size_t i;

	for (i = 0; i < old->n && at < to; i++) {
		const struct seg *s = &old->seg[i];

		a = s->off > at ? s->off : at;
		b = s->off + s->len < to ? s->off + s->len : to;
		if (a >= b)
			continue;
		if (add(m, at, a, UNTRIED) != 0 ||
		    add(m, a, b, s->status) != 0)
			return ENOMEM;
		at = b;
	}
	return add(m, at, to, UNTRIED);
}

/* The whole map in the source's positions: before, within, behind the copy. */
static int
compose(struct job *job, const struct seg *seg, size_t n, struct mapfile *m)
{
	const struct mapfile *old = &job->rescue->file;
	uint64_t from = job->p->src_off, to = from + job->p->length;
	uint64_t end = (uint64_t)job->p->src->size;
	size_t i;

	if (add_before(m, old, 0, from) != 0)
		return ENOMEM;
	for (i = 0; i < n; i++) {
		uint64_t a = from + seg[i].off, b = a + seg[i].len;

		if ((seg[i].status == OUTSIDE ? add_before(m, old, a, b) :
		    add(m, a, b, seg[i].status)) != 0)
			return ENOMEM;
	}
	return add_before(m, old, to, end > to ? end : to);
}

static int
write_map(struct job *job, const struct seg *seg, size_t n, struct fault *f)
{
	struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;
	struct mapfile m = { .source = r->source, .phase = pass->phase,
		.pass = pass->from == BAD ? r->retry : pass->number,
		.pos = job->p->src_off };
	int failed;

	if (pass->backwards)		/* ddrescue goes on below it */
		m.pos += job->p->length;

	if (compose(job, seg, n, &m) != 0)
		failed = fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	else
		failed = mapfile_save(&m, job->p->opts->map, pass->text, f);
	m.source = NULL;
	mapfile_free(&m);
	return failed;
}

int
rescue_write(struct job *job, struct fault *f)
{
	struct seg *seg;
	size_t n = map_copy(&job->map, &seg);
	int failed;

	if (seg == NULL)
		return fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	failed = write_map(job, seg, n, f);
	free(seg);
	return failed;
}

static bool
has_failed(struct job *job)
{
	bool yes;

	pthread_mutex_lock(&job->first);
	yes = job->fault.status != 0;
	pthread_mutex_unlock(&job->first);
	return yes;
}

/* The next fault is not the target's, if it is the first. */
static void
excuse(struct job *job)
{
	if (!has_failed(job))
		job->rescue->excused = true;
}

/* A worker that fails at the target says so before it stops the copy. */
static bool
in_doubt(struct job *job)
{
	return job->rescue->doubt || (has_failed(job) && !job->rescue->excused);
}

/* The target is not to be trusted; told: *f is why. */
static int
doubt(struct job *job, bool told, struct fault *f)
{
	if (!told)
		fault_set(f, STATUS_NOT_FLUSHED, "%s failed before, and %s "
		    "was left as it was", job->p->dst->name,
		    job->p->opts->map);
	f->status = STATUS_NOT_FLUSHED;
	job->rescue->doubt = true;
	return -1;
}

int
rescue_save(struct job *job, struct fault *f)
{
	struct seg *seg;
	size_t n = map_copy(&job->map, &seg);
	bool unflushed;
	int err;

	if (seg == NULL)
		return fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	unflushed = !in_doubt(job) && endpoint_flush(job->p->dst, f) != 0;
	if (unflushed || in_doubt(job))
		err = doubt(job, unflushed, f);
	else
		err = write_map(job, seg, n, f);
	free(seg);
	return err;
}

/* Save every mapinterval= seconds, at once when the copy is being stopped. */
static void *
keep(void *arg)
{
	struct job *job = arg;
	struct pollfd p[2] = { { .fd = job->rescue->quit, .events = POLLIN },
		{ .fd = job->halt, .events = POLLIN } };
	int wait = (int)job->p->opts->mapinterval * 1000, n;
	struct fault f;

	for (;;) {
		n = poll(p, 2, wait);
		if (n < 0)
			continue;
		if (p[0].revents != 0)
			return NULL;
		if (n > 0)
			p[1].fd = -1;	/* stopped: once is enough */
		if (rescue_save(job, &f) != 0) {
			if (!job->rescue->doubt)
				excuse(job);
			job_fail(job, &f);
		}
	}
}

/* Whether the map as it was loaded had come past this pass. */
static bool
behind_us(const struct mapfile *m, const struct pass *pass)
{
	return m->phase == '?' && pass->phase == '?' &&
	    pass->number < m->pass;
}

static bool
wanted(const struct job *job, const struct pass *pass)
{
	unsigned words = job->p->opts->rescue;

	if (pass->how == TRIM && (words & RESCUE_NOTRIM) != 0)
		return false;
	if (pass->how == SCRAPE && pass->from == UNSCRAPED &&
	    (words & RESCUE_NOSCRAPE) != 0)
		return false;
	return !behind_us(&job->rescue->file, pass);
}

static bool
backwards(const struct job *job, const struct pass *pass)
{
	return pass->backwards !=
	    ((job->p->opts->rescue & RESCUE_REVERSE) != 0);
}

static size_t
cluster(const struct job *job)
{
	return job->p->chunk < CLUSTER ? job->p->chunk : CLUSTER;
}

static void
run_pass(struct job *job, const struct pass *pass,
    void (*start)(struct job *))
{
	struct seg any;

	if (job->stop || !map_next(&job->map, 0, pass->from, &any))
		return;
	job->rescue->pass = pass;
	map_pieces(&job->map, pass == &passes[0] ? job->p->chunk :
	    cluster(job));
	map_pass(&job->map, pass->from, backwards(job, pass));
	start(job);
}

void
rescue_run(struct job *job, void (*start)(struct job *))
{
	static const uint64_t one = 1;
	struct rescue *r = job->rescue;
	struct fault f;
	size_t i;
	int err = pthread_create(&r->keeper, NULL, keep, job);

	if (err != 0) {
		fault_errno(&f, err, "starting what saves the map");
		job_fail(job, &f);
	}
	for (i = 0; i < COUNT(passes); i++)
		if (wanted(job, &passes[i]))
			run_pass(job, &passes[i], start);
	for (i = 1; i <= (size_t)job->p->opts->retries && !job->stop; i++) {
		r->retry = (int)i;
		run_pass(job, &retries[(i - 1) % 2], start);
	}
	for (i = 0; job->p->opts->fill != NULL && i < COUNT(fills); i++)
		run_pass(job, &fills[i], start);
	if (!job->stop)
		r->pass = &over;
	while (write(r->quit, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	if (err == 0)
		pthread_join(r->keeper, NULL);
}

/* A source that has gone, or ends before its end, stops the copy. */
static void
fail_read(struct worker *w, const struct io *io)
{
	struct job *job = w->job;
	struct fault f;

	excuse(job);
	if (io->err != 0) {
		piece_fail_read(job, io);
		return;
	}
	fault_set(&f, STATUS_SHORT, "%s ends at byte %llu, before the end of "
	    "what was to be copied", job->p->src->name,
	    (unsigned long long)(io->off + io->done));
	job_fail(job, &f);
}

/* Write what was read, and note it; false ends the worker. */
static bool
keep_good(struct worker *w, uint64_t off, size_t len)
{
	if (len == 0)
		return true;
	if (!piece_write_end(w, off, len)) {
		w->job->rescue->doubt = true;
		return false;
	}
	w->job->read += len;
	return piece_settle(w, off, len, FINISHED);
}

/*
 * The part of a read before the block that the disk calls bad is likely good:
 * one more read spares the trim pass as many as there are blocks in it.
 */
static struct io
read_before(struct worker *w, uint64_t off, size_t len, struct io io)
{
	uint64_t bad = piece_hint(&io);
	uint64_t start = w->job->p->src_off + off;
	struct io again;

	bad -= bad % w->job->p->block;
	if (piece_hint(&io) == NOWHERE || bad <= start + io.done ||
	    bad >= start + len)
		return io;
	again = piece_read(w, off, 0, (size_t)(bad - start), true);
	if (again.done > io.done)
		io.done = again.done;
	return io;
}

static void
skip_area(struct job *job, const struct seg *seg)
{
	uint64_t least = (uint64_t)job->p->chunk, most = job->p->length / 100;

	if (!job->rescue->pass->skip)
		return;
	map_skip(&job->map, seg, least, most > least ? most : least);
}

static bool
copy_piece(struct worker *w, const struct seg *seg)
{
	struct job *job = w->job;
	size_t len = (size_t)seg->len, good, block = job->p->block;
	double start = job_clock();
	struct io io = piece_read(w, seg->off, 0, len, false);
	uint64_t end = job->p->src_off + seg->off;
	enum seg_status bad;

	if (io.err == 0 && io.done == len) {
		if (job_clock() - start > slow_read)
			skip_area(job, seg);
		else
			map_go_on(&job->map);
		return keep_good(w, seg->off, len);
	}
	if (!errno_is_medium(io.err)) {
		fail_read(w, &io);
		return false;
	}
	io = read_before(w, seg->off, len, io);
	good = io.done - (size_t)((end + io.done) % block);
	good = good > io.done ? 0 : good;	/* begins within a block */
	skip_area(job, seg);
	if (!keep_good(w, seg->off, good))
		return false;
	len -= good;
	bad = len <= block ? BAD : UNTRIMMED;
	if (len > cluster(job))
		len = cluster(job) - (size_t)((end + good) % cluster(job));
	return piece_settle(w, seg->off + good, len, bad);
}

/* The block at off, or as much of it as lies before end. */
static size_t
block_at(const struct worker *w, uint64_t off, uint64_t end)
{
	const struct plan *p = w->job->p;
	uint64_t n = p->block - (p->src_off + off) % p->block;

	return (size_t)(n < end - off ? n : end - off);
}

/* One block: 1 it is good, 0 it is bad, -1 the worker has to end. */
static int
try_block(struct worker *w, uint64_t off, size_t len)
{
	struct io io = piece_read(w, off, 0, len, true);

	if (io.err == 0 && io.done == len)
		return keep_good(w, off, len) ? 1 : -1;
	if (errno_is_medium(io.err))
		return piece_settle(w, off, len, BAD) ? 0 : -1;
	fail_read(w, &io);
	return -1;
}

/* Where the last block before "to" begins, or as much of it as from on. */
static uint64_t
last_block(const struct worker *w, uint64_t from, uint64_t to)
{
	uint64_t n = (w->job->p->src_off + to - 1) % w->job->p->block + 1;

	return n < to - from ? to - n : from;
}

/*
 * An end that adjoins a bad block has been trimmed before.  With both ends
 * trimmed the rest is to be scraped, even if the copy is being stopped: in a
 * map where it is not, ddrescue would forget to scrape it.
 */
static bool
trim_piece(struct worker *w, const struct seg *seg)
{
	struct map *map = &w->job->map;
	uint64_t from = seg->off, to = seg->off + seg->len, last;
	int front = from > 0 && map_at(map, from - 1) == BAD ? 0 : 1, back;
	size_t n;

	while (front == 1 && from < to && !w->job->stop) {
		n = block_at(w, from, to);
		front = try_block(w, from, n);
		from += n;
	}
	back = map_at(map, to) == BAD ? 0 : 1;
	while (front == 0 && back == 1 && from < to && !w->job->stop) {
		last = last_block(w, from, to);
		back = try_block(w, last, (size_t)(to - last));
		to = last;
	}
	if (front < 0 || back < 0)
		return false;
	if (from >= to)
		return true;
	return front == 0 && back == 0 &&
	    piece_settle(w, from, to - from, UNSCRAPED);
}

/* Block by block; a retry that goes backwards does so within the piece. */
static bool
scrape_piece(struct worker *w, const struct seg *seg)
{
	const struct pass *pass = w->job->rescue->pass;
	bool down = pass->from == BAD && backwards(w->job, pass);
	uint64_t from = seg->off, to = seg->off + seg->len, at;
	size_t n;

	while (from < to && !w->job->stop) {
		at = down ? last_block(w, from, to) : from;
		n = down ? (size_t)(to - at) : block_at(w, from, to);
		if (try_block(w, at, n) < 0)
			return false;
		if (down)
			to = at;
		else
			from += n;
	}
	return from >= to;
}

/* Write fill= over a piece; where the text begins depends on the place only. */
static bool
fill_piece(struct worker *w, const struct seg *seg)
{
	const char *text = w->job->p->opts->fill;
	size_t len = (size_t)seg->len, n = strlen(text), i;

	if (strcmp(text, "zero") == 0)
		memset(w->buf, 0, len);
	else
		for (i = 0; i < len; i++)
			w->buf[i] = (unsigned char)text[(seg->off + i) % n];
	if (piece_write_end(w, seg->off, len))
		return true;
	w->job->rescue->doubt = true;
	return false;
}

/* maxerrors= and maxtime=: enough is enough. */
static bool
given_up(struct job *job)
{
	const struct opts *o = job->p->opts;
	struct fault f = { .status = 0 };

	if (o->maxtime >= 0 &&
	    job_clock() - job->rescue->start > (double)o->maxtime)
		fault_set(&f, STATUS_UNREADABLE, "stopped after maxtime=%lld "
		    "seconds", (long long)o->maxtime);
	else if (o->maxerrors >= 0 && map_totals(&job->map).bad_ranges >
	    (uint64_t)o->maxerrors)
		fault_set(&f, STATUS_UNREADABLE, "given up: more than "
		    "maxerrors=%lld bad ranges", (long long)o->maxerrors);
	if (f.status != 0) {
		excuse(job);
		job_fail(job, &f);
	}
	return f.status != 0;
}

bool
rescue_piece(struct worker *w)
{
	struct job *job = w->job;
	const struct pass *pass = job->rescue->pass;
	struct fault f;
	struct seg seg;
	int claimed;
	bool more = false;

	if (job->stop || given_up(job))
		return false;
	claimed = pass->how == TRIM ? map_claim_all(&job->map, &seg) :
	    map_claim(&job->map, &seg);
	if (claimed < 0) {
		fault_errno(&f, ENOMEM, "the map of the copy");
		job_fail(job, &f);
	}
	if (claimed <= 0)
		return false;
	switch (pass->how) {
	case COPY:
		more = copy_piece(w, &seg);
		break;
	case TRIM:
		more = trim_piece(w, &seg);
		break;
	case SCRAPE:
		more = scrape_piece(w, &seg);
		break;
	case FILL:
		more = fill_piece(w, &seg);
		break;
	}
	/* What was not come to is as it was. */
	return piece_settle(w, seg.off, seg.len, pass->from) && more;
}
