/*
 * An image of a Ceph cluster as an end, of which something has failed: what is
 * asked for later fails, too, and for the same reason.  rbd.t has the rest.  The
 * cluster is that of tests/tools/fakerbd; the image has 1 MiB.
 */
#include "test.h"
#include "config.h"

#ifdef HAVE_LIBRBD
#include "../tools/fakerbd/fakerbd.h"

#include "../../src/net/rbd.h"
#include "base/library.h"
#include "cli/opts.h"
#include "end/backend.h"
#include "../tools/preload.h"

#define AT(n)	((size_t)(n) * OBJECT)

enum { SIZE = 1 << 20 };

static char place[] = "/tmp/pardd-unit.XXXXXX";
static unsigned char buf[SIZE];
static struct opts o = { .input = "rbd:p/i", .output = "rbd:p/i",
	.timeout = 5 };
static struct endpoint end;
static struct lane lane;
static struct io io;
static struct fault f;
static bool silent;

/* Nobody waits for what does not come. */
int
pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
    const struct timespec *until)
{
	REAL(real, pthread_cond_timedwait);
	return silent ? ETIMEDOUT : real(c, m, until);
}

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *why)
{
#define RBD(name)	.name = rbd_##name,
#define RADOS(name)	.rados.name = rados_##name,
	*(struct librbd *)table = (struct librbd){ LIBRBD_FUNCTIONS(RBD)
		LIBRADOS_FUNCTIONS(RADOS) };
	return 0;
}

static int
enter(void **state)
{
	memset(buf, 'x', SIZE);
	return mkdtemp(place) == NULL || chdir(place) != 0 ||
	    mkdir("p", 0700) != 0;
}

static int
leave(void **state)
{
	return unlink("p/i") != 0 || rmdir("p") != 0 || chdir("/") != 0 ||
	    rmdir(place) != 0;
}

ONCE(enter, leave)

/* The first 128 KiB and 64 KiB at 256 KiB are data. */
static int
open_end(void **state)
{
	int fd = open("p/i", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool made = ftruncate(fd, SIZE) == 0 &&
	    pwrite(fd, buf, AT(2), 0) == (ssize_t)AT(2) &&
	    pwrite(fd, buf, AT(1), (off_t)AT(4)) == (ssize_t)AT(1);

	close(fd);
	f = (struct fault){ 0 };
	return !made || endpoint_open(&end, TARGET, &o, false, &f) != 0 ||
	    lane_attach(&lane, &end, 0, -1) != 0;
}

static int
close_end(void **state)
{
	unsetenv("RBD_FAULTS");
	return lane_detach(&lane) != 0 || endpoint_close(&end) != 0;
}

EACH(open_end, close_end)

static void
cannot_write(const char *why)
{
	io = (struct io){ .op = OP_WRITE, .buf = buf, .len = 512,
		.lasting = true };
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, ENODEV);
	assert_true(io.spent);
	assert_string_equal(io.why, why);
}

static void
cannot_flush(const char *why)
{
	assert_int_equal(endpoint_flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_NOT_FLUSHED);
	assert_non_null(strstr(f.text, why));
}

CASE(says_of_all_why_it_is_lost)
{
	static const char why[] = "the cluster has blocklisted us; writes "
	    "since the last flush may be lost";
	struct extent x;

	setenv("RBD_FAULTS", "write=108", 1);
	cannot_write(why);
	unsetenv("RBD_FAULTS");
	cannot_write(why);
	cannot_flush("flushing: the cluster has blocklisted us");
	assert_int_equal(endpoint_extent(&end, 0, &x), ESHUTDOWN);
}

/* What was sent may still be carried out, from the buffer of the request. */
CASE(leaves_a_request_that_does_not_end)
{
	static const char why[] = "the cluster does not answer within "
	    "timeout=; writes since the last flush may be lost";
	struct rbd_image *image = end.priv;
	struct extent x;

	silent = true;
	setenv("RBD_FAULTS", "write=hang", 1);
	cannot_write(why);
	assert_true(io.buf_in_use);
	silent = false;
	hangs = false;
	unsetenv("RBD_FAULTS");
	cannot_write(why);
	assert_false(io.buf_in_use);		/* nothing was sent */
	assert_int_equal(endpoint_extent(&end, 0, &x), ETIMEDOUT);
	cannot_flush("flushing: the cluster does not answer within 5 seconds");
	assert_int_equal(endpoint_close(&end), 0);
	assert_true(end.is.stuck);
	/* it has ended at last: the test frees what nobody else may */
	rbd_call_free(hung->arg);
	free(hung);
	image->stuck = false;
	assert_int_equal(close_end(state), 0);
	assert_int_equal(open_end(state), 0);
}

CASE(remembers_what_was_not_flushed)
{
	setenv("RBD_FAULTS", "flush=5", 1);
	cannot_flush("flushing: Input/output error, says the cluster");
	unsetenv("RBD_FAULTS");
	cannot_flush("flushing: Input/output error");
}

static void
is_at(uint64_t off, uint64_t len, bool hole)
{
	struct extent x;

	assert_int_equal(endpoint_extent(&end, off, &x), 0);
	assert_int_equal(x.off, off);
	assert_int_equal(x.len, len);
	assert_int_equal(x.hole, hole);
}

CASE(joins_extents_that_adjoin)
{
	struct extent x;

	is_at(0, AT(2), false);
	is_at(AT(1) + 10, AT(1) - 10, false);
	is_at(AT(2), AT(2), true);
	is_at(AT(5), SIZE - AT(5), true);
	assert_int_equal(endpoint_extent(&end, SIZE, &x), ENXIO);
}

CASE(believes_no_extents_that_are_not_in_order)
{
	static const char *const wrong[] = { "lies=1", "more=1", "far=1" };
	struct extent x;
	size_t i;

	for (i = 0; i < 3; i++) {
		setenv("RBD_FAULTS", wrong[i], 1);
		assert_int_equal(endpoint_extent(&end, 0, &x), EPROTO);
	}
}

#endif
