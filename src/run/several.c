/*
 * Several targets: the checks of each before the first of them is written.
 */
#include "run/several.h"

#include <errno.h>
#include <stdlib.h>

#include "plan/overlap.h"
#include "plan/safety.h"

int
several_check(struct several **made, struct plan *p, struct fault *f)
{
	struct several *s = calloc(1, sizeof(*s));
	unsigned i, j;

	*made = s;
	if (s == NULL)
		return fault_errno(f, ENOMEM, "several targets");
	s->n = p->targets;
	for (i = 0; i < s->n; i++) {
		s->plan[i] = plan_target(p, i);
		if (safety_check(&s->plan[i], f) != 0)
			return -1;
		for (j = 0; j < i; j++)
			if (overlap_targets(&s->plan[j], &s->plan[i], f) != 0)
				return -1;
	}
	p->each = s->plan;
	return 0;
}

int
several_claim(struct several *s, struct fault *f)
{
	unsigned i;

	for (i = 0; i < s->n; i++) {
		if (claims_take(&s->claims[i], i > 0 ? &s->claims[i - 1] :
		    NULL, &s->plan[i], f) != 0) {
			several_release(s);
			return -1;
		}
		s->claimed++;
	}
	return 0;
}

int
several_remark(struct several *s, bool thorough, struct fault *f)
{
	while (s->remarked < s->n) {
		struct plan *p = &s->plan[s->remarked];
		struct remarks *found = &s->found[s->remarked++];

		remarks_make(found, p, thorough);
		if (found->packed != NULL && p->dst->is.device)
			return packed_refuse(found->packed, p, f);
		p->found = found;
	}
	return 0;
}

void
several_settle(const struct several *s)
{
	unsigned i;

	for (i = 0; i < s->claimed; i++)
		claims_settle(&s->claims[i]);
}

void
several_forget(const struct several *s)
{
	unsigned i;

	for (i = 0; i < s->claimed; i++)
		claims_forget(&s->claims[i]);
}

void
several_release(struct several *s)
{
	while (s->claimed > 0)
		claims_release(&s->claims[--s->claimed]);
}

void
several_free(struct several *s)
{
	if (s == NULL)
		return;
	while (s->remarked > 0)
		remarks_free(&s->found[--s->remarked]);
	free(s);
}
