/*
 * resident: how much of a file or block device is in the page cache.
 *
 *	resident [-d] FILE...
 *
 * Prints the MiB of each FILE, a line per file.  With -d drops what is there
 * instead, after a flush, and prints nothing.
 *
 * A block device loses its cached pages when the last one closes it, so whoever
 * wants to see what a copy has left must hold it open meanwhile.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int
open_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (end < 0)
		err(1, "%s", path);
	*size = (size_t)end;
	return fd;
}

static void
drop(const char *path)
{
	size_t size;
	int fd = open_file(path, &size);

	if (fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		err(1, "%s", path);
	close(fd);
}

static size_t
pages_present(int fd, size_t size, size_t page)
{
	size_t pages = (size + page - 1) / page, present = 0, i;
	unsigned char *marks = malloc(pages);
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (!marks || map == MAP_FAILED || mincore(map, size, marks) < 0)
		err(1, "mincore");
	for (i = 0; i < pages; i++)
		present += marks[i] & 1;
	munmap(map, size);
	free(marks);
	return present;
}

static void
count(const char *path)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size, present;
	int fd = open_file(path, &size);

	present = size ? pages_present(fd, size, page) : 0;
	printf("%.2f\n", (double)present * (double)page / (1 << 20));
	close(fd);
}

int
main(int argc, char **argv)
{
	int i = 1;
	void (*act)(const char *) = count;

	if (argc > 1 && strcmp(argv[1], "-d") == 0) {
		act = drop;
		i++;
	}
	for (; i < argc; i++)
		act(argv[i]);
	return 0;
}
