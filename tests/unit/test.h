/*
 * What each unit test begins with: cmocka, the headers of C, POSIX and ours that
 * most of them use, and how a case is written.
 *
 *	CASE(name) { ... }	a case
 *	EACH(begin, end)	runs before and after each of the cases below it
 *	ONCE(begin, end)	runs before the first case and after the last
 *	EACH_OF(i, rows)	is for (...): i is the index of each row of a table
 *
 * Cases need not be listed: constructors, which run in the order of the file,
 * put them into a table, and main() runs that.  begin and end are functions
 * that return 0, or NULL.
 */
#ifndef PARDD_TEST_H
#define PARDD_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/number.h"
#include "base/status.h"

/* Few cases have a state, and few mocks need all that they are given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct {
	struct CMUnitTest	 cases[64];	/* cmocka passes over those of no name */
	size_t			 n;
	CMFixtureFunction	 begin, end;	/* of the cases to come */
	CMFixtureFunction	 enter, leave;	/* of all of them */
} unit;

static inline void
unit_add(const char *name, CMUnitTestFunction run)
{
	if (unit.n == sizeof(unit.cases) / sizeof(unit.cases[0]))
		abort();
	unit.cases[unit.n++] = (struct CMUnitTest){ name, run, unit.begin,
	    unit.end, NULL };
}

/* Constructors with a lower number run first, and up to 100 are the compiler's. */
#define UNIT_FIRST(n)		UNIT_FIRST_(n)
#define UNIT_FIRST_(n)							\
	__attribute__((constructor(101 + n))) static void unit_first_##n(void)

#define CASE(name)							\
	static void name(void **state);					\
	UNIT_FIRST(__COUNTER__) { unit_add(#name, name); }		\
	static void name(void **state)
#define EACH(b, e)							\
	UNIT_FIRST(__COUNTER__) { unit.begin = (b); unit.end = (e); }
#define ONCE(b, e)							\
	UNIT_FIRST(__COUNTER__) { unit.enter = (b); unit.leave = (e); }

static int
unit_run(void)
{
	return cmocka_run_group_tests(unit.cases, unit.enter, unit.leave);
}

#define EACH_OF(i, rows)	for (size_t i = 0; i < COUNT(rows); i++)

#ifndef UNIT_MAIN
int
main(void)
{
	return unit_run();
}
#endif

#endif
