/*
 * btrfs: files that contain given bytes, in all subvolumes and snapshots of a
 * file system on one device.
 *
 * Lost bytes are first turned into logical ranges whose copies are all lost.  A
 * leaf of a file tree has, for each inode, its names before its extents, so one
 * pass finds both.  Paths then go up to the root, by the names of directories
 * and the references of subvolumes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "fsbtrfs.h"
#include "fshits.h"

enum {				/* offsets and values in the trees of roots and
				 * files */
	ROOT_ITEM = 132, ROOT_BACK = 144, FILE_REF = 12, FILE_EXTENT = 108,
	R_GENERATION = 160, R_PLACE = 176, R_REFS = 216, R_LEVEL = 238,
	R_LEAST = 239,
	RB_DIR = 0, RB_LENGTH = 16, RB_NAME = 18,
	REF_LENGTH = 8, REF_NAME = 10,
	X_PACKED = 16, X_KIND = 20, X_AT = 21, X_SIZE = 29, X_FROM = 37,
	X_LEN = 45, X_LEAST = 53, X_INSIDE = 0,
	TOP_TREE = 5, TOP_DIR = 256, FIRST_TREE = 256,
};

enum { TREES_MOST = 1 << 14, COPIES_MOST = 4 };

struct tree {
	uint64_t id, at, generation;
	unsigned level;
};

struct search {
	struct btrfs	*b;
	struct fs_hits	*hits;		/* lost bytes become logical here */
	struct fs_extents lost;		/* as logical ranges */
	struct tree	*tree;		/* sorted by number */
	size_t		 trees;
	uint64_t	 now;		/* the current tree */
	uint64_t	 inode, directory;	/* the current; its directory */
	char		*name;		/* and name are known; or NULL */
};

/* Called for an item; its value has "size" bytes. */
typedef void item(struct search *, const unsigned char *key,
    const unsigned char *p, size_t size);

/* ------------------------------------------------------------- logical */

static void
add_lost(struct search *s, uint64_t off, uint64_t len)
{
	struct fs_extents *e = &s->lost;
	size_t room = e->room * 2 + 64;
	struct fs_extent *more;

	if (e->n == e->room) {
		more = realloc(e->at, room * sizeof(*more));
		if (more == NULL) {
			s->b->io->no_memory = true;
			return;
		}
		e->at = more;
		e->room = room;
	}
	e->at[e->n++] = (struct fs_extent){ .off = off, .len = len };
}

/* In a range of a chunk, find the bytes lost in all "n" copies. */
static void
all_lost(struct search *s, const struct fs_extents *lost,
    const struct place *p, size_t n, uint64_t from, uint64_t to)
{
	uint64_t off, end;
	size_t i;

	if (n == 0) {
		add_lost(s, p[-1].logical + from, to - from);
		return;
	}
	for (i = fs_behind(lost, p->at + from); i < lost->n; i++) {
		off = MAX(lost->at[i].off, p->at + from);
		end = MIN(lost->at[i].off + lost->at[i].len, p->at + to);
		if (off >= end)
			return;
		all_lost(s, lost, p + 1, n - 1, off - p->at, end - p->at);
	}
}

/* False if the lost bytes of a chunk cannot be determined. */
static bool
turn_into_logical(struct search *s, const struct fs_extents *lost)
{
	const struct place *p = s->b->place, *end = p + s->b->n;
	bool known = true;
	size_t n;

	for (; p < end; p += n) {
		for (n = 1; p + n < end && p[n].logical == p->logical &&
		    p[n].len == p->len && n < COPIES_MOST; n++)
			;
		if (p->direct)
			all_lost(s, lost, p, n, 0, p->len);
		else
			known &= fs_among(lost, p->at, p->at + p->len) == 0;
	}
	return known;
}

/* --------------------------------------------------------------- trees */

static void
btrfs_search_leaf(struct search *s, const unsigned char *p, item *what)
{
	const unsigned char *key = p + N_HEAD, *v;
	size_t n = (size_t)fs_le(p + N_ITEMS, 4), size;

	s->hits->to->more |= n == 0 || n > (s->b->node - N_HEAD) / ITEM;
	for (; n > 0 && n <= (s->b->node - N_HEAD) / ITEM; n--, key += ITEM) {
		v = btrfs_item(s->b, p, key, &size);
		if (v != NULL)
			what(s, key, v, size);
	}
}

/* Visit all items of a tree; lost nodes are skipped. */
static void
btrfs_search_walk(struct search *s, uint64_t at, unsigned level,
    uint64_t generation, item *what)
{
	struct btrfs *b = s->b;
	const unsigned char *p, *link;
	size_t n;

	p = b->io->budget == 0 ? NULL : btrfs_node(b, at, level, generation);
	if (p == NULL) {
		s->hits->to->more = true;
		return;
	}
	if (level == 0) {
		btrfs_search_leaf(s, p, what);
		return;
	}
	n = (size_t)fs_le(p + N_ITEMS, 4);
	if (n == 0 || n > (b->node - N_HEAD) / LINK) {
		s->hits->to->more = true;
		return;
	}
	for (link = p + N_HEAD; n > 0; n--, link += LINK)
		btrfs_search_walk(s, fs_le(link + L_PLACE, 8), level - 1,
		    fs_le(link + L_GENERATION, 8), what);
}

static void
take_tree(struct search *s, const unsigned char *key, const unsigned char *p,
    size_t size)
{
	uint64_t id = fs_le(key, 8);

	if (key[K_TYPE] != ROOT_ITEM || size < R_LEAST ||
	    (id != TOP_TREE && (id < FIRST_TREE || id > INT64_MAX)) ||
	    fs_le(p + R_REFS, 4) == 0)
		return;
	if (s->trees == TREES_MOST || p[R_LEVEL] >= LEVELS) {
		s->hits->to->more = true;
		return;
	}
	s->tree[s->trees++] = (struct tree){ .id = id,
		.at = fs_le(p + R_PLACE, 8), .level = p[R_LEVEL],
		.generation = fs_le(p + R_GENERATION, 8) };
}

/* --------------------------------------------------------------- files */

static void
btrfs_search_free(struct search *s, uint64_t inode)
{
	free(s->name);
	s->name = NULL;
	s->inode = inode;
}

/* The last name of an inode is used; its extents follow. */
static void
btrfs_take_name(struct search *s, const unsigned char *key,
    const unsigned char *p, size_t size)
{
	size_t n = size < REF_NAME ? 0 : (size_t)fs_le(p + REF_LENGTH, 2);

	btrfs_search_free(s, fs_le(key, 8));
	if (n == 0 || n > size - REF_NAME)
		return;
	s->name = fs_text(s->b->io, p + REF_NAME, n);
	s->directory = fs_le(key + K_OFFSET, 8);
}

/* Whether an extent is lost; compressed ones are needed completely. */
static bool
btrfs_is_lost(const struct search *s, const unsigned char *p)
{
	uint64_t at = fs_le(p + X_AT, 8), from = fs_le(p + X_FROM, 8);

	if (at == 0)			/* a hole */
		return false;
	if (p[X_PACKED] != 0)
		return fs_hits_is(s->hits, at, fs_le(p + X_SIZE, 8));
	return from <= UINT64_MAX - at &&
	    fs_hits_is(s->hits, at + from, fs_le(p + X_LEN, 8));
}

static void
take_file(struct search *s, const unsigned char *key, const unsigned char *p,
    size_t size)
{
	struct fs_id id = { .number = fs_le(key, 8), .tree = s->now };
	struct fs_id directory = { .tree = s->now };
	struct fs_hit *hit;

	if (key[K_TYPE] == FILE_REF)
		btrfs_take_name(s, key, p, size);
	if (key[K_TYPE] != FILE_EXTENT || size < X_LEAST ||
	    p[X_KIND] == X_INSIDE || !btrfs_is_lost(s, p))
		return;
	fs_hits_add(s->hits, id, false);
	hit = fs_hits_find(s->hits, id);
	if (hit == NULL || s->inode != id.number || s->name == NULL)
		return;
	directory.number = s->directory;
	fs_hits_name(hit, s->name, directory);
	s->name = NULL;
}

/* --------------------------------------------------------------- paths */

static int
btrfs_key_compare(const unsigned char *key, uint64_t object, unsigned type)
{
	uint64_t is = fs_le(key, 8);

	if (is != object)
		return is < object ? -1 : 1;
	return key[K_TYPE] < type ? -1 : key[K_TYPE] > type;
}

/* Find an item of an object and type in a tree; NULL: none. */
static const unsigned char *
btrfs_item_find(struct btrfs *b, const struct tree *t, uint64_t object,
    unsigned type, const unsigned char **key, size_t *size)
{
	uint64_t at = t->at, generation = t->generation;
	unsigned level = t->level;
	const unsigned char *p, *link;
	size_t n;

	for (;; level--) {
		p = btrfs_node(b, at, level, generation);
		n = p == NULL ? 0 : (size_t)fs_le(p + N_ITEMS, 4);
		if (n == 0 || n > (b->node - N_HEAD) / (level == 0 ? ITEM :
		    LINK))
			return NULL;
		if (level == 0)
			break;
		link = p + N_HEAD;
		for (; n > 1 && btrfs_key_compare(link + LINK, object, type) <=
		    0; n--)
			link += LINK;
		at = fs_le(link + L_PLACE, 8);
		generation = fs_le(link + L_GENERATION, 8);
	}
	for (*key = p + N_HEAD; n > 0; n--, *key += ITEM)
		if (btrfs_key_compare(*key, object, type) == 0)
			return btrfs_item(b, p, *key, size);
	return NULL;
}

static const struct tree *
tree_of(const struct search *s, uint64_t id)
{
	size_t i;

	for (i = 0; i < s->trees; i++)
		if (s->tree[i].id == id)
			return &s->tree[i];
	return NULL;
}

static struct tree
tree_of_roots(const struct btrfs *b)
{
	return (struct tree){ .at = fs_le(b->super + S_ROOT, 8),
		.generation = fs_le(b->super + S_GENERATION, 8),
		.level = b->super[S_ROOT_LEVEL] };
}

/* The name of a subvolume in a directory of another. */
static char *
climb_tree(struct search *s, struct fs_id *id)
{
	struct tree roots = tree_of_roots(s->b);
	const unsigned char *key, *p;
	size_t size, n;

	p = btrfs_item_find(s->b, &roots, id->tree, ROOT_BACK, &key, &size);
	n = p == NULL || size < RB_NAME ? 0 : (size_t)fs_le(p + RB_LENGTH, 2);
	if (n == 0 || n > size - RB_NAME)
		return NULL;
	id->number = fs_le(p + RB_DIR, 8);
	id->tree = fs_le(key + K_OFFSET, 8);
	return fs_text(s->b->io, p + RB_NAME, n);
}

/* The name of a directory, and its parent; NULL if that is unknown. */
static char *
btrfs_climb(void *arg, struct fs_id *id)
{
	struct search *s = arg;
	const struct tree *t = tree_of(s, id->tree);
	const unsigned char *key, *p;
	size_t size, n;

	if (id->number == TOP_DIR)
		return climb_tree(s, id);
	p = t == NULL ? NULL : btrfs_item_find(s->b, t, id->number, FILE_REF,
	    &key, &size);
	n = p == NULL || size < REF_NAME ? 0 : (size_t)fs_le(p + REF_LENGTH, 2);
	if (n == 0 || n > size - REF_NAME)
		return NULL;
	id->number = fs_le(key + K_OFFSET, 8);
	return fs_text(s->b->io, p + REF_NAME, n);
}

/* ----------------------------------------------------------------- all */

static void
btrfs_search(struct search *s)
{
	struct tree roots = tree_of_roots(s->b);
	struct fs_id top = { .number = TOP_DIR, .tree = TOP_TREE };
	size_t i;

	s->tree = fs_alloc(s->b->io, TREES_MOST * sizeof(*s->tree));
	if (s->tree == NULL)
		return;
	s->hits->to->more |= !turn_into_logical(s, s->hits->lost) ||
	    roots.level >= LEVELS;
	if (s->lost.n == 0 || roots.level >= LEVELS)
		return;
	s->hits->lost = &s->lost;
	s->b->io->failed = false;	/* a copy was good */
	btrfs_search_walk(s, roots.at, roots.level, roots.generation,
	    take_tree);
	for (i = 0; i < s->trees; i++) {
		s->now = s->tree[i].id;
		btrfs_search_free(s, 0);
		btrfs_search_walk(s, s->tree[i].at, s->tree[i].level,
		    s->tree[i].generation, take_file);
	}
	fs_hits_tell(s->hits, top, btrfs_climb, s);
}

static void
btrfs_names(void *state, struct fs_hits *hits)
{
	struct btrfs *b = state;
	struct search s = { .b = b, .hits = hits };

	hits->to->known = fs_le(b->super + S_DEVICES, 8) == 1;
	if (hits->to->known && btrfs_chunks(b))
		btrfs_search(&s);
	else
		hits->to->more = true;
	btrfs_search_free(&s, 0);
	free(s.lost.at);
	free(s.tree);
}

const struct fs_kind fs_btrfs = { { "btrfs" }, sizeof(struct btrfs),
	btrfs_super, btrfs_read, btrfs_names, btrfs_close };
