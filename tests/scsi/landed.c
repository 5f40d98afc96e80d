/*
 * landed: tell what a copy left on a disk.
 *
 *	landed fill DISK [OTHER]	make all of it "untouched": bytes of 0xa5,
 *					and the page cache forget OTHER
 *	landed map SOURCE DISK [SHIFT]	say what each 512-byte block of DISK is:
 *					right (SOURCE's block of that number, plus
 *					SHIFT), zero, untouched or wrong, as in
 *					"0-99 right, 100 zero, 101-999 right"
 *
 * SOURCE is a file that holds what the source disk holds.  DISK is read and
 * written past the page cache, which knows nothing of what came through sg.
 * For the first wrong blocks stderr says which block of SOURCE they hold.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/fs.h>
#include <unistd.h>

enum { BLOCK = 512, PIECE = 1 << 20, PAGE = 4096, SHOWN = 8, FILL = 0xa5 };

enum state { RIGHT, ZERO, UNTOUCHED, WRONG, NONE };

static const char *const words[] = { "right", "zero", "untouched", "wrong" };

struct source {
	const unsigned char *data;
	int64_t blocks;
};

struct run {			/* neighbours alike, not yet printed */
	enum state state;
	int64_t first;
	bool more;		/* others were printed before */
};

static int
open_disk(const char *name, int flags)
{
	int fd = open(name, flags | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		fd = open(name, flags | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", name);
	return fd;
}

static bool
all_bytes(const unsigned char *p, unsigned char byte)
{
	return p[0] == byte && memcmp(p, p + 1, BLOCK - 1) == 0;
}

static bool
is_block(const struct source *s, int64_t n, const unsigned char *p)
{
	return n >= 0 && n < s->blocks &&
	    memcmp(s->data + n * BLOCK, p, BLOCK) == 0;
}

static void
tell_wrong(const struct source *s, int64_t at, const unsigned char *p)
{
	int64_t n;

	for (n = 0; n < s->blocks; n++) {
		if (is_block(s, n, p)) {
			fprintf(stderr, "block %" PRId64 " holds the source's %"
			    PRId64 "\n", at, n);
			return;
		}
	}
	fprintf(stderr, "block %" PRId64 " holds what no block does\n", at);
}

static enum state
judge(const struct source *s, int64_t n, const unsigned char *p)
{
	if (is_block(s, n, p))
		return RIGHT;
	if (all_bytes(p, 0))
		return ZERO;
	if (all_bytes(p, FILL))
		return UNTOUCHED;
	return WRONG;
}

/* Block `at` is in `state`; with NONE, it is the one after the last. */
static void
run_add(struct run *r, int64_t at, enum state state)
{
	if (state == r->state)
		return;
	if (r->state != NONE) {
		printf("%s%" PRId64, r->more ? ", " : "", r->first);
		if (at - 1 > r->first)
			printf("-%" PRId64, at - 1);
		printf(" %s", words[r->state]);
		r->more = true;
	}
	r->state = state;
	r->first = at;
}

static struct source
source_map(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *p;

	if (size <= 0)
		err(2, "%s", name);
	p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		err(2, "%s", name);
	close(fd);
	return (struct source){ p, size / BLOCK };
}

static unsigned char *
room(void)
{
	void *p;

	if (posix_memalign(&p, PAGE, PIECE) != 0)
		errx(2, "no memory");
	return p;
}

static int
map(const char *from, const char *disk, int64_t shift)
{
	struct source s = source_map(from);
	struct run r = { .state = NONE };
	unsigned char *buf = room();
	int fd = open_disk(disk, O_RDONLY), shown = 0;
	int64_t at = 0;
	enum state state;
	ssize_t n, i;

	while ((n = read(fd, buf, PIECE)) > 0) {
		for (i = 0; i + BLOCK <= n; i += BLOCK, at++) {
			state = judge(&s, at + shift, buf + i);
			run_add(&r, at, state);
			if (state == WRONG && shown++ < SHOWN)
				tell_wrong(&s, at, buf + i);
		}
	}
	if (n < 0)
		err(2, "%s", disk);
	run_add(&r, at, NONE);
	printf("\n");
	return 0;
}

static int
fill(const char *disk)
{
	int fd = open_disk(disk, O_WRONLY);
	off_t left = lseek(fd, 0, SEEK_END);
	unsigned char *buf = room();
	ssize_t n;

	memset(buf, FILL, PIECE);
	for (lseek(fd, 0, SEEK_SET); left > 0; left -= n)
		if ((n = write(fd, buf, left < PIECE ? (size_t)left : PIECE)) <= 0)
			err(2, "%s", disk);
	return 0;
}

static int
forget(const char *disk)
{
	int fd = open(disk, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, BLKFLSBUF) != 0 || close(fd) != 0)
		err(2, "%s", disk);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "fill") == 0)
		return fill(argv[2]);
	if (argc == 4 && strcmp(argv[1], "fill") == 0)
		return fill(argv[2]) + forget(argv[3]);
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "map") == 0)
		return map(argv[2], argv[3], argc > 4 ? atoll(argv[4]) : 0);
	errx(2, "usage: landed fill DISK [OTHER] | landed map SOURCE DISK [SHIFT]");
}
