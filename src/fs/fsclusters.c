/*
 * FAT and exFAT: directory by directory, the chain of each file is followed as
 * far as the file has bytes.  Directories to be visited are in a list, each
 * with its parent, so paths cannot be circular, and no cluster is visited twice
 * as part of a directory.
 */
#include "fsclusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "fshits.h"

enum {
	PAGE = 48 << 10,	/* bytes: whole entries, also of 12 bits */
	PAGES = 256,
	SECTORS = PAGE / 512,
	CLUSTERS_MOST = 64 << 20,	/* a bit for each */
	DIRS_MOST = 1 << 16,
	TEXT_MOST = 16 << 20,	/* bytes of directories' names */
};

struct page {			/* a cached part of the table */
	uint64_t	 number;
	enum { UNREAD, READ, GONE } state[SECTORS];
	unsigned char	 bytes[PAGE];
};

struct directory {
	struct clusters_file at;
	size_t		 parent;
	char		*name;
};

struct walk {
	struct page	*page[PAGES];
	uint64_t	 steps;		/* links that may still be followed */
	unsigned char	*seen;		/* a bit per cluster of a directory */
	struct directory	*directory;	/* the first is the root */
	size_t		 n, now;
	size_t		 text;
	unsigned char	*buf;		/* FS_PIECE */
};

/* --------------------------------------------------------------- chains */

/* Read a sector of the table, or else of its copy; false: it is lost. */
static bool
get_sector(struct clusters *c, uint64_t at, unsigned char *to)
{
	return fs_get(c->io, c->table[0] + at, to, c->sector) == 0 ||
	    (c->table[1] != 0 &&
	    fs_get(c->io, c->table[1] + at, to, c->sector) == 0);
}

/* Whether a byte of a page is there; if not, its sector is read alone. */
static bool
page_has(struct clusters *c, struct page *p, uint64_t at)
{
	uint64_t i = at / c->sector;

	if (p->state[i] == UNREAD)
		p->state[i] = get_sector(c, p->number * PAGE + i * c->sector,
		    p->bytes + i * c->sector) ? READ : GONE;
	return p->state[i] == READ;
}

static void
clusters_load(struct clusters *c, struct page *p)
{
	uint64_t at = p->number * PAGE;
	bool all = fs_get(c->io, c->table[0] + at, p->bytes,
	    (size_t)MIN(c->table_size - at, PAGE)) == 0;
	size_t i;

	for (i = 0; i < SECTORS; i++)
		p->state[i] = all ? READ : UNREAD;
}

static struct page *
clusters_page(struct clusters *c, uint64_t number)
{
	struct page **p = &c->walk->page[number % PAGES];

	if (*p != NULL && (*p)->number == number)
		return *p;
	if (*p == NULL)
		*p = fs_alloc(c->io, sizeof(**p));
	if (*p == NULL)
		return NULL;
	(*p)->number = number;
	clusters_load(c, *p);
	return *p;
}

static bool
is_cluster(const struct clusters *c, uint64_t n)
{
	return n >= 2 && n < c->clusters + 2;
}

enum link
clusters_follow(struct clusters *c, uint64_t *cluster)
{
	uint64_t at = *cluster * c->bits / 8, next;
	int bytes = c->bits == 32 ? 4 : 2;
	bool failed = c->io->failed;
	const unsigned char *p;
	struct page *in;

	if (c->walk->steps == 0)
		return WRONG;
	c->walk->steps--;
	in = clusters_page(c, at / PAGE);
	at %= PAGE;
	if (in == NULL || !page_has(c, in, at) ||
	    !page_has(c, in, at + (uint64_t)bytes - 1)) {
		c->io->failed = true;
		return LOST;
	}
	c->io->failed = failed;		/* the rest of it does not matter */
	p = in->bytes + at;
	next = fs_le(p, bytes);
	if (c->bits == 12 && (*cluster & 1) != 0)
		next >>= 4;
	*cluster = next & c->mask;
	return is_cluster(c, *cluster) ? NEXT : *cluster >= c->end ? END :
	    WRONG;
}

static bool
clusters_lost(const struct clusters *c, uint64_t off, uint64_t len)
{
	return c->lost != NULL && fs_among(c->lost, off, off + len) > 0;
}

/* Whether part of a file is lost, or of the chain to it. */
static bool
clusters_hit(struct clusters *c, const struct clusters_file *f)
{
	uint64_t n = f->first, left = f->size, most;
	enum link link = NEXT;

	if (left == 0 || c->lost == NULL)
		return false;
	if (f->together && is_cluster(c, n)) {
		most = (c->clusters + 2 - n) * c->cluster;
		c->to->more |= left > most;
		return clusters_lost(c, clusters_place(c, n), MIN(left, most));
	}
	for (; is_cluster(c, n) && link == NEXT; left -= c->cluster) {
		if (clusters_lost(c, clusters_place(c, n),
		    MIN(left, c->cluster)))
			return true;
		if (left <= c->cluster)
			return false;
		link = clusters_follow(c, &n);
	}
	if (link == LOST)
		return true;
	/* the chain ends too early, or is wrong */
	c->to->more |= link != END || f->size != UINT64_MAX;
	return false;
}

/* ---------------------------------------------------------------- names */

static void
clusters_tell(struct clusters *c, size_t directory, const char *name)
{
	struct directory *f = c->walk->directory;
	struct fs_path path;
	char head[32] = "";

	fs_path_begin(&path);
	fs_path_put(&path, name);
	for (; directory > 0; directory = f[directory].parent)
		if (!fs_path_put(&path, f[directory].name)) {
			snprintf(head, sizeof(head), "<%llu>",
			    (unsigned long long)f[directory].at.first);
			break;
		}
	fs_names_add(c->io, c->to, &path, head);
}

static void
clusters_defer(struct clusters *c, const struct clusters_file *f,
    const char *name)
{
	struct walk *w = c->walk;
	size_t n = strlen(name) + 1;
	char *text;

	if (w->n == DIRS_MOST || n > TEXT_MOST - w->text) {
		c->io->failed = true;
		return;
	}
	text = fs_text(c->io, (const unsigned char *)name, n);
	if (text == NULL)
		return;
	w->text += n;
	w->directory[w->n++] = (struct directory){ .at = *f, .parent = w->now,
		.name = text };
}

void
clusters_file(struct clusters *c, const struct clusters_file *f,
    const char *name)
{
	if (clusters_hit(c, f))
		clusters_tell(c, c->walk->now, name);
	if (f->directory)
		clusters_defer(c, f, name);
}

/* ---------------------------------------------------------- directories */

/* List a contiguous range of a directory; false after the last entry. */
static bool
clusters_range(struct clusters *c, uint64_t off, uint64_t len, bool begins)
{
	unsigned char *p = c->walk->buf;
	uint64_t n, i;

	for (; len > 0; off += n, len -= n) {
		n = MIN(len, FS_PIECE);
		fs_get_units(c->io, off, p, c->sector, (size_t)(n / c->sector),
		    FS_ENTRY_LOST);
		for (i = 0; i + FS_ENTRY <= n; i += FS_ENTRY, begins = false)
			if (!c->entry(c, p + i, begins))
				return false;
	}
	return true;
}

bool
clusters_visit(struct clusters *c, uint64_t n)
{
	unsigned char bit = (unsigned char)(1 << n % 8);

	if (!is_cluster(c, n) || (c->walk->seen[n / 8] & bit) != 0)
		return false;
	c->walk->seen[n / 8] |= bit;
	return true;
}

static void
clusters_directory(struct clusters *c, const struct clusters_file *f)
{
	uint64_t n = f->first, left = f->size;
	bool begins = true;
	enum link link = NEXT;

	for (; link == NEXT && left > 0; left -= MIN(left, c->cluster)) {
		if (!clusters_visit(c, n)) {
			c->to->more = true;
			return;
		}
		if (c->note)
			fs_note_meta(c->io, clusters_place(c, n), c->cluster);
		if (c->entry != NULL && !clusters_range(c, clusters_place(c, n),
		    c->cluster, begins))
			return;
		begins = false;
		if (!f->together)
			link = clusters_follow(c, &n);
		else
			n++;
	}
	c->to->more |= link == WRONG || link == LOST;
}

static void
clusters_root(struct clusters *c)
{
	struct clusters_file top = { .first = c->top, .size = UINT64_MAX };

	c->walk->n = 1;
	if (c->root_size == 0) {
		if (clusters_hit(c, &top))
			clusters_tell(c, 0, "");
		clusters_directory(c, &top);
		return;
	}
	if (clusters_lost(c, c->root, c->root_size))
		clusters_tell(c, 0, "");
	if (c->entry != NULL)
		clusters_range(c, c->root, c->root_size, true);
}

void
clusters_search(struct clusters *c)
{
	static const unsigned char end[FS_ENTRY] = { 0 };
	struct walk *w = c->walk;

	clusters_root(c);
	for (w->now = 1; w->now < w->n && c->io->budget > 0 &&
	    c->to->n < FS_NAMES_MOST; w->now++)
		clusters_directory(c, &w->directory[w->now].at);
	c->to->more |= w->now < w->n;
	if (c->entry != NULL)
		c->entry(c, end, true);
}

bool
clusters_open(struct clusters *c)
{
	struct walk *w;

	if (c->clusters > CLUSTERS_MOST) {
		c->io->failed = true;
		return false;
	}
	w = c->walk = fs_alloc(c->io, sizeof(*w));
	if (w == NULL)
		return false;
	w->buf = fs_alloc(c->io, FS_PIECE);
	w->seen = fs_alloc(c->io, (size_t)(c->clusters + 2) / 8 + 1);
	w->directory = fs_alloc(c->io, DIRS_MOST * sizeof(*w->directory));
	w->steps = 2 * c->clusters + DIRS_MOST;
	return !c->io->no_memory;
}

void
clusters_close(struct clusters *c)
{
	struct walk *w = c->walk;
	size_t i;

	if (w == NULL)
		return;
	for (i = 0; i < PAGES; i++)
		free(w->page[i]);
	for (i = 0; i < w->n; i++)
		free(w->directory[i].name);
	free(w->directory);
	free(w->seen);
	free(w->buf);
	free(w);
	c->walk = NULL;
}

void
clusters_names(struct clusters *c, const struct fs_extents *lost,
    struct fs_names *to)
{
	c->lost = lost;
	c->to = to;
	if (clusters_open(c))
		clusters_search(c);
	clusters_close(c);
}

void
clusters_check(struct clusters *c, const char *wrong, const char *differ)
{
	struct fs_io *io = c->io;
	bool proves = fs_exact(io) && !io->whole;
	struct fs_names has;

	if (!fs_names_open(io, &has))
		return;
	c->note = (io->how & (FS_META | FS_DEEP)) != 0;
	if (!proves && !fs_deep(io))
		c->entry = NULL;
	io->failed = false;
	if (proves || c->note)
		clusters_names(c, proves ? &io->map->free : NULL, &has);
	if (fs_contradicts(io))
		fs_doubt(io, FS_DAMAGED, "%s", wrong);
	if (proves)
		fs_doubt_files(io, has.n, has.more, differ);
	fs_names_free(&has);
}
