/*
 * Several targets as one end.  Its limits are those of the strictest target.
 * It has no lanes of its own but those of the targets (tee_lane.c), and calls
 * that concern an end as a whole are made for each target that is left.
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
