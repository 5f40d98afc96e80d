/*
 * Printing lines.  Names and other strings from outside may contain anything:
 * only printable ASCII is printed as it is, and no newline.
 *
 * Printing a line of normal length allocates nothing: the error may be that
 * memory has run out.
 *
 * Standard error may be a pipe that nobody reads.  Signals are blocked during
 * the copy, and the main thread must handle them.  So nothing is written before
 * poll(2) says that there is room, and if a signal has arrived meanwhile, or
 * some seconds ago, the line is dropped.
 *
 * On a terminal messages are folded between words, and before a command that
 * they tell, which is one line: so it can be pasted.
 *
 * Standard error may be the very file that is being written.  Then everything
 * is kept in memory and printed after the copy.
 */
#include "base/print.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/signals.h"

enum {
	USUAL = 1100,		/* bytes with the NUL; enough for any fault */
	ROOM = 32,		/* bytes for a colour, and the end of the
				 * line */
	TICK = 100,		/* ms */
	NARROW = 20,		/* columns: less is folded by the terminal */
	TERMINAL = 100,		/* bytes that one takes if it takes one byte */
};

/* Whether standard error takes PIPE_BUF bytes within so many ms. */
static bool
print_has_room(int ms)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, ms) != 0;
}

/*
 * How much is written at a time, so that it does not wait once poll(2) says
 * that there is room.  A terminal needs more for a newline than that.
 */
static size_t
print_part(bool terminal, const char *line, size_t len)
{
	const char *end = memchr(line, '\n', len);

	if (!terminal)
		return MIN(len, PIPE_BUF);
	if (end != NULL)
		len = end == line ? 1 : (size_t)(end - line);
	return MIN(len, TERMINAL);
}

/* Write to standard error; nothing else is buffered there. */
static void
put_error(const char *line, size_t len)
{
	bool terminal = isatty(STDERR_FILENO) != 0;
	ssize_t n;
	int ms;

	for (; len > 0; line += n, len -= (size_t)n) {
		for (ms = 0; !print_has_room(ms); ms = TICK)
			if (signals_pending())
				return;
		n = write(STDERR_FILENO, line, print_part(terminal, line, len));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		n = n < 0 ? 0 : n;
	}
}

/* Put the program's name in red; returns the text that follows it. */
static const char *
put_name(char **to, const char *text)
{
	static const char name[] = "pardd:", red[] = PRINT_RED "pardd:"
	    PRINT_PLAIN;
	size_t n = sizeof(name) - 1;

	if (strncmp(text, name, n) != 0)
		return text;
	memcpy(*to, red, sizeof(red) - 1);
	*to += sizeof(red) - 1;
	return text + n;
}

/* Whether these are the first letters of a command that messages tell. */
static bool
print_tells(const char *text)
{
	static const char *const program[] = { "7z ", "blockdev ", "bsdtar ",
		"btrfstune ", "chattr ", "cryptsetup ", "curl ", "hdparm ",
		"losetup ", "lz4 ", "lzip ", "lzop ", "mlabel ", "mount ",
		"ntfslabel ", "pardd ", "partclone.restore ", "partprobe ",
		"sfdisk ", "sgdisk ", "simg2img ", "swaplabel ", "tune2fs ",
		"xfs_admin " };
	size_t i;

	for (i = 0; i < sizeof(program) / sizeof(program[0]); i++)
		if (strncmp(text, program[i], strlen(program[i])) == 0)
			return true;
	return false;
}

size_t
print_unit(const char *text, bool *command)
{
	size_t n = strspn(text, " ");
	bool quoted = false;

	*command = print_tells(text + n);
	if (!*command)
		return n + strcspn(text + n, " ");
	for (; text[n] != '\0' && (quoted || text[n] != ' ' ||
	    (strchr(",;", text[n - 1]) == NULL && text[n + 1] != '(')); n++)
		quoted = quoted != (text[n] == '\'');
	return n;
}

/* Fold a line of which so many columns are used already. */
static void
print_fold(char *text, size_t used, size_t columns)
{
	bool command;
	size_t n;

	for (; *text != '\0'; text += n) {
		n = print_unit(text, &command);
		used += n;
		if (used > columns && *text == ' ') {
			*text = '\n';
			used = n - 1;
		}
	}
}

static void
print_line(FILE *out, char *line, const char *text, bool red)
{
	size_t columns = fileno(out) != STDERR_FILENO ||
	    strncmp(text, "pardd:", 6) != 0 ? 0 : print_screen(out).columns;
	char *to = line, *from;

	if (red)
		text = put_name(&to, text);
	from = to;
	to = escape_line(to, text);
	if (columns >= NARROW)
		print_fold(from, from > line ? sizeof("pardd:") - 1 : 0,
		    columns);
	*to++ = '\n';
	if (fileno(out) == STDERR_FILENO)
		put_error(line, (size_t)(to - line));
	else
		fwrite(line, 1, (size_t)(to - line), out);
}

/* Print the complete line, if there is memory for it; false if not. */
static bool __attribute__((format(printf, 3, 0)))
put_long(FILE *out, bool red, const char *fmt, va_list ap)
{
	char *text = NULL, *line;
	int n = vasprintf(&text, fmt, ap);

	if (n < 0)
		return false;
	line = malloc(4 * (size_t)n + ROOM);
	if (line != NULL)
		print_line(out, line, text, red);
	free(line);
	free(text);
	return line != NULL;
}

static void __attribute__((format(printf, 3, 0)))
print_args(FILE *out, bool red, const char *fmt, va_list ap)
{
	static const char cut[] = " [...]";
	char text[USUAL] = "", line[4 * USUAL + ROOM];
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	if (n < (int)sizeof(text)) {
		print_line(out, line, text, red);
	} else if (!put_long(out, red, fmt, again)) {
		memcpy(text + sizeof(text) - sizeof(cut), cut, sizeof(cut));
		print_line(out, line, text, red);
	}
	va_end(again);
}

void
print(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_args(out, false, fmt, ap);
	va_end(ap);
}

void
print_raw(const char *fmt, ...)
{
	char text[USUAL];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_error(text, MIN((size_t)n, sizeof(text) - 1));
}

void
print_alarm(FILE *out, bool coloured, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_args(out, coloured, fmt, ap);
	va_end(ap);
}

/* NO_COLOR, see no-color.org: set and not empty. */
bool
print_colours(FILE *out)
{
	const char *no = secure_getenv("NO_COLOR");
	const char *term = secure_getenv("TERM");

	return (no == NULL || *no == '\0') && term != NULL && *term != '\0' &&
	    strcmp(term, "dumb") != 0 && isatty(fileno(out)) != 0;
}

/* By calls that are linked anyway, since each symbol costs every start. */
int
print_owned(void)
{
	pid_t owner;

	if (ioctl(STDERR_FILENO, TIOCGPGRP, &owner) != 0 || owner <= 0)
		return -1;
	return owner == syscall(SYS_getpgid, 0);
}

struct screen
print_screen(FILE *out)
{
	struct winsize w;

	if (ioctl(fileno(out), TIOCGWINSZ, &w) != 0)
		return (struct screen){ 0 };
	return (struct screen){ .columns = w.ws_col, .rows = w.ws_row };
}

int
print_hold(void)
{
	int held = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int memory = held < 0 ? -1 : memfd_create("pardd", MFD_CLOEXEC);

	if (memory >= 0 && dup2(memory, STDERR_FILENO) >= 0) {
		close(memory);
		return held;
	}
	if (memory >= 0)
		close(memory);
	if (held >= 0)
		close(held);
	return -1;
}

void
print_release(int held)
{
	int memory = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	char said[PIPE_BUF];
	ssize_t n;

	dup2(held, STDERR_FILENO);
	close(held);
	(void)lseek(STDERR_FILENO, 0, SEEK_END);
	(void)lseek(memory, 0, SEEK_SET);
	while ((n = read(memory, said, sizeof(said))) > 0)
		put_error(said, (size_t)n);
	close(memory);
}

bool
print_room(void)
{
	return print_has_room(0);
}

bool
print_close(FILE *out, char **text)
{
	bool ill = ferror(out) != 0;

	if (fclose(out) == 0 && !ill && *text != NULL)
		return true;
	free(*text);
	*text = NULL;
	return false;
}
