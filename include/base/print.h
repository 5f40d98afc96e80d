/*
 * Printing lines safely: whatever is not plain ASCII in them becomes \xNN
 * (escape_line).
 */
#ifndef PARDD_PRINT_H
#define PARDD_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Print one line; the newline is added here.  The arguments may hold strings
 * from outside as they are.  A long line is cut if there is no memory for it.
 * Waits until standard error takes the line, or a signal arrives: then the line
 * is dropped.
 */
void print(FILE *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for bad news: if "coloured", the leading "pardd:" is red. */
void print_alarm(FILE *out, bool coloured, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * How many bytes of an escaped message belong on one line: blanks, and a word,
 * or a command that it tells, up to ", ", "; ", " (" or the end.
 */
size_t print_unit(const char *text, bool *command);

/* Print our own text to standard error as it is, for a live line. */
void print_raw(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Whether out is a terminal with colours, and NO_COLOR is not set. */
bool print_colours(FILE *out);

/*
 * Whether standard error is the terminal of this job, and a person there would
 * see a question: 1; 0 if that terminal is now another job's; -1 if that cannot
 * be seen, as in a container, or it is no terminal of ours.
 */
int print_owned(void);

/* The size of the terminal that out is; 0 if it is none, or does not say. */
struct screen { size_t columns, rows; };
struct screen print_screen(FILE *out);

/*
 * Close a stream of open_memstream.  False, with *text NULL, if it ran out of
 * memory; glibc does not report that.
 */
bool print_close(FILE *out, char **text);

/* These make the text between them red. */
#define PRINT_RED	"\033[1;31m"
#define PRINT_PLAIN	"\033[m"

/*
 * Whether standard error would take a line now.  It does not while a terminal
 * is stopped (^S) or a pipe is full.  For callers that must not wait.
 */
bool print_room(void);

/*
 * Standard error is the very file that is being written: hold back whatever is
 * printed there, until print_release appends it to the file.  Returns the
 * descriptor to give to print_release, or -1 with errno.
 */
int print_hold(void);
void print_release(int held);

#endif
