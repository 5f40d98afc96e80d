/*
 * What the files of lines share: a line, what a command leaves, and who makes
 * what of them.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

enum {
	TROUBLE = 2,
	WORDS = 40,		/* of a command */
	LETTERS = 8192,
	ROOM = 1 << 21,		/* no target is as large */
	SECONDS = 120,		/* a command that takes longer hangs */
	MENDS = 3,		/* holes and zeros in a source */
	SPOTS = 3,		/* that cannot be read */
	MOST = 5,		/* lines that are told */
	ROUNDS = 5,		/* in which one is made simpler */
	/* the disks: not alike, and no multiples of much */
	SOURCE_512 = 131072 + 1536, SOURCE_4K = 131072 + 4096,
	TARGET_512 = 147456 + 2560, TARGET_4K = 147456,
};

enum what { PLAIN, DISK, DISK4K, PIPE, ZEROS, NOTHING };

enum way { NAMED, LINKED, OPENED, BOTH, APPENDED };	/* name <, > <>, >> */

enum unit { BLOCKS, BYTES, SUFFIX };			/* 8, 4096, 4096B */

enum who { DD, PARDD };

enum {			/* words of iflag= and oflag= */
	APPEND = 1, DIRECT = 2, DSYNC = 4, SYNC = 8, NOATIME = 16,
	NOCACHE = 32, NONBLOCK = 64, NOFOLLOW = 128, FULLBLOCK = 256,
};

enum {			/* words of conv= */
	NOERROR = 1, PAD = 2, SPARSE = 4, FSYNC = 8, FDATASYNC = 16, EXCL = 32,
	NOCREAT = 64, NOTRUNC = 128,
};

struct word {
	unsigned	 bit;
	const char	*name;
};

struct mend {			/* what is no data in a source */
	bool	 hole;		/* else zeros */
	uint64_t at, len;
};

struct end {
	enum what what;
	enum way  way;
	bool	  memory;	/* a file in memory */
	uint64_t  at;		/* offset of the descriptor */
	uint64_t  off;		/* skip=, seek=, in its unit */
	enum unit unit;
	unsigned  flag;
};

struct line {
	struct end  src, dst;
	uint64_t    size;	/* bytes of a file or pipe */
	struct mend mend[MENDS];
	size_t	    mends;
	int64_t	    old;	/* bytes of the target file, or -1: none */
	uint64_t    bs;		/* 0: none */
	bool	    apart;	/* as ibs= and obs= */
	int64_t	    count;	/* or -1 */
	enum unit   unit;	/* of count= */
	unsigned    conv;
	const char *status;	/* or NULL */
	bool	    trunc;
	uint64_t    bad[SPOTS];	/* offsets of blocks that cannot be read */
	size_t	    nbad;
	size_t	    drip;	/* bytes at a time into a pipe, at most */
	/* pardd's alone: none of this may change what is written. */
	unsigned    bpt, thr;	/* 0: none */
	bool	    unsynced, async;
};

/* What a command leaves. */
struct result {
	int	 status;	/* 128 + signal */
	int64_t	 size;		/* of the target, or -1: there is none */
	int64_t	 in, out;	/* offsets of inherited descriptors, or -1 */
	unsigned char *data;
	char	 said[1024];	/* how it began to complain */
};

struct command {
	char	*word[WORDS];
	size_t	 n, used;
	char	 letters[LETTERS];
};

/* What pardd must do, where dd does something else. */
struct due {
	int	 status;	/* -1: any but 0 */
	bool	 untouched;	/* the target is as it was */
	uint64_t same;		/* bytes that must be those of dd, at least */
};

/* What lines was given. */
struct given {
	const char	*pardd, *shim;
	const char	*disk[6];	/* or NULL: none */
	bool		 suffixes;	/* pardd knows count=512B */
	unsigned char	*old;		/* what old targets are made of */
	char		 self[64];	/* in messages of err(3) */
};

extern struct given given;
extern const struct word flags[], convs[];

static inline uint64_t
round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* --- line.c: numbers are bytes, where nothing else is said --------------- */

void line_make(struct line *, uint64_t seed, uint64_t number);

/* Change what does not go together, or means another thing to each. */
void settle(struct line *);

/* Below n; the same for the same line. */
uint64_t roll(uint64_t n);

uint32_t block_of(const struct end *);		/* of a disk, else 0 */
uint64_t unit_of(const struct line *);		/* of skip=, seek=, count= */
uint64_t in_bytes(const struct line *, uint64_t n, enum unit);
uint64_t start_of(const struct line *, const struct end *);
uint64_t source_size(const struct line *);	/* in all */
uint64_t target_size(const struct line *);	/* of a disk */
uint64_t left(const struct line *);		/* of the source, from skip= */
uint64_t length_of(const struct line *);	/* of a copy without faults */

/* --- command.c ----------------------------------------------------------- */

void command_make(struct command *, const struct line *, enum who);

/* Files and devices; links to them have names of their own. */
const char *source_name(const struct line *);
const char *target_name(const struct line *, enum who);

/* Whether dd must be given a target that is cut already. */
bool dd_miscuts(const struct line *);

/* --- ends.c -------------------------------------------------------------- */

enum { SOURCE_TEXT = 1000000, OLD_TEXT = 5000000 };

/* What seq(1) prints from FIRST on: each place has its own. */
void text(unsigned char *to, size_t len, unsigned first);

void make_file(const char *name, uint64_t size, const unsigned char *data);

/* The source's contents, as who reads them sees them, are left in data. */
void make_source(const struct line *, unsigned char *data);
void make_target(const struct line *, enum who);

/* A rule for the shim. */
void faults(const struct line *, char *rule, size_t room);

/* r->data has ROOM bytes. */
void run(const struct line *, enum who, const unsigned char *data,
    struct result *r);

/* --- model.c ------------------------------------------------------------- */

/* What pardd must do. */
void forecast(const struct line *, struct due *);

/* Make of what dd left what pardd must leave. */
void allow(const struct line *, const struct due *, struct result *dd);

/* Neither touches its target, and both fail. */
bool both_refuse(const struct line *);

/* --- main.c -------------------------------------------------------------- */

extern struct result of_dd, of_pardd;
extern char why[512];			/* they differ */

/* Run both; true when they agree. */
bool try(const struct line *, struct due *);

/* Drop what can be dropped while they still differ. */
void simplify(struct line *);

/* --- tell.c -------------------------------------------------------------- */

/* Print the line, made simpler, as commands for a shell. */
void tell(struct line *, uint64_t seed, uint64_t number);

#endif
