/*
 * An error as a value: made where it occurs, passed up, printed by report.c.
 */
#ifndef PARDD_FAULT_H
#define PARDD_FAULT_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

enum told {			/* by these the same fault is known again */
	TOLD_ONCE,		/* by whoever has met it */
	TOLD_OF_SOURCE,		/* by the check that it is still there */
	TOLD_OF_TARGET,		/* the same */
	TOLD_OF_MAP,		/* that its file cannot be written */
	TOLD_DROPPED,		/* a target failed */
	TOLD_SILENT,		/* a target did not answer in time */
	TOLD_LEASED,		/* it was not opened: who has a lease on the
				 * file was asked to give it up */
} __attribute__((packed));

/*
 * Kept small: many functions have one on the stack, and touching a page for the
 * first time costs more than a system call.
 */
struct fault {
	int	status;		/* exit status; 0: nothing wrong */
	enum told by;		/* who has found it */
	unsigned char err;	/* the errno value, or 0 */
	unsigned short named;	/* bytes of "NAME: " at its beginning, if NAME
				 * is the target that was dropped */
	unsigned force;		/* the words of force= that override it, or 0 */
	const char *end;	/* the name of the end that it concerns, or
				 * NULL: none, both, or not known here */
	char	text[1000];	/* one sentence, without the program's name */
};

/*
 * Fill *f with a status and a sentence; a sentence that is too long loses its
 * middle.  Always returns -1, so that a function can end with
 * "return fault_set(...)".
 */
int fault_set(struct fault *f, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same for a system call: the status is errno's (see status_errno), and
 * ": " with errno in words is appended.  Always returns -1.
 */
int fault_errno(struct fault *f, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Opening a file without waiting fails with EAGAIN if another process has a
 * lease on it (fcntl(2), F_SETLEASE), which it has been asked to give up now:
 * say so; f->by becomes TOLD_LEASED.  Always returns -1.
 */
int fault_leased(struct fault *f, const char *name);

/* The text for an errno: a constant string, safe in any thread. */
const char *errno_words(int err);

/* The exit status for an errno: 50 + errno up to 96, else STATUS_FILE. */
int status_errno(int err);

/* Whether a read that failed with err hit a bad block, not a dead device. */
static inline bool
errno_is_medium(int err)
{
	return err == EIO || err == ENODATA || err == EILSEQ ||
	    err == EREMOTEIO ||		/* EREMOTEIO: hardware error */
	    err == EUCLEAN || err == EBADMSG;	/* file system is damaged */
}

/* Whether a write that failed with err just ran out of room. */
static inline bool
errno_is_full(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EFBIG;
}

/* Whether err says that the device is gone. */
static inline bool
errno_is_gone(int err)
{
	return err == ENODEV || err == ENXIO || err == ENOMEDIUM ||
	    err == ENOLINK || err == ESHUTDOWN || err == ENOTCONN;
}

#endif
