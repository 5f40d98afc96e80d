/*
 * Operands that contradict each other: a rule needs each of its operands, and
 * holds for none of them alone.
 */
#include "test.h"

#include <bsd/string.h>

#include "cli/opts.h"

enum { WORDS = 16, LINE = 400 };

#define IN	"if=a "
#define OUT	"of=b "
#define ENDS	IN OUT

/*
 * With "these", each of "others" is refused, and so are "these" alone where
 * there are none.  Each of "fine" with them is not, nor is each of "others"
 * without.  Words of one alternative are joined by "&".  The words "always" go
 * with all lines.
 */
static const struct rule {
	const char *why, *always, *these, *others, *fine;
} rules[] = {
	{ "neither if= nor of= is given", "", "thr=1", "", "if=a of=b "
	    "iflag=00 iflag=random" },
	{ "a generated source (iflag=00", OUT, "if=a", "iflag=00 iflag=random",
	    "iflag=direct" },
	{ "--json needs --list", ENDS, "", "--json", "" },
	{ "iflag=00 and iflag=random cannot", OUT, "iflag=00", "iflag=random",
	    "" },
	{ "must be equal to bs=", ENDS, "bs=512", "ibs=1k obs=1k ibs=256&obs=512",
	    "ibs=512 obs=512&ibs=512" },
	{ "iflag= takes one of direct, cached", ENDS, "iflag=direct",
	    "iflag=cached iflag=nocache", "iflag=direct" },
	{ "oflag= takes one of direct, cached", ENDS, "oflag=direct",
	    "oflag=cached oflag=nocache", "oflag=direct" },
	{ "append and seek= cannot be", ENDS, "oflag=append", "seek=1", "seek=0" },
	{ "oflag=trunc would cut off", ENDS, "oflag=trunc", "opart=1", "" },
	{ "conv=excl and conv=nocreat", ENDS, "conv=excl", "conv=nocreat", "" },
	{ "append cannot be combined with trunc", ENDS, "oflag=append",
	    "oflag=trunc oflag=sparse conv=sparse oflag=trim",
	    "conv=notrunc" },
	{ "trunc and conv=notrunc", ENDS, "oflag=trunc", "conv=notrunc", "" },
	{ "sync=0 and conv=fsync", ENDS, "sync=0", "conv=fsync conv=fdatasync",
	    "" },
	{ "cdbsz=6 has no bits", ENDS, "cdbsz=6", "iflag=fua oflag=fua "
	    "iflag=dpo oflag=dpo fua=1", "cdbsz=6 cdbsz=10&oflag=fua" },

	{ "rescue= needs map=", ENDS, "rescue=reverse", "", "map=m" },
	{ "map= of compare=1 cannot", ENDS "map=m", "compare=1",
	    "rescue=reverse domain=d fill=zero maxerrors=0 maxtime=1 minrate=1 "
	    "wait=1 used=first used=meta", "" },
	{ "domain= needs map=", ENDS, "domain=d", "", "map=m" },
	{ "fill= needs map=", ENDS, "fill=zero", "", "map=m" },
	{ "maxerrors= needs map=", ENDS, "maxerrors=0", "", "map=m" },
	{ "maxtime= needs map=", ENDS, "maxtime=1", "", "map=m" },
	{ "minrate= needs map=", ENDS, "minrate=1", "", "map=m" },
	{ "wait= needs map=", ENDS, "wait=1", "", "map=m" },
	{ "wait= and decode= cannot be", ENDS "map=m", "wait=1",
	    "decode=auto decode=xz", "decode=none" },
	{ "ongone= needs wait=", ENDS "map=m", "ongone=true", "", "wait=1" },
	{ "domaintypes= needs domain=", ENDS "map=m", "domaintypes=+", "",
	    "domain=d" },
	{ "map= cannot be combined with append", ENDS, "map=m", "oflag=append "
	    "oflag=trunc oflag=sparse oflag=trim sync=0", "compare=1&sync=0" },

	{ "usedmap= without of= copies", IN, "usedmap=u", "map=m hash=md5 "
	    "verify=1 manifest=m used=only", "of=b&hash=md5 thr=1" },
	{ "used= takes one word", ENDS "map=m", "used=only", "used=first",
	    "thr=1" },
	{ "used=first and used=meta need", ENDS, "used=first", "", "map=m" },
	{ "used=first and used=meta need", ENDS, "used=meta", "", "map=m" },
	{ "used= cannot be combined", ENDS, "used=only", "check=1 "
	    "base=b manifest=m", "manifest=m.bmap" },
	{ "used= leaves bytes out", ENDS, "used=only", "oflag=append "
	    "oflag=nosparse reflink=always", "reflink=never" },

	{ "oflag=nozero needs bmap=", ENDS, "oflag=nozero", "", "bmap=m" },
	{ "bmap= cannot be combined with map=", ENDS, "bmap=m", "map=m hash=md5 "
	    "expect=md5:00 manifest=m base=b compare=1 used=only usedmap=u",
	    "check=0" },
	{ "bmap= describes a whole image", ENDS, "bmap=m", "skip=1 count=1 ipart=1 "
	    "coe=1 conv=sync conv=noerror iflag=coe", "seek=1" },
	{ "bmap= cannot be combined with oflag", ENDS, "bmap=m",
	    "oflag=append oflag=nosparse reflink=always", "" },

	{ "engine= takes one word", ENDS, "engine=async", "engine=threads",
	    "thr=1" },
	{ "qd= is for engine=async", ENDS, "qd=1", "engine=threads",
	    "engine=async" },
	{ "oflag=nosparse cannot be", ENDS, "oflag=nosparse",
	    "oflag=sparse oflag=trim", "" },
	{ "reflink= takes one word", ENDS, "reflink=always",
	    "reflink=never", "reflink=auto" },
	{ "reflink=always cannot be combined with sp", ENDS, "reflink=always",
	    "oflag=sparse oflag=trim oflag=nosparse map=m", "" },
	{ "reflink=always cannot be combined with ve", ENDS, "reflink=always",
	    "verify=1 compare=1 oflag=sparing", "verify=0&thr=1" },
	{ "status= takes one word", ENDS, "status=none", "status=map",
	    "thr=1" },

	{ "verify= takes one word", ENDS, "verify=1", "verify=stream",
	    "thr=1" },
	{ "verify= and map= cannot", ENDS, "verify=1", "map=m", "" },
	{ "verify= cannot be combined with", ENDS, "verify=1",
	    "sync=0 oflag=append", "" },
	{ "oflag=sparing cannot", ENDS, "oflag=sparing", "map=m "
	    "oflag=append oflag=trunc oflag=sparse oflag=trim", "" },
	{ "compare=1 cannot be combined with", ENDS, "compare=1",
	    "hash=md5 expect=md5:00", "" },
	{ "compare=1 writes nothing", ENDS, "compare=1", "verify=1 conv=sync "
	    "oflag=append oflag=trunc oflag=sparse oflag=trim oflag=nosparse "
	    "oflag=sparing", "" },
	{ "compare=1 reads of=", IN "compare=1", "of=.", "", "" },
	{ "compare=1 reads of=", IN "compare=1", "of=-", "", "" },
	{ "compare=1 reads of=", IN, "compare=1", "", "of=b" },
	{ "compare=1 and iflag=random", OUT, "iflag=random", "compare=1", "" },

	{ "hash= and expect= need the bytes in order", ENDS, "map=m",
	    "hash=md5 expect=md5:00", "" },
	{ "manifest= and base= need whole ranges", ENDS, "map=m",
	    "manifest=m base=b", "" },
	{ "compare=1 copies nothing", ENDS, "compare=1", "manifest=m base=b",
	    "" },
	{ "check=1 writes nothing", IN, "check=1&manifest=m", "verify=1", "" },
	{ "check=1 needs manifest=", IN, "check=1", "", "manifest=m" },
	{ "check=1 needs manifest=", IN, "check=1&manifest=m",
	    "of=b base=b count=1 seek=1", "skip=1" },
	{ "base= says what the target holds", ENDS, "base=b", "oflag=append "
	    "oflag=trunc oflag=reset oflag=excl conv=excl", "" },
	{ "reflink=always reads nothing", ENDS, "reflink=always", "hash=md5 "
	    "expect=md5:00 manifest=m base=b", "" },
	{ "hashfile= needs hash=", ENDS, "hashfile=h", "",
	    "hash=md5 expect=md5:00" },

	{ "takes one of bitmap: and since:", ENDS, "iflag=bitmap:x",
	    "iflag=since:y", "" },
	{ "iflag=bitmap: or since: needs base=", ENDS, "iflag=bitmap:x",
	    "", "base=b" },
	{ "iflag=bitmap: or since: needs base=", ENDS, "iflag=since:x",
	    "", "base=b" },
	{ "iflag=bitmap: or since: reads", ENDS "base=b", "iflag=since:x",
	    "hash=md5 expect=md5:00", "" },

	{ "manifesthash= takes one word", ENDS "manifest=m",
	    "manifesthash=sha256", "manifesthash=xxh128", "thr=1" },
	{ "manifesthash= is for a manifest=", ENDS, "manifesthash=sha256", "",
	    "manifest=m" },
	{ "manifesthash= is for a manifest=", IN "check=1 manifest=m",
	    "manifesthash=sha256", "", "" },
	{ "check=1 is for a manifest", IN, "check=1", "manifest=m.bmap",
	    "manifest=.bmap manifest=bmap" },
	{ "manifest=FILE.bmap describes", ENDS, "manifest=m.bmap",
	    "seek=1 oflag=append coe=1", "skip=1" },
	{ "manifest=FILE.bmap and base=", ENDS, "manifest=m.bmap", "base=b",
	    "" },
	{ "manifesthash=xxh128 is not", ENDS, "manifest=m.bmap",
	    "manifesthash=xxh128", "manifesthash=sha256" },

	{ "oserial= is given once for each", ENDS, "oserial=1&oserial=2", "",
	    "of=c" },
	{ "with several of= each has", ENDS, "of=c", "oserial=1",
	    "oserial=1&oserial=2" },
	{ "compare=1 compares two ends", ENDS, "of=c", "compare=1", "" },
	{ "map= is for one target", ENDS, "of=c", "map=m", "" },
	{ "base= says what one target", ENDS, "of=c", "base=b", "" },
	{ "oflag=sparing writes what one", ENDS, "of=c", "oflag=sparing", "" },
	{ "reflink=always shares blocks", ENDS, "of=c", "reflink=always", "" },

	{ "domaintypes= takes some", ENDS "map=m domain=d", "",
	    "domaintypes=x domaintypes=++ domaintypes=+, domaintypes=+-+",
	    "domaintypes=?*/-+ domaintypes=-" },
	{ "ioprio= takes idle", ENDS, "", "ioprio=be ioprio=be:8 ioprio=high",
	    "ioprio=be:7 ioprio=idle" },
	{ "only; for a file of that name write ./-", ENDS, "", "map=- map=m&domain=- "
	    "hash=md5&hashfile=- usedmap=- bmap=- manifest=- base=- control=- "
	    "log=-", "json=- map=./-" },
	{ "report= takes a name", ENDS, "", "report=a report=.html "
	    "report=a.svgz", "report=a.svg report=a.html" },
	{ "note= is a line for", ENDS, "note=x", "", "report=a.html" },
	{ "profile= takes a name", ENDS, "", "profile=a profile=.csv "
	    "profile=a.html", "profile=a.csv profile=a.json profile=a.svg" },
};

/* Whether a line of these parts, with words between, is refused so. */
static bool
refused(const char *why, const char *always, const char *a, const char *b)
{
	char line[LINE] = "", *argv[WORDS] = { "pardd" }, *at = line, *word;
	struct fault f = { 0 };
	struct opts o;
	int argc = 1;

	strlcat(line, always, sizeof(line));
	strlcat(line, " ", sizeof(line));
	strlcat(line, a, sizeof(line));
	strlcat(line, " ", sizeof(line));
	assert_true(strlcat(line, b, sizeof(line)) < sizeof(line));
	while ((word = strsep(&at, " &")) != NULL)
		if (*word != '\0') {
			assert_true(argc < WORDS);
			argv[argc++] = word;
		}
	return opts_parse(&o, argc, argv, &f) != 0 &&
	    f.status == STATUS_USAGE && strstr(f.text, why) != NULL;
}

static void
holds(const struct rule *r)
{
	char all[LINE], *at, *one;

	if ((*r->others == '\0') != refused(r->why, r->always, r->these, ""))
		fail_msg("%s %s: %s", r->always, r->these, r->why);
	strlcpy(all, r->others, sizeof(all));
	for (at = all; (one = strsep(&at, " ")) != NULL; ) {
		if (*one == '\0')
			continue;
		if (!refused(r->why, r->always, r->these, one))
			fail_msg("%s %s %s is not refused: %s", r->always,
			    r->these, one, r->why);
		if (*r->these != '\0' && refused(r->why, r->always, "", one))
			fail_msg("%s %s alone: %s", r->always, one, r->why);
	}
	strlcpy(all, r->fine, sizeof(all));
	for (at = all; (one = strsep(&at, " ")) != NULL; )
		if (refused(r->why, r->always, r->these, one))
			if (*one != '\0')
				fail_msg("%s %s %s: %s", r->always, r->these,
				    one, r->why);
}

CASE(are_for_each_operand)
{
	EACH_OF(i, rules)
		holds(&rules[i]);
}

/* Words for both ends set a flag of each, which is not set without them. */
CASE(are_words_for_both_ends)
{
	char *argv[] = { "pardd", "if=a", "of=b", "dio=1" };
	struct fault f;
	struct opts o;

	assert_int_equal(opts_parse(&o, 4, argv, &f), 0);
	assert_true((o.iflag & o.oflag & FLAG_DIO) != 0);
	argv[3] = "dio=0";
	assert_int_equal(opts_parse(&o, 4, argv, &f), 0);
	assert_true(((o.iflag | o.oflag) & FLAG_DIO) == 0);
	assert_int_equal(opts_parse(&o, 3, argv, &f), 0);
	assert_true(((o.iflag | o.oflag) & FLAG_DIO) == 0);
}
