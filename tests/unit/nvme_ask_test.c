/*
 * What an NVMe namespace reports about itself, and which namespaces cannot be
 * copied.
 */
#include "test.h"

#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include "../../src/nvme/nvme.h"
#include "../tools/preload.h"

enum {
	NSID = 3,
	FLBAS = 26, DPS = 29, DLFEAT = 33, NSATTR = 99, NGUID = 104,
	LBAF = 128,		/* bytes of Identify Namespace */
	MDTS = 77, ONCS = 520,	/* ... and Controller */
};

static struct {
	unsigned char	 space[4096], controller[4096];
	int		 id;		/* of the namespace, or -errno */
	int		 fails[2];	/* Identify: of which, how */
	struct nvme_admin_cmd last;
} disk;

static int
answered(int fd, unsigned long request, void *arg)
{
	struct nvme_admin_cmd *c = arg;
	int result = disk.id;

	if (request == NVME_IOCTL_ADMIN_CMD) {
		disk.last = *c;
		assert_int_equal(c->data_len, sizeof(disk.space));
		memcpy((void *)(uintptr_t)c->addr, c->cdw10 == 1 ?
		    disk.controller : disk.space, c->data_len);
		result = disk.fails[c->cdw10 == 1];
	}
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

IOCTLS(answered)

/* A format: bytes of metadata, and the power of two of a block. */
static void
format(unsigned i, unsigned metadata, unsigned shift)
{
	unsigned char *f = disk.space + LBAF + (size_t)4 * i;

	f[0] = (unsigned char)metadata;
	f[1] = (unsigned char)(metadata >> 8);
	f[2] = (unsigned char)shift;
}

static int
set_up(void **state)
{
	memset(&disk, 0, sizeof(disk));
	disk.id = NSID;
	disk.space[0] = 0x34;
	disk.space[1] = 0x12;
	format(0, 0, 9);
	return 0;
}

EACH(set_up, NULL)

static struct nvme_disk
asked(void)
{
	struct nvme_disk d;
	struct fault f;

	assert_int_equal(nvme_ask(7, 5000, "it", &d, &f), 0);
	assert_int_equal(d.nsid, NSID);
	assert_int_equal(disk.last.timeout_ms, 5000);
	return d;
}

static void
refused(int status, const char *words)
{
	struct nvme_disk d;
	struct fault f;

	assert_int_equal(nvme_ask(7, 5000, "it", &d, &f), -1);
	assert_int_equal(f.status, status);
	assert_non_null(strstr(f.text, words));
}

CASE(takes_size_and_block)
{
	struct nvme_disk d = asked();

	assert_int_equal(d.blocks, 0x1234);
	assert_int_equal(d.block, 512);
	assert_int_equal(d.most, 0);
	assert_int_equal(d.protection, 0);
	assert_false(d.has_zeroes || d.zeros || d.frees_zeros || d.protected);
	disk.space[7] = 0x01;		/* of 8 bytes, the last first */
	format(0, 0, 9);
	refused(STATUS_FILE, "it cannot be copied");
	disk.space[7] = 0;
	disk.space[5] = 0x3f;		/* 0x3f00 0000 1234 blocks of 512 */
	assert_int_equal(asked().blocks, 0x3f0000001234);
	format(0, 0, 16);
	assert_int_equal(asked().block, 65536);
	format(0, 0, 17);
	refused(STATUS_FILE, "2^17 bytes");
	format(0, 0, 8);
	refused(STATUS_FILE, "2^8 bytes");
}

/* The most that there may be: bytes that a signed number holds. */
CASE(has_a_largest_size)
{
	memset(disk.space, 0xff, 8);
	disk.space[6] = 0x3f;
	disk.space[7] = 0;
	refused(STATUS_FILE, "cannot be copied");	/* 2^54 - 1 of 512: 2^63 */
	disk.space[0] = 0xfe;
	assert_int_equal(asked().blocks, (UINT64_C(1) << 54) - 2);
}

CASE(takes_the_format_in_use)
{
	format(5, 0, 12);
	disk.space[FLBAS] = 5;
	assert_int_equal(asked().block, 4096);
	format(5 + 32, 0, 13);		/* bits 5 and 6 are the higher ones */
	disk.space[FLBAS] = 5 | 0x40;
	assert_int_equal(asked().block, 8192);
}

CASE(knows_what_it_can)
{
	struct nvme_disk d;

	disk.controller[MDTS] = 5;
	disk.controller[ONCS] = 0x08;
	disk.space[DLFEAT] = 1 | 8;
	disk.space[NSATTR] = 1;
	d = asked();
	assert_int_equal(d.most, 4096 << 5);
	assert_true(d.has_zeroes && d.zeros && d.frees_zeros && d.protected);
	disk.controller[MDTS] = 19;
	assert_int_equal(asked().most, 4096U << 19);
	disk.controller[MDTS] = 20;
	assert_int_equal(asked().most, 0);
	disk.controller[ONCS] = 0xf7;
	assert_false(asked().has_zeroes);
	disk.space[DLFEAT] = 2 | 8;	/* it reads as ones */
	assert_false(asked().zeros);
	assert_false(asked().frees_zeros);
	disk.space[DLFEAT] = 1;
	assert_false(asked().frees_zeros);
}

CASE(refuses_metadata)
{
	format(0, 8, 9);
	refused(STATUS_REFUSED, "8 bytes of metadata each, which");
	for (disk.space[DPS] = 1; disk.space[DPS] <= 3; disk.space[DPS]++)
		assert_int_equal(asked().protection, disk.space[DPS]);
	disk.space[DPS] = 4;
	refused(STATUS_REFUSED, "8 bytes of metadata each, which");
	disk.space[DPS] = 1;
	disk.space[FLBAS] = 0x10;
	refused(STATUS_REFUSED, "in line with the data");
	disk.space[FLBAS] = 0;
	format(0, 16, 9);
	refused(STATUS_REFUSED, "16 bytes of metadata");
	format(0, 264, 9);		/* 8 in the lower byte */
	refused(STATUS_REFUSED, "264 bytes of metadata");
	format(0, 0, 9);		/* protection of nothing */
	assert_int_equal(asked().protection, 0);
}

CASE(says_why_it_cannot_be_asked)
{
	disk.id = -ENOTTY;
	refused(STATUS_FILE, "takes no NVMe commands");
	disk.id = -EACCES;
	refused(status_errno(EACCES), "Identify failed: Permission denied");
	disk.id = NSID;
	disk.fails[0] = -EINVAL;
	refused(STATUS_FILE, "takes no NVMe commands");
	disk.fails[0] = 0x4002;
	refused(5, "Identify failed: invalid field");
	disk.fails[0] = 0;
	disk.fails[1] = 0x081;
	refused(STATUS_FILE, "Identify failed: capacity exceeded");
}

CASE(knows_it_again)
{
	static const int part[] = { 0, FLBAS, DPS, LBAF, LBAF + 2, NGUID,
		NGUID + 23 };
	struct nvme_disk d;
	struct fault f;

	format(1, 0, 12);
	d = asked();
	assert_int_equal(nvme_kept(7, 5000, "it", &d, &f), 0);
	assert_int_equal(disk.last.nsid, NSID);
	EACH_OF(i, part) {
		disk.space[part[i]] ^= 1;
		assert_int_equal(nvme_kept(7, 5000, "it", &d, &f), -1);
		assert_int_equal(f.status, status_errno(ENODEV));
		disk.space[part[i]] ^= 1;
	}
	disk.space[DLFEAT] ^= 1;	/* that may change */
	assert_int_equal(nvme_kept(7, 5000, "it", &d, &f), 0);
	disk.space[0] ^= 1;
	disk.fails[0] = -EIO;		/* it does not tell */
	assert_int_equal(nvme_kept(7, 5000, "it", &d, &f), 0);
}
