/*
 * The seam: an endpoint is one opened end of the copy, a lane (lane.h) is one
 * worker's way into it.  A backend (src/end/backend.h) does the work; nothing
 * above the seam reaches into it.
 *
 * All offsets and lengths are bytes.
 */
#ifndef PARDD_ENDPOINT_H
#define PARDD_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "end/lane.h"

enum role { SOURCE, TARGET };

enum end_kind {
#define KIND(kind, ...)		kind,
#define ADDRESS(kind, ...)	kind,
#include "end/kinds.def"
};

struct kind_words {		/* what a kind is called */
	const char	*text;	/* for people */
	const char	*json;	/* for programs */
};

struct extent {			/* bytes of a file that are alike */
	uint64_t	off, len;
	bool		hole;
};

struct end_spec {		/* what the command line says of an end */
	enum role	 role;
	unsigned	 flags;	/* enum flag, of iflag= or oflag= */
	const char	*bitmap;	/* of an NBD source, or NULL */
	const char	*since;		/* of a Ceph source: a snapshot, or */
					/* NULL */
	unsigned	 force;		/* enum force */
	unsigned	 timeout;	/* s, of a command; of an answer */
	unsigned	 patience;	/* the same as was asked for, or 0 */
	unsigned	 cdb_size;	/* bytes of a SCSI command, where that
					 * can be chosen */
	int64_t		 bpt;		/* blocks of a transfer, or 0 */
	int64_t		 retries;	/* of a failed write, or -1 */
	bool		 rescue;	/* its errors are a rescue's (map=) */
	bool		 coe;		/* the copy goes on after one */
	bool		 verify;	/* what is written is going to be read
					 * back */
	bool		 sync;		/* ... flushed */
	bool		 async;		/* many requests at a time are wanted */
	bool		 loud;		/* asked to tell more */
	bool		 held;		/* who else uses it does not matter */
	const struct secrets *secrets;	/* that its name may have had */
};

struct geometry {		/* bytes: what it holds, what suits it */
	int64_t		 size;	/* or -1: not known, or without limit */
	int64_t		 room;	/* that it can hold, or -1: not known */
	uint32_t	 block;	/* logical block of a device, else 0 */
	uint32_t	 io_align;	/* only whole ones of it, or 1 */
	uint32_t	 io_opt;	/* a good transfer, or 0 */
	uint32_t	 fs_block;	/* of a file: what can be shared */
	uint64_t	 io_max;	/* of a request that stays one, or 0 */
	unsigned	 depth;	/* requests in flight of a lane, or 0: any */
};

struct limits {			/* the part of it that the copy is about */
	uint64_t	 base;	/* where it begins: a partition's first byte, or
				 * where an inherited descriptor stood */
	uint64_t	 end;	/* nothing is written here or behind, and
				 * nothing read ahead */
	unsigned	 part;	/* the partition it is limited to, or 0 */
	int64_t		 disk_size;	/* size without that limit */
	char		 within[32];	/* "partition 2 of ", or "" */
};

struct traits {			/* what is true of an end */
	bool		 inherited;	/* fd is standard input or output */
	bool		 streamed;	/* in order, one request at a time */
	bool		 piped;		/* a pipe or a socket */
	bool		 seekable;	/* can begin anywhere */
	bool		 endless;	/* zeros or random bytes without end */
	bool		 device;
	bool		 remote;	/* a request travels: waiting is dear */
	bool		 unflushable;	/* of a target: nobody would do it */
	bool		 single;	/* engine=async: by one worker only */
	bool		 wide;		/* needs the large entries of a ring */
	bool		 past_cache;	/* requests take as long as a disk's */
	bool		 back;		/* reads the target, or is compared */
	bool		 durable;	/* flushing it means something */
	bool		 absent;	/* a file that is to be created */
	bool		 memory;	/* a file in tmpfs */
	bool		 shares;	/* a file: blocks might be shared */
	bool		 sparse;	/* of the source: it has holes */
	bool		 zeroes;	/* of the target: OP_ZERO may succeed */
	bool		 zoned;	/* of the target: one writer, in order */
	bool		 linked;	/* a file, with a name at first */
	bool		 stuck;		/* also once closed: what it asked for
					 * may come yet, so it frees nothing,
					 * and the process ends by _exit */
};

struct identity {		/* tells whether two ends are one */
	bool	known;
	dev_t	dev;		/* of the file system, or the device itself */
	ino_t	ino;		/* 0 for a device */
	dev_t	node;		/* of a device's node, else 0 */
	dev_t	file_dev;	/* of the file, node or pipe as such: */
	ino_t	file_ino;	/* file system and inode; 0: none yet */
	struct timespec written;	/* a file was last, once opened */
};

struct endpoint {		/* shared and const once open */
	const struct backend *be;	/* src/end only */
	void		*priv;	/* the backend's */
	const char	*name;	/* as given, or "standard input" */
	enum end_kind	 kind;
	struct end_spec	 spec;
	struct traits	 is;
	struct geometry	 geo;
	struct limits	 lim;
	struct identity	 id;
	int		 fd;	/* inherited, or while opening what to open */
	int		 dir;	/* folder of a file to be created, else -1 */
	struct statfs	 fs;	/* where a file lies, or is to lie; else
				 * all 0 */
	uint64_t	 held;	/* bytes of blocks that a file has */
	const char	*sync_why;	/* why requests wait, or NULL */
	char		 again[300];	/* its name by now: endpoint_reopen */
	char		 said[256];	/* once closed: the backend's note */
};

/*
 * Open the end that opts name for this role (no name or "-": standard input or
 * output) and choose its backend.  Nothing is created or written; look is for
 * --dry-run.  opts stay the caller's and must outlive the endpoint.  Returns
 * 0, or -1 with *f, and then there is nothing to close.
 */
int endpoint_open(struct endpoint *, enum role, const struct opts *, bool look,
    struct fault *f);

/* The same for one of several targets, of which opts name more. */
int endpoint_open_target(struct endpoint *, const struct opts *,
    const char *name, bool look, struct fault *f);

/* Open what opts name as the output for reading only: a second source. */
int endpoint_open_compared(struct endpoint *, const struct opts *,
    struct fault *f);

/*
 * A source that has gone is there again, by another name: open that in its
 * place.  No lane may be attached.  Returns 0, or -1 with *f: it cannot be
 * opened, or has another size, and the endpoint is as it was.
 */
int endpoint_reopen(struct endpoint *, const char *path, struct fault *f);

/*
 * The disk that the end is, or that an sg, bsg or ng node leads to, or iSCSI
 * commands (its block node may be missing: 0).  False for what is no disk.
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
 * the kernel has and, by SCSI or NVMe commands, past the disk's own.  Positions
 * are those of the target; reads must be of whole r->grain bytes, which are
 * "most" at most.  A target that is to be created must have been prepared.
 * Returns 0, or -1 with *f: STATUS_REFUSED where it cannot be done.
 * endpoint_close closes it, before the target.
 */
int endpoint_readback(struct endpoint *r, const struct endpoint *target,
    uint32_t most, struct fault *f);

/*
 * Whether the target, which may be a zoned disk, takes the writes of the copy:
 * from "from" to "to", of what begins at "src_from" in the source.  A file's
 * bytes are kept from other copies from then on.  0, or -1 with *f.
 */
int endpoint_check_range(struct endpoint *, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f);

/*
 * What else there is to know of an end of its kind, in words; "" where it is
 * nothing.
 */
void endpoint_traits(const struct endpoint *, char *text, size_t room);

/* What its kind is called. */
const struct kind_words *endpoint_kind(const struct endpoint *);

/* Neither generated nor discarded: there is something that holds bytes. */
static inline bool
endpoint_holds(const struct endpoint *ep)
{
	return ep->kind < END_ZEROS;
}

/* Make the target length bytes long at least, if it has a length; errno. */
int endpoint_extend(struct endpoint *, uint64_t length);

/*
 * A source is going to be read from "from" to "to": what it lies on is noted,
 * for endpoint_check_kept to tell whether it has changed.
 */
void endpoint_look_below(struct endpoint *, uint64_t from, uint64_t to);

/*
 * When all was written, from "from" to "to", at most "holes" bytes of it as
 * holes: fails, with *f, if somebody has cut it off meanwhile, or it is not to
 * be found any more.  When a device was read, up to "to": fails if that may be
 * none of what it held.  0 where that cannot be told.
 */
int endpoint_check_kept(const struct endpoint *, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f);

/*
 * The copy used these bytes: drop them from the page cache, leave an inherited
 * offset behind them.
 */
void endpoint_drop_cache(struct endpoint *, uint64_t off, uint64_t len);

/*
 * The extent that holds off, from off on; an errno where that is not known.
 * For any thread.
 */
int endpoint_extent(const struct endpoint *, uint64_t off, struct extent *);

/*
 * The same of what has changed since the time that iflag= names: what has not
 * is a "hole" of the extent.
 */
int endpoint_changed(const struct endpoint *, uint64_t off, struct extent *);

/*
 * Let the len bytes at "to" be those at "from" of the source, which are shared
 * and not copied; an errno, and then there may be any part of them.  Both are
 * of the same kind.
 */
int endpoint_share(struct endpoint *, uint64_t to, const struct endpoint *src,
    uint64_t from, uint64_t len);

/*
 * Whether the contents can be looked at before the copy, of the target too: by
 * endpoint_probe, which reads whole blocks by nothing opened for writing, or,
 * if it is not "probed", by endpoint_view: a new descriptor to read from, or -1
 * and errno; cached: some of it is in the page cache and is to stay.
 */
bool endpoint_viewable(const struct endpoint *);
bool endpoint_probed(const struct endpoint *);
void endpoint_probe(struct endpoint *, struct io *);
int endpoint_view(const struct endpoint *, bool *cached);

/* Whether endpoint_readback may be asked: what it got can be read back. */
bool endpoint_readable_back(const struct endpoint *);

/* Close; returns the errno of a close that failed, else 0. */
int endpoint_close(struct endpoint *);

/* Where the end is to be found: NULL, if it is inherited. */
const char *endpoint_path(const struct endpoint *);

#endif
