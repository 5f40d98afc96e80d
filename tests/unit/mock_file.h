/*
 * A file that a test fills with a text, as it is or changed in one place;
 * included once, by a test that has "good", the text.
 */
#ifndef PARDD_TEST_MOCK_FILE_H
#define PARDD_TEST_MOCK_FILE_H

static char path[32];
static int stat_error;		/* errno of fstat() for it, or 0 */

int
fstat(int fd, struct stat *st)
{
	if (stat_error == 0)
		return fstatat(fd, "", st, AT_EMPTY_PATH);
	errno = stat_error;
	return -1;
}

static int
file_begin(void **state)
{
	int fd;

	stat_error = 0;
	strcpy(path, "/tmp/pardd-unit.XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int
file_end(void **state)
{
	return unlink(path);
}

static void
put(const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

/* That text, with "to" in the place of "from". */
static void
change(char *text, size_t room, const char *from, const char *to)
{
	const char *at = strstr(good, from);

	assert_non_null(at);
	snprintf(text, room, "%.*s%s%s", (int)(at - good), good, to,
	    at + strlen(from));
}

#endif
