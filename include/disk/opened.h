/*
 * What a process has open, as /proc tells.
 */
#ifndef PARDD_OPENED_H
#define PARDD_OPENED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Whether "is" is true of a regular file or block device that the process, or
 * one that it has started to do the same, has open: to be written, or else to
 * be read.  False where nobody may look.
 */
bool opened_any(pid_t, bool write, bool (*is)(const struct stat *, void *arg),
    void *arg);

#endif
