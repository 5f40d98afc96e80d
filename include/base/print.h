/*
 * Lines as they may be printed: whatever is not plain ASCII in them becomes
 * \xNN (escape_line).
 */
#ifndef PARDD_PRINT_H
#define PARDD_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * One line, which ends here and nowhere else, written at once.  Names and other
 * strings from outside may stand in it as they are.  A long one is cut without
 * memory.  Standard error is waited for until it takes it, or there is a signal
 * to answer.
 */
void print(FILE *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Bad news: the name of the program in front is red, if that is asked for. */
void print_alarm(FILE *out, bool coloured, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Whether out is a terminal with colours, and NO_COLOR does not forbid them. */
bool print_colours(FILE *out);

/* The size of the terminal that out is; 0 where it is none, or does not say. */
struct screen { size_t columns, rows; };
struct screen print_screen(FILE *out);

/* What makes the text behind it red, and what ends that. */
#define PRINT_RED	"\033[1;31m"
#define PRINT_PLAIN	"\033[m"

/*
 * Whether standard error takes a line now: not where a terminal was stopped
 * (^S), or nobody reads the pipe.  Who has something else to do asks before.
 */
bool print_room(void);

/*
 * Standard error is the target: keep what is printed there, by whomever, until
 * print_release puts it behind the end of the file.  Returns what that takes,
 * or -1 and errno.
 */
int print_hold(void);
void print_release(int held);

#endif
