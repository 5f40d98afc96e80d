/*
 * What a process has open: /proc/PID/fd has the files, /proc/PID/fdinfo the
 * modes.  Children are found by reading every process's parent, because not all
 * kernels list the children of a process.  Only children that run the same
 * program count, as of a server with one process per client: one of the others
 * may be ourselves, as with nbdkit --run.  But a command that we have started
 * may be a shell, so its children count.
 */
#include "disk/opened.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/peer.h"
#include "disk/sysfs.h"

/* For what /proc does not say: -1 if that is for want of something here. */
static int
opened_unasked(void)
{
	return sysfs_unasked(errno) == 0 ? 0 : -1;
}

struct process {
	pid_t	pid, parent;
	bool	ours;		/* the process in question, or below it */
};

/* The parent: the second word after the name, proc_pid_stat(5). */
static pid_t
parent_of(const char *pid)
{
	char path[64], text[512], *at;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	if (!sysfs_text(AT_FDCWD, path, text, sizeof(text)))
		return 0;
	at = strrchr(text, ')');	/* the name may contain one too */
	if (at == NULL || at[1] == '\0' || at[2] == '\0')
		return 0;
	return (pid_t)strtol(at + 3, NULL, 10);
}

/* List all processes, malloc'ed; NULL if that is not possible. */
static struct process *
opened_processes(size_t *n)
{
	struct dirent **list;
	int all = sysfs_entries(AT_FDCWD, "/proc", &list), i;
	struct process *p = all <= 0 ? NULL : calloc((size_t)all, sizeof(*p));

	*n = 0;
	for (i = 0; p != NULL && i < all; i++)
		if (isdigit((unsigned char)list[i]->d_name[0]))
			p[(*n)++] = (struct process){
				.pid = (pid_t)strtol(list[i]->d_name,
				NULL, 10),
				.parent = parent_of(list[i]->d_name) };
	sysfs_forget(list, all);
	return p;
}

static bool
same_program(pid_t a, pid_t b)
{
	struct stat st[2];
	char path[2][32];

	snprintf(path[0], sizeof(path[0]), "/proc/%d/exe", (int)a);
	snprintf(path[1], sizeof(path[1]), "/proc/%d/exe", (int)b);
	return stat(path[0], &st[0]) == 0 && stat(path[1], &st[1]) == 0 &&
	    same_file(&st[0], &st[1]);
}

static bool
started_by(const struct process *p, size_t n, const struct process *one)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i].ours && p[i].pid == one->parent)
			return true;
	return false;
}

static void
process_mark(struct process *p, size_t n, pid_t pid)
{
	bool all = false, more = true;
	size_t i;

	for (i = 0; i < n; i++) {
		p[i].ours = p[i].pid == pid;
		all = all || (p[i].ours && p[i].parent == getpid());
	}
	while (more)
		for (more = false, i = 0; i < n; i++)
			if (!p[i].ours && started_by(p, n, &p[i]) &&
			    (all || same_program(p[i].pid, pid)))
				more = p[i].ours = true;
}

/* The text about a descriptor, in the directory beside that of /proc/PID/fd. */
static bool
opened_info(const char *path, char *text, size_t room)
{
	const char *fd = strrchr(path, '/');
	char info[300];

	snprintf(info, sizeof(info), "%.*sinfo%s", (int)(fd - path), path, fd);
	return sysfs_text(AT_FDCWD, info, text, room);
}

/* Whether a descriptor allows writing, or reading; -1 with errno: unasked. */
static int
is_for(const char *path, bool write)
{
	char text[256], *at;
	long mode;

	if (!opened_info(path, text, sizeof(text)))
		return opened_unasked();
	if ((at = strstr(text, "flags:")) == NULL)
		return false;
	mode = strtol(at + 6, NULL, 8) & O_ACCMODE;
	return mode == O_RDWR || mode == (write ? O_WRONLY : O_RDONLY);
}

/*
 * Whether "is" is true of any descriptor of a process: of /proc/PID/fd/N; -1
 * with errno: unasked.
 */
static int
process_has(pid_t pid, int (*is)(const char *path, void *), void *arg)
{
	char directory[32], path[300];
	struct dirent **list;
	int n, i, found;

	snprintf(directory, sizeof(directory), "/proc/%d/fd", (int)pid);
	n = sysfs_entries(AT_FDCWD, directory, &list);
	found = n < 0 ? opened_unasked() : 0;
	for (i = 0; i < n && found == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory,
		    list[i]->d_name);
		found = is(path, arg);
	}
	sysfs_forget(list, n);
	return found;
}

/* The first process of which that is so, or 0; -1 with errno: unasked. */
static pid_t
process_find(int (*is)(const char *path, void *), void *arg)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, "/proc", &list), i;
	int found = n < 0 ? opened_unasked() : 0;
	pid_t pid = 0;

	for (i = 0; i < n && found == 0; i++)
		if (isdigit((unsigned char)list[i]->d_name[0])) {
			pid = (pid_t)strtol(list[i]->d_name, NULL, 10);
			found = process_has(pid, is, arg);
		}
	sysfs_forget(list, n);
	return found > 0 ? pid : found;
}

struct open_file {		/* what is looked for */
	bool	write;
	int	(*is)(const char *, const struct stat *, void *);
	void	*arg;
};

static int
is_open_file(const char *path, void *arg)
{
	const struct open_file *o = arg;
	struct stat st;
	int is;

	if (stat(path, &st) != 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
		return false;
	is = is_for(path, o->write);
	return is > 0 ? o->is(path, &st, o->arg) : is;
}

int
opened_any(pid_t pid, bool write,
    int (*is)(const char *, const struct stat *, void *), void *arg)
{
	size_t n, i;
	struct process *p = opened_processes(&n);
	struct open_file o = { write, is, arg };
	int found = 0;

	if (p == NULL)
		return opened_unasked();
	process_mark(p, n, pid);
	for (i = 0; i < n && found == 0; i++)
		if (p[i].ours)
			found = process_has(p[i].pid, is_open_file, &o);
	free(p);
	return found;
}

/* "1: OFDLCK ADVISORY  READ -1 00:05:123 100 101", or POSIX. */
bool
opened_is_lock(const char *row, uint64_t end)
{
	char kind[8], from[24];

	return sscanf(row, "%*[^:]: %7s %*s %*s %*s %*s %23s", kind,
	    from) == 2 && strtoull(from, NULL, 10) < end &&
	    (strcmp(kind, "OFDLCK") == 0 || strcmp(kind, "POSIX") == 0);
}

int
opened_has_locked(const char *path, uint64_t end)
{
	char text[4096], *at = text, *row;
	bool is = false;

	if (!opened_info(path, text, sizeof(text)))
		return opened_unasked();
	while (!is && (row = strsep(&at, "\n")) != NULL)
		is = strncmp(row, "lock:", 5) == 0 &&
		    opened_is_lock(row + 5, end);
	return is;
}

struct locked {			/* what is looked for */
	uint64_t end;
	bool	(*is)(dev_t, void *);
	void	*arg;
};

static int
is_locked(const char *path, void *arg)
{
	const struct locked *l = arg;
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) &&
	    l->is(st.st_rdev, l->arg) ? opened_has_locked(path, l->end) : 0;
}

pid_t
opened_locked(uint64_t end, bool (*is)(dev_t, void *), void *arg)
{
	return process_find(is_locked, &(struct locked){ end, is, arg });
}

static int
is_socket(const char *path, void *socket)
{
	char to[64];
	ssize_t len = readlink(path, to, sizeof(to) - 1);

	to[len > 0 ? len : 0] = '\0';
	return strcmp(to, socket) == 0;
}

pid_t
opened_peer(int sock)
{
	unsigned long inode = peer_inode(sock);
	char socket[64];
	pid_t pid;

	snprintf(socket, sizeof(socket), "socket:[%lu]", inode);
	pid = inode == 0 ? 0 : process_find(is_socket, socket);
	return pid > 0 ? pid : 0;
}
