/*
 * Whether the free space of a file system is left out, and which of its ranges
 * come first.
 */
#include "used_judge.h"

#include <bsd/string.h>
#include <bsd/sys/endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "idle.h"
#include "part/parts.h"
#include "used_list.h"

enum {				/* what may lie behind a file system */
	TREE_UNIT = 4096,	/* bytes of a block of a hash tree */
	AVB_FOOTER = 64,	/* bytes, the last ones of a partition */
};

enum {				/* an MBR */
	MBR = 512,
	MBR_ROWS = 446, MBR_ROW = 16, MBR_MAGIC = 510,
	R_FLAG = 0, ACTIVE = 0x80, R_TYPE = 4, R_START = 8, R_LENGTH = 12,
};

int
used_whole(struct used_fs *fs, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fs->reason, sizeof(fs->reason), fmt, ap);
	va_end(ap);
	fs->treated = TREATED_WHOLE;
	return -1;
}

/* Refuse a file system that somebody may write to during the copy. */
static int
used_idle(struct used_fs *fs, const struct endpoint *ep)
{
	char why[IDLE_WHY];

	return part_idle(ep, fs->off, fs->off + fs->length,
	    fs->partition > 0, why) == 0 ? 0 : used_whole(fs, "%s", why);
}

/* Refuse a file system whose bytes others may claim, or that is incomplete. */
static int
used_placed(struct used_fs *fs, const struct used *u, const struct plan *p)
{
	uint64_t end = fs->off + fs->length, to = p->src_off + p->length;
	size_t i;

	if (end > (uint64_t)p->src->geo.size)
		return used_whole(fs, "it goes beyond the end of %s",
		    p->src->name);
	for (i = 0; i < u->n; i++)
		if (&u->fs[i] != fs && u->fs[i].off < end &&
		    fs->off < u->fs[i].off + u->fs[i].length)
			return used_whole(fs, "partition %u lies on the same "
			    "bytes", u->fs[i].partition);
	if (fs->off < p->src_off || end > to)
		return used_whole(fs, "only a part of it is copied");
	return 0;
}

/* Copy its own account. */
static void
used_take_account(struct used_fs *fs, const struct fs_map *m)
{
	if (m->type[0] != '\0')
		strlcpy(fs->type, m->type, sizeof(fs->type));
	if (m->label[0] != '\0')
		strlcpy(fs->label, m->label, sizeof(fs->label));
	fs->used = m->used;
	fs->free = m->free_bytes;
	fs->state = m->state;
}

/* Objections to a file system that calls itself clean. */
static int
used_convinced(struct used_fs *fs, const struct fs_map *m,
    const struct volume *v)
{
	used_take_account(fs, m);
	if (m->state == FS_UNKNOWN && m->type[0] == '\0')
		return used_whole(fs, "its free space is not known");
	if (m->state != FS_CLEAN)
		return used_whole(fs, "%s", m->reason);
	if (v->type[0] == '\0')
		return used_whole(fs, "there may be more than it in "
		    "that place");
	if (v->signs > 1 || strcmp(v->type, m->type) != 0)
		return strcmp(v->first, m->type) == 0 ?
		    used_whole(fs, "it has the signatures of "
		    "several file systems") :
		    used_whole(fs, "it has the signature of %s, too", v->first);
	return 0;
}

/*
 * Whether a sector has partitions, as the kernel sees it.  libblkid does not
 * look for them where a FAT or an NTFS begins, though that may be a leftover.
 */
static bool
has_table(const unsigned char *mbr)
{
	const unsigned char *row = mbr + MBR_ROWS;
	bool any = false;

	for (; row < mbr + MBR_MAGIC; row += MBR_ROW) {
		if ((row[R_FLAG] & ~ACTIVE) != 0)
			return false;		/* the text of a boot sector */
		any |= row[R_TYPE] != 0 && le32dec(row + R_START) != 0 &&
		    le32dec(row + R_LENGTH) != 0;
	}
	return any && mbr[MBR_MAGIC] == 0x55 && mbr[MBR_MAGIC + 1] == 0xaa;
}

/* Refuse a file system with a partition table in its first sector. */
static int
used_undivided(struct used_fs *fs, struct look *l)
{
	unsigned char mbr[MBR];

	if (look_read(l, 0, mbr, MBR) != 0)
		return used_whole(fs, "its first sector cannot be read");
	return !has_table(mbr) ? 0 :
	    used_whole(fs, "its first sector has a partition table, too");
}

/*
 * Refuse a file system with something behind it that may be made from all of
 * its blocks: a tree of dm-verity, of Android with its footer (AVB), or any
 * other that begins there.  Such a tree covers free blocks, too.
 */
static int
used_uncovered(struct used_fs *fs, struct look *l, const struct fs_map *m)
{
	unsigned char b[TREE_UNIT];
	size_t i;

	if (fs->length >= AVB_FOOTER) {
		if (look_read(l, fs->length - AVB_FOOTER, b, AVB_FOOTER) != 0)
			return used_whole(fs, "its end cannot be read");
		if (memcmp(b, "AVBf", 4) == 0)
			return used_whole(fs, "its free blocks have digests, "
			    "too (Android Verified Boot)");
	}
	if (m->end == 0 || m->end > fs->length ||
	    fs->length - m->end < TREE_UNIT)
		return 0;
	if (look_read(l, m->end, b, TREE_UNIT) != 0)
		return used_whole(fs, "what is behind it cannot be read");
	for (i = 0; i < TREE_UNIT; i++)
		if (b[i] != 0)
			return used_whole(fs, "something is behind it, which "
			    "may have digests of its free blocks");
	return 0;
}

/* Add its free ranges. */
static int
used_take_free(struct used *u, const struct plan *p, const struct used_fs *fs,
    const struct fs_map *m)
{
	const struct fs_extent *x = m->free.at, *end = x + m->free.n;
	int err = 0;

	for (; x < end && err == 0; x++)
		err = used_list_free(&u->free, p, fs->off + x->off,
		    fs->off + x->off + x->len);
	x = m->meta.at;
	end = x + m->meta.n;
	for (; x < end && err == 0; x++)
		err = used_list_add(&u->meta, fs->off + x->off,
		    fs->off + x->off + x->len);
	return err;
}

/* Whether its free ranges are proven, and may be left out. */
static bool
used_proven(struct used_fs *fs, const struct used *u, struct look *l,
    struct fs_map *m, int *err)
{
	struct fs_source source = { .read = look_read, .arg = l,
		.length = fs->length };
	struct volume v;

	parts_volume(l->p->src, fs->off, fs->length, &v);
	strlcpy(fs->type, v.type, sizeof(fs->type));
	strlcpy(fs->label, v.label, sizeof(fs->label));
	if (used_placed(fs, u, l->p) != 0)
		return false;
	*err = fs_map_read(v.type, &source, l->how, m);
	return *err == 0 && used_convinced(fs, m, &v) == 0 &&
	    used_undivided(fs, l) == 0 && used_uncovered(fs, l, m) == 0 &&
	    used_idle(fs, l->p->src) == 0;
}

/* Whether it can at least show what to read first; this need not be true. */
static bool
used_guessed(struct used_fs *fs, struct look *l, struct fs_map *m, int *err)
{
	struct fs_source source = { .read = look_read, .arg = l,
		.length = fs->length };

	if (fs->off + fs->length > (uint64_t)l->p->src->geo.size) {
		used_whole(fs, "it goes beyond the end of %s",
		    l->p->src->name);
		return false;
	}
	*err = fs_map_read("", &source, l->how, m);
	if (*err != 0)
		return false;
	used_take_account(fs, m);
	fs->treated = TREATED_ORDERED;
	if (m->state == FS_UNKNOWN)
		used_whole(fs, "its free space is not known");
	return m->state != FS_UNKNOWN;
}

int
used_judge(struct used *u, struct used_fs *fs, struct look *l)
{
	struct fs_map m = { .type = "" };
	int err = 0;

	l->base = fs->off;
	if ((l->how & FS_ORDER) != 0 ? used_guessed(fs, l, &m, &err) :
	    used_proven(fs, u, l, &m, &err))
		err = used_take_free(u, l->p, fs, &m);
	fs_map_free(&m);
	return err;
}
