/*
 * One connection to an NBD server, for use by any thread.
 */
#ifndef PARDD_NBD_LINK_H
#define PARDD_NBD_LINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/flights.h"
#include "end/lane.h"
#include "libnbd.h"

enum { PARTS = 8 };		/* parts of a read without more memory */

struct nbd_part {
	uint64_t	 from, to;	/* bytes of the export */
};

struct nbd_call {		/* a command, from when it is sent */
	struct flight	 flight;
	enum op		 op;
	unsigned char	*buf;	/* the caller's; NULL: zero the range */
	uint64_t	 off;	/* bytes */
	size_t		 len;
	uint32_t	 flags;	/* LIBNBD_CMD_FLAG_ */
	struct nbd_link	*link;	/* for the link only: */
	struct nbd_part	 few[PARTS];
	struct nbd_part	*part;	/* what has arrived, in order and joined; few,
				 * or malloc'ed until it is over */
	size_t		 parts, room;
	int		 odd;	/* errno value: parts that cannot be */
	int		 err;	/* errno value, once it is over */
	bool		 over;
};

struct nbd_extents {		/* an answer about extents */
	const char	*context;	/* its name; the caller's */
	struct nbd_alike { uint32_t len, flags; } *at;	/* LIBNBD_STATE_ */
	size_t		 n, room;	/* at is malloc'ed; the caller frees
					 * it */
};

struct nbd_link {		/* l: lock */
	const struct libnbd *lib;
	struct nbd_handle *handle;
	char		 peer[80];	/* address, if by TCP, or "" */
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;	/* a call is over, or nobody polls now */
	int		 kick;	/* eventfd: poll the socket again */
	bool		 polling;	/* l: one of the waiters polls */
	unsigned	 begun, ended;	/* l: calls so far; they may wrap */
	uint64_t	 limit;	/* ns without an answer, or 0: no limit */
	uint64_t	 heard;	/* l: ns of the last answer, or restart */
	uint64_t	 looked;	/* l: ns of the last look for one */
	bool		 late;	/* l: the limit has passed */
};

struct nbd_address {		/* where the server is */
	const char	*name;	/* for messages */
	const char	*uri;	/* or NULL: */
	int		 sock;	/* a connected socket; the link closes it */
	bool		 tls;	/* the URI demands TLS */
	const char	*bitmap;	/* additional context, or NULL */
	unsigned	 timeout;	/* s, to connect */
	unsigned	 patience;	/* s, for an answer, or 0: no limit */
};

/*
 * Connect and negotiate.  Returns 0, or -1 with *f and nothing to close; the
 * socket of the address is closed in that case too.
 */
int nbd_link_open(struct nbd_link *, const struct libnbd *,
    const struct nbd_address *, struct fault *f);

/* Disconnect and close.  No call may be in flight. */
void nbd_link_close(struct nbd_link *);

/*
 * Send a command.  Returns true, and the call and its buffer belong to the link
 * until the call is over; or false with call->err if it was not sent.
 */
bool nbd_link_send(struct nbd_link *, struct nbd_call *);

/*
 * Send a command and wait until it is over.  Returns 0 or an errno value;
 * EPROTO if the server left out part of a read.
 */
int nbd_link_do(struct nbd_link *, struct nbd_call *);

/* The same for a flush. */
int nbd_link_flush(struct nbd_link *);

/*
 * Ask for the extents of len bytes at off, in the context x->context: either
 * base:allocation or that of the address.  At most x->room are stored; their
 * lengths are the server's, so check them.  Returns as nbd_link_do.
 */
int nbd_link_extents(struct nbd_link *, uint64_t off, uint64_t len,
    struct nbd_extents *);

/*
 * For callers that do not wait here: a descriptor and its poll(2) events, or
 * -1.  Call nbd_link_service when it is ready, and once a second, so that a
 * missing answer is noticed.
 */
int nbd_link_pollfd(struct nbd_link *, short *events);
void nbd_link_service(struct nbd_link *);

/* Whether the errno value of a call means that the connection was lost. */
bool nbd_link_lost(int err);

/* And whether it was given up because there was no answer in time. */
bool nbd_link_late(struct nbd_link *);

#endif
