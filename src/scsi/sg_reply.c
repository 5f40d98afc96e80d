/*
 * Composing the command for an io, and what to do with the io when it fails.
 */
#include "sg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "cli/opts.h"
#include "end/backend.h"

void
sg_change(struct sg *sg, struct io *io, const char *why)
{
	sg->changed = true;
	io->err = EPROTO;
	io->status = UNIT_ATTENTION;
	io->bad_off = NOWHERE;
	snprintf(io->why, sizeof(io->why), "the medium was changed or removed"
	    "%s%s", why[0] != '\0' ? ": " : "", why);
}

/* Whether the cache of the disk may hold the data of the command. */
static bool
sg_command_cached(const struct scsi_command *c)
{
	return c->write && !c->fua;
}

void
sg_sends(struct sg *sg, const struct scsi_command *c)
{
	sg->writes += sg_command_cached(c);
}

void
sg_sent(struct sg *sg, const struct scsi_command *c, const struct scsi_reply *r)
{
	bool run = r->err == 0 && r->status != UNIT_ATTENTION &&
	    r->status != BUSY && r->status != TASK_SET_FULL;

	sg->writes -= sg_command_cached(c) && !run;
	sg->recovered += r->recovered;
	sg->indirect += r->indirect;
}

/*
 * The failure may be reported to the lane that reads the target back instead.
 * That is no problem if all of it will be read back.
 */
bool
sg_passes(const struct endpoint *ep, const struct io *io,
    const struct scsi_reply *r)
{
	const struct sg *sg = ep->priv;
	const struct sg *of = sg->target != NULL ? sg->target : sg;
	bool source = io->op == OP_READ && !ep->is.back;

	if (r->renamed && scsi_is_other(&of->path, &of->identity, true))
		return false;
	if (r->result == SCSI_AGAIN)
		return !r->restarted || of->writes == 0 ||
		    (of != sg && ep->spec.verify);
	return r->result == SCSI_MOVED || (r->result == SCSI_EARLIER && source);
}

/* Some disks report this for blocks that they cannot read. */
static bool
sg_may_be_bad(const struct lane *lane, const struct io *io,
    const struct scsi_reply *r)
{
	return io->op == OP_READ && !lane->probes &&
	    (r->status == ABORTED_COMMAND || r->status == OUT_OF_RANGE ||
	    r->status == STATUS_TIMEOUT);
}

struct scsi_command
sg_compose(const struct lane *lane, const struct io *io, unsigned char *buf)
{
	const struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	struct scsi_command c = sg->how;

	c.write = io->op != OP_READ;
	c.same = io->op == OP_ZERO;
	c.unmap = c.same && (lane->ep->spec.flags & FLAG_TRIM) != 0 &&
	    sg->disk.frees_zeros;
	c.mmap = l->map != NULL && !c.same;
	c.direct = c.direct && !lane->probes;
	c.lba = (io->off + io->done) / c.block;
	c.blocks = (uint32_t)((io->len - io->done) / c.block);
	c.buf = buf;
	return c;
}

void
sg_run(const struct lane *lane, const struct scsi_command *c,
    struct scsi_reply *r)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	size_t len = (size_t)c->blocks * c->block;

	if (c->mmap && c->write)
		memcpy(l->map, c->buf, len);
	sg_sends(sg, c);
	scsi_run(&l->path, c, r);
	sg_sent(sg, c, r);
	if (c->mmap && !c->write)
		memcpy(c->buf, l->map, r->moved);
}

void
sg_give_up(struct lane *lane, struct io *io, const struct scsi_reply *r)
{
	struct sg *sg = lane->ep->priv;
	const struct sg_lane *l = lane->priv;
	uint32_t block = sg->disk.block;

	if (r->result == SCSI_CHANGED) {
		sg_change(sg, io, r->why);
		return;
	}
	if (r->renamed && r->result == SCSI_AGAIN) {
		sg->changed = true;
		io->err = ENODEV;
		snprintf(io->why, sizeof(io->why), "another disk answers there "
		    "now, by its serial number");
		return;
	}
	io->err = r->result == SCSI_MEDIUM ? EIO : r->err != 0 ? r->err :
	    EPROTO;
	io->status = r->status;
	io->bad_off = r->has_info && r->result == SCSI_MEDIUM &&
	    r->info < INT64_MAX / block ? r->info * block : NOWHERE;
	snprintf(io->why, sizeof(io->why), "%s%s", r->result == SCSI_EARLIER ?
	    "an earlier command failed: " : "", r->result == SCSI_MOVED &&
	    r->why[0] == '\0' ? "the disk reports success, but has moved no "
	    "data" : r->why);
	if ((r->result == SCSI_FATAL || r->result == SCSI_AGAIN) &&
	    node_lost(l->path.fd)) {
		io->err = ENODEV;
		io->status = 0;
		snprintf(io->why, sizeof(io->why), "the device has gone");
	} else if (sg->changed) {
		sg_change(sg, io, "");
	} else if (sg_may_be_bad(lane, io, r)) {
		io->doubtful = true;
		sg->aborts = sg->aborts || r->status == ABORTED_COMMAND;
	}
}
