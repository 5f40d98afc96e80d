/*
 * Views.  A file or block device has a descriptor of its own.  For a SCSI end,
 * the relevant pieces are read into a sparse file in memory that is as long as
 * the disk.
 *
 * libblkid reads a block here and there, fifty times, each a request to a disk
 * that is not in the page cache.  So most of these blocks are read in advance,
 * by a few large requests.
 *
 * For the target of a rescue, such a file gets only data read from the source,
 * because the rest may still have the table of an earlier use of the disk.
 */
#include "part/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"

enum {
	PIECE = 512 << 10,	/* bytes per read, at most */
	SMALL = 64 << 10,	/* accepted by any host */
	SECTOR = 512,		/* bytes: smallest read of a rescue */
};

/* Read a piece of a SCSI disk, or of the target of a rescue. */
static void
view_bring(const struct view *v, struct io *io)
{
	ssize_t n;

	if (v->ep->is.probed) {
		endpoint_probe(v->ep, io);
		return;
	}
	memset(io->buf, 0, io->len);
	n = pread(v->from, io->buf, io->len, (off_t)io->off);
	io->err = n < 0 ? errno : 0;
	io->done = io->len;		/* a file may be shorter */
}

/* Zero what a rescue has not read, because it is not from the source. */
static void
view_forget(const struct view *v, const struct io *io)
{
	uint64_t off, end = io->off + io->done, n;

	for (off = io->off; v->map != NULL && off < end; off += SECTOR) {
		n = off < v->filled ? v->filled - off : 0;
		n = n < SECTOR ? n : SECTOR;
		if (n == 0 || !map_all(v->map, off, n, FINISHED))
			memset(io->buf + (off - io->off), 0, SECTOR);
	}
}

/* Bytes per read: bpt= may be set because the host accepts no more. */
static size_t
view_piece(const struct view *v, uint32_t block)
{
	int64_t bpt = v->ep->spec.bpt;
	size_t most = PIECE;

	if (bpt > 0 && bpt < PIECE / block)
		most = MAX((size_t)bpt * block, SMALL);
	return most - most % block;
}

/* Read from "off" to "end" into the file in memory. */
static int
view_copy(const struct view *v, uint64_t off, uint64_t end)
{
	uint32_t block = v->ep->geo.block > 0 ? v->ep->geo.block : SECTOR;
	size_t most = view_piece(v, block);
	struct io io = { .op = OP_READ };

	io.buf = page_alloc(PIECE);
	if (io.buf == NULL)
		return ENOMEM;
	for (io.off = off - off % block; io.off < end && io.err == 0;
	    io.off += io.done) {
		io.len = end - io.off < most ? (size_t)round_up(end - io.off,
		    block) : most;
		view_bring(v, &io);
		view_forget(v, &io);
		if (io.err == 0 && (io.done == 0 || pwrite(v->fd, io.buf,
		    io.done, (off_t)io.off) != (ssize_t)io.done))
			io.err = EIO;
	}
	free(io.buf);
	return io.err;
}

int
view_fill(const struct view *v, uint64_t off, uint64_t len)
{
	uint64_t end;

	if (off >= v->filled)
		return 0;
	end = len < v->filled - off ? off + len : v->filled;
	if (off < v->edge)
		off = v->edge;
	if (end > v->size - v->edge)
		end = v->size - v->edge;
	if (off >= end)
		return 0;
	if (v->sparse)
		return view_copy(v, off, end);
	if (v->ep->is.device)
		posix_fadvise(v->fd, (off_t)off, (off_t)(end - off),
		    POSIX_FADV_WILLNEED);
	return 0;
}

int
view_fill_ends(const struct view *v, uint64_t off, uint64_t len, uint64_t edge)
{
	int err;

	if (len <= 2 * edge)
		return view_fill(v, off, len);
	err = view_fill(v, off, edge);
	return err != 0 ? err : view_fill(v, off + len - edge, edge);
}

int
view_edges(struct view *v, uint64_t edge)
{
	int err;

	if (edge <= v->edge)
		return 0;
	err = view_fill_ends(v, 0, v->size, edge);
	v->edge = err == 0 ? MIN(edge, v->size) : 0;
	return err;
}

/* Make the empty file in memory. */
static int
make_sparse(struct view *v)
{
	v->fd = memfd_create("pardd", MFD_CLOEXEC);
	return v->fd < 0 || ftruncate(v->fd, (off_t)v->size) != 0 ? errno : 0;
}

/* A file in memory in the place of the contents of an end. */
static int
view_empty(struct view *v)
{
	v->fd = v->from = -1;
	v->sparse = true;
	if (!v->ep->is.probed) {
		v->from = endpoint_view(v->ep, &v->cached);
		if (v->from < 0)
			return errno;
	}
	return make_sparse(v);
}

int
view_rescued(struct view *v, struct endpoint *ep, const struct endpoint *whole,
    struct map *map)
{
	*v = (struct view){ .ep = ep, .size = (uint64_t)whole->geo.size,
		.sector = whole->geo.block, .filled = map_totals(map).end,
		.map = map };
	return view_empty(v);
}

int
view_bare(struct view *v, struct endpoint *ep)
{
	*v = (struct view){ .ep = ep, .size = (uint64_t)ep->geo.size,
		.sector = ep->geo.block, .filled = (uint64_t)ep->geo.size };
	return view_empty(v);
}

int
view_open(struct view *v, struct endpoint *ep)
{
	*v = (struct view){ .ep = ep, .fd = -1, .from = -1,
		.size = (uint64_t)(ep->lim.part > 0 ? ep->lim.disk_size :
		    ep->geo.size),
		.sector = ep->geo.block };
	v->filled = v->size;
	v->sparse = ep->is.probed;
	if (v->sparse)
		return make_sparse(v);
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
