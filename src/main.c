/*
 * pardd: from the command line to the exit status, in one straight line.  Each
 * step takes the results of earlier steps as const and adds one of its own:
 *
 *	main	keep the words, hide passwords, hold back signals
 *	start	parse them; print, if that is all
 *	copy	open the output for programs, and both ends
 *	planned	decide everything; show it, ask, or
 *	run	copy,
 *	finish	close, judge, report
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/print.h"
#include "base/secrets.h"
#include "base/signals.h"
#include "base/status.h"
#include "base/title.h"
#include "cli/opts.h"
#include "config.h"
#include "copy/verdict.h"
#include "disk/disk.h"
#include "end/endpoint.h"
#include "html/report_file.h"
#include "open/tee.h"
#include "part/remarks.h"
#include "plan/confine.h"
#include "record/events.h"
#include "report/report.h"
#include "rescue/mapsaver.h"
#include "run/control.h"
#include "run/outputs.h"
#include "run/run.h"
#include "verify/verify.h"
#include "view/view.h"

struct session {		/* of a command line that copies */
	struct opts	*o;
	struct events	 ev;
	struct endpoint	 src, dst;
	int		 signo;		/* the signal that stopped it, or 0 */
	bool		 stuck;		/* a request may never return */
};

/* --- showing a plan before it is carried out ----------------------------- */

/*
 * Whether printing to fd cannot overwrite data: a terminal, a pipe or a socket.
 */
static bool
keeps_nothing(int fd, const struct stat *st)
{
	return isatty(fd) || S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode);
}

/*
 * Choose where the plan is printed: never into an end or onto a disk.  Standard
 * error also does if messages would go there during a copy.  NULL: nowhere.
 */
static FILE *
preview_output(const struct plan *p)
{
	static const int fds[] = { STDOUT_FILENO, STDERR_FILENO };
	struct stat st;
	size_t i;
	int fd;

	for (i = 0; i < 2; i++) {
		fd = fds[i];
		if (fstat(fd, &st) != 0 || S_ISBLK(st.st_mode))
			continue;
		if ((fd == STDERR_FILENO && keeps_nothing(fd, &st)) ||
		    (!endpoint_is(p->src, fd) && !tee_is(p->dst, fd)))
			return fd == STDOUT_FILENO ? stdout : stderr;
	}
	return NULL;
}

/* The totals of an existing map; NULL if the copy has none. */
static const struct map_totals *
known_of(const struct plan *p, const struct map_totals *known)
{
	return p->work == WORK_RESCUE ? known : NULL;
}

/*
 * Check what would refuse the copy, and read an existing map into *known.
 * Returns 0, or -1 with *f.
 */
static int
preview_check(const struct plan *p, struct map_totals *known, struct fault *f)
{
	return control_look(p->opts, f) != 0 || compare_look(p, f) != 0 ||
	    (p->work == WORK_RESCUE && mapsaver_look(p, known, f) != 0) ||
	    tee_look(p->dst, f) != 0 ? -1 : 0;
}

/* With --ask, and at a terminal where the plan is doubtful and nothing done. */
static bool
preview_ask(const struct plan *p, struct fault *f)
{
	struct map_totals known = { 0 };
	bool doubtful = remarks_doubtful(p) && print_owned() == 1;

	if (!p->opts->ask && !doubtful)
		return true;
	if (preview_check(p, &known, f) != 0)
		return false;
	return (!p->opts->ask && known.finished > 0) ||
	    report_ask(p, known_of(p, &known), f);
}

static int
preview_plan(const struct plan *p, struct events *ev, struct fault *f)
{
	struct map_totals known;
	FILE *out = preview_output(p);

	if (out == NULL)
		return fault_set(f, STATUS_REFUSED, "there is nowhere to print "
		    "the plan: standard output and standard error are ends of "
		    "the copy, or disks");
	if (preview_check(p, &known, f) != 0)
		return -1;
	report_trouble(ev);
	if (p->opts->verbose == 0)
		return report_page(out, p, known_of(p, &known), f);
	report_plan(out, p);
	if (known_of(p, &known) != NULL)
		report_known(out, &known);
	return 0;
}

/* --- how it ends --------------------------------------------------------- */

/* Print a fault.  Returns its exit status. */
static int
report_failure(const struct opts *o, const struct fault *f)
{
	report_fault(f, o);
	return f->status;
}

/* Flush standard output; a write error becomes the exit status. */
static int
flush_output(const struct opts *o)
{
	struct fault f;

	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return STATUS_COMPLETE;
	fault_errno(&f, errno != 0 ? errno : EIO, "standard output");
	return report_failure(o, &f);
}

/* Report why the copy does not begin.  Returns the exit status. */
static int
session_refused(struct session *s, const struct fault *why)
{
	events_refused(&s->ev, why);
	report_trouble(&s->ev);
	return report_failure(s->o, why);
}

/* Close the ends, and report why the copy does not begin. */
static int
session_leave(struct session *s, const struct fault *why)
{
	endpoint_close(&s->dst);
	endpoint_close(&s->src);
	return session_refused(s, why);
}

/* After the report: end by the signal that stopped the run, if any. */
static int
end_session(struct session *s, int status)
{
	events_close(&s->ev);
	if (s->signo != 0 && status == STATUS_SIGNAL + s->signo)
		signals_raise(s->signo);
	return status;
}

/*
 * End the process while workers, or what writes the files of the run, go on.
 * They use the plan and the ends, which lie on this stack, and may still write,
 * so nothing is closed or released.
 */
static _Noreturn void
session_abandon(struct session *s, struct decision *d, struct outcome *out)
{
	viewer_abandon(d->plan.view);
	verdict_make(&d->plan, out);
	events_result(&s->ev, &d->plan, out);
	report_abandoned(&d->plan, out);
	events_close(&s->ev);
	if (s->signo != 0 && out->status == STATUS_SIGNAL + s->signo)
		signals_raise(s->signo);
	_exit(out->status);
}

static void
session_drop_outputs(void *outputs)
{
	outputs_abandon(outputs);
}

/* The same, and the files of the run are not written. */
static _Noreturn void
session_drop(struct session *s, struct decision *d, struct outcome *out)
{
	int err;

	errand_run(session_drop_outputs, &d->outputs, 1, &err);
	session_abandon(s, d, out);
}

/* --- the copy ------------------------------------------------------------ */

/* Close the ends, judge the run and report it.  Returns the exit status. */
static int
session_finish(struct session *s, struct decision *d,
    const struct signals *signals, struct outcome *out)
{
	const struct plan *p = &d->plan;
	bool looked, closed = settle_close(&s->src, &s->dst, d, signals, out,
	    &looked);

	outputs_finish(&d->outputs, p, out);
	if (!looked)
		session_drop(s, d, out);
	if (!settle(&d->outputs, p, signals, out))
		session_abandon(s, d, out);
	events_result(&s->ev, p, out);
	if (!print_room())
		signals_let();
	report_trouble(&s->ev);
	report_end(p, out);
	if (!print_room())
		signals_let();	/* it delayed the report */
	/* a thread may still return from a lost request: free nothing */
	if (!closed || tee_stuck(&s->dst))
		_exit(end_session(s, out->status));
	outcome_free(out);
	return out->status;
}

/* Carry out the plan.  The outcome is too large for the stack. */
static int
session_run(struct session *s, struct decision *d)
{
	struct outcome *out = malloc(sizeof(*out));
	struct signals signals;
	struct fault f;
	int status;

	if (out == NULL)
		fault_errno(&f, ENOMEM, "the outcome");
	report_file_look_before(d->outputs.report);
	if (out == NULL || signals_take(&signals, &f) != 0 ||
	    outputs_start(&d->outputs, &f) != 0 ||
	    copy_run(&d->plan, &signals, &s->ev, out, &f) != 0) {
		free(out);
		return session_leave(s, &f);
	}
	s->signo = out->signal;
	if (out->abandoned)
		session_drop(s, d, out);
	status = session_finish(s, d, &signals, out);
	free(out);
	close(signals.fd);
	return status;
}

/* --dry-run: show the plan. */
static int
session_show(struct session *s, const struct plan *p)
{
	struct fault f;

	if (preview_plan(p, &s->ev, &f) != 0)
		return session_leave(s, &f);
	endpoint_close(&s->dst);
	endpoint_close(&s->src);
	return flush_output(s->o);
}

/*
 * The ends are open: decide, then show the plan or run it, and release all.
 * What is decided is kept where nothing zeroes it first.
 */
static int
session_planned(struct session *s)
{
	struct decision *d = malloc(sizeof(*d));
	struct fault f;
	int status, awake;

	if (d == NULL)
		fault_errno(&f, ENOMEM, "the plan");
	if (d == NULL ||
	    decision_make(d, s->o, &s->src, &s->dst, &s->ev, &f) != 0) {
		free(d);
		return session_leave(s, &f);
	}
	if (s->o->mode == MODE_DRY_RUN) {
		d->plan.confined = confine_look(&d->plan);
		status = session_show(s, &d->plan);
	} else if (!preview_ask(&d->plan, &f) ||
	    viewer_open(&d->plan, &f) != 0) {
		status = session_leave(s, &f);
	} else {
		decision_settle(d, false);
		awake = awake_hold(&d->plan);
		d->plan.confined = confine(&d->plan);
		status = session_run(s, d);
		if (awake >= 0)
			close(awake);
		decision_settle(d, true);
	}
	decision_free(d);
	free(d);
	return status;
}

/*
 * Whether messages would end up in the file that standard output is copied to.
 */
static bool
prints_into(struct endpoint *dst)
{
	const struct endpoint *one;
	struct stat st;
	unsigned i;

	for (i = 0; (one = tee_target(dst, i)) != NULL; i++)
		if (one->is.inherited && endpoint_is(one, STDERR_FILENO) &&
		    fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode))
			return true;
	return false;
}

/*
 * session_planned(), with messages held back until the copy into that file is
 * over.
 */
static int
session_hold_messages(struct session *s)
{
	struct fault f;
	int status, held;

	if (s->o->mode == MODE_DRY_RUN || !prints_into(&s->dst))
		return session_planned(s);
	held = print_hold();
	if (held < 0) {
		fault_errno(&f, errno, "keeping messages out of the copy");
		return session_leave(s, &f);
	}
	status = session_planned(s);
	print_release(held);
	return status;
}

/* Whether a request to one of the ends may never return. */
static bool
session_stuck(struct session *s)
{
	const struct endpoint *one;
	bool is = s->src.is.stuck;
	unsigned i;

	for (i = 0; !is && (one = tee_target(&s->dst, i)) != NULL; i++)
		is = one->is.stuck;
	return is;
}

static int
session_open_source(struct session *s, struct fault *f)
{
	return endpoint_open(&s->src, SOURCE, s->o,
	    s->o->mode == MODE_DRY_RUN, f);
}

static int
session_open_target(struct session *s, struct fault *f)
{
	const struct opts *o = s->o;
	bool look = o->mode == MODE_DRY_RUN;

	return o->compare != 0 ? endpoint_open_compared(&s->dst, o, f) :
	    o->targets > 1 ? tee_open(&s->dst, o, look, f) :
	    endpoint_open(&s->dst, TARGET, o, look, f);
}

/* Read the command line again, and the files that it names. */
static int
session_parse(struct session *s, struct fault *f)
{
	return opts_parse(s->o, s->o->argc, s->o->argv, f);
}

static int
session_open_events(struct session *s, struct fault *f)
{
	return events_open(&s->ev, f);
}

/*
 * Open an end, or a file of the run; if somebody has a lease on it, as often as
 * it takes: the kernel ends the lease after a while (lease-break-time in
 * proc(5)).
 */
static int
session_open(struct session *s, int (*open)(struct session *, struct fault *),
    struct fault *f)
{
	unsigned limit = s->o->timeout < 0 ? UINT_MAX : opts_timeout(s->o);
	struct clock_limit wait = { .seconds = limit };
	struct clock_limit quiet = { .seconds = 1 };
	bool told = false;
	int failed;

	while ((failed = open(s, f)) != 0 && f->by == TOLD_LEASED &&
	    clock_within(&wait)) {
		if (!told && !clock_within(&quiet)) {
			report_waiting(f, s->o);
			told = true;
		}
		usleep(100000);
	}
	return failed;
}

/*
 * Open both ends, each for itself: a pipe whose beginning was read cannot be
 * opened again.  Returns 0, or -1 with *f and neither open.
 */
static int
session_open_ends(struct session *s, struct fault *f)
{
	if (session_open(s, session_open_source, f) != 0) {
		s->stuck = s->src.is.stuck;
		return -1;
	}
	s->dst.is.stuck = false;
	if (session_open(s, session_open_target, f) != 0) {
		endpoint_close(&s->src);
		s->stuck = s->src.is.stuck || s->dst.is.stuck;
		return -1;
	}
	return 0;
}

static int
session_copy(struct session *s)
{
	struct fault f;
	int status;

	events_begin(&s->ev, s->o);
	if (session_open(s, session_open_events, &f) != 0 ||
	    session_open_ends(s, &f) != 0)
		return session_refused(s, &f);
	status = session_hold_messages(s);
	s->stuck = session_stuck(s);
	tee_free(&s->dst);
	return status;
}

/* --- the command line ---------------------------------------------------- */

/*
 * Refuse a wrong command line.  It may still name an output for programs, which
 * should see the refusal.
 */
static int
session_misused(struct session *s, const struct fault *why)
{
	struct fault f;
	int status;

	events_begin(&s->ev, s->o);
	session_open(s, session_open_events, &f);
	status = session_refused(s, why);
	events_close(&s->ev);
	return status;
}

/* The modes that only print. */
static int
print_only(const struct opts *o)
{
	struct fault f;
	int failed = 0;

	if (o->mode == MODE_HELP)
		failed = opts_help(stdout, o->subject, &f);
	else if (o->mode == MODE_VERSION)
		printf("pardd %s\n", PARDD_VERSION);
	else if (o->mode == MODE_LIST)
		failed = list_print(stdout, o->as_json, o->argv + 1, &f);
	else
		failed = opts_completion(stdout, o->shell, &f);
	return failed != 0 ? report_failure(o, &f) : flush_output(o);
}

/*
 * Run a command line.  "title" is the memory of argv, to be overwritten by the
 * title of the process, or NULL.
 */
static int
session_start(int argc, char *words[], char *title[],
    const struct secrets *secrets)
{
	struct opts o;
	struct session s = { .o = &o };
	struct fault f;
	int status;

	if (opts_parse(&o, argc, words, &f) != 0 &&
	    (f.by != TOLD_LEASED || session_open(&s, session_parse, &f) != 0))
		return session_misused(&s, &f);
	if (o.mode != MODE_COPY && o.mode != MODE_DRY_RUN)
		return print_only(&o);
	o.title = title;
	o.secrets = secrets;
	status = end_session(&s, session_copy(&s));
	if (s.stuck)
		_exit(status);	/* atexit handlers might wait for it */
	return status;
}

/*
 * If a standard descriptor is closed, the first end opened would take its
 * number and messages would be written into that end.  Fill the gap with a
 * descriptor that cannot be used, not even through /dev/stdout: "/" opened with
 * O_PATH.
 */
static bool
fill_standard_descriptors(void)
{
	int fd, got;

	for (fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		got = open("/", O_PATH);
		if (got != fd)
			return false;
	}
	return true;
}

int
main(int argc, char *argv[])
{
	struct secrets secrets = { .n = 0 };
	char **words;
	int status;

	if (!fill_standard_descriptors())
		return STATUS_FILE;
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);	/* workers hardly allocate */
#endif
	signals_hold();
	words = title_words(argc, argv);
	if (words != NULL && secrets_take(&secrets, argc, words, argv) != 0)
		return STATUS_FILE;
	status = words == NULL ? session_start(argc, argv, NULL, NULL) :
	    session_start(argc, words, argv, &secrets);
	secrets_free(&secrets);
	free(words);
	return status;
}
