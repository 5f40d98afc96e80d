/*
 * --list, on a mock machine: which disks it has, in which order, and what is
 * printed for each.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"

#include <dlfcn.h>
#include <sys/sysmacros.h>

#include "disk/disk.h"

#include "world.h"

#define SDA	makedev(8, 0)
#define SDB	makedev(8, 16)
#define ATA	"pci0/ata1/host0/target0/0:0:0:0"
#define USB	"pci0/usb2/2-1/2-1:1.0/host3/target3/3:0:0:0"
#define NVME	"pci0/nvme/nvme0"

static char *text;
static size_t size;

/* -------------------------------------------- in the place of the C library */

/* For world.h, too, which has found the directory. */
int
scandir(const char *path, struct dirent ***list,
    int (*wanted)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **))
{
	char there[PATH_MAX];
	int (*real)(const char *, struct dirent ***,
	    int (*)(const struct dirent *),
	    int (*)(const struct dirent **, const struct dirent **)) =
	    (void *)dlsym(RTLD_NEXT, "scandir64");

	return real(world_path(path, there), list, wanted, order);
}

FILE *
fopen(const char *path, const char *how)
{
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, how);
}

/* ------------------------------------------------------------- what is done */

static void
add_scsi(const char *bus, const char *name, dev_t dev, uint64_t blocks)
{
	char path[PATH_MAX];

	add_disk(bus, name, dev, blocks);
	snprintf(path, sizeof(path), "/sys/devices/%s/block/%s/device", bus,
	    name);
	leads(path, "../..");
}

/* A SCSI node with the type of its device. */
static void
add_sg(const char *name, unsigned minor, char type)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/class/scsi_generic/%s/dev", name);
	has(path, "21:%u\n", minor);
	snprintf(path, sizeof(path), "/sys/class/scsi_generic/%s/device/type",
	    name);
	has(path, "%c\n", type);
	snprintf(path, sizeof(path), "/sys/dev/char/21:%u/device/type", minor);
	has(path, "%c\n", type);
}

static void
list_all(bool json)
{
	char *none[] = { "--list", NULL };
	struct fault f;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(list_print(out, json, none, &f), 0);
	fclose(out);
}

static void
prints(bool json, const char *all)
{
	list_all(json);
	assert_string_equal(text, all);
	free(text);
}

/* What is printed where udev runs. */
static void
is(bool json, const char *all)
{
	has("/run/udev/data/c1:3", "%s", "");
	prints(json, all);
}

EACH(world_begin, world_end)

CASE(says_that_no_udev_runs)
{
	add_disk(NVME, "nvme0n1", makedev(259, 0), 2000000);
	prints(false, "/dev/nvme0n1  1.0 GB  nvme\n"
	    "    sectors of 512 bytes\n"
	    "No udev runs here, so file systems are not known; "
	    "-l DISK shows those of one.\n");
}

CASE(tells_all_of_a_disk)
{
	add_scsi(ATA, "sda", SDA, 1953525168);
	has("/sys/block/sda/device/vendor", "ATA\n");
	has("/sys/block/sda/device/model", "A disk\n");
	has("/sys/block/sda/device/scsi_generic/sg0/dev", "21:0\n");
	has("/sys/block/sda/device/bsg/0:0:0:0/dev", "1:1\n");
	add_part(ATA, "sda", SDA, 1, 2048, 2000000);
	add_part(ATA, "sda", SDA, 2, 2002048, 1000000);
	has("/run/udev/data/b8:1", "S:x\nE:ID_FS_TYPES=no\nE:ID_FS_TYPE=ext4\n"
	    "E:ID_FS_LABEL=root\n");
	has("/run/udev/data/b8:2", "E:ID_FS_TYPE=swap\n");
	has("/proc/swaps", "Filename Type Size Used Priority\n"
	    "/dev/sda2 partition 1 0 -2\n");
	has("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	is(false, "/dev/sda  1.0 TB  ata  ATA A disk\n"
	    "    /dev/sg0, /dev/bsg/0:0:0:0, sectors of 512 bytes\n"
	    "    /dev/sda1  1.0 GB  ext4 \"root\", mounted on /\n"
	    "    /dev/sda2  512 MB  swap, swap space\n");
}

CASE(has_the_node_of_a_namespace)
{
	add_disk(NVME, "nvme0n1", makedev(259, 0), 2000000);
	has("/sys/devices/" NVME "/block/ng0n1/dev", "240:1\n");
	is(false, "/dev/nvme0n1  1.0 GB  nvme\n"
	    "    /dev/ng0n1, sectors of 512 bytes\n");
}

CASE(orders_by_name_and_number)
{
	add_scsi(USB, "sdb", SDB, 2000000);
	has("/sys/block/sdb/removable", "1\n");
	add_disk("sdaa", "sdaa", makedev(65, 160), 20);
	add_disk("md10", "md10", makedev(9, 10), 20);
	add_disk("md9", "md9", makedev(9, 9), 20);
	is(false, "/dev/md9    10 kB  md\n"
	    "    sectors of 512 bytes\n"
	    "/dev/md10   10 kB  md\n"
	    "    sectors of 512 bytes\n"
	    "/dev/sdb   1.0 GB  usb\n"
	    "    sectors of 512 bytes, removable\n"
	    "/dev/sdaa   10 kB  -\n"
	    "    sectors of 512 bytes\n");
}

/* A drive without a medium is there; what is made of nothing is not. */
CASE(leaves_out_what_is_empty)
{
	add_scsi(USB, "sdb", SDB, 0);
	is(false, "");
	has("/sys/block/sdb/removable", "1\n");
	add_disk("virtual", "loop0", makedev(7, 0), 0);
	is(false, "/dev/sdb  0 B  usb\n"
	    "    sectors of 512 bytes, removable\n");
	lacks("/sys/block/sdb/removable");
	is(false, "");
	add_disk("virtual", "zram0", makedev(252, 0), 0);
	has("/sys/block/zram0/removable", "1\n");
	has("/sys/block/loop0/removable", "1\n");
	is(false, "");
}

/* Of SCSI nodes, those of disks that have no other. */
CASE(has_disks_without_a_block_node)
{
	add_scsi(ATA, "sda", SDA, 2000000);
	add_sg("sg0", 0, '0');
	has("/sys/dev/char/21:0/device/block/sda/dev", "8:0\n");
	add_sg("sg1", 1, '0');
	add_sg("sg2", 2, '1');				/* a tape */
	is(false, "/dev/sda  1.0 GB  ata\n"
	    "    sectors of 512 bytes\n"
	    "/dev/sg1       -  -\n");
}

/* sysfs has ! for the / in a name. */
CASE(has_the_name_below_dev)
{
	add_disk("pci0", "cciss!c0d0", makedev(104, 0), 2000000);
	is(false, "/dev/cciss/c0d0  1.0 GB  -\n"
	    "    sectors of 512 bytes\n");
}

CASE(folds_lines)
{
	add_disk("pci0", "vda", makedev(254, 0), 2000000);
	has("/dev/disk/by-id/wwn-0x50000000000000", "%s", "");
	add_node("disk/by-id/wwn-0x50000000000000",
	    makedev(254, 0), 0);
	has("/sys/block/vda/removable", "1\n");
	has("/run/udev/data/b254:0", "E:ID_FS_TYPE=crypto_LUKS\n"
	    "E:ID_FS_LABEL=all of it\n");
	is(false, "/dev/vda  1.0 GB  -\n"
	    "    sectors of 512 bytes, removable, by-id "
	    "wwn-0x50000000000000, crypto_LUKS\n    \"all of it\"\n");
}

/* A dm or md device that lies on what "on" is the directory of. */
static void
add_level(const char *on, const char *name, unsigned major, unsigned minor)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/block/%s/holders/%s/dev", on, name);
	has(path, "%u:%u\n", major, minor);
	add_disk("virtual", name, makedev(major, minor), 20000);
}

static void
add_dm(const char *on, unsigned minor, const char *called, const char *uuid)
{
	char path[PATH_MAX], name[16];

	snprintf(name, sizeof(name), "dm-%u", minor);
	add_level(on, name, 254, minor);
	snprintf(path, sizeof(path), "/sys/block/%s/dm/name", name);
	has(path, "%s\n", called);
	snprintf(path, sizeof(path), "/sys/block/%s/dm/uuid", name);
	has(path, "%s\n", uuid);
}

/* What lies on a disk: an array on all of it, volumes in a container. */
CASE(shows_what_lies_on_a_disk)
{
	add_scsi(ATA, "sda", SDA, 1953525168);
	add_part(ATA, "sda", SDA, 1, 2048, 2000000);
	add_part(ATA, "sda", SDA, 2, 2002048, 1000000);
	add_dm("sda/sda2", 0, "luks-a", "CRYPT-LUKS2-0123-luks-a");
	add_dm("dm-0", 2, "vg0-home", "LVM-0123");
	add_dm("dm-0", 10, "vg0-a\033b", "LVM-0124");
	add_dm("dm-2", 3, "own", "");
	has("/run/udev/data/b254:2", "E:ID_FS_TYPE=ext4\nE:ID_FS_LABEL=home\n");
	has("/proc/self/mountinfo", "22 1 254:2 / /home rw - ext4 /dev/x rw\n");
	add_level("sda/sda1", "md127", 9, 127);
	has("/sys/block/md127/md/level", "raid1\n");
	is(false, "/dev/dm-0    10 MB  dm-\n"
	    "    sectors of 512 bytes\n"
	    "    /dev/mapper/vg0-home  10 MB  LVM, ext4 \"home\", mounted on /home\n"
	    "        /dev/mapper/own  10 MB  device mapper\n"
	    "    /dev/mapper/vg0-a\\x1Bb  10 MB  LVM\n"
	    "/dev/dm-2    10 MB  dm-\n"
	    "    sectors of 512 bytes, ext4 \"home\", mounted on /home\n"
	    "    /dev/mapper/own  10 MB  device mapper\n"
	    "/dev/dm-3    10 MB  dm-\n"
	    "    sectors of 512 bytes\n"
	    "/dev/dm-10   10 MB  dm-\n"
	    "    sectors of 512 bytes\n"
	    "/dev/md127   10 MB  md\n"
	    "    sectors of 512 bytes\n"
	    "/dev/sda    1.0 TB  ata\n"
	    "    sectors of 512 bytes\n"
	    "    /dev/sda1  1.0 GB\n"
	    "        /dev/md127  10 MB  raid1\n"
	    "    /dev/sda2  512 MB\n"
	    "        /dev/mapper/luks-a  10 MB  LUKS2\n"
	    "            /dev/mapper/vg0-home  10 MB  LVM, ext4 \"home\", mounted on /home\n"
	    "                /dev/mapper/own  10 MB  device mapper\n"
	    "            /dev/mapper/vg0-a\\x1Bb  10 MB  LVM\n");
}

/* A pool lies on two devices of one disk, an array on two of its partitions. */
CASE(shows_a_level_once_though_two_ways_lead_there)
{
	add_scsi(ATA, "sda", SDA, 1953525168);
	add_part(ATA, "sda", SDA, 1, 2048, 2000000);
	add_part(ATA, "sda", SDA, 2, 2002048, 1000000);
	add_dm("sda/sda1", 0, "vg-pool_tmeta", "LVM-0");
	add_dm("sda/sda1", 1, "vg-pool_tdata", "LVM-1");
	add_dm("dm-0", 2, "vg-pool", "LVM-2");
	has("/sys/block/dm-1/holders/dm-2/dev", "254:2\n");
	has("/sys/block/sda/sda2/holders/dm-2/dev", "254:2\n");
	has("/proc/self/mountinfo", "22 1 254:2 / /home rw - ext4 /dev/x rw\n");
	is(false, "/dev/dm-0   10 MB  dm-\n"
	    "    sectors of 512 bytes\n"
	    "    /dev/mapper/vg-pool  10 MB  LVM, mounted on /home\n"
	    "/dev/dm-1   10 MB  dm-\n"
	    "    sectors of 512 bytes\n"
	    "    /dev/mapper/vg-pool  10 MB  LVM, mounted on /home\n"
	    "/dev/dm-2   10 MB  dm-\n"
	    "    sectors of 512 bytes, mounted on /home\n"
	    "/dev/sda   1.0 TB  ata\n"
	    "    sectors of 512 bytes\n"
	    "    /dev/sda1  1.0 GB\n"
	    "        /dev/mapper/vg-pool_tmeta  10 MB  LVM\n"
	    "            /dev/mapper/vg-pool  10 MB  LVM, mounted on /home\n"
	    "        /dev/mapper/vg-pool_tdata  10 MB  LVM\n"
	    "    /dev/sda2  512 MB\n"
	    "        /dev/mapper/vg-pool  10 MB  LVM, mounted on /home\n");
}

CASE(has_the_levels_for_programs)
{
	add_scsi(ATA, "sda", SDA, 2000000);
	add_level("sda", "md0", 9, 0);
	has("/sys/block/md0/md/level", "raid1\n");
	has("/run/udev/data/c1:3", "%s", "");
	list_all(true);
	assert_non_null(strstr(text, "\"stack\":[{\"name\":\"md0\",\"on\":\"sda\",\"node\":"
	    "\"/dev/md0\",\"kind\":\"raid1\",\"size\":10240000}]"));
	free(text);
}
