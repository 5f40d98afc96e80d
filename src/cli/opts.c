/*
 * The parser of the command line, driven by the table of operands.
 */
#include "cli/opts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/status.h"
#include "opts_row.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

enum { MENDS = 2 };		/* default of retries= with verify= */

#define AT(field)	offsetof(struct opts, field)

static const struct row rows[] = {
#define NAME(name, field, arg, help) \
	{ #name, NAME_ROW, AT(field), 0, 0, 0, arg },
#define NUMBER(name, field, absent, least, most, unit, help) \
	{ #name, NUMBER_ROW, AT(field), absent, least, most, unit },
#define WORDS(name, field, ...)	{ #name, WORDS_ROW, AT(field), 0, 0, 0, "" },
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
	unsigned least = HINT_MOST + 1, d;
	const char *best = NULL;
	size_t i;

	for (i = 0; i < COUNT(others); i++)
		if (strlen(others[i].name) == len &&
		    strncmp(others[i].name, text, len) == 0)
			return others[i].of;
	for (i = 0; i < COUNT(rows); i++) {
		d = hint_distance(text, len, rows[i].name);
		if (d < least && hint_near(text, len, rows[i].name, d)) {
			least = d;
			best = rows[i].name;
		}
	}
	return best;
}

static int
no_operand(const char *arg, size_t len, struct fault *f)
{
	const char *near = nearest_operand(arg, len);

	if (near != NULL)
		return fault_set(f, STATUS_USAGE,
		    "%s: no operand '%.*s='; did you mean %s=?", arg, (int)len,
		    arg, near);
	return fault_set(f, STATUS_USAGE,
	    "%s: no operand '%.*s='; --help all lists them", arg, (int)len,
	    arg);
}

static int
opts_operand(struct opts *o, const char *arg, struct fault *f)
{
	size_t len = strcspn(arg, "=");
	const struct row *row = row_find(arg, len);
	const char *text = arg + len + 1;

	if (arg[len] == '\0' && o->mode == MODE_LIST)
		return 0;		/* list_print takes it for a disk */
	if (arg[len] == '\0' && row != NULL)
		return fault_set(f, STATUS_USAGE, "'%s' is not an operand: "
		    "write %s=..., without a space", arg, arg);
	if (arg[len] == '\0')
		return fault_set(f, STATUS_USAGE,
		    "'%s' is not an operand: operands are name=value, see "
		    "--help", arg);
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
	const char *name = arg + 2, *best = NULL;
	size_t len = strcspn(name, "="), i;
	const struct row *row = row_find(name, len);
	unsigned least = HINT_MOST + 1, d;

	if (row != NULL)
		return fault_set(f, STATUS_USAGE, "%s: no such option; write "
		    "%s%s", arg, name, name[len] == '\0' ? "=..." : "");
	for (i = 0; i < COUNT(options); i++) {
		d = hint_distance(name, strlen(name), options[i].name);
		if (d < least && hint_near(name, strlen(name),
		    options[i].name, d)) {
			least = d;
			best = options[i].name;
		}
	}
	if (best != NULL)
		return fault_set(f, STATUS_USAGE,
		    "%s: no such option; did you mean --%s?", arg, best);
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
	wrong = conflict(o);
	if (wrong != NULL)
		return fault_set(f, STATUS_USAGE, "%s", wrong);
	o->looks = o->usedmap != NULL && o->output == NULL && o->check == 0;
	if (o->check != 0 || o->looks)
		o->output = ".";
	return algorithm_expect(o->expect, &o->hash, f);
}
