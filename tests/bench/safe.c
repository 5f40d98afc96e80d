/*
 * safe: run a rescue, and say when most of what can be read was safe.
 *
 *	safe [-p PERCENT] [-k] SOURCE TARGET BAD COMMAND [ARG]...
 *
 * SOURCE and TARGET are the files in which the disks of the command keep their
 * bytes, BAD (OFF+LEN,..., bytes) is what cannot be read; all else is good.
 * Prints the seconds until PERCENT (99) of the good bytes were in the target,
 * the seconds until the command exited, its status, and how many good bytes are
 * missing or wrong then.  Seconds are -1 for what did not happen.  With -k the
 * command is interrupted at PERCENT.
 *
 * Looks twenty times a second at the first bytes of what was not yet there: each
 * sector next to a bad one, elsewhere each 4 KiB.  To look at all of them each
 * time would take a processor from the command: some come first, and the others
 * once those are enough.  The target has all its pages, and other bytes in them.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TROUBLE = 125,			/* our own, as of env(1) */
	SECTOR = 512,
	UNIT = 4096,			/* watched where nothing is bad */
	SOME = 64,			/* of so many units one is looked at */
	NAP = 50000000,			/* ns between two looks */
};

struct watch {
	const char *src, *dst;		/* the bytes of the disks */
	size_t sectors;
	unsigned char *left;		/* of each: enum what */
	uint64_t good, there;		/* bytes, in all and so far */
	double enough;			/* of them, bytes */
};

enum what { THERE, SINGLE, WHOLE_UNIT, BAD };

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *
view(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p;

	if (fd < 0)
		err(TROUBLE, "%s", path);
	*size = (size_t)lseek(fd, 0, SEEK_END);
	p = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		err(TROUBLE, "%s", path);
	return p;
}

static void
mark_bad(struct watch *w, const char *text)
{
	uint64_t off, len;
	char *end;
	size_t i;

	for (; *text != '\0'; text = *end == ',' ? end + 1 : end) {
		off = strtoull(text, &end, 0);
		if (end == text || *end != '+')
			errx(TROUBLE, "not OFF+LEN: %s", text);
		len = strtoull(end + 1, &end, 0);
		if ((*end != ',' && *end != '\0') ||
		    off + len > w->sectors * SECTOR)
			errx(TROUBLE, "not OFF+LEN: %s", text);
		for (i = off / SECTOR; i * SECTOR < off + len; i++)
			w->left[i] = BAD;
	}
}

/* A unit without a bad sector is watched as one, by its first. */
static void
gather(struct watch *w)
{
	size_t i, n = UNIT / SECTOR;

	for (i = 0; i < w->sectors; i++)
		w->good += w->left[i] == BAD ? 0 : SECTOR;
	for (i = 0; i + n <= w->sectors; i += n)
		if (memchr(w->left + i, BAD, n) == NULL) {
			memset(w->left + i, THERE, n);
			w->left[i] = WHOLE_UNIT;
		}
}

static void
begin(struct watch *w, const char *src, const char *dst, const char *bad)
{
	size_t size, other;

	w->src = view(src, &size);
	w->dst = view(dst, &other);
	if (size != other || size % UNIT != 0)
		errx(TROUBLE, "%s and %s do not fit", src, dst);
	w->sectors = size / SECTOR;
	w->left = malloc(w->sectors);
	if (w->left == NULL)
		err(TROUBLE, "memory");
	memset(w->left, SINGLE, w->sectors);
	mark_bad(w, bad);
	gather(w);
}

/* Whether the beginning of a sector is there, or of all that it stands for. */
static bool
is_there(const struct watch *w, size_t i)
{
	return w->left[i] == THERE ||
	    memcmp(w->src + i * SECTOR, w->dst + i * SECTOR, 16) == 0;
}

/* Whether it may be worth looking at all. */
static bool
look_at_some(const struct watch *w)
{
	const size_t step = SOME * UNIT / SECTOR;
	size_t i, seen = 0, there = 0;

	for (i = 0; i < w->sectors; i += step)
		if (w->left[i] == WHOLE_UNIT || w->left[i] == THERE) {
			seen++;
			there += is_there(w, i);
		}
	return (double)(there + 1) * (double)w->good >=
	    (double)seen * w->enough;
}

/* Whether enough is there. */
static bool
look(struct watch *w)
{
	size_t i;

	if (!look_at_some(w))
		return false;
	for (i = 0; i < w->sectors; i++) {
		if (w->left[i] != SINGLE && w->left[i] != WHOLE_UNIT)
			continue;
		if (!is_there(w, i))
			continue;
		w->there += w->left[i] == SINGLE ? SECTOR : UNIT;
		w->left[i] = THERE;
	}
	return (double)w->there >= w->enough;
}

/* At the end, byte by byte. */
static uint64_t
wrong(const struct watch *w)
{
	uint64_t n = 0;
	size_t i, at;

	for (i = 0; i < w->sectors; i++) {
		at = i * SECTOR;
		if (w->left[i] != BAD &&
		    memcmp(w->src + at, w->dst + at, SECTOR) != 0)
			n += SECTOR;
	}
	return n;
}

static pid_t
start(char **argv)
{
	posix_spawn_file_actions_t files;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	errno = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
	if (errno)
		err(TROUBLE, "%s", argv[0]);
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

int
main(int argc, char **argv)
{
	const struct timespec nap = { .tv_nsec = NAP };
	struct watch w = { .good = 0 };
	double percent = 99, began, when = -1, all;
	bool cut = false, killed = false;
	int c, status;
	pid_t pid;

	while ((c = getopt(argc, argv, "+p:k")) != -1)
		if (c == 'p')
			percent = strtod(optarg, NULL);
		else if (c == 'k')
			cut = true;
		else
			optind = argc;
	if (argc - optind < 4)
		errx(TROUBLE, "usage: safe [-p PERCENT] [-k] SOURCE TARGET "
		    "BAD COMMAND [ARG]...");
	begin(&w, argv[optind], argv[optind + 1], argv[optind + 2]);
	w.enough = (double)w.good * percent / 100;
	began = now();
	pid = start(argv + optind + 3);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (when < 0 && look(&w))
			when = now() - began;
		if (cut && !killed && when >= 0)
			killed = kill(pid, SIGINT) == 0;
		nanosleep(&nap, NULL);
	}
	all = now() - began;
	if (when < 0 && look(&w))
		when = all;
	printf("%.2f %.2f %d %llu\n", when, killed ? -1 : all,
	    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	    (unsigned long long)wrong(&w));
	return 0;
}
