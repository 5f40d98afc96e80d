/*
 * The identity of a SCSI disk: its names, of which the WWN is the best, whether
 * it is write protected, and who has registered.  The disk is a mock.
 */
#include "test.h"

#include "../../src/scsi/sg.h"

enum { NAA = 3, EUI = 2, T10 = 1, NAME = 8, PORT = 0x10 };

static struct {
	unsigned char	 page[256];	/* VPD 83h */
	size_t		 len;
	unsigned char	 answer[16];	/* to all that is no INQUIRY */
	size_t		 answered;	/* bytes of it */
	bool		 mute;
} disk;

static int
carry(void *to, const struct scsi_command *c, struct scsi_answer *a)
{
	size_t room = c->blocks * (size_t)c->block, n = disk.answered;
	const unsigned char *from = disk.answer;

	*a = (struct scsi_answer){ .device = 0 };
	if (disk.mute)
		return EIO;
	if (c->cdb[0] == 0x12) {
		from = disk.page;
		n = c->cdb[1] != 0 && c->cdb[2] == 0x83 ? disk.len : 0;
	}
	n = n < room ? n : room;
	memcpy(c->buf, from, n);
	a->residual = (int64_t)(room - n);
	return 0;
}

static const struct scsi_path path = { .timeout = 1000, .fd = -1,
	.node = SCSI_CARRIED, .carry = carry };

static int
set_up(void **state)
{
	memset(&disk, 0, sizeof(disk));
	disk.page[1] = 0x83;
	disk.len = 4;
	return 0;
}

EACH(set_up, NULL)

/* One more designator. */
static void
named(unsigned kind, const void *bytes, size_t len)
{
	unsigned char *d = disk.page + disk.len;

	d[1] = (unsigned char)kind;
	d[3] = (unsigned char)len;
	memcpy(d + 4, bytes, len);
	disk.len += 4 + len;
	disk.page[2] = (unsigned char)((disk.len - 4) >> 8);
	disk.page[3] = (unsigned char)(disk.len - 4);
}

static void
is_called(const char *wwn)
{
	struct disk d = { .wwn = "" };

	scsi_identify(&path, &d);
	assert_string_equal(d.wwn, wwn);
}

/* From the worst to the best: each takes the place of those before. */
CASE(takes_the_best_name)
{
	static const unsigned char eui[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 },
	    naa4[8] = { 0x4a }, naa5[8] = { 0x50, 0xff }, naa6[16] = { 0x60 },
	    naa3[8] = { 0x30 };

	is_called("");
	named(NAA | PORT, naa6, 16);	/* of a port */
	is_called("");
	named(5, naa6, 4);		/* a group of ports */
	named(EUI, eui, 7);
	named(T10, "", 0);
	is_called("");
	named(T10, " ATA  X  ", 9);
	is_called("t10.ATA  X");
	named(NAA, naa3, 8);		/* of two that are worth the same */
	is_called("naa.3000000000000000");
	named(EUI, eui, 8);
	is_called("eui.0001020304050607");
	named(NAA, naa4, 8);
	is_called("naa.4a00000000000000");
	named(NAA, naa5, 8);
	is_called("naa.50ff000000000000");
	named(EUI, eui, 12);
	is_called("eui.000102030405060708090000");
	named(NAA, naa5, 8);
	is_called("eui.000102030405060708090000");
	named(EUI, eui, 16);
	is_called("eui.00010203040506070809000000000000");
	named(NAA, naa6, 16);
	is_called("naa.60000000000000000000000000000000");
	named(NAME, "iqn.x:1\0\0", 9);
	is_called("iqn.x:1");
	named(EUI, eui, 16);
	is_called("iqn.x:1");
}

/* A length that leads past the page, or what was answered. */
CASE(stays_within_the_page)
{
	static const unsigned char naa5[8] = { 0x50 }, naa6[16] = { 0x60 };

	named(NAA, naa5, 8);
	named(NAA, naa6, 16);
	disk.page[3]--;
	is_called("naa.5000000000000000");
	disk.page[3]++;
	disk.len--;
	is_called("naa.5000000000000000");
	disk.page[1] = 0x80;		/* another page */
	is_called("");
}

/* Whatever a disk says, it has room. */
CASE(cuts_a_name_that_is_too_long)
{
	static const unsigned char naa6[200] = { 0x60 };
	struct disk d = { .wwn = "" };

	named(NAA, naa6, sizeof(naa6));
	scsi_identify(&path, &d);
	assert_int_equal(strlen(d.wwn), sizeof(d.wwn) - 2);
	assert_memory_equal(d.wwn, "naa.6000", 8);
	disk.mute = true;
	is_called("");
}

CASE(has_no_name_of_blanks)
{
	named(T10, "    ", 4);
	is_called("t10.");
	named(T10, "\0\0", 2);
	is_called("t10.");
}

CASE(tells_of_protection)
{
	disk.answered = 4;
	assert_false(scsi_protected(&path));
	disk.answer[2] = 0x7f;
	assert_false(scsi_protected(&path));
	disk.answer[2] = 0x80;
	assert_true(scsi_protected(&path));
	disk.answered = 3;
	assert_true(scsi_protected(&path));
	disk.answered = 2;
	assert_false(scsi_protected(&path));
	disk.mute = true;
	assert_false(scsi_protected(&path));
}

CASE(counts_who_has_registered)
{
	disk.answered = 8;
	assert_int_equal(scsi_registered(&path), 0);
	disk.answer[6] = 1;
	disk.answer[7] = 0x10;
	assert_int_equal(scsi_registered(&path), 0x110 / 8);
	disk.answered = 7;
	assert_int_equal(scsi_registered(&path), 0);
	disk.answered = 8;
	disk.mute = true;
	assert_int_equal(scsi_registered(&path), 0);
}
