/*
 * Copying by sharing.  Where the file system can (btrfs, XFS, bcachefs), the
 * target gets the blocks of the source, until one of the two is written to.
 * Only whole blocks can be shared, and a partial one at the end of both files;
 * what lies beside them is left in the map, and copied by the workers, as is
 * everything when this fails.
 */
#include "share.h"

#include <errno.h>

#include "number.h"
#include "piece.h"

enum { STEP = 1 << 30 };	/* bytes; a signal waits for one of them */

struct range {			/* bytes of the map */
	uint64_t	off, end;
};

/* What is in whole blocks; an errno where that is nothing. */
static int
whole_blocks(const struct plan *p, struct range *r)
{
	uint64_t unit = p->src->unit, from = p->src_off, to = p->dst_off;
	uint64_t size = (uint64_t)p->src->size, old = 0;

	if (p->dst->size > 0 && p->truncate < 0)
		old = (uint64_t)p->dst->size;
	r->off = round_up(from, unit) - from;
	r->end = p->length;
	if (from + r->end != size || to + r->end < old)
		r->end -= (from + r->end) % unit < r->end ?
		    (from + r->end) % unit : r->end;
	return r->off < r->end ? 0 : EINVAL;
}

bool
share_possible(const struct plan *p)
{
	struct range r;

	return p->length == 0 || whole_blocks(p, &r) == 0;
}

static int
share(struct job *job, const struct range *r)
{
	const struct plan *p = job->p;
	uint64_t off, n;
	int err = 0;

	for (off = r->off; off < r->end && !job->stop; off += n) {
		n = r->end - off < STEP ? r->end - off : STEP;
		err = p->dst->be->share(p->dst, p->dst_off + off, p->src,
		    p->src_off + off, n);
		if (err == 0)
			err = map_set(&job->map, off, n, FINISHED);
		if (err != 0)
			return err;
		job->shared += n;
		job->read += n;
		job->written += n;
	}
	return 0;
}

/* In the words of the case, or NULL. */
static const char *
reason(int err)
{
	switch (err) {
	case EXDEV:
		return "the files are in two file systems";
	case EOPNOTSUPP:
	case ENOTTY:
		return "this file system cannot share blocks";
	case EINVAL:
		return "what is to be copied has no whole blocks";
	default:
		return NULL;
	}
}

void
share_run(struct job *job)
{
	const struct plan *p = job->p;
	struct range r;
	struct fault f;
	int err = p->length == 0 ? 0 : whole_blocks(p, &r);

	if (err == 0 && p->length > 0)
		err = share(job, &r);
	if (err == 0 || (p->opts->reflink & REFLINK_ALWAYS) == 0)
		return;
	fault_errno(&f, err, "reflink=always: %s", p->dst->name);
	if (reason(err) != NULL)
		fault_set(&f, f.status, "reflink=always: %s: %s", p->dst->name,
		    reason(err));
	job_fail(job, &f);
}
