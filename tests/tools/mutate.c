/*
 * mutate: damage the partition table of an image, in the same way for the same
 * seed.
 *
 *	mutate FILE SECTOR SEED [plain]
 *
 * A few bytes of the MBR's entries, of the GPT's header and of its first
 * entries are changed, sometimes to values that may overflow.  Then the
 * checksums of the GPT are corrected, so that the damaged values are believed;
 * with "plain" they stay wrong.  The backup GPT is wiped for every second seed,
 * so that it is not used instead.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { MBR = 446, EXTENDED_MOST = 16, ENTRIES = 4 * 128, TROUBLE = 2 };

static uint64_t state;

static uint64_t
draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static uint32_t
crc32(const unsigned char *p, size_t len)
{
	uint32_t crc = UINT32_MAX;
	int bit;

	for (; len > 0; len--, p++)
		for (crc ^= *p, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
	return ~crc;
}

static uint32_t
get32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24;
}

static void
put32(unsigned char *p, uint32_t n)
{
	int i;

	for (i = 0; i < 4; i++)
		p[i] = (unsigned char)(n >> 8 * i);
}

/* Change up to three places of a range. */
static void
spoil(unsigned char *p, size_t len)
{
	static const unsigned char nasty[] = { 0, 0xff, 0x7f, 0x80, 1 };
	uint64_t n = draw(4), run, at;

	while (n-- > 0) {
		at = draw(len);
		run = draw(2) == 0 ? 1 : 1 + draw(8);
		for (; run > 0 && at < len; run--, at++)
			p[at] = draw(2) == 0 ? nasty[draw(sizeof(nasty))] :
			    (unsigned char)draw(256);
	}
}

/* The checksums of what the header says, as far as it lies in the file. */
static void
seal(unsigned char *image, size_t size, size_t sector)
{
	unsigned char *h = image + sector;
	uint64_t at = (get32(h + 72) | (uint64_t)get32(h + 76) << 32) * sector;
	uint64_t len = (uint64_t)get32(h + 80) * get32(h + 84);
	uint32_t header = get32(h + 12);

	if (at <= size && len <= size - at)
		put32(h + 88, crc32(image + at, (size_t)len));
	put32(h + 16, 0);
	if (header <= sector)
		put32(h + 16, crc32(h, header));
}

/* The links of the logical partitions lie anywhere: where 55 AA is. */
static void
spoil_links(unsigned char *image, size_t size)
{
	int found = 0;
	size_t at;

	for (at = 512; at + 512 <= size && found < EXTENDED_MOST; at += 512)
		if (image[at + 510] == 0x55 && image[at + 511] == 0xaa) {
			spoil(image + at + MBR, 64);
			found++;
		}
}

int
main(int argc, char *argv[])
{
	size_t size, sector;
	unsigned char *image;
	struct stat st;
	bool plain;
	int fd;

	if (argc < 4)
		errx(TROUBLE, "usage: mutate FILE SECTOR SEED [plain]");
	plain = argc > 4;
	sector = (size_t)atoi(argv[2]);
	state = (uint64_t)atoll(argv[3]) * UINT64_C(0x9E3779B97F4A7C15) + 1;
	fd = open(argv[1], O_RDWR);
	if (fd < 0 || fstat(fd, &st) != 0)
		err(TROUBLE, "%s", argv[1]);
	size = (size_t)st.st_size;
	if (size < 64 * sector)
		errx(TROUBLE, "%s is too small", argv[1]);
	image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (image == MAP_FAILED)
		err(TROUBLE, "%s", argv[1]);
	spoil(image + MBR, draw(4) == 0 ? 66 : 64);
	if (memcmp(image + sector, "EFI PART", 8) == 0) {
		image[510] = 0x55;
		image[511] = 0xaa;
		image[MBR + 4] = 0xee;
		spoil(image + sector + 8, 84);
		spoil(image + 2 * sector, ENTRIES);
		if (!plain)
			seal(image, size, sector);
		if (draw(2) == 0)
			memset(image + size - sector, 0, sector);
	} else {
		spoil_links(image, size);
	}
	return 0;
}
