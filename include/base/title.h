/*
 * What ps(1) shows of a process that takes a while.
 */
#ifndef PARDD_TITLE_H
#define PARDD_TITLE_H

#include <stdbool.h>

struct title {
	int	width;		/* bytes of the first word, once it is given up:
				 * what is shorter is shown with a dot; or 0 */
	double	last;		/* seconds; when it was written */
};

/*
 * Take the argc words that main was given, and the environment behind them,
 * which is copied, for the title.  Before there are threads, any of which may
 * ask for a variable; and nobody reads the words any more.  Once is enough.
 * NULL: there is no title.
 */
void title_begin(struct title *, int argc, char **words);

/*
 * Whether a title is due, so many seconds after the start; then it is due again
 * a second later.
 */
bool title_due(struct title *, double seconds);

/* Write the title.  share: how much is done, 0 to 1, or -1: not known. */
void title_set(const struct title *, const char *from, const char *to,
    double share);

#endif
