/*
 * Claiming the next piece of a pass: the next one in its direction, the largest
 * gap, or a piece that failed; and with the turn to read, if that is needed.
 */
#include "hold.h"

#include "block.h"
#include "caution.h"
#include "copy/transfer.h"
#include "pass.h"

/* Pay for a read, and wait for the turn to read alone. */
static bool
hold_enter(struct job *job, uint64_t *ticket)
{
	struct rescue *r = job->rescue;
	struct seg stuck;

	if (!rate_wait(&job->rate, caution_piece(job), job->halt))
		return false;
	*ticket = exclusive_enter(&r->exclusive, caution_hint(r),
	    caution_patience(r), &stuck);
	if (stuck.len > 0)
		caution_left(job, &stuck);
	return true;
}

/* Claim a range that nobody else has. */
static int
claim_range(struct map *map, const struct seg *seg)
{
	return map_set(map, seg->off, seg->len, CLAIMED) != 0 ? -1 : 1;
}

/*
 * Take a piece of a gap.  If the middle of every gap is tried, it is a single
 * block: if that is bad, it would have been met later anyway.
 */
static bool
take_of_gap(struct job *job, struct hold *h)
{
	struct rescue *r = job->rescue;
	size_t most = caution_of_gap(job), piece = caution_piece(job);
	const struct gap *g = &h->gap;

	if (!gaps_take(&r->gaps, most < piece ? most : piece, most, &h->gap,
	    &h->seg))
		return false;
	if (r->pass->skip == MIDST && !g->front && !g->back) {
		h->seg.off = block_last(r, g->off, h->seg.off +
		    h->seg.len / 2 + 1);
		h->seg.len = block_at(r, h->seg.off, g->end);
	}
	return true;
}

/*
 * Claim the next piece that was not skipped, up to where a bad run is expected,
 * or the first block of that.  Returns as map_claim.
 */
static int
claim_ahead(struct job *job, struct seg *seg)
{
	uint64_t run = caution_run(job);

	if (run == map_cursor(&job->map))
		run += block_at(job->rescue, run, job->p->length);
	return map_claim_to(&job->map, run, false, seg);
}

/* Claim the next piece of the pass.  Returns as map_claim. */
static int
claim_next(struct job *job, struct hold *h)
{
	struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;

	if (pass->how == TRIM)
		return gaps_take_all(&r->gaps, &h->seg) ?
		    claim_range(&job->map, &h->seg) : 0;
	if (pass_by_size(pass))
		return take_of_gap(job, h) ? claim_range(&job->map, &h->seg) :
		    0;
	map_pieces(&job->map, caution_piece(job));
	return pass->from == UNSCRAPED && pass->how != FILL ?
	    map_claim_all(&job->map, &h->seg) : claim_ahead(job, &h->seg);
}

int
hold_claim(struct worker *w, struct hold *h)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;
	int claimed;

	if (caution_alone(job) && !hold_enter(job, &h->ticket))
		return 0;
	if (job->stop) {		/* the wait may have been long */
		exclusive_leave(&r->exclusive, h->ticket);
		return 0;
	}
	claimed = claim_next(job, h);
	if (claimed < 0)
		transfer_fail_map(job);
	if (claimed > 0)
		exclusive_reads(&r->exclusive, h->ticket, &h->seg);
	else
		exclusive_leave(&r->exclusive, h->ticket);
	return claimed;
}

bool
hold_pay(struct job *job, const struct hold *h)
{
	return h->ticket != 0 || pass_by_block(job->rescue->pass) ||
	    rate_wait(&job->rate, h->seg.len, job->halt);
}

bool
hold_give_back(struct job *job, const struct hold *h)
{
	uint64_t end = h->seg.off + h->seg.len;
	struct seg left;
	bool tried;

	if (job->rescue->pass->how != COPY || !pass_by_size(job->rescue->pass))
		return true;
	tried = !map_next(&job->map, h->seg.off, UNTRIED, &left) ||
	    left.off >= end;
	if (gaps_give(&job->rescue->gaps, &h->gap, &h->seg, h->calm,
	    tried) == 0)
		return true;
	transfer_fail_map(job);
	return false;
}
