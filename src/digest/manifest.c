/*
 * The file for manifest=, JSON lines:
 *
 *	{"schema": "pardd-manifest/1", "algorithm": "xxh128", "range": BYTES,
 *	    "offset": BYTES, "length": BYTES, ...}
 *	{"offset": BYTES, "length": BYTES, "xxh128": HEX or null}	...
 *	{"ranges": COUNT}
 *
 * or the same with "sha256".
 *
 * Ranges follow each other without gaps.  The first ends at a boundary of the
 * others, the last at the end of the copy.  Only complete files have the last
 * line.  For the other fields see pardd-json(5).
 *
 * A manifest may come from anywhere: every value is checked.
 */
#include "digest/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

enum {
	LINE_MOST = 64 << 10,	/* bytes */
	RANGE_MOST = 1 << 30,	/* bytes, as the limit of a transfer */
	DIGITS = 16,		/* per word of a digest */
};

struct reader {
	struct manifest	*m;
	const char	*path;
	FILE		*in;
	char		*line;		/* LINE_MOST bytes */
	uint64_t	 number;	/* line number */
	uint64_t	 range;		/* bytes */
	uint64_t	 at;		/* bytes of the copy described so far */
	uint64_t	 n;		/* ranges so far */
	const char	*algorithm;	/* key of the digests */
	struct fault	*f;
};

/* --- reading ------------------------------------------------------------ */

static int
manifest_refuse(struct reader *r, const char *what)
{
	return fault_set(r->f, STATUS_REFUSED, "%s, line %" PRIu64 ": %s",
	    r->path, r->number, what);
}

/*
 * Parse the n bytes of the line as an object; the caller frees it.  NULL with
 * *f.
 */
static json_t *
manifest_parse_line(struct reader *r, size_t n)
{
	bool whole = n > 0 && r->line[n - 1] == '\n';
	json_t *o;

	errno = 0;
	o = whole ? json_loadb(r->line, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (json_is_object(o))
		return o;
	if (errno == ENOMEM)
		fault_errno(r->f, ENOMEM, "%s", r->path);
	else
		manifest_refuse(r, "is not a line of a manifest");
	json_decref(o);
	return NULL;
}

/*
 * Read the next line as an object; the caller frees it.  NULL with *f, or at
 * the end of the file.
 */
static json_t *
manifest_next_line(struct reader *r)
{
	size_t n = fgets(r->line, LINE_MOST, r->in) != NULL ?
	    strlen(r->line) : 0;

	r->number++;
	if (n == 0 && ferror(r->in) != 0) {
		fault_errno(r->f, errno, "%s", r->path);
		return NULL;
	}
	if (feof(r->in) != 0) {
		manifest_refuse(r, "it ends here, without the count of its "
		    "ranges: it is truncated");
		return NULL;
	}
	return manifest_parse_line(r, n);
}

/* Get a number in a range; false if there is none. */
static bool
manifest_number(const json_t *o, const char *key, uint64_t least, uint64_t most,
    uint64_t *value)
{
	const json_t *n = json_object_get(o, key);
	json_int_t v = json_integer_value(n);

	if (!json_is_integer(n) || v < 0 || (uint64_t)v < least ||
	    (uint64_t)v > most)
		return false;
	*value = (uint64_t)v;
	return true;
}

/*
 * Copy the serial number of an end's disk, if there is one; false without
 * memory.
 */
static bool
manifest_serial(const json_t *head, const char *end, char **copy)
{
	const char *s = json_string_value(json_object_get(json_object_get(
	    json_object_get(head, end), "disk"), "serial"));

	*copy = s != NULL ? strdup(s) : NULL;
	return s == NULL || *copy != NULL;
}

/* Get the algorithm; refuse one that is unknown. */
static int
read_algorithm(struct reader *r, const json_t *o)
{
	const char *s = json_string_value(json_object_get(o, "algorithm"));

	r->algorithm = s != NULL && strcmp(s, "sha256") == 0 ? "sha256" :
	    "xxh128";
	if (s == NULL || strcmp(s, r->algorithm) != 0)
		return manifest_refuse(r, "a manifest of another version, or "
		    "with other digests, than this program knows");
	return r->algorithm[0] == 'x' ? 0 :
	    digester_open(&r->m->by, r->path, r->f);
}

static int
read_head(struct reader *r, const json_t *o)
{
	const char *schema = json_string_value(json_object_get(o, "schema"));
	struct manifest *m = r->m;

	if (schema == NULL || strncmp(schema, "pardd-manifest/", 15) != 0)
		return manifest_refuse(r, "this is not a manifest");
	if (strcmp(schema, MANIFEST_SCHEMA) != 0)
		return manifest_refuse(r,
		    "a manifest of another version than this program knows");
	if (read_algorithm(r, o) != 0)
		return -1;
	if (!manifest_number(o, "range", 1, RANGE_MOST, &r->range) ||
	    !manifest_number(o, "offset", 0, INT64_MAX, &m->off) ||
	    !manifest_number(o, "length", 0, INT64_MAX - m->off, &m->length))
		return manifest_refuse(r,
		    "no range, offset and length that fit");
	if (m->length / r->range > CHECKS_MOST)
		return manifest_refuse(r, "too many ranges");
	if (!manifest_serial(o, "source", &m->serial[0]) ||
	    !manifest_serial(o, "target", &m->serial[1]))
		return fault_errno(r->f, ENOMEM, "%s", r->path);
	return 0;
}

static bool
manifest_hex(const struct reader *r, const char *s, struct digest *d)
{
	size_t words = r->m->digests.words, i;
	char word[DIGITS + 1] = "";

	*d = (struct digest){ .word = { 0 } };
	if (s == NULL || strlen(s) != words * DIGITS ||
	    strspn(s, "0123456789abcdef") != words * DIGITS)
		return false;
	for (i = 0; i < words; i++) {
		memcpy(word, s + i * DIGITS, DIGITS);
		d->word[i] = strtoull(word, NULL, 16);
	}
	return true;
}

/*
 * Make the table at the second range, because the first is shortened so that it
 * ends at a boundary of the others.
 */
static int
begin_table(struct reader *r, uint64_t first)
{
	uint64_t phase = first < r->range && first < r->m->length ?
	    r->range - first : 0;

	if (digest_table_init(&r->m->digests, r->m->length, r->range,
	    phase, r->m->by) != 0 ||
	    digest_table_end(&r->m->digests, r->m->length) != 0)
		return fault_errno(r->f, ENOMEM, "%s", r->path);
	return 0;
}

static int
read_range(struct reader *r, const json_t *o)
{
	const json_t *hex = json_object_get(o, r->algorithm);
	uint64_t off, len;
	struct check want;
	struct digest d;

	if (!manifest_number(o, "offset", 0, INT64_MAX, &off) ||
	    !manifest_number(o, "length", 1, r->range, &len) ||
	    off != r->m->off + r->at || len > r->m->length - r->at)
		return manifest_refuse(r, "this range does not follow the one "
		    "before, or goes past the end");
	if (r->n == 0 && begin_table(r, len) != 0)
		return -1;
	if (!digest_table_at(&r->m->digests, (size_t)r->n, &want) ||
	    want.len != len)
		return manifest_refuse(r,
		    "this range is not as long as it should be");
	if (json_is_string(hex) && manifest_hex(r, json_string_value(hex), &d))
		digest_table_put(&r->m->digests, r->at, len, &d);
	else if (!json_is_null(hex))
		return manifest_refuse(r, "this range has no digest");
	r->at += len;
	r->n++;
	return 0;
}

static int
read_end(struct reader *r, const json_t *o)
{
	uint64_t n;

	if (!manifest_number(o, "ranges", 0, UINT64_MAX, &n) || n != r->n ||
	    r->at != r->m->length)
		return manifest_refuse(r,
		    "there are more or fewer ranges than the file says");
	if (r->n == 0 && begin_table(r, 0) != 0)
		return -1;
	if (fgetc(r->in) != EOF)
		return manifest_refuse(r, "something follows the last line");
	return 0;
}

/* Read all lines.  Returns 0 at the end of a complete file. */
static int
manifest_read_lines(struct reader *r)
{
	json_t *o = manifest_next_line(r);
	int failed = o == NULL ? -1 : read_head(r, o);
	bool over = false;

	while (failed == 0 && !over) {
		json_decref(o);
		o = manifest_next_line(r);
		over = o != NULL && json_object_get(o, "ranges") != NULL;
		failed = o == NULL ? -1 : over ? read_end(r, o) :
		    read_range(r, o);
	}
	json_decref(o);
	return failed;
}

/* Open a file; NULL with *f if it cannot be opened or is not regular. */
static FILE *
manifest_open(const char *path, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = { .st_mode = S_IFREG };
	FILE *in = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		in = fdopen(fd, "r");
	if (!S_ISREG(st.st_mode))
		fault_set(f, STATUS_REFUSED, "%s is not a regular file", path);
	else if (in == NULL)
		fault_errno(f, errno, "%s", path);
	if (in == NULL && fd >= 0)
		close(fd);
	return in;
}

int
manifest_load(struct manifest *m, const char *path, struct fault *f)
{
	struct reader r = { .m = m, .path = path, .f = f,
		.in = manifest_open(path, f) };
	int failed;

	*m = (struct manifest){ .off = 0 };
	if (r.in == NULL)
		return -1;
	r.line = malloc(LINE_MOST);
	failed = r.line != NULL ? manifest_read_lines(&r) :
	    fault_errno(f, ENOMEM, "%s", path);
	fclose(r.in);
	free(r.line);
	if (failed != 0)
		manifest_free(m);
	return failed;
}

void
manifest_free(struct manifest *m)
{
	digest_table_free(&m->digests);
	digester_close(m->by);
	m->by = NULL;
	free(m->serial[0]);
	free(m->serial[1]);
	m->serial[0] = m->serial[1] = NULL;
}
