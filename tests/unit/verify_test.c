/*
 * Reading a copy back, from ends in memory: what is right, what differs, what
 * is mended, and what stops it.
 */
#include "test.h"

#include "digest/hash.h"
#include "open/tee.h"
#include "memory_end.h"
#include "poor.h"
#include "verify/verify.h"

#define CHUNK	((size_t)4096)
#define BLOCK	((size_t)512)

enum { SIZE = 3 * CHUNK };

static struct memory_end src, dst;
static struct opts o;
static struct plan p;
static struct job job;
static int flush_error;

static int
flush(struct endpoint *ep, struct fault *f)
{
	return flush_error == 0 ? 0 : fault_errno(f, flush_error, "%s",
	    ep->name);
}

static const struct backend flushed = { .transfer = memory_transfer,
	.flush = flush };

/* A source of three chunks, which were copied. */
static void
make(void)
{
	memory_make(&src, "S", SIZE);
	memory_make(&dst, "D", SIZE);
	dst.ep.be = &flushed;
	dst.ep.geo.block = dst.ep.geo.io_align = BLOCK;
	flush_error = 0;
	o = (struct opts){ .mends = 0 };
	p = (struct plan){ .opts = &o, .verify = VERIFY_AFTER, .src = &src.ep, .dst = &dst.ep,
		.targets = 1, .length = SIZE, .bounded = true, .chunk = CHUNK,
		.claim = CHUNK, .bs = BLOCK, .block = BLOCK, .sector = BLOCK,
		.pad = 1, .grain = BLOCK, .workers = 1, .other = MEMORY_ROOM, .reads_back = true };
}

static int
begin(void **state)
{
	make();
	return 0;
}

EACH(begin, NULL)

/* The copy: what the map says of each block of 512 bytes by then. */
static void
copied(void)
{
	struct fault f;
	uint64_t at;

	memory_job(&job, &p);
	job.back = dst.ep;
	job.back.is.back = true;
	job.reads_back = true;
	assert_int_equal(verify_begin(&job, &f), 0);
	for (at = 0; at < SIZE; at += CHUNK)
		assert_int_equal(digest_table_note(job.digests, at,
		    src.data + at, CHUNK), 0);
	assert_int_equal(map_set(&job.map, 0, SIZE, FINISHED), 0);
}

static void
done(void)
{
	verify_free(job.verify);
	memory_job_end(&job);
}

/* Checked, with so many bytes right, and so many that differ in ranges. */
static void
finds(uint64_t right, uint64_t differ, uint64_t ranges)
{
	struct map_totals t = map_totals(&job.verify->target[0].differ);

	if (job.fault.status != 0)
		fail_msg("%s", job.fault.text);
	assert_true(job.verify->done);
	assert_int_equal(verify_right(&job), right);
	assert_int_equal(verify_differing(&job), differ);
	assert_int_equal(t.bad_ranges, ranges);
}

CASE(finds_what_differs)
{
	copied();
	verify_run(&job);
	finds(SIZE, 0, 0);
	assert_true(job.verify->target[0].first == NOWHERE);
	done();
	copied();
	dst.data[CHUNK + 600]++;
	dst.data[SIZE - 1]++;
	verify_run(&job);
	finds(CHUNK, 2 * BLOCK, 2);
	assert_int_equal(job.verify->target[0].first, CHUNK + BLOCK);
	assert_int_equal(job.verify->read, SIZE);
	done();
}

/* From a source that cannot be read again, all of a chunk differs. */
CASE(narrows_nothing_down_where_it_cannot)
{
	struct seg s;
	int i;

	for (i = 0; i < 6; i++) {
		make();
		dst.data[CHUNK + 600]++;
		src.ep.is.streamed = i == 0;
		src.ep.spec.flags = i == 1 ? FLAG_RANDOM : 0;
		if (i == 2)
			memory_fails(&src, CHUNK + 10, CHUNK + 11, EIO);
		src.size = i == 3 ? CHUNK + 100 : SIZE;
		copied();
		if (i == 4)		/* it has changed since */
			memcpy(src.data, dst.data, SIZE);
		if (i == 5)		/* there are too many ranges */
			for (s.off = 0; s.off <= 1 << 16; s.off++)
				assert_int_equal(map_set(&job.verify->target[0].differ,
				    SIZE + 2 * s.off, 1, BAD), 0);
		verify_run(&job);
		assert_true(job.verify->done);
		assert_true(map_next(&job.verify->target[0].differ, 0, BAD, &s));
		assert_int_equal(s.off, CHUNK);
		assert_int_equal(s.len, CHUNK);
		done();
	}
}

/* What was lost is zeros in the copy, and what was left out does not count. */
CASE(knows_what_is_not_of_the_source)
{
	copied();
	memset(dst.data, 0, 2 * BLOCK);
	dst.data[2 * BLOCK]++;		/* left out */
	dst.data[4 * BLOCK]++;
	assert_int_equal(map_set(&job.map, 0, 2 * BLOCK, BAD), 0);
	assert_int_equal(map_set(&job.map, 2 * BLOCK, BLOCK, OUTSIDE), 0);
	assert_int_equal(map_set(&job.map, 2 * CHUNK, CHUNK, OUTSIDE), 0);
	verify_run(&job);
	finds(CHUNK, BLOCK, 1);
	assert_int_equal(job.verify->target[0].first, 4 * BLOCK);
	assert_int_equal(job.verify->masked, CHUNK + BLOCK);
	done();
	make();				/* lost behind what was left out */
	copied();
	memset(dst.data + 2 * BLOCK, 0, BLOCK);
	dst.data[0]++;
	assert_int_equal(map_set(&job.map, 2 * BLOCK, BLOCK, BAD), 0);
	assert_int_equal(map_set(&job.map, BLOCK, BLOCK, OUTSIDE), 0);
	verify_run(&job);
	finds(2 * CHUNK, BLOCK, 1);
	done();
	make();				/* beside what cannot be read back */
	dst.ep.geo.block = dst.ep.geo.io_align = 2 * BLOCK;
	copied();
	dst.data[CHUNK]++;
	memory_fails(&dst, 2 * CHUNK - 1, 2 * CHUNK, EIO);
	assert_int_equal(map_set(&job.map, CHUNK, BLOCK, OUTSIDE), 0);
	verify_run(&job);
	finds(2 * CHUNK, 1, 1);
	done();
}

/* Three targets, which are files: what was left out of a chunk is not read. */
CASE(counts_what_is_read_of_several_targets)
{
	struct result r[3] = { 0 };
	static char name[3][32];
	static struct plan each[3];
	struct endpoint tee;
	struct fault f;
	unsigned i;
	int fd;

	o.targets = p.targets = 3;
	o.timeout = 60;
	for (i = 0; i < 3; i++) {
		stpcpy(name[i], "/tmp/pardd-verify.XXXXXX");
		fd = mkstemp(name[i]);
		assert_int_equal(write(fd, src.data, SIZE), SIZE);
		close(fd);
		o.target[i] = name[i];
		each[i] = (struct plan){ .opts = &o, .dst = &tee,
			.bs = p.bs };
	}
	p.each = each;
	assert_int_equal(tee_open(&tee, &o, false, &f), 0);
	assert_int_equal(tee_join(&tee, &f), 0);
	p.dst = &tee;
	p.other = 3 * CHUNK;
	copied();
	assert_int_equal(map_set(&job.map, CHUNK, 2 * BLOCK, OUTSIDE), 0);
	digest_table_mark(job.digests, 1, CHECK_NONE);
	assert_int_equal(endpoint_readback(&job.back, &tee, CHUNK, &f), 0);
	verify_run(&job);
	finds(SIZE - 2 * BLOCK, 0, 0);
	assert_int_equal(job.verify->read, SIZE - 2 * BLOCK);
	assert_int_equal(job.verify->masked, 2 * BLOCK);
	job.verify->target[1].right -= BLOCK;	/* not all of it was */
	verify_results(&job, r);
	for (i = 0; i < 3; i++) {
		assert_int_equal(r[i].proven, i != 1);
		map_free(&r[i].differ);
	}
	assert_int_equal(endpoint_close(&job.back), 0);
	done();
	assert_int_equal(endpoint_close(&tee), 0);
	tee_free(&tee);
	for (i = 0; i < 3; i++)
		unlink(name[i]);
}

/* ------------------------------------------------------------------- by what */

/* With verify=source it is the source that counts, while it can be read. */
CASE(compares_with_the_source)
{
	static const struct {
		int	 err;		/* of the source, in the second chunk */
		uint64_t size;		/* that it has by then */
		int64_t	 coe;
		uint64_t right;		/* UINT64_MAX: it stops */
	} row[] = {
		{ 0, SIZE, 0, 2 * CHUNK }, { EIO, SIZE, 1, SIZE },
		{ EIO, SIZE, 0, UINT64_MAX }, { ENODEV, SIZE, 1, UINT64_MAX },
		{ 0, CHUNK + 1, 0, SIZE },
	};

	EACH_OF(i, row) {
		make();
		p.verify = VERIFY_SOURCE;
		o.coe = row[i].coe;
		copied();
		src.data[CHUNK + 5]++;	/* it has changed */
		src.size = row[i].size;
		if (row[i].err != 0)
			memory_fails(&src, CHUNK, CHUNK + 1, row[i].err);
		verify_run(&job);
		if (row[i].right != UINT64_MAX) {
			finds(row[i].right, (SIZE - row[i].right) / CHUNK *
			    BLOCK, row[i].right < SIZE);
		} else {
			assert_true(job.fault.status != 0);
			assert_false(job.verify->done);
			assert_int_equal(job.verify->read, CHUNK);
		}
		done();
	}
}

/*
 * With a digest of the whole copy, what was read first counts, too: a target
 * that has become as the source is now is wrong.
 */
CASE(compares_with_both_for_a_digest)
{
	const struct algorithm *xxh = algorithm_named("xxh128", 6);
	struct hash *h;
	struct fault f;
	int i;

	for (i = 0; i < 4; i++) {
		make();
		p.verify = VERIFY_SOURCE;
		o.hash = xxh->bit;
		o.mends = i == 3;
		assert_int_equal(hash_open(&h, &o, &f), 0);
		p.hash = i == 0 ? NULL : h;
		copied();
		src.data[CHUNK + 5]++;
		dst.data[CHUNK + 5]++;
		if (i == 2) {		/* it has no digest, in part */
			assert_int_equal(map_set(&job.map, 2 * CHUNK, BLOCK,
			    OUTSIDE), 0);
			digest_table_mark(job.digests, 2, CHECK_NONE);
		}
		verify_run(&job);
		assert_int_equal(verify_right(&job), i == 0 ? SIZE : i == 2 ?
		    2 * CHUNK - BLOCK : 2 * CHUNK);
		assert_int_equal(verify_differing(&job), i == 0 ? 0 : CHUNK);
		assert_int_equal(dst.writes, 0);
		assert_int_equal(job.fault.status, 0);
		hash_close(h);
		done();
	}
}

CASE(compares_with_the_source_what_has_no_digest)
{
	copied();
	digest_table_mark(job.digests, 1, CHECK_NONE);
	verify_run(&job);
	finds(SIZE, 0, 0);
	assert_int_equal(src.reads, 1);
	done();
	src.ep.is.streamed = true;	/* which cannot be read again */
	copied();
	digest_table_mark(job.digests, 1, CHECK_NONE);
	verify_run(&job);
	finds(2 * CHUNK, CHUNK, 1);
	done();
}

/* --------------------------------------------------- what cannot be read back */

CASE(tells_what_cannot_be_read_back)
{
	copied();
	memory_fails(&dst, CHUNK + BLOCK, CHUNK + BLOCK + 1, EIO);
	verify_run(&job);
	finds(2 * CHUNK, BLOCK, 1);
	assert_true(job.verify->target[0].unread);
	done();
	make();
	copied();
	dst.size = 2 * CHUNK + 10;	/* it is too short */
	verify_run(&job);
	finds(2 * CHUNK, CHUNK - 10, 1);
	assert_true(job.verify->target[0].unread);
	done();
	make();
	copied();
	memory_fails(&dst, CHUNK, CHUNK + 1, ENODEV);
	verify_run(&job);
	assert_int_equal(job.fault.status, STATUS_ERRNO + ENODEV);
	assert_string_equal(job.fault.text,
	    "D: reading back at byte 4096: No such device");
	assert_false(job.verify->done);
	done();
}

/* -------------------------------------------------------------------- mending */

CASE(mends_what_differs)
{
	o.mends = 2;
	copied();
	dst.data[CHUNK + 600]++;
	dst.data[2 * CHUNK]++;
	verify_run(&job);
	finds(SIZE, 0, 0);
	assert_int_equal(dst.writes, 2);
	assert_int_equal(job.written, 2 * BLOCK);
	assert_int_equal(job.verify->mended, 2 * BLOCK);
	assert_memory_equal(src.data, dst.data, SIZE);
	done();
}

/* Even if it is not known where in a chunk the target differs. */
CASE(leaves_what_was_left_out)
{
	const size_t left = 2 * BLOCK;

	o.mends = 1;
	copied();
	assert_int_equal(map_set(&job.map, CHUNK, left, OUTSIDE), 0);
	memset(dst.data + CHUNK, 0xee, left);
	memory_fails(&src, CHUNK + left, CHUNK + left + 1, EIO);
	src.times = 1;
	verify_run(&job);
	finds(SIZE - left, 0, 0);
	assert_int_equal(job.written, CHUNK - left);
	assert_int_equal(job.verify->mended, CHUNK - left);
	assert_memory_equal(src.data, dst.data, CHUNK);
	assert_int_equal(dst.data[CHUNK], 0xee);
	assert_memory_equal(dst.data + CHUNK, dst.data + CHUNK + 1, left - 1);
	assert_memory_equal(src.data + CHUNK + left, dst.data + CHUNK + left,
	    SIZE - CHUNK - left);
	done();
}

/* Each write is lost: it is tried as often as is allowed. */
static void
lose(struct io *io)
{
	if (io->op == OP_WRITE)
		io->len = 0;
}

CASE(gives_up_what_cannot_be_mended)
{
	o.mends = 3;
	copied();
	dst.data[CHUNK + 600]++;
	dst.before = lose;
	verify_run(&job);
	finds(2 * CHUNK, BLOCK, 1);
	assert_int_equal(dst.writes, 3);
	done();
	make();				/* the source has lost it */
	o.mends = 1;
	copied();
	dst.data[CHUNK + 600]++;
	memory_fails(&src, CHUNK, CHUNK + 1, EIO);
	verify_run(&job);
	finds(2 * CHUNK, CHUNK, 1);
	assert_int_equal(dst.writes, 0);
	done();
	make();				/* or cannot be read again */
	o.mends = 1;
	src.ep.is.streamed = true;
	copied();
	dst.data[CHUNK + 600]++;
	verify_run(&job);
	finds(2 * CHUNK, CHUNK, 1);
	assert_int_equal(dst.reads, 3);
	done();
	make();				/* or the target is written in order */
	o.mends = 1;
	dst.ep.is.zoned = true;
	copied();
	dst.data[CHUNK + 600]++;
	verify_run(&job);
	finds(2 * CHUNK, BLOCK, 1);
	assert_int_equal(dst.writes, 0);
	done();
}

CASE(stops_where_mending_fails)
{
	o.mends = 2;
	flush_error = EIO;
	copied();
	dst.data[CHUNK + 600]++;
	verify_run(&job);
	assert_int_equal(job.flush.status, STATUS_NOT_FLUSHED);
	assert_false(job.verify->done);
	assert_int_equal(dst.writes, 1);
	done();
}

static void
refuse_writes(struct io *io)
{
	dst.times = io->op == OP_WRITE ? UINT_MAX : 0;
}

CASE(stops_where_a_write_fails)
{
	o.mends = 2;
	copied();
	dst.data[CHUNK + 600]++;
	dst.data[2 * CHUNK + 600]++;
	memory_fails(&dst, 0, SIZE, EIO);
	dst.before = refuse_writes;
	verify_run(&job);
	assert_int_equal(job.fault.status, STATUS_ERRNO + EIO);
	assert_true(job.doubt);
	assert_false(job.verify->done);
	assert_int_equal(dst.writes, 1);
	assert_int_equal(job.verify->read, CHUNK);	/* of the mending */
	done();
}

/* ------------------------------------------------------------ being stopped */

static void
stop(struct io *io)
{
	if (io->off == CHUNK)
		job_stop(&job);
}

static void
stop_at_write(struct io *io)
{
	if (io->op == OP_WRITE)
		job_stop(&job);
}

CASE(ends_when_it_is_stopped)
{
	o.mends = 2;
	dst.before = stop;
	copied();
	dst.data[0]++;
	verify_run(&job);
	assert_false(job.verify->done);
	assert_int_equal(dst.reads, 2);
	assert_int_equal(dst.writes, 0);
	done();
	make();				/* in the midst of mending */
	o.mends = 2;
	dst.before = stop_at_write;
	copied();
	dst.data[0]++;
	dst.data[CHUNK]++;
	verify_run(&job);
	assert_false(job.verify->done);
	assert_int_equal(dst.writes, 1);
	assert_int_equal(dst.reads, 3);
	done();
	make();				/* while it waits for rate= */
	copied();
	job.rate.paused = true;
	eventfd_write(job.halt, 1);
	verify_run(&job);
	assert_int_equal(dst.reads, 0);
	assert_int_equal(verify_right(&job), 0);
	done();
}

/* A copy that is not complete is not checked. */
CASE(checks_no_part_of_a_copy)
{
	int i;

	for (i = 0; i < 4; i++) {
		make();
		copied();
		job.stop = i == 0;			/* as after a fault */
		job.flush.status = i == 1 ? STATUS_NOT_FLUSHED : 0;
		if (i == 2)
			assert_int_equal(map_set(&job.map, 0, 1, UNTRIED), 0);
		if (i == 3)
			assert_int_equal(map_set(&job.map, 0, 1, CLAIMED), 0);
		verify_run(&job);
		assert_int_equal(dst.reads, 0);
		assert_false(job.verify->done);
		done();
	}
}

/* --------------------------------------------------------------------- memory */

#ifdef POOR
CASE(tells_each_lack_of_memory)
{
	unsigned n, told = 0;
	struct fault f;
	bool refused;
	size_t i;

	for (n = 0; n == 0 || refused; n++) {	/* with three targets */
		make();
		p.targets = 3;
		memory_job(&job, &p);
		poor_after(n);
		if (verify_begin(&job, &f) != 0) {
			assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
			assert_null(job.verify);
			told++;
		}
		refused = poor_was();
		done();
	}
	assert_true(told > 5);
	told = 0;
	for (n = 0; n == 0 || refused; n++) {
		make();
		copied();
		memset(dst.data, 0, SIZE);
		for (i = 0; i < SIZE; i += 2 * BLOCK)
			memcpy(dst.data + i, src.data + i, BLOCK);
		poor_after(n);
		verify_run(&job);
		refused = poor_was();
		if (job.fault.status != 0) {
			assert_int_equal(job.fault.status,
			    STATUS_ERRNO + ENOMEM);
			assert_string_equal(job.fault.text,
			    "the list of what differs: Cannot allocate "
			    "memory");
			assert_true(refused);
			told++;
		} else {
			finds(0, SIZE / 2, SIZE / BLOCK / 2);
		}
		done();
	}
	assert_true(told > 0);
}

/* The table of a stream grows with it. */
CASE(tells_that_a_table_cannot_grow)
{
	p.bounded = false;
	p.claim = p.chunk = 1;
	p.length = MEMORY_MOST;
	memory_job(&job, &p);
	job.back = dst.ep;
	assert_int_equal(verify_begin(&job, &job.fault), 0);
	assert_int_equal(map_set(&job.map, 0, MEMORY_MOST, FINISHED), 0);
	poor_after(0);
	verify_run(&job);
	assert_true(poor_was());
	assert_int_equal(job.fault.status, STATUS_ERRNO + ENOMEM);
	assert_string_equal(job.fault.text,
	    "the digests of the copy: Cannot allocate memory");
	assert_int_equal(dst.reads, 0);
	done();
}
#endif
