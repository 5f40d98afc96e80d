/*
 * Numbers: which value each text has, what is rejected and why, and sizes as dd
 * prints them.
 */
#include "test.h"

#include <inttypes.h>

#define K INT64_C(1024)

static const struct { const char *text; int64_t value; } good[] = {
	{ "0", 0 }, { "10", 10 }, { "010", 10 }, { "08", 8 }, { "+5", 5 },
	{ "10c", 10 }, { "10w", 20 }, { "10b", 5120 },
	{ "2k", 2 * K }, { "2K", 2 * K }, { "2KiB", 2 * K }, { "2kib", 2 * K },
	{ "2kB", 2000 }, { "2KB", 2000 }, { "2kD", 2000 }, { "2kd", 2000 },
	{ "1M", K * K }, { "1m", K * K }, { "1MiB", K * K }, { "1MB", 1000000 },
	{ "1mB", 1000000 }, { "1G", K * K * K }, { "1GB", 1000000000 },
	{ "1T", K * K * K * K }, { "1TB", 1000000000000 },
	{ "1P", K * K * K * K * K }, { "1PB", 1000000000000000 },
	{ "1E", K * K * K * K * K * K }, { "1EB", 1000000000000000000 },
	{ "7E", 7 * K * K * K * K * K * K },
	{ "0x10", 16 }, { "0X10", 16 }, { "0xb", 11 }, { "0x1c", 28 },
	{ "10h", 16 }, { "ffh", 255 }, { "FFh", 255 }, { "0h", 0 },
	{ "2x3", 6 }, { "2X3", 6 }, { "2x3x4", 24 }, { "0x10x2", 32 },
	{ "2x0x10", 32 }, { "2x512k", K * K }, { "2kx3", 6 * K },
	{ "3+1k", 3 + K }, { "2x3+1", 7 }, { "1+2x3", 7 }, { "1+2+3", 6 },
	{ "1+10h", 17 }, { "2x10h", 32 },
	{ "9223372036854775807", INT64_MAX }, { "7fffffffffffffffh", INT64_MAX },
	{ "0x7fffffffffffffff", INT64_MAX },
	{ "9223372036854775806+1", INT64_MAX },
};

static const char *const wrong[] = {
	"", " ", " 7", "+", "-", "-1", "-0", "x", "0x", "0xg", "h", "k", "kB", "b",
	"0x10k", "2ki", "2kiBx", "1.5", "1e3", "abc", "10,5", "10-5", "10 5",
	"5 ", "10#c", "4kBjunk", "10cjunk", "10bjunk", "1MiBx", "2x", "2+",
	"x2", "+x2", "+ 5", "2xx3", "2++3", "2x+3", "1kk", "1K1", "2x-1",
	"2+-1", "3s", "1kBB", "1bb", "10hh", "10h1", "0x10h", "\n5", "\t5",
	"5\n", "1z",
};

static const char *const over[] = {
	"9223372036854775808", "18446744073709551616", "99999999999999999999",
	"8E", "8E+1", "9E", "20E", "10EB", "0x8000000000000000",
	"8000000000000000h", "0xffffffffffffffffff", "4Ex4",
	"4294967296x4294967296", "9223372036854775807+1", "7E+1E", "0x7fffffffffffffff+1",
	"8388608x1T", "99999999999999999999x0",
};

CASE(means_what_it_says)
{
	int64_t value;

	EACH_OF(i, good) {
		value = -1;
		if (number_parse(good[i].text, &value) != 0 ||
		    value != good[i].value)
			fail_msg("%s is %" PRId64, good[i].text, value);
	}
}

static void
reject(const char *text, int want)
{
	int64_t value = 4711;
	int err = number_parse(text, &value);

	if (err != want)
		fail_msg("\"%s\" gives %d, not %d", text, err, want);
	if (value != 4711)
		fail_msg("\"%s\" sets the value to %" PRId64, text, value);
}

CASE(rejects_what_is_no_number)
{
	EACH_OF(i, wrong)
		reject(wrong[i], EINVAL);
}

CASE(rejects_what_does_not_fit)
{
	EACH_OF(i, over)
		reject(over[i], ERANGE);
}

CASE(writes_sizes_as_dd)
{
	static const struct {
		double bytes;
		const char *si, *iec;
	} size[] = {
		{ 0, "0 B", "0 B" }, { 999, "999 B", "999 B" },
		{ 1000, "1.0 kB", "1000 B" }, { 1023, "1.0 kB", "1023 B" },
		{ 1024, "1.0 kB", "1.0 KiB" }, { 1300, "1.3 kB", "1.3 KiB" },
		{ 10240, "10 kB", "10 KiB" }, { 1e6, "1.0 MB", "977 KiB" },
		{ 1048576, "1.0 MB", "1.0 MiB" }, { 17e9, "17 GB", "16 GiB" },
		{ 2e12, "2.0 TB", "1.8 TiB" }, { 1e18, "1.0 EB", "888 PiB" },
	};
	char buf[32];

	EACH_OF(i, size) {
		assert_string_equal(number_si(buf, sizeof(buf), size[i].bytes),
		    size[i].si);
		assert_string_equal(number_iec(buf, sizeof(buf), size[i].bytes),
		    size[i].iec);
	}
}

CASE(carries_into_the_next_unit)
{
	char buf[32];

	assert_string_equal(number_si(buf, sizeof(buf), 999999), "1.0 MB");
	assert_string_equal(number_iec(buf, sizeof(buf), 1048575), "1.0 MiB");
	assert_string_equal(number_si(buf, sizeof(buf), 9999), "10 kB");
}

CASE(rounds_up)
{
	assert_int_equal(round_up(0, 512), 0);
	assert_int_equal(round_up(1, 512), 512);
	assert_int_equal(round_up(512, 512), 512);
	assert_int_equal(round_up(513, 512), 1024);
	assert_int_equal(round_up(10, 3), 12);
	assert_int_equal(round_up(12, 3), 12);
	assert_int_equal(round_up(7, 1), 7);
}

CASE(finds_the_part_of_a_byte)
{
	static const uint64_t large = INT64_MAX;

	assert_int_equal(number_part(0, 60, 100), 0);
	assert_int_equal(number_part(99, 60, 100), 59);
	assert_int_equal(number_part(100, 60, 100), 60);
	assert_int_equal(number_part(5, 3, 10), 1);
	assert_int_equal(number_part(large - 1, 4096, large), 4095);
	assert_int_equal(number_part(large, 4096, large), 4096);
	assert_int_equal(number_part(large / 2, 4096, large), 2047);
	assert_int_equal(number_part(large / 2 + 1, 4096, large), 2048);
	assert_int_equal(number_part(large / 7 * 3, 700, large / 7 * 7), 300);
	assert_int_equal(number_part(large / 7 * 3 - 1, 700, large / 7 * 7),
	    299);
	assert_int_equal(number_part(UINT64_MAX - 1, 10, UINT64_MAX), 9);
	assert_int_equal(number_part(UINT64_MAX, 10, UINT64_MAX), 10);
	assert_int_equal(number_part(UINT64_MAX, 10, UINT64_MAX / 3), 30);
}
