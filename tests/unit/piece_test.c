/*
 * The copy, piece by piece: unreadable blocks and holes, a disk that names bad
 * blocks correctly or wrongly, and a run that is stopped.
 */
#define POOR_OF_ALL
#include "test.h"

#include <sys/eventfd.h>

#include "copy/job.h"
#include "copy/piece.h"
#include "copy/ranges.h"
#include "copy/sparse.h"
#include "copy/transfer.h"
#include "digest/digest_table.h"
#include "poor.h"
#include "tabled.h"

#define CHUNK	(64 * SECTOR)

enum { LENGTH = 512 * SECTOR };

enum act { NOTHING_HAPPENS, STOP, GO, SHORT, CANCEL };

static struct tabled disk, target;
static struct opts o;
static struct plan p;
static struct job job;
static unsigned char from[LENGTH], to[LENGTH];

static struct {
	unsigned char bad[LENGTH / SECTOR];	/* reads of it fail so often */
	uint64_t hint;		/* what the disk names; 0: the first bad one, */
	bool	 silent;	/* or none */
	unsigned n, at;		/* reads; with this one, from 1, */
	enum act act;		/* ... this happens */
	unsigned writes, full;	/* likewise; this one fails, from 1 */
	int	 zero_err;	/* of OP_ZERO */
	unsigned zeros, no_zero;	/* the one from which it fails so */
	unsigned ragged;	/* of them, within a page */
	uint64_t data, hole;	/* from data to hole there is data, then */
	int	 extent_err;	/* ... none; or nobody knows why */
	bool	 empty;		/* the target has no data */
} end;

static void
read_it(struct io *io)
{
	uint64_t i, first = io->off / SECTOR;
	uint64_t last = (io->off + io->len - 1) / SECTOR;

	io->bad_off = NOWHERE;
	io->done = 0;
	end.n++;
	if (end.n == end.at && end.act == STOP)
		job.stop = true;
	else if (end.n == end.at && end.act == GO)
		io->err = ENXIO;
	else if (end.n == end.at && end.act == CANCEL)
		io->err = ECANCELED;
	else if (end.n == end.at && end.act == SHORT)
		memcpy(io->buf, from + io->off, io->done = io->len / 2);
	if (io->err != 0 || io->done > 0)
		return;
	for (i = first; i <= last && i < LENGTH / SECTOR; i++)
		if (end.bad[i] > 0) {
			if (end.bad[i] < 255)
				end.bad[i]--;
			io->err = EIO;
			io->bad_off = end.silent ? NOWHERE : end.hint != 0 ?
			    end.hint : i * SECTOR;
			return;
		}
	memcpy(io->buf, from + io->off, io->len);
	io->done = io->len;
}

static void
transfer(struct lane *lane, struct io *io)
{
	io->err = 0;
	if (io->op == OP_READ) {
		read_it(io);
		return;
	}
	io->done = 0;
	if (io->op == OP_ZERO) {
		io->err = ++end.zeros >= end.no_zero ? end.zero_err : 0;
		end.ragged += io->off % p.grain != 0 || (io->off + io->len !=
		    LENGTH && io->len % p.grain != 0);
	} else if (++end.writes == end.full) {
		io->err = ENOSPC;
	}
	if (io->err != 0)
		return;
	if (io->op == OP_ZERO)
		memset(to + io->off, 0, io->len);
	else
		memcpy(to + io->off, io->buf, io->len);
	io->done = io->len;
}

static int
extent(const struct endpoint *ep, uint64_t off, bool changed,
    struct extent *x)
{
	if (ep == &target.ep) {
		*x = (struct extent){ off, LENGTH - off, end.empty };
		return end.extent_err;
	}
	*x = off < end.data ? (struct extent){ off, end.data - off, true } :
	    off < end.hole ? (struct extent){ off, end.hole - off, false } :
	    (struct extent){ off, LENGTH - off, true };
	return 0;
}

static const struct backend ends = { .transfer = transfer, .extent = extent };

static int
set_up(void **state)
{
	size_t i;

	memset(&end, 0, sizeof(end));
	for (i = 0; i < LENGTH; i++)
		from[i] = (unsigned char)(i % SECTOR == 0 ?
		    201 + i / SECTOR / 200 : 1 + i / SECTOR % 200);
	begin_disk(&disk, "disk", &ends, SECTOR, LENGTH / SECTOR);
	begin_disk(&target, "target", &ends, SECTOR, LENGTH / SECTOR);
	o = (struct opts){ .retries = 0, .mends = -1 };
	p = (struct plan){ .opts = &o, .src = &disk.ep, .dst = &target.ep,
		.length = LENGTH, .bounded = true, .chunk = CHUNK,
		.room = CHUNK, .bs = SECTOR, .pad = 1, .grain = 4096,
		.sector = SECTOR, .block = SECTOR, .workers = 1,
		.truncate = -1 };
	return 0;
}

static int
tear_down(void **state)
{
	end_disk(&disk);
	end_disk(&target);
	return 0;
}

EACH(set_up, tear_down)

static struct worker *
begin(void)
{
	struct worker *w = &job.worker[0];

	memset(&job, 0, sizeof(job));
	memset(to, 0xff, sizeof(to));
	end.n = end.writes = end.zeros = 0;
	job.p = &p;
	job.workers = 1;
	job.halt = eventfd(1, EFD_CLOEXEC);	/* nobody waits */
	job.gone_at = NOWHERE;
	pthread_mutex_init(&job.first, NULL);
	pthread_mutex_init(&job.order, NULL);
	assert_int_equal(map_init(&job.map, LENGTH, CHUNK, 0), 0);
	map_pass(&job.map, UNTRIED);
	assert_int_equal(junk_begin(&job.junk, true), 0);
	*w = (struct worker){ .job = &job, .buf = aligned_alloc(4096, p.room) };
	assert_int_equal(lane_attach(&w->src, p.src, 0, -1), 0);
	assert_int_equal(lane_attach(&w->dst, p.dst, 0, -1), 0);
	return w;
}

/* What is called finished is there, and what is bad is zeros. */
static void
finish(void)
{
	enum seg_status s;
	uint64_t i;

	for (i = 0; i < LENGTH; i += SECTOR) {
		s = map_at(&job.map, i);
		if (s == FINISHED)
			assert_memory_equal(to + i, from + i, SECTOR);
		else if (s == BAD)
			assert_true(all_zero(to + i, SECTOR) ||
			    job.fault.status != 0);
		else
			assert_int_equal(s, UNTRIED);
	}
	free(job.worker[0].buf);
	junk_end(&job.junk);
	map_free(&job.map);
	pthread_mutex_destroy(&job.first);
	pthread_mutex_destroy(&job.order);
	close(job.halt);
}

static void
copy(void)
{
	struct worker *w = begin();

	while (piece_copy(w))
		continue;
}

static void
lose(unsigned sector, unsigned n, unsigned times)
{
	memset(end.bad + sector, (int)times, n);
}

CASE(is_lost_block_by_block)
{
	/* a block that is good, one that is not in the piece, one before it */
	static const uint64_t hints[] = { 0, 0, 50, 400, 1 };
	unsigned how;

	for (how = 0; how < 10; how++) {
		memset(end.bad, 0, sizeof(end.bad));
		lose(3, 1, 255);
		lose(100, 5, 255);
		lose(511, 1, 255);
		p.block = how < 5 ? SECTOR : 8 * SECTOR;
		end.silent = how % 5 == 1;
		end.hint = hints[how % 5] * SECTOR;
		o.coe = 1;
		copy();
		assert_int_equal(job.fault.status, 0);
		assert_int_equal(map_totals(&job.map).bad, (how < 5 ? 7 :
		    32) * SECTOR);
		finish();
		o.coe = 0;
		copy();
		assert_int_equal(job.fault.status, STATUS_MEDIUM);
		assert_int_equal(map_totals(&job.map).finished, (how < 5 ? 3 :
		    0) * SECTOR);
		finish();
	}
}

/* Reads grow again behind a block that is lost, as far as they may. */
CASE(is_read_in_few_parts_beside_a_bad_block)
{
	lose(3, 1, 255);
	end.silent = true;
	o.coe = 1;
	copy();
	assert_int_equal(map_totals(&job.map).bad, SECTOR);
	assert_int_equal(end.n, LENGTH / CHUNK + 20);
	finish();
	/* the first one of a piece, which the disk names */
	lose(3, 1, 0);
	lose(0, 1, 255);
	end.silent = false;
	copy();
	assert_int_equal(map_totals(&job.map).bad, SECTOR);
	assert_int_equal(end.n, LENGTH / CHUNK + 5);
	finish();
}

/* retries= is for single blocks, and not for a run that ends. */
CASE(is_tried_again)
{
	lose(70, 1, 8);
	disk.ep.spec.retries = 10;
	copy();
	assert_int_equal(job.fault.status, 0);
	assert_int_equal(map_totals(&job.map).finished, LENGTH);
	finish();
	lose(70, 1, 255);
	o.coe = 1;
	disk.ep.spec.retries = 200;
	end.at = 30;
	end.act = STOP;
	copy();
	assert_true(end.n < 40);
	finish();
}

/* So is a write, which has failed here once. */
CASE(is_written_again)
{
	struct io io;
	int stopped;

	target.ep.spec.retries = 5;
	for (stopped = 0; stopped < 2; stopped++) {
		struct worker *w = begin();

		job.stop = stopped == 1;
		io = (struct io){ .op = OP_WRITE, .buf = from, .len = SECTOR,
			.err = EIO };
		assert_true(transfer_wrote(w, &io) == (stopped == 0));
		assert_int_equal(end.writes, stopped == 0);
		assert_int_equal(job.written, stopped == 0 ? SECTOR : 0);
		assert_true(job.doubt == (stopped == 1));
		finish();
	}
}

CASE(is_as_it_was_when_the_run_ends)
{
	static const enum act acts[] = { STOP, GO, SHORT };
	unsigned at, coe;
	size_t k;

	for (k = 0; k < 3; k++)
		for (at = 1; at < 40; at++)
			for (coe = 0; coe < 2; coe++) {
				memset(end.bad, 0, sizeof(end.bad));
				lose(3, 1, 255);
				lose(100, 5, 255);
				o.coe = coe;
				end.silent = at % 2 == 0;
				end.at = at;
				end.act = acts[k];
				copy();
				if (end.n >= at && acts[k] == GO)
					assert_int_not_equal(job.fault.status,
					    0);
				finish();
			}
	end.at = 0;
	o.coe = 1;
	for (at = 1; at < 12; at++) {
		end.full = at;
		copy();
		assert_true((job.fault.status != 0) == (end.writes >= at));
		finish();
	}
}

/* Behind what was not written, nothing is written in order any more. */
CASE(ends_in_order)
{
	unsigned cut;

	target.ep.is.streamed = true;
	target.ep.geo.io_align = 1;
	for (cut = 0; cut < 2; cut++) {
		struct worker *w = begin();

		turn_init(&job.turn);
		end.full = cut == 0 ? 2 : 0;
		end.bad[CHUNK / SECTOR + 3] = cut == 0 ? 0 : 255;
		assert_true(piece_copy(w));
		assert_true(turn_wait(&job.turn, CHUNK));
		assert_false(piece_copy(w));
		assert_int_not_equal(job.fault.status, 0);
		assert_false(turn_wait(&job.turn, cut == 0 ? 2 * CHUNK : CHUNK +
		    3 * SECTOR));
		turn_destroy(&job.turn);
		finish();
	}
}

/* A digest that could not be noted is not passed over in silence. */
CASE(has_its_digests)
{
	struct digest_table digests;
	struct ranges ranges = { .notes = true };
	struct worker *w;
	struct check c;

	assert_int_equal(digest_table_init(&digests, 0, SECTOR, 0, NULL), 0);
	assert_int_equal(digest_table_init(&ranges.noted, LENGTH, CHUNK, 0,
	    NULL), 0);
	w = begin();
	job.digests = &digests;
	p.ranges = &ranges;
	memcpy(w->buf, from, CHUNK);
	assert_true(piece_note(w, 0, CHUNK));
	assert_true(digest_table_at(&ranges.noted, 0, &c));
	assert_int_equal(c.state, CHECK_COPIED);
	assert_false(piece_note(w, (uint64_t)CHECKS_MOST * SECTOR, SECTOR));
	assert_non_null(strstr(job.fault.text, "a larger bpt= makes fewer"));
	finish();
	p.ranges = NULL;
	digest_table_free(&digests);
	digest_table_free(&ranges.noted);
}

CASE(is_whole_or_memory_is_short)
{
	unsigned i;

	lose(3, 1, 255);
	lose(100, 5, 255);
	o.coe = 1;
	for (i = 0; i == 0 || poor_was(); i++) {
		struct worker *w = begin();

		poor_after(i);
		while (piece_copy(w))
			continue;
		poor.on = false;
		if (poor.refused)
			assert_int_equal(job.fault.status, 50 + ENOMEM);
		finish();
	}
}

/* ------------------------------------------------------------------- holes */

CASE(has_holes)
{
	static const int errs[] = { 0, EOPNOTSUPP, EIO };
	unsigned device, i, k, empty;

	p.holes = true;
	end.data = 128 * SECTOR;
	end.hole = 256 * SECTOR;
	memset(from, 0, end.data);
	memset(from + end.hole, 0, LENGTH - end.hole);
	for (device = 0; device < 2; device++)
		for (i = 0; i < 3; i++)
			for (k = 1; k < 4; k++)
				for (empty = 0; empty < 3; empty++) {
					disk.ep.is.device = device == 1;
					target.ep.is.device = device == 1;
					target.ep.is.zeroes = true;
					end.zero_err = errs[i];
					end.no_zero = k;
					end.empty = empty == 1;
					end.extent_err = empty == 2 ? ENXIO : 0;
					copy();
					if (job.fault.status == 0)
						assert_int_equal(map_totals(
						    &job.map).finished, LENGTH);
					else
						assert_int_equal(errs[i], EIO);
					finish();
				}
}

/* No page of the target is both made zeros and written. */
CASE(has_zeros_of_whole_pages)
{
	p.holes = true;
	target.ep.is.zeroes = true;
	end.data = 133 * SECTOR;
	end.hole = 257 * SECTOR;
	memset(from, 0, end.data);
	memset(from + end.hole, 0, LENGTH - end.hole);
	copy();
	assert_int_equal(map_totals(&job.map).finished, LENGTH);
	assert_true(end.zeros >= 2);
	assert_int_equal(end.ragged, 0);
	finish();
}

/* Each end of a run, in holes too. */
CASE(has_holes_when_the_run_ends)
{
	unsigned at, device;

	p.holes = true;
	end.data = 128 * SECTOR;
	end.hole = 256 * SECTOR;
	memset(from, 0, end.data);
	memset(from + end.hole, 0, LENGTH - end.hole);
	for (device = 0; device < 2; device++) {
		disk.ep.is.device = target.ep.is.device = device == 1;
		end.zero_err = EOPNOTSUPP;
		end.no_zero = 1;
		for (at = 1; at < 10; at++) {
			end.full = at;
			copy();
			assert_true((job.fault.status != 0) ==
			    (end.writes >= at));
			finish();
		}
		end.full = 0;
		for (at = 0; at == 0 || poor_was(); at++) {
			struct worker *w = begin();

			poor_after(at);
			while (piece_copy(w))
				continue;
			poor.on = false;
			finish();
		}
		/* slower than anybody waits for */
		begin();
		rate_set(&job.rate, 1);
		while (piece_copy(&job.worker[0]))
			continue;
		assert_true(map_totals(&job.map).finished < LENGTH);
		finish();
	}
}

/* What is left out of the copy is made zeros at the end. */
CASE(is_cleared)
{
	static const int errs[] = { 0, EOPNOTSUPP, EIO };
	struct worker *w;
	unsigned i, k;

	for (i = 0; i < 3; i++)
		for (k = 0; k < 5; k++) {
			target.ep.is.device = k % 2 == 1;
			target.ep.is.zeroes = true;
			end.zero_err = errs[i];
			end.no_zero = 2;
			end.full = k == 4 ? 1 : 0;
			w = begin();
			assert_int_equal(map_set(&job.map, CHUNK, 4 * CHUNK,
			    OUTSIDE), 0);
			map_pass(&job.map, OUTSIDE);
			job.stop = k == 2;
			if (k == 3)
				rate_set(&job.rate, 1);
			while (sparse_clear(w))
				continue;
			if (k < 2 && errs[i] != EIO)
				assert_true(all_zero(to + CHUNK, 4 * CHUNK));
			if (k == 2)
				assert_int_equal(end.zeros, 0);
			assert_int_equal(map_totals(&job.map).outside,
			    4 * CHUNK);
			assert_int_equal(to[CHUNK - 1], 0xff);
			assert_int_equal(to[5 * CHUNK], 0xff);
			map_set(&job.map, CHUNK, 4 * CHUNK, UNTRIED);
			finish();
		}
	/* at once where a file has nothing, by steps where it has */
	target.ep.is.device = false;
	end.full = 0;
	end.zero_err = 0;
	for (k = 0; k < 4; k++) {
		end.empty = k == 1;
		end.extent_err = k == 2 ? ENXIO : k == 3 ? EIO : 0;
		w = begin();
		w->zeros = CHUNK;
		assert_int_equal(map_set(&job.map, CHUNK, 4 * CHUNK, OUTSIDE),
		    0);
		map_pass(&job.map, OUTSIDE);
		while (sparse_clear(w))
			continue;
		assert_true((end.zeros == 1) == (k == 1 || k == 2));
		assert_true(all_zero(to + CHUNK, 4 * CHUNK));
		map_set(&job.map, CHUNK, 4 * CHUNK, UNTRIED);
		finish();
	}
	for (i = 0; i == 0 || poor_was(); i++) {
		w = begin();
		assert_int_equal(map_set(&job.map, CHUNK, 4 * CHUNK, OUTSIDE),
		    0);
		map_pass(&job.map, OUTSIDE);
		poor_after(i);
		while (sparse_clear(w))
			continue;
		poor.on = false;
		map_set(&job.map, CHUNK, 4 * CHUNK, UNTRIED);
		finish();
	}
}

/* conv=sparse: what was read as zeros is made so, or written. */
CASE(is_sparse)
{
	static const int errs[] = { 0, EOPNOTSUPP, EIO };
	unsigned i, device;

	memset(from + 20 * SECTOR, 0, 30 * SECTOR);
	memset(from + 128 * SECTOR, 0, 130 * SECTOR);
	p.store = STORE_SPARSE;
	for (device = 0; device < 2; device++)
		for (i = 0; i < 3; i++) {
			target.ep.is.device = device == 1;
			target.ep.is.zeroes = true;
			end.zero_err = errs[i];
			end.no_zero = 1;
			copy();
			if (errs[i] != EIO)
				assert_int_equal(map_totals(&job.map).finished,
				    LENGTH);
			finish();
		}
}

/* One read; returns the errno that came of it, or 0. */
static int
read_at(struct worker *w, uint64_t off, size_t len)
{
	struct io io = { .op = OP_READ, .buf = w->buf, .off = off, .len = len };

	lane_transfer(&w->src, &io);
	assert_true(junk_feel(w, &io, UNTRIED) == (io.err == 0 ||
	    io.err == EIO));
	if (io.err == ENODEV)
		assert_string_equal(io.why,
		    "zeros, as there are now where it had something else");
	else
		assert_string_equal(io.why, "");
	return io.err;
}

/* After a good read and an error, the source answers zeros. */
static struct worker *
begin_junk(void)
{
	struct worker *w = begin();

	memset(from, 0, CHUNK);
	from[CHUNK - 1] = 5;
	assert_int_equal(read_at(w, 0, CHUNK), 0);
	lose(3, 1, 1);
	assert_int_equal(read_at(w, 0, CHUNK), EIO);
	memset(from, 0, CHUNK);
	return w;
}

CASE(is_junk_by_the_end_of_what_was_read_before)
{
	assert_int_equal(read_at(begin_junk(), 0, CHUNK), ENODEV);
	finish();
}

CASE(is_not_confirmed_by_a_source_that_is_gone)
{
	struct worker *w = begin_junk();

	end.at = end.n + 2;
	end.act = GO;
	assert_int_equal(read_at(w, 0, CHUNK), ENXIO);
	finish();
}

CASE(is_held_while_nothing_confirms_it)
{
	struct worker *w = begin_junk();
	struct io io = { .op = OP_READ };

	lose(CHUNK / SECTOR - 1, 1, 255);
	assert_int_equal(read_at(w, 0, CHUNK / 2), 0);
	assert_true(junk_held(&job));
	assert_false(junk_last(w, &io));
	assert_int_equal(io.err, ENODEV);
	assert_string_equal(io.why,
	    "no answer any longer, even for what could be read before");
	lose(CHUNK / SECTOR - 1, 1, 0);
	from[CHUNK - 1] = 5;
	assert_true(junk_last(w, &io));
	assert_false(junk_held(&job));
	job.junk.due = true;
	poor_after(0);
	io.err = read_at(w, 0, CHUNK / 2);
	assert_true(!poor_was() || io.err == ENOMEM);
	finish();
}

CASE(is_not_gone_when_the_run_is_being_stopped)
{
	struct worker *w = begin_junk();
	struct io io = { .op = OP_READ };

	lose(CHUNK / SECTOR - 1, 1, 255);
	assert_int_equal(read_at(w, 0, CHUNK / 2), 0);
	end.at = end.n + 1;
	end.act = CANCEL;
	job.stop = true;
	assert_false(junk_last(w, &io));
	assert_int_equal(io.err, ECANCELED);
	assert_true(junk_held(&job));
	finish();
}

/* A read brings the last block of one that began before, and ends before it. */
CASE(is_held_with_what_repeats_it)
{
	struct worker *w = begin();

	assert_int_equal(read_at(w, 0, CHUNK), 0);
	memcpy(from + (size_t)2 * CHUNK, from + (size_t)2 * CHUNK - SECTOR,
	    SECTOR);
	assert_int_equal(read_at(w, (uint64_t)2 * CHUNK, SECTOR), 0);
	assert_int_equal(read_at(w, CHUNK, CHUNK), 0);
	lose(3, 1, 1);
	assert_int_equal(read_at(w, 0, CHUNK), EIO);
	assert_true(junk_doubts(&job, (uint64_t)2 * CHUNK, SECTOR));
	assert_true(junk_doubts(&job, CHUNK, CHUNK));
	assert_false(junk_doubts(&job, 0, CHUNK));
	finish();
}

/* The blocks that were read first all go bad: later ones are known, too. */
CASE(is_confirmed_by_what_was_read_later)
{
	struct worker *w = begin();
	struct io io = { .op = OP_READ };
	uint64_t off;

	for (off = 0; off < LENGTH / 2; off += CHUNK / 8)
		assert_int_equal(read_at(w, off, CHUNK / 8), 0);
	lose(0, LENGTH / SECTOR / 8, 255);
	assert_int_equal(read_at(w, 0, CHUNK), EIO);
	memset(from + LENGTH / 2, 0, CHUNK);
	assert_int_equal(read_at(w, LENGTH / 2, CHUNK), 0);
	assert_true(junk_last(w, &io));
	assert_false(junk_held(&job));
	finish();
}
