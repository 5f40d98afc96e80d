/*
 * Which engine makes the requests of a plan.
 */
#ifndef PARDD_ENGINE_H
#define PARDD_ENGINE_H

#include "base/fault.h"
#include "plan/plan.h"

/* Bytes of a transfer: the smallest fast size of 64 KiB to 16 MiB. */
enum { USUAL_TRANSFER = 1 << 20 };

/*
 * Choose the engine of a plan that has the sizes of its transfers, and set how
 * many workers, queues and slots it has, and why.  Returns 0, or -1 with *f.
 */
int engine_choose(struct plan *, struct fault *f);

#endif
