/*
 * A line about which they differ, as commands for a shell.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static void
tell_disk(const char *name, const struct end *e, unsigned first, uint64_t size)
{
	printf("  seq %u 9999999 | head -c %" PRIu64 " >%s.img\n", first,
	    size, name);
	printf("  %s=$(losetup --find --show --sector-size %u %s.img)\n", name,
	    block_of(e), name);
}

static void
tell_ends(const struct line *l)
{
	const struct mend *m;
	const char *name = source_name(l);

	if (l->src.memory || l->dst.memory)
		printf("  ln -s \"$(mktemp -d /dev/shm/XXXXXX)\" mem\n");
	if (block_of(&l->src) > 0)
		tell_disk("source", &l->src, SOURCE_TEXT, source_size(l));
	else if (l->src.what == PLAIN || l->src.what == PIPE)
		printf("  seq %u 9999999 | head -c %" PRIu64 " >%s\n",
		    SOURCE_TEXT, l->size, name);
	for (m = l->mend; m < l->mend + l->mends; m++)
		if (m->len > 0)
			printf(m->hole ? "  fallocate -p -o %" PRIu64 " -l %"
			    PRIu64 " %s\n" : "  dd if=/dev/zero bs=1 seek=%"
			    PRIu64 " count=%" PRIu64 " conv=notrunc of=%s\n",
			    m->at, m->len, name);
	if (l->src.way == LINKED)
		printf("  ln -s %s src.link\n", name);
	if (block_of(&l->dst) > 0) {
		tell_disk("dd", &l->dst, OLD_TEXT, target_size(l));
		tell_disk("pardd", &l->dst, OLD_TEXT, target_size(l));
	} else if (l->dst.what == PLAIN && l->old >= 0) {
		printf("  seq %u 9999999 | head -c %" PRId64 " | tee %s >%s\n",
		    OLD_TEXT, l->old, target_name(l, DD),
		    target_name(l, PARDD));
	}
	if (l->dst.way == LINKED)
		printf("  ln -s %s dd.link; ln -s %s pardd.link\n",
		    target_name(l, DD), target_name(l, PARDD));
	if (dd_miscuts(l))
		printf("  truncate -s %" PRIu64 " %s\n", start_of(l, &l->dst),
		    target_name(l, DD));
}

static void
tell_command(const struct line *l, enum who who)
{
	static const char *const by[] = { "", "", ">", "1<>", ">>" };
	char rules[256];
	struct command c;
	size_t i;

	printf("  ");
	if (l->src.what == PIPE)
		printf("cat %s | ", source_name(l));
	if (l->src.at > 0 || l->dst.at > 0)
		printf("(");
	if (l->src.at > 0)
		printf("dd of=/dev/null bs=%" PRIu64 " count=1; ", l->src.at);
	if (l->dst.at > 0)
		printf("dd if=/dev/null bs=1 seek=%" PRIu64 " conv=notrunc; ",
		    l->dst.at);
	if (l->nbad > 0) {
		faults(l, rules, sizeof(rules));
		printf("FAULTS='%s' LD_PRELOAD=%s ", rules, given.shim);
	}
	command_make(&c, l, who);
	for (i = 0; i < c.n; i++)
		printf("%s%s", i > 0 ? " " : "", c.word[i]);
	if (l->src.at > 0 || l->dst.at > 0)
		printf(")");
	if (l->src.what == PLAIN && l->src.way >= OPENED)
		printf(" %s%s", l->src.way == BOTH ? "<>" : "<",
		    source_name(l));
	if (l->src.what < PIPE && l->src.what != PLAIN && l->src.way >= OPENED)
		printf(" %s\"%s\"", l->src.way == BOTH ? "<>" : "<",
		    source_name(l));
	if (l->dst.what == PIPE)
		printf(" | cat >%s", target_name(l, who));
	else if (l->dst.way >= OPENED)
		printf(" %s%s", by[l->dst.way], target_name(l, who));
	printf("\n");
}

/* With names for the disks that a reader can give to his own. */
void
tell(struct line *l, uint64_t seed, uint64_t number)
{
	static const char *const names[] = { "$source", "$source", "$dd",
	    "$pardd", "$dd", "$pardd" };
	const char *variant = getenv("VARIANT"), *program = given.pardd;
	const char *held[6];

	printf("no. %" PRIu64 " of seed %" PRIu64 ": %s\n"
	    "again: VARIANT=%s SEED=%" PRIu64 " ONLY=%" PRIu64
	    " bash tests/random.t\n", number, seed, why,
	    variant != NULL ? variant : "plain", seed, number);
	tell_command(l, PARDD);
	simplify(l);
	/* its last trial was another line */
	(void)try(l, &(struct due){ 0 });
	printf("made simpler: %s\n", why);
	memcpy(held, given.disk, sizeof(held));
	if (given.disk[0] != NULL)
		memcpy(given.disk, names, sizeof(given.disk));
	given.pardd = "pardd";
	tell_ends(l);
	tell_command(l, DD);
	tell_command(l, PARDD);
	given.pardd = program;
	memcpy(given.disk, held, sizeof(held));
	printf("  cmp %s %s\ndd ended %d: %spardd ended %d: %s\n",
	    target_name(l, DD), target_name(l, PARDD), of_dd.status, of_dd.said,
	    of_pardd.status, of_pardd.said);
	fflush(stdout);
}
