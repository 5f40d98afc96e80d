/*
 * What moves bytes, under all of its names.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/uio.h>

#include "shim.h"

static size_t
sum(const struct iovec *v, int n)
{
	size_t len = 0;
	int i;

	for (i = 0; i < n; i++)
		len += v[i].iov_len;
	return len;
}

/* v cut to len bytes, in room for n; returns how many are left. */
static int
clip(struct iovec *room, const struct iovec *v, int n, size_t len)
{
	int i;

	for (i = 0; i < n && len > 0; i++) {
		room[i] = v[i];
		if (room[i].iov_len > len)
			room[i].iov_len = len;
		len -= room[i].iov_len;
	}
	return i;
}

/* Turn over a bit of the byte at "at", if there is one. */
static void
flip(const struct iovec *v, int n, size_t at)
{
	int i;

	for (i = 0; i < n; at -= v[i++].iov_len)
		if (at < v[i].iov_len) {
			((unsigned char *)v[i].iov_base)[at] ^= 0x10;
			return;
		}
}

static void
fill(const struct iovec *v, int n, size_t len, unsigned byte)
{
	size_t part;
	int i;

	for (i = 0; i < n && len > 0; i++, len -= part) {
		part = len < v[i].iov_len ? len : v[i].iov_len;
		memset(v[i].iov_base, (int)byte, part);
	}
}

/* The last block that was read: keep it, or repeat it. */
static void
keep_last(const struct iovec *v, int n, size_t len, bool repeat)
{
	static unsigned char last[SECTOR];
	static size_t at;
	unsigned char *byte;
	size_t k;
	int i;

	for (i = 0; i < n && len > 0; i++)
		for (k = 0; k < v[i].iov_len && len > 0; k++, len--) {
			byte = (unsigned char *)v[i].iov_base + k;
			if (repeat)
				*byte = last[at];
			else
				last[at] = *byte;
			at = (at + 1) % SECTOR;
		}
}

/* The program's own bytes stay as they are. */
static ssize_t
write_flipped(int fd, const struct iovec *v, int n, int64_t at, int flags,
    size_t byte)
{
	struct iovec other;
	size_t len = sum(v, n), i;
	void *room;
	ssize_t moved;

	REAL(real, pwritev64v2);
	if (posix_memalign(&room, 4096, len) != 0)
		die("flip", "no memory");
	other = (struct iovec){ room, len };
	for (i = 0; i < len; v++) {
		memcpy((char *)room + i, v->iov_base, v->iov_len);
		i += v->iov_len;
	}
	flip(&other, 1, byte);
	moved = real(fd, &other, 1, at, flags);
	free(room);
	return moved;
}

/*
 * Every transfer comes through here: at < 0 is the file's own offset, flags
 * those of preadv2 and pwritev2.
 */
static ssize_t
transfer(enum op op, int fd, const struct iovec *v, int n, int64_t at, int flags)
{
	size_t len = sum(v, n);
	struct iovec room[64];
	struct verdict verdict = { .len = len };
	uint64_t off = 0;
	ssize_t moved;
	int saved;

	REAL(real_read, preadv64v2);
	REAL(real_write, pwritev64v2);
	if (flags != 0 && old(op, fd)) {
		note(op == READ ? "read" : "write", fd, 0, len, -EOPNOTSUPP);
		errno = EOPNOTSUPP;
		return -1;
	}
	if (len > 0 && n <= 64 && nrules > 0) {
		off = place(op, fd, at);
		verdict = judge(op, fd, off, len);
	}
	if (verdict.len < len) {
		n = clip(room, v, n, verdict.len);
		v = room;
	}
	errno = verdict.err;
	if (verdict.err != 0)
		moved = -1;
	else if (op == READ)
		moved = real_read(fd, v, n, at, flags);
	else if (verdict.flip)
		moved = write_flipped(fd, v, n, at, flags, verdict.at);
	else
		moved = real_write(fd, v, n, at, flags);
	if (op == READ && verdict.flip && moved > (ssize_t)verdict.at)
		flip(v, n, verdict.at);
	if (!verdict.touched)
		return moved;
	if (op == READ && verdict.zero && moved > 0)
		fill(v, n, (size_t)moved, verdict.fill);
	else if (op == READ && moved > 0)
		keep_last(v, n, (size_t)moved, verdict.stale);
	saved = errno;
	count(op, fd, moved);
	if (log_all || verdict.err != 0 || verdict.len < len || verdict.flip ||
	    verdict.zero || verdict.stale)
		note(op == READ ? "read" : "write", fd, off, len,
		    moved < 0 ? -saved : moved);
	errno = saved;
	return moved;
}

#define ONE(buf, len)	\
	&(struct iovec){ .iov_base = (void *)(uintptr_t)(buf), .iov_len = (len) }, 1

ssize_t
read(int fd, void *buf, size_t len)
{
	return transfer(READ, fd, ONE(buf, len), -1, 0);
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	return transfer(WRITE, fd, ONE(buf, len), -1, 0);
}

ssize_t
readv(int fd, const struct iovec *v, int n)
{
	return transfer(READ, fd, v, n, -1, 0);
}

ssize_t
writev(int fd, const struct iovec *v, int n)
{
	return transfer(WRITE, fd, v, n, -1, 0);
}

#define RESULT ssize_t
BOTH(pread64, pread, (int fd, void *buf, size_t len, off_t at),
    transfer(READ, fd, ONE(buf, len), at, 0))
BOTH(pwrite64, pwrite, (int fd, const void *buf, size_t len, off_t at),
    transfer(WRITE, fd, ONE(buf, len), at, 0))
BOTH(preadv64, preadv, (int fd, const struct iovec *v, int n, off_t at),
    transfer(READ, fd, v, n, at, 0))
BOTH(pwritev64, pwritev, (int fd, const struct iovec *v, int n, off_t at),
    transfer(WRITE, fd, v, n, at, 0))
BOTH(preadv64v2, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags),
    transfer(READ, fd, v, n, at, flags))
BOTH(pwritev64v2, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags),
    transfer(WRITE, fd, v, n, at, flags))
#undef RESULT

/* What _FORTIFY_SOURCE makes of the reads. */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __pread_chk(int fd, void *buf, size_t len, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *buf, size_t len, off_t at, size_t room);

ssize_t
__read_chk(int fd, void *buf, size_t len, size_t room)
{
	return len > room ? (abort(), -1) : read(fd, buf, len);
}

ssize_t
__pread_chk(int fd, void *buf, size_t len, off_t at, size_t room)
{
	return len > room ? (abort(), -1) : pread(fd, buf, len, at);
}

ssize_t
__pread64_chk(int fd, void *buf, size_t len, off_t at, size_t room)
{
	return len > room ? (abort(), -1) : pread(fd, buf, len, at);
}
