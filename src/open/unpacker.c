/*
 * Blocks of a packed source, each unpacked as a whole and by itself, so that
 * the source can be read at any place.  A block is handed out when all of it is
 * there, and its check value is right.
 *
 * Threads unpack the blocks for which somebody waits, and meanwhile those that
 * will be read next, as the map of the copy says.  Each block is in a slot;
 * there are as many as fit into the memory, and behind them places for how
 * blocks have failed, which are not read anew for everybody who asks.  Before
 * the copy, when there are no threads yet, whoever needs a block unpacks it.
 *
 *	u	unpacker->lock; the map's is taken below it.  Released while a
 *		block is read, unpacked, or copied from its slot
 */
#include "end/backend.h"

#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "map/map.h"
#include "pack/codec.h"

enum {
	CHUNK = 256 << 10,	/* bytes read from the carrier at a time */
	UNPACKERS_MOST = 16,	/* threads */
	SLOTS_MOST = UNPACKERS_MOST + 2,
	FAILED_MOST = 64,	/* parts that are known to fail */
	IDLE_MOST = 8,		/* steps of a codec without any progress */
	LOOK = 100,		/* ms, until a signal is noticed */
	USUAL_MEMORY = 256 << 20,
};

enum slot_state { EMPTY, BUSY, READY };

struct slot {
	enum slot_state	 state;	/* u */
	size_t		 part;	/* u: which it has, unless it is empty */
	unsigned	 users;	/* u: who copy from it */
	uint64_t	 given;	/* u: bytes of it so far */
	unsigned	 again;	/* u: the last try for which it was read */
	uint64_t	 used;	/* u: when, by "ticks" */
	unsigned char	*buf;	/* of its user while it is busy, else const */
	struct io	 failed;	/* how, if its err is not 0 */
};

struct unpack {			/* one thread's */
	struct unpacker	*u;
	struct lane	 lane;	/* of the carrier */
	struct decoder	 d;
	unsigned char	*buf;	/* CHUNK bytes */
	pthread_t	 thread;
	bool		 open, started;
};

struct want {			/* of somebody who waits for a part */
	struct want	*next;
	size_t		 part;
	unsigned	 again;		/* 0, or the try, if it had failed */
};

struct unpacker {
	struct endpoint	*carrier;
	struct codec_part *part;
	size_t		 parts;
	unsigned	 threads, slots;
	pthread_mutex_t	 lock;
	pthread_cond_t	 work, done;
	struct slot	 slot[SLOTS_MOST + FAILED_MOST];
	size_t		 failures;	/* u: put over an older one so far */
	struct want	*wants;		/* u */
	size_t		 front;		/* u: the part needed last */
	struct map	*map;		/* u: of what will be read, or NULL */
	uint64_t	 origin;	/* u: of the map's byte 0 */
	uint64_t	 ticks;		/* u */
	unsigned	 lanes, busy;	/* u */
	bool		 started;	/* u: there are threads */
	atomic_bool	 stop;		/* unpack nothing more for now */
	bool		 over;		/* u: the threads end */
	struct unpack	 unpack[UNPACKERS_MOST];
};

/* --- one block ---------------------------------------------------------- */

static void __attribute__((format(printf, 4, 5)))
slot_fail(struct slot *s, int err, int status, const char *fmt, ...)
{
	va_list ap;

	s->failed.err = err;
	s->failed.status = status;
	va_start(ap, fmt);
	vsnprintf(s->failed.why, sizeof(s->failed.why), fmt, ap);
	va_end(ap);
}

/* Read packed bytes; false: the slot has failed. */
static bool
unpack_read(struct unpack *w, struct slot *s, uint64_t off, size_t n)
{
	struct io io = { .op = OP_READ, .off = off, .buf = w->buf, .len = n };
	unsigned long long at;

	lane_transfer(&w->lane, &io);
	s->failed.doubtful = io.doubtful;
	at = (unsigned long long)(off + io.done);
	if (io.err != 0)
		slot_fail(s, io.err, io.status, "its own byte %llu: %.120s", at,
		    io.why[0] != '\0' ? io.why : errno_words(io.err));
	else if (io.done < n)
		slot_fail(s, EBADMSG, STATUS_SHORT, "it is cut short: its own "
		    "bytes end at %llu", at);
	return s->failed.err == 0;
}

/*
 * Unpack n bytes that were read, or what is left to come.  False: it is over,
 * or the slot has failed.
 */
static bool
unpack_feed(struct unpack *w, struct slot *s, struct codec_io *io, bool *ended)
{
	unsigned idle = 0;
	size_t in, out;

	while ((io->in_len > 0 || io->out_len > 0) && idle < IDLE_MOST &&
	    !*ended) {
		in = io->in_len;
		out = io->out_len;
		switch (w->d.codec->step(&w->d, io)) {
		case CODEC_ENDED:
			*ended = true;
			break;
		case CODEC_FAILED:
			slot_fail(s, w->d.status == STATUS_REFUSED ? ENOMEM :
			    EBADMSG, w->d.status == STATUS_REFUSED ? 0 :
			    w->d.status, "it %s", w->d.why);
			return false;
		case CODEC_GOES_ON:
			break;
		}
		if (io->in_len == 0 && in > 0)
			continue;
		idle = io->in_len == in && io->out_len == out ? idle + 1 : 0;
		if (idle > 0 && io->in_len == 0)
			break;		/* it wants more bytes */
	}
	return io->in_len == 0;
}

/* Read and unpack a run of packed bytes. */
static bool
unpack_run(struct unpack *w, struct slot *s, uint64_t from, uint64_t length,
    struct codec_io *io, bool *ended)
{
	uint64_t to = from + length;
	size_t n;

	for (; from < to; from += n) {
		n = (size_t)MIN(CHUNK, to - from);
		if (w->u->stop) {
			s->failed.err = ECANCELED;
			return false;
		}
		if (!unpack_read(w, s, from, n))
			return false;
		io->in = w->buf;
		io->in_len = n;
		if (!unpack_feed(w, s, io, ended))
			return false;
	}
	return true;
}

static void
unpack_part(struct unpack *w, struct slot *s)
{
	const struct codec_part *part = &w->u->part[s->part];
	struct codec_io io = { .out = s->buf, .out_len = (size_t)part->size };
	bool head = part->head != NO_HEAD, ended = false, whole;

	s->failed.err = s->failed.status = 0;
	whole = w->d.codec->start(&w->d);
	if (!whole)
		slot_fail(s, ENOMEM, 0, "it %s", w->d.why);
	whole = whole && (!head || unpack_run(w, s, part->head, CODEC_HEAD, &io,
	    &ended)) && unpack_run(w, s, part->from, part->length, &io, &ended);
	if (s->failed.err == 0 && (!whole || io.out_len > 0 || ended == head))
		slot_fail(s, EBADMSG, STATUS_MISMATCH, "its own bytes %llu to "
		    "%llu are damaged, or not what its index says",
		    (unsigned long long)part->from, (unsigned long long)
		    (part->from + part->length - 1));
}

/* --- which block -------------------------------------------------------- */

/* The part that has a byte of the content; all of them if there is none. */
static size_t
part_at(const struct unpacker *u, uint64_t off)
{
	size_t low = 0, high = u->parts, mid;

	if (off >= u->part[high - 1].at + u->part[high - 1].size)
		return high;
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (u->part[mid].at <= off)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static struct slot *
slot_with(struct unpacker *u, size_t part)
{
	unsigned i;

	for (i = 0; i < u->slots + FAILED_MOST; i++)
		if (u->slot[i].state != EMPTY && u->slot[i].part == part)
			return &u->slot[i];
	return NULL;
}

static bool
part_wanted(const struct unpacker *u, size_t part)
{
	const struct want *w = u->wants;

	while (w != NULL && w->part != part)
		w = w->next;
	return w != NULL;
}

/*
 * A slot for another part: an empty one, or the oldest that was read to its end
 * or passed by.  "ahead": no other one.
 */
static struct slot *
slot_free(struct unpacker *u, bool ahead)
{
	struct slot *best = NULL, *s;
	bool spent, best_spent = false;

	for (s = u->slot; s < u->slot + u->slots; s++) {
		if (s->state == EMPTY)
			return s;
		spent = s->given >= u->part[s->part].size || s->part < u->front;
		if (s->state == BUSY || s->users > 0 || (ahead && !spent) ||
		    part_wanted(u, s->part))
			continue;
		if (best == NULL || spent > best_spent ||
		    (spent == best_spent && s->used < best->used)) {
			best = s;
			best_spent = spent;
		}
	}
	return best;
}

/* What to unpack next, in a slot that is now busy with it; NULL: nothing. */
static struct slot *
unpacker_pick(struct unpacker *u)
{
	struct slot *s = NULL;
	const struct want *w;
	struct seg seg;
	uint64_t at;
	size_t i = 0;
	unsigned n;

	for (w = u->wants; w != NULL && s == NULL; w = w->next) {
		i = w->part;
		if (slot_with(u, i) == NULL)
			s = slot_free(u, false);
	}
	at = u->part[u->front].at + u->part[u->front].size;
	for (n = 2; s == NULL && u->map != NULL && n < u->slots; n++) {
		if (!map_next(u->map, at - MIN(at, u->origin), UNTRIED, &seg) ||
		    (i = part_at(u, seg.off + u->origin)) == u->parts)
			break;
		if (slot_with(u, i) == NULL && (s = slot_free(u, true)) == NULL)
			break;
		at = u->part[i].at + u->part[i].size;
	}
	if (s == NULL)
		return NULL;
	s->state = BUSY;
	s->part = i;
	s->given = s->again = 0;
	for (w = u->wants; w != NULL; w = w->next)
		if (w->part == i)
			s->again = MAX(s->again, w->again);
	return s;
}

/* A place for what has failed: an empty one, or the oldest. */
static struct slot *
slot_for_failed(struct unpacker *u)
{
	struct slot *f = &u->slot[u->slots];
	unsigned i;

	for (i = 0; i < FAILED_MOST; i++)
		if (f[i].state == EMPTY)
			return &f[i];
	return &f[u->failures++ % FAILED_MOST];
}

/* What has failed is kept in mind, but not in a slot, if that can be. */
static void
slot_done(struct unpacker *u, struct slot *s)
{
	struct slot *f;

	s->state = s->failed.err == ECANCELED ? EMPTY : READY;
	s->used = ++u->ticks;
	if (s->state == EMPTY || s->failed.err == 0)
		return;
	f = slot_for_failed(u);
	if (f->users > 0)
		return;
	*f = *s;
	f->buf = NULL;
	s->state = EMPTY;
}

/* Unpack what is needed next.  False: nothing is.  Called with the lock. */
static bool
unpacker_work(struct unpack *w)
{
	struct unpacker *u = w->u;
	struct slot *s = u->stop ? NULL : unpacker_pick(u);

	if (s == NULL)
		return false;
	u->busy++;
	pthread_mutex_unlock(&u->lock);
	unpack_part(w, s);
	pthread_mutex_lock(&u->lock);
	u->busy--;
	slot_done(u, s);
	pthread_cond_broadcast(&u->done);
	return true;
}

static void *
unpacker_thread(void *arg)
{
	struct unpack *w = arg;
	struct unpacker *u = w->u;

	pthread_mutex_lock(&u->lock);
	while (!u->over)
		if (!unpacker_work(w))
			pthread_cond_wait(&u->work, &u->lock);
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

/* --- threads ------------------------------------------------------------ */

static int
unpack_open(struct unpack *w, struct unpacker *u, const struct decoder *like)
{
	struct fault f;
	int err;

	w->u = u;
	w->d = *like;
	w->d.state = NULL;
	w->d.threads = 1;
	w->buf = page_alloc(CHUNK);
	if (w->buf == NULL)
		return ENOMEM;
	err = lane_attach(&w->lane, u->carrier, u->carrier->lim.base, -1);
	if (err != 0)
		return err;
	w->open = true;
	return codec_open(&w->d, &f) != 0 ? ENOMEM : 0;
}

static void
unpack_close(struct unpack *w)
{
	codec_close(&w->d);
	if (w->open)
		lane_detach(&w->lane);
	free(w->buf);
}

/* Start as many threads as can be; the first one must be. */
static int
unpacker_start(struct unpacker *u)
{
	sigset_t all, before;
	int err = 0;
	unsigned i, n = 1;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* before there is a thread that changes what is copied here */
	while (n < u->threads && unpack_open(&u->unpack[n], u,
	    &u->unpack[0].d) == 0)
		n++;
	for (i = 0; i < n && err == 0; i++) {
		err = pthread_create(&u->unpack[i].thread, NULL,
		    unpacker_thread, &u->unpack[i]);
		u->unpack[i].started = err == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return u->unpack[0].started ? 0 : err;
}

int
unpacker_attach(struct unpacker *u)
{
	bool first;

	pthread_mutex_lock(&u->lock);
	u->lanes++;
	u->stop = false;
	first = !u->started;
	u->started = true;
	pthread_mutex_unlock(&u->lock);
	return first ? unpacker_start(u) : 0;
}

void
unpacker_detach(struct unpacker *u)
{
	pthread_mutex_lock(&u->lock);
	if (--u->lanes == 0) {
		u->stop = true;
		while (u->busy > 0)
			pthread_cond_wait(&u->done, &u->lock);
	}
	pthread_mutex_unlock(&u->lock);
}

void
unpacker_ahead(struct unpacker *u, struct map *map, uint64_t origin)
{
	pthread_mutex_lock(&u->lock);
	u->map = map;
	u->origin = origin;
	pthread_mutex_unlock(&u->lock);
}

/* --- reading ------------------------------------------------------------ */

static void
want_insert(struct want **at, struct want *want)
{
	want->next = *at;
	*at = want;
}

/* Wait for a part, with the lock; NULL: the copy is being stopped. */
static struct slot *
unpacker_wait(struct unpacker *u, size_t part, unsigned again,
    const struct lane *lane)
{
	struct want want = { .part = part, .again = again }, **at;
	struct slot *s;
	struct timespec t;

	want_insert(&u->wants, &want);
	while ((s = slot_with(u, part)) == NULL || s->state != READY) {
		u->front = part;
		if (!u->started && unpacker_work(&u->unpack[0]))
			continue;
		if (lane_halted(lane, 0))
			u->stop = true;
		if (u->stop && s == NULL)
			break;
		pthread_cond_broadcast(&u->work);
		t = clock_spec(clock_ns() + (uint64_t)LOOK * 1000000);
		pthread_cond_timedwait(&u->done, &u->lock, &t);
	}
	for (at = &u->wants; *at != &want; at = &(*at)->next)
		continue;
	*at = want.next;
	return s;
}

/* Hand out what a part has of a request; false: no more. */
static bool
unpacker_give(struct unpacker *u, const struct lane *lane, struct io *io)
{
	uint64_t off = io->off + io->done, skip;
	size_t i = part_at(u, off), n;
	/* what has failed is tried once more by itself, and by each retry */
	unsigned again = lane->again + io->careful;
	struct slot *s;

	if (i == u->parts)
		return false;
	skip = off - u->part[i].at;
	n = (size_t)MIN(u->part[i].size - skip, io->len - io->done);
	pthread_mutex_lock(&u->lock);
	s = slot_with(u, i);
	if (s != NULL && s->state == READY && s->failed.err != 0 &&
	    s->again < again && s->users == 0)
		s->state = EMPTY;
	else
		again = 0;	/* whoever it is that reads it first */
	s = unpacker_wait(u, i, again, lane);
	if (s == NULL) {
		pthread_mutex_unlock(&u->lock);
		io->err = ECANCELED;
		return false;
	}
	s->users++;
	u->front = i;
	pthread_mutex_unlock(&u->lock);
	if (s->failed.err == 0) {
		memcpy(io->buf + io->done, s->buf + skip, n);
		io->done += n;
	} else {
		io->err = s->failed.err;
		io->status = s->failed.status;
		io->doubtful = s->failed.doubtful;
		strlcpy(io->why, s->failed.why, sizeof(io->why));
	}
	pthread_mutex_lock(&u->lock);
	s->users--;
	s->given += n;
	s->used = ++u->ticks;
	pthread_cond_signal(&u->work);
	pthread_mutex_unlock(&u->lock);
	return io->err == 0 && io->done < io->len;
}

void
unpacker_read(struct unpacker *u, const struct lane *lane, struct io *io)
{
	while (unpacker_give(u, lane, io))
		continue;
}

/* --- opening and closing ------------------------------------------------ */

/* How many threads and slots there is memory for; false: too few. */
static bool
unpacker_fits(struct unpacker *u, const struct decoder *d)
{
	uint64_t memory = d->memory > 0 ? d->memory : USUAL_MEMORY, most = 0, n;
	size_t i;

	for (i = 0; i < u->parts; i++)
		most = MAX(most, u->part[i].size);
	/* a thread needs no more for a block than there is in it */
	n = memory / MAX(most, 1);
	if (n < 3 || (size_t)most != most)
		return false;
	u->threads = (unsigned)MIN(MIN(d->threads, UNPACKERS_MOST), (n - 1) /
	    2);
	u->slots = (unsigned)MIN(u->threads + 2, n - u->threads);
	for (i = 0; i < u->slots; i++)
		if ((u->slot[i].buf = page_alloc((size_t)most)) == NULL)
			return false;
	return true;
}

struct unpacker *
unpacker_open(struct endpoint *carrier, const struct decoder *d,
    const struct codec_measure *m)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->work, NULL);
	clock_condition(&u->done);
	u->carrier = carrier;
	u->part = m->part;
	u->parts = (size_t)m->parts;
	if (unpacker_fits(u, d) && unpack_open(&u->unpack[0], u, d) == 0)
		return u;
	unpacker_close(u);
	return NULL;
}

unsigned
unpacker_threads(const struct unpacker *u)
{
	return u->threads;
}

void
unpacker_close(struct unpacker *u)
{
	unsigned i;

	if (u == NULL)
		return;
	pthread_mutex_lock(&u->lock);
	u->over = true;
	u->stop = true;
	pthread_cond_broadcast(&u->work);
	pthread_mutex_unlock(&u->lock);
	for (i = 0; i < UNPACKERS_MOST; i++) {
		if (u->unpack[i].started)
			pthread_join(u->unpack[i].thread, NULL);
		unpack_close(&u->unpack[i]);
	}
	for (i = 0; i < SLOTS_MOST; i++)
		free(u->slot[i].buf);
	pthread_cond_destroy(&u->done);
	pthread_cond_destroy(&u->work);
	pthread_mutex_destroy(&u->lock);
	free(u);
}
