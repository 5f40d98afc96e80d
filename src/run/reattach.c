/*
 * Waiting for a source that has disappeared.  Once a second, look through the
 * disks in sysfs for one with the same serial number and WWN, and open it by
 * the same kind of node, or the same partition of it.  Nothing is read from a
 * disk of another size, from either of two disks with the same names, or from
 * the target. ongone= may run a command first.
 *
 * A disk that is back may answer late, or never.  So it is opened by an errand,
 * which is abandoned when a signal arrives or the time is up.
 *
 * The command of ongone= is root's own, so the shell gets it unchanged; what
 * the disk says about itself goes into the environment, never into the command.
 */
#include "run/reattach.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/libc.h"
#include "base/secrets.h"
#include "base/signals.h"
#include "base/status.h"
#include "end/endpoint.h"
#include "record/events.h"
#include "report/report.h"
#include "view/view.h"

/* --- ongone= ------------------------------------------------------------- */

enum {
	OURS = 3,		/* variables */
	TERM_TIME = 1000,	/* ms it has to end after SIGTERM */
	LOOK = 50,
};

struct words {
	char	*env[OURS];
	char	**all;		/* OURS, then those inherited */
};

static void
free_words(struct words *w)
{
	size_t i;

	for (i = 0; i < OURS; i++)
		free(w->env[i]);
	free(w->all);
}

/* An inherited variable of the same name is left out. */
static bool
ongone_variable_ours(const char *word)
{
	static const char *const names[OURS] = { "PARDD_SOURCE=",
		"PARDD_SERIAL=", "PARDD_POSITION=" };
	size_t i;

	for (i = 0; i < OURS; i++)
		if (strncmp(word, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static char *
ongone_variable(const char *name, const char *value)
{
	char *s;

	return asprintf(&s, "%s=%s", name, value) < 0 ? NULL : s;
}

static int
make_words(struct words *w, const char *name, const char *serial,
    uint64_t position)
{
	size_t n = 0, i, k;
	char at[24] = "";

	if (position != NOWHERE)
		snprintf(at, sizeof(at), "%" PRIu64, position);
	while (environ[n] != NULL)
		n++;
	*w = (struct words){ .all = calloc(n + OURS + 1, sizeof(*w->all)) };
	w->env[0] = ongone_variable("PARDD_SOURCE", name);
	w->env[1] = ongone_variable("PARDD_SERIAL", serial);
	w->env[2] = ongone_variable("PARDD_POSITION", at);
	for (i = 0; i < OURS; i++)
		if (w->env[i] == NULL || w->all == NULL)
			return ENOMEM;
	for (i = k = 0; i < n; i++)
		if (!ongone_variable_ours(environ[i]))
			w->all[k++] = environ[i];
	memcpy(w->all + k, w->env, sizeof(w->env));
	return 0;
}

/* The command gets its own process group, with no signal blocked or ignored. */
static int
ongone_prepare(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawn_file_actions_addopen(files, STDIN_FILENO,
	    "/dev/null", O_RDONLY, 0);
	if (err == 0)
		err = posix_spawn_file_actions_adddup2(files, STDERR_FILENO,
		    STDOUT_FILENO);
	if (err == 0)
		err = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP |
		    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (err == 0)
		err = posix_spawnattr_setsigmask(attr, &none);
	return err != 0 ? err : posix_spawnattr_setsigdefault(attr, &all);
}

static int
ongone_spawn(pid_t *pid, char *command, char **env)
{
	char *const words[] = { "sh", "-c", command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int err = posix_spawn_file_actions_init(&files);

	if (err != 0)
		return err;
	err = posix_spawnattr_init(&attr);
	if (err == 0) {
		err = ongone_prepare(&files, &attr);
		if (err == 0)
			err = posix_spawnp(pid, "/bin/sh", &files, &attr, words,
			    env);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return err;
}

int
ongone_start(struct ongone *g, const struct plan *p, const struct disk *was,
    uint64_t position, struct fault *f)
{
	char *command = strdup(secrets_given(p->opts->secrets,
	    p->opts->ongone));
	struct words w;
	int err = make_words(&w, p->src->name, was->serial, position);

	g->pid = 0;
	if (err == 0)
		err = command == NULL ? ENOMEM :
		    ongone_spawn(&g->pid, command, w.all);
	free_words(&w);
	free(command);
	return err == 0 ? 0 : fault_errno(f, err, "ongone=: /bin/sh");
}

/* realtime signals have no name */
static void
ongone_killed(int signo, struct fault *f)
{
	const char *name = sigabbrev_np(signo);

	if (name != NULL)
		fault_set(f, STATUS_FILE, "ongone=: ended by SIG%s", name);
	else
		fault_set(f, STATUS_FILE, "ongone=: ended by signal %d", signo);
}

bool
ongone_ended(struct ongone *g, struct fault *f)
{
	int status;

	f->status = 0;
	if (g->pid == 0 || waitpid(g->pid, &status, WNOHANG) == 0)
		return g->pid == 0;
	g->pid = 0;
	if (WIFSIGNALED(status))
		ongone_killed(WTERMSIG(status), f);
	else if (WEXITSTATUS(status) != 0)
		fault_set(f, STATUS_FILE, "ongone=: ended with status %d",
		    WEXITSTATUS(status));
	return true;
}

void
ongone_stop(struct ongone *g)
{
	struct fault f;
	pid_t group = g->pid;
	int ms;

	if (group == 0)
		return;
	kill(-group, SIGTERM);
	for (ms = 0; ms < TERM_TIME && !ongone_ended(g, &f); ms += LOOK)
		poll(NULL, 0, LOOK);
	kill(-group, SIGKILL);
	if (g->pid != 0)
		waitpid(g->pid, NULL, 0);
	g->pid = 0;
}

/* --- the source ---------------------------------------------------------- */

enum {
	TICK = 1000, BRIEF = 100,	/* ms */
	LEAST = 10,		/* s that it may take to open it, if not more */
	PATH = 300,		/* bytes of the name of a node */
};

/* Never the target: some adapters all have the same serial number. */
static bool
is_target(const struct plan *p, const struct disk *d)
{
	struct disk dst;

	return endpoint_disk(p->dst, &dst) && dst.whole == d->whole &&
	    strcmp(dst.sg, d->sg) == 0;
}

static bool
reattach_is_node(const struct endpoint *ep, const char *directory,
    const char *name)
{
	char path[PATH];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return name[0] != '\0' && stat(path, &st) == 0 &&
	    S_ISCHR(st.st_mode) && st.st_rdev == ep->id.node;
}

void
reattach_begin(struct reattach *a, const struct plan *p)
{
	*a = (struct reattach){ .until = 0 };
	if (p->opts->wait < 0 || !endpoint_disk(p->src, &a->was))
		return;
	a->node = reattach_is_node(p->src, "/dev", a->was.sg) ? NODE_SG :
	    reattach_is_node(p->src, "/dev/bsg", a->was.bsg) ? NODE_BSG :
	    reattach_is_node(p->src, "/dev", a->was.ng) ? NODE_NG : NODE_BLOCK;
}

/*
 * The node of the disk that was found, or of the partition that the source was.
 */
static bool
block_path(const struct reattach *a, const struct disk *d, char *path,
    size_t room)
{
	struct disk_part *part;
	size_t n, i;
	bool is = false;

	if (a->was.partition == 0)
		return disk_path(d->node, d->name, path, room);
	if (disk_parts(d->whole, &part, &n) != 0)
		return false;
	for (i = 0; i < n && !is; i++)
		is = part[i].number == a->was.partition &&
		    part[i].start == a->was.start &&
		    part[i].length == a->was.length &&
		    disk_path(part[i].node, part[i].name, path, room);
	free(part);
	return is;
}

static bool
reattach_path(const struct reattach *a, const struct disk *d, char *path,
    size_t room)
{
	const char *name = a->node == NODE_SG ? d->sg :
	    a->node == NODE_NG ? d->ng : d->bsg;

	if (a->node == NODE_BLOCK)
		return block_path(a, d, path, room);
	snprintf(path, room, a->node == NODE_BSG ? "/dev/bsg/%s" : "/dev/%s",
	    name);
	return name[0] != '\0';
}

/*
 * Sleep for ms; false if a signal has ended the wait, or whoever it was for has
 * unmounted view=.
 */
static bool
sleep_on(const struct plan *p, const struct signals *s, struct outcome *out,
    int ms)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };
	struct signalfd_siginfo si;

	if (poll(&fd, 1, ms) <= 0)
		return (p->opts->rescue & RESCUE_ONDEMAND) == 0 ||
		    !viewer_count(p->view).over;
	while (read(s->fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGUSR1) {
			report_so_far(p, &out->tally);
			continue;
		}
		out->signal = (int)si.ssi_signo;
		signals_hurry();
		return false;
	}
	return true;
}

struct opening {		/* the errand's, once it is abandoned */
	struct endpoint	 new;
	struct end_spec	 spec;
	const char	*name;
	char		 path[PATH];	/* the name, unless it is an address */
	struct fault	 f;
	int		 failed;
};

static void
opening_run(void *arg)
{
	struct opening *o = arg;

	o->failed = endpoint_open_again(&o->new, &o->spec, o->name, &o->f);
}

struct attendance {		/* how long an opening is waited for */
	const struct plan *p;
	const struct signals *s;
	struct outcome	*out;
	double		 until;
};

static bool
opening_stays(void *arg)
{
	const struct attendance *a = arg;

	return sleep_on(a->p, a->s, a->out, 0) && clock_seconds() < a->until;
}

/* Open it, and keep the reason if that fails. */
static bool
reattach_open(struct reattach *a, const struct plan *p, const struct signals *s,
    struct outcome *out, const char *name)
{
	struct endpoint *src = p->src;
	struct attendance with = { p, s, out, MAX(clock_seconds() + LEAST,
	    a->until) };
	struct opening *o = calloc(1, sizeof(*o));
	int err = ENOMEM;
	bool is;

	if (o != NULL) {
		strlcpy(o->path, name, sizeof(o->path));
		o->name = src->is.remote ? name : o->path;
		o->spec = src->spec;
		errand_watch(opening_run, o, opening_stays, &with, &err);
	}
	if (err == ETIMEDOUT) {
		if (out->signal == 0)
			snprintf(a->why, sizeof(a->why),
			    "; it does not answer");
		src->is.stuck = true;
		return false;
	}
	if (err != 0) {
		snprintf(a->why, sizeof(a->why), "; %s", errno_words(err));
		free(o);
		return false;
	}
	is = o->failed == 0 && endpoint_replace(src, &o->new, &o->f) == 0;
	if (!is)
		snprintf(a->why, sizeof(a->why), "; %.500s", o->f.text);
	if (o->new.is.stuck)
		src->is.stuck = true;
	else
		free(o);
	return is;
}

/* Look once; keep the reason if it is not there. */
static bool
reattach_look(struct reattach *a, const struct plan *p, const struct signals *s,
    struct outcome *out)
{
	size_t n;
	char path[PATH];
	struct disk d;

	a->why[0] = '\0';
	if (p->src->is.remote)
		return reattach_open(a, p, s, out, p->src->name);
	n = disk_find(&a->was, &d);
	if (n > 1)
		snprintf(a->why, sizeof(a->why), "; %zu disks are called the "
		    "same", n);
	if (n != 1 || is_target(p, &d) ||
	    !reattach_path(a, &d, path, sizeof(path)))
		return false;
	return reattach_open(a, p, s, out, path);
}

/*
 * Run the command of ongone= to its end.  A node that exists before then is
 * still the one that does not answer.  False if a signal has ended the wait.
 */
static bool
run_command(const struct reattach *a, const struct plan *p,
    const struct signals *s, struct outcome *out)
{
	struct ongone g;
	struct fault f = { .status = 0 };
	bool stay = true;

	if (p->opts->ongone == NULL || clock_seconds() >= a->until)
		return true;
	if (ongone_start(&g, p, &a->was, out->gone_at, &f) == 0)
		while (stay && !ongone_ended(&g, &f) &&
		    clock_seconds() < a->until)
			stay = sleep_on(p, s, out, BRIEF);
	if (g.pid != 0 && stay)
		fault_set(&f, STATUS_FILE, "ongone=: it was not done within "
		    "wait=%lld seconds", (long long)p->opts->wait);
	ongone_stop(&g);
	if (f.status != 0)
		report_fault(&f, p->opts);
	return stay;
}

bool
reattach_source(struct reattach *a, const struct plan *p,
    const struct signals *s, struct events *ev, struct outcome *out)
{
	double wait = (double)p->opts->wait;
	bool is = false;
	size_t n;

	if (out->tally.read > a->read || a->until == 0)
		a->until = clock_seconds() + wait;
	a->read = out->tally.read;
	report_gone(p, out);
	events_gone(ev, p, &out->tally);
	if (!run_command(a, p, s, out))
		return false;
	while (!is && clock_seconds() < a->until) {
		if (!sleep_on(p, s, out, TICK))
			return false;
		is = reattach_look(a, p, s, out);
		if (out->signal != 0)
			return false;
	}
	if (is) {
		report_back(p);
		events_back(ev, p);
		return true;
	}
	n = strlen(out->fault.text);
	snprintf(out->fault.text + n, sizeof(out->fault.text) - n, "; it did "
	    "not come back within wait=%lld seconds%s",
	    (long long)p->opts->wait, a->why);
	return false;
}
