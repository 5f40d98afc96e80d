/*
 * The functions of libnbd, loaded when an end needs it.
 */
#ifndef PARDD_LIBNBD_H
#define PARDD_LIBNBD_H

#include <libnbd.h>

#include "base/fault.h"

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
 * Load the library; it stays loaded.  "what" needs it, for messages.  Returns
 * 0, or -1 with *f if it is missing or too old.
 */
int libnbd_load(struct libnbd *, const char *what, struct fault *f);

#endif
