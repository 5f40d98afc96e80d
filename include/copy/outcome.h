/*
 * The result of a run: a tally while it goes on, an outcome at its end.
 */
#ifndef PARDD_OUTCOME_H
#define PARDD_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/title.h"
#include "map/map.h"
#include "part/damage.h"
#include "plan/plan.h"

enum { GRACE = 10 };		/* s to wait for requests in flight */

enum phase {
	PHASE_COPYING, PHASE_FLUSHING, PHASE_VERIFYING, PHASE_REPAIRING,
	PHASE_COMPARING, PHASE_CLEARING,
	PHASE_SCRAPING, PHASE_RETRYING,			/* of a rescue, */
	PHASE_FILLING,					/* see rescue.c */
};

enum order {			/* what a rescue with used=first|meta reads */
	ORDER_NONE,		/* no such order */
	ORDER_META,		/* metadata at known places */
	ORDER_DEEP,		/* and the metadata found by it */
	ORDER_USED,
	ORDER_REST,
};

struct silence {		/* an end that does not answer */
	const struct endpoint *end;	/* or NULL: none */
	bool		 flush;		/* it is being flushed */
	double		 seconds;	/* since its last answer */
};

struct viewer_counts {		/* of reads of view= */
	uint64_t	 there;		/* answered at once, from the target */
	uint64_t	 read;		/* answered once that was read */
	uint64_t	 failed;	/* answered with an error */
	uint64_t	 waiting;	/* not answered yet; */
	uint64_t	 at;		/* the byte that the first waits for */
	bool		 used;		/* the file was in use at the end */
	bool		 over;		/* nothing more is read for them */
};

struct tally {			/* of a run so far; bytes unless it says */
	uint64_t	read;		/* with holes */
	uint64_t	written;	/* with padding and zeros */
	uint64_t	padded;		/* padding at the end */
	uint64_t	holes;		/* of read: holes, not really read */
	uint64_t	zeroed;		/* of written: by OP_ZERO */
	uint64_t	shared;		/* of both: blocks of both files */
	uint64_t	spared;		/* that the target had already */
	uint64_t	verified;	/* read back or compared */
	uint64_t	mended;		/* of verified: wrong, and rewritten */
	uint64_t	passed;		/* that this phase has dealt with, */
	uint64_t	whole;		/* and its total, if known, or */
	bool		guessed;	/* as far as can be guessed */
	bool		twice;		/* with verify= all is read as well: */
	uint64_t	other;		/* done of that, or of the copy */
	uint64_t	had;		/* of passed: by earlier runs */
	uint64_t	finished;	/* by the map */
	uint64_t	left;		/* the rest, if the length is known */
	uint64_t	outside;	/* left out of the copy */
	uint64_t	differing;	/* that differ, as far as known */
	uint64_t	lost;		/* unreadable so far */
	uint64_t	again;		/* of lost: in failed reads, parts of
					 * which may yet be read */
	double		seconds;	/* since the start */
	double		slept;		/* the machine, meanwhile; seconds,
					 * known at the end only */
	double		celsius;	/* of the source; NaN: unknown */
	enum phase	phase;
	enum order	order;
	bool		stopping;	/* no new request is begun */
	struct silence	silence;
	struct viewer_counts view;
	unsigned	in_flight_read, in_flight_written;	/* most requests
				 * at a time; 0: one for each worker */
};

/*
 * Why a run did not do all that was wanted.  The order is that of precedence:
 * the first kind that a run has makes its status, see verdict_judge.
 */
enum why {
	WHY_REFUSED,		/* it did not begin, */
	WHY_USAGE,		/* or was no command at all */
	WHY_LEFT,		/* requests have not returned */
	WHY_SIGNAL,
	WHY_FAULT,		/* a call failed that nothing goes on without */
	WHY_SHORT,		/* the source ended too early, */
	WHY_EMPTY,		/* or nothing came out of the pipe */
	WHY_FLUSH,
	WHY_UNSWEPT,		/* not tried, as rescue=nosweep wants */
	WHY_UNTRIED,
	WHY_UNSAVED,		/* the map file */
	WHY_UNVERIFIED,		/* not everything was read back */
	WHY_DIFFERS,
	WHY_LONGER,		/* one of two compared ends */
	WHY_UNREADABLE,
	WHY_CHECKSUM,		/* a range of the block map differs */
	WHY_DIGEST,		/* is not the expected one */
	WHY_UNRECORDED,		/* a file of the run was not written */
	WHY_KINDS
};

struct reason {
	enum why	 kind;
	int		 status;	/* of a run with no other reason: from
					 * an errno, sense data or a signal */
	const struct endpoint *end;	/* that it concerns, or NULL */
	int64_t		 bytes, ranges;	/* or -1: it is no matter of them */
	const struct fault *fault;	/* in whose words, or NULL */
};

struct verdict {		/* on a target */
	int		 status;	/* exit status; 0: there is no reason */
	unsigned	 n;
	struct reason	 why[WHY_KINDS];	/* in order of time */
};

struct result {			/* the outcome for one target */
	struct verdict	 verdict;
	struct map	 differ;	/* BAD: is not what it should be */
	bool		 unread;	/* verify=: some cannot be read back */
	bool		 proven;	/* all was checked against digests */
	int64_t		 before;	/* verify=sample: what was read belongs
					 * so many bytes before; or 0 */
	bool		 flushed;
	bool		 stale;		/* the kernel keeps old partitions */
};

struct outcome {
	struct tally	 tally;
	struct map	 map;		/* outcome_free frees it */
	struct profile	*profile;	/* the same; NULL: not wanted */
	struct result	*target;	/* of each target; the same */
	unsigned	 targets;	/* of them, 1 to TARGETS_MOST */
	const struct endpoint *longer;	/* of two compared ends, or NULL */
	struct fault	 fault;		/* what stopped it; status 0: nothing */
	struct fault	 flush;		/* why the last flush failed */
	struct fault	 unsaved;	/* why the map was not saved */
	struct fault	 outputs;	/* why a file was not, see outputs.h */
	int		 status;	/* verdict_make's: of the run */
	struct damage	 damage;	/* main's; outcome_free frees it */
	int		 signal;	/* the one that stopped it, else 0 */
	uint64_t	 rate;		/* bytes a second, as set last, or 0 */
	int		 ioprio;	/* the same; 0: not set */
	struct title	 title;		/* of the process, so far */
	uint64_t	 gone_at;	/* the byte where the source was found
					 * to be gone, or NOWHERE */
	bool		 gone;		/* the fault: the source has gone */
	bool		 refused;	/* ... and what came back was refused */
	bool		 doubt;		/* the target failed: earlier writes
					 * may not be on the medium */
	bool		 stuck;		/* the fault: the library of an end
					 * does not return */
	bool		 abandoned;	/* left while workers still ran: after
					 * a second signal, */
	int		 again;		/* this one; 0: requests in flight did
					 * not return in time */
};

/* The name of a silence in JSON: source, target or flush; NULL: nothing. */
const char *silence_word(const struct silence *, const struct plan *);

/*
 * That in words for people: "no answer from /dev/sda for 13 s", or without the
 * name if that is "".
 */
void silence_text(char *to, size_t room, const struct silence *,
    const char *name);

/* The word for a phase; a constant. */
const char *phase_name(enum phase);

/* How much of it all is done, 0 to 1, if the total is known. */
double tally_part(const struct tally *);

/*
 * How many bytes of the copy are in place from its beginning on, without a gap:
 * to its end, or to the first byte that was not copied.
 */
uint64_t outcome_in_place(struct outcome *);

/* Free everything that copy_run filled in. */
void outcome_free(struct outcome *);

#endif
