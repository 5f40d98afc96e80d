/*
 * What a program calls of libc, under the scheduler: threads, locks, waits and
 * requests.  Each is a place at which another one may go on.
 */
#undef _FILE_OFFSET_BITS		/* as in the shim, which may be below */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>

#include "inside.h"

#include "../tools/preload.h"

static const uint64_t second = 1000000000;

static uint64_t
time_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * second + (uint64_t)t->tv_nsec;
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
	pass_turn();
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
	return medium_told(fd) ? -1 :
	    medium_wrote(fd, off, real(fd, buf, n, off));
}

ssize_t
pwritev64v2(int fd, const struct iovec *v, int n, off64_t off, int flags)
{
	REAL(real, pwritev64v2);
	point();
	return medium_told(fd) ? -1 :
	    medium_wrote(fd, off, real(fd, v, n, off, flags));
}

/* The medium is a made up one: what is flushed is there. */
static int
flush(int fd, int (*real)(int))
{
	point();
	if (medium_told(fd))
		return -1;
	if (self == NULL || lseek(fd, 0, SEEK_CUR) < 0)
		return real(fd);
	medium_flushed(fd);
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
