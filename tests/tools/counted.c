/*
 * counted: a bad disk whose costs are counted, between the program and libc
 * (LD_PRELOAD).  No time passes in which nothing is done: a clock stands still
 * while the program thinks, and goes on by what each read of the disk costs.
 * So a night's rescue takes a second, and comes out the same each time, however
 * busy the machine is.
 *
 *	DISK=FILE	what the disk is like: lines of a word and numbers
 *	SOURCE=FILE	stands for it: reads of it are the disk's, whose size it
 *			has
 *	TARGET=FILE	what is written to it is looked at and thrown away
 *	FIGURES=FILE	gets what it came to, a line
 *	READS=FILE	gets a line for each read: second, offset, length, good
 *	SYSFS=DIR	if given, SOURCE is a block device, and DIR its folder
 *			in sysfs
 *
 * The words of DISK (bytes, microseconds):
 *
 *	size BYTES	rate BYTES_PER_SECOND	physical BYTES
 *	overhead US	of each read; the disk is occupied
 *	latency US	of each read; the disk goes on meanwhile
 *	jump US		of a read that does not follow the last
 *	error US	of a read that fails; it has come to the bad sector
 *	servers N	so many reads are served at a time (1)
 *	tries N		a bad sector can be read the Nth time (0: never)
 *	above BYTES	only longer reads fail
 *	grow N		each Nth error makes its bad area a sector longer
 *	stop 1		the run is over once all that can be read is there
 *	limit SECONDS	the run is over then at the latest
 *	bad OFF LEN	in order, as are:
 *	slow OFF LEN RATE
 *
 * The disk serves reads in the order in which they come: one after the other, or
 * with servers=N as many at a time.  Then each has its own overhead and its own
 * error, and all share the rate.  A sector carries its number, so that what is
 * written can be told from what was never read.  The line of FIGURES, with tabs: seconds and errors until 50, 90,
 * 99, 99.9 and 100 % of what can be read were written; seconds, errors, reads
 * and jumps in all; sectors that are missing; sectors written wrong.
 *
 * Of the threads one runs at a time, and the others wait until it waits for
 * something: a read, a lock, a condition, an event.  Then comes who has waited
 * longest of those who need not wait any more; when all have to, the clock goes
 * on to the next who is waiting for it.  So all that is here is one thread's at
 * a time, and needs no lock.
 */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

enum {
	SECTOR = 512,
	GROUP = 2048,			/* sectors of a bitmap */
	THREADS = 64,
	SERVERS = 32,
	MARKS = 5,
	MAJOR = 240,			/* of nobody */
};

static const int64_t ns_per_s = 1000000000, ns_per_us = 1000;
static const int64_t never = INT64_MAX;
static const int64_t began = 1000000 * INT64_C(1000000000);
static const uint64_t salt = UINT64_C(0x5EC7000000000000);

struct area {
	uint64_t	 off, end;
	double		 rate;		/* of a slow one */
};

struct areas {				/* in order, apart from each other */
	struct area	*area;
	size_t		 n, room;
};

static struct {
	uint64_t	 size, physical, above, grow, tries, stop, servers;
	double		 rate;
	int64_t		 overhead, latency, jump, error, limit;
	struct areas	 bad, slow;
	unsigned char	*tried;		/* with tries: of each sector */
	int64_t		 free_at[SERVERS];	/* ns */
	int64_t		 way_at;	/* ns: nothing is transferred then */
	uint64_t	 head;		/* where the last read ended */
	uint64_t	 errors, reads, jumps;
} disk = { .physical = SECTOR, .rate = 200e6, .servers = 1 };

/* What was written: of each group its bits, or &whole. */
static struct {
	uint64_t	**group;
	uint64_t	 good, there, wrong;	/* sectors */
	int64_t		 at[MARKS];		/* ns, or -1 */
	uint64_t	 errors[MARKS];
	unsigned	 mark;
	bool		 told;
} safe;
static uint64_t whole[1];

static const double marks[MARKS] = { .5, .9, .99, .999, 1 };
static struct stat source, target;
static const char *sysfs;
static FILE *trace;

/* -------------------------------------------------------------- threads */

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
static int64_t now;			/* ns */
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

/* Wait for "on", or until a time; true: it is that time. */
static bool
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

/* ------------------------------------------------------------- figures */

static void
tell_mark(FILE *f, unsigned i)
{
	if (safe.mark > i)
		fprintf(f, "%.6f\t%" PRIu64 "\t", (double)safe.at[i] /
		    (double)ns_per_s, safe.errors[i]);
	else
		fprintf(f, "-\t-\t");
}

static void
tell(void)
{
	const char *path = getenv("FIGURES");
	FILE *f = path != NULL ? fopen(path, "w") : NULL;
	unsigned i;

	if (trace != NULL)
		fflush(trace);
	if (f == NULL || safe.told)
		return;
	safe.told = true;
	for (i = 0; i < MARKS; i++)
		tell_mark(f, i);
	fprintf(f, "%.6f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	    "\t%" PRIu64 "\n", (double)now / (double)ns_per_s, disk.errors,
	    disk.reads, disk.jumps, safe.good - safe.there, safe.wrong);
	fclose(f);
}

/* Tests are counted, too (tests/coverage). */
static void
enough(void)
{
	void (*count)(void) = (void (*)(void))dlsym(RTLD_DEFAULT,
	    "coverage_count");

	tell();
	if (count != NULL)
		count();
	_exit(0);
}

__attribute__((destructor)) static void
end(void)
{
	tell();
}

static void
note_marks(void)
{
	while (safe.mark < MARKS && (double)safe.there >=
	    marks[safe.mark] * (double)safe.good) {
		safe.at[safe.mark] = now;
		safe.errors[safe.mark++] = disk.errors;
	}
	if (safe.mark == MARKS && disk.stop)
		enough();
}

/* Sectors from..to of a group, which carry their numbers. */
static void
note_sectors(uint64_t group, unsigned from, unsigned to)
{
	uint64_t **g = &safe.group[group], bit;
	unsigned i;

	if (*g == whole)
		return;
	if (*g == NULL && from == 0 && to == GROUP) {
		*g = whole;
		safe.there += GROUP;
		return;
	}
	if (*g == NULL && (*g = calloc(GROUP / 64, sizeof(**g))) == NULL)
		die("figures", "no memory");
	for (i = from; i < to; i++) {
		bit = UINT64_C(1) << i % 64;
		safe.there += ((*g)[i / 64] & bit) == 0;
		(*g)[i / 64] |= bit;
	}
}

static bool
carries(const unsigned char *buf, uint64_t sector)
{
	uint64_t is;

	memcpy(&is, buf, sizeof(is));
	return is == (sector | salt);
}

/* What is written: whole sectors, each with its number or none. */
static void
note_write(const unsigned char *buf, uint64_t off, size_t len)
{
	uint64_t s = off / SECTOR, e = (off + len) / SECTOR, g, from;

	if (off % SECTOR != 0 || len % SECTOR != 0 || off + len > disk.size)
		die("write", "not of sectors");
	for (; s < e; s = g) {
		g = (s / GROUP + 1) * GROUP;
		g = g < e ? g : e;
		for (from = s; s < g; s++, buf += SECTOR) {
			if (carries(buf, s))
				continue;
			safe.wrong++;
			note_sectors(from / GROUP, (unsigned)(from % GROUP),
			    (unsigned)(from % GROUP + (s - from)));
			from = s + 1;
		}
		if (from < g)
			note_sectors(from / GROUP, (unsigned)(from % GROUP),
			    (unsigned)(from % GROUP + (g - from)));
	}
	note_marks();
}

/* ------------------------------------------------------------- the disk */

/* The first of the areas that ends behind off. */
static size_t
first_behind(const struct areas *a, uint64_t off)
{
	size_t from = 0, to = a->n, half;

	while (from < to) {
		half = from + (to - from) / 2;
		if (a->area[half].end > off)
			to = half;
		else
			from = half + 1;
	}
	return from;
}

/* With tries=N: the first sector of the area that fails still. */
static bool
still_bad(const struct area *a, uint64_t off, uint64_t end, uint64_t *at)
{
	uint64_t s = a->off > off ? a->off : off;
	uint64_t e = a->end < end ? a->end : end;

	for (*at = s; disk.tries > 0 && *at < e; *at += SECTOR)
		if (++disk.tried[*at / SECTOR] < disk.tries)
			return true;
	return disk.tries == 0;
}

/* Where a read meets the first bad sector; false: nowhere. */
static bool
meets(uint64_t off, size_t len, uint64_t *at)
{
	size_t i = first_behind(&disk.bad, off);
	struct area *a;

	if (len <= disk.above)
		return false;
	for (; i < disk.bad.n && disk.bad.area[i].off < off + len; i++) {
		a = &disk.bad.area[i];
		if (!still_bad(a, off, off + len, at))
			continue;
		if (disk.grow > 0 && disk.errors % disk.grow == 0 &&
		    a->end < (i + 1 < disk.bad.n ? a[1].off : disk.size))
			a->end += SECTOR;
		return true;
	}
	return false;
}

/* What the transfer of a range takes, ns. */
static int64_t
transfer_time(uint64_t off, uint64_t end)
{
	size_t i = first_behind(&disk.slow, off);
	double s = 0;
	uint64_t from, to;

	for (; off < end && i < disk.slow.n; i++) {
		from = disk.slow.area[i].off;
		to = disk.slow.area[i].end;
		from = from > end ? end : from < off ? off : from;
		to = to < end ? to : end;
		s += (double)(from - off) / disk.rate;
		s += (double)(to > from ? to - from : 0) /
		    disk.slow.area[i].rate;
		off = to > from ? to : from;
	}
	s += (double)(end - off) / disk.rate;
	return (int64_t)(s * (double)ns_per_s + .5);
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Who serves next. */
static int64_t *
first_free(void)
{
	int64_t *first = disk.free_at, *at;

	for (at = first + 1; at < disk.free_at + disk.servers; at++)
		first = *at < *first ? at : first;
	return first;
}

/* One read: its time is up when this returns.  False: it has failed. */
static bool
serve(uint64_t off, size_t len)
{
	int64_t *server = first_free(), start;
	uint64_t to = off + len;
	bool bad = meets(off, len, &to), follows = off == disk.head;

	disk.reads++;
	disk.jumps += !follows;
	disk.errors += bad;
	disk.head = bad ? UINT64_MAX : to;
	start = later(now, *server) + disk.overhead +
	    (follows ? 0 : disk.jump);
	disk.way_at = later(start, disk.way_at) + transfer_time(off, to);
	*server = disk.way_at + (bad ? disk.error : 0);
	wait_for(NULL, *server + disk.latency);
	if (trace != NULL)
		fprintf(trace, "%.6f %" PRIu64 " %zu %d\n", (double)now /
		    (double)ns_per_s, off, len, !bad);
	if (disk.limit > 0 && now > disk.limit)
		enough();
	return !bad;
}

static ssize_t
read_disk(unsigned char *buf, uint64_t off, size_t len)
{
	uint64_t s;
	size_t i;

	if (off >= disk.size)
		return 0;
	if (len > disk.size - off)
		len = (size_t)(disk.size - off);
	if (off % SECTOR != 0 || len % SECTOR != 0)
		die("read", "not of sectors");
	if (!serve(off, len)) {
		errno = EIO;
		return -1;
	}
	for (i = 0; i < len; i += SECTOR) {
		s = (off + i) / SECTOR | salt;
		memcpy(buf + i, &s, sizeof(s));
	}
	return (ssize_t)len;
}

/* -------------------------------------------------------- what is called */

static bool
is(int fd, const struct stat *which)
{
	struct stat st;

	REAL(real, fstat);
	return real(fd, &st) == 0 && st.st_dev == which->st_dev &&
	    st.st_ino == which->st_ino;
}

/* A transfer at a place, or (at < 0) where the descriptor stands. */
static ssize_t
transfer(int fd, const struct iovec *v, int n, off_t at, bool writes)
{
	off_t off = at >= 0 ? at : lseek64(fd, 0, SEEK_CUR);
	ssize_t moved;

	if (n != 1)
		die("transfer", "of several buffers");
	if (writes)
		note_write(v->iov_base, (uint64_t)off, v->iov_len);
	moved = writes ? (ssize_t)v->iov_len :
	    read_disk(v->iov_base, (uint64_t)off, v->iov_len);
	if (at < 0 && moved > 0)
		lseek64(fd, off + moved, SEEK_SET);
	return moved;
}

#define ONE(buf, len)	\
	&(struct iovec){ .iov_base = (void *)(uintptr_t)(buf), .iov_len = (len) }, 1

ssize_t
read(int fd, void *buf, size_t len)
{
	REAL(real, read);
	return is(fd, &source) ? transfer(fd, ONE(buf, len), -1, false) :
	    real(fd, buf, len);
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	REAL(real, write);
	return is(fd, &target) ? transfer(fd, ONE(buf, len), -1, true) :
	    real(fd, buf, len);
}

/* Each of the positioned ones under its plain and its 64-bit name. */
#define BOTH(name64, name, proto, args, which, call)			\
	ssize_t								\
	name64 proto							\
	{								\
		REAL(real, name64);					\
		return is(fd, which) ? transfer call : real args;	\
	}								\
	ssize_t								\
	name proto							\
	{								\
		REAL(real, name);					\
		return is(fd, which) ? transfer call : real args;	\
	}

BOTH(pread64, pread, (int fd, void *buf, size_t len, off_t at),
    (fd, buf, len, at), &source, (fd, ONE(buf, len), at, false))
BOTH(pwrite64, pwrite, (int fd, const void *buf, size_t len, off_t at),
    (fd, buf, len, at), &target, (fd, ONE(buf, len), at, true))
BOTH(preadv64v2, preadv2,
    (int fd, const struct iovec *v, int n, off_t at, int flags),
    (fd, v, n, at, flags), &source, (fd, v, n, at, false))
BOTH(pwritev64v2, pwritev2,
    (int fd, const struct iovec *v, int n, off_t at, int flags),
    (fd, v, n, at, flags), &target, (fd, v, n, at, true))

/* With SYSFS the source is a block device. */
#define STAT_OF(name, type)						\
	int								\
	name(int fd, struct type *st)					\
	{								\
		REAL(real, name);					\
		if (real(fd, st) != 0)					\
			return -1;					\
		if (sysfs != NULL && st->st_dev == source.st_dev &&	\
		    st->st_ino == source.st_ino) {			\
			st->st_mode = S_IFBLK | 0600;			\
			st->st_rdev = makedev(MAJOR, 0);		\
		}							\
		return 0;						\
	}

STAT_OF(fstat, stat)
STAT_OF(fstat64, stat64)

/* What is thrown away fits onto a file system that knows of no holes. */
#define STATFS_OF(name, type)						\
	int								\
	name(int fd, struct type *fs)					\
	{								\
		REAL(real, name);					\
		if (real(fd, fs) != 0)					\
			return -1;					\
		if (is(fd, &target)) {					\
			fs->f_type = 0;					\
			fs->f_blocks = fs->f_bfree = fs->f_bavail =	\
			    disk.size;					\
		}							\
		return 0;						\
	}

STATFS_OF(fstatfs, statfs)
STATFS_OF(fstatfs64, statfs64)

int
ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	REAL(real, ioctl);
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (sysfs == NULL || !is(fd, &source))
		return real(fd, request, arg);
	if (request == BLKSSZGET)
		*(int *)arg = SECTOR;
	else if (request == BLKPBSZGET)
		*(unsigned *)arg = (unsigned)disk.physical;
	else if (request == BLKGETSIZE64)
		*(uint64_t *)arg = disk.size;
	else {
		errno = ENOTTY;
		return -1;
	}
	return 0;
}

#define OPEN(name)							\
	int name(const char *path, int flags, ...);			\
	int								\
	name(const char *path, int flags, ...)				\
	{								\
		char node[64];						\
		va_list ap;						\
		int mode;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & (O_CREAT | O_TMPFILE) ?			\
		    va_arg(ap, int) : 0;				\
		va_end(ap);						\
		snprintf(node, sizeof(node), "/sys/dev/block/%d:0",	\
		    MAJOR);						\
		if (sysfs != NULL && strcmp(path, node) == 0)		\
			path = sysfs;					\
		return real(path, flags, mode);				\
	}

OPEN(open)
OPEN(open64)
OPEN(__open_2)
OPEN(__open64_2)

/* ------------------------------------------------------ what it is like */

static void
add(struct areas *a, uint64_t off, uint64_t len, double rate)
{
	if (a->n > 0 && off < a->area[a->n - 1].end)
		die("DISK", "areas are not in order");
	if (off > disk.size || len > disk.size - off)
		die("DISK", "an area behind the end");
	if (a->n == a->room) {
		a->room = a->room * 2 + 64;
		a->area = realloc(a->area, a->room * sizeof(*a->area));
	}
	if (a->area == NULL)
		die("DISK", "no memory");
	a->area[a->n++] = (struct area){ off, off + len, rate };
}

/* A word that has one number; false when it is none of them. */
static bool
number(const char *word, double value)
{
	const struct { const char *name; uint64_t *to; } bytes[] = {
		{ "size", &disk.size }, { "physical", &disk.physical },
		{ "above", &disk.above }, { "grow", &disk.grow },
		{ "tries", &disk.tries }, { "stop", &disk.stop },
		{ "servers", &disk.servers },
	};
	const struct { const char *name; int64_t *to; } times[] = {
		{ "overhead", &disk.overhead }, { "latency", &disk.latency },
		{ "jump", &disk.jump }, { "error", &disk.error },
	};
	size_t i;

	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		if (strcmp(word, bytes[i].name) == 0)
			return *bytes[i].to = (uint64_t)value, true;
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (strcmp(word, times[i].name) == 0)
			return *times[i].to = (int64_t)(value *
			    (double)ns_per_us), true;
	if (strcmp(word, "rate") == 0)
		return disk.rate = value, true;
	if (strcmp(word, "limit") == 0)
		return disk.limit = (int64_t)value * ns_per_s, true;
	return false;
}

static void
line_of(const char *line)
{
	char word[16];
	double a, b = 0, c = 0;
	int n = sscanf(line, "%15s %lf %lf %lf", word, &a, &b, &c);

	if (n == 3 && strcmp(word, "bad") == 0)
		add(&disk.bad, (uint64_t)a, (uint64_t)b, 0);
	else if (n == 4 && strcmp(word, "slow") == 0)
		add(&disk.slow, (uint64_t)a, (uint64_t)b, c);
	else if (n != 2 || !number(word, a))
		die(line, "not a line of DISK");
}

static void
read_disk_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];

	if (f == NULL)
		die(path, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL)
		line_of(line);
	fclose(f);
}

static void
find(const char *name, struct stat *st)
{
	const char *path = getenv(name);

	if (path == NULL || stat(path, st) != 0)
		die(name, "no such file");
}

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("DISK"), *reads = getenv("READS");
	size_t i;

	if (path == NULL)
		die("DISK", "not given");
	find("SOURCE", &source);
	find("TARGET", &target);
	read_disk_file(path);
	if (disk.size == 0 || (uint64_t)source.st_size != disk.size)
		die("SOURCE", "not as large as the disk");
	if (disk.servers < 1 || disk.servers > SERVERS)
		die("DISK", "too many servers");
	safe.good = disk.size / SECTOR;
	for (i = 0; i < disk.bad.n && disk.tries + disk.above == 0; i++)
		safe.good -= (disk.bad.area[i].end - disk.bad.area[i].off) /
		    SECTOR;
	safe.group = calloc((size_t)(disk.size / SECTOR / GROUP + 1),
	    sizeof(*safe.group));
	if (disk.tries > 0)
		disk.tried = calloc((size_t)(disk.size / SECTOR), 1);
	if (safe.group == NULL || (disk.tries > 0 && disk.tried == NULL))
		die("DISK", "no memory");
	trace = reads != NULL ? fopen(reads, "w") : NULL;
	sysfs = getenv("SYSFS");
	if (sysfs != NULL && (sysfs = strdup(sysfs)) == NULL)
		die("SYSFS", "no memory");	/* a title goes over it */
}

UNCONFINED(true)
