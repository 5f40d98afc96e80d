/*
 * The command of an end: how it is started, what is reported about it, and how
 * it is ended; nothing stays open if it cannot be started.
 */
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../src/net/command.h"
#define POOR_OF_ALL
#include "poor.h"

#define ZEROS_53 "00000000000000000000000000000000000000000000000000000"
#define ZEROS	ZEROS_53 ZEROS_53 ZEROS_53	/* 159 of them */

enum { ROOM = 300, MANY = 64 };

static struct {
	int	 sockets, pipes;	/* errno of these, or 0 */
	unsigned slow;			/* how often it has not ended in time */
	unsigned torn;			/* how often a signal comes */
	int	 poll_err;		/* errno of the next wait, or 0 */
	const char *spawning;		/* what fails of starting it, */
	unsigned after;			/* ... behind so many of these */
	unsigned reaps_torn;		/* how often a signal comes then */
	bool	 unknown;		/* how it has ended */
	int	 first;			/* ms of the first wait, or -1 */
	int	 killed[3];
	size_t	 kills;
} fake;

static struct command c;
static struct fault f;
static char text[ROOM];

/* -------------------------------------------- in the place of the C library */

int
socketpair(int domain, int type, int protocol, int pair[2])
{
	errno = fake.sockets;
	return fake.sockets != 0 ? -1 :
	    (int)syscall(SYS_socketpair, domain, type, protocol, pair);
}

int
pipe2(int fd[2], int flags)
{
	errno = fake.pipes;
	return fake.pipes != 0 ? -1 : (int)syscall(SYS_pipe2, fd, flags);
}

static int
spawns(const char *what)
{
	return fake.spawning != NULL && strcmp(fake.spawning, what) == 0 &&
	    fake.after-- == 0 ? ENOMEM : 0;
}

int
posix_spawn_file_actions_init(posix_spawn_file_actions_t *files)
{
	REAL(real, posix_spawn_file_actions_init);
	return spawns("files") != 0 ? ENOMEM : real(files);
}

int
posix_spawnattr_init(posix_spawnattr_t *attr)
{
	REAL(real, posix_spawnattr_init);
	return spawns("attr") != 0 ? ENOMEM : real(attr);
}

int
posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *files, int fd,
    int as)
{
	REAL(real, posix_spawn_file_actions_adddup2);
	return spawns("dup") != 0 ? ENOMEM : real(files, fd, as);
}

pid_t
waitpid(pid_t pid, int *how, int flags)
{
	if (fake.reaps_torn > 0) {
		fake.reaps_torn--;
		errno = EINTR;
		return -1;
	}
	return (pid_t)syscall(SYS_wait4, pid, how, flags, NULL);
}

int
waitid(idtype_t kind, id_t id, siginfo_t *info, int flags)
{
	if (fake.unknown) {
		errno = ECHILD;
		return -1;
	}
	return (int)syscall(SYS_waitid, kind, id, info, flags, NULL);
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	REAL(real, poll);
	if (fake.poll_err != 0) {
		errno = fake.poll_err;
		fake.poll_err = 0;
		return -1;
	}
	if (fake.first < 0)
		fake.first = ms;
	if (fake.torn > 0) {
		fake.torn--;
		errno = EINTR;
		return -1;
	}
	if (fake.slow > 0) {
		fake.slow--;
		return 0;
	}
	return real(p, n, ms);
}

int
kill(pid_t pid, int signo)
{
	assert_int_equal(pid, c.pid);
	assert_true(fake.kills < 3);
	fake.killed[fake.kills++] = signo;
	return (int)syscall(SYS_kill, pid, signo);
}

/* ------------------------------------------------------------------ cases */

static int
set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.first = -1;
	f = (struct fault){ 0 };
	return 0;
}

EACH(set_up, NULL)

static int
count_open(void)
{
	int fd, open_ones = 0;

	for (fd = 0; fd < MANY; fd++)
		open_ones += fcntl(fd, F_GETFD) >= 0;
	return open_ones;
}

static int
start(const char *line, int *sock)
{
	return command_start(&c, line, line, sock, &f);
}

static void
cannot_start(const char *name, int status, const char *why)
{
	int were = count_open(), sock = -1;

	f = (struct fault){ 0 };
	assert_int_equal(start(name, &sock), -1);
	assert_int_equal(f.status, status);
	if (strstr(f.text, why) == NULL)
		fail_msg("%s: %s", name, f.text);
	assert_int_equal(sock, -1);
	assert_int_equal(count_open(), were);
	command_end(&c, false);
	command_tell(&c, 0, text, sizeof(text));
	assert_string_equal(text, "");
}

CASE(is_refused)
{
	cannot_start("[ a 'b ]", STATUS_USAGE, "a quote is not closed");
	cannot_start("[ ]", STATUS_USAGE, "stands between");
	cannot_start("[ a", STATUS_USAGE, "stands between");
	cannot_start("[ a b", STATUS_USAGE, "stands between");
	cannot_start("[ /nowhere/nothing ]", STATUS_ERRNO + ENOENT,
	    "starting /nowhere/nothing: No such file");
	fake.pipes = EMFILE;
	cannot_start("[ true ]", STATUS_ERRNO + EMFILE,
	    "Too many open files");
	fake.sockets = ENFILE;
	cannot_start("[ true ]", STATUS_ERRNO + ENFILE,
	    "Too many open files in system");
}

CASE(needs_memory)
{
	static const char *const what[] = { "files", "attr", "dup", "dup",
		"dup" };

	EACH_OF(i, what) {
		fake.spawning = what[i];
		fake.after = i < 2 ? 0 : (unsigned)i - 2;
		cannot_start("[ true ]", STATUS_ERRNO + ENOMEM,
		    "starting true: Cannot allocate memory");
	}
#ifdef POOR
	poor_after(0);
	cannot_start("[ true ]", STATUS_ERRNO + ENOMEM,
	    "[ true ]: Cannot allocate memory");
	assert_true(poor_was());
#endif
}

/* What is told of a command when it has ended, or of what it does. */
static const char *
told(const char *name)
{
	int sock;

	assert_int_equal(start(name, &sock), 0);
	close(sock);
	command_tell(&c, 30000, text, sizeof(text));
	command_end(&c, false);
	return text;
}

CASE(tells_how_it_ended)
{
	assert_string_equal(told("[ sh -c 'exit 3' ]"),
	    "its command ended with status 3");
	assert_string_equal(told("[ sh -c 'kill -9 $$' ]"),
	    "its command was killed by signal 9");
	fake.torn = 2;
	assert_string_equal(told("[ sh -c 'echo one >&2; echo >&2 \"two\r\"; "
	    "echo >&2; exit 1' ]"), "its command ended with status 1: two");
	assert_string_equal(told("[ sh -c 'printf %170d >&2; printf "
	    "%0160d 7 >&2' ]"), "its command ended with status 0: " ZEROS "7");
}

/* Ctrl-C ends this program, which then ends its command. */
CASE(has_signals_of_its_own)
{
	const unsigned long expected = 1UL << (SIGHUP - 1) |
	    1UL << (SIGINT - 1) | 1UL << (SIGQUIT - 1);
	const char *at;

	signal(SIGPIPE, SIG_IGN);
	at = strstr(told("[ sh -c 'exec grep ^SigBlk: /proc/self/status >&2' ]"),
	    "SigBlk:");
	assert_non_null(at);
	assert_int_equal(strtoul(at + strlen("SigBlk:"), NULL, 16), expected);
	at = strstr(told("[ sh -c 'exec grep ^SigIgn: /proc/self/status >&2' ]"),
	    "SigIgn:");
	assert_non_null(at);
	assert_int_equal(strtoul(at + strlen("SigIgn:"), NULL, 16) &
	    1UL << (SIGPIPE - 1), 0);
	signal(SIGPIPE, SIG_DFL);
}

CASE(talks_by_its_standard_output)
{
	char got[8] = "";
	int sock = -1;

	assert_int_equal(start("[ sh -c 'echo hello' ]", &sock), 0);
	assert_false(c.listens);
	assert_int_equal(recv(sock, got, sizeof(got), MSG_WAITALL), 6);
	assert_string_equal(got, "hello\n");
	close(sock);
	command_end(&c, false);
}

CASE(tells_nothing_that_is_not_known)
{
	fake.unknown = true;
	fake.reaps_torn = 2;
	assert_string_equal(told("[ sh -c 'exit 3' ]"), "");
	assert_int_equal(fake.reaps_torn, 0);
	assert_string_equal(told("[ sh -c 'echo hm >&2; exit 3' ]"),
	    "its command says: hm");
	fake.unknown = false;
	fake.poll_err = ENOMEM;
	assert_string_equal(told("[ sh -c 'exit 3' ]"), "");
}

/* Its last line, from more than is kept of it, or the end of a long one. */
CASE(tells_its_last_words)
{
	assert_string_equal(told("[ sh -c 'i=0; while [ $i -lt 500 ]; do "
	    "echo \"line $i of many\" >&2; i=$((i + 1)); done' ]"),
	    "its command ended with status 0: line 499 of many");
}

/* It says something, and it is not known whether it has ended. */
CASE(is_unknown_to_an_old_kernel)
{
	struct pollfd p;
	int sock;

	assert_int_equal(start("[ sh -c 'echo hm >&2; cat' ]", &sock), 0);
	p = (struct pollfd){ .fd = c.words, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 30000), 1);
	command_tell(&c, 0, text, sizeof(text));
	assert_string_equal(text, "its command says: hm");
	close(c.end);
	c.end = -1;
	command_tell(&c, 0, text, sizeof(text));
	assert_string_equal(text, "its command says: hm");
	close(sock);
	command_end(&c, false);
	assert_int_equal(fake.kills, 0);
	assert_int_equal(c.pid, 0);
}

/*
 * One that does not end when its socket is closed is told to, even if it is
 * stopped; then killed; then left.
 */
CASE(is_made_to_end)
{
	static const int all[] = { SIGTERM, SIGCONT, SIGKILL };
	int were = count_open(), sock;
	unsigned slow;
	pid_t pid;

	for (slow = 1; slow <= 3; slow++) {
		assert_int_equal(start("[ sleep 1000 ]", &sock), 0);
		pid = c.pid;
		close(sock);
		fake.slow = slow;
		fake.kills = 0;
		command_end(&c, false);
		assert_int_equal(fake.kills, slow == 1 ? 2 : 3);
		assert_memory_equal(fake.killed, all, fake.kills *
		    sizeof(all[0]));
		assert_int_equal(waitpid(pid, NULL, 0), slow == 3 ? pid : -1);
		assert_int_equal(count_open(), were);
	}
}

/* One that has ignored us for long is given no time before that. */
CASE(is_made_to_end_at_once)
{
	int sock;

	assert_int_equal(start("[ sleep 1000 ]", &sock), 0);
	close(sock);
	command_end(&c, true);
	assert_int_equal(fake.first, 0);
	assert_int_equal(fake.kills, 2);
}

CASE(is_made_to_end_by_an_old_kernel)
{
	int sock;
	pid_t pid;

	assert_int_equal(start("[ sleep 1000 ]", &sock), 0);
	pid = c.pid;
	close(c.end);
	c.end = -1;
	close(sock);
	command_end(&c, true);
	assert_int_equal(fake.kills, 2);
	assert_int_equal(waitpid(pid, NULL, 0), -1);
}
