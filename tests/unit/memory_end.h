/*
 * Ends in memory, parts of which cannot be read or written; included once, by a
 * test.
 */
#ifndef PARDD_TEST_MEMORY_END_H
#define PARDD_TEST_MEMORY_END_H

#include <pthread.h>
#include <sys/eventfd.h>

#include "end/backend.h"
#include "copy/job.h"

enum { MEMORY_MOST = 64 << 10, MEMORY_ROOM = 16 << 10 };

struct memory_end {
	struct endpoint	 ep;
	unsigned char	 data[MEMORY_MOST];
	uint64_t	 size;
	uint64_t	 bad, bad_end;	/* bytes that fail, */
	int		 err, status;	/* with this, */
	unsigned	 times;		/* so often */
	unsigned	 reads, writes;	/* how many were tried */
	void		(*before)(struct io *);	/* each, or NULL */
};

static void
memory_transfer(struct lane *lane, struct io *io)
{
	struct memory_end *m = lane->ep->priv;
	uint64_t n = io->off < m->size ? m->size - io->off : 0;

	(*(io->op == OP_READ ? &m->reads : &m->writes))++;
	if (m->before != NULL)
		m->before(io);
	if (n > io->len)
		n = io->len;
	if (m->times > 0 && io->off < m->bad_end && io->off + n > m->bad) {
		m->times--;
		n = m->bad > io->off ? m->bad - io->off : 0;
		io->err = m->err;
		io->status = m->status;
	}
	if (io->op == OP_READ)
		memcpy(io->buf, m->data + io->off, n);
	else if (io->op == OP_WRITE)
		memcpy(m->data + io->off, io->buf, n);
	io->done = n;
}

static const struct backend memory_backend = { .transfer = memory_transfer };

/* An end of so many bytes, each other than its neighbours. */
static void
memory_make(struct memory_end *m, const char *name, uint64_t size)
{
	size_t i;

	*m = (struct memory_end){ .size = size, .ep = { .name = name,
		.be = &memory_backend, .priv = m, .kind = END_BLOCK, .dir = -1,
		.lim.end = UINT64_MAX,
		.geo = { .size = (int64_t)size, .io_align = 1 } } };
	for (i = 0; i < size; i++)
		m->data[i] = (unsigned char)(i + i / 251);
}

/* From here to there it fails, for ever. */
static void
memory_fails(struct memory_end *m, uint64_t bad, uint64_t bad_end, int err)
{
	m->bad = bad;
	m->bad_end = bad_end;
	m->err = err;
	m->times = UINT_MAX;
}

/* A job of one worker, by this plan. */
static void
memory_job(struct job *job, const struct plan *p)
{
	static unsigned char buf[2][MEMORY_ROOM]
	    __attribute__((aligned(4096)));

	memset(job, 0, sizeof(*job));
	job->p = p;
	job->workers = 1;
	job->worker[0].job = job;
	job->worker[0].buf = buf[0];
	job->worker[0].other = buf[1];
	job->halt = eventfd(0, EFD_NONBLOCK);
	assert_true(job->halt >= 0);
	pthread_mutex_init(&job->first, NULL);
	pthread_mutex_init(&job->order, NULL);
	assert_int_equal(map_init(&job->map, p->length, p->claim, 0), 0);
}

static void
memory_job_end(struct job *job)
{
	map_free(&job->map);
	pthread_mutex_destroy(&job->first);
	pthread_mutex_destroy(&job->order);
	close(job->halt);
}

#endif
