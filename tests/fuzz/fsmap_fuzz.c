/*
 * Any bytes as what is spoilt of a file system: an image of some kind, which
 * way it is read, and patches of what is read of it when it is whole.  What the
 * reader says of it is consistent in itself, takes little memory, and no more
 * reads than it promises.  Run by tests/fuzz/run, which makes the images, in
 * the directory FUZZ_IMAGES.
 *
 * Linked with --wrap of calloc, realloc and free, which count.
 */
#include <err.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "fs/fsmap.h"
#include "src/fs/fsread.h"

enum {
	IMAGES = 32,
	HOT = 512,		/* ranges that are read of an image */
	PATCH = 10,		/* bytes of input: where, how, what */
	PATCHES = 64,
	SECONDS = 20,		/* that an input may take, on a busy machine */
	MEMORY = 64 << 20,	/* bytes, as fsmap.h says */
	BTRFS = 64 << 10,	/* where its superblock is */
	LARGE = 64 << 10,	/* bytes of what is mapped anew each time */
	KEPT = 8,
	BY_HAND = 256 << 10,	/* bytes of the images of LVM, md, LUKS */
	FAILING = 4096,		/* bytes that cannot be read */
};

#define LVM_SUM	0xf597a6cfU

struct image {
	const unsigned char *bytes;
	uint64_t length;
	struct { uint64_t off, len; } hot[HOT];
	size_t	 n;
	uint64_t all;		/* bytes of these */
	char	 id[5];		/* how that of a btrfs begins, or "" */
};

struct patch {
	uint64_t off;
	uint8_t	 how, value[8];
};

struct spoilt {			/* what is read */
	struct image *image;
	bool	 noting;
	bool	 mends;		/* checksums, as who means harm does */
	struct patch patch[PATCHES];
	size_t	 n;
};

static struct image images[IMAGES];
static size_t n_images;
static size_t held;		/* bytes of memory */

/* -------------------------------------------------------------- memory */

void *__real_calloc(size_t, size_t);	/* NOLINT(bugprone-reserved-*,cert-*) */
void *__real_realloc(void *, size_t);	/* NOLINT(bugprone-reserved-*,cert-*) */
void __real_free(void *);		/* NOLINT(bugprone-reserved-*,cert-*) */
void *__wrap_calloc(size_t, size_t);	/* NOLINT(bugprone-reserved-*,cert-*) */
void *__wrap_realloc(void *, size_t);	/* NOLINT(bugprone-reserved-*,cert-*) */
void __wrap_free(void *);		/* NOLINT(bugprone-reserved-*,cert-*) */

/* of the sanitizer, where there is one: nobody touches this, or may again */
#pragma weak __asan_poison_memory_region
#pragma weak __asan_unpoison_memory_region
void __asan_poison_memory_region(const volatile void *, size_t); /* NOLINT */
void __asan_unpoison_memory_region(const volatile void *, size_t); /* NOLINT */

static void
poison(void *p, size_t size)
{
	if (__asan_poison_memory_region != NULL)
		__asan_poison_memory_region(p, size);
}

static void
unpoison(void *p, size_t size)
{
	if (__asan_unpoison_memory_region != NULL)
		__asan_unpoison_memory_region(p, size);
}

/* Large ones that are free; mapping and unmapping them is most of the time. */
static struct { void *p; size_t size; } kept[KEPT];

static bool
keep(void *p, size_t size)
{
	static size_t turn;
	size_t i = turn;

	if (size < LARGE)
		return false;
	turn = (turn + 1) % KEPT;
	if (kept[i].p != NULL) {
		unpoison(kept[i].p, kept[i].size);
		__real_free(kept[i].p);
	}
	kept[i].p = p;
	kept[i].size = size;
	poison(p, size);
	return true;
}

static void *
kept_one(size_t size)
{
	size_t i;
	void *p;

	for (i = 0; i < KEPT && (kept[i].p == NULL || kept[i].size != size);
	    i++)
		;
	if (i == KEPT)
		return NULL;
	p = kept[i].p;
	kept[i].p = NULL;
	unpoison(p, size);
	return memset(p, 0, size);
}

static void *
hold(void *p)
{
	held += p == NULL ? 0 : malloc_usable_size(p);
	if (held > MEMORY)
		abort();
	return p;
}

void *
__wrap_calloc(size_t n, size_t size)	/* NOLINT(bugprone-reserved-*,cert-*) */
{
	void *p = kept_one(n * size);

	return hold(p != NULL ? p : __real_calloc(n, size));
}

void *
__wrap_realloc(void *p, size_t size)	/* NOLINT(bugprone-reserved-*,cert-*) */
{
	held -= p == NULL ? 0 : malloc_usable_size(p);
	return hold(__real_realloc(p, size));
}

void
__wrap_free(void *p)			/* NOLINT(bugprone-reserved-*,cert-*) */
{
	size_t size = p == NULL ? 0 : malloc_usable_size(p);

	held -= size;
	if (!keep(p, size))
		__real_free(p);
}

/* ------------------------------------------------------------- reading */

static void
note(struct image *i, uint64_t off, size_t len)
{
	if (i->n == HOT)
		return;
	i->hot[i->n].off = off;
	i->hot[i->n++].len = len;
	i->all += len;
}

/*
 * Make the CRC-32C right of what has one, if all of it is here: the blocks of
 * XFS and btrfs, superblocks.  Then what is spoilt in them is believed.
 */
static void
mend(const struct image *i, unsigned char *p, size_t len)
{
	const struct {
		const char *magic;
		size_t	 is, sum, from;		/* where */
		uint32_t last;			/* xor */
	} kinds[] = {
		{ "XFSB", 0, 224, 0, ~UINT32_C(0) },
		{ "XAGF", 0, 216, 0, ~UINT32_C(0) },
		{ "AB3B", 0, 52, 0, ~UINT32_C(0) },
		{ "AB3C", 0, 52, 0, ~UINT32_C(0) },
		{ "_BHRfS_M", 64, 0, 32, ~UINT32_C(0) },
		{ "\x53\xef", 56, 1020, 0, 0 },
		{ i->id, 32, 0, 32, ~UINT32_C(0) },
	};
	size_t k = 0, n = i->id[0] == '\0' ? 6 : 7;
	uint32_t crc;

	while (k < n && (kinds[k].is + 16 > len || kinds[k].sum + 4 > len ||
	    strncmp((char *)p + kinds[k].is, kinds[k].magic,
	    strlen(kinds[k].magic)) != 0))
		k++;
	if (k == n)
		return;
	memset(p + kinds[k].sum, 0, 4);
	len = kinds[k].last == 0 ? kinds[k].sum : len;
	crc = fs_crc32c(~UINT32_C(0), p + kinds[k].from, len - kinds[k].from) ^
	    kinds[k].last;
	for (n = 0; n < 4; n++)
		p[kinds[k].sum + n] = (unsigned char)(crc >> 8 * n);
}

static int get(void *, uint64_t, void *, size_t);

static void
store(unsigned char *p, uint64_t v)
{
	size_t n;

	for (n = 0; n < 4; n++)
		p[n] = (unsigned char)(v >> 8 * n);
}

/* The same of a label of LVM, the header of its text, with the text's; of md. */
static void
mend_volumes(const struct spoilt *s, uint64_t off, unsigned char *p, size_t len)
{
	struct spoilt as_it_is = *s;
	uint64_t at, size, sum = 0;
	unsigned char *text;
	size_t i;

	as_it_is.mends = as_it_is.noting = false;
	if (len == 512 && memcmp(p, "LABELONE", 8) == 0)
		store(p + 16, fs_crc32(LVM_SUM, p + 20, len - 20));
	if (len == 512 && memcmp(p + 4, " LVM2 x[", 8) == 0) {
		at = fs_le(p + 40, 8);
		size = fs_le(p + 48, 8);
		if (at < s->image->length && size < LARGE &&
		    off + at < s->image->length - size) {
			text = calloc(1, (size_t)size + 1);
			if (text != NULL && get(&as_it_is, off + at, text,
			    (size_t)size) == 0)
				store(p + 56, fs_crc32(LVM_SUM, text,
				    (size_t)size));
			free(text);
		}
		store(p, fs_crc32(LVM_SUM, p + 4, len - 4));
	}
	size = fs_le(p + 220, 4);
	if (len == 4096 && fs_le(p, 4) == 0xa92b4efc && size < 1900) {
		memset(p + 216, 0, 4);
		for (i = 0; i < 256 + 2 * size; i += 4)
			sum += fs_le(p + i, 256 + 2 * size - i < 4 ? 2 : 4);
		store(p + 216, (sum & UINT32_MAX) + (sum >> 32));
	}
}

static int
get(void *arg, uint64_t off, void *buf, size_t len)
{
	const struct spoilt *s = arg;
	const struct patch *p;
	size_t i, k;

	if (off > s->image->length || len > s->image->length - off)
		abort();
	if (s->noting)
		note(s->image, off, len);
	memcpy(buf, s->image->bytes + off, len);
	for (i = 0; i < s->n; i++) {
		p = &s->patch[i];
		if (p->how == 0 && p->off < off + len && off < p->off + FAILING)
			return EIO;
		for (k = 0; k < p->how; k++)
			if (p->off + k >= off && p->off + k - off < len)
				((uint8_t *)buf)[p->off + k - off] =
				    p->value[k];
	}
	if (s->mends) {
		mend(s->image, buf, len);
		if (len == 512 || len == 4096)
			mend_volumes(s, off, buf, len);
	}
	return 0;
}

/* Whose bytes those in the midst of it are. */
static void
name(const char *type, const struct fs_source *src)
{
	struct fs_extent half = { .off = src->length / 4,
		.len = src->length / 2 };
	struct fs_extents lost = { .at = &half, .n = 1 };
	struct fs_names names;
	size_t i;

	if (fs_names_read(type, src, &lost, &names) != 0 ||
	    names.n > FS_NAMES_MOST)
		abort();
	for (i = 1; i < names.n; i++)
		if (strcmp(names.name[i - 1], names.name[i]) > 0)
			abort();
	fs_names_free(&names);
}

static void
take_image(const char *path, const unsigned char *bytes, size_t size)
{
	struct image *i = &images[n_images++];
	/* those that run makes by hand have no checksums */
	struct spoilt whole = { .image = i, .noting = true,
		.mends = size == BY_HAND };
	struct fs_source src = { .read = get, .arg = &whole, .length = size };
	struct fs_map m;

	held = 0;		/* names of images were not counted */
	i->bytes = bytes;
	i->length = size;
	if (size > BTRFS && memcmp(bytes + BTRFS + 64, "_BHRfS_M", 8) == 0)
		memcpy(i->id, bytes + BTRFS + 32, sizeof(i->id) - 1);
	if (fs_map_read(NULL, &src, FS_DEEP, &m) != 0 ||
	    (m.state != FS_CLEAN && m.payload == 0))
		errx(2, "%s: %s", path, m.reason);
	name(m.type, &src);
	fs_map_free(&m);
}

/* ------------------------------------------------------------- patches */

static uint64_t
number(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	for (; bytes > 0; bytes--)
		v = v << 8 | *p++;
	return v;
}

/* The byte of the image that so many bytes of what is read lie before. */
static uint64_t
place(const struct image *i, uint64_t at)
{
	size_t k;

	at %= i->all;
	for (k = 0; at >= i->hot[k].len; k++)
		at -= i->hot[k].len;
	return i->hot[k].off + at;
}

static void
spoil(struct spoilt *s, const uint8_t *data, size_t size)
{
	static const uint8_t sizes[8] = { 1, 2, 4, 8, 1, 4, 8, 0 };
	struct patch *p;
	unsigned how;

	for (; size >= PATCH && s->n < PATCHES; data += PATCH, size -= PATCH) {
		p = &s->patch[s->n++];
		how = data[4];
		/* structures begin at multiples, and what counts is there */
		p->off = place(s->image, number(data, 4));
		p->how = sizes[how & 7];
		if ((how & 8) != 0 && p->how > 1)
			p->off -= p->off % p->how;
		if ((how & 16) != 0)
			p->off -= p->off % 512;
		if ((how & 32) != 0)
			p->off += UINT64_C(8) * (how >> 6);
		memset(p->value, data[9] & 1 ? 0xff : 0, sizeof(p->value));
		memcpy(p->value, data + 5, 4);
	}
}

/* What can be looked into lies in pieces without gaps, within it. */
static void
pieces(const struct fs_volume *v, const struct fs_source *src)
{
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < v->n && v->reason[0] == '\0'; i++) {
		if (v->piece[i].at != at || v->piece[i].off > src->length ||
		    v->piece[i].len > src->length - v->piece[i].off)
			abort();
		at += v->piece[i].len;
	}
	if ((v->reason[0] == '\0' && at != v->length) ||
	    memchr(v->name, '\0', sizeof(v->name)) == NULL)
		abort();
}

static void
sound(const struct fs_map *m, const struct fs_source *src, unsigned how)
{
	const struct fs_extents *e = &m->free;
	uint64_t sum = 0, end = 0;
	size_t i, k = 0;

	if (strlen(m->container) > FS_UUID || m->payload > src->length ||
	    (m->payload > 0 && m->volumes > 0))
		abort();
	for (i = 0; i < m->volumes; i++)
		pieces(&m->volume[i], src);
	for (i = 0; i < e->n; i++) {
		if (e->at[i].len == 0 || (i > 0 && e->at[i].off <= end) ||
		    e->at[i].off > src->length ||
		    e->at[i].len > src->length - e->at[i].off)
			abort();
		end = e->at[i].off + e->at[i].len;
		sum += e->at[i].len;
		for (; k < m->meta.n && m->meta.at[k].off < end; k++)
			if (m->meta.at[k].off + m->meta.at[k].len >
			    e->at[i].off)
				abort();
	}
	for (i = 1, e = &m->meta; i < e->n; i++)
		if (e->at[i].off <= e->at[i - 1].off + e->at[i - 1].len)
			abort();
	if (sum != m->free_bytes || m->used != src->length - sum ||
	    (m->state != FS_CLEAN && m->reason[0] == '\0') ||
	    ((how & FS_ORDER) == 0 && sum > 0 && m->state != FS_CLEAN &&
	    m->state != FS_DAMAGED))
		abort();
	if (m->bytes_read > src->length / ((how & FS_DEEP) != 0 ? 8 : 32) +
	    (16 << 20))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = { "ext4", "xfs", "btrfs", "ntfs",
		"vfat", "exfat", "LVM2_member", "crypto_LUKS" };
	struct spoilt s = { .n = 0 };
	struct fs_source src = { .read = get, .arg = &s };
	const char *type = NULL;
	struct fs_map m;
	unsigned how;

	if (n_images == 0) {
		fuzz_images(IMAGES, take_image);
		held = 0;
	}
	if (size < 2)
		return 0;
	s.image = &images[data[0] % n_images];
	how = data[1] & (FS_ORDER | FS_META | FS_DEEP);
	if ((data[1] & 16) != 0)
		how |= FS_TABLES;
	s.mends = (data[1] & 32) != 0;
	if (data[1] >> 4 == 15)
		type = types[data[1] >> 1 & 7];
	src.length = s.image->length;
	spoil(&s, data + 2, size - 2);
	fuzz_within(SECONDS);
	if (fs_map_read(type, &src, how, &m) != 0)
		abort();
	if ((data[1] & 8) != 0)
		name(m.type, &src);
	alarm(0);
	fuzz_taken += m.type[0] != '\0';
	sound(&m, &src, how);
	fs_map_free(&m);
	if (held != 0)
		abort();
	return 0;
}

/* One patch or a few; most of them make a number of one as it goes wrong. */
void
fuzz_make(struct input *in, uint64_t *dice)
{
	size_t n = 1 + input_roll(dice, input_roll(dice, 4) == 0 ? 32 : 3), k;
	uint64_t value;
	uint8_t *p;

	in->bytes[0] = (uint8_t)input_roll(dice, 256);
	in->bytes[1] = (uint8_t)input_roll(dice, 256);
	in->n = 2;
	for (; n > 0; n--, in->n += PATCH) {
		p = in->bytes + in->n;
		for (k = 0; k < PATCH; k++)
			p[k] = (uint8_t)input_roll(dice, 256);
		value = input_number(dice);
		if (input_roll(dice, 2) == 0)
			memcpy(p + 5, &value, 4);
		/* half of them where it begins */
		if (input_roll(dice, 2) == 0)
			p[0] = p[1] = 0, p[2] &= 3;
	}
}
