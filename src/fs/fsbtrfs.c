/*
 * btrfs: where its chunks lie.  All data and metadata, with all copies, are in
 * chunks; the rest of a device is free, except its first MiB and the
 * superblocks.  What is free within chunks is found in the extent tree
 * (below), if that is intact.
 *
 * The format is that of the Linux kernel, <linux/btrfs_tree.h>.  Addresses in
 * trees are logical; chunks map them to devices.  The superblock lists the
 * chunks that contain the chunk tree.
 */
#include "fsbtrfs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <xxhash.h>

#include "fshits.h"

struct place {			/* part of a chunk on this device */
	uint64_t logical;	/* bytes */
	uint64_t at, len;	/* bytes of the device */
	bool	 direct;	/* has the chunk's bytes contiguously */
	bool	 meta;
};

struct btrfs {
	struct fs_io	*io;
	unsigned char	 super[SUPER];
	uint32_t	 node;		/* bytes */
	uint64_t	 device, total;	/* its number; bytes */
	struct place	*place;
	size_t		 n, room;
	size_t		 roots;		/* how many are from the superblock; 0
					 * once all are known and sorted by
					 * logical position */
	bool		 wrong;		/* the chunks contain an error */
	bool		 fine;		/* extents are known too, not only
					 * chunks */
	unsigned char	*nodes;		/* LEVELS nodes */
};

struct tree {
	uint64_t id, at, generation;
	unsigned level;
};

/*
 * btrfs: nodes of its trees.  Each has a checksum, its own logical address, and
 * the generation known to its parent; any copy that has all these is used.
 */

/* Whether the checksum before the data, of a known kind, is right. */
static bool
btrfs_checked(const struct btrfs *b, const unsigned char *p, size_t size)
{
	size_t n = size - S_CSUM;

	if (fs_le(b->super + S_CSUM_TYPE, 2) == XXHASH)
		return fs_le(p, 8) == XXH64(p + S_CSUM, n, 0);
	return fs_le(p, 4) == (uint32_t)~fs_crc32c(~UINT32_C(0), p + S_CSUM, n);
}

/* Whether a node is valid. */
static bool
btrfs_node_sound(const struct btrfs *b, const unsigned char *p,
    uint64_t logical, unsigned level, uint64_t generation)
{
	if (fs_le(p + N_PLACE, 8) != logical || p[N_LEVEL] != level)
		return false;
	return !fs_exact(b->io) || (btrfs_checked(b, p, b->node) &&
	    fs_le(p + N_GENERATION, 8) == generation);
}

/* Read a node from one place, if that contains it. */
static bool
btrfs_node_load(struct btrfs *b, const struct place *from, unsigned char *p,
    uint64_t logical)
{
	uint64_t in = logical - from->logical;

	return logical >= from->logical && from->direct && in < from->len &&
	    b->node <= from->len - in &&
	    fs_get(b->io, from->at + in, p, b->node) == 0;
}

/* The index after the last place that may contain a logical address. */
static size_t
btrfs_places_end(const struct btrfs *b, uint64_t logical)
{
	size_t lo = 0, hi = b->n, mid;

	if (b->roots > 0)
		return b->roots;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (b->place[mid].logical <= logical)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Read a node of a tree into the place of its level in b->nodes, and return it.
 * It is taken from this device, from any copy that is valid; NULL if there is
 * none.
 */
static const unsigned char *
btrfs_node(struct btrfs *b, uint64_t logical, unsigned level,
    uint64_t generation)
{
	unsigned char *p = b->nodes + (size_t)level * b->node;
	size_t i = btrfs_places_end(b, logical);
	uint64_t first = i == 0 ? 0 : b->place[i - 1].logical;

	for (; i > 0; i--) {
		if (b->roots == 0 && b->place[i - 1].logical != first)
			break;
		if (btrfs_node_load(b, &b->place[i - 1], p, logical) &&
		    btrfs_node_sound(b, p, logical, level, generation))
			return p;
	}
	return NULL;
}

/* The *size bytes of an item; NULL if they are outside the leaf. */
static const unsigned char *
btrfs_item(const struct btrfs *b, const unsigned char *leaf,
    const unsigned char *item, size_t *size)
{
	uint64_t off = fs_le(item + I_OFFSET, 4), n = fs_le(item + I_SIZE, 4);

	if (off > b->node - N_HEAD || n > b->node - N_HEAD - off)
		return NULL;
	*size = (size_t)n;
	return leaf + N_HEAD + off;
}

static struct tree
btrfs_tree_below(const unsigned char *link, unsigned level)
{
	return (struct tree){ .at = fs_le(link + L_PLACE, 8), .level = level,
		.generation = fs_le(link + L_GENERATION, 8) };
}

/*
 * Visit the leaves of a tree in order, each with its number of items, which fit
 * into it.  *b becomes ->wrong if anything is, and unless "on" that is the end.
 */
typedef void btrfs_leaf(struct btrfs *, const unsigned char *leaf, size_t items,
    void *arg);

static void
btrfs_walk(struct btrfs *b, struct tree t, bool on, btrfs_leaf *leaf, void *arg)
{
	const unsigned char *p, *link;
	size_t n;

	p = b->wrong && !on ? NULL : btrfs_node(b, t.at, t.level, t.generation);
	n = p == NULL ? 0 : (size_t)fs_le(p + N_ITEMS, 4);
	if (p == NULL ||
	    n > (b->node - N_HEAD) / (t.level == 0 ? ITEM : LINK) ||
	    (t.level > 0 && n == 0)) {
		b->wrong = true;
		return;
	}
	if (t.level == 0) {
		leaf(b, p, n, arg);
		return;
	}
	for (link = p + N_HEAD; n > 0; n--, link += LINK)
		btrfs_walk(b, btrfs_tree_below(link, t.level - 1), on, leaf,
		    arg);
}

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
btrfs_item_find(struct btrfs *b, struct tree t, uint64_t object, unsigned type,
    const unsigned char **key, size_t *size)
{
	const unsigned char *p, *link;
	size_t n;

	for (;;) {
		p = btrfs_node(b, t.at, t.level, t.generation);
		n = p == NULL ? 0 : (size_t)fs_le(p + N_ITEMS, 4);
		if (n == 0 || n > (b->node - N_HEAD) / (t.level == 0 ? ITEM :
		    LINK))
			return NULL;
		if (t.level == 0)
			break;
		link = p + N_HEAD;
		for (; n > 1 && btrfs_key_compare(link + LINK, object, type) <=
		    0; n--)
			link += LINK;
		t = btrfs_tree_below(link, t.level - 1);
	}
	for (*key = p + N_HEAD; n > 0; n--, *key += ITEM)
		if (btrfs_key_compare(*key, object, type) == 0)
			return btrfs_item(b, p, *key, size);
	return NULL;
}

static struct tree
btrfs_roots(const struct btrfs *b)
{
	return (struct tree){ .at = fs_le(b->super + S_ROOT, 8),
		.generation = fs_le(b->super + S_GENERATION, 8),
		.level = b->super[S_ROOT_LEVEL] };
}

static struct tree
btrfs_tree(uint64_t id, const unsigned char *root)
{
	return (struct tree){ .id = id, .at = fs_le(root + R_PLACE, 8),
		.level = root[R_LEVEL],
		.generation = fs_le(root + R_GENERATION, 8) };
}

/* Find a tree in the tree of roots; false if it is not there. */
static bool
btrfs_tree_find(struct btrfs *b, uint64_t id, struct tree *t)
{
	struct tree roots = btrfs_roots(b);
	const unsigned char *key, *p;
	size_t size;

	p = roots.level >= LEVELS ? NULL :
	    btrfs_item_find(b, roots, id, ROOT_ITEM, &key, &size);
	if (p == NULL || size < R_LEAST || p[R_LEVEL] >= LEVELS ||
	    fs_le(key + K_OFFSET, 8) != 0)
		return false;
	*t = btrfs_tree(id, p);
	return true;
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

/*
 * Once all chunks are known: note as free what no extent uses, and tree nodes
 * as metadata.  Returns false, and notes nothing, if the extent tree is not on
 * this device, cannot be read, or contradicts itself.
 */
static bool
btrfs_extents(struct btrfs *b)
{
	struct fs_extents *free = &b->io->map->free;
	struct found x = { .at = 0 };
	struct tree t;
	bool good;

	if (fs_le(b->super + S_DEVICES, 8) != 1 || !btrfs_groups_apart(b) ||
	    !btrfs_tree_find(b, EXTENTS_OWNER, &t))
		return false;
	btrfs_walk(b, t, false, btrfs_read_extents, &x);
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

/*
 * Whether the tree of devices has the same chunks on this device, once all are
 * known.  If there are several devices, it may be on another one: true.
 */
static bool
btrfs_devices(struct btrfs *b)
{
	struct tree t;
	size_t found = 0;

	if (fs_le(b->super + S_DEVICES, 8) != 1)
		return true;
	if (!btrfs_tree_find(b, DEVICES_OWNER, &t))
		return false;
	btrfs_walk(b, t, false, btrfs_read_devices, &found);
	return !b->wrong && found == b->n;
}

enum {				/* offsets and values in a chunk and its
				 * stripes */
	CHUNK_ITEM = 228, CHUNKS_OWNER = 256,
	C_LENGTH = 0, C_TYPE = 24, C_STRIPES = 44, C_SUBSTRIPES = 46,
	C_HEAD = 48,
	STRIPE = 32, ST_DEVICE = 0, ST_PLACE = 8,
	DATA = 1, SYSTEM = 2, METADATA = 4,
	RAID0 = 0x8, RAID10 = 0x40, RAID5 = 0x80, RAID6 = 0x100,
	KINDS_KNOWN = 0x7ff,
};

enum { PLACES_MOST = 1 << 19 };

static const uint64_t reserved = 1 << 20, super_room = 64 << 10;
static const uint64_t supers[] = { UINT64_C(64) << 10, UINT64_C(64) << 20,
	UINT64_C(256) << 30 };

/* ----------------------------------------------------------- superblock */

static bool
btrfs_superblock(struct btrfs *b, uint64_t at)
{
	const unsigned char *s = b->super;

	if (fs_get(b->io, at, b->super, SUPER) != 0 ||
	    memcmp(s + S_MAGIC, "_BHRfS_M", 8) != 0)
		return false;
	b->node = (uint32_t)fs_le(s + S_NODE, 4);
	b->device = fs_le(s + S_DEVICE, 8);
	b->total = fs_le(s + S_DEVICE_TOTAL, 8);
	return fs_le(s + S_PLACE, 8) == at && fs_power_of_two(b->node) &&
	    b->node >= 4096 && b->node <= 65536 && b->total > reserved &&
	    b->total <= INT64_MAX && s[S_CHUNK_LEVEL] < LEVELS &&
	    fs_le(s + S_CHUNKS_SIZE, 4) <= CHUNKS_MOST;
}

static void
btrfs_judge(struct btrfs *b)
{
	struct fs_io *io = b->io;
	const unsigned char *s = b->super;
	uint64_t type = fs_le(s + S_CSUM_TYPE, 2);

	if (type != CRC32C && type != XXHASH)
		fs_doubt(io, FS_UNKNOWN, "its checksums are not CRC-32C or "
		    "XXHASH");
	else if (!btrfs_checked(b, s, SUPER))
		fs_doubt(io, FS_DAMAGED, "the checksum of its superblock is "
		    "wrong");
	if ((fs_le(s + S_INCOMPAT, 8) & ~(uint64_t)INCOMPAT_KNOWN) != 0 ||
	    (fs_le(s + S_COMPAT_RO, 8) & ~(uint64_t)RO_KNOWN) != 0 ||
	    (fs_le(s + S_FLAGS, 8) & ~(uint64_t)FLAGS_KNOWN) != 0)
		fs_doubt(io, FS_UNKNOWN, "it has unknown features");
	if (b->total > io->src->length)
		fs_too_long(io);
	if (fs_le(s + S_LOG_ROOT, 8) != 0)
		fs_doubt(io, FS_DIRTY, "its log tree must be replayed");
}

/* --------------------------------------------------------------- chunks */

/* The bytes that each stripe of a chunk holds, or 0. */
static uint64_t
btrfs_stripe_length(uint64_t length, uint64_t type, uint64_t stripes,
    uint64_t sub)
{
	uint64_t parts = 1;

	if ((type & ~(uint64_t)KINDS_KNOWN) != 0)
		return 0;
	if ((type & RAID0) != 0)
		parts = stripes;
	else if ((type & RAID10) != 0)
		parts = sub > 0 && stripes % sub == 0 ? stripes / sub : 0;
	else if ((type & RAID5) != 0)
		parts = stripes - 1;
	else if ((type & RAID6) != 0)
		parts = stripes > 2 ? stripes - 2 : 0;
	return parts == 0 ? 0 : length / parts;
}

static void
btrfs_add_free(struct btrfs *b, const struct place *p)
{
	struct place *more;

	if (b->n == b->room) {
		b->room = b->room == 0 ? 256 : 2 * b->room;
		more = b->room > PLACES_MOST ? NULL :
		    realloc(b->place, b->room * sizeof(*more));
		if (more == NULL) {
			b->io->no_memory |= b->room <= PLACES_MOST;
			b->room = b->n;
			b->wrong = true;
			return;
		}
		b->place = more;
	}
	b->place[b->n++] = *p;
}

/* Add a chunk, described by "size" bytes: its stripes on this device. */
static void
btrfs_read_chunk(struct btrfs *b, uint64_t logical, const unsigned char *c,
    size_t size)
{
	uint64_t type, n, i, len;
	const unsigned char *s;
	struct place p;

	if (size < C_HEAD) {
		b->wrong = true;
		return;
	}
	n = fs_le(c + C_STRIPES, 2);
	type = fs_le(c + C_TYPE, 8);
	len = n == 0 ? 0 : btrfs_stripe_length(fs_le(c + C_LENGTH, 8), type, n,
	    fs_le(c + C_SUBSTRIPES, 2));
	if (len == 0 || C_HEAD + n * STRIPE > size) {
		b->wrong = true;
		return;
	}
	for (i = 0; i < n; i++) {
		s = c + C_HEAD + i * STRIPE;
		if (fs_le(s + ST_DEVICE, 8) != b->device)
			continue;
		p = (struct place){ .logical = logical, .len = len,
			.at = fs_le(s + ST_PLACE, 8), .direct = n == 1 ||
			(type & (RAID0 | RAID10 | RAID5 | RAID6)) == 0,
			.meta = (type & (SYSTEM | METADATA)) != 0 &&
			(type & DATA) == 0 };
		if (p.at > b->total || len > b->total - p.at)
			b->wrong = true;
		else
			btrfs_add_free(b, &p);
	}
}

/* Add the chunks in the superblock. */
static void
first_chunks(struct btrfs *b)
{
	const unsigned char *p = b->super + S_CHUNKS;
	size_t left = (size_t)fs_le(b->super + S_CHUNKS_SIZE, 4), n;

	for (; left >= KEY + C_HEAD; p += n, left -= n) {
		n = KEY + C_HEAD + STRIPE *
		    (size_t)fs_le(p + KEY + C_STRIPES, 2);
		if (p[K_TYPE] != CHUNK_ITEM || n > left)
			break;
		btrfs_read_chunk(b, fs_le(p + K_OFFSET, 8), p + KEY, n - KEY);
	}
	b->roots = b->n;
}

static void
btrfs_read_chunks(struct btrfs *b, const unsigned char *leaf, size_t n,
    void *arg)
{
	const unsigned char *item = leaf + N_HEAD, *c;
	size_t size;

	(void)arg;
	for (; n > 0; n--, item += ITEM) {
		if (item[K_TYPE] != CHUNK_ITEM ||
		    fs_le(item, 8) != CHUNKS_OWNER)
			continue;
		c = btrfs_item(b, leaf, item, &size);
		if (c == NULL)
			b->wrong = true;
		else
			btrfs_read_chunk(b, fs_le(item + K_OFFSET, 8), c, size);
	}
}

/* --------------------------------------------------------------- result */

static int
by_logical(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->logical < y->logical ? -1 : x->logical > y->logical;
}

static int
btrfs_chunks_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Note what lies between the chunks, which do not overlap. */
static void
btrfs_note_device(struct btrfs *b)
{
	uint64_t at = reserved, used = 0;
	const struct place *p;
	size_t i;

	qsort(b->place, b->n, sizeof(*b->place), btrfs_chunks_order);
	for (i = 0; i < b->n; i++) {
		p = &b->place[i];
		if (p->at < at && i > 0)
			b->wrong = true;
		if (p->at > at)
			fs_note_free(b->io, at, p->at - at);
		if (p->at + p->len > at)
			at = p->at + p->len;
		used += p->len;
		if (p->meta && !b->fine)
			fs_note_meta(b->io, p->at, p->len);
	}
	if (at < b->total)
		fs_note_free(b->io, at, b->total - at);
	if (used != fs_le(b->super + S_DEVICE_USED, 8))
		b->wrong = true;
}

static bool
btrfs_super(void *state)
{
	struct btrfs *b = state;
	size_t n = fs_by_copy(b->io) ? sizeof(supers) / sizeof(*supers) : 1;
	size_t i;

	for (i = fs_by_start(b->io) ? 0 : 1; i < n && !btrfs_superblock(b,
	    supers[i]); i++)
		;
	if (i > 0 && i < n)
		fs_doubt(b->io, FS_DAMAGED, "its superblock is lost");
	return i < n;
}

/* Find out where all chunks lie; false if some of that is lost. */
static bool
btrfs_chunks(struct btrfs *b)
{
	struct tree chunks = { .at = fs_le(b->super + S_CHUNK_ROOT, 8),
		.level = b->super[S_CHUNK_LEVEL],
		.generation = fs_le(b->super + S_CHUNK_GENERATION, 8) };

	b->nodes = fs_alloc(b->io, (size_t)LEVELS * b->node);
	if (b->nodes == NULL)
		return false;
	first_chunks(b);
	btrfs_walk(b, chunks, false, btrfs_read_chunks, NULL);
	/* The tree lists the chunks of the superblock again. */
	b->n -= b->roots;
	if (b->n > 0) {
		memmove(b->place, b->place + b->roots,
		    b->n * sizeof(*b->place));
		b->roots = 0;
		qsort(b->place, b->n, sizeof(*b->place), by_logical);
	}
	return b->n > 0 && !b->wrong;
}

static void
btrfs_read(void *state)
{
	struct btrfs *b = state;
	struct fs_io *io = b->io;
	bool good;
	size_t i;

	fs_label(io, b->super + S_LABEL, LABEL);
	btrfs_judge(b);
	io->map->end = b->total;
	if (fs_exact(io) && io->whole)
		return;
	fs_note_meta(io, 0, reserved);
	for (i = 0; i < sizeof(supers) / sizeof(*supers); i++)
		fs_note_meta(io, supers[i], super_room);
	good = btrfs_chunks(b);
	if (io->no_memory)
		return;
	if (b->n > 0) {
		b->fine = good && btrfs_extents(b);
		if (good && fs_exact(io) && !btrfs_devices(b))
			fs_doubt(io, FS_DAMAGED, "its trees of chunks and of "
			    "devices differ, or cannot be read");
		btrfs_note_device(b);
	}
	if (b->n == 0 || b->wrong)
		fs_doubt(io, FS_DAMAGED, "its chunks cannot be trusted, or "
		    "are on another device");
}

static void
btrfs_close(void *state)
{
	struct btrfs *b = state;

	free(b->place);
	free(b->nodes);
}

/*
 * btrfs: files that contain given bytes, in all subvolumes and snapshots of a
 * file system on one device.
 *
 * Lost bytes are first turned into logical ranges whose copies are all lost.  A
 * leaf of a file tree has, for each inode, its names before its extents, so one
 * pass finds both.  Paths then go up to the root, by the names of directories
 * and the references of subvolumes.
 */

enum {				/* offsets and values in the trees of roots and
				 * files */
	ROOT_BACK = 144, FILE_REF = 12, FILE_EXTENT = 108, R_REFS = 216,
	RB_DIR = 0, RB_LENGTH = 16, RB_NAME = 18,
	REF_LENGTH = 8, REF_NAME = 10,
	F_PACKED = 16, F_KIND = 20, F_AT = 21, F_SIZE = 29, F_FROM = 37,
	F_LEN = 45, F_LEAST = 53, F_INSIDE = 0,
	TOP_TREE = 5, TOP_DIR = 256, FIRST_TREE = 256,
};

enum { TREES_MOST = 1 << 14 };

struct search;
/* Called for an item; its value has "size" bytes. */
typedef void item(struct search *, const unsigned char *key,
    const unsigned char *p, size_t size);

struct search {
	struct btrfs	*b;
	struct fs_hits	*hits;		/* lost bytes become logical here */
	struct fs_extents lost;		/* as logical ranges */
	struct tree	*tree;		/* sorted by number */
	size_t		 trees;
	item		*what;		/* is to be done with each item */
	uint64_t	 now;		/* the current tree */
	uint64_t	 inode, directory;	/* the current; its directory */
	char		*name;		/* and name are known; or NULL */
};

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
btrfs_search_leaf(struct btrfs *b, const unsigned char *leaf, size_t n,
    void *arg)
{
	const unsigned char *key = leaf + N_HEAD, *v;
	struct search *s = arg;
	size_t size;

	s->hits->to->more |= n == 0;
	for (; n > 0; n--, key += ITEM) {
		v = btrfs_item(b, leaf, key, &size);
		if (v != NULL)
			s->what(s, key, v, size);
	}
}

/* Visit all items of a tree; lost nodes are skipped. */
static void
btrfs_search_tree(struct search *s, struct tree t, item *what)
{
	s->what = what;
	btrfs_walk(s->b, t, true, btrfs_search_leaf, s);
	s->hits->to->more |= s->b->wrong;
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
	s->tree[s->trees++] = btrfs_tree(id, p);
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
	uint64_t at = fs_le(p + F_AT, 8), from = fs_le(p + F_FROM, 8);

	if (at == 0)			/* a hole */
		return false;
	if (p[F_PACKED] != 0)
		return fs_hits_is(s->hits, at, fs_le(p + F_SIZE, 8));
	return from <= UINT64_MAX - at &&
	    fs_hits_is(s->hits, at + from, fs_le(p + F_LEN, 8));
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
	if (key[K_TYPE] != FILE_EXTENT || size < F_LEAST ||
	    p[F_KIND] == F_INSIDE || !btrfs_is_lost(s, p))
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

static const struct tree *
tree_of(const struct search *s, uint64_t id)
{
	size_t i;

	for (i = 0; i < s->trees; i++)
		if (s->tree[i].id == id)
			return &s->tree[i];
	return NULL;
}

/* The name of a subvolume in a directory of another. */
static char *
climb_tree(struct search *s, struct fs_id *id)
{
	struct tree roots = btrfs_roots(s->b);
	const unsigned char *key, *p;
	size_t size, n;

	p = btrfs_item_find(s->b, roots, id->tree, ROOT_BACK, &key, &size);
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
	p = t == NULL ? NULL : btrfs_item_find(s->b, *t, id->number,
	    FILE_REF, &key, &size);
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
	struct tree roots = btrfs_roots(s->b);
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
	btrfs_search_tree(s, roots, take_tree);
	for (i = 0; i < s->trees; i++) {
		s->now = s->tree[i].id;
		btrfs_search_free(s, 0);
		btrfs_search_tree(s, s->tree[i], take_file);
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
