/*
 * JSON lines for programs during a run; for the result see events_result.c.
 * The main thread makes and writes every line, with one write(2) if the sink
 * takes it (sink.c).
 *
 * Progress is dropped if nobody reads, and errors are deferred.  Only lines
 * that are written once are worth a wait of some seconds.  After a failure a
 * sink gets nothing more: the last line in a pipe may be incomplete.
 *
 * An end of the copy as JSON, for events and manifests.
 */
#include "record/events.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/signals.h"
#include "base/value.h"
#include "config.h"
#include "copy/watch.h"
#include "disk/disk.h"
#include "open/tee.h"
#include "part/used.h"

/*
 * One JSON line for programs.  If it cannot be written completely, its sink
 * gets nothing more.
 */

static void
event_incomplete(struct sink *s, int err)
{
	fault_errno(&s->trouble, err, "%s=%s: it is not complete", s->key,
	    s->name);
}

void
event_put(struct sink *s, json_t *o, int patience)
{
	size_t len;
	char *line = value_line(o, &len);
	int err = line == NULL ? ENOMEM : sink_put(s, line, len, patience);

	if (err != 0) {
		event_incomplete(s, err);
		sink_close(s);
	}
	free(line);
}

void
event_last(struct sink *s)
{
	int err = sink_close(s);

	if (err != 0)
		event_incomplete(s, err);
}

json_t *
event_operands(const struct opts *o)
{
	json_t *list = json_array();
	int i;

	for (i = 1; i < o->argc; i++)
		list = value_append(list, value_text(o->argv[i]));
	return list;
}

json_t *
event_targets(const struct events *ev, json_t *o)
{
	return ev->targets == NULL ? o : value_set(o, "targets",
	    json_deep_copy(ev->targets));
}

json_t *
event_range(const struct plan *p, const struct seg *s)
{
	return json_pack("{s:o, s:o}",
	    "offset", value_count(p->src_off + s->off),
	    "length", value_count(s->len));
}

json_t *
event_counts(const struct tally *t)
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

enum { INTERVAL = 1 };		/* seconds */

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

/* What is known about the source with used=. */
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
	    "s:s, s:s, s:i, s:o, s:b, s:b, s:b, s:b, s:I, s:b, s:o, s:b, s:b, "
	    "s:o, s:o, s:o, s:o, s:o, s:o}",
	    "schema", SCHEMA, "event", "plan", "version", PARDD_VERSION,
	    "started", value_time(&ev->started), "operands", event_operands(o),
	    "source", ev->source, "target", ev->target,
	    "block_size", value_count(p->bs),
	    "length", value_amount(p->bounded ? (int64_t)p->length : -1),
	    "transfer", value_count(p->chunk),
	    "engine", p->queues > 0 ? "async" : "threads",
	    "engine_reason", p->engine_why,
	    "workers", (int)plan_workers(p),
	    "zones", value_amount(p->zones > 0 ? (int64_t)p->zones : -1),
	    "holes", p->holes, "sparse", p->store == STORE_SPARSE,
	    "reflink", p->reflink,
	    "coe", o->coe != 0, "retries", (json_int_t)o->retries,
	    "sync", o->sync != 0,
	    "verify", value_text(opts_word("verify", o->verify)),
	    "compare", p->work == WORK_COMPARE,
	    "dry_run", o->mode == MODE_DRY_RUN,
	    "rate", value_amount(o->rate), "ioprio", value_text(o->ioprio),
	    "decode", value_text(opts_word("decode", o->decode)),
	    "decoded", value_text(p->src->decoded),
	    "table", value_text(opts_word("table", o->table)),
	    "rest", value_text(opts_word("rest", o->rest)));
}

static json_t *
events_targets(const struct plan *p)
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
		ev->targets = events_targets(p);
	ev->bounded = p->bounded;
	ev->length = p->length;
	if (ev->json.fd >= 0)
		event_put(&ev->json, event_targets(ev, value_merge(
		    plan_line(ev, p), used_line(p))), PATIENCE);
}

int
events_wait(const struct events *ev, double seconds)
{
	if (ev->json.fd < 0)
		return -1;
	return seconds >= ev->next ? 0 : (int)((ev->next - seconds) * 1e3) + 1;
}

/* Write the unreadable ranges before the boundary that were not written yet. */
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
		event_put(&ev->json, value_merge(o, event_range(p, &s)),
		    patience);
		ev->told = s.off + s.len;
	}
}

/*
 * Where the part of the map begins that may still change: all of it if a rescue
 * rereads bad blocks.
 */
static uint64_t
events_settled(const struct plan *p, struct map *map, uint64_t from)
{
	static const enum seg_status open[] = { UNTRIED, UNTRIMMED, UNSCRAPED,
		CLAIMED, LATER, LAST, ASIDE };
	uint64_t border = UINT64_MAX;
	struct seg s;
	size_t i;

	if (p->work == WORK_RESCUE && p->opts->retries != 0)
		return 0;
	for (i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		if (map_next(map, from, open[i], &s) && s.off < border)
			border = s.off;
	return border;
}

/* What the copy waits for, or null. */
static json_t *
events_stalled(const struct plan *p, const struct silence *s)
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
	tell_errors(ev, p, map, events_settled(p, map, ev->told), 0);
	if (ev->json.fd < 0 || !sink_room(&ev->json, 0))
		return;
	o = json_pack("{s:s, s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}",
	    "schema", SCHEMA,
	    "event", "progress", "phase", phase_name(t->phase),
	    "class", value_text(classes[t->order]),
	    "stopping", t->stopping, "stalled", events_stalled(p, &t->silence),
	    "length", value_amount(p->bounded ? (int64_t)p->length : -1),
	    "bytes_finished", value_count(t->finished), "bytes_left",
	    value_amount(p->bounded ? (int64_t)t->left : -1),
	    "temperature", isnan(t->celsius) ? json_null() :
	    json_real(t->celsius));
	event_put(&ev->json, value_merge(o, event_counts(t)), 0);
}

/*
 * All ranges that could not be read, joined, including those that a rescue has
 * only begun to examine.
 */
static json_t *
events_unreadable(const struct plan *p, struct map *map)
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
			list = value_append(list, event_range(p, last));
		last = &seg[i];
	}
	if (last != NULL)
		list = value_append(list, event_range(p, last));
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
	ev->unreadable = events_unreadable(p, map);
}

void
events_pattern(struct events *ev, const struct pattern *p)
{
	if (ev->json.fd >= 0)
		event_put(&ev->json, json_pack("{s:s, s:s, s:o, s:o, s:f}",
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
		event_put(&ev->json, json_pack("{s:s, s:s, s:o, s:i, s:o, s:o}",
		    "schema", SCHEMA, "event", "dropped", "target",
		    value_text(plan_each(p, i)->dst->name),
		    "status", why->status,
		    "message", value_text(why->text), "bytes_written",
		    value_count(tee_written(p->dst, i))), PATIENCE);
}

void
events_gone(struct events *ev, const struct plan *p, const struct tally *t)
{
	if (ev->json.fd >= 0)
		event_put(&ev->json, json_pack("{s:s, s:s, s:f, s:o}",
		    "schema", SCHEMA, "event", "gone", "seconds", t->seconds,
		    "wait", value_amount(p->opts->wait)), PATIENCE);
}

void
events_back(struct events *ev, const struct plan *p)
{
	if (ev->json.fd >= 0)
		event_put(&ev->json, json_pack("{s:s, s:s, s:o}",
		    "schema", SCHEMA, "event", "back", "name",
		    value_text(p->src->name)), PATIENCE);
}

bool
events_trouble(struct events *ev, struct fault *f)
{
	struct sink *s = ev->json.trouble.status != 0 ? &ev->json : &ev->log;

	*f = s->trouble;
	s->trouble.status = 0;
	return f->status != 0;
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

json_t *
describe_unknown(const char *name)
{
	return json_pack("{s:o, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:b}",
	    "name", value_text(name), "kind", "size", "block", "offset",
	    "device", "inode", "disk", "created", 0);
}

static json_t *
describe_device(const struct identity *id)
{
	return id->known ? json_sprintf("%u:%u", major(id->dev),
	    minor(id->dev)) : json_null();
}

/* The disk of an end, or null. */
static json_t *
disk_of(const struct endpoint *ep)
{
	char by_id[NAME_MAX + 1] = "";
	struct disk d;

	if (!endpoint_disk(ep, &d))
		return json_null();
	if (d.node != 0)
		disk_by_id(d.node, by_id, sizeof(by_id));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}",
	    "name", value_known(d.whole_name),
	    "vendor", value_known(d.vendor), "model", value_known(d.model),
	    "serial", value_known(d.serial), "wwn", value_known(d.wwn),
	    "transport", value_known(d.transport),
	    "by_id", value_known(by_id), "backing", value_known(d.backing),
	    "partition", d.partition);
}

json_t *
describe_end(const struct endpoint *ep, uint64_t off)
{
	const struct identity *id = &ep->id;
	json_t *o = json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:b}",
	    "name", value_text(ep->name), "kind", endpoint_kind(ep)->json,
	    "size", value_amount(ep->is.absent ? -1 :
	    ep->lim.part > 0 ? ep->lim.disk_size : ep->geo.size),
	    "block", value_amount(ep->geo.block > 0 ? (int64_t)ep->geo.block :
	    -1), "offset", value_count(off), "device", describe_device(id),
	    "inode", id->known && id->ino != 0 ? value_count(id->ino) :
	    json_null(),
	    "created", ep->is.absent);

	return value_set(o, "disk", disk_of(ep));
}
