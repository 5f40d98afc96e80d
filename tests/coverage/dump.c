/*
 * What was counted of a run is merged into files that all runs share.  Who is
 * killed meanwhile would spoil them, and a test kills what it leaves behind; so
 * a child does it, in a session of its own, and without the limits of the test.
 *
 * Who ends by a signal that it sends itself or lets through, or at once, has run
 * all the same; and who gives up what the copy does not need cannot write what
 * was counted, so nobody does.  Faults that a test asks for (shim.c) are none of the
 * counting's.  Linked with --wrap of raise, _exit, prctl, sigprocmask and
 * __gcov_exit.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void __gcov_dump(void);
void __wrap___gcov_exit(void);
void coverage_count(void);
int __real_raise(int);
int __wrap_raise(int);
_Noreturn void __real__exit(int);
_Noreturn void __wrap__exit(int);
int __wrap_prctl(int, ...);
int __real_sigprocmask(int, const sigset_t *, sigset_t *);
int __wrap_sigprocmask(int, const sigset_t *, sigset_t *);

static void
dump(void)
{
	static const struct rlimit free_of = { RLIM_INFINITY, RLIM_INFINITY };
	uintptr_t over = (uintptr_t)dlsym(RTLD_DEFAULT, "faults_end");
	void (*faults_end)(void);
	struct rlimit now;

	if (over != 0) {
		memcpy(&faults_end, &over, sizeof(faults_end));
		faults_end();
	}
	setsid();
	umask(0);
	setrlimit(RLIMIT_FSIZE, &free_of);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 1024, 1024 });
	if (getrlimit(RLIMIT_FSIZE, &now) == 0 && now.rlim_cur == RLIM_INFINITY)
		__gcov_dump();
}

/* Exported, for what ends the program from a library (counted.c). */
void
coverage_count(void)
{
	static int counted;
	pid_t pid;
	int how;

	if (counted++ > 0)
		return;
	pid = fork();
	if (pid == 0) {
		dump();
		__real__exit(0);
	}
	while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
		continue;
}

static void
at_end(int status, void *arg)
{
	(void)status, (void)arg;
	coverage_count();
}

/* What each object does behind that, in the process itself. */
void
__wrap___gcov_exit(void)
{
}

__attribute__((constructor)) static void
begin(void)
{
	on_exit(at_end, NULL);
}

void
__wrap__exit(int status)
{
	coverage_count();
	__real__exit(status);
}

int
__wrap_raise(int signo)
{
	sigset_t blocked;

	if (__real_sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
	    sigismember(&blocked, signo) == 0)
		coverage_count();
	return __real_raise(signo);
}

/* None has a handler: one that waits ends the program, once it is let through. */
int
__wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t waiting;

	sigpending(&waiting);
	sigandset(&waiting, &waiting, set);
	if (how == SIG_UNBLOCK && !sigisemptyset(&waiting))
		coverage_count();
	return __real_sigprocmask(how, set, old);
}

int
__wrap_prctl(int op, ...)
{
	unsigned long arg[4];
	va_list ap;
	int i;

	va_start(ap, op);
	for (i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (op == PR_SET_NO_NEW_PRIVS) {
		errno = ENOSYS;
		return -1;
	}
	return (int)syscall(SYS_prctl, op, arg[0], arg[1], arg[2], arg[3]);
}
