/*
 * What the parts of answer share: answer.c reads ANSWERS, commands.c answers a
 * command as they say, calls.c is what the program calls.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <scsi/sg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../preload.h"

/* For no other library, nor for the program. */
#pragma GCC visibility push(hidden)

enum {
	DISKS = 4, RULES = 16, DATA = 256, OPS = 11,
};

enum op {
	INQUIRY = 1, READY = 2, CAPACITY = 4, CAPACITY16 = 8, READ = 16,
	WRITE = 32, SAME = 64, SYNC = 128, LBASTATUS = 256, OTHER = 512,
	ATA = 1024
};

struct disk {
	char		 path[4096];
	dev_t		 dev;
	ino_t		 ino;
	atomic_int	 fd;		/* its medium */
	uint32_t	 block, says, type, most, same, thin, native, made;
	atomic_bool	 renamed;
	uint64_t	 blocks;
};

struct rule {
	char		 path[4096];	/* empty: any disk */
	unsigned	 ops;		/* 0: any */
	bool		 ranged;
	uint64_t	 first, count;
	unsigned	 least, most;
	unsigned	 nth, times, from, ms;
	unsigned	 status, host, driver;
	bool		 has_status, has_sense, has_info, has_resid, has_data;
	bool		 descriptor, deferred, ili, done, renamed;
	unsigned	 key, asc, ascq;
	unsigned	 cut;		/* 0: all of it */
	uint64_t	 info;
	int64_t		 resid;
	int		 err;
	unsigned char	 data[DATA];
	char		 becomes[4096];
	atomic_uint	 seen, hits;
};

extern struct disk disks[DISKS];
extern struct rule rules[RULES];
extern size_t ndisks, nrules;
extern const struct word ops[OPS];
extern int log_fd;			/* or -1 */
extern bool changes;			/* a command may change the medium */

/* Open a medium, past ourselves: it is no node. */
int medium(const char *path);

/* Fill in the answer; an errno, if it is to be refused. */
int answer(struct disk *, struct sg_io_hdr *);

#pragma GCC visibility pop

#endif
