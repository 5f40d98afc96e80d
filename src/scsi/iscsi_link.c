/*
 * One session with an iSCSI target; its login and logout.
 *
 * libiscsi moves data when it is told that the socket is ready.  A thread that
 * sends a command lets it try at once.  Answers are read by the link's own
 * thread, the reader, which wakes waiters, and rings the bell for lanes that
 * do not wait.  It runs as long as there are lanes, so that pings of the target
 * are answered, and a missing answer is noticed in time.
 *
 * A failed session is not re-established: what the target had in its cache may
 * be lost with it, and the writer must learn of that.
 *
 * Time limits are our own: those of libiscsi go by the time of day, which can
 * be set, and run on while the process is stopped.
 *
 * A target can answer so that libiscsi does not return, or not before memory is
 * used up: it requests 4 GiB of a write of 1 MiB, or floods us with data.
 * Threads that need the lock then wait for ever; the main thread sees that
 * nobody releases it (endpoint_inside), and leaves.
 *
 *	l	link->lock, a leaf; held over sends and receives, which do
 *		not wait
 */
#include "config.h"

#ifdef HAVE_LIBISCSI
#include "iscsi_link.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/peer.h"
#include "base/status.h"

/*
 * Logging in to an iSCSI target, and out: libiscsi takes each step while we
 * serve its socket.  There is one thread then, and no lock.
 */

enum {
	FAREWELL = 1,		/* s to wait for the answer to a logout */
	REDIRECTS = 4,		/* at most, from portal to portal */
};

static void
step_over(struct iscsi_context *context, int status, void *data, void *arg)
{
	struct iscsi_stage *stage = arg;

	(void)context, (void)data;
	stage->over = true;
	stage->status = status;
}

static void
iscsi_login_begin(struct iscsi_link *link)
{
	link->stage = (struct iscsi_stage){ .status = SCSI_STATUS_ERROR };
}

/* The errno value of a refused connection, which libiscsi does not keep. */
static int
iscsi_connect_error(const struct iscsi_link *link, int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return link->stage.connects && getsockopt(fd, SOL_SOCKET, SO_ERROR,
	    &err, &len) == 0 ? err : 0;
}

/* Serve until the stage is over; false if it cannot be. */
static bool
iscsi_login_pass(struct iscsi_link *link, double until)
{
	const struct libiscsi *lib = link->lib;
	struct iscsi_stage *stage = &link->stage;
	struct pollfd p;
	double left;
	int n;

	while (!stage->over) {
		left = until - clock_seconds();
		p = (struct pollfd){ lib->iscsi_get_fd(link->context),
			(short)lib->iscsi_which_events(link->context), 0 };
		n = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			stage->status = SCSI_STATUS_TIMEOUT;
		if (n <= 0) {
			stage->err = n < 0 ? errno : 0;
			return false;
		}
		stage->err = iscsi_connect_error(link, p.fd);
		if (stage->err != 0 || (lib->iscsi_service(link->context,
		    p.revents) != 0 && !stage->over))
			return false;
	}
	return stage->status == SCSI_STATUS_GOOD;
}

static struct iscsi_context *
make_context(const struct libiscsi *lib, const struct iscsi_address *to)
{
	struct iscsi_context *c = lib->iscsi_create_context(to->initiator);
	uint32_t some;

	if (c == NULL)
		return NULL;
	/* Of two sessions with the same ISID, the first would end. */
	if (getrandom(&some, sizeof(some), 0) == sizeof(some))
		lib->iscsi_set_isid_random(c, some & 0xffffff, some >> 24);
	lib->iscsi_set_noautoreconnect(c, 1);
	lib->iscsi_set_reconnect_max_retries(c, 0);
	lib->iscsi_set_tcp_user_timeout(c, (int)to->timeout * 1000);
	lib->iscsi_set_session_type(c, ISCSI_SESSION_NORMAL);
	lib->iscsi_set_header_digest(c, ISCSI_HEADER_DIGEST_NONE_CRC32C);
	lib->iscsi_set_targetname(c, to->name.target);
	if (to->user != NULL)
		lib->iscsi_set_initiator_username_pwd(c, to->user,
		    to->password);
	if (to->user != NULL && to->target_user != NULL)
		lib->iscsi_set_target_username_pwd(c, to->target_user,
		    to->target_password);
	return c;
}

/* Report what libiscsi says, in one line. */
static int
iscsi_login_fail(const struct iscsi_link *link, const struct iscsi_address *to,
    const char *what, struct fault *f)
{
	const char *why = link->lib->iscsi_get_error(link->context);

	if (link->stage.status == SCSI_STATUS_TIMEOUT)
		return fault_set(f, STATUS_FILE, "%s: the target does not "
		    "answer within %u seconds (timeout=)", to->shown,
		    to->timeout);
	if (link->stage.err != 0)
		return fault_errno(f, link->stage.err, "%s: %s", to->shown,
		    what);
	if (why == NULL || why[0] == '\0')
		why = "the target has closed the connection";
	return fault_set(f, STATUS_FILE, "%s: %s: %.*s", to->shown, what,
	    (int)strcspn(why, "\n"), why);
}

/*
 * Connect and log in.  Returns 0, 1 if the target names another portal, or -1
 * with *f.
 */
static int
iscsi_login_once(struct iscsi_link *link, const struct iscsi_address *to,
    const char *portal, double until, struct fault *f)
{
	const struct libiscsi *lib = link->lib;

	iscsi_login_begin(link);
	link->stage.connects = true;
	if (lib->iscsi_connect_async(link->context, portal, step_over,
	    &link->stage) != 0 || !iscsi_login_pass(link, until))
		return iscsi_login_fail(link, to, "connecting", f);
	iscsi_login_begin(link);
	if (lib->iscsi_login_async(link->context, step_over,
	    &link->stage) == 0 && iscsi_login_pass(link, until))
		return 0;
	if (link->stage.over && link->stage.status == SCSI_STATUS_REDIRECT &&
	    lib->iscsi_get_target_address(link->context)[0] != '\0')
		return 1;
	return iscsi_login_fail(link, to, "logging in", f);
}

/*
 * Connect and log in within to->timeout, following each portal that the target
 * names.  Returns 0 with link->context; or -1 with *f and without one.
 */
static int
iscsi_login(struct iscsi_link *link, const struct iscsi_address *to,
    struct fault *f)
{
	const struct libiscsi *lib = link->lib;
	double until = clock_seconds() + to->timeout;
	char portal[ISCSI_WORD];
	int i, how = 1;

	strlcpy(portal, to->name.portal, sizeof(portal));
	for (i = 0; i < REDIRECTS && how > 0; i++) {
		link->context = make_context(lib, to);
		if (link->context == NULL)
			return fault_errno(f, ENOMEM, "%s", to->shown);
		how = iscsi_login_once(link, to, portal, until, f);
		if (how == 0)
			return 0;
		if (how > 0)
			strlcpy(portal, lib->iscsi_get_target_address(
			    link->context), sizeof(portal));
		lib->iscsi_destroy_context(link->context);
		link->context = NULL;
	}
	return how < 0 ? -1 : fault_set(f, STATUS_FILE, "%s: logging in: the "
	    "target names one portal after the other", to->shown);
}

/* Log out; waits for the answer for a second. */
static void
iscsi_logout(struct iscsi_link *link)
{
	iscsi_login_begin(link);
	if (link->lib->iscsi_logout_async(link->context, step_over,
	    &link->stage) == 0)
		iscsi_login_pass(link, clock_seconds() + FAREWELL);
}

enum {
	TICK = 1000,		/* ms between looks at the clock */
	CDB_MOST = 16,
};

/* --------------------------------------------------------------- the lock */

static void
iscsi_link_lock(struct iscsi_link *link)
{
	pthread_mutex_lock(&link->lock);
	link->holds++;
}

static void
iscsi_link_unlock(struct iscsi_link *link)
{
	link->holds++;
	pthread_mutex_unlock(&link->lock);
}

/* Wait for the end of a call, with link->lock, which is not held meanwhile. */
static void
wait_moved(struct iscsi_link *link)
{
	link->holds++;
	pthread_cond_wait(&link->moved, &link->lock);
	link->holds++;
}

/* ------------------------------------------------------------- the calls */

/*
 * The time of the link, in ns: time for which we were stopped is left out.
 * Called at least once a second while calls are in flight.
 */
static uint64_t
iscsi_link_now(struct iscsi_link *link)
{
	link->stood += clock_missed(&link->looked);
	return link->looked - link->stood;
}

/* Whether the time limit has passed since then. */
static bool
iscsi_link_late(struct iscsi_link *link, uint64_t since)
{
	return iscsi_link_now(link) - since > (uint64_t)link->timeout *
	    1000000000;
}

/*
 * libiscsi does not count the data that arrives.  So the end of each block that
 * is to be read gets a mark, and a block that still has it was not sent.
 */
static bool
iscsi_block_marked(const struct scsi_command *c)
{
	return !c->write && c->cdb == NULL;
}

static unsigned char *
mark_of(const struct iscsi_link *link, const struct scsi_command *c, uint32_t i)
{
	return (unsigned char *)c->buf + ((size_t)i + 1) * c->block -
	    sizeof(link->mark);
}

static void
iscsi_mark_blocks(const struct iscsi_link *link, const struct scsi_command *c)
{
	uint32_t i;

	for (i = 0; iscsi_block_marked(c) && i < c->blocks; i++)
		memcpy(mark_of(link, c, i), &link->mark, sizeof(link->mark));
}

/* The bytes from the first block on that was not sent. */
static int64_t
iscsi_bytes_missing(const struct iscsi_link *link, const struct scsi_command *c)
{
	uint32_t i = 0;

	while (iscsi_block_marked(c) && i < c->blocks &&
	    memcmp(mark_of(link, c, i), &link->mark, sizeof(link->mark)) != 0)
		i++;
	return iscsi_block_marked(c) ? (int64_t)(c->blocks - i) * c->block : 0;
}

/* Take the target's answer; the task belongs to libiscsi. */
static void
take_answer(struct iscsi_call *call, int status, const struct scsi_task *task)
{
	struct scsi_answer *a = &call->answer;
	const unsigned char *data = task->datain.data;
	int64_t lacks = iscsi_bytes_missing(call->link, &call->command);
	size_t n = 0;

	a->device = (unsigned)status;
	if (task->residual_status == SCSI_RESIDUAL_UNDERFLOW)
		a->residual = (int64_t)task->residual;
	else if (task->residual_status == SCSI_RESIDUAL_OVERFLOW)
		a->residual = -(int64_t)task->residual - 1;
	if (a->residual >= 0 && a->residual < lacks)
		a->residual = lacks;
	if (status != SCSI_STATUS_CHECK_CONDITION || data == NULL)
		return;
	if (task->datain.size > 2)	/* data follows its length: RFC 7143
					 * 11.4.7 */
		n = (size_t)task->datain.size - 2;
	if (n > sizeof(a->sense))
		n = sizeof(a->sense);
	memcpy(a->sense, data + 2, n);
	a->sense_len = (unsigned)n;
}

/* A call is over.  Called with link->lock held. */
static void
iscsi_call_finish(struct iscsi_call *call)
{
	struct iscsi_link *link = call->link;
	struct iscsi_call **at = &link->sent;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	call->over = true;
	link->writes -= call->command.write;
	link->heard = iscsi_link_now(link);
	if (call->flight.lane == NULL) {
		pthread_cond_broadcast(&link->moved);
		return;
	}
	call->next = NULL;
	*link->last = call;
	link->last = &call->next;
	link->ring = true;
}

static void
iscsi_link_lose(struct iscsi_link *link, const char *why)
{
	if (link->lost)
		return;
	link->lost = true;
	strlcpy(link->why, why, sizeof(link->why));
}

/* Called by libiscsi when a command is over, with link->lock held. */
static void
iscsi_link_ended(struct iscsi_context *context, int status, void *data,
    void *arg)
{
	struct iscsi_call *call = arg;
	struct scsi_task *task = data;
	struct iscsi_link *link = call->link;

	(void)context;
	if (call->over)
		return;
	if (status >= 0 && status <= 0xff && task != NULL) {
		take_answer(call, status, task);
	} else if (call->late) {
		call->answer.host = SCSI_TIMED_OUT;
	} else {
		iscsi_link_lose(link, "");
		call->err = ENODEV;
	}
	iscsi_call_finish(call);
	if (task != NULL)
		link->lib->scsi_free_scsi_task(task);
}

/* Whether the other side has closed the connection, if nobody polls for it. */
static bool
hung_up(const struct iscsi_link *link)
{
	char c;

	return link->sent == NULL && recv(link->fd, &c, 1, MSG_PEEK |
	    MSG_DONTWAIT) == 0;
}

/*
 * Give up calls without an answer in time.  Not a write, of which libiscsi may
 * have sent a part: see overdue.
 */
static void
iscsi_link_expire(struct iscsi_link *link)
{
	struct iscsi_call *call, *next;

	for (call = link->sent; call != NULL; call = next) {
		next = call->next;
		if (call->command.write || !iscsi_link_late(link, call->since))
			continue;
		call->late = true;
		if (link->lib->iscsi_scsi_cancel_task(link->context,
		    call->task) != 0)
			call->late = false;	/* it is being sent: later */
	}
}

/*
 * libiscsi sends a write in parts as small as the target takes, often of 8 KiB,
 * and first the header of each, which would be a packet of its own.  With a
 * cork they are joined: a third less work here, and a fifth at the target.
 */
static void
iscsi_link_cork(const struct iscsi_link *link, int on)
{
	setsockopt(link->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

static int
iscsi_link_serve_ready(struct iscsi_link *link, short events)
{
	bool much = link->writes > 0 && (events & POLLOUT) != 0;
	int failed;

	if (much)
		iscsi_link_cork(link, 1);
	failed = link->lib->iscsi_service(link->context, events);
	if (much && failed == 0)
		iscsi_link_cork(link, 0);
	return failed;
}

/*
 * Let libiscsi do what the socket is ready for.  Called with link->lock held.
 */
static void
iscsi_link_serve(struct iscsi_link *link, short events)
{
	char why[64];

	if (link->lost)
		return;
	if (iscsi_link_serve_ready(link, events) != 0 ||
	    ((events & POLLIN) != 0 && hung_up(link))) {
		iscsi_link_lose(link, "");
	} else if (link->writes > 0 && iscsi_link_late(link, link->heard)) {
		/* the target takes no more data */
		snprintf(why, sizeof(why), "no answer within %u seconds "
		    "(timeout=)", link->timeout);
		iscsi_link_lose(link, why);
	}
	if (link->lost)
		link->lib->iscsi_scsi_cancel_all_tasks(link->context);
	else
		iscsi_link_expire(link);
	if (link->ring)
		eventfd_write(link->bell, 1);
	link->ring = false;
}

static short
iscsi_link_events(const struct iscsi_link *link)
{
	return (short)link->lib->iscsi_which_events(link->context);
}

/*
 * Wait for the socket, and serve it. link->lock is held, but not while waiting.
 */
static void
iscsi_link_poll(struct iscsi_link *link)
{
	struct pollfd p[2] = { { .fd = link->kick, .events = POLLIN },
		{ .fd = link->lost ? -1 : link->fd } };
	eventfd_t any;
	int n;

	link->watched = p[1].events = link->lost ? 0 : iscsi_link_events(link);
	iscsi_link_unlock(link);
	n = poll(p, 2, TICK);
	iscsi_link_lock(link);
	link->watched = -1;		/* everything: it looks at the socket
					 * anyway */
	if (n > 0 && p[0].revents != 0)
		eventfd_read(link->kick, &any);
	iscsi_link_serve(link, n > 0 ? p[1].revents : 0);
}

static void *
iscsi_link_thread(void *arg)
{
	struct iscsi_link *link = arg;

	iscsi_link_lock(link);
	while (!link->quit)
		iscsi_link_poll(link);
	iscsi_link_unlock(link);
	return NULL;
}

/* Make a task for a call; NULL without memory. */
static struct scsi_task *
make_task(const struct iscsi_link *link, const struct iscsi_call *call)
{
	const struct libiscsi *lib = link->lib;
	const struct scsi_command *c = &call->command;
	unsigned char cdb[CDB_MOST];
	unsigned size = scsi_cdb(cdb, c);
	int len = (int)scsi_data_length(c), failed = 0;
	struct scsi_task *task = lib->scsi_create_task((int)size, cdb,
	    len == 0 ? SCSI_XFER_NONE : c->write ? SCSI_XFER_WRITE :
	    SCSI_XFER_READ, len);

	if (task == NULL || len == 0)
		return task;
	failed = c->write ?
	    lib->scsi_task_add_data_out_buffer(task, len, c->buf) :
	    lib->scsi_task_add_data_in_buffer(task, len, c->buf);
	if (failed == 0)
		return task;
	lib->scsi_free_scsi_task(task);
	return NULL;
}

static bool
iscsi_link_queue(struct iscsi_link *link, struct iscsi_call *call)
{
	const struct libiscsi *lib = link->lib;

	call->task = make_task(link, call);
	if (call->task == NULL)
		return false;
	if (lib->iscsi_scsi_command_async(link->context, link->lun, call->task,
	    iscsi_link_ended, NULL, call) == 0)
		return true;
	lib->scsi_free_scsi_task(call->task);
	return false;
}

static bool
iscsi_send_locked(struct iscsi_link *link, struct iscsi_call *call)
{
	call->link = link;
	call->over = call->late = false;
	call->answer = (struct scsi_answer){ .device = 0 };
	call->err = link->lost ? ENODEV : iscsi_link_queue(link, call) ? 0 :
	    ENOMEM;
	if (call->err != 0) {
		call->over = true;
		return false;
	}
	call->next = link->sent;
	link->sent = call;
	call->since = iscsi_link_now(link);
	if (link->writes == 0)
		link->heard = call->since;
	link->writes += call->command.write;
	iscsi_link_serve(link, POLLOUT);
	if (link->started && !link->lost &&
	    (iscsi_link_events(link) & ~link->watched) != 0)
		eventfd_write(link->kick, 1);
	return true;
}

bool
iscsi_link_send(struct iscsi_link *link, struct iscsi_call *call)
{
	bool sent;

	iscsi_mark_blocks(link, &call->command);
	iscsi_link_lock(link);
	sent = iscsi_send_locked(link, call);
	iscsi_link_unlock(link);
	return sent;
}

int
iscsi_link_do(struct iscsi_link *link, struct iscsi_call *call)
{
	iscsi_mark_blocks(link, &call->command);
	iscsi_link_lock(link);
	iscsi_send_locked(link, call);
	while (!call->over)
		if (link->started)
			wait_moved(link);
		else
			iscsi_link_poll(link);
	iscsi_link_unlock(link);
	return call->err;
}

void
iscsi_link_service(struct iscsi_link *link)
{
	struct iscsi_call *call, *next;
	eventfd_t any;

	eventfd_read(link->bell, &any);
	iscsi_link_lock(link);
	call = link->over;
	link->over = NULL;
	link->last = &link->over;
	iscsi_link_unlock(link);
	for (; call != NULL; call = next) {
		next = call->next;
		lane_over(call->flight.lane, call->flight.io);
	}
}

bool
iscsi_link_lost(struct iscsi_link *link, char *why, size_t room)
{
	bool lost;

	iscsi_link_lock(link);
	if (!link->started && !link->lost)
		iscsi_link_serve(link, POLLIN);
	lost = link->lost;
	strlcpy(why, link->why, room);
	iscsi_link_unlock(link);
	return lost;
}

/* ------------------------------------------------------------ the session */

int
iscsi_link_open(struct iscsi_link *link, const struct libiscsi *lib,
    const struct iscsi_address *to, struct fault *f)
{
	int failed;

	*link = (struct iscsi_link){ .lib = lib, .lun = to->name.lun,
		.timeout = to->timeout,
		.kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	link->last = &link->over;
	if (getrandom(&link->mark, sizeof(link->mark), 0) != sizeof(link->mark))
		link->mark = clock_ns() * 0x9e3779b97f4a7c15;
	pthread_mutex_init(&link->lock, NULL);
	pthread_cond_init(&link->moved, NULL);
	failed = link->kick < 0 || link->bell < 0 ? fault_errno(f, errno,
	    "%s", to->shown) : iscsi_login(link, to, f);
	if (failed != 0) {
		iscsi_link_close(link);
		return -1;
	}
	link->fd = lib->iscsi_get_fd(link->context);
	(void)fcntl(link->fd, F_SETFD, FD_CLOEXEC);
	peer_address(link->fd, link->peer, sizeof(link->peer));
	return 0;
}

int
iscsi_link_start(struct iscsi_link *link)
{
	int err = 0;

	iscsi_link_lock(link);
	if (!link->started)
		err = pthread_create(&link->reader, NULL, iscsi_link_thread,
		    link);
	link->started = err == 0;
	iscsi_link_unlock(link);
	return err;
}

static void
iscsi_link_stop(struct iscsi_link *link)
{
	iscsi_link_lock(link);
	link->quit = true;
	iscsi_link_unlock(link);
	eventfd_write(link->kick, 1);
	pthread_join(link->reader, NULL);
}

void
iscsi_link_close(struct iscsi_link *link)
{
	if (link->started)
		iscsi_link_stop(link);
	if (link->context != NULL && !link->lost)
		iscsi_logout(link);
	if (link->context != NULL)
		link->lib->iscsi_destroy_context(link->context);
	if (link->kick >= 0)
		close(link->kick);
	if (link->bell >= 0)
		close(link->bell);
	pthread_cond_destroy(&link->moved);
	pthread_mutex_destroy(&link->lock);
}

#endif
