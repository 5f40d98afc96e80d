/*
 * Which bytes of a source its file systems use: what used= leaves out, or reads
 * first.
 */
#ifndef PARDD_USED_H
#define PARDD_USED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "digest/bmap.h"
#include "map/map.h"
#include "fs/fsmap.h"
#include "plan/plan.h"

enum treated {
	TREATED_USED,		/* free space is left out */
	TREATED_WHOLE,		/* copied as a whole */
	TREATED_ORDERED,	/* free space comes last */
};

struct used_fs {		/* a partition, the whole source, or what lies
				 * in one of these: a volume */
	unsigned partition;	/* its number; 0: the whole source */
	uint64_t off, length;	/* bytes of the source; a volume begins there */
	char	 type[32];	/* as blkid(8), or dm-crypt; "": unknown */
	char	 label[128];	/* as it is on the disk, or "" */
	char	 volume[260];	/* "vg0/root", if it is a volume; or "" */
	char	 group[FS_UUID + 1];	/* UUID of what it belongs to, or "" */
	uint32_t stamp;		/* differs when that has changed */
	size_t	 within;	/* what it is a volume of: one more than that
				 * one's place in the list, before it; or 0 */
	struct fs_piece *piece;	/* where it lies there */
	size_t	 pieces;
	dev_t	 mapper;	/* what lies there is encrypted, and this device
				 * shows what it is; or 0 */
	uint64_t used, free;	/* bytes, by its own account */
	enum fs_state state;
	enum treated treated;
	char	 reason[160];	/* of this treatment, or "" */
};

struct used_list {		/* ranges in bytes of the source */
	struct seg *seg;	/* in order, none adjacent */
	size_t	 n, room;
};

struct used {
	struct used_fs *fs;	/* in order of position; volumes follow what
				 * they lie in */
	size_t	 n, room;
	struct used_list free;	/* left out, or read last */
	struct used_list meta;	/* used=meta: read first */
	uint64_t bytes_free;	/* sum of "free" */
	size_t	 frees;		/* file systems with free ranges */
	bool	 opened;	/* the device mapper shows some of it */
	bool	 spare;		/* some of it belongs to no volume */
	uint64_t length;	/* bytes examined */
	uint64_t stamp;		/* differs when volumes have changed */
	bool	 leaves;	/* "free" is left out */
	bool	 masks;		/* "free" is read, but zeroed */
	bool	 unchecked;	/* by a block map without digests */
	bool	 clears;	/* zeros are written for "free" */
};

/*
 * Examine the source for used=, usedmap= or bmap=, and set p->used; does
 * nothing without these.  What a block map does not contain counts as free.
 * Writes nothing; what cannot be read or understood counts as used.  Returns 0,
 * or -1 with *f if used= does not work with these ends.  Call used_free in
 * either case.
 */
int used_make(struct used *, struct plan *p, const struct bmap *,
    struct fault *f);
void used_free(struct used *);

/* Remove free space from the map of the copy.  Returns 0 or ENOMEM. */
int used_apply(const struct plan *, struct map *);

/*
 * Order the map of a rescue: with used=first, free space becomes LAST; with
 * used=meta, used space that is not metadata becomes LATER.  used_order_anew
 * repeats this with what the target has by now, which shows more.  Returns 0 or
 * an errno value.
 */
int used_order(const struct plan *, struct map *, const struct used *);
int used_order_anew(const struct plan *, struct map *);

/*
 * The next range between "at" and "end", bytes of the copy, that is not left
 * out.  False if there is none.
 */
bool used_next(const struct plan *, uint64_t at, uint64_t end, uint64_t *from,
    uint64_t *to);

/* Zero what is masked in len bytes at off of the copy. */
void used_mask(const struct plan *, uint64_t off, unsigned char *buf,
    size_t len);

/*
 * After the copy: check that everything left out is still free.  Returns 0, or
 * -1 with *f.  For any thread that has no lane to the source.
 */
int used_kept(const struct plan *, struct fault *f);

/* Whose "free" is: "that 2 file systems call free or no volume has". */
const char *used_whose(char *to, size_t room, const struct used *);

/* The name of one: "partition 2 (ext4 "root")", or that of the source. */
const char *used_name(char *to, size_t room, const struct used_fs *);

#endif
