/*
 * Memory for requests that a library carries out: a list of those idle.
 */
#include "end/backend.h"

#include <stdlib.h>

static void
flights_alloc(struct flights *fl, unsigned most, size_t size)
{
	unsigned i;

	fl->all = calloc(most, size);
	for (i = 0; fl->all != NULL && i < most; i++)
		flights_end(fl, (char *)fl->all + i * size);
}

void *
flights_begin(struct flights *fl, unsigned most, size_t size)
{
	struct call_head *f;

	if (fl->all == NULL)
		flights_alloc(fl, most, size);
	f = fl->idle;
	if (f != NULL)
		fl->idle = f->next;
	return f;
}

void
flights_end(struct flights *fl, void *call)
{
	struct call_head *f = call;

	f->next = fl->idle;
	fl->idle = f;
}

void
flights_free(struct flights *fl)
{
	free(fl->all);
}
