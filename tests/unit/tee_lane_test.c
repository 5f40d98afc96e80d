/*
 * Several targets as one: which of them are the same, and what happens to those
 * that fail.
 */
#include "test.h"

#include <sys/eventfd.h>

#include "end/backend.h"
#include "../../src/open/targets.h"
#include "open/tee.h"

#define PAGE	((size_t)4096)

enum { TARGETS = 3 };

/* What becomes of requests and calls to a target that is no file. */
struct fate {
	int	 attach, detach;	/* errno of these, */
	int	 err;			/* of requests, */
	unsigned times;			/* ... so many of them, */
	bool	 left;			/* which keep their buffer, */
	bool	 spent;
	size_t	 done;			/* and move this first */
	int	 extend, prepare, readback;
	unsigned requests;
	uint64_t extended;		/* to so many bytes */
	bool	 lasting;		/* as the last request says */
};

static char name[TARGETS][32];
static struct opts o;
static struct endpoint all, *to[TARGETS];
static struct fault f;
static const struct fault *dropped;
static struct fate fate[TARGETS];
static const struct backend *was[TARGETS];
static void *priv[TARGETS];
static struct lane lane;
static struct io io;
static unsigned char buf[TARGETS * PAGE];

static struct fate *
fate_of(const struct endpoint *ep)
{
	size_t i = 0;

	while (i < TARGETS && strcmp(ep->name, name[i]) != 0)
		i++;
	assert_true(i < TARGETS);
	return &fate[i];
}

static int
attach(struct lane *l)
{
	return fate_of(l->ep)->attach;
}

static int
detach(struct lane *l)
{
	return fate_of(l->ep)->detach;
}

static void
transfer(struct lane *l, struct io *q)
{
	struct fate *mine = fate_of(l->ep);

	mine->requests++;
	mine->lasting = q->lasting;
	q->buf_in_use = mine->left;
	if (mine->times == 0) {
		q->done = q->len;
		return;
	}
	mine->times--;
	q->err = mine->err;
	q->spent = mine->spent;
	q->done = mine->done;
}

static int
extend(struct endpoint *ep, uint64_t length)
{
	fate_of(ep)->extended = length;
	return fate_of(ep)->extend;
}

static int
prepare(struct endpoint *ep, int64_t length, struct fault *why)
{
	int err = fate_of(ep)->prepare;

	return err == 0 ? 0 : fault_errno(why, err, "%s", ep->name);
}

static int
close_reader(struct endpoint *ep)
{
	return 0;
}

static const struct backend reader = {
	.attach = attach, .detach = detach, .transfer = transfer,
	.close = close_reader,
};

static int
readback(const struct endpoint *ep, struct endpoint *r, struct fault *why)
{
	int err = fate_of(ep)->readback;

	r->be = &reader;
	return err == 0 ? 0 : fault_errno(why, err, "%s", ep->name);
}

static const struct backend fake = {
	.attach = attach, .detach = detach, .transfer = transfer,
	.extend = extend, .prepare = prepare, .open_readback = readback,
};

static int
set_up(void **state)
{
	unsigned i;
	int fd;

	memset(fate, 0, sizeof(fate));
	memset(was, 0, sizeof(was));
	o = (struct opts){ .targets = TARGETS, .timeout = -1 };
	for (i = 0; i < TARGETS; i++) {
		strcpy(name[i], "/tmp/pardd-tee.XXXXXX");
		fd = mkstemp(name[i]);
		if (fd < 0 || close(fd) != 0)
			return -1;
		o.target[i] = name[i];
	}
	if (tee_open(&all, &o, false, &f) != 0)
		return -1;
	for (i = 0; i < TARGETS; i++)
		to[i] = tee_target(&all, i);
	return 0;
}

static int
tear_down(void **state)
{
	unsigned i;

	for (i = 0; i < TARGETS; i++) {
		unlink(name[i]);
		if (was[i] != NULL) {
			to[i]->be = was[i];
			to[i]->priv = priv[i];
		}
	}
	i = (unsigned)endpoint_close(&all);
	tee_free(&all);
	return (int)i;
}

EACH(set_up, tear_down)

/* The targets are no files from now on. */
static void
be_fakes(void)
{
	unsigned i;

	for (i = 0; i < TARGETS; i++) {
		was[i] = to[i]->be;
		priv[i] = to[i]->priv;
		to[i]->be = &fake;
	}
}

static void
is_one_target(bool is)
{
	f = (struct fault){ 0 };
	assert_int_equal(tee_join(&all, &f), is ? -1 : 0);
	assert_int_equal(strstr(f.text, "are the same target") != NULL, is);
}

CASE(knows_one_target_by_two_names)
{
	to[0]->id.file_ino = to[1]->id.file_ino;	/* the node itself */
	to[0]->id.file_dev = to[1]->id.file_dev;
	is_one_target(true);
	to[0]->id.file_dev++;
	is_one_target(false);
	to[0]->id.file_dev--;
	to[0]->id.file_ino = to[1]->id.file_ino = 0;	/* none */
	is_one_target(false);
	to[0]->id.known = false;
	to[0]->id.dev = to[1]->id.dev;
	to[0]->id.ino = to[1]->id.ino;
	is_one_target(false);
	to[0]->is.remote = true;
	is_one_target(false);
	to[1]->is.remote = true;			/* by their names */
	is_one_target(false);
	to[1]->name = to[0]->name;
	is_one_target(true);
	to[1]->lim.part = 2;
	is_one_target(false);
	to[1]->name = name[1];
}

CASE(knows_one_new_file_by_two_names)
{
	int dir = open("/tmp", O_PATH), nowhere = open("/", O_PATH);

	to[0]->is.absent = to[1]->is.absent = true;
	to[0]->name = "x";
	to[1]->name = "/tmp/x";
	to[0]->dir = to[1]->dir = dir;
	is_one_target(true);
	to[1]->name = "/tmp/y";
	is_one_target(false);
	to[1]->name = "/x";
	to[1]->dir = nowhere;
	is_one_target(false);
	to[1]->dir = -1;			/* it cannot be asked */
	is_one_target(false);
	to[0]->dir = -1;
	is_one_target(false);
	to[0]->is.absent = to[1]->is.absent = false;
	to[0]->name = name[0];
	to[1]->name = name[1];
	close(dir);
	close(nowhere);
}

CASE(goes_with_no_zoned_disk)
{
	to[1]->is.zoned = true;
	assert_int_equal(tee_join(&all, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "it takes only one of="));
}

static void
drop_target(unsigned i)
{
	struct fault why;

	fault_errno(&why, EIO, "%s", name[i]);
	targets_drop(((struct tee *)all.priv)->targets, i, &why);
}

/* Those that were dropped do not count. */
CASE(names_the_slowest_and_the_most_silent)
{
	struct target *t = ((struct tee *)all.priv)->targets->target;

	t[0].spent = 1;
	t[1].spent = 3;
	t[2].spent = 2;
	assert_ptr_equal(tee_slowest(&all), to[1]);
	assert_null(tee_silent(&all));	/* none is asked */
	t[0].asked = t[1].asked = t[2].asked = 1;
	t[0].answered = 2;
	t[1].answered = 1;
	t[2].answered = 3;
	assert_ptr_equal(tee_silent(&all), to[1]);
	drop_target(1);
	assert_ptr_equal(tee_slowest(&all), to[2]);
	assert_ptr_equal(tee_silent(&all), to[0]);
	drop_target(0);
	drop_target(2);
	assert_ptr_equal(tee_slowest(&all), &all);
	assert_null(tee_silent(&all));
	assert_int_equal(tee_left(&all), 0);
	t[0].asked = t[1].asked = t[2].asked = 0;
}

CASE(says_which_is_not_prepared)
{
	be_fakes();
	assert_int_equal(tee_prepare(&all, 0600, 0, &f), 0);
	assert_int_equal(tee_prepare(&all, 0600, -1, &f), 0);
	fate[1].prepare = EPERM;
	assert_int_equal(tee_prepare(&all, 0600, 0, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EPERM);
	assert_non_null(strstr(f.text, name[1]));
	to[2]->is.device = true;		/* it cannot be written */
	to[2]->name = "/nonexistent/disk";
	assert_int_equal(tee_prepare(&all, 0600, 0, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOENT);
	to[2]->name = name[2];
}

CASE(says_which_is_not_read_back)
{
	struct endpoint back;

	be_fakes();
	assert_int_equal(endpoint_readback(&back, &all, PAGE, &f), 0);
	assert_int_equal(endpoint_close(&back), 0);
	fate[1].readback = EACCES;
	assert_int_equal(endpoint_readback(&back, &all, PAGE, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EACCES);
	assert_non_null(strstr(f.text, name[1]));
}

static void
attached(void)
{
	assert_int_equal(lane_attach(&lane, &all, 0, -1), 0);
}

static void
request(enum op op, int err)
{
	io = (struct io){ .op = op, .buf = buf, .len = PAGE,
		.lasting = true };
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, err);
	assert_int_equal(io.done, err == 0 ? PAGE : 0);
}

CASE(drops_what_fails_and_goes_on)
{
	be_fakes();
	attached();
	request(OP_WRITE, 0);
	assert_true(fate[0].lasting);
	assert_false(io.buf_in_use);
	fate[2].left = true;
	request(OP_WRITE, 0);
	assert_true(io.buf_in_use);
	fate[2].left = false;
	fate[1].err = ENOSPC;
	fate[1].times = 1;
	request(OP_WRITE, 0);
	dropped = tee_dropped(&all, 1);
	assert_non_null(dropped);
	assert_int_equal(dropped->status, STATUS_ERRNO + ENOSPC);
	assert_non_null(strstr(dropped->text, "writing 4096 bytes"));
	assert_int_equal(fate[1].requests, 3);
	fate[0].err = fate[2].err = EIO;
	fate[0].times = fate[2].times = 1;
	request(OP_WRITE, EIO);
	assert_string_equal(io.why, "none is left");
	assert_int_equal(fate[1].requests, 3);	/* it gets no more */
	assert_int_equal(lane_detach(&lane), 0);
}

CASE(repeats_a_write_as_often_as_it_was_told)
{
	be_fakes();
	to[0]->spec.retries = 2;
	to[1]->spec.retries = 2;
	attached();
	fate[0].err = fate[1].err = EIO;
	fate[0].times = 2;
	fate[0].done = PAGE / 4;
	fate[1].times = 1;
	fate[1].spent = true;			/* a second try would be in vain */
	request(OP_WRITE, 0);
	assert_int_equal(fate[0].requests, 3);
	assert_int_equal(tee_written(&all, 0), PAGE);
	assert_int_equal(fate[1].requests, 1);
	assert_null(tee_dropped(&all, 0));
	assert_non_null(tee_dropped(&all, 1));
	fate[0].times = 3;
	request(OP_WRITE, 0);			/* by the third */
	assert_non_null(tee_dropped(&all, 0));
	assert_int_equal(lane_detach(&lane), 0);
}

CASE(repeats_no_write_once_the_copy_is_to_stop)
{
	int halt = eventfd(1, EFD_CLOEXEC);

	be_fakes();
	to[0]->spec.retries = 1000;
	assert_int_equal(lane_attach(&lane, &all, 0, halt), 0);
	fate[0].err = EIO;
	fate[0].times = 1000;
	request(OP_WRITE, 0);			/* by the others */
	assert_int_equal(fate[0].requests, 1);
	assert_non_null(tee_dropped(&all, 0));
	assert_int_equal(lane_detach(&lane), 0);
	close(halt);
}

CASE(tells_what_concerns_all_of_them)
{
	be_fakes();
	attached();
	fate[1].err = EOPNOTSUPP;
	fate[1].times = 2;
	io = (struct io){ .op = OP_ZERO, .len = PAGE };
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, EOPNOTSUPP);
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, EOPNOTSUPP);
	assert_int_equal(fate[1].requests, 1);	/* it is not asked again */
	assert_null(tee_dropped(&all, 1));
	fate[1].err = ECANCELED;
	io = (struct io){ .op = OP_WRITE, .buf = buf, .len = PAGE };
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, ECANCELED);
	assert_null(tee_dropped(&all, 1));
	fate[1].err = EOPNOTSUPP;		/* of a write it is its own */
	fate[1].times = 1;
	request(OP_WRITE, 0);
	assert_non_null(tee_dropped(&all, 1));
	assert_int_equal(lane_detach(&lane), 0);
}

CASE(reads_each_into_its_own_buffer)
{
	struct endpoint back;
	struct lane reading;

	be_fakes();
	assert_int_equal(endpoint_readback(&back, &all, PAGE, &f), 0);
	drop_target(0);
	assert_int_equal(lane_attach(&reading, &back, 0, -1), 0);
	fate[1].err = EIO;			/* a bad block is a result */
	fate[1].times = 1;
	io = (struct io){ .op = OP_READ, .buf = buf, .len = PAGE,
		.stride = PAGE };
	lane_transfer(&reading, &io);
	assert_int_equal(io.err, 0);
	assert_null(tee_read(&reading, 0));
	assert_int_equal(tee_read(&reading, 1)->err, EIO);
	assert_int_equal(tee_read(&reading, 2)->done, PAGE);
	assert_ptr_equal(tee_read(&reading, 2)->buf, buf + 2 * PAGE);
	fate[1].err = EPROTO;
	fate[1].times = 1;
	lane_transfer(&reading, &io);
	assert_null(tee_read(&reading, 1));
	dropped = tee_dropped(&all, 1);
	assert_non_null(dropped);
	assert_non_null(strstr(dropped->text, "reading back"));
	assert_int_equal(lane_detach(&reading), 0);
	assert_int_equal(endpoint_close(&back), 0);
}

CASE(tells_what_ended_a_lane)
{
	be_fakes();
	fate[0].attach = EBUSY;
	attached();
	dropped = tee_dropped(&all, 0);
	assert_non_null(dropped);
	assert_int_equal(dropped->status, STATUS_ERRNO + EBUSY);
	assert_non_null(strstr(dropped->text, "starting a worker"));
	request(OP_WRITE, 0);
	fate[1].detach = EIO;
	assert_int_equal(lane_detach(&lane), 0);
	dropped = tee_dropped(&all, 1);
	assert_non_null(dropped);
	assert_int_equal(dropped->status, STATUS_ERRNO + EIO);
	assert_non_null(strstr(dropped->text, "writing back"));
	assert_int_equal(tee_left(&all), 1);
}

CASE(makes_each_as_long_as_it_has_to_be)
{
	be_fakes();
	to[1]->lim.base = 1000;
	assert_int_equal(endpoint_extend(&all, PAGE), 0);
	assert_int_equal(fate[0].extended, PAGE);
	assert_int_equal(fate[1].extended, PAGE + 1000);
	fate[1].extend = EFBIG;
	assert_int_equal(endpoint_extend(&all, PAGE), 0);
	dropped = tee_dropped(&all, 1);
	assert_non_null(dropped);
	assert_int_equal(dropped->status, STATUS_ERRNO + EFBIG);
	fate[0].extend = fate[2].extend = ENOSPC;
	fate[1].extended = 0;
	assert_int_equal(endpoint_extend(&all, PAGE), EIO);
	assert_int_equal(fate[1].extended, 0);	/* it is not there any more */
	assert_int_equal(endpoint_flush(&all, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOSPC);
}
