/*
 * An end whose bytes are unpacked from those of another, its carrier (decode=).
 * It is read in order, as a pipe is: one worker at a time reads from the
 * carrier and unpacks, while others write.
 *
 * The first bytes are unpacked before anything is decided, so that what cannot
 * be unpacked is refused.  The end is reached only when all members are whole,
 * their check values are right, and nothing is behind them but zeros, as on a
 * disk that is larger than the image.  If the size is known beforehand, no read
 * comes to the end; then check_kept does.
 */
#include "end/backend.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "digest/hash.h"
#include "pack/codec.h"

enum {
	CHUNK = 1 << 20,	/* bytes read from the carrier at a time */
	MARGIN = 4096,		/* before them, for what was left */
	HEAD = 64 << 10,	/* bytes unpacked before the plan is made */
	TAR_MAGIC = 257,	/* bytes before that of a tar archive */
	IDLE_MOST = 8,		/* steps of a codec without any progress */
	MUCH = 32 << 20,	/* bytes of a library that are told */
};

enum state {
	BETWEEN,		/* a member begins here, or it is over */
	WITHIN,
	OVER,
	FAILED,			/* see "failed" */
};

struct decoded {
	struct endpoint	 carrier;
	struct lane	 lane;		/* of the carrier */
	struct decoder	 d;
	struct codec_measure size;
	enum state	 state;
	uint64_t	 at;		/* of the next byte to be read there */
	uint64_t	 doubt;		/* where a read ended that has failed */
	uint64_t	 pos;		/* of the next byte of the content */
	atomic_uint_fast64_t guess;	/* see endpoint_guess */
	uint64_t	 members;	/* begun so far */
	uint64_t	 zeros;		/* since the last one */
	unsigned	 idle;
	bool		 ended;		/* the carrier has no more bytes */
	bool		 whole;		/* no count=: nothing is left unread */
	bool		 lossy;		/* a block may be lost */
	bool		 tar;		/* what it holds is a tar archive */
	unsigned char	*buf;		/* MARGIN and CHUNK bytes */
	const unsigned char *in;	/* in it: what is not unpacked yet */
	size_t		 in_len;
	unsigned char	*head;		/* the first bytes of the content, */
	size_t		 head_at, head_len;	/* and what is left of them */
	struct io	 failed;	/* how */
	struct unpacker	*blocks;	/* or NULL: it is read in order */
	struct hash	*packed;	/* of its bytes, for expect=, or NULL */
	char		 digest[HASH_HEX];	/* the same, or "" */
};

/* --- the carrier -------------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
decoded_fail(struct decoded *d, int status, const char *fmt, ...)
{
	va_list ap;

	d->state = FAILED;
	d->failed.err = EBADMSG;
	d->failed.status = status;
	va_start(ap, fmt);
	vsnprintf(d->failed.why, sizeof(d->failed.why), fmt, ap);
	va_end(ap);
}

/* The exit status of what has failed. */
static int
decoded_status(const struct decoded *d)
{
	return d->failed.status != 0 ? d->failed.status :
	    errno_is_medium(d->failed.err) ? STATUS_MEDIUM :
	    status_errno(d->failed.err);
}

/* Whether the copy is being stopped: no more is unpacked then. */
static bool
decoded_halted(struct decoded *d)
{
	if (!lane_halted(&d->lane, 0))
		return false;
	d->state = FAILED;
	d->failed.err = ECANCELED;
	return true;
}

/*
 * Read from the carrier, up to what cannot be read: a read that fails is
 * halved, until one block is left.  False: it has failed.
 */
static bool
carrier_read(struct decoded *d, struct io *io)
{
	size_t block = MAX(d->carrier.geo.block, 512U), half;
	bool anywhere = !d->carrier.is.streamed, narrow;

	do {
		half = (size_t)round_up((d->doubt - MIN(d->at, d->doubt)) / 2,
		    block);
		if (half > 0)
			io->len = MIN(io->len, half);
		lane_transfer(&d->lane, io);
		narrow = anywhere && errno_is_medium(io->err) &&
		    io->len > block;
		if (narrow)
			d->doubt = d->at + io->len;
	} while (narrow || (anywhere && lane_again(&d->lane, io)));
	if (io->err == 0)
		return true;
	d->state = FAILED;
	d->failed = *io;
	snprintf(d->failed.why, sizeof(d->failed.why), "its own byte %llu: "
	    "%.120s", (unsigned long long)(io->off + io->done),
	    io->why[0] != '\0' ? io->why : errno_words(io->err));
	return false;
}

/* Its bytes; 0: not known, or none. */
static uint64_t
carrier_size(const struct endpoint *c)
{
	return c->is.streamed || c->geo.size < 0 ||
	    (uint64_t)c->geo.size < c->lim.base ? 0 :
	    (uint64_t)c->geo.size - c->lim.base;
}

/* Have n bytes at least, if there are so many; n is at most CODEC_PEEK. */
static bool
decoded_fill(struct decoded *d, size_t n)
{
	uint64_t size = carrier_size(&d->carrier);
	struct io io = { .op = OP_READ, .buf = d->buf + MARGIN };

	while (d->in_len < n && !d->ended) {
		memmove(d->buf + MARGIN - d->in_len, d->in, d->in_len);
		d->in = d->buf + MARGIN - d->in_len;
		io.off = d->at;
		io.len = (size_t)(size == 0 ? CHUNK : MIN(CHUNK, size - d->at));
		if (io.len > 0 && !carrier_read(d, &io))
			return false;
		if (d->packed != NULL)
			hash_add(d->packed, io.buf, io.done);
		d->at += io.done;
		d->in_len += io.done;
		d->ended = io.done < io.len || (size > 0 && d->at == size);
		if (size > 0 && io.done < io.len) {
			decoded_fail(d, STATUS_SHORT, "it is cut short: its "
			    "own bytes end at %llu", (unsigned long long)d->at);
			return false;
		}
	}
	return true;
}

/* For codec_source. */
static int
carrier_read_at(void *arg, uint64_t off, void *buf, size_t len)
{
	struct decoded *d = arg;
	struct io io = { .op = OP_READ, .off = off, .buf = buf, .len = len };

	lane_transfer(&d->lane, &io);
	return io.err != 0 ? io.err : io.done < len ? EIO : 0;
}

/* --- unpacking ---------------------------------------------------------- */

/* A member, zeros, or the end. */
static void
decoded_between(struct decoded *d)
{
	const struct codec *codec = d->d.codec;

	if (!decoded_fill(d, CODEC_PEEK))
		return;
	while (d->members > 0 && d->in_len > 0 && d->in[0] == 0) {
		d->in++;
		d->in_len--;
		d->zeros++;
	}
	if (!decoded_fill(d, CODEC_PEEK))
		return;
	if (d->in_len > 0 && d->in[0] == 0 && d->members > 0)
		return;
	if (d->in_len == 0 && (d->members > 0 || codec->bit == 0)) {
		d->state = OVER;
		if (d->packed != NULL)
			hash_result(d->packed, d->digest);
	} else if (d->in_len == 0)
		decoded_fail(d, STATUS_SHORT, "it is empty");
	else if (codec->begins(d->in, d->in_len) && (d->members == 0 ||
	    (!codec->single && (d->zeros == 0 || (codec->gap > 0 &&
	    d->zeros % codec->gap == 0))))) {
		d->state = WITHIN;
		d->members++;
		d->zeros = 0;
		if (codec->start != NULL && !codec->start(&d->d))
			decoded_fail(d, d->d.status, "it %s", d->d.why);
	} else if (d->members == 0)
		decoded_fail(d, STATUS_MISMATCH, "it does not begin as %s "
		    "does; decode=auto finds the format", codec->word);
	else
		decoded_fail(d, STATUS_MISMATCH, "behind the end of its %s, "
		    "from its own byte %llu on, it has something else",
		    codec->word, (unsigned long long)(d->at - d->in_len));
}

static void
decoded_step(struct decoded *d, struct codec_io *io)
{
	size_t room = io->out_len, had;

	if (!decoded_fill(d, 1))
		return;
	io->in = d->in;
	io->in_len = had = d->in_len;
	io->last = d->ended;
	switch (d->d.codec->step(&d->d, io)) {
	case CODEC_ENDED:
		d->state = BETWEEN;
		break;
	case CODEC_FAILED:
		/* by now the target may be written */
		decoded_fail(d, d->d.status == STATUS_REFUSED && d->pos > 0 ?
		    status_errno(ENOMEM) : d->d.status, "it %s", d->d.why);
		break;
	case CODEC_GOES_ON:
		break;
	}
	d->in = io->in;
	d->in_len = io->in_len;
	d->idle = io->out_len == room && d->in_len == had ? d->idle + 1 : 0;
	if (d->state != WITHIN || d->idle < IDLE_MOST)
		return;
	if (d->ended && d->in_len == 0)
		decoded_fail(d, STATUS_SHORT, "it is cut short: its own %llu "
		    "bytes end within %s", (unsigned long long)d->at,
		    d->d.codec->word);
	else
		decoded_fail(d, STATUS_MISMATCH, "it is damaged");
}

/* Unpack up to n bytes.  Fewer: it is over, or has failed. */
static size_t
decoded_make(struct decoded *d, unsigned char *out, size_t n)
{
	struct codec_io io = { .out = out, .out_len = n };

	while (io.out_len > 0 && d->state < OVER && !decoded_halted(d))
		if (d->state == WITHIN)
			decoded_step(d, &io);
		else
			decoded_between(d);
	return n - io.out_len;
}

/* The same, from the head at first. */
static size_t
decoded_take(struct decoded *d, unsigned char *out, size_t n)
{
	size_t known = MIN(n, d->head_len);

	memcpy(out, d->head + d->head_at, known);
	d->head_at += known;
	d->head_len -= known;
	n = known + (known < n ? decoded_make(d, out + known, n - known) : 0);
	d->pos += n;
	return n;
}

/* How long it will be, if all of it is packed as well as what was read. */
static void
decoded_reckon(struct decoded *d)
{
	double used = (double)(d->at - d->in_len);

	if (used > 0 && !d->size.exact)
		d->guess = (uint64_t)((double)d->pos / used *
		    (double)carrier_size(&d->carrier));
}

static void
decoded_transfer(struct lane *lane, struct io *io)
{
	struct decoded *d = lane->ep->priv;
	uint64_t skip = io->off - d->pos;
	size_t n;

	d->lane.halt = lane->halt;
	while (d->pos < io->off && d->state != FAILED) {
		n = (size_t)MIN(skip, io->len);
		if (decoded_take(d, io->buf, n) == 0 && d->state != FAILED) {
			io->err = ESPIPE;
			return;
		}
		skip = io->off - d->pos;
	}
	if (d->pos == io->off)
		io->done = decoded_take(d, io->buf, io->len);
	if (io->done < io->len && d->state == OVER && d->size.exact &&
	    d->pos < d->size.size)
		decoded_fail(d, STATUS_MISMATCH, "it says that it holds %llu "
		    "bytes, and it holds fewer",
		    (unsigned long long)d->size.size);
	if (io->done < io->len && d->state == FAILED) {
		io->err = d->failed.err;
		io->status = d->failed.status;
		strlcpy(io->why, d->failed.why, sizeof(io->why));
	}
	lane->ep->is.stuck = d->carrier.is.stuck;
	decoded_reckon(d);
}

/*
 * All bytes that were announced have been read: then it must be over.  A copy
 * that was stopped, or had enough with count=, does not come to the end.
 */
static int
decoded_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f)
{
	struct decoded *d = ep->priv;
	uint64_t end = d->size.exact ? d->size.size : d->whole ? to :
	    UINT64_MAX;
	unsigned char more;

	(void)from;
	if (d->carrier.is.device && endpoint_check_kept(&d->carrier,
	    d->carrier.lim.base, d->carrier.lim.base + d->at, holes, f) != 0)
		return -1;
	if (d->pos < end)
		return 0;
	if (decoded_take(d, &more, 1) > 0)
		decoded_fail(d, STATUS_MISMATCH, "it holds more than the %llu "
		    "bytes that were to be read", (unsigned long long)end);
	if (d->state != FAILED || d->failed.err == ECANCELED)
		return 0;
	return fault_set(f, decoded_status(d), "%s: the copy has all of its "
	    "content, but %s", ep->name, d->failed.why);
}

/* --- blocks ------------------------------------------------------------- */

static void
blocks_transfer(struct lane *lane, struct io *io)
{
	struct decoded *d = lane->ep->priv;

	unpacker_read(d->blocks, lane, io);
	if (d->carrier.is.stuck)
		lane->ep->is.stuck = true;
}

static int
blocks_attach(struct lane *lane)
{
	struct decoded *d = lane->ep->priv;

	return lane->probes ? 0 : unpacker_attach(d->blocks);
}

static int
blocks_detach(struct lane *lane)
{
	struct decoded *d = lane->ep->priv;

	if (!lane->probes)
		unpacker_detach(d->blocks);
	return 0;
}

static int
blocks_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f)
{
	struct decoded *d = ep->priv;

	from = d->carrier.lim.base;
	to = from + carrier_size(&d->carrier);
	return !d->carrier.is.device ? 0 :
	    endpoint_check_kept(&d->carrier, from, to, holes, f);
}

/* --- opening and closing ------------------------------------------------ */

static void
decoded_free(struct decoded *d)
{
	unpacker_close(d->blocks);
	free(d->size.part);
	codec_close(&d->d);
	hash_close(d->packed);
	free(d->buf);
	free(d->head);
	free(d);
}

static int
decoded_close(struct endpoint *ep)
{
	struct decoded *d = ep->priv;
	int err = lane_detach(&d->lane), closed;

	unpacker_close(d->blocks);	/* it has lanes of the carrier */
	d->blocks = NULL;
	closed = endpoint_close(&d->carrier);
	strlcpy(ep->said, d->tar ? "there is a tar archive in it, which was "
	    "copied as it is; tar -x takes files from it" : d->carrier.said,
	    sizeof(ep->said));
	memcpy(ep->packed, d->digest, sizeof(ep->packed));
	ep->is.stuck = d->carrier.is.stuck;
	if (ep->is.stuck)
		return err != 0 ? err : closed;
	ep->carrier = NULL;	/* its id is also that of the end */
	decoded_free(d);
	return err != 0 ? err : closed;
}

static const struct backend blocks_backend = {
	.attach = blocks_attach,
	.detach = blocks_detach,
	.transfer = blocks_transfer,
	.check_kept = blocks_check_kept,
	.close = decoded_close,
};

static const struct backend decoded_backend = {
	.transfer = decoded_transfer,
	.check_kept = decoded_check_kept,
	.close = decoded_close,
};

void
endpoint_ahead(struct endpoint *ep, struct map *map, uint64_t origin)
{
	const struct decoded *d = ep->priv;

	if (ep->be == &blocks_backend)
		unpacker_ahead(d->blocks, map, origin);
}

uint64_t
endpoint_guess(const struct endpoint *ep)
{
	const struct decoded *d = ep->priv;

	return ep->be == &decoded_backend ? d->guess : 0;
}

/* Of a carrier that can be read at any place: what is known about the size. */
static int
decoded_measure(struct decoded *d, struct fault *f)
{
	const struct endpoint *c = &d->carrier;
	const struct codec_source from = { carrier_read_at, d, c->name,
		carrier_size(c), c->kind == END_FILE };

	if (d->d.codec->measure == NULL || from.size == 0)
		return 0;
	if (d->d.codec->measure(&d->d, &from, &d->size, f) != 0)
		return -1;
	if (d->size.size <= INT64_MAX)
		return 0;
	free(d->size.part);
	d->size = (struct codec_measure){ .size = 0 };
	return 0;
}

/* Which format it is; NULL: none, and it stays as it is. */
static const struct codec *
decoded_choose(struct decoded *d, unsigned wanted, bool unread)
{
	const struct codec *found;

	if (unread || (wanted & DECODE_AUTO) == 0)
		return codec_named(wanted);
	found = codec_found(d->in, d->in_len);
	/* what was read from a pipe is no longer there */
	return found == NULL && d->carrier.is.streamed ? codec_named(0) : found;
}

/* Load the library, and unpack the beginning. */
static int
decoded_begin(struct decoded *d, bool unread, struct fault *f)
{
	const struct codec *codec = d->d.codec;

	if (codec->step == NULL)
		return fault_set(f, STATUS_REFUSED, "decode=%s: this pardd was "
		    "built without the library for it", codec->word);
	if (codec_open(&d->d, f) != 0)
		return -1;
	if (unread)
		return 0;
	if (decoded_measure(d, f) != 0)
		return -1;
	d->head_len = decoded_make(d, d->head, HEAD);
	d->tar = d->head_len >= TAR_MAGIC + 5 && memcmp(d->head + TAR_MAGIC,
	    "ustar", 5) == 0;
	if (d->state == OVER) {
		d->size.size = d->head_len;
		d->size.exact = true;
	}
	/* an image is read back at any place, however small it is */
	if (d->size.part != NULL && d->packed == NULL && (d->carrier.is.back ||
	    (d->state != OVER && d->size.parts > 1)))
		d->blocks = unpacker_open(&d->carrier, &d->d, &d->size);
	if (d->state == FAILED && (d->failed.status == STATUS_REFUSED ||
	    (d->head_len == 0 && (d->blocks == NULL || !d->lossy))))
		return fault_set(f, decoded_status(d), "%s: %s",
		    d->carrier.name, d->failed.why);
	if (d->blocks != NULL)
		codec_close(&d->d);
	return 0;
}

/* What users should know is also what they should about the carrier. */
static void
decoded_offers(struct endpoint *ep, const struct decoded *d)
{
	size_t n = strlen(ep->offers);
	char size[32], held[96] = "";
	bool xz = d->d.codec->bit == DECODE_XZ, apart = d->blocks != NULL;

	if (!d->size.exact && d->size.size > 0)
		snprintf(held, sizeof(held), ", at least %s", number_si(size,
		    sizeof(size), (double)d->size.size));
	if (apart || (xz && d->size.parts > 1))
		snprintf(held, sizeof(held), ", %llu blocks on up to %u "
		    "threads%s", (unsigned long long)d->size.parts, apart ?
		    unpacker_threads(d->blocks) : d->d.threads, apart ? "" :
		    ", in order");
	else if (d->d.codec->bit != 0 && (!xz || d->size.parts == 1))
		strlcat(held, ", on one thread", sizeof(held));
	if (!apart && d->d.held > MUCH)
		snprintf(held + strlen(held), sizeof(held) - strlen(held),
		    ", in %s of memory", number_si(size, sizeof(size),
		    (double)d->d.held));
	snprintf(ep->offers + n, sizeof(ep->offers) - n, "%sdecoded from %s%s",
	    n > 0 ? ", " : "", d->d.codec->bit == 0 ?
	    "what its first bytes say" : d->d.codec->word, held);
}

/* The source now has the content, and its carrier what is read. */
static void
decoded_take_over(struct endpoint *ep, struct decoded *d)
{
	const struct endpoint *c = &d->carrier;

	ep->be = d->blocks != NULL ? &blocks_backend : &decoded_backend;
	ep->priv = d;
	ep->carrier = c;
	ep->decoded = d->d.codec->bit == 0 ? NULL : d->d.codec->word;
	ep->head = d->head_len > 0 ? d->head : NULL;
	ep->is = (struct traits){ .inherited = c->is.inherited,
		.piped = c->is.piped, .device = c->is.device,
		.remote = c->is.remote, .back = c->is.back,
		.streamed = d->blocks == NULL, .seekable = d->blocks != NULL,
		.probed = d->blocks != NULL };
	ep->geo = (struct geometry){ .size = d->size.exact ?
		(int64_t)d->size.size : -1, .least = d->size.size, .room = -1,
		.io_align = 1 };
	ep->cmd = (struct commands){ .unit = 0 };
	ep->lim = (struct limits){ .end = UINT64_MAX };
	ep->dir = ep->layer = -1;
	ep->held = 0;
	ep->sync_why = d->blocks != NULL ? "the source is unpacked" : NULL;
	decoded_offers(ep, d);
}

static unsigned
decoded_threads(const struct opts *o)
{
	long n = o->thr > 0 ? (long)o->thr : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 16 ? 16 : (unsigned)n;
}

static int
decoded_attach(struct decoded *d, struct fault *f)
{
	int err = lane_attach(&d->lane, &d->carrier, d->carrier.lim.base, -1);

	if (err != 0)
		lane_unattached(f, &d->lane, err);
	return err == 0 ? 0 : -1;
}

int
decoded_open(struct endpoint *ep, const struct opts *o, bool look,
    struct fault *f)
{
	struct decoded *d = calloc(1, sizeof(*d));
	bool unread = look && ep->is.streamed;
	const struct algorithm *expected;
	int failed = -1;

	if (d != NULL && (d->buf = page_alloc(MARGIN + CHUNK)) != NULL)
		d->head = calloc(1, HEAD);
	if (d == NULL || d->head == NULL) {
		if (d != NULL)
			decoded_free(d);
		return fault_errno(f, ENOMEM, "decode=");
	}
	d->carrier = *ep;
	d->in = d->buf + MARGIN;
	d->d.memory = o->mem > 0 ? (uint64_t)o->mem : 0;
	d->d.threads = decoded_threads(o);
	d->whole = o->count < 0 && o->compare == 0;
	d->lossy = o->coe != 0 || o->map != NULL;
	expected = algorithm_expected(o->expect);
	if ((expected != NULL && hash_open_ranges(&d->packed, expected, NULL,
	    0, f) != 0) || decoded_attach(d, f) != 0) {
		decoded_free(d);
		return -1;
	}
	if (!unread && !decoded_fill(d, CODEC_PEEK))
		fault_set(f, decoded_status(d), "%s: %s", ep->name,
		    d->failed.why);
	else if ((d->d.codec = decoded_choose(d, o->decode, unread)) == NULL)
		failed = 0;		/* it is not packed */
	else if ((failed = decoded_begin(d, unread, f)) == 0) {
		decoded_take_over(ep, d);
		return 0;
	}
	lane_detach(&d->lane);
	ep->is.stuck = d->carrier.is.stuck;
	decoded_free(d);
	return failed;
}
