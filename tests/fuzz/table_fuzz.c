/*
 * Any bytes as what is spoilt of a disk with a partition table, by way of
 * libblkid: what is told of its partitions is consistent in itself, an end that
 * is limited to one lies within the disk, and so do signatures.  Run by
 * tests/fuzz/run, which makes the disks, in the directory FUZZ_IMAGES.
 *
 * An input is which disk, how large its sectors are, and patches: place, how
 * many bytes, and which.  Checksums of a GPT are made right again, mostly, for
 * else what it says would not be looked at.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/sys/endian.h>

#include "input.h"
#include "part/parts.h"

enum {
	IMAGES = 16,
	DISK = 4 << 20,		/* bytes of each */
	PATCH = 10,		/* bytes of input: where, how, what */
	PATCHES = 32,
	SUMMED_MOST = 1 << 20,	/* bytes of a GPT that are summed up */
	SECONDS = 20,		/* that an input may take, on a busy machine */
};

static const unsigned char *images[IMAGES];
static size_t n_images;
static unsigned char disk[DISK];

/* ------------------------------------------------------------------ an end */

bool
endpoint_viewable(const struct endpoint *ep)
{
	return ep->fd < 0;
}

int
endpoint_view(const struct endpoint *ep, bool *cached)
{
	(void)ep;
	(void)cached;
	abort();
}

void
endpoint_probe(struct endpoint *ep, struct io *io)
{
	if (io->off % ep->geo.block != 0 || io->len % ep->geo.block != 0)
		abort();
	io->done = 0;
	if (io->off >= DISK)
		return;
	io->done = io->len < DISK - io->off ? io->len : DISK - io->off;
	memcpy(io->buf, disk + io->off, io->done);
}

/* No map: see parts_rescued. */
bool
map_all(struct map *m, uint64_t off, uint64_t len, enum seg_status s)
{
	(void)m;
	(void)off;
	(void)len;
	(void)s;
	return true;
}

struct map_totals
map_totals(struct map *m)
{
	(void)m;
	return (struct map_totals){ .end = DISK };
}

/* ---------------------------------------------------------------- the disk */

static void
take_image(const char *path, const unsigned char *bytes, size_t size)
{
	if (size != DISK)
		errx(2, "%s: %zu bytes", path, size);
	images[n_images++] = bytes;
}

static uint32_t
crc(const unsigned char *p, size_t n)
{
	uint32_t sum = UINT32_MAX;
	int bit;

	for (; n > 0; n--)
		for (sum ^= *p++, bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320 : 0);
	return ~sum;
}

/* UEFI 2.10 5.3.2 */
static void
mend(size_t at, uint32_t sector)
{
	unsigned char *h = disk + at;
	uint64_t from = le64dec(h + 72), len;
	uint32_t own = le32dec(h + 12);

	if (memcmp(h, "EFI PART", 8) != 0)
		return;
	len = (uint64_t)le32dec(h + 80) * le32dec(h + 84);
	if (from < DISK / sector && len <= SUMMED_MOST &&
	    len <= DISK - from * sector)
		le32enc(h + 88, crc(disk + from * sector, len));
	le32enc(h + 16, 0);
	if (own <= sector)
		le32enc(h + 16, crc(h, own));
}

/* Where tables are: at both ends, and links of logical partitions between. */
static uint32_t
place(const uint8_t *p, uint32_t sector)
{
	uint32_t at = le32dec(p) % (64 << 10), kind = p[3] >> 5;

	switch (kind) {
	case 0:
		return 446 + at % 66;
	case 1:
		return sector + at % 92;
	case 2:
		return 2 * sector + at % 1024;
	case 3:
		return DISK - sector + at % 92;
	case 4:
		return DISK - 33 * sector + at % (32 * sector);
	case 5:			/* links, where they were made */
		return (1 + at % 8 / 2) * (512 << 10) + 440 + at % 72;
	default:
		return le32dec(p) % DISK;
	}
}

static void
spoil(const uint8_t *data, size_t size, uint32_t sector)
{
	uint32_t at;
	size_t n, left;

	for (n = 0; size >= PATCH && n < PATCHES; n++) {
		at = place(data, sector);
		left = DISK - at < 1U + data[4] % 4 ? DISK - at :
		    1U + data[4] % 4;
		memcpy(disk + at, data + 5, left);
		data += PATCH;
		size -= PATCH;
	}
}

/* -------------------------------------------------------------- what is so */

static void
sound(const struct parts *t)
{
	size_t i;

	fuzz_ended(t->wrong, sizeof(t->wrong));
	fuzz_ended(t->type, sizeof(t->type));
	if (t->n > 0 && t->type[0] == '\0')
		abort();
	for (i = 0; i < t->n; i++) {
		const struct part *p = &t->part[i];

		fuzz_ended(p->type, sizeof(p->type));
		fuzz_ended(p->name, sizeof(p->name));
		if (p->number == 0 || p->start > INT64_MAX ||
		    p->length > INT64_MAX - p->start ||
		    (i > 0 && p->number < t->part[i - 1].number))
			abort();
	}
}

static void
limit(struct endpoint *ep, int64_t number)
{
	struct fault f = { 0 };

	if (parts_limit(ep, number, &f) != 0)
		fuzz_failed(&f);
	else if (ep->lim.base >= ep->lim.end || ep->lim.end > DISK ||
	    ep->geo.size != (int64_t)ep->lim.end || ep->lim.disk_size != DISK)
		abort();
}

static void
look(struct endpoint *ep)
{
	struct sign *sign;
	struct volume v;
	size_t n, i;

	n = parts_signs(ep, 0, DISK, &sign);
	for (i = 0; i < n; i++) {
		fuzz_ended(sign[i].type, sizeof(sign[i].type));
		fuzz_ended(sign[i].label, sizeof(sign[i].label));
		if (sign[i].off >= DISK || sign[i].type[0] == '\0')
			abort();
	}
	free(sign);
	parts_volume(ep, 1 << 20, 1 << 20, &v);
	fuzz_ended(v.type, sizeof(v.type));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct endpoint ep = { .name = "disk", .fd = -1,
		.is.probed = true,
		.geo = { .size = DISK, .room = DISK } };
	struct fault f = { 0 };
	struct parts t;
	uint32_t sector;

	if (n_images == 0)
		fuzz_images(IMAGES, take_image);
	if (size < 3)
		return 0;
	sector = ep.geo.block = data[1] & 1 ? 4096 : 512;
	memcpy(disk, images[data[0] % n_images], DISK);
	spoil(data + 3, size - 3, sector);
	if ((data[1] & 6) != 0) {
		mend(sector, sector);
		mend(DISK - sector, sector);
	}
	fuzz_within(SECONDS);
	if (parts_read(&ep, &t, &f) != 0) {
		fuzz_failed(&f);
	} else {
		fuzz_taken += t.n > 0;
		sound(&t);
		parts_free(&t);
		limit(&ep, 1 + data[2] % 8);
		if ((data[1] & 8) != 0)
			look(&ep);
	}
	alarm(0);
	return 0;
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	size_t n = 1 + input_roll(dice, input_roll(dice, 4) == 0 ? 32 : 3), k;
	uint64_t value;
	uint8_t *p;

	for (in->n = 0; in->n < 3; in->n++)
		in->bytes[in->n] = (uint8_t)input_roll(dice, 256);
	/* most are of 512 */
	if (input_roll(dice, 4) > 0)
		in->bytes[1] &= 0xfe;
	for (; n > 0; n--, in->n += PATCH) {
		p = in->bytes + in->n;
		for (k = 0; k < PATCH; k++)
			p[k] = (uint8_t)input_roll(dice, 256);
		value = input_number(dice);
		if (input_roll(dice, 2) == 0)
			memcpy(p + 5, &value, 4);
	}
}
