/*
 * Where bytes lie.  A partition lies on its disk; dm and md on their "slaves";
 * a loop device on a file or a device, and it is asked for that itself, because
 * the name in sysfs may belong to another file by now; a file in a layer, and
 * on the disks of its file system.
 *
 * The tables of dm are read by the ioctls of its control node; see
 * linux/dm-ioctl.h and the kernel's admin-guide/device-mapper/linear.rst,
 * striped.rst and dm-crypt.rst.
 */
#include "disk/stack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disk/disk.h"
#include "disk/overlay.h"
#include "disk/sysfs.h"

/* --- tables of the device mapper ----------------------------------------- */

enum {
	ANSWER = 16384,		/* bytes of a table that fit */
	SECTOR = 512,		/* the unit of tables, bytes */
};

/* A device number in the form of the ioctls. */
static uint64_t
dm_encode_node(dev_t node)
{
	uint64_t low = minor(node);

	return (low & 0xff) | (uint64_t)major(node) << 8 |
	    (low & ~(uint64_t)0xff) << 12;
}

struct pieces {			/* where those found go */
	struct dm_piece	*at;
	size_t		 room, n;
	bool		 striped;	/* some of striped targets */
	bool		 crypt;		/* of crypt targets, and of zeros */
	bool		 suspended;	/* reads of it wait */
};

/* Parse "8:17 2048": the device, and the sector on it. */
static bool
read_place(char **text, struct dm_piece *piece)
{
	uint64_t sectors;

	if (!sysfs_pair(text, &piece->node) || **text != ' ')
		return false;
	sectors = strtoull(*text + 1, text, 10);
	return !__builtin_mul_overflow(sectors, SECTOR, &piece->off);
}

/* Add one of the n devices of a target; without a text, zeros. */
static int
dm_add_piece(struct pieces *p, const struct dm_target_spec *spec,
    unsigned long n, char **text)
{
	struct dm_piece piece = { .node = 0 };

	if (p->n == p->room)
		return E2BIG;
	if (__builtin_mul_overflow(spec->sector_start, SECTOR, &piece.start) ||
	    __builtin_mul_overflow(spec->length / n, SECTOR, &piece.length) ||
	    (text != NULL && !read_place(text, &piece)))
		return EBADMSG;
	p->at[p->n++] = piece;
	return 0;
}

static int
add_linear(struct pieces *p, const struct dm_target_spec *spec, char *text)
{
	int err = dm_add_piece(p, spec, 1, &text);

	return err == 0 && *text != '\0' ? EBADMSG : err;
}

/* "2 128 8:16 2048 8:32 0": stripes, sectors of each, and their devices. */
static int
add_stripes(struct pieces *p, const struct dm_target_spec *spec, char *text)
{
	unsigned long n = strtoul(text, &text, 10), i;
	int err = n == 0 ? EBADMSG : 0;

	strtoul(text, &text, 10);
	for (i = 0; i < n && err == 0; i++)
		err = *text++ == ' ' ? dm_add_piece(p, spec, n, &text) :
		    EBADMSG;
	return err;
}

/*
 * Whether these options of a crypt target, "2 allow_discards sector_size:4096",
 * leave each sector where it is, with nothing beside it.
 */
static bool
crypt_in_place(char *text)
{
	static const char *const fine[] = { "allow_discards",
		"same_cpu_crypt", "submit_from_crypt_cpus", "high_priority",
		"no_read_workqueue", "no_write_workqueue", "iv_large_sectors",
		"sector_size:512", "sector_size:1024", "sector_size:2048",
		"sector_size:4096" };
	const char *word = strsep(&text, " ");
	size_t i = 0;

	while (i < sizeof(fine) / sizeof(*fine) &&
	    (word = strsep(&text, " ")) != NULL)
		for (i = 0; i < sizeof(fine) / sizeof(*fine); i++)
			if (strcmp(word, fine[i]) == 0)
				break;
	return word == NULL;
}

/* "aes-xts-plain64 KEY 0 8:17 32768": cipher, key, first IV, and the place. */
static int
add_crypt(struct pieces *p, const struct dm_target_spec *spec, char *text)
{
	int i, err;

	for (i = 0; i < 3 && text != NULL; i++)
		(void)strsep(&text, " ");
	err = text == NULL ? EBADMSG : dm_add_piece(p, spec, 1, &text);
	if (err != 0)
		return err;
	if (*text == '\0')
		return 0;
	return *text++ != ' ' ? EBADMSG : crypt_in_place(text) ? 0 : ENOTSUP;
}

/* Read one target of the answer, at byte "at". */
static int
read_target(char *answer, size_t at, size_t end, struct pieces *p,
    size_t *next)
{
	struct dm_target_spec spec;
	const char *type = spec.target_type;
	char *text = answer + at + sizeof(spec);

	if (at > end || end - at <= sizeof(spec))
		return EBADMSG;
	memcpy(&spec, answer + at, sizeof(spec));
	spec.target_type[sizeof(spec.target_type) - 1] = '\0';
	*next = spec.next;
	if (p->crypt && strcmp(type, "zero") == 0)
		return dm_add_piece(p, &spec, 1, NULL);
	if (p->crypt)
		return strcmp(type, "crypt") == 0 ? add_crypt(p, &spec, text) :
		    ENOTSUP;
	if (strcmp(type, "linear") == 0)
		return add_linear(p, &spec, text);
	if (strcmp(type, "striped") != 0)
		return ENOTSUP;
	p->striped = true;
	return add_stripes(p, &spec, text);
}

/*
 * Terminate the answer, whatever the kernel has written.  It may have the key
 * of an encrypted device.
 */
static int
dm_table_read(dev_t node, struct dm_ioctl *io)
{
	int fd = open("/dev/mapper/control", O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = ANSWER - 1;
	io->data_start = sizeof(*io);
	io->dev = dm_encode_node(node);
	io->flags = DM_STATUS_TABLE_FLAG | DM_SECURE_DATA_FLAG;
	err = ioctl(fd, DM_TABLE_STATUS, io) == 0 ? 0 : errno;
	close(fd);
	if (err == 0 && (io->flags & DM_BUFFER_FULL_FLAG) != 0)
		err = E2BIG;
	return err;
}

static int
dm_read(dev_t node, struct pieces *p)
{
	struct dm_ioctl *io = calloc(1, ANSWER);
	int err = io == NULL ? ENOMEM : dm_table_read(node, io);
	size_t at, next = 0;
	uint32_t i;

	p->suspended = err == 0 && (io->flags & DM_SUSPEND_FLAG) != 0;
	for (i = 0; err == 0 && i < io->target_count; i++) {
		at = io->data_start + next;	/* offsets count from there */
		err = read_target((char *)io, at, ANSWER - 1, p, &next);
	}
	if (io != NULL)
		explicit_bzero(io, ANSWER);
	free(io);
	return err;
}

int
dm_pieces(dev_t node, struct dm_piece *piece, size_t room, size_t *n,
    bool *striped)
{
	struct pieces p = { .at = piece, .room = room };
	int err = dm_read(node, &p);

	*n = p.n;
	*striped = p.striped;
	return err;
}

int
dm_crypt(dev_t node, struct dm_piece *piece, size_t room, size_t *n)
{
	struct pieces p = { .at = piece, .room = room, .crypt = true };
	int err = dm_read(node, &p);

	*n = p.n;
	return err == 0 && p.suspended ? ENOTSUP : err;
}

/* Also if that cannot be asked. */
static bool
has_members(int dir, const char *slaves)
{
	char name[256] = "";
	int err = sysfs_first(dir, slaves, name, sizeof(name));

	return name[0] != '\0' || sysfs_unasked(err) != 0;
}

bool
stack_any(dev_t node)
{
	int dir = sysfs_open("block", node);
	bool is;

	if (dir < 0)
		return sysfs_unasked(errno) != 0;
	is = faccessat(dir, "loop", F_OK, 0) == 0 ||
	    faccessat(dir, "../loop", F_OK, 0) == 0 ||
	    has_members(dir, "slaves") || has_members(dir, "../slaves");
	close(dir);
	return is;
}

enum {
	PIECES = 256,		/* of a dm device; of one with more, all */
	HOSTS = 256,		/* disks of a file system */
};

void
stack_begin(struct stack *s, unsigned how)
{
	s->at = s->few;
	s->n = 0;
	s->room = STACK_FEW;
	s->how = how;
	s->err = 0;
	s->dev = 0;
	s->silent = false;
}

void
stack_not_seen(struct stack *s, dev_t dev, int err)
{
	if (s->err == 0) {
		s->err = err;
		s->dev = dev;
	}
}

/* What is below a place is not known. */
static void
stack_hide(struct stack *s, size_t i, int err)
{
	s->at[i].err = err;
	stack_not_seen(s, s->at[i].dev, err);
}

/* Make room for another place.  Returns 0 or an errno value. */
static int
stack_grow(struct stack *s)
{
	struct stack_place *more;

	if (s->n < s->room)
		return 0;
	if (s->n >= STACK_MOST)
		return E2BIG;
	more = reallocarray(s->at == s->few ? NULL : s->at, s->room * 2,
	    sizeof(*more));
	if (more == NULL)
		return ENOMEM;
	if (s->at == s->few)
		memcpy(more, s->few, sizeof(s->few));
	s->at = more;
	s->room *= 2;
	return 0;
}

void
stack_end(struct stack *s)
{
	if (s->at != s->few)
		free(s->at);
	s->n = 0;
}

void
stack_add(struct stack *s, struct stack_place p)
{
	int err = stack_grow(s);

	if (p.to < p.from)
		p.to = UINT64_MAX;
	if (err == 0)
		s->at[s->n++] = p;
	else
		stack_not_seen(s, p.dev, err);
}

/* A place below another: the same bytes, so many bytes further on. */
static struct stack_place
place_below(const struct stack *s, size_t i, enum stack_step step, uint64_t by)
{
	const struct stack_place *p = &s->at[i];

	return (struct stack_place){ .from = p->from + by,
		.to = p->to > UINT64_MAX - by ? UINT64_MAX : p->to + by,
		.above = (unsigned short)i, .step = (unsigned char)step,
		.somewhere = p->somewhere };
}

/* All of a device. */
static struct stack_place
all_of(dev_t node, size_t i, enum stack_step step)
{
	return (struct stack_place){ .dev = node, .to = UINT64_MAX,
		.above = (unsigned short)i, .step = (unsigned char)step };
}

void
stack_add_hosts(struct stack *s, const struct located *l)
{
	const size_t top = s->n - 1;
	dev_t node[HOSTS];
	size_t n = 0, i;
	bool asked = (s->how & STACK_HOSTS) != 0 &&
	    (major(l->dev) != 0 || (s->how & STACK_NAMES) != 0);
	int err = asked ? filesystem_disks(l, node, HOSTS, &n) : 0;

	if (err != 0)
		stack_hide(s, top, err);
	for (i = 0; i < n; i++)
		stack_add(s, all_of(node[i], top, STACK_HOST));
}

/* Add what a loop device lies on; a file has another name in a layer. */
static void
add_backing(struct stack *s, size_t i, const struct disk *d)
{
	struct stack_place p = place_below(s, i, STACK_BACKING, d->backing_off);
	struct located l = { .directory = AT_FDCWD, .name = d->backing };
	struct overlaid layer;
	struct stat st;
	int err = d->backing[0] == '\0' ? ENXIO :
	    disk_backing(d->whole_name, d->backing, &st);

	s->silent |= err == ENXIO && d->backing[0] != '\0';
	if (err != 0) {
		if (err != ENXIO)
			stack_hide(s, i, err);
		return;
	}
	p.dev = l.dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	p.ino = l.ino = S_ISBLK(st.st_mode) ? 0 : st.st_ino;
	stack_add(s, p);
	if (p.ino == 0)
		return;
	p = place_below(s, s->n - 1, STACK_LAYER, 0);
	stack_add_hosts(s, &l);
	if ((s->how & STACK_NAMES) == 0)
		return;
	if (overlay_file(&l, false, &layer, NULL)) {
		p.dev = layer.st.st_dev;
		p.ino = layer.st.st_ino;
		stack_add(s, p);
	}
	if (layer.err != 0)
		stack_hide(s, i, layer.err);
}

/* Add the part of a piece of a dm device that has bytes of the place. */
static void
add_piece(struct stack *s, size_t i, const struct dm_piece *piece)
{
	struct stack_place p = all_of(piece->node, i, STACK_MEMBER);
	uint64_t from = MAX(s->at[i].from, piece->start);
	uint64_t to = MIN(s->at[i].to, piece->start + piece->length);

	p.from = from - piece->start + piece->off;
	p.to = to - piece->start + piece->off;
	if (from < to)
		stack_add(s, p);
}

/* Add all of a piece, as where in it the bytes are is unknown. */
static void
add_range(struct stack *s, size_t i, const struct dm_piece *piece)
{
	struct stack_place p = all_of(piece->node, i, STACK_MEMBER);

	p.from = piece->off;
	p.to = piece->off + piece->length;
	p.somewhere = true;
	stack_add(s, p);
}

/*
 * Add the ranges in the table of a dm device; false if that does not say.  Not
 * inlined: it needs much stack.
 */
__attribute__((noinline)) static bool
add_pieces(struct stack *s, size_t i)
{
	struct dm_piece piece[PIECES];
	bool striped;
	size_t n, k;
	int err = dm_pieces(s->at[i].dev, piece, PIECES, &n, &striped);
	bool exact = !striped && !s->at[i].somewhere;

	if (sysfs_unasked(err) != 0)
		stack_hide(s, i, err);
	for (k = 0; err == 0 && k < n; k++)
		(exact ? add_piece : add_range)(s, i, &piece[k]);
	return err == 0;
}

/* Add the members of a dm or md device; where in them is mostly unknown. */
static void
add_members(struct stack *s, size_t i)
{
	int dir = sysfs_open("block", s->at[i].dev), n, k;
	struct stack_place p;
	struct dirent **list;
	char path[300];
	bool pieces;

	if (dir < 0) {
		stack_hide(s, i, errno);
		return;
	}
	n = sysfs_entries(dir, "slaves", &list);
	if (n < 0 && errno != ENOENT)		/* a partition has none */
		stack_hide(s, i, errno);
	pieces = n > 0 && (s->how & STACK_TABLES) != 0 && add_pieces(s, i);
	for (k = 0; k < n; k++) {
		snprintf(path, sizeof(path), "slaves/%s", list[k]->d_name);
		p = all_of(sysfs_node(dir, path), i, STACK_MEMBER);
		p.somewhere = true;
		if (p.dev == 0) {
			p.err = errno != 0 ? errno : ENODATA;
			stack_hide(s, i, p.err);
		}
		if (!pieces)
			stack_add(s, p);
	}
	sysfs_forget(list, n);
	close(dir);
}

/* Add the places directly below a place on a block device. */
static void
add_below(struct stack *s, size_t i)
{
	bool ids = (s->how & STACK_IDS) != 0, found;
	struct stack_place p;
	struct disk d;

	found = ids ? disk_of_block(s->at[i].dev, &d) :
	    disk_place(s->at[i].dev, &d);
	if (!found || d.err != 0) {
		stack_hide(s, i, d.err);
		return;
	}
	if (d.length > s->at[i].from)	/* else nobody knows how long it is */
		s->at[i].to = MIN(s->at[i].to, d.length);
	if (d.partition != 0) {
		p = place_below(s, i, STACK_DISK, d.start);
		p.dev = d.whole;
		stack_add(s, p);
		return;
	}
	s->at[i].id = disk_id(&d);
	add_backing(s, i, &d);
	add_members(s, i);
}

void
stack_down(struct stack *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->at[i].ino == 0 && s->at[i].dev != 0)
			add_below(s, i);
}

/*
 * Whether a loop device's medium is the file or whole disk of a place, and
 * where it begins there.  Returns 0, or an errno value; ENXIO: it is not.
 */
static int
same_medium(const struct stack_place *p, const char *loop, struct stat *st,
    uint64_t *start, char **mounts)
{
	struct disk d;
	int err = 0;

	*start = 0;
	if (S_ISBLK(st->st_mode) != (p->ino == 0))
		return ENXIO;
	if (p->ino == 0) {
		disk_place(st->st_rdev, &d);
		*start = d.start;
		return d.err != 0 || d.whole == p->dev ? d.err : ENXIO;
	}
	if (st->st_dev != p->dev)
		err = overlay_loop(loop, st, mounts);
	return err != 0 || (st->st_dev == p->dev && st->st_ino == p->ino) ?
	    err : ENXIO;
}

struct beside {			/* who looks for loop devices, */
	const struct stack_place *place;	/* ... where, */
	dev_t	 but;
	stack_each *fn;		/* ... and what for */
	void	*arg;
	int	 got;
	char	*mounts;	/* for overlay_loop */
};

/* Call fn for one loop device, if it lies there. */
static int
call_loop(const char *loop, void *arg)
{
	struct beside *b = arg;
	uint64_t start = 0;
	char path[300];
	struct disk d;
	struct stat st;
	dev_t node;
	int err = disk_medium(loop, &st);

	if (err == 0)
		err = same_medium(b->place, loop, &st, &start, &b->mounts);
	if (err == ENXIO)
		return 0;
	snprintf(path, sizeof(path), "/sys/block/%s", loop);
	node = sysfs_node(AT_FDCWD, path);
	if (node == b->but)
		return 0;
	disk_of_block(node, &d);
	b->got = b->fn(&d, start + d.backing_off, err != 0 ? err : d.err,
	    b->arg);
	return b->got != 0;
}

int
stack_loops(const struct stack_place *p, dev_t but, stack_each *fn, void *arg)
{
	struct beside b = { p, but, fn, arg, 0, NULL };
	int got = disk_each_loop(call_loop, &b);

	free(b.mounts);
	return got < 0 ? fn(NULL, 0, -got, arg) : b.got;
}

/* Whether a dm device has bytes of the range, or may have. */
__attribute__((noinline)) static bool
holder_shares(dev_t holder, const struct stack_place *p)
{
	struct dm_piece piece[PIECES];
	bool striped;
	size_t n, i;
	int err = dm_pieces(holder, piece, PIECES, &n, &striped);

	if (err != 0)
		return err == ENOTSUP || err == E2BIG ||
		    sysfs_unasked(err) != 0;
	for (i = 0; i < n; i++)
		if (piece[i].node == p->dev && piece[i].off < p->to &&
		    p->from < piece[i].off + piece[i].length)
			return true;
	return false;
}

/* Find all holders of a node; the caller frees them.  Returns an errno. */
static int
find_holders(dev_t node, dev_t **holder, size_t *n)
{
	size_t room = PIECES;
	int err;

	*holder = NULL;
	do {
		free(*holder);
		*holder = calloc(room, sizeof(**holder));
		err = *holder == NULL ? ENOMEM :
		    disk_holders(node, *holder, room, n);
		room *= 2;
	} while (err == E2BIG);
	return err;
}

int
stack_holders(const struct stack_place *p, dev_t but, stack_each *fn,
    void *arg)
{
	struct disk d;
	dev_t *holder;
	size_t n, i;
	int err = find_holders(p->dev, &holder, &n), got = 0;

	if (err != 0)
		got = fn(NULL, 0, err, arg);
	for (i = 0; err == 0 && i < n && got == 0; i++) {
		if (holder[i] == but || !holder_shares(holder[i], p))
			continue;
		if (disk_of_block(holder[i], &d))
			got = fn(&d, 0, 0, arg);
		else if (sysfs_unasked(d.err) != 0)
			got = fn(&d, 0, d.err, arg);
	}
	free(holder);
	return got;
}

static bool
place_is_same(const struct stack_place *p, const struct stack_place *q)
{
	return (p->dev != 0 && p->dev == q->dev && p->ino == q->ino) ||
	    (p->id != 0 && p->id == q->id);
}

bool
stack_meet(const struct stack *a, const struct stack *b)
{
	const struct stack_place *p, *q;

	for (p = a->at; p < a->at + a->n; p++)
		for (q = b->at; q < b->at + b->n; q++)
			if (place_is_same(p, q) && p->from < q->to &&
			    q->from < p->to && !(p->somewhere && q->somewhere))
				return true;
	return false;
}
