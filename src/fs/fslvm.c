/*
 * A physical volume of LVM2.  Its logical volumes are read by others; here is
 * where each of them lies, and which extents none of them has.
 *
 * LVM2, lib/label/label.h: one of the first four sectors has a label.
 * lib/format_text/layout.h: the header that it leads to has areas of metadata;
 * each begins with a header, and has the current text somewhere in the ring
 * behind that.  Both have a CRC-32 (lib/misc/crc.c).  The text has sections
 * (lib/format_text/export.c): "key = value", a value being a number, a string
 * or a list of those.
 *
 * Every area must have the same text.  A logical volume is looked into if
 * nothing but linear segments on this physical volume make it up, and no other
 * refers to it, as snapshots and pools do.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "fsread.h"

enum {
	SECTOR = 512,
	LABELS = 4,		/* sectors that may have the label; as a rule */
	LABELS_GUESS = 2,	/* it is the second one: */
	L_SECTOR = 8, L_SUM = 16, L_OFFSET = 20, L_TYPE = 24,
	UUID = 32,		/* of a physical volume: where its header */
	P_SIZE = 32, P_AREAS = 40, AREA = 16,	/* has these */
	H_MAGIC = 4, H_VERSION = 20, H_START = 24, H_SIZE = 32,
	H_TEXT = 40,		/* current text: offset, size, sum, flags; */
	H_NEXT = 64,		/* and one that is not yet current */
	H_IGNORED = 1,
	AREAS_MOST = 4,
	TEXT_MOST = 4 << 20,	/* bytes */
	NODES_MOST = 1 << 17,
	VOLUMES_MOST = 1024,
	DEPTH = 8,		/* of sections */
	NAME_MOST = 40,		/* characters of a reason */
};

struct word {			/* points into the text */
	const char *at;
	size_t	 len;
};

struct node {			/* a section, or a key and its value */
	struct word key;
	struct word value;	/* of a list: all of its text */
	size_t	 end;		/* of a section: the first node behind it; 0:
				 * a value */
};

struct lvm {
	struct fs_io *io;
	unsigned char head[SECTOR];	/* sector of the label */
	const unsigned char *pv;	/* the header, in "head" */
	uint64_t area[AREAS_MOST][2];	/* offset, length */
	size_t	 areas;
	char	*text;
	size_t	 size;
	uint32_t sum;
	bool	 empty;			/* an area has no text */
	struct node *node;		/* the first one is the whole text */
	size_t	 n;
	size_t	 vg, pvs, lvs, self;	/* nodes; "self" is this volume */
	uint64_t start, extent, count;	/* extents: first byte, bytes, number */
	struct fs_extent *run;		/* extents in use */
	size_t	 runs;
};

static uint32_t
lvm_sum(const void *buf, size_t len)
{
	return fs_crc32(0xf597a6cf, buf, len);
}

/* ---------------------------------------------------------------- the text */

static void
text_skip(struct word *t)
{
	while (t->len > 0 && *t->at != '\0' &&
	    strchr("# \t\r\n", *t->at) != NULL) {
		bool comment = *t->at == '#';

		do {
			t->at++;
			t->len--;
		} while (comment && t->len > 0 && *t->at != '\n');
	}
}

static bool
text_char(struct word *t, char c)
{
	text_skip(t);
	if (t->len == 0 || *t->at != c)
		return false;
	t->at++;
	t->len--;
	return true;
}

/* A name, a number, or a string without its quotes. */
static bool
text_word(struct word *t, struct word *w)
{
	static const char stops[] = "#={}[],\"";
	bool quoted = text_char(t, '"');
	size_t n;

	w->at = t->at;
	while (t->len > 0 && (quoted ? *t->at != '"' : *t->at > ' ' &&
	    *t->at < 0x7f && strchr(stops, *t->at) == NULL)) {
		n = quoted && *t->at == '\\' && t->len > 1 ? 2 : 1;
		t->at += n;
		t->len -= n;
	}
	w->len = (size_t)(t->at - w->at);
	return quoted ? text_char(t, '"') : w->len > 0;
}

/* The next word of a list; false at its end. */
static bool
list_word(struct word *list, struct word *w)
{
	(void)text_char(list, ',');
	text_skip(list);
	return list->len > 0 && text_word(list, w);
}

static bool
text_value(struct word *t, struct word *w)
{
	struct word one, rest;

	if (!text_char(t, '['))
		return text_word(t, w);
	rest = *t;
	while (!text_char(t, ']')) {
		if (!text_word(t, &one))
			return false;
		(void)text_char(t, ',');
	}
	*w = (struct word){ rest.at, (size_t)(t->at - 1 - rest.at) };
	return true;
}

/* Make nodes of the text. */
static bool
lvm_parse(struct lvm *v)
{
	struct word t = { v->text, v->size }, key;
	size_t open[DEPTH] = { 0 }, depth = 1;
	struct node *node = v->node;

	node[0].end = v->n = 1;
	for (text_skip(&t); t.len > 0; text_skip(&t)) {
		if (text_char(&t, '}')) {
			if (--depth == 0)
				return false;
			node[open[depth]].end = v->n;
			continue;
		}
		if (v->n == NODES_MOST || !text_word(&t, &key))
			return false;
		node[v->n].key = key;
		if (text_char(&t, '{')) {
			if (depth == DEPTH)
				return false;
			open[depth++] = v->n;
		} else if (!text_char(&t, '=') ||
		    !text_value(&t, &node[v->n].value)) {
			return false;
		}
		v->n++;
	}
	node[0].end = v->n;
	return depth == 1;
}

static bool
word_is(const struct word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->at, text, w->len) == 0;
}

static bool
words_same(const struct word *a, const struct word *b)
{
	return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static bool
word_number(const struct word *w, uint64_t *to)
{
	size_t i;

	*to = 0;
	for (i = 0; i < w->len; i++)
		if (w->at[i] < '0' || w->at[i] > '9' ||
		    __builtin_mul_overflow(*to, 10U, to) ||
		    __builtin_add_overflow(*to, (unsigned)(w->at[i] - '0'), to))
			return false;
	return w->len > 0;
}

/* The node after this one, in the same section. */
static size_t
node_next(const struct lvm *v, size_t i)
{
	return v->node[i].end != 0 ? v->node[i].end : i + 1;
}

/* A node of a section, by its key; 0: none. */
static size_t
node_find(const struct lvm *v, size_t section, const char *key)
{
	size_t i;

	for (i = section + 1; i < v->node[section].end; i = node_next(v, i))
		if (word_is(&v->node[i].key, key))
			return i;
	return 0;
}

static bool
node_number(const struct lvm *v, size_t section, const char *key, uint64_t *to)
{
	size_t i = node_find(v, section, key);

	return i != 0 && v->node[i].end == 0 &&
	    word_number(&v->node[i].value, to);
}

static bool
node_is(const struct lvm *v, size_t section, const char *key, const char *text)
{
	size_t i = node_find(v, section, key);

	return i != 0 && word_is(&v->node[i].value, text);
}

/* Whether a list has a word; others than those known are counted, too. */
static bool
node_lists(const struct lvm *v, size_t section, const char *key,
    const char *text)
{
	size_t i = node_find(v, section, key);
	struct word list = v->node[i].value, w;

	while (i != 0 && list_word(&list, &w))
		if (word_is(&w, text))
			return true;
	return false;
}

/* ------------------------------------------------------ what leads to it */

/* Read the one label; false: none. */
static bool
lvm_label(struct lvm *v)
{
	unsigned char b[SECTOR];
	unsigned i, n = 0, most = fs_exact(v->io) ? LABELS : LABELS_GUESS;
	uint64_t at;

	for (i = 0; i < most; i++) {
		if (fs_get(v->io, (uint64_t)i * SECTOR, b, SECTOR) != 0)
			return false;
		if (memcmp(b, "LABELONE", 8) != 0 ||
		    memcmp(b + L_TYPE, "LVM2 001", 8) != 0)
			continue;
		n++;
		memcpy(v->head, b, SECTOR);
		at = fs_le(b + L_OFFSET, 4);
		if (fs_le(b + L_SECTOR, 8) != i || fs_le(b + L_SUM, 4) !=
		    lvm_sum(b + L_OFFSET, SECTOR - L_OFFSET) ||
		    at < UUID || at > SECTOR - P_AREAS - (size_t)2 * AREA)
			n = LABELS;
		else
			v->pv = v->head + at;
	}
	if (n > 1 || (n == 1 && v->pv == NULL))
		fs_doubt(v->io, FS_DAMAGED, "its label is wrong");
	return n > 0;
}

/* One more area from the header; false at the end of a list. */
static bool
lvm_area(const struct lvm *v, const unsigned char **at, uint64_t *area)
{
	if ((size_t)(v->head + SECTOR - *at) < AREA)
		return false;
	area[0] = fs_le(*at, 8);
	area[1] = fs_le(*at + 8, 8);
	*at += AREA;
	return area[0] != 0;
}

static bool
lvm_areas(struct lvm *v)
{
	const unsigned char *at = v->pv + P_AREAS;
	uint64_t area[2], length = v->io->src->length;

	if (fs_le(v->pv + P_SIZE, 8) > length) {
		fs_too_long(v->io);
		return false;
	}
	while (lvm_area(v, &at, area))
		;			/* of extents: the text has them */
	while (lvm_area(v, &at, area)) {
		if (v->areas == AREAS_MOST || area[0] > length ||
		    area[1] > length - area[0] || area[1] <= SECTOR) {
			fs_doubt(v->io, FS_DAMAGED, "its header is wrong");
			return false;
		}
		fs_note_meta(v->io, area[0], area[1]);
		v->area[v->areas][0] = area[0];
		v->area[v->areas++][1] = area[1];
	}
	return true;
}

/* Read the text of an area, which is a ring behind its header. */
static bool
lvm_ring(struct lvm *v, const uint64_t *area, const unsigned char *head,
    char *to, size_t size)
{
	uint64_t at = fs_le(head + H_TEXT, 8);
	size_t n = area[1] - at < size ? (size_t)(area[1] - at) : size;

	return fs_get(v->io, area[0] + at, to, n) == 0 &&
	    fs_get(v->io, area[0] + SECTOR, to + n, size - n) == 0 &&
	    lvm_sum(to, size) == fs_le(head + H_TEXT + 16, 4);
}

/* The text of an area, which must be that of those before. */
static bool
lvm_take_area(struct lvm *v, const uint64_t *area)
{
	unsigned char h[SECTOR];
	uint64_t at, size;
	char *text;
	bool good;

	if (fs_get(v->io, area[0], h, SECTOR) != 0 ||
	    memcmp(h + H_MAGIC, " LVM2 x[5A%r0N*>", 16) != 0 ||
	    fs_le(h, 4) != lvm_sum(h + H_MAGIC, SECTOR - H_MAGIC) ||
	    fs_le(h + H_VERSION, 4) != 1 || fs_le(h + H_START, 8) != area[0] ||
	    fs_le(h + H_SIZE, 8) != area[1])
		return false;
	if ((fs_le(h + H_TEXT + 20, 4) & H_IGNORED) != 0)
		return true;
	at = fs_le(h + H_TEXT, 8);
	size = fs_le(h + H_TEXT + 8, 8);
	if (at == 0 && size == 0 && fs_le(h + H_NEXT, 8) == 0) {
		v->empty = true;		/* it is in no group */
		return v->text == NULL;
	}
	if (fs_le(h + H_NEXT, 8) != 0 || at < SECTOR || at >= area[1] ||
	    size == 0 || size > TEXT_MOST || size > area[1] - SECTOR)
		return false;
	text = fs_alloc(v->io, (size_t)size);
	good = text != NULL && !v->empty &&
	    lvm_ring(v, area, h, text, (size_t)size) && (v->text == NULL ||
	    (v->size == size && memcmp(text, v->text, v->size) == 0));
	free(v->text);
	v->text = text;
	v->size = (size_t)size;
	v->sum = (uint32_t)fs_le(h + H_TEXT + 16, 4);
	return good;
}

/* Read the metadata; all copies must be the same. */
static bool
lvm_text(struct lvm *v)
{
	size_t i;

	for (i = 0; i < v->areas; i++)
		if (!lvm_take_area(v, v->area[i])) {
			fs_doubt(v->io, FS_DAMAGED, "its LVM metadata is "
			    "wrong, is being changed, or has copies that "
			    "differ");
			return false;
		}
	if (v->text == NULL) {
		fs_doubt(v->io, FS_UNKNOWN, "it belongs to no group of LVM, "
		    "or has no metadata");
		return false;
	}
	while (v->size > 0 && v->text[v->size - 1] == '\0')
		v->size--;
	return true;
}

/* ---------------------------------------------------------- the group */

/* Copy a UUID without its dashes; false if it is none. */
static bool
word_uuid(const struct word *id, char *to)
{
	size_t i, n = 0;

	for (i = 0; i < id->len && n <= UUID; i++)
		if (id->at[i] != '-' && n++ < UUID)
			to[n - 1] = id->at[i];
	to[MIN(n, (size_t)UUID)] = '\0';
	return n == UUID;
}

/* Find the sections. */
static bool
lvm_group(struct lvm *v)
{
	const struct node *node = v->node;
	char uuid[UUID + 1];
	size_t i, id;

	for (i = 1; i < v->n; i = node_next(v, i))
		if (node[i].end != 0 && v->vg != 0)
			return false;
		else if (node[i].end != 0)
			v->vg = i;
	if (v->vg == 0 || !node_is(v, 0, "contents",
	    "Text Format Volume Group") || !node_is(v, 0, "version", "1") ||
	    !node_is(v, v->vg, "format", "lvm2"))
		return false;
	v->pvs = node_find(v, v->vg, "physical_volumes");
	v->lvs = node_find(v, v->vg, "logical_volumes");
	for (i = v->pvs + 1; i < node[v->pvs].end; i = node_next(v, i)) {
		id = node[i].end != 0 ? node_find(v, i, "id") : 0;
		if (id == 0 || !word_uuid(&node[id].value, uuid) ||
		    memcmp(uuid, v->pv, UUID) != 0)
			continue;
		if (v->self != 0)
			return false;
		v->self = i;
	}
	fs_label(v->io, (const unsigned char *)node[v->vg].key.at,
	    node[v->vg].key.len);
	(void)word_uuid(&node[node_find(v, v->vg, "id")].value,
	    v->io->map->container);
	return v->pvs != 0 && v->self != 0 && node[v->pvs].end != 0 &&
	    (v->lvs == 0 || node[v->lvs].end != 0);
}

/* Where the extents are: not where metadata is, nor behind the end. */
static bool
lvm_extents(struct lvm *v)
{
	uint64_t bytes, end;
	size_t i;

	if (!node_number(v, v->vg, "extent_size", &v->extent) ||
	    !node_number(v, v->self, "pe_start", &v->start) ||
	    !node_number(v, v->self, "pe_count", &v->count) ||
	    __builtin_mul_overflow(v->extent, SECTOR, &v->extent) ||
	    __builtin_mul_overflow(v->start, SECTOR, &v->start) ||
	    __builtin_mul_overflow(v->extent, v->count, &bytes) ||
	    __builtin_add_overflow(v->start, bytes, &end) ||
	    v->extent == 0 || v->start < (uint64_t)LABELS * SECTOR ||
	    end > v->io->src->length)
		return false;
	for (i = 0; i < v->areas; i++)
		if (v->area[i][0] < end &&
		    v->start < v->area[i][0] + v->area[i][1])
			return false;
	return true;
}

/* ------------------------------------------------------- logical volumes */

static const struct kind_of_segment {
	const char *types, *says;	/* NULL: lies in another one */
} segment_kinds[] = {
	{ "striped", "LVM stripes" }, { "thin-pool", "LVM thin pool" },
	{ "thin snapshot vdo error zero", NULL },
	{ "cache", "LVM cache" }, { "cache-pool", "LVM cache pool" },
	{ "writecache", "LVM write cache" }, { "integrity", "LVM integrity" },
	{ "vdo-pool", "LVM VDO pool" }, { "mirror", "LVM mirror" },
	{ "raid0 raid0_meta raid1 raid10 raid10_near raid4 raid5 raid5_la "
	    "raid5_ra raid5_ls raid5_rs raid5_n raid6 raid6_zr raid6_nr "
	    "raid6_nc", "LVM RAID" },
};

static const struct kind_of_segment *
segment_kind(const struct word *type)
{
	struct word list, w;
	size_t i;

	for (i = 0; i < sizeof(segment_kinds) / sizeof(*segment_kinds); i++) {
		list = (struct word){ segment_kinds[i].types,
			strlen(segment_kinds[i].types) };
		while (list_word(&list, &w))
			if (words_same(&w, type))
				return &segment_kinds[i];
	}
	return NULL;
}

/* Whether any other logical volume, or its description, has this name. */
static bool
lvm_refers(const struct lvm *v, const struct word *name)
{
	static const char *const not[] = { "id", "type", "status", "flags",
		"creation_host", "tags" };
	struct word list, w;
	size_t i, k;

	for (i = v->lvs + 1; i < v->node[v->lvs].end; i++) {
		for (k = 0; k < sizeof(not) / sizeof(*not); k++)
			if (word_is(&v->node[i].key, not[k]))
				break;
		list = v->node[i].value;
		while (v->node[i].end == 0 && list.len >= name->len &&
		    k == sizeof(not) / sizeof(*not) && list_word(&list, &w))
			if (words_same(&w, name))
				return true;
	}
	return false;
}

static void
lvm_why(struct fs_volume *to, const char *why)
{
	if (to->reason[0] == '\0')
		memcpy(to->reason, why, strlen(why) + 1);
}

/*
 * The extents of a segment: those on this volume are in use.  "to" gets them
 * if they are all of it.
 */
static bool
segment_stripes(struct lvm *v, size_t s, uint64_t extents, struct fs_volume *to)
{
	size_t list = node_find(v, s, "stripes");
	struct word rest = v->node[list].value, name, number;
	uint64_t n, first, i;

	if (list == 0 || !node_number(v, s, "stripe_count", &n) || n == 0 ||
	    n > NODES_MOST || extents % n != 0)
		return false;
	if (n > 1)
		lvm_why(to, "LVM stripes");
	for (i = 0; i < n; i++) {
		if (!list_word(&rest, &name) || !list_word(&rest, &number) ||
		    !word_number(&number, &first))
			return false;
		if (!words_same(&name, &v->node[v->self].key)) {
			lvm_why(to, "a part of it is on another disk");
			continue;
		}
		if (first > v->count || extents / n > v->count - first)
			return false;
		if (v->runs == NODES_MOST)
			return false;
		v->run[v->runs++] = (struct fs_extent){ first, extents / n };
		if (n > 1)
			continue;
		to->piece[to->n++] = (struct fs_piece){ .at = to->length,
			.len = extents / n * v->extent,
			.off = v->start + first * v->extent };
	}
	return !list_word(&rest, &name);
}

/* Whether a segment of another kind names this volume, as pvmove's does. */
static bool
segment_here(const struct lvm *v, size_t s)
{
	struct word list, w;
	size_t i;

	for (i = s + 1; i < v->node[s].end; i++)
		for (list = v->node[i].value; v->node[i].end == 0 &&
		    list_word(&list, &w); )
			if (words_same(&w, &v->node[v->self].key))
				return true;
	return false;
}

/* Read one segment; *listed: it is one that people know. */
static bool
lvm_segment(struct lvm *v, size_t s, struct fs_volume *to, bool *listed)
{
	const struct kind_of_segment *kind;
	size_t type = node_find(v, s, "type");
	uint64_t start, extents, bytes;
	size_t runs = v->runs;

	kind = segment_kind(&v->node[type].value);
	if (type == 0 || kind == NULL ||
	    !node_number(v, s, "start_extent", &start) ||
	    !node_number(v, s, "extent_count", &extents) || extents == 0 ||
	    __builtin_mul_overflow(extents, v->extent, &bytes) ||
	    start != to->length / v->extent)
		return false;
	if (kind == segment_kinds) {
		if (!segment_stripes(v, s, extents, to))
			return false;
		*listed |= v->runs > runs;
	} else {
		if (segment_here(v, s))
			return false;
		*listed |= kind->says != NULL;
		lvm_why(to, kind->says != NULL ? kind->says : "it is virtual");
	}
	return !__builtin_add_overflow(to->length, bytes, &to->length);
}

static bool
lvm_name(const struct lvm *v, size_t lv, struct fs_volume *to)
{
	const struct word *a = &v->node[v->vg].key, *b = &v->node[lv].key;

	if (a->len + b->len + 2 > sizeof(to->name))
		return false;
	memcpy(to->name, a->at, a->len);
	to->name[a->len] = '/';
	memcpy(to->name + a->len + 1, b->at, b->len);
	return true;
}

/* Whether its status has nothing but what is usual. */
static bool
lvm_usual(const struct lvm *v, size_t lv)
{
	size_t i = node_find(v, lv, "status");
	struct word list = v->node[i].value, w;

	while (i != 0 && list_word(&list, &w))
		if (!word_is(&w, "READ") && !word_is(&w, "WRITE") &&
		    !word_is(&w, "VISIBLE"))
			return false;
	return i != 0;
}

/* Read one; it is kept if people know it, and some of it may be here. */
static bool
lvm_volume(struct lvm *v, size_t lv)
{
	struct fs_map *m = v->io->map;
	struct fs_volume *to = &m->volume[m->volumes];
	bool listed = false, good;
	uint64_t want, n = 0;
	size_t i;

	if (m->volumes == VOLUMES_MOST || v->node[lv].end == 0 ||
	    !node_number(v, lv, "segment_count", &want))
		return false;
	*to = (struct fs_volume){ .piece = fs_alloc(v->io, (v->node[lv].end -
	    lv) * sizeof(*to->piece)) };
	good = to->piece != NULL && lvm_name(v, lv, to);
	for (i = lv + 1; good && i < v->node[lv].end; i = node_next(v, i))
		if (v->node[i].end != 0) {
			good = lvm_segment(v, i, to, &listed);
			n++;
		}
	if (!lvm_usual(v, lv))
		lvm_why(to, "its state is unusual");
	if (lvm_refers(v, &v->node[lv].key))
		lvm_why(to, "it has a snapshot, or another volume lies on it");
	if (good && n == want && listed &&
	    node_lists(v, lv, "status", "VISIBLE"))
		m->volumes++;
	else
		free(to->piece);
	return good && n == want;
}

/* What lies between the extents in use is free; none is used twice. */
static bool
lvm_free(struct lvm *v)
{
	uint64_t at = 0, end;
	size_t i;

	qsort(v->run, v->runs, sizeof(*v->run), fs_extents_order);
	for (i = 0; i <= v->runs; i++) {
		end = i < v->runs ? v->run[i].off : v->count;
		if (end < at)
			return false;
		fs_note_free(v->io, v->start + at * v->extent,
		    (end - at) * v->extent);
		at = i < v->runs ? end + v->run[i].len : end;
	}
	return true;
}

static bool
lvm_volumes(struct lvm *v)
{
	size_t i;

	for (i = v->lvs + 1; v->lvs != 0 && i < v->node[v->lvs].end;
	    i = node_next(v, i))
		if (!lvm_volume(v, i)) {
			fs_doubt(v->io, FS_UNKNOWN, "it has a volume %.*s "
			    "that is not understood, or is being moved",
			    (int)MIN(v->node[i].key.len, NAME_MOST),
			    v->node[i].key.at);
			return false;
		}
	return true;
}

/* By lvmlockd, or in the way of clvmd. */
static bool
lvm_shared(const struct lvm *v)
{
	return node_lists(v, v->vg, "status", "CLUSTERED") ||
	    node_lists(v, v->vg, "status", "SHARED") ||
	    (node_find(v, v->vg, "lock_type") != 0 &&
	    !node_is(v, v->vg, "lock_type", "none"));
}

static void
lvm_read_group(struct lvm *v)
{
	struct fs_map *m = v->io->map;

	if (!lvm_areas(v) || !lvm_text(v))
		return;
	m->stamp = v->sum;
	v->node = fs_alloc(v->io, NODES_MOST * sizeof(*v->node));
	v->run = fs_alloc(v->io, NODES_MOST * sizeof(*v->run));
	m->volume = fs_alloc(v->io, VOLUMES_MOST * sizeof(*m->volume));
	if (v->node == NULL || v->run == NULL || m->volume == NULL)
		return;
	if (!lvm_parse(v) || !lvm_group(v) || !lvm_extents(v))
		fs_doubt(v->io, FS_DAMAGED, "its LVM metadata is not "
		    "understood");
	else if (node_lists(v, v->self, "flags", "MISSING") ||
	    node_lists(v, v->self, "status", "MISSING"))
		fs_doubt(v->io, FS_DAMAGED, "its group calls it missing");
	else if (lvm_shared(v))
		fs_doubt(v->io, FS_DIRTY, "other machines share its group");
	else if (lvm_volumes(v) && !lvm_free(v))
		fs_doubt(v->io, FS_DAMAGED, "two volumes have one extent");
}

static bool
lvm_open(void *state)
{
	struct lvm *v = state;

	return fs_by_start(v->io) && lvm_label(v);
}

static void
lvm_read(void *state)
{
	struct lvm *v = state;

	fs_note_meta(v->io, 0, (uint64_t)LABELS * SECTOR);
	if (!v->io->whole)
		lvm_read_group(v);
}

static void
lvm_close(void *state)
{
	struct lvm *v = state;

	free(v->text);
	free(v->node);
	free(v->run);
}

const struct fs_kind fs_lvm = { { "LVM2_member" }, sizeof(struct lvm), lvm_open,
	lvm_read, NULL, lvm_close };
