/*
 * An NBD server as an end, as nbd.c, nbd_open.c and nbd_extents.c share it.
 */
#ifndef PARDD_NBD_END_H
#define PARDD_NBD_END_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "end/backend.h"
#include "nbd_link.h"

enum {
	NBD_FLIGHTS = 128,	/* calls per lane */
	NBD_LAST_WORDS = 1000,	/* ms to wait for a failed command's words */
};

struct extent_cache {		/* the last answer about extents */
	struct nbd_extents x;	/* for one context, */
	uint64_t	 off;	/* from this byte on */
};

struct nbd {			/* priv of the endpoint */
	struct libnbd	 lib;
	struct nbd_address address;
	struct command	 command;	/* of the first connection, if any */
	struct nbd_link	 link;
	uint64_t	 size;		/* bytes */
	uint32_t	 block;		/* bytes: requests are multiples */
	uint32_t	 most;		/* bytes per request */
	uint32_t	 preferred;	/* preferred bytes per request, or 0 */
	uint32_t	 write_flags, zero_flags;	/* LIBNBD_CMD_FLAG_ */
	bool		 read_only, flushes, fua, zeroes, fast, extents;
	bool		 several;	/* several connections see the same
					 * data */
	bool		 tls;		/* the connection is encrypted */
	atomic_bool	 no_zero;	/* the server refuses to zero */
	atomic_uint_fast64_t lost;	/* ns when a connection was, or 0 */
	bool		 unflushed;	/* a flush failed: later ones do not
					 * count */
	atomic_uint	 links;		/* connections of lanes so far */
	char		*export;	/* its name, or NULL */
	char		*bitmap;	/* context of iflag=bitmap:, or NULL */
	pthread_mutex_t	 lock;		/* held over a query; guards: */
	struct extent_cache allocated, dirty;
};

struct nbd_lane {		/* priv of a lane */
	struct nbd_link	*link;
	struct nbd_link	 own;		/* its own connection, if link is
					 * this */
	struct flights	 flights;	/* up to NBD_FLIGHTS nbd_calls */
	unsigned char	*bounce;	/* allocated when needed */
};

/* nbd_open.c: connecting and closing, as in struct backend. */
int nbd_open(struct endpoint *, bool look, struct fault *);
int nbd_close_end(struct endpoint *);
int nbd_attach(struct lane *);
int nbd_detach(struct lane *);

/* nbd_extents.c: extents, as in struct backend. */
int nbd_extent_at(const struct endpoint *, uint64_t off, struct extent *);
int nbd_changed(const struct endpoint *, uint64_t off, struct extent *);

#endif
