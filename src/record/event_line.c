/*
 * One JSON line for programs.  If it cannot be written completely, its sink
 * gets nothing more.
 */
#include "event_line.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/value.h"

static void
event_incomplete(struct sink *s, int err)
{
	fault_errno(&s->trouble, err, "%s=%s: it is not complete", s->key,
	    s->name);
}

void
event_put(struct sink *s, json_t *o, int patience)
{
	size_t len;
	char *line = value_line(o, &len);
	int err = line == NULL ? ENOMEM : sink_put(s, line, len, patience);

	if (err != 0) {
		event_incomplete(s, err);
		sink_close(s);
	}
	free(line);
}

void
event_last(struct sink *s)
{
	int err = sink_close(s);

	if (err != 0)
		event_incomplete(s, err);
}

json_t *
event_operands(const struct opts *o)
{
	json_t *list = json_array();
	int i;

	for (i = 1; i < o->argc; i++)
		list = value_append(list, value_text(o->argv[i]));
	return list;
}

json_t *
event_targets(const struct events *ev, json_t *o)
{
	return ev->targets == NULL ? o : value_set(o, "targets",
	    json_deep_copy(ev->targets));
}

json_t *
event_range(const struct plan *p, const struct seg *s)
{
	return json_pack("{s:o, s:o}",
	    "offset", value_count(p->src_off + s->off),
	    "length", value_count(s->len));
}

json_t *
event_counts(const struct tally *t)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}",
	    "bytes_read", value_count(t->read),
	    "bytes_written", value_count(t->written),
	    "bytes_unreadable", value_count(t->lost),
	    "bytes_spared", value_count(t->spared),
	    "bytes_outside", value_count(t->outside),
	    "bytes_verified", value_count(t->verified),
	    "bytes_differing", value_count(t->differing),
	    "bytes_mended", value_count(t->mended), "seconds", t->seconds);
}
