/*
 * Reading file systems: what all kinds need.
 *
 * The lists of extents have a limit.  When one is full, the shortest free
 * extents are dropped, and metadata is joined across the shortest gaps.  In
 * both cases more counts as used, which costs time but loses nothing.
 */
#include "fsread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "fs/fsmap.h"

enum {
	FREE_MOST = 1 << 20,	/* of 16 bytes */
	META_MOST = 1 << 18,
	GRAIN = 4096,		/* bytes: the first size that is dropped or
				 * joined */
};

/* ------------------------------------------------------------- reading */

int
fs_get(struct fs_io *io, uint64_t off, void *buf, size_t len)
{
	int err = 0;

	if (off > io->src->length || len > io->src->length - off)
		err = ERANGE;
	else if (len >= io->budget)
		err = EFBIG;
	if (err == 0) {
		io->budget -= len;
		io->map->reads++;
		io->map->bytes_read += len;
		err = io->src->read(io->src->arg, off, buf, len);
	}
	if (err == EFBIG || err == ETIMEDOUT)
		io->budget = 0;
	io->failed |= err != 0;
	return err;
}

size_t
fs_get_units(struct fs_io *io, uint64_t off, unsigned char *buf, size_t unit,
    size_t n, int filler)
{
	size_t i, lost = 0;

	if (fs_get(io, off, buf, n * unit) == 0)
		return 0;
	for (i = 0; i < n; i++)
		if (n == 1 || fs_get(io, off + i * unit, buf + i * unit,
		    unit) != 0) {
			memset(buf + i * unit, filler, unit);
			lost++;
		}
	return lost;
}

void *
fs_alloc(struct fs_io *io, size_t bytes)
{
	void *p = calloc(1, bytes);

	if (p == NULL)
		io->no_memory = true;
	return p;
}

uint64_t
fs_le(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | p[bytes];
	return v;
}

uint64_t
fs_be(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	for (; bytes > 0; bytes--)
		v = v << 8 | *p++;
	return v;
}

/* By nibbles: the tables are const, and need no initialisation. */
static uint32_t
fs_crc(const uint32_t table[16], uint32_t crc, const unsigned char *p,
    size_t len)
{
	for (; len > 0; len--) {
		crc ^= *p++;
		crc = table[crc & 15] ^ crc >> 4;
		crc = table[crc & 15] ^ crc >> 4;
	}
	return crc;
}

uint32_t
fs_crc32(uint32_t crc, const void *buf, size_t len)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	return fs_crc(table, crc, buf, len);
}

uint32_t
fs_crc32c(uint32_t crc, const void *buf, size_t len)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};

	return fs_crc(table, crc, buf, len);
}

/* ------------------------------------------------------------- extents */

int
fs_extents_order(const void *a, const void *b)
{
	const struct fs_extent *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

/* Sort, and join extents that touch, or are at most "gap" apart. */
static void
fs_extents_join(struct fs_extents *e, uint64_t gap)
{
	uint64_t end;
	size_t i, n = 0;

	if (e->mixed)
		qsort(e->at, e->n, sizeof(*e->at), fs_extents_order);
	e->mixed = false;
	for (i = 0; i < e->n; i++) {
		end = e->at[i].off + e->at[i].len;
		if (n == 0 || e->at[i].off > e->at[n - 1].off +
		    e->at[n - 1].len + gap)
			e->at[n++] = e->at[i];
		else if (end > e->at[n - 1].off + e->at[n - 1].len)
			e->at[n - 1].len = end - e->at[n - 1].off;
	}
	e->n = n;
}

static void
drop_short(struct fs_extents *e)
{
	size_t i, n = 0;

	for (i = 0; i < e->n; i++)
		if (e->at[i].len >= e->grain)
			e->at[n++] = e->at[i];
	e->n = n;
}

/* Make room for one more. */
static int
fs_extents_grow(struct fs_extents *e)
{
	size_t room = e->room == 0 ? 256 : 2 * e->room;
	struct fs_extent *at;

	if (e->n < e->room)
		return 0;
	at = realloc(e->at, room * sizeof(*at));
	if (at == NULL)
		return ENOMEM;
	e->at = at;
	e->room = room;
	return 0;
}

static int
fs_extents_append(struct fs_extents *e, uint64_t off, uint64_t len)
{
	struct fs_extent *last = e->n > 0 ? &e->at[e->n - 1] : NULL;
	int err;

	if (last != NULL && off == last->off + last->len) {
		last->len += len;
		return 0;
	}
	err = fs_extents_grow(e);
	if (err != 0)
		return err;
	if (e->n > 0 && off < e->at[e->n - 1].off)
		e->mixed = true;
	e->at[e->n++] = (struct fs_extent){ .off = off, .len = len };
	return 0;
}

static uint64_t
next_grain(const struct fs_extents *e)
{
	return e->grain == 0 ? GRAIN : 2 * e->grain;
}

/* The length of a range within the partition, or 0. */
static uint64_t
fs_io_within(const struct fs_io *io, uint64_t off, uint64_t len)
{
	if (off >= io->src->length)
		return 0;
	return len < io->src->length - off ? len : io->src->length - off;
}

void
fs_note_free(struct fs_io *io, uint64_t off, uint64_t len)
{
	struct fs_extents *e = &io->map->free;

	len = fs_io_within(io, off, len);
	if (len == 0 || len < e->grain)
		return;
	if (e->n >= FREE_MOST) {
		fs_extents_join(e, 0);
		while (e->n > FREE_MOST / 2) {
			e->grain = next_grain(e);
			drop_short(e);
		}
	}
	if (fs_extents_append(e, off, len) != 0)
		io->no_memory = true;
}

void
fs_note_meta(struct fs_io *io, uint64_t off, uint64_t len)
{
	struct fs_extents *e = &io->map->meta;

	len = fs_io_within(io, off, len);
	if (len == 0)
		return;
	if (e->n >= META_MOST) {
		fs_extents_join(e, e->grain);
		while (e->n > META_MOST / 2) {
			e->grain = next_grain(e);
			fs_extents_join(e, e->grain);
		}
	}
	if (fs_extents_append(e, off, len) != 0)
		io->no_memory = true;
}

void
fs_note_bits(struct fs_io *io, const unsigned char *bits, uint64_t first,
    uint64_t last, uint64_t off, uint64_t unit)
{
	uint64_t i, run;

	for (i = first; i < last; i += run) {
		run = 1;
		if (i % 8 == 0 && bits[i / 8] == 0xff) {
			run = last - i < 8 ? last - i : 8;
			continue;
		}
		if (bits[i / 8] >> (i % 8) & 1)
			continue;
		while (i + run < last &&
		    !(bits[(i + run) / 8] >> ((i + run) % 8) & 1))
			run += (i + run) % 8 == 0 && last - i - run >= 8 &&
			    bits[(i + run) / 8] == 0 ? 8 : 1;
		fs_note_free(io, off + i * unit, run * unit);
	}
}

/* Subtract "less" from "from"; both are sorted. */
static int
fs_extents_subtract(struct fs_extents *from, const struct fs_extents *less)
{
	struct fs_extents out = { .grain = from->grain };
	uint64_t off, end, to;
	size_t i, k = 0, j;

	for (i = 0; i < from->n; i++) {
		off = from->at[i].off;
		end = off + from->at[i].len;
		while (k < less->n && less->at[k].off + less->at[k].len <= off)
			k++;
		for (j = k; off < end; j++) {
			to = j < less->n && less->at[j].off < end ?
			    less->at[j].off : end;
			if (to > off &&
			    fs_extents_append(&out, off, to - off) != 0) {
				free(out.at);
				return ENOMEM;
			}
			if (to == end)
				break;
			off = less->at[j].off + less->at[j].len;
		}
	}
	free(from->at);
	*from = out;
	return 0;
}

bool
fs_contradicts(struct fs_io *io)
{
	const struct fs_extents *a = &io->map->free, *b = &io->map->meta;
	size_t i = 0, k = 0;

	fs_extents_join(&io->map->free, 0);
	fs_extents_join(&io->map->meta, io->map->meta.grain);
	while (i < a->n && k < b->n)
		if (a->at[i].off + a->at[i].len <= b->at[k].off)
			i++;
		else if (b->at[k].off + b->at[k].len <= a->at[i].off)
			k++;
		else
			return b->grain == 0;
	return false;
}

void
fs_take_back(struct fs_io *io, uint64_t off)
{
	struct fs_extents *e = &io->map->free;
	struct fs_extent *last;

	fs_extents_join(e, 0);
	while (e->n > 0 && e->at[e->n - 1].off >= off)
		e->n--;
	last = e->n > 0 ? &e->at[e->n - 1] : NULL;
	if (last != NULL && last->len > off - last->off)
		last->len = off - last->off;
}

void
fs_settle(struct fs_io *io)
{
	struct fs_map *m = io->map;
	size_t i;

	fs_extents_join(&m->free, 0);
	fs_extents_join(&m->meta, 0);
	if (m->meta.n > 0 && m->free.n > 0 &&
	    fs_extents_subtract(&m->free, &m->meta) != 0)
		io->no_memory = true;
	m->free_bytes = 0;
	for (i = 0; i < m->free.n; i++)
		m->free_bytes += m->free.at[i].len;
	m->used = io->src->length - m->free_bytes;
}

size_t
fs_behind(const struct fs_extents *e, uint64_t off)
{
	size_t lo = 0, hi = e->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (e->at[mid].off + e->at[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint64_t
fs_among(const struct fs_extents *e, uint64_t off, uint64_t end)
{
	size_t i = fs_behind(e, off);
	uint64_t sum = 0;

	for (; i < e->n && e->at[i].off < end; i++)
		sum += MIN(e->at[i].off + e->at[i].len, end) -
		    MAX(e->at[i].off, off);
	return sum;
}

/* ------------------------------------------------------------- judging */

__attribute__((format(printf, 3, 0)))
static void
fs_io_judge(struct fs_io *io, enum fs_state state, const char *fmt, va_list ap)
{
	struct fs_map *m = io->map;

	if (m->reason[0] != '\0' && m->state != FS_CLEAN)
		return;
	m->state = state;
	(void)vsnprintf(m->reason, sizeof(m->reason), fmt, ap);
}

void
fs_doubt(struct fs_io *io, enum fs_state state, const char *fmt, ...)
{
	va_list ap;

	if (!io->whole) {		/* this says more than the partial
					 * damage */
		io->map->state = FS_CLEAN;
		va_start(ap, fmt);
		fs_io_judge(io, state, fmt, ap);
		va_end(ap);
	}
	io->whole = true;
}

void
fs_hurt(struct fs_io *io, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fs_io_judge(io, FS_DAMAGED, fmt, ap);
	va_end(ap);
}

uint64_t
fs_clamp(const struct fs_io *io, uint64_t n, uint64_t unit, bool *less)
{
	*less = n > io->src->length / unit;
	return *less ? io->src->length / unit : n;
}

/* -------------------------------------------------------------- labels */

void
fs_label(struct fs_io *io, const unsigned char *from, size_t bytes)
{
	char *to = io->map->label;
	size_t n;

	if (bytes >= sizeof(io->map->label))
		bytes = sizeof(io->map->label) - 1;
	n = strnlen((const char *)from, bytes);
	memcpy(to, from, n);
	to[n] = '\0';
}

/* Encode a character as UTF-8; *to has room for four bytes. */
static char *
put_utf8(char *to, uint32_t c)
{
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	*to++ = (char)(more == 0 ? c : (0xff00 >> (more + 1) & 0xff) |
	    c >> 6 * more);
	while (more-- > 0)
		*to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return to;
}

void
fs_utf8(char *to, size_t room, const unsigned char *from, size_t units)
{
	char *end = to + room;
	uint32_t c, low;

	for (; units > 0; units--, from += 2) {
		c = (uint32_t)fs_le(from, 2);
		low = units > 1 ? (uint32_t)fs_le(from + 2, 2) : 0;
		if (c >> 10 == 0xd800 >> 10 && low >> 10 == 0xdc00 >> 10) {
			c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
			from += 2;
			units--;
		} else if (c >= 0xd800 && c < 0xe000) {
			c = '?';
		}
		if (c == 0 || end - to < (c < 0x80 ? 2 : c < 0x800 ? 3 :
		    c < 0x10000 ? 4 : 5))
			break;
		to = put_utf8(to, c);
	}
	*to = '\0';
}

void
fs_label_utf16(struct fs_io *io, const unsigned char *from, size_t units)
{
	fs_utf8(io->map->label, sizeof(io->map->label), from, units);
}
