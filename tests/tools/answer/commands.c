/*
 * What a disk answers to a command: what the first rule says that fits, else as
 * a disk does.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "answer.h"
#include "../big_endian.h"

enum { CHECK_CONDITION = 2 };

struct command {
	enum op		 op;
	uint64_t	 lba;
	uint32_t	 blocks;
};

/* Held while a command is answered, if one may change the medium. */
static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;

static struct command
decode(const unsigned char *c)
{
	switch (c[0]) {
	case 0x00:
		return (struct command){ READY, 0, 0 };
	case 0x12:
		return (struct command){ INQUIRY, 0, 0 };
	case 0x25:
		return (struct command){ CAPACITY, 0, 0 };
	case 0x35:
	case 0x91:
		return (struct command){ SYNC, 0, 0 };
	case 0x9e:
		return (struct command){ (c[1] & 0x1f) == 0x12 ? LBASTATUS :
		    CAPACITY16, 0, 0 };
	case 0x85:
		return (struct command){ ATA, 0, 0 };
	case 0x08:
	case 0x0a:
		return (struct command){ c[0] == 0x08 ? READ : WRITE,
			get_big(c + 1, 3) & 0x1fffff, c[4] == 0 ? 256 : c[4] };
	case 0x28:
	case 0x2a:
		return (struct command){ c[0] == 0x28 ? READ : WRITE,
			get_big(c + 2, 4), (uint32_t)get_big(c + 7, 2) };
	case 0xa8:
	case 0xaa:
		return (struct command){ c[0] == 0xa8 ? READ : WRITE,
			get_big(c + 2, 4), (uint32_t)get_big(c + 6, 4) };
	case 0x88:
	case 0x8a:
	case 0x93:
		return (struct command){ c[0] == 0x88 ? READ :
		    c[0] == 0x8a ? WRITE : SAME,
			get_big(c + 2, 8), (uint32_t)get_big(c + 10, 4) };
	default:
		return (struct command){ OTHER, 0, 0 };
	}
}

static struct rule *
rule_for(const struct disk *d, const struct command *c)
{
	struct rule *r;
	unsigned seen;

	for (r = rules; r < rules + nrules; r++) {
		if (r->path[0] != '\0' && strcmp(r->path, d->path) != 0)
			continue;
		if (r->ops != 0 && (r->ops & c->op) == 0)
			continue;
		if (r->ranged && (c->lba >= r->first + r->count ||
		    r->first >= c->lba + c->blocks))
			continue;
		if (r->most > 0 && (c->blocks < r->least ||
		    c->blocks > r->most))
			continue;
		seen = atomic_fetch_add(&r->seen, 1) + 1;
		if ((r->nth != 0 && seen != r->nth) || seen < r->from)
			continue;
		if (r->times != 0 && atomic_fetch_add(&r->hits, 1) >= r->times)
			continue;
		return r;
	}
	return NULL;
}

static void
put_sense(struct sg_io_hdr *h, const struct rule *r)
{
	unsigned char s[32] = { 0 };
	size_t len = 18;

	if (r->descriptor) {
		s[0] = r->deferred ? 0x73 : 0x72;
		s[1] = (unsigned char)r->key;
		s[2] = (unsigned char)r->asc;
		s[3] = (unsigned char)r->ascq;
		len = 8;
		if (r->has_info) {
			len += 12;
			s[7] = 12;
			s[8] = 0x00;
			s[9] = 10;
			s[10] = 0x80;
			put_big(s + 12, r->info, 8);
		}
	} else {
		s[0] = (unsigned char)((r->deferred ? 0x71 : 0x70) |
		    (r->has_info ? 0x80 : 0));
		s[2] = (unsigned char)(r->key | (r->ili ? 0x20 : 0));
		put_big(s + 3, r->info, 4);
		s[7] = 10;
		s[12] = (unsigned char)r->asc;
		s[13] = (unsigned char)r->ascq;
	}
	if (r->cut != 0 && r->cut < len)
		len = r->cut;
	if (len > h->mx_sb_len)
		len = h->mx_sb_len;
	memcpy(h->sbp, s, len);
	h->sb_len_wr = (unsigned char)len;
	h->driver_status |= 0x08;	/* there is sense data */
}

static void
refuse(struct sg_io_hdr *h, unsigned key, unsigned asc)
{
	const struct rule r = { .key = key, .asc = asc };

	h->status = CHECK_CONDITION;
	put_sense(h, &r);
}

/* What is asked, and not read: as much of it as was asked for. */
static void
give(struct sg_io_hdr *h, const unsigned char *data, size_t len)
{
	if (len > h->dxfer_len)
		len = h->dxfer_len;
	if (len > 0)
		memcpy(h->dxferp, data, len);
	h->resid = (int)(h->dxfer_len - len);
}

static void
inquiry(const struct disk *d, struct sg_io_hdr *h)
{
	unsigned char a[96] = { (unsigned char)d->type, 0, 6, 2, 31 };
	size_t len = 36;

	if ((h->cmdp[1] & 1) == 0) {
		memcpy(a + 8, "ANSWER  MADE OF A FILE  0001", 28);
		give(h, a, len);
		return;
	}
	a[1] = h->cmdp[2];
	a[2] = a[3] = a[4] = 0;
	switch (h->cmdp[2]) {
	case 0x80:
		len = 4 + 6;
		memcpy(a + 4, d->renamed ? "  5678" : "  1234", 6);
		break;
	case 0xb0:
		len = 64;
		put_big(a + 8, d->most, 4);
		put_big(a + 36, d->same, 8);
		break;
	case 0xb2:
		len = 8;
		a[5] = d->thin != 0 ? 0xe4 : 0;
		break;
	default:
		refuse(h, 5, 0x24);
		return;
	}
	a[3] = (unsigned char)(len - 4);
	give(h, a, len);
}

static void
capacity(const struct disk *d, struct sg_io_hdr *h, bool large)
{
	unsigned char a[32] = { 0 };
	uint64_t last = d->blocks - 1;

	if (large)
		put_big(a, last, 8);
	else
		put_big(a, last < UINT32_MAX ? last : UINT32_MAX, 4);
	put_big(a + (large ? 8 : 4), d->says, 4);
	give(h, a, large ? sizeof(a) : 8);
}

/* The first len bytes of a READ or WRITE. */
static void
move(struct disk *d, struct sg_io_hdr *h, const struct command *c, size_t len)
{
	off_t at = (off_t)(c->lba * d->block);
	ssize_t n;

	if (c->lba >= d->blocks || c->blocks > d->blocks - c->lba) {
		refuse(h, 5, 0x21);
		h->resid = (int)h->dxfer_len;
		return;
	}
	if (h->dxfer_len != c->blocks * d->block)
		die(d->path, "a command of the wrong length");
	n = c->op == READ ? pread(d->fd, h->dxferp, len, at) :
	    pwrite(d->fd, h->dxferp, len, at);
	if (n < 0)
		die(d->path, strerror(errno));
	if (c->op == READ)		/* a hole behind the file's end */
		memset((char *)h->dxferp + n, 0, len - (size_t)n);
}

static void
same(const struct disk *d, struct sg_io_hdr *h, const struct command *c)
{
	uint32_t i;

	if (d->same == 0 || c->lba >= d->blocks ||
	    c->blocks > d->blocks - c->lba || c->blocks > d->same) {
		refuse(h, 5, d->same == 0 ? 0x20 : 0x24);
		return;
	}
	for (i = 0; i < c->blocks; i++)
		if (pwrite(d->fd, h->dxferp, d->block,
		    (off_t)((c->lba + i) * d->block)) < 0)
			die(d->path, strerror(errno));
}

static void
mapped(const struct disk *d, struct sg_io_hdr *h)
{
	unsigned char a[24] = { [3] = sizeof(a) - 4 };
	uint64_t lba = get_big(h->cmdp + 2, 8), left = d->blocks - lba;

	if (d->thin == 0 || lba >= d->blocks) {
		refuse(h, 5, d->thin == 0 ? 0x20 : 0x21);
		return;
	}
	put_big(a + 8, lba, 8);
	put_big(a + 16, left < 128 ? left : 128, 4);
	give(h, a, sizeof(a));
}

/* ATA commands in a pass-through: one by registers, one by a sector. */
static void
ata(const struct disk *d, struct sg_io_hdr *h)
{
	uint64_t last = d->native - UINT64_C(1);
	unsigned char s[22] = { 0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 1 };
	unsigned char a[512] = { 2 }, sum = 0, i;
	size_t n;

	if (h->cmdp[14] == 0x27 && d->native > 0) {
		for (i = 0; i < 3; i++) {
			s[15 + 2 * i] = (unsigned char)(last >> 8 * i);
			s[14 + 2 * i] = (unsigned char)(last >> (24 + 8 * i));
		}
		s[21] = 0x50;
		h->status = CHECK_CONDITION;
		memcpy(h->sbp, s, sizeof(s) < h->mx_sb_len ? sizeof(s) :
		    h->mx_sb_len);
		h->driver_status = 0x08;
	} else if (h->cmdp[14] == 0xb1 && h->cmdp[4] == 0xc2 && d->made > 0) {
		for (i = 0; i < 4; i++)
			a[6 + i] = (unsigned char)((d->made - 1) >> 8 * i);
		a[510] = 0xa5;
		for (n = 0; n < sizeof(a); n++)
			sum = (unsigned char)(sum + a[n]);
		a[511] = (unsigned char)-sum;
		give(h, a, sizeof(a));
	} else {
		refuse(h, 11, 0);
	}
}

static void
perform(struct disk *d, struct sg_io_hdr *h, const struct command *c,
    size_t len)
{
	switch (c->op) {
	case INQUIRY:
		inquiry(d, h);
		break;
	case CAPACITY:
	case CAPACITY16:
		capacity(d, h, c->op == CAPACITY16);
		break;
	case READ:
	case WRITE:
		move(d, h, c, len);
		break;
	case SAME:
		same(d, h, c);
		break;
	case LBASTATUS:
		mapped(d, h);
		break;
	case ATA:
		ata(d, h);
		break;
	case READY:
	case SYNC:
		break;
	default:
		refuse(h, 5, 0x20);
		break;
	}
}

static void
by_rule(struct disk *d, struct sg_io_hdr *h, const struct command *c,
    const struct rule *r)
{
	bool bad = r->has_status ? r->status != 0 : r->has_sense && r->key > 1;
	int64_t len = h->dxfer_len, moved = len - r->resid;

	if (r->has_data)
		give(h, r->data, sizeof(r->data));
	else if (r->done || !(bad || r->host != 0 || r->driver != 0))
		perform(d, h, c, (size_t)(moved < 0 ? 0 : moved < len ? moved :
		    len));
	if (r->has_resid)
		h->resid = (int)r->resid;
	h->host_status = (unsigned short)r->host;
	h->driver_status |= (unsigned short)r->driver;
	if (r->has_sense)
		put_sense(h, r);
	if (r->has_status || (r->has_sense && !r->done && r->key > 0))
		h->status = (unsigned char)(r->has_status ? r->status :
		    CHECK_CONDITION);
	if (r->renamed)
		d->renamed = true;
	if (r->becomes[0] != '\0')
		d->fd = medium(r->becomes);
}

static void
note(const struct disk *d, const struct command *c, const struct sg_io_hdr *h,
    bool refused)
{
	const char *name = "";
	char line[4400], status[16] = "-";
	size_t i;
	int n;

	if (log_fd < 0)
		return;
	for (i = 0; i < OPS; i++)
		if (ops[i].value == (int)c->op)
			name = ops[i].name;
	if (!refused)
		snprintf(status, sizeof(status), "%u", (unsigned)h->status);
	n = snprintf(line, sizeof(line), "%s %s %" PRIu64 " %" PRIu32 " %u "
	    "%02x %s\n", d->path, name, c->lba, c->blocks,
	    (unsigned)h->cmd_len, h->cmdp[1] & (h->cmd_len == 6 ? 0 : 0xff),
	    status);
	(void)!syscall(SYS_write, log_fd, line, (size_t)n);
}

int
answer(struct disk *d, struct sg_io_hdr *h)
{
	struct command c = decode(h->cmdp);
	struct rule *r;

	if (changes)
		pthread_mutex_lock(&one_by_one);
	r = rule_for(d, &c);
	h->status = h->masked_status = h->sb_len_wr = 0;
	h->host_status = h->driver_status = 0;
	h->resid = 0;
	h->info = 0;
	if (r != NULL && r->ms > 0)
		usleep(r->ms * 1000);
	if (r == NULL)
		perform(d, h, &c, h->dxfer_len);
	else if (r->err == 0)
		by_rule(d, h, &c, r);
	if (changes)
		pthread_mutex_unlock(&one_by_one);
	note(d, &c, h, r != NULL && r->err != 0);
	return r != NULL ? r->err : 0;
}
