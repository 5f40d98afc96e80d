/*
 * The disks, and the backend that copies reach them by.  It takes the place of
 * the Ceph images: rbd:0 is the source, rbd:1 and so on are the targets.
 *
 * A write is seen at once and kept when it is flushed; what a disk loses before
 * that is told once, to whoever asks next.  Requests take their time, and are
 * done in two halves: anything may happen in between.
 */
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "end/backend.h"
#include "../sched/sched.h"
#include "base/status.h"

enum { DEPTH = 16 };		/* requests of a lane in flight */

struct machine machine;

void
map_read(char *text, size_t room)
{
	int fd = open("map", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

bool
machine_begin(void)
{
	unsigned char *now = machine.target[0].now;
	void *mapped = MAP_FAILED;

	machine.shown = memfd_create("target", MFD_CLOEXEC);
	if (machine.shown >= 0 && ftruncate(machine.shown, ROOM) == 0)
		mapped = mmap(now, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED |
		    MAP_FIXED, machine.shown, 0);
	return mapped == now;
}

void
machine_cut(void)
{
	struct disk *d;
	size_t i;

	machine.dark = true;
	machine.source.accused |= machine.source.lies &&
	    machine.source.requests > machine.source.mute_at;
	for (d = machine.target; d < machine.target + machine.targets; d++)
		for (i = 0; i < d->sectors; i++)
			if (d->dirty[i] && sched_roll(2) == 0)
				memcpy(d->kept + i * SECTOR,
				    d->now + i * SECTOR, SECTOR);
	map_read(machine.map, sizeof(machine.map));
}

void
machine_on(void)
{
	struct disk *d;

	machine.dark = false;
	for (d = machine.target; d < machine.target + machine.targets; d++) {
		memcpy(d->now, d->kept, d->sectors * SECTOR);
		memset(d->dirty, 0, sizeof(d->dirty));
		d->lost = false;
	}
}

static void
forget_errors(struct disk *d)
{
	memset(d->met, 0, sizeof(d->met));
	memset(d->alone, 0, sizeof(d->alone));
}

void
machine_again(void)
{
	struct disk *d = &machine.source;

	if (d->vanished && d->returns > 0)
		d->gone_at = NEVER;
	if (d->lies)
		d->lie_at = NEVER;
	d->lies = d->vanished = false;
	d->known = 0;
	forget_errors(d);
}

/* A sector that was not flushed yet is what it was before. */
static void
lose(struct disk *d)
{
	size_t i, n = 0, one = 0;

	for (i = 0; i < d->sectors; i++)
		if (d->dirty[i] && sched_roll(++n) == 0)
			one = i;
	if (n == 0)
		return;
	memcpy(d->now + one * SECTOR, d->kept + one * SECTOR, SECTOR);
	d->dirty[one] = false;
	d->lost = d->failed = d->loses = true;
	d->lose_at = NEVER;
}

/* A request comes: what happens to it before it does anything, as an errno. */
static int
come(struct disk *d)
{
	const struct timespec hang = { .tv_sec = 2 };

	if (d->slow > 0)
		usleep(1 + (useconds_t)sched_roll(d->slow));
	if (machine.requests++ == machine.signal_at)
		kill(getpid(), SIGINT);
	if (machine.requests == machine.cut_at)
		machine_cut();
	if (machine.dark)
		return EIO;
	if (d->requests == d->hang_at)
		nanosleep(&hang, NULL);
	if (d->requests++ >= d->lose_at)
		lose(d);
	if (d->requests > d->gone_at) {
		d->failed = d->vanished = true;
		return ENODEV;
	}
	return 0;
}

static int
read_sector(struct disk *d, size_t i, unsigned char *to, bool alone)
{
	if (d->bad[i] > 0) {
		if (d->bad[i] != BAD)
			d->bad[i]--;
		d->met[i]++;
		d->alone[i] += alone;
		d->failed = true;
		if (d->known > d->again && d->requests >= d->lie_at && !d->lies) {
			d->lies = d->lied = d->vanished = true;
			d->mute_at = d->answers == 0 ? NEVER : d->requests +
			    d->answers;
		}
		return EIO;
	}
	memcpy(to, d->now + i * SECTOR, SECTOR);
	return 0;
}

static int
write_sector(struct disk *d, size_t i, const unsigned char *from)
{
	if (d->defect[i]) {
		d->failed = true;
		return EIO;
	}
	if (from != NULL)
		memcpy(d->now + i * SECTOR, from, SECTOR);
	else
		memset(d->now + i * SECTOR, 0, SECTOR);
	d->dirty[i] = true;
	return 0;
}

static int
one_sector(struct disk *d, const struct io *io, bool lies)
{
	size_t i = (io->off + io->done) / SECTOR, unit = d->block / SECTOR;

	if (i >= d->sectors)
		return io->op == OP_READ ? -1 : ENOSPC;
	if (lies && io->op == OP_READ) {
		if (d->requests > d->mute_at) {
			memset(d->denied + i - i % unit, true, unit);
			return EIO;
		}
		d->junked[i] = true;
		memcpy(io->buf + io->done, d->junk +
		    i * SECTOR % d->block, SECTOR);
		return 0;
	}
	return io->op == OP_READ ? read_sector(d, i, io->buf + io->done,
	    io->len == d->block) :
	    write_sector(d, i, io->op == OP_ZERO ? NULL : io->buf + io->done);
}

/* It has read well, from this block to that one. */
static void
see(struct disk *d, const unsigned char *first, const unsigned char *last)
{
	if (first[0] != 0 && (d->known == 0 || memcmp(first, d->seen,
	    SECTOR) != 0)) {
		memcpy(d->seen, first, SECTOR);
		d->known++;
	}
	if (d->again && !d->lies)
		memcpy(d->junk, last, d->block);
}

static void
sim_transfer(struct lane *lane, struct io *io)
{
	struct disk *d = lane->ep->priv;
	size_t half = io->done + (io->len - io->done) / 2;
	bool lies = d->lies;
	int err = come(d);

	if (err == 0 && d->lost && io->op != OP_READ) {
		d->lost = false;
		io->spent = true;	/* it is not this one's */
		err = EIO;
	}
	while (err == 0 && io->done < io->len) {
		err = one_sector(d, io, lies);
		if (err != 0)
			break;
		io->done += SECTOR;
		if (io->done - SECTOR < half && io->done >= half)
			err = come(d);
	}
	if (err > 0 && io->op == OP_READ)	/* it reads whole blocks */
		io->done -= io->done % d->block;
	io->err = err < 0 ? 0 : err;
	if (io->op == OP_READ && err == 0 && !lies && io->len >= d->block)
		see(d, io->buf, io->buf + io->len - d->block);
	if (io->err == EIO && !machine.dark && d->exact)
		io->bad_off = io->off + io->done;
}

/* --- without waiting: they end in any order ------------------------------- */

struct pending {		/* a lane's */
	struct io	*io[DEPTH];
	unsigned	 n;
	int		 fd;	/* readable always */
};

static int
sim_attach(struct lane *lane)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return ENOMEM;
	lane->priv = p;
	p->fd = eventfd(1, EFD_CLOEXEC);
	return p->fd < 0 ? errno : 0;
}

static int
sim_detach(struct lane *lane)
{
	struct pending *p = lane->priv;

	close(p->fd);
	free(p);
	return 0;
}

static bool
sim_start(struct lane *lane, struct io *io, struct io_uring_sqe *unused)
{
	struct pending *p = lane->priv;

	(void)unused;
	if (p->n == DEPTH || sched_roll(8) == 0)
		return false;
	p->io[p->n++] = io;
	return true;
}

static int
sim_pollfd(struct lane *lane, short *events)
{
	const struct pending *p = lane->priv;

	*events = POLLIN;
	return p->n > 0 ? p->fd : -1;
}

static void
sim_service(struct lane *lane)
{
	struct pending *p = lane->priv;
	unsigned i;

	while (p->n > 0 && sched_roll(4) != 0) {
		i = (unsigned)sched_roll(p->n);
		lane_over(lane, p->io[i]);
		p->io[i] = p->io[--p->n];
	}
}

static void
sim_finish(struct lane *lane, struct io *io, int result)
{
	(void)result;
	sim_transfer(lane, io);
}

/* --- when written --------------------------------------------------------- */

/* What comes while it is flushed may be kept or not: it is not. */
static int
sim_flush(struct endpoint *ep, struct fault *f)
{
	struct disk *d = ep->priv;
	int err = come(d);
	size_t i;

	if (err == 0 && d->lost) {
		d->lost = false;
		err = EIO;
	}
	for (i = 0; err == 0 && i < d->sectors; i++)
		if (d->dirty[i]) {
			memcpy(d->kept + i * SECTOR, d->now + i * SECTOR,
			    SECTOR);
			d->dirty[i] = false;
		}
	if (err == 0)
		err = come(d);
	if (err == 0)
		return 0;
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: flushing: %s", ep->name,
	    errno_words(err));
}

/* Zeros are holes, by 4 KiB. */
static int
sim_extent(const struct endpoint *ep, uint64_t off, bool changed,
    struct extent *x)
{
	enum { PAGE = 4096 };
	static const unsigned char zeros[PAGE];
	const struct disk *d = ep->priv;
	size_t size = d->sectors * SECTOR, at = off / PAGE * PAGE, n;
	bool hole = false;

	(void)changed;
	for (; at < size; at += PAGE) {
		n = size - at < PAGE ? size - at : PAGE;
		if (at <= off)
			hole = memcmp(d->now + at, zeros, n) == 0;
		else if ((memcmp(d->now + at, zeros, n) == 0) != hole)
			break;
	}
	*x = (struct extent){ off, (at < size ? at : size) - off, hole };
	return off < size ? 0 : ENXIO;
}

static int
nothing_to_do(struct endpoint *ep)
{
	(void)ep;
	return 0;
}

/* What was written, from the medium. */
static const struct backend sim_readback_backend = {
	.transfer = sim_transfer,
	.close = nothing_to_do,
};

static int
sim_readback(const struct endpoint *target, struct endpoint *r, struct fault *f)
{
	(void)f;
	r->be = &sim_readback_backend;
	r->priv = target->priv;
	r->geo.io_align = (uint32_t)((struct disk *)target->priv)->block;
	r->geo.size = target->geo.size;
	return 0;
}

static int sim_open(struct endpoint *, bool look, struct fault *);
static int sim_view(const struct endpoint *, bool *cached);

#define SIM_BACKEND \
	.open = sim_open, \
	.attach = sim_attach, \
	.detach = sim_detach, \
	.transfer = sim_transfer, \
	.start = sim_start, \
	.pollfd = sim_pollfd, \
	.service = sim_service, \
	.finish = sim_finish, \
	.extent = sim_extent, \
	.flush = sim_flush, \
	.open_readback = sim_readback, \
	.close = nothing_to_do

/* A target that view= shows. */
static const struct backend viewed_backend = {
	SIM_BACKEND,
	.view = sim_view,
};

/* The contents of the first target. */
static int
sim_view(const struct endpoint *ep, bool *cached)
{
	(void)ep;
	*cached = true;
	return fcntl(machine.shown, F_DUPFD_CLOEXEC, 0);
}

static int
sim_open(struct endpoint *ep, bool look, struct fault *f)
{
	unsigned n = (unsigned)(ep->name[strlen("rbd:")] - '0');
	struct disk *d = n == 0 ? &machine.source : &machine.target[n - 1];

	(void)look;
	if (n == 0 && d->vanished) {	/* it was open already */
		if (d->returns == 0 || sched_roll(3) == 0)
			return fault_set(f, STATUS_ERRNO + ENODEV, "not there");
		d->returns--;
		d->gone_at = NEVER;
		d->lies = false;
		d->known = 0;
		forget_errors(d);	/* they were perhaps none */
	}
	if (machine.viewed && n == 1)
		ep->be = &viewed_backend;
	ep->priv = d;
	ep->geo.size = ep->geo.room = (int64_t)(d->sectors * SECTOR);
	ep->geo.block = ep->geo.io_align = (uint32_t)d->block;
	ep->is.seekable = ep->is.past_cache = true;
	ep->is.device = ep->is.remote = true;
	ep->is.durable = n > 0;
	ep->is.zeroes = n > 0 && d->zeroes;
	ep->is.sparse = n == 0 && d->sparse;
	return 0;
}

const struct backend rbd_backend = {
	SIM_BACKEND,
};
