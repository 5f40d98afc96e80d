/*
 * blocks: data that shows its position.
 *
 * The pattern of a seed is endless: the eight bytes at offset 8w are w times an
 * odd constant, xored with a key derived from the seed.  That can be inverted,
 * so a word at a wrong place shows where it came from, and all 512-byte blocks
 * differ.
 *
 *	blocks make FILE BYTES [SEED [AT]]	write the pattern from AT on;
 *						without AT from 0, truncating a
 *						regular file
 *	blocks drip BYTES [SEED]		to stdout, in odd pieces with pauses
 *	blocks check [-z RANGES] FILE AT ORIGIN BYTES [SEED]
 *						BYTES at AT are the pattern from
 *						ORIGIN on; zeros in RANGES of
 *						the origin, and only there
 *	blocks zero FILE AT BYTES		there are only zeros
 *	blocks extents FILE			its holes and data, a line each
 *	blocks incore FILE			pages of FILE in the page cache
 *
 * FILE may be - (stdout, stdin).  RANGES: OFFSET+LENGTH,...  Numbers take the
 * suffixes k M G T.  Exits 0 if the check holds, 1 if not, 2 on an error.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <linux/fs.h>
#include <unistd.h>

enum { BLOCK = 512, PIECE = 1 << 20, SHOWN = 8, TROUBLE = 2 };

static const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);

struct range { uint64_t off, len; };

static unsigned char want_room[PIECE + 16], got[PIECE + 16];

static uint64_t
key(uint64_t seed)
{
	seed = (seed + odd) * UINT64_C(0xBF58476D1CE4E5B9);
	seed ^= seed >> 29;
	return seed * UINT64_C(0x94D049BB133111EB);
}

/* The odd constant's inverse modulo 2^64, by Newton's steps. */
static uint64_t
inverse(uint64_t a)
{
	uint64_t x = a;
	int i;

	for (i = 0; i < 6; i++)
		x *= 2 - a * x;
	return x;
}

/* len bytes of the pattern from off on; they lie in room, where is returned. */
static unsigned char *
pattern(unsigned char *room, uint64_t off, size_t len, uint64_t seed)
{
	size_t skew = (size_t)(off % 8), n = (skew + len + 7) / 8, i;
	uint64_t w = off / 8, k = key(seed), v;

	for (i = 0; i < n; i++) {
		v = ((w + i) * odd) ^ k;
		memcpy(room + 8 * i, &v, 8);
	}
	return room + skew;
}

/* Where in the pattern these 16 bytes and more stand; false: nowhere. */
static bool
origin_of(const unsigned char *p, size_t len, uint64_t seed, uint64_t *off)
{
	uint64_t a, b, inv = inverse(odd), k = key(seed);
	size_t i;

	for (i = 0; i < 8 && i + 16 <= len; i++) {
		memcpy(&a, p + i, 8);
		memcpy(&b, p + i + 8, 8);
		a = (a ^ k) * inv;
		b = (b ^ k) * inv;
		if (b == a + 1 && a < UINT64_C(1) << 60) {
			*off = a * 8 - i;
			return true;
		}
	}
	return false;
}

static bool
all_zero(const unsigned char *p, size_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

static uint64_t
number(const char *s)
{
	char *end;
	uint64_t n, shift = 0;

	errno = 0;
	n = strtoull(s, &end, 0);
	if (end == s || errno != 0)
		errx(TROUBLE, "not a number: %s", s);
	switch (*end) {
	case 'k': shift = 10; break;
	case 'M': shift = 20; break;
	case 'G': shift = 30; break;
	case 'T': shift = 40; break;
	default: break;
	}
	if (end[shift != 0] != '\0')
		errx(TROUBLE, "not a number: %s", s);
	return n << shift;
}

static struct range *
ranges(char *s, size_t *n)
{
	struct range *r = calloc(strlen(s) / 2 + 1, sizeof(*r));
	char *item, *plus;

	if (r == NULL)
		err(TROUBLE, "calloc");
	for (*n = 0; (item = strsep(&s, ",")) != NULL;) {
		if (*item == '\0')
			continue;
		if ((plus = strchr(item, '+')) == NULL)
			errx(TROUBLE, "OFFSET+LENGTH, not %s", item);
		*plus = '\0';
		r[(*n)++] = (struct range){ number(item), number(plus + 1) };
	}
	return r;
}

static int
open_for(const char *name, int flags)
{
	int fd;

	if (strcmp(name, "-") == 0)
		return (flags & O_ACCMODE) == O_RDONLY ? 0 : 1;
	if ((fd = open(name, flags | O_CLOEXEC, 0666)) < 0)
		err(TROUBLE, "%s", name);
	return fd;
}

static void
put(int fd, const unsigned char *p, size_t len, uint64_t off, bool seeks)
{
	ssize_t n;

	while (len > 0) {
		n = seeks ? pwrite(fd, p, len, (off_t)off) : write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err(TROUBLE, "writing at %" PRIu64, off);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
}

/* As many of len bytes as there are. */
static size_t
take(int fd, unsigned char *p, size_t len, uint64_t off, bool seeks)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = seeks ? pread(fd, p + done, len - done, (off_t)(off + done))
		    : read(fd, p + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err(TROUBLE, "reading at %" PRIu64, off + done);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static int
make(const char *name, uint64_t bytes, uint64_t seed, const char *at)
{
	uint64_t off = at != NULL ? number(at) : 0, end = off + bytes;
	int fd = open_for(name, O_WRONLY | O_CREAT);
	bool seeks = fd != 1;
	struct stat st;
	size_t len;

	for (; off < end; off += len) {
		len = end - off < PIECE ? (size_t)(end - off) : PIECE;
		put(fd, pattern(want_room, off, len, seed), len, off, seeks);
	}
	if (seeks && at == NULL && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(fd, (off_t)bytes) < 0)
		err(TROUBLE, "%s", name);
	if (seeks && close(fd) < 0)
		err(TROUBLE, "%s", name);
	return 0;
}

static int
drip(uint64_t bytes, uint64_t seed)
{
	uint64_t off, dice = key(seed + 1);
	size_t len;

	for (off = 0; off < bytes; off += len) {
		dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407;
		len = 1 + (size_t)(dice >> 33) % ((dice >> 60) != 0 ? 9001 : 90001);
		if (len > bytes - off)
			len = (size_t)(bytes - off);
		put(1, pattern(want_room, off, len, seed), len, 0, false);
		if ((dice >> 58) == 0)
			usleep(1000);
	}
	return 0;
}

/* One wrong block, in words. */
static void
tell(uint64_t at, uint64_t org, const unsigned char *p, size_t len,
    uint64_t seed, bool zeros)
{
	uint64_t from;

	printf("# at %" PRIu64 ": should be ", at);
	if (zeros)
		printf("zeros");
	else
		printf("byte %" PRIu64, org);
	if (all_zero(p, len))
		printf(", is zeros\n");
	else if (!origin_of(p, len, seed, &from))
		printf(", is foreign\n");
	else if (from == org && !zeros)
		printf(", begins so but goes on otherwise\n");
	else
		printf(", is byte %" PRIu64 " (%+" PRId64 ")\n", from,
		    (int64_t)(from - org));
}

/* Put zeros where ranges r of the origin touch the len bytes at org. */
static void
blank(unsigned char *p, uint64_t org, size_t len, const struct range *r, size_t n)
{
	uint64_t lo, hi;
	size_t i;

	for (i = 0; i < n; i++) {
		lo = r[i].off > org ? r[i].off : org;
		hi = r[i].off + r[i].len < org + len ? r[i].off + r[i].len
		    : org + len;
		if (lo < hi)
			memset(p + (lo - org), 0, (size_t)(hi - lo));
	}
}

static int
check(const char *name, uint64_t at, uint64_t org, uint64_t bytes, uint64_t seed,
    const struct range *r, size_t nr)
{
	int fd = open_for(name, O_RDONLY);
	uint64_t wrong = 0, done;
	unsigned char *want;
	size_t len, have, i, n;

	for (done = 0; done < bytes; done += len) {
		len = bytes - done < PIECE ? (size_t)(bytes - done) : PIECE;
		have = take(fd, got, len, at + done, fd != 0);
		want = pattern(want_room, org + done, len, seed);
		blank(want, org + done, len, r, nr);
		for (i = 0; i < have && memcmp(got, want, have) != 0; i += n) {
			n = have - i < BLOCK ? have - i : BLOCK;
			if (memcmp(got + i, want + i, n) != 0 && wrong++ < SHOWN)
				tell(at + done + i, org + done + i, got + i, n,
				    seed, all_zero(want + i, n));
		}
		if (have < len) {
			printf("# %s ends at %" PRIu64 ", wanted up to %" PRIu64
			    "\n", name, at + done + have, at + bytes);
			return 1;
		}
	}
	if (wrong > 0)
		printf("# %s: %" PRIu64 " blocks are wrong\n", name, wrong);
	if (fd == 0 && read(fd, got, 1) != 0) {
		printf("# more than %" PRIu64 " bytes came\n", bytes);
		return 1;
	}
	return wrong > 0;
}

static int
zero(const char *name, uint64_t at, uint64_t bytes)
{
	int fd = open_for(name, O_RDONLY);
	uint64_t done;
	size_t len;

	for (done = 0; done < bytes; done += len) {
		len = bytes - done < PIECE ? (size_t)(bytes - done) : PIECE;
		if (take(fd, got, len, at + done, fd != 0) < len) {
			printf("# %s is too short\n", name);
			return 1;
		}
		if (!all_zero(got, len)) {
			printf("# %s: not zeros between %" PRIu64 " and %" PRIu64
			    "\n", name, at + done, at + done + len);
			return 1;
		}
	}
	return 0;
}

static int
incore(const char *name)
{
	int fd = open_for(name, O_RDONLY);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n, i, in = 0;
	unsigned char *vec;
	struct stat st;
	uint64_t size;
	void *p;

	if (fstat(fd, &st) < 0)
		err(TROUBLE, "%s", name);
	size = (uint64_t)st.st_size;
	if (S_ISBLK(st.st_mode) && ioctl(fd, BLKGETSIZE64, &size) < 0)
		err(TROUBLE, "%s", name);
	n = (size_t)(size + page - 1) / page;
	p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	vec = malloc(n);
	if (p == MAP_FAILED || vec == NULL || mincore(p, (size_t)size, vec) < 0)
		err(TROUBLE, "%s", name);
	for (i = 0; i < n; i++)
		in += vec[i] & 1;
	printf("%zu\n", in);
	return 0;
}

/* What lies where, as the file system tells it. */
static int
extents(const char *name)
{
	int fd = open_for(name, O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END), at = 0, data, end;

	if (size < 0)
		err(TROUBLE, "%s", name);
	for (; at < size; at = end) {
		data = lseek(fd, at, SEEK_DATA);
		end = data == at ? lseek(fd, at, SEEK_HOLE) : data;
		if (data < 0 && errno == ENXIO)
			end = size;
		if (end <= at)
			err(TROUBLE, "%s", name);
		printf("%s %jd %jd\n", data == at ? "data" : "hole",
		    (intmax_t)at, (intmax_t)(end - at));
	}
	return 0;
}

static int
usage(void)
{
	fprintf(stderr, "usage: see the head of blocks.c\n");
	return TROUBLE;
}

int
main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	struct range *r = NULL;
	size_t nr = 0;

	if (strcmp(verb, "check") == 0 && argc > 3 && strcmp(argv[2], "-z") == 0) {
		r = ranges(argv[3], &nr);
		argc -= 2;
		argv += 2;
	}
	if (strcmp(verb, "make") == 0 && argc >= 4 && argc <= 6)
		return make(argv[2], number(argv[3]), argc > 4 ? number(argv[4]) : 0,
		    argc > 5 ? argv[5] : NULL);
	if (strcmp(verb, "drip") == 0 && argc >= 3 && argc <= 4)
		return drip(number(argv[2]), argc > 3 ? number(argv[3]) : 0);
	if (strcmp(verb, "check") == 0 && argc >= 6 && argc <= 7)
		return check(argv[2], number(argv[3]), number(argv[4]),
		    number(argv[5]), argc > 6 ? number(argv[6]) : 0, r, nr);
	if (strcmp(verb, "zero") == 0 && argc == 5)
		return zero(argv[2], number(argv[3]), number(argv[4]));
	if (strcmp(verb, "extents") == 0 && argc == 3)
		return extents(argv[2]);
	if (strcmp(verb, "incore") == 0 && argc == 3)
		return incore(argv[2]);
	return usage();
}
