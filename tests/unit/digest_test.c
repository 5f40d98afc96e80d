/*
 * Digests with a mock libcrypto, any function of which may fail: every failure
 * is reported, and nothing is left behind.
 */
#include "test.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "digest/digester.h"
#include "base/library.h"
#include "digest/digest_table.h"
#include "digest/hash.h"
#include "map/map.h"
#define POOR_OF_ALL
#include "poor.h"

/* The digest of n bytes is that number, 255 at most, in each byte. */
static struct {
	const char	*fails;		/* the function, */
	unsigned	 left;		/* after so many calls of it */
	atomic_int	 contexts, digests;	/* that exist */
	sem_t		 updated;
} lib;

static bool
fails(const char *function)
{
	return lib.fails != NULL && strcmp(lib.fails, function) == 0 &&
	    (lib.left == 0 || lib.left-- == 0);
}

struct context {
	unsigned char bytes;
};

static int
fake_init(uint64_t options, const OPENSSL_INIT_SETTINGS *settings)
{
	return !fails("init");
}

static EVP_MD *
fake_fetch(OSSL_LIB_CTX *c, const char *name, const char *properties)
{
	if (fails("fetch"))
		return NULL;
	lib.digests++;
	return malloc(1);
}

static void
fake_free(EVP_MD *md)
{
	lib.digests--;
	free(md);
}

static EVP_MD_CTX *
fake_new(void)
{
	struct context *c = fails("new") ? NULL : malloc(sizeof(*c));

	lib.contexts += c != NULL;
	return (EVP_MD_CTX *)c;
}

static void
fake_end(EVP_MD_CTX *c)
{
	if (c == NULL)
		return;
	lib.contexts--;
	free(c);
}

static int
fake_begin(EVP_MD_CTX *c, const EVP_MD *md, const OSSL_PARAM *params)
{
	*(unsigned char *)c = 0;
	return !fails("begin");
}

static int
fake_update(EVP_MD_CTX *c, const void *buf, size_t len)
{
	unsigned char *n = (unsigned char *)c;

	*n = *n + len > 255 ? 255 : (unsigned char)(*n + len);
	sem_post(&lib.updated);
	return !fails("update");
}

static int
fake_final(EVP_MD_CTX *c, unsigned char *to, unsigned *size)
{
	memset(to, *(unsigned char *)c, EVP_MAX_MD_SIZE);
	return !fails("final");
}

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *f)
{
	const struct crypto all = { .init = fake_init, .fetch = fake_fetch,
		.free = fake_free, .new = fake_new, .end = fake_end,
		.begin = fake_begin, .update = fake_update,
		.final = fake_final };

	if (fails("load"))
		return fault_set(f, STATUS_REFUSED, "%s: not there", what);
	memcpy(table, &all, sizeof(all));
	return 0;
}

static int
begin(void **state)
{
	memset(&lib, 0, sizeof(lib));
	return sem_init(&lib.updated, 0, 0);
}

static int
end(void **state)
{
	assert_int_equal(lib.contexts, 0);
	assert_int_equal(lib.digests, 0);
	return sem_destroy(&lib.updated);
}

EACH(begin, end)

static const struct algorithm *
sha256(void)
{
	return algorithm_named("sha256", 6);
}

/* ------------------------------------------------------- what cannot begin */

/* What each failure says. */
static const struct failure {
	const char	*function;
	int		status;
	const char	*text;
} failures[] = {
	{ "load", STATUS_REFUSED, "not there" },
	{ "init", STATUS_REFUSED, "does not do what it is needed for" },
	{ "fetch", STATUS_REFUSED, "has no sha256" },
	{ "new", STATUS_ERRNO + ENOMEM, "sha256" },
	{ "begin", STATUS_ERRNO + ENOMEM, "sha256" },
};

enum { FAILURES = sizeof(failures) / sizeof(failures[0]) };

static void
told(const struct failure *e, const struct fault *f)
{
	assert_int_equal(f->status, e->status);
	assert_non_null(strstr(f->text, e->text));
	assert_int_equal(lib.contexts, 0);
	assert_int_equal(lib.digests, 0);
}

CASE(tells_what_cannot_begin)
{
	const struct opts o = { .hash = sha256()->bit };
	const struct failure *e;
	struct hash_range range = { .len = 1 };
	char hex[HASH_HEX];
	struct hash *h;
	struct fault f;

	for (e = failures; e < failures + FAILURES; e++) {
		lib.fails = e->function;
		assert_int_equal(hash_open(&h, &o, &f), -1);
		assert_null(h);
		told(e, &f);
		assert_int_equal(hash_open_ranges(&h, sha256(), &range, 1, &f),
		    -1);
		assert_null(h);
		told(e, &f);
		assert_int_equal(hash_once(sha256(), "a", 1, hex, &f), -1);
		told(e, &f);
	}
}

/* One of several algorithms fails after others have begun. */
CASE(leaves_nothing_of_those_before)
{
	const struct opts o = { .hash = sha256()->bit |
		algorithm_named("md5", 3)->bit |
		algorithm_named("xxh128", 6)->bit };
	struct hash *h;
	struct fault f;

	lib.fails = "new";
	lib.left = 1;
	assert_int_equal(hash_open(&h, &o, &f), -1);
	assert_null(h);
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
}

/* -------------------------------------------------------- what cannot go on */

CASE(tells_what_cannot_go_on)
{
	static const char *const functions[] = { "update", "final" };
	const struct opts o = { .hash = sha256()->bit };
	unsigned char data[100] = "";
	struct hash_piece piece;
	const struct hash_sum *sum;
	char hex[HASH_HEX];
	struct hash *h;
	struct fault f;
	size_t i, n;

	for (i = 0; i < 2; i++) {
		lib.fails = functions[i];
		assert_int_equal(hash_once(sha256(), "a", 1, hex, &f), -1);
		assert_int_equal(f.status, STATUS_FILE);
		assert_string_equal(f.text, "sha256 failed");
		assert_int_equal(hash_open(&h, &o, &f), 0);
		assert_int_equal(hash_start(h, &f), 0);
		hash_post(h, &piece, 0, data, sizeof(data));
		hash_wait(h, &piece);
		assert_int_equal(hash_finish(h, sizeof(data), "", &f), -1);
		assert_int_equal(f.status, STATUS_FILE);
		assert_non_null(strstr(f.text, "sha256: libcrypto"));
		sum = hash_digests(h, &n);
		assert_int_equal(n, 1);
		assert_string_equal(sum[0].hex, "");
		hash_close(h);
	}
	lib.fails = NULL;
	assert_int_equal(hash_once(sha256(), "ab", 2, hex, &f), 0);
	assert_memory_equal(hex, "020202", 6);
}

/* Of ranges, the one that has no digest is wrong, and each after it. */
CASE(finds_no_range_right_after_that)
{
	static const struct {
		const char	*fails;
		unsigned	left;		/* calls of it before */
		int		wrong;		/* the first; -1: none */
	} row[] = {
		{ NULL, 0, -1 }, { "update", 0, 0 }, { "final", 1, 1 },
		{ "begin", 1, 1 }, { "begin", 2, 2 }, { "final", 3, -1 },
	};
	struct hash_range range[3];
	unsigned char data[30] = "";
	struct hash_piece piece;
	const struct hash_range *wrong;
	struct hash *h;
	struct fault f;
	size_t k;

	EACH_OF(i, row) {
		memset(range, 0, sizeof(range));
		for (k = 0; k < 3; k++) {
			range[k].off = 10 * k;
			range[k].len = k + 1;
			memset(range[k].want, (int)k + 1, 32);
		}
		lib.fails = row[i].fails;
		lib.left = row[i].left;
		assert_int_equal(hash_open_ranges(&h, sha256(), range, 3, &f),
		    0);
		assert_int_equal(hash_start(h, &f), 0);
		hash_post(h, &piece, 0, data, sizeof(data));
		hash_wait(h, &piece);
		assert_int_equal(hash_finish(h, sizeof(data), "", &f), 0);
		wrong = hash_wrong(h);
		assert_int_equal(wrong == NULL ? -1 : wrong - range,
		    row[i].wrong);
		hash_close(h);
	}
}

/* What no piece holds is no part of a range: it has another digest. */
CASE(finds_a_range_in_a_gap_wrong)
{
	const struct seg gap = { .off = 0, .len = 20 };
	struct hash_range range[] = { { .off = 5, .len = 5, .want = { 9 } },
		{ .off = 20, .len = 2 } };
	unsigned char data[10] = "";
	struct hash_piece piece;
	struct hash *h;
	struct fault f;

	memset(range[1].want, 2, 32);
	assert_int_equal(hash_open_ranges(&h, sha256(), range, 2, &f), 0);
	hash_gaps(h, &gap, 1, 0);
	assert_int_equal(hash_start(h, &f), 0);
	hash_post(h, &piece, 20, data, sizeof(data));
	hash_wait(h, &piece);
	assert_int_equal(hash_finish(h, 30, "", &f), 0);
	assert_ptr_equal(hash_wrong(h), range);
	assert_true(range[1].right);
	hash_close(h);
}

/* ------------------------------------------------------------ being stopped */

/* A gap of a tebibyte is given up in its midst. */
CASE(gives_up_a_gap)
{
	const struct opts o = { .hash = sha256()->bit };
	const struct seg gap = { .off = 7, .len = UINT64_C(1) << 40 };
	const struct hash_sum *sum;
	struct hash *h;
	struct fault f;
	size_t n;

	assert_int_equal(hash_open(&h, &o, &f), 0);
	hash_gaps(h, &gap, 1, 7);
	assert_int_equal(hash_start(h, &f), 0);
	sem_wait(&lib.updated);
	hash_stop(h);
	assert_int_equal(hash_finish(h, UINT64_C(1) << 40, "", &f), 0);
	sum = hash_digests(h, &n);
	assert_string_equal(sum[0].hex, "");
	hash_close(h);
}

/* A piece behind one that never comes is given back. */
CASE(gives_back_what_nobody_takes)
{
	const struct opts o = { .hash = sha256()->bit };
	unsigned char data[10] = "";
	struct hash_piece piece, empty;
	struct hash *h;
	struct fault f;

	assert_int_equal(hash_open(&h, &o, &f), 0);
	assert_int_equal(hash_start(h, &f), 0);
	hash_post(h, &piece, 100, data, sizeof(data));
	hash_post(h, &empty, 200, data, 0);
	assert_false(hash_taken(h, &piece));
	assert_true(hash_taken(h, &empty));
	hash_stop(h);
	assert_true(hash_taken(h, &piece));
	assert_true(hash_taken(h, &piece));	/* it is its worker's again */
	hash_wait(h, &piece);
	hash_wait(NULL, &piece);
	hash_stop(NULL);
	hash_gaps(NULL, NULL, 0, 0);
	assert_int_equal(hash_start(NULL, &f), 0);
	assert_int_equal(hash_finish(NULL, 0, "", &f), 0);
	assert_null(hash_wrong(NULL));
	hash_close(NULL);
	hash_close(h);
}

/* ---------------------------------------------------------------- digesters */

CASE(a_digester_tells_what_it_cannot)
{
	static const char *const functions[] = { "new", "begin", "update",
		"final", NULL };
	const struct failure *e;
	struct digester *by;
	struct digest d = { .word = { 0 } };
	struct fault f;
	size_t i;

	for (e = failures; e < failures + 3; e++) {
		lib.fails = e->function;
		assert_int_equal(digester_open(&by, "sha256", &f), -1);
		assert_null(by);
		told(e, &f);
	}
	lib.fails = NULL;
	assert_int_equal(digester_open(&by, "here", &f), 0);
	for (i = 0; i < 5; i++) {
		lib.fails = functions[i];
		assert_int_equal(digest_of(by, "abc", 3, &d),
		    functions[i] == NULL);
		assert_int_equal(lib.contexts, 0);
	}
	assert_true(d.word[3] == UINT64_C(0x0303030303030303));
	digester_close(by);
	digester_close(NULL);
}

#ifdef POOR
CASE(tells_each_lack_of_memory)
{
	const struct opts o = { .hash = algorithm_named("xxh128", 6)->bit };
	struct hash_range range = { .len = 1 };
	struct digester *by;
	struct digest d;
	struct hash *h;
	struct fault f;
	unsigned i;

	for (i = 0; i < 2; i++) {
		poor_after(i);
		assert_int_equal(hash_open(&h, &o, &f), -1);
		assert_true(poor_was());
		assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
		assert_null(h);
	}
	poor_after(0);
	assert_int_equal(hash_open_ranges(&h, sha256(), &range, 1, &f), -1);
	assert_true(poor_was());
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	assert_null(h);
	poor_after(0);
	assert_int_equal(digester_open(&by, "sha256", &f), -1);
	assert_true(poor_was());
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	assert_null(by);
	assert_int_equal(digester_open(&by, "sha256", &f), 0);
	poor_after(0);
	assert_false(digest_of(by, "a", 1, &d));
	assert_true(poor_was());
	digester_close(by);
}
#endif
