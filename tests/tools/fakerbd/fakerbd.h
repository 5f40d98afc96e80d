/*
 * A directory as a Ceph cluster: the functions of librbd and librados that
 * pardd calls, under their names; included once, by fakerbd.c and by a unit
 * test.
 *
 *	RBD_DIR		POOL[/NAMESPACE]/IMAGE, and IMAGE@SNAPSHOT, are files;
 *			IMAGE.users has the number of its watchers
 *	RBD_FAULTS	words CALL[@OFFSET+LENGTH]=NUMBER, an errno: the result
 *			of a call (of one that touches these bytes).  Or =hang:
 *			a process with such a call cannot exit(), as with Ceph's
 *			own threads.  Or =late, the first time: it is served
 *			after LATE seconds.  Or =after: it moves its bytes, and
 *			ends once the late one is served
 *	RBD_LOG		gets a line for each call: its name, offset, length
 *
 * Objects have 64 KiB: one that is all zeros is a hole.
 */
#ifndef PARDD_TEST_FAKERBD_H
#define PARDD_TEST_FAKERBD_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rbd/librbd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OBJECT = 64 << 10, OWN = 77, LATE = 5 };

enum fate { WELL, HANGS = -1, IS_LATE = -2, WAITS = -3 };	/* or an errno */

struct pool {
	char	 path[2048];
	int64_t	 id;
};

struct image {
	char	 path[4096];
	int	 fd;
	bool	 writable;
};

struct completion {
	rbd_callback_t	 cb;
	void		*arg;
	ssize_t		 result;
	int		 fate;
	struct request {
		char	 what;
		int	 fd;
		uint64_t off;
		size_t	 len;
		char	*buf;
	}		 q;
};

static const char *
directory(void)
{
	const char *dir = getenv("RBD_DIR");

	return dir == NULL ? "." : dir;
}

static int logged = -1;
static atomic_bool hangs, late, served;

static void __attribute__((destructor))
wait_for_calls(void)
{
	while (hangs)
		pause();
}

/* While files may be opened still. */
static void __attribute__((constructor))
open_log(void)
{
	const char *path = getenv("RBD_LOG");

	if (path != NULL)
		logged = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		    0644);
}

static void
note(const char *call, uint64_t off, size_t len)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "%s %llu %zu\n", call,
	    (unsigned long long)off, len);

	if (logged >= 0 && write(logged, line, (size_t)n) != n)
		abort();
}

static int
fate_named(const char *word)
{
	if (strcmp(word, "hang") == 0)
		return HANGS;
	if (strcmp(word, "late") == 0)
		return atomic_exchange(&late, true) ? WELL : IS_LATE;
	return strcmp(word, "after") == 0 ? WAITS : atoi(word);
}

/* What is to become of a call. */
static int
fate(const char *call, uint64_t off, size_t len)
{
	const char *rules = getenv("RBD_FAULTS");
	char name[32], *all, *rule, *rest;
	unsigned long long at, n;
	int err = 0, used;

	note(call, off, len);
	all = rest = rules == NULL ? NULL : strdup(rules);
	while (err == 0 && rest != NULL && (rule = strsep(&rest, " ")) != NULL) {
		const char *what = strchr(rule, '=');

		at = 0;
		n = ~0ULL;
		used = sscanf(rule, "%31[a-z]@%llu+%llu", name, &at, &n);
		if (used < 1 || what == NULL || strcmp(name, call) != 0 ||
		    off >= at + n || (used > 1 && off + len <= at))
			continue;
		err = fate_named(what + 1);
	}
	if (err == HANGS)
		hangs = true;
	free(all);
	return err;
}

/* The same for one that is waited for. */
static int
meet(const char *call)
{
	int err = fate(call, 0, 0);

	if (err < 0)
		for (;;)
			pause();
	return -err;
}

/* --------------------------------------------------------------- librados */

int
rados_create(rados_t *cluster, const char *id)
{
	int err = meet("create");

	(void)id;
	if (err == 0)
		*cluster = strdup("1");
	return err;
}

int
rados_conf_read_file(rados_t cluster, const char *path)
{
	int err = meet("conf");

	if (path != NULL)
		*(char *)cluster = '2';
	return err != 0 ? err :
	    path == NULL || access(path, R_OK) == 0 ? 0 : -errno;
}

int
rados_conf_set(rados_t cluster, const char *key, const char *value)
{
	char what[160];

	(void)cluster;
	snprintf(what, sizeof(what), "set %s %s", key, value);
	note(what, 0, 0);
	return strncmp(key, "nothing", 7) == 0 ? -ENOENT : meet("set");
}

int
rados_connect(rados_t cluster)
{
	(void)cluster;
	return meet("connect");
}

void
rados_shutdown(rados_t cluster)
{
	note("shutdown", 0, 0);
	free(cluster);
}

int
rados_cluster_fsid(rados_t cluster, char *buf, size_t len)
{
	int err = meet("fsid");

	return err != 0 ? err : snprintf(buf, len,
	    "%s1111111-2222-3333-4444-555555555555", (char *)cluster);
}

uint64_t
rados_get_instance_id(rados_t cluster)
{
	(void)cluster;
	return OWN;
}

int
rados_ioctx_create(rados_t cluster, const char *name, rados_ioctx_t *io)
{
	struct pool *p = calloc(1, sizeof(*p));
	struct stat st;

	(void)cluster;
	snprintf(p->path, sizeof(p->path), "%s/%s", directory(), name);
	if (stat(p->path, &st) != 0) {
		free(p);
		return -ENOENT;
	}
	p->id = (int64_t)st.st_ino;
	*io = p;
	return 0;
}

void
rados_ioctx_destroy(rados_ioctx_t io)
{
	free(io);
}

void
rados_ioctx_set_namespace(rados_ioctx_t io, const char *space)
{
	struct pool *p = io;
	size_t n = strlen(p->path);

	snprintf(p->path + n, sizeof(p->path) - n, "/%s", space);
}

int64_t
rados_ioctx_get_id(rados_ioctx_t io)
{
	return ((const struct pool *)io)->id;
}

/* ----------------------------------------------------------------- librbd */

static int
open_image(rados_ioctx_t io, const char *name, const char *snapshot,
    bool writable, rbd_image_t *image)
{
	const struct pool *p = io;
	struct image *i = calloc(1, sizeof(*i));
	char path[4400];
	int err = meet("open");

	snprintf(i->path, sizeof(i->path), "%s/%s", p->path, name);
	snprintf(path, sizeof(path), "%s%s%s", i->path, snapshot != NULL ?
	    "@" : "", snapshot != NULL ? snapshot : "");
	i->writable = writable;
	i->fd = err != 0 ? -1 : open(path, (writable ? O_RDWR : O_RDONLY) |
	    O_CLOEXEC);
	if (i->fd < 0) {
		free(i);
		return err != 0 ? err : -errno;
	}
	*image = i;
	return 0;
}

int
rbd_open(rados_ioctx_t io, const char *name, rbd_image_t *image,
    const char *snapshot)
{
	return open_image(io, name, snapshot, true, image);
}

int
rbd_open_read_only(rados_ioctx_t io, const char *name, rbd_image_t *image,
    const char *snapshot)
{
	return open_image(io, name, snapshot, false, image);
}

int
rbd_close(rbd_image_t image)
{
	struct image *i = image;
	int err = meet("close");

	close(i->fd);
	free(i);
	return err;
}

int
rbd_get_size(rbd_image_t image, uint64_t *size)
{
	const struct image *i = image;
	struct stat st;

	if (fstat(i->fd, &st) != 0)
		return -errno;
	*size = meet("huge") != 0 ? UINT64_MAX : (uint64_t)st.st_size;
	return meet("size");
}

int
rbd_get_id(rbd_image_t image, char *id, size_t len)
{
	const struct image *i = image;
	struct stat st;
	int err = meet("id");

	if (stat(i->path, &st) != 0)
		return -errno;
	if (err != 0)
		return err;
	return snprintf(id, len, "%llu", (unsigned long long)st.st_ino) < 0 ?
	    -EIO : 0;
}

int
rbd_snap_get_id(rbd_image_t image, const char *name, uint64_t *id)
{
	const struct image *i = image;
	char path[4400];
	struct stat st;
	int err = meet("snap");

	if (err != 0)
		return err;
	snprintf(path, sizeof(path), "%s@%s", i->path, name);
	if (stat(path, &st) != 0)
		return -errno;
	*id = (uint64_t)st.st_ino;
	return 0;
}

/* The number in IMAGE.users. */
static size_t
users(const struct image *i)
{
	char path[4400];
	unsigned n = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s.users", i->path);
	in = fopen(path, "re");
	if (in != NULL && fscanf(in, "%u", &n) != 1)
		n = 0;
	if (in != NULL)
		fclose(in);
	return n;
}

int
rbd_watchers_list(rbd_image_t image, rbd_image_watcher_t *w, size_t *most)
{
	const struct image *i = image;
	size_t n = users(i), k;
	int err = meet("watchers");

	if (err != 0)
		return err;
	if (n + 1 > *most)
		return -ERANGE;
	for (k = 0; k < n; k++)
		w[k] = (rbd_image_watcher_t){ .addr = strdup("10.0.0.9:0/42"),
			.id = (int64_t)(4000 + k), .cookie = 1 };
	if (i->writable)
		w[n++] = (rbd_image_watcher_t){ .addr = strdup("10.0.0.1:0/1"),
			.id = OWN, .cookie = 1 };
	*most = n;
	return 0;
}

void
rbd_watchers_list_cleanup(rbd_image_watcher_t *w, size_t n)
{
	while (n-- > 0)
		free(w[n].addr);
}

int
rbd_lock_acquire(rbd_image_t image, rbd_lock_mode_t mode)
{
	(void)image;
	(void)mode;
	return meet("lock");
}

/* Whether an object is all zeros, or the same as there; a bad one is neither. */
static bool
alike(int fd, int other, uint64_t off, size_t len)
{
	static const unsigned char zeros[OBJECT];
	static _Thread_local unsigned char has[OBJECT], had[OBJECT];
	ssize_t n = pread(fd, has, len, (off_t)off);

	if (n < 0)
		return false;
	if (other < 0)
		return memcmp(has, zeros, (size_t)n) == 0;
	return pread(other, had, len, (off_t)off) == n &&
	    memcmp(has, had, (size_t)n) == 0;
}

int
rbd_diff_iterate2(rbd_image_t image, const char *since, uint64_t off,
    uint64_t len, uint8_t parent, uint8_t whole,
    int (*cb)(uint64_t, size_t, int, void *), void *arg)
{
	const struct image *i = image;
	char path[4400];
	uint64_t at = off, end = off + len;
	int err = meet("diff"), other = -1;
	size_t n;

	(void)parent;
	(void)whole;
	snprintf(path, sizeof(path), "%s@%s", i->path, since != NULL ? since :
	    "");
	if (err == 0 && since != NULL)
		other = open(path, O_RDONLY | O_CLOEXEC);
	if (err == 0 && since != NULL && other < 0)
		err = -errno;
	/* A cluster that tells of the same twice, or of what was not asked. */
	if (err == 0 && meet("lies") != 0)
		err = cb(at, OBJECT, 1, arg) != 0 ? -EIO : cb(at, 1, 1, arg);
	if (err == 0 && meet("far") != 0)
		err = cb(end + 1, 0, 1, arg);
	if (err == 0 && meet("more") != 0) {
		err = cb(at, (size_t)(end - at) + 1, 1, arg);
		at = end;
	}
	for (; err == 0 && at < end; at += n) {
		n = (size_t)(OBJECT - at % OBJECT);
		n = n < end - at ? n : (size_t)(end - at);
		if (!alike(i->fd, other, at, n))
			err = cb(at, n, !alike(i->fd, -1, at, n), arg);
	}
	if (other >= 0)
		close(other);
	return err;
}

int
rbd_aio_create_completion(void *arg, rbd_callback_t cb, rbd_completion_t *c)
{
	struct completion *new;
	int err = meet("completion");

	if (err != 0)
		return err;
	new = calloc(1, sizeof(*new));
	new->cb = cb;
	new->arg = arg;
	*c = new;
	return 0;
}

ssize_t
rbd_aio_get_return_value(rbd_completion_t c)
{
	return ((struct completion *)c)->result;
}

void
rbd_aio_release(rbd_completion_t c)
{
	free(c);
}

static ssize_t
move(const struct request *q)
{
	static const char zeros[OBJECT];
	size_t at, n;
	ssize_t done = 0;

	switch (q->what) {
	case 'r':
		return pread(q->fd, q->buf, q->len, (off_t)q->off);
	case 'w':
		done = pwrite(q->fd, q->buf, q->len, (off_t)q->off);
		return done < 0 ? done : 0;
	case 'z':
		for (at = 0; at < q->len && done >= 0; at += n) {
			n = q->len - at < OBJECT ? q->len - at : OBJECT;
			done = pwrite(q->fd, zeros, n, (off_t)(q->off + at));
		}
		return done < 0 ? done : 0;
	default:
		return fsync(q->fd);
	}
}

static struct completion *hung;		/* of a request that never ends */

static void *
serve(void *arg)
{
	struct completion *c = arg;
	ssize_t n;

	if (c->fate == IS_LATE)
		sleep(LATE);
	if (c->result == 0) {
		n = move(&c->q);
		if (n > 0 && meet("cut") != 0)
			n--;
		c->result = n < 0 ? -errno : n;
	}
	if (c->fate == IS_LATE) {
		note("late", c->q.off, c->q.len);
		served = true;
	}
	while (c->fate == WAITS && !served)
		usleep(10000);
	c->cb(c, c->arg);
	return NULL;
}

/* Each request has a thread; one that hangs has none. */
static int
begin(const char *call, rbd_image_t image, uint64_t off, size_t len, char *buf,
    struct completion *c)
{
	int err = fate(call, off, len);
	pthread_attr_t attr;
	pthread_t thread;

	if (err == HANGS) {
		hung = c;
		return 0;
	}
	c->fate = err;
	c->result = err > 0 ? -err : 0;
	c->q = (struct request){ call[0], ((struct image *)image)->fd, off, len,
		buf };
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, serve, c);
	pthread_attr_destroy(&attr);
	return -err;
}

int
rbd_aio_read(rbd_image_t image, uint64_t off, size_t len, char *buf,
    rbd_completion_t c)
{
	return begin("read", image, off, len, buf, c);
}

int
rbd_aio_write(rbd_image_t image, uint64_t off, size_t len, const char *buf,
    rbd_completion_t c)
{
	union { const char *in; char *out; } b = { buf };

	return begin("write", image, off, len, b.out, c);
}

int
rbd_aio_write_zeroes(rbd_image_t image, uint64_t off, size_t len,
    rbd_completion_t c, int flags, int op_flags)
{
	(void)op_flags;
	return begin((flags & RBD_WRITE_ZEROES_FLAG_THICK_PROVISION) != 0 ?
	    "zerothick" : "zero", image, off, len, NULL, c);
}

int
rbd_aio_flush(rbd_image_t image, rbd_completion_t c)
{
	return begin("flush", image, 0, 0, NULL, c);
}
#endif
