/*
 * Swap: only its header matters, unless a hibernation image lies in it.  Linux,
 * include/linux/swap.h (union swap_header): the magic is at the end of the
 * first page, whose size depends on the machine.  A hibernation image replaces
 * the magic with its own (kernel/power/swap.c: "S1SUSPEND"; others: systemd,
 * TuxOnIce, uswsusp).
 */
#include <string.h>

#include "fsread.h"

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

bool
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
