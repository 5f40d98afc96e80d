/*
 * What lies on an end, on the page of a plan: partitions and file systems in
 * words, and a picture of both ends to one scale.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "part/remarks.h"

enum {
	BAR = WIDTH - INDENT - 12,	/* columns of the larger end */
	BAR_LEAST = 8,		/* of the smaller; below: no common scale */
};

/* A failing disk is asked for nothing that is not to be copied. */
void
surface_look(struct surface *s, const struct plan *p, struct endpoint *ep)
{
	uint64_t off = ep->spec.role == SOURCE ? p->src_off : p->dst_off;
	uint64_t length = ep->spec.role == SOURCE ? p->length :
	    round_up(p->length, p->pad);
	struct fault f;
	bool rescued = ep->spec.role == SOURCE && p->work == WORK_RESCUE;

	*s = (struct surface){ .ep = ep, .from = off, .to = UINT64_MAX };
	if (p->bounded)
		s->to = off + length;
	if (ep->geo.size > 0 && !ep->is.absent)
		s->size = (uint64_t)(ep->lim.part > 0 ? ep->lim.disk_size :
		    ep->geo.size);
	if (ep->is.streamed || s->size == 0)
		s->size = 0;
	else if (!rescued && parts_read(ep, &s->table, &f) == 0)
		s->signs = parts_signs(ep, 0, UINT64_MAX, &s->sign);
}

void
surface_free(struct surface *s)
{
	parts_free(&s->table);
	free(s->sign);
}

/* The file system of a partition, or NULL. */
static const struct sign *
sign_of(const struct surface *s, const struct part *part)
{
	size_t i;

	for (i = 0; i < s->signs; i++)
		if (s->sign[i].off >= part->start &&
		    s->sign[i].off < part_end(part))
			return &s->sign[i];
	return NULL;
}

static bool
touched(const struct surface *s, uint64_t from, uint64_t to)
{
	return from < s->to && to > s->from;
}

/* 2 ext4 "home" 40 GB */
static void
list_part(struct list *l, const struct surface *s, const struct part *part,
    const char *how)
{
	const struct sign *sign = sign_of(s, part);
	const char *label = sign != NULL && sign->label[0] != '\0' ?
	    sign->label : part->name;
	char size[32], name[160] = "";

	if (label[0] != '\0')
		snprintf(name, sizeof(name), " \"%s\"", label);
	list_item(l, "%u %s%s %s%s", part->number,
	    sign != NULL ? sign->type : "unknown", name,
	    number_si(size, sizeof(size), (double)part->length), how);
}

/* Those that are copied, or overwritten, or those that are not. */
static void
list_parts(struct list *l, const struct surface *s, bool those)
{
	size_t i;

	for (i = 0; i < s->table.n; i++) {
		const struct part *part = &s->table.part[i];
		uint64_t to = part_end(part);

		if (part->container ||
		    touched(s, part->start, to) != those)
			continue;
		list_part(l, s, part, those && (s->from > part->start ||
		    s->to < to) ? " (in part)" : "");
	}
}

/* What stands on the end itself and in no partition: a table, a file system. */
static void
list_bare(struct list *l, const struct surface *s)
{
	size_t i, k;

	for (i = 0; i < s->signs; i++) {
		const struct sign *sign = &s->sign[i];
		bool seen = !touched(s, sign->off, sign->off + 1);

		for (k = 0; k < s->table.n && !seen; k++)
			seen = !s->table.part[k].container &&
			    sign->off >= s->table.part[k].start &&
			    sign->off < part_end(&s->table.part[k]);
		for (k = 0; k < i && !seen; k++)
			seen = strcmp(s->sign[k].type, sign->type) == 0 &&
			    strcmp(s->sign[k].label, sign->label) == 0;
		if (seen)
			continue;
		if (sign->label[0] != '\0')
			list_item(l, "%s \"%s\"", sign->type, sign->label);
		else
			list_item(l, "%s%s", sign->type, strcmp(sign->type,
			    s->table.type) == 0 ? " table" : "");
	}
}

void
surface_holds(FILE *out, const struct surface *s, enum brevity brief)
{
	struct list l = list_of(brief);

	list_bare(&l, s);
	list_parts(&l, s, true);
	list_put(out, "has ", &l);
}

void
surface_loses(FILE *out, const struct surface *s, bool written,
    enum brevity brief)
{
	struct list lost = list_of(brief), kept = list_of(brief);

	list_bare(&lost, s);
	list_parts(&lost, s, true);
	if (written && lost.at > 0 && brief < NO_LEGEND)
		list_parts(&kept, s, false);
	list_put(out, written ? PAGE_LOST " " : "has ", &lost);
	list_put(out, "stays: ", &kept);
	if (written && lost.at + lost.left_out == 0 && !s->ep->is.absent &&
	    s->size > 0)
		page_wrap(out, "",
		    s->ep->is.device ? "nothing that is known lies "
		    "where it is written" : "what it holds there is lost");
	if (written && s->ep->is.remote && s->ep->kind != END_RBD)
		page_wrap(out, "",
		    s->ep->kind == END_ISCSI ? "who else uses it is "
		    "known only of who has registered with it" :
		    "who else uses it cannot be known");
}

static size_t
column(uint64_t at, uint64_t scale)
{
	return (size_t)((unsigned __int128)at * BAR / scale);
}

/* At least one column, however little it is. */
static void
fill(char *bar, char c, uint64_t from, uint64_t to, uint64_t scale)
{
	size_t a = column(from, scale), b = column(to, scale);

	if (a >= BAR)
		return;
	b = b > BAR ? BAR : b <= a ? a + 1 : b;
	memset(bar + a, c, b - a);
}

static void
bar_put(FILE *out, const char *heading, const struct surface *s,
    uint64_t scale)
{
	char bar[BAR + 1] = "", copied[BAR + 1] = "", size[32], number[16];
	size_t end = column(s->size, scale), i, k;

	end = end == 0 ? 1 : end > BAR ? BAR : end;
	memset(bar, '.', end);
	for (i = 0; i < s->table.n; i++) {
		const struct part *part = &s->table.part[i];
		size_t a = column(part->start, scale);

		if (part->container || part_end(part) > s->size || a >= end)
			continue;
		fill(bar, '-', part->start, part_end(part), scale);
		snprintf(number, sizeof(number), "%u", part->number);
		for (k = 0; number[k] != '\0' && a + k < end &&
		    (k == 0 || bar[a + k] == '-'); k++)
			bar[a + k] = number[k];
	}
	bar[end] = '\0';
	fprintf(out, "%-*s[%s] %s\n", INDENT, heading, bar,
	    number_si(size, sizeof(size), (double)s->size));
	memset(copied, ' ', end);
	if (s->to > s->from)
		fill(copied, '#', s->from, s->to < s->size ? s->to : s->size,
		    scale);
	copied[end] = '\0';
	for (i = end; i > 0 && copied[i - 1] == ' '; i--)
		copied[i - 1] = '\0';
	if (copied[0] != '\0')
		fprintf(out, "%*s%s\n", INDENT + 1, "", copied);
}

/* To one scale, where the smaller can be seen beside the larger. */
void
surface_picture(FILE *out, const struct surface *src, const struct surface *dst,
    enum brevity brief)
{
	uint64_t most = src->size > dst->size ? src->size : dst->size;
	uint64_t least = src->size > dst->size ? dst->size : src->size;
	bool one = column(least, most > 0 ? most : 1) >= BAR_LEAST;

	if (most == 0 || brief >= NO_PICTURE)
		return;
	fputc('\n', out);
	if (src->size > 0)
		bar_put(out, "Source", src, one ? most : src->size);
	if (dst->size > 0)
		bar_put(out, "Target", dst, one ? most : dst->size);
	if (brief < NO_LEGEND || !one)
		fprintf(out, "%*s# is copied, - a partition, . none%s\n",
		    INDENT + 1, "", one || least == 0 ? "" :
		    "; each to its own scale");
}
