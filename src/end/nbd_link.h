/*
 * One connection to an NBD server, which any thread may use.
 */
#ifndef PARDD_NBD_LINK_H
#define PARDD_NBD_LINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/lane.h"
#include "flights.h"
#include "libnbd.h"

enum { PARTS = 8 };		/* of a read that are there, apart */

struct nbd_part {
	uint64_t	 from, to;	/* bytes of the export */
};

struct nbd_call {		/* a command, from when it is sent */
	struct flight	 flight;
	enum op		 op;
	unsigned char	*buf;	/* the caller's, or NULL: zeros are made */
	uint64_t	 off;	/* bytes */
	size_t		 len;
	uint32_t	 flags;	/* LIBNBD_CMD_FLAG_ */
	struct nbd_link	*link;	/* these are the link's: */
	struct nbd_part	 part[PARTS];	/* of a read; */
	unsigned	 parts;	/* PARTS + 1: not to be counted any more */
	int		 err;	/* an errno, once it is */
	bool		 over;
};

struct nbd_extents {		/* an answer to a question for extents */
	const char	*context;	/* what of them; its owner's */
	struct nbd_alike { uint32_t len, flags; } *at;	/* LIBNBD_STATE_ */
	size_t		 n, room;	/* at: malloc'd, the caller's to free */
};

struct nbd_link {		/* l: lock */
	const struct libnbd *lib;
	struct nbd_handle *handle;
	char		 peer[80];	/* by TCP: its address, or "" */
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;	/* a call is over, or nobody polls */
	int		 kick;	/* eventfd: look at the socket anew */
	bool		 polling;	/* l: one of those who wait */
	unsigned	 begun, ended;	/* l: calls, ever; they may wrap */
	uint64_t	 limit;	/* ns without an answer, or 0: for ever */
	uint64_t	 heard;	/* l: ns, of the last, or of a new beginning */
	bool		 late;	/* l: that has passed */
};

struct nbd_address {		/* where a server is */
	const char	*name;	/* for messages */
	const char	*uri;	/* or NULL: */
	int		 sock;	/* a socket that leads there, taken over */
	bool		 tls;	/* the URI asks for it */
	const char	*bitmap;	/* a further context, or NULL */
	unsigned	 timeout;	/* s, for the connection to be made */
	unsigned	 patience;	/* s, for an answer, or 0: for ever */
};

/*
 * Connect and negotiate.  Returns 0, or -1 with *f and nothing to close; a
 * socket is closed then, too.
 */
int nbd_link_open(struct nbd_link *, const struct libnbd *,
    const struct nbd_address *, struct fault *f);

/* Say good-bye, and close it.  Nothing may be on its way. */
void nbd_link_close(struct nbd_link *);

/*
 * Send a command.  False, and call->err, when it was not sent; else it and its
 * buffer are the link's until it is over.
 */
bool nbd_link_send(struct nbd_link *, struct nbd_call *);

/*
 * Send it, and wait until it is over: an errno; EPROTO for a read of which not
 * all was sent.
 */
int nbd_link_do(struct nbd_link *, struct nbd_call *);

/* The same for a flush. */
int nbd_link_flush(struct nbd_link *);

/*
 * The same: what the server knows of len bytes at off, from there on, in that
 * context, which is base:allocation or the one of the address.  The
 * lengths are the server's; no more than room are taken.
 */
int nbd_link_extents(struct nbd_link *, uint64_t off, uint64_t len,
    struct nbd_extents *);

/*
 * What tells that there is something to do, for who does not wait in here: a
 * descriptor and its poll(2) events, or -1.  Then let it be done; and every
 * second, too, so that an answer that does not come is missed.
 */
int nbd_link_pollfd(struct nbd_link *, short *events);
void nbd_link_service(struct nbd_link *);

/* Whether an errno of a call says that there is no connection any more. */
bool nbd_link_lost(int err);

/* And whether that is so because there was no answer in time. */
bool nbd_link_late(struct nbd_link *);

#endif
