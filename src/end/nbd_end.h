/*
 * An NBD server as an end: what connecting to it, its requests, and questions
 * for its extents share.
 */
#ifndef PARDD_NBD_END_H
#define PARDD_NBD_END_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "command.h"
#include "nbd_link.h"

enum {
	NBD_FLIGHTS = 128,	/* of a lane */
	NBD_LAST_WORDS = 1000,	/* ms, for a command that has failed */
};

struct picture {		/* of a context */
	struct nbd_extents x;	/* the last answer, */
	uint64_t	 off;	/* from there on */
};

struct nbd {			/* an endpoint's priv */
	struct libnbd	 lib;
	struct nbd_address address;
	struct command	 command;	/* of the first connection, or none */
	struct nbd_link	 link;
	uint64_t	 size;		/* bytes */
	uint32_t	 block;		/* bytes: whole ones only; or 1 */
	uint32_t	 most;		/* bytes of a request */
	uint32_t	 preferred;	/* the same, or 0 */
	uint32_t	 write_flags, zero_flags;	/* LIBNBD_CMD_FLAG_ */
	bool		 read_only, flushes, fua, zeroes, fast, extents;
	bool		 several;	/* connections, for one picture */
	bool		 tls;
	atomic_bool	 no_zero;	/* the server will not */
	atomic_bool	 lost;		/* the connection, as was told */
	bool		 unflushed;	/* a flush failed: none is believed */
	atomic_uint	 links;		/* of lanes, ever */
	char		*bitmap;	/* the context of iflag=, or NULL */
	pthread_mutex_t	 lock;		/* held over a question; guards: */
	struct picture	 allocated, dirty;
};

struct nbd_lane {		/* a lane's priv */
	struct nbd_link	*link;
	struct nbd_link	 own;		/* if that is this */
	struct flights	 flights;	/* NBD_FLIGHTS nbd_calls */
	unsigned char	*bounce;	/* once it is needed */
};

/* nbd_open.c: the slots of the backend that connect, and close. */
int nbd_open(struct endpoint *, bool look, struct fault *);
int nbd_close_end(struct endpoint *);
int nbd_attach(struct lane *);
int nbd_detach(struct lane *);

/* nbd_extents.c: the slots of the backend that ask what is where. */
int nbd_extent_at(const struct endpoint *, uint64_t off, struct extent *);
int nbd_changed(const struct endpoint *, uint64_t off, struct extent *);

#endif
