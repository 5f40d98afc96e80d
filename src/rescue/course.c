/*
 * The course.  When a piece fails, all of it is out of reach until it is
 * trimmed, block by block.  So pieces are so small that the data out of reach
 * does not matter beside that read: the more errors, the smaller the pieces,
 * down to a block, because what lies out of reach costs more errors later.
 * Where errors are rare, pieces are large, because a bad area is met twice if
 * it lies in two pieces that are read at once.
 *
 * After an error the pass jumps ahead, and twice as far if the jump lands in
 * another error.  The first jump is as long as the last bad area required, and
 * approaches that length with each area, because those of a dead head are
 * alike.  After some jumps that succeeded at once, a shorter one is tried.
 *
 * If the runs so far predict the next one (forecast.c), the pass reads up to
 * it, tries its first block, and jumps to its end.
 *
 * Several workers may read at once.  A read that began before the last jump
 * says nothing about where that jump has landed.
 *
 *	c	course->lock, a leaf; held for a few instructions
 */
#include "rescue/course.h"

#include <sys/param.h>

#include "base/number.h"

enum {
	PIECE_LEAST = 4 << 10,	/* bytes: a block of most disks */
	PIECE_MOST = 256 << 10,
	LARGE_MOST = 1 << 20,
	JUMP_LEAST = 16 << 10,	/* bytes */
	JUMP_FIRST = 256 << 10,	/* bytes, before anything is known, */
	JUMP_SMALL = 64 << 10,	/* on a small disk */
	LOST = 256,		/* 1/LOST may be out of reach, */
	LARGE_LOST = 1024,	/* 1/LARGE_LOST by larger pieces */
	CALM = 3,		/* landings before less is tried */
	PART = 8,		/* 1/PART is taken off a jump too short */
	FINE = 128,		/* 1/FINE of a jump need not be known */
	MORE = 16,		/* 1/MORE is added to a forecast jump */
	SURE = 4,		/* 1/SURE of a run must be bad */
};

void
course_begin(struct course *c, uint64_t length)
{
	uint64_t small = length / 400 > JUMP_SMALL ? length / 400 : JUMP_SMALL;
	uint64_t first = MIN(JUMP_FIRST, small);

	pthread_mutex_init(&c->lock, NULL);
	c->least = JUMP_LEAST;
	c->enough = first - first % PIECE_LEAST;
	c->most = length / 100 > c->enough ? length / 100 : c->enough;
	c->most -= c->most % PIECE_LEAST;
	c->areas = 0;
	c->shorter = c->jump = c->far = c->landing = 0;
	c->calm = 0;
	c->part = PART;
	c->forecast = (struct forecast){ .length = 0 };
	c->foretold = false;
}

void
course_resume(struct course *c, uint64_t areas)
{
	pthread_mutex_lock(&c->lock);
	c->areas += areas;
	pthread_mutex_unlock(&c->lock);
}

void
course_end(struct course *c)
{
	pthread_mutex_destroy(&c->lock);
}

size_t
course_piece(struct course *c, uint64_t bytes, size_t most)
{
	uint64_t areas, n;

	pthread_mutex_lock(&c->lock);
	areas = c->areas;
	pthread_mutex_unlock(&c->lock);
	if (areas == 0)
		return most;
	n = MIN(bytes / LOST / areas, PIECE_MOST);
	n = n > PIECE_LEAST ? n - n % PIECE_LEAST : PIECE_LEAST;
	while (n >= PIECE_MOST && n < LARGE_MOST &&
	    n * 2 <= bytes / LARGE_LOST / areas)
		n *= 2;
	return n < most ? (size_t)n : most;
}

/* Halfway between a jump too short and one long enough, if that matters. */
static uint64_t
first_jump(const struct course *c)
{
	uint64_t between = c->enough - c->shorter;

	if (c->shorter == 0 || between <= c->least ||
	    between <= c->enough / FINE)
		return c->enough;
	return c->shorter + between / 2;
}

/*
 * Whether the error at "at" is the run that was predicted; *jump leads to its
 * end.
 */
static bool
as_foretold(const struct course *c, uint64_t at, uint64_t end, uint64_t *jump)
{
	struct run next;

	if (!forecast_next(&c->forecast, &next) || at != next.off ||
	    end >= next.end)
		return false;
	*jump = next.end - end;
	return true;
}

/*
 * How far to jump: after a first error, or when a jump has landed in another.
 */
static void
choose_jump(struct course *c, uint64_t at, uint64_t end)
{
	if (c->jump == 0) {
		c->foretold = as_foretold(c, at, end, &c->jump);
		if (!c->foretold)
			c->jump = round_up(first_jump(c), PIECE_LEAST);
		c->far = c->jump;
	} else if (c->foretold) {
		c->foretold = false;
		c->jump = round_up(c->far / MORE + c->least, PIECE_LEAST);
		c->far += c->jump;
	} else {
		c->calm = 0;
		c->part = PART;
		c->shorter = c->far > c->shorter ? c->far : c->shorter;
		if (c->far < c->enough)
			c->jump = c->enough - c->far;
		else
			c->jump = MIN(c->far > 2 * c->jump ? c->far :
			    2 * c->jump, c->most);
		c->jump = round_up(c->jump, PIECE_LEAST);
		c->far += c->jump;
	}
}

uint64_t
course_bad(struct course *c, uint64_t at, uint64_t len)
{
	uint64_t jump = 0;

	pthread_mutex_lock(&c->lock);
	c->areas++;
	if (at >= c->landing) {
		if (c->jump == 0)
			c->run = (struct bad_run){ .off = at,
			    .first = at + len };
		choose_jump(c, at, at + len);
		c->run.last = at + len;
		c->landing = at + len + c->jump;
		jump = c->jump;
	}
	pthread_mutex_unlock(&c->lock);
	return jump;
}

void
course_forgive(struct course *c)
{
	pthread_mutex_lock(&c->lock);
	c->areas--;
	pthread_mutex_unlock(&c->lock);
}

/*
 * The jump has landed "far" bytes after the first error.  After some that did
 * so at once, try less, and keep reducing as long as that succeeds.
 */
static void
course_adapt(struct course *c)
{
	if (c->far != c->enough)
		c->calm = 0;
	c->enough = MIN(c->far, c->most);
	if (c->enough <= c->shorter)
		c->shorter = 0;
	if (++c->calm < (c->shorter > 0 ? 3 * CALM : CALM))
		return;
	c->calm = 0;
	if (c->shorter > 0) {
		c->shorter -= c->shorter / c->part;
		c->part = c->part > 1 ? c->part / 2 : 1;
	} else
		c->enough = c->enough / 2 > c->least ? c->enough / 2 : c->least;
}

bool
course_good(struct course *c, uint64_t at, struct bad_run *run)
{
	bool is = false;

	pthread_mutex_lock(&c->lock);
	if (c->jump > 0 && at >= c->landing) {
		course_adapt(c);
		c->jump = 0;
		*run = c->run;
		run->end = at;
		run->sure = c->foretold ||
		    run->last - run->first >= (at - run->off) / SURE;
		is = forecast_met(&c->forecast, &(struct run){ run->off, at,
		    run->sure });
	}
	pthread_mutex_unlock(&c->lock);
	return is;
}

void
course_learn(struct course *c, const struct run *run)
{
	pthread_mutex_lock(&c->lock);
	forecast_learn(&c->forecast, run);
	pthread_mutex_unlock(&c->lock);
}

uint64_t
course_foretells(struct course *c, uint64_t at)
{
	struct run next = { .off = UINT64_MAX };

	pthread_mutex_lock(&c->lock);
	if (!forecast_next(&c->forecast, &next) || next.off < at)
		next.off = UINT64_MAX;
	pthread_mutex_unlock(&c->lock);
	return next.off;
}
