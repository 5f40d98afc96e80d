/*
 * What asks for memory.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <stdlib.h>

#include "shim.h"

/*
 * libcrypto writes to what it did not get, and a sanitizer gives up that begins
 * a thread.  The program's own name becomes its title.
 */
static unsigned
asked_by(const void *caller)
{
	Dl_info who;

	if (!running)
		return 0;
	if (dladdr(caller, &who) == 0 || who.dli_fname == program)
		return ALLOC | OWN;
	return strstr(who.dli_fname, "libcrypto") == NULL ? ALLOC : 0;
}

static bool
no_memory(const void *from, void *const *frame)
{
	int before = errno;
	unsigned op = nrules > 0 ? asked_by(from) : 0;
	bool fails;

	if (op != 0)
		asker = from, asks = frame;
	fails = op != 0 && refused((enum op)op, "alloc", -1);

	errno = fails ? ENOMEM : before;
	return fails;
}

/* What was counted is written still: see tests/coverage/dump.c. */
void faults_end(void);
void
faults_end(void)
{
	nrules = 0;
}

#define CALLER __builtin_return_address(0), __builtin_frame_address(0)

void *
malloc(size_t len)
{
	REAL(real, malloc);
	return no_memory(CALLER) ? NULL : real(len);
}

void *
calloc(size_t n, size_t len)
{
	REAL(real, calloc);
	return no_memory(CALLER) ? NULL : real(n, len);
}

void *
realloc(void *old_room, size_t len)
{
	REAL(real, realloc);
	return no_memory(CALLER) ? NULL : real(old_room, len);
}

void *
reallocarray(void *old_room, size_t n, size_t len)
{
	REAL(real, reallocarray);
	return no_memory(CALLER) ? NULL : real(old_room, n, len);
}

void *
aligned_alloc(size_t unit, size_t len)
{
	REAL(real, aligned_alloc);
	return no_memory(CALLER) ? NULL : real(unit, len);
}

int
posix_memalign(void **room, size_t unit, size_t len)
{
	REAL(real, posix_memalign);
	return no_memory(CALLER) ? ENOMEM : real(room, unit, len);
}
