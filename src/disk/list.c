/*
 * --list.  The disks are those of /sys/block, without loop devices and the
 * like that hold nothing; then SCSI disks that have no block node, of
 * /sys/class/scsi_generic.  No device is opened: a disk that hangs does not
 * keep the others from being listed.
 *
 * Text from outside is escaped in the columns, as everywhere.
 */
#include "disk/list.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/print.h"
#include "base/value.h"
#include "disk/disk.h"
#include "disk/sysfs.h"
#include "disk/usage.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

struct user {			/* of a disk, or of a partition of it */
	struct user	*next;
	char		 name[256];	/* of the node that is used */
	struct usage	 use;
};

struct listed {
	struct listed	*next;
	struct disk	 disk;
	char		 by_id[NAME_MAX + 1];
	char		 zoned[32];	/* how, or "" */
	struct user	*users;
};

enum column { NODE, SG, BSG, NG, SIZE, SECTOR, MODEL, SERIAL, BY_ID, USE,
	COLUMNS };

static const char *const heads[COLUMNS] = { "NODE", "SG", "BSG", "NG", "SIZE",
	"SECTOR", "MODEL", "SERIAL", "BY-ID", "USED" };

struct line {
	char *cell[COLUMNS];
};

static const struct { enum usage_kind kind; const char *word, *key; } uses[] = {
	{ USE_MOUNTED, "mounted on ", "mounted" },
	{ USE_SWAP, "", "swap" },
	{ USE_HELD, "held by ", "held" },
	{ USE_LOOPED, "medium of ", "looped" },
};

/* --- looking ---------------------------------------------------------- */

/* All the uses of one node. */
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
	failed = add_users(&end, d->name, d->node);
	(void)disk_parts(d->whole, &part, &n);
	for (i = 0; i < n && failed == 0; i++)
		failed = add_users(&end, part[i].name, part[i].node);
	free(part);
	return failed;
}

/* A drive without a medium is a disk, a loop device without a file is none. */
static bool
worth_it(const struct disk *d)
{
	return d->length > 0 || (d->removable && d->whole_name[0] != '\0' &&
	    strcmp(d->transport, "loop") != 0 &&
	    strcmp(d->transport, "zram") != 0);
}

static int
add_disk(struct listed ***end, const struct disk *d)
{
	struct listed *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -1;
	**end = l;
	*end = &l->next;
	l->disk = *d;
	if (d->node != 0)
		(void)disk_zoned(d->whole, l->zoned, sizeof(l->zoned));
	if (d->node != 0)
		disk_by_id(d->node, l->by_id, sizeof(l->by_id));
	return find_users(l);
}

static bool
is_scsi_disk(const char *folder)
{
	char path[320], type[32];

	snprintf(path, sizeof(path), "%s/device/type", folder);
	return sysfs_text(AT_FDCWD, path, type, sizeof(type)) &&
	    strcmp(type, "0") == 0;	/* SPC-5 6.7.2 */
}

/* sda, sdb, sdaa: shorter ones first, numbers by their value. */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
	const char *x = (*a)->d_name, *y = (*b)->d_name;
	size_t p = strcspn(x, "0123456789"), q = strcspn(y, "0123456789");

	if (p != q && strncmp(x, "sd", 2) == 0 && strncmp(y, "sd", 2) == 0)
		return p < q ? -1 : 1;
	return versionsort(a, b);
}

static int
visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Whether the device of this folder is to be listed; *d is what it is. */
static bool
is_ours(const char *folder, bool block, struct disk *d)
{
	dev_t node = sysfs_node(AT_FDCWD, folder);

	if (node == 0)
		return false;
	return block ? disk_of_block(node, d) && worth_it(d) :
	    is_scsi_disk(folder) && disk_of_char(node, d) && d->node == 0;
}

/* One folder's disks: block nodes, or SCSI nodes without one. */
static int
scan(const char *folder, bool block, struct listed ***end)
{
	struct dirent **list;
	int n = scandir(folder, &list, visible, by_name), i, failed = 0;
	struct disk d;
	char path[300];

	if (n < 0)
		return errno == ENOMEM ? -1 : 0;
	for (i = 0; i < n && failed == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
		if (!is_ours(path, block, &d))
			continue;
		if (!block)
			strlcpy(d.sg, list[i]->d_name, sizeof(d.sg));
		failed = add_disk(end, &d);
	}
	sysfs_forget(list, n);
	return failed;
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
		free(l);
		l = next;
	}
}

/* --- columns ---------------------------------------------------------- */

static const char *
word_of(enum usage_kind kind, bool key)
{
	size_t i;

	for (i = 0; i < COUNT(uses); i++)
		if (uses[i].kind == kind)
			return key ? uses[i].key : uses[i].word;
	return "";
}

/* Below a folder of /dev; "" stays "". */
static void
path_of(char *path, size_t room, const char *folder, const char *name)
{
	/* what sysfs calls cciss!c0d0 is cciss/c0d0 below /dev */
	char *c;

	snprintf(path, room, "%s%s", name[0] != '\0' ? folder : "", name);
	while ((c = strchr(path, '!')) != NULL)
		*c = '/';
}

static char *
cell(const char *from)
{
	char *to;

	if (from[0] == '\0')
		return strdup("-");
	to = malloc(4 * strlen(from) + 1);
	if (to != NULL)
		*print_escape(to, from) = '\0';
	return to;
}

/* "sda1 mounted on /boot, sda2 swap space"; the backing file of a loop. */
static char *
used(const struct listed *l)
{
	const struct user *u;
	char *text = NULL, *escaped = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	bool whole = to != NULL;
	const char *comma = "";

	if (whole && l->zoned[0] != '\0') {
		whole = fprintf(to, "zoned (%s)", l->zoned) >= 0;
		comma = ", ";
	}
	if (whole && l->disk.backing[0] != '\0') {
		whole = fprintf(to, "%sis %s", comma, l->disk.backing) >= 0;
		comma = ", ";
	}
	for (u = l->users; u != NULL && whole; u = u->next) {
		whole = fprintf(to, "%s%s%s%s%s", comma,
		    strcmp(u->name, l->disk.name) != 0 ? u->name : "",
		    strcmp(u->name, l->disk.name) != 0 ? " " : "",
		    word_of(u->use.kind, false), u->use.by) >= 0;
		comma = ", ";
	}
	/* glibc closes without an error what it has no memory for */
	if (to != NULL && fclose(to) == 0 && whole && text != NULL)
		escaped = cell(text);
	free(text);
	return escaped;
}

static int
whole(const struct line *line)
{
	enum column i;

	for (i = 0; i < COLUMNS; i++)
		if (line->cell[i] == NULL)
			return -1;
	return 0;
}

static int
head_make(struct line *to)
{
	enum column i;

	for (i = 0; i < COLUMNS; i++)
		to->cell[i] = strdup(heads[i]);
	return whole(to);
}

static int
line_make(struct line *to, const struct listed *l)
{
	const struct disk *d = &l->disk;
	char node[300], sg[300], bsg[300], ng[64], model[128], size[32] = "";
	char sector[16] = "";

	path_of(node, sizeof(node), "/dev/", d->name);
	path_of(sg, sizeof(sg), "/dev/", d->sg);
	path_of(bsg, sizeof(bsg), "/dev/bsg/", d->bsg);
	path_of(ng, sizeof(ng), "/dev/", d->ng);
	snprintf(model, sizeof(model), "%s%s%s", d->vendor,
	    d->vendor[0] != '\0' && d->model[0] != '\0' ? " " : "", d->model);
	if (d->node != 0) {
		number_si(size, sizeof(size), (double)d->length);
		snprintf(sector, sizeof(sector), "%u", d->logical);
	}
	*to = (struct line){ .cell = { cell(node), cell(sg), cell(bsg),
		cell(ng), cell(size), cell(sector), cell(model),
		cell(d->serial), cell(l->by_id), used(l) } };
	return whole(to);
}

static void
line_free(struct line *line)
{
	enum column i;

	for (i = 0; i < COLUMNS; i++)
		free(line->cell[i]);
}

/* Whether any disk has something there; the heading does not count. */
static bool
filled(const struct line *line, size_t n, enum column column)
{
	size_t at;

	for (at = 1; at < n; at++)
		if (strcmp(line[at].cell[column], "-") != 0)
			return true;
	return false;
}

/*
 * Numbers to the right, and nothing behind the last column.  Generic nodes of
 * NVMe are a column only where there are some.
 */
static void
lines_print(FILE *out, const struct line *line, size_t n)
{
	int width[COLUMNS] = { 0 };
	bool ng = filled(line, n, NG);
	enum column i;
	size_t at;

	for (at = 0; at < n; at++)
		for (i = 0; i < COLUMNS; i++)
			if ((int)strlen(line[at].cell[i]) > width[i])
				width[i] = (int)strlen(line[at].cell[i]);
	for (at = 0; at < n; at++) {
		for (i = 0; i < USE; i++)
			if (i != NG || ng)
				fprintf(out, "%*s  ", i == SIZE ||
				    i == SECTOR ? width[i] : -width[i],
				    line[at].cell[i]);
		fprintf(out, "%s\n", line[at].cell[USE]);
	}
}

static int
print_columns(FILE *out, const struct listed *list)
{
	const struct listed *l;
	struct line *line;
	size_t n = 1, at = 1;
	int failed;

	for (l = list; l != NULL; l = l->next)
		n++;
	line = calloc(n, sizeof(*line));
	if (line == NULL)
		return -1;
	failed = head_make(&line[0]);
	for (l = list; l != NULL && failed == 0; l = l->next)
		failed = line_make(&line[at++], l);
	if (failed == 0)
		lines_print(out, line, n);
	for (at = 0; at < n; at++)
		line_free(&line[at]);
	free(line);
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
disk_json(const struct listed *l)
{
	const struct disk *d = &l->disk;
	char node[300], sg[300], bsg[300], ng[64];
	bool sized = d->node != 0;

	path_of(node, sizeof(node), "/dev/", d->name);
	path_of(sg, sizeof(sg), "/dev/", d->sg);
	path_of(bsg, sizeof(bsg), "/dev/bsg/", d->bsg);
	path_of(ng, sizeof(ng), "/dev/", d->ng);
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
	    "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o}",
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
	    "used", users_json(l));
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
list_print(FILE *out, bool json, struct fault *f)
{
	struct listed *list = NULL, **end = &list;
	int failed = scan("/sys/block", true, &end);

	if (failed == 0)
		failed = scan("/sys/class/scsi_generic", false, &end);
	if (failed == 0)
		failed = json ? print_json(out, list) :
		    print_columns(out, list);
	list_free(list);
	return failed == 0 ? 0 : fault_errno(f, ENOMEM, "--list");
}
