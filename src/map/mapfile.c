/*
 * ddrescue map files.  "#" begins a comment.  The first other line is the
 * status line, "pos status [pass]"; each line after it is "pos size status".
 * Numbers are decimal, hex (0x) or octal (0).  Blocks adjoin; everything before
 * the first and after the last one is untried.
 *
 * A map is never overwritten: at any moment there is a complete one.
 */
#include "map/mapfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/status.h"

enum { DIGITS = 64 };		/* enough for any number */

static const char source_mark[] = MAP_SOURCE_MARK;
static const char target_mark[] = "# pardd target: ";
static const char no_memory[] = "does not fit in memory";

static bool
is_comment(const char *line)
{
	line += strspn(line, " \t\r\v\f");
	return *line == '#' || *line == '\0';
}

/* Read a number at *s, and skip the blanks after it. */
static bool
mapfile_number(const char **s, uint64_t *value)
{
	char *end;

	*s += strspn(*s, " \t");
	if (!isdigit((unsigned char)**s))
		return false;
	errno = 0;
	*value = strtoull(*s, &end, 0);
	if (errno != 0 || end - *s > DIGITS ||
	    (*end != '\0' && !isspace((unsigned char)*end)))
		return false;
	*s = end + strspn(end, " \t");
	return true;
}

static bool
one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* Read "pos status [pass]". */
static bool
read_status(struct mapfile *m, const char *s)
{
	uint64_t pass = 1;

	if (!mapfile_number(&s, &m->pos) || !one_of(*s, "?*/-F+G"))
		return false;
	m->phase = *s++;
	s += strspn(s, " \t\r");
	if (*s == '\0') {
		m->pass = 1;
		return true;
	}
	if (*s < '1' || *s > '9' || !mapfile_number(&s, &pass))
		return false;
	m->pass = pass > INT32_MAX ? INT32_MAX : (int64_t)pass;
	return true;
}

int
mapfile_append(struct mapfile *m, const struct seg *s)
{
	struct seg *grown;

	if (m->n > 0 && m->seg[m->n - 1].status == s->status) {
		m->seg[m->n - 1].len += s->len;
		return 0;
	}
	if (m->n == m->room) {
		m->room = m->room == 0 ? 64 : m->room * 2;
		grown = reallocarray(m->seg, m->room, sizeof(*grown));
		if (grown == NULL)
			return ENOMEM;
		m->seg = grown;
	}
	m->seg[m->n++] = *s;
	return 0;
}

/* Read "pos size status". */
static const char *
mapfile_read_block(struct mapfile *m, const char *s)
{
	uint64_t end = m->n == 0 ? 0 : m->seg[m->n - 1].off +
	    m->seg[m->n - 1].len;
	struct seg seg, gap = { end, 0, UNTRIED };

	if (!mapfile_number(&s, &seg.off) || seg.off > INT64_MAX ||
	    !mapfile_number(&s, &seg.len))
		return "is not a block";
	if (!one_of(*s, "?*/-+"))
		return "has an unknown status";
	seg.status = (enum seg_status)*s;
	if (seg.len > INT64_MAX - seg.off)
		seg.len = INT64_MAX - seg.off;
	if (m->n > 0 && (seg.off < end || (seg.off > end && !m->loose) ||
	    seg.len == 0))
		return "does not adjoin the one before (domain= may have gaps "
		    "with rescue=loosedomain)";
	if (seg.len == 0)
		return NULL;
	gap.len = seg.off - end;
	if (m->n > 0 && gap.len > 0 && mapfile_append(m, &gap) != 0)
		return no_memory;
	return mapfile_append(m, &seg) == 0 ? NULL : no_memory;
}

/* Keep the text after a mark, of the first such line; false: no memory. */
static bool
mapfile_note(char **to, const char *mark, const char *line)
{
	size_t n = strlen(mark);

	if (*to != NULL || strncmp(line, mark, n) != 0)
		return true;
	*to = strdup(line + n);
	return *to != NULL;
}

static const char *
read_line(struct mapfile *m, char *line, size_t len, bool *have_status)
{
	if (strlen(line) != len)
		return "has a zero byte";
	line[strcspn(line, "\r\n")] = '\0';
	if (!mapfile_note(&m->source, source_mark, line) ||
	    !mapfile_note(&m->target, target_mark, line))
		return no_memory;
	if (is_comment(line))
		return NULL;
	if (*have_status)
		return mapfile_read_block(m, line);
	*have_status = true;
	return read_status(m, line) ? NULL : "is not a status line";
}

static int
mapfile_read_lines(struct mapfile *m, FILE *in, const char *path,
    struct fault *f)
{
	const char *wrong = NULL;
	bool have_status = false;
	char *line = NULL;
	size_t room = 0;
	unsigned n = 0;
	ssize_t len;
	int err;

	while (wrong == NULL && (len = getline(&line, &room, in)) >= 0) {
		n++;
		wrong = read_line(m, line, (size_t)len, &have_status);
	}
	err = errno;
	free(line);
	if (wrong == no_memory)
		return fault_errno(f, ENOMEM, "%s", path);
	if (wrong != NULL)
		return fault_set(f, STATUS_REFUSED,
		    "%s is not a map: line %u %s; if it is damaged, "
		    "%s.bak is the one before", path, n, wrong, path);
	if (feof(in) == 0)		/* a read error: the rest is unknown */
		return fault_errno(f, err, "%s", path);
	return 0;
}

int
mapfile_load(struct mapfile *m, const char *path, bool loose, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	FILE *in;
	int failed;

	*m = (struct mapfile){ .phase = '?', .pass = 1, .loose = loose };
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return fault_set(f, status_errno(ELOOP), "%s is a symbolic "
		    "link, which map= does not follow", path);
	if (fd < 0)
		return fault_errno(f, errno, "%s", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return fault_set(f, STATUS_REFUSED,
		    "%s is not a regular file, and so not a map", path);
	}
	in = fdopen(fd, "r");
	if (in == NULL) {
		close(fd);
		return fault_errno(f, ENOMEM, "%s", path);
	}
	failed = mapfile_read_lines(m, in, path, f);
	fclose(in);
	return failed;
}

void
mapfile_free(struct mapfile *m)
{
	free(m->seg);
	free(m->source);
	free(m->target);
	m->seg = NULL;
	m->source = m->target = NULL;
}

static void
mapfile_write_head(const struct mapfile *m, const char *phase_text, FILE *out)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32];

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(out, "# Mapfile. Created by pardd\n");
	if (m->source != NULL)
		fprintf(out, "%s%s\n", source_mark, m->source);
	if (m->target != NULL)
		fprintf(out, "%s%s\n", target_mark, m->target);
	fprintf(out, "# Current time: %s\n# %s\n"
	    "# current_pos  current_status  current_pass\n"
	    "0x%08llX     %c               %lld\n"
	    "#      pos        size  status\n", when, phase_text,
	    (ull)m->pos, m->phase, (long long)m->pass);
}

static void
write_last(struct mapfile_out *o)
{
	if (o->last.len > 0)
		fprintf(o->out, "0x%08llX  0x%08llX  %c\n", (ull)o->last.off,
		    (ull)o->last.len, o->last.status);
}

void
mapfile_put(struct mapfile_out *o, const struct seg *s)
{
	if (s->len == 0)
		return;
	if (o->last.len > 0 && o->last.status == s->status) {
		o->last.len += s->len;
		return;
	}
	write_last(o);
	o->last = *s;
}

/* Write a map as it was read. */
static void
put_own(struct mapfile_out *o, const void *arg)
{
	const struct mapfile *m = arg;
	size_t i;

	for (i = 0; i < m->n; i++)
		mapfile_put(o, &m->seg[i]);
}

/* Write and lock a file that is to become the map; *fresh is left open. */
static int
write_open(struct mapfile_form *form, int fd, int *fresh)
{
	struct mapfile_out o = { .out = fdopen(fd, "w") };
	int err = 0;

	*fresh = -1;
	if (o.out == NULL) {
		close(fd);
		return ENOMEM;
	}
	mapfile_write_head(form->head, form->phase_text, o.out);
	form->fill(&o, form->arg);
	write_last(&o);
	if (fflush(o.out) != 0 || ferror(o.out) != 0 || fsync(fd) != 0)
		err = errno != 0 ? errno : EIO;
	if (err == 0) {
		*fresh = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (*fresh < 0)
			err = errno;
	}
	if (fclose(o.out) != 0 && err == 0)
		err = errno;
	if (err == 0)			/* some file systems have no locks */
		flock(*fresh, LOCK_EX | LOCK_NB);
	else if (*fresh >= 0)
		close(*fresh);
	return err;
}

struct names {			/* in the directory of the map */
	int		 dir;
	const char	*path, *base;	/* for messages; of the map */
	char		 temporary[NAME_MAX + 1], backup[NAME_MAX + 1];
};

static int
names_of(struct names *at, int dir, const char *path, struct fault *f)
{
	at->dir = dir;
	at->path = path;
	at->base = path_base(path);
	if (snprintf(at->temporary, sizeof(at->temporary), "%s" TEMPORARY,
	    at->base) <= NAME_MAX && snprintf(at->backup, sizeof(at->backup),
	    "%s.bak", at->base) <= NAME_MAX)
		return 0;
	return fault_errno(f, ENAMETOOLONG, "%s", path);
}

/*
 * Write a new file beside the map, and flush it.  Returns 0 or an errno value.
 */
static int
try_temporary(struct mapfile_form *form, const struct names *at, int *fresh)
{
	int fd, err;

	unlinkat(at->dir, at->temporary, 0);	/* left by a run that was
						 * killed */
	fd = openat(at->dir, at->temporary, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	err = fd < 0 ? errno : write_open(form, fd, fresh);
	if (err != 0 && fd >= 0)
		unlinkat(at->dir, at->temporary, 0);
	return err;
}

/* If the disk is too full for three maps, remove the previous one. */
static int
write_temporary(struct mapfile_form *form, const struct names *at, int *fresh,
    struct fault *f)
{
	int err = try_temporary(form, at, fresh);

	if ((err == ENOSPC || err == EDQUOT) &&
	    unlinkat(at->dir, at->backup, 0) == 0)
		err = try_temporary(form, at, fresh);
	return err == 0 ? 0 : fault_errno(f, err, "%s" TEMPORARY
	    ": writing the map", at->path);
}

/* Whether a map is empty; then it is not worth keeping. */
static bool
is_empty(const struct names *at)
{
	struct stat st;

	return fstatat(at->dir, at->base, &st, 0) == 0 && st.st_size == 0;
}

/*
 * Rename the new file to the map, and the old map to path.bak.  Some file
 * systems have no hard links, and then there is no path.bak; the map itself
 * matters more.
 */
static int
mapfile_replace(const struct names *at, bool blank, struct fault *f)
{
	if (!blank && !is_empty(at)) {
		unlinkat(at->dir, at->backup, 0);
		(void)!linkat(at->dir, at->base, at->dir, at->backup, 0);
	}
	if (renameat(at->dir, at->temporary, at->dir, at->base) != 0)
		return fault_errno(f, errno, "%s", at->path);
	return 0;
}

int
mapfile_save_by(struct mapfile_form *form, const char *path, struct fault *f)
{
	struct names at;
	int fresh = -1;

	if (names_of(&at, form->dir, path, f) != 0 ||
	    write_temporary(form, &at, &fresh, f) != 0)
		return -1;
	if (mapfile_replace(&at, form->blank, f) != 0) {
		close(fresh);
		unlinkat(at.dir, at.temporary, 0);
		return -1;
	}
	if (form->lock >= 0)
		close(form->lock);
	form->lock = fresh;
	if (fsync(at.dir) != 0 && errno != EINVAL)
		return fault_errno(f, errno, "%s: its directory", path);
	return 0;
}

int
mapfile_try(struct mapfile_form *form, const char *path, struct fault *f)
{
	struct names at;
	int fresh = -1;

	if (names_of(&at, form->dir, path, f) != 0 ||
	    write_temporary(form, &at, &fresh, f) != 0)
		return -1;
	close(fresh);
	unlinkat(at.dir, at.temporary, 0);
	return 0;
}

int
mapfile_save(const struct mapfile *m, const char *path,
    const char *phase_text, struct fault *f)
{
	struct mapfile_form form = { .head = m, .phase_text = phase_text,
		.fill = put_own, .arg = m, .lock = -1 };
	const char *base;
	int failed;

	form.dir = path_dir(path, O_RDONLY, &base);
	if (form.dir < 0)
		return fault_errno(f, errno, "%s", path);
	failed = mapfile_save_by(&form, path, f);
	close(form.dir);
	if (form.lock >= 0)
		close(form.lock);
	return failed;
}
