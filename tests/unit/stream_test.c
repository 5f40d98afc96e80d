/*
 * Ends that are read and written in order: the system calls made, and what
 * happens if these fail.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"
#include "base/clock.h"
#include "opened.h"
#include "poor.h"

enum { LEN = 8192 };

static unsigned char buf[LEN];
static struct io io;
static int halt[2], far;		/* the other end of a FIFO */

static int
set_up(void **state)
{
	far = -1;
	memset(buf, 'x', sizeof(buf));
	return named_begin(NULL, 0) != 0 || pipe(halt) != 0;
}

static int
tear_down(void **state)
{
	if (far >= 0)
		close(far);
	close(halt[0]);
	close(halt[1]);
	return named_end(state);
}

EACH(set_up, tear_down)

static void
ready(enum role role, unsigned flags)
{
	opened(role, flags);
	assert_int_equal(lane_attach(&lane, &end, 0, halt[0]), 0);
}

static void
over(void)
{
	assert_int_equal(lane_detach(&lane), 0);
	closed();
}

/* The end is a FIFO, of which the other end is "far". */
static void
open_fifo(enum role role)
{
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	far = open(name, O_RDWR | O_NONBLOCK);
	assert_true(far >= 0);
	ready(role, 0);
	assert_true(end.is.streamed);
	assert_false(end.is.seekable);
}

static void
transfer(enum op op, uint64_t off, size_t len)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len };
	lane_transfer(&lane, &io);
}

static void
sent(const char *text)
{
	assert_int_equal(write(far, text, strlen(text)), strlen(text));
}

/* ----------------------------------------------------------------- opening */

static void
refuses(enum role role, bool look, const char *call, int err, const char *says)
{
	unsigned were = count_open();

	deny_nothing();
	f = (struct fault){ 0 };
	deny(call, 0, 0, err);
	kernel.denial[0].times = EVER;
	assert_int_equal(endpoint_open(&end, role, &o, look, &f), -1);
	if (f.status != STATUS_ERRNO + err || strstr(f.text, says) == NULL)
		fail_msg("%s: %d, %s", call, f.status, f.text);
	assert_int_equal(count_open(), were);
}

CASE(says_what_the_kernel_refuses)
{
	o.oflag = FLAG_APPEND;
	o.iflag = FLAG_FLOCK;
	refuses(TARGET, false, "open", EACCES, name);
	refuses(TARGET, true, "faccessat", EROFS, name);
	o.oflag |= FLAG_FLOCK;
	refuses(TARGET, false, "flock", EAGAIN, "flock");
	deny_nothing();
	unlink(name);
	assert_int_equal(mkfifo(name, 0600), 0);
	far = open(name, O_RDWR | O_NONBLOCK);
	refuses(SOURCE, false, "flock", EAGAIN, "flock");
	refuses(SOURCE, true, "faccessat", EACCES, name);
	deny_nothing();
	assert_int_equal(endpoint_open(&end, SOURCE, &o, true, &f), 0);
	assert_int_equal(endpoint_close(&end), 0);
}

/* Whatever call for what it is fails. */
CASE(copes_where_it_cannot_look)
{
	unsigned were = count_open(), n;
	bool opens = false;

	o.oflag = FLAG_APPEND;
	for (n = 0; !opens; n++) {
		deny_nothing();
		f = (struct fault){ 0 };
		deny("fstat", 0, n, EIO);
		opens = endpoint_open(&end, TARGET, &o, false, &f) == 0;
		if (opens)
			assert_int_equal(endpoint_close(&end), 0);
		else
			assert_non_null(strstr(f.text, name));
		opens = opens && kernel.denial[0].times > 0;
		assert_int_equal(count_open(), were);
		assert_true(n < 20);
	}
}

CASE(needs_memory)
{
	o.oflag = FLAG_APPEND;
	poor_after(0);
	if (endpoint_open(&end, TARGET, &o, false, &f) == 0) {
		assert_false(poor_was());
		assert_int_equal(endpoint_close(&end), 0);
		return;
	}
	assert_true(poor_was());
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
}

/* ----------------------------------------------------------------- reading */

CASE(reads_on_after_an_interruption)
{
	uint64_t began;

	open_fifo(SOURCE);
	sent("abcdef");
	deny("poll", 0, 0, EINTR);
	deny("read", 0, 0, EINTR);
	deny("read", 0, 0, EAGAIN);
	deny("read", 0, 0, EAGAIN);
	began = clock_ns();
	transfer(OP_READ, 0, 6);
	assert_true(clock_ns() - began >= 15000000);	/* it has waited */
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 6);
	assert_memory_equal(buf, "abcdef", 6);
	deny_nothing();
	sent("abcdef");
	deny("read", 0, 0, EIO);
	transfer(OP_READ, 6, 6);
	assert_int_equal(io.err, EIO);
	assert_int_equal(io.done, 0);
	deny("poll", 0, 0, ENOMEM);
	transfer(OP_READ, 6, 6);
	assert_int_equal(io.err, ENOMEM);
	deny_nothing();
	assert_int_equal(write(halt[1], "", 1), 1);
	transfer(OP_READ, 6, 6);
	assert_int_equal(io.err, ECANCELED);
	transfer(OP_ZERO, 6, 6);
	assert_int_equal(io.err, EOPNOTSUPP);
	over();
}

/* What was not taken of a packet is there at the next read. */
CASE(takes_a_packet_in_parts)
{
	open_fifo(SOURCE);
	sent("0123456789");
	transfer(OP_READ, 0, 4);
	assert_int_equal(io.done, 4);
	assert_memory_equal(buf, "0123", 4);
	end.lim.end = 10;
	transfer(OP_READ, 6, 2);		/* two are left out */
	assert_int_equal(io.err, 0);
	assert_memory_equal(buf, "67", 2);
	transfer(OP_READ, 8, 2);
	assert_memory_equal(buf, "89", 2);
	end.lim.end = UINT64_MAX;
	sent("abc");
	close(far);
	far = -1;
	transfer(OP_READ, 20, 4);		/* it ends before */
	assert_int_equal(io.err, ESPIPE);
	over();
}

CASE(goes_where_it_is_to_read)
{
	int fd = open(name, O_WRONLY);

	assert_int_equal(write(fd, "0123456789", 10), 10);
	close(fd);
	kernel.fs = 0x9fa0;			/* as in /proc */
	ready(SOURCE, 0);
	transfer(OP_READ, 4, 2);
	assert_int_equal(io.err, 0);
	assert_memory_equal(buf, "45", 2);
	deny("lseek", SEEK_SET, 0, ESPIPE);	/* it reads up to there */
	transfer(OP_READ, 8, 2);
	assert_int_equal(io.err, 0);
	assert_memory_equal(buf, "89", 2);
	transfer(OP_READ, 100, 2);
	assert_int_equal(io.err, ESPIPE);
	deny("lseek", SEEK_SET, 0, 0);		/* it goes nowhere */
	deny("read", 0, 0, EIO);
	transfer(OP_READ, 200, 2);
	assert_int_equal(io.err, EIO);
	over();
}

/* ----------------------------------------------------------------- writing */

static void
appends(uint64_t off, int err)
{
	memset(buf, 'a', 4);
	transfer(OP_WRITE, off, 4);
	assert_int_equal(io.err, err);
	assert_int_equal(io.done, err == 0 ? 4 : io.done);
	assert_true(io.spent);
}

static void
open_to_append(void)
{
	ready(TARGET, FLAG_APPEND);
	assert_int_equal(endpoint_prepare(&end, 0600, -1, &f), 0);
}

CASE(writes_on_after_an_interruption)
{
	uint64_t began;

	open_to_append();
	deny("write", 0, 0, EINTR);
	deny("write", 0, 0, EAGAIN);
	deny("write", 0, 0, EAGAIN);
	began = clock_ns();
	appends(0, 0);
	assert_true(clock_ns() - began >= 15000000);	/* it has waited */
	deny_nothing();
	deny("write", 0, 0, 0);
	appends(4, EIO);
	deny("write", 0, 0, ENOSPC);
	appends(4, ENOSPC);
	appends(4, 0);
	over();
}

CASE(sees_that_others_write_there_too)
{
	int fd = open(name, O_WRONLY | O_APPEND);

	open_to_append();
	appends(0, 0);
	assert_int_equal(write(fd, "others", 6), 6);
	appends(4, EIO);
	assert_int_equal(io.status, STATUS_FILE);
	assert_non_null(strstr(io.why, "at byte 4 of it is at byte 10"));
	assert_int_equal(ftruncate(fd, 2), 0);
	appends(14, EIO);
	assert_non_null(strstr(io.why, "truncated at byte 2"));
	over();
	/* between its looking and its writing */
	open_to_append();
	appends(2, 0);
	deny("fstat", 0, 0, EIO);		/* it cannot look */
	assert_int_equal(ftruncate(fd, 1), 0);
	appends(6, EIO);
	assert_non_null(strstr(io.why, "truncated at byte 1"));
	over();
	close(fd);
}

CASE(does_not_ask_where_that_is_not_known)
{
	open_to_append();
	deny("lseek", SEEK_CUR, 0, EIO);
	appends(0, 0);
	deny("lseek", SEEK_CUR, 0, 0);		/* it is at the beginning */
	appends(4, 0);
	deny("fstat", 0, 0, EIO);
	appends(8, 0);
	over();
}

/* ------------------------------------------------------------- at the end */

static void
kept(int status, const char *says)
{
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_check_kept(&end, 0, 4, 0, &f),
	    status == 0 ? 0 : -1);
	if (f.status != status || (status != 0 && strstr(f.text, says) == NULL))
		fail_msg("%d: %s", f.status, f.text);
}

CASE(says_what_was_lost)
{
	open_to_append();
	appends(0, 0);
	deny("fdatasync", 0, 0, EINVAL);	/* there is no medium */
	assert_int_equal(endpoint_flush(&end, &f), 0);
	deny("fdatasync", 0, 0, EIO);
	assert_int_equal(endpoint_flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EIO);
	assert_non_null(strstr(f.text, "flushing"));
	kept(0, "");
	deny("fstat", 0, 0, EIO);
	kept(STATUS_ERRNO + EIO, "at the end");
	assert_int_equal(truncate(name, 2), 0);
	kept(STATUS_FILE, "truncated at byte 2");
	deny("close", 0, 0, EIO);
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&end), EIO);
}

CASE(begins_at_the_end_of_what_the_shell_has_opened)
{
	int kept_out = fcntl(1, F_DUPFD_CLOEXEC, 10);
	int fd = open(name, O_WRONLY), failed;

	assert_int_equal(write(fd, "old", 3), 3);
	o.output = NULL;
	o.oflag = FLAG_APPEND;
	fflush(stdout);
	assert_int_equal(dup2(fd, 1), 1);
	failed = endpoint_open(&end, TARGET, &o, false, &f);
	if (failed == 0) {
		deny("fcntl", F_SETFL, 0, EIO);
		failed = endpoint_prepare(&end, 0600, -1, &f) == -1 ?
		    endpoint_prepare(&end, 0600, -1, &f) : 1;
		endpoint_close(&end);
	}
	assert_true((fcntl(1, F_GETFL) & O_APPEND) != 0);
	dup2(kept_out, 1);
	close(kept_out);
	close(fd);
	assert_int_equal(failed, 0);
	assert_int_equal(end.lim.base, 3);
	assert_int_equal(f.status, STATUS_ERRNO + EIO);
}
