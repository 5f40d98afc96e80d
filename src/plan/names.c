/*
 * Which names the files of a run may have: none that is an end of the copy, or
 * the file of another operand.
 */
#include "plan/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"
#include "disk/sysfs.h"
#include "open/tee.h"

struct name {			/* of a file that may not exist yet */
	int		 dir;	/* its directory */
	const char	*base;	/* its name there */
	const char	*path;	/* the path of the operand */
	int		 err;	/* errno, if something cannot be looked up for
				 * lack of descriptors or memory */
};

/* Whether another path leads to this name, which may not exist yet. */
static bool
name_leads_here(struct name *n, const struct stat *st, const char *path)
{
	struct stat there, here;
	const char *base;
	bool yes;
	int dir;

	if (path == NULL)
		return false;
	if (st != NULL && stat(path, &there) == 0)
		return same_file(st, &there);
	dir = path_dir(path, O_RDONLY, &base);
	if (dir < 0) {
		n->err = n->err != 0 ? n->err : sysfs_unasked(errno);
		return false;
	}
	yes = fstat(dir, &there) == 0 && fstat(n->dir, &here) == 0 &&
	    same_file(&there, &here) && strcmp(base, n->base) == 0;
	close(dir);
	return yes;
}

static bool
is_end(const struct endpoint *ep, struct name *n, const struct stat *st)
{
	struct located l = { .directory = n->dir, .name = n->base };

	if (st == NULL || !ep->id.known)
		return false;
	l.dev = st->st_dev;
	l.ino = st->st_ino;
	if ((ep->id.dev == l.dev && ep->id.ino == l.ino) ||
	    endpoint_layered(ep, &l))
		return true;
	n->err = n->err != 0 ? n->err : errno;
	return false;
}

/*
 * Whether the file is an end, or named by another operand; st is NULL if it
 * does not exist.  Once view= is mounted nobody answers yet who asks for it, so
 * it was checked before.  A new manifest may replace its base.  After kill -9
 * the map and the previous map may be the same file.
 */
static bool
name_used(struct name *n, const struct plan *p, const struct stat *st)
{
	const struct opts *o = p->opts;
	bool renewed = n->path == o->manifest &&
	    strcmp(n->base, path_base(n->path)) == 0;
	const char *const names[] = { o->input, o->output, o->json, o->log,
		o->map, o->domain, o->hashfile, o->profile, o->report,
		o->control, o->manifest, o->usedmap, o->bmap,
		p->view == NULL ? o->view : NULL,
		renewed ? NULL : o->base };
	const struct endpoint *ep;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i] != n->path && name_leads_here(n, st, names[i]))
			return true;
	for (i = 0; i < o->targets; i++)
		if (name_leads_here(n, st, o->target[i]))
			return true;
	for (i = 0; (ep = tee_target(p->dst, (unsigned)i)) != NULL; i++)
		if (is_end(ep, n, st))
			return true;
	return is_end(p->src, n, st);
}

/* Check the map, its temporary name, or the previous map. */
static int
look_map(const struct name *map, const char *suffix, const struct plan *p,
    struct fault *f)
{
	bool whole = *suffix == '\0', there;
	char name[NAME_MAX + 1];
	struct name n = { map->dir, name, map->path, 0 };
	struct stat st;

	if (snprintf(name, sizeof(name), "%s%s", map->base, suffix) > NAME_MAX)
		return fault_errno(f, ENAMETOOLONG, "%s%s", n.path, suffix);
	there = fstatat(n.dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (name_used(&n, p, there ? &st : NULL))
		return fault_set(f, STATUS_REFUSED, "%s%s is an end of the "
		    "copy, or named by another operand: map= needs it for the "
		    "map", n.path, suffix);
	if (n.err != 0)
		return fault_errno(f, n.err, "%s%s", n.path, suffix);
	if (there && whole && S_ISLNK(st.st_mode))
		return fault_set(f, status_errno(ELOOP), "%s is a symbolic "
		    "link, which map= does not follow", n.path);
	if (there && whole && !S_ISREG(st.st_mode))
		return fault_set(f, STATUS_REFUSED, "%s is not a regular "
		    "file, and so not a map", n.path);
	if (there && S_ISDIR(st.st_mode))
		return fault_set(f, STATUS_REFUSED, "%s%s is a directory: map= "
		    "needs that name for the map", n.path, suffix);
	return 0;
}

int
names_map(const struct plan *p, struct fault *f)
{
	static const char *const suffix[] = { "", TEMPORARY, ".bak" };
	struct name n = { .path = p->opts->map };
	int failed = 0;
	size_t i;

	n.dir = path_dir(n.path, O_PATH, &n.base);
	if (n.dir < 0)
		return fault_errno(f, errno, "%s", n.path);
	for (i = 0; i < 3 && failed == 0; i++)
		failed = look_map(&n, suffix[i], p, f);
	close(n.dir);
	return failed;
}

/* Check one of the two names of a newfile. */
static int
names_check_newfile(const struct newfile *file, const char *base,
    const char *what, const struct plan *p, struct fault *f)
{
	struct name n = { file->dir, base, file->path, 0 };
	struct stat st;
	bool there = fstatat(n.dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (name_used(&n, p, there ? &st : NULL))
		return fault_set(f, STATUS_REFUSED, "%s=%s: %s", file->key,
		    file->path, what);
	return n.err == 0 ? 0 : fault_errno(f, n.err, "%s=%s", file->key,
	    file->path);
}

int
names_newfile(const struct newfile *file, const struct plan *p, struct fault *f)
{
	if (file->path == NULL)
		return 0;
	if (names_check_newfile(file, file->base,
	    "is used for something else, too", p, f) != 0)
		return -1;
	return names_check_newfile(file, file->temporary, "is written as "
	    TEMPORARY " first, and that is used for something else", p, f);
}

int
names_view(const struct plan *p, struct fault *f)
{
	struct name n = { .path = p->opts->view };
	struct stat st;
	bool there, used;

	n.dir = path_dir(n.path, O_PATH, &n.base);
	if (n.dir < 0)
		return fault_errno(f, errno, "%s", n.path);
	there = fstatat(n.dir, n.base, &st, AT_SYMLINK_NOFOLLOW) == 0;
	used = name_used(&n, p, there ? &st : NULL);
	close(n.dir);
	if (used)
		return fault_set(f, STATUS_REFUSED, "view=%s is an end of the "
		    "copy, or named by another operand", n.path);
	if (n.err != 0)
		return fault_errno(f, n.err, "view=%s", n.path);
	if (there && (!S_ISREG(st.st_mode) || st.st_size > 0))
		return fault_set(f, STATUS_REFUSED, "view=%s is not an empty "
		    "file: name one, or one that does not exist yet", n.path);
	return 0;
}
