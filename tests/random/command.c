/*
 * A line as words: for dd, and for pardd.
 */
#include <err.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "random.h"

static void __attribute__((format(printf, 2, 3)))
add(struct command *c, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(c->letters + c->used, sizeof(c->letters) - c->used,
	    format, ap);
	va_end(ap);
	if (c->n + 2 > WORDS || n < 0 || c->used + (size_t)n >= LETTERS)
		errx(TROUBLE, "a command is too long");
	c->word[c->n++] = c->letters + c->used;
	c->used += (size_t)n + 1;
	c->word[c->n] = NULL;
}

static void
add_words(struct command *c, const char *operand, const struct word *words,
    unsigned set, const char *more, const char *still)
{
	char list[256] = "";
	size_t n = 0;

	for (; words->name != NULL; words++)
		if ((set & words->bit) != 0)
			n += (size_t)snprintf(list + n, sizeof(list) - n, ",%s",
			    words->name);
	n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", more, still);
	if (n > 0)
		add(c, "%s=%s", operand, list + 1);
}

const char *
source_name(const struct line *l)
{
	switch (l->src.what) {
	case DISK:	return given.disk[0];
	case DISK4K:	return given.disk[1];
	case ZEROS:	return "/dev/zero";
	case NOTHING:	return "/dev/null";
	default:	return l->src.memory ? "mem/src" : "src";
	}
}

const char *
target_name(const struct line *l, enum who who)
{
	static const char *const names[2][2] = {
		{ "dd.dst", "pardd.dst" }, { "mem/dd.dst", "mem/pardd.dst" },
	};

	switch (l->dst.what) {
	case DISK:	return given.disk[2 + who];
	case DISK4K:	return given.disk[4 + who];
	case NOTHING:	return "/dev/null";
	default:	return names[l->dst.memory][who];
	}
}

/* What O_DIRECT can do without help: dd has none for all the rest. */
static bool
fits_direct(const struct line *l, const struct end *e)
{
	uint64_t at = start_of(l, e), length = length_of(l);

	if (e->what == PLAIN && e->memory)
		return false;
	if ((e->flag & APPEND) != 0 && l->old > 0)
		at = (uint64_t)l->old;
	return unit_of(l) % 4096 == 0 && at % 4096 == 0 &&
	    length % 4096 == 0 && source_size(l) % 4096 == 0;
}

/*
 * Zeros that dd leaves out are what was there before, if there was something;
 * pardd writes them.
 */
static bool
fits_sparse(const struct line *l)
{
	return l->dst.what == PLAIN && (l->old <= 0 || l->trunc ||
	    l->dst.way == OPENED) && l->dst.way != APPENDED;
}

/*
 * seek= of less than a block makes dd cut the file off at 0 (9.1), which is not
 * what its manual says: it is cut for dd, then.
 */
bool
dd_miscuts(const struct line *l)
{
	return l->trunc && l->dst.off > 0 && start_of(l, &l->dst) < unit_of(l);
}

static void
dd_words(struct command *c, const struct line *l)
{
	unsigned iflag = l->src.flag, oflag = l->dst.flag, conv = l->conv;

	if (!fits_direct(l, &l->src))
		iflag &= ~(unsigned)DIRECT;
	if (!fits_direct(l, &l->dst))
		oflag &= ~(unsigned)DIRECT;
	/* pardd always reads in full. */
	if (l->src.what == PIPE)
		iflag |= FULLBLOCK;
	if (!fits_sparse(l))
		conv &= ~(unsigned)SPARSE;
	/* To dd that is an error where nothing can be flushed. */
	if (l->dst.what >= PIPE)
		conv &= ~(unsigned)(FSYNC | FDATASYNC);
	/* pardd does not truncate unless told so. */
	if (!l->trunc || dd_miscuts(l))
		conv |= NOTRUNC;
	add_words(c, "iflag", flags, iflag,
	    l->src.unit == BYTES && l->src.off > 0 ? ",skip_bytes" : "",
	    l->unit == BYTES && l->count >= 0 ? ",count_bytes" : "");
	add_words(c, "oflag", flags, oflag,
	    l->dst.unit == BYTES && l->dst.off > 0 ? ",seek_bytes" : "", "");
	add_words(c, "conv", convs, conv, "", "");
	/* dd does not ask disks for their blocks. */
	if (l->bs == 0 && unit_of(l) != 512)
		add(c, "bs=%" PRIu64, unit_of(l));
}

static void
pardd_words(struct command *c, const struct line *l)
{
	add_words(c, "iflag", flags, l->src.flag,
	    l->src.unit == BYTES && l->src.off > 0 ? ",skip_bytes" : "",
	    l->unit == BYTES && l->count >= 0 ? ",count_bytes" : "");
	add_words(c, "oflag", flags, l->dst.flag,
	    l->dst.unit == BYTES && l->dst.off > 0 ? ",seek_bytes" : "",
	    l->trunc ? ",trunc" : "");
	add_words(c, "conv", convs, l->conv, "", "");
	if (l->thr > 0)
		add(c, "thr=%u", l->thr);
	if (l->bpt > 0)
		add(c, "bpt=%u", l->bpt);
	if (l->unsynced)
		add(c, "sync=0");
	/* io_uring is not seen by the given.shim. */
	if (l->async || l->nbad > 0)
		add(c, "engine=%s", l->async ? "async" : "threads");
}

void
command_make(struct command *c, const struct line *l, enum who who)
{
	c->n = c->used = 0;
	add(c, "%s", who == DD ? "dd" : given.pardd);
	if (l->src.way == LINKED)
		add(c, "if=src.link");
	else if (l->src.way == NAMED)
		add(c, "if=%s", source_name(l));
	if (l->dst.way == LINKED)
		add(c, "of=%s.link", who == DD ? "dd" : "pardd");
	else if (l->dst.way == NAMED)
		add(c, "of=%s", target_name(l, who));
	else if (who == PARDD && l->src.way >= OPENED)
		add(c, "of=-");		/* dd needs neither name */
	if (l->bs > 0 && l->apart) {
		add(c, "ibs=%" PRIu64, l->bs);
		add(c, "obs=%" PRIu64, l->bs);
	} else if (l->bs > 0) {
		add(c, "bs=%" PRIu64, l->bs);
	}
	if (l->src.off > 0)
		add(c, "skip=%" PRIu64 "%s", l->src.off,
		    l->src.unit == SUFFIX ? "B" : "");
	if (l->dst.off > 0)
		add(c, "seek=%" PRIu64 "%s", l->dst.off,
		    l->dst.unit == SUFFIX ? "B" : "");
	if (l->count >= 0)
		add(c, "count=%" PRId64 "%s", l->count,
		    l->unit == SUFFIX ? "B" : "");
	if (l->status != NULL)
		add(c, "status=%s", l->status);
	if (who == DD)
		dd_words(c, l);
	else
		pardd_words(c, l);
}
