/*
 * The plan: every decision of a run, made once, const to all after it.
 */
#ifndef PARDD_PLAN_H
#define PARDD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "end/endpoint.h"

struct remarks;
struct hash;
struct map;
struct ranges;
struct used;

enum work {			/* what a run does */
	WORK_COPY, WORK_RESCUE,		/* with map= */
	WORK_COMPARE, WORK_CHECK,	/* of what is there: writes nothing */
};

enum store {			/* what is written of what was read */
	STORE_ALL, STORE_SPARSE,	/* zeros are made, not written */
	STORE_DIFFERING,		/* what the target has already is not */
};

struct saved {			/* whom a rescue tells that its map was saved */
	void (*tell)(void *arg, struct map *);
	void	*arg;
};

struct plan {
	const struct opts *opts;
	enum work	 work;
	enum store	 store;
	struct endpoint	*src, *dst;
	unsigned	 targets;	/* that dst stands for; if several, */
	struct plan	*each;		/* the same for each, see plan_target */
	const char	*oserial;	/* what that is to be, or NULL */
	uint64_t	 bs;		/* bytes; the unit of the operands */
	uint64_t	 src_off;	/* bytes; where byte 0 of the map is */
	uint64_t	 dst_off;
	uint64_t	 length;	/* bytes; the most there can be, or */
	bool		 bounded;	/* exactly that */
	bool		 counted;	/* by count=, or check=1 */
	size_t		 chunk;		/* bytes of a transfer */
	size_t		 claim;		/* bytes that a worker takes, at most */
	uint64_t	 phase;		/* bytes of dst_off past a border */
	uint64_t	 pad;		/* bytes; the end is padded to this */
	uint64_t	 grain;		/* bytes: what begins and ends at
					 * multiples of it at the target is
					 * whole pages of a file, and whole
					 * blocks of a device */
	size_t		 room;		/* bytes of a buffer */
	size_t		 other;		/* bytes of a second one, or 0 */
	uint32_t	 sector;	/* bytes of the source's own block */
	uint32_t	 block;		/* bytes lost to one bad spot */
	unsigned	 workers;	/* of the engine with threads */
	bool		 alone;		/* and the main thread is the one */
	unsigned	 queues;	/* of the asynchronous one, or 0 */
	unsigned	 slots;		/* pieces in a queue, at most */
	const char	*engine_why;	/* the reason for the engine */
	bool		 holes;		/* the source's are not read */
	bool		 reflink;	/* share blocks, where that goes: */
	uint64_t	 share_off, share_end;	/* bytes of the map, whole
					 * blocks; equal: there are none */
	bool		 reads_back;	/* the target */
	int64_t		 truncate;	/* bytes; -1: leave the length alone */
	mode_t		 perm;		/* of a target that is created */
	uint64_t	 needed;	/* bytes of a clone that has all
					 * partitions, if not all fits, or 0 */
	const struct remarks *found;	/* on the ends, to be told, or NULL */
	struct hash	*hash;		/* of what is copied, or NULL */
	struct ranges	*ranges;	/* and their digests, or NULL */
	const struct used *used;	/* what file systems use, or NULL */
	unsigned	 confined;	/* enum confined: what it may not do */
	const struct saved *saved;	/* by the thread that saves it, or
					 * NULL */
};

enum { READ_BACK_MOST = 64 << 10 };	/* bytes, of a unit that is read back */

struct layout {			/* of a manifest that was made before */
	uint64_t	 chunk, phase;	/* of its ranges, as in the plan; 0:
					 * they are of any length */
	uint64_t	 off, length;	/* bytes; what it covers, */
	bool		 all;		/* and just that is to be read */
};

/* Of the engine that was chosen. */
static inline unsigned
plan_workers(const struct plan *p)
{
	return p->queues > 0 ? p->queues : p->workers;
}

/* The same plan for the i-th of several targets alone; it has no "each". */
struct plan plan_target(const struct plan *, unsigned i);

/*
 * Of several targets the plan of the first that is not dropped, else of the
 * first; of one target the plan itself.
 */
const struct plan *plan_first(const struct plan *);

/*
 * Decide.  opts and both endpoints stay the caller's and must outlive *p.
 * The layout may be NULL.  Returns 0, or -1 with a usage error in *f.
 */
int plan_make(struct plan *p, const struct opts *, const struct layout *,
    struct endpoint *src, struct endpoint *dst, struct fault *f);

#endif
