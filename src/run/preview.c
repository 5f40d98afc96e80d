/*
 * Showing a plan before it is carried out, and where.
 */
#include "run/run.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/print.h"
#include "base/status.h"
#include "open/tee.h"
#include "part/remarks.h"
#include "report/report.h"
#include "rescue/mapsaver.h"
#include "run/control.h"
#include "verify/verify.h"

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

bool
preview_ask(const struct plan *p, struct fault *f)
{
	struct map_totals known = { 0 };
	bool doubtful = remarks_doubtful(p) && print_attended();

	if (!p->opts->ask && !doubtful)
		return true;
	if (preview_check(p, &known, f) != 0)
		return false;
	return (!p->opts->ask && known.finished > 0) ||
	    report_ask(p, known_of(p, &known), f);
}

/* With -v: everything that was decided, in rows. */
static void
print_all(FILE *out, const struct plan *p, const struct map_totals *known)
{
	report_plan(out, p);
	if (known != NULL)
		report_known(out, known);
	report_plan_old(out, p);
}

int
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
	print_all(out, p, known_of(p, &known));
	return 0;
}
