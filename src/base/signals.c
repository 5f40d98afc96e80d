/*
 * Signals are blocked in all threads and read by the main thread, so that no
 * handler runs.
 */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int answered[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 };

enum {
	ANSWERED = sizeof(answered) / sizeof(answered[0]),
	PATIENCE = 5,		/* s */
};

void
signals_hold(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGCHLD, &usual, NULL);
}

void
signals_ignore(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

/* Those that were not ignored at the start. */
static void
signals_answered(sigset_t *set)
{
	struct sigaction old;
	size_t i;

	sigemptyset(set);
	for (i = 0; i < ANSWERED; i++)
		if (sigaction(answered[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaddset(set, answered[i]);
}

void
signals_block(void)
{
	sigset_t set;

	signals_answered(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int
signals_take(struct signals *s, struct fault *f)
{
	sigset_t set;

	signals_answered(&set);
	signals_ignore();
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (s->fd < 0)
		return fault_errno(f, errno, "signals");
	return 0;
}

void
signals_let(void)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ANSWERED; i++)
		if (answered[i] != SIGUSR1)
			sigaddset(&set, answered[i]);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void
signals_hurry(void)
{
	alarm(PATIENCE);
}

bool
signals_pending(void)
{
	sigset_t set;
	size_t i;

	sigpending(&set);
	if (sigismember(&set, SIGALRM))
		return true;
	for (i = 0; i < ANSWERED; i++)
		if (answered[i] != SIGUSR1 && sigismember(&set, answered[i]))
			return true;
	return false;
}

void
signals_raise(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	kill(getpid(), signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
