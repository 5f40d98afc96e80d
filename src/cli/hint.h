/*
 * Hints for a wrong command line.
 */
#ifndef PARDD_HINT_H
#define PARDD_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The number of letters to insert, delete, replace or swap with a neighbour to
 * turn a into b; case is ignored.  Anything above HINT_MOST is HINT_MOST + 1.
 */
enum { HINT_MOST = 2 };
unsigned hint_distance(const char *a, size_t len, const char *b);

/*
 * Of the words tried, the one that a text of len letters is probably a typo
 * for: the nearest, and the first of those.
 */
struct hint {
	const char	*word;		/* or NULL */
	unsigned	 distance;
};
void hint_try(struct hint *, const char *text, size_t len, const char *word);

/*
 * Guess the number meant by a text that is not one: 20M for 20M/s, 64KB for
 * 64kb, 1572864 for 1.5M.  Writes it to "to"; returns false without a guess.
 */
bool hint_number(const char *text, char *to, size_t room);

/*
 * Convert a time such as 2h or 5m to seconds; as numbers 2h is hexadecimal, and
 * 5m is 5 MiB.  Returns false for all else.
 */
bool hint_seconds(const char *text, int64_t *seconds);

/*
 * Translate a command line in the form "[options] from to [map]", as dd_rescue
 * and ddrescue take it, into one that can be pasted into a shell.  Returns a
 * malloc'ed string, or NULL: another form, an option without an equivalent, a
 * line too long to show, or no memory.
 */
char *hint_line(int argc, char *const argv[]);

#endif
