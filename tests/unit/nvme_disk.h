/*
 * A mock NVMe disk of 32 KiB, and an end and a lane on it: commands are carried
 * out, or end as a rule says.  Included once, by a test.
 */
#ifndef PARDD_TEST_NVME_DISK_H
#define PARDD_TEST_NVME_DISK_H

#include <linux/nvme_ioctl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "../../src/nvme/nvme.h"
#include "../tools/preload.h"

#define BLOCK	((size_t)512)

enum {
	BLOCKS = 64,
	RULES = 4,
	LONG = 1000,		/* times: for ever */

	NONE = INT32_MIN,

	FLUSH = 0, WRITE = 1, READ = 2, ZEROES = 8,	/* opcodes */
	LIMITED = 1U << 31, DEALLOCATE = 1 << 25,

	UNREADABLE = 0x281, UNKNOWN = 0x4001, NOT_READY = 0x082,
	SANITIZING = 0x1d, FREED = 0x287, FORMATTED = 0x00b,
};

struct rule {			/* how commands end */
	int	 op;
	unsigned times;		/* so many of them; 0: none */
	unsigned first, count;	/* that touch these blocks */
	unsigned least;		/* of so many blocks at least */
	uint32_t bits;		/* of dword 12, all of them */
	int	 result;
};

static struct {
	unsigned char	 bytes[BLOCKS * BLOCK];
	struct rule	 rule[RULES];
	struct nvme_passthru_cmd64 last;	/* the command before */
	unsigned	 commands, pauses;
	unsigned char	 cycles;	/* of power */
	bool		 mute;		/* no log page, no Identify */
	bool		 other;		/* it was formatted anew */
	bool		 gone;
} disk;

static struct nvme nvme;
static struct endpoint end;
static struct lane lane;

/* -------------------------------------------- in the place of the C library */

static int
admin(const struct nvme_admin_cmd *c)
{
	unsigned char *page = (unsigned char *)(uintptr_t)c->addr;

	if (disk.mute)
		return UNKNOWN;
	memset(page, 0, c->data_len);
	if (c->opcode == 0x02)
		page[112] = disk.cycles;
	else
		page[0] = disk.other;
	return 0;
}

/* The result of a command; NONE when no rule is for it. */
static int
ruled(const struct nvme_passthru_cmd64 *c, unsigned n)
{
	struct rule *r;

	for (r = disk.rule; r < disk.rule + RULES; r++) {
		if (r->times == 0 || r->op != c->opcode || n < r->least ||
		    (c->cdw12 & r->bits) != r->bits || (r->count > 0 &&
		    (c->cdw10 + n <= r->first ||
		    c->cdw10 >= r->first + r->count)))
			continue;
		r->times--;
		return r->result;
	}
	return NONE;
}

static int
carry_out(const struct nvme_passthru_cmd64 *c)
{
	unsigned n = c->opcode == FLUSH ? 0 : (c->cdw12 & 0xffff) + 1;
	unsigned char *at = disk.bytes + (size_t)c->cdw10 * BLOCK;
	void *data = (void *)(uintptr_t)c->addr;
	int result = ruled(c, n);

	disk.commands++;
	disk.last = *c;
	if (result != NONE)
		return result;
	assert_true(c->cdw10 + n <= BLOCKS);
	if (c->opcode == READ)
		memcpy(data, at, n * BLOCK);
	else if (c->opcode == WRITE)
		memcpy(at, data, n * BLOCK);
	else if (c->opcode == ZEROES)
		memset(at, 0, n * BLOCK);
	return 0;
}

static int
answered(int fd, unsigned long request, void *arg)
{
	int result = request == NVME_IOCTL_ADMIN_CMD ? admin(arg) :
	    request == NVME_IOCTL_IO64_CMD ? carry_out(arg) : -ENOTTY;

	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

IOCTLS(answered)

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	disk.pauses++;
	return 0;
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	disk.pauses++;
	return 0;
}

/* A node whose directory in sysfs is there, or is not. */
int
fstat(int fd, struct stat *st)
{
	*st = (struct stat){ .st_mode = S_IFCHR,
		.st_rdev = disk.gone ? makedev(4000, 77) : makedev(1, 3) };
	return 0;
}

static int
set_up(void **state)
{
	size_t i;

	memset(&disk, 0, sizeof(disk));
	for (i = 0; i < sizeof(disk.bytes); i++)
		disk.bytes[i] = (unsigned char)(i / BLOCK + 1);
	nvme = (struct nvme){ .fd = -1,
		.how.timeout = 1000,
		.disk = { .nsid = 1, .blocks = BLOCKS, .block = BLOCK } };
	end = (struct endpoint){ .be = &nvme_backend, .priv = &nvme,
		.name = "it", .lim.end = UINT64_MAX, .fd = -1, .dir = -1,
		.cmd = { .unit = BLOCK, .most = 16 * BLOCK,
		.zero_most = 16 * BLOCK, .end = BLOCKS * BLOCK } };
	end.geo.size = BLOCKS * BLOCK;
	return lane_attach(&lane, &end, 0, -1);
}

static int
tear_down(void **state)
{
	return lane_detach(&lane);
}

#endif
