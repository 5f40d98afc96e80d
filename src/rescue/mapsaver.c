/*
 * Keeping the map of a rescue.  Its file is locked and loaded (maploader.c).
 * The map is saved to it every mapinterval= seconds, at once when the copy is
 * being stopped, and at the end.
 *
 * Whatever a saved map calls finished was flushed before.  An error of an
 * earlier write is reported once, to the first caller, and the next flush
 * succeeds.  So the first failure at the target sets job->doubt before it stops
 * the copy; nothing is saved from then on, and the file stays as it was.  A
 * write that was in flight during the flush may have received the error without
 * having said so: it is waited for.
 *
 * Whether the source device is still the same is checked beforehand, by a
 * thread of its own, because whatever the device lies on may never answer.
 *
 * The target is checked after the flush: if it was cut off, removed or
 * exchanged, finished data may be gone.
 *
 * The file is locked (flock) for the whole run.
 */
#include "rescue/mapsaver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"
#include "copy/job.h"
#include "copy/transfer.h"
#include "copy/trust.h"
#include "maploader.h"
#include "plan/names.h"
#include "rescue/rescue.h"

enum { PATIENCE = 1000 };	/* ms */

struct map_copy {		/* a map to be written */
	const struct job *job;
	const struct seg *seg;
	size_t		 n;
	struct seg	 held[JUNK_HELD];	/* not to be called finished */
	size_t		 helds;
};

static void
mapsaver_put(struct mapfile_out *o, uint64_t off, uint64_t to,
    enum seg_status status)
{
	struct seg s = { off, to > off ? to - off : 0, status };

	mapfile_put(o, &s);
}

/* Write what the file said before between two positions. */
static void
put_before(struct mapfile_out *o, const struct mapfile *old, uint64_t from,
    uint64_t to)
{
	uint64_t at = from, a, b;
	size_t i;

	i = segs_find(old->seg, old->n, from);
	for (; i < old->n && at < to; i++) {
		const struct seg *s = &old->seg[i];

		a = s->off > at ? s->off : at;
		b = s->off + s->len < to ? s->off + s->len : to;
		if (a >= b)
			continue;
		mapsaver_put(o, at, a, UNTRIED);
		mapsaver_put(o, a, b, s->status);
		at = b;
	}
	mapsaver_put(o, at, to, UNTRIED);
}

/* Write a finished range of the copy, without what is held. */
static void
put_finished(struct mapfile_out *o, const struct map_copy *copy,
    const struct seg *seg)
{
	uint64_t from = copy->job->p->src_off, end = seg->off + seg->len;
	uint64_t at, next;
	enum seg_status status;
	size_t i;

	for (at = seg->off; at < end; at = next) {
		status = FINISHED;
		next = end;
		for (i = 0; i < copy->helds; i++) {
			const struct seg *h = &copy->held[i];

			if (h->off > at)
				next = MIN(next, h->off);
			else if (h->off + h->len > at) {
				next = MIN(next, h->off + h->len);
				status = h->status;
			}
		}
		mapsaver_put(o, from + at, from + next, status);
	}
}

/*
 * Write the map in positions of the source: before, within and after the copy.
 */
static void
put_all(struct mapfile_out *o, const void *arg)
{
	const struct map_copy *copy = arg;
	const struct plan *p = copy->job->p;
	const struct mapfile *old = &copy->job->rescue->mapsaver.file;
	uint64_t from = p->src_off, to = from + p->length, a;
	uint64_t all = (uint64_t)p->src->geo.size, known = mapfile_end(old);
	size_t i;

	put_before(o, old, 0, from);
	for (i = 0; i < copy->n; i++) {
		a = from + copy->seg[i].off;
		if (copy->seg[i].status == OUTSIDE)
			put_before(o, old, a, a + copy->seg[i].len);
		else if (copy->seg[i].status == FINISHED)
			put_finished(o, copy, &copy->seg[i]);
		else
			mapsaver_put(o, a, a + copy->seg[i].len,
			    copy->seg[i].status);
	}
	put_before(o, old, to, known > all ? known : all);
}

/*
 * Set where the rescue stands, as the map file says it: until it has entered a
 * pass, as the map was loaded.  Returns the same for people.
 */
static const char *
pass_where(struct job *job, struct mapfile *m)
{
	const struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;

	if (!r->entered && r->loaded.phase != '\0') {
		m->pos = r->loaded.pos;
		m->phase = r->loaded.phase;
		m->pass = r->loaded.pass;
		return "Going on";
	}
	m->phase = pass->phase;
	m->pass = pass->phase == '-' ? r->retry : pass->number;
	m->pos = job->p->src_off + (pass->phase == '+' ? 0 : r->at);
	return pass->text;
}

/* Write by mapfile_save_by or mapfile_try. */
static int
write_map(struct job *job, const struct seg *seg, size_t n,
    int (*write)(struct mapfile_form *, const char *, struct fault *),
    struct fault *f)
{
	struct map_copy copy = { .job = job, .seg = seg, .n = n };
	struct mapsaver *ms = &job->rescue->mapsaver;
	struct mapfile m = { .source = ms->source, .target = ms->target };
	struct mapfile_form form = { .head = &m, .fill = put_all, .arg = &copy,
		.dir = ms->dir, .lock = ms->lock, .blank = ms->blank };
	int failed;

	copy.helds = junk_doubted(job, copy.held);
	form.phase_text = pass_where(job, &m);
	failed = write(&form, job->p->opts->map, f);
	ms->lock = form.lock;
	ms->blank = ms->blank && failed != 0;
	return failed;
}

/*
 * Before the first byte is copied there is nothing to flush, and only the
 * source of a new map to record.
 */
static int
write_now(struct job *job, int (*write)(struct mapfile_form *, const char *,
    struct fault *), struct fault *f)
{
	struct seg *seg;
	size_t n = map_copy(&job->map, &seg);
	int failed;

	if (seg == NULL)
		return fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	failed = write_map(job, seg, n, write, f);
	free(seg);
	return failed;
}

/*
 * The target cannot be trusted; with "told", *f says why, else the finder fails
 * the job, and 1 is returned.
 */
static int
mapsaver_doubt(struct job *job, bool told, struct fault *f)
{
	if (!told)
		fault_set(f, STATUS_NOT_FLUSHED, "%s failed before, and %s was "
		    "left as it was", job->p->dst->name, job->p->opts->map);
	f->status = STATUS_NOT_FLUSHED;
	job->doubt = true;
	return told ? -1 : 1;
}

/*
 * Check that the target still has the finished data; its holes are counted only
 * at the end.
 */
static int
target_kept(const struct job *job, const struct seg *seg, size_t n, bool last,
    struct fault *f)
{
	uint64_t end = 0, finished = 0, from = job->p->dst_off;
	size_t i;

	for (i = 0; i < n; i++)
		if (seg[i].status == FINISHED) {
			end = seg[i].off + seg[i].len;
			finished += seg[i].len;
		}
	return end == 0 ? 0 : endpoint_check_kept(job->p->dst, from, from + end,
	    last ? job_holes(job, end, finished) : UINT64_MAX, f);
}

/* Returns 0, or not 0 with *f; 1: see doubt. */
static int
mapsaver_save_job(struct job *job, int (*kept)(struct job *, struct fault *),
    struct fault *f)
{
	struct seg *seg;
	size_t n = map_copy(&job->map, &seg);
	bool unflushed;
	int err;

	unflushed = !job->doubt && job_flush(job, f) != 0;
	transfer_await(job);
	if (unflushed || job->doubt)
		err = mapsaver_doubt(job, unflushed, f);
	else if (seg == NULL)
		err = fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	else if (kept(job, f) != 0 || target_kept(job, seg, n,
	    kept == job_source_kept, f) != 0)
		err = -1;		/* the map stays as it was */
	else if (kept == job_source_kept &&	/* nothing is written later */
	    maploader_date(&job->rescue->mapsaver, job->p, f) != 0)
		err = mapsaver_doubt(job, true, f);
	else {
		err = write_map(job, seg, n, mapfile_save_by, f);
		f->by = TOLD_OF_MAP;
	}
	free(seg);
	return err;
}

int
mapsaver_save(struct job *job, struct fault *f)
{
	return mapsaver_save_job(job, job_source_kept, f) == 0 ? 0 : -1;
}

static void *
mapsaver_prober(void *arg)
{
	struct job *job = arg;
	struct fault *f = &job->rescue->mapsaver.answer;

	f->status = 0;
	job_source_kept(job, f);
	eventfd_write(job->rescue->mapsaver.told, 1);
	return NULL;
}

static void
end_prober(struct mapsaver *ms)
{
	eventfd_t n;

	if (ms->asks) {
		pthread_join(ms->prober, NULL);
		eventfd_read(ms->told, &n);
	}
	ms->asks = false;
}

/* Whether the prober has ended; waits this long for it. */
static bool
mapsaver_answered(struct mapsaver *ms, int wait)
{
	struct pollfd p = { .fd = ms->told, .events = POLLIN };

	if (ms->asks && poll(&p, 1, wait) > 0)
		end_prober(ms);
	return !ms->asks;
}

/*
 * As job_source_kept, but does not wait if the source lies on something that
 * does not answer, such as a file on a dead server.  Data read before is saved
 * anyway.  At the end of the run the check is repeated, however long it takes.
 */
static int
kept_or_silent(struct job *job, struct fault *f)
{
	struct mapsaver *ms = &job->rescue->mapsaver;

	if (!job->p->src->is.device || !mapsaver_answered(ms, 0))
		return 0;
	ms->asks = pthread_create(&ms->prober, NULL, mapsaver_prober, job) == 0;
	if (!ms->asks)
		return job_source_kept(job, f);
	if (!mapsaver_answered(ms, PATIENCE) || ms->answer.status == 0)
		return 0;
	*f = ms->answer;
	return -1;
}

static void *
mapsaver_thread(void *arg)
{
	struct job *job = arg;
	struct mapsaver *ms = &job->rescue->mapsaver;
	struct pollfd p[2] = { { .fd = ms->quit, .events = POLLIN },
		{ .fd = job->halt, .events = POLLIN } };
	int wait = (int)job->p->opts->mapinterval * 1000, n;
	struct fault f;

	for (;;) {
		n = poll(p, 2, wait);
		if (n < 0)
			continue;
		if (p[0].revents != 0)
			return NULL;
		f.status = 0;
		/* after maxtime= that is the fault of the run */
		if (mapsaver_save_job(job, kept_or_silent, &f) < 0 &&
		    job->rescue->end != LATE)
			job_fail(job, &f);
		if (n > 0) {
			p[1].fd = -1;	/* stopped: read it only once */
			if (f.status == 0)
				mapsaver_find(job, &f);
			ms->unsaved = f;
			ms->settled = true;
		}
		if (f.status == 0 && job->p->saved != NULL)
			job->p->saved->tell(job->p->saved->arg, &job->map);
	}
}

void
mapsaver_start(struct job *job)
{
	struct mapsaver *ms = &job->rescue->mapsaver;
	struct fault f;
	int err;

	/* Remove the date from the map: it is wrong once we write. */
	if (ms->dated && write_now(job, mapfile_save_by, &f) != 0) {
		job_fail(job, &f);
		return;
	}
	err = pthread_create(&ms->thread, NULL, mapsaver_thread, job);
	ms->runs = err == 0;
	if (ms->runs)
		return;
	fault_errno(&f, err, "starting what saves the map");
	job_fail(job, &f);
}

void
mapsaver_stop(struct job *job)
{
	struct mapsaver *ms = &job->rescue->mapsaver;

	eventfd_write(ms->quit, 1);
	if (ms->runs)
		pthread_join(ms->thread, NULL);
	end_prober(ms);
}

/*
 * Make a new map file that says which source it is of, and only then give it
 * its name.  So neither a killed run nor a power cut leaves a map that would
 * fit any source.  Returns a descriptor, or -1 with errno.
 */
static int
make_map(const struct mapsaver *ms, const char *base)
{
	char text[sizeof(ms->source) + 32], link[32];
	int fd = openat(ms->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	size_t n = (size_t)snprintf(text, sizeof(text), "%s%s\n",
	    MAP_SOURCE_MARK, ms->source);
	int err;

	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (write(fd, text, n) == (ssize_t)n && fdatasync(fd) == 0 &&
	    linkat(AT_FDCWD, link, ms->dir, base, AT_SYMLINK_FOLLOW) == 0)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/*
 * Open the map, or make it.  Without O_TMPFILE or links it is empty at first.
 */
static int
open_map(struct mapsaver *ms, const char *base, bool make)
{
	int how = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

	ms->lock = openat(ms->dir, base, how);
	if (ms->lock < 0 && errno == ENOENT && make) {
		ms->lock = make_map(ms, base);
		if (ms->lock < 0 && errno != EEXIST)
			ms->lock = openat(ms->dir, base, how | O_CREAT | O_EXCL,
			    0600);
		ms->made = ms->blank = ms->lock >= 0;
	}
	return ms->lock < 0 ? errno : 0;
}

/* The name of the map in its directory; "." is refused: it is not a file. */
static const char *
base_of(const char *path)
{
	const char *base = path_base(path);

	return base[0] != '\0' ? base : ".";
}

/* Whether that name leads to the file that we have locked. */
static bool
mapsaver_is_ours(const struct mapsaver *ms, int dir, const char *name)
{
	struct stat ours, now;

	return fstat(ms->lock, &ours) == 0 &&
	    fstatat(dir, name, &now, 0) == 0 && same_file(&ours, &now);
}

/*
 * One run at a time: the map is locked, and so is each new map before it
 * replaces it.  On file systems without locks this is up to the user.
 */
static int
mapsaver_lock(struct mapsaver *ms, const char *path, bool make, struct fault *f)
{
	const char *base = base_of(path);
	int err;

	for (;;) {
		err = open_map(ms, base, make);
		if (err == ENOENT && !make)
			return 0;
		if (err == EEXIST)
			continue;	/* someone else makes it */
		if (err != 0)
			return fault_errno(f, err, "%s", path);
		if (flock(ms->lock, LOCK_EX | LOCK_NB) != 0 &&
		    errno == EWOULDBLOCK) {
			ms->made = ms->blank = false;	/* it is theirs then */
			return fault_set(f, STATUS_REFUSED, "%s is the map of "
			    "another run in progress", path);
		}
		if (mapsaver_is_ours(ms, ms->dir, base))
			return 0;
		close(ms->lock);		/* replaced meanwhile */
		ms->made = ms->blank = false;
	}
}

int
mapsaver_begin(struct mapsaver *ms, struct job *job, struct fault *f)
{
	const struct plan *p = job->p;

	*ms = (struct mapsaver){ .lock = -1, .quit = -1, .told = -1,
		.dir = -1 };
	maploader_name(ms, p);
	if ((ms->quit = eventfd(0, EFD_CLOEXEC)) < 0 ||
	    (ms->told = eventfd(0, EFD_CLOEXEC)) < 0)
		return fault_errno(f, errno, "eventfd");
	ms->dir = path_for_new(p->opts->map, p->opts->map, f);
	endpoint_restat(p->dst);
	if (ms->dir < 0 || names_map(p, f) != 0 ||
	    mapsaver_lock(ms, p->opts->map, true, f) != 0 ||
	    maploader_load(ms, p, &job->map, f) != 0)
		return -1;
	return write_now(job, ms->made ? mapfile_save_by : mapfile_try, f);
}

void
mapsaver_forget(const struct mapsaver *ms, const struct plan *p)
{
	const char *base = base_of(p->opts->map);

	if (ms->made && mapsaver_is_ours(ms, ms->dir, base))
		unlinkat(ms->dir, base, 0);
}

int
mapsaver_find(const struct job *job, struct fault *f)
{
	const struct mapsaver *ms = &job->rescue->mapsaver;
	const char *path = job->p->opts->map;
	char where[PATH_MAX];

	if (mapsaver_is_ours(ms, AT_FDCWD, path))
		return 0;
	return fault_set(f, status_errno(ENOENT), "that name leads elsewhere "
	    "now, and the map is %s/%s", path_of_dir(ms->dir, where),
	    base_of(path));
}

uint64_t
mapsaver_stood(const struct mapsaver *ms, const struct plan *p)
{
	uint64_t pos = ms->file.pos;

	return ms->dated ? NOWHERE : pos - MIN(pos, p->src_off);
}

int
mapsaver_look(const struct plan *p, struct map_totals *t, struct fault *f)
{
	struct mapsaver ms = { .lock = -1, .quit = -1, .told = -1, .dir = -1 };
	struct agreed agreed;
	struct map map;
	int failed = -1;

	if (map_init(&map, p->length, p->chunk, 0) != 0)
		return fault_errno(f, ENOMEM, "%s", p->opts->map);
	maploader_name(&ms, p);
	ms.dir = path_for_new(p->opts->map, p->opts->map, f);
	if (ms.dir >= 0 && names_map(p, f) == 0 &&
	    mapsaver_lock(&ms, p->opts->map, false, f) == 0)
		failed = maploader_load(&ms, p, &map, f);
	if (failed == 0)
		failed = trust_map(p, &map, mapsaver_stood(&ms, p), NULL,
		    &agreed, f);
	*t = map_totals(&map);
	map_free(&map);
	mapsaver_free(&ms);
	return failed;
}

void
mapsaver_free(struct mapsaver *ms)
{
	if (ms->quit >= 0)
		close(ms->quit);
	if (ms->told >= 0)
		close(ms->told);
	if (ms->lock >= 0)
		close(ms->lock);
	if (ms->dir >= 0)
		close(ms->dir);
	mapfile_free(&ms->file);
}
