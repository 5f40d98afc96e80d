/*
 * What an ATA disk hides behind the last sector that it shows.
 */
#ifndef PARDD_ATA_H
#define PARDD_ATA_H

#include <stdbool.h>
#include <stdint.h>

#include "end/endpoint.h"

struct ata_hidden {		/* bytes */
	uint64_t area;		/* by a host protected area (HPA) */
	uint64_t overlay;	/* by a device configuration overlay (DCO) */
};

/*
 * Ask the disk, by commands that change nothing, for what it has of either.
 * False, without a question, where the end is no whole ATA disk; what a disk
 * does not answer counts as nothing.
 */
bool ata_hidden(const struct endpoint *, struct ata_hidden *);

#endif
