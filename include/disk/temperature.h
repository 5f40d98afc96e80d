/*
 * The temperature of a disk.
 */
#ifndef PARDD_TEMPERATURE_H
#define PARDD_TEMPERATURE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Read the temperature of a whole disk, by its block node, in degrees Celsius.
 * Returns false if the kernel knows no sensor, or the sensor does not answer.
 * May take as long as a command to the disk.
 */
bool disk_temperature(dev_t whole, double *celsius);

#endif
