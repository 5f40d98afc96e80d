/*
 * The identity of a SCSI disk, as the disk itself reports it.
 */
#ifndef PARDD_SCSI_IDENTITY_H
#define PARDD_SCSI_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/disk.h"
#include "scsi/scsi.h"

/*
 * Fill in vendor, model, serial number and WWN in the form that sysfs has; ""
 * if the disk does not say.
 */
void scsi_identify(const struct scsi_path *, struct disk *);

struct scsi_identity {		/* sums; 0: the disk does not say */
	uint64_t serial, names;
};

/* Ask the disk for its serial number and its designators (VPD 80h, 83h). */
struct scsi_identity scsi_identity(const struct scsi_path *);

/*
 * Whether another disk answers by now.  What it does not say, or did not, is
 * not compared.
 */
bool scsi_is_other(const struct scsi_path *, const struct scsi_identity *was);

/* Whether it reports to be write protected (MODE SENSE, SPC-5 7.5.6). */
bool scsi_protected(const struct scsi_path *);

/*
 * How many initiators have registered a reservation key (PERSISTENT RESERVE IN,
 * SPC-5 6.16.2).
 */
unsigned scsi_registered(const struct scsi_path *);

#endif
