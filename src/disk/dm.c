/*
 * Tables of the device mapper, by the ioctls of its control node; see
 * linux/dm-ioctl.h and the kernel's admin-guide/device-mapper/linear.rst and
 * striped.rst.
 */
#include "disk/stack.h"

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
dm_encode_node(dev_t node)
{
	uint64_t low = minor(node);

	return (low & 0xff) | (uint64_t)major(node) << 8 |
	    (low & ~(uint64_t)0xff) << 12;
}

struct pieces {			/* where those found go */
	struct dm_piece	*at;
	size_t		 room, n;
	bool		 striped;	/* some of striped targets */
};

/* Parse "8:17 2048": the device, and the sector on it. */
static bool
read_place(char **text, struct dm_piece *piece)
{
	uint64_t sectors;

	if (!sysfs_pair(text, &piece->node) || **text != ' ')
		return false;
	sectors = strtoull(*text + 1, text, 10);
	return !__builtin_mul_overflow(sectors, SECTOR, &piece->off);
}

/* Add one of the n devices of a target. */
static int
dm_add_piece(struct pieces *p, const struct dm_target_spec *spec,
    unsigned long n, char **text)
{
	struct dm_piece piece;

	if (p->n == p->room)
		return E2BIG;
	if (__builtin_mul_overflow(spec->sector_start, SECTOR, &piece.start) ||
	    __builtin_mul_overflow(spec->length / n, SECTOR, &piece.length) ||
	    !read_place(text, &piece))
		return EBADMSG;
	p->at[p->n++] = piece;
	return 0;
}

static int
add_linear(struct pieces *p, const struct dm_target_spec *spec, char *text)
{
	int err = dm_add_piece(p, spec, 1, &text);

	return err == 0 && *text != '\0' ? EBADMSG : err;
}

/* "2 128 8:16 2048 8:32 0": stripes, sectors of each, and their devices. */
static int
add_stripes(struct pieces *p, const struct dm_target_spec *spec, char *text)
{
	unsigned long n = strtoul(text, &text, 10), i;
	int err = n == 0 ? EBADMSG : 0;

	strtoul(text, &text, 10);
	for (i = 0; i < n && err == 0; i++)
		err = *text++ == ' ' ? dm_add_piece(p, spec, n, &text) :
		    EBADMSG;
	return err;
}

/* Read one target of the answer, at byte "at". */
static int
read_target(char *answer, size_t at, size_t end, struct pieces *p,
    size_t *next)
{
	struct dm_target_spec spec;
	char *text = answer + at + sizeof(spec);

	if (at > end || end - at <= sizeof(spec))
		return EBADMSG;
	memcpy(&spec, answer + at, sizeof(spec));
	*next = spec.next;
	if (strncmp(spec.target_type, "linear", sizeof(spec.target_type)) == 0)
		return add_linear(p, &spec, text);
	if (strncmp(spec.target_type, "striped", sizeof(spec.target_type)) != 0)
		return ENOTSUP;
	p->striped = true;
	return add_stripes(p, &spec, text);
}

/* Terminate the answer, whatever the kernel has written. */
static int
dm_table_read(dev_t node, struct dm_ioctl *io)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = ANSWER - 1;
	io->data_start = sizeof(*io);
	io->dev = dm_encode_node(node);
	io->flags = DM_STATUS_TABLE_FLAG;
	err = ioctl(fd, DM_TABLE_STATUS, io) == 0 ? 0 : errno;
	close(fd);
	if (err == 0 && (io->flags & DM_BUFFER_FULL_FLAG) != 0)
		err = E2BIG;
	return err;
}

int
dm_pieces(dev_t node, struct dm_piece *piece, size_t room, size_t *n,
    bool *striped)
{
	struct pieces p = { .at = piece, .room = room };
	struct dm_ioctl *io = calloc(1, ANSWER);
	int err = io == NULL ? ENOMEM : dm_table_read(node, io);
	size_t at, next = 0;
	uint32_t i;

	for (i = 0; err == 0 && i < io->target_count; i++) {
		at = io->data_start + next;	/* offsets count from there */
		err = read_target((char *)io, at, ANSWER - 1, &p, &next);
	}
	free(io);
	*n = p.n;
	*striped = p.striped;
	return err;
}
