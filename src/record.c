/*
 * The records of a run, at the four times when there is something to do for
 * them: before the copy, when it begins, when it is over, at the end.
 */
#include "record.h"

#include "hashfile.h"
#include "profile.h"

int
record_open(struct record *r, struct plan *p, struct fault *f)
{
	if (hash_open(&r->hash, p->opts, f) != 0)
		return -1;
	r->profile.dir = -1;
	if (newfile_open(&r->hashfile, "hashfile", p->opts->hashfile, p,
	    f) != 0 || newfile_open(&r->profile, "profile",
	    p->opts->profile, p, f) != 0) {
		record_close(r);
		return -1;
	}
	p->hash = r->hash;
	return 0;
}

int
record_start(struct record *r, struct fault *f)
{
	return hash_start(r->hash, f);
}

void
record_finish(struct record *r, const struct plan *p, struct outcome *out)
{
	struct fault f = { .status = 0 };

	hash_finish(r->hash, p, out);
	hashfile_write(&r->hashfile, p, out, &out->record);
	profile_write(out->profile, &r->profile, out->tally.seconds, &f);
	if (out->record.status == 0)
		out->record = f;
}

void
record_leave(struct record *r)
{
	r->hash = NULL;
}

void
record_close(struct record *r)
{
	newfile_close(&r->profile);
	newfile_close(&r->hashfile);
	hash_close(r->hash);
}
