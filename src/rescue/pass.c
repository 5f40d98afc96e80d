/*
 * Where a rescue stands, and whether it has taken long enough.
 */
#include "pass.h"

#include "base/clock.h"
#include "base/status.h"
#include "rescue/rescue.h"

int
pass_number(const struct job *job, const struct pass *pass)
{
	return pass->phase == '-' ? job->rescue->retry : pass->number;
}

void
pass_enter(struct rescue *r, const struct pass *pass)
{
	r->pass = pass;
	r->entered = true;
}

const char *
pass_where(struct job *job, struct mapfile *m)
{
	const struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;
	struct seg first = { .off = 0 };

	if (!r->entered && r->loaded.phase != '\0') {
		m->pos = r->loaded.pos;
		m->phase = r->loaded.phase;
		m->pass = r->loaded.pass;
		return "Going on";
	}
	m->phase = pass->phase;
	m->pass = pass_number(job, pass);
	m->pos = job->p->src_off;
	if (pass_by_size(pass) && !pass_backwards(job, pass))
		m->pos += map_next(&job->map, 0, pass->from, &first) ?
		    first.off : job->p->length;
	else if (pass->phase != '+')
		m->pos += map_cursor(&job->map);
	return pass->text;
}

bool
pass_backwards(const struct job *job, const struct pass *pass)
{
	return pass->backwards !=
	    ((job->p->opts->rescue & RESCUE_REVERSE) != 0);
}

bool
pass_too_many(struct job *job)
{
	const struct opts *o = job->p->opts;
	struct fault f;

	if (o->maxerrors < 0 || map_totals(&job->map).bad_ranges <=
	    (uint64_t)o->maxerrors)
		return false;
	fault_set(&f, STATUS_UNREADABLE, "given up: more than maxerrors=%lld "
	    "bad ranges", (long long)o->maxerrors);
	job_fail(job, &f);
	return true;
}

bool
pass_too_long(const struct job *job, double more)
{
	int64_t most = job->p->opts->maxtime;

	return most >= 0 &&
	    clock_seconds() - job->rescue->start > (double)most + more;
}

void
pass_stop_late(struct job *job)
{
	int not_yet = NOT_YET;

	if (!atomic_compare_exchange_strong(&job->rescue->end, &not_yet, LATE))
		return;
	job->rescue->late = true;
	job_stop(job);
}

/* A pass over bad ranges has claimed some of them, in parts. */
bool
pass_given_up(struct job *job)
{
	bool late = pass_too_long(job, 0);

	if (late)
		pass_stop_late(job);
	return late || (job->rescue->pass->from != BAD && pass_too_many(job));
}
