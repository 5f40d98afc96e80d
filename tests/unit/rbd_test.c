/*
 * An image of a Ceph cluster as an end: how it is opened, requests, and what is
 * reported about it.  librbd is a mock; the image has 1 MiB.
 */
#include "test.h"
#include "config.h"

#ifdef HAVE_LIBRBD
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "end/backend.h"
#include "../../src/net/rbd.h"
#include "../tools/preload.h"
#include "base/library.h"
#include "base/status.h"
#include "cli/opts.h"
#define POOR_OF_ALL
#include "poor.h"

enum { SIZE = 1 << 20, OWN = 7, PARTS = 4 };

struct part {			/* of an answer about extents */
	uint64_t off;
	size_t	 len;
	int	 exists;
};

static struct {
	unsigned char	 bytes[SIZE];
	uint64_t	 size;
	const char	*fails;		/* this call, */
	int		 err;		/* ... so: negative */
	unsigned	 times;
	bool		 silent;	/* what is waited for does not come */
	ssize_t		 result;	/* of the next request, if not 0 */
	void		*call;		/* the last request */
	rbd_callback_t	 over;
	ssize_t		 moved;
	int		 flags;		/* of zeros */
	unsigned	 requests, open, pools, clusters, completions;
	size_t		 watchers;
	bool		 read_only;	/* as it was opened last */
	struct part	 part[PARTS];
	size_t		 parts;
	const char	*since;		/* of the last question */
	const char	*space;
} ceph;

static struct opts o;
static struct endpoint end, other, back;
static struct lane lane;
static struct io io;
static struct fault f;
static unsigned char buf[2 * SIZE];

/* Nobody waits: what has not come by now never does. */
int
pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
    const struct timespec *until)
{
	REAL(real, pthread_cond_timedwait);
	return ceph.silent ? ETIMEDOUT : real(c, m, until);
}

/* -------------------------------------------------- in the place of librbd */

static int
ends(const char *name)
{
	if (ceph.fails == NULL || strcmp(ceph.fails, name) != 0 ||
	    ceph.times == 0)
		return 0;
	ceph.times--;
	return ceph.err;
}

static int
create(rados_t *cluster, const char *const id)
{
	int err = ends("create");

	(void)id;
	if (err != 0)
		return err;
	ceph.clusters++;
	*cluster = &ceph;
	return 0;
}

static int
conf_read_file(rados_t cluster, const char *path)
{
	(void)cluster, (void)path;
	return ends("conf");
}

static int
conf_set(rados_t cluster, const char *key, const char *value)
{
	(void)cluster, (void)value;
	return ends(key);
}

static int
connect_to(rados_t cluster)
{
	(void)cluster;
	return ends("connect");
}

static void
shut_down(rados_t cluster)
{
	(void)cluster;
	ceph.clusters--;
}

static int
fsid(rados_t cluster, char *text, size_t room)
{
	(void)cluster;
	snprintf(text, room, "the-cluster");
	return ends("fsid");
}

static uint64_t
instance(rados_t cluster)
{
	(void)cluster;
	return OWN;
}

static int
pool(rados_t cluster, const char *name, rados_ioctx_t *pools)
{
	int err = ends("pool");

	(void)cluster, (void)name;
	if (err != 0)
		return err;
	ceph.pools++;
	*pools = &ceph;
	return 0;
}

static void
leave_pool(rados_ioctx_t pools)
{
	(void)pools;
	ceph.pools--;
}

static void
set_space(rados_ioctx_t pools, const char *space)
{
	(void)pools;
	ceph.space = space;
}

static int64_t
pool_id(rados_ioctx_t pools)
{
	(void)pools;
	return 3;
}

static int
open_image(rados_ioctx_t pools, const char *name, rbd_image_t *image,
    const char *snapshot)
{
	int err = ends("open");

	(void)pools, (void)name, (void)snapshot;
	ceph.read_only = false;
	if (err != 0)
		return err;
	ceph.open++;
	*image = &ceph;
	return 0;
}

static int
open_read_only(rados_ioctx_t pools, const char *name, rbd_image_t *image,
    const char *snapshot)
{
	int err = open_image(pools, name, image, snapshot);

	ceph.read_only = true;
	return err;
}

static int
close_image(rbd_image_t image)
{
	(void)image;
	ceph.open--;
	return ends("close");
}

static int
get_size(rbd_image_t image, uint64_t *size)
{
	(void)image;
	*size = ceph.size;
	return ends("size");
}

static int
get_id(rbd_image_t image, char *id, size_t room)
{
	(void)image;
	snprintf(id, room, "1234");
	return ends("id");
}

static int
snap_get_id(rbd_image_t image, const char *name, uint64_t *id)
{
	(void)image;
	*id = 5;
	return ends(name);
}

static int
watchers(rbd_image_t image, rbd_image_watcher_t *w, size_t *n)
{
	static char address[] = "10.0.0.1";
	size_t i;

	(void)image;
	for (i = 0; i < ceph.watchers; i++)
		w[i] = (rbd_image_watcher_t){ .id = OWN + (int64_t)i,
			.addr = address };
	*n = ceph.watchers;
	return ends("watchers");
}

static void
watchers_cleanup(rbd_image_watcher_t *w, size_t n)
{
	(void)w, (void)n;
}

static int
lock_acquire(rbd_image_t image, rbd_lock_mode_t mode)
{
	(void)image, (void)mode;
	return ends("lock");
}

static int
diff_iterate2(rbd_image_t image, const char *since, uint64_t off, uint64_t len,
    uint8_t parent, uint8_t whole, int (*cb)(uint64_t, size_t, int, void *),
    void *arg)
{
	int err = ends("diff");
	size_t i;

	(void)image, (void)off, (void)len, (void)parent, (void)whole;
	ceph.requests++;
	ceph.since = since;
	for (i = 0; err == 0 && i < ceph.parts; i++)
		err = cb(ceph.part[i].off, ceph.part[i].len,
		    ceph.part[i].exists, arg);
	return err;
}

static int
completion(void *arg, rbd_callback_t cb, rbd_completion_t *c)
{
	int err = ends("completion");

	if (err != 0)
		return err;
	ceph.completions++;
	ceph.call = arg;
	ceph.over = cb;
	*c = &ceph;
	return 0;
}

static ssize_t
return_value(rbd_completion_t c)
{
	(void)c;
	return ceph.result != 0 ? ceph.result : ceph.moved;
}

static void
release(rbd_completion_t c)
{
	(void)c;
	ceph.completions--;
	ceph.result = 0;
}

static int
begun(const char *name, ssize_t moved)
{
	int err = ends(name);

	ceph.requests++;
	ceph.moved = moved;
	if (err == 0 && !ceph.silent)
		ceph.over(&ceph, ceph.call);
	return err;
}

static int
aio_read(rbd_image_t image, uint64_t off, size_t len, char *to,
    rbd_completion_t c)
{
	(void)image, (void)c;
	assert_true(off + len <= SIZE);
	memcpy(to, ceph.bytes + off, len);
	return begun("read", (ssize_t)len);
}

static int
aio_write(rbd_image_t image, uint64_t off, size_t len, const char *from,
    rbd_completion_t c)
{
	(void)image, (void)c;
	assert_true(off + len <= SIZE);
	memcpy(ceph.bytes + off, from, len);
	return begun("write", 0);
}

static int
aio_write_zeroes(rbd_image_t image, uint64_t off, size_t len,
    rbd_completion_t c, int flags, int how)
{
	(void)image, (void)c, (void)how;
	ceph.flags = flags;
	memset(ceph.bytes + off, 0, len);
	return begun("zeroes", 0);
}

static int
aio_flush(rbd_image_t image, rbd_completion_t c)
{
	(void)image, (void)c;
	return begun("flush", 0);
}

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *why)
{
	struct librbd *lib = table;

	(void)l, (void)what;
	if (ends("load") != 0)
		return fault_set(why, STATUS_REFUSED, "none");
	*lib = (struct librbd){ .open = open_image,
		.open_read_only = open_read_only, .close = close_image,
		.get_size = get_size, .get_id = get_id,
		.snap_get_id = snap_get_id, .watchers_list = watchers,
		.watchers_list_cleanup = watchers_cleanup,
		.lock_acquire = lock_acquire, .diff_iterate2 = diff_iterate2,
		.aio_create_completion = completion,
		.aio_get_return_value = return_value, .aio_release = release,
		.aio_read = aio_read, .aio_write = aio_write,
		.aio_write_zeroes = aio_write_zeroes, .aio_flush = aio_flush,
		.rados = { .create = create, .conf_read_file = conf_read_file,
		    .conf_set = conf_set, .connect = connect_to,
		    .shutdown = shut_down, .cluster_fsid = fsid,
		    .get_instance_id = instance, .ioctx_create = pool,
		    .ioctx_destroy = leave_pool,
		    .ioctx_set_namespace = set_space,
		    .ioctx_get_id = pool_id } };
	return 0;
}

/* ----------------------------------------------------------------- opening */

static int
set_up(void **state)
{
	size_t i;

	memset(&ceph, 0, sizeof(ceph));
	for (i = 0; i < SIZE; i++)
		ceph.bytes[i] = (unsigned char)(i * 7 + i / 512);
	ceph.size = SIZE;
	ceph.watchers = 1;
	o = (struct opts){ .input = "rbd:p/i", .output = "rbd:p/i",
		.timeout = 5 };
	return 0;
}

static bool
all_closed(void)
{
	return ceph.open == 0 && ceph.pools == 0 && ceph.clusters == 0 &&
	    ceph.completions == 0;
}

static int
tear_down(void **state)
{
	return !all_closed();
}

EACH(set_up, tear_down)

static void
denied(const char *call, int err)
{
	ceph.fails = call;
	ceph.err = -err;
	ceph.times = 1;
}

static int
open_end(enum role role)
{
	f = (struct fault){ 0 };
	return endpoint_open(&end, role, &o, false, &f);
}

static struct rbd_image *
opened(enum role role)
{
	if (open_end(role) != 0)
		fail_msg("not opened: %s", f.text);
	return end.priv;			/* begins with it */
}

static void
closed(void)
{
	assert_int_equal(endpoint_close(&end), 0);
	assert_true(all_closed());
}

static void
is_refused(enum role role, int status, const char *says)
{
	assert_int_equal(open_end(role), -1);
	if (f.status != status || strstr(f.text, says) == NULL)
		fail_msg("%d: %s", f.status, f.text);
	assert_true(all_closed());
}

CASE(says_what_failed)
{
	static const struct { const char *call; int err, status;
	    const char *says; } all[] = {
		{ "load", EIO, STATUS_REFUSED, "none" },
		{ "create", EINVAL, STATUS_ERRNO + EINVAL,
		    "its configuration: Invalid" },
		{ "conf", ENOENT, STATUS_ERRNO + ENOENT,
		    "no such file as /c" },
		{ "conf", EACCES, STATUS_ERRNO + EACCES, "its configuration" },
		{ "a", ENOENT, STATUS_USAGE, "Ceph has no option a" },
		{ "b", EINVAL, STATUS_ERRNO + EINVAL, "its options" },
		{ "connect", ENOENT, STATUS_ERRNO + ENOENT,
		    "no cluster is found" },
		{ "connect", ETIMEDOUT, STATUS_FILE, "connecting to the "
		    "cluster: no answer within 5 seconds" },
		{ "pool", ENOENT, STATUS_ERRNO + ENOENT, "no such pool" },
		{ "open", ENOENT, STATUS_ERRNO + ENOENT, "there is no such "
		    "image, or it has no such snapshot" },
		{ "open", EPERM, STATUS_ERRNO + EPERM, "opening it" },
		{ "size", EIO, STATUS_ERRNO + EIO, "asking what it is" },
		{ "fsid", ERANGE, STATUS_ERRNO + EPROTO, "asking what it is" },
		{ "id", ERANGE, STATUS_ERRNO + ERANGE, "asking what it is" },
		{ "s", ENOENT, STATUS_ERRNO + ENOENT, "no such snapshot" },
		{ "t", ENOENT, STATUS_REFUSED, "there is no snapshot t" },
		{ "t", EIO, STATUS_ERRNO + EIO, "the snapshot of since:" },
	};
	size_t i;

	o.input = "rbd:p/n/i@s:conf=/c:a=1:b=2";
	o.since = "t";
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		denied(all[i].call, all[i].err);
		/* what has no status of its own has this */
		is_refused(SOURCE, all[i].status > 96 &&
		    all[i].status != STATUS_REFUSED ? STATUS_FILE :
		    all[i].status, all[i].says);
	}
	opened(SOURCE);
	assert_string_equal(ceph.space, "n");
	closed();
	denied("watchers", EIO);
	is_refused(TARGET, STATUS_ERRNO + EIO, "who has it open");
	o.input = "rbd:p/i";
	denied("open", ENOENT);
	is_refused(SOURCE, STATUS_ERRNO + ENOENT,
	    "there is no such image");
	o.input = "rbd:p";
	is_refused(SOURCE, STATUS_USAGE, "an image is named rbd:");
	o.output = "rbd:p/i@s";
	is_refused(TARGET, STATUS_USAGE, "a snapshot is never written");
	ceph.size = (uint64_t)INT64_MAX + 1;
	o.input = "rbd:p/i";
	o.since = NULL;
	is_refused(SOURCE, STATUS_REFUSED, "size is 9223372036854775808");
}

CASE(does_without_a_configuration_if_none_is_named)
{
	denied("conf", ENOENT);
	opened(SOURCE);
	assert_true(ceph.read_only);
	assert_true(end.is.sparse);
	closed();
	o.iflag = FLAG_NOSPARSE;
	opened(SOURCE);
	assert_false(end.is.sparse);
	closed();
}

CASE(needs_memory)
{
	unsigned n;

	for (n = 0; ; n++) {
		poor_after(n);
		if (open_end(TARGET) == 0)
			break;
		assert_true(poor_was());
		assert_true(all_closed());
		assert_int_not_equal(f.status, 0);
	}
	poor_was();
	closed();
#ifdef POOR
	opened(TARGET);
	poor_after(0);
	assert_int_equal(lane_attach(&lane, &end, 0, -1), ENOMEM);
	poor_after(0);
	assert_int_equal(endpoint_flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_NOT_FLUSHED);
	poor_after(0);
	assert_int_equal(endpoint_prepare(&end, 0, -1, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	io = (struct io){ .op = OP_READ, .buf = buf, .len = 512 };
	poor_after(0);
	endpoint_probe(&end, &io);
	assert_int_equal(io.err, ENOMEM);
	closed();
#endif
}

/* --------------------------------------------------------- before the copy */

static void
may_write(uint64_t to, uint64_t from, uint64_t len, unsigned force,
    int status)
{
	end.spec.force = force;
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_check_range(&end, to, to + len, &other, from,
	    &f), status == 0 ? 0 : -1);
	assert_int_equal(f.status, status);
}

static void
has_other_source(const char *name)
{
	o.input = name;
	assert_int_equal(endpoint_open(&other, SOURCE, &o, false, &f), 0);
}

CASE(writes_no_image_onto_itself)
{
	static const char *const others[] = { "rbd:p/n/i", "rbd:p/i@s" };
	struct rbd_image *image;
	size_t i;

	opened(TARGET);
	has_other_source("rbd:p/i");
	may_write(0, 0, 512, 0, STATUS_REFUSED);
	may_write(0, 0, 512, FORCE_OVERLAP, 0);
	may_write(0, 511, 512, 0, STATUS_REFUSED);
	may_write(0, 512, 512, 0, 0);
	may_write(512, 0, 512, 0, 0);
	may_write(511, 0, 512, 0, STATUS_REFUSED);
	image = other.priv;
	image->pool++;
	may_write(0, 0, 512, 0, 0);
	image->pool--;
	image->id[0] = 'x';
	may_write(0, 0, 512, 0, 0);
	image->id[0] = '1';
	image->fsid[0] = 'x';
	may_write(0, 0, 512, 0, 0);
	assert_int_equal(endpoint_close(&other), 0);
	for (i = 0; i < 2; i++) {
		has_other_source(others[i]);
		may_write(0, 0, 512, 0, 0);
		assert_int_equal(endpoint_close(&other), 0);
	}
	closed();
	o.output = "rbd:p/n/i";
	opened(TARGET);
	has_other_source("rbd:p/i");
	may_write(0, 0, 512, 0, 0);
	assert_int_equal(endpoint_close(&other), 0);
	other = (struct endpoint){ .be = &null_backend };
	may_write(0, 0, 512, 0, 0);
	closed();
}

static void
traits(const char *text)
{
	assert_string_equal(end.offers, text);
}

CASE(writes_no_image_that_is_in_use)
{
	other = (struct endpoint){ .be = &null_backend };
	opened(TARGET);
	traits("cluster the-cluster, image 1234");
	closed();
	ceph.watchers = 2;
	opened(TARGET);
	may_write(0, 0, 512, 0, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "client.8 at 10.0.0.1"));
	may_write(0, 0, 512, FORCE_HELD, 0);
	traits("cluster the-cluster, image 1234, open for writing by client.8 "
	    "at 10.0.0.1");
	closed();
	denied("watchers", ERANGE);
	opened(TARGET);
	may_write(0, 0, 512, 0, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "more than 64 clients"));
	closed();
	o.input = "rbd:p/i@s";
	opened(SOURCE);
	traits("cluster the-cluster, image 1234, a snapshot");
	closed();
}

static void
locks(int err, int failed)
{
	denied("lock", err);
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_prepare(&end, 0, -1, &f), failed);
}

CASE(locks_it_if_it_can_be_locked)
{
	opened(TARGET);
	locks(0, 0);
	locks(EINVAL, 0);			/* it has no lock */
	locks(EOPNOTSUPP, 0);
	locks(EBUSY, -1);
	assert_non_null(strstr(f.text, "locking it"));
	end.spec.force = FORCE_HELD;
	locks(EBUSY, 0);
	closed();
}

/* ---------------------------------------------------------------- requests */

static void
transfer(enum op op, uint64_t off, size_t len, bool lasting, int err,
    size_t done)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len,
		.lasting = lasting };
	ceph.requests = 0;
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, err);
	assert_int_equal(io.done, done);
}

static void
begin(enum role role)
{
	opened(role);
	assert_int_equal(lane_attach(&lane, &end, 0, -1), 0);
}

static void
finish(void)
{
	assert_int_equal(lane_detach(&lane), 0);
	closed();
}

/* By its own buffer, or by that of the request. */
CASE(moves_bytes_either_way)
{
	int lasting;

	for (lasting = 0; lasting < 2; lasting++) {
		begin(SOURCE);
		memset(buf, 0, SIZE);
		transfer(OP_READ, 100, SIZE, lasting, 0, SIZE - 100);
		assert_memory_equal(buf, ceph.bytes + 100, SIZE - 100);
		transfer(OP_READ, SIZE, 10, lasting, 0, 0);
		finish();
		begin(TARGET);
		memset(buf, 5 + lasting, SIZE);
		transfer(OP_WRITE, 100, SIZE, lasting, ENOSPC, SIZE - 100);
		assert_memory_equal(buf, ceph.bytes + 100, SIZE - 100);
		transfer(OP_ZERO, 0, SIZE, lasting, 0, SIZE);
		assert_int_equal(ceph.flags, 0);
		assert_int_equal(ceph.bytes[SIZE - 1], 0);
		finish();
	}
	o.oflag = FLAG_NOSPARSE;
	begin(TARGET);
	transfer(OP_ZERO, 0, 10, false, 0, 10);
	assert_int_equal(ceph.flags, RBD_WRITE_ZEROES_FLAG_THICK_PROVISION);
	finish();
}

static void
fails(const char *call, int err, ssize_t result, int ends_so, const char *why)
{
	begin(SOURCE);
	denied(call, err);
	ceph.result = result;
	transfer(OP_READ, 0, 512, true, ends_so, 0);
	assert_string_equal(io.why, why);
	assert_int_equal(io.spent, ends_so == ENODEV);
	assert_false(io.buf_in_use);
	finish();
}

CASE(says_why_a_request_failed)
{
	fails("completion", ENOMEM, 0, ENOMEM, "Cannot allocate memory, says "
	    "the cluster");
	fails("read", EPERM, 0, EPERM, "Operation not permitted, says the "
	    "cluster");
	fails("", 0, -EIO, EIO, "");
	fails("", 0, -ENOSPC, ENOSPC, "");
	fails("", 0, 100, EIO, "");		/* a part of it only */
	fails("", 0, -ESHUTDOWN, ENODEV, "the cluster has blocklisted us");
	fails("", 0, -ETIMEDOUT, ENODEV, "the cluster does not answer within "
	    "timeout=");
	fails("", 0, -ENOTCONN, ENODEV, "the connection to the cluster is "
	    "lost");
}

/* What nobody has sent any more fails for the same reason. */
CASE(says_of_all_why_it_is_lost)
{
	struct extent x;

	begin(TARGET);
	ceph.result = -ESHUTDOWN;
	transfer(OP_WRITE, 0, 512, false, ENODEV, 0);
	ceph.requests = 0;
	transfer(OP_WRITE, 0, 512, false, ENODEV, 0);
	assert_non_null(strstr(io.why, "has blocklisted us; writes since"));
	assert_int_equal(endpoint_extent(&end, 0, &x), ESHUTDOWN);
	assert_int_equal(endpoint_flush(&end, &f), -1);
	assert_non_null(strstr(f.text, "flushing: the cluster has blocklisted "
	    "us"));
	assert_int_equal(ceph.requests, 0);
	finish();
}

/* What was sent may still be executed; its buffer is not touched before. */
CASE(leaves_a_request_that_does_not_end)
{
	struct rbd_image *image;
	struct extent x;

	begin(TARGET);
	image = end.priv;
	ceph.silent = true;
	transfer(OP_WRITE, 0, 512, true, ENODEV, 0);
	assert_true(io.buf_in_use);
	assert_non_null(strstr(io.why, "writes since the last flush may be "
	    "lost"));
	assert_null(lane.priv);
	assert_true(image->stuck);
	transfer(OP_WRITE, 0, 512, true, ENODEV, 0);
	assert_false(io.buf_in_use);			/* nothing was sent */
	assert_int_equal(ceph.requests, 0);
	assert_int_equal(endpoint_extent(&end, 0, &x), ETIMEDOUT);
	assert_int_equal(endpoint_flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_NOT_FLUSHED);
	assert_non_null(strstr(f.text, "does not answer within 5 seconds"));
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&end), 0);
	assert_true(end.is.stuck);
	/* it has ended at last: the test frees what nobody else may */
	ceph.silent = false;
	ceph.over(&ceph, ceph.call);
	rbd_call_free(ceph.call);
	ceph.completions--;
	image->stuck = false;
	closed();
}

/* ----------------------------------------------------------- what it knows */

static void
parts(const struct part *p, size_t n)
{
	memcpy(ceph.part, p, n * sizeof(*p));
	ceph.parts = n;
	ceph.requests = 0;
}

static void
is_at(uint64_t off, uint64_t len, bool hole)
{
	struct extent x;

	assert_int_equal(endpoint_extent(&end, off, &x), 0);
	assert_int_equal(x.off, off);
	assert_int_equal(x.len, len);
	assert_int_equal(x.hole, hole);
}

CASE(tells_of_holes)
{
	static const struct part some[] = { { 4096, 4096, 1 },
		{ 8192, 4096, 1 }, { 20000, 0, 1 }, { 65536, 4096, 1 } };
	static const struct part none = { 8192, 4096, 0 };
	struct extent x;

	opened(SOURCE);
	parts(some, 4);
	is_at(0, 4096, true);
	is_at(4096, 8192, false);		/* two that adjoin */
	is_at(12288 - 10, 10, false);
	is_at(12288, 65536 - 12288, true);
	is_at(65536, 4096, false);
	is_at(SIZE - 1, 1, true);
	assert_int_equal(ceph.requests, 1);
	assert_int_equal(endpoint_extent(&end, SIZE, &x), ENXIO);
	closed();
	opened(SOURCE);
	parts(&none, 1);			/* it is none, it says */
	is_at(0, SIZE, true);
	closed();
	o.since = "t";
	opened(SOURCE);
	parts(&none, 1);			/* but it has changed */
	assert_int_equal(endpoint_changed(&end, 8192, &x), 0);
	assert_false(x.hole);
	assert_int_equal(x.len, 4096);
	assert_string_equal(ceph.since, "t");
	closed();
}

CASE(believes_no_extents_that_are_not_in_order)
{
	static const struct part wrong[][2] = {
		{ { 8192, 4096, 1 }, { 8191, 1, 1 } },
		{ { SIZE + 1, 0, 1 }, { 0, 0, 0 } },
		{ { SIZE - 1, 2, 1 }, { 0, 0, 0 } },
	};
	struct extent x;
	size_t i;

	opened(SOURCE);
	for (i = 0; i < 3; i++) {
		parts(wrong[i], 2);
		assert_int_equal(endpoint_extent(&end, 0, &x), EPROTO);
	}
	denied("diff", EIO);
	assert_int_equal(endpoint_extent(&end, 0, &x), EIO);
#ifdef POOR
	parts((struct part []){ { 0, 1, 1 } }, 1);
	poor_after(0);
	assert_int_equal(endpoint_extent(&end, 0, &x), ENOMEM);
#endif
	closed();
}

/* ------------------------------------------------------------ when written */

static void
flushes(int err, int status, const char *says)
{
	denied("flush", err);
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_flush(&end, &f), status == 0 ? 0 : -1);
	assert_int_equal(f.status, status);
	if (status != 0 && strstr(f.text, says) == NULL)
		fail_msg("%s", f.text);
}

CASE(says_what_was_not_flushed)
{
	opened(TARGET);
	flushes(0, 0, "");
	flushes(EIO, STATUS_NOT_FLUSHED, "Input/output error, says the cluster");
	flushes(0, STATUS_NOT_FLUSHED, "Input/output error");
	closed();
}

CASE(is_read_back)
{
	opened(TARGET);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), 0);
	assert_int_equal(lane_attach(&lane, &back, 0, -1), 0);
	transfer(OP_READ, 0, 512, false, 0, 512);
	assert_memory_equal(buf, ceph.bytes, 512);
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&back), 0);
	memset(buf, 0, 512);
	io = (struct io){ .op = OP_READ, .buf = buf, .len = 512 };
	endpoint_probe(&end, &io);
	assert_memory_equal(buf, ceph.bytes, 512);
	closed();
}

#endif
