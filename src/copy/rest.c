/*
 * Clearing what lies behind the copy, so that no old signature or table is
 * found there.  It is no part of the copy: neither counted nor verified.
 */
#include "copy/rest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "end/lane.h"
#include "open/tee.h"

enum {
	REST_STEP = 64 << 20,	/* bytes zeroed at a time: how long a signal
				 * has to wait */
	REST_WRITE = 1 << 20,	/* bytes written where nothing can be zeroed */
};

uint64_t
rest_length(const struct plan *p)
{
	const struct endpoint *dst = p->dst;
	uint64_t from = p->dst_off + round_up(p->length, p->pad);
	uint64_t size = dst->geo.size > 0 ? (uint64_t)dst->geo.size : 0;

	return p->bounded && dst->is.device && size > from ? size - from : 0;
}

/* Zero some of it, or write zeros from buf.  Returns false with *f. */
static bool
rest_clear_some(struct lane *lane, uint64_t off, uint64_t *len, bool *writes,
    unsigned char *buf, struct fault *f)
{
	struct io io = { .op = *writes ? OP_WRITE : OP_ZERO, .buf = buf,
		.off = off };

	io.len = (size_t)MIN(*len, *writes ? REST_WRITE : REST_STEP);
	lane_transfer(lane, &io);
	if (io.err == EOPNOTSUPP && !*writes) {
		*writes = true;
		io.done = 0;
	} else if (io.err != 0 || io.done == 0) {
		lane_describe(f, lane, &io, "clearing the rest");
		return false;
	}
	*len = io.done;
	return true;
}

/* Clear that of one target.  Returns false with *f. */
static bool
rest_clear_target(struct job *job, const struct plan *p, struct fault *f)
{
	uint64_t end = (uint64_t)p->dst->geo.size, len;
	uint64_t off = end - rest_length(p);
	unsigned char *buf = page_alloc(REST_WRITE);
	bool writes = false, ok = true;
	struct lane lane;
	int err;

	if (buf == NULL) {
		fault_errno(f, ENOMEM, "clearing the rest");
		return false;
	}
	memset(buf, 0, REST_WRITE);
	err = lane_attach(&lane, p->dst, 0, job->halt);
	if (err != 0)
		lane_unattached(f, &lane, err);
	for (; err == 0 && ok && off < end && !job->stop; off += len) {
		len = end - off;
		ok = rest_clear_some(&lane, off, &len, &writes, buf, f);
		job->rest += ok ? len : 0;
	}
	if (err == 0)
		lane_detach(&lane);
	free(buf);
	return err == 0 && ok;
}

void
rest_clear(struct job *job)
{
	const struct plan *p = job->p, *one;
	struct map_totals t = map_totals(&job->map);
	struct fault f;
	unsigned i;

	if (p->opts->rest == 0 || job->stop ||
	    t.untried + t.failed + t.claimed > 0)
		return;
	job->phase = PHASE_CLEARING;
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		job->rest_whole += rest_length(one);
	for (i = 0; (one = plan_each(p, i)) != NULL && !job->stop; i++)
		if (!tee_dropped(p->dst, i) &&
		    !rest_clear_target(job, one, &f))
			job_fail(job, &f);
}
