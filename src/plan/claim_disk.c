/*
 * Claiming the written part of a disk: the partitions that the range touches,
 * or the whole disk if it touches anything outside them.
 */
#include "claim_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disk/mbr.h"
#include "end/endpoint.h"

enum { GPT = 34 };		/* blocks at the start; one less at the end */

/* Claim the partitions in the range; of a partition, at least itself. */
static int
claim_parts(struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r, struct fault *f)
{
	size_t i;

	if (d->partition != 0 && claim_node(c, d->node, d->name, f) != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (part[i].start < r.to && r.from < part[i].start +
		    part[i].length && (d->partition == 0 ||
		    part[i].node != d->node) &&
		    claim_node(c, part[i].node, part[i].name, f) != 0)
			return -1;
	return 0;
}

/*
 * Claim the whole disk, and name the user of a partition in a refusal.  The
 * claim fails if such a use is allowed by force=; then claim the other
 * partitions.
 */
static int
claim_whole(struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct fault *f)
{
	struct usage use;
	bool forced = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (claim_check_node(c, part[i].node, part[i].name, f) != 0 ||
		    claim_check_lock(c, &part[i], f) != 0)
			return -1;
		forced = forced ||
		    usage_of_node(part[i].node, USE_LOOPED, &use);
	}
	if (forced)
		return claim_parts(c, d, part, n,
		    (struct range){ 0, UINT64_MAX }, f);
	if (claim_node(c, d->whole, d->whole_name, f) != 0)
		return -1;
	for (i = 0; i < n; i++)
		claim_keep_node(c, &part[i]);
	return 0;
}

/* The kernel shows an extended partition as its first record only. */
static bool
is_extended(const struct disk_part *part, uint32_t logical)
{
	return part->number <= 4 && part->length <= MAX(1024, logical);
}

struct records {		/* extended boot records that are followed */
	const struct disk_part *part;	/* of the kernel, */
	size_t		 n;
	int		 number;	/* and the next one to be described */
};

/* Count the partitions that a record describes, if the kernel has them too. */
static bool
records_match(struct records *e, const unsigned char *record, uint64_t at,
    uint32_t sector)
{
	size_t i, k;

	for (i = 0; i < 4; i++) {
		const unsigned char *entry = mbr_entry(record, i);

		if (mbr_length(entry) == 0 || mbr_extended(entry))
			continue;
		for (k = 0; k < e->n && (e->part[k].number != e->number ||
		    e->part[k].start != at + (uint64_t)mbr_start(entry) *
		    sector); k++)
			continue;
		if (k == e->n)
			return false;
		e->number++;
	}
	return true;
}

/*
 * Whether the records from "first" on are all known, and the range touches
 * none.
 */
static bool
records_spared(struct records *e, int disk, const struct disk *d,
    uint64_t first, struct range r)
{
	unsigned char record[MBR_SIZE];
	const unsigned char *link;
	uint64_t at = first;
	unsigned n;

	for (n = 0; n < MBR_LINKS_MOST; n++) {
		if (pread(disk, record, MBR_SIZE, (off_t)at) != MBR_SIZE ||
		    !mbr_is(record) || (r.from < at + d->logical &&
		    at < r.to) || !records_match(e, record, at, d->logical))
			return false;
		link = mbr_link(record);
		if (link == NULL)
			return true;
		at = first + (uint64_t)mbr_start(link) * d->logical;
	}
	return false;
}

/*
 * Whether the range touches none of the extended boot records on the disk, and
 * these describe all logical partitions (5 and up) that the kernel has.
 */
static bool
records_known(const struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r)
{
	struct records e = { part, n, 5 };
	int disk = claim_open_node(c, d->whole, d->whole_name, 0);
	bool spared = disk >= 0;
	size_t i, logical = 0;

	for (i = 0; i < n && spared; i++)
		if (is_extended(&part[i], d->logical))
			spared = records_spared(&e, disk, d, part[i].start, r);
		else
			logical += part[i].number > 4;
	if (disk >= 0)
		close(disk);
	return spared && (size_t)(e.number - 5) == logical;
}

/*
 * Whether the range may touch an extended boot record, by what the kernel
 * knows: there is one before each logical partition, anywhere after the
 * previous partition.
 */
static bool
nears_records(const struct disk *d, const struct disk_part *part, size_t n,
    struct range r)
{
	uint64_t at = UINT64_MAX;
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_extended(&part[i], d->logical)) {
			at = part[i].start;
			if (r.from < at + part[i].length && r.to > at)
				return true;
		} else if (part[i].number > 4 && at != UINT64_MAX) {
			if (r.from < part[i].start && r.to > at)
				return true;
			at = MAX(at, part[i].start + part[i].length);
		}
	}
	return false;
}

static bool
touches_records(const struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r)
{
	return nears_records(d, part, n, r) &&
	    !records_known(c, d, part, n, r);
}

/* Whether a partition's range covers the tables: a partition may begin at 0. */
static bool
part_touches_tables(const struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r)
{
	return r.from < d->logical || touches_records(c, d, part, n, r);
}

/* Whether the range covers anything that belongs to the disk as a whole. */
static bool
touches_tables(const struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r)
{
	uint64_t head = (uint64_t)GPT * d->logical;

	if (d->partition != 0)
		return part_touches_tables(c, d, part, n, r);
	return n == 0 || r.from < head || r.to > d->length ||
	    r.to + head - d->logical > d->length ||
	    touches_records(c, d, part, n, r);
}

/*
 * sysfs does not say what the disk belongs to or which partitions it has, so
 * their users are unknown: refuse.
 */
int
claim_unknown(struct claims *c, const struct disk *d, int err,
    struct fault *f)
{
	const char *name = d->name[0] != '\0' ? d->name : c->name;
	dev_t node = d->node != 0 ? d->node : c->plan->dst->id.node;
	struct usage use;

	if (usage_of_node(d->node, c->over, &use))
		return claim_in_use(f, c->name, name, &use);
	use.unknown = (USE_MOUNTED | USE_SWAP | USE_LOOPED) & ~c->over;
	use.err = err;
	snprintf(use.unread, sizeof(use.unread), "/sys/dev/%s/%u:%u",
	    d->node != 0 ? "block" : "char", major(node), minor(node));
	if (use.unknown != 0)
		return claim_not_known(f, c->name, name, &use);
	return claim_node(c, d->node, name, f);
}

/*
 * Claim a disk or partition in which the range is written.  Partitions may
 * overlap, so whatever shares the bytes is claimed.
 */
int
claim_disk(struct claims *c, const struct disk *d, struct range r,
    struct fault *f)
{
	struct disk_part *part;
	int err, failed;
	size_t n;

	/* What uses the whole disk uses all parts of it. */
	if (claim_check_node(c, d->whole, d->whole_name, f) != 0)
		return -1;
	err = disk_parts(d->whole, &part, &n);
	if (err != 0)
		return claim_unknown(c, d, err, f);
	if (d->partition != 0) {
		r.from += d->start;
		r.to = MIN(r.to, d->length) + d->start;
	}
	failed = touches_tables(c, d, part, n, r) ?
	    claim_whole(c, d, part, n, f) :
	    claim_parts(c, d, part, n, r, f);
	free(part);
	return failed;
}
