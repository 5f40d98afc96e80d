/*
 * Errors as values: what each errno means for a copy, and a library that is
 * missing.
 */
#include "test.h"

#include <sys/resource.h>

#include "base/fault.h"
#include "base/library.h"

/* The bits of a row: what an errno is said to be. */
enum { MEDIUM = 1, FULL = 2, GONE = 4 };

CASE(knows_what_an_errno_means)
{
	static const struct {
		int		err, status;
		unsigned	is;
		const char	*words;
	} row[] = {
		{ 0, STATUS_FILE, 0, "Success" },
		{ -1, STATUS_FILE, 0, "unknown error" },
		{ 4000, STATUS_FILE, 0, "unknown error" },
		{ EPERM, STATUS_ERRNO + EPERM, 0, "Operation not permitted" },
		{ EIO, STATUS_ERRNO + EIO, MEDIUM, "Input/output error" },
		{ ENODATA, STATUS_FILE, MEDIUM, "No data available" },
		{ EILSEQ, STATUS_FILE, MEDIUM,
		    "Invalid or incomplete multibyte or wide character" },
		{ EREMOTEIO, STATUS_FILE, MEDIUM, "Remote I/O error" },
		{ EUCLEAN, STATUS_FILE, MEDIUM, "Structure needs cleaning" },
		{ EBADMSG, STATUS_FILE, MEDIUM, "Bad message" },
		{ ENOSPC, STATUS_ERRNO + ENOSPC, FULL,
		    "No space left on device" },
		{ EDQUOT, STATUS_FILE, FULL, "Disk quota exceeded" },
		{ EFBIG, STATUS_ERRNO + EFBIG, FULL, "File too large" },
		{ ENODEV, STATUS_ERRNO + ENODEV, GONE, "No such device" },
		{ ENXIO, STATUS_ERRNO + ENXIO, GONE,
		    "No such device or address" },
		{ ENOMEDIUM, STATUS_FILE, GONE, "No medium found" },
		{ ENOLINK, STATUS_FILE, GONE, "Link has been severed" },
		{ ESHUTDOWN, STATUS_FILE, GONE,
		    "Cannot send after transport endpoint shutdown" },
		{ ENOTCONN, STATUS_FILE, GONE,
		    "Transport endpoint is not connected" },
	};

	EACH_OF(i, row) {
		assert_int_equal(status_errno(row[i].err), row[i].status);
		assert_int_equal(errno_is_medium(row[i].err),
		    (row[i].is & MEDIUM) != 0);
		assert_int_equal(errno_is_full(row[i].err),
		    (row[i].is & FULL) != 0);
		assert_int_equal(errno_is_gone(row[i].err),
		    (row[i].is & GONE) != 0);
		assert_string_equal(errno_words(row[i].err), row[i].words);
	}
	assert_int_equal(status_errno(46), STATUS_ERRNO + 46);
	assert_int_equal(status_errno(47), STATUS_FILE);
}

CASE(names_the_package_of_a_library)
{
	const char *names[] = { "strlen", NULL, NULL };
	struct library l = { .file = "libc.so.6", .package = "libc6",
		.function = names };
	size_t (*table[2])(const char *) = { NULL, NULL };
	struct fault f;

	assert_int_equal(library_load(&l, table, "it", &f), 0);
	assert_int_equal(table[0]("four"), 4);
	names[1] = "of_a_later_version";
	assert_int_equal(library_load(&l, table, "it", &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_string_equal(f.text, "it needs a newer libc.so.6, one with "
	    "of_a_later_version");
	l.file = "libnothing.so.7";
	l.package = "libnothing7";
	assert_int_equal(library_load(&l, table, "it", &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_string_equal(f.text, "it needs libnothing.so.7, which cannot "
	    "be loaded; Debian has it in libnothing7");
}

CASE(does_not_call_a_library_missing_without_descriptors)
{
	struct library l = { .file = "libnothing.so.7", .package = "none" };
	struct rlimit was, none;
	struct fault f;
	int failed;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){ 0, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	failed = library_load(&l, NULL, "it", &f);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(failed, -1);
	assert_int_equal(f.status, STATUS_ERRNO + EMFILE);
	assert_string_equal(f.text, "it: loading libnothing.so.7: Too many "
	    "open files");
}
