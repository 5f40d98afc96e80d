/*
 * The verdict on a run: its status and its sentence, from the map, the faults
 * and what was wanted.
 */
#include "test.h"

#include <jansson.h>
#include <signal.h>

#include "../../src/html/report_data.h"
#include "base/escape.h"
#include "part/used.h"
#include "record/events.h"
#include "report/report.h"
#include "said.h"
#include "copy/verdict.h"

#define BLOCK	((uint64_t)512)

enum { LENGTH = 1 << 20 };

static struct opts o;
static struct endpoint src, dst;
static struct plan p;
static struct used used;
static struct outcome out;
static struct result target;

static int
set_up(void **state)
{
	o = (struct opts){ .sync = 1, .map = "m", .manifest = "sums",
		.maxerrors = -1 };
	src = (struct endpoint){ .name = "here", .geo.size = LENGTH };
	dst = (struct endpoint){ .name = "there", .geo.size = LENGTH,
		.is.durable = true };
	p = (struct plan){ .opts = &o, .src = &src, .dst = &dst, .bs = BLOCK,
		.block = BLOCK, .length = LENGTH, .pad = 1, .grain = BLOCK };
	used = (struct used){ .leaves = true, .n = 1, .frees = 1,
		.bytes_free = LENGTH, .length = (uint64_t)4 * LENGTH };
	target = (struct result){ .unread = false };
	out = (struct outcome){ .gone_at = UINT64_MAX, .target = &target,
		.targets = 1 };
	return map_init(&out.map, LENGTH, LENGTH, 0) != 0 ||
	    map_init(&target.differ, LENGTH, LENGTH, 0) != 0 ||
	    map_set(&out.map, 0, LENGTH, FINISHED) != 0;
}

static int
tear_down(void **state)
{
	map_free(&out.map);
	map_free(&target.differ);
	return 0;
}

EACH(set_up, tear_down)

static void
is(int status, const char *text)
{
	struct fault f;

	verdict_make(&p, &out);
	verdict_words(&f, &p, &out);
	assert_string_equal(f.text, text);
	assert_int_equal(f.status, status);
	assert_int_equal(out.status, status);
}

static void
lost(uint64_t off, uint64_t len, enum seg_status status)
{
	assert_int_equal(map_set(&out.map, off, len, status), 0);
}

static void
differs(uint64_t off, uint64_t len)
{
	assert_int_equal(map_set(&target.differ, off, len, BAD), 0);
}

/* ------------------------------------------------------------------ complete */

CASE(is_complete)
{
	is(0, "complete, flushed");
	p.verify = VERIFY_AFTER;
	target.proven = true;
	is(0, "complete, flushed, verified");
	dst.is.durable = false;
	is(0, "complete, nothing to flush, verified");
	p.verify = 0;
	is(0, "complete, nothing to flush");
	dst.is.durable = true;
	o.sync = 0;
	is(0, "complete, not flushed");
	p.work = WORK_COMPARE;
	is(0, "complete, nothing differs");
	p.work = WORK_CHECK;
	is(0, "complete, all is as in sums");
}

CASE(tells_what_was_left_out)
{
	p.used = &used;
	is(0, "complete, flushed, without 1.0 MB that 1 file system calls "
	    "free");
	used.frees = 2;
	is(0, "complete, flushed, without 1.0 MB that 2 file systems call "
	    "free");
	used.spare = true;
	is(0, "complete, flushed, without 1.0 MB that 2 file systems call "
	    "free or no volume has");
	used.frees = 0;
	is(0, "complete, flushed, without 1.0 MB that no volume has");
	used.n = 0;
	is(0, "complete, flushed");
	used.n = 1;
	used.bytes_free = 0;
	is(0, "complete, flushed");
	used.bytes_free = LENGTH;
	used.leaves = false;
	is(0, "complete, flushed");
	used.leaves = true;
	o.domain = "d";
	lost(0, LENGTH / 2, OUTSIDE);
	is(0, "complete, flushed, within domain=d: 0.5 of 1.0 MB");
	lost(0, LENGTH - 1, OUTSIDE);
	is(0, "complete, flushed, within domain=d: 1 of 1048576 bytes");
	dst.is.durable = false;
	is(0, "complete, nothing to flush, within domain=d: 1 of 1048576 "
	    "bytes");
	dst.is.durable = true;
	o.domain = NULL;
	o.bmap = "b";
	used.leaves = false;
	is(0, "complete, flushed, all as in b: 3.1 of 4.2 MB");
	o.looks = true;
	o.bmap = NULL;
	o.usedmap = "u";
	is(0, "complete, u: 3.1 of 4.2 MB are used");
}

/* ---------------------------------------------------------------- differences */

CASE(tells_what_is_not_verified)
{
	p.verify = VERIFY_AFTER;
	is(STATUS_MISMATCH, "NOT complete: not all that was copied to there "
	    "could be verified");
	differs(0, BLOCK);
	is(STATUS_MISMATCH, "NOT complete: 512 bytes in 1 range of there are "
	    "not what was written there");
	target.proven = true;
	differs(2 * BLOCK, BLOCK);
	is(STATUS_MISMATCH, "NOT complete: 1024 bytes in 2 ranges of there are "
	    "not what was written there");
}

CASE(tells_what_differs)
{
	p.work = WORK_COMPARE;
	differs(0, BLOCK);
	is(STATUS_MISMATCH, "NOT the same: 512 bytes in 1 range differ");
	out.longer = &dst;
	differs(2 * BLOCK, BLOCK);
	is(STATUS_MISMATCH, "NOT the same: 1024 bytes in 2 ranges differ, and "
	    "there is longer");
	p.work = WORK_CHECK;
	is(STATUS_MISMATCH, "NOT as in sums: 1024 bytes in 2 ranges");
}

CASE(tells_which_is_longer)
{
	p.work = WORK_COMPARE;
	out.longer = &dst;
	is(STATUS_MISMATCH, "NOT the same: there is longer, and the other is "
	    "empty");
	out.tally.lost = BLOCK;
	is(STATUS_MISMATCH, "NOT the same: there is longer, and nothing could "
	    "be compared");
	out.tally.verified = LENGTH;
	is(STATUS_MISMATCH, "NOT the same: there is longer; the 1048576 bytes "
	    "that could be compared are the same");
	out.tally.lost = 0;
	dst.geo.size = -1;
	is(STATUS_MISMATCH, "NOT the same: there is longer; the 1048576 bytes "
	    "that both have are the same");
	dst.geo.size = LENGTH + 1;
	is(STATUS_MISMATCH, "NOT the same: there has 1048577 bytes, here "
	    "1048576; the first 1048576 bytes are the same: count=2048 "
	    "compares those");
	out.longer = &src;
	out.tally.verified = 100;
	src.geo.size = LENGTH + 2;
	dst.geo.size = 0;
	p.dst_off = 1;
	is(STATUS_MISMATCH, "NOT the same: here has 1048578 bytes, there 0; "
	    "the 100 bytes are the same: count=100 iflag=count_bytes compares "
	    "those");
}

/* ------------------------------------------------------------- what is lost */

CASE(counts_unreadable_blocks)
{
	lost(BLOCK, BLOCK, BAD);
	is(STATUS_UNREADABLE, "NOT complete: 1 unreadable block in 1 range");
	lost(4 * BLOCK, 2 * BLOCK, BAD);
	is(STATUS_UNREADABLE, "NOT complete: 3 unreadable blocks in 2 ranges");
	p.src_off = BLOCK / 2;		/* each reaches into one more */
	is(STATUS_UNREADABLE, "NOT complete: 5 unreadable blocks in 2 ranges");
}

CASE(says_how_a_rescue_goes_on)
{
	p.work = WORK_RESCUE;
	lost(0, BLOCK, BAD);
	is(STATUS_UNREADABLE, "NOT complete: 512 bytes could not be read; m "
	    "shows where, and the same command with retries=1 tries again");
	o.retries = 1;
	is(STATUS_UNREADABLE, "NOT complete: 512 bytes could not be read; m "
	    "shows where, and the same command tries again");
	lost(BLOCK, BLOCK, UNTRIMMED);
	is(STATUS_UNREADABLE, "NOT complete: 1024 bytes could not be read; m "
	    "shows where, and the same command without rescue= "
	    "resumes the copy");
	o.rescue = RESCUE_NOSWEEP;
	lost(LENGTH / 2, BLOCK, UNTRIED);
	is(STATUS_UNREADABLE, "NOT complete: 1024 bytes could not be read, and "
	    "512 between them were not tried, with rescue=nosweep; m shows "
	    "where, and the same command without it tries the rest");
	o.rescue = RESCUE_ONDEMAND;
	is(STATUS_UNREADABLE, "NOT complete: 1024 bytes could not be read, and "
	    "512 were not asked for, with rescue=ondemand; m shows where, and "
	    "the same command without it reads the rest");
	lost(0, 2 * BLOCK, FINISHED);
	is(STATUS_UNREADABLE, "NOT complete: 512 bytes were not asked for, "
	    "with rescue=ondemand; m shows where, and the same command "
	    "without it reads the rest");
	o.rescue = 0;
	is(STATUS_FILE, "NOT complete: 512 bytes were not copied");
}

/* One that has ended early, with one bad range and some to do. */
CASE(says_that_it_goes_on)
{
	p.work = WORK_RESCUE;
	lost(0, BLOCK, BAD);
	fault_set(&out.fault, STATUS_UNREADABLE, "stopped");
	is(STATUS_UNREADABLE, "NOT complete: stopped");
	lost(BLOCK, BLOCK, UNTRIED);
	is(STATUS_UNREADABLE, "NOT complete: stopped; the same command resumes "
	    "the copy");
	lost(BLOCK, BLOCK, UNTRIMMED);
	o.maxerrors = 1;
	is(STATUS_UNREADABLE, "NOT complete: stopped; the same command resumes "
	    "the copy");
	o.maxerrors = 0;
	is(STATUS_UNREADABLE, "NOT complete: stopped; the same command with a "
	    "larger maxerrors= resumes the copy");
	out.flush.status = STATUS_FILE;
	is(STATUS_UNREADABLE, "NOT complete: stopped");
	out.flush.status = 0;
	p.work = WORK_COPY;
	is(STATUS_UNREADABLE, "NOT complete: stopped");
}

CASE(says_that_the_map_was_not_saved)
{
	p.work = WORK_RESCUE;
	fault_set(&out.unsaved, STATUS_FILE, "disk full");
	is(STATUS_FILE, "all was copied, but m was not saved: disk full");
	lost(0, BLOCK, BAD);
	lost(BLOCK, BLOCK, UNTRIMMED);
	is(STATUS_FILE, "NOT complete: 1024 bytes could not be read, and m was "
	    "not saved: disk full");
	fault_set(&out.fault, STATUS_MEDIUM, "torn");
	is(STATUS_MEDIUM, "NOT complete: torn; m was not saved: disk full");
	out.fault = out.unsaved;
	is(STATUS_FILE, "NOT complete: disk full; m was not saved: disk full");
	out.fault.by = out.unsaved.by = TOLD_OF_MAP;
	is(STATUS_FILE, "NOT complete: disk full");
}

/* ------------------------------------------------------------ stopped early */

CASE(tells_what_stopped_it)
{
	fault_set(&out.fault, STATUS_MEDIUM, "torn");
	is(STATUS_MEDIUM, "NOT complete: torn");
	out.fault.status = 0;
	fault_set(&out.flush, STATUS_FILE, "there: flush");
	is(STATUS_NOT_FLUSHED, "NOT complete: there: flush; the copy may not "
	    "be on the medium");
	out.flush.status = 0;
	p.counted = true;
	is(0, "complete, flushed");
	p.length++;
	is(STATUS_SHORT, "NOT complete: here ended after 1048576 of 1048577 "
	    "bytes");
	p.counted = false;
	fault_set(&out.outputs, STATUS_FILE, "no room");
	is(STATUS_FILE, "all was copied, but not recorded: no room");
}

CASE(takes_nothing_from_a_pipe_for_a_failure)
{
	map_end(&out.map, 0);
	src.is.piped = true;
	is(STATUS_SHORT, "NOT complete: the source was empty: nothing came "
	    "from here for there");
	dst.kind = END_DISCARD;
	is(0, "complete, flushed");
	dst.kind = END_FILE;
	dst.geo.size = 0;
	is(0, "complete, flushed");
	dst.is.device = true;
	is(STATUS_SHORT, "NOT complete: the source was empty: nothing came "
	    "from here for there");
	dst.is.device = false;
	dst.lim.base = 1;
	is(STATUS_SHORT, "NOT complete: the source was empty: nothing came "
	    "from here for there");
	p.src_off = 1;
	is(0, "complete, flushed");
	p.src_off = 0;
	p.work = WORK_COMPARE;
	is(0, "complete, nothing differs");
}

CASE(puts_a_signal_first)
{
	out.signal = SIGINT;
	is(128 + SIGINT, "stopped by SIGINT, after all was copied");
	p.work = WORK_CHECK;
	is(128 + SIGINT, "stopped by SIGINT, after all was checked");
	p.work = WORK_COMPARE;
	is(128 + SIGINT, "stopped by SIGINT, after all was compared");
	differs(0, BLOCK);
	is(128 + SIGINT, "stopped by SIGINT, after all was compared; NOT the "
	    "same: 512 bytes in 1 range differ");
	p.work = WORK_COPY;
	p.verify = VERIFY_AFTER;
	is(128 + SIGINT, "NOT complete: stopped by SIGINT, after all was "
	    "copied, but not all verified");
	fault_set(&out.flush, STATUS_FILE, "there: flush");
	is(128 + SIGINT, "NOT complete: stopped by SIGINT; there: flush");
	lost(0, BLOCK, UNTRIED);
	is(128 + SIGINT, "NOT complete: stopped by SIGINT");
	p.work = WORK_RESCUE;		/* the map was not saved, either */
	is(128 + SIGINT, "NOT complete: stopped by SIGINT");
	out.flush.status = 0;
	is(128 + SIGINT, "NOT complete: stopped by SIGINT; the same command "
	    "resumes the copy");
	fault_set(&out.unsaved, STATUS_FILE, "disk full");
	is(128 + SIGINT, "NOT complete: stopped by SIGINT; m was not saved: "
	    "disk full");
	out.unsaved.status = 0;
	fault_set(&out.fault, STATUS_MEDIUM, "torn");
	is(128 + SIGINT, "NOT complete: stopped by SIGINT; torn");
}

CASE(leaves_who_does_not_answer)
{
	struct silence *s = &out.tally.silence;

	out.abandoned = true;
	out.signal = SIGTERM;
	is(128 + SIGTERM, "NOT complete: stopped by SIGTERM; quit after 10 s "
	    "with transfers in flight");
	s->end = &dst;
	is(128 + SIGTERM, "NOT complete: stopped by SIGTERM; quit after 10 s "
	    "without an answer from there");
	s->flush = true;
	is(128 + SIGTERM, "NOT complete: stopped by SIGTERM; quit after 10 s "
	    "while there was being flushed");
	out.signal = 0;
	fault_set(&out.fault, STATUS_FILE, "too warm");
	is(STATUS_FILE, "NOT complete: too warm; quit after 10 s while there "
	    "was being flushed");
	p.work = WORK_RESCUE;
	is(STATUS_FILE, "NOT complete: too warm; quit after 10 s while there "
	    "was being flushed; m is saved");
	fault_set(&out.unsaved, STATUS_FILE, "disk full");
	is(STATUS_FILE, "NOT complete: too warm; quit after 10 s while there "
	    "was being flushed; m was not saved: disk full");
	out.again = out.signal = SIGINT;
	is(128 + SIGINT, "NOT complete: quit at a second SIGINT, with "
	    "transfers in flight");
	out.again = SIGTERM;
	is(128 + SIGINT, "NOT complete: stopped by SIGINT; quit at SIGTERM, "
	    "with transfers in flight");
}

/* ---------------------------------------------------------------- the status */

/* As the manual has it in EXIT STATUS; within a line, in this order. */
static const enum why precedence[] = {
	WHY_REFUSED, WHY_USAGE,			/* 101, 1 */
	WHY_LEFT, WHY_SIGNAL, WHY_FAULT,	/* what stopped it */
	WHY_SHORT, WHY_EMPTY,			/* 102 */
	WHY_FLUSH,				/* 103 */
	WHY_UNSWEPT, WHY_UNTRIED,		/* it was not finished */
	WHY_UNSAVED,				/* the map */
	WHY_UNVERIFIED, WHY_DIFFERS, WHY_LONGER,	/* a difference: 14 */
	WHY_UNREADABLE,				/* 100 */
	WHY_CHECKSUM, WHY_DIGEST,		/* a digest: 14 */
	WHY_UNRECORDED,				/* a file */
};

CASE(takes_the_status_of_the_first_reason)
{
	const size_t n = sizeof(precedence) / sizeof(precedence[0]);
	struct reason r[2];
	size_t i, j;

	assert_int_equal(n, WHY_KINDS);
	assert_int_equal(verdict_judge(r, 0), 0);
	for (i = 0; i < n; i++)
		for (j = i + 1; j < n; j++) {
			r[0] = (struct reason){ .kind = precedence[i],
				.status = 1 + (int)i };
			r[1] = (struct reason){ .kind = precedence[j],
				.status = 1 + (int)j };
			assert_int_equal(verdict_judge(r, 2), 1 + i);
			r[0].kind = precedence[j];
			r[1].kind = precedence[i];
			assert_int_equal(verdict_judge(r, 2), 1 + j);
			assert_int_equal(verdict_judge(r, 1), 1 + i);
		}
}

/* ------------------------------------------------------- text, JSON and page */

static uint64_t dice = 20261127;

/* True once in n times. */
static bool
chance(unsigned n)
{
	dice = dice * UINT64_C(6364136223846793005) + 1;
	return (dice >> 33) % n == 0;
}

static void
fault_by_chance(struct fault *f, int status, const char *text)
{
	f->status = 0;
	if (chance(4))
		fault_set(f, status, "%s", text);
}

static void
outcome_by_chance(void)
{
	p.work = chance(2) ? WORK_COPY : chance(2) ? WORK_RESCUE : chance(2) ?
	    WORK_COMPARE : WORK_CHECK;
	p.verify = p.work == WORK_COPY && chance(2);
	o.sync = !chance(3);
	o.retries = chance(2);
	o.rescue = p.work == WORK_RESCUE && chance(3) ? RESCUE_NOSWEEP : 0;
	dst.is.durable = !chance(3);
	src.is.piped = chance(3);
	out.signal = chance(4) ? SIGINT : 0;
	fault_by_chance(&out.fault, STATUS_MEDIUM, "torn <here>");
	fault_by_chance(&out.flush, STATUS_FILE, "there: flush");
	fault_by_chance(&out.outputs, STATUS_ERRNO, "no \"room\" & more");
	if (p.work == WORK_RESCUE)
		fault_by_chance(&out.unsaved, STATUS_FILE, "full");
	if (chance(3))
		lost(BLOCK, BLOCK, BAD);
	if (p.work == WORK_RESCUE && chance(3))
		lost(8 * BLOCK, BLOCK, UNTRIMMED);
	if (chance(4))
		lost(16 * BLOCK, BLOCK, UNTRIED);
	if (chance(5))
		map_end(&out.map, 0);
	p.counted = chance(3);
	target.proven = chance(2);
	target.unread = chance(2);
	if (chance(3))
		differs(0, BLOCK);
	out.longer = p.work == WORK_COMPARE && chance(3) ? &dst : NULL;
	out.abandoned = chance(8);
	out.again = out.abandoned && out.signal != 0 && chance(2) ? SIGTERM : 0;
	out.stuck = out.abandoned && out.fault.status != 0 && chance(2);
	if (out.abandoned && out.signal + out.fault.status == 0)
		out.signal = SIGTERM;
}

/* The same, by what the manual says. */
static int
status_by_manual(void)
{
	struct map_totals t = map_totals(&out.map);
	uint64_t bad = map_totals(&target.differ).bad;

	if (out.signal != 0 && !(out.abandoned && out.stuck &&
	    out.again == 0))
		return STATUS_SIGNAL + out.signal;
	if (out.fault.status != 0)
		return out.fault.status;
	if ((p.counted && t.end < p.length) || (src.is.piped && t.end == 0 &&
	    !p.counted && p.work != WORK_COMPARE))
		return STATUS_SHORT;
	if (out.flush.status != 0)
		return STATUS_NOT_FLUSHED;
	if (t.untried > 0)
		return o.rescue != 0 ? STATUS_UNREADABLE : STATUS_FILE;
	if (out.unsaved.status != 0)
		return out.unsaved.status;
	if (bad > 0 || out.longer != NULL || (p.verify != 0 && !target.proven))
		return STATUS_MISMATCH;
	return t.bad + t.failed > 0 ? STATUS_UNREADABLE : out.outputs.status;
}

static void
is_said_in_text(const char *text)
{
	char want[sizeof(struct fault) + 10];
	const char *all = out.abandoned ? SAID(report_abandoned(&p, &out)) :
	    SAID(report_end(&p, &out));
	size_t n = (size_t)snprintf(want, sizeof(want), "pardd: %s\n", text);

	assert_true(strlen(all) >= n);
	assert_string_equal(all + strlen(all) - n, want);
}

/* The status is that of the first reason by the order of the manual. */
static int
status_in_json(const json_t *reasons)
{
	static const char *const kinds[] = { "left", "signal", "fault",
		"short", "empty", "not_flushed", "not_swept", "not_tried",
		"map_not_saved", "not_verified", "differs", "longer",
		"unreadable", "checksum", "digest", "not_recorded" };
	json_t *r;
	size_t i;

	EACH_OF(k, kinds)
		json_array_foreach(reasons, i, r)
			if (strcmp(json_string_value(json_object_get(r,
			    "kind")), kinds[k]) == 0)
				return (int)json_integer_value(
				    json_object_get(r, "status"));
	return 0;
}

static void
is_said_in_json(const struct fault *v, const char *path)
{
	struct events ev;
	struct fault f;
	json_t *line;

	assert_int_equal(truncate(path, 0), 0);
	events_begin(&ev, &o);
	assert_int_equal(events_open(&ev, &f), 0);
	events_result(&ev, &p, &out);
	events_close(&ev);
	line = json_load_file(path, 0, NULL);
	assert_non_null(line);
	assert_string_equal(json_string_value(json_object_get(line,
	    "message")), v->text);
	assert_int_equal(json_integer_value(json_object_get(line, "status")),
	    v->status);
	assert_int_equal(status_in_json(json_object_get(line, "reasons")),
	    v->status);
	json_decref(line);
}

static void
is_said_in_page(const struct fault *v)
{
	static struct report_data d;
	static char want[8 << 10];
	FILE *text = fmemopen(want, sizeof(want), "w");
	size_t size;
	char *page;
	FILE *to = open_memstream(&page, &size);

	d = (struct report_data){ .p = &p, .out = &out, .length = LENGTH };
	assert_true(text != NULL && to != NULL);
	fprintf(text, "<p class=\"verdict %s\">", v->status == 0 ? "good" :
	    "ill");
	escape_markup(text, v->text, sizeof(v->text));
	fputs("</p>\n", text);
	fclose(text);
	report_html(to, &d);
	fclose(to);
	assert_non_null(strstr(page, want));
	free(page);
}

CASE(says_the_same_everywhere)
{
	char path[] = "/tmp/pardd-unit.XXXXXX";
	struct fault f;
	int fd = mkstemp(path), i;

	assert_true(fd >= 0);
	close(fd);
	for (i = 0; i < 1000; i++) {
		tear_down(state);
		assert_int_equal(set_up(state), 0);
		o.json = path;
		outcome_by_chance();
		verdict_make(&p, &out);
		verdict_words(&f, &p, &out);
		assert_int_equal(f.status, status_by_manual());
		assert_int_equal(out.status, f.status);
		assert_int_equal(strncmp(f.text, "complete", 8) == 0,
		    f.status == 0);
		is_said_in_text(f.text);
		is_said_in_json(&f, path);
		is_said_in_page(&f);
	}
	unlink(path);
}
