/*
 * Directories among the devices, where /dev is an ordinary directory of the
 * root, as in some containers.
 */
#undef _FORTIFY_SOURCE		/* openat() is one of the test's own */
#include "test.h"

#include <sys/syscall.h>

#include "base/path.h"

static char root[32];
static bool apart;		/* /dev is a file system of its own */
static int fds;

/* In the place of the C library: the root is a directory below /tmp. */
int
stat(const char *path, struct stat *st)
{
	char there[64];
	int failed;

	snprintf(there, sizeof(there), "%s%s", root, path);
	failed = fstatat(AT_FDCWD, there, st, 0);
	st->st_dev += apart && strcmp(path, "/") == 0;
	return failed;
}

static unsigned failing;	/* the call of openat() or fstat() that fails: 1
				 * is the next one, 0 none */

static bool
fails(void)
{
	if (failing == 0 || --failing > 0)
		return false;
	errno = EMFILE;
	return true;
}

int
openat(int dir, const char *path, int flags, ...)
{
	return fails() ? -1 : (int)syscall(SYS_openat, dir, path, flags, 0);
}

int
fstat(int fd, struct stat *st)
{
	return fails() ? -1 : fstatat(fd, "", st, AT_EMPTY_PATH);
}

/* How many of the first descriptors are open. */
static int
open_fds(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int
directory(const char *name)
{
	char there[64];

	snprintf(there, sizeof(there), "%s/%s", root, name);
	return open(there, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
set_up(void **state)
{
	static const char *const names[] = { "dev", "dev/shm", "dev/shm/deep",
		"device" };
	char there[64];

	strcpy(root, "/tmp/pardd-path.XXXXXX");
	if (mkdtemp(root) == NULL)
		return -1;
	EACH_OF(i, names) {
		snprintf(there, sizeof(there), "%s/%s", root, names[i]);
		if (mkdir(there, 0700) != 0)
			return -1;
	}
	apart = false;
	fds = open_fds();
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const names[] = { "device", "dev/shm/deep",
		"dev/shm", "dev", "" };
	char there[64];

	EACH_OF(i, names) {
		snprintf(there, sizeof(there), "%s/%s", root, names[i]);
		if (rmdir(there) != 0)
			return -1;
	}
	return 0;
}

EACH(set_up, tear_down)

static bool
among(const char *name)
{
	int dir = directory(name);
	bool is;

	assert_true(dir >= 0);
	is = among_devices(dir);
	close(dir);
	assert_int_equal(open_fds(), fds);
	return is;
}

CASE(knows_what_is_below)
{
	assert_true(among("dev"));
	assert_true(among("dev/shm"));
	assert_true(among("dev/shm/deep"));
	assert_false(among("device"));
	assert_false(among("."));
}

/* A directory that cannot be asked where it is may be among them. */
CASE(takes_what_it_does_not_know)
{
	unsigned i;

	for (i = 2; i < 10; i++) {	/* the first is of the directory */
		failing = i;
		assert_true(among("dev/shm/deep"));
	}
	failing = 0;
}

CASE(takes_all_of_a_file_system)
{
	apart = true;
	assert_true(among("device"));
}

/* Which directory is missing; or what else is wrong. */
CASE(tells_what_is_missing)
{
	struct fault f;

	assert_int_equal(path_for_new("/nowhere/at/all", "it", &f), -1);
	assert_int_equal(f.status, 50 + ENOENT);
	assert_string_equal(f.text, "it: there is no directory /nowhere");
	assert_int_equal(path_for_new("/proc/version/x", "it", &f), -1);
	assert_int_equal(f.status, 50 + ENOTDIR);
	assert_string_equal(f.text, "it: Not a directory");
}
