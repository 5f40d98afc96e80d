/*
 * Sharing instead of copying.  If the file system supports it (btrfs, XFS,
 * bcachefs), the target gets the blocks of the source until one of the two is
 * written to.  What cannot be shared stays in the map for the workers to copy;
 * if sharing fails, that is everything.
 */
#include "copy/reflink.h"

#include <errno.h>

enum { STEP = 1 << 30 };	/* bytes; a signal waits for one step */

static int
reflink_range(struct job *job)
{
	const struct plan *p = job->p;
	uint64_t off, n;
	int err = 0;

	for (off = p->share_off; off < p->share_end && !job->stop; off += n) {
		n = p->share_end - off < STEP ? p->share_end - off : STEP;
		err = endpoint_share(p->dst, p->dst_off + off, p->src,
		    p->src_off + off, n);
		if (err == 0)
			err = map_set(&job->map, off, n, FINISHED);
		if (err != 0)
			return err;
		job->shared += n;
		job->read += n;
		job->written += n;
	}
	return err;
}

/* The reason in plain words, or NULL. */
static const char *
reflink_refusal(int err)
{
	switch (err) {
	case EXDEV:
		return "the files are in two file systems";
	case EOPNOTSUPP:
	case ENOTTY:
		return "this file system cannot share blocks";
	case EINVAL:
		return "the file system does not let these two files share "
		    "blocks";
	default:
		return NULL;
	}
}

void
reflink_run(struct job *job)
{
	const struct plan *p = job->p;
	struct fault f;
	int err = reflink_range(job);

	if (err == 0 || (p->opts->reflink & REFLINK_ALWAYS) == 0)
		return;
	fault_errno(&f, err, "reflink=always: %s", p->dst->name);
	if (reflink_refusal(err) != NULL)
		fault_set(&f, f.status, "reflink=always: %s: %s", p->dst->name,
		    reflink_refusal(err));
	job_fail(job, &f);
}
