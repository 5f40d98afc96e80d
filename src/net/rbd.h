/*
 * An open Ceph image and its requests.  No call waits longer than the limit of
 * the image.  A request that has not returned by then is never waited for
 * again, and the image counts as lost.
 */
#ifndef PARDD_RBD_H
#define PARDD_RBD_H

#include <rbd/librbd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The functions of librbd and librados.
 */

#define LIBRADOS_FUNCTIONS(X) \
	X(create) X(conf_read_file) X(conf_set) X(connect) X(shutdown) \
	X(cluster_fsid) X(get_instance_id) X(ioctx_create) X(ioctx_destroy) \
	X(ioctx_set_namespace) X(ioctx_get_id)

#define LIBRBD_FUNCTIONS(X) \
	X(open) X(open_read_only) X(close) X(get_size) X(get_id) \
	X(snap_get_id) X(watchers_list) X(watchers_list_cleanup) \
	X(lock_acquire) X(diff_iterate2) X(aio_create_completion) \
	X(aio_get_return_value) X(aio_release) X(aio_read) X(aio_write) \
	X(aio_write_zeroes) X(aio_flush)

struct librbd {			/* rbd_open is lib->open, rados_create */
				/* lib->rados.create, and so on */
#define MEMBER(name)	__typeof__(rbd_##name) *name;
	LIBRBD_FUNCTIONS(MEMBER)
#undef MEMBER
	struct {
#define MEMBER(name)	__typeof__(rados_##name) *name;
		LIBRADOS_FUNCTIONS(MEMBER)
#undef MEMBER
	} rados;
};

/*
 * The name of a Ceph image: rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT], with options
 * as :KEY=VALUE.  A backslash makes the next character an ordinary one.
 */

enum { RBD_OPTIONS_MOST = 32 };

struct rbd_name {		/* strings point into "text" */
	char		*text;	/* malloc'd */
	const char	*pool, *image;
	const char	*space, *snapshot;	/* or NULL */
	const char	*conf, *id;	/* options of these names, or NULL */
	struct rbd_option { const char *key, *value; }
			 option[RBD_OPTIONS_MOST];	/* all other options */
	size_t		 options;
};

/*
 * Parse a name.  Returns NULL, or a constant message with nothing to free.
 * rbd_name_free frees the parts.
 */
const char *rbd_name_parse(struct rbd_name *, const char *name);
void rbd_name_free(struct rbd_name *);

struct rbd_image {
	struct librbd	 lib;
	struct rbd_name	 name;
	unsigned	 limit;	/* s, for each request */
	const char	*since;	/* a snapshot it must have, or NULL */
	bool		 target;	/* find out who else has it open */
	bool		 writable;
	rados_t		 cluster;
	rados_ioctx_t	 io;
	rbd_image_t	 image;
	uint64_t	 size;	/* bytes */
	int64_t		 pool;
	uint64_t	 snapshot;	/* its number, or UINT64_MAX */
	char		 fsid[40], id[256];	/* cluster and image */
	char		 user[128];	/* a client that has it open, or "" */
	atomic_uint	 step;	/* which step of opening it is at, and */
	size_t		 setting;	/* which option of the name */
	atomic_int	 lost;	/* by which errno value, or 0 */
	atomic_bool	 stuck;	/* a request may still return: free nothing */
};

struct rbd_call;		/* one request at a time, with its buffer */

/* Freeing NULL is allowed. */
void rbd_call_free(struct rbd_call *);

#endif
