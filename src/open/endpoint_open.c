/*
 * Opening an end.  A name is looked up once, as an O_PATH descriptor.  This
 * descriptor, not the name, says which backend it is for, and that reopens the
 * same file (backend.h), so that a name that changes meanwhile has no effect.
 */
#include "end/endpoint.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "end/backend.h"

/* --- what was found under a name ----------------------------------------- */

enum {				/* minors of MEM_MAJOR */
	MINOR_NULL = 3,
	MINOR_ZERO = 5,
	MINOR_RANDOM = 8,
	MINOR_URANDOM = 9,
};

#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC	0x19800202
#endif

/*
 * Whether a file may have contents beyond its size.  If that cannot be read, it
 * may: reading the file in order tells why.
 */
static bool
hides_content(const struct endpoint *ep, int path, off_t size)
{
	int fd = reopen(path, endpoint_path(ep), O_RDONLY | O_NONBLOCK |
	    ((ep->spec.flags & FLAG_NOATIME) != 0 ? O_NOATIME : 0));
	char c;
	bool may = fd < 0 || pread(fd, &c, 1, size) != 0;

	if (fd >= 0)
		close(fd);
	return may;
}

/*
 * Whether the kernel generates the contents of a file when it is read, so that
 * its size is not real.  Such a file is read in order to its end, and has
 * nothing to flush.  Files of known file systems are not read to find out,
 * because some forget what they have returned.  A server of FUSE or 9p may
 * report wrong sizes.
 */
static bool
choose_pseudo(const struct endpoint *ep, int path, const struct stat *st)
{
	switch ((unsigned long)ep->fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
		return true;
	case FUSE_SUPER_MAGIC:
	case V9FS_MAGIC:
		break;
	default:
		if (st->st_size != 0)
			return false;
	}
	return ep->spec.role == SOURCE && hides_content(ep, path, st->st_size);
}

static int
choose_unsupported(struct fault *f, const struct endpoint *ep, const char *what)
{
	return fault_set(f, STATUS_FILE, "%s is %s, which is not supported",
	    ep->name, what);
}

/* The kernel's name for the subsystem of a character device; "" if unknown. */
static void
node_subsystem(const struct stat *st, char *name, size_t room)
{
	char link[64], to[256];
	const char *base;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/subsystem",
	    major(st->st_rdev), minor(st->st_rdev));
	n = readlink(link, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	base = strrchr(to, '/');
	snprintf(name, room, "%s", base == NULL ? "" : base + 1);
}

static void
choose_identity(struct endpoint *ep, dev_t dev, ino_t ino)
{
	ep->id.known = true;
	ep->id.dev = dev;
	ep->id.ino = ino;
}

/* Identify a disk by its block node, if it has one. */
static void
identify_disk(struct endpoint *ep, dev_t node)
{
	struct disk d;

	if (disk_of_char(node, &d) && d.node != 0)
		choose_identity(ep, d.node, 0);
	else
		choose_identity(ep, node, 1);
}

/*
 * Whether a read returns one message and drops what does not fit; and whether
 * messages may be lost on their way.
 */
static bool
has_messages(int fd, bool *lossy)
{
	int type, domain = AF_UNSPEC;
	socklen_t len = sizeof(type);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0)
		return false;
	*lossy = domain != AF_UNIX && (type == SOCK_DGRAM || type == SOCK_RAW);
	return type != SOCK_STREAM;
}

static int
choose_char(struct endpoint *ep, const struct stat *st, struct fault *f)
{
	bool zeros = st->st_rdev == makedev(MEM_MAJOR, MINOR_ZERO) &&
	    ep->spec.role == SOURCE;
	char drivers[32];

	if (zeros || st->st_rdev == makedev(MEM_MAJOR, MINOR_NULL)) {
		ep->be = &null_backend;
		ep->is.endless = zeros;
		return 0;
	}
	node_subsystem(st, drivers, sizeof(drivers));
	if (major(st->st_rdev) == SCSI_GENERIC_MAJOR ||
	    strcmp(drivers, "bsg") == 0) {
		ep->be = &sg_backend;
		identify_disk(ep, st->st_rdev);
		return 0;
	}
	if (major(st->st_rdev) == SCSI_TAPE_MAJOR)
		return choose_unsupported(f, ep, "a tape");
	if (strcmp(drivers, "nvme-generic") == 0) {
		ep->be = &nvme_backend;
		identify_disk(ep, st->st_rdev);
		return 0;
	}
	if (strncmp(drivers, "nvme", 4) == 0)
		return fault_set(f, STATUS_REFUSED, "%s is an NVMe controller: "
		    "name a disk of it, such as /dev/nvme0n1 or /dev/ng0n1",
		    ep->name);
	ep->be = &stream_backend;
	ep->is.endless = ep->spec.role == SOURCE &&
	    (st->st_rdev == makedev(MEM_MAJOR, MINOR_RANDOM) ||
	    st->st_rdev == makedev(MEM_MAJOR, MINOR_URANDOM));
	return 0;
}

/*
 * Refuse words that apply only to another kind of end.  Returns 0, or -1 with
 * *f.
 */
static int
choose_misused(const struct endpoint *ep, struct fault *f)
{
	if ((ep->spec.flags & FLAG_NVME) != 0 && ep->be != &nvme_backend)
		return fault_set(f, STATUS_USAGE, "%s: nvme is for NVMe disks",
		    ep->name);
	if ((ep->spec.flags & FLAG_RESET) != 0 && ep->be != &zoned_backend)
		return fault_set(f, STATUS_USAGE, "%s: oflag=reset is for "
		    "zoned disks", ep->name);
	if (ep->spec.since != NULL && ep->be != &rbd_backend)
		return fault_set(f, STATUS_USAGE, "%s: iflag=since: is for "
		    "Ceph images", ep->name);
	if (ep->spec.bitmap != NULL && ep->be != &nbd_backend)
		return fault_set(f, STATUS_USAGE, "%s: iflag=bitmap: is for "
		    "NBD exports", ep->name);
	if (ep->be == &sg_backend ||
	    (ep->spec.flags & (FLAG_SGIO | FLAG_MMAP)) == 0)
		return 0;
	return fault_set(f, STATUS_USAGE, "%s: sgio is for block devices, mmap "
	    "for SCSI generic ones", ep->name);
}

static const struct backend *
block_backend(const struct endpoint *ep, const struct stat *st)
{
	char model[32];

	if ((ep->spec.flags & FLAG_NVME) != 0)
		return &nvme_backend;
	if ((ep->spec.flags & FLAG_SGIO) != 0)
		return &sg_backend;
	/* zones that must be written in order */
	return ep->spec.role == TARGET &&
	    disk_zoned(st->st_rdev, model, sizeof(model)) &&
	    strcmp(model, "host-managed") == 0 ? &zoned_backend : &file_backend;
}

/* Choose a backend by the type of file that was found. */
static int
choose_backend(struct endpoint *ep, int fd, const struct stat *st,
    struct fault *f)
{
	bool lossy;

	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		if (fstatfs(fd, &ep->fs) != 0)
			return fault_errno(f, errno, "%s", ep->name);
		ep->held = (uint64_t)st->st_blocks * 512;
		if (ep->fs.f_type == MQUEUE_MAGIC)
			return choose_unsupported(f, ep, "a message queue");
		ep->be = choose_pseudo(ep, fd, st) ? &stream_backend :
		    &file_backend;
		choose_identity(ep, st->st_dev, st->st_ino);
		return 0;
	case S_IFBLK:
		ep->be = block_backend(ep, st);
		ep->is.device = true;
		choose_identity(ep, st->st_rdev, 0);
		return 0;
	case S_IFCHR:
		ep->is.device = true;
		return choose_char(ep, st, f);
	case S_IFIFO:
		ep->is.piped = true;
		ep->be = &stream_backend;
		return 0;
	case S_IFSOCK:
		if (!ep->is.inherited)
			return choose_unsupported(f, ep, "a socket");
		if (has_messages(fd, &lossy) && (lossy ||
		    ep->spec.role == SOURCE))
			return choose_unsupported(f, ep, lossy ? "a socket "
			    "whose messages may be lost" :
			    "a socket of messages");
		ep->is.piped = true;
		ep->be = &stream_backend;
		return 0;
	case S_IFLNK:
		return fault_set(f, status_errno(ELOOP),
		    "%s is a symbolic link, and nofollow is set", ep->name);
	case S_IFDIR:
		return fault_set(f, status_errno(EISDIR), "%s is a "
		    "directory; %s", ep->name, ep->spec.role == TARGET ?
		    "name a file in it" :
		    "name a file, or the disk it lies on (pardd -l)");
	default:
		return choose_unsupported(f, ep, "of an unknown type");
	}
}

/* Set up oflag=append: the file is written in order, from its end on. */
static void
choose_append(struct endpoint *ep, const struct stat *st)
{
	ep->spec.flags |= FLAG_APPEND;
	ep->be = &stream_backend;
	ep->lim.base = (uint64_t)st->st_size;
}

/*
 * Choose the backend and set the identity, from an open descriptor and its
 * stat.  Refuses what cannot be copied, and words of iflag= or oflag= that do
 * not apply.  Returns 0, or -1 with *f.
 */
static int
endpoint_choose(struct endpoint *ep, int fd, const struct stat *st,
    struct fault *f)
{
	ep->id.node = st->st_rdev;
	ep->id.file_dev = st->st_dev;
	ep->id.file_ino = st->st_ino;
	ep->id.written = st->st_mtim;
	ep->id.size = st->st_size;
	ep->is.linked = S_ISREG(st->st_mode) && st->st_nlink > 0;
	if (choose_backend(ep, fd, st, f) != 0)
		return -1;
	if (ep->spec.role == TARGET && (ep->spec.flags & FLAG_EXCL) != 0 &&
	    !ep->is.device && !ep->is.inherited)
		return fault_errno(f, EEXIST, "%s", ep->name);
	if (choose_misused(ep, f) != 0)
		return -1;
	if ((ep->spec.flags & FLAG_APPEND) != 0 && ep->is.device &&
	    ep->be != &null_backend)
		return fault_set(f, STATUS_USAGE,
		    "%s: oflag=append is for files, not for devices", ep->name);
	if ((ep->spec.flags & FLAG_APPEND) != 0 && ep->be == &file_backend)
		choose_append(ep, st);
	return 0;
}

static int
open_inherited(struct endpoint *ep, bool look, struct fault *f)
{
	struct stat st;
	off_t at;
	int mode;

	if (fstat(ep->fd, &st) != 0 || (mode = fcntl(ep->fd, F_GETFL)) < 0)
		return fault_errno(f, errno, "%s", ep->name);
	if ((mode & O_PATH) != 0 ||
	    (mode & O_ACCMODE) ==
	    (ep->spec.role == SOURCE ? O_WRONLY : O_RDONLY))
		return fault_errno(f, EBADF, "%s", ep->name);
	if (endpoint_choose(ep, ep->fd, &st, f) != 0)
		return -1;
	if (ep->be == &file_backend && ep->spec.role == TARGET &&
	    !ep->is.device && (mode & O_APPEND) != 0)
		choose_append(ep, &st);
	at = lseek(ep->fd, 0, SEEK_CUR);
	if (at < 0 && ep->be == &file_backend)	/* its offset may be anything */
		return fault_errno(f, errno, "%s: where it stands", ep->name);
	if ((ep->spec.flags & FLAG_APPEND) == 0 && at > 0)
		ep->lim.base = (uint64_t)at;
	return ep->be->open(ep, look, f);
}

static int
open_generated(struct endpoint *ep, bool look, struct fault *f)
{
	ep->be = &null_backend;
	ep->is.endless = true;
	ep->name = (ep->spec.flags & FLAG_RANDOM) != 0 ? "iflag=random" :
	    "iflag=00";
	return choose_misused(ep, f) != 0 ? -1 : ep->be->open(ep, look, f);
}

/*
 * For a target that does not exist, keep the directory it goes into, so that
 * decisions about this directory still hold when the file is created.
 */
static int
open_absent(struct endpoint *ep, bool look, struct fault *f)
{
	struct stat st;
	const char *base;
	int failed = 0;

	ep->dir = path_dir(ep->name, O_RDONLY, &base);
	if (ep->dir < 0 && errno == ENOENT)
		return path_no_dir(ep->name, "", ep->name, f);
	if (ep->dir < 0)
		return fault_errno(f, errno, "%s", ep->name);
	ep->is.absent = true;
	ep->be = (ep->spec.flags & FLAG_APPEND) != 0 ? &stream_backend :
	    &file_backend;
	if (fstatat(ep->dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0)
		failed = fault_set(f, STATUS_REFUSED, "%s is a symbolic link "
		    "to a file that does not exist", ep->name);
	if (failed == 0)
		failed = choose_misused(ep, f);
	if (failed == 0)
		(void)fstatfs(ep->dir, &ep->fs);
	if (failed == 0)
		failed = ep->be->open(ep, look, f);
	if (failed != 0)
		close(ep->dir);
	return failed;
}

enum { PREFIXES = 8 };		/* per kind, at most */

/* Addresses, which are never file names: their prefixes and backends. */
static const struct address {
	enum end_kind	 kind;
	const struct backend *be;
	const char	*library;
	const char	*prefix[PREFIXES];
} addresses[] = {
#define ADDRESS(kind, name, library, words, word, ...) \
	{ kind, &name, library, { __VA_ARGS__ } },
#include "end/kinds.def"
};

enum { ADDRESSES = sizeof(addresses) / sizeof(addresses[0]) };

static const struct address *
address_of(const char *name)
{
	const char *prefix;
	size_t i, k;

	for (i = 0; i < ADDRESSES; i++)
		for (k = 0; k < PREFIXES; k++) {
			prefix = addresses[i].prefix[k];
			if (prefix != NULL &&
			    strncmp(name, prefix, strlen(prefix)) == 0)
				return &addresses[i];
		}
	return NULL;
}

static int
open_address(struct endpoint *ep, const struct address *a, bool look,
    struct fault *f)
{
	ep->be = a->be;
	if (choose_misused(ep, f) != 0)
		return -1;
	if ((ep->spec.flags & FLAG_APPEND) != 0)
		return fault_set(f, STATUS_USAGE, "%s: oflag=append is for "
		    "files", ep->name);
	if (ep->be->open == NULL)
		return fault_set(f, STATUS_REFUSED, "%s: this pardd was built "
		    "without %s", ep->name, a->library);
	return ep->be->open(ep, look, f);
}

/* What to use instead of a web address, or of a path on another machine. */
static const char *
endpoint_hint(const struct endpoint *ep, const char *rest)
{
	bool web = strncmp(ep->name, "http", 4) == 0 ||
	    strncmp(ep->name, "ftp", 3) == 0;

	if (strncmp(ep->name, "ssh:", 4) == 0)
		return ": '[ ssh HOST nbdkit -s file DISK ]' is a disk of "
		    "another machine";
	if (strncmp(rest, "//", 2) == 0)
		return web && ep->spec.role == SOURCE ? ": curl -f URL | pardd "
		    "of=... reads it" : "";
	return rest[0] == '/' ? ": '[ ssh HOST nbdkit -s file DISK ]' is a "
	    "disk of another machine" : "";
}

/* Refuse what only fstab and mount(8) understand, unless such a file exists. */
static int
check_tag(const struct endpoint *ep, struct fault *f)
{
	static const char *const tags[][2] = { { "UUID=", "uuid" },
		{ "LABEL=", "label" }, { "PARTUUID=", "partuuid" },
		{ "PARTLABEL=", "partlabel" } };
	size_t i, n;

	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		n = strlen(tags[i][0]);
		if (strncmp(ep->name, tags[i][0], n) == 0 && faccessat(AT_FDCWD,
		    ep->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			return fault_set(f, STATUS_USAGE, "%s: write "
			    "/dev/disk/by-%s/%s; for a file of that name write "
			    "./%s", ep->name, tags[i][1], ep->name + n,
			    ep->name);
	}
	return 0;
}

/*
 * Refuse a name of the form SCHEME:... or USER@HOST:..., unless such a file
 * exists: an address that only other copiers understand must not become a new
 * file.
 */
static int
check_scheme(const struct endpoint *ep, struct fault *f)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.@";
	const char *name = ep->name;
	size_t n = strspn(name, letters);

	if (n == 0 || name[n] != ':' || faccessat(AT_FDCWD, name, F_OK,
	    AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return 0;
	return fault_set(f, STATUS_USAGE, "%.*s: is no kind of end that pardd "
	    "knows%s; for a file of that name write ./%s", (int)n, name,
	    endpoint_hint(ep, name + n + 1), name);
}

static int
endpoint_open_named(struct endpoint *ep, bool look, struct fault *f)
{
	int nofollow = (ep->spec.flags & FLAG_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
	int path = open(ep->name, O_PATH | O_CLOEXEC | nofollow), failed;
	struct stat st;

	if (path < 0 && errno == ENOENT && ep->spec.role == TARGET &&
	    (ep->spec.flags & FLAG_NOCREAT) == 0)
		return open_absent(ep, look, f);
	if (path < 0)
		return fault_found(f, ep);
	failed = fstat(path, &st) != 0 ? fault_errno(f, errno, "%s", ep->name) :
	    endpoint_choose(ep, path, &st, f);
	if (failed == 0) {
		ep->fd = path;
		failed = ep->be->open(ep, look, f);
		ep->fd = -1;
	}
	close(path);
	return failed;
}

/* Open an address, or a file. */
static int
open_name(struct endpoint *ep, bool look, struct fault *f)
{
	const struct address *a = address_of(ep->name);

	if (a != NULL)
		return open_address(ep, a, look, f);
	return check_scheme(ep, f) != 0 || check_tag(ep, f) != 0 ? -1 :
	    endpoint_open_named(ep, look, f);
}

/* rest=trim: a device that makes zeros may free the blocks. */
static unsigned
target_flags(const struct opts *o)
{
	return o->oflag | ((o->rest & REST_TRIM) != 0 ? FLAG_TRIM : 0);
}

static struct end_spec
spec_of(const struct opts *o, enum role role, unsigned flags)
{
	return (struct end_spec){ .role = role, .flags = flags,
		.force = o->force, .timeout = opts_timeout(o),
		.patience = o->timeout < 0 ? 0 : opts_timeout(o),
		.cdb_size = (unsigned)o->cdbsz, .bpt = o->bpt,
		.retries = o->retries, .rescue = o->map != NULL,
		.keeps = o->map != NULL || o->base != NULL ||
		    (o->oflag & FLAG_SPARING) != 0,
		.coe = o->coe != 0, .verify = o->verify != 0,
		.sync = o->sync != 0, .async = opts_async(o),
		.loud = o->verbose > 0,
		.held = (o->force & FORCE_HELD) != 0,
		.secrets = o->secrets };
}

/* Not open yet, but with a backend, so that it can be closed. */
static struct endpoint
endpoint_unopened(struct end_spec spec, const char *name)
{
	return (struct endpoint){ .be = &null_backend, .name = name,
		.spec = spec,
		.geo = { .size = -1, .room = -1, .io_align = 1 },
		.lim.end = UINT64_MAX, .fd = -1, .dir = -1, .layer = -1 };
}

static enum end_kind
endpoint_kind_found(const struct endpoint *ep)
{
	size_t i;

	for (i = 0; i < ADDRESSES; i++)
		if (ep->be == addresses[i].be)
			return addresses[i].kind;
	if (ep->be == &sg_backend)
		return END_SCSI;
	if (ep->be == &nvme_backend)
		return END_NVME;
	if (ep->be == &null_backend && ep->spec.role == TARGET)
		return END_DISCARD;
	if (ep->be == &null_backend)
		return (ep->spec.flags & FLAG_RANDOM) != 0 ? END_RANDOM :
		    END_ZEROS;
	if (ep->is.streamed)
		return END_STREAM;
	return ep->is.device ? END_BLOCK : END_FILE;
}

int
endpoint_open_compared(struct endpoint *ep, const struct opts *o,
    struct fault *f)
{
	*ep = endpoint_unopened(spec_of(o, SOURCE, o->oflag), o->output);
	ep->is.back = true;
	if (open_name(ep, false, f) != 0) {
		f->end = ep->name;
		return -1;
	}
	ep->kind = endpoint_kind_found(ep);
	return 0;
}

static int
endpoint_find(struct endpoint *ep, bool look, struct fault *f)
{
	const char *name = ep->name;

	if ((ep->spec.flags & (FLAG_ZEROS | FLAG_RANDOM)) != 0)
		return open_generated(ep, look, f);
	if (name == NULL || strcmp(name, "-") == 0) {
		ep->fd = ep->spec.role == SOURCE ? STDIN_FILENO : STDOUT_FILENO;
		ep->name = ep->spec.role == SOURCE ? "standard input" :
		    "standard output";
		ep->is.inherited = true;
		return open_inherited(ep, look, f);
	}
	if (ep->spec.role == TARGET && strcmp(name, ".") == 0) {
		ep->be = &null_backend;
		return choose_misused(ep, f) != 0 ? -1 :
		    ep->be->open(ep, look, f);
	}
	return open_name(ep, look, f);
}

static int
endpoint_open_found(struct endpoint *ep, bool look, struct fault *f)
{
	if (endpoint_find(ep, look, f) == 0) {
		ep->kind = endpoint_kind_found(ep);
		if (layer_open(ep, look, f) == 0)
			return 0;
		endpoint_close(ep);
	}
	f->end = ep->name;
	return -1;
}

int
endpoint_open(struct endpoint *ep, enum role role, const struct opts *o,
    bool look, struct fault *f)
{
	*ep = role == SOURCE ?
	    endpoint_unopened(spec_of(o, SOURCE, o->iflag), o->input) :
	    endpoint_unopened(spec_of(o, TARGET, target_flags(o)), o->output);
	ep->spec.bitmap = role == SOURCE ? o->bitmap : NULL;
	ep->spec.since = role == SOURCE ? o->since : NULL;
	if (endpoint_open_found(ep, look, f) != 0)
		return -1;
	if (role == TARGET ? o->encode == NULL || encoded_open(ep, o, f) == 0 :
	    (o->decode & ~(unsigned)DECODE_NONE) == 0 ||
	    decoded_open(ep, o, look, f) == 0)
		return 0;
	f->end = ep->name;
	endpoint_close(ep);
	return -1;
}

int
endpoint_open_target(struct endpoint *ep, const struct opts *o,
    const char *name, bool look, struct fault *f)
{
	*ep = endpoint_unopened(spec_of(o, TARGET, target_flags(o)), name);
	return endpoint_open_found(ep, look, f);
}

/*
 * Whether an end that identifies itself is not the one that was there before,
 * even though it has the same name.
 */
static bool
is_another(const struct endpoint *was, const struct endpoint *is)
{
	struct disk a, b;

	return was->is.remote && endpoint_disk(was, &a) &&
	    endpoint_disk(is, &b) && (strcmp(a.serial, b.serial) != 0 ||
	    strcmp(a.wwn, b.wwn) != 0);
}

int
endpoint_open_again(struct endpoint *new, const struct end_spec *spec,
    const char *path, struct fault *f)
{
	*new = endpoint_unopened(*spec, path);
	return open_name(new, false, f);
}

/* Check that the same end has come back.  Returns 0, or -1 with *f. */
static int
endpoint_check_same(const struct endpoint *was, const struct endpoint *is,
    struct fault *f)
{
	int64_t size = was->lim.part > 0 ? was->lim.disk_size : was->geo.size;
	char blocks[32] = "";

	if (is_another(was, is))
		return fault_set(f, STATUS_REFUSED, "%s has the same name, but "
		    "is another disk", is->name);
	if (is->be == was->be && is->geo.size == size &&
	    is->geo.block == was->geo.block)
		return 0;
	if (is->geo.block > 0)
		snprintf(blocks, sizeof(blocks), " in blocks of %u",
		    is->geo.block);
	return fault_set(f, STATUS_REFUSED, "%s has the same name, but is "
	    "another: %lld bytes%s", is->name, (long long)is->geo.size, blocks);
}

int
endpoint_replace(struct endpoint *ep, struct endpoint *new, struct fault *f)
{
	if (endpoint_check_same(ep, new, f) != 0) {
		endpoint_close(new);
		return -1;
	}
	if (ep->be->close != NULL)
		ep->be->close(ep);
	ep->be = new->be;
	ep->priv = new->priv;
	ep->holds = new->holds;
	strlcpy(ep->offers, new->offers, sizeof(ep->offers));
	ep->cmd = new->cmd;
	ep->id = new->id;
	ep->is.inherited = false;
	ep->fd = -1;
	if (new->name != ep->name) {
		strlcpy(ep->again, new->name, sizeof(ep->again));
		ep->name = ep->again;
	}
	return 0;
}

int
endpoint_readback(struct endpoint *r, const struct endpoint *target,
    uint32_t most, struct fault *f)
{
	if (target->be->open_readback == NULL)
		return fault_set(f, STATUS_USAGE, "%s cannot be read back: it "
		    "is written in order, or not kept", target->name);
	*r = endpoint_unopened(target->spec, target->name);
	r->spec.role = SOURCE;
	r->geo.block = target->geo.block;
	r->is.device = target->is.device;
	r->is.inherited = target->is.inherited;
	r->kind = target->kind;
	r->is.back = true;
	r->is.seekable = true;
	r->id = target->id;
	r->cmd = target->cmd;
	if (r->cmd.unit > 0) {
		r->geo.io_align = r->cmd.unit;
		r->geo.size = (int64_t)r->cmd.end;
	}
	if (target->be->open_readback(target, r, f) != 0)
		return -1;
	if (r->geo.io_align <= most)
		return 0;
	fault_set(f, STATUS_REFUSED, "%s is read back in units of %u bytes: "
	    "they are too large", r->name, r->geo.io_align);
	endpoint_close(r);
	return -1;
}
