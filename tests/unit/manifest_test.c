/*
 * Mock manifests: everything that may be wrong with one, read errors, and lack
 * of memory.
 */
#include "test.h"

#include "digest/manifest.h"
#define POOR_OF_ALL
#include "poor.h"

static struct manifest m;
static struct fault f;

#define HEX	"0123456789abcdef0123456789abcde"	/* and one more */

/* 2500 bytes from byte 100 on, in ranges of 1000 that end at 700, 1700 ... */
static const char good[] =
    "{\"schema\":\"pardd-manifest/1\",\"algorithm\":\"xxh128\",\"range\":1000,"
    "\"offset\":100,\"length\":2500,\"source\":{\"disk\":{\"serial\":\"S1\"}},"
    "\"target\":{\"disk\":{\"serial\":\"T1\"}}}\n"
    "{\"offset\":100,\"length\":600,\"xxh128\":\"" HEX "1\"}\n"
    "{\"offset\":700,\"length\":1000,\"xxh128\":null}\n"
    "{\"offset\":1700,\"length\":900,\"xxh128\":\"" HEX "3\"}\n"
    "{\"ranges\":3}\n";

#include "mock_file.h"

EACH(file_begin, file_end)

static void
put_changed(const char *from, const char *to)
{
	char text[4096];

	change(text, sizeof(text), from, to);
	put(text, strlen(text));
}

static void
refused(int status, const char *why)
{
	assert_int_equal(manifest_load(&m, path, &f), -1);
	if (f.status != status || strstr(f.text, why) == NULL)
		fail_msg("%d: %s, and not %s", f.status, f.text, why);
	assert_null(m.by);
	assert_null(m.serial[0]);
	assert_null(m.digests.digest);
}

CASE(reads_what_is_right)
{
	struct check c;

	put_changed("", "");
	assert_int_equal(manifest_load(&m, path, &f), 0);
	assert_int_equal(m.off, 100);
	assert_int_equal(m.length, 2500);
	assert_string_equal(m.serial[0], "S1");
	assert_string_equal(m.serial[1], "T1");
	assert_int_equal(digest_table_count(&m.digests), 3);
	assert_true(digest_table_at(&m.digests, 0, &c));
	assert_int_equal(c.state, CHECK_COPIED);
	assert_true(c.digest.word[1] == UINT64_C(0x0123456789abcde1));
	assert_true(digest_table_at(&m.digests, 1, &c));
	assert_int_equal(c.off, 600);
	assert_int_equal(c.state, CHECK_NONE);
	manifest_free(&m);
	put_changed("\"source\":{\"disk\":{\"serial\":\"S1\"}},", "");
	assert_int_equal(manifest_load(&m, path, &f), 0);
	assert_null(m.serial[0]);
	manifest_free(&m);
}

static void
put_nothing(void)
{
	static const char text[] = "{\"schema\":\"pardd-manifest/1\","
	    "\"algorithm\":\"sha256\",\"range\":1,\"offset\":0,\"length\":0}\n"
	    "{\"ranges\":0}\n";

	put(text, strlen(text));
}

CASE(reads_one_of_nothing)
{
	put_nothing();
	assert_int_equal(manifest_load(&m, path, &f), 0);
	assert_int_equal(digest_table_count(&m.digests), 0);
	assert_non_null(m.by);
	manifest_free(&m);
}

CASE(refuses_what_is_wrong)
{
	static const struct {
		const char	*from, *to, *why;
	} row[] = {
		{ "pardd-manifest/1", "x", "line 1: this is not a manifest" },
		{ "\"schema\":\"pardd-manifest/1\"", "\"a\":1",
		    "line 1: this is not a manifest" },
		{ "pardd-manifest/1", "pardd-manifest/2", "another version" },
		{ "\"xxh128\",", "\"xxh64\",", "with other digests" },
		{ "\"algorithm\":\"xxh128\",", "", "with other digests" },
		{ "\"range\":1000", "\"range\":0", "no range, offset and" },
		{ "\"range\":1000", "\"range\":1073741825", "no range, off" },
		{ "\"range\":1000", "\"range\":1000.0", "no range, offset" },
		{ "\"offset\":100", "\"offset\":-1", "no range, offset and" },
		{ "\"offset\":100", "\"offset\":\"0\"", "no range, offset and" },
		{ "\"length\":2500", "\"length\":-2500", "no range, offset" },
		{ "\"length\":2500", "\"length\":99999999999999999995",
		    "line 1: is not a line of a manifest" },
		{ "\"length\":2500", "\"length\":9223372036854775807",
		    "no range, offset and length" },
		{ "1000,\"offset\":100,\"length\":2500",
		    "1,\"offset\":100,\"length\":33554433", "too many ranges" },
		{ "{\"offset\":100,\"length\":600", "{\"offset\":101,\"length\":600",
		    "line 2: this range does not follow" },
		{ "{\"offset\":100,\"length\":600", "{\"offset\":100,\"length\":0",
		    "this range does not follow" },
		{ "{\"offset\":100,\"length\":600",
		    "{\"offset\":100,\"length\":1001",
		    "this range does not follow" },
		{ "{\"offset\":100,", "{", "this range does not follow" },
		{ "{\"offset\":700,", "{\"offset\":100,",
		    "line 3: this range does not follow" },
		{ "{\"offset\":700,", "{\"offset\":699,",
		    "line 3: this range does not follow" },
		{ "{\"offset\":700,\"length\":1000,\"xxh128\":null}\n", "",
		    "line 3: this range does not follow" },
		{ "\"length\":600", "\"length\":599", "line 3: " },
		{ "1700,\"length\":900", "1700,\"length\":901",
		    "or goes past the end" },
		{ "700,\"length\":1000", "700,\"length\":999",
		    "line 3: this range is not as long as it should be" },
		{ "1700,\"length\":900", "1700,\"length\":800",
		    "line 4: this range is not as long as it should be" },
		{ HEX "1", HEX, "line 2: this range has no digest" },
		{ HEX "1", HEX "g", "this range has no digest" },
		{ HEX "1", HEX "A", "this range has no digest" },
		{ "null", "0", "this range has no digest" },
		{ ",\"xxh128\":null", "", "this range has no digest" },
		{ "{\"ranges\":3}", "{\"ranges\":2}", "more or fewer ranges" },
		{ "{\"ranges\":3}", "{\"ranges\":\"3\"}", "more or fewer" },
		{ "{\"offset\":1700,\"length\":900,\"xxh128\":\"" HEX "3\"}\n"
		    "{\"ranges\":3}", "{\"ranges\":2}",
		    "line 4: there are more or fewer ranges" },
		{ "{\"ranges\":3}\n", "", "line 5: it ends here" },
		{ "{\"ranges\":3}\n", "{\"ranges\":3}", "it ends here" },
		{ "{\"ranges\":3}\n", "{\"ranges\":3}\n\n",
		    "something follows the last line" },
		{ "{\"ranges\":3}\n", "{\"ranges\":3}\n{\"ranges\":3}\n",
		    "line 5: something follows the last line" },
		{ "\"offset\":1700", "\"offset\":1700,\"offset\":1700",
		    "line 4: is not a line of a manifest" },
		{ "{\"ranges\":3}", "[]", "line 5: is not a line of a" },
		{ "{\"ranges\":3}", "{", "is not a line of a manifest" },
		{ "{\"ranges\":3}", "{\"ranges\":3,\"ranges\":3}",
		    "is not a line of a manifest" },
	};
	static char line[(64 << 10) + 10];

	EACH_OF(i, row) {
		put_changed(row[i].from, row[i].to);
		refused(STATUS_REFUSED, row[i].why);
	}
	memset(line, ' ', sizeof(line));
	line[0] = '{';
	put(line, sizeof(line));
	refused(STATUS_REFUSED, "line 1: is not a line of a manifest");
	put("\0\n", 2);
	refused(STATUS_REFUSED, "line 1: is not a line of a manifest");
}

CASE(tells_what_cannot_be_read)
{
	put_changed("", "");
	stat_error = EIO;
	refused(STATUS_ERRNO + EIO, path);
	stat_error = 0;
	assert_int_equal(manifest_load(&m, "/nowhere/x", &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOENT);
	assert_int_equal(manifest_load(&m, "/tmp", &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	/* a file of the kernel, the first page of which cannot be read */
	assert_int_equal(manifest_load(&m, "/proc/self/mem", &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EIO);
}

#ifdef POOR
/*
 * libjansson leaves out a letter where there is no memory for it, and goes on:
 * so it may seem to be no manifest, but never is another one.
 */
CASE(tells_each_lack_of_memory)
{
	unsigned n, told = 0;
	bool refused;
	struct check c;

	put_changed("", "");
	for (n = 0; n == 0 || refused; n++) {
		poor_after(n);
		if (manifest_load(&m, path, &f) == 0) {
			refused = poor_was();
			assert_int_equal(m.off, 100);
			assert_int_equal(m.length, 2500);
			assert_string_equal(m.serial[1], "T1");
			assert_true(digest_table_at(&m.digests, 2, &c));
			assert_true(c.digest.word[1] ==
			    UINT64_C(0x0123456789abcde3));
			manifest_free(&m);
			continue;
		}
		refused = poor_was();
		assert_true(refused);
		told += f.status == STATUS_ERRNO + ENOMEM;
		if (f.status != STATUS_REFUSED)
			assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	}
	assert_true(told > 20);
	put_nothing();
	for (n = 0; n == 0 || refused; n++) {
		poor_after(n);
		if (manifest_load(&m, path, &f) == 0) {
			assert_non_null(m.digests.digest);
			manifest_free(&m);
		}
		refused = poor_was();
	}
}
#endif
