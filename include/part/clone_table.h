/*
 * The partition table of a clone, made to fit its target: table=fix, new.
 *
 * The source's table is read before the copy, and everything that the target's
 * table will consist of is in memory before the first byte is written.
 */
#ifndef PARDD_CLONE_TABLE_H
#define PARDD_CLONE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/endpoint.h"
#include "plan/plan.h"

struct source_table;

enum {
	TABLE_WRITES = 260,	/* boot records of an MBR, at most; a GPT
				 * takes fewer */
	TABLE_STEPS = 3,	/* the target is flushed after each */
};

struct table_write {		/* whole sectors of the target */
	unsigned step;
	uint64_t at;		/* byte of the target */
	size_t	 len;		/* bytes */
	unsigned char *data;	/* page aligned */
};

struct clone_table {		/* of one target */
	const char *kind;	/* "GPT" or "MBR" */
	uint32_t sector;	/* bytes: its unit */
	size_t	 n;		/* 0: the source's table fits as it is */
	struct table_write write[TABLE_WRITES];
	char	 renew[240];	/* "new": what gives file systems new UUIDs */
	char	 unmountable[64];	/* "1, 3", or "1, 3, ...": partitions
				 * whose file system cannot be on sectors of
				 * this size; or "" */
};

/*
 * Read the table of the source, a whole disk or the image of one.  Returns 0;
 * or -1 with *f: STATUS_REFUSED if there is none that can be relied on.
 * source_table_free frees it.
 */
int source_table_read(struct source_table **, struct endpoint *src,
    struct fault *f);
void source_table_free(struct source_table *);

/* The bytes from its beginning that hold the table and all partitions. */
uint64_t source_table_needs(const struct source_table *);

/*
 * Make the table for the target of a plan; "fresh": with other identifiers.
 * Returns 0; or -1 with *f: STATUS_REFUSED if the target cannot have it.
 * clone_table_free frees it; NULL is fine.
 */
int clone_table_make(struct clone_table **, const struct source_table *,
    const struct plan *, bool fresh, struct fault *f);
void clone_table_free(struct clone_table *);

/* Whether a plan changes the table of its target. */
static inline bool
clone_table_moves(const struct plan *p)
{
	return p->table != NULL && p->table->n > 0;
}

/*
 * Write it to a target that has the copy, flushed.  At each moment there is one
 * valid table, once the first step is flushed.  With "back" it is also read
 * back from the medium.  Returns 0, or -1 with *f: STATUS_MISMATCH if it reads
 * as something else.
 */
int clone_table_write(const struct clone_table *, struct endpoint *dst,
    bool back, struct fault *f);

#endif
