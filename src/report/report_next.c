/*
 * What to do next: notes on a clone that needs something yet, on what an older
 * file has left, and on how to continue.
 *
 * And what was lost: the bytes that cannot be read, those that differ, and
 * where the losses of a rescue lie.
 */
#include "report_next.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/print.h"
#include "base/status.h"
#include "disk/disk.h"
#include "end/endpoint.h"
#include "part/clone_table.h"
#include "part/remarks.h"
#include "report/report.h"

/* --- what was lost ------------------------------------------------------- */

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
	if (a->closed)
		return "; it is encrypted: the same with used=meta, while it "
		    "is open, names the affected files";
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
	    "pardd: %s%s%s: %llu bytes in %llu range%s %s%s%s", where,
	    p->src->name, what, (ull)a->bytes, (ull)a->ranges,
	    a->ranges == 1 ? "" : "s", a->later < a->bytes ?
	    "could not be read" : "were not read yet", a->later == 0 ||
	    a->later == a->bytes ? "" : ", or not yet", losses_lead_to(a));
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
		[TABLE_LOST] = "the place of its partition table was not read, "
		    "nor a backup of it",
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

/* What table= has changed, and what is left to do. */
static void
table_moved_note(const struct plan *p)
{
	const struct table_write *w = p->table != NULL ? p->table->write : NULL;
	char text[RANGES_SHOWN * 50];
	uint64_t from, to;
	size_t at = 0, n = 0, i;

	if (!clone_table_moves(p))
		return;
	for (i = 0; i < p->table->n && n < RANGES_SHOWN; n++) {
		from = to = w[i].at;
		for (; i < p->table->n && w[i].at == to; i++)
			to += w[i].len;
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		    "%s%llu to %llu", at == 0 ? "bytes " : i < p->table->n ?
		    ", " : " and ", (ull)from, (ull)(to - 1));
	}
	print(stderr, "pardd: note: the partition table was changed, so "
	    "%s%s of %s differ from the source", text, i < p->table->n ?
	    ", ..." : "", p->dst->name);
	if (p->table->unmountable[0] != '\0')
		print(stderr, "pardd: note: file systems made for smaller "
		    "sectors cannot be mounted from %s: partition %s",
		    p->dst->name, p->table->unmountable);
	if ((p->opts->table & TABLE_WORD_NEW) != 0)
		print(stderr, "pardd: note: partitions have new GUIDs: what "
		    "names them by PARTUUID=, in fstab or a boot loader, has "
		    "to name those");
	if (p->table->renew[0] != '\0')
		print(stderr, "pardd: note: file systems keep their UUIDs, "
		    "which fstab and boot loaders may name; to change those of "
		    "partition %s", p->table->renew);
}

/* What must be done to a clone before it can be used. */
static void
table_notes(const struct plan *p)
{
	const struct remarks *found = p->found;
	char *word = found != NULL ?
	    shell_word(report_disk_name(p->dst)) : NULL;

	if (word != NULL && found->backup_astray)
		print(stderr, "pardd: note: %s is %s than the %s, so the "
		    "backup GPT is not at its end; to move it there: %s%s",
		    p->dst->name, p->dst->geo.size > p->src->geo.size ?
		    "larger" : "smaller", p->bounded ? "source" :
		    "disk that the GPT is of", report_gpt_tool(p), word);
	if (word != NULL && found->table_sector > 0)
		print(stderr, "pardd: note: the partition table counts in "
		    "sectors of %u bytes, and %s has %u; table=fix converts "
		    "it, or: losetup -fP --show -b %u %s", found->table_sector,
		    p->dst->name, p->dst->geo.block, found->table_sector, word);
	free(word);
	if (p->opts->table != 0)
		table_moved_note(p);
}

/* A copy without a map was stopped: how to continue without repeating it. */
static void
go_on_note(const struct plan *p, const struct outcome *out)
{
	const unsigned unlike = FLAG_APPEND | FLAG_TRUNC | FLAG_SPARSE |
	    FLAG_TRIM | FLAG_SPARING;
	const struct opts *o = p->opts;

	if (out->signal == 0 || out->tally.written == 0 || o->map != NULL ||
	    p->targets > 1 || p->src->is.streamed || p->dst->is.streamed ||
	    !p->dst->is.durable || p->dst->is.zoned ||
	    (o->oflag & unlike) != 0 || (o->iflag & FLAG_RANDOM) != 0 ||
	    (o->reflink & REFLINK_ALWAYS) != 0 || out->tally.left == 0)
		return;
	print(stderr, "pardd: note: the same command with oflag=sparing skips "
	    "what is already there");
}

/* How to look at the files in an image. */
static void
look_in_note(const struct plan *p)
{
	char *word = shell_word(p->dst->name);
	struct disk d;

	if (word != NULL && endpoint_is_file(p->dst) && !p->dst->is.inherited &&
	    p->dst_off == 0 && p->src->is.device && !p->counted &&
	    p->src_off == (p->src->lim.part > 0 ? p->src->lim.base : 0)) {
		if (p->dst->encoded != NULL)
			print(stderr, "pardd: to see the files in it, unpack "
			    "it: pardd if=%s decode=auto of=FILE", word);
		else if (p->src->lim.part > 0 || (endpoint_disk(p->src, &d) &&
		    d.partition > 0))
			print(stderr, "pardd: to see the files in it: mount "
			    "-o ro,loop %s /mnt", word);
		else
			print(stderr, "pardd: to see the files in it: losetup "
			    "-r -f -P --show %s, and mount -o ro its "
			    "partitions", word);
	}
	free(word);
}

/*
 * A block that cannot be read has stopped the copy: what is there, and how to
 * get at the data after it.
 */
static void
unreadable_note(const struct plan *p, struct outcome *out)
{
	bool mapped = p->targets == 1 && !p->dst->is.streamed;
	char there[80] = "";

	if (p->work != WORK_COPY || out->status != STATUS_MEDIUM)
		return;
	if (out->flush.status == 0 && !out->doubt && p->dst->kind !=
	    END_DISCARD && out->tally.differing == 0)
		snprintf(there, sizeof(there), "everything before block %llu "
		    "is in place", (ull)((p->src_off + outcome_in_place(out)) /
		    p->bs));
	if (!p->src->is.streamed)
		print(stderr, "pardd: %s%sadd %scoe=1 for zeros there", there,
		    there[0] != '\0' ? "; " : "", mapped ?
		    "map=FILE to rescue the rest, or " : "");
	else if (there[0] != '\0')
		print(stderr, "pardd: %s", there);
}

void
report_clone_notes(const struct plan *p, struct outcome *out)
{
	char text[512];

	if (p->found != NULL && p->found->torn[0] != '\0')
		print(stderr, "pardd: note: %s", p->found->torn);
	table_notes(p);
	/* known only at the end of a stream; else it was a remark */
	if (!p->bounded && report_longer(p, map_totals(&out->map).end, text,
	    sizeof(text)))
		print(stderr, "pardd: note: %s", text);
}

void
report_next(const struct plan *p, struct outcome *out)
{
	unreadable_note(p, out);
	if ((p->opts->status & SHOW_NONE) != 0)
		return;
	go_on_note(p, out);
	/* the rest, if a person is there to take these steps */
	if (!isatty(STDERR_FILENO) || p->work == WORK_COMPARE ||
	    p->work == WORK_CHECK || out->fault.status != 0)
		return;
	if (out->status == STATUS_COMPLETE || out->status == STATUS_UNREADABLE)
		look_in_note(p);
}
