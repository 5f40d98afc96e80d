/*
 * What was lost of a file system.
 *
 * Everything that the map does not call finished is an error.  What cannot be
 * determined because of that counts as used, so a damaged bitmap makes more
 * bytes count as files' data, never fewer.
 */
#include "used_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "fs/fsmap.h"

enum {
	DEEP_GIB = 64,		/* beyond this, reading all directories takes
				 * too long */
	SEARCH = 15,		/* s, for the names of files */
};

struct wreck {
	struct damage_area *area;
	struct look	 look;
	struct used	 used;	/* the area, and the volumes in it */
	struct seg	*seg;	/* lost ranges in bytes of the source, */
	size_t		 n;	/* so many */
};

static void
loss_load(struct wreck *w, const struct plan *p, struct map *map)
{
	size_t n = map_copy(map, &w->seg), i;

	for (i = 0; i < n; i++)
		if (loss_is(w->seg[i].status)) {
			w->seg[w->n] = w->seg[i];
			w->seg[w->n++].off += p->src_off;
		}
}

/* List the lost ranges of ->look.fs, or only count them, if "to" is NULL. */
static size_t
loss_ranges(const struct wreck *w, struct fs_extent *to)
{
	const struct used_fs *fs = w->look.fs;
	uint64_t off, at, len, from, end;
	size_t n = 0, i;

	for (off = 0; off < fs->length; off += len) {
		len = fs->length - off;
		at = used_place(&w->used, fs, off, &len);
		for (i = segs_find(w->seg, w->n, at); i < w->n &&
		    w->seg[i].off < at + len; i++, n++) {
			from = MAX(w->seg[i].off, at);
			end = MIN(w->seg[i].off + w->seg[i].len, at + len);
			if (to != NULL)
				to[n] = (struct fs_extent){ off + from - at,
					end - from };
		}
	}
	return n;
}

/* Add names of files, with that of their volume. */
static void
loss_add_names(struct damage_area *a, const char *volume,
    struct fs_names *names)
{
	char *name;
	size_t i;

	a->files.more |= names->more || !names->known;
	for (i = 0; i < names->n; i++) {
		name = names->name[i];
		if (a->files.n == FS_NAMES_MOST || (volume[0] != '\0' &&
		    asprintf(&name, "%s: %s", volume, names->name[i]) < 0)) {
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
loss_name_files(struct wreck *w, const char *type,
    const struct fs_source *source, const struct fs_extents *lost)
{
	struct damage_area *a = w->area;
	struct fs_names names = { .n = 0 };

	if (a->files.name == NULL)
		a->files.name = calloc(FS_NAMES_MOST, sizeof(*a->files.name));
	w->look.until = clock_seconds() + SEARCH;
	if (a->files.name == NULL || fs_names_read(type, source, lost,
	    &names) != 0)
		a->files.more = true;
	else
		loss_add_names(a, w->look.fs->volume, &names);
	a->files.known |= names.known;
	fs_names_free(&names);
}

/* Sort lost ranges by what they were, those of a volume once more. */
static void
loss_sum_up(struct wreck *w, const struct fs_map *m,
    const struct fs_extents *lost)
{
	struct loss *l = &w->area->loss;
	const struct fs_extent *e = lost->at, *end = e + lost->n;
	bool volume = w->look.fs->within > 0;
	uint64_t free_bytes, meta;

	for (; e < end; e++) {
		free_bytes = fs_among(&m->free, e->off, e->off + e->len);
		meta = fs_among(&m->meta, e->off, e->off + e->len);
		l->free += free_bytes;
		l->structures += meta;
		l->files += (volume ? 0 : e->len) - free_bytes - meta;
	}
	if (!volume || m->state != FS_CLEAN)
		l->state = m->state;
	l->known = true;
}

/* Whether it is read by an open container, and so from the source. */
static bool
loss_by_mapper(const struct used *u, const struct used_fs *fs)
{
	while (fs->within > 0 && fs->mapper == 0)
		fs = &u->fs[fs->within - 1];
	return fs->mapper != 0;
}

/* Sort what is lost of ->look.fs, which is number i; add its volumes. */
static void
loss_sort_one(struct wreck *w, size_t i, const struct fs_extents *lost)
{
	struct used *u = &w->used;
	struct look *l = &w->look;
	struct fs_source source = { .read = used_read, .arg = l,
		.length = l->fs->length };
	unsigned how = FS_ORDER | FS_META | FS_TABLES;
	bool again = loss_by_mapper(u, l->fs);
	char why[IDLE_WHY];
	struct fs_map m = { .type = "" };
	dev_t mapper = 0;
	size_t n = u->n;
	int open = -1;

	l->until = again ? clock_seconds() + SEARCH : 0;
	if (!again && source.length >> 30 < DEEP_GIB)
		how |= FS_DEEP;
	/* a superblock of an earlier file system may be left */
	if (l->fs->treated != TREATED_WHOLE && fs_map_read(i == 0 ?
	    w->area->type : "", &source, how, &m) == 0)
		/* without used= no mapping is read */
		open = l->p->opened ? used_open(l, &m, &mapper, why) :
		    m.payload > 0 ? -1 : 1;
	w->area->closed |= open < 0 && m.payload > 0;
	if (open < 0 || (open > 0 && (m.state == FS_UNKNOWN ||
	    m.type[0] == '\0'))) {
		w->area->files.more = true;
	} else {
		loss_sum_up(w, &m, lost);
		if (m.volumes == 0)
			loss_name_files(w, m.type, &source, lost);
		else if (used_add_volumes(u, i, &m) != 0 || u->n == n)
			w->area->files.more = true;
		if (mapper != 0 && u->n > n)
			u->fs[i + 1].mapper = mapper;
	}
	fs_map_free(&m);
}

void
loss_sort(struct damage_area *a, const struct plan *p, struct map *map)
{
	struct wreck w = { .area = a };
	struct fs_extents lost;
	size_t i;

	if (look_open(&w.look, p, 0, map, true) != 0)
		return;
	loss_load(&w, p, map);
	if (used_add(&w.used, a->number, a->off + p->src_off, a->len) != 0)
		a->files.more = true;
	w.look.u = &w.used;
	for (i = 0; i < w.used.n; i++) {
		w.look.fs = &w.used.fs[i];
		lost = (struct fs_extents){ .n = loss_ranges(&w, NULL) };
		lost.at = calloc(lost.n + 1, sizeof(*lost.at));
		if (lost.at == NULL)
			a->files.more = true;
		else if (loss_ranges(&w, lost.at) > 0)
			loss_sort_one(&w, i, &lost);
		free(lost.at);
	}
	look_close(&w.look);
	used_free(&w.used);
	free(w.seg);
}
