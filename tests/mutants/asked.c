/*
 * What ran (ran.c).
 *
 *	asked AT... -- FILE...	the files in which a bit of those places is set
 *	asked -- FILE		the places whose bits are set in it
 *
 * Places are addresses in the program, in hexadecimal.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned char bits[1 << 20];

/* Read all of a file: bytes. */
static size_t
take(const char *name)
{
	size_t all = 0;
	ssize_t n;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror(name);
		exit(1);
	}
	while (all < sizeof(bits) &&
	    (n = read(fd, bits + all, sizeof(bits) - all)) > 0)
		all += (size_t)n;
	close(fd);
	return all;
}

static bool
set(size_t at, size_t size)
{
	return at / 32 < size && (bits[at / 32] & 1 << at / 4 % 8) != 0;
}

static void
print_all(size_t size)
{
	size_t at;

	for (at = 0; at < size * 32; at += 4)
		if (set(at, size))
			printf("%zx\n", at);
}

int
main(int argc, char **argv)
{
	size_t at, size;
	int i, k, names = 1;

	while (names < argc && strcmp(argv[names], "--") != 0)
		names++;
	for (i = names + 1; i < argc; i++) {
		size = take(argv[i]);
		if (names == 1)
			print_all(size);
		for (k = 1; k < names; k++) {
			at = strtoul(argv[k], NULL, 16);
			if (set(at, size)) {
				puts(argv[i]);
				break;
			}
		}
	}
	return 0;
}
