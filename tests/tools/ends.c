/*
 * ends: run a command and record how it ended.
 *
 *	ends FILE COMMAND ...
 *
 * FILE gets `pid N` before the command begins, and at the end `exit N rss KIB`
 * or `signal N rss KIB`: a shell shows 130 both for an exit and for a death by
 * SIGINT.  SIGINT and SIGQUIT, which a shell ignores for background commands,
 * get their default action again; with ENDS_IGNORE=N signal N is ignored.
 */
#define _GNU_SOURCE
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const char *ignore = getenv("ENDS_IGNORE");
	struct rusage used;
	FILE *out;
	pid_t pid;
	int how;

	if (argc < 3)
		errx(2, "usage: ends FILE COMMAND ...");
	if ((out = fopen(argv[1], "we")) == NULL)
		err(2, "%s", argv[1]);
	if ((pid = fork()) < 0)
		err(2, "fork");
	if (pid == 0) {
		fprintf(out, "pid %d\n", (int)getpid());
		fflush(out);
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		if (ignore != NULL)
			signal(atoi(ignore), SIG_IGN);
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	while (wait4(pid, &how, 0, &used) < 0)
		;
	fprintf(out, "%s %d rss %ld\n", WIFSIGNALED(how) ? "signal" : "exit",
	    WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how), used.ru_maxrss);
	fclose(out);
	return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}
