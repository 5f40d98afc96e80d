/*
 * What is printed at the end of a run, or on request during it: timing, record
 * counts, the bytes line, what was lost, and one verdict.
 */
#include "report/report.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/print.h"
#include "base/shell.h"
#include "base/status.h"
#include "copy/watch.h"
#include "digest/hash.h"
#include "disk/below.h"
#include "disk/disk.h"
#include "end/tee.h"
#include "part/remarks.h"
#include "report/hashfile.h"
#include "report/profile.h"
#include "report/wording.h"

typedef unsigned long long ull;

enum {
	RANGES_SHOWN = 16,
	AREAS_SHOWN = 16,
	NAMES_SHOWN = 16,
};

static void
records(const struct plan *p, const struct tally *t)
{
	print(stderr, "%llu+%d records in", (ull)(t->read / p->bs),
	    t->read % p->bs != 0);
	print(stderr, "%llu+%d records out", (ull)(t->written / p->bs),
	    t->written % p->bs != 0);
}

static void
bytes(const struct plan *p, const struct tally *t)
{
	bool compared = p->work == WORK_COMPARE;
	const char *what = compared ? "compared" :
	    p->work == WORK_CHECK ? "checked" : "copied";
	uint64_t count = compared ? t->verified : t->written;
	char si[32], iec[32], rate[32];
	double n = (double)count;

	number_si(rate, sizeof(rate), t->seconds > 0 ? n / t->seconds : 0);
	if (count < 1000)
		print(stderr, "%llu bytes %s, %.6g s, %s/s", (ull)count, what,
		    t->seconds, rate);
	else
		print(stderr, "%llu bytes (%s, %s) %s, %.6g s, %s/s",
		    (ull)count, number_si(si, sizeof(si), n),
		    number_iec(iec, sizeof(iec), n), what, t->seconds, rate);
}

/* The line of sgp_dd, for old scripts. */
static void
timing(const struct tally *t)
{
	print(stderr, "time to transfer data was %.6f secs, %.2f MB/sec",
	    t->seconds, t->seconds > 0 ? (double)t->written / 1e6 / t->seconds
	    : 0);
}

struct ms {
	char text[24];
};

/* Milliseconds with few digits. */
static struct ms
ms(double ns)
{
	struct ms m;

	snprintf(m.text, sizeof(m.text), "%.*f",
	    ns < 1e5 ? 4 : ns < 1e7 ? 3 : 1, ns / 1e6);
	return m;
}

/* The latencies of the requests of each end, after the timing line. */
static void
latencies(const struct profile *pr)
{
	static const char *const what[] = {
		[SERIES_SOURCE] = "reads",
		[SERIES_TARGET] = "writes",
		[SERIES_VERIFY] = "reads of the target",
	};
	struct gauge *r = malloc(sizeof(*r));	/* too large for the stack */
	char rate[32];
	enum series s;

	for (s = 0; r != NULL && s < SERIES_MOST; s++) {
		if (!profile_sum(pr, s, r))
			continue;
		print(stderr, "%s: %llu, %.0f/s, %s/s; ms: min %s, median %s, "
		    "90 %% %s, 99 %% %s, 99.9 %% %s, max %s", what[s],
		    (ull)r->all.requests,
		    profile_rate(r->all.requests, r->all.busy),
		    number_si(rate, sizeof(rate),
		    profile_rate(r->all.bytes, r->all.busy)),
		    ms((double)r->least).text,
		    ms(profile_percentile(r, 0.5)).text,
		    ms(profile_percentile(r, 0.9)).text,
		    ms(profile_percentile(r, 0.99)).text,
		    ms(profile_percentile(r, 0.999)).text,
		    ms((double)r->all.most).text);
	}
	free(r);
}

void
report_so_far(const struct plan *p, const struct tally *t)
{
	char waits[PATH_MAX + 64];

	if (p->opts->time != 0)
		timing(t);
	records(p, t);
	bytes(p, t);
	if (p->work == WORK_RESCUE)
		print(stderr,
		    "pardd: of %llu bytes %llu are finished, with what "
		    "runs before have copied; %s",
		    (ull)(t->finished + t->left), (ull)t->finished,
		    phase_name(t->phase));
	if (t->silence.end == NULL)
		return;
	watch_tell(waits, sizeof(waits), &t->silence, t->silence.end->name);
	print(stderr, "pardd: %s%s", waits, t->stopping ? "; stopping" : "");
}

/* The result of each of several targets. */
static void
verdicts(const struct plan *p, const struct outcome *out)
{
	const struct fault *v;
	unsigned i;

	for (i = 0; i < out->targets; i++) {
		v = &out->each[i].verdict;
		if (v->status != STATUS_COMPLETE ||
		    (p->opts->status & (SHOW_NONE | SHOW_NOXFER)) == 0)
			print_alarm(stderr, v->status != STATUS_COMPLETE &&
			    report_coloured(p->opts, stderr), "pardd: %s: %s",
			    p->each[i].dst->name, v->text);
	}
}

void
report_abandoned(const struct plan *p, const struct outcome *out)
{
	if (!print_room())
		return;
	verdicts(p, out);
	if (print_room())
		print_alarm(stderr, report_coloured(p->opts, stderr),
		    "pardd: %s", out->verdict.text);
}

/* What replaces unreadable bytes; nothing if none are written. */
static const char *
instead(const struct plan *p)
{
	if (p->work == WORK_COMPARE)
		return ", here or on the other end, not in the comparison";
	if (p->work == WORK_RESCUE)
		return ", not in the copy";
	return p->dst->kind != END_DISCARD ? ", zeros in the copy" : "";
}

/* If a map was saved, it has all of them, and only the first are printed. */
static void
unreadable(const struct plan *p, struct outcome *out)
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
			    "%llu to %llu, blocks %llu to %llu of %u%s",
			    p->src->name, (ull)(p->src_off + s.off),
			    (ull)(p->src_off + s.off + s.len - 1),
			    (ull)((p->src_off + s.off) / p->block),
			    (ull)((p->src_off + s.off + s.len - 1) /
			    p->block), p->block, instead(p));
	}
	if (n > most)
		print(stderr, "pardd: %s: unreadable: %llu more ranges, see %s",
		    p->src->name, (ull)(n - most), p->opts->map);
}

static void
differs(const struct plan *p, const struct seg *s)
{
	if (p->work == WORK_CHECK)
		print(stderr, "pardd: differs: bytes %llu to %llu of %s",
		    (ull)(p->src_off + s->off),
		    (ull)(p->src_off + s->off + s->len - 1), p->src->name);
	else
		print(stderr, "pardd: differs: bytes %llu to %llu of %s, "
		    "%llu to %llu of %s", (ull)(p->src_off + s->off),
		    (ull)(p->src_off + s->off + s->len - 1), p->src->name,
		    (ull)(p->dst_off + s->off),
		    (ull)(p->dst_off + s->off + s->len - 1), p->dst->name);
}

/* Print the first ranges that differ, and how many more there are. */
static void
differing(const struct plan *p, struct map *differ)
{
	struct seg s = { .off = 0 };
	uint64_t n = 0;

	while (differ->ready && map_next(differ, s.off + s.len, BAD, &s))
		if (n++ < RANGES_SHOWN)
			differs(p, &s);
	if (n > RANGES_SHOWN)
		print(stderr,
		    "pardd: and %llu ranges more; json= %s all of them",
		    (ull)(n - RANGES_SHOWN),
		    p->work == WORK_COMPARE ? "and map= tell" : "tells");
}

/* Print the final remark of a backend. */
static void
said(const struct endpoint *ep)
{
	if (ep->said[0] != '\0')
		print(stderr, "pardd: %s: %s", ep->name, ep->said);
}

/* The file of an end; of a loop device, the one that it lies on. */
static bool
file_of(const struct endpoint *ep, struct stat *st)
{
	int fd = ep->kind == END_BLOCK ? below_file(ep->id.node,
	    &(uint64_t){ 0 }) : -1;
	bool has = fd >= 0 && fstat(fd, st) == 0;

	if (fd >= 0)
		close(fd);
	if (ep->kind != END_FILE)
		return has;
	st->st_dev = ep->id.file_dev;
	st->st_ino = ep->id.file_ino;
	return true;
}

/* Whether a file is copied within itself; then all changes are our own. */
static bool
within(const struct plan *p)
{
	const struct endpoint *to;
	struct stat a, b;
	bool is = false;
	unsigned i;

	if (p->src->said[0] == '\0' || !file_of(p->src, &a))
		return false;
	for (i = 0; !is && (to = tee_target(p->dst, i)) != NULL; i++)
		is = file_of(to, &b) && same_file(&a, &b);
	return is;
}

/* Print the digests in the form of the tools that check them. */
static void
digests(const struct plan *p, const struct outcome *out)
{
	const struct hash_sum *d;
	size_t n, i;
	char *line;

	d = hash_digests(p->hash, &n);
	if (n > 0 && d[0].hex[0] == '\0') {
		print(stderr, "pardd: no digest: not all was copied");
		return;
	}
	if (n > 0 && out->tally.lost > 0)
		print(stderr, "pardd: note: what could not be read is taken as "
		    "zeros:");
	for (i = 0; i < n; i++) {
		line = hashfile_line(p, &d[i]);
		if (line != NULL)
			print(stderr, "%s", line);
		else		/* no memory for the name in it */
			print(stderr, "pardd: %s: %s", d[i].name, d[i].hex);
		free(line);
		if (d[i].expected != NULL &&
		    out->verdict.status != STATUS_MISMATCH)
			print(stderr, "pardd: the %s is %sas expected",
			    d[i].name, d[i].differs ? "NOT " : "");
	}
}

/* How many files are hit, or how to find out; continues a sentence. */
static const char *
leads_to(const struct damage_area *a)
{
	if (a->files.n > 0)
		return a->files.more ? "; these files are hit, and maybe more:"
		    : a->files.n == 1 ? "; this file is hit:" :
		    "; these files are hit:";
	if (damage_all_named(a))
		return "; no file is hit";
	return a->command == NULL ? "" : a->more == 0 ?
	    "; this names the files hit:" :
	    "; this names the files hit by the first of them:";
}

static void
files(const struct damage_area *a)
{
	const struct fs_names *f = &a->files;
	size_t i;

	for (i = 0; i < f->n && i < NAMES_SHOWN; i++)
		print(stderr, "    %s", f->name[i]);
	if (i < f->n)
		print(stderr, "pardd: and %zu files more; json= and report= "
		    "tell all of them", f->n - i);
	if (a->command == NULL || damage_all_named(a))
		return;
	if (i > 0)
		print(stderr, "pardd: this names the files hit%s:",
		    a->more == 0 ? "" : " by the first of these ranges");
	print(stderr, "    %s", a->command);
}

/* Print "partition 2 (ext4 \"home\") of /dev/sda". */
static void
area(const struct plan *p, const struct damage_area *a, int table)
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
	    (ull)a->ranges, a->ranges == 1 ? "" : "s", leads_to(a));
	files(a);
	if (wording_loss(lost, sizeof(lost), &a->loss)[0] != '\0')
		print(stderr, "pardd: %s", lost);
}

/* Where the losses of a rescue lie, and which file systems they hit. */
static void
damage(const struct plan *p, const struct damage *d)
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
		area(p, &d->area[i], d->table);
	if (i < d->n)
		print(stderr, "pardd: and %zu partitions more have such ranges",
		    d->n - i);
}

/* What was copied without being moved. */
static void
unmoved(const struct tally *t)
{
	if (t->holes > 0)
		print(stderr, "pardd: %llu bytes were holes, and not read",
		    (ull)t->holes);
	if (t->zeroed > 0)
		print(stderr, "pardd: %llu bytes were made zeros, and not "
		    "written", (ull)t->zeroed);
	if (t->shared > 0)
		print(stderr, "pardd: %llu bytes are shared by both files, and "
		    "not copied", (ull)t->shared);
}

/* What only some runs have to report. */
static void
extra(const struct plan *p, struct outcome *out)
{
	const struct tally *t = &out->tally;

	digests(p, out);
	if (p->opts->verbose > 0)
		unmoved(t);
	if (p->store == STORE_DIFFERING)
		print(stderr, "pardd: %llu bytes were there already, and not "
		    "written", (ull)t->spared);
	else if (p->opts->base != NULL)
		print(stderr, "pardd: %llu bytes were there already (%s), and "
		    "not written", (ull)t->spared, p->opts->base);
	else if (t->had > 0)
		print(stderr, "pardd: %llu bytes were copied already (%s), and "
		    "not again", (ull)t->had, p->opts->map);
	if (t->mended > 0)
		print(stderr, "pardd: %s: %llu bytes differed when they were "
		    "read back; they were copied again, and are right now",
		    p->dst->name, (ull)t->mended);
}

/* Print the totals, as status= allows. */
static void
totals(const struct plan *p, struct outcome *out)
{
	const struct tally *t = &out->tally;

	if (p->opts->time != 0) {
		timing(t);
		latencies(out->profile);
	}
	records(p, t);
	if ((p->opts->status & SHOW_NOXFER) == 0)
		bytes(p, t);
	/* unless this is what could not be written */
	if (t->padded > 0 && out->fault.status == 0)
		print(stderr, "pardd: the end was padded with %llu zero bytes",
		    (ull)t->padded);
	extra(p, out);
}

/* What must be done to a clone before it can be used. */
static void
found_end(const struct plan *p)
{
	const struct remarks *found = p->found;
	char *word = found != NULL ? shell_word(p->dst->name) : NULL;

	if (word != NULL && found->backup_astray)
		print(stderr, "pardd: note: %s is %s than the source, so the "
		    "backup GPT is not at its end; to move it there: "
		    "sgdisk -e %s", p->dst->name, p->dst->geo.size >
		    p->src->geo.size ? "larger" : "smaller", word);
	if (word != NULL && found->table_sector > 0)
		print(stderr, "pardd: note: the partition table counts in "
		    "sectors of %u bytes, and %s has %u: its partitions will "
		    "not be found; make a new table with the same bytes, or "
		    "look through losetup -fP --show -b %u %s",
		    found->table_sector, p->dst->name, p->dst->geo.block,
		    found->table_sector, word);
	free(word);
}

/*
 * An existing file was overwritten from its beginning, and is longer than the
 * copy.
 */
static void
old_end(const struct plan *p, struct outcome *out)
{
	const struct opts *o = p->opts;
	const struct endpoint *dst = p->dst;
	uint64_t end = round_up(map_totals(&out->map).end, p->pad);

	if (dst->kind != END_FILE || dst->lim.part > 0 ||
	    p->work == WORK_COMPARE || p->dst_off > 0 || p->counted ||
	    (o->conv & CONV_NOTRUNC) != 0 || p->truncate >= 0 ||
	    dst->geo.size < 0 || (uint64_t)dst->geo.size <= end)
		return;
	print(stderr, "pardd: note: %s was longer than the copy, and what it "
	    "holds from byte %llu on is old; oflag=trunc cuts it off",
	    dst->name, (ull)end);
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
	    !p->dst->is.durable ||
	    (o->oflag & unlike) != 0 || (o->iflag & FLAG_RANDOM) != 0 ||
	    (o->reflink & REFLINK_ALWAYS) != 0 || out->tally.left == 0)
		return;
	print(stderr, "pardd: note: the same again with oflag=sparing does not "
	    "write what is there already");
}

/* How to look at the files in an image. */
static void
look_in_note(const struct plan *p)
{
	char *word = shell_word(p->dst->name);
	struct disk d;

	if (word != NULL && p->dst->kind == END_FILE && !p->dst->is.inherited &&
	    p->dst_off == 0 && endpoint_disk(p->src, &d) && !p->counted &&
	    p->src_off == (p->src->lim.part > 0 ? p->src->lim.base : 0)) {
		if (p->src->lim.part > 0 || d.partition > 0)
			print(stderr, "pardd: to see the files in it: mount "
			    "-o ro,loop %s /mnt", word);
		else
			print(stderr, "pardd: to see the files in it: losetup "
			    "-r -f -P --show %s, and mount -o ro its "
			    "partitions", word);
	}
	free(word);
}

/* How to get at what lies behind a bad block. */
static void
unreadable_note(const struct plan *p)
{
	bool mapped = p->targets == 1 && !p->src->is.streamed &&
	    !p->dst->is.streamed;

	print(stderr, "pardd: coe=1 goes on, with zeros for what cannot be "
	    "read%s", mapped ? "; map=FILE reads all that can be, the good "
	    "parts first" : "");
}

/* How to go on with a rescue that ended early; false if it did not. */
static bool
rescue_note(const struct plan *p, struct outcome *out)
{
	struct map_totals t = map_totals(&out->map);
	int64_t most = p->opts->maxerrors;

	if (p->work != WORK_RESCUE || out->unsaved.status != 0 ||
	    out->flush.status != 0 || t.untried + t.failed == 0 ||
	    (out->fault.status == 0 && out->signal == 0))
		return false;
	print(stderr, "pardd: the same command%s goes on where this one "
	    "ended", most >= 0 && t.bad_ranges > (uint64_t)most ?
	    " with a larger maxerrors=" : "");
	return true;
}

/* Suggest next steps, if a person is there to take them. */
static void
next_steps(const struct plan *p, struct outcome *out)
{
	int status = out->verdict.status;

	if (!isatty(STDERR_FILENO) || p->work == WORK_COMPARE ||
	    rescue_note(p, out))
		return;
	if (status == STATUS_COMPLETE || status == STATUS_UNREADABLE)
		look_in_note(p);
	else if (status == STATUS_MEDIUM)
		unreadable_note(p);
}

static void
target_end(const struct plan *p, struct outcome *out, int status)
{
	said(p->dst);
	if (status == STATUS_COMPLETE) {
		found_end(p);
		old_end(p, out);
	}
}

void
report_end(const struct plan *p, struct outcome *out)
{
	unsigned show = p->opts->status, i;
	bool quiet = (show & SHOW_NONE) != 0;

	unreadable(p, out);
	differing(p, &out->differ);
	for (i = 0; i < out->targets; i++)
		differing(&p->each[i], &out->each[i].differ);
	if (!quiet)
		totals(p, out);
	if (p->opts->verbose > 0 && out->tally.in_flight_read > 0)
		print(stderr, "pardd: note: up to %u reads and %u writes were "
		    "in flight", out->tally.in_flight_read,
		    out->tally.in_flight_written);
	if (!quiet) {
		if (!within(p))
			said(p->src);
		damage(p, &out->damage);
		if (out->targets == 0)
			target_end(p, out, out->verdict.status);
		for (i = 0; i < out->targets; i++)
			target_end(&p->each[i], out,
			    out->each[i].verdict.status);
		go_on_note(p, out);
		next_steps(p, out);
	}
	verdicts(p, out);
	if (out->verdict.status != STATUS_COMPLETE ||
	    (show & (SHOW_NONE | SHOW_NOXFER)) == 0)
		print_alarm(stderr, out->verdict.status != STATUS_COMPLETE &&
		    report_coloured(p->opts, stderr), "pardd: %s",
		    out->verdict.text);
}
