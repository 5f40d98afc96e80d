/*
 * Reading the contents of the source, or from the target what that has already.
 *
 * Reads bypass the page cache, which does not see the writes of a mounted file
 * system.
 */
#include "used_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"

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

	if (dst->is.absent || !endpoint_readable_back(dst) ||
	    endpoint_readback(&l->reader, dst, READ_BACK_MOST, &f) != 0)
		return false;
	if (lane_attach(&l->there, &l->reader, l->p->dst_off, -1) == 0)
		return true;
	endpoint_close(&l->reader);
	return false;
}

int
look_open(struct look *l, const struct plan *p, unsigned how,
    struct map *known)
{
	int err;

	*l = (struct look){ .p = p, .how = how, .known = known,
		.buf = page_alloc(ROOM) };
	err = l->buf == NULL ? ENOMEM :
	    lane_attach(&l->lane, p->src, p->src_off, -1);
	if (err != 0)
		free(l->buf);
	else if (known != NULL)
		l->target = look_open_target(l);
	return err;
}

void
look_close(struct look *l)
{
	lane_detach(&l->lane);
	if (l->target) {
		lane_detach(&l->there);
		endpoint_close(&l->reader);
	}
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

bool
look_lost(const struct look *l, uint64_t off, uint64_t len)
{
	uint64_t end = off + len, n;

	for (; off < end; off += n) {
		n = end - off;
		if (loss_is(look_alike(l, off, &n)))
			return true;
	}
	return false;
}

/* Choose the end to read a range from, and its unit. */
static struct lane *
lane_for(struct look *l, bool there, uint64_t *unit)
{
	*unit = there ? l->reader.geo.io_align : MAX(l->p->src->geo.block,
	    (uint32_t)SECTOR);
	return there ? &l->there : &l->lane;
}

int
look_read(void *arg, uint64_t off, void *buf, size_t len)
{
	struct look *l = arg;
	unsigned char *to = buf;
	enum seg_status status;
	struct lane *lane;
	uint64_t unit, at, place, part;
	size_t before, n;

	for (; len > 0; len -= n, off += n, to += n) {
		struct io io = { .op = OP_READ, .buf = l->buf,
			.careful = true };

		at = l->base + off - l->p->src_off;
		part = len;
		status = look_alike(l, at, &part);
		if (loss_is(status))
			return EIO;
		lane = lane_for(l, l->target && status == FINISHED, &unit);
		place = lane_place(lane, at);
		before = (size_t)(place % unit);
		io.off = at - before;
		io.len = (size_t)MIN(round_up(before + part, unit), ROOM);
		lane_transfer(lane, &io);
		if (io.err != 0)
			return io.err;
		if (io.done <= before)
			return EIO;
		n = (size_t)MIN(io.done - before, part);
		memcpy(to, l->buf + before, n);
	}
	return 0;
}
