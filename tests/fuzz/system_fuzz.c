/*
 * Any bytes as what /proc, /sys and udev's records hold: what is told of disks
 * and of who uses them is text, ends, and takes no more room than there is.
 * Run by tests/fuzz/run.
 *
 * Linked with --wrap of what opens, lists and looks up: each call takes the next
 * string of the input, which ends in a zero.  One that begins with a byte of 1
 * fails, with the next byte as its errno.  A directory has the words of a
 * string.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disk/below.h"
#include "disk/disk.h"
#include "disk/filesystem.h"
#include "disk/stack.h"
#include "disk/usage.h"
#include "input.h"

/* The names below are the linker's. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

enum {
	FDS = 64, FIRST = 1000,	/* descriptors that are ours */
	WORDS_MOST = 8,		/* of a directory */
	SECONDS = 20,		/* that an input may take, on a busy machine */
};

static const char *next, *end;
static const char *held[FDS];	/* what an open file has yet to be read */

/* The next string; "" behind the last. */
static const char *
take(void)
{
	const char *s = next;

	next += strlen(next) + (next < end);
	return s;
}

/* Whether this call fails. */
static bool
fails(const char *s)
{
	if (s[0] != 1)
		return false;
	errno = 1 + (unsigned char)s[1] % 133;
	return true;
}

static int
begin(void)
{
	const char *s = take();
	int fd;

	if (fails(s))
		return -1;
	for (fd = 0; fd < FDS && held[fd] != NULL; fd++)
		continue;
	if (fd == FDS)
		abort();		/* nobody closes them */
	held[fd] = s;
	return fd + FIRST;
}

int __real_open64(const char *, int, ...);
FILE *__real_fopen64(const char *, const char *);
int __wrap_open64(const char *, int, ...);
int __wrap_openat64(int, const char *, int, ...);
ssize_t __wrap_read(int, void *, size_t);
int __wrap_close(int);
int __wrap_access(const char *, int);
int __wrap_faccessat(int, const char *, int, int);
ssize_t __wrap_readlink(const char *, char *, size_t);
int __wrap_stat64(const char *, struct stat *);
int __wrap_ioctl(int, unsigned long, ...);
int __wrap_scandirat64(int, const char *, struct dirent ***,
    int (*)(const struct dirent *),
    int (*)(const struct dirent **, const struct dirent **));
int __wrap_scandir64(const char *, struct dirent ***,
    int (*)(const struct dirent *),
    int (*)(const struct dirent **, const struct dirent **));
int __wrap_glob64(const char *, int, int (*)(const char *, int), glob_t *);
void __wrap_globfree64(glob_t *);
FILE *__wrap_fopen64(const char *, const char *);

int
__wrap_open64(const char *path, int flags, ...)
{
	if ((flags & O_CREAT) != 0)	/* of the driver */
		return __real_open64(path, flags, 0666);
	return begin();
}

int
__wrap_openat64(int dir, const char *path, int flags, ...)
{
	(void)dir;
	(void)path;
	(void)flags;
	return begin();
}

ssize_t
__wrap_read(int fd, void *to, size_t room)
{
	const char **from = &held[fd - FIRST];
	size_t n = strlen(*from);

	if (fd < FIRST || fd >= FIRST + FDS)
		abort();
	n = n < room ? n : room;
	memcpy(to, *from, n);
	*from += n;
	return (ssize_t)n;
}

int
__wrap_close(int fd)
{
	if (fd < FIRST || fd >= FIRST + FDS || held[fd - FIRST] == NULL)
		abort();
	held[fd - FIRST] = NULL;
	return 0;
}

int
__wrap_access(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return fails(take()) ? -1 : 0;
}

int
__wrap_faccessat(int dir, const char *path, int mode, int flags)
{
	(void)dir;
	(void)path;
	(void)mode;
	(void)flags;
	return fails(take()) ? -1 : 0;
}

ssize_t
__wrap_readlink(const char *path, char *to, size_t room)
{
	const char *s = take();
	size_t n = strlen(s);

	(void)path;
	if (fails(s))
		return -1;
	n = n < room ? n : room;
	memcpy(to, s, n);
	return (ssize_t)n;
}

/* "b" and a number is a block device, else a file. */
int
__wrap_stat64(const char *path, struct stat *st)
{
	const char *s = take();

	(void)path;
	if (fails(s))
		return -1;
	*st = (struct stat){ .st_mode = s[0] == 'b' ? S_IFBLK : S_IFREG,
		.st_dev = makedev(8, 1), .st_ino = 5,
		.st_rdev = s[0] == 'b' ? makedev(8, atoi(s + 1)) : 0 };
	return 0;
}

int
__wrap_ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	(void)fails("\1\5");
	return -1;
}

static int
words(struct dirent ***list, int (*wanted)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **))
{
	const char *s = take();
	struct dirent **all = calloc(WORDS_MOST,
	    sizeof(struct dirent *));
	int n = 0;
	size_t len;

	if (all == NULL || fails(s)) {
		free((void *)all);
		return -1;
	}
	for (; *s != '\0' && n < WORDS_MOST; s += len + (s[len] == ' ')) {
		len = strcspn(s, " ");
		all[n] = calloc(1, sizeof(**all));
		if (all[n] == NULL)
			abort();
		snprintf(all[n]->d_name, sizeof(all[n]->d_name), "%.*s",
		    (int)len, s);
		if (len > 0 && wanted(all[n]))
			n++;
		else
			free(all[n]);
	}
	qsort((void *)all, (size_t)n, sizeof(struct dirent *),
	    (int (*)(const void *, const void *))(void *)order);
	*list = all;
	return n;
}

int
__wrap_scandirat64(int dir, const char *path, struct dirent ***list,
    int (*wanted)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **))
{
	(void)dir;
	(void)path;
	return words(list, wanted, order);
}

int
__wrap_scandir64(const char *path, struct dirent ***list,
    int (*wanted)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **))
{
	(void)path;
	return words(list, wanted, order);
}

int
__wrap_glob64(const char *pattern, int flags,
    int (*failed)(const char *, int), glob_t *all)
{
	static char path[] = "/sys/kernel/config/a/b";
	static char *paths[] = { path, NULL };

	(void)pattern;
	(void)flags;
	(void)failed;
	all->gl_pathc = 1;
	all->gl_pathv = paths;
	return fails(take()) ? GLOB_NOMATCH : 0;
}

void
__wrap_globfree64(glob_t *all)
{
	(void)all;
}

FILE *
__wrap_fopen64(const char *path, const char *mode)
{
	const char *s;

	if (next == NULL)
		return __real_fopen64(path, mode);
	s = take();
	return fails(s) || *s == '\0' ? NULL :
	    fmemopen((void *)(uintptr_t)s, strlen(s), mode[0] == 'r' ? "r" :
	    "w");
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --------------------------------------------------------------- questions */

static void
check_usage(bool used, const struct usage *use)
{
	if (used != (use->kind != USE_NONE))
		abort();
	if (used)
		fuzz_ended(use->by, sizeof(use->by));
	if (use->unknown != 0 && (use->err == 0 || use->unread[0] == '\0'))
		abort();
	fuzz_taken += used;
}

static void
ask_usage(void)
{
	struct usage use = { .kind = USE_NONE };

	check_usage(usage_of_node(makedev(8, 1), 0, &use), &use);
	check_usage(usage_of_file(makedev(8, 1), 5, 0, &use), &use);
}

static void
check_disk(const struct disk *d)
{
	fuzz_ended(d->name, sizeof(d->name));
	fuzz_ended(d->whole_name, sizeof(d->whole_name));
	fuzz_ended(d->vendor, sizeof(d->vendor));
	fuzz_ended(d->model, sizeof(d->model));
	fuzz_ended(d->serial, sizeof(d->serial));
	fuzz_ended(d->wwn, sizeof(d->wwn));
	fuzz_ended(d->transport, sizeof(d->transport));
	fuzz_ended(d->sg, sizeof(d->sg));
	fuzz_ended(d->bsg, sizeof(d->bsg));
	fuzz_ended(d->ng, sizeof(d->ng));
	fuzz_ended(d->backing, sizeof(d->backing));
}

static void
ask_disk(void)
{
	struct disk d, other;
	struct disk_part *part;
	dev_t *node, slave[4];
	double celsius;
	size_t n;

	if (disk_of_block(makedev(8, 1), &d)) {
		check_disk(&d);
		fuzz_taken++;
		disk_id(&d);
		disk_is(&d, "wwn");
		disk_namesake(&d, NAME_SERIAL, &other);
		if (disk_paths(&d, &node) == 0)
			free(node);
	}
	if (disk_of_char(makedev(21, 0), &d))
		check_disk(&d);
	if (disk_parts(makedev(8, 0), &part, &n) == 0)
		free(part);
	if (disk_holders(makedev(253, 0), slave, 4, &n) == 0 && n > 4)
		abort();
	disk_lost(makedev(8, 0), true);
	disk_temperature(makedev(8, 0), &celsius);
}

static void
ask_file(void)
{
	struct stat st;
	dev_t node[4];
	size_t n = 0;

	if (fstatat(AT_FDCWD, "/proc", &st, 0) == 0 && filesystem_disks(
	    &(struct located){ .directory = AT_FDCWD, .name = "/proc",
	    .dev = st.st_dev, .ino = st.st_ino }, node, 4, &n) == 0)
		fuzz_taken++;
	if (n > 4)
		abort();
	filesystem_has("/dev/a", makedev(8, 1));
	below_gone(makedev(8, 1));
	stack_any(makedev(8, 1));
}

/* Each line of it is JSON, or all of it can be shown to a terminal. */
static void
check_list(char *text, bool json)
{
	char *line;
	json_t *j;

	while ((line = strsep(&text, "\n")) != NULL) {
		fuzz_taken += *line != '\0';
		j = json && *line != '\0' ? json_loads(line, 0, NULL) : NULL;
		if (json && *line != '\0' && j == NULL)
			abort();
		json_decref(j);
		for (; *line != '\0'; line++)
			if ((unsigned char)*line < ' ' ||
			    (*line == 127 && !json))
				abort();
	}
}

/* It fails where a directory cannot be read for want of memory. */
static void
print_list(void)
{
	bool json = take()[0] == 'j';
	char *none[] = { NULL };
	struct fault f = { 0 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int failed = out == NULL ? -1 : list_print(out, json, none, &f);

	if (out == NULL || fclose(out) != 0 || (failed != 0 &&
	    (f.status == 0 || f.text[0] == '\0')))
		abort();
	check_list(text, json);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const what[])(void) = { ask_usage, ask_disk, ask_file,
		print_list };
	char text[INPUT_MOST + 2] = "";

	size = size < INPUT_MOST ? size : INPUT_MOST;
	memcpy(text, data, size);
	next = text + 1;
	end = text + (size > 0 ? size : 1);
	fuzz_within(SECONDS);
	what[(unsigned char)text[0] % 4]();
	alarm(0);
	next = NULL;
	for (size = 0; size < FDS; size++)
		if (held[size] != NULL)
			abort();
	return 0;
}

/* ------------------------------------------------------------------ making */

static void
attribute(struct input *in, uint64_t *dice)
{
	static const char *const texts[] = { "8:1\n", "8:0", "sda sdb sda1",
		"loop0 nvme0n1 zram0", "../../devices/pci/ata1/block/sda",
		"nvme0n1", "ng0n1", "naa.5000c500a1b2c3d4", "  WD-1  ",
		"1", "0\n", "512", "host-managed", "none", "/srv/a file",
		"b1", "b0", "f", "\1\1", "\1\4", "live", "disk\\x20a\"b",
		"x \x1b[31m\n", "E:ID_FS_TYPE=ext4\nE:ID_FS_LABEL=r\\oot\n" };

	switch (input_roll(dice, 10)) {
	case 0:
		input_print(in, "%llu", (unsigned long long)
		    input_number(dice));
		break;
	case 1:
		input_print(in, "22 1 %u:%u / /mnt\\040a rw shared:1 - %s "
		    "/dev/sda%u rw,lowerdir=/a:/b\\:c,upperdir=/d\n",
		    (unsigned)input_roll(dice, 2) * 8,
		    (unsigned)input_roll(dice, 3),
		    input_roll(dice, 2) == 0 ? "overlay" : "btrfs",
		    (unsigned)input_roll(dice, 3));
		break;
	case 2:
		input_print(in, "Filename\t\tType\n/dev/sda%u partition 1 0\n"
		    "/a\\040b file 2 3\n", (unsigned)input_roll(dice, 3));
		break;
	case 3:
		input_print(in, "major minor  #blocks  name\n\n   7        "
		    "0    9 loop%u\n", (unsigned)input_roll(dice, 3));
		break;
	default:
		input_print(in, "%s", texts[input_roll(dice,
		    sizeof(texts) / sizeof(texts[0]))]);
	}
	input_print(in, "%c", '\0');
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	size_t n = 4 + input_roll(dice, 80);

	in->bytes[in->n++] = (uint8_t)input_roll(dice, 256);
	while (n-- > 0)
		attribute(in, dice);
}
