/*
 * What the statuses of NVMe mean for a copy, and the contents of its commands.
 */
#include "test.h"

#include <liburing.h>
#include <linux/nvme_ioctl.h>

#include "../../src/nvme/nvme.h"

enum { NO_RETRY = 0x4000 };

static const struct {
	int	 result;
	enum nvme_result read, write;
	int	 status;		/* of a read */
} rows[] = {
	{ 0, NVME_DONE, NVME_DONE, 0 },
	{ 0x281, NVME_MEDIUM, NVME_FATAL, 3 },
	{ 0x281 | NO_RETRY, NVME_MEDIUM, NVME_FATAL, 3 },
	{ 0x280, NVME_FATAL, NVME_FATAL, 3 },
	{ 0x282, NVME_MEDIUM, NVME_FATAL, 3 },
	{ 0x284, NVME_MEDIUM, NVME_FATAL, 3 },
	{ 0x287, NVME_FREE, NVME_FATAL, 3 },
	{ 0x287 | NO_RETRY, NVME_FREE, NVME_FATAL, 3 },
	{ 0x285, NVME_FATAL, NVME_FATAL, 14 },
	{ 0x286, NVME_FATAL, NVME_FATAL, 7 },
	{ 0x020, NVME_FATAL, NVME_FATAL, 7 },
	{ 0x182, NVME_FATAL, NVME_FATAL, 7 },
	{ 0x080, NVME_FATAL, NVME_FATAL, 22 },
	{ 0x083, NVME_FATAL, NVME_FATAL, 24 },
	{ 0x001 | NO_RETRY, NVME_FATAL, NVME_FATAL, 9 },
	{ 0x002 | NO_RETRY, NVME_FATAL, NVME_FATAL, 5 },
	{ 0x00b, NVME_CHANGED, NVME_CHANGED, 0 },
	{ 0x004, NVME_CHANGED, NVME_CHANGED, 0 },
	{ 0x00f, NVME_CHANGED, NVME_CHANGED, 0 },
	{ 0x010, NVME_CHANGED, NVME_CHANGED, 0 },
	{ 0x084, NVME_CHANGED, NVME_CHANGED, 2 },
	{ 0x01d, NVME_FATAL, NVME_FATAL, 2 },
	{ 0x006, NVME_MEDIUM, NVME_FATAL, 3 },
	{ 0x005, NVME_AGAIN, NVME_FATAL, 11 },
	{ 0x007, NVME_AGAIN, NVME_AGAIN, 11 },
	{ 0x007 | NO_RETRY, NVME_FATAL, NVME_FATAL, 11 },
	{ 0x082, NVME_AGAIN, NVME_AGAIN, 2 },
	{ 0x302, NVME_AWAY, NVME_AWAY, 15 },
	{ 0x302 | NO_RETRY, NVME_FATAL, NVME_FATAL, 15 },
	{ 0x370, NVME_AWAY, NVME_AWAY, 15 },
	{ 0x371 | NO_RETRY, NVME_FATAL, NVME_FATAL, 15 },
	{ 0x1bc, NVME_FATAL, NVME_FATAL, 15 },
	{ 0x7aa, NVME_AGAIN, NVME_AGAIN, 15 },
	{ 0x7aa | NO_RETRY, NVME_FATAL, NVME_FATAL, 15 },
	{ -EINTR, NVME_AGAIN, NVME_AGAIN, 33 },
	{ -EAGAIN, NVME_AWAY, NVME_AWAY, 0 },
	{ -EBUSY, NVME_AGAIN, NVME_AGAIN, 0 },
	{ -EINVAL, NVME_SMALLER, NVME_SMALLER, 0 },
	{ -ENODEV, NVME_FATAL, NVME_FATAL, 0 },
};

CASE(judges_each_status)
{
	struct nvme_reply r;

	EACH_OF(i, rows) {
		nvme_judge(&r, OP_READ, rows[i].result);
		assert_int_equal(r.result, rows[i].read);
		assert_int_equal(r.status, rows[i].status);
		nvme_judge(&r, OP_WRITE, rows[i].result);
		assert_int_equal(r.result, rows[i].write);
	}
}

/* Whatever comes is told, and only 0 is good. */
CASE(takes_no_error_for_success)
{
	struct nvme_reply r;
	int result;

	for (result = 1; result < 0x8000; result++) {
		nvme_judge(&r, OP_READ, result);
		assert_int_not_equal(r.result, NVME_DONE);
		assert_true(r.why[0] != '\0' && strlen(r.why) <
		    sizeof(r.why) - 1);
		nvme_judge(&r, OP_WRITE, result);
		assert_int_not_equal(r.result, NVME_DONE);
		assert_int_not_equal(r.result, NVME_MEDIUM);
	}
}

CASE(refuses_what_is_not_known)
{
	struct nvme_reply r;

	nvme_judge(&r, OP_ZERO, 0x4001);
	assert_true(r.unknown);
	nvme_judge(&r, OP_ZERO, 0x4002);
	assert_true(r.unknown);
	nvme_judge(&r, OP_ZERO, 0x4280);
	assert_false(r.unknown);
}

/* The command that goes into the ring. */
static struct nvme_uring_cmd
composed(const struct nvme_disk *d, const struct nvme_command *c)
{
	struct io_uring_sqe sqe[2];
	struct nvme_uring_cmd u;

	memset(sqe, 0, sizeof(sqe));
	nvme_prepare(sqe, 7, d, c);
	assert_int_equal(sqe->opcode, IORING_OP_URING_CMD);
	assert_int_equal(sqe->fd, 7);
	memcpy(&u, (char *)sqe + offsetof(struct io_uring_sqe, cmd),
	    sizeof(u));
	return u;
}

CASE(composes_commands)
{
	const struct nvme_disk plain = { .nsid = 3, .block = 4096 };
	const struct nvme_disk guarded = { .nsid = 3, .block = 512,
		.protection = 1 };
	const struct nvme_disk any_place = { .nsid = 3, .block = 512,
		.protection = 3 };
	struct nvme_command c = { .op = OP_READ, .lba = 0x123456789,
		.blocks = 8, .timeout = 60000 };
	struct nvme_uring_cmd u = composed(&plain, &c);

	assert_int_equal(u.opcode, 2);
	assert_int_equal(u.nsid, 3);
	assert_int_equal(u.cdw10, 0x23456789);
	assert_int_equal(u.cdw11, 1);
	assert_int_equal(u.cdw12, 7);
	assert_int_equal(u.data_len, 8 * 4096);
	assert_int_equal(u.timeout_ms, 60000);
	c.hasty = c.fua = true;
	assert_int_equal(composed(&plain, &c).cdw12, 0xc0000007);
	c.op = OP_WRITE;
	u = composed(&plain, &c);
	assert_int_equal(u.opcode, 1);
	assert_int_equal(u.cdw12, 0x40000007);
	c.fua = false;
	c.free = true;
	c.op = OP_ZERO;
	u = composed(&plain, &c);
	assert_int_equal(u.opcode, 8);
	assert_int_equal(u.cdw12, 0x02000007);
	assert_int_equal(u.data_len, 0);
	/* The disk strips and checks protection, or makes it. */
	c = (struct nvme_command){ .op = OP_READ, .lba = 0x123456789,
		.blocks = 1 };
	u = composed(&guarded, &c);
	assert_int_equal(u.cdw12, 0x34000000);
	assert_int_equal(u.cdw14, 0x23456789);
	assert_int_equal(composed(&any_place, &c).cdw12, 0x30000000);
	c.op = OP_WRITE;
	assert_int_equal(composed(&guarded, &c).cdw12, 0x20000000);
}
