/*
 * Passwords on the command line.  In the process title the word keeps its
 * length, because libbsd relies on the positions of the words.
 */
#include "base/secrets.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The address in a word or operand that begins like this; else NULL.  A note is
 * just text, whatever it mentions.
 */
static char *
secret_address(char *word, const char *scheme)
{
	char *value = strchr(word, '=');
	size_t n = strlen(scheme);

	if (strncmp(word, scheme, n) == 0)
		return word;
	if (value == NULL || strncmp(word, "note=", 5) == 0)
		return NULL;
	return strncmp(value + 1, scheme, n) == 0 ? value + 1 : NULL;
}

/*
 * Where the password of an iSCSI address begins, and the @ after it; or NULL.
 * iser://, which others support, is refused, and the refusal repeats the name.
 */
static char *
secret_find(char *word, char **end)
{
	char *at = secret_address(word, "iscsi://"), *from;

	if (at == NULL)
		at = secret_address(word, "iser://");
	if (at == NULL)
		return NULL;
	at = strstr(at, "://") + 3;
	*end = strrchr(at, '@');
	if (*end == NULL)
		return NULL;
	from = at + strcspn(at, "%:");
	return from < *end ? from : NULL;
}

static int
secret_keep(struct secrets *s, const char *word, const char *from, size_t len)
{
	struct secret *more = reallocarray(s->all, s->n + 1, sizeof(*more));
	char *text = strndup(from, len);

	if (more != NULL)
		s->all = more;
	if (more == NULL || text == NULL) {
		free(text);
		return -1;
	}
	s->all[s->n++] = (struct secret){ .word = word, .text = text };
	return 0;
}

static int
secret_take(struct secrets *s, char *word, char *shown)
{
	char *end, *from = secret_find(word, &end), *same;
	size_t len;

	if (from == NULL)
		return 0;
	len = (size_t)(end - from) - 1;
	same = shown + (from - word) + 1;
	memset(same, '*', len);
	if (secret_keep(s, word, from + 1, len) != 0)
		return -1;
	memmove(from, end, strlen(end) + 1);
	explicit_bzero(from + strlen(from) + 1, len);
	s->all[s->n - 1].len = strlen(word);
	return 0;
}

/* The first password of an address in a text, and its length; or NULL. */
static char *
password_in(char *text, size_t *len)
{
	char *at = text, *from, *end;

	while ((at = strstr(at, "://")) != NULL) {
		at += strlen("://");
		from = at + strcspn(at, "%:") + 1;
		end = at + strcspn(at, " \t\n\"'/?#");
		while (end > from && *end != '@')
			end--;
		*len = end > from ? (size_t)(end - from) : 0;
		if (*len > 0)
			return from;
	}
	return NULL;
}

void
secrets_hide(char *text)
{
	char *at = text;
	size_t len;

	for (; (at = password_in(at, &len)) != NULL; at += len)
		memset(at, '*', len);
}

/* Whether it is an address, not a file name. */
static bool
secret_unlisted(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return n > 0 && strncmp(name + n, "://", 3) == 0 &&
	    faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
}

/*
 * The command or address in a word or operand; else NULL.  A word by itself,
 * and an operand that is only like ours, will be refused, and the refusal
 * repeats it.
 */
static char *
secret_foreign(char *word)
{
	static const char *const ends[] = { "if=", "of=", "of2=", "in=", "out=",
		"input=", "output=", "source=", "target=" };
	char *value = word + strspn(word, "-");
	size_t i, n;

	if (strncmp(value, "ongone=", 7) == 0)
		return value + 7;
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		n = strlen(ends[i]);
		if (strncmp(value, ends[i], n) == 0) {
			value += n;
			break;
		}
	}
	return strncmp(value, "[ ", 2) == 0 || secret_unlisted(value) ? value :
	    NULL;
}

/* Overwrite passwords in a command or an address; keep it as it was given. */
static int
secret_mask(struct secrets *s, char *word, char *shown)
{
	char *value = secret_foreign(word);
	size_t len;

	if (value == NULL || password_in(value, &len) == NULL)
		return 0;
	if (secret_keep(s, word, value, strlen(value)) != 0)
		return -1;
	s->all[s->n - 1].len = strlen(word);
	secrets_hide(value);
	secrets_hide(shown + (value - word));
	return 0;
}

/* The length of the value of an option: up to a ":" without a backslash. */
static size_t
value_length(const char *value)
{
	size_t n = 0;

	while (value[n] != '\0' && value[n] != ':')
		n += value[n] == '\\' && value[n + 1] != '\0' ? 2 : 1;
	return n;
}

/*
 * Overwrite secrets in the name of a Ceph image.  rbd_name.c refuses them, and
 * the refusal repeats the name.
 */
static void
secret_hide(char *word, char *shown)
{
	static const char *const keys[] = { ":key=", ":password=" };
	char *at;
	size_t i, len;

	if (secret_address(word, "rbd:") == NULL)
		return;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		for (at = word; (at = strstr(at, keys[i])) != NULL; at += len) {
			at += strlen(keys[i]);
			len = value_length(at);
			memset(at, '*', len);
			memset(shown + (at - word), '*', len);
		}
}

int
secrets_take(struct secrets *s, int argc, char *words[], char *shown[])
{
	int i;

	for (i = 0; i < argc; i++) {
		secret_hide(words[i], shown[i]);
		if (secret_take(s, words[i], shown[i]) != 0 ||
		    secret_mask(s, words[i], shown[i]) != 0)
			return -1;
	}
	return 0;
}

const char *
secrets_of(const struct secrets *s, const char *name)
{
	size_t i;

	for (i = 0; s != NULL && i < s->n; i++)
		if (name >= s->all[i].word &&
		    name <= s->all[i].word + s->all[i].len)
			return s->all[i].text;
	return NULL;
}

const char *
secrets_given(const struct secrets *s, const char *name)
{
	const char *text = secrets_of(s, name);

	return text != NULL ? text : name;
}

void
secrets_free(struct secrets *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		explicit_bzero(s->all[i].text, strlen(s->all[i].text));
		free(s->all[i].text);
	}
	free(s->all);
}
