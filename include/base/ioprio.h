/*
 * ioprio=: the I/O priority of this process, see ioprio_set(2).
 */
#ifndef PARDD_IOPRIO_H
#define PARDD_IOPRIO_H

enum { IOPRIO_TEXT = 8 };	/* room for ioprio_text */

/*
 * The value of "idle", "be:N" or "rt:N", N from 0 to 7, as ioprio_set(2) takes
 * it, or -1 for any other text.
 */
int ioprio_parse(const char *text);

/*
 * Set it for all threads of this process; new threads inherit it.  Returns 0 or
 * an errno value.
 */
int ioprio_apply(int value);

/* Write a value as text into "to", IOPRIO_TEXT bytes; 0 is "none". */
const char *ioprio_text(char *to, int value);

#endif
