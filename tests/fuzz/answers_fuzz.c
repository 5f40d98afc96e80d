/*
 * Any bytes as what SCSI and NVMe disks answer, and a kernel that tells of
 * zones: what is made of it is within its bounds.  Run by tests/fuzz/run.
 *
 * Linked with --wrap of ioctl, which answers out of the input, and of nanosleep.
 * An input is the command that is sent, and for each answer a byte of how it
 * is, statuses, and what it brings.
 */
#include <errno.h>
#include <linux/blkzoned.h>
#include <linux/bsg.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/file/zones.h"
#include "../../src/nvme/nvme.h"
#include "scsi/scsi.h"
#include "input.h"

enum {
	ROOM = 65536,		/* bytes of a command with data */
	CALLS = 200,		/* of an input; more is no end */
};

static const struct scsi_path path = { .timeout = 1000, .node = SCSI_SG };
static const uint8_t *next;
static size_t left;
static unsigned calls;
static unsigned char buffer[ROOM];

int __wrap_ioctl(int, unsigned long, ...);	/* NOLINT(bugprone-reserved-*,cert-*) */
int __wrap_nanosleep(const struct timespec *, struct timespec *); /* NOLINT(bugprone-reserved-*,cert-*) */

int
__wrap_nanosleep(const struct timespec *t, struct timespec *rest) /* NOLINT(bugprone-reserved-*,cert-*) */
{
	(void)t;
	(void)rest;
	return 0;
}

static uint64_t
take(unsigned bytes)
{
	uint64_t n = 0;

	for (; bytes > 0; bytes--) {
		n = n << 8 | (left > 0 ? *next : 0);
		next += left > 0;
		left -= left > 0;
	}
	return n;
}

/* As many bytes as the input says, zeros behind them. */
static void
bring(void *to, size_t room)
{
	size_t n = take(1);

	n = n < room ? n : room;
	memset(to, 0, room);
	for (room = 0; room < n && left > 0; room++)
		((uint8_t *)to)[room] = (uint8_t)take(1);
}

/* What was left: none, some, all, more than that, or less than nothing. */
static int32_t
residual(uint8_t how, uint32_t len)
{
	switch (how & 7) {
	case 1:
		return (int32_t)take(1);
	case 2:
		return (int32_t)len;
	case 3:
		return (int32_t)take(4);
	default:
		return 0;
	}
}

static void
answer_v3(struct sg_io_hdr *h, uint8_t how)
{
	if (how & 8)
		h->status = (unsigned char)take(1);
	if (how & 16) {
		h->host_status = (unsigned short)take(1);
		h->driver_status = (unsigned short)take(1);
	}
	if (h->status != 0) {
		h->sb_len_wr = (unsigned char)take(1);
		if (h->sb_len_wr > h->mx_sb_len)
			h->sb_len_wr = h->mx_sb_len;
		bring(h->sbp, h->sb_len_wr);
	}
	if (h->dxfer_direction == SG_DXFER_FROM_DEV && h->dxferp != NULL)
		bring(h->dxferp, h->dxfer_len);
	h->resid = residual(how, h->dxfer_len);
}

/* Zones, of which most follow on each other. */
static void
answer_zones(struct blk_zone_report *r)
{
	uint64_t at = r->sector;
	unsigned i, room = r->nr_zones;

	r->nr_zones = (uint32_t)take(1);
	r->flags = (uint32_t)take(1) & 1;
	for (i = 0; i < r->nr_zones && i < room; i++) {
		struct blk_zone *z = &r->zones[i];
		uint8_t odd = (uint8_t)take(1);

		*z = (struct blk_zone){ .start = odd & 1 ? take(8) : at,
			.len = odd & 2 ? take(8) : 524288,
			.type = (uint8_t)(odd >> 4 & 3),
			.cond = (uint8_t)take(1) & 15 };
		z->wp = odd & 4 ? take(odd & 64 ? 2 : 8) : z->start + take(2);
		z->capacity = odd & 8 ? take(8) : z->len;
		at = z->start + z->len;
	}
}

int
__wrap_ioctl(int fd, unsigned long request, ...) /* NOLINT(bugprone-reserved-*,cert-*) */
{
	struct nvme_admin_cmd *c;
	uint8_t how = (uint8_t)take(1);
	va_list ap;
	void *arg;

	(void)fd;
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (++calls > CALLS)
		abort();
	if (how >= 224 || left == 0) {
		errno = left == 0 ? EIO : 1 + (int)take(1) % 133;
		return -1;
	}
	switch (request) {
	case SG_IO:
		answer_v3(arg, how);
		return 0;
	case BLKREPORTZONE:
		answer_zones(arg);
		return 0;
	case NVME_IOCTL_ID:
		return (int)take(1);
	case NVME_IOCTL_ADMIN_CMD:
		c = arg;
		bring((void *)(uintptr_t)c->addr, c->data_len);
		/* beyond what an input has room for: the controller's page */
		return how & 1 ? (int)take(2) : 0;
	default:
		return how & 1 ? (int)take(2) : 0;
	}
}

static void
ask_scsi(void)
{
	struct scsi_span s;
	struct scsi_disk d;
	struct fault f = { 0 };
	uint64_t lba;

	if (scsi_ask(&path, "disk", &d, &f) != 0) {
		fuzz_failed(&f);
		return;
	}
	fuzz_taken++;
	if (d.block < 512 || d.block > 65536 || d.blocks == 0 ||
	    d.blocks > INT64_MAX / d.block || (d.frees_zeros && !d.zeros))
		abort();
	lba = take(4) % d.blocks;
	if (scsi_mapped(&path, lba, 1 + take(1), &s) == SCSI_MOVED &&
	    (s.blocks == 0 || lba + s.blocks < lba))
		abort();
}

static void
run_scsi(void)
{
	struct scsi_command c = { .write = take(1) & 1, .cdb_size = 16,
		.timeout = 1000, .lba = take(4), .buf = buffer, .block =
		take(1) & 1 ? 4096 : 512 };
	struct scsi_reply r;

	c.blocks = 1 + (uint32_t)take(1) % (ROOM / c.block);
	scsi_run(&path, &c, &r);
	fuzz_taken += r.result == SCSI_MOVED;
	fuzz_ended(r.why, sizeof(r.why));
	if (r.moved > (size_t)c.blocks * c.block || r.moved % c.block != 0 ||
	    (r.result == SCSI_FATAL && r.why[0] == '\0' && r.err == 0))
		abort();
	scsi_sync(&path, true, &r);
	fuzz_ended(r.why, sizeof(r.why));
}

static void
ask_nvme(void)
{
	struct nvme_power power;
	struct nvme_disk d;
	struct fault f = { 0 };

	if (nvme_ask(0, 1000, "disk", &d, &f) != 0) {
		fuzz_failed(&f);
		return;
	}
	fuzz_taken++;
	if (d.block < 512 || d.block > 65536 || d.protection > 3 ||
	    d.blocks > INT64_MAX / d.block || (d.frees_zeros && !d.zeros))
		abort();
	if (nvme_kept(0, 1000, "disk", &d, &f) != 0)
		fuzz_failed(&f);
	nvme_power(0, 1000, &power);
}

static void
judge_nvme(void)
{
	struct nvme_reply r;
	int result = (int)take(2) - 200;
	enum op op = take(1) % 3 == 0 ? OP_READ : OP_WRITE;

	nvme_judge(&r, op, result);
	fuzz_taken += r.result == NVME_DONE;
	fuzz_ended(r.why, sizeof(r.why));
	if ((r.result == NVME_DONE) != (result == 0) ||
	    (r.result != NVME_DONE && r.why[0] == '\0' && r.err == 0))
		abort();
}

static void
read_zones(void)
{
	struct zones *z;
	struct fault f = { 0 };
	uint64_t at = 0;
	size_t i;

	if (zones_read(0, &z) != 0) {
		if (z != NULL)
			abort();
		return;
	}
	fuzz_taken++;
	for (i = 0; i < z->n; at = z->zone[i++].end)
		if (z->zone[i].start != at || z->zone[i].end <= at ||
		    z->zone[i].room > z->zone[i].end ||
		    z->zone[i].room < at || z->zone[i].next < at ||
		    z->zone[i].next > z->zone[i].room)
			abort();
	if (zones_at(z, at) != NULL || zones_at(z, 0) != &z->zone[0])
		abort();
	if (zones_check(z, 0, at, take(1) & 1, "disk", &f) != 0)
		fuzz_failed(&f);
	if (!zones_equal(z, 0, at, z, 0) || !zones_fit(z, 0, at, z, 0))
		abort();
	free(z);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const what[])(void) = { ask_scsi, run_scsi, ask_nvme,
		judge_nvme, read_zones };

	next = data;
	left = size;
	calls = 0;
	what[take(1) % (sizeof(what) / sizeof(what[0]))]();
	return 0;
}

static void
put(struct input *in, uint64_t n, unsigned bytes)
{
	while (bytes-- > 0 && in->n < INPUT_MOST)
		in->bytes[in->n++] = bytes > 7 ? 0 :
		    (uint8_t)(n >> 8 * bytes);
}

/* An answer without errors, of n bytes. */
static void
good(struct input *in, size_t n)
{
	put(in, 0, 1);
	put(in, n, 1);
}

static void
make_scsi(struct input *in, uint64_t *dice)
{
	uint64_t blocks = input_number(dice);

	good(in, 0);				/* INQUIRY */
	put(in, 0, 1);				/* TEST UNIT READY */
	good(in, 8);
	put(in, input_roll(dice, 2) == 0 ? 0xffffffff : blocks, 4);
	put(in, input_roll(dice, 8) == 0 ? input_number(dice) : 512, 4);
	good(in, 32);				/* or a page, then */
	put(in, blocks, 8);
	put(in, 512, 4);
	put(in, 0, 20);
	good(in, 64);
	put(in, 0x00b0003c, 4);
	while (in->n < 200)
		put(in, input_number(dice), 1 + (unsigned)input_roll(dice, 8));
}

static void
make_nvme(struct input *in, uint64_t *dice)
{
	size_t from;

	put(in, 0, 1);
	put(in, 1, 1);				/* its number */
	good(in, 255);
	from = in->n;
	put(in, 0, 255);
	in->bytes[from + 3] = (uint8_t)input_roll(dice, 256);
	in->bytes[from + 130] = (uint8_t)(8 + input_roll(dice, 10));
	in->bytes[from + input_roll(dice, 255)] = (uint8_t)input_roll(dice, 256);
	good(in, input_roll(dice, 255));
	while (in->n < 600)
		put(in, input_number(dice), 8);
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	uint8_t what = (uint8_t)input_roll(dice, 5);
	size_t n = 16 + input_roll(dice, 200);

	put(in, what, 1);
	if (what == 0)
		make_scsi(in, dice);
	else if (what == 2)
		make_nvme(in, dice);
	else if (what == 4)
		put(in, 0, 1);			/* a report, well */
	while (in->n < n)
		put(in, input_roll(dice, 2) == 0 ? input_number(dice) :
		    input_roll(dice, 32), 1);
	put(in, 0, 8);
}
