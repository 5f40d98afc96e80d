/*
 * Ends that are read and written in order: pipes, terminals, character devices,
 * and files that are appended to.  The engine lets one worker at a time in
 * here, in order (turn_wait, and the lock "order" of job.h); this also guards
 * the state between two requests.
 */
#include "end/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/opts.h"
#include "file.h"

enum { WINDOW = 4 << 20 };	/* bytes */

struct stream {
	int		fd;
	int		counts;	/* finds holes, which moves it; or -1 */
	uint64_t	pos;	/* of the next byte; for the worker that has the
				 * turn */
	uint64_t	end;	/* end of the file after the last append */
	uint64_t	begun;	/* up to there writing back was begun, of an */
	uint64_t	gone;	/* appended file, and dropped from the cache */
	bool		pipe;	/* read in whole packets, see read_packet */
	size_t		at, left;	/* bytes of a packet not yet taken */
	unsigned char	packet[PIPE_BUF];
};

static int
stream_open_flags(const struct endpoint *ep)
{
	int flags = O_NOCTTY;

	flags |= ep->spec.role == SOURCE ? O_RDONLY : O_WRONLY;
	flags |= (ep->spec.flags & FLAG_APPEND) != 0 ? O_APPEND : 0;
	flags |= (ep->spec.flags & FLAG_NONBLOCK) != 0 ? O_NONBLOCK : 0;
	flags |= (ep->spec.flags & FLAG_DSYNC) != 0 ? O_DSYNC : 0;
	flags |= (ep->spec.flags & FLAG_SYNC) != 0 ? O_SYNC : 0;
	return flags;
}

static int
open_fd(struct endpoint *ep, struct stream *s, struct fault *f)
{
	struct stat st;

	s->fd = ep->is.inherited ? fcntl(ep->fd, F_DUPFD_CLOEXEC, 3) :
	    open_found(ep->fd, ep->name, stream_open_flags(ep));
	if (s->fd < 0)
		return fault_found(f, ep);
	if ((ep->spec.flags & FLAG_FLOCK) != 0 &&
	    flock(s->fd, LOCK_EX | LOCK_NB) != 0)
		return fault_errno(f, errno, "%s: flock", ep->name);
	if (fstat(s->fd, &st) != 0)
		return fault_errno(f, errno, "%s", ep->name);
	s->pipe = ep->spec.role == SOURCE && S_ISFIFO(st.st_mode);
	ep->is.durable = ep->spec.role == TARGET && S_ISREG(st.st_mode);
	if (ep->is.durable)
		s->counts = ep->is.inherited ? reopen(s->fd, "", O_RDONLY) :
		    fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
	ep->is.seekable = (ep->spec.flags & FLAG_APPEND) == 0 &&
	    lseek(s->fd, 0, SEEK_CUR) >= 0;
	s->pos = ep->lim.base;
	return 0;
}

static bool
stream_appended(const struct endpoint *ep)
{
	return ep->is.durable && (ep->spec.flags & FLAG_APPEND) != 0;
}

/* --dry-run: opening a FIFO would wait, so describe it without. */
static int
stream_dry_run(struct endpoint *ep, struct fault *f)
{
	ep->is.seekable = ep->is.device;
	if (!ep->is.absent && faccessat(AT_FDCWD, ep->name,
	    ep->spec.role == SOURCE ? R_OK : W_OK, AT_EACCESS) != 0)
		return fault_found(f, ep);
	return 0;
}

static int
stream_close(struct endpoint *ep)
{
	struct stream *s = ep->priv;
	int err = s->fd >= 0 && close(s->fd) != 0 ? errno : 0;

	if (s->counts >= 0)
		close(s->counts);
	free(s);
	return err;
}

static int
stream_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct stream *s = calloc(1, sizeof(*s));
	int failed = 0;

	if (s == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	s->fd = s->counts = -1;
	ep->priv = s;
	ep->is.streamed = true;
	if (look && !ep->is.inherited)
		failed = stream_dry_run(ep, f);
	else if (!ep->is.absent)
		failed = open_fd(ep, s, f);
	if (failed == 0)
		return 0;
	stream_close(ep);
	return -1;
}

/* Data is appended at the present end of the file. */
static int
lock_end(const struct endpoint *ep, const struct stream *s, struct fault *f)
{
	return ep->is.inherited || !stream_appended(ep) ? 0 :
	    file_lock(ep, s->fd, ep->lim.base, UINT64_MAX, f);
}

static int
stream_check_range(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f)
{
	const struct stream *s = ep->priv;

	(void)from, (void)to, (void)src, (void)src_from;
	return s->fd < 0 ? 0 : lock_end(ep, s, f);
}

/* Have the kernel append, also by a descriptor that was not opened for it. */
static int
append_by(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_APPEND) != 0)
		return flags < 0 ? -1 : 0;
	return fcntl(fd, F_SETFL, flags | O_APPEND);
}

static int
stream_prepare(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct stream *s = ep->priv;

	(void)length;
	if (s->fd < 0)
		return open_fd(ep, s, f) != 0 || lock_end(ep, s, f) != 0 ? -1 :
		    0;
	if (ep->is.inherited && stream_appended(ep) && append_by(s->fd) != 0)
		return fault_errno(f, errno, "%s", ep->name);
	return 0;
}

/* Wait until the descriptor is ready; false with an error in the io. */
static bool
stream_ready(const struct lane *lane, struct io *io, short events)
{
	const struct stream *s = lane->ep->priv;
	struct pollfd p[2] = { { .fd = s->fd, .events = events },
		{ .fd = lane->halt, .events = POLLIN } };

	while (poll(p, events == POLLIN ? 2 : 1, -1) < 0)
		if (errno != EINTR) {
			io->err = errno;
			return false;
		}
	if (p[1].revents != 0)
		io->err = ECANCELED;
	return io->err == 0;
}

/* Read at most n bytes. 0 is the end, or an error in the io. */
static size_t
read_fd(const struct lane *lane, struct io *io, unsigned char *buf, size_t n)
{
	const struct stream *s = lane->ep->priv;
	struct clock_limit limit = { .seconds = lane->ep->spec.timeout };
	ssize_t got;

	while (stream_ready(lane, io, POLLIN)) {
		got = read(s->fd, buf, n);
		if (got >= 0)
			return (size_t)got;
		if (!lane->ep->is.seekable)	/* others may read it, too */
			limit.until = 0;
		if (!io_again(errno, &limit)) {
			io->err = errno;
			break;
		}
	}
	return 0;
}

/*
 * The same for a pipe, when there is little room.  Its writer may use packets
 * (O_DIRECT), and a read drops what does not fit.  What we do not need stays in
 * the pipe for its next reader.
 */
static size_t
read_packet(const struct lane *lane, struct io *io, unsigned char *buf,
    size_t n)
{
	struct stream *s = lane->ep->priv;
	uint64_t wanted = lane->ep->lim.end - s->pos;
	size_t room = wanted < PIPE_BUF ? (size_t)wanted : PIPE_BUF;

	if (s->left == 0) {
		s->at = 0;
		s->left = read_fd(lane, io, s->packet, room > n ? room : n);
	}
	n = n < s->left ? n : s->left;
	memcpy(buf, s->packet + s->at, n);
	s->at += n;
	s->left -= n;
	return n;
}

static size_t
stream_read_some(const struct lane *lane, struct io *io, unsigned char *buf,
    size_t n)
{
	struct stream *s = lane->ep->priv;
	bool packet = s->left > 0 || (s->pipe && n < PIPE_BUF);

	n = packet ? read_packet(lane, io, buf, n) : read_fd(lane, io, buf, n);
	s->pos += n;
	return n;
}

/* A file of unknown size allows seeks beyond its end. */
static bool
ends_before(const struct lane *lane, uint64_t off)
{
	const struct stream *s = lane->ep->priv;
	char c;

	return !lane->ep->is.device && pread(s->fd, &c, 1, (off_t)off - 1) == 0;
}

/* Some drivers' seek succeeds and goes nowhere. */
static bool
stream_seek(const struct stream *s, uint64_t off)
{
	off_t at = lseek(s->fd, (off_t)off, SEEK_SET);

	if (at >= 0 && (uint64_t)at != off)
		errno = ESPIPE;
	return at >= 0 && (uint64_t)at == off;
}

/* Go forward to the start of the io, by seeking or by reading. */
static bool
stream_advance(const struct lane *lane, struct io *io)
{
	struct stream *s = lane->ep->priv;

	if (s->pos == io->off)
		return true;
	if (stream_seek(s, io->off)) {
		s->pos = io->off;
		if (ends_before(lane, io->off))
			io->err = ESPIPE;
		return io->err == 0;
	}
	while (s->pos < io->off && io->err == 0) {
		uint64_t left = io->off - s->pos;
		size_t n = left < io->len ? (size_t)left : io->len;

		if (stream_read_some(lane, io, io->buf, n) == 0 && io->err == 0)
			io->err = ESPIPE;
	}
	return io->err == 0;
}

static void
stream_read(const struct lane *lane, struct io *io)
{
	size_t n;

	if (!stream_advance(lane, io))
		return;
	while (io->done < io->len) {
		n = stream_read_some(lane, io, io->buf + io->done,
		    io->len - io->done);
		if (n == 0)
			break;
		io->done += n;
	}
}

/*
 * For an appended file: false if it now ends before the data that was appended.
 */
static bool
stream_still_there(const struct lane *lane, struct io *io)
{
	const struct stream *s = lane->ep->priv;
	struct stat st;

	if (s->end == 0 || fstat(s->fd, &st) != 0 ||
	    (uint64_t)st.st_size >= s->end)
		return true;
	io_cut_off(io, (uint64_t)st.st_size);
	return false;
}

/* Fail an io whose data went to "at" instead of its place. */
static void
stream_displaced(struct io *io, uint64_t at)
{
	io->err = EIO;
	io->status = STATUS_FILE;
	io->spent = true;
	snprintf(io->why, sizeof(io->why), "others have appended to it, too: "
	    "what should be at byte %llu of it is at byte %llu",
	    (unsigned long long)io->off, (unsigned long long)at);
}

/*
 * Check where the kernel has appended.  That is elsewhere if others have
 * appended to the file meanwhile, or have cut it off.
 */
static void
check_end(const struct lane *lane, struct io *io)
{
	struct stream *s = lane->ep->priv;
	off_t end = lseek(s->fd, 0, SEEK_CUR);
	uint64_t at = (uint64_t)end - io->done;
	struct stat st;

	if (end < 0 || (size_t)end < io->done || fstat(s->fd, &st) != 0 ||
	    st.st_size < end)
		return;			/* its size is not real */
	if (at == io->off) {
		s->end = (uint64_t)end;
		return;
	}
	io->done = 0;				/* not there */
	if (at < io->off)
		io_cut_off(io, at);
	else
		stream_displaced(io, at);
}

/* Whether an append is to leave nothing in the page cache. */
static bool
stream_behind(const struct endpoint *ep)
{
	return stream_appended(ep) && (ep->spec.flags & FLAG_CACHED) == 0;
}

/*
 * Begin to write back what was appended, and drop what came before, which has
 * been written by now.  Nothing is waited for, so no error is taken from the
 * flush.  Returns 0 or an errno value.
 */
static int
stream_drop_behind(struct stream *s)
{
	int err;

	if (s->begun == 0)
		s->begun = s->gone = s->end;
	if (s->end < s->begun + WINDOW)
		return 0;
	err = write_back(s->fd, s->begun, s->end, SYNC_FILE_RANGE_WRITE);
	if (s->gone < s->begun)
		(void)posix_fadvise(s->fd, (off_t)s->gone, (off_t)(s->begun -
		    s->gone), POSIX_FADV_DONTNEED);
	s->gone = s->begun;
	s->begun = s->end;
	return err;
}

static void
stream_write(const struct lane *lane, struct io *io)
{
	struct stream *s = lane->ep->priv;
	struct clock_limit limit = { .seconds = lane->ep->spec.timeout };
	ssize_t n;

	if (lane->ep->is.seekable && s->pos != io->off &&
	    !stream_seek(s, io->off))
		io->err = errno;
	s->pos = io->off + io->len;
	if (io->err == 0 && !stream_still_there(lane, io))
		return;
	while (io->done < io->len && io->err == 0) {
		n = write(s->fd, io->buf + io->done, io->len - io->done);
		if (n > 0)
			io->done += (size_t)n;
		else if (n == 0)
			io->err = EIO;
		else if (errno == EAGAIN && !lane->ep->is.durable)
			stream_ready(lane, io, POLLOUT);
		else if (!io_again(errno, &limit))
			io->err = errno;
	}
	io->spent = lane->ep->is.durable;
	if (io->err == 0 && stream_appended(lane->ep))
		check_end(lane, io);
	if (io->err == 0 && stream_behind(lane->ep))
		io->err = stream_drop_behind(s);
}

static void
stream_transfer(struct lane *lane, struct io *io)
{
	switch (io->op) {
	case OP_READ:
		stream_read(lane, io);
		break;
	case OP_WRITE:
		stream_write(lane, io);
		break;
	case OP_ZERO:
		io->err = EOPNOTSUPP;
		break;
	}
}

static int
stream_flush(struct endpoint *ep, struct fault *f)
{
	const struct stream *s = ep->priv;
	int err = ep->is.durable ?
	    flush_fd(fdatasync, s->fd, ep->spec.timeout) : 0;

	if (err == EINVAL)
		err = 0;		/* from the kernel, on no medium */
	return err == 0 ? 0 : fault_errno(f, err, "%s: flushing", ep->name);
}

/* If others append too, the file may be longer, and holes may be theirs. */
static int
stream_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t most, struct fault *f)
{
	const struct stream *s = ep->priv;
	struct stat st;

	if (fstat(s->fd, &st) != 0)
		return fault_errno(f, errno, "%s, at the end", ep->name);
	if ((uint64_t)st.st_size < s->end)
		return endpoint_cut_off(ep, (uint64_t)st.st_size, f);
	if (s->end == to && holes_more(s->counts, from, to, most))
		return endpoint_holed(ep, f);
	return endpoint_named(ep, &st, f);
}

static void
stream_note(const struct endpoint *ep, char *text, size_t room)
{
	const struct stream *s = ep->priv;

	if (ep->spec.role == SOURCE)
		endpoint_moved(ep, s->fd, text, room);
}

static void
stream_drop_cache(struct endpoint *ep, uint64_t off, uint64_t len)
{
	const struct stream *s = ep->priv;

	if (stream_behind(ep))
		(void)posix_fadvise(s->fd, (off_t)off, (off_t)len,
		    POSIX_FADV_DONTNEED);
}

const struct backend stream_backend = {
	.open = stream_open,
	.check_range = stream_check_range,
	.prepare = stream_prepare,
	.transfer = stream_transfer,
	.check_kept = stream_check_kept,
	.note = stream_note,
	.flush = stream_flush,
	.drop_cache = stream_drop_cache,
	.close = stream_close,
};
