/*
 * What each unit test begins with: cmocka, and what has to be included before
 * it.
 */
#ifndef PARDD_TEST_H
#define PARDD_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* Each case is given a state, which few have. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
