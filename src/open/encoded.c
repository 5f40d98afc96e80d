/*
 * A target whose bytes are packed, and written to another, its carrier
 * (encode=zst).  It is written in order, as a pipe is; but what a worker has
 * read it packs before its turn comes.  What is left out becomes zeros.
 *
 * Packed bytes are collected, and written to the carrier CHUNK at a time.  When
 * all of the copy is there, the table of the frames is put behind them.  Until
 * then the file has whole frames, and no table.
 *
 * All of it but the lanes is for whoever has the turn, and then for the lead.
 */
#include "config.h"

#include "end/backend.h"

#ifdef HAVE_LIBZSTD
#include <bsd/string.h>
#include <bsd/sys/endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "pack/libzstd.h"

/*
 * Frames of zstd, each with its size and a check value and to be unpacked by
 * itself, and behind them a table, which says where each of them is, and which
 * zstd itself skips (zstd_seekable_compression_format.md).
 */

enum {
	FRAME_MOST = 4 << 20,	/* bytes of the content of a frame */
	TABLE_HEAD = 8, TABLE_FOOT = 9, TABLE_ENTRY = 12,	/* bytes */
};

struct packed_frame {
	uint32_t	 length, size;	/* bytes: its own, of its content */
	unsigned char	 check[4];
};

static size_t
packed_table_size(size_t n)
{
	return TABLE_HEAD + n * TABLE_ENTRY + TABLE_FOOT;
}

static void
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

struct packer {			/* of one thread */
	struct libzstd	 lib;
	ZSTD_CCtx	*context;
};

static void
packer_close(struct packer *p)
{
	if (p == NULL)
		return;
	p->lib.ZSTD_freeCCtx(p->context);
	free(p);
}

/* Load the library. */
static int
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

/* Make a frame, and describe it.  False: there is not enough memory. */
static bool
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

enum {
	CHUNK = 1 << 20,	/* bytes written to the carrier at a time */
	FRAMES_MOST = 1 << 27,	/* that the table may have */
	SHARE = 6,		/* of mem=, for frames of zeros */
};

struct packet {			/* what one request has become */
	struct packer	*packer;	/* once it is needed */
	unsigned char	*buf;
	size_t		 room, length;	/* bytes of it */
	uint64_t	 off;		/* where its content belongs, */
	size_t		 size;		/* and how much that is */
	struct packed_frame *frame;	/* one for each FRAME_MOST */
	size_t		 frames;
};

struct encoded {
	struct endpoint	 carrier;
	struct lane	 lane;		/* of the carrier, */
	bool		 attached;	/* if it is */
	int		 level;
	unsigned	 threads;
	int64_t		 memory;	/* mem=, or -1 */
	unsigned char	*out;		/* packed, not yet written */
	size_t		 out_len;
	uint64_t	 pos;		/* bytes of the content so far, */
	uint64_t	 stored;	/* and of what is written of it */
	struct packet	 zeros;		/* a frame of them, */
	size_t		 gap;		/* for so much content */
	struct packed_frame *frame;
	size_t		 frames;
	unsigned char	*table;		/* of them, once that is written; */
	bool		 cut_short;	/* or it has just whole frames, of pos
					 * bytes */
	struct io	 failed;	/* how, if its err is not 0 */
};

/* --- packing ------------------------------------------------------------ */

/* Have room for what the content may become.  False: no memory. */
static bool
packet_room(struct packet *k, size_t room, size_t frames)
{
	if (room > k->room) {
		free(k->buf);
		k->buf = malloc(room);
		k->room = k->buf != NULL ? room : 0;
	}
	if (frames > k->frames) {
		free(k->frame);
		k->frame = calloc(frames, sizeof(*k->frame));
	}
	k->frames = k->frame != NULL ? frames : 0;
	return k->buf != NULL && k->frame != NULL;
}

/* Pack a request; false: no memory. */
static bool
packet_make(struct packet *k, int level, uint64_t off,
    const unsigned char *content, size_t size)
{
	size_t most = MIN(size, FRAME_MOST), i, n, at = 0;
	struct fault f;

	k->size = 0;
	k->length = 0;
	if (k->packer == NULL)
		packer_open(&k->packer, level, &f);
	if (k->packer == NULL)
		return false;
	n = size <= FRAME_MOST ? 1 : (size + FRAME_MOST - 1) / FRAME_MOST;
	if (!packet_room(k, n * k->packer->lib.ZSTD_compressBound(most), n))
		return false;
	for (i = 0; i < n; i++, at += most) {
		most = MIN(size - at, FRAME_MOST);
		if (!packer_frame(k->packer, content + at, most, k->buf +
		    k->length, k->room - k->length, &k->frame[i]))
			return false;
		k->length += k->frame[i].length;
	}
	k->off = off;
	k->size = size;
	return true;
}

static void
packet_free(struct packet *k)
{
	packer_close(k->packer);
	free(k->buf);
	free(k->frame);
}

/* --- the carrier -------------------------------------------------------- */

static bool
encoded_fail(struct encoded *e, int err, const char *why)
{
	e->failed.err = err;
	snprintf(e->failed.why, sizeof(e->failed.why), "its own byte %llu: "
	    "%.120s", (unsigned long long)e->stored, why != NULL ? why :
	    errno_words(err));
	return false;
}

/* Write what was collected; false: that has failed. */
static bool
encoded_write_out(struct encoded *e)
{
	struct io io = { .op = OP_WRITE, .buf = e->out, .off = e->stored,
		.len = e->out_len };

	e->out_len = 0;
	if (io.len == 0 || e->failed.err != 0)
		return e->failed.err == 0;
	do {
		lane_transfer(&e->lane, &io);
		e->stored += io.done;
	} while (lane_again(&e->lane, &io));
	if (io.err == 0)
		return true;
	e->failed.status = io.status;
	e->failed.spent = io.spent;
	return encoded_fail(e, io.err, io.why[0] != '\0' ? io.why : NULL);
}

static bool
encoded_append(struct encoded *e, const unsigned char *bytes, size_t len)
{
	size_t n;

	for (; len > 0; len -= n, bytes += n) {
		n = MIN(len, CHUNK - e->out_len);
		memcpy(e->out + e->out_len, bytes, n);
		e->out_len += n;
		if (e->out_len == CHUNK && !encoded_write_out(e))
			return false;
	}
	return true;
}

/* Take over what was packed. */
static bool
encoded_put(struct encoded *e, const struct packet *k)
{
	struct packed_frame *more;
	size_t i;

	for (i = 0; i < k->frames; i++) {
		more = e->frame;
		if (e->frames == FRAMES_MOST)
			return encoded_fail(e, EFBIG, "more frames than a "
			    "table can have; a larger bpt= makes fewer");
		if ((e->frames & (e->frames - 1)) == 0)
			more = reallocarray(more, e->frames > 0 ?
			    2 * e->frames : 1, sizeof(*more));
		if (more == NULL)
			return encoded_fail(e, ENOMEM, NULL);
		e->frame = more;
		e->frame[e->frames++] = k->frame[i];
	}
	e->pos += k->size;
	return encoded_append(e, k->buf, k->length);
}

/* Zeros up to there, which nobody has read. */
static bool
encoded_skip(struct encoded *e, uint64_t to)
{
	unsigned char *content = NULL;
	bool ok = true;
	size_t n;

	for (; e->pos < to && ok; ok = ok && encoded_put(e, &e->zeros)) {
		n = (size_t)MIN(to - e->pos, e->gap);
		if (e->zeros.size == n)
			continue;
		if (content == NULL)
			content = calloc(1, e->gap);
		ok = content != NULL && packet_make(&e->zeros, e->level, 0,
		    content, n);
		if (!ok)
			encoded_fail(e, ENOMEM, NULL);
	}
	free(content);
	return ok;
}

/* --- writing ------------------------------------------------------------ */

static int
encoded_attach(struct lane *lane)
{
	lane->priv = lane->probes ? NULL : calloc(1, sizeof(struct packet));
	return lane->probes || lane->priv != NULL ? 0 : ENOMEM;
}

static int
encoded_detach(struct lane *lane)
{
	if (lane->priv != NULL)
		packet_free(lane->priv);
	free(lane->priv);
	return 0;
}

static void
encoded_pack(struct lane *lane, uint64_t off, const unsigned char *buf,
    size_t len)
{
	const struct encoded *e = lane->ep->priv;

	(void)packet_make(lane->priv, e->level, off, buf, len);
}

static void
encoded_transfer(struct lane *lane, struct io *io)
{
	struct encoded *e = lane->ep->priv;
	struct packet *k = lane->priv;

	if (io->op != OP_WRITE) {
		io->err = EOPNOTSUPP;
		return;
	}
	if (io->off < e->pos || e->table != NULL)
		encoded_fail(e, ESPIPE, "it is written in order");
	else if ((k->off != io->off || k->size != io->len) &&
	    !packet_make(k, e->level, io->off, io->buf, io->len))
		encoded_fail(e, ENOMEM, NULL);
	else if (encoded_skip(e, io->off) && encoded_put(e, k))
		io->done = io->len;
	k->size = 0;			/* the buffer will have other bytes */
	if (e->failed.err == 0)
		return;
	io->err = e->failed.err;
	io->status = e->failed.status;
	io->spent = e->failed.spent || io->err == EIO;
	strlcpy(io->why, e->failed.why, sizeof(io->why));
}

/*
 * Cut off what is behind so many of its bytes.  False: that has failed; or, if
 * nothing has, others have cut off more or removed it, which the end tells.
 */
static bool
encoded_cut(struct encoded *e, uint64_t length)
{
	struct endpoint *c = &e->carrier;
	uint64_t base = c->lim.base;
	struct fault f;

	if (c->kind != END_FILE)
		return true;
	if (endpoint_check_kept(c, base, base + e->stored, 0, &f) != 0)
		return false;
	return c->be->prepare(c, (int64_t)(base + length), &f) == 0 ||
	    encoded_fail(e, EIO, "cutting off what is behind it");
}

/* All of the content is there: put the table behind it. */
static int
encoded_extend(struct endpoint *ep, uint64_t length)
{
	struct encoded *e = ep->priv;
	unsigned char *table = NULL;
	size_t n = 0;

	if (e->failed.err == 0 && encoded_skip(e, length) &&
	    (e->frames > 0 || (packet_make(&e->zeros, e->level, 0, e->out, 0) &&
	    encoded_put(e, &e->zeros)))) {
		n = packed_table_size(e->frames);
		table = malloc(n);
	}
	if (table != NULL) {
		packed_table(e->frame, e->frames, table);
		if (encoded_append(e, table, n) && encoded_write_out(e) &&
		    (encoded_cut(e, e->stored) || e->failed.err == 0))
			e->table = table;
		else
			free(table);
	} else if (e->failed.err == 0) {
		encoded_fail(e, ENOMEM, NULL);
	}
	return e->failed.err;
}

/*
 * Write what is left, and have the lane write it back.  If there is no table,
 * only whole frames are kept, and e->pos becomes their content.  Returns 0 or
 * an errno value.
 */
static int
encoded_settle(struct encoded *e)
{
	uint64_t whole = 0, content = 0;
	size_t i;
	int err;

	if (!e->attached)
		return 0;
	e->attached = false;
	encoded_write_out(e);
	for (i = 0; i < e->frames && whole + e->frame[i].length <= e->stored;
	    i++) {
		whole += e->frame[i].length;
		content += e->frame[i].size;
	}
	if (e->table == NULL) {
		e->cut_short = encoded_cut(e, whole);
		e->pos = content;
		e->stored = whole;
	}
	err = lane_detach(&e->lane);
	return e->failed.err != 0 ? e->failed.err : err;
}

static int
encoded_flush(struct endpoint *ep, struct fault *f)
{
	struct encoded *e = ep->priv;
	int err = encoded_settle(e);

	if (err != 0)
		return fault_set(f, status_errno(err), "%s: %s", ep->name,
		    e->failed.err != 0 ? e->failed.why : errno_words(err));
	return e->carrier.be->flush == NULL ? 0 :
	    e->carrier.be->flush(&e->carrier, f);
}

/* --- before and after --------------------------------------------------- */

static int
encoded_check_range(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f)
{
	struct encoded *e = ep->priv;

	(void)from, (void)to;
	return endpoint_check_range(&e->carrier, e->carrier.lim.base,
	    UINT64_MAX, src, src_from, f);
}

static int
encoded_prepare(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct encoded *e = ep->priv;
	struct endpoint *c = &e->carrier;
	int err, failed = 0;

	(void)length;
	c->fd = ep->fd;			/* if it was just created */
	c->is.linked = ep->is.linked;
	if (c->be->prepare != NULL)
		failed = c->be->prepare(c, (int64_t)c->lim.base, f);
	if (!ep->is.inherited)
		c->fd = -1;
	if (failed != 0)
		return -1;
	err = lane_attach(&e->lane, c, c->lim.base, -1);
	if (err != 0)
		lane_unattached(f, &e->lane, err);
	e->attached = err == 0;
	return err == 0 ? 0 : -1;
}

static int
encoded_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f)
{
	const struct encoded *e = ep->priv;

	(void)from, (void)to, (void)holes;
	return endpoint_check_kept(&e->carrier, e->carrier.lim.base,
	    e->carrier.lim.base + e->stored, 0, f);
}

static void
encoded_drop_cache(struct endpoint *ep, uint64_t off, uint64_t len)
{
	struct encoded *e = ep->priv;

	(void)off, (void)len;
	endpoint_drop_cache(&e->carrier, e->carrier.lim.base, e->stored);
}

/* Whether the table is there: what is unpacked may be found without it. */
static int
encoded_check_table(const struct encoded *e, struct endpoint *r,
    struct fault *f)
{
	size_t n = packed_table_size(e->frames);
	struct io io = { .op = OP_READ, .buf = page_alloc(n),
		.off = e->carrier.lim.base + e->stored - n, .len = n };
	bool same;

	if (io.buf == NULL)
		return fault_errno(f, ENOMEM, "%s: its table", r->name);
	endpoint_probe(r, &io);
	same = io.done == n && memcmp(io.buf, e->table, n) == 0;
	free(io.buf);
	if (same)
		return 0;
	return fault_set(f, io.err == ENOMEM ? status_errno(ENOMEM) :
	    STATUS_MISMATCH, "%s: the table at its end cannot be read back, or "
	    "is not what was written there%s%s", r->name, io.err != 0 ? ": " :
	    "", io.err == 0 ? "" : io.why[0] != '\0' ? io.why :
	    errno_words(io.err));
}

/*
 * Before it has its table, what the carrier has: that shows whether it can be
 * read back.  Then it is unpacked, by what the file itself says.
 */
static int
encoded_open_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *f)
{
	const struct encoded *e = target->priv;
	/* an unpacker takes the room of three frames at least */
	const int64_t least = INT64_C(3) * FRAME_MOST;
	const struct opts o = { .decode = DECODE_ZST, .mem = e->memory > 0 ?
		    MAX(e->memory, least) : -1, .thr = e->threads,
		.count = -1 };
	int failed;

	if (e->carrier.be->open_readback == NULL)
		return fault_set(f, STATUS_USAGE, "%s cannot be read back: it "
		    "is a pipe, or not kept", target->name);
	if (e->carrier.be->open_readback(&e->carrier, r, f) != 0)
		return -1;
	if (e->table == NULL)
		return 0;
	r->lim.base = e->carrier.lim.base;
	r->geo.size = (int64_t)(e->carrier.lim.base + e->stored);
	failed = encoded_check_table(e, r, f) != 0 ? -1 :
	    decoded_open(r, &o, false, f);
	if (failed == 0 && r->is.streamed && e->pos > 0)
		failed = fault_errno(f, ENOMEM, "%s: unpacking it",
		    target->name);
	if (failed != 0)
		endpoint_close(r);
	return failed;
}

static void
encoded_free(struct encoded *e)
{
	packet_free(&e->zeros);
	free(e->frame);
	free(e->table);
	free(e->out);
	free(e);
}

static int
encoded_close(struct endpoint *ep)
{
	struct encoded *e = ep->priv;
	int err = encoded_settle(e), closed;

	if (e->table != NULL)
		snprintf(ep->said, sizeof(ep->said), "it has %llu bytes, %.4g "
		    "%% of its content", (unsigned long long)e->stored,
		    e->pos > 0 ? 100.0 * (double)e->stored / (double)e->pos :
		    0);
	else if (e->cut_short && (e->pos > 0 || e->failed.err != 0) &&
	    e->carrier.kind == END_FILE)
		snprintf(ep->said, sizeof(ep->said), "it is cut short: it has "
		    "the first %llu bytes of the content, and no table of its "
		    "frames", (unsigned long long)e->pos);
	ep->stored = e->stored;
	closed = e->carrier.be->close == NULL ? 0 :
	    e->carrier.be->close(&e->carrier);
	encoded_free(e);
	return err != 0 && !ep->spec.sync ? err : closed;
}

static const struct backend encoded_backend = {
	.check_range = encoded_check_range,
	.prepare = encoded_prepare,
	.attach = encoded_attach,
	.detach = encoded_detach,
	.pack = encoded_pack,
	.transfer = encoded_transfer,
	.extend = encoded_extend,
	.flush = encoded_flush,
	.check_kept = encoded_check_kept,
	.open_readback = encoded_open_readback,
	.drop_cache = encoded_drop_cache,
	.close = encoded_close,
};

static int
encoded_suits(const struct endpoint *ep, struct fault *f)
{
	if ((ep->spec.flags & FLAG_APPEND) != 0)
		return fault_set(f, STATUS_REFUSED, "%s is appended to; an "
		    "image of encode= is a file of its own", ep->name);
	if (ep->is.device || (ep->kind != END_FILE && ep->kind != END_STREAM &&
	    ep->kind != END_DISCARD))
		return fault_set(f, STATUS_REFUSED, "encode= makes a file, or "
		    "goes to a pipe, and %s is neither", ep->name);
	return 0;
}

int
encoded_open(struct endpoint *ep, const struct opts *o, struct fault *f)
{
	struct encoded *e;
	struct packer *packer;

	if (encoded_suits(ep, f) != 0 || packer_open(&packer,
	    opts_encode_level(o->encode), f) != 0)
		return -1;
	e = calloc(1, sizeof(*e));
	if (e == NULL || (e->out = page_alloc(CHUNK)) == NULL) {
		free(e);
		packer_close(packer);
		return fault_errno(f, ENOMEM, "encode=");
	}
	e->carrier = *ep;
	e->carrier.dir = -1;
	e->zeros.packer = packer;
	e->level = opts_encode_level(o->encode);
	e->threads = o->thr > 0 ? (unsigned)o->thr : 0;
	e->memory = o->mem;
	e->gap = o->mem > 0 ? (size_t)MIN(o->mem / SHARE + 1, FRAME_MOST) :
	    FRAME_MOST;
	ep->be = &encoded_backend;
	ep->priv = e;
	ep->encoded = "zst";
	snprintf(ep->offers, sizeof(ep->offers), "encoded as zst, level %d",
	    e->level);
	ep->is.streamed = true;
	ep->is.seekable = ep->is.zeroes = ep->is.shares = ep->is.sparse =
	    ep->is.past_cache = false;
	ep->geo = (struct geometry){ .size = ep->geo.size, .room = -1,
		.io_align = 1, .io_opt = FRAME_MOST };
	ep->lim = (struct limits){ .end = UINT64_MAX };
	return 0;
}
#else
#include "base/status.h"

int
encoded_open(struct endpoint *ep, const struct opts *o, struct fault *f)
{
	(void)ep, (void)o;
	return fault_set(f, STATUS_REFUSED, "encode=zst: this pardd was built "
	    "without the library for it");
}
#endif
