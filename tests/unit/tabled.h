/*
 * Mock disks with partition tables, in memory: each is an end that can be
 * viewed like a file, or probed like a SCSI disk, and read back.  Included
 * once, by a test.
 */
#ifndef PARDD_TEST_TABLED_H
#define PARDD_TEST_TABLED_H

#include <bsd/sys/endian.h>
#include <sys/mman.h>

#include "end/backend.h"
#include "base/fault.h"
#include "disk/disk.h"

#define MIB	((uint64_t)1 << 20)

#define SECTOR	((size_t)512)

enum { DISK_SECTORS = 4096 };

struct tabled {
	struct endpoint ep;
	int	 fd;
	int	 view_err;		/* opening it for a view fails so */
	uint64_t lost;			/* a byte that cannot be read, */
	bool	 ends;			/* ... as the disk ends there, or */
	int	 lost_err;		/* because of this, if not EIO */
	int	 attach_err;		/* a lane of it fails so */
	bool	 hidden;		/* it cannot be read back */
	struct disk disk;		/* what is known of it */
};

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
		io->err = t->ends ? 0 : t->lost_err != 0 ? t->lost_err : EIO;
		return;
	}
	memset(io->buf, 0, io->len);
	n = pread(t->fd, io->buf, io->len, (off_t)io->off);
	io->done = n < 0 ? 0 : (size_t)n;
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
static const struct backend probed = { .attach = tabled_attach, .transfer = tabled_transfer,
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
		.is = { .device = true, .probed = be == &probed },
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

/* A swap space of so many pages. */
static inline void
add_swap(const struct tabled *t, uint64_t off, uint32_t pages)
{
	unsigned char s[4096] = { 0 };

	le32enc(s + 1024, 1);
	le32enc(s + 1028, pages - 1);
	memcpy(s + 4086, "SWAPSPACE2", 10);
	fill(t, off + 512, s + 512, sizeof(s) - 512);
}

static inline uint32_t
checksum(const unsigned char *p, size_t n)
{
	uint32_t sum = UINT32_MAX;
	int i;

	for (; n > 0; n--, p++)
		for (sum ^= *p, i = 0; i < 8; i++)
			sum = sum >> 1 ^ (sum % 2 == 1 ? 0xedb88320 : 0);
	return ~sum;
}

/*
 * A GPT with a partition from a sector to another, and its backup; the header
 * at "at" of 512 bytes names "other" as the place of the other one.
 */
static inline void
add_header(const struct tabled *t, uint64_t at, uint64_t other,
    uint64_t entries, const unsigned char *table, size_t n)
{
	unsigned char h[SECTOR] = "EFI PART";

	le32enc(h + 8, 0x10000);
	le32enc(h + 12, 92);
	le64enc(h + 24, at);
	le64enc(h + 32, other);
	le64enc(h + 40, 34);
	le64enc(h + 48, DISK_SECTORS - 34);
	h[56] = 1;
	le64enc(h + 72, entries);
	le32enc(h + 80, 128);
	le32enc(h + 84, 128);
	le32enc(h + 88, checksum(table, n));
	le32enc(h + 16, checksum(h, 92));
	fill(t, at * SECTOR, h, sizeof(h));
	fill(t, entries * SECTOR, table, n);
}

static inline void
add_gpt(const struct tabled *t, uint64_t from, uint64_t to)
{
	static unsigned char table[128 * 128];

	memset(table, 0, sizeof(table));
	table[0] = table[16] = 1;
	le64enc(table + 32, from);
	le64enc(table + 40, to);
	add_row(t, 0, 0, 0xee, 1, DISK_SECTORS - 1);
	add_header(t, 1, DISK_SECTORS - 1, 2, table, sizeof(table));
	add_header(t, DISK_SECTORS - 1, 1, DISK_SECTORS - 33, table,
	    sizeof(table));
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
