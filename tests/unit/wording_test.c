/*
 * The words for an end, and for what was lost.
 */
#include "test.h"
#include "end/backend.h"
#include "disk/disk.h"
#include "report/report.h"

static char text[200];

CASE(tells_where_losses_lie)
{
	struct loss l = { .known = false, .files = 1 };

	assert_string_equal(wording_loss(text, sizeof(text), &l), "");
	l = (struct loss){ .known = true, .free = 512 };
	assert_string_equal(wording_loss(text, sizeof(text), &l),
	    "all these bytes are free space");
	l.state = FS_DIRTY;
	assert_string_equal(wording_loss(text, sizeof(text), &l),
	    "all these bytes are free space, as it seems");
	l.structures = 1;
	assert_string_equal(wording_loss(text, sizeof(text), &l),
	    "of these, 0 bytes are in files, 1 in the file system's own "
	    "structures, 512 free, as it seems");
	l = (struct loss){ .known = true, .files = 2 };
	assert_string_equal(wording_loss(text, sizeof(text), &l),
	    "of these, 2 bytes are in files, 0 in the file system's own "
	    "structures, 0 free");
}

CASE(shortens_a_name_from_the_front)
{
	const struct endpoint ep = { .name = "/a/long/name" };

	assert_string_equal(wording_name(text, sizeof(text), &ep, 12),
	    "/a/long/name");
	assert_string_equal(wording_name(text, sizeof(text), &ep, 11),
	    "...ong/name");
	assert_string_equal(wording_name(text, 8, &ep, 100), "...name");
}

static struct disk disk;

static void
tell_disk(const struct endpoint *ep, struct disk *d)
{
	*d = disk;
}

CASE(tells_disks)
{
	static const struct backend backend = { .disk = tell_disk };
	const struct endpoint ep = { .name = "/dev/sdz1", .kind = END_BLOCK,
		.be = &backend, .geo = { .size = 4096, .block = 512 } };

	disk = (struct disk){ .partition = 1, .whole_name = "sdz",
		.vendor = "Acme", .model = "Stick", .transport = "usb",
		.removable = true, .serial = "S1" };
	assert_string_equal(wording_end(text, sizeof(text), &ep),
	    "block device, 4.1 kB in blocks of 512, partition 1 of sdz, "
	    "Acme Stick, usb, removable, serial S1");
	assert_string_equal(wording_brief(text, sizeof(text), &ep),
	    ", Acme Stick, 4.1 kB, serial S1");
	assert_string_equal(wording_who(text, sizeof(text), &ep), "Stick, S1");
	disk.serial[0] = '\0';
	assert_string_equal(wording_who(text, sizeof(text), &ep), "Stick");
	disk = (struct disk){ .serial = "S1" };
	assert_string_equal(wording_who(text, sizeof(text), &ep), "S1");
	assert_string_equal(wording_end(text, sizeof(text), &ep),
	    "block device, 4.1 kB in blocks of 512, serial S1");
	disk = (struct disk){ .backing = "/img" };
	assert_string_equal(wording_who(text, sizeof(text), &ep),
	    "block device");
	assert_string_equal(wording_end(text, sizeof(text), &ep),
	    "block device, 4.1 kB in blocks of 512, on /img");
}
