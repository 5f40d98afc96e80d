/*
 * Whether the copy fits on the file system of its target.
 */
#ifndef PARDD_FIT_H
#define PARDD_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

enum fits {
	FITS,			/* as far as is known */
	FITS_PERHAPS,		/* too little is free, but what will be written
				 * may need less */
	FITS_NOT_NOW,		/* too little is free */
	FITS_NEVER,		/* not even if the file system were empty */
	FITS_NO_FILE,		/* no file there can be so long */
};

struct fit {
	enum fits is;
	uint64_t need;		/* bytes that are certainly needed, or length
				 * of that file, */
	uint64_t room;		/* and bytes available, */
	bool beside;		/* less what other targets take */
};

/*
 * Judge a plan, for one of several targets beside those before it, counting the
 * target's own blocks as free.  What is unknown is
 * no objection: the length of the source, zeros that become holes, shared
 * blocks.
 */
struct fit fit_judge(const struct plan *);

/*
 * Count the bytes of data between off and off + length of the source that are
 * in no hole, as far as "enough".
 */
uint64_t fit_data(const struct plan *, uint64_t off, uint64_t length,
    uint64_t enough);

/*
 * The bytes that buffers may take: a quarter of the least limit of the memory
 * cgroups (cgroups(7), of either version) that this process is in; UINT64_MAX:
 * there is none, as far as is known.
 */
uint64_t fit_memory(void);

/* What is wrong, for anything but FITS, as a sentence without an end. */
void fit_tell(const struct plan *, const struct fit *, char *text, size_t room);

#endif
