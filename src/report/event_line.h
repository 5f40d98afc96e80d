/*
 * The lines for programs: how they are written, and what several of them say.
 * Values are new, and whoever gets one owns it; NULL: there was no memory.
 */
#ifndef PARDD_EVENT_LINE_H
#define PARDD_EVENT_LINE_H

#include "copy/outcome.h"
#include "map/map.h"
#include "plan/plan.h"
#include "report/events.h"
#include "report/sink.h"

#define SCHEMA	"pardd/1"

enum { PATIENCE = 5000 };	/* ms for a reader that is slow */

/*
 * Write an object, which is used up, as a line, waiting up to patience ms.  A
 * sink that does not take it is closed, and s->trouble says why.
 */
void event_put(struct sink *s, struct json_t *o, int patience);

/* That was the last one.  A server may tell only now that it has no room. */
void event_last(struct sink *);

/* The words of the command line. */
struct json_t *event_operands(const struct opts *);

/* An object, which is used up, and in it what is known of several targets. */
struct json_t *event_targets(const struct events *, struct json_t *o);

/* A part of the map, as bytes of the source. */
struct json_t *event_range(const struct plan *, const struct seg *);

/* The counts that each progress and each ending have. */
struct json_t *event_counts(const struct tally *);

#endif
