/*
 * Packing by libzstd: frames, and the table behind them
 * (zstd_seekable_compression_format.md), which zstd itself skips.
 */
#include "config.h"

#include "pack/codec.h"

#include <bsd/sys/endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum {
	TABLE_HEAD = 8, TABLE_FOOT = 9, TABLE_ENTRY = 12,	/* bytes */
};

size_t
packed_table_size(size_t n)
{
	return TABLE_HEAD + n * TABLE_ENTRY + TABLE_FOOT;
}

void
packed_table(const struct packed_frame *frame, size_t n, unsigned char *to)
{
	size_t i;

	le32enc(to, 0x184d2a5e);
	le32enc(to + 4, (uint32_t)packed_table_size(n) - TABLE_HEAD);
	to += TABLE_HEAD;
	for (i = 0; i < n; i++, to += TABLE_ENTRY) {
		le32enc(to, frame[i].length);
		le32enc(to + 4, frame[i].size);
		memcpy(to + 8, frame[i].check, sizeof(frame[i].check));
	}
	le32enc(to, (uint32_t)n);
	to[4] = 0x80;			/* there are check values */
	le32enc(to + 5, 0x8f92eab1);
}

#ifdef HAVE_LIBZSTD
#include "libzstd.h"

struct packer {
	struct libzstd	 lib;
	ZSTD_CCtx	*context;
};

int
packer_open(struct packer **made, int level, struct fault *f)
{
	struct packer *p = calloc(1, sizeof(*p));

	*made = NULL;
	if (p == NULL)
		return fault_errno(f, ENOMEM, "encode=");
	if (library_load(&libzstd, &p->lib, "encode=zst", f) != 0) {
		free(p);
		return -1;
	}
	p->context = p->lib.ZSTD_createCCtx();
	if (p->context == NULL || p->lib.ZSTD_isError(
	    p->lib.ZSTD_CCtx_setParameter(p->context, ZSTD_c_compressionLevel,
	    level)) || p->lib.ZSTD_isError(p->lib.ZSTD_CCtx_setParameter(
	    p->context, ZSTD_c_checksumFlag, 1))) {
		packer_close(p);
		return fault_errno(f, ENOMEM, "encode=zst");
	}
	*made = p;
	return 0;
}

void
packer_close(struct packer *p)
{
	if (p == NULL)
		return;
	p->lib.ZSTD_freeCCtx(p->context);
	free(p);
}

size_t
packer_room(const struct packer *p, size_t size)
{
	return p->lib.ZSTD_compressBound(size);
}

bool
packer_frame(struct packer *p, const void *content, size_t size,
    unsigned char *to, size_t room, struct packed_frame *frame)
{
	size_t n = p->lib.ZSTD_compress2(p->context, to, room, content, size);

	if (p->lib.ZSTD_isError(n) || n < sizeof(frame->check))
		return false;
	frame->length = (uint32_t)n;
	frame->size = (uint32_t)size;
	/* which ends the frame, too */
	memcpy(frame->check, to + n - sizeof(frame->check),
	    sizeof(frame->check));
	return true;
}
#else
int
packer_open(struct packer **made, int level, struct fault *f)
{
	(void)level;
	*made = NULL;
	return fault_set(f, STATUS_REFUSED, "encode=zst: this pardd was built "
	    "without the library for it");
}

void
packer_close(struct packer *p)
{
	(void)p;
}

size_t
packer_room(const struct packer *p, size_t size)
{
	(void)p;
	return size;
}

bool
packer_frame(struct packer *p, const void *content, size_t size,
    unsigned char *to, size_t room, struct packed_frame *frame)
{
	(void)p, (void)content, (void)size, (void)to, (void)room, (void)frame;
	return false;
}
#endif
