/*
 * JSON lines for programs: all their memory is freed.
 */
#include "test.h"

#include <jansson.h>

#include "end/backend.h"
#include "open/tee.h"
#include "record/events.h"

enum { WORDS = 6, FILES = 2 };	/* the first of them that names one */

static size_t live;		/* pieces of memory that jansson has */
static char word[WORDS][40] = { "pardd", "if=a",
	"of=/tmp/pardd-unit.XXXXXX", "of=/tmp/pardd-unit.XXXXXX",
	"json=/tmp/pardd-unit.XXXXXX", "log=/tmp/pardd-unit.XXXXXX" };
static struct opts o;
static struct endpoint src, dst;
static struct fault f;

static void *
lend(size_t n)
{
	void *p = malloc(n);

	live += p != NULL;
	return p;
}

static void
take_back(void *p)
{
	live -= p != NULL;
	free(p);
}

static char *
path_of(unsigned i)
{
	return strchr(word[i], '=') + 1;
}

static int
set_up(void **state)
{
	static char *argv[WORDS];
	unsigned i;
	int fd;

	for (i = 0; i < WORDS; i++) {
		argv[i] = word[i];
		fd = i < FILES ? -1 : mkstemp(path_of(i));
		if (fd >= 0)
			close(fd);
	}
	src = (struct endpoint){ .name = "a", .be = &null_backend };
	json_set_alloc_funcs(lend, take_back);
	return opts_parse(&o, WORDS, argv, &f) != 0 ||
	    tee_open(&dst, &o, false, &f) != 0;
}

static int
tear_down(void **state)
{
	unsigned i;

	for (i = FILES; i < WORDS; i++)
		unlink(path_of(i));
	i = (unsigned)endpoint_close(&dst);
	tee_free(&dst);
	return (int)i;
}

EACH(set_up, tear_down)

static void
is_closed(int fd)
{
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
}

CASE(gives_all_back)
{
	const struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.targets = 2, .bs = 512, .workers = 1, .engine_why = "so" };
	struct events ev;
	int json, log;

	events_begin(&ev, &o);
	assert_int_equal(events_open(&ev, &f), 0);
	json = ev.json.fd;
	log = ev.log.fd;
	events_plan(&ev, &p);
	assert_false(events_trouble(&ev, &f));
	assert_int_equal(json_array_size(ev.targets), 2);
	assert_true(live > 0);
	events_close(&ev);
	assert_int_equal(live, 0);
	is_closed(json);
	is_closed(log);
}

/* How many ranges are told of as unreadable, and the length of the last. */
static unsigned
told(uint64_t *length)
{
	static char text[4096];
	int fd = open(path_of(4), O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	unsigned of = 0;
	char *at = text;

	assert_true(n >= 0);
	close(fd);
	text[n] = '\0';
	while ((at = strstr(at, "\"event\":\"error\"")) != NULL) {
		at = strstr(at, "\"length\":");
		assert_non_null(at);
		*length = strtoull(at + strlen("\"length\":"), NULL, 10);
		of++;
	}
	return of;
}

/* A range is told of once, when what is behind it has been read, too. */
CASE(tells_ranges_that_have_ended)
{
	const struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.targets = 2, .bs = 512, .length = 4096, .bounded = true };
	struct tally t = { .seconds = 5 };
	uint64_t length = 0;
	struct events ev;
	struct map map;

	assert_int_equal(map_init(&map, p.length, 1024, 0), 0);
	events_begin(&ev, &o);
	assert_int_equal(events_open(&ev, &f), 0);
	assert_int_equal(map_set(&map, 0, 512, BAD), 0);
	events_progress(&ev, &p, &map, &t);
	assert_int_equal(told(&length), 0);
	assert_int_equal(map_set(&map, 512, 512, BAD), 0);
	assert_int_equal(map_set(&map, 1024, 512, FINISHED), 0);
	t.seconds = 10;
	events_progress(&ev, &p, &map, &t);
	assert_int_equal(told(&length), 1);
	assert_int_equal(length, 1024);
	events_close(&ev);
	map_free(&map);
}
