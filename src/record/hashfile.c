/*
 * Digests as lines: "HEX NAME" for one algorithm; for several the tagged form
 * of BSD, "SHA256 (NAME) = HEX", where each tool picks its own lines.  NAME can
 * be read again: the target, or else the source.
 */
#include "record/hashfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "end/endpoint.h"

static bool
can_be_read_again(const struct endpoint *ep)
{
	return endpoint_holds(ep) && !ep->is.inherited &&
	    (!ep->is.streamed || ep->is.durable);
}

/* The end that the lines name, and where the copy begins there; or NULL. */
static const struct endpoint *
hashfile_named(const struct plan *all, uint64_t *off)
{
	const struct plan *p = plan_first(all);

	if (can_be_read_again(p->dst)) {
		*off = p->dst_off;
		return p->dst;
	}
	*off = p->src_off;
	return can_be_read_again(p->src) ? p->src : NULL;
}

char *
hashfile_line(const struct plan *p, const struct hash_sum *d)
{
	uint64_t off;
	const struct endpoint *ep = hashfile_named(p, &off);
	const char *name = ep != NULL ? ep->name : "-", *mark;
	char *safe = malloc(2 * strlen(name) + 1), *line = NULL;
	size_t n;
	int len;

	if (safe == NULL)
		return NULL;
	mark = escape_checksum(safe, name) ? "\\" : "";
	hash_digests(p->hash, &n);
	len = n > 1 ? asprintf(&line, "%s%s (%s) = %s", mark, d->tag, safe,
	    d->hex) : asprintf(&line, "%s%s  %s", mark, d->hex, safe);
	free(safe);
	return len < 0 ? NULL : line;
}

/* Whether the named end contains more than was copied. */
static bool
hashfile_partial(const struct plan *p, const struct endpoint *ep, uint64_t off,
    uint64_t len)
{
	bool cut = ep != p->src && p->truncate >= 0;

	return off > 0 || (!cut && ep->geo.size > 0 &&
	    (uint64_t)ep->geo.size > len);
}

/* Comments, which the tools skip, if they would read something else. */
static void
hashfile_remark(FILE *out, const struct plan *p, const struct outcome *o)
{
	uint64_t off, len = o->tally.read + o->tally.lost;
	const struct endpoint *ep = hashfile_named(p, &off);

	if (o->tally.lost > 0)
		fprintf(out, "# %" PRIu64 " bytes could not be read: they "
		    "count as zeros\n", o->tally.lost);
	if (ep != NULL && (o->tally.padded > 0 ||
	    hashfile_partial(p, ep, off, len)))
		fprintf(out, "# of %" PRIu64 " bytes from byte %" PRIu64
		    " on\n", len, off);
}

int
hashfile_write(struct newfile *file, const struct plan *p,
    const struct outcome *o, struct fault *f)
{
	const struct hash_sum *d;
	char *line;
	size_t n, i;
	int err = 0;

	d = hash_digests(p->hash, &n);
	if (file->dir < 0 || d[0].hex[0] == '\0')
		return 0;
	if (newfile_begin(file, f) != 0)
		return -1;
	hashfile_remark(file->out, p, o);
	for (i = 0; i < n; i++) {
		line = hashfile_line(p, &d[i]);
		if (line != NULL)
			fprintf(file->out, "%s\n", line);
		else
			err = ENOMEM;
		free(line);
	}
	return newfile_end(file, err, f);
}
