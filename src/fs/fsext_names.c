/*
 * ext2, ext3, ext4: files that contain given blocks, and their names.
 *
 * Like icheck and ncheck of debugfs(8), as far as blocks could be read.  First
 * all inodes are examined for lost blocks, and for being lost themselves; then
 * all directories, for the names of these; then paths follow ".." up to the
 * root.
 */
#include <stdlib.h>
#include <string.h>

#include "fsext.h"
#include "fshits.h"

enum {
	E_LENGTH = 4, E_NAME_LENGTH = 6, E_NAME = 8,	/* offsets in an
							 * entry */
	ENTRIES = 4,		/* start of entries within an inode */
	SHORT_LINK = 60,	/* bytes: a shorter link is in the inode */
	INODES_MOST = 1 << 28,	/* a bit for each */
};

struct search {
	struct ext	*e;
	struct fs_hits	*hits;
	unsigned char	*directories;	/* a bit per inode */
	unsigned char	*block;
	bool		 touched;	/* the inode has a lost block */
};

/* Called for an inode, at byte "at". */
typedef void visit(struct search *, const unsigned char *inode, uint32_t ino,
    uint64_t at);

/* -------------------------------------------------------------- inodes */

static void
ext_touch(void *arg, uint64_t block, uint64_t n, bool data)
{
	struct search *s = arg;

	(void)data;
	s->touched |= fs_hits_is(s->hits, block * s->e->block,
	    n * s->e->block);
}

/* Whether an inode should have a name. */
static bool
has_name(const unsigned char *p, uint32_t ino)
{
	return fs_le(p + EXT_I_LINKS, 2) > 0 &&
	    (ino >= EXT_INO_FIRST || ino == EXT_INO_ROOT);
}

static void
ext_look_at_inode(struct search *s, const unsigned char *p, uint32_t ino,
    uint64_t at)
{
	uint64_t mode = fs_le(p + EXT_I_MODE, 2) & EXT_MODE_KIND;
	uint64_t beside = fs_le(p + EXT_I_ACL, 4) |
	    fs_le(p + EXT_I_ACL_HI, 2) << 32;
	bool good = true;

	s->touched = fs_hits_is(s->hits, at, s->e->inode_size);
	if (s->touched)
		fs_hits_add(s->hits, (struct fs_id){ .number = ino }, true);
	if (s->touched || !has_name(p, ino))
		return;
	if (mode == EXT_MODE_DIR)
		s->directories[ino / 8] |= (unsigned char)(1 << ino % 8);
	if (beside > 0 && beside < s->e->blocks)
		ext_touch(s, beside, 1, true);
	if (mode == EXT_MODE_DIR || mode == EXT_MODE_FILE ||
	    (mode == EXT_MODE_LINK && fs_le(p + EXT_I_SIZE, 4) >= SHORT_LINK))
		good = ext_blocks(s->e, p, true, ext_touch, s);
	s->hits->to->more |= !good && !s->touched;
	if (s->touched)
		fs_hits_add(s->hits, (struct fs_id){ .number = ino }, false);
}

static bool
ext_is_dir(const struct search *s, uint32_t ino)
{
	return (s->directories[ino / 8] >> ino % 8 & 1) != 0;
}

static bool
any_dir(const struct search *s, uint32_t ino, uint32_t n)
{
	while (n > 0 && !ext_is_dir(s, ino))
		ino++, n--;
	return n > 0;
}

/* Visit the inodes of a group; with "directories", only if it has any. */
static void
ext_search_group(struct search *s, const struct ext_group *g, bool directories,
    visit *what)
{
	struct ext *e = s->e;
	uint32_t n = e->inodes_per - (uint32_t)g->unused, i, k, many;
	uint32_t first = g->number * e->inodes_per + 1;
	uint64_t at;

	for (i = 0; i < n; i += many) {
		many = FS_PIECE / e->inode_size;
		many = n - i < many ? n - i : many;
		at = g->table * e->block + (uint64_t)i * e->inode_size;
		if (directories && !any_dir(s, first + i, many))
			continue;
		fs_get_units(e->io, at, e->bits, e->inode_size, many, 0);
		for (k = 0; k < many; k++)
			what(s, e->bits + (size_t)k * e->inode_size,
			    first + i + k, at + (uint64_t)k * e->inode_size);
	}
}

static void
ext_each_inode(struct search *s, bool directories, visit *what)
{
	struct ext_group g;
	uint32_t i;

	for (i = 0; i < s->e->groups && s->e->io->budget > 0; i++)
		if (ext_group(s->e, i, &g))
			ext_search_group(s, &g, directories, what);
		else
			s->hits->to->more = true;
}

/* --------------------------------------------------------- directories */

static bool
ext_dir_entries(const unsigned char *p, size_t size, fs_entry *tell, void *arg)
{
	size_t at, len;

	for (at = 0; size - at >= E_NAME; at += len) {
		len = (size_t)fs_le(p + at + E_LENGTH, 2);
		if (len == 0 || len == UINT16_MAX)
			len = size;		/* of a block of 64 KiB */
		if (len < E_NAME || len > size - at ||
		    p[at + E_NAME_LENGTH] > len - E_NAME)
			return true;
		if (fs_le(p + at, 4) != 0 && !tell(arg,
		    (uint32_t)fs_le(p + at, 4), p + at + E_NAME,
		    p[at + E_NAME_LENGTH]))
			return false;
	}
	return true;
}

struct listing {
	struct search	*s;
	fs_entry	*tell;
	void		*arg;
	bool		 over;
};

static void
list_blocks(void *arg, uint64_t block, uint64_t n, bool data)
{
	struct listing *l = arg;
	struct ext *e = l->s->e;

	for (; data && n > 0 && !l->over; block++, n--)
		if (fs_get(e->io, block * e->block, l->s->block, e->block) == 0)
			l->over = !ext_dir_entries(l->s->block, e->block,
			    l->tell, l->arg);
}

/* Encrypted names are left out. */
static void
ext_list_dir(struct search *s, const unsigned char *inode, fs_entry *tell,
    void *arg)
{
	struct listing l = { .s = s, .tell = tell, .arg = arg };
	uint64_t flags = fs_le(inode + EXT_I_FLAGS, 4);

	if ((flags & EXT_FLAG_SECRET) != 0)
		return;
	if ((flags & EXT_FLAG_INLINE) != 0) {
		ext_dir_entries(inode + EXT_I_BLOCK + ENTRIES,
		    EXT_I_BLOCK_SIZE - ENTRIES, tell, arg);
		/* the rest is among the attributes */
		s->hits->to->more |= fs_le(inode + EXT_I_SIZE, 4) >
		    EXT_I_BLOCK_SIZE;
		return;
	}
	ext_blocks(s->e, inode, true, list_blocks, &l);
}

static void
ext_name_all(struct search *s, const unsigned char *p, uint32_t ino,
    uint64_t at)
{
	struct fs_dir f = { s->hits, ino };

	(void)at;
	if (ext_is_dir(s, ino))
		ext_list_dir(s, p, fs_entry_hit, &f);
}

/* --------------------------------------------------------------- paths */

/* Read the necessary part of a directory's inode; false if that is lost. */
static bool
ext_dir_inode(struct search *s, uint32_t ino, unsigned char *p)
{
	struct ext *e = s->e;
	struct ext_group g;

	return ino > 0 && ext_group(e, (ino - 1) / e->inodes_per, &g) &&
	    fs_get(e->io, g.table * e->block + (uint64_t)((ino - 1) %
	    e->inodes_per) * e->inode_size, p, EXT_I_LEAST) == 0 &&
	    (fs_le(p + EXT_I_MODE, 2) & EXT_MODE_KIND) == EXT_MODE_DIR;
}

/* The name of a directory, and its parent; NULL if that is unknown. */
static char *
ext_climb(void *arg, struct fs_id *id)
{
	struct search *s = arg;
	struct fs_step step = { .io = s->e->io, .number = id->number };
	unsigned char p[EXT_I_LEAST];

	if (!ext_dir_inode(s, (uint32_t)step.number, p))
		return NULL;
	if ((fs_le(p + EXT_I_FLAGS, 4) & EXT_FLAG_INLINE) != 0)
		step.parent = fs_le(p + EXT_I_BLOCK, 4);
	else
		ext_list_dir(s, p, fs_entry_parent, &step);
	if (ext_dir_inode(s, (uint32_t)step.parent, p))
		ext_list_dir(s, p, fs_entry_name, &step);
	id->number = step.parent;
	return step.name;
}

/* ---------------------------------------------------------------- all */

static void
ext_names(void *state, struct fs_hits *hits)
{
	struct ext *e = state;
	struct search s = { .e = e, .hits = hits };
	size_t inodes = (size_t)e->groups * e->inodes_per;

	if (inodes > INODES_MOST) {
		hits->to->more = true;
		return;
	}
	s.directories = fs_alloc(e->io, inodes / 8 + 1);
	s.block = fs_alloc(e->io, e->block);
	if (!e->io->no_memory) {
		ext_each_inode(&s, false, ext_look_at_inode);
		if (hits->n > 0)
			ext_each_inode(&s, true, ext_name_all);
		fs_hits_tell(hits, (struct fs_id){ .number = EXT_INO_ROOT },
		    ext_climb, &s);
	}
	free(s.directories);
	free(s.block);
}

const struct fs_kind fs_ext = { { "ext2", "ext3", "ext4" }, sizeof(struct ext),
	ext_open, ext_read, ext_names, ext_close };
