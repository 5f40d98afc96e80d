/*
 * Hidden areas of ATA disks.  The commands are sent by ATA PASS-THROUGH (16)
 * (SAT-4 12.2.2), and only to disks of libata, because some adapters cannot
 * handle them.
 *
 * READ NATIVE MAX ADDRESS EXT (ATA8-ACS), or GET NATIVE MAX ADDRESS EXT on
 * disks since ACS-3, names the last sector that could be accessible; DEVICE
 * CONFIGURATION IDENTIFY (ATA8-ACS) names the one that the maker intended.
 */
#include "scsi/scsi.h"

#include <fcntl.h>
#include <scsi/sg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/disk.h"

enum {
	TIMEOUT = 5000,		/* ms per command */
	SECTOR = 512,		/* bytes per answer */

	/* a pass-through: SAT-4 12.2.2.2 */
	NON_DATA = 3 << 1, PIO_IN = 4 << 1, EXTEND = 1,
	CK_COND = 0x20,		/* return the registers as sense data */
	ONE_SECTOR = 0x0e,	/* read as much as the count says */
	USES_LBA = 0x40,

	READ_NATIVE_MAX_EXT = 0x27,
	ACCESSIBLE_MAX = 0x78,
	CONFIGURATION = 0xb1, IDENTIFY = 0xc2,

	ERROR = 0x21,		/* status bits: error, device fault */
};

#define MOST_SECTORS	(UINT64_C(1) << 48)

static bool
ata_pass_through(int fd, unsigned char cdb[16], void *data,
    unsigned char *sense, unsigned char room)
{
	struct sg_io_hdr h = {
		.interface_id = 'S',
		.dxfer_direction = data != NULL ? SG_DXFER_FROM_DEV :
		    SG_DXFER_NONE,
		.cmdp = cdb, .cmd_len = 16,
		.sbp = sense, .mx_sb_len = room,
		.dxferp = data, .dxfer_len = data != NULL ? SECTOR : 0,
		.timeout = TIMEOUT,
	};

	return ioctl(fd, SG_IO, &h) == 0 && h.host_status == 0 &&
	    (data == NULL || (h.status == 0 && h.resid == 0));
}

/* The sectors up to the address returned by a command without data, or 0. */
static uint64_t
sectors_by(int fd, unsigned char command)
{
	unsigned char cdb[16] = { 0x85, NON_DATA | EXTEND, CK_COND,
		[13] = USES_LBA, [14] = command };
	/* descriptors, the first with the registers: SAT-4 12.2.2.6 */
	unsigned char s[22] = { 0 };

	if (!ata_pass_through(fd, cdb, NULL, s, sizeof(s)) || s[0] != 0x72 ||
	    s[8] != 0x09 || s[9] != 12 || (s[21] & ERROR) != 0)
		return 0;
	return ((uint64_t)s[18] << 40 | (uint64_t)s[16] << 32 |
	    (uint64_t)s[14] << 24 | (uint64_t)s[19] << 16 |
	    (uint64_t)s[17] << 8 | s[15]) + 1;
}

/* The number of sectors that the maker intended, or 0. */
static uint64_t
sectors_made(int fd)
{
	unsigned char cdb[16] = { 0x85, PIO_IN, ONE_SECTOR, [4] = IDENTIFY,
		[6] = 1, [14] = CONFIGURATION };
	unsigned char a[SECTOR] = { 0 }, s[22], sum = 0;
	uint64_t last = 0;
	unsigned i;

	if (!ata_pass_through(fd, cdb, a, s, sizeof(s)))
		return 0;
	for (i = 0; i < SECTOR; i++)
		sum = (unsigned char)(sum + a[i]);
	if (a[510] != 0xa5 || sum != 0)
		return 0;		/* the answer cannot be trusted */
	for (i = 8; i-- > 0; )
		last = last << 8 | a[6 + i];
	return last < MOST_SECTORS ? last + 1 : 0;
}

/* Open the node of the end once more. */
static int
ata_open_node(const struct endpoint *ep)
{
	int fd = open(ep->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_rdev != ep->id.node)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool
ata_hidden(const struct endpoint *ep, struct ata_hidden *h)
{
	uint64_t shown, native;
	struct disk d;
	int fd;

	*h = (struct ata_hidden){ .area = 0 };
	if ((ep->kind != END_BLOCK && ep->kind != END_SCSI) ||
	    ep->is.inherited || !endpoint_disk(ep, &d) || d.partition != 0 ||
	    strcmp(d.vendor, "ATA") != 0 || ep->geo.block == 0 ||
	    ep->geo.block > 4096 || (fd = ata_open_node(ep)) < 0)
		return false;
	shown = (uint64_t)(ep->lim.part > 0 ? ep->lim.disk_size :
	    ep->geo.size) / ep->geo.block;
	native = sectors_by(fd, READ_NATIVE_MAX_EXT);
	if (native == 0)
		native = sectors_by(fd, ACCESSIBLE_MAX);
	if (native > shown) {
		h->area = (native - shown) * ep->geo.block;
		shown = native;
	}
	native = sectors_made(fd);
	if (native > shown)
		h->overlay = (native - shown) * ep->geo.block;
	close(fd);
	return true;
}
