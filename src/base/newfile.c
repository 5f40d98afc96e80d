/*
 * Files that are written at the end of a run.  The directory is opened before
 * the copy and kept open, and everything that can be refused is refused then.
 * The file is written under a temporary name, flushed, and renamed.
 *
 * The temporary file exists, empty and locked, during the whole copy: of two
 * runs that want the same file, one is refused.  Only the run that has locked
 * the temporary file removes it, including one left by a run that was killed.
 *
 * If there was no file when the copy began, none is replaced at the end: it may
 * be the target, under another spelling of its name (as on FAT).
 */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"

enum { TRIES = 100 };		/* others may make and remove files meanwhile */

static int
newfile_refuse(struct fault *f, const struct newfile *n, const char *what)
{
	return fault_set(f, STATUS_REFUSED, "%s=%s: %s", n->key, n->path, what);
}

static int
newfile_not_regular(struct fault *f, const struct newfile *n, int err)
{
	if (err == ESTALE)
		return fault_set(f, status_errno(ENOENT), "%s=%s: its "
		    "temporary file %s was removed or replaced",
		    n->key, n->path, n->temporary);
	if (err == EEXIST)
		return fault_set(f, status_errno(EEXIST), "%s=%s: a file of "
		    "that name was created during the copy", n->key, n->path);
	return fault_errno(f, err, "%s=%s", n->key, n->path);
}

static bool
newfile_exists(const struct newfile *n)
{
	struct stat st;

	return fstatat(n->dir, n->base, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	    errno != ENOENT;
}

/* A temporary file left by a killed run may be removed, but not one in use. */
static int
look_temporary(const struct newfile *n, struct fault *f)
{
	struct stat st;
	bool there = fstatat(n->dir, n->temporary, &st,
	    AT_SYMLINK_NOFOLLOW) == 0;

	if (!there && errno != ENOENT)
		return newfile_not_regular(f, n, errno);
	if (there && S_ISDIR(st.st_mode))
		return newfile_refuse(f, n, "is written as " TEMPORARY
		    " first, and that is used for something else");
	return 0;
}

static int
newfile_find_place(struct newfile *n, struct fault *f)
{
	struct stat st;
	bool there;

	if (among_devices(n->dir))
		return newfile_refuse(f, n, "is in the device file system");
	if (strlen(n->base) > NAME_MAX - strlen(TEMPORARY))
		return newfile_not_regular(f, n, ENAMETOOLONG);
	there = fstatat(n->dir, n->base, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!there && errno != ENOENT)
		return newfile_not_regular(f, n, errno);
	if (there && !S_ISREG(st.st_mode))
		return newfile_refuse(f, n, "is not a regular file");
	if (faccessat(n->dir, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return newfile_not_regular(f, n, errno);
	snprintf(n->temporary, sizeof(n->temporary), "%s" TEMPORARY, n->base);
	return look_temporary(n, f);
}

int
newfile_open(struct newfile *n, const char *key, const char *path,
    struct fault *f)
{
	*n = (struct newfile){ .key = key, .path = path, .mode = 0666,
	    .dir = -1, .fd = -1 };
	if (path == NULL)
		return 0;
	n->dir = path_dir(path, O_RDONLY, &n->base);
	if (n->dir < 0 && errno == ENOENT)
		return path_no_dir(path, key, path, f);
	if (n->dir < 0)
		return newfile_not_regular(f, n, errno);
	if (newfile_find_place(n, f) == 0)
		return 0;
	newfile_close(n);
	return -1;
}

/* Nobody else may read what replaces a private file. */
static int
newfile_keep_private(const struct newfile *n)
{
	struct stat old, new;

	if (fstatat(n->dir, n->base, &old, AT_SYMLINK_NOFOLLOW) != 0 ||
	    fstat(n->fd, &new) != 0 || (new.st_mode & ~old.st_mode & 0777) == 0)
		return 0;
	return fchmod(n->fd, new.st_mode & old.st_mode & 0777) == 0 ? 0 : errno;
}

/* Whether the locked file still has its temporary name. */
static bool
newfile_is_ours(const struct newfile *n)
{
	struct stat ours, now;

	return n->fd >= 0 && fstat(n->fd, &ours) == 0 &&
	    fstatat(n->dir, n->temporary, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    same_file(&ours, &now);
}

/* Remove it, and unlock it. */
static void
newfile_discard(struct newfile *n)
{
	if (newfile_is_ours(n))
		unlinkat(n->dir, n->temporary, 0);
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* Whether another run has locked it; without locks, nobody has. */
static bool
temporary_locked(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/*
 * Remove the temporary file, unless a run is using it.  Returns 0 or an errno
 * value.
 */
static int
remove_old(struct newfile *n)
{
	struct stat st;
	int err = 0;

	if (fstatat(n->dir, n->temporary, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	if (!S_ISREG(st.st_mode))
		return unlinkat(n->dir, n->temporary, 0) == 0 ? 0 : errno;
	n->fd = openat(n->dir, n->temporary, O_RDWR | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (n->fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : errno;
	if (temporary_locked(n->fd))
		err = EWOULDBLOCK;
	else if (newfile_is_ours(n) && unlinkat(n->dir, n->temporary, 0) != 0 &&
	    errno != ENOENT)
		err = errno;
	close(n->fd);
	n->fd = -1;
	return err;
}

int
newfile_hold(struct newfile *n, struct fault *f)
{
	const int how = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	unsigned tries = 0;
	int err = 0;

	if (n->dir < 0)
		return 0;
	while (err == 0 && !newfile_is_ours(n)) {
		newfile_discard(n);
		err = ++tries > TRIES ? ESTALE : remove_old(n);
		if (err != 0)
			break;
		n->fd = openat(n->dir, n->temporary, how, n->mode);
		if (n->fd < 0)
			err = errno == EEXIST ? 0 : errno;
		else if (temporary_locked(n->fd))
			err = EWOULDBLOCK;
		else
			err = newfile_keep_private(n);
	}
	if (!n->held)
		n->absent = !newfile_exists(n);
	n->held = true;
	if (err == 0)
		return 0;
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
	return err == EWOULDBLOCK ? newfile_refuse(f, n,
	    "another run is writing it") : newfile_not_regular(f, n, err);
}

/* The stream closes the duplicate; the lock lasts as long as our descriptor. */
int
newfile_begin(struct newfile *n, struct fault *f)
{
	int fd = fcntl(n->fd, F_DUPFD_CLOEXEC, 0), err;

	n->out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (n->out != NULL)
		return 0;
	err = errno;
	if (fd >= 0)
		close(fd);
	return newfile_not_regular(f, n, err);
}

/*
 * Its directory may have been moved: the file is there, but not found by the
 * name that was given.
 */
static int
newfile_check_name(const struct newfile *n, struct fault *f)
{
	struct stat ours, named;
	char where[PATH_MAX];

	if (fstat(n->fd, &ours) != 0 ||
	    (lstat(n->path, &named) == 0 && same_file(&ours, &named)))
		return 0;
	return fault_set(f, status_errno(ENOENT), "%s=%s: that name leads "
	    "elsewhere now, and the file is %s/%s", n->key, n->path,
	    path_of_dir(n->dir, where), n->base);
}

int
newfile_end(struct newfile *n, int err, struct fault *f)
{
	int failed = 0;

	if (err == 0 && (fflush(n->out) != 0 || ferror(n->out) != 0 ||
	    fsync(fileno(n->out)) != 0))
		err = errno != 0 ? errno : EIO;
	if (fclose(n->out) != 0 && err == 0)
		err = errno;
	n->out = NULL;
	if (err == 0 && !newfile_is_ours(n))
		err = ESTALE;
	if (err == 0 && n->absent && newfile_exists(n))
		err = EEXIST;
	if (err == 0 && renameat(n->dir, n->temporary, n->dir, n->base) != 0)
		err = errno;
	if (err == 0)
		n->absent = false;
	if (err == 0 && fsync(n->dir) != 0 && errno != EINVAL)
		err = errno;
	if (err == 0)
		failed = newfile_check_name(n, f);
	newfile_discard(n);
	return err == 0 ? failed : newfile_not_regular(f, n, err);
}

void
newfile_close(struct newfile *n)
{
	newfile_discard(n);
	if (n->dir >= 0)
		close(n->dir);
	n->dir = -1;
}
