/*
 * Files that a run writes completely or not at all: whatever call fails, an
 * older file is unchanged or the new one is complete, and nothing is left
 * beside it.  And passwords on the command line.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <bsd/string.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/newfile.h"
#include "base/path.h"
#include "base/secrets.h"
#define POOR_OF_ALL
#include "poor.h"
#include "denial.h"

#define OLD	"what there was"
#define NEW	"what there is"

static char directory[] = "/tmp/pardd-newfile.XXXXXX", path[64];
static struct newfile n;
static struct fault f;

/* -------------------------------------------- in the place of the C library */

static bool unstable;		/* each look finds another inode */

int
fstatat(int dir, const char *name, struct stat *st, int flags)
{
	REAL_OF(real, fstatat, LARGE("fstatat"));
	int failed = denied("fstatat") ? -1 : real(dir, name, st, flags);

	st->st_ino += unstable;
	return failed;
}

int
openat(int dir, const char *name, int flags, ...)
{
	return denied("openat") ? -1 :
	    (int)syscall(SYS_openat, dir, name, flags, 0600);
}

int
fcntl(int fd, int command, ...)
{
	long arg;
	va_list ap;

	va_start(ap, command);
	arg = command == F_GETFL || command == F_GETFD ? 0 : va_arg(ap, long);
	va_end(ap);
	return denied("fcntl") ? -1 : (int)syscall(SYS_fcntl, fd, command, arg);
}

int
unlinkat(int dir, const char *name, int flags)
{
	return denied("unlinkat") ? -1 :
	    (int)syscall(SYS_unlinkat, dir, name, flags);
}

int
faccessat(int dir, const char *name, int mode, int flags)
{
	return denied("faccessat") ? -1 :
	    (int)syscall(SYS_faccessat2, dir, name, mode, flags);
}

/* --------------------------------------------------------------- the cases */

static const char *
contents(void)
{
	static char text[64];
	int fd = open(path, O_RDONLY);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[got < 0 ? 0 : got] = '\0';
	return text;
}

static void
make_old(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(write(fd, OLD, strlen(OLD)) > 0);
	close(fd);
}

/* Whether nothing is left beside the file. */
static bool
alone(void)
{
	char name[96];

	snprintf(name, sizeof(name), "%s.pardd.tmp", path);
	return access(name, F_OK) != 0;
}

static int
count_open(void)
{
	int fd, open_ones = 0;

	for (fd = 0; fd < 64; fd++)
		open_ones += syscall(SYS_fcntl, fd, F_GETFD) >= 0;
	return open_ones;
}

/*
 * Make the file; returns whether that was said to have been done.  Nothing
 * stays open.
 */
static bool
make(void)
{
	int were = count_open();
	bool made = false;

	f = (struct fault){ 0 };
	if (newfile_open(&n, "hashfile", path, &f) == 0) {
		if (newfile_hold(&n, &f) == 0 && newfile_begin(&n, &f) == 0) {
			fputs(NEW, n.out);
			made = newfile_end(&n, 0, &f) == 0;
		}
		newfile_close(&n);
	}
	assert_true(made == (f.status == 0));
	assert_int_equal(count_open(), were);
	return made;
}

static int
set_up(void **state)
{
	stpcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/list", directory);
	make_old();
	return 0;
}

static int
tear_down(void **state)
{
	denial.err = 0;
	unlink(path);
	return rmdir(directory);
}

EACH(set_up, tear_down)

/* That it reached the medium may be unknown when it has its name already. */
CASE(is_whole_or_as_it_was)
{
	static const char *const calls[] = { "fstatat", "openat", "fcntl",
		"fsync", "flock", "unlinkat", "renameat", "faccessat", "fclose",
		"fdopen" };
	static const int errs[] = { EIO, ENOENT, EEXIST, EINVAL, EWOULDBLOCK };
	unsigned left;
	bool made;

	EACH_OF(i, calls)
		EACH_OF(k, errs)
			for (left = 0; ; left++) {
				make_old();
				denial.call = calls[i];
				denial.err = errs[k];
				denial.left = left;
				made = make();
				if (denial.err != 0)
					break;
				if (made)
					assert_string_equal(contents(), NEW);
				else if (strcmp(contents(), NEW) != 0)
					assert_string_equal(contents(), OLD);
				else
					assert_true(i == 0 || i == 3);
			}
	assert_true(made && alone());
}

CASE(leaves_alone_what_was_made_meanwhile)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(newfile_open(&n, "hashfile", path, &f), 0);
	assert_int_equal(newfile_hold(&n, &f), 0);
	assert_int_equal(newfile_begin(&n, &f), 0);
	make_old();
	assert_int_equal(newfile_end(&n, 0, &f), -1);
	assert_int_equal(f.status, 50 + EEXIST);
	/* also at a second try */
	assert_int_equal(newfile_hold(&n, &f), 0);
	assert_int_equal(newfile_begin(&n, &f), 0);
	assert_int_equal(newfile_end(&n, 0, &f), -1);
	assert_string_equal(contents(), OLD);
	/* but what it has made itself is replaced */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(newfile_hold(&n, &f), 0);
	assert_int_equal(newfile_begin(&n, &f), 0);
	assert_int_equal(newfile_end(&n, 0, &f), 0);
	assert_int_equal(newfile_hold(&n, &f), 0);
	assert_int_equal(newfile_begin(&n, &f), 0);
	fputs(NEW, n.out);
	assert_int_equal(newfile_end(&n, 0, &f), 0);
	newfile_close(&n);
	assert_string_equal(contents(), NEW);
	assert_true(alone());
}

/* Also if what was written later could be. */
CASE(is_as_it_was_where_a_part_could_not_be_written)
{
	struct rlimit was, low;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	low = (struct rlimit){ 1, was.rlim_max };
	assert_int_equal(newfile_open(&n, "hashfile", path, &f), 0);
	assert_int_equal(newfile_hold(&n, &f), 0);
	assert_int_equal(newfile_begin(&n, &f), 0);
	setvbuf(n.out, NULL, _IONBF, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	fputs(NEW, n.out);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	fputs(NEW, n.out);
	assert_int_equal(newfile_end(&n, 0, &f), -1);
	newfile_close(&n);
	assert_string_equal(contents(), OLD);
	assert_true(alone());
}

/* One that a killed run left is removed, and one in use is left alone. */
CASE(is_written_beside)
{
	char beside[96], name[400];
	int fd;

	snprintf(beside, sizeof(beside), "%s.pardd.tmp", path);
	assert_int_equal(symlink("/nowhere", beside), 0);
	assert_true(make() && alone());
	fd = open(beside, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_true(make() && alone());
	close(fd);
	fd = open(beside, O_RDWR | O_CREAT, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_false(make());
	assert_non_null(strstr(f.text, "another run is writing it"));
	close(fd);
	assert_int_equal(unlink(beside), 0);
	assert_int_equal(mkdir(beside, 0700), 0);
	assert_false(make());
	assert_non_null(strstr(f.text, "is used for something else"));
	assert_int_equal(rmdir(beside), 0);
	/* names that are too long, by what is added and by themselves */
	snprintf(name, sizeof(name), "%s/%0250d", directory, 0);
	assert_int_equal(newfile_open(&n, "hashfile", name, &f), -1);
	assert_int_equal(f.status, 50 + ENAMETOOLONG);
	snprintf(name, sizeof(name), "%s/%0300d", directory, 0);
	assert_int_equal(newfile_open(&n, "hashfile", name, &f), -1);
	assert_int_equal(f.status, 50 + ENAMETOOLONG);
}

/* As that of someone else in /tmp is. */
CASE(is_not_made_where_what_is_beside_it_stays)
{
	char beside[96];
	int fd;

	snprintf(beside, sizeof(beside), "%s.pardd.tmp", path);
	fd = open(beside, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	denial.call = "unlinkat";
	denial.err = EPERM;
	denial.left = 0;
	denial.lasts = true;
	assert_false(make());
	denial.err = 0;
	denial.lasts = false;
	assert_int_equal(f.status, 50 + EPERM);
	assert_string_equal(contents(), OLD);
	/* nor where it cannot be told whose it is */
	unstable = true;
	assert_false(make());
	unstable = false;
	assert_int_equal(f.status, 50 + ENOENT);
	assert_string_equal(contents(), OLD);
	assert_int_equal(unlink(beside), 0);
}

/* A path that no call takes is refused before one is made. */
CASE(has_a_dir)
{
	static char name[PATH_MAX + 20];
	const char *base;
	int fd;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 3] = '/';
	assert_int_equal(path_dir(name, O_RDONLY, &base), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_string_equal(base, "x");
	fd = path_dir("/x", O_RDONLY, &base);
	assert_true(fd >= 0);
	close(fd);
	fd = path_dir("x", O_RDONLY, &base);
	assert_true(fd >= 0);
	close(fd);
}

/* No directory is called safe because it could not be asked where it is. */
CASE(may_be_among_devices)
{
	int dir = open(directory, O_RDONLY), at = open("/dev", O_RDONLY);
	unsigned left;

	assert_true(among_devices(at));
	for (left = 0; left < 12; left++) {
		denial.call = NULL;
		denial.err = EMFILE;
		denial.left = left;
		assert_true(among_devices(at));
	}
	denial.err = 0;
	assert_false(among_devices(dir));
	close(dir);
	close(at);
}

/* ----------------------------------------------------------------- secrets */

CASE(are_taken_out_of_the_command_line)
{
	static const char *const given[] = { "if=iscsi://user%pass@host/t/1",
		"of=rbd:a/b:key=abc:id=x", "bs=512" };
	char word[3][64], shown[3][64];
	char *words[3] = { word[0], word[1], word[2] };
	char *shows[3] = { shown[0], shown[1], shown[2] };
	struct secrets s;
	unsigned i, k;

	for (i = 0; i == 0 || poor_was(); i++) {
		for (k = 0; k < 3; k++) {
			stpcpy(word[k], given[k]);
			stpcpy(shown[k], given[k]);
		}
		s = (struct secrets){ .n = 0 };
		poor_after(i);
		if (secrets_take(&s, 3, words, shows) == 0) {
			poor.on = false;
			assert_string_equal(word[0], "if=iscsi://user@host/t/1");
			assert_string_equal(shown[0],
			    "if=iscsi://user%****@host/t/1");
			assert_string_equal(secrets_of(&s, word[0] + 3),
			    "pass");
		}
		poor.on = false;
		assert_null(strstr(shown[0], "pass"));
		assert_null(secrets_of(&s, word[2]));
		assert_null(secrets_of(&s, given[0]));
		secrets_free(&s);
	}
	assert_null(strstr(shown[1], "abc"));
	assert_null(secrets_of(NULL, word[0]));
}

static struct {
	const char	*given, *told;
	size_t		 value;		/* where it begins */
} masked[] = {
	{ "if=[ nbdkit curl http://u:p/a:b@h y://a:@b z://me:pw@h ]",
	    "if=[ nbdkit curl http://u:p/a:b@h y://a:@b z://me:**@h ]", 3 },
	{ "of=[ a 'ssh://u:p@q@h:22/x@y' ftp://u%pw@h ]",
	    "of=[ a 'ssh://u:***@h:22/x@y' ftp://u%**@h ]", 3 },
	{ "if=http://user:pw@host", "if=http://user:**@host", 3 },
	{ "of2=nbd://user:pw@host", "of2=nbd://user:**@host", 4 },
	{ "--of=nbd://user:pw@host", "--of=nbd://user:**@host", 5 },
	{ "out=nbd://user:pw@host", "out=nbd://user:**@host", 4 },
	{ "source=[ a b://c:pw@d ]", "source=[ a b://c:**@d ]", 7 },
	{ "nbds://user:pw@host/e@x", "nbds://user:**@host/e@x", 0 },
	{ "ongone=curl http://u:pw@plug", "ongone=curl http://u:**@plug", 7 },
}, plain[] = {
	{ .given = "if=nbd://host:1/e@x" }, { .given = "if=[ a nbd://h:1 ]" },
	{ .given = "if=./http://user:pw@host" }, { .given = "if=a://" },
	{ .given = "map=http://user:pw@host" },
	{ .given = "note=http://user:pw@host" },
	{ .given = "if=up://user:pw@host" },	/* a file's name */
};

/* Each is hidden from all, in the title too, but can be had. */
static void
mask_one(const char *given, const char *told, size_t value, unsigned left)
{
	char word[80], shown[80], *words[] = { word }, *shows[] = { shown };
	struct secrets s = { .n = 0 };

	strlcpy(word, given, sizeof(word));
	strlcpy(shown, given, sizeof(shown));
	poor_after(left);
	if (secrets_take(&s, 1, words, shows) == 0) {
		poor.on = false;
		assert_string_equal(word, told);
		assert_string_equal(shown, told);
		assert_string_equal(secrets_given(&s, word + value),
		    given + value);
	}
	poor.on = false;
	secrets_free(&s);
}

CASE(are_hidden_in_commands_and_addresses)
{
	unsigned k;

	assert_int_equal(chdir(directory), 0);
	assert_int_equal(mkdir("up:", 0700), 0);
	assert_int_equal(mkdir("up:/user:pw@host", 0700), 0);
	EACH_OF(i, masked)
		for (k = 0; k == 0 || poor_was(); k++)
			mask_one(masked[i].given, masked[i].told,
			    masked[i].value, k);
	EACH_OF(i, plain)
		mask_one(plain[i].given, plain[i].given, 0, 9);
	assert_int_equal(rmdir("up:/user:pw@host") + rmdir("up:"), 0);
}
