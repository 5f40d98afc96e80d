/*
 * Shared by several kinds of end: messages about a target that has changed, a
 * flush, and whether a disk has FUA.
 */
#include "end/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/number.h"
#include "base/path.h"
#include "base/status.h"

int
endpoint_cut_off(const struct endpoint *ep, uint64_t at, struct fault *f)
{
	return fault_set(f, STATUS_FILE, "%s was truncated at byte "
	    "%llu during the copy, or blocks were cut out of it", ep->name,
	    (unsigned long long)at);
}

void
endpoint_moved(const struct endpoint *ep, int fd, char *text, size_t room)
{
	const struct timespec *was = &ep->id.written;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_size != ep->id.size || st.st_mtim.tv_sec != was->tv_sec ||
	    st.st_mtim.tv_nsec != was->tv_nsec))
		snprintf(text, room, "was written to while it was read; the "
		    "copy may mix old and new data");
}

int
endpoint_zoned(const struct endpoint *ep, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%s is a zoned disk "
	    "(host-managed): write to its block device, zone by zone, not by "
	    "commands", ep->name);
}

int
endpoint_holed(const struct endpoint *ep, struct fault *f)
{
	return fault_set(f, STATUS_FILE, "%s was truncated during the copy, or "
	    "holes were made in it, or its file system lost data", ep->name);
}

/*
 * Whether the name of a file now belongs to another.  A file that was only
 * moved is found by its current name.
 */
static bool
another_has_name(const struct endpoint *ep, const struct stat *st)
{
	struct stat now;

	return !ep->is.inherited && stat(ep->name, &now) == 0 &&
	    !same_file(&now, st);
}

int
endpoint_named(const struct endpoint *ep, const struct stat *st,
    struct fault *f)
{
	if (!ep->is.linked || (st->st_nlink > 0 && !another_has_name(ep, st)))
		return 0;
	return fault_errno(f, ENOENT, "%s was removed or replaced during the "
	    "copy", ep->name);
}

static bool
in_dev(const struct endpoint *ep)
{
	return strncmp(ep->name, "/dev/", 5) == 0;
}

/* The flag of chattr(1) that forbids writing to a file, or in a directory. */
static char
backend_forbids(const struct endpoint *ep)
{
	struct statx x;

	if (ep->spec.role == SOURCE || ep->is.inherited ||
	    statx(ep->is.absent ? ep->dir : AT_FDCWD, ep->is.absent ? "" :
	    ep->name, AT_EMPTY_PATH, 0, &x) != 0)
		return '\0';
	return (x.stx_attributes & STATX_ATTR_IMMUTABLE) != 0 ? 'i' :
	    (x.stx_attributes & STATX_ATTR_APPEND) != 0 ? 'a' : '\0';
}

int
fault_found(struct fault *f, const struct endpoint *ep)
{
	int err = errno;
	char flag = err == EPERM ? backend_forbids(ep) : '\0';

	if (err == EAGAIN)
		return fault_leased(f, ep->name);
	if (err == ESTALE)
		return fault_set(f, status_errno(ENOENT), "%s was removed or "
		    "replaced while it was being opened", ep->name);
	if (err == EROFS && ep->is.device)
		return fault_set(f, status_errno(err), "%s is write-protected",
		    ep->name);
	if (err == EACCES && geteuid() != 0 && in_dev(ep))
		return fault_set(f, status_errno(err), "%s: %s (are you root?)",
		    ep->name, errno_words(err));
	if (err == ENOENT && ep->spec.role == SOURCE && in_dev(ep))
		return fault_set(f, status_errno(err), "%s: %s; %s", ep->name,
		    errno_words(err), strstr(ep->name, "of=") != NULL ?
		    "is there no space before of=?" :
		    "pardd -l lists the disks");
	if (flag != '\0')
		return fault_set(f, status_errno(err), "%s: %s, because %s has "
		    "the attribute %c of chattr(1): chattr -%c takes it away",
		    ep->name, errno_words(err), ep->is.absent ?
		    "its directory" : "it", flag, flag);
	return fault_errno(f, err, "%s", ep->name);
}

void
io_cut_off(struct io *io, uint64_t at)
{
	io->err = EIO;
	io->status = STATUS_FILE;
	io->spent = true;
	snprintf(io->why, sizeof(io->why), "it was truncated at byte %llu "
	    "during the copy", (unsigned long long)at);
}

bool
io_again(int err, struct clock_limit *limit)
{
	if ((err != EINTR && err != EAGAIN) || !clock_within(limit))
		return false;
	if (err == EAGAIN)
		poll(NULL, 0, 10);
	return true;
}

int
flush_fd(int (*sync)(int), int fd, unsigned timeout)
{
	struct clock_limit limit = { .seconds = timeout };

	while (sync(fd) != 0)
		if (errno != EINTR || !io_again(errno, &limit))
			return errno;
	return 0;
}

int
endpoint_try_fua(struct endpoint *r, const char *command, int status,
    struct fault *f)
{
	struct io io = { .op = OP_READ, .len = r->geo.io_align,
		.buf = page_alloc(r->geo.io_align) };

	if (io.buf == NULL)
		return fault_errno(f, ENOMEM, "%s", r->name);
	if (r->geo.size > 0)
		endpoint_probe(r, &io);
	free(io.buf);
	if (status != 0 ? io.status != status : io.err != EPROTO)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s cannot be read past its cache: "
	    "it refuses %s with FUA (%s)", r->name, command, io.why);
}
