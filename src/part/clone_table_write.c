/*
 * Writing the partition table of a clone.
 */
#include "part/clone_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "end/lane.h"

enum { SECTOR_MOST = 4096 };	/* bytes of any sector */

static int
table_transfer(struct lane *lane, enum op op, const struct table_write *w,
    unsigned char *buf, struct fault *f)
{
	struct io io = { .op = op, .buf = buf, .off = w->at, .len = w->len,
		.careful = op == OP_READ };

	lane_transfer(lane, &io);
	if (io.err == 0 && io.done == w->len)
		return 0;
	lane_describe(f, lane, &io, op == OP_READ ?
	    "reading back the partition table" :
	    "writing the partition table");
	return -1;
}

/* Write one step, and flush it. */
static int
table_step(const struct clone_table *t, unsigned step, struct lane *lane,
    struct fault *f)
{
	bool any = false;
	size_t i;

	for (i = 0; i < t->n; i++) {
		if (t->write[i].step != step)
			continue;
		any = true;
		if (table_transfer(lane, OP_WRITE, &t->write[i],
		    t->write[i].data, f) != 0)
			return -1;
	}
	if (!any || endpoint_flush(lane->ep, f) == 0)
		return 0;
	f->status = STATUS_NOT_FLUSHED;
	return -1;
}

static int
table_check(const struct clone_table *t, struct endpoint *dst, struct fault *f)
{
	struct endpoint back;
	struct lane lane;
	unsigned char *buf;
	int failed = 0, err;
	size_t i;

	if (endpoint_readback(&back, dst, SECTOR_MOST, f) != 0)
		return -1;
	err = lane_attach(&lane, &back, 0, -1);
	if (err != 0)
		lane_unattached(f, &lane, err);
	for (i = 0; err == 0 && failed == 0 && i < t->n; i++) {
		const struct table_write *w = &t->write[i];
		struct table_write whole = { .at = w->at - w->at %
			back.geo.io_align };
		size_t before = (size_t)(w->at - whole.at);

		whole.len = (size_t)round_up(before + w->len,
		    back.geo.io_align);
		buf = page_alloc(whole.len);
		if (buf == NULL)
			failed = fault_errno(f, ENOMEM, "%s: reading back the "
			    "partition table", dst->name);
		else if (table_transfer(&lane, OP_READ, &whole, buf, f) != 0)
			failed = -1;
		else if (memcmp(buf + before, w->data, w->len) != 0)
			failed = fault_set(f, STATUS_MISMATCH, "%s: the "
			    "partition table is not what was written there",
			    dst->name);
		free(buf);
	}
	if (err == 0)
		lane_detach(&lane);
	endpoint_close(&back);
	return err != 0 ? -1 : failed;
}

int
clone_table_write(const struct clone_table *t, struct endpoint *dst, bool back,
    struct fault *f)
{
	struct lane lane;
	unsigned step;
	int err, failed = 0;

	if (t->n == 0)
		return 0;
	err = lane_attach(&lane, dst, 0, -1);
	if (err != 0) {
		lane_unattached(f, &lane, err);
		return -1;
	}
	for (step = 0; failed == 0 && step < TABLE_STEPS; step++)
		failed = table_step(t, step, &lane, f);
	err = lane_detach(&lane);
	if (failed == 0 && err != 0)
		failed = fault_errno(f, err, "%s: writing the partition table",
		    dst->name);
	return failed == 0 && back ? table_check(t, dst, f) : failed;
}
