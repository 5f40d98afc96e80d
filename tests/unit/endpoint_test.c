/*
 * Ends: the backend chosen for each kind of file, refusals, the defaults for
 * missing functions, and which file is reopened.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <sys/socket.h>

#include "disk/disk.h"
#include "opened.h"

#define SDA	makedev(8, 0)

static char other[] = "/var/tmp/pardd-end.XXXXXX";

static int
set_up(void **state)
{
	return named_begin("contents", 8) || make_file(other, "contents", 8);
}

static int
tear_down(void **state)
{
	return unlink(other) || named_end(state);
}

EACH(set_up, tear_down)

/* --------------------------------------------------------------- choosing */

CASE(refuses_what_cannot_be_copied)
{
	static const struct {
		mode_t type;
		dev_t rdev;
		int status;
		const char *says;
	} all[] = {
		{ S_IFCHR, SCSI_TAPE_MAJOR << 8, STATUS_FILE,
		    "a tape, which is not supported" },
		{ S_IFSOCK, 0, STATUS_FILE, "is a socket, which is not" },
		{ S_IFMT, 0, STATUS_FILE, "of an unknown type" },
		{ S_IFDIR, 0, STATUS_ERRNO + EISDIR, "is a directory" },
		{ S_IFLNK, 0, STATUS_ERRNO + ELOOP, "a symbolic link" },
	};

	EACH_OF(i, all) {
		make_node(name, all[i].type, all[i].rdev);
		is_refused(SOURCE, 0, all[i].status, all[i].says);
		is_refused(TARGET, 0, all[i].status, all[i].says);
	}
}

static const struct backend *
chosen(mode_t type, dev_t rdev, enum role role, unsigned flags)
{
	make_node(name, type, rdev);
	kernel.answer = NULL;
	o.iflag = o.oflag = flags;
	/* a device that does not answer is chosen all the same */
	if (endpoint_open(&end, role, &o, false, &f) == 0)
		closed();
	return end.be;
}

CASE(chooses_by_what_the_kernel_says)
{
	const dev_t zero = makedev(MEM_MAJOR, 5), null = makedev(MEM_MAJOR, 3);

	assert_ptr_equal(chosen(S_IFCHR, zero, SOURCE, 0), &null_backend);
	assert_true(end.is.endless);
	assert_ptr_equal(chosen(S_IFCHR, zero, TARGET, 0), &stream_backend);
	assert_ptr_equal(chosen(S_IFCHR, null, SOURCE, 0), &null_backend);
	assert_false(end.is.endless);
	assert_ptr_equal(chosen(S_IFCHR, null, TARGET, FLAG_APPEND),
	    &null_backend);
	assert_ptr_equal(chosen(S_IFCHR, makedev(SCSI_GENERIC_MAJOR, 0),
	    SOURCE, 0), &sg_backend);
	assert_ptr_equal(chosen(S_IFBLK, SDA, SOURCE, 0), &file_backend);
	assert_ptr_equal(chosen(S_IFBLK, SDA, SOURCE, FLAG_SGIO), &sg_backend);
	assert_ptr_equal(chosen(S_IFBLK, SDA, SOURCE, FLAG_NVME),
	    &nvme_backend);
	begin_sysfs();
	sysfs_has("queue/zoned", "host-managed\n");
	assert_ptr_equal(chosen(S_IFBLK, SDA, TARGET, 0), &zoned_backend);
	assert_ptr_equal(chosen(S_IFBLK, SDA, SOURCE, 0), &file_backend);
	sysfs_has("queue/zoned", "host-aware\n");
	assert_ptr_equal(chosen(S_IFBLK, SDA, TARGET, 0), &file_backend);
	sysfs_has("queue/zoned", "none\n");
	assert_ptr_equal(chosen(S_IFBLK, SDA, TARGET, 0), &file_backend);
}

CASE(refuses_words_of_other_kinds)
{
	is_refused(TARGET, FLAG_EXCL, STATUS_ERRNO + EEXIST, "File exists");
	is_refused(SOURCE, FLAG_NVME, STATUS_USAGE, "nvme is for NVMe disks");
	is_refused(SOURCE, FLAG_SGIO, STATUS_USAGE, "sgio is for block");
	is_refused(TARGET, FLAG_RESET, STATUS_USAGE, "is for zoned disks");
	make_node(name, S_IFBLK, SDA);
	is_refused(TARGET, FLAG_APPEND, STATUS_USAGE, "for files, not for");
	o.bitmap = "b";
	is_refused(SOURCE, 0, STATUS_USAGE, "is for NBD exports");
	o.bitmap = NULL;
	o.since = "s";
	is_refused(SOURCE, 0, STATUS_USAGE, "is for Ceph images");
}

/* A FUSE server may tell sizes that it does not keep to. */
CASE(is_read_in_order_where_its_size_is_not_real)
{
	kernel.fs = FUSE_SUPER_MAGIC;
	kernel.fs_block = 4096;
	opened(SOURCE, 0);
	assert_ptr_equal(end.be, &file_backend);
	closed();
	opened(TARGET, 0);
	assert_ptr_equal(end.be, &file_backend);
	closed();
	deny("open", 0, 1, EACCES);		/* when it is looked at */
	deny("open", 0, 1, EACCES);
	opened(SOURCE, 0);
	assert_ptr_equal(end.be, &stream_backend);
	closed();
	kernel.fs = PROC_SUPER_MAGIC;
	opened(SOURCE, 0);
	assert_ptr_equal(end.be, &stream_backend);
	closed();
	opened(TARGET, FLAG_APPEND);
	assert_ptr_equal(end.be, &stream_backend);
	closed();
}

CASE(is_refused_by_its_name)
{
	static const struct {
		const char *name;
		enum role role;
		const char *says;
	} all[] = {
		{ "http://host/file", SOURCE, "curl -f URL" },
		{ "ftp://host/file", SOURCE, "curl -f URL" },
		{ "http://host/file", TARGET, "no kind of end that pardd "
		    "knows; for a file" },
		{ "sftp://host/file", SOURCE, "no kind of end that pardd "
		    "knows; for a file" },
		{ "me@host:/dev/sda", SOURCE, "nbdkit -s file DISK" },
		{ "host:file", SOURCE, "no kind of end that pardd knows; for" },
	};

	EACH_OF(i, all) {
		o.input = o.output = all[i].name;
		is_refused(all[i].role, 0, STATUS_USAGE, all[i].says);
	}
	/* whether there is such a file is not known */
	o.input = "host:file";
	deny("faccessat", 0, 0, EACCES);
	is_refused(SOURCE, 0, STATUS_ERRNO + ENOENT, "No such file");
}

/* ------------------------------------------------------------ standard input */

CASE(is_what_the_shell_has_opened)
{
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 10), pair[2], fd;

	o.input = NULL;
	fd = open(name, O_WRONLY);
	assert_int_equal(dup2(fd, 0), 0);
	is_refused(SOURCE, 0, STATUS_ERRNO + EBADF, "standard input");
	close(fd);
	fd = open(name, O_PATH);
	assert_int_equal(dup2(fd, 0), 0);
	is_refused(SOURCE, 0, STATUS_ERRNO + EBADF, "standard input");
	close(fd);
	fd = open(name, O_RDONLY);
	assert_int_equal(dup2(fd, 0), 0);
	close(fd);
	deny("fcntl", F_GETFL, 0, EIO);
	is_refused(SOURCE, 0, STATUS_ERRNO + EIO, "standard input");
	deny("lseek", SEEK_CUR, 0, EIO);
	is_refused(SOURCE, 0, STATUS_ERRNO + EIO, "where it stands");
	assert_int_equal(lseek(0, 5, SEEK_SET), 5);
	opened(SOURCE, 0);
	assert_int_equal(end.lim.base, 5);
	closed();
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	assert_int_equal(dup2(pair[0], 0), 0);
	is_refused(SOURCE, 0, STATUS_FILE, "a socket of messages");
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(dup2(pair[0], 0), 0);
	opened(SOURCE, 0);
	assert_true(end.is.piped);
	closed();
	close(pair[0]);
	close(pair[1]);
	if (kept < 0)
		close(0);
	else
		assert_int_equal(dup2(kept, 0), 0);
	close(kept);
}

/* --------------------------------------------------------------- being open */

CASE(says_that_it_cannot)
{
	struct endpoint file;
	struct extent x;
	struct fault why = { 0 };
	struct disk d;
	struct timespec t;

	o.output = ".";
	opened(TARGET, 0);
	assert_int_equal(endpoint_extent(&end, 0, &x), EOPNOTSUPP);
	assert_int_equal(endpoint_changed(&end, 0, &x), EOPNOTSUPP);
	assert_int_equal(endpoint_share(&end, 0, &end, 0, 1), EOPNOTSUPP);
	assert_int_equal(endpoint_extend(&end, 1), 0);
	assert_int_equal(endpoint_check_kept(&end, 0, 1, 0, &f), 0);
	assert_int_equal(endpoint_check_range(&end, 0, 1, &end, 0, &f), 0);
	assert_int_equal(endpoint_inside(&end), 0);
	assert_int_equal(endpoint_written(&end, &t), EOPNOTSUPP);
	assert_false(endpoint_viewable(&end));
	assert_false(endpoint_readable_back(&end));
	assert_false(endpoint_disk(&end, &d));
	assert_int_equal(endpoint_readback(&file, &end, 1, &why), -1);
	assert_int_equal(why.status, STATUS_USAGE);
	o.output = name;
	file = end;
	opened(TARGET, 0);
	assert_int_equal(endpoint_share(&end, 0, &file, 0, 1), EOPNOTSUPP);
	assert_true(endpoint_viewable(&end));
	assert_false(end.is.probed);
	closed();
}

static void
is_volatile(bool remote, bool sync, int failed)
{
	opened(TARGET, 0);
	end.is.unflushable = true;
	end.is.remote = remote;
	end.spec.sync = sync;
	assert_int_equal(endpoint_prepare(&end, 0600, -1, &f), 0);
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_flush(&end, &f), failed);
	assert_int_equal(f.status, failed == 0 ? 0 : STATUS_NOT_FLUSHED);
	closed();
}

CASE(cannot_be_flushed_on_a_volatile_overlay)
{
	is_volatile(false, true, -1);
	is_volatile(true, true, 0);		/* which says so itself */
	is_volatile(false, false, 0);
}

CASE(knows_itself_by_a_descriptor)
{
	int fd = open(name, O_RDONLY), another = open(other, O_RDONLY);
	const struct backend *be;

	opened(SOURCE, 0);
	assert_true(endpoint_is(&end, fd));
	assert_false(endpoint_is(&end, another));
	be = end.be;			/* what is discarded is no file */
	end.be = &null_backend;
	assert_false(endpoint_is(&end, fd));
	end.be = be;
	deny("fstat", 0, 0, EIO);
	assert_false(endpoint_is(&end, fd));
	make_node(other, S_IFBLK, SDA);
	assert_false(endpoint_is(&end, another));	/* a file is no disk */
	end.is.device = true;
	end.id.file_dev = 0;
	assert_false(endpoint_is(&end, another));	/* it is another */
	end.id.dev = SDA;
	assert_true(endpoint_is(&end, another));	/* whatever its name */
	end.id.known = false;
	assert_false(endpoint_is(&end, another));
	closed();
	close(fd);
	close(another);
}

static int
looks(void)
{
	f = (struct fault){ 0 };
	deny("faccessat", 0, 0, EROFS);
	return endpoint_look(&end, &f);
}

CASE(may_be_written)
{
	char path[sizeof(name) + 8];

	opened(TARGET, 0);
	assert_int_equal(looks(), 0);		/* it was opened already */
	end.is.device = true;
	assert_int_equal(looks(), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EROFS);
	deny_nothing();
	end.is.remote = true;
	assert_int_equal(looks(), 0);
	end.is.remote = false;
	end.is.inherited = true;
	assert_int_equal(looks(), 0);
	end.is.inherited = end.is.device = false;
	closed();
	deny_nothing();
	snprintf(path, sizeof(path), "%s.new", name);
	o.output = path;
	opened(TARGET, 0);
	assert_int_equal(looks(), -1);
	closed();
	deny_nothing();
	deny("fstatfs", 0, 0, EIO);		/* what it is on, is not known */
	opened(TARGET, 0);
	closed();
}

/* -------------------------------------------------------------- coming back */

static uint64_t bytes;
static int block;

static int
answer(int fd, unsigned long request, void *arg)
{
	if (request == BLKSSZGET)
		*(int *)arg = block;
	else if (request == BLKGETSIZE64)
		*(uint64_t *)arg = bytes;
	else
		return ENOTTY;
	return 0;
}

static void
comes_back(int status, const char *says)
{
	unsigned were = count_open();
	char path[sizeof(name)];
	struct endpoint new;
	int failed;

	stpcpy(path, name);
	f = (struct fault){ 0 };
	failed = endpoint_open_again(&new, &end.spec, path, &f);
	if (failed == 0)
		failed = endpoint_replace(&end, &new, &f);
	assert_int_equal(failed, status == 0 ? 0 : -1);
	if (f.status != status || (status != 0 && strstr(f.text, says) == NULL))
		fail_msg("%d: %s", f.status, f.text);
	assert_int_equal(count_open(), were);
}

CASE(is_opened_again_if_it_is_the_same)
{
	kernel.answer = answer;
	bytes = 4096;
	block = 512;
	make_node(name, S_IFBLK, SDA);
	opened(SOURCE, 0);
	comes_back(0, "");
	assert_ptr_equal(end.name, end.again);
	assert_string_equal(end.name, name);
	bytes = 8192;
	comes_back(STATUS_REFUSED, "another: 8192 bytes in blocks of 512");
	bytes = 4096;
	block = 4096;
	comes_back(STATUS_REFUSED, "another: 4096 bytes in blocks of 4096");
	block = 512;
	kernel.type = 0;
	comes_back(STATUS_REFUSED, "another: 8 bytes");
	kernel.type = S_IFCHR;
	kernel.rdev = makedev(MEM_MAJOR, 3);
	comes_back(STATUS_REFUSED, "another: 0 bytes");
	make_node(name, S_IFBLK, SDA);
	deny("open", 0, 0, ENXIO);
	comes_back(STATUS_ERRNO + ENXIO, "No such device");
	end.lim.part = 1;			/* of which it has the size */
	end.lim.disk_size = 4096;
	end.geo.size = 512;
	comes_back(0, "");
	assert_int_equal(end.geo.size, 512);
	closed();
}

static void
same(int fd, int as)
{
	struct stat a = { 0 }, b = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(fstat(as, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	close(fd);
}

/* Where there is no /proc, what the name leads to must still be the same. */
CASE(is_opened_by_its_name_without_proc)
{
	int path = open(name, O_PATH);

	make_node(name, S_IFBLK, SDA);
	same(reopen(path, name, O_RDONLY), path);
	deny("open", 0, 0, ENOENT);		/* /proc, but it is there */
	assert_int_equal(reopen(path, name, O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	deny("open", 0, 0, ENOENT);
	deny("faccessat", 0, 0, ENOENT);
	same(reopen(path, name, O_RDONLY), path);
	deny_nothing();
	deny("open", 0, 0, ENOENT);
	assert_int_equal(reopen(path, NULL, O_RDONLY), -1);
	deny_nothing();
	deny("open", 0, 0, ENOENT);
	deny("faccessat", 0, 0, ENOENT);
	assert_int_equal(reopen(path, other, O_RDONLY), -1);
	assert_int_equal(errno, ESTALE);
	close(path);
}

CASE(is_the_file_that_was_found)
{
	int path = open(name, O_PATH);

	deny("open", 0, 0, EAGAIN);		/* somebody has a lease */
	assert_int_equal(open_found(path, name, O_RDONLY), -1);
	assert_int_equal(errno, EAGAIN);
	deny_nothing();
	deny("open", 0, 0, ELOOP);
	same(open_found(path, name, O_RDONLY), path);
	deny_nothing();
	deny("open", 0, 0, EACCES);
	assert_int_equal(open_found(path, name, O_RDONLY), -1);
	assert_int_equal(errno, EACCES);
	deny_nothing();
	deny("open", 0, 0, ELOOP);
	deny("open", 0, 0, ELOOP);
	deny("open", 0, 0, EMFILE);
	assert_int_equal(open_found(path, name, O_RDONLY), -1);
	assert_int_equal(errno, EMFILE);
	deny_nothing();
	deny("open", 0, 0, ENXIO);		/* a FIFO has its name now */
	deny("open", 0, 0, ELOOP);
	assert_int_equal(open_found(path, name, O_RDONLY), -1);
	assert_int_equal(errno, ESTALE);
	deny_nothing();
	deny("open", 0, 0, ELOOP);
	assert_int_equal(open_found(path, other, O_RDONLY), -1);
	assert_int_equal(errno, ESTALE);
	close(path);
}
