/*
 * Workers: a source that has disappeared is reported by the first worker that
 * notices; buffers that a request has kept; polls of a ring.
 */
#include "test.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "../../src/run/conduct.h"
#include "copy/job.h"
#include "copy/worker.h"
#include "end/backend.h"

enum { LENGTH = 1 << 20 };

static int
no_device(struct lane *lane)
{
	return ENXIO;
}

static int
no_memory(struct lane *lane)
{
	return ENOMEM;
}

/* A copy of one worker, whose lanes cannot be attached. */
static void
run(struct job *job, const struct backend *from, const struct backend *to)
{
	const struct opts o = { .sync = 0 };
	struct endpoint src = { .be = from, .name = "here", .dir = -1 };
	struct endpoint dst = { .be = to, .name = "there", .dir = -1 };
	const struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.length = LENGTH, .pad = 1, .truncate = -1 };

	*job = (struct job){ .p = &p, .workers = 1, .halt = eventfd(0, 0),
		.done = eventfd(0, 0) };
	job->worker[0].job = job;
	pthread_mutex_init(&job->first, NULL);
	assert_int_equal(map_init(&job->map, LENGTH, 4096, 0), 0);
	lead_run(job);
	assert_true(job->began);
	assert_int_equal(map_totals(&job->map).untried, LENGTH);
	map_free(&job->map);
	pthread_mutex_destroy(&job->first);
	close(job->halt);
	close(job->done);
	job->p = NULL;
}

static const struct backend fine = { .attach = NULL };
static const struct backend gone = { .attach = no_device };
static const struct backend broken = { .attach = no_memory };

CASE(knows_a_source_that_has_gone_before_it_is_read)
{
	static struct job job;

	run(&job, &gone, &fine);
	assert_true(job.gone);
	assert_int_equal(job.fault.status, 50 + ENODEV);
	assert_non_null(strstr(job.fault.text, "here"));
}

CASE(takes_nothing_else_for_that)
{
	static struct job job;

	run(&job, &broken, &fine);
	assert_false(job.gone);
	assert_int_equal(job.fault.status, 50 + ENOMEM);
	run(&job, &fine, &gone);
	assert_false(job.gone);
	assert_non_null(strstr(job.fault.text, "there"));
	assert_int_equal(job.fault.status, 50 + ENODEV);
}

static unsigned attached;

static int
attach(struct lane *lane)
{
	attached++;
	return 0;
}

static int
detach(struct lane *lane)
{
	attached--;
	return 0;
}

CASE(leaves_no_lane_when_one_fails)
{
	static const struct backend counted = { .attach = attach,
		.detach = detach };
	static const struct task task = { .step = NULL };
	const struct opts o = { .sync = 0 };
	struct endpoint end = { .be = &counted, .name = "an end", .dir = -1 };
	const struct plan p = { .opts = &o, .src = &end, .dst = &end };
	static struct job job = { .workers = 1, .reads_back = true,
		.back = { .be = &broken, .name = "it again", .dir = -1 } };

	job.p = &p;
	job.worker[0].job = &job;
	pthread_mutex_init(&job.first, NULL);
	workers_run(&job, &task);
	assert_int_equal(job.fault.status, 50 + ENOMEM);
	assert_int_equal(attached, 0);
	pthread_mutex_destroy(&job.first);
}

static unsigned char *used[2];
static size_t steps;

/* The last piece of a task, with a request that does not come back. */
static bool
leave(struct worker *w)
{
	used[steps++] = w->buf;
	w->buf_in_use = true;
	return false;
}

CASE(takes_another_buffer_for_the_next_task)
{
	static const struct task task = { .step = leave };
	const struct opts o = { .sync = 0 };
	struct endpoint end = { .be = &fine, .name = "an end", .dir = -1 };
	const struct plan p = { .opts = &o, .src = &end, .dst = &end,
		.room = 4096 };
	static struct job job = { .workers = 1 };
	unsigned char *buf = aligned_alloc(4096, 4096);

	assert_non_null(buf);
	job.p = &p;
	job.worker[0].job = &job;
	job.worker[0].buf = buf;
	workers_run(&job, &task);
	workers_run(&job, &task);
	assert_int_equal(steps, 2);
	assert_ptr_equal(used[0], buf);
	assert_ptr_not_equal(used[1], buf);
	munmap(used[1], 4096);
	free(buf);
}

/*
 * A library that has read by itself what the ring is about to be woken for: the
 * poll then stays, even if it is removed at that moment.
 */
static struct io *begun;
static int wakes;

static bool
library_start(struct lane *lane, struct io *io, struct io_uring_sqe *sqe)
{
	begun = io;
	return true;
}

static int
library_pollfd(struct lane *lane, short *events)
{
	*events = POLLIN;
	return wakes;
}

static void
library_service(struct lane *lane)
{
	eventfd_t n;

	assert_int_equal(eventfd_write(wakes, 1), 0);
	assert_int_equal(eventfd_read(wakes, &n), 0);
	if (begun != NULL)
		lane_over(lane, begun);
	begun = NULL;
}

static void
library_finish(struct lane *lane, struct io *io, int result)
{
	io->done = io->len;
}

static void
write_nothing(struct lane *lane, struct io *io)
{
	io->done = io->len;
}

CASE(leaves_no_poll_behind)
{
	static const struct backend library = { .start = library_start,
		.pollfd = library_pollfd, .service = library_service,
		.finish = library_finish, .transfer = write_nothing };
	static const struct backend nowhere = { .transfer = write_nothing };
	static const struct task task = { .ring = true };
	const struct opts o = { .sync = 0 };
	struct endpoint src = { .be = &library, .name = "here",
		.lim.end = UINT64_MAX, .geo.io_align = 1, .dir = -1 };
	struct endpoint dst = { .be = &nowhere, .name = "there",
		.lim.end = UINT64_MAX, .geo.io_align = 1, .dir = -1 };
	const struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.length = 4096, .pad = 1, .slots = 4, .room = 4096,
		.chunk = 4096, .bounded = true };
	static struct job job = { .workers = 1 };
	struct worker *w = &job.worker[0];
	unsigned char *bufs = aligned_alloc(4096, 4 * 4096);
	int err;

	assert_non_null(bufs);
	job.p = &p;
	w->job = &job;
	w->buf = bufs;
	wakes = eventfd(0, EFD_NONBLOCK);
	pthread_mutex_init(&job.first, NULL);
	assert_int_equal(map_init(&job.map, 4096, 4096, 0), 0);
	w->queue = ring_new(w, bufs, 4096, 4, &err);
	if (w->queue == NULL)
		skip();		/* the kernel has no io_uring */
	alarm(20);
	workers_run(&job, &task);
	alarm(0);
	assert_int_equal(map_totals(&job.map).finished, 4096);
	ring_free(w->queue);
	map_free(&job.map);
	pthread_mutex_destroy(&job.first);
	close(wakes);
	free(bufs);
}
