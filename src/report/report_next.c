/*
 * What to do next: notes on a clone that needs something yet, on what an older
 * file has left, and on how to continue.
 */
#include "report_next.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/print.h"
#include "base/shell.h"
#include "base/status.h"
#include "disk/disk.h"
#include "end/endpoint.h"
#include "part/clone_table.h"
#include "part/remarks.h"
#include "report/report.h"

typedef unsigned long long ull;

const char *
report_gpt_tool(const struct plan *p)
{
	return p->dst->geo.size > p->src->geo.size ?
	    "sfdisk --relocate gpt-bak-std " : "sgdisk -e ";
}

const char *
report_disk_name(const struct endpoint *ep)
{
	return (ep->kind == END_BLOCK || ep->kind == END_FILE) &&
	    !ep->is.inherited ? ep->name : "DISK";
}

/* What table= has changed, and what is left to do. */
static void
table_moved_note(const struct plan *p)
{
	const struct table_write *w = p->table != NULL ? p->table->write : NULL;
	char text[512];
	uint64_t from, to;
	size_t at = 0, i;

	if (!clone_table_moves(p))
		return;
	for (i = 0; i < p->table->n && at < sizeof(text); ) {
		from = to = w[i].at;
		for (; i < p->table->n && w[i].at == to; i++)
			to += w[i].len;
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		    "%s%llu to %llu", at == 0 ? "bytes " : i < p->table->n ?
		    ", " : " and ", (ull)from, (ull)(to - 1));
	}
	print(stderr, "pardd: note: the table was moved: %s of %s differ from "
	    "the source", text, p->dst->name);
	if (p->table->unmountable > 0)
		print(stderr, "pardd: note: the file system of partition %u is "
		    "made for smaller sectors: it cannot be mounted from %s",
		    p->table->unmountable, p->dst->name);
	if (p->table->renew[0] != '\0')
		print(stderr, "pardd: note: file systems keep their UUIDs, "
		    "which fstab and boot loaders may name; to change those of "
		    "partition %s",
		    p->table->renew);
}

/* What must be done to a clone before it can be used. */
static void
table_notes(const struct plan *p)
{
	const struct remarks *found = p->found;
	char *word = found != NULL ?
	    shell_word(report_disk_name(p->dst)) : NULL;

	if (word != NULL && found->backup_astray && !p->bounded)
		print(stderr, "pardd: note: %s is larger than the disk that "
		    "the GPT is of, so its backup is not at the end; to move "
		    "it there: %s%s", p->dst->name, report_gpt_tool(p), word);
	else if (word != NULL && found->backup_astray)
		print(stderr, "pardd: note: %s is %s than the source, so the "
		    "backup GPT is not at its end, where table=fix puts it; "
		    "to move it there: %s%s",
		    p->dst->name, p->dst->geo.size > p->src->geo.size ?
		    "larger" : "smaller", report_gpt_tool(p), word);
	if (word != NULL && found->table_sector > 0)
		print(stderr, "pardd: note: the partition table counts in "
		    "sectors of %u bytes, and %s has %u; table=fix "
		    "converts it, or: losetup -fP --show -b %u %s",
		    found->table_sector, p->dst->name, p->dst->geo.block,
		    found->table_sector, word);
	free(word);
	if (p->opts->table != 0)
		table_moved_note(p);
}

void
report_stale_note(const struct plan *p)
{
	char *word = shell_word(report_disk_name(p->dst));

	if (word != NULL)
		print(stderr, "pardd: note: the kernel still has the "
		    "partitions that %s had; to have it read the new table: "
		    "partprobe %s", p->dst->name, word);
	free(word);
}

/* What is known only at the end of a stream; else it was a remark. */
static void
longer_note(const struct plan *p, struct outcome *out)
{
	char text[512];

	if (!p->bounded && report_longer(p, map_totals(&out->map).end, text,
	    sizeof(text)))
		print(stderr, "pardd: note: %s", text);
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

	if (word != NULL && p->dst->kind == END_FILE && !p->dst->is.inherited &&
	    p->dst_off == 0 && p->src->is.device && !p->counted &&
	    p->src_off == (p->src->lim.part > 0 ? p->src->lim.base : 0)) {
		if (p->src->lim.part > 0 || (endpoint_disk(p->src, &d) &&
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
		print(stderr, "pardd: %s%s%scoe=1 puts zeros there", there,
		    there[0] != '\0' ? "; " : "", mapped ?
		    "map=FILE goes on, " : "");
	else if (there[0] != '\0')
		print(stderr, "pardd: %s", there);
}

/* How to continue a rescue that ended early; false if it did not. */
static bool
rescue_note(const struct plan *p, struct outcome *out)
{
	struct map_totals t = map_totals(&out->map);
	int64_t most = p->opts->maxerrors;

	if (p->work != WORK_RESCUE || out->unsaved.status != 0 ||
	    out->flush.status != 0 || t.untried + t.failed == 0 ||
	    (out->fault.status == 0 && out->signal == 0))
		return false;
	print(stderr, "pardd: the same command%s resumes where this one "
	    "ended", most >= 0 && t.bad_ranges > (uint64_t)most ?
	    " with a larger maxerrors=" : "");
	return true;
}

/* Suggest next steps, if a person is there to take them. */
static void
next_suggest(const struct plan *p, struct outcome *out)
{
	int status = out->status;

	if (!isatty(STDERR_FILENO) || p->work == WORK_COMPARE ||
	    p->work == WORK_CHECK || rescue_note(p, out))
		return;
	if (status == STATUS_COMPLETE || status == STATUS_UNREADABLE)
		look_in_note(p);
}

void
report_clone_notes(const struct plan *p, struct outcome *out)
{
	table_notes(p);
	longer_note(p, out);
}

void
report_next(const struct plan *p, struct outcome *out)
{
	unreadable_note(p, out);
	if ((p->opts->status & SHOW_NONE) != 0)
		return;
	go_on_note(p, out);
	next_suggest(p, out);
}
