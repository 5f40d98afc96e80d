/*
 * The state of each target of a tee.
 */
#include "targets.h"

#include <string.h>

#include "base/clock.h"

enum { LOOK = 100 };		/* ms between looks for answers */

/* The bytes of "NAME: " in front of a fault, if NAME is the target. */
static unsigned short
targets_named(const struct endpoint *ep, const struct fault *f)
{
	size_t n = strlen(ep->name);

	return strncmp(f->text, ep->name, n) == 0 &&
	    strncmp(f->text + n, ": ", 2) == 0 ? (unsigned short)(n + 2) : 0;
}

void
targets_drop(struct targets *t, unsigned i, const struct fault *why)
{
	struct target *to = &t->target[i];

	pthread_mutex_lock(&t->lock);
	if (to->why.status == 0) {
		to->why = *why;
		to->why.named = targets_named(&to->ep, why);
		if (why->by != TOLD_SILENT)
			to->why.by = TOLD_DROPPED;
	}
	pthread_mutex_unlock(&t->lock);
	to->dropped = true;
}

void
targets_give_up(struct targets *t, unsigned i, uint64_t ns, const char *what,
    int status)
{
	struct fault f;

	fault_set(&f, status, "%s: %s for %.0f s",
	    t->target[i].ep.name, what, (double)ns / 1e9);
	f.by = TOLD_SILENT;
	/* set first: a thread that sees it hang may finish and free */
	t->lost = true;
	t->target[i].hung = true;
	targets_drop(t, i, &f);
}

void
targets_ask(struct targets *t, unsigned i)
{
	if (t->target[i].asked++ == 0)
		t->target[i].answered = clock_ns();
}

void
targets_answer(struct targets *t, unsigned i, uint64_t since)
{
	uint64_t now = clock_ns();

	t->target[i].asked--;
	t->target[i].answered = now;
	t->target[i].spent += now - since;
}

bool
targets_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t *stood)
{
	uint64_t due = clock_ns() + (uint64_t)LOOK * 1000000;
	struct timespec t = clock_spec(due);
	int err = pthread_cond_timedwait(cond, lock, &t);

	*stood = clock_stood(due);
	return err != 0;
}
