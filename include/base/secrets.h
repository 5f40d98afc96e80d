/*
 * Passwords on the command line: they are removed from it before anything else
 * reads it, so that nothing can show them, and kept for the code that opens the
 * end.
 */
#ifndef PARDD_SECRETS_H
#define PARDD_SECRETS_H

#include <stddef.h>

struct secret {
	const char	*word;		/* of the command line, without it */
	size_t		 len;		/* of that word */
	char		*text;		/* the secret */
};

struct secrets {
	struct secret	*all;
	size_t		 n;
};

/*
 * Remove the passwords from the words, X=iscsi://USER%PASSWORD@..., in place,
 * and overwrite them in "shown", the copies of the words that ps(1) shows.
 * Secrets in the name of a Ceph image (rbd:...:key=) are overwritten in both,
 * and so are passwords of addresses (SCHEME://USER:PASSWORD@...) that are an
 * end or in a command.  Returns 0, or -1 without memory.
 */
int secrets_take(struct secrets *, int argc, char *words[], char *shown[]);

/*
 * The password that the name of an iSCSI disk had, or NULL.  The name must
 * point into the word it was removed from.  s may be NULL: there were none.
 */
const char *secrets_of(const struct secrets *s, const char *name);

/* Any other name, or a command, as it was given; s may be NULL here, too. */
const char *secrets_given(const struct secrets *s, const char *name);

/* Overwrite the passwords of addresses in a text. */
void secrets_hide(char *text);

/* Overwrite and free them. */
void secrets_free(struct secrets *);

#endif
