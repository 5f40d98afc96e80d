/*
 * btrfs: what lies in its chunks.  The extent tree has an item for each data
 * extent and each tree node, in the order of logical addresses.  What lies
 * between them is free, in every copy of the chunk.  If the file system is on
 * one device, all of them are here.
 *
 * Every node must have a valid checksum and the generation known to its parent;
 * extents must be in order, each within a chunk; and their total must be what
 * the superblock calls used.  Otherwise only the chunks are known.
 */
#include "fsbtrfs.h"

enum {				/* offsets and values in the trees of roots and
				 * extents */
	EXTENTS_OWNER = 2, DEVICES_OWNER = 4, ROOT_ITEM = 132,
	R_GENERATION = 160, R_PLACE = 176, R_LEVEL = 238, R_LEAST = 239,
	EXTENT_ITEM = 168, METADATA_ITEM = 169,
	X_FLAGS = 16, X_LEAST = 24, X_TREE = 2,
	DEVICE_ITEM = 204, D_LOGICAL = 16, D_LENGTH = 24, D_LEAST = 32,
};

enum { COPIES_MOST = 4 };

struct found {
	uint64_t	 at;	/* logical: end of the last extent */
	uint64_t	 used;	/* total bytes of extents */
	size_t		 next;	/* index of the first place that ends after
				 * it */
};

/* ----------------------------------------------------------------- result */

enum what { IS_FREE, IS_TREE };

/* Note a logical range in all its copies. */
static void
btrfs_note_extent(struct btrfs *b, struct found *x, uint64_t from, uint64_t to,
    enum what what)
{
	const struct place *p;
	uint64_t off, end;
	size_t i;

	while (x->next < b->n && b->place[x->next].logical +
	    b->place[x->next].len <= from)
		x->next++;
	for (i = x->next; i < b->n && b->place[i].logical < to; i++) {
		p = &b->place[i];
		off = from > p->logical ? from - p->logical : 0;
		end = to - p->logical < p->len ? to - p->logical : p->len;
		if (!p->direct || off >= end)
			continue;
		if (what == IS_FREE)
			fs_note_free(b->io, p->at + off, end - off);
		else
			fs_note_meta(b->io, p->at + off, end - off);
	}
}

/* Whether a single chunk contains the range. */
static bool
in_chunk(const struct btrfs *b, const struct found *x, uint64_t at,
    uint64_t len)
{
	size_t i;

	for (i = x->next; i < b->n && b->place[i].logical <= at; i++)
		if (at - b->place[i].logical < b->place[i].len && len <=
		    b->place[i].len - (at - b->place[i].logical))
			return true;
	return false;
}

/* ---------------------------------------------------------------- extents */

/* Whether the item is a tree node. */
static bool
is_tree(struct btrfs *b, const unsigned char *leaf, const unsigned char *item)
{
	const unsigned char *p;
	size_t size;

	if (item[K_TYPE] == METADATA_ITEM)
		return true;
	p = btrfs_item(b, leaf, item, &size);
	if (p == NULL || size < X_LEAST)
		b->wrong = true;
	return !b->wrong && (fs_le(p + X_FLAGS, 8) & X_TREE) != 0;
}

static void
btrfs_read_extents(struct btrfs *b, const unsigned char *leaf, size_t n,
    void *arg)
{
	const unsigned char *item = leaf + N_HEAD;
	struct found *x = arg;
	uint64_t at, len;

	for (; n > 0 && !b->wrong; n--, item += ITEM) {
		if (item[K_TYPE] != EXTENT_ITEM &&
		    item[K_TYPE] != METADATA_ITEM)
			continue;
		at = fs_le(item, 8);
		len = item[K_TYPE] == METADATA_ITEM ? b->node :
		    fs_le(item + K_OFFSET, 8);
		if (at < x->at || len == 0 || len > INT64_MAX - at) {
			b->wrong = true;
			return;
		}
		btrfs_note_extent(b, x, x->at, at, IS_FREE);
		if (!in_chunk(b, x, at, len))
			b->wrong = true;
		if (is_tree(b, leaf, item))
			btrfs_note_extent(b, x, at, at + len, IS_TREE);
		x->at = at + len;
		x->used += len;
	}
}

/* ------------------------------------------------------------------ roots */

/* Compare a key with that of the root of a tree. */
static int
btrfs_root_compare(const unsigned char *key, uint64_t tree)
{
	uint64_t owner = fs_le(key, 8), offset = fs_le(key + K_OFFSET, 8);

	if (owner != tree)
		return owner < tree ? -1 : 1;
	if (key[K_TYPE] != ROOT_ITEM)
		return key[K_TYPE] < ROOT_ITEM ? -1 : 1;
	return offset == 0 ? 0 : 1;
}

/* Find its item in a leaf; NULL if it is not there. */
static const unsigned char *
btrfs_root_in(struct btrfs *b, const unsigned char *leaf, uint64_t tree)
{
	const unsigned char *item = leaf + N_HEAD, *root;
	size_t n = (size_t)fs_le(leaf + N_ITEMS, 4), size;

	if (n > (b->node - N_HEAD) / ITEM)
		return NULL;
	for (; n > 0; n--, item += ITEM)
		if (btrfs_root_compare(item, tree) == 0) {
			root = btrfs_item(b, leaf, item, &size);
			return root != NULL && size >= R_LEAST &&
			    root[R_LEVEL] < LEVELS ? root : NULL;
		}
	return NULL;
}

/* Find it in the tree of roots. */
static const unsigned char *
btrfs_root(struct btrfs *b, uint64_t tree)
{
	uint64_t at = fs_le(b->super + S_ROOT, 8);
	uint64_t generation = fs_le(b->super + S_GENERATION, 8);
	unsigned level = b->super[S_ROOT_LEVEL];
	const unsigned char *p, *link;
	size_t n;

	for (;; level--) {
		p = level < LEVELS ? btrfs_node(b, at, level, generation) :
		    NULL;
		if (p == NULL || level == 0)
			return p == NULL ? NULL : btrfs_root_in(b, p, tree);
		n = (size_t)fs_le(p + N_ITEMS, 4);
		if (n == 0 || n > (b->node - N_HEAD) / LINK)
			return NULL;
		link = p + N_HEAD;
		for (; n > 1 && btrfs_root_compare(link + LINK, tree) <= 0; n--)
			link += LINK;
		at = fs_le(link + L_PLACE, 8);
		generation = fs_le(link + L_GENERATION, 8);
	}
}

/* Whether chunks do not overlap, except copies of the same one. */
static bool
btrfs_groups_apart(const struct btrfs *b)
{
	const struct place *p = b->place, *end = p + b->n;
	size_t copies = 1;

	for (; p < end; p++) {
		if (p->logical > INT64_MAX - p->len)
			return false;
		if (p + 1 == end || p->logical + p->len <= p[1].logical)
			copies = 1;
		else if (p->logical != p[1].logical || p->len != p[1].len ||
		    ++copies > COPIES_MOST)
			return false;
	}
	return true;
}

bool
btrfs_extents(struct btrfs *b)
{
	struct fs_extents *free = &b->io->map->free;
	struct found x = { .at = 0 };
	const unsigned char *r;
	bool good;

	r = fs_le(b->super + S_DEVICES, 8) == 1 && btrfs_groups_apart(b) ?
	    btrfs_root(b, EXTENTS_OWNER) : NULL;
	if (r == NULL)
		return false;
	btrfs_walk(b, fs_le(r + R_PLACE, 8), r[R_LEVEL],
	    fs_le(r + R_GENERATION, 8), btrfs_read_extents, &x);
	btrfs_note_extent(b, &x, x.at, UINT64_MAX, IS_FREE);
	good = !b->wrong && x.used == fs_le(b->super + S_USED, 8);
	b->wrong = false;
	if (!good) {
		free->n = 0;
		free->mixed = false;
	}
	return good;
}

/* ---------------------------------------------------------------- devices */

/* Whether a chunk begins at a byte of the device, of that length. */
static bool
btrfs_place_known(const struct btrfs *b, uint64_t at, uint64_t logical,
    uint64_t len)
{
	size_t i = btrfs_places_end(b, logical);

	for (; i > 0 && b->place[i - 1].logical == logical; i--)
		if (b->place[i - 1].at == at)
			return b->place[i - 1].len == len;
	return false;
}

/* Count the chunks of the tree of devices; each must be one that is known. */
static void
btrfs_read_devices(struct btrfs *b, const unsigned char *leaf, size_t n,
    void *arg)
{
	const unsigned char *item = leaf + N_HEAD, *d;
	size_t *found = arg, size;

	for (; n > 0 && !b->wrong; n--, item += ITEM) {
		if (item[K_TYPE] != DEVICE_ITEM || fs_le(item, 8) != b->device)
			continue;
		d = btrfs_item(b, leaf, item, &size);
		b->wrong = d == NULL || size < D_LEAST ||
		    !btrfs_place_known(b, fs_le(item + K_OFFSET, 8),
		    fs_le(d + D_LOGICAL, 8), fs_le(d + D_LENGTH, 8));
		++*found;
	}
}

bool
btrfs_devices(struct btrfs *b)
{
	const unsigned char *r;
	size_t found = 0;

	if (fs_le(b->super + S_DEVICES, 8) != 1)
		return true;
	r = btrfs_root(b, DEVICES_OWNER);
	if (r != NULL)
		btrfs_walk(b, fs_le(r + R_PLACE, 8), r[R_LEVEL],
		    fs_le(r + R_GENERATION, 8), btrfs_read_devices, &found);
	return r != NULL && !b->wrong && found == b->n;
}
