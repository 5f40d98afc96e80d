/*
 * What we call of Linux and glibc that not every C library has: musl 1.2.3 has
 * none of these.  configure looks for them, libc.c stands in for them, and who
 * calls one includes this.
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

/* scandir(3) of a folder of a folder; the list is the caller's to free. */
#ifndef HAVE_SCANDIRAT
int scandirat(int dir, const char *path, struct dirent ***list,
    int (*chosen)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **));
#endif

/* "INT"; NULL for what has no name. */
#ifndef HAVE_SIGABBREV_NP
const char *sigabbrev_np(int signo);
#endif

/* An errno in words, which no other thread can change. */
#ifndef HAVE_STRERRORDESC_NP
const char *strerrordesc_np(int err);
#endif

#endif
