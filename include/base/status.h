/*
 * The exit statuses, each with its sentence in the manual (EXIT STATUS).
 * Those below 50, and 50 + errno, are as in sg3_utils.
 */
#ifndef PARDD_STATUS_H
#define PARDD_STATUS_H

enum status {
	STATUS_COMPLETE = 0,
	STATUS_USAGE = 1,
	STATUS_MEDIUM = 3,	/* a block that cannot be read */
	/* between these, those of scsi_judge.c */
	STATUS_MISMATCH = 14,	/* verify or compare: a difference */
	STATUS_FILE = 15,	/* an errno without a number of its own */
	STATUS_TIMEOUT = 33,	/* a SCSI command was not answered */
	STATUS_ERRNO = 50,	/* plus errno, up to 96 */
	STATUS_UNREADABLE = 100,
	STATUS_REFUSED = 101,
	STATUS_SHORT = 102,
	STATUS_NOT_FLUSHED = 103,
	STATUS_SIGNAL = 128,	/* plus the signal's number */
};

#endif
