/*
 * One SCSI command to a node, and what its answer means.  Knows three ways to
 * a disk: an sg node and a block node (struct sg_io_hdr), a bsg node (struct
 * sg_io_v4).
 */
#ifndef PARDD_SCSI_H
#define PARDD_SCSI_H

#include <scsi/sg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum scsi_node { SCSI_SG, SCSI_BSG, SCSI_BLOCK };

enum scsi_result {
	SCSI_MOVED,	/* data moved; maybe not all of it, see moved */
	SCSI_AGAIN,	/* nothing wrong with the disk: try again */
	SCSI_SMALLER,	/* the host takes no command of this size */
	SCSI_MEDIUM,	/* a block cannot be read or written */
	SCSI_EARLIER,	/* an earlier command failed; this one was not run */
	SCSI_CHANGED,	/* another medium, or none: not the one of before */
	SCSI_FATAL,
};

struct scsi_command {		/* READ, WRITE, WRITE SAME of whole blocks */
	const unsigned char *cdb;	/* NULL, or another one that reads: */
					/* cdb_size bytes */
	bool		 write;
	bool		 same;		/* buf is one block, written to all */
	bool		 unmap;		/* same: the disk may free them */
	bool		 fua, dpo;	/* SBC-4 5.16; not with cdb_size 6 */
	bool		 direct;	/* SG_FLAG_DIRECT_IO */
	bool		 mmap;		/* SG_FLAG_MMAP_IO: buf is not used */
	unsigned	 cdb_size;	/* 6, 10, 12, 16; made larger at need */
	unsigned	 timeout;	/* ms */
	uint64_t	 lba;
	uint32_t	 blocks;
	uint32_t	 block;		/* bytes of one */
	void		*buf;		/* the caller's, blocks * block bytes */
};

struct scsi_reply {
	enum scsi_result result;
	size_t		 moved;		/* bytes, whole blocks */
	int		 status;	/* exit status it stands for, if not */
	int		 err;		/* an errno of the kernel's, 0: none */
	bool		 unknown;	/* the disk takes no such command */
	bool		 restarted;	/* its power may have been off: what it
					 * had in its cache is lost */
	bool		 recovered;	/* good, after the disk's own trouble */
	bool		 indirect;	/* direct was wanted, and not done */
	bool		 has_info;	/* the sense names a block: */
	uint64_t	 info;		/* (not to be believed unchecked) */
	char		 why[132];	/* in words: shorter than io.why */
};

enum {
	SCSI_SENSE = 64,	/* bytes of sense data that are looked at */
	SCSI_FLIGHTS = 16,	/* of an sg descriptor: Linux' SG_MAX_QUEUE */
	SCSI_TRIES = 10,	/* more, for what passes by itself */
};

struct scsi_flight {		/* a command that is not waited for */
	struct scsi_command command;
	struct sg_io_hdr header;	/* scsi.c's, with the rest */
	unsigned char	 cdb[16];
	unsigned char	 sense[SCSI_SENSE];
};

struct scsi_disk {		/* what a disk says of itself */
	uint64_t	 blocks;
	uint32_t	 block;		/* bytes, logical */
	uint32_t	 most;		/* blocks of a command; 0: no limit */
	uint32_t	 same_most;	/* of WRITE SAME; 0: it may not do it */
	bool		 zeros;		/* what is not mapped reads as zeros */
	bool		 frees_zeros;	/* by WRITE SAME; they read as zeros */
	int		 type;		/* device type, SPC-5 6.7.2 */
};

/* Which of them fd leads to. */
enum scsi_node scsi_node_of(int fd);

/*
 * Send a command that reads, or moves nothing: cdb, of len bytes; again what
 * passes by itself.  True with the answer in buf, r->moved bytes of room, and
 * zeros behind; false with the reply.  timeout in ms.
 */
bool scsi_query(int fd, unsigned timeout, const unsigned char *cdb,
    unsigned len, void *buf, size_t room, struct scsi_reply *r);

/*
 * Ask the disk behind fd: INQUIRY, TEST UNIT READY, READ CAPACITY 10 and 16,
 * VPD pages B0h and B2h.  Waits out unit attentions, of a medium that was just
 * put in, too.  timeout is that of each command, in ms; name is for messages.
 * Returns 0, or -1 with *f: not a disk, not ready, no capacity.
 */
int scsi_ask(int fd, unsigned timeout, const char *name, struct scsi_disk *,
    struct fault *f);

/* Run one command and judge the answer.  Never retries. */
void scsi_run(int fd, enum scsi_node, const struct scsi_command *,
    struct scsi_reply *);

/*
 * The same in two steps, for sg nodes.  A descriptor is made fit for it once:
 * it must be open for writing, whatever the commands do, and with O_NONBLOCK.
 * Returns an errno.
 */
int scsi_prepare(int fd);

/*
 * Send the flight's command.  id, not negative, is another one for each flight
 * of a descriptor.  Returns an errno: EDOM when SCSI_FLIGHTS are under way,
 * what scsi_run would have judged otherwise; nothing is under way then.  Else
 * the flight and the command's buffer are the kernel's until the answer has
 * been taken, or the descriptor is closed.
 */
int scsi_send(int fd, struct scsi_flight *, int id);

/*
 * Take the answer to it, and judge that as scsi_run does.  Returns 0, or EAGAIN
 * when there is none yet.
 */
int scsi_take(int fd, struct scsi_flight *, struct scsi_reply *);

/*
 * SYNCHRONIZE CACHE (SBC-4 5.28).  True also for a disk that has no such
 * command; false with the reply that says why.  cached: there may be something
 * in its cache, which is not flushed by a disk that began anew.
 */
bool scsi_sync(int fd, unsigned timeout, bool cached, struct scsi_reply *);

struct scsi_span {		/* blocks that are alike */
	uint64_t	 blocks;
	bool		 mapped;	/* else they read as zeros */
};

/*
 * GET LBA STATUS (16): what lies at lba, and how far it goes at least.  Gaps of
 * fewer than "least" blocks count as mapped.  Returns SCSI_MOVED, or what is
 * wrong where the disk does not tell.
 */
enum scsi_result scsi_mapped(int fd, unsigned timeout, uint64_t lba,
    uint64_t least, struct scsi_span *);

/* Sleep before the next try: 2, 4, 8 ... ms, half a second at most. */
void scsi_pause(int tries);

#endif
