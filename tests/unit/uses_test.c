/*
 * Who uses a disk, what it lies on, and what is claimed of that: on a machine
 * that is made up, and where it does not say.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <bsd/string.h>

#include "../../src/end/backend.h"
#include "../../src/part/idle.h"
#include "base/status.h"
#include "disk/below.h"
#include "disk/disk.h"
#include "disk/usage.h"
#include "plan/claim.h"
#include "plan/overlap.h"
#include "world.h"

#define SDA	makedev(8, 0)
#define SDB	makedev(8, 16)
#define LOOP0	makedev(7, 0)
#define LOOP1	makedev(7, 1)
#define DM0	makedev(253, 0)
#define DM1	makedev(253, 1)
#define MOUNTINFO	"/proc/self/mountinfo"

#define BLOCK	((uint64_t)512)

enum { BLOCKS = 1000 };

static struct usage use;
static struct fault f;

static void
two_disks(void)
{
	f = (struct fault){ 0 };
	add_disk("ata1", "sda", SDA, BLOCKS);
	add_disk("ata2", "sdb", SDB, BLOCKS);
}

/* List a loop device, and those before it. */
static void
add_row(const struct node *last)
{
	const struct node *node;
	char rows[400] = "major minor  #blocks  name\n\n 8 0 500 sda\n";

	for (node = world.node; node <= last; node++)
		if (node->on != NULL) {
			strlcat(rows, " 7 0 500 ", sizeof(rows));
			strlcat(rows, node->name, sizeof(rows));
			strlcat(rows, "\n", sizeof(rows));
		}
	has("/proc/partitions", "%s", rows);
}

/* A loop device on that path, of so many blocks. */
static struct node *
add_loop(const char *name, dev_t dev, const char *on, uint64_t blocks)
{
	struct node *node = add_disk("virtual", name, dev, blocks);
	char path[64];

	node->on = on;
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", name);
	has(path, "%s\n", on);
	snprintf(path, sizeof(path), "/sys/block/%s/loop/offset", name);
	has(path, "0\n");
	add_row(node);
	return node;
}

/* ------------------------------------------------------------------ uses */

static bool
used(dev_t node, enum usage_kind kind, const char *by)
{
	return usage_of_node(node, 0, &use) && use.kind == kind &&
	    strcmp(use.by, by) == 0;
}

static void
is_mounted(void **state)
{
	(void)state;
	two_disks();
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, 0);
	has(MOUNTINFO, "nonsense\n1 2 8:0\n1 2 x / /a - ext4 s rw\n"
	    "20 1 8:0 / /a\\040b rw - ext4 /dev/x ro,data\n");
	assert_true(used(SDA, USE_MOUNTED, "/a b"));
	assert_false(use.writable);
	assert_false(usage_of_node(SDA, USE_MOUNTED, &use));
	has(MOUNTINFO, "20 1 0:33 / /b rw - btrfs /dev/sda rw\n");
	assert_true(used(SDA, USE_MOUNTED, "/b"));
	assert_true(use.writable);
	assert_false(usage_of_node(SDB, 0, &use));
	world.broken = "mountinfo";
	world.err = EMFILE;
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, USE_MOUNTED);
	assert_int_equal(use.err, EMFILE);
	assert_string_equal(use.unread, MOUNTINFO);
}

static void
is_swap(void **state)
{
	(void)state;
	two_disks();
	has("/proc/swaps", "Filename Type\n/dev/sdb\\040x file 1\n"
	    "/dev/sda partition 1 0 -2\n");
	assert_true(used(SDA, USE_SWAP, "swap space"));
	assert_false(usage_of_node(SDB, 0, &use));
	assert_false(usage_of_node(SDA, USE_SWAP, &use));
	world.broken = "swaps";
	world.err = ENOENT;
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, 0);	/* a kernel without */
	lacks("/proc/filesystems");
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, USE_SWAP);
}

static void
is_held(void **state)
{
	(void)state;
	two_disks();
	has("/sys/block/sda/holders/md0/dev", "9:0\n");
	assert_true(used(SDA, USE_HELD, "md0"));
	assert_false(usage_of_node(SDA, USE_HELD, &use));
	assert_false(usage_of_node(SDB, 0, &use));
}

/* What the kernel's servers give away. */
static void
is_exported(void **state)
{
	static const char nvme[] = "/sys/kernel/config/nvmet/subsystems/s/"
	    "namespaces/1/device_path";
	static const char scsi[] = "/sys/kernel/config/target/core/fileio_0/"
	    "d/info";
	struct stat st = { 0 };

	(void)state;
	two_disks();
	world.exports[0] = nvme;
	world.exports[1] = scsi;
	has(nvme, "/dev/sda\n");
	assert_false(usage_of_node(SDA, 0, &use));
	has("/sys/kernel/config/nvmet/subsystems/s/namespaces/1/enable", "0\n");
	assert_false(usage_of_node(SDA, 0, &use));
	has("/sys/kernel/config/nvmet/subsystems/s/namespaces/1/enable", "1\n");
	assert_true(used(SDA, USE_HELD, "the NVMe target"));
	has(nvme, "sda\n");
	assert_false(usage_of_node(SDA, 0, &use));
	has(scsi, "Status: ACTIVATED\n");
	assert_false(usage_of_node(SDA, 0, &use));
	has(scsi, "Status: ACTIVATED  File: /dev/sda");
	assert_true(used(SDA, USE_HELD, "the SCSI target"));
	has("/img", "x");
	has(scsi, "Status: ACTIVATED  File: /img  Size: 1\n");
	assert_int_equal(stat("/img", &st), 0);
	assert_true(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	assert_int_equal(use.kind, USE_HELD);
	assert_false(usage_of_file(st.st_dev, st.st_ino, USE_HELD, &use));
	lacks(nvme);
	lacks(scsi);
	assert_false(usage_of_node(SDA, 0, &use));
}

static void
has_loops(void **state)
{
	struct node *loop;
	struct stat st = { 0 };

	(void)state;
	two_disks();
	has("/img", "x");
	assert_int_equal(stat("/img", &st), 0);
	loop = add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	add_loop("loop1", LOOP1, "/img", 1);
	assert_true(used(SDA, USE_LOOPED, "loop0"));
	assert_false(usage_of_node(SDB, 0, &use));
	assert_true(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	assert_string_equal(use.by, "loop1");
	assert_false(usage_of_node(SDA, USE_LOOPED, &use));
	lacks("/proc/partitions");
	assert_true(used(SDA, USE_LOOPED, "loop0"));
	loop->err = ENXIO;			/* it is free */
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, 0);
	world.broken = "/sys/block";
	world.err = EIO;
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, USE_LOOPED);
}

/* One whose node cannot be opened has a name in sysfs, or is being detached. */
static void
has_loops_without_a_node(void **state)
{
	static const char file[] = "/sys/block/loop0/loop/backing_file";

	(void)state;
	two_disks();
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	strcpy(world.node[2].name, "elsewhere");
	assert_true(used(SDA, USE_LOOPED, "loop0"));
	has(file, "/nowhere\n");
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, USE_LOOPED);
	assert_int_equal(use.err, ENOENT);
	assert_string_equal(use.unread, file);
	has(file, "%s", "\n");
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, 0);
	lacks(file);
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, 0);
	has(file, "/dev/sda\n");
	world.broken = "backing_file";
	world.err = EACCES;
	assert_false(usage_of_node(SDA, 0, &use));
	assert_int_equal(use.unknown, USE_LOOPED);
	assert_int_equal(use.err, EACCES);
}

/* ------------------------------------------------------------ what is below */

static void
has_gone(void **state)
{
	(void)state;
	two_disks();
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	has("/sys/block/dm-0/slaves/sda/dev", "8:0\n");
	has("/sys/block/dm-0/slaves/sdb/dev", "8:16\n");
	assert_false(below_gone(LOOP0));
	assert_false(below_gone(DM0));
	has("/sys/block/sda/device/state", "offline\n");
	assert_true(below_gone(SDA));
	assert_true(below_gone(LOOP0));
	assert_false(below_gone(DM0));		/* one is there */
	has("/sys/block/sdb/size", "0\n");
	assert_true(below_gone(DM0));
	has("/sys/block/sdb/size", "99999999999999999999\n");
	assert_false(below_gone(SDB));
	lacks("/sys/block/dm-0/slaves/sdb/dev");
	assert_true(below_gone(DM0));		/* it leads nowhere */
}

/* The file is as far as its file system's disk. */
static void
has_gone_with_a_file(void **state)
{
	(void)state;
	two_disks();
	has("/img", "x");
	add_loop("loop0", LOOP0, "/img", BLOCKS);
	assert_false(below_gone(LOOP0));
	world.fs = SDA;
	assert_false(below_gone(LOOP0));
	world.fs = makedev(8, 99);
	assert_true(below_gone(LOOP0));
}

static int
kept(dev_t node, uint64_t end)
{
	int failed;

	f = (struct fault){ 0 };
	failed = below_kept(node, end, &f);
	assert_int_equal(failed, f.status == 0 ? 0 : -1);
	return f.status;
}

static void
is_kept(void **state)
{
	(void)state;
	two_disks();
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	has("/img", "%*d", 2048, 1);
	add_loop("loop1", LOOP1, "/img", 4);
	assert_int_equal(kept(SDA, BLOCK), 0);
	assert_int_equal(kept(LOOP0, BLOCKS * BLOCK), 0);
	has("/sys/block/sda/size", "%d\n", BLOCKS - 1);
	assert_int_equal(kept(LOOP0, (BLOCKS - 1) * BLOCK), 0);
	assert_int_equal(kept(LOOP0, BLOCKS * BLOCK),
	    STATUS_SHORT);
	has("/sys/block/sda/size", "0\n");
	assert_int_equal(kept(LOOP0, BLOCK), STATUS_ERRNO + ENODEV);
	assert_int_equal(kept(LOOP1, UINT64_MAX), 0);
	has("/img", "cut off");
	assert_int_equal(kept(LOOP1, UINT64_MAX), STATUS_SHORT);
	assert_int_equal(kept(LOOP1, 7), 0);
	world.node[3].err = EIO;		/* it does not answer */
	assert_int_equal(kept(LOOP1, UINT64_MAX), 0);
}

static void
is_kept_by_members(void **state)
{
	(void)state;
	two_disks();
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	has("/sys/block/dm-0/slaves/loop0/dev", "7:0\n");
	has("/sys/block/dm-0/slaves/gone/x", "%s", "");
	assert_int_equal(kept(DM0, UINT64_MAX), 0);
	has("/sys/block/sda/size", "10\n");
	assert_int_equal(kept(DM0, UINT64_MAX), STATUS_SHORT);
}

static void
lies_on_a_file(void **state)
{
	uint64_t start;
	int fd;

	(void)state;
	two_disks();
	has("/img", "x");
	add_loop("loop1", LOOP1, "/img", BLOCKS);
	add_loop("loop0", LOOP0, "/dev/loop1", BLOCKS);
	has("/sys/block/loop0/loop/offset", "1024\n");
	has("/sys/block/loop1/loop/offset", "512\n");
	fd = below_file(LOOP0, &start);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(start, 1536);
	assert_int_equal(below_file(SDA, &start), -1);
	has("/sys/block/loop1/loop/backing_file", "/nowhere\n");
	assert_int_equal(below_file(LOOP0, &start), -1);
	has("/other", "y");			/* of the same name now */
	has("/sys/block/loop1/loop/backing_file", "/other\n");
	assert_int_equal(below_file(LOOP0, &start), -1);
	world.node[2].err = ENXIO;
	assert_int_equal(below_file(LOOP0, &start), -1);
}

static void
counts_writes(void **state)
{
	(void)state;
	two_disks();
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	has("/sys/block/loop0/stat", "1 2 3 4 50 6 7 8 9 10 11 200 13\n");
	assert_int_equal(below_writes(LOOP0), 250);
	has("/sys/block/loop0/stat", "1 2 3 4 50\n");
	assert_int_equal(below_writes(LOOP0), 50);
	lacks("/sys/block/loop0/stat");
	assert_int_equal(below_writes(LOOP0), 0);
	assert_int_equal(below_writes(SDA), 0);
}

static int
first_of_it(dev_t node, const char *name, void *arg)
{
	(void)name;
	*(unsigned *)arg += 1;
	return node == SDB;
}

static void
visits_each(void **state)
{
	unsigned n = 0;

	(void)state;
	two_disks();
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	add_disk("virtual", "dm-1", DM1, BLOCKS);
	add_part("virtual", "dm-1", DM1, 1, 0, BLOCKS);
	has("/sys/block/dm-0/slaves/sda/dev", "8:0\n");
	has("/sys/block/dm-0/slaves/none/x", "%s", "");
	has("/sys/block/dm-1/slaves/dm-0/dev", "253:0\n");
	assert_int_equal(below_each(DM1, first_of_it, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(below_each(DM1 + 1, first_of_it, &n), 0);
	assert_int_equal(n, 4);
	has("/sys/block/dm-1/slaves/sdb/dev", "8:16\n");
	assert_int_equal(below_each(DM1, first_of_it, &n), 1);
	assert_int_equal(below_each(makedev(9, 9), first_of_it, &n), 0);
}

/* ------------------------------------------------------------------ idle */

static const struct backend backend;
static struct endpoint end;
static char why[IDLE_WHY];

static void
set_end(dev_t node)
{
	end = (struct endpoint){ .be = &backend, .name = "it", .fd = -1,
		.dir = -1, .layer = -1, .is = { .device = true },
		.id = { .known = true, .dev = node, .node = node },
		.lim = { .end = UINT64_MAX } };
}

static bool
idle(dev_t node, uint64_t from, uint64_t to, bool partition)
{
	why[0] = '\0';
	set_end(node);
	return part_idle(&end, from, to, partition, why) == 0;
}

static void
is_idle(void **state)
{
	(void)state;
	two_disks();
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 300, 2);	/* extended */
	assert_true(idle(SDA, 0, 200 * BLOCK, false));
	has(MOUNTINFO, "20 1 8:1 / /a rw - ext4 /dev/sda1 ro\n");
	assert_true(idle(SDA, 0, 200 * BLOCK, false));
	has(MOUNTINFO, "20 1 8:1 / /a rw - ext4 /dev/sda1 rw\n");
	assert_false(idle(SDA, 0, 200 * BLOCK, false));
	assert_string_equal(why, "it is mounted read-write on /a");
	assert_true(idle(SDA, 0, 100 * BLOCK, true));
	assert_true(idle(SDA, 200 * BLOCK, 400 * BLOCK, true));
	assert_false(idle(SDA + 1, 0, BLOCK, true));
	has(MOUNTINFO, "%s", "");
	world.node[2].used = true;			/* sda1 */
	assert_false(idle(SDA, 0, 200 * BLOCK, false));
	assert_string_equal(why, "it is in use");
	strcpy(world.node[2].name, "elsewhere");	/* it has no node */
	assert_true(idle(SDA, 0, 200 * BLOCK, false));
	world.broken = "mountinfo";
	world.err = EIO;
	assert_false(idle(SDA, 0, BLOCK, false));
	assert_string_equal(why, "whether it is mounted cannot be looked up");
	end.is.device = false;
	assert_int_equal(part_idle(&end, 0, 1, false, why), 0);
}

static void
is_idle_below(void **state)
{
	struct node *loop;

	(void)state;
	two_disks();
	add_part("ata1", "sda", SDA, 1, 100, 100);
	loop = add_loop("loop0", LOOP0, "/dev/sda1", 100);
	assert_true(idle(LOOP0, 0, BLOCK, false));
	assert_false(idle(SDA + 1, 0, BLOCK, false));
	assert_string_equal(why, "the loop device loop0 lies on it");
	add_loop("loop1", LOOP1, "/dev/sda", BLOCKS);
	assert_false(idle(LOOP0, 0, BLOCK, false));
	assert_string_equal(why, "the loop device loop1 lies on the same disk");
	assert_false(idle(SDA, 0, BLOCK, true));
	assert_false(idle(SDA + 1, 0, BLOCK, true));	/* below the disk */
	world.node[world.n - 1].on = "/dev/sdb";
	assert_true(idle(LOOP0, 0, BLOCK, false));
	world.node[2].used = true;
	assert_false(idle(LOOP0, 0, BLOCK, false));
	assert_string_equal(why, "sda1, which it lies on, is in use");
	world.node[2].used = false;
	has("/img", "x");
	loop->on = "/img";
	assert_true(idle(LOOP0, 0, BLOCK, false));
	world.node[world.n - 1].on = "/img";
	assert_false(idle(LOOP0, 0, BLOCK, false));
	assert_string_equal(why, "the loop device loop1 lies on the same file");
	loop->err = ENXIO;
	assert_true(idle(LOOP0, 0, BLOCK, false));
}

static void
may_not_be_idle(void **state)
{
	struct node *loop;

	(void)state;
	two_disks();
	loop = add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	lacks("/sys/dev/block/8:0");
	assert_false(idle(LOOP0, 0, BLOCK, false));
	assert_string_equal(why, "what it lies on cannot be looked up");
	loop->on = "/dev/loop0";			/* a ring */
	assert_false(idle(LOOP0, 0, BLOCK, false));
	lacks("/proc/partitions");
	world.broken = "/sys/block";
	world.err = EIO;
	assert_false(idle(SDB, 0, BLOCK, false));
	assert_string_equal(why, "whether loop devices lie on it cannot be "
	    "looked up");
	has("/proc/partitions", "%s", "");
	loop->on = "/dev/sdb";
	assert_false(idle(LOOP0, 0, BLOCK, false));
	assert_string_equal(why, "what else lies on its file cannot be looked "
	    "up");
}

/* ---------------------------------------------------------------- claims */

static struct claims claims;
static struct opts opts;

/* The status of claiming "blocks" from block "at" on; 0: as claims->n nodes. */
static int
claim(dev_t node, uint64_t at, uint64_t blocks)
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

static bool
refused(const char *text)
{
	if (f.status == STATUS_REFUSED && strstr(f.text, text) != NULL)
		return true;
	print_message("%d: %s\n", f.status, f.text);
	return false;
}

static void
claims_disks(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
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
	world.node[3].used = true;
	assert_int_equal(claim(SDA, 350, 1), STATUS_REFUSED);
	assert_true(refused("sda2 is in use (by another program"));
	world.node[3].used = false;
	world.node[3].locked = 3;		/* udev, for a moment */
	assert_int_equal(claim(SDA, 350, 1), 0);
	claims_release(&claims);
	world.node[3].locked = 1000;
	assert_int_equal(claim(SDA, 350, 1), STATUS_REFUSED);
	assert_true(refused("sda2 is locked (flock)"));
	opts.force = FORCE_HELD;
	assert_int_equal(claim(SDA, 350, 1), 0);
	claims_release(&claims);
}

static void
claims_nothing_unknown(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	has("/sys/block/sda/size", "nothing\n");
	assert_int_equal(claim(SDA, 0, 1), 0);
	claims_release(&claims);
	world.broken = "8:0";
	world.err = EMFILE;
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("who uses"));
	assert_non_null(strstr(f.text, "force=mounted,swap,looped"));
	opts.force = FORCE_MOUNTED | FORCE_SWAP | FORCE_LOOPED | FORCE_HELD;
	assert_int_equal(claim(SDA, 0, 1), 0);
	claims_release(&claims);
}

/* The same disk by two paths. */
static void
claims_paths(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	has("/sys/block/sda/wwid", "naa.1\n");
	has("/sys/block/sdb/wwid", "naa.1\n");
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata2", "sdb", SDB, 1, 100, 100);
	assert_int_equal(claim(SDA + 1, 0, 1), 0);
	assert_int_equal(claims.n, 2);
	assert_int_equal(claims.node[1], SDB + 1);
	claims_release(&claims);
	has("/sys/block/sdb/ro", "1\n");
	assert_int_equal(claim(SDA + 1, 0, 1), STATUS_REFUSED);
	assert_true(refused("sdb is read-only"));
	lacks("/sys/block/sdb/ro");
	has(MOUNTINFO, "20 1 8:17 / /b rw - ext4 /dev/sdb1 rw\n");
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("it and sdb are one disk: sdb1 is mounted on /b"));
	assert_int_equal(claim(SDA, 300, 1), 0);
	claims_release(&claims);
}

static void
claims_below(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_loop("loop0", LOOP0, "/dev/sda1", 100);
	assert_int_equal(claim(LOOP0, 0, 1), 0);
	assert_int_equal(claims.n, 2);
	assert_int_equal(claims.node[1], SDA + 1);
	claims_release(&claims);
	add_loop("loop1", LOOP1, "/dev/sda", BLOCKS);
	has(MOUNTINFO, "20 1 7:1 / /c rw - ext4 /dev/loop1 rw\n");
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	assert_true(refused("it and loop1 lie on one disk: loop1 is mounted on "
	    "/c"));
	has("/sys/block/loop1/loop/offset", "51712\n");
	assert_int_equal(claim(LOOP0, 0, 1), 0);
	claims_release(&claims);
	assert_int_equal(claim(LOOP0, 0, 2), STATUS_REFUSED);
	has(MOUNTINFO, "20 1 8:1 / /d rw - ext4 /dev/sda1 rw\n");
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	assert_true(refused("sda1 is mounted on /d"));
	lacks("/sys/dev/block/8:1");
	has(MOUNTINFO, "%s", "");
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	assert_true(refused("not known"));
}

/* A volume of two pieces, one of them of sda1, and another on that. */
static void
claims_members(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_disk("virtual", "dm-0", DM0, 200);
	has("/sys/block/dm-0/slaves/sda/dev", "8:0\n");
	has("/sys/block/dm-0/slaves/sdb/dev", "8:16\n");
	has(MOUNTINFO, "20 1 8:1 / /a rw - ext4 /dev/sda1 rw\n");
	assert_int_equal(claim(DM0, 0, 10), STATUS_REFUSED);
	assert_true(refused("sda1 is mounted on /a"));	/* all of each */
	add_node("mapper/control", makedev(10, 236), 0);
	world.table = "0 100 linear 8:16 0\n100 100 linear 8:0 150\n";
	assert_int_equal(claim(DM0, 0, 10), 0);
	claims_release(&claims);
	assert_int_equal(claim(DM0, 100, 50), STATUS_REFUSED);
	assert_int_equal(claim(DM0, 150, 50), 0);
	claims_release(&claims);
	has(MOUNTINFO, "20 1 253:1 / /b rw - ext4 /dev/dm-1 rw\n");
	add_disk("virtual", "dm-1", DM1, 200);
	has("/sys/block/sdb/holders/dm-0/dev", "253:0\n");
	has("/sys/block/sdb/holders/dm-1/dev", "253:1\n");
	assert_int_equal(claim(DM0, 0, 10), STATUS_REFUSED);
	assert_true(refused("dm-1 is mounted on /b"));
	world.table = NULL;			/* none is linear */
	assert_int_equal(claim(DM0, 0, 10), 0);
	claims_release(&claims);
	lacks("/sys/block/dm-0/slaves/sdb/dev");
	assert_int_equal(claim(DM0, 0, 10), STATUS_REFUSED);
	assert_true(refused("who uses dm-0 is not known"));
}

/* A use that force= allows keeps the claim on the disk from being had. */
static void
claims_what_is_forced(void **state)
{
	(void)state;
	opts = (struct opts){ .force = FORCE_MOUNTED };
	two_disks();
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 300, 100);
	has(MOUNTINFO, "20 1 8:1 / /a rw - ext4 /dev/sda1 rw\n");
	world.node[2].used = true;
	assert_int_equal(claim(SDA, 0, 1), 0);
	assert_int_equal(claims.n, 1);			/* the other one */
	assert_int_equal(claims.node[0], SDA + 2);
	claims_release(&claims);
	world.node[3].used = true;		/* nobody knows by whom */
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("sda2 is in use"));
	opts.force |= FORCE_HELD;
	assert_int_equal(claim(SDA, 0, 1), 0);
	assert_int_equal(claims.n, 0);
	claims_release(&claims);
}

static void
refuses_uses(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	has("/proc/swaps", "Filename\n/dev/sda x\n");
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("sda is swap space in use; swapoff"));
	has("/proc/swaps", "%s", "");
	has("/sys/block/sda/holders/md0/dev", "9:0\n");
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("sda is held by md0"));
	lacks("/sys/block/sda/holders/md0/dev");
	lacks("/sys/block/sda/holders/md0");
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("the loop device loop0 lies on sda"));
	world.broken = "/swaps";
	world.err = EMFILE;
	opts.force = FORCE_LOOPED;
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("/proc/swaps cannot be read: Too many open files"));
	assert_non_null(strstr(f.text, "force=swap writes"));
	world.broken = "/dev/sda";
	assert_int_equal(claim(SDA, 0, 1), STATUS_REFUSED);
	assert_true(refused("sda cannot be claimed with O_EXCL: Too many"));
	assert_int_equal(claims.n, 0);
}

/* Before each logical partition there is a record of it. */
static void
claims_records(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
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

/* What is on a file is found by the file, and what locks it. */
static void
claims_below_a_file(void **state)
{
	struct node *other;

	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	has("/img", "x");
	has("/another", "y");
	add_loop("loop0", LOOP0, "/img", 100);
	assert_int_equal(claim(LOOP0, 0, 1), 0);
	claims_release(&claims);
	other = add_loop("loop1", LOOP1, "/another", 100);
	has(MOUNTINFO, "20 1 7:1 / /c rw - ext4 /dev/loop1 rw\n");
	assert_int_equal(claim(LOOP0, 0, 1), 0);
	claims_release(&claims);
	other->on = "/img";
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	assert_true(refused("it and loop1 lie on one file: loop1 is mounted on "
	    "/c"));
	other->on = "/dev/sda";
	assert_int_equal(claim(LOOP0, 0, 1), 0);
	claims_release(&claims);
	has("/proc/swaps", "Filename\n/img x\n");
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	assert_true(refused("its file is swap space"));
	has("/proc/swaps", "%s", "");
	world.broken = "/img";
	world.err = EMFILE;
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	world.broken = "/sys/block";
	assert_int_equal(claim(LOOP0, 0, 1), STATUS_REFUSED);
	assert_true(refused("other loop devices on its medium are not known"));
	world.broken = NULL;
	other->err = EIO;			/* of which nothing is known */
	lacks("/sys/block/loop1/size");
	has("/sys/block/loop1/size", "%s", "\n");
	assert_int_equal(claim(LOOP0, 0, 1), 0);
	claims_release(&claims);
}

/* --------------------------------------------------------------- overlaps */

static struct endpoint source;

/* Whether it is refused that "n" blocks go from one to the other. */
static bool
overlap(dev_t from, uint64_t at, dev_t to, uint64_t there, uint64_t n)
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

static void
overlaps(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_part("ata1", "sda", SDA, 2, 150, 100);
	assert_false(overlap(SDA, 0, SDB, 0, BLOCKS));
	assert_false(overlap(SDA, 0, SDA, 10, 10));
	assert_true(overlap(SDA, 0, SDA, 9, 10));
	assert_true(refused("the range to be written on it overlaps the one to "
	    "be read from source"));
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
	assert_true(overlap(SDA + 1, 0, SDB, 0, 1));
	assert_true(refused("whether it overlaps what is read from source is "
	    "not known"));
}

static void
overlaps_in_volumes(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
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

static void
overlaps_by_another_path(void **state)
{
	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	has("/sys/block/sda/wwid", "naa.1\n");
	has("/sys/block/sdb/wwid", "naa.1\n");
	assert_true(overlap(SDA, 0, SDB, 9, 10));
	assert_false(overlap(SDA, 0, SDB, 10, 10));
}

/* Two of several targets. */
static void
overlaps_a_target(void **state)
{
	struct plan p, q;

	(void)state;
	opts = (struct opts){ 0 };
	two_disks();
	add_part("ata1", "sda", SDA, 1, 100, 100);
	assert_false(overlap(SDA, 0, SDA + 1, 0, 10));
	p = (struct plan){ .opts = &opts, .src = NULL, .dst = &source,
		.pad = BLOCK, .length = 100 * BLOCK, .truncate = -1 };
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
	source.id.known = false;
	assert_int_equal(overlap_targets(&p, &q, &f), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(is_mounted),
		WORLD(is_swap),
		WORLD(is_held),
		WORLD(is_exported),
		WORLD(has_loops),
		WORLD(has_loops_without_a_node),
		WORLD(has_gone),
		WORLD(has_gone_with_a_file),
		WORLD(is_kept),
		WORLD(is_kept_by_members),
		WORLD(lies_on_a_file),
		WORLD(counts_writes),
		WORLD(visits_each),
		WORLD(is_idle),
		WORLD(is_idle_below),
		WORLD(may_not_be_idle),
		WORLD(claims_disks),
		WORLD(claims_nothing_unknown),
		WORLD(claims_paths),
		WORLD(claims_below),
		WORLD(claims_members),
		WORLD(claims_what_is_forced),
		WORLD(refuses_uses),
		WORLD(claims_records),
		WORLD(claims_below_a_file),
		WORLD(overlaps),
		WORLD(overlaps_in_volumes),
		WORLD(overlaps_by_another_path),
		WORLD(overlaps_a_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
