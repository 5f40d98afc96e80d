/*
 * A member of a RAID of Linux (md).  That of a RAID1 has all of the array in
 * one piece, wherever its superblock is.
 *
 * Linux, include/uapi/linux/raid/md_p.h.  Version 1.0 has its superblock near
 * the end, 1.1 at the start, 1.2 at 4 KiB, in little endian
 * (drivers/md/md.c, super_1_load: places, the checksum, what is impossible);
 * 0.90 near the end, in the byte order of the machine (super_90_load).
 */
#include <string.h>

#include "fsread.h"

#define MAGIC	0xa92b4efcU

enum {
	SECTOR = 512,
	SUPER = 4096,		/* bytes of a superblock */
	NONE = 0xffff,

	/* version 1: bytes */
	S_FEATURES = 8, S_NAME = 32, NAME = 32, S_LEVEL = 72, S_SIZE = 80,
	S_DISKS = 92, S_DATA = 128, S_DATA_SIZE = 136, S_PLACE = 144,
	S_NUMBER = 160, S_RESYNC = 208, S_SUM = 216, S_ROLES_MOST = 220,
	S_ROLES = 256, BITMAP = 1,

	/* version 0.90: words of 4 bytes */
	W_MINOR = 2, W_LEVEL = 7, W_SIZE = 8, W_DISKS = 10, W_STATE = 33,
	W_SUM = 38, W_ROLE = 992 + 3, W_DISK_STATE = 992 + 4,
	CLEAN = 1, SOUND = 6,	/* active and in sync, not faulty */
	OLD_ALIGN = 64 << 10,
};

struct md {
	struct fs_io *io;
	unsigned char b[SUPER];
	uint64_t place;		/* bytes: of the superblock, */
	uint64_t off, len;	/* and of the array */
	uint32_t level;
	bool	 old;		/* version 0.90 */
	bool	 clean, member;	/* stopped properly; has all of the data */
	bool	 sound;		/* nothing contradicts itself */
	unsigned found;		/* superblocks */
};

static uint32_t
md_fold(uint64_t sum)
{
	return (uint32_t)((sum & UINT32_MAX) + (sum >> 32));
}

static bool
md_sum_1(const unsigned char *b)
{
	uint64_t roles = fs_le(b + S_ROLES_MOST, 4), sum = 0;
	size_t end, i;

	if (roles > (SUPER - S_ROLES) / 2)
		return false;
	end = S_ROLES + (size_t)roles * 2;
	for (i = 0; i < end; i += 4)
		sum += i == S_SUM ? 0 : fs_le(b + i, end - i < 4 ? 2 : 4);
	return md_fold(sum) == fs_le(b + S_SUM, 4);
}

/* Read what may be a superblock: its first sector decides. */
static bool
md_get(struct md *m, uint64_t place)
{
	return fs_get(m->io, place, m->b, SECTOR) == 0 &&
	    (fs_le(m->b, 4) == MAGIC || fs_be(m->b, 4) == MAGIC) &&
	    fs_get(m->io, place, m->b, SUPER) == 0;
}

/* Look at a superblock of version 1, and note what it says. */
static bool
md_look_1(struct md *m, uint64_t place, bool end)
{
	uint64_t number, role = NONE, off, len, room;
	const unsigned char *b = m->b;

	if (!md_get(m, place) || fs_le(b, 4) != MAGIC || fs_le(b + 4, 4) != 1)
		return false;
	m->place = place;
	m->old = false;
	m->level = (uint32_t)fs_le(b + S_LEVEL, 4);
	m->clean = fs_le(b + S_RESYNC, 8) == UINT64_MAX;
	number = fs_le(b + S_NUMBER, 4);
	if (number < fs_le(b + S_ROLES_MOST, 4) &&
	    number < (SUPER - S_ROLES) / 2)
		role = fs_le(b + S_ROLES + 2 * number, 2);
	m->member = role < fs_le(b + S_DISKS, 4) &&
	    (fs_le(b + S_FEATURES, 4) & ~(uint64_t)BITMAP) == 0;
	room = (end ? place : m->io->src->length) / SECTOR;
	off = fs_le(b + S_DATA, 8);
	len = fs_le(b + S_SIZE, 8);
	m->sound = md_sum_1(b) && fs_le(b + S_PLACE, 8) == place / SECTOR &&
	    len > 0 && len <= fs_le(b + S_DATA_SIZE, 8) && off <= room &&
	    len <= room - off && (end || off >= (place + SUPER) / SECTOR);
	m->off = off * SECTOR;
	m->len = len * SECTOR;
	return true;
}

static uint32_t
md_word(const unsigned char *b, bool big, size_t i)
{
	return (uint32_t)(big ? fs_be(b + 4 * i, 4) : fs_le(b + 4 * i, 4));
}

static bool
md_look_0(struct md *m, uint64_t place)
{
	const unsigned char *b = m->b;
	uint64_t sum = 0;
	bool big;
	size_t i;

	if (!md_get(m, place))
		return false;
	big = fs_be(b, 4) == MAGIC;
	if (md_word(b, big, 1) != 0)
		return false;
	for (i = 0; i < SUPER / 4; i++)
		sum += i == W_SUM ? 0 : md_word(b, big, i);
	m->place = place;
	m->old = true;
	m->level = md_word(b, big, W_LEVEL);
	m->clean = (md_word(b, big, W_STATE) & CLEAN) != 0;
	m->member = md_word(b, big, W_ROLE) < md_word(b, big, W_DISKS) &&
	    md_word(b, big, W_DISK_STATE) == SOUND;
	m->off = 0;
	m->len = (uint64_t)md_word(b, big, W_SIZE) * 1024;
	m->sound = md_fold(sum) == md_word(b, big, W_SUM) &&
	    md_word(b, big, W_MINOR) == 90 && m->len > 0 && m->len <= place;
	return true;
}

/* Find the superblocks; the last one found is in *m.  Returns how many. */
static unsigned
md_look(struct md *m)
{
	uint64_t length = m->io->src->length;
	struct md one = { .io = m->io };
	unsigned n = 0, i;
	bool is = false;

	for (i = 0; i < 4 && length >= (uint64_t)2 * OLD_ALIGN; i++) {
		if (i < 2)
			is = md_look_1(&one, (uint64_t)i * SUPER, false);
		else if (i == 2)
			is = md_look_1(&one, (length / SUPER - 2) * SUPER,
			    true);
		else
			is = md_look_0(&one, length / OLD_ALIGN * OLD_ALIGN -
			    OLD_ALIGN);
		if (is) {
			*m = one;
			n++;
		}
	}
	return n;
}

/* Add the array as a volume. */
static void
md_add(struct md *m)
{
	struct fs_map *map = m->io->map;
	struct fs_volume *v = map->volume = fs_alloc(m->io, sizeof(*v));
	size_t n = strlen(map->label);

	if (v == NULL)
		return;
	v->piece = fs_alloc(m->io, sizeof(*v->piece));
	if (v->piece == NULL)
		return;
	map->volumes = v->n = 1;
	v->length = v->piece->len = m->len;
	v->piece->off = m->off;
	memcpy(v->name, "md", 2);
	if (n > 0) {
		v->name[2] = '/';
		memcpy(v->name + 3, map->label, n);
	}
}

static bool
md_open(void *state)
{
	struct md *m = state;

	m->found = fs_by_start(m->io) ? md_look(m) : 0;
	return m->found > 0;
}

static void
md_read(void *state)
{
	struct md *m = state;
	struct fs_io *io = m->io;

	io->map->stamp = fs_crc32(0, m->b, SUPER);
	fs_note_meta(io, m->place, SUPER);
	if (!m->old)
		fs_label(io, m->b + S_NAME, NAME);
	if (m->found > 1)
		fs_doubt(io, FS_UNKNOWN, "it has several md superblocks");
	else if (io->failed)
		fs_doubt(io, FS_DAMAGED, "another md superblock of it may be "
		    "where it cannot be read");
	else if (!m->sound)
		fs_doubt(io, FS_DAMAGED, "its md superblock is wrong");
	else if (m->level != 1)
		fs_doubt(io, FS_UNKNOWN, "it is part of an md array that is "
		    "no RAID1");
	else if (!m->member)
		fs_doubt(io, FS_DIRTY, "it is no complete member of its md "
		    "array, or that is being changed");
	else if (!m->clean)
		fs_doubt(io, FS_DIRTY, "its md array was not stopped properly");
	else
		md_add(m);
}

const struct fs_kind fs_md = { { "linux_raid_member" }, sizeof(struct md),
	md_open, md_read, NULL, NULL };
