/*
 * What is printed before and during a run.  For its end see report_end.c.
 */
#include "report/report.h"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/number.h"
#include "base/print.h"
#include "copy/ranges.h"
#include "part/remarks.h"
#include "part/used.h"
#include "plan/safety.h"
#include "record/events.h"

enum { FS_SHOWN = 16 };

bool
report_coloured(const struct opts *o, FILE *out)
{
	return o->status == 0 && o->json == NULL && !o->as_json &&
	    print_colours(out);
}

void
report_fault(const struct fault *f, const struct opts *o)
{
	print_alarm(stderr, report_coloured(o, stderr), "pardd: %s", f->text);
}

void
report_trouble(struct events *ev)
{
	struct fault f;

	while (events_trouble(ev, &f))
		report_fault(&f, ev->opts);
}

/* --- the beginning ------------------------------------------------------ */

static void
span_note(const struct span *s, const struct endpoint *ep, const char *what)
{
	char from[96], to[96];

	if (s->odd)
		print(stderr, "pardd: note: the range on the %s, %s, begins %s "
		    "and ends %s", what, ep->name,
		    report_border(from, sizeof(from), &s->from, true),
		    report_border(to, sizeof(to), &s->to, false));
}

enum { SIGNS_SHOWN = 4 };

/* What will be lost. */
static void
signs_note(const struct plan *p)
{
	size_t n = p->found->signs, i, at = 0;
	char text[512] = "";
	const struct sign *s;

	if (n == 0 || !p->dst->is.device)
		return;
	for (i = 0; i < n && i < SIGNS_SHOWN && at < sizeof(text); i++) {
		s = &p->found->sign[i];
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		    s->label[0] != '\0' ? "%s%s \"%s\"" : "%s%s", i > 0 ?
		    ", " : "", s->type, s->label);
	}
	if (n > SIGNS_SHOWN && at < sizeof(text))
		snprintf(text + at, sizeof(text) - at, " and %zu more",
		    n - SIGNS_SHOWN);
	print(stderr, "pardd: note: this overwrites %s on %s%s", text,
	    p->dst->lim.within, p->dst->name);
}

/*
 * What is mounted in another machine is refused there only.  A Ceph image that
 * a client has open is refused: the cluster knows.
 */
static void
elsewhere_note(const struct endpoint *dst)
{
	enum users users = endpoint_users(dst);

	if (users == USERS_KNOWN)
		return;
	print(stderr, users == USERS_REGISTERED ? "pardd: note: only users of "
	    "%s that registered with it are known; elsewhere it may be "
	    "mounted" :
	    "pardd: note: who else uses %s cannot be known from here; where it "
	    "lies it may be mounted", dst->name);
}

/* Remarks on a target; with the first one also on the source. */
static void
found_notes(const struct plan *p, bool first, bool begun)
{
	char text[512];
	unsigned n;

	if (first)
		span_note(&p->found->src, p->src, "source");
	span_note(&p->found->dst, p->dst, "target");
	elsewhere_note(p->dst);
	if (!begun)
		signs_note(p);
	for (n = 0; report_remark(p, n, text, sizeof(text)); n++)
		print(stderr, "pardd: note: %s", text);
}

/* With used=only: what is copied as a whole nevertheless. */
static void
used_notes(const struct used *u)
{
	char name[256];
	size_t i, n = 0;

	for (i = 0; i < u->n; i++) {
		if (u->fs[i].treated != TREATED_WHOLE || n++ >= FS_SHOWN)
			continue;
		print(stderr, "pardd: note: %s: %s: copied whole",
		    used_name(name, sizeof(name), &u->fs[i]), u->fs[i].reason);
	}
	if (n > FS_SHOWN)
		print(stderr, "pardd: note: and %zu more partition%s copied "
		    "whole", n - FS_SHOWN, n - FS_SHOWN == 1 ? " is" : "s are");
}

/* Remarks: surprising, but no reason to refuse. */
static void
report_notes(const struct plan *p, bool begun)
{
	char name[NAME_MAX + 1];
	struct usage use;
	const struct plan *one;
	unsigned i;

	if (p->opts->bs < 0 && p->bs != 512)
		print(stderr, "pardd: bs=%llu, the logical block size of %s",
		    (ull)p->bs, p->src->geo.block > 0 ? p->src->name :
		    p->dst->name);
	if (safety_source_busy(p, &use, name, sizeof(name)))
		print(stderr, "pardd: note: %s is mounted read-write on %s: "
		    "what changes meanwhile may be copied in part%s", name,
		    use.by, p->work == WORK_RESCUE ? "; unmount a failing "
		    "disk, and keep the map off it" : "");
	if (p->opts->sums != NULL)
		print(stderr, "pardd: note: the signature in %s is not checked",
		    p->opts->sums);
	if (p->opts->input == NULL && p->src->is.inherited &&
	    p->src->is.device && isatty(STDIN_FILENO))
		print(stderr, "pardd: note: if= is missing, so this terminal "
		    "is read; Ctrl-D ends it");
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		if (one->found != NULL)
			found_notes(one, i == 0, begun);
	if (p->used != NULL && p->used->leaves)
		used_notes(p->used);
	if (p->opts->check != 0 && ranges_of_another(p))
		print(stderr, "pardd: note: %s has a different serial number "
		    "from the disks of %s", p->src->name, p->opts->manifest);
}

void
report_begin(const struct plan *p, bool begun)
{
	if ((p->opts->status & SHOW_NONE) == 0)
		report_notes(p, begun);
	if (p->opts->verbose > 0)
		report_plan(stderr, p);
}

void
report_threads(const struct plan *p, int err)
{
	if (p->opts->verbose > 0)
		print(stderr, "pardd: note: no io_uring (%s): using %u threads",
		    errno_words(err), p->workers);
}

/* --- during the run ----------------------------------------------------- */

void
report_differs(const struct plan *p, uint64_t off, bool unread)
{
	bool repairs = p->opts->mends > 0 && !p->dst->is.zoned &&
	    p->dst->encoded == NULL &&
	    !p->src->is.streamed && (p->src->spec.flags & FLAG_RANDOM) == 0;

	print(stderr, "pardd: %s: byte %llu %sis not what was written there; "
	    "continuing%s", p->dst->name, (ull)(p->dst_off + off), unread ?
	    "cannot be read back, or " : "", repairs ?
	    ", and it will be repaired" : "");
}

void
report_dropped(const struct fault *why, unsigned left)
{
	if (left == 0)
		print(stderr, "pardd: %s; that was the last target", why->text);
	else
		print(stderr, "pardd: %s; it is dropped, and %u target%s",
		    why->text, left, left == 1 ? " continues" : "s continue");
}

void
report_pattern(const struct plan *p, const struct pattern *pattern)
{
	char length[16], period[16];

	print(stderr, "pardd: %s: %s of every %s cannot be read, %zu times: a "
	    "dead head?%s", p->src->name,
	    number_iec(length, sizeof(length), (double)pattern->length),
	    number_iec(period, sizeof(period), (double)pattern->period),
	    pattern->runs, (p->opts->rescue & RESCUE_NOSWEEP) != 0 ? "" :
	    "  It is read last; rescue=nosweep skips it");
}

void
report_warmth(const struct plan *p, bool warm, double celsius)
{
	if (warm)
		print(stderr, "pardd: %s is at %.0f degrees Celsius, above "
		    "maxtemp=%lld; waiting for it to cool", p->src->name,
		    celsius, (long long)p->opts->maxtemp);
	else
		print(stderr, "pardd: %s is cool enough, and the copy "
		    "continues", p->src->name);
}

void
report_stopping(int signo)
{
	if (print_room())
		print(stderr, "pardd: SIG%s: finishing what is in flight, "
		    "within %d s; a second signal quits at once",
		    sigabbrev_np(signo), GRACE);
}

void
report_waiting(const struct fault *f, const struct opts *o)
{
	if ((o->status & SHOW_NONE) == 0 && print_room())
		print(stderr, "pardd: %s; waiting until that has ended",
		    f->text);
}

void
report_settling(const struct plan *p, const char *what)
{
	if ((p->opts->status & SHOW_NONE) == 0 && print_room())
		print(stderr, "pardd: the copy is over; still %s", what);
}

void
report_gone(const struct plan *p, const struct outcome *out)
{
	if ((p->opts->status & SHOW_NONE) != 0)
		return;
	print(stderr, "pardd: %s", out->fault.text);
	print(stderr, "pardd: the map %s saved; waiting up to %lld second%s "
	    "for the disk to come back", out->unsaved.status == 0 ? "is" :
	    "could not be", (long long)p->opts->wait, p->opts->wait == 1 ? "" :
	    "s");
}

void
report_back(const struct plan *p)
{
	if ((p->opts->status & SHOW_NONE) == 0)
		print(stderr, "pardd: it is back as %s, and the copy continues",
		    p->src->name);
}
