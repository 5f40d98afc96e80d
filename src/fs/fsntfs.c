/*
 * NTFS: free clusters in $Bitmap.
 *
 * There is no public standard.  The format is that of the Linux kernel's
 * fs/ntfs3 and of ntfs-3g (layout.h, logfile.h).  A $LogFile is clean by the
 * rules of ntfs-3g (logfile.c), and by the version that Windows leaves in it
 * while the volume is open, even during hibernation ("fast startup").
 */
#include "fsntfs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fshits.h"

/*
 * NTFS: files that contain given bytes, and their names.
 *
 * Like ntfscluster(8), as far as records could be read.  All records of $MFT
 * are examined for runs with a lost byte.  A record has its name and its
 * directory; if it is lost itself, the index of its directory has the name, and
 * only then are indexes read.
 */

enum {				/* offsets and values in a name, in a record or
				 * an index */
	F_PARENT = 0, F_LENGTH = 64, F_SPACE = 65, F_TEXT = 66,
	SPACE_DOS = 2,		/* the short form of another name */
	SEQUENCE = 48,		/* bits of a number, then a sequence number */
};

enum { SLEEP_HEAD = 4096 };	/* bytes of a file for hibernation, at least */

enum {				/* offsets and values in an index, and its
				 * entries */
	X_ROOT = 16, X_BLOCK = 24, X_FIRST = 0, X_USED = 4, X_HEAD = 16,
	E_LENGTH = 8, E_KEY_SIZE = 10, E_FLAGS = 12, E_KEY = 16,
	E_LAST = 2,
};

struct search {
	struct ntfs	*n;
	struct fs_hits	*hits;
	bool		 sleeps;	/* Windows, in a file */
};

/* Called for each record of $MFT that was read. */
typedef void visit(struct search *, const unsigned char *r, uint64_t number);

static struct fs_id
ntfs_reference(const unsigned char *p)
{
	uint64_t v = fs_le(p, 8);
	struct fs_id id = { .number = v & ((UINT64_C(1) << SEQUENCE) - 1) };

	if (id.number != N_ROOT)
		id.tree = v >> SEQUENCE;
	return id;
}

/* The file of a record; a file may have several. */
static struct fs_id
ntfs_record_owner(const unsigned char *r, uint64_t number)
{
	return (struct fs_id){ .number = fs_le(r + R_BASE, 8) != 0 ?
	    fs_le(r + R_BASE, 6) : number };
}

static bool
is_system(struct fs_id id)
{
	return id.number < N_FIRST && id.number != N_ROOT;
}

/* -------------------------------------------------------------- records */

static void
ntfs_look_at_record(struct search *s, const unsigned char *r, uint64_t number)
{
	const unsigned char *a = NULL, *last = NULL;
	struct ntfs *n = s->n;
	struct ntfs_run run;
	bool hit = false;

	if (is_system(ntfs_record_owner(r, number)))
		return;
	while ((a = ntfs_attribute(n, r, a, 0)) != NULL) {
		last = a;
		if (a[A_OUTSIDE] == 0)
			continue;
		run = ntfs_runs(a);
		while (ntfs_next(n, &run))
			hit |= !run.hole && fs_hits_is(s->hits,
			    run.lcn * n->cluster, run.n * n->cluster);
		s->hits->to->more |= run.at < run.end && *run.at != 0;
	}
	s->hits->to->more |= !ntfs_over(n, r, last);
	if (hit)
		fs_hits_add(s->hits, ntfs_record_owner(r, number), false);
}

/* Whether a byte of a record is lost. */
static bool
ntfs_record_lost(const struct search *s, uint64_t off)
{
	uint64_t end = off + s->n->record, at, row;

	for (; off < end; off += row) {
		at = ntfs_mft_place(s->n, off, &row);
		if (at == UINT64_MAX)
			return false;
		row = row < end - off ? row : end - off;
		if (fs_hits_is(s->hits, at, row))
			return true;
	}
	return false;
}

/*
 * Read records from a byte of $MFT on, as many as are contiguous; 0 at its end.
 */
static size_t
ntfs_records_load(struct search *s, uint64_t off)
{
	struct ntfs *n = s->n;
	uint64_t row, at = ntfs_mft_place(n, off, &row);
	size_t many;

	if (at == UINT64_MAX)
		return 0;
	many = (size_t)((row < FS_PIECE ? row : FS_PIECE) / n->record);
	if (many > 0)
		fs_get_units(n->io, at, n->buf, n->record, many, 0);
	else
		many = 1;		/* it is in two parts */
	return many;
}

/*
 * Whether a record is in use.  One that is not good may be, unless it was never
 * written.
 */
static bool
ntfs_record_in_use(struct search *s, const unsigned char *r, bool good)
{
	s->hits->to->more |= !good && fs_le(r, 4) != 0;
	return good && (fs_le(r + R_FLAGS, 2) & R_IN_USE) != 0;
}

static void
ntfs_each_record(struct search *s, visit *what, visit *gone)
{
	struct ntfs *n = s->n;
	unsigned char r[NTFS_RECORD_MOST];
	uint64_t number = 0, row;
	size_t many, i;

	while (n->io->budget > 0 && (many =
	    ntfs_records_load(s, number * n->record)) > 0)
		for (i = 0; i < many; i++, number++) {
			ntfs_mft_place(n, number * n->record, &row);
			memcpy(r, n->buf + i * n->record, n->record);
			if (gone != NULL &&
			    ntfs_record_lost(s, number * n->record))
				gone(s, NULL, number);
			else if (ntfs_record_in_use(s, r, row < n->record ?
			    ntfs_record(n, number, r) :
			    ntfs_mend(r, n->record, "FILE")))
				what(s, r, number);
		}
}

static void
is_gone(struct search *s, const unsigned char *r, uint64_t number)
{
	struct fs_id id = { .number = number };

	(void)r;
	if (!is_system(id))
		fs_hits_add(s->hits, id, true);
}

/* ---------------------------------------------------------------- names */

/* A name of "size" bytes, complete; NULL if there is none. */
static char *
ntfs_name_text(struct search *s, const unsigned char *f, size_t size)
{
	size_t units, room;
	char *text;

	if (size < F_TEXT || f[F_LENGTH] == 0 ||
	    f[F_LENGTH] > (size - F_TEXT) / 2)
		return NULL;
	units = f[F_LENGTH];
	room = 3 * units + 1;
	text = fs_alloc(s->n->io, room);
	if (text != NULL)
		fs_utf8(text, room, f + F_TEXT, units);
	return text;
}

struct called {
	struct search	*s;
	char		*name;		/* or NULL */
	struct fs_id	 directory;
	bool		 brief;		/* there may be a longer one */
};

/* Take a name of a record; a short one only if there is no other. */
static bool
name_in(struct ntfs *n, const unsigned char *r, void *arg)
{
	const unsigned char *a = NULL, *f;
	struct called *c = arg;
	size_t size;
	char *name;

	while ((a = ntfs_attribute(n, r, a, AT_NAME)) != NULL) {
		f = ntfs_value(a, F_TEXT, &size);
		if (f == NULL || (c->name != NULL && !c->brief))
			continue;
		name = ntfs_name_text(c->s, f, size);
		if (name == NULL)
			continue;
		free(c->name);
		c->name = name;
		c->directory = ntfs_reference(f + F_PARENT);
		c->brief = f[F_SPACE] == SPACE_DOS;
	}
	return true;
}

/* The name of a record's file, and its directory; NULL if that is lost. */
static char *
ntfs_record_name(struct search *s, const unsigned char *r, uint64_t number,
    struct fs_id *directory)
{
	struct called c = { .s = s };

	name_in(s->n, r, &c);
	if (c.name == NULL || c.brief)
		ntfs_others(s->n, r, number, AT_NAME, name_in, &c);
	if (c.name != NULL)
		*directory = c.directory;
	return c.name;
}

/* List the entries of an index, and name the files that are hit. */
static void
ntfs_index_entries(struct search *s, const unsigned char *p, size_t size)
{
	size_t at = (size_t)fs_le(p + X_FIRST, 4), len, key;
	size_t used = (size_t)fs_le(p + X_USED, 4);
	struct fs_hit *hit;
	struct fs_id id;
	char *name;

	size = used < size ? used : size;
	for (; at < size && size - at >= E_KEY; at += len) {
		len = (size_t)fs_le(p + at + E_LENGTH, 2);
		key = (size_t)fs_le(p + at + E_KEY_SIZE, 2);
		if (len < E_KEY || len > size - at || key > len - E_KEY ||
		    (p[at + E_FLAGS] & E_LAST) != 0)
			return;
		if (key < F_TEXT || p[at + E_KEY + F_SPACE] == SPACE_DOS)
			continue;
		id = ntfs_reference(p + at);
		hit = fs_hits_find(s->hits, (struct fs_id){ id.number, 0 });
		name = hit == NULL || hit->name != NULL ? NULL :
		    ntfs_name_text(s, p + at + E_KEY, key);
		if (name != NULL)
			fs_hits_name(hit, name, ntfs_reference(p + at + E_KEY +
			    F_PARENT));
	}
}

/* List the blocks of an index that are valid. */
static void
ntfs_search_blocks(struct search *s, const unsigned char *a)
{
	struct ntfs *n = s->n;
	struct ntfs_run run = ntfs_runs(a);
	unsigned char *p;
	uint64_t off, end;

	p = n->index == 0 ? NULL : fs_alloc(n->io, n->index);
	while (p != NULL && ntfs_next(n, &run)) {
		off = run.lcn * n->cluster;
		end = run.hole ? off : off + run.n * n->cluster;
		for (; end - off >= n->index; off += n->index)
			if (fs_get(n->io, off, p, n->index) == 0 &&
			    ntfs_mend(p, n->index, "INDX"))
				ntfs_index_entries(s, p + X_BLOCK, n->index -
				    X_BLOCK);
	}
	free(p);
}

static void
ntfs_name_all(struct search *s, const unsigned char *r, uint64_t number)
{
	const unsigned char *a = NULL, *v;
	size_t size;

	(void)number;
	while ((a = ntfs_attribute(s->n, r, a, 0)) != NULL) {
		if (fs_le(a, 4) == AT_INDEX && a[A_OUTSIDE] != 0)
			ntfs_search_blocks(s, a);
		v = fs_le(a, 4) == AT_INDEX_ROOT ?
		    ntfs_value(a, X_ROOT + X_HEAD, &size) : NULL;
		if (v != NULL && fs_le(v, 4) == AT_NAME)
			ntfs_index_entries(s, v + X_ROOT, size - X_ROOT);
	}
}

/* Name the hits whose own records have a name. */
static void
name_hits(struct search *s)
{
	unsigned char r[NTFS_RECORD_MOST];
	struct fs_hit *hit;
	struct fs_id directory;
	char *name;

	for (hit = s->hits->hit; hit < s->hits->hit + s->hits->n; hit++) {
		if (hit->lost || !ntfs_record(s->n, hit->id.number, r))
			continue;
		name = ntfs_record_name(s, r, hit->id.number, &directory);
		if (name != NULL)
			fs_hits_name(hit, name, directory);
	}
}

/* The name of a directory, and its parent; a lost one is a hit itself. */
static char *
ntfs_climb(void *arg, struct fs_id *id)
{
	unsigned char r[NTFS_RECORD_MOST];
	struct search *s = arg;
	struct fs_hit *hit;
	char *name;

	if (ntfs_record(s->n, id->number, r))
		return (fs_le(r + R_FLAGS, 2) & (R_IN_USE | R_DIR)) ==
		    (R_IN_USE | R_DIR) &&
		    fs_le(r + R_SEQUENCE, 2) == id->tree ?
		    ntfs_record_name(s, r, id->number, id) : NULL;
	hit = fs_hits_find(s->hits, (struct fs_id){ id->number, 0 });
	if (hit == NULL || hit->name == NULL)
		return NULL;
	name = fs_text(s->n->io, (const unsigned char *)hit->name,
	    strlen(hit->name));
	*id = hit->directory;
	return name;
}

/*
 * Whether a system sleeps in the first bytes of a file, as ntfs-3g sees it
 * (volume.c, ntfs_volume_check_hiberfile): a file that is shorter than its head
 * is of a system on another volume.
 */
static bool
ntfs_sleeps_in(struct ntfs *n, const unsigned char *r, void *arg)
{
	static const char *const words[] = { "hibr", "HIBR", "wake", "WAKE" };
	const unsigned char *a = ntfs_attribute(n, r, NULL, AT_DATA);
	unsigned char head[4] = { 0 };
	bool *sleeps = arg;
	uint64_t at;
	size_t i;

	if (a == NULL || (a[A_OUTSIDE] != 0 && fs_le(a + A_FIRST, 8) != 0))
		return true;
	at = a[A_OUTSIDE] != 0 ? ntfs_place(n, a, 0) : UINT64_MAX;
	if (a[A_OUTSIDE] == 0 || fs_le(a + A_SIZE, 8) < SLEEP_HEAD ||
	    (at != UINT64_MAX && fs_get(n->io, at, head, sizeof(head)) != 0))
		*sleeps = true;
	for (i = 0; i < sizeof(words) / sizeof(*words) && at != UINT64_MAX &&
	    fs_le(a + A_VALID, 8) > 0; i++)
		*sleeps |= memcmp(head, words[i], sizeof(head)) == 0;
	return true;
}

/* Whether a record is of a file in which Windows puts its memory. */
static bool
ntfs_is_for_sleep(struct search *s, const unsigned char *r)
{
	static const char *const names[] = { "hiberfil.sys", "swapfile.sys" };
	const unsigned char *a = NULL, *f;
	size_t size, i;
	char *name;
	bool is = false;

	while (!is && (a = ntfs_attribute(s->n, r, a, AT_NAME)) != NULL) {
		f = ntfs_value(a, F_TEXT, &size);
		name = f == NULL || ntfs_reference(f + F_PARENT).number !=
		    N_ROOT ? NULL : ntfs_name_text(s, f, size);
		for (i = 0; i < 2 && name != NULL; i++)
			is |= strcasecmp(name, names[i]) == 0;
		free(name);
	}
	return is;
}

static void
ntfs_ask_file(struct search *s, const unsigned char *r, uint64_t number)
{
	ntfs_look_at_record(s, r, number);
	if (fs_le(r + R_BASE, 8) == 0 && ntfs_is_for_sleep(s, r)) {
		ntfs_sleeps_in(s->n, r, &s->sleeps);
		s->hits->to->more |= !ntfs_others(s->n, r, number, AT_DATA,
		    ntfs_sleeps_in, &s->sleeps);
	}
}

/* $MFT is copied anyway, so that all of it may be read. */
static void
ntfs_allow_mft(struct ntfs *n)
{
	const struct ntfs_part *p;
	uint64_t left = n->io->src->length;

	for (p = n->part; p < n->part + n->parts && n->io->budget > 0; p++) {
		n->io->budget += p->len < left ? p->len : left;
		left -= p->len < left ? p->len : left;
	}
}

/*
 * Doubt it if a file has a byte that was noted as free, or Windows sleeps in
 * one.  Needs n->buf.
 */
static void
ntfs_ask_files(struct ntfs *n)
{
	struct fs_names none = { .n = 0 };
	struct fs_hits hits = { .io = n->io, .lost = &n->io->map->free,
		.to = &none };
	struct search s = { .n = n, .hits = &hits };

	n->io->failed = false;
	if (fs_hits_open(&hits)) {
		none.more = !ntfs_mft(n);
		ntfs_allow_mft(n);
		ntfs_each_record(&s, ntfs_ask_file, is_gone);
		if (s.sleeps)
			fs_doubt(n->io, FS_DIRTY, "Windows sleeps in it: not "
			    "shut down, or hibernated");
		fs_doubt_files(n->io, hits.n, none.more,
		    "its $Bitmap and its files differ: chkdsk");
	}
	fs_hits_close(&hits);
}

enum {				/* offsets in $Volume and $LogFile */
	V_FLAGS = 10, V_SIZE = 12,
	V_DIRTY = 0x1 | 0x2 | 0x10 | 0x4000,
	L_PAGE = 4096, L_AREA = 24, L_MAJOR = 28, L_CLIENTS = 12, L_FLAGS = 14,
	L_NOBODY = 0xffff, L_CLEAN = 2,
};

/* -------------------------------------------------------------- judging */

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
		if (n->buf[0] == 0xff &&
		    memcmp(n->buf, n->buf + 1, L_PAGE - 1) == 0) {
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
ntfs_read(void *state)
{
	struct ntfs *n = state;
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

static void
ntfs_names(void *state, struct fs_hits *hits)
{
	struct ntfs *n = state;
	struct search s = { .n = n, .hits = hits };
	bool failed;

	n->buf = fs_alloc(n->io, FS_PIECE);
	if (n->buf == NULL)
		return;
	hits->to->more |= !ntfs_mft(n);
	n->io->failed = false;		/* the backup was good */
	ntfs_each_record(&s, ntfs_look_at_record, is_gone);
	name_hits(&s);
	failed = n->io->failed;
	if (fs_hits_nameless(hits))
		ntfs_each_record(&s, ntfs_name_all, NULL);
	if (!fs_hits_nameless(hits))
		n->io->failed = failed;
	fs_hits_tell(hits, (struct fs_id){ .number = N_ROOT }, ntfs_climb, &s);
}

static void
ntfs_close(void *state)
{
	struct ntfs *n = state;

	free(n->part);
	free(n->buf);
}

const struct fs_kind fs_ntfs = { { "ntfs" }, sizeof(struct ntfs), ntfs_boot,
	ntfs_read, ntfs_names, ntfs_close };
