/*
 * btrfs: nodes of its trees.  Each has a checksum, its own logical address, and
 * the generation known to its parent; any copy that has all these is used.
 */
#include <xxhash.h>

#include "fsbtrfs.h"

bool
btrfs_checked(const struct btrfs *b, const unsigned char *p, size_t size)
{
	size_t n = size - S_CSUM;

	if (fs_le(b->super + S_CSUM_TYPE, 2) == XXHASH)
		return fs_le(p, 8) == XXH64(p + S_CSUM, n, 0);
	return fs_le(p, 4) == (uint32_t)~fs_crc32c(~UINT32_C(0), p + S_CSUM,
	    n);
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

size_t
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

void
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
