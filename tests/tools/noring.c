/*
 * noring CALL[:N] ERRNO COMMAND...: run a command in which a call of io_uring
 * (setup, register, enter) fails with ENOSYS or EPERM, as under a container's
 * seccomp filter or an old kernel; KILL instead of it ends the command.
 *
 * With N, a number, the first N calls succeed, and all later ones fail.  With
 * N! only the next one fails.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned
call_of(const char *name, size_t len)
{
	static const struct { const char *name; unsigned call; } calls[] = {
		{ "setup", SYS_io_uring_setup },
		{ "register", SYS_io_uring_register },
		{ "enter", SYS_io_uring_enter },
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == len &&
		    strncmp(calls[i].name, name, len) == 0)
			return calls[i].call;
	errx(2, "%s: no such call", name);
}

/* Let calls through and fail them, until the command is gone. */
static void
count(int fd, unsigned long pass, bool once, int error)
{
	struct seccomp_notif call;
	struct seccomp_notif_resp answer;
	unsigned long n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		memset(&call, 0, sizeof(call));
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
			continue;
		n++;
		answer = (struct seccomp_notif_resp){ .id = call.id };
		if (n <= pass || (once && n > pass + 1))
			answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		else
			answer.error = -error;
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

int
main(int argc, char *argv[])
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(rules) / sizeof(rules[0]), .filter = rules };
	unsigned long pass = 0;
	char *colon, *rest = NULL;
	int error, fd;

	if (argc < 4)
		errx(2, "usage: noring CALL[:N[!]] ENOSYS|EPERM|KILL COMMAND...");
	colon = strchrnul(argv[1], ':');
	if (*colon != '\0')
		pass = strtoul(colon + 1, &rest, 10);
	error = strcmp(argv[2], "ENOSYS") == 0 ? ENOSYS : EPERM;
	rules[1].k = call_of(argv[1], (size_t)(colon - argv[1]));
	rules[2].k = rest != NULL ? SECCOMP_RET_USER_NOTIF :
	    strcmp(argv[2], "KILL") == 0 ? SECCOMP_RET_KILL_PROCESS :
	    SECCOMP_RET_ERRNO | (unsigned)error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		err(2, "no new privileges");
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, rest != NULL ?
	    SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
	if (fd < 0)
		err(2, "seccomp");
	if (rest != NULL) {
		if (fork() == 0)
			count(fd, pass, *rest == '!', error);
		close(fd);
	}
	execvp(argv[3], argv + 3);
	err(2, "%s", argv[3]);
}
