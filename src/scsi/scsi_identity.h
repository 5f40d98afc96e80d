/*
 * The identity of a SCSI disk, as the disk itself reports it.
 */
#ifndef PARDD_SCSI_IDENTITY_H
#define PARDD_SCSI_IDENTITY_H

#include <stdbool.h>

#include "disk/disk.h"
#include "scsi/scsi.h"

/*
 * Fill in vendor, model, serial number and WWN in the form that sysfs has; ""
 * if the disk does not say.
 */
void scsi_identify(const struct scsi_path *, struct disk *);

/* Whether it reports to be write protected (MODE SENSE, SPC-5 7.5.6). */
bool scsi_protected(const struct scsi_path *);

/*
 * How many initiators have registered a reservation key (PERSISTENT RESERVE IN,
 * SPC-5 6.16.2).
 */
unsigned scsi_registered(const struct scsi_path *);

#endif
