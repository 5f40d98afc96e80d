/*
 * NTFS: its boot sector, records of $MFT, their attributes, and runs of
 * clusters.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "fsntfs.h"

enum {				/* offsets in the boot sector */
	BOOT = 512,
	B_OEM = 3, B_SECTOR = 11, B_CLUSTER = 13, B_SECTORS = 40, B_MFT = 48,
	B_MIRROR = 56, B_RECORD = 64, B_INDEX = 68,
};

enum {				/* offsets in an attribute list */
	LIST_MOST = 256 << 10,
	E_LENGTH = 4, E_NAME_LENGTH = 6, E_RECORD = 16, E_LEAST = 26,
	PARTS_MOST = 1 << 16,	/* runs of $MFT, at most */
};

/* ----------------------------------------------------------- structures */

/* A size in clusters, or a negative power of two in bytes; 0 if invalid. */
static uint32_t
ntfs_record_size(const struct ntfs *n, int8_t code)
{
	uint64_t size = code > 0 ? (uint64_t)code * n->cluster :
	    code > -17 ? UINT64_C(1) << -code : 0;

	return fs_power_of_two(size) && size >= NTFS_STRIDE &&
	    size <= FS_PIECE ? (uint32_t)size : 0;
}

static bool
ntfs_geometry(struct ntfs *n, const unsigned char *b)
{
	uint64_t sector = fs_le(b + B_SECTOR, 2), per = b[B_CLUSTER];

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
	memcpy(n->boot, b + B_OEM, sizeof(n->boot));
	if (n->clusters == 0 || n->clusters > INT64_MAX / n->cluster ||
	    fs_le(b + B_MFT, 8) >= n->clusters ||
	    fs_le(b + B_MIRROR, 8) >= n->clusters)
		return false;
	n->clusters = fs_clamp(n->io, n->clusters, n->cluster, &n->longer);
	n->end = fs_le(b + B_SECTORS, 8) * sector;
	n->io->map->end = n->end + sector;	/* the second boot sector */
	n->mft = fs_le(b + B_MFT, 8) * n->cluster;
	n->mirror = fs_le(b + B_MIRROR, 8) * n->cluster;
	n->record = ntfs_record_size(n, (int8_t)b[B_RECORD]);
	n->index = ntfs_record_size(n, (int8_t)b[B_INDEX]);
	return n->record > 0 && n->record <= NTFS_RECORD_MOST;
}

bool
ntfs_boot(void *state)
{
	struct ntfs *n = state;
	struct fs_io *io = n->io;
	unsigned char b[BOOT];

	if (fs_by_start(io) && fs_get(io, 0, b, sizeof(b)) == 0 &&
	    ntfs_geometry(n, b))
		return true;
	/* The backup is in the last sector. */
	if (!fs_by_copy(io) || io->src->length < UINT64_C(2) * BOOT ||
	    ((fs_get(io, io->src->length - BOOT, b, sizeof(b)) != 0 ||
	    !ntfs_geometry(n, b)) && (io->src->length < 4096 ||
	    fs_get(io, io->src->length - 4096, b, sizeof(b)) != 0 ||
	    !ntfs_geometry(n, b))))
		return false;
	fs_doubt(io, FS_DAMAGED, "its boot sector is lost");
	return true;
}

bool
ntfs_boot_copy(struct ntfs *n)
{
	/* between these lie numbers that change when a partition is moved */
	enum { SIZES = B_CLUSTER + 1 - B_OEM, REST = B_SECTORS - B_OEM };
	unsigned char b[BOOT];

	return fs_get(n->io, n->end, b, sizeof(b)) == 0 &&
	    memcmp(b + B_OEM, n->boot, SIZES) == 0 &&
	    memcmp(b + B_SECTORS, n->boot + REST,
	    sizeof(n->boot) - REST) == 0;
}

bool
ntfs_mend(unsigned char *p, size_t size, const char *magic)
{
	size_t fix = (size_t)fs_le(p + R_FIX, 2), i;
	size_t fixes = (size_t)fs_le(p + R_FIXES, 2);

	if (memcmp(p, magic, 4) != 0 || fixes != size / NTFS_STRIDE + 1 ||
	    fix + fixes * 2 > size)
		return false;
	for (i = 1; i < fixes; i++) {
		if (memcmp(p + i * NTFS_STRIDE - 2, p + fix, 2) != 0)
			return false;
		memcpy(p + i * NTFS_STRIDE - 2, p + fix + i * 2, 2);
	}
	return true;
}

const unsigned char *
ntfs_attribute(const struct ntfs *n, const unsigned char *r,
    const unsigned char *a, uint32_t kind)
{
	size_t at = a == NULL ? (size_t)fs_le(r + R_ATTRIBUTES, 2) :
	    (size_t)(a - r) + (size_t)fs_le(a + A_LENGTH, 4), len;
	const size_t end = MIN(n->record, NTFS_RECORD_MOST);
	uint32_t type;

	for (; at + A_INSIDE_SIZE <= end; at += len) {
		type = (uint32_t)fs_le(r + at, 4);
		len = (size_t)fs_le(r + at + A_LENGTH, 4);
		if (type == UINT32_MAX || len < A_INSIDE_SIZE ||
		    len > end - at ||
		    (r[at + A_OUTSIDE] != 0 && len < A_OUTSIDE_SIZE))
			return NULL;
		if (kind == 0 || (type == kind && r[at + A_NAMED] == 0))
			return r + at;
	}
	return NULL;
}

bool
ntfs_over(const struct ntfs *n, const unsigned char *r, const unsigned char *a)
{
	size_t at = a == NULL ? (size_t)fs_le(r + R_ATTRIBUTES, 2) :
	    (size_t)(a - r) + (size_t)fs_le(a + A_LENGTH, 4);

	return at + 4 <= MIN(n->record, NTFS_RECORD_MOST) &&
	    fs_le(r + at, 4) == UINT32_MAX;
}

const unsigned char *
ntfs_value(const unsigned char *a, size_t size, size_t *has)
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

struct ntfs_run
ntfs_runs(const unsigned char *a)
{
	size_t at = (size_t)fs_le(a + A_RUNS, 2);
	size_t len = (size_t)fs_le(a + A_LENGTH, 4);

	return (struct ntfs_run){ .at = a + (at < len ? at : len),
		.end = a + len };
}

bool
ntfs_next(const struct ntfs *n, struct ntfs_run *r)
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
	if (r->n == 0 || r->n > n->clusters || (!r->hole &&
	    (r->lcn >= n->clusters || r->n > n->clusters - r->lcn)))
		return false;
	r->at += 1 + size + place;
	return true;
}

uint64_t
ntfs_place(const struct ntfs *n, const unsigned char *a, uint64_t off)
{
	struct ntfs_run r = ntfs_runs(a);

	while (ntfs_next(n, &r)) {
		if (off < r.n * n->cluster)
			return r.hole ? UINT64_MAX : r.lcn * n->cluster + off;
		off -= r.n * n->cluster;
	}
	return UINT64_MAX;
}

bool
ntfs_system_record(struct ntfs *n, unsigned number, unsigned char *r)
{
	uint64_t at = n->mft;
	const unsigned char *data;

	if (fs_get(n->io, at, r, n->record) == 0 && ntfs_mend(r, n->record,
	    "FILE")) {
		data = ntfs_attribute(n, r, NULL, AT_DATA);
		if (number == 0 && data != NULL)
			return true;
		at = data != NULL && data[A_OUTSIDE] != 0 ?
		    ntfs_place(n, data, (uint64_t)number * n->record) :
		    UINT64_MAX;
	} else {
		at += (uint64_t)number * n->record;
	}
	if (at != UINT64_MAX && fs_get(n->io, at, r, n->record) == 0 &&
	    ntfs_mend(r, n->record, "FILE"))
		return true;
	return !fs_exact(n->io) && number < N_MIRRORED && fs_get(n->io,
	    n->mirror + (uint64_t)number * n->record, r, n->record) == 0 &&
	    ntfs_mend(r, n->record, "FILE");
}

/* ---------------------------------------------------- several records */

/*
 * Read the contents of an attribute list; the caller frees them.  NULL if that
 * fails.
 */
static unsigned char *
ntfs_attribute_list(struct ntfs *n, const unsigned char *a, size_t *size)
{
	unsigned char *to = fs_alloc(n->io, LIST_MOST);
	const unsigned char *v;
	struct ntfs_run r;
	size_t len, at;

	*size = 0;
	if (to == NULL)
		return NULL;
	if (a[A_OUTSIDE] == 0) {
		v = ntfs_value(a, 0, size);
		return v == NULL ? to : memcpy(to, v, *size);
	}
	*size = fs_le(a + A_SIZE, 8) < LIST_MOST ?
	    (size_t)fs_le(a + A_SIZE, 8) : LIST_MOST;
	r = ntfs_runs(a);
	for (at = 0; at < *size; at += len) {
		if (!ntfs_next(n, &r) || r.hole)
			break;
		len = r.n * n->cluster < *size - at ?
		    (size_t)(r.n * n->cluster) : *size - at;
		if (fs_get(n->io, r.lcn * n->cluster, to + at, len) != 0)
			break;
	}
	*size = at;
	return to;
}

bool
ntfs_others(struct ntfs *n, const unsigned char *r, uint64_t number,
    uint32_t kind, ntfs_take *take, void *arg)
{
	const unsigned char *a = ntfs_attribute(n, r, NULL, AT_LIST), *e;
	unsigned char other[NTFS_RECORD_MOST], *p;
	size_t size, at, len;
	uint64_t where;
	bool good = true;

	p = a == NULL ? NULL : ntfs_attribute_list(n, a, &size);
	for (at = 0; p != NULL && good && size - at >= E_LEAST; at += len) {
		e = p + at;
		len = (size_t)fs_le(e + E_LENGTH, 2);
		good = len >= E_LEAST && len <= size - at;
		where = fs_le(e + E_RECORD, 6);
		if (good && fs_le(e, 4) == kind && e[E_NAME_LENGTH] == 0 &&
		    where != number)
			good = ntfs_record(n, where, other) &&
			    fs_le(other + R_BASE, 6) == number &&
			    take(n, other, arg);
	}
	good &= a == NULL || p != NULL;
	free(p);
	return good;
}

/* ----------------------------------------------------------------- $MFT */

static uint64_t
ntfs_known_length(const struct ntfs *n)
{
	const struct ntfs_part *last = n->part + n->parts;

	return n->parts == 0 ? 0 : last[-1].first + last[-1].len;
}

/* Add the part of $MFT that a record describes, if it is the next one. */
static bool
ntfs_add_parts(struct ntfs *n, const unsigned char *record, void *arg)
{
	const unsigned char *a = ntfs_attribute(n, record, NULL, AT_DATA);
	uint64_t *end = arg, at = ntfs_known_length(n), first, len;
	struct ntfs_run r;

	if (a == NULL || a[A_OUTSIDE] == 0 ||
	    __builtin_mul_overflow(fs_le(a + A_FIRST, 8), n->cluster,
	    &first) || first != at)
		return false;
	if (first == 0)
		*end = fs_le(a + A_VALID, 8);
	r = ntfs_runs(a);
	for (; at < *end && n->parts < PARTS_MOST && ntfs_next(n, &r) &&
	    !r.hole; at += len) {
		len = r.n * n->cluster;
		len = len < *end - at ? len : *end - at;
		n->part[n->parts++] = (struct ntfs_part){ .first = at,
			.at = r.lcn * n->cluster, .len = len };
	}
	return at == *end || r.at >= r.end || *r.at == 0;
}

bool
ntfs_mft(struct ntfs *n)
{
	unsigned char r[NTFS_RECORD_MOST];
	uint64_t end = 0;

	free(n->part);
	n->parts = 0;
	n->part = fs_alloc(n->io, PARTS_MOST * sizeof(*n->part));
	return n->part != NULL && ntfs_system_record(n, N_MFT, r) &&
	    ntfs_add_parts(n, r, &end) &&
	    ntfs_others(n, r, N_MFT, AT_DATA, ntfs_add_parts, &end) &&
	    n->parts > 0 && ntfs_known_length(n) == end;
}

uint64_t
ntfs_mft_place(const struct ntfs *n, uint64_t off, uint64_t *row)
{
	size_t lo = 0, hi = n->parts, mid;
	const struct ntfs_part *p;

	while (lo < hi) {		/* the first that ends after it */
		mid = lo + (hi - lo) / 2;
		p = &n->part[mid];
		if (p->first + p->len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n->parts)
		return UINT64_MAX;
	p = &n->part[lo];
	*row = p->len - (off - p->first);
	return p->at + (off - p->first);
}

bool
ntfs_record(struct ntfs *n, uint64_t number, unsigned char *r)
{
	uint64_t off, at, row;
	uint32_t len, k;

	if (__builtin_mul_overflow(number, n->record, &off))
		return false;
	for (k = 0; k < n->record; k += len) {
		at = ntfs_mft_place(n, off + k, &row);
		len = at != UINT64_MAX && row < n->record - k ?
		    (uint32_t)row : n->record - k;
		if (at == UINT64_MAX || fs_get(n->io, at, r + k, len) != 0)
			return false;
	}
	return ntfs_mend(r, n->record, "FILE");
}
