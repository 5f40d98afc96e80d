/*
 * Choosing the reader for a partition, and judging its result; the files that
 * are hit.
 */
#include "fs/fsmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fshits.h"

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

struct swap {
	struct fs_io	*io;
	uint64_t	 size;		/* bytes of a page */
	unsigned char	 magic[MAGIC], head[HEAD];
};

static bool
swap_open(void *state)
{
	struct swap *s = state;

	for (s->size = PAGE_LEAST; fs_by_start(s->io) && s->size <= PAGE_MOST;
	    s->size *= 2) {
		if (fs_get(s->io, s->size - MAGIC, s->magic, MAGIC) != 0)
			return false;
		if (memcmp(s->magic, "SWAPSPACE2", MAGIC) == 0 ||
		    memcmp(s->magic, "SWAP-SPACE", MAGIC) == 0 ||
		    swap_hibernated(s->magic))
			return fs_get(s->io, 0, s->head, HEAD) == 0;
	}
	return false;
}

static void
swap_read(void *state)
{
	struct swap *s = state;
	uint64_t n = swap_pages(s->head, s->size, s->io->src->length);

	fs_note_meta(s->io, 0, s->size);
	if (swap_hibernated(s->magic)) {
		fs_doubt(s->io, FS_DIRTY, "a hibernated system lies in it");
		return;
	}
	if (memcmp(s->magic, "SWAPSPACE2", MAGIC) != 0) {
		fs_doubt(s->io, FS_UNKNOWN, "its version is not known");
		return;
	}
	fs_label(s->io, s->head + LABEL, LABEL_MOST);
	if (n == 0)
		fs_doubt(s->io, FS_DAMAGED, "its header is wrong");
	fs_note_free(s->io, s->size, n * s->size);
}

const struct fs_kind fs_swap = { { "swap", "swsuspend" }, sizeof(struct swap),
	swap_open, swap_read, NULL, NULL };

static const struct fs_kind *const kinds[] = { &fs_ext, &fs_xfs, &fs_btrfs,
	&fs_ntfs, &fs_fat, &fs_exfat, &fs_swap, &fs_lvm, &fs_md, &fs_luks,
	NULL };

static const struct fs_kind *
fs_kind_named(const char *type)
{
	size_t i, k;

	for (i = 0; kinds[i] != NULL; i++)
		for (k = 0; k < 3 && kinds[i]->type[k] != NULL; k++)
			if (strcmp(kinds[i]->type[k], type) == 0)
				return kinds[i];
	return NULL;
}

/* Read it, or find names if "to" is given; false if it is of another kind. */
static bool
fs_kind_read(const struct fs_kind *kind, struct fs_io *io,
    const struct fs_extents *lost, struct fs_names *to)
{
	void *state = fs_alloc(io, kind->bytes);
	struct fs_hits hits = { .io = io, .lost = lost, .to = to };
	char *type = io->map->type;
	bool is;

	if (state == NULL)
		return false;
	*(struct fs_io **)state = io;
	is = kind->open(state);
	if (is && *type == '\0')
		snprintf(type, sizeof(io->map->type), "%s", kind->type[0]);
	if (is && to != NULL) {
		io->failed = false;	/* a copy was good */
		to->known = true;
		if (fs_hits_open(&hits))
			kind->names(state, &hits);
		fs_hits_close(&hits);
	} else if (is) {
		kind->read(state);
	}
	if (kind->close != NULL)
		kind->close(state);
	free(state);
	return is;
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
	for (i = 0; kinds[i] != NULL && (!found || fs_exact(io)); i++) {
		if (!fs_kind_read(kinds[i], io, NULL, NULL))
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
	const struct fs_kind *kind;

	if (type == NULL || *type == '\0') {
		fs_map_look(io);
		return;
	}
	kind = fs_kind_named(type);
	if (kind == NULL)
		fs_doubt(io, FS_UNKNOWN, "it is none that can be read");
	else if (!fs_kind_read(kind, io, NULL, NULL))
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
	const struct fs_kind *kind = fs_kind_named(type);

	if (!fs_names_open(&io, to))
		return ENOMEM;
	if (kind != NULL && kind->names != NULL)
		fs_kind_read(kind, &io, lost, to);
	to->more |= io.failed;
	if (to->n > 1)
		qsort((void *)to->name, to->n, sizeof(*to->name),
		    fs_names_order);
	fs_map_free(&m);
	return io.no_memory ? ENOMEM : 0;
}
