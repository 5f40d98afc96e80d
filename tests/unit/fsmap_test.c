/*
 * What a file system uses: lists of extents that have a limit, checksums, and
 * boot sectors that are not, or almost, those of a file system.
 *
 *	fsmap_test [-omdzn] [-t TYPE] [-b OFFSET+LENGTH]... FILE
 *
 * prints what is known about a file system instead: a line of its type, state
 * and numbers, one each of label and reason, and the ranges of its map, as
 * OFFSET LENGTH (bytes) and "free" or "meta".  -o: order, not exact; -m:
 * structures; -d: all of them; -b: an unreadable range; -z: also overwrite free
 * ranges with zeros; -n: the names of the files with unreadable bytes, in its
 * order, after "all", "more", or "unknown"; it needs -t.
 */
#define UNIT_MAIN
#include "test.h"

#include <err.h>
#include <inttypes.h>

#include "base/clock.h"
#include "fs/fsmap.h"

#include "../../src/fs/fsread.h"

/* ------------------------------------------------------ printing a map */

enum { BAD_MOST = 64 };

struct image {
	int	 fd;
	struct fs_extent bad[BAD_MOST];
	size_t	 n;
};

static int
from_file(void *arg, uint64_t off, void *buf, size_t len)
{
	const struct image *i = arg;
	ssize_t n;
	size_t k;

	for (k = 0; k < i->n; k++)
		if (i->bad[k].off < off + len &&
		    off < i->bad[k].off + i->bad[k].len)
			return EIO;
	n = pread(i->fd, buf, len, (off_t)off);
	return n < 0 ? errno : n == (ssize_t)len ? 0 : EIO;
}

static void
print_all(const struct fs_extents *e, const char *what)
{
	size_t i;

	for (i = 0; i < e->n; i++)
		printf("%" PRIu64 " %" PRIu64 " %s\n", e->at[i].off,
		    e->at[i].len, what);
}

static void
zero_all(int fd, const struct fs_extents *e)
{
	size_t i;

	for (i = 0; i < e->n; i++)
		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    (off_t)e->at[i].off, (off_t)e->at[i].len) != 0)
			err(2, "fallocate");
}

static void
add_bad(struct image *i, const char *text)
{
	char *end;

	if (i->n == BAD_MOST)
		errx(2, "too many -b");
	i->bad[i->n].off = strtoull(text, &end, 0);
	if (*end == '+')
		i->bad[i->n].len = strtoull(end + 1, &end, 0);
	if (*end != '\0' || i->bad[i->n++].len == 0)
		errx(2, "-b %s", text);
}

static void
print_names(const struct fs_source *src, struct image *i, const char *type)
{
	struct fs_extents lost = { .at = i->bad, .n = i->n };
	struct fs_names names;
	size_t k;

	if (fs_names_read(type, src, &lost, &names) != 0)
		errx(2, "no memory");
	puts(!names.known ? "unknown" : names.more ? "more" : "all");
	for (k = 0; k < names.n; k++)
		puts(names.name[k]);
	fs_names_free(&names);
}

static int
print_map(int argc, char **argv)
{
	struct image image = { .fd = -1 };
	struct fs_source src = { .read = from_file, .arg = &image };
	const char *type = NULL;
	struct fs_map m;
	struct stat st;
	unsigned how = 0;
	bool zero = false, names = false;
	uint64_t began;
	int c;

	while ((c = getopt(argc, argv, "omdznt:b:")) != -1)
		switch (c) {
		case 'o': how |= FS_ORDER; break;
		case 'm': how |= FS_META; break;
		case 'd': how |= FS_META | FS_DEEP; break;
		case 'z': zero = true; break;
		case 'n': names = true; break;
		case 't': type = optarg; break;
		case 'b': add_bad(&image, optarg); break;
		default: return 2;
		}
	image.fd = open(argv[optind], (zero ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (image.fd < 0 || fstat(image.fd, &st) != 0)
		err(2, "%s", argv[optind]);
	src.length = (uint64_t)st.st_size;
	if (names && type != NULL) {
		print_names(&src, &image, type);
		close(image.fd);
		return 0;
	}
	began = clock_ns();
	if (fs_map_read(type, &src, how, &m) != 0)
		errx(2, "no memory");
	began = clock_ns() - began;
	printf("type=%s state=%s used=%" PRIu64 " free=%" PRIu64 " reads=%"
	    PRIu64 " bytes=%" PRIu64 " us=%" PRIu64 "\nlabel %s\nreason %s\n",
	    m.type, fs_state_name(m.state), m.used, m.free_bytes, m.reads,
	    m.bytes_read, began / 1000, m.label, m.reason);
	print_all(&m.free, "free");
	print_all(&m.meta, "meta");
	if (zero)
		zero_all(image.fd, &m.free);
	fs_map_free(&m);
	close(image.fd);
	return 0;
}

/* ------------------------------------------------------------- lists */

static int
nothing(void *arg, uint64_t off, void *buf, size_t len)
{
	memset(buf, 0, len);
	return 0;
}

struct lists {			/* a reading that only notes */
	struct fs_source src;
	struct fs_map map;
	struct fs_io io;
};

static void
begin(struct lists *l, uint64_t length)
{
	*l = (struct lists){ .src = { .read = nothing, .length = length } };
	l->io = (struct fs_io){ .src = &l->src, .map = &l->map };
}

CASE(subtracts)
{
	struct lists l;

	begin(&l, 1000);
	fs_note_free(&l.io, 500, 600);
	fs_note_free(&l.io, 100, 100);
	fs_note_free(&l.io, 200, 100);
	fs_note_meta(&l.io, 150, 10);
	fs_note_meta(&l.io, 50, 60);
	fs_note_meta(&l.io, 155, 25);
	fs_note_meta(&l.io, 990, 10);
	fs_note_meta(&l.io, 299, 300);
	fs_note_meta(&l.io, 2000, 10);
	fs_settle(&l.io);
	assert_int_equal(l.map.free.n, 3);
	assert_int_equal(l.map.free.at[0].off, 110);
	assert_int_equal(l.map.free.at[0].len, 40);
	assert_int_equal(l.map.free.at[1].off, 180);
	assert_int_equal(l.map.free.at[1].len, 119);
	assert_int_equal(l.map.free.at[2].off, 599);
	assert_int_equal(l.map.free.at[2].len, 391);
	assert_int_equal(l.map.free_bytes, 550);
	assert_int_equal(l.map.used, 450);
	fs_map_free(&l.map);
}

/* Bits are as those of a walk one by one. */
CASE(counts_bits)
{
	unsigned char bits[64];
	struct lists l;
	unsigned i, n, k;

	srand(7);
	for (k = 0; k < 2000; k++) {
		for (i = 0; i < sizeof(bits); i++)
			bits[i] = rand() % 3 == 0 ? (unsigned char)rand() :
			    rand() % 2 ? 0xff : 0;
		begin(&l, 1 << 20);
		n = (unsigned)rand() % 512;
		fs_note_bits(&l.io, bits, n / 3, n, 1000, 10);
		fs_settle(&l.io);
		for (i = n / 3; i < n; i++)
			if (!(bits[i / 8] >> (i % 8) & 1))
				l.map.free_bytes -= 10;
		assert_int_equal(l.map.free_bytes, 0);
		fs_map_free(&l.map);
	}
}

/* Far more than there is room for: what is left out of either is safe. */
CASE(bounded)
{
	const uint64_t n = 5 << 20, step = 16384;
	struct lists l;
	uint64_t i;
	size_t k;

	begin(&l, n * step);
	for (i = 0; i < n; i++) {
		fs_note_free(&l.io, i * step, i % 64 == 0 ? step / 2 : 512);
		fs_note_meta(&l.io, i * step, 256);
	}
	assert_true(l.map.free.room <= 1 << 20);
	assert_true(l.map.meta.room <= 1 << 18);
	fs_settle(&l.io);
	assert_false(l.io.no_memory);
	for (k = 0; k < l.map.free.n; k++) {
		assert_true(l.map.free.at[k].off % step >= 256);
		assert_true(l.map.free.at[k].off % step +
		    l.map.free.at[k].len <= step / 2);
	}
	fs_map_free(&l.map);
}

/* As long as there is room, nothing is joined over what lies between. */
CASE(kept_apart)
{
	enum { MANY = 200000, STEP = 8192 };
	struct lists l;
	uint64_t i;

	begin(&l, (uint64_t)MANY * STEP);
	for (i = 0; i < MANY; i++)
		fs_note_meta(&l.io, i * STEP, 512);
	fs_settle(&l.io);
	assert_int_equal(l.map.meta.n, MANY);
	fs_map_free(&l.map);
}

/* Whoever could not read all that he may is told so. */
CASE(spends)
{
	struct lists l;
	char to[50];

	begin(&l, 1000);
	l.io.budget = 100;
	assert_int_equal(fs_get(&l.io, 0, to, 50), 0);
	assert_false(l.io.failed || l.io.budget == 0);
	assert_int_equal(fs_get(&l.io, 50, to, 50), EFBIG);
	assert_true(l.io.failed && l.io.budget == 0);
	begin(&l, 1000);
	l.io.budget = 100;
	assert_int_equal(fs_get(&l.io, 951, to, 50), ERANGE);
	assert_true(l.io.failed);
	assert_int_equal(l.io.budget, 100);
}

CASE(checksum)
{
	/* RFC 3720, B.4: 32 bytes of zeros; and the check value of the CRC */
	assert_int_equal(~fs_crc32c(~UINT32_C(0), (char[32]){ 0 }, 32),
	    0x8a9136aa);
	assert_int_equal(~fs_crc32c(~UINT32_C(0), "123456789", 9), 0xe3069283);
}

CASE(powers)
{
	int i;

	for (i = 0; i < 64; i++)
		assert_true(fs_power_of_two(UINT64_C(1) << i));
	for (i = 2; i < 64; i++)
		assert_false(fs_power_of_two((UINT64_C(1) << i) - 1));
	assert_false(fs_power_of_two(0));
	assert_false(fs_power_of_two(6));
}

CASE(takes_back)
{
	struct lists l;

	begin(&l, 1000);
	fs_take_back(&l.io, 0);
	fs_note_free(&l.io, 500, 100);
	fs_note_free(&l.io, 100, 100);
	fs_note_free(&l.io, 300, 100);
	fs_take_back(&l.io, 350);
	assert_int_equal(l.map.free.n, 2);
	assert_int_equal(l.map.free.at[1].off, 300);
	assert_int_equal(l.map.free.at[1].len, 50);
	fs_take_back(&l.io, 300);
	assert_int_equal(l.map.free.n, 1);
	assert_int_equal(l.map.free.at[0].off, 100);
	assert_int_equal(l.map.free.at[0].len, 100);
	fs_take_back(&l.io, 100);
	assert_int_equal(l.map.free.n, 0);
	fs_map_free(&l.map);
}

/* --------------------------------------------------------------- text */

/* What UTF-16 of so many units is, where there is so much room. */
static void
is_text(const char *want, size_t room, const uint16_t *units, size_t n)
{
	unsigned char from[32];
	char to[32];
	size_t i;

	for (i = 0; i < n; i++) {
		from[2 * i] = (unsigned char)units[i];
		from[2 * i + 1] = (unsigned char)(units[i] >> 8);
	}
	memset(to, 'x', sizeof(to));
	fs_utf8(to, room, from, n);
	assert_string_equal(to, want);
	assert_true(strlen(to) < room);
	assert_int_equal(to[room], 'x');
}

CASE(turns_text)
{
	static const uint16_t all[] = { 'a', 0xe9, 0x4e2d, 0xd83d, 0xde00,
		'b', 0, 'c' };
	static const uint16_t alone[] = { 0xd800, 'a', 0xdc00, 0xd83d };
	static const char want[] = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80" "b";
	static const size_t ends[] = { 0, 1, 3, 6, 10, 11 };
	char part[sizeof(want)];
	size_t room, i;

	for (room = 1; room <= sizeof(want) + 1; room++) {
		for (i = 0; i < 5 && ends[i + 1] < room; i++)
			;
		memcpy(part, want, ends[i]);
		part[ends[i]] = '\0';
		is_text(part, room, all, 8);
	}
	is_text("?a??", 9, alone, 4);
	is_text("", 1, alone, 4);
	is_text("", 9, alone, 0);
}

/* ------------------------------------------------------------ readers */

CASE(nothing_there)
{
	static const uint64_t lengths[] = { 0, 1, 511, 512, 4096, 1 << 20,
		INT64_MAX };
	struct fs_source src = { .read = nothing };
	struct fs_map m;

	EACH_OF(i, lengths) {
		src.length = lengths[i];
		assert_int_equal(fs_map_read(NULL, &src, FS_ORDER | FS_DEEP,
		    &m), 0);
		assert_int_equal(m.state, FS_UNKNOWN);
		assert_int_equal(m.free.n, 0);
		assert_int_equal(m.used, lengths[i]);
		fs_map_free(&m);
		assert_int_equal(fs_map_read("zfs_member", &src, 0, &m), 0);
		assert_int_equal(m.state, FS_UNKNOWN);
		assert_int_equal(m.used, lengths[i]);
		assert_int_equal(m.reads, 0);
		fs_map_free(&m);
	}
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		return print_map(argc, argv);
	return unit_run();
}
