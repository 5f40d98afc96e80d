/*
 * The page of a plan: its lines and lists, and the contents of an end.
 */
#ifndef PARDD_PAGE_H
#define PARDD_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "end/endpoint.h"
#include "part/parts.h"
#include "plan/plan.h"

enum {
	WIDTH = 79,		/* columns; one less than would wrap */
	INDENT = 8,		/* of text below a heading */
	LIST = 2 * (WIDTH - INDENT) - 24,	/* columns of a list, */
	LIST_SHORT = WIDTH - INDENT - 28,	/* and of a short one */
};

/* The heading for what the target has in the range that is written. */
#define PAGE_LOST	"WILL BE LOST:"

enum brevity { WHOLE, SHORT_LISTS, NO_LEGEND, NO_PICTURE };

struct sheet {			/* where a page is written */
	FILE		*out;
	size_t		 width;	/* columns, at most WIDTH */
	enum brevity	 brief;
};

/* page_line.c: our own text, folded. */
void page_wrap(const struct sheet *, const char *heading, const char *text);

/* Print escaped text as it is, on one line: a row of a table. */
void page_row(const struct sheet *, const char *text);

/* The same as page_wrap for text that may contain anything: it is escaped. */
void page_told(const struct sheet *, const char *heading, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct list {			/* items between commas: as many as fit, and at
				   least a part of the first */
	char	 text[LIST + 64];
	size_t	 most, at, left_out;
};

/*
 * Make an empty list; add an item, escaped; print all items on one line, if
 * any.
 */
struct list list_of(const struct sheet *);
void list_item(struct list *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void list_put(const struct sheet *, const char *before, struct list *l);

struct surface {		/* the contents of an end */
	const struct endpoint *ep;
	struct parts	 table;
	struct sign	*sign;
	size_t		 signs;
	uint64_t	 size;	/* bytes in all; 0: it has no size */
	uint64_t	 from, to;	/* bytes: the part that is copied */
	const struct parts *becomes;	/* the target's with table=, or NULL */
};

/*
 * page_surface.c: read the contents of an end; surface_free frees it.  From a
 * failing disk nothing is read that is not copied.
 */
void surface_look(struct surface *, const struct plan *, struct endpoint *);
void surface_free(struct surface *);

/* Print what is copied from the source; what the target has, and loses. */
void surface_holds(const struct sheet *, const struct surface *);
void surface_loses(const struct sheet *, const struct surface *, bool written);

/*
 * Draw both ends as bars, to one scale if the smaller one is visible then;
 * "done" is what is done to that part of them.
 */
void surface_picture(const struct sheet *, const char *done,
    const struct surface *src, const struct surface *dst);

#endif
