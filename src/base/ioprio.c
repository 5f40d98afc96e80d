/*
 * ioprio=: there is no call for a process, only for threads, which pass their
 * priority on to the threads that they create.
 */
#include "base/ioprio.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <linux/ioprio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int
ioprio_parse(const char *text)
{
	int class;

	if (strcmp(text, "idle") == 0)
		return IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT;
	if (strlen(text) != strlen("be:0"))
		return -1;
	if (strncmp(text, "be:", 3) == 0)
		class = IOPRIO_CLASS_BE;
	else if (strncmp(text, "rt:", 3) == 0)
		class = IOPRIO_CLASS_RT;
	else
		return -1;
	if (text[3] < '0' || text[3] > '7')
		return -1;
	return (class << IOPRIO_CLASS_SHIFT) + text[3] - '0';
}

/* Set one thread, which may have ended meanwhile. */
static int
ioprio_set_thread(int thread, int value)
{
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, thread, value) == 0 ||
	    (errno == ESRCH && thread != 0))
		return 0;
	return errno;
}

static int
task_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int
set_all(int value)
{
	struct dirent **list;
	int n = scandir("/proc/self/task", &list, task_visible, versionsort);
	int err = 0;

	if (n < 0)
		return errno;
	while (n > 0) {
		n--;
		if (err == 0)
			err = ioprio_set_thread((int)strtol(list[n]->d_name,
			    NULL, 10), value);
		free(list[n]);
	}
	free(list);
	return err;
}

/* A second round finds threads created meanwhile by others not yet set. */
int
ioprio_apply(int value)
{
	int err = ioprio_set_thread(0, value);

	if (err == 0)
		err = set_all(value);
	return err == 0 ? set_all(value) : err;
}

const char *
ioprio_text(char *to, int value)
{
	int class = value >> IOPRIO_CLASS_SHIFT, level = value & 7;

	if (class == IOPRIO_CLASS_IDLE || class == IOPRIO_CLASS_NONE)
		strlcpy(to, class == IOPRIO_CLASS_IDLE ? "idle" : "none",
		    IOPRIO_TEXT);
	else
		snprintf(to, IOPRIO_TEXT, "%s:%d",
		    class == IOPRIO_CLASS_RT ? "rt" : "be", level);
	return to;
}
