/*
 * Reading sysfs: attributes, folders, device numbers.  "dir" is a descriptor as
 * openat takes it, names are relative to it.
 */
#ifndef PARDD_SYSFS_H
#define PARDD_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SYSFS_SECTOR = 512 };	/* unit of start and size, whatever the disk */

/*
 * The folder of a node, by kind: "block" or "char".  Returns a descriptor
 * (O_PATH) for the caller to close, or -1 and errno.
 */
int sysfs_open(const char *kind, dev_t node);

/*
 * An attribute without the blanks around it, cut to size; false, and "", when
 * there is none (errno is why) or it is empty (errno is 0).
 */
bool sysfs_text(int dir, const char *name, char *buf, size_t room);

/* An attribute that is a number; 0 when there is none. */
uint64_t sysfs_number(int dir, const char *name);

/*
 * The number of the device whose folder that is; 0 when it has no node, and
 * errno as from sysfs_text.
 */
dev_t sysfs_node(int dir, const char *folder);

/* "8:17" at *s, which is left behind it; false when it is none. */
bool sysfs_pair(char **s, dev_t *node);

/*
 * The entries of a folder, sda2 before sda10.  Returns their number, or -1 and
 * errno; the list is the caller's, who gives it to sysfs_forget.
 */
struct dirent;
int sysfs_entries(int dir, const char *folder, struct dirent ***list);
void sysfs_forget(struct dirent **list, int n);

/* The first of them by name; "" without one.  Returns an errno. */
int sysfs_first(int dir, const char *folder, char *name, size_t room);

#endif
