/*
 * Backends: the table of functions that each kind of end fills in, and what the
 * backends share.  No other directory includes this.
 *
 * All offsets and lengths are bytes.
 */
#ifndef PARDD_BACKEND_H
#define PARDD_BACKEND_H

#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fault.h"
#include "end/endpoint.h"
#include "end/lane.h"

struct disk;
struct io_uring_sqe;
struct map;

struct backend {
	/*
	 * Open ep->name (or ep->fd) and fill in the rest of the endpoint.  This
	 * writes and creates nothing; with "look", for --dry-run, it opens
	 * nothing for writing either.  0, or -1 with *f.
	 */
	int (*open)(struct endpoint *, bool look, struct fault *);
	/*
	 * See endpoint_writers.  NULL: the target has no zones.
	 */
	unsigned (*writers)(struct endpoint *, uint64_t from, uint64_t to,
	    const struct endpoint *src, uint64_t src_from);
	/*
	 * Check that the target takes the writes of the copy, from "from" to
	 * "to", which begin at "src_from" in the source, and that nobody else
	 * writes there.  0, or -1 with *f.  NULL: it takes any.
	 */
	int (*check_range)(struct endpoint *, uint64_t from, uint64_t to,
	    const struct endpoint *src, uint64_t src_from, struct fault *);
	/*
	 * Make the target ready for writing: take over ep->fd, if it was just
	 * created, and truncate it to length bytes unless that is negative.
	 * 0, or -1 with *f.
	 */
	int (*prepare)(struct endpoint *, int64_t length, struct fault *);
						/* NULL: nothing to do */
	/*
	 * Take what a lane needs; one that "probes" opens nothing.  errno.
	 * NULL: it needs nothing.
	 */
	int (*attach)(struct lane *);
	int (*detach)(struct lane *);		/* errno of pending errors */
	/*
	 * Move the bytes from io->done to io->len, and wait for it.  It deals
	 * with EINTR and EAGAIN by itself, adds to io->done, and leaves an
	 * error in the io.  With cmd.unit set, they are one command, and some
	 * of them are enough: request.c cuts, and goes on.
	 */
	void (*transfer)(struct lane *, struct io *);
	/* See lane_pack.  NULL: there is nothing to do before. */
	void (*pack)(struct lane *, uint64_t off, const unsigned char *buf,
	    size_t len);
	/*
	 * The same without waiting, but never OP_ZERO: begin the next command,
	 * up to io->len.  False: transfer has to do it.  Without service, it is
	 * done by io_uring, and start fills in sqe, an entry of 128 bytes if
	 * the end is "wide".  NULL: it has no such requests.
	 */
	bool (*start)(struct lane *, struct io *, struct io_uring_sqe *sqe);
	/*
	 * If a library or a driver does them, and not io_uring: pollfd returns
	 * one descriptor and the poll(2) events to wait for on behalf of all
	 * that are pending, or -1; it is called before each wait.  service lets
	 * the library work, and calls lane_over for each command that has
	 * ended.  All are called by the thread of the lane.
	 */
	int (*pollfd)(struct lane *, short *events);
	void (*service)(struct lane *);
	/*
	 * A command has ended, of which the kernel has given that result, or
	 * the library knows it.  Leaves the io as transfer would, or as it was:
	 * transfer has to do it again.
	 */
	void (*finish)(struct lane *, struct io *, int result);
	/*
	 * The extent at off, from off on; an errno value if it is unknown.
	 * With "changed", asked only if spec.bitmap or spec.since is set: what
	 * has not changed since then is a "hole".  Must be safe in any thread.
	 * NULL: all is data.
	 */
	int (*extent)(const struct endpoint *, uint64_t off, bool changed,
	    struct extent *);
	/*
	 * Extend it to at least length bytes; errno.  NULL: it has no length.
	 */
	int (*extend)(struct endpoint *, uint64_t length);
	/* See endpoint_written.  NULL: EOPNOTSUPP. */
	int (*written)(const struct endpoint *, struct timespec *);
	/*
	 * See endpoint_check_kept.  NULL: it cannot tell.
	 */
	int (*check_kept)(const struct endpoint *, uint64_t from, uint64_t to,
	    uint64_t holes, struct fault *);
	int (*flush)(struct endpoint *, struct fault *);
						/* NULL: it needs no flush */
	/* See endpoint_view.  NULL: see endpoint_probe. */
	int (*view)(const struct endpoint *, bool *cached);
	/*
	 * Fill in r, a copy of this target's endpoint, so that it reads from
	 * the medium what the target was given, in multiples of
	 * r->geo.io_align.  0, or -1 with *f.  NULL: it cannot be read back.
	 */
	int (*open_readback)(const struct endpoint *, struct endpoint *r,
	    struct fault *);
	/*
	 * Describe a disk that sysfs does not know; it has no nodes.  NULL: see
	 * endpoint_disk.
	 */
	void (*disk)(const struct endpoint *, struct disk *);
	/* A remark for the report at the end, or "".  NULL: never any. */
	void (*note)(const struct endpoint *, char *text, size_t room);
	/*
	 * See endpoint_drop_cache.  NULL: there is nothing to do.
	 */
	void (*drop_cache)(struct endpoint *, uint64_t off, uint64_t len);
	int (*close)(struct endpoint *);	/* 0 or an errno value */
						/* NULL: nothing to do */
};

extern const struct backend file_backend, stream_backend, null_backend,
    sg_backend, nvme_backend, zoned_backend;
extern const struct backend readback_backend;	/* only by endpoint_readback */
#define ADDRESS(kind, name, ...)	extern const struct backend name;
#include "end/kinds.def"

/*
 * Carry out a request, or the rest of it, and wait for it.  Offsets are those
 * of the end.
 */
void request_carry_out(struct lane *, struct io *);

/*
 * The bytes of the next command of a request; 0 if it begins within a unit, or
 * at the end, or ends within the first unit.
 */
size_t request_next(const struct lane *, const struct io *);

/*
 * The host refuses a command of so many bytes: from now on, half of that for
 * all lanes.  False: that cannot be the reason.
 */
bool request_shrink(struct lane *, size_t refused);

/*
 * 128 KiB, page aligned, which the lane has until it is detached.  NULL without
 * memory.
 */
unsigned char *lane_bounce(struct lane *);

/* Fail an io because somebody else truncated the file to "at" bytes. */
void io_cut_off(struct io *, uint64_t at);

/*
 * Whether what got this error is tried again: after EINTR at once, after EAGAIN
 * when a moment has passed, for files and disks, where poll(2) is no help; as
 * long as the limit allows.  (No signal interrupts us: all are blocked.)
 */
bool io_again(int err, struct clock_limit *);

/* As io_cut_off, for check_kept and flush.  Returns -1. */
int endpoint_cut_off(const struct endpoint *, uint64_t at, struct fault *);

/*
 * For note: say so if the file of fd was written to since it was opened.  A
 * pipe or a device is ignored.
 */
void endpoint_moved(const struct endpoint *, int fd, char *text, size_t room);

/* For check_kept: the file has holes that we did not make.  Returns -1. */
int endpoint_holed(const struct endpoint *, struct fault *);

/* For check_kept: fails if the file had a name, and has lost it. */
struct stat;
int endpoint_named(const struct endpoint *, const struct stat *,
    struct fault *f);

/* Say why an end could not be opened, by errno.  Returns -1. */
int fault_found(struct fault *f, const struct endpoint *);

/* Refuse a zoned disk that is to be written by commands.  Returns -1. */
int endpoint_zoned(const struct endpoint *, struct fault *f);

/*
 * Call fdatasync or fsync, after EINTR again for so many s.  Returns 0 or an
 * errno value.
 */
int flush_fd(int (*sync)(int), int fd, unsigned timeout);

/*
 * Read the first block of a disk, if it has one, to see whether it has FUA for
 * "command".  Returns 0, or -1 with *f: it refuses that with this status (0:
 * with any), or there is no memory.
 */
int endpoint_try_fua(struct endpoint *, const char *command, int status,
    struct fault *f);

/* open_readback for any backend that has a view. */
int file_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *f);

/*
 * Memory for the requests of a lane that a library carries out, allocated when
 * the first one begins.  Used by one thread.
 */

struct call_head {		/* first member of a library's call */
	struct lane	*lane;	/* lane_over is called for it; NULL: the caller
				 * waits for the call */
	struct io	*io;	/* the request of that lane */
	struct call_head	*next;	/* the owner's, while idle */
};

struct flights {		/* all 0: nothing allocated */
	struct call_head	*idle;
	void		*all;
};

/*
 * Take an idle call from "most" of "size" bytes each.  NULL if none is idle, or
 * without memory.  Its contents are undefined.
 */
void *flights_begin(struct flights *, unsigned most, size_t size);

/* Give a call back. */
void flights_end(struct flights *, void *call);

/* Free the memory, when no call is in use. */
void flights_free(struct flights *);

/*
 * The block node of a disk that is reached by SCSI or NVMe commands.
 */

/*
 * Open the directory of its block node in sysfs; the caller closes it.  Returns
 * -1 if there is no such node, or no sysfs.
 */
int node_dir(const struct endpoint *);

/* Whether the block node is read-only (blockdev --setro). */
bool node_read_only(const struct endpoint *);

/*
 * Write back the page cache of its block nodes, also those of other paths to
 * the disk, because commands read the disk itself. node_settle_paths does so
 * for a disk that is reached without a node.
 */
struct disk;
void node_settle(const struct endpoint *);
void node_settle_paths(const struct disk *);

/*
 * Whether the kernel has taken the disk behind fd out of service.  Until then,
 * the last commands to a vanishing disk fail in various ways.
 */
bool node_lost(int fd);

/* Whether an end is a file on an overlay, and so one of a layer as well. */
static inline bool
endpoint_overlaid(const struct endpoint *ep)
{
	return (unsigned long)ep->fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/*
 * Open the layer's file of a target that has just been opened, for its locks,
 * and record whether the overlay can be flushed.  Returns 0, or -1 with *f for
 * lack of descriptors or memory.
 */
int layer_open(struct endpoint *, bool look, struct fault *f);

/*
 * Reopening what an O_PATH descriptor refers to.
 */

/*
 * Open the file behind the descriptor "path" with these flags.  A file is
 * opened by "name" if that still leads to it, otherwise through /proc/self/fd;
 * name may be NULL.  Without /proc, the name must still lead to the same file.
 * Returns a descriptor, or -1 with errno.
 */
int reopen(int path, const char *name, int flags);

/*
 * The same for a name just looked up; ESTALE if it now leads elsewhere, EAGAIN
 * if another process has a lease on the file, and was asked to give it up.
 */
int open_found(int path, const char *name, int flags);

/*
 * Lock a range of a file for other copies to see, as long as fd is open: "type"
 * is F_WRLCK for a copy that writes it as fd, F_RDLCK for one that writes it by
 * way of something else.  False if another has locked part of it, unless both
 * are F_RDLCK, or it has locked the bytes themselves as well, which no copy
 * does.  An fd that is open only to read only asks for F_WRLCK, and what
 * cannot be asked is true.
 */
bool lock_copy(int fd, short type, uint64_t from, uint64_t to);

/*
 * Put a decoder on top of an open source, as decode= says: it becomes its
 * "carrier", and the endpoint has the bytes that are in it.  With decode=auto,
 * what is not packed stays as it is.  This reads the beginning; with "look", of
 * --dry-run, not that of a pipe.  Returns 0, or -1 with *f and the source still
 * open, as it was.
 */
struct opts;
int decoded_open(struct endpoint *, const struct opts *, bool look,
    struct fault *);

/*
 * Put an encoder on top of an open target, as encode= says: what is written to
 * it is packed.  Returns 0, or -1 with *f and the target still open, as it was.
 */
int encoded_open(struct endpoint *, const struct opts *, struct fault *f);

/*
 * The blocks of a packed source, unpacked one by one, see src/open/unpacker.c.
 */
struct unpacker;
struct decoder;
struct codec_measure;

/*
 * The carrier, and the parts of the measure, stay the caller's until
 * unpacker_close.  NULL: there is not enough memory for such blocks, or it
 * fails for another reason.
 */
struct unpacker *unpacker_open(struct endpoint *carrier,
    const struct decoder *, const struct codec_measure *);
void unpacker_close(struct unpacker *);

/* How many threads there will be. */
unsigned unpacker_threads(const struct unpacker *);

/*
 * For attach and detach of a lane: the first one starts the threads, and the
 * last one waits until none is busy.  unpacker_attach returns 0 or an errno
 * value.
 */
int unpacker_attach(struct unpacker *);
void unpacker_detach(struct unpacker *);

/* See endpoint_ahead. */
struct map;
void unpacker_ahead(struct unpacker *, struct map *, uint64_t origin);

/*
 * For transfer: read from the content.  EBADMSG: the block is damaged.
 */
void unpacker_read(struct unpacker *, const struct lane *, struct io *);

#endif
