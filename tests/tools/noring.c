/*
 * noring ERRNO COMMAND...: run a command for which io_uring_setup fails with
 * this error, as under a container's seccomp filter or an old kernel.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char *argv[])
{
	unsigned number = argc < 3 ? 0 : strcmp(argv[1], "ENOSYS") == 0 ?
	    ENOSYS : EPERM;
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(rules) / sizeof(rules[0]), .filter = rules };

	if (argc < 3)
		errx(2, "usage: noring ENOSYS|EPERM COMMAND...");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		err(2, "seccomp");
	execvp(argv[2], argv + 2);
	err(2, "%s", argv[2]);
}
