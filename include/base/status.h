/*
 * The exit statuses.
 */
#ifndef PARDD_STATUS_H
#define PARDD_STATUS_H

enum status {
#define STATUS(name, n, row)	STATUS_##name = (n),
#include "base/statuses.def"
#undef STATUS
};

#endif
