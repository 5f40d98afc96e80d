/*
 * Names of iSCSI disks, in the form of libiscsi.
 */
#include "config.h"

#ifdef HAVE_LIBISCSI
#include "iscsi_link.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum {
	PORT_MOST = 65535,
	LUN_MOST = 16383,	/* flat addressing: SAM-5 4.7.7.4 */
};

/* Copy the len bytes at text; false if there are none, or too many. */
static bool
iscsi_name_part(char *to, size_t room, const char *text, size_t len)
{
	if (len == 0 || len >= room)
		return false;
	memcpy(to, text, len);
	to[len] = '\0';
	return true;
}

static int
iscsi_name_digit(char c)
{
	const char *digits = "0123456789abcdef", *at;

	at = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
	return c == '\0' || at == NULL ? -1 : (int)(at - digits);
}

/* Decode %3a and the like, in place. */
static bool
iscsi_name_decode(char *text)
{
	char *to = text;
	int high, low;

	for (; *text != '\0'; text++) {
		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = iscsi_name_digit(text[1]);
		low = high < 0 ? -1 : iscsi_name_digit(text[2]);
		if (low < 0 || high + low == 0)
			return false;
		*to++ = (char)(high << 4 | low);
		text += 2;
	}
	*to = '\0';
	return true;
}

/* Parse a number that fills the text. */
static bool
iscsi_name_number(const char *text, long most, long *n)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 5 || text[len] != '\0')
		return false;
	*n = strtol(text, NULL, 10);
	return *n <= most;
}

/* Whether this is HOST, 192.0.2.1 or [2001:db8::1], with an optional :PORT. */
static bool
is_portal(const char *text)
{
	const char *end = text[0] == '[' ? strchr(text, ']') : NULL, *colon;
	long port;

	if (text[0] == '[' && (end == NULL || end == text + 1))
		return false;
	end = end != NULL ? end + 1 : text + strcspn(text, ":");
	colon = end;
	if (end == text || (*colon != ':' && *colon != '\0'))
		return false;
	return *colon == '\0' ||
	    (iscsi_name_number(colon + 1, PORT_MOST, &port) && port > 0);
}

static bool
take_apart(struct iscsi_name *n, const char *name)
{
	const char *at = strncmp(name, "iscsi://", 8) == 0 ? name + 8 : name;
	const char *who = strrchr(at, '@'), *slash, *lun;
	long number_of;

	if (who != NULL && !iscsi_name_part(n->user, sizeof(n->user), at,
	    (size_t)(who - at)))
		return false;
	at = who != NULL ? who + 1 : at;
	slash = strchr(at, '/');
	lun = slash == NULL ? NULL : strchr(slash + 1, '/');
	if (lun == NULL || !iscsi_name_number(lun + 1, LUN_MOST, &number_of))
		return false;
	n->lun = (int)number_of;
	return iscsi_name_part(n->portal, sizeof(n->portal), at,
	    (size_t)(slash - at)) && is_portal(n->portal) &&
	    iscsi_name_part(n->target, sizeof(n->target), slash + 1,
	    (size_t)(lun - slash - 1)) && iscsi_name_decode(n->target);
}

int
iscsi_name(struct iscsi_name *n, const char *name, struct fault *f)
{
	memset(n, 0, sizeof(*n));
	if (take_apart(n, name))
		return 0;
	return fault_set(f, STATUS_USAGE, "%s: an iSCSI disk is written "
	    "iscsi://[USER[%%PASSWORD]@]HOST[:PORT]/TARGET/LUN, such as "
	    "iscsi://192.0.2.7/iqn.2026-11.org.example:disks/1", name);
}

#endif
