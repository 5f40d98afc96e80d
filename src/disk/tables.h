/*
 * The kernel's tables in /proc: short texts, read whole and anew each time.
 */
#ifndef PARDD_TABLES_H
#define PARDD_TABLES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A table, the caller's to free; returns an errno, and then *text is NULL.
 */
int table_read(const char *path, char **text);

/* A field, in place: up to a blank, with \ooo for odd bytes. */
void table_unescape(char *field);

struct mount {			/* a row of MOUNTS */
	unsigned long id;
	dev_t	 dev;		/* of the file system; major 0: of no device */
	char	*point;		/* all are escaped, see table_unescape */
	char	*type, *source;
	char	*options;	/* the file system's, "rw" or "ro" first */
};

#define MOUNTS	"/proc/self/mountinfo"

/* Take a row apart, in place; false when it is none. */
bool table_mount(char *row, struct mount *);

#endif
