/*
 * Ends without a file: zeros or random bytes as input, /dev/null as an empty
 * input, and output that is counted and discarded.
 */
#include "end/backend.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "cli/opts.h"

static int
null_open(struct endpoint *ep, bool look, struct fault *f)
{
	(void)look, (void)f;
	ep->is.seekable = true;
	ep->is.device = false;	/* /dev/null is one, but stores nothing */
	if (ep->spec.role == SOURCE && !ep->is.endless)
		ep->geo.size = 0;
	return 0;
}

static void
fill_random(struct io *io)
{
	while (io->done < io->len && io->err == 0) {
		ssize_t n = getrandom(io->buf + io->done, io->len - io->done,
		    0);

		if (n > 0)
			io->done += (size_t)n;
		else if (errno != EINTR)
			io->err = errno;
	}
}

static void
null_transfer(struct lane *lane, struct io *io)
{
	if (io->op == OP_READ && !lane->ep->is.endless)
		return;
	if (io->op == OP_READ && (lane->ep->spec.flags & FLAG_RANDOM) != 0) {
		fill_random(io);
		return;
	}
	if (io->op == OP_READ)
		memset(io->buf, 0, io->len);
	io->done = io->len;
}

const struct backend null_backend = {
	.open = null_open,
	.transfer = null_transfer,
};
