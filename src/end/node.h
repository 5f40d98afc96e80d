/*
 * The node of a disk that is reached by its commands, SCSI or NVMe: what the
 * kernel says there of the disk.
 */
#ifndef PARDD_NODE_H
#define PARDD_NODE_H

#include <stdbool.h>

#include "end/endpoint.h"

/*
 * The folder of its block node in sysfs, for the caller to close; -1 if it has
 * no such node, or there is no sysfs.
 */
int node_folder(const struct endpoint *);

/* Whether its block node takes no writes (blockdev --setro). */
bool node_read_only(const struct endpoint *);

/*
 * Write back what the page cache holds of its block nodes, and of those that
 * the disk has by other paths: commands read what is on the disk.  Of a disk
 * that has no node here as an end, the kernel may have nodes all the same.
 */
struct disk;
void node_settle(const struct endpoint *);
void node_settle_paths(const struct disk *);

/*
 * Whether the kernel has taken the disk that is open as fd out of service.  A
 * disk that is being taken away fails its last commands in many ways.
 */
bool node_lost(int fd);

#endif
