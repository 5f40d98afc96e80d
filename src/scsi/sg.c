/*
 * SCSI disks by their commands: sg and bsg nodes, and block nodes with the word
 * sgio.
 *
 * A transfer is cut into commands that the disk (VPD B0h) and the host accept.
 * The limit of the host is found by trying: a command refused as too large
 * halves "most" for all lanes.
 *
 * Zeros are made by WRITE SAME (16), if the disk says how many blocks it may
 * cover (VPD B0h): one block is sent for all of them.
 *
 * A residual is data that was not moved, and is requested again.  Transient
 * errors (unit attention, aborted command, busy) are retried ten times with
 * growing pauses, but not if the medium may have changed.  A read that still
 * fails is treated as a bad block if other blocks can be read.
 */
#include "sg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "end/reopen.h"

enum {
	SAME = 32 << 20,	/* bytes per WRITE SAME, at most */
};

/* The host refuses a command of n blocks: use half of that in all lanes. */
static bool
sg_shrink(struct sg *sg, uint32_t n)
{
	unsigned half = n / 2, least = 4096 / sg->disk.block;

	if (half == 0 || half < least)
		return false;
	if (sg->most > half)
		sg->most = half;
	sg->shrunk++;
	return true;
}

/* How often to repeat a command that was aborted. */
static int
sg_tries(const struct sg *sg, const struct io *io, const struct scsi_reply *r)
{
	return sg->aborts && io->op == OP_READ &&
	    r->status == ABORTED_COMMAND ? FEW_TRIES : SCSI_TRIES;
}

/* Limit WRITE SAME so that a slow disk can execute it within the timeout. */
static unsigned
same_blocks(const struct sg *sg)
{
	unsigned most = SAME / sg->disk.block;

	return sg->disk.same_most < most ? sg->disk.same_most : most;
}

/* How many of n blocks one command may have. */
static uint32_t
blocks_at_once(const struct sg *sg, const struct sg_lane *l,
    const struct scsi_command *c, uint32_t n)
{
	size_t most = c->same ? same_blocks(sg) : sg->most;

	if (c->mmap && l->map_len / c->block < most)
		most = l->map_len / c->block;
	return n < most ? n : (uint32_t)most;
}

/*
 * Move n blocks at lba to or from buf, or the first of them if the disk has
 * fewer.  Returns the bytes moved; 0 with an error in the io.
 */
static size_t
sg_move_blocks(const struct lane *lane, struct io *io, unsigned char *buf,
    uint64_t lba, uint32_t n)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	struct scsi_command c = sg_compose(lane, io, buf, lba);
	struct scsi_reply r;
	int try = 0;

	if (lba >= sg->disk.blocks)
		io->err = ENOSPC;
	else if (n > sg->disk.blocks - lba)
		n = (uint32_t)(sg->disk.blocks - lba);
	while (io->err == 0) {
		if (sg->changed) {
			sg_change(sg, io, "");
			break;
		}
		c.blocks = blocks_at_once(sg, l, &c, n);
		sg_run(lane, &c, &r);
		if (r.result == SCSI_MOVED && r.moved > 0)
			return r.moved;
		if (r.result == SCSI_SMALLER && !c.same &&
		    sg_shrink(sg, c.blocks))
			continue;
		if (sg_passes(lane->ep, io, &r) && try < sg_tries(sg, io, &r)) {
			sg->again++;
			scsi_pause(try++);
			continue;
		}
		sg_give_up(lane, io, &r);
		if (c.same && r.unknown)
			io->err = EOPNOTSUPP;
	}
	return 0;
}

/* Read parts of blocks by way of a bounce buffer. */
static void
sg_read_unaligned(const struct lane *lane, struct io *io)
{
	const struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	uint32_t block = sg->disk.block;
	uint64_t at = io->off + io->done;
	size_t skip = (size_t)(at % block), want = io->len - io->done, got;
	size_t n = (skip + want + block - 1) / block;

	if (n > SG_BOUNCE / block)
		n = SG_BOUNCE / block;
	got = sg_move_blocks(lane, io, l->bounce, at / block, (uint32_t)n);
	if (io->err != 0)
		return;
	got -= skip;
	got = got < want ? got : want;
	memcpy(io->buf + io->done, l->bounce + skip, got);
	io->done += got;
}

/* Zero whole blocks.  A disk that refuses WRITE SAME is not sent another. */
static void
sg_zero(const struct lane *lane, struct io *io)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	uint32_t block = sg->disk.block;
	uint64_t left;

	if (sg->no_same || io->off % block != 0 || io->len % block != 0) {
		io->err = EOPNOTSUPP;
		return;
	}
	memset(l->bounce, 0, block);
	while (io->done < io->len && io->err == 0) {
		left = (io->len - io->done) / block;
		io->done += sg_move_blocks(lane, io, l->bounce,
		    (io->off + io->done) / block, left < UINT32_MAX ?
		    (uint32_t)left : UINT32_MAX);
	}
	if (io->err == EOPNOTSUPP)
		sg->no_same = true;
}

void
sg_transfer(struct lane *lane, struct io *io)
{
	const struct sg *sg = lane->ep->priv;
	uint32_t block = sg->disk.block;

	if (io->op == OP_ZERO) {
		sg_zero(lane, io);
		return;
	}
	while (io->done < io->len && io->err == 0) {
		uint64_t at = io->off + io->done;
		size_t left = io->len - io->done;

		if (at / block >= sg->disk.blocks && io->op == OP_READ)
			break;
		if (at % block == 0 && left >= block)
			io->done += sg_move_blocks(lane, io, io->buf + io->done,
			    at / block, (uint32_t)(left / block));
		else if (io->op == OP_READ)
			sg_read_unaligned(lane, io);
		else
			io->err = EINVAL;
	}
}

void
sg_end(struct lane *lane, struct io *io, const struct scsi_reply *r)
{
	struct sg *sg = lane->ep->priv;

	sg->again += r->result == SCSI_AGAIN;
	if (r->result == SCSI_MOVED)
		io->done += r->moved;
	else if (r->result != SCSI_SMALLER && !sg_passes(lane->ep, io, r))
		sg_give_up(lane, io, r);
	if (io->err == 0 && io->done < io->len)
		sg_transfer(lane, io);
}

static void
sg_conclude(struct lane *lane, struct io *io)
{
	struct scsi_reply r;

	sg_take(lane, io, &r);
	sg_end(lane, io, &r);
}

/*
 * Uses the descriptor of the queries, which may be read-only.  Its errors are
 * not counted in the notes about the copy.
 */
void
sg_probe(struct endpoint *ep, struct io *io)
{
	struct sg *sg = ep->priv;
	unsigned indirect = sg->indirect;
	struct sg_lane l = { .path = sg->path };
	struct lane lane = { .ep = ep, .halt = -1, .priv = &l };

	lane_transfer(&lane, io);
	sg->indirect = indirect;
}

int
sg_flush(struct endpoint *ep, struct fault *f)
{
	const struct sg *sg = ep->priv;
	struct scsi_reply r = { .result = SCSI_CHANGED };

	if (!sg->changed && scsi_sync(&sg->path, sg->writes > 0, &r))
		return 0;
	if (r.result == SCSI_CHANGED)
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: the medium was "
		    "changed or removed before it was flushed", ep->name);
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: SYNCHRONIZE CACHE failed"
	    ": %s", ep->name, r.why[0] != '\0' ? r.why : errno_words(r.err));
}

/* Read one block to see whether the disk supports FUA. */
static int
sg_try_fua(struct endpoint *r, struct fault *f)
{
	struct io io;
	int failed = endpoint_probe_first(r, &io, f);

	if (failed == 0 && io.status == ILLEGAL_REQUEST)
		failed = fault_set(f, STATUS_REFUSED, "%s cannot be read past "
		    "its cache: it refuses READ with FUA (%s)", r->name,
		    io.why);
	if (failed != 0)
		sg_close(r);
	return failed;
}

/*
 * Reads with FUA come from the medium: cached blocks are written first, and not
 * returned (SBC-4, READ (10), force unit access).  A disk without FUA refuses
 * the command, and then its medium cannot be verified.
 */
int
sg_readback(const struct endpoint *target, struct endpoint *r, struct fault *f)
{
	struct sg *of = target->priv;
	struct sg *sg = malloc(sizeof(*sg));

	if (sg == NULL)
		return fault_errno(f, ENOMEM, "%s", target->name);
	*sg = (struct sg){ .path = of->path, .disk = of->disk,
		.how = of->how, .shared = of->shared, .target = of,
		.good = NOWHERE };
	sg->how.fua = true;
	sg->how.mmap = false;
	sg->how.cdb_size = of->how.cdb_size == 6 ? 10 : of->how.cdb_size;
	sg->most = of->most;
	r->be = target->be;
	r->priv = sg;
	r->spec.flags &= ~(unsigned)FLAG_EXCL;
	r->geo.io_align = sg->disk.block;
	r->geo.size = (int64_t)(sg->disk.blocks * sg->disk.block);
	if (sg->path.node != SCSI_CARRIED)
		sg->path.fd = of->shared ? fcntl(of->path.fd, F_DUPFD_CLOEXEC,
		    3) : reopen(of->path.fd, endpoint_path(target), O_RDONLY |
		    O_NONBLOCK);
	if (sg->path.node != SCSI_CARRIED && sg->path.fd < 0) {
		fault_errno(f, errno, "%s: opening it to read it back",
		    target->name);
		free(sg);
		return -1;
	}
	return sg_try_fua(r, f);
}

void
sg_note(const struct endpoint *ep, char *text, size_t room)
{
	const struct sg *sg = ep->priv;
	bool loud = ep->spec.loud;
	int n = 0;

	text[0] = '\0';
	if (sg->recovered > 0)
		n += snprintf(text + n, room - (size_t)n,
		    "%u recovered errors; ", sg->recovered);
	if (sg->again > 0 && loud)
		n += snprintf(text + n, room - (size_t)n,
		    "%u commands retried; ", sg->again);
	if (sg->shrunk > 0 && loud)
		n += snprintf(text + n, room - (size_t)n,
		    "the host takes %u blocks a command; ", sg->most);
	if (sg->indirect > 0)
		n += snprintf(text + n, room - (size_t)n, "%u commands were "
		    "not direct (/sys/module/sg/parameters/allow_dio); ",
		    sg->indirect);
	if (n > 1)
		text[n - 2] = '\0';
}

int
sg_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t most, struct fault *f)
{
	const struct sg *sg = ep->priv;

	(void)from;
	(void)to;
	(void)most;
	return !scsi_is_other(&sg->path, &sg->identity) ? 0 :
	    fault_set(f, status_errno(ENODEV), "%s: another disk answers "
	    "there now, by its serial number", ep->name);
}

const struct backend sg_backend = {
	.open = sg_open,
	.prepare = sg_prepare,
	.attach = sg_attach,
	.detach = sg_detach,
	.transfer = sg_transfer,
	.extent = sg_extent,
	.check_kept = sg_check_kept,
	.start = sg_start,
	.pollfd = sg_pollfd,
	.service = sg_service,
	.conclude = sg_conclude,
	.flush = sg_flush,
	.probe = sg_probe,
	.open_readback = sg_readback,
	.note = sg_note,
	.close = sg_close,
};
