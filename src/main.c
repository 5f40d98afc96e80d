/*
 * pardd: the straight line from operands to exit status.  Each step takes what
 * the ones before it made as const and makes one thing more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "claim.h"
#include "config.h"
#include "copy.h"
#include "endpoint.h"
#include "opts.h"
#include "plan.h"
#include "report.h"
#include "safety.h"
#include "status.h"

/*
 * A standard descriptor that is closed would become the first end opened, and
 * messages would go into it.  In its place comes one that cannot be used.
 */
static bool
fill_standard_descriptors(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ?
		    O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

static int
told(const struct fault *f)
{
	report_fault(f);
	return f->status;
}

/* Whether standard output took what was printed. */
static int
printed(void)
{
	struct fault f;

	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return STATUS_COMPLETE;
	fault_errno(&f, errno != 0 ? errno : EIO, "standard output");
	return told(&f);
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

/* It cannot begin. */
static int
leave(struct endpoint *src, struct endpoint *dst, const struct fault *why)
{
	struct fault f;

	close_ends(src, dst, &f);
	return told(why);
}

/* Everything is decided: do it. */
static int
run(const struct plan *p, struct endpoint *src, struct endpoint *dst,
    int *signo)
{
	struct signals signals;
	struct outcome out;
	struct fault f, closed = { 0 };
	int status;

	if (signals_take(&signals, &f) != 0)
		return leave(src, dst, &f);
	report_begin(p);
	if (copy_run(p, &signals, &out, &f) != 0)
		return leave(src, dst, &f);
	*signo = out.signal;
	if (out.abandoned) {
		report_abandoned(out.signal);
		return STATUS_SIGNAL + out.signal;
	}
	close_ends(src, dst, &closed);
	if (out.flush.status == 0)
		out.flush = closed;
	status = report_end(p, &out);
	outcome_free(&out);
	close(signals.fd);
	return status;
}

static int
planned(const struct opts *o, struct endpoint *src, struct endpoint *dst,
    int *signo)
{
	struct claims claims;
	struct plan p;
	struct fault f;
	int status;

	if (plan_make(&p, o, src, dst, &f) != 0 ||
	    safety_check(&p, &f) != 0 || claims_take(&claims, &p, &f) != 0)
		return leave(src, dst, &f);
	if (o->mode == MODE_DRY_RUN) {
		report_plan(stdout, &p);
		close_ends(src, dst, &f);
		claims_release(&claims);
		return printed();
	}
	status = o->ask && !report_ask(&p, &f) ? leave(src, dst, &f) :
	    run(&p, src, dst, signo);
	claims_release(&claims);
	return status;
}

static int
copy(const struct opts *o, int *signo)
{
	bool look = o->mode == MODE_DRY_RUN;
	struct endpoint src, dst;
	struct fault f;

	if (endpoint_open(&src, SOURCE, o, look, &f) != 0)
		return told(&f);
	if (endpoint_open(&dst, TARGET, o, look, &f) != 0) {
		endpoint_close(&src);
		return told(&f);
	}
	return planned(o, &src, &dst, signo);
}

static int
print(const struct opts *o)
{
	struct fault f;

	if (o->mode == MODE_HELP)
		opts_help(stdout);
	else if (o->mode == MODE_VERSION)
		printf("pardd %s\n", PARDD_VERSION);
	else if (opts_completion(stdout, o->shell, &f) != 0)
		return told(&f);
	return printed();
}

int
main(int argc, char *argv[])
{
	struct opts o;
	struct fault f;
	int status, signo = 0;

	if (!fill_standard_descriptors())
		return STATUS_FILE;
	signals_hold();
	if (opts_parse(&o, argc, argv, &f) != 0)
		return told(&f);
	if (o.mode != MODE_COPY && o.mode != MODE_DRY_RUN)
		return print(&o);
	status = copy(&o, &signo);
	if (signo != 0 && status == STATUS_SIGNAL + signo)
		signals_raise(signo);
	return status;
}
