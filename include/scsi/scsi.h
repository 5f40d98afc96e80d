/*
 * One SCSI command to a disk, and the meaning of its answer.  Commands go to an
 * sg or a block node (struct sg_io_hdr), to a bsg node (struct sg_io_v4), or
 * through a function that carries them elsewhere.
 */
#ifndef PARDD_SCSI_H
#define PARDD_SCSI_H

#include <scsi/sg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/endpoint.h"

enum scsi_node { SCSI_SG, SCSI_BSG, SCSI_BLOCK, SCSI_CARRIED };

enum scsi_result {
	SCSI_MOVED,	/* data moved, perhaps not all: see moved */
	SCSI_AGAIN,	/* not the disk's fault: try again */
	SCSI_SMALLER,	/* too large for the host */
	SCSI_MEDIUM,	/* a block cannot be read or written */
	SCSI_EARLIER,	/* another command failed; this one did not run */
	SCSI_CHANGED,	/* the medium was changed or removed */
	SCSI_FATAL,
};

struct scsi_command {		/* READ, WRITE or WRITE SAME of whole blocks */
	const unsigned char *cdb;	/* NULL; or that of another command,
					 * which reads: cdb_size bytes */
	bool		 write;
	bool		 same;		/* WRITE SAME: buf is one block */
	bool		 unmap;		/* same: the disk may unmap */
	bool		 fua, dpo;	/* SBC-4 5.16; not with cdb_size 6 */
	bool		 direct;	/* SG_FLAG_DIRECT_IO */
	bool		 mmap;		/* SG_FLAG_MMAP_IO: buf is not used */
	unsigned	 cdb_size;	/* 6, 10, 12 or 16; enlarged if
					 * necessary */
	unsigned	 timeout;	/* ms */
	uint64_t	 lba;
	uint32_t	 blocks;
	uint32_t	 block;		/* bytes */
	void		*buf;		/* the caller's, blocks * block bytes */
};

struct scsi_reply {
	enum scsi_result result;
	size_t		 moved;		/* bytes, of whole blocks */
	int		 status;	/* exit status, unless that of err */
	int		 err;		/* errno value; 0: none */
	bool		 unknown;	/* the disk does not know the command */
	bool		 restarted;	/* it may have lost power, and with it
					 * its cache */
	bool		 renamed;	/* it may be another disk by now */
	bool		 recovered;	/* succeeded after an internal retry */
	bool		 indirect;	/* direct I/O was wanted, but not
					 * done */
	bool		 has_info;	/* the sense data names a block: */
	uint64_t	 info;		/* its LBA (check before use) */
	char		 why[132];	/* explanation; shorter than io.why */
};

enum {
	SCSI_SENSE = 64,	/* bytes of sense data */
	SCSI_FLIGHTS = 16,	/* per sg descriptor: SG_MAX_QUEUE of Linux */
	SCSI_TRIES = 10,	/* retries of a transient error */

	SCSI_TIMED_OUT = 0x03,	/* host status, as Linux defines it */
};

struct scsi_answer {		/* an answer as it arrived */
	unsigned	 device, host, driver;	/* status bytes */
	unsigned char	 sense[SCSI_SENSE];
	unsigned	 sense_len;
	int64_t		 residual;
	bool		 direct;
};

/* Send a command and wait for its answer.  Returns 0 or an errno value. */
typedef int scsi_carry(void *to, const struct scsi_command *,
    struct scsi_answer *);

struct scsi_path {		/* how to reach a disk */
	unsigned	 timeout;	/* ms, for each query */
	int		 fd;		/* a node, of the owner; or -1 and */
	enum scsi_node	 node;		/* SCSI_CARRIED: */
	scsi_carry	*carry;
	void		*to;		/* first argument of carry */
};

struct scsi_flight {		/* a command in flight */
	struct scsi_command command;
	struct sg_io_hdr header;	/* with the rest, used by scsi.c */
	unsigned char	 cdb[16];
	unsigned char	 sense[SCSI_SENSE];
};

struct scsi_disk {		/* properties of a disk */
	uint64_t	 blocks;
	uint32_t	 block;		/* bytes, logical block */
	uint32_t	 most;		/* blocks per command; 0: no limit */
	uint32_t	 same_most;	/* blocks per WRITE SAME; 0: not
					 * supported */
	bool		 zeros;		/* unmapped blocks read as zeros */
	bool		 frees_zeros;	/* WRITE SAME may unmap, still reads
					 * zeros */
	int		 type;		/* peripheral device type, SPC-5
					 * 6.7.2 */
};

/* The path through an open node; timeout in ms. */
struct scsi_path scsi_path(int fd, unsigned timeout);

/*
 * Send a command that reads data or moves none: a CDB of len bytes.  Transient
 * errors are retried.  Returns true with r->moved bytes in buf and zeros after
 * them, or false with the reply.
 */
bool scsi_query(const struct scsi_path *, const unsigned char *cdb,
    unsigned len, void *buf, size_t room, struct scsi_reply *r);

/*
 * Query the disk: INQUIRY, TEST UNIT READY, READ CAPACITY 10 and 16, VPD pages
 * B0h and B2h.  Waits for unit attentions to pass, also those of a medium just
 * inserted. name is for messages.  Returns 0, or -1 with *f: not a disk, not
 * ready, or no capacity.
 */
int scsi_ask(const struct scsi_path *, const char *name, struct scsi_disk *,
    struct fault *f);

/* Run one command and judge its answer.  Never retries. */
void scsi_run(const struct scsi_path *, const struct scsi_command *,
    struct scsi_reply *);

/*
 * For functions that carry commands. scsi_cdb fills in the CDB, of up to 16
 * bytes, and returns its length; scsi_data_length is the bytes of data that go
 * with it; scsi_judge judges an answer, or the errno value of a command without
 * one.
 */
unsigned scsi_cdb(unsigned char *cdb, const struct scsi_command *);
uint32_t scsi_data_length(const struct scsi_command *);
void scsi_judge(struct scsi_reply *, enum scsi_node,
    const struct scsi_command *, int err, const struct scsi_answer *);

/*
 * For sg nodes, the same without waiting: send the command of a flight, by a
 * descriptor that is open for writing, whatever the commands do, and has
 * SG_SET_FORCE_PACK_ID and O_NONBLOCK. id is not negative, and unique among the
 * flights of a descriptor.  Returns 0; the flight and the command's buffer are
 * then the kernel's until scsi_take has the answer or the descriptor is closed.
 * Otherwise an errno value, EDOM when SCSI_FLIGHTS are in flight already;
 * nothing was sent.
 */
int scsi_send(int fd, struct scsi_flight *, int id);

/*
 * Take the answer, and judge it as scsi_run does.  Returns 0, or EAGAIN if
 * there is none yet.
 */
int scsi_take(int fd, struct scsi_flight *, struct scsi_reply *);

/*
 * SYNCHRONIZE CACHE (SBC-4 5.28).  Returns true also for a disk without this
 * command; false with the reply. cached: its cache may hold our writes, so it
 * fails if the disk was restarted.
 */
bool scsi_sync(const struct scsi_path *, bool cached, struct scsi_reply *);

struct scsi_span {		/* a run of blocks */
	uint64_t	 blocks;
	bool		 mapped;	/* else they read as zeros */
};

/*
 * GET LBA STATUS (16): the state of the blocks from lba on, and of how many at
 * least.  Unmapped runs of fewer than "least" blocks count as mapped.  Returns
 * SCSI_MOVED, or the error if the disk does not say.
 */
enum scsi_result scsi_mapped(const struct scsi_path *, uint64_t lba,
    uint64_t least, struct scsi_span *);

/* Sleep before the next try: 2, 4, 8 ... ms, but at most half a second. */
void scsi_pause(int tries);

/*
 * The sectors that an ATA disk hides after its last visible one.
 */

struct ata_hidden {		/* hidden bytes */
	uint64_t area;		/* by a host protected area (HPA) */
	uint64_t overlay;	/* by a device configuration overlay (DCO) */
};

/*
 * Ask the disk how much it hides, by commands that change nothing.  Returns
 * false, without asking, if the end is not a whole ATA disk.  Queries that the
 * disk does not answer count as 0.
 */
bool ata_hidden(const struct endpoint *, struct ata_hidden *);

#endif
