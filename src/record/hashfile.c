/*
 * Files that a run writes for other programs.
 *
 * hashfile=: digests as lines, "HEX NAME" for one algorithm; for several the
 * tagged form of BSD, "SHA256 (NAME) = HEX", where each tool picks its own
 * lines.  NAME can be read again: the target, or else the source.
 *
 * usedmap=: the format of GNU ddrescue (its manual, "Mapfile structure"), the
 * whole source, in order.
 *
 * bmap=: block maps of version 2.0, which bmap.c reads.  They contain only
 * numbers, so nothing has to be escaped.  The checksum of the file replaces
 * zeros at the end.
 */
#include "record/hashfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "config.h"
#include "end/endpoint.h"
#include "part/used.h"

/* --- bmap= --------------------------------------------------------------- */

struct writer {
	FILE		*out;
	struct digester_sum *sum;	/* over everything written */
	off_t		 length;	/* of that */
};

static void __attribute__((format(printf, 2, 3)))
bmap_file_put(struct writer *w, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fwrite(line, 1, (size_t)n, w->out);
	w->length += n;
	digester_add(w->sum, line, (size_t)n);
}

/* Write the digest of the file into its place.  Returns 0 or an errno value. */
static int
put_digest(FILE *out, const struct digest *d, off_t at)
{
	char hex[DIGEST_WORDS * 16 + 1];
	size_t i;

	for (i = 0; i < DIGEST_WORDS; i++)
		snprintf(hex + i * 16, sizeof(hex) - i * 16, "%016" PRIx64,
		    d->word[i]);
	return fflush(out) != 0 ? errno :
	    pwrite(fileno(out), hex, strlen(hex), at) < 0 ? errno : 0;
}

static void
put_range(struct writer *w, const struct bmap_piece *p, uint64_t block)
{
	uint64_t first = p->off / block, last = (p->off + p->len - 1) / block;
	const uint64_t *d = p->digest.word;

	bmap_file_put(w, "        <Range chksum=\"%016" PRIx64 "%016" PRIx64
	    "%016" PRIx64 "%016" PRIx64 "\"> %" PRIu64, d[0], d[1], d[2], d[3],
	    first);
	if (last > first)
		bmap_file_put(w, "-%" PRIu64, last);
	bmap_file_put(w, " </Range>\n");
}

static uint64_t
count_mapped(const struct bmap_table *t, uint64_t block)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < t->n; i++)
		sum += (t->piece[i].len + block - 1) / block;
	return sum;
}

/* Write everything up to the file's own checksum, and return its position. */
static off_t
put_head(struct writer *w, const struct bmap_table *t, uint64_t size,
    uint64_t block)
{
	off_t at;

	bmap_file_put(w,
	    "<?xml version=\"1.0\" ?>\n<!-- A block map of an image, by pardd "
	    "%s. -->\n<bmap version=\"2.0\">\n",
	    PARDD_VERSION);
	bmap_file_put(w, "    <ImageSize> %" PRIu64 " </ImageSize>\n", size);
	bmap_file_put(w, "    <BlockSize> %" PRIu64 " </BlockSize>\n", block);
	bmap_file_put(w, "    <BlocksCount> %" PRIu64 " </BlocksCount>\n",
	    (size + block - 1) / block);
	bmap_file_put(w, "    <MappedBlocksCount> %" PRIu64
	    " </MappedBlocksCount>\n", count_mapped(t, block));
	bmap_file_put(w, "    <ChecksumType> sha256 </ChecksumType>\n"
	    "    <BmapFileChecksum> ");
	at = w->length;
	bmap_file_put(w, "%064d </BmapFileChecksum>\n    <BlockMap>\n", 0);
	return at;
}

/* Whether ranges of whole blocks cover exactly these bytes. */
static bool
bmap_whole_blocks(const struct bmap_table *t, uint64_t size, uint64_t block)
{
	uint64_t end;
	size_t i;

	for (i = 0; i < t->n; i++) {
		end = t->piece[i].off + t->piece[i].len;
		if (t->piece[i].off % block != 0 || end > size ||
		    (end % block != 0 && end != size))
			return false;
	}
	return true;
}

int
bmap_write(struct newfile *file, struct bmap_table *t, uint64_t size,
    uint64_t block, struct fault *f)
{
	struct writer w;
	struct digest own;
	off_t at;
	size_t i;
	int err;

	if (!bmap_table_settle(t) || !bmap_whole_blocks(t, size, block))
		return fault_set(f, STATUS_FILE, "%s: the pieces of the copy "
		    "are none of a block map", file->path);
	if (newfile_begin(file, f) != 0)
		return -1;
	w = (struct writer){ file->out, digester_begin(t->by), 0 };
	if (w.sum == NULL)
		return newfile_end(file, ENOMEM, f);
	at = put_head(&w, t, size, block);
	for (i = 0; i < t->n; i++)
		put_range(&w, &t->piece[i], block);
	bmap_file_put(&w, "    </BlockMap>\n</bmap>\n");
	err = digester_end(w.sum, &own) ? put_digest(file->out, &own, at) :
	    ENOMEM;
	return newfile_end(file, err, f);
}

/* --- usedmap= ------------------------------------------------------------ */

static void
usedmap_put(FILE *out, uint64_t off, uint64_t end, char status)
{
	if (off < end)
		fprintf(out, "0x%08" PRIX64 "  0x%08" PRIX64 "  %c\n", off,
		    end - off, status);
}

int
usedmap_write(struct newfile *file, const struct plan *p, struct fault *f)
{
	const struct used *u = p->used;
	uint64_t at = p->src->lim.part > 0 ? p->src->lim.base : 0;
	size_t i;

	if (file->dir < 0)
		return 0;
	if (newfile_begin(file, f) != 0)
		return -1;
	fprintf(file->out, "# Mapfile. Created by pardd %s\n"
	    "# What file systems use of the source (+) and what is free (?)\n"
	    "0x00000000     +               1\n", PARDD_VERSION);
	usedmap_put(file->out, 0, at, '?');
	for (i = 0; i < u->free.n; i++) {
		const struct seg *s = &u->free.seg[i];

		usedmap_put(file->out, at, s->off, '+');
		usedmap_put(file->out, s->off, s->off + s->len, '?');
		at = s->off + s->len;
	}
	usedmap_put(file->out, at, (uint64_t)p->src->geo.size, '+');
	return newfile_end(file, 0, f);
}

/* --- hashfile= ----------------------------------------------------------- */

static bool
can_be_read_again(const struct endpoint *ep)
{
	return endpoint_holds(ep) && !ep->is.inherited && ep->encoded == NULL &&
	    (!ep->is.streamed || ep->is.durable);
}

/* The end that the lines name, and where the copy begins there; or NULL. */
static const struct endpoint *
hashfile_named(const struct plan *all, uint64_t *off)
{
	const struct plan *p = plan_first(all);

	if (can_be_read_again(p->dst)) {
		*off = p->dst_off;
		return p->dst;
	}
	*off = p->src_off;
	return can_be_read_again(p->src) ? p->src : NULL;
}

/*
 * A name in a line of a checksum file, as coreutils have it: \, \n and \r are
 * escaped, and then the line begins with a \.  Returns whether it has to.
 * Takes at most twice as many bytes, and the 0.
 */
static bool
hashfile_escape(char *to, const char *name)
{
	static const char odd[] = "\\\n\r", letter[] = "\\nr";
	bool escaped = false;
	const char *at;

	for (; *name != '\0'; name++) {
		at = strchr(odd, *name);
		if (at != NULL) {
			*to++ = '\\';
			*to++ = letter[at - odd];
			escaped = true;
		} else {
			*to++ = *name;
		}
	}
	*to = '\0';
	return escaped;
}

char *
hashfile_line(const struct plan *p, const struct hash_sum *d)
{
	uint64_t off;
	const struct endpoint *ep = hashfile_named(p, &off);
	const char *name = ep != NULL ? ep->name : "-", *mark;
	char *safe = malloc(2 * strlen(name) + 1), *line = NULL;
	size_t n;
	int len;

	if (safe == NULL)
		return NULL;
	mark = hashfile_escape(safe, name) ? "\\" : "";
	hash_digests(p->hash, &n);
	len = n > 1 ? asprintf(&line, "%s%s (%s) = %s", mark, d->tag, safe,
	    d->hex) : asprintf(&line, "%s%s  %s", mark, d->hex, safe);
	free(safe);
	return len < 0 ? NULL : line;
}

/* Whether the named end contains more than was copied. */
static bool
hashfile_partial(const struct plan *p, const struct endpoint *ep, uint64_t off,
    uint64_t len)
{
	bool cut = ep != p->src && p->truncate >= 0;

	return off > 0 || (!cut && ep->geo.size > 0 &&
	    (uint64_t)ep->geo.size > len);
}

/* Comments, which the tools skip, if they would read something else. */
static void
hashfile_remark(FILE *out, const struct plan *p, const struct outcome *o)
{
	uint64_t off, len = o->tally.read + o->tally.lost;
	const struct endpoint *ep = hashfile_named(p, &off);

	if (o->tally.lost > 0)
		fprintf(out, "# %" PRIu64 " bytes could not be read: they "
		    "count as zeros\n", o->tally.lost);
	if (ep != NULL && (o->tally.padded > 0 ||
	    hashfile_partial(p, ep, off, len)))
		fprintf(out, "# of %" PRIu64 " bytes from byte %" PRIu64
		    " on\n", len, off);
}

int
hashfile_write(struct newfile *file, const struct plan *p,
    const struct outcome *o, struct fault *f)
{
	const struct hash_sum *d;
	char *line;
	size_t n, i;
	int err = 0;

	d = hash_digests(p->hash, &n);
	if (file->dir < 0 || d[0].hex[0] == '\0')
		return 0;
	if (newfile_begin(file, f) != 0)
		return -1;
	hashfile_remark(file->out, p, o);
	for (i = 0; i < n; i++) {
		line = hashfile_line(p, &d[i]);
		if (line != NULL)
			fprintf(file->out, "%s\n", line);
		else
			err = ENOMEM;
		free(line);
	}
	return newfile_end(file, err, f);
}
