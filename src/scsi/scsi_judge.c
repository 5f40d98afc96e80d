/*
 * The meaning of an answer to a SCSI command, decided in this order: did the
 * kernel accept it (errno), what does the disk say (status, sense), did it
 * arrive (host and driver status), and how much was moved (residual).  Sense
 * data is decoded by libsgutils2.
 */
#include "scsi/scsi.h"

#include <errno.h>
#include <scsi/sg_lib.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

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
	DRIVER_BUSY = 0x01,	/* driver byte: Linux before 5.14 */
	DRIVER_SOFT = 0x02,
	DRIVER_TIMEOUT = 0x06,
	DRIVER_SENSE = 0x08,	/* not an error: there is sense data */
	DRIVER_MASK = 0x0f,

	/* SCSI status: SAM-5 5.3.1 */
	CHECK_CONDITION = 0x02,
	CONDITION_MET = 0x04,
	BUSY = 0x08,
	RESERVATION_CONFLICT = 0x18,
	TASK_SET_FULL = 0x28,
	ACA_ACTIVE = 0x30,
	TASK_ABORTED = 0x40,
	DEVICE_MASK = 0x7e,	/* the other bits were vendor-specific */

	/* additional sense codes: SPC-5 annex F */
	MAYBE_CHANGED = 0x2800,
	RESTARTED = 0x2900,	/* power on or reset, which of them is
				 * unknown */
	POWER_ON = 0x2901,
	INTERNAL_RESET = 0x2904,
	INQUIRY_CHANGED = 0x3f03,
	IDENTIFIER_CHANGED = 0x3f05,
	LUNS_CHANGED = 0x3f0e,
	NO_UNIT = 0x2500,	/* LOGICAL UNIT NOT SUPPORTED: it was removed */
	NO_MEDIUM = 0x3a,	/* whatever the qualifier */
};

/* The kernel has refused the command; it was never sent. */
static void
scsi_judge_errno(struct scsi_reply *r, int err)
{
	r->err = err;
	switch (err) {
	case EINTR:
	case EAGAIN:
	case EBUSY:
	case EDOM:		/* 16 commands per descriptor in flight */
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

/* The host error that corresponds to an error of the driver. */
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

/* The words for an exit status of a SCSI condition; "" for others. */
static const char *
scsi_status_words(int status)
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

/*
 * Some conditions matter more than the sense key: another medium, or a failure
 * of an earlier command, reported instead of executing this one (SPC-5 4.4.7).
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
	} else if (code == NO_UNIT) {
		r->err = ENODEV;
		r->unknown = false;
	} else if (code == RESTARTED || code == POWER_ON ||
	    code == INTERNAL_RESET) {	/* perhaps without its cache */
		r->restarted = true;
	} else if (code == INQUIRY_CHANGED || code == IDENTIFIER_CHANGED ||
	    code == LUNS_CHANGED) {
		r->renamed = true;
	}
}

static void
judge_sense(struct scsi_reply *r, const struct scsi_answer *a)
{
	r->status = sg_err_category_sense(a->sense, (int)a->sense_len);
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
		if (scsi_status_words(r->status)[0] == '\0')
			r->status = STATUS_FILE;
		r->result = SCSI_FATAL;
		break;
	}
	judge_circumstances(r, a);
}

/*
 * Something is wrong, but the disk does not say what: assume that nothing was
 * moved.
 */
static void
judge_check(struct scsi_reply *r, const struct scsi_answer *a)
{
	judge_sense(r, a);
	if (r->result == SCSI_MOVED && !r->recovered)
		r->result = SCSI_AGAIN;
	if (r->result != SCSI_MOVED && scsi_status_words(r->status)[0] == '\0')
		r->status = STATUS_FILE;
}

static void
scsi_judge_status(struct scsi_reply *r, const struct scsi_answer *a)
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
	words = scsi_status_words(r->status);
	snprintf(r->why, sizeof(r->why), "%s%sSCSI status %#x", words,
	    words[0] != '\0' ? ", " : "", a->device);
}

/*
 * Derive what was moved from the residual, whatever the status.  A residual
 * that is impossible (negative, or more than requested) means nothing was
 * moved, and a partial block does not count.  WRITE SAME does everything or
 * nothing.
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
scsi_judge_sense(struct scsi_reply *r, enum scsi_node node,
    const struct scsi_command *c, const struct scsi_answer *a)
{
	unsigned status = a->device & DEVICE_MASK;

	if (status != 0 && status != CONDITION_MET)
		scsi_judge_status(r, a);
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
		scsi_judge_errno(r, err);
	else
		scsi_judge_sense(r, node, c, a);
}
