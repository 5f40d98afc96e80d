/*
 * What a run decides before anything is changed, in this order: partitions, the
 * plan, the files to write, objections, claims.
 */
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "base/ioprio.h"
#include "base/number.h"
#include "base/status.h"
#include "open/tee.h"
#include "part/parts.h"
#include "part/used.h"
#include "plan/safety.h"
#include "record/events.h"
#include "view/view.h"

static int
set_ioprio(const struct opts *o, struct fault *f)
{
	int err = o->ioprio == NULL ? 0 : ioprio_apply(ioprio_parse(o->ioprio));

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

/* Make the table of a target, which knows best why that cannot have it. */
static int
decision_make_table(struct decision *d, unsigned target, struct fault *f)
{
	struct plan *one = plan_part(&d->plan, target);
	struct clone_table **made = &d->target[target].table;
	bool fresh = (d->plan.opts->table & TABLE_WORD_NEW) != 0;

	if (d->source_table == NULL)
		return 0;
	if (clone_table_make(made, d->source_table, one, fresh, f) != 0)
		return -1;
	one->table = *made;
	return 0;
}

/*
 * Check the plan of each target for objections, and the targets against each
 * other.
 */
static int
decision_check(struct decision *d, struct fault *f)
{
	struct plan *p = &d->plan;
	unsigned i, j;

	d->target = calloc(p->targets, sizeof(*d->target));
	if (d->target == NULL || plan_divide(p) != 0)
		return fault_errno(f, ENOMEM, "the targets");
	for (i = 0; i < p->targets; i++) {
		if (decision_make_table(d, i, f) != 0 ||
		    safety_check(plan_each(p, i), f) != 0)
			return -1;
		for (j = 0; j < i; j++)
			if (overlap_targets(&p->each[j], &p->each[i], f) != 0)
				return -1;
	}
	return 0;
}

static int
decision_claim(struct decision *d, struct fault *f)
{
	const struct claims *others = NULL;
	const struct plan *one;

	for (; (one = plan_each(&d->plan, d->claimed)) != NULL; d->claimed++) {
		if (claims_take(&d->target[d->claimed].claims, others, one,
		    f) != 0) {
			f->end = one->dst->name;
			return -1;
		}
		others = &d->target[d->claimed].claims;
	}
	return 0;
}

static int
decision_refuse_packed(const struct packing *is, const struct plan *p,
    struct fault *f)
{
	char text[sizeof(f->text)];

	packed_tell(is, p, text, sizeof(text));
	return fault_set(f, STATUS_REFUSED, "%s; %s", text, p->src->decoded ==
	    NULL ? "decode=none copies it as it is" :
	    "unpack it into a file first");
}

/* What is packed is refused here: only now has the source been read. */
static int
decision_remark(struct decision *d, const struct opts *o, struct fault *f)
{
	bool thorough = o->mode == MODE_DRY_RUN || o->ask || o->verbose > 0;
	struct remarks *found[TARGETS_MOST];
	struct plan *one;
	unsigned i;

	for (i = 0; i < d->plan.targets; i++)
		found[i] = &d->target[i].remarks;
	remarks_make(found, &d->plan, thorough);
	for (i = 0; i < d->plan.targets; i++) {
		one = plan_part(&d->plan, i);
		if (found[i]->packed != NULL && one->dst->is.device)
			return decision_refuse_packed(found[i]->packed, one,
			    f);
		one->found = o->compare == 0 ? found[i] : NULL;
	}
	return 0;
}

/*
 * With table=: read the table of the source, which says how much of it has to
 * go to a smaller target, or to one with larger sectors.
 */
static int
decision_read_table(struct decision *d, struct fault *f)
{
	struct plan *p = &d->plan;
	uint64_t room = (uint64_t)p->dst->geo.room, needs;
	uint32_t unit = MAX(p->dst->geo.block, 1);

	if (p->opts->table == 0)
		return 0;
	if (p->src->is.streamed || p->dst->is.streamed || p->dst->is.zoned ||
	    !endpoint_holds(p->dst) || p->src_off > 0 || p->dst_off > 0)
		return fault_set(f, STATUS_USAGE, "table= is for the clone of "
		    "a disk, or of its image, on a disk or in a file");
	if (source_table_read(&d->source_table, p->src, f) != 0)
		return -1;
	needs = round_up(source_table_needs(d->source_table), unit);
	if (p->dst->geo.room >= 0 && needs < p->length &&
	    (p->length > room || p->length % unit != 0))
		p->length = needs;
	return 0;
}

int
decision_make(struct decision *d, const struct opts *o, struct endpoint *src,
    struct endpoint *dst, struct events *ev, struct fault *f)
{
	struct plan *p = &d->plan;

	d->target = NULL;
	d->claimed = 0;
	d->source_table = NULL;
	if (parts_limit(src, o->ipart, f) != 0 ||
	    limit_target(o, dst, f) != 0 ||
	    outputs_load(&d->outputs, o, f) != 0)
		return -1;
	if (plan_make(p, o, d->outputs.layout, src, dst, f) == 0 &&
	    decision_read_table(d, f) == 0 &&
	    used_make(&d->outputs.used, p, &d->outputs.bmap, f) == 0) {
		events_plan(ev, p);
		p->needed = remarks_needed(p, p->cut);
		if (viewer_look(p, f) == 0 &&
		    outputs_open(&d->outputs, p, f) == 0 &&
		    decision_check(d, f) == 0 && set_ioprio(o, f) == 0 &&
		    decision_claim(d, f) == 0 && decision_remark(d, o, f) == 0)
			return 0;
	}
	decision_free(d);
	return -1;
}

void
decision_settle(const struct decision *d, bool copied)
{
	unsigned i;

	for (i = 0; i < d->claimed; i++)
		claims_settle(&d->target[i].claims, copied);
}

void
decision_free(struct decision *d)
{
	unsigned i;

	while (d->claimed > 0)
		claims_release(&d->target[--d->claimed].claims);
	viewer_close(d->plan.view);
	outputs_close(&d->outputs);
	source_table_free(d->source_table);
	for (i = 0; d->target != NULL && i < d->plan.targets; i++) {
		clone_table_free(d->target[i].table);
		remarks_free(&d->target[i].remarks);
	}
	free(d->target);
	free(d->plan.each);
}
