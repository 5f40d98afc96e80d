/*
 * Errors as values: a status and a message.
 */
#include "base/fault.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/libc.h"
#include "base/status.h"

/* strerror() may use a shared buffer; these texts are constant. */
const char *
errno_words(int err)
{
	const char *s = strerrordesc_np(err);

	return s != NULL ? s : "unknown error";
}

/*
 * A message made too long by names loses its middle, because the reason comes
 * last.  The beginning is already there.
 */
static void __attribute__((format(printf, 3, 0)))
fault_shorten(struct fault *f, const char *reason, const char *fmt, va_list ap)
{
	static const char gap[] = " [...] ";
	size_t half = sizeof(f->text) / 2, left = half - sizeof(gap), n;
	char *whole;

	if (vasprintf(&whole, fmt, ap) < 0)
		whole = NULL;		/* at least the reason */
	left -= strlen(reason);
	n = whole != NULL ? strlen(whole) : 0;
	snprintf(f->text + half, sizeof(f->text) - half, "%s%s%s", gap,
	    n > left ? whole + n - left : "", reason);
	free(whole);
}

static void __attribute__((format(printf, 3, 0)))
fault_compose(struct fault *f, const char *reason, const char *fmt, va_list ap)
{
	size_t room = sizeof(f->text), n;
	va_list again;

	va_copy(again, ap);
	vsnprintf(f->text, room, fmt, ap);
	n = strlen(f->text);
	if (n + strlen(reason) < room - 1)
		strlcpy(f->text + n, reason, room - n);
	else
		fault_shorten(f, reason, fmt, again);
	va_end(again);
}

static void
fault_begin(struct fault *f, int status)
{
	f->status = status;
	f->by = TOLD_ONCE;
	f->err = status > STATUS_ERRNO && status_errno(status - STATUS_ERRNO) ==
	    status ? (unsigned char)(status - STATUS_ERRNO) : 0;
	f->named = 0;
	f->force = 0;
	f->end = NULL;
}

int
fault_set(struct fault *f, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fault_begin(f, status);
	fault_compose(f, "", fmt, ap);
	va_end(ap);
	return -1;
}

int
fault_errno(struct fault *f, int err, const char *fmt, ...)
{
	char reason[80];
	va_list ap;

	fault_begin(f, status_errno(err));
	f->err = (unsigned char)err;
	snprintf(reason, sizeof(reason), ": %s", errno_words(err));
	va_start(ap, fmt);
	fault_compose(f, reason, fmt, ap);
	va_end(ap);
	return -1;
}

int
fault_leased(struct fault *f, const char *name)
{
	fault_set(f, status_errno(EAGAIN), "%s: another program, such as a "
	    "file server, has a lease on it", name);
	f->by = TOLD_LEASED;
	return -1;
}

int
status_errno(int err)
{
	return err > 0 && err <= 46 ? STATUS_ERRNO + err : STATUS_FILE;
}
