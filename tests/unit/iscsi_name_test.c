/*
 * The name of an iSCSI disk.
 */
#include "test.h"

#include "../../src/scsi/iscsi_link.h"

static struct iscsi_name n;
static struct fault f;

CASE(has_these_parts)
{
	static const struct {
		const char	*name, *user, *portal, *target;
		int		lun;
	} row[] = {
		{ "iscsi://h/t/0", "", "h", "t", 0 },
		{ "iscsi://u@h:3260/t/1", "u", "h:3260", "t", 1 },
		{ "iscsi://u@v@192.0.2.1/t/1", "u@v", "192.0.2.1", "t", 1 },
		{ "iscsi://[2001:db8::1]/t/1", "", "[2001:db8::1]", "t", 1 },
		{ "iscsi://[::1]:65535/t/1", "", "[::1]:65535", "t", 1 },
		{ "iscsi://h/iqn.2026-11.org%3Aa%2fb%2F/255", "", "h",
		    "iqn.2026-11.org:a/b/", 255 },
	};

	EACH_OF(i, row) {
		assert_int_equal(iscsi_name(&n, row[i].name, &f), 0);
		assert_string_equal(n.user, row[i].user);
		assert_string_equal(n.portal, row[i].portal);
		assert_string_equal(n.target, row[i].target);
		assert_int_equal(n.lun, row[i].lun);
	}
}

CASE(is_nothing_else)
{
	static const char *const wrong[] = {
		"iscsi://", "iscsi://h", "iscsi://h/t", "iscsi://h/t/",
		"iscsi:///t/1", "iscsi://h//1", "iscsi://@h/t/1",
		"iscsi://h/t/x", "iscsi://h/t/1x", "iscsi://h/t/1/2",
		"iscsi://h/t/-1", "iscsi://h/t/123456", "iscsi://h/t/99999",
		"iscsi://:1/t/1", "iscsi://h:/t/1", "iscsi://h:0/t/1",
		"iscsi://h:65536/t/1", "iscsi://h:x/t/1",
		"iscsi://[]/t/1", "iscsi://[/t/1", "iscsi://[::1/t/1",
		"iscsi://[::1]x/t/1",
		"iscsi://h/t%/1", "iscsi://h/t%3/1", "iscsi://h/t%3g/1",
		"iscsi://h/t%g3/1", "iscsi://h/t%00/1",
	};
	char longest[1000];

	EACH_OF(i, wrong) {
		if (iscsi_name(&n, wrong[i], &f) == 0)
			fail_msg("%s", wrong[i]);
		assert_int_equal(f.status, STATUS_USAGE);
		assert_non_null(strstr(f.text, "an iSCSI disk is written"));
	}
	snprintf(longest, sizeof(longest), "iscsi://h/%0300d/1", 0);
	assert_int_equal(iscsi_name(&n, longest, &f), -1);
	snprintf(longest, sizeof(longest), "iscsi://%0300d@h/t/1", 0);
	assert_int_equal(iscsi_name(&n, longest, &f), -1);
	snprintf(longest, sizeof(longest), "iscsi://%0300d/t/1", 0);
	assert_int_equal(iscsi_name(&n, longest, &f), -1);
}
