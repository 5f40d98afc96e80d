/*
 * Objections: a table of tests that look at the plan and its open ends.  Each
 * says what is wrong and what to do instead.
 */
#include "plan/safety.h"

#include <bsd/string.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "disk/disk.h"
#include "plan/fit.h"

/*
 * The hint for operands that lead to byte "end", past "size": sectors, as fdisk
 * has them, if bs= is more than one and they would not; or bytes, if as many
 * are there as the number says.
 */
static const char *
in_what(const struct plan *p, char *text, size_t room, const char *operand,
    int64_t n, bool bytes, uint64_t end, uint64_t size)
{
	text[0] = '\0';
	if (bytes || n <= 0)
		return text;
	if (p->bs > p->block && end / p->bs <= size / p->block)
		snprintf(text, room, "; for sectors of %u bytes: bs=%u",
		    p->block, p->block);
	else if ((uint64_t)n <= size && (uint64_t)n > size / p->bs)
		snprintf(text, room, "; for bytes: %s=%lldB", operand,
		    (long long)n);
	return text;
}

/* The operands that lead beyond the end, as far as they were given. */
static const char *
safety_leading(const struct plan *p, char *text, size_t room)
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

/*
 * skip=, or skip= and count=, beyond a known end; or standard input, which was
 * there before.
 */
static int
past_end(const struct plan *p, struct fault *f)
{
	const struct opts *o = p->opts;
	uint64_t size = (uint64_t)p->src->geo.size;
	char what[80], hint[48];

	if (p->src->geo.size < 0)
		return 0;
	if (p->src_off > size)
		return fault_set(f, STATUS_REFUSED, "%s byte %llu, past the "
		    "end of %s%s at %llu%s", o->skip > 0 ? "skip= leads to" :
		    "it stands at", (ull)p->src_off, p->src->lim.within,
		    p->src->name, (ull)size, in_what(p, hint, sizeof(hint),
		    "skip", o->skip, (o->iflag & FLAG_SKIP_BYTES) != 0,
		    p->src_off, size));
	if (p->length > size - p->src_off)
		return fault_set(f, STATUS_REFUSED,
		    "%s to byte %llu, past the end of %s%s at %llu%s",
		    safety_leading(p, what, sizeof(what)),
		    (ull)(p->src_off + p->length), p->src->lim.within,
		    p->src->name, (ull)size,
		    in_what(p, hint, sizeof(hint), "count", o->count,
		    (o->iflag & FLAG_COUNT_BYTES) != 0, p->src_off + p->length,
		    size));
	return 0;
}

/* The hint "; count=N takes ..." for a target that is too small. */
static void
advise_count(const struct plan *p, uint64_t room, char *text, size_t size)
{
	const struct opts *o = p->opts;
	uint64_t unit = (o->iflag & FLAG_COUNT_BYTES) != 0 ? 1 : p->bs;
	uint64_t most = room / p->pad * p->pad / unit;
	uint64_t need = round_up(p->needed, unit) / unit;

	if (need > 0 && need <= most)
		snprintf(text, size, "%scount=%llu copies %s",
		    p->cut[0] == '\0' && o->count < 0 && o->map == NULL ?
		    "table=fix or " : "", (ull)need,
		    p->cut[0] != '\0' ? "the whole file system" :
		    "all partitions");
	else if (most > 0)
		snprintf(text, size, "count=%llu fits%s%s", (ull)most,
		    need == 0 ? "" : ", but ", need == 0 ? "" :
		    p->cut[0] != '\0' ? p->cut : "not all partitions");
	else
		snprintf(text, size, "count= limits the copy");
}

static int
too_small(const struct plan *p, struct fault *f)
{
	uint64_t room = (uint64_t)p->dst->geo.room;
	uint64_t length = round_up(p->length, p->pad);
	char advice[64 + CUT_ROOM], hint[48];

	if (p->dst->geo.room < 0)
		return 0;
	if (p->dst_off > room)
		return fault_set(f, STATUS_REFUSED, "seek= leads to byte %llu, "
		    "past the end of %s%s at %llu%s", (ull)p->dst_off,
		    p->dst->lim.within, p->dst->name, (ull)room, in_what(p,
		    hint, sizeof(hint), "seek", p->opts->seek, (p->opts->oflag &
		    FLAG_SEEK_BYTES) != 0, p->dst_off, room));
	if (!p->bounded && p->src->geo.least > p->src_off)
		length = p->src->geo.least - p->src_off;
	else if (!p->bounded)
		return 0;
	if (length <= room - p->dst_off)
		return 0;
	if (!p->bounded)	/* a cut gz may say anything */
		return fault_set(f, STATUS_REFUSED, "%s%s has room for %llu "
		    "bytes from byte %llu on, but %s says of itself that at "
		    "least %llu are to be copied", p->dst->lim.within,
		    p->dst->name, (ull)(room - p->dst_off), (ull)p->dst_off,
		    p->src->name, (ull)length);
	advise_count(p, room - p->dst_off, advice, sizeof(advice));
	return fault_set(f, STATUS_REFUSED, "%s%s has room for %llu bytes from "
	    "byte %llu on, but %llu are to be copied; %s", p->dst->lim.within,
	    p->dst->name, (ull)(room - p->dst_off), (ull)p->dst_off,
	    (ull)length, advice);
}

static int
fs_too_small(const struct plan *p, struct fault *f)
{
	struct fit fit = fit_judge(p);
	char text[sizeof(f->text)];

	if (fit.is <= FITS_PERHAPS || (p->opts->force & FORCE_ROOM) != 0)
		return 0;
	fit_tell(p, &fit, text, sizeof(text));
	return opts_refuse(f, FORCE_ROOM, "%s; count= limits the copy", text);
}

/* A drive without a medium, or a loop device without a file. */
static bool
safety_empty(const struct endpoint *ep)
{
	return ep->is.device && ep->geo.size == 0 &&
	    ep->id.known && ep->id.ino == 0;
}

static int
empty_device(const struct plan *p, struct fault *f)
{
	const struct endpoint *ep = safety_empty(p->src) ? p->src : p->dst;

	if (!safety_empty(ep))
		return 0;
	fault_set(f, STATUS_REFUSED, "%s has a size of 0; is there a medium in "
	    "it?", ep->name);
	f->end = ep->name;
	return -1;
}

/* A map records positions, so both ends must have them. */
static int
no_places(const struct plan *p, struct fault *f)
{
	const struct endpoint *ep = p->src->is.streamed || !p->bounded ||
	    p->src->geo.size < 0 ? p->src : p->dst;

	if (p->work != WORK_RESCUE || (ep == p->dst && !p->dst->is.streamed))
		return 0;
	fault_set(f, STATUS_REFUSED, "%s is read or written in order: map= "
	    "cannot be used", ep->name);
	f->end = ep->name;
	return -1;
}

/* A map records data that was flushed. */
static int
no_flush(const struct plan *p, struct fault *f)
{
	if (p->work != WORK_RESCUE || !p->dst->is.unflushable)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: %s, so map= could not tell "
	    "what is safely stored", p->dst->name, p->dst->is.remote ?
	    "the server has no flush" :
	    "its overlay was mounted volatile and has no flush");
}

static int
no_seek(const struct plan *p, struct fault *f)
{
	if (p->opts->seek == 0 || p->dst->is.seekable)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is written in order: seek= "
	    "cannot be used", p->dst->name);
}

/* Opened for appending by the shell; for oflag=append see conflicts.def. */
static int
no_cut(const struct plan *p, struct fault *f)
{
	if (p->truncate < 0 || (p->dst->spec.flags & FLAG_APPEND) == 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is appended to: oflag=trunc "
	    "cannot be used", p->dst->name);
}

/* bs= against logical blocks of the source. */
static int
bs_misfit(const struct plan *p, struct fault *f)
{
	if (p->src->geo.block == 0 || p->bs % p->src->geo.block == 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "bs=%llu is not a multiple of the "
	    "logical block of %s, %u bytes%s", (ull)p->bs, p->src->name,
	    p->src->geo.block, p->bs % 1000 == 0 ? "; kB is 1000, k is 1024" :
	    "");
}

/*
 * The range against logical blocks of a target device.  The end of a file is
 * padded, and so is that of an image with a block map.
 */
static int
target_misfit(const struct plan *p, struct fault *f)
{
	uint32_t block = p->dst->geo.block;
	bool exact = p->bounded && p->opts->bmap == NULL &&
	    (p->counted || p->src->geo.block > 0);
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

/* The range against the zones of a target. */
static int
out_of_order(const struct plan *p, struct fault *f)
{
	return p->length == 0 ? 0 : endpoint_check_range(p->dst, p->dst_off,
	    p->bounded ? plan_target_end(p) : UINT64_MAX, p->src, p->src_off,
	    f);
}

static const char *
safety_known(const char *id)
{
	return id[0] != '\0' ? id : "not known";
}

static int
other_disk(const struct endpoint *ep, const char *operand, const char *called,
    struct fault *f)
{
	struct disk d, other;
	enum disk_name by;

	if (!endpoint_disk(ep, &d))
		return fault_set(f, STATUS_REFUSED, "%s is not a disk, and %s= "
		    "asks for one", ep->name, operand);
	by = disk_is(&d, called);
	if (by == NAME_OTHER)
		return fault_set(f, STATUS_REFUSED, "%s is not the disk that "
		    "%s=%s asks for: its serial number is %s, its WWN is %s",
		    ep->name, operand, called, safety_known(d.serial),
		    safety_known(d.wwn));
	if (disk_namesake(&d, by, &other))
		return fault_set(f, STATUS_REFUSED,
		    "%s=%s: %s and %s are both called that; their WWNs are %s "
		    "and %s; use a name that only one has",
		    operand, called, d.name[0] != '\0' ? d.name : d.sg,
		    other.name[0] != '\0' ? other.name : other.sg,
		    safety_known(d.wwn), safety_known(other.wwn));
	return 0;
}

static int
wrong_disk(const struct plan *p, struct fault *f)
{
	const struct endpoint *ep = p->src;
	int failed = p->opts->iserial == NULL ? 0 :
	    other_disk(ep, "iserial", p->opts->iserial, f);

	if (failed == 0 && p->oserial != NULL) {
		ep = p->dst;
		failed = other_disk(ep, "oserial", p->oserial, f);
	}
	if (failed != 0)
		f->end = ep->name;
	return failed;
}

/* A target to be created in /dev is surely a typo. */
static int
new_device(const struct plan *p, struct fault *f)
{
	if (!p->dst->is.absent || !among_devices(p->dst->dir))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s does not exist, and no file is "
	    "created in the device file system; is the name right?",
	    p->dst->name);
}

/* of=sdb would make a file of the size of a disk in the current directory. */
static int
bare_device(const struct plan *p, struct fault *f)
{
	char node[NAME_MAX];	/* longer ones are no names of disks */
	struct stat st;

	if (!p->dst->is.absent || p->dst->name[0] == '.' ||
	    p->dst->name[0] == '/')
		return 0;
	snprintf(node, sizeof(node), "/dev/%s", p->dst->name);
	if (stat(node, &st) != 0 || !S_ISBLK(st.st_mode))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is no file here, but %s is a "
	    "disk: write %s, or ./%s for a file", p->dst->name, node, node,
	    p->dst->name);
}

/* A file that is standard output gets messages after the copy: print_hold. */
static int
own_messages(const struct plan *p, struct fault *f)
{
	if (isatty(STDERR_FILENO))
		return 0;
	if (!endpoint_is(p->dst, STDERR_FILENO))
		return errno == 0 ? 0 : fault_errno(f, errno, "%s: whether it "
		    "is standard error, too", p->dst->name);
	if (p->dst->is.inherited)
		return fault_set(f, STATUS_REFUSED, "%s is standard error, "
		    "too: messages would get into the copy; 2>FILE sends them "
		    "elsewhere", p->dst->name);
	return fault_set(f, STATUS_REFUSED, "%s is standard error: messages "
	    "would be written over the copy", p->dst->name);
}

/* Nobody reads an image on a terminal: of= was forgotten. */
static int
bare_terminal(const struct plan *p, struct fault *f)
{
	if (p->opts->output != NULL || !p->dst->is.device ||
	    !p->dst->is.inherited || !isatty(STDOUT_FILENO))
		return 0;
	return fault_set(f, STATUS_USAGE, "of= is missing, and standard output "
	    "is a terminal; of=- writes to it anyway");
}

static int
stream_append(const struct plan *p, struct fault *f)
{
	if (!p->src->id.known || !p->dst->is.streamed || !p->dst->id.known ||
	    p->src->id.dev != p->dst->id.dev ||
	    p->src->id.ino != p->dst->id.ino)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s cannot be %s itself",
	    p->src->name, p->dst->encoded != NULL ? "packed into" :
	    "appended to");
}

static bool
mounted_writable(dev_t node, struct usage *use)
{
	return usage_of_node(node, ~(unsigned)USE_MOUNTED, use) &&
	    use->writable;
}

/* Apart, because a struct disk needs much stack, and files have none. */
static bool __attribute__((noinline))
disk_busy(const struct plan *p, struct usage *use, char *name, size_t room)
{
	bool all = p->src->carrier != NULL;
	uint64_t from = all ? 0 : p->src_off;
	uint64_t to = all ? UINT64_MAX : from + p->length;
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

bool
safety_source_busy(const struct plan *p, struct usage *use, char *name,
    size_t room)
{
	return (p->src->is.device || p->src->carrier != NULL) &&
	    disk_busy(p, use, name, room);
}

/* Found out before the target is created or truncated. */
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

/* seek=, or seek= and count=, beyond the other end of a comparison. */
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

/*
 * verify= and oflag=sparing; a target that does not exist yet is tried later.
 */
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

static int
not_unique(const struct plan *p, struct fault *f)
{
	struct disk d, other;

	if (!endpoint_disk(p->src, &d) || (d.serial[0] == '\0' &&
	    d.wwn[0] == '\0'))
		return fault_set(f, STATUS_REFUSED, "wait=: %s has no serial "
		    "number or WWN to recognise it by when it comes back",
		    p->src->name);
	if (disk_find(&d, &other) > 1)
		return fault_set(f, STATUS_REFUSED, "wait=: another disk has "
		    "the serial number and WWN of %s, too", p->src->name);
	return 0;
}

/* wait= needs a disk with a unique serial number or WWN. */
static int
not_awaitable(const struct plan *p, struct fault *f)
{
	return p->opts->wait < 0 || p->src->is.remote ? 0 : not_unique(p, f);
}

static bool
safety_measurable(const struct endpoint *ep)
{
	struct disk d;
	double is;

	return endpoint_disk(ep, &d) && disk_temperature(d.whole, &is);
}

/* maxtemp= needs a disk whose temperature the kernel knows. */
static int
not_measurable(const struct plan *p, struct fault *f)
{
	if (p->opts->maxtemp < 0 || safety_measurable(p->src))
		return 0;
	return fault_set(f, STATUS_REFUSED, "maxtemp=: the temperature of %s "
	    "is not known; for a SATA disk load the module drivetemp",
	    p->src->name);
}

/* rest= of what is no device, or of one that cannot free blocks. */
static int
no_rest(const struct plan *p, struct fault *f)
{
	struct disk d;

	if (p->opts->rest == 0)
		return 0;
	if (!p->dst->is.device || !p->bounded || p->dst->is.zoned)
		return fault_set(f, STATUS_USAGE, "rest= clears a device "
		    "behind a copy of a known length: %s", p->dst->is.device ?
		    p->src->name : p->dst->name);
	if ((p->opts->rest & REST_TRIM) != 0 && endpoint_disk(p->dst, &d) &&
	    d.node != 0 && !d.discards)
		return fault_set(f, STATUS_REFUSED, "rest=trim: %s cannot free "
		    "blocks; rest=zero clears them", p->dst->name);
	return 0;
}

/* Each with the end that it is about, or it says so itself. */
static const struct objection {
	int (*test)(const struct plan *, struct fault *);
	enum { OF_SOURCE, OF_TARGET, OF_ANY } about;
} readings[] = {
	{ wrong_disk, OF_ANY },
	{ empty_device, OF_ANY },
	{ past_end, OF_SOURCE },
	{ other_past_end, OF_TARGET },
	{ bs_misfit, OF_SOURCE },
}, objections[] = {
	{ bare_terminal, OF_TARGET },
	{ new_device, OF_TARGET },
	{ bare_device, OF_TARGET },
	{ wrong_disk, OF_ANY },
	{ no_places, OF_ANY },
	{ no_flush, OF_TARGET },
	{ no_seek, OF_TARGET },
	{ no_cut, OF_TARGET },
	{ empty_device, OF_ANY },
	{ past_end, OF_SOURCE },
	{ bs_misfit, OF_SOURCE },
	{ target_misfit, OF_TARGET },
	{ too_small, OF_TARGET },
	{ out_of_order, OF_TARGET },
	{ fs_too_small, OF_TARGET },
	{ stream_append, OF_TARGET },
	{ own_messages, OF_TARGET },
	{ overlap_source, OF_TARGET },
	{ not_shareable, OF_ANY },
	{ not_readable_back, OF_TARGET },
	{ not_awaitable, OF_SOURCE },
	{ not_measurable, OF_SOURCE },
	{ no_rest, OF_ANY },
};

int
safety_check(const struct plan *p, struct fault *f)
{
	bool reads = p->work == WORK_COMPARE;
	const struct objection *o = reads ? readings : objections;
	size_t n = reads ? COUNT(readings) : COUNT(objections);

	for (; n > 0; n--, o++)
		if (o->test(p, f) != 0) {
			if (o->about != OF_ANY)
				f->end = o->about == OF_SOURCE ?
				    p->src->name : p->dst->name;
			return -1;
		}
	return 0;
}
