/*
 * Whether a copy fits into a file system.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <linux/magic.h>

#include "plan/fit.h"

static void
counts_blocks_of_the_file_system(void **state)
{
	static const struct { uint32_t fragment, block; } rows[] = {
		{ 1024, 4096 }, { 0, 1024 } };
	const struct opts o = { .base = NULL };
	struct endpoint src = { .name = "src" }, dst = { .name = "dst",
		.fs = { .f_type = EXT4_SUPER_MAGIC, .f_blocks = 100 } };
	struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.bounded = true, .pad = 1 };
	struct fit fit;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		dst.fs.f_frsize = rows[i].fragment;
		dst.fs.f_bsize = rows[i].block;
		p.length = UINT64_C(100) * 1024;
		assert_false(fit_never(&p, &fit));
		p.length++;
		assert_true(fit_never(&p, &fit));
		assert_int_equal(fit.room, 100 * 1024);
		assert_int_equal(fit.need, p.length);
	}
}

/* How much is left out is not known here. */
static void
knows_not_what_is_left_out(void **state)
{
	struct opts o = { .base = NULL };
	struct endpoint src = { .name = "src" }, dst = { .name = "dst",
		.fs = { .f_type = EXT4_SUPER_MAGIC, .f_blocks = 100,
		.f_frsize = 1024 } };
	struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.bounded = true, .pad = 1, .length = 1 << 20 };
	struct fit fit;

	(void)state;
	o.used = USED_FIRST;
	assert_true(fit_never(&p, &fit) && fit_not_now(&p, &fit));
	o.used = USED_ONLY;
	assert_false(fit_never(&p, &fit) || fit_not_now(&p, &fit));
	o.used = 0;
	o.bmap = "image.bmap";
	assert_false(fit_never(&p, &fit) || fit_not_now(&p, &fit));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_blocks_of_the_file_system),
		cmocka_unit_test(knows_not_what_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
