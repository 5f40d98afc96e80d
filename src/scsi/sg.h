/*
 * A SCSI disk as an end, as sg.c and its sister files share it.
 */
#ifndef PARDD_SG_H
#define PARDD_SG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/disk.h"
#include "end/backend.h"
#include "scsi/scsi.h"

enum {
	FEW_TRIES = 2,		/* retries, if the disk aborts by itself */

	ILLEGAL_REQUEST = 5,	/* statuses of sg3_utils */
	UNIT_ATTENTION = 6,
	ABORTED_COMMAND = 11,
	OUT_OF_RANGE = 22,
	BUSY = 26,
	TASK_SET_FULL = 27,
};

struct scsi_identity {		/* sums; 0: the disk does not say */
	uint64_t serial, names;
};

struct sg {			/* priv of an endpoint */
	struct scsi_path path;		/* for all commands but transfers */
	struct scsi_disk disk;
	struct scsi_identity identity;	/* when it was opened */
	struct scsi_command how;	/* template of all commands */
	bool		 shared;	/* O_EXCL: one descriptor for all */
	atomic_bool	 changed;	/* the medium changed: send no more */
	atomic_uint	 writes;	/* writes without FUA, possibly
					 * executed */
	struct sg	*target;	/* the target that this reads back, or
					 * NULL */
	atomic_bool	 aborts;	/* it aborts reads that fail */
	atomic_uint	 recovered, again, indirect;	/* counts */
};

struct sg_lane {		/* priv of a lane */
	struct scsi_path path;		/* for commands that are waited for */
	unsigned char	*map;		/* reserved buffer, or NULL */
	size_t		 map_len;
	struct sg_async	*async;		/* NULL: all commands are waited for */
};

/* Record that a command is about to be sent, and its result. */
void sg_sends(struct sg *, const struct scsi_command *);
void sg_sent(struct sg *, const struct scsi_command *,
    const struct scsi_reply *);

/* The command for the rest of an io, with buf. */
struct scsi_command sg_compose(const struct lane *, const struct io *,
    unsigned char *buf);

/*
 * The template of all commands; and the properties of the endpoint, except its
 * depth, once the disk was queried.
 */
struct scsi_command sg_common(const struct endpoint *,
    const struct scsi_disk *);
void sg_fill_in(struct endpoint *);

/* Fail if another disk answers by now, as in struct backend. */
int sg_check_kept(const struct endpoint *, uint64_t from, uint64_t to,
    uint64_t most, struct fault *);

/* Functions of struct backend that only need the path, of any kind. */
void sg_transfer(struct lane *, struct io *);
int sg_extent(const struct endpoint *, uint64_t off, bool changed,
    struct extent *);
int sg_flush(struct endpoint *, struct fault *);
int sg_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *);
void sg_note(const struct endpoint *, char *text, size_t room);
int sg_close(struct endpoint *);

/* Conclude a command of an io by the reply to it. */
void sg_end(struct lane *, struct io *, const struct scsi_reply *);

/*
 * The identity of a SCSI disk, as the disk itself reports it.
 */

/*
 * Fill in vendor, model, serial number and WWN in the form that sysfs has; ""
 * if the disk does not say.
 */
void scsi_identify(const struct scsi_path *, struct disk *);

/* Ask the disk for its serial number and its designators (VPD 80h, 83h). */
struct scsi_identity scsi_identity(const struct scsi_path *);

/* Whether it reports to be write protected (MODE SENSE, SPC-5 7.5.6). */
bool scsi_protected(const struct scsi_path *);

/*
 * How many initiators have registered a reservation key (PERSISTENT RESERVE IN,
 * SPC-5 6.16.2).
 */
unsigned scsi_registered(const struct scsi_path *);

#endif
