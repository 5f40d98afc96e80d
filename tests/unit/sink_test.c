/*
 * Where lines for programs go: what is a sink and what is not, in a directory
 * of its own, and what happens to a line that cannot be written.
 */
#include "test.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "../tools/preload.h"
#include "record/events.h"

enum { HIGH = 200 };		/* a descriptor that nobody has */

static struct {
	int	 flock_err;
	int	 cut_err;		/* of ftruncate */
	int	 write_err[4];		/* 0: as it is; -1: half of it */
	unsigned written;
	int	 polled[4];		/* what poll returns; -1: EINTR */
	unsigned polls;
	bool	 appears;		/* another run makes the file */
	const char *at;
} calls;

static char directory[] = "/tmp/pardd-unit.XXXXXX";
static struct sink s;
static struct opts o;
static struct fault f;
static char *words[4] = { NULL };

int
flock(int fd, int how)
{
	if (calls.flock_err == 0)
		return (int)syscall(SYS_flock, fd, how);
	errno = calls.flock_err;
	return -1;
}

int
ftruncate(int fd, off_t size)
{
	REAL_OF(real, ftruncate, LARGE("ftruncate"));
	if (calls.cut_err == 0)
		return real(fd, size);
	errno = calls.cut_err;
	return -1;
}

ssize_t
write(int fd, const void *from, size_t n)
{
	int err = fd < HIGH && fd > STDERR_FILENO && calls.written < 4 ?
	    calls.write_err[calls.written++] : 0;

	if (err <= 0)
		return syscall(SYS_write, fd, from, err < 0 ? n / 2 : n);
	errno = err;
	return -1;
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	int result = calls.polls < 4 ? calls.polled[calls.polls++] : 1;

	p->revents = POLLOUT;
	errno = EINTR;
	return result;
}

int
openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & O_CREAT) != 0)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (calls.appears && (flags & O_CREAT) != 0) {
		calls.appears = false;
		close((int)syscall(SYS_openat, dir, path, O_WRONLY | O_CREAT,
		    0600));
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static int
begin(void **state)
{
	memset(&calls, 0, sizeof(calls));
	calls.polls = 4;
	s = (struct sink){ .fd = -1, .key = "json" };
	o = (struct opts){ .argc = 1, .argv = words, .targets = 1,
		.input = "in", .output = "out" };
	return 0;
}

EACH(begin, NULL)

static int
enter(void **state)
{
	return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int
leave(void **state)
{
	static const char *const made[] = { "file", "fifo", "link", "map",
		"map.bak", "other", "device" };

	EACH_OF(i, made)
		unlink(made[i]);
	return chdir("/") != 0 || rmdir(directory) != 0;
}

ONCE(enter, leave)

/* The status of opening it; f.text says why. */
static int
opened(const char *name)
{
	int failed;

	f = (struct fault){ .text = "" };
	s.name = name;
	s.fd = -1;
	s.named = s.regular = false;
	failed = sink_open(&s, &o, &f);
	assert_true(failed == 0 || s.fd == -1);
	return failed == 0 ? 0 : f.status;
}

static void
put_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static bool
has(const char *name, const char *text)
{
	char got[100] = "";
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	fclose(file);
	return strcmp(got, text) == 0;
}

CASE(takes_a_file_of_its_own)
{
	unlink("file");
	assert_int_equal(opened("file"), 0);
	assert_true(s.regular && s.named);
	assert_int_equal(sink_put(&s, "a\n", 2, 0), 0);
	assert_int_equal(sink_close(&s), 0);
	assert_int_equal(opened("file"), 0);	/* and anew */
	assert_true(has("file", ""));
	assert_int_equal(sink_close(&s), 0);
	unlink("file");
	calls.appears = true;			/* meanwhile */
	assert_int_equal(opened("file"), 0);
	assert_int_equal(sink_close(&s), 0);
	assert_int_equal(sink_close(&s), 0);
}

CASE(adds_to_a_journal)
{
	s.journal = true;
	s.key = "log";
	put_file("file", "whole\n");
	assert_int_equal(opened("file"), 0);
	assert_int_equal(sink_put(&s, "b\n", 2, 0), 0);
	assert_int_equal(sink_close(&s), 0);
	assert_true(has("file", "whole\nb\n"));
	put_file("file", "half");		/* of a line */
	assert_int_equal(opened("file"), 0);
	assert_int_equal(sink_put(&s, "c\n", 2, 0), 0);
	assert_int_equal(sink_close(&s), 0);
	assert_true(has("file", "half\nc\n"));
	put_file("file", "");
	assert_int_equal(opened("file"), 0);
	assert_int_equal(sink_close(&s), 0);
	assert_true(has("file", ""));
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(opened("fifo"), STATUS_REFUSED);
	assert_string_equal(f.text, "log=fifo: is not a regular file");
	assert_int_equal(opened("1"), 0);	/* no descriptor */
	assert_true(s.named);
	assert_int_equal(sink_close(&s), 0);
	unlink("1");
	unlink("fifo");
}

CASE(refuses_what_it_would_spoil)
{
	static char input[] = "if=map", map[] = "map=map", cut[] = "nothing";
	static char own[] = "json=map";
	char longest[PATH_MAX + 10];

	o.argc = 4;
	words[1] = own;
	words[2] = cut;
	words[3] = input;
	put_file("map", "x");
	put_file("map.bak", "y");
	assert_int_equal(link("map", "other"), 0);
	assert_int_equal(opened("other"), STATUS_REFUSED);
	assert_string_equal(f.text,
	    "json=other: is used for something else, too");
	words[3] = map;
	assert_int_equal(opened("map.bak"), STATUS_REFUSED);
	assert_true(has("map", "x") && has("map.bak", "y"));
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "map=", 4);
	longest[sizeof(longest) - 1] = '\0';
	words[3] = longest;
	assert_int_equal(opened("map.bak"), 0);	/* no file is called so */
	assert_int_equal(sink_close(&s), 0);
	assert_int_equal(symlink("map", "link"), 0);
	assert_int_equal(opened("link"), STATUS_REFUSED);
	assert_string_equal(f.text, "json=link: is a symbolic link");
	assert_int_equal(opened("."), STATUS_REFUSED);
	assert_string_equal(f.text,
	    "json=.: is neither a regular file nor a FIFO");
	assert_int_equal(opened("/dev/null"), STATUS_REFUSED);
	assert_string_equal(f.text, "json=/dev/null: is in the device file system");
	assert_int_equal(opened("none/file"), STATUS_ERRNO + ENOENT);
	assert_string_equal(f.text, "json=none/file: there is no directory none");
	assert_int_equal(opened("map/file"), STATUS_ERRNO + ENOTDIR);
	o.argc = 1;
	calls.flock_err = EWOULDBLOCK;
	assert_int_equal(opened("map"), STATUS_REFUSED);
	assert_string_equal(f.text,
	    "json=map: another run is writing it");
	assert_true(has("map", "x"));
	calls.flock_err = ENOLCK;		/* without locks there */
	calls.cut_err = EIO;
	assert_int_equal(opened("map"), STATUS_ERRNO + EIO);
	assert_string_equal(f.text, "json=map: Input/output error");
	o.mode = MODE_DRY_RUN;
	assert_int_equal(opened("map"), 0);
	assert_int_equal(s.fd, -1);
	assert_int_equal(opened("file2"), 0);
	assert_int_equal(access("file2", F_OK), -1);	/* only looked */
	assert_true(has("map", "x"));
}

/* What is open already, by its number. */
CASE(takes_a_descriptor_that_is_no_end)
{
	char name[32], digits[] = "99999999999999999999";
	int out[2], fd, refused, taken;

	assert_int_equal(pipe(out), 0);
	snprintf(name, sizeof(name), "%d", out[1]);
	assert_int_equal(opened(name), 0);
	assert_int_equal(s.fd, out[1]);
	assert_false(s.regular || s.named);
	assert_int_equal(sink_close(&s), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", out[1]);
	assert_int_equal(opened(name), 0);
	snprintf(name, sizeof(name), "%d", out[0]);	/* read-only */
	assert_int_equal(opened(name), STATUS_ERRNO + EBADF);
	assert_int_equal(opened("1000"), STATUS_ERRNO + EBADF);
	assert_int_equal(opened(digits), STATUS_ERRNO + EBADF);
	assert_int_not_equal(opened("/dev/fd/"), 0);	/* without a number */
	fd = open("map", O_PATH);
	snprintf(name, sizeof(name), "%d", fd);
	assert_int_equal(opened(name), STATUS_ERRNO + EBADF);
	close(fd);
	fd = open("/dev/null", O_WRONLY);
	snprintf(name, sizeof(name), "%d", fd);
	assert_int_equal(opened(name), 0);
	close(fd);
	fd = open("/dev/zero", O_WRONLY);
	snprintf(name, sizeof(name), "%d", fd);
	assert_int_equal(opened(name), STATUS_REFUSED);
	assert_non_null(strstr(f.text, "is a device"));
	close(fd);
	/* standard output, which is a target as well */
	fd = dup(STDOUT_FILENO);
	assert_true(dup2(out[1], STDOUT_FILENO) >= 0);
	o.targets = 3;
	o.target[1] = "other";
	o.target[2] = "-";
	refused = opened("/dev/stdout");
	o.targets = 2;
	taken = opened("-");
	dup2(fd, STDOUT_FILENO);
	assert_int_equal(refused, STATUS_REFUSED);
	assert_int_equal(taken, 0);
	close(fd);
	close(out[0]);
	close(out[1]);
}

static unsigned
count_open(void)
{
	unsigned n = 0;
	int fd;

	for (fd = 0; fd < HIGH; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Of a file that was there, too. */
CASE(keeps_one_descriptor)
{
	unsigned before = count_open();

	put_file("file", "");
	assert_int_equal(opened("file"), 0);
	assert_int_equal(count_open(), before + 1);
	assert_int_equal(sink_close(&s), 0);
	assert_int_equal(count_open(), before);
}

CASE(loses_no_part_of_a_line)
{
	int out[2];

	unlink("file");
	assert_int_equal(opened("file"), 0);
	assert_int_equal(sink_put(&s, "first\n", 6, 0), 0);
	calls.written = 0;
	calls.write_err[0] = -1;		/* half, and no room for more */
	calls.write_err[1] = EINTR;
	calls.write_err[2] = ENOSPC;
	assert_int_equal(sink_put(&s, "second\n", 7, 0), ENOSPC);
	assert_true(has("file", "first\n"));
	calls.written = 0;
	calls.write_err[0] = ENOSPC;		/* at once */
	assert_int_equal(sink_put(&s, "second\n", 7, 0), ENOSPC);
	calls.written = 4;
	assert_int_equal(sink_put(&s, "third\n", 6, 0), 0);
	assert_true(has("file", "first\nthird\n"));
	calls.written = 0;
	calls.write_err[0] = -1;		/* half, and then the rest */
	calls.write_err[1] = 0;
	assert_int_equal(sink_put(&s, "fourth\n", 7, 0), 0);
	assert_true(has("file", "first\nthird\nfourth\n"));
	calls.written = 0;
	calls.write_err[0] = -1;
	calls.write_err[1] = ENOSPC;
	calls.cut_err = EIO;			/* it cannot be taken back */
	assert_int_equal(sink_put(&s, "five\n", 5, 0), ENOSPC);
	assert_true(has("file", "first\nthird\nfourth\nfi"));
	assert_int_equal(sink_close(&s), 0);
	/* a pipe that nobody reads */
	assert_int_equal(pipe(out), 0);
	s = (struct sink){ .fd = out[1] };
	calls.polls = 0;
	calls.polled[0] = -1;
	calls.polled[1] = 0;
	calls.written = 4;
	assert_int_equal(sink_put(&s, "x\n", 2, 10), ETIMEDOUT);
	assert_int_equal(calls.polls, 2);
	calls.polls = 4;
	assert_int_equal(sink_put(&s, "x\n", 2, 10), 0);
	calls.written = 0;
	calls.write_err[0] = EPIPE;
	assert_int_equal(sink_put(&s, "x\n", 2, 10), EPIPE);
	close(out[0]);
	close(out[1]);
}
