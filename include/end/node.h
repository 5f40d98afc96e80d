/*
 * The block node of a disk that is reached by SCSI or NVMe commands.
 */
#ifndef PARDD_NODE_H
#define PARDD_NODE_H

#include <stdbool.h>

#include "end/endpoint.h"

/*
 * Open the directory of its block node in sysfs; the caller closes it.  Returns
 * -1 if there is no such node, or no sysfs.
 */
int node_dir(const struct endpoint *);

/* Whether the block node is read-only (blockdev --setro). */
bool node_read_only(const struct endpoint *);

/*
 * Write back the page cache of its block nodes, also those of other paths to
 * the disk, because commands read the disk itself. node_settle_paths does so
 * for a disk that is reached without a node.
 */
struct disk;
void node_settle(const struct endpoint *);
void node_settle_paths(const struct disk *);

/*
 * Whether the kernel has taken the disk behind fd out of service.  Until then,
 * the last commands to a vanishing disk fail in various ways.
 */
bool node_lost(int fd);

#endif
