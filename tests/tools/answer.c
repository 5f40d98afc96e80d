/*
 * answer: SCSI disks out of files, with answers on demand (LD_PRELOAD).
 *
 * A file becomes an sg node: fstat(2) tells of a character device, and SG_IO,
 * write(2) and read(2) of it are answered here, its bytes being the disk's.
 *
 * ANSWERS holds rules, parted by ';'; a rule holds words.  A rule with disk=
 * makes one:
 *
 *	disk=PATH	the file
 *	block=N		bytes of a block (512), for the commands
 *	says=N		... and what READ CAPACITY says it is
 *	blocks=N	how many there are (what the file has room for)
 *	type=N		device type (0)
 *	most=N		MAXIMUM TRANSFER LENGTH, in blocks (0: no limit)
 *	same=N		MAXIMUM WRITE SAME LENGTH, in blocks (0: not known)
 *	native=N made=N	how many blocks it could show, and was made with, by the
 *			ATA commands that tell it (0: it has no such commands)
 *	thin=1		thin provisioning: GET LBA STATUS has all mapped, told in
 *			spans of 128 blocks
 *
 * All other rules say how a command ends, the first that fits decides:
 *
 *	on=PATH		of this disk
 *	op=OP,...	inquiry (also of VPD pages) ready capacity capacity16
 *			read write same sync lbastatus ata
 *	at=FIRST+COUNT	a command that touches these blocks
 *	len=LEAST-MOST	one of so many
 *	nth=N times=N	only the Nth time; only the first N times
 *	from=N		from the Nth time on
 *	status=N	the SCSI status
 *	sense=K/A/Q	sense data, in hex, and CHECK CONDITION without status=
 *	descriptor	... in this format, not in the fixed one
 *	deferred	... of an earlier command
 *	info=N ili	... with these fields
 *	cut=N		... of N bytes only
 *	done		the command is carried out, all the same
 *	host=N driver=N	the status of host and driver
 *	resid=N		bytes that were not moved: at the end, or more than
 *			there are, or fewer than none
 *	data=HEX	what is answered, and zeros behind
 *	errno=N		the ioctl fails
 *	sleep=MS	takes so long first
 *	becomes=PATH	from now on, this file is the medium; with such a rule one
 *			command is answered at a time, so that "now" is exact
 *
 * ANSWER_LOG=FILE gets a line for each command:
 *
 *	PATH OP LBA BLOCKS SIZE-OF-CDB BITS STATUS
 *
 * where BITS are those of byte 1, in hex, and STATUS is "-" if it was refused,
 * and for each nanosleep(2), which takes a hundredth of its time only,
 *
 *	pause MS
 *
 * Of sysfs a disk has the folder PATH.sys, or nothing.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <pthread.h>
#include <scsi/sg.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

enum {
	DISKS = 4, RULES = 16, FLIGHTS = 64, DATA = 256,
	SG_MAJOR = 21, FIRST_MINOR = 40000,
	CHECK_CONDITION = 2,
};

enum op {
	INQUIRY = 1, READY = 2, CAPACITY = 4, CAPACITY16 = 8, READ = 16,
	WRITE = 32, SAME = 64, SYNC = 128, LBASTATUS = 256, OTHER = 512,
	ATA = 1024
};

struct disk {
	char		 path[4096];
	dev_t		 dev;
	ino_t		 ino;
	atomic_int	 fd;		/* its medium */
	uint32_t	 block, says, type, most, same, thin, native, made;
	uint64_t	 blocks;
};

struct rule {
	char		 path[4096];	/* empty: any disk */
	unsigned	 ops;		/* 0: any */
	bool		 ranged;
	uint64_t	 first, count;
	unsigned	 least, most;
	unsigned	 nth, times, from, ms;
	unsigned	 status, host, driver;
	bool		 has_status, has_sense, has_info, has_resid, has_data;
	bool		 descriptor, deferred, ili, done;
	unsigned	 key, asc, ascq;
	unsigned	 cut;		/* 0: all of it */
	uint64_t	 info;
	int64_t		 resid;
	int		 err;
	unsigned char	 data[DATA];
	char		 becomes[4096];
	atomic_uint	 seen, hits;
};

struct command {
	enum op		 op;
	uint64_t	 lba;
	uint32_t	 blocks;
};

static struct disk disks[DISKS];
static struct rule rules[RULES];
static size_t ndisks, nrules;
static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Held while a command is answered, if one may change the medium. */
static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;
static bool changes;
static struct flight {		/* answered, and not asked for yet */
	bool used;
	int fd;
	struct sg_io_hdr h;
} flights[FLIGHTS];

static const struct word ops[] = {
	{ "inquiry", INQUIRY }, { "ready", READY }, { "capacity", CAPACITY },
	{ "capacity16", CAPACITY16 }, { "read", READ }, { "write", WRITE },
	{ "same", SAME }, { "sync", SYNC }, { "lbastatus", LBASTATUS },
	{ "other", OTHER }, { "ata", ATA },
};

/* ------------------------------------------------------------- the rules */

static void
data_of(struct rule *r, const char *hex)
{
	size_t n = 0;
	char two[3] = "";

	r->has_data = true;
	for (; hex[0] != '\0' && hex[1] != '\0' && n < DATA; hex += 2) {
		memcpy(two, hex, 2);
		r->data[n++] = (unsigned char)strtoul(two, NULL, 16);
	}
}

static void
range_of(struct rule *r, char *value)
{
	char *end;

	r->ranged = true;
	r->first = strtoull(value, &end, 0);
	if (*end != '+')
		die(value, "not FIRST+COUNT");
	r->count = strtoull(end + 1, NULL, 0);
}

static bool
flag_of(struct rule *r, const char *word)
{
	const struct { const char *name; bool *flag; } flags[] = {
		{ "descriptor", &r->descriptor }, { "deferred", &r->deferred },
		{ "ili", &r->ili }, { "done", &r->done },
	};
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(word, flags[i].name) == 0)
			return *flags[i].flag = true;
	return false;
}

static bool
number_of(struct rule *r, const char *word, const char *value)
{
	const struct { const char *name; unsigned *number; bool *has; } all[] = {
		{ "nth", &r->nth, NULL }, { "times", &r->times, NULL },
		{ "from", &r->from, NULL },
		{ "sleep", &r->ms, NULL }, { "host", &r->host, NULL },
		{ "driver", &r->driver, NULL }, { "cut", &r->cut, NULL },
		{ "status", &r->status, &r->has_status },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(word, all[i].name) == 0) {
			*all[i].number = (unsigned)strtoul(value, NULL, 0);
			if (all[i].has != NULL)
				*all[i].has = true;
			return true;
		}
	return false;
}

static void
word_of(struct rule *r, const char *word, char *value)
{
	if (value == NULL ? flag_of(r, word) : number_of(r, word, value))
		return;
	if (value == NULL)
		die(word, "not a word of ANSWERS");
	else if (strcmp(word, "on") == 0)
		snprintf(r->path, sizeof(r->path), "%s", value);
	else if (strcmp(word, "op") == 0)
		r->ops = bits_of(value, ops, sizeof(ops) / sizeof(ops[0]));
	else if (strcmp(word, "at") == 0)
		range_of(r, value);
	else if (strcmp(word, "len") == 0)
		(void)(sscanf(value, "%u-%u", &r->least, &r->most) == 2 ||
		    (die(value, "not LEAST-MOST"), false));
	else if (strcmp(word, "sense") == 0)
		r->has_sense = sscanf(value, "%x/%x/%x", &r->key, &r->asc,
		    &r->ascq) == 3 || (die(value, "not K/A/Q"), false);
	else if (strcmp(word, "info") == 0) {
		r->has_info = true;
		r->info = strtoull(value, NULL, 0);
	} else if (strcmp(word, "resid") == 0) {
		r->has_resid = true;
		r->resid = strtoll(value, NULL, 0);
	} else if (strcmp(word, "data") == 0)
		data_of(r, value);
	else if (strcmp(word, "errno") == 0)
		r->err = atoi(value);
	else if (strcmp(word, "becomes") == 0)
		changes = snprintf(r->becomes, sizeof(r->becomes), "%s", value) > 0;
	else
		die(word, "not a word of ANSWERS");
}

static void
disk_word(struct disk *d, const char *word, const char *value)
{
	const struct { const char *name; uint32_t *number; } all[] = {
		{ "block", &d->block }, { "says", &d->says },
		{ "type", &d->type }, { "most", &d->most },
		{ "same", &d->same }, { "thin", &d->thin },
		{ "native", &d->native }, { "made", &d->made },
	};
	size_t i;

	if (value == NULL)
		die(word, "not a word of a disk");
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(word, all[i].name) == 0) {
			*all[i].number = (uint32_t)strtoul(value, NULL, 0);
			return;
		}
	if (strcmp(word, "blocks") != 0)
		die(word, "not a word of a disk");
	d->blocks = strtoull(value, NULL, 0);
}

/* A medium is opened past ourselves: it is no node. */
static int
medium(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die(path, strerror(errno));
	return fd;
}

static void
make_disk(char *path, char *words)
{
	struct disk *d = &disks[ndisks];
	char *word, *value;
	struct stat st;

	if (ndisks == DISKS)
		die(path, "too many disks");
	snprintf(d->path, sizeof(d->path), "%s", path);
	d->fd = medium(path);
	if (fstat(d->fd, &st) != 0)
		die(path, strerror(errno));
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	d->block = 512;
	d->says = UINT32_MAX;
	d->blocks = UINT64_MAX;
	while ((word = strsep(&words, " ")) != NULL) {
		value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		if (*word != '\0')
			disk_word(d, word, value);
	}
	if (d->blocks == UINT64_MAX)
		d->blocks = (uint64_t)st.st_size / d->block;
	if (d->says == UINT32_MAX)
		d->says = d->block;
	ndisks++;		/* from here on it is a node */
}

static void
make_rule(char *words)
{
	struct rule *r = &rules[nrules++];
	char *word, *value;

	if (nrules > RULES)
		die(words, "too many rules");
	while ((word = strsep(&words, " ")) != NULL) {
		value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		if (*word != '\0')
			word_of(r, word, value);
	}
}

__attribute__((constructor)) static void
begin(void)
{
	const char *told = getenv("ANSWERS"), *log = getenv("ANSWER_LOG");
	char *all, *at, *one, *first;

	if (told == NULL || ndisks > 0)
		return;
	if ((at = all = strdup(told)) == NULL)
		die("ANSWERS", "no memory");
	while ((one = strsep(&at, ";")) != NULL) {
		one += strspn(one, " ");
		if (strncmp(one, "disk=", 5) == 0) {
			first = strsep(&one, " ");
			make_disk(first + 5, one);
		} else if (*one != '\0') {
			make_rule(one);
		}
	}
	free(all);
	if (log != NULL)
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, log,
		    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

/* ----------------------------------------------------------- the commands */

static uint64_t
get(const unsigned char *p, unsigned n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

static void
put(unsigned char *p, uint64_t v, unsigned n)
{
	while (n-- > 0) {
		p[n] = (unsigned char)v;
		v >>= 8;
	}
}

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
			get(c + 1, 3) & 0x1fffff, c[4] == 0 ? 256 : c[4] };
	case 0x28:
	case 0x2a:
		return (struct command){ c[0] == 0x28 ? READ : WRITE,
			get(c + 2, 4), (uint32_t)get(c + 7, 2) };
	case 0xa8:
	case 0xaa:
		return (struct command){ c[0] == 0xa8 ? READ : WRITE,
			get(c + 2, 4), (uint32_t)get(c + 6, 4) };
	case 0x88:
	case 0x8a:
	case 0x93:
		return (struct command){ c[0] == 0x88 ? READ :
		    c[0] == 0x8a ? WRITE : SAME,
			get(c + 2, 8), (uint32_t)get(c + 10, 4) };
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
			put(s + 12, r->info, 8);
		}
	} else {
		s[0] = (unsigned char)((r->deferred ? 0x71 : 0x70) |
		    (r->has_info ? 0x80 : 0));
		s[2] = (unsigned char)(r->key | (r->ili ? 0x20 : 0));
		put(s + 3, r->info, 4);
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
		memcpy(a + 4, "  1234", 6);
		break;
	case 0xb0:
		len = 64;
		put(a + 8, d->most, 4);
		put(a + 36, d->same, 8);
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
		put(a, last, 8);
	else
		put(a, last < UINT32_MAX ? last : UINT32_MAX, 4);
	put(a + (large ? 8 : 4), d->says, 4);
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
	uint64_t lba = get(h->cmdp + 2, 8), left = d->blocks - lba;

	if (d->thin == 0 || lba >= d->blocks) {
		refuse(h, 5, d->thin == 0 ? 0x20 : 0x21);
		return;
	}
	put(a + 8, lba, 8);
	put(a + 16, left < 128 ? left : 128, 4);
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
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
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

/* Fill in the answer; an errno, if it is to be refused. */
static int
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

/* ------------------------------------------------------------- the calls */

static struct disk *
disk_of(const struct stat *st)
{
	struct disk *d;

	for (d = disks; d < disks + ndisks; d++)
		if (st->st_dev == d->dev && st->st_ino == d->ino)
			return d;
	return NULL;
}

static struct disk *
disk_at(int fd)
{
	struct stat st;

	REAL(real, fstat);
	return ndisks > 0 && real(fd, &st) == 0 ? disk_of(&st) : NULL;
}

static void
disguise(struct stat *st)
{
	const struct disk *d = disk_of(st);

	if (d == NULL)
		return;
	st->st_mode = S_IFCHR | 0600;
	st->st_rdev = makedev(SG_MAJOR, FIRST_MINOR + (unsigned)(d - disks));
	st->st_size = 0;
}

int
fstat(int fd, struct stat *st)
{
	int res;

	REAL(real, fstat);
	res = real(fd, st);
	if (res == 0)
		disguise(st);
	return res;
}

/* The same structure on machines of 64 bits. */
int
fstat64(int fd, struct stat64 *st)
{
	_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "64 bits");

	return fstat(fd, (struct stat *)(void *)st);
}

int
ioctl(int fd, unsigned long request, ...)
{
	struct disk *d = disk_at(fd);
	va_list ap;
	void *arg;
	int err = 0;

	REAL(real, ioctl);
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (d == NULL)
		return real(fd, request, arg);
	switch (request) {
	case SG_IO:
		err = answer(d, arg);
		break;
	case SG_GET_VERSION_NUM:
		*(int *)arg = 30536;
		break;
	case SG_GET_RESERVED_SIZE:
	case BLKSECTGET:
		*(int *)arg = 512 << 10;
		break;
	case SG_SET_RESERVED_SIZE:
	case SG_SET_FORCE_PACK_ID:
		break;
	default:
		err = ENOTTY;
		break;
	}
	errno = err;
	return err != 0 ? -1 : 0;
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	struct disk *d = disk_at(fd);
	struct sg_io_hdr h;
	struct flight *f;
	int err;

	REAL(real, write);
	if (d == NULL || len != sizeof(h))
		return real(fd, buf, len);
	memcpy(&h, buf, sizeof(h));
	err = answer(d, &h);
	pthread_mutex_lock(&lock);
	for (f = flights; f < flights + FLIGHTS && f->used; f++)
		continue;
	if (f < flights + FLIGHTS && err == 0)
		*f = (struct flight){ true, fd, h };
	pthread_mutex_unlock(&lock);
	errno = f == flights + FLIGHTS ? EDOM : err;
	return errno != 0 ? -1 : (ssize_t)len;
}

ssize_t
read(int fd, void *buf, size_t len)
{
	struct disk *d = disk_at(fd);
	struct sg_io_hdr *h = buf;
	struct flight *f;

	REAL(real, read);
	if (d == NULL || len != sizeof(*h))
		return real(fd, buf, len);
	pthread_mutex_lock(&lock);
	for (f = flights; f < flights + FLIGHTS; f++)
		if (f->used && f->fd == fd && f->h.pack_id == h->pack_id)
			break;
	if (f < flights + FLIGHTS) {
		*h = f->h;
		f->used = false;
	}
	pthread_mutex_unlock(&lock);
	errno = EAGAIN;
	return f < flights + FLIGHTS ? (ssize_t)len : -1;
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	int64_t ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
	struct timespec shorter = { ns / 100 / 1000000000,
		ns / 100 % 1000000000 };
	char line[40];
	int n;

	REAL(real, nanosleep);
	n = snprintf(line, sizeof(line), "pause %" PRId64 "\n", ns / 1000000);
	if (log_fd >= 0)
		(void)!syscall(SYS_write, log_fd, line, (size_t)n);
	return real(ndisks > 0 ? &shorter : t, left);
}

/* The disk's folder in sysfs; "/" has none of its files. */
static const char *
elsewhere(const char *path, char *room, size_t len)
{
	unsigned maj, min;

	if (ndisks == 0 || sscanf(path, "/sys/dev/char/%u:%u", &maj,
	    &min) != 2 || maj != SG_MAJOR || min < FIRST_MINOR ||
	    min >= FIRST_MINOR + ndisks)
		return path;
	snprintf(room, len, "%s.sys", disks[min - FIRST_MINOR].path);
	return faccessat(AT_FDCWD, room, F_OK, 0) == 0 ? room : "/";
}

#define OPEN(name)							\
	int name(const char *path, int flags, ...);			\
	int								\
	name(const char *path, int flags, ...)				\
	{								\
		char room[4110];					\
		va_list ap;						\
		int mode;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;		\
		va_end(ap);						\
		return real(elsewhere(path, room, sizeof(room)),	\
		    flags, mode);					\
	}

OPEN(open)
OPEN(open64)

UNCONFINED(true)
