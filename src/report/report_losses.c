/*
 * What was lost: the bytes that cannot be read, those that differ, and where
 * the losses of a rescue lie.
 */
#include "report_next.h"

#include <string.h>

#include "base/print.h"
#include "disk/disk.h"
#include "report/report.h"

typedef unsigned long long ull;

enum {
	RANGES_SHOWN = 16,
	AREAS_SHOWN = 16,
	NAMES_SHOWN = 16,
	NAME_REPEATED = 32,	/* characters */
};

/* What replaces unreadable bytes; nothing if none are written. */
static const char *
losses_replaced_by(const struct plan *p)
{
	if (p->work == WORK_COMPARE)
		return ", here or on the other end, not in the comparison";
	if (p->work == WORK_RESCUE)
		return ", not in the copy";
	return p->dst->kind != END_DISCARD ? ", zeros in the copy" : "";
}

/* The name of an end in the n-th line of a list: a long one is told once. */
static const char *
losses_name(const struct plan *p, const struct endpoint *ep, uint64_t n)
{
	if (n == 0 || strlen(ep->name) <= NAME_REPEATED)
		return ep->name;
	return ep == p->src ? "the source" : "the target";
}

void
report_unreadable(const struct plan *p, struct outcome *out)
{
	bool made = p->work != WORK_COMPARE || (out->fault.status == 0 &&
	    out->signal == 0);
	bool saved = p->opts->map != NULL && out->unsaved.status == 0 &&
	    out->flush.status == 0 && made;
	bool red = report_coloured(p->opts, stderr);
	uint64_t most = saved ? RANGES_SHOWN : UINT64_MAX, n;
	struct seg s = { .off = 0 };

	for (n = 0; map_next(&out->map, s.off + s.len, BAD, &s); n++) {
		if (n < most)
			print_alarm(stderr, red, "pardd: %s: unreadable: bytes "
			    "%llu to %llu, blocks %llu to %llu of %u bytes%s",
			    losses_name(p, p->src, n),
			    (ull)(p->src_off + s.off),
			    (ull)(p->src_off + s.off + s.len - 1),
			    (ull)((p->src_off + s.off) / p->block),
			    (ull)((p->src_off + s.off + s.len - 1) /
			    p->block), p->block, losses_replaced_by(p));
	}
	if (n > most)
		print(stderr, "pardd: %s: unreadable: %llu more range%s, see "
		    "%s", losses_name(p, p->src, n), (ull)(n - most),
		    n - most == 1 ? "" : "s", p->opts->map);
}

static void
losses_differing(const struct plan *p, const struct seg *s, uint64_t n)
{
	if (p->work == WORK_CHECK)
		print(stderr, "pardd: differs: bytes %llu to %llu of %s",
		    (ull)(p->src_off + s->off),
		    (ull)(p->src_off + s->off + s->len - 1),
		    losses_name(p, p->src, n));
	else
		print(stderr, "pardd: differs: bytes %llu to %llu of %s, "
		    "%llu to %llu of %s", (ull)(p->src_off + s->off),
		    (ull)(p->src_off + s->off + s->len - 1),
		    losses_name(p, p->src, n), (ull)(p->dst_off + s->off),
		    (ull)(p->dst_off + s->off + s->len - 1),
		    losses_name(p, p->dst, n));
}

void
report_differing(const struct plan *p, struct map *differ)
{
	struct seg s = { .off = 0 };
	uint64_t n = 0;

	while (differ->ready && map_next(differ, s.off + s.len, BAD, &s))
		if (n++ < RANGES_SHOWN)
			losses_differing(p, &s, n - 1);
	if (n > RANGES_SHOWN)
		print(stderr,
		    "pardd: and %llu more range%s; json= %s all of them",
		    (ull)(n - RANGES_SHOWN), n - RANGES_SHOWN == 1 ? "" : "s",
		    p->work == WORK_COMPARE ? "and map= list" : "lists");
}

/* How many files are affected, or how to find out; continues a sentence. */
static const char *
losses_lead_to(const struct damage_area *a)
{
	if (a->files.n > 0)
		return a->files.more ? "; these files are affected, and maybe "
		    "more:" : a->files.n == 1 ? "; this file is affected:" :
		    "; these files are affected:";
	if (damage_all_named(a))
		return "; no file is affected";
	return a->command == NULL ? "" : a->more == 0 ?
	    "; this names the affected files:" :
	    "; this names the files affected by the first of them:";
}

static void
losses_files(const struct damage_area *a)
{
	const struct fs_names *f = &a->files;
	size_t i;

	for (i = 0; i < f->n && i < NAMES_SHOWN; i++)
		print(stderr, "    %s", f->name[i]);
	if (i < f->n)
		print(stderr, "pardd: and %zu more file%s; json= and report= "
		    "list all of them", f->n - i, f->n - i == 1 ? "" : "s");
	if (a->command == NULL || damage_all_named(a))
		return;
	if (i > 0)
		print(stderr, "pardd: this names the affected files%s:",
		    a->more == 0 ? "" : " in the first of these ranges");
	print(stderr, "    %s", a->command);
}

/* Print "partition 2 (ext4 \"home\") of /dev/sda". */
static void
losses_area(const struct plan *p, const struct damage_area *a, int table)
{
	char where[64] = "", what[200] = "", lost[160];

	if (a->outside)
		snprintf(where, sizeof(where), "outside of the %spartitions "
		    "of ", table == TABLE_PART ? "known " : "");
	else if (a->number > 0)
		snprintf(where, sizeof(where), "partition %u of ", a->number);
	if (a->label[0] != '\0')
		snprintf(what, sizeof(what), " (%s \"%s\")", a->type, a->label);
	else if (a->type[0] != '\0')
		snprintf(what, sizeof(what), " (%s)", a->type);
	print_alarm(stderr, report_coloured(p->opts, stderr),
	    "pardd: %s%s%s: %llu bytes in %llu range%s could not be read%s",
	    where, p->src->name, what, (ull)a->bytes,
	    (ull)a->ranges, a->ranges == 1 ? "" : "s", losses_lead_to(a));
	losses_files(a);
	if (wording_loss(lost, sizeof(lost), &a->loss)[0] != '\0')
		print(stderr, "pardd: %s", lost);
}

void
report_damage(const struct plan *p, const struct damage *d)
{
	static const char *const tables[] = {
		[TABLE_BACKUP] = "its partition table could not be read; the "
		    "partitions are those of the backup at its end",
		[TABLE_UNGUARDED] = "its first block could not be read; the "
		    "partitions are those of its GPT",
		[TABLE_PART] = "a part of its partition table could not be "
		    "read: there may be more partitions",
		[TABLE_LOST] = "the place of its partition table could not be "
		    "read, nor a backup of it",
	};
	size_t i;

	if (d->table != TABLE_SOUND)
		print(stderr, "pardd: %s: %s", p->src->name, tables[d->table]);
	for (i = 0; i < d->n && i < AREAS_SHOWN; i++)
		losses_area(p, &d->area[i], d->table);
	if (i < d->n)
		print(stderr, "pardd: and %zu more partition%s such ranges",
		    d->n - i, d->n - i == 1 ? " has" : "s have");
}
