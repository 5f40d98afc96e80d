/*
 * Runs by seeds: disks, faults and a command line are thrown, pardd is called,
 * as often as it takes to come to an end with map=, and the model has to agree
 * with what it left.
 *
 *	sim [-rv] [-m MOST] [-s SEED] [-n RUNS]
 *
 * -r: only rescues, of larger disks with more that is bad, each stopped once at
 * least and gone on with by another command line.
 * A run that is wrong is told by its seed: sim -v -s SEED shows it again.  It
 * ends after MOST of them (5), or with 0 when there was none.  Works in the
 * directory it is started in, with a file "map", and holds a lock of that
 * directory:
 * two would call each other's map wrong.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "../sched/sched.h"
#include "model.h"
#include "plan/confine.h"
#include "readers.h"
#include "sim.h"

enum { WORDS = 24, LETTERS = 32, LIVES = 6, COPIED = 256 };

struct line {
	char	 text[WORDS][LETTERS];
	char	*word[WORDS + 1];
	int	 n;
};

int pardd_main(int argc, char *argv[]);
unsigned __wrap_confine(const struct plan *);
void __wrap_signals_raise(int signo);

/* It would be for good, and the next run is another program's. */
unsigned
__wrap_confine(const struct plan *p)
{
	(void)p;
	return 0;
}

/* The status says it. */
void
__wrap_signals_raise(int signo)
{
	(void)signo;
}

static bool
chance(unsigned one_of)
{
	return sched_roll(one_of) == 0;
}

/* From 1 on, any magnitude as likely. */
static size_t
some(unsigned bits)
{
	return 1 + sched_roll(UINT64_C(1) << sched_roll(bits + 1));
}

static void __attribute__((format(printf, 2, 3)))
add(struct line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->text[l->n], LETTERS, fmt, ap);
	va_end(ap);
	l->word[l->n] = l->text[l->n];
	l->word[++l->n] = NULL;
}

/* Zeros in parts of it, else each sector is another. */
static void
fill(struct disk *d, bool holes)
{
	size_t i, k, n, at;

	for (i = 0; i < d->sectors; i++)
		for (k = 0; k < SECTOR; k += 8) {
			uint64_t word = (i + 1) * UINT64_C(0x9E3779B97F4A7C15)
			    + k + (uintptr_t)(d - &machine.source);

			memcpy(d->now + i * SECTOR + k, &word, sizeof(word));
		}
	for (n = holes ? some(3) : 0; n > 0; n--) {
		at = sched_roll(d->sectors);
		k = some(6) < d->sectors - at ? some(6) : 1;
		if (at + k > d->sectors)
			k = d->sectors - at;
		memset(d->now + at * SECTOR, 0, k * SECTOR);
	}
	memcpy(d->kept, d->now, d->sectors * SECTOR);
}

static void
make_disk(struct disk *d, size_t sectors, size_t block)
{
	memset(d, 0, sizeof(*d));
	d->sectors = sectors;
	d->block = block;
	d->zeroes = chance(2);
	d->exact = chance(2);
	d->slow = chance(3) ? 0 : (unsigned)some(17);
	d->gone_at = d->lose_at = d->hang_at = d->lie_at = NEVER;
	fill(d, chance(2));
}

static void
spoil_source(struct disk *d, bool worse, bool rescued)
{
	size_t n, at, k, length;

	d->sparse = chance(3);
	if (!worse && !chance(2))
		return;
	for (n = some(worse ? 5 : 3); n > 0; n--) {
		at = sched_roll(d->sectors);
		length = some(worse ? 7 : 5);
		for (k = at; k < at + length && k < d->sectors; k++)
			d->bad[k] = chance(3) ? (uint8_t)some(2) : BAD;
	}
	if (chance(8))
		d->gone_at = some(8);
	if (rescued && chance(4))
		d->lie_at = some(6);
	if (d->lie_at != NEVER && chance(3))
		d->answers = (unsigned)some(5);
	memset(d->junk, chance(3) ? 0xff : 0, sizeof(d->junk));
	d->again = chance(3);
	if (chance(8))
		d->hang_at = some(8);
	d->returns = rescued && chance(d->lie_at == NEVER ? 2 : 1) ?
	    (unsigned)some(3) : 0;
}

static void
spoil_target(struct disk *d)
{
	if (!chance(4))
		return;
	switch (sched_roll(3)) {
	case 0:
		d->defect[sched_roll(d->sectors)] = true;
		break;
	case 1:
		d->lose_at = some(8);
		break;
	default:
		d->gone_at = some(8);
	}
}

/* Disks, and what is to be copied between them. */
static void
throw_machine(struct order *o, bool worse)
{
	size_t block = chance(4) ? 4096 : SECTOR, unit = block / SECTOR;
	size_t sectors = (some(worse ? 10 : 8) + unit) / unit * unit;
	size_t most = worse ? LONGEST : COPIED;
	unsigned t;

	machine.requests = 0;
	machine.dark = machine.viewed = false;
	machine.map[0] = '\0';
	machine.targets = o->map || !chance(4) ? 1 : 2 +
	    (unsigned)sched_roll(TARGETS - 1);
	if (sectors > most)
		sectors = most;
	make_disk(&machine.source, sectors, block);
	o->skip = chance(2) ? 0 : sched_roll(sectors / unit) * unit;
	o->count = sectors - o->skip;
	if (chance(2))
		o->count = (1 + sched_roll(o->count / unit)) * unit;
	o->seek = chance(2) ? 0 : some(5) * unit;
	if (o->seek > COPIED)
		o->seek = COPIED;
	for (t = 0; t < machine.targets; t++)
		make_disk(&machine.target[t], (o->seek + o->count + some(4) +
		    unit) / unit * unit, block);
	spoil_source(&machine.source, worse, o->map);
	for (t = 0; t < machine.targets; t++)
		spoil_target(&machine.target[t]);
	machine.cut_at = machine.signal_at = NEVER;
}

/*
 * Up to 16, who read now and then or without a pause, and what they are to be
 * answered.  Returns whether nothing else is to be read.
 */
static bool
throw_readers(struct line *l, const struct order *o, bool last)
{
	struct readers r = { .n = 1 + (unsigned)sched_roll(chance(2) ? 16 : 3),
		.times = (unsigned)some(7), .pause = (unsigned)some(18) };
	bool only = !last && chance(3);

	r.unmount = only || chance(8);
	add(l, "view=view");
	readers_prepare(&r, o->skip, o->count, o->thorough);
	return only;
}

/* How to rescue: the last time, all that can be. */
static void
throw_rescue(struct line *l, struct order *o, bool last)
{
	static const char *const ways[] = { "reverse", "noscrape",
		"notrim,nosweep" };
	static const char *const limits[] = { "maxerrors=2", "minrate=1M",
		"maxtime=1" };
	size_t way = !chance(2) ? 6 : last ? 0 : sched_roll(6);
	bool only;

	add(l, "map=map");
	add(l, "mapinterval=1");
	if (chance(machine.source.lie_at == NEVER ? 3 : 1))
		add(l, "wait=20");
	if (way > 2 && way < 6)
		add(l, "%s", limits[way - 3]);
	o->thorough = way == 0 || way == 6;
	machine.viewed = readers_can() && chance(2);
	only = machine.viewed && throw_readers(l, o, last);
	if (only || way < 3)
		add(l, "rescue=%s%s%s", way < 3 ? ways[way] : "",
		    only && way < 3 ? "," : "", only ? "ondemand" : "");
	o->thorough = o->thorough && !only;
}

static void
throw_copy(struct line *l)
{
	static const char *const how[] = { "oflag=trim", "oflag=sparse",
		"oflag=sparing" };
	static const char *const proof[] = { "verify=1", "verify=source",
		"verify=stream" };
	bool async = machine.targets == 1 && chance(3);

	if (async)
		add(l, "engine=async");
	if (chance(3))
		add(l, "%s", how[sched_roll(machine.targets > 1 || async ? 2 :
		    3)]);
	if (chance(3))
		add(l, "%s", proof[sched_roll(async ? 2 : 3)]);
	if (chance(6))
		add(l, "hash=xxh128");
}

static void
throw_line(struct line *l, struct order *o, bool last)
{
	size_t bs = machine.source.block;
	unsigned t;

	l->n = 0;
	add(l, "pardd");
	add(l, "if=rbd:0");
	for (t = 1; t <= machine.targets; t++)
		add(l, "of=rbd:%u", t);
	add(l, "bs=%zu", bs);
	add(l, "skip=%zu", o->skip * SECTOR / bs);
	add(l, "seek=%zu", o->seek * SECTOR / bs);
	add(l, "count=%zu", o->count * SECTOR / bs);
	add(l, "thr=%zu", 1 + (size_t)sched_roll(chance(8) ? 16 : 4));
	if (!chance(4))
		add(l, "bpt=%zu", some(6));
	if (o->coe)
		add(l, "coe=1");
	if (machine.targets > 1)
		add(l, "timeout=86400");	/* nobody is left behind */
	o->retries = chance(4) ? (unsigned)sched_roll(3) : 0;
	if (o->retries > 0)
		add(l, "retries=%u", o->retries);
	if (o->map)
		throw_rescue(l, o, last);
	else
		throw_copy(l);
}

static void
show(const struct line *l)
{
	int i;

	for (i = 0; i < l->n; i++)
		fprintf(stderr, "%s%c", l->word[i], i < l->n - 1 ? ' ' : '\n');
}

/* Called again by nobody, or waited for by nobody, a signal is not there. */
static void
forget_signals(void)
{
	static const struct timespec none;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	while (sigtimedwait(&set, NULL, &none) > 0)
		continue;
}

/* One start of the program: its status, or -1 of a power cut. */
static int
start(const struct line *l)
{
	int status = pardd_main(l->n, (char **)(uintptr_t)l->word);

	forget_signals();
	return machine.dark ? -1 : status;
}

static void
restore_map(void)
{
	FILE *f;

	unlink("map");
	if (machine.map[0] == '\0')
		return;
	f = fopen("map", "we");
	if (f == NULL || fputs(machine.map, f) < 0 || fclose(f) != 0)
		err(2, "map");
}

/* What may come in between, but the last time. */
static void
disturb(bool last, bool surely)
{
	machine.requests = 0;
	machine.cut_at = machine.signal_at = NEVER;
	if (last || (!surely && chance(4)))
		return;
	if (chance(3))
		machine.signal_at = some(9);
	else
		machine.cut_at = some(9);
}

/* One seed: what is wrong, or NULL. */
static const char *
play(uint64_t seed, bool rescues, bool loud, uint64_t count[])
{
	struct order o = { .map = false };
	struct line l;
	const char *wrong = NULL;
	int life, status = -1;
	bool last = false;

	sched_begin(seed);
	o.map = rescues || chance(2);
	o.coe = !o.map && chance(2);
	throw_machine(&o, rescues);
	unlink("map");
	unlink("map.bak");
	unlink("view");
	model_begin(&o);
	for (life = 0; life < LIVES && !last && wrong == NULL; life++) {
		last = life == LIVES - 1 || ((life > 0 || !rescues) &&
		    chance(2));
		throw_line(&l, &o, last);
		model_again(&o);
		machine_again();
		if (loud)
			show(&l);
		disturb(last, rescues);
		status = start(&l);
		wrong = machine.viewed ? readers_wrong() : NULL;
		if (wrong == NULL)
			wrong = model_judge(status, last);
		if (loud)
			fprintf(stderr, "%s %d%s%s\n", status < 0 ?
			    "power cut" : "status", status, wrong != NULL ?
			    ": " : "", wrong != NULL ? wrong : "");
		if (status < 0) {
			restore_map();
			machine_on();
		}
		count[status < 0 ? 255 : status & 255]++;
	}
	return wrong;
}

/* The lock is held until the descriptor is closed. */
static int
lock_dir(void)
{
	int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		err(2, ".");
	if (flock(directory, LOCK_EX | LOCK_NB) == 0)
		return directory;
	if (errno == EWOULDBLOCK)
		errx(2, "another runs in this directory, with the same map");
	err(2, "locking the directory");
}

int
main(int argc, char *argv[])
{
	uint64_t seed = 1, n = 1, most = 5, i, failed = 0;
	uint64_t count[256] = { 0 };
	unsigned long good, bad;
	bool loud = false, rescues = false;
	const char *wrong;
	int c, out, nothing, directory;

	while ((c = getopt(argc, argv, "m:n:rs:v")) != -1)
		switch (c) {
		case 'm':
			most = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			n = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			rescues = true;
			break;
		case 's':
			seed = strtoull(optarg, NULL, 10);
			break;
		case 'v':
			loud = true;
			break;
		default:
			errx(2, "usage: sim [-rv] [-m MOST] [-s SEED] "
			    "[-n RUNS]");
		}
	directory = lock_dir();
	if (!machine_begin())
		err(2, "the target");
	out = dup(STDOUT_FILENO);
	nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (out < 0 || nothing < 0 || (!loud && dup2(nothing, 2) != 2))
		err(2, "/dev/null");
	for (i = 0; i < n && failed < most; i++) {
		wrong = play(seed + i, rescues, loud, count);
		if (wrong == NULL)
			continue;
		failed++;
		dprintf(out, "seed %llu: %s\n", (unsigned long long)(seed + i),
		    wrong);
	}
	dprintf(out, "%llu seeds, %llu wrong; ends:", (unsigned long long)i,
	    (unsigned long long)failed);
	for (c = 0; c < 256; c++)
		if (count[c] > 0)
			dprintf(out, " %d: %llu", c == 255 ? -1 : c,
			    (unsigned long long)count[c]);
	readers_count(&good, &bad);
	dprintf(out, "; readers: %lu answers, %lu errors\n", good, bad);
	close(directory);
	return failed > 0;
}
