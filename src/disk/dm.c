/*
 * Tables of the device mapper, by the ioctls of its control node; see
 * linux/dm-ioctl.h and the kernel's admin-guide/device-mapper/linear.rst.
 */
#include "disk/dm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disk/sysfs.h"

enum {
	ANSWER = 16384,		/* bytes of a table that fit */
	SECTOR = 512,		/* the unit of tables, bytes */
};

/* A device number in the form of the ioctls. */
static uint64_t
encode(dev_t node)
{
	uint64_t low = minor(node);

	return (low & 0xff) | (uint64_t)major(node) << 8 |
	    (low & ~(uint64_t)0xff) << 12;
}

/* Parse "8:17 2048": the device, and the sector on it. */
static bool
read_linear(char *text, struct dm_piece *piece)
{
	uint64_t sectors;

	if (!sysfs_pair(&text, &piece->node) || *text != ' ')
		return false;
	sectors = strtoull(text + 1, &text, 10);
	return *text == '\0' &&
	    !__builtin_mul_overflow(sectors, SECTOR, &piece->off);
}

/* Read one target of the answer, at byte "at". */
static int
read_target(char *answer, size_t at, size_t end, struct dm_piece *piece,
    size_t *next)
{
	struct dm_target_spec spec;

	if (at > end || end - at <= sizeof(spec))
		return EBADMSG;
	memcpy(&spec, answer + at, sizeof(spec));
	*next = spec.next;
	if (strncmp(spec.target_type, "linear", sizeof(spec.target_type)) != 0)
		return ENOTSUP;
	if (__builtin_mul_overflow(spec.sector_start, SECTOR, &piece->start) ||
	    __builtin_mul_overflow(spec.length, SECTOR, &piece->length) ||
	    !read_linear(answer + at + sizeof(spec), piece))
		return EBADMSG;
	return 0;
}

/* Terminate the answer, whatever the kernel has written. */
static int
ask(dev_t node, struct dm_ioctl *io)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = ANSWER - 1;
	io->data_start = sizeof(*io);
	io->dev = encode(node);
	io->flags = DM_STATUS_TABLE_FLAG;
	err = ioctl(fd, DM_TABLE_STATUS, io) == 0 ? 0 : errno;
	close(fd);
	if (err == 0 && (io->flags & DM_BUFFER_FULL_FLAG) != 0)
		err = E2BIG;
	return err;
}

int
dm_pieces(dev_t node, struct dm_piece *piece, size_t room, size_t *n)
{
	struct dm_ioctl *io = calloc(1, ANSWER);
	int err = io == NULL ? ENOMEM : ask(node, io);
	size_t at, next = 0;
	uint32_t i;

	*n = 0;
	for (i = 0; err == 0 && i < io->target_count; i++) {
		at = io->data_start + next;	/* offsets count from there */
		err = *n == room ? E2BIG :
		    read_target((char *)io, at, ANSWER - 1, &piece[*n], &next);
		*n += err == 0;
	}
	free(io);
	return err;
}
