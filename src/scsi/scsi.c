/*
 * SCSI commands that move data, and sending any command.  For the meaning of
 * answers see scsi_judge.c.
 */
#include "scsi/scsi.h"

#include <errno.h>
#include <linux/bsg.h>
#include <linux/major.h>
#include <scsi/sg.h>
#include <scsi/sg_lib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define HAVE_BYTESWAP_H 1	/* else the header shifts an int by 24 */
#include <scsi/sg_unaligned.h>

#ifndef SG_FLAG_MMAP_IO
#define SG_FLAG_MMAP_IO	4
#endif

/*
 * The smallest CDB that can express these blocks, but at least the size wanted.
 */
static unsigned
cdb_size(const struct scsi_command *c)
{
	uint64_t last = c->lba + c->blocks - 1;
	unsigned size = c->cdb_size;

	if (size == 6 && (last > 0x1fffff || c->blocks > 256))
		size = 10;
	if (size == 10 && c->blocks > 0xffff)
		size = 12;
	if (last > 0xffffffff)
		size = 16;
	return size;
}

/* READ and WRITE (6), (10), (12), (16): SBC-4 5.15 to 5.18, 5.40 to 5.43. */
static unsigned
build_rw(unsigned char *cdb, const struct scsi_command *c)
{
	unsigned size = cdb_size(c);

	memset(cdb, 0, 16);
	cdb[1] = (unsigned char)((c->dpo ? 0x10 : 0) | (c->fua ? 0x08 : 0));
	switch (size) {
	case 6:
		cdb[0] = c->write ? 0x0a : 0x08;
		sg_put_unaligned_be24((uint32_t)c->lba, cdb + 1);
		cdb[4] = (unsigned char)c->blocks;	/* 0 means 256 */
		break;
	case 10:
		cdb[0] = c->write ? 0x2a : 0x28;
		sg_put_unaligned_be32((uint32_t)c->lba, cdb + 2);
		sg_put_unaligned_be16((uint16_t)c->blocks, cdb + 7);
		break;
	case 12:
		cdb[0] = c->write ? 0xaa : 0xa8;
		sg_put_unaligned_be32((uint32_t)c->lba, cdb + 2);
		sg_put_unaligned_be32(c->blocks, cdb + 6);
		break;
	default:
		cdb[0] = c->write ? 0x8a : 0x88;
		sg_put_unaligned_be64(c->lba, cdb + 2);
		sg_put_unaligned_be32(c->blocks, cdb + 10);
		break;
	}
	return size;
}

/* WRITE SAME (16), with UNMAP, without ANCHOR and NDOB: SBC-4. */
static unsigned
build_same(unsigned char *cdb, const struct scsi_command *c)
{
	memset(cdb, 0, 16);
	cdb[0] = 0x93;
	cdb[1] = c->unmap ? 0x08 : 0;
	sg_put_unaligned_be64(c->lba, cdb + 2);
	sg_put_unaligned_be32(c->blocks, cdb + 10);
	return 16;
}

unsigned
scsi_cdb(unsigned char *cdb, const struct scsi_command *c)
{
	if (c->cdb == NULL)
		return c->same ? build_same(cdb, c) : build_rw(cdb, c);
	memcpy(cdb, c->cdb, c->cdb_size);
	return c->cdb_size;
}

/* The data of WRITE SAME is one block. */
uint32_t
scsi_data_length(const struct scsi_command *c)
{
	return c->same ? c->block : c->blocks * c->block;
}

/* Fill in h, which keeps pointing to cdb and sense. */
static void
put_header(struct sg_io_hdr *h, const struct scsi_command *c,
    unsigned char *cdb, unsigned char *sense)
{
	*h = (struct sg_io_hdr){ .interface_id = 'S', .cmdp = cdb,
		.mx_sb_len = SCSI_SENSE, .timeout = c->timeout,
		.dxfer_len = scsi_data_length(c) };
	h->dxfer_direction = h->dxfer_len == 0 ? SG_DXFER_NONE : c->write ?
	    SG_DXFER_TO_DEV : SG_DXFER_FROM_DEV;
	h->sbp = sense;
	h->cmd_len = (unsigned char)scsi_cdb(cdb, c);
	h->dxferp = c->mmap ? NULL : c->buf;
	h->flags = (c->mmap ? SG_FLAG_MMAP_IO : 0) |
	    (c->direct ? SG_FLAG_DIRECT_IO : 0);
}

static void
take_header(struct scsi_answer *a, const struct sg_io_hdr *h)
{
	a->device = h->status;
	a->host = h->host_status;
	a->driver = h->driver_status;
	a->sense_len = h->sb_len_wr;
	a->residual = h->resid;
	a->direct = (h->info & SG_INFO_DIRECT_IO_MASK) == SG_INFO_DIRECT_IO;
}

static int
send_v3(int fd, const struct scsi_command *c, struct scsi_answer *a)
{
	unsigned char cdb[16];
	struct sg_io_hdr h;

	put_header(&h, c, cdb, a->sense);
	if (ioctl(fd, SG_IO, &h) != 0)
		return errno;
	take_header(a, &h);
	return 0;
}

static int
send_v4(int fd, const struct scsi_command *c, struct scsi_answer *a)
{
	unsigned char cdb[16];
	uint32_t bytes = scsi_data_length(c);
	struct sg_io_v4 h = { .guard = 'Q',
		.protocol = BSG_PROTOCOL_SCSI,
		.subprotocol = BSG_SUB_PROTOCOL_SCSI_CMD,
		.request = (uintptr_t)cdb, .response = (uintptr_t)a->sense,
		.max_response_len = SCSI_SENSE, .timeout = c->timeout };

	h.request_len = scsi_cdb(cdb, c);
	if (c->write) {
		h.dout_xferp = (uintptr_t)c->buf;
		h.dout_xfer_len = bytes;
	} else {
		h.din_xferp = (uintptr_t)c->buf;
		h.din_xfer_len = bytes;
	}
	if (ioctl(fd, SG_IO, &h) != 0)
		return errno;
	a->device = h.device_status;
	a->host = h.transport_status;
	a->driver = h.driver_status;
	a->sense_len = h.response_len;
	a->residual = c->write ? h.dout_resid : h.din_resid;
	return 0;
}

void
scsi_run(const struct scsi_path *path, const struct scsi_command *c,
    struct scsi_reply *r)
{
	struct scsi_answer a = { .device = 0 };
	int err;

	if (path->node == SCSI_CARRIED)
		err = path->carry(path->to, c, &a);
	else if (path->node == SCSI_BSG)
		err = send_v4(path->fd, c, &a);
	else
		err = send_v3(path->fd, c, &a);
	scsi_judge(r, path->node, c, err, &a);
}

int
scsi_send(int fd, struct scsi_flight *fl, int id)
{
	put_header(&fl->header, &fl->command, fl->cdb, fl->sense);
	fl->header.pack_id = id;
	return write(fd, &fl->header, sizeof(fl->header)) < 0 ? errno : 0;
}

/* The header tells read(2) which answer we want: see sg_async_open. */
int
scsi_take(int fd, struct scsi_flight *fl, struct scsi_reply *r)
{
	struct scsi_answer a = { .device = 0 };
	int err = 0;

	if (read(fd, &fl->header, sizeof(fl->header)) < 0) {
		if (errno == EAGAIN)
			return EAGAIN;
		err = errno;
	} else {
		take_header(&a, &fl->header);
		memcpy(a.sense, fl->sense, sizeof(a.sense));
	}
	scsi_judge(r, SCSI_SG, &fl->command, err, &a);
	return 0;
}

void
scsi_pause(int tries)
{
	long ms = tries < 8 ? 2L << tries : 500;
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Recognised by the major number: that of sg is fixed, that of bsg is not. */
struct scsi_path
scsi_path(int fd, unsigned timeout)
{
	struct scsi_path path = { .timeout = timeout, .fd = fd,
		.node = SCSI_BSG };
	struct stat st = { .st_rdev = 0 };

	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode))
		path.node = SCSI_BLOCK;
	else if (major(st.st_rdev) == SCSI_GENERIC_MAJOR)
		path.node = SCSI_SG;
	return path;
}

/*
 * Run a command, and retry transient errors.  A flush ("for_others") is not
 * repeated after the disk was restarted.
 */
static void
scsi_insist(const struct scsi_path *path, const struct scsi_command *c,
    bool for_others, struct scsi_reply *r)
{
	int try = 0;

	scsi_run(path, c, r);
	while (r->result == SCSI_AGAIN && !(for_others && r->restarted) &&
	    try < SCSI_TRIES) {
		scsi_pause(try++);
		scsi_run(path, c, r);
	}
}

bool
scsi_query(const struct scsi_path *path, const unsigned char *cdb,
    unsigned len, void *buf, size_t room, struct scsi_reply *r)
{
	const struct scsi_command c = { .cdb = cdb, .cdb_size = len,
		.timeout = path->timeout, .buf = buf, .blocks = (uint32_t)room,
		.block = 1 };

	if (room > 0)
		memset(buf, 0, room);
	scsi_insist(path, &c, false, r);
	return r->result == SCSI_MOVED;
}

bool
scsi_sync(const struct scsi_path *path, bool cached, struct scsi_reply *r)
{
	static const unsigned char cdb[10] = { 0x35 };
	const struct scsi_command c = { .cdb = cdb, .cdb_size = sizeof(cdb),
		.timeout = path->timeout, .block = 1 };

	scsi_insist(path, &c, cached, r);
	return r->result == SCSI_MOVED ||
	    (r->result == SCSI_FATAL && r->status == SG_LIB_CAT_INVALID_OP);
}
