/*
 * An open Ceph image, and what is asked of it.  Nothing here waits for longer
 * than the image's limit; what has not come back by then is never waited for
 * again, and with it the image is lost.
 */
#ifndef PARDD_RBD_IMAGE_H
#define PARDD_RBD_IMAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/lane.h"
#include "librbd.h"
#include "rbd_name.h"

struct rbd_image {
	struct librbd	 lib;
	struct rbd_name	 name;
	unsigned	 limit;	/* s, of each request */
	const char	*since;	/* a snapshot that it must have, or NULL */
	bool		 target;	/* who else uses it is of interest */
	bool		 writable;
	rados_t		 cluster;
	rados_ioctx_t	 io;
	rbd_image_t	 image;
	uint64_t	 size;	/* bytes */
	int64_t		 pool;
	uint64_t	 snapshot;	/* its number, or UINT64_MAX */
	char		 fsid[40], id[256];	/* cluster and image */
	char		 user[128];	/* a client that has it open, or "" */
	atomic_uint	 step;	/* of opening it, and */
	size_t		 setting;	/* which option that is at */
	atomic_bool	 lost;	/* something did not come back */
	atomic_bool	 stuck;	/* and is still under way: nothing is freed */
};

struct rbd_call;		/* a request at a time, and its buffer */

struct rbd_extents {		/* of a part of an image */
	uint64_t	 off, len;	/* bytes; that part */
	struct rbd_range { uint64_t off, len; } *at;	/* what there is, in */
	size_t		 n, room;	/* order; malloc'd, the caller's */
};

/*
 * Connect, and open an image of a name that was parsed, which becomes its own.
 * what is for messages.  Returns 0, or -1 with *f; rbd_image_close in any case.
 */
int rbd_image_open(struct rbd_image *, const char *what, struct fault *f);

/* Close it.  False: it and its memory are not to be freed, see errand.h. */
bool rbd_image_close(struct rbd_image *);

/* Keep others from writing, where the image has such a lock; errno. */
int rbd_image_lock(struct rbd_image *);

enum { RBD_CALL_MOST = 4 << 20 };	/* bytes of a read or a write */

/* NULL: there is no memory; NULL may be freed. */
struct rbd_call *rbd_call_new(void);
void rbd_call_free(struct rbd_call *);

/*
 * Read into buf, write from there, or make zeros (flags: RBD_WRITE_ZEROES_),
 * and wait for it: an errno.  A call that did not come back is *call's no more,
 * which becomes NULL.
 */
int rbd_image_do(struct rbd_image *, struct rbd_call **call, enum op,
    unsigned char *buf, uint64_t off, size_t len, int flags);

/* All that was written is on the disks of the cluster; errno. */
int rbd_image_flush(struct rbd_image *);

/*
 * Find out what data there is in a part of the image, or what has changed there
 * since that snapshot was made, if it is not NULL; errno.
 */
int rbd_image_extents(struct rbd_image *, const char *since, uint64_t off,
    uint64_t len, struct rbd_extents *);

/* Whether an errno of a request says that nothing is to be had any more. */
bool rbd_image_gone(int err);

#endif
