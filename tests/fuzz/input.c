/*
 * Inputs for the fuzzers, and checks of what came of them.
 */
#include "input.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"

unsigned long fuzz_taken;

size_t
input_roll(uint64_t *dice, size_t below)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return below == 0 ? 0 : *dice % below;
}

uint64_t
input_number(uint64_t *dice)
{
	uint64_t base = (uint64_t)1 << input_roll(dice, 64);

	switch (input_roll(dice, 5)) {
	case 0:
		return input_roll(dice, 4);
	case 1:
		return base;
	case 2:
		return base - 1;
	case 3:
		return base * 2 - 1 - input_roll(dice, 2);
	default:
		return base | (base - 1 & input_roll(dice, SIZE_MAX));
	}
}

void
input_print(struct input *in, const char *format, ...)
{
	size_t room = sizeof(in->bytes) - in->n;
	va_list list;
	int n;

	if (room == 0)
		return;
	va_start(list, format);
	n = vsnprintf((char *)in->bytes + in->n, room, format, list);
	va_end(list);
	if (n > 0)
		in->n += (size_t)n < room ? (size_t)n : room - 1;
}

/* A number of it becomes another one. */
static void
renumber(struct input *in, uint64_t *dice)
{
	size_t at = input_roll(dice, in->n), end, rest;
	struct input tail = { 0 };

	while (at < in->n && (in->bytes[at] < '0' || in->bytes[at] > '9'))
		at++;
	for (end = at; end < in->n && in->bytes[end] >= '0' &&
	    in->bytes[end] <= '9'; end++)
		;
	rest = in->n - end;
	memcpy(tail.bytes, in->bytes + end, rest);
	in->n = at;
	input_print(in, "%llu", (unsigned long long)input_number(dice));
	if (rest > sizeof(in->bytes) - in->n)
		rest = sizeof(in->bytes) - in->n;
	memcpy(in->bytes + in->n, tail.bytes, rest);
	in->n += rest;
}

void
input_mutate(struct input *in, const struct input *other, uint64_t *dice)
{
	static const char likely[] = "0123456789abcdefxX+-*/?#FG{}[]:,\"\\ \t\r\n";
	size_t at = input_roll(dice, in->n), n = 1 + input_roll(dice, 16);

	if (n > in->n - at)
		n = in->n - at;
	switch (input_roll(dice, 7)) {
	case 0:
		if (in->n > 0)
			in->bytes[at] = (uint8_t)input_roll(dice, 256);
		break;
	case 1:
		if (in->n > 0)
			in->bytes[at] = (uint8_t)likely[input_roll(dice,
			    sizeof(likely) - 1)];
		break;
	case 2:
		memmove(in->bytes + at, in->bytes + at + n, in->n - at - n);
		in->n -= n;
		break;
	case 3:
		if (in->n + n > sizeof(in->bytes))
			break;
		memmove(in->bytes + at + n, in->bytes + at, in->n - at);
		in->n += n;
		break;
	case 4:
		n = input_roll(dice, other->n);
		n = n < sizeof(in->bytes) - at ? n : sizeof(in->bytes) - at;
		memcpy(in->bytes + at, other->bytes, n);
		in->n = at + n > in->n ? at + n : in->n;
		break;
	case 5:
		renumber(in, dice);
		break;
	default:
		in->n = at;
	}
}

void
fuzz_ended(const char *text, size_t room)
{
	if (memchr(text, '\0', room) == NULL)
		abort();
}

void
fuzz_failed(const struct fault *f)
{
	fuzz_ended(f->text, sizeof(f->text));
	if (f->status == 0 || f->text[0] == '\0')
		abort();
}

static void
open_image(const char *path, void (*take)(const char *path,
    const unsigned char *bytes, size_t size))
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) != 0)
		err(2, "%s", path);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		err(2, "%s", path);
	close(fd);
	take(path, bytes, (size_t)st.st_size);
}

void
fuzz_images(size_t most, void (*take)(const char *path,
    const unsigned char *bytes, size_t size))
{
	const char *images = getenv("FUZZ_IMAGES"); /* NOLINT(concurrency-*) */
	struct dirent **found;
	char path[PATH_MAX];
	size_t taken = 0;
	int n, i;

	n = images == NULL ? -1 : scandir(images, &found, NULL, alphasort);
	if (n < 0)
		err(2, "FUZZ_IMAGES");
	for (i = 0; i < n; i++) {
		if (found[i]->d_name[0] != '.' && taken < most) {
			snprintf(path, sizeof(path), "%s/%s", images,
			    found[i]->d_name);
			open_image(path, take);
			taken++;
		}
		free(found[i]);
	}
	free((void *)found);
	if (taken == 0)
		errx(2, "no images in %s", images);
}

static void
late(int signo)
{
	(void)signo;
	abort();
}

void
fuzz_within(unsigned seconds)
{
	signal(SIGALRM, late);
	alarm(seconds);
}
