/*
 * The result of a run.
 */
#include "copy/outcome.h"

#include <stdio.h>
#include <stdlib.h>

#include "end/gauge.h"

const char *
phase_name(enum phase phase)
{
	static const char *const names[] = {
		[PHASE_COPYING] = "copying",
		[PHASE_SCRAPING] = "scraping",
		[PHASE_RETRYING] = "retrying",
		[PHASE_FILLING] = "filling",
		[PHASE_FLUSHING] = "flushing",
		[PHASE_VERIFYING] = "verifying",
		[PHASE_REPAIRING] = "repairing",
		[PHASE_COMPARING] = "comparing",
		[PHASE_CLEARING] = "clearing the rest",
	};

	return names[phase];
}

const char *
silence_word(const struct silence *s, const struct plan *p)
{
	if (s->end == NULL)
		return NULL;
	return s->flush ? "flush" : s->end == p->src ? "source" : "target";
}

void
silence_text(char *to, size_t room, const struct silence *s, const char *name)
{
	bool named = name[0] != '\0';
	const char *what = s->flush ? "flushing" : s->end->is.streamed ?
	    "waiting" : "no answer";

	snprintf(to, room, "%s%s%s%s for %.0f s", what, !named || s->flush ?
	    "" : s->end->is.streamed ? " for" : " from", named ? " " : "", name,
	    s->seconds);
}

double
tally_part(const struct tally *t)
{
	double all = (double)t->whole * (t->twice ? 2 : 1);
	double done = (double)t->passed + (double)t->other;

	return done < all ? done / all : 1;
}

uint64_t
outcome_in_place(struct outcome *out)
{
	struct seg s = { .off = map_totals(&out->map).end };

	map_next(&out->map, 0, UNTRIED, &s);
	return s.off;
}

void
outcome_free(struct outcome *out)
{
	unsigned i;

	damage_free(&out->damage);
	gauge_free(out->profile);
	if (out->abandoned)
		return;
	for (i = 0; i < out->targets; i++)
		map_free(&out->target[i].differ);
	free(out->target);
	map_free(&out->map);
}
