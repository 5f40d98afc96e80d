/*
 * One SCSI command to a disk, and what its answer means.  Knows four ways
 * there: an sg node and a block node (struct sg_io_hdr), a bsg node (struct
 * sg_io_v4), and a function that carries commands and answers.
 */
#ifndef PARDD_SCSI_H
#define PARDD_SCSI_H

#include <scsi/sg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum scsi_node { SCSI_SG, SCSI_BSG, SCSI_BLOCK, SCSI_CARRIED };

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

	SCSI_TIMED_OUT = 0x03,	/* of the host, as Linux has them */
};

struct scsi_answer {		/* by whatever way: as it came */
	unsigned	 device, host, driver;	/* status bytes */
	unsigned char	 sense[SCSI_SENSE];
	unsigned	 sense_len;
	int64_t		 residual;
	bool		 direct;
};

/* Send a command and wait for its answer; an errno if there is none. */
typedef int scsi_carry(void *to, const struct scsi_command *,
    struct scsi_answer *);

struct scsi_path {		/* the way to a disk */
	unsigned	 timeout;	/* ms, of a question to it */
	int		 fd;		/* of a node, the owner's; or -1 and */
	enum scsi_node	 node;		/* SCSI_CARRIED: */
	scsi_carry	*carry;
	void		*to;		/* carry's */
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

/* The way by a node that is open as fd; timeout in ms. */
struct scsi_path scsi_path(int fd, unsigned timeout);

/*
 * Send a command that reads, or moves nothing: cdb, of len bytes; again what
 * passes by itself.  True with the answer in buf, r->moved bytes of room, and
 * zeros behind; false with the reply.
 */
bool scsi_query(const struct scsi_path *, const unsigned char *cdb,
    unsigned len, void *buf, size_t room, struct scsi_reply *r);

/*
 * Ask the disk: INQUIRY, TEST UNIT READY, READ CAPACITY 10 and 16,
 * VPD pages B0h and B2h.  Waits out unit attentions, of a medium that was just
 * put in, too.  name is for messages.
 * Returns 0, or -1 with *f: not a disk, not ready, no capacity.
 */
int scsi_ask(const struct scsi_path *, const char *name, struct scsi_disk *,
    struct fault *f);

/* Run one command and judge the answer.  Never retries. */
void scsi_run(const struct scsi_path *, const struct scsi_command *,
    struct scsi_reply *);

/*
 * For who carries commands: the CDB, which has room for 16 bytes, and its
 * length; the bytes that go with it; what an answer, or an errno in place of
 * one, means.
 */
unsigned scsi_cdb(unsigned char *cdb, const struct scsi_command *);
uint32_t scsi_data_length(const struct scsi_command *);
void scsi_judge(struct scsi_reply *, enum scsi_node,
    const struct scsi_command *, int err, const struct scsi_answer *);

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
bool scsi_sync(const struct scsi_path *, bool cached, struct scsi_reply *);

struct scsi_span {		/* blocks that are alike */
	uint64_t	 blocks;
	bool		 mapped;	/* else they read as zeros */
};

/*
 * GET LBA STATUS (16): what lies at lba, and how far it goes at least.  Gaps of
 * fewer than "least" blocks count as mapped.  Returns SCSI_MOVED, or what is
 * wrong where the disk does not tell.
 */
enum scsi_result scsi_mapped(const struct scsi_path *, uint64_t lba,
    uint64_t least, struct scsi_span *);

/* Sleep before the next try: 2, 4, 8 ... ms, half a second at most. */
void scsi_pause(int tries);

#endif
