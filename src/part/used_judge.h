/*
 * Judging the file systems of a source.
 */
#ifndef PARDD_USED_JUDGE_H
#define PARDD_USED_JUDGE_H

#include "look.h"
#include "part/used.h"

/* Copy it as a whole, for this reason.  Returns -1. */
int used_whole(struct used_fs *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Judge one of them.  Returns 0 or ENOMEM. */
int used_judge(struct used *, struct used_fs *, struct look *);

#endif
