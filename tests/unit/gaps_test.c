/*
 * The order of a rescue, on disks that are made up: everything is read once but
 * what is bad, and little of that is met before the rest is there.
 */
#include "test.h"

#include "cli/opts.h"
#include "rescue/gaps.h"

#define UNIT	UINT64_C(512)
#define KIB	(UINT64_C(1) << 10)
#define MIB	(UINT64_C(1) << 20)

enum { MOST = 1 << 20, FIRST = 256 << 10, READS_MOST = 1 << 20 };

struct bad {
	uint64_t	 off, end;
};

struct trial {
	struct map	 map;
	struct gaps	 gaps;
	const struct bad *bad;
	size_t		 n;
	uint64_t	 above;		/* only longer reads fail */
	uint64_t	 most;		/* bytes that are taken; 0: MOST */
	bool		 shorts;	/* a read brings some of what is good
					 * before the bad block */
	bool		 reader;	/* who asks for something every 8th read */
	struct times {
		double		 error, read;	/* s: each takes so long, */
		unsigned	 stuck;	/* but this error 60 s */
	}		 times;
	struct seg	 failed;	/* the last read that has failed */
	uint64_t	 good;		/* bytes read */
	unsigned	 errors, reads;
};

/* As libc's, unless a test lets it fail. */
static bool no_memory;

void *
reallocarray(void *old, size_t n, size_t size)
{
	return no_memory ? NULL : realloc(old, n * size);
}

static void
trial_begin(struct trial *t, uint64_t size, const struct bad *bad, size_t n)
{
	*t = (struct trial){ .bad = bad, .n = n, .times.error = .1 };
	assert_int_equal(map_init(&t->map, size, MIB, 0), 0);
	gaps_begin(&t->gaps, &t->map, UNIT, 0, FIRST);
}

static void
trial_end(struct trial *t)
{
	gaps_end(&t->gaps);
	map_free(&t->map);
}

/* Bytes of a read that are good. */
static uint64_t
trial_good(const struct trial *t, const struct seg *s)
{
	uint64_t good = s->len;
	size_t i;

	for (i = 0; i < t->n && s->len > t->above; i++)
		if (t->bad[i].off < s->off + good && t->bad[i].end > s->off)
			good = t->bad[i].off > s->off ? t->bad[i].off -
			    s->off : 0;
	if (good == s->len)
		return good;
	return t->shorts ? good - good / UNIT / 4 * 3 * UNIT : 0;
}

/* 128 KiB anywhere, as the kernel asks. */
static void
trial_ask(struct trial *t)
{
	const uint64_t len = 128 * KIB;
	const struct seg ask = { (uint64_t)rand() % (map_totals(&t->map).end /
		len) * len, len, UNTRIED };

	gaps_ask(&t->gaps, &ask, 1);
}

/* Read all that there is, or until so many bytes are good. */
static void
work_off(struct trial *t, struct gaps_fill what, uint64_t until)
{
	uint64_t most = t->most > 0 ? t->most : MOST, good;
	struct seg s;
	bool well;

	assert_int_equal(gaps_fill(&t->gaps, &what), 0);
	while (t->good < until &&
	    gaps_take(&t->gaps, 0, false, most, &s) == GAPS_ONE) {
		assert_in_range(s.len, 1, most);
		assert_true(map_at(&t->map, s.off) != FINISHED);
		good = trial_good(t, &s);
		well = good == s.len;
		assert_in_range(++t->reads, 1, READS_MOST);
		t->errors += !well;
		t->good += good;
		if (!well) {
			assert_false(t->failed.off == s.off &&
			    t->failed.len == s.len);
			t->failed = s;
			gaps_error(&t->gaps, t->errors == t->times.stuck ? 60 :
			    t->times.error, t->times.read, false);
		}
		if (good > 0)
			assert_int_equal(map_set(&t->map, s.off, good,
			    FINISHED), 0);
		assert_int_equal(gaps_give(&t->gaps, 0, good, well ?
		    READ_WELL : READ_FAILED), 0);
		if (t->reader && t->reads % 8 == 0)
			trial_ask(t);
	}
}

/* All is finished, but what is bad, which is known to the block. */
static void
found_exactly(struct trial *t)
{
	uint64_t bad = 0;
	size_t i;

	for (i = 0; i < t->n; i++) {
		assert_true(map_all(&t->map, t->bad[i].off, t->bad[i].end -
		    t->bad[i].off, BAD));
		bad += t->bad[i].end - t->bad[i].off;
	}
	assert_int_equal(map_totals(&t->map).bad, bad);
	assert_int_equal(map_totals(&t->map).finished,
	    map_totals(&t->map).end - bad);
}

static const struct bad some[] = { { 100 * UNIT, 103 * UNIT },
	{ 5 * MIB, 5 * MIB + UNIT }, { 9 * MIB + UNIT, 10 * MIB },
	{ 16 * MIB - UNIT, 16 * MIB } };

CASE(finds_what_is_bad)
{
	unsigned backwards;
	struct trial t;

	for (backwards = 0; backwards < 2; backwards++) {
		trial_begin(&t, 16 * MIB, some, 4);
		work_off(&t, (struct gaps_fill){ .backwards = backwards == 1 },
		    UINT64_MAX);
		found_exactly(&t);
		assert_in_range(t.errors, 2052, 2052 + 400);
		trial_end(&t);
	}
}

/*
 * Short runs, each in one piece: their ends are found, in one error each, before
 * much is tried between them.
 */
CASE(ends_first)
{
	enum { RUNS = 20 };
	struct bad bad[RUNS];
	struct trial t;
	uint64_t i, good = 256 * MIB;

	for (i = 0; i < RUNS; i++) {
		bad[i].off = (i * 12 + 1) * MIB + i * i * 7 * UNIT;
		bad[i].end = bad[i].off + (60 + i) * UNIT;
		good -= (60 + i) * UNIT;
	}
	trial_begin(&t, 256 * MIB, bad, RUNS);
	work_off(&t, (struct gaps_fill){ 0 }, good);
	assert_in_range(t.errors, 2 * RUNS, 4 * RUNS);
	work_off(&t, (struct gaps_fill){ 0 }, UINT64_MAX);
	found_exactly(&t);
	trial_end(&t);
}

/* A disk behind a bridge: each bad sector takes the 64 KiB that it lies in. */
CASE(learns_what_fails_as_one)
{
	enum { UNITS = 2048, BLOCKS = 128 };
	static struct bad bad[UNITS];
	uint64_t i, good = UNITS * 64 * KIB;
	struct trial t;
	size_t n = 0;

	for (i = 0; i < UNITS; i++) {
		if (i * 2654435761 / 1048576 % 8 > 0)
			continue;
		bad[n].off = i * 64 * KIB;
		bad[n].end = bad[n].off + 64 * KIB;
		good -= 64 * KIB;
		n++;
	}
	trial_begin(&t, UNITS * 64 * KIB, bad, n);
	work_off(&t, (struct gaps_fill){ 0 }, good);
	assert_in_range(t.errors, n, n * 3 / 2);
	work_off(&t, (struct gaps_fill){ 0 }, UINT64_MAX);
	found_exactly(&t);
	assert_in_range(t.errors, n * BLOCKS, n * (BLOCKS + 2));
	trial_end(&t);
}

/* The same, but only for the first half of the disk. */
CASE(unlearns_what_fails_as_one)
{
	enum { RUNS = 80 };
	struct bad bad[RUNS];
	struct trial t;
	uint64_t i, good = 512 * MIB;

	for (i = 0; i < RUNS; i++) {
		bad[i].off = i * 100 * 64 * KIB + (i < RUNS / 2 ? 0 : i * 37 %
		    128 * UNIT);
		bad[i].end = bad[i].off + (i < RUNS / 2 ? 64 * KIB : UNIT);
		good -= bad[i].end - bad[i].off;
	}
	trial_begin(&t, 512 * MIB, bad, RUNS);
	work_off(&t, (struct gaps_fill){ 0 }, good);
	assert_in_range(t.errors, RUNS, RUNS * 13 / 4);
	work_off(&t, (struct gaps_fill){ 0 }, UINT64_MAX);
	found_exactly(&t);
	trial_end(&t);
}

struct met {
	unsigned	 errors, reads;
};

/* What it takes to read all that is good between runs of "least" bytes or more. */
static struct met
meet_runs(uint64_t least, struct times times)
{
	enum { RUNS = 20 };
	struct bad bad[RUNS];
	uint64_t i, good = least * 32 * RUNS;
	struct trial t;

	for (i = 0; i < RUNS; i++) {
		bad[i].off = (i * 30 + 2) * least + i * i * 7 * UNIT;
		bad[i].end = bad[i].off + least + i * i * (least / 160 / UNIT) *
		    UNIT;
		good -= bad[i].end - bad[i].off;
	}
	trial_begin(&t, least * 32 * RUNS, bad, RUNS);
	t.times = times;
	work_off(&t, (struct gaps_fill){ 0 }, good);
	assert_int_equal(t.good, good);
	assert_true(t.errors >= 2 * RUNS);
	trial_end(&t);
	return (struct met){ t.errors, t.reads };
}

/*
 * What was jumped over before a run is read by the block, which saves an error,
 * where that takes less time than one.
 */
CASE(by_the_block)
{
	struct met cheap = meet_runs(400 * KIB, (struct times){ .error = .01 });
	struct met dear = meet_runs(400 * KIB, (struct times){ .error = 10 });

	assert_in_range(dear.errors, 1, cheap.errors - 10);
}

/* One error that took long does not make the next ones dearer. */
CASE(one_is_stuck)
{
	struct met t = meet_runs(8 * MIB, (struct times){ .error = 2 }), one;
	unsigned i;

	for (i = 1; i < t.errors; i += 20) {
		one = meet_runs(8 * MIB, (struct times){ .error = 2,
			.stuck = i });
		assert_in_range(one.reads, 1, t.reads + t.reads / 50);
	}
}

/* Where each request takes long, so few blocks are read that it pays. */
CASE(requests_are_long)
{
	struct met cheap = meet_runs(4 * MIB, (struct times){ .error = .01 });
	struct met slow = meet_runs(4 * MIB, (struct times){ .error = 10,
		.read = .02 });

	assert_true(slow.errors * 10. + slow.reads * .02 <=
	    cheap.errors * 10. + cheap.reads * .02);
}

/* A giant area and single blocks: it waits until these are done. */
CASE(giant_waits)
{
	struct bad bad[41] = { { 8 * MIB, 24 * MIB } };
	struct trial t;
	size_t i;

	for (i = 1; i < 41; i++) {
		bad[i].off = 24 * MIB + i * MIB;
		bad[i].end = bad[i].off + UNIT;
	}
	trial_begin(&t, 80 * MIB, bad, 41);
	work_off(&t, (struct gaps_fill){ .bad = false }, 64 * MIB / 100 * 99);
	assert_true(t.errors < 60);
	trial_end(&t);
}

/* Runs that are alike are jumped over at once. */
CASE(learns_jumps)
{
	struct bad bad[30];
	struct trial t;
	size_t i;

	for (i = 0; i < 30; i++)
		bad[i] = (struct bad){ i * 8 * MIB + 4 * MIB,
			i * 8 * MIB + 5 * MIB };
	trial_begin(&t, 240 * MIB, bad, 30);
	work_off(&t, (struct gaps_fill){ .bad = false }, 210 * MIB / 100 * 99);
	assert_true(t.errors < 4 * 30);
	trial_end(&t);
}

/* Long runs at equal distances are left out, but read to their exact ends. */
CASE(leaves_patterns_out)
{
	const uint64_t size = 640 * MIB, good = size / 4 * 3;
	struct bad bad[40];
	struct trial t;
	size_t i;

	for (i = 0; i < 40; i++)
		bad[i] = (struct bad){ i * 16 * MIB + 8 * MIB + 5 * UNIT,
			i * 16 * MIB + 12 * MIB + 5 * UNIT };
	bad[30].off += 3 * UNIT;	/* some are not as foretold */
	bad[34].off -= 2 * MIB;
	bad[36].end += MIB;
	trial_begin(&t, size, bad, 40);
	work_off(&t, (struct gaps_fill){ .bad = false }, good / 100 * 99);
	assert_true(t.errors < 40);
	work_off(&t, (struct gaps_fill){ .bad = false }, UINT64_MAX);
	found_exactly(&t);
	trial_end(&t);
}

/* Where only long reads fail, what failed is read at once in short ones. */
CASE(heals)
{
	struct bad bad[40];
	struct trial t;
	size_t i;

	for (i = 0; i < 40; i++)
		bad[i] = (struct bad){ (i + 1) * 3 * MIB,
			(i + 1) * 3 * MIB + 60 * KIB };
	trial_begin(&t, 128 * MIB, bad, 40);
	t.above = 4096;
	work_off(&t, (struct gaps_fill){ .bad = false }, UINT64_MAX);
	assert_int_equal(t.good, 128 * MIB);
	assert_in_range(t.errors, 1, 40 * 7);
	trial_end(&t);
}

CASE(by_words)
{
	struct trial t;

	trial_begin(&t, 16 * MIB, some, 4);
	work_off(&t, (struct gaps_fill){ .words = RESCUE_NOTRIM }, UINT64_MAX);
	assert_true(map_totals(&t.map).failed > 0);
	work_off(&t, (struct gaps_fill){ .words = RESCUE_NOSCRAPE },
	    UINT64_MAX);
	assert_int_equal(map_at(&t.map, 100 * UNIT), BAD);
	work_off(&t, (struct gaps_fill){ .words = RESCUE_NOSWEEP }, UINT64_MAX);
	work_off(&t, (struct gaps_fill){ .words = 0 }, UINT64_MAX);
	found_exactly(&t);
	trial_end(&t);
}

/* Retries go block by block, in their direction. */
CASE(retries_blocks)
{
	unsigned backwards;
	struct trial t;
	struct seg s;

	for (backwards = 0; backwards < 2; backwards++) {
		trial_begin(&t, MIB, NULL, 0);
		assert_int_equal(map_set(&t.map, 0, MIB, FINISHED), 0);
		assert_int_equal(map_set(&t.map, 8 * UNIT, 2 * UNIT, BAD), 0);
		assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){
		    .bad = true, .backwards = backwards == 1 }), 0);
		assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &s),
		    GAPS_ONE);
		assert_int_equal(s.off, (backwards == 1 ? 9 : 8) * UNIT);
		assert_int_equal(s.len, UNIT);
		assert_int_equal(s.status, BAD);
		assert_int_equal(gaps_give(&t.gaps, 0, 0, READ_FAILED), 0);
		assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &s),
		    GAPS_ONE);
		assert_int_equal(s.off, (backwards == 1 ? 8 : 9) * UNIT);
		assert_int_equal(gaps_give(&t.gaps, 0, UNIT, READ_WELL), 0);
		assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &s),
		    GAPS_NONE);
		trial_end(&t);
	}
}

/* Several read on side by side; what follows an error has no good end. */
CASE(side_by_side)
{
	struct trial t;
	struct seg a, b, c;

	trial_begin(&t, 16 * MIB, NULL, 0);
	assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){ .bad =
	    false }), 0);
	assert_int_equal(gaps_take(&t.gaps, 0, true, MOST, &a), GAPS_ONE);
	assert_int_equal(gaps_take(&t.gaps, 1, true, MOST, &b), GAPS_ONE);
	assert_int_equal(b.off, a.off + a.len);
	assert_int_equal(gaps_give(&t.gaps, 1, 0, READ_FAILED), 0);
	assert_int_equal(map_at(&t.map, b.off), UNTRIMMED);
	/* what follows has no good end now: nobody is to read beside */
	assert_int_equal(gaps_take(&t.gaps, 1, true, MOST, &c), GAPS_ALONE);
	assert_int_equal(gaps_give(&t.gaps, 0, a.len, READ_WELL), 0);
	trial_end(&t);
}

/* Others go on behind who is stuck, and it is right when he has read well. */
CASE(left_behind)
{
	struct trial t;
	struct seg a, b;

	trial_begin(&t, 16 * MIB, NULL, 0);
	assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){ .bad =
	    false }), 0);
	assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &a), GAPS_ONE);
	assert_int_equal(gaps_take(&t.gaps, 1, false, MOST, &b), GAPS_NONE);
	assert_int_equal(gaps_leave(&t.gaps, a.off), 0);
	assert_int_equal(gaps_take(&t.gaps, 1, false, MOST, &b), GAPS_ONE);
	assert_true(b.off > a.off + a.len);
	assert_int_equal(map_set(&t.map, b.off, b.len, FINISHED), 0);
	assert_int_equal(gaps_give(&t.gaps, 1, b.len, READ_WELL), 0);
	assert_int_equal(map_set(&t.map, a.off, a.len, FINISHED), 0);
	assert_int_equal(gaps_give(&t.gaps, 0, a.len, READ_WELL), 0);
	while (gaps_take(&t.gaps, 0, false, MOST, &a) == GAPS_ONE) {
		assert_int_equal(map_set(&t.map, a.off, a.len, FINISHED), 0);
		assert_int_equal(gaps_give(&t.gaps, 0, a.len, READ_WELL), 0);
	}
	assert_int_equal(map_totals(&t.map).finished, 16 * MIB);
	trial_end(&t);
}

/* What is slow counts as bad for what follows, but is there. */
CASE(slow_is_left)
{
	struct trial t;
	struct seg a, b;

	trial_begin(&t, 16 * MIB, NULL, 0);
	assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){ .bad =
	    false }), 0);
	assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &a), GAPS_ONE);
	assert_int_equal(gaps_give(&t.gaps, 0, a.len, READ_SLOWLY), 0);
	assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &b), GAPS_ONE);
	assert_true(b.off > a.off + a.len);
	trial_end(&t);
}

/* A short piece that lies in two blocks is two. */
CASE(two_blocks)
{
	const struct bad bad = { 0, 512 };
	struct trial t;

	trial_begin(&t, 700, &bad, 1);
	assert_int_equal(map_set(&t.map, 0, 300, FINISHED), 0);
	work_off(&t, (struct gaps_fill){ .bad = false }, UINT64_MAX);
	assert_true(map_all(&t.map, 300, 212, BAD));
	assert_true(map_all(&t.map, 512, 188, FINISHED));
	trial_end(&t);
}

/* What is left is taken anew from the map: without memory it says so. */
CASE(rests_with_memory)
{
	struct trial t;
	struct seg s;

	trial_begin(&t, 16 * MIB, NULL, 0);
	assert_int_equal(map_set(&t.map, MIB, UNIT, BAD), 0);
	assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){ .bad =
	    false }), 0);
	t.gaps.heap[0].hope = 0;
	t.gaps.dry = 1000;
	t.gaps.room = 0;
	no_memory = true;
	assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &s),
	    GAPS_NO_MEMORY);
	assert_false(gaps_take_on(&t.gaps, 0, false, MOST, &s));
	no_memory = false;
	assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &s),
	    GAPS_NO_MEMORY);
	trial_end(&t);
}

/* Where runs are alike all but the first ones are foretold, however many. */
CASE(pattern_goes_on)
{
	static struct bad bad[512];
	const uint64_t length = 96 * KIB + UNIT;
	struct trial t;
	size_t i;

	for (i = 0; i < 512; i++) {
		bad[i].off = i * (512 * KIB) + 40 * KIB;
		bad[i].end = bad[i].off + length;
	}
	trial_begin(&t, 256 * MIB, bad, 512);
	work_off(&t, (struct gaps_fill){ .bad = false }, (256 * MIB - 512 *
	    length) / 100 * 99);
	assert_in_range(t.errors, 1, 50);
	trial_end(&t);
}

/* A fresh gap is read from its end, and a run is foretold in the middle of it. */
CASE(foretold_before)
{
	struct trial t;
	struct seg s;

	trial_begin(&t, 16 * MIB, NULL, 0);
	assert_int_equal(map_set(&t.map, 0, UNIT, BAD), 0);
	assert_int_equal(map_set(&t.map, 12 * MIB, 4 * MIB, FINISHED), 0);
	t.gaps.forecast.length = MIB;
	t.gaps.forecast.period = 4 * MIB;
	assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){ .bad =
	    false }), 0);
	assert_int_equal(gaps_take(&t.gaps, 0, false, 4 * KIB, &s), GAPS_ONE);
	assert_in_range(s.off, 11 * MIB, 12 * MIB);
	assert_in_range(s.len, 1, 4 * KIB);
	trial_end(&t);
}

/* A run of a pattern that was left out comes behind what promises anything. */
CASE(foretold_last)
{
	struct trial t;
	struct seg s;

	trial_begin(&t, 16 * MIB, NULL, 0);
	assert_int_equal(map_set(&t.map, 0, 16 * MIB, FINISHED), 0);
	assert_int_equal(map_set(&t.map, MIB, MIB, UNTRIED), 0);
	assert_int_equal(map_set(&t.map, 3 * MIB, 6 * UNIT, BAD), 0);
	assert_int_equal(map_set(&t.map, 3 * MIB + UNIT, 4 * UNIT, UNSCRAPED),
	    0);
	t.gaps.forecast.length = MIB;
	assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){ .bad =
	    false }), 0);
	assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &s), GAPS_ONE);
	assert_in_range(s.off, 3 * MIB + UNIT, 3 * MIB + 4 * UNIT);
	trial_end(&t);
}

/* A reader costs no errors, where areas of a few sectors lie close together. */
CASE(reader_meets_no_more)
{
	unsigned errors[2] = { 0, 0 }, seed, reader;
	struct bad bad[300];
	struct trial t;
	size_t i;

	for (seed = 0; seed < 8; seed++)
		for (reader = 0; reader < 2; reader++) {
			srand(seed);
			for (i = 0; i < 300; i++) {
				bad[i].off = (i * 400 + (uint64_t)rand() %
				    390) * UNIT;
				bad[i].end = bad[i].off + ((uint64_t)rand() %
				    (seed / 2 + 1) + 1) * UNIT;
			}
			trial_begin(&t, 60 * MIB, bad, 300);
			t.reader = reader == 1;
			work_off(&t, (struct gaps_fill){ .bad = false },
			    UINT64_MAX);
			found_exactly(&t);
			errors[reader] += t.errors;
			trial_end(&t);
		}
	assert_in_range(errors[1], 1, errors[0] + errors[0] / 50);
}

/* What a reader asks for is read, though the rest of its block is lost. */
CASE(half_a_block)
{
	const struct seg half = { 10 * UNIT, UNIT / 2, UNTRIED };
	struct trial t;
	struct seg s;

	trial_begin(&t, MIB, NULL, 0);
	assert_int_equal(map_set(&t.map, half.off + half.len, UNIT / 2, BAD),
	    0);
	assert_int_equal(gaps_fill(&t.gaps, &(struct gaps_fill){
	    .words = RESCUE_ONDEMAND }), 0);
	gaps_ask(&t.gaps, &half, 1);
	assert_int_equal(gaps_take(&t.gaps, 0, false, MOST, &s), GAPS_ONE);
	assert_int_equal(s.off, half.off);
	assert_int_equal(s.len, half.len);
	trial_end(&t);
}

/* Parts that begin and end within blocks, and nothing that can be read. */
CASE(parts_of_blocks)
{
	const struct bad all = { 0, 64 * KIB };
	unsigned seed, i;
	struct trial t;
	uint64_t off;

	for (seed = 0; seed < 100; seed++) {
		srand(seed);
		trial_begin(&t, all.end, &all, 1);
		for (i = 0; i < 20; i++) {
			off = (uint64_t)rand() % (all.end - UNIT);
			assert_int_equal(map_set(&t.map, off,
			    (uint64_t)rand() % UNIT + 1, i % 2 == 0 ?
			    FINISHED : OUTSIDE), 0);
		}
		work_off(&t, (struct gaps_fill){ .backwards = seed % 2 == 1 },
		    UINT64_MAX);
		assert_int_equal(map_totals(&t.map).untried, 0);
		assert_int_equal(map_totals(&t.map).failed, 0);
		trial_end(&t);
	}
}

/*
 * Damage of 64 KiB, or nearly, on a disk of which parts are not wanted, in reads
 * of all sizes that may end early: no read is longer than the buffer, all that
 * is good is read once, and nothing again that has failed.
 */
CASE(by_chance)
{
	static const uint64_t most[] = { 4 * KIB, 48 * KIB, 80 * KIB, MIB };
	uint64_t grain = 64 * KIB, at, end, shift;
	struct bad bad[64];
	struct trial t;
	unsigned seed;
	size_t n, i;

	for (seed = 0; seed < 400; seed++) {
		srand(seed);
		shift = (uint64_t)(rand() % 128) * UNIT;
		n = 0;
		for (at = 0; at < 60; at += (uint64_t)rand() % 4 + 1) {
			bad[n].off = at * grain + grain - shift;
			bad[n].end = bad[n].off + (rand() % 40 > 0 ? grain :
			    (uint64_t)(rand() % 127 + 1) * UNIT);
			n++;
		}
		trial_begin(&t, 4 * MIB, bad, n);
		t.gaps.off = shift;
		t.most = most[rand() % 4];
		t.shorts = rand() % 2 == 0;
		t.above = rand() % 8 == 0 ? 4 * KIB : 0;
		for (i = 0; i < 4 && seed % 3 == 0; i++) {
			at = (uint64_t)rand() % (4 * MIB - grain);
			end = at + (uint64_t)rand() % grain + 1;
			assert_int_equal(map_set(&t.map, at, end - at,
			    i % 2 == 0 ? OUTSIDE : FINISHED), 0);
		}
		work_off(&t, (struct gaps_fill){ .backwards = seed % 2 == 1 },
		    UINT64_MAX);
		assert_int_equal(map_totals(&t.map).untried, 0);
		assert_int_equal(map_totals(&t.map).failed, 0);
		if (t.above > 0)
			assert_int_equal(map_totals(&t.map).bad, 0);
		else if (seed % 3 != 0)
			found_exactly(&t);
		trial_end(&t);
	}
}
