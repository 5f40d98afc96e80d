/*
 * Judging the file systems of a source.
 */
#ifndef PARDD_USED_JUDGE_H
#define PARDD_USED_JUDGE_H

#include "look.h"
#include "part/used.h"

/* All of it is copied, and that is why.  Returns -1. */
int used_whole(struct used_fs *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Look at one of them.  0 or ENOMEM. */
int used_judge(struct used *, struct used_fs *, struct look *);

#endif
