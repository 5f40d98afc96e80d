/*
 * Measuring requests.
 *
 * With several requests in flight, latencies overlap and say nothing about the
 * rate.  So the requests in flight share the time that passes equally, and each
 * is credited with its shares from begin to end.  The credits add up to the
 * time in which any request was in flight ("busy"), so bytes divided by credits
 * are the rate at a position, whatever the queue depth and the order of
 * completions.  Idle time is credited to the request that ends it ("wall"): it
 * was spent waiting for the other end.
 *
 * When the last bin of positions or slot of time is full, all get twice as
 * wide, so that a stream of unknown length fits too.
 *
 *	meter.lock	few instructions, a leaf: who is in flight
 */
#include "end/gauge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
	TICK = 125000000,	/* ns, initial width of a slot */
	FRACTION = 8,		/* unit of shares: 2^-8 ns */
	UNIT = 8,		/* unit of latencies: 2^8 ns */
	FINE = 4,		/* buckets per doubling */
};

int
gauge_new(struct profile **pr, const struct plan *p, unsigned workers,
    uint64_t width, uint64_t source, uint64_t target)
{
	size_t n = (size_t)workers * SERIES_MOST, i;
	struct profile *new = calloc(1,
	    sizeof(*new) + n * sizeof(new->gauge[0]));

	*pr = new;
	if (new == NULL)
		return ENOMEM;
	new->p = p;
	new->workers = workers;
	new->start = clock_ns();
	clock_gettime(CLOCK_REALTIME, &new->started);
	for (i = 0; i < SERIES_MOST; i++) {
		new->origin[i] = i == SERIES_SOURCE ? source : target;
		pthread_mutex_init(&new->meter[i].lock, NULL);
	}
	for (i = 0; i < n; i++) {
		new->gauge[i].width = width;
		new->gauge[i].tick = TICK;
	}
	return 0;
}

void
gauge_free(struct profile *pr)
{
	enum series s;

	if (pr == NULL)
		return;
	for (s = 0; s < SERIES_MOST; s++)
		pthread_mutex_destroy(&pr->meter[s].lock);
	free(pr);
}

void
gauge_go_on(struct profile *pr)
{
	enum series s;

	for (s = 0; pr != NULL && s < SERIES_MOST; s++)
		pr->meter[s].last = 0;
}

void
gauge_lane(struct profile *pr, unsigned n, struct lane *lane)
{
	if (pr == NULL || !endpoint_holds(lane->ep))
		return;
	lane->profile = pr;
	lane->gauge = pr->gauge + (size_t)n * SERIES_MOST;
}

static enum series
series_of(const struct lane *lane, const struct io *io)
{
	if (lane->ep->spec.role == SOURCE && !lane->ep->is.back)
		return SERIES_SOURCE;
	return io->op == OP_READ ? SERIES_VERIFY : SERIES_TARGET;
}

/* Divide the time until now among the requests in flight. */
static void
meter_advance(struct meter *m, uint64_t now)
{
	if (now <= m->last)	/* threads read the clock before they lock */
		return;
	if (m->flying > 0)
		m->share += ((now - m->last) << FRACTION) / m->flying;
	m->last = now;
}

void
gauge_begin(const struct lane *lane, struct io *io, uint64_t now)
{
	struct meter *m = &lane->profile->meter[series_of(lane, io)];

	if (io->op == OP_ZERO)
		return;
	pthread_mutex_lock(&m->lock);
	io->stamp = (struct stamp){ .at = now };
	if (m->flying == 0 && m->last != 0 && now > m->last)
		io->stamp.idle = now - m->last;
	meter_advance(m, now);
	io->stamp.share = m->share;
	m->flying++;
	pthread_mutex_unlock(&m->lock);
}

/* Add the time credited to a request to one->wall and one->busy. */
static void
meter_credit(struct meter *m, const struct stamp *stamp, uint64_t now,
    struct bin *one)
{
	pthread_mutex_lock(&m->lock);
	meter_advance(m, now);
	m->flying--;
	one->busy = (m->share - stamp->share) >> FRACTION;
	pthread_mutex_unlock(&m->lock);
	one->wall = one->busy + stamp->idle;
}

static void
bin_add(struct bin *to, const struct bin *one)
{
	to->bytes += one->bytes;
	to->spent += one->spent;
	to->wall += one->wall;
	to->busy += one->busy;
	to->most = one->most > to->most ? one->most : to->most;
	to->requests += one->requests;
	to->errors += one->errors;
}

static void
widen_bins(struct gauge *r)
{
	size_t i;

	for (i = 0; i < PROFILE_BINS / 2; i++) {
		struct bin sum = r->bin[2 * i];

		bin_add(&sum, &r->bin[2 * i + 1]);
		r->bin[i] = sum;
	}
	memset(r->bin + i, 0, PROFILE_BINS / 2 * sizeof(r->bin[0]));
	r->width *= 2;
}

static void
widen_slots(struct gauge *r)
{
	size_t i;

	for (i = 0; i < PROFILE_SLOTS / 2; i++)
		r->slot[i] = r->slot[2 * i] + r->slot[2 * i + 1];
	memset(r->slot + i, 0, PROFILE_SLOTS / 2 * sizeof(r->slot[0]));
	r->tick *= 2;
}

static unsigned
latency_bucket(uint64_t ns)
{
	uint64_t n = ns >> UNIT;
	unsigned log, i;

	if (n < FINE)
		return (unsigned)n;
	log = 63 - (unsigned)__builtin_clzll(n);
	i = FINE * (log - 1) + ((unsigned)(n >> (log - 2)) & (FINE - 1));
	return i < PROFILE_BUCKETS ? i : PROFILE_BUCKETS - 1;
}

uint64_t
gauge_bucket(unsigned i)
{
	if (i < FINE)
		return (uint64_t)i << UNIT;
	return (uint64_t)(FINE + i % FINE) << (i / FINE - 1 + UNIT);
}

static void
note_slow(struct gauge *r, const struct slow *s)
{
	unsigned i, least = 0;

	if (r->slows < PROFILE_SLOW) {
		r->slow[r->slows++] = *s;
		return;
	}
	for (i = 1; i < PROFILE_SLOW; i++)
		if (r->slow[i].ns < r->slow[least].ns)
			least = i;
	if (s->ns > r->slow[least].ns)
		r->slow[least] = *s;
}

void
gauge_note(const struct lane *lane, const struct io *io, uint64_t now)
{
	struct profile *pr = lane->profile;
	struct bin one = { .bytes = io->done, .requests = 1,
		.errors = io->err != 0 };
	struct slow s = { io->off, io->len, now - io->stamp.at, io->stamp.at };
	enum series series = series_of(lane, io);
	uint64_t pos = pr->origin[series], age = now - pr->start;
	struct gauge *r = &lane->gauge[series];

	if (io->op == OP_ZERO)
		return;
	meter_credit(&pr->meter[series], &io->stamp, now, &one);
	one.spent = one.most = s.ns;
	pos = io->off > pos ? io->off - pos : 0;
	while (pos / r->width >= PROFILE_BINS)
		widen_bins(r);
	while (age / r->tick >= PROFILE_SLOTS)
		widen_slots(r);
	if (r->all.requests == 0 || s.ns < r->least)
		r->least = s.ns;
	r->slot[age / r->tick] += one.bytes;
	r->latency[latency_bucket(s.ns)]++;
	bin_add(&r->bin[pos / r->width], &one);
	bin_add(&r->all, &one);
	note_slow(r, &s);
}

void
gauge_merge(struct gauge *to, const struct gauge *from)
{
	unsigned i;

	while (to->width < from->width)
		widen_bins(to);
	while (to->tick < from->tick)
		widen_slots(to);
	if (to->all.requests == 0 || from->least < to->least)
		to->least = from->least;
	bin_add(&to->all, &from->all);
	for (i = 0; i < PROFILE_BINS; i++)
		bin_add(&to->bin[i * from->width / to->width], &from->bin[i]);
	for (i = 0; i < PROFILE_SLOTS; i++)
		to->slot[i * from->tick / to->tick] += from->slot[i];
	for (i = 0; i < PROFILE_BUCKETS; i++)
		to->latency[i] += from->latency[i];
	for (i = 0; i < from->slows; i++)
		note_slow(to, &from->slow[i]);
}
