/*
 * Print a completion script, as pardd --completion=SHELL does: compiled for the
 * machine that builds, which may not be one that the program runs on.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/status.h"
#include "cli/opts.h"

/* All of base/fault.c that is called here. */
int
fault_set(struct fault *f, int status, const char *fmt, ...)
{
	va_list ap;

	(void)f;
	(void)status;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	return -1;
}

int
main(int argc, char *argv[])
{
	struct fault f;

	if (argc != 2 || opts_completion(stdout, argv[1], &f) != 0)
		return STATUS_USAGE;
	return fflush(stdout) != 0;
}
