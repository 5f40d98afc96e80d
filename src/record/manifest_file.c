/*
 * Writing the file for manifest=, which manifest.c reads.
 */
#include "record/hashfile.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/value.h"
#include "config.h"
#include "digest/manifest.h"
#include "record/events.h"

static const char *
manifest_algorithm(const struct digest_table *c)
{
	return c->by != NULL ? "sha256" : "xxh128";
}

/* Returns an errno value. */
static int
manifest_write_head(FILE *out, const struct plan *p,
    const struct digest_table *c, uint64_t off, uint64_t length,
    const struct ends_told *ends)
{
	json_t *o = json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:O, s:O}",
	    "schema", MANIFEST_SCHEMA, "version", PARDD_VERSION,
	    "created", value_now(),
	    "algorithm", manifest_algorithm(c), "range", (json_int_t)p->chunk,
	    "offset", (json_int_t)off, "length", (json_int_t)length,
	    "source", ends->source, "target", ends->target);
	size_t len;
	char *line = value_line(o, &len);

	if (line == NULL)
		return ENOMEM;
	fwrite(line, 1, len, out);
	free(line);
	return 0;
}

static void
write_range(FILE *out, const struct digest_table *t, const struct check *c,
    uint64_t off)
{
	size_t i;

	fprintf(out, "{\"offset\":%" PRIu64 ",\"length\":%" PRIu64
	    ",\"%s\":%s", off + c->off, c->len, manifest_algorithm(t),
	    c->state == CHECK_NONE ? "null" : "\"");
	for (i = 0; i < t->words && c->state != CHECK_NONE; i++)
		fprintf(out, "%016" PRIx64, c->digest.word[i]);
	fputs(c->state == CHECK_NONE ? "}\n" : "\"}\n", out);
}

void
manifest_look(struct ends_told *ends, const struct plan *p)
{
	ends->source = describe_end(p->src, p->src_off);
	ends->target = describe_end(p->dst, p->dst_off);
}

void
manifest_forget(struct ends_told *ends)
{
	json_decref(ends->source);
	json_decref(ends->target);
}

int
manifest_write(struct newfile *file, const struct plan *p,
    struct digest_table *c, uint64_t off, const struct ends_told *ends,
    struct fault *f)
{
	struct check one;
	size_t n = digest_table_count(c), i;
	uint64_t length = 0;
	int err;

	if (newfile_begin(file, f) != 0)
		return -1;
	if (n > 0 && digest_table_at(c, n - 1, &one))
		length = one.off + one.len;
	err = manifest_write_head(file->out, p, c, off, length, ends);
	for (i = 0; digest_table_at(c, i, &one); i++)
		write_range(file->out, c, &one, off);
	fprintf(file->out, "{\"ranges\":%zu}\n", n);
	return newfile_end(file, err, f);
}
