/*
 * Trying blocks near an error, one by one, and finding its edges: the map after
 * bad blocks, after a stop or pause of the run, if the source disappears, and
 * without memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <bsd/string.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "../../src/rescue/blocks.h"
#include "../../src/rescue/edges.h"
#include "../../src/rescue/pass.h"
#include "base/status.h"
#include "poor.h"
#include "rescue/rescue.h"
#include "tabled.h"

enum { LENGTH = DISK_SECTORS * SECTOR, FROM = 1000 * SECTOR,
	TO = 1100 * SECTOR };

enum act { NOTHING, STOP, PAUSE, GO, END, FULL };

static struct tabled disk, target;
static struct opts o;
static struct plan p;
static struct job job;
static struct pass pass;
static struct fault f;
static char directory[] = "/tmp/pardd-blocks.XXXXXX", path[64], old[64];
static const struct seg seg = { FROM, TO - FROM, UNTRIMMED };

static struct {
	uint64_t bad, good;	/* sectors from bad to good are bad */
	unsigned reads, writes;	/* so far; */
	unsigned at;		/* with this one, from 1, */
	enum act act;		/* ... this happens */
	unsigned cached;	/* so many of the bad ones are read anyway */
	bool leaves;		/* with the first bad one all are */
} source;

static void
transfer(struct lane *lane, struct io *io)
{
	uint64_t first = io->off / SECTOR, end = (io->off + io->len) / SECTOR;

	if (io->op == OP_WRITE) {
		if (source.act == FULL && ++source.writes >= source.at)
			io->err = ENOSPC;
		io->done = io->err == 0 ? io->len : 0;
		return;
	}
	io->bad_off = NOWHERE;
	if (lane->ep != &disk.ep || ++source.reads != source.at)
		io->err = first < source.good && end > source.bad ? EIO : 0;
	else if (source.act == GO)
		io->err = ENXIO;
	else if (source.act == END)
		return;
	else if (source.act == STOP)
		job.stop = true;
	else if (source.act == PAUSE)
		job.rate.paused = true;
	if (io->err == EIO && source.cached > 0) {
		source.cached--;
		io->err = 0;
	}
	if (io->err != 0 && source.leaves) {
		source.bad = 0;
		source.good = UINT64_MAX;
	}
	io->done = io->err == 0 ? io->len : 0;
	memset(io->buf, 'd', io->done);		/* zeros would be doubted */
}

static const struct backend ends = { .attach = NULL, .transfer = transfer,
	.disk = tabled_disk };

static int
set_up(void **state)
{
	(void)state;
	stpcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/map", directory);
	snprintf(old, sizeof(old), "%s/map.bak", directory);
	begin_disk(&disk, "disk", &ends, SECTOR, DISK_SECTORS);
	begin_disk(&target, "target", &ends, SECTOR, DISK_SECTORS);
	o = (struct opts){ .map = path, .mapinterval = 30, .maxerrors = -1,
		.retries = -1, .maxtime = -1 };
	p = (struct plan){ .opts = &o, .work = WORK_RESCUE, .src = &disk.ep,
		.dst = &target.ep, .length = LENGTH, .bounded = true,
		.chunk = 65536, .room = 65536, .pad = 1, .sector = SECTOR,
		.bs = SECTOR, .block = SECTOR, .workers = 1, .truncate = -1 };
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	end_disk(&disk);
	end_disk(&target);
	unlink(path);
	unlink(old);
	return rmdir(directory);
}

/* A run with the map that there is; it comes to this pass. */
static struct worker *
go_on(enum seg_status from, enum how how)
{
	struct worker *w = &job.worker[0];

	memset(&job, 0, sizeof(job));
	job.p = &p;
	job.workers = 1;
	job.halt = eventfd(1, EFD_CLOEXEC);	/* nobody waits */
	job.gone_at = NOWHERE;
	pthread_mutex_init(&job.first, NULL);
	assert_int_equal(map_init(&job.map, LENGTH, p.chunk, 0), 0);
	assert_int_equal(rescue_begin(&job, &f), 0);
	pass = (struct pass){ .text = "it", .from = from, .how = how,
		.phase = '*', .number = 2 };
	job.rescue->pass = &pass;
	*w = (struct worker){ .job = &job, .buf = aligned_alloc(4096, p.room) };
	assert_int_equal(lane_attach(&w->src, p.src, p.src_off, -1), 0);
	assert_int_equal(lane_attach(&w->dst, p.dst, 0, -1), 0);
	return w;
}

/* A first run; sectors from bad to good cannot be read. */
static struct worker *
begin(enum seg_status from, enum how how, uint64_t bad, uint64_t good)
{
	memset(&source, 0, sizeof(source));
	unlink(path);
	source.bad = bad;
	source.good = good;
	return go_on(from, how);
}

static void
end(void)
{
	free(job.worker[0].buf);
	rescue_free(job.rescue);
	map_free(&job.map);
	pthread_mutex_destroy(&job.first);
	close(job.halt);
}

/* The segment is claimed, behind what is good, in a disk that was read. */
static void
claim(enum seg_status from)
{
	struct seg got;

	assert_int_equal(map_set(&job.map, 0, LENGTH, FINISHED), 0);
	assert_int_equal(map_set(&job.map, FROM, TO - FROM, from), 0);
	map_pass(&job.map, from, false);
	assert_int_equal(map_claim_all(&job.map, &got), 1);
	assert_int_equal(got.off, FROM);
	assert_int_equal(got.len, TO - FROM);
}

/* Bytes of a status in the segment, in sectors. */
static uint64_t
has(enum seg_status status)
{
	uint64_t off, n = 0;

	for (off = FROM; off < TO; off += SECTOR)
		n += map_at(&job.map, off) == status;
	return n;
}

static void
are_trimmed(void **state)
{
	unsigned rotates;

	(void)state;
	for (rotates = 0; rotates < 2; rotates++) {
		disk.disk.rotates = rotates == 1;
		/* an error in the midst */
		claim((begin(UNTRIMMED, TRIM, 1040, 1050), UNTRIMMED));
		assert_true(blocks_trim(&job.worker[0], &seg));
		assert_true(has(BAD) >= 1);
		assert_true(has(FINISHED) >= 40);
		assert_int_equal(has(FINISHED) + has(BAD) + has(UNSCRAPED),
		    100);
		end();
		/* none any more */
		claim((begin(UNTRIMMED, TRIM, 0, 0), UNTRIMMED));
		assert_true(blocks_trim(&job.worker[0], &seg));
		assert_int_equal(has(FINISHED), 100);
		end();
		/* all of it */
		claim((begin(UNTRIMMED, TRIM, 1000, 1100), UNTRIMMED));
		assert_true(blocks_trim(&job.worker[0], &seg));
		assert_int_equal(has(UNSCRAPED) + has(BAD), 100);
		end();
		/* only the last block of it */
		claim((begin(UNTRIMMED, TRIM, 1099, 1100), UNTRIMMED));
		assert_true(blocks_trim(&job.worker[0], &seg));
		assert_int_equal(has(FINISHED), 99);
		assert_int_equal(has(BAD), 1);
		end();
		/* behind what was given up, parts are trimmed from behind */
		claim((begin(UNTRIMMED, TRIM, 1000, 1003), UNTRIMMED));
		map_set(&job.map, FROM - SECTOR, SECTOR, UNTRIED);
		assert_true(blocks_trim(&job.worker[0], &seg));
		assert_true(has(FINISHED) == 0 || has(FINISHED) >= 90);
		end();
	}
}

static void
are_scraped(void **state)
{
	(void)state;
	claim((begin(UNSCRAPED, SCRAPE, 1040, 1050), UNSCRAPED));
	assert_true(blocks_scrape(&job.worker[0], &seg));
	assert_int_equal(has(BAD), 10);
	assert_int_equal(has(FINISHED), 90);
	end();
	/* a retry may go the other way */
	claim((begin(BAD, SCRAPE, 1040, 1050), BAD));
	pass.backwards = true;
	assert_true(blocks_scrape(&job.worker[0], &seg));
	assert_int_equal(has(BAD), 10);
	end();
}

static void
are_skimmed(void **state)
{
	(void)state;
	claim((begin(UNSCRAPED, SKIM, 1040, 1050), UNSCRAPED));
	assert_true(blocks_skim(&job.worker[0], &seg));
	assert_int_equal(has(BAD), 2);		/* 8 are skipped, then 16 */
	assert_int_equal(has(FINISHED), 74);
	end();
	claim((begin(UNSCRAPED, SKIM, 1040, 1050), UNSCRAPED));
	map_set(&job.map, FROM - SECTOR, SECTOR, BAD);
	assert_true(blocks_skim(&job.worker[0], &seg));
	assert_int_equal(has(FINISHED), 66);
	end();
	claim((begin(UNSCRAPED, SKIM, 1040, 1050), UNSCRAPED));
	pass.backwards = true;
	assert_true(blocks_skim(&job.worker[0], &seg));
	assert_int_equal(has(FINISHED), 50);
	assert_int_equal(has(BAD), 1);
	end();
	claim((begin(UNSCRAPED, SKIM, 1040, 1050), UNSCRAPED));
	pass.backwards = true;
	map_set(&job.map, TO, SECTOR, BAD);
	assert_true(blocks_skim(&job.worker[0], &seg));
	assert_int_equal(has(FINISHED), 0);
	end();
}

/* Nothing that was not read is called finished or bad, whenever it ends. */
static void
are_left_when_it_ends(void **state)
{
	static bool (*const tries[])(struct worker *, const struct seg *) = {
		blocks_trim, blocks_scrape, blocks_skim };
	static const enum seg_status from[] = { UNTRIMMED, UNSCRAPED,
		UNSCRAPED };
	static const enum act acts[] = { STOP, PAUSE, GO, END, FULL };
	unsigned at;
	size_t i, k, back;

	(void)state;
	for (i = 0; i < 3; i++)
		for (k = 0; k < 5; k++)
			for (at = 1; at < 60; at += 7)
				for (back = 0; back < 2; back++) {
					claim((begin(from[i], TRIM, 1040, 1050),
					    from[i]));
					pass.backwards = back == 1;
					source.at = at;
					source.act = acts[k];
					(void)tries[i](&job.worker[0], &seg);
					assert_true(has(BAD) <= 10);
					assert_true(has(FINISHED) <= 90);
					if (acts[k] == STOP &&
					    source.reads >= at)
						assert_int_equal(source.reads,
						    at);
					if (acts[k] == GO &&
					    source.reads >= at)
						assert_true(job.stop);
					end();
				}
}

static void
are_left_without_memory(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i == 0 || poor_was(); i++) {
		claim((begin(UNSCRAPED, SCRAPE, 1040, 1050), UNSCRAPED));
		poor_after(i);
		if (blocks_scrape(&job.worker[0], &seg) && job.fault.status == 0)
			assert_int_equal(has(BAD), 10);
		poor.on = false;
		assert_true(has(BAD) <= 10);
		end();
	}
}

/* Blocks of the disk that are lost together, if that suits the copy. */
static void
are_those_of_the_disk(void **state)
{
	static const struct {
		uint32_t	physical, unit;
	} rows[] = { { 0, SECTOR }, { SECTOR, SECTOR }, { 4096, 4096 },
		{ 520, SECTOR }, { 131072, SECTOR } };
	size_t i;

	(void)state;
	disk.disk.start = 1024;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		disk.disk.physical = rows[i].physical;
		begin(UNTRIED, COPY, 0, 0);
		assert_int_equal(job.rescue->unit, rows[i].unit);
		assert_int_equal(job.rescue->unit_off, 1024 % rows[i].unit);
		end();
	}
}

/* ------------------------------------------------------------------ edges */

/* What a jump has seen of a run: all between two good blocks is untried. */
static const struct bad_run run = { .off = FROM, .first = FROM + 40 * SECTOR,
	.last = FROM + 41 * SECTOR, .end = TO, .sure = true };

static struct worker *
begin_jump(enum seg_status left)
{
	struct worker *w = begin(UNTRIED, COPY, 1030, 1060);

	assert_int_equal(map_set(&job.map, 0, LENGTH, FINISHED), 0);
	assert_int_equal(map_set(&job.map, FROM, TO - FROM, left), 0);
	return w;
}

static void
have_edges(void **state)
{
	static const struct bad_run one = { .off = FROM, .first = FROM +
		40 * SECTOR, .last = FROM + 41 * SECTOR,
		.end = FROM + 70 * SECTOR };

	(void)state;
	edges_find(begin_jump(UNTRIED), 1, &run);
	assert_true(has(BAD) > 0 && source.reads < 40);
	assert_int_equal(map_at(&job.map, FROM + 30 * SECTOR), BAD);
	assert_int_equal(map_at(&job.map, FROM + 59 * SECTOR), BAD);
	end();
	edges_find(begin_jump(UNTRIMMED), 1, &one);
	assert_int_equal(map_at(&job.map, FROM + 30 * SECTOR), BAD);
	end();
	/* what is known is not read again */
	edges_find(begin_jump(FINISHED), 1, &run);
	assert_int_equal(source.reads, 0);
	end();
	edges_find(begin_jump(BAD), 1, &run);
	assert_int_equal(source.reads, 0);
	end();
	edges_find(begin_jump(UNSCRAPED), 1, &run);
	assert_int_equal(source.reads, 0);
	end();
	edges_find(begin_jump(CLAIMED), 1, &one);
	assert_int_equal(source.reads, 0);
	end();
	/* a single block between is no run */
	begin_jump(UNTRIED);
	source.bad = source.good = 0;
	edges_find(&job.worker[0], 1, &one);
	assert_int_equal(source.reads, 1);
	end();
	/* not without reading alone, unless one reads, and not backwards */
	begin_jump(UNTRIED);
	p.workers = 2;
	edges_find(&job.worker[0], 0, &run);
	assert_int_equal(source.reads, 0);
	p.workers = 1;
	pass.backwards = true;
	edges_find(&job.worker[0], 0, &run);
	assert_int_equal(source.reads, 0);
	pass.backwards = false;
	edges_find(&job.worker[0], 0, &run);
	assert_true(source.reads > 0);
	end();
}

/* With skip= a place in the map is another one in the source. */
static void
have_edges_behind_skip(void **state)
{
	(void)state;
	p.src_off = 200 * SECTOR;
	begin_jump(UNTRIED);
	source.bad += 200;
	source.good += 200;
	edges_find(&job.worker[0], 1, &run);
	assert_int_equal(map_at(&job.map, FROM + 29 * SECTOR), UNTRIED);
	assert_int_equal(map_at(&job.map, FROM + 30 * SECTOR), BAD);
	assert_int_equal(map_at(&job.map, FROM + 59 * SECTOR), BAD);
	assert_int_equal(map_at(&job.map, FROM + 60 * SECTOR), UNTRIED);
	end();
}

static void
have_no_edges_when_it_ends(void **state)
{
	static const enum act acts[] = { STOP, PAUSE, GO, END };
	static const struct bad_run maybe = { .off = FROM, .first = FROM +
		40 * SECTOR, .last = FROM + 41 * SECTOR, .end = TO };
	unsigned at, i;
	size_t k;

	(void)state;
	for (k = 0; k < 4; k++)
		for (at = 1; at < 30; at++) {
			begin_jump(UNTRIED);
			source.at = at;
			source.act = acts[k];
			edges_find(&job.worker[0], 1, at % 2 == 0 ? &run :
			    &maybe);
			assert_int_equal(has(FINISHED), 0);
			assert_true(has(BAD) <= 30);
			if (source.reads >= at && acts[k] != END)
				assert_int_equal(source.reads, at);
			end();
		}
	for (i = 0; i == 0 || poor_was(); i++) {
		begin_jump(UNTRIED);
		poor_after(i);
		edges_find(&job.worker[0], 1, &run);
		poor.on = false;
		assert_true(has(BAD) <= 30);
		end();
	}
	/* too slow to be paid for */
	begin_jump(UNTRIED);
	job.rate.bytes = 1;
	edges_find(&job.worker[0], 1, &run);
	assert_true(source.reads <= 1);
	end();
}

/* ------------------------------------------------------------------ pieces */

/* No piece is read once the run ends, of itself or because it was told to. */
static void
are_not_begun_once_it_ends(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		o.maxerrors = i == 2 ? 0 : -1;
		begin(UNTRIED, COPY, 0, 0);
		assert_int_equal(map_set(&job.map, 0, SECTOR, BAD), 0);
		map_pass(&job.map, UNTRIED, false);
		job.stop = i == 1;
		assert_int_equal(rescue_piece(&job.worker[0]), i == 0);
		assert_int_equal(source.reads, i == 0);
		assert_int_equal(map_totals(&job.map).finished > 0, i == 0);
		end();
	}
}

/* What follows is read with a piece, by the worker that reads alone. */
static void
grow_until_it_ends(void **state)
{
	static const enum act acts[] = { NOTHING, STOP };
	size_t i;

	(void)state;
	p.workers = 2;
	p.chunk = p.room = 262144;
	o.minrate = 1;
	for (i = 0; i < 2; i++) {
		begin(UNTRIED, COPY, 0, 0);
		pass.skip = COURSE;
		source.at = 1;
		source.act = acts[i];
		map_pass(&job.map, UNTRIED, false);
		(void)rescue_piece(&job.worker[0]);
		assert_int_equal(source.reads == 1, acts[i] == STOP);
		assert_int_equal(map_totals(&job.map).finished == p.chunk,
		    acts[i] != STOP);
		end();
	}
}

/* -------------------------------------------------------------- the source */

/*
 * Of what was read before some blocks answer, as from a cache: one that nobody
 * has read tells whether the disk does.
 */
static void
ask_what_is_in_no_cache(void **state)
{
	static unsigned char buf[SECTOR];
	struct io io;
	unsigned i, lost;

	(void)state;
	for (lost = 0; lost < 2; lost++) {
		begin(UNTRIED, COPY, 0, lost ? DISK_SECTORS : FROM / SECTOR);
		source.cached = 1;
		assert_int_equal(map_set(&job.map, 0, FROM, FINISHED), 0);
		for (i = 0; i < 16; i++) {
			io = (struct io){ .op = OP_READ, .buf = buf,
				.len = SECTOR, .err = EIO };
			liveness_feel(&job.worker[0], &io, FROM, UNTRIED, 0);
			assert_int_equal(io.err, i < 15 || !lost ? EIO :
			    ENODEV);
		}
		assert_int_equal(job.rescue->liveness.lost, lost);
		end();
	}
}

/* What failed last may have failed because the disk is gone: it is asked. */
static void
ask_whether_the_disk_is_there_at_the_end(void **state)
{
	unsigned leaves;

	(void)state;
	o.rescue = RESCUE_NOTRIM | RESCUE_NOSWEEP;
	for (leaves = 0; leaves < 2; leaves++) {
		begin(UNTRIED, COPY, LENGTH / SECTOR - 1, LENGTH / SECTOR);
		source.leaves = leaves == 1;
		rescue_run(&job);
		assert_int_equal(job.fault.status, leaves == 0 ? 0 :
		    STATUS_ERRNO + ENODEV);
		assert_int_equal(job.rescue->liveness.lost, leaves);
		end();
	}
}

/* Also when the run is stopped while it is asked. */
static void
ask_it_no_less_when_stopped_meanwhile(void **state)
{
	unsigned reads = 0;
	int i;

	(void)state;
	o.rescue = RESCUE_NOTRIM | RESCUE_NOSWEEP;
	for (i = 0; i < 2; i++) {
		begin(UNTRIED, COPY, LENGTH / SECTOR - 1, LENGTH / SECTOR);
		source.leaves = true;
		source.at = i == 0 ? 0 : reads - 4;	/* of those at the end */
		source.act = STOP;
		rescue_run(&job);
		reads = source.reads;
		assert_true(job.rescue->liveness.lost);
		assert_int_equal(map_at(&job.map, LENGTH - SECTOR), UNTRIED);
		end();
	}
}

/* Without an error zeros are not asked for; the last ones are remembered. */
static void
hold_the_last_zeros(void **state)
{
	static unsigned char zeros[SECTOR];
	struct io io = { .op = OP_READ, .buf = zeros, .len = SECTOR,
		.done = SECTOR };
	const uint64_t all = 2 * (uint64_t)JUNK_HELD;
	const struct sample known = { 0, 1 };
	struct junk *j = &job.junk;
	uint64_t i;

	(void)state;
	begin(UNTRIED, COPY, 0, 0);
	assert_int_equal(junk_begin(j, true), 0);
	junk_know(j, &known);
	for (i = 1; i <= all; i++) {
		io.off = 2 * i * SECTOR;
		assert_true(junk_feel(&job.worker[0], &io, UNTRIED));
	}
	assert_int_equal(source.reads, 0);
	assert_true(j->helds > 0 && j->helds < JUNK_HELD);
	assert_int_equal(j->held[j->helds - 1].seg.off, 2 * all * SECTOR);
	junk_end(j);
	end();
}

/* ---------------------------------------------------------------- the map */

/* A new map says nothing; one that was saved is where it was until a pass begins. */
static void
begin_where_the_map_was(void **state)
{
	struct mapfile m;

	(void)state;
	begin(UNTRIMMED, TRIM, 0, 0);
	assert_string_equal(pass_where(&job, &m), "it");
	assert_int_equal(m.phase, '*');
	assert_int_equal(mapsaver_save(&job, &f), 0);
	end();
	go_on(UNTRIED, COPY);
	pass.phase = '?';
	assert_string_equal(pass_where(&job, &m), "Going on");
	assert_int_equal(m.phase, '*');
	assert_int_equal(m.pass, 2);
	job.rescue->entered = true;
	assert_string_equal(pass_where(&job, &m), "it");
	assert_int_equal(m.phase, '?');
	end();
}

int
main(void)
{
#define CASE(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(are_trimmed),
		CASE(are_scraped),
		CASE(are_skimmed),
		CASE(are_left_when_it_ends),
		CASE(are_left_without_memory),
		CASE(are_those_of_the_disk),
		CASE(have_edges),
		CASE(have_edges_behind_skip),
		CASE(have_no_edges_when_it_ends),
		CASE(are_not_begun_once_it_ends),
		CASE(grow_until_it_ends),
		CASE(ask_what_is_in_no_cache),
		CASE(ask_whether_the_disk_is_there_at_the_end),
		CASE(ask_it_no_less_when_stopped_meanwhile),
		CASE(hold_the_last_zeros),
		CASE(begin_where_the_map_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
