/*
 * Operations on an open end: each calls the backend, or defines here what a
 * missing function means.  For opening see endpoint_open.c.
 */
#include "end/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"
#include "disk/disk.h"
#include "end/backend.h"

bool
endpoint_disk(const struct endpoint *ep, struct disk *d)
{
	if (ep->carrier != NULL)
		ep = ep->carrier;
	if (ep->be->disk != NULL) {
		ep->be->disk(ep, d);
		return true;
	}
	if (!ep->is.device || !ep->id.known)
		return false;
	if (ep->id.ino == 0)
		return disk_of_block(ep->id.dev, d);
	return disk_of_char(ep->id.node, d);
}

bool
endpoint_is(const struct endpoint *ep, int fd)
{
	struct located l = { .directory = fd, .name = "" };
	struct stat st;

	errno = 0;
	if (ep->be == &null_backend || ep->id.file_ino == 0 ||
	    fstat(fd, &st) != 0)
		return false;
	l.dev = st.st_dev;
	l.ino = st.st_ino;
	if (S_ISBLK(st.st_mode) && ep->is.device && ep->id.known &&
	    ep->id.dev == st.st_rdev)
		return true;
	return (st.st_dev == ep->id.file_dev &&
	    st.st_ino == ep->id.file_ino) ||
	    (S_ISREG(st.st_mode) && endpoint_layered(ep, &l));
}

int
endpoint_look(const struct endpoint *ep, struct fault *f)
{
	int denied = 0;

	if (ep->is.absent)
		denied = faccessat(ep->dir, ".", W_OK | X_OK, AT_EACCESS);
	else if (ep->spec.role == TARGET && ep->is.device &&
	    !ep->is.inherited && !ep->is.remote)
		denied = faccessat(AT_FDCWD, ep->name, W_OK, AT_EACCESS);
	return denied == 0 ? 0 : fault_found(f, ep);
}

static int
endpoint_create(struct endpoint *ep, mode_t mode, struct fault *f)
{
	ep->fd = openat(ep->dir, path_base(ep->name), O_RDWR | O_CREAT |
	    O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (ep->fd < 0)
		return fault_found(f, ep);
	ep->is.linked = true;
	return 0;
}

/* Remove what was created, unless it is refused because another has it. */
static void
endpoint_uncreate(struct endpoint *ep, int status)
{
	struct flock held = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st, now;

	if (status == STATUS_REFUSED && (fcntl(ep->fd, F_OFD_GETLK,
	    &held) != 0 || held.l_type != F_UNLCK))
		return;
	if (fstat(ep->fd, &st) == 0 && fstatat(ep->dir, path_base(ep->name),
	    &now, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&st, &now))
		unlinkat(ep->dir, path_base(ep->name), 0);
	ep->is.linked = false;
}

/* It is opened by its name, which the umask may forbid its owner. */
static int
endpoint_prepare_new(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct stat st;
	bool opened = fstat(ep->fd, &st) == 0 &&
	    (st.st_mode & 0600) != 0600 &&
	    fchmod(ep->fd, (st.st_mode & 07777) | 0600) == 0;
	int failed = ep->be->prepare(ep, length, f);

	if (opened)
		fchmod(ep->fd, st.st_mode & 07777);
	if (failed != 0)
		endpoint_uncreate(ep, f->status);
	return failed;
}

int
endpoint_prepare(struct endpoint *ep, mode_t mode, int64_t length,
    struct fault *f)
{
	int failed;

	if (ep->be->prepare == NULL)
		return 0;
	if (!ep->is.absent)
		return ep->be->prepare(ep, length, f);
	if (endpoint_create(ep, mode, f) != 0)
		return -1;
	failed = endpoint_prepare_new(ep, length, f);
	close(ep->fd);
	ep->fd = -1;
	return failed;
}

int
endpoint_flush(struct endpoint *ep, struct fault *f)
{
	int err;

	if (ep->is.unflushable && !ep->is.remote && ep->spec.sync)
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: it is on an "
		    "overlay that was mounted volatile, and cannot be flushed "
		    "(sync=0 does without)", ep->name);
	if (ep->be->flush != NULL && ep->be->flush(ep, f) != 0)
		return -1;
	err = ep->dir < 0 ? 0 : flush_fd(fsync, ep->dir, ep->spec.timeout);
	return err == 0 || err == EINVAL ? 0 :	/* no flush needed there */
	    fault_errno(f, err, "%s: flushing its directory", ep->name);
}

unsigned
endpoint_writers(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from)
{
	return ep->be->writers(ep, from, to, src, src_from);
}

int
endpoint_check_range(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f)
{
	return ep->be->check_range == NULL ? 0 :
	    ep->be->check_range(ep, from, to, src, src_from, f);
}

const struct kind_words *
endpoint_kind(const struct endpoint *ep)
{
	static const struct kind_words kinds[] = {
#define KIND(kind, words, word)	[kind] = { words, word },
#define ADDRESS(kind, name, library, words, word, ...) \
	[kind] = { words, word },
#include "end/kinds.def"
	};

	return &kinds[ep->kind];
}

unsigned
endpoint_inside(const struct endpoint *ep)
{
	unsigned holds = ep->holds == NULL ? 0 : *ep->holds;

	return holds % 2 != 0 ? holds : 0;
}

int
endpoint_extend(struct endpoint *ep, uint64_t length)
{
	return ep->be->extend == NULL ? 0 : ep->be->extend(ep, length);
}

int
endpoint_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t holes, struct fault *f)
{
	if (ep->be->check_kept == NULL ||
	    ep->be->check_kept(ep, from, to, holes, f) == 0)
		return 0;
	if (f->by == TOLD_ONCE)
		f->by = TOLD_OF_TARGET;
	return -1;
}

int
endpoint_written(const struct endpoint *ep, struct timespec *t)
{
	return ep->be->written == NULL ? EOPNOTSUPP : ep->be->written(ep, t);
}

void
endpoint_drop_cache(struct endpoint *ep, uint64_t off, uint64_t len)
{
	if (ep->be->drop_cache != NULL)
		ep->be->drop_cache(ep, off, len);
}

int
endpoint_extent(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	return ep->be->extent == NULL ? EOPNOTSUPP :
	    ep->be->extent(ep, off, false, x);
}

int
endpoint_changed(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	return ep->be->extent == NULL ||
	    (ep->spec.bitmap == NULL && ep->spec.since == NULL) ? EOPNOTSUPP :
	    ep->be->extent(ep, off, true, x);
}

bool
endpoint_viewable(const struct endpoint *ep)
{
	return ep->be->view != NULL || ep->is.probed;
}

int
endpoint_view(const struct endpoint *ep, bool *cached)
{
	return ep->be->view(ep, cached);
}

bool
endpoint_readable_back(const struct endpoint *ep)
{
	return ep->be->open_readback != NULL;
}

int
endpoint_close(struct endpoint *ep)
{
	int err;

	if (ep->be->note != NULL) {
		ep->be->note(ep, ep->said, sizeof(ep->said));
		ep->noted = true;	/* the close may never return */
	}
	err = ep->be->close == NULL ? 0 : ep->be->close(ep);
	ep->noted = true;
	if (ep->dir >= 0)
		close(ep->dir);
	if (ep->layer >= 0)
		close(ep->layer);
	return err;
}
