/*
 * Which bytes of a source its file systems use: what used= leaves out, or reads
 * first.
 */
#ifndef PARDD_USED_H
#define PARDD_USED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "digest/bmap.h"
#include "map/map.h"
#include "part/fsmap.h"
#include "plan/plan.h"

enum treated {
	TREATED_USED,		/* what is free is left out */
	TREATED_WHOLE,		/* all of it is copied */
	TREATED_ORDERED,	/* what is free comes last */
};

struct used_fs {		/* a partition, or all of the source */
	unsigned partition;	/* its number; 0: it is all of the source */
	uint64_t off, length;	/* bytes of the source */
	char	 type[32];	/* as blkid(8) says; "": none that is known */
	char	 label[128];	/* as it comes; "" without */
	uint64_t used, free;	/* bytes, as it says itself */
	enum fs_state state;
	enum treated treated;
	char	 reason[160];	/* why it is treated so; "" */
};

struct used_list {		/* of ranges, in bytes of the source */
	struct seg *seg;	/* in order, none adjoining another */
	size_t	 n, room;
};

struct used {
	struct used_fs *fs;	/* in the order of their places */
	size_t	 n, room;
	struct used_list free;	/* what is left out, or comes last */
	struct used_list meta;	/* of used=meta: what comes first */
	uint64_t bytes_free;	/* of free */
	size_t	 frees;		/* file systems that have any of it */
	uint64_t length;	/* bytes, of all that was looked at */
	bool	 leaves;	/* free is left out */
	bool	 masks;		/* it is read, and taken as zeros */
	bool	 clears;	/* what is left out reads as zeros then */
};

/*
 * Look at the source, as used= wants it, and set p->used.  Nothing is written,
 * what cannot be read or understood counts as used.  Does nothing without
 * used=, usedmap= or bmap=; what a bmap does not map is as if it was free.
 * Returns 0, or -1 with *f: a source or a target that used= is not for.
 * used_free in every case.
 */
int used_make(struct used *, struct plan *p, const struct bmap *,
    struct fault *f);
void used_free(struct used *);

/* Leave out of the map of the copy what is free; 0 or ENOMEM. */
int used_apply(const struct plan *, struct map *);

/*
 * Of a map for a rescue: what is used=first stays untried, the rest becomes
 * LAST; with used=meta what file systems need stays untried, and what else is
 * used becomes LATER.  Anew: with what the target has by now, which tells more.
 * 0 or an errno.
 */
int used_order(const struct plan *, struct map *);
int used_order_anew(const struct plan *, struct map *);

/*
 * The next range of what is not left out, between "at" and "end", bytes of the
 * copy.  False where there is none.
 */
bool used_next(const struct plan *, uint64_t at, uint64_t end, uint64_t *from,
    uint64_t *to);

/* Make zeros of what is masked of len bytes at off of the copy. */
void used_mask(const struct plan *, uint64_t off, unsigned char *buf,
    size_t len);

/*
 * The copy is over: whether all that was left out is still free.  Returns 0, or
 * -1 with *f.  For any thread that has no lane to the source.
 */
int used_kept(const struct plan *, struct fault *f);

/* "partition 2 (ext4 "root")"; without a number the source is meant. */
const char *used_name(char *to, size_t room, const struct used_fs *);

#endif
