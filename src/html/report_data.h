/*
 * The data of a report at the time it is written.  No other directory includes
 * this.
 */
#ifndef PARDD_REPORT_DATA_H
#define PARDD_REPORT_DATA_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "copy/verdict.h"
#include "disk/disk.h"
#include "map/map.h"
#include "part/parts.h"
#include "plan/plan.h"

enum { SAMPLES = 512 };

struct sample {			/* of the progress, over all runs */
	unsigned run;		/* its number, from 1 */
	double	 seconds;	/* in all runs so far */
	uint64_t finished, bad;	/* bytes */
};

/* The partitions that are copied, and their file systems. */
struct volume_row {
	unsigned number;	/* number; 0: no partitions */
	uint64_t off, len;	/* bytes of the source */
	char	 type[32];	/* as blkid(8) has it; "" if unknown */
	char	 label[128];	/* as it is on the disk, or "" */
};

struct volumes {
	char	 table[8];	/* "gpt", "dos"; "": no table */
	struct volume_row *row;	/* volumes_free frees them */
	size_t	 n;
};

struct report_data {
	const struct plan *p;
	struct outcome	*out;		/* NULL: still running */
	struct disk	 disk[2];	/* source, target */
	bool		 is_disk[2];
	struct volumes	 volumes;
	struct timespec	 started, now;
	double		 seconds;	/* of this run */
	struct sample	 sample[SAMPLES];
	size_t		 samples;
	struct seg	*seg;		/* the map */
	size_t		 segs;
	uint64_t	 length;	/* bytes, of the map */
	struct map_totals total;
};

/* The headline: "complete, flushed", or how far the run has come. */
void report_verdict(struct fault *, const struct report_data *);

/* The pictures, each as an svg element; and both as a file. */
void report_draw_map(FILE *, const struct report_data *);
void report_draw_progress(FILE *, const struct report_data *);
void report_svg(FILE *, const struct report_data *);

/* The page. */
void report_html(FILE *, const struct report_data *);

/* Write the progress as a comment that a later run can read, and read it. */
void report_put_samples(FILE *, const struct report_data *);
void report_get_samples(struct report_data *, const char *text);

/*
 * Examine the source.  *v is empty if it has no contents of its own, cannot be
 * read, or without memory. volumes_free frees it.
 */
void volumes_of_source(struct volumes *v, const struct plan *);

/*
 * The same for a rescue, whose source is left alone: uses what the target has
 * according to the map.  *v is empty unless the copy begins at the first byte
 * of both ends.
 */
void volumes_rescued(struct volumes *v, const struct plan *, struct map *);
void volumes_free(struct volumes *v);

#endif
