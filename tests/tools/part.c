/*
 * part: tell the kernel about a partition, whatever is on the disk.
 *
 *	part add DISK NUMBER START LENGTH	in sectors of 512 bytes
 *	part del DISK NUMBER
 *
 * Like addpart and delpart, which not every distribution has in PATH.  The
 * status is 0, or 1 with a line that says why.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/blkpg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SECTOR = 512 };

int
main(int argc, char **argv)
{
	bool add = argc == 6 && strcmp(argv[1], "add") == 0;
	struct blkpg_partition part = { 0 };
	struct blkpg_ioctl_arg arg = { .datalen = sizeof(part), .data = &part };
	int fd;

	if (!add && (argc != 4 || strcmp(argv[1], "del") != 0))
		errx(2, "usage: part add DISK NUMBER START LENGTH | "
		    "part del DISK NUMBER");
	arg.op = add ? BLKPG_ADD_PARTITION : BLKPG_DEL_PARTITION;
	part.pno = atoi(argv[3]);
	part.start = add ? atoll(argv[4]) * SECTOR : 0;
	part.length = add ? atoll(argv[5]) * SECTOR : 0;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, BLKPG, &arg) != 0)
		err(1, "%s of %s", argv[3], argv[2]);
	close(fd);
	return 0;
}
