/*
 * One thread at a time, by a seed: every run of a program is a schedule that
 * can be run again.
 *
 * It is linked, in the place of ThreadSanitizer's runtime, with what was
 * compiled for that, and stands before libc's locks, threads, waits and
 * requests.  So it is asked at each lock, condition, request, atomic, and at
 * reads and writes of memory, and lets go on whom the seed says:
 *
 *	PCT	the first of all in an order that changes a few times
 *		(Burckhardt et al., A Randomized Scheduler with Probabilistic
 *		Guarantees of Finding Bugs, 2010)
 *	dice	anybody, at some of the places
 *
 * Time is made up: it goes on a little with every step, by chance a lot, and
 * when all wait it is what the first of them waits for.  What waits for others
 * outside (pipes) is as quick as they are.  When all wait for ever, it tells
 * what for and aborts; so it does when there is no end.
 *
 *	SCHED_SEED=N	the schedule (1)
 *	SCHED_SIGNAL=N	this signal comes once, at any step
 *	SCHED_FILE=PATH	what is written there and not flushed may be lost by
 *	SCHED_LOSES=1	the medium at any step, and whoever asks next (a write,
 *			a flush) is told by EIO: nobody else
 *	SCHED_CUT=1	a power cut at any step: all of it is, status 99
 *	SCHED_TRACE=PATH	each change of threads: the step, and who goes on
 *
 * All state is of whoever goes on: nobody else looks at it.
 */
#undef _FILE_OFFSET_BITS		/* as in the shim, which may be below */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "sched.h"

#include "../tools/preload.h"

#define NEVER UINT64_MAX

enum {
	THREADS = 512,
	CHANGES = 3,
	DIRTY = 256,		/* writes that are not flushed */
	LONGEST = 2000000,	/* steps */
	FAIR = 100000,		/* steps of PCT: who spins starves others */
	OUTSIDE = 20000,	/* ms for what is not ours */
};

static const uint64_t second = 1000000000;

enum state { FREE, READY, LOCK, CONDITION, POLLS, JOINS, ENDED };
static const char *const states[] = { "", "ready", "lock", "condition", "poll",
	"join", "" };

struct thread {
	enum state	 state;
	const void	*on;		/* the lock, condition or thread */
	uint64_t	 until;		/* ns */
	struct pollfd	*fds;
	nfds_t		 n;
	uint64_t	 rank;
	sem_t		 turn;
	pthread_t	 id;
	void		*(*start)(void *);
	void		*arg;
};

static struct thread threads[THREADS];
static size_t all;			/* slots that were ever used */
static _Thread_local struct thread *self;

static uint64_t dice, now, steps;
static uint64_t beats, changes[CHANGES], signal_at = NEVER, lose_at = NEVER,
	cut_at = NEVER;
static unsigned stay, lapse, spurious;
static uint64_t pause_beats;		/* between accesses to memory */
static uint64_t untouched = 1;		/* accesses until the next */
static bool pct, lost;
static int signo, trace = -1, file = -1;
static struct { off_t off; size_t len; } dirty[DIRTY];
static size_t n_dirty;

static uint64_t
roll(uint64_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice >> 11) % n;
}

/* Any magnitude is as likely. */
static uint64_t
some(unsigned least, unsigned most)
{
	return 1 + roll(UINT64_C(1) << (least + roll(most - least + 1)));
}

static int
really_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	return (int)syscall(SYS_ppoll, fds, n, &t, NULL, 0);
}

/* ----------------------------------------------------- who may go on */

static bool
may(const struct thread *t)
{
	switch (t->state) {
	case READY:
		return true;
	case JOINS:
		if (t->on != NULL &&
		    ((const struct thread *)t->on)->state == ENDED)
			return true;
		break;
	case POLLS:
		if (t->n > 0 && really_poll(t->fds, t->n, 0) > 0)
			return true;
		break;
	case CONDITION:
		break;
	default:
		return false;
	}
	return t->until <= now;
}

static void
stuck(const char *what)
{
	size_t i;

	dprintf(2, "sched: %s at step %llu\n", what, (unsigned long long)steps);
	for (i = 0; i < all; i++)
		if (threads[i].state != FREE && threads[i].state != ENDED)
			dprintf(2, "sched: thread %zu: %s %p\n", i,
			    states[threads[i].state], threads[i].on);
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* Nobody may go on: time does, or the world outside. */
static void
idle(void)
{
	struct pollfd fds[THREADS];
	uint64_t first = NEVER;
	nfds_t n = 0;
	size_t i, k;

	for (i = 0; i < all; i++) {
		if (threads[i].state != CONDITION &&
		    threads[i].state != POLLS && threads[i].state != JOINS)
			continue;
		if (threads[i].until < first)
			first = threads[i].until;
		if (threads[i].state == POLLS)
			for (k = 0; k < threads[i].n && n < THREADS; k++)
				fds[n++] = threads[i].fds[k];
	}
	if (first != NEVER)
		now = first;
	else if (n == 0 || really_poll(fds, n, OUTSIDE) == 0)
		stuck("all wait for ever");
}

static struct thread *
pick(void)
{
	struct thread *best = NULL;
	size_t i, n;

	for (;;) {
		if (pct) {
			for (i = 0; i < all; i++)
				if (threads[i].state != FREE && (best == NULL ||
				    threads[i].rank > best->rank) &&
				    may(&threads[i]))
					best = &threads[i];
		} else {
			for (i = n = 0; i < all; i++)
				if (threads[i].state != FREE &&
				    may(&threads[i]) && roll(++n) == 0)
					best = &threads[i];
		}
		if (best != NULL)
			return best;
		idle();
	}
}

static void
take_turn(struct thread *t)
{
	while (sem_wait(&t->turn) != 0)
		continue;
}

/* Let another one go on, or oneself; back when it is one's turn again. */
static void
give(void)
{
	struct thread *next_one = pick();

	if (trace >= 0 && next_one != self)
		dprintf(trace, "%llu %zu\n", (unsigned long long)steps,
		    (size_t)(next_one - threads));
	if (next_one != self) {
		sem_post(&next_one->turn);
		take_turn(self);
	}
	self->state = READY;
}

/* ----------------------------------------------------------- the medium */

static void
ruin(size_t i)
{
	static const char junk[512] = "lost";
	size_t at, n;

	for (at = 0; at < dirty[i].len; at += n) {
		n = dirty[i].len - at < sizeof(junk) ? dirty[i].len - at :
		    sizeof(junk);
		if (syscall(SYS_pwrite64, file, junk, n,
		    dirty[i].off + (off_t)at) < 0)
			die("ruin", strerror(errno));
	}
	dirty[i] = dirty[--n_dirty];
}

static void
lose(void)
{
	if (n_dirty == 0)
		return;
	ruin(roll(n_dirty));
	lost = true;
	lose_at = NEVER;
}

static void
cut(void)
{
	while (n_dirty > 0)
		ruin(n_dirty - 1);
	_exit(99);
}

static bool
medium(int fd)
{
	struct stat a, b;

	return file >= 0 && fstat(fd, &a) == 0 && fstat(file, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The next one who asks is told what was lost before. */
static bool
told(int fd)
{
	if (!lost || !medium(fd))
		return false;
	lost = false;
	errno = EIO;
	return true;
}

static ssize_t
wrote(int fd, off_t off, ssize_t n)
{
	if (n <= 0 || !medium(fd))
		return n;
	if (n_dirty == DIRTY)
		die("writes", "too many without a flush");
	dirty[n_dirty].off = off;
	dirty[n_dirty++].len = (size_t)n;
	return n;
}

/* --------------------------------------------------------------- places */

/* The seed may want a change between any two accesses. */
static bool
beat(void)
{
	size_t i;

	beats++;
	for (i = 0; i < CHANGES; i++)
		if (beats == changes[i]) {
			self->rank = CHANGES - i;
			return true;
		}
	return false;
}

static void
happen(void)
{
	if (steps == signal_at)
		kill(getpid(), signo);
	if (steps >= lose_at)
		lose();
	if (steps >= cut_at)
		cut();
	if (steps == FAIR)
		pct = false;
	if (steps == LONGEST)
		stuck("no end");
}

static void
point(void)
{
	if (self == NULL)
		return;
	steps++;
	now += 1 + roll(10000);
	if (lapse > 0 && roll(lapse) == 0)
		now += roll(3 * second);
	happen();
	if (!beat() && !pct && roll(stay) != 0)
		return;
	self->state = READY;
	give();
}

/* Memory is read or written. */
static void
touch(void)
{
	if (self == NULL)
		return;
	if (pct) {
		if (beat())
			give();
	} else if (--untouched == 0) {
		untouched = 1 + roll(pause_beats);
		give();
	}
}

static void
wait_for(enum state state, const void *on, uint64_t until)
{
	self->state = state;
	self->on = on;
	self->until = until;
	give();
}

static uint64_t
time_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * second + (uint64_t)t->tv_nsec;
}

/* ---------------------------------------------------------------- begin */

static uint64_t
number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void
alone(void)
{
	self = NULL;		/* after fork(): nobody else is there */
}

static struct thread *
thread_new(void)
{
	size_t i = 0;

	while (i < all && threads[i].state != FREE)
		i++;
	if (i == THREADS)
		die("threads", "too many");
	if (i == all)
		all++;
	threads[i].rank = CHANGES + 1 + roll(NEVER - CHANGES - 1);
	threads[i].state = READY;
	sem_init(&threads[i].turn, 0, 0);
	return &threads[i];
}

/* Of the seed: when, whom, how often. */
static void
throw(uint64_t seed)
{
	size_t i;

	dice = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
	for (i = 0; i < 20; i++)
		roll(2);
	now = 1000000 * second;
	pct = roll(2) == 0;
	for (i = 0; i < CHANGES; i++)
		changes[i] = some(6, 20);
	stay = (unsigned)some(0, 6);
	pause_beats = some(4, 14);
	lapse = roll(4) == 0 ? 0 : (unsigned)some(4, 12);
	spurious = roll(2) == 0 ? 0 : 1 + (unsigned)some(2, 6);
}

static void __attribute__((constructor))
begin(void)
{
	const char *path = getenv("SCHED_TRACE");

	throw(number("SCHED_SEED", 1));
	signo = (int)number("SCHED_SIGNAL", 0);
	if (signo != 0)
		signal_at = some(6, 13);
	if (getenv("SCHED_FILE") != NULL && (file = open(getenv("SCHED_FILE"),
	    O_WRONLY | O_CLOEXEC)) < 0)
		die("SCHED_FILE", strerror(errno));
	if (number("SCHED_LOSES", 0) != 0)
		lose_at = some(6, 13);
	if (number("SCHED_CUT", 0) != 0)
		cut_at = some(6, 13);
	if (path != NULL)
		trace = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0644);
	pthread_atfork(NULL, NULL, alone);
	self = thread_new();
	self->id = pthread_self();
}

void
sched_begin(uint64_t seed)
{
	size_t i;

	for (i = 1; i < all; i++)
		if (threads[i].state != FREE)
			stuck("a thread was left behind");
	all = 1;
	steps = beats = 0;
	untouched = 1;
	throw(seed);
	lapse = 0;
	self->rank = CHANGES + 1 + roll(NEVER - CHANGES - 1);
}

uint64_t
sched_roll(uint64_t n)
{
	return roll(n);
}

uint64_t
sched_steps(void)
{
	return steps;
}

/* -------------------------------------------------------------- threads */

static void *
body(void *arg)
{
	void *end;

	self = arg;
	take_turn(self);
	end = self->start(self->arg);
	self->state = ENDED;
	sem_post(&pick()->turn);
	return end;
}

int
pthread_create(pthread_t *id, const pthread_attr_t *attr,
    void *(*start)(void *), void *arg)
{
	struct thread *t;
	int err;

	REAL(real, pthread_create);
	if (self == NULL)
		return real(id, attr, start, arg);
	point();
	t = thread_new();
	t->start = start;
	t->arg = arg;
	err = real(&t->id, attr, body, t);
	if (err != 0)
		t->state = FREE;
	*id = t->id;
	point();
	return err;
}

static struct thread *
thread_of(pthread_t id)
{
	size_t i;

	for (i = 0; i < all; i++)
		if (threads[i].state != FREE &&
		    pthread_equal(threads[i].id, id))
			return &threads[i];
	die("join", "no such thread");
	return NULL;
}

static int
join(pthread_t id, void **end, uint64_t until)
{
	struct thread *t = thread_of(id);

	REAL(real, pthread_join);
	point();
	if (t->state != ENDED)
		wait_for(JOINS, t, until);
	if (t->state != ENDED)
		return ETIMEDOUT;
	t->state = FREE;
	return real(id, end);
}

int
pthread_join(pthread_t id, void **end)
{
	return join(id, end, NEVER);
}

int
pthread_timedjoin_np(pthread_t id, void **end, const struct timespec *t)
{
	return join(id, end, time_of(t));
}

/* ---------------------------------------------------------------- locks */

int
pthread_mutex_lock(pthread_mutex_t *m)
{
	int err;

	REAL(try, pthread_mutex_trylock);
	point();
	while ((err = try(m)) == EBUSY) {
		if (self == NULL)
			die("lock", "held by nobody");
		wait_for(LOCK, m, NEVER);
	}
	if (err != 0)
		stuck("a lock is none (any more)");
	return err;
}

int
pthread_mutex_unlock(pthread_mutex_t *m)
{
	size_t i;
	int err;

	REAL(try, pthread_mutex_trylock);
	REAL(real, pthread_mutex_unlock);
	if (self != NULL && try(m) == 0)
		stuck("a lock is let go that nobody holds");
	err = real(m);
	for (i = 0; i < all; i++)
		if (threads[i].state == LOCK && threads[i].on == m)
			threads[i].state = READY;
	point();
	return err;
}

static int
wait_on(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until)
{
	int err = 0;

	REAL(real, pthread_mutex_unlock);
	point();
	real(m);
	self->state = CONDITION;
	self->on = c;
	self->until = spurious > 0 && roll(spurious) == 0 ? now : until;
	/* who waits for the lock may go on; whoever signals makes us READY */
	for (size_t i = 0; i < all; i++)
		if (threads[i].state == LOCK && threads[i].on == m)
			threads[i].state = READY;
	give();
	if (self->on == c && now >= until)
		err = ETIMEDOUT;
	pthread_mutex_lock(m);
	return err;
}

int
pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	return wait_on(c, m, NEVER);
}

int
pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
    const struct timespec *t)
{
	return wait_on(c, m, time_of(t));
}

static void
wake(pthread_cond_t *c, bool everybody)
{
	struct thread *one = NULL;
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < all; i++) {
		if (threads[i].state != CONDITION || threads[i].on != c)
			continue;
		if (everybody) {
			threads[i].state = READY;
			threads[i].on = NULL;
		} else if (roll(++n) == 0) {
			one = &threads[i];
		}
	}
	if (one != NULL) {
		one->state = READY;
		one->on = NULL;
	}
}

int
pthread_cond_signal(pthread_cond_t *c)
{
	wake(c, false);
	point();
	return 0;
}

int
pthread_cond_broadcast(pthread_cond_t *c)
{
	wake(c, true);
	point();
	return 0;
}

/* ----------------------------------------------------------------- time */

int
clock_gettime(clockid_t id, struct timespec *t)
{
	REAL(real, clock_gettime);
	if (self == NULL)
		return real(id, t);
	now += 100;
	t->tv_sec = (time_t)(now / second);
	t->tv_nsec = (long)(now % second);
	return 0;
}

int
poll(struct pollfd *fds, nfds_t n, int ms)
{
	REAL(real, poll);
	if (self == NULL)
		return real(fds, n, ms);
	point();
	if (ms != 0) {
		self->fds = fds;
		self->n = n;
		wait_for(POLLS, fds, ms < 0 ? NEVER : now + (uint64_t)ms *
		    1000000);
	}
	return real(fds, n, 0);
}

int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t,
    const sigset_t *set)
{
	static const struct timespec none;

	REAL(real, ppoll);
	if (self == NULL)
		return real(fds, n, t, set);
	point();
	self->fds = fds;
	self->n = n;
	wait_for(POLLS, fds, t == NULL ? NEVER : now + time_of(t));
	return real(fds, n, &none, set);
}

static void
rest(uint64_t ns)
{
	point();
	wait_for(JOINS, NULL, ns == NEVER ? ns : now + ns);
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	REAL(real, nanosleep);
	if (self == NULL)
		return real(t, left);
	rest(time_of(t));
	return 0;
}

int
usleep(useconds_t us)
{
	REAL(real, usleep);
	if (self == NULL)
		return real(us);
	rest(UINT64_C(1000) * us);
	return 0;
}

int
pause(void)
{
	for (;;)
		rest(NEVER);
}

/* ------------------------------------------------------------- requests */

/* What cannot seek may have to be waited for. */
static void
await(int fd, short what)
{
	struct pollfd p = { .fd = fd, .events = what };
	int e = errno;

	point();
	if (self != NULL && lseek(fd, 0, SEEK_CUR) < 0 &&
	    (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 &&
	    really_poll(&p, 1, 0) == 0) {
		self->fds = &p;
		self->n = 1;
		wait_for(POLLS, &p, NEVER);
	}
	errno = e;
}

ssize_t
read(int fd, void *buf, size_t n)
{
	REAL(real, read);
	await(fd, POLLIN);
	return real(fd, buf, n);
}

ssize_t
write(int fd, const void *buf, size_t n)
{
	REAL(real, write);
	await(fd, POLLOUT);
	return real(fd, buf, n);
}

ssize_t
pread64(int fd, void *buf, size_t n, off64_t off)
{
	REAL(real, pread64);
	point();
	return real(fd, buf, n, off);
}

ssize_t
preadv64v2(int fd, const struct iovec *v, int n, off64_t off, int flags)
{
	REAL(real, preadv64v2);
	point();
	return real(fd, v, n, off, flags);
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
	REAL(real, pwrite64);
	point();
	return told(fd) ? -1 : wrote(fd, off, real(fd, buf, n, off));
}

ssize_t
pwritev64v2(int fd, const struct iovec *v, int n, off64_t off, int flags)
{
	REAL(real, pwritev64v2);
	point();
	return told(fd) ? -1 : wrote(fd, off, real(fd, v, n, off, flags));
}

/* The medium is a made up one: what is flushed is there. */
static int
flush(int fd, int (*real)(int))
{
	point();
	if (told(fd))
		return -1;
	if (self == NULL || lseek(fd, 0, SEEK_CUR) < 0)
		return real(fd);
	if (medium(fd))
		n_dirty = 0;
	return 0;
}

FLUSHES

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	REAL(real, renameat);
	point();
	return real(from_fd, from, to_fd, to);
}

/* ------------------------------------- what the compiler adds for TSan */

/* NOLINTBEGIN(bugprone-reserved-*,cert-*,readability-non-const-*) */
#define NOTHING(name, ...)						\
	void name(__VA_ARGS__);						\
	void name(__VA_ARGS__)
#define ACCESS(name)							\
	void __tsan_ ## name(void *);					\
	void __tsan_ ## name(void *p) { (void)p; touch(); }
#define ACCESSES(name)							\
	ACCESS(name ## 1) ACCESS(name ## 2) ACCESS(name ## 4)		\
	ACCESS(name ## 8) ACCESS(name ## 16)
#define RANGE(name)							\
	void __tsan_ ## name(void *, size_t);				\
	void __tsan_ ## name(void *p, size_t n)				\
	{ (void)p; (void)n; touch(); }

NOTHING(__tsan_init, void) { }
NOTHING(__tsan_func_entry, void *pc) { (void)pc; }
NOTHING(__tsan_func_exit, void) { }
ACCESSES(read)
ACCESSES(write)
ACCESSES(unaligned_read)
ACCESSES(unaligned_write)
RANGE(read_range)
RANGE(write_range)

#define ATOMIC(bits)							\
	uint ## bits ## _t __tsan_atomic ## bits ## _load(		\
	    const volatile uint ## bits ## _t *, int);			\
	uint ## bits ## _t						\
	__tsan_atomic ## bits ## _load(const volatile uint ## bits ## _t *p, \
	    int order)							\
	{								\
		(void)order;						\
		point();						\
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);		\
	}								\
	void __tsan_atomic ## bits ## _store(				\
	    volatile uint ## bits ## _t *, uint ## bits ## _t, int);	\
	void								\
	__tsan_atomic ## bits ## _store(volatile uint ## bits ## _t *p,	\
	    uint ## bits ## _t v, int order)				\
	{								\
		(void)order;						\
		point();						\
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);		\
	}								\
	CHANGE(bits, exchange, __atomic_exchange_n)			\
	CHANGE(bits, fetch_add, __atomic_fetch_add)			\
	CHANGE(bits, fetch_sub, __atomic_fetch_sub)			\
	CHANGE(bits, fetch_and, __atomic_fetch_and)			\
	CHANGE(bits, fetch_or, __atomic_fetch_or)			\
	COMPARE(bits, compare_exchange_strong)				\
	COMPARE(bits, compare_exchange_weak)
#define CHANGE(bits, name, how)						\
	uint ## bits ## _t __tsan_atomic ## bits ## _ ## name(		\
	    volatile uint ## bits ## _t *, uint ## bits ## _t, int);	\
	uint ## bits ## _t						\
	__tsan_atomic ## bits ## _ ## name(				\
	    volatile uint ## bits ## _t *p, uint ## bits ## _t v, int order) \
	{								\
		(void)order;						\
		point();						\
		return how(p, v, __ATOMIC_SEQ_CST);			\
	}
#define COMPARE(bits, name)						\
	int __tsan_atomic ## bits ## _ ## name(				\
	    volatile uint ## bits ## _t *, uint ## bits ## _t *,	\
	    uint ## bits ## _t, int, int);				\
	int								\
	__tsan_atomic ## bits ## _ ## name(				\
	    volatile uint ## bits ## _t *p, uint ## bits ## _t *was,	\
	    uint ## bits ## _t v, int order, int failed)		\
	{								\
		(void)order;						\
		(void)failed;						\
		point();						\
		return __atomic_compare_exchange_n(p, was, v, false,	\
		    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);		\
	}
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
/* NOLINTEND(bugprone-reserved-*,cert-*,readability-non-const-*) */
