/*
 * An NVMe disk as an end, as nvme.c and nvme_open.c share it.
 */
#ifndef PARDD_NVME_END_H
#define PARDD_NVME_END_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "end/backend.h"
#include "nvme.h"

enum { PAGE = 4096 };

struct nvme {			/* priv of the endpoint */
	int		 fd;
	bool		 by_ring;	/* io_uring: an ng node */
	struct nvme_disk disk;
	struct nvme_command how;	/* template of all commands */
	uint32_t	 zero_most;	/* blocks per Write Zeroes; 0: none */
	bool		 reads_back;
	bool		 powered;	/* power is valid: */
	struct nvme_power power;
	atomic_uint	 most;		/* blocks per command */
	atomic_bool	 no_zeroes;	/* the disk refuses Write Zeroes */
	atomic_bool	 changed;	/* send no more commands */
	atomic_bool	 away;		/* waited for a path in vain */
	atomic_bool	 unflushed;	/* a flush has failed, for this
					 * reason: */
	char		 why[132];
	atomic_uint_fast64_t good;	/* last block read well, or NOWHERE */
	atomic_uint	 again, shrunk;	/* counts */
};

/* nvme_open.c: opening and closing, as in struct backend. */
int nvme_open(struct endpoint *, bool look, struct fault *);
int nvme_close(struct endpoint *);

/*
 * nvme_wait.c: whether to repeat a failed command, after a pause.  If the copy
 * is being stopped meanwhile, a read gets ECANCELED.
 */
struct nvme_wait {		/* of one command, however often it is run */
	uint64_t	 began;		/* ns: when it was sent last */
	uint64_t	 since;		/* ns: no path since then; or 0 */
	unsigned	 tries;		/* retries so far */
};
bool nvme_passes(const struct lane *, struct io *, const struct nvme_reply *,
    struct nvme_wait *);

/*
 * Flush, once.  After a failed flush, a successful one would not show the loss,
 * so only a flush that was not executed is repeated, for up to timeout=.
 */
bool nvme_flush_out(const struct nvme *, struct nvme_reply *);

#endif
