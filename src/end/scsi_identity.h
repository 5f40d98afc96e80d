/*
 * By what a SCSI disk is known, asked of the disk itself.
 */
#ifndef PARDD_SCSI_IDENTITY_H
#define PARDD_SCSI_IDENTITY_H

#include <stdbool.h>

#include "disk/disk.h"
#include "end/scsi.h"

/*
 * Vendor, model, serial number and WWN, as sysfs has them of a disk that the
 * kernel knows; "" where the disk does not tell.
 */
void scsi_identify(const struct scsi_path *, struct disk *);

/* Whether it says that it takes no writes (MODE SENSE, SPC-5 7.5.6). */
bool scsi_protected(const struct scsi_path *);

/*
 * How many initiators have registered with it for a reservation (PERSISTENT
 * RESERVE IN, SPC-5 6.16.2).
 */
unsigned scsi_registered(const struct scsi_path *);

#endif
