/*
 * The pulse.  A device that was taken away often says so (ENODEV), but behind
 * an adapter, a loop device or a network each read may just fail, and so would
 * the rest of the disk, as bad as that.  So no error counts for good until a
 * read that succeeds after it has proved that the disk is there.
 *
 * With MANY errors in a row the last good blocks are read again, and who else
 * meets an error waits for the answer.  Only those of this run: a disk on which
 * all is bad that once was good can be gone on with by another run.
 *
 *	look	over those reads, by a worker that holds no other: lost
 *	lock	a few instructions, a leaf: what is noted
 */
#include "pulse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"
#include "rescue.h"
#include "status.h"

enum { MANY = 16 };

void
pulse_begin(struct pulse *p)
{
	p->bads = p->proved = p->goods = 0;
	p->lost = false;
	pthread_mutex_init(&p->look, NULL);
	pthread_mutex_init(&p->lock, NULL);
}

void
pulse_end(struct pulse *p)
{
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->look);
}

size_t
pulse_mark(struct worker *w)
{
	struct pulse *p = &w->job->rescue->pulse;
	size_t mark;

	pthread_mutex_lock(&p->lock);
	mark = p->bads;
	pthread_mutex_unlock(&p->lock);
	return mark;
}

/* The errors before the mark were met before this read began. */
static void
note_good(struct pulse *p, uint64_t off, size_t mark)
{
	pthread_mutex_lock(&p->lock);
	if (mark > p->proved)
		p->proved = mark;
	p->good[p->goods++ % PULSE_GOOD] = off;
	pthread_mutex_unlock(&p->lock);
}

static void
note_bad(struct pulse *p, uint64_t off, size_t len, enum seg_status was)
{
	pthread_mutex_lock(&p->lock);
	p->bad[p->bads++ % PULSE_BAD] = (struct seg){ off, len, was };
	pthread_mutex_unlock(&p->lock);
}

/* Whether it is time to look. */
static bool
in_doubt(struct pulse *p)
{
	bool many;

	pthread_mutex_lock(&p->lock);
	many = p->bads >= p->proved + MANY && p->goods > 0;
	pthread_mutex_unlock(&p->lock);
	return many;
}

/* Read the good block at "off" again, past the page cache; its errno. */
static int
read_again(struct worker *w, struct io *io, uint64_t off)
{
	io->off = off - off % io->len;
	lane_transfer(&w->src, io);
	return io->err;
}

static bool
is_there(struct worker *w)
{
	struct pulse *p = &w->job->rescue->pulse;
	struct io io = { .op = OP_READ, .len = w->job->p->block,
		.careful = true };
	uint64_t good[PULSE_GOOD];
	size_t n, i, mark = pulse_mark(w);

	io.buf = aligned_alloc(4096, (io.len + 4095) / 4096 * 4096);
	if (io.buf == NULL)
		return true;
	pthread_mutex_lock(&p->lock);
	n = p->goods < PULSE_GOOD ? p->goods : PULSE_GOOD;
	for (i = 0; i < n; i++)
		good[i] = p->good[i];
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < n && read_again(w, &io, good[i]) != 0; i++)
		continue;
	free(io.buf);
	if (i == n)
		return false;
	note_good(p, good[i], mark);
	return true;
}

static bool
lost(struct worker *w)
{
	struct pulse *p = &w->job->rescue->pulse;
	bool is;

	if (!in_doubt(p))
		return false;
	pthread_mutex_lock(&p->look);
	if (!p->lost && in_doubt(p))
		p->lost = !is_there(w);
	is = p->lost;
	pthread_mutex_unlock(&p->look);
	return is;
}

void
pulse_feel(struct worker *w, struct io *io, uint64_t off, enum seg_status was,
    size_t mark)
{
	struct pulse *p = &w->job->rescue->pulse;

	if (io->status == STATUS_TIMEOUT || io->err == ETIMEDOUT ||
	    io->err == ETIME) {
		io->err = EIO;
		io->status = 0;
	}
	if (io->done > 0)
		note_good(p, io->off, mark);
	if (!errno_is_medium(io->err))
		return;
	note_bad(p, off + io->done, io->len - io->done, was);
	if (!lost(w))
		return;
	io->err = ENODEV;
	io->status = 0;
	snprintf(io->why, sizeof(io->why), "no answer any more, not even for "
	    "what could be read before");
}

/* Without memory it stays as it is: no worse than bad. */
static void
forgive(struct map *map, const struct seg *s)
{
	static const enum seg_status all[] = { BAD, UNTRIMMED, UNSCRAPED };
	uint64_t end = s->off + s->len;
	struct seg part;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		part = (struct seg){ s->off, 0, all[i] };
		while (all[i] != s->status && map_next(map, part.off +
		    part.len, all[i], &part) && part.off < end)
			(void)map_set(map, part.off, part.off + part.len <
			    end ? part.len : end - part.off, s->status);
	}
}

void
pulse_forgive(struct job *job)
{
	const struct pulse *p = &job->rescue->pulse;
	size_t i = p->bads > p->proved + PULSE_BAD ? p->bads - PULSE_BAD :
	    p->proved;

	for (; job->gone && i < p->bads; i++)
		forgive(&job->map, &p->bad[i % PULSE_BAD]);
}
