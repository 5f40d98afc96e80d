/*
 * Describing disks by sysfs, without udev, and without opening them.
 */
#ifndef PARDD_DISK_H
#define PARDD_DISK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/fault.h"

struct disk {
	dev_t	 node;		/* the block node; 0: there is none */
	dev_t	 whole;		/* the whole disk */
	int	 partition;	/* number; 0: a whole disk */
	uint64_t start, length;	/* bytes; position on the whole disk */
	uint32_t logical, physical;	/* block sizes in bytes */
	bool	 rotates, removable;
	bool	 discards;	/* blocks can be freed */
	char	 name[256], whole_name[256];	/* sda1, sda */
	char	 vendor[32], model[64];	/* "" if unknown */
	char	 serial[256], wwn[320];	/* untruncated, or "" */
	char	 transport[16];	/* ata, usb, nvme, virtio, loop ... or "" */
	char	 sg[256], bsg[256];	/* names of its SCSI nodes, or "" */
	char	 ng[32];	/* name of its NVMe generic node, or "" */
	dev_t	 ng_node;
	char	 backing[PATH_MAX];	/* of a loop device, else "" */
	uint64_t backing_off;	/* bytes */
	int	 err;		/* errno value: some nodes, positions and sizes
				 * could not be read, so all are unknown; or
				 * 0 */
};

struct disk_part {
	dev_t	 node;
	int	 number;
	uint64_t start, length;	/* bytes on the disk */
	char	 name[256];
};

/*
 * Describe the disk behind a block node; or behind a SCSI or NVMe node (sg,
 * bsg, ng), whose block node may be missing (node 0).  Strings are as the disk
 * has them, without blanks at their ends; vendor and model are truncated.
 * Returns false if sysfs does not know the disk; then ->err says why.
 */
bool disk_of_block(dev_t node, struct disk *);
bool disk_of_char(dev_t node, struct disk *);

/*
 * The same for a block node, faster, and only where it is and what it lies on:
 * nodes, partition, start, length, names, backing and backing_off.
 */
bool disk_place(dev_t node, struct disk *);

/*
 * An id that all nodes and paths of one disk share, and no other disk: a digest
 * of serial number, WWN and size. 0 if it has no WWN, or is not a whole disk.
 */
uint64_t disk_id(const struct disk *);

/*
 * Find the other nodes of a whole disk by its id, and those of the same name
 * whose id is unknown.  *node is malloc'ed and ends with a 0; the caller frees
 * it.  Returns 0, or an errno value and NULL.
 */
int disk_paths(const struct disk *, dev_t **node);

/*
 * Look for a disk with the same serial number and WWN among those in service.
 * Returns how many there are; *d describes the last one as a whole disk.
 */
size_t disk_find(const struct disk *like, struct disk *d);

/*
 * Whether a disk is zoned, by its block node or that of a partition; "model" is
 * host-managed, host-aware or "".
 */
bool disk_zoned(dev_t node, char *model, size_t room);

/*
 * How many zones of a zoned disk, by its block node, may be open at a time, and
 * how many active: open, or closed and partly written.  UINT_MAX: any number.
 */
struct zone_limits {
	unsigned open, active;
};
struct zone_limits disk_zone_limits(dev_t node);

/*
 * Whether the kernel has taken the disk of a node, block or SCSI, out of
 * service.
 */
bool disk_lost(dev_t node, bool block);

/*
 * Whether the block device behind fd has gone.  A device that was removed fails
 * all reads with EIO, perhaps before its size becomes 0; from then on it
 * behaves as if it ended.
 */
bool disk_gone(int fd);

/*
 * List the n partitions of a whole disk that the kernel knows, in order; *parts
 * is malloc'ed, the caller frees it (NULL if none).  Returns 0, or an errno
 * value and none.
 */
int disk_parts(dev_t whole, struct disk_part **parts, size_t *n);

/*
 * Write back the page cache of a block node, without flushing the disk: of a
 * descriptor, or of all other nodes of a disk or partition that have its bytes
 * and can be opened.  Errors are left to those who wrote the data.
 */
void disk_settle(int fd);
void disk_settle_all(const struct disk *);

/*
 * List the n dm and md devices that a device is a member of.  Returns 0 or an
 * errno value; E2BIG if there are more than "room".
 */
int disk_holders(dev_t node, dev_t *holder, size_t room, size_t *n);

/*
 * Find what a loop device (loop3) lies on, by asking the device itself: the
 * name in sysfs may belong to another file here, below another mount or in
 * another namespace.  If the device cannot be asked, the file of that name is
 * taken, unless "backing" is NULL.  Sets device, inode, type, and the node of a
 * block device in *st, and S_IWUSR if the loop device may write.  Returns 0 or
 * an errno value; ENXIO if it lies on nothing, or on a file whose file system
 * no longer answers, so that it could not be read or written.
 */
int disk_backing(const char *loop, const char *backing, struct stat *st);

/*
 * The same, for any of all loop devices; ENXIO also if it is free, or is being
 * detached.
 */
int disk_medium(const char *loop, struct stat *st);

/*
 * Call fn with the name of each loop device that is not empty, until it returns
 * something other than 0.  Returns that value, which must be positive; or
 * -errno if they cannot be listed.
 */
int disk_each_loop(int (*fn)(const char *loop, void *arg), void *arg);

/*
 * The name below /dev/disk/by-id that leads to the node, without the directory;
 * "" if there is none.
 */
void disk_by_id(dev_t node, char *name, size_t room);

/*
 * Whether a disk is called this, and by which name: its WWN (with or without
 * naa., eui. or 0x), its serial number, or a by-id name of it or its partition.
 */
enum disk_name { NAME_OTHER, NAME_WWN, NAME_SERIAL, NAME_LINK };
enum disk_name disk_is(const struct disk *, const char *called);

/*
 * Find another disk in service with the same name of that kind.  The namespaces
 * of a controller share a serial number, and cheap adapters all have the same.
 * Another path to this disk does not count.
 */
bool disk_namesake(const struct disk *, enum disk_name by, struct disk *other);

/*
 * The path of a device number's node below /dev; false if it is missing or
 * belongs to another device.
 */
bool disk_path(dev_t node, const char *name, char *path, size_t room);

/*
 * --list: the disks of this machine, and what uses them.
 */

/*
 * Print a line for each disk, in columns or (json) as JSON objects: those that
 * the words of a command line name (up to NULL; what begins with - or has a =
 * names none), or all.  Opens no disk that is not named.  Returns 0, or -1 with
 * *f: without sysfs, such a disk, or memory.
 */
int list_print(FILE *, bool json, char *const word[], struct fault *f);

/*
 * The temperature of a disk.
 */

/*
 * Read the temperature of a whole disk, by its block node, in degrees Celsius.
 * Returns false if the kernel knows no sensor, or the sensor does not answer.
 * May take as long as a command to the disk.
 */
bool disk_temperature(dev_t whole, double *celsius);

#endif
