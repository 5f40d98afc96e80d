/*
 * Partition tables, by libblkid.
 *
 * Nothing on a disk is trusted.  Before libblkid reads a table, its headers are
 * checked: at most ENTRIES_MOST bytes of GPT entries, and at most
 * MBR_LINKS_MOST logical partitions.  Its results are used with checked
 * arithmetic.  For an MBR libblkid counts sectors of 512 bytes in 32 bits,
 * which is too small for large disks with sectors of 4096 bytes; there the four
 * primary partitions are read here.
 */
#include "part/parts.h"

#include <blkid/blkid.h>
#include <bsd/string.h>
#include <bsd/sys/endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/status.h"
#include "disk/mbr.h"

enum {
	SECTOR = 512,		/* bytes: the unit of libblkid and most
				 * images */
	LARGE_SECTOR = 4096,	/* bytes */
	TABLE_EDGE = 128 << 10,	/* bytes at both ends that may have a table */
	ENTRIES_MOST = 4 << 20,	/* bytes of GPT entries */
	GPT_ENTRIES = 16 << 10,	/* bytes, at least: UEFI 2.10 5.3.1 */
	MBR_GPT = 0xee,		/* type of the entry that protects a GPT */
};

/* --- checks before libblkid ------------------------------------------- */

static bool
guards_gpt(const unsigned char *mbr)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		if (mbr_entry(mbr, i)[4] == MBR_GPT)
			return true;
	return false;
}

/* Follow the chain of logical partitions; false if it does not end. */
static bool
walk_logical(const struct view *v, uint64_t first, struct parts *t)
{
	const unsigned char *link;
	unsigned char mbr[SECTOR];
	uint64_t next = 0, at;
	unsigned n;

	for (n = 0; n < MBR_LINKS_MOST; n++) {
		at = (first + next) * t->sector;
		if (!view_known(v, at, SECTOR))
			t->left = TABLE_PART;
		if (view_fill(v, at, t->sector) != 0 ||
		    !view_read(v, at, mbr, SECTOR) || !mbr_is(mbr))
			return true;
		link = mbr_link(mbr);
		if (link == NULL)
			return true;
		next = mbr_start(link);
	}
	return false;
}

static bool
has_gpt(const struct view *v, uint64_t at, unsigned char *header)
{
	return view_read(v, at, header, SECTOR) && memcmp(header, "EFI PART",
	    8) == 0;
}

/*
 * Read the entries of a GPT into the view; false if there are impossibly many.
 */
static bool
fetch_entries(const struct view *v, uint64_t at, uint32_t sector)
{
	unsigned char h[SECTOR];
	uint64_t off, len;

	if (!has_gpt(v, at, h))
		return true;
	if (__builtin_mul_overflow(le64dec(h + 72), (uint64_t)sector, &off))
		return false;
	len = (uint64_t)le32dec(h + 80) * le32dec(h + 84);
	if (len > ENTRIES_MOST)
		return false;
	view_fill(v, off, len);		/* the checksum will show errors */
	return true;
}

/* Whether it is safe to let libblkid read the table. */
static bool
parts_sane(const struct view *v, const unsigned char *mbr, struct parts *t)
{
	uint64_t last = v->size / t->sector - 1;
	unsigned i;

	if (!fetch_entries(v, t->sector, t->sector) ||
	    !fetch_entries(v, last * t->sector, t->sector)) {
		snprintf(t->wrong, sizeof(t->wrong), "its GPT is damaged: it "
		    "cannot have that many entries");
		return false;
	}
	for (i = 0; i < 4; i++)
		if (mbr_extended(mbr_entry(mbr, i)) && !walk_logical(v,
		    mbr_start(mbr_entry(mbr, i)), t)) {
			snprintf(t->wrong, sizeof(t->wrong), "its chain of "
			    "logical partitions does not end");
			return false;
		}
	return true;
}

/* --- the table -------------------------------------------------------- */

/* Copy a text from libblkid, which may be NULL. */
static void
parts_keep_text(char *to, size_t room, const char *text)
{
	strlcpy(to, text != NULL ? text : "", room);
}

/* Take a partition; false if no disk could have it. */
static bool
part_take(struct part *to, blkid_partition from, bool gpt)
{
	int64_t number = blkid_partition_get_partno(from);
	int64_t start = blkid_partition_get_start(from);
	int64_t sectors = blkid_partition_get_size(from);

	*to = (struct part){ .number = (unsigned)number };
	if (number <= 0 || start < 0 || sectors <= 0 ||
	    start > INT64_MAX / SECTOR || sectors > INT64_MAX / SECTOR - start)
		return false;
	to->start = (uint64_t)start * SECTOR;
	to->length = (uint64_t)sectors * SECTOR;
	to->container = blkid_partition_is_extended(from) != 0;
	parts_keep_text(to->name, sizeof(to->name),
	    blkid_partition_get_name(from));
	if (gpt)
		parts_keep_text(to->type, sizeof(to->type),
		    blkid_partition_get_type_string(from));
	else
		snprintf(to->type, sizeof(to->type), "0x%02x",
		    (unsigned)blkid_partition_get_type(from));
	return true;
}

static int
by_number(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int
take_all(struct parts *t, blkid_partlist list)
{
	int n = blkid_partlist_numof_partitions(list), i;
	bool gpt = strcmp(t->type, "gpt") == 0;

	if (n <= 0)
		return 0;
	t->part = calloc((size_t)n, sizeof(*t->part));
	if (t->part == NULL)
		return ENOMEM;
	for (i = 0; i < n; i++)
		if (part_take(&t->part[t->n],
		    blkid_partlist_get_partition(list, i), gpt))
			t->n++;
	qsort(t->part, t->n, sizeof(*t->part), by_number);
	return 0;
}

/*
 * Take primary partitions from the MBR itself; logical ones only if in range.
 */
static void
mend_mbr(struct parts *t, const unsigned char *mbr)
{
	bool reach = true;
	size_t i, n = 0;

	for (i = 0; i < 4; i++) {
		const unsigned char *e = mbr_entry(mbr, i);

		if (mbr_extended(e) && ((uint64_t)mbr_start(e) +
		    mbr_length(e)) * (t->sector / SECTOR) > UINT32_MAX)
			reach = false;
	}
	for (i = 0; i < t->n; i++) {
		struct part p = t->part[i];

		if (p.number <= 4) {
			const unsigned char *e = mbr_entry(mbr, p.number - 1);

			p.start = (uint64_t)mbr_start(e) * t->sector;
			p.length = (uint64_t)mbr_length(e) * t->sector;
		}
		if (p.number <= 4 || reach)
			t->part[n++] = p;
	}
	t->n = n;
	if (!reach)
		parts_keep_text(t->wrong, sizeof(t->wrong), "its logical "
		    "partitions lie farther out than can be followed");
}

static int
probe_table(const struct view *v, const unsigned char *mbr, struct parts *t)
{
	static char gpt[] = "gpt", dos[] = "dos";
	char *known[] = { gpt, dos, NULL };
	blkid_probe pr = blkid_new_probe();
	blkid_parttable table = NULL;
	blkid_partlist list = NULL;
	int err = 0, refused;

	if (pr == NULL)
		return ENOMEM;
	refused = blkid_probe_set_device(pr, v->fd, 0, (blkid_loff_t)v->size);
	refused |= blkid_probe_set_sectorsize(pr, t->sector);
	refused |= blkid_probe_enable_superblocks(pr, 0);
	refused |= blkid_probe_enable_partitions(pr, 1);
	refused |= blkid_probe_filter_partitions_type(pr, BLKID_FLTR_ONLYIN,
	    known);
	if (refused == 0)
		list = blkid_probe_get_partitions(pr);
	if (list != NULL)
		table = blkid_partlist_get_table(list);
	if (table != NULL) {
		parts_keep_text(t->type, sizeof(t->type),
		    blkid_parttable_get_type(table));
		t->at = (uint64_t)blkid_parttable_get_offset(table);
		err = take_all(t, list);
		if (strcmp(t->type, dos) == 0 && t->sector != SECTOR)
			mend_mbr(t, mbr);
	}
	blkid_free_probe(pr);
	return err;
}

/* There should be a table, but none was found: say why. */
static void
parts_explain(const struct view *v, const unsigned char *mbr, struct parts *t)
{
	uint32_t other = t->sector == SECTOR ? LARGE_SECTOR : SECTOR;
	unsigned char header[SECTOR];

	if (!guards_gpt(mbr))
		return;
	if (has_gpt(v, other, header))
		snprintf(t->wrong, sizeof(t->wrong), "its GPT counts in "
		    "sectors of %u bytes, and the disk has %u", other,
		    t->sector);
	else if (has_gpt(v, t->sector, header) && le32dec(header + 84) > 128)
		snprintf(t->wrong, sizeof(t->wrong), "its GPT has entries of "
		    "%u bytes, and only those of 128 are read",
		    le32dec(header + 84));
	else if (has_gpt(v, t->sector, header) &&
	    le64dec(header + 32) >= v->size / t->sector) {
		parts_keep_text(t->wrong, sizeof(t->wrong),
		    "its GPT is made for a larger disk");
		t->cut = true;
	} else {
		parts_keep_text(t->wrong, sizeof(t->wrong),
		    "its GPT is damaged");
	}
}

/* Whether there is a GPT, or its backup, for this sector size. */
static bool
counts_in(const struct view *v, uint32_t sector)
{
	unsigned char header[SECTOR];

	return has_gpt(v, sector, header) || (v->size > sector &&
	    has_gpt(v, (v->size / sector - 1) * sector, header));
}

/*
 * An image does not say what sectors its disk had, but the place of a GPT does.
 */
uint32_t
parts_sector_of(const struct view *v)
{
	if (v->sector > 0)
		return v->sector;
	return !counts_in(v, SECTOR) && counts_in(v, LARGE_SECTOR) ?
	    LARGE_SECTOR : SECTOR;
}

/*
 * A lost MBR may have protected a GPT, and libblkid needs to see it, so make
 * one.  Without a GPT nothing is found then.
 */
static int
make_guard(const struct view *v, unsigned char *mbr)
{
	if (view_known(v, 0, SECTOR))
		return 0;
	memset(mbr, 0, SECTOR);
	mbr[MBR_ENTRIES + 4] = MBR_GPT;
	mbr[MBR_ENTRIES + 8] = 1;
	memset(mbr + MBR_ENTRIES + 12, 0xff, 4);
	mbr[510] = 0x55;
	mbr[511] = 0xaa;
	return pwrite(v->fd, mbr, SECTOR, 0) == SECTOR ? 0 : EIO;
}

/* What a rescue has left of the table; TABLE_PART if links are missing. */
static enum table
left_of(const struct view *v, const unsigned char *mbr, const struct parts *t)
{
	bool guard = view_known(v, 0, SECTOR);

	if (t->type[0] == '\0')
		return !guard || (guards_gpt(mbr) && !view_known(v, t->sector,
		    t->sector + GPT_ENTRIES)) ? TABLE_LOST : TABLE_SOUND;
	if (strcmp(t->type, "gpt") != 0)
		return t->left;
	return t->at != t->sector ? TABLE_BACKUP : guard ? TABLE_SOUND :
	    TABLE_UNGUARDED;
}

int
parts_read_table(struct view *v, struct parts *t)
{
	unsigned char mbr[SECTOR];
	int err;

	t->size = v->size;
	if (v->size < SECTOR)
		return 0;
	err = v->sparse ? view_edges(v, TABLE_EDGE) : 0;
	if (err != 0)
		return err;
	if (pread(v->fd, mbr, SECTOR, 0) != SECTOR)
		return errno != 0 ? errno : EIO;
	t->sector = parts_sector_of(v);
	err = make_guard(v, mbr);
	if (err != 0)
		return err;
	if (!mbr_is(mbr) || v->size / 2 < t->sector || !parts_sane(v, mbr, t))
		return 0;
	err = probe_table(v, mbr, t);
	if (err == 0 && t->type[0] == '\0')
		parts_explain(v, mbr, t);
	t->left = left_of(v, mbr, t);
	return err;
}

bool
parts_possible(const struct endpoint *ep)
{
	return !ep->is.streamed && !ep->is.absent && ep->geo.size > 0 &&
	    endpoint_viewable(ep);
}

/* Read the table of a view unless err is set, and close the view. */
static int
read_view(struct view *v, int err, struct parts *t, struct fault *f)
{
	if (err == 0)
		err = parts_read_table(v, t);
	view_close(v);
	if (err == 0)
		return 0;
	parts_free(t);
	fault_errno(f, err, "%s: reading its partition table", v->ep->name);
	if (errno_is_medium(err))
		f->status = STATUS_MEDIUM;
	return -1;
}

int
parts_rescued(struct endpoint *ep, const struct endpoint *whole,
    struct map *map, struct parts *t, struct fault *f)
{
	struct view v;
	int err;

	*t = (struct parts){ .sector = SECTOR };
	if (!parts_possible(ep))
		return 0;
	errno = 0;
	err = map == NULL ? view_open(&v, ep) :
	    view_rescued(&v, ep, whole, map);
	return read_view(&v, err, t, f);
}

int
parts_read(struct endpoint *ep, struct parts *t, struct fault *f)
{
	return parts_rescued(ep, NULL, NULL, t, f);
}

void
parts_free(struct parts *t)
{
	free(t->part);
	t->part = NULL;
	t->n = 0;
}

uint64_t
part_end(const struct part *p)
{
	return p->start + p->length;
}

bool
part_spans(const struct part *p)
{
	static const char *const ldm[] = { "0x42",
		"af9b60a0-1431-4f62-bc68-3311714a69ad",
		"5808c8aa-7e8f-42e0-85d2-e1e90434cfb3" };
	size_t i;

	for (i = 0; i < sizeof(ldm) / sizeof(*ldm); i++)
		if (strcasecmp(p->type, ldm[i]) == 0)
			return true;
	return false;
}

bool
parts_backup_astray(struct endpoint *ep)
{
	unsigned char header[SECTOR];
	bool astray = false;
	uint32_t sector;
	struct view v;

	if (view_open(&v, ep) == 0 && view_edges(&v,
	    UINT64_C(2) * LARGE_SECTOR) == 0) {
		sector = parts_sector_of(&v);
		astray = has_gpt(&v, sector, header) &&
		    le64dec(header + 32) != v.size / sector - 1;
	}
	view_close(&v);
	return astray;
}
