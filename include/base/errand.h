/*
 * Calls that may never come back.
 */
#ifndef PARDD_ERRAND_H
#define PARDD_ERRAND_H

#include <stdbool.h>

/*
 * Let a thread of its own call run(arg), and wait so many seconds for it.
 * False: it is not over, and what it uses is its own from now on, so that
 * process ends by _exit; or there is no such thread, and *err is why.
 */
bool errand_run(void (*run)(void *), void *arg, unsigned seconds, int *err);

#endif
