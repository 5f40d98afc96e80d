/*
 * Comparing two ends in memory: differences, unreadable blocks, and ends that
 * are too short.
 */
#include "test.h"

#include <sys/mman.h>

#include "map/mapfile.h"
#include "memory_end.h"
#define POOR_OF_ALL
#include "poor.h"
#include "verify/verify.h"

#define CHUNK	((size_t)4096)
#define BLOCK	((size_t)512)

enum { SIZE = 3 * CHUNK };

static struct memory_end a, b;
static struct opts o;
static struct plan p;
static struct job job;

/* Two ends of three pieces, which are equal. */
static void
make(void)
{
	memory_make(&a, "A", SIZE);
	memory_make(&b, "B", SIZE);
	o = (struct opts){ .coe = 0 };
	p = (struct plan){ .opts = &o, .work = WORK_COMPARE, .src = &a.ep,
		.dst = &b.ep, .targets = 1, .length = SIZE, .bounded = true,
		.chunk = CHUNK, .claim = CHUNK, .block = BLOCK, .pad = 1,
		.workers = 1 };
}

static int
begin(void **state)
{
	make();
	return 0;
}

EACH(begin, NULL)

/* Compare them; what is needed of it is in the job until done(). */
static void
run(void)
{
	struct fault f;

	memory_job(&job, &p);
	assert_int_equal(compare_begin(&job, &f), 0);
	compare_run(&job);
}

static void
done(void)
{
	compare_free(job.compare);
	memory_job_end(&job);
}

static void
fails(int status, const char *text)
{
	assert_int_equal(job.fault.status, status);
	assert_string_equal(job.fault.text, text);
	assert_true(job.stop);
}

/* So much was compared, of which so many bytes in so many ranges differ. */
static void
finds(uint64_t compared, uint64_t bytes, uint64_t ranges)
{
	struct map_totals t = map_totals(&job.compare->differ);

	assert_int_equal(job.fault.status, 0);
	assert_int_equal(job.compare->compared, compared);
	assert_int_equal(t.bad, bytes);
	assert_int_equal(t.bad_ranges, ranges);
}

/* Beyond a million ranges, a piece is one. */
CASE(finds_pieces_where_too_many_differ)
{
	struct fault f;

	b.data[0]++;
	b.data[CHUNK + 10]++;
	b.data[2 * CHUNK + 5 * BLOCK]++;
	memory_job(&job, &p);
	assert_int_equal(compare_begin(&job, &f), 0);
	job.compare->told = 1 << 20;
	compare_run(&job);
	finds(SIZE, BLOCK + 2 * CHUNK, 2);
	done();
}

/* ----------------------------------------------------- what cannot be read */

CASE(stops_where_it_cannot_be_read)
{
	memory_fails(&b, CHUNK + 700, CHUNK + 701, EIO);
	run();
	fails(STATUS_MEDIUM, "B: reading at byte 4796: Input/output error");
	assert_int_equal(map_totals(&job.map).untried, 2 * CHUNK);
	done();
	make();
	memory_fails(&b, 700, 701, EIO);
	b.status = 4;			/* the end's own */
	run();
	fails(4, "B: reading at byte 700: Input/output error");
	done();
	make();
	memory_fails(&a, 700, 701, ENODEV);
	run();
	fails(STATUS_ERRNO + ENODEV, "A: reading at byte 700: No such device");
	assert_int_equal(a.reads, 1);
	done();
}

CASE(leaves_out_what_cannot_be_read)
{
	static const struct {
		int64_t		retries;
		unsigned	times;		/* that it fails */
		uint64_t	lost;
	} row[] = {
		{ 0, UINT_MAX, BLOCK }, { 0, 2, BLOCK }, { 0, 1, 0 },
		{ 3, 5, BLOCK }, { 3, 4, 0 },
	};

	EACH_OF(i, row) {
		make();
		memory_fails(&a, CHUNK + 700, CHUNK + 701, EIO);
		a.times = row[i].times;
		a.data[CHUNK + 600]++;		/* would differ */
		o.coe = 1;
		a.ep.spec.retries = row[i].retries;
		run();
		finds(SIZE - row[i].lost, row[i].lost > 0 ? 0 : BLOCK,
		    row[i].lost == 0);
		assert_int_equal(map_totals(&job.map).bad, row[i].lost);
		done();
	}
}

/* The blocks are those of the end, wherever the comparison begins in it. */
CASE(leaves_out_blocks_of_the_end)
{
	struct seg s;

	p.src_off = 100;
	p.length = SIZE - 100;
	memmove(b.data, b.data + 100, SIZE - 100);
	memory_fails(&a, 1100, 1101, EIO);
	o.coe = 1;
	run();
	finds(SIZE - 100 - BLOCK, 0, 0);
	assert_true(map_next(&job.map, 0, BAD, &s));
	assert_int_equal(s.off, 1024 - 100);
	assert_int_equal(s.len, BLOCK);
	assert_ptr_equal(job.compare->longer, &b.ep);
	done();
}

/* Both have lost a block of the same piece, and each other's is no reason. */
CASE(leaves_out_what_either_has_lost)
{
	memory_fails(&a, 0, 1, EIO);
	memory_fails(&b, 2048, 2049, EIO);
	o.coe = 1;
	a.data[100]++;
	run();
	finds(SIZE - 2 * BLOCK, 0, 0);
	done();
}

/* ------------------------------------------------------ ends that end early */

CASE(tells_what_was_cut_off_meanwhile)
{
	b.size = CHUNK + 10;
	run();
	fails(STATUS_SHORT, "B was truncated meanwhile: it has no byte 4106");
	done();
	make();
	a.size = CHUNK + 1000;		/* after a block that is bad */
	memory_fails(&a, CHUNK, CHUNK + 1, EIO);
	o.coe = 1;
	run();
	fails(STATUS_SHORT, "A was truncated meanwhile: it has no byte 5096");
	done();
}

/* ------------------------------------------------------------ being stopped */

static void
stop(struct io *io)
{
	job_stop(&job);
	if (a.ep.is.streamed)
		io->err = ECANCELED;
}

static void
stop_at_block(struct io *io)
{
	if (io->careful)
		job_stop(&job);
}

static void
stop_at_the_end(struct io *io)
{
	if (io->off == SIZE - CHUNK)
		job_stop(&job);
}

CASE(leaves_the_rest_untried_when_it_is_stopped)
{
	a.before = stop;
	run();
	finds(CHUNK, 0, 0);
	assert_int_equal(map_totals(&job.map).untried, SIZE - CHUNK);
	done();
	make();				/* a read that was given up */
	a.before = stop;
	a.ep.is.streamed = true;
	memory_fails(&a, 0, 1, ECANCELED);
	run();
	finds(0, 0, 0);
	assert_int_equal(map_totals(&job.map).untried, SIZE);
	done();
	make();
	memory_fails(&a, 0, 1, ECANCELED);	/* by nobody who stopped us */
	run();
	fails(status_errno(ECANCELED),
	    "A: reading at byte 0: Operation canceled");
	done();
	make();				/* between two blocks */
	memory_fails(&a, 0, 1, EIO);
	a.before = stop_at_block;
	o.coe = 1;
	a.ep.spec.retries = 5;
	run();
	finds(0, 0, 0);
	assert_int_equal(a.reads, 2);
	assert_int_equal(map_totals(&job.map).bad, BLOCK);
	assert_int_equal(map_totals(&job.map).untried, SIZE - BLOCK);
	done();
}

CASE(compares_nothing_after_that)
{
	struct fault f;
	int i;

	for (i = 0; i < 2; i++) {
		a.ep.is.streamed = i == 1;
		memory_job(&job, &p);
		assert_int_equal(compare_begin(&job, &f), 0);
		job.rate.paused = true;	/* it waits until it is stopped */
		eventfd_write(job.halt, 1);
		compare_run(&job);
		finds(0, 0, 0);
		assert_int_equal(a.reads, 0);
		assert_int_equal(map_totals(&job.map).untried, SIZE);
		done();
	}
}

/* ------------------------------------------------------------------- holes */

static int views[2];		/* of a and b */

static int
view(const struct endpoint *ep, bool *cached)
{
	int fd = views[ep == &b.ep];

	*cached = false;
	return fd < 0 ? -1 : dup(fd);
}

static const struct backend with_holes = { .transfer = memory_transfer,
	.view = view };

/* Files of three pages, of which only some are data. */
static void
sparse(const char *data_a, const char *data_b)
{
	static const unsigned char page[CHUNK] = { 1 };
	const char *data[] = { data_a, data_b };
	struct memory_end *of[] = { &a, &b };
	size_t i, k;

	for (i = 0; i < 2; i++) {
		of[i]->ep.be = &with_holes;
		of[i]->ep.kind = END_FILE;
		views[i] = memfd_create("file", MFD_CLOEXEC);
		assert_true(views[i] >= 0);
		assert_int_equal(ftruncate(views[i], SIZE), 0);
		memset(of[i]->data, 0, SIZE);
		for (k = 0; k < 3; k++)
			if (data[i][k] == 'd') {
				assert_int_equal(pwrite(views[i], page, CHUNK,
				    (off_t)(k * CHUNK)), CHUNK);
				memcpy(of[i]->data + k * CHUNK, page, CHUNK);
			}
	}
}

CASE(does_not_read_holes_of_both)
{
	static const struct {
		const char	*a, *b;
		unsigned	reads;
		uint64_t	differs;
	} row[] = {
		{ "   ", "   ", 0, 0 }, { "ddd", "ddd", 3, 0 },
		{ "d  ", "d  ", 1, 0 }, { "  d", "  d", 1, 0 },
		{ " d ", "   ", 1, BLOCK }, { "d  ", "  d", 2, 2 * BLOCK },
		{ "dd ", " dd", 3, 2 * BLOCK },
	};
	int k;

	EACH_OF(i, row) {
		make();
		sparse(row[i].a, row[i].b);
		run();
		assert_int_equal(a.reads, row[i].reads);
		assert_int_equal(b.reads, row[i].reads);
		finds(SIZE, row[i].differs, row[i].differs / BLOCK);
		done();
		for (k = 0; k < 2; k++)
			close(views[k]);
	}
}

/* What was cut off of a file since its size was looked up is no hole of it. */
CASE(takes_no_hole_behind_the_end)
{
	int k;

	sparse("d  ", "d  ");
	assert_int_equal(ftruncate(views[1], 2 * CHUNK), 0);
	b.size = 2 * CHUNK;
	run();
	fails(STATUS_SHORT, "B was truncated meanwhile: it has no byte 8192");
	done();
	for (k = 0; k < 2; k++)
		close(views[k]);
}

/* Holes are places in the ends, wherever the comparison begins. */
CASE(reads_what_is_no_hole_behind_skip)
{
	int k;

	sparse(" dd", "  d");
	p.src_off = p.dst_off = CHUNK;
	p.length = SIZE - CHUNK;
	b.data[SIZE - 1]++;
	run();
	assert_int_equal(a.reads, 2);
	finds(SIZE - CHUNK, 2 * BLOCK, 2);
	done();
	for (k = 0; k < 2; k++)
		close(views[k]);
}

CASE(reads_all_where_holes_are_not_known)
{
	int pipes[2], file;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	sparse("   ", "   ");
	file = views[1];
	views[1] = pipes[0];		/* it cannot seek */
	run();
	finds(SIZE, 0, 0);
	assert_int_equal(a.reads, 3);
	done();
	views[1] = -1;			/* it cannot be opened */
	run();
	assert_int_equal(a.reads, 6);
	done();
	views[1] = file;
	b.ep.kind = END_ZEROS;		/* all of it is a hole */
	run();
	assert_int_equal(a.reads, 6);
	finds(SIZE, 0, 0);
	done();
	p.bounded = false;		/* of no length */
	b.ep.kind = END_FILE;
	a.ep.is.streamed = true;
	run();
	assert_int_equal(job.compare->compared, SIZE);
	assert_true(a.reads > 6);
	done();
	close(pipes[0]);
	close(pipes[1]);
	close(views[0]);
	close(file);
}

/* -------------------------------------------------------- memory, and files */

static char directory[32], path[64];

static int
begin_dir(void **state)
{
	make();
	strcpy(directory, "/tmp/pardd-unit.XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/map", directory);
	o.map = path;
	return 0;
}

static int
end_dir(void **state)
{
	unlink(path);
	return rmdir(directory);
}

EACH(begin_dir, end_dir)

/* The ranges of the map that was written, as OFF+LEN and the status of each. */
static void
has_written(const char *ranges)
{
	struct mapfile m;
	struct fault f;
	char text[256] = "";
	size_t i;

	assert_int_equal(mapfile_load(&m, path, false, &f), 0);
	for (i = 0; i < m.n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "%llu+%llu%c ", (unsigned long long)m.seg[i].off,
		    (unsigned long long)m.seg[i].len, m.seg[i].status);
	mapfile_free(&m);
	assert_string_equal(text, ranges);
	unlink(path);
}

CASE(writes_a_map_of_what_differs)
{
	run();
	has_written("0+12288? ");
	done();
	b.data[0]++;
	memory_fails(&a, 1024, 1025, EIO);
	a.data[2048]++;
	o.coe = 1;
	run();
	has_written("0+512+ 512+512? 1024+512- 1536+512? 2048+512+ "
	    "2560+9728? ");
	done();
	make();
	o.map = path;
	p.src_off = 512;
	p.length = SIZE - 512;
	memmove(b.data, b.data + 512, SIZE - 512);
	b.data[SIZE - 513]++;
	run();
	has_written("0+11776? 11776+512+ ");
	done();
	make();				/* of a stream, up to where it ended */
	o.map = path;
	a.ep.is.streamed = true;
	a.ep.geo.size = -1;
	a.size = 1000;
	p.bounded = false;
	run();
	has_written("0+1000? ");
	done();
}

CASE(writes_no_map_of_a_part)
{
	a.before = stop;
	run();
	assert_int_equal(access(path, F_OK), -1);
	done();
	a.before = NULL;
	b.before = stop_at_the_end;	/* though nothing is left */
	run();
	assert_int_equal(map_totals(&job.map).untried, 0);
	assert_int_equal(access(path, F_OK), -1);
	done();
}

#ifdef POOR
/* Each request for memory is refused once: that is told, or does no harm. */
CASE(tells_each_lack_of_memory)
{
	unsigned n, told = 0;
	struct fault f;
	bool refused;

	for (n = 0; n < 4 || refused; n++) {
		make();
		o.coe = 1;
		o.map = path;
		memory_fails(&a, 1024, 1025, EIO);
		b.data[n % 2 * BLOCK]++;	/* the first, or the second */
		b.data[4 * BLOCK]++;
		memory_job(&job, &p);
		poor_after(n / 2);
		if (compare_begin(&job, &f) == 0)
			compare_run(&job);
		else
			job.fault = f;
		refused = poor_was();
		if (job.fault.status != 0) {
			assert_true(refused);
			told++;
			assert_int_equal(job.fault.status,
			    STATUS_ERRNO + ENOMEM);
		} else {
			finds(SIZE - BLOCK, 2 * BLOCK, 2);
		}
		unlink(path);
		done();
	}
	assert_true(told > 6);
}
#endif
