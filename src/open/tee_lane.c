/*
 * The lanes of a tee.  A worker's lane has an arm for each target: a thread
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
#include "open/tee.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
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

void
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

void
targets_ask(struct targets *t, unsigned i)
{
	if (t->target[i].asked++ == 0)
		t->target[i].answered = clock_ns();
}

void
targets_answer(struct targets *t, unsigned i, uint64_t since)
{
	uint64_t now = clock_ns();

	t->target[i].asked--;
	t->target[i].answered = now;
	t->target[i].spent += now - since;
}

bool
targets_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t *stood)
{
	uint64_t due = clock_ns() + (uint64_t)LOOK * 1000000;
	struct timespec t = clock_spec(due);
	int err = pthread_cond_timedwait(cond, lock, &t);

	*stood = clock_stood(due);
	return err != 0;
}

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

/* Make *high at least n. */
static void
raise_to(atomic_uint_fast64_t *high, uint64_t n)
{
	uint_fast64_t old = *high;

	while (old < n && !atomic_compare_exchange_weak(high, &old, n))
		continue;
}

void
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

int
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

/* An error of detaching concerns only the target of that arm. */
int
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
