/*
 * What was lost of a file system.
 *
 * It is read from the target, where what the map does not have as finished is
 * an error.  What cannot be told for that counts as used, so damage of bitmaps
 * makes more bytes those of files, and never fewer.
 */
#include "loss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "end/endpoint.h"
#include "part/fsmap.h"

enum {
	ROOM = 64 << 10,	/* bytes of a read, at most */
	DEEP_GIB = 64,		/* to read all directories takes longer */
};

struct scene {
	struct map	*map;
	struct endpoint	 dst;	/* the target, to be read */
	struct lane	 lane;
	uint64_t	 base;	/* the area's first byte, in the copy */
	unsigned char	*buf;	/* ROOM bytes, aligned */
};

bool
loss_is(enum seg_status status)
{
	return status == BAD || status == UNTRIMMED || status == UNSCRAPED;
}

/* For fs_map_read. */
static int
read_back(void *arg, uint64_t off, void *buf, size_t len)
{
	struct scene *s = arg;
	unsigned char *to = buf;
	uint64_t at = s->base + off, place, unit = s->dst.geo.io_align;
	size_t before, n;

	if (!map_all(s->map, at, len, FINISHED))
		return EIO;
	for (; len > 0; len -= n, at += n, to += n) {
		struct io io = { .op = OP_READ, .buf = s->buf,
			.careful = true };

		place = lane_place(&s->lane, at);
		before = (size_t)(place % unit);
		io.off = at - before;
		io.len = (size_t)MIN(round_up(before + len, unit), ROOM);
		lane_transfer(&s->lane, &io);
		if (io.err != 0 || io.done <= before)
			return io.err != 0 ? io.err : EIO;
		n = MIN(io.done - before, len);
		memcpy(to, s->buf + before, n);
	}
	return 0;
}

/* The bytes of a list of extents that lie between "off" and "end". */
static uint64_t
among(const struct fs_extents *e, uint64_t off, uint64_t end)
{
	size_t lo = 0, hi = e->n, mid;
	uint64_t sum = 0;

	while (lo < hi) {		/* the first that ends behind off */
		mid = lo + (hi - lo) / 2;
		if (e->at[mid].off + e->at[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < e->n && e->at[lo].off < end; lo++)
		sum += MIN(e->at[lo].off + e->at[lo].len, end) -
		    MAX(e->at[lo].off, off);
	return sum;
}

static void
sum_up(struct damage_area *a, const struct scene *s, const struct fs_map *m)
{
	uint64_t off, end, free_bytes, meta;
	struct seg *seg;
	size_t n = map_copy(s->map, &seg), i;

	for (i = 0; i < n; i++) {
		off = MAX(seg[i].off, s->base);
		end = MIN(seg[i].off + seg[i].len, s->base + a->len);
		if (off >= end || !loss_is(seg[i].status))
			continue;
		free_bytes = among(&m->free, off - s->base, end - s->base);
		meta = among(&m->meta, off - s->base, end - s->base);
		a->loss.free += free_bytes;
		a->loss.structures += meta;
		a->loss.files += end - off - free_bytes - meta;
	}
	free(seg);
}

static void
sort(struct damage_area *a, struct scene *s)
{
	struct fs_source source = { .read = read_back, .arg = s,
		.length = a->len };
	unsigned how = FS_ORDER | FS_META | FS_TABLES;
	struct fs_map m;

	if (a->len >> 30 < DEEP_GIB)
		how |= FS_DEEP;
	if (fs_map_read("", &source, how, &m) == 0 &&
	    m.state != FS_UNKNOWN) {
		a->loss.known = true;
		a->loss.state = m.state;
		sum_up(a, s, &m);
	}
	fs_map_free(&m);
}

void
loss_sort(struct damage_area *a, const struct plan *p, struct map *map)
{
	struct scene s = { .map = map, .base = a->off,
		.buf = aligned_alloc(4096, ROOM) };
	struct fault f;

	if (s.buf != NULL && endpoint_readable_back(p->dst) &&
	    endpoint_readback(&s.dst, p->dst, READ_BACK_MOST, &f) == 0) {
		if (lane_attach(&s.lane, &s.dst, p->dst_off, -1) == 0) {
			sort(a, &s);
			lane_detach(&s.lane);
		}
		endpoint_close(&s.dst);
	}
	free(s.buf);
}
