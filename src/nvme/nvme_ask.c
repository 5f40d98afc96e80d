/*
 * Querying a namespace: its size, its format, its abilities, and whether these
 * and its power have stayed the same.
 */
#include "nvme.h"

#include <bsd/sys/endian.h>
#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/status.h"
#include "scsi/scsi.h"

enum {
	GET_LOG_PAGE = 0x02,
	IDENTIFY = 0x06,
	OF_NAMESPACE = 0,	/* CNS */
	OF_CONTROLLER = 1,
	NO_NAMESPACE = 0x00b,	/* a status: Invalid Namespace or Format */
	CODE = 0x07ff,		/* of a status */
	HEALTH = 0x02,		/* log page, 512 bytes */

	/* offsets in Identify Namespace: NVM */
	NSZE = 0,		/* blocks, 8 bytes */
	FLBAS = 26,		/* format in use */
	DPS = 29,		/* protection in use */
	DLFEAT = 33,		/* deallocated blocks */
	NSATTR = 99,		/* bit 0: write protected */
	NGUID = 104,		/* and EUI64 after it: 24 bytes */
	LBAF = 128,		/* formats, 4 bytes each */

	/* offsets in Identify Controller: Base */
	MDTS = 77,		/* largest transfer: log2 of pages */
	ONCS = 520,
	ONCS_ZEROES = 0x08,
};

/* Whether a command failed through no fault of the disk: a reset, or a path. */
static bool
nvme_permitted(int result)
{
	struct nvme_reply r;

	nvme_judge(&r, OP_READ, result);
	return r.result == NVME_AGAIN || r.result == NVME_AWAY;
}

/* Run an admin command that reads.  Its result is as for nvme_judge. */
static int
nvme_admin(int fd, struct nvme_admin_cmd *c, unsigned char *page, uint32_t len,
    unsigned timeout)
{
	uint64_t began = clock_ns(), most = (uint64_t)timeout * 1000000;
	int result, try = 0;

	memset(page, 0, len);
	c->addr = (uintptr_t)page;
	c->data_len = len;
	c->timeout_ms = timeout;
	do {
		if (try > 0)
			scsi_pause(try);
		result = ioctl(fd, NVME_IOCTL_ADMIN_CMD, c);
		if (result < 0)
			result = -errno;
	} while (nvme_permitted(result) && try++ < SCSI_TRIES &&
	    clock_ns() - began < most);
	return result;
}

static int
nvme_identify_page(int fd, uint32_t nsid, unsigned cns, unsigned timeout,
    unsigned char *page)
{
	struct nvme_admin_cmd c = { .opcode = IDENTIFY, .nsid = nsid,
		.cdw10 = cns };

	return nvme_admin(fd, &c, page, PAGE, timeout);
}

/*
 * The four bytes of the format in use; beyond 16 formats, its number has two
 * parts.
 */
static const unsigned char *
format_of(const unsigned char *page)
{
	unsigned flbas = page[FLBAS], i = (flbas & 0x0f) | (flbas >> 1 & 0x30);

	return page + LBAF + 4 * (size_t)i;
}

static void
note_form(struct nvme_disk *d, const unsigned char *page)
{
	memset(d->form, 0, sizeof(d->form));
	memcpy(d->form, page + NSZE, 8);
	d->form[8] = page[FLBAS];
	d->form[9] = page[DPS];
	memcpy(d->form + 10, format_of(page), 4);
	memcpy(d->form + 14, page + NGUID, 24);
}

/*
 * Check whether blocks have metadata.  The disk itself generates and checks
 * protection information of eight bytes.  Anything else would be lost, and
 * transfers would have no room for it.
 */
static int
check_metadata(struct nvme_disk *d, const unsigned char *page,
    const char *name, struct fault *f)
{
	unsigned bytes = le16dec(format_of(page));
	bool in_line = (page[FLBAS] & 0x10) != 0;

	d->protection = bytes > 0 ? page[DPS] & 7 : 0;
	if (bytes == 0 || (bytes == 8 && d->protection >= 1 &&
	    d->protection <= 3 && !in_line))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: its blocks have %u bytes of "
	    "metadata each%s, which pardd does not copy; nvme format makes "
	    "blocks without", name, bytes, in_line ? ", in line with the data "
	    "(extended LBA)" : "");
}

static int
take_namespace(struct nvme_disk *d, const unsigned char *page,
    const char *name, struct fault *f)
{
	unsigned shift = format_of(page)[2];

	d->blocks = le64dec(page + NSZE);
	if (shift < 9 || shift > 16 || d->blocks >= (uint64_t)INT64_MAX >>
	    shift)
		return fault_set(f, STATUS_FILE, "%s says it has %llu blocks "
		    "of 2^%u bytes: it cannot be copied", name,
		    (unsigned long long)d->blocks, shift);
	d->block = 1U << shift;
	d->zeros = (page[DLFEAT] & 7) == 1;
	d->frees_zeros = d->zeros && (page[DLFEAT] & 8) != 0;
	d->protected = (page[NSATTR] & 1) != 0;
	note_form(d, page);
	return check_metadata(d, page, name, f);
}

/*
 * MDTS counts pages of the smallest size, assumed to be 4 KiB: the real size is
 * not available here.
 */
static void
take_controller(struct nvme_disk *d, const unsigned char *page)
{
	unsigned mdts = page[MDTS];

	d->most = mdts > 0 && mdts < 20 ? (uint64_t)PAGE << mdts : 0;
	d->has_zeroes = (page[ONCS] & ONCS_ZEROES) != 0;
}

static int
nvme_refused(const char *name, int result, struct fault *f)
{
	struct nvme_reply r;

	if (result == -ENOTTY || result == -EINVAL || result == -ENOSYS)
		return fault_set(f, STATUS_FILE, "%s takes no NVMe commands; "
		    "is it an NVMe disk?", name);
	nvme_judge(&r, OP_READ, result);
	if (r.why[0] == '\0')
		return fault_errno(f, r.err, "%s: Identify failed", name);
	return fault_set(f, r.status != 0 ? r.status : STATUS_FILE,
	    "%s: Identify failed: %s", name, r.why);
}

static int
nvme_identify_disk(int fd, unsigned timeout, const char *name,
    struct nvme_disk *d, unsigned char *page, struct fault *f)
{
	int id = ioctl(fd, NVME_IOCTL_ID), result;

	if (id < 0)
		return nvme_refused(name, -errno, f);
	d->nsid = (uint32_t)id;
	result = nvme_identify_page(fd, d->nsid, OF_NAMESPACE, timeout, page);
	if (result != 0)
		return nvme_refused(name, result, f);
	if (take_namespace(d, page, name, f) != 0)
		return -1;
	result = nvme_identify_page(fd, 0, OF_CONTROLLER, timeout, page);
	if (result != 0)
		return nvme_refused(name, result, f);
	take_controller(d, page);
	return 0;
}

int
nvme_ask(int fd, unsigned timeout, const char *name, struct nvme_disk *d,
    struct fault *f)
{
	unsigned char *page = aligned_alloc(PAGE, PAGE);
	int failed;

	*d = (struct nvme_disk){ .nsid = 0 };
	if (page == NULL)
		return fault_errno(f, ENOMEM, "%s", name);
	failed = nvme_identify_disk(fd, timeout, name, d, page, f);
	free(page);
	return failed;
}

int
nvme_kept(int fd, unsigned timeout, const char *name,
    const struct nvme_disk *d, struct fault *f)
{
	unsigned char *page = aligned_alloc(PAGE, PAGE);
	struct nvme_disk now;
	int result;

	if (page == NULL)
		return fault_errno(f, ENOMEM, "%s", name);
	result = nvme_identify_page(fd, d->nsid, OF_NAMESPACE, timeout, page);
	note_form(&now, page);
	free(page);
	if (result > 0 && (result & CODE) == NO_NAMESPACE)
		return fault_set(f, status_errno(ENODEV), "%s is gone: its "
		    "namespace was removed", name);
	if (result != 0 || memcmp(now.form, d->form, sizeof(d->form)) == 0)
		return 0;	/* or it does not say */
	return fault_set(f, status_errno(ENODEV), "%s was reformatted or "
	    "replaced since the copy began", name);
}

bool
nvme_power(int fd, unsigned timeout, struct nvme_power *p)
{
	unsigned char *page = aligned_alloc(PAGE, PAGE);
	struct nvme_admin_cmd c = { .opcode = GET_LOG_PAGE,
		.nsid = 0xffffffff, .cdw10 = HEALTH | (512 / 4 - 1) << 16 };
	bool told = page != NULL && nvme_admin(fd, &c, page, 512, timeout) == 0;

	if (told) {
		memcpy(p->count, page + 112, 16);	/* power cycles */
		memcpy(p->count + 16, page + 144, 16);	/* unsafe shutdowns */
	}
	free(page);
	return told;
}
