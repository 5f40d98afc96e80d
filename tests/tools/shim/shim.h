/*
 * What the parts of shim share: shim.c reads FAULTS, judge.c says what a call
 * comes to by the rules, transfer.c is what moves bytes, calls.c all other calls
 * of files and threads, memory.c what asks for memory.
 */
#ifndef SHIM_H
#define SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../preload.h"

/* For no other library, nor for the program. */
#pragma GCC visibility push(hidden)

enum { RULES = 8, RANGES = 256, SECTOR = 512, DESCRIPTORS = 256 };

enum op {
	READ = 1, WRITE = 2, FLUSH = 4, RANGE = 8, CLOSE = 16, THREAD = 32,
	ZERO = 64, SHARE = 128, DIRECT = 256, ALLOC = 512, OPENING = 1024,
	STAT = 2048, IOCTL = 4096, RENAME = 8192, MAP = 16384, EVENT = 32768,
	POLL = 65536, LOOK = 131072, MEDIUM = 262144, OWN = 524288,
	LENGTH = 1048576, LOCK = 2097152
};

struct range {
	uint64_t off, end;
	atomic_uint hits;
};

struct rule {
	char		 path[4096];	/* empty: any file */
	char		 until[4096];	/* empty: no wait */
	int		 places;	/* to be added to, */
	char		*had;		/* what it had; NULL: anywhere */
	unsigned	 ops;
	int		 err;		/* errno value, or 0 */
	bool		 whole, cut, odd, hang, old, flip, once, zero, stale;
	unsigned	 ms, every, nth, from, times, depth, fill;
	size_t		 n;		/* ranges; 0: all of the file */
	struct range	 range[RANGES];
	atomic_uint	 seen, hits;
	atomic_ullong	 dice;
	atomic_ullong	 passed;	/* bytes, where there is no offset */
	atomic_bool	 told[DESCRIPTORS];
	atomic_bool	 placed;	/* by places: one has failed */
};

/* What became of a transfer: err, or the bytes it may move. */
struct verdict {
	int	 err;
	size_t	 len;
	bool	 touched;
	bool	 flip, zero, stale;
	unsigned fill;
	size_t	 at;		/* the byte of the transfer */
};

extern struct rule rules[RULES];
extern size_t nrules;
extern int log_fd;			/* or -1 */
extern bool log_all;
extern const char *program;		/* as it was called */
extern char *sysfs;			/* directory that stands for /sys, or NULL */
extern _Thread_local bool running;	/* the program's own code */
extern _Thread_local const void *asker;	/* who asks for memory, and the */
extern _Thread_local void *const *asks;	/* frame of the call */

/* A line of the log, if there is one. */
void note(const char *op, int fd, uint64_t off, size_t len, long result);

/* What the rules make of a transfer, or (len 0) of another call. */
struct verdict judge(enum op, int fd, uint64_t off, size_t len);

/* The calls that move nothing, of a range; true when one is to fail. */
bool refused_at(enum op, const char *name, int fd, uint64_t off, size_t len);
bool refused(enum op, const char *name, int fd);

/* Whether flags of preadv2 and pwritev2 are not known there. */
bool old(enum op, int fd);

/* Where the transfer begins: at, the file's offset, or what has gone through. */
uint64_t place(enum op, int fd, int64_t at);

/* So much has gone through. */
void count(enum op, int fd, ssize_t moved);

#pragma GCC visibility pop

/* Each of the positioned ones under its plain and its 64-bit name. */
#define BOTH(name64, name, proto, call)	\
	RESULT name64 proto { return call; }	\
	RESULT name proto { return call; }

#endif
