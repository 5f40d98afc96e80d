/*
 * NVMe commands that failed through no fault of the disk: which of them are
 * repeated, and after how long.
 *
 * A transient error is retried a few times.  A command that has used up its
 * timeout would do so again, so it is retried once, or not at all if the copy
 * can continue after its blocks.  If there is no path to the namespace (its
 * controllers are being reset or connected, or none of them has a path in
 * service), the block layer would wait without limit; here all lanes together
 * wait for up to timeout=.
 */
#include "nvme_end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "disk/sysfs.h"
#include "end/node.h"
#include "scsi/scsi.h"

enum {
	TRIES = 10,		/* retries of a transient error */
	LATE_TRIES = 1,		/* retries after a timeout */
	TICK = 100,		/* ms between looks at a path */
	MS = 1000000,		/* ns */
};

/* Read the state of the controller; false if unknown. */
static bool
nvme_controller_state(int fd, char *state, size_t room)
{
	struct stat st;
	int dir;
	bool told;

	if (fstat(fd, &st) != 0)
		return false;
	dir = sysfs_open(S_ISBLK(st.st_mode) ? "block" : "char", st.st_rdev);
	told = sysfs_text(dir, "device/state", state, room);
	if (dir >= 0)
		close(dir);
	return told;
}

/* Wait for a controller that is being reset, for up to timeout=. */
static void
await_reset(const struct lane *lane)
{
	const struct nvme *nv = lane->ep->priv;
	unsigned left = nv->how.timeout / TICK;
	char state[32];

	while (left-- > 0 && nvme_controller_state(nv->fd, state,
	    sizeof(state)) && (strcmp(state, "resetting") == 0 ||
	    strcmp(state, "connecting") == 0) && !lane_halted(lane, TICK))
		continue;
}

/* Whether to look for a path once more, after a pause. */
static bool
await_way(const struct lane *lane, struct io *io, struct nvme_wait *w)
{
	struct nvme *nv = lane->ep->priv;
	uint64_t now = clock_ns();

	if (w->since == 0)
		w->since = now;
	if (!nv->away && now - w->since < (uint64_t)nv->how.timeout * MS) {
		if (!lane_halted(lane, TICK))
			return true;
		if (io->op == OP_READ)
			io->err = ECANCELED;
	}
	nv->away = true;
	return false;
}

/* Whether the command has used up its timeout. */
static bool
nvme_wait_late(const struct nvme *nv, const struct nvme_wait *w)
{
	return clock_ns() - w->began >= (uint64_t)nv->how.timeout * MS;
}

/* How often a failed command may be repeated. */
static unsigned
nvme_wait_tries(const struct lane *lane, const struct io *io,
    const struct nvme_wait *w)
{
	const struct endpoint *ep = lane->ep;

	if (!nvme_wait_late(ep->priv, w))
		return TRIES;
	return io->op == OP_READ && !ep->is.back &&
	    (ep->spec.coe || ep->spec.rescue) ? 0 : LATE_TRIES;
}

bool
nvme_passes(const struct lane *lane, struct io *io,
    const struct nvme_reply *r, struct nvme_wait *w)
{
	struct nvme *nv = lane->ep->priv;

	if ((r->result != NVME_AGAIN && r->result != NVME_AWAY) ||
	    node_lost(nv->fd))
		return false;
	if (r->result == NVME_AGAIN && w->tries >= nvme_wait_tries(lane, io, w))
		return false;
	nv->again++;
	if (r->result == NVME_AWAY)
		return await_way(lane, io, w);
	if (r->err == EINTR)
		await_reset(lane);
	scsi_pause((int)w->tries++);
	return true;
}

bool
nvme_flush_out(const struct nvme *nv, struct nvme_reply *r)
{
	uint64_t end = clock_ns() + (uint64_t)nv->how.timeout * MS;
	int try = 0;

	while (!nvme_flush(nv->fd, &nv->disk, nv->how.timeout, r)) {
		if (!r->unrun || node_lost(nv->fd) || clock_ns() >= end ||
		    (nv->away && try >= TRIES))
			return false;
		scsi_pause(try++);
	}
	return true;
}
