/*
 * Lines by dice, and what a line means in bytes.
 */
#include <fcntl.h>

#include "random.h"

const struct word flags[] = {
	{ APPEND, "append" }, { DIRECT, "direct" }, { DSYNC, "dsync" },
	{ SYNC, "sync" }, { NOATIME, "noatime" }, { NOCACHE, "nocache" },
	{ NONBLOCK, "nonblock" }, { NOFOLLOW, "nofollow" },
	{ FULLBLOCK, "fullblock" }, { 0, NULL },
}, convs[] = {
	{ NOERROR, "noerror" }, { PAD, "sync" }, { SPARSE, "sparse" },
	{ FSYNC, "fsync" }, { FDATASYNC, "fdatasync" }, { EXCL, "excl" },
	{ NOCREAT, "nocreat" }, { NOTRUNC, "notrunc" }, { 0, NULL },
};

static uint64_t dice;

uint64_t
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
		return given.disk[0] == NULL ? PLAIN : n < 14 ? DISK : DISK4K;
	if (n < 40)
		return PIPE;
	if (n < 43)
		return NOTHING;
	return n < 46 && source ? ZEROS : PLAIN;
}

uint32_t
block_of(const struct end *e)
{
	return e->what == DISK ? 512 : e->what == DISK4K ? 4096 : 0;
}

/* The unit of skip=, seek= and count=. */
uint64_t
unit_of(const struct line *l)
{
	if (l->bs > 0)
		return l->bs;
	if (block_of(&l->src) > 0)
		return block_of(&l->src);
	return block_of(&l->dst) > 0 ? block_of(&l->dst) : 512;
}

uint64_t
in_bytes(const struct line *l, uint64_t n, enum unit unit)
{
	return unit == BLOCKS ? n * unit_of(l) : n;
}

uint64_t
start_of(const struct line *l, const struct end *e)
{
	return e->at + in_bytes(l, e->off, e->unit);
}

/* What the source has in all. */
uint64_t
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

uint64_t
target_size(const struct line *l)
{
	return l->dst.what == DISK ? TARGET_512 : TARGET_4K;
}

uint64_t
left(const struct line *l)
{
	uint64_t size = source_size(l), at = start_of(l, &l->src);

	return at < size ? size - at : 0;
}

/* What is copied when nothing is wrong. */
uint64_t
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
	if (chance(60))
		return BLOCKS;
	return chance(60) || !given.suffixes ? BYTES : SUFFIX;
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
	if (l->dst.unit == BLOCKS)	/* counted in others until now */
		l->dst.off %= 300;
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
void
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

void
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
