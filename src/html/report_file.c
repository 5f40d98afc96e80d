/*
 * report=: when it is written, and what it carries over.
 *
 * During a rescue the thread that saves the map writes the report after each
 * save; at the end the main thread writes it, once that thread has ended.  Both
 * may write only if the main thread leaves early.  So a thread takes "busy"
 * before it writes, and the one that leaves keeps it; nobody waits.
 *
 * The progress of earlier runs is in the file, as a comment, with a digest of
 * the copy, so that the report of another disk is not continued.  It is trusted
 * no more than any file.
 */
#include "html/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/newfile.h"
#include "plan/names.h"
#include "report_data.h"

enum { HEAD_MOST = 64 << 10 };	/* bytes in which the progress must lie */

struct report {
	struct newfile	 file;
	struct saved	 saved;
	struct report_data data;
	double		 began;		/* clock_seconds */
	double		 before;	/* s, of earlier runs */
	unsigned	 run;
	atomic_bool	 busy;
};

static bool
report_of_rescue(const struct plan *p)
{
	return p->work == WORK_RESCUE;
}

/* --- the progress ------------------------------------------------------- */

static void
report_sample(struct report *r)
{
	struct report_data *d = &r->data;
	size_t i;

	if (d->samples == SAMPLES) {	/* keep every second one */
		d->samples /= 2;
		for (i = 0; i < d->samples; i++)
			d->sample[i] = d->sample[2 * i + 1];
	}
	d->sample[d->samples++] = (struct sample){ .run = r->run,
		.seconds = r->before + d->seconds,
		.finished = d->total.finished, .bad = d->total.bad };
}

/* Read the progress from the existing file, if it is one of ours. */
static void
report_remember(struct report *r)
{
	struct report_data *d = &r->data;
	char *text = calloc(1, HEAD_MOST + 1);
	struct stat st;
	int fd;

	fd = text == NULL ? -1 : openat(r->file.dir, r->file.base, O_RDONLY |
	    O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    read(fd, text, HEAD_MOST) > 0)
		report_get_samples(d, text);
	if (fd >= 0)
		close(fd);
	free(text);
	r->run = 1;
	if (d->samples == 0)
		return;
	r->run = d->sample[d->samples - 1].run + 1;
	r->before = d->sample[d->samples - 1].seconds;
}

/* --- writing ------------------------------------------------------------ */

/* Take the current map and time. */
static int
report_gather(struct report *r, struct map *map)
{
	struct report_data *d = &r->data;

	free(d->seg);
	d->segs = map_copy(map, &d->seg);
	if (d->seg == NULL)
		return ENOMEM;
	d->total = map_totals(map);
	d->length = d->total.end;
	d->seconds = clock_seconds() - r->began;
	clock_gettime(CLOCK_REALTIME, &d->now);
	return 0;
}

static int
write_file(struct report *r, struct fault *f)
{
	const char *end = strrchr(r->file.path, '.');

	if (newfile_hold(&r->file, f) != 0 || newfile_begin(&r->file, f) != 0)
		return -1;
	if (strcmp(end, ".svg") == 0)
		report_svg(r->file.out, &r->data);
	else
		report_html(r->file.out, &r->data);
	return newfile_end(&r->file, 0, f);
}

/* Examine what was rescued so far, if the target can be read meanwhile. */
static void
look_early(struct report *r, struct map *map)
{
	struct report_data *d = &r->data;

	if (d->volumes.n == 0 && (endpoint_is_file(d->p->dst) ||
	    endpoint_is_node(d->p->dst)))
		volumes_rescued(&d->volumes, d->p, map);
}

/*
 * The map was saved.  If the report cannot be written now, it may be at the
 * end.
 */
static void
report_saved(void *arg, struct map *map)
{
	struct report *r = arg;
	struct fault f;

	if (atomic_exchange(&r->busy, true))
		return;
	if (report_gather(r, map) == 0) {
		look_early(r, map);
		report_sample(r);
		(void)write_file(r, &f);
		(void)newfile_hold(&r->file, &f);	/* reserve it again */
	}
	r->busy = false;
}

/* --- interface ---------------------------------------------------------- */

int
report_file_open(struct report **made, const struct plan *p, struct fault *f)
{
	const char *path = p->opts->report;
	struct report *r;

	*made = NULL;
	if (path == NULL)
		return 0;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return fault_errno(f, ENOMEM, "report=%s", path);
	r->data.p = p;
	r->saved = (struct saved){ .tell = report_saved, .arg = r };
	if (newfile_open(&r->file, "report", path, f) == 0 &&
	    names_newfile(&r->file, p, f) == 0) {
		r->file.mode = 0600;	/* it names files of the source */
		*made = r;
		return 0;
	}
	newfile_close(&r->file);
	free(r);
	return -1;
}

const struct saved *
report_file_saved(const struct report *r)
{
	return r != NULL ? &r->saved : NULL;
}

void
report_file_look_before(struct report *r)
{
	struct report_data *d;

	if (r == NULL)
		return;
	d = &r->data;
	d->is_disk[0] = endpoint_disk(d->p->src, &d->disk[0]);
	d->is_disk[1] = endpoint_disk(d->p->dst, &d->disk[1]);
	if (!report_of_rescue(d->p))
		volumes_of_source(&d->volumes, d->p);
}

int
report_file_start(struct report *r, struct fault *f)
{
	if (r == NULL)
		return 0;
	if (newfile_hold(&r->file, f) != 0)
		return -1;
	r->began = clock_seconds();
	clock_gettime(CLOCK_REALTIME, &r->data.started);
	r->run = 1;
	if (report_of_rescue(r->data.p))
		report_remember(r);
	return 0;
}

void
report_file_look(struct report *r, struct outcome *out)
{
	if (r == NULL || !report_of_rescue(r->data.p))
		return;
	volumes_free(&r->data.volumes);
	volumes_rescued(&r->data.volumes, r->data.p, &out->map);
}

int
report_file_write(struct report *r, struct outcome *out, struct fault *f)
{
	if (r == NULL)
		return 0;
	r->data.out = out;
	if (report_gather(r, &out->map) != 0)
		return fault_errno(f, ENOMEM, "report=%s", r->file.path);
	report_sample(r);
	return write_file(r, f);
}

void
report_file_abandon(struct report *r)
{
	if (r != NULL && !atomic_exchange(&r->busy, true))
		newfile_close(&r->file);
}

void
report_file_close(struct report *r)
{
	if (r == NULL)
		return;
	newfile_close(&r->file);
	volumes_free(&r->data.volumes);
	free(r->data.seg);
	free(r);
}
