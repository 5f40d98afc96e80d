/*
 * The name of a Ceph image: rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT], with options
 * as :KEY=VALUE.  A backslash makes the next character an ordinary one.
 */
#ifndef PARDD_RBD_NAME_H
#define PARDD_RBD_NAME_H

#include <stddef.h>

enum { RBD_OPTIONS_MOST = 32 };

struct rbd_name {		/* strings point into "text" */
	char		*text;	/* malloc'd */
	const char	*pool, *image;
	const char	*space, *snapshot;	/* or NULL */
	const char	*conf, *id;	/* options of these names, or NULL */
	struct rbd_option { const char *key, *value; }
			 option[RBD_OPTIONS_MOST];	/* all other options */
	size_t		 options;
};

/*
 * Parse a name.  Returns NULL, or a constant message with nothing to free.
 * rbd_name_free frees the parts.
 */
const char *rbd_name_parse(struct rbd_name *, const char *name);
void rbd_name_free(struct rbd_name *);

#endif
