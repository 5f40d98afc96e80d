/*
 * Views.  A file or block device gives a descriptor of its own; a SCSI end has
 * none, so the pieces that matter are read into a sparse file in memory that is
 * as long as the disk: both ends at once, the rest when it is asked for.
 *
 * For a rescue's target such a file gets only what was read of the source:
 * elsewhere there may be the table of a disk that the target once was.
 */
#include "part/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/number.h"

enum {
	EDGE = 1 << 20,		/* bytes at both ends of a disk */
	PIECE = 64 << 10,	/* bytes of a read */
	SECTOR = 512,		/* bytes: a rescue may have read one alone */
};

/* Read a piece: of a SCSI disk, or of the target of a rescue. */
static void
bring(const struct view *v, struct io *io)
{
	ssize_t n;

	if (endpoint_probed(v->ep)) {
		endpoint_probe(v->ep, io);
		return;
	}
	memset(io->buf, 0, io->len);
	n = pread(v->from, io->buf, io->len, (off_t)io->off);
	io->err = n < 0 ? errno : 0;
	io->done = io->len;		/* a file may be shorter */
}

/* What a rescue has not read is none of the source's. */
static void
forget(const struct view *v, const struct io *io)
{
	uint64_t off, end = io->off + io->done, n;

	for (off = io->off; v->map != NULL && off < end; off += SECTOR) {
		n = off < v->filled ? v->filled - off : 0;
		n = n < SECTOR ? n : SECTOR;
		if (n == 0 || !map_all(v->map, off, n, FINISHED))
			memset(io->buf + (off - io->off), 0, SECTOR);
	}
}

int
view_fill(const struct view *v, uint64_t off, uint64_t len)
{
	uint32_t block = v->ep->block > 0 ? v->ep->block : SECTOR;
	size_t most = PIECE - PIECE % block;
	struct io io = { .op = OP_READ };
	uint64_t end;

	if (!v->sparse || off >= v->filled)
		return 0;
	end = len < v->filled - off ? off + len : v->filled;
	io.buf = aligned_alloc(4096, PIECE);
	if (io.buf == NULL)
		return ENOMEM;
	for (io.off = off - off % block; io.off < end && io.err == 0;
	    io.off += io.done) {
		io.len = v->filled - io.off < most ? (size_t)round_up(
		    v->filled - io.off, block) : most;
		bring(v, &io);
		forget(v, &io);
		if (io.err == 0 && (io.done == 0 || pwrite(v->fd, io.buf,
		    io.done, (off_t)io.off) != (ssize_t)io.done))
			io.err = EIO;
	}
	free(io.buf);
	return io.err;
}

static int
read_edges(struct view *v)
{
	int err;

	v->fd = memfd_create("pardd", MFD_CLOEXEC);
	if (v->fd < 0 || ftruncate(v->fd, (off_t)v->size) != 0)
		return errno;
	err = view_fill(v, 0, EDGE);
	return err != 0 || v->size <= EDGE ? err :
	    view_fill(v, v->size - EDGE, EDGE);
}

int
view_rescued(struct view *v, struct endpoint *ep, const struct endpoint *whole,
    struct map *map)
{
	*v = (struct view){ .ep = ep, .fd = -1, .sparse = true, .from = -1,
		.size = (uint64_t)whole->size, .sector = whole->block,
		.filled = map_totals(map).end, .map = map };
	if (!endpoint_probed(ep)) {
		v->from = endpoint_view(ep, &v->cached);
		if (v->from < 0)
			return errno;
	}
	return read_edges(v);
}

int
view_open(struct view *v, struct endpoint *ep)
{
	*v = (struct view){ .ep = ep, .fd = -1, .from = -1,
		.size = (uint64_t)(ep->part > 0 ? ep->whole : ep->size),
		.sector = ep->block };
	v->filled = v->size;
	v->sparse = endpoint_probed(ep);
	if (v->sparse)
		return read_edges(v);
	v->fd = endpoint_view(ep, &v->cached);
	return v->fd < 0 ? errno : 0;
}

void
view_close(struct view *v)
{
	int fd = v->from >= 0 ? v->from : v->fd;

	if (fd >= 0 && !v->cached && (v->from >= 0 || !v->sparse))
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (v->from >= 0)
		close(v->from);
	if (v->fd >= 0)
		close(v->fd);
}

bool
view_known(const struct view *v, uint64_t off, uint64_t len)
{
	return v->map == NULL || map_all(v->map, off, len, FINISHED);
}

bool
view_read(const struct view *v, uint64_t off, unsigned char *buf, size_t len)
{
	return off <= v->size && len <= v->size - off && pread(v->fd, buf, len,
	    (off_t)off) == (ssize_t)len;
}
