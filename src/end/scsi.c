/*
 * SCSI commands: those with data, and sending any.  The decoding of sense data
 * is libsgutils2's.
 *
 * What an answer means is decided in this order: did the kernel take it
 * (errno), what does the disk say (status, sense), did it get there (host and
 * driver status), and how much was moved (residual).
 */
#include "end/scsi.h"

#include <errno.h>
#include <linux/bsg.h>
#include <linux/major.h>
#include <scsi/sg.h>
#include <scsi/sg_lib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define HAVE_BYTESWAP_H 1	/* else it shifts 255 by 24, as an int */
#include <scsi/sg_unaligned.h>

#include "base/status.h"

#ifndef SG_FLAG_MMAP_IO
#define SG_FLAG_MMAP_IO	4
#endif

enum {
	/* host and driver bytes: include/scsi/scsi_status.h of Linux */
	HOST_OK = 0x00,
	HOST_NO_CONNECT = 0x01,
	HOST_BUS_BUSY = 0x02,
	HOST_ERROR = 0x07,
	HOST_RESET = 0x08,
	HOST_SOFT_ERROR = 0x0b,
	HOST_IMM_RETRY = 0x0c,
	HOST_REQUEUE = 0x0d,
	HOST_TRANSPORT_DISRUPTED = 0x0e,
	DRIVER_BUSY = 0x01,	/* the driver's: Linux before 5.14 */
	DRIVER_SOFT = 0x02,
	DRIVER_TIMEOUT = 0x06,
	DRIVER_SENSE = 0x08,	/* no error: there is sense data */
	DRIVER_MASK = 0x0f,

	/* what the disk says: SAM-5 5.3.1 */
	CHECK_CONDITION = 0x02,
	CONDITION_MET = 0x04,
	BUSY = 0x08,
	RESERVATION_CONFLICT = 0x18,
	TASK_SET_FULL = 0x28,
	ACA_ACTIVE = 0x30,
	TASK_ABORTED = 0x40,
	DEVICE_MASK = 0x7e,	/* the other bits were vendors' once */

	/* additional sense codes: SPC-5 annex F */
	MAYBE_CHANGED = 0x2800,
	RESTARTED = 0x2900,	/* power on, or a reset: it does not say */
	POWER_ON = 0x2901,
	INTERNAL_RESET = 0x2904,
	NO_MEDIUM = 0x3a,	/* whatever the qualifier */
};

/* The smallest command that can name these blocks, but no less than wanted. */
static unsigned
cdb_size(const struct scsi_command *c)
{
	uint64_t last = c->lba + c->blocks - 1;
	unsigned size = c->cdb_size;

	if (size == 6 && (last > 0x1fffff || c->blocks > 256))
		size = 10;
	if (size == 10 && c->blocks > 0xffff)
		size = 12;
	if (last > 0xffffffff)
		size = 16;
	return size;
}

/* READ and WRITE (6), (10), (12), (16): SBC-4 5.15 to 5.18, 5.40 to 5.43. */
static unsigned
build_rw(unsigned char *cdb, const struct scsi_command *c)
{
	unsigned size = cdb_size(c);

	memset(cdb, 0, 16);
	cdb[1] = (unsigned char)((c->dpo ? 0x10 : 0) | (c->fua ? 0x08 : 0));
	switch (size) {
	case 6:
		cdb[0] = c->write ? 0x0a : 0x08;
		sg_put_unaligned_be24((uint32_t)c->lba, cdb + 1);
		cdb[4] = (unsigned char)c->blocks;	/* 0 is 256 */
		break;
	case 10:
		cdb[0] = c->write ? 0x2a : 0x28;
		sg_put_unaligned_be32((uint32_t)c->lba, cdb + 2);
		sg_put_unaligned_be16((uint16_t)c->blocks, cdb + 7);
		break;
	case 12:
		cdb[0] = c->write ? 0xaa : 0xa8;
		sg_put_unaligned_be32((uint32_t)c->lba, cdb + 2);
		sg_put_unaligned_be32(c->blocks, cdb + 6);
		break;
	default:
		cdb[0] = c->write ? 0x8a : 0x88;
		sg_put_unaligned_be64(c->lba, cdb + 2);
		sg_put_unaligned_be32(c->blocks, cdb + 10);
		break;
	}
	return size;
}

/* WRITE SAME (16), with UNMAP, without ANCHOR and NDOB: SBC-4. */
static unsigned
build_same(unsigned char *cdb, const struct scsi_command *c)
{
	memset(cdb, 0, 16);
	cdb[0] = 0x93;
	cdb[1] = c->unmap ? 0x08 : 0;
	sg_put_unaligned_be64(c->lba, cdb + 2);
	sg_put_unaligned_be32(c->blocks, cdb + 10);
	return 16;
}

unsigned
scsi_cdb(unsigned char *cdb, const struct scsi_command *c)
{
	if (c->cdb == NULL)
		return c->same ? build_same(cdb, c) : build_rw(cdb, c);
	memcpy(cdb, c->cdb, c->cdb_size);
	return c->cdb_size;
}

/* WRITE SAME has one block for all of them. */
uint32_t
scsi_data_length(const struct scsi_command *c)
{
	return c->same ? c->block : c->blocks * c->block;
}

/* cdb and sense are lent to h. */
static void
put_header(struct sg_io_hdr *h, const struct scsi_command *c,
    unsigned char *cdb, unsigned char *sense)
{
	*h = (struct sg_io_hdr){ .interface_id = 'S', .cmdp = cdb,
		.mx_sb_len = SCSI_SENSE, .timeout = c->timeout,
		.dxfer_len = scsi_data_length(c) };
	h->dxfer_direction = h->dxfer_len == 0 ? SG_DXFER_NONE : c->write ?
	    SG_DXFER_TO_DEV : SG_DXFER_FROM_DEV;
	h->sbp = sense;
	h->cmd_len = (unsigned char)scsi_cdb(cdb, c);
	h->dxferp = c->mmap ? NULL : c->buf;
	h->flags = (c->mmap ? SG_FLAG_MMAP_IO : 0) |
	    (c->direct ? SG_FLAG_DIRECT_IO : 0);
}

static void
take_header(struct scsi_answer *a, const struct sg_io_hdr *h)
{
	a->device = h->status;
	a->host = h->host_status;
	a->driver = h->driver_status;
	a->sense_len = h->sb_len_wr;
	a->residual = h->resid;
	a->direct = (h->info & SG_INFO_DIRECT_IO_MASK) == SG_INFO_DIRECT_IO;
}

static int
send_v3(int fd, const struct scsi_command *c, struct scsi_answer *a)
{
	unsigned char cdb[16];
	struct sg_io_hdr h;

	put_header(&h, c, cdb, a->sense);
	if (ioctl(fd, SG_IO, &h) != 0)
		return errno;
	take_header(a, &h);
	return 0;
}

static int
send_v4(int fd, const struct scsi_command *c, struct scsi_answer *a)
{
	unsigned char cdb[16];
	uint32_t bytes = scsi_data_length(c);
	struct sg_io_v4 h = { .guard = 'Q',
		.protocol = BSG_PROTOCOL_SCSI,
		.subprotocol = BSG_SUB_PROTOCOL_SCSI_CMD,
		.request = (uintptr_t)cdb, .response = (uintptr_t)a->sense,
		.max_response_len = SCSI_SENSE, .timeout = c->timeout };

	h.request_len = scsi_cdb(cdb, c);
	if (c->write) {
		h.dout_xferp = (uintptr_t)c->buf;
		h.dout_xfer_len = bytes;
	} else {
		h.din_xferp = (uintptr_t)c->buf;
		h.din_xfer_len = bytes;
	}
	if (ioctl(fd, SG_IO, &h) != 0)
		return errno;
	a->device = h.device_status;
	a->host = h.transport_status;
	a->driver = h.driver_status;
	a->sense_len = h.response_len;
	a->residual = c->write ? h.dout_resid : h.din_resid;
	return 0;
}

/* The kernel refused; the command never left. */
static void
judge_errno(struct scsi_reply *r, int err)
{
	r->err = err;
	switch (err) {
	case EINTR:
	case EAGAIN:
	case EBUSY:
	case EDOM:		/* 16 commands per descriptor are under way */
		r->result = SCSI_AGAIN;
		break;
	case ENOMEM:
	case EINVAL:
		r->result = SCSI_SMALLER;
		break;
	default:
		r->result = SCSI_FATAL;
		break;
	}
}

/* An error of the driver as one of the host that is like it. */
static unsigned
driver_error(unsigned driver)
{
	switch (driver & DRIVER_MASK) {
	case 0:
	case DRIVER_SENSE:
		return HOST_OK;
	case DRIVER_BUSY:
	case DRIVER_SOFT:
		return HOST_SOFT_ERROR;
	case DRIVER_TIMEOUT:
		return SCSI_TIMED_OUT;
	default:
		return HOST_ERROR;
	}
}

static void
judge_path(struct scsi_reply *r, const struct scsi_answer *a)
{
	r->result = SCSI_FATAL;
	switch (a->host != HOST_OK ? a->host : driver_error(a->driver)) {
	case HOST_BUS_BUSY:
	case HOST_RESET:
	case HOST_SOFT_ERROR:
	case HOST_IMM_RETRY:
	case HOST_REQUEUE:
	case HOST_TRANSPORT_DISRUPTED:
		r->result = SCSI_AGAIN;
		r->status = STATUS_FILE;
		break;
	case SCSI_TIMED_OUT:
		r->status = STATUS_TIMEOUT;
		break;
	case HOST_NO_CONNECT:
		r->err = ENODEV;
		break;
	default:
		r->status = STATUS_FILE;
		break;
	}
	snprintf(r->why, sizeof(r->why), r->status == STATUS_TIMEOUT ?
	    "no answer before the timeout" : "transport error (host %#x, "
	    "driver %#x)", a->host, a->driver);
}

static void
describe_sense(struct scsi_reply *r, const struct scsi_answer *a)
{
	struct sg_scsi_sense_hdr h;
	char key[40], more[80];
	const char *text = more;

	if (!sg_scsi_normalize_sense(a->sense, (int)a->sense_len, &h)) {
		snprintf(r->why, sizeof(r->why), "no sense data");
		return;
	}
	sg_get_sense_key_str(h.sense_key, sizeof(key), key);
	sg_get_asc_ascq_str(h.asc, h.ascq, sizeof(more), more);
	if (strncmp(text, "Additional sense: ", 18) == 0)
		text += 18;
	snprintf(r->why, sizeof(r->why), "%s, %s (%x/%02x/%02x)", key, text,
	    h.sense_key, h.asc, h.ascq);
}

/* Where the sense names a block sg3_utils has statuses of their own. */
static int
without_info(int status)
{
	switch (status) {
	case SG_LIB_CAT_MEDIUM_HARD_WITH_INFO:
		return SG_LIB_CAT_MEDIUM_HARD;
	case SG_LIB_CAT_ILLEGAL_REQ_WITH_INFO:
		return SG_LIB_CAT_ILLEGAL_REQ;
	case SG_LIB_CAT_PROTECTION_WITH_INFO:
		return SG_LIB_CAT_PROTECTION;
	default:
		return status;
	}
}

/* An exit status of a SCSI condition in words; "" for others. */
static const char *
words_of(int status)
{
	static const struct { int status; const char *words; } all[] = {
		{ SG_LIB_CAT_NOT_READY, "not ready" },
		{ SG_LIB_CAT_MEDIUM_HARD, "medium or hardware error" },
		{ SG_LIB_CAT_ILLEGAL_REQ, "illegal request" },
		{ SG_LIB_CAT_UNIT_ATTENTION, "unit attention" },
		{ SG_LIB_CAT_DATA_PROTECT, "data protect" },
		{ SG_LIB_CAT_INVALID_OP, "invalid operation code" },
		{ SG_LIB_CAT_COPY_ABORTED, "copy aborted" },
		{ SG_LIB_CAT_ABORTED_COMMAND, "aborted command" },
		{ SG_LIB_LBA_OUT_OF_RANGE, "LBA out of range" },
		{ SG_LIB_CAT_RES_CONFLICT, "reservation conflict" },
		{ SG_LIB_CAT_BUSY, "busy" },
		{ SG_LIB_CAT_TS_FULL, "task set full" },
		{ STATUS_TIMEOUT, "timeout" },
		{ SG_LIB_CAT_PROTECTION, "protection error" },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].status == status)
			return all[i].words;
	return "";
}

/* What is not among the exit statuses. */
static int
status_by_key(const struct scsi_answer *a)
{
	return sg_get_sense_key(a->sense, (int)a->sense_len) ==
	    SPC_SK_NOT_READY ? SG_LIB_CAT_NOT_READY : STATUS_FILE;
}

/* The disk began anew, maybe without what it had in its cache. */
static bool
tells_restart(unsigned code)
{
	return code == RESTARTED || code == POWER_ON || code == INTERNAL_RESET;
}

/*
 * What matters more than the key: it may be another medium, or an error of an
 * earlier command, which is told in place of running this one (SPC-5 4.4.7).
 */
static void
judge_circumstances(struct scsi_reply *r, const struct scsi_answer *a)
{
	struct sg_scsi_sense_hdr h;
	unsigned code;

	if (!sg_scsi_normalize_sense(a->sense, (int)a->sense_len, &h))
		return;
	code = (unsigned)h.asc << 8 | h.ascq;
	if (h.response_code == 0x71 || h.response_code == 0x73) {
		if (r->result != SCSI_MOVED)
			r->result = SCSI_EARLIER;
		else if ((a->device & DEVICE_MASK) == CHECK_CONDITION)
			r->result = SCSI_AGAIN;
		r->has_info = false;
	} else if (h.asc == NO_MEDIUM || code == MAYBE_CHANGED) {
		r->result = SCSI_CHANGED;
	} else if (tells_restart(code)) {
		r->restarted = true;
	}
}

static void
judge_sense(struct scsi_reply *r, const struct scsi_answer *a)
{
	r->status = without_info(sg_err_category_sense(a->sense,
	    (int)a->sense_len));
	describe_sense(r, a);
	r->has_info = sg_get_sense_info_fld(a->sense, (int)a->sense_len,
	    &r->info);
	r->unknown = r->status == SG_LIB_CAT_ILLEGAL_REQ ||
	    r->status == SG_LIB_CAT_INVALID_OP;
	switch (r->status) {
	case SG_LIB_CAT_CLEAN:
	case SG_LIB_CAT_NO_SENSE:
	case SG_LIB_CAT_RECOVERED:
		r->recovered = r->status == SG_LIB_CAT_RECOVERED;
		r->result = SCSI_MOVED;
		break;
	case SG_LIB_CAT_UNIT_ATTENTION:
	case SG_LIB_CAT_ABORTED_COMMAND:
		r->result = SCSI_AGAIN;
		break;
	case SG_LIB_CAT_MEDIUM_HARD:
		r->result = SCSI_MEDIUM;
		break;
	default:
		if (words_of(r->status)[0] == '\0')
			r->status = status_by_key(a);
		r->result = SCSI_FATAL;
		break;
	}
	judge_circumstances(r, a);
}

/* Something is wrong, and the disk does not say what: nothing was moved. */
static void
judge_check(struct scsi_reply *r, const struct scsi_answer *a)
{
	judge_sense(r, a);
	if (r->result == SCSI_MOVED && !r->recovered)
		r->result = SCSI_AGAIN;
	if (r->result != SCSI_MOVED && words_of(r->status)[0] == '\0')
		r->status = STATUS_FILE;
}

static void
judge_status(struct scsi_reply *r, const struct scsi_answer *a)
{
	const char *words;

	r->result = SCSI_FATAL;
	switch (a->device & DEVICE_MASK) {
	case CHECK_CONDITION:
		judge_check(r, a);
		return;
	case BUSY:
	case ACA_ACTIVE:
		r->result = SCSI_AGAIN;
		r->status = SG_LIB_CAT_BUSY;
		break;
	case TASK_SET_FULL:
		r->result = SCSI_AGAIN;
		r->status = SG_LIB_CAT_TS_FULL;
		break;
	case TASK_ABORTED:
		r->result = SCSI_AGAIN;
		r->status = SG_LIB_CAT_ABORTED_COMMAND;
		break;
	case RESERVATION_CONFLICT:
		r->status = SG_LIB_CAT_RES_CONFLICT;
		break;
	default:
		r->status = STATUS_FILE;
		break;
	}
	words = words_of(r->status);
	snprintf(r->why, sizeof(r->why), "%s%sSCSI status %#x", words,
	    words[0] != '\0' ? ", " : "", a->device);
}

/*
 * A residual is what was not moved, whatever the status says.  One that is
 * wild (negative, or more than was asked for) tells nothing, so all is taken
 * as not moved; what does not make a whole block neither.  WRITE SAME has done
 * all or nothing.
 */
static void
count_moved(struct scsi_reply *r, const struct scsi_command *c,
    const struct scsi_answer *a)
{
	size_t bytes = (size_t)c->blocks * c->block;

	if (c->same) {
		r->moved = a->residual == 0 ? bytes : 0;
		return;
	}
	if (a->residual < 0 || (uint64_t)a->residual > bytes)
		bytes = 0;
	else
		bytes -= (size_t)a->residual;
	r->moved = bytes - bytes % c->block;
}

static void
judge(struct scsi_reply *r, enum scsi_node node, const struct scsi_command *c,
    const struct scsi_answer *a)
{
	unsigned status = a->device & DEVICE_MASK;

	if (status != 0 && status != CONDITION_MET)
		judge_status(r, a);
	else if (a->host != HOST_OK || driver_error(a->driver) != HOST_OK)
		judge_path(r, a);
	else if (a->sense_len > 0)
		judge_sense(r, a);
	if (r->result == SCSI_MOVED)
		count_moved(r, c, a);
	r->indirect = c->direct && node == SCSI_SG && !a->direct;
}

void
scsi_judge(struct scsi_reply *r, enum scsi_node node,
    const struct scsi_command *c, int err, const struct scsi_answer *a)
{
	*r = (struct scsi_reply){ .result = SCSI_MOVED };
	if (err != 0)
		judge_errno(r, err);
	else
		judge(r, node, c, a);
}

void
scsi_run(const struct scsi_path *path, const struct scsi_command *c,
    struct scsi_reply *r)
{
	struct scsi_answer a = { .device = 0 };
	int err;

	if (path->node == SCSI_CARRIED)
		err = path->carry(path->to, c, &a);
	else if (path->node == SCSI_BSG)
		err = send_v4(path->fd, c, &a);
	else
		err = send_v3(path->fd, c, &a);
	scsi_judge(r, path->node, c, err, &a);
}

int
scsi_prepare(int fd)
{
	int one = 1;

	return ioctl(fd, SG_SET_FORCE_PACK_ID, &one) != 0 ? errno : 0;
}

int
scsi_send(int fd, struct scsi_flight *fl, int id)
{
	put_header(&fl->header, &fl->command, fl->cdb, fl->sense);
	fl->header.pack_id = id;
	return write(fd, &fl->header, sizeof(fl->header)) < 0 ? errno : 0;
}

/* The header tells read(2) which answer is wanted: see scsi_prepare. */
int
scsi_take(int fd, struct scsi_flight *fl, struct scsi_reply *r)
{
	struct scsi_answer a = { .device = 0 };

	*r = (struct scsi_reply){ .result = SCSI_MOVED };
	if (read(fd, &fl->header, sizeof(fl->header)) < 0) {
		if (errno == EAGAIN)
			return EAGAIN;
		judge_errno(r, errno);
		return 0;
	}
	take_header(&a, &fl->header);
	memcpy(a.sense, fl->sense, sizeof(a.sense));
	judge(r, SCSI_SG, &fl->command, &a);
	return 0;
}

void
scsi_pause(int tries)
{
	long ms = tries < 8 ? 2L << tries : 500;
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* By the major number: sg's is fixed, bsg's is not. */
struct scsi_path
scsi_path(int fd, unsigned timeout)
{
	struct scsi_path path = { .timeout = timeout, .fd = fd,
		.node = SCSI_BSG };
	struct stat st = { .st_rdev = 0 };

	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode))
		path.node = SCSI_BLOCK;
	else if (major(st.st_rdev) == SCSI_GENERIC_MAJOR)
		path.node = SCSI_SG;
	return path;
}

/*
 * Run a command, and again what passes by itself; one that stands for others
 * not after the disk began anew.
 */
static void
insist(const struct scsi_path *path, const struct scsi_command *c,
    bool for_others, struct scsi_reply *r)
{
	int try = 0;

	scsi_run(path, c, r);
	while (r->result == SCSI_AGAIN && !(for_others && r->restarted) &&
	    try < SCSI_TRIES) {
		scsi_pause(try++);
		scsi_run(path, c, r);
	}
}

bool
scsi_query(const struct scsi_path *path, const unsigned char *cdb,
    unsigned len, void *buf, size_t room, struct scsi_reply *r)
{
	const struct scsi_command c = { .cdb = cdb, .cdb_size = len,
		.timeout = path->timeout, .buf = buf, .blocks = (uint32_t)room,
		.block = 1 };

	if (room > 0)
		memset(buf, 0, room);
	insist(path, &c, false, r);
	return r->result == SCSI_MOVED;
}

bool
scsi_sync(const struct scsi_path *path, bool cached, struct scsi_reply *r)
{
	static const unsigned char cdb[10] = { 0x35 };
	const struct scsi_command c = { .cdb = cdb, .cdb_size = sizeof(cdb),
		.timeout = path->timeout, .block = 1 };

	insist(path, &c, cached, r);
	return r->result == SCSI_MOVED ||
	    (r->result == SCSI_FATAL && r->status == SG_LIB_CAT_INVALID_OP);
}
