/*
 * An error as a value: made where it is met, handed up, printed by report.c.
 */
#ifndef PARDD_FAULT_H
#define PARDD_FAULT_H

#include <stdarg.h>
#include <stdbool.h>

/*
 * Small: many a function has one on its stack, and a page that is touched for
 * the first time costs more than a system call.
 */
struct fault {
	int	status;		/* exit status; 0: nothing wrong */
	char	text[1020];	/* one sentence, without the program's name */
};

/*
 * Fill *f with a status and a sentence; of one that is too long the middle is
 * left out.  Always returns -1, so that a function can leave by
 * "return fault_set(...)".
 */
int fault_set(struct fault *f, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fault_vset(struct fault *f, int status, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/*
 * The same for a system call: the status is errno's (see status_errno), and
 * ": " with errno in words is appended.  Always returns -1.
 */
int fault_errno(struct fault *f, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* An errno in words, for any thread; a constant. */
const char *errno_words(int err);

/* The exit status for an errno: 50 + errno up to 96, else STATUS_FILE. */
int status_errno(int err);

/* Whether a read that failed with err met a bad spot, not a broken end. */
bool errno_is_medium(int err);

/* Whether a write that failed with err had no room, and lost nothing else. */
bool errno_is_full(int err);

/* Whether it says that the device is not there any more. */
bool errno_is_gone(int err);

#endif
