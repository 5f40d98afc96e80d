/*
 * The files of a run, at each point where they need something: before the plan,
 * before the copy, at its start, at its end, and after the verdict.
 */
#include "run/outputs.h"

#include <errno.h>

#include "base/signals.h"
#include "html/report_file.h"
#include "copy/verdict.h"
#include "plan/names.h"
#include "report/profile.h"

/* Load the block map, which describes the whole image. */
static int
load_bmap(struct outputs *r, const char *path, struct fault *f)
{
	if (bmap_load(&r->bmap, path, f) != 0)
		return -1;
	r->whole = (struct layout){ .length = r->bmap.size, .all = true };
	r->layout = &r->whole;
	return 0;
}

int
outputs_load(struct outputs *r, const struct opts *o, struct fault *f)
{
	*r = (struct outputs){ .hashfile = { .dir = -1, .fd = -1 },
		.profile = { .dir = -1, .fd = -1 },
		.usedmap = { .dir = -1, .fd = -1 } };
	if (ranges_load(&r->ranges, o, f) != 0)
		return -1;
	if (o->bmap != NULL)
		return load_bmap(r, o->bmap, f);
	if (r->ranges.checks || r->ranges.spares)
		r->layout = &r->ranges.layout;
	return 0;
}

static int
open_hash(struct outputs *r, const struct plan *p, struct fault *f)
{
	if (r->bmap.n == 0 || r->bmap.algorithm == NULL)
		return hash_open(&r->hash, p->opts, f);
	return hash_open_ranges(&r->hash, r->bmap.algorithm, r->bmap.range,
	    r->bmap.n, f);
}

int
outputs_open(struct outputs *r, struct plan *p, struct fault *f)
{
	if (open_hash(r, p, f) != 0 ||
	    newfile_open(&r->hashfile, "hashfile", p->opts->hashfile, f) != 0 ||
	    names_newfile(&r->hashfile, p, f) != 0 ||
	    newfile_open(&r->profile, "profile", p->opts->profile, f) != 0 ||
	    names_newfile(&r->profile, p, f) != 0 ||
	    report_file_open(&r->report, p, f) != 0 ||
	    newfile_open(&r->usedmap, "usedmap", p->opts->usedmap, f) != 0 ||
	    names_newfile(&r->usedmap, p, f) != 0 ||
	    ranges_open(&r->ranges, p, f) != 0)
		return -1;
	p->hash = r->hash;
	if (p->used != NULL && p->used->leaves)
		hash_gaps(r->hash, p->used->free.seg, p->used->free.n,
		    p->src_off);
	p->saved = report_file_saved(r->report);
	return 0;
}

void
outputs_look_before(struct outputs *r)
{
	report_file_look_before(r->report);
}

bool
outputs_any(const struct outputs *r)
{
	return r->hashfile.dir >= 0 || r->profile.dir >= 0 ||
	    r->usedmap.dir >= 0 || r->ranges.file.dir >= 0 || r->report != NULL;
}

int
outputs_start(struct outputs *r, struct fault *f)
{
	bool held;

	if (!outputs_any(r))
		return hash_start(r->hash, f);
	signals_let();
	held = newfile_hold(&r->hashfile, f) == 0 &&
	    newfile_hold(&r->profile, f) == 0 &&
	    newfile_hold(&r->usedmap, f) == 0 &&
	    newfile_hold(&r->ranges.file, f) == 0 &&
	    report_file_start(r->report, f) == 0;
	signals_block();
	return held ? hash_start(r->hash, f) : -1;
}

/* Differences are reported as after verify= and compare=1. */
static void
hand_over(struct ranges *r, struct outcome *out)
{
	struct map_totals t = map_totals(&r->differ);

	map_take(&out->target[0].differ, &r->differ);
	out->tally.differing = t.bad;
	out->tally.verified = out->tally.written - t.bad;
}

/* Whether the target holds what was written to it; base= relies on this. */
static bool
target_holds_copy(const struct outcome *out)
{
	return out->flush.status == 0 && out->tally.differing == 0;
}

/* The origin of the ranges: on a target that keeps data, else on the source. */
static uint64_t
noted_from(const struct plan *p)
{
	const struct endpoint *dst = p->dst;
	bool kept = endpoint_holds(dst) && (!dst->is.streamed ||
	    dst->is.durable);

	return kept ? p->dst_off : p->src_off;
}

/* Where the copy ended, in bytes, if all was copied; else NOWHERE. */
static uint64_t
outputs_end(const struct plan *p, struct outcome *out)
{
	struct map_totals t = map_totals(&out->map);

	return out->fault.status != 0 || t.untried > 0 ||
	    (p->counted && t.end < p->length) ? NOWHERE : t.end;
}

/* Write the manifest or block map. */
static int
write_ranges(struct outputs *outputs, const struct plan *p,
    struct outcome *out, struct fault *f)
{
	struct ranges *r = &outputs->ranges;
	uint64_t end = outputs_end(p, out);

	if (!r->notes || end == NOWHERE || !target_holds_copy(out))
		return 0;
	end = ranges_end(p, end);
	if (r->maps)
		return bmap_write(&r->file, &r->mapped, end, ranges_block(p),
		    f);
	if (digest_table_end(&r->noted, end) != 0)
		return fault_errno(f, ENOMEM, "manifest=%s", p->opts->manifest);
	p = plan_first(p);
	return manifest_write(&r->file, p, &r->noted, noted_from(p),
	    &outputs->ends, f);
}

void
outputs_finish(struct outputs *r, const struct plan *p, struct outcome *out)
{
	struct fault failed;

	if (hash_finish(r->hash, outputs_end(p, out), p->src->packed,
	    &failed) != 0)
		out->fault = failed;
	if (r->ranges.checks)
		hand_over(&r->ranges, out);
}

void
outputs_write(struct outputs *r, const struct plan *p, struct outcome *out)
{
	struct fault f[4] = { 0 };
	size_t i;

	hashfile_write(&r->hashfile, p, out, &f[0]);
	write_ranges(r, p, out, &f[1]);
	profile_write(out->profile, &r->profile, out->tally.seconds, &f[2]);
	usedmap_write(&r->usedmap, p, &f[3]);
	for (i = 0; i < 4 && out->outputs.status == 0; i++)
		out->outputs = f[i];
}

void
outputs_look(struct outputs *r, const struct plan *p, struct outcome *out)
{
	if (r->ranges.notes && !r->ranges.maps)
		manifest_look(&r->ends, plan_first(p));
	report_file_look(r->report, out);
}

void
outputs_report(struct outputs *r, struct outcome *out)
{
	struct fault f;

	if (report_file_write(r->report, out, &f) != 0)
		verdict_unrecorded(out, &f);
}

void
outputs_abandon(struct outputs *r)
{
	newfile_close(&r->ranges.file);
	newfile_close(&r->profile);
	newfile_close(&r->usedmap);
	newfile_close(&r->hashfile);
	report_file_abandon(r->report);
}

void
outputs_close(struct outputs *r)
{
	outputs_abandon(r);
	ranges_close(&r->ranges);
	manifest_forget(&r->ends);
	used_free(&r->used);
	bmap_free(&r->bmap);
	hash_close(r->hash);
	report_file_close(r->report);
}
