/*
 * Reading the source of a rescue, in any pass.  It may be gone, which errors of
 * its medium do not show.
 */
#include "source.h"

#include "base/status.h"
#include "copy/piece.h"
#include "copy/transfer.h"
#include "pass.h"
#include "rescue/liveness.h"
#include "rescue/rescue.h"

struct io
source_read(struct worker *w, uint64_t off, size_t at, size_t len,
    bool careful)
{
	size_t mark = liveness_mark(w);
	struct io io = transfer_read(w, off, at, len, careful);

	liveness_feel(w, &io, off + at, w->job->rescue->pass->from, mark);
	return io;
}

void
source_fail(struct worker *w, const struct io *io)
{
	struct job *job = w->job;
	struct fault f;

	if (io->err != 0) {
		transfer_fail_read(w, io);
		return;
	}
	fault_set(&f, STATUS_SHORT, "%s ends at byte %llu, before the end of "
	    "what was to be copied", job->p->src->name,
	    (unsigned long long)lane_place(&w->src, io->off + io->done));
	job_fail(job, &f);
}

bool
source_keep(struct worker *w, uint64_t off, size_t len)
{
	if (len == 0)
		return true;
	if (!transfer_write_end(w, off, len))
		return false;
	w->job->read += len;
	return transfer_settle(w, off, len, FINISHED);
}
