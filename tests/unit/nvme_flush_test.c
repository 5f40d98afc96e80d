/*
 * Whether data written to an NVMe disk is on its medium: flushes, power loss, a
 * disk that was formatted, and reading back.
 */
#undef _FORTIFY_SOURCE		/* poll() is one of the test's own */
#include "test.h"
#include "base/status.h"
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
	nvme.away = true;		/* others have waited for a way */
	disk.rule[0] = (struct rule){ FLUSH, LONG, .result = 0x022 };
	assert_int_equal(nvme_backend.flush(&end, &f), -1);
	assert_int_equal(disk.commands, 4 + 11);
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

CASE(reads_back_from_the_medium)
{
	struct endpoint r;
	struct fault f;

	nvme.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(endpoint_readback(&r, &end, UINT32_MAX, &f), 0);
	assert_int_equal(disk.commands, 1);
	assert_int_equal(disk.last.opcode, READ);
	assert_int_equal(disk.last.cdw12, FORCE);
	assert_int_equal(r.geo.io_align, BLOCK);
	assert_int_equal(endpoint_close(&r), 0);
	/* a disk that does not take the bit */
	disk.rule[0] = (struct rule){ READ, LONG, .bits = FORCE,
		.result = UNKNOWN };
	assert_int_equal(endpoint_readback(&r, &end, UINT32_MAX, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "refuses Read with FUA"));
	/* a block that cannot be read is met later */
	disk.rule[0].result = UNREADABLE;
	assert_int_equal(endpoint_readback(&r, &end, UINT32_MAX, &f), 0);
	assert_int_equal(endpoint_close(&r), 0);
	close(nvme.fd);
	nvme.fd = -1;
	assert_int_equal(endpoint_readback(&r, &end, UINT32_MAX, &f), -1);
	assert_non_null(strstr(f.text, "opening it to read it back"));
}
