/*
 * How requests are made.  The asynchronous engine is used where requests wait
 * for a disk: it needs less CPU time, and keeps as many in flight as the disk
 * can use.  If both ends use the page cache, requests are copies in memory,
 * which threads do in parallel.
 */
#include "engine.h"

#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "end/endpoint.h"

enum {
	THREADS = 4,
	MEMORY = 64 << 20,	/* in flight, without mem= */
	SLOTS_MOST = 256,	/* in all queues */
	ZONES_MOST = 16,	/* as thr= */
	LONG_COPY = 8,		/* transfers that are worth a ring */
};

/* The number of claims; the first and the last may be partial. */
static uint64_t
engine_claims(const struct plan *p)
{
	uint64_t claim = plan_claim(p, p->claim), phase = plan_phase(p);
	uint64_t n = p->length / claim, rest = p->length % claim;

	n += rest != 0;
	n += rest + phase > claim ||
	    (phase > 0 && rest == 0 && p->length > 0);
	return n > 0 ? n : 1;
}

/* The number of workers without thr=. */
static unsigned
usual_workers(const struct plan *p)
{
	if (p->work == WORK_COMPARE)
		return 2 * THREADS;	/* two ends are read */
	if (p->targets > 1)
		return 2 * THREADS;	/* each waits for the slowest target */
	if (p->opts->verify == VERIFY_STREAM)
		return THREADS + THREADS / 2;	/* a third of them verifies */
	/* each waits for the network */
	if (p->src->is.remote || p->dst->is.remote)
		return 4 * THREADS;
	/* tmpfs: writers to one file spin on its lock */
	return p->dst->is.memory ? THREADS / 2 : THREADS;
}

/* Whether reading at several places takes a disk longer than at one. */
static bool
engine_rotates(const struct endpoint *ep)
{
	struct disk d;

	return (endpoint_disk(ep, &d) || disk_of_block(ep->id.dev, &d)) &&
	    d.rotates;
}

/*
 * How many zones of the target are written at a time.  One after the other, if
 * the source or a digest wants its bytes in order, or a transfer could lie in
 * two zones.
 */
static unsigned
engine_zones(const struct plan *p)
{
	const struct opts *o = p->opts;
	const struct geometry *geo = &p->dst->geo;
	unsigned n;

	if (!p->dst->is.zoned)
		return 0;
	if (p->src->is.streamed || o->hash != 0 ||
	    geo->zone % p->chunk != 0 || p->dst_off % p->chunk != p->phase ||
	    geo->zone == 0 || engine_rotates(p->src))
		return 1;
	n = endpoint_writers(p->dst, p->dst_off, p->dst_off +
	    round_up(p->length, p->pad), p->src, p->src_off);
	return MIN(MAX(n, 1), ZONES_MOST);
}

/*
 * At most one worker per claim and per zone that may be written, and one for a
 * small copy.
 */
static unsigned
engine_workers(const struct plan *p)
{
	uint64_t usual = usual_workers(p);
	uint64_t most = p->opts->thr > 0 ? (uint64_t)p->opts->thr : usual;
	uint64_t n = engine_claims(p);

	if (p->opts->bpt < 0 && p->length <= USUAL_TRANSFER)
		n = 1;
	if (p->zones > 0 && p->zones < most)
		most = p->zones;
	return (unsigned)(n < most ? n : most);
}

/* Why the copy cannot be asynchronous, or NULL. */
static const char *
needs_threads(const struct plan *p)
{
	if (p->src->is.streamed || p->dst->is.streamed)
		return "a stream is one request at a time";
	if (p->opts->verify == VERIFY_STREAM || p->work == WORK_COMPARE ||
	    p->store == STORE_DIFFERING)
		return "the target is read, too";
	if (p->work == WORK_RESCUE)
		return "a rescue waits for bad blocks";
	if (p->opts->base != NULL || p->work == WORK_CHECK)
		return "ranges are looked up";
	return p->src->sync_why != NULL ? p->src->sync_why : p->dst->sync_why;
}

/* Check qd= against an end: each worker has one lane there. */
static int
check_depth(const struct plan *p, const struct endpoint *ep, struct fault *f)
{
	if (ep->geo.depth == 0 || p->opts->qd <= ep->geo.depth)
		return 0;
	return fault_set(f, STATUS_USAGE, "qd=%lld: %s takes %u commands of a "
	    "worker at a time", (long long)p->opts->qd, ep->name,
	    ep->geo.depth);
}

/* Why threads do as well, unless the user asks otherwise; or NULL. */
static const char *
prefers_threads(const struct plan *p)
{
	const struct opts *o = p->opts;

	if ((o->engine & ENGINE_THREADS) != 0)
		return "engine=";
	if (o->thr > 0)
		return "thr=";
	if (!p->src->is.past_cache && !p->dst->is.past_cache)
		return "through the page cache";
	/* a remote end zeroes by one request among others */
	if (p->store == STORE_SPARSE || (p->holes && !p->src->is.remote))
		return "zeros are made one by one";
	return engine_claims(p) < LONG_COPY ? "a short copy" : NULL;
}

/* Use only as many threads as mem= has buffers for. */
static void
set_threads(struct plan *p)
{
	uint64_t mem = p->opts->mem > 0 ? (uint64_t)p->opts->mem :
	    p->targets > 1 ? MEMORY : 0;
	uint64_t most = mem / (p->room + p->other);

	if (mem > 0 && most < p->workers)
		p->workers = most > 0 ? (unsigned)most : 1;
}

/* Each of qd= requests needs two slots: one being read, one being written. */
static int
set_queues(struct plan *p, uint64_t mem, struct fault *f)
{
	const struct opts *o = p->opts;
	uint64_t slots;

	if (check_depth(p, p->src, f) != 0 || check_depth(p, p->dst, f) != 0)
		return -1;
	p->queues = o->thr > 0 && !p->src->is.single && !p->dst->is.single ?
	    p->workers : 1;
	p->queues = (unsigned)MIN(p->queues, mem / p->room / 2);
	p->queues = MAX(p->queues, 1);
	slots = mem / p->room / p->queues;
	if (o->qd > 0 && o->mem > 0 && (uint64_t)o->qd * 2 > slots)
		return fault_set(f, STATUS_USAGE, "qd=%lld needs %llu bytes, "
		    "more than mem=", (long long)o->qd, (unsigned long long)
		    ((uint64_t)o->qd * 2 * p->room * p->queues));
	if (o->qd > 0)
		slots = (uint64_t)o->qd * 2;
	else if (slots > SLOTS_MOST / p->queues)
		slots = SLOTS_MOST / p->queues;
	p->slots = slots > 2 ? (unsigned)slots : 2;
	return 0;
}

int
engine_choose(struct plan *p, struct fault *f)
{
	uint64_t mem = p->opts->mem > 0 ? (uint64_t)p->opts->mem : MEMORY;
	bool wanted = opts_async(p->opts);

	p->zones = engine_zones(p);
	p->workers = engine_workers(p);
	set_threads(p);
	p->engine_why = needs_threads(p);
	if (p->engine_why != NULL && wanted)
		return fault_set(f, STATUS_USAGE, "%s cannot be used here: "
		    "%s", (p->opts->engine & ENGINE_ASYNC) != 0 ?
		    "engine=async" : "qd=", p->engine_why);
	if (p->engine_why == NULL && !wanted)
		p->engine_why = prefers_threads(p);
	if (p->engine_why != NULL)
		return 0;
	p->engine_why = wanted ? "asked for" : "past the page cache";
	return set_queues(p, mem, f);
}
