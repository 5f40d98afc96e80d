/*
 * Parsing iscsi://[USER[%PASSWORD]@]HOST[:PORT]/TARGET/LUN.
 */
#ifndef PARDD_ISCSI_NAME_H
#define PARDD_ISCSI_NAME_H

#include "base/fault.h"

enum {
	ISCSI_NAME = 224,	/* bytes of a target name: RFC 7143 4.2.7.1 */
	ISCSI_WORD = 256,	/* bytes of the rest, as in libiscsi */
};				/* both with the NUL */

struct iscsi_name {
	char	user[ISCSI_WORD];	/* "" if absent, as are the rest */
	char	password[ISCSI_WORD];
	char	portal[ISCSI_WORD];	/* HOST[:PORT] */
	char	target[ISCSI_NAME];
	int	lun;
};

/*
 * Parse a name, whose password was taken out (secrets.h).  Returns 0, or -1
 * with *f, which shows the correct form.
 */
int iscsi_name(struct iscsi_name *, const char *name, struct fault *f);

#endif
