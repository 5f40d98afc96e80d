/*
 * SHA-256, with a new context each time.
 */
#include "digest/digester.h"

#include <bsd/sys/endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/library.h"
#include "base/status.h"

#define NAME(member, name)	#name,
static const struct library library = LIBRARY(LIBCRYPTO, "libssl3",
    CRYPTO_FUNCTIONS(NAME));
#undef NAME

/*
 * Do not read its configuration, which could replace implementations, and
 * register no exit handler.
 */
int
crypto_load(struct crypto *c, const char *what, struct fault *f)
{
	if (library_load(&library, c, what, f) != 0)
		return -1;
	if (c->init(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
	    NULL) == 1)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: %s does not do what it is "
	    "needed for", what, LIBCRYPTO);
}

struct digester {
	struct crypto	 crypto;
	EVP_MD		*md;
};

struct digester_sum {
	const struct digester *by;
	EVP_MD_CTX	*ctx;
	bool		 failed;
};

int
digester_open(struct digester **made, const char *what, struct fault *f)
{
	struct digester *d = calloc(1, sizeof(*d));

	*made = NULL;
	if (d == NULL)
		return fault_errno(f, ENOMEM, "%s", what);
	if (crypto_load(&d->crypto, what, f) != 0) {
		free(d);
		return -1;
	}
	d->md = d->crypto.fetch(NULL, "SHA2-256", NULL);
	if (d->md == NULL) {
		free(d);
		return fault_set(f, STATUS_REFUSED, "%s: %s has no sha256",
		    what, LIBCRYPTO);
	}
	*made = d;
	return 0;
}

void
digester_close(struct digester *d)
{
	if (d == NULL)
		return;
	d->crypto.free(d->md);
	free(d);
}

struct digester_sum *
digester_begin(const struct digester *by)
{
	struct digester_sum *s = malloc(sizeof(*s));

	if (s == NULL)
		return NULL;
	*s = (struct digester_sum){ .by = by, .ctx = by->crypto.new() };
	s->failed = s->ctx == NULL ||
	    by->crypto.begin(s->ctx, by->md, NULL) != 1;
	return s;
}

void
digester_add(struct digester_sum *s, const void *buf, size_t len)
{
	if (!s->failed && s->by->crypto.update(s->ctx, buf, len) != 1)
		s->failed = true;
}

bool
digester_end(struct digester_sum *s, struct digest *d)
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	bool made = !s->failed && s->by->crypto.final(s->ctx, bytes, NULL) == 1;
	size_t i;

	for (i = 0; i < DIGEST_WORDS && made; i++)
		d->word[i] = be64dec(bytes + 8 * i);
	s->by->crypto.end(s->ctx);
	free(s);
	return made;
}

bool
digester_digest(const struct digester *by, const void *buf, size_t len,
    struct digest *d)
{
	struct digester_sum *s = digester_begin(by);

	if (s == NULL)
		return false;
	digester_add(s, buf, len);
	return digester_end(s, d);
}
