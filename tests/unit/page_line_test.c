/*
 * The lines of a plan's page: where they are folded, and lists that end where
 * the room does.
 */
#include "test.h"

#include "../../src/report/page.h"

enum { COLUMNS = INDENT + 20 };

static char *page;
static size_t size;
static struct sheet s;

static int
set_up(void **state)
{
	s = (struct sheet){ .out = open_memstream(&page, &size),
		.width = COLUMNS };
	return s.out == NULL;
}

static int
tear_down(void **state)
{
	fclose(s.out);
	free(page);
	return 0;
}

EACH(set_up, tear_down)

static void
is(const char *text)
{
	fflush(s.out);
	assert_string_equal(page, text);
	rewind(s.out);
}

CASE(folds_at_the_last_blank)
{
	page_wrap(&s, "WHAT:", "twenty columns of it");
	is("WHAT:   twenty columns of it\n");
	page_wrap(&s, "WHAT:", "twenty columns, and more");
	is("WHAT:   twenty columns, and\n"
	    "        more\n");
}

CASE(folds_no_command)
{
	page_told(&s, "", "do this: %s%s, then that", "pardd if=/dev/one of=",
	    "/dev/two");
	is("        do this:\n"
	    "        pardd if=/dev/one of=/dev/two,\n"
	    "        then that\n");
}

CASE(cuts_what_has_no_blank)
{
	page_wrap(&s, "", "12345678901234567890123");
	is("        12345678901234567890\n"
	    "        123\n");
}

CASE(ends_a_list_where_it_is_full)
{
	struct list l;
	int i;

	s.brief = SHORT_LISTS;
	s.width = WIDTH;
	l = list_of(&s);
	list_put(&s, "has ", &l);
	list_item(&l, "one thing");
	list_put(&s, "has ", &l);
	for (i = 0; i < 9; i++)
		list_item(&l, "thing %d", i);
	list_put(&s, "has ", &l);
	is("        has one thing\n"
	    "        has one thing, thing 0, thing 1, thing 2 and 6 more\n");
}

CASE(cuts_the_first_of_a_list_where_it_must)
{
	struct list l;

	s.brief = SHORT_LISTS;
	s.width = WIDTH;
	l = list_of(&s);
	list_item(&l, "2 ext4 whole: for a reason that is longer than a list");
	list_item(&l, "another");
	list_put(&s, "", &l);
	is("        2 ext4 whole: for a reason that is lon... and 1 more\n");
}
