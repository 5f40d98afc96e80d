/*
 * Setting up an io_uring, submitting to it, and waiting, also for libraries.
 */
#include "uring.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

enum { SECOND = 1000000000 };	/* ns */

static const short poll_events[POLLS] = { POLLIN, POLLOUT };

/* Tell the kernel that one thread submits and waits, which is cheapest. */
int
uring_open(struct uring *u, unsigned slots)
{
	static const unsigned flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		0,			/* Linux before 6.1 */
	};
	unsigned large = u->wide ? IORING_SETUP_SQE128 |
	    IORING_SETUP_CQE32 : 0;
	int err = -ENOSYS;
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]) && err < 0; i++)
		err = io_uring_queue_init(slots * 2 + 2 * LIBRARIES * POLLS,
		    &u->ring, flags[i] | large | IORING_SETUP_R_DISABLED);
	return -err;
}

void
uring_close(struct uring *u)
{
	io_uring_queue_exit(&u->ring);
}

int
uring_enable(struct uring *u)
{
	int err = io_uring_enable_rings(&u->ring);

	return err < 0 ? -err : 0;
}

/*
 * The ring has two entries for each slot, which has one request at a time, and
 * for each poll.  A large entry takes as much space as two.
 */
void
uring_enter(struct uring *u, const struct io_uring_sqe *request, void *data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	assert(sqe != NULL);
	memcpy(sqe, request, sizeof(*sqe) * (u->wide ? URING_LARGE : 1));
	io_uring_sqe_set_data(sqe, data);
}

unsigned
uring_unsubmitted(const struct uring *u)
{
	return io_uring_sq_ready(&u->ring);
}

/* The nth poll, over all libraries. */
static bool *
nth_poll(struct uring *u, size_t n, struct library **lib)
{
	*lib = &u->library[n / POLLS];
	return &(*lib)->polled[n % POLLS];
}

/* Handle a completion that belongs to a library; false if it is another. */
static bool
uring_served(struct uring *u, const void *data)
{
	struct library *lib;
	bool *polled;
	size_t i;

	for (i = 0; i < (size_t)LIBRARIES * POLLS; i++) {
		polled = nth_poll(u, i, &lib);
		if (data != polled)
			continue;
		*polled = false;
		lane_service(lib->lane);
		return true;
	}
	return false;
}

bool
uring_next(struct uring *u, void **data, int *result)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
		*data = io_uring_cqe_get_data(cqe);
		*result = cqe->res;
		io_uring_cqe_seen(&u->ring, cqe);
		/* NULL: a poll was removed */
		if (*data != NULL && !uring_served(u, *data))
			return true;
	}
	return false;
}

int
uring_wait(struct uring *u, uint64_t ns)
{
	struct __kernel_timespec t = { .tv_sec = (long long)(ns / SECOND),
		.tv_nsec = (long long)(ns % SECOND) };
	struct io_uring_cqe *cqe;
	int err = ns == 0 ? io_uring_submit_and_wait(&u->ring, 1) :
	    io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, &t, NULL);

	return err >= 0 || err == -ETIME || err == -EINTR || err == -EAGAIN ||
	    err == -EBUSY ? 0 : -err;
}

bool
uring_serving(const struct uring *u)
{
	return u->library[0].busy + u->library[1].busy > 0;
}

struct io *
uring_ended(struct uring *u)
{
	struct library *lib;
	struct io *io;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++) {
		io = lane_ended(lib->lane);
		if (io != NULL) {
			lib->busy--;
			return io;
		}
	}
	return NULL;
}

void
uring_service(struct uring *u)
{
	struct library *lib;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++)
		if (lib->busy > 0)
			lane_service(lib->lane);
}

bool
uring_wait_library(struct uring *u, int ms)
{
	struct library *lib;
	struct pollfd p;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++) {
		if (lib->busy == 0)
			continue;
		p.fd = lane_pollfd(lib->lane, &p.events);
		poll(&p, 1, ms);
		lane_service(lib->lane);
		return true;
	}
	return false;
}

void
uring_arm(struct uring *u)
{
	struct library *lib;
	struct io_uring_sqe sqe[URING_LARGE];
	short events;
	size_t i;
	int fd;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++) {
		fd = lane_pollfd(lib->lane, &events);
		for (i = 0; i < POLLS && fd >= 0; i++) {
			if (lib->polled[i] || (events & poll_events[i]) == 0)
				continue;
			memset(sqe, 0, sizeof(sqe));
			io_uring_prep_poll_add(sqe, fd,
			    (unsigned)poll_events[i]);
			uring_enter(u, sqe, &lib->polled[i]);
			lib->polled[i] = true;
		}
	}
}

void
uring_disarm(struct uring *u)
{
	struct io_uring_sqe sqe[URING_LARGE];
	struct library *lib;
	bool *polled;
	size_t i;

	for (i = 0; i < (size_t)LIBRARIES * POLLS; i++) {
		polled = nth_poll(u, i, &lib);
		if (!*polled)
			continue;
		memset(sqe, 0, sizeof(sqe));
		io_uring_prep_poll_remove(sqe, (uintptr_t)polled);
		uring_enter(u, sqe, NULL);
	}
}

bool
uring_armed(const struct uring *u)
{
	const struct library *lib;

	for (lib = u->library; lib < u->library + LIBRARIES; lib++)
		if (lib->polled[0] || lib->polled[1])
			return true;
	return false;
}
