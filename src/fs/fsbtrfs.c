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
#include <xxhash.h>

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

const unsigned char *
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

const unsigned char *
btrfs_item(const struct btrfs *b, const unsigned char *leaf,
    const unsigned char *item, size_t *size)
{
	uint64_t off = fs_le(item + I_OFFSET, 4), n = fs_le(item + I_SIZE, 4);

	if (off > b->node - N_HEAD || n > b->node - N_HEAD - off)
		return NULL;
	*size = (size_t)n;
	return leaf + N_HEAD + off;
}

static void
btrfs_walk(struct btrfs *b, uint64_t logical, unsigned level,
    uint64_t generation, btrfs_leaf *leaf, void *arg)
{
	const unsigned char *p, *link;
	size_t n;

	p = b->wrong ? NULL : btrfs_node(b, logical, level, generation);
	n = p == NULL ? 0 : (size_t)fs_le(p + N_ITEMS, 4);
	if (p == NULL || n > (b->node - N_HEAD) / (level == 0 ? ITEM : LINK) ||
	    (level > 0 && n == 0)) {
		b->wrong = true;
		return;
	}
	if (level == 0) {
		leaf(b, p, n, arg);
		return;
	}
	for (link = p + N_HEAD; n > 0; n--, link += LINK)
		btrfs_walk(b, fs_le(link + L_PLACE, 8), level - 1,
		    fs_le(link + L_GENERATION, 8), leaf, arg);
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

/*
 * Whether the tree of devices has the same chunks on this device, once all are
 * known.  If there are several devices, it may be on another one: true.
 */
static bool
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

bool
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

bool
btrfs_chunks(struct btrfs *b)
{
	const unsigned char *s = b->super;

	b->nodes = fs_alloc(b->io, (size_t)LEVELS * b->node);
	if (b->nodes == NULL)
		return false;
	first_chunks(b);
	btrfs_walk(b, fs_le(s + S_CHUNK_ROOT, 8), s[S_CHUNK_LEVEL],
	    fs_le(s + S_CHUNK_GENERATION, 8), btrfs_read_chunks, NULL);
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

void
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

void
btrfs_close(void *state)
{
	struct btrfs *b = state;

	free(b->place);
	free(b->nodes);
}
