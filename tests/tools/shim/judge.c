/*
 * What a call comes to: the first rule that fits decides.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "shim.h"

enum { FRAME_MOST = 65536 };		/* words from one frame to the next */

static bool
same_file(const struct rule *r, int fd)
{
	struct stat a, b;

	REAL(real, fstat);
	if (r->path[0] == '\0')
		return true;
	if (real(fd, &a) < 0 || stat(r->path, &b) < 0)
		return false;
	if (S_ISBLK(a.st_mode) || S_ISCHR(a.st_mode))
		return (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT) &&
		    a.st_rdev == b.st_rdev;
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool
direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_DIRECT) != 0;
}

void
note(const char *op, int fd, uint64_t off, size_t len, long result)
{
	char line[160];
	int n;

	if (log_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%s %" PRIu64 " %zu %ld %s\n", op, off,
	    len, result, direct(fd) ? "direct" : "cached");
	/* past ourselves: the log is no file of the program's */
	(void)!syscall(SYS_write, log_fd, line, (size_t)n);
}

static uint64_t
roll(struct rule *r)
{
	uint64_t x = atomic_fetch_add(&r->dice, UINT64_C(0x9E3779B97F4A7C15));

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (x ^ (x >> 31)) >> 8;
}

/* The calls that led to the one for memory: those of the program, at most n. */
static uint64_t
calls_to(const void *base, unsigned n)
{
	uint64_t sum = (uintptr_t)asker - (uintptr_t)base;
	void *const *frame = asks, *const *next;
	Dl_info who;

	while (n-- > 1) {
		next = *frame;
		if (next <= frame || next > frame + FRAME_MOST ||
		    dladdr(next[1], &who) == 0 || who.dli_fbase != base)
			break;
		sum = sum * 0x100000001B3 + ((uintptr_t)next[1] -
		    (uintptr_t)base);
		frame = next;
	}
	return sum;
}

/*
 * Whether none has failed where memory is asked for: by the offsets in the
 * program that the rule's file had, which then has this one, too.
 */
static bool
new_place(struct rule *r)
{
	enum { LINE = 17 };		/* 16 digits */
	char line[LINE + 1];
	Dl_info who;

	if (atomic_load(&r->placed) || dladdr(asker, &who) == 0)
		return false;
	snprintf(line, sizeof(line), "%016" PRIx64 "\n",
	    calls_to(who.dli_fbase, r->depth));
	if (strstr(r->had, line) != NULL || atomic_exchange(&r->placed, true))
		return false;
	(void)!syscall(SYS_write, r->places, line, LINE);
	return true;
}

/* Is it this rule's turn?  Counts; so ask only when the rest fits. */
static bool
due(struct rule *r, struct range *g, int fd)
{
	unsigned seen = atomic_fetch_add(&r->seen, 1) + 1;

	if ((r->nth != 0 && seen != r->nth) || seen < r->from)
		return false;
	if (r->every != 0 && roll(r) % r->every != 0)
		return false;
	if (r->had != NULL && !new_place(r))
		return false;
	if (r->once && fd >= 0 && fd < DESCRIPTORS &&
	    atomic_exchange(&r->told[fd], true))
		return false;
	return r->times == 0 ||
	    atomic_fetch_add(g != NULL ? &g->hits : &r->hits, 1) < r->times;
}

/* The first range that [off, off + len) touches. */
static struct range *
touched(struct rule *r, uint64_t off, size_t len)
{
	struct range *best = NULL, *g;

	for (g = r->range; g < r->range + r->n; g++)
		if (g->off < off + len && off < g->end &&
		    (r->times == 0 || atomic_load(&g->hits) < r->times) &&
		    (best == NULL || g->off < best->off))
			best = g;
	return best;
}

static size_t
shorter(struct rule *r, int fd, size_t len)
{
	size_t unit = r->odd && !direct(fd) ? 1 : SECTOR;

	return len <= unit ? len : unit + roll(r) % (len / unit) * unit;
}

static void
wait_for(const struct rule *r, int fd, uint64_t off, size_t len)
{
	unsigned most = r->ms > 0 ? r->ms : 60000, ms;

	if (r->hang || r->until[0] != '\0')
		note("waits", fd, off, len, 0);
	while (r->hang)
		pause();
	if (r->until[0] == '\0')
		usleep(r->ms * 1000);
	else
		for (ms = 0; ms < most && access(r->until, F_OK) != 0; ms += 5)
			usleep(5000);
}

/* The bytes that a transfer moves before it meets the range. */
static size_t
moved_before(const struct rule *r, const struct range *g, int fd, uint64_t off)
{
	size_t n;

	if (g == NULL || g->off <= off || r->whole || r->flip)
		return 0;
	n = (size_t)(g->off - off);
	return direct(fd) ? n - n % SECTOR : n;
}

struct verdict
judge(enum op op, int fd, uint64_t off, size_t len)
{
	struct verdict v = { .len = len };
	struct range *g;
	struct rule *r;
	size_t before;

	for (r = rules; r < rules + nrules; r++) {
		if (!(r->ops & op) || !same_file(r, fd))
			continue;
		v.touched = true;
		g = NULL;
		if (r->n > 0 && (g = touched(r, off, len)) == NULL)
			continue;
		before = moved_before(r, g, fd, off);
		if (before > 0) {
			v.len = before;
			return v;
		}
		if (!due(r, g, fd))
			continue;
		wait_for(r, fd, off, len);
		v.err = r->err;
		v.flip = r->flip;
		v.zero = r->zero || r->fill != 0;
		v.fill = r->fill;
		v.stale = r->stale;
		v.at = g != NULL && g->off > off ? (size_t)(g->off - off) : 0;
		if (r->cut && r->err == 0)
			v.len = shorter(r, fd, len);
		return v;
	}
	return v;
}

uint64_t
place(enum op op, int fd, int64_t at)
{
	struct rule *r;
	off_t here;

	if (at >= 0)
		return (uint64_t)at;
	if ((here = lseek(fd, 0, SEEK_CUR)) >= 0)
		return (uint64_t)here;
	for (r = rules; r < rules + nrules; r++)
		if ((r->ops & op) && same_file(r, fd))
			return atomic_load(&r->passed);
	return 0;
}

void
count(enum op op, int fd, ssize_t moved)
{
	struct rule *r;

	for (r = rules; moved > 0 && r < rules + nrules; r++)
		if ((r->ops & op) && same_file(r, fd))
			atomic_fetch_add(&r->passed, (uint64_t)moved);
}

bool
old(enum op op, int fd)
{
	struct rule *r;

	for (r = rules; r < rules + nrules; r++)
		if (r->old && (r->ops & op) && same_file(r, fd))
			return true;
	return false;
}

bool
refused_at(enum op op, const char *name, int fd, uint64_t off, size_t len)
{
	struct verdict v;

	if (nrules == 0)
		return false;
	v = judge(op, fd, off, len);
	if (v.touched && (log_all || v.err != 0))
		note(name, fd, off, len, -v.err);
	errno = v.err;
	return v.err != 0;
}

bool
refused(enum op op, const char *name, int fd)
{
	return refused_at(op, name, fd, 0, 0);
}
