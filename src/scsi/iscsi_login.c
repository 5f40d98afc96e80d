/*
 * Logging in to an iSCSI target, and out: libiscsi takes each step while we
 * serve its socket.  There is one thread then, and no lock.
 */
#include "config.h"

#ifdef HAVE_LIBISCSI
#include "iscsi_login.h"

#include <bsd/string.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/status.h"

enum {
	FAREWELL = 1,		/* s to wait for the answer to a logout */
	REDIRECTS = 4,		/* at most, from portal to portal */
};

static void
step_over(struct iscsi_context *context, int status, void *data, void *arg)
{
	struct iscsi_stage *stage = arg;

	(void)context;
	(void)data;
	stage->over = true;
	stage->status = status;
}

static void
iscsi_login_begin(struct iscsi_link *link)
{
	link->stage = (struct iscsi_stage){ .status = SCSI_STATUS_ERROR };
}

/* The errno value of a refused connection, which libiscsi does not keep. */
static int
iscsi_connect_error(const struct iscsi_link *link, int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return link->stage.connects && getsockopt(fd, SOL_SOCKET, SO_ERROR,
	    &err, &len) == 0 ? err : 0;
}

/* Serve until the stage is over; false if it cannot be. */
static bool
iscsi_login_pass(struct iscsi_link *link, double until)
{
	const struct libiscsi *lib = link->lib;
	struct iscsi_stage *stage = &link->stage;
	struct pollfd p;
	double left;
	int n;

	while (!stage->over) {
		left = until - clock_seconds();
		p = (struct pollfd){ lib->iscsi_get_fd(link->context),
			(short)lib->iscsi_which_events(link->context), 0 };
		n = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			stage->status = SCSI_STATUS_TIMEOUT;
		if (n <= 0) {
			stage->err = n < 0 ? errno : 0;
			return false;
		}
		stage->err = iscsi_connect_error(link, p.fd);
		if (stage->err != 0 || (lib->iscsi_service(link->context,
		    p.revents) != 0 && !stage->over))
			return false;
	}
	return stage->status == SCSI_STATUS_GOOD;
}

static struct iscsi_context *
make_context(const struct libiscsi *lib, const struct iscsi_address *to)
{
	struct iscsi_context *c = lib->iscsi_create_context(to->initiator);
	uint32_t some;

	if (c == NULL)
		return NULL;
	/* Of two sessions with the same ISID, the first would end. */
	if (getrandom(&some, sizeof(some), 0) == sizeof(some))
		lib->iscsi_set_isid_random(c, some & 0xffffff, some >> 24);
	lib->iscsi_set_noautoreconnect(c, 1);
	lib->iscsi_set_reconnect_max_retries(c, 0);
	lib->iscsi_set_tcp_user_timeout(c, (int)to->timeout * 1000);
	lib->iscsi_set_session_type(c, ISCSI_SESSION_NORMAL);
	lib->iscsi_set_header_digest(c, ISCSI_HEADER_DIGEST_NONE_CRC32C);
	lib->iscsi_set_targetname(c, to->name.target);
	if (to->user != NULL)
		lib->iscsi_set_initiator_username_pwd(c, to->user,
		    to->password);
	if (to->user != NULL && to->target_user != NULL)
		lib->iscsi_set_target_username_pwd(c, to->target_user,
		    to->target_password);
	return c;
}

/* Report what libiscsi says, in one line. */
static int
iscsi_login_fail(const struct iscsi_link *link, const struct iscsi_address *to,
    const char *what, struct fault *f)
{
	const char *why = link->lib->iscsi_get_error(link->context);

	if (link->stage.status == SCSI_STATUS_TIMEOUT)
		return fault_set(f, STATUS_FILE, "%s: the target does not "
		    "answer within %u seconds (timeout=)", to->shown,
		    to->timeout);
	if (link->stage.err != 0)
		return fault_errno(f, link->stage.err, "%s: %s", to->shown,
		    what);
	if (why == NULL || why[0] == '\0')
		why = "the target has closed the connection";
	return fault_set(f, STATUS_FILE, "%s: %s: %.*s", to->shown, what,
	    (int)strcspn(why, "\n"), why);
}

/*
 * Connect and log in.  Returns 0, 1 if the target names another portal, or -1
 * with *f.
 */
static int
iscsi_login_once(struct iscsi_link *link, const struct iscsi_address *to,
    const char *portal, double until, struct fault *f)
{
	const struct libiscsi *lib = link->lib;

	iscsi_login_begin(link);
	link->stage.connects = true;
	if (lib->iscsi_connect_async(link->context, portal, step_over,
	    &link->stage) != 0 || !iscsi_login_pass(link, until))
		return iscsi_login_fail(link, to, "connecting", f);
	iscsi_login_begin(link);
	if (lib->iscsi_login_async(link->context, step_over,
	    &link->stage) == 0 && iscsi_login_pass(link, until))
		return 0;
	if (link->stage.over && link->stage.status == SCSI_STATUS_REDIRECT &&
	    lib->iscsi_get_target_address(link->context)[0] != '\0')
		return 1;
	return iscsi_login_fail(link, to, "logging in", f);
}

int
iscsi_login(struct iscsi_link *link, const struct iscsi_address *to,
    struct fault *f)
{
	const struct libiscsi *lib = link->lib;
	double until = clock_seconds() + to->timeout;
	char portal[ISCSI_WORD];
	int i, how = 1;

	strlcpy(portal, to->name.portal, sizeof(portal));
	for (i = 0; i < REDIRECTS && how > 0; i++) {
		link->context = make_context(lib, to);
		if (link->context == NULL)
			return fault_errno(f, ENOMEM, "%s", to->shown);
		how = iscsi_login_once(link, to, portal, until, f);
		if (how == 0)
			return 0;
		if (how > 0)
			strlcpy(portal, lib->iscsi_get_target_address(
			    link->context), sizeof(portal));
		lib->iscsi_destroy_context(link->context);
		link->context = NULL;
	}
	return how < 0 ? -1 : fault_set(f, STATUS_FILE, "%s: logging in: the "
	    "target names one portal after the other", to->shown);
}

void
iscsi_logout(struct iscsi_link *link)
{
	iscsi_login_begin(link);
	if (link->lib->iscsi_logout_async(link->context, step_over,
	    &link->stage) == 0)
		iscsi_login_pass(link, clock_seconds() + FAREWELL);
}
#endif
