/*
 * A mock machine: the contents of /sys and /proc are in a directory of its own
 * below /tmp, and nodes of /dev are in a table.  Functions that open, list and
 * look up absolute paths find these; included once, by a test.
 */
#ifndef PARDD_TEST_WORLD_H
#define PARDD_TEST_WORLD_H

#include <dirent.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "../tools/preload.h"

enum { NODES = 16 };

struct node {			/* of /dev */
	char	 name[32];
	dev_t	 dev;
	uint64_t bytes;
	const char *on;		/* what a loop device lies on: a path */
	int	 err;		/* what it answers instead, or 0 */
	bool	 character;	/* else it is a block device */
	bool	 used;		/* claimed by somebody, */
	int	 locked;	/* ... locked: how often that is so, */
	int	 lock_err;	/* or it cannot be */
	int	 fd;		/* it was opened as this last */
};

static struct {
	char	 root[32];	/* "": none */
	struct node node[NODES];
	size_t	 n;
	const char *broken;	/* what ends in this cannot be opened or
				 * listed, */
	int	 err;		/* because of this */
	unsigned failing;	/* or the call for a descriptor that fails: 1
				 * is the next one, 0 none */
	dev_t	 fs;		/* what files are on */
	const char *exports[2];	/* files of servers in the kernel */
	const char *table;	/* of any dm device: START LENGTH KIND WHERE
				 * lines; NULL: none */
} world;

static char *
world_path(const char *path, char *buf)
{
	bool other = path[0] != '/' || world.root[0] == '\0' ||
	    strncmp(path, world.root, strlen(world.root)) == 0 ||
	    strncmp(path, "/proc/self/fd/", 14) == 0;

	snprintf(buf, PATH_MAX, "%s%s", other ? "" : world.root, path);
	return buf;
}

static bool
world_broken(const char *path)
{
	size_t n = strlen(path), m;

	if (world.broken == NULL || world.root[0] == '\0')
		return false;
	m = strlen(world.broken);
	if (n < m || strcmp(path + n - m, world.broken) != 0)
		return false;
	errno = world.err;
	return true;
}

/* Whether there is no descriptor for this. */
static bool
world_full(void)
{
	if (world.failing == 0 || --world.failing > 0)
		return false;
	errno = world.err;
	return true;
}

static struct node *
world_node(const char *path)
{
	size_t i;

	if (world.root[0] == '\0' || strncmp(path, "/dev/", 5) != 0)
		return NULL;
	for (i = 0; i < world.n; i++)
		if (strcmp(path + 5, world.node[i].name) == 0)
			return &world.node[i];
	return NULL;
}

/* The node that is open as this; NULL: none. */
static struct node *
world_open(int fd)
{
	size_t i;

	for (i = 0; i < world.n; i++)
		if (world.node[i].fd == fd)
			return &world.node[i];
	return NULL;
}

/* -------------------------------------------- in the place of the C library */

static int
world_openat(int dir, const char *path, int flags, mode_t mode)
{
	struct node *node = world_node(path);
	char there[PATH_MAX];

	if (world_broken(path) || world_full())
		return -1;
	if (node == NULL)
		return (int)syscall(SYS_openat, dir, world_path(path, there),
		    flags, mode);
	if (node->used && (flags & O_EXCL) != 0) {
		errno = EBUSY;
		return -1;
	}
	node->fd = (int)syscall(SYS_memfd_create, "node", MFD_CLOEXEC);
	return node->fd;
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
OPENS(world_openat)

int
stat(const char *path, struct stat *st)
{
	struct node *node = world_node(path);
	char there[PATH_MAX];

	if (node != NULL) {
		*st = (struct stat){ .st_mode = node->character ?
			S_IFCHR : S_IFBLK, .st_rdev = node->dev };
		return 0;
	}
	if (world_broken(path) ||
	    fstatat(AT_FDCWD, world_path(path, there), st, 0) != 0)
		return -1;
	if (world.root[0] != '\0')
		st->st_dev = world.fs;
	return 0;
}

ssize_t
readlink(const char *path, char *to, size_t room)
{
	char there[PATH_MAX];

	return world_broken(path) ? -1 :
	    readlinkat(AT_FDCWD, world_path(path, there), to, room);
}

int
access(const char *path, int mode)
{
	char there[PATH_MAX];

	return world_broken(path) ? -1 :
	    faccessat(AT_FDCWD, world_path(path, there), mode, 0);
}

int
scandirat(int dir, const char *path, struct dirent ***list,
    int (*wanted)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **))
{
	char there[PATH_MAX], relative[PATH_MAX];

	if (world_broken(path) || world_full())
		return -1;
	if (dir != AT_FDCWD) {
		snprintf(relative, sizeof(relative), "/proc/self/fd/%d/%s", dir,
		    path);
		path = relative;
	}
	return scandir(world_path(path, there), list, wanted, order);
}

/* A table of the device mapper, as DM_TABLE_STATUS has it. */
static int
world_dm(struct dm_ioctl *io)
{
	char *at = (char *)io + io->data_start, *text, *line, *next;
	struct dm_target_spec spec;
	int where;

	if (world.table == NULL) {
		errno = ENXIO;
		return -1;
	}
	if ((io->flags & DM_SECURE_DATA_FLAG) == 0) {	/* it may have keys */
		errno = EPERM;
		return -1;
	}
	next = text = strdup(world.table);
	for (io->target_count = 0; (line = strsep(&next, "\n")) != NULL;
	    io->target_count++) {
		spec = (struct dm_target_spec){ 0 };
		if (sscanf(line, "%llu %llu %15s %n", (unsigned long long *)
		    &spec.sector_start, (unsigned long long *)&spec.length,
		    spec.target_type, &where) != 3)
			break;
		snprintf(at + sizeof(spec), 64, "%s", line + where);
		spec.next = (uint32_t)(at - (char *)io - io->data_start) + 128;
		memcpy(at, &spec, sizeof(spec));
		at = (char *)io + io->data_start + spec.next;
	}
	free(text);
	return 0;
}

static int
world_ioctl(int fd, unsigned long request, void *arg)
{
	struct loop_info64 *info;
	const char *broken;
	struct node *node;
	struct stat st;
	bool knows = false;

	if (request == DM_TABLE_STATUS)
		return world_dm(arg);
	node = world_open(fd);
	errno = ENOTTY;
	if (node == NULL)
		return -1;
	if (request == BLKGETSIZE64) {
		memcpy(arg, &node->bytes, sizeof(node->bytes));
		return 0;
	}
	if (request != LOOP_GET_STATUS64)
		return -1;
	broken = world.broken;
	world.broken = NULL;		/* it knows what it lies on */
	if (node->err == 0 && node->on != NULL)
		knows = stat(node->on, &st) == 0;
	world.broken = broken;
	errno = node->err != 0 ? node->err : ENXIO;
	if (!knows)
		return -1;
	info = arg;
	*info = (struct loop_info64){ .lo_device = st.st_dev,
		.lo_inode = st.st_ino, .lo_rdevice = st.st_rdev };
	return 0;
}

IOCTLS(world_ioctl)

int
fstat(int fd, struct stat *st)
{
	const struct node *node = world.root[0] != '\0' ? world_open(fd) : NULL;

	if (node != NULL) {
		*st = (struct stat){ .st_mode = node->character ?
			S_IFCHR : S_IFBLK, .st_rdev = node->dev };
		return 0;
	}
	if (fstatat(fd, "", st, AT_EMPTY_PATH) != 0)
		return -1;
	if (world.root[0] != '\0')
		st->st_dev = world.fs;
	return 0;
}

int
flock(int fd, int how)
{
	struct node *node = world_open(fd);

	if (node != NULL && node->lock_err != 0) {
		errno = node->lock_err;
		return -1;
	}
	if (node == NULL || node->locked == 0)
		return 0;
	node->locked--;
	errno = EWOULDBLOCK;
	return -1;
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	return 0;
}

int
glob(const char *pattern, int flags, int (*failed)(const char *, int),
    glob_t *all)
{
	size_t i;

	for (i = 0; i < 2; i++)
		if (world.exports[i] != NULL &&
		    fnmatch(pattern, world.exports[i], 0) == 0) {
			all->gl_pathv = calloc(2, sizeof(char *));
			all->gl_pathv[0] = strdup(world.exports[i]);
			all->gl_pathc = 1;
			return 0;
		}
	return GLOB_NOMATCH;
}

void
globfree(glob_t *all)
{
	if (all->gl_pathc > 0) {
		free(all->gl_pathv[0]);
		free((void *)all->gl_pathv);
	}
}

int
close(int fd)
{
	struct node *node = world_open(fd);

	if (node != NULL)
		node->fd = -1;
	return (int)syscall(SYS_close, fd);
}

/* ----------------------------------------------------------- making it up */

/* Make the directories of a path below the root. */
static void
world_dirs(char *there)
{
	char *slash = there + strlen(world.root);

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		*slash = '\0';
		(void)mkdir(there, 0700);
		*slash = '/';
	}
}

/* A file of this text. */
__attribute__((format(printf, 2, 3)))
static void
has(const char *path, const char *fmt, ...)
{
	char there[PATH_MAX], text[4096];
	va_list ap;
	int fd, n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	world_dirs(world_path(path, there));
	fd = (int)syscall(SYS_openat, AT_FDCWD, there, O_WRONLY | O_CREAT |
	    O_TRUNC, 0600);
	assert_true(fd >= 0 && write(fd, text, (size_t)n) == n);
	close(fd);
}

static inline void
leads(const char *path, const char *to)
{
	char there[PATH_MAX];

	world_dirs(world_path(path, there));
	assert_int_equal(symlink(to, there), 0);
}

static inline void
lacks(const char *path)
{
	char there[PATH_MAX];

	assert_int_equal(remove(world_path(path, there)), 0);
}

static inline struct node *
add_node(const char *name, dev_t dev, uint64_t bytes)
{
	struct node *node = &world.node[world.n++];

	assert_true(world.n <= NODES);
	*node = (struct node){ .dev = dev, .bytes = bytes, .fd = -1 };
	snprintf(node->name, sizeof(node->name), "%s", name);
	return node;
}

/* A directory "where" of a device, of so many blocks of 512 bytes. */
static inline struct node *
add_device(const char *where, const char *name, dev_t dev, uint64_t blocks)
{
	char path[PATH_MAX], to[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/devices/%s/dev", where);
	has(path, "%u:%u\n", major(dev), minor(dev));
	snprintf(path, sizeof(path), "/sys/devices/%s/size", where);
	has(path, "%llu\n", (unsigned long long)blocks);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev),
	    minor(dev));
	snprintf(to, sizeof(to), "../../devices/%s", where);
	leads(path, to);
	return add_node(name, dev, blocks * 512);
}

/* A disk of that name, the directory of a bus before it. */
static inline struct node *
add_disk(const char *bus, const char *name, dev_t dev, uint64_t blocks)
{
	char where[256], path[PATH_MAX];
	struct node *node;

	snprintf(where, sizeof(where), "%s/block/%s", bus, name);
	node = add_device(where, name, dev, blocks);
	snprintf(path, sizeof(path), "/sys/block/%s", name);
	snprintf(where, sizeof(where), "../devices/%s/block/%s", bus, name);
	leads(path, where);
	snprintf(path, sizeof(path), "/sys/block/%s/queue/logical_block_size",
	    name);
	has(path, "512\n");
	return node;
}

/* Its partition of that number; their nodes follow its own. */
static inline struct node *
add_part(const char *bus, const char *name, dev_t disk, unsigned number,
    uint64_t start, uint64_t blocks)
{
	char where[256], path[PATH_MAX], own[32];
	struct node *node;

	snprintf(own, sizeof(own), "%s%u", name, number);
	snprintf(where, sizeof(where), "%s/block/%s/%s", bus, name, own);
	node = add_device(where, own, disk + number, blocks);
	snprintf(path, sizeof(path), "/sys/devices/%s/partition", where);
	has(path, "%u\n", number);
	snprintf(path, sizeof(path), "/sys/devices/%s/start", where);
	has(path, "%llu\n", (unsigned long long)start);
	return node;
}

static int
world_begin(void **state)
{
	memset(&world, 0, sizeof(world));
	world.fs = makedev(0, 99);		/* of no disk */
	strcpy(world.root, "/tmp/pardd-unit.XXXXXX");
	assert_non_null(mkdtemp(world.root));
	has("/proc/self/mountinfo", "%s", "");
	has("/proc/swaps", "Filename Type Size Used Priority\n");
	has("/proc/partitions", "%s", "");
	has("/proc/filesystems", "%s", "");
	has("/sys/block/.keep", "%s", "");
	has("/sys/dev/block/.keep", "%s", "");
	return 0;
}

static int
world_forget(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int
world_end(void **state)
{
	char root[sizeof(world.root)];

	strcpy(root, world.root);
	world.root[0] = '\0';
	return nftw(root, world_forget, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
