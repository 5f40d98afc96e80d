/*
 * Comparing a plan with the partition tables, and with what the source is.
 *
 * A range that was computed by hand from the output of fdisk is easily off by
 * one.  It is odd if one of its boundaries is inside a partition, or if it
 * begins with a partition but ends in the gap after it, or similar.  A range
 * that is exactly one partition is not odd, nor is the start of a disk that
 * becomes the start of another.
 *
 * Nobody wants some files on a device as they are: compressed images, images of
 * virtual machines, and pages that a download brought instead of one.  The
 * refusal has the command that does what is meant, and so has the note if the
 * target is a file: that may be a copy of the same kind.
 */
#include "part/remarks.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "disk/disk.h"
#include "pack/codec.h"

/* --- files that nobody wants on a device as they are --------------------- */

enum { COMMAND = 400 };		/* bytes: a fault has room for it */

/* How to get at what a file holds. */
enum cure {
	CURE_NONE,
	CURE_DECODE,		/* decode=auto unpacks it */
	CURE_PIPE,		/* a command unpacks it into a pipe */
	CURE_SERVE,		/* qemu-nbd serves it, as this format */
	CURE_FILE,		/* a command unpacks it into a file */
	CURE_MAP,		/* it belongs to an image */
};

/* Files whose contents are wanted on a device, but never they themselves. */
struct packing {
	const char	*what;
	enum cure	 cure;
	const char	*with;		/* the command or format */
	const char	*ending;	/* of such a file's name */
	size_t		 off, len;	/* bytes: where this is in the file */
	const char	*magic;	/* NULL: the codec of that ending knows */
};

static const struct packing packings[] = {
	{ "compressed", CURE_DECODE, "gzip", "gz", 0, 0, NULL },
	{ "compressed", CURE_DECODE, "xz", "xz", 0, 0, NULL },
	{ "compressed", CURE_DECODE, "zstd", "zst", 0, 0, NULL },
	{ "compressed", CURE_DECODE, "lz4 -dc", "lz4", 0, 0, NULL },
	{ "compressed", CURE_DECODE, "bzip2", "bz2", 0, 0, NULL },
	{ "a zip archive", CURE_DECODE, "zip", "zip", 0, 0, NULL },
	{ "compressed", CURE_PIPE, "lz4 -dc", "lz4", 0, 4, "\x02\x21\x4c\x18" },
	{ "compressed", CURE_PIPE, "lzip -dc", "lz", 0, 5, "LZIP\1" },
	{ "compressed", CURE_PIPE, "lzop -dc", "lzo", 0, 5, "\x89LZO\0" },
	{ "a 7z archive", CURE_PIPE, "7z x -so", "7z", 0, 6,
	    "7z\xbc\xaf\x27\x1c" },
	{ "a RAR archive", CURE_PIPE, "bsdtar -xOf", "rar", 0, 5, "Rar!\x1a" },
	{ "a partclone image", CURE_PIPE, "partclone.restore -o - -s", "pcl", 0,
	    15, "partclone-image" },
	{ "an Android sparse image", CURE_FILE, "simg2img", "simg", 0, 4,
	    "\x3a\xff\x26\xed" },
	{ "a qcow2 image", CURE_SERVE, "qcow2", "qcow2", 0, 4, "QFI\xfb" },
	{ "a VMDK image", CURE_SERVE, "vmdk", "vmdk", 0, 4, "KDMV" },
	{ "a VMDK image", CURE_SERVE, "vmdk", "vmdk", 0, 21,
	    "# Disk DescriptorFile" },
	{ "a VDI image", CURE_SERVE, "vdi", "vdi", 64, 4, "\x7f\x10\xda\xbe" },
	{ "a VHD image", CURE_SERVE, "vpc", "vhd", 0, 8, "conectix" },
	{ "a VHDX image", CURE_SERVE, "vhdx", "vhdx", 0, 8, "vhdxfile" },
	{ NULL, CURE_NONE, NULL, NULL, 0, 0, NULL },
};

/* Text at the beginning, which may have a byte order mark and blanks first. */
static bool
text_begins(const char *text, const char *with)
{
	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	text += strspn(text, " \t\r\n");
	return strncasecmp(text, with, strlen(with)) == 0;
}

/* A text that is no image, but was given as one. */
static const struct packing *
text_find(const char *text)
{
	static const struct packing
	    page = { "a web page, and no image", CURE_NONE, "", "html", 0, 0,
	    "" },
	    map = { "a block map", CURE_MAP, "", "bmap", 0, 0, "" };

	if (text_begins(text, "<!doctype html") || text_begins(text, "<html"))
		return &page;
	return text_begins(text, "<?xml") && strstr(text, "<bmap") != NULL ?
	    &map : NULL;
}

/*
 * What a source is by its first HEAD_SEEN bytes, if nobody wants it on a device
 * as it is: a compressed image, that of a virtual machine, a web page; or NULL.
 */
static const struct packing *
packed_find(const unsigned char *head)
{
	char text[HEAD_SEEN + 1];
	const struct codec *codec = codec_found(head, HEAD_SEEN);
	const struct packing *is;

	for (is = packings; is->what != NULL; is++)
		if (is->magic == NULL ? codec != NULL && strcmp(codec->word,
		    is->ending) == 0 : memcmp(head + is->off, is->magic,
		    is->len) == 0)
			return is;
	memcpy(text, head, HEAD_SEEN);
	text[HEAD_SEEN] = '\0';
	return text_find(text);
}

/*
 * Write the command that is meant: from the source, or that partition of it, to
 * "of=/dev/sdb".
 */
static int
cure_write(const struct packing *is, const char *from, unsigned part,
    const char *to, char *text, size_t room)
{
	char served[COMMAND], *word;
	int n = 0;

	if (part > 0 && is->cure != CURE_DECODE)
		return COMMAND;
	switch (is->cure) {
	case CURE_PIPE:
		return snprintf(text, room, "%s %s | pardd %s", is->with, from,
		    to);
	case CURE_FILE:
		return snprintf(text, room, "%s %s IMAGE && pardd if=IMAGE %s",
		    is->with, from, to);
	case CURE_MAP:
		return snprintf(text, room, "pardd if=IMAGE bmap=%s %s", from,
		    to);
	case CURE_SERVE:
		n = snprintf(served, sizeof(served), "[ qemu-nbd -r -f %s %s ]",
		    is->with, from);
		if (n >= COMMAND || (word = shell_word(served)) == NULL)
			return COMMAND;
		n = snprintf(text, room, "pardd if=%s %s", word, to);
		free(word);
		return n;
	case CURE_DECODE:
		return snprintf(text, room, "pardd if=%s ipart=%u | pardd "
		    "decode=auto %s", from, part, to);
	case CURE_NONE:
		break;
	}
	return COMMAND;
}

/* "of=/dev/sdb", and where on it. */
static int
target_write(const struct plan *p, const char *name, char *text, size_t room)
{
	char part[24] = "", seek[32] = "";

	if (p->dst->lim.part > 0)
		snprintf(part, sizeof(part), " opart=%u", p->dst->lim.part);
	if (p->dst_off > p->dst->lim.base)
		snprintf(seek, sizeof(seek), " seek=%lluB", (unsigned long long)
		    (p->dst_off - p->dst->lim.base));
	return snprintf(text, room, "of=%s%s%s", name, part, seek);
}

/* What a file is by the end of its name. */
static const struct packing *
packed_named(const char *name)
{
	const char *dot = strrchr(path_base(name), '.');
	const struct packing *is;

	for (is = packings; dot != NULL && is->what != NULL; is++)
		if (strcasecmp(dot + 1, is->ending) == 0)
			return is;
	return NULL;
}

void
packed_tell(const struct packing *is, const struct plan *p, char *text,
    size_t room)
{
	char *from = shell_word(p->src->is.inherited ||
	    p->src->is.streamed ? "FILE" : p->src->name);
	char *name = shell_word(p->dst->name);
	char to[COMMAND], command[COMMAND];
	unsigned part = p->src->lim.part;
	bool known;

	if (p->src->decoded != NULL || (is->cure == CURE_DECODE && part == 0)) {
		free(from);
		free(name);
		snprintf(text, room, p->src->decoded == NULL ?
		    "%s%s is %s; decode=auto unpacks it" :
		    "what %s%s holds is itself %s", p->src->lim.within,
		    p->src->name, is->what);
		return;
	}
	/* a command that is cut off would be worse than none */
	known = from != NULL && name != NULL &&
	    target_write(p, name, to, sizeof(to)) < COMMAND &&
	    cure_write(is, from, part, to, command, sizeof(command)) < COMMAND;
	free(from);
	free(name);
	snprintf(text, room, "%s%s is %s%s%s", p->src->lim.within,
	    p->src->name, is->what, known ? "; for what it holds: " : "",
	    known ? command : "");
}

void
packed_tell_misnamed(const struct packing *as, const struct plan *p,
    char *text, size_t room)
{
	char *from = shell_word(p->src->name), *to = shell_word(p->dst->name);
	int tool = (int)strcspn(as->with, " ");
	char command[COMMAND] = "";

	if (from != NULL && to != NULL && strcmp(as->what, "compressed") == 0 &&
	    snprintf(command, sizeof(command), "; to compress it: pardd if=%s "
	    "| %.*s >%s", from, tool, as->with, to) >= COMMAND)
		command[0] = '\0';
	free(from);
	free(to);
	snprintf(text, room, "%s gets the copy as it is, whatever its name "
	    "says%s", p->dst->name, command);
}

/* --- partition tables ---------------------------------------------------- */

/* Bytes at both ends of a disk that mostly have all of a table. */
enum { TABLE_EDGE = 64 << 10 };

/* The start of an end, read when first needed. */
struct lookup {
	struct endpoint *ep;
	bool		 asked, read;	/* its partition table: */
	struct parts	 parts;
	bool		 seen;		/* what lies at its first byte: */
	struct volume	 volume;
};

static const struct parts *
table_of(struct lookup *t)
{
	struct fault f;

	if (!t->asked)
		t->read = parts_read(t->ep, &t->parts, &f) == 0;
	t->asked = true;
	return t->read ? &t->parts : NULL;
}

static const struct volume *
volume_of(struct lookup *t)
{
	uint64_t base = t->ep->lim.base;

	if (!t->seen)
		parts_volume(t->ep, base, (uint64_t)t->ep->geo.size - base,
		    &t->volume);
	t->seen = true;
	return &t->volume;
}

/* Whether an end has no partition table, or is limited to a partition. */
static bool
table_none(struct lookup *t)
{
	const struct parts *parts = t->ep->lim.part > 0 ? NULL : table_of(t);

	return parts == NULL || parts->type[0] == '\0';
}

static void
table_free(struct lookup *t)
{
	if (t->read)
		parts_free(&t->parts);
}

/* Keep the nearest partition boundary of the same kind. */
static void
border_nearer(struct border *b, enum lies lies, const struct part *p,
    uint64_t bytes)
{
	if (b->number != 0 && (lies > b->lies || (lies == b->lies &&
	    bytes >= b->bytes)))
		return;
	*b = (struct border){ lies, p->number, bytes };
}

/* Describe where byte "at" lies, relative to a partition's own boundary. */
static void
border_lay(struct border *b, const struct part *p, uint64_t at, bool begins)
{
	uint64_t own = begins ? p->start : part_end(p);

	if (at == own)
		border_nearer(b, LIES_BORDER, p, 0);
	else if (at > p->start && at < part_end(p))
		border_nearer(b, LIES_INSIDE, p, at > own ? at - own : own -
		    at);
	else if (begins ? at < own : at > own)
		border_nearer(b, LIES_OUTSIDE, p, at > own ? at - own : own -
		    at);
}

/*
 * Whether a partition matters for a range: it overlaps it, and is not an
 * extended one inside or around it.
 */
static bool
part_concerned(const struct part *p, uint64_t from, uint64_t to)
{
	if (from >= part_end(p) || to <= p->start)
		return false;
	return !p->container || from == p->start || to == part_end(p) ||
	    (from > p->start) != (to < part_end(p));
}

/* Examine a range; head: it begins both ends. */
static void
span_examine(struct span *s, const struct parts *t, uint64_t from, uint64_t to,
    bool head)
{
	bool any = false, exact = false;
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct part *p = &t->part[i];

		if (!part_concerned(p, from, to))
			continue;
		any = true;
		exact = exact || (from == p->start && to == part_end(p));
		border_lay(&s->from, p, from, true);
		border_lay(&s->to, p, to, false);
	}
	if (from == 0)
		s->from.lies = LIES_DISK;
	if (to == UINT64_MAX)
		s->to.lies = LIES_OPEN;
	else if (to >= t->size && s->to.lies != LIES_BORDER)
		s->to.lies = LIES_DISK;
	s->odd = any && !exact && (s->from.lies == LIES_INSIDE ||
	    s->to.lies == LIES_INSIDE || (!head && to != UINT64_MAX));
}

/* Whether the user has chosen a part of the ends. */
static bool
by_hand(const struct opts *o)
{
	return o->skip > 0 || o->seek > 0 || o->count >= 0 || o->ipart > 0 ||
	    o->opart > 0;
}

static void
span_make(struct span *s, const struct plan *p, struct lookup *table,
    uint64_t from, uint64_t length)
{
	uint64_t to = p->bounded ? from + length : UINT64_MAX;
	const struct endpoint *ep = table->ep;
	const struct parts *t;

	if (ep->lim.part > 0 || p->length == 0 || !parts_possible(ep) ||
	    (from == 0 && to == (uint64_t)ep->geo.size) ||
	    (t = table_of(table)) == NULL)
		return;
	span_examine(s, t, from, to, p->src_off == 0 && p->dst_off == 0);
}

/* "cuts the ext4; shrink it first (resize2fs)" */
static void
cut_tell(char cut[CUT_ROOM], const char *type)
{
	static const struct { const char *type, *tool; } known[] = {
		{ "ext", "resize2fs" }, { "ntfs", "ntfsresize" },
		{ "vfat", "fatresize" },
	};
	size_t i;

	snprintf(cut, CUT_ROOM, "cuts the %s", type);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(type, known[i].type, strlen(known[i].type)) == 0)
			snprintf(cut + strlen(cut), CUT_ROOM - strlen(cut),
			    "; shrink it first (%s)", known[i].tool);
}

/* Whether a range given by hand has a part of the source's file system. */
static void
cut_make(struct remarks *found, const struct plan *p, struct lookup *src)
{
	uint64_t from = p->src_off - p->src->lim.base;
	const struct volume *v;

	if (!p->bounded || p->length == 0 || p->work != WORK_COPY ||
	    (!p->src->is.device && !p->dst->is.device) ||
	    !endpoint_holds(p->dst) || !parts_possible(p->src) ||
	    !table_none(src))
		return;
	v = volume_of(src);
	if (from < v->size && (from > 0 || p->length < v->size))
		cut_tell(found->cut, v->type);
}

/* Whether the start of one disk goes to the start of another. */
static bool
remark_clone(const struct plan *p)
{
	return parts_possible(p->src) && p->bounded && p->src_off == 0 &&
	    p->dst_off == 0 && p->src->lim.part == 0;
}

/* The end of the last partition on the disk; 0 if there is none. */
static uint64_t
last_end(const struct parts *t)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < t->n; i++)
		if (part_end(&t->part[i]) > end)
			end = part_end(&t->part[i]);
	return end;
}

static void
clone_make(struct remarks *found, const struct plan *p, struct lookup *src)
{
	const struct endpoint *dst = p->dst;
	bool whole = p->length == (uint64_t)p->src->geo.size;
	bool larger = whole && dst->geo.size > p->src->geo.size;
	bool smaller = dst->is.device && dst->geo.size < p->src->geo.size;
	bool other = whole && dst->geo.block > 0 &&
	    dst->geo.block != p->src->geo.block;
	const struct parts *t;

	if (p->table != NULL || dst->encoded != NULL || !remark_clone(p) ||
	    (!larger && !smaller && !other) ||
	    (t = table_of(src)) == NULL)
		return;
	if (t->type[0] != '\0' && dst->geo.block > 0 &&
	    dst->geo.block != t->sector)
		found->table_sector = t->sector;
	else if (larger || (smaller && last_end(t) <= p->length))
		found->backup_astray = strcmp(t->type, "gpt") == 0;
}

/*
 * A clone that cuts off partitions, unless the target discards data.  If it
 * contains no whole partition, it is not meant as a clone.
 */
static void
beyond_make(struct beyond *b, const struct plan *p, struct lookup *src)
{
	const struct parts *t;
	bool any = false;
	size_t i;

	if (!remark_clone(p) || p->length == (uint64_t)p->src->geo.size ||
	    (!p->src->is.device && !p->dst->is.device) ||
	    (!p->dst->is.absent && !p->dst->id.known) ||
	    (t = table_of(src)) == NULL)
		return;
	for (i = 0; i < t->n; i++) {
		if (t->part[i].container)
			continue;
		if (part_end(&t->part[i]) <= p->length)
			any = true;
		else if (b->n++ < BEYOND_MOST)
			b->number[b->n - 1] = t->part[i].number;
	}
	b->end = last_end(t);
	if (!any)
		b->n = 0;
}

/* Whether a name says that it is an image of a disk: x.iso, x.img.xz. */
static bool
image_named(const char *name)
{
	name = path_base(name);
	return strstr(name, ".img") != NULL || strstr(name, ".iso") != NULL ||
	    strstr(name, ".raw") != NULL;
}

/*
 * Whether an image is cut off: a download, say.  What goes into a file is
 * looked into only with such a name: most is small, and soon copied.
 */
static void
torn_make(struct remarks *found, const struct plan *p, struct lookup *src)
{
	const char *name = p->src->name;
	const struct parts *t;
	size_t i;

	if (p->src->is.device || !p->bounded || p->src_off > 0 ||
	    p->opts->count >= 0 || !parts_possible(p->src) ||
	    (!p->dst->is.device && !image_named(name)) ||
	    (t = table_of(src)) == NULL)
		return;
	for (i = 0; i < t->n; i++)
		if (!t->part[i].container && part_end(&t->part[i]) > t->size)
			break;
	if (i < t->n)
		snprintf(found->torn, sizeof(found->torn), "partition %u of %s "
		    "ends beyond it: is it complete?", t->part[i].number, name);
	else if (t->cut)
		snprintf(found->torn, sizeof(found->torn), "%s: %s: is it "
		    "complete?", name, t->wrong);
	else if (t->type[0] == '\0' && volume_of(src)->size > t->size)
		snprintf(found->torn, sizeof(found->torn), "%s is shorter than "
		    "the %s in it: is it complete?", name, src->volume.type);
}

static bool
endpoint_partial(const struct endpoint *ep)
{
	struct disk d;

	return ep->lim.part > 0 || (endpoint_disk(ep, &d) && d.partition != 0);
}

/* Whether a partition table will be overwritten. */
static bool
loses_table(const struct remarks *found)
{
	size_t i;

	for (i = 0; i < found->signs; i++)
		if (found->sign[i].table)
			return true;
	return false;
}

/* A source without a partition table, by its first bytes. */
static void
slip_of_volume(struct remarks *found, const struct plan *p, struct lookup *src)
{
	const struct volume *v = volume_of(src);

	if ((p->opts->force & FORCE_ODD) != 0)
		return;
	if (v->type[0] != '\0' && loses_table(found) &&
	    !endpoint_partial(p->dst)) {
		found->slip = SLIP_OVER_TABLE;
		strlcpy(found->kind, v->type, sizeof(found->kind));
	} else if (v->read && v->type[0] == '\0' && found->signs > 0 &&
	    all_zero(v->head, sizeof(v->head))) {
		found->slip = SLIP_BLANK;
	}
}

/* Whether decode=auto did not look where the copy begins. */
static bool
packed_unseen(const struct plan *p)
{
	return p->src->lim.part > 0 && (p->opts->decode & DECODE_AUTO) != 0;
}

/*
 * What the source is by its first bytes, if they were read when it was opened,
 * or it is a file, or decode=auto is meant to see it, since a rescue does not
 * read a disk more than necessary.
 */
static const struct packing *
packed_source(const struct plan *p, struct lookup *src)
{
	if (p->src_off == 0 && p->src->head != NULL)
		return packed_find(p->src->head);
	return (packed_unseen(p) ? p->src_off > p->src->lim.base :
	    p->src_off > 0 || p->src->is.device) || !parts_possible(p->src) ||
	    !table_none(src) ? NULL : packed_find(volume_of(src)->head);
}

/*
 * What goes onto a device or into a file as it is.  Files are looked into only
 * if a name says that one of them is packed: most are small, and soon copied.
 */
static void
packed_make(struct remarks *found, const struct plan *p, struct lookup *src)
{
	const struct packing *is, *from = packed_named(p->src->name);
	const struct packing *to = endpoint_is_file(p->dst) &&
	    p->dst->encoded == NULL ? packed_named(p->dst->name) : NULL;

	if ((p->opts->decode & DECODE_NONE) != 0 || p->length == 0 ||
	    !endpoint_holds(p->dst) ||
	    (!p->dst->is.device && from == NULL && to == NULL &&
	    !packed_unseen(p)))
		return;
	is = packed_source(p, src);
	if (is != NULL && (p->dst->is.device || to == NULL ||
	    strcmp(is->with, to->with) != 0))
		found->packed = is;
	else if (to != NULL && is == NULL && parts_possible(p->src))
		found->misnamed = to;
}

/* A rescue does not read the source more than necessary. */
static void
slip_make(struct remarks *found, const struct plan *p, struct lookup *src)
{
	if (!p->dst->is.device || p->work == WORK_RESCUE || p->length == 0 ||
	    p->src_off != p->src->lim.base || p->dst_off != p->dst->lim.base ||
	    !parts_possible(p->src))
		return;
	if (table_none(src))
		slip_of_volume(found, p, src);
	else if (endpoint_partial(p->dst) && !endpoint_partial(p->src))
		found->slip = SLIP_NESTED;
}

/* What an older use of the target has left behind the copy. */
static void
rest_make(struct remarks *found, const struct plan *p, uint64_t to)
{
	size_t i, n = 0;

	found->rests = parts_remains(p->dst, to, &found->rest);
	for (i = 0; i < found->rests; i++)	/* table= writes another one */
		if (p->table == NULL || strcmp(found->rest[i].type, "gpt") != 0)
			found->rest[n++] = found->rest[i];
	found->rests = n;
}

/* Remarks on one target. */
static void
remarks_of_target(struct remarks *found, const struct plan *p,
    struct lookup *src, bool thorough)
{
	uint64_t written = p->bounded ? round_up(p->length, p->pad) : 0;
	uint64_t to = p->bounded ? p->dst_off + written : p->dst->lim.end;
	struct lookup dst = { .ep = p->dst };

	packed_make(found, p, src);
	if (!thorough && (p->opts->status & SHOW_NONE) != 0)
		return;		/* the rest would not be reported */
	found->fit = fit_judge(p);
	if (thorough || (p->opts->map == NULL && p->src->lim.part == 0 &&
	    p->bounded && p->length == (uint64_t)p->src->geo.size))
		(void)ata_hidden(p->src, &found->hidden);
	if (by_hand(p->opts) && (p->opts->force & FORCE_ODD) == 0) {
		span_make(&found->src, p, src, p->src_off, p->length);
		span_make(&found->dst, p, &dst, p->dst_off, written);
		cut_make(found, p, src);
	}
	clone_make(found, p, src);
	beyond_make(&found->beyond, p, src);
	torn_make(found, p, src);
	if ((thorough || p->dst->is.device) && p->length > 0)
		found->signs = parts_signs(p->dst, p->dst_off, to,
		    &found->sign);
	if (p->dst->is.device && p->bounded && p->length > 0 &&
	    p->opts->rest == 0 && p->dst_off == p->dst->lim.base)
		rest_make(found, p, to);
	slip_make(found, p, src);
	table_free(&dst);
}

/*
 * Ask a disk for both of its ends: it may read them at once, and while other
 * disks do.  They stay in the page cache until the view is closed.
 */
static void
view_ahead(struct view *v, struct endpoint *ep, uint64_t edge)
{
	*v = (struct view){ .fd = -1, .from = -1 };
	if (ep->is.device && !ep->is.probed && parts_possible(ep) &&
	    view_open(v, ep) == 0)
		(void)view_edges(v, edge);
}

/*
 * Do so for the targets and the source, which a rescue does not read more than
 * necessary.  Returns how many views are open.
 */
static unsigned
remarks_ahead(struct view v[1 + TARGETS_MOST], const struct plan *p,
    bool thorough)
{
	const struct plan *one;
	unsigned n = 0;

	if (p->work == WORK_COMPARE || !p->dst->is.device ||
	    (!thorough && (p->opts->status & SHOW_NONE) != 0))
		return 0;
	for (; (one = plan_each(p, n)) != NULL; n++)
		view_ahead(&v[n], one->dst, SIGNS_EDGE);
	if (p->work != WORK_RESCUE)
		view_ahead(&v[n++], p->src, TABLE_EDGE);
	return n;
}

void
remarks_make(struct remarks *const found[], const struct plan *p, bool thorough)
{
	struct lookup src = { .ep = p->src };
	struct view ahead[TARGETS_MOST + 1];
	const struct plan *one;
	unsigned i, n;

	n = remarks_ahead(ahead, p, thorough);
	for (i = 0; (one = plan_each(p, i)) != NULL; i++) {
		*found[i] = (struct remarks){ .signs = 0 };
		if (p->work != WORK_COMPARE)
			remarks_of_target(found[i], one, &src, thorough);
	}
	table_free(&src);
	while (n > 0)
		view_close(&ahead[--n]);
}

void
remarks_of_stream(struct remarks *found, const struct plan *p)
{
	if (p->work == WORK_COPY && !p->bounded && p->dst->is.device &&
	    p->dst_off == 0 && !endpoint_partial(p->dst))
		found->backup_astray = parts_backup_astray(p->dst);
}

static bool
remarks_slip(const struct plan *p)
{
	const struct remarks *found = p->found;

	return found != NULL && !p->dst->is.absent && endpoint_holds(p->dst) &&
	    (found->src.odd || found->dst.odd || found->cut[0] != '\0' ||
	    found->slip == SLIP_OVER_TABLE || found->slip == SLIP_BLANK);
}

bool
remarks_doubtful(const struct plan *p)
{
	const struct plan *one;
	unsigned i;

	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		if (remarks_slip(one))
			return true;
	return false;
}

uint64_t
remarks_needed(const struct plan *p, char cut[CUT_ROOM])
{
	struct lookup src = { .ep = p->src };
	const struct endpoint *dst = p->dst;
	uint64_t end = 0;

	cut[0] = '\0';
	if (!p->bounded || !parts_possible(p->src) || dst->geo.room < 0 ||
	    p->src_off != p->src->lim.base || p->dst_off != dst->lim.base ||
	    p->length <= (uint64_t)dst->geo.room - p->dst_off)
		return 0;
	if (!table_none(&src))
		end = last_end(&src.parts);
	else if ((end = volume_of(&src)->size) > 0)
		cut_tell(cut, src.volume.type);
	table_free(&src);
	return end;
}

void
remarks_free(struct remarks *found)
{
	free(found->sign);
	free(found->rest);
	found->sign = found->rest = NULL;
	found->rests = 0;
	found->signs = 0;
}
