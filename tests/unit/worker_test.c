/*
 * Workers: a source that has disappeared is reported by the first worker that
 * notices; buffers that a request has kept.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/run/conduct.h"
#include "copy/job.h"
#include "copy/worker.h"
#include "end/backend.h"

enum { LENGTH = 1 << 20 };

static int
no_device(struct lane *lane)
{
	(void)lane;
	return ENXIO;
}

static int
no_memory(struct lane *lane)
{
	(void)lane;
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

static void
knows_a_source_that_has_gone_before_it_is_read(void **state)
{
	static struct job job;

	run(&job, &gone, &fine);
	assert_true(job.gone);
	assert_int_equal(job.fault.status, 50 + ENODEV);
	assert_non_null(strstr(job.fault.text, "here"));
}

static void
takes_nothing_else_for_that(void **state)
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
	(void)lane;
	attached++;
	return 0;
}

static int
detach(struct lane *lane)
{
	(void)lane;
	attached--;
	return 0;
}

static void
leaves_no_lane_when_one_fails(void **state)
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

static void
takes_another_buffer_for_the_next_task(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_a_source_that_has_gone_before_it_is_read),
		cmocka_unit_test(takes_nothing_else_for_that),
		cmocka_unit_test(leaves_no_lane_when_one_fails),
		cmocka_unit_test(takes_another_buffer_for_the_next_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
