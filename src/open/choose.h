/*
 * Choosing the backend of an end by what was found under its name.
 */
#ifndef PARDD_CHOOSE_H
#define PARDD_CHOOSE_H

#include "base/fault.h"
#include "end/endpoint.h"

struct stat;

/*
 * Choose the backend and set the identity, from an open descriptor and its
 * stat.  Refuses what cannot be copied, and words of iflag= or oflag= that do
 * not apply.  Returns 0, or -1 with *f.
 */
int choose(struct endpoint *, int fd, const struct stat *, struct fault *);

/*
 * Refuse words that apply only to another kind of end.  Returns 0, or -1 with
 * *f.
 */
int choose_misused(const struct endpoint *, struct fault *);

/* Set up oflag=append: the file is written in order, from its end on. */
void choose_append(struct endpoint *, const struct stat *);

#endif
