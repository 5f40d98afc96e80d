/*
 * An NBD server as an end: nbd.c, its connections (nbd_link.c), and libnbd.
 */
#ifndef PARDD_NBD_H
#define PARDD_NBD_H

#include <libnbd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "command.h"
#include "end/backend.h"
#include "end/lane.h"

/*
 * The functions of libnbd.
 */

#define LIBNBD_FUNCTIONS(X) \
	X(create) X(close) X(get_error) X(get_errno) \
	X(set_pread_initialize) X(set_uri_allow_local_file) \
	X(add_meta_context) X(aio_connect_uri) X(aio_connect_socket) \
	X(aio_is_connecting) X(aio_is_negotiating) X(aio_is_ready) \
	X(aio_is_dead) X(aio_is_closed) \
	X(aio_get_fd) X(aio_get_direction) \
	X(aio_notify_read) X(aio_notify_write) \
	X(get_size) X(get_block_size) X(is_read_only) X(can_flush) \
	X(can_fua) \
	X(can_zero) X(can_fast_zero) X(can_multi_conn) \
	X(can_meta_context) X(get_tls_negotiated) X(get_export_name) \
	X(aio_pread_structured) X(aio_pwrite) X(aio_zero) X(aio_flush) \
	X(aio_block_status) X(aio_disconnect)

struct libnbd {			/* nbd_create is lib->create, and so on */
#define MEMBER(name)	__typeof__(nbd_##name) *name;
	LIBNBD_FUNCTIONS(MEMBER)
#undef MEMBER
};

/*
 * One connection to an NBD server, for use by any thread.
 */

enum { PARTS = 8 };		/* parts of a read without more memory */

struct nbd_part {
	uint64_t	 from, to;	/* bytes of the export */
};

struct nbd_call {		/* a command, from when it is sent */
	struct call_head flight;
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
};

#endif
