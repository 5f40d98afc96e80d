/*
 * The plan as key=value lines, which scripts read: what -d shows, and --ask.
 */
#include "report/report.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "base/say.h"
#include "base/status.h"
#include "disk/disk.h"
#include "part/findings.h"
#include "plan/safety.h"

typedef unsigned long long ull;

static const char *
kind(const struct endpoint *ep)
{
	if (ep->be == &be_sg)
		return "SCSI disk";
	if (ep->be == &be_null)
		return ep->role == SOURCE ? "generated" : "discarded";
	if (ep->streamed)
		return "stream";
	return ep->device ? "block device" : "file";
}

static void
disk_plan(FILE *out, const struct endpoint *ep, const char *what)
{
	struct disk d;
	char id[NAME_MAX + 1];

	if (!endpoint_disk(ep, &d))
		return;
	if (d.node != 0) {
		disk_by_id(d.node, id, sizeof(id));
		say(out, "%s_disk=%s", what, d.whole_name);
		if (id[0] != '\0')
			say(out, "%s_by_id=%s", what, id);
	}
	if (d.model[0] != '\0')
		say(out, "%s_model=%s %s", what, d.vendor, d.model);
	if (d.serial[0] != '\0')
		say(out, "%s_serial=%s", what, d.serial);
	if (d.wwn[0] != '\0')
		say(out, "%s_wwn=%s", what, d.wwn);
	if (d.backing[0] != '\0')
		say(out, "%s_backing=%s", what, d.backing);
	if (d.physical > 0)
		say(out, "%s_physical_block=%u", what, d.physical);
}

static void
end_plan(FILE *out, const struct plan *p, const struct endpoint *ep,
    const char *what, uint64_t off)
{
	uint64_t length = ep->role == TARGET ? round_up(p->length, p->pad) :
	    p->length;

	say(out, "%s=%s", what, ep->name);
	say(out, "%s_kind=%s%s", what, kind(ep), ep->absent ? ", to be created"
	    : "");
	if (ep->part > 0)
		say(out, "%s_part=%u", what, ep->part);
	if (ep->size >= 0 && !ep->absent)
		say(out, "%s_size=%lld", what, (long long)ep->size -
		    (ep->part > 0 ? (long long)ep->base : 0));
	if (ep->block > 0)
		say(out, "%s_block=%u", what, ep->block);
	disk_plan(out, ep, what);
	say(out, "%s_first_byte=%llu", what, (ull)off);
	if (p->bounded && length > 0)
		say(out, "%s_last_byte=%llu", what, (ull)(off + length - 1));
}

const char *
report_border(char *text, size_t room, const struct border *b, bool begins)
{
	static const char *const words[][2] = {
		[LIES_BORDER] = { "at the end of", "at the first byte of" },
		[LIES_INSIDE] = { "before the end of", "into" },
		[LIES_OUTSIDE] = { "behind the end of", "before" },
	};
	char far[32] = "";

	if (b->lies == LIES_DISK || b->lies == LIES_OPEN) {
		snprintf(text, room, "%s", b->lies == LIES_OPEN ?
		    "where the input ends" : begins ?
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
		say(out, "%s_range=begins %s, ends %s", what,
		    report_border(from, sizeof(from), &s->from, true),
		    report_border(to, sizeof(to), &s->to, false));
}

static void
found_plan(FILE *out, const struct findings *found)
{
	const struct sign *s;

	if (found == NULL)
		return;
	span_plan(out, &found->src, "input");
	span_plan(out, &found->dst, "output");
	for (s = found->sign; s < found->sign + found->signs; s++)
		if (s->label[0] != '\0')
			say(out, "overwrites=%s \"%s\" at byte %llu", s->type,
			    s->label, (ull)s->off);
		else
			say(out, "overwrites=%s at byte %llu", s->type,
			    (ull)s->off);
}

/* What becomes of zeros in what is read. */
static const char *
zeros(const struct plan *p)
{
	if (!p->sparse)
		return "written";
	if (!p->dst->device)
		return "holes";
	return (p->opts->oflag & FLAG_TRIM) != 0 ? "freed" : "zeroed";
}

static void
how_plan(FILE *out, const struct plan *p)
{
	if (p->opts->compare != 0)
		say(out, "compare=1");
	if (p->opts->verify != 0)
		say(out, "verify=%s", opts_word("verify", p->opts->verify));
	if ((p->opts->oflag & FLAG_SPARING) != 0)
		say(out, "sparing=1");
	if (p->opts->manifest != NULL)
		say(out, "manifest=%s", p->opts->manifest);
	if (p->opts->base != NULL)
		say(out, "base=%s", p->opts->base);
	if (p->opts->check != 0)
		say(out, "check=1");
}

void
report_plan(FILE *out, const struct plan *p)
{
	char name[NAME_MAX + 1];
	struct use use;

	end_plan(out, p, p->src, "input", p->src_off);
	if (safety_source_busy(p, &use, name, sizeof(name)))
		say(out, "input_mounted=%s read-write on %s", name, use.by);
	end_plan(out, p, p->dst, "output", p->dst_off);
	say(out, "bs=%llu", (ull)p->bs);
	if (p->bounded) {
		say(out, "bytes=%llu", (ull)p->length);
		say(out, "blocks=%llu", (ull)(p->length / p->bs));
	} else {
		say(out, "bytes=to the end of the input");
	}
	say(out, "transfer=%zu", p->chunk);
	say(out, "engine=%s (%s)", p->queues > 0 ? "async" : "threads",
	    p->engine_why);
	say(out, "workers=%u", plan_workers(p));
	if (p->queues > 0)
		say(out, "slots=%u", p->slots);
	say(out, "holes=%s", p->holes ? "not read" : "read");
	say(out, "zeros=%s", zeros(p));
	say(out, "reflink=%s", p->reflink ? (p->opts->reflink &
	    REFLINK_ALWAYS) != 0 ? "always" : "if possible" : "no");
	say(out, "coe=%lld", (long long)p->opts->coe);
	say(out, "retries=%lld", (long long)p->opts->retries);
	say(out, "sync=%lld", (long long)p->opts->sync);
	if (p->opts->rate > 0)
		say(out, "rate=%lld", (long long)p->opts->rate);
	if (p->opts->ioprio != NULL)
		say(out, "ioprio=%s", p->opts->ioprio);
	how_plan(out, p);
	found_plan(out, p->found);
}

void
report_known(FILE *out, const struct map_totals *t)
{
	say(out, "map_finished=%llu", (ull)t->finished);
	say(out, "map_untried=%llu", (ull)t->untried);
	say(out, "map_failed=%llu", (ull)t->failed);
	say(out, "map_bad=%llu", (ull)t->bad);
	say(out, "map_bad_ranges=%llu", (ull)t->bad_ranges);
}

bool
report_ask(const struct plan *p, struct fault *f)
{
	FILE *tty = fopen("/dev/tty", "r+e");
	char answer[16] = "";

	if (tty == NULL) {
		fault_set(f, STATUS_REFUSED,
		    "--ask: there is no terminal to ask at");
		return false;
	}
	report_plan(tty, p);
	fputs("Write this? yes/no: ", tty);
	fflush(tty);
	if (fgets(answer, sizeof(answer), tty) == NULL)
		answer[0] = '\0';
	fclose(tty);
	if (strcmp(answer, "yes\n") == 0)
		return true;
	fault_set(f, STATUS_REFUSED, "the answer was not yes");
	return false;
}
