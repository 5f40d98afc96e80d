/*
 * noring CALL ERRNO COMMAND...: run a command for which a call of io_uring
 * (setup, register, enter) fails with ENOSYS or EPERM, as under a container's
 * seccomp filter or an old kernel.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned
call_of(const char *name)
{
	if (strcmp(name, "setup") == 0)
		return SYS_io_uring_setup;
	if (strcmp(name, "register") == 0)
		return SYS_io_uring_register;
	if (strcmp(name, "enter") == 0)
		return SYS_io_uring_enter;
	errx(2, "%s: no such call", name);
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

	if (argc < 4)
		errx(2, "usage: noring CALL ENOSYS|EPERM COMMAND...");
	rules[1].k = call_of(argv[1]);
	rules[2].k |= strcmp(argv[2], "ENOSYS") == 0 ? ENOSYS : EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		err(2, "seccomp");
	execvp(argv[3], argv + 3);
	err(2, "%s", argv[3]);
}
