/*
 * Operands that contradict each other.  Only the command line counts, and
 * nothing has been opened yet; the rules are in conflicts.def.
 */
#include "opts_row.h"

#include <stdbool.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/ioprio.h"

static bool
ends_in(const char *path, const char *what)
{
	size_t n = strlen(path), m = strlen(what);

	return n > m && strcmp(path + n - m, what) == 0;
}

bool
opts_bmap(const struct opts *o)
{
	return o->manifest != NULL && o->check == 0 &&
	    ends_in(o->manifest, ".bmap");
}

static bool
bits_several(unsigned bits)
{
	return (bits & (bits - 1)) != 0;
}

static bool
is_dash(const char *name)
{
	return name != NULL && strcmp(name, "-") == 0;
}

/* Whether the text consists of map statuses, each at most once. */
static bool
are_types(const char *text)
{
	const char *c;

	for (c = text; *c != '\0'; c++)
		if (strchr("?*/-+", *c) == NULL || strchr(c + 1, *c) != NULL)
			return false;
	return true;
}

/* Define the names that the rules use, then try the rules in order. */
const char *
conflict(const struct opts *o)
{
	const bool output_file = o->output != NULL && !is_dash(o->output) &&
	    strcmp(o->output, ".") != 0;
	const bool several_targets = o->targets > 1;
	const bool seek = o->seek > 0;
	const bool count = o->count >= 0;
	const bool coe = o->coe != 0;
	const bool unsynced = o->sync == 0;
	const bool zeros = (o->iflag & FLAG_ZEROS) != 0;
	const bool random = (o->iflag & FLAG_RANDOM) != 0;
	const bool changed = opts_changed(o);
	const bool append = (o->oflag & FLAG_APPEND) != 0;
	const bool trunc = (o->oflag & FLAG_TRUNC) != 0;
	const bool sparse = (o->oflag & FLAG_SPARSE) != 0;
	const bool nosparse = (o->oflag & FLAG_NOSPARSE) != 0;
	const bool trim = (o->oflag & FLAG_TRIM) != 0;
	const bool sparing = (o->oflag & FLAG_SPARING) != 0;
	const bool table = o->table != 0;
	const bool map = o->map != NULL;
	const bool rescues = map && o->compare == 0;
	const bool used = o->used != 0;
	const bool usedmap = o->usedmap != NULL;
	const bool bmap = o->bmap != NULL;
	const bool hash = o->hash != 0;
	const bool expect = o->expect != NULL;
	const bool manifest = o->manifest != NULL;
	const bool writes_bmap = opts_bmap(o);
	const bool base = o->base != NULL;
	const bool check = o->check != 0;
	const bool verify = o->verify != 0;
	const bool compare = o->compare != 0;
	const bool reflink = (o->reflink & REFLINK_ALWAYS) != 0;

#define WRONG(this, why) \
	if (this) \
		return why;
#define CONFLICT(this, others, why) \
	if ((this) && (others)) \
		return why;
#define NEEDS(this, those, why) \
	if ((this) && !(those)) \
		return why;
#include "conflicts.def"
	return NULL;
}
