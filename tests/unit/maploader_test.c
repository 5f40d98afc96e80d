/*
 * Whether a map is of this source and this target, and what of it is valid; and
 * who has its file.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <sys/eventfd.h>
#include <time.h>

#include "../../src/rescue/maploader.h"
#include "copy/job.h"
#include "denial.h"
#include "poor.h"
#include "rescue/rescue.h"
#include "tabled.h"

static struct tabled disk, target;
static struct opts o;
static struct plan p;
static struct mapsaver ms;
static struct rescue rescue;
static struct job job;
static struct fault f;
static char directory[] = "/tmp/pardd-maploader.XXXXXX", path[64], other[64];
static const struct pass only_pass = { .text = "a pass", .phase = '?' };
enum { UNFLUSHED = -1 };
static struct timespec written_at;	/* sec 0: unknown */

/* -------------------------------------------- in the place of the C library */

int
openat(int dir, const char *name, int flags, ...)
{
	return denied((flags & O_TMPFILE) == O_TMPFILE ? "tmpfile" : "openat") ?
	    -1 : (int)syscall(SYS_openat, dir, name, flags, 0600);
}

int
fstatat(int dir, const char *name, struct stat *st, int flags)
{
	REAL_OF(real, fstatat, LARGE("fstatat"));
	return denied("fstatat") ? -1 : real(dir, name, st, flags);
}

int
linkat(int from, const char *name, int to, const char *as, int flags)
{
	return denied("linkat") ? -1 :
	    (int)syscall(SYS_linkat, from, name, to, as, flags);
}

ssize_t
readlink(const char *name, char *to, size_t room)
{
	REAL(real, readlink);
	return denied("readlink") ? -1 : real(name, to, room);
}

int
fdatasync(int fd)
{
	return denied("fdatasync") ? -1 : (int)syscall(SYS_fdatasync, fd);
}

/* --------------------------------------------------------------- the cases */

static int
written(const struct endpoint *ep, struct timespec *t)
{
	*t = written_at;
	return written_at.tv_nsec == UNFLUSHED ? EIO :
	    written_at.tv_sec == 0 ? EOPNOTSUPP : 0;
}

static const struct backend dated = { .view = tabled_view,
	.attach = tabled_attach, .transfer = tabled_transfer,
	.disk = tabled_disk, .written = written };

static void
put(const char *to, const char *text)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int
set_up(void **state)
{
	stpcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/map", directory);
	snprintf(other, sizeof(other), "%s/domain", directory);
	begin_disk(&disk, "disk", &viewed, SECTOR, DISK_SECTORS);
	begin_disk(&target, "target", &dated, SECTOR, DISK_SECTORS);
	strcpy(disk.disk.serial, "S");
	strcpy(disk.disk.wwn, "W");
	o = (struct opts){ .map = path, .mapinterval = 30 };
	p = (struct plan){ .opts = &o, .work = WORK_RESCUE, .src = &disk.ep,
		.dst = &target.ep, .length = DISK_SECTORS * SECTOR,
		.bounded = true, .chunk = 65536, .pad = 1, .sector = SECTOR };
	job = (struct job){ .p = &p, .rescue = &rescue };
	rescue.pass = &only_pass;
	written_at = (struct timespec){ 0 };
	ms = (struct mapsaver){ .lock = -1, .quit = -1, .dir = -1 };
	return map_init(&job.map, p.length, p.chunk, 0);
}

static int
tear_down(void **state)
{
	denial.err = 0;
	mapfile_free(&ms.file);
	map_free(&job.map);
	end_disk(&disk);
	end_disk(&target);
	unlink(path);
	unlink(other);
	return rmdir(directory);
}

EACH(set_up, tear_down)

/* Load a map with these comments; what there is to object to. */
static const char *
objection(const char *comments, const char *rows)
{
	char text[1024];
	int failed;

	snprintf(text, sizeof(text), "%s0x0 ? 1\n%s", comments, rows);
	put(path, text);
	mapfile_free(&ms.file);
	f = (struct fault){ 0 };
	if (!poor.on)
		assert_int_equal(map_set(&job.map, 0, p.length, UNTRIED), 0);
	maploader_name(&ms, &p);
	failed = maploader_load(&ms, &p, &job.map, &f);
	if ((failed != 0) != (f.status != 0))
		fail_msg("%d: %s", failed, f.text);
	return f.text;
}

/* Whether *f says that there was no memory. */
static bool
poor_told(void)
{
	return f.status == 50 + ENOMEM ||
	    strstr(f.text, "too many for memory") != NULL;
}

static const char all[] = "0x0 0x1000 +\n0x1000 0x1FF000 ?\n";

CASE(is_of_this_source)
{
	static const struct {
		const char	*was, *advice;	/* NULL: it is this one */
	} rows[] = {
		{ "size=2097152 block=512 serial=S wwn=W", NULL },
		{ "size=2097152 block=512 serial= wwn=",
		    "size=2097152 block=512; this one is" },
		{ "size=2097152 block=512 serial=T wwn=W", "behind another "
		    "adapter" },
		{ "size=2096000 block=512 serial=T", "behind another adapter" },
		{ "size=2098000 block=4096 serial=T", "behind another adapter" },
		{ "size=1097152 block=512 serial=T", "; name another map" },
		{ "size=2097152 block=512", "; name another map" },
		{ "size=2097152 part=1 serial=S wwn=W", "a partition (ipart=) "
		    "has a map of its own" },
		{ "size=2097152 start=0 serial=S", "; name another map" },
		{ "size=2097152 block=512 start=9 serial=S", "; name another" },
		{ "nonsense serial=", "; name another map" },
	};
	char line[128];

	EACH_OF(i, rows) {
		snprintf(line, sizeof(line), "# pardd source: %s\n",
		    rows[i].was);
		if (rows[i].advice == NULL)
			assert_string_equal(objection(line, all), "");
		else
			if (strstr(objection(line, all), rows[i].advice) == NULL)
				fail_msg("%s%s", line, f.text);
	}
	/* a partition by its own node: where it begins is part of its name */
	disk.disk.partition = 1;
	disk.disk.start = 512;
	assert_string_equal(objection("# pardd source: size=2097152 block=512 "
	    "start=512 serial=S wwn=W\n", all), "");
	assert_non_null(strstr(objection("# pardd source: size=2097152 block=512 "
	    "start=512 serial=T wwn=W\n", all), "behind another adapter"));
	assert_non_null(strstr(objection("# pardd source: size=2097152 block=512 "
	    "start=1024 serial=T wwn=W\n", all), "; name another map"));
	assert_non_null(strstr(objection("# pardd source: size=2097152 block=512 "
	    "start=999 serial=T wwn=W\n", all), "; name another map"));
	assert_non_null(strstr(objection("# pardd source: size=2097152 block=512 "
	    "serial=T wwn=W\n", all), "; name another map"));
	disk.ep.lim.part = 1;
	assert_non_null(strstr(objection("# pardd source: size=2097152 block=512 "
	    "serial=S wwn=W\n", all), "has a map of its own"));
	disk.ep.be = &blind;
	disk.ep.is.device = false;
	disk.ep.lim.part = 0;
	assert_string_equal(objection("# pardd source: size=2097152 block=512\n",
	    all), "");
	assert_non_null(strstr(objection("", "0 0x200001 +\n"), "/map goes past "
	    "the end of disk, to byte 2097153"));
	p.counted = true;
	assert_string_equal(objection("", "0 0x200001 +\n"), "");
}

CASE(is_of_this_target)
{
	static const struct {
		const char	*was;
		bool		 other;
	} rows[] = { { "offset=0", false }, { "offset=1", true },
		{ "offset=00", true }, { "offset=0 serial=X", false },
		{ "offset=0 serial=T wwn=", false },
		{ "offset=0 serial=U wwn=", true } };
	char line[128];
	size_t i;

	for (i = 0; i < 4; i++) {
		snprintf(line, sizeof(line), "# pardd target: %s\n",
		    rows[i].was);
		assert_true((objection(line, all)[0] != '\0') == rows[i].other);
	}
	strcpy(target.disk.serial, "T");
	for (i = 4; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(line, sizeof(line), "# pardd target: %s\n",
		    rows[i].was);
		assert_true((objection(line, all)[0] != '\0') == rows[i].other);
	}
	/* a disk known by its WWN, and a partition of one */
	target.disk.serial[0] = '\0';
	strcpy(target.disk.wwn, "V");
	target.disk.partition = 1;
	target.disk.start = 4096;
	assert_string_equal(objection("# pardd target: offset=0 serial= wwn=V "
	    "start=4096\n", all), "");
	assert_non_null(strstr(objection("# pardd target: offset=0 serial= wwn=V "
	    "start=8192\n", all), "is of another target"));
	target.ep.kind = END_DISCARD;
	assert_string_equal(objection("# pardd target: discarded\n", all), "");
	target.ep.kind = END_FILE;
	assert_non_null(strstr(objection("# pardd target: " MAP_COMPARED "\n",
	    all), "was written by compare=1"));
	assert_string_equal(objection("# pardd target: " MAP_COMPARED "\n",
	    "0x0 0x1000 -\n"), "");		/* nothing is finished */
	target.ep.is.absent = true;
	assert_non_null(strstr(objection("", all), "does not exist"));
	target.ep.is.absent = false;
	target.ep.geo.size = 100;
	assert_non_null(strstr(objection("", all), "but target ends at byte "
	    "100"));
}

CASE(is_as_old_as_its_target)
{
	static const struct {
		const char	*was;
		long long	 sec;
		long		 nsec;
		bool		 since;
	} rows[] = { { "100.000000005", 0, 0, false },
		{ "100.000000005", 100, 5, false },
		{ "100.000000005", 100, 6, true },
		{ "100.000000005", 99, 999999999, true },
		{ "100.000000005", 101, 0, true },
		{ "100", 100, 0, false }, { "100", 100, 1, true },
		{ "x", 1, 0, true } };
	char line[128];

	EACH_OF(i, rows) {
		snprintf(line, sizeof(line), "# pardd target: offset=0 "
		    "written=%s\n", rows[i].was);
		written_at.tv_sec = rows[i].sec;
		written_at.tv_nsec = rows[i].nsec;
		assert_true((strstr(objection(line, all), "was written to "
		    "since") != NULL) == rows[i].since);
		assert_true(ms.dated);
	}
	(void)objection("# pardd target: offset=0\n", all);
	assert_false(ms.dated);
	written_at = (struct timespec){ 0 };
	assert_int_equal(maploader_date(&ms, &p, &f), 0);
	assert_string_equal(ms.target, "offset=0");
	written_at.tv_nsec = UNFLUSHED;
	assert_int_equal(maploader_date(&ms, &p, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EIO);
	assert_string_equal(ms.target, "offset=0");
	written_at = (struct timespec){ 7, 8 };
	assert_int_equal(maploader_date(&ms, &p, &f), 0);
	assert_string_equal(ms.target, "offset=0 written=7.000000008");
}

/* Only what lies in the copy, and in the domain. */
CASE(limits_the_copy)
{
	struct map_totals t;
	unsigned i;

	p.src_off = 0x800;
	p.dst_off = 0x800;
	p.length = 0x1000;
	map_free(&job.map);
	assert_int_equal(map_init(&job.map, p.length, 512, 0), 0);
	assert_string_equal(objection("", "0x0 0xC00 +\n0xC00 0x1000 -\n"
	    "0x1C00 0x100000 +\n"), "");
	t = map_totals(&job.map);
	assert_int_equal(t.finished, 0x400);
	assert_int_equal(t.bad, 0xc00);
	o.domain = other;
	assert_non_null(strstr(objection("", all), "does not exist, or is "
	    "empty"));
	put(other, "0x0 ? 1\n0xA00 0x200 +\n0xC00 0x200 -\n");
	assert_string_equal(objection("", "0x0 0x100 +\n"), "");
	t = map_totals(&job.map);
	assert_int_equal(t.outside, 0x1000 - 0x200);
	o.domaintypes = "-?";
	assert_string_equal(objection("", "0x0 0x100 +\n"), "");
	t = map_totals(&job.map);
	assert_int_equal(t.outside, 0x200);
	put(other, "no map\n");
	assert_true(objection("", all)[0] != '\0');
	put(other, "0x0 ? 1\n0xA00 0x200 +\n0xC00 0x200 -\n");
	for (i = 0; i == 0 || poor_was(); i++) {
		map_free(&job.map);
		assert_int_equal(map_init(&job.map, p.length, 512, 0), 0);
		poor_after(i);
		(void)objection("", "0x900 0x200 +\n0xB00 0x100 -\n");
		poor.on = false;
		assert_true(f.status == 0 || poor_told());
	}
}

/* ------------------------------------------------------------- its file */

static int
begin(void)
{
	int failed;

	f = (struct fault){ 0 };
	failed = mapsaver_begin(&rescue.mapsaver, &job, &f);
	assert_int_equal(failed, f.status == 0 ? 0 : -1);
	return failed;
}

static void
end(void)
{
	mapsaver_forget(&rescue.mapsaver, &p);
	mapsaver_free(&rescue.mapsaver);
}

/* A call fails with each of these: the map is the old or the new one. */
CASE(is_saved)
{
	static const char *const calls[] = { "openat", "fsync", "renameat",
		"fclose", "fdopen", "linkat", "fstatat" };
	static const int errs[] = { EIO, EINVAL, ENOSPC, EDQUOT };
	struct mapfile m = { .phase = '?', .pass = 1 }, now;
	char name[600];
	unsigned left;
	int failed;

	assert_int_equal(mapfile_append(&m, &(struct seg){ 0, 512, BAD }), 0);
	EACH_OF(i, calls)
		EACH_OF(k, errs)
			for (left = 0; left < 4; left++) {
				put(path, "0x0 ? 1\n0x0 0x200 +\n");
				snprintf(name, sizeof(name), "%s.bak", path);
				put(name, "x");
				denial.call = calls[i];
				denial.err = errs[k];
				denial.left = left;
				failed = mapfile_save(&m, path, "", &f);
				denial.err = 0;
				assert_int_equal(mapfile_load(&now, path, false, &f),
				    0);
				assert_int_equal(now.n, 1);
				if (failed == 0)
					assert_int_equal(now.seg[0].status,
					    BAD);
				mapfile_free(&now);
				unlink(name);
			}
	/* names to which nothing can be added, and no such directory */
	snprintf(name, sizeof(name), "%s/%0250d", directory, 0);
	assert_int_equal(mapfile_save(&m, name, "", &f), -1);
	assert_int_equal(f.status, 50 + ENAMETOOLONG);
	snprintf(name, sizeof(name), "%s/none/map", directory);
	assert_int_equal(mapfile_save(&m, name, "", &f), -1);
	assert_int_equal(f.status, 50 + ENOENT);
	mapfile_free(&m);
}

/* Whatever call fails, a map that is there afterwards is of this source. */
CASE(belongs_to_one_run)
{
	static const char *const calls[] = { "tmpfile", "openat", "flock",
		"fstatat", "linkat", "fdatasync" };
	static const int errs[] = { EOPNOTSUPP, EEXIST, EWOULDBLOCK, EIO };
	unsigned left;

	EACH_OF(i, calls)
		EACH_OF(k, errs)
			for (left = 0; left < 6; left++) {
				struct map_totals t;

				denial.call = calls[i];
				denial.err = errs[k];
				denial.left = left;
				if (begin() == 0)
					assert_int_equal(mapsaver_look(&p, &t,
					    &f), -1);	/* it is locked */
				end();
				denial.err = 0;
				unlink(path);
			}
	assert_int_equal(begin(), 0);
	assert_int_equal(mapsaver_find(&job, &f), 0);
	unlink(path);
	assert_int_equal(mapsaver_find(&job, &f), -1);
	assert_non_null(strstr(f.text, "elsewhere now, and the map is /"));
	denial.call = "readlink";
	denial.err = EIO;
	denial.left = 0;
	assert_int_equal(mapsaver_find(&job, &f), -1);
	assert_non_null(strstr(f.text, "elsewhere now, and the map is .../map"));
	end();
}

/* Who sets job->doubt says why, and not the map that is not saved then. */
CASE(is_not_why_the_target_failed)
{
	static const struct timespec soon = { .tv_nsec = 1000000 };

	assert_int_equal(begin(), 0);
	assert_int_equal(pthread_mutex_init(&job.first, NULL), 0);
	job.halt = eventfd(1, EFD_CLOEXEC);
	job.doubt = true;
	mapsaver_start(&job);
	while (!rescue.mapsaver.settled)
		nanosleep(&soon, NULL);
	mapsaver_stop(&job);
	assert_int_equal(rescue.mapsaver.unsaved.status, STATUS_NOT_FLUSHED);
	assert_int_equal(job.fault.status, 0);
	pthread_mutex_destroy(&job.first);
	close(job.halt);
	end();
}

/* A copy that does not begin leaves what others have made. */
CASE(is_forgotten_if_it_is_new)
{
	assert_int_equal(begin(), 0);
	end();
	assert_int_equal(access(path, F_OK), -1);
	put(path, "0x0 ? 1\n0x0 0x1000 -\n0x1000 0x1FF000 ?\n");
	assert_int_equal(begin(), 0);
	end();
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	assert_int_equal(begin(), 0);
	unlink(path);
	put(path, "another's");
	end();
	assert_int_equal(access(path, F_OK), 0);
}

CASE(is_looked_at)
{
	struct map_totals t;
	unsigned i;
	int failed;

	assert_int_equal(mapsaver_look(&p, &t, &f), 0);	/* there is none */
	assert_int_equal(t.untried, p.length);
	put(path, "# pardd source: size=2097152 block=512 serial=S wwn=W\n"
	    "# pardd target: offset=0\n"
	    "0x0 ? 1\n0x0 0x1000 -\n0x1000 0x1FF000 ?\n");
	for (i = 0; i == 0 || poor_was(); i++) {
		poor_after(i);
		failed = mapsaver_look(&p, &t, &f);
		poor.on = false;
		if (failed == 0)
			assert_int_equal(t.bad, 0x1000);
		else
			assert_true(poor_told());
	}
	assert_int_equal(failed, 0);
	put(path, "no map\n");
	assert_int_equal(mapsaver_look(&p, &t, &f), -1);
}
