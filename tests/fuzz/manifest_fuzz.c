/*
 * Any bytes as a manifest: what is taken covers its range without gaps, and
 * what is written of it is read again as the same.  Run by tests/fuzz/run.
 */
#include <err.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "digest/manifest.h"
#include "input.h"
#include "record/events.h"
#include "record/hashfile.h"

typedef unsigned long long ull;

static char in_path[64], out_path[72];

/* What the writer needs of the program: no ends, and a file by its name. */
json_t *
describe_end(const struct endpoint *ep, uint64_t off)
{
	(void)ep;
	(void)off;
	return json_null();
}

int
newfile_begin(struct newfile *n, struct fault *f)
{
	(void)f;
	n->out = fopen(n->path, "w");
	return n->out == NULL ? -1 : 0;
}

int
newfile_end(struct newfile *n, int error, struct fault *f)
{
	(void)f;
	return fclose(n->out) != 0 || error != 0 ? -1 : 0;
}

/* Returns how many ranges there are. */
static size_t
sound(struct manifest *m)
{
	struct check c;
	uint64_t at = 0;
	size_t i;

	for (i = 0; digest_table_at(&m->digests, i, &c); i++) {
		if (c.off != at || c.len == 0 || c.len > m->digests.chunk ||
		    (c.state != CHECK_NONE && c.state != CHECK_COPIED))
			abort();
		at += c.len;
	}
	if (at != m->length || m->off > INT64_MAX - m->length ||
	    i != digest_table_count(&m->digests))
		abort();
	return i;
}

static void
same(struct manifest *a, struct manifest *b)
{
	struct check c, d;
	size_t i, n = sound(a);

	if (n != sound(b) || a->off != b->off || a->length != b->length)
		abort();
	for (i = 0; i < n; i++) {
		digest_table_at(&a->digests, i, &c);
		digest_table_at(&b->digests, i, &d);
		if (c.off != d.off || c.len != d.len || c.state != d.state ||
		    (c.state == CHECK_COPIED &&
		    !digest_same(&c.digest, &d.digest)))
			abort();
	}
}

static void
again(struct manifest *m)
{
	struct newfile file = { .path = out_path };
	struct plan p = { .chunk = (size_t)m->digests.chunk };
	struct manifest copy;
	struct ends_told ends;
	struct fault f;

	manifest_look(&ends, &p);
	if (manifest_write(&file, &p, &m->digests, m->off, &ends, &f) != 0 ||
	    manifest_load(&copy, out_path, &f) != 0)
		abort();
	same(m, &copy);
	manifest_free(&copy);
	manifest_forget(&ends);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest m;
	struct fault f = { 0 };
	FILE *out;

	if (in_path[0] == '\0') {
		snprintf(in_path, sizeof(in_path), "/dev/shm/pardd-fuzz.%d",
		    (int)getpid());
		snprintf(out_path, sizeof(out_path), "%s.out", in_path);
	}
	out = fopen(in_path, "w");
	if (out == NULL || fwrite(data, 1, size, out) != size ||
	    fclose(out) != 0)
		err(2, "%s", in_path);
	if (manifest_load(&m, in_path, &f) == 0) {
		fuzz_taken++;
		if (sound(&m) < 1000)
			again(&m);
	} else if (f.status == 0 || f.text[0] == '\0') {
		abort();
	}
	manifest_free(&m);
	unlink(in_path);
	unlink(out_path);
	return 0;
}

/*
 * A manifest of a few ranges; one in eight counts one too many.
 */
void
fuzz_make(struct input *in, uint64_t *dice)
{
	uint64_t range = (uint64_t)1 << input_roll(dice, 21);
	uint64_t off = input_roll(dice, 2) == 0 ? input_roll(dice, 1 << 20) :
	    input_number(dice) >> 2;
	uint64_t length = input_roll(dice, (size_t)range * 6), at = 0, len;
	unsigned long n = 0;

	input_print(in, "{\"schema\":\"pardd-manifest/1\",\"algorithm\":"
	    "\"xxh128\",\"range\":%llu,\"offset\":%llu,\"length\":%llu",
	    (ull)range, (ull)off, (ull)length);
	if (input_roll(dice, 4) == 0)
		input_print(in, ",\"source\":{\"disk\":{\"serial\":\"S\"}}");
	input_print(in, "}\n");
	for (; at < length; at += len, n++) {
		len = n == 0 ? range - off % range : range;
		if (len > length - at)
			len = length - at;
		input_print(in, "{\"offset\":%llu,\"length\":%llu,"
		    "\"xxh128\":", (ull)(off + at), (ull)len);
		if (input_roll(dice, 4) == 0)
			input_print(in, "null}\n");
		else
			input_print(in, "\"%016llx%016llx\"}\n",
			    (ull)input_number(dice), (ull)input_number(dice));
	}
	input_print(in, "{\"ranges\":%lu}\n", n +
	    (input_roll(dice, 8) == 0 ? 1 : 0));
}
