/*
 * The plan: every decision about a run, made once and const from then on.
 */
#ifndef PARDD_PLAN_H
#define PARDD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "end/endpoint.h"

struct clone_table;
struct remarks;
struct hash;
struct map;
struct ranges;
struct used;

enum work {			/* what a run does */
	WORK_COPY, WORK_RESCUE,		/* with map= */
	WORK_COMPARE, WORK_CHECK,	/* read only: compare=, check= */
};

enum store {			/* what is written of what was read */
	STORE_ALL,
	STORE_SPARSE,			/* zeros become holes */
	STORE_DIFFERING,		/* only what the target lacks */
};

struct saved {			/* called when a rescue has saved its map */
	void (*tell)(void *arg, struct map *);
	void	*arg;
};

enum { CUT_ROOM = 64 };	/* bytes: "cuts the ext4; ..." */

struct plan {
	const struct opts *opts;
	enum work	 work;
	enum store	 store;
	struct endpoint	*src, *dst;
	unsigned	 targets;	/* that dst stands for; if several, */
	struct plan	*each;		/* a plan for each, see plan_divide */
	const struct plan *first;	/* in a plan for one of several: that
					 * for the first, of the same array */
	const char	*oserial;	/* required serial number, or NULL */
	uint64_t	 bs;		/* bytes; the unit of the operands */
	uint64_t	 src_off;	/* bytes: byte 0 of the map in the */
	uint64_t	 dst_off;	/* source, and in the target */
	uint64_t	 length;	/* bytes of the copy, */
	bool		 bounded;	/* exactly; else at most */
	bool		 counted;	/* by count= or check=1 */
	size_t		 chunk;		/* bytes of a transfer */
	size_t		 claim;		/* bytes of a claim, at most */
	uint64_t	 phase;		/* bytes of dst_off past a boundary */
	uint64_t	 pad;		/* bytes: the end is padded to a
					 * multiple of it */
	uint64_t	 grain;		/* bytes: multiples of it at the target
					 * are whole pages of a file, and
					 * whole blocks of a device */
	uint64_t	 mem;		/* bytes for all buffers; 0: as usual */
	size_t		 room;		/* bytes of a buffer */
	size_t		 other;		/* bytes of a second buffer, or 0 */
	uint32_t	 sector;	/* bytes of the source's own block */
	uint32_t	 block;		/* bytes lost to one bad block */
	unsigned	 zones;		/* of the target, written at a time, if
					 * workers suffice; 0: it has none */
	unsigned	 workers;	/* of the engine with threads */
	bool		 alone;		/* the main thread is the only worker */
	unsigned	 queues;	/* of the asynchronous engine, or 0 */
	unsigned	 slots;		/* pieces in a queue, at most */
	const char	*engine_why;	/* why this engine, for people */
	bool		 holes;		/* holes of the source are not read */
	bool		 reflink;	/* share blocks where possible: */
	uint64_t	 share_off, share_end;	/* bytes of the map, whole
					 * blocks; equal: nothing */
	unsigned	 verify;	/* enum verify_word, or 0 */
	bool		 reads_back;	/* the target is read back */
	int64_t		 truncate;	/* bytes; -1: leave the length alone */
	mode_t		 perm;		/* of a target that is created */
	uint64_t	 omitted;	/* bytes that used= or bmap= leaves out,
					 * and that would be written else */
	uint64_t	 needed;	/* bytes that hold all partitions, or
					 * the file system, if the target is
					 * too small; or 0 */
	char		 cut[CUT_ROOM];	/* that file system, and how it is made
					 * smaller; or "" */
	const struct remarks *found;	/* remarks on the ends, or NULL */
	const struct clone_table *table; /* its new one, or NULL */
	struct hash	*hash;		/* digests of all bytes, or NULL */
	struct ranges	*ranges;	/* digests of ranges, or NULL */
	const struct used *used;	/* what file systems use, or NULL */
	bool		 opened;	/* the device mapper shows some of it */
	struct viewer	*view;		/* what view= shows, or NULL */
	unsigned	 confined;	/* enum confined: what we may not do */
	const struct saved *saved;	/* called by the saving thread, or
					 * NULL */
};

enum { READ_BACK_MOST = 64 << 10 };	/* bytes, of a unit that is read back */

struct layout {			/* of an existing manifest */
	uint64_t	 chunk, phase;	/* of its ranges, as in the plan; 0:
					 * they have any length */
	uint64_t	 off, length;	/* bytes that it covers, */
	bool		 all;		/* and exactly those are to be read */
};

/*
 * The byte after the last one of the target that is written: by the copy, or
 * behind it with rest= and table=.
 */
uint64_t plan_target_end(const struct plan *);

/* The number of workers of the engine that was chosen. */
static inline unsigned
plan_workers(const struct plan *p)
{
	return p->queues > 0 ? p->queues : p->workers;
}

/*
 * The bytes that a worker claims at a time: a zone of the target if several are
 * written at a time, else a "piece".
 */
static inline uint64_t
plan_claim(const struct plan *p, uint64_t piece)
{
	return p->zones > 1 ? p->dst->geo.zone : piece;
}

/* The phase of the claims. */
static inline uint64_t
plan_phase(const struct plan *p)
{
	return p->zones > 1 ? p->dst_off % p->dst->geo.zone : p->phase;
}

/*
 * Make the plan of each of several targets; the caller frees p->each.  Returns
 * 0 or ENOMEM.
 */
int plan_divide(struct plan *);

/*
 * The plan for the i-th target; the only one has the plan itself.  NULL when
 * there are no more.
 */
static inline const struct plan *
plan_each(const struct plan *p, unsigned i)
{
	if (p->each == NULL)
		return i == 0 ? p : NULL;
	return i < p->targets ? &p->each[i] : NULL;
}

/* The same, of a plan that is being made; i is less than p->targets. */
static inline struct plan *
plan_part(struct plan *p, unsigned i)
{
	return p->each == NULL ? p : &p->each[i];
}

/*
 * The plan for the first target that is not dropped, or for the first one if
 * all are.
 */
const struct plan *plan_first(const struct plan *);

/*
 * Make the plan.  The opts and both endpoints belong to the caller and must
 * outlive *p.  The layout may be NULL.  Returns 0, or -1 with a usage error in
 * *f.
 */
int plan_make(struct plan *p, const struct opts *, const struct layout *,
    struct endpoint *src, struct endpoint *dst, struct fault *f);

/*
 * The bytes of the target of a plan, for one target, from the end of the copy
 * on: to the end of its disk, or of its partition; 0: none.
 */
uint64_t plan_rest(const struct plan *);

#endif
