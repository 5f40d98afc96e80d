/*
 * Files that are made at the end of a run.  The folder is looked up before the
 * copy and kept, and with it all that can be refused is refused then.  The file
 * is written under another name, flushed, and renamed.
 */
#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "status.h"

static int
refuse(struct fault *f, const struct newfile *n, const char *what)
{
	return fault_set(f, STATUS_REFUSED, "%s=%s: %s", n->key, n->path, what);
}

static int
wrong(struct fault *f, const struct newfile *n, int err)
{
	return fault_errno(f, err, "%s=%s", n->key, n->path);
}

/* Whether another path leads to "name" in the folder, be it there or not. */
static bool
leads_here(const struct newfile *n, const char *name, const struct stat *st,
    const char *path)
{
	struct stat there, here;
	const char *base;
	bool yes;
	int dir;

	if (path == NULL)
		return false;
	if (st != NULL && stat(path, &there) == 0)
		return same_file(st, &there);
	dir = folder_open(path, O_RDONLY, &base);
	if (dir < 0)
		return false;
	yes = fstat(dir, &there) == 0 && fstat(n->dir, &here) == 0 &&
	    same_file(&there, &here) && strcmp(base, name) == 0;
	close(dir);
	return yes;
}

static bool
is_end(const struct endpoint *ep, const struct stat *st)
{
	return st != NULL && ep->id.known && ep->id.dev == st->st_dev &&
	    ep->id.ino == st->st_ino;
}

/*
 * Whether "name" in the folder is an end, or named by another operand; st NULL:
 * it is not there.  A new manifest may take the place of its base.  After
 * kill -9 the map and the map before may be two names of one file.
 */
static bool
used(const struct newfile *n, const char *name, const struct plan *p,
    const struct stat *st)
{
	const struct opts *o = p->opts;
	bool renewed = n->path == o->manifest && name == n->base;
	const char *const names[] = { o->input, o->output, o->json, o->log,
		o->map, o->domain, o->hashfile, o->profile, o->control,
		o->manifest, renewed ? NULL : o->base };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i] != n->path && leads_here(n, name, st, names[i]))
			return true;
	return is_end(p->src, st) || is_end(p->dst, st);
}

/* What a run that was killed has left goes, but nothing that is in use. */
static int
look_temporary(struct newfile *n, const struct plan *p, struct fault *f)
{
	struct stat st;
	bool there = fstatat(n->dir, n->temporary, &st,
	    AT_SYMLINK_NOFOLLOW) == 0;

	if (!there && errno != ENOENT)
		return wrong(f, n, errno);
	if ((there && S_ISDIR(st.st_mode)) ||
	    used(n, n->temporary, p, there ? &st : NULL))
		return refuse(f, n, "is written as " TEMPORARY
		    " first, and that is used for something else");
	return 0;
}

static int
look(struct newfile *n, const struct plan *p, struct fault *f)
{
	struct stat st;
	bool there;

	if (among_devices(n->dir))
		return refuse(f, n, "is among the devices");
	if (strlen(n->base) > NAME_MAX - strlen(TEMPORARY))
		return wrong(f, n, ENAMETOOLONG);
	there = fstatat(n->dir, n->base, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!there && errno != ENOENT)
		return wrong(f, n, errno);
	if (there && !S_ISREG(st.st_mode))
		return refuse(f, n, "is not a regular file");
	if (used(n, n->base, p, there ? &st : NULL))
		return refuse(f, n, "is used for something else, too");
	if (faccessat(n->dir, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return wrong(f, n, errno);
	snprintf(n->temporary, sizeof(n->temporary), "%s" TEMPORARY,
	    n->base);
	return look_temporary(n, p, f);
}

int
newfile_open(struct newfile *n, const char *key, const char *path,
    const struct plan *p, struct fault *f)
{
	*n = (struct newfile){ .key = key, .path = path, .dir = -1 };
	if (path == NULL)
		return 0;
	n->dir = folder_open(path, O_RDONLY, &n->base);
	if (n->dir < 0)
		return wrong(f, n, errno);
	if (look(n, p, f) == 0)
		return 0;
	newfile_close(n);
	return -1;
}

/* The map, what it is written as first, or the map before. */
static int
look_map(const struct newfile *n, const char *suffix, const struct plan *p,
    struct fault *f)
{
	bool whole = *suffix == '\0', there;
	char name[NAME_MAX + 1];
	struct stat st;

	if (snprintf(name, sizeof(name), "%s%s", n->base, suffix) > NAME_MAX)
		return fault_errno(f, ENAMETOOLONG, "%s%s", n->path, suffix);
	there = fstatat(n->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (used(n, whole ? n->base : name, p, there ? &st : NULL))
		return fault_set(f, STATUS_REFUSED, "%s%s is an end of the "
		    "copy, or named by another operand: map= needs it for the "
		    "map", n->path, suffix);
	if (there && whole && S_ISLNK(st.st_mode))
		return fault_set(f, status_errno(ELOOP), "%s is a symbolic "
		    "link, and no map is looked for behind it", n->path);
	if (there && whole && !S_ISREG(st.st_mode))
		return fault_set(f, STATUS_REFUSED, "%s is not a regular "
		    "file, and so not a map", n->path);
	if (there && S_ISDIR(st.st_mode))
		return fault_set(f, STATUS_REFUSED, "%s%s is a folder: map= "
		    "needs that name for the map", n->path, suffix);
	return 0;
}

int
newfile_map(const struct plan *p, struct fault *f)
{
	static const char *const suffix[] = { "", TEMPORARY, ".bak" };
	struct newfile n = { .key = "map", .path = p->opts->map };
	int failed = 0;
	size_t i;

	n.dir = folder_open(n.path, O_PATH, &n.base);
	if (n.dir < 0)
		return fault_errno(f, errno, "%s", n.path);
	for (i = 0; i < 3 && failed == 0; i++)
		failed = look_map(&n, suffix[i], p, f);
	close(n.dir);
	return failed;
}

int
newfile_begin(struct newfile *n, struct fault *f)
{
	int fd;

	unlinkat(n->dir, n->temporary, 0);	/* of a run that was killed */
	fd = openat(n->dir, n->temporary, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return wrong(f, n, errno);
	n->out = fdopen(fd, "w");
	if (n->out != NULL)
		return 0;
	close(fd);
	unlinkat(n->dir, n->temporary, 0);
	return wrong(f, n, ENOMEM);
}

int
newfile_end(struct newfile *n, int err, struct fault *f)
{
	if (err == 0 && (fflush(n->out) != 0 || ferror(n->out) != 0 ||
	    fsync(fileno(n->out)) != 0))
		err = errno != 0 ? errno : EIO;
	if (fclose(n->out) != 0 && err == 0)
		err = errno;
	n->out = NULL;
	if (err == 0 && renameat(n->dir, n->temporary, n->dir, n->base) != 0)
		err = errno;
	if (err != 0)
		unlinkat(n->dir, n->temporary, 0);
	else if (fsync(n->dir) != 0 && errno != EINVAL)
		err = errno;
	return err == 0 ? 0 : wrong(f, n, err);
}

void
newfile_close(struct newfile *n)
{
	if (n->dir >= 0)
		close(n->dir);
	n->dir = -1;
}
