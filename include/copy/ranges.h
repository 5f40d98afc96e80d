/*
 * The ranges of a copy and their digests: recorded for manifest=, which may be
 * a block map, compared with a manifest with check=1, skipped if base= has them
 * already.
 */
#ifndef PARDD_RANGES_H
#define PARDD_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/newfile.h"
#include "digest/bmap.h"
#include "digest/digest_table.h"
#include "digest/digester.h"
#include "digest/manifest.h"
#include "map/map.h"
#include "plan/plan.h"

struct job;

struct ranges {			/* of a run; what changes locks for itself */
	struct manifest	 base;	/* of base=, or of manifest= with check=1 */
	struct layout	 layout;	/* base's */
	struct digester	*by;	/* of what is noted, or NULL for xxh128 */
	struct digest_table	 noted;		/* for manifest= */
	struct bmap_table	 mapped;	/* the same for a block map */
	struct newfile	 file;		/* of manifest= */
	struct map	 differ;	/* BAD: differs from the manifest */
	struct map	 same;		/* FINISHED: unchanged, and not read */
	bool		 notes, checks, spares;	/* what there is to do */
	bool		 maps;	/* it records a block map */
	bool		 passes;	/* over what has not changed */
};

/*
 * Read the manifest that the opts ask for, if any, before there is a plan.
 * Returns 0, or -1 with *f, and then there is nothing to close.
 */
int ranges_load(struct ranges *, const struct opts *, struct fault *f);

/*
 * Check that the manifest and the plan fit, allocate what is needed, and set
 * p->ranges if there is something to do.  Returns 0, or -1 with *f.
 */
int ranges_open(struct ranges *, struct plan *p, struct fault *f);

/* Free what ranges_load and ranges_open allocated. */
void ranges_close(struct ranges *);

/*
 * The copy begins: what has not changed since base= was written becomes
 * finished.  Returns 0 or ENOMEM.
 */
int ranges_begin(struct job *);

/*
 * The digester of the ranges that the copy does not read, whose digests the new
 * manifest takes over: NULL for xxh128.
 */
static inline const struct digester *
ranges_by(const struct plan *p)
{
	return p->ranges == NULL || !p->ranges->passes ? NULL :
	    p->ranges->base.by;
}

/* Bytes that the copy does not read, because they have not changed. */
static inline uint64_t
ranges_unchanged(const struct plan *p)
{
	return p->ranges == NULL || !p->ranges->passes ? 0 :
	    map_totals(&p->ranges->same).finished;
}

/*
 * Where the copy, which is "end" bytes long, ends on the target that is named:
 * with its own padding, not with that of one of larger blocks.
 */
uint64_t ranges_end(const struct plan *, uint64_t end);

/* The block size of a block map: all its ranges consist of whole blocks. */
uint64_t ranges_block(const struct plan *);

/*
 * Record the digest of len bytes that are being written for off of the copy.
 * If recorded twice, the last one counts.  Returns as digest_table_note and
 * bmap_table_note do.
 */
int ranges_note(struct job *, uint64_t off, const unsigned char *buf,
    size_t len);

/*
 * Compare len bytes for off with the manifest, if there is one.  Sets *spare if
 * they need not be written.  Returns false without memory; then the copy is
 * being stopped.
 */
bool ranges_known(struct job *, uint64_t off, const unsigned char *buf,
    size_t len, bool *spare);

/* Whether the disk has the serial number of neither end of the manifest. */
bool ranges_of_another(const struct plan *);

#endif
