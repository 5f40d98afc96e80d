/*
 * shape: what a bad disk is like, as tests/tools/counted.c takes it.
 *
 *	shape NAME [SEED [MIB]]
 *	shape -l NAME...
 *
 * Prints it: size, costs, and the bad areas that chance makes of SEED (1).  MIB
 * is the size in place of the shape's own; with it goes the size of what
 * repeats over the disk, and the number of what is scattered stays.  Without a name the
 * names are listed, each with a text, the flags that serve GNU ddrescue best on
 * it, 1 where the disk rotates, and 1 where it takes
 * minutes, parted by tabs; with -l those given.
 *
 * The names r1, r2, ... are disks that chance makes: one of some families of
 * damage, on a disk of any size, with errors of any length, and perhaps a
 * trouble more.
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
	char		 text[128], words[128];	/* of one that chance makes */
	const char	*flags;
	bool		 rotates;
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

/* ---------------------------------------------------- what chance makes of it */

/* Between the two, each magnitude as likely. */
static uint64_t
some(struct disk *d, uint64_t least, uint64_t most)
{
	return (uint64_t)((double)least * pow((double)(most + 1) /
	    (double)least, chance(d)));
}

/* One large one, and singles or eights. */
static const char *
random_giant(struct disk *d)
{
	uint64_t len = (uint64_t)((double)d->n * (.02 + .28 * chance(d)));
	uint64_t n = 1 + below(d, 200);

	bad(d, below(d, d->n - len), len);
	while (n-- > 0)
		bad(d, below(d, d->n), below(d, 3) == 0 ? 8 : 1);
	return "a giant area and small ones";
}

static const char *
random_mixed(struct disk *d)
{
	mixed(d, 5 + (unsigned)below(d, 96), 10 + (unsigned)below(d, 40));
	return "areas, sizes lognormal";
}

static const char *
random_dense(struct disk *d)
{
	static const uint64_t runs[] = { 1, 2, 8, 40 };
	uint64_t zones = 1 + below(d, 8), len = runs[below(d, 4)], size, n, at;
	uint64_t part = some(d, 4, 512);

	size = d->n / 8 / zones < d->n / 256 ? d->n / 8 / zones : d->n / 256;
	size = size < UINT64_C(1) << 22 ? size : UINT64_C(1) << 22;
	while (zones-- > 0) {
		at = below(d, d->n - size);
		for (n = size / part / len + 1; n > 0; n--)
			bad(d, at + below(d, size), len);
	}
	return "dense zones";
}

static const char *
random_clusters(struct disk *d)
{
	uint64_t n = 1 + below(d, 40), len = some(d, 1, 8192);

	while (n-- > 0)
		bad(d, below(d, d->n), 1 + (uint64_t)((double)len *
		    (.3 + 1.7 * chance(d))));
	return "clusters";
}

/* On all of the disk or a part, as regular as not. */
static const char *
random_stripes(struct disk *d)
{
	static const double jitters[] = { 0, 0, .1, .3 };
	uint64_t len = some(d, 1, 8192);
	uint64_t period = (uint64_t)((double)len * exp2(.6 + 5.4 * chance(d)));
	double jitter = jitters[below(d, 4)];
	uint64_t at = below(d, 3) == 0 ? d->n / 10 * 3 : 0;
	uint64_t end = below(d, 3) == 0 ? d->n / 10 * 6 : d->n;

	if (period < d->n / 30000)
		period = d->n / 30000;
	for (at += below(d, period); at < end; at += period)
		bad(d, at + (uint64_t)((double)period * jitter * chance(d)),
		    len);
	return jitter > 0 ? "uneven stripes" : "stripes";
}

/* One of them is dead; they take turns, or go there and back. */
static const char *
random_head(struct disk *d)
{
	uint64_t heads = 2 + below(d, 7), which = below(d, heads);
	uint64_t most = d->n / heads / 8, run, i;
	bool back = below(d, 2) == 0;

	run = some(d, most > 128 * 30000 ? most / 30000 : 128, most);
	for (i = 0; i * run < d->n; i++)
		if ((back && i / heads % 2 == 1 ? heads - 1 - i % heads :
		    i % heads) == which)
			bad(d, i * run, run);
	return back ? "a dead head, serpentine" : "a dead head";
}

static const char *
random_scratch(struct disk *d)
{
	uint64_t n = 10 + below(d, 400), track = some(d, 256, d->n / 2 / n);
	uint64_t len = some(d, 1, track / 4), at = below(d, d->n / 2);
	double slope = chance(d) / 8;

	for (; n-- > 0; at += track)
		bad(d, at + (uint64_t)((double)(n * track) * slope) % track +
		    below(d, track / 16), len);
	return "a scratch";
}

/* Blocks of so many sectors are lost as one. */
static void
widen(struct disk *d, uint64_t block)
{
	uint64_t end;
	size_t i;

	for (i = 0; i < d->nbad; i++) {
		end = d->bad[i].off + d->bad[i].len;
		d->bad[i].off -= d->bad[i].off % block;
		end += (block - end % block) % block;
		d->bad[i].len = end - d->bad[i].off;
	}
}

/* What is strange about the disk, and its word, if anything is. */
static const char *
random_trouble(struct disk *d, char *word, size_t room)
{
	size_t i;

	switch (below(d, 16)) {
	case 0:
		d->flags = "-b 4096";
		widen(d, 8);
		snprintf(word, room, ";physical 4096");
		return ", 512e";
	case 1:
		widen(d, 128);
		return ", a bridge that loses 64 KiB for a sector";
	case 2:
		snprintf(word, room, ";grow %" PRIu64, 2 + below(d, 7));
		return ", growing";
	case 3:
		d->flags = "-r 2";
		snprintf(word, room, ";tries 3");
		return ", that can be read at the third try";
	case 4:
		snprintf(word, room, ";above %" PRIu64, some(d, 1, 16) * 4096);
		return ", only for longer reads";
	case 5:
		for (i = 0; i < 8; i++)
			d->slow[i] = (struct range){ i * (d->n / 8) +
				below(d, d->n / 16), d->n / 128 };
		d->nslow = i;
		return ", slow areas";
	}
	return "";
}

/* The disk of a seed: whatever it is, always the same. */
static void
make_random(struct disk *d, uint64_t seed, uint64_t mib)
{
	static const char *(*const family[])(struct disk *) = {
		random_giant, random_mixed, random_dense, random_clusters,
		random_stripes, random_head, random_scratch };
	char word[32] = "";
	const char *what, *trouble;
	uint64_t error, servers, sum = 0;
	size_t i;

	d->dice = seed * UINT64_C(0x2545F4914F6CDD1D);
	d->n = (below(d, 3) > 0 ? UINT64_C(256) << below(d, 3) :
	    below(d, 8) > 0 ? some(d, 256, 65536) : some(d, 65536, 1 << 20)) *
	    SECTORS;
	if (mib > 0)
		d->n = mib * SECTORS;
	d->rotates = below(d, 2) == 0;
	d->flags = "";
	error = some(d, 10000, 10000000);
	servers = d->rotates ? 1 : 1 + below(d, 4);
	what = family[below(d, sizeof(family) / sizeof(family[0]))](d);
	trouble = random_trouble(d, word, sizeof(word));
	for (i = 0; i < d->nbad; i++)
		sum += d->bad[i].len;
	snprintf(d->text, sizeof(d->text), "%s%s: %" PRIu64 " MiB, %s, %.2g s "
	    "an error", what, trouble, d->n / SECTORS, d->rotates ? "rotating" :
	    "flash", (double)error / 1e6);
	snprintf(d->words, sizeof(d->words), "overhead 50;latency 100;%s;"
	    "servers %" PRIu64 ";error %" PRIu64 "%s%s", d->rotates ?
	    "jump 8000" : "jump 0", servers, error, word, sum > 20000 ?
	    ";stop 1" : "");
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
list_one(const char *name, const char *text, const char *flags, bool rotates,
    bool long_one)
{
	printf("%s\t%s\t-d%s%s\t%d\t%d\n", name, text, *flags != '\0' ?
	    " " : "", flags, rotates, long_one);
}

static void
list_all(void)
{
	size_t i;

	for (i = 0; i < COUNT(shapes); i++)
		list_one(shapes[i].name, shapes[i].text, shapes[i].flags,
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

/* One of "shapes", by its name; returns its words. */
static const char *
make_shape(struct disk *d, const char *name, uint64_t seed, uint64_t mib)
{
	const struct shape *s = find(name);
	unsigned b = s->b;

	mib = mib > 0 ? mib : s->mib;
	if (s->make == head || s->make == zones)
		b = (unsigned)(s->b * mib / s->mib);
	d->n = mib * SECTORS;
	d->dice = seed * 1000003;
	s->make(d, s->a, b);
	return s->words;
}

static void
list_random(struct disk *d, char **name)
{
	for (; *name != NULL; name++) {
		d->nbad = d->nslow = 0;
		make_random(d, number(*name + 1), 0);
		list_one(*name, d->text, d->flags, d->rotates, false);
	}
}

int
main(int argc, char **argv)
{
	struct disk d = { .nbad = 0 };
	uint64_t seed = argc > 2 && *argv[1] != '-' ? number(argv[2]) : 1;
	uint64_t mib = argc > 3 && *argv[1] != '-' ? number(argv[3]) : 0;
	const char *words;

	if (argc < 2) {
		list_all();
		return 0;
	}
	d.bad = calloc(MOST, sizeof(*d.bad));
	d.slow = calloc(MOST, sizeof(*d.slow));
	if (d.bad == NULL || d.slow == NULL)
		err(125, NULL);
	if (strcmp(argv[1], "-l") == 0) {
		list_random(&d, argv + 2);
		return 0;
	}
	if (argv[1][0] == 'r' && argv[1][1] >= '1' && argv[1][1] <= '9') {
		make_random(&d, number(argv[1] + 1), mib);
		words = d.words;
	} else {
		words = make_shape(&d, argv[1], seed, mib);
	}
	printf("size %" PRIu64 "\nrate 200e6\n", d.n * SECTOR);
	print_words(words);
	print_ranges(d.bad, d.nbad, "bad", "");
	print_ranges(d.slow, d.nslow, "slow", " 1.5e6");
	free(d.bad);
	free(d.slow);
	return 0;
}
