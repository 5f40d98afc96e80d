/*
 * The ranges of a copy and their digests: noted for manifest=, which may be a
 * block map, held against a manifest with check=1, left alone where base= has
 * them already.
 */
#ifndef PARDD_RANGES_H
#define PARDD_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/newfile.h"
#include "digest/bmap_table.h"
#include "digest/digest_table.h"
#include "digest/digester.h"
#include "digest/manifest.h"
#include "map/map.h"
#include "plan/plan.h"

struct job;

struct ranges {			/* of a run; what changes locks for itself */
	struct manifest	 base;	/* of base=, or of manifest= with check=1 */
	struct layout	 layout;	/* its */
	struct digester	*by;	/* of what is noted, or NULL for xxh128 */
	struct digest_table	 noted;		/* for manifest= */
	struct bmap_table	 mapped;	/* the same for a block map */
	struct newfile	 file;		/* of manifest= */
	struct map	 differ;	/* BAD: is not as in the manifest */
	struct map	 same;		/* FINISHED: as it was, and not read */
	bool		 notes, checks, spares;	/* what there is to do */
	bool		 maps;	/* what it notes is a block map's */
	bool		 passes;	/* over what has not changed */
};

/*
 * Read the manifest that the opts ask for, if they do, before there is a plan.
 * Returns 0, or -1 with *f, and then there is nothing to close.
 */
int ranges_load(struct ranges *, const struct opts *, struct fault *f);

/*
 * See that the manifest and the plan fit, make what is needed, and set
 * p->ranges if there is something to do.  Returns 0, or -1 with *f.
 */
int ranges_open(struct ranges *, struct plan *p, struct fault *f);

/* Free what ranges_load and ranges_open took. */
void ranges_close(struct ranges *);

/*
 * The copy begins: what has not changed since base= was written is finished, as
 * that has it.  Returns 0 or ENOMEM.
 */
int ranges_begin(struct job *);

/*
 * Who made the digests of what the copy is not to read, which others take over:
 * NULL for xxh128.
 */
const struct digester *ranges_by(const struct plan *);

/* Bytes that the copy is not to read: they are as before. */
uint64_t ranges_unchanged(const struct plan *);

/* Bytes of a block of a block map: all its ranges begin and end with one. */
uint64_t ranges_block(const struct plan *);

/*
 * The target is being given len bytes for off of the copy.  What is noted twice
 * counts as noted last.  Returns as digest_table_note and bmap_table_note.
 */
int ranges_note(struct job *, uint64_t off, const unsigned char *buf,
    size_t len);

/*
 * Hold len bytes for off against the manifest, if there is one to do so.  Sets
 * *spare when they need not be written.  False when there was no memory, and
 * the copy is being stopped.
 */
bool ranges_known(struct job *, uint64_t off, const unsigned char *buf,
    size_t len, bool *spare);

/* Whether the disk has the serial number of neither end of the manifest. */
bool ranges_of_another(const struct plan *);

#endif
