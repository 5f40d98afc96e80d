/*
 * iSCSI: a disk of another machine, reached by SCSI commands without a node of
 * the kernel.  Querying the disk, cutting a transfer into commands and judging
 * answers is code of the SCSI end (sg.h); this file carries the commands by
 * libiscsi.
 *
 * All lanes share one session.  The target may still execute a command that it
 * has not answered, and may lose its cache when the session ends.  So once
 * something was sent, there is no second login to a target, and everything
 * since the last flush is in doubt.
 */
#include "config.h"

#include "end/backend.h"

#include "base/status.h"

#ifdef HAVE_LIBISCSI
#include <errno.h>
#include <poll.h>
#include <scsi/sg_lib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/errand.h"
#include "base/number.h"
#include "base/secrets.h"
#include "base/signals.h"
#include "cli/opts.h"
#include "disk/opened.h"
#include "iscsi_link.h"
#include "sg.h"

enum {
	FLIGHTS = 64,		/* per lane */
	ANSWERS = 4,		/* times timeout=, to open it, or to read
				 * outside of the copy */
	PATIENCE = 10,		/* s, to close it */
};

/*
 * It brings libibverbs and its drivers, which takes 6 ms, so it is loaded when
 * needed instead of linked.
 */
static const struct library libiscsi = LIBRARY("libiscsi.so.7", "libiscsi7",
    LIBISCSI_FUNCTIONS(LIBRARY_NAME));

struct iscsi {			/* found from its sg, which is the endpoint's
				 * priv */
	struct sg	 sg;
	struct libiscsi	 lib;
	struct iscsi_address to;
	struct iscsi_link link;
	struct disk	 disk;
	atomic_bool	 stuck;	/* a read was abandoned, and uses this */
	char		 initiator[ISCSI_NAME];
};

struct iscsi_lane {		/* priv of a lane */
	struct sg_lane	 sg;		/* first, for sg.c */
	struct flights	 flights;	/* up to FLIGHTS iscsi_calls */
};

static struct iscsi *
iscsi_of(const struct endpoint *ep)
{
	const struct sg *sg = ep->priv;

	return sg->path.to;
}

/* ---------------------------------------------------------------- opening */

/* The initiator name of this machine, or one of our own. */
static void
name_initiator(char *name, size_t room)
{
	static const char key[] = "InitiatorName=";
	FILE *file = fopen("/etc/iscsi/initiatorname.iscsi", "re");
	char line[512];
	size_t n;

	snprintf(name, room, "iqn.2026-11.org.pardd:initiator");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		n = strcspn(line, " \t\r\n");
		if (strncmp(line, key, strlen(key)) == 0 &&
		    n > strlen(key) && n - strlen(key) < room)
			snprintf(name, room, "%.*s", (int)(n - strlen(key)),
			    line + strlen(key));
	}
	if (file != NULL)
		fclose(file);
}

/* A variable that is set and not empty, or NULL. */
static const char *
from_environment(const char *name)
{
	size_t len = strlen(name);
	char **line;

	for (line = environ; *line != NULL; line++)
		if (strncmp(*line, name, len) == 0 && (*line)[len] == '=' &&
		    (*line)[len + 1] != '\0')
			return *line + len + 1;
	return NULL;
}

/* Our identity: from the name of the end, or else from the environment. */
static void
iscsi_describe(const struct endpoint *ep, struct iscsi *iscsi)
{
	struct iscsi_address *to = &iscsi->to;

	name_initiator(iscsi->initiator, sizeof(iscsi->initiator));
	to->initiator = iscsi->initiator;
	to->user = to->name.user[0] != '\0' ? to->name.user :
	    from_environment("LIBISCSI_CHAP_USERNAME");
	to->password = secrets_of(ep->spec.secrets, ep->name);
	if (to->password == NULL)
		to->password = from_environment("LIBISCSI_CHAP_PASSWORD");
	if (to->password == NULL)
		to->password = "";
	to->target_user = from_environment("LIBISCSI_CHAP_TARGET_USERNAME");
	to->target_password = from_environment("LIBISCSI_CHAP_TARGET_PASSWORD");
	if (to->target_password == NULL)
		to->target_user = NULL;
}

/* scsi_run through the session. */
static int
iscsi_carry(void *to, const struct scsi_command *c, struct scsi_answer *a)
{
	struct iscsi *iscsi = to;
	struct iscsi_call call = { .command = *c };
	int err = iscsi_link_do(&iscsi->link, &call);

	*a = call.answer;
	return err;
}

/* Refuse a target that cannot be written, for whatever reason. */
static int
iscsi_check_target(const struct endpoint *ep, const struct sg *sg,
    struct fault *f)
{
	unsigned n;

	if (sg->disk.type == PDT_ZBC)
		return endpoint_zoned(ep, f);
	if (scsi_protected(&sg->path)) {
		errno = EROFS;
		return fault_found(f, ep);
	}
	n = ep->spec.held ? 0 : scsi_registered(&sg->path);
	if (n == 0)
		return 0;
	return opts_refuse(f, FORCE_HELD, "%s is in use: %u initiator%s "
	    "registered for reservations; end that first", ep->name, n,
	    n == 1 ? " is" : "s are");
}

static int
iscsi_inquire(struct endpoint *ep, struct iscsi *iscsi, struct fault *f)
{
	struct sg *sg = &iscsi->sg;
	struct disk *d = &iscsi->disk;

	if (scsi_ask(&sg->path, ep->name, &sg->disk, f) != 0)
		return -1;
	scsi_identify(&sg->path, d);
	sg->identity = scsi_identity(&sg->path);
	d->length = sg->disk.blocks * sg->disk.block;
	d->logical = d->physical = sg->disk.block;
	sg->how = sg_common(ep, &sg->disk);
	return ep->spec.role == TARGET ? iscsi_check_target(ep, sg, f) : 0;
}

static int
iscsi_log_in(struct endpoint *ep, struct iscsi *iscsi, struct fault *f)
{
	struct iscsi_address *to = &iscsi->to;

	if (iscsi_name(&to->name, ep->name, f) != 0 ||
	    library_load(&libiscsi, &iscsi->lib, ep->name, f) != 0)
		return -1;
	to->shown = ep->name;
	to->timeout = ep->spec.timeout;
	iscsi_describe(ep, iscsi);
	if (iscsi_link_open(&iscsi->link, &iscsi->lib, to, f) != 0)
		return -1;
	iscsi->sg.path = (struct scsi_path){ .timeout = to->timeout * 1000,
		.fd = -1, .node = SCSI_CARRIED, .carry = iscsi_carry, .to =
		    iscsi };
	if (iscsi_inquire(ep, iscsi, f) == 0) {
		sg_fill_in(ep);
		return 0;
	}
	iscsi_link_close(&iscsi->link);
	return -1;
}

struct opening {		/* the errand's, once it is abandoned */
	struct endpoint	*ep;
	struct iscsi	*iscsi;
	struct fault	 f;
	int		 failed;
};

static void
go_log_in(void *arg)
{
	struct opening *o = arg;

	o->failed = iscsi_log_in(o->ep, o->iscsi, &o->f);
}

/* Log in, and ask for the disk, with a time limit for all of it. */
static int
iscsi_reach(struct endpoint *ep, struct iscsi *iscsi, struct fault *f)
{
	struct opening *o = malloc(sizeof(*o));
	unsigned limit = ANSWERS * ep->spec.timeout;
	int err = ENOMEM, failed;

	if (o != NULL) {
		*o = (struct opening){ .ep = ep, .iscsi = iscsi };
		errand_run(go_log_in, o, limit, &err);
	}
	if (err == ETIMEDOUT) {
		ep->is.stuck = true;
		return fault_set(f, STATUS_FILE, "%s: not opened within %u "
		    "seconds (%d times timeout=)", ep->name, limit, ANSWERS);
	}
	failed = err != 0 ? fault_errno(f, err, "%s", ep->name) : o->failed;
	if (err == 0 && failed != 0)
		*f = o->f;
	if (failed != 0)
		free(iscsi);
	free(o);
	return failed;
}

static int
iscsi_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct iscsi *iscsi = calloc(1, sizeof(*iscsi));
	struct sg *sg;

	signals_ignore();		/* a write to a lost connection raises
					 * SIGPIPE */
	ep->is.device = true;
	if (iscsi == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	sg = &iscsi->sg;
	ep->priv = sg;
	ep->holds = &iscsi->link.holds;
	if (iscsi_reach(ep, iscsi, f) != 0)
		return -1;
	if (ep->spec.role == SOURCE && !look)
		node_settle_paths(&iscsi->disk);
	ep->id.server = opened_peer(iscsi->link.fd);
	ep->is.remote = ep->is.single = true;
	ep->geo.depth = FLIGHTS;
	ep->geo.io_max = ep->cmd.most;
	snprintf(ep->offers, sizeof(ep->offers), "at %s%s", iscsi->link.peer,
	    iscsi->to.user != NULL ? ", by CHAP" : "");
	return 0;
}

static void
iscsi_close_errand(void *arg)
{
	iscsi_link_close(arg);
}

static int
iscsi_close(struct endpoint *ep)
{
	static const struct backend closed = { .open = NULL };
	struct iscsi *iscsi = iscsi_of(ep);
	int err = 0;

	if (iscsi->stuck || (!errand_run(iscsi_close_errand, &iscsi->link,
	    PATIENCE, &err) && err == ETIMEDOUT)) {
		ep->is.stuck = true;
		return 0;
	}
	if (err != 0)			/* without a thread */
		iscsi_link_close(&iscsi->link);
	free(iscsi);
	ep->be = &closed;	/* what describes it has gone */
	return 0;
}

/* ------------------------------------------------------------------ lanes */

static int
iscsi_detach(struct lane *lane)
{
	struct iscsi_lane *l = lane->priv;

	if (iscsi_of(lane->ep)->stuck)
		return 0;
	flights_free(&l->flights);
	free(l);
	return 0;
}

static int
iscsi_attach(struct lane *lane)
{
	const struct sg *sg = lane->ep->priv;
	struct iscsi_lane *l = calloc(1, sizeof(*l));
	int err;

	if (l == NULL)
		return ENOMEM;
	lane->priv = l;
	l->sg.path = sg->path;
	err = lane->probes ? 0 : iscsi_link_start(&iscsi_of(lane->ep)->link);
	if (err != 0)
		iscsi_detach(lane);
	return err;
}

/* --------------------------------------------------------------- requests */

/* If the session was lost, say so in the io that failed. */
static void
look_for_loss(const struct endpoint *ep, struct io *io)
{
	char why[64];

	if (io->err == 0 || !iscsi_link_lost(&iscsi_of(ep)->link, why,
	    sizeof(why)))
		return;
	io->err = ENODEV;
	io->status = 0;
	io->bad_off = NOWHERE;
	io->spent = true;
	snprintf(io->why, sizeof(io->why), "the session is gone%s%s%s",
	    ep->spec.role == SOURCE ? "" : "; writes since the last flush "
	    "may be lost", why[0] != '\0' ? "; " : "", why);
}

struct alone {			/* the errand's, once it is abandoned */
	struct endpoint	 ep;
	struct sg_lane	 sg;
	struct lane	 lane;
	struct io	 io;	/* with a buffer of its own */
};

static void
go_read(void *arg)
{
	struct alone *a = arg;

	sg_transfer(&a->lane, &a->io);
	look_for_loss(&a->ep, &a->io);
}

static struct alone *
compose_alone(const struct lane *lane, const struct io *io)
{
	const struct sg_lane *l = lane->priv;
	struct alone *a = malloc(sizeof(*a));

	if (a == NULL)
		return NULL;
	*a = (struct alone){ *lane->ep, *l, *lane, *io };
	a->lane.ep = &a->ep;
	a->lane.priv = &a->sg;
	a->lane.bounce = NULL;
	a->io.buf = page_alloc(io->len);
	if (a->io.buf != NULL)
		return a;
	free(a);
	return NULL;
}

/* A read outside of the copy, where nobody watches (endpoint_inside). */
static void
read_alone(struct lane *lane, struct io *io)
{
	struct iscsi *iscsi = iscsi_of(lane->ep);
	struct alone *a = compose_alone(lane, io);
	unsigned char *buf = io->buf;
	int err = a == NULL ? ENOMEM : ENODEV;

	if (a != NULL && !iscsi->stuck)
		errand_run(go_read, a, ANSWERS * iscsi->to.timeout, &err);
	if (err == 0) {
		memcpy(buf + io->done, a->io.buf + io->done, a->io.done -
		    io->done);
		*io = a->io;
		io->buf = buf;
	}
	io->err = err != 0 ? err : io->err;
	if (err == ETIMEDOUT) {
		iscsi->stuck = true;
		return;
	}
	if (a != NULL) {
		free(a->lane.bounce);
		free(a->io.buf);
	}
	free(a);
}

static void
iscsi_transfer(struct lane *lane, struct io *io)
{
	if (lane->halt < 0 && io->op == OP_READ) {
		read_alone(lane, io);
	} else {
		sg_transfer(lane, io);
		look_for_loss(lane->ep, io);
	}
}

static bool
iscsi_start(struct lane *lane, struct io *io, struct io_uring_sqe *unused)
{
	struct sg *sg = lane->ep->priv;
	struct iscsi_lane *l = lane->priv;
	struct scsi_reply unsent = { .err = ENODEV };
	struct iscsi_call *call;

	(void)unused;
	if (sg->changed)
		return false;
	call = flights_begin(&l->flights, FLIGHTS, sizeof(*call));
	if (call == NULL)
		return false;
	*call = (struct iscsi_call){ .flight = { lane, io, NULL },
		.command = sg_compose(lane, io, io->buf + io->done) };
	sg_sends(sg, &call->command);
	if (!iscsi_link_send(&iscsi_of(lane->ep)->link, call)) {
		sg_sent(sg, &call->command, &unsent);
		flights_end(&l->flights, call);
		return false;
	}
	io->flight = call;
	return true;
}

static int
iscsi_pollfd(struct lane *lane, short *events)
{
	*events = POLLIN;
	return iscsi_of(lane->ep)->link.bell;
}

static void
iscsi_serve(struct lane *lane)
{
	iscsi_link_service(&iscsi_of(lane->ep)->link);
}

static void
iscsi_finish(struct lane *lane, struct io *io, int result)
{
	struct sg *sg = lane->ep->priv;
	struct iscsi_lane *l = lane->priv;
	struct iscsi_call *call = io->flight;
	struct scsi_reply r;

	(void)result;
	scsi_judge(&r, SCSI_CARRIED, &call->command, call->err, &call->answer);
	sg_sent(sg, &call->command, &r);
	io->flight = NULL;
	flights_end(&l->flights, call);
	sg_end(lane, io, &r);
	look_for_loss(lane->ep, io);
}

/* ------------------------------------------------------------ when written */

static int
iscsi_flush(struct endpoint *ep, struct fault *f)
{
	struct iscsi_link *link = &iscsi_of(ep)->link;
	char why[160];
	int failed = sg_flush(ep, f);

	if (failed == 0 || !iscsi_link_lost(link, why, sizeof(why)))
		return failed;
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: the session is gone; "
	    "writes since the last flush may be lost%s%s", ep->name,
	    why[0] != '\0' ? "; " : "", why);
}

static int
close_readback(struct endpoint *r)
{
	return iscsi_of(r)->stuck ? 0 : sg_close(r);
}

/* Reads the target back through the same session. */
static const struct backend iscsi_readback_backend = {
	.attach = iscsi_attach,
	.detach = iscsi_detach,
	.transfer = iscsi_transfer,
	.close = close_readback,
};

static int
iscsi_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *f)
{
	if (sg_readback(target, r, f) != 0)
		return -1;
	r->be = &iscsi_readback_backend;
	return 0;
}

static void
iscsi_disk(const struct endpoint *ep, struct disk *d)
{
	*d = iscsi_of(ep)->disk;
}

#endif

const struct backend iscsi_backend = {
#ifdef HAVE_LIBISCSI
	.open = iscsi_open,
	.attach = iscsi_attach,
	.detach = iscsi_detach,
	.transfer = iscsi_transfer,
	.start = iscsi_start,
	.pollfd = iscsi_pollfd,
	.service = iscsi_serve,
	.finish = iscsi_finish,
	.extent = sg_extent,
	.check_kept = sg_check_kept,
	.flush = iscsi_flush,
	.open_readback = iscsi_readback,
	.note = sg_note,
	.disk = iscsi_disk,
	.close = iscsi_close,
#endif
};
