/*
 * A lane is one worker's access to an end; an io is one request.
 *
 * All offsets and lengths are bytes.  Callers give offsets within the map; the
 * lane knows where byte 0 of the map lies in its end, and adds that.
 */
#ifndef PARDD_LANE_H
#define PARDD_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint;
struct io_uring_sqe;

/* OP_ZERO: make len bytes at off read as zeros; there is no buffer. */
enum op { OP_READ, OP_WRITE, OP_ZERO };

struct stamp {			/* when a request began */
	uint64_t	 at;	/* ns */
	uint64_t	 idle;	/* ns before it without any */
	uint64_t	 share;	/* of its meter, see gauge.h */
};

struct io {			/* one request, its worker's alone */
	enum op		 op;
	unsigned char	*buf;	/* page aligned, unless a transfer is resumed */
	uint64_t	 off;	/* of the map; of the end, below the lane */
	size_t		 len;
	size_t		 stride;	/* in buf, from the bytes that one of
				 * several targets reads to the next's */
	unsigned	 but;	/* bits: of several targets, those that are
				 * left alone */
	size_t		 padding;	/* bytes at the end of a write, or of
				 * zeros, that just fill up the last
				 * block of a target */
	size_t		 done;	/* bytes moved; fewer than len, and err 0:
				 * the end of the file or device */
	int		 err;	/* an errno value; ECANCELED: halted */
	int		 status;	/* exit status, if not that of err */
	uint64_t	 bad_off;	/* the bad byte that the disk named, or
				 * NOWHERE */
	bool		 careful;	/* bypass caches: isolating an error */
	bool		 doubtful;	/* a failed read: its blocks may be bad,
					 * if others are read (elsewhere.h) */
	bool		 spent;		/* a failed write that must not be
					 * repeated: a second try could succeed
					 * with the first one lost */
	bool		 lasting;	/* the end may give the request up
					 * while something still uses buf: */
	bool		 buf_in_use;	/* it did, and buf must stay as it is */
	struct stamp	 stamp;	/* gauge.h's, while it is timed */
	char		 why[168];	/* the end's own words, or "" */
	void		*flight;	/* the backend's, while it is pending */
	struct io	*next;		/* in the list of those that are over */
};

#define NOWHERE	UINT64_MAX

struct profile;
struct gauge;

struct requests {		/* of one worker at one end */
	atomic_uint	 begun, ended;	/* so far; they may wrap */
};

struct lane {			/* one worker's alone */
	struct endpoint	*ep;
	uint64_t	 origin;	/* byte 0 of the map, in the end */
	struct requests	*requests;	/* where they are counted, or NULL */
	int		 halt;	/* a descriptor; readable: stop waiting for
				 * a stream */
	void		*priv;	/* the backend's, from attach to detach */
	struct profile	*profile;	/* records its requests, or NULL */
	struct gauge	*gauge;	/* where, see gauge.h */
	unsigned char	*bounce;	/* see lane_bounce */
	unsigned	 step;	/* the backend's, 0 at first */
	unsigned	 again;	/* which of retries= it is at, or 0 */
	bool		 probes;	/* it looks at the contents before the
					 * copy: see endpoint_probe */
	struct io	*over, **last;	/* started ones that have ended */
	const char	*why;	/* attach failed, in words; or NULL */
};

/*
 * Attach a lane whose byte 0 is byte "origin" of the end.  lane_detach waits
 * for what is pending.  Both return 0 or an errno value.
 */
int lane_attach(struct lane *, struct endpoint *, uint64_t origin, int halt);
int lane_detach(struct lane *);

/* Wait for ms; returns true at once if the copy is to stop. */
bool lane_halted(const struct lane *, int ms);

/* The byte of the end for an offset of the map. */
static inline uint64_t
lane_place(const struct lane *lane, uint64_t off)
{
	return lane->origin + off;
}

/* And back.  A place before the origin wraps; the result is still valid. */
static inline uint64_t
lane_off(const struct lane *lane, uint64_t place)
{
	return place - lane->origin;
}

/* Why it was not attached: in the end's own words if it has any, else err's. */
struct fault;
void lane_unattached(struct fault *f, const struct lane *, int err);

/*
 * Fill *f for a failed request: "what" it was doing, where in the end, and why,
 * in the words of the end if it has any, else in those of errno.
 */
void lane_describe(struct fault *f, const struct lane *, const struct io *,
    const char *what);

/* endpoint_extent for the end of the lane, in offsets of the map. */
struct extent;
int lane_extent(const struct lane *, uint64_t off, struct extent *);

/*
 * The first boundary of the end's blocks of "unit" bytes at or after off, and
 * the last one at or before it, as offsets of the map; never before byte 0.
 */
uint64_t lane_border(const struct lane *, uint64_t off, uint64_t unit);
uint64_t lane_border_before(const struct lane *, uint64_t off, uint64_t unit);

/*
 * What will be written there when its turn comes: an end that packs does so
 * now.  The buffer is as it is now until it has been written.
 */
void lane_pack(struct lane *, uint64_t off, const unsigned char *buf,
    size_t len);

/* Do one request and wait for it; the result is in the io. */
void lane_transfer(struct lane *, struct io *);

/*
 * After each try of a read of one block, or of a write: whether it has failed,
 * and retries= allows another one.  A write is then what is left of it.
 */
bool lane_again(struct lane *, struct io *);

/*
 * The same in two steps.  lane_start returns false, with sqe unused, when only
 * lane_transfer can do the request.  If the end does not "serve" its requests,
 * io_uring does: sqe is filled in, an entry of 128 bytes if the end is "wide",
 * and lane_finish takes the result from the kernel.
 */
bool lane_start(struct lane *, struct io *, struct io_uring_sqe *sqe);
bool lane_serves(const struct lane *);
void lane_finish(struct lane *, struct io *, int result);

/*
 * If it serves, a library or a driver carries them out: sqe is not used.
 * Afterwards, for all that were started: ask lane_pollfd for a descriptor and
 * its poll(2) events (-1: nothing to wait for) before each wait, then call
 * lane_service.  Any of these calls may complete requests; lane_ended returns
 * one that is complete, or NULL.  All by the thread of the lane.
 */
int lane_pollfd(struct lane *, short *events);
void lane_service(struct lane *);
struct io *lane_ended(struct lane *);

/* For backends: a started io is complete. */
void lane_over(struct lane *, struct io *);

#endif
