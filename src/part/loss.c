/*
 * What was lost of a file system.
 *
 * It is read from the target, where everything that the map does not call
 * finished is an error.  What cannot be determined because of that counts as
 * used, so a damaged bitmap makes more bytes count as files' data, never fewer.
 */
#include "used_survey.h"

#include <errno.h>
#include <stdio.h>
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

/* What is lost of a file system, or of a volume. */
struct wreck {
	struct damage_area *area;
	struct scene *scene;
	const struct fs_source *source;
	struct fs_extents lost;
	const char *volume;	/* "vg0/root"; or NULL */
};

struct stratum {		/* a volume, in pieces, */
	const struct fs_source *below;	/* of what is read so */
	const struct fs_volume *v;
};

/* For fs_map_read. */
static int
loss_read_volume(void *arg, uint64_t off, void *buf, size_t len)
{
	const struct stratum *t = arg;
	unsigned char *to = buf;
	uint64_t n;
	int err = 0;
	size_t i;

	for (i = 0; i < t->v->n && len > 0 && err == 0; i++) {
		const struct fs_piece *p = &t->v->piece[i];

		if (off - p->at >= p->len)
			continue;
		n = MIN(p->at + p->len - off, (uint64_t)len);
		err = t->below->read(t->below->arg, p->off + off - p->at, to,
		    (size_t)n);
		off += n;
		to += n;
		len -= (size_t)n;
	}
	return err;
}

/* The lost ranges of a volume; the caller frees them. */
static struct fs_extents
loss_of_volume(const struct fs_extents *lost, const struct fs_volume *v)
{
	struct fs_extents to = { .n = 0 };
	uint64_t off, end;
	size_t i, k;

	to.at = calloc(lost->n + v->n + 1, sizeof(*to.at));
	for (i = 0; i < v->n && to.at != NULL; i++)
		for (k = 0; k < lost->n; k++) {
			off = MAX(lost->at[k].off, v->piece[i].off);
			end = MIN(lost->at[k].off + lost->at[k].len,
			    v->piece[i].off + v->piece[i].len);
			if (off < end)
				to.at[to.n++] = (struct fs_extent){
					.off = off - v->piece[i].off +
					    v->piece[i].at, .len = end - off };
		}
	return to;
}

/* Add names of files, with that of their volume. */
static void
loss_add_names(struct damage_area *a, const struct wreck *w,
    struct fs_names *names)
{
	char *name;
	size_t i;

	a->files.more |= names->more || !names->known;
	for (i = 0; i < names->n; i++) {
		name = names->name[i];
		if (a->files.n == FS_NAMES_MOST || (w->volume != NULL &&
		    asprintf(&name, "%s: %s", w->volume, names->name[i]) < 0)) {
			a->files.more = true;
			return;
		}
		if (name == names->name[i])
			names->name[i] = NULL;
		a->files.name[a->files.n++] = name;
	}
}

/* Find names, within limits, because there is a command that finds them too. */
static void
loss_name_files(struct wreck *w, const char *type)
{
	struct damage_area *a = w->area;
	struct fs_names names = { .n = 0 };

	if (a->files.name == NULL)
		a->files.name = calloc(FS_NAMES_MOST, sizeof(*a->files.name));
	w->scene->until = clock_seconds() + SEARCH;
	if (a->files.name == NULL || fs_names_read(type, w->source, &w->lost,
	    &names) != 0)
		a->files.more = true;
	else
		loss_add_names(a, w, &names);
	w->scene->until = 0;
	a->files.known |= names.known;
	fs_names_free(&names);
}

/* Sort lost ranges by what they were, those of a volume once more. */
static void
loss_sum_up(struct wreck *w, const struct fs_map *m)
{
	struct loss *l = &w->area->loss;
	const struct fs_extent *e = w->lost.at, *end = e + w->lost.n;
	uint64_t free_bytes, meta;

	for (; e < end; e++) {
		free_bytes = fs_among(&m->free, e->off, e->off + e->len);
		meta = fs_among(&m->meta, e->off, e->off + e->len);
		l->free += free_bytes;
		l->structures += meta;
		l->files += (w->volume == NULL ? e->len : 0) - free_bytes -
		    meta;
	}
	if (w->volume == NULL || m->state != FS_CLEAN)
		l->state = m->state;
}

/* Sort what is lost of one; then of its volumes. */
static void
loss_sort_one(struct wreck *w, const char *type, unsigned levels)
{
	unsigned how = FS_ORDER | FS_META | FS_TABLES;
	struct fs_map m;
	size_t i;

	if (w->source->length >> 30 < DEEP_GIB)
		how |= FS_DEEP;
	/* a superblock of an earlier file system may be left */
	if (fs_map_read(type, w->source, how, &m) != 0 ||
	    m.state == FS_UNKNOWN || m.type[0] == '\0') {
		w->area->files.more = true;
		fs_map_free(&m);
		return;
	}
	w->area->loss.known = true;
	loss_sum_up(w, &m);
	if (m.volumes == 0 && w->lost.n > 0)
		loss_name_files(w, m.type);
	for (i = 0; i < m.volumes; i++) {
		struct stratum t = { w->source, &m.volume[i] };
		struct fs_source source = { .read = loss_read_volume,
			.arg = &t, .length = t.v->length };
		struct wreck in = { .area = w->area, .scene = w->scene,
			.source = &source,
			.lost = loss_of_volume(&w->lost, t.v),
			.volume = t.v->name };

		if (in.lost.n > 0 && t.v->reason[0] == '\0' && levels > 0)
			loss_sort_one(&in, "", levels - 1);
		else
			w->area->files.more |= in.lost.n > 0;
		free(in.lost.at);
	}
	fs_map_free(&m);
}

void
loss_sort(struct damage_area *a, const struct plan *p, struct map *map)
{
	struct scene s = { .map = map, .base = a->off,
		.buf = page_alloc(ROOM) };
	struct fs_source source = { .read = read_back, .arg = &s,
		.length = a->len };
	struct wreck w = { .area = a, .scene = &s, .source = &source };
	struct fault f;

	if (s.buf != NULL && endpoint_readable_back(p->dst) &&
	    endpoint_readback(&s.dst, p->dst, READ_BACK_MOST, &f) == 0) {
		if (lane_attach(&s.lane, &s.dst, p->dst_off, -1) == 0) {
			w.lost = loss_ranges(a, &s);
			loss_sort_one(&w, a->type, LEVELS_MOST);
			free(w.lost.at);
			lane_detach(&s.lane);
		}
		endpoint_close(&s.dst);
	}
	free(s.buf);
}
