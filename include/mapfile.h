/*
 * The map's file, in GNU ddrescue's format (its manual, "Mapfile structure"),
 * read as ddrescuelog reads it.  Positions in it are those of the source.
 */
#ifndef PARDD_MAPFILE_H
#define PARDD_MAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "map.h"

struct mapfile {
	struct seg	*seg;	/* sorted, adjoining; none: nothing is tried */
	size_t		 n, room;
	char		*source;	/* as our comment says, or NULL */
	uint64_t	 pos;	/* bytes; where the pass stood */
	char		 phase;	/* ddrescue's current_status */
	int64_t		 pass;	/* and current_pass */
};

/*
 * Read a map, or none where there is no file.  Fails (STATUS_REFUSED) for what
 * is no map, naming the line.  mapfile_free in every case.
 */
int mapfile_load(struct mapfile *, const char *path, struct fault *f);
void mapfile_free(struct mapfile *);

/* Add a segment behind the last, joining what is alike.  0 or ENOMEM. */
int mapfile_append(struct mapfile *, const struct seg *);

/*
 * Write it: to a temporary file in the same folder that becomes the map when
 * all of it is on the medium; the map before stays as path.bak.  phase_text is
 * for people.  Returns 0, or -1 with *f and the map before in place.
 */
int mapfile_save(const struct mapfile *, const char *path,
    const char *phase_text, struct fault *f);

#endif
