/*
 * Where a rescue stands, and whether it has taken long enough.
 */
#include "pass.h"

#include "base/clock.h"
#include "base/status.h"
#include "rescue/rescue.h"

const struct pass pass_reading = { "Copying non-tried blocks... Pass 1 "
	"(forwards)", UNTRIED, '?', 1, false };

/* Only what promises next to nothing is left. */
const struct pass pass_sweeping = { "Copying non-tried blocks... Pass 4 "
	"(forwards)", UNTRIED, '?', 4, false };

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

/* Deferred parts would break the pattern. */
void
pass_look(struct job *job)
{
	struct rescue *r = job->rescue;

	if ((r->order == ORDER_NONE || r->order == ORDER_REST) &&
	    !atomic_flag_test_and_set(&r->looked) &&
	    pattern_find(&job->map, &r->pattern))
		r->patterned = true;
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

/* A retry has taken parts of bad ranges, so more are counted. */
bool
pass_given_up(struct job *job)
{
	bool late = pass_too_long(job, 0);

	if (late)
		pass_stop_late(job);
	return late || (job->rescue->pass->from != BAD && pass_too_many(job));
}
