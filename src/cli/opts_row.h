/*
 * A row of the table of operands, for the parsers of values.
 */
#ifndef PARDD_OPTS_ROW_H
#define PARDD_OPTS_ROW_H

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
 * Set the member from the text after the "=" of arg: a number in the range of
 * its row, or words separated by commas.  Returns 0, or -1 with a usage error
 * in *f.
 */
int row_number(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f);
int row_words(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f);

#endif
