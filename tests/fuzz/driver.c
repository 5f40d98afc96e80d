/*
 * driver: runs a fuzzer where there is no libFuzzer.
 *
 *	FUZZER [-n TIMES] [-s SEED] [-o FILE] [SAMPLE ...]
 *
 * Tries each sample as it is, and TIMES texts that are made or taken from them,
 * and spoilt; the same with the same SEED.  Prints how many inputs were tried,
 * and how many of them were taken.  The one it dies of is left in FILE.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"

enum { SAMPLES = 1000 };

static struct input now;		/* what is being tried, for "leave" */
static const char *left;

/* The sanitizers end by abort(), too. */
static void
leave(int signo)
{
	int fd = left == NULL ? -1 :
	    open(left, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd >= 0)
		(void)!write(fd, now.bytes, now.n);
	signal(signo, SIG_DFL);
	raise(signo);
}

static void
read_sample(struct input *in, const char *path)
{
	FILE *file = fopen(path, "r");

	if (file == NULL)
		err(2, "%s", path);
	in->n = fread(in->bytes, 1, sizeof(in->bytes), file);
	fclose(file);
}

static void
take(struct input *to, const struct input *from)
{
	memcpy(to->bytes, from->bytes, from->n);
	to->n = from->n;
}

/* A text, as it is or spoilt a little; each is made for a few of them. */
static void
next(const struct input *sample, size_t n, uint64_t *dice)
{
	static struct input made;
	const struct input *other = &made;
	size_t k;

	if (made.n == 0 || input_roll(dice, 4) == 0) {
		made.n = 0;
		fuzz_make(&made, dice);
	}
	if (n > 0 && input_roll(dice, 4) == 0)
		other = &sample[input_roll(dice, n)];
	take(&now, other);
	if (n > 0)
		other = &sample[input_roll(dice, n)];
	for (k = input_roll(dice, 5); k > 0; k--)
		input_mutate(&now, other, dice);
}

int
main(int argc, char **argv)
{
	unsigned long times = 0, tried = 0;
	uint64_t seed = 1, dice;
	struct input *sample;
	size_t n, i;
	int c;

	while ((c = getopt(argc, argv, "n:s:o:")) != -1)
		if (c == 'n')
			times = strtoul(optarg, NULL, 0);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'o')
			left = optarg;
		else
			errx(2, "usage: %s [-n TIMES] [-s SEED] [-o FILE] "
			    "[SAMPLE ...]", argv[0]);
	n = (size_t)(argc - optind);
	sample = n > SAMPLES ? NULL : calloc(n + 1, sizeof(*sample));
	if (sample == NULL)
		errx(2, "too many samples");
	signal(SIGABRT, leave);
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	for (i = 0; i < n; i++, tried++) {
		read_sample(&sample[i], argv[optind + (int)i]);
		take(&now, &sample[i]);
		LLVMFuzzerTestOneInput(now.bytes, now.n);
	}
	dice = (seed ^ UINT64_C(0x9E3779B97F4A7C15)) << 1 | 1;
	for (; tried < n + times; tried++) {
		next(sample, n, &dice);
		LLVMFuzzerTestOneInput(now.bytes, now.n);
	}
	printf("%lu inputs, %lu taken\n", tried, fuzz_taken);
	free(sample);
	return 0;
}
