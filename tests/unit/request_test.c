/*
 * A request becomes commands, for all kinds of end alike: of whole units, no
 * larger than the end takes, and none beyond its end.
 */
#include "test.h"

#include "end/backend.h"
#define POOR_OF_ALL
#include "poor.h"

enum { SIZE = 192 << 10 };

static const struct row {
	struct { unsigned unit, most, zero_most, end; } cmd;
	enum op	 op;
	unsigned off, len;
	const char *commands;	/* that come of it, as "offset+length ..." */
	unsigned done;
	int	 err;
	unsigned host;		/* it takes so many bytes; 0: any */
	unsigned lacks;		/* bytes that the first one does not move */
	int	 fails;		/* a command fails so, */
	unsigned good;		/* ... after so many that do not */
	unsigned most;		/* of a command from now on, if not as before */
} rows[] = {
#define R	OP_READ
#define W	OP_WRITE
#define Z	OP_ZERO
#define DISK	{ 512, 4096, 30720, 65536 }
#define BIG	{ 512, 32768, 0, 65536 }
#define ODD	{ 512, 65536, 0, 65436 }	/* not of whole units */
#define BYTES	{ 1, 4096, 4096, 65536 }
#define ANY	{ 0, 0, 0, 0 }			/* it cuts by itself */
	/* whole units */
	{ DISK, R, 0, 8704, "0+4096 4096+4096 8192+512", .done = 8704 },
	{ DISK, W, 512, 4096, "512+4096", .done = 4096 },
	{ { 512, 2560, 0, 65536 }, R, 0, 4096, "0+2560 2560+1536",
		.done = 4096 },
	{ DISK, R, 512, 10240, "512+4096 3072+4096 7168+3584", .done = 10240,
		.lacks = 1536 },
	{ DISK, R, 1, 8192, "0+4096", .done = 0, .lacks = 4096 },
	{ DISK, R, 0, 8192, "0+4096 4096+4096", .done = 4096, .err = EIO,
		.good = 1,
		.fails = EIO },
	{ DISK, R, 0, 8192, "0+4096", .done = 1024, .err = EIO, .lacks = 3072,
		.fails = EIO },
	{ DISK, W, 0, 8192, "0+4096", .err = EBUSY, .fails = EBUSY },
	/* up to the end */
	{ DISK, R, 64512, 2048, "64512+1024", .done = 1024 },
	{ DISK, R, 65536, 512, "", .done = 0 },
	{ DISK, R, 70144, 512, "", .done = 0 },
	{ DISK, W, 64512, 2048, "64512+1024", .done = 1024, .err = ENOSPC },
	{ DISK, R, 65024, 512, "65024+512", .done = 512 },
	{ DISK, W, 65536, 512, "", .err = ENOSPC },
	{ ODD, R, 0, 65536, "0+65436", .done = 65436 },
	{ ODD, R, 65025, 512, "65024+412", .done = 411 },
	{ ODD, W, 65024, 412, "65024+412", .done = 412 },
	/* parts of units are read by way of a buffer, and never written */
	{ DISK, R, 1, 1, "0+512", .done = 1 },
	{ DISK, R, 511, 2, "0+1024", .done = 2 },
	{ DISK, R, 612, 412, "512+512", .done = 412 },
	{ DISK, R, 100, 2048, "0+2560", .done = 2048 },
	{ DISK, R, 0, 700, "0+512 512+512", .done = 700 },
	{ DISK, R, 65436, 200, "65024+512", .done = 100 },
	{ DISK, R, 100, 5000, "0+4096 4096+512 4608+512", .done = 5000 },
	{ DISK, R, 700, 900, "512+1536 1024+512 1536+512", .done = 900,
		.lacks = 1024 },
	{ DISK, R, 700, 100, "512+512", .err = EIO, .fails = EIO },
	{ { 512, SIZE, 0, SIZE }, R, 100, SIZE - 200,
		"0+131072 131072+65024 196096+512", .done = SIZE - 200 },
	{ DISK, W, 1, 512, "", .err = EINVAL },
	{ DISK, W, 512, 513, "512+512", .done = 512, .err = EINVAL },
	/* no more than the host takes, which takes a page */
	{ BIG, W, 0, 32768, "0+32768 0+16384 0+8192 0+4096", .err = EINVAL,
		.host = 1, .most = 4096 },
	{ BIG, R, 0, 9728, "0+9728 0+4608 4608+4608 9216+512", .done = 9728,
		.host = 4608, .most = 4608 },
	{ DISK, R, 0, 5120, "0+4096", .err = EINVAL, .host = 1 },
	{ { 65536, SIZE, 0, SIZE }, R, 0, 65536, "0+65536", .err = EINVAL,
		.host = 1 },
	/* zeros, where it makes them */
	{ DISK, Z, 512, 51200, "512+30720 31232+20480", .done = 51200 },
	{ DISK, Z, 65024, 1024, "65024+512", .done = 512, .err = ENOSPC },
	{ DISK, Z, 1, 512, "", .err = EOPNOTSUPP },
	{ DISK, Z, 0, 513, "", .err = EOPNOTSUPP },
	{ DISK, Z, 0, 512, "0+512", .err = EIO, .fails = EIO },
	{ DISK, Z, 0, 512, "0+512", .err = EOPNOTSUPP, .fails = EBUSY },
	{ BIG, Z, 0, 512, "", .err = EOPNOTSUPP },
	/* any bytes */
	{ BYTES, R, 100, 5000, "100+4096 4196+904", .done = 5000 },
	{ BYTES, R, 65530, 10, "65530+6", .done = 6 },
	{ BYTES, W, 65530, 10, "65530+6", .done = 6, .err = ENOSPC },
	{ BYTES, Z, 1, 5000, "1+4096 4097+904", .done = 5000 },
	{ ANY, R, 100, 5000, "100+5000", .done = 5000 },
	{ ANY, W, 1, 5000, "1+5000", .err = EBUSY, .fails = EBUSY },
	{ ANY, Z, 1, 5000, "1+5000", .err = EOPNOTSUPP, .fails = EBUSY },
};

static const struct row *row;
static struct endpoint end;
static struct lane lane;
static struct io io;
static unsigned char bytes[SIZE], buf[SIZE] __attribute__((aligned(4096)));
static size_t begun;		/* bytes of the command under way */
static unsigned commands;
static char said[200];

/* ------------------------------------------------------------ a mock end */

static void
carry_out(struct lane *l, struct io *i)
{
	uint64_t at = i->off + i->done;
	size_t n = i->len - i->done;

	for (;;) {
		snprintf(said + strlen(said), sizeof(said) - strlen(said),
		    "%s%u+%zu", commands == 0 ? "" : " ", (unsigned)at, n);
		commands++;
		if (row->host == 0 || n <= row->host)
			break;
		if (!request_shrink(l, n)) {
			i->err = EINVAL;
			return;
		}
		n = request_next(l, i);
	}
	if (row->fails != 0 && commands == row->good + 1) {
		i->err = row->fails;
		if (row->lacks == 0)
			return;
	}
	if (commands == 1)
		n -= row->lacks;
	assert_true(at + n <= SIZE);
	if (i->op == OP_READ)
		memcpy(i->buf + i->done, bytes + at, n);
	else if (i->op == OP_WRITE)
		memcpy(bytes + at, i->buf + i->done, n);
	else
		memset(bytes + at, 0, n);
	i->done += n;
}

static bool
start(struct lane *l, struct io *i, struct io_uring_sqe *sqe)
{
	begun = i->len - i->done;
	return true;
}

static void
service(struct lane *l)
{
	lane_over(l, &io);
}

static void
finish(struct lane *l, struct io *i, int result)
{
	size_t len = i->len;

	i->len = i->done + begun;
	carry_out(l, i);
	i->len = len;
}

static const struct backend *const ends[] = {
	&(const struct backend){ .transfer = carry_out },
	&(const struct backend){ .transfer = carry_out, .start = start,
	    .finish = finish, .service = service },
	&(const struct backend){ .transfer = carry_out, .start = start,
	    .finish = finish },
};

/* ------------------------------------------------------------------- cases */

static unsigned char
was(uint64_t at)
{
	return (unsigned char)(at * 7 + at / 512 + 1);
}

static void
begin(const struct row *r, const struct backend *be, uint64_t origin)
{
	size_t i;

	row = r;
	commands = 0;
	said[0] = '\0';
	for (i = 0; i < SIZE; i++)
		bytes[i] = was(i);
	memset(buf, 0xee, SIZE);
	end = (struct endpoint){ .be = be, .name = "it", .fd = -1, .dir = -1,
		.layer = -1, .lim.end = UINT64_MAX, .cmd = { .unit =
		r->cmd.unit, .most = r->cmd.most, .zero_most =
		r->cmd.zero_most, .end = r->cmd.end } };
	assert_int_equal(lane_attach(&lane, &end, origin, -1), 0);
	io = (struct io){ .op = r->op, .buf = buf, .off = r->off - origin,
		.len = r->len };
}

/* What the row says is so, and no other byte has changed. */
static void
ended(void)
{
	size_t i;

	if (strcmp(said, row->commands) != 0 || io.err != row->err ||
	    io.done != row->done)
		fail_msg("%u+%u: \"%s\" error %d, %zu done", row->off,
		    row->len, said, io.err, io.done);
	assert_int_equal(io.len, row->len);
	assert_int_equal(io.off, row->off - lane.origin);
	assert_ptr_equal(io.buf, buf);
	assert_int_equal(end.cmd.most, row->most != 0 ? row->most :
	    row->cmd.most);
	for (i = 0; i < SIZE; i++) {
		bool there = i - row->off < io.done;

		if (bytes[i] != (!there || row->op == OP_READ ? was(i) :
		    row->op == OP_WRITE ? 0xee : 0))
			fail_msg("%u+%u: byte %zu", row->off, row->len, i);
		if (buf[i] != (row->op == OP_READ && i < io.done ?
		    was(row->off + i) : 0xee))
			fail_msg("%u+%u: %zu read", row->off, row->len, i);
	}
	assert_int_equal(lane_detach(&lane), 0);
}

/* What moves whole units, and fits, is not waited for; a ring takes one. */
static bool
starts(const struct backend *be)
{
	return be->start != NULL && row->op != OP_ZERO && (row->cmd.unit == 0 ||
	    (row->off % row->cmd.unit == 0 && row->len % row->cmd.unit == 0 &&
	    row->off + row->len <= row->cmd.end &&
	    (be->service != NULL || row->len <= row->cmd.most)));
}

CASE(becomes_commands)
{
	const struct row *r;
	size_t i;

	for (r = rows; r < rows + sizeof(rows) / sizeof(rows[0]); r++)
		for (i = 0; i < 3; i++) {
			begin(r, ends[i], i * r->off / 2);
			if (lane_start(&lane, &io, NULL) != starts(ends[i]))
				fail_msg("%u+%u: started", r->off, r->len);
			if (!starts(ends[i]))
				lane_transfer(&lane, &io);
			else if (!lane_serves(&lane))
				lane_finish(&lane, &io, 0);
			else
				while (lane_ended(&lane) == NULL)
					lane_service(&lane);
			ended();
		}
}

CASE(asks_once_for_zeros_that_are_refused)
{
	static const struct row r = { DISK, Z, 0, 512, "0+512 0+512",
		.fails = EOPNOTSUPP, .good = 1 };

	begin(&r, ends[0], 0);
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, 0);
	lane_transfer(&lane, &io);
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, EOPNOTSUPP);
	assert_string_equal(said, "0+512 0+512");
	assert_int_equal(lane_detach(&lane), 0);
}

CASE(counts_how_often_it_was_halved)
{
	static const struct row r = { BIG, R, 0, 32768, "0+32768 0+16384 "
		"0+8192 8192+8192 16384+8192 24576+8192", .done = 32768,
		.host = 10240, .most = 8192 };

	begin(&r, ends[0], 0);
	lane_transfer(&lane, &io);
	assert_int_equal(end.cmd.shrunk, 2);
	assert_true(request_shrink(&lane, 32768));	/* as others saw it */
	ended();
}

/* The end of a partition is one, too. */
CASE(ends_where_the_partition_does)
{
	static const struct row r = { DISK, W, 512, 1024, "512+512",
		.done = 512, .err = ENOSPC };

	begin(&r, ends[0], 0);
	end.lim.end = 1024;
	end.lim.part = 3;
	lane_transfer(&lane, &io);
	assert_string_equal(io.why, "partition 3 ends there");
	ended();
}

#ifdef POOR
CASE(needs_memory_for_a_part_of_a_unit)
{
	static const struct row r = { DISK, R, 1, 1, "", .err = ENOMEM };

	begin(&r, ends[0], 0);
	poor_after(0);
	lane_transfer(&lane, &io);
	assert_true(poor_was());
	ended();
}
#endif
