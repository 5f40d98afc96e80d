/*
 * JSON lines for programs, and the journal.  Every line is made and written by
 * the main thread, with one write(2) where a sink takes it (sink.c).
 *
 * Progress does without where nobody reads, errors are put off, and only what
 * is told once, while no worker runs, is worth some seconds of waiting.
 * After a failure a sink gets nothing more: a pipe's last line may be a part of
 * one.
 */
#include "plan/confine.h"
#include "report/events.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/status.h"
#include "base/value.h"
#include "config.h"
#include "copy/watch.h"
#include "digest/hash.h"
#include "end/tee.h"
#include "part/used.h"
#include "report/describe.h"

#define SCHEMA	"pardd/1"

enum {
	PATIENCE = 5000,	/* ms for a reader that is slow */
	INTERVAL = 1,		/* seconds */
};

/* --- opening ------------------------------------------------------------ */

int
events_open(struct events *ev, const struct opts *o, struct fault *f)
{
	struct fault second;
	int failed = 0;

	*ev = (struct events){ .opts = o, .next = INTERVAL,
		.json = { .fd = -1, .key = "json", .name = o->json },
		.log = { .fd = -1, .key = "log", .name = o->log,
		    .journal = true } };
	clock_gettime(CLOCK_REALTIME, &ev->started);
	if (o->json == NULL && o->log == NULL)
		return 0;
	signals_ignore();
	ev->source = describe_unknown(o->input);
	ev->target = describe_unknown(o->output);
	ev->unreadable = json_array();
	ev->mismatch = json_array();
	if (o->json != NULL)
		failed = sink_open(&ev->json, o, f);
	if (o->log != NULL && sink_open(&ev->log, o, failed != 0 ? &second :
	    f) != 0)
		failed = -1;
	return failed;
}

/* --- writing ------------------------------------------------------------ */

static void
incomplete(struct sink *s, int err)
{
	fault_errno(&s->trouble, err, "%s=%s: it is not complete", s->key,
	    s->name);
}

/* Write an object, which is used up, as a line. */
static void
emit(struct sink *s, json_t *o, int patience)
{
	size_t len;
	char *line = value_line(o, &len);
	int err = line == NULL ? ENOMEM : sink_put(s, line, len, patience);

	if (err != 0) {
		incomplete(s, err);
		sink_close(s);
	}
	free(line);
}

/* That was the last one.  A server may tell only now that it has no room. */
static void
last(struct sink *s)
{
	int err = sink_close(s);

	if (err != 0)
		incomplete(s, err);
}

bool
events_trouble(struct events *ev, struct fault *f)
{
	struct sink *s = ev->json.trouble.status != 0 ? &ev->json : &ev->log;

	*f = s->trouble;
	s->trouble.status = 0;
	return f->status != 0;
}

/* --- values ------------------------------------------------------------- */

static json_t *
operands(const struct opts *o)
{
	json_t *list = json_array();
	int i;

	for (i = 1; i < o->argc; i++)
		list = value_append(list, value_text(o->argv[i]));
	return list;
}

static json_t *
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return value_time(&t);
}

/* --- events ------------------------------------------------------------- */

static json_t *
file_system(const struct used_fs *fs)
{
	static const char *const words[] = { [TREATED_USED] = "used",
		[TREATED_WHOLE] = "whole", [TREATED_ORDERED] = "ordered" };
	bool known = fs->used + fs->free > 0;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o}",
	    "partition", value_amount(fs->partition > 0 ?
	    (int64_t)fs->partition : -1),
	    "offset", value_count(fs->off), "length", value_count(fs->length),
	    "type", value_known(fs->type), "label", value_known(fs->label),
	    "used", value_amount(known ? (int64_t)fs->used : -1),
	    "free", value_amount(known ? (int64_t)fs->free : -1),
	    "state", fs_state_name(fs->state), "treated", words[fs->treated],
	    "reason", value_known(fs->reason));
}

/* What is known of the source with used=. */
static json_t *
used_line(const struct plan *p)
{
	const struct used *u = p->used;
	json_t *list = json_array();
	size_t i;

	for (i = 0; u != NULL && i < u->n; i++)
		list = value_append(list, file_system(&u->fs[i]));
	return json_pack("{s:o, s:o, s:o}",
	    "used", value_text(opts_word("used", p->opts->used)),
	    "bytes_free", value_amount(u != NULL ? (int64_t)u->bytes_free : -1),
	    "file_systems", list);
}

static json_t *
plan_line(const struct events *ev, const struct plan *p)
{
	const struct opts *o = p->opts;

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:O, s:O, s:o, s:o, s:o, "
	    "s:s, s:s, s:i, s:b, s:b, s:b, s:b, s:I, s:b, s:o, s:b, s:b, s:o, "
	    "s:o}",
	    "schema", SCHEMA, "event", "plan", "version", PARDD_VERSION,
	    "started", value_time(&ev->started), "operands", operands(o),
	    "source", ev->source, "target", ev->target,
	    "block_size", value_count(p->bs),
	    "length", value_amount(p->bounded ? (int64_t)p->length : -1),
	    "transfer", value_count(p->chunk),
	    "engine", p->queues > 0 ? "async" : "threads",
	    "engine_reason", p->engine_why,
	    "workers", (int)plan_workers(p),
	    "holes", p->holes, "sparse", p->store == STORE_SPARSE,
	    "reflink", p->reflink,
	    "coe", o->coe != 0, "retries", (json_int_t)o->retries,
	    "sync", o->sync != 0,
	    "verify", value_text(opts_word("verify", o->verify)),
	    "compare", p->work == WORK_COMPARE,
	    "dry_run", o->mode == MODE_DRY_RUN,
	    "rate", value_amount(o->rate), "ioprio", value_text(o->ioprio));
}

/* An object, and of several targets each. */
static json_t *
with_targets(const struct events *ev, json_t *o)
{
	return ev->targets == NULL ? o : value_set(o, "targets",
	    json_deep_copy(ev->targets));
}

static json_t *
targets(const struct plan *p)
{
	json_t *list = json_array();
	const struct endpoint *ep;
	unsigned i;

	for (i = 0; (ep = tee_target(p->dst, i)) != NULL; i++)
		list = value_append(list, json_pack("{s:o}", "end",
		    describe_end(ep, p->dst_off + ep->lim.base)));
	return list;
}

void
events_plan(struct events *ev, const struct plan *p)
{
	if (ev->json.fd < 0 && ev->log.fd < 0)
		return;
	json_decref(ev->source);
	json_decref(ev->target);
	ev->source = describe_end(p->src, p->src_off);
	ev->target = describe_end(tee_target(p->dst, 0), p->dst_off +
	    (p->targets > 1 ? tee_target(p->dst, 0)->lim.base : 0));
	if (p->targets > 1)
		ev->targets = targets(p);
	ev->bounded = p->bounded;
	ev->length = p->length;
	if (ev->json.fd >= 0)
		emit(&ev->json, with_targets(ev, value_merge(plan_line(ev, p),
		    used_line(p))), PATIENCE);
}

int
events_wait(const struct events *ev, double seconds)
{
	if (ev->json.fd < 0)
		return -1;
	return seconds >= ev->next ? 0 : (int)((ev->next - seconds) * 1e3) + 1;
}

static json_t *
range(const struct plan *p, const struct seg *s)
{
	return json_pack("{s:o, s:o}",
	    "offset", value_count(p->src_off + s->off),
	    "length", value_count(s->len));
}

/* The counts that each progress and each ending have. */
static json_t *
counts(const struct tally *t)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}",
	    "bytes_read", value_count(t->read),
	    "bytes_written", value_count(t->written),
	    "bytes_unreadable", value_count(t->lost),
	    "bytes_spared", value_count(t->spared),
	    "bytes_outside", value_count(t->outside),
	    "bytes_verified", value_count(t->verified),
	    "bytes_differing", value_count(t->differing),
	    "bytes_mended", value_count(t->mended), "seconds", t->seconds);
}

/* Tell what is unreadable before the border, as far as it was not told. */
static void
tell_errors(struct events *ev, const struct plan *p, struct map *map,
    uint64_t border, int patience)
{
	struct seg s;
	json_t *o;

	while (ev->json.fd >= 0 && map_next(map, ev->told, BAD, &s) &&
	    s.off + s.len < border &&
	    (patience > 0 || sink_room(&ev->json, 0))) {
		o = json_pack("{s:s, s:s}", "schema", SCHEMA,
		    "event", "error");
		emit(&ev->json, value_merge(o, range(p, &s)), patience);
		ev->told = s.off + s.len;
	}
}

/* Where the part of the map begins that may still change. */
static uint64_t
settled(struct map *map, uint64_t from)
{
	static const enum seg_status open[] = { UNTRIED, UNTRIMMED, UNSCRAPED,
		CLAIMED, LATER, LAST, ASIDE };
	uint64_t border = UINT64_MAX;
	struct seg s;
	size_t i;

	for (i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		if (map_next(map, from, open[i], &s) && s.off < border)
			border = s.off;
	return border;
}

/* What is waited for, or null. */
static json_t *
stalled(const struct plan *p, const struct silence *s)
{
	const char *word = watch_word(s, p);

	return word == NULL ? json_null() : json_pack("{s:s, s:f}",
	    "on", word, "seconds", s->seconds);
}

void
events_progress(struct events *ev, const struct plan *p, struct map *map,
    const struct tally *t)
{
	static const char *const classes[] = { [ORDER_META] = "metadata",
		[ORDER_DEEP] = "metadata", [ORDER_USED] = "used",
		[ORDER_REST] = "rest" };
	json_t *o;

	if (ev->json.fd < 0 || t->seconds < ev->next)
		return;
	ev->next = t->seconds + INTERVAL;
	tell_errors(ev, p, map, settled(map, ev->told), 0);
	if (ev->json.fd < 0 || !sink_room(&ev->json, 0))
		return;
	o = json_pack("{s:s, s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}",
	    "schema", SCHEMA,
	    "event", "progress", "phase", phase_name(t->phase),
	    "class", value_text(classes[t->order]),
	    "stopping", t->stopping, "stalled", stalled(p, &t->silence),
	    "length", value_amount(p->bounded ? (int64_t)p->length : -1),
	    "bytes_finished", value_count(t->finished), "bytes_left",
	    value_amount(p->bounded ? (int64_t)t->left : -1),
	    "temperature", isnan(t->celsius) ? json_null() :
	    json_real(t->celsius));
	emit(&ev->json, value_merge(o, counts(t)), 0);
}

/* All that was tried in vain, merged, with what a rescue left half tried. */
static json_t *
unreadable(const struct plan *p, struct map *map)
{
	struct seg *seg, *last = NULL;
	size_t n = map_copy(map, &seg), i;
	json_t *list = seg != NULL ? json_array() : NULL;

	for (i = 0; i < n; i++) {
		if (seg[i].status != BAD && seg[i].status != UNTRIMMED &&
		    seg[i].status != UNSCRAPED)
			continue;
		if (last != NULL && last->off + last->len == seg[i].off) {
			last->len += seg[i].len;
			continue;
		}
		if (last != NULL)
			list = value_append(list, range(p, last));
		last = &seg[i];
	}
	if (last != NULL)
		list = value_append(list, range(p, last));
	free(seg);
	return list;
}

void
events_errors(struct events *ev, const struct plan *p, struct map *map)
{
	if (ev->json.fd < 0)
		return;
	tell_errors(ev, p, map, UINT64_MAX, PATIENCE);
	json_decref(ev->unreadable);
	ev->unreadable = unreadable(p, map);
}

void
events_pattern(struct events *ev, const struct pattern *p)
{
	if (ev->json.fd >= 0)
		emit(&ev->json, json_pack("{s:s, s:s, s:o, s:o, s:f}",
		    "schema", SCHEMA, "event", "pattern", "length",
		    value_amount((int64_t)p->length), "period",
		    value_amount((int64_t)p->period), "share", p->share),
		    PATIENCE);
}

void
events_dropped(struct events *ev, const struct plan *p, unsigned i,
    const struct fault *why)
{
	if (ev->json.fd >= 0)
		emit(&ev->json, json_pack("{s:s, s:s, s:o, s:i, s:s, s:o}",
		    "schema", SCHEMA, "event", "dropped", "target",
		    value_text(p->each[i].dst->name), "status", why->status,
		    "message", why->text, "bytes_written",
		    value_count(tee_written(p->dst, i))), PATIENCE);
}

void
events_gone(struct events *ev, const struct plan *p, const struct tally *t)
{
	if (ev->json.fd >= 0)
		emit(&ev->json, json_pack("{s:s, s:s, s:f, s:o}",
		    "schema", SCHEMA, "event", "gone", "seconds", t->seconds,
		    "wait", value_amount(p->opts->wait)), PATIENCE);
}

void
events_back(struct events *ev, const struct plan *p)
{
	if (ev->json.fd >= 0)
		emit(&ev->json, json_pack("{s:s, s:s, s:o}",
		    "schema", SCHEMA, "event", "back", "name",
		    value_text(p->src->name)), PATIENCE);
}

/* --- the result --------------------------------------------------------- */

struct ending {
	int		 status, signal;
	const char	*verdict, *message;
	struct tally	 tally;
	const struct damage *damage;	/* or NULL */
	bool		 flushed, verified;
	const struct hash *hash;
	unsigned	 confined;	/* enum confined */
};

static const char *
verdict(int status, bool began)
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

/* The digests, null where not all was copied. */
static json_t *
hashes(const struct hash *hash)
{
	json_t *list = json_array();
	const struct hash_sum *d;
	size_t n, i;

	d = hash_digests(hash, &n);
	for (i = 0; i < n; i++)
		list = value_append(list, json_pack("{s:s, s:o, s:o}",
		    "algorithm", d[i].name, "digest", value_known(d[i].hex),
		    "expected", value_text(d[i].expected)));
	return list;
}

/* The most requests at a time; null: one for each worker. */
static json_t *
in_flight(const struct tally *t)
{
	if (t->in_flight_read == 0)
		return json_null();
	return json_pack("{s:i, s:i}", "reads", (int)t->in_flight_read,
	    "writes", (int)t->in_flight_written);
}

static json_t *
confined(unsigned holds)
{
	json_t *list = json_array();
	const char *word;
	unsigned i;

	for (i = 0; (word = confine_word(i, holds)) != NULL; i++)
		list = value_append(list, json_string(word));
	return list;
}

/* What result and run have in common. */
static json_t *
ending(const struct events *ev, const char *event, const struct ending *e)
{
	json_t *o = json_pack("{s:s, s:s, s:i, s:s, s:o, s:o}",
	    "schema", SCHEMA, "event", event,
	    "status", e->status, "verdict", e->verdict,
	    "message", value_text(e->message),
	    "signal", value_amount(e->signal > 0 ? e->signal : -1));

	o = value_merge(o, counts(&e->tally));
	return value_merge(o, json_pack("{s:o, s:o, s:o, s:b, s:b, s:o, "
	    "s:o, s:o, s:o, s:o}", "bytes_holes", value_count(e->tally.holes),
	    "bytes_zeroed", value_count(e->tally.zeroed),
	    "bytes_shared", value_count(e->tally.shared),
	    "flushed", e->flushed, "verified", e->verified,
	    "hashes", hashes(e->hash), "in_flight", in_flight(&e->tally),
	    "confined", confined(e->confined),
	    "started", value_time(&ev->started), "ended", now()));
}

/* What was there. */
static json_t *
loss(const struct loss *l)
{
	if (!l->known)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:s}", "files",
	    value_count(l->files), "structures", value_count(l->structures),
	    "free", value_count(l->free), "state", fs_state_name(l->state));
}

static json_t *
names(const struct fs_names *f)
{
	json_t *list = f->known ? json_array() : json_null();
	size_t i;

	for (i = 0; i < f->n; i++)
		list = value_append(list, value_text(f->name[i]));
	return list;
}

/* Where the losses lie, and what names the files hit. */
static json_t *
damage(const struct damage *d)
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
		    "lost", loss(&a->loss),
		    "command", value_known(a->command),
		    "left_out", value_count(a->more),
		    "files_hit", names(&a->files),
		    "files_all", damage_all_named(a)));
	}
	return list;
}

static void
finish(struct events *ev, const struct ending *e, int patience)
{
	const struct opts *o = ev->opts;
	json_t *end;

	if (ev->json.fd >= 0) {
		end = ending(ev, "result", e);
		end = value_merge(end, json_pack("{s:O, s:O, s:o, s:O, s:O}",
		    "unreadable", ev->unreadable,
		    "mismatch", ev->mismatch, "damage", damage(e->damage),
		    "source", ev->source, "target", ev->target));
		emit(&ev->json, with_targets(ev, end), patience);
	}
	if (ev->log.fd >= 0) {
		end = ending(ev, "run", e);
		end = value_merge(end, json_pack("{s:O, s:O, s:o, s:I, s:o}",
		    "source", ev->source, "target", ev->target,
		    "length",
		    value_amount(ev->bounded ? (int64_t)ev->length : -1),
		    "uid", (json_int_t)getuid(), "operands", operands(o)));
		emit(&ev->log, with_targets(ev, end), patience);
	}
	if (patience > 0) {
		last(&ev->json);
		last(&ev->log);
	}
}

/* What differs at the end. */
static json_t *
mismatch(const struct plan *p, struct map *differ)
{
	json_t *list = json_array();
	struct seg s = { .off = 0 };

	while (differ->ready && map_next(differ, s.off + s.len, BAD, &s))
		list = value_append(list, value_set(range(p, &s),
		    "target_offset", value_count(p->dst_off + s.off)));
	return list;
}

static void
list_mismatch(struct events *ev, const struct plan *p, struct outcome *out)
{
	if (ev->json.fd < 0 || out->abandoned || !out->differ.ready)
		return;
	json_decref(ev->mismatch);
	ev->mismatch = mismatch(p, out->targets > 0 ? &out->each[0].differ :
	    &out->differ);
}

/* What has become of each. */
static void
judge_targets(struct events *ev, const struct plan *p, struct outcome *out)
{
	struct share *one;
	json_t *o;
	unsigned i;

	for (i = 0; i < out->targets; i++) {
		one = &out->each[i];
		o = value_merge(json_array_get(ev->targets, i) == NULL ? NULL :
		    json_incref(json_array_get(ev->targets, i)),
		    json_pack("{s:i, s:s, s:s, s:o, s:b, s:b, s:o}",
		    "status", one->verdict.status,
		    "verdict", verdict(one->verdict.status, true),
		    "message", one->verdict.text,
		    "bytes_written", value_count(tee_written(p->dst, i)),
		    "flushed", one->flushed, "verified", one->proven &&
		    one->verdict.status != STATUS_MISMATCH,
		    "mismatch", out->abandoned ? json_array() :
		    mismatch(&p->each[i], &one->differ)));
		json_decref(o);
	}
}

void
events_result(struct events *ev, const struct plan *p, struct outcome *out)
{
	const struct ending e = { .status = out->verdict.status,
		.signal = out->signal,
		.verdict = verdict(out->verdict.status, true),
		.message = out->verdict.text, .tally = out->tally,
		.damage = &out->damage,
		.flushed = out->targets > 0 ? out->each[0].flushed :
		    p->dst->is.durable && p->opts->sync != 0 &&
		    out->flush.status == 0 && !out->doubt && !out->abandoned,
		.verified = out->targets > 0 ? out->each[0].proven &&
		    out->each[0].verdict.status != STATUS_MISMATCH :
		    out->proven && out->tally.differing == 0,
		.hash = p->hash, .confined = p->confined };

	list_mismatch(ev, p, out);
	if (ev->targets != NULL)
		judge_targets(ev, p, out);
	finish(ev, &e, out->abandoned ? 0 : PATIENCE);
}

void
events_refused(struct events *ev, const struct fault *why)
{
	const struct ending e = { .status = why->status,
		.verdict = verdict(why->status, false), .message = why->text };

	json_decref(ev->targets);	/* nothing has become of them */
	ev->targets = NULL;
	finish(ev, &e, PATIENCE);
}

void
events_close(struct events *ev)
{
	json_decref(ev->source);
	json_decref(ev->target);
	json_decref(ev->unreadable);
	json_decref(ev->mismatch);
	json_decref(ev->targets);
	sink_close(&ev->json);
	sink_close(&ev->log);
}
