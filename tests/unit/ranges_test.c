/*
 * Manifests that do not fit: of another disk, place or block size; data that is
 * unchanged since base= was written; comparing with a manifest.  What a few
 * ranges of an end must have (trust.c).
 */
#include "test.h"

#include <sys/param.h>

#include "base/algorithm.h"
#include "copy/job.h"
#include "copy/ranges.h"
#include "copy/trust.h"
#include "part/used.h"
#include "poor.h"
#include "tabled.h"

#define CHUNK	((size_t)65536)

enum { CHUNKS = DISK_SECTORS * SECTOR / CHUNK };

static struct tabled disk, target;
static struct opts o;
static struct plan p;
static struct ranges r;
static struct job job;
static struct fault f;
static char serial[] = "A";
static unsigned char buf[CHUNK];

static uint64_t unread;		/* a range without a digest */

static struct {			/* what has changed of the source */
	uint64_t from, to;
	int	 err;
} changed;

static int
changed_at(const struct endpoint *ep, uint64_t off, bool since,
    struct extent *x)
{
	uint64_t end = off < changed.from ? changed.from :
	    off < changed.to ? changed.to : (uint64_t)ep->geo.size;

	assert_true(since);
	*x = (struct extent){ off, end - off,
		off < changed.from || off >= changed.to };
	return changed.err;
}

static const struct backend source = { .view = tabled_view,
	.attach = tabled_attach, .transfer = tabled_transfer,
	.disk = tabled_disk, .extent = changed_at };

/* A manifest of the target, as it is. */
static void
make_base(uint64_t chunk, uint64_t phase)
{
	struct digest_table *t = &r.base.digests;
	uint64_t off, len;
	struct digest digest;

	digest_table_free(t);
	assert_int_equal(digest_table_init(t, p.length, chunk, phase, NULL), 0);
	for (off = 0; off < p.length; off += len) {
		len = MIN(chunk - (off + phase) % chunk, p.length - off);
		if (off == unread)
			continue;
		assert_true(pread(target.fd, buf, len, (off_t)off) > 0);
		assert_true(digest_of(NULL, buf, len, &digest));
		digest_table_put(t, off, len, &digest);
	}
	r.base.length = p.length;
	r.base.off = 0;
}

static int
set_up(void **state)
{
	size_t i;

	f = (struct fault){ 0 };
	memset(&changed, 0, sizeof(changed));
	begin_disk(&disk, "disk", &source, SECTOR, DISK_SECTORS);
	disk.ep.spec.since = "s";
	begin_disk(&target, "target", &viewed, SECTOR, DISK_SECTORS);
	for (i = 0; i < CHUNKS; i++) {
		memset(buf, (int)i % 8, CHUNK);
		fill(&disk, i * CHUNK, buf, CHUNK);
		fill(&target, i * CHUNK, buf, CHUNK);
	}
	o = (struct opts){ .base = "base", .since = "then" };
	p = (struct plan){ .opts = &o, .src = &disk.ep, .dst = &target.ep,
		.length = DISK_SECTORS * SECTOR, .bounded = true,
		.chunk = CHUNK, .pad = 1, .grain = 4096, .sector = SECTOR,
		.block = 4096 };
	r = (struct ranges){ .spares = true, .file = { .dir = -1, .fd = -1 } };
	unread = UINT64_MAX;
	make_base(CHUNK, 0);
	job = (struct job){ .p = &p };
	pthread_mutex_init(&job.first, NULL);
	return map_init(&job.map, p.length, p.chunk, 0);
}

static int
tear_down(void **state)
{
	r.base.serial[0] = r.base.serial[1] = NULL;
	ranges_close(&r);
	map_free(&job.map);
	pthread_mutex_destroy(&job.first);
	end_disk(&disk);
	end_disk(&target);
	return 0;
}

EACH(set_up, tear_down)

/* Open them; what there is to object to. */
static const char *
objection(void)
{
	int failed;

	f = (struct fault){ 0 };
	newfile_close(&r.file);
	map_free(&r.differ);
	map_free(&r.same);
	digest_table_free(&r.noted);
	r.same = r.differ = (struct map){ .ready = false };
	r.noted = (struct digest_table){ .n = 0 };
	p.ranges = NULL;
	failed = ranges_open(&r, &p, &f);
	assert_int_equal(failed, f.status == 0 ? 0 : -1);
	assert_true((p.ranges != NULL) == (f.status == 0));
	return f.text;
}

CASE(fit)
{
	assert_string_equal(objection(), "");
	r.base.serial[1] = serial;
	assert_string_equal(objection(), "");	/* that of the disk is unknown */
	strcpy(target.disk.serial, "A");
	assert_string_equal(objection(), "");
	strcpy(target.disk.serial, "B");
	assert_string_equal(objection(), "base describes the disk A, "
	    "but target is the disk B");
	r.base.serial[1] = NULL;
	p.dst_off = 512;
	assert_string_equal(objection(), "base begins at byte 0 of its target, "
	    "but this copy at byte 512");
	p.dst_off = 0;
	target.ep.is.absent = true;
	assert_non_null(strstr(objection(), "base exists, but not target"));
	target.ep.is.absent = false;
	target.ep.is.streamed = true;
	assert_non_null(strstr(objection(), "base exists, but not target"));
	target.ep.is.streamed = false;
	target.ep.geo.size -= 1;
	assert_string_equal(objection(), "target ends at byte 2097151, but base "
	    "describes it up to byte 2097152");
	target.ep.geo.size = -1;
	assert_string_equal(objection(), "");
}

/* By whole blocks of both ends, and of what the copy is padded to. */
CASE(fit_blocks)
{
	static const struct {
		uint64_t	chunk, phase;
		uint32_t	from, to;
		uint64_t	pad;
		const char	*not;	/* blocks of it, or NULL */
	} rows[] = {
		{ 4096, 0, 512, 4096, 1, NULL },
		{ 4096, 512, 512, 4096, 1, "target" },
		{ 4096, 512, 4096, 0, 1, "disk" },
		{ 512, 0, 512, 4096, 1, "target" },
		{ 512, 0, 4096, 0, 1, "disk" },
		{ 512, 0, 4096, 512, 1, "disk" },
		{ 4096, 512, 0, 0, 512, NULL },
		{ 4096, 0, 0, 0, 8192, "8192 bytes, to which the copy is padded" },
		{ 4096, 512, 0, 0, 1024, "1024 bytes, to which the copy is padded" },
	};
	char not[128];

	EACH_OF(i, rows) {
		disk.ep.geo.block = rows[i].from;
		target.ep.geo.block = rows[i].to;
		p.pad = rows[i].pad;
		make_base(rows[i].chunk, rows[i].phase);
		if (rows[i].not == NULL) {
			assert_string_equal(objection(), "");
			continue;
		}
		snprintf(not, sizeof(not), "the ranges of base are not whole "
		    "blocks of %s", rows[i].not);
		assert_string_equal(objection(), not);
	}
}

/* Whoever wrote to the target since then is seen in a few ranges. */
CASE(are_trusted)
{
	size_t i;

	memset(buf, 'x', CHUNK);
	for (i = 0; i < CHUNKS; i++)
		fill(&target, i * CHUNK, buf, CHUNK);
	assert_non_null(strstr(objection(), "target does not hold what base "
	    "says, for example at byte "));
	p.verify = VERIFY_SAMPLE;
	assert_string_not_equal(objection(), "");
	p.verify = VERIFY_AFTER;		/* all will be read */
	assert_string_equal(objection(), "");
	p.verify = 0;
	/* what cannot be read proves nothing */
	target.hidden = true;
	assert_string_equal(objection(), "");
	target.hidden = false;
	target.attach_err = EIO;
	assert_string_equal(objection(), "");
	target.attach_err = 0;
	target.ends = true;
	for (i = 0; i < CHUNKS; i++) {
		target.lost = i * CHUNK;
		(void)objection();
	}
	target.ep.be = &blind;
	assert_string_equal(objection(), "");
}

CASE(tell_what_has_not_changed)
{
	struct seg s;

	r.passes = true;
	changed.from = 3 * CHUNK + 1;
	changed.to = 3 * CHUNK + 2;
	assert_string_equal(objection(), "");
	assert_int_equal(ranges_unchanged(&p), (CHUNKS - 1) * CHUNK);
	assert_null(ranges_by(&p));
	unread = 5 * CHUNK;			/* nobody knows what it was */
	make_base(CHUNK, 0);
	assert_string_equal(objection(), "");
	assert_int_equal(ranges_unchanged(&p), (CHUNKS - 2) * CHUNK);
	unread = UINT64_MAX;
	make_base(CHUNK, 0);
	assert_string_equal(objection(), "");
	assert_int_equal(ranges_begin(&job), 0);
	assert_true(map_next(&job.map, 0, UNTRIED, &s));
	assert_int_equal(s.off, 3 * CHUNK);
	assert_int_equal(s.len, CHUNK);
	assert_int_equal(job.spared, (CHUNKS - 1) * CHUNK);
	/* another source is of another time */
	memset(buf, 'x', CHUNK);
	fill(&disk, CHUNK, buf, CHUNK);
	fill(&disk, 2 * CHUNK, buf, CHUNK);
	fill(&disk, 4 * CHUNK, buf, CHUNK);
	fill(&disk, 9 * CHUNK, buf, CHUNK);
	changed.from = 10 * CHUNK;
	changed.to = CHUNKS * CHUNK;
	assert_non_null(strstr(objection(), "unchanged, but it differs from "
	    "base: snapshot then is not of that time; without iflag=since:"));
	o.bitmap = "b";
	assert_non_null(strstr(objection(), "bitmap b is not of that time; "
	    "without iflag=bitmap:"));
	changed.err = EPERM;
	assert_string_equal(objection(), "disk: asking what has changed: "
	    "Operation not permitted");
}

/* The last range may be shorter, but must not be padded to more. */
CASE(tell_it_of_a_last_range)
{
	r.passes = true;
	p.length -= 100;
	make_base(CHUNK, 0);
	assert_string_equal(objection(), "");
	assert_int_equal(ranges_unchanged(&p), p.length);
	p.pad = SECTOR;
	assert_string_equal(objection(), "");
	assert_int_equal(ranges_unchanged(&p), (CHUNKS - 1) * CHUNK);
	p.used = &(struct used){ .leaves = true };
	assert_int_equal(ranges_block(&p), 4096);
	p.used = &(struct used){ .leaves = false };
	p.phase = 512;
	assert_int_equal(ranges_block(&p), 512);
	p.used = NULL;
	p.length -= 1000;			/* the base is of more */
	assert_string_equal(objection(), "");
	assert_int_equal(ranges_unchanged(&p), (CHUNKS - 1) * CHUNK);
}

CASE(keep_the_kind_of_digest)
{
	r.passes = r.notes = true;
	o.manifest = "/tmp/pardd-ranges.manifest";
	o.manifesthash = HASH_SHA256;
	assert_non_null(strstr(objection(), "manifesthash=sha256: what has not "
	    "changed is not read, and base has other digests of it"));
	o.manifesthash = 0;
	assert_string_equal(objection(), "");
	assert_null(r.by);
}

/* With check=1: what differs is listed; what was lost does. */
CASE(are_held_against_what_is_read)
{
	bool spare;
	unsigned i;

	r.spares = false;
	r.checks = true;
	o.manifest = o.base;
	o.base = NULL;
	p.pad = 1;
	assert_string_equal(objection(), "");
	memset(buf, 1, CHUNK);
	assert_true(ranges_known(&job, CHUNK, buf, CHUNK, &spare));
	assert_false(spare);
	assert_int_equal(map_totals(&r.differ).bad, 0);
	assert_true(ranges_known(&job, 2 * CHUNK, buf, CHUNK, &spare));
	assert_int_equal(map_totals(&r.differ).bad, CHUNK);
	assert_true(ranges_known(&job, CHUNK + 512, buf, CHUNK, &spare));
	assert_true(ranges_known(&job, CHUNKS * CHUNK, buf, CHUNK, &spare));
	assert_true(ranges_known(&job, 5 * CHUNK, buf, 512, &spare));
	assert_int_equal(map_totals(&r.differ).bad_ranges, 3);
	map_set(&job.map, 8 * CHUNK, 512, BAD);
	memset(buf, 0, CHUNK);
	assert_true(ranges_known(&job, 8 * CHUNK, buf, CHUNK, &spare));
	assert_int_equal(map_totals(&r.differ).bad_ranges, 4);
	memset(buf, 7, CHUNK);
	assert_true(ranges_known(&job, 7 * CHUNK, buf, CHUNK, &spare));
	assert_int_equal(map_totals(&r.differ).bad_ranges, 4);
	/* the source is shorter */
	disk.ep.geo.size--;
	assert_string_equal(objection(), "disk has 2097151 bytes, but base "
	    "covers 2097152: it is for another disk");
	disk.ep.geo.size++;
	/* without memory for the list the copy stops */
	assert_string_equal(objection(), "");
	for (i = 0; i == 0 || poor_was(); i++) {
		bool known = true;
		size_t k;

		job.stop = false;
		job.fault.status = 0;
		map_free(&r.differ);
		assert_int_equal(map_init(&r.differ, INT64_MAX, CHUNK, 0), 0);
		poor_after(i);
		for (k = 1; k < CHUNKS && known; k += 2)
			known = ranges_known(&job, k * CHUNK, buf, 512, &spare);
		poor.on = false;
		assert_true(known == (job.fault.status == 0));
		if (!known)
			assert_non_null(strstr(job.fault.text, "the list of "
			    "what differs"));
	}
}

CASE(are_of_another_disk)
{
	char other[] = "B";

	assert_false(ranges_of_another(&p));
	p.ranges = &r;
	assert_false(ranges_of_another(&p));
	r.checks = true;
	assert_false(ranges_of_another(&p));
	strcpy(disk.disk.serial, "A");
	assert_false(ranges_of_another(&p));
	r.base.serial[0] = serial;
	assert_false(ranges_of_another(&p));
	r.base.serial[0] = NULL;
	r.base.serial[1] = serial;
	assert_false(ranges_of_another(&p));
	r.base.serial[0] = other;
	assert_false(ranges_of_another(&p));
	r.base.serial[1] = other;
	assert_true(ranges_of_another(&p));
	r.base.serial[0] = NULL;
	assert_true(ranges_of_another(&p));
	r.base.serial[0] = other;
	r.base.serial[1] = NULL;
	assert_true(ranges_of_another(&p));
	disk.ep.be = &blind;
	disk.ep.is.device = false;
	assert_false(ranges_of_another(&p));
}

/* Whatever memory is refused, no more is left out than has not changed. */
CASE(are_whole_or_memory_is_short)
{
	unsigned i;

	r.passes = r.notes = true;
	o.manifest = "/tmp/pardd-ranges.manifest";
	changed.from = CHUNK;
	changed.to = 2 * CHUNK;
	for (i = 0; i == 0 || poor_was(); i++) {
		poor_after(i);
		(void)objection();
		if (f.status != 0)
			assert_int_equal(f.status, 50 + ENOMEM);
		else if (ranges_begin(&job) == 0)
			assert_int_equal(job.spared, (CHUNKS - 1) * CHUNK);
		poor.on = false;
		job.spared = 0;
	}
	poor.on = false;
	r.checks = true;
	for (i = 0; i == 0 || poor_was(); i++) {
		poor_after(i);
		(void)objection();
		poor.on = false;
		map_free(&r.differ);
	}
}

/* --------------------------------------------------------------- trust_map */

CASE(a_map_is_trusted)
{
	struct agreed a;
	atomic_bool stop = false;

	o.map = "map";
	assert_int_equal(trust_map(&p, &job.map, 0, &stop, &a, &f), 0);
	assert_int_equal(a.n, 0);		/* nothing is finished */
	map_set(&job.map, CHUNK, 20 * CHUNK, FINISHED);
	map_set(&job.map, 30 * CHUNK + 512, 512, FINISHED);
	assert_int_equal(trust_map(&p, &job.map, NOWHERE, NULL, &a, &f), 0);
	assert_true(a.n > 0);
	stop = true;
	assert_int_equal(trust_map(&p, &job.map, 0, &stop, &a, &f), 0);
	assert_int_equal(a.n, 0);
	stop = false;
	/* where neither can be read nothing is proven */
	disk.lost = 2 * CHUNK;
	assert_int_equal(trust_map(&p, &job.map, 0, &stop, &a, &f), 0);
	disk.attach_err = EIO;
	assert_int_equal(trust_map(&p, &job.map, 0, &stop, &a, &f), 0);
	assert_int_equal(a.n, 0);
	disk.attach_err = 0;
	target.attach_err = EIO;
	assert_int_equal(trust_map(&p, &job.map, 0, &stop, &a, &f), 0);
	target.attach_err = 0;
	memset(buf, 'x', CHUNK);
	fill(&target, 30 * CHUNK, buf, CHUNK);
	map_set(&job.map, 0, 30 * CHUNK, UNTRIED);
	assert_int_equal(trust_map(&p, &job.map, 0, &stop, &a, &f), -1);
	assert_non_null(strstr(f.text, "map calls byte 1966592 of disk "
	    "finished, but target differs there"));
}
