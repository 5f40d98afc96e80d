/*
 * Loading the map of a rescue.  A map of another source, or for another target,
 * is refused.  What the file says about the range of this copy goes into the
 * map of the copy, without what domain= and used= leave out.
 */
#include "maploader.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/escape.h"
#include "base/status.h"
#include "disk/disk.h"
#include "part/used.h"

/* When a source file was written, at the end of the source's identity. */
static const char modified_mark[] = " modified=";

enum { ADAPTER_PART = 1000 };	/* of a disk: one of these may be hidden */

/* Append a value from outside; it must not start a new line. */
static void
append_text(char *to, size_t room, const char *key, const char *value)
{
	size_t n = strlen(to);

	n += (size_t)snprintf(to + n, room - n, "%s%s=", n > 0 ? " " : "", key);
	if (n < room)
		escape_word(to + n, to + room, value);
}

static void
append_number(char *to, size_t room, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	append_text(to, room, key, text);
}

/*
 * Name the source.  Positions are those of the disk with ipart=, else of the
 * node.  The time is that of the opening, for what is written during the run.
 */
static void
name_source(struct mapsaver *ms, const struct plan *p)
{
	const size_t room = sizeof(ms->source);
	struct disk d = { .partition = 0 };
	bool disk = endpoint_disk(p->src, &d);
	struct timespec t;
	size_t n;

	ms->source[0] = '\0';
	append_number(ms->source, room, "size", (uint64_t)p->src->geo.size);
	append_number(ms->source, room, "block", p->src->geo.block);
	if (p->src->lim.part > 0)
		append_number(ms->source, room, "part", p->src->lim.part);
	if (d.partition > 0)
		append_number(ms->source, room, "start", d.start);
	if (disk) {
		append_text(ms->source, room, "serial", d.serial);
		append_text(ms->source, room, "wwn", d.wwn);
	} else if (endpoint_written(p->src, &t) == 0) {
		n = strlen(ms->source);
		snprintf(ms->source + n, room - n, "%s%lld.%09ld",
		    modified_mark, (long long)t.tv_sec, t.tv_nsec);
	}
}

/* Compare two without the time: whether they are the same. */
static bool
same_source(const char *was, const char *is, bool *modified)
{
	const char *a = strstr(was, modified_mark);
	const char *b = strstr(is, modified_mark);
	size_t n = a != NULL ? (size_t)(a - was) : strlen(was);

	*modified = a != NULL && b != NULL && strcmp(a, b) != 0;
	return n == (b != NULL ? (size_t)(b - is) : strlen(is)) &&
	    memcmp(was, is, n) == 0;
}

/* Name the target: where the source's bytes lie, and on which disk. */
static void
name_target(struct mapsaver *ms, const struct plan *p)
{
	const size_t room = sizeof(ms->target);
	struct disk d;

	if (p->dst->kind == END_DISCARD) {
		strlcpy(ms->target, MAP_DISCARDED, room);
		return;
	}
	snprintf(ms->target, room, "offset=%lld",
	    (long long)(p->dst_off - p->src_off));
	if (!endpoint_disk(p->dst, &d) ||
	    (d.serial[0] == '\0' && d.wwn[0] == '\0'))
		return;
	append_text(ms->target, room, "serial", d.serial);
	append_text(ms->target, room, "wwn", d.wwn);
	if (d.partition > 0)
		append_number(ms->target, room, "start", d.start);
}

/* An end without a serial number may be an image of one that has it. */
static bool
same_target(const char *was, const char *is)
{
	size_t n = strcspn(was, " ");

	if (was[n] != '\0' && strchr(is, ' ') != NULL)
		return strcmp(was, is) == 0;
	return n == strcspn(is, " ") && memcmp(was, is, n) == 0;
}

/* An identity without fields that are empty, such as " serial=", and time. */
static const char *
words_known(char *text, size_t room, const char *identity)
{
	size_t n = 0, len;

	text[0] = '\0';
	for (; *identity != '\0'; identity += len) {
		identity += strspn(identity, " ");
		len = strcspn(identity, " ");
		if (len > 0 && identity[len - 1] != '=' && n < room &&
		    strncmp(identity, modified_mark + 1,
		    sizeof(modified_mark) - 2) != 0)
			n += (size_t)snprintf(text + n, room - n, "%s%.*s",
			    n > 0 ? " " : "", (int)len, identity);
	}
	return text;
}

/*
 * A run that ends normally records when the target was last written, at the end
 * of the target's identity; a run that is killed while it writes does not.
 */
static const char date_mark[] = " written=";

int
maploader_date(struct mapsaver *ms, const struct plan *p, struct fault *f)
{
	size_t n = strlen(ms->target);
	struct timespec t;
	int err = endpoint_written(p->dst, &t);

	if (err == 0)
		snprintf(ms->target + n, sizeof(ms->target) - n, "%s%lld.%09ld",
		    date_mark, (long long)t.tv_sec, t.tv_nsec);
	return err == 0 || err == EOPNOTSUPP ? 0 :
	    fault_errno(f, err, "%s: flushing", p->dst->name);
}

/*
 * Remove the date again, and compare.  A target that is older was put back to a
 * state without the last writes.  An error of the flush is told only once, so
 * none that comes later would tell of it.
 */
static int
maploader_since(struct mapsaver *ms, const struct plan *p, bool *since,
    struct fault *f)
{
	const struct endpoint *dst = p->dst;
	char *at = NULL, *end;
	struct timespec is;
	long long sec;
	long nsec;
	int err;

	*since = false;
	if (ms->file.target != NULL)
		at = strstr(ms->file.target, date_mark);
	ms->dated = at != NULL;
	if (at == NULL)
		return 0;
	*at = '\0';
	sec = strtoll(at + sizeof(date_mark) - 1, &end, 10);
	nsec = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	err = dst->is.absent ? EOPNOTSUPP : endpoint_written(dst, &is);
	*since = err == 0 && (is.tv_sec != sec || is.tv_nsec != nsec);
	return err == 0 || err == EOPNOTSUPP ? 0 : fault_errno(f, err, "%s may "
	    "have lost what %s calls finished: flushing it", dst->name,
	    p->opts->map);
}

/* The size of a whole disk; 0: it is not one, or unknown. */
static uint64_t
disk_size(const char *identity)
{
	if (strncmp(identity, "size=", 5) != 0 ||
	    strstr(identity, " serial=") == NULL ||
	    strstr(identity, " start=") != NULL)
		return 0;
	return strtoull(identity + 5, NULL, 10);
}

/*
 * Whether both may be the same disk, behind adapters.  These have serial
 * numbers and blocks of their own, and some hide the end of the disk.
 */
static bool
maybe_adapter(const char *was, const char *is)
{
	const char *serial[2] = { strstr(was, " serial="),
		strstr(is, " serial=") };
	uint64_t a = disk_size(was), b = disk_size(is);

	if (a > 0 && b > 0)
		return (a > b ? a - b : b - a) <= a / ADAPTER_PART;
	return serial[0] != NULL && serial[1] != NULL &&
	    serial[0] - was == serial[1] - is &&
	    memcmp(was, is, (size_t)(serial[0] - was)) == 0;
}

/* Advice for a map of "was" when the source is "is". */
static const char *
maploader_advice(const char *was, const char *is)
{
	if (strstr(was, " part=") != NULL || strstr(is, " part=") != NULL)
		return "; a partition (ipart=) has a map of its own";
	if (maybe_adapter(was, is))
		return "; if it is the same disk behind another adapter, "
		    "remove the line \"# pardd source\" from the map";
	return "; name another map";
}

/* Set the status of that part of a range of the source that is copied. */
static int
maploader_set(const struct plan *p, struct map *map, const struct seg *s,
    enum seg_status status)
{
	uint64_t from = p->src_off, off = MAX(s->off, from);
	uint64_t end = MIN(s->off + s->len, from + p->length);

	return off < end ? map_set(map, off - from, end - off, status) : 0;
}

/* Copy what the file says about the range of this copy into the map. */
static int
maploader_apply(const struct plan *p, struct map *map, const struct mapfile *m)
{
	int err = 0;
	size_t i;

	for (i = 0; i < m->n && err == 0; i++)
		err = maploader_set(p, map, &m->seg[i], m->seg[i].status);
	return err;
}

/*
 * Block i of the map; everything before the first and after the last is
 * untried.
 */
static struct seg
block_of(const struct mapfile *m, size_t i)
{
	uint64_t first = m->seg[0].off, end;

	if (i == 0)
		return (struct seg){ 0, first, UNTRIED };
	if (i <= m->n)
		return m->seg[i - 1];
	end = m->seg[m->n - 1].off + m->seg[m->n - 1].len;
	return (struct seg){ end, UINT64_MAX - end, UNTRIED };
}

/* Leave out what has none of the statuses wanted. */
static int
maploader_limit(const struct plan *p, struct map *map,
    const struct mapfile *domain)
{
	const char *types = p->opts->domaintypes;
	int err = 0;
	size_t i;

	for (i = 0; i <= domain->n + 1 && err == 0; i++) {
		struct seg s = block_of(domain, i);

		if (strchr(types != NULL ? types : "+", (int)s.status) == NULL)
			err = maploader_set(p, map, &s, OUTSIDE);
	}
	return err;
}

static int
apply_domain(const struct plan *p, struct map *map, struct fault *f)
{
	const char *path = p->opts->domain;
	struct mapfile domain;
	int failed;

	if (path == NULL)
		return 0;
	failed = mapfile_load(&domain, path,
	    (p->opts->rescue & RESCUE_LOOSE) != 0, f);
	if (failed == 0 && domain.n == 0)
		failed = fault_set(f, STATUS_REFUSED,
		    "%s does not exist, or is empty", path);
	if (failed == 0 && maploader_limit(p, map, &domain) != 0)
		failed = fault_errno(f, ENOMEM, "%s", path);
	mapfile_free(&domain);
	return failed;
}

/* Keep the loaded map only outside the copy. */
static void
forget_inside(struct mapsaver *ms, const struct plan *p)
{
	if (p->opts->domain != NULL || p->used != NULL || p->src_off > 0 ||
	    p->length < (uint64_t)p->src->geo.size ||
	    mapfile_end(&ms->file) > p->length)
		return;
	free(ms->file.seg);
	ms->file.seg = NULL;
	ms->file.n = ms->file.room = 0;
}

/* How far the target must reach for all that is finished. */
static uint64_t
finished_to(const struct mapsaver *ms, const struct plan *p)
{
	uint64_t from = p->src_off, to = from + p->length, end = 0;
	size_t i;

	for (i = 0; i < ms->file.n; i++) {
		const struct seg *s = &ms->file.seg[i];

		if (s->status == FINISHED && s->off < to &&
		    s->off + s->len > from)
			end = (s->off + s->len < to ? s->off + s->len : to) -
			    from + p->dst_off;
	}
	return end;
}

/* The end of the last range that is not untried. */
static uint64_t
tried_to(const struct mapfile *m)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->seg[i].status != UNTRIED)
			end = m->seg[i].off + m->seg[i].len;
	return end;
}

static bool
any_finished(const struct mapfile *m)
{
	size_t i = 0;

	while (i < m->n && m->seg[i].status != FINISHED)
		i++;
	return i < m->n;
}

/* Refuse the map of another source, or one that covers more than this has. */
static int
check_source(const struct mapsaver *ms, const struct plan *p, struct fault *f)
{
	const char *path = p->opts->map;
	char was[sizeof(ms->source)], is[sizeof(ms->source)];
	uint64_t end = tried_to(&ms->file);
	bool modified = false;

	if (ms->file.source != NULL && !same_source(ms->file.source,
	    ms->source, &modified))
		return fault_set(f, STATUS_REFUSED, "%s is the map of another "
		    "source: %s; this one is: %s%s", path,
		    words_known(was, sizeof(was), ms->file.source),
		    words_known(is, sizeof(is), ms->source),
		    maploader_advice(ms->file.source, ms->source));
	if (end > (uint64_t)p->src->geo.size && !p->counted)
		return fault_set(f, STATUS_REFUSED, "%s goes past the end of "
		    "%s, to byte %llu: it is the map of another source; if "
		    "not, and this one has shrunk, limit the copy by count=",
		    path, p->src->name, (unsigned long long)end);
	if (modified && any_finished(&ms->file))
		return fault_set(f, STATUS_REFUSED, "%s was written to or "
		    "replaced since %s was begun: name another map; if all it "
		    "calls finished is the same, remove its line "
		    "\"# pardd source\"", p->src->name, path);
	if (any_finished(&ms->file) && p->dst->is.absent)
		return fault_set(f, STATUS_REFUSED, "%s says that parts are "
		    "finished, but %s does not exist", path, p->dst->name);
	return 0;
}

/*
 * Refuse the map if the target is not the one that has what it calls finished:
 * another disk, another place, too short, or written to "since" it was saved.
 * What is finished outside this copy counts, too, as the map will be of this
 * target.
 */
static int
maploader_check_target(const struct mapsaver *ms, const struct plan *p,
    bool since, struct fault *f)
{
	const char *path = p->opts->map, *was = ms->file.target;
	uint64_t end = finished_to(ms, p);

	if (!any_finished(&ms->file))
		return 0;
	if (was != NULL && strcmp(was, MAP_COMPARED) == 0)
		return fault_set(f, STATUS_REFUSED, "%s was written by "
		    "compare=1, and calls finished what differs; it is for "
		    "domain=", path);
	if (was != NULL && !same_target(was, ms->target))
		return fault_set(f, STATUS_REFUSED, "%s is of another target, "
		    "or another place of it: %s; this one is: %s; if it is "
		    "this one, remove the line \"# pardd target\" from the "
		    "map", path, was, ms->target);
	if (p->dst->geo.size >= 0 && end > (uint64_t)p->dst->geo.size)
		return fault_set(f, STATUS_REFUSED, "%s says that %s is "
		    "finished up to byte %llu, but %s ends at byte %lld", path,
		    p->dst->name, (unsigned long long)end, p->dst->name,
		    (long long)p->dst->geo.size);
	if (since)
		return fault_set(f, STATUS_REFUSED, "%s was written to since "
		    "%s was saved, put back, or is another; if all that the "
		    "map calls finished is there, remove its line "
		    "\"# pardd target\"", p->dst->name, path);
	return 0;
}

void
maploader_name(struct mapsaver *ms, const struct plan *p)
{
	name_source(ms, p);
	name_target(ms, p);
}

int
maploader_load(struct mapsaver *ms, const struct plan *p, struct map *map,
    struct fault *f)
{
	const char *path = p->opts->map;
	bool since;

	if (mapfile_load(&ms->file, path, false, f) != 0)
		return -1;
	if (maploader_since(ms, p, &since, f) != 0 ||
	    check_source(ms, p, f) != 0 ||
	    maploader_check_target(ms, p, since, f) != 0)
		return -1;
	if (maploader_apply(p, map, &ms->file) != 0)
		return fault_errno(f, ENOMEM, "%s", path);
	if (apply_domain(p, map, f) != 0)
		return -1;
	if (used_apply(p, map) != 0)
		return fault_errno(f, ENOMEM, "%s", path);
	forget_inside(ms, p);
	return 0;
}
