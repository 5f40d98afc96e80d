/*
 * erofs FILE DIR: make FILE an empty erofs of 4 KiB, and mount it on DIR
 * as Linux 6.12 can, without a loop device.
 *
 * The status is 77 if the kernel cannot.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { CANNOT = 77, BLOCK = 4096, SUPER = 1024, INODE = SUPER + 128 };

/* Little endian, as fs/erofs/erofs_fs.h has them. */
static void
put(unsigned char *at, uint32_t n, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++)
		at[i] = (unsigned char)(n >> 8 * i);
}

int
main(int argc, char **argv)
{
	unsigned char b[BLOCK] = { 0 };
	int fd;

	if (argc != 3)
		errx(2, "usage: erofs FILE DIRECTORY");
	put(b + SUPER, 0xE0F5E1E2, 4);		/* magic */
	put(b + SUPER + 12, 12, 1);		/* log of a block's size */
	put(b + SUPER + 14, INODE / 32, 2);	/* of the root, */
	put(b + SUPER + 16, 1, 4);		/* of one inode */
	put(b + SUPER + 36, 1, 4);		/* block */
	put(b + INODE + 4, 040755, 2);		/* a directory, */
	put(b + INODE + 6, 2, 2);		/* empty */
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, b, BLOCK) != BLOCK || close(fd) != 0)
		err(1, "%s", argv[1]);
	if (mount(argv[1], argv[2], "erofs", MS_RDONLY, NULL) == 0)
		return 0;
	warn("%s", argv[1]);
	return errno == ENODEV || errno == ENOTBLK || errno == EPERM ? CANNOT :
	    1;
}
