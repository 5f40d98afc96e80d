/*
 * Whether data written to an NVMe disk is on its medium: flushes, power loss, and
 * a disk that was formatted.
 */
#undef _FORTIFY_SOURCE		/* poll() is one of the test's own */
#include "test.h"
#include "nvme_disk.h"

EACH(set_up, tear_down)

CASE(flushes_once)
{
	struct fault f;

	assert_int_equal(nvme_backend.flush(&end, &f), 0);
	assert_int_equal(disk.last.opcode, FLUSH);
	disk.rule[0] = (struct rule){ FLUSH, 1, .result = 0x280 };
	assert_int_equal(nvme_backend.flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_NOT_FLUSHED);
	assert_non_null(strstr(f.text, "Flush failed: write fault"));
	assert_int_equal(disk.commands, 2);
	/* the next would succeed, and tell nothing */
	assert_int_equal(nvme_backend.flush(&end, &f), -1);
	assert_non_null(strstr(f.text, "Flush failed: write fault"));
	assert_int_equal(disk.commands, 2);
}

/* One that was not run has told nothing: it is sent again. */
CASE(flushes_again_what_was_not_run)
{
	struct fault f;

	disk.rule[0] = (struct rule){ FLUSH, 1, .result = 0x021 };
	disk.rule[1] = (struct rule){ FLUSH, 1, .result = 0x371 };
	disk.rule[2] = (struct rule){ FLUSH, 1, .result = -EAGAIN };
	assert_int_equal(nvme_backend.flush(&end, &f), 0);
	assert_int_equal(disk.commands, 4);
	assert_int_equal(disk.pauses, 3);
}

CASE(flushes_not_again_what_is_of_no_use)
{
	struct fault f;

	disk.rule[0] = (struct rule){ FLUSH, 1, .result = 0x4021 };
	assert_int_equal(nvme_backend.flush(&end, &f), -1);
	assert_int_equal(disk.commands, 1);
}

CASE(says_why_a_flush_was_not_sent)
{
	struct fault f;

	disk.rule[0] = (struct rule){ FLUSH, LONG, .result = -EPERM };
	assert_int_equal(nvme_backend.flush(&end, &f), -1);
	assert_non_null(strstr(f.text, "Operation not permitted"));
}

CASE(notices_that_the_power_was_off)
{
	struct fault f;

	disk.cycles = 7;
	assert_int_equal(nvme_backend.prepare(&end, -1, &f), 0);
	assert_int_equal(nvme_backend.flush(&end, &f), 0);
	disk.cycles = 8;
	assert_int_equal(nvme_backend.flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_NOT_FLUSHED);
	assert_non_null(strstr(f.text, "it lost power"));
	disk.mute = true;
	assert_int_equal(nvme_backend.flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_NOT_FLUSHED);
	assert_non_null(strstr(f.text, "can no longer be read"));
	/* one that has never told is believed */
	assert_int_equal(nvme_backend.prepare(&end, -1, &f), 0);
	assert_int_equal(nvme_backend.flush(&end, &f), 0);
}

CASE(notices_another_format)
{
	struct fault f;

	assert_int_equal(nvme_backend.check_kept(&end, 0, 0, 0, &f), 0);
	disk.other = true;
	assert_int_equal(nvme_backend.check_kept(&end, 0, 0, 0, &f), -1);
	assert_non_null(strstr(f.text, "reformatted"));
	disk.mute = true;
	assert_int_equal(nvme_backend.check_kept(&end, 0, 0, 0, &f), 0);
}
