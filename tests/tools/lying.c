/*
 * lying: a file served by FUSE that breaks the rules.
 *
 *	lying FILE NAME [WORD...]
 *
 * The file NAME shows FILE, from when this returns until it is unmounted.  By
 * WORD
 *
 *	size=N		it claims to have N bytes
 *	direct		the kernel caches nothing of it
 *	back		the kernel writes it back later
 *	apart		data written by an open file is flushed only by that
 *			one; else its close fails
 *	wrap=N		what is beyond N bytes is kept at the start again
 *	drop=N		what is written beyond N bytes is not kept,
 *	until=N		... and before N (to the end)
 *	alias=N		the bits of N are 0 in each address
 *	decay=N:SEED	of N runs of 16 KiB one is read with wrong bits
 *	OP:N:ERRNO	the Nth request of this kind fails: read, write, sync,
 *			close; look, counted from the first write on
 *	OP:N+:ERRNO	and all later ones
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RUN = 16384, MOST = 1 << 20, ROOM = MOST + 4096, RULES = 8, FILES = 64 };

static struct rule {
	uint32_t op;
	unsigned nth, seen;
	bool	 on;
	int	 err;
} rules[RULES];
static size_t nrules;
static long long size = -1, wrap, drop, until, alias, decay;
static unsigned long long salt;
static bool direct, back, apart, written;
static bool unflushed[FILES];		/* of each open file */
static uint64_t files;
static int file, dev;

/* What the rules say of a request: an errno value, or 0. */
static int
judge(uint32_t op)
{
	struct rule *r;
	int e = 0;

	written = written || op == FUSE_WRITE;
	for (r = rules; r < rules + nrules; r++) {
		if (r->op != op || (op == FUSE_GETATTR && !written))
			continue;
		r->seen++;
		if (r->seen == r->nth || (r->on && r->seen > r->nth))
			e = r->err;
	}
	return e;
}

static void
reply(const struct fuse_in_header *in, int e, const void *data, size_t n)
{
	struct fuse_out_header out = { .error = -e, .unique = in->unique,
		.len = (uint32_t)(sizeof(out) + (e == 0 ? n : 0)) };
	struct iovec iov[2] = { { &out, sizeof(out) },
		{ (void *)(uintptr_t)data, n } };

	if (writev(dev, iov, e == 0 && n > 0 ? 2 : 1) < 0 && errno != ENOENT)
		err(2, "reply");
}

static void
attributes(const struct fuse_in_header *in)
{
	struct fuse_attr_out out = { .attr_valid = 0 };
	struct stat st;

	if (fstat(file, &st) != 0)
		err(2, "fstat");
	out.attr = (struct fuse_attr){ .ino = FUSE_ROOT_ID, .nlink = 1,
		.mode = S_IFREG | 0600, .blksize = 4096,
		.size = (uint64_t)(size >= 0 ? size : st.st_size),
		.blocks = ((uint64_t)st.st_size + 511) / 512,
		.mtime = (uint64_t)st.st_mtim.tv_sec,
		.mtimensec = (uint32_t)st.st_mtim.tv_nsec };
	reply(in, 0, &out, sizeof(out));
}

static void
begin(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION, .max_write = MOST,
		.max_readahead = init->max_readahead, .max_pages = MOST / 4096,
		.flags = FUSE_BIG_WRITES | FUSE_MAX_PAGES |
		(back ? FUSE_WRITEBACK_CACHE : 0) };

	reply(in, 0, &out, sizeof(out));
}

static void
open_file(const struct fuse_in_header *in)
{
	struct fuse_open_out out = { .fh = files++,
		.open_flags = direct ? FOPEN_DIRECT_IO : 0 };

	reply(in, 0, &out, sizeof(out));
}

static off_t
place(uint64_t offset)
{
	offset &= ~(uint64_t)alias;
	return (off_t)(wrap > 0 ? offset % (uint64_t)wrap : offset);
}

/* By chance, the same for each run of 16 KiB. */
static bool
decays(uint64_t offset)
{
	uint64_t x = ((offset >> 14) + salt) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (x >> 32) % (uint64_t)decay == 0;
}

/* Bytes from an offset on that have the same fate. */
static size_t
run(uint64_t offset, size_t left)
{
	size_t n = RUN - (size_t)(offset % RUN);

	return n < left ? n : left;
}

static void
read_some(const struct fuse_in_header *in, const struct fuse_read_in *arg)
{
	static char buf[ROOM];
	size_t most = arg->size < MOST ? arg->size : MOST, at = 0, n;
	ssize_t got = 0;

	for (; at < most; at += (size_t)got) {
		n = run(arg->offset + at, most - at);
		got = pread(file, buf + at, n, place(arg->offset + at));
		if (got <= 0)
			break;
		buf[at] ^= decay > 0 && decays(arg->offset + at);
	}
	reply(in, got < 0 ? errno : 0, buf, got < 0 ? 0 : at);
}

static bool
drops(long long offset)
{
	return drop > 0 && offset >= drop && (until == 0 || offset < until);
}

static void
write_some(const struct fuse_in_header *in, const struct fuse_write_in *arg)
{
	const char *from = (const char *)(arg + 1);
	struct fuse_write_out out = { .size = arg->size };
	size_t at, n;
	int e = 0;

	for (at = 0; at < arg->size && e == 0; at += n) {
		n = run(arg->offset + at, arg->size - at);
		if (!drops((long long)(arg->offset + at)) && pwrite(file,
		    from + at, n, place(arg->offset + at)) != (ssize_t)n)
			e = EIO;
	}
	unflushed[arg->fh % FILES] = apart;
	reply(in, e, &out, sizeof(out));
}

static void
flush(const struct fuse_in_header *in, const struct fuse_fsync_in *arg)
{
	unflushed[arg->fh % FILES] = false;
	reply(in, 0, NULL, 0);
}

static void
end(const struct fuse_in_header *in, const struct fuse_flush_in *arg)
{
	reply(in, unflushed[arg->fh % FILES] ? EIO : 0, NULL, 0);
	unflushed[arg->fh % FILES] = false;
}

static void
change(const struct fuse_in_header *in, const struct fuse_setattr_in *arg)
{
	if ((arg->valid & FATTR_SIZE) != 0 &&
	    ftruncate(file, (off_t)arg->size) != 0)
		reply(in, errno, NULL, 0);
	else
		attributes(in);
}

static void
serve(const struct fuse_in_header *in)
{
	struct fuse_statfs_out fs = { .st = { .bsize = 4096, .namelen = 255 } };
	int e = judge(in->opcode);

	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_INTERRUPT)
		return;
	if (e != 0)
		reply(in, e, NULL, 0);
	else if (in->opcode == FUSE_INIT)
		begin(in, (const void *)(in + 1));
	else if (in->opcode == FUSE_GETATTR)
		attributes(in);
	else if (in->opcode == FUSE_SETATTR)
		change(in, (const void *)(in + 1));
	else if (in->opcode == FUSE_OPEN)
		open_file(in);
	else if (in->opcode == FUSE_READ)
		read_some(in, (const void *)(in + 1));
	else if (in->opcode == FUSE_WRITE)
		write_some(in, (const void *)(in + 1));
	else if (in->opcode == FUSE_STATFS)
		reply(in, 0, &fs, sizeof(fs));
	else if (in->opcode == FUSE_FSYNC)
		flush(in, (const void *)(in + 1));
	else if (in->opcode == FUSE_FLUSH)
		end(in, (const void *)(in + 1));
	else if (in->opcode == FUSE_RELEASE || in->opcode == FUSE_DESTROY)
		reply(in, 0, NULL, 0);
	else
		reply(in, ENOSYS, NULL, 0);
}

static void
rule(const char *word)
{
	static const struct { const char *name; uint32_t op; } ops[] = {
		{ "read", FUSE_READ }, { "write", FUSE_WRITE },
		{ "sync", FUSE_FSYNC }, { "close", FUSE_FLUSH },
		{ "look", FUSE_GETATTR },
	};
	struct rule *r = &rules[nrules];
	char name[8], on[2] = "";
	size_t i;

	if (nrules == RULES || (sscanf(word, "%7[a-z]:%u:%d", name, &r->nth,
	    &r->err) != 3 && sscanf(word, "%7[a-z]:%u%1[+]:%d", name, &r->nth,
	    on, &r->err) != 4))
		errx(2, "%s?", word);
	r->on = on[0] == '+';
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(name, ops[i].name) == 0)
			r->op = ops[i].op;
	if (r->op == 0)
		errx(2, "%s?", word);
	nrules++;
}

int
main(int argc, char **argv)
{
	static char in[ROOM] __attribute__((aligned(8)));
	char options[80];
	int i;

	if (argc < 3)
		errx(2, "usage: lying FILE NAME [WORD...]");
	for (i = 3; i < argc; i++)
		if (strcmp(argv[i], "direct") == 0)
			direct = true;
		else if (strcmp(argv[i], "back") == 0)
			back = true;
		else if (strcmp(argv[i], "apart") == 0)
			apart = true;
		else if (sscanf(argv[i], "size=%lld", &size) != 1 &&
		    sscanf(argv[i], "wrap=%lld", &wrap) != 1 &&
		    sscanf(argv[i], "drop=%lld", &drop) != 1 &&
		    sscanf(argv[i], "until=%lld", &until) != 1 &&
		    sscanf(argv[i], "alias=%lld", &alias) != 1 &&
		    sscanf(argv[i], "decay=%lld:%llu", &decay, &salt) != 2)
			rule(argv[i]);
	file = open(argv[1], O_RDWR);
	if (file < 0)
		err(2, "%s", argv[1]);
	dev = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options),
	    "fd=%d,rootmode=100600,user_id=0,group_id=0", dev);
	if (dev < 0 || mount("lying", argv[2], "fuse", 0, options) != 0)
		err(77, "fuse");
	if (fork() != 0)
		return 0;
	while (read(dev, in, sizeof(in)) > 0 || errno == EINTR ||
	    errno == ENOENT)
		serve((const void *)in);
	return 0;
}
