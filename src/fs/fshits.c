/*
 * The files that are hit, sorted by number; and their paths, from directory to
 * directory up to the root.
 */
#include "fshits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------- names */

bool
fs_names_open(struct fs_io *io, struct fs_names *to)
{
	*to = (struct fs_names){ .name = fs_alloc(io, FS_NAMES_MOST *
		sizeof(*to->name)) };
	return to->name != NULL;
}

void
fs_names_free(struct fs_names *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		free(f->name[i]);
	free((void *)f->name);
	*f = (struct fs_names){ .n = 0 };
}

void
fs_doubt_files(struct fs_io *io, size_t hits, bool more, const char *differ)
{
	if (hits == 0 && io->failed)
		fs_doubt(io, FS_UNKNOWN, "not all of its files could be looked "
		    "at");
	else if (hits > 0 || more)
		fs_doubt(io, FS_DIRTY, "%s", differ);
}

/* --------------------------------------------------------------- hits */

bool
fs_hits_open(struct fs_hits *h)
{
	h->hit = fs_alloc(h->io, FS_NAMES_MOST * sizeof(*h->hit));
	return !h->io->no_memory;
}

void
fs_hits_close(struct fs_hits *h)
{
	size_t i;

	for (i = 0; i < h->n; i++)
		free(h->hit[i].name);
	free(h->hit);
}

bool
fs_hits_is(const struct fs_hits *h, uint64_t off, uint64_t len)
{
	return len <= UINT64_MAX - off && fs_among(h->lost, off, off + len) > 0;
}

static int
fs_id_compare(struct fs_id a, struct fs_id b)
{
	if (a.tree != b.tree)
		return a.tree < b.tree ? -1 : 1;
	return a.number < b.number ? -1 : a.number > b.number;
}

/* The first hit that does not come before id. */
static size_t
hits_after(const struct fs_hits *h, struct fs_id id)
{
	size_t lo = 0, hi = h->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (fs_id_compare(h->hit[mid].id, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct fs_hit *
fs_hits_find(const struct fs_hits *h, struct fs_id id)
{
	size_t i = hits_after(h, id);

	return i < h->n && fs_id_compare(h->hit[i].id, id) == 0 ? &h->hit[i] :
	    NULL;
}

void
fs_hits_add(struct fs_hits *h, struct fs_id id, bool lost)
{
	size_t i = hits_after(h, id);

	if (i < h->n && fs_id_compare(h->hit[i].id, id) == 0) {
		h->hit[i].lost &= lost;
		return;
	}
	if (h->n == FS_NAMES_MOST) {
		h->to->more = true;
		return;
	}
	memmove(h->hit + i + 1, h->hit + i, (h->n++ - i) * sizeof(*h->hit));
	h->hit[i] = (struct fs_hit){ .id = id, .lost = lost };
}

bool
fs_hits_nameless(const struct fs_hits *h)
{
	size_t i;

	for (i = 0; i < h->n && h->hit[i].name != NULL; i++)
		;
	return i < h->n;
}

void
fs_hits_name(struct fs_hit *hit, char *name, struct fs_id directory)
{
	if (hit->name != NULL) {
		free(name);
		return;
	}
	hit->name = name;
	hit->directory = directory;
}

/* --------------------------------------------------------------- paths */

void
fs_path_begin(struct fs_path *p)
{
	p->at = FS_PATH_MOST;
	p->text[p->at] = '\0';
}

bool
fs_path_put(struct fs_path *p, const char *name)
{
	size_t n = strlen(name);

	if (n + 1 > p->at)
		return false;
	p->at -= n;
	memcpy(p->text + p->at, name, n);
	p->text[--p->at] = '/';
	return true;
}

void
fs_names_add(struct fs_io *io, struct fs_names *to, const struct fs_path *p,
    const char *head)
{
	const char *text = p->text + p->at;
	size_t room = strlen(head) + strlen(text) + 1;
	char *whole;

	if (to->n == FS_NAMES_MOST) {
		to->more = true;
		return;
	}
	whole = fs_alloc(io, room);
	if (whole == NULL)
		return;
	snprintf(whole, room, "%s%s", head, text);
	to->name[to->n++] = whole;
}

/* Report a hit with its path, from the root if that is found. */
static void
hits_report(struct fs_hits *h, const struct fs_hit *hit, struct fs_id top,
    fs_climb *up, void *arg)
{
	struct fs_id at = hit->directory, next = at;
	struct fs_path path;
	char head[32] = "", *step;
	bool fits;

	fs_path_begin(&path);
	if (fs_id_compare(hit->id, top) == 0) {
		fs_path_put(&path, "");
		at = top;
	} else if (hit->name == NULL) {
		at = hit->id;
	} else {
		fits = fs_path_put(&path, hit->name);
		while (fits && fs_id_compare(at, top) != 0) {
			step = up(arg, &next);
			fits = step != NULL && fs_path_put(&path, step);
			free(step);
			if (fits)
				at = next;
		}
	}
	if (fs_id_compare(at, top) != 0)	/* without a name: "<12>" */
		snprintf(head, sizeof(head), "<%" PRIu64 ">", at.number);
	fs_names_add(h->io, h->to, &path, head);
}

void
fs_hits_tell(struct fs_hits *h, struct fs_id top, fs_climb *up, void *arg)
{
	const struct fs_hit *hit;

	for (hit = h->hit; hit < h->hit + h->n; hit++)
		if (!hit->lost || hit->name != NULL)
			hits_report(h, hit, top, up, arg);
}

/* --------------------------------------------------------------- text */

char *
fs_text(struct fs_io *io, const unsigned char *from, size_t n)
{
	char *to = fs_alloc(io, n + 1);

	if (to != NULL)
		memcpy(to, from, n);
	return to;
}

/* ------------------------------------------------------------- entries */

static bool
name_is_dots(const unsigned char *name, size_t n)
{
	return n <= 2 && memcmp(name, "..", n) == 0;
}

bool
fs_entry_hit(void *arg, uint64_t number, const unsigned char *name, size_t n)
{
	const struct fs_dir *f = arg;
	struct fs_hit *hit = fs_hits_find(f->hits,
	    (struct fs_id){ .number = number });

	if (hit != NULL && hit->name == NULL && !name_is_dots(name, n))
		fs_hits_name(hit, fs_text(f->hits->io, name, n),
		    (struct fs_id){ .number = f->number });
	return true;
}

bool
fs_entry_parent(void *arg, uint64_t number, const unsigned char *name, size_t n)
{
	struct fs_step *step = arg;

	if (n != 2 || !name_is_dots(name, n))
		return true;
	step->parent = number;
	return false;
}

bool
fs_entry_name(void *arg, uint64_t number, const unsigned char *name, size_t n)
{
	struct fs_step *step = arg;

	if (number != step->number || name_is_dots(name, n))
		return true;
	step->name = fs_text(step->io, name, n);
	return false;
}
