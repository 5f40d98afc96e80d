/*
 * A mock file system in memory, and what its reader reports about it; included
 * once, by a test.
 */
#ifndef PARDD_TEST_FSIMAGE_H
#define PARDD_TEST_FSIMAGE_H

#include <bsd/string.h>

#include "fs/fsmap.h"
#include "poor.h"

static struct {
	const char *type;
	unsigned char *bytes;
	uint64_t size;		/* behind it there are zeros, but for these, */
	uint64_t far_at, far_size;
	const unsigned char *far;
	size_t	 period;	/* ... which are these bytes again and again */
	uint64_t lost, lost_2;	/* bytes that cannot be read, because of */
	int	 err;
	bool	 failed;	/* such a byte was asked for */
	unsigned reads;		/* since then */
	unsigned n;		/* how many have been asked for, of which */
	unsigned fails;		/* this one fails, and with "on" those after */
	bool	 on;		/* it */
} image;

static struct fs_source src;
static struct fs_map map;
static struct fs_names names;

static int
image_get(void *arg, uint64_t off, void *to, size_t len)
{
	size_t i, n;
	uint64_t at;

	image.n++;
	if (image.n == image.fails || (image.on && image.n > image.fails))
		return EIO;
	if ((off <= image.lost && image.lost < off + len) ||
	    (off <= image.lost_2 && image.lost_2 < off + len)) {
		image.reads = image.failed ? image.reads : 0;
		image.failed = true;
		return image.err;
	}
	image.reads++;
	memset(to, 0, len);
	if (off < image.size)
		memcpy(to, image.bytes + off, len < image.size - off ? len :
		    (size_t)(image.size - off));
	for (i = 0; i < len; i += n) {
		at = off + i - image.far_at;
		n = len;
		if (off + i < image.far_at || at >= image.far_size)
			continue;
		n = image.period - at % image.period;
		n = n < len - i ? n : len - i;
		memcpy((unsigned char *)to + i, image.far + at % image.period,
		    n);
	}
	return 0;
}

/* All of it can be read, and it is all there is. */
static inline void
image_begin(const char *type, unsigned char *bytes, uint64_t size)
{
	memset(&image, 0, sizeof(image));
	image.type = type;
	image.bytes = bytes;
	image.size = size;
	image.lost = image.lost_2 = UINT64_MAX;
	image.err = EIO;
	src = (struct fs_source){ .read = image_get, .length = size };
}

static inline int
image_end(void **state)
{
	fs_map_free(&map);
	fs_names_free(&names);
	return 0;
}

static inline void
put(unsigned char *p, int bytes, uint64_t v)
{
	for (; bytes > 0; bytes--, v >>= 8)
		*p++ = (unsigned char)v;
}

/* Most significant byte first. */
static inline void
put_msb(unsigned char *p, int bytes, uint64_t v)
{
	for (; bytes-- > 0; v >>= 8)
		p[bytes] = (unsigned char)v;
}

/* What it says of itself, when it is read so. */
static inline enum fs_state
image_read(unsigned how)
{
	fs_map_free(&map);
	image.n = 0;
	assert_int_equal(fs_map_read(image.type, &src, how, &map), 0);
	return map.state;
}

/* Whether these ranges are free. */
static inline bool
image_free(const struct fs_extent *want, size_t n)
{
	return map.free.n == n && (n == 0 || memcmp(map.free.at, want, n *
	    sizeof(*want)) == 0);
}

/* Whether no byte of a range is free. */
static inline bool
image_used(uint64_t off, uint64_t len)
{
	return fs_among(&map.free, off, off + len) == 0;
}

/* Whether these files have a byte of a range, and there may be "more". */
static inline bool
hits(uint64_t off, uint64_t len, const char *want, bool more)
{
	struct fs_extent e = { .off = off, .len = len };
	struct fs_extents all = { .at = &e, .n = 1 };
	char got[512] = "";
	size_t i;

	fs_names_free(&names);
	image.n = 0;
	assert_int_equal(fs_names_read(image.type, &src, &all, &names), 0);
	for (i = 0; i < names.n; i++) {
		strlcat(got, i == 0 ? "" : " ", sizeof(got));
		strlcat(got, names.name[i], sizeof(got));
	}
	return names.known && names.more == more && strcmp(got, want) == 0;
}

/*
 * Read it with a request for memory that fails, then with the next, until none
 * does.  Returns how often it was read.
 */
static inline unsigned
image_lacks_memory(unsigned how)
{
	unsigned n = 0;
	int err;

	do {
		fs_map_free(&map);
		poor_after(n++);
		err = fs_map_read(image.type, &src, how, &map);
		assert_int_equal(err, poor_was() ? ENOMEM : 0);
	} while (err != 0);
	return n;
}

/* Without memory nothing is said, neither of it nor of what a range is of. */
static inline void
image_needs_memory(uint64_t off, uint64_t len, unsigned how)
{
	struct fs_extent e = { .off = off, .len = len };
	struct fs_extents all = { .at = &e, .n = 1 };
	unsigned n, places = image_lacks_memory(how);
	int err = ENOMEM;

	assert_true(map.free.n > 0);
	for (n = 0; err != 0; n++) {
		fs_names_free(&names);
		poor_after(n);
		err = fs_names_read(image.type, &src, &all, &names);
		assert_int_equal(err, poor_was() ? ENOMEM : 0);
	}
	assert_true(names.n > 0);
#ifdef POOR
	assert_true(places > 3 && n > 3);
#else
	(void)places;
#endif
}

/* Whether all of these lie in others. */
static inline bool
image_within(const struct fs_extents *these, const struct fs_extents *others)
{
	size_t i;

	for (i = 0; i < these->n; i++)
		if (fs_among(others, these->at[i].off, these->at[i].off +
		    these->at[i].len) != these->at[i].len)
			return false;
	return true;
}

/*
 * Wherever reads fail, nothing is free that is not, and names of a range are
 * left out only where it is said that there may be more.
 */
static inline void
image_fails(uint64_t off, uint64_t len)
{
	struct fs_names all;
	struct fs_map whole;
	bool same, on = false;
	size_t i;

	image_read(0);
	whole = map;
	map = (struct fs_map){ .state = FS_CLEAN };
	hits(off, len, "", false);
	all = names;
	names = (struct fs_names){ .n = 0 };
	do {
		image.on = on;
		for (image.fails = 0; image.fails <= image.n; ) {
			image.fails++;
			image_read(0);
			assert_true(image_within(&map.free, &whole.free));
		}
		for (image.fails = image.n = 0; image.fails <= image.n; ) {
			image.fails++;
			hits(off, len, "", false);
			same = names.n == all.n;
			for (i = 0; i < names.n && same; i++)
				same = strcmp(names.name[i], all.name[i]) == 0;
			assert_true(same || names.more || !names.known);
		}
		on = !on;
	} while (on);
	image.fails = 0;
	image.on = false;
	fs_map_free(&whole);
	fs_names_free(&all);
}

struct misnamed {		/* bytes that are spoilt, and which files */
	unsigned char	*p;	/* a range is of then */
	int		 bytes;
	uint64_t	 v;
	uint64_t	 off, len;
	const char	*want;
	bool		 more;
};

struct image_spoilt {		/* bytes that are spoilt, what it is then, and */
	unsigned char	*p;	/* how many clusters are free */
	int		 bytes;
	uint64_t	 v;
	enum fs_state	 state;
	unsigned	 n;
};

/*
 * For an image that unsealed() makes, and that needs checksums, which seal() makes:
 * set_up(), which runs before each case; and try(rows, n), which sees what each row
 * spoils by itself, and whether it is right then.
 */
#define IMAGE_SEALED(seal)						\
static int								\
set_up(void **state)							\
{									\
	unsealed(state);						\
	seal();								\
	return 0;							\
}									\
EACH(set_up, image_end)
#define IMAGE_TRIES(type, seal, right)					\
static void								\
try(const struct type *s, size_t n)					\
{									\
	const struct type *first = s;					\
									\
	for (; s < first + n; s++) {					\
		unsealed(NULL);						\
		put(s->p, s->bytes, s->v);				\
		seal();							\
		if (image_read(0) != s->state || !(right))		\
			fail_msg("case %td: %s, %llu bytes free: %s",	\
			    s - first, fs_state_name(map.state),	\
			    (ull)map.free_bytes, map.reason);		\
	}								\
	set_up(NULL);							\
}

/* For one that has no checksums. */
static inline void
image_keep(void)
{
}

/* See what each does by itself, in an image made anew. */
static inline void
image_misnamed(int (*make)(void **), void (*seal)(void),
    const struct misnamed *s, size_t n)
{
	size_t i, wrong = 0;

	for (i = 0; i < n; i++) {
		make(NULL);
		put(s[i].p, s[i].bytes, s[i].v);
		seal();
		if (hits(s[i].off, s[i].len, s[i].want, s[i].more))
			continue;
		print_message("case %zu: %zu, %s%s\n", i, names.n,
		    names.n == 0 ? "" : names.name[0], names.more ? ", more" :
		    "");
		wrong++;
	}
	assert_int_equal(wrong, 0);
	make(NULL);
}

#endif
