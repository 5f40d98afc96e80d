/*
 * The layers of an overlay, by the options that the kernel lists: names with
 * colons, commas and blanks, data-only layers, and none.
 */
#include "test.h"

#include <bsd/string.h>

#include "disk/overlay.h"

enum { ROOM = 200, ENOUGH = -7 };

static const char *there;		/* the one directory that there is */

int
access(const char *path, int mode)
{
	return there != NULL && strcmp(path, there) == 0 ? 0 : -1;
}

static int
note(const char *directory, enum layer layer, void *arg)
{
	static const char *const kinds[] = { "lower", "upper", "data" };
	char *text = arg;

	strlcat(text, kinds[layer], ROOM);
	strlcat(text, "=", ROOM);
	strlcat(text, directory, ROOM);
	strlcat(text, ";", ROOM);
	return strcmp(directory, "/stop") == 0 ? ENOUGH : 0;
}

static void
are(const char *options, const char *expected, int result)
{
	char text[ROOM] = "";

	assert_int_equal(overlay_layers(options, note, text), result);
	assert_string_equal(text, expected);
}

CASE(are_listed)
{
	are("rw,lowerdir=/a:/b,upperdir=/c,workdir=/w",
	    "lower=/a;lower=/b;upper=/c;", 0);
	are("ro,lowerdir=/a::/d:/e", "lower=/a;data=/d;data=/e;", 0);
	are("ro,lowerdir+=/a,lowerdir+=/b,datadir+=/d",
	    "lower=/a;lower=/b;data=/d;", 0);
	are("rw,xino=off", "", ENOENT);
	are("", "", ENOENT);
	are("ro,lowerdir=/a:/stop:/b,upperdir=/c", "lower=/a;lower=/stop;",
	    ENOUGH);
}

/* "\:" is a colon of a name; mountinfo has \134 for the backslash. */
CASE(are_decoded)
{
	are("lowerdir=/a\\134:b:/c\\040d\\054e", "lower=/a:b;lower=/c d,e;", 0);
	are("lowerdir=/a\\134", "lower=/a\\;", 0);
	are("upperdir=/a\\134:b", "upper=/a:b;", 0);
	there = "/a\\:b";		/* a newer kernel takes it as it is */
	are("upperdir=/a\\134:b", "upper=/a\\:b;", 0);
	there = NULL;
}
