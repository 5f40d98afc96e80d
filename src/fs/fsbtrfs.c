/*
 * btrfs: where its chunks lie.  All data and metadata, with all copies, are in
 * chunks; the rest of a device is free, except its first MiB and the
 * superblocks.  What is free within chunks is found in the extent tree
 * (fsbtrfs_extent.c), if that is intact.
 *
 * The format is that of the Linux kernel, <linux/btrfs_tree.h>.  Addresses in
 * trees are logical; chunks map them to devices.  The superblock lists the
 * chunks that contain the chunk tree.
 */
#include <stdlib.h>
#include <string.h>

#include "fsbtrfs.h"

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
			b->io->poor |= b->room <= PLACES_MOST;
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
btrfs_super(struct btrfs *b)
{
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
btrfs_close(struct btrfs *b)
{
	free(b->place);
	free(b->nodes);
	free(b);
}

static void
btrfs_read(struct btrfs *b)
{
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
	if (io->poor)
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

bool
fs_read_btrfs(struct fs_io *io)
{
	struct btrfs *b = fs_alloc(io, sizeof(*b));
	bool found;

	if (b == NULL)
		return false;
	b->io = io;
	found = btrfs_super(b);
	if (found) {
		memcpy(io->map->type, "btrfs", sizeof("btrfs"));
		btrfs_read(b);
	}
	btrfs_close(b);
	return found;
}
