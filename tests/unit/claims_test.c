/*
 * Claiming a disk to be written, what prevents that, and whether the target
 * overlaps the source: on a mock machine.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"
#include "disk/disk.h"
#include "disk/usage.h"
#include "disks.h"
#include "plan/claim.h"
#include "plan/safety.h"

/* ---------------------------------------------------------------- claims */

static struct claims claims;
static struct opts opts;

static int
claim_once(dev_t node, uint64_t at, uint64_t blocks)
{
	struct plan p = { .opts = &opts, .dst = &end, .bounded = true,
		.pad = BLOCK, .dst_off = at * BLOCK,
		.length = blocks * BLOCK, .truncate = -1 };
	int failed;
	size_t i;

	f = (struct fault){ 0 };
	set_end(node);
	for (i = 0; i < world.n; i++)
		world.node[i].fd = -1;
	failed = claims_take(&claims, NULL, &p, &f);
	assert_int_equal(failed, f.status == 0 ? 0 : -1);
	return f.status;
}

/*
 * The status of claiming "blocks" from block "at" on; 0: as claims->n nodes.
 * What is refused is refused as well if any one descriptor cannot be had.
 */
static int
claim(dev_t node, uint64_t at, uint64_t blocks)
{
	typeof(world) before = world;
	unsigned n, allowed = 0;
	int status = -1;

	for (n = 1; opts.force == 0 && world.broken == NULL; n++) {
		world = before;
		world.failing = n;
		world.err = n % 2 == 0 ? ENFILE : EMFILE;
		status = claim_once(node, at, blocks);
		if (world.failing > 0)
			break;
		if (status == 0)
			claims_release(&claims);
		if (status == 0 && allowed == 0)
			allowed = n;
	}
	if (status == 0)
		claims_release(&claims);
	world = before;
	status = claim_once(node, at, blocks);
	if (status != 0 && allowed > 0)
		fail_msg("allowed without descriptor %u: %s", allowed, f.text);
	return status;
}

static bool
refused(const char *text)
{
	if (f.status == STATUS_REFUSED && strstr(f.text, text) != NULL)
		return true;
	print_message("%d: %s\n", f.status, f.text);
	return false;
}

/* It is refused, in these words. */
static void
cannot_claim(dev_t node, uint64_t at, uint64_t blocks, const char *text)
{
	assert_int_equal(claim(node, at, blocks), STATUS_REFUSED);
	assert_true(refused(text));
}

static void
can_claim(dev_t node, uint64_t at, uint64_t blocks)
{
	assert_int_equal(claim(node, at, blocks), 0);
	claims_release(&claims);
}

/* Two disks, and no operands. */
static int
begin(void **state)
{
	int failed = world_begin(state);

	opts = (struct opts){ 0 };
	two_disks();
	return failed;
}

EACH(begin, world_end)

CASE(claims_disks)
{
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 300, 100);
	assert_int_equal(claim(SDA, 0, 1), 0);
	assert_int_equal(claims.n, 3);		/* all of it */
	assert_int_equal(claims.node[0], SDA);
	claims_release(&claims);
	assert_int_equal(claim(SDA, 150, 1), 0);
	assert_int_equal(claims.n, 1);
	assert_int_equal(claims.node[0], SDA + 1);
	assert_int_equal(claims.locked, SDA);
	claims_release(&claims);
	assert_int_equal(claim(SDA, 150, 150), 0);	/* up to the next one */
	assert_int_equal(claims.n, 1);
	claims_release(&claims);
	world.node[3].used = true;
	cannot_claim(SDA, 350, 1, "sda2 is in use (by another program");
	world.node[3].used = false;
	world.node[3].locked = 3;		/* udev, for a moment */
	can_claim(SDA, 350, 1);
	world.node[3].locked = 1000;
	cannot_claim(SDA, 350, 1, "sda2 is locked (flock)");
	opts.force = FORCE_HELD;
	can_claim(SDA, 350, 1);
}

CASE(claims_nothing_unknown)
{
	has("/sys/block/sda/size", "nothing\n");
	can_claim(SDA, 0, 1);
	world.broken = "8:0";
	world.err = EMFILE;
	cannot_claim(SDA, 0, 1, "who uses");
	assert_non_null(strstr(f.text, "force=mounted,swap,looped"));
	opts.force = FORCE_MOUNTED | FORCE_SWAP | FORCE_LOOPED | FORCE_HELD;
	can_claim(SDA, 0, 1);
}

/* The same disk by two paths. */
CASE(claims_paths)
{
	has("/sys/block/sda/wwid", "naa.1\n");
	has("/sys/block/sdb/wwid", "naa.1\n");
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata2", "sdb", SDB, 1, 100, 100);
	assert_int_equal(claim(SDA + 1, 0, 1), 0);
	assert_int_equal(claims.n, 2);
	assert_int_equal(claims.node[1], SDB + 1);
	claims_release(&claims);
	has("/sys/block/sdb/ro", "1\n");
	cannot_claim(SDA + 1, 0, 1, "sdb is read-only");
	lacks("/sys/block/sdb/ro");
	has(MOUNTINFO, "20 1 8:17 / /b rw - ext4 /dev/sdb1 rw\n");
	cannot_claim(SDA, 0, 1,
	    "it and sdb are the same disk: sdb1 is mounted on /b");
	can_claim(SDA, 300, 1);
}

CASE(claims_below)
{
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_loop("loop0", LOOP0, "/dev/sda1", 100);
	assert_int_equal(claim(LOOP0, 0, 1), 0);
	assert_int_equal(claims.n, 2);
	assert_int_equal(claims.node[1], SDA + 1);
	claims_release(&claims);
	add_loop("loop1", LOOP1, "/dev/sda", BLOCKS);
	has(MOUNTINFO, "20 1 7:1 / /c rw - ext4 /dev/loop1 rw\n");
	cannot_claim(LOOP0, 0, 1,
	    "it and loop1 lie on the same disk: loop1 is mounted on /c");
	has("/sys/block/loop1/loop/offset", "51712\n");
	can_claim(LOOP0, 0, 1);
	assert_int_equal(claim(LOOP0, 0, 2), STATUS_REFUSED);
	has(MOUNTINFO, "20 1 8:1 / /d rw - ext4 /dev/sda1 rw\n");
	cannot_claim(LOOP0, 0, 1, "sda1 is mounted on /d");
	lacks("/sys/dev/block/8:1");
	has(MOUNTINFO, "%s", "");
	cannot_claim(LOOP0, 0, 1, "not known");
}

/* A volume of two pieces, one of them of sda1, and another on that. */
CASE(claims_members)
{
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_disk("virtual", "dm-0", DM0, 200);
	has("/sys/block/dm-0/slaves/sda/dev", "8:0\n");
	has("/sys/block/dm-0/slaves/sdb/dev", "8:16\n");
	has(MOUNTINFO, "20 1 8:1 / /a rw - ext4 /dev/sda1 rw\n");
	cannot_claim(DM0, 0, 10, "sda1 is mounted on /a");	/* all of each */
	add_node("mapper/control", makedev(10, 236), 0);
	world.table = "0 100 linear 8:16 0\n100 100 linear 8:0 150\n";
	can_claim(DM0, 0, 10);
	assert_int_equal(claim(DM0, 100, 50), STATUS_REFUSED);
	can_claim(DM0, 150, 50);
	has(MOUNTINFO, "20 1 253:1 / /b rw - ext4 /dev/dm-1 rw\n");
	add_disk("virtual", "dm-1", DM1, 200);
	has("/sys/block/sdb/holders/dm-0/dev", "253:0\n");
	has("/sys/block/sdb/holders/dm-1/dev", "253:1\n");
	cannot_claim(DM0, 0, 10, "dm-1 is mounted on /b");
	world.table = NULL;			/* none is linear */
	can_claim(DM0, 0, 10);
	lacks("/sys/block/dm-0/slaves/sdb/dev");
	cannot_claim(DM0, 0, 10, "who uses dm-0 is not known");
}

/* A use that force= allows keeps the claim on the disk from being had. */
CASE(claims_what_is_forced)
{
	opts.force = FORCE_MOUNTED;
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 300, 100);
	has(MOUNTINFO, "20 1 8:1 / /a rw - ext4 /dev/sda1 rw\n");
	world.node[2].used = true;
	assert_int_equal(claim(SDA, 0, 1), 0);
	assert_int_equal(claims.n, 1);			/* the other one */
	assert_int_equal(claims.node[0], SDA + 2);
	claims_release(&claims);
	world.node[3].used = true;		/* nobody knows by whom */
	cannot_claim(SDA, 0, 1, "sda2 is in use");
	opts.force |= FORCE_HELD;
	assert_int_equal(claim(SDA, 0, 1), 0);
	assert_int_equal(claims.n, 0);
	claims_release(&claims);
}

CASE(refuses_uses)
{
	has("/proc/swaps", "Filename\n/dev/sda x\n");
	cannot_claim(SDA, 0, 1, "sda is swap space in use; swapoff");
	has("/proc/swaps", "%s", "");
	has("/sys/block/sda/holders/md0/dev", "9:0\n");
	cannot_claim(SDA, 0, 1, "sda is held by md0");
	lacks("/sys/block/sda/holders/md0/dev");
	lacks("/sys/block/sda/holders/md0");
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	cannot_claim(SDA, 0, 1, "the loop device loop0 lies on sda");
	world.broken = "/swaps";
	world.err = EMFILE;
	opts.force = FORCE_LOOPED;
	cannot_claim(SDA, 0, 1,
	    "/proc/swaps cannot be read: Too many open files");
	assert_non_null(strstr(f.text, "force=swap writes"));
	world.broken = "/dev/sda";
	cannot_claim(SDA, 0, 1, "sda cannot be claimed with O_EXCL: Too many");
	assert_int_equal(claims.n, 0);
}

/* Before each logical partition there is a record of it. */
CASE(claims_records)
{
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 200, 2);	/* extended */
	add_part("ata1", "sda", SDA, 5, 210, 90);
	add_part("ata1", "sda", SDA, 6, 310, 90);
	assert_int_equal(claim(SDA, 150, 10), 0);
	assert_int_equal(claims.n, 1);
	claims_release(&claims);
	assert_int_equal(claim(SDA, 200, 1), 0);
	assert_int_equal(claims.node[0], SDA);		/* all */
	claims_release(&claims);
	assert_int_equal(claim(SDA, 220, 10), 0);
	assert_int_equal(claims.n, 1);
	claims_release(&claims);
	assert_int_equal(claim(SDA, 299, 2), 0);	/* up to the next one's */
	assert_int_equal(claims.node[0], SDA);
	claims_release(&claims);
	assert_int_equal(claim(SDA + 6, 0, 10), 0);
	assert_int_equal(claims.node[0], SDA + 6);
	claims_release(&claims);
	assert_int_equal(claim(SDA, 990, 10), 0);	/* the backup of a GPT */
	assert_int_equal(claims.node[0], SDA);
	claims_release(&claims);
}

/* Also where there is no other partition before. */
CASE(claims_the_first_record)
{
	add_part("ata1", "sda", SDA, 1, 100, 2);	/* extended */
	add_part("ata1", "sda", SDA, 5, 110, 90);
	assert_int_equal(claim(SDA, 101, 1), 0);
	assert_int_equal(claims.node[0], SDA);
	claims_release(&claims);
	assert_int_equal(claim(SDA, 120, 10), 0);
	assert_int_equal(claims.n, 1);
	claims_release(&claims);
}

/* What is on a file is found by the file, and what locks it. */
CASE(claims_below_a_file)
{
	struct node *other;

	has("/img", "x");
	has("/another", "y");
	add_loop("loop0", LOOP0, "/img", 100);
	can_claim(LOOP0, 0, 1);
	other = add_loop("loop1", LOOP1, "/another", 100);
	has(MOUNTINFO, "20 1 7:1 / /c rw - ext4 /dev/loop1 rw\n");
	can_claim(LOOP0, 0, 1);
	other->on = "/img";
	cannot_claim(LOOP0, 0, 1,
	    "it and loop1 lie on the same file: loop1 is mounted on /c");
	other->on = "/dev/sda";
	can_claim(LOOP0, 0, 1);
	has("/proc/swaps", "Filename\n/img x\n");
	cannot_claim(LOOP0, 0, 1, "its file is swap space");
	has("/proc/swaps", "%s", "");
	world.broken = "/img";
	world.err = EMFILE;
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	lacks("/proc/partitions");
	world.broken = "/sys/block";
	cannot_claim(LOOP0, 0, 1, "because /sys/block cannot be read");
	world.broken = NULL;
	other->err = EIO;			/* of which nothing is known */
	lacks("/sys/block/loop1/size");
	has("/sys/block/loop1/size", "%s", "\n");
	can_claim(LOOP0, 0, 1);
}

CASE(tells_that_it_cannot_be_locked)
{
	add_part("ata1", "sda", SDA, 1, 100, 100);
	world.node[0].lock_err = ENOLCK;
	cannot_claim(SDA, 150, 1,
	    "sda cannot be locked (flock): No locks available (force=held "
	    "writes anyway)");
	opts.force = FORCE_HELD;
	can_claim(SDA, 150, 1);
}

/* The target by its own name, where there is no usual one for its node. */
CASE(claims_by_the_name_that_was_given)
{
	int status;

	opts.force = FORCE_MOUNTED;		/* no loop over calls */
	strcpy(world.node[0].name, "mine");
	cannot_claim(SDA, 0, 1,
	    "sda cannot be claimed with O_EXCL: No such file");
	set_end(SDA);
	end.name = "/dev/mine";
	for (status = 0; status < 2; status++) {
		struct plan p = { .opts = &opts, .dst = &end,
			.bounded = true, .pad = BLOCK, .length = BLOCK,
			.truncate = -1 };

		assert_int_equal(claims_take(&claims, NULL, &p, &f), -status);
		if (status == 0) {
			assert_int_equal(claims.node[0], SDA);
			claims_release(&claims);
		}
		world.node[0].dev = SDB;	/* another by then */
	}
	assert_true(refused("sda cannot be claimed with O_EXCL: Stale file"));
}

/* What an earlier target holds is ours. */
CASE(claims_beside_an_earlier_target)
{
	struct plan p = { .opts = &opts, .dst = &end, .bounded = true,
		.pad = BLOCK, .length = BLOCK, .truncate = -1 };
	struct claims first, second;

	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 300, 100);
	set_end(SDA + 1);
	assert_int_equal(claims_take(&first, NULL, &p, &f), 0);
	assert_int_equal(first.locked, SDA);
	world.node[0].locked = 1000;		/* by the first */
	set_end(SDA + 2);
	assert_int_equal(claims_take(&second, &first, &p, &f), 0);
	assert_int_equal(second.n, 1);
	assert_int_equal(second.lock, -1);
	claims_release(&second);
	set_end(SDA + 1);			/* another part of the same */
	world.node[2].used = true;
	assert_int_equal(claims_take(&second, &first, &p, &f), 0);
	assert_int_equal(second.n, 0);
	claims_settle(&first, false);
	claims_settle(&first, true);
	claims_release(&first);
	p.length = 0;				/* nothing is written */
	assert_int_equal(claims_take(&second, NULL, &p, &f), 0);
	p.length = BLOCK;
	p.work = WORK_COMPARE;
	assert_int_equal(claims_take(&second, NULL, &p, &f), 0);
	assert_int_equal(second.n, 0);
}

/* --------------------------------------------------------------- overlaps */

static struct endpoint source;

static bool
overlap_once(dev_t from, uint64_t at, dev_t to, uint64_t there, uint64_t n)
{
	struct plan p = { .opts = &opts, .src = &source, .dst = &end,
		.bounded = true, .pad = BLOCK, .src_off = at * BLOCK,
		.dst_off = there * BLOCK, .length = n * BLOCK,
		.truncate = -1 };

	f = (struct fault){ 0 };
	set_end(from);
	source = end;
	source.name = "source";
	set_end(to);
	return overlap_source(&p, &f) != 0;
}

/*
 * Whether it is refused that "n" blocks go from one to the other; and if so,
 * also where any one descriptor cannot be had.
 */
static bool
overlap(dev_t from, uint64_t at, dev_t to, uint64_t there, uint64_t n)
{
	typeof(world) before = world;
	bool is = overlap_once(from, at, to, there, n);
	struct fault was = f;
	unsigned i;

	for (i = 1; is && world.broken == NULL; i++) {
		world.failing = i;
		world.err = EMFILE;
		if (!overlap_once(from, at, to, there, n))
			fail_msg("allowed without descriptor %u: %s", i,
			    was.text);
		if (world.failing > 0)
			break;
	}
	world = before;
	f = was;
	return is;
}

static void
overlaps(dev_t from, uint64_t at, dev_t to, uint64_t there, uint64_t n,
    const char *text)
{
	assert_true(overlap(from, at, to, there, n));
	assert_true(refused(text));
}

CASE(overlaps_a_range)
{
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 150, 100);
	assert_false(overlap(SDA, 0, SDB, 0, BLOCKS));
	assert_false(overlap(SDA, 0, SDA, 10, 10));
	overlaps(SDA, 0, SDA, 9, 10,
	    "the range to be written on it overlaps the one to be read from "
	    "source");
	assert_false(overlap(SDA, 0, SDA + 1, 0, 100));
	assert_true(overlap(SDA, 1, SDA + 1, 0, 100));
	assert_false(overlap(SDA + 1, 0, SDA + 2, 0, 50));
	assert_true(overlap(SDA + 1, 0, SDA + 2, 0, 51));
	add_loop("loop0", LOOP0, "/dev/sda1", 100);
	has("/sys/block/loop0/loop/offset", "5120\n");
	assert_true(overlap(LOOP0, 0, SDA, 110, 1));
	assert_false(overlap(LOOP0, 0, SDA, 109, 1));
	opts.force = FORCE_OVERLAP;
	assert_false(overlap(SDA, 0, SDA, 0, 10));
	opts.force = 0;
	world.broken = "8:0";
	world.err = EIO;
	overlaps(SDA + 1, 0, SDB, 0, 1,
	    "whether it overlaps what is read from source is not known");
}

CASE(overlaps_in_volumes)
{
	add_disk("virtual", "dm-0", DM0, 200);
	add_disk("virtual", "dm-1", DM1, 200);
	has("/sys/block/dm-0/slaves/sda/dev", "8:0\n");
	has("/sys/block/dm-1/slaves/sda/dev", "8:0\n");
	assert_false(overlap(DM0, 0, DM1, 0, 10));	/* somewhere there */
	assert_true(overlap(DM0, 0, SDA, 900, 10));
	assert_true(overlap(SDA, 900, DM0, 0, 10));
	add_node("mapper/control", makedev(10, 236), 0);
	world.table = "0 100 linear 8:0 150\n100 100 linear 8:16 7\n";
	assert_true(overlap(DM0, 0, DM1, 0, 10));
	assert_false(overlap(DM0, 0, SDA, 900, 10));
	assert_true(overlap(DM0, 90, SDA, 240, 10));
	assert_false(overlap(DM0, 90, SDA, 230, 10));
	assert_true(overlap(DM0, 100, SDB, 0, 8));
	assert_false(overlap(DM0, 100, SDB, 0, 7));
}

CASE(overlaps_by_another_path)
{
	has("/sys/block/sda/wwid", "naa.1\n");
	has("/sys/block/sdb/wwid", "naa.1\n");
	assert_true(overlap(SDA, 0, SDB, 9, 10));
	assert_false(overlap(SDA, 0, SDB, 10, 10));
}

/* Volumes on volumes: all of what is below, or more than can be told. */
CASE(overlaps_in_volumes_of_volumes)
{
	char table[64 * 40] = "";
	int i;

	add_disk("virtual", "dm-0", DM0, 200);
	add_disk("virtual", "dm-1", DM1, 200);
	has("/sys/block/dm-0/slaves/dm-1/dev", "253:1\n");
	has("/sys/block/dm-1/slaves/sda/dev", "8:0\n");
	assert_true(overlap(DM0, 0, SDA, 900, 10));
	assert_false(overlap(DM0, 0, SDB, 900, 10));
	add_node("mapper/control", makedev(10, 236), 0);
	for (i = 0; i < 64; i++)
		snprintf(table + strlen(table), sizeof(table) - strlen(table),
		    "%d 1 linear 8:0 %d\n", i, 2 * i);
	world.table = table;
	world.broken = "nothing";		/* no loop over calls */
	assert_false(overlap(DM0, 0, SDB, 0, 64));
	assert_true(overlap(DM0, 0, SDA, 126, 64));
	assert_false(overlap(DM0, 0, SDA, 127, 64));
	world.table = NULL;			/* a ring has no end */
	has("/sys/block/dm-1/slaves/dm-0/dev", "253:0\n");
	overlaps(DM0, 0, SDB, 0, 64,
	    "overlaps what is read from source is not known, because what "
	    "/sys/dev/block/");
	assert_true(refused("lies on cannot be read: Argument list too long"));
}

/* Each stripe lies in a range, and so does all that is below it. */
CASE(overlaps_in_stripes)
{
	add_part("ata1", "sda", SDA, 1, 100, 500);
	add_disk("virtual", "dm-0", DM0, 200);
	add_disk("virtual", "dm-1", DM1, 200);
	has("/sys/block/dm-0/slaves/sda1/dev", "8:1\n");
	has("/sys/block/dm-0/slaves/sdb/dev", "8:16\n");
	has("/sys/block/dm-1/slaves/sda/dev", "8:0\n");
	assert_true(overlap(DM0, 0, SDA, 599, 1));
	assert_false(overlap(DM0, 0, SDA, 99, 1));
	assert_false(overlap(DM0, 0, DM1, 0, 10));	/* both leave room */
	add_node("mapper/control", makedev(10, 236), 0);
	world.table = "0 200 striped 2 16 8:1 50 8:16 300\n";
	assert_false(overlap(DM0, 0, SDA, 149, 1));
	assert_true(overlap(DM0, 0, SDA, 150, 1));
	assert_true(overlap(DM0, 0, SDA, 249, 1));
	assert_false(overlap(DM0, 0, SDA, 250, 1));
	assert_false(overlap(DM0, 0, SDB, 299, 1));
	assert_true(overlap(DM0, 0, SDB, 399, 1));
	assert_false(overlap(DM0, 0, SDB, 400, 1));
	assert_true(overlap(DM0, 0, SDA + 1, 50, 1));
}

/* What is behind a member that leads nowhere is found all the same. */
CASE(overlaps_beside_what_is_lost)
{
	add_disk("virtual", "dm-0", DM0, 200);
	has("/sys/block/dm-0/slaves/a/x", "%s", "");
	has("/sys/block/dm-0/slaves/sdb/dev", "8:16\n");
	world.broken = "nothing";
	overlaps(DM0, 0, SDB, 5, 1, "the range to be written on it overlaps");
	overlaps(DM0, 0, SDA, 5, 1, "is not known");
}

CASE(overlaps_below_loop_devices)
{
	struct node *loop;

	loop = add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	has("/sys/block/loop0/loop/offset", "512\n");
	assert_true(overlap(SDA, 11, LOOP0, 10, 1));
	world.broken = "nothing";
	loop->on = NULL;			/* it lies on nothing by now */
	assert_false(overlap(SDA, 11, LOOP0, 10, 1));
	loop->err = ENOTTY;			/* it does not tell, */
	overlaps(SDA, 11, LOOP0, 10, 1,
	    "the range to be written on it overlaps");
	has("/sys/block/loop0/loop/backing_file", "/gone\n");
	overlaps(SDA, 11, LOOP0, 10, 1,
	    "/sys/dev/block/7:0 lies on cannot be read");
}

/* What is cut off is written, up to the end of what is below. */
CASE(overlaps_what_is_cut_off)
{
	struct plan p = { .opts = &opts, .src = &source, .dst = &end,
		.bounded = true, .pad = BLOCK, .src_off = 20 * BLOCK,
		.length = BLOCK, .truncate = (int64_t)(5 * BLOCK) };

	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	has("/sys/block/loop0/loop/offset", "512\n");
	set_end(SDA);
	source = end;
	set_end(LOOP0);
	assert_int_equal(overlap_source(&p, &f), -1);
	p.truncate = (int64_t)(20 * BLOCK);
	assert_int_equal(overlap_source(&p, &f), 0);
}

/* Of a file, and of a SCSI node, it may not be known where they lie. */
CASE(overlaps_what_is_not_known)
{
	struct plan p = { .opts = &opts, .src = &source, .dst = &end,
		.bounded = true, .pad = BLOCK, .length = BLOCK,
		.truncate = -1 };

	opts.force = FORCE_MOUNTED;
	set_end(SDA);
	source = end;
	source.name = "source";
	source.is.device = false;
	source.id.dev = makedev(0, 99);
	source.id.ino = 5;
	world.broken = MOUNTINFO;
	world.err = EMFILE;
	assert_int_equal(overlap_source(&p, &f), -1);
	assert_true(refused("what the file system 0:99 lies on cannot be read"));
	opts.force = 0;				/* then it does not matter */
	assert_int_equal(overlap_source(&p, &f), 0);
	end.is.device = false;			/* nor to a file */
	end.id.ino = 6;
	end.id.dev = makedev(0, 98);
	opts.force = FORCE_MOUNTED;
	assert_int_equal(overlap_source(&p, &f), 0);
	world.broken = NULL;
	opts.force = 0;
	set_end(SDA);
	source.is.device = true;		/* /dev/sg0 */
	source.id.dev = makedev(0, 5);
	source.id.node = makedev(21, 0);
	assert_int_equal(overlap_source(&p, &f), -1);
	assert_true(refused("whether it overlaps what is read from source is "
	    "not known"));
	has("/sys/devices/ata1/scsi_generic/sg0/dev", "21:0\n");
	leads("/sys/dev/char/21:0", "../../devices/ata1/scsi_generic/sg0");
	assert_int_equal(overlap_source(&p, &f), 0);	/* without a block node */
	leads("/sys/devices/ata1/scsi_generic/sg0/device", "../..");
	assert_int_equal(overlap_source(&p, &f), -1);	/* it has come up since */
	assert_true(refused("cannot be read: Stale file handle"));
}

/* One export of one server, by whatever name. */
CASE(overlaps_in_an_export)
{
	static const struct {
		const char	*name, *export, *peer;
		pid_t		server;
		bool		remote, is;
	} row[] = {
		{ "source", NULL, "", 0, true, true },
		{ "source", NULL, "", 0, false, false },
		{ "it", "x", "1.2.3.4", 0, true, true },
		{ "it", "y", "1.2.3.4", 0, true, false },
		{ "it", NULL, "1.2.3.4", 0, true, false },
		{ "it", "x", "1.2.3.5", 0, true, false },
		{ "it", "x", "", 0, true, false },
		{ "it", "x", "", 42, true, true },
		{ "it", "x", "", 43, true, false },
	};
	struct plan p = { .opts = &opts, .src = &source, .dst = &end,
		.bounded = true, .pad = BLOCK, .length = 10 * BLOCK,
		.truncate = -1 }, q = { .opts = &opts, .dst = &source };

	set_end(0);
	source = end;
	source.name = "source";
	source.is = (struct traits){ .remote = true };
	source.id = (struct identity){ .export = "x", .peer = "1.2.3.4",
		.server = 42 };
	EACH_OF(i, row) {
		end = source;
		end.name = row[i].name;
		end.is.remote = row[i].remote;
		end.id = (struct identity){ .export = row[i].export,
			.peer = row[i].peer, .server = row[i].server };
		p.src_off = p.dst_off = 0;
		assert_int_equal(overlap_source(&p, &f), -row[i].is);
		assert_int_equal(overlap_targets(&p, &q, &f), -row[i].is);
		p.dst_off = 10 * BLOCK;
		assert_int_equal(overlap_source(&p, &f), 0);
		p.dst_off = 0;
		p.src_off = 10 * BLOCK;
		assert_int_equal(overlap_source(&p, &f), 0);
		p.src_off = 9 * BLOCK;
		assert_int_equal(overlap_source(&p, &f), -row[i].is);
	}
}

/* Two of several targets. */
CASE(overlaps_a_target)
{
	struct plan p, q;

	add_part("ata1", "sda", SDA, 1, 100, 100);
	assert_false(overlap(SDA, 0, SDA + 1, 0, 10));
	p = (struct plan){ .opts = &opts, .src = NULL, .dst = &source,
		.pad = BLOCK, .bounded = true, .length = 100 * BLOCK,
		.truncate = -1 };
	q = p;
	q.dst = &end;
	assert_int_equal(overlap_targets(&p, &q, &f), 0);
	p.length++;
	assert_int_equal(overlap_targets(&p, &q, &f), -1);
	assert_true(refused("the ranges to be written on source and on it "
	    "overlap"));
	world.broken = "8:1";
	world.err = EIO;
	p.length = BLOCK;
	assert_int_equal(overlap_targets(&p, &q, &f), -1);
	assert_true(refused("whether source and it overlap is not known"));
	assert_int_equal(overlap_targets(&q, &p, &f), -1);
	assert_true(refused("whether it and source overlap is not known"));
	source.id.known = false;
	assert_int_equal(overlap_targets(&p, &q, &f), 0);
}
