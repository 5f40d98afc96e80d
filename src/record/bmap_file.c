/*
 * Writing block maps of version 2.0, which bmap.c reads.  They contain only
 * numbers, so nothing has to be escaped.  The checksum of the file replaces
 * zeros at the end.
 */
#include "record/hashfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "config.h"

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
