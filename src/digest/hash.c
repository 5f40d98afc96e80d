/*
 * Digests in order.  What a worker has read stays in a list until the thread of
 * each algorithm has taken it; a thread takes the piece that begins where its
 * last one ended.  So a digest costs only its own computing time, several are
 * computed in parallel, and the disks stay busy.
 *
 *	h	hash->lock, a leaf; held for a few instructions
 *	I	set before the threads start
 */
#include "digest/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <xxhash.h>

#include "base/algorithm.h"
#include "base/status.h"
#include "digest/digester.h"
#include "map/map.h"

enum { ZEROS = 1 << 20 };	/* bytes of a gap taken at a time */

struct hasher {			/* one algorithm; its thread's once started */
	struct hash	*hash;	/* I */
	const struct algorithm *alg;	/* I */
	EVP_MD_CTX	*ctx;
	XXH3_state_t	*xxh;
	pthread_t	 thread;
	pthread_cond_t	 come;	/* a piece was posted, or there are no more */
	uint64_t	 next;	/* h: the next byte it needs */
	size_t		 gap;	/* index of the next gap */
	size_t		 range;	/* index of the next range */
	bool		 started;
	bool		 failed;	/* libcrypto has failed */
};

struct hash {
	struct crypto	 crypto;	/* I */
	pthread_mutex_t	 lock;
	struct hash_piece *posted;	/* h */
	bool		 stopped;	/* h: a piece will be missing */
	bool		 over;		/* h: no more pieces */
	const struct seg *gap;	/* I: ranges without pieces: zeros; lent */
	size_t		 gaps;	/* I */
	uint64_t	 base;	/* I: position of the copy, for gaps */
	struct hash_range *range;	/* or NULL; lent; written by the only
					 * hasher */
	size_t		 ranges;	/* I */
	unsigned	 all;		/* I: bits of all hashers */
	size_t		 n;		/* I: of hasher and digest */
	struct hasher	 hasher[ALGORITHMS];
	struct hash_sum	 digest[ALGORITHMS];	/* once all are joined */
};

/* ----------------------------------------------------------- algorithms */

static int
open_crypto(struct hash *h, struct hasher *t, struct fault *f)
{
	struct crypto *c = &h->crypto;
	EVP_MD *md;
	bool ok;

	if (c->init == NULL && crypto_load(c, t->alg->name, f) != 0)
		return -1;
	md = c->fetch(NULL, t->alg->crypto, NULL);
	if (md == NULL)
		return fault_set(f, STATUS_REFUSED, "%s has no %s", LIBCRYPTO,
		    t->alg->name);
	t->ctx = c->new();
	ok = t->ctx != NULL && c->begin(t->ctx, md, NULL) == 1;
	c->free(md);
	return ok ? 0 : fault_errno(f, ENOMEM, "%s", t->alg->name);
}

static int
open_hasher(struct hash *h, struct hasher *t, struct fault *f)
{
	if (t->alg->crypto != NULL)
		return open_crypto(h, t, f);
	t->xxh = XXH3_createState();
	if (t->xxh == NULL || XXH3_128bits_reset(t->xxh) != XXH_OK)
		return fault_errno(f, ENOMEM, "%s", t->alg->name);
	return 0;
}

static void
hasher_update(struct hasher *t, const unsigned char *buf, size_t len)
{
	if (t->xxh != NULL)
		XXH3_128bits_update(t->xxh, buf, len);
	else if (t->hash->crypto.update(t->ctx, buf, len) != 1)
		t->failed = true;
}

static void
hasher_digest(struct hasher *t, unsigned char bytes[EVP_MAX_MD_SIZE])
{
	XXH128_canonical_t canonical;

	if (t->xxh != NULL) {
		XXH128_canonicalFromHash(&canonical,
		    XXH3_128bits_digest(t->xxh));
		memcpy(bytes, canonical.digest, sizeof(canonical.digest));
	} else if (t->hash->crypto.final(t->ctx, bytes, NULL) != 1) {
		t->failed = true;
	}
}

/* Finish a digest as text; "" if there is none. */
static void
hasher_finish(struct hasher *t, char hex[HASH_HEX])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	size_t i;

	hasher_digest(t, bytes);
	for (i = 0; i < t->alg->size && !t->failed; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

/* Finish the digest of a range. */
static void
finish_range(struct hasher *t, struct hash_range *r)
{
	unsigned char bytes[EVP_MAX_MD_SIZE];

	hasher_digest(t, bytes);
	r->right = !t->failed && memcmp(bytes, r->want, t->alg->size) == 0;
	if (t->xxh != NULL)
		XXH3_128bits_reset(t->xxh);
	else if (t->hash->crypto.begin(t->ctx, NULL, NULL) != 1)
		t->failed = true;
}

/* Digest those bytes from "off" on that lie in ranges. */
static void
update_ranges(struct hasher *t, uint64_t off, const unsigned char *buf,
    size_t len)
{
	struct hash_range *r = t->hash->range + t->range;
	uint64_t end = off + len, from, to;

	for (; t->range < t->hash->ranges && r->off < end; r++, t->range++) {
		from = MAX(r->off, off);
		to = MIN(r->off + r->len, end);
		if (from < to)
			hasher_update(t, buf + (from - off),
			    (size_t)(to - from));
		if (r->off + r->len > end)
			return;
		finish_range(t, r);
	}
}

/* ---------------------------------------------------------------- a run */

static struct hash *
new_hash(void)
{
	struct hash *h = calloc(1, sizeof(*h));

	if (h != NULL)
		pthread_mutex_init(&h->lock, NULL);
	return h;
}

static int
add_hasher(struct hash *h, const struct algorithm *a, struct fault *f)
{
	struct hasher *t = &h->hasher[h->n];

	*t = (struct hasher){ .hash = h, .alg = a };
	pthread_cond_init(&t->come, NULL);
	h->digest[h->n] = (struct hash_sum){ .name = a->name, .tag = a->tag };
	h->all |= 1u << h->n++;
	return open_hasher(h, t, f);
}

int
hash_open(struct hash **made, const struct opts *o, struct fault *f)
{
	size_t i;
	const struct algorithm *a;
	struct hash *h;

	*made = NULL;
	if (o->hash == 0)
		return 0;
	h = new_hash();
	if (h == NULL)
		return fault_errno(f, ENOMEM, "hash=");
	for (i = 0; i < ALGORITHMS; i++) {
		a = &algorithms[i];
		if ((o->hash & a->bit) == 0)
			continue;
		if (add_hasher(h, a, f) != 0) {
			hash_close(h);
			return -1;
		}
		if (a == algorithm_expected(o->expect))
			h->digest[h->n - 1].expected = strchr(o->expect,
			    ':') + 1;
	}
	*made = h;
	return 0;
}

int
hash_open_ranges(struct hash **made, const struct algorithm *a,
    struct hash_range *range, size_t n, struct fault *f)
{
	struct hash *h = new_hash();

	*made = NULL;
	if (h == NULL) {
		fault_errno(f, ENOMEM, "%s", a->name);
		return -1;
	}
	h->range = range;
	h->ranges = n;
	if (add_hasher(h, a, f) != 0) {
		hash_close(h);
		return -1;
	}
	*made = h;
	return 0;
}

const struct hash_range *
hash_wrong(const struct hash *h)
{
	size_t i;

	for (i = 0; h != NULL && i < h->ranges; i++)
		if (!h->range[i].right)
			return &h->range[i];
	return NULL;
}

void
hash_add(struct hash *h, const void *buf, size_t len)
{
	hasher_update(&h->hasher[0], buf, len);
}

void
hash_result(struct hash *h, char hex[HASH_HEX])
{
	hex[0] = '\0';
	hasher_finish(&h->hasher[0], hex);
}

int
hash_once(const struct algorithm *a, const void *buf, size_t len,
    char hex[HASH_HEX], struct fault *f)
{
	struct hash *h;

	if (hash_open_ranges(&h, a, NULL, 0, f) != 0)
		return -1;
	hash_add(h, buf, len);
	hash_result(h, hex);
	hash_close(h);
	return hex[0] != '\0' ? 0 : fault_set(f, STATUS_FILE, "%s failed",
	    a->name);
}

static void
wake_all(struct hash *h)
{
	size_t i;

	for (i = 0; i < h->n; i++)
		pthread_cond_signal(&h->hasher[i].come);
}

/* End the threads; each first takes the pieces left for it. */
static void
hash_join(struct hash *h)
{
	size_t i;

	pthread_mutex_lock(&h->lock);
	h->over = true;
	wake_all(h);
	pthread_mutex_unlock(&h->lock);
	for (i = 0; i < h->n; i++) {
		if (h->hasher[i].started)
			pthread_join(h->hasher[i].thread, NULL);
		h->hasher[i].started = false;
	}
}

void
hash_close(struct hash *h)
{
	size_t i;

	if (h == NULL)
		return;
	hash_join(h);
	for (i = 0; i < h->n; i++) {
		if (h->hasher[i].ctx != NULL)
			h->crypto.end(h->hasher[i].ctx);
		XXH3_freeState(h->hasher[i].xxh);
		pthread_cond_destroy(&h->hasher[i].come);
	}
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* The piece that begins at "off", or NULL. */
static struct hash_piece *
hash_next_piece(const struct hash *h, uint64_t off)
{
	struct hash_piece *pc = h->posted;

	while (pc != NULL && pc->off != off)
		pc = pc->next;
	return pc;
}

/* Whether no hasher reads this piece, or will. */
static bool
given_back(const struct hash *h, const struct hash_piece *pc)
{
	return pc->wanted == 0 || (h->stopped && pc->held == 0);
}

/* Digest a piece, without the lock. */
static void
read_piece(struct hash *h, struct hasher *t, struct hash_piece *pc)
{
	unsigned bit = 1u << (t - h->hasher);

	pc->held |= bit;
	pthread_mutex_unlock(&h->lock);
	if (h->range != NULL)
		update_ranges(t, pc->off, pc->buf, pc->len);
	else
		hasher_update(t, pc->buf, pc->len);
	pthread_mutex_lock(&h->lock);
	t->next += pc->len;
	pc->held &= ~bit;
	pc->wanted &= ~bit;
	if (given_back(h, pc))
		pthread_cond_signal(&pc->taken);
}

/* Digest zeros, without the lock, if its next byte is in a gap. */
static bool
take_gap(struct hash *h, struct hasher *t)
{
	static const unsigned char zeros[4096];
	uint64_t end, left, n;

	if (t->gap == h->gaps || h->gap[t->gap].off != h->base + t->next)
		return false;
	end = t->next + h->gap[t->gap++].len;
	if (h->range != NULL) {
		t->next = end;
		return true;
	}
	while (t->next < end && !h->stopped) {
		left = MIN(end - t->next, ZEROS);
		t->next += left;
		pthread_mutex_unlock(&h->lock);
		for (; left > 0; left -= n) {
			n = MIN(left, sizeof(zeros));
			hasher_update(t, zeros, (size_t)n);
		}
		pthread_mutex_lock(&h->lock);
	}
	return true;
}

static void *
hasher_thread(void *arg)
{
	struct hasher *t = arg;
	struct hash *h = t->hash;
	struct hash_piece *pc;

	pthread_mutex_lock(&h->lock);
	while (!h->stopped) {
		if (take_gap(h, t))
			continue;
		pc = hash_next_piece(h, t->next);
		if (pc == NULL && h->over)
			break;
		if (pc == NULL)
			pthread_cond_wait(&t->come, &h->lock);
		else
			read_piece(h, t, pc);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

void
hash_gaps(struct hash *h, const struct seg *gap, size_t n, uint64_t base)
{
	if (h == NULL)
		return;
	h->gap = gap;
	h->gaps = n;
	h->base = base;
}

int
hash_start(struct hash *h, struct fault *f)
{
	size_t i;
	int err = 0;

	for (i = 0; h != NULL && i < h->n && err == 0; i++) {
		err = pthread_create(&h->hasher[i].thread, NULL, hasher_thread,
		    &h->hasher[i]);
		h->hasher[i].started = err == 0;
	}
	return err == 0 ? 0 : fault_errno(f, err,
	    "starting a thread for a digest");
}

void
hash_post(struct hash *h, struct hash_piece *pc, uint64_t off,
    const unsigned char *buf, size_t len)
{
	size_t i;

	*pc = (struct hash_piece){ .off = off, .buf = buf, .len = len };
	if (h == NULL || len == 0)
		return;
	pthread_cond_init(&pc->taken, NULL);
	pthread_mutex_lock(&h->lock);
	pc->wanted = h->all;
	pc->next = h->posted;
	h->posted = pc;
	for (i = 0; i < h->n; i++)
		if (h->hasher[i].next == off)
			pthread_cond_signal(&h->hasher[i].come);
	pthread_mutex_unlock(&h->lock);
}

/* Take a piece off the list: it belongs to its worker again. */
static void
hash_take_back(struct hash *h, struct hash_piece *pc)
{
	struct hash_piece **at;

	for (at = &h->posted; *at != pc; at = &(*at)->next)
		continue;
	*at = pc->next;
}

void
hash_wait(struct hash *h, struct hash_piece *pc)
{
	if (h == NULL || pc->len == 0)
		return;
	pthread_mutex_lock(&h->lock);
	while (!given_back(h, pc))
		pthread_cond_wait(&pc->taken, &h->lock);
	hash_take_back(h, pc);
	pthread_mutex_unlock(&h->lock);
	pthread_cond_destroy(&pc->taken);
	pc->len = 0;
}

bool
hash_taken(struct hash *h, struct hash_piece *pc)
{
	bool yes;

	if (h == NULL || pc->len == 0)
		return true;
	pthread_mutex_lock(&h->lock);
	yes = given_back(h, pc);
	pthread_mutex_unlock(&h->lock);
	if (yes)
		hash_wait(h, pc);
	return yes;
}

void
hash_stop(struct hash *h)
{
	struct hash_piece *pc;

	if (h == NULL)
		return;
	pthread_mutex_lock(&h->lock);
	h->stopped = true;
	for (pc = h->posted; pc != NULL; pc = pc->next)
		pthread_cond_signal(&pc->taken);
	wake_all(h);
	pthread_mutex_unlock(&h->lock);
}

bool
hash_packed(const struct hash_sum *d)
{
	return d->packed != NULL && strcasecmp(d->packed, d->expected) == 0;
}

int
hash_finish(struct hash *h, uint64_t end, const char *packed, struct fault *f)
{
	int err = 0;
	size_t i;

	if (h == NULL)
		return 0;
	hash_join(h);
	for (i = 0; i < h->n; i++) {
		struct hasher *t = &h->hasher[i];
		struct hash_sum *d = &h->digest[i];

		if (h->stopped || t->next != end || h->range != NULL)
			continue;
		hasher_finish(t, d->hex);
		if (t->failed)
			err = fault_set(f, STATUS_FILE, "%s: %s failed",
			    t->alg->name, LIBCRYPTO);
		if (d->expected != NULL && packed[0] != '\0')
			d->packed = packed;
		d->differs = d->expected != NULL && !hash_packed(d) &&
		    strcasecmp(d->hex, d->expected) != 0;
	}
	return err;
}

const struct hash_sum *
hash_digests(const struct hash *h, size_t *n)
{
	*n = h != NULL && h->range == NULL ? h->n : 0;
	return h != NULL ? h->digest : NULL;
}
