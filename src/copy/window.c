/*
 * Windows of requests, by the time that requests take.
 */
#include "copy/worker.h"

enum {
	LEAST = 3,		/* smallest window: one served, one next, one
				 * new */
	GROWTH = 2,		/* for each request that returned quickly */
};

void
window_begin(struct window *win)
{
	win->size = win->fixed > 0 ? win->fixed : LEAST;
	win->base = UINT64_MAX;
}

bool
window_full(const struct window *win)
{
	return win->busy >= win->size;
}

void
window_start(struct window *win)
{
	win->busy++;
	if (win->busy > win->most)
		win->most = win->busy;
}

void
window_end(struct window *win, uint64_t took)
{
	bool full = window_full(win);

	win->busy--;
	if (win->fixed > 0)
		return;
	if (took < win->base)
		win->base = took;
	if (full && took < win->base + win->base / 2)
		win->size = win->size + GROWTH < win->limit ?
		    win->size + GROWTH : win->limit;
	else if (took / 4 > win->base && win->size > LEAST)
		win->size--;
}
