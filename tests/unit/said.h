/*
 * What a call prints on standard error; included once, by a test.
 */
#ifndef PARDD_TEST_SAID_H
#define PARDD_TEST_SAID_H

#include <sys/mman.h>

/* That text, until the next one. */
#define SAID(call)	(hear(), (call), heard())

static struct {
	int	kept, by;
	char	text[1 << 14];
} said;

static void
hear(void)
{
	fflush(stderr);
	said.kept = dup(STDERR_FILENO);
	said.by = memfd_create("said", MFD_CLOEXEC);
	assert_true(dup2(said.by, STDERR_FILENO) >= 0);
}

static const char *
heard(void)
{
	ssize_t n;

	fflush(stderr);
	n = pread(said.by, said.text, sizeof(said.text) - 1, 0);
	dup2(said.kept, STDERR_FILENO);
	close(said.kept);
	close(said.by);
	assert_true(n >= 0);
	said.text[n] = '\0';
	return said.text;
}

#endif
