/*
 * The files of a run, at each point where they need something: before the plan,
 * before the copy, at its start, at its end, and after the verdict.
 *
 * The end: a thread looks at the ends once more and closes them, and another
 * one then writes the files, because a file system may not answer; the main
 * thread answers signals meanwhile.  The second has the outputs to itself, and
 * its own copy of the outcome, of which the fault is taken back only when it
 * has ended.  The maps and digests are const by then.
 */
#include "run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/signals.h"
#include "base/status.h"
#include "copy/verdict.h"
#include "html/report_file.h"
#include "plan/names.h"
#include "report/profile.h"
#include "report/report.h"

/* --- all files ----------------------------------------------------------- */

int
outputs_load(struct outputs *r, const struct opts *o, struct fault *f)
{
	*r = (struct outputs){ .hashfile = { .dir = -1, .fd = -1 },
		.profile = { .dir = -1, .fd = -1 },
		.usedmap = { .dir = -1, .fd = -1 } };
	if (ranges_load(&r->ranges, o, f) != 0)
		return -1;
	if (o->bmap != NULL) {		/* it describes the whole image */
		if (bmap_load(&r->bmap, o->bmap, f) != 0)
			return -1;
		r->whole = (struct layout){ .length = r->bmap.size,
			.all = true };
		r->layout = &r->whole;
	} else if (r->ranges.checks || r->ranges.spares) {
		r->layout = &r->ranges.layout;
	}
	return 0;
}

int
outputs_open(struct outputs *r, struct plan *p, struct fault *f)
{
	const struct algorithm *by = r->bmap.n > 0 ? r->bmap.algorithm : NULL;

	if ((by == NULL ? hash_open(&r->hash, p->opts, f) :
	    hash_open_ranges(&r->hash, by, r->bmap.range, r->bmap.n, f)) != 0 ||
	    newfile_open(&r->hashfile, "hashfile", p->opts->hashfile, f) != 0 ||
	    names_newfile(&r->hashfile, p, f) != 0 ||
	    newfile_open(&r->profile, "profile", p->opts->profile, f) != 0 ||
	    names_newfile(&r->profile, p, f) != 0 ||
	    report_file_open(&r->report, p, f) != 0 ||
	    newfile_open(&r->usedmap, "usedmap", p->opts->usedmap, f) != 0 ||
	    names_newfile(&r->usedmap, p, f) != 0 ||
	    ranges_open(&r->ranges, p, f) != 0)
		return -1;
	p->hash = r->hash;
	if (p->used != NULL && p->used->leaves)
		hash_gaps(r->hash, p->used->free.seg, p->used->free.n,
		    p->src_off);
	p->saved = report_file_saved(r->report);
	return 0;
}

/* Whether a file is to be written. */
static bool
outputs_any(const struct outputs *r)
{
	return r->hashfile.dir >= 0 || r->profile.dir >= 0 ||
	    r->usedmap.dir >= 0 || r->ranges.file.dir >= 0 || r->report != NULL;
}

int
outputs_start(struct outputs *r, struct fault *f)
{
	bool held;

	if (!outputs_any(r))
		return hash_start(r->hash, f);
	signals_let();
	held = newfile_hold(&r->hashfile, f) == 0 &&
	    newfile_hold(&r->profile, f) == 0 &&
	    newfile_hold(&r->usedmap, f) == 0 &&
	    newfile_hold(&r->ranges.file, f) == 0 &&
	    report_file_start(r->report, f) == 0;
	signals_block();
	return held ? hash_start(r->hash, f) : -1;
}

/* Differences are reported as after verify= and compare=1. */
static void
hand_over(struct ranges *r, struct outcome *out)
{
	struct map_totals t = map_totals(&r->differ);

	map_take(&out->target[0].differ, &r->differ);
	out->tally.differing = t.bad;
	out->tally.verified = out->tally.written - t.bad;
}

/* The origin of the ranges: on a target that keeps data, else on the source. */
static uint64_t
noted_from(const struct plan *p)
{
	const struct endpoint *dst = p->dst;
	bool kept = endpoint_holds(dst) && (!dst->is.streamed ||
	    dst->is.durable);

	return kept ? p->dst_off : p->src_off;
}

/* Where the copy ended, in bytes, if all was copied; else NOWHERE. */
static uint64_t
outputs_end(const struct plan *p, struct outcome *out)
{
	struct map_totals t = map_totals(&out->map);

	return out->fault.status != 0 || t.untried > 0 ||
	    (p->counted && t.end < p->length) ? NOWHERE : t.end;
}

/* Write the manifest or block map. */
static int
write_ranges(struct outputs *outputs, const struct plan *p,
    struct outcome *out, struct fault *f)
{
	struct ranges *r = &outputs->ranges;
	uint64_t end = outputs_end(p, out);

	/* base= relies on it that the target holds what was written to it */
	if (!r->notes || end == NOWHERE || out->flush.status != 0 ||
	    out->tally.differing != 0)
		return 0;
	end = ranges_end(p, end);
	if (r->maps)
		return bmap_write(&r->file, &r->mapped, end, ranges_block(p),
		    f);
	if (digest_table_end(&r->noted, end) != 0)
		return fault_errno(f, ENOMEM, "manifest=%s", p->opts->manifest);
	p = plan_first(p);
	return manifest_write(&r->file, p, &r->noted, noted_from(p),
	    &outputs->ends, f);
}

void
outputs_finish(struct outputs *r, const struct plan *p, struct outcome *out)
{
	struct fault failed;

	if (hash_finish(r->hash, outputs_end(p, out), p->src->packed,
	    &failed) != 0)
		out->fault = failed;
	if (r->ranges.checks)
		hand_over(&r->ranges, out);
}

/* Then write the files.  A failure is recorded in out->outputs. */
static void
outputs_write(struct outputs *r, const struct plan *p, struct outcome *out)
{
	struct fault f[4] = { 0 };
	size_t i;

	hashfile_write(&r->hashfile, p, out, &f[0]);
	write_ranges(r, p, out, &f[1]);
	profile_write(out->profile, &r->profile, out->tally.seconds, &f[2]);
	usedmap_write(&r->usedmap, p, &f[3]);
	for (i = 0; i < 4 && out->outputs.status == 0; i++)
		out->outputs = f[i];
}

/*
 * Before that, while the ends are open: collect what the report and the
 * manifest say about them.
 */
static void
outputs_look(struct outputs *r, const struct plan *p, struct outcome *out)
{
	if (r->ranges.notes && !r->ranges.maps)
		manifest_look(&r->ends, plan_first(p));
	report_file_look(r->report, out);
}

/*
 * After the verdict: write the report.  If that fails, the verdict has a reason
 * more.
 */
static void
outputs_report(struct outputs *r, struct outcome *out)
{
	struct fault f;

	if (report_file_write(r->report, out, &f) != 0)
		verdict_unrecorded(out, &f);
}

void
outputs_abandon(struct outputs *r)
{
	newfile_close(&r->ranges.file);
	newfile_close(&r->profile);
	newfile_close(&r->usedmap);
	newfile_close(&r->hashfile);
	report_file_abandon(r->report);
}

void
outputs_close(struct outputs *r)
{
	outputs_abandon(r);
	ranges_close(&r->ranges);
	manifest_forget(&r->ends);
	used_free(&r->used);
	bmap_free(&r->bmap);
	hash_close(r->hash);
	report_file_close(r->report);
}

/* --- the end of a run ---------------------------------------------------- */

static const double told_after = 2, waits = 8, echo = 1;	/* s */

struct settled {		/* the thread's */
	struct outputs	*outputs;
	const struct plan *p;
	struct outcome	 out;
};

struct settling {		/* the main thread's */
	const struct plan *p;
	const struct signals *signals;
	const char	*what;	/* what it waits for */
	double		 began, signalled;	/* 0: no signal came */
	bool		 told;
};

struct closing {
	struct settling	 wait;		/* the main thread's */
	struct endpoint	*src, *dst;	/* the thread's */
	struct decision	*d;		/* likewise, until "looked" */
	struct outcome	*out;		/* likewise: map and target */
	struct damage	 damage;	/* likewise */
	int		 err;		/* likewise, until "closed" */
	bool		 stopped, flushed;	/* how the copy has ended */
	atomic_bool	 looked, closed;	/* the target was, and is */
};

static void
settle_write(struct outputs *r, const struct plan *p, struct outcome *out)
{
	outputs_write(r, p, out);
	verdict_make(p, out);
	outputs_report(r, out);
}

/* An errand. */
static void
settle_run(void *arg)
{
	struct settled *d = arg;

	settle_write(d->outputs, d->p, &d->out);
}

/* Handle signals, and tell of a long wait; false: leave. */
static bool
settle_stays(void *arg)
{
	struct settling *s = arg;
	struct signalfd_siginfo si;
	double now = clock_seconds();

	if (!s->told && now - s->began > told_after) {
		s->told = true;
		report_settling(s->p, s->what);
	}
	while (read(s->signals->fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGUSR1)
			continue;
		if (s->signalled > 0 && now - s->signalled > echo)
			return false;
		if (s->signalled > 0)
			continue;
		s->signalled = now;
		signals_hurry();
		report_stopping((int)si.ssi_signo);
	}
	return s->signalled <= 0 || now - s->signalled < waits;
}

static struct settling
settling_begin(const struct plan *p, const struct signals *signals,
    const struct outcome *out, const char *what)
{
	double now = clock_seconds();

	return (struct settling){ .p = p, .signals = signals, .what = what,
		.began = now, .signalled = out->signal != 0 ? now : 0 };
}

/* The outcome says which targets are stale. */
static void
decision_reread(struct decision *d, struct outcome *out)
{
	unsigned i;

	for (i = 0; i < d->claimed && out->tally.written > 0; i++) {
		remarks_of_stream(&d->target[i].remarks, plan_each(&d->plan,
		    i));
		out->target[i].stale = !claims_reread(&d->target[i].claims);
	}
}

/* An errand. */
static void
closing_run(void *arg)
{
	struct closing *c = arg;
	const struct plan *p = &c->d->plan;

	if (!c->stopped)
		damage_make(&c->damage, plan_first(p), &c->out->map);
	outputs_look(&c->d->outputs, p, c->out);
	if (c->flushed)
		decision_reread(c->d, c->out);
	c->looked = true;
	c->err = endpoint_close(c->dst);
	c->closed = true;
	endpoint_close(c->src);
}

/* The close of each of several targets has a time limit. */
static bool
closing_stays(void *arg)
{
	struct closing *c = arg;

	return settle_stays(&c->wait) || (c->wait.p->targets > 1 && c->looked &&
	    !c->closed);
}

bool
settle_close(struct endpoint *src, struct endpoint *dst, struct decision *d,
    const struct signals *signals, struct outcome *out, bool *looked)
{
	const struct plan *p = &d->plan;
	struct closing *c = malloc(sizeof(*c));
	bool over = false;
	int err = ENOMEM;

	*looked = true;
	if (c != NULL) {
		*c = (struct closing){ .src = src, .dst = dst, .d = d,
			.out = out, .stopped = out->signal != 0,
			.flushed = out->flush.status == 0, .wait =
			settling_begin(p, signals, out, "closing its ends") };
		over = src->is.memory && dst->is.memory;	/* none hangs */
		if (over)
			closing_run(c);
		else
			over = errand_attend(closing_run, c, closing_stays, c);
		err = c->closed ? c->err : ETIMEDOUT;
		*looked = c->looked;
		if (*looked)
			out->damage = c->damage;
	}
	if (err != 0 && out->flush.status == 0)
		fault_set(&out->flush, STATUS_NOT_FLUSHED, "%s: closing: %s",
		    dst->name, err == ETIMEDOUT ? "its file system does not "
		    "answer" : errno_words(err));
	if (over)
		free(c);
	return over;
}

/* What the thread uses; NULL if there is no memory. */
static struct settled *
settle_begin(struct outputs *r, const struct plan *p, const struct outcome *out)
{
	size_t room = out->targets * sizeof(*out->target);
	struct settled *d = malloc(sizeof(*d));

	if (d == NULL)
		return NULL;
	*d = (struct settled){ .outputs = r, .p = p, .out = *out };
	d->out.target = malloc(room);
	if (d->out.target == NULL) {
		free(d);
		return NULL;
	}
	memcpy(d->out.target, out->target, room);
	return d;
}

bool
settle(struct outputs *r, const struct plan *p, const struct signals *signals,
    struct outcome *out)
{
	struct settled *d = outputs_any(r) ? settle_begin(r, p, out) : NULL;
	struct settling s = settling_begin(p, signals, out, "writing the files "
	    "of the run");

	if (d == NULL) {		/* nothing to wait for, or no memory */
		settle_write(r, p, out);
		return true;
	}
	if (!errand_attend(settle_run, d, settle_stays, &s)) {
		fault_set(&out->outputs, status_errno(ETIMEDOUT), "the files "
		    "of the run: their file system does not answer");
		out->outputs.err = ETIMEDOUT;
		return false;
	}
	out->outputs = d->out.outputs;
	free(d->out.target);
	free(d);
	verdict_make(p, out);
	return true;
}
