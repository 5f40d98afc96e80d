/*
 * What happens to each range during the copy.  With a manifest, the transfers
 * are its ranges, so each piece has one digest.  A piece that is only a part of
 * a range has no digest and counts as different.
 */
#include "copy/ranges.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "copy/job.h"
#include "copy/trust.h"
#include "disk/disk.h"
#include "part/used.h"
#include "plan/names.h"

enum {
	SECTOR = 512,		/* bytes */
	BMAP_BLOCK = 4096,	/* bytes; what other tools use */
};

/* Refuse a disk or image that is not the one of the manifest, or too small. */
static int
check_fits(const struct manifest *m, const struct plan *p, struct fault *f)
{
	uint64_t end = p->src_off + m->length;

	if (p->src->geo.size >= 0 && end > (uint64_t)p->src->geo.size)
		return fault_set(f, STATUS_REFUSED, "%s has %lld bytes, but %s "
		    "covers %llu: it is for another disk", p->src->name,
		    (long long)p->src->geo.size, p->opts->manifest,
		    (unsigned long long)end);
	return 0;
}

static int
base_fits(const struct manifest *m, const struct plan *p, struct fault *f)
{
	uint64_t end = m->off + m->length;
	struct disk d;

	if (m->serial[1] != NULL && endpoint_disk(p->dst, &d) &&
	    d.serial[0] != '\0' && strcmp(m->serial[1], d.serial) != 0)
		return fault_set(f, STATUS_REFUSED, "%s describes the disk %s, "
		    "but %s is the disk %s", p->opts->base, m->serial[1],
		    p->dst->name, d.serial);
	if (m->off != p->dst_off)
		return fault_set(f, STATUS_REFUSED, "%s begins at byte %llu of "
		    "its target, but this copy at byte %llu", p->opts->base,
		    (unsigned long long)m->off, (unsigned long long)p->dst_off);
	if (p->dst->is.absent || p->dst->is.streamed || !endpoint_holds(p->dst))
		return fault_set(f, STATUS_REFUSED, "base=: %s exists, but not "
		    "%s, which it describes", p->opts->base, p->dst->name);
	if (p->dst->geo.size >= 0 && end > (uint64_t)p->dst->geo.size)
		return fault_set(f, STATUS_REFUSED, "%s ends at byte %lld, but "
		    "%s describes it up to byte %llu", p->dst->name,
		    (long long)p->dst->geo.size, p->opts->base,
		    (unsigned long long)end);
	return 0;
}

/* Whether the ranges are whole blocks of an end whose copy begins at off. */
static bool
ranges_whole_blocks(const struct digest_table *t, const struct endpoint *ep,
    uint64_t off)
{
	uint32_t block = ep->geo.block;

	return block == 0 || ((off + t->chunk - t->phase) % block == 0 &&
	    t->chunk % block == 0);
}

/*
 * Ranges must consist of whole blocks, or a device cannot be written by them.
 */
static int
blocks_fit(const struct digest_table *t, const struct plan *p, struct fault *f)
{
	const char *name = p->opts->base != NULL ? p->opts->base :
	    p->opts->manifest;
	const struct endpoint *ep =
	    !ranges_whole_blocks(t, p->dst, p->dst_off) ? p->dst :
	    !ranges_whole_blocks(t, p->src, p->src_off) ? p->src : NULL;

	if (ep != NULL)
		return fault_set(f, STATUS_REFUSED, "the ranges of %s are not "
		    "whole blocks of %s", name, ep->name);
	/* padding to anything else would not fit into a piece */
	if (t->chunk % p->pad != 0 || t->phase % p->pad != 0)
		return fault_set(f, STATUS_REFUSED, "the ranges of %s are not "
		    "whole blocks of %llu bytes, to which the copy is padded",
		    name, (unsigned long long)p->pad);
	return 0;
}

uint64_t
ranges_end(const struct plan *p, uint64_t end)
{
	uint32_t block = plan_first(p)->dst->geo.block;

	if ((p->opts->conv & CONV_PAD) != 0)
		end = round_up(end, p->bs);
	return round_up(end, block > 0 ? block : 1);
}

uint64_t
ranges_block(const struct plan *p)
{
	uint64_t all = BMAP_BLOCK | p->chunk | p->phase |
	    (p->used != NULL && p->used->leaves ? p->grain : 0);

	return all & -all;
}

/* Refuse a block map of anything but a whole image. */
static int
image_fits(const struct plan *p, struct fault *f)
{
	const struct endpoint *dst = p->dst;
	int64_t size = dst->is.absent ? 0 : dst->geo.size;

	if (ranges_block(p) < SECTOR)
		return fault_set(f, STATUS_USAGE, "the blocks of %s are "
		    "multiples of %d bytes: bs= times bpt= must be one, too",
		    p->opts->manifest, SECTOR);
	if (endpoint_is_file(dst) && p->truncate < 0 && size > 0 &&
	    (!p->bounded || (uint64_t)size > p->length))
		return fault_set(f, STATUS_REFUSED, "%s holds %lld bytes, but "
		    "%s would only cover what is copied over its beginning: "
		    "use oflag=trunc or a new file", dst->name, (long long)size,
		    p->opts->manifest);
	return 0;
}

/* With base=, use its algorithm, because its digests are kept. */
static int
open_digester(struct ranges *r, const struct plan *p, struct fault *f)
{
	unsigned how = p->opts->manifesthash;

	if (how == 0 && r->spares && !r->maps)
		how = r->base.by != NULL ? HASH_SHA256 : HASH_XXH128;
	if (r->passes && (how == HASH_SHA256) != (r->base.by != NULL))
		return fault_set(f, STATUS_REFUSED, "manifesthash=%s: what has "
		    "not changed is not read, and %s has other digests of it",
		    opts_word("manifesthash", how), p->opts->base);
	return how == HASH_SHA256 || r->maps ? digester_open(&r->by,
	    "manifesthash=sha256", f) : 0;
}

static int
open_tables(struct ranges *r, const struct plan *p, struct fault *f)
{
	if (r->checks && map_init(&r->differ, INT64_MAX, p->chunk, 0) != 0)
		return fault_errno(f, ENOMEM, "manifest=");
	if (!r->notes)
		return 0;
	if ((r->maps && image_fits(p, f) != 0) ||
	    newfile_open(&r->file, "manifest", p->opts->manifest, f) != 0 ||
	    names_newfile(&r->file, p, f) != 0 || open_digester(r, p, f) != 0)
		return -1;
	if (r->maps)
		bmap_table_init(&r->mapped, r->by);
	else if (digest_table_init(&r->noted, p->bounded ? p->length : 0,
	    p->chunk, p->phase, r->by) != 0)
		return fault_errno(f, ENOMEM, "manifest=");
	return 0;
}

int
ranges_load(struct ranges *r, const struct opts *o, struct fault *f)
{
	struct manifest *m = &r->base;

	*r = (struct ranges){ .checks = o->check != 0,
		.spares = o->base != NULL,
		.notes = o->manifest != NULL && o->check == 0,
		.maps = opts_bmap(o),
		.file = { .dir = -1, .fd = -1 } };
	if (!r->checks && !r->spares)
		return 0;
	if (manifest_load(m, r->checks ? o->manifest : o->base, f) != 0)
		return -1;
	r->passes = opts_changed(o);
	r->layout = (struct layout){ .chunk = m->digests.chunk,
		.phase = m->digests.phase, .off = m->off, .length = m->length,
		.all = r->checks };
	return 0;
}

/*
 * Whether a range of the base is also one of the copy, which writes all of it.
 * The last range may be shorter, or end in a padded block.
 */
static bool
is_range(const struct plan *p, const struct check *c)
{
	uint64_t end = c->off + c->len;

	return c->state != CHECK_NONE && (c->whole ? end <= p->length :
	    end == p->length && p->length % p->pad == 0);
}

/* Note which ranges lie in unchanged data. */
static int
keep_ranges(struct ranges *r, const struct plan *p, struct map *parts)
{
	struct check c;
	size_t i;
	int err = 0;

	for (i = 0; err == 0 && digest_table_at(&r->base.digests, i, &c); i++)
		if (is_range(p, &c) && map_all(parts, c.off, c.len, FINISHED))
			err = map_set(&r->same, c.off, c.len, FINISHED);
	return err;
}

/* Query the source for unchanged data. */
static int
find_parts(const struct plan *p, struct map *parts)
{
	uint64_t off, n;
	struct extent x;
	int err = 0;

	for (off = 0; off < p->length && err == 0; off += n) {
		err = endpoint_changed(p->src, p->src_off + off, &x);
		if (err != 0)
			break;
		n = x.len < p->length - off ? x.len : p->length - off;
		if (x.hole)
			err = map_set(parts, off, n, FINISHED);
	}
	return err;
}

static int
find_same(struct ranges *r, const struct plan *p, struct fault *f)
{
	struct map parts;
	int err = map_init(&r->same, p->length, p->chunk, 0);

	if (err == 0)
		err = map_init(&parts, p->length, p->chunk, 0);
	if (err != 0)
		return fault_errno(f, err, "the map of what has changed");
	err = find_parts(p, &parts);
	if (err == 0)
		err = keep_ranges(r, p, &parts);
	map_free(&parts);
	return err == 0 ? 0 : fault_errno(f, err, "%s: asking what has changed",
	    p->src->name);
}

int
ranges_open(struct ranges *r, struct plan *p, struct fault *f)
{
	if (!r->checks && !r->spares && !r->notes)
		return 0;
	if ((r->checks && check_fits(&r->base, p, f) != 0) ||
	    (r->spares && base_fits(&r->base, p, f) != 0) ||
	    ((r->checks || r->spares) &&
	    blocks_fit(&r->base.digests, p, f) != 0) ||
	    (r->spares && (p->verify == 0 || p->verify == VERIFY_SAMPLE) &&
	    trust_base(p, &r->base.digests, f) != 0) ||
	    (r->passes && (find_same(r, p, f) != 0 ||
	    trust_unchanged(p, &r->base.digests, &r->same, f) != 0)) ||
	    open_tables(r, p, f) != 0)
		return -1;
	p->ranges = r;
	return 0;
}

void
ranges_close(struct ranges *r)
{
	manifest_free(&r->base);
	digest_table_free(&r->noted);
	bmap_table_free(&r->mapped);
	digester_close(r->by);
	newfile_close(&r->file);
	map_free(&r->differ);
	map_free(&r->same);
}

/* The index of the range that begins at off. */
static size_t
index_of(const struct digest_table *c, uint64_t off)
{
	return (size_t)((off + c->phase) / c->chunk);
}

/* Finished ranges keep the digests of the base. */
static void
take_digests(struct job *job, struct ranges *r, const struct seg *s)
{
	struct check c;
	size_t i = index_of(&r->base.digests, s->off);

	for (; digest_table_at(&r->base.digests, i, &c) &&
	    c.off < s->off + s->len; i++) {
		if (r->notes)
			digest_table_put(&r->noted, c.off, c.len, &c.digest);
		if (job->digests != NULL)
			digest_table_put(job->digests, c.off, c.len, &c.digest);
	}
}

int
ranges_begin(struct job *job)
{
	struct ranges *r = job->p->ranges;
	struct seg s = { .off = 0 };

	if (r == NULL || !r->passes)
		return 0;
	while (map_next(&r->same, s.off + s.len, FINISHED, &s)) {
		if (map_set(&job->map, s.off, s.len, FINISHED) != 0)
			return ENOMEM;
		job->spared += s.len;
		take_digests(job, r, &s);
	}
	return 0;
}

/* Whether the manifest has the digest of these bytes. */
static bool
as_before(struct manifest *m, uint64_t off, const unsigned char *buf,
    size_t len)
{
	struct digest d;
	struct check was;

	if (!digest_table_at(&m->digests, index_of(&m->digests, off), &was) ||
	    was.off != off || was.len != len || was.state == CHECK_NONE)
		return false;
	return digest_of(m->by, buf, len, &d) && digest_same(&d, &was.digest);
}

/* Whether part of this was unreadable and is zeros. */
static bool
range_lost(struct job *job, uint64_t off, size_t len)
{
	struct seg s;

	return map_next(&job->map, off, BAD, &s) && s.off < off + len;
}

/* Add the parts that are copied to the block map, each as a piece. */
static int
note_mapped(struct ranges *r, const struct plan *p, uint64_t off,
    const unsigned char *buf, size_t len)
{
	uint64_t at = off, end = off + len, from, to;
	int err = 0;

	while (err == 0 && used_next(p, at, end, &from, &to)) {
		err = bmap_table_note(&r->mapped, from, buf + (from - off),
		    (size_t)(to - from));
		at = to;
	}
	return err;
}

int
ranges_note(struct job *job, uint64_t off, const unsigned char *buf, size_t len)
{
	struct ranges *r = job->p->ranges;
	uint64_t end;

	if (r == NULL || !r->notes || range_lost(job, off, len))
		return 0;
	end = ranges_end(job->p, map_totals(&job->map).end);
	len = (size_t)MIN(len, end - off);
	return r->maps ? note_mapped(r, job->p, off, buf, len) :
	    digest_table_note(&r->noted, off, buf, len);
}

bool
ranges_known(struct job *job, uint64_t off, const unsigned char *buf,
    size_t len, bool *spare)
{
	struct ranges *r = job->p->ranges;
	struct fault f;
	bool same;

	*spare = false;
	if (r == NULL || (!r->checks && !r->spares))
		return true;
	same = !range_lost(job, off, len) && as_before(&r->base, off, buf, len);
	*spare = same && r->spares;
	if (*spare)
		job->spared += len;
	if (same || r->spares || map_set(&r->differ, off, len, BAD) == 0)
		return true;
	fault_errno(&f, ENOMEM, "the list of what differs");
	job_fail(job, &f);
	return false;
}

bool
ranges_of_another(const struct plan *p)
{
	char *const *serial;
	struct disk d;

	if (p->ranges == NULL || !p->ranges->checks ||
	    !endpoint_disk(p->src, &d) || d.serial[0] == '\0')
		return false;
	serial = p->ranges->base.serial;
	if (serial[0] == NULL && serial[1] == NULL)
		return false;
	return (serial[0] == NULL || strcmp(serial[0], d.serial) != 0) &&
	    (serial[1] == NULL || strcmp(serial[1], d.serial) != 0);
}
