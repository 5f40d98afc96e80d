/*
 * view=FILE: what is rescued, as a file that can be read meanwhile.
 *
 * A thread answers the kernel (FUSE).  What is finished comes from the target,
 * and what is bad is an error; neither is ever waited for.  Any other read is
 * put aside, and the gaps are told what it needs (gaps_ask), so that workers
 * read nothing else.  When they have settled a piece (rescue_tell), all reads
 * that were put aside are looked at again.
 *
 * Nothing is answered but what the map calls finished, which it is only once it
 * was written, and nothing that a disk may have made up after an error
 * (junk.c); the page cache of the target is told not to read ahead, because
 * what lies beside it is old.
 *
 * Once the run is being stopped, or has read all it will, what is unread is an
 * error.  So nobody who reads, or does not, can delay its end.
 *
 * With wait= several runs follow each other.  While the source is away there is
 * no job, only the map of the run that lost it; who asks for more waits, too.
 */
#include "view/view.h"

#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/status.h"
#include "copy/job.h"
#include "plan/names.h"

#ifdef HAVE_LIBFUSE3
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUSE_USE_VERSION 34
#include <fuse3/fuse_lowlevel.h>

#include "base/library.h"
#include "rescue/rescue.h"

/* Its functions have another form from 3.17 on, and it another name. */
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
#define VIEW_NEW(X)	X(fuse_session_new_versioned)
#define viewer_session(lib, ...)	(lib)->fuse_session_new_versioned( \
    __VA_ARGS__, &(struct libfuse_version){ .major = FUSE_MAJOR_VERSION, \
    .minor = FUSE_MINOR_VERSION }, v)
#define VIEW_SO		"libfuse3.so.4"
#define VIEW_PACKAGE	"libfuse3-4"
#else
#define VIEW_NEW(X)	X(fuse_session_new)
#define viewer_session(lib, ...)	(lib)->fuse_session_new(__VA_ARGS__, v)
#define VIEW_SO		"libfuse3.so.3"
#define VIEW_PACKAGE	"libfuse3-3"
#endif
#endif

#ifdef HAVE_LIBFUSE3
#define FUSE_FUNCTIONS(X) \
	VIEW_NEW(X) X(fuse_session_mount) X(fuse_session_unmount) \
	X(fuse_session_destroy) X(fuse_session_fd) X(fuse_session_exited) \
	X(fuse_session_receive_buf) X(fuse_session_process_buf) \
	X(fuse_set_log_func) X(fuse_opt_free_args) \
	X(fuse_req_interrupted) X(fuse_reply_attr) X(fuse_reply_open) \
	X(fuse_reply_buf) X(fuse_reply_err)

LIBRARY_STATIC(libfuse, VIEW_SO, VIEW_PACKAGE, FUSE_FUNCTIONS);

enum {
	STACKED = 16,		/* dead mounts on each other, at most */
	AT_ONCE = 64,		/* requests */
	MOMENT = 100,		/* ms */
};

static const double lasting = 86400;	/* s: what is answered stays true */

struct request {			/* a read that was put aside */
	struct request	*next;
	fuse_req_t	 req;
	uint64_t	 off;
	size_t		 len;
};

struct viewer {
	struct libfuse	 lib;
	const struct plan *p;
	const char	*path;
	uint64_t	 length;	/* bytes of the file */
	struct stat	 made;		/* that of the file, if we made it */
	bool		 makes;
	struct fuse_session *session;	/* NULL: unmounted */
	/* the thread's, while it runs: */
	struct map	*map;		/* what is where */
	struct job	*job;		/* NULL: the source is waited for */
	int		 target;	/* a descriptor */
	struct request	*first, **last;	/* the oldest first */
	struct fuse_buf	 buf;
	pthread_t	 thread;
	bool		 runs;
	int		 wake;		/* an eventfd, or -1 */
	atomic_bool	 quit;		/* the thread must end */
	atomic_bool	 over;		/* nothing more will be read */
	atomic_uint_fast64_t there, read, failed, waiting, at;
	atomic_bool	 used;
};

/* --- answers -------------------------------------------------------------- */

enum viewer_state { STATE_THERE, STATE_BAD, STATE_UNREAD };

/* What the map says of all of a range. */
static enum viewer_state
viewer_state(struct map *map, uint64_t off, uint64_t len)
{
	enum viewer_state state = STATE_THERE;
	uint64_t end = off + len;
	struct seg s;

	for (; off < end && map_here(map, off, &s); off = s.off + s.len)
		switch (s.status) {
		case FINISHED:
			break;
		case BAD:
		case OUTSIDE:
		case STALE:
			return STATE_BAD;
		default:
			state = STATE_UNREAD;
		}
	return state;
}

static void
viewer_fail(struct viewer *v, fuse_req_t req, int err)
{
	v->failed++;
	v->lib.fuse_reply_err(req, err);
}

/* Answer from the target.  Returns whether it could. */
static bool
viewer_send(struct viewer *v, fuse_req_t req, uint64_t off, size_t len)
{
	uint64_t place = v->p->dst_off + off;
	char *buf = malloc(len);
	size_t done = 0;
	ssize_t n = 1;

	while (buf != NULL && done < len && n > 0) {
		n = pread(v->target, buf + done, len - done,
		    (off_t)(place + done));
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			done += (size_t)n;
	}
	/* a target that has failed may have older data there */
	if (v->job != NULL && v->job->doubt)
		done = 0;
	if (done == len)
		v->lib.fuse_reply_buf(req, buf, len);
	else
		viewer_fail(v, req, EIO);
	free(buf);
	return done == len;
}

/* Answer if that can be done now; *late: it was put aside before. */
static bool
viewer_answer(struct viewer *v, const struct request *r, bool late)
{
	enum viewer_state state = viewer_state(v->map, r->off, r->len);

	if (state == STATE_THERE && v->job != NULL &&
	    junk_doubts(v->job, r->off, r->len))
		state = STATE_UNREAD;
	if (state == STATE_THERE) {
		if (viewer_send(v, r->req, r->off, r->len))
			(late ? &v->read : &v->there)[0]++;
	} else if (state == STATE_BAD || v->over) {
		viewer_fail(v, r->req, EIO);
	} else if (v->lib.fuse_req_interrupted(r->req)) {
		v->lib.fuse_reply_err(r->req, EINTR);
	} else {
		return false;
	}
	return true;
}

/* Whether this run has lost its source, and another may go on. */
static bool
viewer_awaits(const struct viewer *v)
{
	return v->p->opts->wait >= 0 && (v->job == NULL || v->job->gone);
}

/* Answer what can be by now, and say what the rest waits for. */
static void
viewer_answer_all(struct viewer *v)
{
	struct request **at = &v->first, *r;
	struct seg asked[GAPS_ASKS];
	size_t n = 0, all = 0;

	if (v->job != NULL && v->job->rescue->asked_all && !viewer_awaits(v))
		v->over = true;
	while ((r = *at) != NULL) {
		if (viewer_answer(v, r, true)) {
			*at = r->next;
			free(r);
			continue;
		}
		if (n < GAPS_ASKS)
			asked[n++] = (struct seg){ r->off, r->len, UNTRIED };
		all++;
		at = &r->next;
	}
	v->last = at;
	v->at = v->first != NULL ? v->first->off : 0;
	v->waiting = all;
	if (v->job != NULL)
		gaps_ask(&v->job->rescue->gaps, asked, n);
}

/* --- what the kernel asks ------------------------------------------------- */

/*
 * The view that a request belongs to.  Only the library knows it, which is
 * looked up again; an open file knows it, too.
 */
static struct viewer *
viewer_of(fuse_req_t req)
{
	static const char *const name[] = { "fuse_req_userdata", NULL };
	static const struct library again = { .file = VIEW_SO,
		.package = VIEW_PACKAGE, .function = name };
	struct { LIBRARY_MEMBER(fuse_req_userdata) } lib;
	struct fault f;

	return library_load(&again, &lib, "view=", &f) != 0 ? NULL :
	    lib.fuse_req_userdata(req);
}

/*
 * A direct read is not to be in the background: there the kernel waits for it
 * even if its reader is killed.
 */
static void
viewer_init(void *arg, struct fuse_conn_info *conn)
{
	(void)arg;
	conn->want &= ~(unsigned)FUSE_CAP_ASYNC_DIO;
}

static void
viewer_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct viewer *v = viewer_of(req);
	struct stat st = { .st_ino = ino, .st_mode = S_IFREG | 0400,
		.st_nlink = 1 };

	(void)fi;
	if (v == NULL)
		return;
	st.st_size = (off_t)v->length;
	st.st_blocks = (blkcnt_t)(v->length / 512);
	v->lib.fuse_reply_attr(req, &st, lasting);
}

/* What was answered once stays so: the kernel may keep it. */
static void
viewer_opens(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct viewer *v = viewer_of(req);

	(void)ino;
	if (v == NULL)
		return;
	fi->keep_cache = 1;
	/* as it is, and not by way of an integer */
	memcpy(&fi->fh, &v, sizeof(void *));
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		v->lib.fuse_reply_err(req, EROFS);
	else
		v->lib.fuse_reply_open(req, fi);
}

static void
viewer_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
    struct fuse_file_info *fi)
{
	uint64_t off = (uint64_t)at;
	struct request r = { .req = req, .off = off }, *late;
	struct viewer *v;

	(void)ino;
	memcpy(&v, &fi->fh, sizeof(void *));
	if (at < 0 || off >= v->length) {
		v->lib.fuse_reply_buf(req, NULL, 0);
		return;
	}
	r.len = (size_t)MIN(v->length - off, (uint64_t)size);
	if (viewer_answer(v, &r, false))
		return;
	late = malloc(sizeof(*late));
	if (late == NULL) {
		viewer_fail(v, req, ENOMEM);
		return;
	}
	*late = r;
	*v->last = late;
	v->last = &late->next;
}

static const struct fuse_lowlevel_ops operations = {
	.init = viewer_init, .getattr = viewer_getattr, .open = viewer_opens,
	.read = viewer_read,
};

/* Take some of the requests that are there: many readers are never done. */
static void
viewer_receive(struct viewer *v)
{
	unsigned i;

	for (i = 0; i < AT_ONCE &&
	    v->lib.fuse_session_receive_buf(v->session, &v->buf) > 0; i++)
		v->lib.fuse_session_process_buf(v->session, &v->buf);
}

static void *
viewer_thread(void *arg)
{
	struct viewer *v = arg;
	struct pollfd p[] = {
		{ .fd = v->lib.fuse_session_fd(v->session), .events = POLLIN },
		{ .fd = v->wake, .events = POLLIN },
		{ .fd = v->job != NULL ? v->job->halt : -1, .events = POLLIN },
	};
	eventfd_t n;

	while (!v->quit) {
		/* nobody tells when what was in doubt is confirmed */
		if (poll(p, 3, v->first != NULL ? MOMENT : -1) < 0)
			continue;
		if (p[1].revents != 0)
			eventfd_read(v->wake, &n);
		if (p[2].revents != 0) {
			v->over = v->over || !viewer_awaits(v);
			p[2].fd = -1;
		}
		if (p[0].revents != 0)
			viewer_receive(v);
		if (v->lib.fuse_session_exited(v->session) ||
		    (p[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
			p[0].fd = -1;	/* it was unmounted */
			p[0].revents = 0;
			v->over = true;
			if (v->job != NULL)
				gaps_close(&v->job->rescue->gaps);
		}
		viewer_answer_all(v);
	}
	viewer_answer_all(v);		/* who was not told yet */
	return NULL;
}

/* --- beginning and end ---------------------------------------------------- */

static void
viewer_quiet(enum fuse_log_level level, const char *format, va_list ap)
{
	(void)level, (void)format, (void)ap;
}

/*
 * Whether it is a mount whose server is gone, as after kill -9.  The kernel may
 * still know what stat(2) wants to know.
 */
static bool
viewer_dead(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTCONN;
	close(fd);
	return false;
}

static void
viewer_clear(const char *path)
{
	unsigned i;

	for (i = 0; i < STACKED && viewer_dead(path); i++)
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
			return;
}

static int
viewer_make_file(struct viewer *v, struct fault *f)
{
	int fd = open(v->path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return fault_errno(f, errno, "view=%s", v->path);
	v->makes = fstat(fd, &v->made) == 0;
	close(fd);
	return 0;
}

static int
viewer_mount(struct viewer *v, struct fault *f)
{
	char *words[] = { (char[]){ "pardd" }, (char[]){ "-o" },
		(char[]){ "ro,nosuid,nodev,noexec,fsname=pardd" } };
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	int fd;

	v->session = viewer_session(&v->lib, &args, &operations,
	    sizeof(operations));
	v->lib.fuse_opt_free_args(&args);
	if (v->session == NULL)
		return fault_errno(f, ENOMEM, "view=%s", v->path);
	errno = 0;
	if (v->lib.fuse_session_mount(v->session, v->path) != 0) {
		fault_set(f, STATUS_REFUSED, "view=%s cannot be mounted by "
		    "FUSE: %s", v->path, access("/dev/fuse", R_OK | W_OK) != 0 ?
		    "there is no /dev/fuse to be used; modprobe fuse" :
		    errno != 0 ? errno_words(errno) : "refused");
		v->lib.fuse_session_destroy(v->session);
		v->session = NULL;
		return -1;
	}
	fd = v->lib.fuse_session_fd(v->session);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
		return fault_errno(f, errno, "view=%s", v->path);
	return 0;
}

int
viewer_look(const struct plan *p, struct fault *f)
{
	struct libfuse lib;

	if (p->opts->view == NULL)
		return 0;
	if (!endpoint_viewable(p->dst) || p->dst->is.probed)
		return fault_set(f, STATUS_REFUSED, "view= reads the target: "
		    "%s cannot be read meanwhile, as a file or a block device "
		    "can", p->dst->name);
	if (geteuid() != 0)
		return fault_set(f, STATUS_REFUSED, "view= mounts a file: only "
		    "root can do that");
	if (!viewer_dead(p->opts->view) && (names_view(p, f) != 0 ||
	    names_map(p, f) != 0))
		return -1;
	return library_load(&libfuse, &lib, "view=", f);
}

int
viewer_open(struct plan *p, struct fault *f)
{
	struct viewer *v;

	if (p->opts->view == NULL)
		return 0;
	viewer_clear(p->opts->view);
	if (viewer_look(p, f) != 0)
		return -1;
	v = calloc(1, sizeof(*v));
	if (v == NULL || library_load(&libfuse, &v->lib, "view=", f) != 0) {
		free(v);
		return v != NULL ? -1 : fault_errno(f, ENOMEM, "view=");
	}
	v->p = p;
	v->path = p->opts->view;
	v->length = p->length;
	v->target = v->wake = -1;
	v->last = &v->first;
	v->lib.fuse_set_log_func(viewer_quiet);
	if (viewer_make_file(v, f) == 0 && viewer_mount(v, f) == 0) {
		p->view = v;
		return 0;
	}
	viewer_close(v);
	return -1;
}

/* Unmount it, unless somebody else has: another run may be there by now. */
static int
viewer_leave(const struct viewer *v, int how)
{
	return v->lib.fuse_session_exited(v->session) ? 0 :
	    umount2(v->path, how | UMOUNT_NOFOLLOW);
}

/* What is open or mounted from it by others goes on to fail. */
static void
viewer_unmount(struct viewer *v)
{
	if (v->session == NULL)
		return;
	v->used = viewer_leave(v, 0) != 0 && errno == EBUSY;
	v->lib.fuse_session_unmount(v->session);
	v->lib.fuse_session_destroy(v->session);
	v->session = NULL;
}

static void
viewer_remove(const struct viewer *v)
{
	struct stat st;

	if (v->makes && lstat(v->path, &st) == 0 && st.st_size == 0 &&
	    st.st_dev == v->made.st_dev && st.st_ino == v->made.st_ino)
		unlink(v->path);
}

static int
viewer_start(struct viewer *v, struct map *map, struct job *job)
{
	int err;

	v->map = map;
	v->job = job;
	v->over = v->quit = false;
	err = pthread_create(&v->thread, NULL, viewer_thread, v);
	v->runs = err == 0;
	return err;
}

void
viewer_end(struct viewer *v)
{
	if (v == NULL || !v->runs)
		return;
	v->quit = true;
	eventfd_write(v->wake, 1);
	pthread_join(v->thread, NULL);
	v->runs = false;
}

/* What it reads, and by what it is told, in all runs. */
static int
viewer_ready(struct viewer *v)
{
	bool cached;

	if (v->target < 0)
		v->target = endpoint_view(v->p->dst, &cached);
	if (v->wake < 0)
		v->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return v->target < 0 || v->wake < 0 ? errno :
	    posix_fadvise(v->target, 0, 0, POSIX_FADV_RANDOM);
}

void
viewer_begin(struct job *job)
{
	struct viewer *v = job->p->view;
	struct fault f;
	int err;

	if (v == NULL)
		return;
	err = viewer_ready(v);
	job->rescue->reader = v->wake;
	if (err == 0)
		err = viewer_start(v, &job->map, job);
	if (err == 0)
		return;
	fault_errno(&f, err, "view=%s", v->path);
	job_fail(job, &f);
}

void
viewer_await(struct viewer *v, struct map *map)
{
	if (v != NULL && v->wake >= 0)
		viewer_start(v, map, NULL);
}

void
viewer_finish(struct viewer *v)
{
	struct request *r;

	if (v == NULL)
		return;
	while ((r = v->first) != NULL) {
		v->first = r->next;
		viewer_fail(v, r->req, EIO);
		free(r);
	}
	v->last = &v->first;
	viewer_unmount(v);
	viewer_remove(v);
	if (v->target >= 0)
		close(v->target);
	if (v->wake >= 0)
		close(v->wake);
	v->target = v->wake = -1;
}

void
viewer_close(struct viewer *v)
{
	if (v == NULL)
		return;
	viewer_finish(v);
	free(v->buf.mem);
	free(v);
}

void
viewer_abandon(const struct viewer *v)
{
	if (v == NULL || v->session == NULL)
		return;
	viewer_leave(v, MNT_DETACH);
	viewer_remove(v);
}

struct viewer_counts
viewer_count(const struct viewer *v)
{
	if (v == NULL)
		return (struct viewer_counts){ 0 };
	return (struct viewer_counts){ .there = v->there, .read = v->read,
		.failed = v->failed, .waiting = v->waiting, .at = v->at,
		.used = v->used, .over = v->over };
}
#else
int
viewer_look(const struct plan *p, struct fault *f)
{
	return p->opts->view == NULL ? 0 : fault_set(f, STATUS_REFUSED,
	    "view=: this pardd was built without libfuse3");
}

int
viewer_open(struct plan *p, struct fault *f)
{
	return viewer_look(p, f);
}

void
viewer_close(struct viewer *v)
{
	(void)v;
}

void
viewer_begin(struct job *job)
{
	(void)job;
}

void
viewer_await(struct viewer *v, struct map *map)
{
	(void)v, (void)map;
}

void
viewer_end(struct viewer *v)
{
	(void)v;
}

void
viewer_finish(struct viewer *v)
{
	(void)v;
}

void
viewer_abandon(const struct viewer *v)
{
	(void)v;
}

struct viewer_counts
viewer_count(const struct viewer *v)
{
	(void)v;
	return (struct viewer_counts){ 0 };
}
#endif
