/*
 * The functions of libiscsi, loaded when an end needs it.
 */
#ifndef PARDD_LIBISCSI_H
#define PARDD_LIBISCSI_H

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

#include "base/fault.h"

#define LIBISCSI_FUNCTIONS(X) \
	X(iscsi_create_context) X(iscsi_destroy_context) \
	X(iscsi_set_targetname) X(iscsi_set_session_type) \
	X(iscsi_set_header_digest) X(iscsi_set_isid_random) \
	X(iscsi_set_initiator_username_pwd) \
	X(iscsi_set_target_username_pwd) \
	X(iscsi_set_noautoreconnect) X(iscsi_set_reconnect_max_retries) \
	X(iscsi_set_tcp_user_timeout) \
	X(iscsi_connect_async) X(iscsi_login_async) X(iscsi_logout_async) \
	X(iscsi_get_error) X(iscsi_get_target_address) X(iscsi_get_fd) \
	X(iscsi_which_events) X(iscsi_service) \
	X(iscsi_scsi_command_async) X(iscsi_scsi_cancel_task) \
	X(iscsi_scsi_cancel_all_tasks) \
	X(scsi_create_task) X(scsi_free_scsi_task) \
	X(scsi_task_add_data_in_buffer) X(scsi_task_add_data_out_buffer)

struct libiscsi {
#define MEMBER(name)	__typeof__(name) *name;
	LIBISCSI_FUNCTIONS(MEMBER)
#undef MEMBER
};

/*
 * Load the library; it stays loaded.  "what" needs it, for messages.  Returns
 * 0, or -1 with *f if it is missing or too old.
 */
int libiscsi_load(struct libiscsi *, const char *what, struct fault *f);

#endif
