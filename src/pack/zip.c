/*
 * zip (APPNOTE.TXT of PKWARE) with one file in it, from its first byte to its
 * last: what precedes the data, the data, what follows it, and the directory,
 * which must say the same.  Directories have entries, too, without data.
 *
 * Where the archive can be read at any place, its directory is read first, for
 * the size and the names.
 */
#include "config.h"

#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/status.h"
#include "cli/opts.h"

static bool
zip_begins(const unsigned char *head, size_t n)
{
	return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 ||
	    memcmp(head, "PK\5\6", 4) == 0);
}

#if defined(HAVE_LIBZ) && defined(HAVE_LIBZSTD)
#include "libz.h"
#include "pack/libzstd.h"

enum {
	STORED = 0, DEFLATED = 8, ZSTD = 93,	/* methods */
	ENCRYPTED = 1, SIZES_BEHIND = 8,	/* flags */
	LOCAL = 30, CENTRAL = 46, END = 22,	/* bytes without what varies */
	END64 = 56, LOCATOR = 20,
	ROOM = CENTRAL + 3 * 65535,		/* the longest of them */
	DIRECTORY_MOST = 4 << 20,
	NAMES_MOST = 80,
};

enum mark {			/* how headers begin */
	MARK_LOCAL = 0x04034b50,
	MARK_CENTRAL = 0x02014b50,
	MARK_END = 0x06054b50,
	MARK_END64 = 0x06064b50,
	MARK_LOCATOR = 0x07064b50,
	MARK_BEHIND = 0x08074b50,
};

struct entry {			/* what a header says about a file */
	unsigned	 method, flags;
	uint64_t	 packed, size, at;	/* bytes */
	uint32_t	 crc;
	const unsigned char *name;
	size_t		 name_len;
	bool		 wide;	/* its sizes have 64 bits */
	bool		 odd;	/* a part of it is longer than it */
};

enum place { HEADERS, DATA, BEHIND };

struct zip {
	struct libz	 z;
	struct libzstd	 zstd;
	z_stream	 inflating;
	ZSTD_DCtx	*context;	/* of zstd, once it is needed */
	enum place	 place;
	struct entry	 file;	/* the one that is unpacked */
	bool		 found, listed;
	struct codec_measure told;	/* by the directory, before it */
	uint64_t	 directory, end;	/* where that is, */
	uint64_t	 entries;	/* and what it has */
	uint64_t	 end64;	/* where its end in 64 bits is, or 0 */
	uint64_t	 at;	/* bytes taken so far, */
	uint64_t	 packed, size;	/* and of the file's data */
	uint32_t	 crc;
	uint64_t	 skip;	/* bytes to pass over */
	size_t		 have;
	unsigned char	 head[ROOM];
};

/* --- headers ------------------------------------------------------------ */

/* The length of a header that begins so, if "have" bytes show it; else more. */
static size_t
zip_length(const unsigned char *h, size_t have)
{
	if (have < 4)
		return 4;
	switch (codec_number(h, 4)) {
	case MARK_LOCAL:
		return have < LOCAL ? LOCAL : LOCAL +
		    (size_t)(codec_number(h + 26, 2) + codec_number(h + 28, 2));
	case MARK_CENTRAL:
		return have < CENTRAL ? CENTRAL : CENTRAL +
		    (size_t)(codec_number(h + 28, 2) + codec_number(h + 30, 2) +
		    codec_number(h + 32, 2));
	case MARK_END:
		return have < END ? END : END + (size_t)codec_number(h + 20, 2);
	case MARK_END64:
		return END64;
	case MARK_LOCATOR:
		return LOCATOR;
	default:
		return 0;
	}
}

/* Take 64 bits from the extra field, if *n is what stands for them. */
static void
entry_widen(uint64_t *n, const unsigned char **extra, size_t *left)
{
	if (*n != UINT32_MAX || *left < 8)
		return;
	*n = codec_number(*extra, 8);
	*extra += 8;
	*left -= 8;
}

/* The sizes that do not fit into 32 bits. */
static void
entry_extra(struct entry *e, const unsigned char *extra, size_t len)
{
	size_t n;

	while (len >= 4) {
		n = (size_t)codec_number(extra + 2, 2);
		e->odd = n > len - 4;
		if (e->odd)
			return;
		if (codec_number(extra, 2) == 1) {
			e->wide = true;
			extra += 4;
			entry_widen(&e->size, &extra, &n);
			entry_widen(&e->packed, &extra, &n);
			entry_widen(&e->at, &extra, &n);
			return;
		}
		extra += 4 + n;
		len -= 4 + n;
	}
}

/* A whole header, in front of the data or in the directory. */
static struct entry
entry_read(const unsigned char *h, bool central)
{
	const unsigned char *p = h + (central ? 8 : 6);
	const unsigned char *name = h + (central ? CENTRAL : LOCAL);
	struct entry e = { .flags = (unsigned)codec_number(p, 2),
		.method = (unsigned)codec_number(p + 2, 2),
		.crc = (uint32_t)codec_number(p + 8, 4),
		.packed = codec_number(p + 12, 4),
		.size = codec_number(p + 16, 4), .name = name,
		.name_len = (size_t)codec_number(p + 20, 2),
		.at = central ? codec_number(h + 42, 4) : 0 };

	entry_extra(&e, name + e.name_len, (size_t)codec_number(p + 22, 2));
	return e;
}

static bool
entry_folder(const struct entry *e)
{
	return e->name_len > 0 && e->name[e->name_len - 1] == '/' &&
	    e->size == 0;
}

/* Whether the file can be unpacked. */
static bool
entry_known(const struct zip *z, struct decoder *d, const struct entry *e)
{
	if ((e->flags & ENCRYPTED) != 0)
		codec_fail(d, STATUS_REFUSED, "is encrypted: unzip -p asks for "
		    "the password, and unpacks it into a pipe");
	else if (e->method != STORED && e->method != DEFLATED &&
	    e->method != ZSTD)
		codec_fail(d, STATUS_REFUSED, "is packed by method %u of zip, "
		    "which is not known here; unzip -p or 7z x -so may unpack "
		    "it into a pipe", e->method);
	else if (e->method == STORED && (e->flags & SIZES_BEHIND) != 0 &&
	    !z->told.exact)
		codec_fail(d, STATUS_REFUSED, "does not say where it ends; "
		    "from a file, and not a pipe, it can be unpacked");
	else
		return true;
	return false;
}

static enum codec_step
zip_odd(struct decoder *d)
{
	return codec_fail(d, STATUS_MISMATCH, "is damaged, or no archive that "
	    "zip makes");
}

/* The library of zstd is for archives that use it. */
static bool
zip_open_zstd(struct zip *z, struct decoder *d)
{
	struct fault f;

	z->context = libzstd_open(&z->zstd, d, "decode=zip", &f);
	if (z->context == NULL)
		codec_fail(d, f.status, "holds data of zstd: %s", f.text);
	return z->context != NULL;
}

static enum codec_step
zip_local(struct zip *z, struct decoder *d)
{
	struct entry e = entry_read(z->head, false);

	if (z->listed || e.odd)
		return zip_odd(d);
	if (entry_folder(&e) && (e.flags & SIZES_BEHIND) == 0) {
		z->skip = e.packed;
		return e.crc == 0 ? CODEC_GOES_ON : zip_odd(d);
	}
	if (z->found)
		return codec_fail(d, STATUS_MISMATCH, "has more than one file "
		    "in it");
	if ((e.flags & SIZES_BEHIND) != 0 && z->told.exact)
		e.packed = z->told.size;
	if (!entry_known(z, d, &e) || (e.method == ZSTD &&
	    !zip_open_zstd(z, d)))
		return CODEC_FAILED;
	e.at = z->at - z->have;
	z->file = e;
	z->found = true;
	z->place = DATA;
	return CODEC_GOES_ON;
}

/* The directory says of the file what was found. */
static enum codec_step
zip_central(struct zip *z, struct decoder *d)
{
	struct entry e = entry_read(z->head, true);

	if (z->entries++ == 0)
		z->directory = z->at - z->have;
	z->end = z->at;
	if (e.odd)
		return zip_odd(d);
	if (entry_folder(&e))
		return e.crc == 0 ? CODEC_GOES_ON : zip_odd(d);
	if (z->listed)
		return codec_fail(d, STATUS_MISMATCH, "has more than one file "
		    "in its directory");
	z->listed = true;
	if (!z->found || e.crc != z->crc || e.size != z->size ||
	    e.packed != z->packed || e.at != z->file.at ||
	    e.method != z->file.method)
		return codec_fail(d, STATUS_MISMATCH, "is damaged: its "
		    "directory says something else than its data");
	return CODEC_GOES_ON;
}

/* What the end says, from the number of the disk on, is so; a number that does
 * not fit has all bits set there. */
static bool
end_agrees(const struct zip *z, const unsigned char *h, bool wide)
{
	static const size_t length[][6] = { { 2, 2, 2, 2, 4, 4 },
		{ 4, 4, 8, 8, 8, 8 } };
	const uint64_t is[] = { 0, 0, z->entries, z->entries,
		z->end - z->directory, z->directory };
	uint64_t said;
	size_t i, n;

	for (i = 0; i < 6; i++, h += n) {
		n = length[wide][i];
		said = codec_number(h, n);
		if (said != is[i] && (wide || z->end64 == 0 ||
		    said != UINT64_MAX >> (64 - 8 * n)))
			return false;
	}
	return true;
}

static enum codec_step
zip_header(struct zip *z, struct decoder *d)
{
	const unsigned char *h = z->head;

	switch (codec_number(h, 4)) {
	case MARK_LOCAL:
		return zip_local(z, d);
	case MARK_CENTRAL:
		return zip_central(z, d);
	case MARK_END64:
		z->end64 = z->at - z->have;
		return codec_number(h + 4, 8) == END64 - 12 && end_agrees(z, h +
		    16, true) ? CODEC_GOES_ON : zip_odd(d);
	case MARK_LOCATOR:
		return codec_number(h + 4, 4) == 0 && codec_number(h + 8, 8) ==
		    z->end64 && codec_number(h + 16, 4) == 1 ? CODEC_GOES_ON :
		    zip_odd(d);
	default:
		break;
	}
	if (!z->found)
		return codec_fail(d, STATUS_REFUSED, "has no file in it");
	return z->listed && end_agrees(z, h + 4, false) ? CODEC_ENDED :
	    zip_odd(d);
}

/* Whether what follows the data says the same, with sizes of n bytes. */
static bool
behind_agrees(const struct zip *z, const unsigned char *h, size_t n)
{
	uint64_t mask = n == 4 ? UINT32_MAX : UINT64_MAX;

	return codec_number(h, 4) == z->crc &&
	    codec_number(h + 4, n) == (z->packed & mask) &&
	    codec_number(h + 4 + n, n) == (z->size & mask);
}

/* Gather bytes until there are n.  False: there are not yet. */
static bool
zip_gather(struct zip *z, struct codec_io *io, size_t n)
{
	size_t take = MIN(n > z->have ? n - z->have : 0, io->in_len);

	memcpy(z->head + z->have, io->in, take);
	z->have += take;
	z->at += take;
	codec_moved(io, take, 0);
	return z->have >= n;
}

static enum codec_step
zip_headers(struct zip *z, struct decoder *d, struct codec_io *io)
{
	size_t pass = (size_t)MIN(z->skip, io->in_len), n;

	z->skip -= pass;
	z->at += pass;
	codec_moved(io, pass, 0);
	if (io->in_len == 0)
		return CODEC_GOES_ON;
	n = zip_length(z->head, z->have);
	while (zip_gather(z, io, n) && n > 0) {
		if (zip_length(z->head, z->have) == n) {
			enum codec_step step = zip_header(z, d);

			z->have = 0;
			return step;
		}
		n = zip_length(z->head, z->have);
	}
	return n == 0 ? zip_odd(d) : CODEC_GOES_ON;
}

/* It has a mark or none, and sizes of 32 bits or 64: 12, 16, 20 or 24 bytes. */
static enum codec_step
zip_behind(struct zip *z, struct decoder *d, struct codec_io *io)
{
	bool wide = z->file.wide || (z->packed | z->size) > UINT32_MAX;
	size_t i, n, mark;

	for (i = wide ? 2 : 0; i < 4; i++) {
		mark = i % 2 * 4;
		n = i < 2 ? 4 : 8;
		if (!zip_gather(z, io, mark + 4 + 2 * n))
			return CODEC_GOES_ON;
		if ((mark == 0 || codec_number(z->head, 4) == MARK_BEHIND) &&
		    behind_agrees(z, z->head + mark, n)) {
			z->have = 0;
			z->place = HEADERS;
			return CODEC_GOES_ON;
		}
	}
	return zip_odd(d);
}

/* --- the data ----------------------------------------------------------- */

static enum codec_step
stored_step(const struct zip *z, struct codec_io *io)
{
	size_t n = MIN(io->in_len, io->out_len);

	n = (size_t)MIN(n, z->file.packed - z->packed);
	memcpy(io->out, io->in, n);
	codec_moved(io, n, n);
	return z->packed + n == z->file.packed ? CODEC_ENDED : CODEC_GOES_ON;
}

/* The data is over: check it, and go on behind it. */
static enum codec_step
zip_data_over(struct zip *z, struct decoder *d)
{
	bool behind = (z->file.flags & SIZES_BEHIND) != 0;

	z->place = behind ? BEHIND : HEADERS;
	if (behind || (z->crc == z->file.crc && z->size == z->file.size &&
	    z->packed == z->file.packed))
		return CODEC_GOES_ON;
	return codec_fail(d, STATUS_MISMATCH, "is damaged: its check value or "
	    "its length is wrong");
}

static enum codec_step
zip_data(struct zip *z, struct decoder *d, struct codec_io *io)
{
	struct codec_io was = *io;
	enum codec_step step = z->file.method == STORED ? stored_step(z, io) :
	    z->file.method == ZSTD ? libzstd_step(&z->zstd, z->context, d,
	    io) : libz_step(&z->z, &z->inflating, Z_NO_FLUSH, d, io);
	size_t made = was.out_len - io->out_len;

	z->crc = (uint32_t)z->z.crc32_z(z->crc, was.out, made);
	z->size += made;
	z->packed += was.in_len - io->in_len;
	z->at += was.in_len - io->in_len;
	return step == CODEC_ENDED ? zip_data_over(z, d) : step;
}

static enum codec_step
zip_step(struct decoder *d, struct codec_io *io)
{
	struct zip *z = d->state;

	switch (z->place) {
	case DATA:
		return zip_data(z, d, io);
	case BEHIND:
		return zip_behind(z, d, io);
	case HEADERS:
		break;
	}
	return zip_headers(z, d, io);
}

static void
zip_close(struct decoder *d)
{
	struct zip *z = d->state;

	z->z.inflateEnd(&z->inflating);
	if (z->context != NULL)
		z->zstd.ZSTD_freeDCtx(z->context);
}

static int
zip_open(struct decoder *d, struct fault *f)
{
	struct zip *z = d->state;

	return z->z.inflateInit2_(&z->inflating, -MAX_WBITS, ZLIB_VERSION,
	    sizeof(z->inflating)) == Z_OK ? 0 :
	    fault_errno(f, ENOMEM, "decode=zip");
}

/* --- the directory, before anything is unpacked ------------------------- */

/* Where the directory is: at the end, behind which a comment may be. */
static bool
directory_find(const struct codec_source *from, const unsigned char *tail,
    size_t n, uint64_t *at, uint64_t *len)
{
	unsigned char wide[END64];
	size_t i = n - END;

	while (codec_number(tail + i, 4) != MARK_END || codec_number(tail + i +
	    20, 2) > n - END - i)
		if (i-- == 0)
			return false;
	*len = codec_number(tail + i + 12, 4);
	*at = codec_number(tail + i + 16, 4);
	if (i < LOCATOR || codec_number(tail + i - LOCATOR, 4) != MARK_LOCATOR)
		return true;
	*at = codec_number(tail + i - LOCATOR + 8, 8);
	if (*at > from->size || from->size - *at < END64 ||
	    from->read(from->arg, *at, wide, END64) != 0 ||
	    codec_number(wide, 4) != MARK_END64)
		return false;
	*len = codec_number(wide + 40, 8);
	*at = codec_number(wide + 48, 8);
	return true;
}

/* Its files: the size of one, or the refusal of several, with their names. */
static int
directory_read(const struct codec_source *from, const unsigned char *h,
    size_t len, struct codec_measure *m, struct fault *f)
{
	char names[NAMES_MOST + 1] = "";
	size_t n, at = 0, files = 0;
	struct entry e;

	for (; len >= CENTRAL && codec_number(h, 4) == MARK_CENTRAL &&
	    (n = zip_length(h, len)) <= len; h += n, len -= n) {
		e = entry_read(h, true);
		if (entry_folder(&e))
			continue;
		files++;
		m->size = e.size;
		if (at < NAMES_MOST)
			at += (size_t)snprintf(names + at, sizeof(names) - at,
			    "%s%.*s", at > 0 ? ", " : "", (int)MIN(e.name_len,
			    NAMES_MOST), (const char *)e.name);
	}
	m->exact = files == 1;
	if (files <= 1)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s has %zu files in it (%s%s): "
	    "unzip -p ARCHIVE FILE | pardd unpacks one of them", from->name,
	    files, names, at > NAMES_MOST ? "..." : "");
}

static int
zip_measure(struct decoder *d, const struct codec_source *from,
    struct codec_measure *m, struct fault *f)
{
	size_t n = (size_t)MIN(from->size, END + 65535 + LOCATOR);
	unsigned char *buf = malloc((size_t)MIN(DIRECTORY_MOST, from->size));
	uint64_t at, len;
	struct zip *z = d->state;
	int failed = 0;

	if (buf == NULL)
		return fault_errno(f, ENOMEM, "decode=zip");
	if (n >= END && from->read(from->arg, from->size - n, buf, n) == 0 &&
	    directory_find(from, buf, n, &at, &len) && len <= DIRECTORY_MOST &&
	    at <= from->size && len <= from->size - at &&
	    from->read(from->arg, at, buf, (size_t)len) == 0)
		failed = directory_read(from, buf, (size_t)len, m, f);
	z->told = *m;
	free(buf);
	return failed;
}
#endif

const struct codec zip_codec = {
	.word = "zip", .bit = DECODE_ZIP, .begins = zip_begins, .single = true,
#if defined(HAVE_LIBZ) && defined(HAVE_LIBZSTD)
	.room = sizeof(struct zip), .library = &libz, .open = zip_open,
	.step = zip_step, .close = zip_close, .measure = zip_measure,
#endif
};
