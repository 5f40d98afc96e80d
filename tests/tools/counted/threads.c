/*
 * Of the threads one runs at a time, and the others wait until it waits for
 * something: a read, a lock, a condition, an event.  Then comes who has waited
 * longest of those who need not wait any more; when all have to, the clock goes
 * on to the next who is waiting for it.  So all that is here is one thread's at
 * a time, and needs no lock.
 */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/time.h>
#include <time.h>

#include "counted.h"

enum { THREADS = 64 };

static const int64_t began = 1000000 * INT64_C(1000000000);

struct thread {
	pthread_t	 id;
	sem_t		 go;
	void		*(*run)(void *);
	void		*arg;
	bool		 ready, over, joined;
	uint64_t	 turn;		/* since when it waits, or is ready */
	int64_t		 wake;		/* ns, or never */
	bool		 woken;		/* by the clock */
	const void	*on;		/* what it waits for, or NULL */
	struct pollfd	*polls;		/* the same */
	nfds_t		 npolls;
	int		 polled;
};

static struct thread thread[THREADS];
static size_t threads;
static _Thread_local struct thread *self;
int64_t now;
static uint64_t turns;

/* In the place of one that has been joined, if there is one. */
static struct thread *
new_thread(void)
{
	struct thread *t = thread;

	while (t < thread + threads && !t->joined)
		t++;
	if (t == thread + THREADS)
		die("threads", "too many");
	threads += t == thread + threads;
	*t = (struct thread){ .wake = never };
	sem_init(&t->go, 0, 0);
	return t;
}

static struct thread *
me(void)
{
	if (self == NULL) {
		self = new_thread();
		self->id = pthread_self();
	}
	return self;
}

static void
make_ready(struct thread *t, bool by_clock)
{
	t->ready = true;
	t->woken = by_clock;
	t->on = NULL;
	t->polls = NULL;
	t->wake = never;
	t->turn = turns++;
}

/* The events of the world outside, or of another thread; false: none. */
static bool
look_at_polls(void)
{
	struct thread *t;
	bool any = false;

	REAL(real, poll);
	for (t = thread; t < thread + threads; t++) {
		if (t->polls == NULL || (t->npolls == 0 && t->wake != never))
			continue;
		t->polled = real(t->polls, t->npolls, 0);
		if (t->polled == 0)
			continue;
		make_ready(t, false);
		any = true;
	}
	return any;
}

static bool
next_of_clock(void)
{
	struct thread *t, *first = NULL;

	for (t = thread; t < thread + threads; t++)
		if (!t->ready && t->wake != never && (first == NULL ||
		    t->wake < first->wake || (t->wake == first->wake &&
		    t->turn < first->turn)))
			first = t;
	if (first == NULL)
		return false;
	if (first->wake > now)
		now = first->wake;
	first->polled = 0;
	make_ready(first, true);
	return true;
}

static struct thread *
next_thread(void)
{
	struct thread *t, *first;

	for (;;) {
		first = NULL;
		for (t = thread; t < thread + threads; t++)
			if (t->ready && (first == NULL ||
			    t->turn < first->turn))
				first = t;
		if (first != NULL)
			break;
		if (!look_at_polls() && !next_of_clock())
			die("threads", "all wait for each other");
	}
	first->ready = false;
	return first;
}

bool
wait_for(const void *on, int64_t wake)
{
	struct thread *t = me(), *other;

	t->on = on;
	t->wake = wake > now ? wake : now + ns_per_us;	/* as a call takes */
	t->turn = turns++;
	other = next_thread();
	if (other != t) {
		sem_post(&other->go);
		while (sem_wait(&t->go) != 0)
			continue;
	}
	return t->woken;
}

/* Who waits for it may go on: all, or who has waited longest. */
static void
wake_up(const void *on, bool all)
{
	struct thread *t, *first;

	do {
		first = NULL;
		for (t = thread; t < thread + threads; t++)
			if (t->on == on && (first == NULL ||
			    t->turn < first->turn))
				first = t;
		if (first != NULL)
			make_ready(first, false);
	} while (all && first != NULL);
}

static void *
started(void *arg)
{
	struct thread *t = arg;
	void *result;

	self = t;
	while (sem_wait(&t->go) != 0)
		continue;
	result = t->run(t->arg);
	t->over = true;
	wake_up(t, true);
	sem_post(&next_thread()->go);
	return result;
}

int
pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict attr,
    void *(*run)(void *), void *restrict arg)
{
	struct thread *t;
	int err;

	REAL(real, pthread_create);
	me();
	t = new_thread();
	t->run = run;
	t->arg = arg;
	err = real(&t->id, attr, started, t);
	if (err != 0)
		die("pthread_create", strerror(err));
	*id = t->id;
	make_ready(t, false);
	return 0;
}

static int64_t
ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * ns_per_s + t->tv_nsec;
}

/* Wait for its end, or until a time. */
static int
join(pthread_t id, void **result, int64_t until)
{
	struct thread *t;
	bool late = false;

	REAL(real, pthread_join);
	for (t = thread; t < thread + threads; t++)
		if (!t->joined && pthread_equal(t->id, id))
			break;
	if (t == thread + threads)
		die("pthread_join", "no such thread");
	while (!t->over && !late)
		late = wait_for(t, until);
	if (!t->over)
		return ETIMEDOUT;
	t->joined = true;
	return real(id, result);
}

int
pthread_join(pthread_t id, void **result)
{
	return join(id, result, never);
}

int
pthread_timedjoin_np(pthread_t id, void **result, const struct timespec *t)
{
	return join(id, result, ns_of(t) - began);
}

int
pthread_mutex_lock(pthread_mutex_t *m)
{
	int err;

	REAL(try, pthread_mutex_trylock);
	while ((err = try(m)) == EBUSY)
		wait_for(m, never);
	return err;
}

int
pthread_mutex_unlock(pthread_mutex_t *m)
{
	int err;

	REAL(real, pthread_mutex_unlock);
	err = real(m);
	wake_up(m, true);
	return err;
}

static int
wait_cond(pthread_cond_t *c, pthread_mutex_t *m, int64_t until)
{
	bool late;

	pthread_mutex_unlock(m);
	late = wait_for(c, until);
	pthread_mutex_lock(m);
	return late ? ETIMEDOUT : 0;
}

int
pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m)
{
	return wait_cond(c, m, never);
}

int
pthread_cond_timedwait(pthread_cond_t *restrict c,
    pthread_mutex_t *restrict m, const struct timespec *restrict t)
{
	return wait_cond(c, m, ns_of(t) - began);
}

int
pthread_cond_signal(pthread_cond_t *c)
{
	wake_up(c, false);
	return 0;
}

int
pthread_cond_broadcast(pthread_cond_t *c)
{
	wake_up(c, true);
	return 0;
}

/* ------------------------------------------------------------- the clock */

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock == CLOCK_PROCESS_CPUTIME_ID ||
	    clock == CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, t);
	t->tv_sec = (now + began) / ns_per_s;
	t->tv_nsec = (now + began) % ns_per_s;
	return 0;
}

time_t
time(time_t *t)
{
	time_t s = (now + began) / ns_per_s;

	if (t != NULL)
		*t = s;
	return s;
}

int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	(void)zone;
	t->tv_sec = (now + began) / ns_per_s;
	t->tv_usec = (now + began) % ns_per_s / ns_per_us;
	return 0;
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)left;
	wait_for(NULL, now + ns_of(t));
	return 0;
}

int
usleep(useconds_t us)
{
	wait_for(NULL, now + us * ns_per_us);
	return 0;
}

unsigned
sleep(unsigned s)
{
	wait_for(NULL, now + s * ns_per_s);
	return 0;
}

static int
wait_poll(struct pollfd *p, nfds_t n, int64_t most)
{
	struct thread *t = me();

	t->polls = p;
	t->npolls = n;
	wait_for(NULL, most < 0 ? never : now + most);
	return t->polled;
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	return wait_poll(p, n, ms * (ns_per_us * 1000));
}

int
ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *set)
{
	(void)set;
	return wait_poll(p, n, t == NULL ? -1 : ns_of(t));
}
