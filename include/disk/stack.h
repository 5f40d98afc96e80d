/*
 * Where bytes lie: those of a device or a file, and everything below it, from
 * the top down.  This is the only place that knows how devices and files are
 * stacked; what follows from that is up to who asks.
 */
#ifndef PARDD_STACK_H
#define PARDD_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "disk/disk.h"
#include "disk/filesystem.h"

enum stack_step {		/* what a place is to the one above it */
	STACK_TOP,		/* none is above it: it was asked for */
	STACK_DISK,		/* the disk of a partition */
	STACK_BACKING,		/* the file or device of a loop device */
	STACK_MEMBER,		/* of a dm or md device */
	STACK_LAYER,		/* the same file in a layer of an overlay */
	STACK_HOST,		/* a disk of the file system of a file */
};

/* What is looked up besides.  A name may hang on a server that is dead. */
enum stack_how {
	STACK_TABLES = 1,	/* which bytes of its members a dm device has */
	STACK_HOSTS = 2,	/* the disk whose number a file has, */
	STACK_NAMES = 4,	/* or its disks, and layers, by its name */
	STACK_IDS = 8,		/* which disk has other paths */
};

struct stack_place {
	dev_t		dev;	/* 0: a member that has no node any more */
	ino_t		ino;	/* 0: the device itself */
	uint64_t	from, to;	/* bytes; to is exclusive */
	uint64_t	id;	/* of a whole disk, see disk_id; or 0 */
	int		err;	/* what is below it is not (all) known */
	unsigned short	above;	/* the place that lies on this one */
	unsigned char	step;
	bool		somewhere;	/* somewhere in this range; else all of
					 * it, or any part */
	unsigned char	mark;	/* of who asks; 0 at first */
};

enum {
	STACK_FEW = 6,
	STACK_MOST = 1024,	/* a ring has as many */
};

struct stack {			/* is not copied: "at" may point into it */
	struct stack_place *at;
	size_t		n, room;
	struct stack_place few[STACK_FEW];	/* most have no more */
	unsigned	how;
	int		err;	/* errno value: there may be more places, */
	dev_t		dev;	/* because this device could not be examined */
	bool		silent;	/* the file of a loop device does not answer,
				 * and is left out */
};

/*
 * Whether the device, or the disk it is part of, lies on other devices or on a
 * file: quickly.
 */
bool stack_any(dev_t node);

/* Begin with no place; stack_end frees what has been added. */
void stack_begin(struct stack *, unsigned how);
void stack_end(struct stack *);

/* Add one, say the top, or another name of it. */
void stack_add(struct stack *, struct stack_place);

/* Add the disks of the file system of the last one, a file; see STACK_HOSTS. */
void stack_add_hosts(struct stack *, const struct located *);

/* Note that a device cannot be examined. */
void stack_not_seen(struct stack *, dev_t, int err);

/* Add everything below the places so far. */
void stack_down(struct stack *);

/*
 * What is called for each who lies on a place too, until it returns something
 * other than 0.  err: an errno value, if that one could not be examined, or
 * (NULL) the list of all.
 */
typedef int stack_each(const struct disk *, uint64_t start, int err, void *arg);

/*
 * The loop devices, except "but", on the file or the whole disk of a place,
 * whatever their names for it; their byte 0 is "start" there.  Returns what fn
 * returned last.
 */
int stack_loops(const struct stack_place *, dev_t but, stack_each *fn,
    void *arg);

/*
 * The same for the dm devices, except "but", with bytes of the range of a
 * place; if their tables do not say which bytes, they may have.
 */
int stack_holders(const struct stack_place *, dev_t but, stack_each *fn,
    void *arg);

/*
 * Whether two have bytes in common: of one file or device, or by two paths to
 * one disk.  What is somewhere on a disk leaves room for others, such as
 * logical volumes.  If one lies above the other, it meets it on its way down.
 */
bool stack_meet(const struct stack *, const struct stack *);

/*
 * What a device mapper device consists of, in simple cases.
 */

struct dm_piece {		/* bytes */
	uint64_t start, length;	/* this range of the device */
	dev_t	 node;		/* lies on this node, */
	uint64_t off;		/* from here on */
};

/*
 * Get the pieces of a device of linear targets, as logical volumes usually are.
 * With striped ones among them these are only ranges of other nodes, from off
 * on, without regard to which of its bytes are where.  Returns 0 or an errno
 * value: ENOTSUP for other targets, E2BIG if there are more than "room".
 */
int dm_pieces(dev_t node, struct dm_piece *, size_t room, size_t *n,
    bool *striped);

/*
 * Get where the encrypted bytes of a device lie that consists of crypt targets,
 * each sector in its place, and perhaps of zeros, whose node is 0.  Returns 0
 * or an errno value: ENOTSUP for others, or while it is suspended: who reads it
 * would wait.  *n pieces were seen even so.
 */
int dm_crypt(dev_t node, struct dm_piece *, size_t room, size_t *n);

#endif
