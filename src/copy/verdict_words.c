/*
 * What a verdict says.  The reasons say it all, but for amounts and names,
 * which are in the plan and the outcome.
 */
#include "copy/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/libc.h"
#include "base/number.h"
#include "copy/ranges.h"
#include "digest/hash.h"
#include "map/map.h"
#include "part/clone_table.h"
#include "part/used.h"

struct words {
	const struct plan *p;
	struct outcome	*out;
	const struct verdict *v;
	bool		 named;		/* the target was named before */
	bool		 unread;	/* some of it cannot be read back */
	int64_t		 before;	/* as in struct result */
	size_t		 n;
	char		 text[4 << 10];
};

static void __attribute__((format(printf, 2, 3)))
words_add(struct words *w, const char *fmt, ...)
{
	int n;
	va_list ap;

	va_start(ap, fmt);
	n = vsnprintf(w->text + w->n, sizeof(w->text) - w->n, fmt, ap);
	va_end(ap);
	w->n = n < 0 ? w->n : MIN(w->n + (size_t)n, sizeof(w->text) - 1);
}

/* "123 bytes in 4 ranges" */
static void
words_add_ranges(struct words *w, const struct reason *r)
{
	words_add(w, "%llu bytes in %llu range%s", (ull)r->bytes,
	    (ull)r->ranges, r->ranges == 1 ? "" : "s");
}

/* What a fault says, without the name of a target that was named before. */
static const char *
words_of_fault(const struct words *w, const struct fault *f)
{
	return f->text + (w->named ? f->named : 0);
}

/* The bytes of a rescue that could not be read. */
static ull
words_unread(const struct words *w)
{
	const struct reason *r = verdict_reason(w->v, WHY_UNREADABLE);

	return r != NULL ? (ull)r->bytes : 0;
}

/* The other end of a comparison has more. */
static void
words_of_longer(struct words *w)
{
	const struct plan *p = w->p;
	const struct endpoint *a = w->out->longer;
	const struct endpoint *b = a == p->src ? p->dst : p->src;
	ull n = (ull)w->out->tally.verified;
	bool lost = w->out->tally.lost > 0, blocks = n % p->bs == 0;

	if (n == 0)
		words_add(w, "NOT the same: %s is longer, and %s", a->name,
		    lost ? "nothing could be compared" : "the other is empty");
	else if (lost || a->geo.size < 0 || b->geo.size < 0)
		words_add(w, "NOT the same: %s is longer; the %llu bytes that "
		    "%s are the same", a->name, n, lost ? "could be compared" :
		    "both have");
	else
		words_add(w, "NOT the same: %s has %lld bytes, %s %lld; the "
		    "%s%llu bytes are the same: count=%llu%s compares those",
		    a->name, (long long)a->geo.size, b->name,
		    (long long)b->geo.size, p->src_off + p->dst_off == 0 ?
		    "first " : "", n, blocks ? n / p->bs : n, blocks ? "" :
		    " iflag=count_bytes");
}

/* What was read was written, but elsewhere. */
static void
words_of_alias(struct words *w)
{
	char si[32];

	if (w->before != 0)
		words_add(w, "; it reads back what belongs %s %s: a "
		    "counterfeit or worn-out device", number_si(si, sizeof(si),
		    w->before < 0 ? -(double)w->before :
		    (double)w->before), w->before > 0 ? "before" :
		    "behind");
}

static void
words_of_differing(struct words *w, const struct reason *r)
{
	const struct plan *p = w->p;
	const struct endpoint *longer = w->out->longer;

	if (p->verify != 0 || p->work != WORK_CHECK)
		words_add(w, "NOT %s: ", p->verify != 0 ? "complete" :
		    "the same");
	else
		words_add(w, "NOT as in %s: ", p->opts->manifest);
	words_add_ranges(w, r);
	if (p->verify != 0) {
		words_add(w, " of %s %sare not what was written there",
		    p->dst->name, w->unread ? "cannot be read back, or " : "");
		words_of_alias(w);
	} else if (p->work != WORK_CHECK)
		words_add(w, " differ%s%s%s", longer == NULL ? "" : ", and ",
		    longer == NULL ? "" : longer->name, longer == NULL ? "" :
		    " is longer");
}

/* The number of unreadable blocks, in the source's own grid. */
static uint64_t
lost_blocks(const struct plan *p, struct map *map)
{
	struct seg s = { .off = 0 };
	uint64_t blocks = 0;

	while (map_next(map, s.off + s.len, BAD, &s))
		blocks += (p->src_off + s.off + s.len - 1) / p->block + 1 -
		    (p->src_off + s.off) / p->block;
	return blocks;
}

/* All passes are done: what could read more. */
static const char *
next_run(const struct plan *p, const struct map_totals *t)
{
	if (t->failed > 0)
		return "the same command without rescue= resumes the copy";
	return p->opts->retries > 0 ? "the same command tries again" :
	    "the same command with retries=1 tries again";
}

/* What cannot be read, at the end of a rescue or of another run. */
static void
words_of_unreadable(struct words *w, const struct reason *r)
{
	const struct plan *p = w->p;
	struct map_totals t = map_totals(&w->out->map);
	uint64_t lost;

	if (p->work == WORK_RESCUE) {
		words_add(w, "NOT complete: %llu bytes could not be read; %s "
		    "shows where, and %s", (ull)r->bytes, p->opts->map,
		    next_run(p, &t));
		return;
	}
	lost = lost_blocks(p, &w->out->map);
	words_add(w, "NOT complete: %llu unreadable block%s in %llu range%s",
	    (ull)lost, lost == 1 ? "" : "s", (ull)r->ranges, r->ranges == 1 ?
	    "" : "s");
}

/* How a rescue goes on that has ended early; "" if it does not. */
static const char *
words_going_on(const struct words *w)
{
	struct map_totals t = map_totals(&w->out->map);
	int64_t most = w->p->opts->maxerrors;

	if (w->p->work != WORK_RESCUE || w->out->refused ||
	    w->out->unsaved.status != 0 || w->out->flush.status != 0 ||
	    t.untried + t.failed == 0)
		return "";
	return most >= 0 && t.bad_ranges > (uint64_t)most ?
	    "; the same command with a larger maxerrors= resumes the copy" :
	    "; the same command resumes the copy";
}

static void
words_of_unswept(struct words *w, const struct reason *r)
{
	bool asked = (w->p->opts->rescue & RESCUE_ONDEMAND) != 0;

	words_add(w, "NOT complete: ");
	if (words_unread(w) > 0)
		words_add(w, "%llu bytes could not be read, and ",
		    words_unread(w));
	words_add(w, "%llu %s%s; %s shows where, and the same command without "
	    "it %s the rest", (ull)r->bytes, words_unread(w) > 0 ? "" :
	    "bytes ", asked ? "were not asked for, with rescue=ondemand" :
	    "between them were not tried, with rescue=nosweep",
	    w->p->opts->map, asked ? "reads" : "tries");
}

static void
words_of_unsaved(struct words *w, const struct reason *r)
{
	if (words_unread(w) > 0)
		words_add(w, "NOT complete: %llu bytes could not be read, and "
		    "%s was not saved: %s", words_unread(w), w->p->opts->map,
		    r->fault->text);
	else
		words_add(w, "all was copied, but %s was not saved: %s",
		    w->p->opts->map, r->fault->text);
}

/* Data that is not as it was expected. */
static void
words_of_digests(struct words *w, const struct reason *r)
{
	const struct hash_range *range = hash_wrong(w->p->hash);
	const struct hash_sum *d;
	size_t n;

	if (r->kind == WHY_CHECKSUM) {
		words_add(w, "NOT as in %s: bytes %llu to %llu of the image "
		    "have another checksum", w->p->opts->bmap, (ull)range->off,
		    (ull)(range->off + range->len - 1));
		return;
	}
	for (d = hash_digests(w->p->hash, &n); !d->differs; d++)
		continue;
	words_add(w, "NOT as expected: the %s of what was copied is %s",
	    d->name, d->hex);
	if (d->packed != NULL)
		words_add(w, ", and that of the packed bytes %s", d->packed);
}

/* A reason that stands alone. */
static void
words_of_reason(struct words *w, const struct reason *r)
{
	const struct plan *p = w->p;

	switch (r->kind) {
	case WHY_FAULT:
		words_add(w, "NOT complete: %s%s", words_of_fault(w, r->fault),
		    words_going_on(w));
		break;
	case WHY_SHORT:
		words_add(w, "NOT complete: %s ended after %llu of %llu bytes",
		    p->src->name, (ull)r->bytes, (ull)p->length);
		break;
	case WHY_EMPTY:
		words_add(w, "NOT complete: the source was empty: nothing came "
		    "from %s for %s", p->src->name, p->dst->name);
		break;
	case WHY_FLUSH:
		words_add(w, "NOT complete: %s; the copy may not be on the "
		    "medium", words_of_fault(w, r->fault));
		break;
	case WHY_UNSWEPT:
		words_of_unswept(w, r);
		break;
	case WHY_UNTRIED:
		words_add(w, "NOT complete: %llu bytes were not copied",
		    (ull)r->bytes);
		break;
	case WHY_UNSAVED:
		words_of_unsaved(w, r);
		break;
	case WHY_UNVERIFIED:
		words_add(w, "NOT complete: not all that was copied to %s "
		    "could be verified", p->dst->name);
		break;
	case WHY_DIFFERS:
		words_of_differing(w, r);
		break;
	case WHY_LONGER:
		words_of_longer(w);
		break;
	case WHY_UNREADABLE:
		words_of_unreadable(w, r);
		break;
	case WHY_CHECKSUM:
	case WHY_DIGEST:
		words_of_digests(w, r);
		break;
	case WHY_UNRECORDED:
		words_add(w, "all was copied, but not recorded: %s",
		    r->fault->text);
		break;
	case WHY_REFUSED:	/* these have words of their own */
	case WHY_USAGE:
	case WHY_LEFT:
	case WHY_SIGNAL:
	case WHY_KINDS:
		break;
	}
}

/*
 * A signal takes precedence over faults, because a reader that was interrupted
 * together with us looks like a broken pipe.
 */
static void
words_of_signal(struct words *w)
{
	const struct plan *p = w->p;
	const struct verdict *v = w->v;
	const char *name = sigabbrev_np(w->out->signal);
	const char *done = p->work == WORK_COMPARE ? "compared" :
	    p->work == WORK_CHECK ? "checked" : "copied";
	const struct reason *r = verdict_from(v, WHY_FAULT);
	bool left = verdict_reason(v, WHY_UNSWEPT) != NULL ||
	    verdict_reason(v, WHY_UNTRIED) != NULL || words_unread(w) > 0;

	if (r != NULL && (r->kind == WHY_FAULT || (r->kind == WHY_FLUSH &&
	    !left))) {
		words_add(w, "NOT complete: stopped by SIG%s; %s", name,
		    words_of_fault(w, r->fault));
		return;
	}
	if (left || verdict_reason(v, WHY_UNVERIFIED) != NULL) {
		words_add(w, "NOT complete: stopped by SIG%s%s", name, !left ?
		    ", after all was copied, but not all verified" :
		    p->work == WORK_RESCUE && w->out->unsaved.status == 0 &&
		    w->out->flush.status == 0 ?
		    "; the same command resumes the copy" : "");
		return;
	}
	words_add(w, "stopped by SIG%s", name);
	if (r == NULL || r->kind >= WHY_UNSAVED) {
		words_add(w, ", after all was %s", done);
		r = verdict_from(v, WHY_DIFFERS);
	}
	if (r != NULL) {
		words_add(w, "; ");
		words_of_reason(w, r);
	}
}

/* Stopped for a reason, and requests have not returned. */
static void
words_of_waiting(struct words *w)
{
	const struct outcome *out = w->out;
	const struct silence *s = &out->tally.silence;

	words_add(w, "NOT complete: ");
	if (out->signal != 0 && !out->stuck)
		words_add(w, "stopped by SIG%s", sigabbrev_np(out->signal));
	else
		words_add(w, "%s", out->fault.text);
	if (!out->stuck)
		words_add(w, "; quit after %d s %s%s%s", GRACE, s->end == NULL ?
		    "with transfers in flight" : s->flush ? "while " :
		    "without an answer from ", s->end == NULL ? "" :
		    s->end->name, s->flush ? " was being flushed" : "");
	if (w->p->work != WORK_RESCUE)
		return;
	words_add(w, "; %s %s", w->p->opts->map, out->unsaved.status == 0 ?
	    "is saved" : "was not saved: ");
	if (out->unsaved.status != 0)
		words_add(w, "%s", out->unsaved.text);
}

/* Left with requests in flight. */
static void
words_of_left(struct words *w)
{
	const char *first = sigabbrev_np(w->out->signal);

	if (w->out->again == 0)
		words_of_waiting(w);
	else if (w->out->again == w->out->signal)
		words_add(w, "NOT complete: quit at a second SIG%s, with "
		    "transfers in flight", first);
	else
		words_add(w, "NOT complete: stopped by SIG%s; quit at SIG%s, "
		    "with transfers in flight", first,
		    sigabbrev_np(w->out->again));
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
words_add_part(struct words *w, uint64_t part, uint64_t whole)
{
	double scale;
	const char *unit = unit_of(whole, &scale);
	char some[16], all[16];

	snprintf(some, sizeof(some), "%.1f", (double)part / scale);
	snprintf(all, sizeof(all), "%.1f", (double)whole / scale);
	if (strcmp(some, "0.0") == 0 || (part < whole &&
	    strcmp(some, all) == 0))
		words_add(w, "%llu of %llu bytes", (ull)part, (ull)whole);
	else
		words_add(w, "%s of %s %s", some, all, unit);
}

/* Only part of the copy was wanted: which, and how much that is. */
static void
words_within(struct words *w)
{
	struct map_totals t = map_totals(&w->out->map);

	if (w->p->opts->domain == NULL)
		return;
	words_add(w, ", within domain=%s: ", w->p->opts->domain);
	words_add_part(w, t.end - t.outside, t.end);
}

/* Unchanged data was not read: how much was. */
static void
words_changed(struct words *w)
{
	const struct plan *p = w->p;
	const struct opts *o = p->opts;

	if (!opts_changed(o))
		return;
	words_add(w, ", changed %s %s: ", o->bitmap != NULL ? "by bitmap" :
	    "since", o->bitmap != NULL ? o->bitmap : o->since);
	words_add_part(w, p->length - ranges_unchanged(p), p->length);
}

/* Free space was left out: how much. */
static void
words_without(struct words *w)
{
	const struct used *u = w->p->used;
	char whose[80];
	const char *unit;
	double scale;

	if (u == NULL || !u->leaves || u->n == 0 || u->bytes_free == 0 ||
	    w->p->opts->domain != NULL)
		return;
	unit = unit_of(u->bytes_free, &scale);
	words_add(w, ", without %.1f %s %s", (double)u->bytes_free / scale,
	    unit, used_whose(whose, sizeof(whose), u));
}

/* How much of the source is used, or is as the block map says. */
static void
words_used(struct words *w)
{
	const struct used *u = w->p->used;

	words_add_part(w, u->length - u->bytes_free, u->length);
}

/* From what the source was unpacked, and which of both was expected. */
static void
words_decoded(struct words *w)
{
	const struct hash_sum *d;
	size_t n;

	words_add(w, ", decoded from %s", w->p->src->decoded);
	for (d = hash_digests(w->p->hash, &n); n > 0; n--, d++)
		if (d->expected != NULL)
			words_add(w, hash_packed(d) ? ", whose %s is as "
			    "expected" : ", the %s of its content is as "
			    "expected", d->name);
}

/* There is no reason: everything was copied. */
static void
words_complete(struct words *w)
{
	const struct plan *p = w->p;
	const struct opts *o = p->opts;

	words_add(w, "complete, ");
	if (o->looks) {
		words_add(w, "%s: ", o->usedmap);
		words_used(w);
		words_add(w, " are used");
	} else if (p->work == WORK_COMPARE)
		words_add(w, "nothing differs");
	else if (p->work == WORK_CHECK)
		words_add(w, "all is as in %s", o->manifest);
	else
		words_add(w, "%s%s", !p->dst->is.durable ? "nothing to flush" :
		    o->sync != 0 ? "flushed" : "not flushed", p->verify != 0 &&
		    (o->sync != 0 || !p->dst->is.durable) ? p->verify ==
		    VERIFY_SAMPLE ? ", sampled" : ", verified" : "");
	if (p->dst->is.durable && o->sync != 0 && clone_table_moves(p))
		words_add(w, ", table moved");
	if (p->opts->rest != 0 && plan_rest(p) > 0)
		words_add(w, (p->opts->rest & REST_TRIM) != 0 ?
		    ", rest trimmed" : ", rest zeroed");
	if (p->dst->encoded != NULL)
		words_add(w, ", encoded as %s", p->dst->encoded);
	if (p->src->decoded != NULL)
		words_decoded(w);
	words_within(w);
	words_changed(w);
	words_without(w);
	if (o->bmap == NULL)
		return;
	words_add(w, p->used->unchecked ? ", as mapped by %s, which has no "
	    "checksums: " : ", all as in %s: ", o->bmap);
	words_used(w);
}

/* Whether the map was not saved for the reason that has ended the run. */
static bool
words_same_fault(const struct outcome *out)
{
	const struct fault *f = &out->fault, *g = &out->unsaved;

	return f->status == g->status && f->by == g->by && f->by != TOLD_ONCE;
}

static void
words_of_target(struct words *w, const struct plan *p, struct outcome *out,
    unsigned i, bool named)
{
	const struct reason *first, *unsaved;

	w->p = plan_each(p, i);
	w->out = out;
	w->v = &out->target[i].verdict;
	w->named = named;
	w->unread = out->target[i].unread;
	w->before = out->target[i].before;
	w->n = 0;
	w->text[0] = '\0';
	first = verdict_from(w->v, WHY_LEFT);
	unsaved = verdict_reason(w->v, WHY_UNSAVED);
	if (first == NULL)
		words_complete(w);
	else if (first->kind == WHY_LEFT)
		words_of_left(w);
	else if (first->kind == WHY_SIGNAL)
		words_of_signal(w);
	else
		words_of_reason(w, first);
	if (unsaved != NULL && first != NULL && first->kind != WHY_LEFT &&
	    first->kind < WHY_UNSAVED && !words_same_fault(out))
		words_add(w, "; %s was not saved: %s", p->opts->map,
		    unsaved->fault->text);
}

/*
 * Whether two reasons, or NULL, are one.  Of faults only that of the run is the
 * same for all, or that they did not answer.
 */
static bool
reasons_alike(const struct reason *a, const struct reason *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->kind == b->kind && a->status == b->status &&
	    a->end == b->end && a->bytes == b->bytes &&
	    a->ranges == b->ranges && (a->fault == b->fault ||
	    (a->fault != NULL && b->fault != NULL &&
	    a->fault->by == TOLD_SILENT && b->fault->by == TOLD_SILENT));
}

/* Whether the words for a target are those for the first. */
static bool
verdicts_alike(const struct plan *p, const struct outcome *out, unsigned i)
{
	const struct verdict *a = &out->target[0].verdict;
	const struct verdict *b = &out->target[i].verdict;
	const struct plan *one = plan_each(p, 0), *other = plan_each(p, i);

	return reasons_alike(verdict_from(a, WHY_LEFT),
	    verdict_from(b, WHY_LEFT)) &&
	    reasons_alike(verdict_from(a, WHY_FAULT),
	    verdict_from(b, WHY_FAULT)) &&
	    (a->n > 0 || (one->dst->is.durable == other->dst->is.durable &&
	    clone_table_moves(one) == clone_table_moves(other)));
}

/* Name the targets that are incomplete. */
static void
words_of_names(struct words *w, const struct plan *p, const struct outcome *out)
{
	unsigned bad = 0, named = 0, i;

	for (i = 0; i < out->targets; i++)
		bad += out->target[i].verdict.n > 0;
	w->n = 0;
	if (bad > 0)
		words_add(w, "NOT complete: %u of ", bad);
	words_add(w, "%s%u targets", bad > 0 ? "" : "complete: ", out->targets);
	for (i = 0; i < out->targets; i++)
		if (out->target[i].verdict.n > 0)
			words_add(w, "%s%s", named++ == 0 ? ": " : ", ",
			    plan_each(p, i)->dst->name);
}

void
verdict_words_of(struct fault *f, const struct plan *p, struct outcome *out,
    unsigned i)
{
	struct words w;

	words_of_target(&w, p, out, i, true);
	fault_set(f, out->target[i].verdict.status, "%s", w.text);
}

void
verdict_words(struct fault *f, const struct plan *p, struct outcome *out)
{
	/* each copy comes here: zeroing it takes longer than the words */
	struct words w __attribute__((uninitialized));
	unsigned i = 1;

	words_of_target(&w, p, out, 0, out->targets > 1);
	while (i < out->targets && verdicts_alike(p, out, i))
		i++;
	if (i < out->targets)
		words_of_names(&w, p, out);
	else if (i > 1)
		words_add(&w, ": %u targets", i);
	fault_set(f, out->status, "%s", w.text);
}
