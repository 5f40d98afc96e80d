/*
 * Names of Ceph images: net/rbd_name.c.
 */
#include "test.h"

#include "../../src/net/rbd.h"

CASE(has_parts)
{
	struct rbd_name n;

	assert_null(rbd_name_parse(&n, "rbd:p/i"));
	assert_string_equal(n.pool, "p");
	assert_string_equal(n.image, "i");
	assert_null(n.space);
	assert_null(n.snapshot);
	rbd_name_free(&n);
	assert_null(rbd_name_parse(&n, "rbd:p/n/i@s:conf=/c:id=u:a=b=c:d="));
	assert_string_equal(n.space, "n");
	assert_string_equal(n.image, "i");
	assert_string_equal(n.snapshot, "s");
	assert_string_equal(n.conf, "/c");
	assert_string_equal(n.id, "u");
	assert_int_equal(n.options, 2);
	assert_string_equal(n.option[0].key, "a");
	assert_string_equal(n.option[0].value, "b=c");
	assert_string_equal(n.option[1].value, "");
	rbd_name_free(&n);
}

CASE(has_what_a_backslash_protects)
{
	struct rbd_name n;

	assert_null(rbd_name_parse(&n, "rbd:p\\:q/i\\@j\\/k@s\\\\:a=1\\:2"));
	assert_string_equal(n.pool, "p:q");
	assert_string_equal(n.image, "i@j/k");
	assert_string_equal(n.snapshot, "s\\");
	assert_string_equal(n.option[0].value, "1:2");
	rbd_name_free(&n);
	assert_null(rbd_name_parse(&n, "rbd:p/i\\"));
	assert_string_equal(n.image, "i\\");
	rbd_name_free(&n);
}

CASE(refuses_the_rest)
{
	static const char *const names[] = { "rbd:", "rbd:p", "rbd:p/",
		"rbd:/i", "rbd:p//i", "rbd:p/i@", "rbd:p/i:", "rbd:p/i:a",
		"rbd:p/i:a=b:", "rbd:p/i:=b", "rbd:p@s/i", "rbd:p:a=b/i",
		"rbd:p/i:key=AQ", "rbd:p/i:password=AQ",
		"rbd:p/i:=b:c=d" };
	char many[400] = "rbd:p/i";
	struct rbd_name n;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(rbd_name_parse(&n, names[i]));
	for (i = 0; i < RBD_OPTIONS_MOST; i++)
		stpcpy(many + strlen(many), ":a=b");
	assert_null(rbd_name_parse(&n, many));
	rbd_name_free(&n);
	stpcpy(many + strlen(many), ":a=b");
	assert_string_equal(rbd_name_parse(&n, many), "it has too many "
	    "options");
}
