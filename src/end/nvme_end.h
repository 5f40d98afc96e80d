/*
 * An NVMe disk as an end: what opening it and its commands share.
 */
#ifndef PARDD_NVME_END_H
#define PARDD_NVME_END_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "end/nvme.h"

enum { PAGE = 4096 };

struct nvme {			/* an endpoint's priv */
	int		 fd;
	bool		 by_ring;	/* an ng node */
	struct nvme_disk disk;
	struct nvme_command how;	/* what all commands have in common */
	uint32_t	 zero_most;	/* blocks of Write Zeroes; 0: none */
	bool		 reads_back;
	bool		 powered;	/* how often is known: */
	struct nvme_power power;
	atomic_uint	 most;		/* blocks of a command */
	atomic_bool	 no_zeroes;	/* it refuses Write Zeroes */
	atomic_bool	 changed;	/* send nothing more */
	atomic_bool	 unflushed;	/* a flush has failed, for: */
	char		 why[132];
	atomic_uint_fast64_t good;	/* the last block read, or NOWHERE */
	atomic_uint	 again, shrunk;	/* counts */
};

/* nvme_open.c: the slots of the backend that open and close. */
int nvme_open(struct endpoint *, bool look, struct fault *);
int nvme_close(struct endpoint *);

#endif
