/*
 * What the main thread reports while workers run: each fact once, as soon as
 * there is room to print, above the progress line.
 */
#include "conduct.h"

#include "base/print.h"
#include "base/title.h"
#include "open/tee.h"
#include "report/report.h"
#include "rescue/rescue.h"
#include "verify/verify.h"

/* Whether messages are wanted; if so, the progress line is erased. */
static bool
tell_wanted(struct conductor *c)
{
	if ((c->job->p->opts->status & SHOW_NONE) != 0)
		return false;
	progress_clear(&c->progress);
	return true;
}

/* Report at once that a target does not keep what is written to it. */
static void
tell_differs(struct conductor *c)
{
	struct verify *v = c->job->verify;
	struct checked *of;
	unsigned i;

	for (i = 0; v != NULL && i < v->targets; i++) {
		of = &v->target[i];
		if (of->told || of->first == NOWHERE || !print_room())
			continue;
		of->told = true;
		if (tell_wanted(c))
			report_differs(plan_each(c->job->p, i), of->first,
			    of->unread);
	}
}

/* Report at once that one of several targets was dropped. */
static void
tell_dropped(struct conductor *c)
{
	const struct plan *p = c->job->p;
	unsigned told = (unsigned)__builtin_popcount(c->dropped);
	unsigned left = p->targets - told, i;
	const struct fault *why;

	for (i = 0; i < p->targets; i++) {
		why = tee_dropped(p->dst, i);
		if ((c->dropped & 1U << i) != 0 || why == NULL ||
		    !print_room())
			continue;
		c->dropped |= 1U << i;
		left--;
		events_dropped(c->events, p, i, why);
		if (tell_wanted(c))
			report_dropped(why, left);
	}
}

/* Report once that a head of the disk seems to be dead. */
static void
tell_pattern(struct conductor *c)
{
	const struct pattern *p = rescue_pattern(c->job->rescue);

	if (p == NULL || c->events->patterned || !print_room())
		return;
	c->events->patterned = true;
	events_pattern(c->events, p);
	if (tell_wanted(c))
		report_pattern(c->job->p, p);
}

/* Report that the copy waits for the source to cool, and when it continues. */
static void
tell_warmth(struct conductor *c)
{
	bool warm = c->job->rate.paused;

	if (c->warm == warm || !print_room())
		return;
	c->warm = warm;
	if (tell_wanted(c))
		report_warmth(c->job->p, warm, c->job->celsius);
}

static void
tell_title(struct job *job, const struct tally *t)
{
	const struct plan *p = job->p;

	if (!title_due(&job->title, t->seconds))
		return;
	title_set(&job->title, p->src->name, p->dst->name, t->whole == 0 ?
	    -1 : tally_part(t));
}

void
tell_all(struct conductor *c, const struct tally *t)
{
	struct job *job = c->job;
	struct fault f;

	tell_dropped(c);
	tell_differs(c);
	tell_pattern(c);
	tell_warmth(c);
	progress_draw(&c->progress, &job->map, t);
	tell_title(job, t);
	events_progress(c->events, job->p, &job->map, t);
	while (print_room() && events_trouble(c->events, &f)) {
		progress_clear(&c->progress);
		report_fault(&f, job->p->opts);
	}
}

void
tell_last(struct conductor *c)
{
	tell_dropped(c);
	tell_pattern(c);
}
