/*
 * Calls that may never return.
 */
#ifndef PARDD_ERRAND_H
#define PARDD_ERRAND_H

#include <stdbool.h>

/*
 * Call run(arg) in a thread of its own, and wait that many seconds for it to
 * return.  Returns true if it did.  Else false, and *err is ETIMEDOUT, or why
 * no thread could be started.  After ETIMEDOUT the call goes on: whatever it
 * uses must never be freed, so the process has to end by _exit.
 */
bool errand_run(void (*run)(void *), void *arg, unsigned seconds, int *err);

/*
 * The same in two steps.  errand_start returns NULL with *err if no thread can
 * be started.  errand_over waits up to 0.1 s: true if it has returned; then, or
 * if this was the "last" wait, the errand is no longer the caller's.
 */
struct errand *errand_start(void (*run)(void *), void *arg, int *err);
bool errand_over(struct errand *, bool last);

/* The same, for as long as stay(with), which is called ten times a second. */
bool errand_watch(void (*run)(void *), void *arg, bool (*stay)(void *),
    void *with, int *err);

/*
 * The same; where no thread can be started, run is called in this one.  False:
 * it was abandoned, and goes on using arg.
 */
bool errand_attend(void (*run)(void *), void *arg, bool (*stay)(void *),
    void *with);

#endif
