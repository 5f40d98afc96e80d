/*
 * One NVMe command to a namespace, and what its answer means.  Knows two ways
 * to it: the ioctl that ng and block nodes have, and the entries of an io_uring
 * that ng nodes take.
 *
 * "Base" is the NVM Express Base Specification, "NVM" the NVM Command Set
 * Specification.
 */
#ifndef PARDD_NVME_H
#define PARDD_NVME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/lane.h"

enum nvme_result {
	NVME_DONE,
	NVME_AGAIN,	/* nothing wrong with the disk: try again */
	NVME_SMALLER,	/* the host takes no command of this size */
	NVME_MEDIUM,	/* a block cannot be read */
	NVME_FREE,	/* some of the blocks are deallocated, and it was
			 * asked to tell so */
	NVME_CHANGED,	/* it is not formatted as it was */
	NVME_FATAL,
};

struct nvme_reply {
	enum nvme_result result;
	int		 status;	/* exit status it stands for, or 0 */
	int		 err;		/* an errno, 0: none */
	bool		 unknown;	/* the disk takes no such command */
	char		 why[132];	/* in words: shorter than io.why */
};

struct nvme_disk {		/* what a namespace says of itself */
	uint32_t	 nsid;
	uint64_t	 blocks;
	uint32_t	 block;		/* bytes, logical */
	uint64_t	 most;		/* bytes of a command; 0: no limit */
	unsigned	 protection;	/* type of it, 1 to 3; 0: none */
	bool		 has_zeroes;	/* it knows Write Zeroes */
	bool		 zeros;		/* what is deallocated reads as zeros */
	bool		 frees_zeros;	/* Write Zeroes may deallocate */
	bool		 protected;	/* it must not be written */
	unsigned char	 form[64];	/* what must not change meanwhile */
};

struct nvme_command {		/* of whole blocks */
	enum op		 op;
	bool		 fua;		/* from or to the medium */
	bool		 hasty;		/* limited retry: tells errors soon */
	bool		 free;		/* OP_ZERO: it may deallocate them */
	unsigned	 timeout;	/* ms */
	uint64_t	 lba;
	uint32_t	 blocks;	/* 1 to NVME_BLOCKS */
	void		*buf;		/* the caller's; none for OP_ZERO */
};

enum { NVME_BLOCKS = 65536 };	/* of a command, at most */

/*
 * Ask the namespace behind fd: Identify Namespace and Identify Controller (NVM
 * and Base, Identify).  timeout is that of each command, in ms; name is for
 * messages.  Returns 0, or -1 with *f: no NVMe disk, or one whose blocks have
 * metadata that a copy would lose.
 */
int nvme_ask(int fd, unsigned timeout, const char *name, struct nvme_disk *,
    struct fault *f);

/* Whether it is still what it was; 0 where it does not tell, or -1 with *f. */
int nvme_kept(int fd, unsigned timeout, const char *name,
    const struct nvme_disk *, struct fault *f);

/*
 * How often its power was on, and was lost without a warning: SMART / Health
 * Information (Base, Get Log Page 02h).  False: it does not tell.
 */
struct nvme_power {
	unsigned char	 count[32];	/* two numbers of 128 bits */
};
bool nvme_power(int fd, unsigned timeout, struct nvme_power *);

/* Run one command and judge the answer.  Never retries. */
void nvme_run(int fd, const struct nvme_disk *, const struct nvme_command *,
    struct nvme_reply *);

/*
 * The same in two steps: an entry of 128 bytes for a ring that has such, and
 * whose results have 32; then the judgement of its result.
 */
struct io_uring_sqe;
void nvme_prepare(struct io_uring_sqe *sqe, int fd, const struct nvme_disk *,
    const struct nvme_command *);
void nvme_judge(struct nvme_reply *, enum op, int result);

/*
 * Flush, once: after one that failed a second tells nothing of what is lost.
 * Only one that was not run is run again.  False with the reply that says why.
 */
bool nvme_flush(int fd, const struct nvme_disk *, unsigned timeout,
    struct nvme_reply *);

#endif
