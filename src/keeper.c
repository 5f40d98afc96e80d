/*
 * The keeper of the map.  It loads what is known from runs before, refuses a
 * map that is another disk's, and saves what has become of it: every
 * mapinterval= seconds, at once when the copy is being stopped, and at the end.
 *
 * What a saved map says is finished was flushed before.  An error of an earlier
 * write is told once, to whoever asks first, and the flush after it succeeds.
 * So the first that fails at the target sets job->doubt before it stops the
 * copy; that is the end of all saving, and the file stays as it was.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "job.h"
#include "rescue.h"
#include "safety.h"
#include "status.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* Text from outside must not make lines of its own. */
static void
append_text(char *to, size_t room, const char *key, const char *value)
{
	size_t n = strlen(to);

	n += (size_t)snprintf(to + n, room - n, "%s%s=", n > 0 ? " " : "", key);
	for (; *value != '\0' && n + 5 < room; value++)
		n += (size_t)snprintf(to + n, room - n,
		    *value > ' ' && *value < 0x7f ? "%c" : "\\x%02X",
		    (unsigned char)*value);
}

static void
name_source(struct keeper *k, const struct plan *p)
{
	char text[32];
	struct disk d;

	k->source[0] = '\0';
	snprintf(text, sizeof(text), "%lld", (long long)p->src->size);
	append_text(k->source, sizeof(k->source), "size", text);
	snprintf(text, sizeof(text), "%u", p->src->block);
	append_text(k->source, sizeof(k->source), "block", text);
	if (!endpoint_disk(p->src, &d))
		return;
	append_text(k->source, sizeof(k->source), "serial", d.serial);
	append_text(k->source, sizeof(k->source), "wwn", d.wwn);
}

/* Put what the file says of the range of this copy into the map. */
static int
apply(struct job *job, const struct mapfile *m)
{
	uint64_t from = job->p->src_off, to = from + job->p->length, a, b;
	size_t i;

	for (i = 0; i < m->n; i++) {
		const struct seg *s = &m->seg[i];

		a = s->off > from ? s->off : from;
		b = s->off + s->len < to ? s->off + s->len : to;
		if (a < b && map_set(&job->map, a - from, b - a,
		    s->status) != 0)
			return ENOMEM;
	}
	return 0;
}

/* Take out of the map what the domain does not call finished. */
static int
limit(struct job *job, const struct mapfile *domain)
{
	uint64_t from = job->p->src_off, to = from + job->p->length, at = from;
	uint64_t a;
	size_t i;

	for (i = 0; i <= domain->n && at < to; i++) {
		const struct seg *s = &domain->seg[i];

		if (i < domain->n && s->status != FINISHED)
			continue;
		a = i == domain->n || s->off > to ? to : s->off;
		if (a > at && map_set(&job->map, at - from, a - at,
		    OUTSIDE) != 0)
			return ENOMEM;
		if (i < domain->n && s->off + s->len > at)
			at = s->off + s->len;
	}
	return 0;
}

static int
apply_domain(struct job *job, struct fault *f)
{
	const char *path = job->p->opts->domain;
	struct mapfile domain;
	int failed;

	if (path == NULL)
		return 0;
	failed = mapfile_load(&domain, path, f);
	if (failed == 0 && domain.n == 0)
		failed = fault_set(f, STATUS_REFUSED,
		    "%s does not exist, or says nothing", path);
	if (failed == 0 && limit(job, &domain) != 0)
		failed = fault_errno(f, ENOMEM, "%s", path);
	mapfile_free(&domain);
	return failed;
}

/* A mistyped map must not become a file among the devices either. */
static int
check_folder(const char *path, struct fault *f)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int dir, among;

	if (slash != NULL)
		snprintf(folder, sizeof(folder), "%.*s",
		    slash == path ? 1 : (int)(slash - path), path);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fault_errno(f, errno, "%s", path);
	among = among_devices(dir);
	close(dir);
	return !among ? 0 : fault_set(f, STATUS_REFUSED,
	    "%s: no file is created among the devices", path);
}

/* A map that knows more than there is, or of another disk, is another's. */
static int
check(const struct keeper *k, const struct job *job, struct fault *f)
{
	const struct plan *p = job->p;
	const char *path = p->opts->map;
	bool finished = false;
	uint64_t end = 0;
	size_t i;

	if (k->file.source != NULL && strcmp(k->file.source, k->source) != 0)
		return fault_set(f, STATUS_REFUSED, "%s is the map of another "
		    "source: %s; this one is: %s", path, k->file.source,
		    k->source);
	for (i = 0; i < k->file.n; i++)
		if (k->file.seg[i].status != UNTRIED) {
			end = k->file.seg[i].off + k->file.seg[i].len;
			finished |= k->file.seg[i].status == FINISHED;
		}
	if (end > (uint64_t)p->src->size)
		return fault_set(f, STATUS_REFUSED, "%s goes past the end of "
		    "%s: it is the map of another source", path,
		    p->src->name);
	if (finished && p->dst->absent)
		return fault_set(f, STATUS_REFUSED, "%s says that parts are "
		    "finished, but %s does not exist", path, p->dst->name);
	return 0;
}

/* Whether a file is the end; one that is to be created goes by its folder. */
static bool
is_end(const char *path, const struct endpoint *ep)
{
	const char *slash = strrchr(path, '/');
	const char *base = strrchr(ep->name, '/');
	size_t len = slash == NULL ? 1 : (size_t)(slash - path) + 1;
	char folder[PATH_MAX];
	struct stat a, b;

	if (!ep->absent)
		return ep->id.known && lstat(path, &a) == 0 &&
		    a.st_dev == ep->id.dev && a.st_ino == ep->id.ino;
	snprintf(folder, sizeof(folder), "%.*s", (int)len,
	    slash == NULL ? "." : path);
	return strcmp(slash == NULL ? path : slash + 1,
	    base == NULL ? ep->name : base + 1) == 0 &&
	    stat(folder, &a) == 0 && fstat(ep->dir, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Saving the map must not replace what is copied. */
static int
own_files(const struct plan *p, struct fault *f)
{
	static const char *const suffix[] = { "", ".tmp", ".bak" };
	const struct endpoint *ends[] = { p->src, p->dst };
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < 2 * COUNT(suffix); i++)
		if (snprintf(path, sizeof(path), "%s%s", p->opts->map,
		    suffix[i / 2]) < PATH_MAX && is_end(path, ends[i % 2]))
			return fault_set(f, STATUS_REFUSED, "%s is an end of "
			    "the copy: map= needs it for the map", path);
	return 0;
}

static int
add(struct mapfile *m, uint64_t off, uint64_t to, enum seg_status status)
{
	struct seg s = { off, to - off, status };

	return off < to ? mapfile_append(m, &s) : 0;
}

/* What the file said before, between two positions. */
static int
add_before(struct mapfile *m, const struct mapfile *old, uint64_t from,
    uint64_t to)
{
	uint64_t at = from, a, b;
	size_t i;

	for (i = 0; i < old->n && at < to; i++) {
		const struct seg *s = &old->seg[i];

		a = s->off > at ? s->off : at;
		b = s->off + s->len < to ? s->off + s->len : to;
		if (a >= b)
			continue;
		if (add(m, at, a, UNTRIED) != 0 ||
		    add(m, a, b, s->status) != 0)
			return ENOMEM;
		at = b;
	}
	return add(m, at, to, UNTRIED);
}

/* The whole map in the source's positions: before, within, behind the copy. */
static int
compose(struct job *job, const struct seg *seg, size_t n, struct mapfile *m)
{
	const struct mapfile *old = &job->rescue->keeper.file;
	uint64_t from = job->p->src_off, to = from + job->p->length;
	uint64_t end = (uint64_t)job->p->src->size;
	size_t i;

	if (add_before(m, old, 0, from) != 0)
		return ENOMEM;
	for (i = 0; i < n; i++) {
		uint64_t a = from + seg[i].off, b = a + seg[i].len;

		if ((seg[i].status == OUTSIDE ? add_before(m, old, a, b) :
		    add(m, a, b, seg[i].status)) != 0)
			return ENOMEM;
	}
	return add_before(m, old, to, end > to ? end : to);
}

static int
write_map(struct job *job, const struct seg *seg, size_t n, struct fault *f)
{
	struct keeper *k = &job->rescue->keeper;
	struct mapfile m = { .source = k->source };
	const char *text = rescue_where(job, &m);
	int failed;

	if (compose(job, seg, n, &m) != 0)
		failed = fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	else
		failed = mapfile_save(&m, job->p->opts->map, text, f);
	m.source = NULL;
	mapfile_free(&m);
	return failed;
}

/* Before the first byte is copied there is nothing to flush. */
static int
write_first(struct job *job, struct fault *f)
{
	struct seg *seg;
	size_t n = map_copy(&job->map, &seg);
	int failed;

	if (seg == NULL)
		return fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	failed = write_map(job, seg, n, f);
	free(seg);
	return failed;
}

/* The target is not to be trusted; told: *f is why. */
static int
doubt(struct job *job, bool told, struct fault *f)
{
	if (!told)
		fault_set(f, STATUS_NOT_FLUSHED, "%s failed before, and %s "
		    "was left as it was", job->p->dst->name,
		    job->p->opts->map);
	f->status = STATUS_NOT_FLUSHED;
	job->doubt = true;
	return -1;
}

int
keeper_save(struct job *job, struct fault *f)
{
	struct seg *seg;
	size_t n = map_copy(&job->map, &seg);
	bool unflushed;
	int err;

	if (seg == NULL)
		return fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	unflushed = !job->doubt && endpoint_flush(job->p->dst, f) != 0;
	if (unflushed || job->doubt)
		err = doubt(job, unflushed, f);
	else
		err = write_map(job, seg, n, f);
	free(seg);
	return err;
}

static void *
keep(void *arg)
{
	struct job *job = arg;
	struct pollfd p[2] = { { .fd = job->rescue->keeper.quit,
		.events = POLLIN }, { .fd = job->halt, .events = POLLIN } };
	int wait = (int)job->p->opts->mapinterval * 1000, n;
	struct fault f;

	for (;;) {
		n = poll(p, 2, wait);
		if (n < 0)
			continue;
		if (p[0].revents != 0)
			return NULL;
		if (n > 0)
			p[1].fd = -1;	/* stopped: once is enough */
		if (keeper_save(job, &f) != 0)
			job_fail(job, &f);
	}
}

void
keeper_start(struct job *job)
{
	struct keeper *k = &job->rescue->keeper;
	struct fault f;
	int err = pthread_create(&k->thread, NULL, keep, job);

	k->runs = err == 0;
	if (k->runs)
		return;
	fault_errno(&f, err, "starting what saves the map");
	job_fail(job, &f);
}

void
keeper_stop(struct job *job)
{
	static const uint64_t one = 1;
	struct keeper *k = &job->rescue->keeper;

	while (write(k->quit, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	if (k->runs)
		pthread_join(k->thread, NULL);
}

int
keeper_begin(struct keeper *k, struct job *job, struct fault *f)
{
	const struct plan *p = job->p;

	name_source(k, p);
	k->quit = eventfd(0, EFD_CLOEXEC);
	if (k->quit < 0)
		return fault_errno(f, errno, "eventfd");
	if (check_folder(p->opts->map, f) != 0 || own_files(p, f) != 0 ||
	    mapfile_load(&k->file, p->opts->map, f) != 0 ||
	    check(k, job, f) != 0)
		return -1;
	if (apply(job, &k->file) != 0)
		return fault_errno(f, ENOMEM, "%s", p->opts->map);
	if (apply_domain(job, f) != 0)
		return -1;
	return write_first(job, f);
}

void
keeper_free(struct keeper *k)
{
	if (k->quit >= 0)
		close(k->quit);
	mapfile_free(&k->file);
}
