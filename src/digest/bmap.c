/*
 * Block maps.  The file is XML:
 *
 *	<bmap version="2.0">
 *	    <ImageSize> BYTES </ImageSize>  <BlockSize> BYTES </BlockSize>
 *	    <BlocksCount> N </BlocksCount>
 *	    <MappedBlocksCount> N </MappedBlocksCount>
 *	    <ChecksumType> sha256 </ChecksumType>
 *	    <BmapFileChecksum> HEX </BmapFileChecksum>
 *	    <BlockMap>
 *		<Range chksum="HEX"> FIRST-LAST </Range>  ...
 *
 * Version 1.3 has BmapFileSHA1 and sha1="HEX" instead, and older ones have no
 * checksums.  bmaptool --no-checksum leaves out those of the ranges.  The
 * checksum of the file is computed with each of its own digits replaced by 0.
 *
 * libexpat is loaded only when needed, which is rare.  A document type is
 * refused, because it can make a small file expand.
 *
 * Of a block map that is being made, digests are computed outside the lock.
 *
 *	c	table->lock, a leaf: nothing is called with it held
 */
#include "digest/bmap.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/library.h"
#include "base/path.h"
#include "base/status.h"
#include "config.h"

#ifdef HAVE_LIBEXPAT
#include <expat.h>

enum {
	TEXT_MOST = 256,	/* bytes of text in an element */
	BLOCK_MOST = 1 << 30,
};

#define EXPAT_FUNCTIONS(X) \
	X(XML_ParserCreate) X(XML_ParserFree) X(XML_SetUserData) \
	X(XML_SetElementHandler) X(XML_SetCharacterDataHandler) \
	X(XML_SetStartDoctypeDeclHandler) X(XML_StopParser) X(XML_Parse) \
	X(XML_GetErrorCode)

LIBRARY_STATIC(expat, "libexpat.so.1", "libexpat1", EXPAT_FUNCTIONS);

struct reader {
	struct bmap	*m;
	struct expat	 x;
	XML_Parser	 parser;
	const char	*wrong;		/* the first error, or NULL */
	bool		 no_memory;	/* there was no memory */
	char		 text[TEXT_MOST];	/* text of the current
						 * element */
	size_t		 n;
	unsigned	 depth;
	size_t		 line;		/* of the file, from 1 */
	bool		 old;		/* version 1.3, */
	bool		 older;		/* or below */
	bool		 sized;		/* its sizes were checked */
	uint64_t	 blocks, mapped;	/* numbers in the file */
	size_t		 bare;		/* ranges without a digest */
	uint64_t	 sum;		/* mapped blocks, by adding up ranges */
	char		 own[HASH_HEX];	/* checksum of the file */
	char		 digest[HASH_HEX];	/* digest of the current
						 * range */
};

static int
bmap_load_expat(struct expat *x, const char *path, struct fault *f)
{
	char what[PATH_MAX + 8];

	snprintf(what, sizeof(what), "bmap=%s", path);
	return library_load(&expat, x, what, f);
}

/* -------------------------------------------------------------- elements */

static void
bmap_refuse(struct reader *r, const char *what)
{
	if (r->wrong == NULL)
		r->wrong = what;
	r->x.XML_StopParser(r->parser, XML_FALSE);
}

/* The text without blanks at either end. */
static const char *
bmap_trimmed(struct reader *r)
{
	char *text = r->text;

	while (r->n > 0 && isspace((unsigned char)text[r->n - 1]))
		r->n--;
	text[r->n] = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* Parse digits up to the end of the text; false for anything else. */
static bool
bmap_parse_number(const char **text, uint64_t *value)
{
	const char *c = *text;

	*value = 0;
	for (; isdigit((unsigned char)*c); c++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*c - '0'), value))
			return false;
	if (c == *text)
		return false;
	*text = c;
	return true;
}

static void
bmap_parse_amount(struct reader *r, uint64_t *value, uint64_t most)
{
	const char *text = bmap_trimmed(r);

	if (!bmap_parse_number(&text, value) || *text != '\0' || *value > most)
		bmap_refuse(r, "not a number, or too large");
}

static bool
bmap_parse_digest(unsigned char *to, const char *hex, size_t size)
{
	char two[3] = "";
	size_t i;

	if (strlen(hex) != 2 * size ||
	    strspn(hex, "0123456789abcdefABCDEF") != 2 * size)
		return false;
	for (i = 0; i < size; i++) {
		memcpy(two, hex + 2 * i, 2);
		to[i] = (unsigned char)strtoul(two, NULL, 16);
	}
	return true;
}

static struct hash_range *
new_range(struct bmap *m)
{
	size_t room = m->room * 2 + 64;
	struct hash_range *more;

	if (m->n == m->room) {
		more = reallocarray(m->range, room, sizeof(*more));
		if (more == NULL)
			return NULL;
		m->range = more;
		m->room = room;
	}
	return &m->range[m->n];
}

/* Parse "FIRST-LAST", or a single block. */
static void
bmap_parse_range(struct reader *r)
{
	struct bmap *m = r->m;
	const char *text = bmap_trimmed(r);
	struct hash_range *g = new_range(m);
	uint64_t first, last, end, before = 0;

	if (g == NULL) {
		r->no_memory = true;
		r->x.XML_StopParser(r->parser, XML_FALSE);
		return;
	}
	if (m->n > 0)
		before = g[-1].off + g[-1].len;
	if (!bmap_parse_number(&text, &first))
		first = UINT64_MAX;
	last = first;
	if (*text == '-' && (text++, !bmap_parse_number(&text, &last)))
		last = UINT64_MAX;
	if (*text != '\0' || m->block == 0 || last < first ||
	    last >= r->blocks || first * m->block < before) {
		bmap_refuse(r, "not a range, out of order, or too large");
		return;
	}
	end = (last + 1) * m->block;
	*g = (struct hash_range){ .off = first * m->block };
	g->len = (end < m->size ? end : m->size) - g->off;
	r->sum += last - first + 1;
	m->n++;
	if (r->digest[0] == '\0')
		r->bare++;
	else if (m->algorithm == NULL || !bmap_parse_digest(g->want, r->digest,
	    m->algorithm->size))
		bmap_refuse(r, "the checksum of a range is none");
	if (r->bare > 0 && r->bare < m->n)
		bmap_refuse(r, "some ranges have a checksum, and some have "
		    "none");
}

static void
bmap_parse_kind(struct reader *r)
{
	const char *text = bmap_trimmed(r);

	r->m->algorithm = algorithm_named(text, strlen(text));
	if (r->m->algorithm == NULL)
		bmap_refuse(r, "its checksums are of an unknown kind");
}

static void
bmap_parse_own(struct reader *r)
{
	const char *text = bmap_trimmed(r);

	if (strlen(text) < sizeof(r->own))
		strlcpy(r->own, text, sizeof(r->own));
}

/* Check the numbers needed for ranges, before the first range. */
static void
check_sizes(struct reader *r)
{
	const struct bmap *m = r->m;

	if (r->sized)
		return;
	r->sized = true;
	if (m->block == 0 || m->size > INT64_MAX - m->block ||
	    r->blocks != (m->size + m->block - 1) / m->block)
		bmap_refuse(r, "its sizes contradict each other");
}

static void
bmap_parse_version(struct reader *r, const char *name, const char *const *attr)
{
	const char *v = "";

	for (; *attr != NULL; attr += 2)
		if (strcmp(attr[0], "version") == 0)
			v = attr[1];
	r->old = strcmp(v, "1.3") == 0;
	r->older = strcmp(v, "1.0") == 0 || strcmp(v, "1.1") == 0 ||
	    strcmp(v, "1.2") == 0;
	if (r->old)
		r->m->algorithm = algorithm_named("sha1", 4);
	if (strcmp(name, "bmap") != 0 || (!r->old && !r->older &&
	    strcmp(v, "1.4") != 0 && strcmp(v, "2.0") != 0))
		bmap_refuse(r, "it is not a bmap of version 1.0 to 1.4 or 2.0");
}

static void
bmap_element_begin(void *arg, const char *name, const char **attr)
{
	struct reader *r = arg;

	r->n = 0;
	if (r->depth++ == 0)
		bmap_parse_version(r, name, attr);
	if (strcmp(name, "BlockMap") == 0 || strcmp(name, "Range") == 0)
		check_sizes(r);
	if (strcmp(name, "Range") != 0)
		return;
	r->digest[0] = '\0';
	for (; *attr != NULL && !r->older; attr += 2)
		if ((strcmp(attr[0], "chksum") == 0 ||
		    (r->old && strcmp(attr[0], "sha1") == 0)) &&
		    strlcpy(r->digest, attr[1][0] != '\0' ? attr[1] : "-",
		    sizeof(r->digest)) >= sizeof(r->digest))
			bmap_refuse(r, "a checksum is too long");
}

/* Take a number needed for ranges. */
static void
bmap_parse_size(struct reader *r, const char *name)
{
	if (strcmp(name, "ImageSize") == 0)
		bmap_parse_amount(r, &r->m->size, INT64_MAX);
	else if (strcmp(name, "BlockSize") == 0)
		bmap_parse_amount(r, &r->m->block, BLOCK_MOST);
	else if (strcmp(name, "BlocksCount") == 0)
		bmap_parse_amount(r, &r->blocks, INT64_MAX);
	else if (strcmp(name, "ChecksumType") == 0)
		bmap_parse_kind(r);
	else
		return;
	if (r->sized)
		bmap_refuse(r, "its sizes come after its ranges");
}

static void
bmap_element_end(void *arg, const char *name)
{
	struct reader *r = arg;

	r->depth--;
	if (r->wrong != NULL)
		return;
	if (strcmp(name, "MappedBlocksCount") == 0)
		bmap_parse_amount(r, &r->mapped, INT64_MAX);
	else if (strcmp(name, "BmapFileChecksum") == 0 ||
	    strcmp(name, "BmapFileSHA1") == 0)
		bmap_parse_own(r);
	else if (strcmp(name, "Range") == 0)
		bmap_parse_range(r);
	else
		bmap_parse_size(r, name);
	r->n = 0;
}

/* Whether there are only blanks; the text of expat has no NUL. */
static bool
text_blank(const char *s, size_t len)
{
	while (len > 0 && isspace((unsigned char)s[len - 1]))
		len--;
	return len == 0;
}

static void
bmap_element_text(void *arg, const char *s, int len)
{
	struct reader *r = arg;
	size_t n = (size_t)len;

	if (n >= sizeof(r->text) - r->n) {
		n = sizeof(r->text) - 1 - r->n;
		if (!text_blank(s, (size_t)len))
			bmap_refuse(r, "a text is too long");
	}
	memcpy(r->text + r->n, s, n);
	r->n += n;
}

static void
bmap_doctype(void *arg, const char *name, const char *system,
    const char *public, int internal)
{
	(void)name, (void)system, (void)public, (void)internal;
	bmap_refuse(arg, "it has a document type, and a bmap needs none");
}

/* ------------------------------------------------------------- the file */

static void
bmap_explain(const struct reader *r, const char *path, struct fault *f)
{
	if (r->no_memory || r->x.XML_GetErrorCode(r->parser) ==
	    XML_ERROR_NO_MEMORY)
		fault_errno(f, ENOMEM, "%s", path);
	else
		fault_set(f, STATUS_REFUSED, "%s, line %zu: %s", path, r->line,
		    r->wrong != NULL ? r->wrong : "this is not XML");
}

/*
 * Parse line by line, and count them: the function of expat that tells the line
 * has another name from 2.9 on.
 */
static int
bmap_parse(struct reader *r, const char *path, const char *all, struct fault *f)
{
	const char *at, *next = all;
	enum XML_Status ok;

	r->parser = r->x.XML_ParserCreate(NULL);
	if (r->parser == NULL)
		return fault_errno(f, ENOMEM, "%s", path);
	r->x.XML_SetUserData(r->parser, r);
	r->x.XML_SetElementHandler(r->parser, bmap_element_begin,
	    bmap_element_end);
	r->x.XML_SetCharacterDataHandler(r->parser, bmap_element_text);
	r->x.XML_SetStartDoctypeDeclHandler(r->parser, bmap_doctype);
	do {
		at = next;
		next = at + strcspn(at, "\n");
		next += *next != '\0';
		r->line++;
		ok = r->x.XML_Parse(r->parser, at, (int)(next - at),
		    *next == '\0');
	} while (ok == XML_STATUS_OK && *next != '\0');
	if (ok != XML_STATUS_OK)
		bmap_explain(r, path, f);
	r->x.XML_ParserFree(r->parser);
	return ok == XML_STATUS_OK ? 0 : -1;
}

/* Verify the checksum of the file itself. */
static int
check_own(struct reader *r, const char *path, char *buf, struct fault *f)
{
	const struct algorithm *a = r->m->algorithm;
	size_t n = strlen(r->own);
	char hex[HASH_HEX], *at = n > 0 ? strstr(buf, r->own) : NULL;

	if (a == NULL || n != 2 * a->size || at == NULL)
		return fault_set(f, STATUS_REFUSED, "%s has no checksum of "
		    "itself", path);
	memset(at, '0', n);
	if (hash_once(a, buf, strlen(buf), hex, f) != 0)
		return -1;
	return strcasecmp(hex, r->own) == 0 ? 0 :
	    fault_set(f, STATUS_REFUSED, "%s is damaged: its %s is %s, and it "
	    "says %s", path, a->name, hex, r->own);
}

/* Check all that the file says of itself. */
static int
bmap_check(struct reader *r, const char *path, char *buf, struct fault *f)
{
	if (!r->older && check_own(r, path, buf, f) != 0)
		return -1;
	if (!r->sized)
		return fault_set(f, STATUS_REFUSED, "%s has no BlockMap", path);
	if (r->sum != r->mapped)
		return fault_set(f, STATUS_REFUSED, "%s has ranges of %llu "
		    "blocks, but says %llu", path, (unsigned long long)r->sum,
		    (unsigned long long)r->mapped);
	if (r->bare > 0)
		r->m->algorithm = NULL;
	return 0;
}

int
bmap_load(struct bmap *m, const char *path, struct fault *f)
{
	struct reader r = { .m = m };
	char *buf = NULL;
	size_t len;
	int failed = -1;

	*m = (struct bmap){ .n = 0 };
	if (bmap_load_expat(&r.x, path, f) == 0 &&
	    (buf = path_read(path, "", " is not a bmap: not a regular file, or "
	    "too large", BMAP_FILE_MOST, &len, f)) != NULL) {
		if (strlen(buf) != len)
			fault_set(f, STATUS_REFUSED, "%s is not a text "
			    "file", path);
		else if (bmap_parse(&r, path, buf, f) == 0)
			failed = bmap_check(&r, path, buf, f);
	}
	free(buf);
	if (failed != 0)
		bmap_free(m);
	return failed;
}

#else

int
bmap_load(struct bmap *m, const char *path, struct fault *f)
{
	*m = (struct bmap){ .n = 0 };
	return fault_set(f, STATUS_REFUSED, "bmap=%s: this pardd was built "
	    "without libexpat", path);
}

#endif

void
bmap_free(struct bmap *m)
{
	free(m->range);
	*m = (struct bmap){ .n = 0 };
}

/* --- a block map that is being made -------------------------------------- */

void
bmap_table_init(struct bmap_table *t, const struct digester *by)
{
	*t = (struct bmap_table){ .by = by };
	pthread_mutex_init(&t->lock, NULL);
}

void
bmap_table_free(struct bmap_table *t)
{
	if (t->by == NULL)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->piece);
	*t = (struct bmap_table){ .by = NULL };
}

static int
bmap_table_grow(struct bmap_table *t)
{
	size_t room = t->room * 2 + 1024;
	struct bmap_piece *more;

	if (t->n < t->room)
		return 0;
	if (t->n >= BMAP_RANGES_MOST)
		return EFBIG;
	more = reallocarray(t->piece, room, sizeof(*more));
	if (more == NULL)
		return ENOMEM;
	t->piece = more;
	t->room = room;
	return 0;
}

int
bmap_table_note(struct bmap_table *t, uint64_t off, const void *buf, size_t len)
{
	struct bmap_piece piece = { .off = off, .len = len };
	int err;

	if (!digester_digest(t->by, buf, len, &piece.digest))
		return ENOMEM;
	pthread_mutex_lock(&t->lock);
	err = bmap_table_grow(t);
	if (err == 0) {
		piece.order = t->n;
		t->piece[t->n++] = piece;
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

static int
bmap_pieces_order(const void *a, const void *b)
{
	const struct bmap_piece *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

bool
bmap_table_settle(struct bmap_table *t)
{
	struct bmap_piece *p;
	bool apart = true;
	size_t i, n = 0;

	pthread_mutex_lock(&t->lock);
	if (t->n > 1)
		qsort(t->piece, t->n, sizeof(*t->piece), bmap_pieces_order);
	for (i = 0; i < t->n && apart; i++) {
		p = &t->piece[i];
		if (i + 1 < t->n && p[1].off == p->off)
			apart = p[1].len == p->len;
		else
			t->piece[n++] = *p;
		apart = apart && (i + 1 == t->n || p[1].off == p->off ||
		    p[1].off - p->off >= p->len);
	}
	t->n = n;
	pthread_mutex_unlock(&t->lock);
	return apart;
}
