/*
 * The block node of a disk that is reached by SCSI or NVMe commands.
 */
#include "end/backend.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/disk.h"
#include "disk/sysfs.h"

static bool
has_block_node(const struct endpoint *ep)
{
	return ep->id.known && ep->id.ino == 0;
}

int
node_dir(const struct endpoint *ep)
{
	return has_block_node(ep) ? sysfs_open("block", ep->id.dev) : -1;
}

bool
node_read_only(const struct endpoint *ep)
{
	int dir = node_dir(ep);
	bool is = dir >= 0 && sysfs_number(dir, "ro") != 0;

	if (dir >= 0)
		close(dir);
	return is;
}

void
node_settle_paths(const struct disk *d)
{
	struct disk other;
	dev_t *node;
	size_t i;

	if (d->wwn[0] == '\0' || disk_paths(d, &node) != 0)
		return;
	for (i = 0; node[i] != 0; i++)
		if (disk_of_block(node[i], &other))
			disk_settle_all(&other);
	free(node);
}

void
node_settle(const struct endpoint *ep)
{
	struct disk d;

	if (!has_block_node(ep) || !disk_of_block(ep->id.dev, &d))
		return;
	disk_settle_all(&d);
	node_settle_paths(&d);
}

bool
node_lost(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && disk_lost(st.st_rdev,
	    S_ISBLK(st.st_mode));
}
