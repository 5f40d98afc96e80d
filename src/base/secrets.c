/*
 * Passwords on the command line.  In the title of the process the word keeps
 * its length, because libbsd relies on the places of the words.
 */
#include "base/secrets.h"

#include <stdlib.h>
#include <string.h>

/*
 * The address that a word is, or an operand has, if it begins so; else NULL.  A
 * note is a text, whatever it mentions, and so are the words of a command.
 */
static char *
address(char *word, const char *scheme)
{
	char *value = strchr(word, '=');
	size_t n = strlen(scheme);

	if (strncmp(word, scheme, n) == 0)
		return word;
	if (value == NULL || strncmp(word, "note=", 5) == 0)
		return NULL;
	return strncmp(value + 1, scheme, n) == 0 ? value + 1 : NULL;
}

/* Where the password of an address begins, and the @ behind it; or NULL. */
static char *
find(char *word, char **end)
{
	char *at = address(word, "iscsi://"), *from;

	if (at == NULL)
		return NULL;
	at += strlen("iscsi://");
	*end = strrchr(at, '@');
	if (*end == NULL)
		return NULL;
	from = at + strcspn(at, "%:");
	return from < *end ? from : NULL;
}

static int
keep(struct secrets *s, const char *word, const char *from, size_t len)
{
	struct secret *more = reallocarray(s->all, s->n + 1, sizeof(*more));
	char *password = strndup(from, len);

	if (more != NULL)
		s->all = more;
	if (more == NULL || password == NULL) {
		free(password);
		return -1;
	}
	s->all[s->n++] = (struct secret){ .word = word,
		.password = password };
	return 0;
}

static int
take(struct secrets *s, char *word, char *shown)
{
	char *end, *from = find(word, &end), *same;
	size_t len;

	if (from == NULL)
		return 0;
	len = (size_t)(end - from) - 1;
	same = shown + (from - word) + 1;
	memset(same, '*', len);
	if (keep(s, word, from + 1, len) != 0)
		return -1;
	memmove(from, end, strlen(end) + 1);
	explicit_bzero(from + strlen(from) + 1, len);
	s->all[s->n - 1].len = strlen(word);
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
hide(char *word, char *shown)
{
	static const char *const keys[] = { ":key=", ":password=" };
	char *at;
	size_t i, len;

	if (address(word, "rbd:") == NULL)
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
		hide(words[i], shown[i]);
		if (take(s, words[i], shown[i]) != 0)
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
			return s->all[i].password;
	return NULL;
}

void
secrets_free(struct secrets *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		explicit_bzero(s->all[i].password,
		    strlen(s->all[i].password));
		free(s->all[i].password);
	}
	free(s->all);
}
