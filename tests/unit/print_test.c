/*
 * Lines on standard error: all of them arrive, in as many pieces as necessary,
 * unless a signal arrives first or they cannot be written; and how they are
 * held back.
 */
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/print.h"

enum { SCRIPT = 4, LONG = 5000 };

static struct {
	char	 text[8 * LONG];
	size_t	 n;
	int	 result[SCRIPT];	/* of write: bytes at most, -errno, or 0
					 * for all */
	unsigned writes, full;		/* how often poll says so first */
	int	 waited;		/* ms */
	bool	 terminal;
	unsigned short columns;	/* of it; 0: 80 */
	int	 fails;			/* a descriptor in so many calls, or 0 */
} err;

/* -------------------------------------------- in the place of the C library */

ssize_t
write(int fd, const void *buf, size_t len)
{
	int is = err.writes < SCRIPT ? err.result[err.writes] : 0;

	assert_int_equal(fd, STDERR_FILENO);
	err.writes++;
	if (is < 0) {
		errno = -is;
		return -1;
	}
	if (is > 0 && (size_t)is < len)
		len = (size_t)is;
	assert_true(len <= sizeof(err.text) - err.n);
	memcpy(err.text + err.n, buf, len);
	err.n += len;
	return (ssize_t)len;
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	assert_int_equal(n, 1);
	assert_int_equal(p->fd, STDERR_FILENO);
	err.waited += ms;
	if (err.full == 0)
		return 1;
	err.full--;
	return 0;
}

int
isatty(int fd)
{
	return err.terminal;
}

int
ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	assert_int_equal(request, TIOCGWINSZ);
	va_start(ap, request);
	*va_arg(ap, struct winsize *) = (struct winsize){ .ws_row = 24,
		.ws_col = err.columns > 0 ? err.columns : 80 };
	va_end(ap);
	return err.terminal ? 0 : -1;
}

static bool
fails(void)
{
	errno = EMFILE;
	return err.fails > 0 && --err.fails == 0;
}

/* Others lock files, with what counts the lines that run. */
int
fcntl(int fd, int op, ...)
{
	va_list ap;
	void *arg;

	if (fd == STDERR_FILENO && op == F_DUPFD_CLOEXEC)
		return fails() ? -1 : 100;
	va_start(ap, op);
	arg = va_arg(ap, void *);
	va_end(ap);
	return (int)syscall(SYS_fcntl, fd, op, arg);
}

int
memfd_create(const char *name, unsigned flags)
{
	return fails() ? -1 : 101;
}

int
dup2(int from, int to)
{
	assert_int_equal(to, STDERR_FILENO);
	assert_in_range(from, 100, 101);
	return fails() ? -1 : to;
}

static int open_ones;

int
close(int fd)
{
	assert_in_range(fd, 100, 101);
	open_ones -= fd - 99;
	return 0;
}

/* ------------------------------------------------------------------ cases */

static int
set_up(void **state)
{
	memset(&err, 0, sizeof(err));
	return 0;
}

EACH(set_up, NULL)

static void
said(const char *text)
{
	assert_int_equal(err.n, strlen(text));
	assert_memory_equal(err.text, text, err.n);
}

CASE(writes_all)
{
	err.result[0] = -EINTR;
	err.result[1] = 3;
	err.result[2] = -EAGAIN;
	print(stderr, "a line of %d\n words", 5);
	said("a line of 5\\x0A words\n");
	assert_int_equal(err.writes, 4);
}

CASE(gives_up)
{
	err.result[0] = 2;
	err.result[1] = -EPIPE;
	print(stderr, "nobody reads");
	said("no");
	assert_int_equal(err.writes, 2);
}

/* Asks first without a wait, then in ticks. */
CASE(waits_for_room)
{
	err.full = 3;
	assert_false(print_room());
	print(stderr, "later");
	said("later\n");
	assert_int_equal(err.waited, 200);
	assert_true(print_room());
}

/* SIGUSR1 asks for a line, and so drops none. */
CASE(answers_a_signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	raise(SIGUSR1);
	err.full = 2;
	print(stderr, "one");
	said("one\n");
	raise(SIGTERM);
	print(stderr, "two");		/* there is room */
	err.full = 2;
	print(stderr, "three");
	said("one\ntwo\n");
	while (sigtimedwait(&set, NULL, &(struct timespec){ 0 }) > 0)
		continue;
}

CASE(prints_long_lines)
{
	static char word[LONG + 1];

	memset(word, 1, LONG);
	print_alarm(stderr, true, "pardd: %s", word);
	assert_int_equal(err.n, strlen(PRINT_RED "pardd:" PRINT_PLAIN " ") +
	    (size_t)4 * LONG + 1);
	assert_memory_equal(err.text, PRINT_RED "pardd:" PRINT_PLAIN " \\x01",
	    strlen(PRINT_RED "pardd:" PRINT_PLAIN " \\x01"));
	assert_int_equal(err.text[err.n - 1], '\n');
	set_up(state);
	print_alarm(stderr, true, "nothing of ours");
	print_alarm(stderr, false, "pardd: grey");
	said("nothing of ours\npardd: grey\n");
}

static void
folded(unsigned short columns, const char *text)
{
	set_up(NULL);
	err.terminal = true;
	err.columns = columns;
	print_alarm(stderr, columns == 41, "pardd: note: %s is larger, so its "
	    "backup is not at the end; to move it there: sfdisk --relocate "
	    "gpt-bak-std %s; or none", "a, b", "'/dev/x; y'");
	said(text);
}

CASE(folds_before_a_word_or_a_command)
{
	folded(129, "pardd: note: a, b is larger, so its backup is not at the "
	    "end; to move it there: sfdisk --relocate gpt-bak-std "
	    "'/dev/x; y'; or\nnone\n");
	folded(80, "pardd: note: a, b is larger, so its backup is not at the "
	    "end; to move it there:\nsfdisk --relocate gpt-bak-std "
	    "'/dev/x; y'; or none\n");
	folded(41, PRINT_RED "pardd:" PRINT_PLAIN " note: a, b is larger, so "
	    "its\nbackup is not at the end; to move it\nthere:\n"
	    "sfdisk --relocate gpt-bak-std '/dev/x; y';\nor none\n");
	folded(19, "pardd: note: a, b is larger, so its backup is not at the "
	    "end; to move it there: sfdisk --relocate gpt-bak-std "
	    "'/dev/x; y'; or none\n");
	set_up(NULL);
	err.terminal = true;
	print(stderr, "no message of ours has so many words, and yet this one "
	    "is not folded at all");
	assert_int_equal(err.text[err.n - 1], '\n');
	assert_null(memchr(err.text, '\n', err.n - 1));
}

static bool
coloured(const char *no, const char *term, bool terminal)
{
	if (no != NULL)
		setenv("NO_COLOR", no, 1);
	else
		unsetenv("NO_COLOR");
	if (term != NULL)
		setenv("TERM", term, 1);
	else
		unsetenv("TERM");
	err.terminal = terminal;
	return print_colours(stderr);
}

CASE(knows_a_terminal)
{
	assert_true(coloured(NULL, "xterm", true));
	assert_true(coloured("", "xterm", true));
	assert_false(coloured("1", "xterm", true));
	assert_false(coloured(NULL, NULL, true));
	assert_false(coloured(NULL, "", true));
	assert_false(coloured(NULL, "dumb", true));
	assert_int_equal(print_screen(stderr).rows, 24);
	assert_int_equal(print_screen(stderr).columns, 80);
	assert_false(coloured(NULL, "xterm", false));
	assert_int_equal(print_screen(stderr).rows, 0);
	assert_int_equal(print_screen(stderr).columns, 0);
}

/* Whoever cannot hold lines back leaves nothing open. */
CASE(holds)
{
	open_ones = 1 + 2;
	assert_int_equal(print_hold(), 100);
	assert_int_equal(open_ones, 1);
	for (err.fails = 1; err.fails <= 3; err.fails++) {
		int call = err.fails;

		open_ones = call == 1 ? 0 : call == 2 ? 1 : 1 + 2;
		assert_int_equal(print_hold(), -1);
		assert_int_equal(errno, EMFILE);
		assert_int_equal(open_ones, 0);
		err.fails = call;
	}
}
