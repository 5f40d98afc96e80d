/*
 * What it came to: when how much of what can be read was written, and what the
 * disk did for it.
 */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>

#include "counted.h"

enum {
	GROUP = 2048,			/* sectors of a bitmap */
	MARKS = 5,
};

/* What was written: of each group its bits, or &whole. */
static struct {
	uint64_t	**group;
	uint64_t	 good, there, wrong;	/* sectors */
	int64_t		 at[MARKS];		/* ns, or -1 */
	uint64_t	 errors[MARKS];
	unsigned	 mark;
	bool		 told;
} safe;
static uint64_t whole[1];

static const double marks[MARKS] = { .5, .9, .99, .999, 1 };

static void
tell_mark(FILE *f, unsigned i)
{
	if (safe.mark > i)
		fprintf(f, "%.6f\t%" PRIu64 "\t", (double)safe.at[i] /
		    (double)ns_per_s, safe.errors[i]);
	else
		fprintf(f, "-\t-\t");
}

static void
tell(void)
{
	const char *path = getenv("FIGURES");
	FILE *f = path != NULL ? fopen(path, "w") : NULL;
	unsigned i;

	if (trace != NULL)
		fflush(trace);
	if (f == NULL || safe.told)
		return;
	safe.told = true;
	for (i = 0; i < MARKS; i++)
		tell_mark(f, i);
	fprintf(f, "%.6f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	    "\t%" PRIu64 "\n", (double)now / (double)ns_per_s, disk.errors,
	    disk.reads, disk.jumps, safe.good - safe.there, safe.wrong);
	fclose(f);
}

/* Tests are counted, too (tests/coverage). */
void
enough(void)
{
	void (*count)(void) = (void (*)(void))dlsym(RTLD_DEFAULT,
	    "coverage_count");

	tell();
	if (count != NULL)
		count();
	_exit(0);
}

__attribute__((destructor)) static void
end(void)
{
	tell();
}

static void
note_marks(void)
{
	while (safe.mark < MARKS && (double)safe.there >=
	    marks[safe.mark] * (double)safe.good) {
		safe.at[safe.mark] = now;
		safe.errors[safe.mark++] = disk.errors;
	}
	if (safe.mark == MARKS && disk.stop)
		enough();
}

/* Sectors from..to of a group, which carry their numbers. */
static void
note_sectors(uint64_t group, unsigned from, unsigned to)
{
	uint64_t **g = &safe.group[group], bit;
	unsigned i;

	if (*g == whole)
		return;
	if (*g == NULL && from == 0 && to == GROUP) {
		*g = whole;
		safe.there += GROUP;
		return;
	}
	if (*g == NULL && (*g = calloc(GROUP / 64, sizeof(**g))) == NULL)
		die("figures", "no memory");
	for (i = from; i < to; i++) {
		bit = UINT64_C(1) << i % 64;
		safe.there += ((*g)[i / 64] & bit) == 0;
		(*g)[i / 64] |= bit;
	}
}

static bool
carries(const unsigned char *buf, uint64_t sector)
{
	uint64_t is;

	memcpy(&is, buf, sizeof(is));
	return is == (sector | salt);
}

void
note_write(const unsigned char *buf, uint64_t off, size_t len)
{
	uint64_t s = off / SECTOR, e = (off + len) / SECTOR, g, from;

	if (off % SECTOR != 0 || len % SECTOR != 0 || off + len > disk.size)
		die("write", "not of sectors");
	for (; s < e; s = g) {
		g = (s / GROUP + 1) * GROUP;
		g = g < e ? g : e;
		for (from = s; s < g; s++, buf += SECTOR) {
			if (carries(buf, s))
				continue;
			safe.wrong++;
			note_sectors(from / GROUP, (unsigned)(from % GROUP),
			    (unsigned)(from % GROUP + (s - from)));
			from = s + 1;
		}
		if (from < g)
			note_sectors(from / GROUP, (unsigned)(from % GROUP),
			    (unsigned)(from % GROUP + (g - from)));
	}
	note_marks();
}

void
figures_begin(uint64_t sectors, uint64_t good)
{
	safe.good = good;
	safe.group = calloc((size_t)(sectors / GROUP + 1), sizeof(*safe.group));
	if (safe.group == NULL)
		die("figures", "no memory");
}
