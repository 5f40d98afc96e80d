/*
 * Where lines for programs go.
 *
 * A sink is a file that was checked and opened here (see usable), or an
 * inherited descriptor.  That may be a pipe that nobody reads, while the main
 * thread has to answer signals.  So nothing is written before poll(2) says that
 * there is room, and a pipe gets at most PIPE_BUF bytes at a time, which
 * poll(2) guarantees.
 */
#include "record/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/major.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/errand.h"
#include "base/path.h"
#include "base/signals.h"
#include "base/status.h"
#include "disk/overlay.h"
#include "disk/sysfs.h"
#include "end/backend.h"
#include "end/endpoint.h"

static int
not_a_sink(struct fault *f, const struct sink *s, const char *what)
{
	return fault_set(f, STATUS_REFUSED, "%s=%s: %s", s->key, s->name, what);
}

static int
sink_errno(struct fault *f, const struct sink *s, int err)
{
	if (err == ESTALE)		/* removed or replaced: open_found */
		err = ENOENT;
	return fault_errno(f, err, "%s=%s", s->key, s->name);
}

/*
 * Whether it is the same file, perhaps by its name in an overlay's layer: 0, 1,
 * or a negative errno value if it cannot be known for lack of descriptors or
 * memory.
 */
static int
sink_leads_to(const char *path, const char *name, const struct stat *st)
{
	struct stat other, own = *st;
	int err;

	if (stat(path, &other) != 0)
		return -sysfs_unasked(errno);
	if (same_file(&other, st))
		return 1;
	err = overlay_resolve(path, &other);
	if (err == 0)
		err = overlay_resolve(name, &own);
	return err != 0 ? -err : same_file(&other, &own);
}

/* The same, of the previous version of a map. */
static int
is_backup(const char *operand, const char *name, const struct stat *st)
{
	char path[PATH_MAX];

	return strncmp(operand, "map=", 4) == 0 && snprintf(path, sizeof(path),
	    "%s.bak", operand + 4) < PATH_MAX ?
	    sink_leads_to(path, name, st) : 0;
}

/* The same, of all that other operands name. */
static int
named_by_another(const struct opts *o, const struct sink *s,
    const struct stat *st)
{
	size_t key = strlen(s->key);
	int i, is = 0;

	for (i = 1; i < o->argc && is == 0; i++) {
		const char *name = strchr(o->argv[i], '=');

		if (name == NULL || opts_no_file(o->argv[i]) ||
		    ((size_t)(name - o->argv[i]) == key &&
		    strncmp(o->argv[i], s->key, key) == 0))
			continue;
		is = sink_leads_to(name + 1, s->name, st);
		if (is == 0)
			is = is_backup(o->argv[i], s->name, st);
	}
	return is;
}

static bool
is_standard(const char *name, int fd, const struct stat *st)
{
	struct stat other;

	return (name == NULL || strcmp(name, "-") == 0) &&
	    fstat(fd, &other) == 0 && same_file(&other, st);
}

/*
 * Refuse an end of the copy, or the other sink.  All operands are examined, so
 * that this works even if the command line is wrong elsewhere.
 */
static int
sink_apart(const struct opts *o, const struct sink *s, const struct stat *st,
    struct fault *f)
{
	bool made = (o->iflag & (FLAG_ZEROS | FLAG_RANDOM)) != 0;
	int named = named_by_another(o, s, st);
	unsigned i;

	if (named < 0)
		return sink_errno(f, s, -named);
	if (named > 0 ||
	    (!made && is_standard(o->input, STDIN_FILENO, st)) ||
	    is_standard(o->output, STDOUT_FILENO, st))
		return not_a_sink(f, s, "is used for something else, too");
	for (i = 1; i < o->targets; i++)
		if (is_standard(o->target[i], STDOUT_FILENO, st))
			return not_a_sink(f, s, "is used for something else, "
			    "too");
	return 0;
}

/* Use a descriptor, but not a disk, or a device that reacts to writes. */
static int
sink_inherit(struct sink *s, const struct opts *o, long fd, struct fault *f)
{
	struct stat st;
	bool null;
	int mode;

	if (fd > INT_MAX || fstat((int)fd, &st) != 0 ||
	    (mode = fcntl((int)fd, F_GETFL)) < 0 ||
	    (mode & O_ACCMODE) == O_RDONLY || (mode & O_PATH) != 0)
		return sink_errno(f, s, EBADF);
	null = S_ISCHR(st.st_mode) && st.st_rdev == makedev(MEM_MAJOR, 3);
	if (S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !null &&
	    isatty((int)fd) == 0))
		return not_a_sink(f, s, "is a device");
	if (!null && sink_apart(o, s, &st, f) != 0)
		return -1;
	s->regular = S_ISREG(st.st_mode);
	s->fd = (int)fd;
	return 0;
}

/* An existing file may be used if it is meant to be written. */
static int
sink_usable(const struct sink *s, const struct opts *o, const struct stat *st,
    struct fault *f)
{
	if (S_ISLNK(st->st_mode))
		return not_a_sink(f, s, "is a symbolic link");
	if (!S_ISREG(st->st_mode) && (s->journal || !S_ISFIFO(st->st_mode)))
		return not_a_sink(f, s, s->journal ? "is not a regular file" :
		    "is neither a regular file nor a FIFO");
	return sink_apart(o, s, st, f);
}

/*
 * If the last line of a journal is incomplete, begin a new one.  If that fails,
 * our own line will fail too.
 */
static void
sink_mend(const struct sink *s, int path)
{
	struct stat st;
	char last;
	int fd = reopen(path, s->name, O_RDONLY);

	if (fd < 0)
		return;			/* it may be write-only */
	if (fstat(fd, &st) == 0 && st.st_size > 0 &&
	    pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n')
		(void)!write(s->fd, "\n", 1);
	close(fd);
}

/*
 * A file of json= belongs to one run, because another would overwrite its
 * lines.  A journal is shared, and each line is written as a whole.
 */
static int
sink_hold(const struct sink *s, struct fault *f)
{
	if (!s->regular || s->journal || flock(s->fd, LOCK_EX | LOCK_NB) == 0 ||
	    errno != EWOULDBLOCK)
		return 0;
	return not_a_sink(f, s, "another run is writing it");
}

/* Open an existing file, or with --dry-run check it. */
static int
open_old(struct sink *s, const struct opts *o, int path, int flags,
    struct fault *f)
{
	struct stat st;

	if (fstat(path, &st) != 0)
		return sink_errno(f, s, errno);
	if (sink_usable(s, o, &st, f) != 0)
		return -1;
	if (o->mode == MODE_DRY_RUN)
		return faccessat(AT_FDCWD, s->name, W_OK, AT_EACCESS) == 0 ?
		    0 : sink_errno(f, s, errno);
	s->regular = S_ISREG(st.st_mode);
	s->fd = open_found(path, s->name, flags);
	if (s->fd < 0 && errno == EAGAIN)
		return fault_leased(f, s->name);
	if (s->fd < 0)
		return sink_errno(f, s, errno);
	if (sink_hold(s, f) != 0)
		return -1;
	if (s->regular && !s->journal && ftruncate(s->fd, 0) != 0)
		return sink_errno(f, s, errno);
	if (s->journal)
		sink_mend(s, path);
	return 0;
}

/*
 * Create a file; remove it again if an end has the same name, which did not
 * exist either.
 */
static int
open_new(struct sink *s, const struct opts *o, int dir, const char *base,
    int flags, struct fault *f)
{
	struct stat st;

	if (o->mode == MODE_DRY_RUN)
		return faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 :
		    sink_errno(f, s, errno);
	s->fd = openat(dir, base, flags | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (s->fd < 0 || fstat(s->fd, &st) != 0)
		return sink_errno(f, s, errno);
	s->regular = true;
	if (sink_apart(o, s, &st, f) != 0) {
		unlinkat(dir, base, 0);
		return -1;
	}
	return sink_hold(s, f);
}

/* Open a name in its directory; another run may create the file meanwhile. */
static int
open_in(struct sink *s, const struct opts *o, int dir, const char *base,
    struct fault *f)
{
	int flags = O_WRONLY | (s->journal ? O_APPEND : 0);
	int path, failed;

	if (among_devices(dir))
		return not_a_sink(f, s, "is in the device file system");
	do {
		path = openat(dir, base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (path < 0 && errno != ENOENT)
			return sink_errno(f, s, errno);
		failed = path < 0 ? open_new(s, o, dir, base, flags, f) :
		    open_old(s, o, path, flags, f);
	} while (path < 0 && failed != 0 && f->status == status_errno(EEXIST));
	if (path >= 0)
		close(path);
	return failed;
}

static int
sink_open_named(struct sink *s, const struct opts *o, struct fault *f)
{
	const char *base;
	int dir = path_dir(s->name, O_PATH, &base), failed;

	if (dir < 0 && errno == ENOENT)
		return path_no_dir(s->name, s->key, s->name, f);
	if (dir < 0)
		return sink_errno(f, s, errno);
	s->named = true;
	failed = open_in(s, o, dir, base, f);
	close(dir);
	return failed;
}

/* - or a number is a descriptor; so is what a shell makes of >(command). */
static bool
sink_descriptor(const char *name, long *fd)
{
	static const char directory[] = "/dev/fd/";
	size_t skip = sizeof(directory) - 1;

	if (strcmp(name, "/dev/stdout") == 0 || strcmp(name, "-") == 0)
		name = "1";
	else if (strcmp(name, "/dev/stderr") == 0)
		name = "2";
	else if (strncmp(name, directory, skip) == 0)
		name += skip;
	if (*name == '\0' || name[strspn(name, "0123456789")] != '\0')
		return false;
	*fd = strtol(name, NULL, 10);	/* LONG_MAX if it is too large */
	return true;
}

int
sink_open(struct sink *s, const struct opts *o, struct fault *f)
{
	long fd;
	int failed = !s->journal && sink_descriptor(s->name, &fd) ?
	    sink_inherit(s, o, fd, f) : sink_open_named(s, o, f);

	if (failed != 0)
		sink_close(s);
	return failed;
}

bool
sink_room(const struct sink *s, int patience)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };
	int got;

	do
		got = poll(&p, 1, patience);
	while (got < 0 && errno == EINTR);
	return got != 0;
}

/* Remove part of a line, unless someone has written after it. */
static void
sink_take_back(const struct sink *s, size_t n)
{
	off_t end = lseek(s->fd, 0, SEEK_CUR), start = end - (off_t)n;
	struct stat st;

	if (n > 0 && start >= 0 && fstat(s->fd, &st) == 0 &&
	    st.st_size == end && ftruncate(s->fd, start) == 0)
		(void)lseek(s->fd, start, SEEK_SET);
}

/* A line into a pipe: returns 0 or an errno value. */
static int
sink_pour(const struct sink *s, const char *line, size_t len, int patience)
{
	ssize_t n;

	for (; len > 0; line += n, len -= (size_t)n) {
		if (!sink_room(s, patience))
			return ETIMEDOUT;
		n = write(s->fd, line, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno != EINTR)
			return errno;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

struct sink_line {		/* a line into a file, on its way */
	struct sink	 s;
	size_t		 len;
	int		 err;
	char		 text[];
};

/* An errand: the file system may not answer. */
static void
sink_write(void *arg)
{
	struct sink_line *l = arg;
	size_t done = 0;
	ssize_t n;

	while (done < l->len && l->err == 0) {
		n = write(l->s.fd, l->text + done, l->len - done);
		if (n < 0 && errno != EINTR)
			l->err = errno;
		done += n > 0 ? (size_t)n : 0;
	}
	if (l->err != 0)
		sink_take_back(&l->s, done);
}

static bool
sink_stays(void *unused)
{
	(void)unused;
	return !signals_pending();
}

/*
 * An errand for a file, with a copy of what it uses.  What still waits when a
 * signal arrives is left, and the file with it.
 */
static int
sink_attend(struct sink *s, void (*run)(void *), const char *line, size_t len)
{
	struct sink_line *l = malloc(sizeof(*l) + len);
	int err;

	if (l == NULL)
		return ENOMEM;
	*l = (struct sink_line){ .s = *s, .len = len };
	memcpy(l->text, line, len);
	if (!errand_attend(run, l, sink_stays, NULL)) {
		s->fd = -1;
		return ETIMEDOUT;
	}
	err = l->err;
	free(l);
	return err;
}

int
sink_put(struct sink *s, const char *line, size_t len, int patience)
{
	return s->regular ? sink_attend(s, sink_write, line, len) :
	    sink_pour(s, line, len, patience);
}

static void
sink_end(void *arg)
{
	struct sink_line *l = arg;

	l->err = close(l->s.fd) != 0 ? errno : 0;
}

int
sink_close(struct sink *s)
{
	int err = s->named && s->fd >= 0 ? sink_attend(s, sink_end, "", 0) : 0;

	s->fd = -1;
	return err;
}
