/*
 * One session with an iSCSI target, for use by any thread.
 */
#ifndef PARDD_ISCSI_LINK_H
#define PARDD_ISCSI_LINK_H

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/library.h"
#include "end/backend.h"
#include "end/lane.h"
#include "scsi/scsi.h"

/*
 * The functions of libiscsi.
 */

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
	LIBISCSI_FUNCTIONS(LIBRARY_MEMBER)
};

/*
 * Parsing iscsi://[USER[%PASSWORD]@]HOST[:PORT]/TARGET/LUN.
 */

enum {
	ISCSI_NAME = 224,	/* bytes of a target name: RFC 7143 4.2.7.1 */
	ISCSI_WORD = 256,	/* bytes of the rest, as in libiscsi */
};				/* both with the NUL */

struct iscsi_name {
	char	user[ISCSI_WORD];	/* "" if absent, as are the rest */
	char	password[ISCSI_WORD];
	char	portal[ISCSI_WORD];	/* HOST[:PORT] */
	char	target[ISCSI_NAME];
	int	lun;
};

/*
 * Parse a name, whose password was taken out (secrets.h).  Returns 0, or -1
 * with *f, which shows the correct form.
 */
int iscsi_name(struct iscsi_name *, const char *name, struct fault *f);

struct iscsi_call {		/* a command, from when it is sent */
	struct call_head flight;
	struct scsi_command command;
	struct iscsi_link *link;	/* for the link only: */
	struct iscsi_call *next;
	struct scsi_task *task;	/* libiscsi's, until it is over */
	uint64_t	 since;	/* when it was sent, by the link's time */
	bool		 late;	/* it is given up for want of an answer */
	struct scsi_answer answer;	/* valid when it is over, unless */
	int		 err;	/* errno value: the session was lost */
	bool		 over;
};

struct iscsi_address {		/* where a target is */
	const char	*shown;	/* for messages */
	struct iscsi_name name;
	const char	*initiator;	/* our own name */
	const char	*user, *password;	/* NULL and NULL: none */
	const char	*target_user, *target_password;	/* expected of the
							 * target */
	unsigned	 timeout;	/* s, for the login and each command */
};

struct iscsi_stage {		/* a step of login or logout */
	bool	connects;	/* the first step */
	bool	over;
	int	status;		/* of libiscsi */
	int	err;		/* errno value of connect or poll, or 0 */
};

struct iscsi_link {		/* l: lock */
	const struct libiscsi *lib;
	struct iscsi_context *context;	/* l */
	struct iscsi_stage stage;	/* used to open and close */
	int		 lun;
	int		 fd;	/* socket; libiscsi closes it */
	unsigned	 timeout;	/* s */
	pthread_mutex_t	 lock;
	atomic_uint	 holds;	/* counts how often the lock was taken and
				 * released: odd while it is held */
	pthread_cond_t	 moved;	/* a call is over */
	pthread_t	 reader;	/* if "started" */
	int		 kick;	/* eventfd: poll the socket again */
	int		 bell;	/* eventfd: a lane's call is over */
	bool		 started, quit;	/* l */
	short		 watched;	/* l: poll(2) events, set by the
					 * reader */
	bool		 lost;	/* l: for good */
	bool		 ring;	/* l: ring the bell after the service */
	struct iscsi_call *sent;	/* l: calls in flight, */
	unsigned	 writes;	/* l: of these, still sending data */
	uint64_t	 heard;	/* l: when the last answer came */
	uint64_t	 mark;	/* what no block has but by chance */
	uint64_t	 looked, stood;	/* l: ns; for the link's time */
	struct iscsi_call *over, **last;	/* l: calls of lanes */
	char		 why[160];	/* l: reason of the loss, or "" */
	char		 peer[ISCSI_WORD];	/* portal, numeric */
};

/* Log in.  Returns 0, or -1 with *f and nothing to close. */
int iscsi_link_open(struct iscsi_link *, const struct libiscsi *,
    const struct iscsi_address *, struct fault *f);

/*
 * Start the reader: a thread that moves the data and answers pings of the
 * target.  Before that, the waiting thread does this.  Returns 0 or an errno
 * value.
 */
int iscsi_link_start(struct iscsi_link *);

/* Log out and close.  No call may be in flight. */
void iscsi_link_close(struct iscsi_link *);

/*
 * Send a command.  Returns true, and the call and its buffer belong to the link
 * until the call is over; or false with call->err if it was not sent.
 */
bool iscsi_link_send(struct iscsi_link *, struct iscsi_call *);

/* Send a command and wait until it is over.  Returns call->err. */
int iscsi_link_do(struct iscsi_link *, struct iscsi_call *);

/*
 * Call lane_over for calls of lanes that are over. link->bell is readable when
 * there are some.
 */
void iscsi_link_service(struct iscsi_link *);

/* Whether the session was lost, and why, if that is known. */
bool iscsi_link_lost(struct iscsi_link *, char *why, size_t room);

/*
 * Logging in to an iSCSI target, and out.
 */

#endif
