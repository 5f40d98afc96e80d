/*
 * Every default and every decision, with its reason; how requests are made is
 * decided last.  This only decides.
 */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "digest/digest_table.h"
#include "disk/disk.h"
#include "end/endpoint.h"
#include "open/tee.h"
#include "plan/fit.h"

/*
 * Which engine makes the requests of a plan.
 */

/* Bytes of a transfer: the smallest fast size of 64 KiB to 16 MiB. */
enum { USUAL_TRANSFER = 1 << 20 };

/*
 * How requests are made.  The asynchronous engine is used where requests wait
 * for a disk: it needs less CPU time, and keeps as many in flight as the disk
 * can use.  If both ends use the page cache, requests are copies in memory,
 * which threads do in parallel.
 */

enum {
	THREADS = 4,
	MEMORY = 64 << 20,	/* in flight, without mem= */
	SLOTS_MOST = 256,	/* in all queues */
	ZONES_MOST = 16,	/* as thr= */
	WORKERS_MOST = 16,	/* the same */
	LONG_COPY = 8,		/* transfers that are worth a ring */
};

/* The number of claims; the first and the last may be partial. */
static uint64_t
engine_claims(const struct plan *p)
{
	uint64_t claim = plan_claim(p, p->claim), phase = plan_phase(p);
	uint64_t n = p->length / claim, rest = p->length % claim;

	n += rest != 0;
	n += rest + phase > claim || (phase > 0 && rest == 0 && p->length > 0);
	return n > 0 ? n : 1;
}

/* The number of workers without thr=. */
static unsigned
usual_workers(const struct plan *p)
{
	if (p->work == WORK_COMPARE)
		return 2 * THREADS;	/* two ends are read */
	if (p->dst->encoded != NULL)	/* all cores, while two wait */
		return (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1) + 2,
		    WORKERS_MOST);
	if (p->targets > 1)
		return 2 * THREADS;	/* each waits for the slowest target */
	if (p->verify == VERIFY_STREAM)
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
	if (p->verify == VERIFY_STREAM || p->work == WORK_COMPARE ||
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
	uint64_t mem = p->mem > 0 ? p->mem : p->targets > 1 ? MEMORY : 0;
	/* packed bytes take as much again, and what packs them */
	uint64_t packed = p->dst->encoded != NULL ? 2 * (uint64_t)p->room : 0;
	uint64_t most = mem / (p->room + p->other + packed);

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
	if (o->qd > 0 && (p->mem == 0 || (uint64_t)o->qd * 2 < slots))
		slots = (uint64_t)o->qd * 2;
	else if (slots > SLOTS_MOST / p->queues)
		slots = SLOTS_MOST / p->queues;
	p->slots = slots > 2 ? (unsigned)slots : 2;
	return 0;
}

/*
 * Choose the engine of a plan that has the sizes of its transfers, and set how
 * many workers, queues and slots it has, and why.  Returns 0, or -1 with *f.
 */
static int
engine_choose(struct plan *p, struct fault *f)
{
	uint64_t mem = p->mem > 0 ? p->mem : MEMORY;
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

enum {
	SMALL_TRANSFER = 64 << 10,	/* warm cache, few pages touched */
	TRANSFER_MOST = 1 << 30,
	STRIPE_MOST = 16 << 20,
	SECTOR = 512,
	PAGE = 4096,
	SLOTS_LEAST = 6,	/* fewer do not keep both ends busy */
};

/* The block size: bs=, else the source's, else the target's, else 512. */
static uint64_t
plan_block_size(const struct plan *p)
{
	if (p->opts->bs > 0)
		return (uint64_t)p->opts->bs;
	if (p->src->geo.block > 0)
		return p->src->geo.block;
	if (p->dst->geo.block > 0)
		return p->dst->geo.block;
	return SECTOR;
}

static int
too_large(struct fault *f, const char *what)
{
	return fault_set(f, STATUS_USAGE, "%s lies beyond the last byte that "
	    "can be addressed, 8 EiB", what);
}

/* Compute base + n units; refuse what exceeds a file offset. */
static int
plan_offset(uint64_t *off, uint64_t base, int64_t n, uint64_t unit)
{
	if (__builtin_mul_overflow((uint64_t)n, unit, off) ||
	    __builtin_add_overflow(*off, base, off) || *off > INT64_MAX)
		return -1;
	return 0;
}

static int
place_ends(struct plan *p, const struct layout *l, struct fault *f)
{
	const struct opts *o = p->opts;

	if (plan_offset(&p->src_off, p->src->lim.base, o->skip,
	    (o->iflag & FLAG_SKIP_BYTES) != 0 ? 1 : p->bs) != 0)
		return too_large(f, "skip=");
	if (plan_offset(&p->dst_off, p->dst->lim.base, o->seek,
	    (o->oflag & FLAG_SEEK_BYTES) != 0 ? 1 : p->bs) != 0)
		return too_large(f, "seek=");
	/* the data checked lies where the manifest says, or at skip= */
	if (l != NULL && l->all && !o->skips && p->src->lim.part == 0)
		p->src_off = l->off;
	return 0;
}

/* The bytes from off on, or UINT64_MAX if unknown. */
static uint64_t
endpoint_rest(const struct endpoint *ep, uint64_t off)
{
	uint64_t size = (uint64_t)ep->geo.size;

	if (ep->geo.size < 0)
		return UINT64_MAX;
	return size > off ? size - off : 0;
}

/*
 * A comparison covers what both ends have; the length of a stream is unknown.
 */
static int
set_common(struct plan *p, uint64_t most, struct fault *f)
{
	uint64_t a = endpoint_rest(p->src, p->src_off), b =
	    endpoint_rest(p->dst, p->dst_off);

	p->bounded = !p->src->is.streamed && !p->dst->is.streamed;
	p->length = a < b ? a : b;
	if (p->length != UINT64_MAX)
		return p->length <= most ? 0 :
		    too_large(f, "the end of the comparison");
	if (p->bounded)
		return fault_set(f, STATUS_USAGE, "neither %s nor %s has an "
		    "end: give count=", p->src->name, p->dst->name);
	p->length = most;
	return 0;
}

/* The length: count=, else what the source has, else what the target holds. */
static int
set_length(struct plan *p, const struct layout *l, struct fault *f)
{
	const struct opts *o = p->opts;
	uint64_t most = INT64_MAX - (p->src_off > p->dst_off ? p->src_off :
	    p->dst_off);
	uint64_t end;

	p->counted = o->count >= 0 || (l != NULL && l->all);
	p->bounded = true;
	if (l != NULL && l->all) {
		p->length = l->length;
		if (p->length > most)
			return too_large(f, "the end of the manifest");
	} else if (p->counted) {
		if (plan_offset(&p->length, 0, o->count, (o->iflag &
		    FLAG_COUNT_BYTES) != 0 ? 1 : p->bs) != 0 ||
		    p->length > most)
			return too_large(f, "count=");
	} else if (p->work == WORK_COMPARE) {
		return set_common(p, most, f);
	} else if (p->src->geo.size >= 0) {
		end = (uint64_t)p->src->geo.size;
		p->length = end > p->src_off ? end - p->src_off : 0;
		if (p->length > most)
			return too_large(f, "the end of the copy");
	} else if (p->src->is.endless && p->dst->geo.room >= 0) {
		end = (uint64_t)p->dst->geo.room;
		p->length = end > p->dst_off ? end - p->dst_off : 0;
		if (p->length > most)
			return too_large(f, "the end of the copy");
	} else if (p->src->is.endless && !p->dst->is.streamed) {
		return fault_set(f, STATUS_USAGE,
		    "%s has no end: give count=", p->src->name);
	} else {
		p->bounded = false;
		p->length = most;
	}
	return 0;
}

/*
 * The unit to which the end of the copy is padded: logical blocks for a device,
 * bs for conv=sync.
 */
static uint64_t
plan_padding(const struct plan *p)
{
	uint32_t block = p->dst->geo.block > 0 ? p->dst->geo.block : 1;

	if (p->work == WORK_COMPARE)
		return 1;
	if ((p->opts->conv & CONV_PAD) != 0 && block % p->bs != 0)
		return p->bs;
	return block;
}

/* Whether both ends run at the speed of memory. */
static bool
in_memory(const struct plan *p)
{
	const unsigned waits = FLAG_DIRECT | FLAG_DSYNC | FLAG_SYNC;

	return p->src->geo.block == 0 && p->dst->geo.block == 0 &&
	    ((p->opts->iflag | p->opts->oflag) & waits) == 0;
}

/* The largest power of two that is not above this. */
static uint64_t
piece_of(uint64_t bytes)
{
	return UINT64_C(1) << (63 - __builtin_clzll(bytes));
}

/*
 * The transfer size without bpt=.  A small copy through the page cache mostly
 * spends its time on touching new memory.  A target made of several disks is
 * best written in whole stripes.  If an end takes less per request, use that,
 * because the kernel would split larger ones.
 */
static uint64_t
usual_transfer(const struct plan *p)
{
	uint32_t stripe = p->dst->geo.io_opt;
	uint64_t chunk = USUAL_TRANSFER;

	if (p->bounded && p->length <= USUAL_TRANSFER && in_memory(p))
		chunk = SMALL_TRANSFER;
	else if (stripe > SMALL_TRANSFER && stripe <= STRIPE_MOST &&
	    stripe % PAGE == 0)
		chunk = round_up(USUAL_TRANSFER, stripe);
	if (p->src->geo.io_max > 0 && p->src->geo.io_max < chunk)
		chunk = piece_of(p->src->geo.io_max);
	if (p->dst->geo.io_max > 0 && p->dst->geo.io_max < chunk)
		chunk = piece_of(p->dst->geo.io_max);
	return chunk;
}

/*
 * Synchronous writes to the same page wait for each other.  So a worker claims
 * whole pages, and writes its transfers one after another.
 */
static void
set_claim(struct plan *p)
{
	bool waits = (p->opts->oflag & (FLAG_DSYNC | FLAG_SYNC)) != 0;

	p->claim = p->chunk;
	if (!waits || p->opts->manifest != NULL || p->opts->base != NULL ||
	    !endpoint_is_file(p->dst) ||
	    p->src->is.streamed || PAGE % p->chunk != 0 ||
	    p->dst_off % p->chunk != 0)
		return;
	p->claim = PAGE;
	p->phase = p->dst_off % PAGE;
}

/* If digests would take too much memory, use larger transfers, or refuse. */
static int
limit_digests(const struct plan *p, uint64_t *chunk, struct fault *f)
{
	if ((p->verify == 0 && p->opts->manifest == NULL) || !p->bounded)
		return 0;
	while (p->opts->bpt < 0 && p->length / *chunk > CHECKS_USUAL &&
	    *chunk < TRANSFER_MOST)
		*chunk *= 2;
	if (p->length / *chunk <= CHECKS_MOST)
		return 0;
	return fault_set(f, STATUS_USAGE, "bpt= makes transfers so small that "
	    "verify= or manifest= would keep more than %d digests",
	    CHECKS_MOST);
}

/* The second buffer: a window for reading back, or data of the other end. */
static size_t
other_room(const struct plan *p)
{
	if (p->reads_back)
		return ((size_t)round_up(p->room, 4096) +
		    (size_t)2 * READ_BACK_MOST) * p->targets;
	return p->work == WORK_COMPARE ? (size_t)round_up(p->room, 4096) : 0;
}

/*
 * What the buffers may take: mem=, or what is left of the usual amount to who
 * runs in a small memory cgroup; 0: the usual amount.  A short copy, and one
 * through the page cache, has few buffers.
 */
static uint64_t
plan_memory(const struct plan *p)
{
	uint64_t most;

	if (p->opts->mem > 0)
		return (uint64_t)p->opts->mem;
	if ((p->bounded && p->length <= USUAL_TRANSFER) ||
	    (!p->src->is.past_cache && !p->dst->is.past_cache &&
	    p->targets == 1))
		return 0;
	most = fit_memory();
	return most < MEMORY ? MAX(most, SECTOR) : 0;
}

static int
set_transfer(struct plan *p, const struct layout *l, struct fault *f)
{
	const struct opts *o = p->opts;
	uint64_t chunk = usual_transfer(p);

	p->mem = plan_memory(p);
	if (p->mem > 0 && chunk > p->mem / SLOTS_LEAST)
		chunk = piece_of(p->mem / SLOTS_LEAST);
	if (o->bpt > 0)			/* at most 2^30 blocks of 2^32 bytes */
		chunk = (uint64_t)o->bpt * p->bs;
	if (p->work == WORK_RESCUE)
		chunk = round_up(chunk, p->block);
	if (chunk > TRANSFER_MOST)
		return fault_set(f, STATUS_USAGE,
		    "bpt= times bs= makes a transfer of more than 1 GiB");
	if (limit_digests(p, &chunk, f) != 0)
		return -1;
	p->pad = plan_padding(p);
	if ((o->conv & CONV_PAD) != 0 || p->dst->geo.block > 0)
		chunk = round_up(chunk, p->pad);
	/* align transfers at the target, unless bpt= says otherwise */
	if (o->bpt < 0 && !p->dst->is.streamed && p->dst_off % p->pad == 0)
		p->phase = p->dst_off % chunk;
	if (l != NULL && l->chunk == 0)
		l = NULL;		/* any size will do */
	if (l != NULL && o->bpt > 0 && chunk != l->chunk)
		return fault_set(f, STATUS_USAGE, "bpt= asks for transfers of "
		    "%llu bytes, and the ranges of %s have %llu; leave it out",
		    (unsigned long long)chunk, o->base != NULL ? o->base :
		    o->manifest, (unsigned long long)l->chunk);
	if (l != NULL) {
		chunk = l->chunk;
		p->phase = l->phase;
	}
	p->chunk = (size_t)chunk;
	set_claim(p);
	p->room = (size_t)round_up(p->claim, p->pad);
	if (p->bounded && p->length < p->claim)
		p->room = (size_t)round_up(p->length > 0 ? p->length : 1,
		    p->pad);
	p->other = other_room(p);
	return 0;
}

/* Whether something has to see every byte. */
static bool
looks_at_all(const struct plan *p)
{
	return p->work == WORK_RESCUE || p->work == WORK_COMPARE ||
	    p->opts->hash != 0 || p->opts->manifest != NULL ||
	    p->opts->base != NULL || p->opts->bmap != NULL ||
	    p->store == STORE_DIFFERING;
}

/* Only whole blocks can be shared; padding is not in the source. */
static bool
plan_shareable(const struct plan *p)
{
	uint32_t unit = p->src->geo.fs_block;

	return p->src->is.shares && p->dst->is.shares && p->pad == 1 &&
	    unit > 0 && p->src_off % unit == p->dst_off % unit;
}

static enum store
store_of(const struct plan *p)
{
	const struct opts *o = p->opts;
	bool zeros = (o->oflag & (FLAG_SPARSE | FLAG_TRIM)) != 0 ||
	    (o->bmap != NULL && p->src->is.streamed);

	if ((o->oflag & FLAG_SPARING) != 0)
		return STORE_DIFFERING;
	return zeros && p->dst->is.zeroes ? STORE_SPARSE : STORE_ALL;
}

static void
set_store(struct plan *p)
{
	const struct opts *o = p->opts;
	bool never = (o->oflag & FLAG_NOSPARSE) != 0;

	p->store = store_of(p);
	p->holes = p->src->is.sparse && p->dst->is.zeroes && !never &&
	    !looks_at_all(p);
	p->reflink = (o->reflink & REFLINK_NEVER) == 0 && !never &&
	    o->used == 0 && o->bmap == NULL && p->store == STORE_ALL &&
	    !looks_at_all(p) && p->verify == 0 && plan_shareable(p);
}

/*
 * A small copy from memory to memory takes less time than starting a thread.
 * Nothing in it can hang, so nobody needs to wait for signals.
 */
static bool
is_moment(const struct plan *p)
{
	const struct opts *o = p->opts;

	return p->src->is.memory && p->dst->is.memory && in_memory(p) &&
	    p->length <= USUAL_TRANSFER && p->workers == 1 && p->queues == 0 &&
	    !looks_at_all(p) && p->verify == 0 && o->rate < 0 && o->used == 0 &&
	    o->bmap == NULL;
}

/*
 * Only whole blocks can be shared, and a partial one if both files end there;
 * the rest is copied.
 */
static void
set_shared(struct plan *p)
{
	uint64_t unit = p->src->geo.fs_block;
	uint64_t from = p->src_off, to = p->dst_off;
	uint64_t size = (uint64_t)p->src->geo.size, end = p->length, old = 0;

	if (!p->reflink)
		return;
	if (p->dst->geo.size > 0 && p->truncate < 0)
		old = (uint64_t)p->dst->geo.size;
	p->share_off = round_up(from, unit) - from;
	if (from + end != size || to + end < old)
		end -= (from + end) % unit < end ? (from + end) % unit : end;
	p->share_end = end > p->share_off ? end : p->share_off;
}

/* What is removable may be a counterfeit stick or card. */
static unsigned
verify_of(const struct opts *o, struct endpoint *dst)
{
	const struct endpoint *one;
	struct disk d;
	unsigned i;

	for (i = 0; o->samples && (one = tee_target(dst, i)) != NULL; i++)
		if (!endpoint_is_node(one) || !endpoint_disk(one, &d) ||
		    !d.removable)
			return o->verify;
	return o->samples && opts_samples(o) ? VERIFY_SAMPLE : o->verify;
}

/* With compare=1 a map records differences. */
static enum work
work_of(const struct opts *o)
{
	if (o->compare != 0)
		return WORK_COMPARE;
	if (o->check != 0)
		return WORK_CHECK;
	return o->map != NULL ? WORK_RESCUE : WORK_COPY;
}

uint64_t
plan_target_end(const struct plan *p)
{
	uint64_t end = p->bounded ? p->dst_off + round_up(p->length, p->pad) :
	    p->dst->lim.end;

	if ((p->opts->rest != 0 || p->opts->table != 0) &&
	    p->dst->geo.size > 0 && (uint64_t)p->dst->geo.size > end)
		end = (uint64_t)p->dst->geo.size;
	return end;
}

int
plan_make(struct plan *p, const struct opts *o, const struct layout *l,
    struct endpoint *src, struct endpoint *dst, struct fault *f)
{
	*p = (struct plan){ .opts = o, .work = work_of(o), .src = src,
		.dst = dst, .truncate = -1, .verify = verify_of(o, dst),
		.targets = o->targets > 1 ? o->targets : 1,
		.oserial = o->oserial };
	p->bs = plan_block_size(p);
	p->grain = round_up(PAGE, dst->geo.block > 0 ? dst->geo.block : PAGE);
	p->reads_back = p->verify != 0 || (o->oflag & FLAG_SPARING) != 0;
	if (!opts_one_block(o, p->bs))
		return fault_set(f, STATUS_USAGE, "ibs= and obs= must be equal "
		    "to bs=, which is %llu here; write bs=%lld alone",
		    (unsigned long long)p->bs, (long long)(o->ibs > 0 ?
		    o->ibs : o->obs));
	p->sector = src->geo.block > 0 ? src->geo.block : SECTOR;
	p->block = p->sector;
	/* A map then records whole blocks of the target too. */
	if ((p->work == WORK_RESCUE || p->work == WORK_COMPARE) &&
	    dst->geo.block > p->block)
		p->block = dst->geo.block;
	if (place_ends(p, l, f) != 0 || set_length(p, l, f) != 0 ||
	    set_transfer(p, l, f) != 0)
		return -1;
	if (src->is.streamed)		/* where the next reader continues */
		src->lim.end = p->src_off + p->length;
	set_store(p);
	if (engine_choose(p, f) != 0)
		return -1;
	p->alone = is_moment(p);
	/* an image of a disk holds all its secrets */
	p->perm = src->is.device ? 0600 : 0666;
	if ((o->oflag & FLAG_TRUNC) != 0 || dst->encoded != NULL)
		p->truncate = (int64_t)p->dst_off;
	set_shared(p);
	return 0;
}

static void
plan_of_target(struct plan *one, const struct plan *p, unsigned i)
{
	*one = *p;
	one->dst = tee_target(p->dst, i);
	one->dst_off += one->dst->lim.base;
	one->pad = plan_padding(one);
	if (one->truncate >= 0)
		one->truncate += (int64_t)one->dst->lim.base;
	one->oserial = i < p->opts->oserials ? p->opts->serial[i] : NULL;
}

int
plan_divide(struct plan *p)
{
	struct plan *each;
	unsigned i;

	if (p->targets == 1)
		return 0;
	each = calloc(p->targets, sizeof(*each));
	if (each == NULL)
		return ENOMEM;
	for (i = 0; i < p->targets; i++) {
		plan_of_target(&each[i], p, i);
		each[i].first = each;
	}
	p->each = each;
	return 0;
}

const struct plan *
plan_first(const struct plan *p)
{
	const struct plan *one;
	unsigned i;

	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		if (tee_dropped(p->dst, i) == NULL)
			return one;
	return plan_each(p, 0);
}

uint64_t
plan_rest(const struct plan *p)
{
	const struct endpoint *dst = p->dst;
	uint64_t from = p->dst_off + round_up(p->length, p->pad);
	uint64_t size = dst->geo.size > 0 ? (uint64_t)dst->geo.size : 0;

	return p->bounded && dst->is.device && size > from ? size - from : 0;
}
