/*
 * The blocks of a rescue: what fails together, the physical blocks of the disk.
 */
#ifndef PARDD_BLOCK_H
#define PARDD_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "rescue/rescue.h"

/* The length of the block at off, cut off at end; bytes. */
static inline size_t
block_at(const struct rescue *r, uint64_t off, uint64_t end)
{
	uint64_t n = r->unit - (r->unit_off + off) % r->unit;

	return (size_t)(n < end - off ? n : end - off);
}

/* The start of the last block before "to", but not before "from". */
static inline uint64_t
block_last(const struct rescue *r, uint64_t from, uint64_t to)
{
	uint64_t n = (r->unit_off + to - 1) % r->unit + 1;

	return n < to - from ? to - n : from;
}

#endif
