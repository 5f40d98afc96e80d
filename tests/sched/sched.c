/*
 * One thread at a time, by a seed: every run of a program is a schedule that
 * can be run again.
 *
 * It is linked, in the place of ThreadSanitizer's runtime, with what was
 * compiled for that, and stands before libc's locks, threads, waits and
 * requests.  So it is asked at each lock, condition, request, atomic, and at
 * reads and writes of memory, and lets go on whom the seed says:
 *
 *	PCT	the first of all in an order that changes a few times
 *		(Burckhardt et al., A Randomized Scheduler with Probabilistic
 *		Guarantees of Finding Bugs, 2010)
 *	dice	anybody, at some of the places
 *
 * Time is made up: it goes on a little with every step, by chance a lot, and
 * when all wait it is what the first of them waits for.  What waits for others
 * outside (pipes) is as quick as they are.  When all wait for ever, it tells
 * what for and aborts; so it does when there is no end.
 *
 *	SCHED_SEED=N	the schedule (1)
 *	SCHED_SIGNAL=N	this signal comes once, at any step
 *	SCHED_FILE=PATH	what is written there and not flushed may be lost by
 *	SCHED_LOSES=1	the medium at any step, and whoever asks next (a write,
 *			a flush) is told by EIO: nobody else
 *	SCHED_CUT=1	a power cut at any step: all of it is, status 99
 *	SCHED_TRACE=PATH	each change of threads: the step, and who goes on
 *
 * All state is of whoever goes on: nobody else looks at it.
 */
#undef _FILE_OFFSET_BITS		/* as in the shim, which may be below */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "inside.h"
#include "sched.h"

#include "../tools/preload.h"

enum {
	THREADS = 512,
	CHANGES = 3,
	LONGEST = 2000000,	/* steps */
	FAIR = 100000,		/* steps of PCT: who spins starves others */
	OUTSIDE = 20000,	/* ms for what is not ours */
};

static const uint64_t second = 1000000000;

static const char *const states[] = { "", "ready", "lock", "condition", "poll",
	"join", "" };

struct thread threads[THREADS];
size_t all;
_Thread_local struct thread *self;
uint64_t now;
unsigned spurious;

static uint64_t dice, steps;
static uint64_t beats, changes[CHANGES], signal_at = NEVER, lose_at = NEVER,
	cut_at = NEVER;
static unsigned stay, lapse;
static uint64_t pause_beats;		/* between accesses to memory */
static uint64_t untouched = 1;		/* accesses until the next */
static bool pct;
static int signo, trace = -1;

uint64_t
roll(uint64_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice >> 11) % n;
}

/* Any magnitude is as likely. */
static uint64_t
some(unsigned least, unsigned most)
{
	return 1 + roll(UINT64_C(1) << (least + roll(most - least + 1)));
}

int
really_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	return (int)syscall(SYS_ppoll, fds, n, &t, NULL, 0);
}

/* ----------------------------------------------------- who may go on */

static bool
may(const struct thread *t)
{
	switch (t->state) {
	case READY:
		return true;
	case JOINS:
		if (t->on != NULL &&
		    ((const struct thread *)t->on)->state == ENDED)
			return true;
		break;
	case POLLS:
		if (t->n > 0 && really_poll(t->fds, t->n, 0) > 0)
			return true;
		break;
	case CONDITION:
		break;
	default:
		return false;
	}
	return t->until <= now;
}

void
stuck(const char *what)
{
	size_t i;

	dprintf(2, "sched: %s at step %llu\n", what, (unsigned long long)steps);
	for (i = 0; i < all; i++)
		if (threads[i].state != FREE && threads[i].state != ENDED)
			dprintf(2, "sched: thread %zu: %s %p\n", i,
			    states[threads[i].state], threads[i].on);
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* Nobody may go on: time does, or the world outside. */
static void
idle(void)
{
	struct pollfd fds[THREADS];
	uint64_t first = NEVER;
	nfds_t n = 0;
	size_t i, k;

	for (i = 0; i < all; i++) {
		if (threads[i].state != CONDITION &&
		    threads[i].state != POLLS && threads[i].state != JOINS)
			continue;
		if (threads[i].until < first)
			first = threads[i].until;
		if (threads[i].state == POLLS)
			for (k = 0; k < threads[i].n && n < THREADS; k++)
				fds[n++] = threads[i].fds[k];
	}
	if (first != NEVER)
		now = first;
	else if (n == 0 || really_poll(fds, n, OUTSIDE) == 0)
		stuck("all wait for ever");
}

static struct thread *
pick(void)
{
	struct thread *best = NULL;
	size_t i, n;

	for (;;) {
		if (pct) {
			for (i = 0; i < all; i++)
				if (threads[i].state != FREE && (best == NULL ||
				    threads[i].rank > best->rank) &&
				    may(&threads[i]))
					best = &threads[i];
		} else {
			for (i = n = 0; i < all; i++)
				if (threads[i].state != FREE &&
				    may(&threads[i]) && roll(++n) == 0)
					best = &threads[i];
		}
		if (best != NULL)
			return best;
		idle();
	}
}

void
take_turn(struct thread *t)
{
	while (sem_wait(&t->turn) != 0)
		continue;
}

void
give(void)
{
	struct thread *next_one = pick();

	if (trace >= 0 && next_one != self)
		dprintf(trace, "%llu %zu\n", (unsigned long long)steps,
		    (size_t)(next_one - threads));
	if (next_one != self) {
		sem_post(&next_one->turn);
		take_turn(self);
	}
	self->state = READY;
}

void
pass_turn(void)
{
	sem_post(&pick()->turn);
}

/* --------------------------------------------------------------- places */

/* The seed may want a change between any two accesses. */
static bool
beat(void)
{
	size_t i;

	beats++;
	for (i = 0; i < CHANGES; i++)
		if (beats == changes[i]) {
			self->rank = CHANGES - i;
			return true;
		}
	return false;
}

static void
happen(void)
{
	if (steps == signal_at)
		kill(getpid(), signo);
	if (steps >= lose_at && medium_lose())
		lose_at = NEVER;
	if (steps >= cut_at)
		medium_cut();
	if (steps == FAIR)
		pct = false;
	if (steps == LONGEST)
		stuck("no end");
}

void
point(void)
{
	if (self == NULL)
		return;
	steps++;
	now += 1 + roll(10000);
	if (lapse > 0 && roll(lapse) == 0)
		now += roll(3 * second);
	happen();
	if (!beat() && !pct && roll(stay) != 0)
		return;
	self->state = READY;
	give();
}

void
touch(void)
{
	if (self == NULL)
		return;
	if (pct) {
		if (beat())
			give();
	} else if (--untouched == 0) {
		untouched = 1 + roll(pause_beats);
		give();
	}
}

void
wait_for(enum state state, const void *on, uint64_t until)
{
	self->state = state;
	self->on = on;
	self->until = until;
	give();
}

/* ---------------------------------------------------------------- begin */

static uint64_t
number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void
alone(void)
{
	self = NULL;		/* after fork(): nobody else is there */
}

struct thread *
thread_new(void)
{
	size_t i = 0;

	while (i < all && threads[i].state != FREE)
		i++;
	if (i == THREADS)
		die("threads", "too many");
	if (i == all)
		all++;
	threads[i].rank = CHANGES + 1 + roll(NEVER - CHANGES - 1);
	threads[i].state = READY;
	sem_init(&threads[i].turn, 0, 0);
	return &threads[i];
}

/* Of the seed: when, whom, how often. */
static void
throw(uint64_t seed)
{
	size_t i;

	dice = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
	for (i = 0; i < 20; i++)
		roll(2);
	now = 1000000 * second;
	pct = roll(2) == 0;
	for (i = 0; i < CHANGES; i++)
		changes[i] = some(6, 20);
	stay = (unsigned)some(0, 6);
	pause_beats = some(4, 14);
	lapse = roll(4) == 0 ? 0 : (unsigned)some(4, 12);
	spurious = roll(2) == 0 ? 0 : 1 + (unsigned)some(2, 6);
}

static void __attribute__((constructor))
begin(void)
{
	const char *path = getenv("SCHED_TRACE");

	throw(number("SCHED_SEED", 1));
	signo = (int)number("SCHED_SIGNAL", 0);
	if (signo != 0)
		signal_at = some(6, 13);
	medium_open(getenv("SCHED_FILE"));
	if (number("SCHED_LOSES", 0) != 0)
		lose_at = some(6, 13);
	if (number("SCHED_CUT", 0) != 0)
		cut_at = some(6, 13);
	if (path != NULL)
		trace = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0644);
	pthread_atfork(NULL, NULL, alone);
	self = thread_new();
	self->id = pthread_self();
}

void
sched_begin(uint64_t seed)
{
	size_t i;

	for (i = 1; i < all; i++)
		if (threads[i].state != FREE)
			stuck("a thread was left behind");
	all = 1;
	steps = beats = 0;
	untouched = 1;
	throw(seed);
	lapse = 0;
	self->rank = CHANGES + 1 + roll(NEVER - CHANGES - 1);
}

uint64_t
sched_roll(uint64_t n)
{
	return roll(n);
}

uint64_t
sched_steps(void)
{
	return steps;
}
