/*
 * shim: faults on demand, between the program and libc (LD_PRELOAD).
 *
 * FAULTS holds rules, parted by ';'; a rule holds words:
 *
 *	on=PATH		the file (device and inode, or the device a node stands
 *			for), by whatever descriptor; it may appear later
 *	op=OP,...	read write flush (fdatasync, fsync) range
 *			(sync_file_range) close thread (pthread_create) zero
 *			(fallocate, BLKZEROOUT) share (FICLONERANGE) direct
 *			(opening with O_DIRECT) look (what has been opened with
 *			O_PATH) medium (BLKGETDISKSEQ, which does not fail, but
 *			tells another number) length (ftruncate); and, only
 *			without on=: alloc (malloc and its kin, but libcrypto's,
 *			which takes it ill) own (those that the program itself
 *			asks for) open (scandirat, too) stat (fstat) ioctl
 *			rename map (mmap) event (eventfd, signalfd) poll
 *	at=OFF+LEN,...	bytes of the file; OFF+ goes on to the end.  A transfer
 *			that begins before is cut there and really happens
 *	whole		a transfer that touches at= fails as a whole
 *	fail=ERRNO	EIO ENOSPC EINTR EAGAIN ENODATA EILSEQ ENXIO ENODEV
 *			ENOMEM EINVAL EDQUOT EROFS EPIPE EOPNOTSUPP EMFILE or a
 *			number
 *	short		cut transfers; they really happen
 *	odd		... to any length; without, to multiples of 512, and
 *			with O_DIRECT always
 *	sleep=MS	take so long first
 *	until=PATH	wait first until PATH is there, a minute at most; with
 *			sleep= no longer than that
 *	old		flags of preadv2 and pwritev2 are not known (EOPNOTSUPP)
 *	hang		never return
 *	flip		a bit of what is moved, the first byte of at= in it: a write
 *			puts it so on the file, a read tells it so
 *	zero		what is read is zeros
 *	every=N		1 in N, by chance (seed=S)
 *	nth=N		only the Nth time
 *	from=N		from the Nth time on
 *	times=N		only the first N times; with at=, for each range
 *	places=FILE	only allocations asked for where none has failed before, by
 *			FILE, which has these places; one in a run
 *	once		only the first time on each descriptor, as the kernel
 *			tells an error of write-back; before sleep=
 *
 * The first rule that fits decides.  On what cannot seek, offsets count the
 * bytes that went through.  FAULT_LOG=FILE gets a line for each fault, and
 * with FAULT_LOG_ALL for each call on a file that a rule names:
 *
 *	OP OFFSET LENGTH RESULT direct|cached
 *
 * where OP is "waits" when a call begins to wait by until= or hang.
 *
 * SYSFS is a folder in which a file or folder DEVICE/NAME (loop0/serial) stands
 * for that one of the device in sysfs.
 *
 * What goes past libc's functions (io_uring, sendfile) is not seen.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload.h"

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ	_IOR(0x12, 128, uint64_t)	/* Linux 5.15 */
#endif

enum { RULES = 8, RANGES = 256, SECTOR = 512, DESCRIPTORS = 256 };

enum op {
	READ = 1, WRITE = 2, FLUSH = 4, RANGE = 8, CLOSE = 16, THREAD = 32,
	ZERO = 64, SHARE = 128, DIRECT = 256, ALLOC = 512, OPENING = 1024,
	STAT = 2048, IOCTL = 4096, RENAME = 8192, MAP = 16384, EVENT = 32768,
	POLL = 65536, LOOK = 131072, MEDIUM = 262144, OWN = 524288,
	LENGTH = 1048576
};

struct range {
	uint64_t off, end;
	atomic_uint hits;
};

struct rule {
	char		 path[4096];	/* empty: any file */
	char		 until[4096];	/* empty: no wait */
	char		 places[4096];	/* empty: anywhere */
	unsigned	 ops;
	int		 err;		/* errno value, or 0 */
	bool		 whole, cut, odd, hang, old, flip, once, zero;
	unsigned	 ms, every, nth, from, times;
	size_t		 n;		/* ranges; 0: all of the file */
	struct range	 range[RANGES];
	atomic_uint	 seen, hits;
	atomic_ullong	 dice;
	atomic_ullong	 passed;	/* bytes, where there is no offset */
	atomic_bool	 told[DESCRIPTORS];
	atomic_bool	 placed;	/* by places: one has failed */
};

/* What became of a transfer: err, or the bytes it may move. */
struct verdict {
	int	 err;
	size_t	 len;
	bool	 touched;
	bool	 flip, zero;
	size_t	 at;		/* the byte of the transfer */
};

static struct rule rules[RULES];
static size_t nrules;
static int log_fd = -1;
static bool log_all;
static const char *program;		/* as it was called */
static char *sysfs;			/* folder that stands for /sys, or NULL */
static _Thread_local bool running;	/* the program's own code */
static _Thread_local const void *asker;	/* who asks for memory */

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
	{ "medium", MEDIUM }, { "length", LENGTH },
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
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(word, numbers[i].name) == 0) {
			*numbers[i].number = (unsigned)atoi(value);
			return true;
		}
	return false;
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
		snprintf(r->places, sizeof(r->places), "%s", value);
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

enum { LONG = 12288 };

/* The name of what stands for a file in a device's folder in sysfs, or "". */
static void
name_in_sysfs(char *file, int dir, const char *path)
{
	const char *base;
	char link[64], folder[4096];
	ssize_t n;

	file[0] = '\0';
	if (sysfs == NULL || strcmp(path, ".") == 0)
		return;
	if (strncmp(path, "/sys/block/", 11) == 0)
		snprintf(file, LONG, "%s%s", sysfs, path + 10);
	if (*path == '/')
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, folder, sizeof(folder) - 1);
	folder[n > 0 ? n : 0] = '\0';
	base = strrchr(folder, '/');
	if (base == NULL || strncmp(folder, "/sys/", 5) != 0)
		return;
	snprintf(file, LONG, "%s%s/%s", sysfs, base, path);
}

static int
open_sysfs(int dir, const char *path)
{
	char file[LONG];

	name_in_sysfs(file, dir, path);
	return file[0] == '\0' ? -1 : (int)syscall(SYS_openat, AT_FDCWD, file,
	    O_RDONLY | O_CLOEXEC);
}

static bool
same_file(const struct rule *r, int fd)
{
	struct stat a, b;

	REAL(real, fstat);
	if (r->path[0] == '\0')
		return true;
	if (real(fd, &a) < 0 || stat(r->path, &b) < 0)
		return false;
	if (S_ISBLK(a.st_mode) || S_ISCHR(a.st_mode))
		return (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT) &&
		    a.st_rdev == b.st_rdev;
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool
direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_DIRECT) != 0;
}

static void
note(const char *op, int fd, uint64_t off, size_t len, long result)
{
	char line[160];
	int n;

	if (log_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%s %" PRIu64 " %zu %ld %s\n", op, off,
	    len, result, direct(fd) ? "direct" : "cached");
	/* past ourselves: the log is no file of the program's */
	(void)!syscall(SYS_write, log_fd, line, (size_t)n);
}

static uint64_t
roll(struct rule *r)
{
	uint64_t x = atomic_fetch_add(&r->dice, UINT64_C(0x9E3779B97F4A7C15));

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (x ^ (x >> 31)) >> 8;
}

/*
 * Whether none has failed where memory is asked for: by the offsets in the
 * program that the rule's file has, which then has this one, too.
 */
static bool
new_place(struct rule *r)
{
	char all[65536], line[32];
	Dl_info who;
	ssize_t n;
	int fd;

	if (atomic_load(&r->placed) || dladdr(asker, &who) == 0)
		return false;
	snprintf(line, sizeof(line), "%012zx\n",
	    (size_t)((const char *)asker - (const char *)who.dli_fbase));
	fd = (int)syscall(SYS_openat, AT_FDCWD, r->places, O_RDWR | O_CREAT |
	    O_APPEND | O_CLOEXEC, 0666);
	n = syscall(SYS_read, fd, all, sizeof(all) - 1);
	all[n > 0 ? n : 0] = '\0';
	if (n < 0 || strstr(all, line) != NULL ||
	    atomic_exchange(&r->placed, true))
		n = -1;
	else
		(void)!syscall(SYS_write, fd, line, strlen(line));
	syscall(SYS_close, fd);
	return n >= 0;
}

/* Is it this rule's turn?  Counts; so ask only when the rest fits. */
static bool
due(struct rule *r, struct range *g, int fd)
{
	unsigned seen = atomic_fetch_add(&r->seen, 1) + 1;

	if ((r->nth != 0 && seen != r->nth) || seen < r->from)
		return false;
	if (r->every != 0 && roll(r) % r->every != 0)
		return false;
	if (r->places[0] != '\0' && !new_place(r))
		return false;
	if (r->once && fd >= 0 && fd < DESCRIPTORS &&
	    atomic_exchange(&r->told[fd], true))
		return false;
	return r->times == 0 ||
	    atomic_fetch_add(g != NULL ? &g->hits : &r->hits, 1) < r->times;
}

/* The first range that [off, off + len) touches. */
static struct range *
touched(struct rule *r, uint64_t off, size_t len)
{
	struct range *best = NULL, *g;

	for (g = r->range; g < r->range + r->n; g++)
		if (g->off < off + len && off < g->end &&
		    (r->times == 0 || atomic_load(&g->hits) < r->times) &&
		    (best == NULL || g->off < best->off))
			best = g;
	return best;
}

static size_t
shorter(struct rule *r, int fd, size_t len)
{
	size_t unit = r->odd && !direct(fd) ? 1 : SECTOR;

	return len <= unit ? len : unit + roll(r) % (len / unit) * unit;
}

static void
wait_for(const struct rule *r, int fd, uint64_t off, size_t len)
{
	unsigned most = r->ms > 0 ? r->ms : 60000, ms;

	if (r->hang || r->until[0] != '\0')
		note("waits", fd, off, len, 0);
	while (r->hang)
		pause();
	if (r->until[0] == '\0')
		usleep(r->ms * 1000);
	else
		for (ms = 0; ms < most && access(r->until, F_OK) != 0; ms += 5)
			usleep(5000);
}

/* The bytes that a transfer moves before it meets the range. */
static size_t
moved_before(const struct rule *r, const struct range *g, int fd, uint64_t off)
{
	size_t n;

	if (g == NULL || g->off <= off || r->whole || r->flip)
		return 0;
	n = (size_t)(g->off - off);
	return direct(fd) ? n - n % SECTOR : n;
}

/* What the rules make of a transfer, or (len 0) of another call. */
static struct verdict
judge(enum op op, int fd, uint64_t off, size_t len)
{
	struct verdict v = { .len = len };
	struct range *g;
	struct rule *r;
	size_t before;

	for (r = rules; r < rules + nrules; r++) {
		if (!(r->ops & op) || !same_file(r, fd))
			continue;
		v.touched = true;
		g = NULL;
		if (r->n > 0 && (g = touched(r, off, len)) == NULL)
			continue;
		before = moved_before(r, g, fd, off);
		if (before > 0) {
			v.len = before;
			return v;
		}
		if (!due(r, g, fd))
			continue;
		wait_for(r, fd, off, len);
		v.err = r->err;
		v.flip = r->flip;
		v.zero = r->zero;
		v.at = g != NULL && g->off > off ? (size_t)(g->off - off) : 0;
		if (r->cut && r->err == 0)
			v.len = shorter(r, fd, len);
		return v;
	}
	return v;
}

/* Where the transfer begins: at, the file's offset, or what has gone through. */
static uint64_t
place(enum op op, int fd, int64_t at)
{
	struct rule *r;
	off_t here;

	if (at >= 0)
		return (uint64_t)at;
	if ((here = lseek(fd, 0, SEEK_CUR)) >= 0)
		return (uint64_t)here;
	for (r = rules; r < rules + nrules; r++)
		if ((r->ops & op) && same_file(r, fd))
			return atomic_load(&r->passed);
	return 0;
}

static void
count(enum op op, int fd, ssize_t moved)
{
	struct rule *r;

	for (r = rules; moved > 0 && r < rules + nrules; r++)
		if ((r->ops & op) && same_file(r, fd))
			atomic_fetch_add(&r->passed, (uint64_t)moved);
}

static size_t
sum(const struct iovec *v, int n)
{
	size_t len = 0;
	int i;

	for (i = 0; i < n; i++)
		len += v[i].iov_len;
	return len;
}

/* v cut to len bytes, in room for n; returns how many are left. */
static int
clip(struct iovec *room, const struct iovec *v, int n, size_t len)
{
	int i;

	for (i = 0; i < n && len > 0; i++) {
		room[i] = v[i];
		if (room[i].iov_len > len)
			room[i].iov_len = len;
		len -= room[i].iov_len;
	}
	return i;
}

static bool
old(enum op op, int fd)
{
	struct rule *r;

	for (r = rules; r < rules + nrules; r++)
		if (r->old && (r->ops & op) && same_file(r, fd))
			return true;
	return false;
}

/* Turn over a bit of the byte at "at", if there is one. */
static void
flip(const struct iovec *v, int n, size_t at)
{
	int i;

	for (i = 0; i < n; at -= v[i++].iov_len)
		if (at < v[i].iov_len) {
			((unsigned char *)v[i].iov_base)[at] ^= 0x10;
			return;
		}
}

static void
blank(const struct iovec *v, int n, size_t len)
{
	size_t part;
	int i;

	for (i = 0; i < n && len > 0; i++, len -= part) {
		part = len < v[i].iov_len ? len : v[i].iov_len;
		memset(v[i].iov_base, 0, part);
	}
}

/* The program's own bytes stay as they are. */
static ssize_t
write_flipped(int fd, const struct iovec *v, int n, int64_t at, int flags,
    size_t byte)
{
	struct iovec other;
	size_t len = sum(v, n), i;
	void *room;
	ssize_t moved;

	REAL(real, pwritev64v2);
	if (posix_memalign(&room, 4096, len) != 0)
		die("flip", "no memory");
	other = (struct iovec){ room, len };
	for (i = 0; i < len; v++) {
		memcpy((char *)room + i, v->iov_base, v->iov_len);
		i += v->iov_len;
	}
	flip(&other, 1, byte);
	moved = real(fd, &other, 1, at, flags);
	free(room);
	return moved;
}

/*
 * Every transfer comes through here: at < 0 is the file's own offset, flags
 * those of preadv2 and pwritev2.
 */
static ssize_t
transfer(enum op op, int fd, const struct iovec *v, int n, int64_t at, int flags)
{
	size_t len = sum(v, n);
	struct iovec room[64];
	struct verdict verdict = { .len = len };
	uint64_t off = 0;
	ssize_t moved;
	int saved;

	REAL(real_read, preadv64v2);
	REAL(real_write, pwritev64v2);
	if (flags != 0 && old(op, fd)) {
		note(op == READ ? "read" : "write", fd, 0, len, -EOPNOTSUPP);
		errno = EOPNOTSUPP;
		return -1;
	}
	if (len > 0 && n <= 64 && nrules > 0) {
		off = place(op, fd, at);
		verdict = judge(op, fd, off, len);
	}
	if (verdict.len < len) {
		n = clip(room, v, n, verdict.len);
		v = room;
	}
	errno = verdict.err;
	if (verdict.err != 0)
		moved = -1;
	else if (op == READ)
		moved = real_read(fd, v, n, at, flags);
	else if (verdict.flip)
		moved = write_flipped(fd, v, n, at, flags, verdict.at);
	else
		moved = real_write(fd, v, n, at, flags);
	if (op == READ && verdict.flip && moved > (ssize_t)verdict.at)
		flip(v, n, verdict.at);
	if (op == READ && verdict.zero && moved > 0)
		blank(v, n, (size_t)moved);
	if (!verdict.touched)
		return moved;
	saved = errno;
	count(op, fd, moved);
	if (log_all || verdict.err != 0 || verdict.len < len || verdict.flip ||
	    verdict.zero)
		note(op == READ ? "read" : "write", fd, off, len,
		    moved < 0 ? -saved : moved);
	errno = saved;
	return moved;
}

/* The calls that move nothing, of a range; true when one is to fail. */
static bool
refused_at(enum op op, const char *name, int fd, uint64_t off, size_t len)
{
	struct verdict v;

	if (nrules == 0)
		return false;
	v = judge(op, fd, off, len);
	if (v.touched && (log_all || v.err != 0))
		note(name, fd, off, len, -v.err);
	errno = v.err;
	return v.err != 0;
}

static bool
refused(enum op op, const char *name, int fd)
{
	return refused_at(op, name, fd, 0, 0);
}

#define ONE(buf, len)	\
	&(struct iovec){ .iov_base = (void *)(uintptr_t)(buf), .iov_len = (len) }, 1

ssize_t
read(int fd, void *buf, size_t len)
{
	return transfer(READ, fd, ONE(buf, len), -1, 0);
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	return transfer(WRITE, fd, ONE(buf, len), -1, 0);
}

ssize_t
readv(int fd, const struct iovec *v, int n)
{
	return transfer(READ, fd, v, n, -1, 0);
}

ssize_t
writev(int fd, const struct iovec *v, int n)
{
	return transfer(WRITE, fd, v, n, -1, 0);
}

/* Each of the positioned ones under its plain and its 64-bit name. */
#define BOTH(name64, name, proto, call)	\
	RESULT name64 proto { return call; }	\
	RESULT name proto { return call; }

#define RESULT ssize_t
BOTH(pread64, pread, (int fd, void *buf, size_t len, off_t at),
    transfer(READ, fd, ONE(buf, len), at, 0))
BOTH(pwrite64, pwrite, (int fd, const void *buf, size_t len, off_t at),
    transfer(WRITE, fd, ONE(buf, len), at, 0))
BOTH(preadv64, preadv, (int fd, const struct iovec *v, int n, off_t at),
    transfer(READ, fd, v, n, at, 0))
BOTH(pwritev64, pwritev, (int fd, const struct iovec *v, int n, off_t at),
    transfer(WRITE, fd, v, n, at, 0))
BOTH(preadv64v2, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags),
    transfer(READ, fd, v, n, at, flags))
BOTH(pwritev64v2, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags),
    transfer(WRITE, fd, v, n, at, flags))
#undef RESULT

/* What _FORTIFY_SOURCE makes of the reads. */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __pread_chk(int fd, void *buf, size_t len, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *buf, size_t len, off_t at, size_t room);

ssize_t
__read_chk(int fd, void *buf, size_t len, size_t room)
{
	return len > room ? (abort(), -1) : read(fd, buf, len);
}

ssize_t
__pread_chk(int fd, void *buf, size_t len, off_t at, size_t room)
{
	return len > room ? (abort(), -1) : pread(fd, buf, len, at);
}

ssize_t
__pread64_chk(int fd, void *buf, size_t len, off_t at, size_t room)
{
	return len > room ? (abort(), -1) : pread(fd, buf, len, at);
}

int
fdatasync(int fd)
{
	REAL(real, fdatasync);
	return refused(FLUSH, "fdatasync", fd) ? -1 : real(fd);
}

int
fsync(int fd)
{
	REAL(real, fsync);
	return refused(FLUSH, "fsync", fd) ? -1 : real(fd);
}

/* What was opened is closed again. */
static int
opened(int fd, int flags)
{
	if (fd >= 0 && (flags & O_PATH) != 0)
		refused(LOOK, "look", fd);
	if (fd < 0 || (flags & O_DIRECT) == 0 || !refused(DIRECT, "open", fd))
		return fd;
	syscall(SYS_close, fd);
	errno = errno == 0 ? EINVAL : errno;
	return -1;
}

#define OPEN(name)							\
	int name(const char *path, int flags, ...);			\
	int								\
	name(const char *path, int flags, ...)				\
	{								\
		va_list ap;						\
		int mode;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;		\
		va_end(ap);						\
		return refused(OPENING, "open", -1) ? -1 :		\
		    opened(real(path, flags, mode), flags);		\
	}

OPEN(open)
OPEN(open64)
OPEN(__open_2)
OPEN(__open64_2)

#define OPENAT(name)							\
	int name(int dir, const char *path, int flags, ...);		\
	int								\
	name(int dir, const char *path, int flags, ...)			\
	{								\
		va_list ap;						\
		int mode, fd;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;		\
		va_end(ap);						\
		if (refused(OPENING, "open", -1))			\
			return -1;					\
		fd = open_sysfs(dir, path);				\
		return fd >= 0 ? fd :					\
		    opened(real(dir, path, flags, mode), flags);	\
	}

OPENAT(openat)
OPENAT(openat64)
OPENAT(__openat_2)
OPENAT(__openat64_2)

#define SCANDIRAT(name, entry)						\
	int								\
	name(int dir, const char *path, struct entry ***list,		\
	    int (*filter)(const struct entry *),			\
	    int (*order)(const struct entry **, const struct entry **))	\
	{								\
		char file[LONG];					\
									\
		REAL(real, name);					\
		if (refused(OPENING, "open", -1))			\
			return -1;					\
		name_in_sysfs(file, dir, path);				\
		return file[0] != '\0' && access(file, F_OK) == 0 ?	\
		    real(AT_FDCWD, file, list, filter, order) :		\
		    real(dir, path, list, filter, order);		\
	}

SCANDIRAT(scandirat, dirent)
SCANDIRAT(scandirat64, dirent64)

int
sync_file_range(int fd, off_t at, off_t len, unsigned flags)
{
	REAL(real, sync_file_range);
	return refused(RANGE, "sync_file_range", fd) ? -1
	    : real(fd, at, len, flags);
}

static int
zero_file(int fd, int mode, off_t at, off_t len)
{
	REAL(real, fallocate64);
	return refused_at(ZERO, "fallocate", fd, (uint64_t)at, (size_t)len) ? -1
	    : real(fd, mode, at, len);
}

#define RESULT int
BOTH(fallocate64, fallocate, (int fd, int mode, off_t at, off_t len),
    zero_file(fd, mode, at, len))
#undef RESULT

static int
set_length(int fd, off_t len)
{
	REAL(real, ftruncate64);
	return refused(LENGTH, "length", fd) ? -1 : real(fd, len);
}

#define RESULT int
BOTH(ftruncate64, ftruncate, (int fd, off_t len), set_length(fd, len))
#undef RESULT

int
ioctl(int fd, unsigned long request, ...)
{
	uint64_t range[2], number;
	va_list ap;
	void *arg;

	REAL(real, ioctl);
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request == BLKZEROOUT) {
		memcpy(range, arg, sizeof(range));
		if (refused_at(ZERO, "BLKZEROOUT", fd, range[0],
		    (size_t)range[1]))
			return -1;
	}
	if (refused(IOCTL, "ioctl", fd))
		return -1;
	if (request == FICLONERANGE && refused(SHARE, "FICLONERANGE", fd))
		return -1;
	if (request == BLKGETDISKSEQ && real(fd, request, &number) == 0) {
		number += refused(MEDIUM, "medium", fd);
		memcpy(arg, &number, sizeof(number));
		return 0;
	}
	return real(fd, request, arg);
}

/* As close(2): the descriptor is gone, whatever it says. */
int
close(int fd)
{
	bool fails;
	int err;

	REAL(real, close);
	fails = refused(CLOSE, "close", fd);
	err = errno;
	if (!fails)
		return real(fd);
	(void)real(fd);
	errno = err;
	return -1;
}

struct start {
	void	*(*run)(void *);
	void	*arg;
};

static void *
started(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	running = true;
	return s.run(s.arg);
}

int
pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
    void *(*run)(void *), void *restrict arg)
{
	struct start *s;
	int err;

	REAL(real, pthread_create);
	REAL(real_malloc, malloc);
	if (refused(THREAD, "pthread_create", -1))
		return errno;
	s = real_malloc(sizeof(*s));
	if (s == NULL)
		return EAGAIN;
	*s = (struct start){ run, arg };
	err = real(thread, attr, started, s);
	if (err != 0)
		free(s);
	return err;
}

/* --- what has to do with no file, or with none yet ---------------------- */

/* Under its plain and its 64-bit name. */
#define STAT_OF(name, type)						\
	int								\
	name(int fd, struct type *st)					\
	{								\
		REAL(real, name);					\
		return refused(STAT, "fstat", fd) ? -1 : real(fd, st);	\
	}

STAT_OF(fstat, stat)
STAT_OF(fstat64, stat64)

int
renameat(int from, const char *old_name, int to, const char *new_name)
{
	REAL(real, renameat);
	return refused(RENAME, "rename", -1) ? -1 :
	    real(from, old_name, to, new_name);
}

int
rename(const char *old_name, const char *new_name)
{
	REAL(real, rename);
	return refused(RENAME, "rename", -1) ? -1 : real(old_name, new_name);
}

#define RESULT void *
static void *
mapped(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	REAL(real, mmap64);
	return refused(MAP, "mmap", -1) ? MAP_FAILED :
	    real(at, len, prot, flags, fd, off);
}

BOTH(mmap64, mmap, (void *at, size_t len, int prot, int flags, int fd,
    off_t off), mapped(at, len, prot, flags, fd, off))
#undef RESULT

int
eventfd(unsigned count, int flags)
{
	REAL(real, eventfd);
	return refused(EVENT, "eventfd", -1) ? -1 : real(count, flags);
}

int
signalfd(int fd, const sigset_t *set, int flags)
{
	REAL(real, signalfd);
	return refused(EVENT, "signalfd", -1) ? -1 : real(fd, set, flags);
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	REAL(real, poll);
	return refused(POLL, "poll", -1) ? -1 : real(p, n, ms);
}

int
ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *set)
{
	REAL(real, ppoll);
	return refused(POLL, "poll", -1) ? -1 : real(p, n, t, set);
}

/*
 * libcrypto writes to what it did not get, and a sanitizer gives up that begins
 * a thread.  The program's own name becomes its title.
 */
static unsigned
asked_by(const void *caller)
{
	Dl_info who;

	if (!running)
		return 0;
	if (dladdr(caller, &who) == 0 || who.dli_fname == program)
		return ALLOC | OWN;
	return strstr(who.dli_fname, "libcrypto") == NULL ? ALLOC : 0;
}

static bool
no_memory(const void *from)
{
	int before = errno;
	unsigned op = nrules > 0 ? asked_by(from) : 0;
	bool fails;

	if (op != 0)
		asker = from;
	fails = op != 0 && refused((enum op)op, "alloc", -1);

	errno = fails ? ENOMEM : before;
	return fails;
}

/* What was counted is written still: see tests/coverage/dump.c. */
void faults_end(void);
void
faults_end(void)
{
	nrules = 0;
}

#define CALLER __builtin_return_address(0)

void *
malloc(size_t len)
{
	REAL(real, malloc);
	return no_memory(CALLER) ? NULL : real(len);
}

void *
calloc(size_t n, size_t len)
{
	REAL(real, calloc);
	return no_memory(CALLER) ? NULL : real(n, len);
}

void *
realloc(void *old_room, size_t len)
{
	REAL(real, realloc);
	return no_memory(CALLER) ? NULL : real(old_room, len);
}

void *
reallocarray(void *old_room, size_t n, size_t len)
{
	REAL(real, reallocarray);
	return no_memory(CALLER) ? NULL : real(old_room, n, len);
}

void *
aligned_alloc(size_t unit, size_t len)
{
	REAL(real, aligned_alloc);
	return no_memory(CALLER) ? NULL : real(unit, len);
}

int
posix_memalign(void **room, size_t unit, size_t len)
{
	REAL(real, posix_memalign);
	return no_memory(CALLER) ? ENOMEM : real(room, unit, len);
}

UNCONFINED(sysfs != NULL)
