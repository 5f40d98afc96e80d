/*
 * A physical volume of LVM2: where its logical volumes lie, which extents none
 * has, and what is not believed.  The text is as LVM2 2.03 writes it.
 */
#include "test.h"

#include "fsimage.h"
#include "../../src/fs/fsread.h"

enum { SECTOR = 512, AREA = 4096, AREA_SIZE = 61440, START = 65536,
	EXTENT = 4096, EXTENTS = 32, SECOND = START + EXTENTS * EXTENT,
	HEADER = SECTOR + 32, SIZE = SECOND + AREA_SIZE };

static unsigned char disk[SIZE];
static uint64_t ring;			/* where in an area the text begins */

static const char uuid[] = "buM1yKm1JmJhWxmEC5iGUjgMDMH98yFK";
static const char *flags, *group, *volumes;

static uint32_t
sum(const void *p, size_t n)
{
	return fs_crc32(0xf597a6cf, p, n);
}

static void
seal_label(void)
{
	put(disk + SECTOR + 16, 4, sum(disk + SECTOR + 20, SECTOR - 20));
}

static void
seal_area(unsigned char *area)
{
	put(area, 4, sum(area + 4, SECTOR - 4));
}

static void
make_area(uint64_t at, const char *text)
{
	unsigned char *area = disk + at;
	size_t size = strlen(text) + 1, i;

	put(disk + HEADER + 40 + (at == AREA ? 32 : 48), 8, at);
	put(disk + HEADER + 48 + (at == AREA ? 32 : 48), 8, AREA_SIZE);
	memcpy(area + 4, " LVM2 x[5A%r0N*>", 16);
	put(area + 20, 4, 1);
	put(area + 24, 8, at);
	put(area + 32, 8, AREA_SIZE);
	put(area + 40, 8, ring);
	put(area + 48, 8, size);
	put(area + 56, 4, sum(text, size));
	for (i = 0; i < size; i++)
		area[SECTOR + (ring - SECTOR + i) % (AREA_SIZE - SECTOR)] =
		    (unsigned char)text[i];
	seal_area(area);
	seal_label();
}

/* Make it anew from what the variables have. */
static void
make(void)
{
	static char text[8192];

	memset(disk, 0, sizeof(disk));
	image_begin("LVM2_member", disk, sizeof(disk));
	memcpy(disk + SECTOR, "LABELONE", 8);
	put(disk + SECTOR + 8, 8, 1);
	put(disk + SECTOR + 20, 4, 32);
	memcpy(disk + SECTOR + 24, "LVM2 001", 8);
	memcpy(disk + HEADER, uuid, 32);
	put(disk + HEADER + 32, 8, sizeof(disk));
	put(disk + HEADER + 40, 8, START);
	snprintf(text, sizeof(text), "vg0 {\nid = \"x\"\nseqno = 8\n"
	    "format = \"lvm2\"\n%sstatus = [\"RESIZEABLE\", \"READ\"]\n"
	    "extent_size = 8\t# 4 Kilobytes\nphysical_volumes {\npv0 {\n"
	    "id = \"buM1yK-m1Jm-JhWx-mEC5-iGUj-gMDM-H98yFK\"\n"
	    "device = \"/dev/a \\\"b\\\"\"\nflags = [%s]\npe_start = 128\n"
	    "pe_count = 32\n}\npv1 {\nid = \"other\"\n}\n}\n"
	    "logical_volumes {\n%s}\n}\n# by LVM2\n"
	    "contents = \"Text Format Volume Group\"\nversion = 1\n", group,
	    flags, volumes);
	make_area(AREA, text);
	make_area(SECOND, text);
}

#define LV(name, status, segments) name " {\nid = \"i\"\nstatus = [" status \
	"]\ncreation_host = \"root\"\nsegment_count = " segments "}\n"
#define SEGMENT(n, start, count, rest) "segment" n " {\nstart_extent = " \
	start "\nextent_count = " count "\n" rest "}\n"
#define LINEAR(where) "type = \"striped\"\nstripe_count = 1 # linear\n" \
	"stripes = [\n\"pv0\", " where "\n]\n"
#define SEEN "\"READ\", \"WRITE\", \"VISIBLE\""
#define ROOT LV("root", SEEN, "2\n" SEGMENT("1", "0", "5", LINEAR("0")) \
	SEGMENT("2", "5", "3", LINEAR("20")))
#define HOME LV("home", SEEN, "1\n" SEGMENT("1", "0", "4", LINEAR("10")))

static int
set_up(void **state)
{
	ring = SECTOR;
	flags = group = "";
	volumes = ROOT HOME;
	make();
	return 0;
}

EACH(set_up, image_end)

static const struct fs_extent between[] = {
	{ START + 5 * EXTENT, 5 * EXTENT }, { START + 14 * EXTENT, 6 * EXTENT },
	{ START + 23 * EXTENT, 9 * EXTENT },
};

CASE(finds_where_they_lie)
{
	const struct fs_volume *v;

	assert_int_equal(image_read(FS_META), FS_CLEAN);
	assert_true(image_free(between, COUNT(between)));
	assert_string_equal(map.label, "vg0");
	assert_int_equal(map.volumes, 2);
	v = map.volume;
	assert_string_equal(v->name, "vg0/root");
	assert_string_equal(v->reason, "");
	assert_int_equal(v->length, 8 * EXTENT);
	assert_int_equal(v->n, 2);
	assert_int_equal(v->piece[1].at, 5 * EXTENT);
	assert_int_equal(v->piece[1].len, 3 * EXTENT);
	assert_int_equal(v->piece[1].off, START + 20 * EXTENT);
	assert_string_equal(v[1].name, "vg0/home");
	assert_int_equal(v[1].piece[0].off, START + 10 * EXTENT);
	assert_int_equal(fs_among(&map.meta, 0, SIZE), 4 * SECTOR +
	    2 * AREA_SIZE);
}

/* The text goes round in its area. */
CASE(reads_a_ring)
{
	uint32_t was;

	image_read(0);
	was = map.stamp;
	for (ring = AREA_SIZE - 1; ring > AREA_SIZE - 1200; ring -= 100) {
		make();
		assert_int_equal(image_read(0), FS_CLEAN);
		assert_int_equal(map.volumes, 2);
	}
	assert_int_equal(map.stamp, was);
	group = "tags = [\"a\"]\n";
	make();
	image_read(0);
	assert_int_not_equal(map.stamp, was);
}

/* What is copied whole, and why; the free extents are free nevertheless. */
CASE(says_why)
{
	static const struct { const char *text, *reason; } others[] = {
		{ ROOT LV("snap0", SEEN, "1\n" SEGMENT("1", "0", "8",
		    "type = \"snapshot\"\norigin = \"root\"\n"
		    "cow_store = \"cow\"\n")),
		    "it has a snapshot, or another volume lies on it" },
		{ LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    "type = \"thin-pool\"\npool = \"d\"\n"))
		    LV("d", "\"READ\"", "1\n" SEGMENT("1", "0", "9",
		    LINEAR("1"))), "LVM thin pool" },
		{ LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    "type = \"raid1\"\nraids = [\"a\", \"b\"]\n")),
		    "LVM RAID" },
		{ LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    "type = \"striped\"\nstripe_count = 2\nstripe_size = 8\n"
		    "stripes = [\"pv0\", 0, \"pv0\", 4]\n")), "LVM stripes" },
		{ LV("root", SEEN, "2\n" SEGMENT("1", "0", "8", LINEAR("0"))
		    SEGMENT("2", "8", "2", "type = \"striped\"\n"
		    "stripe_count = 1\nstripes = [\"pv1\", 0]\n")),
		    "a part of it is on another disk" },
		{ LV("root", SEEN ", \"LOCKED\"", "1\n" SEGMENT("1", "0", "8",
		    LINEAR("0"))), "its state is unusual" },
	};

	EACH_OF(i, others) {
		volumes = others[i].text;
		make();
		assert_int_equal(image_read(0), FS_CLEAN);
		assert_true(map.volumes > 0);
		assert_string_equal(map.volume[0].reason, others[i].reason);
		assert_int_equal(fs_among(&map.free, START, START +
		    EXTENT * 32), (i == 1 ? 23 : i == 2 ? 32 : 24) * EXTENT);
	}
	/* what lies elsewhere is none of its own */
	volumes = LV("far", SEEN, "1\n" SEGMENT("1", "0", "8",
	    "type = \"striped\"\nstripe_count = 1\nstripes = [\"pv1\", 0]\n"));
	make();
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_int_equal(map.volumes, 0);
}

/* With these nothing of it is believed. */
CASE(believes_no_text)
{
	static const char *const texts[] = {
		LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    "type = \"new\"\n")),
		LV("move", "\"READ\"", "1\n" SEGMENT("1", "0", "8",
		    "type = \"mirror\"\nmirrors = [\"pv0\", 1, \"pv1\", 2]\n")),
		HOME LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    LINEAR("7"))),			/* lies on home */
		LV("root", SEEN, "1\n" SEGMENT("1", "0", "8", LINEAR("25"))),
		LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    LINEAR("18446744073709551615"))),
		LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    LINEAR("99999999999999999999"))),
		LV("root", SEEN, "1\n" SEGMENT("1", "0",
		    "4503599627370496", LINEAR("0"))),
		LV("root", SEEN, "1\n" SEGMENT("1", "3", "8", LINEAR("0"))),
		LV("root", SEEN, "2\n" SEGMENT("1", "0", "8", LINEAR("0"))),
		LV("root", SEEN, "1\n" SEGMENT("1", "0", "0", LINEAR("0"))),
		LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    "type = \"striped\"\nstripe_count = 0\nstripes = []\n")),
		LV("root", SEEN, "1\n" SEGMENT("1", "0", "8",
		    LINEAR("0, \"pv0\", 9"))),
		"a { b { c { d { e { f { g { h { i = 1\n} } } } } } } }",
		"}\n}\n", "root {\n", "root = [ 1, 2\n", "root = \"\n", "root",
	};

	EACH_OF(i, texts) {
		volumes = texts[i];
		make();
		assert_int_not_equal(image_read(0), FS_CLEAN);
		assert_int_equal(map.free.n, 0);
		assert_int_equal(map.volumes, 0);
	}
	set_up(NULL);
	flags = "\"MISSING\"";
	make();
	assert_int_not_equal(image_read(0), FS_CLEAN);
	flags = "]\nstatus = [\"ALLOCATABLE\", \"MISSING\"";
	make();
	assert_int_equal(image_read(0), FS_DAMAGED);
	flags = "";
	group = "lock_type = \"sanlock\"\n";
	make();
	assert_int_equal(image_read(0), FS_DIRTY);
	group = "status = [\"RESIZEABLE\", \"CLUSTERED\"]\n";
	make();
	assert_int_equal(image_read(0), FS_DIRTY);
	group = "lock_type = \"none\"\n";
	make();
	assert_int_equal(image_read(0), FS_CLEAN);
	image.size = src.length = SIZE - SECTOR;	/* shorter than it was */
	assert_int_not_equal(image_read(0), FS_CLEAN);
}

/* Headers, and copies that differ. */
CASE(believes_no_header)
{
	static const struct { unsigned at; int bytes; uint64_t v; } wrong[] = {
		{ SECTOR + 8, 8, 2 }, { SECTOR + 20, 4, 500 },
		{ SECTOR + 20, 4, 0 }, { HEADER, 1, 'x' },
		{ HEADER + 72, 8, SIZE }, { HEADER + 80, 8, UINT64_MAX },
		{ HEADER + 80, 8, SECTOR }, { AREA + 4, 1, 0 },
		{ AREA + 20, 4, 2 }, { AREA + 24, 8, SECOND },
		{ AREA + 32, 8, AREA_SIZE / 2 }, { AREA + 40, 8, 0 },
		{ AREA + 40, 16, 0 }, { AREA + 40, 8, AREA_SIZE }, { AREA + 40, 8, UINT64_MAX },
		{ AREA + 48, 8, 0 }, { AREA + 48, 8, AREA_SIZE },
		{ AREA + 48, 8, UINT64_MAX }, { AREA + 56, 4, 0 },
		{ AREA + 64, 8, 1024 }, { AREA + SECTOR, 1, 'w' },
	};

	EACH_OF(i, wrong) {
		set_up(NULL);
		put(disk + wrong[i].at, wrong[i].bytes, wrong[i].v);
		seal_area(disk + AREA);
		seal_label();
		assert_int_not_equal(image_read(0), FS_CLEAN);
		assert_int_equal(map.free.n, 0);
		assert_int_equal(map.volumes, 0);
	}
	set_up(NULL);			/* an older copy */
	make_area(SECOND, "vg0 {\nseqno = 7\n}\n");
	assert_int_not_equal(image_read(0), FS_CLEAN);
	put(disk + SECOND + 60, 4, 1);	/* which is ignored */
	seal_area(disk + SECOND);
	assert_int_equal(image_read(0), FS_CLEAN);
	put(disk + AREA + 60, 4, 1);
	seal_area(disk + AREA);
	assert_int_not_equal(image_read(0), FS_CLEAN);
	set_up(NULL);			/* two labels, one of them old */
	memcpy(disk, disk + SECTOR, SECTOR);
	assert_int_not_equal(image_read(0), FS_CLEAN);
	set_up(NULL);
	put(disk + HEADER + 40 + 48, 16, 0);	/* sums are wrong */
	assert_int_not_equal(image_read(0), FS_CLEAN);
	assert_int_equal(map.volumes, 0);
}

CASE(fails_safely)
{
	image_fails(0, SIZE);
	image_lacks_memory(0);
	assert_int_equal(map.volumes, 2);
}
