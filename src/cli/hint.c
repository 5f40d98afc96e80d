/*
 * Hints for a wrong command line: the operand with the nearest name, a number
 * without its foreign suffix, and a line of another copier translated.  They
 * are only printed; nothing is decided by them, but that 2h is a time.
 */
#include "hint.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/print.h"

enum {
	LETTERS = 24,		/* longest word compared */
	LINE = 800,		/* longest line shown, in bytes */
	NAMES = 3,		/* source, target and map */
};

static int
hint_lower(char c)
{
	return tolower((unsigned char)c);
}

/*
 * The optimal string alignment distance.  Each row compares the first letters
 * of a with all prefixes of b; a swap needs the row before the last one.
 */
unsigned
hint_distance(const char *a, size_t len, const char *b)
{
	unsigned row[3][LETTERS + 1];
	size_t n = strlen(b), i, j;

	if (len > LETTERS || n > LETTERS)
		return HINT_MOST + 1;
	for (j = 0; j <= n; j++)
		row[0][j] = (unsigned)j;
	for (i = 1; i <= len; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3];
		unsigned *before = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (j = 1; j <= n; j++) {
			now[j] = last[j - 1] + (hint_lower(a[i - 1]) !=
			    hint_lower(b[j - 1]));
			now[j] = MIN(now[j], 1 + MIN(last[j], now[j - 1]));
			if (i > 1 && j > 1 && hint_lower(a[i - 1]) ==
			    hint_lower(b[j - 2]) && hint_lower(a[i - 2]) ==
			    hint_lower(b[j - 1]))
				now[j] = MIN(now[j], 1 + before[j - 2]);
		}
	}
	return MIN(row[len % 3][n], (unsigned)HINT_MOST + 1);
}

/*
 * The longer the word, the more letters may differ; one letter is never a typo.
 */
static bool
hint_near(const char *word, size_t len, const char *other, unsigned distance)
{
	return len > 1 && distance <= HINT_MOST && (distance == 0 ||
	    3 * (size_t)distance <= strlen(other) + 1 || (len > strlen(other) &&
	    strncasecmp(word, other, strlen(other)) == 0));
}

void
hint_try(struct hint *h, const char *text, size_t len, const char *word)
{
	unsigned distance = hint_distance(text, len, word);

	if ((h->word == NULL || distance < h->distance) &&
	    hint_near(text, len, word, distance))
		*h = (struct hint){ word, distance };
}

/* --- numbers ------------------------------------------------------------ */

/* The length without a rate suffix: 20M/s, 20MBps. */
static size_t
without_rate(const char *text, size_t len)
{
	if (len > 2 && text[len - 2] == '/' && hint_lower(text[len - 1]) == 's')
		return len - 2;
	if (len > 2 && strncasecmp(text + len - 2, "ps", 2) == 0)
		return len - 2;
	return len;
}

/* Give the letters of a suffix the case that the parser expects. */
static void
right_case(char *text)
{
	size_t n = strspn(text, "0123456789");
	char *unit = text + n;

	if (n == 0 || strspn(unit, "kmgtpeibKMGTPEIB") != strlen(unit) ||
	    strlen(unit) > 3 || (unit[0] != '\0' && unit[1] != '\0' &&
	    strchr("ibIB", unit[1]) == NULL))
		return;
	unit[0] = (char)toupper((unsigned char)unit[0]);
	if (unit[0] != '\0' && hint_lower(unit[1]) == 'i')
		unit[1] = 'i';
	else if (unit[0] != '\0' && unit[1] != '\0')
		unit[1] = 'B';
	if (unit[0] != '\0' && unit[1] == 'i')
		unit[2] = 'B';
}

/* Turn a fraction of a unit, such as 1.5M, into whole bytes. */
static bool
hint_fraction(const char *text, int64_t *value)
{
	size_t n = strspn(text, "0123456789"), m;
	int64_t whole, unit, part, ten = 1;
	char number[32];

	if (n == 0 || text[n] != '.' || strlen(text) >= sizeof(number) - 2)
		return false;
	m = strspn(text + n + 1, "0123456789");
	if (m == 0 || m > 3 || text[n + 1 + m] == '\0')
		return false;
	snprintf(number, sizeof(number), "1%s", text + n + 1 + m);
	right_case(number);
	if (number_parse(number, &unit) != 0)
		return false;
	snprintf(number, sizeof(number), "%.*s%.*s", (int)n, text, (int)m,
	    text + n + 1);
	for (part = 0; part < (int64_t)m; part++)
		ten *= 10;
	return number_parse(number, &whole) == 0 &&
	    !__builtin_mul_overflow(whole, unit, value) &&
	    *value % ten == 0 && (*value /= ten) > 0;
}

bool
hint_number(const char *text, char *to, size_t room)
{
	size_t len = without_rate(text, strlen(text)), i, n = 0;
	int64_t value;

	if (len >= room)
		return false;
	for (i = 0; i < len; i++)
		if (text[i] == ',' && strspn(text + i + 1, "0123456789") != 3)
			to[n++] = '.';		/* as in 1,5M */
		else if (text[i] != ',' && text[i] != '_')
			to[n++] = text[i];
	to[n] = '\0';
	if (hint_fraction(to, &value)) {
		snprintf(to, room, "%lld", (long long)value);
		return true;
	}
	right_case(to);
	return strcmp(to, text) != 0 && number_parse(to, &value) == 0;
}

bool
hint_seconds(const char *text, int64_t *seconds)
{
	char *end;
	long n = strtol(text, &end, 10);
	int unit = hint_lower(*end);
	int each = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 :
	    unit == 'd' ? 86400 : 0;

	return n > 0 && each > 0 && end[1] == '\0' &&
	    !__builtin_mul_overflow(n, each, seconds);
}

/* --- lines -------------------------------------------------------------- */

/*
 * Options of ddrescue and their equivalents; after "=" a value follows.  But -d
 * is ours, which writes nothing: devices are read past the cache in any case.
 */
static const struct like {
	char		 letter;
	const char	*name, *here;
} likes[] = {
	{ 'b', "sector-size", "bs=" },
	{ 'c', "cluster-size", "bpt=" },
	{ 'd', "dry-run", "-d" },
	{ '\0', "idirect", "iflag=direct" },
	{ 'D', "odirect", "oflag=direct" },
	{ 'e', "max-bad-areas", "maxerrors=" },
	{ 'f', "force", "" },
	{ 'm', "domain-mapfile", "domain=" },
	{ 'n', "no-scrape", "rescue=noscrape" },
	{ 'N', "no-trim", "rescue=notrim" },
	{ 'q', "quiet", "status=none" },
	{ 'r', "retry-passes", "retries=" },
	{ 'R', "reverse", "rescue=reverse" },
	{ 'v', "verbose", "verbose=1" },
};

static const struct like *
like_of(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(likes) / sizeof(likes[0]); i++)
		if (len == 1 ? likes[i].letter == name[0] :
		    strlen(likes[i].name) == len &&
		    strncmp(likes[i].name, name, len) == 0)
			return &likes[i];
	return NULL;
}

static bool
takes_value(const struct like *like)
{
	size_t n = strlen(like->here);

	return n > 0 && like->here[n - 1] == '=';
}

/* Plain digits only, because their suffixes mean powers of 1000. */
static bool
is_number(const char *value)
{
	return value[0] != '\0' && value[strspn(value, "0123456789")] == '\0';
}

static bool
hint_put_operand(FILE *out, const char *before, const char *value)
{
	char *word = shell_word(value);

	if (word != NULL)
		fprintf(out, " %s%s", before, word);
	free(word);
	return word != NULL;
}

static bool
put_value(FILE *out, const struct like *like, const char *value)
{
	return value != NULL && (like->letter == 'm' || is_number(value)) &&
	    hint_put_operand(out, like->here, value);
}

/*
 * Translate letters such as -nr3 or -r 3; the last one may have a value.
 * Returns false if one has no equivalent, or if there is none: - is a name.
 */
static bool
put_letters(FILE *out, const char *arg, const char *next, int *i)
{
	const struct like *like;

	if (arg[1] == '\0')
		return false;
	for (arg++; *arg != '\0'; arg++) {
		like = like_of(arg, 1);
		if (like == NULL)
			return false;
		if (takes_value(like)) {
			if (arg[1] == '\0')
				(*i)++;
			else
				next = arg + 1;
			return put_value(out, like, next);
		}
		if (like->here[0] != '\0')
			fprintf(out, " %s", like->here);
	}
	return true;
}

/* Translate --no-scrape, --retry-passes=3 or --retry-passes 3. */
static bool
put_option(FILE *out, const char *arg, const char *next, int *i)
{
	size_t len = strcspn(arg + 2, "=");
	const struct like *like = len > 1 ? like_of(arg + 2, len) : NULL;
	bool given = arg[2 + len] == '=';

	if (like == NULL || (given && !takes_value(like)))
		return false;
	if (!takes_value(like)) {
		if (like->here[0] != '\0')
			fprintf(out, " %s", like->here);
		return true;
	}
	if (given)
		return put_value(out, like, arg + 2 + len + 1);
	(*i)++;
	return put_value(out, like, next);
}

/* Translate the whole line.  Returns false if that is not possible. */
static bool
hint_put_line(FILE *out, int argc, char *const argv[])
{
	static const char *const key[NAMES] = { "if=", "of=", "map=" };
	const char *name[NAMES];
	FILE *options;
	char *text = NULL;
	size_t room, n = 0, k;
	bool ok = true;
	int i;

	options = open_memstream(&text, &room);
	if (options == NULL)
		return false;
	for (i = 1; i < argc && ok; i++) {
		const char *arg = argv[i], *next = argv[i + 1];

		if (arg[0] == '-' && arg[1] == '-')
			ok = put_option(options, arg, next, &i);
		else if (arg[0] == '-')
			ok = put_letters(options, arg, next, &i);
		else if (n == NAMES || arg[0] == '\0' ||
		    strchr(arg, '=') != NULL)
			ok = false;
		else
			name[n++] = arg;
	}
	/* No option but -d works without a map. */
	ok = print_close(options, &text) && ok && (n == NAMES || (n == 2 &&
	    (text[0] == '\0' || strcmp(text, " -d") == 0)));
	/* Else "copy /dev/a /dev/b" would become of=/dev/a. */
	ok = ok && (n < NAMES || strncmp(name[2], "/dev/", 5) != 0);
	fputs("pardd", out);
	for (k = 0; k < n && ok; k++)
		ok = hint_put_operand(out, key[k], name[k]);
	if (ok)
		fputs(text, out);
	free(text);
	return ok;
}

char *
hint_line(int argc, char *const argv[])
{
	char *text = NULL;
	size_t room;
	FILE *out = open_memstream(&text, &room);
	bool ok;

	if (out == NULL)
		return NULL;
	ok = hint_put_line(out, argc, argv);
	if (print_close(out, &text) && ok && strlen(text) <= LINE)
		return text;
	free(text);
	return NULL;
}
