/*
 * A lane is one worker's way into an end, an io is one request.
 *
 * All offsets and lengths are bytes.  Offsets of requests are those of the map:
 * the lane knows where in its end byte 0 of the map is, and adds that.
 */
#ifndef PARDD_LANE_H
#define PARDD_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint;
struct io_uring_sqe;

/* OP_ZERO: len bytes at off read as zeros from now on; there is no buffer. */
enum op { OP_READ, OP_WRITE, OP_ZERO };

struct stamp {			/* when a request began */
	uint64_t	 at;	/* ns */
	uint64_t	 idle;	/* ns before it without any */
	uint64_t	 share;	/* of its meter, see profile.h */
};

struct io {			/* one request, its worker's alone */
	enum op		 op;
	unsigned char	*buf;	/* page aligned unless a transfer is resumed */
	uint64_t	 off;	/* in flight, and below the lane, the end's */
	size_t		 len;
	size_t		 padding;	/* bytes at the end of a write that only
				 * fill the last block of some target */
	size_t		 done;	/* bytes moved; fewer with err 0: the end */
	int		 err;	/* an errno value; ECANCELED: lane->halt */
	int		 status;	/* exit status, if not errno's */
	uint64_t	 bad_off;	/* the bad byte, as told, or NOWHERE */
	bool		 careful;	/* isolating an error */
	bool		 spent;		/* a failed write that must not be */
					/* repeated: see file_backend.c */
	struct stamp	 stamp;	/* profile.h's, while it is noted */
	char		 why[168];	/* in the end's own words, or "" */
	void		*flight;	/* the backend's, while it is pending */
	struct io	*next;		/* of those that are over */
};

#define NOWHERE	UINT64_MAX

struct profile;
struct gauge;

struct requests {		/* of one end, and one worker */
	atomic_uint	 begun, ended;	/* ever; they may wrap */
};

struct lane {			/* one worker's alone */
	struct endpoint	*ep;
	uint64_t	 origin;	/* byte 0 of the map, in the end */
	struct requests	*requests;	/* counts them, or NULL */
	int		 halt;	/* readable: leave a wait for a stream */
	void		*priv;	/* the backend's, from attach to detach */
	struct profile	*profile;	/* what notes its requests, or NULL */
	struct gauge	*gauge;	/* where, see profile.h */
	struct io	*over, **last;	/* of those begun by lane_start */
	const char	*why;	/* attach failed, in words; or NULL */
};

/*
 * A worker's lane, whose byte 0 is the end's byte "origin": attach returns an
 * errno; detach settles what is pending.
 */
int lane_attach(struct lane *, struct endpoint *, uint64_t origin, int halt);
int lane_detach(struct lane *);

/* The end's own byte, for messages, and what goes by its blocks. */
static inline uint64_t
lane_place(const struct lane *lane, uint64_t off)
{
	return lane->origin + off;
}

/* And back; a place before the origin wraps, and is an offset all the same. */
static inline uint64_t
lane_off(const struct lane *lane, uint64_t place)
{
	return place - lane->origin;
}

/* Why it was not attached: in the end's own words if it has any, else err's. */
struct fault;
void lane_unattached(struct fault *f, const struct lane *, int err);

/*
 * A request that failed, "what" it was doing, and where in the end: in the
 * end's own words if it has any, else errno's.
 */
void lane_describe(struct fault *f, const struct lane *, const struct io *,
    const char *what);

/* endpoint_extent of the lane's end, by offsets of the map. */
struct extent;
int lane_extent(const struct lane *, uint64_t off, struct extent *);

/*
 * The borders of the end's blocks of "unit" bytes, at or behind off, and at or
 * before it: of the map, and not before that.
 */
uint64_t lane_border(const struct lane *, uint64_t off, uint64_t unit);
uint64_t lane_border_before(const struct lane *, uint64_t off, uint64_t unit);

/* Run one request to its end, see struct io. */
void lane_transfer(struct lane *, struct io *);

/*
 * The same in two steps, where a ring moves the bytes.  Submit: false, and sqe
 * unused, when only lane_transfer can do it; the entry is one of 128 bytes if
 * the end is "wide".  Finish: with the result of the kernel.
 */
bool lane_submit(struct lane *, struct io *, struct io_uring_sqe *sqe);
void lane_finish(struct lane *, struct io *, int result);

/*
 * The same where a library moves them, which has to be called for it.  Start:
 * false when only lane_transfer can do it.  Then, for all that were started:
 * wait for that descriptor's poll(2) events, which are asked for before each
 * wait (-1: nothing to wait for), and let it work.  Each call of that thread
 * may bring some to their end; lane_ended returns one of those, or NULL.
 */
bool lane_start(struct lane *, struct io *);
int lane_pollfd(struct lane *, short *events);
void lane_service(struct lane *);
struct io *lane_ended(struct lane *);

/* For backends: an io that was started is over. */
void lane_over(struct lane *, struct io *);

#endif
