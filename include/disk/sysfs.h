/*
 * Reading sysfs: attributes, directories, device numbers.  "dir" is a
 * descriptor as for openat, names are relative to it.
 */
#ifndef PARDD_SYSFS_H
#define PARDD_SYSFS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SYSFS_SECTOR = 512 };	/* unit of start and size on every disk */

/*
 * Open the directory of a node; kind is "block" or "char".  Returns a
 * descriptor (O_PATH) for the caller to close, or -1 with errno.
 */
int sysfs_open(const char *kind, dev_t node);

/*
 * Read an attribute, without blanks at its ends, truncated to fit.  Returns
 * false and "" if it is missing (errno says why) or empty (errno is 0).
 */
bool sysfs_text(int dir, const char *name, char *buf, size_t room);

/*
 * err, if it says that an attribute could not be read for lack of a descriptor
 * or of memory; 0 if it says something about the attribute.
 */
static inline int
sysfs_unasked(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM ? err : 0;
}

/* Read an attribute that is a number; 0 if there is none. */
uint64_t sysfs_number(int dir, const char *name);

/*
 * Read the number of the device whose directory this is; 0 if it has no node,
 * with errno as from sysfs_text.
 */
dev_t sysfs_node(int dir, const char *directory);

/* Parse "8:17" at *s, and move *s past it; false if it is something else. */
bool sysfs_pair(char **s, dev_t *node);

/*
 * List the entries of a directory, sda2 before sda10.  Returns their number, or
 * -1 with errno; sysfs_forget frees the list.
 */
struct dirent;
int sysfs_entries(int dir, const char *directory, struct dirent ***list);
void sysfs_forget(struct dirent **list, int n);

/*
 * The first entry by name; "" if there is none.  Returns 0 or an errno value.
 */
int sysfs_first(int dir, const char *directory, char *name, size_t room);

#endif
