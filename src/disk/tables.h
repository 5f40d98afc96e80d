/*
 * The kernel's tables in /proc: short texts, read as a whole each time.
 */
#ifndef PARDD_TABLES_H
#define PARDD_TABLES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Read a table; the caller frees *text.  Returns 0, or an errno value with
 * *text NULL.
 */
int table_read(const char *path, char **text);

/* End a field at its first blank, and decode \ooo in place. */
void table_unescape(char *field);

struct mount {			/* a row of MOUNTS */
	unsigned long id;
	dev_t	 dev;		/* its file system; major 0: no device */
	char	*root;		/* the part of it that is mounted, and where;
				 * from here on all are encoded, see
				 * table_unescape */
	char	*point;
	char	*type, *source;
	char	*options;	/* of the file system, "rw" or "ro" first */
};

#define MOUNTS	"/proc/self/mountinfo"

/* Split a row in place; false if it is malformed. */
bool table_mount(char *row, struct mount *);

#endif
