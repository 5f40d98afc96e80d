/*
 * The sectors that an ATA disk hides after its last visible one.
 */
#ifndef PARDD_ATA_H
#define PARDD_ATA_H

#include <stdbool.h>
#include <stdint.h>

#include "end/endpoint.h"

struct ata_hidden {		/* hidden bytes */
	uint64_t area;		/* by a host protected area (HPA) */
	uint64_t overlay;	/* by a device configuration overlay (DCO) */
};

/*
 * Ask the disk how much it hides, by commands that change nothing.  Returns
 * false, without asking, if the end is not a whole ATA disk.  Queries that the
 * disk does not answer count as 0.
 */
bool ata_hidden(const struct endpoint *, struct ata_hidden *);

#endif
