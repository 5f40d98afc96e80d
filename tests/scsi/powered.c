/*
 * A preload: an NVMe disk whose power was off, or, with FORMAT in the
 * environment, that is formatted anew, since it was asked for the first time.
 */
#include <dlfcn.h>
#include <linux/nvme_ioctl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum { GET_LOG_PAGE = 2, IDENTIFY = 6 };

int
ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	static unsigned char asked[2];
	struct nvme_admin_cmd *c;
	unsigned char *page;
	va_list ap;
	void *arg;
	int got;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	got = real(fd, request, arg);
	if (request != NVME_IOCTL_ADMIN_CMD || got != 0)
		return got;
	c = arg;
	page = (unsigned char *)(uintptr_t)c->addr;
	if (getenv("FORMAT") == NULL && c->opcode == GET_LOG_PAGE)
		page[112] = (unsigned char)(page[112] + asked[0]++);
	if (getenv("FORMAT") != NULL && c->opcode == IDENTIFY &&
	    (c->cdw10 & 0xff) == 0)
		page[29] = (unsigned char)(page[29] ^ (asked[1]++ > 0));
	return got;
}
