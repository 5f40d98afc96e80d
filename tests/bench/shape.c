/*
 * shape: what a bad disk is like, as tests/tools/counted.c takes it.
 *
 *	shape NAME [SEED [MIB]]
 *
 * Prints it: size, costs, and the bad areas that chance makes of SEED (1).  MIB
 * is the size in place of the shape's own; with it goes the size of what
 * repeats over the disk, and the number of what is scattered stays.  Without a name the
 * names are listed, each with a text, the flags that serve GNU ddrescue best on
 * it, 1 where the disk rotates, and 1 where it takes
 * minutes, parted by tabs.
 */
#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, SECTORS = 2048, MOST = 1 << 20 };

struct range {
	uint64_t	 off, len;	/* sectors */
};

struct disk {
	uint64_t	 n;		/* sectors */
	uint64_t	 dice;
	struct range	*bad;
	size_t		 nbad;
	struct range	*slow;
	size_t		 nslow;
};

struct shape {
	const char	*name, *text;
	unsigned	 mib;
	void		(*make)(struct disk *, unsigned, unsigned);
	unsigned	 a, b;		/* what it is made of */
	const char	*words;		/* lines, parted by ';' */
	const char	*flags;		/* of ddrescue, beside -d */
	bool		 rotates, long_one;
};

static uint64_t
roll(struct disk *d)
{
	uint64_t x = d->dice += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static uint64_t
below(struct disk *d, uint64_t n)
{
	return n > 0 ? roll(d) % n : 0;
}

/* From 0 to 1, neither of them. */
static double
chance(struct disk *d)
{
	return ((double)(roll(d) >> 12) + .5) / (double)(UINT64_C(1) << 52);
}

static void
bad(struct disk *d, uint64_t off, uint64_t len)
{
	if (d->nbad == MOST)
		errx(125, "too many areas");
	if (off < d->n)
		d->bad[d->nbad++] = (struct range){ off, len < d->n - off ?
			len : d->n - off };
}

/* ------------------------------------------------------------- what is bad */

static void
healthy(struct disk *d, unsigned n, unsigned len)
{
	(void)d, (void)n, (void)len;
}

/* n places, of len sectors each. */
static void
places(struct disk *d, unsigned n, unsigned len)
{
	unsigned i;

	for (i = 0; i < n; i++)
		bad(d, (uint64_t)((i + .1 + .7 * chance(d)) * (double)d->n /
		    n), len);
}

static void
scattered(struct disk *d, unsigned n, unsigned len)
{
	while (n-- > 0)
		bad(d, below(d, d->n / len) * len, len);
}

/* Sizes lognormal; the middle one is e^(tenths / 10) sectors. */
static void
mixed(struct disk *d, unsigned n, unsigned tenths)
{
	double size;

	while (n-- > 0) {
		size = sqrt(-2 * log(chance(d))) *
		    cos(2 * acos(-1) * chance(d));
		size = exp(tenths / 10.0 + 1.5 * size);
		bad(d, below(d, d->n), 1 + (uint64_t)size);
	}
}

/* Some sectors of each of n tracks, one behind the other. */
static void
scratch(struct disk *d, unsigned n, unsigned len)
{
	uint64_t track = d->n / 4 / n, at = d->n / 4;

	for (; n-- > 0; at += track)
		bad(d, at + below(d, 60), len);
}

/* One of "heads" cannot read; each has kib at a time. */
static void
head(struct disk *d, unsigned heads, unsigned kib)
{
	uint64_t run = (uint64_t)kib * 2, at = below(d, heads) * run;

	for (; at < d->n; at += heads * run)
		bad(d, at, run);
}

/*
 * The same on a disk of zones: the tracks become shorter, down to the half, and
 * each zone ends with whatever is left of a turn.
 */
static void
zones(struct disk *d, unsigned heads, unsigned kib)
{
	uint64_t which = below(d, heads), run, at, end;
	unsigned zone;

	for (zone = 0; zone < 16; zone++) {
		at = d->n / 16 * zone;
		end = zone < 15 ? at + d->n / 16 : d->n;
		run = (uint64_t)kib * 2 * (32 - zone) / 32;
		for (at += which * run; at < end; at += heads * run)
			bad(d, at, run < end - at ? run : end - at);
	}
}

/* And two places that are bad. */
static void
slow_head(struct disk *d, unsigned heads, unsigned kib)
{
	head(d, heads, kib);
	memcpy(d->slow, d->bad, d->nbad * sizeof(*d->bad));
	d->nslow = d->nbad;
	d->nbad = 0;
	places(d, 2, 1);
}

/* So many percent in one piece. */
static void
giant(struct disk *d, unsigned percent, unsigned unused)
{
	uint64_t len = d->n / 100 * percent;

	(void)unused;
	bad(d, below(d, d->n - len), len);
}

/* The first and the last of the disk, and one in the middle. */
static void
ends(struct disk *d, unsigned front, unsigned back)
{
	bad(d, 0, front);
	bad(d, d->n / 2, 1);
	bad(d, d->n - back, back);
}

/* Flash serves some reads at a time, what is "one" does not. */
#define ONE	"overhead 50;latency 100;error 100000"
#define SSD	ONE ";servers 4"
#define HDD	"overhead 50;latency 100;jump 8000;error 100000"

static const struct shape shapes[] = {
	{ "clusters", "20 clusters of 250 KB", 768, places, 20, 500, SSD, "",
	    false, false },
	{ "badhead", "one: bad head, every 8th MiB", 256, head, 8, 1024,
	    "overhead 50;latency 100;error 20000", "", false, false },
	{ "slowhead", "one: slow head, every 8th MiB at 1.5 MB/s", 256,
	    slow_head, 8, 1024, ONE, "", false, false },
	{ "scratch", "one: scratch over 150 tracks", 512, scratch, 150, 24,
	    ONE, "", false, false },
	{ "mixed", "60 areas, sizes lognormal", 512, mixed, 60, 35, SSD, "",
	    false, false },
	{ "single", "100 single sectors", 512, scattered, 100, 1, SSD, "",
	    false, false },
	{ "growing", "10 areas that grow", 256, places, 10, 50,
	    SSD ";grow 4", "", false, false },
	{ "seconds", "one: 8 single sectors, 3 s an error", 256, scattered, 8,
	    1, "overhead 50;latency 100;error 3000000", "", false, false },
	{ "512e", "one: 512e, 20 bad physical sectors", 256, scattered, 20, 8,
	    ONE ";physical 4096", "-b 4096", false, false },
	{ "above", "one: 60 areas, only reads above 4 KiB fail", 512, mixed,
	    60, 35, ONE ";above 4096", "", false, false },
	{ "third", "40 pairs of sectors, the third try succeeds", 512,
	    places, 40, 2, SSD ";tries 3", "-r 3", false, false },
	{ "giant", "a giant area, 10 %", 256, giant, 10, 0, SSD, "",
	    false, false },
	{ "rotating", "rotating, 30 single sectors", 1024, scattered, 30, 1,
	    HDD, "", true, false },
	{ "hddmixed", "rotating, 40 areas, sizes lognormal", 1024, mixed, 40,
	    35, HDD, "", true, false },
	{ "large", "10 areas of 2 MB", 512, places, 10, 4000, SSD, "",
	    false, false },
	{ "few", "20 single sectors", 512, scattered, 20, 1, SSD, "",
	    false, false },
	{ "many", "2000 single sectors", 512, scattered, 2000, 1, SSD, "",
	    false, false },
	{ "ends", "first and last 4 MB bad", 512, ends, 8000, 8000, SSD, "",
	    false, false },
	{ "mixed64", "64 GiB, 300 areas, sizes lognormal", 65536, mixed, 300,
	    40, SSD, "", false, false },
	{ "hdd64", "64 GiB rotating, 100 single sectors, 1 s an error", 65536,
	    scattered, 100, 1, "overhead 50;latency 100;jump 8000;"
	    "error 1000000", "", true, false },
	{ "dead64", "64 GiB, dead head of 4, runs of 64 MiB", 65536, head, 4,
	    64 << 10, HDD ";stop 1", "-c 1024", true, false },
	{ "dead512", "64 GiB, dead head of 4, runs of 512 MiB", 65536, head, 4,
	    512 << 10, HDD ";stop 1", "-c 1024", true, false },
	{ "zones", "64 GiB, dead head of 4, runs of 64 to 32 MiB", 65536,
	    zones, 4, 64 << 10, HDD ";stop 1", "-c 1024", true, false },
	{ "dead1t", "1 TiB, dead head of 4, runs of 2 GiB", 1 << 20, head, 4,
	    2 << 20, HDD ";stop 1", "-c 1024", true, true },
	{ "healthy", "nothing bad", 512, healthy, 0, 0, SSD, "-c 2048",
	    false, false },
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static void
list(void)
{
	size_t i;

	for (i = 0; i < COUNT(shapes); i++)
		printf("%s\t%s\t-d%s%s\t%d\t%d\n", shapes[i].name,
		    shapes[i].text,
		    *shapes[i].flags != '\0' ? " " : "", shapes[i].flags,
		    shapes[i].rotates, shapes[i].long_one);
}

static const struct shape *
find(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(shapes); i++)
		if (strcmp(shapes[i].name, name) == 0)
			return &shapes[i];
	errx(125, "%s: no such shape", name);
}

static void
print_words(const char *words)
{
	for (; *words != '\0'; words++)
		putchar(*words == ';' ? '\n' : *words);
	putchar('\n');
}

static int
by_place(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

/* In order, and what touches each other as one. */
static void
print_ranges(struct range *r, size_t n, const char *word, const char *rate)
{
	uint64_t end;
	size_t i, from;

	qsort(r, n, sizeof(*r), by_place);
	for (i = 0; i < n; ) {
		from = i;
		end = r[i].off;
		for (; i < n && r[i].off <= end; i++)
			if (r[i].off + r[i].len > end)
				end = r[i].off + r[i].len;
		printf("%s %" PRIu64 " %" PRIu64 "%s\n", word,
		    r[from].off * SECTOR, (end - r[from].off) * SECTOR, rate);
	}
}

static uint64_t
number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (*end != '\0' || n == 0 || n > 64 << 20)
		errx(125, "%s: no such number", text);
	return n;
}

int
main(int argc, char **argv)
{
	struct disk d = { .nbad = 0 };
	const struct shape *s;
	uint64_t seed = argc > 2 ? number(argv[2]) : 1, mib;
	unsigned b;

	if (argc < 2) {
		list();
		return 0;
	}
	s = find(argv[1]);
	mib = argc > 3 ? number(argv[3]) : s->mib;
	b = s->make == head || s->make == zones ? (unsigned)(s->b * mib /
	    s->mib) : s->b;
	d.n = mib * SECTORS;
	d.dice = seed * 1000003;
	d.bad = calloc(MOST, sizeof(*d.bad));
	d.slow = calloc(MOST, sizeof(*d.slow));
	if (d.bad == NULL || d.slow == NULL)
		err(125, NULL);
	s->make(&d, s->a, b);
	printf("size %" PRIu64 "\nrate 200e6\n", d.n * SECTOR);
	print_words(s->words);
	print_ranges(d.bad, d.nbad, "bad", "");
	print_ranges(d.slow, d.nslow, "slow", " 1.5e6");
	free(d.bad);
	free(d.slow);
	return 0;
}
