/*
 * Readers of view=, up to 16, as the kernel would pass them on: the functions
 * of libfuse3 that pardd loads are those of readers.c.
 */
#ifndef READERS_H
#define READERS_H

#include <stdbool.h>
#include <stddef.h>

struct readers {
	unsigned	 n;
	unsigned	 times;		/* that each reads */
	unsigned	 pause;		/* us between reads, about */
	bool		 unmount;	/* the last one who is done does */
};

/* Whether there is a view=: pardd was built with libfuse3. */
bool readers_can(void);

/*
 * For the next run: these read from "skip" sectors of the source on, "count" of
 * them.  strict: what is not bad has to be answered.
 */
void readers_prepare(const struct readers *, size_t skip, size_t count,
    bool strict);

/* What was wrong with an answer in that run, or NULL. */
const char *readers_wrong(void);

/* Good answers and errors, in all runs. */
void readers_count(unsigned long *good, unsigned long *failed);

#endif
