/*
 * Text from outside, made safe for where it goes.  File names, disk models and
 * messages of servers may hold any bytes; each syntax that we write has its
 * function here, and nothing is escaped anywhere else.
 *
 * Functions that write to memory end it with a 0; if they return a pointer, it
 * points to the 0.
 */
#ifndef PARDD_ESCAPE_H
#define PARDD_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * A line on a terminal: all but printable ASCII becomes \xNN.  Takes at most 4
 * times as many bytes, and the 0.
 */
char *escape_line(char *to, const char *from);

/*
 * A JSON string, before it is quoted: UTF-8 stays, each byte that is not part
 * of a character becomes \xNN.  Takes at most 4 times as many bytes, and the 0.
 */
char *escape_json(char *to, const char *from);

/*
 * A word in the head of a map file: blanks become \xNN, too.  What does not fit
 * before "end", with the 0, is left out.
 */
char *escape_word(char *to, const char *end, const char *from);

/*
 * Text of HTML, XML and SVG: markup characters become references, and all but
 * printable ASCII \xNN.  A long one is cut after "most" bytes, with "...".
 */
void escape_markup(FILE *out, const char *text, size_t most);

/*
 * The same for text written by the user: letters of all languages, in UTF-8,
 * stay what they are, as references.
 */
void escape_note(FILE *out, const char *text);

/*
 * A name as one shell word, not an option, in printable ASCII: as it is if
 * that is safe, else quoted.  What cannot be quoted becomes $'...', POSIX 2024,
 * 2.2.4 ("Dollar-Single-Quotes"), which bash, zsh, ksh and busybox support.
 * malloc'd; NULL without memory.
 */
char *shell_word(const char *name);

/*
 * Split a command into words as a shell does (POSIX, 2.2 "Quoting": blanks,
 * '...', "...", \), without expanding anything.  Returns a NULL-terminated
 * array for execve(2), in one piece that the caller frees; or NULL with errno:
 * EINVAL means an unclosed quote.
 */
char **shell_split(const char *command);

#endif
