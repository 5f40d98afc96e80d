/*
 * Any bytes as a block map: what is taken has ranges that are in order, whole
 * blocks of the image, and within it.  Run by tests/fuzz/run.
 *
 * The reader is had as it is, statics and all, to read memory.  A checksum of
 * the file that is all "a" is right here, for else none would be taken.
 */
#include "../../src/digest/bmap.c" /* NOLINT(bugprone-suspicious-include) */

#include <err.h>

#include "input.h"

typedef unsigned long long ull;

static struct expat loaded;

int
hash_once(const struct algorithm *a, const void *buf, size_t len,
    char hex[HASH_HEX], struct fault *f)
{
	(void)buf;
	(void)len;
	(void)f;
	memset(hex, 'a', 2 * a->size);
	hex[2 * a->size] = '\0';
	return 0;
}

static void
sound(const struct bmap *m)
{
	uint64_t before = 0;
	size_t i;

	if (m->block == 0 || m->size > INT64_MAX)
		abort();
	for (i = 0; i < m->n; before = m->range[i].off + m->range[i].len, i++)
		if (m->range[i].off < before || m->range[i].len == 0 ||
		    m->range[i].off % m->block != 0 ||
		    m->range[i].off >= m->size ||
		    m->range[i].len > m->size - m->range[i].off ||
		    (m->range[i].len % m->block != 0 &&
		    m->range[i].off + m->range[i].len != m->size))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bmap m = { .n = 0 };
	struct reader r = { .m = &m };
	struct fault f = { 0 };
	char *text = malloc(size + 1);

	if (loaded.XML_ParserCreate == NULL &&
	    bmap_load_expat(&loaded, "fuzz", &f) != 0)
		errx(2, "%s", f.text);
	if (text == NULL)
		err(2, NULL);
	r.x = loaded;
	memcpy(text, data, size);
	text[size] = '\0';
	if (bmap_parse(&r, "fuzz", text, &f) == 0 &&
	    bmap_check(&r, "fuzz", text, &f) == 0) {
		fuzz_taken++;
		sound(&m);
	} else if (f.status == 0 || f.text[0] == '\0') {
		abort();
	}
	bmap_free(&m);
	free(text);
	return 0;
}

static void
element(struct input *in, uint64_t *dice, const char *name, uint64_t n)
{
	if (input_roll(dice, 16) == 0)
		n = input_number(dice);
	if (input_roll(dice, 32) != 0)
		input_print(in, "<%s> %llu </%s>", name, (ull)n, name);
}

/*
 * Most ranges follow on those before; sizes stand there again now and then.
 * Returns how many blocks they have.
 */
static uint64_t
ranges(struct input *in, uint64_t *dice, const char *attr, int digits,
    uint64_t n)
{
	uint64_t at = 0, len, sum = 0;

	for (; n > 0; n--, at += len, sum += len) {
		at += input_roll(dice, 3);
		len = 1 + input_roll(dice, 4);
		if (input_roll(dice, 32) == 0)
			element(in, dice, "ImageSize", input_number(dice));
		if (input_roll(dice, 32) == 0)
			element(in, dice, "BlocksCount", input_number(dice));
		input_print(in, "<Range %s=\"%0*d\"> %llu-%llu </Range>", attr,
		    digits, 0, (ull)at, (ull)(at + len - 1));
	}
	return sum;
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	static const char all[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaa";
	bool old = input_roll(dice, 3) == 0;
	int digits = old ? 40 : 64;
	const char *own = old ? "BmapFileSHA1" : "BmapFileChecksum";
	uint64_t block = (uint64_t)512 << input_roll(dice, 20), blocks = 40, n;

	if (input_roll(dice, 4) == 0)
		blocks = input_number(dice) / block;
	input_print(in, "<bmap version=\"%s\">", old ? "1.3" : "2.0");
	element(in, dice, "ImageSize", blocks * block - input_roll(dice, 99));
	element(in, dice, "BlockSize", block);
	element(in, dice, "BlocksCount", blocks);
	if (!old)
		input_print(in, "<ChecksumType> sha256 </ChecksumType>");
	input_print(in, "<%s> %.*s </%s><BlockMap>", own, digits, all, own);
	n = ranges(in, dice, old ? "sha1" : "chksum", digits,
	    input_roll(dice, 8));
	input_print(in, "</BlockMap>");
	element(in, dice, "MappedBlocksCount", n);
	input_print(in, "</bmap>");
}
