/*
 * What a kind of end is made of: the table that each fills, and what they
 * share.  No other folder includes this.
 *
 * All offsets and lengths are bytes.
 */
#ifndef PARDD_BACKEND_H
#define PARDD_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/endpoint.h"
#include "end/lane.h"

struct disk;
struct io_uring_sqe;

struct backend {
	/*
	 * Open ep->name (or ep->fd) and fill in the rest.  Writes and creates
	 * nothing; with "look" it also opens nothing for writing.
	 */
	int (*open)(struct endpoint *, bool look, struct fault *);
	/*
	 * Whether a target that takes writes in order only takes those of the
	 * copy, from "from" to "to", of what begins at "src_from" in the
	 * source; or nobody else is writing there.  NULL: any
	 */
	int (*check_range)(struct endpoint *, uint64_t from, uint64_t to,
	    const struct endpoint *src, uint64_t src_from, struct fault *);
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
	 * The same without waiting, by the kernel: put the request, of io->len
	 * bytes, into sqe, which is one of 128 bytes if the end is "wide".
	 * Then leave the io as transfer would, by the kernel's result.  False
	 * of either: transfer has to do it.  Both NULL: there is nothing to
	 * gain by it
	 */
	bool (*prep)(struct lane *, struct io *, struct io_uring_sqe *sqe);
	bool (*finish)(struct lane *, struct io *, int result);
	/*
	 * The same by what wants to be called for it: begin a request of
	 * io->len bytes; false: transfer has to do it.  What to wait for on
	 * behalf of all that are pending, one descriptor and its poll(2)
	 * events, asked anew before each wait; -1: nothing.  Let it work:
	 * lane_over for each that is over, which conclude then leaves as
	 * transfer would.  All by the lane's thread.  All NULL, as above
	 */
	bool (*start)(struct lane *, struct io *);
	int (*pollfd)(struct lane *, short *events);
	void (*service)(struct lane *);
	void (*conclude)(struct lane *, struct io *);
	/*
	 * The extent that holds off, from off on; an errno where that is not
	 * known.  For any thread.  NULL: all is data
	 */
	int (*extent)(const struct endpoint *, uint64_t off, struct extent *);
	/*
	 * The same of what has changed since the time that iflag= names: what
	 * has not is a "hole".  NULL: it has no such times
	 */
	int (*changed)(const struct endpoint *, uint64_t off, struct extent *);
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
	void (*restat)(struct endpoint *);
	/*
	 * A source is going to be read from "from" to "to": note what
	 * check_kept will want to know.  NULL: nothing
	 */
	void (*look_below)(struct endpoint *, uint64_t from, uint64_t to);
	/*
	 * When all was written, from "from" to "to", at most "holes" bytes of
	 * it as holes: fails if somebody has cut it off meanwhile, or it is
	 * not to be found any more.  When a device was read, up to "to": fails
	 * if that may be none of what it held.  NULL: cannot be told
	 */
	int (*check_kept)(const struct endpoint *, uint64_t from, uint64_t to,
	    uint64_t holes, struct fault *);
	int (*flush)(struct endpoint *, struct fault *);
						/* NULL: nothing to flush */
	/*
	 * To look at the contents before the copy, of the target too: a new
	 * descriptor to read from, or -1 and errno; cached: some of it is in
	 * the page cache and is to stay.  Or read whole blocks, by nothing
	 * opened for writing.  Both NULL: no contents to look at
	 */
	int (*view)(const struct endpoint *, bool *cached);
	void (*probe)(struct endpoint *, struct io *);
	/*
	 * Open r, all but which is set, to read back from the medium what this
	 * target was given; r->grain: whole ones of this are read.  NULL:
	 * cannot be read back
	 */
	int (*open_readback)(const struct endpoint *, struct endpoint *r,
	    struct fault *);
	/* A disk that sysfs does not know: what there is to know of it, but
	 * for nodes.  NULL: see endpoint_disk */
	void (*disk)(const struct endpoint *, struct disk *);
	/* See endpoint_traits.  NULL: nothing */
	void (*traits)(const struct endpoint *, char *text, size_t room);
	/* Something to be told of the run, or "".  NULL: never */
	void (*note)(const struct endpoint *, char *text, size_t room);
	/*
	 * The copy used these bytes: drop them from the page cache, leave an
	 * inherited offset behind them.  NULL: nothing to do
	 */
	void (*drop_cache)(struct endpoint *, uint64_t off, uint64_t len);
	int (*close)(struct endpoint *);	/* errno */
};

extern const struct backend file_backend, stream_backend, null_backend,
    sg_backend, nvme_backend, zoned_backend;
extern const struct backend readback_backend;	/* only by endpoint_readback */
#define ADDRESS(kind, name, ...)	extern const struct backend name;
#include "end/kinds.def"

/* A file was cut off at byte "at", by somebody else: the io fails for it. */
void io_cut_off(struct io *, uint64_t at);

/* The same for check_kept and flush.  Returns -1. */
int endpoint_cut_off(const struct endpoint *, uint64_t at, struct fault *);

/*
 * For note: whether the file of fd was written to since it was opened.  Nothing
 * is said of a pipe or a device.
 */
void endpoint_moved(const struct endpoint *, int fd, char *text, size_t room);

/* For check_kept: it has holes that nobody made for the copy.  Returns -1. */
int endpoint_holed(const struct endpoint *, struct fault *);

/* For check_kept: fails for a file that had a name, and has none any more. */
struct stat;
int endpoint_named(const struct endpoint *, const struct stat *,
    struct fault *f);

/* What is wrong if an end cannot be opened, by errno.  Returns -1. */
int fault_found(struct fault *f, const struct endpoint *);

/* Refuses a zoned disk that is named by its commands; always -1. */
int endpoint_zoned(const struct endpoint *, struct fault *f);

/* Put what was written by a descriptor on its medium; an errno. */
int flush_fd(int fd);

/*
 * Read the first block of a disk, if it has one, by probe, to see what comes of
 * that: io has it, but not the bytes.  Returns 0, or -1 with *f.
 */
int endpoint_probe_first(struct endpoint *, struct io *, struct fault *f);

/* The reader of a backend that has a view. */
int file_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *f);

#endif
