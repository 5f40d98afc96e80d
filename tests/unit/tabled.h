/*
 * Disks with partition tables, made up in memory: each is an end that can be
 * viewed as a file is, or probed as a SCSI disk is, and read back.  Included
 * once, by a test.
 */
#ifndef PARDD_TEST_TABLED_H
#define PARDD_TEST_TABLED_H

#include <bsd/sys/endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/end/backend.h"
#include "base/fault.h"
#include "disk/disk.h"

#define MIB	((uint64_t)1 << 20)

enum { SECTOR = 512, DISK_SECTORS = 4096 };

struct tabled {
	struct endpoint ep;
	int	 fd;
	int	 view_err;		/* opening it for a view fails so */
	uint64_t lost;			/* a byte that cannot be read, */
	bool	 ends;			/* ... as the disk ends there */
	int	 attach_err;		/* a lane of it fails so */
	bool	 hidden;		/* it cannot be read back */
	struct disk disk;		/* what is known of it */
};

static struct fault f;

static struct tabled *
tabled(const struct endpoint *ep)
{
	return (struct tabled *)ep->priv;
}

static int
tabled_view(const struct endpoint *ep, bool *cached)
{
	*cached = false;
	if (tabled(ep)->view_err != 0) {
		errno = tabled(ep)->view_err;
		return -1;
	}
	return dup(tabled(ep)->fd);
}

static void
tabled_get(const struct tabled *t, struct io *io)
{
	ssize_t n;

	if (io->off <= t->lost && t->lost < io->off + io->len) {
		io->err = t->ends ? 0 : EIO;
		return;
	}
	memset(io->buf, 0, io->len);
	n = pread(t->fd, io->buf, io->len, (off_t)io->off);
	io->done = n < 0 ? 0 : (size_t)n;
}

static void
tabled_probe(struct endpoint *ep, struct io *io)
{
	tabled_get(tabled(ep), io);
}

static void
tabled_transfer(struct lane *lane, struct io *io)
{
	tabled_get(tabled(lane->ep), io);
}

static int
tabled_attach(struct lane *lane)
{
	return tabled(lane->ep)->attach_err;
}

static int
tabled_readback(const struct endpoint *ep, struct endpoint *back,
    struct fault *why)
{
	*back = *ep;
	back->geo.io_align = SECTOR;
	return tabled(ep)->hidden ? fault_set(why, 1, "hidden") : 0;
}

static void
tabled_disk(const struct endpoint *ep, struct disk *d)
{
	*d = tabled(ep)->disk;
}

static const struct backend viewed = { .view = tabled_view,
	.attach = tabled_attach, .transfer = tabled_transfer,
	.open_readback = tabled_readback, .disk = tabled_disk };
static const struct backend probed = { .probe = tabled_probe,
	.attach = tabled_attach, .transfer = tabled_transfer,
	.open_readback = tabled_readback, .disk = tabled_disk };
static const struct backend blind = { .transfer = tabled_transfer };

/* An empty disk of so many sectors. */
static void
begin_disk(struct tabled *t, const char *name, const struct backend *be,
    uint32_t sector, uint64_t sectors)
{
	*t = (struct tabled){ .lost = UINT64_MAX };
	t->fd = memfd_create(name, MFD_CLOEXEC);
	assert_int_equal(ftruncate(t->fd, (off_t)(sectors * sector)), 0);
	t->ep = (struct endpoint){ .be = be, .priv = t, .name = name,
		.fd = -1, .dir = -1, .layer = -1,
		.is = { .device = true },
		.geo = { .size = (int64_t)(sectors * sector),
		    .room = (int64_t)(sectors * sector), .block = sector,
		    .io_align = sector },
		.lim = { .end = UINT64_MAX } };
}

static void
end_disk(struct tabled *t)
{
	close(t->fd);
}

static void
fill(const struct tabled *t, uint64_t off, const void *bytes, size_t n)
{
	assert_true(pwrite(t->fd, bytes, n, (off_t)off) == (ssize_t)n);
}

/* A row of the MBR, or of a link, in the sector at off. */
static void
add_row(const struct tabled *t, uint64_t off, unsigned i, unsigned type,
    uint32_t start, uint32_t sectors)
{
	unsigned char row[16] = { [4] = (unsigned char)type };

	le32enc(row + 8, start);
	le32enc(row + 12, sectors);
	fill(t, off + 446 + 16 * (uint64_t)i, row, sizeof(row));
	fill(t, off + 510, "\x55\xaa", 2);
}

/* n logical partitions of 2 sectors in an extended one at a sector. */
static inline void
add_logical(const struct tabled *t, unsigned row, unsigned type,
    uint32_t start, unsigned n)
{
	uint64_t at;
	unsigned i;

	add_row(t, 0, row, type, start, 4 * n);
	for (i = 0; i < n; i++) {
		at = (uint64_t)(start + 4 * i) * t->ep.geo.block;
		add_row(t, at, 0, 0x83, 2, 2);
		if (i + 1 < n)
			add_row(t, at, 1, 0x05, 4 * (i + 1), 4);
	}
}

/* The first block of an ext2 that blkid knows, of so many KiB. */
static inline void
add_ext2(const struct tabled *t, uint64_t off, uint32_t kib)
{
	unsigned char s[1024] = { [56] = 0x53, [57] = 0xef, [76] = 1 };

	le32enc(s + 4, kib);
	le32enc(s + 20, 1);
	strcpy((char *)s + 120, "label");
	fill(t, off + 1024, s, sizeof(s));
}

#endif
