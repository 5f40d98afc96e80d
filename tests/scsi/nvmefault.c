/*
 * A preload: an NVMe disk that ends some commands as it is told.
 *
 * NVMEFAULT holds one rule, words in any order:
 *
 *	op=N		this opcode, in hex
 *	admin		of the admin commands; else of those that move data
 *	cns=N		an Identify of this structure
 *	at=N		a command that has this block
 *	from=N times=N	from the Nth that fits on, so many times
 *	status=N	the status that it ends with, in hex
 *	errno=N		or the call fails
 *	sleep=MS	first
 *
 * Such a command does not reach the disk.  NVMEFAULT_LOG=FILE gets a line for
 * each of them.  What goes by a ring is not seen: threads are to be asked for.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { IDENTIFY = 6 };

/* The number behind a word of the rule, "op=" say; or "none". */
static unsigned long
number(const char *word, int base, unsigned long none)
{
	const char *rule = getenv("NVMEFAULT");
	const char *at = rule == NULL ? NULL : strstr(rule, word);

	return at == NULL ? none : strtoul(at + strlen(word), NULL, base);
}

static bool
has_block(uint64_t lba, uint32_t cdw12)
{
	uint64_t at = number("at=", 0, UINT64_MAX);

	return at == UINT64_MAX || (lba <= at && at <= lba + (cdw12 & 0xffff));
}

static bool
fits(unsigned long request, const void *arg)
{
	const struct nvme_passthru_cmd64 *io = arg;
	const struct nvme_admin_cmd *admin = arg;
	unsigned op = (unsigned)number("op=", 16, 0);

	if (getenv("NVMEFAULT") == NULL)
		return false;
	if (strstr(getenv("NVMEFAULT"), "admin") != NULL)
		return request == NVME_IOCTL_ADMIN_CMD && admin->opcode == op &&
		    (op != IDENTIFY ||
		    (admin->cdw10 & 0xff) == number("cns=", 0, 0));
	return request == NVME_IOCTL_IO64_CMD && io->opcode == op &&
	    has_block(io->cdw10 | (uint64_t)io->cdw11 << 32, io->cdw12);
}

static int log_fd = -1;

/* Before the program gives up its rights. */
__attribute__((constructor)) static void
begin(void)
{
	const char *name = getenv("NVMEFAULT_LOG");

	if (name != NULL)
		log_fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		    0666);
}

int
ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	static atomic_ulong seen;
	unsigned long from = number("from=", 0, 1), n, ms;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	if (!fits(request, arg) || (n = ++seen) < from ||
	    n - from >= number("times=", 0, UINT64_MAX))
		return real(fd, request, arg);
	ms = number("sleep=", 0, 0);
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ms / 1000),
	    .tv_nsec = (long)(ms % 1000 * 1000000) }, NULL);
	(void)!write(log_fd, "fault\n", 6);
	errno = (int)number("errno=", 0, 0);
	return errno != 0 ? -1 : (int)number("status=", 16, 0);
}
