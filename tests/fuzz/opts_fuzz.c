/*
 * Any bytes as a command line, and what two ends say of themselves: a line is
 * refused with a reason, or makes a plan that is within bounds.  No end is
 * opened.  Run by tests/fuzz/run.
 *
 * Each line of an input is a word; behind a zero come the ends, a byte each.
 */
#include <bsd/string.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "open/tee.h"
#include "input.h"
#include "plan/fit.h"
#include "plan/plan.h"

enum { WORDS_MOST = 40 };

static const uint8_t *next, *end;

struct endpoint *
tee_target(struct endpoint *ep, unsigned i)
{
	return i == 0 ? ep : NULL;
}

const struct fault *
tee_dropped(const struct endpoint *ep, unsigned i)
{
	(void)ep;
	(void)i;
	return NULL;
}

static uint64_t
take(void)
{
	return next < end ? *next++ : 0;
}

unsigned
endpoint_writers(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from)
{
	(void)ep;
	(void)from;
	(void)to;
	(void)src;
	(void)src_from;
	return (unsigned)take();
}

bool
endpoint_disk(const struct endpoint *ep, struct disk *d)
{
	(void)ep;
	d->rotates = take() & 1;
	return true;
}

bool
disk_of_block(dev_t node, struct disk *d)
{
	(void)node;
	(void)d;
	return false;
}

uint64_t
fit_memory(void)
{
	uint64_t n = take();

	return n == 0 ? UINT64_MAX : n << 16;
}

static void
refused(const struct fault *f, int status)
{
	if (f->status != status || f->text[0] == '\0' ||
	    memchr(f->text, '\0', sizeof(f->text)) == NULL)
		abort();
}

/* What a backend may say: a size, blocks that are a power of two, limits. */
static void
make_end(struct endpoint *ep, enum role role)
{
	static const uint64_t sizes[] = { 0, 1, 511, 512, 4096, 1 << 20,
		1234567, UINT64_C(1) << 40, INT64_MAX - 4096, INT64_MAX };
	uint64_t how = take(), size = sizes[take() % 10], most = take();

	*ep = (struct endpoint){ .name = role == SOURCE ? "in" : "out",
		.kind = (enum end_kind)(take() % (END_DISCARD + 1)),
		.spec.role = role };
	ep->geo.block = how & 1 ? 512U << take() % 8 : 0;
	ep->geo.io_align = ep->geo.block > 0 ? ep->geo.block : 1;
	if (ep->geo.block > 0)
		size -= size % ep->geo.block;
	ep->is.streamed = how & 2 && ep->geo.block == 0;
	ep->is.endless = role == SOURCE && (how & 12) == 12;
	ep->geo.size = ep->is.streamed || ep->is.endless ? -1 : (int64_t)size;
	ep->geo.room = role == TARGET && how & 16 ? (int64_t)size : -1;
	ep->geo.io_max = most & 1 ? UINT64_C(512) << most % 24 : 0;
	ep->geo.io_opt = most & 2 ? 1U << most % 30 : 0;
	ep->geo.fs_block = most & 4 ? 4096 : 0;
	ep->geo.depth = most & 8 ? 128 : 0;
	ep->is.shares = how & 32;
	ep->is.sparse = how & 64;
	ep->is.zeroes = how & 128;
	ep->is.memory = ep->is.past_cache = most & 16;
	ep->is.zoned = most & 32;
	ep->geo.zone = ep->is.zoned && most & 1 ? UINT64_C(1) << 22 : 0;
	ep->lim.base = most & 64 && !ep->is.streamed ? size / 2 : 0;
}

static void
sound(const struct plan *p)
{
	uint64_t high = p->src_off > p->dst_off ? p->src_off : p->dst_off;

	if (p->bs == 0 || p->chunk == 0 || p->claim == 0 || p->room == 0 ||
	    p->chunk > (size_t)2 << 30 || p->room > (size_t)4 << 30 ||
	    p->pad == 0 || p->block == 0 || p->phase >= p->claim ||
	    high > INT64_MAX || p->length > INT64_MAX - high)
		abort();
	if (p->zones > 16 || plan_workers(p) == 0 || plan_workers(p) > 16 ||
	    (p->zones > 0 && plan_workers(p) > p->zones) ||
	    (p->queues > 0 && p->slots < 2) || p->engine_why == NULL ||
	    p->share_off > p->share_end ||
	    (p->reflink && p->share_end > p->share_off &&
	    p->share_end > p->length))
		abort();
}

static void
plan(const struct opts *o)
{
	struct endpoint src, dst;
	struct fault f = { 0 };
	struct plan p;

	make_end(&src, SOURCE);
	make_end(&dst, TARGET);
	if (plan_make(&p, o, NULL, &src, &dst, &f) == 0) {
		fuzz_taken++;
		sound(&p);
	} else {
		refused(&f, STATUS_USAGE);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[INPUT_MOST + 1], *at = text, *word;
	char *argv[WORDS_MOST + 1] = { "pardd" };
	struct fault f = { 0 };
	struct opts o;
	int argc = 1;

	size = size < INPUT_MOST ? size : INPUT_MOST;
	memcpy(text, data, size);
	text[size] = '\0';
	next = data + strlen(text);
	next += next < data + size;
	end = data + size;
	while (argc < WORDS_MOST && (word = strsep(&at, "\n")) != NULL)
		argv[argc++] = word;
	if (opts_parse(&o, argc, argv, &f) != 0)
		refused(&f, STATUS_USAGE);
	else if (o.mode == MODE_COPY || o.mode == MODE_DRY_RUN)
		plan(&o);
	return 0;
}

/* Operands with what they take, and one or the other that they do not. */
static void
operand(struct input *in, uint64_t *dice)
{
#define NAME(name, ...)		#name,
#define NUMBER(name, ...)	#name,
#define ALIAS(name, ...)		#name,
	static const char *const names[] = {
#include "cli/operands.def"
	};
#define WORDS(name, ...)	#name,
	static const char *const lists[] = {
#include "cli/operands.def"
	};
#define WORD(name, word, ...)	#name "=" #word,
	static const char *const words[] = {
#include "cli/operands.def"
	};
	static const char *const units[] = { "", "", "", "k", "M", "KiB", "B",
		"b", "G", "T", "x9" };
	const char *unit = units[input_roll(dice, 11)];

	switch (input_roll(dice, 12)) {
	case 0:
		input_print(in, "%s=x%u.csv", names[input_roll(dice,
		    sizeof(names) / sizeof(names[0]))],
		    (unsigned)input_roll(dice, 9));
		break;
	case 1:
		input_print(in, "%s=direct,sparse", lists[input_roll(dice,
		    sizeof(lists) / sizeof(lists[0]))]);
		break;
	case 2:
	case 3:
		input_print(in, "%s=%llu%s", names[input_roll(dice,
		    sizeof(names) / sizeof(names[0]))],
		    (unsigned long long)input_number(dice), unit);
		break;
	case 4:
		input_print(in, "%s", words[input_roll(dice,
		    sizeof(words) / sizeof(words[0]))]);
		break;
	default:
		input_print(in, "%s=%u%s", (const char *[]){ "bs", "bpt",
		    "skip", "seek", "count", "thr", "qd", "mem", "coe" }[
		    input_roll(dice, 9)], 1U << input_roll(dice, 24), unit);
	}
	input_print(in, "\n");
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	size_t n;

	if (input_roll(dice, 16) > 0)
		input_print(in, "if=in\n");
	if (input_roll(dice, 4) > 0)
		input_print(in, "of=out\n");
	for (n = input_roll(dice, 6); n > 0; n--)
		operand(in, dice);
	in->n -= in->n > 0;
	in->bytes[in->n++] = '\0';
	for (n = 0; n < 16; n++)
		in->bytes[in->n++] = (uint8_t)input_roll(dice, 256);
}
