/*
 * The functions of librbd and librados, loaded when an end needs them.
 */
#ifndef PARDD_LIBRBD_H
#define PARDD_LIBRBD_H

#include <rbd/librbd.h>

#include "base/fault.h"

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
 * Load the library; it stays loaded.  "what" needs it, for messages.  Returns
 * 0, or -1 with *f if it is missing or too old.
 */
int librbd_load(struct librbd *, const char *what, struct fault *f);

#endif
