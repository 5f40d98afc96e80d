/*
 * What was lost, and what to do next, at the end of a run.
 */
#ifndef PARDD_REPORT_NEXT_H
#define PARDD_REPORT_NEXT_H

#include "copy/outcome.h"
#include "plan/plan.h"

/* Print what a complete copy still needs before it can be used. */
void report_clone_notes(const struct plan *, struct outcome *);

/*
 * The command that moves a backup GPT to the end of the target.  sfdisk comes
 * with every system, but on a smaller disk it leaves the old size in the table.
 */
static inline const char *
report_gpt_tool(const struct plan *p)
{
	return p->dst->geo.size > p->src->geo.size ?
	    "sfdisk --relocate gpt-bak-std " : "sgdisk -e ";
}

/*
 * The name by which such a command finds the disk; DISK if there is none here,
 * or it is no block device: then the reader knows it.  Owned by the endpoint.
 */
static inline const char *
report_disk_name(const struct endpoint *ep)
{
	return (endpoint_is_node(ep) || endpoint_is_file(ep)) &&
	    !ep->is.inherited ? ep->name : "DISK";
}

/*
 * Print how to continue; if a person is there, also how to use the copy.  With
 * status=none only what a block has that cannot be read.
 */
void report_next(const struct plan *, struct outcome *);

/*
 * Print the ranges that cannot be read.  If a map was saved, it has all of
 * them, and only the first are printed.
 */
void report_unreadable(const struct plan *, struct outcome *);

/* Print the first ranges that differ, and how many more there are. */
void report_differing(const struct plan *, struct map *differ);

/* Print where the losses of a rescue lie, and which file systems they hit. */
void report_damage(const struct plan *, const struct damage *);

#endif
