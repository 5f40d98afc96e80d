/*
 * Any bytes as what is said to a control socket, in pieces: each whole line gets
 * one line as its answer, and what was set is within its limits.  Run by
 * tests/fuzz/run.
 *
 * A byte of 1 ends a piece, one of 2 the connection; the next takes over then.
 */
#include <err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ioprio.h"
#include "copy/job.h"
#include "input.h"
#include "run/control.h"

static struct job job;
static struct plan plan = { .bounded = true, .length = 1 << 20 };

int __wrap_ioprio_apply(int);	/* NOLINT(bugprone-reserved-*,cert-*) */

/* What the copy would make of it, and what it tells. */
int
__wrap_ioprio_apply(int value) /* NOLINT(bugprone-reserved-*,cert-*) */
{
	if (value < 0)
		abort();
	return value % 2;
}

const char *
phase_name(enum phase p)
{
	(void)p;
	return "copying";
}

const char *
silence_word(const struct silence *s, const struct plan *p)
{
	(void)s;
	(void)p;
	return NULL;
}

void
rate_set(struct rate *r, uint64_t bytes)
{
	if (bytes > INT64_MAX || (bytes > 0 && bytes < RATE_LEAST))
		abort();
	r->bytes = bytes;
}

size_t
rate_piece(const struct rate *r, const struct plan *p, size_t most)
{
	(void)r;
	(void)p;
	return most;
}

void
map_pieces(struct map *m, size_t bytes)
{
	(void)m;
	(void)bytes;
}

/* As many lines of text as there were answers. */
static size_t
answers(int fd)
{
	char text[65536];
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT), i;
	size_t lines = 0;

	for (i = 0; i < n; i++) {
		lines += text[i] == '\n';
		if ((unsigned char)text[i] < ' ' && text[i] != '\n')
			abort();
	}
	if (n > 0 && text[n - 1] != '\n')
		abort();
	return lines;
}

static void
serve(struct control *c, const struct tally *t)
{
	struct pollfd p[CONTROL_POLLS];

	control_polls(c, p);
	poll(p, CONTROL_POLLS, 0);
	control_serve(c, p, &job, t);
}

/* A piece; false when the other side has hung up. */
static bool
talk(struct control *c, const struct tally *t, int fd, const uint8_t *text,
    size_t n)
{
	size_t lines = 0, i, got;

	if (n > 0 && send(fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
		return false;
	for (i = 0; i < n; i++)
		lines += text[i] == '\n';
	/* Each time takes a line at least, or all that is there. */
	for (i = 0; i < lines + 2 && c->peer >= 0; i++)
		serve(c, t);
	got = answers(fd);
	fuzz_taken += got;
	if (got > lines || (c->peer >= 0 && got != lines))
		abort();
	return c->peer >= 0;
}

/*
 * Whether the other side is seen to have hung up; within a second, since who
 * looks at /proc/PID/fd holds it open for a moment.
 */
static bool
notices(struct control *c, const struct tally *t)
{
	unsigned i;

	for (i = 0; i < 1000 && c->peer >= 0; i++) {
		if (i > 0)
			usleep(1000);
		serve(c, t);
	}
	return c->peer < 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control c = { .ear = -1, .peer = -1 };
	struct tally t = { .left = 5 };
	const uint8_t *end = data + size, *to;
	int pair[2] = { -1, -1 };

	job = (struct job){ .p = &plan };
	for (; data < end; data = to + 1) {
		for (to = data; to < end && *to != 1 && *to != 2; to++)
			continue;
		if (pair[0] < 0) {
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
				err(2, "socketpair");
			c.peer = pair[1];
			c.n = 0;
		}
		if (!talk(&c, &t, pair[0], data, (size_t)(to - data)) ||
		    (to < end && *to == 2)) {
			close(pair[0]);
			pair[0] = -1;
			if (!notices(&c, &t))
				abort();
		}
	}
	if (pair[0] >= 0)
		close(pair[0]);
	control_close(&c);
	return 0;
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	static const char *const lines[] = { "status", "rate=0", "rate=1M",
		"ioprio=idle", "ioprio=be:7", "ioprio=rt:8", "rate=", "",
		"stop", "status ", "STATUS", "rate=-1", "status\r" };
	size_t n = 1 + input_roll(dice, 12);

	for (; n > 0; n--) {
		if (input_roll(dice, 4) == 0)
			input_print(in, "rate=%llu", (unsigned long long)
			    input_number(dice));
		else
			input_print(in, "%s", lines[input_roll(dice,
			    sizeof(lines) / sizeof(lines[0]))]);
		if (input_roll(dice, 8) > 0)
			input_print(in, "\n");
		if (input_roll(dice, 8) == 0)
			input_print(in, "%c", 1 + (int)input_roll(dice, 2));
	}
}
