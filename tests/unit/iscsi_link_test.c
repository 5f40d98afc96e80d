/*
 * A session with an iSCSI target, with a mock libiscsi, whose target answers as
 * a test says, or not at all.
 */
#undef _FORTIFY_SOURCE		/* poll() is one of the test's own */
#include "test.h"
#include "config.h"

#ifdef HAVE_LIBISCSI
#include <sys/random.h>
#include <sys/socket.h>

#include "../../src/scsi/iscsi_link.h"
#include "../tools/preload.h"
#include "link_world.h"

enum { BLOCK = 512, STAGES = 6, CALLS = 4, TIMEOUT = 5 };

struct iscsi_context {
	bool	made;
};

struct answer {			/* to a command */
	int	 status;
	enum scsi_residual residual;
	size_t	 missing;	/* bytes */
	int	 size;		/* of the sense data, with its length; 0: none */
};

static struct {
	struct iscsi_context context;
	int		 stage[STAGES];	/* how each of login, logout ends */
	unsigned	 stages;	/* those that began */
	const char	*elsewhere;	/* its address, after a redirection */
	char		 portal[32];	/* the last that was asked */
	iscsi_command_cb step;		/* a stage that is not over, or NULL */
	void		*step_arg;
	struct answer	 answer;
	iscsi_command_cb done[CALLS];	/* of commands in flight */
	void		*call[CALLS];
	struct scsi_task *task[CALLS];
	unsigned	 calls;
	unsigned	 contexts, tasks;	/* that are not freed */
	unsigned	 isid;		/* those that were set */
	const char	*user, *target_user;	/* told to libiscsi */
	bool		 broken;	/* the service fails */
	bool		 closed;	/* by the target */
	int		 so_error;	/* of connect */
	bool		 no_random;
	bool		 keeps;		/* libiscsi cancels nothing */
	size_t		 sends;		/* bytes of what is read */
} target;

static struct iscsi_link conn;
static struct fault fault;
static unsigned char buf[BLOCK];

/* -------------------------------------------- in the place of the C library */

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	int heard = world_poll(p, n, ms);

	REAL(real, poll);
	if (heard >= 0 && n == 2)		/* with a bell */
		(void)real(p, 1, 1);
	if (heard > 0)
		p[n - 1].revents = p[n - 1].events;
	return heard;
}

int
getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	memcpy(value, &target.so_error, sizeof(target.so_error));
	return 0;
}

ssize_t
recv(int fd, void *to, size_t room, int flags)
{
	errno = EAGAIN;
	return target.closed ? 0 : -1;
}

ssize_t
getrandom(void *to, size_t len, unsigned flags)
{
	memset(to, 1, len);
	return target.no_random ? -1 : (ssize_t)len;
}

/* ------------------------------------------------ in the place of libiscsi */

static struct iscsi_context *
create_context(const char *initiator)
{
	if (fails("context"))
		return NULL;
	target.contexts++;
	target.calls = 0;
	return &target.context;
}

static int
destroy_context(struct iscsi_context *c)
{
	target.contexts--;
	target.step = NULL;
	return 0;
}

static int
set_name(struct iscsi_context *c, const char *name)
{
	return 0;
}

static int
set_type(struct iscsi_context *c, enum iscsi_session_type type)
{
	return 0;
}

static int
set_digest(struct iscsi_context *c, enum iscsi_header_digest digest)
{
	return 0;
}

static int
set_isid(struct iscsi_context *c, uint32_t some, uint32_t qualifier)
{
	target.isid++;
	return 0;
}

static int
set_user(struct iscsi_context *c, const char *user, const char *password)
{
	target.user = user;
	return 0;
}

static int
set_target_user(struct iscsi_context *c, const char *user, const char *password)
{
	target.target_user = user;
	return 0;
}

static void
set_number(struct iscsi_context *c, int n)
{
}

static int
begins(const char *name, iscsi_command_cb cb, void *arg)
{
	if (fails(name))
		return -1;
	target.step = cb;
	target.step_arg = arg;
	return 0;
}

static int
connect_async(struct iscsi_context *c, const char *portal, iscsi_command_cb cb,
    void *arg)
{
	strncpy(target.portal, portal, sizeof(target.portal) - 1);
	return begins("connect", cb, arg);
}

static int
login_async(struct iscsi_context *c, iscsi_command_cb cb, void *arg)
{
	return begins("login", cb, arg);
}

static int
logout_async(struct iscsi_context *c, iscsi_command_cb cb, void *arg)
{
	return begins("logout", cb, arg);
}

static const char *
get_error(struct iscsi_context *c)
{
	return world.words;
}

static const char *
get_address(struct iscsi_context *c)
{
	return target.elsewhere != NULL ? target.elsewhere : "";
}

static int
get_fd(struct iscsi_context *c)
{
	return -1;
}

static int
which_events(struct iscsi_context *c)
{
	return POLLIN;
}

/* Answer a command in flight; the oldest is the first. */
static void
answer(unsigned i, int status)
{
	struct scsi_task *task = target.task[i];
	iscsi_command_cb done = target.done[i];
	void *call = target.call[i];

	target.calls--;
	for (; i < target.calls; i++) {
		target.task[i] = target.task[i + 1];
		target.done[i] = target.done[i + 1];
		target.call[i] = target.call[i + 1];
	}
	memset(buf, 0, target.sends);
	task->residual_status = target.answer.residual;
	task->residual = target.answer.missing;
	task->datain.size = target.answer.size;
	if (target.answer.size > 0) {
		task->datain.data = calloc(1, (size_t)target.answer.size + 2);
		assert_non_null(task->datain.data);
		memset(task->datain.data, 0x70,
		    (size_t)target.answer.size);
	}
	done(&target.context, status, task, call);
}

static int
service(struct iscsi_context *c, int events)
{
	iscsi_command_cb step = target.step;

	if (target.broken)
		return -1;
	if (world.mute || (events & POLLIN) == 0)
		return 0;
	if (step != NULL) {
		assert_true(target.stages < STAGES);
		target.step = NULL;
		step(c, target.stage[target.stages++], NULL, target.step_arg);
	} else if (target.calls > 0) {
		answer(0, target.answer.status);
	}
	return 0;
}

static int
command_async(struct iscsi_context *c, int lun, struct scsi_task *task,
    iscsi_command_cb cb, struct iscsi_data *data, void *arg)
{
	if (fails("command"))
		return -1;
	assert_true(target.calls < CALLS);
	target.task[target.calls] = task;
	target.done[target.calls] = cb;
	target.call[target.calls++] = arg;
	return 0;
}

static void
cancel_all(struct iscsi_context *c)
{
	while (target.calls > 0)
		answer(0, SCSI_STATUS_CANCELLED);
}

static int
cancel_task(struct iscsi_context *c, struct scsi_task *task)
{
	unsigned i;

	for (i = 0; i < target.calls; i++)
		if (target.task[i] == task && !target.keeps) {
			answer(i, SCSI_STATUS_CANCELLED);
			return 0;
		}
	return -1;
}

static struct scsi_task *
create_task(int size, unsigned char *cdb, int direction, int len)
{
	if (fails("task"))
		return NULL;
	target.tasks++;
	return calloc(1, sizeof(struct scsi_task));
}

static void
free_task(struct scsi_task *task)
{
	free(task->datain.data);
	free(task);
	target.tasks--;
}

static int
add_data(struct scsi_task *task, int len, unsigned char *data)
{
	assert_int_equal(len, BLOCK);
	assert_ptr_equal(data, buf);
	return fails("data") ? -1 : 0;
}

static const struct libiscsi lib = {
	.iscsi_create_context = create_context,
	.iscsi_destroy_context = destroy_context,
	.iscsi_set_targetname = set_name,
	.iscsi_set_session_type = set_type,
	.iscsi_set_header_digest = set_digest,
	.iscsi_set_isid_random = set_isid,
	.iscsi_set_initiator_username_pwd = set_user,
	.iscsi_set_target_username_pwd = set_target_user,
	.iscsi_set_noautoreconnect = set_number,
	.iscsi_set_reconnect_max_retries = set_number,
	.iscsi_set_tcp_user_timeout = set_number,
	.iscsi_connect_async = connect_async,
	.iscsi_login_async = login_async,
	.iscsi_logout_async = logout_async,
	.iscsi_get_error = get_error,
	.iscsi_get_target_address = get_address,
	.iscsi_get_fd = get_fd,
	.iscsi_which_events = which_events,
	.iscsi_service = service,
	.iscsi_scsi_command_async = command_async,
	.iscsi_scsi_cancel_all_tasks = cancel_all,
	.iscsi_scsi_cancel_task = cancel_task,
	.scsi_create_task = create_task,
	.scsi_free_scsi_task = free_task,
	.scsi_task_add_data_in_buffer = add_data,
	.scsi_task_add_data_out_buffer = add_data,
};

/* --------------------------------------------------------------- the session */

static const struct iscsi_address there = { .shown = "it",
	.name = { .portal = "here", .target = "t" }, .initiator = "i",
	.timeout = TIMEOUT };

static int
fresh(void **state)
{
	memset(&world, 0, sizeof(world));
	memset(&target, 0, sizeof(target));
	memset(&fault, 0, sizeof(fault));
	return 0;
}

EACH(fresh, NULL)

static int
begin(void **state)
{
	fresh(state);
	return iscsi_link_open(&conn, &lib, &there, &fault);
}

/* Nothing is left behind. */
static int
end(void **state)
{
	iscsi_link_close(&conn);
	return target.contexts != 0 || target.tasks != 0 || target.calls != 0;
}

CASE(logs_in_and_out)
{
	struct iscsi_address to = there;

	assert_int_equal(iscsi_link_open(&conn, &lib, &to, &fault), 0);
	assert_int_equal(target.isid, 1);
	assert_null(target.user);
	assert_int_equal(end(state), 0);
	assert_int_equal(target.stages, 3);	/* connect, login, logout */
	fresh(state);
	to.target_user = "other";		/* nothing without a user */
	target.no_random = true;
	assert_int_equal(iscsi_link_open(&conn, &lib, &to, &fault), 0);
	assert_int_equal(target.isid, 0);
	assert_null(target.target_user);
	world.fails = "logout";
	assert_int_equal(end(state), 0);
	assert_int_equal(target.stages, 2);
	fresh(state);
	to.user = "me";
	world.poll_err = EINTR;		/* it goes on */
	assert_int_equal(iscsi_link_open(&conn, &lib, &to, &fault), 0);
	assert_string_equal(target.user, "me");
	assert_string_equal(target.target_user, "other");
	world.mute = true;			/* it does not wait for long */
	assert_int_equal(end(state), 0);
	assert_in_range(world.now, SECOND, SECOND + 2);
	fresh(state);
	to.target_user = NULL;
	assert_int_equal(iscsi_link_open(&conn, &lib, &to, &fault), 0);
	assert_string_equal(target.user, "me");
	assert_null(target.target_user);
	assert_int_equal(end(state), 0);
}

CASE(says_why_it_does_not_log_in)
{
	static const struct {
		const char	*fails, *words;
		int		 stage[2];
		bool		 mute, broken, no_bell;
		int		 so_error, poll_err;
		int		 status;
		const char	*text;
	} row[] = {
		{ "context", .status = STATUS_ERRNO + ENOMEM,
		    .text = "it: Cannot allocate memory" },
		{ .no_bell = true, .status = STATUS_ERRNO + EMFILE,
		    .text = "it: Too many open files" },
		{ "connect", "no\nno more", .status = STATUS_FILE,
		    .text = "it: connecting: no" },
		{ NULL, "no", { SCSI_STATUS_ERROR }, .status = STATUS_FILE,
		    .text = "it: connecting: no" },
		{ NULL, "", .broken = true, .status = STATUS_FILE, .text =
		    "it: connecting: the target has closed the connection" },
		{ .broken = true, .status = STATUS_FILE, .text =
		    "it: connecting: the target has closed the connection" },
		{ .so_error = ENETUNREACH, .status = STATUS_FILE,
		    .text = "it: connecting: Network is unreachable" },
		{ .poll_err = ENOMEM, .status = STATUS_ERRNO + ENOMEM,
		    .text = "it: connecting: Cannot allocate memory" },
		{ .mute = true, .status = STATUS_FILE, .text = "it: the target "
		    "does not answer within 5 seconds (timeout=)" },
		{ "login", "no", .status = STATUS_FILE,
		    .text = "it: logging in: no" },
		{ NULL, "wrong password", { 0, SCSI_STATUS_ERROR },
		    .status = STATUS_FILE,
		    .text = "it: logging in: wrong password" },
		{ NULL, "moved", { 0, SCSI_STATUS_REDIRECT },
		    .status = STATUS_FILE,
		    .text = "it: logging in: moved" },	/* but not where */
	};

	EACH_OF(i, row) {
		fresh(state);
		world.fails = row[i].fails;
		world.words = row[i].words;
		memcpy(target.stage, row[i].stage, sizeof(row[i].stage));
		world.mute = row[i].mute;
		target.broken = row[i].broken;
		world.no_bell = row[i].no_bell;
		target.so_error = row[i].so_error;
		world.poll_err = row[i].poll_err;
		assert_int_equal(iscsi_link_open(&conn, &lib, &there, &fault),
		    -1);
		assert_string_equal(fault.text, row[i].text);
		assert_int_equal(fault.status, row[i].status);
		assert_int_equal(target.contexts, 0);
	}
}

CASE(follows_a_target_that_has_moved)
{
	target.stage[1] = SCSI_STATUS_REDIRECT;
	target.elsewhere = "there";
	assert_int_equal(iscsi_link_open(&conn, &lib, &there, &fault), 0);
	assert_string_equal(target.portal, "there");
	assert_int_equal(target.contexts, 1);
	assert_int_equal(end(state), 0);
}

/* Every other stage is a login, which names one more portal. */
static int
moves_on(struct iscsi_context *c, iscsi_command_cb cb, void *arg)
{
	cb(c, SCSI_STATUS_REDIRECT, NULL, arg);
	return 0;
}

CASE(does_not_follow_it_for_ever)
{
	struct libiscsi moving = lib;

	moving.iscsi_login_async = moves_on;
	target.elsewhere = "there";
	assert_int_equal(iscsi_link_open(&conn, &moving, &there, &fault), -1);
	assert_string_equal(fault.text, "it: logging in: the target names one "
	    "portal after the other");
	assert_int_equal(target.stages, 4);
	assert_int_equal(target.contexts, 0);
}

/* ----------------------------------------------------------------- commands */

static struct iscsi_call
a_call(bool write)
{
	return (struct iscsi_call){ .command = { .write = write,
		.cdb_size = 10, .blocks = 1, .block = BLOCK, .buf = buf } };
}

EACH(begin, end)

CASE(takes_an_answer_as_it_is)
{
	static const struct {
		struct answer	a;
		unsigned	device, sense;
		int64_t		residual;
		int		err;
	} row[] = {
		{ { .status = SCSI_STATUS_GOOD }, .err = 0 },
		{ { .residual = SCSI_RESIDUAL_UNDERFLOW, .missing = 512 },
		    .residual = 512 },
		{ { .residual = SCSI_RESIDUAL_OVERFLOW, .missing = 512 },
		    .residual = -513 },
		{ { .status = SCSI_STATUS_BUSY, .size = 20 }, .device = 8 },
		{ { .status = SCSI_STATUS_CHECK_CONDITION }, .device = 2 },
		{ { .status = SCSI_STATUS_CHECK_CONDITION, .size = 2 },
		    .device = 2 },
		{ { .status = SCSI_STATUS_CHECK_CONDITION, .size = 20 },
		    .device = 2, .sense = 18 },
		{ { .status = SCSI_STATUS_CHECK_CONDITION, .size = 254 },
		    .device = 2, .sense = SCSI_SENSE },
	};
	struct iscsi_call call;

	target.sends = sizeof(buf);
	EACH_OF(i, row) {
		target.answer = row[i].a;
		call = a_call(i % 2 == 0);
		assert_int_equal(iscsi_link_do(&conn, &call), row[i].err);
		assert_int_equal(call.answer.device, row[i].device);
		assert_int_equal(call.answer.host, 0);
		assert_int_equal(call.answer.sense_len, row[i].sense);
		assert_true(call.answer.residual == row[i].residual);
		assert_int_equal(target.tasks, 0);
	}
}

/* Whatever the target says that it has sent. */
CASE(counts_the_blocks_that_were_sent)
{
	static const struct {
		size_t	sends, missing;	/* bytes */
		int64_t	residual;
	} row[] = { { 512, 0, 0 }, { 0, 0, 512 }, { 192, 0, 320 },
		{ 200, 0, 320 }, { 192, 384, 384 }, { 448, 64, 64 } };
	struct iscsi_call call;

	EACH_OF(i, row) {
		call = a_call(false);
		call.command.blocks = 8;
		call.command.block = BLOCK / 8;
		target.sends = row[i].sends;
		target.answer.missing = row[i].missing;
		target.answer.residual = row[i].missing > 0 ?
		    SCSI_RESIDUAL_UNDERFLOW : SCSI_RESIDUAL_NO_RESIDUAL;
		assert_int_equal(iscsi_link_do(&conn, &call), 0);
		assert_true(call.answer.residual == row[i].residual);
	}
}

CASE(is_served_by_its_reader)
{
	struct iscsi_call call;
	char why[8];
	int i;

	assert_int_equal(iscsi_link_start(&conn), 0);
	assert_int_equal(iscsi_link_start(&conn), 0);	/* there is one */
	for (i = 0; i < 20; i++) {
		call = a_call(i % 2 == 0);
		assert_int_equal(iscsi_link_do(&conn, &call), 0);
	}
	assert_false(iscsi_link_lost(&conn, why, sizeof(why)));
}

CASE(says_what_cannot_be_sent)
{
	static const char *const what[] = { "task", "data", "command" };
	struct iscsi_call call;
	size_t i;

	for (i = 0; i < 6; i++) {
		world.fails = what[i / 2];
		call = a_call(i % 2 == 0);
		assert_int_equal(iscsi_link_do(&conn, &call), ENOMEM);
		assert_false(iscsi_link_send(&conn, &call));
		assert_int_equal(target.tasks, 0);
	}
	world.fails = "data";			/* there is none */
	call = (struct iscsi_call){ .command = { .cdb =
	    (const unsigned char[6]){ 0 }, .cdb_size = 6 } };
	assert_int_equal(iscsi_link_do(&conn, &call), 0);
}

/* Whether the session was lost, and said so. */
static bool
lost(const char *words)
{
	struct iscsi_call late = a_call(false);
	char why[160];

	if (!iscsi_link_lost(&conn, why, sizeof(why)))
		return false;
	assert_string_equal(why, words);
	assert_int_equal(iscsi_link_do(&conn, &late), ENODEV);
	return true;
}

CASE(is_lost_with_its_connection)
{
	struct iscsi_call call[2] = { a_call(true), a_call(false) };

	world.mute = true;
	assert_true(iscsi_link_send(&conn, &call[0]));
	assert_true(iscsi_link_send(&conn, &call[1]));
	assert_false(lost(""));
	assert_false(call[0].over);
	target.broken = true;
	assert_true(lost(""));
	assert_true(call[0].over && call[1].over);
	assert_int_equal(call[0].err, ENODEV);
	assert_int_equal(call[1].err, ENODEV);
}

CASE(is_lost_when_the_target_hangs_up)
{
	struct iscsi_call call = a_call(false);

	assert_false(lost(""));
	target.closed = true;
	world.mute = true;
	assert_true(iscsi_link_send(&conn, &call));
	assert_false(lost(""));		/* the answer may be there still */
	world.mute = false;
	assert_true(lost(""));
	assert_true(call.over);			/* it was */
	assert_int_equal(call.err, 0);
}

CASE(is_lost_with_a_command)
{
	struct iscsi_call call = a_call(true);

	target.answer.status = SCSI_STATUS_ERROR;
	assert_int_equal(iscsi_link_do(&conn, &call), ENODEV);
	assert_true(lost(""));
}

/* Nothing is heard for the whole timeout, to the second. */
static void
passes_in_silence(void)
{
	int i;

	for (i = 0; i < TIMEOUT; i++) {
		world.now += SECOND;
		assert_false(lost(""));
	}
}

CASE(is_lost_when_no_data_is_taken)
{
	struct iscsi_call call = a_call(true);

	world.now = 100 * SECOND;		/* it was idle until then */
	world.mute = true;
	assert_true(iscsi_link_send(&conn, &call));
	passes_in_silence();
	world.now++;
	assert_true(lost("no answer within 5 seconds (timeout=)"));
	assert_int_equal(call.err, ENODEV);
}

/* Each for itself, from when it was sent on. */
CASE(gives_up_what_is_not_answered)
{
	struct iscsi_call call[3] = { a_call(false), a_call(false),
		a_call(false) };

	world.now = 100 * SECOND;
	world.mute = true;
	assert_true(iscsi_link_send(&conn, &call[0]));
	assert_true(iscsi_link_send(&conn, &call[1]));
	passes_in_silence();
	assert_true(iscsi_link_send(&conn, &call[2]));
	assert_false(call[0].over || call[1].over);
	world.now++;
	assert_false(lost(""));
	assert_true(call[0].over && call[1].over);
	assert_int_equal(call[0].err, 0);
	assert_int_equal(call[0].answer.host, SCSI_TIMED_OUT);
	assert_int_equal(call[1].answer.host, SCSI_TIMED_OUT);
	assert_int_equal(target.tasks, 1);
	world.mute = false;
	assert_false(lost(""));
	assert_true(call[2].over);
	assert_int_equal(call[2].answer.host, 0);
}

/* A command of which libiscsi has sent a part. */
CASE(gives_it_up_when_it_can)
{
	struct iscsi_call call = a_call(false);

	world.mute = target.keeps = true;
	assert_true(iscsi_link_send(&conn, &call));
	passes_in_silence();
	world.now++;
	assert_false(lost(""));
	assert_false(call.over);
	target.keeps = false;
	assert_false(lost(""));
	assert_true(call.over);
	assert_int_equal(call.answer.host, SCSI_TIMED_OUT);
}

/* The answers could not come in meanwhile. */
CASE(blames_nobody_for_time_in_which_it_stood_still)
{
	struct iscsi_call call[2] = { a_call(false), a_call(true) };

	world.mute = true;
	assert_true(iscsi_link_send(&conn, &call[0]));
	assert_true(iscsi_link_send(&conn, &call[1]));
	world.now += 100 * SECOND;
	assert_false(lost(""));
	assert_false(call[0].over || call[1].over);
	passes_in_silence();
	assert_false(call[0].over || call[1].over);
	world.mute = false;
	assert_false(lost(""));
	assert_false(lost(""));
	assert_true(call[0].over && call[1].over);
	assert_int_equal(call[0].answer.host, 0);
}

CASE(hands_over_what_lanes_have_begun)
{
	struct iscsi_call call[2] = { a_call(true), a_call(false) };
	struct io io[2] = { { .op = OP_WRITE }, { .op = OP_READ } };
	struct lane lane = { .over = NULL };
	eventfd_t rung;
	char why[8];
	int i;

	lane.last = &lane.over;
	for (i = 0; i < 2; i++) {
		call[i].flight = (struct call_head){ .lane = &lane, .io = &io[i] };
		assert_true(iscsi_link_send(&conn, &call[i]));
	}
	eventfd_write(conn.bell, 1);
	iscsi_link_service(&conn);
	assert_int_equal(eventfd_read(conn.bell, &rung), -1);
	assert_null(lane.over);			/* no answer yet */
	assert_false(iscsi_link_lost(&conn, why, sizeof(why)));
	assert_false(iscsi_link_lost(&conn, why, sizeof(why)));
	assert_int_equal(eventfd_read(conn.bell, &rung), 0);
	iscsi_link_service(&conn);
	assert_ptr_equal(lane.over, &io[0]);
	assert_ptr_equal(io[0].next, &io[1]);
	assert_null(io[1].next);
}

CASE(ends_a_command_once)
{
	struct iscsi_call call = a_call(false);
	iscsi_command_cb done;

	world.mute = true;
	assert_true(iscsi_link_send(&conn, &call));
	done = target.done[0];
	world.mute = false;
	assert_false(lost(""));
	assert_true(call.over);
	done(&target.context, SCSI_STATUS_CANCELLED, NULL, &call);
	assert_int_equal(call.err, 0);
	assert_false(lost(""));
}

#endif
