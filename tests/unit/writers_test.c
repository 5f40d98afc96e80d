/*
 * Several zones of a target written at a time: how many a plan has, that each
 * has one writer, in order, and no more are open than the plan says.  The
 * target is a mock: zones of 64 KiB with blocks for 48 KiB.
 */
#include "test.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>

#include "../../src/run/conduct.h"
#include "copy/job.h"
#include "end/backend.h"
#include "plan/plan.h"

#define BLOCK	((size_t)4096)

enum {
	ZONES = 12, ZONE = 64 << 10, ROOM = 48 << 10, CHUNK = 8 << 10,
	WORDS = 16,
	ALL = ZONES * ZONE,
	LONGEST = 20,			/* s */
};

static struct {
	pthread_mutex_t	 lock;
	pthread_cond_t	 more;
	uint64_t	 next[ZONES];	/* write pointers, from the start */
	unsigned	 allowed;	/* zones at a time */
	unsigned	 open, most;	/* zones; so many were open at a time */
	unsigned	 meet;		/* the first ones wait for so many */
	unsigned	 wrong;		/* writes elsewhere than at a pointer */
	size_t		 longest;	/* write */
	uint64_t	 fails;		/* the write of this byte; 0: none */
	struct job	*stop;		/* by the second write to a zone */
	unsigned char	 bytes[ALL];
} disk;

static struct opts o;
static struct endpoint src, dst;
static struct plan p;
static struct job job;
static struct fault f;

/* ----------------------------------------------------------------- the ends */

static unsigned char
byte_at(uint64_t off)
{
	return off % ZONE < ROOM ? (unsigned char)(1 + off / BLOCK % 250) : 0;
}

static void
read_source(struct lane *lane, struct io *io)
{
	for (; io->done < io->len; io->done++)
		io->buf[io->done] = byte_at(io->off + io->done);
}

static void
wait_for_others(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += LONGEST;
	pthread_cond_broadcast(&disk.more);
	while (disk.most < disk.meet &&
	    pthread_cond_timedwait(&disk.more, &disk.lock, &t) == 0)
		continue;
}

/* Write what the zone has room for; the rest is left out, as zoned.c does. */
static void
write_zone(struct io *io, uint64_t zone, uint64_t at)
{
	size_t n = at >= ROOM ? 0 : ROOM - at < io->len ? ROOM - at : io->len;

	if (n > 0 && disk.next[zone] != at)
		disk.wrong++;
	if (n > 0 && at == 0 && ++disk.open > disk.most)
		disk.most = disk.open;
	if (n > 0 && at == 0)
		wait_for_others();
	if (n > 0 && at + n == ROOM)
		disk.open--;
	memcpy(disk.bytes + io->off, io->buf, n);
	disk.next[zone] += n;
	io->done = io->len;
}

static void
write_target(struct lane *lane, struct io *io)
{
	uint64_t zone = io->off / ZONE, at = io->off % ZONE;

	pthread_mutex_lock(&disk.lock);
	if (at + io->len > ZONE)
		disk.wrong++;
	if (disk.fails > 0 && disk.fails - io->off < io->len)
		io->err = EIO;
	else
		write_zone(io, zone, at);
	if (io->len > disk.longest)
		disk.longest = io->len;
	if (disk.stop != NULL && at > 0)
		job_stop(disk.stop);
	pthread_mutex_unlock(&disk.lock);
}

static unsigned
allowed(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *source, uint64_t source_from)
{
	assert_ptr_equal(ep, &dst);
	assert_ptr_equal(source, &src);
	assert_int_equal(from, p.dst_off);
	assert_int_equal(to, p.dst_off + p.length);
	assert_int_equal(source_from, p.src_off);
	return disk.allowed;
}

static const struct backend source_backend = { .transfer = read_source };
static const struct backend target_backend = { .transfer = write_target,
	.writers = allowed };

static int
set_up(void **state)
{
	memset(&disk, 0, sizeof(disk));
	pthread_mutex_init(&disk.lock, NULL);
	pthread_cond_init(&disk.more, NULL);
	disk.allowed = 3;
	src = (struct endpoint){ .be = &source_backend, .name = "source",
		.dir = -1, .kind = END_FILE, .is.seekable = true,
		.geo = { .size = ALL, .room = ALL, .io_align = 1 } };
	dst = (struct endpoint){ .be = &target_backend, .name = "target",
		.dir = -1, .kind = END_BLOCK, .lim.end = UINT64_MAX,
		.is = { .seekable = true, .device = true, .zoned = true,
		.past_cache = true },
		.geo = { .size = ALL, .room = ALL, .block = BLOCK,
		.io_align = BLOCK, .zone = ZONE },
		.sync_why = "zones" };
	return 0;
}

static int
tear_down(void **state)
{
	pthread_cond_destroy(&disk.more);
	pthread_mutex_destroy(&disk.lock);
	return 0;
}

EACH(set_up, tear_down)

/* A plan for these operands, and transfers of CHUNK bytes. */
static void
plans(const char *words)
{
	static char line[200];
	char *argv[WORDS + 1] = { line }, *word, *rest;
	int argc = 1;

	snprintf(line, sizeof(line), "pardd if=a of=b bs=4096 %s", words);
	strtok_r(line, " ", &rest);
	while (argc < WORDS && (word = strtok_r(NULL, " ", &rest)) != NULL)
		argv[argc++] = word;
	assert_int_equal(opts_parse(&o, argc, argv, &f), 0);
	assert_int_equal(plan_make(&p, &o, NULL, &src, &dst, &f), 0);
}

static void
has(const char *words, unsigned zones, unsigned workers)
{
	plans(words);
	assert_int_equal(p.zones, zones);
	assert_int_equal(p.workers, workers);
	assert_int_equal(p.queues, 0);
}

CASE(are_as_many_as_the_target_allows)
{
	has("bpt=2", 3, 3);
	has("bpt=2 thr=2", 3, 2);
	disk.allowed = 9;
	has("bpt=2", 9, 4);
	has("bpt=2 thr=16", 9, 9);
	has("bpt=2 thr=16 verify=1", 9, 9);
	has("bpt=2 thr=16 manifest=m", 9, 9);
	has("bpt=2 thr=16 rate=1M", 9, 9);
	has("bpt=2 thr=16 iflag=coe", 9, 9);
	/* of no more zones than there are */
	has("bpt=2 thr=16 count=20", 9, 2);
	has("bpt=2 thr=16 count=16", 9, 1);
	has("bpt=2 thr=16 count=16 seek=8", 9, 2);
	has("bpt=2 thr=16 count=1", 9, 1);
	has("bpt=2 thr=16 count=0", 9, 1);
	disk.allowed = UINT32_MAX;
	has("bpt=2 thr=16", 16, 12);
	disk.allowed = 1;
	has("bpt=2 thr=16", 1, 1);
	disk.allowed = 0;		/* endpoint_check_range refuses it */
	has("bpt=2 thr=16", 1, 1);
	dst.is.zoned = false;
	has("bpt=2 thr=16", 0, 16);
}

CASE(are_one_where_order_matters)
{
	has("bpt=2 hash=md5", 1, 1);
	has("bpt=2 expect=md5:00000000000000000000000000000000", 1, 1);
	has("bpt=3", 1, 1);		/* a transfer in two zones */
	has("bpt=2 seek=1", 1, 1);
	has("bpt=2 seek=2", 3, 3);
	has("bpt=16", 3, 3);
	has("bpt=32", 1, 1);
	has("", 1, 1);			/* of 1 MiB */
	dst.geo.zone = 0;
	has("bpt=2", 1, 1);
	dst.geo.zone = ZONE;
	src.is.streamed = true;
	src.geo.size = -1;
	has("bpt=2", 1, 1);
}

/* ----------------------------------------------------------------- the copy */

static void
copies(const char *words)
{
	memset(&job, 0, sizeof(job));
	plans(words);
	job.p = &p;
	job.halt = eventfd(0, 0);
	job.done = eventfd(0, 0);
	pthread_mutex_init(&job.first, NULL);
	pthread_mutex_init(&job.order, NULL);
	rate_set(&job.rate, o.rate > 0 ? (uint64_t)o.rate : 0);
	assert_int_equal(job_buffers(&job, &f), 0);
	assert_int_equal(map_init(&job.map, p.length, plan_claim(&p, p.claim),
	    plan_phase(&p)), 0);
	job_threads(&job);
	lead_run(&job);
	assert_true(job.began);
}

static void
end_copy(void)
{
	job_unbuffer(&job);
	map_free(&job.map);
	pthread_mutex_destroy(&job.order);
	pthread_mutex_destroy(&job.first);
	close(job.halt);
	close(job.done);
}

/* Every byte from "from" to "to" is right, and nothing else is written. */
static void
wrote(uint64_t from, uint64_t to, uint64_t skipped)
{
	uint64_t off;

	assert_int_equal(disk.wrong, 0);
	for (off = 0; off < ALL; off++)
		if (disk.bytes[off] != (off >= from && off < to ?
		    byte_at(off - from + skipped) : 0))
			fail_msg("byte %llu", (unsigned long long)off);
}

CASE(write_each_zone_in_order)
{
	disk.meet = 3;
	copies("bpt=2");
	assert_int_equal(job.fault.status, 0);
	assert_int_equal(disk.most, 3);		/* at a time, and no more */
	assert_int_equal(disk.open, 0);
	assert_int_equal(map_totals(&job.map).finished, ALL);
	wrote(0, ALL, 0);
	end_copy();
}

CASE(begin_and_end_within_zones)
{
	disk.next[1] = CHUNK;
	disk.open = 1;
	copies("bpt=2 skip=18 seek=18 count=133 thr=2");
	assert_int_equal(job.fault.status, 0);
	assert_in_range(disk.most, 1, 2);
	assert_int_equal(disk.open, 1);
	assert_int_equal(map_totals(&job.map).finished, 133 * BLOCK);
	wrote(18 * BLOCK, 151 * BLOCK, 18 * BLOCK);
	end_copy();
}

/* With a rate, pieces are smaller than transfers, and zones as large. */
CASE(keep_their_zones_at_any_rate)
{
	dst.geo.io_max = CHUNK;
	copies("rate=100k count=20");
	assert_int_equal(p.zones, 3);
	assert_int_equal(p.chunk, CHUNK);
	assert_int_equal(disk.longest, BLOCK);
	assert_int_equal(job.fault.status, 0);
	wrote(0, 20 * BLOCK, 0);
	end_copy();
}

/* The map knows what was written, and nothing is claimed any more. */
static void
told_truly(void)
{
	struct map_totals t = map_totals(&job.map);
	uint64_t off;

	assert_int_equal(disk.wrong, 0);
	assert_int_equal(t.claimed, 0);
	assert_int_equal(t.finished + t.untried, ALL);
	assert_true(t.untried > 0);
	for (off = 0; off < ALL; off += BLOCK)
		if (off % ZONE < ROOM)
			assert_int_equal(map_at(&job.map, off),
			    disk.bytes[off] != 0 ? FINISHED : UNTRIED);
}

CASE(give_back_what_a_stop_leaves)
{
	disk.meet = 3;
	disk.stop = &job;
	copies("bpt=2");
	assert_int_equal(job.fault.status, 0);
	told_truly();
	end_copy();
}

CASE(stop_when_one_fails)
{
	disk.meet = 3;
	disk.fails = ZONE + 3 * CHUNK;
	copies("bpt=2");
	assert_int_equal(job.fault.status, 50 + EIO);
	assert_non_null(strstr(job.fault.text, "target"));
	assert_int_equal(disk.next[1], 3 * CHUNK);
	told_truly();
	end_copy();
}
