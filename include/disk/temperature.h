/*
 * How warm a disk is.
 */
#ifndef PARDD_TEMPERATURE_H
#define PARDD_TEMPERATURE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Of a whole disk, by its block node; degrees Celsius.  False: it has no sensor
 * that the kernel knows, or that does not answer.  This may take as long as a
 * command to the disk.
 */
bool disk_temperature(dev_t whole, double *celsius);

#endif
