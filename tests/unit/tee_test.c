/*
 * Several targets as one: the strictest of their limits.
 */
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>

#include "open/tee.h"

enum { TARGETS = 3, STRIDE = 16384 };

static char name[TARGETS][32];
static struct opts o;
static struct endpoint all, *to[TARGETS];
static struct fault f;
static unsigned joined;		/* threads */

/* In the place of the C library. */
int
pthread_join(pthread_t thread, void **result)
{
	int (*real)(pthread_t, void **) = (void *)dlsym(RTLD_NEXT,
	    "pthread_join");

	joined++;
	return real(thread, result);
}

static int
set_up(void **state)
{
	unsigned i;
	int fd;

	o = (struct opts){ .targets = TARGETS, .timeout = 60 };
	for (i = 0; i < TARGETS; i++) {
		strcpy(name[i], "/tmp/pardd-tee.XXXXXX");
		fd = mkstemp(name[i]);
		if (fd < 0 || ftruncate(fd, STRIDE) != 0 || close(fd) != 0)
			return -1;
		o.target[i] = name[i];
	}
	if (tee_open(&all, &o, false, &f) != 0)
		return -1;
	for (i = 0; i < TARGETS; i++) {
		to[i] = tee_target(&all, i);
		to[i]->geo.room = -1;
	}
	return tee_target(&all, TARGETS) != NULL;
}

static int
tear_down(void **state)
{
	unsigned i;

	for (i = 0; i < TARGETS; i++)
		unlink(name[i]);
	i = (unsigned)endpoint_close(&all);
	tee_free(&all);
	return (int)i;
}

EACH(set_up, tear_down)

static void
join(void)
{
	assert_int_equal(tee_join(&all, &f), 0);
}

CASE(takes_the_strictest_limits)
{
	to[0]->geo.io_max = 0;			/* none */
	to[1]->geo.io_max = 8192;
	to[2]->geo.io_max = 4096;
	to[0]->geo.io_opt = 1;
	to[1]->geo.io_opt = 3;
	to[2]->geo.io_opt = 2;
	to[1]->geo.room = 5000;
	to[1]->lim.base = 1000;
	to[2]->geo.room = 4500;
	join();
	assert_int_equal(all.geo.io_max, 4096);
	assert_int_equal(all.geo.io_opt, 3);
	assert_int_equal(all.geo.room, 4000);
}

CASE(has_no_room_where_one_has_none)
{
	to[0]->geo.io_max = 4096;
	to[1]->geo.io_max = 8192;
	to[1]->geo.room = 1000;
	to[1]->lim.base = 2000;
	to[2]->geo.room = 0;
	join();
	assert_int_equal(all.geo.io_max, 4096);
	assert_int_equal(all.geo.room, 0);
}

CASE(writes_blocks_that_go_with_all)
{
	to[0]->geo.block = to[0]->geo.io_align = 512;
	to[1]->geo.block = to[1]->geo.io_align = 4096;
	to[2]->geo.block = 0;			/* a file */
	join();
	assert_int_equal(all.geo.block, 4096);
	assert_int_equal(all.geo.io_align, 4096);
}

CASE(refuses_blocks_that_do_not)
{
	to[0]->geo.block = to[0]->geo.io_align = 512;
	to[2]->geo.block = to[2]->geo.io_align = 520;
	assert_int_equal(tee_join(&all, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "blocks of 520 bytes"));
}

CASE(is_what_any_or_all_are)
{
	to[1]->is.device = to[2]->is.past_cache = true;
	to[0]->is.durable = to[1]->is.durable = to[2]->is.durable = false;
	to[0]->is.seekable = false;
	join();
	assert_true(all.is.device);
	assert_true(all.is.past_cache);
	assert_false(all.is.durable);
	assert_false(all.is.seekable);
	assert_false(all.is.streamed);
}

CASE(refuses_two_in_order_and_one_twice)
{
	to[0]->is.streamed = true;
	join();
	to[2]->is.streamed = true;
	assert_int_equal(tee_join(&all, &f), -1);
	assert_non_null(strstr(f.text, "both written in order"));
	to[2]->is.streamed = false;
	to[2]->id = to[1]->id;
	assert_int_equal(tee_join(&all, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "are the same target"));
	to[2]->lim.part = 2;
	join();
}

/*
 * A target that was given up may still write into its part of the buffer, so that
 * is never another's.
 */
/* Also where the copy ends in a hole, behind all that was written. */
CASE(is_as_long_as_the_copy)
{
	static unsigned char buf[4096] __attribute__((aligned(4096)));
	struct io io = { .op = OP_WRITE, .buf = buf, .len = sizeof(buf) };
	struct lane lane;
	struct stat st;
	unsigned i;

	join();
	assert_int_equal(lane_attach(&lane, &all, 0, -1), 0);
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, 0);
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_extend(&all, (uint64_t)2 * STRIDE), 0);
	for (i = 0; i < TARGETS; i++) {
		assert_int_equal(stat(name[i], &st), 0);
		assert_int_equal(st.st_size, 2 * STRIDE);
	}
}

CASE(reads_each_target_to_a_place_of_its_own)
{
	unsigned char *buf = aligned_alloc(4096, (size_t)TARGETS * STRIDE);
	struct endpoint reader;
	struct lane lane;
	struct io io;
	size_t len;
	unsigned i;

	join();
	assert_non_null(buf);
	assert_int_equal(endpoint_readback(&reader, &all, UINT32_MAX, &f), 0);
	assert_int_equal(lane_attach(&lane, &reader, 0, -1), 0);
	for (len = 4096; len <= STRIDE; len += 4096) {
		io = (struct io){ .op = OP_READ, .buf = buf, .len = len,
			.stride = STRIDE };
		lane_transfer(&lane, &io);
		assert_int_equal(io.err, 0);
		for (i = 0; i < TARGETS; i++)
			assert_ptr_equal(tee_read(&lane, i)->buf,
			    buf + (size_t)i * STRIDE);
	}
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&reader), 0);
	free(buf);
}

/* Each in a thread of its own, of which none is left. */
CASE(is_flushed_at_the_same_time)
{
	unsigned i;

	join();
	for (i = 1; i <= 3; i++) {
		joined = 0;
		assert_int_equal(endpoint_flush(&all, &f), 0);
		assert_int_equal(joined, TARGETS);
	}
}
