/*
 * A row of the table of operands, as the readers of their values see it.
 */
#ifndef PARDD_OPTS_ROW_H
#define PARDD_OPTS_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/opts.h"

enum kind {			/* what its member is: */
	NAME_ROW,		/* const char * */
	NUMBER_ROW,		/* int64_t */
	WORDS_ROW,		/* unsigned, a bit for each word */
};

struct row {
	const char	*name;
	enum kind	 kind;
	size_t		 field;		/* its offset in struct opts */
	int64_t		 absent, least, most;
	const char	*unit;		/* what it is a number of, as --help */
};

/* The member of *o that a row sets, of the row's type. */
static inline void *
row_member(struct opts *o, const struct row *row)
{
	return (char *)o + row->field;
}

/*
 * Sets the member to what stands behind the "=" of arg: a number in the range
 * of its row, or words with commas between.
 */
int row_number(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f);
int row_words(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f);

#endif
