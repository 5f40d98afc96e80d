/*
 * One session with an iSCSI target, which any thread may use.
 */
#ifndef PARDD_ISCSI_LINK_H
#define PARDD_ISCSI_LINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "iscsi_name.h"
#include "end/lane.h"
#include "flights.h"
#include "libiscsi.h"
#include "end/scsi.h"

struct iscsi_call {		/* a command, from when it is sent */
	struct flight	 flight;
	struct scsi_command command;
	struct iscsi_link *link;	/* these are the link's: */
	struct iscsi_call *next;
	struct scsi_answer answer;	/* once it is over: this, or */
	int		 err;	/* an errno: the session is gone */
	bool		 over;
};

struct iscsi_address {		/* where a target is */
	const char	*shown;	/* its name, for messages */
	struct iscsi_name name;
	const char	*initiator;	/* who we are */
	const char	*user, *password;	/* or NULL, and NULL: */
	const char	*target_user, *target_password;	/* of the target's */
	unsigned	 timeout;	/* s, of the login, and each command */
};

struct iscsi_stage {		/* of a login or logout */
	bool	connects;	/* it is the first one */
	bool	over;
	int	status;		/* libiscsi's */
	int	err;		/* errno, of a connection, or 0 */
};

struct iscsi_link {		/* l: lock */
	const struct libiscsi *lib;
	struct iscsi_context *context;	/* l */
	struct iscsi_stage stage;	/* whoever opens or closes it */
	int		 lun;
	int		 fd;	/* its socket, libiscsi's */
	unsigned	 timeout;	/* s */
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;	/* a call is over */
	pthread_t	 carrier;	/* once it is started */
	int		 kick;	/* eventfd: look at the socket anew */
	int		 bell;	/* eventfd: a lane's call is over */
	bool		 started, quit;	/* l */
	short		 watched;	/* l: poll(2) events, by the carrier */
	bool		 lost;	/* l: for good */
	bool		 ring;	/* l: the bell, after the service */
	unsigned	 calls;	/* l: under way, */
	unsigned	 writes;	/* l: of them, those with data to go */
	uint64_t	 heard;	/* l: ns, of the last answer */
	struct iscsi_call *over, **last;	/* l: those of lanes */
	char		 why[160];	/* l: it was lost, or "" */
	char		 peer[ISCSI_WORD];	/* portal, in numbers */
};

/*
 * Log in.  Returns 0, or -1 with *f and nothing to close.
 */
int iscsi_link_open(struct iscsi_link *, const struct libiscsi *,
    const struct iscsi_address *, struct fault *f);

/*
 * From here on a thread of its own moves the bytes, and answers a target that
 * asks whether we are there; before, whoever waits does.  Returns an errno.
 */
int iscsi_link_start(struct iscsi_link *);

/* Log out, and close it.  Nothing may be on its way. */
void iscsi_link_close(struct iscsi_link *);

/*
 * Send a command.  False, and call->err, when it was not sent; else it and its
 * buffer are the link's until it is over.
 */
bool iscsi_link_send(struct iscsi_link *, struct iscsi_call *);

/* Send it, and wait until it is over: an errno, as call->err. */
int iscsi_link_do(struct iscsi_link *, struct iscsi_call *);

/* Tell lanes of their calls that are over; link->bell is readable then. */
void iscsi_link_service(struct iscsi_link *);

/* Whether the session is gone, and why, if that is known. */
bool iscsi_link_lost(struct iscsi_link *, char *why, size_t room);

#endif
