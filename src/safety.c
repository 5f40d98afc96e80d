/*
 * Objections: a table of tests that look at the plan and its open ends.  Each
 * says what is wrong and what to do instead.
 */
#include "safety.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "await.h"
#include "back.h"
#include "disk.h"
#include "folder.h"
#include "number.h"
#include "share.h"
#include "status.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

typedef unsigned long long ull;

/* skip=, or skip= and count=, past a known end. */
static int
past_end(const struct plan *p, struct fault *f)
{
	uint64_t size = (uint64_t)p->src->size;

	if (p->src->size < 0)
		return 0;
	if (p->src_off > size)
		return fault_set(f, STATUS_REFUSED, "skip= leads to byte %llu, "
		    "past the end of %s%s at %llu", (ull)p->src_off,
		    p->src->within, p->src->name, (ull)size);
	if (p->length > size - p->src_off)
		return fault_set(f, STATUS_REFUSED, "skip= and count= lead to "
		    "byte %llu, past the end of %s%s at %llu",
		    (ull)(p->src_off + p->length), p->src->within,
		    p->src->name, (ull)size);
	return 0;
}

static int
too_small(const struct plan *p, struct fault *f)
{
	uint64_t room = (uint64_t)p->dst->room;
	uint64_t length = round_up(p->length, p->pad);

	if (p->dst->room < 0)
		return 0;
	if (p->dst_off > room)
		return fault_set(f, STATUS_REFUSED, "seek= leads to byte %llu, "
		    "past the end of %s%s at %llu", (ull)p->dst_off,
		    p->dst->within, p->dst->name, (ull)room);
	if (p->bounded && length > room - p->dst_off)
		return fault_set(f, STATUS_REFUSED, "%s%s has room for %llu "
		    "bytes from byte %llu on, but %llu are to be copied; "
		    "count= limits the copy", p->dst->within, p->dst->name,
		    (ull)(room - p->dst_off), (ull)p->dst_off, (ull)length);
	return 0;
}

/* A drive without a medium, or a loop device without a file. */
static bool
empty(const struct endpoint *ep)
{
	return ep->device && ep->size == 0 && ep->id.known && ep->id.ino == 0;
}

static int
empty_device(const struct plan *p, struct fault *f)
{
	if (!empty(p->src) && !empty(p->dst))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s has no bytes; is there a "
	    "medium in it?", empty(p->src) ? p->src->name : p->dst->name);
}

/* A map names places: both ends must have them. */
static int
no_places(const struct plan *p, struct fault *f)
{
	const struct endpoint *ep = p->src->streamed || !p->bounded ||
	    p->src->size < 0 ? p->src : p->dst;

	if (p->opts->map == NULL || (ep == p->dst && !p->dst->streamed))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is read or written in order: "
	    "map= cannot be used", ep->name);
}

static int
no_seek(const struct plan *p, struct fault *f)
{
	if (p->opts->seek == 0 || p->dst->seekable)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is written in order, from its "
	    "beginning: seek= cannot be used", p->dst->name);
}

/* By the shell: oflag=append itself contradicts oflag=trunc. */
static int
no_cut(const struct plan *p, struct fault *f)
{
	if (p->truncate < 0 || (p->dst->flags & FLAG_APPEND) == 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is appended to: oflag=trunc "
	    "cannot be used", p->dst->name);
}

/* bs= and the source's logical blocks. */
static int
bs_misfit(const struct plan *p, struct fault *f)
{
	if (p->src->block == 0 || p->bs % p->src->block == 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "bs=%llu is not a multiple of the "
	    "logical block of %s, %u bytes", (ull)p->bs, p->src->name,
	    p->src->block);
}

/* The range on a target device and its logical blocks. */
static int
target_misfit(const struct plan *p, struct fault *f)
{
	uint32_t block = p->dst->block;
	bool exact = p->bounded && (p->counted || p->src->block > 0);
	uint64_t whole = (p->opts->conv & CONV_PAD) != 0 ?
	    round_up(p->length, p->bs) : p->length;

	if (block == 0)
		return 0;
	if (p->dst_off % block != 0)
		return fault_set(f, STATUS_REFUSED, "the copy would begin at "
		    "byte %llu of %s, within a logical block of %u bytes",
		    (ull)p->dst_off, p->dst->name, block);
	if (p->pad % block != 0)
		return fault_set(f, STATUS_REFUSED, "conv=sync would pad to "
		    "%llu bytes, which is not a whole number of logical blocks "
		    "of %s, %u bytes each", (ull)p->pad, p->dst->name, block);
	if (exact && whole % block != 0)
		return fault_set(f, STATUS_REFUSED, "%llu bytes are not a "
		    "whole number of logical blocks of %s, %u bytes each",
		    (ull)whole, p->dst->name, block);
	return 0;
}

/* Where a range lies: on a file or device, and on what that lies on. */
struct place {
	dev_t		dev;
	ino_t		ino;	/* 0: the device itself */
	uint64_t	from, to;	/* bytes; to is behind the last */
};

enum { PLACES = 64 };

static size_t
add(struct place *at, size_t n, struct place p)
{
	if (p.to < p.from)
		p.to = UINT64_MAX;
	if (n < PLACES)
		at[n++] = p;
	return n;
}

/* What a loop device is made of. */
static size_t
add_backing(struct place *at, size_t n, const struct disk *d,
    const struct place *p)
{
	uint64_t off = d->backing_off;
	struct stat st;

	if (d->backing[0] == '\0' || stat(d->backing, &st) != 0)
		return n;
	return add(at, n, (struct place){
	    S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev,
	    S_ISBLK(st.st_mode) ? 0 : st.st_ino,
	    p->from + off, p->to + off });
}

/*
 * All the places that are the same as a range of an end, top down: partition,
 * disk, the file of a loop device, what dm and md are made of.  A file may be
 * anywhere on the disk of its file system, if that is asked for.
 */
static size_t
places(const struct endpoint *ep, uint64_t from, uint64_t len, bool on_disk,
    struct place *at)
{
	dev_t slave[PLACES];
	size_t n, i, j, slaves;
	struct disk d;

	n = add(at, 0, (struct place){ ep->id.dev, ep->id.ino, from,
	    from + len });
	if (on_disk)
		n = add(at, n, (struct place){ ep->id.dev, 0, 0, UINT64_MAX });
	for (i = 0; i < n; i++) {
		if (at[i].ino != 0 || !disk_of_block(at[i].dev, &d))
			continue;
		if (d.partition != 0)
			n = add(at, n, (struct place){ d.whole, 0,
			    d.start + at[i].from, d.start + (at[i].to <
			    d.length ? at[i].to : d.length) });
		else
			n = add_backing(at, n, &d, &at[i]);
		slaves = disk_slaves(at[i].dev, slave, PLACES);
		for (j = 0; j < slaves; j++)
			n = add(at, n, (struct place){ slave[j], 0, 0,
			    UINT64_MAX });
	}
	return n;
}

static bool
overlap(const struct place *a, size_t n, const struct place *b, size_t m)
{
	size_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < m; j++)
			if (a[i].dev == b[j].dev && a[i].ino == b[j].ino &&
			    a[i].from < b[j].to && b[j].from < a[i].to)
				return true;
	return false;
}

/* A target that is cut off or written where the source is read. */
static int
same_end(const struct plan *p, struct fault *f)
{
	struct place a[PLACES], b[PLACES];
	uint64_t at = p->dst_off, len = round_up(p->length, p->pad);
	size_t n, m;

	if (!p->src->id.known || !p->dst->id.known || p->length == 0 ||
	    (p->opts->force & FORCE_OVERLAP) != 0)
		return 0;
	if (p->truncate >= 0) {
		at = (uint64_t)p->truncate;
		len = UINT64_MAX - at;
	}
	n = places(p->src, p->src_off, p->length, p->src->id.ino != 0 &&
	    p->dst->id.ino == 0, a);
	m = places(p->dst, at, len, false, b);
	if (!overlap(a, n, b, m))
		return 0;
	return fault_set(f, STATUS_REFUSED, "the range to be written on %s is "
	    "part of the range to be read from %s; force=overlap overrides",
	    p->dst->name, p->src->name);
}

static const char *
known(const char *id)
{
	return id[0] != '\0' ? id : "not known";
}

static int
other_disk(const struct endpoint *ep, const char *operand, const char *called,
    struct fault *f)
{
	struct disk d;

	if (called == NULL)
		return 0;
	if (!endpoint_disk(ep, &d))
		return fault_set(f, STATUS_REFUSED, "%s is not a disk, and %s= "
		    "asks for one", ep->name, operand);
	if (disk_is(&d, called))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is not the disk that %s=%s "
	    "asks for: its serial number is %s, its WWN %s", ep->name, operand,
	    called, known(d.serial), known(d.wwn));
}

static int
wrong_disk(const struct plan *p, struct fault *f)
{
	if (other_disk(p->src, "iserial", p->opts->iserial, f) != 0)
		return -1;
	return other_disk(p->dst, "oserial", p->opts->oserial, f);
}

/* A name that is to be made among the devices is a slip of the hand. */
static int
new_device(const struct plan *p, struct fault *f)
{
	if (!p->dst->absent || !among_devices(p->dst->dir))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s does not exist, and no file is "
	    "created among the devices; is the name right?", p->dst->name);
}

/* By a name, so at another place than where the messages come to stand. */
static int
own_messages(const struct plan *p, struct fault *f)
{
	const struct identity *id = &p->dst->id;
	struct stat st;

	if (p->dst->inherited || !id->known || id->ino == 0 ||
	    fstat(STDERR_FILENO, &st) != 0 || st.st_dev != id->dev ||
	    st.st_ino != id->ino)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is standard error: messages "
	    "would be written over the copy", p->dst->name);
}

static int
stream_append(const struct plan *p, struct fault *f)
{
	if (!p->src->id.known || !p->dst->streamed || !p->dst->id.known ||
	    p->src->id.dev != p->dst->id.dev ||
	    p->src->id.ino != p->dst->id.ino)
		return 0;
	return fault_set(f, STATUS_REFUSED,
	    "%s cannot be appended to itself", p->src->name);
}

static bool
mounted_writable(dev_t node, struct use *use)
{
	return use_of_node(node, ~(unsigned)USE_MOUNTED, use) && use->writable;
}

bool
safety_source_busy(const struct plan *p, struct use *use, char *name,
    size_t room)
{
	uint64_t from = p->src_off, to = from + p->length;
	struct disk_part *part = NULL;
	struct disk d;
	size_t n = 0, i;
	bool busy;

	if (!endpoint_disk(p->src, &d) || d.node == 0)
		return false;
	snprintf(name, room, "%s", d.name);
	busy = mounted_writable(d.node, use);
	if (d.partition == 0)
		n = disk_parts(d.whole, &part);
	for (i = 0; i < n && !busy; i++) {
		if (part[i].start >= to || from >= part[i].start +
		    part[i].length)
			continue;
		busy = mounted_writable(part[i].node, use);
		snprintf(name, room, "%s", part[i].name);
	}
	free(part);
	return busy;
}

/* Before the target is created or cut off for it. */
static int
not_shareable(const struct plan *p, struct fault *f)
{
	if ((p->opts->reflink & REFLINK_ALWAYS) == 0 || (p->reflink &&
	    share_possible(p)))
		return 0;
	if (!p->src->shares || !p->dst->shares)
		return fault_set(f, STATUS_REFUSED, "reflink=always: %s and %s "
		    "are not both files", p->src->name, p->dst->name);
	return fault_set(f, STATUS_REFUSED, "reflink=always: %s and %s can "
	    "share whole blocks only", p->src->name, p->dst->name);
}

/* The same for the other end of a comparison. */
static int
other_past_end(const struct plan *p, struct fault *f)
{
	uint64_t size = (uint64_t)p->dst->size;

	if (p->dst->size < 0 || (p->dst_off <= size &&
	    (!p->counted || p->length <= size - p->dst_off)))
		return 0;
	return fault_set(f, STATUS_REFUSED, "seek= and count= lead past the "
	    "end of %s%s at byte %llu", p->dst->within, p->dst->name,
	    (ull)size);
}

static int (*const readings[])(const struct plan *, struct fault *) = {
	wrong_disk,
	empty_device,
	past_end,
	other_past_end,
	bs_misfit,
};

static int (*const objections[])(const struct plan *, struct fault *) = {
	new_device,
	wrong_disk,
	no_places,
	no_seek,
	no_cut,
	empty_device,
	past_end,
	bs_misfit,
	target_misfit,
	too_small,
	stream_append,
	own_messages,
	same_end,
	not_shareable,
	back_possible,
	await_possible,
};

int
safety_check(const struct plan *p, struct fault *f)
{
	size_t i;

	for (i = 0; p->opts->compare != 0 && i < COUNT(readings); i++)
		if (readings[i](p, f) != 0)
			return -1;
	for (i = 0; p->opts->compare == 0 && i < COUNT(objections); i++)
		if (objections[i](p, f) != 0)
			return -1;
	return 0;
}
