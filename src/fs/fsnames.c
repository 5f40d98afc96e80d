/*
 * The file systems whose files can be found.
 */
#include "fs/fsnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fskinds.h"

static const struct kind {
	const char	*type;		/* as for fs_map_read */
	bool		(*names)(struct fs_io *, const struct fs_extents *lost,
			    struct fs_names *);
} kinds[] = {
	{ "ext2", fs_names_ext },
	{ "ext3", fs_names_ext },
	{ "ext4", fs_names_ext },
	{ "xfs", fs_names_xfs },
	{ "btrfs", fs_names_btrfs },
	{ "ntfs", fs_names_ntfs },
	{ "vfat", fs_names_fat },
	{ "exfat", fs_names_exfat },
};

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
	size_t i;

	if (!fs_names_open(&io, to))
		return ENOMEM;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(type, kinds[i].type) == 0)
			to->known = kinds[i].names(&io, lost, to);
	to->more |= io.failed;
	if (to->n > 1)
		qsort((void *)to->name, to->n, sizeof(*to->name),
		    fs_names_order);
	fs_map_free(&m);
	return io.poor ? ENOMEM : 0;
}
