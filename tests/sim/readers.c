/*
 * Each reader is a thread, which asks for one range at a time and waits for the
 * answer, which is judged when it comes.  Some are killed while they wait, and
 * so is the mount.
 */
#include "readers.h"

#include "config.h"

#ifdef HAVE_LIBFUSE3
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#define FUSE_USE_VERSION 34
#include <fuse3/fuse_lowlevel.h>

#include "../sched/sched.h"
#include "base/library.h"
#include "model.h"
#include "sim.h"

enum { MOST = 16, LONG = 40 };		/* readers; sectors of a read */

enum state { ASKED, TAKEN, OVER };

struct fuse_req {
	struct fuse_req	*next;		/* asked after it */
	enum state	 state;
	uint64_t	 off;
	size_t		 len;
	int		 opens;		/* O_RDONLY or O_RDWR; -1: it is read */
	uint64_t	 fh;		/* what it was opened as */
	bool		 killed;	/* whoever asks */
};

struct fuse_session {
	const struct fuse_lowlevel_ops *ops;
	void		*data;
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;
	struct fuse_req	*first, **last;	/* those that are ASKED */
	int		 fd;		/* readable while there are some */
	bool		 closed;	/* unmounted */
	bool		 exited;	/* and whoever serves it knows */
	unsigned	 left;		/* readers who are not done */
	pthread_t	 thread[MOST];
	struct fuse_req	 req[MOST];
};

static struct {
	struct readers	 how;
	size_t		 skip, count;	/* sectors */
	bool		 strict;
	const char	*wrong;
	unsigned long	 good, failed;
	struct fuse_session *session;
} all;

bool
readers_can(void)
{
	return true;
}

void
readers_prepare(const struct readers *how, size_t skip, size_t count,
    bool strict)
{
	all.how = *how;
	all.skip = skip;
	all.count = count;
	all.strict = strict;
	all.wrong = NULL;
}

const char *
readers_wrong(void)
{
	return all.wrong;
}

void
readers_count(unsigned long *good, unsigned long *failed)
{
	*good = all.good;
	*failed = all.failed;
}

/* --- readers -------------------------------------------------------------- */

static void
throw_range(struct fuse_req *r)
{
	size_t size = all.count * SECTOR;

	r->opens = r->fh == 0 ? O_RDONLY : sched_roll(16) == 0 ? O_RDWR : -1;
	if (sched_roll(2) == 0)		/* else behind the last one */
		r->off = sched_roll(size + SECTOR) / (sched_roll(4) == 0 ? 1 :
		    SECTOR) * SECTOR % (size + SECTOR);
	else
		r->off += r->len;
	r->len = 1 + sched_roll(sched_roll(3) == 0 ? LONG * SECTOR : SECTOR);
	if (sched_roll(4) != 0)
		r->len = (r->len + SECTOR - 1) / SECTOR * SECTOR;
}

/* lock: ask, and wait for the answer, or for the file to be gone. */
static void
ask(struct fuse_session *se, struct fuse_req *r)
{
	struct timespec until;

	r->next = NULL;
	r->killed = false;
	r->state = ASKED;
	*se->last = r;
	se->last = &r->next;
	eventfd_write(se->fd, 1);
	if (sched_roll(8) == 0) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)sched_roll(400000000);
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&se->moved, &se->lock, &until);
		r->killed = r->state != OVER;
	}
	while (r->state != OVER && !se->closed)
		pthread_cond_wait(&se->moved, &se->lock);
}

static void *
reader(void *arg)
{
	struct fuse_session *se = all.session;
	struct fuse_req *r = arg;
	unsigned i;

	pthread_mutex_lock(&se->lock);
	for (i = 0; i < all.how.times && !se->closed; i++) {
		pthread_mutex_unlock(&se->lock);
		usleep(1 + (useconds_t)sched_roll(all.how.pause));
		throw_range(r);
		pthread_mutex_lock(&se->lock);
		if (!se->closed)
			ask(se, r);
	}
	if (--se->left == 0 && all.how.unmount) {
		se->closed = true;
		eventfd_write(se->fd, 1);
		pthread_cond_broadcast(&se->moved);
	}
	pthread_mutex_unlock(&se->lock);
	return NULL;
}

/* --- what they are answered ----------------------------------------------- */

static void
answered(struct fuse_req *r, const char *wrong)
{
	struct fuse_session *se = all.session;

	pthread_mutex_lock(&se->lock);
	if (r->state != TAKEN)
		wrong = "an answer to nobody";
	if (wrong != NULL)
		all.wrong = wrong;
	r->state = OVER;
	pthread_cond_broadcast(&se->moved);
	pthread_mutex_unlock(&se->lock);
}

/* Whether a block that a request touches was bad, ever. */
static bool
touches_bad(const struct fuse_req *r)
{
	size_t i = all.skip + r->off / SECTOR;

	for (; i <= all.skip + (r->off + r->len - 1) / SECTOR; i++)
		if (near_bad(i))
			return true;
	return false;
}

static int
sim_reply_buf(fuse_req_t r, const char *buf, size_t n)
{
	size_t size = all.count * SECTOR;
	const char *wrong = NULL;
	size_t want = r->off >= size ? 0 : MIN(r->len, size - r->off);

	if (r->opens >= 0 || n != want)
		wrong = "a reader got another number of bytes";
	else if (n > 0 && !machine.target[0].loses && memcmp(buf,
	    machine.source.now + all.skip * SECTOR + r->off, n) != 0)
		wrong = "a reader got something else";
	all.good++;
	answered(r, wrong);
	return 0;
}

static bool
target_failed(void)
{
	return machine.target[0].failed || machine.dark;
}

static int
sim_reply_err(fuse_req_t r, int err)
{
	const char *wrong = NULL;

	if (r->opens >= 0)
		wrong = err != EROFS || r->opens != O_RDWR ?
		    "it could not be opened" : NULL;
	else if (err == EINTR)
		wrong = r->killed ? NULL : "a read was interrupted by nobody";
	else if (err != EIO)
		wrong = "a reader got another error";
	else if (all.strict && !touches_bad(r) && !all.session->closed &&
	    machine.signal_at == NEVER && !machine.source.vanished &&
	    !target_failed())
		wrong = "a reader got an error for what is not bad";
	all.failed += r->opens < 0;
	answered(r, wrong);
	return 0;
}

static int
sim_reply_open(fuse_req_t r, const struct fuse_file_info *fi)
{
	r->fh = fi->fh;
	answered(r, r->opens != O_RDONLY ? "a reader may write" : NULL);
	return 0;
}

static int
sim_reply_attr(fuse_req_t r, const struct stat *st, double seconds)
{
	(void)st;
	(void)seconds;
	answered(r, "nobody has asked");
	return 0;
}

static int
sim_interrupted(fuse_req_t r)
{
	int is;

	pthread_mutex_lock(&all.session->lock);
	is = r->killed;
	pthread_mutex_unlock(&all.session->lock);
	return is;
}

static void *
sim_userdata(fuse_req_t r)
{
	(void)r;
	return all.session->data;
}

/* --- the mount ------------------------------------------------------------ */

static struct fuse_session *
sim_new(struct fuse_args *args, const struct fuse_lowlevel_ops *ops,
    size_t size, void *data)
{
	struct fuse_session *se = calloc(1, sizeof(*se));

	(void)args;
	(void)size;
	if (se == NULL)
		return NULL;
	se->ops = ops;
	se->data = data;
	se->last = &se->first;
	se->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&se->lock, NULL);
	pthread_cond_init(&se->moved, NULL);
	all.session = se;
	return se;
}

/* As it is called from libfuse 3.17 on. */
static struct fuse_session *
sim_new_versioned(struct fuse_args *args, const struct fuse_lowlevel_ops *ops,
    size_t size, const void *version, void *data)
{
	(void)version;
	return sim_new(args, ops, size, data);
}

static int
sim_mount(struct fuse_session *se, const char *path)
{
	sigset_t signals, was;
	unsigned i;

	(void)path;
	sigfillset(&signals);
	pthread_sigmask(SIG_SETMASK, &signals, &was);
	se->left = all.how.n;
	for (i = 0; i < all.how.n; i++)
		if (pthread_create(&se->thread[i], NULL, reader,
		    &se->req[i]) != 0)
			abort();
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return 0;
}

static void
sim_unmount(struct fuse_session *se)
{
	unsigned i;

	pthread_mutex_lock(&se->lock);
	for (i = 0; i < all.how.n; i++)
		if (se->req[i].state == TAKEN)
			all.wrong = "a reader was never answered";
	se->closed = true;
	pthread_cond_broadcast(&se->moved);
	pthread_mutex_unlock(&se->lock);
	for (i = 0; i < all.how.n; i++)
		pthread_join(se->thread[i], NULL);
}

static void
sim_destroy(struct fuse_session *se)
{
	close(se->fd);
	pthread_mutex_destroy(&se->lock);
	pthread_cond_destroy(&se->moved);
	free(se);
	all.session = NULL;
}

static int
sim_fd(struct fuse_session *se)
{
	return se->fd;
}

static int
sim_exited(struct fuse_session *se)
{
	return se->exited;
}

struct message {		/* what the kernel would send */
	struct fuse_req	*request;
};

static int
sim_receive(struct fuse_session *se, struct fuse_buf *buf)
{
	struct message m;
	eventfd_t n;

	if (buf->mem == NULL)
		buf->mem = malloc(sizeof(m));
	if (buf->mem == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&se->lock);
	se->exited = se->closed;
	m.request = se->closed ? NULL : se->first;
	if (m.request != NULL) {
		m.request->state = TAKEN;
		se->first = m.request->next;
		if (se->first == NULL)
			se->last = &se->first;
	} else if (!se->closed) {
		eventfd_read(se->fd, &n);
	}
	pthread_mutex_unlock(&se->lock);
	memcpy(buf->mem, &m, sizeof(m));
	return m.request != NULL ? (int)sizeof(m) : se->closed ? 0 : -EAGAIN;
}

static void
sim_process(struct fuse_session *se, const struct fuse_buf *buf)
{
	struct fuse_file_info fi = { .flags = 0 };
	struct fuse_req *r;
	struct message m;

	memcpy(&m, buf->mem, sizeof(m));
	r = m.request;
	fi.flags = r->opens;
	fi.fh = r->fh;
	if (r->opens >= 0)
		se->ops->open(r, FUSE_ROOT_ID, &fi);
	else
		se->ops->read(r, FUSE_ROOT_ID, r->len, (off_t)r->off, &fi);
}

static void
nothing(void)
{
}

/* --- in the place of the library ------------------------------------------ */

static const struct { const char *name; void (*function)(void); } fuse[] = {
#define IS(theirs, ours)	{ #theirs, (void (*)(void))(ours) }
	IS(fuse_session_new, sim_new),
	IS(fuse_session_new_versioned, sim_new_versioned),
	IS(fuse_session_mount, sim_mount),
	IS(fuse_session_unmount, sim_unmount),
	IS(fuse_session_destroy, sim_destroy),
	IS(fuse_session_fd, sim_fd),
	IS(fuse_session_exited, sim_exited),
	IS(fuse_session_receive_buf, sim_receive),
	IS(fuse_session_process_buf, sim_process),
	IS(fuse_set_log_func, nothing),
	IS(fuse_opt_free_args, nothing),
	IS(fuse_req_interrupted, sim_interrupted),
	IS(fuse_req_userdata, sim_userdata),
	IS(fuse_reply_attr, sim_reply_attr),
	IS(fuse_reply_open, sim_reply_open),
	IS(fuse_reply_buf, sim_reply_buf),
	IS(fuse_reply_err, sim_reply_err),
};

int __real_library_load(const struct library *, void *, const char *,
    struct fault *);
int __wrap_library_load(const struct library *, void *, const char *,
    struct fault *);

int
__wrap_library_load(const struct library *l, void *table, const char *what,
    struct fault *f)
{
	size_t i, k;

	if (strncmp(l->file, "libfuse3", strlen("libfuse3")) != 0)
		return __real_library_load(l, table, what, f);
	for (i = 0; l->function[i] != NULL; i++)
		for (k = 0; k < sizeof(fuse) / sizeof(fuse[0]); k++)
			if (strcmp(fuse[k].name, l->function[i]) == 0)
				memcpy((char *)table + i * sizeof(void *),
				    &fuse[k].function, sizeof(void *));
	return 0;
}

/* Whoever runs this, it mounts nothing. */
uid_t __wrap_geteuid(void);

uid_t
__wrap_geteuid(void)
{
	return 0;
}
#else
bool
readers_can(void)
{
	return false;
}

void
readers_prepare(const struct readers *how, size_t skip, size_t count,
    bool strict)
{
	(void)how;
	(void)skip;
	(void)count;
	(void)strict;
}

const char *
readers_wrong(void)
{
	return NULL;
}

void
readers_count(unsigned long *good, unsigned long *failed)
{
	*good = *failed = 0;
}
#endif
