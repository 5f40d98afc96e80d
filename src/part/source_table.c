/*
 * Reading the partition table of a source for its clone.  What has no valid
 * checksum is not used, and chains have an end.
 */
#include "source_table.h"

#include <bsd/sys/endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "part/parts.h"

enum {
	EDGE = 128 << 10,	/* bytes at both ends that may have a table */
	ENTRIES_MOST = 4 << 20,	/* bytes of GPT entries */
};

/* The polynomial is that of ISO 3309. */
uint32_t
gpt_crc(const unsigned char *p, size_t len)
{
	uint32_t crc = ~UINT32_C(0);
	int bit;

	while (len-- > 0) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
	}
	return ~crc;
}

/* Read a part of the source; false if it cannot be read. */
static bool
table_bytes(const struct view *v, uint64_t at, unsigned char *buf, size_t len)
{
	return view_fill(v, at, len) == 0 && view_read(v, at, buf, len);
}

/* Whether the header at this LBA is valid; reads it. */
static bool
gpt_header_valid(const struct view *v, uint64_t lba, uint32_t sector,
    unsigned char h[SECTOR_MOST])
{
	uint32_t size, crc;

	if (lba >= v->size / sector ||
	    !table_bytes(v, lba * sector, h, sector) ||
	    memcmp(h, "EFI PART", 8) != 0)
		return false;
	size = le32dec(h + H_SIZE);
	crc = le32dec(h + H_CRC);
	if (size < H_LEAST || size > sector || le64dec(h + H_SELF) != lba)
		return false;
	le32enc(h + H_CRC, 0);
	if (gpt_crc(h, size) != crc)
		return false;
	le32enc(h + H_CRC, crc);
	return true;
}

/* Read a valid GPT whose header is at this LBA. */
static bool
gpt_read(const struct view *v, uint64_t lba, uint32_t sector, struct gpt *g)
{
	uint32_t each, count;
	uint64_t at;

	g->entries = NULL;
	if (!gpt_header_valid(v, lba, sector, g->header))
		return false;
	each = le32dec(g->header + H_EACH);
	count = le32dec(g->header + H_COUNT);
	if (each < 128 || each > 4096 || (each & (each - 1)) != 0 ||
	    count == 0 || count > ENTRIES_MOST / each ||
	    __builtin_mul_overflow(le64dec(g->header + H_ENTRIES),
	    (uint64_t)sector, &at))
		return false;
	g->size = (size_t)each * count;
	g->entries = malloc(g->size);
	if (g->entries != NULL && table_bytes(v, at, g->entries, g->size) &&
	    gpt_crc(g->entries, g->size) == le32dec(g->header + H_ENTRIES_CRC))
		return true;
	free(g->entries);
	g->entries = NULL;
	return false;
}

/* Read the GPT: the one at the start, else its backup at the end. */
static bool
source_gpt_read(struct source_table *t, const struct view *v)
{
	uint64_t last = t->size / t->sector - 1, at;
	bool first = gpt_read(v, 1, t->sector, &t->gpt);
	struct gpt backup;

	if (!gpt_read(v, last, t->sector, &backup))
		return first;
	/* its entries usually lie right before its header */
	t->backup = last * t->sector;
	at = le64dec(backup.header + H_ENTRIES);
	if (at < last && last - at == round_up(backup.size, t->sector) /
	    t->sector)
		t->backup = at * t->sector;
	if (!first) {
		t->gpt = backup;
		return true;
	}
	t->twice = backup.size == t->gpt.size && memcmp(backup.entries,
	    t->gpt.entries, backup.size) == 0 && memcmp(backup.header + H_GUID,
	    t->gpt.header + H_GUID, GUID) == 0;
	free(backup.entries);
	return true;
}

static bool
boot_extended(const unsigned char *e)
{
	return (e[M_TYPE] == 0x05 || e[M_TYPE] == 0x0f || e[M_TYPE] == 0x85) &&
	    le32dec(e + M_COUNT) != 0;
}

unsigned char *
boot_link(unsigned char *sector)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		if (boot_extended(boot_entry(sector, i)))
			return boot_entry(sector, i);
	return NULL;
}

/* Read the boot records of logical partitions; false if they do not end. */
static bool
source_records_read(struct source_table *t, const struct view *v)
{
	const unsigned char *link = boot_link(t->mbr);
	uint64_t first, next = 0;
	struct record *r;

	if (link == NULL)
		return true;
	first = le32dec(link + M_START);
	t->record = calloc(LINKS_MOST, sizeof(*t->record));
	while (t->record != NULL && t->records < LINKS_MOST) {
		r = &t->record[t->records++];
		r->at = (first + next) * t->sector;
		/* the rest of a larger sector of the target */
		if (r->at >= t->size || !table_bytes(v, r->at, r->sector,
		    (size_t)MIN(sizeof(r->sector),
		    t->size - r->at)) ||
		    r->sector[510] != 0x55 || r->sector[511] != 0xaa)
			return false;
		link = boot_link(r->sector);
		if (link == NULL)
			return true;
		next = le32dec(link + M_START);
	}
	return false;
}

static int
source_refused(const struct source_table *t, const char *why, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%s: %s, so there is nothing for "
	    "table= to go by; table=keep copies it as it is", t->name, why);
}

static int
source_table_look(struct source_table *t, const struct view *v,
    struct fault *f)
{
	size_t i;

	if (t->parts.wrong[0] != '\0')
		return source_refused(t, t->parts.wrong, f);
	if (t->parts.type[0] == '\0')
		return source_refused(t, "it has no partition table", f);
	if (!table_bytes(v, 0, t->mbr, (size_t)MIN(sizeof(t->mbr), t->size)))
		return source_refused(t, "its first sectors cannot be read", f);
	if (strcmp(t->parts.type, "gpt") == 0) {
		if (!source_gpt_read(t, v))
			return source_refused(t, "both copies of its GPT are "
			    "damaged", f);
	} else if (!source_records_read(t, v)) {
		return source_refused(t, "its chain of logical partitions is "
		    "damaged", f);
	}
	t->boot = calloc(t->parts.n + 1, sizeof(*t->boot));
	if (t->boot == NULL)
		return fault_errno(f, ENOMEM, "%s: its partition table",
		    t->name);
	for (i = 0; i < t->parts.n; i++)
		if (!table_bytes(v, t->parts.part[i].start, t->boot[i],
		    SECTOR))
			memset(t->boot[i], 0, SECTOR);
	return 0;
}

int
source_table_read(struct source_table **made, struct endpoint *src,
    struct fault *f)
{
	struct source_table *t = calloc(1, sizeof(*t));
	struct view v;
	int err, failed;

	*made = t;
	if (t == NULL)
		return fault_errno(f, ENOMEM, "the partition table");
	t->name = src->name;
	t->size = src->geo.size > 0 ? (uint64_t)src->geo.size : 0;
	if (!parts_possible(src))
		return fault_set(f, STATUS_USAGE, "table=: %s is no disk, nor "
		    "the image of one", src->name);
	if (parts_read(src, &t->parts, f) != 0)
		return -1;
	t->sector = t->parts.sector;
	err = view_open(&v, src);
	if (err == 0)
		err = view_edges(&v, EDGE);
	failed = err != 0 ? fault_errno(f, err, "%s: reading its partition "
	    "table", src->name) : source_table_look(t, &v, f);
	view_close(&v);
	return failed;
}

void
source_table_free(struct source_table *t)
{
	if (t == NULL)
		return;
	parts_free(&t->parts);
	free(t->gpt.entries);
	free(t->boot);
	free(t->record);
	free(t);
}

uint64_t
source_table_needs(const struct source_table *t)
{
	uint64_t end = t->gpt.entries == NULL ? SECTOR :
	    le64dec(t->gpt.header + H_FIRST) * t->sector;
	size_t i;

	for (i = 0; i < t->parts.n; i++)
		if (!t->parts.part[i].container)
			end = MAX(end, part_end(&t->parts.part[i]));
	return end;
}
