/*
 * Reading the contents of a source, in parts: what a rescue has copied is read
 * from the target, and what could not be read is not read at all.
 */
#include "test.h"

#include "../../src/part/used_survey.h"
#include "tabled.h"

enum { SIZE = DISK_SECTORS * SECTOR, SKIP = 16 * SECTOR, LENGTH = SIZE - SKIP,
	MUCH = 600 << 10 };

static struct tabled disk, target;
static struct opts o;
static struct plan p;
static struct look look;
static struct map map;
static unsigned char bytes[2][SIZE], buf[SIZE];

static int
set_up(void **state)
{
	size_t i;

	begin_disk(&disk, "disk", &viewed, SECTOR, DISK_SECTORS);
	begin_disk(&target, "target", &viewed, SECTOR, DISK_SECTORS);
	for (i = 0; i < SIZE; i++) {
		bytes[0][i] = (unsigned char)(i % 251);
		bytes[1][i] = (unsigned char)(i % 241);
	}
	fill(&disk, 0, bytes[0], SIZE);
	fill(&target, 0, bytes[1], SIZE);
	p = (struct plan){ .opts = &o, .src = &disk.ep, .dst = &target.ep,
		.src_off = SKIP, .length = LENGTH, .bounded = true };
	return map_init(&map, LENGTH, 65536, 0);
}

static int
tear_down(void **state)
{
	look_close(&look);
	map_free(&map);
	end_disk(&disk);
	end_disk(&target);
	return 0;
}

EACH(set_up, tear_down)

CASE(reads_much_in_parts)
{
	assert_int_equal(look_open(&look, &p, 0, NULL, false), 0);
	look.base = SKIP;
	assert_int_equal(look_read(&look, 100, buf, MUCH), 0);
	assert_memory_equal(buf, bytes[0] + SKIP + 100, MUCH);
	assert_int_equal(look_read(&look, LENGTH - 100, buf, 101), EIO);
}

CASE(reads_from_the_target_what_is_there)
{
	const size_t from = 70000, there = 100000;

	assert_int_equal(map_set(&map, from, there, FINISHED), 0);
	assert_int_equal(map_set(&map, SIZE / 2, SECTOR, BAD), 0);
	assert_int_equal(look_open(&look, &p, 0, &map, false), 0);
	look.base = SKIP;
	assert_int_equal(look_read(&look, 0, buf, MUCH), 0);
	assert_memory_equal(buf, bytes[0] + SKIP, from);
	assert_memory_equal(buf + from, bytes[1] + from, there);
	assert_memory_equal(buf + from + there, bytes[0] + SKIP + from + there,
	    MUCH - from - there);
	assert_int_equal(look_read(&look, SIZE / 2 - 1, buf, 1), 0);
	assert_int_equal(look_read(&look, SIZE / 2 - 1, buf, 2), EIO);
	assert_true(look_lost(&look, SIZE / 2 - 1, 2));
	assert_false(look_lost(&look, SIZE / 2 - 1, 1));
}
