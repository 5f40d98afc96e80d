/*
 * The name of a Ceph image, in the form of QEMU.
 */
#include "config.h"

#ifdef HAVE_LIBRBD
#include "rbd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Cut the text at the first of these characters that no backslash protects, and
 * remove the backslashes before it.  *end is set to that character or '\0'.
 * Returns the text after it.
 */
static char *
rbd_name_cut(char *text, const char *at, char *end)
{
	char *to = text;

	for (; *text != '\0' && strchr(at, *text) == NULL; text++) {
		if (*text == '\\' && text[1] != '\0')
			text++;
		*to++ = *text;
	}
	*end = *text;
	if (*text != '\0')
		text++;
	*to = '\0';
	return text;
}

static const char *
add_option(struct rbd_name *n, const char *key, const char *value)
{
	if (*key == '\0')
		return "an option of it has no name";
	/* Command lines are visible to all users, and are recorded. */
	if (strcmp(key, "key") == 0 || strcmp(key, "password") == 0)
		return "a secret is not named there, where all can see it; "
		    "keyring= names a file that has it";
	if (strcmp(key, "conf") == 0) {
		n->conf = value;
	} else if (strcmp(key, "id") == 0) {
		n->id = value;
	} else {
		if (n->options == RBD_OPTIONS_MOST)
			return "it has too many options";
		n->option[n->options++] = (struct rbd_option){ key, value };
	}
	return NULL;
}

static const char *
take_options(struct rbd_name *n, char *at)
{
	const char *wrong = NULL, *key;
	char end = ':';

	while (end == ':' && wrong == NULL) {
		key = at;
		at = rbd_name_cut(at, "=:", &end);
		if (end != '=')
			return "behind a : stand options, KEY=VALUE";
		wrong = add_option(n, key, at);
		at = rbd_name_cut(at, ":", &end);
	}
	return wrong;
}

/*
 * Take POOL/IMAGE or POOL/NAMESPACE/IMAGE from "at"; what follows is after
 * *end.
 */
static char *
take_image(struct rbd_name *n, char *at, char *end)
{
	n->pool = at;
	at = rbd_name_cut(at, "/:@", end);
	if (*end != '/')
		return NULL;
	n->image = at;
	at = rbd_name_cut(at, "/:@", end);
	if (*end == '/') {
		n->space = n->image;
		n->image = at;
		at = rbd_name_cut(at, ":@", end);
	}
	if (*end == '@') {
		n->snapshot = at;
		at = rbd_name_cut(at, ":", end);
	}
	return at;
}

static bool
rbd_name_missing(const char *part)
{
	return part != NULL && *part == '\0';
}

static const char *
rbd_name_take(struct rbd_name *n)
{
	char end, *at = take_image(n, n->text, &end);

	if (at == NULL || rbd_name_missing(n->pool) ||
	    rbd_name_missing(n->image) || rbd_name_missing(n->space) ||
	    rbd_name_missing(n->snapshot))
		return "an image is named rbd:POOL/IMAGE, or "
		    "rbd:POOL/NAMESPACE/IMAGE@SNAPSHOT";
	return end == ':' ? take_options(n, at) : NULL;
}

const char *
rbd_name_parse(struct rbd_name *n, const char *name)
{
	const char *wrong;

	*n = (struct rbd_name){ .text = strdup(name + strlen("rbd:")) };
	wrong = n->text == NULL ? "there is no memory" : rbd_name_take(n);
	if (wrong != NULL)
		rbd_name_free(n);
	return wrong;
}

void
rbd_name_free(struct rbd_name *n)
{
	free(n->text);
	n->text = NULL;
}

#endif
