/*
 * What the parts of counted share: counted.c says what the disk is like and is
 * what the program calls, threads.c lets one thread run at a time and has the
 * clock, disk.c serves reads, figures.c counts.
 */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../preload.h"

/* For no other library, nor for the program. */
#pragma GCC visibility push(hidden)

enum { SECTOR = 512, SERVERS = 32 };

static const int64_t ns_per_s = 1000000000, ns_per_us = 1000;
static const int64_t never = INT64_MAX;
static const uint64_t salt = UINT64_C(0x5EC7000000000000);

struct area {
	uint64_t	 off, end;
	double		 rate;		/* of a slow one */
};

struct areas {				/* in order, apart from each other */
	struct area	*area;
	size_t		 n, room;
};

struct disk {
	uint64_t	 size, physical, above, grow, tries, stop, servers;
	double		 rate;
	int64_t		 overhead, latency, jump, error, limit;
	struct areas	 bad, slow;
	unsigned char	*tried;		/* with tries: of each sector */
	int64_t		 free_at[SERVERS];	/* ns */
	int64_t		 way_at;	/* ns: nothing is transferred then */
	uint64_t	 head;		/* where the last read ended */
	uint64_t	 errors, reads, jumps;
};

extern struct disk disk;
extern FILE *trace;			/* of each read, or NULL */
extern int64_t now;			/* ns */

/* Wait for "on", or until a time; true: it is that time. */
bool wait_for(const void *on, int64_t wake);

/* A read of the disk: its time is up when this returns. */
ssize_t read_disk(unsigned char *buf, uint64_t off, size_t len);

/* Count for a disk of so many sectors, of which so many can be read. */
void figures_begin(uint64_t sectors, uint64_t good);

/* What is written: whole sectors, each with its number or none. */
void note_write(const unsigned char *buf, uint64_t off, size_t len);

/* Tell the figures, and end. */
void enough(void);

#pragma GCC visibility pop

#endif
