/*
 * Files that nobody wants on a device as they are: compressed images, images of
 * virtual machines, and pages that a download brought instead of one.  The
 * refusal has the command that does what is meant, and so has the note if the
 * target is a file: that may be a copy of the same kind.
 */
#include "part/remarks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "base/path.h"
#include "base/status.h"
#include "pack/codec.h"

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

const struct packing *
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

const struct packing *
packed_named(const char *name)
{
	const char *dot = strrchr(path_base(name), '.');
	const struct packing *is;

	for (is = packings; dot != NULL && is->what != NULL; is++)
		if (strcasecmp(dot + 1, is->ending) == 0)
			return is;
	return NULL;
}

bool
packed_alike(const struct packing *is, const struct packing *as)
{
	return is != NULL && as != NULL && strcmp(is->with, as->with) == 0;
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

int
packed_refuse(const struct packing *is, const struct plan *p, struct fault *f)
{
	char text[sizeof(f->text)];

	packed_tell(is, p, text, sizeof(text));
	return fault_set(f, STATUS_REFUSED, "%s; %s", text, p->src->decoded ==
	    NULL ? "decode=none copies it as it is" :
	    "unpack it into a file first");
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
