/*
 * What a line reads and writes, made anew for each run; and the run.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

/* Text whose lines are numbers, so each place has its own: seq FIRST. */
void
text(unsigned char *to, size_t len, unsigned first)
{
	char number[16];
	size_t at;

	for (at = 0; at < len; at += 8) {
		snprintf(number, sizeof(number), "%u\n", first++);
		memcpy(to + at, number, len - at < 8 ? len - at : 8);
	}
}

static void
put(int fd, const unsigned char *data, size_t len, const char *name)
{
	ssize_t n;

	for (; len > 0; data += n, len -= (size_t)n)
		if ((n = write(fd, data, len)) <= 0)
			err(TROUBLE, "%s", name);
}

void
make_file(const char *name, uint64_t size, const unsigned char *data)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		err(TROUBLE, "%s", name);
	put(fd, data, size, name);
	if (close(fd) < 0)
		err(TROUBLE, "%s", name);
}

static void
punch(const char *name, const struct mend *m)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	    (off_t)m->at, (off_t)m->len) < 0)
		err(TROUBLE, "%s: a hole", name);
	close(fd);
}

/* The source as its reader sees it is in data. */
void
make_source(const struct line *l, unsigned char *data)
{
	const struct mend *m;
	const char *name = source_name(l);

	text(data, l->size, SOURCE_TEXT);
	for (m = l->mend; m < l->mend + l->mends; m++)
		memset(data + m->at, 0, m->len);
	if (l->src.what == PLAIN)
		make_file(name, l->size, data);
	for (m = l->mend; m < l->mend + l->mends; m++)
		if (m->hole && m->len > 0)
			punch(name, m);
	unlink("src.link");
	if (l->src.way == LINKED && symlink(name, "src.link") < 0)
		err(TROUBLE, "src.link");
}

void
make_target(const struct line *l, enum who who)
{
	const char *name = target_name(l, who);
	const char *link = who == DD ? "dd.link" : "pardd.link";
	int fd;

	unlink(link);
	if (block_of(&l->dst) > 0) {
		if ((fd = open(name, O_WRONLY | O_CLOEXEC)) < 0)
			err(TROUBLE, "%s", name);
		put(fd, given.old, target_size(l), name);
		close(fd);
	} else if (l->dst.what == PLAIN) {
		unlink(name);
		if (l->old >= 0)
			make_file(name, (uint64_t)l->old, given.old);
	}
	if (who == DD && dd_miscuts(l) && !both_refuse(l)) {
		if (l->old < 0)
			make_file(name, 0, given.old);
		if (truncate(name, (off_t)start_of(l, &l->dst)) < 0)
			err(TROUBLE, "%s", name);
	}
	if (l->dst.way == LINKED && symlink(name, link) < 0)
		err(TROUBLE, "%s", link);
}

static void
take_target(const struct line *l, enum who who, struct result *r)
{
	const char *name = target_name(l, who);
	ssize_t n;
	int fd;

	r->size = -1;
	if (l->dst.what == PIPE || l->dst.what == NOTHING)
		return;
	if ((fd = open(name, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	for (r->size = 0; (n = read(fd, r->data + r->size,
	    ROOM - (size_t)r->size)) > 0;)
		r->size += n;
	if (n < 0)
		err(TROUBLE, "%s", name);
	if (r->size == ROOM)
		errx(TROUBLE, "%s is too large", name);
	close(fd);
}

/* Descriptor 0 of the command, or -1. */
static int
open_source(const struct line *l, const unsigned char *data, pid_t *feeder)
{
	int p[2], fd;
	size_t at, n;

	if (l->src.what != PIPE && l->src.way < OPENED)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (l->src.what != PIPE) {
		fd = open(source_name(l), O_CLOEXEC |
		    (l->src.way == BOTH ? O_RDWR : O_RDONLY));
		if (fd >= 0 && lseek(fd, (off_t)l->src.at, SEEK_SET) < 0)
			err(TROUBLE, "a source");
		return fd;
	}
	if (pipe2(p, O_CLOEXEC) < 0 || (*feeder = fork()) < 0)
		err(TROUBLE, "a pipe");
	if (*feeder == 0) {
		close(p[0]);
		signal(SIGPIPE, SIG_DFL);
		for (at = 0; at < l->size; at += n) {
			n = 1 + roll(l->drip);
			n = n < l->size - at ? n : l->size - at;
			if (write(p[1], data + at, n) != (ssize_t)n)
				break;
		}
		_exit(0);
	}
	close(p[1]);
	return p[0];
}

/* Descriptor 1; what is to be read from its pipe is *from. */
static int
open_target(const struct line *l, enum who who, int *from)
{
	int p[2], fd, mode = l->dst.way == BOTH ? O_RDWR : l->dst.way ==
	    APPENDED ? O_WRONLY | O_APPEND : O_WRONLY | O_TRUNC;

	if (l->dst.what == PIPE) {
		if (pipe2(p, O_CLOEXEC) < 0)
			err(TROUBLE, "a pipe");
		*from = p[0];
		return p[1];
	}
	if (l->dst.way < OPENED)
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	fd = open(target_name(l, who), mode | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0 && l->dst.way == BOTH &&
	    lseek(fd, (off_t)l->dst.at, SEEK_SET) < 0)
		err(TROUBLE, "a target");
	return fd;
}

void
faults(const struct line *l, char *text, size_t room)
{
	size_t n, i;

	n = (size_t)snprintf(text, room, "on=%s op=read fail=EIO at=",
	    source_name(l));
	for (i = 0; i < l->nbad; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%" PRIu64 "+%"
		    PRIu64, i > 0 ? "," : "", l->bad[i], l->bs);
}

static void __attribute__((noreturn))
become(const struct line *l, char **word, int in, int out, int said)
{
	char rules[256];

	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(said, 2) < 0)
		_exit(126);
	if (l->nbad > 0) {
		faults(l, rules, sizeof(rules));
		setenv("FAULTS", rules, 1);
		setenv("LD_PRELOAD", given.shim, 1);
	}
	signal(SIGPIPE, SIG_DFL);
	alarm(SECONDS);
	execvp(word[0], word);
	_exit(127);
}

static void
collect(int from, struct result *r)
{
	ssize_t n;

	for (r->size = 0; (n = read(from, r->data + r->size,
	    ROOM - (size_t)r->size)) > 0;)
		r->size += n;
	close(from);
}

static int64_t
offset_of(int fd, const struct end *e)
{
	return e->way >= OPENED && e->what != PIPE ?
	    (int64_t)lseek(fd, 0, SEEK_CUR) : -1;
}

void
run(const struct line *l, enum who who, const unsigned char *data,
    struct result *r)
{
	int said = open("said", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int from = -1, in, out, how;
	pid_t feeder = 0, pid;
	struct command c;
	ssize_t n;

	command_make(&c, l, who);
	in = open_source(l, data, &feeder);
	out = open_target(l, who, &from);
	if (said < 0 || in < 0 || out < 0 || (pid = fork()) < 0)
		err(TROUBLE, "%s", c.word[0]);
	if (pid == 0)
		become(l, c.word, in, out, said);
	if (l->dst.what == PIPE) {
		close(out);
		out = -1;
		collect(from, r);
	}
	if (waitpid(pid, &how, 0) < 0)
		err(TROUBLE, "wait");
	r->status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
	r->in = offset_of(in, &l->src);
	r->out = offset_of(out, &l->dst);
	close(in);
	if (out >= 0) {
		close(out);
		take_target(l, who, r);
	}
	if (feeder > 0 && waitpid(feeder, NULL, 0) < 0)
		err(TROUBLE, "wait");
	n = pread(said, r->said, sizeof(r->said) - 1, 0);
	r->said[n > 0 ? n : 0] = '\0';
	close(said);
}
