/*
 * Text and numbers in HTML and SVG.  No other folder includes this.
 */
#ifndef PARDD_MARKUP_H
#define PARDD_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/*
 * A text from outside, in which markup is none and only ASCII is left as it is;
 * all else is \xNN.  Of a long one "most" bytes, and "...".
 */
void markup_text(FILE *, const char *text, size_t most);

/*
 * What a person has written to be read by persons: as markup_text, but letters
 * of all languages, in UTF-8, stay what they are, as references.
 */
void markup_note(FILE *, const char *text);

#endif
