/*
 * answer: files as SCSI disks, with answers on demand (LD_PRELOAD).
 *
 * A file becomes an sg node: fstat(2) reports a character device, and SG_IO,
 * write(2) and read(2) on it are answered here; its bytes are the disk's.
 *
 * ANSWERS has rules, separated by ';'; a rule consists of words.  A rule with
 * disk= defines a disk:
 *
 *	disk=PATH	the file
 *	block=N		bytes of a block (512), for the commands
 *	says=N		... and what READ CAPACITY says it is
 *	blocks=N	how many there are (as many as fit in the file)
 *	type=N		device type (0)
 *	most=N		MAXIMUM TRANSFER LENGTH, in blocks (0: no limit)
 *	same=N		MAXIMUM WRITE SAME LENGTH, in blocks (0: unknown)
 *	native=N made=N	how many blocks it could show, and was made with, by the
 *			ATA commands for that (0: it has no such commands)
 *	thin=1		thin provisioning: GET LBA STATUS reports all as mapped,
 *			in runs of 128 blocks
 *
 * All other rules say how a command ends; the first match counts:
 *
 *	on=PATH		of this disk
 *	op=OP,...	inquiry (also VPD pages) ready capacity capacity16 read
 *			write same sync lbastatus ata
 *	at=FIRST+COUNT	a command that touches these blocks
 *	len=LEAST-MOST	one with so many
 *	nth=N times=N	only the Nth time; only the first N times
 *	from=N		from the Nth time on
 *	status=N	the SCSI status
 *	sense=K/A/Q	sense data, in hex, and CHECK CONDITION without status=
 *	descriptor	... in this format instead of the fixed one
 *	deferred	... for an earlier command
 *	info=N ili	... with these fields
 *	cut=N		... of only N bytes
 *	done		the command is carried out all the same
 *	host=N driver=N	the status of host and driver
 *	resid=N		residual: bytes at the end that were not moved, or an
 *			impossible number
 *	data=HEX	the answer, followed by zeros
 *	errno=N		the ioctl fails
 *	sleep=MS	sleep first
 *	renamed		from now on the disk has another serial number
 *	becomes=PATH	from now on this file is the medium; with such a rule
 *			commands are answered one at a time, so that "now" is
 *			exact
 *
 * ANSWER_LOG=FILE gets a line for each command:
 *
 *	PATH OP LBA BLOCKS SIZE-OF-CDB BITS STATUS
 *
 * where BITS are those of byte 1, in hex, and STATUS is "-" if it was refused,
 * and for each nanosleep(2), which takes only a hundredth of its time,
 *
 *	pause MS
 *
 * The sysfs directory of a disk is PATH.sys, if that exists.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "answer/answer.h"

struct disk disks[DISKS];
struct rule rules[RULES];
size_t ndisks, nrules;
int log_fd = -1;
bool changes;

const struct word ops[OPS] = {
	{ "inquiry", INQUIRY }, { "ready", READY }, { "capacity", CAPACITY },
	{ "capacity16", CAPACITY16 }, { "read", READ }, { "write", WRITE },
	{ "same", SAME }, { "sync", SYNC }, { "lbastatus", LBASTATUS },
	{ "other", OTHER }, { "ata", ATA },
};

static void
data_of(struct rule *r, const char *hex)
{
	size_t n = 0;
	char two[3] = "";

	r->has_data = true;
	for (; hex[0] != '\0' && hex[1] != '\0' && n < DATA; hex += 2) {
		memcpy(two, hex, 2);
		r->data[n++] = (unsigned char)strtoul(two, NULL, 16);
	}
}

static void
range_of(struct rule *r, char *value)
{
	char *end;

	r->ranged = true;
	r->first = strtoull(value, &end, 0);
	if (*end != '+')
		die(value, "not FIRST+COUNT");
	r->count = strtoull(end + 1, NULL, 0);
}

static bool
flag_of(struct rule *r, const char *word)
{
	const struct { const char *name; bool *flag; } flags[] = {
		{ "descriptor", &r->descriptor }, { "deferred", &r->deferred },
		{ "ili", &r->ili }, { "done", &r->done },
		{ "renamed", &r->renamed },
	};
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(word, flags[i].name) == 0)
			return *flags[i].flag = true;
	return false;
}

static bool
number_of(struct rule *r, const char *word, const char *value)
{
	const struct { const char *name; unsigned *number; bool *has; } all[] = {
		{ "nth", &r->nth, NULL }, { "times", &r->times, NULL },
		{ "from", &r->from, NULL },
		{ "sleep", &r->ms, NULL }, { "host", &r->host, NULL },
		{ "driver", &r->driver, NULL }, { "cut", &r->cut, NULL },
		{ "status", &r->status, &r->has_status },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(word, all[i].name) == 0) {
			*all[i].number = (unsigned)strtoul(value, NULL, 0);
			if (all[i].has != NULL)
				*all[i].has = true;
			return true;
		}
	return false;
}

static void
word_of(struct rule *r, const char *word, char *value)
{
	if (value == NULL ? flag_of(r, word) : number_of(r, word, value))
		return;
	if (value == NULL)
		die(word, "not a word of ANSWERS");
	else if (strcmp(word, "on") == 0)
		snprintf(r->path, sizeof(r->path), "%s", value);
	else if (strcmp(word, "op") == 0)
		r->ops = bits_of(value, ops, OPS);
	else if (strcmp(word, "at") == 0)
		range_of(r, value);
	else if (strcmp(word, "len") == 0)
		(void)(sscanf(value, "%u-%u", &r->least, &r->most) == 2 ||
		    (die(value, "not LEAST-MOST"), false));
	else if (strcmp(word, "sense") == 0)
		r->has_sense = sscanf(value, "%x/%x/%x", &r->key, &r->asc,
		    &r->ascq) == 3 || (die(value, "not K/A/Q"), false);
	else if (strcmp(word, "info") == 0) {
		r->has_info = true;
		r->info = strtoull(value, NULL, 0);
	} else if (strcmp(word, "resid") == 0) {
		r->has_resid = true;
		r->resid = strtoll(value, NULL, 0);
	} else if (strcmp(word, "data") == 0)
		data_of(r, value);
	else if (strcmp(word, "errno") == 0)
		r->err = atoi(value);
	else if (strcmp(word, "becomes") == 0)
		changes = snprintf(r->becomes, sizeof(r->becomes), "%s", value) > 0;
	else
		die(word, "not a word of ANSWERS");
}

static void
disk_word(struct disk *d, const char *word, const char *value)
{
	const struct { const char *name; uint32_t *number; } all[] = {
		{ "block", &d->block }, { "says", &d->says },
		{ "type", &d->type }, { "most", &d->most },
		{ "same", &d->same }, { "thin", &d->thin },
		{ "native", &d->native }, { "made", &d->made },
	};
	size_t i;

	if (value == NULL)
		die(word, "not a word of a disk");
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(word, all[i].name) == 0) {
			*all[i].number = (uint32_t)strtoul(value, NULL, 0);
			return;
		}
	if (strcmp(word, "blocks") != 0)
		die(word, "not a word of a disk");
	d->blocks = strtoull(value, NULL, 0);
}

int
medium(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die(path, strerror(errno));
	return fd;
}

static void
make_disk(char *path, char *words)
{
	struct disk *d = &disks[ndisks];
	char *word, *value;
	struct stat st;

	if (ndisks == DISKS)
		die(path, "too many disks");
	snprintf(d->path, sizeof(d->path), "%s", path);
	d->fd = medium(path);
	if (fstat(d->fd, &st) != 0)
		die(path, strerror(errno));
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	d->block = 512;
	d->says = UINT32_MAX;
	d->blocks = UINT64_MAX;
	while ((word = strsep(&words, " ")) != NULL) {
		value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		if (*word != '\0')
			disk_word(d, word, value);
	}
	if (d->blocks == UINT64_MAX)
		d->blocks = (uint64_t)st.st_size / d->block;
	if (d->says == UINT32_MAX)
		d->says = d->block;
	ndisks++;		/* from here on it is a node */
}

static void
make_rule(char *words)
{
	struct rule *r = &rules[nrules++];
	char *word, *value;

	if (nrules > RULES)
		die(words, "too many rules");
	while ((word = strsep(&words, " ")) != NULL) {
		value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		if (*word != '\0')
			word_of(r, word, value);
	}
}

__attribute__((constructor)) static void
begin(void)
{
	const char *told = getenv("ANSWERS"), *log = getenv("ANSWER_LOG");
	char *all, *at, *one, *first;

	if (told == NULL || ndisks > 0)
		return;
	if ((at = all = strdup(told)) == NULL)
		die("ANSWERS", "no memory");
	while ((one = strsep(&at, ";")) != NULL) {
		one += strspn(one, " ");
		if (strncmp(one, "disk=", 5) == 0) {
			first = strsep(&one, " ");
			make_disk(first + 5, one);
		} else if (*one != '\0') {
			make_rule(one);
		}
	}
	free(all);
	if (log != NULL)
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, log,
		    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}
