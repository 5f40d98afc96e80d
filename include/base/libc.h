/*
 * Functions of Linux and glibc that some C libraries lack: musl 1.2.3 has none
 * of them.  configure looks for each, and libc.c supplies those that are
 * missing.  Include this wherever you call one.
 */
#ifndef PARDD_LIBC_H
#define PARDD_LIBC_H

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "config.h"

#ifndef HAVE_STATX
#include <linux/stat.h>

/* statx(2): 0, or -1 with errno. */
int statx(int dir, const char *path, int flags, unsigned mask,
    struct statx *);
#endif

/* preadv2(2): bytes, or -1 with errno. */
#ifndef HAVE_PREADV2
ssize_t preadv2(int fd, const struct iovec *, int n, off_t, int flags);
ssize_t pwritev2(int fd, const struct iovec *, int n, off_t, int flags);
#endif

/* scandir(3) relative to a directory; the caller frees the list. */
#ifndef HAVE_SCANDIRAT
int scandirat(int dir, const char *path, struct dirent ***list,
    int (*chosen)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **));
#endif

/* The name of a signal, as "INT"; NULL if it has none. */
#ifndef HAVE_SIGABBREV_NP
const char *sigabbrev_np(int signo);
#endif

/* The text for an errno: a constant string, safe in any thread. */
#ifndef HAVE_STRERRORDESC_NP
const char *strerrordesc_np(int err);
#endif

#endif
