/*
 * The process title: ps(1) shows the progress of a long run in it.
 */
#ifndef PARDD_TITLE_H
#define PARDD_TITLE_H

struct title {
	int	width;		/* bytes of the first word once it is given up:
				 * shorter titles are shown with a dot; or 0 */
	double	last;		/* seconds; when it was written */
};

/*
 * Copy the words of the command line, because their own memory becomes the
 * title.  Returns one allocation, or NULL.
 */
char **title_words(int argc, char *argv[]);

/*
 * Take the memory of main's argc words, and of the environment after them, for
 * the title.  The environment is copied first, so call this before there are
 * threads, any of which may read a variable.  The words cannot be read
 * afterwards.  A second call does nothing.  NULL: there will be no title.
 */
void title_begin(struct title *, int argc, char **words);

/*
 * Set the title, that many seconds after the start, but at most once a second.
 * share: the part that is done, 0 to 1, or -1 if unknown.  It shows 100 % only
 * when everything is done.
 */
void title_set(struct title *, double seconds, const char *from, const char *to,
    double share);

#endif
