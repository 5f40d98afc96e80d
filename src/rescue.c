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
 * What saves the map meanwhile is in keeper.c.
 */
#include "rescue.h"

#include <errno.h>
#include <string.h>

#include "keeper.h"
#include "piece.h"
#include "pulse.h"
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

int
rescue_begin(struct rescue *r, struct job *job, struct fault *f)
{
	job->rescue = r;
	r->pass = &passes[0];
	r->start = job_clock() - job->before.seconds;
	pulse_begin(&r->pulse);
	return keeper_begin(&r->keeper, job, f);
}

void
rescue_free(struct rescue *r)
{
	pulse_end(&r->pulse);
	keeper_free(&r->keeper);
}

const char *
rescue_where(const struct job *job, struct mapfile *m)
{
	const struct pass *pass = job->rescue->pass;

	m->phase = pass->phase;
	m->pass = pass->from == BAD ? job->rescue->retry : pass->number;
	m->pos = job->p->src_off;
	if (pass->backwards)		/* ddrescue goes on below it */
		m->pos += job->p->length;
	return pass->text;
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
	return !behind_us(&job->rescue->keeper.file, pass);
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
	map_pieces(&job->map, rate_piece(&job->rate, job->p,
	    pass == &passes[0] ? job->p->chunk : cluster(job)));
	map_pass(&job->map, pass->from, backwards(job, pass));
	start(job);
}

void
rescue_run(struct job *job, void (*start)(struct job *))
{
	struct rescue *r = job->rescue;
	size_t i;

	keeper_start(job);
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
	pulse_forgive(job);
	keeper_stop(job);
}

static struct io
read_source(struct worker *w, uint64_t off, size_t len, bool careful)
{
	size_t mark = pulse_mark(w);
	struct io io = piece_read(w, off, 0, len, careful);

	pulse_feel(w, &io, off, w->job->rescue->pass->from, mark);
	return io;
}

/* A source that has gone, or ends before its end, stops the copy. */
static void
fail_read(struct worker *w, const struct io *io)
{
	struct job *job = w->job;
	struct fault f;

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
	if (!piece_write_end(w, off, len))
		return false;
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
	again = read_source(w, off, (size_t)(bad - start), true);
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
	struct io io = read_source(w, seg->off, len, false);
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
	struct io io = read_source(w, off, len, true);

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
	return piece_write_end(w, seg->off, len);
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
	if (f.status != 0)
		job_fail(job, &f);
	return f.status != 0;
}

static bool
run_piece(struct worker *w, enum how how, const struct seg *seg)
{
	switch (how) {
	case COPY:
		return copy_piece(w, seg);
	case TRIM:
		return trim_piece(w, seg);
	case SCRAPE:
		return scrape_piece(w, seg);
	case FILL:
		return fill_piece(w, seg);
	}
	return false;
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
	if (rate_wait(&job->rate, pass->how == TRIM ? job->p->block : seg.len,
	    job->halt))
		more = run_piece(w, pass->how, &seg);
	/* What was not come to is as it was. */
	return piece_settle(w, seg.off, seg.len, pass->from) && more;
}
