/*
 * The asynchronous engine.  A worker has a number of slots, each with a piece
 * that is being read, waits to be written, or is being written; io_uring
 * reports which request has ended.  Reads and writes have separate windows
 * so that a slow target does not take slots from the source, nor a
 * slow source from the target.  Every few seconds both start small again,
 * because times measured with a long queue say nothing about the disk.
 *
 * Whatever io_uring does only in part, or cannot do, is finished by the
 * blocking functions of the other engine, which also examine failures.
 * Requests in flight continue meanwhile.
 *
 * An end that io_uring does not support sends requests itself.  The ring waits
 * for it, too, and calls its lane every second, because an answer may
 * never come.
 *
 * With hash= a slot is lent to the digests after it was read, and becomes idle
 * once it is written and they are done with it.  Slots are lent as soon as they
 * are read, so that no digest waits for a slot that is held up here.
 *
 * All slots of a queue belong to one thread: there is no lock.
 */
#include "copy/worker.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "copy/job.h"
#include "copy/piece.h"
#include "copy/sparse.h"
#include "copy/transfer.h"
#include "digest/hash.h"
#include "end/lane.h"

/* --- windows of requests ------------------------------------------------- */

enum {
	LEAST = 3,		/* smallest window: one served, one next, one
				 * new */
	GROWTH = 2,		/* for each request that returned quickly */
};

void
window_begin(struct window *win)
{
	win->size = win->fixed > 0 ? win->fixed : LEAST;
	win->base = UINT64_MAX;
}

bool
window_full(const struct window *win)
{
	return win->busy >= win->size;
}

void
window_start(struct window *win)
{
	win->busy++;
	if (win->busy > win->most)
		win->most = win->busy;
}

void
window_end(struct window *win, uint64_t took)
{
	bool full = window_full(win);

	win->busy--;
	if (win->fixed > 0)
		return;
	if (took < win->base)
		win->base = took;
	if (full && took < win->base + win->base / 2)
		win->size = win->size + GROWTH < win->limit ?
		    win->size + GROWTH : win->limit;
	else if (took / 4 > win->base && win->size > LEAST)
		win->size--;
}

/*
 * The io_uring of one thread.
 *
 * An end that io_uring does not support sends requests itself, as a library
 * does.  The ring polls the descriptors of its lane, so that there is one place
 * to wait for all that is in flight.
 */

enum {
	URING_LARGE = 2,	/* entries taken up by a large one */
	LIBRARIES = 2,
	POLLS = 2,		/* of a library: to read, to write */
};

struct library {		/* that sends the requests of a lane */
	struct lane	*lane;
	unsigned	 busy;	/* requests in flight */
	bool		 polled[POLLS];	/* the poll is in the ring */
};

struct uring {
	struct io_uring	 ring;
	struct library	 library[LIBRARIES];	/* of source and target */
	bool		 wide;	/* the ring has large entries */
};

/*
 * Setting up an io_uring, submitting to it, and waiting, also for libraries.
 */

enum { SECOND = 1000000000 };	/* ns */

static const short poll_events[POLLS] = { POLLIN, POLLOUT };

/*
 * Open the ring, for one request at a time of each of "slots", and for the
 * polls.  The lanes are in library[] already, and the struct stays where it is.
 * Returns 0, or an errno value.
 */
static int
uring_open(struct uring *u, unsigned slots)
{
	/* One thread submits and waits: the kernel finds that cheapest. */
	static const unsigned flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		0,			/* Linux before 6.1 */
	};
	unsigned large = u->wide ? IORING_SETUP_SQE128 | IORING_SETUP_CQE32 : 0;
	int err = -ENOSYS;
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]) && err < 0; i++)
		err = io_uring_queue_init(slots * 2 + 2 * LIBRARIES * POLLS,
		    &u->ring, flags[i] | large | IORING_SETUP_R_DISABLED);
	return -err;
}

/*
 * Submit a request with the next wait; data comes back with its completion.
 * The ring has two entries for each slot, which has one request at a time, and
 * for each poll.  A large entry takes as much space as two.
 */
static void
uring_enter(struct uring *u, const struct io_uring_sqe *request, void *data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	assert(sqe != NULL);
	memcpy(sqe, request, sizeof(*sqe) * (u->wide ? URING_LARGE : 1));
	io_uring_sqe_set_data(sqe, data);
}

/* How many entries have not been submitted yet. */
static unsigned
uring_unsubmitted(const struct uring *u)
{
	return io_uring_sq_ready(&u->ring);
}

/* The nth poll, over all libraries. */
static bool *
nth_poll(struct uring *u, size_t n, struct library **lib)
{
	*lib = &u->library[n / POLLS];
	return &(*lib)->polled[n % POLLS];
}

/* Handle a completion that belongs to a library; false if it is another. */
static bool
uring_served(struct uring *u, const void *data)
{
	struct library *lib;
	bool *polled;
	size_t i;

	for (i = 0; i < (size_t)LIBRARIES * POLLS; i++) {
		polled = nth_poll(u, i, &lib);
		if (data != polled)
			continue;
		*polled = false;
		lane_service(lib->lane);
		return true;
	}
	return false;
}

/*
 * Take the next completion of a request.  A poll that has ended lets its
 * library work.  Returns false if there is no completion.
 */
static bool
uring_next(struct uring *u, void **data, int *result)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
		*data = io_uring_cqe_get_data(cqe);
		*result = cqe->res;
		io_uring_cqe_seen(&u->ring, cqe);
		/* NULL: a poll was removed */
		if (*data != NULL && !uring_served(u, *data))
			return true;
	}
	return false;
}

/*
 * Wait for a completion, but not longer than ns nanoseconds; 0: without limit.
 * Returns 0, or an errno value if the ring itself fails.
 */
static int
uring_wait(struct uring *u, uint64_t ns)
{
	struct __kernel_timespec t = { .tv_sec = (long long)(ns / SECOND),
		.tv_nsec = (long long)(ns % SECOND) };
	struct io_uring_cqe *cqe;
	int err = ns == 0 ? io_uring_submit_and_wait(&u->ring, 1) :
	    io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, &t, NULL);

	return err >= 0 || err == -ETIME || err == -EINTR || err == -EAGAIN ||
	    err == -EBUSY ? 0 : -err;
}

/* Take a request that a library has finished, or NULL. */
static struct io *
uring_ended(struct uring *u)
{
	struct library *lib;
	struct io *io;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++) {
		io = lane_ended(lib->lane);
		if (io != NULL) {
			lib->busy--;
			return io;
		}
	}
	return NULL;
}

/* Let all libraries work that have requests in flight. */
static void
uring_service(struct uring *u)
{
	struct library *lib;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++)
		if (lib->busy > 0)
			lane_service(lib->lane);
}

/*
 * Wait for a library without the ring, for at most ms milliseconds.  Returns
 * false if none has requests in flight.
 */
static bool
uring_wait_library(struct uring *u, int ms)
{
	struct library *lib;
	struct pollfd p;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++) {
		if (lib->busy == 0)
			continue;
		p.fd = lane_pollfd(lib->lane, &p.events);
		poll(&p, 1, ms);
		lane_service(lib->lane);
		return true;
	}
	return false;
}

/* Have the ring poll the descriptors of the libraries. */
static void
uring_arm(struct uring *u)
{
	struct library *lib;
	struct io_uring_sqe sqe[URING_LARGE];
	short events;
	size_t i;
	int fd;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++) {
		fd = lane_pollfd(lib->lane, &events);
		for (i = 0; i < POLLS && fd >= 0; i++) {
			if (lib->polled[i] || (events & poll_events[i]) == 0)
				continue;
			memset(sqe, 0, sizeof(sqe));
			io_uring_prep_poll_add(sqe, fd,
			    (unsigned)poll_events[i]);
			uring_enter(u, sqe, &lib->polled[i]);
			lib->polled[i] = true;
		}
	}
}

/*
 * Remove all polls with the next wait, because the lanes are about to be
 * detached, and then take completions.  That fails for a poll that the kernel
 * is about to look at; it stays if there is nothing to see, because a library
 * was quicker.  So repeat this until uring_armed returns false.
 */
static void
uring_disarm(struct uring *u)
{
	struct io_uring_sqe sqe[URING_LARGE];
	struct library *lib;
	bool *polled;
	size_t i;

	for (i = 0; i < (size_t)LIBRARIES * POLLS; i++) {
		polled = nth_poll(u, i, &lib);
		if (!*polled)
			continue;
		memset(sqe, 0, sizeof(sqe));
		io_uring_prep_poll_remove(sqe, (uintptr_t)polled);
		uring_enter(u, sqe, NULL);
	}
}

static bool
uring_armed(const struct uring *u)
{
	const struct library *lib;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++)
		if (lib->polled[0] || lib->polled[1])
			return true;
	return false;
}

static const uint64_t period = 4000000000;	/* ns until windows start small
						 * again */
static const uint64_t tick = 1000000000;	/* ns between two calls of a
						 * library */

enum state { IDLE, READING, READY, WRITING, LENT };

struct slot {
	enum state	 state;
	struct piece	 pc;
	struct io	 io;
	unsigned char	*buf;
	uint64_t	 start;		/* ns */
	struct hash_piece lent;		/* lent to the digests */
	struct slot	*next;		/* idle, ready, or lent */
};

struct queue {
	struct worker	*w;
	struct uring	 uring;
	struct slot	*slot;
	unsigned	 slots, busy;	/* busy: all that are not idle */
	struct slot	*idle;		/* last used first: still in the
					 * cache */
	struct slot	*ready, **last;	/* in the order they became ready */
	struct slot	*lent;		/* written, but still lent */
	struct window	 reads, writes;
	struct piece	 held;		/* claimed, waiting for rate=; */
	uint64_t	 due;		/* ns until then; 0: none is held */
	uint64_t	 again;		/* ns, end of the period */
	uint64_t	 look;		/* ns, time of the next tick */
	bool		 broken;	/* the ring itself has failed */
};

static void
begin_small(struct queue *q, uint64_t t)
{
	window_begin(&q->reads);
	window_begin(&q->writes);
	q->again = t + period;
}

static void
become_idle(struct queue *q, struct slot *s)
{
	s->state = IDLE;
	s->next = q->idle;
	q->idle = s;
	q->busy--;
}

/* A slot has been read; queue it for writing. */
static void
to_ready(struct queue *q, struct slot *s)
{
	piece_took(q->w, &s->pc, &s->io);
	piece_lend(q->w, &s->pc, &s->lent);
	s->state = READY;
	s->next = NULL;
	*q->last = s;
	q->last = &s->next;
}

static void
slot_written(struct queue *q, struct slot *s, bool stored)
{
	piece_done(q->w, &s->pc, stored);
	if (hash_taken(q->w->job->p->hash, &s->lent)) {
		become_idle(q, s);
		return;
	}
	s->state = LENT;
	s->next = q->lent;
	q->lent = s;
}

/* Make slots idle that the digests have finished with. */
static void
queue_collect(struct queue *q)
{
	struct hash *hash = q->w->job->p->hash;
	struct slot **at = &q->lent, *s;

	while ((s = *at) != NULL) {
		if (hash_taken(hash, &s->lent)) {
			*at = s->next;
			become_idle(q, s);
		} else {
			at = &s->next;
		}
	}
}

static void
slot_ended(struct queue *q, struct slot *s)
{
	bool stored;

	q->w->buf = s->buf;
	if (s->state == READING) {
		to_ready(q, s);
	} else {
		stored = transfer_wrote(q->w, &s->io);
		slot_written(q, s, stored);
	}
}

/* Submit the request of a slot, or carry it out at once. */
static void
slot_start(struct queue *q, struct slot *s, struct lane *lane,
    struct window *win)
{
	struct io_uring_sqe sqe[URING_LARGE] = { 0 };

	s->start = clock_ns();
	if (!lane_start(lane, &s->io, sqe)) {
		lane_transfer(lane, &s->io);
		slot_ended(q, s);
		return;
	}
	if (lane_serves(lane))
		q->uring.library[lane == &q->w->dst].busy++;
	else
		uring_enter(&q->uring, sqe, s);
	window_start(win);
}

static void
start_read(struct queue *q, const struct piece *pc)
{
	struct slot *s = q->idle;

	q->idle = s->next;
	q->busy++;
	s->state = READING;
	s->pc = *pc;
	s->io = (struct io){ .op = OP_READ, .buf = s->buf,
		.off = pc->seg.off, .len = (size_t)pc->seg.len };
	slot_start(q, s, &q->w->src, &q->reads);
}

static void
start_write(struct queue *q)
{
	struct slot *s = q->ready;
	size_t len;
	bool noted;

	q->ready = s->next;
	if (q->ready == NULL)
		q->last = &q->ready;
	s->state = WRITING;
	q->w->buf = s->buf;
	len = piece_to_write(q->w, &s->pc);
	s->io = (struct io){ .op = OP_WRITE, .buf = s->buf,
		.off = s->pc.seg.off, .len = len };
	noted = piece_note(q->w, s->pc.seg.off, len);
	if (len == 0 || !noted)
		slot_written(q, s, noted);
	else if (sparse_wanted(q->w->job->p))	/* several writes: one by one */
		slot_written(q, s, sparse_write(q->w, s->pc.seg.off, len));
	else
		slot_start(q, s, &q->w->dst, &q->writes);
}

/* Put back the piece that is held, so that the digests do not wait for it. */
static void
queue_release_held(struct queue *q)
{
	if (q->due > 0) {
		hash_stop(q->w->job->p->hash);
		transfer_settle(q->w, q->held.seg.off, q->held.seg.len,
		    UNTRIED);
	}
	q->due = 0;
}

/*
 * Claim the next piece once rate= allows it.  Until then the piece is held, and
 * requests in flight are served.
 */
static bool
queue_next_piece(struct queue *q, struct piece *pc)
{
	struct job *job = q->w->job;
	uint64_t len;

	if (q->due == 0 && !piece_claim(q->w, &q->held))
		return false;
	len = q->held.seg.len;
	if (q->held.hole)
		;			/* sparse_hole waits by itself */
	else if (q->busy > 0)
		q->due = rate_due(&job->rate, len);
	else
		q->due = rate_wait(&job->rate, len, job->halt) ? 0 : 1;
	if (q->due > 0) {
		if (job->stop)
			queue_release_held(q);
		return false;
	}
	*pc = q->held;
	return true;
}

/* Fill both windows; false if nothing is in flight any more. */
static bool
queue_fill(struct queue *q)
{
	struct piece pc;

	queue_collect(q);
	for (;;) {
		while (q->ready != NULL && !window_full(&q->writes))
			start_write(q);
		if (q->idle == NULL || window_full(&q->reads) ||
		    q->busy >= q->reads.size + q->writes.size ||
		    !queue_next_piece(q, &pc))
			break;
		if (pc.hole) {
			q->w->buf = q->idle->buf;	/* an idle slot's */
			sparse_hole(q->w, &pc.seg);
		} else {
			start_read(q, &pc);
		}
	}
	return q->busy > 0;
}

/* A request has completed. */
static void
queue_put_back(struct queue *q, struct slot *s)
{
	window_end(s->state == READING ? &q->reads : &q->writes,
	    clock_ns() - s->start);
	slot_ended(q, s);
}

static struct slot *
slot_of(struct io *io)
{
	return (struct slot *)((char *)io - offsetof(struct slot, io));
}

/* Take requests that a library has finished; false if there are none. */
static bool
take_ended(struct queue *q)
{
	struct io *io;
	bool any = false;

	while ((io = uring_ended(&q->uring)) != NULL) {
		queue_put_back(q, slot_of(io));
		any = true;
	}
	return any;
}

/* Take all completions. */
static void
queue_take_completions(struct queue *q)
{
	struct slot *s;
	void *slot;
	int result;

	while (uring_next(&q->uring, &slot, &result)) {
		s = slot;
		lane_finish(s->state == READING ? &q->w->src : &q->w->dst,
		    &s->io, result);
		queue_put_back(q, s);
	}
	take_ended(q);
}

/*
 * Wait for a completion, for the time of a piece that is held, or for the next
 * tick of a library.  Returns 0, or an errno value if the ring itself fails.
 */
static int
queue_await(struct queue *q)
{
	if (q->due > 0)
		return uring_wait(&q->uring, MIN(q->due, RATE_LOOK));
	return uring_wait(&q->uring, q->uring.library[0].busy +
	    q->uring.library[1].busy > 0 ? tick : 0);
}

static unsigned
queue_in_flight(const struct queue *q)
{
	return q->reads.busy + q->writes.busy;
}

/* Finish the requests of libraries without a ring. */
static void
queue_drain(struct queue *q)
{
	do
		take_ended(q);
	while (uring_wait_library(&q->uring, (int)(tick / 1000000)));
}

/*
 * The ring itself has failed.  Requests it was given may still change the
 * target, so wait as long as the ring reports completions.  After that there is
 * nothing to wait for: the kernel has pinned the pages it is using, and
 * requests it has not begun end with this thread, before the buffers are freed.
 */
static void
queue_ring_failed(struct queue *q, int err)
{
	struct fault f;
	unsigned i, left;

	job_stop(q->w->job);
	queue_release_held(q);
	hash_stop(q->w->job->p->hash);
	queue_drain(q);
	while (queue_in_flight(q) > 0 && queue_await(q) == 0)
		queue_take_completions(q);
	left = uring_unsubmitted(&q->uring);
	left = queue_in_flight(q) > left ? queue_in_flight(q) - left : 0;
	if (left > 0)
		fault_errno(&f, err, "io_uring, with %u requests still under "
		    "way", left);
	else
		fault_errno(&f, err, "io_uring");
	job_fail(q->w->job, &f);
	for (i = 0; i < q->slots; i++) {
		hash_wait(q->w->job->p->hash, &q->slot[i].lent);
		if (q->slot[i].state != IDLE && q->slot[i].state != LENT)
			piece_done(q->w, &q->slot[i].pc, false);
	}
	q->broken = true;
}

/* Remove the polls of lanes that are about to be detached. */
static void
queue_disarm(struct queue *q)
{
	while (uring_armed(&q->uring)) {
		if (uring_unsubmitted(&q->uring) == 0)
			uring_disarm(&q->uring);
		if (queue_await(q) != 0)
			break;
		queue_take_completions(q);
	}
}

static void
queue_harvest(struct queue *q)
{
	uint64_t t;
	int err;

	if (take_ended(q))
		return;
	uring_arm(&q->uring);
	err = queue_await(q);
	if (err != 0) {
		queue_ring_failed(q, err);
		return;
	}
	queue_take_completions(q);
	t = clock_ns();
	if (t > q->again)
		begin_small(q, t);
	if (t > q->look) {
		uring_service(&q->uring);
		q->look = t + tick;
	}
}

/* Nothing is in flight and every slot is lent: wait for the first to return. */
static void
wait_hasher(struct queue *q)
{
	struct slot *s, *first = q->lent;

	for (s = q->lent; s != NULL; s = s->next)
		if (s->pc.seg.off < first->pc.seg.off)
			first = s;
	hash_wait(q->w->job->p->hash, &first->lent);
}

void
ring_work(struct queue *q)
{
	int err = io_uring_enable_rings(&q->uring.ring);

	if (err < 0)
		queue_ring_failed(q, -err);
	begin_small(q, clock_ns());
	while (!q->broken && queue_fill(q))
		if (queue_in_flight(q) > 0 || q->lent == NULL)
			queue_harvest(q);
		else
			wait_hasher(q);
	queue_disarm(q);
}

/*
 * The largest possible window is half of the slots, or what the end allows;
 * with qd= it is half of them always.
 */
static struct window
queue_window(const struct plan *p, const struct endpoint *ep)
{
	unsigned half = p->slots / 2;

	return (struct window){ .fixed = p->opts->qd > 0 ? half : 0,
		.limit = ep->geo.depth > 0 && ep->geo.depth < half ?
		    ep->geo.depth : half };
}

struct queue *
ring_new(struct worker *w, unsigned char *bufs, size_t stride, unsigned slots,
    int *err)
{
	struct queue *q = calloc(1, sizeof(*q));
	struct slot *s;

	*err = ENOMEM;
	if (q == NULL)
		return NULL;
	q->w = w;
	q->slots = slots;
	q->uring.wide = w->job->p->src->is.wide || w->job->p->dst->is.wide;
	q->reads = queue_window(w->job->p, w->job->p->src);
	q->writes = queue_window(w->job->p, w->job->p->dst);
	q->last = &q->ready;
	q->uring.library[0].lane = &w->src;
	q->uring.library[1].lane = &w->dst;
	q->slot = calloc(slots, sizeof(*q->slot));
	if (q->slot != NULL)
		*err = uring_open(&q->uring, slots);
	if (*err != 0) {
		free(q->slot);
		free(q);
		return NULL;
	}
	while (slots-- > 0) {
		s = &q->slot[slots];
		s->buf = bufs + slots * stride;
		s->next = q->idle;
		q->idle = s;
	}
	return q;
}

void
ring_free(struct queue *q)
{
	if (q == NULL)
		return;
	io_uring_queue_exit(&q->uring.ring);
	free(q->slot);
	free(q);
}

void
ring_depth(const struct queue *q, unsigned *reads, unsigned *writes)
{
	*reads = q->reads.most;
	*writes = q->writes.most;
}
