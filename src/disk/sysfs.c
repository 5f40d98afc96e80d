/*
 * Reading sysfs: small files with one value each, which are opened, read and
 * closed.  A missing file usually is not an error.  Callers that must
 * distinguish it from one that cannot be read look at errno.
 */
#include "disk/sysfs.h"

#include <bsd/string.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/libc.h"

int
sysfs_open(const char *kind, dev_t node)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/%s/%u:%u", kind, major(node),
	    minor(node));
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool
sysfs_text(int dir, const char *name, char *buf, size_t room)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, room - 1);
	size_t len = n > 0 ? (size_t)n : 0, lead = 0;
	int err = n < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	while (len > 0 && (isspace((unsigned char)buf[len - 1]) ||
	    buf[len - 1] == '\0'))
		len--;
	while (lead < len && buf[lead] == ' ')
		lead++;
	memmove(buf, buf + lead, len - lead);
	buf[len - lead] = '\0';
	errno = err;
	return len > lead;
}

uint64_t
sysfs_number(int dir, const char *name)
{
	char text[32];

	return sysfs_text(dir, name, text, sizeof(text)) ?
	    strtoull(text, NULL, 10) : 0;
}

bool
sysfs_pair(char **s, dev_t *node)
{
	unsigned long maj = strtoul(*s, s, 10), min;

	if (**s != ':')
		return false;
	min = strtoul(*s + 1, s, 10);
	*node = makedev((unsigned)maj, (unsigned)min);
	return true;
}

dev_t
sysfs_node(int dir, const char *directory)
{
	char path[320], text[32], *at = text;
	dev_t node;

	snprintf(path, sizeof(path), "%s/dev", directory);
	return sysfs_text(dir, path, text, sizeof(text)) &&
	    sysfs_pair(&at, &node) ? node : 0;
}

static int
sysfs_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

int
sysfs_entries(int dir, const char *directory, struct dirent ***list)
{
	int n = scandirat(dir, directory, list, sysfs_visible, versionsort);

	if (n < 0)
		*list = NULL;
	return n;
}

void
sysfs_forget(struct dirent **list, int n)
{
	while (n > 0)
		free(list[--n]);
	free(list);
}

int
sysfs_first(int dir, const char *directory, char *name, size_t room)
{
	struct dirent **list;
	int n = sysfs_entries(dir, directory, &list), err = n < 0 ? errno : 0;

	strlcpy(name, n > 0 ? list[0]->d_name : "", room);
	sysfs_forget(list, n);
	return err;
}
