/*
 * The map's file, in GNU ddrescue's format (its manual, "Mapfile structure"),
 * read as ddrescuelog reads it.  Positions in it are those of the source.
 */
#ifndef PARDD_MAPFILE_H
#define PARDD_MAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "map/map.h"

/* Before the source, in a line of its own. */
#define MAP_SOURCE_MARK	"# pardd source: "

/* In place of a target: what is finished is nowhere, or is what differs. */
#define MAP_DISCARDED	"discarded"
#define MAP_COMPARED	"compared"

struct mapfile {
	struct seg	*seg;	/* sorted, adjoining; none: nothing is tried */
	size_t		 n, room;
	char		*source;	/* as our comments say, or NULL: of */
	char		*target;	/* what it is, and copied to where */
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
 * all of it is on the medium; the map before, unless it is an empty file, stays
 * as path.bak.  An older path.bak goes first where there is no room for three.
 * phase_text is for people.  Returns 0, or -1 with *f and the map
 * before in place.
 */
int mapfile_save(const struct mapfile *, const char *path,
    const char *phase_text, struct fault *f);

/*
 * The same with the segments that "fill" puts, in order, in place of its own: a
 * map of a million is not to be in memory twice.  The new file is locked
 * (flock) before it becomes the map; its descriptor takes the place of
 * form->lock, which is closed.
 */
struct mapfile_out {		/* the last one is held back, to be joined */
	FILE		*out;
	struct seg	 last;
};
struct mapfile_form {
	const struct mapfile *head;	/* all but its segments */
	const char	*phase_text;
	void		 (*fill)(struct mapfile_out *, const void *arg);
	const void	*arg;
	int		 dir;	/* the map's folder, wherever path leads now */
	int		 lock;	/* the map before, or -1 */
	bool		 blank;	/* which says nothing that would be kept */
};
int mapfile_save_by(struct mapfile_form *, const char *path, struct fault *f);

/* Whether that could be done: the map stays as it is. */
int mapfile_try(struct mapfile_form *, const char *path, struct fault *f);

/* For fill: a segment that adjoins the one before; empty ones do not count. */
void mapfile_put(struct mapfile_out *, const struct seg *);

#endif
