/*
 * nth N LOG COMMAND...: run a command in which one system call fails.
 *
 * Each call of each of its threads, from main() on, may fail with each of its
 * errnos below; N, from 0, counts these pairs in order of occurrence.  The call
 * is not made.  What failed is written to LOG; nothing if N is past the last
 * pair.  Exits like the command, with 128 + signal if it was killed.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERRNOS = 6 };

/* What section 2 of the manual says that can happen.  Others do not fail. */
static const struct call {
	const char	*name;
	int		 number, errnos[ERRNOS + 1];
} calls[] = {
#define CALL(name, ...) { #name, SYS_ ## name, { __VA_ARGS__ } }
	CALL(openat, EACCES, EIO, EMFILE, ENOMEM, EINTR, ENOENT),
	CALL(close, EIO, EINTR),
	CALL(newfstatat, EIO, ENOMEM, EACCES),
	CALL(statx, EIO, ENOSYS),
	CALL(fstatfs, EIO, ENOSYS),
	CALL(read, EIO, EINTR, EAGAIN),
	CALL(pread64, EIO, EINTR),
	CALL(preadv2, EIO, EINTR, EAGAIN, EOPNOTSUPP),
	CALL(write, EIO, ENOSPC, EINTR, EPIPE),
	CALL(pwrite64, EIO, ENOSPC, EINTR),
	CALL(pwritev2, EIO, ENOSPC, EINTR, EDQUOT, EFBIG, EOPNOTSUPP),
	CALL(lseek, EINVAL, EIO, ENXIO),
	CALL(fsync, EIO, ENOSPC, EINTR, EROFS),
	CALL(fdatasync, EIO, ENOSPC, EINTR),
	CALL(ftruncate, EIO, EINTR, EPERM),
	CALL(fallocate, EOPNOTSUPP, EIO, ENOSPC, EINTR),
	CALL(fadvise64, EINVAL),
	CALL(fcntl, EINTR, EACCES),
	CALL(flock, EINTR, EWOULDBLOCK, ENOLCK),
	CALL(ioctl, ENOTTY, EIO, ENOMEM, EPERM),
	CALL(renameat2, EIO, ENOSPC, EACCES),
	CALL(renameat, EIO, ENOSPC, EACCES),
	CALL(rename, EIO, ENOSPC, EACCES),
	CALL(linkat, EIO, EEXIST, EPERM, ENOENT),
	CALL(unlinkat, EIO, EACCES),
	CALL(unlink, EIO, EACCES),
	CALL(readlink, EIO, ENOENT),
	CALL(readlinkat, EIO, ENOENT),
	CALL(getdents64, EIO, ENOMEM),
	CALL(mmap, ENOMEM),
	CALL(mprotect, ENOMEM),
	CALL(madvise, EINVAL, ENOMEM),
	CALL(mremap, ENOMEM),
	CALL(clone3, EAGAIN, ENOSYS),
	CALL(poll, EINTR, ENOMEM),
	CALL(ppoll, EINTR, ENOMEM),
	CALL(eventfd2, EMFILE, ENOMEM),
	CALL(signalfd4, EMFILE, ENOMEM),
	CALL(timerfd_create, EMFILE),
	CALL(io_uring_setup, ENOSYS, EPERM, ENOMEM),
	CALL(io_uring_enter, EINTR, EAGAIN, EBUSY),
	CALL(io_uring_register, EINVAL, ENOMEM, ENOSYS),
	CALL(sched_getaffinity, EINVAL),
	CALL(getrandom, EINTR, ENOSYS),
	CALL(access, EACCES, EIO),
	CALL(faccessat2, EACCES, EIO, EROFS),
	CALL(fchmod, EPERM, EIO),
	CALL(sync_file_range, EIO, ENOSPC, EINVAL),
	CALL(memfd_create, EMFILE, ENOMEM),
	CALL(socket, EMFILE, EACCES),
	CALL(bind, EADDRINUSE, EACCES, EROFS),
	CALL(listen, EADDRINUSE),
	CALL(accept4, EMFILE, ECONNABORTED, EAGAIN),
	CALL(connect, ECONNREFUSED, EACCES),
	CALL(getsockopt, ENOBUFS),
	CALL(recvfrom, ECONNRESET, EINTR),
	CALL(capset, EPERM),
	CALL(landlock_create_ruleset, ENOSYS, EOPNOTSUPP),
	CALL(landlock_add_rule, EINVAL),
	CALL(landlock_restrict_self, EPERM),
	CALL(prlimit64, EPERM),
	CALL(ioprio_set, EPERM),
#undef CALL
};

static const struct call *
call_of(int number)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* What the descriptor of a read, write or flush is, or "". */
static void
file_of(const struct seccomp_notif *call, char *name, size_t room)
{
	static const int with[] = { SYS_read, SYS_write, SYS_fsync,
		SYS_fdatasync };
	char link[64];
	ssize_t n = 0;
	size_t i;

	snprintf(link, sizeof(link), "/proc/%u/fd/%d", call->pid,
	    (int)call->data.args[0]);
	for (i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		if (call->data.nr == with[i])
			n = readlink(link, name, room - 1);
	name[n > 0 ? n : 0] = '\0';
}

static void
tell(const char *log, const struct call *c, const char *file, int error)
{
	FILE *to = fopen(log, "w");

	if (to == NULL || fprintf(to, "%s %s: %s\n", c->name, file,
	    strerrorname_np(error)) < 0 || fclose(to) != 0)
		err(2, "%s", log);
}

/* The pair that is due with this call, if any: its errno, else 0. */
static int
due(const struct call *c, unsigned long *left)
{
	int i;

	for (i = 0; c != NULL && c->errnos[i] != 0; i++)
		if ((*left)-- == 0)
			return c->errnos[i];
	return 0;
}

/* Answer for the calls until nobody is left who makes one. */
static void
serve(int fd, unsigned long n, const char *log)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct seccomp_notif call;
	struct seccomp_notif_resp answer;
	bool begun = false, done = false;
	const struct call *c;
	char file[4096];

	for (;;) {
		if (poll(&p, 1, -1) < 0 || (p.revents & POLLIN) == 0) {
			if ((p.revents & POLLHUP) != 0)
				return;
			continue;
		}
		memset(&call, 0, sizeof(call));
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
			continue;
		/* The first thing that main() does: the rest is the loader's. */
		begun = begun || call.data.nr == SYS_rt_sigprocmask;
		/* And the last one: see tests/coverage/dump.c. */
		done = done || call.data.nr == SYS_setsid;
		answer = (struct seccomp_notif_resp){ .id = call.id,
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		file_of(&call, file, sizeof(file));
		/* What has no file behind it, as an eventfd, does not fail. */
		c = begun && !done && strncmp(file, "anon_", 5) != 0 ?
		    call_of(call.data.nr) : NULL;
		if (c != NULL && (answer.error = -due(c, &n)) != 0) {
			answer.flags = 0;
			done = true;
			tell(log, c, file, -answer.error);
		}
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

static void
trap(int fd)
{
	struct sock_filter all[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = { .len = 1, .filter = all };

	/* Nobody would answer its calls any more. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp,
	    SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
	    &program) != fd)
		_exit(2);
}

int
main(int argc, char *argv[])
{
	int fd, how;
	pid_t pid;

	if (argc < 4)
		errx(2, "usage: nth N LOG COMMAND...");
	/*
	 * The child's first call after the filter waits for an answer, so it
	 * cannot say what its listener is: both have one table of descriptors,
	 * until the child has it to itself by execve(), and the lowest is free.
	 */
	if ((fd = open("/dev/null", O_RDONLY)) < 0)
		err(2, "/dev/null");
	close(fd);
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		err(2, "clone");
	if (pid == 0) {
		trap(fd);
		execvp(argv[3], argv + 3);
		_exit(2);
	}
	while (fcntl(fd, F_GETFD) < 0)
		if (waitpid(pid, &how, WNOHANG) == pid)
			errx(2, "no seccomp");
	serve(fd, strtoul(argv[1], NULL, 10), argv[2]);
	if (waitpid(pid, &how, 0) != pid)
		err(2, "waitpid");
	return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}
