/*
 * powercut: what a rescue would find after a power cut at any time.
 *
 *	powercut [-f SYNC|DIRECTORY|TEMP] [-s SEED] TRACE SRC OLD DST MAP CUTS
 *	powercut [-f ...] [-s SEED] -c COMMAND TRACE SRC OLD DST - CUTS
 *
 * TRACE is what trace.so recorded of rescues of SRC onto DST with the map MAP
 * (no two files may have the same name in two directories).  OLD is the earlier
 * contents of DST; if DST did not exist, OLD is empty.  For each of CUTS the
 * trace is cut off somewhere, and possible contents of the medium are
 * generated:
 *
 *	- data that was written and then flushed is there;
 *	- of other data, any sectors are, or none, or all;
 *	- a name that was created, changed or removed is in effect once its
 *	  directory was flushed, and maybe before.
 *
 * Then these must hold:
 *
 *	- a map is one that was saved, and complete; .bak too;
 *	- there is one as soon as a byte may have been copied;
 *	- what it calls finished is on the medium, and is right.
 *
 * With -c the cuts are behind the first flush of DST, and what holds is that
 * COMMAND succeeds, with the contents of DST in the file "cut", and in FLUSHED
 * how many flushes of it had come to their end.
 *
 * -f ignores flushes (of the target, of directories, of other files): the cuts
 * must detect that.  Exits 0 if all holds, 1 if not, 2 on an error.
 */
#define _GNU_SOURCE
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

enum { TROUBLE = 2, SECTOR = 512 };

struct op {			/* a call: a record, and when it returned */
	const struct outputs *r;
	enum kind	 kind;
	uint64_t	 id;
	const char	*data;
	size_t		 begun, ended;	/* records before; SIZE_MAX: never */
	size_t		 safe;		/* at this cut and later; SIZE_MAX: never */
	int		 file;		/* index into file[] */
	bool		 failed;
};

struct file {			/* an inode number, until it is used again */
	uint64_t	 ino;
	size_t		 last;	/* op that wrote it last */
};

struct name {			/* of an entry of the directory */
	const char	*text;
	int		 file;	/* or -1 */
};

struct bytes { unsigned char *p; uint64_t n; };

static struct op *op;
static size_t ops, records;
static struct file *file;	/* as many as there are ops, at most */
static int files;
static const char *map_name, *dst_name, *command;
static struct bytes src, old;
static uint64_t dice;

static uint64_t
roll(void)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return dice >> 11;
}

static struct bytes
slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	struct bytes b = { NULL, 0 };
	struct stat st;

	if (in == NULL || fstat(fileno(in), &st) != 0)
		err(TROUBLE, "%s", path);
	b.n = (uint64_t)st.st_size;
	b.p = malloc(b.n + 1);
	if (b.p == NULL || fread(b.p, 1, b.n, in) != b.n)
		err(TROUBLE, "%s", path);
	b.p[b.n] = '\0';
	fclose(in);
	return b;
}

/* --- reading the trace ------------------------------------------------- */

static int
find_file(uint64_t ino, bool new)
{
	int i;

	for (i = files - 1; i >= 0 && !new; i--)
		if (file[i].ino == ino)
			return i;
	file[files].ino = ino;
	return files++;
}

static struct op *
find_op(uint64_t id)
{
	size_t i;

	for (i = ops; i > 0; i--)
		if (op[i - 1].id == id)
			return &op[i - 1];
	errx(TROUBLE, "a call returned that never began");
}

static void
load(const struct bytes *trace)
{
	const struct outputs *r;
	uint64_t at;
	struct op *o;

	op = calloc(trace->n / sizeof(*r) + 1, sizeof(*op));
	file = calloc(trace->n / sizeof(*r) + 1, sizeof(*file));
	if (op == NULL || file == NULL)
		err(TROUBLE, "the trace");
	for (at = 0; at + sizeof(*r) <= trace->n; at += sizeof(*r) + r->len) {
		r = (const void *)(trace->p + at);
		if (r->kind > DONE || r->len > trace->n - at - sizeof(*r))
			errx(TROUBLE, "no record at %" PRIu64, at);
		if (r->kind == DONE) {
			o = find_op(r->id);
			o->ended = records++;
			o->failed = r->off != 0;
			continue;
		}
		o = &op[ops++];
		*o = (struct op){ .r = r, .kind = r->kind, .id = r->id,
			.data = (const char *)(r + 1), .begun = records++,
			.ended = SIZE_MAX, .safe = SIZE_MAX };
		o->file = find_file(r->ino, r->kind == CREATE);
		if (r->kind == WRITE)
			file[o->file].last = (size_t)(o - op);
	}
}

static bool
is_name(const struct op *o)
{
	return o->kind == CREATE || o->kind == RENAME ||
	    o->kind == LINK || o->kind == UNLINK;
}

/* From which cut on each call's effect is sure to be there. */
static void
settle(const char *forget, int dst)
{
	size_t i, k;

	for (i = 0; i < ops; i++) {
		const struct op *s = &op[i];
		bool directory = s->kind == DIRECTORY;

		if ((s->kind != SYNC && !directory) || s->failed ||
		    s->ended == SIZE_MAX || strcmp(forget,
		    directory ? "DIRECTORY" :
		    s->file == dst ? "SYNC" : "TEMP") == 0)
			continue;
		for (k = 0; k < i; k++)
			if (op[k].safe == SIZE_MAX && op[k].ended < s->begun &&
			    (directory ? is_name(&op[k]) && op[k].r->off ==
			    s->r->off : op[k].kind == WRITE &&
			    op[k].file == s->file))
				op[k].safe = s->ended + 1;
	}
}

/* --- a cut ------------------------------------------------------------- */

enum mood { NONE, ALL, SOME, TORN, MOODS };

/* Whether what is not safe yet got there. */
static bool
survives(const struct op *o, size_t cut, enum mood mood)
{
	if (o->safe <= cut)
		return true;
	return mood == ALL || (mood >= SOME && roll() % 2 == 0);
}

/* The contents of a file. */
static struct bytes
contents(int f, size_t cut, enum mood mood, const struct bytes *before)
{
	struct bytes b = { NULL, before->n };
	uint64_t room = before->n, at, n;
	size_t i;

	for (i = 0; i < ops && op[i].begun < cut; i++)
		if (op[i].kind == WRITE && op[i].file == f &&
		    op[i].r->off + op[i].r->len > room)
			room = op[i].r->off + op[i].r->len;
	b.p = calloc(1, room + 1);
	if (b.p == NULL)
		err(TROUBLE, "contents");
	memcpy(b.p, before->p, before->n);
	for (i = 0; i < ops && op[i].begun < cut; i++) {
		const struct op *o = &op[i];

		if (o->kind != WRITE || o->file != f ||
		    (mood != TORN && !survives(o, cut, mood)))
			continue;
		for (at = 0; at < o->r->len; at += n) {
			n = o->r->len - at < SECTOR ? o->r->len - at : SECTOR;
			if (mood == TORN && !survives(o, cut, mood))
				continue;
			memcpy(b.p + o->r->off + at, o->data + at, n);
			if (o->r->off + at + n > b.n)
				b.n = o->r->off + at + n;
		}
	}
	return b;
}

static struct name *
entry(struct name *directory, const char *text)
{
	while (directory->text != NULL && strcmp(directory->text, text) != 0)
		directory++;
	if (directory->text == NULL)
		*directory = (struct name){ text, -1 };
	return directory;
}

/* The names in the directory; room for all there ever were, zeroed. */
static void
names(struct name *directory, size_t cut, enum mood mood)
{
	size_t i;

	for (i = 0; i < ops && op[i].begun < cut; i++) {
		const struct op *o = &op[i];
		const char *second = o->data + strlen(o->data) + 1;

		if (!is_name(o) || o->failed || !survives(o, cut, mood))
			continue;
		switch (o->kind) {
		case CREATE:
			entry(directory, o->data)->file = o->file;
			break;
		case LINK:
			entry(directory, second)->file = o->file;
			break;
		case RENAME:
			if (entry(directory, o->data)->file == o->file)
				entry(directory, o->data)->file = -1;
			entry(directory, second)->file = o->file;
			break;
		default:
			entry(directory, o->data)->file = -1;
			break;
		}
	}
}

/* --- what must hold ---------------------------------------------------- */

static size_t now_cut;
static enum mood now_mood;
static uint64_t told;		/* finished bytes that were looked at */

static void
lie(const char *what)
{
	printf("cut behind record %zu of %zu (mood %d): %s\n", now_cut,
	    records, (int)now_mood, what);
	exit(1);
}

/* As it was meant to be: with all that was ever written to it. */
static bool
whole(int f, const struct bytes *b)
{
	const struct bytes none = { NULL, 0 };
	const struct op *o = &op[file[f].last];
	struct bytes all = { NULL, 0 };
	bool is;

	if (o->kind != WRITE || o->file != f)
		return false;
	all = contents(f, SIZE_MAX, ALL, &none);
	is = all.n == b->n && memcmp(all.p, b->p, b->n) == 0;
	free(all.p);
	return is;
}

/* Each "+" of a map. */
static void
hold_against(const char *text, const struct bytes *dst)
{
	uint64_t off, len;
	const char *line;
	char status;

	for (line = text; line != NULL && *line != '\0';
	    line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "0x%" SCNx64 " 0x%" SCNx64 " %c", &off, &len,
		    &status) != 3 || status != '+')
			continue;
		if (off + len > src.n || off + len > dst->n ||
		    memcmp(src.p + off, dst->p + off, len) != 0)
			lie("what the map calls finished is not there");
		told += len;
	}
}

static void
check_map(const struct name *directory, const char *name,
    const struct bytes *dst)
{
	const struct bytes none = { NULL, 0 };
	struct bytes map;
	int f = -1;

	for (; directory->text != NULL; directory++)
		if (strcmp(directory->text, name) == 0)
			f = directory->file;
	if (f < 0)
		return;
	map = contents(f, now_cut, now_mood, &none);
	if (!whole(f, &map))
		lie(strcmp(name, map_name) == 0 ? "the map is not whole" :
		    "the map before is not whole");
	hold_against((const char *)map.p, dst);
	free(map.p);
}

/* How often the target has been flushed. */
static size_t
flushes(int dst)
{
	size_t i, n = 0;

	for (i = 0; i < ops; i++)
		n += op[i].kind == SYNC && op[i].file == dst &&
		    op[i].ended < now_cut;
	return n;
}

/* Let the command look at the target. */
static void
check_target(int dst, const struct bytes *target)
{
	FILE *out = fopen("cut", "w");
	char flushed[32];

	if (out == NULL || fwrite(target->p, 1, target->n, out) != target->n ||
	    fclose(out) != 0)
		err(TROUBLE, "cut");
	told += target->n;
	snprintf(flushed, sizeof(flushed), "%zu", flushes(dst));
	setenv("FLUSHED", flushed, 1);
	if (system(command) != 0)	/* NOLINT(cert-env33-c,*-command-*) */
		lie(command);
}

static bool
there(const struct name *directory, const char *name)
{
	for (; directory->text != NULL; directory++)
		if (strcmp(directory->text, name) == 0 && directory->file >= 0)
			return true;
	return false;
}

static void
try_cut(int dst, size_t first)
{
	struct name *directory = calloc(2 * ops + 1, sizeof(*directory));
	const struct bytes none = { NULL, 0 };
	struct bytes target = none;
	char bak[256];

	if (directory == NULL)
		err(TROUBLE, "names");
	names(directory, now_cut, now_mood);
	if (old.n > 0 || there(directory, dst_name))
		target = contents(dst, now_cut, now_mood, &old);
	if (command != NULL) {
		check_target(dst, &target);
		free(target.p);
		free(directory);
		return;
	}
	snprintf(bak, sizeof(bak), "%s.bak", map_name);
	check_map(directory, map_name, &target);
	check_map(directory, bak, &target);
	if (now_cut > first && !there(directory, map_name))
		lie("there is no map");
	free(target.p);
	free(directory);
}

/* A record soon behind the beginning of a rename, where most is in doubt. */
static uint64_t
near_rename(void)
{
	size_t i = roll() % ops, n;

	for (n = 0; n < ops && op[i].kind != RENAME; n++)
		i = (i + 1) % ops;
	return op[i].begun + roll() % 5;
}

static size_t
count(enum kind kind, int f)
{
	size_t i, n = 0;

	for (i = 0; i < ops; i++)
		n += op[i].kind == kind && (f < 0 || op[i].file == f);
	return n;
}

/* The target's index into file[]; it is there still. */
static int
find_target(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st;

	dst_name = slash == NULL ? path : slash + 1;
	if (stat(path, &st) != 0)
		err(TROUBLE, "%s", path);
	return find_file(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_ino, false);
}

/* The records that were there before the target was first written. */
static size_t
first_write(int dst)
{
	size_t i;

	for (i = 0; i < ops; i++)
		if (op[i].kind == WRITE && op[i].file == dst)
			return op[i].begun;
	errx(TROUBLE, "nothing was written to %s", dst_name);
}

/* The records that were there when the target had been flushed once. */
static size_t
first_flush(int dst)
{
	size_t i;

	for (i = 0; i < ops; i++)
		if (op[i].kind == SYNC && op[i].file == dst)
			return op[i].ended;
	errx(TROUBLE, "%s was not flushed", dst_name);
}

int
main(int argc, char **argv)
{
	const char *forget = "";
	struct bytes trace;
	size_t first, cuts, i;
	int dst, c;

	dice = 88172645463325252u;
	while ((c = getopt(argc, argv, "c:f:s:")) != -1)
		if (c == 'f')
			forget = optarg;
		else if (c == 'c')
			command = optarg;
		else if (c == 's')
			dice ^= strtoull(optarg, NULL, 0) << 20;
		else
			return TROUBLE;
	if (argc - optind != 6)
		errx(TROUBLE, "usage: powercut [-f WHAT] [-s SEED] TRACE SRC "
		    "OLD DST MAP CUTS");
	argv += optind;
	trace = slurp(argv[0]);
	src = slurp(argv[1]);
	old = slurp(argv[2]);
	map_name = argv[4];
	cuts = strtoull(argv[5], NULL, 0);
	load(&trace);
	dst = find_target(argv[3]);
	first = command != NULL ? first_flush(dst) : first_write(dst);
	settle(forget, dst);
	for (i = 0; i < cuts; i++) {
		now_cut = command != NULL ?
		    first + 1 + roll() % (records - first) :
		    1 + (i % 2 != 0 ? near_rename() : roll()) % records;
		now_mood = (enum mood)(roll() % MOODS);
		try_cut(dst, first);
	}
	printf("%zu cuts, %zu records, %zu maps, %zu writes, %" PRIu64
	    " finished bytes\n", cuts, records, count(RENAME, -1),
	    count(WRITE, dst), told);
	return told > 0 ? 0 : TROUBLE;
}
