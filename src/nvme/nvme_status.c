/*
 * NVMe commands that move data, and the meaning of their results.  For queries
 * see nvme_ask.c.
 *
 * A result is 0, the status of the disk (Base, Completion Queue Entry: type,
 * code, and whether a retry is useless), or a negative errno of the kernel.
 * The disk does not name a bad block, and moves everything or nothing.
 */
#include "nvme.h"

#include <errno.h>
#include <liburing.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg_lib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/status.h"

#ifndef NVME_URING_CMD_IO		/* Linux 5.19 */
struct nvme_uring_cmd {
	uint8_t		opcode, flags;
	uint16_t	rsvd1;
	uint32_t	nsid, cdw2, cdw3;
	uint64_t	metadata, addr;
	uint32_t	metadata_len, data_len;
	uint32_t	cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
	uint32_t	timeout_ms, rsvd2;
};
#define NVME_URING_CMD_IO _IOWR('N', 0x80, struct nvme_uring_cmd)
#endif

enum {
	/* opcodes: NVM, Opcodes for I/O Commands */
	FLUSH = 0x00,
	WRITE = 0x01,
	READ = 0x02,
	WRITE_ZEROES = 0x08,

	/* a status as Linux passes it on, without the phase bit */
	CODE = 0x07ff,		/* type and code */
	NO_RETRY = 0x4000,	/* DNR: a retry will fail too */
	TYPE_PATH = 0x300,
	INTERNAL = 0x006,	/* code: no reason is given */
	TYPE = 0x700,
};

/* dword 12 of reads and writes: NVM, Read command */
static const uint32_t limited_retry = 1U << 31, force_unit = 1U << 30,
    pi_action = 1U << 29, check_guard = 1U << 28, check_reference = 1U << 26,
    deallocate = 1U << 25;

enum {				/* in the table: results, and exit statuses */
	AGAIN = NVME_AGAIN, AWAY = NVME_AWAY, MEDIUM = NVME_MEDIUM,
	FREE = NVME_FREE, CHANGED = NVME_CHANGED, FATAL = NVME_FATAL,
	OPCODE = SG_LIB_CAT_INVALID_OP, FIELD = SG_LIB_CAT_ILLEGAL_REQ,
	ABORTED = SG_LIB_CAT_ABORTED_COMMAND, NOT_READY = SG_LIB_CAT_NOT_READY,
	LOCKED = SG_LIB_CAT_DATA_PROTECT, RANGE = SG_LIB_LBA_OUT_OF_RANGE,
	RESERVED = SG_LIB_CAT_RES_CONFLICT, CHECK = SG_LIB_CAT_PROTECTION,
};

/*
 * Statuses that a copy may meet: Base, Status Field, and NVM.  Those to be
 * retried are fatal if the disk says that a retry is useless.
 */
static const struct meaning {
	uint16_t	 code;
	uint8_t		 read, write;	/* enum nvme_result */
	uint8_t		 status;
	int		 err;
	char		 words[48];
} meanings[] = {
	{ 0x001, FATAL, FATAL, OPCODE, 0, "invalid command opcode" },
	{ 0x002, FATAL, FATAL, FIELD, 0, "invalid field in command" },
	{ 0x004, CHANGED, CHANGED, 0, 0, "data transfer error" },
	{ 0x005, AGAIN, FATAL, ABORTED, 0, "aborted, power is being lost" },
	{ 0x006, MEDIUM, FATAL, STATUS_MEDIUM, 0, "internal error" },
	{ 0x007, AGAIN, AGAIN, ABORTED, 0,
	    "aborted as requested, after the timeout" },
	{ 0x008, AGAIN, AGAIN, ABORTED, 0, "aborted, its queue was deleted" },
	{ 0x00b, CHANGED, CHANGED, 0, 0, "invalid namespace or format" },
	{ 0x00f, CHANGED, CHANGED, 0, 0, "the data have another length" },
	{ 0x010, CHANGED, CHANGED, 0, 0, "the metadata have another length" },
	{ 0x01d, FATAL, FATAL, NOT_READY, 0, "it is being sanitized" },
	{ 0x020, FATAL, FATAL, LOCKED, 0, "the namespace is write-protected" },
	{ 0x021, AGAIN, AGAIN, ABORTED, 0, "command interrupted" },
	{ 0x022, AGAIN, AGAIN, STATUS_FILE, 0, "transient transport error" },
	{ 0x080, FATAL, FATAL, RANGE, 0, "LBA out of range" },
	{ 0x081, FATAL, FATAL, 0, ENOSPC, "capacity exceeded" },
	{ 0x082, AGAIN, AGAIN, NOT_READY, 0, "the namespace is not ready" },
	{ 0x083, FATAL, FATAL, RESERVED, 0, "reservation conflict" },
	{ 0x084, CHANGED, CHANGED, NOT_READY, 0, "it is being formatted" },
	{ 0x182, FATAL, FATAL, LOCKED, 0, "write to a read-only range" },
	{ 0x183, FATAL, FATAL, FIELD, 0, "command size limit exceeded" },
	{ 0x1b8, FATAL, FATAL, STATUS_FILE, 0, "over the border of a zone" },
	{ 0x1b9, FATAL, FATAL, STATUS_FILE, 0, "the zone is full" },
	{ 0x1ba, FATAL, FATAL, LOCKED, 0, "the zone is read-only" },
	{ 0x1bb, MEDIUM, FATAL, STATUS_MEDIUM, 0, "the zone is offline" },
	{ 0x1bc, FATAL, FATAL, STATUS_FILE, 0,
	    "not at the write pointer of the zone" },
	{ 0x1bd, FATAL, FATAL, STATUS_FILE, 0, "too many active zones" },
	{ 0x1be, FATAL, FATAL, STATUS_FILE, 0, "too many open zones" },
	{ 0x280, FATAL, FATAL, STATUS_MEDIUM, EIO, "write fault" },
	{ 0x281, MEDIUM, FATAL, STATUS_MEDIUM, 0, "unrecovered read error" },
	{ 0x282, MEDIUM, FATAL, CHECK, 0, "end-to-end guard check error" },
	{ 0x283, MEDIUM, FATAL, CHECK, 0,
	    "end-to-end application tag check error" },
	{ 0x284, MEDIUM, FATAL, CHECK, 0,
	    "end-to-end reference tag check error" },
	{ 0x285, FATAL, FATAL, STATUS_MISMATCH, 0, "compare failure" },
	{ 0x286, FATAL, FATAL, LOCKED, 0,
	    "access denied (is the disk locked?)" },
	{ 0x287, FREE, FATAL, STATUS_MEDIUM, 0,
	    "deallocated or unwritten block" },
	{ 0x288, MEDIUM, FATAL, CHECK, 0,
	    "end-to-end storage tag check error" },
	{ 0x301, AWAY, AWAY, STATUS_FILE, 0, "the path is lost (ANA)" },
	{ 0x302, AWAY, AWAY, STATUS_FILE, 0,
	    "not by this path (ANA inaccessible)" },
	{ 0x303, AWAY, AWAY, STATUS_FILE, 0,
	    "its paths are being changed (ANA)" },
};

/* Statuses not in the table: those of the path, and all others. */
static const struct meaning
    path = { 0, AWAY, AWAY, STATUS_FILE, 0, "path error" },
    unknown = { 0, AGAIN, AGAIN, STATUS_FILE, 0, "NVMe error" };

static const struct meaning *
meaning_of(unsigned code)
{
	size_t i;

	for (i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].code == code)
			return &meanings[i];
	return (code & TYPE) == TYPE_PATH ? &path : &unknown;
}

static void
nvme_judge_status(struct nvme_reply *r, enum op op, unsigned status)
{
	unsigned code = status & CODE;
	const struct meaning *m = meaning_of(code);
	bool again = (status & NO_RETRY) == 0;

	r->result = op == OP_READ ? m->read : m->write;
	if ((r->result == NVME_AGAIN || r->result == NVME_AWAY) && !again)
		r->result = NVME_FATAL;
	r->status = op == OP_READ && r->result == NVME_MEDIUM ?
	    STATUS_MEDIUM : m->status;
	r->err = m->err;
	r->unknown = m->status == OPCODE || m->status == FIELD ||
	    (op == OP_ZERO && code == INTERNAL);
	snprintf(r->why, sizeof(r->why), "%s (NVMe status %x/%02xh%s)",
	    m->words, code >> 8, code & 0xff, again ? "" :
	    ", not to be retried");
}

/*
 * EINTR does not mean a signal: the driver has cancelled the command, because
 * of a timeout or a reset, or because the disk is being removed.
 */
static void
nvme_judge_errno(struct nvme_reply *r, int err)
{
	r->err = err;
	switch (err) {
	case EINTR:
		r->result = NVME_AGAIN;
		r->status = STATUS_TIMEOUT;
		snprintf(r->why, sizeof(r->why), "the kernel has cancelled the "
		    "command");
		break;
	case EAGAIN:
		r->result = NVME_AWAY;
		snprintf(r->why, sizeof(r->why), "none of its controllers has "
		    "a path in service");
		break;
	case EBUSY:
		r->result = NVME_AGAIN;
		break;
	case ENOMEM:
	case EINVAL:
		r->result = NVME_SMALLER;
		break;
	default:
		r->result = NVME_FATAL;
		break;
	}
}

/*
 * Whether the status says that the command was not executed, so that nothing is
 * lost.
 */
static bool
not_run(int result)
{
	unsigned code = (unsigned)result & CODE;

	return result == -EINTR || result == -EAGAIN || (result > 0 &&
	    ((unsigned)result & NO_RETRY) == 0 && (code == 0x021 ||
	    code == 0x022 || (code & TYPE) == TYPE_PATH));
}

void
nvme_judge(struct nvme_reply *r, enum op op, int result)
{
	*r = (struct nvme_reply){ .result = NVME_DONE,
		.unrun = not_run(result) };
	if (result > 0)
		nvme_judge_status(r, op, (unsigned)result);
	else if (result < 0)
		nvme_judge_errno(r, -result);
}

/*
 * Let the disk generate, check and strip protection information.  Without the
 * checks it would deliver blocks that fail them.
 */
static uint32_t
dword_12(const struct nvme_disk *d, const struct nvme_command *c)
{
	uint32_t w = c->blocks - 1;

	w |= c->fua ? force_unit : 0;
	w |= c->hasty && c->op == OP_READ ? limited_retry : 0;
	w |= c->free ? deallocate : 0;
	w |= d->protection > 0 ? pi_action : 0;
	if (d->protection > 0 && c->op == OP_READ)
		w |= check_guard | (d->protection < 3 ? check_reference : 0);
	return w;
}

/* The command in the form for the ring, which has every field of the ioctl. */
static struct nvme_uring_cmd
nvme_compose_ring(const struct nvme_disk *d, const struct nvme_command *c)
{
	static const uint8_t opcode[] = { [OP_READ] = READ,
		[OP_WRITE] = WRITE, [OP_ZERO] = WRITE_ZEROES };

	return (struct nvme_uring_cmd){ .opcode = opcode[c->op],
		.nsid = d->nsid, .addr = (uintptr_t)c->buf,
		.data_len = c->op == OP_ZERO ? 0 : c->blocks * d->block,
		.cdw10 = (uint32_t)c->lba, .cdw11 = (uint32_t)(c->lba >> 32),
		.cdw12 = dword_12(d, c),
		.cdw14 = d->protection > 0 ? (uint32_t)c->lba : 0,
		.timeout_ms = c->timeout };
}

/* Run a command and wait; returns its result. */
static int
nvme_run_command(int fd, const struct nvme_uring_cmd *u)
{
	struct nvme_passthru_cmd64 c = { .opcode = u->opcode, .nsid = u->nsid,
		.addr = u->addr, .data_len = u->data_len,
		.cdw10 = u->cdw10, .cdw11 = u->cdw11, .cdw12 = u->cdw12,
		.cdw14 = u->cdw14, .timeout_ms = u->timeout_ms };
	int result = ioctl(fd, NVME_IOCTL_IO64_CMD, &c);

	return result < 0 ? -errno : result;
}

void
nvme_run(int fd, const struct nvme_disk *d, const struct nvme_command *c,
    struct nvme_reply *r)
{
	struct nvme_uring_cmd u = nvme_compose_ring(d, c);

	nvme_judge(r, c->op, nvme_run_command(fd, &u));
}

void
nvme_prepare(struct io_uring_sqe *sqe, int fd, const struct nvme_disk *d,
    const struct nvme_command *c)
{
	struct nvme_uring_cmd u = nvme_compose_ring(d, c);

	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = NVME_URING_CMD_IO;
	memcpy((unsigned char *)sqe + offsetof(struct io_uring_sqe, cmd), &u,
	    sizeof(u));
}

bool
nvme_flush(int fd, const struct nvme_disk *d, unsigned timeout,
    struct nvme_reply *r)
{
	const struct nvme_uring_cmd u = { .opcode = FLUSH, .nsid = d->nsid,
		.timeout_ms = timeout };

	nvme_judge(r, OP_WRITE, nvme_run_command(fd, &u));
	return r->result == NVME_DONE;
}
