/*
 * Several targets as one end.  Its limits are those of the strictest target.
 * A lane of it has one of each target, and calls that concern an end as a whole
 * are made for each target that is left.
 *
 * Calls that may take long (flush, close) are made for all at the same time,
 * each as an errand.  A target that takes too long is abandoned, as in a lane.
 */
#include "open/tee.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "end/backend.h"
#include "targets.h"

/* --- the state of each target -------------------------------------------- */

enum { LOOK = 100 };		/* ms between looks for answers */

/* The bytes of "NAME: " in front of a fault, if NAME is the target. */
static unsigned short
targets_named(const struct endpoint *ep, const struct fault *f)
{
	size_t n = strlen(ep->name);

	return strncmp(f->text, ep->name, n) == 0 &&
	    strncmp(f->text + n, ": ", 2) == 0 ? (unsigned short)(n + 2) : 0;
}

void
targets_drop(struct targets *t, unsigned i, const struct fault *why)
{
	struct target *to = &t->target[i];

	pthread_mutex_lock(&t->lock);
	if (to->why.status == 0) {
		to->why = *why;
		to->why.named = targets_named(&to->ep, why);
		if (why->by != TOLD_SILENT)
			to->why.by = TOLD_DROPPED;
	}
	pthread_mutex_unlock(&t->lock);
	to->dropped = true;
}

/* The same for one that has not answered for ns. */
static void
targets_abandon(struct targets *t, unsigned i, uint64_t ns, const char *what,
    int status)
{
	struct fault f;

	fault_set(&f, status, "%s: %s for %.0f s",
	    t->target[i].ep.name, what, (double)ns / 1e9);
	f.by = TOLD_SILENT;
	/* set first: a thread that sees it hang may finish and free */
	t->stuck = true;
	t->target[i].stuck = true;
	targets_drop(t, i, &f);
}

/* A request, or another call that may take long, begins; and it has ended. */
static void
targets_ask(struct targets *t, unsigned i)
{
	if (t->target[i].asked++ == 0)
		t->target[i].answered = clock_ns();
}

static void
targets_answer(struct targets *t, unsigned i, uint64_t since)
{
	uint64_t now = clock_ns();

	t->target[i].asked--;
	t->target[i].answered = now;
	t->target[i].spent += now - since;
}

/*
 * Wait a moment for a condition variable of clock_condition.  Returns true if
 * nobody has signalled it.  *stood is clock_stood: time for which no target is
 * to blame.
 */
static bool
targets_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t *stood)
{
	uint64_t due = clock_ns() + (uint64_t)LOOK * 1000000;
	struct timespec t = clock_spec(due);
	int err = pthread_cond_timedwait(cond, lock, &t);

	*stood = clock_stood(due);
	return err != 0;
}

/* --- lanes --------------------------------------------------------------- */

/*
 * A worker's lane has an arm for each target: a thread
 * with a lane of its own.  The worker gives the same request to all arms, and
 * waits until each has done it or is abandoned.
 *
 * Such an arm is in a system call, and may return at any time.  It then finds
 * that it is ABANDONED, and ends without touching anything.  Until then it
 * uses the buffer of its request, and everything that it knows of must stay
 * where it is.  Nobody joins it: the process ends by _exit.
 *
 *	l	span->lock, a leaf except for targets->lock
 */

enum { STACK = 256 << 10 };	/* bytes */

enum arm_state {
	AWAY,			/* no thread */
	RESTING, BUSY,
	LEAVING,		/* waiting for pending requests, */
	GONE,			/* done with that */
	ABANDONED,
};

struct arm {			/* of a span, for one target */
	pthread_t	 thread;
	struct span	*span;
	unsigned	 i;		/* of the target */
	struct lane	 lane;		/* its thread's, except at rest */
	struct io	 io;		/* likewise */
	bool		 asked;		/* the last request was for it, */
	bool		 spared;	/* or need not be for it */
	enum arm_state	 state;		/* l */
	pthread_cond_t	 moved;		/* l: it has left RESTING */
	uint64_t	 since;		/* l: ns, when it became busy */
	int		 err;		/* l: of detaching */
};

struct span {			/* a worker's lane to all targets */
	struct targets	*t;
	pthread_mutex_t	 lock;
	pthread_cond_t	 over;		/* l: pending has decreased */
	unsigned	 pending;	/* l: arms that are BUSY or LEAVING */
	bool		 buf_in_use;	/* for the worker only: an arm was given
				 * up with the buffer of the request */
	struct arm	 arm[TARGETS_MOST];
};

/* --- the arm's thread --------------------------------------------------- */

/* Serve a request; retry a failed write retries= times, or until a stop. */
static void
arm_serve(struct arm *a)
{
	struct io *io = &a->io;
	struct target *to = &a->span->t->target[a->i];

	lane_transfer(&a->lane, io);
	to->written += io->op != OP_READ ? io->done : 0;
	while (io->op == OP_WRITE && lane_again(&a->lane, io) &&
	    !to->dropped && !lane_halted(&a->lane, 0)) {
		lane_transfer(&a->lane, io);
		to->written += io->done;
	}
}

/* l: the arm is done; false: nobody waits for it any more. */
static bool
arm_answer(struct arm *a, enum arm_state to)
{
	struct span *s = a->span;

	if (a->state == ABANDONED)
		return false;
	targets_answer(s->t, a->i, a->since);
	a->state = to;
	s->pending--;
	pthread_cond_signal(&s->over);
	return true;
}

static void *
arm_run(void *arg)
{
	struct arm *a = arg;
	struct span *s = a->span;
	bool stay = true;
	int err;

	pthread_mutex_lock(&s->lock);
	while (stay) {
		while (a->state == RESTING)
			pthread_cond_wait(&a->moved, &s->lock);
		if (a->state != BUSY)
			break;
		pthread_mutex_unlock(&s->lock);
		arm_serve(a);
		pthread_mutex_lock(&s->lock);
		stay = arm_answer(a, RESTING);
	}
	if (a->state == LEAVING) {
		pthread_mutex_unlock(&s->lock);
		err = lane_detach(&a->lane);
		pthread_mutex_lock(&s->lock);
		a->err = err;
		arm_answer(a, GONE);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- the worker's thread ------------------------------------------------ */

/* l: tell the thread of an arm what to do next. */
static void
set_state(struct arm *a, enum arm_state to)
{
	struct span *s = a->span;

	a->state = to;
	a->since = clock_ns();
	if (to == BUSY || to == LEAVING) {
		s->pending++;
		targets_ask(s->t, a->i);
	}
	pthread_cond_signal(&a->moved);
}

/* l: stop waiting for an arm. */
static void
arm_abandon(struct arm *a)
{
	a->state = ABANDONED;
	a->span->pending--;
	a->span->buf_in_use = true;
}

/* l: abandon arms that have not answered in time. */
static void
abandon_late(struct span *s)
{
	uint64_t now = clock_ns();
	struct arm *a;

	for (a = s->arm; a < s->arm + s->t->n; a++) {
		if (a->state != BUSY && a->state != LEAVING)
			continue;
		if (now - a->since > s->t->limit)
			targets_abandon(s->t, a->i, s->t->limit, "no answer",
			    STATUS_TIMEOUT);
		if (s->t->target[a->i].stuck)
			arm_abandon(a);
	}
}

/* l: wait until no arm is busy. */
static void
wait_all(struct span *s)
{
	uint64_t stood;
	struct arm *a;
	bool in_vain;

	while (s->pending > 0) {
		in_vain = targets_wait(&s->over, &s->lock, &stood);
		for (a = s->arm; a < s->arm + s->t->n; a++)
			a->since += stood;
		if (in_vain)
			abandon_late(s);
	}
}

/* The length of a request for a target; padding depends on its block size. */
static size_t
target_length(const struct endpoint *ep, const struct io *io)
{
	uint64_t end = io->off + io->len - io->padding;

	if (io->op == OP_READ || io->padding == 0)
		return io->len;
	return (size_t)(round_up(end, ep->geo.block > 0 ? ep->geo.block : 1) -
	    io->off);
}

/* l: give the request to each target that is left. */
static void
send_all(struct span *s, const struct io *io)
{
	struct arm *a;

	for (a = s->arm; a < s->arm + s->t->n; a++) {
		a->asked = a->state == RESTING && !s->t->target[a->i].dropped;
		a->spared = a->asked && (io->but & 1U << a->i) != 0;
		a->asked = a->asked && !a->spared;
		if (!a->asked)
			continue;
		a->io = (struct io){ .op = io->op, .off = io->off,
			.len = target_length(a->lane.ep, io), .buf = io->buf,
			.careful = io->careful,
			.lasting = io->lasting && io->op != OP_READ };
		if (io->op == OP_READ)
			a->io.buf += a->i * io->stride;
		set_state(a, BUSY);
	}
}

/* The request has failed at the target of this arm. */
static void
arm_drop(struct arm *a)
{
	const struct io *io = &a->io;
	struct fault f;
	char what[40];

	if (io->op == OP_READ)
		snprintf(what, sizeof(what), "reading back");
	else
		snprintf(what, sizeof(what), "writing %zu bytes",
		    io->len - io->done);
	lane_describe(&f, &a->lane, io, what);
	targets_drop(a->span->t, a->i, &f);
}

/*
 * Whether the result of an arm counts.  Being halted, or unable to zero,
 * concerns all targets; any other failure drops the target.
 */
static bool
arm_counts(struct arm *a, struct io *io)
{
	if (!a->asked || a->state == ABANDONED)
		return a->spared;
	if (a->io.err == 0 || (io->op == OP_READ && errno_is_medium(a->io.err)))
		return true;
	if (a->io.err == ECANCELED || (io->op == OP_ZERO &&
	    a->io.err == EOPNOTSUPP)) {
		io->err = a->io.err;
		return true;
	}
	arm_drop(a);
	return false;
}

/* Combine the results: the request has failed if it failed everywhere. */
static void
span_gather(struct span *s, struct io *io)
{
	unsigned good = 0;
	struct arm *a;

	for (a = s->arm; a < s->arm + s->t->n; a++) {
		good += arm_counts(a, io);
		if (a->asked && a->state != ABANDONED && a->io.buf_in_use)
			io->buf_in_use = true;
	}
	if (good > 0 && io->err == 0)
		io->done = io->len;
	if (good > 0)
		return;
	io->err = EIO;
	io->spent = true;
	snprintf(io->why, sizeof(io->why), "none is left");
}

static void
tee_transfer(struct lane *lane, struct io *io)
{
	struct span *s = lane->priv;

	if (io->op == OP_ZERO && lane->ep->cmd.no_zero) {
		io->err = EOPNOTSUPP;
		return;
	}
	s->buf_in_use = false;
	pthread_mutex_lock(&s->lock);
	send_all(s, io);
	wait_all(s);
	pthread_mutex_unlock(&s->lock);
	io->buf_in_use = s->buf_in_use && io->op == OP_WRITE;
	span_gather(s, io);
	if (io->op == OP_READ)		/* each arm has its own buffer */
		return;
	raise_to(&s->t->end, io->off + io->len - io->padding);
	raise_to(&s->t->padded, io->off + io->len);
}

const struct io *
tee_read(const struct lane *lane, unsigned i)
{
	struct span *s = lane->priv;
	const struct arm *a = &s->arm[i];

	return a->asked && !s->t->target[i].dropped ? &a->io : NULL;
}

/* --- beginning and end -------------------------------------------------- */

/*
 * Start an arm.  A target that takes no lane is dropped; an errno value means
 * that there is no arm at all.
 */
static int
arm_begin(struct arm *a, struct endpoint *ep, uint64_t origin, int halt)
{
	struct targets *t = a->span->t;
	pthread_attr_t attr;
	struct fault f;
	int err = lane_attach(&a->lane, ep, origin, halt);

	if (err != 0) {
		lane_unattached(&f, &a->lane, err);
		targets_drop(t, a->i, &f);
		return 0;
	}
	a->state = RESTING;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = pthread_create(&a->thread, &attr, arm_run, a);
	pthread_attr_destroy(&attr);
	if (err != 0) {
		a->state = AWAY;
		lane_detach(&a->lane);
	}
	return err;
}

/* Detach the lane of each arm, except for targets that do not answer. */
static void
span_end(struct span *s)
{
	struct arm *a;

	pthread_mutex_lock(&s->lock);
	for (a = s->arm; a < s->arm + s->t->n; a++)
		if (a->state == RESTING)
			set_state(a, s->t->target[a->i].stuck ? GONE : LEAVING);
	wait_all(s);
	pthread_mutex_unlock(&s->lock);
	for (a = s->arm; a < s->arm + s->t->n; a++)
		if (a->state == GONE)
			pthread_join(a->thread, NULL);
}

/* An error of detaching concerns only the target of that arm. */
static int
tee_detach(struct lane *lane)
{
	struct span *s = lane->priv;
	struct targets *t = s->t;
	struct fault f;
	unsigned i;

	span_end(s);
	for (i = 0; i < t->n; i++) {
		if (s->arm[i].state != GONE || s->arm[i].err == 0)
			continue;
		fault_errno(&f, s->arm[i].err, "%s: writing back",
		    t->target[i].ep.name);
		targets_drop(t, i, &f);
	}
	if (t->stuck)
		return 0;
	for (i = 0; i < t->n; i++)
		pthread_cond_destroy(&s->arm[i].moved);
	pthread_cond_destroy(&s->over);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return 0;
}

static int
tee_attach(struct lane *lane)
{
	struct tee *tee = lane->ep->priv;
	struct targets *t = tee->targets;
	struct span *s = calloc(1, sizeof(*s));
	unsigned i;
	int err = 0;

	if (s == NULL)
		return ENOMEM;
	lane->priv = s;
	s->t = t;
	pthread_mutex_init(&s->lock, NULL);
	clock_condition(&s->over);
	for (i = 0; i < t->n; i++) {
		s->arm[i].span = s;
		s->arm[i].i = i;
		pthread_cond_init(&s->arm[i].moved, NULL);
	}
	for (i = 0; i < t->n && err == 0; i++)
		if (!t->target[i].dropped && tee->ep[i] != NULL)
			err = arm_begin(&s->arm[i], tee->ep[i],
			    t->target[i].ep.lim.base, lane->halt);
	if (err != 0)
		tee_detach(lane);
	return err;
}

/* --- calls to all targets at the same time ------------------------------- */

static void
target_call(void *arg)
{
	struct target *to = arg;

	to->call.run(&to->ep, &to->call.f);
}

/*
 * The limit for a flush, which may have to write the rest of the page cache: at
 * least 1 MB/s is expected of a medium.
 */
static uint64_t
target_call_timeout(const struct targets *t, const struct target *to)
{
	return t->limit + (to->ep.is.past_cache ? 0 : to->written * 1000);
}

/* The call to a target is over, and has failed if f->status is not 0. */
static void
targets_called(struct targets *t, unsigned i)
{
	struct target *to = &t->target[i];

	to->call.errand = NULL;
	targets_answer(t, i, to->call.since);
	if (to->call.f.status != 0)
		targets_drop(t, i, &to->call.f);
}

static void
targets_call(struct targets *t, unsigned i,
    void (*run)(struct endpoint *, struct fault *))
{
	struct target *to = &t->target[i];
	int err;

	to->call.run = run;
	to->call.f.status = 0;
	to->call.since = clock_ns();
	to->call.limit = target_call_timeout(t, to);
	targets_ask(t, i);
	to->call.errand = errand_start(target_call, to, &err);
	if (to->call.errand != NULL)
		return;
	target_call(to);
	targets_called(t, i);
}

/*
 * Wait a moment for the call to a target, if there is one, and abandon it if it
 * takes too long.  True if it is still under way.
 */
static bool
targets_await(struct targets *t, unsigned i, const char *what)
{
	struct target *to = &t->target[i];
	bool late = clock_ns() - to->call.since > to->call.limit;

	if (to->call.errand == NULL)
		return false;
	if (errand_over(to->call.errand, late)) {
		targets_called(t, i);
		return false;
	}
	if (late) {
		to->call.errand = NULL;
		targets_abandon(t, i, to->call.limit, what, STATUS_NOT_FLUSHED);
	}
	return !late;
}

/*
 * Call run for each target that is left, with "dropped" also for the others,
 * and wait for all.  A target is dropped if run fails, and abandoned if it
 * takes too long; then "what" says what was not done.
 */
static void
targets_call_all(struct targets *t, const char *what, bool dropped,
    void (*run)(struct endpoint *, struct fault *))
{
	uint64_t looked, stood;
	unsigned i, j, left = 1;

	for (i = 0; i < t->n; i++)
		if (!t->target[i].stuck && (dropped || !t->target[i].dropped))
			targets_call(t, i, run);
	for (looked = clock_ns(); left > 0;)
		for (i = left = 0; i < t->n; i++) {
			left += targets_await(t, i, what);
			stood = clock_missed(&looked);
			for (j = 0; j < t->n; j++)
				t->target[j].call.since += stood;
		}
}

static const struct backend tee_backend;

static struct targets *
tee_targets(const struct endpoint *ep)
{
	return ((struct tee *)ep->priv)->targets;
}

/* --- the targets -------------------------------------------------------- */

static bool
is_tee(const struct endpoint *ep)
{
	return ep->be == &tee_backend;
}

struct endpoint *
tee_target(struct endpoint *ep, unsigned i)
{
	if (!is_tee(ep))
		return i == 0 ? ep : NULL;
	return i < tee_targets(ep)->n ? &tee_targets(ep)->target[i].ep : NULL;
}

const struct fault *
tee_dropped(const struct endpoint *ep, unsigned i)
{
	const struct target *to = is_tee(ep) ? &tee_targets(ep)->target[i] :
	    NULL;

	return to != NULL && to->dropped ? &to->why : NULL;
}

unsigned
tee_left(const struct endpoint *ep)
{
	const struct targets *t = tee_targets(ep);
	unsigned left = 0, i;

	for (i = 0; i < t->n; i++)
		left += !t->target[i].dropped;
	return left;
}

uint64_t
tee_written(const struct endpoint *ep, unsigned i)
{
	return tee_targets(ep)->target[i].written;
}

bool
tee_stuck(const struct endpoint *ep)
{
	return is_tee(ep) && tee_targets(ep)->stuck;
}

struct endpoint *
tee_slowest(struct endpoint *ep)
{
	struct targets *t = tee_targets(ep);
	struct target *to, *most = NULL;

	for (to = t->target; to < t->target + t->n; to++)
		if (!to->dropped && (most == NULL || to->spent > most->spent))
			most = to;
	return most == NULL ? ep : &most->ep;
}

struct endpoint *
tee_silent(struct endpoint *ep)
{
	struct targets *t = tee_targets(ep);
	struct target *to, *most = NULL;

	for (to = t->target; to < t->target + t->n; to++)
		if (!to->dropped && to->asked > 0 && (most == NULL ||
		    to->answered < most->answered))
			most = to;
	return most == NULL ? NULL : &most->ep;
}

/* --- opening ------------------------------------------------------------ */

static void
free_targets(struct targets *t)
{
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct targets *
new_targets(unsigned n, const struct opts *o)
{
	struct targets *t = calloc(1, sizeof(*t) + n * sizeof(t->target[0]));

	if (t == NULL)
		return NULL;
	t->n = n;
	pthread_mutex_init(&t->lock, NULL);
	t->limit = (uint64_t)opts_timeout(o) * 1000000000;
	return t;
}

int
tee_open(struct endpoint *ep, const struct opts *o, bool look, struct fault *f)
{
	struct tee *tee = calloc(1, sizeof(*tee));
	struct targets *t = new_targets(o->targets, o);
	unsigned i;

	if (tee == NULL || t == NULL) {
		free(tee);
		if (t != NULL)
			free_targets(t);
		return fault_errno(f, ENOMEM, "several targets");
	}
	tee->targets = t;
	for (i = 0; i < t->n; i++) {
		tee->ep[i] = &t->target[i].ep;
		if (endpoint_open_target(tee->ep[i], o, o->target[i],
		    look, f) != 0)
			break;
	}
	*ep = (struct endpoint){ .be = &tee_backend, .priv = tee,
		.kind = END_SEVERAL,
		.spec = t->target[0].ep.spec,
		.is = { .seekable = true, .zeroes = true },
		.geo = { .size = -1, .room = -1, .io_align = 1 },
		.lim.end = UINT64_MAX, .fd = -1, .dir = -1, .layer = -1,
		.sync_why = "each target has a thread of its own" };
	snprintf(ep->again, sizeof(ep->again), "%u targets", t->n);
	ep->name = ep->again;
	if (i == t->n)
		return 0;
	ep->is.stuck = tee->ep[i]->is.stuck;
	while (i-- > 0) {
		endpoint_close(tee->ep[i]);
		ep->is.stuck |= tee->ep[i]->is.stuck;
	}
	if (!ep->is.stuck) {
		free_targets(t);
		free(tee);
	}
	return -1;
}

/* Whether two names mean the same file; mere overlap is found later. */
static bool
endpoints_same(const struct endpoint *a, const struct endpoint *b)
{
	struct stat st, other;

	if (a->kind == END_DISCARD || a->is.absent != b->is.absent)
		return false;
	if (a->is.absent)
		return fstat(a->dir, &st) == 0 && fstat(b->dir, &other) == 0 &&
		    same_file(&st, &other) &&
		    strcmp(path_base(a->name), path_base(b->name)) == 0;
	if (a->is.remote && b->is.remote)
		return a->lim.part == b->lim.part &&
		    strcmp(a->name, b->name) == 0;
	return a->lim.part == b->lim.part && ((a->id.known && b->id.known &&
	    a->id.dev == b->id.dev && a->id.ino == b->id.ino) ||
	    (a->id.file_ino != 0 && a->id.file_dev == b->id.file_dev &&
	    a->id.file_ino == b->id.file_ino));
}

static int
targets_check_apart(const struct targets *t, unsigned i, struct fault *f)
{
	const struct endpoint *a = &t->target[i].ep, *b;

	while (i-- > 0) {
		b = &t->target[i].ep;
		if (endpoints_same(a, b))
			return fault_set(f, STATUS_REFUSED, "%s and %s are "
			    "the same target", b->name, a->name);
		if (a->is.streamed && b->is.streamed)
			return fault_set(f, STATUS_REFUSED, "%s and %s are "
			    "both written in order: only one of several "
			    "targets may be", b->name, a->name);
	}
	return 0;
}

/* The larger of two block sizes if it is a multiple of the other, else 0. */
static uint32_t
common_multiple(uint32_t a, uint32_t b)
{
	if (a < b)
		return common_multiple(b, a);
	return b == 0 || a % b == 0 ? a : 0;
}

static void
tee_describe(struct endpoint *tee, const struct endpoint *ep)
{
	int64_t room = ep->geo.room - (int64_t)ep->lim.base;

	if (ep->geo.room >= 0 && (tee->geo.room < 0 || room < tee->geo.room))
		tee->geo.room = room > 0 ? room : 0;
	tee->geo.io_opt = MAX(tee->geo.io_opt, ep->geo.io_opt);
	if (ep->geo.io_max > 0 && (tee->geo.io_max == 0 ||
	    ep->geo.io_max < tee->geo.io_max))
		tee->geo.io_max = ep->geo.io_max;
	tee->is.streamed |= ep->is.streamed;
	tee->is.piped |= ep->is.piped;
	tee->is.device |= ep->is.device;
	tee->is.past_cache |= ep->is.past_cache;
	tee->is.durable |= ep->is.durable;
	tee->is.seekable &= ep->is.seekable;
	tee->is.zeroes &= ep->is.zeroes;
}

int
tee_join(struct endpoint *ep, struct fault *f)
{
	const struct targets *t = tee_targets(ep);
	const struct endpoint *to;
	uint32_t block = 0, grain = 1;
	unsigned i;

	for (i = 0; i < t->n; i++) {
		to = &t->target[i].ep;
		if (to->is.zoned)
			return fault_set(f, STATUS_REFUSED, "%s is a zoned "
			    "disk, and written zone by zone: it takes only "
			    "one of=", to->name);
		if (targets_check_apart(t, i, f) != 0)
			return -1;
		block = common_multiple(ep->geo.block, to->geo.block);
		grain = common_multiple(ep->geo.io_align, to->geo.io_align);
		if (grain == 0 || (block == 0 &&
		    ep->geo.block + to->geo.block > 0))
			return fault_set(f, STATUS_REFUSED, "%s has blocks of "
			    "%u bytes, which do not go with those of the "
			    "targets before it", to->name, to->geo.block);
		ep->geo.block = block;
		ep->geo.io_align = grain;
		tee_describe(ep, to);
	}
	return 0;
}

/* --- calls to each target ----------------------------------------------- */

/* Check whether any target is left; -1 with *f if none is. */
static int
targets_left(const struct endpoint *ep, struct fault *f)
{
	if (tee_left(ep) > 0)
		return 0;
	*f = tee_targets(ep)->target[tee_targets(ep)->n - 1].why;
	return -1;
}

bool
tee_is(struct endpoint *ep, int fd)
{
	struct endpoint *to;
	unsigned i;

	for (i = 0; (to = tee_target(ep, i)) != NULL; i++)
		if (endpoint_is(to, fd))
			return true;
	return false;
}

int
tee_look(struct endpoint *ep, struct fault *f)
{
	struct endpoint *to;
	unsigned i;

	for (i = 0; (to = tee_target(ep, i)) != NULL; i++)
		if (endpoint_look(to, f) != 0)
			return -1;
	return 0;
}

/* Remove what was created; nothing has been written to it. */
static void
remove_new(struct targets *t, unsigned n)
{
	const struct endpoint *ep;

	while (n-- > 0) {
		ep = &t->target[n].ep;
		if (ep->is.absent)
			unlinkat(ep->dir, path_base(ep->name), 0);
	}
}

int
tee_prepare(struct endpoint *ep, mode_t mode, int64_t length, struct fault *f)
{
	struct targets *t = tee_targets(ep);
	struct endpoint *to;
	unsigned i;

	if (tee_look(ep, f) != 0)
		return -1;
	for (i = 0; i < t->n; i++) {
		to = &t->target[i].ep;
		if (to->is.absent &&
		    endpoint_prepare(to, mode, length, f) != 0) {
			remove_new(t, i);
			return -1;
		}
	}
	for (i = 0; i < t->n; i++) {
		to = &t->target[i].ep;
		if (!to->is.absent && endpoint_prepare(to, mode, length < 0 ?
		    length : length + (int64_t)to->lim.base, f) != 0)
			return -1;
	}
	return 0;
}

/*
 * Where a target ends if the copy ends at "to": one that needs less padding
 * ends before the others.
 */
static uint64_t
end_of(const struct targets *t, const struct endpoint *one, uint64_t to)
{
	return to == t->padded && t->end < to ? round_up(t->end,
	    one->geo.block > 0 ? one->geo.block : 1) : to;
}

static int
tee_extend(struct endpoint *ep, uint64_t length)
{
	struct targets *t = tee_targets(ep);
	struct endpoint *to;
	struct fault f;
	uint64_t end;
	unsigned i;
	int err;

	for (i = 0; i < t->n; i++) {
		to = &t->target[i].ep;
		end = to->lim.base + end_of(t, to, length);
		err = t->target[i].dropped ? 0 : endpoint_extend(to, end);
		if (err == 0)
			continue;
		fault_errno(&f, err, "%s: making it %llu bytes long", to->name,
		    (unsigned long long)end);
		targets_drop(t, i, &f);
	}
	return tee_left(ep) > 0 ? 0 : EIO;
}

static int
tee_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f)
{
	struct targets *t = tee_targets(ep);
	const struct endpoint *one;
	struct fault why;
	unsigned i;

	for (i = 0; i < t->n; i++) {
		one = &t->target[i].ep;
		if (!t->target[i].dropped && endpoint_check_kept(one,
		    one->lim.base + from, one->lim.base + end_of(t, one, to),
		    holes, &why) != 0)
			targets_drop(t, i, &why);
	}
	return targets_left(ep, f);
}

static void
tee_drop_cache(struct endpoint *ep, uint64_t off, uint64_t len)
{
	struct targets *t = tee_targets(ep);
	struct endpoint *to;
	unsigned i;

	for (i = 0; i < t->n; i++) {
		to = &t->target[i].ep;
		if (!t->target[i].stuck)
			endpoint_drop_cache(to, to->lim.base + off, len);
	}
}

/* --- slow calls --------------------------------------------------------- */

static void
flush_one(struct endpoint *ep, struct fault *f)
{
	if (endpoint_flush(ep, f) != 0)
		f->status = STATUS_NOT_FLUSHED;
}

static void
close_one(struct endpoint *ep, struct fault *f)
{
	int err = endpoint_close(ep);

	if (err == 0)
		return;
	fault_errno(f, err, "%s: closing", ep->name);
	f->status = STATUS_NOT_FLUSHED;
}

static int
tee_flush(struct endpoint *ep, struct fault *f)
{
	targets_call_all(tee_targets(ep), "not flushed", false, flush_one);
	return targets_left(ep, f);
}

/* --- reading back ------------------------------------------------------- */

static int
close_reader(struct tee *tee)
{
	unsigned i;

	for (i = 0; i < tee->targets->n; i++)
		if (tee->ep[i] != NULL && !tee->targets->target[i].stuck)
			endpoint_close(tee->ep[i]);
	if (tee->targets->stuck)
		return 0;
	free(tee->readers);
	free(tee);
	return 0;
}

/* All are read at the same places, in units that suit every target. */
static int
tee_readback(const struct endpoint *target, struct endpoint *r, struct fault *f)
{
	struct targets *t = tee_targets(target);
	struct tee *tee = calloc(1, sizeof(*tee));
	unsigned i;

	if (tee != NULL)
		tee->readers = calloc(t->n, sizeof(*tee->readers));
	if (tee == NULL || tee->readers == NULL) {
		free(tee);
		return fault_errno(f, ENOMEM, "several targets");
	}
	tee->targets = t;
	r->be = &tee_backend;
	r->priv = tee;
	r->geo.io_align = 1;
	for (i = 0; i < t->n; i++) {
		if (endpoint_readback(&tee->readers[i], &t->target[i].ep,
		    UINT32_MAX, f) != 0) {
			close_reader(tee);
			return -1;
		}
		tee->ep[i] = &tee->readers[i];
		r->geo.io_align = MAX(r->geo.io_align,
		    tee->readers[i].geo.io_align);
	}
	return 0;
}

/* --- closing ------------------------------------------------------------ */

/* Keep the state of each target until tee_free. */
static int
tee_close(struct endpoint *ep)
{
	struct tee *tee = ep->priv;

	if (tee->readers != NULL)
		return close_reader(tee);
	targets_call_all(tee->targets, "not closed", true, close_one);
	return 0;
}

void
tee_free(struct endpoint *ep)
{
	struct tee *tee = ep->priv;

	if (!is_tee(ep) || tee->targets->stuck)
		return;
	free_targets(tee->targets);
	free(tee);
}

static const struct backend tee_backend = {
	.attach = tee_attach,
	.detach = tee_detach,
	.transfer = tee_transfer,
	.extend = tee_extend,
	.check_kept = tee_check_kept,
	.flush = tee_flush,
	.open_readback = tee_readback,
	.drop_cache = tee_drop_cache,
	.close = tee_close,
};
