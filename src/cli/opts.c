/*
 * The parser of the command line, driven by the table of operands.
 * Whether operands contradict each other is decided by the command line alone:
 * nothing has been opened yet; the rules are in conflicts.def.
 */
#include "cli/opts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/algorithm.h"
#include "base/ioprio.h"
#include "base/number.h"
#include "base/status.h"
#include "hint.h"

enum kind {			/* the type of the member: */
	NAME_ROW,		/* const char * */
	NUMBER_ROW,		/* int64_t */
	WORDS_ROW,		/* unsigned, a bit for each word */
};

struct row {
	char		 name[16];	/* see help.c */
	enum kind	 kind;
	size_t		 field;		/* offset in struct opts */
	int64_t		 absent, least, most;
	char		 unit[16];	/* as --help shows it */
};

/* The member of *o that the row describes. */
static void *
row_member(struct opts *o, const struct row *row)
{
	return (char *)o + row->field;
}

/* --- operands that contradict each other --------------------------------- */

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

int
opts_encode_level(const char *text)
{
	int level = 0;

	if (strcmp(text, "zst") == 0)
		return 3;
	if (strncmp(text, "zst:", 4) != 0 || text[4] == '0')
		return -1;
	for (text += 4; *text >= '0' && *text <= '9' && level < 10; text++)
		level = 10 * level + *text - '0';
	return *text == '\0' && level > 0 && level <= 19 ? level : -1;
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

/*
 * The message for the first rule of conflicts.def that the operands break, or
 * NULL.  The string is constant.
 */
static const char *
opts_conflict(const struct opts *o)
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
	const bool encode = o->encode != NULL;
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

/* --- numbers: "bs=1M" ----------------------------------------------------- */

static bool
row_named(const struct row *row, const char *const name[], size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(row->name, name[i]) == 0)
			return true;
	return false;
}

/* The flag that makes an operand count bytes instead of blocks, or 0. */
static unsigned
bytes_flag(const struct row *row)
{
	if (strcmp(row->name, "skip") == 0)
		return FLAG_SKIP_BYTES;
	if (strcmp(row->name, "seek") == 0)
		return FLAG_SEEK_BYTES;
	return strcmp(row->name, "count") == 0 ? FLAG_COUNT_BYTES : 0;
}

/*
 * Accept a number with a B after it as bytes, as dd does since coreutils 9.1.
 * The B of kB or MiB belongs to the suffix, and that of 0x1B is a digit.
 */
static int
bytes_parse(struct opts *o, const struct row *row, const char *text,
    int64_t *value)
{
	static const char *const bytes[] = { "bs", "ibs", "obs", "mem",
		"minrate", "rate" };
	size_t len = strlen(text);
	unsigned flag = bytes_flag(row);
	int err = number_parse(text, value);
	char *number;

	o->bytes &= ~flag;
	if (err != EINVAL || len == 0 || text[len - 1] != 'B' ||
	    (flag == 0 && !row_named(row, bytes, COUNT(bytes))))
		return err;
	number = strndup(text, len - 1);
	if (number == NULL)
		return ENOMEM;
	err = number_parse(number, value);
	free(number);
	o->bytes |= err == 0 ? flag : 0;
	return err;
}

/* Report a text that is not a number. */
static int
no_number(const struct row *row, const char *arg, const char *text,
    struct fault *f)
{
	char meant[32];

	if (*text == '\0')
		return fault_set(f, STATUS_USAGE, "%s: a number is missing; is "
		    "there a space after %s=?", arg, row->name);
	if (hint_number(text, meant, sizeof(meant)))
		return fault_set(f, STATUS_USAGE, "%s: '%s' is not a number "
		    "here; did you mean %s=%s?", arg, text, row->name, meant);
	return fault_set(f, STATUS_USAGE, "%s: '%s' is not a number", arg,
	    text);
}

/* Report a number outside the range of its operand. */
static int
out_of_range(const struct row *row, const char *arg, int64_t value,
    struct fault *f)
{
	int64_t least = row->least < 0 ? 0 : row->least;
	const char *unit = strcmp(row->unit, "BYTES") == 0 ? " bytes" :
	    strcmp(row->unit, "SECONDS") == 0 ? " seconds" : "";

	if (strcmp(row->name, "rate") == 0 && value > 0)
		return fault_set(f, STATUS_USAGE, "%s: rate= is in bytes a "
		    "second, %lld at least; did you mean rate=%lldM?", arg,
		    (long long)least, (long long)value);
	if (row->most == INT64_MAX)
		return fault_set(f, STATUS_USAGE, "%s: %s= takes %lld%s or "
		    "more", arg, row->name, (long long)least, unit);
	return fault_set(f, STATUS_USAGE, "%s: %s= takes %lld to %lld%s", arg,
	    row->name, (long long)least, (long long)row->most, unit);
}

/*
 * Set the member from the text after the "=" of arg: a number in the range of
 * its row, or words separated by commas.  Returns 0, or -1 with a usage error
 * in *f.
 */
static int
row_number(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f)
{
	int64_t *value = row_member(o, row);
	int64_t least = row->least < 0 ? 0 : row->least, seconds;
	int err;

	if (row->least < 0 && strcmp(text, "-1") == 0) {
		*value = -1;
		return 0;
	}
	if (strcmp(row->unit, "SECONDS") == 0 && hint_seconds(text, &seconds))
		return fault_set(f, STATUS_USAGE, "%s: %s= is in seconds; did "
		    "you mean %s=%lld?", arg, row->name, row->name,
		    (long long)seconds);
	err = bytes_parse(o, row, text, value);
	if (err == ENOMEM)
		return fault_errno(f, err, "%s", arg);
	if (err == EINVAL && text[0] == '-' &&
	    number_parse(text + 1, value) == 0) {
		*value = -1;		/* below every range */
		err = 0;
	}
	if (err == ERANGE)
		return fault_set(f, STATUS_USAGE,
		    "%s: the number is too large", arg);
	if (err != 0)
		return no_number(row, arg, text, f);
	if (strcmp(row->name, "cdbsz") == 0 && *value != 6 && *value != 10 &&
	    *value != 12 && *value != 16)
		return fault_set(f, STATUS_USAGE,
		    "%s: cdbsz= takes 6, 10, 12 or 16", arg);
	if (*value < least || *value > row->most)
		return out_of_range(row, arg, *value, f);
	return 0;
}

/* --- lists of words: "oflag=direct,sync" ---------------------------------- */

enum { WORDS_TOLD = 8 };	/* an operand with more is not listed in full */

static const struct word {
	char		 operand[16], word[16];	/* see help.c */
	unsigned	 bit;
	bool		 refused;
} words[] = {
#define WORD(operand, word, bit, help)	\
	{ #operand "\0", word "\0", bit, false },
#define NOWORD(operand, word)	{ #operand "\0", word "\0", 0, true },
#include "cli/operands.def"
};

static const struct named {	/* a word that takes a name */
	const char	*operand, *word;
	size_t		 field;		/* const char *: offset in struct
					 * opts */
} named[] = {
#define NAMED(operand, word, field, ...) \
	{ #operand, word, offsetof(struct opts, field) },
#include "cli/operands.def"
};

/* The nearest word of an operand, or NULL. */
static const char *
nearest_word(const char *operand, const char *text, size_t len)
{
	struct hint h = { .word = NULL };
	size_t i;

	for (i = 0; i < COUNT(words); i++)
		if (strcmp(words[i].operand, operand) == 0 && !words[i].refused)
			hint_try(&h, text, len, words[i].word);
	return h.word;
}

/* List the words of an operand; false if there are too many. */
static bool
list_words(const char *operand, char *text, size_t room)
{
	size_t i, n = 0, at = 0;

	for (i = 0; i < COUNT(words); i++) {
		if (strcmp(words[i].operand, operand) != 0)
			continue;
		at += (size_t)snprintf(text + at, room - at, "%s%s",
		    n++ > 0 ? ", " : "", words[i].word);
		if (n > WORDS_TOLD || at >= room)
			return false;
	}
	return true;
}

static int
no_word(const char *operand, const char *text, size_t len, const char *arg,
    struct fault *f)
{
	const char *near = nearest_word(operand, text, len);
	char all[80];

	if (len == 0)
		return fault_set(f, STATUS_USAGE, "%s: a word is missing; is "
		    "there a space in it? Write %s=a,b", arg, operand);
	if (near != NULL)
		return fault_set(f, STATUS_USAGE, "%s: %s= has no word '%.*s'; "
		    "did you mean %s?", arg, operand, (int)len, text, near);
	if (list_words(operand, all, sizeof(all)))
		return fault_set(f, STATUS_USAGE, "%s: %s= has no word '%.*s'; "
		    "it takes %s", arg, operand, (int)len, text, all);
	return fault_set(f, STATUS_USAGE, "%s: %s= has no word '%.*s'; --help "
	    "%s lists them", arg, operand, (int)len, text, operand);
}

static int
word_set(unsigned *bits, const char *operand, const char *text, size_t len,
    const char *arg, struct fault *f)
{
	size_t i;

	for (i = 0; i < COUNT(words); i++) {
		if (strcmp(words[i].operand, operand) != 0 ||
		    strlen(words[i].word) != len ||
		    strncmp(words[i].word, text, len) != 0)
			continue;
		if (words[i].refused)
			return fault_set(f, STATUS_USAGE, "%s: not '%s': pardd "
			    "copies blocks as they are", arg, words[i].word);
		*bits |= words[i].bit;
		return 0;
	}
	return no_word(operand, text, len, arg, f);
}

/* A word and its name, which takes the rest of the text, commas included. */
static bool
is_named(const struct row *row, const char *text, const struct named **n)
{
	size_t len = strcspn(text, ":,"), i;

	for (i = 0; text[len] == ':' && i < COUNT(named); i++) {
		*n = &named[i];
		if (strcmp(named[i].operand, row->name) == 0 &&
		    strlen(named[i].word) == len &&
		    strncmp(named[i].word, text, len) == 0)
			return true;
	}
	return false;
}

static int
named_set(struct opts *o, const struct named *n, const char *arg,
    const char *text, struct fault *f)
{
	const char **name = (const char **)(void *)((char *)o + n->field);

	if (*text == '\0')
		return fault_set(f, STATUS_USAGE, "%s: a name is missing "
		    "behind %s:", arg, n->word);
	if (*name != NULL)
		return fault_set(f, STATUS_USAGE, "%s: %s: is given twice",
		    arg, n->word);
	*name = text;
	return 0;
}

/*
 * Set the member from the text after the "=" of arg: a number in the range of
 * its row, or words separated by commas.  Returns 0, or -1 with a usage error
 * in *f.
 */
static int
row_words(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f)
{
	unsigned *bits = row_member(o, row);
	const struct named *n;
	size_t len;

	for (;; text += len + 1) {
		if (is_named(row, text, &n))
			return named_set(o, n, arg, text + strlen(n->word) + 1,
			    f);
		len = strcspn(text, ",");
		if (word_set(bits, row->name, text, len, arg, f) != 0)
			return -1;
		if (text[len] == '\0')
			return 0;
	}
}

const char *
opts_word(const char *operand, unsigned bit)
{
	size_t i;

	for (i = 0; bit != 0 && i < COUNT(words); i++)
		if (words[i].bit == bit &&
		    strcmp(words[i].operand, operand) == 0)
			return words[i].word;
	return NULL;
}

const char *
opts_force_words(unsigned bits, char *text, size_t room)
{
	size_t n = 0;

	text[0] = '\0';
	for (; bits != 0; bits &= bits - 1)
		n += (size_t)snprintf(text + n, room - n, "%s%s",
		    n > 0 ? "," : "", opts_word("force", bits & -bits));
	return text;
}

int
opts_refuse(struct fault *f, unsigned force, const char *fmt, ...)
{
	char text[sizeof(f->text)], over[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fault_set(f, STATUS_REFUSED, "%s (force=%s %s anyway)", text,
	    opts_force_words(force, over, sizeof(over)),
	    force == FORCE_ROOM ? "begins" : "writes");
	f->force = force;
	return -1;
}

enum { MENDS = 2 };		/* default of retries= with verify= */

#define AT(field)	offsetof(struct opts, field)

static const struct row rows[] = {
#define NAME(name, field, arg, help) \
	{ #name "\0", NAME_ROW, AT(field), 0, 0, 0, arg "\0" },
#define NUMBER(name, field, absent, least, most, unit, help) \
	{ #name "\0", NUMBER_ROW, AT(field), absent, least, most, unit "\0" },
#define WORDS(name, field, ...) \
	{ #name "\0", WORDS_ROW, AT(field), 0, 0, 0, "" },
#include "cli/operands.def"
};

static const struct alias {
	const char	*name, *of;
} aliases[] = {
#define ALIAS(name, of, arg)	{ #name, #of },
#include "cli/operands.def"
};

static const struct option {
	char		 letter;
	const char	*name;
	enum mode	 mode;
} options[] = {
#define OPTION(letter, name, mode, help)	{ letter, name, mode },
#include "cli/operands.def"
};

static const struct row *
row_find(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < COUNT(aliases); i++)
		if (strlen(aliases[i].name) == len &&
		    strncmp(aliases[i].name, name, len) == 0)
			return row_find(aliases[i].of, strlen(aliases[i].of));
	for (i = 0; i < COUNT(rows); i++)
		if (strlen(rows[i].name) == len &&
		    strncmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

bool
opts_no_file(const char *word)
{
	const struct row *row = row_find(word, strcspn(word, "="));

	return row != NULL && strncmp(row->unit, "FILE", 4) != 0 &&
	    strcmp(row->unit, "PATH") != 0;
}

/* note= may be repeated. */
static int
note_add(struct opts *o, const char *text, struct fault *f)
{
	if (o->notes == NOTES_MOST)
		return fault_set(f, STATUS_USAGE, "note=%s: note= is "
		    "given more than %d times", text, NOTES_MOST);
	o->note_text[o->notes++] = o->note = text;
	return 0;
}

/*
 * Find the list of an operand that may be repeated, once for each target.
 * Returns false for all others.
 */
static bool
opts_list_wanted(struct opts *o, const struct row *row, const char ***list,
    unsigned **n)
{
	bool serial = strcmp(row->name, "oserial") == 0;

	*list = serial ? o->serial : o->target;
	*n = serial ? &o->oserials : &o->targets;
	return serial || strcmp(row->name, "of") == 0;
}

static int
name_set(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f)
{
	const char **name = row_member(o, row), **list;
	unsigned *n;
	bool many = opts_list_wanted(o, row, &list, &n);

	if (*text != '\0' && name == &o->note)
		return note_add(o, text, f);
	if (*name != NULL && !many)
		return fault_set(f, STATUS_USAGE, "%s: %s= is given twice",
		    arg, row->name);
	if (*text == '\0')
		return fault_set(f, STATUS_USAGE, "%s: a name is missing; is "
		    "there a space after %s=?", arg, row->name);
	if (many && *n == TARGETS_MOST)
		return fault_set(f, STATUS_USAGE, "%s: %s= is given more than "
		    "%d times", arg, row->name, TARGETS_MOST);
	if (many)
		list[(*n)++] = text;
	if (*name == NULL)
		*name = text;
	return 0;
}

/*
 * The operand meant by a name that other programs use, or by a typo; or NULL.
 */
static const char *
nearest_operand(const char *text, size_t len)
{
	static const struct alias others[] = { { "blocksize", "bs" },
		{ "in", "if" }, { "input", "if" }, { "source", "if" },
		{ "out", "of" }, { "output", "of" }, { "retry", "retries" },
		{ "target", "of" }, { "threads", "thr" },
		{ "verb", "verbose" }, { "cbs", NULL } };
	struct hint h = { .word = NULL };
	size_t i;

	for (i = 0; i < COUNT(others); i++)
		if (strlen(others[i].name) == len &&
		    strncmp(others[i].name, text, len) == 0)
			return others[i].of;
	for (i = 0; i < COUNT(rows); i++)
		hint_try(&h, text, len, rows[i].name);
	return h.word;
}

static int
no_operand(const char *arg, size_t len, struct fault *f)
{
	const char *near = nearest_operand(arg, len);

	if (near != NULL)
		return fault_set(f, STATUS_USAGE, "%s: no operand '%.*s='; did "
		    "you mean %s=?", arg, (int)len, arg, near);
	return fault_set(f, STATUS_USAGE, "%s: no operand '%.*s='; --help all "
	    "lists them", arg, (int)len, arg);
}

/* What an operand without a value is meant to have: verify=1, count=... */
static const char *
row_usual(const struct row *row)
{
	struct opts o = { .verify = 0 };
	struct fault f;

	return row->kind == NUMBER_ROW ? row->most <= 9 ? "1" : "..." :
	    row->kind == WORDS_ROW && row_words(&o, row, "", "1", &f) == 0 ?
	    "1" : "...";
}

/* Whether the disks are to be listed: by an option anywhere on the line. */
static bool
opts_lists(const struct opts *o)
{
	int i;

	for (i = 1; i < o->argc && strcmp(o->argv[i], "--") != 0; i++)
		if (strcmp(o->argv[i], "-l") == 0 ||
		    strcmp(o->argv[i], "--list") == 0)
			return true;
	return o->mode == MODE_LIST;
}

static int
opts_operand(struct opts *o, const char *arg, struct fault *f)
{
	size_t len = strcspn(arg, "=");
	const struct row *row = row_find(arg, len);
	const char *text = arg + len + 1;

	if (arg[len] == '\0' && opts_lists(o))
		return 0;		/* list_print takes it for a disk */
	if (arg[len] == '\0')
		return row == NULL ? fault_set(f, STATUS_USAGE, "'%s' is not "
		    "an operand: operands are name=value, see --help", arg) :
		    fault_set(f, STATUS_USAGE, "'%s' is not an operand: write "
		    "%s=%s, without a space", arg, arg, row_usual(row));
	if (row == NULL)
		return no_operand(arg, len, f);
	switch (row->kind) {
	case NAME_ROW:
		return name_set(o, row, arg, text, f);
	case WORDS_ROW:
		return row_words(o, row, arg, text, f);
	case NUMBER_ROW:
		return row_number(o, row, arg, text, f);
	}
	return 0;
}

static void
opts_set_mode(struct opts *o, enum mode mode)
{
	if (mode == MODE_VERBOSE)
		o->verbose++;
	else if (mode == MODE_ASK)
		o->ask = true;
	else if (mode == MODE_JSON)
		o->as_json = true;
	else if (o->mode == MODE_COPY || o->mode == MODE_DRY_RUN)
		o->mode = mode;
}

/* Our equivalent of an option letter of other programs. */
static const char *
like_letter(char c)
{
	static const struct {
		char		 letter;
		const char	*here;
	} likes[] = { { 'f', "force=WORD" }, { 'i', "if=FILE" },
		{ 'n', "-d, or rescue=noscrape" }, { 'o', "of=FILE" },
		{ 'p', "status=progress" }, { 'r', "retries=N" } };
	size_t i;

	for (i = 0; i < COUNT(likes); i++)
		if (likes[i].letter == c)
			return likes[i].here;
	return NULL;
}

/* Several options in one word: -dvv. */
static int
opts_letters(struct opts *o, const char *arg, struct fault *f)
{
	const char *c, *like;
	size_t i;

	for (c = arg + 1; *c != '\0'; c++) {
		for (i = 0; i < COUNT(options); i++)
			if (options[i].letter == *c)
				break;
		like = like_letter(*c);
		if (i == COUNT(options) && like != NULL)
			return fault_set(f, STATUS_USAGE, "%s: no option -%c; "
			    "do you mean %s?", arg, *c, like);
		if (i == COUNT(options))
			return fault_set(f, STATUS_USAGE, "%s: no option -%c; "
			    "--help options lists them", arg, *c);
		opts_set_mode(o, options[i].mode);
	}
	return 0;
}

/* Report an operand with dashes before it, or a misspelt option. */
static int
no_option(const char *arg, struct fault *f)
{
	const char *name = arg + 2;
	size_t len = strcspn(name, "="), i;
	const struct row *row = row_find(name, len);
	struct hint h = { .word = NULL };

	if (row != NULL)
		return fault_set(f, STATUS_USAGE, "%s: no such option; write "
		    "%s%s%s", arg, name, name[len] == '\0' ? "=" : "",
		    name[len] == '\0' ? row_usual(row) : "");
	for (i = 0; i < COUNT(options); i++)
		hint_try(&h, name, strlen(name), options[i].name);
	if (h.word != NULL)
		return fault_set(f, STATUS_USAGE,
		    "%s: no such option; did you mean --%s?", arg, h.word);
	return fault_set(f, STATUS_USAGE,
	    "%s: no such option; --help options lists them", arg);
}

static int
opts_option(struct opts *o, const char *arg, struct fault *f)
{
	static const char completion[] = "completion";
	size_t n = sizeof(completion) - 1, i;

	if (arg[1] != '-')
		return opts_letters(o, arg, f);
	for (i = 0; i < COUNT(options); i++)
		if (strcmp(arg + 2, options[i].name) == 0) {
			opts_set_mode(o, options[i].mode);
			return 0;
		}
	if (strncmp(arg + 2, completion, n) != 0 ||
	    (arg[2 + n] != '=' && arg[2 + n] != '\0'))
		return no_option(arg, f);
	opts_set_mode(o, MODE_COMPLETION);
	o->shell = arg + 2 + n + (arg[2 + n] == '=');
	return 0;
}

static void
opts_defaults(struct opts *o, int argc, char *const argv[])
{
	int64_t *value;
	size_t i;

	*o = (struct opts){ .argc = argc, .argv = argv, .mode = MODE_COPY };
	for (i = 0; i < COUNT(rows); i++)
		if (rows[i].kind == NUMBER_ROW) {
			value = row_member(o, &rows[i]);
			*value = rows[i].absent;
		}
}

/* Reduce synonyms to one form. */
static void
opts_unify(struct opts *o)
{
	if ((o->conv & CONV_NOERROR) != 0 || (o->iflag & FLAG_COE) != 0)
		o->coe = 1;
	o->iflag |= o->bytes & (FLAG_SKIP_BYTES | FLAG_COUNT_BYTES);
	o->oflag |= o->bytes & FLAG_SEEK_BYTES;
	if ((o->conv & CONV_EXCL) != 0)
		o->oflag |= FLAG_EXCL;
	if ((o->conv & CONV_NOCREAT) != 0)
		o->oflag |= FLAG_NOCREAT;
	if ((o->conv & CONV_SPARSE) != 0)
		o->oflag |= FLAG_SPARSE;
	if (o->dio != 0) {
		o->iflag |= FLAG_DIO;
		o->oflag |= FLAG_DIO;
	}
	o->oflag |= (o->fua & 1) != 0 ? FLAG_FUA : 0;
	o->iflag |= (o->fua & 2) != 0 ? FLAG_FUA : 0;
	o->skips = o->skip >= 0;
	if (!o->skips)
		o->skip = 0;
	o->samples = o->verify == 0 && o->bpt < 0;
	o->verify &= ~(unsigned)VERIFY_NULL;
	o->mends = o->retries < 0 ? MENDS : o->retries;
	if (o->retries < 0)
		o->retries = 0;
	if (o->bs < 0)
		o->bs = o->ibs > 0 && o->ibs == o->obs ? o->ibs : -1;
}

/* Whether a word asks for help on the next one, which is no operand. */
static bool
opts_subject(struct opts *o, const char *arg, const char *next)
{
	if ((strcmp(arg, "-h") != 0 && strcmp(arg, "--help") != 0) ||
	    next == NULL || next[0] == '-' || strchr(next, '=') != NULL)
		return false;
	opts_set_mode(o, MODE_HELP);
	o->subject = next;
	return true;
}

/* Read all words even after an error, because json= may follow. */
static int
read_words(struct opts *o, struct fault *f)
{
	struct fault later;
	bool bad = false, ended = false;
	int i;

	for (i = 1; i < o->argc; i++) {
		const char *arg = o->argv[i];
		int failed;

		if (!ended && strcmp(arg, "--") == 0) {
			ended = true;
			continue;
		}
		if (!ended && opts_subject(o, arg, i + 1 < o->argc ?
		    o->argv[i + 1] : NULL)) {
			i++;
			continue;
		}
		failed = !ended && arg[0] == '-' && arg[1] != '\0' ?
		    opts_option(o, arg, bad ? &later : f) :
		    opts_operand(o, arg, bad ? &later : f);
		bad = bad || failed != 0;
	}
	/* These two answer even if the rest is wrong. */
	return bad && o->mode != MODE_HELP && o->mode != MODE_VERSION ? -1 : 0;
}

/* Suggest the equivalent of a line written for another copier. */
static int
other_form(const struct opts *o, struct fault *f)
{
	char *line = hint_line(o->argc, o->argv);

	if (line != NULL)
		fault_set(f, STATUS_USAGE, "operands are name=value here; "
		    "write: %s", line);
	free(line);
	return -1;
}

/*
 * Check the value of expect=, and add its algorithm to *bits.  NULL is valid,
 * and adds nothing.
 */
static int
opts_expect(const char *expect, unsigned *bits, struct fault *f)
{
	const struct algorithm *a;
	size_t len, digits;

	if (expect == NULL)
		return 0;
	len = strcspn(expect, ":");
	a = algorithm_expected(expect);
	if (expect[len] == '\0' || a == NULL)
		return fault_set(f, STATUS_USAGE, "expect=%s: it takes "
		    "ALG:HEX, with an algorithm of hash=, or @FILE", expect);
	digits = strspn(expect + len + 1, "0123456789abcdefABCDEF");
	if (digits != 2 * a->size || expect[len + 1 + digits] != '\0')
		return fault_set(f, STATUS_USAGE, "expect=%s: a digest of %s "
		    "has %zu hexadecimal digits", expect, a->name, 2 * a->size);
	*bits |= a->bit;
	return 0;
}

/*
 * Fail if somebody has a lease on a file that the run reads.  The ends, json=
 * and log= are looked at when they are opened.
 */
static int
opts_leased(const struct opts *o, struct fault *f)
{
	const char *const files[] = { o->map, o->domain, o->base, o->bmap,
		o->report, o->expect != NULL && o->expect[0] == '@' ?
		    o->expect + 1 : NULL };
	struct stat st;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (files[i] == NULL || stat(files[i], &st) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		fd = open(files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && errno == EAGAIN)
			return fault_leased(f, files[i]);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

bool
opts_samples(const struct opts *o)
{
	struct opts with = *o;

	with.verify = VERIFY_SAMPLE;
	return opts_conflict(&with) == NULL;
}

int
opts_parse(struct opts *o, int argc, char *const argv[], struct fault *f)
{
	const char *wrong;

	opts_defaults(o, argc, argv);
	if (read_words(o, f) != 0)
		return other_form(o, f);
	if (o->mode != MODE_COPY && o->mode != MODE_DRY_RUN)
		return 0;
	opts_unify(o);
	wrong = opts_conflict(o);
	if (wrong != NULL)
		return fault_set(f, STATUS_USAGE, "%s", wrong);
	o->looks = o->usedmap != NULL && o->output == NULL && o->check == 0;
	if (o->check != 0 || o->looks)
		o->output = ".";
	return opts_leased(o, f) != 0 || sums_expect(o, f) != 0 ? -1 :
	    opts_expect(o->expect, &o->hash, f);
}
