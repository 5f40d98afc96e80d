/*
 * --help and the completion scripts, generated from the table of operands.
 */
#include "cli/opts.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"

/*
 * A pointer is relocated at each start.  So the tables have the texts
 * themselves, with a NUL that the compiler misses if there is no room for it.
 */
static const struct line {
	char		 name[16], arg[16], help[60];
} lines[] = {
#define NAME(name, field, arg, help)	{ #name "\0", arg "\0", help "\0" },
#define NUMBER(name, field, absent, least, most, arg, help) \
	NAME(name, field, arg, help)
#define ALIAS(name, of, arg)		NAME(name, , arg, "as " #of "=")
#define WORDS(name, field, arg, help)	NAME(name, field, arg, help)
#include "cli/operands.def"
};

static const struct group {
	char		 name[16], title[60];
	char		 first[16];	/* of its operands */
} groups[] = {
#define GROUP(name, title, first)	{ #name "\0", title "\0", #first "\0" },
#include "cli/operands.def"
};

static const struct word {
	char		 operand[16], word[16], help[60];
	char		 name[8];	/* of a value after a colon, or "" */
} words[] = {
#define WORD(operand, word, bit, help)	NAMED(operand, word, bit, "", help)
#define NAMED(operand, word, field, name, help) \
	{ #operand "\0", word "\0", help "\0", name "\0" },
#include "cli/operands.def"
};

static const struct option {
	char		 letter, name[16], help[60];
} options[] = {
#define OPTION(letter, name, mode, help) \
	{ letter, name "\0", help "\0" },
#include "cli/operands.def"
};

static const char states[] =
#define STATUS(name, n, row)	"  " row "\n"
#include "base/statuses.def"
    "\n";

/* What is typed most, and what else may be wanted. */
static const char most_used[] =
    "  pardd -l                                    which disks are there?\n"
    "  pardd if=/dev/sda of=/dev/sdb -d            what would a clone do?\n"
    "  pardd if=/dev/sda of=/dev/sdb               clone; everything on sdb is "
    "lost\n"
    "  pardd if=/dev/sda of=sda.img                make an image, a backup\n"
    "  pardd if=debian.iso of=/dev/sdb verify=1    write an image to a USB "
    "stick\n"
    "  pardd if=/dev/sda of=sda.img map=sda.map    rescue a failing disk\n";
static const char less_used[] =
    "  pardd if=sda.img of=/dev/sda                restore a disk\n"
    "  pardd if=/dev/sda of=/dev/sdb table=fix     clone to a smaller disk\n"
    "  pardd if=/dev/sda ipart=1 of=/dev/sdb opart=2  copy, restore one "
    "partition\n"
    "  pardd if=/dev/sda of=/dev/sdb bs=512 skip=2048 seek=4096 count=8192\n"
    "    (the numbers of fdisk)\n"
    "  pardd if=sda.img.xz decode=auto of=/dev/sdb verify=1  flash a packed "
    "image\n"
    "  pardd if=/dev/sda of=/dev/sdb used=only     only what is used; LVM, "
    "LUKS, RAID\n"
    "  pardd if=/dev/sda of=/dev/sdb map=clone.map  resumes, also after a "
    "power cut\n"
    "  pardd if=/dev/sda of=/dev/sdb oflag=sparing  write only what has "
    "changed\n"
    "  pardd if=/dev/sda of=/dev/sdb compare=1     do they differ?\n"
    "  pardd if=/dev/zero of=/dev/sdb verify=1     wipe, erase a disk\n"
    "  pardd if=/dev/sda | ssh root@host pardd of=/dev/sdb  remote "
    "machine, network\n"
    "  pardd if=/dev/sda of=nbd://127.0.0.1 verify=1  to an NBD export\n";

/* One that lists more words than this has a screen of its own. */
enum { WORDS_SHOWN = 8 };

static void
words_help(FILE *out, const char *operand)
{
	char head[32];
	size_t i;

	for (i = 0; i < COUNT(words); i++) {
		if (strcmp(words[i].operand, operand) != 0)
			continue;
		snprintf(head, sizeof(head), "%s%s%s", words[i].word,
		    words[i].name[0] != '\0' ? ":" : "", words[i].name);
		fprintf(out, "    %-14s  %s\n", head, words[i].help);
	}
}

static unsigned
words_count(const char *operand)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < COUNT(words); i++)
		n += strcmp(words[i].operand, operand) == 0;
	return n;
}

/* Print an operand, and its words unless there are more than "most". */
static void
line_help(FILE *out, const struct line *l, unsigned most)
{
	bool all = words_count(l->name) <= most;
	char head[32];

	snprintf(head, sizeof(head), "%s=%s", l->name, l->arg);
	fprintf(out, all ? "  %-17s %s\n" : "  %-17s %s; --help %s has the "
	    "words\n", head, l->help, l->name);
	if (all)
		words_help(out, l->name);
}

/* Print the operands of a group. */
static void
group_help(FILE *out, size_t group, unsigned most)
{
	const char *first = groups[group].first;
	const char *after = group + 1 < COUNT(groups) ?
	    groups[group + 1].first : "";
	bool inside = false;
	size_t i;

	for (i = 0; i < COUNT(lines); i++) {
		if (strcmp(lines[i].name, after) == 0)
			return;
		inside = inside || strcmp(lines[i].name, first) == 0;
		if (inside)
			line_help(out, &lines[i], most);
	}
}

static void
options_help(FILE *out)
{
	size_t i;

	for (i = 0; i < COUNT(options); i++)
		fprintf(out, "  %.3s --%-11s %s\n", options[i].letter == '\0' ?
		    "   " : (const char []){ '-', options[i].letter, ',' },
		    options[i].name, options[i].help);
	fputs("      --completion=bash|zsh|fish  print completions\n"
	    "\nNumbers: 10 0x1f 1fh, suffixes c w b k kB KiB M G T P E, "
	    "products 2x512k,\nsums 3+1k; count=1000B is bytes, as for skip= "
	    "and seek=.\n", out);
}

static void
first_screen(FILE *out)
{
	size_t i;

	fputs("usage: pardd [option]... if=FILE of=FILE [operand]...\n"
	    "Copy blocks from one end to another, many at a time. Status 0 "
	    "means that every\nbyte is in its place and flushed.\n\n", out);
	group_help(out, 0, WORDS_SHOWN);
	fprintf(out, "\n%s\nMore: pardd --help SUBJECT: an operand, any word "
	    "(wipe), all, options, examples,\nstatus", most_used);
	for (i = 0; i < COUNT(groups); i++)
		fprintf(out, " %s", groups[i].name);
	fputs(".\nThe manual: pardd, pardd-rescue, pardd-ends, pardd-images, "
	    "pardd-json.\n", out);
}

static void
all_help(FILE *out)
{
	size_t i;

	for (i = 0; i < COUNT(groups); i++) {
		fprintf(out, "%s\n", groups[i].title);
		group_help(out, i, UINT_MAX);
		fputc('\n', out);
	}
	options_help(out);
	fprintf(out, "\nExit status\n%s%s%s", states, most_used, less_used);
}

/*
 * Whether "what" stands where a row has its name, or a word of what it says of
 * that begins so.
 */
static bool
row_is_about(const char *row, const char *what)
{
	enum { NAMES = 20 };	/* columns */
	const char *at = strcasestr(row, what);

	while (at != NULL && at > row + NAMES && isalnum((unsigned char)at[-1]))
		at = strcasestr(at + 1, what);
	return at != NULL;
}

/* Print the rows in which a word stands; that of an operand above its words. */
static int
search_help(FILE *out, const char *what, struct fault *f)
{
	char *text = NULL, *rest, *row, *above = NULL, one[81];
	size_t size, n = strlen(what);
	bool found = false, word;
	FILE *all = open_memstream(&text, &size);

	if (all != NULL)
		all_help(all);
	if (all == NULL || fclose(all) != 0 || text == NULL) {
		free(text);
		return fault_set(f, STATUS_ERRNO + ENOMEM, "--help %s: there "
		    "is no memory", what);
	}
	/* "partitions" is "partition" there */
	n -= n > 3 && tolower((unsigned char)what[n - 1]) == 's';
	snprintf(one, sizeof(one), "%.*s", (int)n, what);
	rest = n < sizeof(one) ? text : NULL;
	while ((row = strsep(&rest, "\n")) != NULL) {
		word = strspn(row, " ") == 4;
		above = word ? above : row;
		if (!row_is_about(row, one))
			continue;
		if (word && above != NULL)
			fprintf(out, "%s\n", above);
		fprintf(out, "%s\n", row);
		above = NULL;
		found = true;
	}
	free(text);
	return found ? 0 : fault_set(f, STATUS_USAGE, "--help %s: there is no "
	    "such subject, and it stands nowhere in --help all; see man pardd",
	    what);
}

int
opts_help(FILE *out, const char *subject, struct fault *f)
{
	size_t i;

	if (subject == NULL)
		return first_screen(out), 0;
	if (strcmp(subject, "all") == 0)
		return all_help(out), 0;
	if (strcmp(subject, "options") == 0)
		return options_help(out), 0;
	if (strcmp(subject, "examples") == 0)
		return fprintf(out, "%s%s", most_used, less_used), 0;
	if (strcmp(subject, "status") == 0)
		fprintf(out, "Exit status\n%s", states);
	for (i = 0; i < COUNT(groups); i++)
		if (strcmp(subject, groups[i].name) == 0) {
			fprintf(out, "%s\n", groups[i].title);
			return group_help(out, i, WORDS_SHOWN), 0;
		}
	for (i = 0; i < COUNT(lines); i++)
		if (strcmp(subject, lines[i].name) == 0)
			return line_help(out, &lines[i], UINT_MAX), 0;
	return search_help(out, subject, f);
}

/* The text to complete for a word; zsh needs the colon for itself. */
static const char *
word_colon(const struct word *w, const char *text)
{
	return w->name[0] != '\0' ? text : "";
}

/* Print if|of|..., the operands whose value is a file name. */
static void
help_file_operands(FILE *out)
{
	const char *between = "";
	size_t i;

	for (i = 0; i < COUNT(lines); i++) {
		if (strncmp(lines[i].arg, "FILE", 4) != 0 &&
		    strcmp(lines[i].arg, "PATH") != 0)
			continue;
		fprintf(out, "%s%s", between, lines[i].name);
		between = "|";
	}
}

/* The next number of a list such as "0|1", and what follows it; or 0. */
static size_t
next_choice(const char **arg, const char **choice)
{
	size_t n = strspn(*arg, "0123456789");

	*choice = *arg;
	*arg += n + ((*arg)[n] == '|');
	return n;
}

/* Whether an operand takes one of a few numbers. */
static bool
has_choices(const struct line *l)
{
	return l->arg[0] != '\0' && l->arg[strspn(l->arg, "0123456789|")] ==
	    '\0';
}

/* Print a text in single quotes, which all three shells understand. */
static void
help_quote(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text != '\0'; text++)
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	fputc('\'', out);
}

/* For each operand that takes one of a few numbers, them, between these. */
static void
help_choices(FILE *out, const char *before, const char *named,
    const char *left, const char *right, const char *end)
{
	const char *arg, *choice;
	size_t i, n;

	for (i = 0; i < COUNT(lines); i++) {
		if (!has_choices(&lines[i]))
			continue;
		fprintf(out, "%s%s%s", before, lines[i].name, named);
		arg = lines[i].arg;
		while ((n = next_choice(&arg, &choice)) > 0)
			fprintf(out, "%s%.*s%s", left, (int)n, choice, right);
		fputs(end, out);
	}
}

static void
help_bash(FILE *out)
{
	size_t i;

	fputs("_pardd() {\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} key val pre words=\n"
	    "\tif [[ $cur == '=' ]]; then key=${COMP_WORDS[COMP_CWORD-1]} "
	    "val=\n"
	    "\telif [[ ${COMP_WORDS[COMP_CWORD-1]} == '=' ]]; then "
	    "key=${COMP_WORDS[COMP_CWORD-2]} val=$cur\n"
	    "\telif [[ $cur == *=* ]]; then key=${cur%%=*} val=${cur#*=}\n"
	    "\telse\n\t\tcompopt -o nospace\n"
	    "\t\tmapfile -t COMPREPLY < <(compgen -W '", out);
	for (i = 0; i < COUNT(lines); i++)
		fprintf(out, "%s= ", lines[i].name);
	for (i = 0; i < COUNT(options); i++)
		fprintf(out, "--%s ", options[i].name);
	fputs("' -- \"$cur\")\n\t\treturn\n\tfi\n\tcase $key in\n\t", out);
	help_file_operands(out);
	fputs(") compopt -o filenames; "
	    "mapfile -t COMPREPLY < <(compgen -f -- \"$val\"); return;;\n",
	    out);
	for (i = 0; i < COUNT(words); i++) {
		if (i == 0 || strcmp(words[i].operand,
		    words[i - 1].operand) != 0)
			fprintf(out, "\t%s) words='", words[i].operand);
		fprintf(out, "%s%s ", words[i].word,
		    word_colon(&words[i], ":"));
		if (i + 1 == COUNT(words) || strcmp(words[i].operand,
		    words[i + 1].operand) != 0)
			fputs("';;\n", out);
	}
	help_choices(out, "\t", ") words='", "", " ", "';;\n");
	fputs("\tesac\n\tpre=\n"
	    "\tif [[ $val == *,* ]]; then pre=${val%,*}, val=${val##*,}; fi\n"
	    "\tmapfile -t COMPREPLY < <(compgen -P \"$pre\" -W \"$words\" -- "
	    "\"$val\")\n}\n"
	    "complete -F _pardd pardd\n", out);
}

/* Print a row for _describe, which splits it at the first colon. */
static void
zsh_row(FILE *out, const char *name, const char *end, const char *help)
{
	char row[256];

	snprintf(row, sizeof(row), "%.40s%.8s:%.150s", name, end, help);
	help_quote(out, row);
}

static void
help_zsh(FILE *out)
{
	size_t i, j;

	fputs("#compdef pardd\n_pardd() {\n\tlocal -a names list\n"
	    "\tif compset -P 1 '(", out);
	help_file_operands(out);
	fputs(")='; then _files; return; fi\n", out);
	for (i = 0; i < COUNT(words); i = j) {
		fprintf(out, "\tif compset -P 1 '%s='; then\n"
		    "\t\tcompset -P '*,'\n\t\tlist=(", words[i].operand);
		for (j = i; j < COUNT(words) && strcmp(words[i].operand,
		    words[j].operand) == 0; j++) {
			fputc(' ', out);
			zsh_row(out, words[j].word,
			    word_colon(&words[j], "\\:"), words[j].help);
		}
		fputs(" )\n\t\t_describe word list; return\n\tfi\n", out);
	}
	help_choices(out, "\tif compset -P 1 '", "='; then compadd --", " ", "",
	    "; return; fi\n");
	fputs("\tnames=(", out);
	for (i = 0; i < COUNT(lines); i++) {
		fputs("\n\t\t", out);
		zsh_row(out, lines[i].name, "=", lines[i].help);
	}
	for (i = 0; i < COUNT(options); i++) {
		fputs("\n\t\t--", out);
		zsh_row(out, options[i].name, "", options[i].help);
	}
	fputs("\n\t)\n\t_describe operand names -S ''\n}\n"
	    "if [ \"$funcstack[1]\" = _pardd ]; then _pardd \"$@\"; "
	    "else compdef _pardd pardd; fi\n", out);
}

/* Complete lists: after a comma, the typed text plus each of the words. */
static void
fish_lists(FILE *out)
{
	const char *between = "";
	size_t i;

	fputs("function __pardd_more\n"
	    "\tset -l typed (commandline -ct)\n"
	    "\tset -l key (string match -r '^(", out);
	for (i = 0; i < COUNT(lines); i++)
		if (strstr(lines[i].arg, ",...") != NULL) {
			fprintf(out, "%s%s", between, lines[i].name);
			between = "|";
		}
	fputs(")=.*,' -- $typed)[2]\n"
	    "\ttest -n \"$key\"; or return\n"
	    "\tset -l before (string replace -r '[^,]*$' '' -- $typed)\n"
	    "\tcomplete -C \"pardd $key=\" | string replace \"$key=\" "
	    "\"$before\"\n"
	    "end\ncomplete -c pardd -a '(__pardd_more)'\n", out);
}

static void
fish_row(FILE *out, const char *help)
{
	fputs(" -d ", out);
	help_quote(out, help);
	fputc('\n', out);
}

static void
fish_choices(FILE *out, const struct line *l)
{
	const char *arg = l->arg, *choice;
	size_t n;

	while (has_choices(l) && (n = next_choice(&arg, &choice)) > 0)
		fprintf(out, "complete -c pardd -a '%s=%.*s'\n", l->name,
		    (int)n, choice);
}

static void
help_fish(FILE *out)
{
	size_t i;

	fish_lists(out);
	for (i = 0; i < COUNT(lines); i++) {
		fprintf(out, "complete -c pardd -a '%s='", lines[i].name);
		fish_row(out, lines[i].help);
		fish_choices(out, &lines[i]);
	}
	for (i = 0; i < COUNT(words); i++) {
		fprintf(out, "complete -c pardd -a '%s=%s%s'", words[i].operand,
		    words[i].word, word_colon(&words[i], ":"));
		fish_row(out, words[i].help);
	}
	for (i = 0; i < COUNT(options); i++) {
		fputs("complete -c pardd", out);
		if (options[i].letter != '\0')
			fprintf(out, " -s %c", options[i].letter);
		fprintf(out, " -l %s", options[i].name);
		fish_row(out, options[i].help);
	}
}

int
opts_completion(FILE *out, const char *shell, struct fault *f)
{
	static const struct {
		const char *name;
		void (*print)(FILE *);
	} shells[] = { { "bash", help_bash }, { "zsh", help_zsh },
	    { "fish", help_fish } };
	size_t i;

	for (i = 0; i < COUNT(shells); i++)
		if (strcmp(shell, shells[i].name) == 0) {
			shells[i].print(out);
			return 0;
		}
	return fault_set(f, STATUS_USAGE,
	    "--completion=%s: bash, zsh and fish are known", shell);
}
