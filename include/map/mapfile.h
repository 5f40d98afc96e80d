/*
 * The map file, in the format of GNU ddrescue (its manual, "Mapfile
 * structure"), read as ddrescuelog reads it.  Positions are bytes of the
 * source.
 */
#ifndef PARDD_MAPFILE_H
#define PARDD_MAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "map/map.h"

/* The start of the line that describes the source. */
#define MAP_SOURCE_MARK	"# pardd source: "

/*
 * In place of a target: the data went nowhere; or the map is of a comparison.
 */
#define MAP_DISCARDED	"discarded"
#define MAP_COMPARED	"compared"

struct mapfile {
	struct seg	*seg;	/* in order, without gaps; none: all untried */
	size_t		 n, room;
	char		*source;	/* what our comments in the file say: */
	char		*target;	/* descriptions of both, or NULL */
	uint64_t	 pos;	/* bytes; the position of the pass */
	char		 phase;	/* ddrescue's current_status */
	int64_t		 pass;	/* and current_pass */
	bool		 loose;	/* gaps are untried */
};

/*
 * Read a map; if there is no such file, an empty one.  Returns 0, or -1 with
 * *f: a file that is not a map is refused (STATUS_REFUSED), and the message
 * names the line.  Call mapfile_free in any case.  "loose": what the file
 * leaves out between two blocks is untried.
 */
int mapfile_load(struct mapfile *, const char *path, bool loose,
    struct fault *f);
void mapfile_free(struct mapfile *);

/* Where the last segment ends; 0 if there is none. */
static inline uint64_t
mapfile_end(const struct mapfile *m)
{
	return m->n > 0 ? m->seg[m->n - 1].off + m->seg[m->n - 1].len : 0;
}

/* Append a segment; it is joined to the last if alike.  0 or ENOMEM. */
int mapfile_append(struct mapfile *, const struct seg *);

/*
 * Save it: write a temporary file in the same directory, flush it, and rename
 * it to path.  The previous map stays as path.bak, unless it was empty; an
 * older path.bak is removed first if there is no room for three files.
 * phase_text is a comment for people.  Returns 0, or -1 with *f and the
 * previous map still in place.
 */
int mapfile_save(const struct mapfile *, const char *path,
    const char *phase_text, struct fault *f);

/*
 * The same, but "fill" supplies the segments in order, with mapfile_put, so
 * that a map of a million segments is not in memory twice.  The new file is
 * locked (flock) before it is renamed; its descriptor replaces form->lock,
 * which is closed.
 */
struct mapfile_out {		/* holds back one segment, to join it */
	FILE		*out;
	struct seg	 last;
};
struct mapfile_form {
	const struct mapfile *head;	/* everything but the segments */
	const char	*phase_text;
	void		 (*fill)(struct mapfile_out *, const void *arg);
	const void	*arg;
	int		 dir;	/* the directory of the map, even if moved */
	int		 lock;	/* the previous map, locked, or -1 */
	bool		 blank;	/* which has nothing worth keeping */
};
int mapfile_save_by(struct mapfile_form *, const char *path, struct fault *f);

/* Check that it could be saved, without doing so.  Returns 0, or -1 with *f. */
int mapfile_try(struct mapfile_form *, const char *path, struct fault *f);

/* For "fill": the next segment, adjoining the last; an empty one is ignored. */
void mapfile_put(struct mapfile_out *, const struct seg *);

#endif
