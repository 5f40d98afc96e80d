/*
 * NTFS: the bits of $Bitmap.
 *
 * There is no public standard.  The structures are those of the Linux kernel's
 * fs/ntfs3 and of ntfs-3g (layout.h, logfile.h); what makes a $LogFile clean is
 * what ntfs-3g takes for it (logfile.c), and the version that Windows leaves in
 * it while it keeps the volume open, over a hibernation too ("fast startup").
 */
#include <stdlib.h>
#include <string.h>

#include "fskinds.h"

enum {				/* of the boot sector */
	BOOT = 512,
	B_OEM = 3, B_SECTOR = 11, B_CLUSTER = 13, B_SECTORS = 40, B_MFT = 48,
	B_MIRROR = 56, B_RECORD = 64,
};

enum {				/* of a record of $MFT, and its attributes */
	RECORD_MOST = 4096, STRIDE = 512,
	R_FIX = 4, R_FIXES = 6, R_ATTRIBUTES = 20, R_FLAGS = 22,
	R_IN_USE = 1, R_FOLDER = 2,
	A_LENGTH = 4, A_OUTSIDE = 8, A_NAMED = 9,
	A_VALUE_SIZE = 16, A_VALUE = 20, A_INSIDE_SIZE = 24,
	A_FIRST = 16, A_RUNS = 32, A_SIZE = 48, A_VALID = 56,
	A_OUTSIDE_SIZE = 64,
	AT_LIST = 0x20, AT_LABEL = 0x60, AT_VOLUME = 0x70, AT_DATA = 0x80,
	AT_INDEX = 0xa0, AT_BITMAP = 0xb0,
};

enum {				/* the first records */
	N_MFT, N_MIRROR, N_LOG, N_VOLUME, N_ROOT = 5, N_BITMAP, N_BAD = 8,
	N_SYSTEM = 12,		/* how many there are */
	N_MIRRORED = 4,
};

enum {				/* of $Volume, and of $LogFile */
	V_FLAGS = 10, V_SIZE = 12,
	V_DIRTY = 0x1 | 0x2 | 0x10 | 0x4000,
	L_PAGE = 4096, L_AREA = 24, L_MAJOR = 28, L_CLIENTS = 12, L_FLAGS = 14,
	L_NOBODY = 0xffff, L_CLEAN = 2,
};

struct ntfs {
	struct fs_io	*io;
	uint64_t	 cluster;	/* bytes */
	uint64_t	 clusters;
	bool		 longer;	/* these are not all */
	uint64_t	 mft, mirror;	/* bytes */
	uint32_t	 record;	/* bytes */
	uint64_t	 lost;		/* bytes of $Bitmap */
	unsigned char	*buf;		/* FS_PIECE */
};

struct run {			/* of clusters */
	const unsigned char *at, *end;	/* what is still to be read */
	uint64_t lcn, n;
	bool	 hole;
};

/* ----------------------------------------------------------- structures */

static bool
geometry(struct ntfs *n, const unsigned char *b)
{
	uint64_t sector = fs_le(b + B_SECTOR, 2), per = b[B_CLUSTER];
	int8_t record = (int8_t)b[B_RECORD];
	uint64_t size;

	if (memcmp(b + B_OEM, "NTFS    ", 8) != 0 ||
	    fs_le(b + 510, 2) != 0xaa55)
		return false;
	if (per > 128)
		per = 256 - per < 32 ? UINT64_C(1) << (256 - per) : 0;
	n->cluster = sector * per;
	if (per == 0 || !fs_power_of_two(sector) || sector < 256 ||
	    sector > 4096 || !fs_power_of_two(per) || n->cluster > 2 << 20)
		return false;
	n->clusters = fs_le(b + B_SECTORS, 8) / per;
	if (n->clusters == 0 || n->clusters > INT64_MAX / n->cluster ||
	    fs_le(b + B_MFT, 8) >= n->clusters ||
	    fs_le(b + B_MIRROR, 8) >= n->clusters)
		return false;
	n->clusters = fs_clamp(n->io, n->clusters, n->cluster, &n->longer);
	n->mft = fs_le(b + B_MFT, 8) * n->cluster;
	n->mirror = fs_le(b + B_MIRROR, 8) * n->cluster;
	size = record > 0 ? (uint64_t)record * n->cluster :
	    record > -13 ? UINT64_C(1) << -record : 0;
	n->record = (uint32_t)size;
	return fs_power_of_two(size) && size >= STRIDE && size <= RECORD_MOST;
}

/* Undo the fix-ups; false where what was written is not of one piece. */
static bool
mend(unsigned char *p, size_t size, const char *magic)
{
	size_t fix = (size_t)fs_le(p + R_FIX, 2), i;
	size_t fixes = (size_t)fs_le(p + R_FIXES, 2);

	if (memcmp(p, magic, 4) != 0 || fixes != size / STRIDE + 1 ||
	    fix + fixes * 2 > size)
		return false;
	for (i = 1; i < fixes; i++) {
		if (memcmp(p + i * STRIDE - 2, p + fix, 2) != 0)
			return false;
		memcpy(p + i * STRIDE - 2, p + fix + i * 2, 2);
	}
	return true;
}

/* The next attribute of a kind (0: any) behind "a", or NULL. */
static const unsigned char *
attribute(const struct ntfs *n, const unsigned char *r, const unsigned char *a,
    uint32_t kind)
{
	size_t at = a == NULL ? (size_t)fs_le(r + R_ATTRIBUTES, 2) :
	    (size_t)(a - r) + (size_t)fs_le(a + A_LENGTH, 4), len;
	uint32_t type;

	for (; at + A_INSIDE_SIZE <= n->record; at += len) {
		type = (uint32_t)fs_le(r + at, 4);
		len = (size_t)fs_le(r + at + A_LENGTH, 4);
		if (type == UINT32_MAX || len < A_INSIDE_SIZE ||
		    len > n->record - at ||
		    (r[at + A_OUTSIDE] != 0 && len < A_OUTSIDE_SIZE))
			return NULL;
		if (kind == 0 || (type == kind && r[at + A_NAMED] == 0))
			return r + at;
	}
	return NULL;
}

/* The value of an attribute that lies in the record, of at least "size". */
static const unsigned char *
value(const unsigned char *a, size_t size, size_t *has)
{
	size_t at, n;

	if (a == NULL || a[A_OUTSIDE] != 0)
		return NULL;
	at = (size_t)fs_le(a + A_VALUE, 2);
	n = (size_t)fs_le(a + A_VALUE_SIZE, 4);
	if (at > fs_le(a + A_LENGTH, 4) || n > fs_le(a + A_LENGTH, 4) - at ||
	    n < size)
		return NULL;
	*has = n;
	return a + at;
}

/* The runs of an attribute that lies outside of its record. */
static struct run
runs(const unsigned char *a)
{
	size_t at = (size_t)fs_le(a + A_RUNS, 2);
	size_t len = (size_t)fs_le(a + A_LENGTH, 4);

	return (struct run){ .at = a + (at < len ? at : len), .end = a + len };
}

/* The next run; false at the end, and where it leaves the volume. */
static bool
next(const struct ntfs *n, struct run *r)
{
	int size, place;
	uint64_t move;

	if (r->at >= r->end || *r->at == 0)
		return false;
	size = *r->at & 15;
	place = *r->at >> 4;
	if (size == 0 || size > 8 || place > 8 ||
	    r->end - r->at < 1 + size + place)
		return false;
	r->n = fs_le(r->at + 1, size);
	move = fs_le(r->at + 1 + size, place);
	if (place > 0 && place < 8 && (r->at[size + place] & 0x80) != 0)
		move |= ~UINT64_C(0) << (8 * place);
	r->hole = place == 0;
	r->lcn += move;
	r->at += 1 + size + place;
	return r->n > 0 && r->n <= n->clusters &&
	    (r->hole || (r->lcn < n->clusters && r->n <= n->clusters - r->lcn));
}

/* Where a byte of an attribute's contents lies, or UINT64_MAX. */
static uint64_t
place(const struct ntfs *n, const unsigned char *a, uint64_t off)
{
	struct run r = runs(a);

	while (next(n, &r)) {
		if (off < r.n * n->cluster)
			return r.hole ? UINT64_MAX : r.lcn * n->cluster + off;
		off -= r.n * n->cluster;
	}
	return UINT64_MAX;
}

/* One of the first records, by the runs of $MFT itself. */
static bool
system_record(struct ntfs *n, unsigned number, unsigned char *r)
{
	uint64_t at = n->mft;
	const unsigned char *data;

	if (fs_get(n->io, at, r, n->record) == 0 && mend(r, n->record,
	    "FILE")) {
		data = attribute(n, r, NULL, AT_DATA);
		if (number == 0 && data != NULL)
			return true;
		at = data != NULL && data[A_OUTSIDE] != 0 ?
		    place(n, data, (uint64_t)number * n->record) : UINT64_MAX;
	} else {
		at += (uint64_t)number * n->record;
	}
	if (at != UINT64_MAX && fs_get(n->io, at, r, n->record) == 0 &&
	    mend(r, n->record, "FILE"))
		return true;
	return !fs_exact(n->io) && number < N_MIRRORED && fs_get(n->io,
	    n->mirror + (uint64_t)number * n->record, r, n->record) == 0 &&
	    mend(r, n->record, "FILE");
}

/* -------------------------------------------------------------- judging */

static bool
filled(const unsigned char *p, size_t n, unsigned char with)
{
	size_t i;

	for (i = 0; i < n && p[i] == with; i++)
		;
	return i == n;
}

/* A page with the state of the log: false if it says that it is open. */
static bool
closed(const unsigned char *page)
{
	size_t area = (size_t)fs_le(page + L_AREA, 2);

	if (area > L_PAGE - 32 || fs_le(page + L_MAJOR, 2) >= 2)
		return false;
	return fs_le(page + area + L_CLIENTS, 2) == L_NOBODY ||
	    (fs_le(page + area + L_FLAGS, 2) & L_CLEAN) != 0;
}

/*
 * It begins with two pages that tell its state, in turn; the later one counts.
 * As long as either says that it is open, or says nothing, it is not proven to
 * be closed.  A log that is filled with FFh is empty.
 */
static void
judge_log(struct ntfs *n, unsigned char *r)
{
	const unsigned char *a;
	uint64_t at;
	int i, sound = 0;

	a = system_record(n, N_LOG, r) ? attribute(n, r, NULL, AT_DATA) : NULL;
	for (i = 0; a != NULL && a[A_OUTSIDE] != 0 && i < 2; i++) {
		at = place(n, a, (uint64_t)i * L_PAGE);
		if (at == UINT64_MAX || fs_get(n->io, at, n->buf, L_PAGE) != 0)
			break;
		if (filled(n->buf, L_PAGE, 0xff)) {
			sound++;
		} else if (mend(n->buf, L_PAGE, "RSTR") ||
		    mend(n->buf, L_PAGE, "CHKD")) {
			sound++;
			if (!closed(n->buf))
				fs_doubt(n->io, FS_DIRTY, "its $LogFile is "
				    "open: not shut down, or hibernated");
		}
	}
	if (sound < 2)
		fs_doubt(n->io, FS_DAMAGED, "its $LogFile cannot be read");
}

static void
judge_volume(struct ntfs *n, unsigned char *r)
{
	const unsigned char *v;
	size_t has = 0;

	if (!system_record(n, N_VOLUME, r)) {
		fs_doubt(n->io, FS_DAMAGED, "its $Volume cannot be read");
		return;
	}
	v = value(attribute(n, r, NULL, AT_LABEL), 0, &has);
	if (v != NULL)
		fs_label_utf16(n->io, v, has / 2);
	v = value(attribute(n, r, NULL, AT_VOLUME), V_SIZE, &has);
	if (v == NULL)
		fs_doubt(n->io, FS_DAMAGED, "its $Volume is wrong");
	else if ((fs_le(v + V_FLAGS, 2) & V_DIRTY) != 0)
		fs_doubt(n->io, FS_DIRTY, "it is marked dirty: chkdsk");
}

/* --------------------------------------------------------------- bitmap */

/* What lies in a row on the disk: "bytes" of the bitmap from byte "at" on. */
static void
take_bits(struct ntfs *n, uint64_t off, uint64_t at, uint64_t bytes)
{
	size_t unit = (size_t)(n->cluster < FS_PIECE ? n->cluster : FS_PIECE);
	uint64_t len, first, last;

	for (; bytes > 0; bytes -= len, at += len, off += len) {
		len = bytes < FS_PIECE ? bytes : FS_PIECE;
		n->lost += fs_get_units(n->io, off, n->buf, unit,
		    (size_t)(len + unit - 1) / unit, 0xff);
		first = at * 8;
		last = first + len * 8;
		last = last < n->clusters ? last : n->clusters;
		fs_note_bits(n->io, n->buf, 0, last - first,
		    first * n->cluster, n->cluster);
	}
}

static void
bitmap(struct ntfs *n, unsigned char *r)
{
	uint64_t need = (n->clusters + 7) / 8, at = 0, len;
	const unsigned char *a;
	struct run run;

	a = system_record(n, N_BITMAP, r) ? attribute(n, r, NULL, AT_DATA) :
	    NULL;
	if (a == NULL || a[A_OUTSIDE] == 0 || fs_le(a + A_FIRST, 8) != 0 ||
	    fs_le(a + A_SIZE, 8) < need || fs_le(a + A_VALID, 8) < need) {
		fs_doubt(n->io, FS_DAMAGED, "its $Bitmap cannot be read");
		return;
	}
	run = runs(a);
	while (at < need && next(n, &run)) {
		len = run.n * n->cluster;
		len = len < need - at ? len : need - at;
		if (run.hole)
			n->lost++;
		else
			take_bits(n, run.lcn * n->cluster, at, len);
		at += len;
	}
	if (n->lost > 0 || at < need)
		fs_hurt(n->io, "a part of its $Bitmap cannot be read");
}

/* ----------------------------------------------------------- structures */

/* Note the runs of a record's attributes: all, or the one of a kind. */
static void
note_runs(struct ntfs *n, const unsigned char *r, uint32_t kind)
{
	const unsigned char *a = NULL;
	struct run run;

	while ((a = attribute(n, r, a, 0)) != NULL) {
		if (a[A_OUTSIDE] == 0 || (kind != 0 && fs_le(a, 4) != kind))
			continue;
		run = runs(a);
		while (next(n, &run))
			if (!run.hole)
				fs_note_meta(n->io, run.lcn * n->cluster,
				    run.n * n->cluster);
	}
}

/* Folders have blocks of names; an attribute may be a list of others. */
static void
note_folders(struct ntfs *n, unsigned char *r)
{
	const unsigned char *a;
	struct run run;
	uint64_t off, end;
	size_t many = FS_PIECE / n->record, i, left;
	unsigned char *p;

	a = system_record(n, N_MFT, r) ? attribute(n, r, NULL, AT_DATA) : NULL;
	if (a == NULL || a[A_OUTSIDE] == 0)
		return;
	for (run = runs(a); next(n, &run); ) {
		off = run.lcn * n->cluster;
		end = run.hole ? off : off + run.n * n->cluster;
		for (; off < end; off += left * n->record) {
			left = end - off < FS_PIECE ?
			    (size_t)(end - off) / n->record : many;
			if (left == 0)
				break;
			fs_get_units(n->io, off, n->buf, n->record, left, 0);
			for (i = 0; i < left; i++) {
				p = n->buf + i * n->record;
				if (!mend(p, n->record, "FILE") ||
				    (fs_le(p + R_FLAGS, 2) & R_IN_USE) == 0)
					continue;
				note_runs(n, p, AT_LIST);
				if ((fs_le(p + R_FLAGS, 2) & R_FOLDER) != 0)
					note_runs(n, p, AT_INDEX);
			}
		}
	}
}

static void
structures(struct ntfs *n, unsigned char *r)
{
	unsigned i;

	fs_note_meta(n->io, 0, n->cluster);
	for (i = 0; i < N_SYSTEM; i++)
		if (i != N_BAD && system_record(n, i, r))
			note_runs(n, r, 0);
	if (fs_deep(n->io))
		note_folders(n, r);
}

static void
read_all(struct ntfs *n)
{
	unsigned char r[RECORD_MOST];

	n->buf = fs_alloc(n->io, FS_PIECE);
	if (n->buf == NULL)
		return;
	if (n->longer)
		fs_too_long(n->io);
	judge_volume(n, r);
	judge_log(n, r);
	if (fs_exact(n->io) && n->io->whole)
		return;
	bitmap(n, r);
	structures(n, r);
	if (fs_contradicts(n->io))
		fs_doubt(n->io, FS_DAMAGED, "its $Bitmap says that itself is "
		    "free");
}

bool
fs_read_ntfs(struct fs_io *io)
{
	struct ntfs n = { .io = io };
	unsigned char b[BOOT];

	if (fs_get(io, 0, b, sizeof(b)) != 0 || !geometry(&n, b)) {
		/* The copy is in the last sector. */
		if (fs_exact(io) || io->src->length < UINT64_C(2) * BOOT ||
		    ((fs_get(io, io->src->length - BOOT, b, sizeof(b)) != 0 ||
		    !geometry(&n, b)) && (io->src->length < 4096 ||
		    fs_get(io, io->src->length - 4096, b, sizeof(b)) != 0 ||
		    !geometry(&n, b))))
			return false;
		fs_doubt(io, FS_DAMAGED, "its boot sector is lost");
	}
	memcpy(io->map->type, "ntfs", sizeof("ntfs"));
	read_all(&n);
	free(n.buf);
	return true;
}
