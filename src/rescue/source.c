/*
 * Reading the source of a rescue, in any pass.  It may have disappeared, which
 * its medium errors do not show.
 */
#include "source.h"

#include "copy/transfer.h"
#include "pass.h"
#include "rescue/liveness.h"
#include "rescue/rescue.h"

struct io
source_read(struct worker *w, uint64_t off, size_t at, size_t len,
    enum care care)
{
	size_t mark = liveness_mark(w);
	struct io io = transfer_read(w, off, at, len, care);

	liveness_feel(w, &io, off + at, w->job->rescue->pass->from, mark);
	return io;
}

void
source_fail(struct worker *w, const struct io *io)
{
	if (io->err != 0)
		transfer_fail_read(w, io);
	else
		transfer_fail_short(w, io->off + io->done);
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
