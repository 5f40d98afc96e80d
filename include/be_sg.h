/*
 * The inside of the SCSI backend, which be_sg.c and be_sg_async.c share.
 */
#ifndef PARDD_BE_SG_H
#define PARDD_BE_SG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoint.h"
#include "scsi.h"

struct sg {			/* an endpoint's priv */
	int		 fd;		/* for everything but the data */
	enum scsi_node	 node;
	struct scsi_disk disk;
	struct scsi_command how;	/* what all commands have in common */
	bool		 shared;	/* O_EXCL: no second descriptor */
	atomic_uint	 most;		/* blocks of a command */
	atomic_bool	 no_same;	/* it does not know WRITE SAME */
	atomic_bool	 changed;	/* another medium: send nothing more */
	atomic_uint	 shrunk, recovered, again, indirect;	/* counts */
};

struct sg_lane {		/* a lane's priv */
	int		 fd;		/* for commands that are waited for */
	unsigned char	*map;		/* the reserved buffer, or NULL */
	size_t		 map_len;
	unsigned char	*bounce;	/* for what is not whole blocks */
	struct sg_async	*async;		/* or NULL: all are waited for */
};

/*
 * Whether its command, which has not done what it should, is to be run again.
 * One of the target that is told of an earlier failure is not, nor, without
 * FUA, after the disk was off: what was written before is lost.
 */
bool sg_passes(const struct endpoint *, const struct io *,
    const struct scsi_reply *);

/* Put into the io why its command failed; fd leads to the disk. */
void sg_give_up(struct sg *, struct io *, const struct scsi_reply *, int fd);

/*
 * Say in the endpoint, which is open, whether its commands can be left to
 * themselves: why not (waits), or how many at a time and how large.
 */
void sg_async_offer(struct endpoint *);

/*
 * What a lane needs for that: its own descriptor, and room for the commands.
 * Opening returns an errno, and then *async is NULL.  NULL may be closed.
 */
int sg_async_open(const struct endpoint *, struct sg_async **async);
void sg_async_close(struct sg_async *);

/* The backend's submit and reap, see endpoint.h. */
struct io_uring_sqe;
bool sg_submit(struct lane *, struct io *, struct io_uring_sqe *sqe);
enum reaped sg_reap(struct lane *, struct io *, int result);

#endif
