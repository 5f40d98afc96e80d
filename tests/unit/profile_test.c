/*
 * Measuring requests: bins that get wider, buckets of latencies, and the time
 * credited to each answer.
 */
#include "report/profile.h"

#include "end/backend.h"

#include "test.h"

static const uint64_t MS = 1000000;	/* ns */

struct rig {			/* a plan with two workers and their lanes */
	struct opts	 o;
	struct endpoint	 src, dst;
	struct plan	 p;
	struct profile	*pr;
	struct lane	 lane[2];	/* to the source */
	struct lane	 out;
	struct gauge	 sum;
};

static int
setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	unsigned i;

	assert_non_null(r);
	r->o.time = 1;
	r->src = (struct endpoint){ .be = &file_backend, .spec.role = SOURCE };
	r->dst = (struct endpoint){ .be = &file_backend, .spec.role = TARGET };
	r->p = (struct plan){ .opts = &r->o, .src = &r->src, .dst = &r->dst,
		.length = INT64_MAX, .chunk = 1 << 20, .workers = 2,
		.src_off = 512 };
	assert_int_equal(profile_new(&r->pr, &r->p), 0);
	for (i = 0; i < 2; i++) {
		r->lane[i].ep = &r->src;
		gauge_lane(r->pr, i, &r->lane[i]);
	}
	r->out.ep = &r->dst;
	gauge_lane(r->pr, 0, &r->out);
	*state = r;
	return 0;
}

static int
teardown(void **state)
{
	struct rig *r = *state;

	gauge_free(r->pr);
	free(r);
	return 0;
}

EACH(setup, teardown)

/* A request from ms to ms of the run. */
static void
note(struct rig *r, struct lane *lane, enum op op, uint64_t off, size_t len,
    uint64_t from, uint64_t to)
{
	struct io io = { .op = op, .off = off, .len = len, .done = len };

	gauge_begin(lane, &io, r->pr->start + from * MS);
	gauge_note(lane, &io, r->pr->start + to * MS);
}

CASE(bins_get_wider)
{
	struct rig *r = *state;
	const uint64_t far = UINT64_C(1) << 40;
	uint64_t bytes = 0;
	unsigned i;

	note(r, &r->lane[0], OP_READ, 512, 1 << 20, 0, 1);
	note(r, &r->lane[1], OP_READ, 512 + (1 << 20), 1 << 20, 1, 2);
	note(r, &r->lane[0], OP_READ, 512 + far, 1 << 20, 2, 3);
	assert_true(profile_sum(r->pr, SERIES_SOURCE, &r->sum));
	assert_true(r->sum.width * PROFILE_BINS > far);
	assert_true(r->sum.width * PROFILE_BINS <= 4 * far);
	assert_int_equal(r->sum.bin[0].bytes, 2 << 20);
	assert_int_equal(r->sum.bin[0].requests, 2);
	assert_int_equal(r->sum.bin[far / r->sum.width].bytes, 1 << 20);
	for (i = 0; i < PROFILE_BINS; i++)
		bytes += r->sum.bin[i].bytes;
	assert_int_equal(bytes, 3 << 20);
	assert_int_equal(r->sum.all.bytes, 3 << 20);
	assert_int_equal(profile_extent(&r->sum, &r->p),
	    (far / r->sum.width + 1) * r->sum.width);
}

CASE(slots_get_wider)
{
	struct rig *r = *state;
	uint64_t day = UINT64_C(24) * 3600 * 1000;

	note(r, &r->lane[0], OP_READ, 512, 100, 0, 1);
	note(r, &r->lane[1], OP_READ, 512, 200, 0, day);
	assert_true(profile_sum(r->pr, SERIES_SOURCE, &r->sum));
	assert_int_equal(r->sum.slot[0], 100);
	assert_int_equal(r->sum.slot[day * MS / r->sum.tick], 200);
	assert_true(r->sum.tick * PROFILE_SLOTS > day * MS);
}

CASE(buckets_have_no_gaps)
{
	unsigned i;

	assert_int_equal(gauge_bucket(0), 0);
	for (i = 4; i < PROFILE_BUCKETS; i++) {
		double from = (double)gauge_bucket(i);
		double to = (double)gauge_bucket(i + 1);

		assert_true(to > from && to <= from * 1.2501);
	}
	assert_true(gauge_bucket(PROFILE_BUCKETS) > UINT64_C(1000) * MS);
}

CASE(latencies_fall_into_their_buckets)
{
	struct rig *r = *state;
	unsigned i, n = 0;
	uint64_t ns;

	for (ns = 1; ns < UINT64_C(1000) * 1000 * MS; ns += ns / 7 + 1, n++) {
		struct io io = { .op = OP_READ, .off = 512, .done = 1 };

		gauge_begin(&r->lane[0], &io, r->pr->start);
		gauge_note(&r->lane[0], &io, r->pr->start + ns);
		profile_sum(r->pr, SERIES_SOURCE, &r->sum);
		for (i = 0; ns >= gauge_bucket(i + 1); i++)
			continue;
		assert_true(r->sum.latency[i] > 0);
		r->pr->gauge[0].latency[i] = 0;
	}
	assert_true(n > 100);
	assert_int_equal(r->sum.all.requests, n);
	assert_int_equal(r->sum.least, 1);
}

CASE(percentiles_are_near)
{
	static const double parts[] = { 0.01, 0.1, 0.5, 0.9, 0.99, 0.999 };
	struct rig *r = *state;
	unsigned i;

	for (i = 1; i <= 10000; i++)
		note(r, &r->lane[i % 2], OP_READ, 512, 1, 0, i);
	assert_true(profile_sum(r->pr, SERIES_SOURCE, &r->sum));
	EACH_OF(k, parts) {
		double want = parts[k] * 10000 * (double)MS;
		double got = profile_percentile(&r->sum, parts[k]);

		assert_true(got > want * 0.98 && got < want * 1.02);
	}
	assert_true(profile_percentile(&r->sum, 0) >= (double)MS);
	assert_true(profile_percentile(&r->sum, 1) <= 10000 * (double)MS);
}

CASE(the_slowest_are_kept)
{
	struct rig *r = *state;
	unsigned i;

	for (i = 0; i < 1000; i++)
		note(r, &r->lane[i % 2], OP_READ, 512 + i, 1, 0,
		    (i * 7919) % 1000 + 1);
	assert_true(profile_sum(r->pr, SERIES_SOURCE, &r->sum));
	assert_int_equal(r->sum.slows, PROFILE_SLOW);
	for (i = 0; i < PROFILE_SLOW; i++)
		assert_int_equal(r->sum.slow[i].ns, (1000 - i) * MS);
}

/* Two at once, then nothing for a while, then one. */
CASE(time_is_credited_once)
{
	struct rig *r = *state;
	struct io a = { .op = OP_READ, .off = 512, .len = 1, .done = 1 };
	struct io b = a;
	uint64_t start = r->pr->start;

	gauge_begin(&r->lane[0], &a, start + MS);
	gauge_begin(&r->lane[1], &b, start + 2 * MS);
	gauge_note(&r->lane[1], &b, start + 6 * MS);
	gauge_note(&r->lane[0], &a, start + 10 * MS);
	gauge_begin(&r->lane[1], &b, start + 20 * MS);
	gauge_note(&r->lane[1], &b, start + 24 * MS);
	assert_true(profile_sum(r->pr, SERIES_SOURCE, &r->sum));
	assert_int_equal(r->sum.all.wall, 23 * MS);
	assert_int_equal(r->sum.all.busy, 9 * MS + 4 * MS);
	assert_int_equal(r->sum.all.spent, 9 * MS + 4 * MS + 4 * MS);
	assert_int_equal(r->pr->gauge[0].all.busy, MS + 2 * MS + 4 * MS);
	assert_int_equal(r->pr->meter[SERIES_SOURCE].flying, 0);
}

/* Eight, whose answers are looked at together. */
CASE(time_is_shared_alike)
{
	struct rig *r = *state;
	struct io io[8];
	unsigned i;

	for (i = 0; i < 8; i++) {
		io[i] = (struct io){ .op = OP_READ, .len = 1, .done = 1,
			.off = 512 + ((uint64_t)i << 20) };
		gauge_begin(&r->lane[0], &io[i], r->pr->start);
	}
	for (i = 0; i < 8; i++)
		gauge_note(&r->lane[0], &io[i], r->pr->start + 16 * MS + i);
	assert_true(profile_sum(r->pr, SERIES_SOURCE, &r->sum));
	for (i = 0; i < 8; i++) {
		assert_true(r->sum.bin[i].busy >= 2 * MS);
		assert_true(r->sum.bin[i].busy < 2 * MS + 10);
	}
}

CASE(series_are_apart)
{
	struct rig *r = *state;
	struct endpoint none = { .be = &null_backend, .kind = END_DISCARD };
	struct lane lane = { .ep = &none };

	gauge_lane(r->pr, 0, &lane);
	assert_null(lane.gauge);

	note(r, &r->lane[0], OP_READ, 512, 1, 0, 1);
	note(r, &r->out, OP_WRITE, 0, 2, 0, 1);
	note(r, &r->out, OP_ZERO, 0, 8, 0, 1);
	note(r, &r->out, OP_READ, 0, 4, 0, 1);
	assert_true(profile_sum(r->pr, SERIES_SOURCE, &r->sum));
	assert_int_equal(r->sum.all.bytes, 1);
	assert_true(profile_sum(r->pr, SERIES_TARGET, &r->sum));
	assert_int_equal(r->sum.all.bytes, 2);
	assert_true(profile_sum(r->pr, SERIES_VERIFY, &r->sum));
	assert_int_equal(r->sum.all.bytes, 4);
}

/* The bins of a stream end with the last that is used. */
CASE(extent_is_what_was_used)
{
	struct rig *r = *state;

	profile_sum(r->pr, SERIES_SOURCE, &r->sum);
	assert_int_equal(profile_extent(&r->sum, &r->p), r->sum.width);
	note(r, &r->lane[0], OP_READ, 512, 1, 0, 1);
	profile_sum(r->pr, SERIES_SOURCE, &r->sum);
	assert_int_equal(profile_extent(&r->sum, &r->p), r->sum.width);
	note(r, &r->lane[0], OP_READ, 512 + r->sum.width, 1, 0, 1);
	profile_sum(r->pr, SERIES_SOURCE, &r->sum);
	assert_int_equal(profile_extent(&r->sum, &r->p), 2 * r->sum.width);
	r->p.bounded = true;
	assert_true(profile_extent(&r->sum, &r->p) == INT64_MAX);
}

/* No request, one, and one that took longer than any bucket says. */
CASE(few_have_percentiles)
{
	struct rig *r = *state;
	const uint64_t day = UINT64_C(24) * 3600 * 1000;

	profile_sum(r->pr, SERIES_SOURCE, &r->sum);
	assert_true(profile_percentile(&r->sum, 0.5) <= 0);
	note(r, &r->lane[0], OP_READ, 512, 1, 0, 3);
	profile_sum(r->pr, SERIES_SOURCE, &r->sum);
	assert_true((uint64_t)profile_percentile(&r->sum, 0.5) == 3 * MS);
	note(r, &r->lane[0], OP_READ, 512, 1, 0, day);
	profile_sum(r->pr, SERIES_SOURCE, &r->sum);
	assert_int_equal(r->sum.latency[PROFILE_BUCKETS - 1], 1);
	assert_true(profile_percentile(&r->sum, 1) <= (double)(day * MS));
	assert_true(profile_percentile(&r->sum, 1) > 1e12);
}

CASE(no_time_has_no_rate)
{
	assert_true(profile_rate(1000, 0) <= 0);
	assert_int_equal((int)profile_rate(1000, 500000000), 2000);
}
