/*
 * The data of a report: the verdict, the ranges of the map, and the progress of
 * all runs as a comment.
 *
 * Of the partitions that are copied: workers may be using the ends, so a copy
 * of each endpoint is examined, through descriptors of its own.
 */
#include "report_data.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "part/parts.h"

#define MARK	"<!-- pardd-progress/1 "

static const double longest = 1e9;	/* s; some 31 years */

void
report_verdict(struct fault *f, const struct report_data *d)
{
	char done[32], whole[32];

	if (d->out != NULL)
		verdict_words(f, d->p, d->out);
	else
		fault_set(f, STATUS_COMPLETE, "under way: %s of %s finished",
		    number_si(done, sizeof(done), (double)d->total.finished),
		    number_si(whole, sizeof(whole), (double)(d->length -
		    d->total.outside)));
}

/* --- the progress ------------------------------------------------------- */

/* FNV-1a, 64 bits: distinguishes copies, but keeps no secrets. */
static uint64_t
checksum_mix(uint64_t sum, const char *text)
{
	for (; *text != '\0'; text++)
		sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (sum ^ '\n') * UINT64_C(0x100000001b3);
}

/* A digest of the copy, by which a later run knows that it continues it. */
static uint64_t
report_copied(const struct report_data *d)
{
	const struct plan *p = d->p;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	char place[96];

	snprintf(place, sizeof(place), "%" PRId64 " %" PRIu64 " %" PRIu64,
	    p->src->geo.size, p->src_off, p->length);
	sum = checksum_mix(sum, place);
	if (!d->is_disk[0])
		return checksum_mix(sum, p->src->name);
	return checksum_mix(checksum_mix(sum, d->disk[0].serial),
	    d->disk[0].wwn);
}

void
report_put_samples(FILE *out, const struct report_data *d)
{
	size_t i;

	fprintf(out, MARK "%016" PRIx64 "\n", report_copied(d));
	for (i = 0; i < d->samples; i++)
		fprintf(out, "%u %.3f %" PRIu64 " %" PRIu64 "\n",
		    d->sample[i].run, d->sample[i].seconds,
		    d->sample[i].finished, d->sample[i].bad);
	fputs("-->\n", out);
}

/* Parse a line; false if there are no more, or it is not one of ours. */
static bool
report_split_line(const char **text, struct sample *s)
{
	char *end;
	unsigned long run = strtoul(*text, &end, 10);

	if (end == *text || run == 0 || run > 1000000 || **text == '-')
		return false;
	s->run = (unsigned)run;
	s->seconds = strtod(end, &end);
	s->finished = strtoull(end, &end, 10);
	s->bad = strtoull(end, &end, 10);
	*text = end + (*end == '\n');
	return *end == '\n' && s->seconds >= 0 && s->seconds < longest;
}

void
report_get_samples(struct report_data *d, const char *text)
{
	const char *at = strstr(text, MARK);
	struct sample s, *last;
	char *end;

	d->samples = 0;
	if (at == NULL)
		return;
	at += sizeof(MARK) - 1;
	if (strtoull(at, &end, 16) != report_copied(d) || *end != '\n')
		return;
	for (at = end + 1; d->samples < SAMPLES &&
	    report_split_line(&at, &s);) {
		last = &d->sample[d->samples > 0 ? d->samples - 1 : 0];
		if (d->samples > 0 && (s.run < last->run ||
		    s.seconds < last->seconds))
			break;
		d->sample[d->samples++] = s;
	}
}

/* --- the partitions that are copied -------------------------------------- */

enum { HEAD = 2048 };		/* bytes needed to identify a file system */

/* Make a row for each partition, or one for the whole source. */
static int
rows_make(struct volumes *v, const struct parts *t, const struct plan *p)
{
	size_t i;

	v->row = calloc(t->n + 1, sizeof(*v->row));
	if (v->row == NULL)
		return -1;
	strlcpy(v->table, t->type, sizeof(v->table));
	for (i = 0; i < t->n; i++) {
		const struct part *part = &t->part[i];

		if (part->container || part_end(part) > t->size)
			continue;
		v->row[v->n++] = (struct volume_row){ .number = part->number,
			.off = part->start, .len = part->length };
		strlcpy(v->row[v->n - 1].label, part->name,
		    sizeof(v->row[0].label));
	}
	if (v->n == 0 && t->type[0] == '\0')
		v->row[v->n++] = (struct volume_row){
			.number = p->src->lim.part,
			.off = p->src_off, .len = p->length };
	return 0;
}

/*
 * Make the rows, and name them by what is on an end, whose copy begins at byte
 * "begin"; with a map, only from what is finished.
 */
static void
rows_fill(struct volumes *v, struct parts *t, const struct plan *p,
    struct endpoint *ep, uint64_t begin, struct map *map)
{
	int failed = rows_make(v, t, p);
	struct volume_row *row = v->row;
	struct volume found;
	uint64_t at;

	for (; failed == 0 && row < v->row + v->n; row++) {
		at = row->off - p->src_off;
		if (map != NULL && !map_all(map, at, HEAD, FINISHED))
			continue;
		parts_volume(ep, begin + at, row->len, &found);
		if (map != NULL && !map_all(map, found.at - begin, 1, FINISHED))
			continue;
		memcpy(row->type, found.type, sizeof(row->type));
		if (found.label[0] != '\0')
			memcpy(row->label, found.label, sizeof(row->label));
	}
	parts_free(t);
}

void
volumes_of_source(struct volumes *v, const struct plan *p)
{
	struct endpoint src = *p->src;
	struct parts t = { .n = 0 };
	struct fault f;

	*v = (struct volumes){ .n = 0 };
	if (parts_possible(&src) && p->bounded && (src.lim.part != 0 ||
	    parts_read(&src, &t, &f) == 0))
		rows_fill(v, &t, p, &src, p->src_off, NULL);
}

void
volumes_rescued(struct volumes *v, const struct plan *p, struct map *map)
{
	struct endpoint dst = *p->dst;
	struct parts t = { .n = 0 };
	struct fault f;

	*v = (struct volumes){ .n = 0 };
	if (p->src_off != (p->src->lim.part > 0 ? p->src->lim.base : 0))
		return;
	dst.is.absent = false;
	dst.lim.part = 0;
	dst.geo.size = (int64_t)(p->dst_off + p->length);
	if (p->src->lim.part != 0 || p->dst_off != 0 ||
	    parts_rescued(&dst, p->src, map, &t, &f) == 0)
		rows_fill(v, &t, p, &dst, p->dst_off, map);
}

void
volumes_free(struct volumes *v)
{
	free(v->row);
	v->row = NULL;
	v->n = 0;
}
