/*
 * Partition tables, and signatures of file systems, RAID and tables, by
 * libblkid.
 *
 * Nothing on a disk is trusted.  Before libblkid reads a table, its headers are
 * checked: at most ENTRIES_MOST bytes of GPT entries, and at most
 * MBR_LINKS_MOST logical partitions.  Its results are used with checked
 * arithmetic.  For an MBR libblkid counts sectors of 512 bytes in 32 bits,
 * which is too small for large disks with sectors of 4096 bytes; there the four
 * primary partitions are read here.
 *
 * Views.  A file or block device has a descriptor of its own.  For a SCSI end,
 * the relevant pieces are read into a sparse file in memory that is as long as
 * the disk.
 *
 * libblkid reads a block here and there, fifty times, each a request to a disk
 * that is not in the page cache.  So most of these blocks are read in advance,
 * by a few large requests.
 *
 * For the target of a rescue, such a file gets only data read from the source,
 * because the rest may still have the table of an earlier use of the disk.
 */
#include "part/parts.h"

#include <blkid/blkid.h>
#include <bsd/string.h>
#include <bsd/sys/endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"
#include "base/status.h"
#include "disk/mbr.h"

/* --- views --------------------------------------------------------------- */

enum {
	PIECE = 512 << 10,	/* bytes per read, at most */
	SMALL = 64 << 10,	/* accepted by any host */
	SECTOR = 512,		/* bytes: smallest read of a rescue, and the
				 * unit of libblkid and most images */
	LARGE_SECTOR = 4096,	/* bytes */
};

/* Read a piece of a SCSI disk, or of the target of a rescue. */
static void
view_bring(const struct view *v, struct io *io)
{
	ssize_t n;

	if (v->ep->is.probed) {
		endpoint_probe(v->ep, io);
		return;
	}
	memset(io->buf, 0, io->len);
	n = pread(v->from, io->buf, io->len, (off_t)io->off);
	io->err = n < 0 ? errno : 0;
	io->done = io->len;		/* a file may be shorter */
}

/* Zero what a rescue has not read, because it is not from the source. */
static void
view_forget(const struct view *v, const struct io *io)
{
	uint64_t off, end = io->off + io->done, n;

	for (off = io->off; v->map != NULL && off < end; off += SECTOR) {
		n = off < v->filled ? v->filled - off : 0;
		n = n < SECTOR ? n : SECTOR;
		if (n == 0 || !map_all(v->map, off, n, FINISHED))
			memset(io->buf + (off - io->off), 0, SECTOR);
	}
}

/* Bytes per read: bpt= may be set because the host accepts no more. */
static size_t
view_piece(const struct view *v, uint32_t block)
{
	int64_t bpt = v->ep->spec.bpt;
	size_t most = PIECE;

	if (bpt > 0 && bpt < PIECE / block)
		most = MAX((size_t)bpt * block, SMALL);
	return most - most % block;
}

/* Read from "off" to "end" into the file in memory. */
static int
view_copy(const struct view *v, uint64_t off, uint64_t end)
{
	uint32_t block = v->ep->geo.block > 0 ? v->ep->geo.block : SECTOR;
	size_t most = view_piece(v, block);
	struct io io = { .op = OP_READ };

	io.buf = page_alloc(PIECE);
	if (io.buf == NULL)
		return ENOMEM;
	for (io.off = off - off % block; io.off < end && io.err == 0;
	    io.off += io.done) {
		io.len = end - io.off < most ? (size_t)round_up(end - io.off,
		    block) : most;
		view_bring(v, &io);
		view_forget(v, &io);
		if (io.err == 0 && (io.done == 0 || pwrite(v->fd, io.buf,
		    io.done, (off_t)io.off) != (ssize_t)io.done))
			io.err = EIO;
	}
	free(io.buf);
	return io.err;
}

int
view_fill(const struct view *v, uint64_t off, uint64_t len)
{
	uint64_t end;

	if (off >= v->filled)
		return 0;
	end = len < v->filled - off ? off + len : v->filled;
	if (off < v->edge)
		off = v->edge;
	if (end > v->size - v->edge)
		end = v->size - v->edge;
	if (off >= end)
		return 0;
	if (v->sparse)
		return view_copy(v, off, end);
	if (v->ep->is.device)
		posix_fadvise(v->fd, (off_t)off, (off_t)(end - off),
		    POSIX_FADV_WILLNEED);
	return 0;
}

/* The same for the first and the last "edge" bytes of a range. */
static int
view_fill_ends(const struct view *v, uint64_t off, uint64_t len, uint64_t edge)
{
	int err;

	if (len <= 2 * edge)
		return view_fill(v, off, len);
	err = view_fill(v, off, edge);
	return err != 0 ? err : view_fill(v, off + len - edge, edge);
}

int
view_edges(struct view *v, uint64_t edge)
{
	int err;

	if (edge <= v->edge)
		return 0;
	err = view_fill_ends(v, 0, v->size, edge);
	v->edge = err == 0 ? MIN(edge, v->size) : 0;
	return err;
}

/* Make the empty file in memory. */
static int
make_sparse(struct view *v)
{
	v->fd = memfd_create("pardd", MFD_CLOEXEC);
	return v->fd < 0 || ftruncate(v->fd, (off_t)v->size) != 0 ? errno : 0;
}

/* A file in memory in the place of the contents of an end. */
static int
view_empty(struct view *v)
{
	v->fd = v->from = -1;
	v->sparse = true;
	if (!v->ep->is.probed) {
		v->from = endpoint_view(v->ep, &v->cached);
		if (v->from < 0)
			return errno;
	}
	return make_sparse(v);
}

/*
 * The target of a rescue: what was read of "whole", according to the map, and
 * zeros elsewhere.
 */
static int
view_rescued(struct view *v, struct endpoint *ep, const struct endpoint *whole,
    struct map *map)
{
	*v = (struct view){ .ep = ep, .size = (uint64_t)whole->geo.size,
		.sector = whole->geo.block, .filled = map_totals(map).end,
		.map = map };
	return view_empty(v);
}

/* An end that is to be overwritten: zeros, but for what view_fill reads. */
static int
view_bare(struct view *v, struct endpoint *ep)
{
	*v = (struct view){ .ep = ep, .size = (uint64_t)ep->geo.size,
		.sector = ep->geo.block, .filled = (uint64_t)ep->geo.size };
	return view_empty(v);
}

int
view_open(struct view *v, struct endpoint *ep)
{
	*v = (struct view){ .ep = ep, .fd = -1, .from = -1,
		.size = (uint64_t)(ep->lim.part > 0 ? ep->lim.disk_size :
		    ep->geo.size),
		.sector = ep->geo.block };
	v->filled = v->size;
	v->sparse = ep->is.probed;
	if (v->sparse)
		return make_sparse(v);
	v->fd = endpoint_view(ep, &v->cached);
	return v->fd < 0 ? errno : 0;
}

void
view_close(struct view *v)
{
	int fd = v->from >= 0 ? v->from : v->fd;

	if (fd >= 0 && !v->cached && (v->from >= 0 || !v->sparse))
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (v->from >= 0)
		close(v->from);
	if (v->fd >= 0)
		close(v->fd);
}

/*
 * Whether the contents of a range are known: a rescue may not have read them.
 */
static bool
view_known(const struct view *v, uint64_t off, uint64_t len)
{
	return v->map == NULL || map_all(v->map, off, len, FINISHED);
}

bool
view_read(const struct view *v, uint64_t off, unsigned char *buf, size_t len)
{
	return off <= v->size && len <= v->size - off && pread(v->fd, buf, len,
	    (off_t)off) == (ssize_t)len;
}

/* --- tables -------------------------------------------------------------- */

enum {
	GPT_ENTRIES = 16 << 10,	/* bytes, at least: UEFI 2.10 5.3.1 */
};

/* --- checks before libblkid ---------------------------------------------- */

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

/* --- the table ----------------------------------------------------------- */

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
	else {
		t->cut = has_gpt(v, t->sector, header) &&
		    le64dec(header + 32) >= v->size / t->sector;
		parts_keep_text(t->wrong, sizeof(t->wrong), t->cut ?
		    "its GPT is made for a larger disk" :
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
 * Bytes.  An image does not say what sectors its disk had, but the place
 * of a GPT does.
 */
static uint32_t
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

/* Read the table from a view.  Returns 0 or an errno value. */
static int
parts_read_table(struct view *v, struct parts *t)
{
	unsigned char mbr[SECTOR];
	int err;

	t->size = v->size;
	if (v->size < SECTOR)
		return 0;
	err = v->sparse ? view_edges(v, TABLES_EDGE) : 0;
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

/* --- signatures ---------------------------------------------------------- */

enum {
	SIGNS_MOST = 256,	/* of a disk, at most */
	AREA_SIGNS = 16,	/* of an area: the whole disk, or a partition */
};

struct signs {
	struct sign	*sign;
	size_t		 n, room;
	uint64_t	 from, to;	/* bytes */
};

static const char *
signs_value(blkid_probe pr, const char *name)
{
	const char *text;

	return blkid_probe_lookup_value(pr, name, &text, NULL) == 0 ? text :
	    NULL;
}

/* Add a signature: a file system, or a partition table. */
static void
note_sign(struct signs *s, blkid_probe pr, uint64_t start)
{
	bool table = signs_value(pr, "TYPE") == NULL;
	const char *type = signs_value(pr, table ? "PTTYPE" : "TYPE");
	const char *at = signs_value(pr, table ? "PTMAGIC_OFFSET" :
	    "SBMAGIC_OFFSET");
	struct sign *to = &s->sign[s->n];

	if (type == NULL || at == NULL || s->n == s->room)
		return;
	to->off = start + strtoull(at, NULL, 10);
	if (to->off < s->from || to->off >= s->to)
		return;
	to->table = table;
	parts_keep_text(to->type, sizeof(to->type), type);
	parts_keep_text(to->label, sizeof(to->label), signs_value(pr, "LABEL"));
	s->n++;
}

/* Examine one area: the whole disk, or a partition. */
static void
probe_area(const struct view *v, uint64_t start, uint64_t length,
    uint32_t sector, bool tables, struct signs *s)
{
	blkid_probe pr = blkid_new_probe();
	int refused;
	unsigned i;

	if (pr == NULL)
		return;
	refused = blkid_probe_set_device(pr, v->fd, (blkid_loff_t)start,
	    (blkid_loff_t)length);
	refused |= blkid_probe_set_sectorsize(pr, sector);
	refused |= blkid_probe_enable_superblocks(pr, 1);
	refused |= blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE |
	    BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC);
	refused |= blkid_probe_enable_partitions(pr, tables);
	refused |= blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC);
	if (refused == 0)
		for (i = 0; i < AREA_SIGNS && blkid_do_probe(pr) == 0; i++)
			note_sign(s, pr, start);
	blkid_free_probe(pr);
}

/* Whether something is looked for in a partition. */
static bool
part_matters(const struct view *v, const struct part *p, const struct signs *s)
{
	uint64_t end = part_end(p);

	return !p->container && p->start > 0 && end <= v->size &&
	    p->start < s->to && end > s->from;
}

/*
 * The size of a file system: a number of units, both in its first 2 KiB, or in
 * the first descriptor of an ISO 9660.  libblkid has it only from 2.39 on.
 */
static void
volume_measure(const struct view *view, uint64_t off, struct volume *v)
{
	const unsigned char *h = v->head, *ext = h + 1024;
	unsigned char iso[132];
	uint64_t units = 0, unit = 0;

	if (strncmp(v->type, "ext", 3) == 0 && le32dec(ext + 24) <= 6) {
		units = le32dec(ext + 4);
		if ((le32dec(ext + 96) & 0x80) != 0)	/* 64bit */
			units |= (uint64_t)le32dec(ext + 0x150) << 32;
		unit = 1024U << le32dec(ext + 24);
	} else if (strcmp(v->type, "xfs") == 0) {
		units = be64dec(h + 8);
		unit = be32dec(h + 4);
	} else if (strcmp(v->type, "exfat") == 0 && h[108] <= 12) {
		units = le64dec(h + 72);
		unit = 1U << h[108];
	} else if (strcmp(v->type, "ntfs") == 0) {
		units = le64dec(h + 40);
		unit = le16dec(h + 11);
	} else if (strcmp(v->type, "vfat") == 0) {
		units = le16dec(h + 19) != 0 ? le16dec(h + 19) : le32dec(h +
		    32);
		unit = le16dec(h + 11);
	} else if (strcmp(v->type, "iso9660") == 0 &&
	    view_read(view, off + (32 << 10), iso, sizeof(iso)) &&
	    memcmp(iso, "\1CD001", 6) == 0) {
		units = le32dec(iso + 80);
		unit = le16dec(iso + 128);
	}
	if (__builtin_mul_overflow(units, unit, &v->size))
		v->size = 0;
}

/* Identify what a range of a view has. */
static void
volume_identify(const struct view *v, uint64_t off, uint64_t length,
    struct volume *to)
{
	struct sign sign[AREA_SIGNS];
	struct signs s = { .sign = sign, .room = AREA_SIGNS, .from = off,
		.to = UINT64_MAX };
	size_t i = 0;

	probe_area(v, off, length, parts_sector_of(v), false, &s);
	/* a shorter end leaves zeros after its last byte */
	to->read &= pread(v->fd, to->head, sizeof(to->head), (off_t)off) > 0;
	to->signs = s.n;
	if (s.n > 0)
		parts_keep_text(to->first, sizeof(to->first), sign[0].type);
	while (i < s.n && sign[i].off - off >= SIGNS_EDGE)
		i++;
	if (i == s.n)
		return;
	parts_keep_text(to->type, sizeof(to->type), sign[i].type);
	parts_keep_text(to->label, sizeof(to->label), sign[i].label);
	to->at = sign[i].off;
	volume_measure(v, off, to);
}

/* Tables that libblkid does not know, of a disk without another. */
static void
note_old_table(const struct view *v, struct signs *s)
{
	unsigned char b[SECTOR];
	bool amiga;
	uint64_t at;

	for (at = 0; s->n == 0 && at < UINT64_C(16) * SECTOR &&
	    view_read(v, at, b, SECTOR); at += SECTOR) {
		amiga = memcmp(b, "RDSK", 4) == 0;
		if (at < s->from || at >= s->to || (!amiga &&
		    memcmp(b + 64, "WEV\x82", 4) != 0))
			continue;
		s->sign[s->n] = (struct sign){ .off = at, .table = true };
		parts_keep_text(s->sign[s->n++].type, sizeof(s->sign->type),
		    amiga ? "amiga" : "bsd");
	}
}

void
parts_volume(struct endpoint *ep, uint64_t off, uint64_t length,
    struct volume *to)
{
	struct view v;

	*to = (struct volume){ .type = "" };
	if (!parts_possible(ep))
		return;
	if (view_open(&v, ep) == 0 && off < v.size && length <= v.size - off) {
		to->read = view_fill_ends(&v, off, length, SIGNS_EDGE) == 0;
		volume_identify(&v, off, length, to);
	}
	view_close(&v);
}

void
parts_contents(int fd, uint64_t length, struct volume *to)
{
	const struct view v = { .fd = fd, .from = -1, .size = length,
		.sector = SECTOR };

	*to = (struct volume){ .read = true };
	volume_identify(&v, 0, length, to);
}

size_t
parts_signs(struct endpoint *ep, uint64_t from, uint64_t to, struct sign **sign)
{
	struct signs s = { .room = SIGNS_MOST, .from = from, .to = to };
	struct parts t = { .sector = SECTOR };
	struct view v = { .fd = -1 };
	size_t i;

	*sign = NULL;
	if (!parts_possible(ep))
		return 0;
	s.sign = calloc(SIGNS_MOST, sizeof(*s.sign));
	if (s.sign != NULL && view_open(&v, ep) == 0 &&
	    view_edges(&v, SIGNS_EDGE) == 0 && parts_read_table(&v, &t) == 0) {
		/* all are asked for before the first is waited for */
		for (i = 0; i < t.n; i++)
			if (part_matters(&v, &t.part[i], &s))
				view_fill_ends(&v, t.part[i].start,
				    t.part[i].length, SIGNS_EDGE);
		probe_area(&v, 0, v.size, t.sector, t.wrong[0] == '\0', &s);
		for (i = 0; i < t.n; i++)
			if (part_matters(&v, &t.part[i], &s))
				probe_area(&v, t.part[i].start,
				    t.part[i].length, t.sector, false, &s);
		note_old_table(&v, &s);
	}
	parts_free(&t);
	view_close(&v);
	*sign = s.sign;
	return s.n;
}

/* The backup, in the last sector, of a GPT that does not outlive the copy. */
static void
note_backup(const struct view *v, uint32_t sector, struct signs *s)
{
	uint64_t at = v->size - v->size % sector - sector;
	unsigned char h[8];

	if (s->n < s->room && s->from > sector && at >= s->from &&
	    view_read(v, at, h, 8) && memcmp(h, "EFI PART", 8) == 0)
		s->sign[s->n++] = (struct sign){ .off = at, .table = true,
			.type = "gpt" };
}

size_t
parts_remains(struct endpoint *ep, uint64_t from, struct sign **sign)
{
	struct signs s = { .room = AREA_SIGNS, .from = from,
		.to = UINT64_MAX };
	struct view v = { .fd = -1, .from = -1 };
	uint64_t edge;

	*sign = NULL;
	if (!parts_possible(ep) || ep->lim.part > 0 ||
	    (uint64_t)ep->geo.size <= from)
		return 0;
	s.sign = calloc(AREA_SIGNS + 2, sizeof(*s.sign));
	edge = MIN((uint64_t)ep->geo.size - from, SIGNS_EDGE);
	if (s.sign != NULL && view_bare(&v, ep) == 0 &&
	    view_fill(&v, v.size - edge, edge) == 0) {
		probe_area(&v, 0, v.size, parts_sector_of(&v), false, &s);
		s.room = AREA_SIGNS + 2;
		note_backup(&v, SECTOR, &s);
		note_backup(&v, LARGE_SECTOR, &s);
	}
	view_close(&v);
	*sign = s.sign;
	return s.n;
}
