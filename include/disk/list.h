/*
 * --list: the disks of this machine, and what uses them.
 */
#ifndef PARDD_LIST_H
#define PARDD_LIST_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"

/*
 * Print a line for each disk, in columns or (json) as JSON objects.  Opens no
 * disk.  Returns 0, or -1 with *f: without sysfs, or memory.
 */
int list_print(FILE *, bool json, struct fault *f);

#endif
