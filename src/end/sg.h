/*
 * The inside of the SCSI backend, which sg.c and its sisters share.
 */
#ifndef PARDD_SG_H
#define PARDD_SG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "end/scsi.h"

enum {
	FEW_TRIES = 2,		/* more, of what the disk aborts for good */

	ILLEGAL_REQUEST = 5,	/* statuses, of sg3_utils */
	UNIT_ATTENTION = 6,
	ABORTED_COMMAND = 11,
	OUT_OF_RANGE = 22,
	BUSY = 26,
	TASK_SET_FULL = 27,
};

struct sg {			/* an endpoint's priv */
	struct scsi_path path;		/* for everything but the data */
	struct scsi_disk disk;
	struct scsi_command how;	/* what all commands have in common */
	bool		 shared;	/* O_EXCL: no second descriptor */
	atomic_uint	 most;		/* blocks of a command */
	atomic_bool	 no_same;	/* it does not know WRITE SAME */
	atomic_bool	 changed;	/* another medium: send nothing more */
	atomic_uint	 writes;	/* run, maybe, and without FUA */
	struct sg	*target;	/* whom this one reads back, or NULL */
	atomic_bool	 aborts;	/* what it cannot read */
	atomic_uint_fast64_t good;	/* the last block read, or NOWHERE */
	atomic_uint	 shrunk, recovered, again, indirect;	/* counts */
};

enum {
	SG_BOUNCE = 64 << 10,	/* bytes, for reads of parts of blocks */
};

struct sg_lane {		/* a lane's priv */
	struct scsi_path path;		/* for commands that are waited for */
	unsigned char	*map;		/* the reserved buffer, or NULL */
	size_t		 map_len;
	unsigned char	*bounce;	/* SG_BOUNCE bytes, page aligned */
	struct sg_async	*async;		/* or NULL: all are waited for */
};

/* Note a command that is going to be sent, and what came of it. */
void sg_sends(struct sg *, const struct scsi_command *);
void sg_sent(struct sg *, const struct scsi_command *,
    const struct scsi_reply *);

/*
 * Whether its command, which has not done what it should, is to be run again.
 * One of the target that is told of an earlier failure is not, nor, after
 * writes without FUA, when the disk began anew: what was written is lost.
 */
bool sg_passes(const struct endpoint *, const struct io *,
    const struct scsi_reply *);

/* Put into the io why its command failed for good. */
void sg_give_up(const struct lane *, struct io *, const struct scsi_reply *);

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

/* The command for an io at lba, to or from buf, but for how many blocks. */
struct scsi_command sg_compose(const struct lane *, const struct io *,
    unsigned char *buf, uint64_t lba);

/* Run it once, and count what the user may want to know. */
void sg_run(const struct lane *, const struct scsi_command *,
    struct scsi_reply *);

/*
 * A medium that is not that of before, and what it has to say, which only one
 * command is told.  Nothing must be sent to it any more, and those of other
 * lanes fail likewise.
 */
void sg_change(struct sg *, struct io *, const char *why);

/*
 * What all commands have in common; what the endpoint is, of whose disk all is
 * known (not its depth).
 */
struct scsi_command sg_common(const struct endpoint *,
    const struct scsi_disk *);
void sg_fill_in(struct endpoint *);

/* sg_open.c: the slots of the backend that open an sg, bsg or block node. */
int sg_open(struct endpoint *, bool look, struct fault *);
int sg_prepare(struct endpoint *, int64_t length, struct fault *);
int sg_attach(struct lane *);
int sg_detach(struct lane *);

/* Those of the backend that go by the path alone, whatever that is. */
void sg_transfer(struct lane *, struct io *);
int sg_extent(const struct endpoint *, uint64_t off, struct extent *);
int sg_flush(struct endpoint *, struct fault *);
void sg_probe(struct endpoint *, struct io *);
int sg_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *);
void sg_note(const struct endpoint *, char *text, size_t room);
int sg_close(struct endpoint *);

/* Whether an io that has a buffer is whole blocks, all of them on the disk. */
bool sg_fits(const struct sg *, const struct io *);

/*
 * What came of the last command of an io, which was noted: what that has not
 * done is done by others, which are waited for, unless it has failed.
 */
void sg_end(struct lane *, struct io *, const struct scsi_reply *);

/* Those of the backend for what is not waited for; */
bool sg_start(struct lane *, struct io *);
int sg_pollfd(struct lane *, short *events);
void sg_service(struct lane *);

/* and what came of the last command of an io that is over. */
void sg_take(struct lane *, struct io *, struct scsi_reply *);

#endif
