/*
 * What a process has open, by /proc.
 */
#ifndef PARDD_OPENED_H
#define PARDD_OPENED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Whether "is" (1 or 0) is true of any regular file or block device that the
 * process has open, for writing or for reading; or that children running the
 * same program have.  0 if /proc does not say; -1 with errno if that could not
 * be asked, as without descriptors, here or by "is".
 */
int opened_any(pid_t, bool write,
    int (*is)(const char *path, const struct stat *, void *arg), void *arg);

/*
 * Whether a row of /proc/locks, or a "lock:" line of fdinfo, is a lock of a
 * range (fcntl) that begins before "end".
 */
bool opened_is_lock(const char *row, uint64_t end);

/*
 * Whether a process has such a lock by its descriptor /proc/PID/fd/N; -1 with
 * errno if that could not be asked.
 */
int opened_has_locked(const char *path, uint64_t end);

/*
 * A process that has such a lock on a block node of which "is" is true, or 0;
 * -1 with errno if that could not be asked.
 */
pid_t opened_locked(uint64_t end, bool (*is)(dev_t node, void *arg),
    void *arg);

/*
 * The process of this machine that has the other end of a TCP or Unix
 * connection, or 0 if none is known.
 */
pid_t opened_peer(int sock);

#endif
