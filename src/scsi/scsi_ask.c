/*
 * Querying a disk: what it is, whether it is ready, its size and abilities, and
 * which blocks are mapped.
 */
#include "scsi/scsi.h"

#include <errno.h>
#include <scsi/sg_lib.h>
#include <sys/param.h>

#define HAVE_BYTESWAP_H 1	/* else the header shifts an int by 24 */
#include <scsi/sg_unaligned.h>

#include "base/status.h"

enum {
	NO_LUN = 3,		/* peripheral qualifier: SPC-5 6.7.2 */

	/* VPD pages: SBC-4 6.6 */
	VPD_LIMITS = 0xb0,
	VPD_PROVISIONING = 0xb2,

	/* byte 5 of VPD_PROVISIONING: SBC-4 6.6.7 */
	LBPANY = 0xe0,		/* some command may unmap */
	LBPWS = 0x40,		/* WRITE SAME (16) may unmap */
	LBPRZ = 0x04,		/* unmapped blocks read as zeros */
};

static int
scsi_refused(const char *name, const char *what, const struct scsi_reply *r,
    struct fault *f)
{
	if (r->why[0] == '\0')
		return fault_errno(f, r->err, "%s: %s failed", name, what);
	return fault_set(f, r->status != 0 ? r->status : STATUS_FILE,
	    "%s: %s failed: %s", name, what, r->why);
}

/*
 * Send a query before the copy.  A new medium, or an earlier failure, is
 * reported once for each of the events there may have been.
 */
static bool
scsi_page(const struct scsi_path *path, const unsigned char *cdb, unsigned len,
    void *buf, size_t room, struct scsi_reply *r)
{
	bool told = scsi_query(path, cdb, len, buf, room, r);
	int try = 0;

	while ((r->result == SCSI_EARLIER || (r->result == SCSI_CHANGED &&
	    r->status == SG_LIB_CAT_UNIT_ATTENTION)) && try++ < SCSI_TRIES)
		told = scsi_query(path, cdb, len, buf, room, r);
	return told;
}

/* INQUIRY: SPC-5 6.7. */
static int
ask_identity(const struct scsi_path *path, const char *name,
    struct scsi_disk *d, struct fault *f)
{
	unsigned char q[36];
	const unsigned char cdb[6] = { 0x12, 0, 0, 0, sizeof(q) };
	struct scsi_reply r;

	if (!scsi_page(path, cdb, sizeof(cdb), q, sizeof(q), &r)) {
		if (r.err == ENOTTY || r.err == EINVAL || r.err == ENOSYS ||
		    r.err == EOPNOTSUPP)
			return fault_set(f, STATUS_FILE, "%s takes no SCSI "
			    "commands; is it a SCSI disk?", name);
		return scsi_refused(name, "INQUIRY", &r, f);
	}
	d->type = q[0] & 0x1f;
	if (q[0] >> 5 == NO_LUN)
		return fault_set(f, STATUS_FILE, "%s is not a disk: there "
		    "is no such LUN", name);
	if (q[0] >> 5 != 0 || (d->type != PDT_DISK &&
	    d->type != PDT_WO && d->type != PDT_MMC && d->type != PDT_OPTICAL &&
	    d->type != PDT_RBC && d->type != PDT_ZBC))
		return fault_set(f, STATUS_FILE, "%s is not a disk (SCSI "
		    "device type %#x)", name, (unsigned)d->type);
	return 0;
}

static int
wait_until_ready(const struct scsi_path *path, const char *name,
    struct fault *f)
{
	static const unsigned char cdb[6] = { 0 };
	struct scsi_reply r;

	return scsi_page(path, cdb, sizeof(cdb), NULL, 0, &r) ? 0 :
	    scsi_refused(name, "TEST UNIT READY", &r, f);
}

/* READ CAPACITY (10), and (16) if 32 bits are too few: SBC-4 5.20. */
static int
ask_capacity(const struct scsi_path *path, const char *name,
    struct scsi_disk *d, struct fault *f)
{
	unsigned char a[32];
	static const unsigned char short_one[10] = { 0x25 };
	static const unsigned char long_one[16] = { 0x9e, 0x10,
		[13] = sizeof(a) };
	struct scsi_reply r;
	uint64_t last;

	if (!scsi_page(path, short_one, sizeof(short_one), a, 8, &r))
		return scsi_refused(name, "READ CAPACITY", &r, f);
	last = sg_get_unaligned_be32(a);
	d->block = sg_get_unaligned_be32(a + 4);
	if (last == 0xffffffff) {
		if (!scsi_page(path, long_one, sizeof(long_one), a,
		    sizeof(a), &r))
			return scsi_refused(name, "READ CAPACITY (16)", &r, f);
		last = sg_get_unaligned_be64(a);
		d->block = sg_get_unaligned_be32(a + 8);
	}
	if (d->block < 512 || d->block > 65536 || last >= INT64_MAX / d->block)
		return fault_set(f, STATUS_FILE, "%s says its last block is "
		    "%llu, of %u bytes: it cannot be copied", name,
		    (unsigned long long)last, d->block);
	d->blocks = last + 1;
	return 0;
}

/*
 * Read a VPD page (SPC-5 7.7), as far as it fits.  Returns its length, 0
 * without one.
 */
static size_t
vpd_page(const struct scsi_path *path, unsigned char page,
    unsigned char *buf, size_t room)
{
	const unsigned char cdb[6] = { 0x12, 1, page,
		[4] = (unsigned char)room };
	struct scsi_reply r;
	size_t len;

	if (!scsi_page(path, cdb, sizeof(cdb), buf, room, &r) || buf[1] != page)
		return 0;
	len = 4 + (size_t)sg_get_unaligned_be16(buf + 2);
	return len < r.moved ? len : r.moved;
}

/* Read optional pages; a disk without them is fine. */
static void
ask_pages(const struct scsi_path *path, struct scsi_disk *d)
{
	unsigned char page[64];
	size_t len;
	bool unmaps;

	if (d->type != PDT_DISK && d->type != PDT_ZBC)
		return;
	len = vpd_page(path, VPD_LIMITS, page, sizeof(page));
	if (len >= 12)		/* MAXIMUM TRANSFER LENGTH */
		d->most = sg_get_unaligned_be32(page + 8);
	if (len >= 44)		/* MAXIMUM WRITE SAME LENGTH */
		d->same_most = (uint32_t)MIN(sg_get_unaligned_be64(page + 36),
		    UINT32_MAX);
	if (vpd_page(path, VPD_PROVISIONING, page, sizeof(page)) >= 6) {
		unmaps = (page[5] & LBPANY) != 0;
		d->zeros = unmaps && (page[5] & LBPRZ) != 0;
		d->frees_zeros = d->zeros && (page[5] & LBPWS) != 0;
	}
}

int
scsi_ask(const struct scsi_path *path, const char *name,
    struct scsi_disk *d, struct fault *f)
{
	*d = (struct scsi_disk){ .blocks = 0 };
	if (ask_identity(path, name, d, f) != 0 ||
	    wait_until_ready(path, name, f) != 0 ||
	    ask_capacity(path, name, d, f) != 0)
		return -1;
	ask_pages(path, d);
	return 0;
}

/*
 * Read descriptors from lba on, as long as they adjoin and are in the same
 * state: SBC-4.  Deallocated (1) and anchored (2) blocks are not mapped.
 */
static void
read_descriptors(const unsigned char *d, const unsigned char *end,
    uint64_t lba, uint64_t least, struct scsi_span *s)
{
	uint64_t at, n, next = lba;
	bool mapped;

	for (; d + 16 <= end; d += 16) {
		at = sg_get_unaligned_be64(d);
		n = sg_get_unaligned_be32(d + 8);
		mapped = (d[12] & 0x0f) != 1 && (d[12] & 0x0f) != 2;
		if (at > next || at + n <= next)
			break;		/* not adjoining */
		if (next == lba)
			s->mapped = mapped || at + n - next < least;
		else if (mapped != s->mapped && (!s->mapped || n >= least))
			break;
		next = at + n;
	}
	s->blocks = next - lba;
}

enum scsi_result
scsi_mapped(const struct scsi_path *path, uint64_t lba, uint64_t least,
    struct scsi_span *s)
{
	unsigned char a[4096], cdb[16] = { 0x9e, 0x12 };
	struct scsi_reply r;
	size_t len;

	sg_put_unaligned_be64(lba, cdb + 2);
	sg_put_unaligned_be32(sizeof(a), cdb + 10);
	*s = (struct scsi_span){ .mapped = true };
	if (!scsi_query(path, cdb, sizeof(cdb), a, sizeof(a), &r))
		return r.result;
	len = 4 + (size_t)sg_get_unaligned_be32(a);
	len = len < r.moved ? len : r.moved;
	if (len > 8)
		read_descriptors(a + 8, a + len, lba, least, s);
	return s->blocks > 0 ? SCSI_MOVED : SCSI_FATAL;
}
