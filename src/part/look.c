/*
 * Reading the contents of the source, or from the target what that has already:
 * after a rescue nothing else, but that what is encrypted is read by its open
 * mapping, as far as what lies below it was read before.
 *
 * Reads bypass the page cache, which does not see the writes of a mounted file
 * system.
 */
#include "used_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/number.h"
#include "disk/disk.h"

enum {
	ROOM = 256 << 10,	/* bytes per read, at most */
	SECTOR = 512,
};

/* What a rescue has written is not read again from a failing disk. */
static bool
look_open_target(struct look *l)
{
	struct endpoint *dst = l->p->dst;
	struct fault f;

	if (!endpoint_readable_back(dst) ||
	    endpoint_readback(&l->reader, dst, READ_BACK_MOST, &f) != 0)
		return false;
	if (lane_attach(&l->there, &l->reader, l->p->dst_off, -1) == 0)
		return true;
	endpoint_close(&l->reader);
	return false;
}

int
look_open(struct look *l, const struct plan *p, unsigned how,
    struct map *known, bool rescued)
{
	int err;

	*l = (struct look){ .p = p, .how = how, .known = known,
		.rescued = rescued, .buf = page_alloc(ROOM) };
	err = l->buf == NULL ? ENOMEM : rescued ? 0 :
	    lane_attach(&l->lane, p->src, p->src_off, -1);
	if (err == 0 && known != NULL)
		l->target = look_open_target(l);
	if (rescued && !l->target)
		err = EIO;
	if (err != 0)
		free(l->buf);
	return err;
}

static void
look_close_plain(struct look *l)
{
	if (l->mapper == 0)
		return;
	lane_detach(&l->decrypted);
	endpoint_close(&l->plain);
	l->mapper = 0;
}

void
look_close(struct look *l)
{
	if (!l->rescued)
		lane_detach(&l->lane);
	if (l->target) {
		lane_detach(&l->there);
		endpoint_close(&l->reader);
	}
	look_close_plain(l);
	free(l->buf);
}

/* How much of a range is known alike, and as what. */
static enum seg_status
look_alike(const struct look *l, uint64_t off, uint64_t *len)
{
	struct seg s;

	if (l->known == NULL || off >= l->p->length ||
	    !map_here(l->known, off, &s))
		return UNTRIED;
	*len = MIN(*len, s.len);
	return s.status;
}

/* Whether what is known so is not read. */
static bool
look_refuses(const struct look *l, enum seg_status status)
{
	return loss_is(status) || (l->rescued && status != FINISHED);
}

bool
look_lost(const struct look *l, uint64_t off, uint64_t len)
{
	uint64_t end = off + len, n;

	for (; off < end; off += n) {
		n = end - off;
		if (look_refuses(l, look_alike(l, off, &n)))
			return true;
	}
	return false;
}

/* Read the first *n of "part" bytes, at a place of a lane. */
static int
look_by(struct look *l, struct lane *lane, uint64_t unit, uint64_t at,
    unsigned char *to, uint64_t part, size_t *n)
{
	struct io io = { .op = OP_READ, .buf = l->buf, .careful = true };
	size_t before = (size_t)(lane_place(lane, at) % unit);

	if (l->until > 0 && clock_seconds() > l->until)
		return ETIMEDOUT;
	io.off = at - before;
	io.len = (size_t)MIN(round_up(before + part, unit), ROOM);
	lane_transfer(lane, &io);
	if (io.err != 0)
		return io.err;
	if (io.done <= before)
		return EIO;
	*n = (size_t)MIN(io.done - before, part);
	memcpy(to, l->buf + before, *n);
	return 0;
}

int
look_read(void *arg, uint64_t off, void *buf, size_t len)
{
	struct look *l = arg;
	unsigned char *to = buf;
	enum seg_status status;
	uint64_t at, part;
	size_t n = 0;
	bool there;
	int err = 0;

	for (; len > 0 && err == 0; len -= n, off += n, to += n) {
		at = l->base + off - l->p->src_off;
		part = len;
		status = look_alike(l, at, &part);
		if (look_refuses(l, status))
			return EIO;
		there = l->target && status == FINISHED;
		err = look_by(l, there ? &l->there : &l->lane, there ?
		    l->reader.geo.io_align : MAX(l->p->src->geo.block,
		    (uint32_t)SECTOR), at, to, part, &n);
	}
	return err;
}

/* Open an open container, by the device that shows what it contains. */
static int
look_open_plain(struct look *l, dev_t mapper)
{
	struct end_spec spec = l->p->src->spec;
	struct fault f;
	struct disk d;

	if (l->mapper == mapper)
		return 0;
	look_close_plain(l);
	spec.flags = 0;
	spec.bitmap = spec.since = NULL;
	if (!disk_place(mapper, &d) ||
	    !disk_path(mapper, d.name, l->shown, sizeof(l->shown)) ||
	    endpoint_open_again(&l->plain, &spec, l->shown, &f) != 0)
		return EIO;
	if (lane_attach(&l->decrypted, &l->plain, 0, -1) != 0) {
		endpoint_close(&l->plain);
		return EIO;
	}
	l->mapper = mapper;
	return 0;
}

int
look_read_plain(struct look *l, dev_t mapper, uint64_t off, uint64_t place,
    void *buf, size_t len)
{
	int err = l->dead ? EIO : look_open_plain(l, mapper);
	uint32_t unit = MAX(l->plain.geo.block, (uint32_t)SECTOR);
	uint64_t before = off % unit;
	unsigned char *to = buf;
	size_t n = 0;

	if (err != 0 || (place != NOWHERE && look_lost(l, place - before -
	    l->p->src_off, round_up(before + len, unit))))
		return EIO;
	for (; len > 0 && err == 0; len -= n, off += n, to += n)
		err = look_by(l, &l->decrypted, unit, off, to, len, &n);
	l->dead = l->rescued && err != 0;
	return err;
}
