/*
 * Any bytes as a map: what is taken covers its range without gaps, and what is
 * written of it is read again as the same.  Run by tests/fuzz/run.
 *
 * With libFuzzer (-DLIBFUZZER -fsanitize=fuzzer) that calls us.  Else
 *
 *	mapfile_fuzz [-n TIMES] [-s SEED] FILE ...	the files, or "-" for
 *							standard input (AFL)
 *	-n: and then so many mutants of them
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char in_path[64], out_path[72], backup[80];

static void
begin(void)
{
	snprintf(in_path, sizeof(in_path), "/dev/shm/pardd-fuzz.%d",
	    (int)getpid());
	snprintf(out_path, sizeof(out_path), "%s.out", in_path);
	snprintf(backup, sizeof(backup), "%s.bak", out_path);
}

static void
sound(const struct mapfile *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->seg[i].len == 0 ||
		    m->seg[i].off > INT64_MAX - m->seg[i].len ||
		    strchr("?*/-+", (int)m->seg[i].status) == NULL ||
		    (i > 0 && (m->seg[i].status == m->seg[i - 1].status ||
		    m->seg[i].off != m->seg[i - 1].off + m->seg[i - 1].len)))
			abort();
}

static bool
same(const struct mapfile *a, const struct mapfile *b)
{
	size_t i;

	if (a->n != b->n || a->pos != b->pos || a->phase != b->phase ||
	    a->pass != b->pass ||
	    (a->source == NULL) != (b->source == NULL) ||
	    (a->source != NULL && strcmp(a->source, b->source) != 0))
		return false;
	for (i = 0; i < a->n; i++)
		if (a->seg[i].off != b->seg[i].off ||
		    a->seg[i].len != b->seg[i].len ||
		    a->seg[i].status != b->seg[i].status)
			return false;
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mapfile m, again;
	struct fault f;
	FILE *out;

	if (in_path[0] == '\0')
		begin();
	out = fopen(in_path, "w");
	if (out == NULL || fwrite(data, 1, size, out) != size ||
	    fclose(out) != 0)
		err(2, "%s", in_path);
	if (mapfile_load(&m, in_path, &f) == 0) {
		sound(&m);
		if (mapfile_save(&m, out_path, "fuzz", &f) != 0 ||
		    mapfile_load(&again, out_path, &f) != 0 ||
		    !same(&m, &again))
			abort();
		mapfile_free(&again);
	} else if (f.status == 0 || f.text[0] == '\0') {
		abort();
	}
	mapfile_free(&m);
	return 0;
}

#ifndef LIBFUZZER

enum { ROOM = 1 << 16, FILES = 1000 };

struct sample { uint8_t bytes[ROOM]; size_t n; };

static uint64_t dice = 1;

static size_t
roll(size_t below)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return below == 0 ? 0 : dice % below;
}

static void
read_sample(struct sample *s, const char *path)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");

	if (in == NULL)
		err(2, "%s", path);
	s->n = fread(s->bytes, 1, sizeof(s->bytes), in);
	if (in != stdin)
		fclose(in);
}

/* Replace, insert, leave out, repeat, or splice with another one. */
static void
mutate(struct sample *s, const struct sample *other)
{
	static const char likely[] = "0123456789abcdefxX+-*/?#FG \t\r\n";
	size_t at = roll(s->n), n = 1 + roll(16);

	if (n > s->n - at)
		n = s->n - at;
	switch (roll(6)) {
	case 0:
		if (s->n > 0)
			s->bytes[at] = (uint8_t)roll(256);
		break;
	case 1:
		if (s->n > 0)
			s->bytes[at] = (uint8_t)likely[roll(sizeof(likely) - 1)];
		break;
	case 2:
		memmove(s->bytes + at, s->bytes + at + n, s->n - at - n);
		s->n -= n;
		break;
	case 3:
		if (s->n + n > ROOM)
			break;
		memmove(s->bytes + at + n, s->bytes + at, s->n - at);
		s->n += n;
		break;
	case 4:
		n = roll(other->n);
		n = n < ROOM - at ? n : ROOM - at;
		memcpy(s->bytes + at, other->bytes, n);
		s->n = at + n > s->n ? at + n : s->n;
		break;
	default:
		s->n = at;
	}
}

int
main(int argc, char **argv)
{
	static struct sample s;
	struct sample *sample;
	unsigned long times = 0, done;
	size_t n, i, k;
	int c;

	while ((c = getopt(argc, argv, "n:s:")) != -1)
		if (c == 'n')
			times = strtoul(optarg, NULL, 0);
		else if (c == 's')
			dice = strtoull(optarg, NULL, 0) | 1;
		else
			errx(2, "usage: mapfile_fuzz [-n TIMES] [-s SEED] "
			    "FILE ...");
	n = (size_t)(argc - optind);
	sample = calloc(n + 1, sizeof(*sample));
	if (sample == NULL || n > FILES)
		errx(2, "too many files");
	for (i = 0; i < n; i++) {
		read_sample(&sample[i], argv[optind + (int)i]);
		LLVMFuzzerTestOneInput(sample[i].bytes, sample[i].n);
	}
	for (done = 0; n > 0 && done < times; done++) {
		s = sample[roll(n)];
		for (k = 1 + roll(8); k > 0; k--)
			mutate(&s, &sample[roll(n)]);
		LLVMFuzzerTestOneInput(s.bytes, s.n);
	}
	printf("%lu inputs\n", (unsigned long)n + times);
	free(sample);
	unlink(in_path);
	unlink(out_path);
	unlink(backup);
	return 0;
}

#endif
