/*
 * iscsi://[USER[%PASSWORD]@]HOST[:PORT]/TARGET/LUN
 */
#ifndef PARDD_ISCSI_NAME_H
#define PARDD_ISCSI_NAME_H

#include "base/fault.h"

enum {
	ISCSI_NAME = 224,	/* bytes of a target's: RFC 7143 4.2.7.1, */
	ISCSI_WORD = 256,	/* of all else, as libiscsi has room for */
};				/* (with the NUL) */

struct iscsi_name {
	char	user[ISCSI_WORD];	/* or "", as everywhere here */
	char	password[ISCSI_WORD];
	char	portal[ISCSI_WORD];	/* HOST[:PORT] */
	char	target[ISCSI_NAME];
	int	lun;
};

/*
 * Take a name apart, which has no password any more (secrets.h).  Returns 0, or
 * -1 with *f: how it is written.
 */
int iscsi_name(struct iscsi_name *, const char *name, struct fault *f);

#endif
