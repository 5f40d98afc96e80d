/*
 * A simulation: pardd's own parts, all but the ends and the clock, in one
 * process with disks that are made up.  One thread goes on at a time, as the
 * scheduler (tests/sched) has it, which makes up the time, too: a run is what
 * its seed says, and can be run again.
 *
 * Bytes and sectors are those of a disk.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SECTOR = 512,
	LONGEST = 1024,		/* sectors, of a source */
	SECTORS = 2 * LONGEST + 64,	/* of a disk, at most */
	ROOM = SECTORS * SECTOR,
	TARGETS = 3,
};

struct disk {
	size_t		 sectors, block;	/* bytes of a block */
	_Alignas(4096) unsigned char now[ROOM];	/* what it answers */
	unsigned char	 kept[ROOM];	/* what a power cut leaves */
	bool		 dirty[SECTORS];	/* where these may differ */
	uint8_t		 bad[SECTORS];	/* reads that fail yet; BAD: all */
	bool		 defect[SECTORS];	/* takes no write */
	bool		 zeroes, sparse, exact;	/* what it can do, and tells */
	unsigned	 slow;		/* us, of a request, about */
	uint64_t	 gone_at;	/* of its requests, or NEVER */
	uint64_t	 lose_at;	/* what it wrote back is lost, by one */
	uint64_t	 hang_at;	/* the same: it takes 2 s */
	uint64_t	 lie_at;	/* after an error from here on it has
					 * this, and no errors any more, or */
	unsigned char	 junk[4096];	/* of which this is a block */
	bool		 again;		/* that is: what it read last */
	unsigned	 answers;	/* for so many requests, and then */
	uint64_t	 mute_at;	/* nothing but errors; a power cut may
					 * come before this is understood, */
	bool		 accused;	/* of these: */
	bool		 denied[SECTORS];	/* good ones, with an error, */
	bool		 junked[SECTORS];	/* or as junk, ever */
	unsigned	 known;		/* if so many others were read well, */
	unsigned char	 seen[SECTOR];	/* of which this was the last */
	bool		 lies, lied;	/* now; ever */
	unsigned	 returns;	/* so often, when it is gone and opened
					 * again */
	bool		 vanished;	/* in this run; or it has lied */
	uint8_t		 met[SECTORS];	/* errors of this run, by sector, */
	uint8_t		 alone[SECTORS];	/* and of a block alone */
	uint64_t	 requests;
	bool		 lost;		/* the next who asks is told, */
	bool		 loses;		/* or somebody was */
	bool		 failed;	/* anything, and it said so */
};

#define BAD	UINT8_MAX
#define NEVER	UINT64_MAX

struct machine {
	struct disk	 source, target[TARGETS];
	unsigned	 targets;
	uint64_t	 requests;	/* to all of them */
	uint64_t	 cut_at, signal_at;	/* by that one, or NEVER */
	int		 shown;		/* the first target, as a file */
	bool		 viewed;	/* by view= */
	bool		 dark;		/* the power has been cut */
	char		 map[1 << 16];	/* as it was then */
};

extern struct machine machine;

/* Before all else; false: with errno. */
bool machine_begin(void);

/* The power goes, and with it what was not flushed, in part. */
void machine_cut(void);

/* It is there again, and so is what was kept. */
void machine_on(void);

/* The source is to be used by another run. */
void machine_again(void);

/* The map's file, as it is; "" for none. */
void map_read(char *text, size_t room);

#endif
