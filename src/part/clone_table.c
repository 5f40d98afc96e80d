/*
 * The partition table of a clone.
 *
 * A GPT counts in sectors and has a backup in the last of them, so a disk of
 * another size or with other sectors needs another one.  An MBR only counts in
 * sectors.  Partitions stay at their bytes.
 *
 * Steps, so that one valid table is there at each moment: the backup GPT, or
 * the boot records of logical partitions; then the first sectors; then what the
 * source's table has left elsewhere is cleared.
 *
 * Of the source's table, what has no valid checksum is not used, and chains
 * have an end.  GPT: UEFI 2.10, 5.3; MBR: 5.2.
 */
#include "part/clone_table.h"

#include <bsd/string.h>
#include <bsd/sys/endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>

#include "base/number.h"
#include "base/status.h"
#include "disk/mbr.h"
#include "fs/fsmap.h"
#include "part/parts.h"

/* --- the table of the source --------------------------------------------- */

enum {
	SECTOR = 512,		/* bytes of an MBR */
	SECTOR_MOST = 4096,	/* bytes of any sector */

	H_SIZE = 12, H_CRC = 16, H_SELF = 24, H_OTHER = 32, H_FIRST = 40,
	H_LAST = 48, H_GUID = 56, H_ENTRIES = 72, H_COUNT = 80, H_EACH = 84,
	H_ENTRIES_CRC = 88,	/* offsets in a GPT header, */
	H_LEAST = 92,		/* and its least size */
	E_TYPE = 0, E_GUID = 16,			/* in an entry */
	E_FIRST = 32, E_LAST = 40,
	GUID = 16,		/* bytes */

	M_SIGNATURE = 440,	/* in an MBR, */
	M_TYPE = 4, M_START = 8, M_COUNT = 12,		/* and in its entry */
};

struct gpt {			/* a valid one */
	unsigned char header[SECTOR_MOST];
	unsigned char *entries;	/* malloc'ed */
	size_t	 size;		/* bytes of them */
};

struct record {			/* a boot record of logical partitions */
	uint64_t at;		/* byte of the source */
	unsigned char sector[SECTOR_MOST];	/* what is there */
};

struct source_table {
	const char *name;	/* of the source */
	uint64_t size;		/* bytes of it */
	uint32_t sector;	/* bytes: the unit of the table */
	struct parts parts;	/* for people, and to find it */
	unsigned char mbr[SECTOR_MOST];	/* its first bytes */
	struct gpt gpt;		/* entries NULL: an MBR only */
	uint64_t backup;	/* byte where the backup begins, be it
				 * damaged, or 0: there is none; where it */
	uint64_t backup_end;	/* ends */
	bool	 twice;		/* it ends the source, and is the same as the
				 * one at the start */
	struct record record[MBR_LINKS_MOST];	/* of logical partitions */
	size_t	 records;
};

/* CRC-32 as a GPT has it. */
static uint32_t
gpt_crc(const unsigned char *p, size_t len)
{
	return ~fs_crc32(~UINT32_C(0), p, len);
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

/*
 * Read the GPT: the one at the start, else its backup at the end.  On a disk
 * that has grown the first one knows where the backup is.
 */
static bool
source_gpt_read(struct source_table *t, const struct view *v)
{
	uint64_t last = t->size / t->sector - 1, at;
	bool first = gpt_read(v, 1, t->sector, &t->gpt), valid;
	struct gpt backup = { 0 };

	valid = gpt_read(v, last, t->sector, &backup);
	if (!valid) {
		last = first ? le64dec(t->gpt.header + H_OTHER) : 0;
		valid = last > 1 && gpt_read(v, last, t->sector, &backup);
		/* a damaged one does not belong into the clone either */
		if (!valid && (last <= 1 || last >= t->size / t->sector ||
		    memcmp(backup.header, "EFI PART", 8) != 0))
			return first;
	}
	/* its entries usually lie right before its header */
	t->backup = last * t->sector;
	t->backup_end = t->backup + t->sector;
	at = le64dec(backup.header + H_ENTRIES);
	if (at < last && last - at == round_up(backup.size, t->sector) /
	    t->sector)
		t->backup = at * t->sector;
	if (!first) {
		t->gpt = backup;
		return true;
	}
	t->twice = valid && t->size - t->backup_end < t->sector &&
	    backup.size == t->gpt.size && memcmp(backup.entries,
	    t->gpt.entries, backup.size) == 0 && memcmp(backup.header + H_GUID,
	    t->gpt.header + H_GUID, GUID) == 0;
	free(backup.entries);
	return true;
}

/* Read one chain of boot records; false if it does not end. */
static bool
source_chain_read(struct source_table *t, const struct view *v,
    const unsigned char *link)
{
	uint64_t first = mbr_start(link), next = 0;
	struct record *r;

	while (t->records < MBR_LINKS_MOST) {
		r = &t->record[t->records++];
		r->at = (first + next) * t->sector;
		/* the rest of a larger sector of the target */
		if (r->at >= t->size || !table_bytes(v, r->at, r->sector,
		    (size_t)MIN(sizeof(r->sector), t->size - r->at)) ||
		    !mbr_is(r->sector))
			return false;
		link = mbr_link(r->sector);
		if (link == NULL)
			return true;
		next = mbr_start(link);
	}
	return false;
}

/* The same of each extended partition: nothing forbids several. */
static bool
source_records_read(struct source_table *t, const struct view *v)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		if (mbr_extended(mbr_entry(t->mbr, i)) &&
		    !source_chain_read(t, v, mbr_entry(t->mbr, i)))
			return false;
	return true;
}

static int
source_refused(const struct source_table *t, const char *why, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%s: %s, so there is nothing for "
	    "table= to go by; table=keep copies it as it is", t->name, why);
}

static int
source_table_look(struct source_table *t, const struct view *v, struct fault *f)
{
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
		err = view_edges(&v, TABLES_EDGE);
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
	free(t);
}

/* Whether the GPT has a partition in this entry. */
static bool
entry_used(const unsigned char *e)
{
	static const unsigned char none[GUID];

	return memcmp(e + E_TYPE, none, GUID) != 0;
}

/* The byte behind its last partition, be it within what is usable or not. */
static uint64_t
gpt_end(const struct source_table *t)
{
	const struct gpt *g = &t->gpt;
	uint64_t last = 0;
	size_t at;

	for (at = 0; at < g->size; at += le32dec(g->header + H_EACH))
		if (entry_used(g->entries + at))
			last = MAX(last, le64dec(g->entries + at + E_LAST));
	return (MIN(last, (uint64_t)INT64_MAX / SECTOR_MOST) + 1) * t->sector;
}

/* The same of the MBR, which may be a hybrid one. */
static uint64_t
mbr_end(const struct source_table *t)
{
	uint64_t end = SECTOR;
	const unsigned char *e;
	unsigned i;

	for (i = 0; i < 4; i++) {
		e = mbr_entry(t->mbr, i);
		if (e[M_TYPE] != 0 && e[M_TYPE] != MBR_GPT &&
		    mbr_length(e) > 0 && !mbr_extended(e))
			end = MAX(end, ((uint64_t)mbr_start(e) +
			    mbr_length(e)) * t->sector);
	}
	return end;
}

uint64_t
source_table_needs(const struct source_table *t)
{
	uint64_t end = mbr_end(t);
	size_t i;

	if (t->gpt.entries != NULL)
		end = MAX(MAX(end, gpt_end(t)),
		    le64dec(t->gpt.header + H_FIRST) * t->sector);
	for (i = 0; i < t->parts.n; i++)
		if (!t->parts.part[i].container)
			end = MAX(end, part_end(&t->parts.part[i]));
	/* an extended partition may be empty, or its last record */
	for (i = 0; i < t->records; i++)
		end = MAX(end, t->record[i].at + t->sector);
	return end;
}

enum { STEP_SPARE, STEP_START, STEP_CLEAR };

struct making {			/* of one target */
	const struct source_table *src;
	struct clone_table *to;
	const struct endpoint *dst;
	uint64_t size;		/* bytes of the target, whole sectors, */
	uint64_t copied;	/* and what it has from the source */
	bool	 fresh;		/* with new identifiers */
	struct fault *f;
};

/* --- what is written ----------------------------------------------------- */

/* Room for a write of whole sectors, zeros; NULL with *f. */
static unsigned char *
table_write_add(struct making *m, unsigned step, uint64_t at, uint64_t len)
{
	struct table_write *w = &m->to->write[m->to->n];

	if (m->to->n == TABLE_WRITES ||
	    (w->data = page_alloc((size_t)len)) == NULL) {
		fault_errno(m->f, ENOMEM, "%s: its partition table",
		    m->dst->name);
		return NULL;
	}
	memset(w->data, 0, (size_t)len);
	w->step = step;
	w->at = at;
	w->len = (size_t)len;
	m->to->n++;
	return w->data;
}

static void
table_writes_free(struct clone_table *t)
{
	while (t->n > 0)
		free(t->write[--t->n].data);
}

/* Convert sectors of the source to those of the target; false: not whole. */
static bool
table_convert(const struct making *m, uint64_t lba, uint64_t *to)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(lba, (uint64_t)m->src->sector, &bytes) ||
	    bytes % m->to->sector != 0)
		return false;
	*to = bytes / m->to->sector;
	return true;
}

/* For its partition of this number, or for the table itself, if that is 0. */
static int
table_uneven(const struct making *m, uint64_t number)
{
	char what[64] = "its table";

	if (number > 0)
		snprintf(what, sizeof(what), "partition %llu", (ull)number);
	return fault_set(m->f, STATUS_REFUSED, "%s: %s does not begin and end "
	    "at whole sectors of %u bytes, which %s has; table=keep copies the "
	    "table as it is", m->src->name, what, m->to->sector, m->dst->name);
}

static int
table_too_small(const struct making *m, uint64_t needs)
{
	return fault_set(m->f, STATUS_REFUSED, "%s is too small: the "
	    "partitions and their table need %llu bytes, and it has %llu",
	    m->dst->name, (ull)needs, (ull)m->size);
}

/* A random UUID, version 4 (RFC 9562 5.4), in the byte order of a GPT. */
static int
guid_fresh(struct making *m, unsigned char *to)
{
	if (getrandom(to, GUID, 0) != GUID)
		return fault_errno(m->f, errno, "random numbers for the "
		    "partition table");
	to[7] = (unsigned char)((to[7] & 0x0f) | 0x40);
	to[8] = (unsigned char)((to[8] & 0x3f) | 0x80);
	return 0;
}

/* --- GPT ------------------------------------------------------------------ */

struct plan_gpt {		/* in sectors of the target */
	uint64_t entries, n;	/* where the first copy's begin; how many */
	bool	 apart;		/* those of the source are not right behind its
				 * header */
	uint64_t start;		/* the first one behind the table, and behind
				 * what the source's leaves there */
	uint64_t first, last;	/* usable */
	uint64_t backup;	/* header of the second copy; its entries come
				 * before it */
};

/* Where everything goes.  Returns 0, or -1 with *f. */
static int
gpt_place(const struct making *m, struct plan_gpt *g)
{
	const unsigned char *h = m->src->gpt.header;
	bool same = m->to->sector == m->src->sector;
	uint64_t from = le64dec(h + H_SELF) == 1 ? MAX(le64dec(h + H_ENTRIES),
	    2) : 2, needs;

	g->n = round_up(m->src->gpt.size, m->to->sector) / m->to->sector;
	g->entries = 2;
	/* they may lie farther out, to leave room for a boot loader */
	g->apart = from > 2;
	if (g->apart && !table_convert(m, from, &g->entries))
		return table_uneven(m, 0);
	g->entries = MAX(g->entries, 2);
	g->start = g->entries + g->n;
	if (!same && g->entries == 2)
		g->start = MAX(g->start, round_up(m->src->gpt.size + from *
		    m->src->sector, m->to->sector) / m->to->sector);
	if (le64dec(h + H_FIRST) > INT64_MAX / SECTOR_MOST)
		return table_too_small(m, INT64_MAX);
	g->first = MAX(howmany(le64dec(h + H_FIRST) * m->src->sector,
	    m->to->sector), 2);
	/* partitions may lie before entries that lie farther out */
	if (!g->apart || g->first >= g->entries)
		g->first = MAX(g->first, g->start);
	needs = MAX((MAX(g->first, g->start) + 1) * m->to->sector,
	    gpt_end(m->src)) + (g->n + 1) * m->to->sector;
	needs = MAX(needs, mbr_end(m->src));
	if (m->size < needs)
		return table_too_small(m, needs);
	g->backup = m->size / m->to->sector - 1;
	g->last = g->backup - g->n - 1;
	if (same && m->src->twice && le64dec(h + H_OTHER) == g->backup)
		g->last = MIN(g->last, le64dec(h + H_LAST));
	return 0;
}

/* Convert the entries "all" to what the target has. */
static int
gpt_convert(struct making *m, const struct plan_gpt *g, unsigned char *all)
{
	const struct gpt *from = &m->src->gpt;
	uint32_t each = le32dec(from->header + H_EACH);
	uint64_t first, last, number;
	unsigned char *e;

	for (e = all; e < all + from->size; e += each) {
		if (!entry_used(e))
			continue;
		number = (uint64_t)(e - all) / each + 1;
		first = le64dec(e + E_FIRST);
		last = le64dec(e + E_LAST);
		if (last < first || !table_convert(m, first, &first) ||
		    !table_convert(m, last + 1, &last))
			return table_uneven(m, number);
		if (first < 2 || (first < g->start && last > g->entries))
			return fault_set(m->f, STATUS_REFUSED, "%s: partition "
			    "%llu begins where the table of %s needs the first "
			    "%llu sectors of %u bytes", m->src->name,
			    (ull)number, m->dst->name, (ull)g->start,
			    m->to->sector);
		le64enc(e + E_FIRST, first);
		le64enc(e + E_LAST, last - 1);
		if (m->fresh && guid_fresh(m, e + E_GUID) != 0)
			return -1;
	}
	return 0;
}

/* A header, one of two that name each other. */
static void
gpt_header(const struct making *m, const struct plan_gpt *g,
    const unsigned char *guid, const unsigned char *entries, bool backup,
    unsigned char *h)
{
	const struct gpt *from = &m->src->gpt;
	uint32_t size = MIN(le32dec(from->header + H_SIZE), m->to->sector);

	memcpy(h, from->header, size);
	le32enc(h + H_SIZE, size);
	le64enc(h + H_SELF, backup ? g->backup : 1);
	le64enc(h + H_OTHER, backup ? 1 : g->backup);
	le64enc(h + H_FIRST, g->first);
	le64enc(h + H_LAST, g->last);
	memcpy(h + H_GUID, guid, GUID);
	le64enc(h + H_ENTRIES, backup ? g->backup - g->n : g->entries);
	le32enc(h + H_ENTRIES_CRC, gpt_crc(entries, from->size));
	le32enc(h + H_CRC, 0);
	le32enc(h + H_CRC, gpt_crc(h, size));
}

/*
 * The protective MBR spans the disk (UEFI 2.10, 5.2.3).  One with other
 * entries, too, is the work of a boot loader or of a person, and stays.
 */
static int
gpt_guard(struct making *m, unsigned char *mbr)
{
	uint64_t sectors = m->size / m->to->sector, most;
	unsigned char *guard = NULL, *e;
	size_t i, others = 0;

	for (i = 0; i < 4; i++) {
		e = mbr + MBR_ENTRIES + MBR_ENTRY * i;
		if (e[M_TYPE] == MBR_GPT && guard == NULL)
			guard = e;
		else if (e[M_TYPE] != 0)
			others++;
	}
	if (others > 0 && m->to->sector != m->src->sector)
		return fault_set(m->f, STATUS_REFUSED, "%s has a hybrid MBR, "
		    "which is not converted to sectors of %u bytes; table=keep "
		    "copies the table as it is", m->src->name, m->to->sector);
	if (guard == NULL)
		return 0;
	most = MIN(sectors - MIN(mbr_start(guard), sectors), UINT32_MAX);
	if (others == 0 || mbr_length(guard) > most)
		le32enc(guard + M_COUNT, (uint32_t)most);
	return 0;
}

/* The old backup, where the clone has it now, becomes zeros. */
static int
gpt_clear(struct making *m, const struct plan_gpt *g)
{
	uint32_t is = m->to->sector;
	uint64_t from = MAX(m->src->backup - m->src->backup % is,
	    gpt_end(m->src));
	uint64_t end = MIN(round_up(m->src->backup_end, is),
	    (g->backup - g->n) * is);

	if (m->src->backup == 0 || from < g->start * is || from >= end)
		return 0;
	return table_write_add(m, STEP_CLEAR, from, end - from) == NULL ? -1 :
	    0;
}

/*
 * The first sectors: the protective MBR, what a boot loader has behind it, and
 * the header; then the entries, and zeros over what the source's have left.
 */
static int
gpt_start(struct making *m, const struct plan_gpt *g, const unsigned char *guid,
    const unsigned char *entries)
{
	uint32_t was = m->src->sector, is = m->to->sector;
	unsigned char *at = table_write_add(m, STEP_START, 0,
	    UINT64_C(2) * is), *all;
	size_t old = g->apart ? was + SECTOR : is;

	if (at == NULL)
		return -1;
	memcpy(at, m->src->mbr, is);
	if (was < is)		/* the header was in the first sector */
		memset(at + was, 0, old - was);
	gpt_header(m, g, guid, entries, false, at + is);
	all = table_write_add(m, STEP_START, g->entries * is,
	    (g->start - g->entries) * is);
	if (all == NULL)
		return -1;
	memcpy(all, entries, m->src->gpt.size);
	if (was > is && g->entries > was / is &&
	    table_write_add(m, STEP_CLEAR, was, is) == NULL)
		return -1;
	return gpt_guard(m, at);
}

/* Whether the source's table is that of the target as it is. */
static bool
gpt_fits(const struct making *m)
{
	const unsigned char *h = m->src->gpt.header;
	const struct table_write *w = &m->to->write[1];

	return m->to->sector == m->src->sector && m->src->twice &&
	    m->src->backup_end <= m->copied &&
	    memcmp(w->data, m->src->mbr, SECTOR) == 0 &&
	    memcmp(w->data + m->to->sector, h, le32dec(h + H_SIZE)) == 0;
}

/* Both copies. */
static int
gpt_make(struct making *m)
{
	uint32_t is = m->to->sector;
	unsigned char guid[GUID], *at;
	struct plan_gpt g = { 0 };

	if (gpt_place(m, &g) != 0)
		return -1;
	memcpy(guid, m->src->gpt.header + H_GUID, GUID);
	if (m->fresh && guid_fresh(m, guid) != 0)
		return -1;
	at = table_write_add(m, STEP_SPARE, (g.backup - g.n) * is,
	    (g.n + 1) * is);
	if (at == NULL)
		return -1;
	memcpy(at, m->src->gpt.entries, m->src->gpt.size);
	if (gpt_convert(m, &g, at) != 0)
		return -1;
	gpt_header(m, &g, guid, at, true, at + g.n * is);
	if (gpt_start(m, &g, guid, at) != 0 || gpt_clear(m, &g) != 0)
		return -1;
	if (gpt_fits(m))
		table_writes_free(m->to);
	return 0;
}

/* --- MBR ------------------------------------------------------------------ */

/* Convert an entry.  Returns 0, or -1 with *f. */
static int
boot_convert(struct making *m, unsigned char *e)
{
	uint64_t start = mbr_start(e), count = mbr_length(e);

	if (e[M_TYPE] == 0 || count == 0)
		return 0;
	if (!table_convert(m, start, &start) ||
	    !table_convert(m, count, &count) || start > UINT32_MAX ||
	    count > UINT32_MAX)
		return fault_set(m->f, STATUS_REFUSED, "%s: its MBR cannot "
		    "count in the sectors of %u bytes that %s has: a "
		    "partition begins or ends within one, or is too far out",
		    m->src->name, m->to->sector, m->dst->name);
	le32enc(e + M_START, (uint32_t)start);
	le32enc(e + M_COUNT, (uint32_t)count);
	return 0;
}

/* Convert all entries of a boot record, and add it to what is written. */
static int
boot_add(struct making *m, unsigned step, uint64_t at,
    const unsigned char *from)
{
	unsigned char *to;
	size_t i;

	if (at % m->to->sector != 0)
		return table_uneven(m, 0);
	to = table_write_add(m, step, at, m->to->sector);
	if (to == NULL)
		return -1;
	memcpy(to, from, m->to->sector);
	for (i = 0; i < 4; i++)
		if (boot_convert(m, to + MBR_ENTRIES + MBR_ENTRY * i) != 0)
			return -1;
	return 0;
}

/* An extended partition may end behind its last logical one. */
static void
boot_cut(const struct making *m, unsigned char *mbr)
{
	uint64_t sectors = m->size / m->to->sector, start;
	unsigned char *e = mbr + MBR_ENTRIES;
	size_t i;

	for (i = 0; i < 4; i++, e += MBR_ENTRY) {
		start = mbr_start(e);
		if (mbr_extended(e) && start < sectors &&
		    mbr_length(e) > sectors - start)
			le32enc(e + M_COUNT, (uint32_t)(sectors - start));
	}
}

static int
mbr_make(struct making *m)
{
	const struct source_table *src = m->src;
	bool same = m->to->sector == src->sector;
	uint64_t needs = source_table_needs(src);
	unsigned char *mbr;
	size_t i;

	if (needs > m->size)
		return table_too_small(m, needs);
	for (i = 0; !same && i < src->records; i++)
		if (boot_add(m, STEP_SPARE, src->record[i].at,
		    src->record[i].sector) != 0)
			return -1;
	if (boot_add(m, STEP_START, 0, src->mbr) != 0)
		return -1;
	mbr = m->to->write[m->to->n - 1].data;
	boot_cut(m, mbr);
	if (m->fresh && getrandom(mbr + M_SIGNATURE, 4, 0) != 4)
		return fault_errno(m->f, errno, "random numbers for the "
		    "partition table");
	if (same && memcmp(mbr, src->mbr, m->to->sector) == 0)
		table_writes_free(m->to);
	return 0;
}

/* --- what else has to be said -------------------------------------------- */

/* The largest sectors that a file system can have, by its own word, or 0. */
static uint32_t
volume_sector(const unsigned char *start)
{
	const unsigned char *ext = start + 1024;

	if (memcmp(start + 3, "EXFAT   ", 8) == 0 && start[108] < 16)
		return UINT32_C(1) << start[108];
	if (memcmp(start + 3, "NTFS    ", 8) == 0 ||
	    memcmp(start + 54, "FAT", 3) == 0 ||
	    memcmp(start + 82, "FAT", 3) == 0)
		return le16dec(start + 11);
	if (memcmp(start, "XFSB", 4) == 0)
		return be16dec(start + 102);
	if (le16dec(ext + 56) == 0xef53 && le32dec(ext + 24) < 7)
		return UINT32_C(1024) << le32dec(ext + 24);
	return 0;
}

/* Add a partition to a list, or ", ..." where that has no room for it. */
static void
list_add(char *list, size_t room, unsigned number, const char *command)
{
	const char *dots = ", ...";
	char one[80];

	snprintf(one, sizeof(one), "%s%u%s%s", list[0] != '\0' ? ", " : "",
	    number, command[0] != '\0' ? ": " : "", command);
	if (strstr(list, dots) == NULL)
		strlcat(list, strlen(list) + strlen(one) + strlen(dots) < room ?
		    one : dots, room);
}

/* What gives a file system another UUID. */
static void
renewal_add(struct clone_table *t, unsigned number, const char *type)
{
	static const struct { const char *type, *command; } known[] = {
		{ "ext", "tune2fs -U random" },
		{ "xfs", "xfs_admin -U generate" },
		{ "btrfs", "btrfstune -u" }, { "vfat", "mlabel -n" },
		{ "ntfs", "ntfslabel --new-serial" },
		{ "swap", "swaplabel -U $(uuidgen)" },
		{ "crypto_LUKS", "cryptsetup luksUUID --uuid $(uuidgen)" },
	};
	size_t k;

	for (k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		if (strncmp(type, known[k].type, strlen(known[k].type)) == 0)
			list_add(t->renew, sizeof(t->renew), number,
			    known[k].command);
}

/* What has to be said of the file systems, if anything. */
static void
table_note_volumes(const struct making *m, struct endpoint *ep)
{
	const struct parts *t = &m->src->parts;
	uint32_t sector;
	struct volume v;
	size_t i;

	for (i = 0; i < t->n && (m->fresh || m->to->sector > t->sector); i++) {
		parts_volume(ep, t->part[i].start, t->part[i].length, &v);
		sector = volume_sector(v.head);
		if (sector != 0 && sector < m->to->sector)
			list_add(m->to->unmountable,
			    sizeof(m->to->unmountable), t->part[i].number, "");
		if (m->fresh && !t->part[i].container)
			renewal_add(m->to, t->part[i].number, v.type);
	}
}

int
clone_table_make(struct clone_table **made, const struct source_table *src,
    const struct plan *p, bool fresh, struct fault *f)
{
	struct clone_table *t = calloc(1, sizeof(*t));
	struct making m = { .src = src, .to = t, .dst = p->dst,
		.copied = p->length, .fresh = fresh, .f = f };
	uint64_t end = p->length;

	*made = t;
	if (t == NULL)
		return fault_errno(f, ENOMEM, "the partition table");
	t->sector = p->dst->geo.block > 0 ? p->dst->geo.block : src->sector;
	if (t->sector < SECTOR || t->sector > SECTOR_MOST)
		return fault_set(f, STATUS_REFUSED, "%s has blocks of %u "
		    "bytes: no partition table is made for them", p->dst->name,
		    t->sector);
	/* a longer file keeps its length, unless it is cut off */
	if (p->dst->geo.size > 0 && p->truncate < 0)
		end = MAX(end, (uint64_t)p->dst->geo.size);
	if (p->dst->geo.room >= 0)
		end = MIN(end, (uint64_t)p->dst->geo.room);
	m.size = end - end % t->sector;
	t->kind = src->gpt.entries != NULL ? "GPT" : "MBR";
	table_note_volumes(&m, p->src);
	return src->gpt.entries != NULL ? gpt_make(&m) : mbr_make(&m);
}

void
clone_table_free(struct clone_table *t)
{
	if (t != NULL)
		table_writes_free(t);
	free(t);
}
