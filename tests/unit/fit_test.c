/*
 * Whether a copy fits into a file system.
 */
#include "test.h"

#include <linux/magic.h>

#include "plan/fit.h"

static const struct opts o = { .base = NULL };
static struct endpoint src = { .name = "src" }, dst = { .name = "dst",
	.kind = END_FILE };

/* A copy of that length into a file system of a kind, of 100 blocks of 1024 bytes. */
static struct fit
judge(unsigned magic, uint64_t length, uint64_t omitted)
{
	struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.bounded = true, .pad = 1, .length = length,
		.omitted = omitted };

	dst.fs.f_type = magic;
	dst.fs.f_blocks = 100;
	return fit_judge(&p);
}

CASE(counts_blocks_of_the_file_system)
{
	static const struct { uint32_t fragment, block; } rows[] = {
		{ 1024, 4096 }, { 0, 1024 } };
	struct fit fit;
	size_t i;

	for (i = 0; i < 2; i++) {
		dst.fs.f_frsize = rows[i].fragment;
		dst.fs.f_bsize = rows[i].block;
		dst.fs.f_bavail = dst.fs.f_bfree = 100;
		assert_int_equal(judge(EXT4_SUPER_MAGIC, 102400, 0).is, FITS);
		fit = judge(EXT4_SUPER_MAGIC, 102401, 0);
		assert_int_equal(fit.is, FITS_NEVER);
		assert_int_equal(fit.room, 102400);
		assert_int_equal(fit.need, 102401);
	}
}

/* What is left out is not written; what may be compressed may need less. */
CASE(counts_what_will_be_written)
{
	struct fit fit;

	dst.fs.f_frsize = 1024;
	dst.fs.f_bavail = dst.fs.f_bfree = 50;
	assert_int_equal(judge(EXT4_SUPER_MAGIC, 1 << 20, 997376).is, FITS);
	fit = judge(EXT4_SUPER_MAGIC, 1 << 20, 997375);
	assert_int_equal(fit.is, FITS_NOT_NOW);
	assert_int_equal(fit.need, 51201);
	assert_int_equal(fit.room, 51200);
	assert_int_equal(judge(BTRFS_SUPER_MAGIC, 1 << 20, 997375).is,
	    FITS_PERHAPS);
	assert_int_equal(judge(BTRFS_SUPER_MAGIC, 1 << 20, 0).is, FITS_NEVER);
}

/* It has no holes: what is not written takes room, too. */
CASE(knows_the_longest_file_of_fat)
{
	const uint64_t longest = UINT32_MAX;
	struct fit fit;

	dst.fs.f_frsize = 64 << 20;
	dst.fs.f_bavail = dst.fs.f_bfree = 64;
	assert_int_equal(judge(MSDOS_SUPER_MAGIC, longest, longest).is, FITS);
	fit = judge(MSDOS_SUPER_MAGIC, longest + 1, longest);
	assert_int_equal(fit.is, FITS_NO_FILE);
	assert_int_equal(fit.need, longest + 1);
	assert_int_equal(fit.room, longest);
	dst.fs.f_bavail = dst.fs.f_bfree = 63;
	assert_int_equal(judge(MSDOS_SUPER_MAGIC, longest, longest).is,
	    FITS_NOT_NOW);
}
