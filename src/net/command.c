/*
 * A command for an end.  Its standard input and output are a socket, and it
 * ends when that is closed, as servers of one client do, even if we are killed.
 * nbdkit does so with -s, which is added where it is missing.  qemu-nbd cannot
 * do it, but takes a socket to listen on, and by itself ends with its client;
 * else it is ended.  What becomes of any other command is up to it: behind ssh
 * or sudo nothing that we could add would arrive.
 *
 * Its last output on standard error is kept in case it fails: by us, after each
 * request, and until then in a pipe that never blocks it, and drops what does
 * not fit.  A thread for this would have to start before the process gives up
 * its rights, and would keep them.
 *
 * Signals from the terminal are meant for us, and we finish what is in flight.
 * The command has them blocked, and continues serving.
 *
 *	l	command->lock, a leaf; held over reads that do not wait
 */
#include "command.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/secrets.h"
#include "base/status.h"
#include "disk/sysfs.h"

enum {
	PATIENCE = 10000,	/* ms, to end by itself, or on SIGTERM; */
	LAST_PATIENCE = 1000,	/* and when it is killed */
	LAST_WORDS = 160,	/* bytes of its last line */
	UNHEARD = 1 << 20,	/* bytes in the pipe, if possible */
};

/* Split the words between the brackets; malloc'ed, or NULL with *f. */
static char **
command_words(const char *name, const char *line, char ***argv, struct fault *f)
{
	char **words = shell_split(line);
	size_t n = 0;

	if (words == NULL && errno == EINVAL)
		fault_set(f, STATUS_USAGE, "%s: a quote is not closed", name);
	else if (words == NULL)
		fault_errno(f, errno, "%s", name);
	if (words == NULL)
		return NULL;
	while (words[n] != NULL)
		n++;
	if (n < 3 || strcmp(words[n - 1], "]") != 0) {
		fault_set(f, STATUS_USAGE, "%s: the command of an NBD server "
		    "stands between \"[ \" and \" ]\"", name);
		free(words);
		return NULL;
	}
	words[n - 1] = NULL;
	*argv = words + 1;
	return words;
}

/* Whether options of nbdkit have -s in any form, alone or in a row. */
static bool
is_single(char **argv)
{
	static const char with_value[] = "DegiIkmpPtuUz";
	const char *at;

	for (argv++; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
		if (strncmp(*argv, "--si", 4) == 0)
			return true;
		if ((*argv)[0] != '-' || (*argv)[1] == '-')
			continue;
		for (at = *argv + 1; *at != '\0' &&
		    strchr(with_value, *at) == NULL; at++)
			if (*at == 's')
				return true;
	}
	return false;
}

/* How a server that we know serves one client: see above. */
static void
know_server(struct command *c, char **words, char ***argv)
{
	static char single[] = "-s";
	const char *base = strrchr(words[1], '/');

	base = base != NULL ? base + 1 : words[1];
	c->listens = strcmp(base, "qemu-nbd") == 0;
	if (strcmp(base, "nbdkit") != 0 || is_single(*argv))
		return;
	words[0] = words[1];		/* in the place of the bracket */
	words[1] = single;
	*argv = words;
}

static void
close_both(const int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

/*
 * A socket that listens, pair[1], and a connection to it, pair[0]; nobody else
 * can reach it.  Returns 0, or -1 with errno.
 */
static int
listen_pair(int pair[2])
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/pardd.XXXXXX";
	const struct sockaddr *to = (const struct sockaddr *)&at;
	int err = 0;

	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/nbd", dir);
	pair[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pair[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (pair[0] < 0 || pair[1] < 0 || bind(pair[1], to, sizeof(at)) != 0 ||
	    listen(pair[1], 1) != 0 || connect(pair[0], to, sizeof(at)) != 0)
		err = errno;
	unlink(at.sun_path);
	unlinkat(AT_FDCWD, dir, AT_REMOVEDIR);
	if (err == 0)
		return 0;
	close_both(pair);
	errno = err;
	return -1;
}

/*
 * The command gets back the signals that we ignore, and has those of a terminal
 * blocked.
 */
static void
set_signals(posix_spawnattr_t *attr)
{
	static const int ignored[] = { SIGPIPE, SIGXFSZ };
	static const int blocked[] = { SIGINT, SIGQUIT, SIGHUP };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaddset(&set, ignored[i]);
	posix_spawnattr_setsigdefault(attr, &set);
	sigemptyset(&set);
	for (i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++)
		sigaddset(&set, blocked[i]);
	posix_spawnattr_setsigmask(attr, &set);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
	    POSIX_SPAWN_SETSIGDEF);
}

/* Start it with this socket and this pipe.  Returns 0 or an errno value. */
static int
command_spawn(struct command *c, char **argv, int sock, int words)
{
	static const char null[] = "/dev/null";
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int err;

	if (posix_spawn_file_actions_init(&files) != 0 ||
	    posix_spawnattr_init(&attr) != 0)
		return ENOMEM;
	set_signals(&attr);
	if (c->listens)
		err = posix_spawn_file_actions_addopen(&files, STDIN_FILENO,
		    null, O_RDWR, 0);
	else
		err = posix_spawn_file_actions_adddup2(&files, sock,
		    STDIN_FILENO);
	if (err == 0)
		err = posix_spawn_file_actions_adddup2(&files, STDIN_FILENO,
		    STDOUT_FILENO);
	if (err == 0)
		err = posix_spawn_file_actions_adddup2(&files, words,
		    STDERR_FILENO);
	if (err == 0 && c->listens)
		err = posix_spawn_file_actions_adddup2(&files, sock,
		    STDERR_FILENO + 1);
	if (err == 0)
		err = posix_spawnp(&c->pid, argv[0], &files, &attr, argv,
		    environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

static int
command_begin(struct command *c, char **argv, int *sock)
{
	int pair[2], pipe[2], err;

	prctl(PR_SET_CHILD_SUBREAPER, 1);	/* for command_end_left */
	if ((c->listens ? listen_pair(pair) : socketpair(AF_UNIX, SOCK_STREAM |
	    SOCK_CLOEXEC, 0, pair)) != 0)
		return errno;
	if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
		err = errno;
		close_both(pair);
		return err;
	}
	(void)fcntl(pipe[0], F_SETPIPE_SZ, UNHEARD);
	err = command_spawn(c, argv, pair[1], pipe[1]);
	close(pair[1]);
	close(pipe[1]);
	if (err != 0) {
		close(pair[0]);
		close(pipe[0]);
		c->pid = 0;
		return err;
	}
	*sock = pair[0];
	pthread_mutex_init(&c->lock, NULL);
	c->words = pipe[0];
	c->end = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return 0;
}

/*
 * The server must have its own pid in the environment, which the shell knows in
 * whose place it comes.
 */
static int
begin_listening(struct command *c, char **argv, int *sock)
{
	static char sh[] = "sh", option[] = "-c", script[] =
	    "export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$@\"";
	char **all;
	size_t n = 0;
	int err;

	while (argv[n] != NULL)
		n++;
	all = calloc(n + 5, sizeof(*all));
	if (all == NULL)
		return ENOMEM;
	all[0] = all[3] = sh;
	all[1] = option;
	all[2] = script;
	memcpy(all + 4, argv, n * sizeof(*all));
	err = command_begin(c, all, sock);
	free(all);
	return err;
}

int
command_start(struct command *c, const char *name, const char *line,
    int *sock, struct fault *f)
{
	char **argv, **words = command_words(name, line, &argv, f);
	int err;

	*c = (struct command){ .end = -1, .words = -1 };
	if (words == NULL)
		return -1;
	know_server(c, words, &argv);
	err = c->listens ? begin_listening(c, argv, sock) :
	    command_begin(c, argv, sock);
	if (err != 0) {
		secrets_hide(argv[0]);
		fault_errno(f, err, "%s: starting %s", name, argv[0]);
	}
	free(words);
	return err == 0 ? 0 : -1;
}

/* The same without a pidfd, which kernels before 5.3 lack. */
static bool
ended_of_old(const struct command *c, int ms)
{
	static const struct timespec tick = { .tv_nsec = 10000000 };
	siginfo_t info = { .si_pid = 0 };
	uint64_t until = clock_ns() + (uint64_t)ms * 1000000;

	while (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG |
	    WNOWAIT) == 0 && info.si_pid == 0) {
		if (clock_ns() >= until)
			return false;
		nanosleep(&tick, NULL);
	}
	return true;
}

/* Whether it has ended, or does so within ms. */
static bool
command_ended(const struct command *c, int ms)
{
	struct pollfd p = { .fd = c->end, .events = POLLIN };
	int n;

	if (c->end < 0)
		return ended_of_old(c, ms);
	while ((n = poll(&p, 1, ms)) < 0 && errno == EINTR)
		continue;
	return n > 0;
}

/* Read all that was printed; command->lock is held. */
static void
command_keep_output(struct command *c)
{
	ssize_t n;

	while ((n = read(c->words, c->said + c->kept, SAID - c->kept)) > 0) {
		c->kept += (size_t)n;
		if (c->kept > SAID / 2) {
			memmove(c->said, c->said + c->kept - LAST_WORDS - 1,
			    LAST_WORDS + 1);
			c->kept = LAST_WORDS + 1;
		}
	}
}

/* If another thread is reading it, there is nothing to do. */
void
command_listen(struct command *c)
{
	if (c->pid == 0 || pthread_mutex_trylock(&c->lock) != 0)
		return;
	command_keep_output(c);
	pthread_mutex_unlock(&c->lock);
}

/* The last line that it has printed, or as much of its end as fits. */
static void
last_line(struct command *c, char *line, size_t room)
{
	char text[SAID + 1], *at;
	size_t n;

	pthread_mutex_lock(&c->lock);
	command_keep_output(c);
	n = c->kept;
	memcpy(text, c->said, n);
	pthread_mutex_unlock(&c->lock);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	text[n] = '\0';
	at = strrchr(text, '\n');
	at = at == NULL ? text : at + 1;
	secrets_hide(at);
	if (strlen(at) >= room)
		at += strlen(at) - (room - 1);
	strlcpy(line, at, room);
}

bool
command_tell(struct command *c, int ms, char *text, size_t room)
{
	char line[LAST_WORDS + 1], how[40] = "its command says";
	siginfo_t info = { .si_pid = 0 };
	bool over;

	text[0] = '\0';
	if (c->pid == 0)
		return false;
	/* Leave it unreaped, so that its pid stays valid until command_end. */
	over = command_ended(c, ms) && waitid(P_PID, (id_t)c->pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == c->pid;
	if (over)
		snprintf(how, sizeof(how), info.si_code == CLD_EXITED ?
		    "its command ended with status %d" :
		    "its command was killed by signal %d", info.si_status);
	last_line(c, line, MIN(sizeof(line), room - strlen(how) - 2));
	if (line[0] != '\0')
		snprintf(text, room, "%s: %s", how, line);
	else if (over)
		strlcpy(text, how, room);
	return over && info.si_code == CLD_EXITED && info.si_status == 0;
}

/*
 * End those children of a thread of ours that came after the command: what it
 * started is ours since it has ended (PR_SET_CHILD_SUBREAPER).
 */
static unsigned
end_later(const struct command *c, const char *thread)
{
	unsigned n = 0;
	char name[64], word[16];
	FILE *list;
	long pid;

	snprintf(name, sizeof(name), "/proc/self/task/%.20s/children", thread);
	list = fopen(name, "re");
	while (list != NULL && fscanf(list, "%15s", word) == 1) {
		pid = strtol(word, NULL, 10);
		if (pid > c->pid)
			n += kill((pid_t)pid, SIGTERM) == 0;
	}
	if (list != NULL)
		fclose(list);
	return n;
}

unsigned
command_end_left(const struct command *c)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, "/proc/self/task", &list), i;
	unsigned ended = 0;

	for (i = 0; i < n; i++)
		ended += end_later(c, list[i]->d_name);
	sysfs_forget(list, n);
	return ended;
}

/*
 * A command that cannot be killed, because its disk does not answer, is left to
 * init.
 */
void
command_end(struct command *c, bool stuck)
{
	if (c->pid == 0)
		return;
	if (c->listens || !command_ended(c, stuck ? 0 : PATIENCE)) {
		kill(c->pid, SIGTERM);
		kill(c->pid, SIGCONT);
		if (!command_ended(c, PATIENCE))
			kill(c->pid, SIGKILL);
	}
	if (command_ended(c, LAST_PATIENCE))
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	if (c->end >= 0)
		close(c->end);
	close(c->words);
	pthread_mutex_destroy(&c->lock);
	c->pid = 0;
}
