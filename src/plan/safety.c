/*
 * Objections: a table of tests that look at the plan and its open ends.  Each
 * says what is wrong and what to do instead.
 */
#include "plan/safety.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "disk/disk.h"
#include "disk/temperature.h"
#include "disk/dm.h"
#include "disk/filesystem.h"
#include "plan/fit.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

typedef unsigned long long ull;

/*
 * "; for bytes: count=67108864B" where blocks were counted, more than an end
 * has, and so many bytes are not too many.
 */
static const char *
for_bytes(char *text, size_t room, const char *operand, int64_t n, bool bytes,
    uint64_t size, uint64_t bs)
{
	text[0] = '\0';
	if (!bytes && n > 0 && (uint64_t)n <= size && (uint64_t)n > size / bs)
		snprintf(text, room, "; for bytes: %s=%lldB", operand,
		    (long long)n);
	return text;
}

/* What leads past the end: only what was given is named. */
static const char *
leading(const struct plan *p, char *text, size_t room)
{
	const struct opts *o = p->opts;

	if (o->count < 0)
		return "the manifest leads";
	if (o->skip > 0)
		return "skip= and count= lead";
	if ((o->iflag & FLAG_COUNT_BYTES) != 0)
		return "count= leads";
	snprintf(text, room, "count=%lld is blocks of %llu bytes, and leads",
	    (long long)o->count, (ull)p->bs);
	return text;
}

/* skip=, or skip= and count=, past a known end. */
static int
past_end(const struct plan *p, struct fault *f)
{
	const struct opts *o = p->opts;
	uint64_t size = (uint64_t)p->src->geo.size;
	char what[80], hint[48];

	if (p->src->geo.size < 0)
		return 0;
	if (p->src_off > size)
		return fault_set(f, STATUS_REFUSED, "skip= leads to byte %llu, "
		    "past the end of %s%s at %llu%s", (ull)p->src_off,
		    p->src->lim.within, p->src->name, (ull)size, for_bytes(hint,
		    sizeof(hint), "skip", o->skip, (o->iflag &
		    FLAG_SKIP_BYTES) != 0, size, p->bs));
	if (p->length > size - p->src_off)
		return fault_set(f, STATUS_REFUSED, "%s to byte %llu, past the "
		    "end of %s%s at %llu%s", leading(p, what, sizeof(what)),
		    (ull)(p->src_off + p->length), p->src->lim.within,
		    p->src->name, (ull)size, for_bytes(hint, sizeof(hint),
		    "count", o->count, (o->iflag & FLAG_COUNT_BYTES) != 0,
		    size, p->bs));
	return 0;
}

/* "; count=N takes ..." for a target that has room for less. */
static void
advise_count(const struct plan *p, uint64_t room, char *text, size_t size)
{
	uint64_t unit = (p->opts->iflag & FLAG_COUNT_BYTES) != 0 ? 1 : p->bs;
	uint64_t most = room / p->pad * p->pad / unit;
	uint64_t need = round_up(p->needed, unit) / unit;

	if (need > 0 && need <= most)
		snprintf(text, size, "count=%llu takes all partitions",
		    (ull)need);
	else if (most > 0)
		snprintf(text, size, "count=%llu %s", (ull)most, need > 0 ?
		    "fits, but not all partitions" : "fits");
	else
		snprintf(text, size, "count= limits the copy");
}

static int
too_small(const struct plan *p, struct fault *f)
{
	uint64_t room = (uint64_t)p->dst->geo.room;
	uint64_t length = round_up(p->length, p->pad);
	char advice[64], hint[48];

	if (p->dst->geo.room < 0)
		return 0;
	if (p->dst_off > room)
		return fault_set(f, STATUS_REFUSED, "seek= leads to byte %llu, "
		    "past the end of %s%s at %llu%s", (ull)p->dst_off,
		    p->dst->lim.within, p->dst->name, (ull)room, for_bytes(hint,
		    sizeof(hint), "seek", p->opts->seek, (p->opts->oflag &
		    FLAG_SEEK_BYTES) != 0, room, p->bs));
	if (!p->bounded || length <= room - p->dst_off)
		return 0;
	advise_count(p, room - p->dst_off, advice, sizeof(advice));
	return fault_set(f, STATUS_REFUSED, "%s%s has room for %llu bytes from "
	    "byte %llu on, but %llu are to be copied; %s", p->dst->lim.within,
	    p->dst->name, (ull)(room - p->dst_off), (ull)p->dst_off,
	    (ull)length, advice);
}

/* However empty the file system was; what is there now is but a note. */
static int
fs_too_small(const struct plan *p, struct fault *f)
{
	struct fit fit;

	if (!fit_never(p, &fit))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: its file system has %llu "
	    "bytes in all, but %llu are to be written; count= limits the copy",
	    p->dst->name, (ull)fit.room, (ull)fit.need);
}

/* A drive without a medium, or a loop device without a file. */
static bool
empty(const struct endpoint *ep)
{
	return ep->is.device && ep->geo.size == 0 &&
	    ep->id.known && ep->id.ino == 0;
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
	const struct endpoint *ep = p->src->is.streamed || !p->bounded ||
	    p->src->geo.size < 0 ? p->src : p->dst;

	if (p->work != WORK_RESCUE || (ep == p->dst && !p->dst->is.streamed))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is read or written in order: "
	    "map= cannot be used", ep->name);
}

/* A map says what has been flushed. */
static int
no_flush(const struct plan *p, struct fault *f)
{
	if (p->work != WORK_RESCUE || !p->dst->is.unflushable)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: the server has no flush, so "
	    "map= could not tell what is there for good", p->dst->name);
}

static int
no_seek(const struct plan *p, struct fault *f)
{
	if (p->opts->seek == 0 || p->dst->is.seekable)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is written in order: seek= "
	    "cannot be used", p->dst->name);
}

/* By the shell: oflag=append itself contradicts oflag=trunc. */
static int
no_cut(const struct plan *p, struct fault *f)
{
	if (p->truncate < 0 || (p->dst->spec.flags & FLAG_APPEND) == 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is appended to: oflag=trunc "
	    "cannot be used", p->dst->name);
}

/* bs= and the source's logical blocks. */
static int
bs_misfit(const struct plan *p, struct fault *f)
{
	if (p->src->geo.block == 0 || p->bs % p->src->geo.block == 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "bs=%llu is not a multiple of the "
	    "logical block of %s, %u bytes", (ull)p->bs, p->src->name,
	    p->src->geo.block);
}

/* The range on a target device and its logical blocks. */
static int
target_misfit(const struct plan *p, struct fault *f)
{
	uint32_t block = p->dst->geo.block;
	bool exact = p->bounded && (p->counted || p->src->geo.block > 0);
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
	bool		somewhere;	/* in there: not known where */
	uint64_t	id;	/* of a whole disk, see disk_id; or 0 */
};

enum { PLACES = 64 };

struct places {
	struct place	at[PLACES];
	size_t		n;
	bool		on_disk;	/* files lie anywhere on their disks */
	int		err;	/* errno: there may be more, for what this */
	dev_t		dev;	/* device lies on was not found out; or 0 */
};

static void
not_seen(struct places *all, dev_t dev, int err)
{
	if (all->err == 0) {
		all->err = err;
		all->dev = dev;
	}
}

static void
add(struct places *all, struct place p)
{
	if (p.to < p.from)
		p.to = UINT64_MAX;
	if (all->n < PLACES)
		all->at[all->n++] = p;
	else
		not_seen(all, p.dev, E2BIG);
}

/* A file is somewhere on the disks of its file system, if that is asked. */
static void
add_file_disks(struct places *all, const struct located *l)
{
	dev_t node[PLACES];
	size_t n = 0, i;
	int err = all->on_disk ? filesystem_disks(l, node, PLACES, &n) : 0;

	if (err != 0)
		not_seen(all, l->dev, err);
	for (i = 0; i < n; i++)
		add(all, (struct place){ .dev = node[i], .to = UINT64_MAX });
}

/* What a loop device is made of. */
static void
add_backing(struct places *all, const struct disk *d, const struct place *p)
{
	uint64_t off = d->backing_off;
	struct stat st;
	int err;

	if (d->backing[0] == '\0')
		return;
	err = disk_backing(d->whole_name, d->backing, &st);
	if (err == 0 && S_ISBLK(st.st_mode)) {
		add(all, (struct place){ .dev = st.st_rdev,
		    .from = p->from + off, .to = p->to + off,
		    .somewhere = p->somewhere });
	} else if (err == 0) {
		add(all, (struct place){ .dev = st.st_dev, .ino = st.st_ino,
		    .from = p->from + off, .to = p->to + off,
		    .somewhere = p->somewhere });
		add_file_disks(all, &(struct located){ AT_FDCWD, d->backing,
		    st.st_dev, st.st_ino });
	} else if (err != ENXIO) {
		not_seen(all, d->node, err);
	}
}

/* By the table of a dm device; false where that does not tell. */
static bool
add_pieces(struct places *all, const struct place *p)
{
	struct dm_piece piece[PLACES];
	uint64_t from, to;
	size_t n, i;

	if (p->somewhere || dm_pieces(p->dev, piece, PLACES, &n) != 0)
		return false;
	for (i = 0; i < n; i++) {
		from = MAX(p->from, piece[i].start);
		to = MIN(p->to, piece[i].start + piece[i].length);
		if (from < to)
			add(all, (struct place){ .dev = piece[i].node,
			    .from = from - piece[i].start + piece[i].off,
			    .to = to - piece[i].start + piece[i].off });
	}
	return true;
}

/* What dm and md devices are made of; where in there is mostly not known. */
static void
add_slaves(struct places *all, const struct place *p)
{
	dev_t slave[PLACES];
	size_t n, i;
	int err = disk_slaves(p->dev, slave, PLACES, &n);

	if (err != 0)
		not_seen(all, p->dev, err);
	if (n > 0 && add_pieces(all, p))
		return;
	for (i = 0; i < n; i++)
		add(all, (struct place){ .dev = slave[i], .to = UINT64_MAX,
		    .somewhere = true });
}

/* The places that a place on a block device is the same as. */
static void
add_below(struct places *all, struct place *at)
{
	struct place p = *at;
	struct disk d;

	if (!disk_of_block(p.dev, &d) || d.err != 0) {
		not_seen(all, p.dev, d.err);
		return;
	}
	if (d.partition != 0) {
		add(all, (struct place){ .dev = d.whole,
		    .from = d.start + p.from,
		    .to = d.start + MIN(p.to, d.length),
		    .somewhere = p.somewhere });
	} else {
		at->id = disk_id(&d);
		add_backing(all, &d, &p);
	}
	add_slaves(all, &p);
}

/* A SCSI node that is not known as its disk's block node. */
static void
look_for_block(struct places *all, const struct endpoint *ep)
{
	struct disk d;

	if (!endpoint_disk(ep, &d) || d.err != 0)
		not_seen(all, ep->id.node, d.err);
	else if (d.node != 0)
		not_seen(all, ep->id.node, ESTALE);
}

/* A disk that is reached by a network is the one that says so, or 0. */
static uint64_t
id_of_remote(const struct endpoint *ep)
{
	struct disk d;

	return ep->is.remote && endpoint_disk(ep, &d) ? disk_id(&d) : 0;
}

/* Whether anything is known of what it lies on. */
static bool
located(const struct endpoint *ep)
{
	return ep->id.known || id_of_remote(ep) != 0;
}

/*
 * All the places that are the same as a range of an end, top down: partition,
 * disk, the file of a loop device, what dm and md are made of; on_disk: and the
 * disks of the file systems that files lie on.
 */
static void
places(const struct endpoint *ep, uint64_t from, uint64_t len, bool on_disk,
    struct places *all)
{
	size_t i;

	*all = (struct places){ .on_disk = on_disk };
	add(all, (struct place){ .dev = ep->id.dev, .ino = ep->id.ino,
	    .from = from, .to = from + len, .id = id_of_remote(ep) });
	if (ep->is.remote)
		return;
	if (!ep->is.device)
		add_file_disks(all, &(struct located){
		    ep->is.inherited ? ep->fd : AT_FDCWD,
		    ep->is.inherited ? "" : ep->name,
		    ep->id.dev, ep->id.ino });
	if (ep->is.device && ep->id.ino != 0)
		look_for_block(all, ep);
	for (i = 0; i < all->n && all->err == 0; i++)
		if (all->at[i].ino == 0)
			add_below(all, &all->at[i]);
}

/* Of one file or device; or two paths to one disk. */
static bool
together(const struct place *p, const struct place *q)
{
	return (p->dev != 0 && p->dev == q->dev && p->ino == q->ino) ||
	    (p->id != 0 && p->id == q->id);
}

/*
 * What is somewhere on a disk leaves room for others there, as logical volumes
 * do.  One that lies above the other is met on its way down.
 */
static bool
overlap(const struct places *a, const struct places *b)
{
	const struct place *p, *q;

	for (p = a->at; p < a->at + a->n; p++)
		for (q = b->at; q < b->at + b->n; q++)
			if (together(p, q) && p->from < q->to &&
			    q->from < p->to && !(p->somewhere && q->somewhere))
				return true;
	return false;
}

/* A file is written whatever lies below it: claim.c looks for loop devices. */
static int
maybe_same(const struct plan *p, const struct places *a, struct fault *f)
{
	if (a->err == 0 || !p->dst->is.device)
		return 0;
	return fault_set(f, STATUS_REFUSED, "whether %s overlaps what is read "
	    "from %s is not known, for what %s%u:%u lies on "
	    "cannot be read: %s (force=overlap writes all the same)",
	    p->dst->name, p->src->name, major(a->dev) != 0 ? "/sys/dev/block/" :
	    "the file system ", major(a->dev), minor(a->dev),
	    errno_words(a->err));
}

/* A zoned disk and the range. */
static int
out_of_order(const struct plan *p, struct fault *f)
{
	return p->length == 0 ? 0 : endpoint_check_range(p->dst, p->dst_off,
	    p->bounded ? p->dst_off + round_up(p->length, p->pad) :
	    UINT64_MAX, p->src, p->src_off, f);
}

/* What a server serves is known by its address only. */
static bool
same_export(const struct plan *p)
{
	uint64_t length = round_up(p->length, p->pad);

	return p->src->is.remote && p->dst->is.remote &&
	    strcmp(p->src->name, p->dst->name) == 0 &&
	    p->src_off < p->dst_off + length &&
	    p->dst_off < p->src_off + p->length;
}

static int
overlaps(const struct plan *p, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%sthe range to be written on %s "
	    "overlaps the one to be read from %s (force=overlap writes all the "
	    "same)", strcmp(p->src->name, p->dst->name) == 0 ? "source and "
	    "target are the same: " : "", p->dst->name, p->src->name);
}

/* Where a target is written, or cut off. */
static void
written(const struct plan *p, struct places *all)
{
	uint64_t at = p->dst_off, len = round_up(p->length, p->pad);

	if (p->truncate >= 0) {
		at = (uint64_t)p->truncate;
		len = UINT64_MAX - at;
	}
	places(p->dst, at, len, false, all);
}

/* A target that is cut off or written where the source is read. */
static int
same_end(const struct plan *p, struct fault *f)
{
	struct places a, b;

	if (p->length == 0 || (p->opts->force & FORCE_OVERLAP) != 0)
		return 0;
	if (same_export(p))
		return overlaps(p, f);
	if (!located(p->src) || !located(p->dst))
		return 0;
	/* What a file system lies on is written only where that is forced. */
	places(p->src, p->src_off, p->length, p->dst->id.ino == 0 &&
	    (p->opts->force & ~(unsigned)FORCE_OVERLAP) != 0, &a);
	written(p, &b);
	if (!overlap(&a, &b))
		return maybe_same(p, a.err != 0 ? &a : &b, f);
	return overlaps(p, f);
}

int
safety_apart(const struct plan *p, const struct plan *q, struct fault *f)
{
	struct places a, b;

	if (!located(p->dst) || !located(q->dst))
		return 0;
	written(p, &a);
	written(q, &b);
	if (overlap(&a, &b))
		return fault_set(f, STATUS_REFUSED, "the ranges to be written "
		    "on %s and on %s overlap", p->dst->name, q->dst->name);
	if ((a.err != 0 && p->dst->is.device) ||
	    (b.err != 0 && q->dst->is.device))
		return fault_set(f, STATUS_REFUSED, "whether %s and %s overlap "
		    "is not known, for what they lie on cannot be read: %s",
		    p->dst->name, q->dst->name, errno_words(a.err != 0 ?
		    a.err : b.err));
	return 0;
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
	struct disk d, other;
	enum disk_name by;

	if (called == NULL)
		return 0;
	if (!endpoint_disk(ep, &d))
		return fault_set(f, STATUS_REFUSED, "%s is not a disk, and %s= "
		    "asks for one", ep->name, operand);
	by = disk_is(&d, called);
	if (by == NAME_OTHER)
		return fault_set(f, STATUS_REFUSED, "%s is not the disk that "
		    "%s=%s asks for: its serial number is %s, its WWN %s",
		    ep->name, operand, called, known(d.serial), known(d.wwn));
	if (disk_namesake(&d, by, &other))
		return fault_set(f, STATUS_REFUSED, "%s=%s: %s and %s are both "
		    "called so; their WWNs are %s and %s; a name that no other "
		    "disk has tells which", operand, called,
		    d.name[0] != '\0' ? d.name : d.sg, other.name[0] != '\0' ?
		    other.name : other.sg, known(d.wwn), known(other.wwn));
	return 0;
}

static int
wrong_disk(const struct plan *p, struct fault *f)
{
	if (other_disk(p->src, "iserial", p->opts->iserial, f) != 0)
		return -1;
	return other_disk(p->dst, "oserial", p->oserial, f);
}

/* A name that is to be made among the devices is a slip of the hand. */
static int
new_device(const struct plan *p, struct fault *f)
{
	if (!p->dst->is.absent || !among_devices(p->dst->dir))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s does not exist, and no file is "
	    "created among the devices; is the name right?", p->dst->name);
}

/* A file that is standard output gets them behind the copy: print_hold. */
static int
own_messages(const struct plan *p, struct fault *f)
{
	if (isatty(STDERR_FILENO) || !endpoint_is(p->dst, STDERR_FILENO))
		return 0;
	if (p->dst->is.inherited)
		return fault_set(f, STATUS_REFUSED, "%s is standard error, "
		    "too: messages would come into the copy; 2>FILE sends them "
		    "elsewhere", p->dst->name);
	return fault_set(f, STATUS_REFUSED, "%s is standard error: messages "
	    "would be written over the copy", p->dst->name);
}

/* Nobody reads an image there: of= was forgotten. */
static int
bare_terminal(const struct plan *p, struct fault *f)
{
	if (p->opts->output != NULL || !p->dst->is.device ||
	    !p->dst->is.inherited || !isatty(STDOUT_FILENO))
		return 0;
	return fault_set(f, STATUS_USAGE, "of= is missing, and standard output "
	    "is a terminal; of=- writes to it all the same");
}

static int
stream_append(const struct plan *p, struct fault *f)
{
	if (!p->src->id.known || !p->dst->is.streamed || !p->dst->id.known ||
	    p->src->id.dev != p->dst->id.dev ||
	    p->src->id.ino != p->dst->id.ino)
		return 0;
	return fault_set(f, STATUS_REFUSED,
	    "%s cannot be appended to itself", p->src->name);
}

static bool
mounted_writable(dev_t node, struct usage *use)
{
	return usage_of_node(node, ~(unsigned)USE_MOUNTED, use) &&
	    use->writable;
}

bool
safety_source_busy(const struct plan *p, struct usage *use, char *name,
    size_t room)
{
	uint64_t from = p->src_off, to = from + p->length;
	struct disk_part *part = NULL;
	struct disk d;
	size_t n = 0, i;
	bool busy;

	if (!endpoint_disk(p->src, &d) || d.node == 0)
		return false;
	strlcpy(name, d.name, room);
	busy = mounted_writable(d.node, use);
	if (d.partition == 0)
		(void)disk_parts(d.whole, &part, &n);
	for (i = 0; i < n && !busy; i++) {
		if (part[i].start >= to || from >= part[i].start +
		    part[i].length)
			continue;
		busy = mounted_writable(part[i].node, use);
		strlcpy(name, part[i].name, room);
	}
	free(part);
	return busy;
}

/* Before the target is created or cut off for it. */
static int
not_shareable(const struct plan *p, struct fault *f)
{
	if ((p->opts->reflink & REFLINK_ALWAYS) == 0 || (p->reflink &&
	    (p->length == 0 || p->share_off < p->share_end)))
		return 0;
	if (!p->src->is.shares || !p->dst->is.shares)
		return fault_set(f, STATUS_REFUSED, "reflink=always: %s and %s "
		    "are not both files", p->src->name, p->dst->name);
	return fault_set(f, STATUS_REFUSED, "reflink=always: %s and %s can "
	    "share whole blocks only", p->src->name, p->dst->name);
}

/* The same for the other end of a comparison. */
static int
other_past_end(const struct plan *p, struct fault *f)
{
	uint64_t size = (uint64_t)p->dst->geo.size;

	if (p->dst->geo.size < 0 || (p->dst_off <= size &&
	    (!p->counted || p->length <= size - p->dst_off)))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s past the end of %s%s at byte "
	    "%llu", p->opts->count < 0 ? "seek= leads" : p->opts->seek > 0 ?
	    "seek= and count= lead" : "count= leads", p->dst->lim.within,
	    p->dst->name, (ull)size);
}

/* verify= and oflag=sparing; what is not there yet is asked later. */
static int
not_readable_back(const struct plan *p, struct fault *f)
{
	struct endpoint r;

	if (!p->reads_back ||
	    (p->dst->is.absent && endpoint_readable_back(p->dst)))
		return 0;
	if (endpoint_readback(&r, p->dst, READ_BACK_MOST, f) != 0)
		return -1;
	endpoint_close(&r);
	return 0;
}

/* wait=: a disk with a serial number or a WWN that no other has. */
static int
not_awaitable(const struct plan *p, struct fault *f)
{
	struct disk d, other;

	if (p->opts->wait < 0 || p->src->is.remote)
		return 0;
	if (!endpoint_disk(p->src, &d) || (d.serial[0] == '\0' &&
	    d.wwn[0] == '\0'))
		return fault_set(f, STATUS_REFUSED, "wait=: %s has no serial "
		    "number or WWN by which it could be known when it comes "
		    "back", p->src->name);
	if (disk_find(&d, &other) > 1)
		return fault_set(f, STATUS_REFUSED, "wait=: another disk has "
		    "the serial number and WWN of %s, too", p->src->name);
	return 0;
}

/* maxtemp=: a disk whose temperature the kernel knows. */
static int
not_measurable(const struct plan *p, struct fault *f)
{
	struct disk d;
	double is;

	if (p->opts->maxtemp < 0 || (endpoint_disk(p->src, &d) &&
	    disk_temperature(d.whole, &is)))
		return 0;
	return fault_set(f, STATUS_REFUSED, "maxtemp=: nobody knows how warm "
	    "%s is; for a SATA disk load the module drivetemp", p->src->name);
}

static int (*const readings[])(const struct plan *, struct fault *) = {
	wrong_disk,
	empty_device,
	past_end,
	other_past_end,
	bs_misfit,
};

static int (*const objections[])(const struct plan *, struct fault *) = {
	bare_terminal,
	new_device,
	wrong_disk,
	no_places,
	no_flush,
	no_seek,
	no_cut,
	empty_device,
	past_end,
	bs_misfit,
	target_misfit,
	too_small,
	out_of_order,
	fs_too_small,
	stream_append,
	own_messages,
	same_end,
	not_shareable,
	not_readable_back,
	not_awaitable,
	not_measurable,
};

int
safety_check(const struct plan *p, struct fault *f)
{
	size_t i;

	for (i = 0; p->work == WORK_COMPARE && i < COUNT(readings); i++)
		if (readings[i](p, f) != 0)
			return -1;
	for (i = 0; p->work != WORK_COMPARE && i < COUNT(objections); i++)
		if (objections[i](p, f) != 0)
			return -1;
	return 0;
}
