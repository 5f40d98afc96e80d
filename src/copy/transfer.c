/*
 * One request of a piece: carried out, counted, and reported when it fails.
 */
#include "copy/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/status.h"

void
transfer_fail_read(struct worker *w, const struct io *io)
{
	struct job *job = w->job;
	size_t len = io->len - io->done;
	uint64_t block = lane_place(&w->src, io->off + io->done) / job->p->bs;
	struct fault f;
	char what[80];

	if (io->err == ECANCELED && job->stop)
		return;
	snprintf(what, sizeof(what), "block %" PRIu64 ": reading %zu bytes",
	    block, len);
	lane_describe(&f, &w->src, io, what);
	if (io->err == ESPIPE)
		fault_set(&f, STATUS_SHORT, "%s ends before skip=",
		    job->p->src->name);
	else if (io->status == 0 && errno_is_medium(io->err))
		f.status = STATUS_MEDIUM;
	if (errno_is_gone(io->err) && !atomic_exchange(&job->gone, true))
		job->gone_at = io->off + io->done;
	job_fail_at(job, &f, io->off + io->done);
}

/* The same for a write that failed. */
static void
transfer_fail_write(struct worker *w, const struct io *io)
{
	struct job *job = w->job;
	struct fault f;
	char what[40];

	snprintf(what, sizeof(what), "writing %zu bytes", io->len - io->done);
	lane_describe(&f, &w->dst, io, what);
	if (io->spent || !errno_is_full(io->err))
		job->doubt = true;
	job_fail(job, &f);
}

void
transfer_fail_short(struct worker *w, uint64_t end)
{
	struct fault f;

	fault_set(&f, STATUS_SHORT, "%s ends at byte %" PRIu64 ", before the "
	    "end of what was to be copied", w->job->p->src->name,
	    lane_place(&w->src, end));
	job_fail(w->job, &f);
}

void
transfer_fail_map(struct job *job)
{
	struct fault f;

	fault_errno(&f, ENOMEM, "the map of the copy");
	job_fail(job, &f);
}

bool
transfer_settle(struct worker *w, uint64_t off, uint64_t len,
    enum seg_status to)
{
	if (map_settle(&w->job->map, off, len, to) == 0)
		return true;
	transfer_fail_map(w->job);
	return false;
}

/* Do a request, and note if it has kept its buffer. */
static void
transfer_once(struct lane *lane, struct worker *w, struct io *io)
{
	lane_transfer(lane, io);
	if (!io->buf_in_use)
		return;
	w->buf_in_use = true;
	w->job->bufs_in_use = true;
}

struct io
transfer_read(struct worker *w, uint64_t off, size_t at, size_t len,
    enum care care)
{
	struct io io = { .op = OP_READ, .buf = w->buf + at,
		.off = off + at, .len = len, .careful = care == CAREFULLY,
		.lasting = true };

	transfer_once(&w->src, w, &io);
	return io;
}

void
transfer_await(struct job *job)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	unsigned i, begun;

	for (i = 0; i < job->workers; i++) {
		begun = job->worker[i].writes;
		while (begun % 2 != 0 && job->worker[i].writes == begun)
			nanosleep(&tick, NULL);
	}
}

bool
transfer_wrote(struct worker *w, struct io *io)
{
	struct job *job = w->job;

	job->written += io->done;
	while (lane_again(&w->dst, io) && !job->stop) {
		transfer_once(&w->dst, w, io);
		job->written += io->done;
	}
	if (io->err != 0)
		transfer_fail_write(w, io);
	return io->err == 0;
}

/*
 * Bytes past the end of the copy that some targets need as padding; what
 * conv=sync pads is for all of them.
 */
static size_t
transfer_padding(const struct worker *w, uint64_t end)
{
	const struct plan *p = w->job->p;
	uint64_t data;

	if (p->targets == 1 || p->pad == 1)
		return 0;
	data = map_totals(&w->job->map).end;
	if ((p->opts->conv & CONV_PAD) != 0)
		data = round_up(data, p->bs);
	return end > data ? (size_t)(end - data) : 0;
}

bool
transfer_rewrite(struct worker *w, uint64_t off, size_t at, size_t len,
    unsigned but)
{
	struct io io = { .op = OP_WRITE, .buf = w->buf + at,
		.off = off + at, .len = len, .lasting = true, .but = but,
		.padding = transfer_padding(w, off + at + len) };
	bool wrote;

	transfer_begin(w);
	transfer_once(&w->dst, w, &io);
	wrote = transfer_wrote(w, &io);
	transfer_end(w);
	return wrote;
}

int
transfer_zero(struct worker *w, uint64_t off, uint64_t len)
{
	struct io io = { .op = OP_ZERO, .off = off, .len = (size_t)len,
		.padding = transfer_padding(w, off + len) };

	transfer_begin(w);
	transfer_once(&w->dst, w, &io);
	if (io.err != 0 && io.err != EOPNOTSUPP)
		transfer_fail_write(w, &io);
	transfer_end(w);
	return io.err;
}

size_t
transfer_pad(struct worker *w, uint64_t off, size_t len)
{
	uint64_t end = off + len;
	size_t more = (size_t)(round_up(end, w->job->p->pad) - end);

	memset(w->buf + len, 0, more);
	w->job->padded += more;
	return len + more;
}

bool
transfer_write_end(struct worker *w, uint64_t off, size_t len)
{
	if (off + len == w->job->p->length)
		len = transfer_pad(w, off, len);
	return transfer_write(w, off, 0, len);
}
