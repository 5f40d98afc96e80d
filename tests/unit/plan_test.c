/*
 * Plans for mock ends: where, how much, in what pieces, by whom; and the
 * objections.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"

#include <linux/magic.h>

#include "end/backend.h"
#include "disk/disk.h"
#include "plan/fit.h"
#include "plan/plan.h"
#include "plan/safety.h"
#include "world.h"

#define MIB	(INT64_C(1) << 20)
#define EIB	(UINT64_C(1) << 60)

#define ZONE	(2 * MIB)
#define SDA	makedev(8, 0)

static uid_t user;
static struct disk disk;

uid_t
geteuid(void)
{
	return user;
}

int
isatty(int fd)
{
	return 1;
}

static void
tell_disk(const struct endpoint *ep, struct disk *d)
{
	*d = disk;
}

/* Data and holes of a MiB in turn, up to 3 MiB; what lies there is not known. */
static int
extent(const struct endpoint *ep, uint64_t off, bool changed,
    struct extent *x)
{
	if (off >= 3 * MIB)
		return EIO;
	*x = (struct extent){ .off = off, .len = MIB - off % MIB,
		.hole = off / MIB % 2 != 0 };
	return 0;
}

/* Zones that may be written at a time. */
static unsigned
three(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *source, uint64_t source_from)
{
	return 3;
}

static const struct backend a_file = { .extent = extent },
    a_disk = { .disk = tell_disk }, of_zones = { .writers = three };

static struct opts o;
static struct endpoint src, dst;
static struct plan p;
static struct fault f;

/* A file of 10 MiB goes to another; both are in the page cache. */
static void
make(void)
{
	user = 0;
	disk = (struct disk){ .serial = "S1" };
	src = (struct endpoint){ .name = "from", .be = &a_file, .dir = -1,
		.kind = END_FILE, .geo = { .size = 10 * MIB, .room = -1 },
		.id = { .known = true, .dev = 1, .ino = 1, .peer = "" } };
	dst = src;
	dst.name = "to";
	dst.geo.size = 0;
	dst.id.ino = 2;
	dst.spec.role = TARGET;
	dst.is.durable = true;
}

static int
begin(void **state)
{
	make();
	return 0;
}

EACH(begin, NULL)

/* Plan by these operands; the status. */
static int
plan(const struct layout *l, ...)
{
	char *argv[16] = { (char []){ "pardd" }, (char []){ "if=from" },
		(char []){ "of=to" } };
	int argc = l != NULL && l->all ? 2 : 3;		/* check=1 has no of= */
	va_list ap;

	va_start(ap, l);
	while ((argv[argc] = va_arg(ap, char *)) != NULL)
		argc++;
	va_end(ap);
	f = (struct fault){ 0 };
	if (opts_parse(&o, argc, argv, &f) != 0)
		fail_msg("%s", f.text);
	return plan_make(&p, &o, l, &src, &dst, &f) == 0 ? 0 : f.status;
}

static const char *const none = NULL;	/* ends a list */

static void
says(const char *text)
{
	if (strstr(f.text, text) == NULL)
		fail_msg("%s, and not %s", f.text, text);
}

/* -------------------------------------------------------------- where, how much */

CASE(refuses_what_cannot_be_addressed)
{
	const struct layout l = { .all = true, .off = 512, .length = EIB };

	src.lim.base = MIB;
	assert_int_equal(plan(NULL, "skip=36028797018963967", none),
	    STATUS_USAGE);
	says("skip= lies beyond the last byte that can be addressed, 8 EiB");
	assert_int_equal(plan(NULL, "skip=36028797018963968", none),
	    STATUS_USAGE);
	assert_int_equal(plan(NULL, "skip=18014398509481984", none),
	    STATUS_USAGE);
	assert_int_equal(plan(NULL, "seek=9223372036854775807B", none),
	    STATUS_USAGE);
	says("the end of the copy lies beyond");
	assert_int_equal(plan(NULL, "seek=9223372036854775807B", "count=1B",
	    none), STATUS_USAGE);
	says("count= lies beyond");
	make();
	src.geo.size = -1;
	dst.geo.size = 100;
	assert_int_equal(plan(NULL, "compare=1", "skip=9223372036854775800B",
	    none), STATUS_USAGE);
	says("the end of the comparison lies beyond");
	dst.geo.size = -1;
	assert_int_equal(plan(NULL, "compare=1", none), STATUS_USAGE);
	says("neither from nor to has an end: give count=");
	dst.is.streamed = true;
	assert_int_equal(plan(NULL, "compare=1", none), 0);
	assert_false(p.bounded);
	assert_true(p.length == INT64_MAX);
	make();
	assert_int_equal(plan(&l, "check=1", "manifest=m",
	    "skip=9000000000000000000B", none), STATUS_USAGE);
	says("the end of the manifest lies beyond");
}

/* What is checked lies where the manifest says, unless one says otherwise. */
CASE(finds_what_a_manifest_covers)
{
	const struct layout l = { .all = true, .off = 512, .length = 1024,
		.chunk = 4096 };

	assert_int_equal(plan(&l, "check=1", "manifest=m", none), 0);
	assert_int_equal(p.src_off, 512);
	assert_int_equal(p.length, 1024);
	assert_true(p.counted);
	assert_int_equal(plan(&l, "check=1", "manifest=m", "skip=3", none), 0);
	assert_int_equal(p.src_off, 3 * 512);
	src.lim.part = 1;
	src.lim.base = MIB;
	assert_int_equal(plan(&l, "check=1", "manifest=m", none), 0);
	assert_int_equal(p.src_off, MIB);
	assert_int_equal(plan(&l, "check=1", "manifest=m", "bpt=16", none),
	    STATUS_USAGE);
	says("asks for transfers of 8192 bytes, and the ranges of m have 4096");
	assert_int_equal(plan(&l, "check=1", "manifest=m", "bpt=8", none), 0);
}

CASE(wants_one_block_size)
{
	assert_int_equal(plan(NULL, "ibs=4096", none), STATUS_USAGE);
	says("which is 512 here; write bs=4096 alone");
	assert_int_equal(plan(NULL, "obs=8192", none), STATUS_USAGE);
	says("write bs=8192 alone");
	assert_int_equal(plan(NULL, "ibs=4096", "obs=4096", "bs=4096", none),
	    0);
}

/* ------------------------------------------------------------------ the pieces */

CASE(chooses_transfers)
{
	static const struct {
		uint32_t	stripe, most;	/* of the target */
		size_t		chunk;
	} row[] = {
		{ 0, 0, MIB }, { 6000, 0, MIB }, { 64 << 10, 0, MIB },
		{ 192 << 10, 0, 6 * 192 << 10 }, { 200000, 0, MIB },
		{ 32 << 20, 0, MIB }, { 0, 300000, 256 << 10 },
		{ 0, 2 * MIB, MIB },
	};

	EACH_OF(i, row) {
		dst.geo.io_opt = row[i].stripe;
		dst.geo.io_max = row[i].most;
		assert_int_equal(plan(NULL, none), 0);
		assert_int_equal(p.chunk, row[i].chunk);
	}
}

/* The largest of all that are multiplied. */
CASE(refuses_transfers_that_are_too_large)
{
	assert_int_equal(plan(NULL, "bpt=2097152", none), 0);
	assert_int_equal(p.chunk, 1 << 30);
	assert_int_equal(plan(NULL, "bpt=2097153", none), STATUS_USAGE);
	says("a transfer of more than 1 GiB");
	assert_int_equal(plan(NULL, "bpt=1G", "bs=1G", none), STATUS_USAGE);
	says("a transfer of more than 1 GiB");
	src.geo.block = UINT32_MAX;
	assert_int_equal(plan(NULL, "bpt=1G", none), STATUS_USAGE);
	says("a transfer of more than 1 GiB");
}

/* Writes that wait are made by page, where nothing else asks for pieces. */
CASE(claims_pages_where_writes_wait)
{
	assert_int_equal(plan(NULL, "oflag=dsync", "bpt=1", none), 0);
	assert_int_equal(p.claim, 4096);
	assert_int_equal(p.chunk, 512);
	assert_int_equal(plan(NULL, "bpt=1", none), 0);
	assert_int_equal(p.claim, 512);
	assert_int_equal(plan(NULL, "oflag=sync", "bpt=3", none), 0);
	assert_int_equal(p.claim, 1536);
	assert_int_equal(plan(NULL, "oflag=sync", "bpt=1", "seek=100B", none),
	    0);
	assert_int_equal(p.claim, 512);
	assert_int_equal(plan(NULL, "oflag=sync", "bpt=1", "seek=1", none), 0);
	assert_int_equal(p.claim, 4096);
	assert_int_equal(p.phase, 512);
	assert_int_equal(plan(NULL, "oflag=sync", "bpt=1", "manifest=m", none),
	    0);
	assert_int_equal(p.claim, 512);
	dst.kind = END_NBD;
	assert_int_equal(plan(NULL, "oflag=sync", "bpt=1", none), 0);
	assert_int_equal(p.claim, 512);
	dst.kind = END_FILE;
	src.is.streamed = true;
	assert_int_equal(plan(NULL, "oflag=sync", "bpt=1", none), 0);
	assert_int_equal(p.claim, 512);
}

CASE(limits_digests)
{
	src.geo.size = INT64_C(1) << 45;
	assert_int_equal(plan(NULL, "verify=1", none), 0);
	assert_int_equal(p.chunk, 8 * MIB);
	assert_int_equal(plan(NULL, "manifest=m", none), 0);
	assert_int_equal(p.chunk, 8 * MIB);
	assert_int_equal(plan(NULL, none), 0);
	assert_int_equal(p.chunk, MIB);
	assert_int_equal(plan(NULL, "verify=1", "bpt=64", none),
	    STATUS_USAGE);
	says("would keep more than 33554432 digests");
	src.geo.size = (int64_t)EIB;
	assert_int_equal(plan(NULL, "verify=1", none), STATUS_USAGE);
	src.geo.size = -1;
	src.is.streamed = true;
	assert_int_equal(plan(NULL, "verify=1", "bpt=1", none), 0);
}

/* A moment: each thing by which it would be none. */
CASE(knows_what_takes_a_moment)
{
	static const char *const words[] = { "verify=1", "rate=1M",
		"used=only", "hash=xxh128", "iflag=direct", "oflag=sync",
		"oflag=sparing", "map=m", "compare=1", "manifest=m" };

	src.geo.size = 4096;
	src.is.memory = dst.is.memory = true;
	assert_int_equal(plan(NULL, none), 0);
	assert_true(p.alone);
	EACH_OF(i, words) {
		assert_int_equal(plan(NULL, words[i], none), 0);
		assert_false(p.alone);
	}
	dst.is.memory = false;
	assert_int_equal(plan(NULL, none), 0);
	assert_false(p.alone);
	dst.is.memory = true;
	src.geo.size = 10 * MIB;
	assert_int_equal(plan(NULL, none), 0);
	assert_false(p.alone);
}

/* ------------------------------------------------------------------- by whom */

CASE(chooses_queues)
{
	src.is.past_cache = true;
	assert_int_equal(plan(NULL, "engine=async", none), 0);
	assert_int_equal(p.queues, 1);
	assert_int_equal(plan(NULL, "engine=async", "thr=3", none), 0);
	assert_int_equal(p.queues, 3);
	src.is.single = true;
	assert_int_equal(plan(NULL, "engine=async", "thr=3", none), 0);
	assert_int_equal(p.queues, 1);
	src.is.single = false;
	dst.is.single = true;
	assert_int_equal(plan(NULL, "engine=async", "thr=3", none), 0);
	assert_int_equal(p.queues, 1);
	dst.geo.depth = 8;
	assert_int_equal(plan(NULL, "qd=8", none), 0);
	assert_int_equal(p.slots, 16);
	assert_int_equal(plan(NULL, "qd=9", none), STATUS_USAGE);
	says("qd=9: to takes 8 commands of a worker at a time");
	src.geo.depth = 7;
	assert_int_equal(plan(NULL, "qd=8", none), STATUS_USAGE);
	says("qd=8: from takes 7");
	src.geo.depth = 0;
	assert_int_equal(plan(NULL, "qd=4", "mem=4M", none), 0);
	assert_int_equal(p.chunk, MIB / 2);	/* so that six fit */
	assert_int_equal(p.slots, 8);
	assert_int_equal(plan(NULL, "qd=5", "mem=4M", none), STATUS_USAGE);
	says("qd=5 needs 5242880 bytes, more than mem=");
	src.sync_why = "so";
	assert_int_equal(plan(NULL, "engine=async", none), STATUS_USAGE);
	says("engine=async cannot be used here: so");
	assert_int_equal(plan(NULL, "qd=4", none), STATUS_USAGE);
	says("qd= cannot be used here: so");
	assert_int_equal(plan(NULL, none), 0);
	assert_int_equal(p.queues, 0);
}

static void
make_zoned(void)
{
	make();
	dst.be = &of_zones;
	dst.is.zoned = dst.is.device = true;
	dst.geo.block = 4096;
	dst.geo.zone = ZONE;
}

/* Zones at a time, and what a worker claims. */
static void
has_zones(const char *operand, unsigned zones, uint64_t claim, uint64_t phase)
{
	assert_int_equal(plan(NULL, operand, none), 0);
	assert_int_equal(p.zones, zones);
	assert_int_equal(p.workers, zones);
	assert_int_equal(plan_claim(&p, p.claim), claim);
	assert_int_equal(plan_phase(&p), phase);
}

CASE(claims_zones)
{
	make_zoned();
	has_zones("seek=0", 3, ZONE, 0);
	has_zones("seek=256", 3, ZONE, MIB);
	has_zones("seek=257", 3, ZONE, MIB + 4096);
	has_zones("hash=md5", 1, MIB, 0);
	has_zones("bpt=3", 1, 12288, 0);
	dst.geo.zone = 3 * MIB / 2;		/* is no multiple of 1 MiB */
	has_zones("seek=1", 1, MIB, 4096);
	dst.geo.zone = 0;
	has_zones("seek=0", 1, MIB, 0);
	make_zoned();
	src.is.streamed = true;
	has_zones("seek=0", 1, MIB, 0);
	assert_int_equal(plan(NULL, "qd=64", none), STATUS_USAGE);
	says("qd= cannot be used here");	/* nobody gave engine= */
}

EACH(world_begin, world_end)

/* The head of the source would travel, too: that of what a file lies on. */
CASE(claims_no_zones_where_the_source_rotates)
{
	make_zoned();
	src.be = &a_disk;
	has_zones("seek=0", 3, ZONE, 0);
	disk.rotates = true;
	has_zones("seek=0", 1, MIB, 0);
	src.be = &a_file;
	src.id.dev = SDA;
	has_zones("seek=0", 3, ZONE, 0);
	add_disk("ata1", "sda", SDA, 1000);
	has("/sys/block/sda/queue/rotational", "0\n");
	has_zones("seek=0", 3, ZONE, 0);
	has("/sys/block/sda/queue/rotational", "1\n");
	has_zones("seek=0", 1, MIB, 0);
}

/* -------------------------------------------------------------- what is there */

EACH(begin, NULL)

CASE(knows_what_fits)
{
	dst.fs = (struct statfs){ .f_type = EXT4_SUPER_MAGIC, .f_bsize = 4096,
		.f_blocks = 2000, .f_bfree = 1500, .f_bavail = 1000 };
	assert_int_equal(plan(NULL, none), 0);
	assert_int_equal(fit_judge(&p).is, FITS_NEVER);
	assert_int_equal(fit_judge(&p).room, 2000 * 4096);
	assert_int_equal(fit_judge(&p).need, 10 * MIB);
	src.is.sparse = dst.is.zeroes = true;	/* what is not known counts not */
	assert_int_equal(plan(NULL, none), 0);
	assert_true(fit_judge(&p).is < FITS_NEVER);
	dst.fs.f_blocks = 300;
	dst.fs.f_bfree = dst.fs.f_bavail = 300;
	assert_int_equal(fit_judge(&p).is, FITS_NEVER);
	assert_int_equal(fit_judge(&p).need, 2 * MIB);
	dst.fs.f_blocks = UINT64_MAX;		/* more than can be told */
	assert_true(fit_judge(&p).is < FITS_NEVER);
	dst.fs.f_type = NFS_SUPER_MAGIC;
	assert_int_equal(fit_judge(&p).is, FITS_PERHAPS);
	dst.fs.f_blocks = 1;
	assert_int_equal(fit_judge(&p).is, FITS_NEVER);
}

/* What is reserved is root's, and what the target has it may keep. */
CASE(knows_what_fits_now)
{
	dst.fs = (struct statfs){ .f_type = EXT4_SUPER_MAGIC, .f_bsize = 4096,
		.f_frsize = 1024, .f_blocks = 20000, .f_bfree = 10240,
		.f_bavail = 9216 };
	assert_int_equal(plan(NULL, none), 0);
	assert_int_equal(fit_judge(&p).is, FITS);
	user = 1;
	assert_int_equal(fit_judge(&p).is, FITS_NOT_NOW);
	assert_int_equal(fit_judge(&p).room, 9 * MIB);
	dst.held = MIB;
	assert_int_equal(fit_judge(&p).is, FITS_NOT_NOW);
	dst.geo.size = 2 * MIB;
	assert_int_equal(fit_judge(&p).is, FITS);
	dst.is.streamed = true;
	assert_int_equal(fit_judge(&p).is, FITS_NOT_NOW);
	dst.is.streamed = false;
	assert_int_equal(plan(NULL, "seek=4096", none), 0);
	assert_int_equal(fit_judge(&p).is, FITS_NOT_NOW);
	assert_int_equal(plan(NULL, none), 0);
	dst.fs.f_bavail = UINT64_MAX / 1024;
	dst.held = UINT64_MAX;
	dst.geo.size = INT64_MAX;
	assert_int_equal(fit_judge(&p).is, FITS);
}

/* ------------------------------------------------------------------ objections */

/* Whether the plan by that operand is refused, and why. */
static void
objects(const char *operand, const char *why)
{
	int status = plan(NULL, operand, none);

	if (status != 0)
		fail_msg("%s", f.text);
	status = safety_check(&p, &f) == 0 ? 0 : f.status;
	if (why == NULL && status != 0)
		fail_msg("%s: %s", operand, f.text);
	if (why != NULL) {
		assert_true(status == STATUS_REFUSED || status == STATUS_USAGE);
		says(why);
	}
}

CASE(objects_to_what_leads_beyond)
{
	const struct layout l = { .all = true, .length = 20 * MIB,
		.chunk = MIB };

	objects("skip=20480", NULL);
	objects("skip=20481", "skip= leads to byte 10486272, past the end of "
	    "from at 10485760; for bytes: skip=20481B");
	objects("skip=10485761B", "past the end of from at 10485760");
	assert_null(strstr(f.text, "for bytes"));
	objects("skip=10485761", "past the end of from at 10485760");
	assert_null(strstr(f.text, "for bytes"));
	objects("count=20481", "count=20481 is blocks of 512 bytes, and leads "
	    "to byte 10486272, past the end of from at 10485760; for bytes: "
	    "count=20481B");
	objects("count=10485761B", "count= leads to byte 10485761, past");
	assert_int_equal(plan(NULL, "skip=1", "count=20480", none), 0);
	assert_int_equal(safety_check(&p, &f), -1);
	says("skip= and count= lead to byte 10486272");
	assert_int_equal(plan(&l, "check=1", "manifest=m", none), 0);
	assert_int_equal(safety_check(&p, &f), -1);
	says("the manifest leads to byte 20971520, past the end of from");
	dst.geo.room = 10 * MIB;
	dst.is.seekable = true;
	objects("seek=20481", "seek= leads to byte 10486272, past the end of "
	    "to at 10485760; for bytes: seek=20481B");
	objects("seek=20480", "to has room for 0 bytes from byte 10485760 on");
	objects("seek=1", "to has room for 10485248 bytes from byte 512 on, "
	    "but 10485760 are to be copied; count=20479 fits");
}

CASE(objects_to_a_comparison_beyond_the_other)
{
	dst.geo.size = MIB;
	objects("compare=1", NULL);
	assert_int_equal(plan(NULL, "compare=1", "seek=2049", none), 0);
	assert_int_equal(safety_check(&p, &f), -1);
	says("seek= leads past the end of to at byte 1048576");
	assert_int_equal(plan(NULL, "compare=1", "count=2049", none), 0);
	assert_int_equal(safety_check(&p, &f), -1);
	says("count= leads past the end of to at byte 1048576");
	assert_int_equal(plan(NULL, "compare=1", "count=2048", "seek=1", none),
	    0);
	assert_int_equal(safety_check(&p, &f), -1);
	says("seek= and count= lead past the end of to");
	assert_int_equal(plan(NULL, "compare=1", "count=2047", "seek=1", none),
	    0);
	assert_int_equal(safety_check(&p, &f), 0);
	dst.geo.size = -1;
	assert_int_equal(plan(NULL, "compare=1", "count=2049", none), 0);
	assert_int_equal(safety_check(&p, &f), 0);
}

CASE(objects_to_an_empty_device)
{
	src.geo.size = 0;
	objects("bs=512", NULL);		/* a file may be empty */
	src.is.device = true;
	src.be = &a_disk;
	objects("bs=512", NULL);		/* a SCSI node has no size yet */
	src.id.ino = 0;
	objects("bs=512", "from has a size of 0; is there a medium in it?");
	src.id.known = false;
	objects("bs=512", NULL);
}

/* A map needs places on both ends. */
CASE(objects_to_a_map_of_a_stream)
{
	objects("map=m", NULL);
	dst.is.streamed = true;
	objects("map=m", "to is read or written in order: map= cannot be");
	src.is.streamed = true;
	objects("map=m", "from is read or written in order");
	src.is.streamed = dst.is.streamed = false;
	src.geo.size = -1;
	objects("map=m", "from is read or written in order");
}

CASE(objects_to_a_terminal)
{
	dst.is.inherited = dst.is.device = true;
	dst.be = &a_disk;
	objects("bs=512", NULL);		/* of=to */
	o.output = NULL;
	assert_int_equal(safety_check(&p, &f), -1);
	says("of= is missing, and standard output is a terminal");
	dst.is.inherited = false;
	assert_int_equal(safety_check(&p, &f), 0);
	dst.is.inherited = true;
	dst.is.device = false;
	assert_int_equal(safety_check(&p, &f), 0);
}

CASE(objects_where_blocks_cannot_be_shared)
{
	objects("reflink=always", "from and to are not both files");
	src.is.shares = true;
	objects("reflink=always", "from and to are not both files");
	dst.is.shares = true;
	objects("reflink=always", "can share whole blocks only");
	src.geo.fs_block = 4096;
	objects("reflink=always", NULL);
	assert_int_equal(plan(NULL, "reflink=always", "count=1B", none), 0);
	assert_int_equal(safety_check(&p, &f), -1);
	says("can share whole blocks only");
	assert_int_equal(plan(NULL, "reflink=always", "count=0", none), 0);
	assert_int_equal(safety_check(&p, &f), 0);
}

CASE(objects_to_a_disk_that_cannot_be_known_again)
{
	assert_int_equal(plan(NULL, "map=m", "wait=5", none), 0);
	assert_int_equal(safety_check(&p, &f), -1);
	says("wait=: from has no serial number or WWN");
	src.be = &a_disk;
	assert_int_equal(safety_check(&p, &f), 0);
	disk = (struct disk){ .wwn = "naa.1" };
	assert_int_equal(safety_check(&p, &f), 0);
	disk.wwn[0] = '\0';
	assert_int_equal(safety_check(&p, &f), -1);
	src.is.remote = true;
	assert_int_equal(safety_check(&p, &f), 0);
	make();
	objects("maxtemp=50", "the temperature of from is not known");
	src.be = &a_disk;
	disk.whole = 0;
	objects("maxtemp=50", "the temperature of from is not known");
	objects("iserial=S1", NULL);
	objects("iserial=S2", "its serial number is S1");
	objects("oserial=S1", "to is not a disk, and oserial= asks for one");
}

CASE(objects_to_what_cannot_be_read_back)
{
	static const struct backend back = { .open_readback =
		(int (*)(const struct endpoint *, struct endpoint *,
		struct fault *))1 };	/* it is not called yet */

	objects("verify=1", "to");
	dst.is.absent = true;
	dst.geo.size = -1;
	objects("verify=1", "to");
	dst.be = &back;
	objects("verify=1", NULL);
}
