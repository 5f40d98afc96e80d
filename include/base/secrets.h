/*
 * Passwords on the command line: taken out of it before anything looks at it,
 * so that nothing can show them, and kept for who opens the end.
 */
#ifndef PARDD_SECRETS_H
#define PARDD_SECRETS_H

#include <stddef.h>

struct secret {
	const char	*word;		/* of the command line, without it */
	size_t		 len;		/* of that */
	char		*password;
};

struct secrets {
	struct secret	*all;
	size_t		 n;
};

/*
 * Take the password out of a word, X=iscsi://USER%PASSWORD@..., which becomes
 * shorter, and overwrite it in shown, the same word as ps(1) shows it.  Returns
 * 0, or -1 where there is no memory for it.
 */
int secrets_take(struct secrets *, char *word, char *shown);

/*
 * The password that stood in a name, which is a part of a word, or NULL.  s may
 * be NULL: none was taken.
 */
const char *secrets_of(const struct secrets *s, const char *name);

/* Forget them. */
void secrets_free(struct secrets *);

#endif
