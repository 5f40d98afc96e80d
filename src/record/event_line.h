/*
 * JSON lines for programs: writing them, and parts that several of them have.
 * Returned values belong to the caller; NULL: no memory.
 */
#ifndef PARDD_EVENT_LINE_H
#define PARDD_EVENT_LINE_H

#include "copy/outcome.h"
#include "map/map.h"
#include "plan/plan.h"
#include "record/events.h"
#include "sink.h"

#define SCHEMA	"pardd/1"

enum { PATIENCE = 5000 };	/* ms to wait for a slow reader */

/*
 * Write an object as a line, waiting up to patience ms, and free it.  If the
 * sink does not take it, the sink is closed, and s->trouble says why.
 */
void event_put(struct sink *s, struct json_t *o, int patience);

/* After the last line: a server may report a full disk only now. */
void event_last(struct sink *);

/* The words of the command line. */
struct json_t *event_operands(const struct opts *);

/* Add what is known about several targets to an object; takes it over. */
struct json_t *event_targets(const struct events *, struct json_t *o);

/* A range of the map, in bytes of the source. */
struct json_t *event_range(const struct plan *, const struct seg *);

/* The counts in each progress line and each result. */
struct json_t *event_counts(const struct tally *);

#endif
