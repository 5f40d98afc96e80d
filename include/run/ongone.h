/*
 * ongone=: a command that may bring back a source that has gone: a power relay,
 * a hub.  Used by reattach.c.
 */
#ifndef PARDD_ONGONE_H
#define PARDD_ONGONE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "disk/disk.h"
#include "plan/plan.h"

struct ongone {
	pid_t	 pid;		/* its process group, or 0: it does not run */
};

/*
 * Have /bin/sh -c run it, with PARDD_SOURCE, PARDD_SERIAL and PARDD_POSITION
 * (bytes of the source; NOWHERE: not known) in its environment, nothing to
 * read, and what it prints on standard error.  Returns 0, or -1 with *f.
 */
int ongone_start(struct ongone *, const struct plan *, const struct disk *,
    uint64_t position, struct fault *f);

/* Whether it has ended; then *f says what was wrong, or its status is 0. */
bool ongone_ended(struct ongone *, struct fault *f);

/* End it, with all that it started. */
void ongone_stop(struct ongone *);

#endif
