/*
 * Where a name leads.  A directory is opened once and queried by its
 * descriptor, so that the answers still hold when a file is created in it.
 */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

const char *
path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

const char *
path_of_dir(int dir, char *where)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, where, PATH_MAX - 1);
	if (n <= 0)
		return "...";
	where[n] = '\0';
	return where;
}

int
path_dir(const char *path, int how, const char **base)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX] = ".";
	size_t len;

	*base = path_base(path);
	if (slash != NULL) {
		len = slash == path ? 1 : (size_t)(slash - path);
		if (len >= sizeof(directory)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(directory, path, len);
		directory[len] = '\0';
	}
	return open(directory, how | O_DIRECTORY | O_CLOEXEC);
}

int
path_no_dir(const char *path, const char *key, const char *what,
    struct fault *f)
{
	char directory[PATH_MAX] = ".";
	const char *slash = path;
	size_t len;

	while (*slash != '\0' && (slash = strchr(slash + 1, '/')) != NULL) {
		len = (size_t)(slash - path);
		memcpy(directory, path, len);
		directory[len] = '\0';
		if (faccessat(AT_FDCWD, directory, F_OK, 0) != 0)
			break;
	}
	return fault_set(f, status_errno(ENOENT), "%s%s%s: there is no "
	    "directory %s", key, key[0] != '\0' ? "=" : "", what, directory);
}

int
path_for_new(const char *path, const char *what, struct fault *f)
{
	const char *base;
	int dir = path_dir(path, O_RDONLY, &base);

	if (dir < 0 && errno == ENOENT)
		return path_no_dir(path, "", what, f);
	if (dir < 0)
		return fault_errno(f, errno, "%s", what);
	if (among_devices(dir))
		fault_set(f, STATUS_REFUSED,
		    "%s: no file is created in the device file system", what);
	else if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) != 0)
		fault_errno(f, errno, "%s", what);
	else
		return dir;
	close(dir);
	return -1;
}

int
path_check(const char *path, const char *what, struct fault *f)
{
	int dir = path_for_new(path, what, f);

	if (dir >= 0)
		close(dir);
	return dir < 0 ? -1 : 0;
}

/*
 * Read a file of "size" bytes to its end, into a buffer that has one more.
 * Returns 0 or an errno value; ESTALE: it does not end there.
 */
static int
path_read_fd(int fd, char *text, size_t size)
{
	size_t got = 0;
	ssize_t n = 1;

	while (n > 0 && got <= size) {
		n = read(fd, text + got, size + 1 - got);
		got += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return errno;
	text[size] = '\0';
	return got == size ? 0 : ESTALE;
}

char *
path_read(const char *path, const char *key, const char *wrong, off_t most,
    size_t *len, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;
	char *text = NULL;
	struct stat st;
	bool known, fits;

	if (fd < 0) {
		fault_errno(f, errno, "%s%s", key, path);
		return NULL;
	}
	known = fstat(fd, &st) == 0;
	fits = known && S_ISREG(st.st_mode) && st.st_size <= most;
	err = fits && (text = malloc((size_t)st.st_size + 1)) != NULL ?
	    path_read_fd(fd, text, (size_t)st.st_size) : errno;
	if (known && !fits)
		fault_set(f, STATUS_REFUSED, "%s%s%s", key, path, wrong);
	else if (err == ESTALE)
		fault_set(f, STATUS_REFUSED, "%s%s: it does not end where its "
		    "length says", key, path);
	else if (err != 0)
		fault_errno(f, err, "%s%s", key, path);
	close(fd);
	if (!fits || err != 0) {
		free(text);
		return NULL;
	}
	*len = (size_t)st.st_size;
	return text;
}

/* Whether a directory is /dev or below it; -1: unknown. */
static int
directory_in_dev(int dir, const struct stat *dev)
{
	int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), up;
	struct stat st, above;

	while (at >= 0 && fstat(at, &st) == 0 && !same_file(&st, dev)) {
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = up;
		if (at >= 0 && fstat(at, &above) == 0 &&
		    same_file(&st, &above)) {
			close(at);	/* the root is its own parent */
			return 0;
		}
	}
	if (at >= 0)
		close(at);
	return at >= 0 ? 1 : -1;
}

bool
among_devices(int dir)
{
	struct stat directory, dev, root;

	if (fstat(dir, &directory) != 0 || stat("/dev", &dev) != 0 ||
	    stat("/", &root) != 0 || directory.st_dev != dev.st_dev)
		return false;
	return dev.st_dev != root.st_dev || directory_in_dev(dir, &dev) != 0;
}
