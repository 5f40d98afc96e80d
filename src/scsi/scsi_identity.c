/*
 * Identifying a SCSI disk.  The WWN is the designator that Linux calls wwid,
 * chosen and written in the same way (scsi_vpd_lun_id), so that a disk has one
 * name however it is reached.
 */
#include "sg.h"

#include <stdio.h>

#define HAVE_BYTESWAP_H 1	/* else the header shifts an int by 24 */
#include <scsi/sg_unaligned.h>

#include "base/number.h"

enum {
	PAGE = 252,		/* bytes requested per page */
	SERIAL = 0x80,		/* VPD pages: SPC-5 7.7 */
	DESIGNATORS = 0x83,

	/* designator types: SPC-5 7.7.6 */
	T10 = 1,
	EUI = 2,
	NAA = 3,
	SCSI_NAME = 8,
};

static size_t
ask_page(const struct scsi_path *path, unsigned char page, unsigned char *buf)
{
	const unsigned char cdb[6] = { 0x12, 1, page, [4] = PAGE };
	struct scsi_reply r;
	size_t len;

	if (!scsi_query(path, cdb, sizeof(cdb), buf, PAGE, &r) ||
	    r.moved < 4 || buf[1] != page)
		return 0;
	len = 4 + (size_t)sg_get_unaligned_be16(buf + 2);
	return len < r.moved ? len : r.moved;
}

/* Copy a text up to a NUL, without the blanks around it. */
static void
take_text(char *to, size_t room, const unsigned char *text, size_t len)
{
	while (len > 0 && text[0] == ' ') {
		text++;
		len--;
	}
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\0'))
		len--;
	snprintf(to, room, "%.*s", (int)len, (const char *)text);
}

/* How well a designator tells this disk from all others; 0: not at all. */
static int
designator_worth(const unsigned char *d)
{
	if ((d[1] & 0x30) != 0 || d[3] == 0)
		return 0;		/* names a port or target, not the
					 * LUN */
	switch (d[1] & 0x0f) {
	case SCSI_NAME:
		return 9;
	case NAA:
		return d[4] >> 4 == 6 ? 8 : d[4] >> 4 == 5 ? 5 :
		    d[4] >> 4 == 4 ? 4 : 1;
	case EUI:
		return d[3] == 16 ? 7 : d[3] == 12 ? 6 : d[3] == 8 ? 3 : 0;
	case T10:
		return 1;
	default:
		return 0;
	}
}

static void
write_hex(char *to, size_t room, const char *kind, const unsigned char *bytes,
    size_t len)
{
	size_t n = (size_t)snprintf(to, room, "%s.", kind), i;

	for (i = 0; i < len && n + 3 < room; i++)
		n += (size_t)snprintf(to + n, room - n, "%02x", bytes[i]);
}

static void
write_wwn(char *to, size_t room, const unsigned char *d)
{
	char text[256];

	switch (d[1] & 0x0f) {
	case NAA:
		write_hex(to, room, "naa", d + 4, d[3]);
		break;
	case EUI:
		write_hex(to, room, "eui", d + 4, d[3]);
		break;
	case T10:
		take_text(text, sizeof(text), d + 4, d[3]);
		snprintf(to, room, "t10.%s", text);
		break;
	default:
		take_text(to, room, d + 4, d[3]);
		break;
	}
}

/* Take the best designator; among equals the last. */
static void
take_wwn(struct disk *d, const unsigned char *page, size_t len)
{
	const unsigned char *best = NULL;
	size_t at, n;

	for (at = 4; at + 5 <= len; at += n) {
		n = 4 + (size_t)page[at + 3];
		if (n > len - at)
			break;
		if (designator_worth(page + at) > 0 && (best == NULL ||
		    designator_worth(page + at) >= designator_worth(best)))
			best = page + at;
	}
	if (best != NULL)
		write_wwn(d->wwn, sizeof(d->wwn), best);
}

void
scsi_identify(const struct scsi_path *path, struct disk *d)
{
	static const unsigned char inquiry[6] = { 0x12, [4] = 36 };
	unsigned char a[PAGE];
	struct scsi_reply r;
	size_t len;

	if (scsi_query(path, inquiry, sizeof(inquiry), a, 36, &r) &&
	    r.moved >= 32) {
		take_text(d->vendor, sizeof(d->vendor), a + 8, 8);
		take_text(d->model, sizeof(d->model), a + 16, 16);
	}
	len = ask_page(path, SERIAL, a);
	if (len > 4)
		take_text(d->serial, sizeof(d->serial), a + 4, len - 4);
	take_wwn(d, a, ask_page(path, DESIGNATORS, a));
}

struct scsi_identity
scsi_identity(const struct scsi_path *path)
{
	struct scsi_identity is = { 0, 0 };
	unsigned char a[PAGE];
	size_t len = ask_page(path, SERIAL, a), at, n;

	if (len > 4)
		is.serial = number_sum(NUMBER_SUM, a + 4, len - 4);
	len = ask_page(path, DESIGNATORS, a);
	for (at = 4; at + 5 <= len; at += n) {
		n = 4 + (size_t)a[at + 3];
		if (n > len - at)
			break;
		if (designator_worth(a + at) > 0)
			is.names = number_sum(is.names != 0 ? is.names :
			    NUMBER_SUM, a + at, n);
	}
	return is;
}

bool
scsi_protected(const struct scsi_path *path)
{
	/* all pages, no block descriptors */
	static const unsigned char cdb[6] = { 0x1a, 0x08, 0x3f, [4] = 4 };
	unsigned char a[4];
	struct scsi_reply r;

	return scsi_query(path, cdb, sizeof(cdb), a, sizeof(a), &r) &&
	    r.moved >= 3 && (a[2] & 0x80) != 0;
}

unsigned
scsi_registered(const struct scsi_path *path)
{
	static const unsigned char cdb[10] = { 0x5e, 0, [8] = 8 };
	unsigned char a[8];
	struct scsi_reply r;

	if (!scsi_query(path, cdb, sizeof(cdb), a, sizeof(a), &r) ||
	    r.moved < sizeof(a))
		return 0;
	return sg_get_unaligned_be32(a + 4) / 8;
}
