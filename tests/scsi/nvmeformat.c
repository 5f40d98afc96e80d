/*
 * nvmeformat NODE N: have an NVMe disk give a namespace its Nth format, whoever
 * uses it (NVM Express, Format NVM command).
 */
#include <err.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum { FORMAT_NVM = 0x80 };

int
main(int argc, char **argv)
{
	struct nvme_admin_cmd c = { .opcode = FORMAT_NVM, .timeout_ms = 60000 };
	int fd, nsid, status;

	if (argc != 3)
		errx(1, "usage: nvmeformat NODE N");
	fd = open(argv[1], O_RDONLY);
	nsid = fd < 0 ? -1 : ioctl(fd, NVME_IOCTL_ID);
	if (nsid < 0)
		err(1, "%s", argv[1]);
	c.nsid = (unsigned)nsid;
	c.cdw10 = (unsigned)atoi(argv[2]);
	status = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &c);
	if (status != 0)
		errx(1, "%s: status %#x", argv[1], (unsigned)status);
	return 0;
}
