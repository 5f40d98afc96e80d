/*
 * A row of the table of operands, for the parsers of values.
 */
#ifndef PARDD_OPTS_ROW_H
#define PARDD_OPTS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/opts.h"

enum kind {			/* the type of the member: */
	NAME_ROW,		/* const char * */
	NUMBER_ROW,		/* int64_t */
	WORDS_ROW,		/* unsigned, a bit for each word */
};

struct row {
	const char	*name;
	enum kind	 kind;
	size_t		 field;		/* offset in struct opts */
	int64_t		 absent, least, most;
	const char	*unit;		/* as --help shows it */
};

/* The member of *o that the row describes. */
static inline void *
row_member(struct opts *o, const struct row *row)
{
	return (char *)o + row->field;
}

/*
 * Hints for a wrong command line.
 */

/*
 * The number of letters to insert, delete, replace or swap with a neighbour to
 * turn a into b; case is ignored.  Anything above HINT_MOST is HINT_MOST + 1.
 */
enum { HINT_MOST = 2 };
unsigned hint_distance(const char *a, size_t len, const char *b);

/* Whether a word of len letters is probably a typo for another one. */
bool hint_near(const char *word, size_t len, const char *other,
    unsigned distance);

/*
 * Guess the number meant by a text that is not one: 20M for 20M/s, 64KB for
 * 64kb, 1572864 for 1.5M.  Writes it to "to"; returns false without a guess.
 */
bool hint_number(const char *text, char *to, size_t room);

/*
 * Translate a command line in the form "[options] from to [map]", as dd_rescue
 * and ddrescue take it, into one that can be pasted into a shell.  Returns a
 * malloc'ed string, or NULL: another form, an option without an equivalent, a
 * line too long to show, or no memory.
 */
char *hint_line(int argc, char *const argv[]);

/*
 * Operands that contradict each other.
 */

/*
 * The message for the first rule of conflicts.def that the operands break, or
 * NULL.  The string is constant.
 */
const char *conflict(const struct opts *o);

#endif
