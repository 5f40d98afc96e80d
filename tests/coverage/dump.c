/*
 * Who ends by a signal that it sends itself has run all the same.  Linked with
 * -Wl,--wrap=raise.
 */
#include <signal.h>

void __gcov_dump(void);
int __real_raise(int);
int __wrap_raise(int);

int
__wrap_raise(int signo)
{
	__gcov_dump();
	return __real_raise(signo);
}
