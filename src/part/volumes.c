/*
 * The partitions that are copied.  Workers may be using the ends, so a copy of
 * each endpoint is examined, through descriptors of its own.
 */
#include "part/parts.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 2048 };		/* bytes needed to identify a file system */

/* Make a row for each partition, or one for the whole source. */
static int
rows_make(struct volumes *v, const struct parts *t, const struct plan *p)
{
	size_t i;

	v->row = calloc(t->n + 1, sizeof(*v->row));
	if (v->row == NULL)
		return -1;
	strlcpy(v->table, t->type, sizeof(v->table));
	for (i = 0; i < t->n; i++) {
		const struct part *part = &t->part[i];

		if (part->container || part_end(part) > t->size)
			continue;
		v->row[v->n++] = (struct volume_row){ .number = part->number,
			.off = part->start, .len = part->length };
		strlcpy(v->row[v->n - 1].label, part->name,
		    sizeof(v->row[0].label));
	}
	if (v->n == 0 && t->type[0] == '\0')
		v->row[v->n++] = (struct volume_row){
			.number = p->src->lim.part,
			.off = p->src_off, .len = p->length };
	return 0;
}

static void
volume_row_name(struct volume_row *row, const struct volume *found)
{
	memcpy(row->type, found->type, sizeof(row->type));
	if (found->label[0] != '\0')
		memcpy(row->label, found->label, sizeof(row->label));
}

void
volumes_of_source(struct volumes *v, const struct plan *p)
{
	struct endpoint src = *p->src;
	struct parts t = { .n = 0 };
	struct volume found;
	struct fault f;
	size_t i;

	*v = (struct volumes){ .n = 0 };
	if (!parts_possible(&src) || !p->bounded)
		return;
	if (src.lim.part == 0 && parts_read(&src, &t, &f) != 0)
		return;
	if (rows_make(v, &t, p) == 0)
		for (i = 0; i < v->n; i++) {
			parts_volume(&src, v->row[i].off, v->row[i].len,
			    &found);
			volume_row_name(&v->row[i], &found);
		}
	parts_free(&t);
}

void
volumes_rescued(struct volumes *v, const struct plan *p, struct map *map)
{
	struct endpoint dst = *p->dst;
	struct parts t = { .n = 0 };
	struct volume found;
	struct fault f;
	size_t i;

	*v = (struct volumes){ .n = 0 };
	if (p->src_off != (p->src->lim.part > 0 ? p->src->lim.base : 0))
		return;
	dst.is.absent = false;
	dst.lim.part = 0;
	dst.geo.size = (int64_t)(p->dst_off + p->length);
	if (p->src->lim.part == 0 && p->dst_off == 0 &&
	    parts_rescued(&dst, p->src, map, &t, &f) != 0)
		return;
	if (rows_make(v, &t, p) == 0)
		for (i = 0; i < v->n; i++) {
			uint64_t at = v->row[i].off - p->src_off;

			if (!map_all(map, at, HEAD, FINISHED))
				continue;
			parts_volume(&dst, p->dst_off + at, v->row[i].len,
			    &found);
			if (map_all(map, found.at - p->dst_off, 1, FINISHED))
				volume_row_name(&v->row[i], &found);
		}
	parts_free(&t);
}

void
volumes_free(struct volumes *v)
{
	free(v->row);
	v->row = NULL;
	v->n = 0;
}
