/*
 * Files as ends: what stays open, where a file ends, and a target that somebody
 * else truncates.
 */
#include "test.h"

#include "end/backend.h"
#include "disk/disk.h"

enum { MIB = 1 << 20, SHORT = 1000 };

static char name[] = "/tmp/pardd-file.XXXXXX";
static unsigned char buf[MIB] __attribute__((aligned(4096)));
static struct opts o;
static struct endpoint end;
static struct lane lane;
static struct io io;
static struct fault f;
static int free_fd;

/* The descriptor that the next to be opened gets. */
static int
next_fd(void)
{
	int fd = 0;

	while (fcntl(fd, F_GETFD) >= 0)
		fd++;
	return fd;
}

static int
set_up(void **state)
{
	int fd = mkstemp(name);

	o = (struct opts){ .input = name, .output = name };
	return fd < 0 || write(fd, buf, SHORT) != SHORT || close(fd) != 0;
}

static int
tear_down(void **state)
{
	int failed = unlink(name);

	memset(strrchr(name, '.') + 1, 'X', 6);
	return failed;
}

EACH(set_up, tear_down)

static void
begin(enum role role)
{
	free_fd = next_fd();
	assert_int_equal(endpoint_open(&end, role, &o, false, &f), 0);
	if (role == TARGET)
		assert_int_equal(endpoint_prepare(&end, 0600, 0, &f), 0);
	assert_int_equal(lane_attach(&lane, &end, 0, -1), 0);
}

static void
finish(void)
{
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&end), 0);
	assert_int_equal(next_fd(), free_fd);
}

static void
request(enum op op, uint64_t off)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = MIB };
	lane_transfer(&lane, &io);
}

CASE(ends_where_the_file_does)
{
	begin(SOURCE);
	errno = EIO;		/* of an earlier call */
	request(OP_READ, 0);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, SHORT);
	errno = EIO;
	request(OP_READ, MIB);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 0);
	finish();
}

CASE(is_no_disk)
{
	struct disk d;

	begin(SOURCE);
	assert_false(endpoint_disk(&end, &d));
	finish();
}

CASE(leaves_nothing_open)
{
	begin(SOURCE);
	finish();
	begin(TARGET);
	finish();
	assert_int_equal(unlink(name), 0);
	begin(TARGET);			/* which is created now */
	finish();
}

CASE(sees_that_it_was_cut_off)
{
	begin(TARGET);
	request(OP_WRITE, 0);
	assert_int_equal(io.err, 0);
	request(OP_WRITE, MIB);
	assert_int_equal(io.err, 0);
	assert_int_equal(truncate(name, SHORT), 0);
	request(OP_WRITE, (uint64_t)2 * MIB);
	assert_int_not_equal(io.err, 0);
	assert_true(io.spent);
	assert_int_equal(io.done, 0);
	assert_non_null(strstr(io.why, "1000"));
	finish();
}
