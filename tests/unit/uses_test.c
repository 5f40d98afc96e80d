/*
 * Who uses a disk, what it lies on, and whether nobody can change it meanwhile:
 * on a mock machine, also if that does not say.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"
#include "../../src/file/file.h"
#include "../../src/part/used_survey.h"
#include "disk/below.h"
#include "disk/disk.h"
#include "disk/usage.h"
#include "disks.h"

static struct usage use;

/* ------------------------------------------------------------------ uses */

static bool
used(dev_t node, enum usage_kind kind, const char *by)
{
	return usage_of_node(node, 0, &use) && use.kind == kind &&
	    strcmp(use.by, by) == 0;
}

EACH(world_begin, world_end)

CASE(is_mounted)
{
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

CASE(is_swap)
{
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

CASE(is_held)
{
	two_disks();
	has("/sys/block/sda/holders/md0/dev", "9:0\n");
	assert_true(used(SDA, USE_HELD, "md0"));
	assert_false(usage_of_node(SDA, USE_HELD, &use));
	assert_false(usage_of_node(SDB, 0, &use));
}

/* What the kernel's servers give away. */
CASE(is_exported)
{
	static const char nvme[] = "/sys/kernel/config/nvmet/subsystems/s/"
	    "namespaces/1/device_path";
	static const char scsi[] = "/sys/kernel/config/target/core/fileio_0/"
	    "d/info";
	struct stat st = { 0 };

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

CASE(has_loops)
{
	struct node *loop;
	struct stat st = { 0 };

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
CASE(has_loops_without_a_node)
{
	static const char file[] = "/sys/block/loop0/loop/backing_file";

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

CASE(has_gone)
{
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
CASE(has_gone_with_a_file)
{
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
kept(dev_t node, uint64_t to)
{
	int failed;

	f = (struct fault){ 0 };
	failed = below_kept(node, to, &f);
	assert_int_equal(failed, f.status == 0 ? 0 : -1);
	return f.status;
}

CASE(is_kept)
{
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

/* A device of more members than are asked for. */
CASE(is_kept_by_many)
{
	char path[64];
	int i;

	two_disks();
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	for (i = 0; i < 70; i++) {
		snprintf(path, sizeof(path),
		    "/sys/block/dm-0/slaves/d%d/dev", i);
		has(path, "8:16\n");
	}
	assert_int_equal(kept(DM0, UINT64_MAX), 0);
	assert_false(below_gone(DM0));
	has("/sys/block/sdb/size", "0\n");
	assert_true(below_gone(DM0));
}

CASE(is_kept_by_members)
{
	two_disks();
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	has("/sys/block/dm-0/slaves/loop0/dev", "7:0\n");
	has("/sys/block/dm-0/slaves/gone/x", "%s", "");
	assert_int_equal(kept(DM0, UINT64_MAX), 0);
	has("/sys/block/sda/size", "10\n");
	assert_int_equal(kept(DM0, UINT64_MAX), STATUS_SHORT);
}

CASE(lies_on_a_file)
{
	uint64_t start;
	int fd;

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

CASE(lies_elsewhere)
{
	struct below_place was, now;
	struct node *loop;
	unsigned n;
	bool failed;

	two_disks();
	below_locate(SDA, BLOCK, &was);
	assert_false(was.stacked);
	assert_int_equal(below_elsewhere(SDA, &was), 0);
	loop = add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	has("/sys/block/loop0/loop/offset", "512\n");
	has("/sys/block/sda/diskseq", "7\n");
	below_locate(LOOP0, BLOCK, &was);
	assert_int_equal(below_elsewhere(LOOP0, &was), 0);
	has("/sys/block/loop0/size", "10\n");	/* shorter, or longer */
	assert_int_equal(below_elsewhere(LOOP0, &was), 0);
	assert_false(below_shifted(&was));
	has("/sys/block/loop0/loop/offset", "1024\n");
	assert_true(below_shifted(&was));
	assert_int_equal(below_elsewhere(LOOP0, &was), 1);
	below_locate(LOOP0, BLOCK, &now);
	assert_true(now.places != was.places);
	below_forget(&now);
	has("/sys/block/loop0/loop/offset", "512\n");
	assert_false(below_shifted(&was));
	loop->on = "/dev/sdb";
	assert_int_equal(below_elsewhere(LOOP0, &was), 1);
	loop->on = "/dev/sda";
	has("/sys/block/sda/diskseq", "8\n");
	assert_int_equal(below_elsewhere(LOOP0, &was), 1);
	has("/sys/block/sda/diskseq", "7\n");
	assert_int_equal(below_elsewhere(LOOP0, &was), 0);
	world.failing = 2;
	world.err = EMFILE;
	assert_int_equal(below_elsewhere(LOOP0, &was), -1);
	assert_int_equal(errno, EMFILE);
	for (n = 1; n < 20; n++) {
		world.failing = n;
		failed = below_elsewhere(LOOP0, &was) < 0;
		assert_true(failed || below_elsewhere(LOOP0, &was) == 0);
	}
	world.failing = 0;
	below_forget(&was);
	for (n = 1; n < 20; n++) {
		world.failing = n;
		failed = below_locate(LOOP0, BLOCK, &was) != 0;
		world.failing = 0;
		loop->on = "/dev/sdb";
		assert_true(failed || below_elsewhere(LOOP0, &was) == 1);
		loop->on = "/dev/sda";
		below_forget(&was);
	}
}

/* A file that did not answer at first, or does not now, is not another one. */
CASE(does_not_know_a_silent_file)
{
	struct below_place was;
	struct node *loop;

	two_disks();
	has("/img", "x");
	loop = add_loop("loop0", LOOP0, "/img", BLOCKS);
	has("/sys/block/loop0/diskseq", "7\n");
	loop->on = "/silent";
	assert_int_equal(below_locate(LOOP0, BLOCK, &was), 0);
	assert_true(was.silent);
	assert_int_equal(below_elsewhere(LOOP0, &was), 0);
	loop->on = "/img";
	assert_int_equal(below_elsewhere(LOOP0, &was), 0);
	has("/sys/block/loop0/diskseq", "8\n");
	assert_int_equal(below_elsewhere(LOOP0, &was), 1);
	below_forget(&was);
}

/* Of a linear volume, what is behind the range does not matter. */
CASE(lies_in_another_volume)
{
	struct below_place was;

	two_disks();
	add_disk("virtual", "dm-0", DM0, 200);
	add_node("mapper/control", makedev(10, 236), 0);
	has("/sys/block/dm-0/slaves/sda/dev", "8:0\n");
	world.table = "0 100 linear 8:0 150\n";
	below_locate(DM0, 50 * BLOCK, &was);
	world.table = "0 100 linear 8:0 150\n100 100 linear 8:16 0\n";
	assert_int_equal(below_elsewhere(DM0, &was), 0);
	world.table = "0 100 linear 8:0 151\n";
	assert_int_equal(below_elsewhere(DM0, &was), 1);
	world.table = "0 40 linear 8:0 150\n40 60 linear 8:0 0\n";
	below_locate(DM0, 50 * BLOCK, &was);
	world.table = "0 30 linear 8:0 150\n30 70 linear 8:0 0\n";
	assert_int_equal(below_elsewhere(DM0, &was), 1);
	world.table = "0 100 multipath 8:16 8:0\n";
	below_locate(DM0, 50 * BLOCK, &was);
	has("/sys/block/dm-0/slaves/sda/dev", "8:16\n");
	assert_int_equal(below_elsewhere(DM0, &was), 0);
}

CASE(counts_writes)
{
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

/* A source on a file that others write to; not by what lies on it. */
CASE(sees_that_its_file_was_written)
{
	const struct timespec before[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct file file = { .device = true };
	struct endpoint ep = { .priv = &file, .id.node = LOOP0 };

	two_disks();
	has("/img", "x");
	add_loop("loop0", LOOP0, "/img", BLOCKS);
	file.plain = open("/dev/loop0", O_RDONLY | O_CLOEXEC);
	file.below.fd = below_file(LOOP0, &file.below.start);
	assert_true(file.plain >= 0 && file.below.fd >= 0);
	file_look_below(&ep, 0, BLOCK);
	assert_false(file_below_moved(&ep));
	assert_int_equal(futimens(file.below.fd, before), 0);
	assert_true(file_below_moved(&ep));
	has("/sys/block/loop0/stat", "1 2 3 4 5 6 7 8 9 10 11 12 13\n");
	assert_false(file_below_moved(&ep));
	close(file.below.fd);
	close(file.plain);
}

static int
first_of_it(dev_t node, const char *name, void *arg)
{
	*(unsigned *)arg += 1;
	return node == SDB;
}

CASE(visits_each)
{
	unsigned n = 0;

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

/* Two that lie on each other, as far as sysfs says. */
CASE(ends_in_a_ring)
{
	uint64_t start;
	unsigned n = 0;

	two_disks();
	add_loop("loop0", LOOP0, "/dev/loop1", BLOCKS);
	add_loop("loop1", LOOP1, "/dev/loop0", BLOCKS);
	has("/sys/block/loop0/stat", "1 2 3 4 50 6 7 8 9 10 11 200 13\n");
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	add_disk("virtual", "dm-1", DM1, BLOCKS);
	has("/sys/block/dm-0/slaves/dm-1/dev", "253:1\n");
	has("/sys/block/dm-1/slaves/dm-0/dev", "253:0\n");
	assert_false(below_gone(LOOP0));
	assert_false(below_gone(DM0));
	assert_int_equal(kept(LOOP0, BLOCK), 0);
	assert_int_equal(kept(DM0, BLOCK), 0);
	assert_int_equal(below_file(LOOP0, &start), -1);
	assert_true(below_writes(LOOP0) >= 250);
	assert_int_equal(below_each(DM0, first_of_it, &n), 0);
	assert_true(n > 2);
}

/* As many members as there may be are looked at. */
CASE(has_many_members)
{
	char path[64];
	unsigned i;

	two_disks();
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	for (i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "/sys/block/dm-0/slaves/x%u/dev", i);
		has(path, "8:0\n");
	}
	assert_false(below_gone(DM0));
	assert_int_equal(kept(DM0, BLOCK), 0);
	has("/sys/block/sda/size", "0\n");
	assert_true(below_gone(DM0));
}

/* ------------------------------------------------ where descriptors run out */

static void
a_machine(void)
{
	two_disks();
	has("/img", "%*d", (int)BLOCK, 1);
	add_part("ata1", "sda", SDA, 1, 100, 100);
	add_loop("loop0", LOOP0, "/dev/sda", BLOCKS);
	add_loop("loop1", LOOP1, "/img", 1);
	add_disk("virtual", "dm-0", DM0, BLOCKS);
	add_disk("virtual", "dm-1", DM1, BLOCKS);
	add_part("virtual", "dm-1", DM1, 1, 0, BLOCKS);
	has("/sys/block/dm-0/slaves/loop0/dev", "7:0\n");
	has("/sys/block/dm-1/slaves/dm-0/dev", "253:0\n");
}

/* That a disk was cut off is said, or that it is not known. */
CASE(is_not_kept_if_it_cannot_be_asked)
{
	unsigned n;

	a_machine();
	has("/sys/block/sda/size", "0\n");
	has("/img", "x");
	world.err = EMFILE;
	for (n = 1; n < 40; n++) {
		world.failing = n;
		assert_int_not_equal(kept(LOOP0, BLOCK), 0);
		world.failing = n;
		assert_int_not_equal(kept(LOOP1, BLOCK), 0);
		world.failing = n;
		assert_int_not_equal(kept(DM1, BLOCK), 0);
	}
}

/* That a disk has gone is said if that is known. */
CASE(is_there_if_it_cannot_be_asked)
{
	const dev_t nodes[] = { SDA, SDA + 1, LOOP0, LOOP1, DM0, DM1,
		DM1 + 1 };
	unsigned n, count, all;
	uint64_t start;
	int fd, got;

	a_machine();
	world.err = EMFILE;
	for (n = 1; n < 40; n++)
		EACH_OF(i, nodes) {
			world.failing = n;
			assert_false(below_gone(nodes[i]));
			world.failing = n;
			got = kept(nodes[i], BLOCK);
			assert_true(got == 0 || got == STATUS_ERRNO + EMFILE);
			world.failing = n;
			fd = below_file(nodes[i], &start);
			assert_true(fd < 0 || nodes[i] == LOOP1);
			if (fd >= 0)
				close(fd);
			world.failing = n;
			assert_int_equal(below_writes(nodes[i]), 0);
			world.failing = 0;
			all = count = 0;
			assert_int_equal(below_each(nodes[i], first_of_it,
			    &all), 0);
			world.failing = n;
			got = below_each(nodes[i], first_of_it, &count);
			assert_true(got == EMFILE || (got == 0 &&
			    count == all));
		}
}

/* That nobody uses a disk is not said if it is not known. */
CASE(may_be_used_if_it_cannot_be_asked)
{
	struct stat st = { 0 };
	unsigned n;

	a_machine();
	has("/sys/block/sdb/holders/md0/dev", "9:0\n");
	assert_int_equal(stat("/img", &st), 0);
	world.err = EMFILE;
	for (n = 1; n < 40; n++) {
		world.failing = n;
		assert_true(usage_of_node(SDA, 0, &use) || use.unknown != 0);
		world.failing = n;
		assert_true(usage_of_node(SDB, 0, &use) || use.unknown != 0);
		world.failing = n;
		assert_true(usage_of_file(st.st_dev, st.st_ino, 0, &use) ||
		    use.unknown != 0);
	}
	world.failing = 0;
	add_disk("ata3", "sdc", makedev(8, 32), BLOCKS);
	world.exports[0] = "/sys/kernel/config/nvmet/subsystems/s/namespaces/1/"
	    "device_path";
	has(world.exports[0], "/dev/sdc\n");
	has("/sys/kernel/config/nvmet/subsystems/s/namespaces/1/enable", "1\n");
	for (n = 1; n < 40; n++) {
		world.failing = n;
		assert_true(usage_of_node(makedev(8, 32), 0, &use) ||
		    use.unknown != 0);
	}
	world.failing = 0;
}

/* ------------------------------------------------------------------ idle */

static char why[IDLE_WHY];
static bool mapped;		/* the device mapper was asked */

static bool
idle(dev_t node, uint64_t from, uint64_t to, bool partition)
{
	why[0] = '\0';
	mapped = false;
	set_end(node);
	return part_idle(&end, from, to, partition, &mapped, why) == 0;
}

CASE(is_idle)
{
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
	/* who has a partition has its disk, but not what is beside it */
	world.node[0].used = true;
	assert_true(idle(SDA, 0, 100 * BLOCK, true));
	assert_false(idle(SDA, 0, 100 * BLOCK, false));
	world.node[0].used = false;
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
	has("/img", "x");
	end.name = "/img";
	end.is.device = false;
	assert_int_equal(part_idle(&end, 0, 1, false, &mapped, why), 0);
	world.broken = NULL;
	end.kind = END_FILE;		/* a file that was inherited, */
	end.is.inherited = true;
	end.fd = open("/img", O_RDONLY);
	assert_int_equal(part_idle(&end, 0, 1, false, &mapped, why), 0);
	close(end.fd);
	end.is.inherited = false;	/* ... or not */
	assert_int_equal(part_idle(&end, 0, 1, false, &mapped, why), 0);
	end.kind = END_BLOCK;
}

CASE(is_idle_below)
{
	struct node *loop;

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

CASE(may_not_be_idle)
{
	struct node *loop;

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
}

/* That a file system is idle is not said if it is not known. */
CASE(may_not_be_idle_if_it_cannot_be_asked)
{
	struct endpoint img = { .kind = END_FILE, .name = "/sole",
		.be = &backend, .layer = -1 };
	struct stat st = { 0 };
	unsigned n;

	a_machine();
	has("/sole", "x");
	add_loop("loop3", makedev(7, 3), "/sole", 1);
	assert_int_equal(stat("/sole", &st), 0);
	img.id.file_dev = st.st_dev;
	img.id.file_ino = st.st_ino;
	has(MOUNTINFO, "20 1 8:1 / /a rw - ext4 /dev/sda1 rw\n");
	add_loop("loop2", makedev(7, 2), "/img", 1);
	world.err = EMFILE;
	for (n = 1; n < 40; n++) {
		world.failing = n;
		assert_false(idle(SDA + 1, 0, BLOCK, false));
		world.failing = n;
		assert_false(idle(SDA, 100 * BLOCK, 200 * BLOCK, false));
		world.failing = n;
		assert_false(idle(LOOP1, 0, BLOCK, false));
	}
	world.failing = 0;
	world.broken = "loop3";
	assert_int_not_equal(part_idle(&img, 0, 1, false, &mapped, why), 0);
	assert_string_equal(why, "what uses /sole cannot be looked up");
	world.broken = "sole";
	assert_int_not_equal(part_idle(&img, 0, 1, false, &mapped, why), 0);
}
