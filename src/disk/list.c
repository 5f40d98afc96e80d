/*
 * --list.  The disks are those of /sys/block, without empty loop devices and
 * the like, loop devices last, followed by SCSI disks without a block node,
 * from /sys/class/scsi_generic.  No device is opened, so a disk that hangs does
 * not prevent the others from being listed.
 *
 * For people, a disk takes a few lines: what it is, its other names, its
 * partitions, and what lies on each, level by level.  File systems are those
 * that udev has found; what is named, and what udev has no record of, is opened
 * and looked at.  Text from outside is escaped before lines are folded.
 */
#include "disk/disk.h"

#include <blkid/blkid.h>
#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/print.h"
#include "base/status.h"
#include "base/value.h"
#include "disk/sysfs.h"
#include "disk/usage.h"

struct user {			/* of a disk, or of a partition of it */
	struct user	*next;
	char		 name[256];	/* node that is used */
	struct usage	 use;
};

struct level {			/* a dm or md device on one of these, or on
				 * another one */
	struct level	*next;
	char		 root[256];	/* the disk or partition below all, */
	char		 on[256];	/* and what is next below: names of */
	char		 name[256];	/* nodes, as this one's, */
	char		 called[256];	/* and for the device mapper, or "" */
	char		 kind[32];	/* what it is, or "" */
	unsigned	 depth;		/* of indentation */
	dev_t		 node;
	uint64_t	 length;
};

struct listed {
	struct listed	*next;
	struct disk	 disk;
	char		 by_id[NAME_MAX + 1];
	char		 zoned[32];	/* the zone model, or "" */
	bool		 named;		/* by whom the list is for */
	struct user	*users;
	struct level	*levels;	/* each before what lies on it */
};

enum {
	WIDTH = 80,		/* columns, if there is no terminal */
	INDENT = 4,		/* of lines below a disk */
	DEEPEST = 8,		/* levels */
};

static const struct { enum usage_kind kind; const char *word, *key; } uses[] = {
	{ USE_MOUNTED, "mounted on ", "mounted" },
	{ USE_SWAP, "", "swap" },
	{ USE_HELD, "held by ", "held" },
	{ USE_LOOPED, "medium of ", "looped" },
};

/* How the UUIDs of the device mapper begin; the first that fits. */
static const char *const dm_kinds[][2] = {
	{ "LVM-", "LVM" }, { "CRYPT-LUKS1-", "LUKS1" },
	{ "CRYPT-LUKS2-", "LUKS2" }, { "CRYPT-BITLK-", "BitLocker" },
	{ "CRYPT-VERITY-", "dm-verity" }, { "CRYPT-INTEGRITY-",
	    "dm-integrity" }, { "CRYPT-", "dm-crypt" },
	{ "mpath-", "multipath" }, { "", "device mapper" },
};

/* --- finding disks ---------------------------------------------------- */

/* Add all uses of one node. */
static int
add_users(struct user ***end, const char *name, dev_t node)
{
	unsigned but = 0;
	struct usage use;
	struct user *u;

	while (usage_of_node(node, but, &use)) {
		u = calloc(1, sizeof(*u));
		if (u == NULL)
			return -1;
		strlcpy(u->name, name, sizeof(u->name));
		u->use = use;
		**end = u;
		*end = &u->next;
		but |= use.kind;
	}
	return 0;
}

static void
level_describe(struct level *v)
{
	int dir = sysfs_open("block", v->node);
	char text[256];
	struct disk d;
	size_t i;

	if (dir < 0)
		return;
	if (disk_of_block(v->node, &d))
		v->length = d.length;
	(void)sysfs_text(dir, "dm/name", v->called, sizeof(v->called));
	(void)sysfs_text(dir, "md/level", v->kind, sizeof(v->kind));
	(void)sysfs_text(dir, "dm/uuid", text, sizeof(text));
	for (i = 0; i < COUNT(dm_kinds) && v->called[0] != '\0' &&
	    v->kind[0] == '\0'; i++)
		if (strncmp(text, dm_kinds[i][0], strlen(dm_kinds[i][0])) == 0)
			strlcpy(v->kind, dm_kinds[i][1], sizeof(v->kind));
	close(dir);
}

/* The first level of that name, on one root unless that is NULL; or NULL. */
static const struct level *
level_find(const struct listed *l, const char *root, const char *name)
{
	const struct level *v = l->levels;

	while (v != NULL && (strcmp(v->name, name) != 0 ||
	    (root != NULL && strcmp(v->root, root) != 0)))
		v = v->next;
	return v;
}

/*
 * Add what lies on a node at a place of the list; once for each root, though
 * several ways lead there, as to the volumes of a thin pool.
 */
static int
add_holders(const struct listed *l, struct level **at, const char *root,
    const char *on, dev_t node, unsigned depth)
{
	int dir = sysfs_open("block", node), n, i, failed;
	struct dirent **list;
	struct level *v;
	char path[300];

	n = sysfs_entries(dir, "holders", &list);
	failed = n < 0 && errno == ENOMEM ? -1 : 0;
	for (i = 0; i < n && failed == 0; i++) {
		if (level_find(l, root, list[i]->d_name) != NULL)
			continue;
		v = calloc(1, sizeof(*v));
		if (v == NULL) {
			failed = -1;
			break;
		}
		v->next = *at;
		*at = v;
		strlcpy(v->root, root, sizeof(v->root));
		strlcpy(v->on, on, sizeof(v->on));
		strlcpy(v->name, list[i]->d_name, sizeof(v->name));
		v->depth = depth;
		snprintf(path, sizeof(path), "holders/%s", v->name);
		v->node = sysfs_node(dir, path);
		level_describe(v);
		at = &v->next;
	}
	sysfs_forget(list, n);
	if (dir >= 0)
		close(dir);
	return failed;
}

/* Add what lies on a disk, or on a partition, and on that, and who uses it. */
static int
find_above(struct listed *l, struct user ***users, const char *name, dev_t node,
    unsigned depth)
{
	struct level **at = &l->levels;
	int failed = add_users(users, name, node);

	while (*at != NULL)
		at = &(*at)->next;
	if (failed == 0)
		failed = add_holders(l, at, name, name, node, depth);
	for (; *at != NULL && failed == 0; at = &(*at)->next) {
		struct level *v = *at;

		if (level_find(l, NULL, v->name) == v)
			failed = add_users(users, v->name, v->node);
		if (failed == 0 && v->depth < DEEPEST)
			failed = add_holders(l, &v->next, name, v->name,
			    v->node, v->depth + 1);
	}
	return failed;
}

static int
find_users(struct listed *l)
{
	const struct disk *d = &l->disk;
	struct user **end = &l->users;
	struct disk_part *part;
	size_t n, i;
	int failed;

	if (d->node == 0)
		return 0;
	failed = find_above(l, &end, d->name, d->node, 1);
	(void)disk_parts(d->whole, &part, &n);
	for (i = 0; i < n && failed == 0; i++)
		failed = find_above(l, &end, part[i].name, part[i].node, 2);
	free(part);
	return failed;
}

/* A drive without a medium is listed, a loop device without a file is not. */
static bool
worth_it(const struct disk *d)
{
	return d->length > 0 || (d->removable && d->whole_name[0] != '\0' &&
	    strcmp(d->transport, "loop") != 0 &&
	    strcmp(d->transport, "zram") != 0);
}

static int
list_add_disk(struct listed ***end, const struct disk *d, bool named)
{
	struct listed *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -1;
	**end = l;
	*end = &l->next;
	l->disk = *d;
	l->named = named;
	if (d->node != 0)
		(void)disk_zoned(d->whole, l->zoned, sizeof(l->zoned));
	if (d->node != 0)
		disk_by_id(d->node, l->by_id, sizeof(l->by_id));
	return find_users(l);
}

static bool
is_scsi_disk(const char *directory)
{
	char path[320], type[32];

	snprintf(path, sizeof(path), "%s/device/type", directory);
	return sysfs_text(AT_FDCWD, path, type, sizeof(type)) &&
	    strcmp(type, "0") == 0;	/* SPC-5 6.7.2 */
}

/* Order: sda, sdb, sdaa, loop0; numbers by value. */
static int
names_order(const struct dirent **a, const struct dirent **b)
{
	const char *x = (*a)->d_name, *y = (*b)->d_name;
	size_t p = strcspn(x, "0123456789"), q = strcspn(y, "0123456789");
	bool last = strncmp(x, "loop", 4) == 0;

	if (last != (strncmp(y, "loop", 4) == 0))
		return last ? 1 : -1;
	if (p != q && strncmp(x, "sd", 2) == 0 && strncmp(y, "sd", 2) == 0)
		return p < q ? -1 : 1;
	return versionsort(a, b);
}

static int
list_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Whether the device of this directory is listed; *d describes it. */
static bool
list_wanted(const char *directory, bool block, struct disk *d)
{
	dev_t node = sysfs_node(AT_FDCWD, directory);

	if (node == 0)
		return false;
	return block ? disk_of_block(node, d) && worth_it(d) :
	    is_scsi_disk(directory) && disk_of_char(node, d) && d->node == 0;
}

/*
 * Add the disks of one directory: block nodes, or SCSI nodes without one; the
 * directory of these may be missing.
 */
static int
list_scan(const char *directory, bool block, struct listed ***end,
    struct fault *f)
{
	struct dirent **list;
	int n = scandir(directory, &list, list_visible, names_order), i,
	    failed = 0;
	struct disk d;
	char path[300];

	if (n < 0)
		return !block && errno == ENOENT ? 0 : fault_errno(f, errno,
		    "--list: %s", directory);
	for (i = 0; i < n && failed == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory,
		    list[i]->d_name);
		if (!list_wanted(path, block, &d))
			continue;
		if (!block)
			strlcpy(d.sg, list[i]->d_name, sizeof(d.sg));
		failed = list_add_disk(end, &d, false);
	}
	sysfs_forget(list, n);
	return failed == 0 ? 0 : fault_errno(f, ENOMEM, "--list");
}

/* Add the disk that a name leads to, or that has this partition. */
static int
list_add_named(const char *name, const struct listed *all, struct listed ***end,
    struct fault *f)
{
	struct stat st;
	struct disk d = { .err = ENOTBLK };

	if (stat(name, &st) != 0)
		return fault_errno(f, errno, "%s", name);
	if (!(S_ISBLK(st.st_mode) ? disk_of_block(st.st_rdev, &d) &&
	    disk_of_block(d.whole, &d) : S_ISCHR(st.st_mode) &&
	    disk_of_char(st.st_rdev, &d) && (d.sg[0] != '\0' ||
	    d.bsg[0] != '\0' || d.ng[0] != '\0')))
		return fault_set(f, STATUS_FILE, "%s is not a disk; -l alone "
		    "lists those that are there", name);
	for (; all != NULL; all = all->next)
		if (d.node != 0 && all->disk.node == d.node)
			return 0;
	return list_add_disk(end, &d, true) == 0 ? 0 :
	    fault_errno(f, ENOMEM, "--list");
}

/* Make a list of the disks that are named, or of all. */
static int
list_make(char *const word[], struct listed **list, struct fault *f)
{
	struct listed **end = list;
	int failed = 0;

	for (; *word != NULL && failed == 0; word++)
		if ((*word)[0] != '-' && strchr(*word, '=') == NULL)
			failed = list_add_named(*word, *list, &end, f);
	if (failed != 0 || *list != NULL)
		return failed;
	failed = list_scan("/sys/block", true, &end, f);
	return failed != 0 ? failed :
	    list_scan("/sys/class/scsi_generic", false, &end, f);
}

static void
list_free(struct listed *l)
{
	while (l != NULL) {
		struct listed *next = l->next;

		while (l->users != NULL) {
			struct user *u = l->users->next;

			free(l->users);
			l->users = u;
		}
		while (l->levels != NULL) {
			struct level *v = l->levels->next;

			free(l->levels);
			l->levels = v;
		}
		free(l);
		l = next;
	}
}

/* --- text ------------------------------------------------------------- */

static const char *
word_of(enum usage_kind kind, bool key)
{
	size_t i;

	for (i = 0; i < COUNT(uses); i++)
		if (uses[i].kind == kind)
			return key ? uses[i].key : uses[i].word;
	return "";
}

/* Make a path below a directory of /dev; "" stays "". */
static void
list_path(char *path, size_t room, const char *directory, const char *name)
{
	/* sysfs writes cciss/c0d0 as cciss!c0d0 */
	char *c;

	snprintf(path, room, "%s%s", name[0] != '\0' ? directory : "", name);
	while ((c = strchr(path, '!')) != NULL)
		*c = '/';
}

/*
 * A value in udev's record of a node, such as "E:ID_FS_TYPE=ext4"; "" without
 * one.  The record is a file: neither udev nor a device is queried.  Returns
 * whether there is a record.
 */
static bool
udev_value(dev_t node, const char *key, char *value, size_t room)
{
	char path[64], line[512];
	size_t n = strlen(key);
	FILE *in;

	value[0] = '\0';
	snprintf(path, sizeof(path), "/run/udev/data/b%u:%u", major(node),
	    minor(node));
	in = fopen(path, "re");
	while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
		if (strncmp(line, "E:", 2) != 0 ||
		    strncmp(line + 2, key, n) != 0 || line[2 + n] != '=')
			continue;
		line[strcspn(line, "\n")] = '\0';
		strlcpy(value, line + 2 + n + 1, room);
		break;
	}
	if (in == NULL)
		return false;
	fclose(in);
	return true;
}

/* Text that is folded once it is complete. */
struct entry {
	FILE	*to;
	char	*text;
	size_t	 len;
	const char *comma;
};

static bool
entry_begin(struct entry *e)
{
	*e = (struct entry){ .comma = "" };
	e->to = open_memstream(&e->text, &e->len);
	return e->to != NULL;
}

static void __attribute__((format(printf, 2, 3)))
entry_add(struct entry *e, const char *fmt, ...)
{
	va_list ap;

	fputs(e->comma, e->to);
	e->comma = ", ";
	va_start(ap, fmt);
	vfprintf(e->to, fmt, ap);
	va_end(ap);
}

/*
 * Fold between words; a word that is longer than a line stays whole, so that it
 * can be copied.
 */
static void
list_fold(FILE *out, const char *text, size_t indent)
{
	size_t at = 0, most = print_screen(out).columns, n;

	if (most < INDENT + 8)
		most = WIDTH;
	for (; *text != '\0'; text += n) {
		n = strspn(text, " ");
		n += strcspn(text + n, " ");
		if (at == 0 || at + n > most) {
			if (at > 0)
				fputc('\n', out);
			while (at > 0 && *text == ' ') {
				text++;
				n--;
			}
			at = at > 0 ? MAX(indent, (size_t)INDENT) : indent;
			fprintf(out, "%*s", (int)at, "");
		}
		fprintf(out, "%.*s", (int)n, text);
		at += n;
	}
	fputc('\n', out);
}

/* Print it, unless it is empty.  Returns 0, or -1 without memory. */
static int
entry_end(struct entry *e, FILE *out, size_t indent)
{
	char *safe, *end;

	if (!print_close(e->to, &e->text))
		return -1;
	safe = malloc(4 * e->len + 1);
	if (safe != NULL) {
		end = escape_line(safe, e->text);
		while (end > safe && end[-1] == ' ')
			end--;
		*end = '\0';
		if (safe[0] != '\0')
			list_fold(out, safe, indent);
	}
	free(safe);
	free(e->text);
	return safe != NULL ? 0 : -1;
}

/* Look at the node itself. */
static void
volume_probe(dev_t node, const char *name, char *type, size_t type_room,
    char *label, size_t label_room)
{
	char path[300];
	blkid_probe pr = disk_path(node, name, path, sizeof(path)) ?
	    blkid_new_probe_from_filename(path) : NULL;
	const char *text;

	if (pr == NULL)
		return;
	if (blkid_do_safeprobe(pr) == 0) {
		if (blkid_probe_lookup_value(pr, "TYPE", &text, NULL) == 0)
			strlcpy(type, text, type_room);
		if (blkid_probe_lookup_value(pr, "LABEL", &text, NULL) == 0)
			strlcpy(label, text, label_room);
	}
	blkid_free_probe(pr);
}

/* Add the file system, if it is known: ext4 "root". */
static void
add_volume(struct entry *e, const struct listed *l, dev_t node,
    const char *name)
{
	char type[64], label[256] = "";
	bool known = udev_value(node, "ID_FS_TYPE", type, sizeof(type)) &&
	    udev_value(node, "ID_FS_LABEL", label, sizeof(label));

	if (!known && l->named)
		volume_probe(node, name, type, sizeof(type), label,
		    sizeof(label));
	if (type[0] != '\0' && label[0] != '\0')
		entry_add(e, "%s \"%s\"", type, label);
	else if (type[0] != '\0')
		entry_add(e, "%s", type);
}

/* A use by one of the levels has its own line. */
static void
add_uses(struct entry *e, const struct listed *l, const char *name)
{
	const struct user *u;

	for (u = l->users; u != NULL; u = u->next)
		if (strcmp(u->name, name) == 0 && (u->use.kind != USE_HELD ||
		    level_find(l, NULL, u->use.by) == NULL))
			entry_add(e, "%s%s", word_of(u->use.kind, false),
			    u->use.by);
}

/* The node of a level. */
static void
level_path(char *path, size_t room, const struct level *v)
{
	if (v->called[0] != '\0')
		snprintf(path, room, "/dev/mapper/%s", v->called);
	else
		list_path(path, room, "/dev/", v->name);
}

/* The name of a disk to be used with if= and of=. */
static void
list_node_name(char *path, size_t room, const struct disk *d)
{
	if (d->name[0] != '\0')
		list_path(path, room, "/dev/", d->name);
	else
		list_path(path, room, d->sg[0] != '\0' ? "/dev/" : "/dev/bsg/",
		    d->sg[0] != '\0' ? d->sg : d->bsg);
}

struct widths {			/* column widths */
	int node, size, transport;
};

static int
head_print(FILE *out, const struct listed *l, const struct widths *w)
{
	const struct disk *d = &l->disk;
	char node[300], size[32] = "-";
	struct entry e;

	if (!entry_begin(&e))
		return -1;
	list_node_name(node, sizeof(node), d);
	if (d->node != 0)
		number_si(size, sizeof(size), (double)d->length);
	fprintf(e.to, "%-*s  %*s  %-*s", w->node, node, w->size, size,
	    w->transport, d->transport[0] != '\0' ? d->transport : "-");
	e.comma = "  ";
	if (d->model[0] != '\0')
		entry_add(&e, "%s%s%s", d->vendor, d->vendor[0] != '\0' ? " " :
		    "", d->model);
	if (d->serial[0] != '\0')
		entry_add(&e, "serial %s", d->serial);
	return entry_end(&e, out, 0);
}

static int
level_print(FILE *out, const struct listed *l, const struct level *v)
{
	char node[300], size[32];
	struct entry e;

	if (!entry_begin(&e))
		return -1;
	level_path(node, sizeof(node), v);
	fprintf(e.to, "%s  %s", node, number_si(size, sizeof(size),
	    (double)v->length));
	e.comma = "  ";
	if (v->kind[0] != '\0')
		entry_add(&e, "%s", v->kind);
	add_volume(&e, l, v->node, v->name);
	add_uses(&e, l, v->name);
	return entry_end(&e, out, (size_t)INDENT * v->depth);
}

/* Print what lies on a disk or partition, each with what lies on it. */
static int
levels_print(FILE *out, const struct listed *l, const char *root)
{
	const struct level *v;
	int failed = 0;

	for (v = l->levels; v != NULL && failed == 0; v = v->next)
		if (strcmp(v->root, root) == 0)
			failed = level_print(out, l, v);
	return failed;
}

/* Print everything about the disk as a whole. */
static int
disk_print(FILE *out, const struct listed *l)
{
	const struct disk *d = &l->disk;
	char sg[300], bsg[300];
	struct entry e;

	if (!entry_begin(&e))
		return -1;
	list_path(sg, sizeof(sg), "/dev/", d->sg);
	list_path(bsg, sizeof(bsg), "/dev/bsg/", d->bsg);
	if (sg[0] != '\0' && d->name[0] != '\0')
		entry_add(&e, "%s", sg);
	if (bsg[0] != '\0')
		entry_add(&e, "%s", bsg);
	if (d->ng[0] != '\0')
		entry_add(&e, "/dev/%s", d->ng);
	if (d->node != 0)
		entry_add(&e, "sectors of %u bytes", d->logical);
	if (d->removable)
		entry_add(&e, "removable");
	if (l->by_id[0] != '\0')
		entry_add(&e, "by-id %s", l->by_id);
	add_volume(&e, l, d->node, d->name);
	if (l->zoned[0] != '\0')
		entry_add(&e, "zoned (%s)", l->zoned);
	if (d->backing[0] != '\0')
		entry_add(&e, "on %s", d->backing);
	add_uses(&e, l, d->name);
	return entry_end(&e, out, INDENT) != 0 ? -1 :
	    levels_print(out, l, d->name);
}

static int
part_print(FILE *out, const struct listed *l, const struct disk_part *part)
{
	struct level v = { .node = part->node, .length = part->length,
		.depth = 1 };

	strlcpy(v.name, part->name, sizeof(v.name));
	return level_print(out, l, &v) != 0 ? -1 :
	    levels_print(out, l, part->name);
}

static int
listed_print(FILE *out, const struct listed *l, const struct widths *w)
{
	struct disk_part *part = NULL;
	size_t n = 0, i;
	int failed = head_print(out, l, w);

	if (failed == 0)
		failed = disk_print(out, l);
	if (failed == 0 && l->disk.node != 0)
		(void)disk_parts(l->disk.whole, &part, &n);
	for (i = 0; i < n && failed == 0; i++)
		failed = part_print(out, l, &part[i]);
	free(part);
	return failed;
}

static void
column_widen(int *to, const char *text)
{
	if ((int)strlen(text) > *to)
		*to = (int)strlen(text);
}

static int
print_disks(FILE *out, const struct listed *list)
{
	struct widths w = { 0 };
	const struct listed *l;
	char text[300];
	int failed = 0;

	for (l = list; l != NULL; l = l->next) {
		list_node_name(text, sizeof(text), &l->disk);
		column_widen(&w.node, text);
		column_widen(&w.size, number_si(text, sizeof(text),
		    (double)l->disk.length));
		column_widen(&w.transport, l->disk.transport);
	}
	for (l = list; l != NULL && failed == 0; l = l->next)
		failed = listed_print(out, l, &w);
	return failed;
}

/* --- JSON ------------------------------------------------------------- */

static json_t *
users_json(const struct listed *l)
{
	json_t *all = json_array();
	const struct user *u;

	for (u = l->users; u != NULL; u = u->next)
		all = value_append(all, json_pack("{s:o, s:s, s:o, s:b}",
		    "node", value_text(u->name),
		    "kind", word_of(u->use.kind, true),
		    "by", value_text(u->use.by),
		    "writable", u->use.writable));
	return all;
}

static json_t *
levels_json(const struct listed *l)
{
	json_t *all = json_array();
	const struct level *v;
	char node[300];

	for (v = l->levels; v != NULL; v = v->next) {
		level_path(node, sizeof(node), v);
		all = value_append(all, json_pack("{s:o, s:o, s:o, s:o, s:I}",
		    "name", value_text(v->name), "on", value_text(v->on),
		    "node", value_text(node), "kind", value_known(v->kind),
		    "size", (json_int_t)v->length));
	}
	return all;
}

static json_t *
disk_json(const struct listed *l)
{
	const struct disk *d = &l->disk;
	char node[300], sg[300], bsg[300], ng[64];
	bool sized = d->node != 0;

	list_path(node, sizeof(node), "/dev/", d->name);
	list_path(sg, sizeof(sg), "/dev/", d->sg);
	list_path(bsg, sizeof(bsg), "/dev/bsg/", d->bsg);
	list_path(ng, sizeof(ng), "/dev/", d->ng);
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
	    "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o, s:o}",
	    "schema", "pardd/1", "event", "disk",
	    "node", value_known(node), "sg", value_known(sg),
	    "bsg", value_known(bsg), "ng", value_known(ng),
	    "zoned", value_known(l->zoned),
	    "size", sized ? json_integer((json_int_t)d->length) : json_null(),
	    "block", sized ? json_integer(d->logical) : json_null(),
	    "physical_block", sized ? json_integer(d->physical) : json_null(),
	    "vendor", value_known(d->vendor),
	    "model", value_known(d->model),
	    "serial", value_known(d->serial),
	    "wwn", value_known(d->wwn), "by_id", value_known(l->by_id),
	    "transport", value_known(d->transport),
	    "backing", value_known(d->backing),
	    "rotates", d->rotates, "removable", d->removable,
	    "used", users_json(l), "stack", levels_json(l));
}

static int
print_json(FILE *out, const struct listed *l)
{
	char *line;
	size_t len;

	for (; l != NULL; l = l->next) {
		line = value_line(disk_json(l), &len);
		if (line == NULL)
			return -1;
		fwrite(line, 1, len, out);
		free(line);
	}
	return 0;
}

int
list_print(FILE *out, bool json, char *const word[], struct fault *f)
{
	struct listed *list = NULL;
	int failed = list_make(word, &list, f);

	if (failed == 0 && (json ? print_json(out, list) :
	    print_disks(out, list)) != 0)
		failed = fault_errno(f, ENOMEM, "--list");
	if (failed == 0 && !json && (list == NULL || !list->named) &&
	    access("/run/udev/data", F_OK) != 0)
		list_fold(out, "No udev runs here, so file systems are not "
		    "known; -l DISK shows those of one.", 0);
	list_free(list);
	return failed;
}
