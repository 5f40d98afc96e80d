/*
 * XFS: files that contain given blocks, and their names.
 *
 * First all inodes are examined for lost blocks, and for being lost themselves;
 * then all directories, for the names of these; then paths follow ".." up to
 * the root.
 */
#include <stdlib.h>
#include <string.h>

#include "fshits.h"
#include "fsxfs.h"

enum {				/* offsets in a directory within its inode */
	S_COUNT = 0, S_LONG = 1, S_PARENT = 2,
	SE_NAME = 3,		/* offset of an entry's name */
};

enum {				/* offsets in a directory block */
	B_HEAD_4 = 16, B_HEAD_5 = 64, B_TAIL = 8, B_LEAF = 8,
	BE_LENGTH = 8, BE_NAME = 9, BE_TAG = 2, BE_ALIGN = 8,
	UNUSED = 0xffff, U_LENGTH = 2,
};

/* beyond this byte a directory has only hashes */
static const uint64_t names_end = UINT64_C(32) << 30;

struct search {
	struct xfs	*x;
	struct fs_hits	*hits;
	unsigned char	*block;		/* a block of a directory */
	bool		 touched;	/* the inode has a lost block */
};

/* -------------------------------------------------------------- inodes */

static void
xfs_touch(void *arg, uint64_t from, uint64_t at, uint64_t len, bool leads)
{
	struct search *s = arg;

	(void)from, (void)leads;
	s->touched |= fs_hits_is(s->hits, at, len);
}

static void
xfs_look_at_inode(struct xfs *x, const unsigned char *p, uint64_t number,
    uint64_t at, void *arg)
{
	struct search *s = arg;
	struct fs_id id = { .number = number };
	bool elsewhere = (fs_be(p + XFS_D_FLAGS, 2) & XFS_ELSEWHERE) != 0;
	bool good;

	if (fs_hits_is(s->hits, at, x->inode)) {
		fs_hits_add(s->hits, id, true);
		return;
	}
	if (memcmp(p, "IN", 2) != 0) {
		s->hits->to->more = true;
		return;
	}
	s->touched = false;
	good = elsewhere || xfs_fork(x, p, false, true, xfs_touch, s);
	good &= xfs_fork(x, p, true, true, xfs_touch, s);
	s->hits->to->more |= !good && !s->touched;
	if (s->touched)
		fs_hits_add(s->hits, id, false);
}

/* --------------------------------------------------------- directories */

struct listing {
	struct search	*s;
	fs_entry	*tell;
	void		*arg;
	bool		 over;
};

/* List the entries within the inode. */
static void
list_inside(struct listing *l, const unsigned char *p, size_t room)
{
	size_t wide = p[S_LONG] > 0 ? 8 : 4, at = S_PARENT + wide, n, len, i;

	if (at > room)
		return;
	l->over = !l->tell(l->arg, fs_be(p + S_PARENT, (int)wide),
	    (const unsigned char *)"..", 2);
	for (i = 0; i < p[S_COUNT] && !l->over && at < room; i++, at += len) {
		n = p[at];
		len = SE_NAME + n + l->s->x->kinds + wide;
		if (len > room - at)
			return;
		l->over = !l->tell(l->arg, fs_be(p + at + len - wide,
		    (int)wide), p + at + SE_NAME, n);
	}
}

/* List a block; a single block has its hashes at the end. */
static void
list_block(struct listing *l, const unsigned char *p, size_t size)
{
	size_t at = l->s->x->v5 ? B_HEAD_5 : B_HEAD_4, len, n, hashes;
	bool alone = memcmp(p, "XDB3", 4) == 0 || memcmp(p, "XD2B", 4) == 0;

	if (!alone && memcmp(p, "XDD3", 4) != 0 && memcmp(p, "XD2D", 4) != 0)
		return;
	if (alone) {
		hashes = (size_t)fs_be(p + size - B_TAIL, 4);
		if (hashes > (size - at - B_TAIL) / B_LEAF)
			return;
		size -= B_TAIL + hashes * B_LEAF;
	}
	for (; size - at >= BE_NAME && !l->over; at += len) {
		if (fs_be(p + at, 2) == UNUSED) {
			len = (size_t)fs_be(p + at + U_LENGTH, 2);
			if (len == 0 || len % BE_ALIGN != 0 || len > size - at)
				return;
			continue;
		}
		n = p[at + BE_LENGTH];
		len = BE_NAME + n + l->s->x->kinds + BE_TAG;
		len = (len + BE_ALIGN - 1) / BE_ALIGN * BE_ALIGN;
		if (n == 0 || len > size - at)
			return;
		l->over = !l->tell(l->arg, fs_be(p + at, 8), p + at + BE_NAME,
		    n);
	}
}

static void
list_extent(void *arg, uint64_t from, uint64_t at, uint64_t len, bool leads)
{
	struct listing *l = arg;
	struct search *s = l->s;
	size_t size = (size_t)s->x->directory * s->x->block;

	if (leads || from > names_end / s->x->block)
		return;
	s->hits->to->more |= len % size != 0;	/* it continues elsewhere */
	for (; len >= size && !l->over; len -= size, at += size)
		if (fs_get(s->x->io, at, s->block, size) == 0)
			list_block(l, s->block, size);
}

static void
xfs_list_dir(struct search *s, const unsigned char *inode, fs_entry *tell,
    void *arg)
{
	struct listing l = { .s = s, .tell = tell, .arg = arg };
	const unsigned char *p;
	size_t room;

	if (inode[XFS_D_FORMAT] == XFS_INSIDE) {
		p = xfs_fork_of(s->x, inode, false, &room);
		list_inside(&l, p, room);
	} else {
		xfs_fork(s->x, inode, false, true, list_extent, &l);
	}
}

static bool
xfs_is_dir(const unsigned char *p)
{
	return memcmp(p, "IN", 2) == 0 &&
	    (fs_be(p + XFS_D_MODE, 2) & XFS_KIND) == XFS_DIR;
}

static void
xfs_name_all(struct xfs *x, const unsigned char *p, uint64_t number,
    uint64_t at, void *arg)
{
	struct search *s = arg;
	struct fs_dir f = { s->hits, number };

	(void)x, (void)at;
	if (xfs_is_dir(p))
		xfs_list_dir(s, p, fs_entry_hit, &f);
}

/* --------------------------------------------------------------- paths */

static bool
xfs_dir_inode(struct xfs *x, uint64_t number, unsigned char *p)
{
	uint64_t at = xfs_place_of(x, number >> x->inode_log);
	uint64_t in = number & ((UINT64_C(1) << x->inode_log) - 1);

	return at != UINT64_MAX &&
	    fs_get(x->io, at + in * x->inode, p, x->inode) == 0 &&
	    xfs_is_dir(p);
}

/* The name of a directory, and its parent; NULL if that is unknown. */
static char *
xfs_climb(void *arg, struct fs_id *id)
{
	struct search *s = arg;
	struct fs_step step = { .io = s->x->io, .number = id->number };
	unsigned char p[XFS_INODE];

	if (!xfs_dir_inode(s->x, step.number, p))
		return NULL;
	xfs_list_dir(s, p, fs_entry_parent, &step);
	if (xfs_dir_inode(s->x, step.parent, p))
		xfs_list_dir(s, p, fs_entry_name, &step);
	id->number = step.parent;
	return step.name;
}

/* ----------------------------------------------------------------- all */

static void
xfs_each_inode(struct search *s, xfs_visit *what)
{
	struct xfs *x = s->x;
	uint32_t ag;

	for (ag = 0; ag < x->ags && x->io->budget > 0; ag++)
		s->hits->to->more |= !xfs_each(x, ag, what, s);
}

static void
xfs_names(void *state, struct fs_hits *hits)
{
	struct xfs *x = state;
	struct search s = { .x = x, .hits = hits };
	bool failed;

	s.block = fs_alloc(x->io, (size_t)x->directory * x->block);
	if (s.block == NULL)
		return;
	xfs_each_inode(&s, xfs_look_at_inode);
	failed = x->io->failed;
	if (hits->n > 0)
		xfs_each_inode(&s, xfs_name_all);
	if (!fs_hits_nameless(hits))
		x->io->failed = failed;
	fs_hits_tell(hits, (struct fs_id){ .number = x->root }, xfs_climb, &s);
	free(s.block);
}

const struct fs_kind fs_xfs = { { "xfs" }, sizeof(struct xfs), xfs_open,
	xfs_read, xfs_names, xfs_close };
