/*
 * Who ends by a signal that it sends itself has run all the same; and who gives
 * up what the copy does not need cannot write what was counted, so nobody
 * does.  Linked with -Wl,--wrap=raise,--wrap=prctl.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void __gcov_dump(void);
int __real_raise(int);
int __wrap_raise(int);
int __wrap_prctl(int, ...);

int
__wrap_raise(int signo)
{
	__gcov_dump();
	return __real_raise(signo);
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
