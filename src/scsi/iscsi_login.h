/*
 * Logging in to an iSCSI target, and out.
 */
#ifndef PARDD_ISCSI_LOGIN_H
#define PARDD_ISCSI_LOGIN_H

#include "iscsi_link.h"

/*
 * Connect and log in within to->timeout, following each portal that the target
 * names.  Returns 0 with link->context; or -1 with *f and without one.
 */
int iscsi_login(struct iscsi_link *link, const struct iscsi_address *to,
    struct fault *f);

/* Log out; waits for the answer for a second. */
void iscsi_logout(struct iscsi_link *);

#endif
