/*
 * Writing the file for usedmap= in the format of GNU ddrescue (its manual,
 * "Mapfile structure"): the whole source, in order.
 */
#include "record/hashfile.h"

#include <inttypes.h>
#include <stdio.h>

#include "config.h"
#include "part/used.h"

static void
usedmap_put(FILE *out, uint64_t off, uint64_t end, char status)
{
	if (off < end)
		fprintf(out, "0x%08" PRIX64 "  0x%08" PRIX64 "  %c\n", off,
		    end - off, status);
}

int
usedmap_write(struct newfile *file, const struct plan *p, struct fault *f)
{
	const struct used *u = p->used;
	uint64_t at = p->src->lim.part > 0 ? p->src->lim.base : 0;
	size_t i;

	if (file->dir < 0)
		return 0;
	if (newfile_begin(file, f) != 0)
		return -1;
	fprintf(file->out, "# Mapfile. Created by pardd %s\n"
	    "# What file systems use of the source (+) and what is free (?)\n"
	    "0x00000000     +               1\n", PARDD_VERSION);
	usedmap_put(file->out, 0, at, '?');
	for (i = 0; i < u->free.n; i++) {
		const struct seg *s = &u->free.seg[i];

		usedmap_put(file->out, at, s->off, '+');
		usedmap_put(file->out, s->off, s->off + s->len, '?');
		at = s->off + s->len;
	}
	usedmap_put(file->out, at, (uint64_t)p->src->geo.size, '+');
	return newfile_end(file, 0, f);
}
