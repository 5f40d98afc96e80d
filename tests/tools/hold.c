/*
 * hold: run a command while a device is held or watched.
 *
 *	hold excl PATH COMMAND ...	opened with O_EXCL, the kernel's claim
 *	hold lock PATH COMMAND ...	locked with flock(2)
 *	hold range PATH COMMAND ...	with a byte of it locked, as QEMU does
 *	hold record PATH COMMAND ...	the same, as the lock of this process
 *	hold lease PATH COMMAND ...	with a lease, as file servers have, that
 *					is never given up
 *	hold open PATH COMMAND ...	only opened, for reading and writing
 *	hold watch PATH COMMAND ...	by inotify, as udev does
 *	hold map PATH COMMAND ...	its pages mapped, so that they stay in
 *					the page cache
 *
 * The status is the command's; 99 if PATH cannot be held, and with watch if a
 * program has opened it for writing and closed it.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT = 99 };

static int
map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *pages = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		pages = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED |
		    MAP_POPULATE, fd, 0);
	if (pages == MAP_FAILED)
		err(NOT, "%s", path);
	return fd;
}

static int
range(const char *path, int how)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET,
		.l_start = 100, .l_len = 1 };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fcntl(fd, how, &lock) != 0)
		err(NOT, "%s", path);
	return fd;
}

static int
begin(const char *how, const char *path)
{
	int fd;

	if (strcmp(how, "watch") == 0) {
		fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (fd < 0 || inotify_add_watch(fd, path, IN_CLOSE_WRITE) < 0)
			err(NOT, "%s", path);
		return fd;
	}
	if (strcmp(how, "map") == 0)
		return map(path);
	if (strcmp(how, "range") == 0)
		return range(path, F_OFD_SETLK);
	if (strcmp(how, "record") == 0)
		return range(path, F_SETLK);
	if (strcmp(how, "excl") == 0)
		fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	else if (strcmp(how, "open") == 0 || strcmp(how, "lease") == 0)
		fd = open(path, O_RDWR | O_CLOEXEC);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (strcmp(how, "lock") == 0 && flock(fd, LOCK_EX | LOCK_NB)
	    != 0) || (strcmp(how, "lease") == 0 && (signal(SIGIO, SIG_IGN) ==
	    SIG_ERR || fcntl(fd, F_SETLEASE, F_WRLCK) != 0)))
		err(NOT, "%s", path);
	return fd;
}

int
main(int argc, char **argv)
{
	char event[4096];
	int fd, how;
	pid_t pid;

	if (argc < 4)
		errx(2, "usage: hold excl|lease|lock|range|record|open|watch|map PATH "
		    "COMMAND ...");
	fd = begin(argv[1], argv[2]);
	if ((pid = fork()) < 0)
		err(2, "fork");
	if (pid == 0) {
		execvp(argv[3], argv + 3);
		err(127, "%s", argv[3]);
	}
	while (waitpid(pid, &how, 0) < 0)
		;
	if (strcmp(argv[1], "watch") == 0 && read(fd, event, sizeof(event)) > 0)
		errx(NOT, "%s was open for writing", argv[2]);
	return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}
