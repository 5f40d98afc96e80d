/*
 * The verdict on a copy to one target.
 */
#ifndef PARDD_VERDICT_ONE_H
#define PARDD_VERDICT_ONE_H

#include "report/verdict.h"

/* Set out->verdict, as if out->targets were 0. */
void verdict_one(const struct plan *, struct outcome *);

#endif
