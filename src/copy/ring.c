/*
 * The asynchronous engine.  A worker has a number of slots, each with a piece
 * that is being read, waits to be written, or is being written; io_uring tells
 * which request has ended.  Reads and writes have windows of their own, so that
 * a slow target does not take the source's share, nor the other way round.
 *
 * A window grows while requests come back as fast as the first one did: their
 * time is latency then, which more of them hide.  When they take much longer,
 * they wait for one another, and more would only use memory and be in the way
 * of others.  Every few seconds both windows begin small again, since what was
 * measured in a long queue tells nothing about the disk.
 *
 * What io_uring cannot do, or does in part, and all that fails is done again or
 * looked into by the same blocking functions that the other engine uses; the
 * requests in flight do not mind.
 *
 * An end that io_uring does not know sends requests by itself, and has the ring
 * poll for the answers to all that its lane has started; and call it every
 * second, since an answer may fail to come.
 *
 * With hash= a slot is lent to the digests once it was read, and becomes idle
 * when it was written and they have taken it.  All that is read is lent at
 * once, so that nobody waits for what is held up here.
 *
 * Slots are one thread's: there is no lock here.
 */
#include "copy/ring.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "copy/job.h"
#include "copy/piece.h"
#include "copy/sparse.h"
#include "copy/transfer.h"
#include "digest/hash.h"

enum {
	LEAST = 3,		/* in a window: one served, one next, one new */
	GROWTH = 2,		/* for each that came back quickly */
	LARGE = 2,		/* entries that a large one takes */
	SECOND = 1000000000,	/* ns */
};

static const uint64_t period = 4000000000;	/* ns between new beginnings */
static const uint64_t tick = SECOND;	/* between calls of a library */

enum state { IDLE, READING, READY, WRITING, LENT };

struct slot {
	enum state	 state;
	struct piece	 pc;
	struct io	 io;
	unsigned char	*buf;
	uint64_t	 start;		/* ns */
	struct hash_piece lent;		/* to the digests */
	struct slot	*next;		/* idle, ready, or lent */
};

struct window {
	unsigned	 size;		/* requests that may be in flight */
	unsigned	 limit;		/* of size */
	unsigned	 busy;		/* that are */
	unsigned	 most;		/* that ever were */
	uint64_t	 base;		/* ns, the quickest of the period */
};

struct watch {			/* of a lane whose requests are a library's */
	struct lane	*lane;
	unsigned	 busy;	/* requests that have not come back */
	bool		 polled[2];	/* for poll_events[i]: in the ring */
};

enum { WATCHES = 2, POLLS = 2 };

static const short poll_events[POLLS] = { POLLIN, POLLOUT };

struct queue {
	struct worker	*w;
	struct io_uring	 ring;
	struct watch	 watch[WATCHES];	/* source and target */
	struct slot	*slot;
	unsigned	 slots, busy;	/* busy: not idle */
	struct slot	*idle;		/* last used first: it is warm */
	struct slot	*ready, **last;	/* in the order they became so */
	struct slot	*lent;		/* written, not taken yet */
	struct window	 reads, writes;
	unsigned	 fixed;		/* qd=, or 0 */
	struct piece	 held;		/* claimed; waits for its time by */
	uint64_t	 due;		/* rate=: ns, or 0 and none is held */
	uint64_t	 again;		/* ns, when the period ends */
	uint64_t	 look;		/* ns, of the next tick */
	bool		 wide;		/* the ring has large entries */
	bool		 broken;	/* the ring */
};

static void
begin_small(struct queue *q, uint64_t t)
{
	unsigned size = q->fixed > 0 ? q->fixed : LEAST;

	q->reads.size = q->writes.size = size;
	q->reads.base = q->writes.base = UINT64_MAX;
	q->again = t + period;
}

/* A request of this window has come back. */
static void
learn(struct queue *q, struct window *win, uint64_t took)
{
	bool full = win->busy >= win->size;

	win->busy--;
	if (q->fixed > 0)
		return;
	if (took < win->base)
		win->base = took;
	if (full && took < win->base + win->base / 2)
		win->size = win->size + GROWTH < win->limit ?
		    win->size + GROWTH : win->limit;
	else if (took / 4 > win->base && win->size > LEAST)
		win->size--;
}

static void
become_idle(struct queue *q, struct slot *s)
{
	s->state = IDLE;
	s->next = q->idle;
	q->idle = s;
	q->busy--;
}

/* It was read. */
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
written(struct queue *q, struct slot *s, bool stored)
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

/* What the digests have taken meanwhile is idle. */
static void
collect(struct queue *q)
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
ended(struct queue *q, struct slot *s)
{
	bool stored;

	q->w->buf = s->buf;
	if (s->state == READING) {
		to_ready(q, s);
	} else {
		stored = transfer_wrote(q->w, &s->io);
		written(q, s, stored);
	}
}

/* Where zeros are looked for, a piece is several requests: one by one. */
static void
write_in_parts(struct queue *q, struct slot *s, size_t len)
{
	written(q, s, sparse_write(q->w, s->pc.seg.off, len));
}

/*
 * The ring has two entries for each slot, which has one request at a time, and
 * for each poll.  A large entry is as long as two.
 */
static void
enter(struct queue *q, const struct io_uring_sqe *request, void *data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&q->ring);

	assert(sqe != NULL);
	memcpy(sqe, request, sizeof(*sqe) * (q->wide ? LARGE : 1));
	io_uring_sqe_set_data(sqe, data);
}

/* Hand the slot's request to the kernel, or do it here and now. */
static void
start(struct queue *q, struct slot *s, struct lane *lane, struct window *win)
{
	struct io_uring_sqe sqe[LARGE] = { 0 };

	s->start = clock_ns();
	if (lane_submit(lane, &s->io, sqe)) {
		enter(q, sqe, s);
	} else if (lane_start(lane, &s->io)) {
		q->watch[lane == &q->w->dst].busy++;
	} else {
		lane_transfer(lane, &s->io);
		ended(q, s);
		return;
	}
	win->busy++;
	if (win->busy > win->most)
		win->most = win->busy;
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
	start(q, s, &q->w->src, &q->reads);
}

static void
start_write(struct queue *q)
{
	struct slot *s = q->ready;
	size_t len;

	q->ready = s->next;
	if (q->ready == NULL)
		q->last = &q->ready;
	s->state = WRITING;
	q->w->buf = s->buf;
	len = piece_to_write(q->w, &s->pc);
	s->io = (struct io){ .op = OP_WRITE, .buf = s->buf,
		.off = s->pc.seg.off, .len = len };
	if (!piece_note(q->w, s->pc.seg.off, len))
		s->io.err = ENOMEM;
	if (len == 0 || s->io.err != 0)
		ended(q, s);
	else if (sparse_wanted(q->w->job->p))
		write_in_parts(q, s, len);
	else
		start(q, s, &q->w->dst, &q->writes);
}

/* What is held will not be read, and the digests need not wait for it. */
static void
let_go(struct queue *q)
{
	if (q->due > 0) {
		hash_stop(q->w->job->p->hash);
		transfer_settle(q->w, q->held.seg.off, q->held.seg.len,
		    UNTRIED);
	}
	q->due = 0;
}

/*
 * The next piece, when rate= lets its bytes move.  Until then it is held, and
 * what is in flight is taken care of.
 */
static bool
next_piece(struct queue *q, struct piece *pc)
{
	struct job *job = q->w->job;
	uint64_t len;

	if (q->due == 0 && !piece_claim(q->w, &q->held))
		return false;
	len = q->held.seg.len;
	if (q->held.hole)
		;			/* pays for what is written there */
	else if (q->busy > 0)
		q->due = rate_due(&job->rate, len);
	else
		q->due = rate_wait(&job->rate, len, job->halt) ? 0 : 1;
	if (q->due > 0) {
		if (job->stop)
			let_go(q);
		return false;
	}
	*pc = q->held;
	return true;
}

/* Fill both windows; false when nothing is in flight any more. */
static bool
fill(struct queue *q)
{
	struct piece pc;

	collect(q);
	for (;;) {
		while (q->ready != NULL && q->writes.busy < q->writes.size)
			start_write(q);
		if (q->idle == NULL || q->reads.busy >= q->reads.size ||
		    q->busy >= q->reads.size + q->writes.size ||
		    !next_piece(q, &pc))
			break;
		if (pc.hole) {
			q->w->buf = q->idle->buf;	/* that of nobody */
			sparse_hole(q->w, &pc.seg);
		} else {
			start_read(q, &pc);
		}
	}
	return q->busy > 0;
}

/* A request has come back. */
static void
back(struct queue *q, struct slot *s)
{
	learn(q, s->state == READING ? &q->reads : &q->writes,
	    clock_ns() - s->start);
	ended(q, s);
}

static void
reap(struct queue *q, struct slot *s, int result)
{
	struct lane *lane = s->state == READING ? &q->w->src : &q->w->dst;

	lane_finish(lane, &s->io, result);
	back(q, s);
}

static struct slot *
slot_of(struct io *io)
{
	return (struct slot *)((char *)io - offsetof(struct slot, io));
}

/* Those that a library has brought to their end; false: none. */
static bool
take_ended(struct queue *q)
{
	struct io *io;
	bool any = false;
	size_t i;

	for (i = 0; i < WATCHES; i++)
		while ((io = lane_ended(q->watch[i].lane)) != NULL) {
			q->watch[i].busy--;
			back(q, slot_of(io));
			any = true;
		}
	return any;
}

/* Whether it is a watch's, and then what is there was dealt with. */
static bool
served(struct queue *q, void *data)
{
	struct watch *watch = q->watch;
	size_t i;

	for (i = 0; i < (size_t)WATCHES * POLLS; i++) {
		bool *polled = &watch[i / POLLS].polled[i % POLLS];

		if (data != polled)
			continue;
		*polled = false;
		lane_service(watch[i / POLLS].lane);
		return true;
	}
	return false;
}

/* Take all that have ended. */
static void
take(struct queue *q)
{
	struct io_uring_cqe *cqe;
	void *data;
	int result;

	while (io_uring_peek_cqe(&q->ring, &cqe) == 0) {
		data = io_uring_cqe_get_data(cqe);
		result = cqe->res;
		io_uring_cqe_seen(&q->ring, cqe);
		if (data != NULL && !served(q, data))
			reap(q, data, result);
	}
	take_ended(q);
}

/* Have the ring poll for what the libraries wait for. */
static void
arm(struct queue *q)
{
	struct watch *w;
	struct io_uring_sqe sqe[LARGE];
	short events;
	size_t i;
	int fd;

	for (w = q->watch; w < q->watch + WATCHES; w++) {
		fd = lane_pollfd(w->lane, &events);
		for (i = 0; i < POLLS && fd >= 0; i++) {
			if (w->polled[i] || (events & poll_events[i]) == 0)
				continue;
			memset(sqe, 0, sizeof(sqe));
			io_uring_prep_poll_add(sqe, fd,
			    (unsigned)poll_events[i]);
			enter(q, sqe, &w->polled[i]);
			w->polled[i] = true;
		}
	}
}

static bool
watching(const struct queue *q)
{
	return q->watch[0].busy + q->watch[1].busy > 0;
}

/*
 * Wait for one request at least, or until a piece that is held may go, or until
 * a library has to be called.  Returns 0, or an errno if the ring itself fails.
 */
static int
await(struct queue *q)
{
	uint64_t most = q->due > 0 ? RATE_LOOK : tick;
	uint64_t ns = q->due > 0 && q->due < most ? q->due : most;
	struct __kernel_timespec t = { .tv_sec = (long long)(ns / SECOND),
		.tv_nsec = (long long)(ns % SECOND) };
	struct io_uring_cqe *cqe;
	int err;

	if (q->due == 0 && !watching(q))
		err = io_uring_submit_and_wait(&q->ring, 1);
	else
		err = io_uring_submit_and_wait_timeout(&q->ring, &cqe, 1, &t,
		    NULL);
	return err >= 0 || err == -ETIME || err == -EINTR || err == -EAGAIN ||
	    err == -EBUSY ? 0 : -err;
}

static unsigned
in_flight(const struct queue *q)
{
	return q->reads.busy + q->writes.busy;
}

/* The same without a ring. */
static void
drain(struct queue *q)
{
	struct watch *w;
	struct pollfd p;

	for (w = q->watch; w < q->watch + WATCHES; w++)
		while (take_ended(q), w->busy > 0) {
			p.fd = lane_pollfd(w->lane, &p.events);
			poll(&p, 1, (int)(tick / 1000000));
			lane_service(w->lane);
		}
}

/*
 * The ring itself failed.  What it has been given may still change the target,
 * and is waited for as long as the ring tells of it.  After that there is
 * nothing to wait by: pages that the kernel moves are pinned, and what it has
 * yet to begin ends with this thread, before the buffers do.
 */
static void
give_up(struct queue *q, int err)
{
	struct fault f;
	unsigned i, left;

	job_stop(q->w->job);
	let_go(q);
	hash_stop(q->w->job->p->hash);
	drain(q);
	while (in_flight(q) > 0 && await(q) == 0)
		take(q);
	left = io_uring_sq_ready(&q->ring);
	left = in_flight(q) > left ? in_flight(q) - left : 0;
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

/* What was waited for on behalf of a lane that is going to be detached. */
static void
disarm(struct queue *q)
{
	struct io_uring_sqe sqe[LARGE];
	bool *polled;
	size_t i;

	for (i = 0; i < (size_t)WATCHES * POLLS; i++) {
		polled = &q->watch[i / POLLS].polled[i % POLLS];
		if (!*polled)
			continue;
		memset(sqe, 0, sizeof(sqe));
		io_uring_prep_poll_remove(sqe, (uintptr_t)polled);
		enter(q, sqe, NULL);
		while (*polled && await(q) == 0)
			take(q);
	}
}

static void
call_libraries(struct queue *q, uint64_t t)
{
	struct watch *w;

	for (w = q->watch; w < q->watch + WATCHES; w++)
		if (w->busy > 0)
			lane_service(w->lane);
	q->look = t + tick;
}

static void
harvest(struct queue *q)
{
	uint64_t t;
	int err;

	if (take_ended(q))
		return;
	arm(q);
	err = await(q);
	if (err != 0) {
		give_up(q, err);
		return;
	}
	take(q);
	t = clock_ns();
	if (t > q->again)
		begin_small(q, t);
	if (t > q->look)
		call_libraries(q, t);
}

/* Nothing is in flight, all has been lent: the first of them comes back. */
static void
wait_taker(struct queue *q)
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
	int err = io_uring_enable_rings(&q->ring);

	if (err < 0)
		give_up(q, -err);
	begin_small(q, clock_ns());
	while (!q->broken && fill(q))
		if (in_flight(q) > 0 || q->lent == NULL)
			harvest(q);
		else
			wait_taker(q);
	disarm(q);
}

/* The kernel does the least when it is told that one thread asks and waits. */
static int
open_ring(struct queue *q)
{
	static const unsigned flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		0,			/* Linux before 6.1 */
	};
	unsigned large = q->wide ? IORING_SETUP_SQE128 |
	    IORING_SETUP_CQE32 : 0;
	int err = -ENOSYS;
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]) && err < 0; i++)
		err = io_uring_queue_init(q->slots * 2 +
		    2 * WATCHES * POLLS, &q->ring,
		    flags[i] | large | IORING_SETUP_R_DISABLED);
	return -err;
}

/* The most that a window can be: a half of the slots, or what the end takes. */
static unsigned
limit(const struct queue *q, const struct endpoint *ep)
{
	unsigned half = q->slots / 2;

	return ep->geo.depth > 0 && ep->geo.depth < half ? ep->geo.depth : half;
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
	q->wide = w->job->p->src->is.wide || w->job->p->dst->is.wide;
	q->fixed = w->job->p->opts->qd > 0 ? slots / 2 : 0;
	q->reads.limit = limit(q, w->job->p->src);
	q->writes.limit = limit(q, w->job->p->dst);
	q->last = &q->ready;
	q->watch[0].lane = &w->src;
	q->watch[1].lane = &w->dst;
	q->slot = calloc(slots, sizeof(*q->slot));
	if (q->slot != NULL)
		*err = open_ring(q);
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
	io_uring_queue_exit(&q->ring);
	free(q->slot);
	free(q);
}

void
ring_depth(const struct queue *q, unsigned *reads, unsigned *writes)
{
	*reads = q->reads.most;
	*writes = q->writes.most;
}
