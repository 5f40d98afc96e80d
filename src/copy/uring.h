/*
 * The io_uring of one thread.
 *
 * An end that io_uring does not support sends requests itself, as a library
 * does.  The ring polls the descriptors of its lane, so that there is one place
 * to wait for all that is in flight.
 */
#ifndef PARDD_URING_H
#define PARDD_URING_H

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

#include "end/lane.h"

enum {
	URING_LARGE = 2,	/* entries taken up by a large one */
	LIBRARIES = 2,
	POLLS = 2,		/* of a library: to read, to write */
};

struct library {		/* that sends the requests of a lane */
	struct lane	*lane;
	unsigned	 busy;	/* requests in flight */
	bool		 polled[POLLS];	/* the poll is in the ring */
};

struct uring {
	struct io_uring	 ring;
	struct library	 library[LIBRARIES];	/* of source and target */
	bool		 wide;	/* the ring has large entries */
};

/*
 * Open the ring, for one request at a time of each of "slots", and for the
 * polls.  The lanes are in library[] already, and the struct stays where it is.
 * Returns 0, or an errno value.
 */
int uring_open(struct uring *, unsigned slots);
void uring_close(struct uring *);

/* Called first by the thread that uses the ring.  Returns as uring_open. */
int uring_enable(struct uring *);

/* Submit a request with the next wait; data comes back with its completion. */
void uring_enter(struct uring *, const struct io_uring_sqe *request,
    void *data);

/* How many entries have not been submitted yet. */
unsigned uring_unsubmitted(const struct uring *);

/*
 * Take the next completion of a request.  A poll that has ended lets its
 * library work.  Returns false if there is no completion.
 */
bool uring_next(struct uring *, void **data, int *result);

/*
 * Wait for a completion, but not longer than ns nanoseconds; 0: without limit.
 * Returns 0, or an errno value if the ring itself fails.
 */
int uring_wait(struct uring *, uint64_t ns);

/* Whether any library has requests in flight. */
bool uring_serving(const struct uring *);

/* Take a request that a library has finished, or NULL. */
struct io *uring_ended(struct uring *);

/* Let all libraries work that have requests in flight. */
void uring_service(struct uring *);

/*
 * Wait for a library without the ring, for at most ms milliseconds.  Returns
 * false if none has requests in flight.
 */
bool uring_wait_library(struct uring *, int ms);

/* Have the ring poll the descriptors of the libraries. */
void uring_arm(struct uring *);

/*
 * Remove all polls with the next wait, because the lanes are about to be
 * detached.  Until uring_armed returns false, completions have to be taken.
 */
void uring_disarm(struct uring *);
bool uring_armed(const struct uring *);

#endif
