/*
 * A map as cells: the worst status of each part shows, however small it is.
 */
#include "test.h"

#include "report/report.h"

CASE(worst_shows)
{
	const uint64_t tera = UINT64_C(1) << 40;
	const struct seg seg[] = { { 0, tera / 2, FINISHED },
		{ tera / 2, 512, BAD }, { tera / 2 + 512, tera / 4 - 512,
		UNTRIED }, { tera / 4 * 3, tera / 4, OUTSIDE } };
	char cell[9] = "";

	cells_fill(cell, 8, seg, COUNT(seg), tera);
	assert_string_equal(cell, "++++-?xx");
	cells_fill(cell, 1, seg, COUNT(seg), tera);
	assert_int_equal(cell[0], BAD);
}

CASE(orders)
{
	static const char order[] = "x+?*/-";
	size_t i;

	for (i = 0; i + 2 < sizeof(order); i++) {
		const struct seg seg[] = { { 0, 1,
			(enum seg_status)order[i + 1] }, { 1, 7,
			(enum seg_status)order[i] } };
		char cell;

		cells_fill(&cell, 1, seg, 2, 8);
		assert_int_equal(cell, order[i + 1]);
	}
}

/* Fewer bytes than cells; borders in the midst of cells; the very last byte. */
CASE(small)
{
	const struct seg seg[] = { { 0, 1, FINISHED }, { 1, 1, BAD },
		{ 2, 1, FINISHED } };
	const struct seg end[] = { { 0, UINT64_MAX - 1, FINISHED },
		{ UINT64_MAX - 1, 1, BAD } };
	char cell[11] = "";

	cells_fill(cell, 10, seg, 3, 3);
	assert_string_equal(cell, "+++---++++");
	cells_fill(cell, 3, seg, 3, 3);
	assert_memory_equal(cell, "+-+", 3);
	cells_fill(cell, 10, end, 2, UINT64_MAX);
	assert_string_equal(cell, "+++++++++-");
}

/*
 * The map of a stream may have become shorter, or longer, since its length was
 * read.
 */
CASE(of_another_length)
{
	const struct seg seg[] = { { 0, 3, FINISHED }, { 3, 0, BAD },
		{ 3, 2, UNSCRAPED }, { 8, 8, BAD } };
	char cell[9] = "";

	cells_fill(cell, 8, seg, 4, 8);
	assert_string_equal(cell, "+++//???");
	cells_fill(cell, 8, seg, 4, 4);
	assert_string_equal(cell, "++++++//");
	cells_fill(cell, 4, seg, 4, 16);
	assert_memory_equal(cell, "//--", 4);
	cells_fill(cell, 4, seg, 4, 8);
	assert_memory_equal(cell, "+//?", 4);
}
