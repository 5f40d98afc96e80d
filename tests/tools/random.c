/*
 * random: command lines by dice, given to GNU dd and to pardd.
 *
 *	random [-d SOURCE,SOURCE,DD,PARDD,DD,PARDD] PARDD SHIM SEED FIRST LAST
 *
 * Line N of a SEED is always the same.  For each, what dd and pardd are given
 * is made anew, each has a target of its own, and then they must agree: in
 * every byte of the target and its length, in whether they failed, and in where
 * they leave descriptors that they inherited.  Where pardd is another program
 * on purpose, forecast() and allow() say so, and why; nothing else may differ.
 *
 * Works in the current folder, where "mem" is a folder in memory.  -d names
 * block devices, a source with blocks of 512 and one with 4096, then targets of
 * dd and pardd with 512, then with 4096.  SHIM makes reads fail for both.
 *
 * A line about which they differ is made simpler as long as they still do, and
 * printed as commands for a shell.  Ends 0 when all agree, 1 when not, 2 for
 * trouble.  The last line tells how many were copied, refused, and so on.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

static const struct word flags[] = {
	{ APPEND, "append" }, { DIRECT, "direct" }, { DSYNC, "dsync" },
	{ SYNC, "sync" }, { NOATIME, "noatime" }, { NOCACHE, "nocache" },
	{ NONBLOCK, "nonblock" }, { NOFOLLOW, "nofollow" },
	{ FULLBLOCK, "fullblock" }, { 0, NULL },
}, convs[] = {
	{ NOERROR, "noerror" }, { PAD, "sync" }, { SPARSE, "sparse" },
	{ FSYNC, "fsync" }, { FDATASYNC, "fdatasync" }, { EXCL, "excl" },
	{ NOCREAT, "nocreat" }, { NOTRUNC, "notrunc" }, { 0, NULL },
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
	int	 or;		/* or this; 0: no other */
	bool	 untouched;	/* the target is as it was */
	uint64_t same;		/* bytes that must be those of dd, at least */
};

struct tally {
	unsigned copies, refused, failed, faults, disks, pipes, inherited;
};

static const char *pardd, *shim, *disk[6];
static char self[64];		/* in messages of err(3) */
static bool suffixes;		/* pardd knows count=512B */
static unsigned char *blank;	/* what sources and old targets are made of */

/* ------------------------------------------------------------- the dice */

static uint64_t dice;

static uint64_t
roll(uint64_t n)
{
	uint64_t x = dice += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return ((x ^ (x >> 31)) >> 8) % n;
}

static bool
chance(unsigned percent)
{
	return roll(100) < percent;
}

static uint64_t
one_of(const uint64_t *values, size_t n)
{
	return values[roll(n)];
}

/* A number of bytes, often at a border of something or just beside one. */
static uint64_t
bytes(uint64_t most)
{
	static const uint64_t borders[] = { 0, 512, 1024, 4096, 8192, 12288,
	    16384, 65536, 131072, 196608, 262144 };
	static const int64_t beside[] = { 0, 0, 0, 0, 1, -1, 512, -512, 100 };
	int64_t n;

	if (chance(30))
		return roll(most + 1);
	n = (int64_t)one_of(borders, COUNT(borders)) +
	    beside[roll(COUNT(beside))];
	return n < 0 || (uint64_t)n > most ? roll(most + 1) : (uint64_t)n;
}

static unsigned
some(const struct word *words, unsigned percent)
{
	unsigned set = 0;

	for (; words->name != NULL; words++)
		if (chance(percent))
			set |= words->bit;
	return set;
}

static enum way
choose_way(enum what what)
{
	static const enum way ways[] = { NAMED, NAMED, NAMED, NAMED, LINKED,
	    OPENED, OPENED, BOTH };

	if (what == PIPE)
		return OPENED;
	return what == ZEROS || what == NOTHING ? NAMED :
	    ways[roll(COUNT(ways))];
}

static enum what
choose_what(bool source)
{
	unsigned n = (unsigned)roll(100);

	if (n < 28)
		return disk[0] == NULL ? PLAIN : n < 14 ? DISK : DISK4K;
	if (n < 40)
		return PIPE;
	if (n < 43)
		return NOTHING;
	return n < 46 && source ? ZEROS : PLAIN;
}

static uint32_t
block_of(const struct end *e)
{
	return e->what == DISK ? 512 : e->what == DISK4K ? 4096 : 0;
}

/* The unit of skip=, seek= and count=. */
static uint64_t
unit_of(const struct line *l)
{
	if (l->bs > 0)
		return l->bs;
	if (block_of(&l->src) > 0)
		return block_of(&l->src);
	return block_of(&l->dst) > 0 ? block_of(&l->dst) : 512;
}

static uint64_t
in_bytes(const struct line *l, uint64_t n, enum unit unit)
{
	return unit == BLOCKS ? n * unit_of(l) : n;
}

static uint64_t
start_of(const struct line *l, const struct end *e)
{
	return e->at + in_bytes(l, e->off, e->unit);
}

/* What the source has in all. */
static uint64_t
source_size(const struct line *l)
{
	switch (l->src.what) {
	case DISK:	return SOURCE_512;
	case DISK4K:	return SOURCE_4K;
	case ZEROS:	return UINT64_MAX;
	case NOTHING:	return 0;
	default:	return l->size;
	}
}

static uint64_t
left(const struct line *l)
{
	uint64_t size = source_size(l), at = start_of(l, &l->src);

	return at < size ? size - at : 0;
}

/* What is copied when nothing is wrong. */
static uint64_t
length_of(const struct line *l)
{
	uint64_t n;

	if (l->count < 0)
		return left(l);
	n = in_bytes(l, (uint64_t)l->count, l->unit);
	return n < left(l) ? n : left(l);
}

static enum unit
choose_unit(void)
{
	return chance(60) ? BLOCKS : chance(60) || !suffixes ? BYTES : SUFFIX;
}

static void
choose_source(struct line *l)
{
	struct mend *m;

	l->src.what = choose_what(true);
	l->src.way = choose_way(l->src.what);
	l->src.memory = chance(75);
	l->size = bytes(300000);
	l->drip = 1 + roll(chance(50) ? 5000 : 70000);
	if (l->src.what == PLAIN && chance(75))
		l->mends = 1 + roll(MENDS);
	if (l->mends > 0 && chance(50))
		l->size -= l->size % 4096;	/* as holes are */
	for (m = l->mend; m < l->mend + l->mends; m++) {
		m->hole = chance(75);
		m->at = bytes(l->size);
		if (chance(60))
			m->at -= m->at % 4096;
		m->len = chance(50) ? l->size - m->at : bytes(l->size - m->at);
	}
	if (l->src.way >= OPENED && l->src.what != PIPE && chance(50))
		l->src.at = bytes(source_size(l));
}

static void
choose_target(struct line *l)
{
	l->dst.what = choose_what(false);
	l->dst.way = choose_way(l->dst.what);
	l->dst.memory = chance(75);
	/* old data is often in the way, and behind all that is written */
	if (chance(60) || l->dst.way != NAMED)
		l->old = (int64_t)bytes(300000) + (chance(60) ? 500000 : 0);
	if (l->dst.what == PLAIN && l->dst.way >= OPENED && chance(30))
		l->dst.way = APPENDED;
	if (l->dst.way == BOTH && chance(60))
		l->dst.at = bytes(140000) / (block_of(&l->dst) > 0 &&
		    chance(80) ? 4096 : 1) * (block_of(&l->dst) > 0 ? 4096 : 1);
	if (l->dst.at > 147456)
		l->dst.at = 4096;
}

/* Blocks that the disks allow, and a few that they do not. */
static void
choose_block(struct line *l)
{
	static const uint64_t any[] = { 512, 512, 1024, 4096, 4096, 8192, 520,
	    1000, 511, 33, 3000, 65536, 65536, 1 << 20 };
	uint64_t block = block_of(&l->src) > block_of(&l->dst) ?
	    block_of(&l->src) : block_of(&l->dst);

	if (chance(25))
		return;
	l->bs = one_of(any, COUNT(any));
	if (block > 0 && chance(85))
		l->bs = (l->bs + block - 1) / block * block;
	if (l->bs < 512 && l->src.what != PLAIN && l->src.what != PIPE)
		l->bs = 512;
	/* dd takes two calls a block */
	if (l->bs < 100 && l->size > 6000)
		l->size = roll(6000);
	l->apart = chance(10);
}

static void
place(struct line *l, struct end *e, uint64_t most)
{
	e->unit = choose_unit();
	e->off = e->unit == BLOCKS ? roll(most / unit_of(l) + 1) : bytes(most);
	/* disks are fond of whole blocks */
	if (e->unit != BLOCKS && block_of(&l->dst) > 0 && chance(80))
		e->off -= e->off % block_of(&l->dst);
}

static void
choose_range(struct line *l)
{
	uint64_t most;

	if (chance(35))
		place(l, &l->src, chance(95) && l->src.what != ZEROS ? left(l) :
		    300000);
	if (chance(35) && (l->dst.what != PIPE || chance(5)))
		place(l, &l->dst, block_of(&l->dst) > 0 ? 20000 : 200000);
	if (!chance(40) && l->src.what != ZEROS)
		return;
	most = l->src.what == ZEROS ? 100000 : left(l);
	if (chance(4))
		most += 5000;
	l->unit = choose_unit();
	l->count = (int64_t)(l->unit == BLOCKS ? roll(most / unit_of(l) + 1) :
	    bytes(most));
	if (l->unit != BLOCKS && block_of(&l->dst) > 0 && chance(80))
		l->count -= l->count % block_of(&l->dst);
}

static void
choose_words(struct line *l)
{
	static const char *const status[] = { "none", "noxfer", "progress" };

	l->src.flag = some(flags, 6) & ~(unsigned)APPEND;
	l->dst.flag = some(flags, 6) & ~(unsigned)FULLBLOCK;
	l->conv = some(convs, 7) & ~(unsigned)NOTRUNC;
	if (chance(30))
		l->conv |= PAD;
	if (chance(8))
		l->conv |= PAD | NOERROR;
	l->trunc = chance(30);
	if (chance(30))
		l->status = status[roll(COUNT(status))];
	if (chance(50))
		l->thr = 1 + (unsigned)roll(16);
	if (chance(60))
		l->bpt = 1 + (unsigned)roll(chance(50) ? 4 : 200);
	l->unsynced = chance(40);
	l->async = chance(15);
}

/* Blocks of the source that cannot be read, where both read by such blocks. */
static void
choose_faults(struct line *l)
{
	uint64_t unit = block_of(&l->src) == 4096 ? 4096 : 512, n, i;

	if (!chance(12) || (l->src.what != PLAIN && block_of(&l->src) == 0))
		return;
	l->bs = unit;
	l->mends = 0;
	l->size -= l->size % unit;
	l->src.at -= l->src.at % unit;
	if (in_bytes(l, l->src.off, l->src.unit) % unit != 0)
		l->src.off -= l->src.off % unit;
	l->count = -1;
	l->async = false;
	l->conv &= ~(unsigned)(NOERROR | PAD | SPARSE);
	if (chance(75))
		l->conv |= NOERROR | PAD;
	if ((n = left(l) / unit) == 0)
		return;
	for (i = 0; i < SPOTS; i++)
		if (i == 0 || chance(50))
			l->bad[l->nbad++] = start_of(l, &l->src) +
			    roll(n) * unit;
}

/*
 * What does not go together, or is another thing to each: left out.  What one
 * of them refuses for a reason stays.
 */
static void
settle(struct line *l)
{
	unsigned *conv = &l->conv, by_name = EXCL | NOCREAT;
	bool plain = l->dst.what == PLAIN;

	if (l->trunc)			/* see dd_miscuts */
		*conv &= ~(unsigned)EXCL;

	/* dd takes conv=excl of a device for an order to create it. */
	if (!plain || l->dst.way >= OPENED)
		*conv &= ~by_name;
	/* Words for open(2): of an inherited descriptor dd sets what fcntl(2)
	 * can, for everybody who has it. */
	if (l->src.way >= OPENED)
		l->src.flag &= FULLBLOCK | NOCACHE;
	if (l->dst.way >= OPENED)
		l->dst.flag &= NOCACHE;
	/* Neither pipes nor /dev/zero and /dev/null have a cache. */
	if (l->src.what >= PIPE)
		l->src.flag &= FULLBLOCK;
	if (l->dst.what >= PIPE)
		l->dst.flag = 0;
	if (!plain)
		l->dst.flag &= ~(unsigned)APPEND;
	/* Of a descriptor dd cuts nothing. */
	if (!plain || l->dst.way >= OPENED || (l->dst.flag & APPEND) != 0)
		l->trunc = false;
	/* One of the three is enough for pardd; it refuses two. */
	if ((l->src.flag & (DIRECT | NOCACHE)) == (DIRECT | NOCACHE))
		l->src.flag &= ~(unsigned)NOCACHE;
	if ((l->dst.flag & (DIRECT | NOCACHE)) == (DIRECT | NOCACHE))
		l->dst.flag &= ~(unsigned)NOCACHE;
	if ((*conv & (FSYNC | FDATASYNC)) != 0)
		l->unsynced = false;
	/* Each write waits for a disk. */
	if (!l->dst.memory && plain && l->bs < 4096 &&
	    (l->dst.flag & (DSYNC | SYNC)) != 0)
		l->dst.memory = true;
	if (l->src.what >= PIPE || l->dst.what == PIPE ||
	    l->dst.way == APPENDED || (l->dst.flag & APPEND) != 0)
		l->async = false;
	if (l->bpt > 0 && (uint64_t)l->bpt * unit_of(l) > ROOM)
		l->bpt = 1;
}

static void
line_make(struct line *l, uint64_t seed, uint64_t number)
{
	dice = (seed << 32) ^ (number * UINT64_C(0xD1B54A32D192ED03));
	*l = (struct line){ .old = -1, .count = -1 };
	choose_source(l);
	choose_target(l);
	choose_block(l);
	if (l->src.at > source_size(l))
		l->src.at = source_size(l);
	choose_range(l);
	choose_words(l);
	choose_faults(l);
	settle(l);
}

/* ------------------------------------------------------------ the words */

static void __attribute__((format(printf, 2, 3)))
add(struct command *c, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(c->letters + c->used, sizeof(c->letters) - c->used,
	    format, ap);
	va_end(ap);
	if (c->n + 2 > WORDS || n < 0 || c->used + (size_t)n >= LETTERS)
		errx(TROUBLE, "a command is too long");
	c->word[c->n++] = c->letters + c->used;
	c->used += (size_t)n + 1;
	c->word[c->n] = NULL;
}

static void
add_words(struct command *c, const char *operand, const struct word *words,
    unsigned set, const char *more, const char *still)
{
	char list[256] = "";
	size_t n = 0;

	for (; words->name != NULL; words++)
		if ((set & words->bit) != 0)
			n += (size_t)snprintf(list + n, sizeof(list) - n, ",%s",
			    words->name);
	n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", more, still);
	if (n > 0)
		add(c, "%s=%s", operand, list + 1);
}

static const char *
source_name(const struct line *l)
{
	switch (l->src.what) {
	case DISK:	return disk[0];
	case DISK4K:	return disk[1];
	case ZEROS:	return "/dev/zero";
	case NOTHING:	return "/dev/null";
	default:	return l->src.memory ? "mem/src" : "src";
	}
}

static const char *
target_name(const struct line *l, enum who who)
{
	static const char *const names[2][2] = {
		{ "dd.dst", "pardd.dst" }, { "mem/dd.dst", "mem/pardd.dst" },
	};

	switch (l->dst.what) {
	case DISK:	return disk[2 + who];
	case DISK4K:	return disk[4 + who];
	case NOTHING:	return "/dev/null";
	default:	return names[l->dst.memory][who];
	}
}

/* What O_DIRECT can do without help: dd has none for all the rest. */
static bool
fits_direct(const struct line *l, const struct end *e)
{
	uint64_t at = start_of(l, e), length = length_of(l);

	if (e->what == PLAIN && e->memory)
		return false;
	return unit_of(l) % 4096 == 0 && at % 4096 == 0 &&
	    length % 4096 == 0 && source_size(l) % 4096 == 0;
}

/*
 * Zeros that dd leaves out are what was there before, if there was something;
 * pardd writes them.
 */
static bool
fits_sparse(const struct line *l)
{
	return l->dst.what == PLAIN && (l->old <= 0 || l->trunc ||
	    l->dst.way == OPENED) && l->dst.way != APPENDED;
}

/*
 * seek= of less than a block makes dd cut the file off at 0 (9.1), which is not
 * what its manual says: it is cut for dd, then.
 */
static bool
dd_miscuts(const struct line *l)
{
	return l->trunc && l->dst.off > 0 && start_of(l, &l->dst) < unit_of(l);
}

static void
dd_words(struct command *c, const struct line *l)
{
	unsigned iflag = l->src.flag, oflag = l->dst.flag, conv = l->conv;

	if (!fits_direct(l, &l->src))
		iflag &= ~(unsigned)DIRECT;
	if (!fits_direct(l, &l->dst))
		oflag &= ~(unsigned)DIRECT;
	/* pardd always reads in full. */
	if (l->src.what == PIPE)
		iflag |= FULLBLOCK;
	if (!fits_sparse(l))
		conv &= ~(unsigned)SPARSE;
	/* To dd that is an error where nothing can be flushed. */
	if (l->dst.what >= PIPE)
		conv &= ~(unsigned)(FSYNC | FDATASYNC);
	/* pardd does not truncate unless told so. */
	if (!l->trunc || dd_miscuts(l))
		conv |= NOTRUNC;
	add_words(c, "iflag", flags, iflag,
	    l->src.unit == BYTES && l->src.off > 0 ? ",skip_bytes" : "",
	    l->unit == BYTES && l->count >= 0 ? ",count_bytes" : "");
	add_words(c, "oflag", flags, oflag,
	    l->dst.unit == BYTES && l->dst.off > 0 ? ",seek_bytes" : "", "");
	add_words(c, "conv", convs, conv, "", "");
	/* dd does not ask disks for their blocks. */
	if (l->bs == 0 && unit_of(l) != 512)
		add(c, "bs=%" PRIu64, unit_of(l));
}

static void
pardd_words(struct command *c, const struct line *l)
{
	add_words(c, "iflag", flags, l->src.flag,
	    l->src.unit == BYTES && l->src.off > 0 ? ",skip_bytes" : "",
	    l->unit == BYTES && l->count >= 0 ? ",count_bytes" : "");
	add_words(c, "oflag", flags, l->dst.flag,
	    l->dst.unit == BYTES && l->dst.off > 0 ? ",seek_bytes" : "",
	    l->trunc ? ",trunc" : "");
	add_words(c, "conv", convs, l->conv, "", "");
	if (l->thr > 0)
		add(c, "thr=%u", l->thr);
	if (l->bpt > 0)
		add(c, "bpt=%u", l->bpt);
	if (l->unsynced)
		add(c, "sync=0");
	/* io_uring is not seen by the shim. */
	if (l->async || l->nbad > 0)
		add(c, "engine=%s", l->async ? "async" : "threads");
}

static void
command_make(struct command *c, const struct line *l, enum who who)
{
	c->n = c->used = 0;
	add(c, "%s", who == DD ? "dd" : pardd);
	if (l->src.way == LINKED)
		add(c, "if=src.link");
	else if (l->src.way == NAMED)
		add(c, "if=%s", source_name(l));
	if (l->dst.way == LINKED)
		add(c, "of=%s.link", who == DD ? "dd" : "pardd");
	else if (l->dst.way == NAMED)
		add(c, "of=%s", target_name(l, who));
	else if (who == PARDD && l->src.way >= OPENED)
		add(c, "of=-");		/* dd needs neither name */
	if (l->bs > 0 && l->apart) {
		add(c, "ibs=%" PRIu64, l->bs);
		add(c, "obs=%" PRIu64, l->bs);
	} else if (l->bs > 0) {
		add(c, "bs=%" PRIu64, l->bs);
	}
	if (l->src.off > 0)
		add(c, "skip=%" PRIu64 "%s", l->src.off,
		    l->src.unit == SUFFIX ? "B" : "");
	if (l->dst.off > 0)
		add(c, "seek=%" PRIu64 "%s", l->dst.off,
		    l->dst.unit == SUFFIX ? "B" : "");
	if (l->count >= 0)
		add(c, "count=%" PRId64 "%s", l->count,
		    l->unit == SUFFIX ? "B" : "");
	if (l->status != NULL)
		add(c, "status=%s", l->status);
	if (who == DD)
		dd_words(c, l);
	else
		pardd_words(c, l);
}

/* Both fail, and neither touches anything. */
static bool
both_refuse(const struct line *l)
{
	return (l->src.way == LINKED && (l->src.flag & NOFOLLOW) != 0) ||
	    (l->dst.way == LINKED && (l->dst.flag & NOFOLLOW) != 0) ||
	    ((l->conv & EXCL) != 0 && l->old >= 0) ||
	    ((l->conv & NOCREAT) != 0 && l->old < 0);
}

/* ------------------------------------------------------------- the ends */

/* Text whose lines are numbers, so each place has its own: seq FIRST. */
static void
text(unsigned char *to, size_t len, unsigned first)
{
	char number[16];
	size_t at;

	for (at = 0; at < len; at += 8) {
		snprintf(number, sizeof(number), "%u\n", first++);
		memcpy(to + at, number, len - at < 8 ? len - at : 8);
	}
}

enum { SOURCE_TEXT = 1000000, OLD_TEXT = 5000000 };

static void
put(int fd, const unsigned char *data, size_t len, const char *name)
{
	ssize_t n;

	for (; len > 0; data += n, len -= (size_t)n)
		if ((n = write(fd, data, len)) <= 0)
			err(TROUBLE, "%s", name);
}

static void
make_file(const char *name, uint64_t size, unsigned char *data)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		err(TROUBLE, "%s", name);
	put(fd, data, size, name);
	if (close(fd) < 0)
		err(TROUBLE, "%s", name);
}

static void
punch(const char *name, const struct mend *m)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	    (off_t)m->at, (off_t)m->len) < 0)
		err(TROUBLE, "%s: a hole", name);
	close(fd);
}

/* The source as its reader sees it is in data. */
static void
make_source(const struct line *l, unsigned char *data)
{
	const struct mend *m;
	const char *name = source_name(l);

	text(data, l->size, SOURCE_TEXT);
	for (m = l->mend; m < l->mend + l->mends; m++)
		memset(data + m->at, 0, m->len);
	if (l->src.what == PLAIN)
		make_file(name, l->size, data);
	for (m = l->mend; m < l->mend + l->mends; m++)
		if (m->hole && m->len > 0)
			punch(name, m);
	unlink("src.link");
	if (l->src.way == LINKED && symlink(name, "src.link") < 0)
		err(TROUBLE, "src.link");
}

static uint64_t
target_size(const struct line *l)
{
	return l->dst.what == DISK ? TARGET_512 : TARGET_4K;
}

static void
make_target(const struct line *l, enum who who)
{
	const char *name = target_name(l, who);
	const char *link = who == DD ? "dd.link" : "pardd.link";
	int fd;

	unlink(link);
	if (block_of(&l->dst) > 0) {
		if ((fd = open(name, O_WRONLY | O_CLOEXEC)) < 0)
			err(TROUBLE, "%s", name);
		put(fd, blank, target_size(l), name);
		close(fd);
	} else if (l->dst.what == PLAIN) {
		unlink(name);
		if (l->old >= 0)
			make_file(name, (uint64_t)l->old, blank);
	}
	if (who == DD && dd_miscuts(l) && !both_refuse(l)) {
		if (l->old < 0)
			make_file(name, 0, blank);
		if (truncate(name, (off_t)start_of(l, &l->dst)) < 0)
			err(TROUBLE, "%s", name);
	}
	if (l->dst.way == LINKED && symlink(name, link) < 0)
		err(TROUBLE, "%s", link);
}

static void
take_target(const struct line *l, enum who who, struct result *r)
{
	const char *name = target_name(l, who);
	ssize_t n;
	int fd;

	r->size = -1;
	if (l->dst.what == PIPE || l->dst.what == NOTHING)
		return;
	if ((fd = open(name, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	for (r->size = 0; (n = read(fd, r->data + r->size,
	    ROOM - (size_t)r->size)) > 0;)
		r->size += n;
	if (n < 0 || r->size == ROOM)
		err(TROUBLE, "%s", name);
	close(fd);
}

/* ------------------------------------------------------------- the runs */

/* Descriptor 0 of the command, or -1. */
static int
open_source(const struct line *l, unsigned char *data, pid_t *feeder)
{
	int p[2], fd;
	size_t at, n;

	if (l->src.what != PIPE && l->src.way < OPENED)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (l->src.what != PIPE) {
		fd = open(source_name(l), O_CLOEXEC |
		    (l->src.way == BOTH ? O_RDWR : O_RDONLY));
		if (fd >= 0 && lseek(fd, (off_t)l->src.at, SEEK_SET) < 0)
			err(TROUBLE, "a source");
		return fd;
	}
	if (pipe2(p, O_CLOEXEC) < 0 || (*feeder = fork()) < 0)
		err(TROUBLE, "a pipe");
	if (*feeder == 0) {
		close(p[0]);
		signal(SIGPIPE, SIG_DFL);
		for (at = 0; at < l->size; at += n) {
			n = 1 + roll(l->drip);
			n = n < l->size - at ? n : l->size - at;
			if (write(p[1], data + at, n) != (ssize_t)n)
				break;
		}
		_exit(0);
	}
	close(p[1]);
	return p[0];
}

/* Descriptor 1; what is to be read from its pipe is *from. */
static int
open_target(const struct line *l, enum who who, int *from)
{
	int p[2], fd, mode = l->dst.way == BOTH ? O_RDWR : l->dst.way ==
	    APPENDED ? O_WRONLY | O_APPEND : O_WRONLY | O_TRUNC;

	if (l->dst.what == PIPE) {
		if (pipe2(p, O_CLOEXEC) < 0)
			err(TROUBLE, "a pipe");
		*from = p[0];
		return p[1];
	}
	if (l->dst.way < OPENED)
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	fd = open(target_name(l, who), mode | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0 && l->dst.way == BOTH &&
	    lseek(fd, (off_t)l->dst.at, SEEK_SET) < 0)
		err(TROUBLE, "a target");
	return fd;
}

static void
faults(const struct line *l, char *text, size_t room)
{
	size_t n, i;

	n = (size_t)snprintf(text, room, "on=%s op=read fail=EIO at=",
	    source_name(l));
	for (i = 0; i < l->nbad; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%" PRIu64 "+%"
		    PRIu64, i > 0 ? "," : "", l->bad[i], l->bs);
}

static void __attribute__((noreturn))
become(const struct line *l, char **word, int in, int out, int said)
{
	char rules[256];

	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(said, 2) < 0)
		_exit(126);
	if (l->nbad > 0) {
		faults(l, rules, sizeof(rules));
		setenv("FAULTS", rules, 1);
		setenv("LD_PRELOAD", shim, 1);
	}
	signal(SIGPIPE, SIG_DFL);
	alarm(SECONDS);
	execvp(word[0], word);
	_exit(127);
}

static void
collect(int from, struct result *r)
{
	ssize_t n;

	for (r->size = 0; (n = read(from, r->data + r->size,
	    ROOM - (size_t)r->size)) > 0;)
		r->size += n;
	close(from);
}

static int64_t
offset_of(int fd, const struct end *e)
{
	return e->way >= OPENED && e->what != PIPE ?
	    (int64_t)lseek(fd, 0, SEEK_CUR) : -1;
}

static void
run(const struct line *l, enum who who, unsigned char *data, struct result *r)
{
	int said = open("said", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int from = -1, in, out, how;
	pid_t feeder = 0, pid;
	struct command c;
	ssize_t n;

	command_make(&c, l, who);
	in = open_source(l, data, &feeder);
	out = open_target(l, who, &from);
	if (said < 0 || in < 0 || out < 0 || (pid = fork()) < 0)
		err(TROUBLE, "%s", c.word[0]);
	if (pid == 0)
		become(l, c.word, in, out, said);
	if (l->dst.what == PIPE) {
		close(out);
		out = -1;
		collect(from, r);
	}
	if (waitpid(pid, &how, 0) < 0)
		err(TROUBLE, "wait");
	r->status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
	r->in = offset_of(in, &l->src);
	r->out = offset_of(out, &l->dst);
	close(in);
	if (out >= 0) {
		close(out);
		take_target(l, who, r);
	}
	if (feeder > 0 && waitpid(feeder, NULL, 0) < 0)
		err(TROUBLE, "wait");
	n = pread(said, r->said, sizeof(r->said) - 1, 0);
	r->said[n > 0 ? n : 0] = '\0';
	close(said);
}

/* ------------------------------------------- where pardd is another on purpose */

static uint64_t
round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* The end of the copy is padded to this: a device takes whole blocks only. */
static uint64_t
pad_of(const struct line *l)
{
	uint64_t block = block_of(&l->dst) > 0 ? block_of(&l->dst) : 1;

	return (l->conv & PAD) != 0 && block % unit_of(l) != 0 ? unit_of(l) :
	    block;
}

/* Operands that contradict each other are usage errors to pardd. */
static bool
contradicts(const struct line *l)
{
	bool append = (l->dst.flag & APPEND) != 0;

	return (l->conv & (EXCL | NOCREAT)) == (EXCL | NOCREAT) ||
	    (append && (l->dst.off > 0 || (l->conv & SPARSE) != 0));
}

/* What is not there cannot be copied: pardd does not begin, dd copies less. */
static bool
past_end(const struct line *l)
{
	uint64_t at = start_of(l, &l->src), size = source_size(l), n;

	if (l->src.what == PIPE || l->src.what == ZEROS)
		return false;
	if (at > size)
		return true;
	n = l->count < 0 ? 0 : in_bytes(l, (uint64_t)l->count, l->unit);
	return n > size - at;
}

/* A pipe ends when it ends. */
static bool
bounded(const struct line *l)
{
	return l->src.what != PIPE || l->count >= 0;
}

static uint64_t
asked(const struct line *l)
{
	return l->count >= 0 ? in_bytes(l, (uint64_t)l->count, l->unit) :
	    left(l);
}

/* count=0 asks for nothing, so nothing is missing. */
static bool
ends_early(const struct line *l)
{
	return l->src.what == PIPE && l->count != 0 && (asked(l) > left(l) ||
	    start_of(l, &l->src) > l->size);
}

/* A disk too small: dd writes what it holds. */
static bool
no_room(const struct line *l)
{
	uint64_t at = start_of(l, &l->dst);

	return block_of(&l->dst) > 0 && (at > target_size(l) || (bounded(l) &&
	    round_up(asked(l), pad_of(l)) > target_size(l) - at));
}

/* Blocks in part: dd has the page cache make them whole. */
static bool
misfits(const struct line *l)
{
	uint32_t from = block_of(&l->src), to = block_of(&l->dst);
	uint64_t n = asked(l);

	if (from > 0 && unit_of(l) % from != 0)
		return true;
	if (to == 0)
		return false;
	if ((l->conv & PAD) != 0)
		n = round_up(n, unit_of(l));
	return start_of(l, &l->dst) % to != 0 || pad_of(l) % to != 0 ||
	    (bounded(l) && (l->count >= 0 || from > 0) && n % to != 0);
}

/* What is written in order has no places: dd seeks in vain, or reads. */
static bool
no_seek(const struct line *l)
{
	return l->dst.off > 0 && (l->dst.what == PIPE ||
	    l->dst.way == APPENDED);
}

static void
forecast(const struct line *l, struct due *d)
{
	*d = (struct due){ .same = UINT64_MAX };
	if (contradicts(l)) {
		*d = (struct due){ .status = 1, .untouched = true };
	} else if (both_refuse(l)) {
		*d = (struct due){ .status = -1, .untouched = true };
	} else if (past_end(l) || no_room(l) || misfits(l) || no_seek(l)) {
		*d = (struct due){ .status = 101, .untouched = true };
	} else if (ends_early(l)) {
		d->status = 102;	/* dd does not mind */
	} else if (l->src.what == PIPE && l->count != 0 && l->size == 0) {
		d->or = 102;		/* where something was to be replaced */
	} else if (block_of(&l->dst) > 0 && start_of(l, &l->dst) +
	    round_up(length_of(l), pad_of(l)) > target_size(l)) {
		d->status = 78;		/* a pipe that is longer than the disk */
		d->same = target_size(l);
	}
}

/* Reads that fail: dd ends 1 whatever it copied. */
static void
forecast_faults(const struct line *l, struct due *d)
{
	uint64_t first = UINT64_MAX;
	size_t i;

	if (l->nbad == 0 || d->status != 0)
		return;
	d->status = (l->conv & NOERROR) != 0 ? 100 : 3;
	if (d->status == 100)
		return;
	for (i = 0; i < l->nbad; i++)
		if (l->bad[i] < first)
			first = l->bad[i];
	/* Workers are beyond it already: until there, both have the same. */
	d->same = start_of(l, &l->dst) + first - start_of(l, &l->src);
}

/* What dd leaves is made what pardd must leave. */
static void
allow(const struct line *l, const struct due *d, struct result *dd)
{
	uint64_t at = start_of(l, &l->dst), length = length_of(l);
	uint64_t end = at + ((l->conv & PAD) != 0 ?
	    round_up(length, unit_of(l)) : length);
	uint64_t whole = at + round_up(length, pad_of(l));

	/* Where there was nothing to write, dd leaves even the place alone. */
	if (l->dst.way == APPENDED && length_of(l) == 0)
		dd->out = l->old;
	/* A device is padded with zeros, and the next command goes on there. */
	if (d->untouched || block_of(&l->dst) == 0 || whole <= end ||
	    whole > (uint64_t)dd->size)
		return;
	memset(dd->data + end, 0, whole - end);
	if (dd->out >= 0)
		dd->out = (int64_t)whole;
}

/* --------------------------------------------------------- held together */

static char why[512];		/* they differ */

static bool __attribute__((format(printf, 1, 2)))
differ(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	return false;
}

static bool
same_data(const struct result *want, const struct result *got, uint64_t most)
{
	uint64_t i, n;

	if (most == UINT64_MAX && want->size != got->size)
		return differ("%" PRId64 " bytes, not %" PRId64, got->size,
		    want->size);
	n = want->size > 0 ? (uint64_t)want->size : 0;
	n = n < most ? n : most;
	if (n > 0 && got->size < (int64_t)n)
		return differ("only %" PRId64 " bytes", got->size);
	for (i = 0; i < n; i++)
		if (want->data[i] != got->data[i])
			return differ("byte %" PRIu64 " is 0x%02x, not 0x%02x",
			    i, got->data[i], want->data[i]);
	return true;
}

static bool
same_end(const struct line *l, const struct due *d, const struct result *want,
    const struct result *got)
{
	struct result old = { .data = blank, .size = l->old };

	if (l->dst.what == NOTHING)
		return true;
	if (!d->untouched)
		return same_data(want, got, d->same);
	if (l->dst.what == PIPE || l->dst.way == OPENED)
		old.size = 0;		/* > cuts it before */
	if (block_of(&l->dst) > 0)
		old.size = (int64_t)target_size(l);
	return same_data(&old, got, UINT64_MAX);
}

static bool
same_status(const struct due *d, const struct result *want,
    const struct result *got)
{
	bool fails = d->status != 0;

	if (d->status > 0 && got->status != d->status)
		return differ("status %d, not %d", got->status, d->status);
	if (d->status < 0 && (got->status == 0 || want->status == 0))
		return differ("status %d, and dd's %d", got->status,
		    want->status);
	if (!fails && got->status != 0 && got->status != d->or)
		return differ("status %d", got->status);
	if (!fails && want->status != 0)
		return differ("dd's status %d", want->status);
	return true;
}

static bool
same_offsets(const struct due *d, const struct result *want,
    const struct result *got)
{
	if (d->status != 0)
		return true;
	if (want->in != got->in)
		return differ("standard input is at %" PRId64 ", not %" PRId64,
		    got->in, want->in);
	if (want->out != got->out)
		return differ("standard output is at %" PRId64 ", not %" PRId64,
		    got->out, want->out);
	return true;
}

static struct result of_dd, of_pardd;
static unsigned char *source;

/* Both of them; true when they agree. */
static bool
try(const struct line *l, struct due *d)
{
	forecast(l, d);
	forecast_faults(l, d);
	make_source(l, source);
	make_target(l, DD);
	make_target(l, PARDD);
	run(l, DD, source, &of_dd);
	run(l, PARDD, source, &of_pardd);
	allow(l, d, &of_dd);
	return same_status(d, &of_dd, &of_pardd) &&
	    same_end(l, d, &of_dd, &of_pardd) &&
	    same_offsets(d, &of_dd, &of_pardd);
}

/* --------------------------------------------------------- made simpler */

/* Drop the Nth thing that can be dropped; false when there is no such. */
static bool
drop(struct line *l, unsigned n)
{
	switch (n) {
	case 0:	l->thr = 0; return true;
	case 1:	l->bpt = 0; return true;
	case 2:	l->async = false; return true;
	case 3:	l->unsynced = false; return true;
	case 4:	l->status = NULL; return true;
	case 5:	l->apart = false; return true;
	case 6:	l->src.at = 0; return true;
	case 7:	l->src.way = l->src.what == PIPE ? OPENED : NAMED; return true;
	case 8:	l->dst.at = 0; return true;
	case 9:	l->dst.way = l->dst.what == PIPE ? OPENED : NAMED; return true;
	case 10: l->src.off = 0; return true;
	case 11: l->dst.off = 0; return true;
	case 12: l->count = -1; return true;
	case 13: l->trunc = false; return true;
	case 14: l->old = -1; return true;
	case 15: l->mends -= l->mends > 0; return true;
	case 16: l->nbad -= l->nbad > 0; return true;
	case 17: l->src.memory = true; return true;
	case 18: l->dst.memory = true; return true;
	case 19: l->bs = l->nbad > 0 ? l->bs : 0; return true;
	case 20: l->size = l->nbad > 0 ? l->size : l->size / 2; return true;
	case 21: l->mend[0].hole = true; return true;
	default:
		break;
	}
	n -= 22;
	if (n < 9)
		l->src.flag &= ~(1U << n);
	else if (n < 18)
		l->dst.flag &= ~(1U << (n - 9));
	else if (n < 26 && l->nbad == 0)
		l->conv &= ~(1U << (n - 18));
	return n < 26;
}

/* What was dropped may have held something else together. */
static bool
sound(struct line *l)
{
	size_t i;

	for (i = 0; i < l->mends; i++)
		if (l->mend[i].at + l->mend[i].len > l->size)
			return false;
	if ((l->src.what == ZEROS && l->count < 0) ||
	    (l->src.at > 0 && l->src.way < OPENED) || l->src.at > l->size ||
	    (l->dst.at > 0 && l->dst.way != BOTH))
		return false;
	settle(l);
	return l->old >= 0 || l->dst.way == NAMED;
}

static void
simplify(struct line *l)
{
	struct line simpler;
	struct due d;
	unsigned round, n;

	for (round = 0; round < ROUNDS; round++)
		for (n = 0; simpler = *l, drop(&simpler, n); n++)
			if (sound(&simpler) && !try(&simpler, &d))
				*l = simpler;
}

/* ---------------------------------------------------------------- told */

static void
tell_disk(const char *name, const struct end *e, unsigned first, uint64_t size)
{
	printf("  seq %u 9999999 | head -c %" PRIu64 " >%s.img\n", first,
	    size, name);
	printf("  %s=$(losetup --find --show --sector-size %u %s.img)\n", name,
	    block_of(e), name);
}

static void
tell_ends(const struct line *l)
{
	const struct mend *m;
	const char *name = source_name(l);

	if (l->src.memory || l->dst.memory)
		printf("  ln -s \"$(mktemp -d /dev/shm/XXXXXX)\" mem\n");
	if (block_of(&l->src) > 0)
		tell_disk("source", &l->src, SOURCE_TEXT, source_size(l));
	else if (l->src.what == PLAIN || l->src.what == PIPE)
		printf("  seq %u 9999999 | head -c %" PRIu64 " >%s\n",
		    SOURCE_TEXT, l->size, name);
	for (m = l->mend; m < l->mend + l->mends; m++)
		if (m->len > 0)
			printf(m->hole ? "  fallocate -p -o %" PRIu64 " -l %"
			    PRIu64 " %s\n" : "  dd if=/dev/zero bs=1 seek=%"
			    PRIu64 " count=%" PRIu64 " conv=notrunc of=%s\n",
			    m->at, m->len, name);
	if (l->src.way == LINKED)
		printf("  ln -s %s src.link\n", name);
	if (block_of(&l->dst) > 0) {
		tell_disk("dd", &l->dst, OLD_TEXT, target_size(l));
		tell_disk("pardd", &l->dst, OLD_TEXT, target_size(l));
	} else if (l->dst.what == PLAIN && l->old >= 0) {
		printf("  seq %u 9999999 | head -c %" PRId64 " | tee %s >%s\n",
		    OLD_TEXT, l->old, target_name(l, DD),
		    target_name(l, PARDD));
	}
	if (l->dst.way == LINKED)
		printf("  ln -s %s dd.link; ln -s %s pardd.link\n",
		    target_name(l, DD), target_name(l, PARDD));
	if (dd_miscuts(l))
		printf("  truncate -s %" PRIu64 " %s\n", start_of(l, &l->dst),
		    target_name(l, DD));
}

static void
tell_command(const struct line *l, enum who who)
{
	static const char *const by[] = { "", "", ">", "1<>", ">>" };
	char rules[256];
	struct command c;
	size_t i;

	printf("  ");
	if (l->src.what == PIPE)
		printf("cat %s | ", source_name(l));
	if (l->src.at > 0 || l->dst.at > 0)
		printf("(");
	if (l->src.at > 0)
		printf("dd of=/dev/null bs=%" PRIu64 " count=1; ", l->src.at);
	if (l->dst.at > 0)
		printf("dd if=/dev/null bs=1 seek=%" PRIu64 " conv=notrunc; ",
		    l->dst.at);
	if (l->nbad > 0) {
		faults(l, rules, sizeof(rules));
		printf("FAULTS='%s' LD_PRELOAD=%s ", rules, shim);
	}
	command_make(&c, l, who);
	for (i = 0; i < c.n; i++)
		printf("%s%s", i > 0 ? " " : "", c.word[i]);
	if (l->src.at > 0 || l->dst.at > 0)
		printf(")");
	if (l->src.what == PLAIN && l->src.way >= OPENED)
		printf(" %s%s", l->src.way == BOTH ? "<>" : "<",
		    source_name(l));
	if (l->src.what < PIPE && l->src.what != PLAIN && l->src.way >= OPENED)
		printf(" %s\"%s\"", l->src.way == BOTH ? "<>" : "<",
		    source_name(l));
	if (l->dst.what == PIPE)
		printf(" | cat >%s", target_name(l, who));
	else if (l->dst.way >= OPENED)
		printf(" %s%s", by[l->dst.way], target_name(l, who));
	printf("\n");
}

/* With names for the disks that a reader can give to his own. */
static void
tell(struct line *l, uint64_t seed, uint64_t number)
{
	static const char *const names[] = { "$source", "$source", "$dd",
	    "$pardd", "$dd", "$pardd" };
	const char *variant = getenv("VARIANT"), *held[6], *program = pardd;

	printf("no. %" PRIu64 " of seed %" PRIu64 ": %s\n"
	    "again: VARIANT=%s SEED=%" PRIu64 " ONLY=%" PRIu64
	    " bash tests/random.t\n", number, seed, why,
	    variant != NULL ? variant : "plain", seed, number);
	tell_command(l, PARDD);
	simplify(l);
	/* its last trial was another line */
	(void)try(l, &(struct due){ 0 });
	printf("made simpler: %s\n", why);
	memcpy(held, disk, sizeof(held));
	if (disk[0] != NULL)
		memcpy(disk, names, sizeof(disk));
	pardd = "pardd";
	tell_ends(l);
	tell_command(l, DD);
	tell_command(l, PARDD);
	pardd = program;
	memcpy(disk, held, sizeof(held));
	printf("  cmp %s %s\ndd ended %d: %spardd ended %d: %s\n",
	    target_name(l, DD), target_name(l, PARDD), of_dd.status, of_dd.said,
	    of_pardd.status, of_pardd.said);
	fflush(stdout);
}

static void
tally(struct tally *t, const struct line *l, const struct due *d)
{
	t->refused += d->untouched;
	t->failed += !d->untouched && d->status != 0;
	t->copies += d->status == 0 && length_of(l) > 0;
	t->faults += l->nbad > 0;
	t->disks += block_of(&l->src) > 0 || block_of(&l->dst) > 0;
	t->pipes += l->src.what == PIPE || l->dst.what == PIPE;
	t->inherited += l->src.way >= OPENED || l->dst.way >= OPENED;
}

/* ---------------------------------------------------------------- main */

static bool
knows_suffixes(void)
{
	char line[4500];

	snprintf(line, sizeof(line), "'%s' -d if=/dev/zero of=/dev/null "
	    "count=1B >/dev/null 2>&1", pardd);
	return system(line) == 0;
}

/* What never changes: the disks that are read, old data, and room. */
static void
prepare(void)
{
	unsigned i;

	of_dd.data = malloc(ROOM);
	of_pardd.data = malloc(ROOM);
	source = malloc(ROOM);
	blank = malloc(ROOM);
	if (of_dd.data == NULL || of_pardd.data == NULL || source == NULL ||
	    blank == NULL)
		err(TROUBLE, "memory");
	text(blank, ROOM, OLD_TEXT);
	text(source, ROOM, SOURCE_TEXT);
	for (i = 0; i < 2 && disk[0] != NULL; i++)
		make_file(disk[i], i == 0 ? SOURCE_512 : SOURCE_4K, source);
	suffixes = knows_suffixes();
	signal(SIGPIPE, SIG_IGN);
}

static void
disks(char *list)
{
	char *name;
	size_t n = 0;

	while ((name = strsep(&list, ",")) != NULL && n < COUNT(disk))
		disk[n++] = name;
	if (n != COUNT(disk) || name != NULL)
		errx(TROUBLE, "-d takes six devices");
}

int
main(int argc, char **argv)
{
	struct tally t = { .copies = 0 };
	uint64_t seed, n, last;
	unsigned differ_in = 0;
	struct line l;
	struct due d;

	if (argc > 2 && strcmp(argv[1], "-d") == 0) {
		disks(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc != 6)
		errx(TROUBLE, "usage: see the head of random.c");
	pardd = argv[1];
	shim = argv[2];
	seed = strtoull(argv[3], NULL, 10);
	last = strtoull(argv[5], NULL, 10);
	prepare();
	program_invocation_short_name = self;
	for (n = strtoull(argv[4], NULL, 10); n <= last; n++) {
		snprintf(self, sizeof(self), "random: no. %" PRIu64, n);
		line_make(&l, seed, n);
		if (!try(&l, &d)) {
			tell(&l, seed, n);
			if (++differ_in == MOST)
				break;
		}
		tally(&t, &l, &d);
	}
	printf("%u copied, %u refused, %u failed; %u with faults, %u with "
	    "disks, %u with pipes, %u inherited\n", t.copies, t.refused,
	    t.failed, t.faults, t.disks, t.pipes, t.inherited);
	return differ_in > 0;
}
