/*
 * Two disks and loop devices of a mock machine, and an end on any of them;
 * included once, by a test.
 */
#ifndef PARDD_TEST_DISKS_H
#define PARDD_TEST_DISKS_H

#include <bsd/string.h>

#include "end/backend.h"
#include "base/fault.h"
#include "world.h"

#define SDA	makedev(8, 0)
#define SDB	makedev(8, 16)
#define LOOP0	makedev(7, 0)
#define LOOP1	makedev(7, 1)
#define DM0	makedev(253, 0)
#define DM1	makedev(253, 1)
#define MOUNTINFO	"/proc/self/mountinfo"

#define BLOCK	((uint64_t)512)

enum { BLOCKS = 1000 };

static struct fault f;

static void
two_disks(void)
{
	f = (struct fault){ 0 };
	add_disk("ata1", "sda", SDA, BLOCKS);
	add_disk("ata2", "sdb", SDB, BLOCKS);
}

/* List a loop device, and those before it. */
static inline void
add_row(const struct node *last)
{
	const struct node *node;
	char rows[400] = "major minor  #blocks  name\n\n 8 0 500 sda\n";

	for (node = world.node; node <= last; node++)
		if (node->on != NULL) {
			strlcat(rows, " 7 0 500 ", sizeof(rows));
			strlcat(rows, node->name, sizeof(rows));
			strlcat(rows, "\n", sizeof(rows));
		}
	has("/proc/partitions", "%s", rows);
}

/* A loop device on that path, of so many blocks. */
__attribute__((unused))
static inline struct node *
add_loop(const char *name, dev_t dev, const char *on, uint64_t blocks)
{
	struct node *node = add_disk("virtual", name, dev, blocks);
	char path[64];

	node->on = on;
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", name);
	has(path, "%s\n", on);
	snprintf(path, sizeof(path), "/sys/block/%s/loop/offset", name);
	has(path, "0\n");
	add_row(node);
	return node;
}

static const struct backend backend;
static struct endpoint end;

static inline void
set_end(dev_t node)
{
	end = (struct endpoint){ .be = &backend, .name = "it", .fd = -1,
		.dir = -1, .layer = -1, .is = { .device = true },
		.id = { .known = true, .dev = node, .node = node },
		.lim = { .end = UINT64_MAX } };
}

#endif
