/*
 * The page of a plan: its lines and lists, and what lies on an end.
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
	WIDTH = 79,		/* columns; one less than wraps */
	INDENT = 8,		/* of what stands under a heading */
	LIST = 2 * (WIDTH - INDENT) - 24,	/* columns of a list, */
	LIST_SHORT = WIDTH - INDENT - 28,	/* and of a short one */
};

/* What lies on the target, and where it is written. */
#define PAGE_LOST	"TO BE LOST:"

enum brevity { WHOLE, SHORT_LISTS, NO_LEGEND, NO_PICTURE };

struct sheet {			/* what a page is written on */
	FILE		*out;
	size_t		 width;	/* columns, WIDTH at most */
	enum brevity	 brief;
};

/* page_line.c: text of ours, on as many lines as it takes. */
void page_wrap(const struct sheet *, const char *heading, const char *text);

/* The same of what may hold anything: it is escaped. */
void page_told(const struct sheet *, const char *heading, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Advice, ours, and at its end a command to be pasted, which stays on a line if
 * there is room: its words, and the end it is for.
 */
void page_advice(const struct sheet *, const char *heading, const char *text,
    const char *command, const char *end);

struct list {			/* items between commas, while there is room */
	char	 text[LIST + 64];
	size_t	 most, at, left_out;
};

/* An empty list; an item more, escaped; all of them on a line, if any. */
struct list list_of(const struct sheet *);
void list_item(struct list *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void list_put(const struct sheet *, const char *before, struct list *l);

struct surface {		/* what lies on an end */
	const struct endpoint *ep;
	struct parts	 table;
	struct sign	*sign;
	size_t		 signs;
	uint64_t	 size;	/* bytes, of all of it; 0: it has none */
	uint64_t	 from, to;	/* bytes: what is copied of it */
};

/*
 * page_surface.c: read what lies on an end, to be freed.  A failing disk is
 * asked for nothing that is not to be copied.
 */
void surface_look(struct surface *, const struct plan *, struct endpoint *);
void surface_free(struct surface *);

/* What the source has that is copied; what the target has, and loses. */
void surface_holds(const struct sheet *, const struct surface *);
void surface_loses(const struct sheet *, const struct surface *, bool written);

/* Both ends as bars, to one scale where the smaller can be seen so. */
void surface_picture(const struct sheet *, const struct surface *src,
    const struct surface *dst);

#endif
