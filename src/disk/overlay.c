/*
 * Overlays. mountinfo(5) lists the layers of each mount, as they were given to
 * mount(8): lowerdir=A:B or lowerdir+=A, upperdir=C, datadir+=D.  All but the
 * last are searched, from the top down, for the name that a file has below the
 * mount point.
 *
 * These names may belong to another mount namespace, and a renamed directory
 * may have another name in its layer.  So a file that is found must have the
 * same length and time as the one on the overlay, which takes both from there.
 */
#include "disk/overlay.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/path.h"
#include "disk/sysfs.h"
#include "tables.h"

enum {
	DEPTH = 4,		/* overlays on overlays */
	TRIES = 3,		/* while somebody writes to the file */
};

/* Decode "\:", in place. */
static void
overlay_unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		s += s[0] == '\\' && s[1] != '\0';
		*to++ = *s;
	}
	*to = '\0';
}

/*
 * Cut off the first of several directories; returns what follows its colon, or
 * NULL.
 */
static char *
first_of(char *s)
{
	while (*s != '\0' && *s != ':')
		s += s[0] == '\\' && s[1] != '\0' ? 2 : 1;
	if (*s == '\0')
		return NULL;
	*s = '\0';
	return s + 1;
}

struct visit {
	int	(*each)(const char *directory, enum layer, void *arg);
	void	*arg;
	bool	 any;
};

static int
overlay_visit_layer(struct visit *v, const char *directory, enum layer layer)
{
	v->any = true;
	return v->each(directory, layer, v->arg);
}

/* lowerdir=A:B; those after a double colon have only data. */
static int
visit_lower(struct visit *v, char *list)
{
	enum layer layer = LAYER_LOWER;
	char *next;
	int err = 0;

	for (; list != NULL && err == 0; list = next) {
		next = first_of(list);
		overlay_unescape(list);
		if (list[0] == '\0')
			layer = LAYER_DATA;
		else
			err = overlay_visit_layer(v, list, layer);
	}
	return err;
}

/* Other options name one layer; older kernels decode "\:" there too. */
static int
visit_one(struct visit *v, char *directory, enum layer layer)
{
	if (access(directory, F_OK) != 0)
		overlay_unescape(directory);
	return overlay_visit_layer(v, directory, layer);
}

/* Visit the layers of one option, decoded from mountinfo. */
static int
visit_option(struct visit *v, char *option)
{
	char *value = strchr(option, '=');

	if (value == NULL)
		return 0;
	*value++ = '\0';
	table_unescape(value);
	if (strcmp(option, "lowerdir") == 0)
		return visit_lower(v, value);
	if (strcmp(option, "lowerdir+") == 0)
		return visit_one(v, value, LAYER_LOWER);
	if (strcmp(option, "upperdir") == 0)
		return visit_one(v, value, LAYER_UPPER);
	return strcmp(option, "datadir+") == 0 ?
	    visit_one(v, value, LAYER_DATA) : 0;
}

int
overlay_layers(const char *options,
    int (*each)(const char *directory, enum layer, void *arg), void *arg)
{
	struct visit v = { .each = each, .arg = arg };
	char *copy = strdup(options), *at = copy, *option;
	int err = copy == NULL ? ENOMEM : 0;

	while (err == 0 && (option = strsep(&at, ",")) != NULL)
		err = visit_option(&v, option);
	free(copy);
	return err == 0 && !v.any ? ENOENT : err;
}

struct search {
	char		*name;		/* below the mount point */
	bool		 written;
	bool		 blind;		/* a higher layer cannot be read */
	bool		 fleeting;
	int		 err;		/* why that is not known, or 0 */
	char		*path;		/* what was found, or NULL */
	struct stat	 st;
};

/* Note what fails for want of a descriptor or of memory. */
static bool
search_failed(struct search *s, int err)
{
	s->err = sysfs_unasked(err);
	return false;
}

/* Find the file in one layer; ENOENT: it is not there. */
static int
overlay_find_in_layer(const char *directory, const char *path, struct stat *st)
{
	if (directory[0] != '/')	/* relative to where mount(8) ran */
		return ENOTDIR;
	if (lstat(path, st) == 0)
		return S_ISREG(st->st_mode) && lgetxattr(path,
		    "trusted.overlay.metacopy", NULL, 0) < 0 ? 0 : ENOENT;
	return access(directory, F_OK) == 0 ? ENOENT : ENOTDIR;
}

/* The upper layer precedes the others, wherever it is listed. */
static int
search_layer(const char *directory, enum layer layer, void *arg)
{
	struct search *s = arg;
	struct stat st;
	char *path;
	int err;

	if (layer == LAYER_DATA ||
	    (layer == LAYER_LOWER && (s->path != NULL || s->written)))
		return 0;
	if (asprintf(&path, "%s%s", directory, s->name) < 0)
		return ENOMEM;
	err = overlay_find_in_layer(directory, path, &st);
	if (err != 0) {
		s->blind = s->blind || err != ENOENT;
		free(path);
		return 0;
	}
	free(s->path);
	s->path = path;
	s->st = st;
	s->blind = s->blind && layer != LAYER_UPPER;
	return 0;
}

/* The name of an open file below its mount point, in that overlay; or NULL. */
static char *
name_below(int fd, const struct mount *m)
{
	const char *root = strcmp(m->root, "/") == 0 ? "" : m->root;
	size_t point = strcmp(m->point, "/") == 0 ? 0 : strlen(m->point);
	char link[64], path[PATH_MAX], *name;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return NULL;
	path[n] = '\0';
	if (strncmp(path, m->point, point) != 0 || path[point] != '/' ||
	    asprintf(&name, "%s%s", root, path + point) < 0)
		return NULL;
	return name;
}

static bool
stat_alike(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size &&
	    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Search the layers of the mount. */
static bool
overlay_search_layers(int fd, const struct mount *m, struct search *s)
{
	struct stat st;
	int try, err;

	for (try = 0; try < TRIES; try++) {
		free(s->path);
		s->path = NULL;
		s->blind = false;
		err = fstat(fd, &st) != 0 ? errno :
		    overlay_layers(m->options, search_layer, s);
		if (err != 0 || s->path == NULL || s->blind)
			return search_failed(s, err);
		if (stat_alike(&st, &s->st))
			return true;
	}
	return false;
}

/* Find the mount through which the file was opened. */
static bool
mount_of(int fd, char *rows, struct mount *m)
{
	struct statx sx;
	char *row;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID,
	    &sx) != 0 || (sx.stx_mask & STATX_MNT_ID) == 0)
		return false;
	while ((row = strsep(&rows, "\n")) != NULL)
		if (table_mount(row, m) && m->id == sx.stx_mnt_id)
			break;
	if (row == NULL || strcmp(m->type, "overlay") != 0)
		return false;
	table_unescape(m->root);
	table_unescape(m->point);
	return true;
}

/* Whether the mount is volatile; newer kernels spell this fsync=. */
static bool
is_volatile(const char *options)
{
	static const char *const words[] = { "volatile", "fsync=volatile" };
	size_t len, i;

	for (; *options != '\0'; options += len + (options[len] != '\0')) {
		len = strcspn(options, ",");
		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (len == strlen(words[i]) &&
			    memcmp(options, words[i], len) == 0)
				return true;
	}
	return false;
}

static bool
is_on_overlay(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	    (unsigned long)fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Search the layers of the overlay of an open file. */
static bool
overlay_search_below(int fd, struct search *s)
{
	struct mount m;
	char *rows;
	bool is;
	int err = is_on_overlay(fd) ? table_read(MOUNTS, &rows) : ENOTTY;

	if (err != 0)
		return search_failed(s, err);
	is = mount_of(fd, rows, &m);
	s->fleeting = s->fleeting || (is && is_volatile(m.options));
	errno = 0;
	s->name = is ? name_below(fd, &m) : NULL;
	is = s->name != NULL ? overlay_search_layers(fd, &m, s) :
	    search_failed(s, errno);
	free(s->name);
	free(rows);
	return is;
}

static bool
search_is_file(struct search *s, int fd, const struct stat *is)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? same_file(&st, is) :
	    search_failed(s, errno);
}

static int
open_located(const struct located *l)
{
	if (l->name[0] == '\0')
		return fcntl(l->directory, F_DUPFD_CLOEXEC, 0);
	return openat(l->directory, l->name, O_PATH | O_CLOEXEC);
}

/* Repeat this if the layer is on an overlay too. */
bool
overlay_file(const struct located *l, bool written, struct overlaid *o,
    char *path)
{
	struct search s = { .written = written };
	struct stat is = { .st_dev = l->dev, .st_ino = l->ino };
	int fd = major(is.st_dev) == 0 ? open_located(l) : -1, depth;

	for (depth = 0; fd >= 0 && depth < DEPTH && search_is_file(&s, fd,
	    &is) && overlay_search_below(fd, &s); depth++) {
		is = o->st = s.st;
		if (path != NULL)
			strlcpy(path, s.path, PATH_MAX);
		close(fd);
		fd = open(s.path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0 && major(is.st_dev) == 0)
		search_failed(&s, errno);
	o->fleeting = s.fleeting;
	o->err = s.err;
	free(s.path);
	if (fd >= 0)
		close(fd);
	return depth > 0;
}

int
overlay_resolve(const char *path, struct stat *st)
{
	struct located at = { AT_FDCWD, path, st->st_dev, st->st_ino };
	struct overlaid o = { .err = 0 };

	if (S_ISREG(st->st_mode) && overlay_file(&at, false, &o, NULL))
		*st = o.st;
	return o.err;
}

/*
 * Whether files with that st_dev may be on an overlay: it belongs to one, or to
 * no mount at all, because overlays invent some.
 */
static bool
may_be_overlay(dev_t dev, const char *mounts)
{
	char number[40];
	const char *row;

	snprintf(number, sizeof(number), " %u:%u ", major(dev), minor(dev));
	row = strstr(mounts, number);
	if (row == NULL)
		return strstr(mounts, " - overlay ") != NULL;
	row = strstr(row, " - ");
	return row != NULL && strncmp(row, " - overlay ", 11) == 0;
}

int
overlay_loop(const char *loop, struct stat *st, char **mounts)
{
	char path[300], backing[PATH_MAX];

	if (!S_ISREG(st->st_mode) || major(st->st_dev) != 0 ||
	    ((*mounts != NULL || table_read(MOUNTS, mounts) == 0) &&
	    !may_be_overlay(st->st_dev, *mounts)))
		return 0;
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", loop);
	if (!sysfs_text(AT_FDCWD, path, backing, sizeof(backing)))
		return sysfs_unasked(errno);
	return overlay_resolve(backing, st);
}
