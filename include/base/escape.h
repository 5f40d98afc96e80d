/*
 * Text from outside, made safe for where it goes.  Names of files, models of
 * disks and what servers say may hold any bytes; each syntax that we write has
 * its function here, and nothing is escaped anywhere else.
 *
 * Those that write to memory end it with a 0; where they return a place, it is
 * that of the 0.
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
 * A string of JSON, before it is quoted: UTF-8 stays, each byte that is no part
 * of a character becomes \xNN.  Takes at most 4 times as many bytes, and the 0.
 */
char *escape_json(char *to, const char *from);

/*
 * One word of a shell, and no option, in printable ASCII: as it is where that
 * is safe, else quoted.  What cannot be quoted takes $'...', POSIX 2024, 2.2.4
 * ("Dollar-Single-Quotes"), which bash, zsh, ksh and busybox know.  Takes at
 * most 4 times as many bytes and 6, with the 0.
 */
char *escape_shell(char *to, const char *name);

/*
 * A word of the head of a map's file: blanks become \xNN, too.  What has no
 * room before "end" is left out; the 0 needs a byte of it.
 */
char *escape_word(char *to, const char *end, const char *from);

/*
 * A name in a line of a checksum file, as coreutils have it: \, \n and \r are
 * escaped, and then the line begins with a \.  Returns whether it has to.
 * Takes at most twice as many bytes, and the 0.
 */
bool escape_checksum(char *to, const char *name);

/*
 * Text of HTML, XML and SVG: signs of markup become references, and all but
 * printable ASCII \xNN.  Of a long one "most" bytes are written, and "...".
 */
void escape_markup(FILE *out, const char *text, size_t most);

/*
 * The same of what a person has written for persons: letters of all languages,
 * in UTF-8, stay what they are, as references.
 */
void escape_note(FILE *out, const char *text);

#endif
