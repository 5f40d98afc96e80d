/*
 * The verdict on a run, and on each of its targets: the reasons why it did not
 * do all that was wanted, as data, from the map and from what went wrong; and a
 * status from the reasons alone, 0 if there are none.
 */
#include "copy/verdict.h"

#include "base/status.h"
#include "digest/hash.h"
#include "map/map.h"
#include "open/tee.h"

/* --- the reasons --------------------------------------------------------- */

static void
reason_add(struct verdict *v, enum why kind, int status, const struct fault *f)
{
	v->why[v->n++] = (struct reason){ .kind = kind, .status = status,
		.bytes = -1, .ranges = -1, .fault = f };
}

/* A reason in numbers, about an end or NULL. */
static void
reason_count(struct verdict *v, enum why kind, int status,
    const struct endpoint *end, uint64_t bytes, int64_t ranges)
{
	v->why[v->n++] = (struct reason){ .kind = kind, .status = status,
		.end = end, .bytes = (int64_t)bytes, .ranges = ranges };
}

const struct reason *
verdict_reason(const struct verdict *v, enum why kind)
{
	unsigned i;

	for (i = 0; i < v->n; i++)
		if (v->why[i].kind == kind)
			return &v->why[i];
	return NULL;
}

const struct reason *
verdict_from(const struct verdict *v, enum why kind)
{
	const struct reason *r = NULL;

	for (; r == NULL && kind < WHY_KINDS; kind++)
		r = verdict_reason(v, kind);
	return r;
}

int
verdict_judge(const struct reason *why, unsigned n)
{
	const struct reason *first = why, *r;

	for (r = why; r < why + n; r++)
		if (r->kind < first->kind)
			first = r;
	return n == 0 ? STATUS_COMPLETE : first->status;
}

/*
 * Whether the command before us in the pipe has probably failed, so that the
 * target does not have the data it should have.
 */
static bool
brought_nothing(const struct plan *p, const struct map_totals *t)
{
	const struct endpoint *dst = p->dst;

	return p->src->is.piped && p->src_off + t->end == 0 && !p->counted &&
	    p->work != WORK_COMPARE && dst->kind != END_DISCARD &&
	    (dst->is.device || dst->geo.size > 0 || dst->lim.base > 0);
}

/* What has ended the run before all was done. */
static void
reasons_to_end(struct verdict *v, const struct plan *p,
    const struct outcome *out, const struct map_totals *t,
    const struct fault *fault)
{
	uint64_t lost = t->bad + t->failed;

	if (lost > 0)
		reason_count(v, WHY_UNREADABLE, STATUS_UNREADABLE, p->src,
		    lost, (int64_t)t->bad_ranges);
	if (fault->status != 0)
		reason_add(v, WHY_FAULT, fault->status, fault);
	else if (p->counted && t->end < p->length)
		reason_count(v, WHY_SHORT, STATUS_SHORT, p->src, t->end, -1);
	else if (brought_nothing(p, t))
		reason_count(v, WHY_EMPTY, STATUS_SHORT, p->dst, 0, -1);
	if (out->signal != 0)
		reason_add(v, WHY_SIGNAL, STATUS_SIGNAL + out->signal, NULL);
	if (t->untried > 0 && (p->opts->rescue & (RESCUE_NOSWEEP |
	    RESCUE_ONDEMAND)) != 0)
		reason_count(v, WHY_UNSWEPT, STATUS_UNREADABLE, p->src,
		    t->untried, -1);
	else if (t->untried > 0)
		reason_count(v, WHY_UNTRIED, STATUS_FILE, p->src, t->untried,
		    -1);
}

/* What is not as it was written, or as the other end. */
static void
reasons_that_differ(struct verdict *v, const struct plan *p,
    const struct outcome *out, struct result *r)
{
	const bool verify = p->verify != 0;
	const struct reason *first = verdict_from(v, WHY_FAULT);
	const bool whole = first == NULL || first->kind >= WHY_UNSAVED;
	struct map_totals t = { 0 };

	if (r->differ.ready)
		t = map_totals(&r->differ);
	if (verify && whole && !r->proven && (t.bad == 0 || out->signal != 0))
		reason_count(v, WHY_UNVERIFIED, STATUS_MISMATCH, p->dst,
		    NOWHERE, -1);
	if (t.bad > 0)
		reason_count(v, WHY_DIFFERS, STATUS_MISMATCH, verify ? p->dst :
		    NULL, t.bad, (int64_t)t.bad_ranges);
	else if (out->longer != NULL)
		reason_count(v, WHY_LONGER, STATUS_MISMATCH, out->longer,
		    out->tally.verified, -1);
}

/* What is not as it was expected to be. */
static void
reasons_of_digests(struct verdict *v, const struct plan *p)
{
	const struct hash_range *wrong = hash_wrong(p->hash);
	const struct hash_sum *d;
	size_t n, i;

	if (wrong != NULL)
		reason_count(v, WHY_CHECKSUM, STATUS_MISMATCH, NULL,
		    wrong->len, 1);
	d = hash_digests(p->hash, &n);
	for (i = 0; i < n && verdict_reason(v, WHY_DIGEST) == NULL; i++)
		if (d[i].differs)
			reason_add(v, WHY_DIGEST, STATUS_MISMATCH, NULL);
}

/* The run was left with requests in flight: nothing else can be known. */
static void
reasons_of_left(struct verdict *v, const struct plan *p,
    const struct outcome *out)
{
	const bool signal = out->signal != 0 && (out->again != 0 ||
	    !out->stuck);

	if (out->fault.status != 0)
		reason_add(v, WHY_FAULT, out->fault.status, &out->fault);
	if (out->signal != 0)
		reason_add(v, WHY_SIGNAL, STATUS_SIGNAL + out->signal, NULL);
	reason_add(v, WHY_LEFT, signal ? STATUS_SIGNAL + out->signal :
	    out->fault.status, NULL);
	if (out->again == 0 && p->work == WORK_RESCUE &&
	    out->unsaved.status != 0)
		reason_add(v, WHY_UNSAVED, out->unsaved.status, &out->unsaved);
}

/* Of a target; it was dropped because of "why", or that is NULL. */
static void
reasons_of(struct verdict *v, const struct plan *p, struct outcome *out,
    struct result *r, const struct fault *why)
{
	static const struct fault none;
	const bool flushing = why != NULL && why->status == STATUS_NOT_FLUSHED;
	const struct fault *flush = flushing ? why : why != NULL ? &none :
	    &out->flush;
	const struct fault *fault = why != NULL && !flushing ? why :
	    why != NULL && out->fault.by >= TOLD_DROPPED ? &none : &out->fault;
	struct map_totals t = map_totals(&out->map);

	reasons_to_end(v, p, out, &t, fault);
	if (flush->status != 0)
		reason_add(v, WHY_FLUSH, STATUS_NOT_FLUSHED, flush);
	if (out->unsaved.status != 0)
		reason_add(v, WHY_UNSAVED, out->unsaved.status, &out->unsaved);
	reasons_that_differ(v, p, out, r);
	reasons_of_digests(v, p);
	if (out->outputs.status != 0)
		reason_add(v, WHY_UNRECORDED, out->outputs.status,
		    &out->outputs);
}

/* --- each target, and all of them ---------------------------------------- */

static void
verdict_target(const struct plan *p, struct outcome *out, unsigned i)
{
	const struct plan *one = plan_each(p, i);
	const struct fault *why = tee_dropped(p->dst, i);
	struct result *r = &out->target[i];

	r->verdict.n = 0;
	if (out->abandoned)
		reasons_of_left(&r->verdict, p, out);
	else
		reasons_of(&r->verdict, one, out, r, why);
	r->verdict.status = verdict_judge(r->verdict.why, r->verdict.n);
	r->flushed = one->dst->is.durable && p->opts->sync != 0 &&
	    out->flush.status == 0 && !out->doubt && why == NULL &&
	    !out->abandoned;
}

/* The status of the run is that of the first target that has reasons. */
static void
verdict_run(struct outcome *out)
{
	unsigned i = out->targets;

	out->status = STATUS_COMPLETE;
	while (i-- > 0)
		if (out->target[i].verdict.n > 0)
			out->status = out->target[i].verdict.status;
}

void
verdict_make(const struct plan *p, struct outcome *out)
{
	unsigned i;

	for (i = 0; i < out->targets; i++)
		verdict_target(p, out, i);
	verdict_run(out);
}

void
verdict_unrecorded(struct outcome *out, const struct fault *f)
{
	struct verdict *v;
	unsigned i;

	if (out->abandoned || out->outputs.status != 0)
		return;
	out->outputs = *f;
	for (i = 0; i < out->targets; i++) {
		v = &out->target[i].verdict;
		reason_add(v, WHY_UNRECORDED, f->status, &out->outputs);
		v->status = verdict_judge(v->why, v->n);
	}
	verdict_run(out);
}
