/*
 * How careful the present pass has to be: how much to read at once, whether one
 * worker at a time, and what to skip after an error.
 */
#ifndef PARDD_CAUTION_H
#define PARDD_CAUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "map/map.h"
#include "rescue/rescue.h"

/* Whether workers should read one at a time. */
bool caution_alone(struct job *);

/* The bytes to claim, and of a gap: many there if seeks are slow. */
size_t caution_piece(struct job *);
size_t caution_of_gap(struct job *);

/* Bytes that are trimmed as one range. */
size_t caution_mark(const struct job *);

/* Where the first pass expects the next bad run; UINT64_MAX: nowhere. */
uint64_t caution_run(struct job *);

/* The distance of a piece from where the pass began, in bytes. */
uint64_t caution_way(const struct job *, const struct seg *);

/* Whether a read that takes so long is in a bad area. */
bool caution_slow(const struct job *, uint64_t bytes, double seconds);

/* An error has taken this long, and others may be near: be careful a while. */
void caution_after(struct rescue *, double seconds);

/* The same, and skip what lies after the piece. */
void caution_skip(struct job *, const struct seg *, double seconds);

/* The same for a piece whose reader was left behind. */
void caution_left(struct job *, const struct seg *stuck);

/*
 * Seconds after which a stuck reader is left behind: longer than errors take.
 * And if the disk can read elsewhere meanwhile: as soon as a read takes so long
 * that it will probably fail.
 */
double caution_patience(const struct rescue *);
double caution_hint(const struct rescue *);

#endif
