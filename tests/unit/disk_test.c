/*
 * Disks by sysfs: what is reported about them, which belong together, and what
 * is unknown if sysfs does not say.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"

#include <bsd/string.h>

#include "disk/disk.h"
#include "disk/stack.h"
#include "disk/sysfs.h"
#include "world.h"

#define SDA	makedev(8, 0)
#define SDB	makedev(8, 16)
#define ATA	"pci0/ata1/host0/target0/0:0:0:0"
#define USB	"pci0/usb2/2-1/2-1:1.0/host3/target3/3:0:0:0"
#define NVME	"pci0/nvme/nvme0"

enum { BLOCKS = 1000 };

static struct disk d, other;

/* A SCSI disk; the directory of its bus is where "device" leads. */
static void
add_scsi(const char *bus, const char *name, dev_t dev)
{
	char path[PATH_MAX];

	add_disk(bus, name, dev, BLOCKS);
	snprintf(path, sizeof(path), "/sys/devices/%s/block/%s/device", bus,
	    name);
	leads(path, "../..");
}

EACH(world_begin, world_end)

CASE(is_told_of)
{
	static const char page[] = "\0\200\0\010  S3R1AL \0";

	add_scsi(ATA, "sda", SDA);
	has("/sys/block/sda/queue/physical_block_size", "4096\n");
	has("/sys/block/sda/queue/rotational", "1\n");
	has("/sys/block/sda/device/vendor", "  Maker   \n");
	has("/sys/block/sda/device/model", "A disk      \n");
	has("/sys/block/sda/device/wwid", "naa.5000\n");
	has("/sys/block/sda/device/scsi_generic/sg0/dev", "21:0\n");
	has("/sys/block/sda/device/bsg/0:0:0:0/dev", "1:1\n");
	has("/sys/block/sda/device/vpd_pg80", "%c%c%c%c%s", page[0], page[1],
	    page[2], page[3], page + 4);
	add_part(ATA, "sda", SDA, 1, 100, 200);
	assert_true(disk_of_block(SDA + 1, &d));
	assert_int_equal(d.err, 0);
	assert_int_equal(d.partition, 1);
	assert_int_equal(d.whole, SDA);
	assert_int_equal(d.start, 100 * 512);
	assert_int_equal(d.length, 200 * 512);
	assert_int_equal(d.logical, 512);
	assert_int_equal(d.physical, 4096);
	assert_true(d.rotates);
	assert_string_equal(d.name, "sda1");
	assert_string_equal(d.whole_name, "sda");
	assert_string_equal(d.vendor, "Maker");
	assert_string_equal(d.model, "A disk");
	assert_string_equal(d.serial, "S3R1AL");
	assert_string_equal(d.wwn, "naa.5000");
	assert_string_equal(d.transport, "ata");
	assert_string_equal(d.sg, "sg0");
	assert_string_equal(d.bsg, "0:0:0:0");
	assert_int_equal(disk_id(&d), 0);	/* a partition has none */
	assert_true(disk_of_block(SDA, &d));
	assert_int_not_equal(disk_id(&d), 0);
	/* another disk of the same shelf */
	other = d;
	other.wwn[strlen(d.wwn) - 1]++;
	assert_int_not_equal(disk_id(&other), disk_id(&d));
	other = d;
	other.serial[strlen(d.serial) - 1]++;
	assert_int_not_equal(disk_id(&other), disk_id(&d));
	other = d;
	other.length += 512;
	assert_int_not_equal(disk_id(&other), disk_id(&d));
}

/* Of a page that is too short, or longer than any, nothing is taken. */
CASE(has_no_serial)
{
	char page[300];

	add_scsi(ATA, "sda", SDA);
	has("/sys/block/sda/device/vpd_pg80", "1234");
	assert_true(disk_of_block(SDA, &d));
	assert_string_equal(d.serial, "");
	memset(page, 'x', sizeof(page));
	has("/sys/block/sda/device/vpd_pg80", "%.260s", page);
	assert_true(disk_of_block(SDA, &d));
	assert_string_equal(d.serial, "");
	has("/sys/block/sda/device/vpd_pg80", "1234    ");
	assert_true(disk_of_block(SDA, &d));
	assert_string_equal(d.serial, "");
	has("/sys/block/sda/serial", "%.260s", page);	/* does not fit */
	assert_true(disk_of_block(SDA, &d));
	assert_string_equal(d.serial, "");
	has("/sys/block/sda/serial", "%.255s", page);
	assert_true(disk_of_block(SDA, &d));
	assert_int_equal(strlen(d.serial), 255);
}

/* That of the bridge, some directories up. */
CASE(has_the_serial_of_usb)
{
	add_scsi(USB, "sdb", SDB);
	has("/sys/devices/pci0/usb2/2-1/idVendor", "1234\n");
	has("/sys/devices/pci0/usb2/2-1/serial", "BRIDGE\n");
	assert_true(disk_of_block(SDB, &d));
	assert_string_equal(d.serial, "BRIDGE");
	assert_string_equal(d.transport, "usb");
	lacks("/sys/devices/pci0/usb2/2-1/idVendor");
	assert_true(disk_of_block(SDB, &d));
	assert_string_equal(d.serial, "");
}

CASE(has_a_transport)
{
	add_scsi("pci0/host0/target0/0:0:0:0", "sda", SDA);
	assert_true(disk_of_block(SDA, &d));
	assert_string_equal(d.transport, "");
	has("/sys/block/sda/device/scsi_generic/sg0/dev", "21:0\n");
	assert_true(disk_of_block(SDA, &d));
	assert_string_equal(d.transport, "scsi");
	add_disk("virtual", "dm-0", makedev(253, 0), BLOCKS);
	assert_true(disk_of_block(makedev(253, 0), &d));
	assert_string_equal(d.transport, "dm-");
}

/* What every disk has, and this one does not, is an error. */
CASE(is_not_known)
{
	static const struct {
		const char *file;
		int	 err;
	} lost[] = { { "size", EIO }, { "start", EIO }, { "partition", EACCES },
		{ "/sys/dev/block/8:1", ELOOP }, { "logical_block_size", EIO },
		{ "./dev", EIO }, { "backing_file", EIO }, { "..", EMFILE } };

	add_scsi(ATA, "sda", SDA);
	add_part(ATA, "sda", SDA, 1, 100, 200);
	EACH_OF(i, lost) {
		world.broken = lost[i].file;
		world.err = lost[i].err;
		(void)disk_of_block(SDA + 1, &d);
		if (d.err != lost[i].err)
			fail_msg("%s: %d", lost[i].file, d.err);
	}
	world.broken = NULL;
	assert_false(disk_of_block(makedev(8, 77), &d));
	assert_int_equal(d.err, ENOENT);
	has("/sys/block/sda/size", "99999999999999999\n");
	assert_true(disk_of_block(SDA, &d));
	assert_int_equal(d.err, EOVERFLOW);
	assert_int_equal(d.length, 0);
	has("/sys/block/sda/size", "%s", "\n");
	assert_true(disk_of_block(SDA, &d));
	assert_int_equal(d.err, ENODATA);
	has("/sys/block/sda/dev", "nonsense\n");
	has("/sys/block/sda/size", "1\n");
	assert_true(disk_of_block(SDA, &d));
	assert_int_equal(d.err, ENODATA);
}

/* An NVMe namespace has two nodes; the number before the n may be another. */
CASE(has_a_sibling)
{
	const dev_t nvme = makedev(259, 0), ng = makedev(240, 1);

	add_disk(NVME, "nvme0n1", nvme, BLOCKS);
	assert_true(disk_of_block(nvme, &d));
	assert_string_equal(d.ng, "");
	has("/sys/devices/" NVME "/block/ng2n2/dev", "240:2\n");
	has("/sys/devices/" NVME "/block/other/dev", "240:7\n");
	has("/sys/devices/" NVME "/block/ng2n1/dev", "240:1\n");
	assert_true(disk_of_block(nvme, &d));
	assert_string_equal(d.ng, "ng2n1");
	assert_int_equal(d.ng_node, ng);
	has("/sys/devices/" NVME "/block/ng0n1/dev", "240:3\n");
	assert_true(disk_of_block(nvme, &d));
	assert_string_equal(d.ng, "ng0n1");
	leads("/sys/dev/char/240:1", "../../devices/" NVME "/block/ng2n1");
	assert_true(disk_of_char(ng, &d));
	assert_int_equal(d.node, nvme);
	assert_string_equal(d.transport, "nvme");
	leads("/sys/dev/char/240:7", "../../devices/" NVME "/block/other");
	assert_true(disk_of_char(makedev(240, 7), &d));
	assert_int_equal(d.node, 0);
	has("/sys/devices/pci0/ng/dev", "240:9\n");
	leads("/sys/dev/char/240:9", "../../devices/pci0/ng");
	assert_true(disk_of_char(makedev(240, 9), &d));
	assert_int_equal(d.node, 0);
}

CASE(is_found_by_sg)
{
	const dev_t sg = makedev(21, 0);

	assert_false(disk_of_char(sg, &d));
	assert_int_equal(d.err, ENOENT);
	add_scsi(ATA, "sda", SDA);
	has("/sys/devices/" ATA "/scsi_generic/sg0/dev", "21:0\n");
	leads("/sys/devices/" ATA "/scsi_generic/sg0/device", "../..");
	leads("/sys/dev/char/21:0", "../../devices/" ATA "/scsi_generic/sg0");
	assert_true(disk_of_char(sg, &d));
	assert_int_equal(d.node, SDA);
	assert_int_equal(d.err, 0);
	world.broken = "device/block";
	world.err = EMFILE;
	assert_true(disk_of_char(sg, &d));
	assert_int_equal(d.node, 0);
	assert_int_equal(d.err, EMFILE);
}

/* Those that are lost, and those that are not to be found where others are. */
CASE(is_lost)
{
	add_scsi(ATA, "sda", SDA);
	add_part(ATA, "sda", SDA, 1, 100, 200);
	assert_false(disk_lost(SDA, true));
	has("/sys/block/sda/device/state", "running\n");
	assert_false(disk_lost(SDA, true));
	has("/sys/block/sda/device/state", "offline\n");
	assert_true(disk_lost(SDA, true));
	assert_true(disk_lost(SDA + 1, true));
	world.failing = 2;		/* its state, as it is taken away */
	world.err = ENOENT;
	assert_true(disk_lost(SDA, true));
	assert_true(disk_lost(SDB, true));
	world.broken = "8:16";
	world.err = EMFILE;
	assert_false(disk_lost(SDB, true));
	world.broken = "/sys/dev/block";
	world.err = ENOENT;
	assert_false(disk_lost(SDB, true));	/* no sysfs at all */
}

CASE(is_gone)
{
	struct node *sda;
	int fd;

	add_scsi(ATA, "sda", SDA);
	sda = &world.node[0];
	fd = open("/dev/sda", O_RDONLY);
	assert_false(disk_gone(fd));
	has("/sys/block/sda/device/state", "dead\n");
	assert_true(disk_gone(fd));
	sda->bytes = 0;
	assert_true(disk_gone(fd));
	close(fd);
	assert_true(disk_gone(fd));
}

CASE(has_partitions)
{
	struct disk_part *part;
	size_t n;

	add_scsi(ATA, "sda", SDA);
	assert_int_equal(disk_parts(SDA, &part, &n), 0);
	assert_int_equal(n, 0);
	free(part);
	add_part(ATA, "sda", SDA, 1, 500, 100);
	add_part(ATA, "sda", SDA, 2, 100, 100);
	add_part(ATA, "sda", SDA, 3, 300, 100);
	assert_int_equal(disk_parts(SDA, &part, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(part[0].number, 2);
	assert_int_equal(part[0].start, 100 * 512);
	assert_int_equal(part[1].node, SDA + 3);
	assert_string_equal(part[2].name, "sda1");
	free(part);
	world.broken = "sda3";
	world.err = EMFILE;
	assert_int_equal(disk_parts(SDA, &part, &n), EMFILE);
	assert_null(part);
	assert_int_equal(n, 0);
	world.err = ENOENT;			/* just removed */
	assert_int_equal(disk_parts(SDA, &part, &n), 0);
	assert_int_equal(n, 2);
	free(part);
	world.broken = ".";
	world.err = EIO;
	assert_int_equal(disk_parts(SDA, &part, &n), EIO);
	assert_null(part);
	world.broken = NULL;
	assert_int_equal(disk_parts(SDB, &part, &n), ENOENT);
}

CASE(has_holders)
{
	const dev_t dm = makedev(253, 0);
	dev_t slave[2];
	size_t n;

	assert_int_equal(disk_holders(dm, slave, 2, &n), ENOENT);
	add_disk("virtual", "dm-0", dm, BLOCKS);
	assert_int_equal(disk_holders(dm, slave, 2, &n), 0);
	assert_int_equal(n, 0);
	has("/sys/block/dm-0/holders/sda/dev", "8:0\n");
	has("/sys/block/dm-0/holders/sdb/dev", "8:16\n");
	assert_int_equal(disk_holders(dm, slave, 2, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(slave[0], SDA);
	assert_int_equal(slave[1], SDB);
	assert_int_equal(disk_holders(dm, slave, 1, &n), E2BIG);
	world.broken = "holders";
	world.err = EMFILE;
	assert_int_equal(disk_holders(dm, slave, 2, &n), EMFILE);
	world.broken = "sdb/dev";
	assert_int_equal(disk_holders(dm, slave, 2, &n), EMFILE);
}

CASE(has_pieces)
{
	static const char *const wrong[] = { "0 10 linear 8:0 x",
		"0 10 linear 8:0", "0 10 linear sda 0",
		"0 10 linear 8:0 99999999999999999999",
		"99999999999999999 10 linear 8:0 0",
		"0 99999999999999999 linear 8:0 0" };
	static const char *const torn[] = { "0 10 striped", "0 10 striped 0 8",
		"0 10 striped 2 8 8:1 0", "0 10 striped 2 8 8:1",
		"0 10 striped 4000000000 8" };
	const dev_t dm = makedev(253, 300);
	struct dm_piece piece[2];
	bool striped;
	size_t n;

	assert_int_equal(dm_pieces(dm, piece, 2, &n, &striped), ENOENT);
	add_node("mapper/control", makedev(10, 236), 0);
	assert_int_equal(dm_pieces(dm, piece, 2, &n, &striped), ENXIO);
	world.table = "0 10 linear 8:1 0\n10 30 linear 8:16 2048\n";
	assert_int_equal(dm_pieces(dm, piece, 2, &n, &striped), 0);
	assert_false(striped);
	assert_int_equal(n, 2);
	assert_int_equal(piece[1].node, SDB);
	assert_int_equal(piece[1].start, 10 * 512);
	assert_int_equal(piece[1].length, 30 * 512);
	assert_int_equal(piece[1].off, 2048 * 512);
	assert_int_equal(dm_pieces(dm, piece, 1, &n, &striped), E2BIG);
	world.table = "0 10 crypt aes 8:1 0";
	assert_int_equal(dm_pieces(dm, piece, 2, &n, &striped), ENOTSUP);
	world.table = "0 40 striped 2 8 8:1 16 8:16 2048";
	assert_int_equal(dm_pieces(dm, piece, 2, &n, &striped), 0);
	assert_true(striped);
	assert_int_equal(n, 2);
	assert_int_equal(piece[1].node, SDB);
	assert_int_equal(piece[1].off, 2048 * 512);
	assert_int_equal(piece[1].length, 20 * 512);
	assert_int_equal(dm_pieces(dm, piece, 1, &n, &striped), E2BIG);
	EACH_OF(i, wrong) {
		world.table = wrong[i];
		assert_int_equal(dm_pieces(dm, piece, 2, &n, &striped), EBADMSG);
	}
	EACH_OF(i, torn) {
		world.table = torn[i];
		assert_int_equal(dm_pieces(dm, piece, 2, &n, &striped), EBADMSG);
	}
	assert_int_equal(world_node("/dev/mapper/control")->fd, -1);
}

/* Where crypt targets lie, if each sector is in its place. */
CASE(has_crypt)
{
	static const char *const others[] = { "0 10 linear 8:0 0",
		"0 10 crypt a k 0 8:16 0\n10 10 linear 8:0 0",
		"0 1 crypt a k 0 8:16 0\n1 1 zero \n2 1 crypt a k 0 8:16 2",
		"0 10 crypt a k 0 8:16 0 1 new",
		"0 10 crypt a k 0 8:16 0 2 allow_discards integrity:28:aead",
		"0 10 crypt a k 0 8:16 0 1 sector_size:8192" };
	static const char *const wrong[] = { "0 10 crypt a", "0 10 crypt a k",
		"0 10 crypt a k 0", "0 10 crypt a k 0 sdb 0",
		"0 10 crypt a k 0 8:16", "0 10 crypt a k 0 8:16 8x",
		"0 10 crypt a k 0 8:16 99999999999999999999" };
	static const char *const good[] = { "", " 0",
		" 2 sector_size:4096 iv_large_sectors", " 1 allow_discards" };
	const dev_t dm = makedev(253, 300);
	struct dm_piece piece[2];
	static char text[128];
	size_t n;

	add_node("mapper/control", makedev(10, 236), 0);
	world.table = text;
	EACH_OF(i, good) {
		snprintf(text, sizeof(text), "0 10 crypt aes-xts-plain64 "
		    ":64:logon:x:y-d0 7 8:16 2048%s", good[i]);
		assert_int_equal(dm_crypt(dm, piece, 2, &n), 0);
		assert_int_equal(n, 1);
		assert_int_equal(piece->node, SDB);
		assert_int_equal(piece->start, 0);
		assert_int_equal(piece->length, 10 * 512);
		assert_int_equal(piece->off, 2048 * 512);
	}
	world.table = "0 16 crypt a k 0 8:16 100\n16 8 zero ";
	assert_int_equal(dm_crypt(dm, piece, 2, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(piece[1].start, 16 * 512);
	assert_int_equal(piece[1].length, 8 * 512);
	assert_int_equal(piece[1].node, 0);
	EACH_OF(i, others) {
		world.table = others[i];
		assert_int_not_equal(dm_crypt(dm, piece, 2, &n), 0);
	}
	EACH_OF(i, wrong) {
		world.table = wrong[i];
		assert_int_equal(dm_crypt(dm, piece, 2, &n), EBADMSG);
	}
}

CASE(is_zoned)
{
	char model[32];

	assert_false(disk_zoned(SDA, model, sizeof(model)));
	add_scsi(ATA, "sda", SDA);
	add_part(ATA, "sda", SDA, 1, 100, 200);
	assert_false(disk_zoned(SDA, model, sizeof(model)));
	has("/sys/block/sda/queue/zoned", "none\n");
	assert_false(disk_zoned(SDA, model, sizeof(model)));
	assert_string_equal(model, "");
	has("/sys/block/sda/queue/zoned", "host-managed\n");
	assert_true(disk_zoned(SDA + 1, model, sizeof(model)));
	assert_string_equal(model, "host-managed");
}

CASE(limits_its_zones)
{
	add_scsi(ATA, "sda", SDA);	/* of a kernel that does not say */
	assert_int_equal(disk_zone_limits(SDA).open, 1);
	assert_int_equal(disk_zone_limits(SDA).active, UINT_MAX);
	assert_int_equal(disk_zone_limits(SDB).open, 1);
	has("/sys/block/sda/queue/max_open_zones", "14\n");
	has("/sys/block/sda/queue/max_active_zones", "28\n");
	assert_int_equal(disk_zone_limits(SDA).open, 14);
	assert_int_equal(disk_zone_limits(SDA).active, 28);
	has("/sys/block/sda/queue/max_open_zones", "0\n");
	has("/sys/block/sda/queue/max_active_zones", "0\n");
	assert_int_equal(disk_zone_limits(SDA).open, UINT_MAX);
	assert_int_equal(disk_zone_limits(SDA).active, UINT_MAX);
}

/* Two disks with these names. */
static void
two(const char *serials[2], const char *wwns[2])
{
	add_scsi(ATA, "sda", SDA);
	add_scsi("pci0/ata2/host1/target1/0:0:0:0", "sdb", SDB);
	has("/sys/block/sda/device/serial", "%s\n", serials[0]);
	has("/sys/block/sdb/device/serial", "%s\n", serials[1]);
	has("/sys/block/sda/device/wwid", "%s\n", wwns[0]);
	has("/sys/block/sdb/device/wwid", "%s\n", wwns[1]);
	assert_true(disk_of_block(SDA, &d));
}

CASE(is_found_again)
{
	static struct disk like;

	two((const char *[]){ "A", "B" }, (const char *[]){ "naa.1", "naa.2" });
	assert_int_equal(disk_find(&d, &other), 1);
	assert_int_equal(other.node, SDA);
	strlcpy(like.serial, "B", sizeof(like.serial));
	strlcpy(like.wwn, "naa.2", sizeof(like.wwn));
	assert_int_equal(disk_find(&like, &other), 1);
	assert_int_equal(other.node, SDB);
	like.wwn[0] = '\0';
	assert_int_equal(disk_find(&like, &other), 0);
	like.serial[0] = '\0';
	strlcpy(like.wwn, "naa.2", sizeof(like.wwn));
	assert_int_equal(disk_find(&like, &other), 0);
	like.wwn[0] = '\0';
	assert_int_equal(disk_find(&like, &other), 0);	/* it has no name */
	has("/sys/block/sda/device/state", "offline\n");
	assert_int_equal(disk_find(&d, &other), 0);
}

CASE(has_a_namesake)
{
	two((const char *[]){ "A", "A" }, (const char *[]){ "naa.1", "naa.2" });
	assert_true(disk_namesake(&d, NAME_SERIAL, &other));
	assert_int_equal(other.node, SDB);
	assert_false(disk_namesake(&d, NAME_WWN, &other));
	assert_false(disk_namesake(&d, NAME_LINK, &other));
	has("/sys/block/sdb/device/wwid", "naa.1\n");	/* another path to it */
	assert_false(disk_namesake(&d, NAME_SERIAL, &other));
	has("/sys/block/sdb/device/serial", "B\n");
	assert_true(disk_namesake(&d, NAME_WWN, &other));
}

/* An sg node without a disk has the same names. */
CASE(has_a_namesake_by_sg)
{
	has("/sys/devices/pci0/0:0:0:0/serial", "T\n");
	has("/sys/devices/pci0/0:0:0:0/scsi_generic/sg4/dev", "21:4\n");
	leads("/sys/devices/pci0/0:0:0:0/scsi_generic/sg4/device", "../..");
	leads("/sys/dev/char/21:4",
	    "../../devices/pci0/0:0:0:0/scsi_generic/sg4");
	has("/sys/class/scsi_generic/.keep", "%s", "");
	leads("/sys/class/scsi_generic/sg4",
	    "../../devices/pci0/0:0:0:0/scsi_generic/sg4");
	d = (struct disk){ .serial = "T", .sg = "sg5" };
	assert_true(disk_namesake(&d, NAME_SERIAL, &other));
	assert_string_equal(other.sg, "sg4");
	strcpy(d.sg, "sg4");
	assert_false(disk_namesake(&d, NAME_SERIAL, &other));
	d.node = SDA;
	assert_true(disk_namesake(&d, NAME_SERIAL, &other));
	assert_int_equal(disk_find(&d, &other), 1);
}

CASE(is_read_as_far_as_there_is_room)
{
	char room[] = "......";

	has("/sys/block/text", "123456\n");
	assert_true(sysfs_text(AT_FDCWD, "/sys/block/text", room, 4));
	assert_memory_equal(room, "123\0..", 6);
}

CASE(has_paths)
{
	dev_t *node;

	two((const char *[]){ "A", "A" }, (const char *[]){ "naa.1", "naa.1" });
	assert_int_equal(disk_paths(&d, &node), 0);
	assert_int_equal(node[0], SDB);
	assert_int_equal(node[1], 0);
	free(node);
	assert_true(disk_of_block(SDB, &other));
	assert_int_equal(disk_paths(&other, &node), 0);
	assert_int_equal(node[0], SDA);
	assert_int_equal(node[1], 0);
	free(node);
	has("/sys/block/sdb/size", "1001\n");
	assert_int_equal(disk_paths(&d, &node), 0);
	assert_int_equal(node[0], 0);
	free(node);
	has("/sys/block/sdb/size", "nothing\n");
	world.broken = "logical_block_size";
	world.err = EIO;
	assert_int_equal(disk_paths(&d, &node), 0);
	assert_int_equal(node[0], SDB);		/* its size is not known */
	free(node);
	world.broken = NULL;
	has("/sys/block/sdb/device/wwid", "naa.2\n");
	assert_int_equal(disk_paths(&d, &node), 0);
	assert_int_equal(node[0], 0);
	free(node);
	world.broken = "/sys/block";
	assert_int_equal(disk_paths(&d, &node), EIO);
	assert_null(node);
}

CASE(has_names)
{
	char name[64];

	two((const char *[]){ "A", "B" }, (const char *[]){ "naa.1", "0x2" });
	disk_by_id(SDA, name, sizeof(name));
	assert_string_equal(name, "");
	has("/dev/disk/by-id/wwn-0x1", "%s", "");
	has("/dev/disk/by-id/nvme-eui.1", "%s", "");
	add_node("disk/by-id/wwn-0x1", SDA, 0);
	add_node("disk/by-id/nvme-eui.1", SDA, 0);
	disk_by_id(SDA, name, sizeof(name));
	assert_string_equal(name, "nvme-eui.1");
	has("/dev/disk/by-id/ata-A", "%s", "");
	add_node("disk/by-id/ata-A", SDA, 0);
	has("/dev/disk/by-id/scsi-A", "%s", "");
	add_node("disk/by-id/scsi-A", SDA, 0);
	has("/dev/disk/by-id/ata-B", "%s", "");
	add_node("disk/by-id/ata-B", SDB, 0);
	disk_by_id(SDA, name, sizeof(name));
	assert_string_equal(name, "ata-A");
	assert_int_equal(disk_is(&d, ""), NAME_OTHER);
	assert_int_equal(disk_is(&d, "1"), NAME_WWN);
	assert_int_equal(disk_is(&d, "naa.1"), NAME_WWN);
	assert_int_equal(disk_is(&d, "A"), NAME_SERIAL);
	assert_int_equal(disk_is(&d, "ata-A"), NAME_LINK);
	assert_int_equal(disk_is(&d, "ata-B"), NAME_OTHER);
	assert_int_equal(disk_is(&d, "by-id/ata-A"), NAME_OTHER);
	assert_int_equal(disk_is(&d, "2"), NAME_OTHER);
	d.wwn[0] = '\0';
	assert_int_equal(disk_is(&d, "1"), NAME_OTHER);
	d.node = 0;
	assert_int_equal(disk_is(&d, "ata-A"), NAME_OTHER);
}

/* Bare numbers come first in the directory, even before names in lower case. */
CASE(has_a_name_with_its_serial_number)
{
	static const char *const names[] = { "disk/by-id/lvm-pv-uuid-1",
		"disk/by-id/nvme-eui.1", "disk/by-id/nvme-vendor_A",
		"disk/by-id/nvme-vendor_A_1",
		"disk/by-id/scsi-3500", "disk/by-id/scsi-SVENDOR_A",
		"disk/by-id/wwn-0x1" };
	char name[64], path[64];

	EACH_OF(i, names) {
		snprintf(path, sizeof(path), "/dev/%s", names[i]);
		has(path, "%s", "");
		add_node(names[i], i < 4 ? SDA : SDB, 0);
	}
	disk_by_id(SDA, name, sizeof(name));
	assert_string_equal(name, "nvme-vendor_A");
	disk_by_id(SDB, name, sizeof(name));
	assert_string_equal(name, "scsi-SVENDOR_A");
}

CASE(has_a_path)
{
	char path[64];

	add_node("cciss/c0d0", makedev(104, 0), 0);
	assert_true(disk_path(makedev(104, 0), "cciss!c0d0", path,
	    sizeof(path)));
	assert_string_equal(path, "/dev/cciss/c0d0");
	assert_false(disk_path(makedev(104, 1), "cciss!c0d0", path,
	    sizeof(path)));
	assert_false(disk_path(SDA, "sda", path, sizeof(path)));
}

static unsigned settled;

int
sync_file_range(int fd, off_t off, off_t len, unsigned how)
{
	settled++;
	return 0;
}

/* With its partitions, as far as they can be opened. */
CASE(is_settled)
{
	unsigned n;

	add_scsi(ATA, "sda", SDA);
	add_part(ATA, "sda", SDA, 1, 100, 200);
	add_part(ATA, "sda", SDA, 2, 300, 200);
	assert_true(disk_of_block(SDA, &d));
	settled = 0;
	disk_settle_all(&d);
	assert_int_equal(settled, 3);
	world.err = EMFILE;
	for (n = 1; n < 20; n++) {
		settled = 0;
		world.failing = n;
		disk_settle_all(&d);
		assert_true(settled <= 3);
	}
	world.failing = 0;
	strcpy(world.node[1].name, "elsewhere");	/* one has no node */
	settled = 0;
	disk_settle_all(&d);
	assert_int_equal(settled, 2);
}

/* What could not be asked for is told by err, unless it is not needed. */
CASE(is_told_of_or_not_at_all)
{
	unsigned n;

	add_scsi(USB, "sdb", SDB);
	has("/sys/devices/pci0/usb2/2-1/idVendor", "1234\n");
	has("/sys/devices/pci0/usb2/2-1/serial", "BRIDGE\n");
	world.err = EMFILE;
	for (n = 1; n < 60; n++) {
		world.failing = n;
		if (!disk_of_block(SDB, &d))
			assert_int_equal(d.err, EMFILE);
		else if (d.err == 0)
			assert_int_equal(d.length, BLOCKS * 512);
		assert_true(d.serial[0] == '\0' ||
		    strcmp(d.serial, "BRIDGE") == 0);
	}
	world.failing = 0;
	assert_true(disk_of_block(SDB, &d));
	assert_string_equal(d.serial, "BRIDGE");
}
