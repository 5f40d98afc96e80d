/*
 * Reopening: the file that was found is opened, whatever its name stands for by
 * then.
 */
#include "test.h"

#include "end/endpoint.h"
#include "end/backend.h"

static char name[] = "/tmp/reopen.XXXXXX", other[] = "/tmp/reopen.XXXXXX";

static int
make(void **state)
{
	int a = mkstemp(name), b = mkstemp(other);

	if (a < 0 || b < 0)
		return -1;
	close(a);
	close(b);
	return 0;
}

static int
unmake(void **state)
{
	unlink(name);
	unlink(other);
	return 0;
}

ONCE(make, unmake)

static bool
same(int a, int b)
{
	struct stat x, y;

	assert_int_equal(fstat(a, &x), 0);
	assert_int_equal(fstat(b, &y), 0);
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Opens it anew while its name is as it is now. */
static void
finds(int path)
{
	int fd = reopen(path, name, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(same(fd, path));
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
}

/* A link is followed to what was found, and to nothing else. */
CASE(follows_a_link_to_the_same)
{
	char link[sizeof(name) + 8];
	int path = open(name, O_PATH | O_CLOEXEC), fd;

	assert_true(path >= 0);
	snprintf(link, sizeof(link), "%s.link", name);
	assert_int_equal(symlink(name, link), 0);
	fd = open_found(path, link, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(same(fd, path));
	close(fd);
	unlink(link);
	assert_int_equal(symlink(other, link), 0);
	assert_int_equal(open_found(path, link, O_RDONLY), -1);
	assert_int_equal(errno, ESTALE);
	unlink(link);
	assert_int_equal(symlink("/nonexistent/file", link), 0);
	assert_int_equal(open_found(path, link, O_RDONLY), -1);
	assert_int_equal(errno, ESTALE);
	unlink(link);
	close(path);
}

/* A lock of all the file, as lockf makes, is not that of a copy. */
CASE(locks_against_copies_only)
{
	int by = open(name, O_RDWR | O_CLOEXEC);
	int own = open(name, O_RDWR | O_CLOEXEC);
	int reader = open(name, O_RDONLY | O_CLOEXEC);
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	assert_true(by >= 0 && own >= 0 && reader >= 0);
	assert_true(lock_copy(by, F_WRLCK, 0, 512));
	assert_false(lock_copy(own, F_WRLCK, 511, 1024));
	assert_false(lock_copy(own, F_RDLCK, 511, UINT64_MAX));
	assert_false(lock_copy(reader, F_WRLCK, 0, 1));
	assert_true(lock_copy(own, F_WRLCK, 512, 1024));
	assert_int_equal(fcntl(by, F_OFD_SETLK, &(struct flock){ .l_type =
	    F_UNLCK, .l_whence = SEEK_SET }), 0);
	assert_int_equal(fcntl(own, F_OFD_SETLK, &(struct flock){ .l_type =
	    F_UNLCK, .l_whence = SEEK_SET }), 0);
	assert_int_equal(fcntl(by, F_OFD_SETLK, &all), 0);
	assert_true(lock_copy(own, F_WRLCK, 0, 512));
	assert_true(lock_copy(own, F_RDLCK, 0, UINT64_MAX));
	assert_true(lock_copy(reader, F_WRLCK, 0, 512));
	close(by);
	close(own);
	close(reader);
}

CASE(opens_the_file_itself)
{
	int path = open(name, O_PATH | O_CLOEXEC);

	assert_true(path >= 0);
	finds(path);
	assert_int_equal(rename(other, name), 0);
	finds(path);			/* another file */
	unlink(name);
	finds(path);			/* none */
	assert_int_equal(symlink(other, name), 0);
	unlink(other);
	finds(path);			/* a link that leads nowhere */
	close(path);
}
