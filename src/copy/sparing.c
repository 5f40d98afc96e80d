/*
 * Reading the target back.  The reader (endpoint_readback) takes whole units
 * only.  So a worker reads a window of whole units around the bytes it wants,
 * into a buffer large enough for it, and looks at the part in the middle.
 */
#include "copy/sparing.h"

#include <string.h>

#include "base/number.h"
#include "copy/transfer.h"

struct io
sparing_read(struct worker *w, uint64_t off, size_t len, unsigned char **data)
{
	uint64_t at = lane_place(&w->back, off);
	uint64_t unit = w->job->back.geo.io_align;
	size_t before = (size_t)(at % unit);
	struct io io = { .op = OP_READ, .buf = w->other,
		.off = lane_off(&w->back, at - before),
		.len = (size_t)round_up(before + len, unit),
		.stride = w->job->p->other / w->job->p->targets };

	lane_transfer(&w->back, &io);
	*data = w->other + before;
	io.done = io.done > before ? io.done - before : 0;
	if (io.done > len)
		io.done = len;
	return io;
}

void
sparing_fail(struct worker *w, const struct io *io)
{
	struct fault f;

	lane_describe(&f, &w->back, io, "reading back");
	job_fail(w->job, &f);
}

size_t
sparing_run(const unsigned char *a, const unsigned char *b, size_t len,
    uint64_t start, size_t unit, bool *same)
{
	size_t end = 0, n;
	bool alike;

	while (end < len) {
		n = unit - (size_t)((start + end) % unit);
		n = n < len - end ? n : len - end;
		alike = memcmp(a + end, b + end, n) == 0;
		if (end == 0)
			*same = alike;
		else if (alike != *same)
			break;
		end += n;
	}
	return end;
}

/* Write the parts in which the target differs. */
static bool
write_differing(struct worker *w, uint64_t off, const unsigned char *has,
    size_t len)
{
	const struct plan *p = w->job->p;
	size_t unit = (size_t)p->grain, at, n;
	bool same = true, ok = true;

	for (at = 0; at < len && ok; at += n) {
		n = sparing_run(w->buf + at, has + at, len - at,
		    lane_place(&w->dst, off + at), unit, &same);
		if (same)
			w->job->spared += n;
		else
			ok = transfer_write(w, off, at, n);
	}
	return ok;
}

/* Whatever cannot be read is written. */
bool
sparing_spare(struct worker *w, uint64_t off, size_t len)
{
	const struct plan *p = w->job->p;
	unsigned char *has;
	struct io io = sparing_read(w, off, len, &has);
	size_t n = io.done, over;

	if (io.err != 0 && !errno_is_medium(io.err)) {
		sparing_fail(w, &io);
		return false;
	}
	if (io.err == 0 && n == len && memcmp(w->buf, has, len) == 0) {
		w->job->spared += len;
		return true;
	}
	/* Do not split a unit of which only part could be read. */
	over = n < len ? (size_t)(lane_place(&w->dst, off + n) % p->grain) : 0;
	n -= over < n ? over : n;
	if (!write_differing(w, off, has, n))
		return false;
	return n == len || transfer_write(w, off, n, len - n);
}
