/*
 * NTFS: free clusters in $Bitmap.
 *
 * There is no public standard.  The format is that of the Linux kernel's
 * fs/ntfs3 and of ntfs-3g (layout.h, logfile.h).  A $LogFile is clean by the
 * rules of ntfs-3g (logfile.c), and by the version that Windows leaves in it
 * while the volume is open, even during hibernation ("fast startup").
 */
#include <stdlib.h>
#include <string.h>

#include "fsntfs.h"

enum {				/* offsets in $Volume and $LogFile */
	V_FLAGS = 10, V_SIZE = 12,
	V_DIRTY = 0x1 | 0x2 | 0x10 | 0x4000,
	L_PAGE = 4096, L_AREA = 24, L_MAJOR = 28, L_CLIENTS = 12, L_FLAGS = 14,
	L_NOBODY = 0xffff, L_CLEAN = 2,
};

/* -------------------------------------------------------------- judging */

static bool
ntfs_log_filled(const unsigned char *p, size_t n, unsigned char with)
{
	size_t i;

	for (i = 0; i < n && p[i] == with; i++)
		;
	return i == n;
}

/* Whether a restart page says that the log is closed. */
static bool
ntfs_log_closed(const unsigned char *page)
{
	size_t area = (size_t)fs_le(page + L_AREA, 2);

	if (area > L_PAGE - 32 || fs_le(page + L_MAJOR, 2) >= 2)
		return false;
	return fs_le(page + area + L_CLIENTS, 2) == L_NOBODY ||
	    (fs_le(page + area + L_FLAGS, 2) & L_CLEAN) != 0;
}

/*
 * It begins with two pages that record its state, in turn; the later one
 * counts.  As long as either says that it is open, or says nothing, it is not
 * proven to be closed.  A log that is filled with FFh is empty: ntfs-3g leaves
 * it so.
 */
static void
judge_log(struct ntfs *n, unsigned char *r)
{
	const unsigned char *a;
	uint64_t at;
	int i, sound = 0;

	a = ntfs_system_record(n, N_LOG, r) ?
	    ntfs_attribute(n, r, NULL, AT_DATA) : NULL;
	for (i = 0; a != NULL && a[A_OUTSIDE] != 0 && i < 2; i++) {
		at = ntfs_place(n, a, (uint64_t)i * L_PAGE);
		if (at == UINT64_MAX || fs_get(n->io, at, n->buf, L_PAGE) != 0)
			break;
		if (ntfs_log_filled(n->buf, L_PAGE, 0xff)) {
			sound++;
		} else if (ntfs_mend(n->buf, L_PAGE, "RSTR") ||
		    ntfs_mend(n->buf, L_PAGE, "CHKD")) {
			sound++;
			if (!ntfs_log_closed(n->buf))
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

	if (!ntfs_system_record(n, N_VOLUME, r)) {
		fs_doubt(n->io, FS_DAMAGED, "its $Volume cannot be read");
		return;
	}
	v = ntfs_value(ntfs_attribute(n, r, NULL, AT_LABEL), 0, &has);
	if (v != NULL)
		fs_label_utf16(n->io, v, has / 2);
	v = ntfs_value(ntfs_attribute(n, r, NULL, AT_VOLUME), V_SIZE, &has);
	if (v == NULL)
		fs_doubt(n->io, FS_DAMAGED, "its $Volume is wrong");
	else if ((fs_le(v + V_FLAGS, 2) & V_DIRTY) != 0)
		fs_doubt(n->io, FS_DIRTY, "it is marked dirty: chkdsk");
}

/* --------------------------------------------------------------- bitmap */

/* Take a contiguous part of the bitmap: "bytes" from its byte "at" on. */
static void
ntfs_take_bits(struct ntfs *n, uint64_t off, uint64_t at, uint64_t bytes)
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
ntfs_bitmap(struct ntfs *n, unsigned char *r)
{
	uint64_t need = (n->clusters + 7) / 8, at = 0, len;
	const unsigned char *a;
	struct ntfs_run run;

	a = ntfs_system_record(n, N_BITMAP, r) ?
	    ntfs_attribute(n, r, NULL, AT_DATA) : NULL;
	if (a == NULL || a[A_OUTSIDE] == 0 || fs_le(a + A_FIRST, 8) != 0 ||
	    fs_le(a + A_SIZE, 8) < need || fs_le(a + A_VALID, 8) < need) {
		fs_doubt(n->io, FS_DAMAGED, "its $Bitmap cannot be read");
		return;
	}
	run = ntfs_runs(a);
	while (at < need && ntfs_next(n, &run)) {
		len = run.n * n->cluster;
		len = len < need - at ? len : need - at;
		if (run.hole)
			n->lost++;
		else
			ntfs_take_bits(n, run.lcn * n->cluster, at, len);
		at += len;
	}
	if (n->lost > 0 || at < need)
		fs_hurt(n->io, "a part of its $Bitmap cannot be read");
}

/* ----------------------------------------------------------- structures */

/* Note the runs of a record's attributes: of all kinds, or of one. */
static void
note_runs(struct ntfs *n, const unsigned char *r, uint32_t kind)
{
	const unsigned char *a = NULL;
	struct ntfs_run run;

	while ((a = ntfs_attribute(n, r, a, 0)) != NULL) {
		if (a[A_OUTSIDE] == 0 || (kind != 0 && fs_le(a, 4) != kind))
			continue;
		run = ntfs_runs(a);
		while (ntfs_next(n, &run))
			if (!run.hole)
				fs_note_meta(n->io, run.lcn * n->cluster,
				    run.n * n->cluster);
	}
}

/*
 * Directories have index blocks; an attribute list may lead to further records.
 */
static void
note_dirs(struct ntfs *n)
{
	const struct ntfs_part *part;
	uint64_t off, end;
	size_t i, left;
	unsigned char *p;

	ntfs_mft(n);
	for (part = n->part; part < n->part + n->parts; part++) {
		off = part->at;
		end = off + part->len;
		for (; end - off >= n->record; off += left * n->record) {
			left = (size_t)((end - off < FS_PIECE ? end - off :
			    FS_PIECE) / n->record);
			fs_get_units(n->io, off, n->buf, n->record, left, 0);
			for (i = 0; i < left; i++) {
				p = n->buf + i * n->record;
				if (!ntfs_mend(p, n->record, "FILE") ||
				    (fs_le(p + R_FLAGS, 2) & R_IN_USE) == 0)
					continue;
				note_runs(n, p, AT_LIST);
				if ((fs_le(p + R_FLAGS, 2) & R_DIR) != 0)
					note_runs(n, p, AT_INDEX);
			}
		}
	}
}

static void
ntfs_structures(struct ntfs *n, unsigned char *r)
{
	unsigned i;

	fs_note_meta(n->io, 0, n->cluster);
	for (i = 0; i < N_SYSTEM; i++)
		if (i != N_BAD && ntfs_system_record(n, i, r))
			note_runs(n, r, 0);
	if (fs_deep(n->io))
		note_dirs(n);
}

static void
ntfs_read(struct ntfs *n)
{
	unsigned char r[NTFS_RECORD_MOST];

	n->buf = fs_alloc(n->io, FS_PIECE);
	if (n->buf == NULL)
		return;
	if (n->longer)
		fs_too_long(n->io);
	else if (fs_exact(n->io) && !ntfs_boot_copy(n))
		fs_doubt(n->io, FS_DAMAGED, "its second boot sector is not "
		    "where it ends");
	judge_volume(n, r);
	judge_log(n, r);
	if (fs_exact(n->io) && n->io->whole)
		return;
	ntfs_bitmap(n, r);
	ntfs_structures(n, r);
	if (fs_contradicts(n->io))
		fs_doubt(n->io, FS_DAMAGED, "its $Bitmap calls itself free");
	if (fs_exact(n->io) && !n->io->whole)
		ntfs_ask_files(n);
}

bool
fs_read_ntfs(struct fs_io *io)
{
	struct ntfs n = { .io = io };

	if (!ntfs_boot(&n))
		return false;
	memcpy(io->map->type, "ntfs", sizeof("ntfs"));
	ntfs_read(&n);
	free(n.part);
	free(n.buf);
	return true;
}

bool
fs_names_ntfs(struct fs_io *io, const struct fs_extents *lost,
    struct fs_names *to)
{
	struct ntfs n = { .io = io };

	if (!ntfs_boot(&n))
		return false;
	n.buf = fs_alloc(io, FS_PIECE);
	if (n.buf != NULL)
		ntfs_hits(&n, lost, to);
	free(n.part);
	free(n.buf);
	return true;
}
