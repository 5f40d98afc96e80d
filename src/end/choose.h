/*
 * Which backend an end has, by what was found under its name.
 */
#ifndef PARDD_CHOOSE_H
#define PARDD_CHOOSE_H

#include "base/fault.h"
#include "end/endpoint.h"

struct stat;

/*
 * Set the backend, and what it is known by, from an open descriptor and its
 * stat.  Refuses what is of no use, and words of iflag= or oflag= that do not
 * suit it.  Returns 0, or -1 with *f.
 */
int choose(struct endpoint *, int fd, const struct stat *, struct fault *);

/* Refuses words that only an end of another kind knows what to do with. */
int choose_misused(const struct endpoint *, struct fault *);

/* A file that is written in order, behind what is there. */
void choose_append(struct endpoint *, const struct stat *);

#endif
