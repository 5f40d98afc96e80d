/*
 * Workers count requests as they begin and end, which needs no clock.  The main
 * thread looks at the counts now and then, and sees whether an end has requests
 * but answers none.  A single slow request means nothing while others are
 * answered; nor does a flush while the copy continues.
 */
#include "copy/watch.h"

#include <stdio.h>

#include "copy/job.h"
#include "open/tee.h"

static const double patience = 3;	/* s; slow, but in order */

static void
requests_add(struct requests *sum, const struct requests *r)
{
	/* load "ended" first, so that it never exceeds "begun" */
	sum->ended += atomic_load_explicit(&r->ended, memory_order_relaxed);
	sum->begun += atomic_load_explicit(&r->begun, memory_order_relaxed);
}

static struct requests
requests_of(const struct job *job, enum watched what)
{
	struct requests sum = { .begun = 0 };
	unsigned i;

	if (what == WATCH_FLUSH)
		requests_add(&sum, &job->flushes);
	else
		for (i = 0; i < WORKERS_MOST; i++)
			requests_add(&sum,
			    &job->worker[i].asked[what == WATCH_SOURCE ?
			    SOURCE : TARGET]);
	return sum;
}

void
watch_begin(struct watch *watch, double now)
{
	enum watched i;

	for (i = 0; i < WATCHED; i++) {
		watch->on[i].ended = 0;
		watch->on[i].since = now;
	}
	watch->inside[0].call = watch->inside[1].call = 0;
}

struct silence
watch_look(struct watch *watch, const struct job *job, double now)
{
	struct silence longest = { .end = NULL };
	bool answered = false;
	enum watched i;

	for (i = 0; i < WATCHED; i++) {
		struct requests r = requests_of(job, i);

		answered |= r.ended != watch->on[i].ended;
		if (r.begun == r.ended || r.ended != watch->on[i].ended ||
		    (i == WATCH_FLUSH && answered))
			watch->on[i].since = now;
		watch->on[i].ended = r.ended;
		if (now - watch->on[i].since < patience ||
		    now - watch->on[i].since <= longest.seconds)
			continue;
		longest = (struct silence){ .flush = i == WATCH_FLUSH,
			.end = i == WATCH_SOURCE ? job->p->src :
			    job->p->targets > 1 ? tee_silent(job->p->dst) :
			    job->p->dst,
			.seconds = now - watch->on[i].since };
	}
	return longest;
}

const struct endpoint *
watch_stuck(struct watch *watch, const struct job *job, double now)
{
	const struct endpoint *end[2] = { job->p->src, job->p->dst };
	unsigned i, call;

	for (i = 0; i < 2; i++) {
		call = endpoint_inside(end[i]);
		if (call == 0 || call != watch->inside[i].call)
			watch->inside[i].since = now;
		watch->inside[i].call = call;
		if (now - watch->inside[i].since > end[i]->spec.timeout)
			return end[i];
	}
	return NULL;
}

void
watch_stood(struct watch *watch, double seconds)
{
	enum watched i;

	for (i = 0; i < WATCHED; i++)
		watch->on[i].since += seconds;
	watch->inside[0].since += seconds;
	watch->inside[1].since += seconds;
}

const char *
watch_word(const struct silence *s, const struct plan *p)
{
	if (s->end == NULL)
		return NULL;
	return s->flush ? "flush" : s->end == p->src ? "source" : "target";
}

void
watch_tell(char *to, size_t room, const struct silence *s, const char *name)
{
	bool named = name[0] != '\0';
	const char *what = s->flush ? "flushing" : s->end->is.streamed ?
	    "waiting" : "no answer";

	snprintf(to, room, "%s%s%s%s for %.0f s", what, !named || s->flush ?
	    "" : s->end->is.streamed ? " for" : " from", named ? " " : "", name,
	    s->seconds);
}
