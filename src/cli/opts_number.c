/*
 * Operands that are numbers: "bs=1M".
 */
#include "opts_row.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

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

int
row_number(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f)
{
	int64_t *value = row_member(o, row);
	int64_t least = row->least < 0 ? 0 : row->least;
	int err;

	if (row->least < 0 && strcmp(text, "-1") == 0) {
		*value = -1;
		return 0;
	}
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
