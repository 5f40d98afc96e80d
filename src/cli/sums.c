/*
 * expect=@FILE: the digest of the source in a file of digests, by the base name
 * of the source.  Lines are as sha256sum and its kin write them, of GNU or BSD
 * style, or as in a Release file of Debian, with the size before the name.
 *
 * In a clearsigned text (RFC 9580, 7) only the lines inside count; whose
 * signature it is, is not looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/algorithm.h"
#include "base/path.h"
#include "base/status.h"
#include "cli/opts.h"

#define BLANKS		" \t"
#define DIGITS		"0123456789"
#define BEGIN		"-----BEGIN PGP SIGNED MESSAGE-----"
#define SIGNATURE	"-----BEGIN PGP SIGNATURE-----"

enum {
	MOST = 16 << 20,	/* bytes of such a file */
	HEX = 128,		/* digits of a digest, at most */
};

struct sums {
	const char	*base;		/* the name that is looked for */
	char		 hex[ALGORITHMS][HEX + 1];	/* what it should have,
							 * or "" */
	bool		 differ;	/* there are two of one kind */
};

/* The algorithm of so many digits, or the one of that word. */
static const struct algorithm *
sums_algorithm(const char *word, size_t len, size_t digits)
{
	const struct algorithm *a;

	for (a = algorithms; a < algorithms + ALGORITHMS; a++)
		if (2 * a->size == digits && (word == NULL ||
		    (strlen(a->tag) == len &&
		    strncasecmp(word, a->tag, len) == 0) ||
		    (a->crypto != NULL && strlen(a->crypto) == len &&
		    strncasecmp(word, a->crypto, len) == 0)))
			return a;
	return NULL;
}

static bool
sums_named(const struct sums *s, const char *name)
{
	return strcmp(path_base(name), s->base) == 0;
}

static void
sums_keep(struct sums *s, const struct algorithm *a, const char *hex)
{
	char *to = a != NULL ? s->hex[a - algorithms] : NULL;

	if (a == NULL)
		return;
	s->differ |= to[0] != '\0' && strncasecmp(to, hex, 2 * a->size) != 0;
	snprintf(to, HEX + 1, "%.*s", (int)(2 * a->size), hex);
}

/* A name in which coreutils have escaped \, \n and \r. */
static void
sums_unescape(char *name)
{
	char *to = name;

	for (; *name != '\0'; name++)
		if (*name != '\\')
			*to++ = *name;
		else if (*++name == '\0')
			break;
		else
			*to++ = *name == 'n' ? '\n' : *name == 'r' ? '\r' :
			    *name;
	*to = '\0';
}

/* HEX  NAME, HEX *NAME, HEX SIZE NAME */
static bool
sums_gnu(struct sums *s, char *line, bool escaped)
{
	size_t digits = strspn(line, DIGITS "abcdefABCDEF"), size;
	char *name = line + digits;

	if (digits == 0 || strspn(name, BLANKS) == 0)
		return false;
	name += name[1] == ' ' || name[1] == '*' ? 2 : 1;
	if (escaped)
		sums_unescape(name);
	if (!sums_named(s, name)) {
		name += strspn(name, BLANKS);
		size = strspn(name, DIGITS);
		name += size + strspn(name + size, BLANKS);
		if (size == 0 || strchr(BLANKS, name[-1]) == NULL ||
		    !sums_named(s, name))
			return true;
	}
	sums_keep(s, sums_algorithm(NULL, 0, digits), line);
	return true;
}

/* SHA256 (NAME) = HEX; openssl leaves blanks out */
static void
sums_bsd(struct sums *s, char *line, bool escaped)
{
	char *name = strchr(line, '('), *hex = strrchr(line, '='), *end = hex;
	size_t word, digits;

	while (end != NULL && end > line && end[-1] == ' ')
		end--;
	if (name == NULL || end == NULL || end <= name + 1 || end[-1] != ')')
		return;
	end[-1] = '\0';
	word = strcspn(line, BLANKS "(");
	name++;
	if (escaped)
		sums_unescape(name);
	hex += 1 + strspn(hex + 1, BLANKS);
	digits = strspn(hex, DIGITS "abcdefABCDEF");
	if (hex[digits] == '\0' && sums_named(s, name))
		sums_keep(s, sums_algorithm(line, word, digits), hex);
}

static void
sums_line(struct sums *s, char *line)
{
	bool escaped;

	line += strspn(line, BLANKS);
	escaped = *line == '\\';
	line += escaped;
	if (!sums_gnu(s, line, escaped))
		sums_bsd(s, line, escaped);
}

/* Read all lines.  Returns whether the text is signed. */
static bool
sums_lines(struct sums *s, char *text)
{
	enum { PLAIN, HEAD, INSIDE, BEHIND } where = PLAIN;
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		line[strcspn(line, "\r")] = '\0';
		if (where == PLAIN && strcmp(line, BEGIN) == 0) {
			memset(s->hex, 0, sizeof(s->hex));
			s->differ = false;
			where = HEAD;
		} else if (where == HEAD && line[0] == '\0') {
			where = INSIDE;
		} else if (where == INSIDE && strcmp(line, SIGNATURE) == 0) {
			where = BEHIND;
		} else if (where == PLAIN || where == INSIDE) {
			sums_line(s, where == INSIDE && strncmp(line, "- ",
			    2) == 0 ? line + 2 : line);
		}
	}
	return where != PLAIN;
}

int
sums_expect(struct opts *o, struct fault *f)
{
	const char *path = o->expect != NULL ? o->expect : "";
	struct sums s = { .base = o->input != NULL ? path_base(o->input) : "" };
	const struct algorithm *a, *best = NULL;
	bool is_signed;
	size_t len;
	char *text;

	if (path[0] != '@')
		return 0;
	path++;
	if (s.base[0] == '\0')
		return fault_set(f, STATUS_REFUSED, "expect=@%s: the source "
		    "has no name that could be looked up", path);
	text = path_read(path, "expect=@", ": it is no file of digests", MOST,
	    &len, f);
	if (text == NULL)
		return -1;
	is_signed = sums_lines(&s, text);
	free(text);
	for (a = algorithms; a < algorithms + ALGORITHMS; a++)
		if (s.hex[a - algorithms][0] != '\0' &&
		    (best == NULL || a->size > best->size))
			best = a;
	if (best == NULL || s.differ)
		return fault_set(f, STATUS_REFUSED, best == NULL ?
		    "expect=@%s: it has no digest of %s" :
		    "expect=@%s: it has two different digests of %s", path,
		    s.base);
	o->sums = is_signed ? path : NULL;
	snprintf(o->expected, sizeof(o->expected), "%s:%s", best->name,
	    s.hex[best - algorithms]);
	o->expect = o->expected;
	return 0;
}
