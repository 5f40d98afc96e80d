/*
 * Volumes: what lies in a partition, perhaps in pieces and several deep.  Their
 * bytes are read where they lie on the source, those of an encrypted container
 * by its open mapping: what lies where is the same in both.
 */
#include "used_survey.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"
#include "disk/disk.h"
#include "disk/stack.h"
#include "disk/sysfs.h"

enum {
	SIGNS_ROOM = 64 << 10,	/* bytes per read of these */
	VOLUMES_MOST = 4096,	/* of a source */
};

/* The piece of a volume that has a byte of it. */
static const struct fs_piece *
piece_at(const struct used_fs *fs, uint64_t off)
{
	size_t lo = 0, hi = fs->pieces, mid;

	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (fs->piece[mid].at <= off)
			lo = mid;
		else
			hi = mid;
	}
	return &fs->piece[lo];
}

/* From *fs up to what it is read by: the source, or an open container. */
static uint64_t
volume_up(const struct used *u, const struct used_fs **fs, uint64_t off,
    uint64_t *len, bool plain)
{
	const struct fs_piece *p;

	while ((*fs)->within > 0 && !(plain && (*fs)->mapper != 0)) {
		p = piece_at(*fs, off);
		*len = MIN(*len, p->at + p->len - off);
		if (p->off == NOWHERE && !plain)
			return NOWHERE;
		off = off - p->at + p->off;
		*fs = &u->fs[(*fs)->within - 1];
	}
	return (*fs)->within > 0 ? off : (*fs)->off + off;
}

uint64_t
used_place(const struct used *u, const struct used_fs *fs, uint64_t off,
    uint64_t *len)
{
	return volume_up(u, &fs, off, len, false);
}

int
used_read(void *arg, uint64_t off, void *buf, size_t len)
{
	struct look *l = arg;
	const struct used_fs *by;
	unsigned char *to = buf;
	uint64_t at, place, n;
	int err = 0;

	l->base = 0;
	for (; len > 0 && err == 0; len -= (size_t)n, off += n, to += n) {
		n = len;
		by = l->fs;
		place = used_place(l->u, by, off, &n);
		at = volume_up(l->u, &by, off, &n, true);
		err = by->mapper == 0 ? look_read(l, place, to, (size_t)n) :
		    look_read_plain(l, by->mapper, at, place, to, (size_t)n);
	}
	return err;
}

/* Copy a range of a volume into a file in memory. */
static int
volume_fill(struct look *l, int fd, uint64_t off, uint64_t end)
{
	unsigned char *b = malloc(SIGNS_ROOM);
	int err = b == NULL ? ENOMEM : 0;
	size_t n;

	for (; off < end && err == 0; off += n) {
		n = (size_t)MIN(end - off, (uint64_t)SIGNS_ROOM);
		err = used_read(l, off, b, n);
		if (err == 0 && pwrite(fd, b, n, (off_t)off) != (ssize_t)n)
			err = errno;
	}
	free(b);
	return err;
}

void
used_identify(struct look *l, struct volume *to)
{
	uint64_t length = l->fs->length;
	uint64_t edge = MIN(length, (uint64_t)SIGNS_EDGE);
	int fd;

	*to = (struct volume){ .type = "" };
	if (l->fs->within == 0) {
		parts_volume(l->p->src, l->fs->off, length, to);
		return;
	}
	fd = memfd_create("pardd", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)length) == 0 &&
	    volume_fill(l, fd, 0, edge) == 0 &&
	    volume_fill(l, fd, length - edge, length) == 0)
		parts_contents(fd, length, to);
	if (fd >= 0)
		close(fd);
}

int
used_add(struct used *u, unsigned partition, uint64_t off, uint64_t length)
{
	size_t room = u->room * 2 + 8;
	struct used_fs *more;

	if (u->n == u->room) {
		more = reallocarray(u->fs, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		u->fs = more;
		u->room = room;
	}
	u->fs[u->n++] = (struct used_fs){ .partition = partition,
		.off = off, .length = length, .state = FS_UNKNOWN };
	return 0;
}

/* Whether the pieces of a volume are in order, and within what it lies in. */
static bool
volume_sound(const struct fs_volume *v, uint64_t length)
{
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < v->n; i++) {
		const struct fs_piece *p = &v->piece[i];

		if (p->at != at || p->len == 0 || (p->off != NOWHERE &&
		    (p->off > length || p->len > length - p->off)))
			return false;
		at += p->len;
	}
	return at == v->length && at > 0;
}

/* Add one behind another, whose number is "at". */
static int
volume_add(struct used *u, size_t at, struct fs_volume *v, size_t within)
{
	struct used_fs *fs;
	int err = u->n < VOLUMES_MOST ? used_add(u, u->fs[within].partition,
	    0, v->length) : E2BIG;

	if (err != 0)
		return err;
	fs = &u->fs[at];
	memmove(fs + 1, fs, (u->n - 1 - at) * sizeof(*fs));
	*fs = (struct used_fs){ .partition = u->fs[within].partition,
		.length = v->length, .state = FS_UNKNOWN,
		.within = within + 1, .off = u->fs[within].off };
	strlcpy(fs->volume, v->name, sizeof(fs->volume));
	strlcpy(fs->reason, v->reason, sizeof(fs->reason));
	if (v->reason[0] == '\0' && !volume_sound(v, u->fs[within].length))
		strlcpy(fs->reason, "its pieces are not within it",
		    sizeof(fs->reason));
	if (fs->reason[0] != '\0') {
		fs->treated = TREATED_WHOLE;
		return 0;
	}
	fs->piece = v->piece;
	fs->pieces = v->n;
	v->piece = NULL;
	fs->off = used_place(u, fs, 0, &(uint64_t){ 1 });
	return 0;
}

int
used_add_volumes(struct used *u, size_t within, struct fs_map *m)
{
	size_t i, depth = 0, at = within + 1;
	int err = 0;

	for (i = within; u->fs[i].within > 0; i = u->fs[i].within - 1)
		depth++;
	for (i = 0; i < m->volumes && depth < LEVELS_MOST && err == 0; i++)
		err = volume_add(u, at++, &m->volume[i], within);
	return err;
}

/* ----------------------------------------------------- open containers */

enum { PIECES = 16 };		/* of one: of BitLocker about 8 */

/* Whether a device is of a group of LVM, or a RAID of md. */
static bool
is_group(dev_t node)
{
	int dir = sysfs_open("block", node);
	char text[256];
	bool is = dir >= 0 && (sysfs_text(dir, "md/level", text,
	    sizeof(text)) || (sysfs_text(dir, "dm/uuid", text, sizeof(text)) &&
	    strncmp(text, "LVM-", 4) == 0));

	if (dir >= 0)
		close(dir);
	return is;
}

/*
 * Whether a place belongs to a device above it, below the mapping: the source;
 * one of the group, if a member of that is examined, which is in so many
 * groups, itself included; or another mapping, which counts itself, if it is
 * only somewhere.
 */
static bool
is_of_another(const struct stack *s, const struct stack_place *p,
    const struct stack_place *top, dev_t mapper, size_t member)
{
	struct dm_piece piece[PIECES];
	bool somewhere = p->somewhere;
	size_t n;

	while (p->step != STACK_TOP) {
		p = &s->at[p->above];
		if (p->dev == top->dev && p->ino == top->ino)
			return true;
		if (p->ino != 0 || p->dev == mapper)
			continue;
		if (member > 0 && is_group(p->dev) && --member == 0)
			return true;
		(void)dm_crypt(p->dev, piece, PIECES, &n);
		if (somewhere && n > 0)
			return true;
	}
	return false;
}

/*
 * How many bytes of ->fs a piece of a mapping has, and from where on, if they
 * are in order there, else NOWHERE; *here: it has some, or may.
 */
static uint64_t
open_place(const struct look *l, const struct stack *below, dev_t mapper,
    const struct dm_piece *piece, size_t member, uint64_t *first, bool *here)
{
	const struct stack_place *top = &below->at[0], *p;
	uint64_t sum = 0, done = 0, off, n, at, from, a, b;
	const struct used_fs *by;
	struct stack s, one;

	stack_begin(&s, below->how);
	stack_add(&s, (struct stack_place){ .dev = piece->node,
	    .from = piece->off, .to = piece->off + piece->length });
	stack_down(&s);
	*here |= sysfs_unasked(s.err) != 0;
	for (p = s.at; p < s.at + s.n; p++) {
		if (is_of_another(&s, p, top, mapper, member))
			continue;
		if (p->dev != top->dev || p->ino != top->ino) {
			stack_begin(&one, 0);
			stack_add(&one, *p);
			*here |= stack_meet(&one, below);
			continue;
		}
		from = p->from;
		for (off = 0; off < l->fs->length; off += n) {
			n = l->fs->length - off;
			by = l->fs;
			at = volume_up(l->u, &by, off, &n, true);
			a = MAX(at, p->from);
			b = MIN(at + n, p->to);
			if (a >= b)
				continue;
			*here = true;
			if (p->somewhere)
				continue;
			if (sum == 0) {
				*first = off + (a - at);
				from = a;
			}
			sum += b - a;
			if (a == from && off + (a - at) == *first + done) {
				done += b - a;
				from = b;
			}
		}
	}
	stack_end(&s);
	if (done < sum || sum == 0)
		*first = NOWHERE;
	return sum;
}

/* Whether a mapping has bytes of ->fs, or may, but not all as they are. */
static bool
open_differs(const struct look *l, const struct stack *below, dev_t mapper,
    size_t member)
{
	struct dm_piece piece[PIECES];
	bool striped, here, differs = false;
	uint64_t all = l->fs->length, off;
	size_t n, i;

	if (dm_pieces(mapper, piece, PIECES, &n, &striped) != 0 || striped) {
		piece[0] = (struct dm_piece){ .node = mapper,
			.length = UINT64_MAX };
		n = 1;
		all = UINT64_MAX;
	}
	for (i = 0; i < n; i++) {
		here = false;
		differs |= open_place(l, below, mapper, &piece[i], member, &off,
		    &here) < all && here;
	}
	return differs;
}

/*
 * Find what a mapping has of ->fs; false: not, or not only, that.  *crypt: its
 * table says that it encrypts.
 */
static bool
open_within(const struct look *l, const struct fs_map *m,
    const struct stack *below, dev_t mapper, struct fs_volume *v, bool *crypt,
    bool *here)
{
	size_t member = strstr(m->type, "_member") != NULL ? 1 : 0;
	const struct used_fs *fs = l->fs;
	struct dm_piece piece[PIECES];
	struct fs_piece *to = v->piece;
	bool good;
	size_t n, i, k;
	int err = dm_crypt(mapper, piece, PIECES, &n);

	for (; member > 0 && fs->within > 0 && fs->mapper == 0; member++)
		fs = &l->u->fs[fs->within - 1];
	*crypt = good = n > 0;
	if (err != 0) {
		*here |= open_differs(l, below, mapper, member);
		return false;
	}
	v->length = 0;
	for (i = 0; i < n; i++) {
		to[i] = (struct fs_piece){ .at = v->length, .off = NOWHERE,
			.len = piece[i].length };
		good = good && piece[i].start == v->length &&
		    (m->payload > 0 || to[i].len == l->fs->length);
		v->length += to[i].len;
		if (piece[i].node == 0)
			continue;
		good = open_place(l, below, mapper, &piece[i], member,
		    &to[i].off, here) == to[i].len && good &&
		    to[i].off != NOWHERE && to[i].off >= m->payload;
		for (k = 0; k < i && good; k++)
			good = to[k].off >= to[i].off + to[i].len ||
			    to[k].off + to[k].len <= to[i].off;
	}
	v->n = n;
	return good;
}

/*
 * Try the mapping of this name and kind.  Returns 0 if it shows what is in
 * ->fs; -1 if it has bytes of that, or may, but is no such mapping; else 1.
 */
static int
open_take(const struct look *l, const struct fs_map *m,
    const struct stack *below, const char *name, const char *kind,
    dev_t *mapper, struct fs_volume *v, char *why)
{
	char path[300], uuid[256];
	bool here = false, crypt = false, good;
	size_t i;

	snprintf(path, sizeof(path), "/sys/block/%s", name);
	*mapper = sysfs_node(AT_FDCWD, path);
	snprintf(path, sizeof(path), "/sys/block/%s/dm/name", name);
	if (!sysfs_text(AT_FDCWD, path, v->name, sizeof(v->name))) {
		if (sysfs_unasked(errno) == 0)
			return 1;
		here = true;
		strlcpy(v->name, name, sizeof(v->name));
	}
	for (i = 0; i < below->n; i++)
		if (below->at[i].dev == *mapper && below->at[i].ino == 0)
			return 1;
	snprintf(path, sizeof(path), "/sys/block/%s/dm/uuid", name);
	if (!sysfs_text(AT_FDCWD, path, uuid, sizeof(uuid)))
		uuid[0] = '\0';
	/* these have their bytes as they are, or those of a volume */
	if (strncmp(uuid, "LVM-", 4) == 0 || strncmp(uuid, "mpath-", 6) == 0 ||
	    strncmp(uuid, "DMRAID-", 7) == 0)
		return 1;
	good = open_within(l, m, below, *mapper, v, &crypt, &here) &&
	    kind != NULL && strncmp(uuid, kind, strlen(kind)) == 0;
	if (!here)
		return 1;
	if (!good)
		snprintf(why, IDLE_WHY, kind != NULL && (crypt ||
		    m->payload > 0) ? "it is encrypted, and %.48s, its open "
		    "mapping, cannot be looked up, shows only a part, or has "
		    "its header elsewhere" : crypt ? "%.64s, which is "
		    "encrypted, lies on it" : "%.64s lies on it, and cannot "
		    "be looked up", v->name);
	return good ? 0 : -1;
}

/* Find where the source lies, or the open container that it is read by. */
static void
source_below(const struct endpoint *ep, dev_t mapper, struct stack *s)
{
	bool names = mapper == 0 && (ep->id.ino != 0 || stack_any(ep->id.dev));
	struct stat layer;

	stack_begin(s, STACK_TABLES | (names ? (unsigned)STACK_NAMES : 0));
	stack_add(s, (struct stack_place){ .to = UINT64_MAX,
	    .dev = mapper != 0 ? mapper : ep->id.dev,
	    .ino = mapper != 0 ? 0 : ep->id.ino });
	if (mapper != 0)
		return;
	if (endpoint_layer(ep, &layer))
		stack_add(s, (struct stack_place){ .to = UINT64_MAX,
		    .dev = layer.st_dev, .ino = layer.st_ino });
	else if (errno != 0)
		stack_not_seen(s, ep->id.dev, errno);
	stack_down(s);
}

/*
 * Try all mappings: only one may lie there, and none in another that is read
 * already.  Returns as open_take.
 */
static int
open_any(const struct look *l, const struct fs_map *m, const char *kind,
    dev_t *mapper, struct fs_volume *v, char *why)
{
	struct fs_piece piece[PIECES];
	struct fs_volume other = { .piece = piece };
	const struct used_fs *by = l->fs;
	struct dirent **list;
	struct stack below;
	int n, i, one, is = 1;
	dev_t node;

	(void)volume_up(l->u, &by, 0, &(uint64_t){ 1 }, true);
	if (!l->p->src->id.known || (by->mapper != 0 && m->payload > 0))
		return 1;
	source_below(l->p->src, by->mapper, &below);
	if (by->mapper != 0 || below.at[0].ino != 0)
		kind = NULL;
	else if (m->payload > 0)
		snprintf(why, IDLE_WHY, "it is encrypted, and not open "
		    "(cryptsetup open --readonly %swould show what is free in "
		    "it)", strcmp(m->type, "BitLocker") == 0 ?
		    "--type bitlk " : "");
	n = sysfs_entries(AT_FDCWD, "/sys/block", &list);
	if ((n < 0 && sysfs_unasked(errno) != 0) ||
	    sysfs_unasked(below.err) != 0) {
		snprintf(why, IDLE_WHY, "what lies on it cannot be looked up");
		is = -1;
	}
	for (i = 0; i < n && is >= 0; i++) {
		one = open_take(l, m, &below, list[i]->d_name, kind, &node,
		    is == 0 ? &other : v, why);
		if (one > 0)
			continue;
		if (is == 0)
			snprintf(why, IDLE_WHY,
			    "several open mappings lie on it");
		else
			*mapper = node;
		is = is == 0 ? -1 : one;
	}
	sysfs_forget(list, n);
	stack_end(&below);
	return is;
}

int
used_open(struct look *l, struct fs_map *m, dev_t *mapper, char *why)
{
	static const struct { const char *type, *uuid; } kind[] = {
		{ "crypto_LUKS", "CRYPT-LUKS" },
		{ "BitLocker", "CRYPT-BITLK-" }, { "", "CRYPT-PLAIN-" },
		{ NULL, NULL } };
	struct fs_volume *v = calloc(1, sizeof(*v));
	struct fs_piece *piece = calloc(PIECES, sizeof(*piece));
	int is = v == NULL || piece == NULL ? -1 : 1;
	size_t i = 0;

	while (kind[i].type != NULL && strcmp(kind[i].type, m->type) != 0)
		i++;
	snprintf(why, IDLE_WHY, "%s", m->reason);
	if (is > 0) {
		v->piece = piece;
		is = open_any(l, m, kind[i].uuid, mapper, v, why);
	}
	if (is == 0) {
		m->volume = v;
		m->stamp = m->stamp * 31 + (uint32_t)number_sum(number_sum(
		    NUMBER_SUM, piece, v->n * sizeof(*piece)), mapper,
		    sizeof(*mapper));
		m->volumes = 1;
		m->state = FS_CLEAN;
		return 0;
	}
	free(piece);
	free(v);
	return i < 2 ? -1 : is;
}
