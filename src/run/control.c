/*
 * control=: the socket.  One client is served at a time, and a new one replaces
 * it, so that a forgotten connection locks nobody out.
 *
 *	status			the state of the copy
 *	rate=N, rate=0		set the limit, or lift it
 *	ioprio=PRIORITY		as the operand
 *
 * The answer is "ok", "error: ..." or a line of key=value pairs.
 */
#include "run/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ioprio.h"
#include "base/number.h"
#include "base/path.h"
#include "copy/job.h"

enum { ANSWER = 384 };

/* Whether the socket was left by a run that was killed: nobody listens. */
static bool
left_behind(const struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	bool left;

	left = fd >= 0 && lstat(name->sun_path, &st) == 0 &&
	    S_ISSOCK(st.st_mode) && connect(fd,
	    (const struct sockaddr *)name, sizeof(*name)) != 0 &&
	    errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return left;
}

/* Linux gives the node the mode of the socket. */
static int
control_make_node(int fd, const struct sockaddr_un *name)
{
	const struct sockaddr *to = (const struct sockaddr *)name;

	if (fchmod(fd, 0600) != 0)
		return errno;
	if (bind(fd, to, sizeof(*name)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return errno;
	if (!left_behind(name) || unlink(name->sun_path) != 0)
		return EEXIST;
	return bind(fd, to, sizeof(*name)) == 0 ? 0 : errno;
}

/* Whether a connection to that name arrives at this process. */
static bool
control_leads_here(const struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred who = { .pid = 0 };
	socklen_t len = sizeof(who);
	bool ours;

	ours = fd >= 0 && connect(fd, (const struct sockaddr *)name,
	    sizeof(*name)) == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED,
	    &who, &len) == 0 && who.pid == getpid();
	if (fd >= 0)
		close(fd);
	return ours;
}

/*
 * Listen, and remember which node has the name.  Another run may have replaced
 * the node while nobody was listening.
 */
static int
control_listen(struct control *c, const struct sockaddr_un *name)
{
	struct stat st;

	if (listen(c->ear, 8) != 0 || lstat(name->sun_path, &st) != 0)
		return errno;
	if (!control_leads_here(name))
		return EEXIST;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	return 0;
}

/* Fill in the address, if its directory exists and is not in /dev. */
static int
control_address(struct sockaddr_un *name, const char *path, struct fault *f)
{
	char what[sizeof(*name) + sizeof("control=")];

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(name->sun_path))
		return fault_errno(f, ENAMETOOLONG, "control=%s", path);
	memcpy(name->sun_path, path, strlen(path) + 1);
	snprintf(what, sizeof(what), "control=%s", path);
	return path_check(path, what, f);
}

int
control_look(const struct opts *o, struct fault *f)
{
	struct sockaddr_un name;
	struct stat st;

	if (o->control == NULL)
		return 0;
	if (control_address(&name, o->control, f) != 0)
		return -1;
	if (lstat(o->control, &st) != 0 || left_behind(&name))
		return 0;
	return fault_errno(f, EEXIST, "control=%s", o->control);
}

int
control_open(struct control *c, const struct opts *o, struct fault *f)
{
	struct sockaddr_un name;
	int err;

	*c = (struct control){ .ear = -1, .peer = -1 };
	if (o->control == NULL)
		return 0;
	if (control_address(&name, o->control, f) != 0)
		return -1;
	c->ear = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = c->ear < 0 ? errno : control_make_node(c->ear, &name);
	if (err == 0)
		err = control_listen(c, &name);
	c->path = err == 0 ? o->control : NULL;
	if (err == 0)
		return 0;
	control_close(c);
	return fault_errno(f, err, "control=%s", o->control);
}

void
control_polls(const struct control *c, struct pollfd *p)
{
	p[0] = (struct pollfd){ .fd = c->peer, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = clock_ns() < c->deaf ? -1 : c->ear,
		.events = POLLIN };
}

static void
hang_up(struct control *c)
{
	if (c->peer >= 0)
		close(c->peer);
	c->peer = -1;
	c->n = 0;
}

/* Drop a client that does not read its answers. */
static void __attribute__((format(printf, 2, 3)))
control_answer(struct control *c, const char *fmt, ...)
{
	char text[ANSWER];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	n = n < ANSWER - 2 ? n : ANSWER - 2;
	text[n++] = '\n';
	if (send(c->peer, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n)
		hang_up(c);
}

static void
tell_status(struct control *c, const struct job *job, const struct tally *t)
{
	char prio[IOPRIO_TEXT], length[24] = "unknown", left[24] = "unknown";
	const char *on = silence_word(&t->silence, job->p);

	if (job->p->bounded) {
		snprintf(length, sizeof(length), "%llu",
		    (unsigned long long)job->p->length);
		snprintf(left, sizeof(left), "%llu",
		    (unsigned long long)t->left);
	}
	control_answer(c, "phase=%s bytes_read=%llu bytes_written=%llu "
	    "bytes_unreadable=%llu bytes_finished=%llu bytes_left=%s "
	    "length=%s seconds=%.3f rate=%llu ioprio=%s stopping=%d "
	    "stalled=%s stalled_seconds=%.0f",
	    phase_name(t->phase), (unsigned long long)t->read,
	    (unsigned long long)t->written, (unsigned long long)t->lost,
	    (unsigned long long)t->finished, left, length, t->seconds,
	    (unsigned long long)job->rate.bytes,
	    ioprio_text(prio, job->ioprio), t->stopping,
	    on != NULL ? on : "none", t->silence.seconds);
}

static void
change_rate(struct control *c, struct job *job, const char *text)
{
	int64_t n;

	if (number_parse(text, &n) != 0 || (n != 0 && n < RATE_LEAST)) {
		control_answer(c, "error: rate= takes %d and more, or 0",
		    RATE_LEAST);
		return;
	}
	rate_set(&job->rate, (uint64_t)n);
	if (job->rescue == NULL)	/* its passes adapt by themselves */
		map_pieces(&job->map, plan_claim(job->p, rate_piece(&job->rate,
		    job->p, job->p->claim)));
	control_answer(c, "ok");
}

static void
change_ioprio(struct control *c, struct job *job, const char *text)
{
	int value = ioprio_parse(text);
	int err = value < 0 ? 0 : ioprio_apply(value);

	if (value < 0) {
		control_answer(c,
		    "error: ioprio= takes idle, be:0 to be:7, rt:0 to rt:7");
	} else if (err != 0) {
		control_answer(c, "error: %s", errno_words(err));
	} else {
		job->ioprio = value;
		control_answer(c, "ok");
	}
}

static void
control_obey(struct control *c, struct job *job, const struct tally *t,
    const char *line)
{
	if (strcmp(line, "status") == 0)
		tell_status(c, job, t);
	else if (strncmp(line, "rate=", 5) == 0)
		change_rate(c, job, line + 5);
	else if (strncmp(line, "ioprio=", 7) == 0)
		change_ioprio(c, job, line + 7);
	else
		control_answer(c, "error: status, rate=N, or ioprio=PRIORITY");
}

/*
 * Read what has arrived, and execute each line; the last may lack its newline.
 */
static void
listen_to(struct control *c, struct job *job, const struct tally *t)
{
	ssize_t n = recv(c->peer, c->line + c->n, sizeof(c->line) - 1 - c->n,
	    MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == 0 && c->n > 0)
		c->line[c->n++] = '\n';
	else if (n > 0)
		c->n += (size_t)n;
	while ((end = memchr(c->line, '\n', c->n)) != NULL) {
		size_t len = (size_t)(end - c->line) + 1;

		*end = '\0';
		if (len > 1 && end[-1] == '\r')
			end[-1] = '\0';
		control_obey(c, job, t, c->line);
		if (c->peer < 0)
			return;
		c->n -= len;
		memmove(c->line, c->line + len, c->n);
	}
	if (n <= 0 || c->n == sizeof(c->line) - 1)
		hang_up(c);		/* end of input, or too long */
}

void
control_serve(struct control *c, const struct pollfd *p, struct job *job,
    const struct tally *t)
{
	struct sockaddr_un from;	/* a client without a name */
	socklen_t len = sizeof(from);
	int fd;

	if (p[0].revents != 0)
		listen_to(c, job, t);
	if (p[1].revents == 0)
		return;
	fd = accept4(c->ear, (struct sockaddr *)&from, &len,
	    SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && errno != EAGAIN)	/* no descriptor: not at once again */
		c->deaf = clock_ns() + 1000000000;
	if (fd < 0)
		return;
	hang_up(c);
	c->peer = fd;
}

void
control_close(struct control *c)
{
	struct stat st;

	hang_up(c);
	if (c->path != NULL && lstat(c->path, &st) == 0 &&
	    st.st_dev == c->dev && st.st_ino == c->ino)
		unlink(c->path);	/* do not remove another run's */
	if (c->ear >= 0)
		close(c->ear);
	c->ear = -1;
	c->path = NULL;
}
