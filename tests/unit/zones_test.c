/*
 * Zones: whether those of two disks are alike, and what may be written in
 * order.
 */
#include "test.h"

#include "../../src/file/zones.h"
#include "disk/disk.h"

#define ZONE	((uint64_t)1 << 20)

enum { ZONES = 4 };

static struct zones *one, *two;

/* A disk whose first zone may be written anywhere. */
static struct zones *
disk(void)
{
	struct zones *z = calloc(1, sizeof(*z) + ZONES * sizeof(z->zone[0]));
	uint64_t i;

	assert_non_null(z);
	for (i = 0; i < ZONES; i++)
		z->zone[z->n++] = (struct zone){ .start = i * ZONE,
			.end = (i + 1) * ZONE, .room = (i + 1) * ZONE,
			.next = i * ZONE, .ordered = i > 0 };
	return z;
}

static int
set_up(void **state)
{
	one = disk();
	two = disk();
	return 0;
}

static int
tear_down(void **state)
{
	free(one);
	free(two);
	return 0;
}

EACH(set_up, tear_down)

static bool
fit(uint64_t from, uint64_t to, uint64_t other)
{
	return zones_fit(one, from, to, two, other);
}

CASE(finds_the_zone_of_a_byte)
{
	assert_ptr_equal(zones_at(one, 0), &one->zone[0]);
	assert_ptr_equal(zones_at(one, ZONE - 1), &one->zone[0]);
	assert_ptr_equal(zones_at(one, ZONE), &one->zone[1]);
	assert_ptr_equal(zones_at(one, ZONES * ZONE - 1), &one->zone[3]);
	assert_null(zones_at(one, ZONES * ZONE));
}

CASE(compares_borders)
{
	assert_true(fit(0, ZONES * ZONE, 0));
	assert_true(fit(ZONE, 3 * ZONE, ZONE));
	assert_true(fit(ZONE, 3 * ZONE, 2 * ZONE));	/* moved by a zone */
	assert_false(fit(ZONE, 4 * ZONE, 2 * ZONE));	/* it has no more */
	assert_false(fit(0, 2 * ZONE, ZONE));	/* only one is in order */
	assert_false(fit(ZONE + 4096, 3 * ZONE, ZONE + 4096));
	assert_false(fit(ZONE, 3 * ZONE, ZONE + 4096));
	assert_false(fit(ZONES * ZONE, (ZONES + 1) * ZONE, 0));
	two->zone[2].end -= 4096;
	two->zone[3].start -= 4096;
	assert_true(fit(0, 2 * ZONE, 0));
	assert_false(fit(0, 2 * ZONE + 1, 0));
	assert_false(fit(3 * ZONE, ZONES * ZONE, 3 * ZONE));
}

CASE(compares_what_is_written)
{
	one->zone[0].next = 4096;	/* says nothing there */
	assert_true(zones_equal(one, 0, ZONES * ZONE, two, 0));
	one->zone[2].next += 4096;
	assert_true(zones_equal(one, 0, 2 * ZONE, two, 0));
	assert_false(zones_equal(one, 0, ZONES * ZONE, two, 0));
	assert_true(fit(0, ZONES * ZONE, 0));
	two->zone[2].next += 4096;
	assert_true(zones_equal(one, 0, ZONES * ZONE, two, 0));
	/* full is full, whatever fits */
	one->zone[3].next = one->zone[3].room -= 4096;
	assert_false(zones_equal(one, 0, ZONES * ZONE, two, 0));
	two->zone[3].next = two->zone[3].room;
	assert_true(zones_equal(one, 0, ZONES * ZONE, two, 0));
}

static const struct zone *
unwritten(uint64_t from, uint64_t to)
{
	return zones_unwritten(one, from, to);
}

CASE(finds_what_is_not_written)
{
	assert_null(unwritten(0, ZONE));	/* in any order */
	assert_ptr_equal(unwritten(0, ZONE + 1), &one->zone[1]);
	assert_null(unwritten(ZONES * ZONE, (ZONES + 1) * ZONE));
	one->zone[1].next = one->zone[1].room = 2 * ZONE - 4096;
	one->zone[2].next = 2 * ZONE + 8192;
	assert_null(unwritten(0, 2 * ZONE));
	assert_null(unwritten(ZONE + 4096, 2 * ZONE + 8192));
	assert_ptr_equal(unwritten(ZONE, 2 * ZONE + 8193), &one->zone[2]);
	one->zone[1].next -= 4096;
	assert_ptr_equal(unwritten(ZONE, 2 * ZONE), &one->zone[1]);
	assert_null(unwritten(2 * ZONE, 2 * ZONE + 8192));
}

static int
check(uint64_t from, bool reset)
{
	struct fault f = { .status = 0 };
	int failed = zones_check(one, from, ZONES * ZONE, reset, "disk", &f);

	assert_true((failed == 0) == (f.status == 0));
	return f.status;
}

CASE(keeps_what_is_written)
{
	assert_int_equal(check(0, false), 0);
	one->zone[0].next = ZONE;
	assert_int_equal(check(0, false), 0);
	one->zone[1].next = 2 * ZONE;
	assert_int_equal(check(0, false), STATUS_REFUSED);
	assert_int_equal(check(0, true), 0);
	assert_int_equal(check(2 * ZONE, false), 0);
	one->zone[3].broken = true;
	assert_int_not_equal(check(2 * ZONE, true), 0);
}

CASE(knows_zones_of_one_size)
{
	assert_int_equal(zones_size(one), ZONE);
	one->zone[3].end -= 4096;
	assert_int_equal(zones_size(one), ZONE);
	one->zone[3].end += 8192;
	assert_int_equal(zones_size(one), 0);
	two->zone[1].end -= 4096;
	two->zone[2].start -= 4096;
	assert_int_equal(zones_size(two), 0);
	two->n = 1;
	assert_int_equal(zones_size(two), ZONE);
}

/* At a time, into the last two zones of one. */
static unsigned
may(unsigned open, unsigned active, unsigned left)
{
	const struct zone_limits most = { open, active };

	return zones_available(one, 2 * ZONE, ZONES * ZONE, &most, left);
}

static void
used(struct zone *z, enum zone_use use)
{
	z->use = use;
	z->next = z->start + (use == ZONE_IDLE ? 0 : 4096);
}

CASE(keeps_within_the_limits_of_the_disk)
{
	assert_int_equal(may(UINT_MAX, UINT_MAX, 0), UINT_MAX);
	assert_int_equal(may(3, UINT_MAX, 0), 3);
	assert_int_equal(may(5, 4, 0), 4);
	assert_int_equal(may(5, 4, 3), 1);
	assert_int_equal(may(5, 4, 4), 0);
	/* closed is active, and not open */
	used(&one->zone[1], ZONE_CLOSED);
	assert_int_equal(may(3, 6, 0), 3);
	assert_int_equal(may(6, 3, 0), 2);
	assert_int_equal(may(3, 1, 0), 0);
	/* what is open is closed by the disk, if need be, */
	used(&one->zone[1], ZONE_OPEN);
	assert_int_equal(may(3, 6, 0), 2);
	assert_int_equal(may(6, 3, 0), 2);
	assert_int_equal(may(1, UINT_MAX, 0), 1);
	assert_int_equal(may(1, 1, 0), 0);
	/* but not what a command has opened */
	used(&one->zone[1], ZONE_HELD);
	assert_int_equal(may(3, 6, 0), 2);
	assert_int_equal(may(1, UINT_MAX, 0), 0);
}

CASE(does_not_count_what_the_copy_itself_writes)
{
	used(&one->zone[2], ZONE_OPEN);
	assert_int_equal(may(2, 2, 0), 2);
	/* unless it is open without a need */
	one->zone[2].next = one->zone[2].start;
	assert_int_equal(may(2, 2, 0), 1);
}

static unsigned
left(void)
{
	return zones_left(one, 0, ZONES * ZONE, two, 0);
}

CASE(counts_what_is_left_written_in_part)
{
	assert_int_equal(left(), 0);
	used(&two->zone[1], ZONE_CLOSED);
	assert_int_equal(left(), 0);		/* it is the last */
	two->zone[2].next = two->zone[2].room;
	assert_int_equal(left(), 1);
	used(&two->zone[3], ZONE_CLOSED);
	assert_int_equal(left(), 1);
	two->zone[2].next = two->zone[2].start;
	assert_int_equal(left(), 1);
	used(&two->zone[2], ZONE_CLOSED);
	assert_int_equal(left(), 2);
	/* that is all that fits here */
	one->zone[2].room = one->zone[2].start + 4096;
	assert_int_equal(left(), 1);
}
