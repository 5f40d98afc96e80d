/*
 * lines: command lines by dice, given to GNU dd and to pardd.
 *
 *	lines [-d SOURCE,SOURCE,DD,PARDD,DD,PARDD] PARDD SHIM SEED FIRST LAST
 *
 * Line N of a SEED is always the same.  For each, what dd and pardd are given
 * is made anew, each has a target of its own, and then they must agree: in
 * every byte of the target and its length, in whether they failed, and in where
 * they leave descriptors that they inherited.  Where pardd is another program
 * on purpose, forecast() and allow() say so, and why; nothing else may differ.
 *
 * Works in the current folder, where "mem" is a folder in memory.  -d names
 * block devices, a source with blocks of 512 and one with 4096, then targets of
 * dd and pardd with 512, then with 4096.  SHIM makes reads fail for both.
 *
 * A line about which they differ is made simpler as long as they still do, and
 * printed as commands for a shell.  Ends 0 when all agree, 1 when not, 2 for
 * trouble.  The last line tells how many were copied, refused, and so on.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

struct tally {
	unsigned copies, refused, failed, faults, disks, pipes, inherited;
};

struct given given;

char why[512];

static bool __attribute__((format(printf, 1, 2)))
differ(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	return false;
}

static bool
same_data(const struct result *want, const struct result *got, uint64_t most)
{
	uint64_t i, n;

	if (most == UINT64_MAX && want->size != got->size)
		return differ("%" PRId64 " bytes, not %" PRId64, got->size,
		    want->size);
	n = want->size > 0 ? (uint64_t)want->size : 0;
	n = n < most ? n : most;
	if (n > 0 && got->size < (int64_t)n)
		return differ("only %" PRId64 " bytes", got->size);
	for (i = 0; i < n; i++)
		if (want->data[i] != got->data[i])
			return differ("byte %" PRIu64 " is 0x%02x, not 0x%02x",
			    i, got->data[i], want->data[i]);
	return true;
}

static bool
same_end(const struct line *l, const struct due *d, const struct result *want,
    const struct result *got)
{
	struct result old = { .data = given.old, .size = l->old };

	if (l->dst.what == NOTHING)
		return true;
	if (!d->untouched)
		return same_data(want, got, d->same);
	if (l->dst.what == PIPE || l->dst.way == OPENED)
		old.size = 0;		/* > cuts it before */
	if (block_of(&l->dst) > 0)
		old.size = (int64_t)target_size(l);
	return same_data(&old, got, UINT64_MAX);
}

static bool
same_status(const struct due *d, const struct result *want,
    const struct result *got)
{
	bool fails = d->status != 0;

	if (d->status > 0 && got->status != d->status)
		return differ("status %d, not %d", got->status, d->status);
	if (d->status < 0 && (got->status == 0 || want->status == 0))
		return differ("status %d, and dd's %d", got->status,
		    want->status);
	if (!fails && got->status != 0)
		return differ("status %d", got->status);
	if (!fails && want->status != 0)
		return differ("dd's status %d", want->status);
	return true;
}

static bool
same_offsets(const struct due *d, const struct result *want,
    const struct result *got)
{
	if (d->status != 0)
		return true;
	if (want->in != got->in)
		return differ("standard input is at %" PRId64 ", not %" PRId64,
		    got->in, want->in);
	if (want->out != got->out)
		return differ("standard output is at %" PRId64 ", not %" PRId64,
		    got->out, want->out);
	return true;
}

struct result of_dd, of_pardd;
static unsigned char *source;

/* Both of them; true when they agree. */
bool
try(const struct line *l, struct due *d)
{
	forecast(l, d);
	make_source(l, source);
	make_target(l, DD);
	make_target(l, PARDD);
	run(l, DD, source, &of_dd);
	run(l, PARDD, source, &of_pardd);
	allow(l, d, &of_dd);
	return same_status(d, &of_dd, &of_pardd) &&
	    same_end(l, d, &of_dd, &of_pardd) &&
	    same_offsets(d, &of_dd, &of_pardd);
}

/* Drop the Nth thing that can be dropped; false when there is no such. */
static bool
drop(struct line *l, unsigned n)
{
	switch (n) {
	case 0:	l->thr = 0; return true;
	case 1:	l->bpt = 0; return true;
	case 2:	l->async = false; return true;
	case 3:	l->unsynced = false; return true;
	case 4:	l->status = NULL; return true;
	case 5:	l->apart = false; return true;
	case 6:	l->src.at = 0; return true;
	case 7:	l->src.way = l->src.what == PIPE ? OPENED : NAMED; return true;
	case 8:	l->dst.at = 0; return true;
	case 9:	l->dst.way = l->dst.what == PIPE ? OPENED : NAMED; return true;
	case 10: l->src.off = 0; return true;
	case 11: l->dst.off = 0; return true;
	case 12: l->count = -1; return true;
	case 13: l->trunc = false; return true;
	case 14: l->old = -1; return true;
	case 15: l->mends -= l->mends > 0; return true;
	case 16: l->nbad -= l->nbad > 0; return true;
	case 17: l->src.memory = true; return true;
	case 18: l->dst.memory = true; return true;
	case 19: l->bs = l->nbad > 0 ? l->bs : 0; return true;
	case 20: l->size = l->nbad > 0 ? l->size : l->size / 2; return true;
	case 21: l->mend[0].hole = true; return true;
	default:
		break;
	}
	n -= 22;
	if (n < 9)
		l->src.flag &= ~(1U << n);
	else if (n < 18)
		l->dst.flag &= ~(1U << (n - 9));
	else if (n < 26 && l->nbad == 0)
		l->conv &= ~(1U << (n - 18));
	return n < 26;
}

/* What was dropped may have held something else together. */
static bool
sound(struct line *l)
{
	size_t i;

	for (i = 0; i < l->mends; i++)
		if (l->mend[i].at + l->mend[i].len > l->size)
			return false;
	if ((l->src.what == ZEROS && l->count < 0) ||
	    (l->src.at > 0 && l->src.way < OPENED) || l->src.at > l->size ||
	    (l->dst.at > 0 && l->dst.way != BOTH))
		return false;
	settle(l);
	return l->old >= 0 || l->dst.way == NAMED;
}

void
simplify(struct line *l)
{
	struct line simpler;
	struct due d;
	unsigned round, n;

	for (round = 0; round < ROUNDS; round++)
		for (n = 0; simpler = *l, drop(&simpler, n); n++)
			if (sound(&simpler) && !try(&simpler, &d))
				*l = simpler;
}

static void
tally(struct tally *t, const struct line *l, const struct due *d)
{
	t->refused += d->untouched;
	t->failed += !d->untouched && d->status != 0;
	t->copies += d->status == 0 && length_of(l) > 0;
	t->faults += l->nbad > 0;
	t->disks += block_of(&l->src) > 0 || block_of(&l->dst) > 0;
	t->pipes += l->src.what == PIPE || l->dst.what == PIPE;
	t->inherited += l->src.way >= OPENED || l->dst.way >= OPENED;
}

static bool
knows_suffixes(void)
{
	char line[4500];

	snprintf(line, sizeof(line), "'%s' -d if=/dev/zero of=/dev/null "
	    "count=1B >/dev/null 2>&1", given.pardd);
	return system(line) == 0;
}

/* What never changes: the disks that are read, old data, and room. */
static void
prepare(void)
{
	unsigned i;

	of_dd.data = malloc(ROOM);
	of_pardd.data = malloc(ROOM);
	source = malloc(ROOM);
	given.old = malloc(ROOM);
	if (of_dd.data == NULL || of_pardd.data == NULL || source == NULL ||
	    given.old == NULL)
		err(TROUBLE, "memory");
	text(given.old, ROOM, OLD_TEXT);
	text(source, ROOM, SOURCE_TEXT);
	for (i = 0; i < 2 && given.disk[0] != NULL; i++)
		make_file(given.disk[i], i == 0 ? SOURCE_512 : SOURCE_4K,
		    source);
	given.suffixes = knows_suffixes();
	signal(SIGPIPE, SIG_IGN);
}

static void
disks(char *list)
{
	char *name;
	size_t n = 0;

	while ((name = strsep(&list, ",")) != NULL && n < COUNT(given.disk))
		given.disk[n++] = name;
	if (n != COUNT(given.disk) || name != NULL)
		errx(TROUBLE, "-d takes six devices");
}

int
main(int argc, char **argv)
{
	struct tally t = { .copies = 0 };
	uint64_t seed, n, last;
	unsigned differ_in = 0;
	struct line l;
	struct due d;

	if (argc > 2 && strcmp(argv[1], "-d") == 0) {
		disks(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc != 6)
		errx(TROUBLE, "usage: see the head of tests/random/main.c");
	given.pardd = argv[1];
	given.shim = argv[2];
	seed = strtoull(argv[3], NULL, 10);
	last = strtoull(argv[5], NULL, 10);
	prepare();
	program_invocation_short_name = given.self;
	for (n = strtoull(argv[4], NULL, 10); n <= last; n++) {
		snprintf(given.self, sizeof(given.self), "lines: no. %" PRIu64,
		    n);
		line_make(&l, seed, n);
		if (!try(&l, &d)) {
			tell(&l, seed, n);
			if (++differ_in == MOST)
				break;
		}
		tally(&t, &l, &d);
	}
	printf("%u copied, %u refused, %u failed; %u with faults, %u with "
	    "disks, %u with pipes, %u inherited\n", t.copies, t.refused,
	    t.failed, t.faults, t.disks, t.pipes, t.inherited);
	return differ_in > 0;
}
