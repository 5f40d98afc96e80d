/*
 * What a wrong command line may have meant: the name that is nearest, and the
 * line of another copier in our words.  Nothing is decided by it.
 */
#include "hint.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"

enum {
	LETTERS = 24,		/* of the longest word that is compared */
	LINE = 800,		/* bytes of the longest line that is shown */
	NAMES = 3,		/* source, target, map */
};

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static int
lower(char c)
{
	return tolower((unsigned char)c);
}

/*
 * The distance of optimal string alignment, by rows: of the whole of b to the
 * first letters of a.  Two rows back is where a swap comes from.
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
			now[j] = last[j - 1] + (lower(a[i - 1]) !=
			    lower(b[j - 1]));
			now[j] = least(now[j], 1 + least(last[j], now[j - 1]));
			if (i > 1 && j > 1 && lower(a[i - 1]) ==
			    lower(b[j - 2]) && lower(a[i - 2]) ==
			    lower(b[j - 1]))
				now[j] = least(now[j], 1 + before[j - 2]);
		}
	}
	return least(row[len % 3][n], HINT_MOST + 1);
}

/* Of a short word all letters could be others, and one letter is no word. */
bool
hint_near(const char *word, size_t len, const char *other, unsigned distance)
{
	return len > 1 && distance <= HINT_MOST && (distance == 0 ||
	    3 * (size_t)distance <= strlen(other) + 1 || (len > strlen(other) &&
	    strncasecmp(word, other, strlen(other)) == 0));
}

/* An option of ddrescue, and what it is here; with "=" its value follows. */
static const struct like {
	char		 letter;
	const char	*name, *here;
} likes[] = {
	{ 'b', "sector-size", "bs=" },
	{ 'c', "cluster-size", "bpt=" },
	{ 'd', "idirect", "iflag=direct" },
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

/* A number that both understand alike: its suffixes are of 1000 there. */
static bool
is_number(const char *value)
{
	return value[0] != '\0' && value[strspn(value, "0123456789")] == '\0';
}

static bool
put(FILE *out, const char *before, const char *value)
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
	    put(out, like->here, value);
}

/* -nr3, -r 3: letters, the last of which may have a value; false: no like. */
static bool
put_letters(FILE *out, const char *arg, const char *next, int *i)
{
	const struct like *like;

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

/* --no-scrape, --retry-passes=3, --retry-passes 3 */
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

/* All of the line; false if there is no saying it. */
static bool
put_line(FILE *out, int argc, char *const argv[])
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
	ok = fclose(options) == 0 && ok && (n == NAMES || (n == 2 &&
	    text[0] == '\0'));	/* without a map none of them would do */
	fputs("pardd", out);
	for (k = 0; k < n && ok; k++)
		ok = put(out, key[k], name[k]);
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
	ok = put_line(out, argc, argv);
	if (fclose(out) == 0 && ok && strlen(text) <= LINE)
		return text;
	free(text);
	return NULL;
}
