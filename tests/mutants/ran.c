/*
 * Linked into a program that was compiled with -fsanitize-coverage=trace-pc: each
 * part that runs sets its bit in the file RAN_TO, which has its size already.
 * The file is mapped before main, so that it counts whoever is killed or
 * confined later.  Its calls do not go through the functions of their names, for
 * some cases let those fail, nor through a syscall() that a unit test has made up.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void __sanitizer_cov_trace_pc(void);
extern const char __executable_start[];

static _Atomic unsigned char *ran;
static size_t size;

__attribute__((constructor(101))) static void
begin(void)
{
	long (*call)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const char *name = getenv("RAN_TO");
	off_t end;
	void *at;
	int fd;

	if (name == NULL || call == NULL)
		return;
	fd = (int)call(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	end = (off_t)call(SYS_lseek, fd, 0, SEEK_END);
	at = (void *)call(SYS_mmap, NULL, end, PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	call(SYS_close, fd);
	if (end <= 0 || ((intptr_t)at < 0 && (intptr_t)at > -4096))
		return;
	ran = at;
	size = (size_t)end;
}

/* No two calls are as near as four bytes. */
void
__sanitizer_cov_trace_pc(void)
{
	size_t at = (size_t)((const char *)__builtin_return_address(0) -
	    __executable_start) / 4;

	if (at / 8 < size && (ran[at / 8] & 1 << at % 8) == 0)
		ran[at / 8] |= (unsigned char)(1 << at % 8);
}
