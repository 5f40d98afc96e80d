/*
 * The verdict on a run: that on its target, or on each of several and on all of
 * them.
 */
#include "report/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "map/map.h"
#include "open/tee.h"
#include "verdict_one.h"

/*
 * "NOT complete: /dev/sdb: why" becomes "NOT complete: why", as /dev/sdb was
 * named before.
 */
static void
fault_without_name(struct fault *said, const char *name)
{
	static const char head[] = "NOT complete: ";
	char *at = said->text + strlen(head);
	size_t n = strlen(name);

	if (strncmp(said->text, head, strlen(head)) == 0 &&
	    strncmp(at, name, n) == 0 && strncmp(at + n, ": ", 2) == 0)
		memmove(at, at + n + 2, strlen(at + n + 2) + 1);
}

/* Whether the copy stopped because a target failed, as the last one. */
static bool
of_target(const struct plan *p, const struct fault *stopped)
{
	struct fault why;
	unsigned i;

	for (i = 0; i < p->targets; i++)
		if (tee_dropped(p->dst, i, &why) &&
		    strcmp(why.text, stopped->text) == 0)
			return true;
	return false;
}

/* What is wrong with the i-th target, or with the copy as a whole. */
static void
judge_one(const struct plan *p, struct outcome *out, unsigned i)
{
	const struct fault fault = out->fault, flush = out->flush;
	struct share *one = &out->each[i];
	struct map differ;
	struct fault why;
	bool dropped = tee_dropped(p->dst, i, &why);

	if (dropped && why.status == STATUS_NOT_FLUSHED) {
		out->flush = why;
		if (of_target(p, &fault))
			out->fault.status = STATUS_COMPLETE;
	} else if (dropped) {
		out->fault = why;
	}
	map_take(&differ, &out->differ);
	map_take(&out->differ, &one->differ);
	out->unread = one->unread;
	out->proven = one->proven;
	verdict_one(&p->each[i], out);
	one->verdict = out->verdict;
	fault_without_name(&one->verdict, p->each[i].dst->name);
	one->flushed = p->each[i].dst->is.durable && p->opts->sync != 0 &&
	    out->flush.status == 0 && !dropped && !out->abandoned;
	map_take(&one->differ, &out->differ);
	map_take(&out->differ, &differ);
	out->fault = fault;
	out->flush = flush;
}

/* Whether one sentence covers all targets. */
static bool
verdict_targets_alike(const struct outcome *out)
{
	const struct fault *first = &out->each[0].verdict, *v;
	unsigned i;

	for (i = 1; i < out->targets; i++) {
		v = &out->each[i].verdict;
		if (v->status != first->status ||
		    strcmp(v->text, first->text) != 0)
			return false;
	}
	return true;
}

/* Name the targets that are incomplete; the status is that of the first one. */
static void
name_incomplete(const struct plan *p, struct outcome *out)
{
	char names[800] = "";
	const struct fault *v;
	unsigned bad = 0, i;
	size_t at = 0;
	int status = STATUS_COMPLETE;

	for (i = 0; i < out->targets; i++) {
		v = &out->each[i].verdict;
		if (v->status == STATUS_COMPLETE)
			continue;
		status = bad++ == 0 ? v->status : status;
		if (at < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at,
			    "%s%s", bad > 1 ? ", " : "",
			    p->each[i].dst->name);
	}
	if (bad == 0)
		fault_set(&out->verdict, STATUS_COMPLETE, "complete: %u "
		    "targets", out->targets);
	else
		fault_set(&out->verdict, status, "NOT complete: %u of %u "
		    "targets: %s", bad, out->targets, names);
}

void
verdict_judge(const struct plan *p, struct outcome *out)
{
	bool proven = true;
	unsigned i;

	if (out->targets == 0) {
		verdict_one(p, out);
		return;
	}
	for (i = 0; i < out->targets; i++) {
		judge_one(p, out, i);
		proven = proven && out->each[i].proven;
	}
	out->proven = proven;
	if (verdict_targets_alike(out))
		fault_set(&out->verdict, out->each[0].verdict.status,
		    "%s: %u targets", out->each[0].verdict.text,
		    out->targets);
	else
		name_incomplete(p, out);
}
