/*
 * The name of a Ceph image, rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT], and options,
 * :KEY=VALUE.  A backslash takes the meaning from what follows it.
 */
#ifndef PARDD_RBD_NAME_H
#define PARDD_RBD_NAME_H

#include <stddef.h>

enum { RBD_OPTIONS_MOST = 32 };

struct rbd_name {		/* parts of "text" */
	char		*text;	/* malloc'd */
	const char	*pool, *image;
	const char	*space, *snapshot;	/* or NULL */
	const char	*conf, *id;	/* of the options, or NULL */
	struct rbd_option { const char *key, *value; }
			 option[RBD_OPTIONS_MOST];	/* the others */
	size_t		 options;
};

/*
 * Take a name apart.  NULL, or what is wrong with it, with nothing to free.
 * rbd_name_free frees the parts.
 */
const char *rbd_name_parse(struct rbd_name *, const char *name);
void rbd_name_free(struct rbd_name *);

#endif
