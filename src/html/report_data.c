/*
 * The data of a report: the verdict, the ranges of the map, and the progress of
 * all runs as a comment.
 */
#include "report_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"

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

bool
report_range(const struct report_data *d, size_t *i, enum seg_status status,
    struct seg *got)
{
	while (*i < d->segs && d->seg[*i].status != status)
		++*i;
	if (*i == d->segs)
		return false;
	*got = d->seg[(*i)++];
	while (*i < d->segs && d->seg[*i].status == status)
		got->len += d->seg[(*i)++].len;
	return true;
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
