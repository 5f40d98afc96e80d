/*
 * wait=: a source that has gone may come back as another node.
 *
 * ongone=: a command that may bring a source back, say by a power relay or a
 * USB hub.
 */
#ifndef PARDD_REATTACH_H
#define PARDD_REATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "copy/outcome.h"
#include "disk/disk.h"
#include "plan/plan.h"

struct events;
struct signals;

enum reattach_node { NODE_BLOCK, NODE_SG, NODE_BSG, NODE_NG };

struct reattach {
	struct disk	 was;		/* the source when first opened */
	enum reattach_node	 node;		/* how it was opened */
	double		 until;		/* deadline, as of clock_seconds */
	uint64_t	 read;		/* bytes read when it went last */
	char		 why[512];	/* what is wrong with what was found */
};

/* Record which disk the source is, while it is there. */
void reattach_begin(struct reattach *, const struct plan *);

/*
 * The source has gone, as *out says.  Wait up to wait= seconds for the same
 * disk of the same size, and open it in place of the plan's source.  If it goes
 * again before one more byte was read, the old deadline still holds.  Answers
 * signals, and sets out->signal.  Returns false with out->fault if the source
 * is not back.
 */
bool reattach_source(struct reattach *, const struct plan *,
    const struct signals *, struct events *, struct outcome *out);

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
