/*
 * simdisk: a slow disk, to measure copiers with.
 *
 *	simdisk [-r READ] [-w WRITE] [-o OVERHEAD] [-l LATENCY] [-j JUMP]
 *		[-b OFF+LEN,... -e TIME] [-f OFF+LEN,...] [-2] BACKING DIR
 *
 * Mounts a FUSE file system on DIR with the one file DIR/disk, which is as
 * large as BACKING (a file on tmpfs) and keeps its bytes there; returns once it
 * is mounted and serves it in the background until DIR is unmounted.  A loop
 * device turns it into a block device: losetup --direct-io=on -f DIR/disk.
 * READ and WRITE are bytes per second (0: no limit), the others microseconds.
 *
 * The disk serves one request at a time, in the order of arrival.  One occupies
 * it for
 *
 *	overhead + bytes / rate (+ jump if it does not follow the last)
 *
 * and is answered a latency later; the latencies of many overlap.  Time in
 * which nothing waits for the disk is lost, unlike with a token bucket, which
 * would let a copier catch up.  A flush is answered when everything before it
 * has been served.  A read that touches one of the bad ranges (-b) fails as a
 * whole, and occupies the disk for TIME more, as for retries.  A write that
 * touches one of the others (-f) stores the first byte in it with a flipped
 * bit.  With -2 the disk has two arms, one for reading and one for writing,
 * each of which serves one request at a time.
 *
 * Each of the threads takes a request off /dev/fuse, books its time, moves the
 * bytes, sleeps until the time is over and answers.  As many requests as there
 * are threads may be in flight.
 *
 *	i	disk->intake, held from taking a request to booking it, so that
 *		the order of arrival is the order of service
 *
 * The members without a letter do not change once the threads run.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 64,
	PAYLOAD = 1 << 20,		/* the most one request carries */
	PAGES = PAYLOAD / 4096,
	ROOM = PAYLOAD + 4096,		/* a write with its headers */
	DISK_INO = 2,
	NS_PER_US = 1000,
	VALID = 3600,		/* s: how long the kernel trusts us */
	RANGES = 4096,
};

static const int64_t NS_PER_S = 1000000000;

struct disk {
	int fuse;
	char *bytes;
	uint64_t size;
	double read_rate, write_rate;		/* bytes per second */
	int64_t overhead, latency, jump, trying;	/* ns */
	struct range { uint64_t off, len; } bad[RANGES], spoilt[RANGES];
	size_t nbad, nspoilt;
	bool both;		/* reads and writes at once */

	pthread_mutex_t intake;
	int64_t free_at[2];	/* i, ns: when all that is booked is served */
	uint64_t head[2];	/* i, where the last transfer ended */
};

struct request {
	struct fuse_in_header *in;	/* the thread's buffer */
	void *arg;			/* what follows the header in it */
	uint64_t off;			/* of a read or write */
	uint32_t len;
	int error;			/* errno to answer with, or 0 */
	int64_t due;			/* ns: when to answer */
};

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void
sleep_until(int64_t ns)
{
	struct timespec t = {
		.tv_sec = ns / NS_PER_S,
		.tv_nsec = ns % NS_PER_S,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)
	    == EINTR)
		;
}

static bool
transfers(const struct request *r)
{
	return r->in->opcode == FUSE_READ || r->in->opcode == FUSE_WRITE;
}

/* Find the extent of a transfer, kept within the disk. */
static void
locate(const struct disk *d, struct request *r)
{
	const struct fuse_write_in *w = r->arg;	/* reads begin alike */
	uint64_t room = w->offset < d->size ? d->size - w->offset : 0;

	r->off = w->offset;
	r->len = w->size;
	if (room >= r->len)
		return;
	if (r->in->opcode == FUSE_WRITE)
		r->error = ENOSPC;
	r->len = (uint32_t)room;
}

static bool
touches(const struct request *r, const struct range *g)
{
	return r->off < g->off + g->len && g->off < r->off + r->len;
}

static bool
unreadable(const struct disk *d, const struct request *r)
{
	size_t i;

	if (r->in->opcode != FUSE_READ)
		return false;
	for (i = 0; i < d->nbad; i++)
		if (touches(r, &d->bad[i]))
			return true;
	return false;
}

static void
spoil(const struct disk *d, const struct request *r)
{
	size_t i;

	for (i = 0; i < d->nspoilt; i++)
		if (touches(r, &d->spoilt[i]))
			d->bytes[d->spoilt[i].off > r->off ?
			    d->spoilt[i].off : r->off] ^= 0x10;
}

/* The ns for which a transfer occupies the disk. */
static int64_t
service(const struct disk *d, const struct request *r, uint64_t head)
{
	double rate = r->in->opcode == FUSE_READ ? d->read_rate : d->write_rate;
	int64_t ns = d->overhead;

	if (rate > 0)
		ns += (int64_t)((double)r->len * (double)NS_PER_S / rate);
	if (r->off != head)
		ns += d->jump;
	return ns;
}

/* Give the request its place in the disk's time.  Called with intake held. */
static void
book(struct disk *d, struct request *r)
{
	int arm = d->both && r->in->opcode == FUSE_READ;
	int64_t t = now();

	if (!transfers(r) && r->in->opcode != FUSE_FSYNC)
		return;
	if (d->free_at[arm] < t)
		d->free_at[arm] = t;		/* the idle time is lost */
	if (transfers(r)) {
		locate(d, r);
		d->free_at[arm] += service(d, r, d->head[arm]);
		if (unreadable(d, r)) {
			r->error = EIO;
			d->free_at[arm] += d->trying;
		}
		d->head[arm] = r->off + r->len;
	}
	r->due = d->free_at[arm] + d->latency;
}

/* Wait for the next request; false when the file system is unmounted. */
static bool
take(struct disk *d, struct request *r)
{
	ssize_t n;

	pthread_mutex_lock(&d->intake);
	do
		n = read(d->fuse, r->in, ROOM);
	while (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT));
	if (n > 0) {
		r->arg = r->in + 1;
		r->error = 0;
		r->due = 0;
		book(d, r);
	}
	pthread_mutex_unlock(&d->intake);
	return n > 0;
}

/* A request that was interrupted refuses its answer; that is its business. */
static void
reply(const struct disk *d, const struct request *r, void *p, size_t len)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len),
		.error = -r->error,
		.unique = r->in->unique,
	};
	struct iovec v[] = { { &out, sizeof(out) }, { p, len } };

	if (writev(d->fuse, v, len ? 2 : 1) < 0)
		return;
}

static void
refuse(const struct disk *d, struct request *r, int error)
{
	r->error = error;
	reply(d, r, NULL, 0);
}

static void
greet(const struct disk *d, const struct request *r)
{
	const struct fuse_init_in *in = r->arg;
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = PAYLOAD,
		.flags = in->flags & (FUSE_ASYNC_READ | FUSE_ASYNC_DIO |
		    FUSE_BIG_WRITES | FUSE_MAX_PAGES),
		.max_background = THREADS,
		.congestion_threshold = THREADS,
		.max_write = PAYLOAD,
		.max_pages = PAGES,
		.time_gran = 1,
	};

	reply(d, r, &out, sizeof(out));
}

static struct fuse_attr
attributes(const struct disk *d, uint64_t ino)
{
	struct fuse_attr a = { .ino = ino, .nlink = 1, .blksize = 4096 };

	if (ino == DISK_INO) {
		a.mode = S_IFREG | 0600;
		a.size = d->size;
		a.blocks = d->size / 512;
	} else {
		a.mode = S_IFDIR | 0700;
	}
	return a;
}

static void
look_up(const struct disk *d, struct request *r)
{
	struct fuse_entry_out out = {
		.nodeid = DISK_INO,
		.entry_valid = VALID,
		.attr_valid = VALID,
		.attr = attributes(d, DISK_INO),
	};

	if (strcmp(r->arg, "disk") != 0)
		refuse(d, r, ENOENT);
	else
		reply(d, r, &out, sizeof(out));
}

static void
tell_attributes(const struct disk *d, const struct request *r)
{
	struct fuse_attr_out out = {
		.attr_valid = VALID,
		.attr = attributes(d, r->in->nodeid),
	};

	reply(d, r, &out, sizeof(out));
}

static void
tell_room(const struct disk *d, const struct request *r)
{
	struct fuse_statfs_out out = {
		.st = { .bsize = 4096, .frsize = 4096 },
	};

	reply(d, r, &out, sizeof(out));
}

static void
open_disk(const struct disk *d, const struct request *r)
{
	struct fuse_open_out out = {
		.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES,
	};

	reply(d, r, &out, sizeof(out));
}

static void
read_disk(const struct disk *d, const struct request *r)
{
	sleep_until(r->due);
	reply(d, r, d->bytes + r->off, r->error ? 0 : r->len);
}

static void
write_disk(const struct disk *d, const struct request *r)
{
	const struct fuse_write_in *in = r->arg;
	struct fuse_write_out out = { .size = r->len };

	if (!r->error) {
		memcpy(d->bytes + r->off, in + 1, r->len);
		spoil(d, r);
	}
	sleep_until(r->due);
	reply(d, r, &out, r->error ? 0 : sizeof(out));
}

static void
flush_disk(const struct disk *d, const struct request *r)
{
	sleep_until(r->due);
	reply(d, r, NULL, 0);
}

static void
answer(const struct disk *d, struct request *r)
{
	switch (r->in->opcode) {
	case FUSE_INIT:
		greet(d, r);
		break;
	case FUSE_LOOKUP:
		look_up(d, r);
		break;
	case FUSE_GETATTR:
		tell_attributes(d, r);
		break;
	case FUSE_STATFS:
		tell_room(d, r);
		break;
	case FUSE_OPEN:
		open_disk(d, r);
		break;
	case FUSE_READ:
		read_disk(d, r);
		break;
	case FUSE_WRITE:
		write_disk(d, r);
		break;
	case FUSE_FSYNC:
		flush_disk(d, r);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;			/* these expect no answer */
	default:
		refuse(d, r, ENOSYS);
	}
}

static void *
serve(void *arg)
{
	struct disk *d = arg;
	struct request r = { 0 };

	/* Touched beforehand: the first use of a page would be charged to the
	 * copier that happens to cause it. */
	r.in = aligned_alloc(4096, ROOM);
	if (!r.in)
		return NULL;
	memset(r.in, 0, ROOM);
	while (take(d, &r))
		answer(d, &r);
	free(r.in);
	return NULL;
}

static void
map_backing(struct disk *d, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	d->size = (uint64_t)lseek(fd, 0, SEEK_END);
	d->bytes = mmap(NULL, d->size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	if (d->bytes == MAP_FAILED)
		err(1, "%s", path);
}

static void
mount_disk(struct disk *d, const char *dir)
{
	char options[80];

	d->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (d->fuse < 0)
		err(1, "/dev/fuse");
	snprintf(options, sizeof(options),
	    "fd=%d,rootmode=40000,user_id=0,group_id=0", d->fuse);
	if (mount("simdisk", dir, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		err(1, "%s", dir);
}

/* Serve until the file system is unmounted. */
static void
run(struct disk *d)
{
	pthread_t threads[THREADS];
	int n = 0;

	/* The default slack of 50 us would slow every single request. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	while (n < THREADS && !pthread_create(&threads[n], NULL, serve, d))
		n++;
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

static double
number(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= 0 && v <= 1e12))
		errx(2, "not a number that fits: %s", text);
	return v;
}

static int64_t
micros(const char *text)
{
	return (int64_t)(number(text) * NS_PER_US);
}

static void
ranges(struct range *r, size_t *n, const char *text)
{
	char *end;

	for (; *text != '\0'; text = *end == ',' ? end + 1 : end) {
		if (*n == RANGES)
			errx(2, "too many ranges");
		r[*n].off = strtoull(text, &end, 0);
		if (end == text || *end != '+')
			errx(2, "not OFF+LEN: %s", text);
		r[(*n)++].len = strtoull(end + 1, &end, 0);
		if (*end != ',' && *end != '\0')
			errx(2, "not OFF+LEN: %s", text);
	}
}

static void
usage(void)
{
	errx(2, "usage: simdisk [-r READ] [-w WRITE] [-o OVERHEAD] "
	    "[-l LATENCY] [-j JUMP] [-b RANGES] [-e TIME] [-f RANGES] [-2] "
	    "BACKING DIR");
}

static void
parse(struct disk *d, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "r:w:o:l:j:b:e:f:2")) != -1)
		switch (c) {
		case 'r':
			d->read_rate = number(optarg);
			break;
		case 'w':
			d->write_rate = number(optarg);
			break;
		case 'o':
			d->overhead = micros(optarg);
			break;
		case 'l':
			d->latency = micros(optarg);
			break;
		case 'j':
			d->jump = micros(optarg);
			break;
		case 'b':
			ranges(d->bad, &d->nbad, optarg);
			break;
		case 'f':
			ranges(d->spoilt, &d->nspoilt, optarg);
			break;
		case '2':
			d->both = true;
			break;
		case 'e':
			d->trying = micros(optarg);
			break;
		default:
			usage();
		}
	if (argc - optind != 2)
		usage();
}

int
main(int argc, char **argv)
{
	static struct disk d = { .intake = PTHREAD_MUTEX_INITIALIZER };

	parse(&d, argc, argv);
	map_backing(&d, argv[optind]);
	mount_disk(&d, argv[optind + 1]);
	if (daemon(0, 0) < 0)
		err(1, "daemon");
	run(&d);
	return 0;
}
