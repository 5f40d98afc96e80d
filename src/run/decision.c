/*
 * What a run decides before anything is changed, in this order: partitions, the
 * plan, the files to write, objections, claims.
 */
#include "run/decision.h"

#include <string.h>

#include "base/ioprio.h"
#include "base/status.h"
#include "open/tee.h"
#include "part/parts.h"
#include "part/used.h"
#include "plan/safety.h"
#include "record/events.h"

static int
set_ioprio(const struct opts *o, struct fault *f)
{
	int err = o->ioprio == NULL ? 0 :
	    ioprio_apply(ioprio_parse(o->ioprio));

	return err == 0 ? 0 : fault_errno(f, err, "ioprio=%s", o->ioprio);
}

/* Limit every target to its partition. */
static int
limit_target(const struct opts *o, struct endpoint *dst, struct fault *f)
{
	struct endpoint *one;
	unsigned i;

	for (i = 0; (one = tee_target(dst, i)) != NULL; i++)
		if (parts_limit(one, o->opart, f) != 0)
			return -1;
	return o->targets > 1 ? tee_join(dst, f) : 0;
}

static int
decision_check(struct decision *d, struct fault *f)
{
	return d->plan.targets > 1 ? several_check(&d->several, &d->plan, f) :
	    safety_check(&d->plan, f);
}

static int
decision_claim(struct decision *d, struct fault *f)
{
	return d->several != NULL ? several_claim(d->several, f) :
	    claims_take(&d->claims, NULL, &d->plan, f);
}

/*
 * Collect remarks; with several targets each plan has its own.  What is packed
 * is refused here, because only now has the source been read.
 */
static int
decision_remark(struct decision *d, const struct opts *o, struct fault *f)
{
	bool thorough = o->mode == MODE_DRY_RUN || o->ask || o->verbose > 0;

	d->remarks = (struct remarks){ .signs = 0 };
	if (d->several != NULL && several_remark(d->several, thorough, f) != 0)
		return -1;
	if (d->several == NULL)
		remarks_make(&d->remarks, &d->plan, thorough);
	if (d->remarks.packed != NULL && d->plan.dst->is.device)
		return packed_refuse(d->remarks.packed, &d->plan, f);
	d->plan.found = o->compare == 0 && d->several == NULL ? &d->remarks :
	    NULL;
	return 0;
}

/*
 * With table=: read the table of the source, which says how much of it has to
 * go to a smaller target.
 */
static int
decision_read_table(struct decision *d, struct fault *f)
{
	struct plan *p = &d->plan;
	uint64_t room = (uint64_t)p->dst->geo.room, needs;

	if (p->opts->table == 0)
		return 0;
	if (p->src->is.streamed || p->dst->is.streamed || p->dst->is.zoned ||
	    !endpoint_holds(p->dst))
		return fault_set(f, STATUS_USAGE, "table= is for the clone of "
		    "a disk, or of its image, on a disk or in a file");
	if (source_table_read(&d->source_table, p->src, f) != 0)
		return -1;
	needs = source_table_needs(d->source_table);
	if (p->dst->geo.room >= 0 && p->length > room && needs < p->length)
		p->length = needs;
	return 0;
}

/* Make the table of each target. */
static int
decision_make_table(struct decision *d, struct fault *f)
{
	bool fresh = (d->plan.opts->table & TABLE_WORD_NEW) != 0;
	struct plan *p;
	unsigned i;

	for (i = 0; d->source_table != NULL && i < d->plan.targets; i++) {
		p = d->plan.each != NULL ? &d->plan.each[i] : &d->plan;
		if (clone_table_make(&d->table[i], d->source_table, p, fresh,
		    f) != 0)
			return -1;
		p->table = d->table[i];
	}
	return 0;
}

static void
decision_free_tables(struct decision *d)
{
	unsigned i;

	source_table_free(d->source_table);
	for (i = 0; i < TARGETS_MOST; i++)
		clone_table_free(d->table[i]);
}

int
decision_make(struct decision *d, const struct opts *o, struct endpoint *src,
    struct endpoint *dst, struct events *ev, struct fault *f)
{
	struct plan *p = &d->plan;

	d->several = NULL;
	d->source_table = NULL;
	memset(d->table, 0, sizeof(d->table));
	if (parts_limit(src, o->ipart, f) != 0 ||
	    limit_target(o, dst, f) != 0 ||
	    outputs_load(&d->outputs, o, f) != 0)
		return -1;
	if (plan_make(p, o, d->outputs.layout, src, dst, f) == 0 &&
	    decision_read_table(d, f) == 0 &&
	    used_make(&d->outputs.used, p, &d->outputs.bmap, f) == 0) {
		events_plan(ev, p);
		p->needed = remarks_needed(p, p->cut);
		if (outputs_open(&d->outputs, p, f) == 0 &&
		    decision_check(d, f) == 0 &&
		    decision_make_table(d, f) == 0 && set_ioprio(o, f) == 0 &&
		    decision_claim(d, f) == 0) {
			if (decision_remark(d, o, f) == 0)
				return 0;
			decision_free(d);
			return -1;
		}
	}
	several_free(d->several);
	outputs_close(&d->outputs);
	decision_free_tables(d);
	return -1;
}

void
decision_settle(const struct decision *d)
{
	if (d->several != NULL)
		several_settle(d->several);
	else
		claims_settle(&d->claims);
}

void
decision_forget(const struct decision *d)
{
	if (d->several != NULL)
		several_forget(d->several);
	else
		claims_forget(&d->claims);
}

void
decision_free(struct decision *d)
{
	if (d->several != NULL)
		several_release(d->several);
	else
		claims_release(&d->claims);
	several_free(d->several);
	outputs_close(&d->outputs);
	decision_free_tables(d);
	remarks_free(&d->remarks);
}
