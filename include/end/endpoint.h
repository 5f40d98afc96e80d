/*
 * The seam: an endpoint is one opened end of the copy, a lane is one worker's
 * way into it, an io is one request.  Backends (be_*.c) fill the table below;
 * nothing above the seam knows what kind of end it talks to.
 *
 * All offsets and lengths are bytes.
 */
#ifndef PARDD_ENDPOINT_H
#define PARDD_ENDPOINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "cli/opts.h"

enum role { SOURCE, TARGET };

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
	uint64_t	 off;
	size_t		 len;
	size_t		 done;	/* bytes moved; fewer with err 0: the end */
	int		 err;	/* an errno value; ECANCELED: lane->halt */
	int		 status;	/* exit status, if not errno's */
	uint64_t	 bad_off;	/* the bad byte, as told, or NOWHERE */
	bool		 careful;	/* isolating an error */
	bool		 spent;		/* a failed write that must not be */
					/* repeated: see be_file.c */
	struct stamp	 stamp;	/* profile.h's, while it is noted */
	char		 why[168];	/* in the end's own words, or "" */
	void		*flight;	/* the backend's, from submit to reap */
};

#define NOWHERE	UINT64_MAX

struct profile;
struct gauge;

struct requests {		/* of one end, and one worker */
	atomic_uint	 begun, ended;	/* ever; they may wrap */
};

struct lane {			/* one worker's alone */
	struct endpoint	*ep;
	struct requests	*requests;	/* counts them, or NULL */
	int		 halt;	/* readable: leave a wait for a stream */
	void		*priv;	/* the backend's, from attach to detach */
	struct profile	*profile;	/* what notes its requests, or NULL */
	struct gauge	*gauge;	/* where, see profile.h */
};

struct extent {			/* bytes of a file that are alike */
	uint64_t	off, len;
	bool		hole;
};

struct identity {		/* tells whether two ends are one */
	bool	known;
	dev_t	dev;		/* of the file system, or the device itself */
	ino_t	ino;		/* 0 for a device */
};

struct endpoint {		/* shared and const once open */
	const struct backend *be;
	void		*priv;	/* the backend's */
	const char	*name;	/* as given, or "standard input" */
	enum role	 role;
	const struct opts *opts;
	unsigned	 flags;	/* enum flag, of iflag= or oflag= */
	int		 fd;	/* inherited, or while opening what to open */
	bool		 inherited;	/* fd is standard input or output */
	int		 dir;	/* folder of a file to be created, else -1 */
	int64_t		 size;	/* bytes, or -1: not known, or without limit */
	int64_t		 room;	/* bytes it can hold, or -1: not known */
	uint32_t	 block;	/* logical block of a device, else 0 */
	uint32_t	 optimal;	/* bytes of a good transfer, or 0 */
	uint32_t	 grain;	/* it takes whole ones of this only, or 1 */
	uint64_t	 base;	/* where it begins: a partition's first byte, or
				 * where an inherited descriptor stood */
	uint64_t	 end;	/* nothing is written here or behind */
	unsigned	 part;	/* the partition it is limited to, or 0 */
	int64_t		 whole;	/* size without that limit */
	char		 within[32];	/* "partition 2 of ", or "" */
	char		 said[256];	/* once closed: the backend's note */
	char		 again[300];	/* what "name" became: endpoint_again */
	const char	*waits;	/* why submit is no use here, or NULL */
	unsigned	 depth;	/* requests in flight of a lane, or 0: any */
	uint64_t	 most;	/* bytes of a request that stays one, or 0 */
	bool		 streamed;	/* in order, one request at a time */
	bool		 seekable;	/* can begin anywhere */
	bool		 endless;	/* zeros or random bytes without end */
	bool		 device;
	bool		 past_cache;	/* requests take as long as a disk's */
	bool		 back;		/* reads the target, or is compared */
	bool		 durable;	/* flushing it means something */
	bool		 absent;	/* a file that is to be created */
	bool		 memory;	/* a file in tmpfs */
	bool		 shares;	/* a file: blocks might be shared */
	uint32_t	 unit;		/* bytes of such a block */
	bool		 sparse;	/* of the source: it has holes */
	bool		 zeroes;	/* of the target: OP_ZERO may succeed */
	bool		 linked;	/* a file, with a name at first */
	struct identity	 id;
	dev_t		 node;	/* of a device's node, else 0 */
	dev_t		 file_dev;	/* of the file, node or pipe as such: */
	ino_t		 file_ino;	/* file system and inode; 0: none yet */
};

struct io_uring_sqe;

enum reaped {
	REAP_DONE,		/* the io is as transfer would leave it */
	REAP_TRANSFER,		/* transfer has to do it (again) */
	REAP_WAIT,		/* it goes on: submit it once more */
};

struct backend {
	/*
	 * Open ep->name (or ep->fd) and fill in the rest.  Writes and creates
	 * nothing; with "look" it also opens nothing for writing.
	 */
	int (*open)(struct endpoint *, bool look, struct fault *);
	/*
	 * Make the target ready to be written: open what was created just now
	 * as ep->fd, cut it off at length unless that is negative.
	 */
	int (*prepare)(struct endpoint *, int64_t length, struct fault *);
						/* NULL: nothing to do */
	int (*attach)(struct lane *);		/* errno; NULL: no state */
	int (*detach)(struct lane *);		/* errno of what was pending */
	/* Move io->len bytes; finishes short transfers, EINTR and EAGAIN. */
	void (*transfer)(struct lane *, struct io *);
	/*
	 * The same without waiting: put the request, of io->len bytes, or
	 * what tells of its end, into sqe; false: transfer has to do it.  Then
	 * take the result.  An io with a flight is on its way already, and is
	 * never refused.  Both NULL: there is nothing to gain by it
	 */
	bool (*submit)(struct lane *, struct io *, struct io_uring_sqe *sqe);
	enum reaped (*reap)(struct lane *, struct io *, int result);
	/*
	 * The extent that holds off, from off on; an errno where that is not
	 * known.  For any thread.  NULL: all is data
	 */
	int (*extent)(const struct endpoint *, uint64_t off, struct extent *);
	/*
	 * Let the len bytes at "to" be those at "from" of the source, which
	 * are shared and not copied; an errno, and then there may be any part
	 * of them.  Both are of the same backend.  NULL: it cannot
	 */
	int (*share)(struct endpoint *, uint64_t to, const struct endpoint *src,
	    uint64_t from, uint64_t len);
	/* Make it length bytes long at least; errno.  NULL: has no length */
	int (*extend)(struct endpoint *, uint64_t length);
	/* What it has become since it was opened: size.  NULL: the same */
	void (*again)(struct endpoint *);
	/*
	 * When all was written: fails if what was open is no longer length
	 * bytes long, or is not to be found any more.  NULL: cannot be told
	 */
	int (*kept)(const struct endpoint *, uint64_t length, struct fault *);
	int (*flush)(struct endpoint *, struct fault *);
						/* NULL: nothing to flush */
	/*
	 * To look at the contents before the copy, of the target too: a new
	 * descriptor to read from, or -1 and errno; cached: some of it is in
	 * the page cache and is to stay.  Or read whole blocks, by nothing
	 * opened for writing.  Both NULL: no contents to look at
	 */
	int (*view)(const struct endpoint *, bool *cached);
	void (*look)(struct endpoint *, struct io *);
	/*
	 * Open r, all but which is set, to read back from the medium what this
	 * target was given; r->grain: whole ones of this are read.  NULL:
	 * cannot be read back
	 */
	int (*reader)(const struct endpoint *, struct endpoint *r,
	    struct fault *);
	/* Something to be told of the run, or "".  NULL: never */
	void (*note)(const struct endpoint *, char *text, size_t room);
	/*
	 * The copy used these bytes: drop them from the page cache, leave an
	 * inherited offset behind them.  NULL: nothing to do
	 */
	void (*leave)(struct endpoint *, uint64_t off, uint64_t len);
	int (*close)(struct endpoint *);	/* errno */
};

extern const struct backend be_file, be_stream, be_null, be_sg;
extern const struct backend be_back;	/* only by endpoint_reader */

/* For "kept": fails for a file that had a name, and has none any more. */
struct stat;
int endpoint_named(const struct endpoint *, const struct stat *,
    struct fault *f);

/* The reader of a backend that has a view. */
int back_reader(const struct endpoint *target, struct endpoint *r,
    struct fault *f);

/*
 * Open the end that opts name for this role (no name or "-": standard input or
 * output) and choose its backend.  Nothing is created or written; look is for
 * --dry-run.  opts stay the caller's and must outlive the endpoint.  Returns
 * 0, or -1 with *f, and then there is nothing to close.
 */
int endpoint_open(struct endpoint *, enum role, const struct opts *, bool look,
    struct fault *f);

/* Open what opts name as the output for reading only: a second source. */
int endpoint_open_compared(struct endpoint *, const struct opts *,
    struct fault *f);

/*
 * A source that has gone is there again, by another name: open that in its
 * place.  No lane may be attached.  Returns 0, or -1 with *f: it cannot be
 * opened, or has another size, and the endpoint is as it was.
 */
int endpoint_again(struct endpoint *, const char *path, struct fault *f);

/*
 * The disk that the end is, or that an sg or bsg node leads to (its block node
 * may be missing: 0).  False for what is no disk.
 */
struct disk;
bool endpoint_disk(const struct endpoint *, struct disk *);

/*
 * Whether what is written to a descriptor would come into the end: it is of the
 * same file, pipe or device.  False for what discards or generates bytes.
 */
bool endpoint_is(const struct endpoint *, int fd);

/*
 * Whether a run could write to what --dry-run only looks at.  Returns 0, or -1
 * with *f.  A file that is there has been asked when it was opened.
 */
int endpoint_look(const struct endpoint *, struct fault *f);

/*
 * Create the target (mode, as umask allows) if it is absent, and cut it off at
 * length bytes unless that is negative.
 */
int endpoint_prepare(struct endpoint *, mode_t, int64_t length,
    struct fault *f);

/*
 * The target was prepared, and written to, and that goes on: it is there, and
 * as long as it is.  No lane may be attached.
 */
void endpoint_go_on(struct endpoint *);

/*
 * Put what was written on the medium, the name of a new file too.  Returns 0,
 * or -1 with *f.
 */
int endpoint_flush(struct endpoint *, struct fault *f);

/*
 * Open a second end, r, that reads what the target holds past every cache that
 * the kernel has and, on a SCSI disk, past the disk's own.  Positions are those
 * of the target; reads must be of whole r->grain bytes, which are "most" at
 * most.  A target that is to be created must have been prepared.  Returns 0, or
 * -1 with *f: STATUS_REFUSED where it cannot be done.  endpoint_close closes
 * it, before the target.
 */
int endpoint_reader(struct endpoint *r, const struct endpoint *target,
    uint32_t most, struct fault *f);

/* Close; returns the errno of a close that failed, else 0. */
int endpoint_close(struct endpoint *);

/* A worker's lane: attach returns an errno; detach settles what is pending. */
int lane_attach(struct lane *, struct endpoint *, int halt);
int lane_detach(struct lane *);

/* Run one request to its end, see struct io. */
void lane_transfer(struct lane *, struct io *);

/*
 * The same in two steps.  Submit: false, and sqe unused, when only
 * lane_transfer can do it.  Finish: with the result of the kernel; false when
 * there is more to wait for, and the io has to be submitted again.
 */
bool lane_submit(struct lane *, struct io *, struct io_uring_sqe *sqe);
bool lane_finish(struct lane *, struct io *, int result);

/*
 * Open what the descriptor "path" stands for anew, with these flags: a file by
 * its name if that still leads there, all else through /proc/self/fd (by name
 * where /proc is missing, if it is still the same).  name NULL: it has none.
 * Returns a descriptor, or -1 and errno.
 */
int reopen(int path, const char *name, int flags);

/* The same of what a name has led to just now.  ESTALE: it does no longer. */
int open_found(int path, const char *name, int flags);

/* What is wrong if that failed, by errno.  Returns -1. */
int fault_found(struct fault *f, const struct endpoint *);

/* Where the end is to be found: NULL, if it is inherited. */
const char *endpoint_path(const struct endpoint *);

#endif
