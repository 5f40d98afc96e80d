/*
 * wait=: a source that has gone may come back, as another node.  Used by
 * copy.c.
 */
#ifndef PARDD_REATTACH_H
#define PARDD_REATTACH_H

#include <stdbool.h>

#include "base/fault.h"
#include "copy/outcome.h"
#include "disk/disk.h"
#include "plan/plan.h"

struct events;
struct signals;

enum reattach_node { AWAIT_BLOCK, AWAIT_SG, AWAIT_BSG, AWAIT_NG };

struct reattach {
	struct disk	 was;		/* the source, as it was first seen */
	enum reattach_node	 node;		/* which of its nodes it is */
	double		 until;		/* of clock_seconds */
	uint64_t	 read;		/* bytes, when it went last */
	char		 why[512];	/* what is wrong with what is there */
};

/* Note which disk the source is, while it is there. */
void reattach_begin(struct reattach *, const struct plan *);

/*
 * The source has gone, with *out.  Waits up to wait= seconds for the same disk
 * of the same size, and opens it in its place (the plan's source stays where
 * it is, and becomes another).  A source that goes again before it has given a
 * byte gets no new time.  Answers signals: out->signal.  False when it is not
 * there: out->fault says so.
 */
bool reattach_source(struct reattach *, const struct plan *,
    const struct signals *, struct events *, struct outcome *out);

#endif
