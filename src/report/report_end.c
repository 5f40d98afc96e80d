/*
 * What is printed at the end of a run, or on request during it: timing, record
 * counts, the bytes line, digests, and one verdict.
 */
#include "report/report.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/path.h"
#include "base/print.h"
#include "base/status.h"
#include "copy/verdict.h"
#include "digest/hash.h"
#include "disk/below.h"
#include "open/tee.h"
#include "record/hashfile.h"
#include "report/profile.h"
#include "report_next.h"

static void
report_records(const struct plan *p, const struct tally *t)
{
	print_raw("%llu+%d records in\n%llu+%d records out\n",
	    (ull)(t->read / p->bs), t->read % p->bs != 0,
	    (ull)(t->written / p->bs), t->written % p->bs != 0);
}

static void
report_bytes(const struct plan *p, const struct tally *t)
{
	bool compared = p->work == WORK_COMPARE;
	const char *what = compared ? "compared" :
	    p->work == WORK_CHECK ? "checked" : "copied";
	uint64_t count = compared ? t->verified : t->written;
	char si[32], iec[32], rate[32];
	double n = (double)count;

	number_si(rate, sizeof(rate), t->seconds > 0 ? n / t->seconds : 0);
	if (count < 1000)
		print(stderr, "%llu bytes %s, %.6g s, %s/s", (ull)count, what,
		    t->seconds, rate);
	else
		print(stderr, "%llu bytes (%s, %s) %s, %.6g s, %s/s",
		    (ull)count, number_si(si, sizeof(si), n),
		    number_iec(iec, sizeof(iec), n), what, t->seconds, rate);
}

/* The line of sgp_dd, for old scripts. */
static void
report_timing(const struct tally *t)
{
	print(stderr, "time to transfer data was %.6f secs, %.2f MB/sec",
	    t->seconds, t->seconds > 0 ? (double)t->written / 1e6 / t->seconds
	    : 0);
}

struct ms {
	char text[24];
};

/* Milliseconds with few digits. */
static struct ms
report_ms(double ns)
{
	struct ms m;

	snprintf(m.text, sizeof(m.text), "%.*f",
	    ns < 1e5 ? 4 : ns < 1e7 ? 3 : 1, ns / 1e6);
	return m;
}

/* The latencies of the requests of each end, after the timing line. */
static void
report_latencies(const struct profile *pr)
{
	static const char *const what[] = {
		[SERIES_SOURCE] = "reads",
		[SERIES_TARGET] = "writes",
		[SERIES_VERIFY] = "reads of the target",
	};
	struct gauge *r = malloc(sizeof(*r));	/* too large for the stack */
	char rate[32];
	enum series s;

	for (s = 0; r != NULL && s < SERIES_MOST; s++) {
		if (!profile_sum(pr, s, r))
			continue;
		print(stderr, "%s: %llu, %.0f/s, %s/s; ms: min %s, median %s, "
		    "90 %% %s, 99 %% %s, 99.9 %% %s, max %s", what[s],
		    (ull)r->all.requests,
		    profile_rate(r->all.requests, r->all.busy),
		    number_si(rate, sizeof(rate),
		    profile_rate(r->all.bytes, r->all.busy)),
		    report_ms((double)r->least).text,
		    report_ms(profile_percentile(r, 0.5)).text,
		    report_ms(profile_percentile(r, 0.9)).text,
		    report_ms(profile_percentile(r, 0.99)).text,
		    report_ms(profile_percentile(r, 0.999)).text,
		    report_ms((double)r->all.most).text);
	}
	free(r);
}

void
report_so_far(const struct plan *p, const struct tally *t)
{
	char waits[PATH_MAX + 64];

	if (p->opts->time != 0)
		report_timing(t);
	report_records(p, t);
	report_bytes(p, t);
	if (p->work == WORK_RESCUE)
		print(stderr,
		    "pardd: %llu of %llu bytes are finished, counting "
		    "earlier runs; %s", (ull)t->finished,
		    (ull)(t->finished + t->left),
		    phase_name(t->phase));
	if (t->silence.end == NULL)
		return;
	silence_text(waits, sizeof(waits), &t->silence, t->silence.end->name);
	print(stderr, "pardd: %s%s", waits, t->stopping ? "; stopping" : "");
}

/* A verdict; a good one only as status= allows. */
static void
report_verdict_line(const struct plan *p, const struct fault *v,
    const char *name, const char *colon)
{
	bool bad = v->status != STATUS_COMPLETE;

	if (bad || (p->opts->status & (SHOW_NONE | SHOW_NOXFER)) == 0)
		print_alarm(stderr, bad && report_coloured(p->opts, stderr),
		    "pardd: %s%s%s", name, colon, v->text);
}

/* The verdict on each of several targets. */
static void
report_verdicts(const struct plan *p, struct outcome *out)
{
	const struct plan *one;
	struct fault v;
	unsigned i;

	for (i = 0; (one = plan_each(p, i)) != NULL && p->targets > 1; i++) {
		verdict_words_of(&v, p, out, i);
		report_verdict_line(p, &v, one->dst->name, ": ");
	}
}

static void
report_verdict_all(const struct plan *p, struct outcome *out)
{
	struct fault v;

	verdict_words(&v, p, out);
	report_verdict_line(p, &v, "", "");
}

void
report_abandoned(const struct plan *p, struct outcome *out)
{
	if (print_room())
		report_verdicts(p, out);
	if (print_room())
		report_verdict_all(p, out);
}

/* Print the final remark of a backend. */
static void
report_said_of_end(const struct endpoint *ep)
{
	if (ep->noted && ep->said[0] != '\0')
		print(stderr, "pardd: %s: %s", ep->name, ep->said);
}

/* The file of an end; of a loop device, the one below it. */
static bool
file_of(const struct endpoint *ep, struct stat *st)
{
	if (!endpoint_is_file(ep))
		return endpoint_is_node(ep) &&
		    below_has_file(ep->id.node, st);
	st->st_dev = ep->id.file_dev;
	st->st_ino = ep->id.file_ino;
	return true;
}

/* Whether a file is copied within itself; then all changes are our own. */
static bool
copied_within_itself(const struct plan *p)
{
	const struct endpoint *to;
	struct stat a, b;
	bool is = false;
	unsigned i;

	if (!p->src->noted || p->src->said[0] == '\0' ||
	    !file_of(p->src, &a))
		return false;
	for (i = 0; !is && (to = tee_target(p->dst, i)) != NULL; i++)
		is = file_of(to, &b) && same_file(&a, &b);
	return is;
}

/* Print the digests in the form of the tools that check them. */
static void
report_digests(const struct plan *p, const struct outcome *out)
{
	const struct hash_sum *d;
	size_t n, i;
	char *line;

	d = hash_digests(p->hash, &n);
	if (n > 0 && d[0].hex[0] == '\0') {
		print(stderr, "pardd: no digest: not all was copied");
		return;
	}
	if (n > 0 && out->tally.lost > 0)
		print(stderr, "pardd: note: what could not be read counts as "
		    "zeros:");
	for (i = 0; i < n; i++) {
		line = hashfile_line(p, &d[i]);
		if (line != NULL)
			print(stderr, "%s", line);
		else		/* no memory for the name in it */
			print(stderr, "pardd: %s: %s", d[i].name, d[i].hex);
		free(line);
		if (d[i].packed != NULL)
			print(stderr, "pardd: the %s of the packed bytes is %s"
			    "%s", d[i].name, d[i].packed, hash_packed(&d[i]) ?
			    ", as expected" : "");
		if (d[i].expected != NULL && !hash_packed(&d[i]) &&
		    out->status != STATUS_MISMATCH)
			print(stderr, "pardd: the %s is %sas expected",
			    d[i].name, d[i].differs ? "NOT " : "");
	}
}

/* What was copied without being moved. */
static void
report_unmoved(const struct tally *t)
{
	if (t->holes > 0)
		print(stderr, "pardd: %llu bytes were holes, and not read",
		    (ull)t->holes);
	if (t->zeroed > 0)
		print(stderr, "pardd: %llu bytes were zeroed, and not written",
		    (ull)t->zeroed);
	if (t->shared > 0)
		print(stderr, "pardd: %llu bytes are shared by both files, and "
		    "not copied", (ull)t->shared);
}

/* What only some runs have to report. */
static void
report_extra(const struct plan *p, struct outcome *out)
{
	const struct tally *t = &out->tally;

	report_digests(p, out);
	if (p->opts->verbose > 0)
		report_unmoved(t);
	if (p->store == STORE_DIFFERING)
		print(stderr, "pardd: %llu bytes were already present, and not "
		    "written", (ull)t->spared);
	else if (p->opts->base != NULL)
		print(stderr, "pardd: %llu bytes were already present (%s), "
		    "and not written", (ull)t->spared, p->opts->base);
	else if (t->had > 0)
		print(stderr, "pardd: %llu bytes were already copied (%s)",
		    (ull)t->had, p->opts->map);
	if (p->opts->view != NULL)
		print(stderr, "pardd: %s: %llu reads were answered from the "
		    "target, %llu when that was read, %llu with an error",
		    p->opts->view, (ull)t->view.there, (ull)t->view.read,
		    (ull)t->view.failed);
	if (t->view.used)
		print(stderr, "pardd: note: %s was still in use: whoever has "
		    "it open gets errors from now on", p->opts->view);
	if (t->slept >= 1)
		print(stderr, "pardd: note: the machine slept for %.0f seconds "
		    "meanwhile", t->slept);
	if (t->mended > 0)
		print(stderr, "pardd: %s: %llu bytes differed when they were "
		    "read back; they were copied again, and now match",
		    p->dst->name, (ull)t->mended);
}

/*
 * The tally of a copy that was stopped, without what lies behind the first byte
 * that is missing: who goes on with skip= counts from the beginning.
 */
static struct tally
in_place(const struct plan *p, struct outcome *out)
{
	struct tally t = out->tally;
	uint64_t most;

	if (p->work != WORK_COPY || map_totals(&out->map).untried == 0)
		return t;
	most = outcome_in_place(out);
	t.read = t.read < most ? t.read : most;
	t.written = t.written < most ? t.written : most;
	return t;
}

/* Print the totals, as status= allows. */
static void
report_totals(const struct plan *p, struct outcome *out)
{
	const struct tally *t = &out->tally, there = in_place(p, out);

	if (p->opts->time != 0) {
		report_timing(&there);
		report_latencies(out->profile);
	}
	report_records(p, &there);
	if ((p->opts->status & SHOW_NOXFER) == 0)
		report_bytes(p, &there);
	/* unless this is what could not be written */
	if (t->padded > 0 && out->fault.status == 0)
		print(stderr, "pardd: the end was padded with %llu zero bytes",
		    (ull)t->padded);
	report_extra(p, out);
}

/* The kernel keeps the partitions that the target had. */
static void
stale_note(const struct plan *p)
{
	char *word = shell_word(report_disk_name(p->dst));

	if (word != NULL)
		print(stderr, "pardd: note: the kernel still has the "
		    "partitions that %s had; to have it read the new table: "
		    "partprobe %s", p->dst->name, word);
	free(word);
}

static void
target_end(const struct plan *p, struct outcome *out, unsigned i)
{
	report_said_of_end(p->dst);
	if (out->target[i].verdict.status == STATUS_COMPLETE)
		report_clone_notes(p, out);
	if (out->target[i].stale)
		stale_note(p);
}

void
report_end(const struct plan *p, struct outcome *out)
{
	bool quiet = (p->opts->status & SHOW_NONE) != 0;
	const struct plan *one;
	unsigned i;

	report_unreadable(p, out);
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		report_differing(one, &out->target[i].differ);
	if (!quiet)
		report_totals(p, out);
	if (p->opts->verbose > 0 && out->tally.in_flight_read > 0)
		print(stderr, "pardd: note: up to %u reads and %u writes were "
		    "in flight", out->tally.in_flight_read,
		    out->tally.in_flight_written);
	if (!quiet) {
		if (!copied_within_itself(p))
			report_said_of_end(p->src);
		report_damage(p, &out->damage);
		for (i = 0; (one = plan_each(p, i)) != NULL; i++)
			target_end(one, out, i);
	}
	report_next(p, out);
	report_verdicts(p, out);
	report_verdict_all(p, out);
}
