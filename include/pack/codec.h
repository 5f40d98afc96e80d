/*
 * Formats of packed data: one row each (codecs), whose functions are in a file
 * of the same name.  A file is one or more members, that is streams or frames,
 * one behind the other.  A codec unpacks one of them at a time from memory to
 * memory; where the bytes come from is up to the caller.
 *
 * The library of a format is loaded when it is needed.
 */
#ifndef PARDD_CODEC_H
#define PARDD_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum {
	CODEC_PEEK = 64,	/* bytes that show whether a member begins */
};

enum codec_step {
	CODEC_GOES_ON,		/* it wants more bytes, or more room */
	CODEC_ENDED,		/* the member was whole, and its checks right */
	CODEC_FAILED,		/* see decoder.status */
};

struct codec_io {		/* what a step takes, and what it makes */
	const unsigned char *in;
	size_t		 in_len;
	unsigned char	*out;
	size_t		 out_len;
	bool		 last;	/* there are no bytes behind "in" */
};

struct decoder {		/* of one run */
	const struct codec *codec;
	void		*state;	/* the codec's own, or NULL */
	uint64_t	 memory;	/* bytes of mem=, or 0: not given */
	unsigned	 threads;	/* at most */
	uint64_t	 held;	/* bytes of memory, or 0: not known */
	int		 status;	/* of what has failed, and */
	char		 why[160];	/* in words, behind "it " */
};

/* The packed bytes, where they can be read at any place. */
struct codec_source {
	/* Read len bytes at off.  Returns 0 or an errno value. */
	int (*read)(void *arg, uint64_t off, void *buf, size_t len);
	void		*arg;
	const char	*name;
	uint64_t	 size;
	bool		 near;	/* many small reads take little time */
};

struct codec_part {		/* a block or frame */
	uint64_t	 at, size;	/* bytes of the content */
	uint64_t	 from, length;	/* of the packed data, */
	uint64_t	 head;	/* and of CODEC_HEAD bytes that go before it, or
				 * NO_HEAD */
};

enum { CODEC_HEAD = 12 };
#define NO_HEAD		UINT64_MAX

struct codec_measure {		/* what is known before anything is unpacked */
	uint64_t	 size;	/* bytes of the content, at least */
	bool		 exact;	/* that many, if nothing is wrong with it */
	uint64_t	 parts;	/* blocks or frames, or 0: not known */
	struct codec_part *part;	/* them, the caller's to free; NULL:
				 * they cannot be unpacked one by one */
};

struct codec {
	const char	*word;		/* of decode= */
	unsigned	 bit;		/* the same, or 0: not for users */
	/* Whether a member begins so; there may be less than CODEC_PEEK. */
	bool (*begins)(const unsigned char *head, size_t n);
	size_t		 room;		/* bytes of decoder.state */
	const struct library *library;	/* its functions begin the state; or
					 * NULL */
	/*
	 * Before the first member, in a state of zeros.  NULL: nothing to do.
	 * Returns 0, or -1 with *f and nothing to close.
	 */
	int (*open)(struct decoder *, struct fault *f);
	/* Before each member.  False: decoder.status.  NULL: nothing to do. */
	bool (*start)(struct decoder *);
	enum codec_step (*step)(struct decoder *, struct codec_io *);
	void (*close)(struct decoder *);	/* the same */
	/*
	 * Look for the size.  *m is all 0 before, and stays so if nothing is
	 * known.  Returns 0, or -1 with *f: it is refused.  NULL: the format
	 * does not say.
	 */
	int (*measure)(struct decoder *, const struct codec_source *,
	    struct codec_measure *m, struct fault *f);
	bool		 single;	/* one member, and no other behind it */
	unsigned	 gap;	/* zeros between members are a multiple of
				 * this; 0: there are none */
};

/* The codec of a word of decode=, by its bit. */
const struct codec *codec_named(unsigned bit);

/* The codec of data that begins so, or NULL. */
const struct codec *codec_found(const unsigned char *head, size_t n);

/*
 * Make the state of a decoder, and load the library.  Returns 0, or -1 with *f.
 * Closing it makes the state NULL.
 */
int codec_open(struct decoder *, struct fault *f);
void codec_close(struct decoder *);

/* For codecs: so many bytes were taken, and made. */
static inline void
codec_moved(struct codec_io *io, size_t in, size_t out)
{
	io->in += in;
	io->in_len -= in;
	io->out += out;
	io->out_len -= out;
}

/* The same: *d has failed, and why.  Returns CODEC_FAILED. */
enum codec_step codec_fail(struct decoder *d, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same: there is not enough memory. */
enum codec_step codec_starve(struct decoder *d);

/* Numbers of n bytes, the lowest first. */
uint64_t codec_number(const unsigned char *at, size_t n);

/*
 * For codec.measure: add a part of the content, behind the last one, whose size
 * and packed data these are.  Without memory, or if there are too many, or an
 * empty one, which nobody would look at, they are counted, and not listed.
 */
void codec_part_add(struct codec_measure *, uint64_t size, uint64_t from,
    uint64_t length, uint64_t head);

/* codec.measure of zstd and lz4: by the headers of frames, or a seek table. */
int frames_measure(struct decoder *, const struct codec_source *,
    struct codec_measure *, struct fault *);

/* Whether the frame of such a format begins so, or one that is skipped. */
bool frames_begin(const unsigned char *head, size_t n, bool lz4);

#endif
