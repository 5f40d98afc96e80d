/*
 * What a wrong command line may have meant.
 */
#ifndef PARDD_HINT_H
#define PARDD_HINT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How many letters have to be put in, left out, changed or swapped with their
 * neighbour to make one word of the other; case does not count.  More than
 * HINT_MOST are HINT_MOST + 1.
 */
enum { HINT_MOST = 2 };
unsigned hint_distance(const char *a, size_t len, const char *b);

/* Whether a word of len letters may be a slip of the hand for another. */
bool hint_near(const char *word, size_t len, const char *other,
    unsigned distance);

/*
 * The number that a text that is none may have been meant for, as it is written
 * here: 20M for 20M/s, 64KB for 64kb, 1572864 for 1.5M.  False: no saying.
 */
bool hint_number(const char *text, char *to, size_t room);

/*
 * The line that does what one in the form of dd_rescue's and ddrescue's
 * "[options] from to [map]" asks for, to be pasted into a shell.  NULL for any
 * other line, for one with an option that has no like here, for one that is too
 * long to be shown whole, and without memory; else malloc'd.
 */
char *hint_line(int argc, char *const argv[]);

#endif
