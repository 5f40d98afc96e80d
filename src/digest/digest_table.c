/*
 * The table of digests: two arrays, 17 bytes per chunk, or 33 with SHA-256,
 * accessed by index.  Digests are computed outside the lock.
 *
 *	c	digests->lock, a leaf: nothing is called with it held
 */
#include "digest/digest_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#ifdef __x86_64__
#if __has_include(<sys/platform/x86.h>)		/* glibc 2.33 */
#include <sys/platform/x86.h>
#endif
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "digest/digester.h"

enum {
	ROOM = 4096,		/* entries at first */
	XXH_WORDS = 2,
};

#ifdef __x86_64__
/*
 * The loader has already queried the processor. __builtin_cpu_supports() would
 * do so again, before main(), which takes 50 us in a virtual machine.
 */
static bool
has_avx2(void)
{
#ifdef CPU_FEATURE_ACTIVE
	return CPU_FEATURE_ACTIVE(AVX2);
#else
	return __builtin_cpu_supports("avx2") != 0;
#endif
}
#endif

static struct digest
digest_xxh(const void *buf, size_t len)
{
	XXH128_hash_t h;

#ifdef __x86_64__
	if (has_avx2())
		return digest_avx2(buf, len);
#endif
	h = XXH3_128bits(buf, len);
	return (struct digest){ .word = { h.high64, h.low64 } };
}

bool
digest_of(const struct digester *by, const void *buf, size_t len,
    struct digest *d)
{
	if (by != NULL)
		return digester_digest(by, buf, len, d);
	*d = digest_xxh(buf, len);
	return true;
}

bool
digest_same(const struct digest *a, const struct digest *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Memory that is not touched costs nothing: calloc maps large arrays. */
static int
digests_resize(struct digest_table *c, size_t room)
{
	uint64_t *digest = calloc(room, c->words * sizeof(*digest));
	unsigned char *state = calloc(room, sizeof(*state));

	if (digest == NULL || state == NULL) {
		free(digest);
		free(state);
		return ENOMEM;
	}
	if (c->n > 0) {
		memcpy(digest, c->digest, c->n * c->words * sizeof(*digest));
		memcpy(state, c->state, c->n * sizeof(*state));
	}
	free(c->digest);
	free(c->state);
	c->digest = digest;
	c->state = state;
	c->room = room;
	return 0;
}

int
digest_table_init(struct digest_table *c, uint64_t length, uint64_t chunk,
    uint64_t phase, const struct digester *by)
{
	uint64_t room = length == 0 ? ROOM : length / chunk + 2;

	*c = (struct digest_table){ .chunk = chunk, .phase = phase, .by = by,
		.words = by == NULL ? XXH_WORDS : DIGEST_WORDS };
	if (room > CHECKS_MOST + 2 || digests_resize(c, (size_t)room) != 0)
		return ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	return 0;
}

void
digest_table_free(struct digest_table *c)
{
	if (c->digest != NULL)
		pthread_mutex_destroy(&c->lock);
	free(c->digest);
	free(c->state);
	c->digest = NULL;
	c->state = NULL;
}

static uint64_t
start_of(const struct digest_table *c, uint64_t i)
{
	return i == 0 ? 0 : i * c->chunk - c->phase;
}

/* Make room for an index: double the size, or more if it needs more. */
static int
digests_grow(struct digest_table *c, uint64_t i)
{
	uint64_t room = c->room;

	if (i >= CHECKS_MOST)
		return EFBIG;
	while (room <= i)
		room *= 2;
	return digests_resize(c, (size_t)room);
}

/* A chunk written in part counts only as the last of the copy. */
static void
digests_put(struct digest_table *c, size_t i, const struct digest *d,
    uint64_t end)
{
	uint64_t border = start_of(c, i + 1);

	memcpy(c->digest + i * c->words, d->word,
	    c->words * sizeof(d->word[0]));
	c->state[i] = end == border ? CHECK_COPIED : CHECK_PART;
	if (i >= c->n)
		c->n = i + 1;
	if (end > c->end)
		c->end = end;
}

/* The digest of a chunk, or of the part before the end of the copy. */
static int
digests_note(struct digest_table *c, uint64_t i, const void *buf, size_t len)
{
	struct digest d;
	int err = 0;

	if (!digest_of(c->by, buf, len, &d))
		return ENOMEM;
	pthread_mutex_lock(&c->lock);
	if (i >= c->room)
		err = digests_grow(c, i);
	if (err == 0)
		digests_put(c, (size_t)i, &d, start_of(c, i) + len);
	pthread_mutex_unlock(&c->lock);
	return err;
}

int
digest_table_note(struct digest_table *c, uint64_t off, const void *buf,
    size_t len)
{
	const unsigned char *from = buf;
	uint64_t i = (off + c->phase) / c->chunk, at, end = off + len;
	int err = 0;

	for (; err == 0 && (at = start_of(c, i)) < end; i++)
		if (at >= off)
			err = digests_note(c, i, from + (at - off),
			    (size_t)(MIN(start_of(c, i + 1), end) - at));
	return err;
}

void
digest_table_put(struct digest_table *c, uint64_t off, uint64_t len,
    const struct digest *d)
{
	pthread_mutex_lock(&c->lock);
	digests_put(c, (size_t)((off + c->phase) / c->chunk), d, off + len);
	pthread_mutex_unlock(&c->lock);
}

int
digest_table_end(struct digest_table *c, uint64_t end)
{
	uint64_t n = (end + c->phase + c->chunk - 1) / c->chunk;
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (n > c->room)
		err = digests_grow(c, n - 1);
	if (err == 0) {
		if (c->n > 0 && (c->end > end || (c->end < end &&
		    c->state[c->n - 1] == CHECK_PART)))
			c->state[c->n - 1] = CHECK_NONE;
		c->n = end == 0 ? 0 : (size_t)n;
		c->end = end;
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

void
digest_table_mark(struct digest_table *c, size_t i, enum check_state state)
{
	pthread_mutex_lock(&c->lock);
	c->state[i] = (unsigned char)state;
	pthread_mutex_unlock(&c->lock);
}

size_t
digest_table_count(struct digest_table *c)
{
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = c->n;
	pthread_mutex_unlock(&c->lock);
	return n;
}

bool
digest_table_at(struct digest_table *c, size_t i, struct check *out)
{
	uint64_t border = start_of(c, i + 1);
	bool there, last;

	pthread_mutex_lock(&c->lock);
	there = i < c->n;
	last = i + 1 == c->n;
	if (there) {
		out->off = start_of(c, i);
		out->len = (last && c->end < border ? c->end : border) -
		    out->off;
		out->whole = out->off + out->len == border;
		out->digest = (struct digest){ .word = { 0 } };
		memcpy(out->digest.word, c->digest + i * c->words,
		    c->words * sizeof(*c->digest));
		out->state = (enum check_state)c->state[i];
		if (out->state == CHECK_PART)
			out->state = last ? CHECK_COPIED : CHECK_NONE;
	}
	pthread_mutex_unlock(&c->lock);
	return there;
}
