/*
 * One piece of the copy on its way through a worker: it is claimed, read
 * through the source lane, written through the target lane, and settled.
 *
 *	fetch	claim and read; narrow a failed read down to the bad block
 *	store	write, in turn if the target is a stream
 *
 * If several zones of the target are written at a time (plan->zones), a worker
 * claims a whole zone, and takes its pieces from there, in order.  It keeps the
 * zone until it has finished it, so each zone has one writer, and no more are
 * open than there are workers.  What a stop leaves of it goes back to the map
 * (worker.c).
 *
 * A read ends as WHOLE, ENDED (the source has no more data) or CUT (by a fault
 * or by stop); data read before a cut is still written.  For locks see job.h.
 */
#include "copy/piece.h"

#include <errno.h>
#include <string.h>

#include "copy/elsewhere.h"
#include "copy/ranges.h"
#include "copy/sparing.h"
#include "copy/sparse.h"
#include "copy/transfer.h"
#include "digest/digest_table.h"
#include "digest/hash.h"
#include "part/used.h"

enum {
	FAN = 16,		/* parts that a failed read is split into */
};

/* The offset in the source of the next byte to read. */
static uint64_t
piece_source_offset(const struct worker *w, const struct piece *pc)
{
	return lane_place(&w->src, pc->seg.off + pc->good);
}

/* Read the next len bytes of a piece. */
static struct io
read_at(struct worker *w, const struct piece *pc, size_t len, enum care care)
{
	return transfer_read(w, pc->seg.off, pc->good, len, care);
}

/* The same, after a larger read has failed. */
static struct io
piece_read_part(struct worker *w, const struct piece *pc, size_t len)
{
	struct io io = read_at(w, pc, len, CAREFULLY);

	elsewhere_feel(w, &w->src, &io);
	return io;
}

/* Read a single block of a piece, up to retries= times more if it fails. */
static struct io
piece_read_block(struct worker *w, const struct piece *pc, size_t len)
{
	struct io io;

	do {
		io = piece_read_part(w, pc, len);
	} while (lane_again(&w->src, &io) && !w->job->stop);
	return io;
}

/* Make the reads one step larger, if position and length allow it. */
static size_t
step_coarser(size_t step, uint64_t pos, size_t len)
{
	while (step < len / FAN && pos % (step * FAN) == 0)
		step *= FAN;
	return step;
}

/*
 * A block read only in part counts as unreadable: go back to its start.
 * Returns its length, as far as it lies in the piece.
 */
static size_t
whole_block(const struct worker *w, struct piece *pc)
{
	const struct plan *p = w->job->p;
	size_t over = (size_t)(piece_source_offset(w, pc) % p->block), left;

	pc->good -= over < pc->good ? over : pc->good;
	left = (size_t)pc->seg.len - pc->good;
	over = p->block - (size_t)(piece_source_offset(w, pc) % p->block);
	return over < left ? over : left;
}

/* Give up a block: zeros in the buffer, BAD in the map. */
static int
piece_lose_block(struct worker *w, struct piece *pc, size_t n)
{
	if (map_settle(&w->job->map, pc->seg.off + pc->good, n, BAD) != 0)
		return ENOMEM;
	memset(w->buf + pc->good, 0, n);
	pc->good += n;
	pc->lost += n;
	return 0;
}

/*
 * The length of the next read of a failed transfer.  If the disk has named the
 * bad block, read everything before it, then that block alone (*probe).
 */
static size_t
next_read(const struct worker *w, const struct piece *pc, size_t step,
    uint64_t hint, bool *probe)
{
	const struct plan *p = w->job->p;
	uint64_t at = piece_source_offset(w, pc);
	size_t left = (size_t)pc->seg.len - pc->good;
	size_t n = step - (size_t)(at % step);

	*probe = false;
	if (hint != NOWHERE) {
		hint = lane_place(&w->src, hint);
		hint -= hint % p->block;
		*probe = hint <= at && at - hint < p->block;
		if (*probe)
			n = p->block - (size_t)(at % p->block);
		else if (hint > at && hint - at < left)
			n = (size_t)(hint - at);
	}
	return n < left ? n : left;
}

/*
 * Read the rest of a failed transfer, from pc->good on.  If the disk has named
 * a bad block, try that one first, and trust the disk as long as such blocks
 * fail on their own; after one wrong answer ignore what it says.  Otherwise the
 * reads get smaller around each spot that fails and larger after it.  This
 * costs two failing reads besides the bad block itself; failing reads are the
 * slow ones.
 *
 * Without coe, stop at the first bad block.  Everything before it is still
 * wanted, even if the copy is being stopped because of another one.
 */
static enum got
piece_salvage(struct worker *w, struct piece *pc, uint64_t hint)
{
	const struct plan *p = w->job->p;
	size_t len = (size_t)pc->seg.len, step = p->block, n;
	bool probe, trust = true;
	struct io io;

	while (step < len / FAN)
		step *= FAN;
	while (pc->good < len && !(w->job->stop && p->opts->coe != 0)) {
		n = next_read(w, pc, step, hint, &probe);
		io = n > p->block ? piece_read_part(w, pc, n) :
		    piece_read_block(w, pc, n);
		pc->good += io.done;
		if (io.err == 0 && io.done < n)
			return ENDED;
		if (io.err == 0) {
			trust = trust && !probe;
			hint = trust ? hint : NOWHERE;
			step = step_coarser(step, piece_source_offset(w, pc),
			    len);
			continue;
		}
		if (errno_is_medium(io.err) && n > p->block) {
			hint = trust ? transfer_hint(&io) : NOWHERE;
			step /= hint == NOWHERE && step > p->block ? FAN : 1;
			continue;
		}
		if (errno_is_medium(io.err))
			n = whole_block(w, pc);
		if (errno_is_medium(io.err) && p->opts->coe != 0)
			io.err = piece_lose_block(w, pc, n);
		if (io.err != 0) {
			transfer_fail_read(w, &io);
			return CUT;
		}
		hint = NOWHERE;
	}
	return pc->good < len ? CUT : WHOLE;
}

static enum got
piece_take_turn(struct worker *w, struct piece *pc, struct io *io)
{
	struct job *job = w->job;
	enum got got = WHOLE;

	elsewhere_feel(w, &w->src, io);
	pc->good = io->done;
	if (io->err == 0 && io->done < pc->seg.len) {
		got = ENDED;
	} else if (errno_is_medium(io->err) && !job->p->src->is.streamed) {
		got = piece_salvage(w, pc, transfer_hint(io));
	} else if (io->err != 0) {
		transfer_fail_read(w, io);
		got = CUT;
	}
	if (got == ENDED && !job->p->src->is.streamed) {
		transfer_fail_short(w, pc->seg.off + pc->good);
		got = CUT;
	}
	return got;
}

void
piece_took(struct worker *w, struct piece *pc, struct io *io)
{
	pc->got = piece_take_turn(w, pc, io);
	if (w->job->p->used != NULL && w->job->p->used->masks)
		used_mask(w->job->p, pc->seg.off, w->buf, pc->good);
	w->job->read += pc->good - pc->lost;
}

/* Claim the next piece of the worker's zone, or of the next zone. */
static int
claim_in_zone(struct worker *w, struct seg *got)
{
	const struct plan *p = w->job->p;
	uint64_t most = rate_piece(&w->job->rate, p, p->claim);
	int claimed = 1;

	*got = w->zone;
	if (got->len == 0)
		claimed = map_claim(&w->job->map, got);
	if (claimed <= 0)
		return claimed;
	w->zone = *got;
	most -= (got->off + p->phase) % most;
	got->len = got->len < most ? got->len : most;
	w->zone.off += got->len;
	w->zone.len -= got->len;
	return claimed;
}

static int
piece_claim_range(struct worker *w, struct piece *pc)
{
	struct job *job = w->job;

	if (job->stop)
		return 0;
	if (job->p->holes)
		return sparse_claim(w, &pc->seg, &pc->hole);
	if (job->p->zones > 1)
		return claim_in_zone(w, &pc->seg);
	return map_claim(&job->map, &pc->seg);
}

bool
piece_claim(struct worker *w, struct piece *pc)
{
	int claimed;

	*pc = (struct piece){ .got = NOTHING };
	claimed = piece_claim_range(w, pc);
	if (claimed < 0)
		transfer_fail_map(w->job);
	return claimed > 0;
}

/*
 * Claim a piece and read it.  For a stream, both happen under the lock that
 * assigns positions, so that nobody claims one past the end.
 */
static void
piece_fetch(struct worker *w, struct piece *pc)
{
	struct job *job = w->job;
	bool streamed = job->p->src->is.streamed;
	struct io io;

	if (streamed)
		pthread_mutex_lock(&job->order);
	if (piece_claim(w, pc)) {
		if (pc->hole) {
			pc->got = WHOLE;
		} else if (rate_wait(&job->rate, pc->seg.len, job->halt)) {
			io = read_at(w, pc, (size_t)pc->seg.len, NORMALLY);
			piece_took(w, pc, &io);
		} else {
			pc->got = CUT;
		}
	}
	if (pc->got == ENDED)
		map_end(&job->map, pc->seg.off + pc->good);
	if (streamed)
		pthread_mutex_unlock(&job->order);
}

size_t
piece_to_write(struct worker *w, struct piece *pc)
{
	const struct plan *p = w->job->p;
	uint64_t end = pc->seg.off + pc->good;

	if (pc->got == CUT)
		pc->good -= pc->good % p->dst->geo.io_align;
	else if (pc->got == ENDED || end == p->length)
		return transfer_pad(w, pc->seg.off, pc->good);
	return pc->good;
}

/* Write a piece, in several transfers if need be. */
static bool
write_all(struct worker *w, uint64_t off, size_t len)
{
	size_t at, n, most = w->job->p->chunk;
	bool ok = true;

	for (at = 0; at < len && ok; at += n) {
		n = len - at < most ? len - at : most;
		ok = transfer_write(w, off, at, n);
	}
	return ok;
}

bool
piece_note(struct worker *w, uint64_t off, size_t len)
{
	struct digest_table *digests = w->job->digests;
	struct fault f;
	int err = 0;

	if (len == 0)
		return true;
	if (digests != NULL)
		err = digest_table_note(digests, off, w->buf, len);
	if (err == 0)
		err = ranges_note(w->job, off, w->buf, len);
	if (err == 0)
		return true;
	if (err == EFBIG)
		fault_errno(&f, err, "more than %d digests: a larger bpt= "
		    "makes fewer", CHECKS_MOST);
	else
		fault_errno(&f, err, "the digests of the copy");
	job_fail(w->job, &f);
	return false;
}

/* Write a piece as plan->store says. */
static bool
piece_write(struct worker *w, uint64_t off, size_t len)
{
	if (w->job->p->store == STORE_DIFFERING)
		return sparing_spare(w, off, len);
	return sparse_wanted(w->job->p) ? sparse_write(w, off, len) :
	    write_all(w, off, len);
}

static bool
piece_store(struct worker *w, struct piece *pc)
{
	struct job *job = w->job;
	bool ok, spare = false, streamed = job->p->dst->is.streamed;
	uint64_t off = pc->seg.off;
	size_t len;

	lane_pack(&w->dst, off, w->buf, pc->good);
	if (streamed && !turn_wait(&job->turn, off))
		return false;
	len = piece_to_write(w, pc);
	ok = len == 0 || piece_note(w, off, len);
	/*
	 * After a cut, the part that was read does not show whether a range
	 * differs.
	 */
	if (ok && len > 0 && pc->got != CUT)
		ok = ranges_known(job, off, w->buf, len, &spare);
	if (ok && len > 0 && !spare)
		ok = piece_write(w, off, len);
	if (streamed && ok && pc->got != CUT)
		turn_pass(&job->turn, job_next_turn(job, off + pc->good));
	else if (streamed)
		turn_stop(&job->turn);
	return ok;
}

/* Digests end at the first piece that is not whole. */
void
piece_lend(struct worker *w, const struct piece *pc, struct hash_piece *lent)
{
	struct hash *hash = w->job->p->hash;

	if (pc->got == CUT)
		hash_stop(hash);
	hash_post(hash, lent, pc->seg.off, w->buf,
	    pc->got == CUT ? 0 : pc->good);
}

bool
piece_done(struct worker *w, const struct piece *pc, bool stored)
{
	bool ok = stored && transfer_settle(w, pc->seg.off, pc->good, FINISHED);

	return transfer_settle(w, pc->seg.off, pc->seg.len, UNTRIED) && ok &&
	    pc->got == WHOLE;
}

bool
piece_copy(struct worker *w)
{
	struct hash_piece lent;
	struct piece pc;
	bool stored;

	piece_fetch(w, &pc);
	if (pc.got == NOTHING)
		return false;
	if (pc.hole)
		return sparse_hole(w, &pc.seg);
	piece_lend(w, &pc, &lent);
	stored = piece_store(w, &pc);
	hash_wait(w->job->p->hash, &lent);
	return piece_done(w, &pc, stored);
}
