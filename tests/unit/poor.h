/*
 * Lack of memory: the test's own calloc() and realloc() are libc's, except that
 * one request fails; included once, by a test.  With POOR_OF_ALL malloc() and
 * aligned_alloc(), too.  Sanitizers have their own allocator: with them nothing
 * fails.
 */
#ifndef PARDD_TEST_POOR_H
#define PARDD_TEST_POOR_H

#include "../tools/preload.h"

static struct {
	bool	 on, refused;
	unsigned left;			/* requests before it */
} poor;

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#define POOR

static bool
refuse(void)
{
	if (!poor.on || poor.left-- > 0)
		return false;
	poor.on = false;
	poor.refused = true;
	errno = ENOMEM;
	return true;
}

void *
calloc(size_t n, size_t size)
{
	REAL(real, calloc);
	return refuse() ? NULL : real(n, size);
}

void *
realloc(void *p, size_t size)
{
	REAL(real, realloc);
	return refuse() ? NULL : real(p, size);
}

#ifdef POOR_OF_ALL		/* for a test that asks for these, too */

void *
malloc(size_t size)
{
	REAL(real, malloc);
	return refuse() ? NULL : real(size);
}

void *
aligned_alloc(size_t align, size_t size)
{
	REAL(real, aligned_alloc);
	return refuse() ? NULL : real(align, size);
}

#endif
#endif

/* From now on, the request behind so many is refused. */
static void __attribute__((unused))
poor_after(unsigned n)
{
	poor.on = true;
	poor.refused = false;
	poor.left = n;
}

/* It ends; whether there was one. */
static bool __attribute__((unused))
poor_was(void)
{
	poor.on = false;
	return poor.refused;
}

#endif
