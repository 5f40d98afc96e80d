/*
 * Choosing the reader for a partition, and judging its result; the files that
 * are hit.
 */
#include "fs/fsmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsread.h"

/*
 * --- swap space -------------------------------------------------------------
 *
 * Only its header matters, unless a hibernation image lies in it.  Linux,
 * include/linux/swap.h (union swap_header): the magic is at the end of the
 * first page, whose size depends on the machine.  A hibernation image replaces
 * the magic with its own (kernel/power/swap.c: "S1SUSPEND"; others: systemd,
 * TuxOnIce, uswsusp).
 */

enum {
	PAGE_LEAST = 4096,
	PAGE_MOST = 65536,
	MAGIC = 10,		/* bytes at the end of the page */
	VERSION = 1024,		/* offset of the version */
	PAGES = 1028,		/* offset of the last page's number */
	LABEL = 1052,
	LABEL_MOST = 16,
	HEAD = 2048,		/* bytes that contain all these */
};

static bool
swap_hibernated(const unsigned char *magic)
{
	static const char *const known[] = { "S1SUSPEND", "S2SUSPEND",
		"ULSUSPEND", "LINHIB0001" };
	static const unsigned char toi[] = { 0xed, 0xc3, 0x02, 0xe9,
		0x98, 0x56, 0xe5, 0x0c };
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memcmp(magic, known[i], strlen(known[i])) == 0)
			return true;
	return memcmp(magic, toi, sizeof(toi)) == 0;
}

/*
 * The number of swap pages after a header of version 1, in the byte order of
 * the machine that made it; 0 if the header is wrong.
 */
static uint64_t
swap_pages(const unsigned char *head, uint64_t size, uint64_t length)
{
	bool big = head[VERSION] == 0;
	uint64_t version = big ? fs_be(head + VERSION, 4) :
	    fs_le(head + VERSION, 4);
	uint64_t last = big ? fs_be(head + PAGES, 4) : fs_le(head + PAGES, 4);

	return version == 1 && last < length / size ? last : 0;
}

static void
swap_take(struct fs_io *io, const unsigned char *head,
    const unsigned char *magic, uint64_t size)
{
	uint64_t n = swap_pages(head, size, io->src->length);

	memcpy(io->map->type, "swap", sizeof("swap"));
	fs_note_meta(io, 0, size);
	if (swap_hibernated(magic)) {
		fs_doubt(io, FS_DIRTY, "a hibernated system lies in it");
		return;
	}
	if (memcmp(magic, "SWAPSPACE2", MAGIC) != 0) {
		fs_doubt(io, FS_UNKNOWN, "its version is not known");
		return;
	}
	fs_label(io, head + LABEL, LABEL_MOST);
	if (n == 0)
		fs_doubt(io, FS_DAMAGED, "its header is wrong");
	fs_note_free(io, size, n * size);
}

static bool
fs_read_swap(struct fs_io *io)
{
	unsigned char head[HEAD], magic[MAGIC];
	uint64_t size;

	for (size = PAGE_LEAST; fs_by_start(io) && size <= PAGE_MOST;
	    size *= 2) {
		if (fs_get(io, size - MAGIC, magic, MAGIC) != 0)
			return false;
		if (memcmp(magic, "SWAPSPACE2", MAGIC) != 0 &&
		    memcmp(magic, "SWAP-SPACE", MAGIC) != 0 &&
		    !swap_hibernated(magic))
			continue;
		if (fs_get(io, 0, head, sizeof(head)) != 0)
			return false;
		swap_take(io, head, magic, size);
		return true;
	}
	return false;
}

static const struct kind {
	const char	*type;		/* as in libblkid */
	bool		(*read)(struct fs_io *);
	bool		(*names)(struct fs_io *, const struct fs_extents *lost,
			    struct fs_names *);		/* or NULL */
} kinds[] = {
	{ "ext2", fs_read_ext, fs_names_ext },
	{ "ext3", fs_read_ext, fs_names_ext },
	{ "ext4", fs_read_ext, fs_names_ext },
	{ "xfs", fs_read_xfs, fs_names_xfs },
	{ "btrfs", fs_read_btrfs, fs_names_btrfs },
	{ "ntfs", fs_read_ntfs, fs_names_ntfs },
	{ "vfat", fs_read_fat, fs_names_fat },
	{ "exfat", fs_read_exfat, fs_names_exfat },
	{ "swap", fs_read_swap, NULL },
	{ "swsuspend", fs_read_swap, NULL },
	{ "LVM2_member", fs_read_lvm, NULL },
	{ "linux_raid_member", fs_read_md, NULL },
	{ "crypto_LUKS", fs_read_luks, NULL },
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct kind *
fs_kind_named(const char *type)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].type, type) == 0)
			return &kinds[i];
	return NULL;
}

/* Forget everything about it. */
static void
fs_map_forget(struct fs_io *io)
{
	fs_map_free(io->map);
	*io->map = (struct fs_map){ .state = FS_CLEAN,
		.reads = io->map->reads, .bytes_read = io->map->bytes_read };
	io->whole = false;
}

/* Try all kinds.  For a proof exactly one must match. */
static bool
fs_any_kind(struct fs_io *io, enum fs_by by)
{
	bool found = false;
	size_t i;

	io->by = by;
	for (i = 0; i < KINDS && (!found || fs_exact(io)); i++) {
		if ((i > 0 && kinds[i].read == kinds[i - 1].read) ||
		    !kinds[i].read(io))
			continue;
		if (found) {
			fs_map_forget(io);
			fs_doubt(io, FS_UNKNOWN, "it looks like two kinds of "
			    "file system");
			return true;
		}
		found = true;
	}
	return found;
}

/* A copy counts only if the start may be lost: it may be a leftover. */
static void
fs_map_look(struct fs_io *io)
{
	if (!fs_any_kind(io, FS_BY_START) && (fs_exact(io) || !io->failed ||
	    !fs_any_kind(io, FS_BY_COPY)))
		fs_doubt(io, FS_UNKNOWN, "it is no file system that is known");
}

static void
read_map(struct fs_io *io, const char *type)
{
	const struct kind *kind;

	if (type == NULL || *type == '\0') {
		fs_map_look(io);
		return;
	}
	kind = fs_kind_named(type);
	if (kind == NULL)
		fs_doubt(io, FS_UNKNOWN, "it is none that can be read");
	else if (!kind->read(io))
		fs_doubt(io, FS_DAMAGED, "it is not what its signature says");
}

static void
fs_volumes_free(struct fs_map *m)
{
	while (m->volumes > 0)
		free(m->volume[--m->volumes].piece);
	free(m->volume);
	m->volume = NULL;
}

int
fs_map_read(const char *type, const struct fs_source *src, unsigned how,
    struct fs_map *m)
{
	struct fs_io io = { .src = src, .map = m, .how = how };

	*m = (struct fs_map){ .state = FS_CLEAN };
	io.budget = (16 << 20) + src->length / ((how & FS_DEEP) != 0 ? 8 : 32);
	read_map(&io, type);
	if (io.whole && fs_exact(&io))
		m->free.n = 0;
	if (io.whole)
		fs_volumes_free(m);
	fs_settle(&io);
	if ((how & (FS_META | FS_DEEP)) == 0)
		m->meta.n = 0;
	return io.no_memory ? ENOMEM : 0;
}

void
fs_map_free(struct fs_map *m)
{
	fs_volumes_free(m);
	free(m->free.at);
	free(m->meta.at);
	m->free = m->meta = (struct fs_extents){ .at = NULL };
}

const char *
fs_state_name(enum fs_state state)
{
	static const char *const name[] = { [FS_CLEAN] = "clean",
		[FS_DIRTY] = "dirty", [FS_DAMAGED] = "damaged",
		[FS_UNKNOWN] = "unknown" };

	return name[state];
}

static int
fs_names_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int
fs_names_read(const char *type, const struct fs_source *src,
    const struct fs_extents *lost, struct fs_names *to)
{
	struct fs_map m = { .state = FS_CLEAN };
	struct fs_io io = { .src = src, .map = &m, .how = FS_ORDER,
		.budget = (16 << 20) + src->length };
	const struct kind *kind = fs_kind_named(type);

	if (!fs_names_open(&io, to))
		return ENOMEM;
	if (kind != NULL && kind->names != NULL)
		to->known = kind->names(&io, lost, to);
	to->more |= io.failed;
	if (to->n > 1)
		qsort((void *)to->name, to->n, sizeof(*to->name),
		    fs_names_order);
	fs_map_free(&m);
	return io.no_memory ? ENOMEM : 0;
}
