/*
 * Mock block maps: everything that may be wrong with one, read errors, and lack
 * of memory.
 */
#include "test.h"

#include <sys/syscall.h>

#include "digest/bmap.h"
#define POOR_OF_ALL
#include "poor.h"

static struct {
	int	 read;		/* errno of reading the file, or 0 */
	bool	 cut;		/* it is read in parts */
} broken;

ssize_t
read(int fd, void *buf, size_t n)
{
	if (broken.read == 0)
		return (ssize_t)syscall(SYS_read, fd, buf, broken.cut ?
		    (n + 1) / 2 : n);
	errno = broken.read;
	return -1;
}

/* The headers check the size of a buffer where they know it. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t
__read_chk(int fd, void *buf, size_t n, size_t room)
{
	return read(fd, buf, n);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static struct bmap m;
static struct fault f;

#define ZEROS_8	"00000000"
#define ZEROS	ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8
#define SUM	"f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1"

/* A map of four blocks of 4096 bytes, the last in part; two are mapped. */
static const char good[] =
    "<?xml version=\"1.0\" ?>\n"
    "<bmap version=\"2.0\">\n"
    "<ImageSize> 16000 </ImageSize>\n"
    "<BlockSize> 4096 </BlockSize>\n"
    "<BlocksCount> 4 </BlocksCount>\n"
    "<MappedBlocksCount> 2 </MappedBlocksCount>\n"
    "<ChecksumType> sha256 </ChecksumType>\n"
    "<BmapFileChecksum> " ZEROS " </BmapFileChecksum>\n"
    "<BlockMap>\n"
    "<Range chksum=\"" SUM "\"> 1 </Range>\n"
    "<Range chksum=\"" SUM "\"> 3-3 </Range>\n"
    "</BlockMap>\n"
    "</bmap>\n";

#include "mock_file.h"

EACH(file_begin, file_end)

/* That map with a change, and the checksum that it has then. */
static void
put_changed(const char *from, const char *to)
{
	char text[4096], hex[HASH_HEX], *sum;

	change(text, sizeof(text), from, to);
	assert_int_equal(hash_once(algorithm_named("sha256", 6), text,
	    strlen(text), hex, &f), 0);
	sum = strstr(text, ZEROS);
	if (sum != NULL)
		memcpy(sum, hex, 64);
	put(text, strlen(text));
}

static void
refused(int status, const char *why)
{
	assert_int_equal(bmap_load(&m, path, &f), -1);
	if (f.status != status || strstr(f.text, why) == NULL)
		fail_msg("%d: %s, and not %s", f.status, f.text, why);
	assert_null(m.range);
	assert_int_equal(m.n, 0);
}

CASE(reads_what_is_right)
{
	put_changed("", "");
	assert_int_equal(bmap_load(&m, path, &f), 0);
	assert_int_equal(m.size, 16000);
	assert_int_equal(m.block, 4096);
	assert_int_equal(m.n, 2);
	assert_int_equal(m.range[0].off, 4096);
	assert_int_equal(m.range[0].len, 4096);
	assert_int_equal(m.range[1].off, 3 * 4096);
	assert_int_equal(m.range[1].len, 16000 - 3 * 4096);
	assert_int_equal(m.range[1].want[31], 0xf1);
	bmap_free(&m);
	put_changed("3-3", "2-2 ");
	assert_int_equal(bmap_load(&m, path, &f), 0);
	bmap_free(&m);
}

CASE(refuses_what_is_wrong)
{
	static const struct {
		const char	*from, *to, *why;
	} row[] = {
		{ "> 1 <", "> x <", "line 10: not a range" },
		{ "> 1 <", "> -1 <", "not a range" },
		{ "> 1 <", "> 1- <", "not a range" },
		{ "> 1 <", "> 1-x <", "not a range" },
		{ "> 1 <", "> 1x <", "not a range" },
		{ "> 1 <", "> 1-0 <", "not a range" },
		{ "> 1 <", "> 4 <", "not a range" },
		{ "> 1 <", "> 3 <", "out of order" },
		{ "> 3-3 <", "> 1-3 <", "out of order" },
		{ "> 3-3 <", "> 3-2 <", "out of order" },
		{ "> 3-3 <", "> 3-4 <", "too large" },
		{ "> 1 <", "> 18446744073709551615 <", "too large" },
		{ "> 1 <", "> 18446744073709551616 <", "too large" },
		{ "> 1 <", "> 99999999999999999999 <", "too large" },
		{ "> 1 <", "><", "not a range" },
		{ "> 16000 <", "> 9223372036854775807 <", "contradict" },
		{ "> 16000 <", "> 9223372036854775808 <", "line 3: not a number" },
		{ "> 16000 <", "> 18446744073709551616 <", "not a number" },
		{ "> 16000 <", "> 16000 x <", "not a number" },
		{ "> 16000 <", "> 16385 <", "contradict" },
		{ "> 4096 <", "> 0 <", "line 9: its sizes contradict" },
		{ "> 4096 <", "> 1073741825 <", "not a number, or too" },
		{ "> 4 <", "> 5 <", "contradict" },
		{ "> 2 <", "> 3 <", "has ranges of 2 blocks, but says 3" },
		{ "sha256 ", "sha3 ", "of an unknown kind" },
		{ "<ChecksumType> sha256 </ChecksumType>", "",
		    "the checksum of a range is none" },
		{ "2.0", "3.0", "not a bmap of version" },
		{ "version=\"2.0\"", "", "not a bmap of version" },
		{ "chksum=\"", "chksum=\"f", "of a range is none" },
		{ "chksum=\"f", "chksum=\"x", "of a range is none" },
		{ "\"" SUM "\"> 1", "\"\"> 1", "of a range is none" },
		{ "chksum=\"", "sha1=\"", "and some have none" },
		/* longer than any checksum */
		{ "chksum=\"", "chksum=\"" SUM SUM SUM, "a checksum is too" },
		{ "> " ZEROS, "> " SUM SUM SUM, "has no checksum of itself" },
		{ "> " ZEROS, "> f" ZEROS, "has no checksum of itself" },
		{ "> " ZEROS " <", "><", "has no checksum of itself" },
		{ "> " ZEROS " <", "> &#48;" "0000000" ZEROS_8 ZEROS_8 ZEROS_8
		    ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 " <",
		    "has no checksum of itself" },
		{ "> " ZEROS " <", "> " SUM " <", "is damaged: its sha256 is" },
		{ "</bmap>", "<BlockSize>4096</BlockSize></bmap>",
		    "its sizes come after its ranges" },
		{ "<bmap", "<!DOCTYPE bmap>\n<bmap", "a document type" },
		{ "</bmap>", "", "this is not XML" },
		{ "> 4 <", "> 4" SUM SUM SUM SUM " <", "a text is too long" },
		/* what is empty ends where it begins */
		{ "<ImageSize>", "<BlockMap/><ImageSize>", "contradict" },
		{ "<ImageSize>", "<Range/><ImageSize>", "contradict" },
	};
	static const char bare[] = "<bmap version=\"1.4\"><ChecksumType>sha256"
	    "</ChecksumType><BmapFileChecksum>" ZEROS "</BmapFileChecksum>"
	    "</bmap>";
	char hex[HASH_HEX], text[512];

	EACH_OF(i, row) {
		put_changed(row[i].from, row[i].to);
		refused(STATUS_REFUSED, row[i].why);
	}
	assert_int_equal(hash_once(algorithm_named("sha256", 6), bare,
	    strlen(bare), hex, &f), 0);
	stpcpy(text, bare);
	memcpy(strstr(text, ZEROS), hex, 64);
	put(text, strlen(text));
	refused(STATUS_REFUSED, "has no BlockMap");
}

/* ------------------------------------------------------ what cannot be read */

CASE(tells_what_cannot_be_read)
{
	put_changed("", "");
	stat_error = EIO;
	refused(STATUS_ERRNO + EIO, path);
	stat_error = 0;
	broken.read = EIO;
	refused(STATUS_ERRNO + EIO, path);
	broken.read = 0;
	broken.cut = true;
	assert_int_equal(bmap_load(&m, path, &f), 0);
	bmap_free(&m);
	m = (struct bmap){ .n = 0 };
	broken.cut = false;
	assert_int_equal(truncate(path, 4096), 0);
	refused(STATUS_REFUSED, "is not a text file");
	assert_int_equal(truncate(path, BMAP_FILE_MOST + INT64_C(1)), 0);
	refused(STATUS_REFUSED, "too large");
	assert_int_equal(bmap_load(&m, "/tmp", &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_int_equal(bmap_load(&m, "/nowhere/x", &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOENT);
}

#ifdef POOR
CASE(tells_each_lack_of_memory)
{
	unsigned n;
	bool done = false;

	put_changed("", "");
	for (n = 0; !done; n++) {
		poor_after(n);
		done = bmap_load(&m, path, &f) == 0;
		if (!poor_was())
			assert_true(done);
		else if (!done && f.status != STATUS_ERRNO + ENOMEM)
			fail_msg("the %uth: %d: %s", n, f.status, f.text);
		done = done && !poor.refused;
		bmap_free(&m);
	}
	assert_true(n > 10);
}
#endif
