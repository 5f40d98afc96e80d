/*
 * Each rule is a function: what is wrong, or NULL.
 */
#include "model.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

static struct order order;
static unsigned char before[TARGETS][ROOM];
static bool ever_bad[SECTORS];		/* of the source */

void
model_begin(const struct order *o)
{
	size_t i;

	order = *o;
	for (i = 0; i < machine.targets; i++)
		memcpy(before[i], machine.target[i].now,
		    machine.target[i].sectors * SECTOR);
	for (i = 0; i < SECTORS; i++)
		ever_bad[i] = machine.source.bad[i] > 0;
}

void
model_again(const struct order *o)
{
	order = *o;
}

/* Of a sector of a target: whether it is the source's that belongs there. */
static bool
copied(const unsigned char *image, size_t i)
{
	size_t from = i - order.seek + order.skip;

	return memcmp(image + i * SECTOR, machine.source.now + from * SECTOR,
	    SECTOR) == 0;
}

static bool
zeroed(const unsigned char *image, size_t i)
{
	static const unsigned char zeros[SECTOR];

	return memcmp(image + i * SECTOR, zeros, SECTOR) == 0;
}

/* The blocks that are lost with a bad sector have it in them. */
bool
near_bad(size_t from)
{
	size_t unit = machine.source.block / SECTOR, i = from - from % unit, n;

	for (n = 0; n < unit; n++)
		if (ever_bad[i + n])
			return true;
	return false;
}

/*
 * What was there, the source's, zeros in the place of what is bad, or junk of a
 * source that lies.
 */
static const char *
only_ours(unsigned t, const unsigned char *image)
{
	const struct disk *d = &machine.target[t];
	size_t i, from;

	for (i = 0; i < d->sectors; i++) {
		if (memcmp(image + i * SECTOR, before[t] + i * SECTOR,
		    SECTOR) == 0)
			continue;
		if (i < order.seek || i >= order.seek + order.count)
			return "a sector was written that is none of the copy";
		from = i - order.seek + order.skip;
		if (!copied(image, i) && !machine.source.junked[from] &&
		    !(zeroed(image, i) && near_bad(from)))
			return "a sector is neither the source's nor the old";
	}
	return NULL;
}

/* All of it is there; or all that could be read. */
static const char *
complete(unsigned t, bool all)
{
	const struct disk *d = &machine.target[t];
	size_t i;

	for (i = order.seek; i < order.seek + order.count; i++)
		if (!copied(d->kept, i) &&
		    (all || !near_bad(i - order.seek + order.skip)))
			return all ? "a sector is missing" :
			    "a sector is missing that could be read";
	return NULL;
}

/* What the map calls finished is on the first target for good. */
static const char *
map_true(const char *text)
{
	unsigned long long off, len, i;
	char what;
	int n;

	for (; *text != '\0'; text += strcspn(text, "\n"), text += *text != 0) {
		n = sscanf(text, "0x%llx 0x%llx %c", &off, &len, &what);
		if (n != 3)
			continue;
		if (off % SECTOR != 0 || len % SECTOR != 0)
			return "the map speaks of parts of sectors";
		for (i = off / SECTOR; i < (off + len) / SECTOR; i++) {
			if (what == '+' && !copied(machine.target[0].kept,
			    i - order.skip + order.seek))
				return "the map calls finished what is not";
			if (what == '-' && !near_bad(i) &&
			    !(machine.source.accused &&
			    machine.source.denied[i]))
				return "the map calls bad what is not";
		}
	}
	return NULL;
}

/* Nothing is left to be done: as it is without readers. */
static const char *
map_ended(const char *text)
{
	unsigned long long off, len, end = (order.skip + order.count) * SECTOR;
	char what;

	for (; *text != '\0'; text += strcspn(text, "\n"), text += *text != 0)
		if (sscanf(text, "0x%llx 0x%llx %c", &off, &len, &what) == 3 &&
		    off + len > order.skip * SECTOR && off < end &&
		    what != '+' && what != '-')
			return "the map is left with what could be tried";
	return NULL;
}

/* A bad block is met once in a longer read, and once alone. */
static const char *
errors_few(void)
{
	const struct disk *d = &machine.source;
	size_t i;

	for (i = 0; i < d->sectors; i++)
		if (d->alone[i] > 1 + order.retries || d->met[i] > 2 +
		    order.retries)
			return "a bad block was read too often";
	return NULL;
}

static const char *
targets_right(int status, bool quiet)
{
	bool sound = !machine.source.failed;
	const char *wrong;
	unsigned t;

	for (t = 0; t < machine.targets; t++) {
		const struct disk *d = &machine.target[t];

		if ((wrong = only_ours(t, d->kept)) != NULL ||
		    (wrong = only_ours(t, d->now)) != NULL)
			return wrong;
		if (status == STATUS_COMPLETE ||
		    (quiet && sound && !d->failed))
			wrong = complete(t, true);
		else if (quiet && !d->failed && (order.map || order.coe) &&
		    machine.source.gone_at == NEVER && !machine.source.lies)
			wrong = complete(t, false);
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

static bool
anything_failed(void)
{
	bool failed = machine.source.failed;
	unsigned t;

	for (t = 0; t < machine.targets; t++)
		failed = failed || machine.target[t].failed;
	return failed;
}

const char *
model_judge(int status, bool quiet)
{
	static char text[sizeof(machine.map)];
	const char *wrong;

	if (order.map) {
		if (status < 0)
			memcpy(text, machine.map, sizeof(text));
		else
			map_read(text, sizeof(text));
		if ((wrong = map_true(text)) != NULL ||
		    (wrong = errors_few()) != NULL)
			return wrong;
	}
	if (status == STATUS_USAGE || status == STATUS_REFUSED)
		return "the run was refused";
	if (status > 0 && quiet && !anything_failed())
		return "it failed, and nothing else did";
	if ((wrong = targets_right(status, quiet)) != NULL)
		return wrong;
	return order.map && quiet && order.thorough &&
	    !machine.source.vanished && !machine.target[0].failed ?
	    map_ended(text) : NULL;
}
