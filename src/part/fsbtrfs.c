/*
 * btrfs: what its chunks lie on.  Whatever it has of data and structures, with
 * all copies, lies in chunks; the rest of a device is free, but for its first
 * MiB and the superblocks.  A chunk of data is often 1 GiB and not full: that
 * is the price of not having to believe the tree of extents.
 *
 * The layout is that of the Linux kernel, <linux/btrfs_tree.h>.  Numbers in the
 * trees are logical; the chunks map them to places on devices.  The superblock
 * has those chunks that the tree of chunks lies in.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fskinds.h"

enum {				/* of the superblock */
	SUPER = 4096,
	S_CSUM = 0x20,		/* behind it, what it is of */
	S_PLACE = 0x30, S_FLAGS = 0x38, S_MAGIC = 0x40, S_GENERATION = 0x48,
	S_CHUNK_ROOT = 0x58, S_LOG_ROOT = 0x60, S_SECTOR = 0x90, S_NODE = 0x94,
	S_CHUNKS_SIZE = 0xa0, S_CHUNK_GENERATION = 0xa4, S_COMPAT_RO = 0xb4,
	S_INCOMPAT = 0xbc, S_CSUM_TYPE = 0xc4, S_CHUNK_LEVEL = 0xc7,
	S_DEVICE = 0xc9, S_DEVICE_TOTAL = 0xd1, S_DEVICE_USED = 0xd9,
	S_LABEL = 0x12b, S_CHUNKS = 0x32b,
	LABEL = 128, CHUNKS_MOST = 2048,
	CRC32C = 0, XXHASH = 1,
	INCOMPAT_KNOWN = 0x10fff,	/* not zoned, no newer trees */
	RO_KNOWN = 0xf,		/* none of them moves a chunk */
	FLAGS_KNOWN = 0x3,	/* no error, no seed, no dump */
};

enum {				/* of a node of a tree */
	N_PLACE = 0x30, N_GENERATION = 0x50, N_ITEMS = 0x60, N_LEVEL = 0x64,
	N_HEAD = 101,
	KEY = 17, K_TYPE = 8, K_OFFSET = 9,
	ITEM = 25, I_OFFSET = 17, I_SIZE = 21,
	LINK = 33, L_PLACE = 17, L_GENERATION = 25,
	LEVELS = 8,
};

enum {				/* of a chunk, and its stripes */
	CHUNK_ITEM = 228, CHUNKS_OWNER = 256,
	C_LENGTH = 0, C_TYPE = 24, C_STRIPES = 44, C_SUBSTRIPES = 46,
	C_HEAD = 48,
	STRIPE = 32, ST_DEVICE = 0, ST_PLACE = 8,
	DATA = 1, SYSTEM = 2, METADATA = 4,
	RAID0 = 0x8, RAID10 = 0x40, RAID5 = 0x80, RAID6 = 0x100,
	COPIES = 0x10 | 0x20 | 0x200 | 0x400,	/* RAID1, DUP, RAID1C3, C4 */
	KINDS_KNOWN = 0x7ff,
};

enum { PLACES_MOST = 1 << 19 };

static const uint64_t reserved = 1 << 20, super_room = 64 << 10;
static const uint64_t supers[] = { UINT64_C(64) << 10, UINT64_C(64) << 20,
	UINT64_C(256) << 30 };

struct place {			/* of a part of a chunk, on this device */
	uint64_t logical;	/* bytes */
	uint64_t at, len;	/* bytes */
	bool	 direct;	/* it has the chunk's bytes in a row */
	bool	 meta;
};

struct btrfs {
	struct fs_io	*io;
	unsigned char	 super[SUPER];
	uint32_t	 node;		/* bytes */
	uint64_t	 device, total;	/* its number, bytes */
	struct place	*place;
	size_t		 n, room;
	size_t		 roots;		/* of these, from the superblock */
	bool		 wrong;		/* something of the chunks is */
	unsigned char	*nodes;		/* LEVELS nodes */
};

/* ----------------------------------------------------------- superblock */

/* Whether a checksum can be and is right; what it is of begins behind it. */
static bool
checked(const struct btrfs *b, const unsigned char *p, size_t size)
{
	size_t n = size - S_CSUM;

	switch (fs_le(b->super + S_CSUM_TYPE, 2)) {
	case CRC32C:
		return fs_le(p, 4) == (uint32_t)~fs_crc32c(~UINT32_C(0),
		    p + S_CSUM, n);
	case XXHASH:
		return fs_le(p, 8) == XXH64(p + S_CSUM, n, 0);
	default:
		return false;
	}
}

static bool
superblock(struct btrfs *b, uint64_t at)
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
judge(struct btrfs *b)
{
	struct fs_io *io = b->io;
	const unsigned char *s = b->super;
	uint64_t type = fs_le(s + S_CSUM_TYPE, 2);

	if (type != CRC32C && type != XXHASH)
		fs_doubt(io, FS_UNKNOWN, "its checksums are not CRC-32C or "
		    "XXHASH");
	else if (!checked(b, s, SUPER))
		fs_doubt(io, FS_DAMAGED, "the checksum of its superblock is "
		    "wrong");
	if ((fs_le(s + S_INCOMPAT, 8) & ~(uint64_t)INCOMPAT_KNOWN) != 0 ||
	    (fs_le(s + S_COMPAT_RO, 8) & ~(uint64_t)RO_KNOWN) != 0 ||
	    (fs_le(s + S_FLAGS, 8) & ~(uint64_t)FLAGS_KNOWN) != 0)
		fs_doubt(io, FS_UNKNOWN, "it has features that are not known");
	if (b->total > io->src->length)
		fs_too_long(io);
	if (fs_le(s + S_LOG_ROOT, 8) != 0)
		fs_doubt(io, FS_DIRTY, "its log tree holds changes");
}

/* --------------------------------------------------------------- chunks */

/* The bytes of a chunk that each of its stripes holds, or 0. */
static uint64_t
share(uint64_t length, uint64_t type, uint64_t stripes, uint64_t sub)
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
add(struct btrfs *b, const struct place *p)
{
	struct place *more;

	if (b->n == b->room) {
		b->room = b->room == 0 ? 256 : 2 * b->room;
		more = b->room > PLACES_MOST ? NULL :
		    realloc(b->place, b->room * sizeof(*more));
		if (more == NULL) {
			b->room = b->n;
			b->wrong = true;
			return;
		}
		b->place = more;
	}
	b->place[b->n++] = *p;
}

/* A chunk of "size" bytes that describe it: its stripes on this device. */
static void
chunk(struct btrfs *b, uint64_t logical, const unsigned char *c, size_t size)
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
	len = n == 0 ? 0 : share(fs_le(c + C_LENGTH, 8), type, n,
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
			add(b, &p);
	}
}

/* Those of the superblock. */
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
		chunk(b, fs_le(p + K_OFFSET, 8), p + KEY, n - KEY);
	}
	b->roots = b->n;
}

/* ----------------------------------------------------------------- tree */

/* A node as it should be. */
static bool
sound(const struct btrfs *b, const unsigned char *p, uint64_t logical,
    unsigned level, uint64_t generation)
{
	if (fs_le(p + N_PLACE, 8) != logical || p[N_LEVEL] != level)
		return false;
	return !fs_exact(b->io) || (checked(b, p, b->node) &&
	    fs_le(p + N_GENERATION, 8) == generation);
}

/* Read it from where it lies on this device, or its copy. */
static bool
load(struct btrfs *b, uint64_t logical, unsigned level, uint64_t generation)
{
	unsigned char *p = b->nodes + (size_t)level * b->node;
	uint64_t in;
	size_t i;

	for (i = 0; i < b->roots; i++) {
		in = logical - b->place[i].logical;
		if (logical >= b->place[i].logical && b->place[i].direct &&
		    in < b->place[i].len && b->node <= b->place[i].len - in &&
		    fs_get(b->io, b->place[i].at + in, p, b->node) == 0 &&
		    sound(b, p, logical, level, generation))
			return true;
	}
	return false;
}

static void
leaf(struct btrfs *b, const unsigned char *p, size_t n)
{
	const unsigned char *item = p + N_HEAD;
	uint64_t off, size;

	if (n > (b->node - N_HEAD) / ITEM) {
		b->wrong = true;
		return;
	}
	for (; n > 0; n--, item += ITEM) {
		if (item[K_TYPE] != CHUNK_ITEM ||
		    fs_le(item, 8) != CHUNKS_OWNER)
			continue;
		off = fs_le(item + I_OFFSET, 4);
		size = fs_le(item + I_SIZE, 4);
		if (off > b->node - N_HEAD || size > b->node - N_HEAD - off)
			b->wrong = true;
		else
			chunk(b, fs_le(item + K_OFFSET, 8), p + N_HEAD + off,
			    (size_t)size);
	}
}

static void
walk(struct btrfs *b, uint64_t logical, unsigned level, uint64_t generation)
{
	const unsigned char *p = b->nodes + (size_t)level * b->node;
	const unsigned char *link = p + N_HEAD;
	size_t n;

	if (b->wrong)
		return;
	if (!load(b, logical, level, generation)) {
		b->wrong = true;
		return;
	}
	n = (size_t)fs_le(p + N_ITEMS, 4);
	if (level == 0) {
		leaf(b, p, n);
		return;
	}
	if (n == 0 || n > (b->node - N_HEAD) / LINK) {
		b->wrong = true;
		return;
	}
	for (; n > 0; n--, link += LINK)
		walk(b, fs_le(link + L_PLACE, 8), level - 1,
		    fs_le(link + L_GENERATION, 8));
}

/* --------------------------------------------------------------- result */

static int
by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* What lies between the chunks; they lie apart from each other. */
static void
note(struct btrfs *b)
{
	uint64_t at = reserved, used = 0;
	const struct place *p;
	size_t i;

	qsort(b->place, b->n, sizeof(*b->place), by_place);
	for (i = 0; i < b->n; i++) {
		p = &b->place[i];
		if (p->at < at && i > 0)
			b->wrong = true;
		if (p->at > at)
			fs_note_free(b->io, at, p->at - at);
		if (p->at + p->len > at)
			at = p->at + p->len;
		used += p->len;
		if (p->meta)
			fs_note_meta(b->io, p->at, p->len);
	}
	if (at < b->total)
		fs_note_free(b->io, at, b->total - at);
	if (used != fs_le(b->super + S_DEVICE_USED, 8))
		b->wrong = true;
}

static void
read_all(struct btrfs *b)
{
	const unsigned char *s = b->super;
	struct fs_io *io = b->io;
	size_t i;

	judge(b);
	if (fs_exact(io) && io->whole)
		return;
	b->nodes = fs_alloc(io, (size_t)LEVELS * b->node);
	if (b->nodes == NULL)
		return;
	fs_note_meta(io, 0, reserved);
	for (i = 0; i < sizeof(supers) / sizeof(*supers); i++)
		fs_note_meta(io, supers[i], super_room);
	first_chunks(b);
	walk(b, fs_le(s + S_CHUNK_ROOT, 8), s[S_CHUNK_LEVEL],
	    fs_le(s + S_CHUNK_GENERATION, 8));
	/* The tree has those again that it was found by. */
	b->n -= b->roots;
	if (b->n > 0) {
		memmove(b->place, b->place + b->roots,
		    b->n * sizeof(*b->place));
		note(b);
	}
	if (b->n == 0 || b->wrong)
		fs_doubt(io, FS_DAMAGED, "its chunks cannot be believed, or "
		    "are on another device");
}

bool
fs_read_btrfs(struct fs_io *io)
{
	struct btrfs *b = fs_alloc(io, sizeof(*b));
	bool found = false;
	size_t i, n = fs_exact(io) ? 1 : sizeof(supers) / sizeof(*supers);

	if (b == NULL)
		return false;
	b->io = io;
	for (i = 0; i < n && !found; i++)
		found = superblock(b, supers[i]);
	if (found) {
		memcpy(io->map->type, "btrfs", sizeof("btrfs"));
		fs_label(io, b->super + S_LABEL, LABEL);
		if (i > 1)
			fs_doubt(io, FS_DAMAGED, "its superblock is lost");
		read_all(b);
	}
	free(b->place);
	free(b->nodes);
	free(b);
	return found;
}
