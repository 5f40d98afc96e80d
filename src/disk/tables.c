/*
 * The kernel's tables in /proc.
 */
#include "tables.h"

#define LIBBSD_NETBSD_VIS 1	/* which strnunvis(): it is not called */
#include <bsd/vis.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk/sysfs.h"

enum {
	TABLE = 2048,		/* bytes read at first */
};

/* Read everything into *text.  Returns 0 or an errno value. */
static int
table_read_all(int fd, char **text)
{
	size_t len = 0, room = 0;
	char *more;
	ssize_t n;

	do {
		if (room - len <= 1) {
			room = room == 0 ? TABLE : room * 2;
			more = realloc(*text, room);
			if (more == NULL)
				return ENOMEM;
			*text = more;
		}
		n = read(fd, *text + len, room - len - 1);
		if (n < 0 && errno != EINTR)
			return errno;
		len += n > 0 ? (size_t)n : 0;
	} while (n != 0);
	(*text)[len] = '\0';
	return 0;
}

int
table_read(const char *path, char **text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? errno : 0;

	*text = NULL;
	if (fd < 0)
		return err;
	err = table_read_all(fd, text);
	close(fd);
	if (err != 0) {
		free(*text);
		*text = NULL;
	}
	return err;
}

void
table_unescape(char *field)
{
	field[strcspn(field, " \t\n")] = '\0';
	(void)strunvis(field, field);
}

/*
 * id, parent, device, root, mount point ... - type, source, options: see
 * proc_pid_mountinfo(5).
 */
bool
table_mount(char *row, struct mount *m)
{
	char *fs = strstr(row, " - "), *device = NULL;
	int i;

	if (fs == NULL)
		return false;
	*fs = '\0';
	fs += 3;
	m->id = strtoul(row, NULL, 10);
	for (i = 0; i < 3; i++)
		device = strsep(&row, " ");
	m->root = strsep(&row, " ");
	m->point = strsep(&row, " ");
	m->type = strsep(&fs, " ");
	m->source = strsep(&fs, " ");
	m->options = fs;
	return m->point != NULL && fs != NULL && sysfs_pair(&device, &m->dev);
}
