/*
 * What the fuzzers share: an input, dice, and the making of texts that almost
 * are, or are, what a reader takes.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

enum { INPUT_MOST = 4096 };	/* bytes */

struct input {
	size_t	n;		/* bytes */
	uint8_t	bytes[INPUT_MOST];
};

/* What a fuzzer brings.  Its LLVMFuzzerTestOneInput counts what was taken. */
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
void fuzz_make(struct input *, uint64_t *dice);	/* a text that is well-formed */
extern unsigned long fuzz_taken;

/* A number below, or 0 where that is 0. */
size_t input_roll(uint64_t *dice, size_t below);

/* A number as they go wrong: small, a power of two, near the end of a type. */
uint64_t input_number(uint64_t *dice);

/* Append; what has no room is cut off. */
__attribute__((format(printf, 2, 3)))
void input_print(struct input *, const char *format, ...);

/* Replace, insert, leave out, repeat, or splice with another one. */
void input_mutate(struct input *, const struct input *other, uint64_t *dice);

#endif
