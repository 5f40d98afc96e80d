/*
 * Any bytes as a map: what is taken covers its range without gaps, and what is
 * written of it is read again as the same.  Run by tests/fuzz/run.
 *
 * Reader and writer are had as they are, statics and all, to read and write
 * memory; one in a thousand goes by a file.
 */
#include "../../src/map/mapfile.c" /* NOLINT(bugprone-suspicious-include) */

#include <err.h>

#include "input.h"

enum { BY_FILE = 1000 };	/* 1 in so many */

static char in_path[64], out_path[72], backup[80];

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
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void
same(const struct mapfile *a, const struct mapfile *b)
{
	size_t i;

	if (a->n != b->n || a->pos != b->pos || a->phase != b->phase ||
	    a->pass != b->pass || !same_text(a->source, b->source) ||
	    !same_text(a->target, b->target))
		abort();
	for (i = 0; i < a->n; i++)
		if (a->seg[i].off != b->seg[i].off ||
		    a->seg[i].len != b->seg[i].len ||
		    a->seg[i].status != b->seg[i].status)
			abort();
}

/* Returns 0 or -1 with *f. */
static int
read_from(struct mapfile *m, const void *bytes, size_t n, struct fault *f)
{
	FILE *in = fmemopen((void *)(uintptr_t)bytes, n, "r");
	int failed;

	if (in == NULL)
		err(2, "fmemopen");
	*m = (struct mapfile){ .phase = '?', .pass = 1 };
	failed = mapfile_read_lines(m, in, "fuzz", f);
	fclose(in);
	return failed;
}

static void
again(const struct mapfile *m)
{
	struct mapfile_out o = { .out = NULL };
	struct mapfile copy;
	struct fault f;
	char *text = NULL;
	size_t n = 0;

	o.out = open_memstream(&text, &n);
	if (o.out == NULL)
		err(2, "open_memstream");
	mapfile_write_head(m, "fuzz", o.out);
	put_own(&o, m);
	write_last(&o);
	if (fclose(o.out) != 0 || read_from(&copy, text, n, &f) != 0)
		abort();
	same(m, &copy);
	mapfile_free(&copy);
	free(text);
}

static void
by_file(const uint8_t *data, size_t size, const struct mapfile *want,
    int failed)
{
	struct mapfile m, copy;
	struct fault f;
	FILE *out;

	snprintf(in_path, sizeof(in_path), "/dev/shm/pardd-fuzz.%d",
	    (int)getpid());
	snprintf(out_path, sizeof(out_path), "%s.out", in_path);
	snprintf(backup, sizeof(backup), "%s.bak", out_path);
	out = fopen(in_path, "w");
	if (out == NULL || fwrite(data, 1, size, out) != size ||
	    fclose(out) != 0)
		err(2, "%s", in_path);
	if (mapfile_load(&m, in_path, false, &f) != failed)
		abort();
	if (failed == 0) {
		same(want, &m);
		if (mapfile_save(&m, out_path, "fuzz", &f) != 0 ||
		    mapfile_load(&copy, out_path, false, &f) != 0)
			abort();
		same(&m, &copy);
		mapfile_free(&copy);
	}
	mapfile_free(&m);
	unlink(in_path);
	unlink(out_path);
	unlink(backup);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned long tried;
	struct fault f = { 0 };
	struct mapfile m;
	int failed;

	failed = read_from(&m, data, size, &f);
	if (failed == 0) {
		fuzz_taken++;
		sound(&m);
		again(&m);
	} else if (f.status == 0 || f.text[0] == '\0') {
		abort();
	}
	if (tried++ % BY_FILE == 0)
		by_file(data, size, &m, failed);
	mapfile_free(&m);
	return 0;
}

/* Decimal, octal or hexadecimal. */
static void
print_number(struct input *in, uint64_t *dice, uint64_t n)
{
	static const char blanks[3][2] = { " ", "\t", "" };

	switch (input_roll(dice, 4)) {
	case 0:
		input_print(in, "%llu", (ull)n);
		break;
	case 1:
		input_print(in, "0%llo", (ull)n);
		break;
	default:
		input_print(in, "0x%08llX", (ull)n);
	}
	input_print(in, " %s", blanks[input_roll(dice, 3)]);
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	static const char ends[4][3] = { "\n", "\n", "\r\n", " \n" };
	const char *end = ends[input_roll(dice, 4)];
	uint64_t at = input_roll(dice, 2) == 0 ? 0 : input_number(dice), len;
	size_t n = input_roll(dice, input_roll(dice, 64) == 0 ? 256 : 8);

	if (input_roll(dice, 2) == 0)
		input_print(in, "# Mapfile. Created by pardd%s", end);
	if (input_roll(dice, 2) == 0)
		input_print(in, "# pardd source: size=%llu block=512 serial=A"
		    "%s", (ull)input_number(dice), end);
	print_number(in, dice, input_number(dice));
	input_print(in, "%c", "?*/-F+G"[input_roll(dice, 7)]);
	if (input_roll(dice, 3) > 0)
		input_print(in, " %llu", (ull)input_number(dice));
	input_print(in, "%s", end);
	for (; n > 0; n--, at += len) {
		len = input_roll(dice, 3) == 0 ? input_number(dice) :
		    512 * (1 + input_roll(dice, 64));
		print_number(in, dice, at);
		print_number(in, dice, len);
		input_print(in, "%c%s", "?*/-+"[input_roll(dice, 5)], end);
	}
}
