/*
 * Which processes have something open, according to a mock /proc: the given
 * ones, and their children that run the same program.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"
#include "base/peer.h"
#include "disk/opened.h"
#include "world.h"

/* Sockets are known by their numbers; 0: nobody's. */
unsigned long
peer_inode(int sock)
{
	return (unsigned long)sock;
}

static char seen[200];

static int
is_it(const char *path, const struct stat *st, void *arg)
{
	snprintf(seen, sizeof(seen), "%s", path);
	return strcmp(path, arg) == 0;
}

static void
process(int pid, int parent, const char *program)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	has(path, "%d (a (b) c) S %d 1 1\n", pid, parent);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (program != NULL)
		leads(path, program);
}

static void
opens(int pid, int fd, const char *to, const char *flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	leads(path, to);
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	if (flags != NULL)
		has(path, "pos: 0\n%s\n", flags);
}

static bool
has_open(int pid, bool write, const char *path)
{
	char wanted[64];

	seen[0] = '\0';
	stpcpy(wanted, path);
	return opened_any(pid, write, is_it, wanted);
}

EACH(world_begin, world_end)

CASE(has_what_it_opened)
{
	has("/bin/server", "x");
	has("/img", "x");
	has("/directory/x", "x");
	process(100, 1, "../../bin/server");
	opens(100, 3, "../../../directory", "flags:\t02");
	opens(100, 4, "../../../img", "flags:\t0100000");
	assert_true(has_open(100, false, "/proc/100/fd/4"));
	assert_false(has_open(100, true, "/proc/100/fd/4"));
	assert_string_equal(seen, "");			/* only for reading */
	opens(100, 5, "../../../img", "flags:\t0100001");
	assert_true(has_open(100, true, "/proc/100/fd/5"));
	assert_false(has_open(100, false, "/proc/100/fd/5"));
	opens(100, 6, "../../../img", "flags:\t0100002");
	assert_true(has_open(100, true, "/proc/100/fd/6"));
	assert_true(has_open(100, false, "/proc/100/fd/6"));
	opens(100, 7, "../../../img", NULL);
	assert_false(has_open(100, false, "/proc/100/fd/7"));
	opens(100, 8, "../../../img", "mnt_id: 1");
	assert_false(has_open(100, false, "/proc/100/fd/8"));
	opens(100, 9, "../../../gone", "flags:\t02");
	assert_false(has_open(100, true, "/proc/100/fd/9"));
	assert_false(has_open(101, true, "/proc/100/fd/6"));
}

CASE(has_what_its_children_opened)
{
	has("/bin/server", "x");
	has("/bin/other", "x");
	has("/img", "x");
	process(100, 1, "../../bin/server");
	process(101, 102, "../../bin/server");		/* a child's child */
	process(102, 100, "../../bin/server");
	process(103, 100, "../../bin/other");
	process(104, 100, NULL);
	process(105, 1, "../../bin/server");
	opens(101, 3, "../../../img", "flags:\t02");
	opens(103, 3, "../../../img", "flags:\t02");
	opens(104, 3, "../../../img", "flags:\t02");
	opens(105, 3, "../../../img", "flags:\t02");
	has("/proc/106/stat", "106 no name");
	has("/proc/107/stat", "107 (x)");
	has("/proc/108/stat", "108 (x) ");
	has("/proc/109/cmdline", "x");
	has("/proc/meminfo", "x");
	assert_true(has_open(100, true, "/proc/101/fd/3"));
	assert_false(has_open(100, true, "/proc/103/fd/3"));
	assert_false(has_open(100, true, "/proc/104/fd/3"));
	assert_false(has_open(100, true, "/proc/105/fd/3"));
	assert_false(has_open(104, true, "/proc/101/fd/3"));
	/* whoever we started ourselves may run whatever he likes */
	process(110, getpid(), "../../bin/server");
	process(111, 110, "../../bin/other");
	opens(111, 3, "../../../img", "flags:\t02");
	assert_true(has_open(110, true, "/proc/111/fd/3"));
	world.broken = "/proc";
	world.err = EACCES;
	assert_false(has_open(110, true, "/proc/111/fd/3"));
}

CASE(has_the_other_end)
{
	leads("/proc/100/fd/3", "/img");
	leads("/proc/101/fd/3", "socket:[54]");
	leads("/proc/102/fd/4", "socket:[55]");
	has("/proc/103/fd/5", "no link");
	has("/proc/net/fd/5", "x");
	assert_int_equal(opened_peer(55), 102);
	assert_int_equal(opened_peer(54), 101);
	assert_int_equal(opened_peer(56), 0);
	assert_int_equal(opened_peer(0), 0);
}
