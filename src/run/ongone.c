/*
 * Running the command of ongone=.  It is root's own, so the shell gets it
 * unchanged; what the disk says about itself goes into the environment, never
 * into the command.
 */
#include "run/ongone.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/secrets.h"
#include "base/status.h"

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
