/*
 * stopwatch: run commands and say how long they took.
 *
 *	stopwatch [-n ROUNDS] [-s FILE] [-e FILE] [-l SECONDS]
 *		COMMAND [ARG]... [';' COMMAND [ARG]...]...
 *
 * Runs the commands one after the other, all of them in every round, in an
 * order that is drawn anew for each: who comes after one that made the target
 * anew finds it less warm.  Prints a line for each run: the command's number
 * from 0, the seconds until it exited, the seconds until FILE of -s was flushed
 * as well, the CPU seconds (user and system) of the command and what it waited
 * for, and its status as a shell would say it.
 *
 * The commands are started without a shell and without copying this process,
 * so that a start-up of half a millisecond can be told from one of a whole.
 * They read /dev/null and write to the file of -e.  After the seconds of -l a
 * command is killed.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TROUBLE = 125,			/* our own, as of env(1) */
	COMMANDS = 64,
};

struct setting {
	long rounds;
	long limit;			/* seconds */
	const char *flush;		/* file to flush after each, or NULL */
	const char *output;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* A file that the command has not made needs no flush. */
static void
flush(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || fsync(fd) < 0)
		err(TROUBLE, "%s", path);
	close(fd);
}

/* Wait for the end of a child, kill it when it takes too long. */
static int
reap(const struct setting *set, pid_t pid, struct rusage *usage)
{
	struct timespec limit = { .tv_sec = set->limit };
	sigset_t child;
	int status;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (sigtimedwait(&child, NULL, &limit) < 0)
		if (errno == EAGAIN)
			kill(pid, SIGKILL);
	if (wait4(pid, &status, 0, usage) < 0)
		err(TROUBLE, "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status)
	    : 128 + WTERMSIG(status);
}

static void
time_command(const struct setting *set, int index, char **argv)
{
	struct rusage usage;
	double began = now(), exited;
	pid_t pid;
	int status;

	errno = posix_spawnp(&pid, argv[0], &set->files, &set->attr, argv,
	    environ);
	if (errno)
		err(TROUBLE, "%s", argv[0]);
	status = reap(set, pid, &usage);
	exited = now();
	if (set->flush)
		flush(set->flush);
	printf("%d %.6f %.6f %.6f %d\n", index, exited - began, now() - began,
	    seconds(usage.ru_utime) + seconds(usage.ru_stime), status);
}

/* SIGCHLD is held back for reap, but not for the commands. */
static void
prepare(struct setting *set)
{
	sigset_t child, outside;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, &outside);
	posix_spawnattr_init(&set->attr);
	posix_spawnattr_setsigmask(&set->attr, &outside);
	posix_spawnattr_setflags(&set->attr, POSIX_SPAWN_SETSIGMASK);

	posix_spawn_file_actions_init(&set->files);
	posix_spawn_file_actions_addopen(&set->files, 0, "/dev/null",
	    O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&set->files, 1, set->output,
	    O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&set->files, 1, 2);
}

static long
number(const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (end == text || *end || v <= 0)
		errx(TROUBLE, "not a number: %s", text);
	return v;
}

static void
parse(struct setting *set, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "+n:s:e:l:")) != -1)
		switch (c) {
		case 'n':
			set->rounds = number(optarg);
			break;
		case 's':
			set->flush = optarg;
			break;
		case 'e':
			set->output = optarg;
			break;
		case 'l':
			set->limit = number(optarg);
			break;
		default:
			optind = argc;
		}
	if (optind >= argc)
		errx(TROUBLE, "usage: stopwatch [-n ROUNDS] [-s FILE] "
		    "[-e FILE] [-l SECONDS] COMMAND [ARG]... [';' ...]");
}

/* The end of the command that begins at p: a ';', cut off, or the last NULL. */
static char **
end_of(char **p)
{
	while (*p && strcmp(*p, ";") != 0)
		p++;
	*p = NULL;
	return p;
}

/* Where each command begins; returns how many there are. */
static int
commands(char **p, char **last, char ***command)
{
	int n = 0;

	for (; p < last; p = end_of(p) + 1) {
		if (n == COMMANDS)
			errx(TROUBLE, "more than %d commands", COMMANDS);
		if (strcmp(*p, ";") == 0)
			errx(TROUBLE, "a command is missing");
		command[n++] = p;
	}
	return n;
}

/* The numbers from 0 to n - 1, in an order by chance. */
static void
shuffle(int *order, int n)
{
	int i, j, held;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n - 1; i > 0; i--) {
		j = (int)(random() % (i + 1));
		held = order[i];
		order[i] = order[j];
		order[j] = held;
	}
}

int
main(int argc, char **argv)
{
	struct setting set = {
		.rounds = 1, .limit = 120, .output = "/dev/null",
	};
	char **command[COMMANDS];
	int order[COMMANDS], n, i;

	parse(&set, argc, argv);
	prepare(&set);
	n = commands(argv + optind, argv + argc, command);
	while (set.rounds-- > 0) {
		shuffle(order, n);
		for (i = 0; i < n; i++)
			time_command(&set, order[i], command[order[i]]);
	}
	return 0;
}
