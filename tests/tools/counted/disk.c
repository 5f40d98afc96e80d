/*
 * The disk: which read fails where, and how long each takes.
 */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <inttypes.h>

#include "counted.h"

/* The first of the areas that ends behind off. */
static size_t
first_behind(const struct areas *a, uint64_t off)
{
	size_t from = 0, to = a->n, half;

	while (from < to) {
		half = from + (to - from) / 2;
		if (a->area[half].end > off)
			to = half;
		else
			from = half + 1;
	}
	return from;
}

/* With tries=N: the first sector of the area that fails still. */
static bool
still_bad(const struct area *a, uint64_t off, uint64_t end, uint64_t *at)
{
	uint64_t s = a->off > off ? a->off : off;
	uint64_t e = a->end < end ? a->end : end;

	for (*at = s; disk.tries > 0 && *at < e; *at += SECTOR)
		if (++disk.tried[*at / SECTOR] < disk.tries)
			return true;
	return disk.tries == 0;
}

/* Where a read meets the first bad sector; false: nowhere. */
static bool
meets(uint64_t off, size_t len, uint64_t *at)
{
	size_t i = first_behind(&disk.bad, off);
	struct area *a;

	if (len <= disk.above)
		return false;
	for (; i < disk.bad.n && disk.bad.area[i].off < off + len; i++) {
		a = &disk.bad.area[i];
		if (!still_bad(a, off, off + len, at))
			continue;
		if (disk.grow > 0 && disk.errors % disk.grow == 0 &&
		    a->end < (i + 1 < disk.bad.n ? a[1].off : disk.size))
			a->end += SECTOR;
		return true;
	}
	return false;
}

/* What the transfer of a range takes, ns. */
static int64_t
transfer_time(uint64_t off, uint64_t end)
{
	size_t i = first_behind(&disk.slow, off);
	double s = 0;
	uint64_t from, to;

	for (; off < end && i < disk.slow.n; i++) {
		from = disk.slow.area[i].off;
		to = disk.slow.area[i].end;
		from = from > end ? end : from < off ? off : from;
		to = to < end ? to : end;
		s += (double)(from - off) / disk.rate;
		s += (double)(to > from ? to - from : 0) /
		    disk.slow.area[i].rate;
		off = to > from ? to : from;
	}
	s += (double)(end - off) / disk.rate;
	return (int64_t)(s * (double)ns_per_s + .5);
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Who serves next. */
static int64_t *
first_free(void)
{
	int64_t *first = disk.free_at, *at;

	for (at = first + 1; at < disk.free_at + disk.servers; at++)
		first = *at < *first ? at : first;
	return first;
}

/* One read: its time is up when this returns.  False: it has failed. */
static bool
serve(uint64_t off, size_t len)
{
	int64_t *server = first_free(), start;
	uint64_t to = off + len;
	bool bad = meets(off, len, &to), follows = off == disk.head;

	disk.reads++;
	disk.jumps += !follows;
	disk.errors += bad;
	disk.head = bad ? UINT64_MAX : to;
	start = later(now, *server) + disk.overhead +
	    (follows ? 0 : disk.jump);
	disk.way_at = later(start, disk.way_at) + transfer_time(off, to);
	*server = disk.way_at + (bad ? disk.error : 0);
	wait_for(NULL, *server + disk.latency);
	if (trace != NULL)
		fprintf(trace, "%.6f %" PRIu64 " %zu %d\n", (double)now /
		    (double)ns_per_s, off, len, !bad);
	if (disk.limit > 0 && now > disk.limit)
		enough();
	return !bad;
}

ssize_t
read_disk(unsigned char *buf, uint64_t off, size_t len)
{
	uint64_t s;
	size_t i;

	if (off >= disk.size)
		return 0;
	if (len > disk.size - off)
		len = (size_t)(disk.size - off);
	if (off % SECTOR != 0 || len % SECTOR != 0)
		die("read", "not of sectors");
	if (!serve(off, len)) {
		errno = EIO;
		return -1;
	}
	for (i = 0; i < len; i += SECTOR) {
		s = (off + i) / SECTOR | salt;
		memcpy(buf + i, &s, sizeof(s));
	}
	return (ssize_t)len;
}
