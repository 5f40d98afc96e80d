/*
 * One NVMe command to a namespace, and the meaning of its result.  Commands go
 * by ioctl, to ng and block nodes, or as io_uring entries, to ng nodes.
 *
 * "Base" is the NVM Express Base Specification, "NVM" the NVM Command Set
 * Specification.
 */
#ifndef PARDD_NVME_H
#define PARDD_NVME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/backend.h"
#include "end/lane.h"

enum nvme_result {
	NVME_DONE,
	NVME_AGAIN,	/* not the disk's fault: try again */
	NVME_AWAY,	/* no path to the disk just now: wait */
	NVME_SMALLER,	/* too large for the host */
	NVME_MEDIUM,	/* a block cannot be read */
	NVME_FREE,	/* some of the blocks are deallocated, and the command
			 * asked for a report */
	NVME_CHANGED,	/* the format has changed */
	NVME_FATAL,
};

struct nvme_reply {
	enum nvme_result result;
	int		 status;	/* exit status, or 0 */
	int		 err;		/* errno value; 0: none */
	bool		 unrun;		/* not executed; nothing is lost */
	bool		 unknown;	/* the disk does not know the command */
	char		 why[132];	/* explanation; shorter than io.why */
};

struct nvme_disk {		/* properties of a namespace */
	uint32_t	 nsid;
	uint64_t	 blocks;
	uint32_t	 block;		/* bytes, logical block */
	uint64_t	 most;		/* bytes per command; 0: no limit */
	unsigned	 protection;	/* type 1 to 3; 0: none */
	bool		 has_zeroes;	/* supports Write Zeroes */
	bool		 zeros;		/* deallocated blocks read as zeros */
	bool		 frees_zeros;	/* Write Zeroes may deallocate */
	bool		 protected;	/* write protected */
	unsigned char	 form[64];	/* what must stay the same */
};

struct nvme_command {		/* of whole blocks */
	enum op		 op;
	bool		 fua;		/* bypass the disk's cache */
	bool		 hasty;		/* limited retry: report errors soon */
	bool		 free;		/* OP_ZERO: may deallocate */
	unsigned	 timeout;	/* ms */
	uint64_t	 lba;
	uint32_t	 blocks;	/* 1 to NVME_BLOCKS */
	void		*buf;		/* the caller's; unused by OP_ZERO */
};

enum { NVME_BLOCKS = 65536 };	/* limit of one command */

/*
 * Query the namespace behind fd: Identify Namespace and Identify Controller
 * (NVM and Base, Identify). timeout is in ms, for each command; name is for
 * messages.  Returns 0, or -1 with *f: not an NVMe disk, or its blocks have
 * metadata that a copy would lose.
 */
int nvme_ask(int fd, unsigned timeout, const char *name, struct nvme_disk *,
    struct fault *f);

/*
 * Check that it is there and still the same.  Returns 0, also if it does not
 * answer, or -1 with *f.
 */
int nvme_kept(int fd, unsigned timeout, const char *name,
    const struct nvme_disk *, struct fault *f);

/*
 * Read how often it was powered on, and lost power without warning: SMART /
 * Health Information (Base, Get Log Page 02h).  Returns false if it does not
 * say.
 */
struct nvme_power {
	unsigned char	 count[32];	/* two 128-bit numbers */
};
bool nvme_power(int fd, unsigned timeout, struct nvme_power *);

/* Run one command and judge its result.  Never retries. */
void nvme_run(int fd, const struct nvme_disk *, const struct nvme_command *,
    struct nvme_reply *);

/*
 * The same in two steps. nvme_prepare fills in an entry of 128 bytes, for a
 * ring with completions of 32; nvme_judge judges the result.
 */
struct io_uring_sqe;
void nvme_prepare(struct io_uring_sqe *sqe, int fd, const struct nvme_disk *,
    const struct nvme_command *);
void nvme_judge(struct nvme_reply *, enum op, int result);

/* Flush, once.  Returns false with the reply. */
bool nvme_flush(int fd, const struct nvme_disk *, unsigned timeout,
    struct nvme_reply *);

/*
 * An NVMe disk as an end.
 */

enum { PAGE = 4096 };

struct nvme {			/* priv of the endpoint */
	int		 fd;
	bool		 by_ring;	/* io_uring: an ng node */
	struct nvme_disk disk;
	struct nvme_command how;	/* template of all commands */
	bool		 powered;	/* power is valid: */
	struct nvme_power power;
	atomic_bool	 changed;	/* send no more commands */
	atomic_bool	 away;		/* waited for a path in vain */
	atomic_bool	 unflushed;	/* a flush has failed, for this
					 * reason: */
	char		 why[132];
	atomic_uint	 again;		/* commands that were repeated */
};

/*
 * Whether to repeat a failed command, after a pause.  If the copy
 * is being stopped meanwhile, a read gets ECANCELED.
 */
struct nvme_wait {		/* of one command, however often it is run */
	uint64_t	 began;		/* ns: when it was sent last */
	uint64_t	 since;		/* ns: no path since then; or 0 */
	unsigned	 tries;		/* retries so far */
};

#endif
