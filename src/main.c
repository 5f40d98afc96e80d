/*
 * pardd: from the command line to the exit status, in one straight line.  Each
 * step takes the results of earlier steps as const and adds one of its own.
 */
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ioprio.h"
#include "base/print.h"
#include "base/secrets.h"
#include "base/signals.h"
#include "base/status.h"
#include "cli/opts.h"
#include "config.h"
#include "disk/list.h"
#include "end/endpoint.h"
#include "end/tee.h"
#include "part/parts.h"
#include "part/remarks.h"
#include "plan/claim.h"
#include "plan/confine.h"
#include "plan/plan.h"
#include "plan/safety.h"
#include "report/events.h"
#include "report/report.h"
#include "report/verdict.h"
#include "rescue/mapsaver.h"
#include "run/control.h"
#include "run/copy.h"
#include "run/outputs.h"
#include "run/several.h"
#include "verify/compare.h"

struct held {			/* what a run has decided; kept to its end */
	struct plan	 p;
	struct outputs	 rec;
	struct claims	 claims;	/* on the target, */
	struct several	*several;	/* or on each of several; else NULL */
	struct remarks	 found;
};

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

static int
told(const struct opts *o, const struct fault *f)
{
	report_fault(f, o);
	return f->status;
}

/* Flush standard output; a write error becomes the exit status. */
static int
printed(const struct opts *o)
{
	struct fault f;

	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return STATUS_COMPLETE;
	fault_errno(&f, errno != 0 ? errno : EIO, "standard output");
	return told(o, &f);
}

static int
close_ends(struct endpoint *src, struct endpoint *dst, struct fault *f)
{
	int err = endpoint_close(dst);

	endpoint_close(src);
	if (err != 0) {
		fault_errno(f, err, "%s: closing", dst->name);
		f->status = STATUS_NOT_FLUSHED;
	}
	return err;
}

/* Report errors of the json= and log= outputs. */
static void
tell_trouble(struct events *ev)
{
	struct fault f;

	while (events_trouble(ev, &f))
		report_fault(&f, ev->opts);
}

/* Report why the copy does not begin.  Returns the exit status. */
static int
refused(struct events *ev, const struct fault *why)
{
	events_refused(ev, why);
	tell_trouble(ev);
	return told(ev->opts, why);
}

/* The same, with the ends open: close them first. */
static int
leave(struct events *ev, struct endpoint *src, struct endpoint *dst,
    const struct fault *why)
{
	struct fault f;

	close_ends(src, dst, &f);
	return refused(ev, why);
}

/* Called before any thread exists, so that all of them inherit it. */
static int
set_ioprio(const struct opts *o, struct fault *f)
{
	int err = o->ioprio == NULL ? 0 :
	    ioprio_apply(ioprio_parse(o->ioprio));

	return err == 0 ? 0 : fault_errno(f, err, "ioprio=%s", o->ioprio);
}

/* Limit every target to its partition. */
static int
limit_target(const struct opts *o, struct endpoint *dst, struct fault *f)
{
	struct endpoint *one;
	unsigned i;

	for (i = 0; (one = tee_target(dst, i)) != NULL; i++)
		if (parts_limit(one, o->opart, f) != 0)
			return -1;
	return o->targets > 1 ? tee_join(dst, f) : 0;
}

static int
check(struct held *h, struct fault *f)
{
	return h->p.targets > 1 ? several_check(&h->several, &h->p, f) :
	    safety_check(&h->p, f);
}

static int
claim(struct held *h, struct fault *f)
{
	return h->several != NULL ? several_claim(h->several, f) :
	    claims_take(&h->claims, NULL, &h->p, f);
}

/* Make the plan and all checks.  Returns -1 with *f; then nothing is held. */
static int
decide(struct held *h, const struct opts *o, struct endpoint *src,
    struct endpoint *dst, struct events *ev, struct fault *f)
{
	struct plan *p = &h->p;

	h->several = NULL;
	if (parts_limit(src, o->ipart, f) != 0 ||
	    limit_target(o, dst, f) != 0 || outputs_load(&h->rec, o, f) != 0)
		return -1;
	if (plan_make(p, o, h->rec.layout, src, dst, f) == 0 &&
	    used_make(&h->rec.used, p, &h->rec.bmap, f) == 0) {
		events_plan(ev, p);
		p->needed = remarks_needed(p);
		if (outputs_open(&h->rec, p, f) == 0 && check(h, f) == 0 &&
		    set_ioprio(o, f) == 0 && claim(h, f) == 0)
			return 0;
	}
	several_free(h->several);
	outputs_close(&h->rec);
	return -1;
}

static void
settle(const struct held *h)
{
	if (h->several != NULL)
		several_settle(h->several);
	else
		claims_settle(&h->claims);
}

static void
forget(const struct held *h)
{
	if (h->several != NULL)
		several_forget(h->several);
	else
		claims_forget(&h->claims);
}

static void
release(struct held *h)
{
	if (h->several != NULL)
		several_release(h->several);
	else
		claims_release(&h->claims);
	several_free(h->several);
	outputs_close(&h->rec);
}

/*
 * Collect remarks about the ends; with several targets each plan has its own.
 */
static void
remark(struct held *h, const struct opts *o)
{
	bool thorough = o->mode == MODE_DRY_RUN || o->ask || o->verbose > 0;

	h->found = (struct remarks){ .signs = 0 };
	if (h->several != NULL)
		several_remark(h->several, thorough);
	else
		remarks_make(&h->found, &h->p, thorough);
	h->p.found = o->compare == 0 && h->several == NULL ? &h->found : NULL;
}

/*
 * End the process while workers still run.  They use the plan and the ends,
 * which lie on this stack, and may still write, so nothing is closed or
 * released.
 */
static _Noreturn void
abandon(const struct plan *p, struct outputs *rec, struct events *ev,
    struct outcome *out)
{
	outputs_abandon(rec);
	verdict_judge(p, out);
	events_result(ev, p, out);
	report_abandoned(p, out);
	events_close(ev);
	if (out->signal != 0)
		signals_raise(out->signal);
	_exit(out->verdict.status);
}

/*
 * End the process after the report, when a request to a target never returned.
 * Its thread may still wake up, so nothing that it uses is freed.
 */
static _Noreturn void
leave_lost(struct events *ev, const struct outcome *out)
{
	events_close(ev);
	if (out->signal != 0 &&
	    out->verdict.status == STATUS_SIGNAL + out->signal)
		signals_raise(out->signal);
	_exit(out->verdict.status);
}

/* Close the ends, judge the run and report it.  Returns the exit status. */
static int
finish(const struct plan *p, struct endpoint *src, struct endpoint *dst,
    struct outputs *rec, struct events *ev, struct outcome *out)
{
	struct fault closed = { 0 };

	if (out->signal == 0)
		damage_make(&out->damage, plan_first(p), &out->map);
	outputs_look(rec, out);
	close_ends(src, dst, &closed);
	if (out->flush.status == 0)
		out->flush = closed;
	outputs_finish(rec, p, out);
	verdict_judge(p, out);
	if (!outputs_report(rec, out))
		verdict_judge(p, out);
	events_result(ev, p, out);
	if (!print_room())
		signals_let();
	tell_trouble(ev);
	report_end(p, out);
	if (!print_room())
		signals_let();	/* it delayed the report */
	if (tee_lost(dst))
		leave_lost(ev, out);
	outcome_free(out);
	return out->verdict.status;
}

/* Do what was decided.  The outcome is too large for the stack. */
static int
run(const struct plan *p, struct endpoint *src, struct endpoint *dst,
    struct outputs *rec, struct events *ev, int *signo)
{
	struct outcome *out = malloc(sizeof(*out));
	struct signals signals;
	struct fault f;
	int status;

	if (out == NULL)
		fault_errno(&f, ENOMEM, "the outcome");
	if (out == NULL || signals_take(&signals, &f) != 0 ||
	    outputs_start(rec, &f) != 0 ||
	    copy_run(p, &signals, ev, out, &f) != 0) {
		free(out);
		return leave(ev, src, dst, &f);
	}
	*signo = out->signal;
	if (out->abandoned)
		abandon(p, rec, ev, out);
	status = finish(p, src, dst, rec, ev, out);
	free(out);
	close(signals.fd);
	return status;
}

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
place(const struct plan *p)
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

/*
 * What -d and --ask must know before they show anything: 0 if the work would
 * begin, and in *known what a map says already; else -1 with *f.
 */
static int
look(const struct plan *p, struct endpoint *dst, struct map_totals *known,
    struct fault *f)
{
	bool map = p->work == WORK_RESCUE;

	return control_look(p->opts, f) != 0 || compare_look(p, f) != 0 ||
	    (map && mapsaver_look(p, known, f) != 0) ||
	    tee_look(dst, f) != 0 ? -1 : 0;
}

/* --ask: whether the answer was yes; if not, *f. */
static bool
ask(const struct plan *p, struct endpoint *dst, struct fault *f)
{
	struct map_totals known;

	return look(p, dst, &known, f) == 0 &&
	    report_ask(p, p->work == WORK_RESCUE ? &known : NULL, f);
}

/* --dry-run: show the plan. */
static int
show(const struct plan *p, struct endpoint *src, struct endpoint *dst,
    struct events *ev)
{
	struct map_totals known;
	struct fault f;
	bool map = p->work == WORK_RESCUE;
	FILE *out = place(p);

	if (out == NULL) {
		fault_set(&f, STATUS_REFUSED, "there is nowhere to print the "
		    "plan: standard output and standard error are ends of the "
		    "copy, or disks");
		return leave(ev, src, dst, &f);
	}
	if (look(p, dst, &known, &f) != 0)
		return leave(ev, src, dst, &f);
	tell_trouble(ev);
	if (p->opts->verbose == 0) {
		if (report_page(out, p, map ? &known : NULL, &f) != 0)
			return leave(ev, src, dst, &f);
	} else {
		report_plan(out, p);
		if (map)
			report_known(out, &known);
		report_plan_old(out, p);
	}
	close_ends(src, dst, &f);
	return printed(p->opts);
}

/* The ends are open: decide, then show the plan or run it, and release all. */
static int
planned(const struct opts *o, struct endpoint *src, struct endpoint *dst,
    struct events *ev, int *signo)
{
	struct held h;
	struct fault f;
	int status;

	if (decide(&h, o, src, dst, ev, &f) != 0)
		return leave(ev, src, dst, &f);
	remark(&h, o);
	if (o->mode == MODE_DRY_RUN) {
		h.p.confined = confine_look(&h.p);
		status = show(&h.p, src, dst, ev);
	} else if (o->ask && !ask(&h.p, dst, &f)) {
		status = leave(ev, src, dst, &f);
	} else {
		settle(&h);
		h.p.confined = confine(&h.p);
		status = run(&h.p, src, dst, &h.rec, ev, signo);
		forget(&h);
	}
	release(&h);
	remarks_free(&h.found);
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

/* planned(), with messages held back until the copy into that file is over. */
static int
held(const struct opts *o, struct endpoint *src, struct endpoint *dst,
    struct events *ev, int *signo)
{
	struct fault f;
	int status, held;

	if (o->mode == MODE_DRY_RUN || !prints_into(dst))
		return planned(o, src, dst, ev, signo);
	held = print_hold();
	if (held < 0) {
		fault_errno(&f, errno, "keeping messages out of the copy");
		return leave(ev, src, dst, &f);
	}
	status = planned(o, src, dst, ev, signo);
	print_release(held);
	return status;
}

/* Whether a request to one of the ends may never return. */
static bool
stuck(const struct endpoint *src, struct endpoint *dst)
{
	const struct endpoint *one;
	bool is = src->is.stuck;
	unsigned i;

	for (i = 0; !is && (one = tee_target(dst, i)) != NULL; i++)
		is = one->is.stuck;
	return is;
}

/*
 * End the process without atexit handlers, which might wait for that request.
 */
static _Noreturn void
leave_stuck(struct events *ev, int status, int signo)
{
	events_close(ev);
	if (signo != 0 && status == STATUS_SIGNAL + signo)
		signals_raise(signo);
	_exit(status);
}

/* Open the ends and go on.  *lost is set if one of them does not answer. */
static int
copy_between(const struct opts *o, struct endpoint *src, struct endpoint *dst,
    struct events *ev, int *signo, bool *lost)
{
	bool look = o->mode == MODE_DRY_RUN;
	struct fault f;
	int status;

	if (events_open(ev, o, &f) != 0)
		return refused(ev, &f);
	if (endpoint_open(src, SOURCE, o, look, &f) != 0) {
		*lost = src->is.stuck;
		return refused(ev, &f);
	}
	dst->is.stuck = false;
	if ((o->compare != 0 ? endpoint_open_compared(dst, o, &f) :
	    o->targets > 1 ? tee_open(dst, o, look, &f) :
	    endpoint_open(dst, TARGET, o, look, &f)) != 0) {
		endpoint_close(src);
		*lost = src->is.stuck || dst->is.stuck;
		return refused(ev, &f);
	}
	status = held(o, src, dst, ev, signo);
	*lost = stuck(src, dst);
	tee_free(dst);
	return status;
}

static int
copy(const struct opts *o, struct events *ev, int *signo)
{
	struct endpoint src, dst;
	bool lost = false;
	int status = copy_between(o, &src, &dst, ev, signo, &lost);

	if (lost)
		leave_stuck(ev, status, *signo);
	return status;
}

/*
 * Refuse a wrong command line.  It may still name an output for programs, which
 * should see the refusal.
 */
static int
misused(const struct opts *o, const struct fault *why)
{
	struct events ev;
	struct fault f;
	int status;

	events_open(&ev, o, &f);
	status = refused(&ev, why);
	events_close(&ev);
	return status;
}

/* The modes that only print. */
static int
print_only(const struct opts *o)
{
	struct fault f;
	int failed = 0;

	if (o->mode == MODE_HELP)
		opts_help(stdout);
	else if (o->mode == MODE_VERSION)
		printf("pardd %s\n", PARDD_VERSION);
	else if (o->mode == MODE_LIST)
		failed = list_print(stdout, o->as_json, &f);
	else
		failed = opts_completion(stdout, o->shell, &f);
	return failed != 0 ? told(o, &f) : printed(o);
}

/*
 * Copy the command line, because argv itself becomes the title shown by ps(1).
 * Returns one allocation, or NULL.
 */
static char **
copied(int argc, char *argv[])
{
	size_t bytes = sizeof(argv[0]) * ((size_t)argc + 1), at = bytes;
	char **copy;
	int i;

	for (i = 0; i < argc; i++)
		bytes += strlen(argv[i]) + 1;
	copy = calloc(1, bytes);
	for (i = 0; copy != NULL && i < argc; i++) {
		copy[i] = (char *)copy + at;
		at += strlcpy(copy[i], argv[i], bytes - at) + 1;
	}
	return copy;
}

/* Take passwords out of the words, and out of what ps(1) shows. */
static bool
hide(struct secrets *s, int argc, char *words[], char *shown[])
{
	int i;

	for (i = 0; i < argc; i++)
		if (secrets_take(s, words[i], shown[i]) != 0)
			return false;
	return true;
}

/*
 * Run a command line.  "title" is the memory of argv, to be overwritten by the
 * title of the process, or NULL.
 */
static int
obey(int argc, char *words[], char *title[], const struct secrets *secrets)
{
	struct opts o;
	struct events ev;
	struct fault f;
	int status, signo = 0;

	if (opts_parse(&o, argc, words, &f) != 0)
		return misused(&o, &f);
	if (o.mode != MODE_COPY && o.mode != MODE_DRY_RUN)
		return print_only(&o);
	o.title = title;
	o.secrets = secrets;
	status = copy(&o, &ev, &signo);
	events_close(&ev);
	if (signo != 0 && status == STATUS_SIGNAL + signo)
		signals_raise(signo);
	return status;
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
	words = copied(argc, argv);
	if (words != NULL && !hide(&secrets, argc, words, argv))
		return STATUS_FILE;
	status = words == NULL ? obey(argc, argv, NULL, NULL) :
	    obey(argc, words, argv, &secrets);
	secrets_free(&secrets);
	free(words);
	return status;
}
