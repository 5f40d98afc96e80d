/*
 * Endpoints.  An endpoint is one open end of the copy, the source or the
 * target; a lane (lane.h) is one worker's access to it.  A backend
 * (src/end/backend.h) does the work; nothing outside src/end reaches into it.
 *
 * All offsets and lengths are bytes.
 */
#ifndef PARDD_ENDPOINT_H
#define PARDD_ENDPOINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "digest/hash.h"
#include "disk/filesystem.h"
#include "end/lane.h"

enum role { SOURCE, TARGET };

enum { HEAD_SEEN = 2048 };	/* first bytes that tell what an end holds */

enum end_kind {
#define KIND(kind, ...)		kind,
#define ADDRESS(kind, ...)	kind,
#include "end/kinds.def"
};

struct kind_words {		/* the names of a kind */
	const char	*text;	/* for people */
	const char	*json;	/* for programs */
};

struct extent {			/* a run of a file: all data, or all hole */
	uint64_t	off, len;
	bool		hole;
};

struct end_spec {		/* what the command line says about an end */
	enum role	 role;
	unsigned	 flags;	/* enum flag, of iflag= or oflag= */
	const char	*bitmap;	/* of an NBD source, or NULL */
	const char	*since;		/* of a Ceph source: a snapshot, or
					 * NULL */
	unsigned	 force;		/* enum force */
	unsigned	 timeout;	/* s, of a command; of an answer */
	unsigned	 patience;	/* the same if timeout= is given, else
				 * 0 */
	unsigned	 cdb_size;	/* bytes of a SCSI command (cdbsz=) */
	int64_t		 bpt;		/* blocks of a transfer, or 0 */
	int64_t		 retries;	/* -1: not given; see lane_again */
	bool		 rescue;	/* map=: a rescue handles its errors */
	bool		 keeps;		/* what a target holds may be kept */
	bool		 coe;		/* coe=1: go on after errors */
	bool		 verify;	/* what is written will be read back */
	bool		 sync;		/* and flushed */
	bool		 async;		/* many requests at a time are wanted */
	bool		 loud;		/* verbose= */
	bool		 held;		/* force=held: other users are fine */
	const struct secrets *secrets;	/* passwords from the command line */
};

struct geometry {		/* sizes, in bytes */
	int64_t		 size;	/* or -1: unknown, unlimited, or absent */
	uint64_t	 least;	/* of a size that is unknown: at least this */
	int64_t		 room;	/* the most it can hold, or -1: unknown */
	uint32_t	 block;	/* logical block of a device, else 0 */
	uint32_t	 io_align;	/* requests are multiples of this */
	uint32_t	 io_opt;	/* a good size of a request, or 0 */
	uint32_t	 fs_block;	/* of a file: the unit of sharing */
	uint64_t	 io_max;	/* largest request kept whole, or 0 */
	unsigned	 depth;	/* requests in flight per lane, or 0: any */
	uint64_t	 zone;	/* of a zoned target, if all are equal, or 0 */
};

struct commands {		/* of an end: see struct backend */
	uint32_t	 unit;	/* bytes: they are multiples, or reach the
				 * end; 0: it takes requests as they are */
	uint32_t	 zero_most;	/* bytes of OP_ZERO; 0: it has none */
	uint64_t	 end;	/* size of the disk, whatever part is copied */
	atomic_uint	 most;	/* bytes of the others, */
	atomic_uint	 shrunk;	/* so often halved */
	atomic_bool	 no_zero;	/* it refuses OP_ZERO */
};

struct limits {			/* the part of an end that may be copied */
	uint64_t	 base;	/* its first byte: that of a partition, or the
				 * offset of an inherited descriptor */
	uint64_t	 end;	/* its end: nothing is written from here on,
				 * nor read ahead */
	unsigned	 part;	/* number of the partition, or 0 */
	int64_t		 disk_size;	/* size of the whole disk */
	char		 within[32];	/* "partition 2 of ", or "" */
};

struct traits {			/* properties of an end */
	bool		 inherited;	/* fd is standard input or output */
	bool		 streamed;	/* in order, one request at a time */
	bool		 piped;		/* a pipe or a socket */
	bool		 seekable;	/* the copy can begin anywhere */
	bool		 endless;	/* zeros or random bytes without end */
	bool		 device;
	bool		 remote;	/* over a network: waiting is costly */
	bool		 unflushable;	/* a target that has no flush */
	bool		 single;	/* engine=async: one worker only */
	bool		 wide;		/* needs ring entries of 128 bytes */
	bool		 probed;	/* see endpoint_probe */
	bool		 past_cache;	/* requests bypass the page cache */
	bool		 back;		/* reads back the target, or compares */
	bool		 durable;	/* a flush makes its data safe */
	bool		 absent;	/* a file that is still to be created */
	bool		 memory;	/* a file in tmpfs */
	bool		 shares;	/* a file that may share blocks */
	bool		 sparse;	/* a source with holes */
	bool		 zeroes;	/* a target where OP_ZERO may work */
	bool		 zoned;		/* a target with zones, each of which
					 * is written in order */
	bool		 linked;	/* a file that had a name when opened */
	bool		 stuck;		/* a request never returned: nothing is
					 * freed even by closing, and the
					 * process ends by _exit */
};

struct identity {		/* shows whether two ends are the same */
	bool	known;
	dev_t	dev;		/* the file system, or the device itself */
	ino_t	ino;		/* 0 for a device */
	dev_t	node;		/* number of a device node, else 0 */
	dev_t	file_dev;	/* of the file, node or pipe itself: the file
				 * system, and */
	ino_t	file_ino;	/* the inode; 0: none yet */
	struct timespec written;	/* mtime of a file when it was opened */
	off_t	size;		/* of a file, then */
	pid_t	server;		/* of this machine, that serves it; or 0 */
	const char *peer;	/* address of the server, or "" */
	const char *export;	/* what it serves there, or NULL: unknown;
				 * both are the backend's */
};

struct endpoint {		/* shared by all workers; const once open */
	const struct backend *be;	/* src/end only */
	void		*priv;	/* the backend's own data */
	const atomic_uint *holds;	/* counts entries into its library and
					 * exits, see endpoint_inside; NULL:
					 * none is watched */
	const char	*name;	/* as given, or "standard input" */
	enum end_kind	 kind;
	struct end_spec	 spec;
	struct traits	 is;
	struct geometry	 geo;
	struct commands	 cmd;	/* what is atomic is learned meanwhile */
	struct limits	 lim;
	struct identity	 id;
	int		 fd;	/* the inherited one; while opening, O_PATH */
	int		 dir;	/* directory of a file to create, else -1 */
	int		 layer;	/* the target's file below an overlay, or -1 */
	struct statfs	 fs;	/* file system of a file; else all 0 */
	uint64_t	 held;	/* bytes allocated to a file */
	const char	*sync_why;	/* why not engine=async, or NULL */
	const struct endpoint *carrier;	/* whose bytes it unpacks, or NULL */
	const char	*decoded;	/* from this format, or NULL */
	const char	*encoded;	/* as this format, or NULL */
	const unsigned char *head;	/* HEAD_SEEN bytes of a stream, or of
				 * what is unpacked, read while opening,
				 * zeros behind its end; or NULL: unread */
	char		 again[300];	/* its new name: endpoint_replace */
	char		 offers[512];	/* what else users should know about
				 * it, such as how many connections it has */
	atomic_bool	 noted;	/* set while it is closed: "said" is there */
	char		 said[256];	/* once closed: note of the backend, */
	uint64_t	 stored;	/* bytes of what it was packed into, */
	char		 packed[HASH_HEX];	/* and the digest of what it
				 * was unpacked from, for expect=, or "" */
};

/*
 * Open the end that opts name for a role (no name or "-": standard input or
 * output) and choose its backend.  This creates and writes nothing; "look" is
 * for --dry-run.  The opts belong to the caller and must outlive the endpoint.
 * Returns 0, or -1 with *f; then there is nothing to close.
 */
int endpoint_open(struct endpoint *, enum role, const struct opts *, bool look,
    struct fault *f);

/* The same for one of several targets, by name. */
int endpoint_open_target(struct endpoint *, const struct opts *,
    const char *name, bool look, struct fault *f);

/* Open the output that opts name for reading, for compare=1. */
int endpoint_open_compared(struct endpoint *, const struct opts *,
    struct fault *f);

/*
 * Open a source that had gone, and has come back under the name "path", which
 * must outlive the endpoint.  This may take long; any thread can do it.
 * Returns 0, or -1 with *f: then there is nothing to close, and if it is stuck
 * its memory is still in use.
 */
int endpoint_open_again(struct endpoint *, const struct end_spec *,
    const char *path, struct fault *f);

/*
 * Put it in the place of the one that had gone.  No lane may be attached.
 * Returns 0; or -1 with *f and the endpoint unchanged, if the new one is
 * another or has another size; it is closed then.
 */
int endpoint_replace(struct endpoint *, struct endpoint *new, struct fault *f);

/*
 * Describe the disk of an end: that of a block, sg, bsg or ng node, or of an
 * iSCSI target (which may have no block node: 0).  False if it is not a disk.
 */
struct disk;
bool endpoint_disk(const struct endpoint *, struct disk *);

/*
 * Whether a descriptor is of the same file, pipe or device as the end, so that
 * writing to it would write to the end.  False for an end that discards or
 * generates bytes.  Sets errno as endpoint_layered.
 */
bool endpoint_is(const struct endpoint *, int fd);

/*
 * For --dry-run: check that a real run would be allowed to write.  Returns 0,
 * or -1 with *f.  A file that exists was checked when it was opened.
 */
int endpoint_look(const struct endpoint *, struct fault *f);

/*
 * Make the target ready for writing: create it if it is absent, with that mode
 * less the umask, and truncate it to length bytes unless that is negative.
 * Returns 0, or -1 with *f.
 */
int endpoint_prepare(struct endpoint *, mode_t, int64_t length,
    struct fault *f);

/* Query the length of a target file again, which may have changed. */
void endpoint_restat(struct endpoint *);

/*
 * Continue writing to a target that an earlier attempt has prepared: it exists,
 * and keeps its present length.  No lane may be attached.
 */
void endpoint_go_on(struct endpoint *);

/*
 * Flush everything written to the medium, and the name of a new file too.
 * Returns 0, or -1 with *f.
 */
int endpoint_flush(struct endpoint *, struct fault *f);

/*
 * Open a second end, r, that reads the target back from the medium: past the
 * page cache and, with SCSI or NVMe commands, past the cache of the disk.
 * Offsets are those of the target; reads must be multiples of r->geo.io_align,
 * which is at most "most" bytes.  A new target must have been prepared.
 * Returns 0, or -1 with *f: STATUS_REFUSED if it cannot be read back.  Close r
 * before the target.
 */
int endpoint_readback(struct endpoint *r, const struct endpoint *target,
    uint32_t most, struct fault *f);

/*
 * How many zones of a zoned target may be written at a time, each in order by
 * one worker: bytes "from" to "to", which begin at "src_from" in the source.
 * 0: not even one, which endpoint_check_range refuses.
 */
unsigned endpoint_writers(struct endpoint *, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from);

/*
 * Check that the target takes the writes of this copy: bytes "from" to "to",
 * which begin at "src_from" in the source.  (A zoned disk may not.)  This also
 * locks that range of a file against other copies.  Returns 0, or -1 with *f.
 */
int endpoint_check_range(struct endpoint *, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f);

/*
 * The number of a call that is now inside the library that carries requests,
 * or 0 if there is none.  The same number for longer than timeout= means that
 * the library does not return, nor does any thread that waits for it.  Any
 * thread.
 */
unsigned endpoint_inside(const struct endpoint *);

/*
 * Bytes that are UNTRIED in the map, whose byte 0 is byte "origin" of the
 * source, will be read soon.  NULL: nobody knows any more; the map must live
 * until then.
 */
struct map;
void endpoint_ahead(struct endpoint *, struct map *, uint64_t origin);

/*
 * How long a source of unknown size will be, by what was read of it so far; 0:
 * there is no telling.  Any thread.
 */
uint64_t endpoint_guess(const struct endpoint *);

/* The names of its kind. */
const struct kind_words *endpoint_kind(const struct endpoint *);

/* Whether the end stores bytes, and does not generate or discard them. */
static inline bool
endpoint_holds(const struct endpoint *ep)
{
	return ep->kind < END_ZEROS;
}

/* Whether it is a file that can be written anywhere. */
static inline bool
endpoint_is_file(const struct endpoint *ep)
{
	return ep->kind == END_FILE;
}

/* Whether it is a disk of this machine, by the calls of the kernel. */
static inline bool
endpoint_is_node(const struct endpoint *ep)
{
	return ep->kind == END_BLOCK;
}

/* Who else uses the disk of a target: what is known of other machines. */
enum users { USERS_KNOWN, USERS_REGISTERED, USERS_HIDDEN };
static inline enum users
endpoint_users(const struct endpoint *ep)
{
	return !ep->is.remote || ep->kind == END_RBD ? USERS_KNOWN :
	    ep->kind == END_ISCSI ? USERS_REGISTERED : USERS_HIDDEN;
}

/* Extend the target to at least length bytes, if it has a length; errno. */
int endpoint_extend(struct endpoint *, uint64_t length);

/*
 * Before the source is read from "from" to "to": record what it lies on, so
 * that endpoint_check_kept can see whether that has changed.
 */
void endpoint_look_below(struct endpoint *, uint64_t from, uint64_t to);

/*
 * Bytes of holes that a target has in a range of its file, or of the file below
 * it; 0 if unknown.
 */
uint64_t endpoint_holes(const struct endpoint *, uint64_t from, uint64_t to);

/*
 * After the copy, check that nobody interfered.  For a target written from
 * "from" to "to", with at most "holes" bytes of holes: that it was not
 * truncated or removed.  For a device that was read up to "to": that it is
 * still the same device.  Returns 0, also if the end cannot tell, or -1 with
 * *f.
 */
int endpoint_check_kept(const struct endpoint *, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f);

/*
 * The copy is done with these bytes: drop them from the page cache, and move
 * the offset of an inherited descriptor past them.
 */
void endpoint_drop_cache(struct endpoint *, uint64_t off, uint64_t len);

/*
 * The extent at off, from off on.  Returns 0, or an errno value if it is
 * unknown.  Safe in any thread.
 */
int endpoint_extent(const struct endpoint *, uint64_t off, struct extent *);

/*
 * The same for what has changed since the time that iflag=bitmap: or since:
 * names: what has not changed is reported as a hole.
 */
int endpoint_changed(const struct endpoint *, uint64_t off, struct extent *);

/*
 * Share len bytes at "from" of the source with the target at "to", without
 * copying them.  Returns 0, or an errno value; then any part may have been
 * shared.  Both ends must be of the same kind.
 */
int endpoint_share(struct endpoint *, uint64_t to, const struct endpoint *src,
    uint64_t from, uint64_t len);

/*
 * Reading the contents before the copy, of the target too.  "viewable": it can
 * be done.  With is.probed by endpoint_probe, which reads whole blocks without
 * a descriptor that is open for writing.  Else by endpoint_view, which returns
 * a new descriptor for reading, or -1 with errno; *cached: part of the contents
 * is in the page cache, and should stay there.
 */
bool endpoint_viewable(const struct endpoint *);
void endpoint_probe(struct endpoint *, struct io *);
int endpoint_view(const struct endpoint *, bool *cached);

/* Whether endpoint_readback can work for this kind of target. */
bool endpoint_readable_back(const struct endpoint *);

/* Close it.  Returns 0, or the errno value of a close that failed. */
int endpoint_close(struct endpoint *);

/*
 * When a target file was last written, which is flushed as well, or a source
 * file had been when it was opened.  Returns 0 or an errno value: EOPNOTSUPP if
 * its file system does not keep that time exactly, else an error of the flush.
 */
int endpoint_written(const struct endpoint *, struct timespec *);

/* How to find its file, for filesystem.h and overlay.h. */
struct located endpoint_located(const struct endpoint *);

/*
 * The file in a layer for its file on an overlay, see overlay_file.  False: it
 * is not on an overlay, or the layer cannot be seen; errno is not 0 if that is
 * for lack of descriptors or memory.
 */
struct stat;
bool endpoint_layer(const struct endpoint *, struct stat *);

/*
 * Whether a file is that of the end under another name, on an overlay.  False:
 * errno is not 0 if it is not known for lack of descriptors or memory.
 */
bool endpoint_layered(const struct endpoint *, const struct located *);

/* Its path, or NULL if it is inherited. */
static inline const char *
endpoint_path(const struct endpoint *ep)
{
	return ep->is.inherited ? NULL : ep->name;
}

#endif
