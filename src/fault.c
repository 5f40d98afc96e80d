/*
 * Errors as values: a status and a sentence.
 */
#include "fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "status.h"

/* strerror() shares a buffer between threads; this one is constant. */
static const char *
words(int err)
{
	const char *s = strerrordesc_np(err);

	return s != NULL ? s : "unknown error";
}

int
fault_set(struct fault *f, int status, const char *fmt, ...)
{
	va_list ap;

	f->status = status;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return -1;
}

int
fault_errno(struct fault *f, int err, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	f->status = status_errno(err);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	n = strlen(f->text);
	snprintf(f->text + n, sizeof(f->text) - n, ": %s", words(err));
	return -1;
}

int
status_errno(int err)
{
	return err > 0 && err <= 46 ? STATUS_ERRNO + err : STATUS_FILE;
}

bool
errno_is_medium(int err)
{
	return err == EIO || err == ENODATA || err == EILSEQ ||
	    err == EREMOTEIO;		/* hardware error, says the disk */
}
