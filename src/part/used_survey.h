/*
 * Finding everything that is free on a source, and what comes first.
 */
#ifndef PARDD_USED_SURVEY_H
#define PARDD_USED_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "end/endpoint.h"
#include "map/map.h"
#include "part/damage.h"
#include "part/parts.h"
#include "part/used.h"
#include "plan/plan.h"

/*
 * "how" has bits of enum fs_how; "known" is what the target has already, or
 * NULL.  Returns 0 or an errno value; call used_free in either case.
 */
int used_look(struct used *, const struct plan *, unsigned how,
    struct map *known);

/*
 * Reading the contents of a source.
 */

struct look {
	const struct plan *p;
	unsigned	 how;	/* enum fs_how */
	struct lane	 lane;
	uint64_t	 base;	/* byte of the source where it begins */
	const struct used *u;	/* for used_read: */
	const struct used_fs *fs;	/* what is read, of that */
	unsigned char	*buf;	/* ROOM bytes, aligned */
	struct map	*known;	/* ranges read, or unreadable; or NULL */
	bool		 rescued;	/* what is not finished is not read; */
	bool		 dead;		/* nor by a mapping that failed; */
	double		 until;		/* nor after that, by clock_seconds();
					 * or 0 */
	bool		 target;	/* that can be read: */
	struct endpoint	 reader;
	struct lane	 there;
	dev_t		 mapper;	/* an open container that is read, */
	char		 shown[300];	/* or 0; its name, */
	struct endpoint	 plain;		/* which this points to */
	struct lane	 decrypted;
};

/*
 * "known" is what the target has already, and what could not be read, or NULL.
 * "rescued": nothing is read but what it calls finished, and that from the
 * target, or by an open container.  Returns 0 or an errno value; look_close
 * ends it.
 */
int look_open(struct look *, const struct plan *, unsigned how,
    struct map *known, bool rescued);
void look_close(struct look *);

/*
 * For fs_map_read: len bytes at off of the file system; an errno value.
 * Unreadable data is EIO, and not read again.
 */
int look_read(void *arg, uint64_t off, void *buf, size_t len);

/*
 * The same for bytes at off of an open container, by the device that shows what
 * it contains; they are encrypted at "place" of the source.
 */
int look_read_plain(struct look *, dev_t mapper, uint64_t off, uint64_t place,
    void *buf, size_t len);

/* Whether some of the source is not read, as it could not be. */
bool look_lost(const struct look *, uint64_t off, uint64_t len);

/*
 * What lies in pieces.
 */

enum {
	LEVELS_MOST = 6,	/* of volumes in volumes */
	IDLE_WHY = 160,		/* bytes */
};

/* Add a partition, or a volume.  Returns 0 or ENOMEM. */
int used_add(struct used *, unsigned partition, uint64_t off, uint64_t length);

/*
 * Add the volumes of a file system map behind what they lie in.  Returns 0 or
 * an errno value.
 */
int used_add_volumes(struct used *, size_t within, struct fs_map *);

/*
 * Find the open mapping that shows what is encrypted in ->fs: then it has one
 * volume, which is read by the device *mapper, and the map's own are gone.
 * Returns 0; 1 if nothing is seen to be encrypted; or -1 with the reason in
 * "why" (IDLE_WHY bytes), as if more than one mapping is there, or one that
 * nobody knows, but for those of a group's own volumes.
 */
int used_open(struct look *, struct fs_map *, dev_t *mapper, char *why);

/*
 * Where a byte lies on the source, or NOWHERE if a mapping makes it up; *len
 * becomes what lies there as a piece, at most.
 */
uint64_t used_place(const struct used *, const struct used_fs *, uint64_t off,
    uint64_t *len);

/* As look_read, of ->fs. */
int used_read(void *arg, uint64_t off, void *buf, size_t len);

/* Identify ->fs by its signatures: as parts_volume. */
void used_identify(struct look *, struct volume *to);

/*
 * Lists of ranges for used.c and its sister files.
 */

/* Sort a list that was not added to in order. */
void used_list_sort(struct used_list *);

/*
 * Append the part of a range after the last, joining them if they adjoin; or a
 * range before that, to be sorted.  Returns 0 or ENOMEM.
 */
int used_list_add(struct used_list *, uint64_t off, uint64_t end);

/*
 * Append a free range, as far as it is in the copy and consists of whole pages
 * or blocks of the target.
 */
int used_list_free(struct used_list *, const struct plan *, uint64_t off,
    uint64_t end);

/* The total bytes of ranges shorter than this. */
uint64_t used_list_bytes(const struct used_list *, uint64_t shorter);

/*
 * Remove short ranges, as skipping them takes longer than reading them, as long
 * as they hardly add to what is copied, of "length" bytes.
 */
void used_list_trim(struct used_list *, uint64_t length);

/* The first range of a list that another list does not cover, or NULL. */
const struct seg *used_list_uncovered(const struct used_list *,
    const struct used_list *by);

/*
 * Whether part of a source may be written to while it is copied.
 */

/*
 * Find out who uses the bytes from "from" to "to"; "partition" means that they
 * are a partition.  Returns 0; or -1 with the reason in "why" (IDLE_WHY bytes)
 * if somebody may write there, or that is unknown.  *mapped becomes true if
 * only the device mapper knew that.
 */
int part_idle(const struct endpoint *, uint64_t from, uint64_t to,
    bool partition, bool *mapped, char *why);

/*
 * What was lost of a file system.
 */

/*
 * Sort the lost ranges of an area into free space, metadata, and the rest,
 * which is in files, by examining the file system on the target as far as it
 * was read.  Fills ->loss; empty if there is no file system.
 */
void loss_sort(struct damage_area *, const struct plan *, struct map *);

/* Whether this status in the map of a rescue means lost. */
static inline bool
loss_is(enum seg_status status)
{
	return status == BAD || status == UNTRIMMED || status == UNSCRAPED;
}

#endif
