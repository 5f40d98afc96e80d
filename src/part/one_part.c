/*
 * Limiting an end to one of its partitions.
 */
#include "part/parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/status.h"
#include "pack/codec.h"

enum {
	SHOWN = 16,		/* partitions listed in a refusal, */
	LIST = (SHOWN + 1) * 72,	/* in less than so many bytes */
};

/* "1 (bytes 1048576 to 5242879), 2 (...)", for which LIST bytes are enough. */
static void
parts_list(const struct parts *t, char *text, size_t room)
{
	size_t at = 0, i;

	text[0] = '\0';
	for (i = 0; i < t->n && i < SHOWN; i++)
		at += (size_t)snprintf(text + at, room - at, "%s%u (bytes %llu "
		    "to %llu)", i > 0 ? ", " : "", t->part[i].number,
		    (ull)t->part[i].start, (ull)part_end(&t->part[i]) - 1);
	if (t->n > SHOWN)
		snprintf(text + at, room - at, " and %zu more", t->n - SHOWN);
}

/* Whether it is compressed, and read as it is. */
static bool
still_packed(struct endpoint *ep)
{
	struct volume v = { .read = false };

	if (ep->decoded == NULL)
		parts_volume(ep, 0, (uint64_t)ep->geo.size, &v);
	return v.read && codec_found(v.head, sizeof(v.head)) != NULL;
}

static int
no_such_part(struct endpoint *ep, const char *operand, int64_t number,
    const struct parts *t, struct fault *f)
{
	char list[LIST];
	struct sign *sign = NULL;
	size_t n, i;
	bool other;

	if (t->wrong[0] != '\0')
		return fault_set(f, STATUS_REFUSED, "%s=%lld: the partition "
		    "table of %s cannot be used: %s", operand,
		    (long long)number, ep->name, t->wrong);
	n = t->type[0] == '\0' ? parts_signs(ep, 0, UINT64_MAX, &sign) : 0;
	for (i = 0; i < n && !sign[i].table; i++)
		;
	other = i < n;
	if (other)
		fault_set(f, STATUS_REFUSED, "%s=%lld: %s has a partition "
		    "table of the kind \"%s\", and only GPT and MBR are read "
		    "here; for skip= and count=: parted DISK unit s print",
		    operand, (long long)number, ep->name, sign[i].type);
	free(sign);
	if (other)
		return -1;
	if (t->type[0] == '\0')
		return fault_set(f, STATUS_REFUSED, "%s=%lld: %s has no "
		    "partition table%s", operand, (long long)number, ep->name,
		    operand[0] == 'i' && still_packed(ep) ? " as it is: it is "
		    "compressed; decode=auto unpacks it" : "");
	if (t->n == 0)
		return fault_set(f, STATUS_REFUSED, "%s=%lld: the partition "
		    "table of %s is empty", operand, (long long)number,
		    ep->name);
	parts_list(t, list, sizeof(list));
	return fault_set(f, STATUS_REFUSED, "%s=%lld: there is no such "
	    "partition on %s; it has %s", operand, (long long)number,
	    ep->name, list);
}

static int
limit_to(struct endpoint *ep, const struct part *p, const struct parts *t,
    struct fault *f)
{
	if (part_end(p) > t->size)
		return fault_set(f, STATUS_REFUSED, "partition %u of %s, bytes "
		    "%llu to %llu, goes beyond the end of the disk at %llu",
		    p->number, ep->name, (ull)p->start, (ull)part_end(p) - 1,
		    (ull)t->size);
	ep->lim.disk_size = ep->geo.size;
	ep->lim.part = p->number;
	ep->lim.base = p->start;
	ep->lim.end = part_end(p);
	ep->geo.size = ep->geo.room = (int64_t)ep->lim.end;
	snprintf(ep->lim.within, sizeof(ep->lim.within), "partition %u of ",
	    p->number);
	return 0;
}

int
parts_limit(struct endpoint *ep, int64_t number, struct fault *f)
{
	/* the second end of a comparison is read like a source */
	const char *operand = ep->spec.role == TARGET || ep->is.back ?
	    "opart" : "ipart";
	struct parts t;
	size_t i;
	int failed;

	if (number < 0)
		return 0;
	if (!parts_possible(ep))
		return fault_set(f, STATUS_REFUSED, "%s=%lld: %s has no "
		    "partitions; a disk or the image of one is needed",
		    operand, (long long)number, ep->name);
	if (parts_read(ep, &t, f) != 0)
		return -1;
	for (i = 0; i < t.n && t.part[i].number != number; i++)
		continue;
	failed = i < t.n ? limit_to(ep, &t.part[i], &t, f) :
	    no_such_part(ep, operand, number, &t, f);
	parts_free(&t);
	return failed;
}
