/*
 * JSON lines for programs.  The main thread makes and writes every line, with
 * one write(2) if the sink takes it (sink.c).
 *
 * Progress is dropped if nobody reads, and errors are deferred.  Only lines
 * that are written once are worth a wait of some seconds.  After a failure a
 * sink gets nothing more: the last line in a pipe may be incomplete.
 *
 * The last line is the result, which the journal gets as well; for a run that
 * has ended, and for one that did not begin.
 */
#include "record/events.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/status.h"
#include "base/value.h"
#include "config.h"
#include "copy/verdict.h"
#include "digest/hash.h"
#include "disk/disk.h"
#include "open/tee.h"
#include "part/used.h"
#include "plan/confine.h"

/* --- an end -------------------------------------------------------------- */

/* An end that could not be opened; the name may be NULL. */
static json_t *
describe_unknown(const char *name)
{
	return json_pack("{s:o, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:b}",
	    "name", value_text(name), "kind", "size", "block", "offset",
	    "device", "inode", "disk", "created", 0);
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
	    -1), "offset", value_count(off), "device", id->known ?
	    json_sprintf("%u:%u", major(id->dev), minor(id->dev)) : json_null(),
	    "inode", id->known && id->ino != 0 ? value_count(id->ino) :
	    json_null(),
	    "created", ep->is.absent);

	return value_set(o, "disk", disk_of(ep));
}

/* --- lines --------------------------------------------------------------- */

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

/*
 * Write an object as a line, waiting up to patience ms, and free it.  If the
 * sink does not take it, the sink is closed, and s->trouble says why.
 */
static void
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

/* After the last line: a server may report a full disk only now. */
static void
event_last(struct sink *s)
{
	int err = sink_close(s);

	if (err != 0)
		event_incomplete(s, err);
}

/* The words of the command line. */
static json_t *
event_operands(const struct opts *o)
{
	json_t *list = json_array();
	int i;

	for (i = 1; i < o->argc; i++)
		list = value_append(list, value_text(o->argv[i]));
	return list;
}

/* Add what is known about several targets to an object; takes it over. */
static json_t *
event_targets(const struct events *ev, json_t *o)
{
	return ev->targets == NULL ? o : value_set(o, "targets",
	    json_deep_copy(ev->targets));
}

/* A range of the map, in bytes of the source. */
static json_t *
event_range(const struct plan *p, const struct seg *s)
{
	return json_pack("{s:o, s:o}",
	    "offset", value_count(p->src_off + s->off),
	    "length", value_count(s->len));
}

/* The counts in each progress line and each result. */
static json_t *
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

void
events_begin(struct events *ev, const struct opts *o)
{
	*ev = (struct events){ .opts = o, .next = INTERVAL,
		.json = { .fd = -1, .key = "json", .name = o->json },
		.log = { .fd = -1, .key = "log", .name = o->log,
		    .journal = true } };
	clock_gettime(CLOCK_REALTIME, &ev->started);
	if (o->json == NULL && o->log == NULL)
		return;
	signals_ignore();
	ev->source = describe_unknown(o->input);
	ev->target = describe_unknown(o->output);
	ev->unreadable = json_array();
	ev->mismatch = json_array();
}

static int
events_open_sink(struct sink *s, const struct opts *o, struct fault *f)
{
	return s->name == NULL || s->fd >= 0 ? 0 : sink_open(s, o, f);
}

int
events_open(struct events *ev, struct fault *f)
{
	struct fault of_log;
	int json = events_open_sink(&ev->json, ev->opts, f);
	int log = events_open_sink(&ev->log, ev->opts, &of_log);

	if (log != 0 && (json == 0 || of_log.by == TOLD_LEASED))
		*f = of_log;
	return json == 0 ? log : json;
}

static json_t *
file_system(const struct used_fs *fs)
{
	static const char *const words[] = { [TREATED_USED] = "used",
		[TREATED_WHOLE] = "whole", [TREATED_ORDERED] = "ordered" };
	bool known = fs->used + fs->free > 0;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, "
	    "s:o}", "volume", value_known(fs->volume),
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
	    "s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
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
	    "verify", value_text(opts_word("verify", p->verify)),
	    "compare", p->work == WORK_COMPARE,
	    "dry_run", o->mode == MODE_DRY_RUN,
	    "rate", value_amount(o->rate), "ioprio", value_text(o->ioprio),
	    "decode", value_text(opts_word("decode", o->decode)),
	    "decoded", value_text(p->src->decoded),
	    "encode", value_text(o->encode),
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
	const char *word = silence_word(s, p);

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

/* --- the result ---------------------------------------------------------- */

struct ending {
	int		 status, signal;
	const char	*verdict, *message;
	struct tally	 tally;
	const struct damage *damage;	/* or NULL */
	bool		 flushed, verified;
	int64_t		 packed;	/* bytes that encode= has made, or -1 */
	const struct hash *hash;
	unsigned	 confined;	/* enum confined */
	const struct verdict *why;	/* whose status it is */
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
		[WHY_REFUSED] = "refused", [WHY_USAGE] = "usage",
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
	char force[64];

	for (r = v->why; r < v->why + v->n; r++) {
		const struct fault *f = r->fault;

		opts_force_words(f != NULL ? f->force : 0, force,
		    sizeof(force));
		list = value_append(list, json_pack("{s:s, s:i, s:o, s:o, s:o, "
		    "s:o, s:o, s:o}", "kind", kinds[r->kind],
		    "status", r->status, "end", value_text(r->end != NULL ?
		    r->end->name : f != NULL ? f->end : NULL),
		    "bytes", value_amount(r->bytes),
		    "ranges", value_amount(r->ranges), "errno",
		    value_amount(f != NULL && f->err > 0 ? f->err : -1),
		    "force", value_known(force), "message",
		    value_text(f != NULL ? f->text : NULL)));
	}
	return list;
}

/* What readers of view= were answered, and whether they still have it open. */
static json_t *
result_view(const struct opts *o, const struct viewer_counts *v)
{
	return o->view == NULL ? json_null() : json_pack("{s:o, s:o, s:o, "
	    "s:o, s:b}", "file", value_text(o->view), "from_target",
	    value_count(v->there), "when_read", value_count(v->read),
	    "with_error", value_count(v->failed), "in_use", v->used);
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

	o = value_set(o, "reasons", result_reasons(e->why));
	o = value_set(o, "view", result_view(ev->opts, &e->tally.view));
	o = value_merge(o, event_counts(&e->tally));
	return value_merge(o,
	    json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o}",
	    "bytes_packed", value_amount(e->packed),
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
result_verified(const struct plan *p, struct result *r)
{
	return r->proven && p->verify != VERIFY_SAMPLE &&
	    (!r->differ.ready || map_totals(&r->differ).bad == 0);
}

/* What is so of the run if it is so of each target. */
static void
result_of_all(struct ending *e, const struct plan *p, struct outcome *out)
{
	unsigned i;

	e->flushed = e->verified = true;
	e->why = &out->target[0].verdict;
	for (i = 0; i < out->targets; i++) {
		e->flushed &= out->target[i].flushed;
		e->verified &= result_verified(p, &out->target[i]);
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
		    result_verified(p, one),
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
		.packed = p->dst->encoded != NULL ? (int64_t)p->dst->stored :
		    -1,
		.confined = p->confined };

	result_of_all(&e, p, out);
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
	const struct verdict v = { .n = 1, .why = { { .status = why->status,
		.kind = why->status == STATUS_USAGE ? WHY_USAGE :
		    why->status == STATUS_REFUSED ? WHY_REFUSED : WHY_FAULT,
		.bytes = -1, .ranges = -1, .fault = why } } };
	const struct ending e = { .status = why->status, .packed = -1,
		.verdict = result_verdict(why->status, false), .message =
		    why->text, .why = &v };

	json_decref(ev->targets);	/* nothing was done to them */
	ev->targets = NULL;
	events_finish(ev, &e, PATIENCE);
}
