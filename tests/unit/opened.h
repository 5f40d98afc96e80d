/*
 * An end that is opened by its name, with a lane of it, in the mock kernel of
 * kernel.h; included once, by a test.  With OPENED_BY it is opened by a function
 * of the test, of that name, which gets what open_end does.
 */
#ifndef PARDD_TEST_OPENED_H
#define PARDD_TEST_OPENED_H

#include "end/backend.h"
#include "kernel.h"

/* not in memory, as files in /tmp may be */
static char name[] = "/var/tmp/pardd-end.XXXXXX";
static struct opts o;
static struct endpoint end;
static struct fault f;
static struct lane lane;

/* A new file of these bytes, whose name is put in the place of the X. */
static inline int
make_file(char *file, const void *bytes, size_t n)
{
	int fd;

	stpcpy(strrchr(file, '.'), ".XXXXXX");
	fd = mkstemp(file);
	return fd < 0 || write(fd, bytes, n) != (ssize_t)n || close(fd) != 0;
}

/* The file is new, and nothing is denied. */
static inline int
named_begin(const void *bytes, size_t n)
{
	memset(&kernel, 0, sizeof(kernel));
	o = (struct opts){ .input = name, .output = name, .timeout = -1 };
	f = (struct fault){ 0 };
	return make_file(name, bytes, n);
}

static inline int
named_end(void **state)
{
	end_sysfs();
	return unlink(name);
}

#ifdef OPENED_BY
static int OPENED_BY(enum role role, unsigned flags);
#define open_end	OPENED_BY
#else
static inline int
open_end(enum role role, unsigned flags)
{
	o.iflag = o.oflag = flags;
	f = (struct fault){ 0 };
	return endpoint_open(&end, role, &o, false, &f);
}
#endif

static inline void *
opened(enum role role, unsigned flags)
{
	if (open_end(role, flags) != 0)
		fail_msg("not opened: %s", f.text);
	return end.priv;
}

static inline void
closed(void)
{
	assert_int_equal(endpoint_close(&end), 0);
}

static inline void
is_refused(enum role role, unsigned flags, int status, const char *says)
{
	unsigned were = count_open();

	assert_int_equal(open_end(role, flags), -1);
	if (f.status != status || strstr(f.text, says) == NULL)
		fail_msg("%d: %s", f.status, f.text);
	assert_int_equal(count_open(), were);
	deny_nothing();
}

static inline void
attached(void)
{
	assert_int_equal(lane_attach(&lane, &end, 0, -1), 0);
}

/* The same with a lane. */
static inline void *
lane_opened(enum role role, unsigned flags)
{
	void *priv = opened(role, flags);

	attached();
	return priv;
}

static inline void
lane_closed(void)
{
	assert_int_equal(lane_detach(&lane), 0);
	closed();
}

#endif
