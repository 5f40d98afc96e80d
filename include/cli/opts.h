/*
 * The command line as one const struct, generated from operands.def.
 */
#ifndef PARDD_OPTS_H
#define PARDD_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

enum flag {			/* of iflag= and oflag= */
	FLAG_NULL = 0,
	FLAG_APPEND = 1 << 0,
	FLAG_CACHED = 1 << 1,
	FLAG_COE = 1 << 2,
	FLAG_COUNT_BYTES = 1 << 3,
	FLAG_DIRECT = 1 << 4,
	FLAG_DSYNC = 1 << 5,
	FLAG_EXCL = 1 << 6,
	FLAG_FLOCK = 1 << 7,
	FLAG_MMAP = 1 << 8,
	FLAG_NOATIME = 1 << 9,
	FLAG_NOCACHE = 1 << 10,
	FLAG_NOCREAT = 1 << 11,
	FLAG_NOFOLLOW = 1 << 12,
	FLAG_NONBLOCK = 1 << 13,
	FLAG_RANDOM = 1 << 14,
	FLAG_SEEK_BYTES = 1 << 15,
	FLAG_SGIO = 1 << 16,
	FLAG_SKIP_BYTES = 1 << 17,
	FLAG_SPARSE = 1 << 18,
	FLAG_SYNC = 1 << 19,
	FLAG_TRUNC = 1 << 20,
	FLAG_ZEROS = 1 << 21,
	FLAG_DIO = 1 << 22,
	FLAG_DPO = 1 << 23,
	FLAG_FUA = 1 << 24,
	FLAG_NOSPARSE = 1 << 25,
	FLAG_TRIM = 1 << 26,
	FLAG_SPARING = 1 << 27,
	FLAG_NVME = 1 << 28,
	FLAG_RESET = 1 << 29,
	FLAG_NOZERO = 1 << 30,
};

enum conv {
	CONV_EXCL = 1 << 0,
	CONV_NOCREAT = 1 << 1,
	CONV_NOERROR = 1 << 2,
	CONV_NOTRUNC = 1 << 3,
	CONV_PAD = 1 << 4,
	CONV_SPARSE = 1 << 5,
	CONV_FSYNC = 1 << 6,
};

enum force {			/* of force= */
	FORCE_MOUNTED = 1 << 0,
	FORCE_SWAP = 1 << 1,
	FORCE_HELD = 1 << 2,
	FORCE_LOOPED = 1 << 3,
	FORCE_OVERLAP = 1 << 4,
	FORCE_ODD = 1 << 5,
	FORCE_ROOM = 1 << 6,
};

enum rescue_word {		/* of rescue= */
	RESCUE_NOTRIM = 1 << 0,
	RESCUE_NOSCRAPE = 1 << 1,
	RESCUE_REVERSE = 1 << 2,
	RESCUE_NOSWEEP = 1 << 3,
	RESCUE_LOOSE = 1 << 4,
	RESCUE_ONDEMAND = 1 << 5,
};

enum used_word {		/* of used= */
	USED_ONLY = 1 << 0,
	USED_FIRST = 1 << 1,
	USED_META = 1 << 2,
};

enum engine {			/* of engine= */
	ENGINE_ASYNC = 1 << 0,
	ENGINE_THREADS = 1 << 1,
};

enum reflink {			/* of reflink= */
	REFLINK_AUTO = 0,
	REFLINK_NEVER = 1 << 0,
	REFLINK_ALWAYS = 1 << 1,
};

enum verify_word {		/* of verify= */
	VERIFY_AFTER = 1 << 0,
	VERIFY_STREAM = 1 << 1,
	VERIFY_SOURCE = 1 << 2,
	VERIFY_SAMPLE = 1 << 3,
	VERIFY_NULL = 1 << 4,	/* 0 once it is read */
};

enum decode {			/* of decode= */
	DECODE_NONE = 1 << 0,
	DECODE_AUTO = 1 << 1,
	DECODE_GZ = 1 << 2,
	DECODE_XZ = 1 << 3,
	DECODE_ZST = 1 << 4,
	DECODE_BZ2 = 1 << 5,
	DECODE_LZ4 = 1 << 6,
	DECODE_ZIP = 1 << 7,
};

enum table_word {		/* of table= */
	TABLE_WORD_KEEP = 0,
	TABLE_WORD_FIX = 1 << 0,
	TABLE_WORD_NEW = 1 << 1,
};

enum rest_word {		/* of rest= */
	REST_KEEP = 0,
	REST_ZERO = 1 << 0,
	REST_TRIM = 1 << 1,
};

enum show {			/* of status= */
	SHOW_NONE = 1 << 0,
	SHOW_NOXFER = 1 << 1,
	SHOW_PROGRESS = 1 << 2,
	SHOW_MAP = 1 << 3,
};

enum mode {
	MODE_COPY,
	MODE_DRY_RUN,
	MODE_HELP,
	MODE_VERSION,
	MODE_COMPLETION,
	MODE_LIST,
	MODE_VERBOSE,		/* from here on: options, not modes */
	MODE_ASK,
	MODE_JSON,
};

enum { NOTES_MOST = 16 };
enum { TARGETS_MOST = 16 };	/* how often of= may be given */

struct opts {
	int		 argc;		/* the command line itself */
	char *const	*argv;
	char		**title;	/* memory of the process title, see
					 * title.h */
	const struct secrets *secrets;	/* taken out of the operands, or NULL */
	enum mode	 mode;
	bool		 ask;
	bool		 as_json;	/* with --list */
	bool		 looks;	/* usedmap= alone: inspect, copy nothing */
	bool		 skips;	/* skip= is given, even if it is 0 */
	bool		 samples;	/* neither verify= nor bpt= is given */
	int64_t		 mends;		/* retries= as it applies to verify= */
	unsigned	 bytes;		/* FLAG_ bits of numbers given in
					 * bytes */
	const char	*subject;	/* of --help, or NULL */
	const char	*sums;		/* a signed file that "expect" is
					 * from, or NULL */
	char		 expected[144];	/* "expect", if it is from a file */
	const char	*shell;		/* --completion= */
	const char	*note_text[NOTES_MOST];	/* every note= */
	unsigned	 notes;
	unsigned	 targets;	/* how often of= was given; the first
					 * is */
	const char	*target[TARGETS_MOST];	/* also in "output" */
	unsigned	 oserials;	/* the same for oserial= */
	const char	*serial[TARGETS_MOST];
#define NAME(name, field, ...)		const char *field;
#define NUMBER(name, field, ...)	int64_t field;
#define WORDS(name, field, ...)		unsigned field;
#define NAMED(name, word, field, ...)	const char *field;
#include "cli/operands.def"
};

/* Whether the user asked for the asynchronous engine. */
static inline bool
opts_async(const struct opts *o)
{
	return (o->engine & ENGINE_ASYNC) != 0 || o->qd > 0;
}

/* The time limit of a request in seconds; 60 unless timeout= sets it. */
static inline unsigned
opts_timeout(const struct opts *o)
{
	return o->timeout < 0 ? 60 : (unsigned)o->timeout;
}

/* Whether only changed data is read: by a bitmap, or since a snapshot. */
static inline bool
opts_changed(const struct opts *o)
{
	return o->bitmap != NULL || o->since != NULL;
}

/* The level that encode= asks for; 3 if it names none, -1 if it is wrong. */
int opts_encode_level(const char *text);

/* Whether manifest= names a block map. */
bool opts_bmap(const struct opts *);

/* Whether ibs= and obs= are absent or equal to bs. */
static inline bool
opts_one_block(const struct opts *o, uint64_t bs)
{
	return (o->ibs < 0 || (uint64_t)o->ibs == bs) &&
	    (o->obs < 0 || (uint64_t)o->obs == bs);
}

/*
 * Parse the command line into *o.  Absent numbers get their default, or -1.
 * Synonyms are unified: conv=noerror sets coe=1, conv=sparse sets oflag=sparse.
 * Strings point into argv.  Returns 0, or -1 with the first usage error in *f;
 * the rest of the line is in *o even then.  If another process has a lease on a
 * file that the run reads, f->by is TOLD_LEASED: call it again.
 */
int opts_parse(struct opts *o, int argc, char *const argv[], struct fault *f);

/* Whether verify=sample would go with all other operands. */
bool opts_samples(const struct opts *);

/*
 * If expect= names a file, look up the digest of the source there: o->expect
 * becomes that.  Returns 0, or -1 with *f: STATUS_REFUSED where there is no
 * digest of it, or not one alone.
 */
int sums_expect(struct opts *o, struct fault *f);

/*
 * Whether a word of the command line is an operand whose value is not a file
 * name.
 */
bool opts_no_file(const char *word);

/*
 * The word of an operand for one bit, such as "stream"; NULL if there is none.
 */
const char *opts_word(const char *operand, unsigned bit);

/*
 * Refuse what these words of force= would allow, which the sentence then ends
 * with.  Always returns -1.
 */
int opts_refuse(struct fault *f, unsigned force, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The words of force= for these bits, as "mounted,swap".  Returns text. */
const char *opts_force_words(unsigned bits, char *text, size_t room);

/*
 * Print the help, or a completion script.  The subject is a group of operands,
 * one of them, "status", "examples", "options", "all", or NULL: the first
 * screen; of any other word the rows of all in which it stands.  Both return -1
 * with a usage error in *f if there are none, or the shell is unknown.
 */
int opts_help(FILE *, const char *subject, struct fault *f);
int opts_completion(FILE *, const char *shell, struct fault *f);

#endif
