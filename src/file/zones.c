/*
 * Zones, as the kernel reports them (linux/blkzoned.h).
 */
#include "zones.h"

#include <errno.h>
#include <linux/blkzoned.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "disk/disk.h"

enum {
	SECTOR = 512,
	BATCH = 256,		/* zones per report */
};

/* Whether the numbers of sectors are possible. */
static bool
zone_report_fits(const struct blk_zone *b)
{
	return b->start <= INT64_MAX / SECTOR &&
	    b->len <= INT64_MAX / SECTOR - b->start;
}

static enum zone_use
use_of(const struct blk_zone *b)
{
	switch (b->cond) {
	case BLK_ZONE_COND_EXP_OPEN:
		return ZONE_HELD;
	case BLK_ZONE_COND_IMP_OPEN:
		return ZONE_OPEN;
	case BLK_ZONE_COND_CLOSED:
		return ZONE_CLOSED;
	default:
		return ZONE_IDLE;
	}
}

static struct zone
zone_of(const struct blk_zone *b, bool capacity)
{
	struct zone z = { .start = b->start * SECTOR,
		.end = (b->start + b->len) * SECTOR,
		.ordered = b->type != BLK_ZONE_TYPE_CONVENTIONAL,
		.broken = b->cond == BLK_ZONE_COND_READONLY ||
		    b->cond == BLK_ZONE_COND_OFFLINE,
		.use = use_of(b) };

	z.room = capacity && b->capacity < b->len ?
	    z.start + b->capacity * SECTOR : z.end;
	z.next = b->cond == BLK_ZONE_COND_EMPTY ? z.start :
	    b->cond == BLK_ZONE_COND_FULL || z.broken ||
	    b->wp >= z.room / SECTOR ? z.room : b->wp * SECTOR;
	return z;
}

/*
 * Add the zones of a report.  Refuse those that do not follow the last one, or
 * whose write pointer lies before their start.
 */
static int
zones_take(struct zones **z, const struct blk_zone_report *r)
{
	bool capacity = (r->flags & BLK_ZONE_REP_CAPACITY) != 0;
	size_t n = (*z)->n;
	struct zones *more = realloc(*z, sizeof(*more) +
	    (n + r->nr_zones) * sizeof(more->zone[0]));
	unsigned i;

	if (more == NULL)
		return ENOMEM;
	*z = more;
	for (i = 0; i < r->nr_zones; i++) {
		struct zone one = zone_of(&r->zones[i], capacity);

		if (!zone_report_fits(&r->zones[i]) || one.end <= one.start ||
		    one.next < one.start || one.start != (more->n > 0 ?
		    more->zone[more->n - 1].end : 0))
			return EPROTO;
		more->zone[more->n++] = one;
	}
	return 0;
}

static int
zones_read_all(int fd, struct zones **z, struct blk_zone_report *r)
{
	uint64_t at = 0;
	int err = 0;

	while (err == 0) {
		r->sector = at / SECTOR;
		r->nr_zones = BATCH;
		r->flags = 0;
		if (ioctl(fd, BLKREPORTZONE, r) != 0)
			return errno;
		if (r->nr_zones == 0 || r->nr_zones > BATCH)
			break;
		err = zones_take(z, r);
		if (err == 0)
			at = (*z)->zone[(*z)->n - 1].end;
	}
	return err;
}

int
zones_read(int fd, struct zones **z)
{
	struct blk_zone_report *r = malloc(sizeof(*r) +
	    BATCH * sizeof(r->zones[0]));
	int err = r == NULL ? ENOMEM : 0;

	*z = calloc(1, sizeof(**z));
	if (*z == NULL)
		err = ENOMEM;
	if (err == 0)
		err = zones_read_all(fd, z, r);
	if (err == 0 && (*z)->n == 0)
		err = ENOTTY;
	free(r);
	if (err != 0) {
		free(*z);
		*z = NULL;
	}
	return err;
}

const struct zone *
zones_at(const struct zones *z, uint64_t off)
{
	size_t low = 0, high = z->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (z->zone[middle].end <= off)
			low = middle + 1;
		else
			high = middle;
	}
	return low < z->n ? &z->zone[low] : NULL;
}

uint64_t
zones_size(const struct zones *z)
{
	uint64_t size = z->zone[0].end;
	size_t i;

	for (i = 0; i < z->n; i++)
		if (z->zone[i].start != i * size || (i + 1 < z->n ?
		    z->zone[i].end != (i + 1) * size :
		    z->zone[i].end - z->zone[i].start > size))
			return 0;
	return size;
}

/* Where the first write to a zone has to go. */
static uint64_t
zone_first(const struct zone *z, uint64_t from)
{
	return z->start > from ? z->start : from;
}

static int
zone_check(const struct zone *z, uint64_t from, bool reset, const char *name,
    struct fault *f)
{
	ull n = z->start;

	if (z->broken)
		return fault_set(f, STATUS_REFUSED, "%s: the zone at byte %llu "
		    "is read-only or offline", name, n);
	if (!z->ordered || z->next == zone_first(z, from) ||
	    (reset && from <= z->start))
		return 0;
	if (reset)
		return fault_set(f, STATUS_REFUSED, "%s: the copy would begin "
		    "within the zone at byte %llu, and a reset would lose what "
		    "lies before it there", name, n);
	if (from > z->start)
		return fault_set(f, STATUS_REFUSED, "%s: the zone at byte %llu "
		    "can be written only at byte %llu", name, n, (ull)z->next);
	return fault_set(f, STATUS_REFUSED, "%s: the zone at byte %llu holds "
	    "data, and zones are written in order; oflag=reset empties those "
	    "of the range first", name, n);
}

int
zones_check(const struct zones *z, uint64_t from, uint64_t to, bool reset,
    const char *name, struct fault *f)
{
	const struct zone *one = zones_at(z, from), *end = z->zone + z->n;

	for (; one != NULL && one < end && one->start < to; one++)
		if (zone_check(one, from, reset, name, f) != 0)
			return -1;
	return 0;
}

int
zones_reset(int fd, const struct zones *z, uint64_t from, uint64_t to)
{
	const struct zone *one = zones_at(z, from), *end = z->zone + z->n;
	struct blk_zone_range range;

	for (; one != NULL && one < end && one->start < to; one++) {
		if (!one->ordered || one->next == zone_first(one, from))
			continue;
		range.sector = one->start / SECTOR;
		range.nr_sectors = (one->end - one->start) / SECTOR;
		if (ioctl(fd, BLKRESETZONE, &range) != 0)
			return errno;
	}
	return 0;
}

const struct zone *
zones_unwritten(const struct zones *z, uint64_t from, uint64_t to)
{
	const struct zone *one = zones_at(z, from), *end = z->zone + z->n;

	for (; one != NULL && one < end && one->start < to; one++)
		if (one->ordered && one->next < MIN(one->room, to))
			return one;
	return NULL;
}

/*
 * The zone of the other disk at the same place, counted from where both begin.
 */
static const struct zone *
zone_counterpart(const struct zone *one, uint64_t from,
    const struct zones *other, uint64_t other_from)
{
	const struct zone *two = zones_at(other, one->start - from +
	    other_from);

	return two != NULL && two->start == one->start - from + other_from &&
	    two->end - two->start == one->end - one->start &&
	    two->ordered == one->ordered ? two : NULL;
}

/*
 * Whether a zone is reset before the copy, or is where it begins: in a range
 * that zones_check takes, no other is written.
 */
static bool
zone_is_ours(const struct zone *z, uint64_t from, uint64_t to)
{
	return z->end > from && z->start < to && z->next > z->start;
}

unsigned
zones_available(const struct zones *z, uint64_t from, uint64_t to,
    const struct zone_limits *most, unsigned left)
{
	uint64_t active = left, open = left, held = 0;
	size_t i;

	for (i = 0; i < z->n; i++) {
		if (zone_is_ours(&z->zone[i], from, to))
			continue;
		active += z->zone[i].use >= ZONE_CLOSED;
		open += z->zone[i].use >= ZONE_OPEN;
		held += z->zone[i].use == ZONE_HELD;
	}
	if (active >= most->active || held >= most->open)
		return 0;
	active = most->active - active;
	/* the disk closes one if it has to */
	open = open < most->open ? most->open - open : 1;
	return (unsigned)(open < active ? open : active);
}

unsigned
zones_left(const struct zones *z, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from)
{
	const struct zone *one = zones_at(z, from), *end = z->zone + z->n;
	const struct zone *two;
	unsigned left = 0, so_far = 0;

	for (; one != NULL && one < end && one->start < to; one++) {
		two = zone_counterpart(one, from, other, other_from);
		if (two == NULL || !two->ordered || two->next == two->start)
			continue;
		left = so_far;
		so_far += two->next - two->start < one->room - one->start;
	}
	return left;
}

static bool
for_all(const struct zones *z, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from, bool written)
{
	const struct zone *one = zones_at(z, from), *end = z->zone + z->n;
	const struct zone *two;

	if (one == NULL || one->start != from)
		return false;
	for (; one < end && one->start < to; one++) {
		two = zone_counterpart(one, from, other, other_from);
		if (two == NULL)
			return false;
		if (written && one->ordered && one->next - one->start !=
		    two->next - two->start && !(one->next == one->room &&
		    two->next == two->room))
			return false;
	}
	return true;
}

bool
zones_fit(const struct zones *z, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from)
{
	return for_all(z, from, to, other, other_from, false);
}

bool
zones_equal(const struct zones *z, uint64_t from, uint64_t to,
    const struct zones *other, uint64_t other_from)
{
	return for_all(z, from, to, other, other_from, true);
}
