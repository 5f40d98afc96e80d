/*
 * shim: faults on demand, between the program and libc (LD_PRELOAD).
 *
 * FAULTS has rules, separated by ';'; a rule consists of words:
 *
 *	on=PATH		the file (device and inode, or the device a node stands
 *			for), by whatever descriptor; it may appear later
 *	op=OP,...	read write flush (fdatasync, fsync) range
 *			(sync_file_range) close thread (pthread_create) zero
 *			(fallocate, BLKZEROOUT) share (FICLONERANGE) direct
 *			(opening with O_DIRECT) look (what was opened with
 *			O_PATH) medium (BLKGETDISKSEQ, which does not fail, but
 *			tells another number) length (ftruncate) lock (looking
 *			for locks of a range); and, only without on=: alloc (malloc and its kin, but libcrypto's,
 *			which takes it ill) own (those that the program itself
 *			asks for) open (scandirat, too) stat (fstat) ioctl
 *			rename map (mmap) event (eventfd, signalfd) poll
 *	at=OFF+LEN,...	bytes of the file; OFF+ extends to the end.  A transfer
 *			that begins before is cut there and really happens
 *	whole		a transfer that touches at= fails as a whole
 *	fail=ERRNO	EIO ENOSPC EINTR EAGAIN ENODATA EILSEQ ENXIO ENODEV
 *			ENOMEM EINVAL EDQUOT EROFS EPIPE EOPNOTSUPP EMFILE or a
 *			number
 *	short		cut transfers; they really happen
 *	odd		... to any length; without, to multiples of 512, and
 *			with O_DIRECT always
 *	sleep=MS	sleep first
 *	until=PATH	wait first until PATH is there, a minute at most; with
 *			sleep= no longer than that
 *	old		flags of preadv2 and pwritev2 are unknown (EOPNOTSUPP)
 *	hang		never return
 *	flip		a bit of the data moved, in the first byte of at=: a
 *			write changes the file, a read only the buffer
 *	zero		reads return zeros
 *	fill=BYTE	reads return that byte
 *	stale		reads return the last 512 bytes once more that a read of
 *			a file that a rule names has returned without that
 *	every=N		1 in N, by chance (seed=S)
 *	nth=N		only the Nth time
 *	from=N		from the Nth time on
 *	times=N		only the first N times; with at=, for each range
 *	places=FILE	only allocations asked for where none has failed before, by
 *			FILE, which has these places; one in a run
 *	depth=N		... and N calls that led there are a place; the program has
 *			to keep its frame pointers
 *	once		only the first time on each descriptor, as the kernel
 *			tells an error of write-back; before sleep=
 *
 * The first rule that matches counts.  If a file cannot seek, offsets count the
 * bytes moved so far.  FAULT_LOG=FILE gets a line for each fault, and with
 * FAULT_LOG_ALL for each call on a file that a rule names:
 *
 *	OP OFFSET LENGTH RESULT direct|cached
 *
 * where OP is "waits" when a call begins to wait by until= or hang.
 *
 * SYSFS is a directory in which a file or directory DEVICE/NAME (loop0/serial)
 * stands for that of the device in sysfs.
 *
 * What bypasses libc's functions (io_uring, sendfile) is not seen.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>

#include "shim/shim.h"

struct rule rules[RULES];
size_t nrules;
int log_fd = -1;
bool log_all;
const char *program;
char *sysfs;
_Thread_local bool running;
_Thread_local const void *asker;
_Thread_local void *const *asks;

static const struct word names[] = {
	{ "EIO", EIO }, { "ENOSPC", ENOSPC }, { "EINTR", EINTR },
	{ "EAGAIN", EAGAIN }, { "ENODATA", ENODATA }, { "EILSEQ", EILSEQ },
	{ "ENXIO", ENXIO }, { "ENODEV", ENODEV }, { "ENOMEM", ENOMEM },
	{ "EINVAL", EINVAL }, { "EDQUOT", EDQUOT }, { "EROFS", EROFS },
	{ "EPIPE", EPIPE }, { "EOPNOTSUPP", EOPNOTSUPP },
	{ "EMFILE", EMFILE },
}, ops[] = {
	{ "read", READ }, { "write", WRITE }, { "flush", FLUSH },
	{ "range", RANGE }, { "close", CLOSE }, { "thread", THREAD },
	{ "zero", ZERO }, { "share", SHARE }, { "direct", DIRECT },
	{ "alloc", ALLOC }, { "own", OWN }, { "open", OPENING },
	{ "stat", STAT }, { "ioctl", IOCTL }, { "rename", RENAME },
	{ "map", MAP },
	{ "event", EVENT }, { "poll", POLL }, { "look", LOOK },
	{ "medium", MEDIUM }, { "length", LENGTH }, { "lock", LOCK },
};

static int
errno_of(const char *s)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(s, names[i].name) == 0)
			return names[i].value;
	if (atoi(s) <= 0)
		die(s, "no such errno");
	return atoi(s);
}

static void
ranges_of(struct rule *r, char *s)
{
	char *word, *end;
	struct range *g;

	while ((word = strsep(&s, ",")) != NULL) {
		if (r->n == RANGES)
			die(word, "too many ranges");
		g = &r->range[r->n++];
		g->off = strtoull(word, &end, 0);
		if (*end != '+')
			die(word, "not OFF+LEN");
		g->end = end[1] == '\0' ? UINT64_MAX
		    : g->off + strtoull(end + 1, NULL, 0);
	}
}

/* A word by itself; false when it is none. */
static bool
flag_of(struct rule *r, const char *word)
{
	const struct { const char *name; bool *flag; } flags[] = {
		{ "whole", &r->whole }, { "short", &r->cut },
		{ "odd", &r->odd }, { "old", &r->old }, { "hang", &r->hang },
		{ "flip", &r->flip }, { "once", &r->once }, { "zero", &r->zero },
		{ "stale", &r->stale },
	};
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(word, flags[i].name) == 0)
			return *flags[i].flag = true;
	return false;
}

static bool
number_of(struct rule *r, const char *word, const char *value)
{
	const struct { const char *name; unsigned *number; } numbers[] = {
		{ "sleep", &r->ms }, { "every", &r->every }, { "nth", &r->nth },
		{ "from", &r->from }, { "times", &r->times },
		{ "depth", &r->depth }, { "fill", &r->fill },
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(word, numbers[i].name) == 0) {
			*numbers[i].number = (unsigned)atoi(value);
			return true;
		}
	return false;
}

/* Now, as later the program keeps itself from most files. */
static void
read_places(struct rule *r, const char *path)
{
	off_t n;

	r->places = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT |
	    O_APPEND | O_CLOEXEC, 0666);
	n = lseek(r->places, 0, SEEK_END);
	if (n < 0 || lseek(r->places, 0, SEEK_SET) != 0)
		die(path, "no file of places");
	r->had = calloc(1, (size_t)n + 1);
	if (r->had == NULL ||
	    syscall(SYS_read, r->places, r->had, (size_t)n) != n)
		die(path, "cannot be read");
}

static void
word_of(struct rule *r, char *word)
{
	char *value = strchr(word, '=');

	if (value != NULL)
		*value++ = '\0';
	if (value == NULL ? flag_of(r, word) : number_of(r, word, value))
		return;
	if (value == NULL)
		die(word, "not a word of FAULTS");
	else if (strcmp(word, "on") == 0)
		snprintf(r->path, sizeof(r->path), "%s", value);
	else if (strcmp(word, "until") == 0)
		snprintf(r->until, sizeof(r->until), "%s", value);
	else if (strcmp(word, "places") == 0)
		read_places(r, value);
	else if (strcmp(word, "op") == 0)
		r->ops = bits_of(value, ops, sizeof(ops) / sizeof(ops[0]));
	else if (strcmp(word, "at") == 0)
		ranges_of(r, value);
	else if (strcmp(word, "fail") == 0)
		r->err = errno_of(value);
	else if (strcmp(word, "seed") == 0)
		atomic_init(&r->dice, strtoull(value, NULL, 0) + 1);
	else
		die(word, "not a word of FAULTS");
}

__attribute__((constructor)) static void
begin(void)
{
	const char *told = getenv("FAULTS"), *log = getenv("FAULT_LOG");
	char *all, *one, *word, *at;

	running = true;
	program = program_invocation_name;
	sysfs = getenv("SYSFS");
	if (sysfs != NULL && (sysfs = strdup(sysfs)) == NULL)
		die("SYSFS", "no memory");
	if (told == NULL || nrules > 0)
		return;
	if ((at = all = strdup(told)) == NULL)
		die("FAULTS", "no memory");
	while ((one = strsep(&at, ";")) != NULL) {
		if (nrules == RULES)
			die(one, "too many rules");
		while ((word = strsep(&one, " ")) != NULL)
			if (*word != '\0')
				word_of(&rules[nrules], word);
		nrules++;
	}
	free(all);
	log_all = getenv("FAULT_LOG_ALL") != NULL;
	if (log != NULL)
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY |
		    O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

UNCONFINED(sysfs != NULL)
