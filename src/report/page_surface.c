/*
 * The contents of an end on the page of a plan: partitions and file systems in
 * words, and a picture of both ends to one scale.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum {
	BESIDE = 12,		/* columns for what is next to a bar */
	BAR_LEAST = 8,		/* of the smaller end; otherwise no common
				 * scale */
};

/* From a failing disk nothing is read that is not copied. */
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
	if (ep->geo.size > 0)
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
surface_touched(const struct surface *s, uint64_t from, uint64_t to)
{
	return from < s->to && to > s->from;
}

/* Add an item such as: 2 ext4 "home" 40 GB */
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
	    sign != NULL ? sign->type : part_spans(part) ? "dynamic disk" :
	    "unknown", name,
	    number_si(size, sizeof(size), (double)part->length), how);
}

/* List the partitions that are copied or overwritten, or the others. */
static void
surface_list_parts(struct list *l, const struct surface *s, bool those)
{
	size_t i;

	for (i = 0; i < s->table.n; i++) {
		const struct part *part = &s->table.part[i];
		uint64_t to = part_end(part);

		if (part->container ||
		    surface_touched(s, part->start, to) != those)
			continue;
		list_part(l, s, part, those && (s->from > part->start ||
		    s->to < to) ? " (in part)" : "");
	}
}

/* Add contents of the end outside partitions: a table, a file system. */
static void
list_bare(struct list *l, const struct surface *s)
{
	size_t i, k;

	for (i = 0; i < s->signs; i++) {
		const struct sign *sign = &s->sign[i];
		bool seen = !surface_touched(s, sign->off, sign->off + 1);

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
			list_item(l, "%s%s", sign->type, sign->table ?
			    " table" : "");
	}
}

void
surface_holds(const struct sheet *sh, const struct surface *s)
{
	struct list l = list_of(sh);

	list_bare(&l, s);
	surface_list_parts(&l, s, true);
	list_put(sh, "has ", &l);
}

void
surface_loses(const struct sheet *sh, const struct surface *s, bool written)
{
	struct list lost = list_of(sh), kept = list_of(sh);

	list_bare(&lost, s);
	surface_list_parts(&lost, s, true);
	if (written && lost.at > 0 && sh->brief < NO_LEGEND)
		surface_list_parts(&kept, s, false);
	list_put(sh, written ? PAGE_LOST " " : "has ", &lost);
	list_put(sh, "stays: ", &kept);
	if (written && lost.at == 0 && s->size > 0)
		page_wrap(sh, "",
		    s->ep->is.device ? "no file system or partition table "
		    "found where it will be written" :
		    "what it holds there will be lost");
	if (written && endpoint_users(s->ep) != USERS_KNOWN)
		page_wrap(sh, "",
		    endpoint_users(s->ep) == USERS_REGISTERED ?
		    "only users that registered with it are known" :
		    "who else uses it cannot be known");
}

/* so many columns stand for so many bytes */
struct scale {
	size_t		 columns;	/* at most WIDTH */
	uint64_t	 bytes;
};

static size_t
surface_column(uint64_t at, struct scale by)
{
	return number_part(at, by.columns, by.bytes);
}

/* At least one column, however small it is. */
static void
surface_fill(char *bar, char c, uint64_t from, uint64_t to, struct scale by)
{
	size_t a = surface_column(from, by), b = surface_column(to, by);

	if (a >= by.columns)
		return;
	memset(bar + a, c, b > a ? b - a : 1);
}

static void
bar_put(FILE *out, const char *heading, const struct surface *s,
    struct scale by)
{
	char bar[WIDTH + 1] = "", copied[WIDTH + 1] = "", size[32], number[16];
	size_t end = surface_column(s->size, by), i, k;

	memset(bar, '.', end);
	for (i = 0; i < s->table.n; i++) {
		const struct part *part = &s->table.part[i];
		size_t a = surface_column(part->start, by);

		if (part->container || part_end(part) > s->size || a >= end)
			continue;
		surface_fill(bar, '-', part->start, part_end(part), by);
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
		surface_fill(copied, '#', s->from, s->to < s->size ? s->to :
		    s->size, by);
	copied[end] = '\0';
	for (i = end; i > 0 && copied[i - 1] == ' '; i--)
		copied[i - 1] = '\0';
	if (copied[0] != '\0')
		fprintf(out, "%*s%s\n", INDENT + 1, "", copied);
}

/* To one scale, if the smaller end is visible beside the larger. */
void
surface_picture(const struct sheet *sh, const char *done,
    const struct surface *src, const struct surface *dst)
{
	uint64_t most = src->size > dst->size ? src->size : dst->size;
	uint64_t least = src->size > dst->size ? dst->size : src->size;
	struct scale by = { sh->width - INDENT - BESIDE, most > 0 ? most : 1 };
	bool one = least == 0 || surface_column(least, by) >= BAR_LEAST;

	if (most == 0 || sh->brief >= NO_PICTURE)
		return;
	fputc('\n', sh->out);
	if (src->size > 0) {
		by.bytes = one ? most : src->size;
		bar_put(sh->out, "Source", src, by);
	}
	if (dst->size > 0) {
		by.bytes = one ? most : dst->size;
		bar_put(sh->out, "Target", dst, by);
	}
	if (dst->size > 0 && dst->becomes != NULL)
		bar_put(sh->out, "After", &(struct surface){ .size = dst->size,
		    .table = *dst->becomes }, by);
	if (sh->brief < NO_LEGEND || !one)
		page_told(sh, "", " # is %s, - a partition, . none%s", done,
		    one ? "" : "; each to its own scale");
}
