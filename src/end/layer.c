/*
 * Ends that are files on an overlay.  In a layer, the same bytes have another
 * name, identity, and locks.
 *
 * The layer's file of a target is opened at once, because the lock and several
 * checks need it.  That of a source is looked up when needed, which is never
 * between two files of one overlay.
 */
#include "end/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/path.h"
#include "disk/overlay.h"
#include "disk/sysfs.h"

/* Look up the file of an end, or the directory of one yet to be created. */
static bool
layer_look_up(const struct endpoint *ep, struct overlaid *o, char *path)
{
	struct located l = endpoint_located(ep);
	struct stat st;

	if (ep->is.absent && fstat(ep->dir, &st) == 0)
		l = (struct located){ ep->dir, "", st.st_dev, st.st_ino };
	return overlay_file(&l, ep->spec.role == TARGET, o, path);
}

/* Separate from layer_open because a name needs much stack. */
static int
open_below(struct endpoint *ep, bool look, struct fault *f)
{
	struct overlaid o;
	char path[PATH_MAX];
	struct stat st;
	int found, err;
	bool is = layer_look_up(ep, &o, path);

	errno = o.err;
	if (is) {
		found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (found >= 0 && fstat(found, &st) == 0 &&
		    same_file(&st, &o.st))
			ep->layer = reopen(found, path,
			    look ? O_RDONLY : O_WRONLY);
		err = errno;
		if (found >= 0)
			close(found);
		errno = err;
	}
	err = ep->layer < 0 ? sysfs_unasked(errno) : 0;
	ep->is.unflushable = o.fleeting;
	return err == 0 ? 0 : fault_errno(f, err, "%s: its file in a layer of "
	    "the overlay", ep->name);
}

int
layer_open(struct endpoint *ep, bool look, struct fault *f)
{
	return ep->spec.role == TARGET && endpoint_overlaid(ep) ?
	    open_below(ep, look, f) : 0;
}

struct located
endpoint_located(const struct endpoint *ep)
{
	return (struct located){
		.directory = ep->is.inherited ? ep->fd : AT_FDCWD,
		.name = ep->is.inherited ? "" : ep->name,
		.dev = ep->id.dev, .ino = ep->id.ino };
}

bool
endpoint_layer(const struct endpoint *ep, struct stat *st)
{
	struct overlaid o;
	bool is;

	errno = 0;
	if (ep->spec.role == TARGET || !endpoint_overlaid(ep))
		return ep->layer >= 0 && fstat(ep->layer, st) == 0;
	is = layer_look_up(ep, &o, NULL);
	if (is)
		*st = o.st;
	errno = o.err;
	return is;
}

bool
endpoint_layered(const struct endpoint *ep, const struct located *l)
{
	struct stat end = { .st_dev = ep->id.dev, .st_ino = ep->id.ino };
	struct overlaid o = { .st = { .st_dev = l->dev, .st_ino = l->ino } };

	errno = 0;
	if (ep->is.device || !ep->id.known || l->dev == ep->id.dev)
		return false;
	if (!endpoint_layer(ep, &end) && errno != 0)
		return false;
	(void)overlay_file(l, false, &o, NULL);
	errno = o.err;
	return same_file(&end, &o.st);
}
