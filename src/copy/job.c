/*
 * What the workers of a copy share: their buffers, the stop flag, and the first
 * fault.
 */
#include "copy/job.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "open/tee.h"

enum { HUGE_PAGE = 2 << 20 };

void
job_stop(struct job *job)
{
	job->stop = true;
	eventfd_write(job->halt, 1);	/* which never blocks */
}

/* Keep the first fault; later ones mostly follow from it. */
void
job_fail_at(struct job *job, const struct fault *f, uint64_t off)
{
	pthread_mutex_lock(&job->first);
	if (job->fault.status == 0 || (f->status == STATUS_MEDIUM &&
	    job->fault.status == STATUS_MEDIUM && off < job->unread)) {
		job->fault = *f;
		job->unread = off;
	}
	pthread_mutex_unlock(&job->first);
	job_stop(job);
}

int
job_flush(struct job *job, struct fault *f)
{
	int failed;

	job->flushes.begun++;
	failed = endpoint_flush(job->p->dst, f);
	job->flushes.ended++;
	return failed;
}

uint64_t
job_next_turn(struct job *job, uint64_t off)
{
	struct seg out;

	return job->p->used != NULL && map_next(&job->map, off, OUTSIDE,
	    &out) && out.off == off ? off + out.len : off;
}

int
job_source_kept(struct job *job, struct fault *f)
{
	const struct endpoint *src = job->p->src;
	uint64_t end = job->p->src_off + map_totals(&job->map).end;

	if (!src->is.device && src->carrier == NULL)
		return 0;
	if (endpoint_check_kept(src, job->p->src_off, end, 0, f) == 0)
		return 0;
	f->by = TOLD_OF_SOURCE;
	if (f->status == status_errno(ENODEV))
		job->gone = true;
	return -1;
}

uint64_t
job_holes(const struct job *job, uint64_t length, uint64_t finished)
{
	const struct tally *before = &job->before;
	uint64_t kept = before->had + before->spared + job->spared;

	return job->zeroed + job->shared + before->zeroed + before->shared +
	    MIN(job->hole_bytes, kept) + length - finished;
}

size_t
job_stride(const struct plan *p)
{
	return (size_t)round_up(p->room, 4096);
}

/*
 * Bytes of all pieces.  Second buffers, one for each worker, come after them.
 */
static size_t
pieces_size(const struct plan *p)
{
	size_t queued = (size_t)p->queues * p->slots;

	return job_stride(p) * (queued > p->workers ? queued : p->workers);
}

/* May exceed the address space of a 32-bit machine. */
static uint64_t
buffers_size(const struct plan *p)
{
	uint64_t queued = (uint64_t)p->queues * p->slots;

	return job_stride(p) * (queued > p->workers ? queued : p->workers) +
	    (uint64_t)p->other * p->workers;
}

/*
 * Use one mapping, which core files leave out.  With much to copy, ask for huge
 * pages: looking up 256 small pages for each direct transfer costs more than
 * the rest of it (0.15 s instead of 0.05 s of CPU time per GiB, by
 * tests/bench/run -t C).  Registered io_uring buffers would help as well, but
 * must be locked and touched in advance.
 */
static void
map_buffers(struct job *job, size_t bytes)
{
	bool huge = bytes >= HUGE_PAGE;
	size_t more = huge ? HUGE_PAGE : 0;
	unsigned char *p = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	job->mapping = p;
	job->mapped = bytes + more;
	if (huge)
		p += -(uintptr_t)p % HUGE_PAGE;
	job->bufs = p;
	madvise(job->mapping, job->mapped, MADV_DONTDUMP);
	if (huge)
		madvise(p, bytes, MADV_HUGEPAGE);
}

int
job_buffers(struct job *job, struct fault *f)
{
	uint64_t bytes = buffers_size(job->p);

	if (bytes <= SIZE_MAX - HUGE_PAGE)
		map_buffers(job, (size_t)bytes);
	if (job->bufs != NULL)
		return 0;
	return fault_errno(f, ENOMEM, "%" PRIu64 " bytes of buffers", bytes);
}

void
job_unbuffer(struct job *job)
{
	if (job->mapping != NULL && !job->bufs_in_use &&
	    !tee_stuck(job->p->dst))
		munmap(job->mapping, job->mapped);
}

void
job_threads(struct job *job)
{
	const struct plan *p = job->p;
	unsigned i;

	if (p->queues > 0)		/* mem= is shared by both */
		madvise(job->bufs, pieces_size(p), MADV_DONTNEED);
	job->workers = p->workers;
	for (i = 0; i < p->workers; i++) {
		job->worker[i].job = job;
		if (!job->bufs_in_use || job->worker[i].buf == NULL)
			job->worker[i].buf = job->bufs + i * job_stride(p);
		job->worker[i].other = job->bufs + pieces_size(p) +
		    i * p->other;
	}
}
