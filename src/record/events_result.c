/*
 * The last line for programs, the result, and the line of the journal; for a
 * run that has ended, and for one that did not begin.
 */
#include "record/events.h"

#include <jansson.h>
#include <unistd.h>

#include "base/status.h"
#include "base/value.h"
#include "copy/verdict.h"
#include "digest/hash.h"
#include "open/tee.h"
#include "plan/confine.h"

struct ending {
	int		 status, signal;
	const char	*verdict, *message;
	struct tally	 tally;
	const struct damage *damage;	/* or NULL */
	bool		 flushed, verified;
	const struct hash *hash;
	unsigned	 confined;	/* enum confined */
	const struct verdict *why;	/* whose status it is; NULL: refused */
};

static const char *
result_verdict(int status, bool began)
{
	if (!began)
		return status == STATUS_USAGE ? "usage" : "refused";
	switch (status) {
	case STATUS_COMPLETE:
		return "complete";
	case STATUS_MISMATCH:
		return "mismatch";
	case STATUS_UNREADABLE:
		return "unreadable";
	case STATUS_SHORT:
		return "short";
	case STATUS_NOT_FLUSHED:
		return "not_flushed";
	default:
		return "stopped";
	}
}

/* The digests; null if the copy is not complete. */
static json_t *
result_hashes(const struct hash *hash)
{
	json_t *list = json_array();
	const struct hash_sum *d;
	size_t n, i;

	d = hash_digests(hash, &n);
	for (i = 0; i < n; i++)
		list = value_append(list, json_pack("{s:s, s:o, s:o, "
		    "s:o}", "algorithm", d[i].name, "digest",
		    value_known(d[i].hex), "expected",
		    value_text(d[i].expected), "packed",
		    value_text(d[i].packed)));
	return list;
}

/* The largest number of requests at a time; null: one per worker. */
static json_t *
result_in_flight(const struct tally *t)
{
	if (t->in_flight_read == 0)
		return json_null();
	return json_pack("{s:i, s:i}", "reads", (int)t->in_flight_read,
	    "writes", (int)t->in_flight_written);
}

static json_t *
result_confined(unsigned holds)
{
	json_t *list = json_array();
	const char *word;
	unsigned i;

	for (i = 0; (word = confine_word(i, holds)) != NULL; i++)
		list = value_append(list, json_string(word));
	return list;
}

/* Why not all was done. */
static json_t *
result_reasons(const struct verdict *v)
{
	static const char *const kinds[] = {
		[WHY_LEFT] = "left", [WHY_SIGNAL] = "signal",
		[WHY_FAULT] = "fault", [WHY_SHORT] = "short",
		[WHY_EMPTY] = "empty", [WHY_FLUSH] = "not_flushed",
		[WHY_UNSWEPT] = "not_swept", [WHY_UNTRIED] = "not_tried",
		[WHY_UNSAVED] = "map_not_saved",
		[WHY_UNVERIFIED] = "not_verified", [WHY_DIFFERS] = "differs",
		[WHY_LONGER] = "longer", [WHY_UNREADABLE] = "unreadable",
		[WHY_CHECKSUM] = "checksum", [WHY_DIGEST] = "digest",
		[WHY_UNRECORDED] = "not_recorded" };
	json_t *list = json_array();
	const struct reason *r;

	for (r = v->why; r < v->why + v->n; r++)
		list = value_append(list, json_pack("{s:s, s:i, s:o, s:o, s:o, "
		    "s:o}", "kind", kinds[r->kind], "status", r->status,
		    "end", value_text(r->end == NULL ? NULL : r->end->name),
		    "bytes", value_amount(r->bytes),
		    "ranges", value_amount(r->ranges),
		    "message", value_text(r->fault == NULL ? NULL :
		    r->fault->text)));
	return list;
}

/* The common part of result and journal. */
static json_t *
result_ending(const struct events *ev, const char *event,
    const struct ending *e)
{
	json_t *o = json_pack("{s:s, s:s, s:i, s:s, s:o, s:o}",
	    "schema", SCHEMA, "event", event,
	    "status", e->status, "verdict", e->verdict,
	    "message", value_text(e->message),
	    "signal", value_amount(e->signal > 0 ? e->signal : -1));

	o = value_set(o, "reasons", e->why != NULL ? result_reasons(e->why) :
	    json_array());
	o = value_merge(o, event_counts(&e->tally));
	return value_merge(o,
	    json_pack("{s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o}",
	    "bytes_holes", value_count(e->tally.holes), "bytes_zeroed",
	    value_count(e->tally.zeroed), "bytes_shared",
	    value_count(e->tally.shared), "flushed", e->flushed, "verified",
	    e->verified, "hashes", result_hashes(e->hash), "in_flight",
	    result_in_flight(&e->tally), "confined",
	    result_confined(e->confined), "started", value_time(&ev->started),
	    "ended", value_now()));
}

/* What was lost. */
static json_t *
result_loss(const struct loss *l)
{
	if (!l->known)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:s}", "files",
	    value_count(l->files), "structures", value_count(l->structures),
	    "free", value_count(l->free), "state", fs_state_name(l->state));
}

static json_t *
result_names(const struct fs_names *f)
{
	json_t *list = f->known ? json_array() : json_null();
	size_t i;

	for (i = 0; i < f->n; i++)
		list = value_append(list, value_text(f->name[i]));
	return list;
}

/* Where the losses lie, and which files are hit. */
static json_t *
result_damage(const struct damage *d)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; d != NULL && i < d->n; i++) {
		const struct damage_area *a = &d->area[i];

		list = value_append(list, json_pack("{s:o, s:b, s:o, s:o, "
		    "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
		    "partition", value_amount(a->number > 0 ?
		    (int64_t)a->number : -1),
		    "outside", a->outside, "type", value_known(a->type),
		    "label", value_known(a->label),
		    "offset", value_amount(a->outside ? -1 : (int64_t)a->off),
		    "length", value_amount(a->outside ? -1 : (int64_t)a->len),
		    "bytes", value_count(a->bytes),
		    "ranges", value_count(a->ranges),
		    "lost", result_loss(&a->loss),
		    "command", value_known(a->command),
		    "left_out", value_count(a->more),
		    "files_hit", result_names(&a->files),
		    "files_all", damage_all_named(a)));
	}
	return list;
}

static void
events_finish(struct events *ev, const struct ending *e, int patience)
{
	const struct opts *o = ev->opts;
	json_t *end;

	if (ev->json.fd >= 0) {
		end = result_ending(ev, "result", e);
		end = value_merge(end,
		    json_pack("{s:O, s:O, s:o, s:O, s:O}", "unreadable",
		    ev->unreadable, "mismatch", ev->mismatch, "damage",
		    result_damage(e->damage), "source", ev->source, "target",
		    ev->target));
		event_put(&ev->json, event_targets(ev, end), patience);
	}
	if (ev->log.fd >= 0) {
		end = result_ending(ev, "run", e);
		end = value_merge(end, json_pack("{s:O, s:O, s:o, s:I, s:o}",
		    "source", ev->source, "target", ev->target,
		    "length",
		    value_amount(ev->bounded ? (int64_t)ev->length : -1),
		    "uid", (json_int_t)getuid(),
		    "operands", event_operands(o)));
		event_put(&ev->log, event_targets(ev, end), patience);
	}
	if (patience > 0) {
		event_last(&ev->json);
		event_last(&ev->log);
	}
}

/* What differs at the end. */
static json_t *
result_mismatch(const struct plan *p, struct map *differ)
{
	json_t *list = json_array();
	struct seg s = { .off = 0 };

	while (differ->ready && map_next(differ, s.off + s.len, BAD, &s))
		list = value_append(list, value_set(event_range(p, &s),
		    "target_offset", value_count(p->dst_off + s.off)));
	return list;
}

/* What differs at any target; nothing if memory is short. */
static void
list_mismatch(struct events *ev, const struct plan *p, struct outcome *out)
{
	struct map any, *one;
	struct seg s;
	unsigned i;

	if (ev->json.fd < 0 || out->abandoned ||
	    map_init(&any, INT64_MAX, 1, 0) != 0)
		return;
	for (i = 0; i < out->targets; i++) {
		one = &out->target[i].differ;
		s = (struct seg){ .off = 0 };
		while (one->ready && map_next(one, s.off + s.len, BAD, &s))
			map_set(&any, s.off, s.len, BAD);
	}
	json_decref(ev->mismatch);
	ev->mismatch = result_mismatch(p, &any);
	map_free(&any);
}

/* Whether all of a target was read back, and holds what was written. */
static bool
result_verified(const struct opts *o, struct result *r)
{
	return r->proven && (o->verify & VERIFY_SAMPLE) == 0 &&
	    (!r->differ.ready || map_totals(&r->differ).bad == 0);
}

/* What is so of the run if it is so of each target. */
static void
result_of_all(struct ending *e, const struct opts *o, struct outcome *out)
{
	unsigned i;

	e->flushed = e->verified = true;
	e->why = &out->target[0].verdict;
	for (i = 0; i < out->targets; i++) {
		e->flushed &= out->target[i].flushed;
		e->verified &= result_verified(o, &out->target[i]);
		if (e->why->n == 0)
			e->why = &out->target[i].verdict;
	}
}

/* Add the result of each target. */
static void
judge_targets(struct events *ev, const struct plan *p, struct outcome *out)
{
	struct result *one;
	struct fault v;
	json_t *o;
	unsigned i;

	for (i = 0; i < out->targets; i++) {
		one = &out->target[i];
		verdict_words_of(&v, p, out, i);
		o = value_merge(json_array_get(ev->targets, i) == NULL ? NULL :
		    json_incref(json_array_get(ev->targets, i)),
		    json_pack("{s:i, s:s, s:o, s:o, s:o, s:b, s:b, s:o}",
		    "status", v.status,
		    "verdict", result_verdict(v.status, true),
		    "message", value_text(v.text),
		    "reasons", result_reasons(&one->verdict),
		    "bytes_written", value_count(tee_written(p->dst, i)),
		    "flushed", one->flushed, "verified",
		    result_verified(p->opts, one),
		    "mismatch", out->abandoned ? json_array() :
		    result_mismatch(plan_each(p, i), &one->differ)));
		json_decref(o);
	}
}

void
events_result(struct events *ev, const struct plan *p, struct outcome *out)
{
	struct fault v;
	struct ending e = { .status = out->status, .signal = out->signal,
		.verdict = result_verdict(out->status, true),
		.message = v.text, .tally = out->tally,
		.damage = &out->damage, .hash = p->hash,
		.confined = p->confined };

	result_of_all(&e, p->opts, out);
	if (ev->json.fd >= 0 || ev->log.fd >= 0)
		verdict_words(&v, p, out);
	list_mismatch(ev, p, out);
	if (ev->targets != NULL)
		judge_targets(ev, p, out);
	events_finish(ev, &e, out->abandoned ? 0 : PATIENCE);
}

void
events_refused(struct events *ev, const struct fault *why)
{
	const struct ending e = { .status = why->status,
		.verdict = result_verdict(why->status, false), .message =
		    why->text };

	json_decref(ev->targets);	/* nothing was done to them */
	ev->targets = NULL;
	events_finish(ev, &e, PATIENCE);
}
