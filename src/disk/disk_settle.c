/*
 * Writing back the page caches of a disk's nodes.
 */
#include "disk/disk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void
disk_settle(int fd)
{
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
	    SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static void
settle_node(dev_t node, const char *name)
{
	char path[300];
	int fd = disk_path(node, name, path, sizeof(path)) ?
	    open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	disk_settle(fd);
	close(fd);
}

void
disk_settle_all(const struct disk *d)
{
	struct disk_part *part;
	size_t n, i;

	settle_node(d->whole, d->whole_name);
	if (disk_parts(d->whole, &part, &n) != 0)
		return;
	for (i = 0; i < n; i++)
		settle_node(part[i].node, part[i].name);
	free(part);
}
