/*
 * The verdict on a copy to one target, from the map and from what went wrong.
 * Status 0 is the last of all answers to be considered.
 */
#include "verdict_one.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/libc.h"
#include "base/status.h"
#include "copy/ranges.h"
#include "digest/hash.h"
#include "map/map.h"
#include "part/clone_table.h"
#include "part/used.h"

typedef unsigned long long ull;

/* The number of unreadable blocks, in the source's own grid. */
static uint64_t
blocks_of(const struct plan *p, const struct seg *s)
{
	uint64_t first = (p->src_off + s->off) / p->block;
	uint64_t last = (p->src_off + s->off + s->len - 1) / p->block;

	return last - first + 1;
}

static uint64_t
lost_blocks(const struct plan *p, struct map *map)
{
	struct seg s = { .off = 0 };
	uint64_t blocks = 0;

	while (map_next(map, s.off + s.len, BAD, &s))
		blocks += blocks_of(p, &s);
	return blocks;
}

static int __attribute__((format(printf, 3, 4)))
verdict_conclude(struct outcome *out, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fault_vset(&out->verdict, status, fmt, ap);
	va_end(ap);
	return status;
}

/* Whether the other end of a comparison has more. */
static void
verdict_longer(const struct plan *p, struct outcome *out)
{
	const struct endpoint *a = out->longer;
	const struct endpoint *b = a == p->src ? p->dst : p->src;
	ull n = (ull)out->tally.verified;
	bool blocks = n % p->bs == 0;

	if (n == 0)
		verdict_conclude(out, STATUS_MISMATCH,
		    "NOT the same: %s is longer, and %s", a->name,
		    out->tally.lost > 0 ? "nothing could be compared" :
		    "the other is empty");
	else if (out->tally.lost > 0 || a->geo.size < 0 || b->geo.size < 0)
		verdict_conclude(out, STATUS_MISMATCH,
		    "NOT the same: %s is longer; the %llu bytes that %s are "
		    "the same",
		    a->name, n, out->tally.lost > 0 ? "could be compared" :
		    "both have");
	else
		verdict_conclude(out, STATUS_MISMATCH,
		    "NOT the same: %s has %lld bytes, %s %lld; the %s%llu "
		    "bytes are the same: count=%llu%s compares those",
		    a->name, (long long)a->geo.size, b->name,
		    (long long)b->geo.size, p->src_off + p->dst_off == 0 ?
		    "first " : "", n, blocks ? n / p->bs : n, blocks ? "" :
		    " iflag=count_bytes");
}

/* Whether the data read back or compared is the same; else set the verdict. */
static bool
verdict_agrees(const struct plan *p, struct outcome *out)
{
	struct map_totals t = { 0 };

	if (out->differ.ready)
		t = map_totals(&out->differ);
	if (p->opts->verify != 0 && t.bad == 0 && !out->proven)
		verdict_conclude(out, STATUS_MISMATCH,
		    "NOT complete: not all that was copied to %s could be "
		    "verified",
		    p->dst->name);
	else if (p->opts->verify != 0 && t.bad > 0)
		verdict_conclude(out, STATUS_MISMATCH,
		    "NOT complete: %llu bytes in %llu range%s of %s %sare not "
		    "what was written there",
		    (ull)t.bad, (ull)t.bad_ranges, t.bad_ranges == 1 ? "" : "s",
		    p->dst->name, out->unread ? "cannot be read back, or " :
		    "");
	else if (p->work == WORK_CHECK && t.bad > 0)
		verdict_conclude(out, STATUS_MISMATCH,
		    "NOT as in %s: %llu bytes in %llu range%s",
		    p->opts->manifest, (ull)t.bad, (ull)t.bad_ranges,
		    t.bad_ranges == 1 ? "" : "s");
	else if (t.bad > 0)
		verdict_conclude(out, STATUS_MISMATCH,
		    "NOT the same: %llu bytes in %llu range%s differ%s%s%s",
		    (ull)t.bad, (ull)t.bad_ranges, t.bad_ranges == 1 ? "" : "s",
		    out->longer == NULL ? "" : ", and ", out->longer == NULL ?
		    "" : out->longer->name, out->longer == NULL ? "" :
		    " is longer");
	else if (out->longer != NULL)
		verdict_longer(p, out);
	else
		return true;
	return false;
}

/*
 * Everything was copied: check that it is as expected, and that its records
 * were written.
 */
static int
verdict_recorded(const struct plan *p, struct outcome *out)
{
	const struct hash_range *wrong;
	const struct hash_sum *d;
	size_t n, i;

	wrong = hash_wrong(p->hash);
	if (wrong != NULL)
		return verdict_conclude(out, STATUS_MISMATCH,
		    "NOT as in %s: bytes %llu to %llu of the image have "
		    "another checksum",
		    p->opts->bmap, (ull)wrong->off,
		    (ull)(wrong->off + wrong->len - 1));
	d = hash_digests(p->hash, &n);
	for (i = 0; i < n; i++)
		if (d[i].differs)
			return verdict_conclude(out, STATUS_MISMATCH, "NOT as "
			    "expected: the %s of what was copied is %s",
			    d[i].name, d[i].hex);
	if (out->outputs.status != 0)
		return verdict_conclude(out, out->outputs.status,
		    "all was copied, but not recorded: %s", out->outputs.text);
	return STATUS_COMPLETE;
}

/*
 * A signal takes precedence over faults, because a reader that was interrupted
 * together with us looks like a broken pipe.
 */
static int
of_signal(const struct plan *p, struct outcome *out,
    const struct map_totals *t)
{
	const char *name = sigabbrev_np(out->signal);
	const char *done = p->work == WORK_COMPARE ? "compared" :
	    p->work == WORK_CHECK ? "checked" : "copied";
	int status = STATUS_SIGNAL + out->signal;
	struct fault said;

	if (out->fault.status != 0)
		return verdict_conclude(out, status,
		    "NOT complete: stopped by SIG%s; %s", name,
		    out->fault.text);
	if (t->untried + t->failed + t->bad > 0)
		return verdict_conclude(out, status,
		    "NOT complete: stopped by SIG%s%s", name, p->work ==
		    WORK_RESCUE && out->unsaved.status == 0 ?
		    "; the same command resumes the copy" : "");
	if (out->flush.status != 0)
		return verdict_conclude(out, status,
		    "NOT complete: stopped by SIG%s; %s", name,
		    out->flush.text);
	if (p->opts->verify != 0 && !out->proven)
		return verdict_conclude(out, status,
		    "NOT complete: stopped by SIG%s, after all was copied, but "
		    "not all verified",
		    name);
	if (verdict_agrees(p, out) && verdict_recorded(p, out) ==
	    STATUS_COMPLETE)
		return verdict_conclude(out, status,
		    "stopped by SIG%s, after all was %s", name, done);
	said = out->verdict;
	return verdict_conclude(out, status,
	    "stopped by SIG%s, after all was %s; %s", name, done, said.text);
}

/* A suitable decimal unit for so many bytes, and its size. */
static const char *
unit_of(uint64_t bytes, double *scale)
{
	static const char *const unit[] = { "kB", "MB", "GB", "TB", "PB",
		"EB" };
	size_t i;

	*scale = 1000;
	for (i = 0; (double)bytes >= 999.95 * *scale; i++)
		*scale *= 1000;
	return unit[i];
}

/* "0.5 of 10.7 GB", or in bytes if that would show no difference. */
static void
verdict_part_of(char *buf, size_t room, uint64_t part, uint64_t whole)
{
	double scale;
	const char *unit = unit_of(whole, &scale);
	char of[16];
	size_t n;

	snprintf(buf, room, "%.1f", (double)part / scale);
	snprintf(of, sizeof(of), "%.1f", (double)whole / scale);
	n = strlen(buf);
	if (strcmp(buf, "0.0") == 0 || (part < whole && strcmp(buf, of) == 0))
		snprintf(buf, room, "%llu of %llu bytes", (ull)part,
		    (ull)whole);
	else
		snprintf(buf + n, room - n, " of %s %s", of, unit);
}

/* Only part of the copy was wanted: say which, and how much that is. */
static void
verdict_within(const struct plan *p, struct outcome *out)
{
	struct map_totals t = map_totals(&out->map);
	const struct fault said = out->verdict;
	char part[64];

	if (p->opts->domain == NULL)
		return;
	verdict_part_of(part, sizeof(part), t.end - t.outside, t.end);
	fault_set(&out->verdict, STATUS_COMPLETE, "%s, within domain=%s: %s",
	    said.text, p->opts->domain, part);
}

/* Unchanged data was not read: say how much was. */
static void
verdict_changed(const struct plan *p, struct outcome *out)
{
	const struct fault said = out->verdict;
	const struct opts *o = p->opts;
	char part[64];

	if (!opts_changed(o))
		return;
	verdict_part_of(part, sizeof(part), p->length - ranges_unchanged(p),
	    p->length);
	fault_set(&out->verdict, STATUS_COMPLETE, "%s, changed %s %s: %s",
	    said.text, o->bitmap != NULL ? "by bitmap" : "since",
	    o->bitmap != NULL ? o->bitmap : o->since, part);
}

/* Free space was left out: say how much. */
static void
verdict_without(const struct plan *p, struct outcome *out)
{
	const struct used *u = p->used;
	const struct fault said = out->verdict;
	const char *unit;
	double scale;

	if (u == NULL || !u->leaves || u->n == 0 || u->bytes_free == 0 ||
	    p->opts->domain != NULL)
		return;
	unit = unit_of(u->bytes_free, &scale);
	fault_set(&out->verdict, STATUS_COMPLETE, "%s, without %.1f %s that "
	    "%zu file system%s free", said.text,
	    (double)u->bytes_free / scale, unit, u->frees,
	    u->frees == 1 ? " calls" : "s call");
}

/* Everything is as the block map says: say how much. */
static void
verdict_mapped(const struct plan *p, struct outcome *out)
{
	const struct fault said = out->verdict;
	char part[64];

	if (p->opts->bmap == NULL)
		return;
	verdict_part_of(part, sizeof(part), p->used->length -
	    p->used->bytes_free, p->used->length);
	fault_set(&out->verdict, STATUS_COMPLETE, "%s, all as in %s: %s",
	    said.text, p->opts->bmap, part);
}

/* Nothing was to be copied: say what was found. */
static void
verdict_looked(const struct plan *p, struct outcome *out)
{
	const struct used *u = p->used;
	char part[64];

	verdict_part_of(part, sizeof(part), u->length - u->bytes_free,
	    u->length);
	verdict_conclude(out, STATUS_COMPLETE, "complete, %s: %s are used",
	    p->opts->usedmap, part);
}

/* Everything was copied. */
static void
verdict_complete(const struct plan *p, struct outcome *out)
{
	const char *verified = p->opts->verify != 0 ? ", verified" : "";

	if (p->opts->looks)
		verdict_looked(p, out);
	else if (p->work == WORK_COMPARE)
		verdict_conclude(out, STATUS_COMPLETE,
		    "complete, nothing differs");
	else if (p->work == WORK_CHECK)
		verdict_conclude(out, STATUS_COMPLETE,
		    "complete, all is as in %s", p->opts->manifest);
	else if (!p->dst->is.durable)
		verdict_conclude(out, STATUS_COMPLETE,
		    "complete, nothing to flush%s", verified);
	else if (p->opts->sync != 0)
		verdict_conclude(out, STATUS_COMPLETE, "complete, flushed%s%s",
		    verified, clone_table_moves(p) ? ", table moved" : "");
	else
		verdict_conclude(out, STATUS_COMPLETE, "complete, not flushed");
	verdict_within(p, out);
	verdict_changed(p, out);
	verdict_without(p, out);
	verdict_mapped(p, out);
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

/* What has stopped the copy early; STATUS_COMPLETE: nothing. */
static int
ended_early(const struct plan *p, struct outcome *out,
    const struct map_totals *t)
{
	if (out->signal != 0)
		return of_signal(p, out, t);
	if (out->fault.status != 0)
		return verdict_conclude(out, out->fault.status,
		    "NOT complete: %s", out->fault.text);
	if (p->counted && t->end < p->length)
		return verdict_conclude(out, STATUS_SHORT,
		    "NOT complete: %s ended after %llu of %llu bytes",
		    p->src->name, (ull)t->end, (ull)p->length);
	if (brought_nothing(p, t))
		return verdict_conclude(out, STATUS_SHORT,
		    "NOT complete: the source was empty: nothing came from %s "
		    "for %s",
		    p->src->name, p->dst->name);
	if (out->flush.status != 0)
		return verdict_conclude(out, STATUS_NOT_FLUSHED,
		    "NOT complete: %s; the copy may not be on the medium",
		    out->flush.text);
	if (t->untried > 0 && (p->opts->rescue & RESCUE_NOSWEEP) != 0)
		return verdict_conclude(out, STATUS_UNREADABLE,
		    "NOT complete: %llu bytes could not be read, and %llu "
		    "between them were not tried, with rescue=nosweep; %s "
		    "shows where",
		    (ull)(t->bad + t->failed), (ull)t->untried, p->opts->map);
	if (t->untried > 0)
		return verdict_conclude(out, STATUS_FILE,
		    "NOT complete: %llu bytes were not copied",
		    (ull)t->untried);
	return STATUS_COMPLETE;
}

/*
 * The map file does not record what was done: a status of its own, or an
 * addition to "status".
 */
static int
not_saved(const struct plan *p, struct outcome *out,
    const struct map_totals *t, int status)
{
	const struct fault said = out->verdict;
	const char *why = out->unsaved.text;

	if (status != STATUS_COMPLETE && strcmp(out->fault.text, why) == 0)
		return status;
	if (status != STATUS_COMPLETE)
		return verdict_conclude(out, status, "%s; %s was not saved: %s",
		    said.text, p->opts->map, why);
	if (t->bad + t->failed > 0)
		return verdict_conclude(out, out->unsaved.status,
		    "NOT complete: %llu bytes could not be read, and %s was "
		    "not saved: %s",
		    (ull)(t->bad + t->failed), p->opts->map, why);
	return verdict_conclude(out, out->unsaved.status,
	    "all was copied, but %s was not saved: %s", p->opts->map, why);
}

/* All passes are done: what could read more. */
static const char *
next_run(const struct plan *p, const struct map_totals *t)
{
	if (t->failed > 0)
		return "the same command without rescue= resumes the copy";
	return p->opts->retries > 0 ? "the same command tries again" :
	    "retries= tries again";
}

/* Why the copy is not complete; STATUS_COMPLETE: it is. */
static int
verdict_incomplete(const struct plan *p, struct outcome *out,
    const struct map_totals *t)
{
	int status = ended_early(p, out, t);
	uint64_t lost;

	if (out->unsaved.status != 0)
		return not_saved(p, out, t, status);
	if (status != STATUS_COMPLETE)
		return status;
	if (!verdict_agrees(p, out))
		return STATUS_MISMATCH;
	if (p->work == WORK_RESCUE &&
	    t->bad + t->failed > 0)
		return verdict_conclude(out, STATUS_UNREADABLE,
		    "NOT complete: %llu bytes could not be read; %s shows "
		    "where, and %s",
		    (ull)(t->bad + t->failed), p->opts->map, next_run(p, t));
	if (t->bad > 0) {
		lost = lost_blocks(p, &out->map);
		return verdict_conclude(out, STATUS_UNREADABLE,
		    "NOT complete: %llu unreadable block%s in %llu range%s",
		    (ull)lost, lost == 1 ? "" : "s", (ull)t->bad_ranges,
		    t->bad_ranges == 1 ? "" : "s");
	}
	return STATUS_COMPLETE;
}

/* Stopped for a reason, and requests have not returned. */
static void
left_waiting(struct outcome *out)
{
	const struct silence *s = &out->tally.silence;
	const char *how = s->end == NULL ? "with transfers in flight" :
	    s->flush ? "while " : "without an answer from ";
	const char *end = s->end == NULL ? "" : s->end->name;
	const char *flush = s->flush ? " was being flushed" : "";

	if (out->stuck)
		verdict_conclude(out, out->fault.status, "NOT complete: %s",
		    out->fault.text);
	else if (out->signal != 0)
		verdict_conclude(out, STATUS_SIGNAL + out->signal,
		    "NOT complete: stopped by SIG%s; quit after %d s %s%s%s",
		    sigabbrev_np(out->signal), GRACE, how, end, flush);
	else
		verdict_conclude(out, out->fault.status,
		    "NOT complete: %s; quit after %d s %s%s%s", out->fault.text,
		    GRACE, how, end, flush);
}

static void
left_at_once(struct outcome *out)
{
	const char *first = sigabbrev_np(out->signal);
	int status = STATUS_SIGNAL + out->signal;

	if (out->again == out->signal)
		verdict_conclude(out, status,
		    "NOT complete: quit at a second SIG%s, with transfers in "
		    "flight",
		    first);
	else
		verdict_conclude(out, status,
		    "NOT complete: stopped by SIG%s; quit at SIG%s, with "
		    "transfers in flight",
		    first, sigabbrev_np(out->again));
}

/* Left with requests in flight. */
static void
verdict_left(const struct plan *p, struct outcome *out)
{
	bool saved = out->unsaved.status == 0;
	struct fault said;

	if (out->again != 0) {
		left_at_once(out);
		return;
	}
	left_waiting(out);
	if (p->work != WORK_RESCUE)
		return;
	said = out->verdict;
	verdict_conclude(out, said.status, "%s; %s %s%s", said.text,
	    p->opts->map, saved ? "is saved" : "was not saved: ", saved ? "" :
	    out->unsaved.text);
}

void
verdict_one(const struct plan *p, struct outcome *out)
{
	struct map_totals t;

	if (out->abandoned) {
		verdict_left(p, out);
		return;
	}
	t = map_totals(&out->map);
	if (verdict_incomplete(p, out, &t) == STATUS_COMPLETE &&
	    verdict_recorded(p, out) == STATUS_COMPLETE)
		verdict_complete(p, out);
}
