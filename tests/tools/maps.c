/*
 * maps: compare the result of a rescue with the truth.
 *
 *	maps random SEED SIZE [UNIT]	ranges of bad blocks in SIZE bytes, merged
 *	maps list MAP STATUSES		ranges of a map with one of these,
 *					merged
 *	maps check [-p] MAP SRC DST OLD SKIP SEEK COUNT
 *		COUNT bytes from SKIP of the map lie at SEEK of DST: each byte
 *		that is finished (+) equals SRC's, each other one of DST is as
 *		in OLD, which may be shorter and continues with zeros; with -p
 *		others may be anything
 *
 * Ranges are written OFFSET+LENGTH,... as for the shim.  Maps are read only in
 * the form in which pardd and ddrescue write them.  Exits 0 if the check holds,
 * 1 if not, 2 on an error.
 */
#define _GNU_SOURCE
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TROUBLE = 2, MOST = 1 << 20 };

struct block { uint64_t off, len; char status; };

struct bytes { unsigned char *p; uint64_t n; };

static struct block map[MOST];
static size_t blocks;

static uint64_t
number(const char *s)
{
	char *end;
	uint64_t v = strtoull(s, &end, 0);

	if (end == s || *end != '\0')
		errx(TROUBLE, "no number: %s", s);
	return v;
}

/* Print ranges, those that touch as one. */
static void
put(uint64_t off, uint64_t len, bool last)
{
	static uint64_t from, to;
	static bool any;

	if (!last && len > 0 && off == to && to > from) {
		to += len;
		return;
	}
	if (to > from) {
		printf("%s%" PRIu64 "+%" PRIu64, any ? "," : "", from,
		    to - from);
		any = true;
	}
	from = off;
	to = off + len;
	if (last)
		printf("\n");
}

static void
load(const char *path)
{
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	bool status = false;
	uint64_t end = 0;
	struct block b;
	char junk;

	if (in == NULL)
		err(TROUBLE, "%s", path);
	while (getline(&line, &room, in) > 0) {
		if (line[0] == '#')
			continue;
		if (!status) {
			status = true;
			continue;
		}
		if (sscanf(line, "0x%" SCNx64 " 0x%" SCNx64 " %c %c", &b.off,
		    &b.len, &b.status, &junk) != 3 || b.off != end ||
		    blocks == MOST)
			errx(1, "%s: no block behind %" PRIu64 ": %s", path,
			    end, line);
		end = b.off + b.len;
		map[blocks++] = b;
	}
	if (!status || blocks == 0)
		errx(1, "%s is empty", path);
	free(line);
	fclose(in);
}

static struct bytes
slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	struct bytes b = { NULL, 0 };
	size_t room = 0, n;

	if (in == NULL)
		err(TROUBLE, "%s", path);
	do {
		room = room == 0 ? 1 << 22 : room * 2;
		b.p = realloc(b.p, room);
		if (b.p == NULL)
			err(TROUBLE, "%s", path);
		n = fread(b.p + b.n, 1, room - (size_t)b.n, in);
		b.n += n;
	} while (b.n == room);
	fclose(in);
	return b;
}

static uint64_t
roll(uint64_t *dice)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return *dice;
}

/* Short ones, long ones, neighbours a block apart, the first and the last. */
static int
random_ranges(uint64_t seed, uint64_t size, uint64_t unit)
{
	uint64_t dice = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	uint64_t n = size / unit, at, len, left;
	int most;

	(void)roll(&dice);
	most = 1 + (int)(roll(&dice) % 40);
	at = roll(&dice) % 4 == 0 ? 0 : roll(&dice) % (2 * n / (uint64_t)most);
	if (at >= n)
		at = n - 1;
	for (; most > 0 && at < n; most--) {
		len = roll(&dice) % 4 == 0 ? 1 + roll(&dice) % 200 :
		    1 + roll(&dice) % 3;
		left = n - at;
		len = len < left ? len : left;
		put(at * unit, len * unit, false);
		at += len + 1 + (roll(&dice) % 3 == 0 ? roll(&dice) % 4 :
		    roll(&dice) % (2 * n / (uint64_t)most));
	}
	if (roll(&dice) % 8 == 0 && at < n)
		put((n - 1) * unit, unit, false);
	put(0, 0, true);
	return 0;
}

static int
list(const char *statuses)
{
	size_t i;

	for (i = 0; i < blocks; i++)
		if (strchr(statuses, map[i].status) != NULL)
			put(map[i].off, map[i].len, false);
	put(0, 0, true);
	return 0;
}

/* Whether byte pos of the map is finished; asked in order, with *i from 0. */
static bool
finished(uint64_t pos, size_t *i)
{
	while (*i < blocks && map[*i].off + map[*i].len <= pos)
		(*i)++;
	return *i < blocks && map[*i].status == '+';
}

/* What is finished between from and to of the map needs a DST of this length. */
static uint64_t
least_length(uint64_t from, uint64_t to, uint64_t seek)
{
	uint64_t least = 0, end;
	size_t i;

	for (i = 0; i < blocks; i++) {
		end = map[i].off + map[i].len < to ? map[i].off + map[i].len :
		    to;
		if (map[i].status == '+' && map[i].off < to && end > from)
			least = end - from + seek;
	}
	return least;
}

static int
check(char **arg, bool partly)
{
	struct bytes src = slurp(arg[0]), dst = slurp(arg[1]);
	struct bytes old = slurp(arg[2]);
	uint64_t skip = number(arg[3]), seek = number(arg[4]);
	uint64_t count = number(arg[5]), at, pos;
	size_t i = 0;

	for (at = 0; at < dst.n; at++) {
		pos = at - seek + skip;
		if (at >= seek && at - seek < count && finished(pos, &i)) {
			if (pos >= src.n || dst.p[at] != src.p[pos])
				errx(1, "byte %" PRIu64 " is finished in the "
				    "map, and wrong", pos);
		} else if (!partly && dst.p[at] != (at < old.n ? old.p[at] :
		    0)) {
			errx(1, "byte %" PRIu64 " of the target is not the "
			    "map's, and was changed", at);
		}
	}
	if (least_length(skip, skip + count, seek) > dst.n)
		errx(1, "there is more finished in the map than %" PRIu64
		    " bytes of the target", dst.n);
	return 0;
}

int
main(int argc, char **argv)
{
	bool partly;

	if (argc >= 4 && strcmp(argv[1], "random") == 0)
		return random_ranges(number(argv[2]), number(argv[3]),
		    argc > 4 ? number(argv[4]) : 512);
	if (argc == 4 && strcmp(argv[1], "list") == 0) {
		load(argv[2]);
		return list(argv[3]);
	}
	partly = argc == 10 && strcmp(argv[2], "-p") == 0;
	if ((argc == 9 || partly) && strcmp(argv[1], "check") == 0) {
		load(argv[2 + partly]);
		return check(argv + 3 + partly, partly);
	}
	errx(TROUBLE, "usage: maps random|list|check ...");
}
