/*
 * ongone=: a command that may bring a source back, say by a power relay or a
 * USB hub.
 */
#ifndef PARDD_ONGONE_H
#define PARDD_ONGONE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "disk/disk.h"
#include "plan/plan.h"

struct ongone {
	pid_t	 pid;		/* process group; 0: not running */
};

/*
 * Start the command with /bin/sh -c.  Its environment has PARDD_SOURCE,
 * PARDD_SERIAL and PARDD_POSITION (bytes in the source, if known); its input is
 * empty, and its output goes to standard error.  Returns 0, or -1 with *f.
 */
int ongone_start(struct ongone *, const struct plan *, const struct disk *,
    uint64_t position, struct fault *f);

/* Whether it has ended; then *f says why it failed, or has status 0. */
bool ongone_ended(struct ongone *, struct fault *f);

/* End the command and everything it has started. */
void ongone_stop(struct ongone *);

#endif
