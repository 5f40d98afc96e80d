/*
 * What operands say against each other: decided by the command line alone,
 * before anything is opened.  What needs the ends to be known is safety.c.
 */
#include "conflicts.h"

#include <stdbool.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/ioprio.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

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
both(unsigned bits, unsigned a, unsigned b)
{
	return (bits & a) != 0 && (bits & b) != 0;
}

static bool
several(unsigned bits)
{
	return (bits & (bits - 1)) != 0;
}

/* What only a rescue does, and is given. */
static const char *
rescue_only(const struct opts *o)
{
	return o->rescue != 0 ? "rescue= needs map=" :
	    o->domain != NULL ? "domain= needs map=" :
	    o->fill != NULL ? "fill= needs map=" :
	    o->maxerrors >= 0 ? "maxerrors= needs map=" :
	    o->maxtime >= 0 ? "maxtime= needs map=" :
	    o->minrate > 0 ? "minrate= needs map=" :
	    o->wait >= 0 ? "wait= needs map=" : NULL;
}

/* Of what a rescue cannot do. */
static const char *
contradiction_rescue(const struct opts *o)
{
	const bool rescues = o->map != NULL && o->compare == 0;

	if (!rescues && rescue_only(o) != NULL)
		return rescue_only(o);
	if (o->ongone != NULL && o->wait < 0)
		return "ongone= needs wait=";
	if (o->domaintypes != NULL && o->domain == NULL)
		return "domaintypes= needs domain=";
	if (rescues && ((o->oflag & (FLAG_APPEND | FLAG_TRUNC |
	    FLAG_SPARSE | FLAG_TRIM)) != 0 || o->sync == 0))
		return "map= goes with none of append, trunc, sparse, trim, "
		    "sync=0";
	return NULL;
}

/* Of a bmap, which says what is copied, and in which order it is tested. */
static const char *
contradiction_bmap(const struct opts *o)
{
	if (o->bmap == NULL)
		return (o->oflag & FLAG_NOZERO) == 0 ? NULL :
		    "oflag=nozero needs bmap=";
	if (o->map != NULL || o->hash != 0 || o->expect != NULL ||
	    o->manifest != NULL || o->base != NULL || o->compare != 0 ||
	    o->used != 0 || o->usedmap != NULL)
		return "bmap= goes with none of map=, hash=, expect=, "
		    "manifest=, base=, compare=, used=, usedmap=";
	if (o->skip > 0 || o->count >= 0 || o->ipart > 0 || o->coe != 0 ||
	    (o->conv & CONV_PAD) != 0)
		return "bmap= is of a whole image: it goes with none of skip=, "
		    "count=, ipart=, coe=1, conv=sync";
	if ((o->oflag & (FLAG_APPEND | FLAG_NOSPARSE)) != 0 ||
	    (o->reflink & REFLINK_ALWAYS) != 0)
		return "bmap= goes with none of oflag=append, nosparse, "
		    "reflink=always";
	return NULL;
}

/* Of what leaves something out. */
static const char *
contradiction_used(const struct opts *o)
{
	if (o->usedmap != NULL && o->output == NULL && (o->map != NULL ||
	    o->hash != 0 || o->verify != 0 || o->manifest != NULL ||
	    o->used != 0))
		return "usedmap= without of= copies nothing: it goes with none "
		    "of used=, map=, hash=, verify=, manifest=";
	if (o->used == 0)
		return NULL;
	if (o->targets > 1)
		return "used= goes with one target: what is left out differs "
		    "by what a target is";
	if (several(o->used))
		return "used= takes one word";
	if (o->used != USED_ONLY && (o->map == NULL || o->compare != 0))
		return "used=first and used=meta need map=: they are an order "
		    "of reading";
	if (o->check != 0 || o->base != NULL || (o->manifest != NULL &&
	    !opts_bmap(o)))
		return "used= goes with none of manifest=, check=1, base=: "
		    "their ranges are of all bytes; manifest=FILE.bmap has "
		    "what is used";
	if ((o->oflag & (FLAG_APPEND | FLAG_NOSPARSE)) != 0 ||
	    (o->reflink & REFLINK_ALWAYS) != 0)
		return "used= leaves bytes out: it goes with none of "
		    "oflag=append, nosparse, reflink=always";
	return NULL;
}

/* Of how it is to be done. */
static const char *
contradiction_manner(const struct opts *o)
{
	if (several(o->engine))
		return "engine= takes one word";
	if (o->qd > 0 && (o->engine & ENGINE_THREADS) != 0)
		return "qd= is for engine=async; engine=threads has thr=";
	if (both(o->oflag, FLAG_NOSPARSE, FLAG_SPARSE | FLAG_TRIM))
		return "oflag=nosparse goes with neither sparse nor trim";
	if (several(o->reflink))
		return "reflink= takes one word";
	if ((o->reflink & REFLINK_ALWAYS) != 0 && ((o->oflag & (FLAG_SPARSE |
	    FLAG_TRIM | FLAG_NOSPARSE)) != 0 || o->map != NULL))
		return "reflink=always goes with none of sparse, trim, "
		    "nosparse, map=: they ask for a copy";
	if ((o->reflink & REFLINK_ALWAYS) != 0 && (o->verify != 0 ||
	    o->compare != 0 || (o->oflag & FLAG_SPARING) != 0))
		return "reflink=always goes with none of verify=, compare=1, "
		    "sparing: what is shared is the same";
	if (several(o->status))
		return "status= takes one word";
	return NULL;
}

/* Of what reads the target. */
static const char *
contradiction_reading(const struct opts *o)
{
	const unsigned changes = FLAG_APPEND | FLAG_TRUNC | FLAG_SPARSE |
	    FLAG_TRIM | FLAG_NOSPARSE | FLAG_SPARING;

	if (several(o->verify))
		return "verify= takes one word";
	if (o->verify != 0 && o->map != NULL)
		return "verify= and map= exclude each other: what earlier runs "
		    "wrote has no digests; compare=1 proves it afterwards";
	if (o->verify != 0 && (o->sync == 0 || (o->oflag & FLAG_APPEND) != 0))
		return "verify= goes with neither sync=0 nor oflag=append";
	if ((o->oflag & FLAG_SPARING) != 0 && (o->map != NULL || (o->oflag &
	    (FLAG_APPEND | FLAG_TRUNC | FLAG_SPARSE | FLAG_TRIM)) != 0))
		return "oflag=sparing goes with none of append, trunc, sparse, "
		    "trim, map=";
	if (o->compare == 0)
		return NULL;
	if (o->hash != 0 || o->expect != NULL)
		return "compare=1 goes with neither hash= nor expect=";
	if (o->verify != 0 || (o->oflag & changes) != 0 || o->conv != 0)
		return "compare=1 writes nothing: it goes with none of "
		    "verify=, conv=, oflag=append, trunc, sparse, trim, "
		    "sparing";
	if (o->output == NULL || strcmp(o->output, "-") == 0 ||
	    strcmp(o->output, ".") == 0)
		return "compare=1 reads of=: name a file or a device";
	if ((o->iflag & FLAG_RANDOM) != 0)
		return "compare=1 and iflag=random exclude each other";
	return NULL;
}

/* Of what is for one target. */
static const char *
contradiction_targets(const struct opts *o)
{
	if (o->oserials > 1 && o->oserials != o->targets)
		return "oserial= is given once for each of=, in that order, or "
		    "not at all";
	if (o->targets < 2)
		return NULL;
	if (o->oserials == 1)
		return "with several of= each has an oserial=, in that order, "
		    "or none has";
	if (o->compare != 0)
		return "compare=1 holds two ends against each other: it goes "
		    "with one of=";
	if (o->map != NULL)
		return "map= is of one target, it goes with one of=: rescue to "
		    "that, and copy it to the others";
	if (o->base != NULL)
		return "base= says what one target holds: it goes with one "
		    "of=";
	if (o->used != 0 || o->usedmap != NULL)
		return "used= goes with one of=: what is left out is another "
		    "part of each target";
	if ((o->oflag & FLAG_SPARING) != 0)
		return "oflag=sparing writes what one target lacks: it goes "
		    "with one of=";
	if ((o->reflink & REFLINK_ALWAYS) != 0)
		return "reflink=always shares blocks with one target: it goes "
		    "with one of=";
	return NULL;
}

/* Some of the statuses that a map has, each once. */
static bool
are_types(const char *text)
{
	const char *c;

	for (c = text; *c != '\0'; c++)
		if (strchr("?*/-+", *c) == NULL || strchr(c + 1, *c) != NULL)
			return false;
	return true;
}

static bool
is_dash(const char *name)
{
	return name != NULL && strcmp(name, "-") == 0;
}

static bool
known_profile(const char *path)
{
	return ends_in(path, ".csv") || ends_in(path, ".json") ||
	    ends_in(path, ".svg");
}

/* Names that are not any text. */
static const char *
misspelt(const struct opts *o)
{
	if (o->domaintypes != NULL && !are_types(o->domaintypes))
		return "domaintypes= takes some of ? * / - +, each once and "
		    "nothing between, as in domaintypes='?*/-'";
	if (o->ioprio != NULL && ioprio_parse(o->ioprio) < 0)
		return "ioprio= takes idle, be:0 to be:7, or rt:0 to rt:7";
	if (is_dash(o->map) || is_dash(o->domain) || is_dash(o->hashfile) ||
	    is_dash(o->usedmap) || is_dash(o->bmap) ||
	    is_dash(o->manifest) || is_dash(o->base) || is_dash(o->control) ||
	    is_dash(o->log))
		return "- is standard input or output for if=, of= and json= "
		    "only; for a file of that name write ./-";
	if (o->report != NULL && !ends_in(o->report, ".html") &&
	    !ends_in(o->report, ".svg"))
		return "report= takes a name that ends in .html or .svg";
	if (o->note != NULL && o->report == NULL)
		return "note= is a line for report=FILE.html";
	if (o->profile != NULL && !known_profile(o->profile))
		return "profile= takes a name that ends in .csv, .json or "
		    ".svg";
	return NULL;
}

/* Of a copy of what has changed. */
static const char *
contradiction_changed(const struct opts *o)
{
	if (!opts_changed(o))
		return NULL;
	if (o->bitmap != NULL && o->since != NULL)
		return "iflag= takes one of bitmap: and since:";
	if (o->base == NULL)
		return "iflag=bitmap: or since: goes with base=, the manifest "
		    "of the older copy that the target is";
	if (o->hash != 0 || o->expect != NULL)
		return "iflag=bitmap: or since: reads what has changed, and "
		    "hash= and expect= need all of it";
	return NULL;
}

/* Of a file of digests of ranges. */
static const char *
contradiction_manifest(const struct opts *o)
{
	if (several(o->manifesthash))
		return "manifesthash= takes one word";
	if (o->manifesthash != 0 && (o->manifest == NULL || o->check != 0))
		return "manifesthash= is for a manifest= that is written: one "
		    "that is read says itself what it has";
	if (o->check != 0 && o->manifest != NULL &&
	    ends_in(o->manifest, ".bmap"))
		return "check=1 is for a manifest; an image is held against a "
		    "block map by bmap=FILE of=.";
	if (!opts_bmap(o))
		return NULL;
	if (o->seek > 0 || (o->oflag & FLAG_APPEND) != 0 || o->coe != 0)
		return "manifest=FILE.bmap is of a whole image: it goes with "
		    "none of seek=, oflag=append, coe=1";
	if (o->base != NULL)
		return "manifest=FILE.bmap and base= exclude each other: a "
		    "block map has SHA-256 of what is read";
	if ((o->manifesthash & HASH_XXH128) != 0)
		return "manifesthash=xxh128 is not for a block map: bmaptool "
		    "knows sha256";
	return NULL;
}

/* Of the operands for digests. */
static const char *
contradiction_digests(const struct opts *o)
{
	if (o->map != NULL && (o->hash != 0 || o->expect != NULL))
		return "hash= and expect= need the bytes in order, and map= "
		    "reads them in another";
	if (o->map != NULL && (o->manifest != NULL || o->base != NULL))
		return "manifest= and base= go by ranges, and map= reads "
		    "others";
	if (o->compare != 0 && (o->manifest != NULL || o->base != NULL))
		return "compare=1 copies nothing: it goes with neither "
		    "manifest= nor base=";
	if (o->check != 0 && o->verify != 0)
		return "check=1 writes nothing: there is nothing to verify";
	if (o->check != 0 && (o->manifest == NULL || o->output != NULL ||
	    o->base != NULL || o->count >= 0 || o->seek > 0))
		return "check=1 needs manifest=, and goes with none of of=, "
		    "seek=, count=, base=";
	if (o->base != NULL && (o->oflag & (FLAG_APPEND | FLAG_TRUNC |
	    FLAG_EXCL)) != 0)
		return "base= says what the target holds: it goes with none of "
		    "append, trunc, excl";
	if ((o->reflink & REFLINK_ALWAYS) != 0 && (o->hash != 0 ||
	    o->expect != NULL || o->manifest != NULL || o->base != NULL))
		return "reflink=always reads nothing, and digests need all of "
		    "it";
	if (o->hashfile != NULL && o->hash == 0 && o->expect == NULL)
		return "hashfile= goes with hash= or expect=";
	return NULL;
}

static const char *
contradiction(const struct opts *o)
{
	const unsigned made = FLAG_ZEROS | FLAG_RANDOM;

	if (o->input == NULL && o->output == NULL && (o->iflag & made) == 0)
		return "neither if= nor of= is given; try --help";
	if (o->input != NULL && (o->iflag & made) != 0)
		return "if= and a generated source (iflag=00, random) exclude "
		    "each other";
	if (o->as_json)
		return "--json goes with --list; json= is for a copy";
	if (both(o->iflag, FLAG_ZEROS, FLAG_RANDOM))
		return "iflag=00 and iflag=random exclude each other";
	if (o->bs > 0 && !opts_one_block(o, (uint64_t)o->bs))
		return "ibs= and obs= must be equal to bs=";
	if (both(o->iflag, FLAG_DIRECT, FLAG_CACHED | FLAG_NOCACHE) ||
	    both(o->iflag, FLAG_CACHED, FLAG_NOCACHE))
		return "iflag= takes one of direct, cached and nocache";
	if (both(o->oflag, FLAG_DIRECT, FLAG_CACHED | FLAG_NOCACHE) ||
	    both(o->oflag, FLAG_CACHED, FLAG_NOCACHE))
		return "oflag= takes one of direct, cached and nocache";
	if ((o->oflag & FLAG_APPEND) != 0 && o->seek > 0)
		return "oflag=append and seek= exclude each other";
	if (o->opart > 0 && (o->oflag & FLAG_TRUNC) != 0)
		return "oflag=trunc would cut off what lies behind the "
		    "partition of opart=";
	if (both(o->conv, CONV_EXCL, CONV_NOCREAT))
		return "conv=excl and conv=nocreat exclude each other";
	if (both(o->oflag, FLAG_APPEND, FLAG_TRUNC | FLAG_SPARSE | FLAG_TRIM))
		return "oflag=append goes with none of trunc, sparse, trim";
	if ((o->oflag & FLAG_TRUNC) != 0 && (o->conv & CONV_NOTRUNC) != 0)
		return "oflag=trunc and conv=notrunc exclude each other";
	if (o->sync == 0 && (o->conv & CONV_FSYNC) != 0)
		return "sync=0 and conv=fsync, fdatasync exclude each other";
	if (o->cdbsz == 6 && ((o->iflag | o->oflag) & (FLAG_FUA | FLAG_DPO)))
		return "cdbsz=6 has no bits for fua and dpo";
	return NULL;
}

static const char *(*const objections[])(const struct opts *) = {
	contradiction,
	contradiction_rescue,
	contradiction_used,
	contradiction_bmap,
	contradiction_manner,
	contradiction_reading,
	contradiction_digests,
	contradiction_changed,
	contradiction_manifest,
	contradiction_targets,
	misspelt,
};

const char *
conflict(const struct opts *o)
{
	const char *why = NULL;
	size_t i;

	for (i = 0; why == NULL && i < COUNT(objections); i++)
		why = objections[i](o);
	return why;
}
