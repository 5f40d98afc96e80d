/*
 * Objections: a table of tests that look at the plan and its open ends.  Each
 * says what is wrong and what to do instead.
 */
#include "safety.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "number.h"
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
		    "past the end of %s at %llu", (ull)p->src_off,
		    p->src->name, (ull)size);
	if (p->length > size - p->src_off)
		return fault_set(f, STATUS_REFUSED, "skip= and count= lead to "
		    "byte %llu, past the end of %s at %llu",
		    (ull)(p->src_off + p->length), p->src->name, (ull)size);
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
		    "past the end of %s at %llu", (ull)p->dst_off,
		    p->dst->name, (ull)room);
	if (p->bounded && length > room - p->dst_off)
		return fault_set(f, STATUS_REFUSED, "%s has room for %llu "
		    "bytes from byte %llu on, %llu are to be copied; count= "
		    "copies less", p->dst->name, (ull)(room - p->dst_off),
		    (ull)p->dst_off, (ull)length);
	return 0;
}

/* A drive without a medium, or a loop device without a file. */
static int
empty_device(const struct plan *p, struct fault *f)
{
	if (!p->src->device || p->src->size != 0 || p->src->id.ino != 0 ||
	    !p->src->id.known)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s has no bytes; is there a "
	    "medium in it?", p->src->name);
}

static int
no_seek(const struct plan *p, struct fault *f)
{
	if (p->opts->seek == 0 || p->dst->seekable)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s is written in order, from its "
	    "beginning: seek= cannot be used", p->dst->name);
}

/* bs= and the source's logical blocks. */
static int
bs_misfit(const struct plan *p, struct fault *f)
{
	if (p->src->block == 0 || p->bs % p->src->block == 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "bs=%llu is no multiple of the "
	    "logical block of %s, %u bytes", (ull)p->bs, p->src->name,
	    p->src->block);
}

/* The range on a target device and its logical blocks. */
static int
target_misfit(const struct plan *p, struct fault *f)
{
	uint32_t block = p->dst->block;
	bool exact = p->bounded && (p->counted || p->src->block > 0);

	if (block == 0)
		return 0;
	if (p->dst_off % block != 0)
		return fault_set(f, STATUS_REFUSED, "the copy would begin at "
		    "byte %llu of %s, within a logical block of %u bytes",
		    (ull)p->dst_off, p->dst->name, block);
	if (exact && p->length % block != 0 &&
	    (p->opts->conv & CONV_PAD) == 0)
		return fault_set(f, STATUS_REFUSED, "%llu bytes are no whole "
		    "number of logical blocks of %s, %u bytes each",
		    (ull)p->length, p->dst->name, block);
	if (p->pad % block != 0)
		return fault_set(f, STATUS_REFUSED, "conv=sync would pad to "
		    "%llu bytes, which is no whole number of logical blocks "
		    "of %s, %u bytes each", (ull)p->pad, p->dst->name, block);
	return 0;
}

static int
same_end(const struct plan *p, struct fault *f)
{
	const struct identity *a = &p->src->id, *b = &p->dst->id;
	uint64_t s = p->src_off, d = p->dst_off;

	if (!a->known || !b->known || a->dev != b->dev || a->ino != b->ino)
		return 0;
	if ((p->truncate < 0 || (uint64_t)p->truncate >= s + p->length) &&
	    (p->length == 0 || s + p->length <= d || d + p->length <= s))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s and %s are the same, and the "
	    "ranges overlap", p->src->name, p->dst->name);
}

/*
 * A name that is to be made in the device file system is a slip of the hand.
 * Where /dev is no file system of its own, the folder's path must tell.
 */
static int
new_device(const struct plan *p, struct fault *f)
{
	struct stat folder, dev, root;
	char link[64], path[8];
	ssize_t n;

	if (!p->dst->absent || fstat(p->dst->dir, &folder) != 0 ||
	    stat("/dev", &dev) != 0 || stat("/", &root) != 0 ||
	    folder.st_dev != dev.st_dev)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", p->dst->dir);
	n = readlink(link, path, sizeof(path));
	if (dev.st_dev == root.st_dev && (n < 4 ||
	    strncmp(path, "/dev", 4) != 0 || (n > 4 && path[4] != '/')))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s does not exist, and no file is "
	    "created among the devices; is the name right?", p->dst->name);
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

static int (*const objections[])(const struct plan *, struct fault *) = {
	new_device,
	no_seek,
	empty_device,
	past_end,
	bs_misfit,
	target_misfit,
	too_small,
	stream_append,
	same_end,
};

int
safety_check(const struct plan *p, struct fault *f)
{
	size_t i;

	for (i = 0; i < COUNT(objections); i++)
		if (objections[i](p, f) != 0)
			return -1;
	return 0;
}
