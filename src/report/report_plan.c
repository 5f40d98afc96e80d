/*
 * The plan as key=value lines, which scripts read: what -dv shows.
 */
#include "plan/confine.h"
#include "report/report.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "base/print.h"
#include "disk/disk.h"
#include "part/remarks.h"
#include "part/used.h"
#include "plan/safety.h"

static void
disk_plan(FILE *out, const struct endpoint *ep, const char *what)
{
	struct disk d;
	char id[NAME_MAX + 1], zoned[32];

	if (!endpoint_disk(ep, &d))
		return;
	if (d.node != 0) {
		disk_by_id(d.node, id, sizeof(id));
		print(out, "%s_disk=%s", what, d.whole_name);
		if (id[0] != '\0')
			print(out, "%s_by_id=%s", what, id);
	}
	if (d.model[0] != '\0')
		print(out, "%s_model=%s %s", what, d.vendor, d.model);
	if (d.serial[0] != '\0')
		print(out, "%s_serial=%s", what, d.serial);
	if (d.wwn[0] != '\0')
		print(out, "%s_wwn=%s", what, d.wwn);
	if (d.backing[0] != '\0')
		print(out, "%s_backing=%s", what, d.backing);
	if (disk_zoned(d.whole, zoned, sizeof(zoned)))
		print(out, "%s_zoned=%s", what, zoned);
	if (d.physical > 0)
		print(out, "%s_physical_block=%u", what, d.physical);
}

static void
end_plan(FILE *out, const struct plan *p, const struct endpoint *ep,
    const char *what, uint64_t off)
{
	uint64_t length = ep->spec.role == TARGET ?
	    round_up(p->length, p->pad) : p->length;

	print(out, "%s=%s", what, ep->name);
	print(out, "%s_kind=%s%s", what, endpoint_kind(ep)->text,
	    ep->is.absent ? ", to be created" : "");
	if (ep->lim.part > 0)
		print(out, "%s_part=%u", what, ep->lim.part);
	if (ep->geo.size >= 0)
		print(out, "%s_size=%lld", what, (long long)ep->geo.size -
		    (ep->lim.part > 0 ? (long long)ep->lim.base : 0));
	if (ep->decoded != NULL)
		print(out, "%s_decoded=%s", what, ep->decoded);
	if (ep->geo.least > 0 && ep->geo.size < 0)
		print(out, "%s_size_at_least=%llu", what, (ull)ep->geo.least);
	if (ep->geo.block > 0)
		print(out, "%s_block=%u", what, ep->geo.block);
	disk_plan(out, ep, what);
	if (ep->offers[0] != '\0')
		print(out, "%s_offers=%s", what, ep->offers);
	if (ep == p->dst && endpoint_users(ep) != USERS_KNOWN)
		print(out, "%s_users=%s", what,
		    endpoint_users(ep) == USERS_REGISTERED ?
		    "none registered, others cannot be known" :
		    "cannot be known");
	print(out, "%s_first_byte=%llu", what, (ull)off);
	if (p->bounded && length > 0)
		print(out, "%s_last_byte=%llu", what, (ull)(off + length - 1));
}

const char *
report_border(char *text, size_t room, const struct border *b, bool begins)
{
	static const char *const words[][2] = {
		[LIES_BORDER] = { "at the end of", "at the first byte of" },
		[LIES_INSIDE] = { "before the end of", "into" },
		[LIES_OUTSIDE] = { "after the end of", "before" },
	};
	char far[32] = "";

	if (b->lies == LIES_DISK || b->lies == LIES_OPEN) {
		snprintf(text, room, "%s", b->lies == LIES_OPEN ?
		    "where the source ends" : begins ?
		    "at the first byte of the disk" :
		    "at the end of the disk");
		return text;
	}
	if (b->lies != LIES_BORDER)
		snprintf(far, sizeof(far), "%llu bytes ", (ull)b->bytes);
	snprintf(text, room, "%s%s partition %u", far,
	    words[b->lies][begins], b->number);
	return text;
}

static void
span_plan(FILE *out, const struct span *s, const char *what)
{
	char from[96], to[96];

	if (s->odd)
		print(out, "%s_range=begins %s, ends %s", what,
		    report_border(from, sizeof(from), &s->from, true),
		    report_border(to, sizeof(to), &s->to, false));
}

/* "2, 5 and 7", or "2, 5 and 13 more" */
static void
report_numbers(char *text, size_t room, const struct beyond *b)
{
	size_t shown = b->n > BEYOND_MOST ? BEYOND_MOST - 1 : b->n;
	size_t at = 0, i;

	for (i = 0; i < shown && at < room; i++)
		at += (size_t)snprintf(text + at, room - at, "%s%u",
		    i == 0 ? "" : i == b->n - 1 ? " and " : ", ",
		    b->number[i]);
	if (shown < b->n && at < room)
		snprintf(text + at, room - at, " and %zu more", b->n - shown);
}

/*
 * Remark on partitions that are not copied, and on the count= that would copy
 * them.
 */
static void
beyond_remark(const struct plan *p, char *text, size_t room)
{
	const struct beyond *b = &p->found->beyond;
	uint64_t unit = (p->opts->iflag & FLAG_COUNT_BYTES) != 0 ? 1 : p->bs;
	uint64_t end = round_up(b->end, unit);
	char which[128], advice[64] = "";

	report_numbers(which, sizeof(which), b);
	if (end <= (uint64_t)p->src->geo.size && (p->dst->geo.room < 0 ||
	    end <= (uint64_t)p->dst->geo.room))
		snprintf(advice, sizeof(advice), "; count=%llu copies all",
		    (ull)(end / unit));
	snprintf(text, room, "partition%s %s of %s end%s beyond the copy%s",
	    b->n > 1 ? "s" : "", which, p->src->name, b->n > 1 ? "" : "s",
	    advice);
}

static void
slip_remark(const struct plan *p, char *text, size_t room)
{
	const char *part = p->src->lim.within, *src = p->src->name;
	const char *into = p->dst->lim.within, *dst = p->dst->name;

	switch (p->found->slip) {
	case SLIP_OVER_TABLE:
		snprintf(text, room, "%s%s is one file system (%s), and %s has "
		    "partitions; opart= selects one", part, src,
		    p->found->kind, dst);
		break;
	case SLIP_NESTED:
		snprintf(text, room, "%s%s has a partition table, and %s%s is "
		    "a partition: a table in it is ignored", part, src, into,
		    dst);
		break;
	case SLIP_BLANK:
		snprintf(text, room, "%s%s begins with zeros, and %s%s holds "
		    "data: is it the right way round?", part, src, into, dst);
		break;
	case SLIP_NONE:
		break;
	}
}

static void
hidden_remark(const struct plan *p, char *text, size_t room)
{
	const struct ata_hidden *h = &p->found->hidden;
	const char *how = h->overlay == 0 ? "a host protected area (HPA), see "
	    "hdparm -N" : h->area == 0 ? "a device configuration overlay "
	    "(DCO), see hdparm --dco-identify" : "an HPA and a DCO, see hdparm "
	    "-N and --dco-identify";

	snprintf(text, room, "%s hides %llu bytes past its end, which are "
	    "not copied: %s", p->src->name, (ull)(h->area + h->overlay), how);
}

bool
report_longer(const struct plan *p, uint64_t length, char *text, size_t room)
{
	const struct opts *o = p->opts;
	const struct endpoint *dst = p->dst;
	uint64_t end = round_up(length, p->pad);

	if (!endpoint_is_file(dst) || dst->is.streamed || dst->lim.part > 0 ||
	    p->work == WORK_COMPARE || p->dst_off > 0 || p->counted ||
	    (o->conv & CONV_NOTRUNC) != 0 || p->truncate >= 0 ||
	    dst->geo.size < 0 || (uint64_t)dst->geo.size <= end)
		return false;
	snprintf(text, room, "%s is longer than the copy, and what it holds "
	    "from byte %llu on is old; oflag=trunc cuts it off", dst->name,
	    (ull)end);
	return true;
}

static void
rest_remark(const struct plan *p, char *text, size_t room)
{
	const struct remarks *found = p->found;
	size_t at, i;

	at = (size_t)snprintf(text, room, "after the copy %s still has",
	    p->dst->name);
	for (i = 0; i < found->rests && at < room; i++)
		at += (size_t)snprintf(text + at, room - at, "%s %s", i > 0 ?
		    "," : "", strcmp(found->rest[i].type, "gpt") == 0 ?
		    "the backup of another GPT" : found->rest[i].type);
	if (at < room)
		snprintf(text + at, room - at, " at its end; rest=zero clears "
		    "what lies behind the copy");
}

bool
report_remark(const struct plan *p, unsigned n, char *text, size_t room)
{
	const struct remarks *found = p->found;

	if (found->beyond.n > 0 && n-- == 0)
		beyond_remark(p, text, room);
	else if (found->cut[0] != '\0' && n-- == 0)
		snprintf(text, room, "the range of %s%s %s", p->src->lim.within,
		    p->src->name, found->cut);
	else if (found->torn[0] != '\0' && n-- == 0)
		snprintf(text, room, "%s", found->torn);
	else if (found->fit.is != FITS && n-- == 0)
		fit_tell(p, &found->fit, text, room);
	else if (found->packed != NULL && n-- == 0)
		packed_tell(found->packed, p, text, room);
	else if (found->misnamed != NULL && n-- == 0)
		packed_tell_misnamed(found->misnamed, p, text, room);
	else if (found->slip != SLIP_NONE && n-- == 0)
		slip_remark(p, text, room);
	else if (found->rests > 0 && n-- == 0)
		rest_remark(p, text, room);
	else if ((found->hidden.area > 0 || found->hidden.overlay > 0) &&
	    n-- == 0)
		hidden_remark(p, text, room);
	else
		return n == 0 && p->bounded &&
		    report_longer(p, p->length, text, room);
	return true;
}

static void
found_plan(FILE *out, const struct plan *p)
{
	const struct remarks *found = p->found;
	const struct sign *s;
	char text[512];
	unsigned n;

	if (found == NULL)
		return;
	for (n = 0; report_remark(p, n, text, sizeof(text)); n++)
		print(out, "note=%s", text);
	span_plan(out, &found->src, "source");
	span_plan(out, &found->dst, "target");
	for (s = found->sign; s < found->sign + found->signs; s++)
		print(out, s->label[0] != '\0' ? "overwrites=%s \"%s\" at byte "
		    "%llu" : "overwrites=%s%s at byte %llu", s->type, s->label,
		    (ull)s->off);
}

/* What is done with each file system. */
static void
used_plan(FILE *out, const struct plan *p)
{
	const struct used *u = p->used;
	const struct used_fs *fs;
	char name[256];

	if (u == NULL)
		return;
	if (p->opts->used != 0)
		print(out, "used=%s", opts_word("used", p->opts->used));
	print(out, "bytes_free=%llu", (ull)u->bytes_free);
	for (fs = u->fs; fs < u->fs + u->n; fs++)
		if (fs->treated == TREATED_WHOLE)
			print(out, "file_system=%s: copied whole: %s",
			    used_name(name, sizeof(name), fs), fs->reason);
		else
			print(out, "file_system=%s: %llu of %llu bytes used, "
			    "%s", used_name(name, sizeof(name), fs),
			    (ull)fs->used, (ull)fs->length,
			    fs->treated == TREATED_ORDERED ? "read first" :
			    "the rest left out");
}

/* What happens to zeros in the source. */
static const char *
report_zeros(const struct plan *p)
{
	if (p->store != STORE_SPARSE)
		return "written";
	if (!p->dst->is.device)
		return "holes";
	return (p->opts->oflag & FLAG_TRIM) != 0 ? "freed" : "zeroed";
}

const char *
report_given(const struct plan *p, int *at, const char *told)
{
	const struct opts *o = p->opts;
	char name[32];
	const char *word;

	while (++*at < o->argc) {
		word = o->argv[*at];
		snprintf(name, sizeof(name), " %.*s ",
		    (int)strcspn(word, "="), word);
		if (word[0] != '-' && strstr(told, name) == NULL &&
		    (p->verify == 0 || strcmp(name, " verify ") != 0))
			return word;
	}
	return NULL;
}

static void
how_plan(FILE *out, const struct plan *p)
{
	static const char told[] = REPORT_TOLD "bs coe retries compare reflink "
	    "rate engine table rest decode ";
	const char *word;
	int at = 0;

	if (p->work == WORK_COMPARE)
		print(out, "compare=1");
	if (p->verify != 0)
		print(out, "verify=%s%s", opts_word("verify", p->verify),
		    p->verify != p->opts->verify ? " (it is removable; "
		    "verify=0 leaves it out)" : "");
	if (p->store == STORE_DIFFERING)
		print(out, "sparing=1");
	/* note= is a remark here */
	while ((word = report_given(p, &at, told)) != NULL)
		print(out, "%s%s", strncmp(word, "note=", 5) == 0 ? "report_" :
		    "", word);
}

static void
ends_plan(FILE *out, const struct plan *p)
{
	char name[NAME_MAX + 1];
	struct usage use;
	const struct plan *one;
	unsigned i;

	end_plan(out, p, p->src, "source", p->src_off);
	if (safety_source_busy(p, &use, name, sizeof(name)))
		print(out, "source_mounted=%s read-write on %s", name, use.by);
	if (p->targets > 1)
		print(out, "targets=%u", p->targets);
	for (i = 0; (one = plan_each(p, i)) != NULL; i++) {
		snprintf(name, sizeof(name), i > 0 ? "target%u" : "target",
		    i + 1);
		end_plan(out, p, one->dst, name, one->dst_off);
	}
}

static void
confined_plan(FILE *out, unsigned holds)
{
	char text[128] = "";
	const char *word;
	unsigned i;

	for (i = 0; (word = confine_word(i, holds)) != NULL; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "%s%s", i > 0 ? ", " : "", word);
	print(out, "confined=%s", i > 0 ? text : "no");
}

void
report_plan(FILE *out, const struct plan *p)
{
	const struct plan *one;
	unsigned i;

	ends_plan(out, p);
	print(out, "bs=%llu", (ull)p->bs);
	if (p->bounded) {
		print(out, "bytes=%llu", (ull)p->length);
		print(out, "blocks=%llu", (ull)(p->length / p->bs));
	} else {
		print(out, "bytes=to the end of the source");
	}
	print(out, "transfer=%zu", p->chunk);
	print(out, "engine=%s (%s)", p->queues > 0 ? "async" : "threads",
	    p->engine_why);
	print(out, "workers=%u", plan_workers(p));
	if (p->zones > 0)
		print(out, "zones=%u", p->zones);
	if (p->queues > 0)
		print(out, "slots=%u", p->slots);
	print(out, "holes=%s", p->holes ? "not read" : "read");
	print(out, "zeros=%s", report_zeros(p));
	print(out, "reflink=%s", p->reflink ? (p->opts->reflink &
	    REFLINK_ALWAYS) != 0 ? "always" : "if possible" : "no");
	if (p->opts->decode != 0)
		print(out, "decode=%s", opts_word("decode", p->opts->decode));
	if (p->opts->rest != 0)
		print(out, "rest=%s", opts_word("rest", p->opts->rest));
	if (p->opts->table != 0)
		print(out, "table=%s", opts_word("table", p->opts->table));
	print(out, "coe=%lld", (long long)p->opts->coe);
	print(out, "retries=%lld", (long long)p->opts->retries);
	print(out, "sync=%lld", (long long)p->opts->sync);
	if (p->opts->rate > 0)
		print(out, "rate=%lld", (long long)p->opts->rate);
	how_plan(out, p);
	confined_plan(out, p->confined);
	used_plan(out, p);
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		found_plan(out, one);
}

void
report_known(FILE *out, const struct map_totals *t)
{
	print(out, "map_finished=%llu", (ull)t->finished);
	print(out, "map_untried=%llu", (ull)t->untried);
	print(out, "map_failed=%llu", (ull)t->failed);
	print(out, "map_bad=%llu", (ull)t->bad);
	print(out, "map_bad_ranges=%llu", (ull)t->bad_ranges);
}
