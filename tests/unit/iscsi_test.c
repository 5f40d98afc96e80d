/*
 * An iSCSI disk as an end, by a mock session: what is sent without waiting,
 * what is kept of the answers, and what is reported once the session is lost.
 */
#include "test.h"
#include "config.h"

#ifdef HAVE_LIBISCSI
#include <bsd/string.h>
#include <pthread.h>

#include "end/backend.h"
#include "../../src/scsi/iscsi_link.h"
#include "../../src/scsi/sg.h"
#include "../tools/preload.h"

#define BLOCK	((size_t)512)
#define MOST	((size_t)16)

enum { BLOCKS = 64 };

static struct {
	unsigned	 key;		/* of the sense data; 0: none */
	unsigned	 status;	/* of the next data command */
	bool		 lost;
	const char	*why;		/* it is lost */
	bool		 refuses;	/* what is sent */
	bool		 keeps;		/* the library, for ever */
	struct iscsi_call *sent;	/* not over yet */
} target;

static struct opts o;
static struct endpoint end;
static struct lane lane;
static struct io io;
static struct fault f;
static unsigned char buf[BLOCKS * BLOCK] __attribute__((aligned(4096)));

/* Nobody waits for what never comes. */
int
pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
    const struct timespec *until)
{
	REAL(real, pthread_cond_timedwait);
	return target.keeps ? ETIMEDOUT : real(c, m, until);
}

/* -------------------------------------------- in the place of the session */

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *why)
{
	return 0;
}

int
iscsi_link_open(struct iscsi_link *link, const struct libiscsi *lib,
    const struct iscsi_address *to, struct fault *why)
{
	link->fd = link->bell = -1;
	return 0;
}

int
iscsi_link_start(struct iscsi_link *link)
{
	return 0;
}

void
iscsi_link_close(struct iscsi_link *link)
{
}

static void
answer(struct iscsi_call *call)
{
	unsigned char cdb[16], *a = call->command.buf;

	memset(&call->answer, 0, sizeof(call->answer));
	call->err = target.lost ? ENODEV : 0;
	scsi_cdb(cdb, &call->command);
	switch (cdb[0]) {
	case 0x12:				/* INQUIRY */
		if ((cdb[1] & 1) != 0 && cdb[2] == 0xb0) {
			a[1] = 0xb0;
			a[3] = 60;
			a[11] = MOST;
		}
		break;
	case 0x25:				/* READ CAPACITY */
		a[3] = BLOCKS - 1;
		a[6] = BLOCK >> 8;
		break;
	case 0x28:				/* READ */
		memset(a, 7, call->command.blocks * BLOCK);
		/* fall through */
	case 0x2a:				/* WRITE */
		call->answer.device = target.status;
		call->answer.sense[0] = 0x70;
		call->answer.sense[2] = (unsigned char)target.key;
		call->answer.sense[7] = 10;
		call->answer.sense_len = target.key != 0 ? 18 : 0;
		target.status = target.key = 0;
		break;
	}
}

int
iscsi_link_do(struct iscsi_link *link, struct iscsi_call *call)
{
	while (target.keeps)
		pause();
	answer(call);
	return call->err;
}

bool
iscsi_link_send(struct iscsi_link *link, struct iscsi_call *call)
{
	assert_null(target.sent);
	if (!target.refuses)
		target.sent = call;
	return !target.refuses;
}

void
iscsi_link_service(struct iscsi_link *link)
{
	struct iscsi_call *call = target.sent;

	target.sent = NULL;
	answer(call);
	lane_over(call->flight.lane, call->flight.io);
}

bool
iscsi_link_lost(struct iscsi_link *link, char *why, size_t room)
{
	strlcpy(why, target.why, room);
	return target.lost;
}

/* ------------------------------------------------------------------- cases */

static void
opened(enum role role)
{
	static const char name[] = "iscsi://host/iqn.2026-11.org.pardd:disk/1";

	memset(&target, 0, sizeof(target));
	target.why = "";
	o = (struct opts){ .input = name, .output = name, .timeout = 1,
		.cdbsz = 10 };
	if (endpoint_open(&end, role, &o, true, &f) != 0)
		fail_msg("not opened: %s", f.text);
	assert_int_equal(lane_attach(&lane, &end, 0, -1), 0);
}

static void
closed(void)
{
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&end), 0);
}

static struct sg *
sg(void)
{
	return end.priv;
}

static bool
starts(enum op op, size_t off, size_t len)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len };
	return lane_start(&lane, &io, NULL);
}

/* Start a request, and conclude it. */
static void
passes(enum op op)
{
	assert_true(starts(op, 0, BLOCK));
	lane_service(&lane);
	assert_ptr_equal(lane_ended(&lane), &io);
}

CASE(starts_what_a_command_can_carry)
{
	opened(SOURCE);
	assert_int_equal(end.cmd.most / BLOCK, MOST);
	assert_true(starts(OP_READ, 0, MOST * BLOCK));
	assert_int_equal(target.sent->command.blocks, MOST);
	lane_service(&lane);
	assert_int_equal(lane_ended(&lane)->done, MOST * BLOCK);
	sg()->changed = true;
	assert_false(starts(OP_READ, 0, BLOCK));
	closed();
}

/* What was answered to a request that nobody waited for counts as well. */
CASE(keeps_what_was_answered)
{
	opened(SOURCE);
	passes(OP_READ);
	assert_int_equal(io.done, BLOCK);
	target.status = 0x02;			/* CHECK CONDITION, */
	target.key = 1;				/* ... RECOVERED ERROR */
	passes(OP_READ);
	assert_int_equal(io.done, BLOCK);
	assert_int_equal(sg()->recovered, 1);
	closed();
}

/* Only what may be in the cache of the disk. */
CASE(counts_writes_that_were_done)
{
	opened(TARGET);
	passes(OP_WRITE);
	assert_int_equal(sg()->writes, 1);
	target.refuses = true;
	assert_false(starts(OP_WRITE, 0, BLOCK));
	assert_int_equal(sg()->writes, 1);
	target.refuses = false;
	target.status = 0x08;			/* BUSY; then it is done */
	passes(OP_WRITE);
	assert_int_equal(io.done, BLOCK);
	assert_int_equal(sg()->writes, 2);
	closed();
}

static void
says(const char *why, const char *text)
{
	target.lost = true;
	target.why = why;
	io = (struct io){ .op = OP_READ, .buf = buf, .len = BLOCK };
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, ENODEV);
	assert_string_equal(io.why, text);
	target.lost = false;
	assert_true(starts(OP_READ, 0, BLOCK));
	target.lost = true;
	lane_service(&lane);
	assert_ptr_equal(lane_ended(&lane), &io);
	assert_int_equal(io.err, ENODEV);
	assert_string_equal(io.why, text);
}

CASE(says_that_the_session_is_gone)
{
	opened(SOURCE);
	says("", "the session is gone");
	says("no answer", "the session is gone; no answer");
	closed();
	opened(TARGET);
	says("", "the session is gone; writes since the last flush may be lost");
	says("no answer", "the session is gone; writes since the last flush "
	    "may be lost; no answer");
	assert_int_equal(endpoint_flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_NOT_FLUSHED);
	assert_non_null(strstr(f.text, "is gone; writes since the last flush "
	    "may be lost; no answer"));
	closed();
}

/*
 * Outside of the copy nobody else sees that the library does not come back.  It
 * may still read into what it was given.  The last case: its thread is left.
 */
CASE(gives_up_a_read_that_nobody_watches)
{
	opened(SOURCE);
	buf[0] = 1;
	io = (struct io){ .op = OP_READ, .buf = buf, .len = BLOCK };
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, BLOCK);
	assert_ptr_equal(io.buf, buf);
	assert_int_equal(buf[0], 7);
	target.keeps = true;
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, ETIMEDOUT);
	assert_ptr_equal(io.buf, buf);
	lane_transfer(&lane, &io);		/* it is not tried again */
	assert_int_equal(io.err, ENODEV);
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&end), 0);
	assert_true(end.is.stuck);
}
#endif
