/*
 * control=: the socket, failing calls, and clients of every kind.
 */
#include "test.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include "copy/job.h"
#include "run/control.h"

static struct {			/* what fails once, after so many */
	const char	*call;
	int		 err;
	unsigned	 after;
} fails;

static char directory[] = "/tmp/pardd-unit.XXXXXX";
static struct control c;
static struct opts o;
static struct fault f;
static struct job job;
static struct tally t;
static struct endpoint zoned = { .geo.zone = 65536 };
static struct plan p = { .opts = &o, .dst = &zoned };

static bool
fail_it(const char *call)
{
	if (fails.call == NULL || strcmp(fails.call, call) != 0)
		return false;
	if (fails.after > 0) {
		fails.after--;
		return false;
	}
	fails.call = NULL;
	errno = fails.err;
	return true;
}

int
fchmod(int fd, mode_t mode)
{
	return fail_it("fchmod") ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int
socket(int family, int type, int protocol)
{
	return fail_it("socket") ? -1 : (int)syscall(SYS_socket, family, type,
	    protocol);
}

int
bind(int fd, const struct sockaddr *to, socklen_t n)
{
	return fail_it("bind") ? -1 : (int)syscall(SYS_bind, fd, to, n);
}

int
listen(int fd, int most)
{
	return fail_it("listen") ? -1 : (int)syscall(SYS_listen, fd, most);
}

int
connect(int fd, const struct sockaddr *to, socklen_t n)
{
	return fail_it("connect") ? -1 : (int)syscall(SYS_connect, fd, to, n);
}

int
getsockopt(int fd, int level, int name, void *to, socklen_t *n)
{
	return fail_it("getsockopt") ? -1 : (int)syscall(SYS_getsockopt, fd,
	    level, name, to, n);
}

int
accept4(int fd, struct sockaddr *from, socklen_t *n, int flags)
{
	return fail_it("accept4") ? -1 : (int)syscall(SYS_accept4, fd, from, n,
	    flags);
}

ssize_t
send(int fd, const void *from, size_t n, int flags)
{
	return fail_it("send") ? -1 : syscall(SYS_sendto, fd, from, n, flags,
	    NULL, 0);
}

ssize_t
recv(int fd, void *to, size_t n, int flags)
{
	return fail_it("recv") ? -1 : syscall(SYS_recvfrom, fd, to, n, flags,
	    NULL, NULL);
}

static int
enter(void **state)
{
	o.control = "socket";
	job.p = &p;
	job.rescue = NULL;
	return mkdtemp(directory) == NULL || chdir(directory) != 0 ||
	    map_init(&job.map, 1 << 20, 4096, 0) != 0;
}

static int
leave(void **state)
{
	map_free(&job.map);
	return chdir("/") != 0 || rmdir(directory) != 0;
}

ONCE(enter, leave)

static bool
is_socket(void)
{
	struct stat st;

	return lstat("socket", &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A socket that nobody listens to. */
static void
leave_one(void)
{
	struct sockaddr_un name = { AF_UNIX, "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
}

CASE(says_why_it_is_not_made)
{
	static const struct {
		const char	*call;
		int		 err;
		unsigned	 after;
		bool		 left;	/* one is in its place */
		int		 answer;
	} row[] = {
		{ "socket", EMFILE, 0, false, EMFILE },
		{ "fchmod", EPERM, 0, false, EPERM },
		{ "bind", EACCES, 0, false, EACCES },
		{ "bind", EROFS, 1, true, EROFS },
		{ "socket", EMFILE, 1, true, EEXIST },	/* who knows */
		{ "connect", EACCES, 0, true, EEXIST },
		{ "listen", EADDRINUSE, 0, false, EADDRINUSE },
		{ "connect", ECONNREFUSED, 0, false, EEXIST },
		{ "socket", EMFILE, 1, false, EEXIST },
		{ "getsockopt", ENOPROTOOPT, 0, false, EEXIST },
	};

	EACH_OF(i, row) {
		unlink("socket");
		if (row[i].left)
			leave_one();
		fails.call = row[i].call;
		fails.err = row[i].err;
		fails.after = row[i].after;
		assert_int_equal(control_open(&c, &o, &f), -1);
		assert_int_equal(f.status, status_errno(row[i].answer));
		assert_int_equal(strncmp(f.text, "control=socket: ", 16), 0);
		assert_null(fails.call);
		assert_true(c.ear == -1 && c.peer == -1 && c.path == NULL);
	}
	unlink("socket");
}

CASE(is_there_for_the_run)
{
	struct control other;

	leave_one();				/* of a run that was killed */
	assert_int_equal(control_look(&o, &f), 0);
	assert_int_equal(control_open(&c, &o, &f), 0);
	assert_true(is_socket());
	assert_int_equal(control_look(&o, &f), -1);
	assert_int_equal(control_open(&other, &o, &f), -1);
	assert_string_equal(f.text, "control=socket: File exists");
	assert_true(is_socket());		/* that of the first */
	unlink("socket");
	leave_one();
	control_close(&c);
	assert_true(is_socket());		/* it is another's */
	unlink("socket");
	assert_int_equal(control_look(&o, &f), 0);
	assert_int_equal(control_open(&c, &o, &f), 0);
	unlink("socket");
	control_close(&c);
	control_close(&c);
}

/* ------------------------------------------------------------------ clients */

static int
client(void)
{
	struct sockaddr_un name = { AF_UNIX, "socket" };
	struct timeval limit = { .tv_sec = 10 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)),
	    0);
	return fd;
}

static void
serve(void)
{
	struct pollfd fds[CONTROL_POLLS];

	control_polls(&c, fds);
	poll(fds, CONTROL_POLLS, 0);
	control_serve(&c, fds, &job, &t);
}

/* What the client gets for this; "": nothing, and it is hung up on. */
static const char *
ask(int fd, const char *line)
{
	static char text[600];
	ssize_t n;

	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
	serve();
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

CASE(answers_each_line)
{
	static char longest[80];
	int fd, second;

	assert_int_equal(control_open(&c, &o, &f), 0);
	serve();				/* our own look at it */
	serve();
	assert_int_equal(c.peer, -1);
	fd = client();
	fails.call = "accept4";
	fails.err = EMFILE;
	serve();				/* it waits */
	assert_int_equal(c.peer, -1);
	serve();				/* for a second */
	assert_int_equal(c.peer, -1);
	c.deaf = 0;
	serve();
	assert_true(c.peer >= 0);
	fails.call = "recv";
	fails.err = EINTR;
	assert_int_equal(write(fd, "non", 3), 3);
	serve();
	assert_string_equal(ask(fd, "sense\n"),
	    "error: status, rate=N, or ioprio=PRIORITY\n");
	assert_string_equal(ask(fd, "rate=2M\r\n"), "ok\n");
	assert_int_equal(job.rate.bytes, 2 << 20);
	assert_string_equal(ask(fd, "rate=1\nioprio=x\n"),
	    "error: rate= takes 4096 and more, or 0\n"
	    "error: ioprio= takes idle, be:0 to be:7, rt:0 to rt:7\n");
	assert_string_equal(ask(fd, "ioprio=be:5\n"), "ok\n");
	t = (struct tally){ .read = 7, .left = 5, .seconds = 1.5 };
	p.length = 12;
	assert_string_equal(ask(fd, "status\n"), "phase=copying bytes_read=7 "
	    "bytes_written=0 bytes_unreadable=0 bytes_finished=0 "
	    "bytes_left=unknown length=unknown seconds=1.500 rate=2097152 "
	    "ioprio=be:5 stopping=0 stalled=none stalled_seconds=0\n");
	p.bounded = true;
	assert_non_null(strstr(ask(fd, "status\n"),
	    " bytes_left=5 length=12 "));
	second = client();			/* in the place of the first */
	serve();
	assert_string_equal(ask(second, "rate=0\n"), "ok\n");
	assert_int_equal(job.rate.bytes, 0);
	p.pad = 1;
	p.claim = 8192;
	assert_string_equal(ask(second, "rate=1M\n"), "ok\n");
	assert_int_equal(job.map.chunk, 8192);
	p.zones = 2;			/* each with one writer at any rate */
	assert_string_equal(ask(second, "rate=1M\n"), "ok\n");
	assert_int_equal(job.map.chunk, 65536);
	close(fd);
	fails.call = "send";			/* it reads no answers */
	fails.err = EAGAIN;
	assert_string_equal(ask(second, "status\nstatus\n"), "");
	assert_int_equal(c.peer, -1);
	close(second);
	fd = client();
	serve();
	memset(longest, 'x', sizeof(longest) - 1);
	assert_string_equal(ask(fd, longest), "");
	assert_int_equal(c.peer, -1);
	close(fd);
	fd = client();				/* without a newline */
	serve();
	assert_int_equal(write(fd, "rate=8192", 9), 9);
	serve();
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	serve();
	assert_int_equal(job.rate.bytes, 8192);
	assert_int_equal(c.peer, -1);
	close(fd);
	control_close(&c);
	assert_false(is_socket());
}
