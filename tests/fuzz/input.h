/*
 * What the fuzzers share: an input, dice, the making of texts that almost are,
 * or are, what a reader takes; images that are spoilt; what is so of all that
 * was read.
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

/* A text that has "room" bytes ends within them. */
void fuzz_ended(const char *text, size_t room);

/* A fault has a status, and says why. */
struct fault;
void fuzz_failed(const struct fault *);

/*
 * Have the images in the directory FUZZ_IMAGES taken, at most so many, by name:
 * the same input is to be the same elsewhere.  They stay mapped.
 */
void fuzz_images(size_t most, void (*take)(const char *path,
    const unsigned char *bytes, size_t size));

/* Die if that takes longer than so many seconds, until alarm(0). */
void fuzz_within(unsigned seconds);

/* Replace, insert, leave out, repeat, or splice with another one. */
void input_mutate(struct input *, const struct input *other, uint64_t *dice);

#endif
