/*
 * What was lost of a file system.
 *
 * It is read from the target, where everything that the map does not call
 * finished is an error.  What cannot be determined because of that counts as
 * used, so a damaged bitmap makes more bytes count as files' data, never fewer.
 */
#include "used_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/number.h"
#include "end/endpoint.h"
#include "fs/fsmap.h"

enum {
	ROOM = 64 << 10,	/* bytes per read, at most */
	DEEP_GIB = 64,		/* beyond this, reading all directories takes
				 * too long */
	SEARCH = 15,		/* s, for the names of files */
};

struct scene {
	struct map	*map;
	struct endpoint	 dst;	/* the target, for reading */
	struct lane	 lane;
	uint64_t	 base;	/* byte of the copy where the area begins */
	unsigned char	*buf;	/* ROOM bytes, aligned */
	double		 until;	/* deadline by clock_seconds(), or 0 */
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

	if (s->until > 0 && clock_seconds() > s->until)
		return ETIMEDOUT;
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

static void
loss_sum_up(struct damage_area *a, const struct scene *s,
    const struct fs_map *m)
{
	uint64_t off, end, free_bytes, meta;
	struct seg *seg;
	size_t n = map_copy(s->map, &seg), i;

	for (i = 0; i < n; i++) {
		off = MAX(seg[i].off, s->base);
		end = MIN(seg[i].off + seg[i].len, s->base + a->len);
		if (off >= end || !loss_is(seg[i].status))
			continue;
		free_bytes = fs_among(&m->free, off - s->base, end - s->base);
		meta = fs_among(&m->meta, off - s->base, end - s->base);
		a->loss.free += free_bytes;
		a->loss.structures += meta;
		a->loss.files += end - off - free_bytes - meta;
	}
	free(seg);
}

/* The lost ranges of an area, in bytes of it; the caller frees them. */
static struct fs_extents
loss_ranges(const struct damage_area *a, const struct scene *s)
{
	struct fs_extents lost = { .n = 0 };
	struct seg *seg;
	size_t n = map_copy(s->map, &seg), i;
	uint64_t off, end;

	lost.at = calloc(n + 1, sizeof(*lost.at));
	for (i = 0; i < n && lost.at != NULL; i++) {
		off = MAX(seg[i].off, s->base);
		end = MIN(seg[i].off + seg[i].len, s->base + a->len);
		if (off < end && loss_is(seg[i].status))
			lost.at[lost.n++] = (struct fs_extent){
				.off = off - s->base, .len = end - off };
	}
	free(seg);
	return lost;
}

/* Find names, within limits, because there is a command that finds them too. */
static void
loss_name_files(struct damage_area *a, struct scene *s,
    const struct fs_source *source, const char *type)
{
	struct fs_extents lost = loss_ranges(a, s);

	s->until = clock_seconds() + SEARCH;
	if (lost.n > 0 && fs_names_read(type, source, &lost, &a->files) != 0)
		fs_names_free(&a->files);
	s->until = 0;
	free(lost.at);
}

static void
loss_sort_areas(struct damage_area *a, struct scene *s)
{
	struct fs_source source = { .read = read_back, .arg = s,
		.length = a->len };
	unsigned how = FS_ORDER | FS_META | FS_TABLES;
	struct fs_map m;

	if (a->len >> 30 < DEEP_GIB)
		how |= FS_DEEP;
	/* a superblock of an earlier file system may be left */
	if (fs_map_read(a->type, &source, how, &m) == 0 &&
	    m.state != FS_UNKNOWN && m.type[0] != '\0') {
		a->loss.known = true;
		a->loss.state = m.state;
		loss_sum_up(a, s, &m);
		loss_name_files(a, s, &source, m.type);
	}
	fs_map_free(&m);
}

void
loss_sort(struct damage_area *a, const struct plan *p, struct map *map)
{
	struct scene s = { .map = map, .base = a->off,
		.buf = page_alloc(ROOM) };
	struct fault f;

	if (s.buf != NULL && endpoint_readable_back(p->dst) &&
	    endpoint_readback(&s.dst, p->dst, READ_BACK_MOST, &f) == 0) {
		if (lane_attach(&s.lane, &s.dst, p->dst_off, -1) == 0) {
			loss_sort_areas(a, &s);
			lane_detach(&s.lane);
		}
		endpoint_close(&s.dst);
	}
	free(s.buf);
}
