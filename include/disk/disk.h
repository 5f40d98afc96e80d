/*
 * What a disk is, as sysfs tells.  Needs neither udev nor any open device.
 */
#ifndef PARDD_DISK_H
#define PARDD_DISK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct disk {
	dev_t	 node;		/* of the block node; 0: there is none */
	dev_t	 whole;		/* of the disk that it is, or is a part of */
	int	 partition;	/* its number; 0: a whole disk */
	uint64_t start, length;	/* bytes; where it lies on the whole disk */
	uint32_t logical, physical;	/* bytes, blocks of the disk */
	bool	 rotates, removable;
	char	 name[256], whole_name[256];	/* sda1, sda */
	char	 vendor[32], model[64];	/* "" without */
	char	 serial[256], wwn[320];	/* whole, or "" */
	char	 transport[16];	/* ata, usb, nvme, virtio, loop ... or "" */
	char	 sg[256], bsg[256];	/* its SCSI nodes' names, or "" */
	char	 ng[32];	/* its NVMe generic node's name, or "" */
	dev_t	 ng_node;
	char	 backing[PATH_MAX];	/* of a loop device, else "" */
	uint64_t backing_off;	/* bytes */
	int	 err;		/* errno: what nodes, places and sizes could not
				 * be read, so none of that is known; or 0 */
};

struct disk_part {
	dev_t	 node;
	int	 number;
	uint64_t start, length;	/* bytes on the disk */
	char	 name[256];
};

/*
 * Describe the disk behind a block node, or behind a SCSI or NVMe node (sg,
 * bsg, ng), whose block sibling may be missing (node 0).  Strings are as they
 * come, blanks at their ends removed; vendor and model are cut to size.  False
 * when sysfs knows nothing; then ->err says why.
 */
bool disk_of_block(dev_t node, struct disk *);
bool disk_of_char(dev_t node, struct disk *);

/*
 * What two nodes of one disk have in common, the paths to it by two adapters,
 * and no other disk: a digest of serial number, WWN and size.  0: it has no
 * WWN, or is no whole disk.
 */
uint64_t disk_id(const struct disk *);

/*
 * The other nodes of a whole disk by that, and those that are called the same
 * and do not tell: n of them; *node is malloc'ed and the caller's (NULL for
 * none).  Returns an errno, and then there are none.
 */
int disk_paths(const struct disk *, dev_t **node, size_t *n);

/*
 * Look for a disk with the same serial number and the same WWN, among those
 * that the kernel has in service.  Returns how many there are; *d is the last,
 * described as a whole.
 */
size_t disk_find(const struct disk *like, struct disk *d);

/*
 * How a disk is zoned, host-managed or host-aware, by the block node of the
 * disk or of a partition; false and "" for one that is not.
 */
bool disk_zoned(dev_t node, char *model, size_t room);

/*
 * Whether the kernel has taken the disk of a node, a block node or a SCSI one,
 * out of service.
 */
bool disk_lost(dev_t node, bool block);

/*
 * Whether the block device that is open as fd is not there any more.  One that
 * was taken away answers with EIO for all its blocks, maybe before it has no
 * size any more; then it answers as at its end.
 */
bool disk_gone(int fd);

/*
 * The n partitions of a whole disk that the kernel knows, in order; *parts is
 * malloc'ed and the caller's (NULL for none).  Returns an errno, and then there
 * are none.
 */
int disk_parts(dev_t whole, struct disk_part **parts, size_t *n);

/*
 * Write back what the page cache of a block node holds, without a flush of the
 * disk: by a descriptor of it, or of all nodes that a disk has, the partitions
 * too, where they can be opened.  An error is that of who wrote it.
 */
void disk_settle(int fd);
void disk_settle_all(const struct disk *);

/*
 * What a dm or md device is made of: n devices.  Returns an errno; E2BIG for
 * more of them than there is room.
 */
int disk_slaves(dev_t node, dev_t *slave, size_t room, size_t *n);

/*
 * What a loop device (loop3) lies on, as the device itself says: the name that
 * sysfs has may be that of another file here, below another mount or in another
 * namespace.  Where the device cannot be asked, the file of that name, if
 * backing is not NULL.  Of *st the device, the inode, the type and, of a block
 * device, the node are set.  Returns an errno; ENXIO: on nothing, or on a file
 * whose file system does not answer any more, so that it is no disk, nor one
 * that could be written.
 */
int disk_backing(const char *loop, const char *backing, struct stat *st);

/*
 * The nodes of all n loop devices, in use or not; *node is malloc'ed and the
 * caller's (NULL for none).  Returns an errno, and then there are none.
 */
int disk_loops(dev_t **node, size_t *n);

/*
 * The name below /dev/disk/by-id that leads to the node, without the folder;
 * "" when there is none.
 */
void disk_by_id(dev_t node, char *name, size_t room);

/*
 * Whether this is what the disk is called, and by what: its WWN (with or
 * without naa., eui. or 0x), its serial number, or a by-id name of it or of its
 * partition.
 */
enum disk_name { NAME_OTHER, NAME_WWN, NAME_SERIAL, NAME_LINK };
enum disk_name disk_is(const struct disk *, const char *called);

/*
 * Whether another disk in service is called the same, and one of them: the
 * namespaces of a controller have one serial number, and cheap adapters all the
 * same names.  Another path to this one is none.
 */
bool disk_namesake(const struct disk *, enum disk_name by, struct disk *other);

/* A device number's node below /dev; false when it is another's or missing. */
bool disk_path(dev_t node, const char *name, char *path, size_t room);

#endif
