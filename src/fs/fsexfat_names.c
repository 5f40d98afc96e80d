/*
 * exFAT: files that contain given bytes.  A file is a set of entries with a
 * checksum: its attributes, its chain, and parts of its name.
 */
#include <string.h>

#include "fsclusters.h"
#include "fsexfat.h"

enum {
	SET = 19,		/* entries per set, at most */
	N_LENGTH = 3, N_PART = 15, N_TEXT = 2,	/* units; units per entry; their
						 * offset */
	PART_BYTES = 2 * N_PART,
	E_COUNT = 1, E_SUM = 2,
};

struct set {
	size_t		 n, all;	/* entries read; expected, 0: no set */
	unsigned char	 p[SET * FS_ENTRY];
};

/* The checksum: figure 2 of the specification. */
static bool
exfat_set_checked(const struct set *s)
{
	uint16_t sum = 0;
	size_t i;

	for (i = 0; i < s->n * FS_ENTRY; i++)
		if (i != E_SUM && i != E_SUM + 1)
			sum = (uint16_t)((sum << 15 | sum >> 1) + s->p[i]);
	return fs_le(s->p + E_SUM, 2) == sum;
}

static void
exfat_set_file(struct clusters *c, const struct set *s)
{
	const unsigned char *stream = s->p + FS_ENTRY;
	struct clusters_file f = { .first = fs_le(stream + E_FIRST, 4),
		.size = fs_le(stream + E_SIZE, 8),
		.together = (stream[E_FLAGS] & TOGETHER) != 0,
		.directory = (s->p[E_KIND] & DIRECTORY) != 0 };
	unsigned char units[SET * PART_BYTES];
	char name[FS_NAME_MOST];
	size_t i, n = stream[N_LENGTH];

	if (s->n < 3 || !exfat_set_checked(s) || stream[0] != E_STREAM ||
	    n > (s->n - 2) * N_PART) {
		c->to->more = true;
		return;
	}
	for (i = 2; i < s->n; i++)
		memcpy(units + (i - 2) * (size_t)PART_BYTES,
		    s->p + i * FS_ENTRY + N_TEXT, PART_BYTES);
	fs_utf8(name, sizeof(name), units, n);
	clusters_file(c, &f, name);
}

static bool
exfat_set_entry(struct clusters *c, const unsigned char *p, bool begins)
{
	struct set *s = c->arg;
	bool belongs = (p[0] & (E_USED | E_BELONGS)) == (E_USED | E_BELONGS);

	if (begins || !belongs) {
		c->to->more |= s->all > 0;	/* it was cut off */
		s->all = 0;
	}
	if (p[0] == 0)
		return false;
	if (p[0] == E_FILE) {
		s->n = 0;
		s->all = p[E_COUNT] < SET ? (size_t)p[E_COUNT] + 1 : 0;
		c->to->more |= s->all == 0;
	}
	if (s->all == 0)
		return true;
	memcpy(s->p + s->n++ * FS_ENTRY, p, FS_ENTRY);
	if (s->n == s->all) {
		exfat_set_file(c, s);
		s->all = 0;
	}
	return true;
}

void
exfat_hits(const struct exfat *x, const struct fs_extents *lost,
    struct fs_names *to)
{
	struct set s = { .all = 0 };
	struct clusters c = { .io = x->io, .lost = lost, .to = to,
		.table = { x->fat }, .table_size = x->fat_size, .bits = 32,
		.mask = UINT32_MAX, .end = UINT32_MAX, .sector = x->sector,
		.first = x->heap, .cluster = x->cluster,
		.clusters = x->clusters,
		.top = { .first = fs_le(x->boot + EXFAT_ROOT, 4),
			.size = UINT64_MAX },
		.entry = exfat_set_entry, .arg = &s };

	clusters_search(&c);
	to->more |= s.all > 0;
}
