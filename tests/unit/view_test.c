/*
 * When readers of view= are answered, and with what: the library, which here
 * has a thread of its own wait in an answer, and the target are made up.
 */
#include "test.h"

#include "config.h"

#ifdef HAVE_LIBFUSE3
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/mount.h>

#define FUSE_USE_VERSION 34
#include <fuse3/fuse_lowlevel.h>

#include "base/library.h"
#include "cli/opts.h"
#include "copy/job.h"
#include "end/endpoint.h"
#include "plan/names.h"
#include "rescue/rescue.h"
#include "view/view.h"

enum { BLOCK = 512, BLOCKS = 8, LENGTH = BLOCKS * BLOCK };

struct fuse_req {
	unsigned	 block;
	int		 err;		/* -1: not answered */
	char		 data[BLOCK];
	struct fuse_req	*finishes;	/* while this one is answered, that one
					 * becomes finished, and the run ends */
};

static struct {
	const struct fuse_lowlevel_ops *ops;
	void		*viewer;
	int		 fd;		/* readable: there are requests */
	struct fuse_req	*asked[BLOCKS];
	unsigned	 asks, taken;
	sem_t		 both_wait, inside, ends, answered;
} fuse;
static struct opts opts = { .view = "view_test.view", .wait = -1 };
static struct endpoint target;
static struct plan plan = { .opts = &opts, .dst = &target,
	.length = LENGTH };
static struct rescue rescue;
static struct job job;
static int target_fd;

/* --- what it calls -------------------------------------------------------- */

bool
endpoint_viewable(const struct endpoint *ep)
{
	return true;
}

int
endpoint_view(const struct endpoint *ep, bool *cached)
{
	return dup(target_fd);
}

int
names_view(const struct plan *p, struct fault *f)
{
	return 0;
}

int
names_map(const struct plan *p, struct fault *f)
{
	return 0;
}

bool
junk_doubts(struct job *j, uint64_t off, uint64_t len)
{
	return false;
}

void
gaps_ask(struct gaps *g, const struct seg *s, size_t n)
{
	if (n == 2)
		sem_post(&fuse.both_wait);
}

void
gaps_close(struct gaps *g)
{
}

void
job_fail_at(struct job *j, const struct fault *f, uint64_t off)
{
	fail_msg("%s", f->text);
}

uid_t
geteuid(void)
{
	return 0;
}

int
umount2(const char *path, int how)
{
	return 0;
}

static void
wake(int fd)
{
	const eventfd_t n = 1;

	assert_int_equal(write(fd, &n, sizeof(n)), sizeof(n));
}

/* It is told by this that it must end, when it knows that. */
int
eventfd_write(int fd, eventfd_t n)
{
	sem_post(&fuse.ends);
	wake(fd);
	return 0;
}

/* --- the library ---------------------------------------------------------- */

static struct fuse_session *
session_new(struct fuse_args *args, const struct fuse_lowlevel_ops *ops,
    size_t size, void *data)
{
	fuse.ops = ops;
	fuse.viewer = data;
	return (struct fuse_session *)&fuse;
}

static struct fuse_session *
session_new_versioned(struct fuse_args *args,
    const struct fuse_lowlevel_ops *ops, size_t size, const void *version,
    void *data)
{
	return session_new(args, ops, size, data);
}

static int
zero(void)
{
	return 0;
}

static int
session_fd(struct fuse_session *se)
{
	return fuse.fd;
}

static int
session_receive(struct fuse_session *se, struct fuse_buf *buf)
{
	eventfd_t n;

	if (fuse.taken < fuse.asks)
		return 1;
	eventfd_read(fuse.fd, &n);
	return -EAGAIN;
}

static void
session_process(struct fuse_session *se, const struct fuse_buf *buf)
{
	struct fuse_file_info fi = { .flags = O_RDONLY };
	struct fuse_req *r = fuse.asked[fuse.taken++];

	memcpy(&fi.fh, &fuse.viewer, sizeof(void *));
	fuse.ops->read(r, FUSE_ROOT_ID, BLOCK, (off_t)r->block * BLOCK, &fi);
}

static int
reply_buf(fuse_req_t r, const char *buf, size_t len)
{
	assert_int_equal(len, BLOCK);
	memcpy(r->data, buf, len);
	r->err = 0;
	if (r->finishes != NULL) {
		map_set(&job.map, (uint64_t)r->finishes->block * BLOCK, BLOCK,
		    FINISHED);
		sem_post(&fuse.inside);
		sem_wait(&fuse.ends);
	}
	sem_post(&fuse.answered);
	return 0;
}

static int
reply_err(fuse_req_t r, int err)
{
	r->err = err;
	sem_post(&fuse.answered);
	return 0;
}

static const struct { const char *name; void (*function)(void); } functions[] = {
#define IS(theirs, ours)	{ #theirs, (void (*)(void))(ours) }
	IS(fuse_session_new, session_new),
	IS(fuse_session_new_versioned, session_new_versioned),
	IS(fuse_session_fd, session_fd),
	IS(fuse_session_receive_buf, session_receive),
	IS(fuse_session_process_buf, session_process),
	IS(fuse_reply_buf, reply_buf),
	IS(fuse_reply_err, reply_err),
};

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *f)
{
	void (*function)(void);
	size_t i, k;

	for (i = 0; l->function[i] != NULL; i++) {
		function = (void (*)(void))zero;
		for (k = 0; k < sizeof(functions) / sizeof(functions[0]); k++)
			if (strcmp(functions[k].name, l->function[i]) == 0)
				function = functions[k].function;
		memcpy((char *)table + i * sizeof(void *), &function,
		    sizeof(void *));
	}
	return 0;
}

/* --- cases ---------------------------------------------------------------- */

static int
begin(void **state)
{
	char block[BLOCK];
	struct fault f;
	unsigned i;
	FILE *file = tmpfile();

	assert_non_null(file);
	for (i = 0; i < BLOCKS; i++) {
		memset(block, 'a' + (int)i, BLOCK);
		assert_int_equal(fwrite(block, BLOCK, 1, file), 1);
	}
	assert_int_equal(fflush(file), 0);
	target_fd = dup(fileno(file));
	fclose(file);
	fuse.fd = eventfd(0, EFD_NONBLOCK);
	fuse.asks = fuse.taken = 0;
	sem_init(&fuse.both_wait, 0, 0);
	sem_init(&fuse.inside, 0, 0);
	sem_init(&fuse.ends, 0, 0);
	sem_init(&fuse.answered, 0, 0);
	memset(&job, 0, sizeof(job));
	job.p = &plan;
	job.rescue = &rescue;
	job.halt = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(map_init(&job.map, plan.length, BLOCK, 0), 0);
	assert_int_equal(viewer_open(&plan, &f), 0);
	return 0;
}

static int
end(void **state)
{
	viewer_end(plan.view);
	viewer_close(plan.view);
	map_free(&job.map);
	close(job.halt);
	close(fuse.fd);
	close(target_fd);
	return 0;
}

static void
finished(unsigned block)
{
	assert_int_equal(map_set(&job.map, (uint64_t)block * BLOCK, BLOCK,
	    FINISHED), 0);
}

/* Before the viewer begins: later the kernel asks, which is no test. */
static void
asks(struct fuse_req *r, unsigned block)
{
	*r = (struct fuse_req){ .block = block, .err = -1 };
	fuse.asked[fuse.asks++] = r;
	wake(fuse.fd);
}

static void
has(const struct fuse_req *r, int err)
{
	assert_int_equal(r->err, err);
	if (err == 0)
		assert_int_equal(r->data[BLOCK - 1], 'a' + (int)r->block);
}

EACH(begin, end)

CASE(answers_what_is_there)
{
	struct fuse_req r;

	finished(3);
	asks(&r, 3);
	viewer_begin(&job);
	sem_wait(&fuse.answered);
	has(&r, 0);
}

/*
 * The first one becomes finished while the second is answered, after it was
 * looked at, and the run ends before it is again.
 */
CASE(answers_what_was_read_last)
{
	struct fuse_req first, second;

	asks(&first, 2);
	asks(&second, 5);
	second.finishes = &first;
	viewer_begin(&job);
	sem_wait(&fuse.both_wait);
	finished(5);
	wake(rescue.reader);
	sem_wait(&fuse.inside);
	viewer_end(plan.view);
	has(&second, 0);
	has(&first, 0);
}

/* What was written since it was flushed may be lost, and older data there. */
CASE(answers_nothing_once_the_target_has_failed)
{
	struct fuse_req r;

	finished(3);
	job.doubt = true;
	asks(&r, 3);
	viewer_begin(&job);
	sem_wait(&fuse.answered);
	has(&r, EIO);
}
#else
CASE(has_no_library)
{
}
#endif
