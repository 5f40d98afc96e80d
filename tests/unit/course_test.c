/*
 * The course of a rescue's first pass: the more bad areas, the smaller the
 * pieces; jumps reach as far as the last areas did.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rescue/course.h"

#define KIB	UINT64_C(1024)
#define MIB	(1024 * KIB)

static const uint64_t gib = 1 << 30;

static uint64_t where;		/* the pass has come */

/* A piece fails, and the pass jumps; returns how far. */
static uint64_t
jump(struct course *c)
{
	uint64_t n = course_bad(c, where, 1);

	where += 1 + n;
	return n;
}

/*
 * What is lost from sight, a piece for each area, is 1/256 of the way; by large
 * pieces a thousandth.  A piece has a block at least.
 */
static void
pieces(void **state)
{
	const struct {
		unsigned	 areas;
		uint64_t	 gone;		/* bytes of the way */
		size_t		 most, piece;
	} cases[] = {
		{ 0, 0, MIB, MIB },		/* nothing is bad yet */
		{ 0, 60 * gib, MIB, MIB },
		{ 1, 0, MIB, 4 * KIB },
		{ 1, 8 * MIB, MIB, 32 * KIB },
		{ 1, 25 * MIB, MIB, 100 * KIB },
		{ 1, 64 * MIB, MIB, 256 * KIB },
		{ 1, 511 * MIB, MIB, 256 * KIB },
		{ 1, 512 * MIB, MIB, 512 * KIB },
		{ 1, 60 * gib, MIB, MIB },
		{ 1, 60 * gib, 768 * KIB, 768 * KIB },
		{ 1, gib, 4 * KIB, 4 * KIB },	/* bpt= */
		{ 80, gib, MIB, 48 * KIB },
		{ 300, 64 * gib, MIB, 256 * KIB },
	};
	struct course c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		course_begin(&c, 1024 * gib);
		course_resume(&c, cases[i].areas);
		assert_int_equal(course_piece(&c, cases[i].gone,
		    cases[i].most), cases[i].piece);
		course_end(&c);
	}
}

static void
each_bad_piece_is_an_area(void **state)
{
	struct course c;

	(void)state;
	where = 0;
	course_begin(&c, gib);
	assert_int_equal(course_piece(&c, 0, MIB), MIB);
	jump(&c);
	assert_int_equal(course_piece(&c, 8192 * KIB, MIB), 32 * KIB);
	jump(&c);
	assert_int_equal(course_piece(&c, 8192 * KIB, MIB), 16 * KIB);
	course_forgive(&c);
	assert_int_equal(course_piece(&c, 8192 * KIB, MIB), 32 * KIB);
	course_end(&c);
}

/* Jump until an area of so many bytes is left behind; returns the errors. */
static unsigned
cross(struct course *c, uint64_t area)
{
	uint64_t end = where + area;
	unsigned errors = 0;
	struct bad_run run;

	while (where < end) {
		jump(c);
		errors++;
	}
	course_good(c, where++, &run);
	return errors;
}

static void
stragglers_count_for_nothing(void **state)
{
	struct course c;
	struct bad_run run;
	uint64_t first;

	(void)state;
	where = 0;
	course_begin(&c, 64 * gib);
	first = course_bad(&c, MIB, MIB);
	assert_int_equal(first, 256 * KIB);
	assert_int_equal(course_bad(&c, 2 * MIB, MIB), 0);
	course_good(&c, 0, &run);
	assert_int_equal(course_bad(&c, 2 * MIB + first, MIB), 2 * first);
	course_good(&c, 3 * MIB + 3 * first, &run);
	assert_int_equal(course_bad(&c, 9 * MIB, MIB), 2 * first);
	course_end(&c);
}

static void
jumps_grow(void **state)
{
	struct course c;
	uint64_t first, next, sum;

	(void)state;
	where = 0;
	course_begin(&c, 64 * gib);
	first = jump(&c);
	next = jump(&c);
	assert_int_equal(first, 256 * KIB);
	assert_int_equal(next, 2 * first);
	for (sum = first + next; sum < 64 * MIB; sum += next)
		next = jump(&c);
	assert_in_range(next, 16 * MIB, 64 * MIB);
	course_end(&c);
}

/* Of heads that are alike the later ones cost an error each, or little more. */
static void
learns_how_far(void **state)
{
	struct course c;
	unsigned i, errors = 0, first;

	(void)state;
	where = 0;
	course_begin(&c, 64 * gib);
	first = cross(&c, 50 * (uint64_t)MIB);
	for (i = 0; i < 16; i++)
		errors += cross(&c, 50 * (uint64_t)MIB);
	assert_in_range(first, 6, 12);
	assert_in_range(errors, 16, 16 + 8);
	course_end(&c);
}

static void
forgets_a_large_area(void **state)
{
	struct course c;
	unsigned i, errors = 0;

	(void)state;
	where = 0;
	course_begin(&c, 64 * gib);
	cross(&c, 100 * (uint64_t)MIB);
	for (i = 0; i < 80; i++)
		errors += cross(&c, 1);
	assert_in_range(errors, 80, 80);
	assert_in_range(jump(&c), 16 * KIB, 256 * KIB);
	course_end(&c);
}

/* Where areas are small, less and less is jumped over. */
static void
learns_how_near(void **state)
{
	struct course c;
	unsigned i;

	(void)state;
	where = 0;
	course_begin(&c, 64 * gib);
	for (i = 0; i < 40; i++)
		cross(&c, 1);
	assert_int_equal(jump(&c), 16 * KIB);
	course_end(&c);
}

static void
no_jump_beyond_a_hundredth(void **state)
{
	struct course c;
	unsigned i;

	(void)state;
	where = 0;
	course_begin(&c, gib);
	for (i = 0; i < 40; i++)
		assert_in_range(jump(&c), 1, gib / 100);
	course_end(&c);
}

/* An area longer than the longest jump was crossed by several. */
static void
no_jump_beyond_a_hundredth_after_a_large_area(void **state)
{
	struct course c;

	(void)state;
	where = 0;
	course_begin(&c, gib);
	cross(&c, 40 * MIB);
	assert_in_range(jump(&c), 1, gib / 100);
	course_end(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),
		cmocka_unit_test(each_bad_piece_is_an_area),
		cmocka_unit_test(stragglers_count_for_nothing),
		cmocka_unit_test(jumps_grow),
		cmocka_unit_test(learns_how_far),
		cmocka_unit_test(forgets_a_large_area),
		cmocka_unit_test(learns_how_near),
		cmocka_unit_test(no_jump_beyond_a_hundredth),
		cmocka_unit_test(no_jump_beyond_a_hundredth_after_a_large_area),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
