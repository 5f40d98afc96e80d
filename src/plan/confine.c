/*
 * A disk, an image or a server may be crafted to attack its reader.  So once
 * the plan is made and its ends are open, the process gives up what it no
 * longer needs, for good, and for all threads, which are started later:
 *
 *	no_new_privs	no program that it might run gains rights
 *	capabilities	all are dropped except those that its ends need
 *	Landlock	no file is opened except the ends, their entries in
 *			/proc and /sys, and where files are still created
 *	seccomp		no program is run, no connection made, no other
 *			process inspected
 *
 * seccomp takes 55 us, a twentieth of a small copy, and the others 20 together
 * (Linux 6.18, tmpfs); so a small copy of files goes without it.  Landlock also
 * prevents running programs, and since Linux 6.7 TCP connections.
 *
 * What a kernel lacks is left out.  What a virtual file (as in /proc) shows
 * depends on the rights of its reader, so with such an end all rights are kept,
 * except that no program gains any.  With wait= any disk may be opened, because
 * one of them is expected.  An end on another machine keeps its connections,
 * and with wait= its files, to make new ones.  With view= there is no Landlock,
 * which would not let it be unmounted.  With ongone= all rights are
 * kept, for its command.  So are those of a program built with a sanitizer,
 * which writes reports to files and runs a symbolizer.
 */
#include "plan/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "cli/opts.h"
#include "disk/stack.h"
#include "end/endpoint.h"

enum {				/* linux/landlock.h of Linux 6.7, complete */
	CREATE_RULESET = 444,	/* the same on all architectures */
	ADD_RULE = 445,
	RESTRICT_SELF = 446,
	ASK_VERSION = 1,
	RULE_PATH = 1,

	FS_WRITE = 1 << 1,
	FS_READ = 1 << 2,
	FS_LIST = 1 << 3,
	FS_REMOVE = 1 << 5,
	FS_MAKE_FILE = 1 << 8,
	FS_MAKE_SOCKET = 1 << 9,
	FS_REFER = 1 << 13,
	FS_TRUNCATE = 1 << 14,
	FS_FIRST = (1 << 13) - 1,	/* all of version 1 */

	NET_TCP = 3,		/* bind, connect */

	FILE_RIGHTS = FS_WRITE | FS_READ | FS_TRUNCATE,
	DIRECTORY = FILE_RIGHTS | FS_LIST | FS_REMOVE | FS_MAKE_FILE |
	    FS_MAKE_SOCKET,
};

struct ruleset_attr {
	uint64_t	fs, net;
};

struct path_attr {
	uint64_t	access;
	int32_t		fd;
} __attribute__((packed));

struct ruleset {
	int		 fd;
	uint64_t	 handled;
	bool		 failed;	/* a rule could not be added */
};

/* The command of ongone= needs all rights of the user. */
static bool
free_to_act(const struct plan *p)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)p;
	return true;
#else
	return p->opts->ongone != NULL;
#endif
}

/*
 * A virtual file (as in /proc), not a server: with fewer rights it reads as
 * less, or as zeros, without an error.
 */
static bool
by_kernel(const struct endpoint *ep)
{
	unsigned long type = (unsigned long)ep->fs.f_type;

	return ep->kind == END_STREAM && type != 0 &&
	    (ep->spec.flags & FLAG_APPEND) == 0 &&
	    type != FUSE_SUPER_MAGIC && type != V9FS_MAGIC;
}

/* An address, as of another machine: it connects again if necessary. */
static bool
confine_distant(const struct endpoint *ep)
{
	switch (ep->kind) {
#define ADDRESS(kind, ...)	case kind:
#include "end/kinds.def"
		return true;
	default:
		return false;
	}
}

static bool
confine_device(const struct endpoint *ep)
{
	return ep->is.device;
}

/* At the end loop devices and the device mapper are asked what lies below. */
static bool
confine_stacked(const struct endpoint *ep)
{
	return ep->is.device && stack_any(ep->id.node);
}

/* Whether something is so of any end of the copy. */
static bool
confine_any(const struct plan *p, bool (*is)(const struct endpoint *))
{
	const struct plan *one;
	bool any = is(p->src);
	unsigned i;

	for (i = 0; !any && (one = plan_each(p, i)) != NULL; i++)
		any = is(one->dst);
	return any;
}

/*
 * The connection to a server needs its keys again, or a command is started
 * again.
 */
static bool
confine_reconnects(const struct plan *p)
{
	return p->opts->wait >= 0 && confine_any(p, confine_distant);
}

/* --- files -------------------------------------------------------------- */

static void
ruleset_allow(struct ruleset *r, int fd, uint64_t access)
{
	struct path_attr a = { .access = access & r->handled, .fd = fd };

	if (fd < 0 || syscall(ADD_RULE, r->fd, RULE_PATH, &a, 0) != 0)
		r->failed = true;
}

static void
allow_path(struct ruleset *r, const char *path, uint64_t access)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return;
	ruleset_allow(r, fd, access);
	if (fd >= 0)
		close(fd);
}

/* Allow the directory of a file, where its next version is created. */
static void
allow_dir(struct ruleset *r, const char *path)
{
	const char *base;
	int fd;

	if (path == NULL)
		return;
	fd = path_dir(path, O_PATH, &base);
	ruleset_allow(r, fd, DIRECTORY);
	if (fd >= 0)
		close(fd);
}

/* Open what the end opened, even if its name leads elsewhere by now. */
static int
confine_open_end(const struct endpoint *ep)
{
	int fd = open(ep->name, O_PATH | O_CLOEXEC);
	bool cached;

	if (fd >= 0 && endpoint_is(ep, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return endpoint_viewable(ep) && !ep->is.probed ?
	    endpoint_view(ep, &cached) : -1;
}

static void
allow_end(struct ruleset *r, const struct endpoint *ep)
{
	uint64_t access = ep->spec.role == SOURCE && ep->kind != END_SCSI ?
	    FS_READ : FILE_RIGHTS;
	int fd;

	if (ep->is.absent)		/* a file yet to be created */
		ruleset_allow(r, ep->dir, DIRECTORY);
	if (ep->is.absent || !endpoint_holds(ep) || ep->kind == END_STREAM ||
	    confine_distant(ep))
		return;
	if (ep->is.inherited) {
		ruleset_allow(r, ep->fd, access);
		return;
	}
	fd = confine_open_end(ep);
	ruleset_allow(r, fd, access);
	if (fd >= 0)
		close(fd);
}

/* Disks are described by /proc and /sys, threads by /proc. */
static void
allow_known(struct ruleset *r, const struct plan *p)
{
	if (p->opts->control != NULL)
		allow_path(r, "/proc", FS_READ | FS_LIST);
	if (confine_any(p, confine_device) || p->opts->wait >= 0 ||
	    p->opts->maxtemp >= 0) {
		allow_path(r, "/proc", FS_READ | FS_LIST);
		allow_path(r, "/sys", FS_READ | FS_LIST);
	}
	if (p->opts->wait >= 0)
		allow_path(r, "/dev", FS_READ | FS_WRITE | FS_LIST);
	else if (p->opened || confine_any(p, confine_stacked))
		allow_path(r, "/dev", FS_READ);
}

static void
allow_outputs(struct ruleset *r, const struct opts *o)
{
	const char *const paths[] = { o->map, o->hashfile, o->manifest,
		o->usedmap, o->profile, o->report, o->control };
	time_t now = 0;
	struct tm tm;
	size_t i;

	for (i = 0; i < COUNT(paths); i++)
		allow_dir(r, paths[i]);
	if (o->domain != NULL)
		allow_path(r, o->domain, FS_READ);
	if (o->map != NULL || o->report != NULL)
		localtime_r(&now, &tm);	/* reads its file, once */
}

static long
landlock_version(void)
{
	return syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
}

static bool
confine_files(const struct plan *p)
{
	long version = landlock_version();
	struct ruleset_attr a = { .fs = FS_FIRST };
	const struct plan *one;
	struct ruleset r;
	unsigned i;
	bool done;

	if (version < 1)
		return false;
	a.fs |= version >= 2 ? FS_REFER : 0;
	a.fs |= version >= 3 ? FS_TRUNCATE : 0;
	a.net = version >= 4 && !confine_any(p, confine_distant) ? NET_TCP : 0;
	r = (struct ruleset){ .handled = a.fs,
		.fd = (int)syscall(CREATE_RULESET, &a, version >= 4 ?
		sizeof(a) : sizeof(a.fs), 0) };
	if (r.fd < 0)
		return false;
	allow_end(&r, p->src);
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		allow_end(&r, one->dst);
	allow_known(&r, p);
	allow_outputs(&r, p->opts);
	done = !r.failed && syscall(RESTRICT_SELF, r.fd, 0) == 0;
	close(r.fd);
	return done;
}

/* --- system calls ------------------------------------------------------- */

#if defined(__x86_64__)
#define MACHINE	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE	AUDIT_ARCH_AARCH64
#else
#define MACHINE	0		/* unknown here: no filter */
#endif

/* Always refused, but for the first, which view= needs. */
static const int never[] = { SYS_umount2, SYS_execve, SYS_execveat, SYS_ptrace,
	SYS_process_vm_readv, SYS_process_vm_writev, SYS_open_by_handle_at,
	SYS_mount, SYS_pivot_root, SYS_chroot, SYS_setns,
	SYS_unshare, SYS_init_module, SYS_finit_module, SYS_delete_module,
	SYS_kexec_load, SYS_bpf, SYS_perf_event_open, SYS_keyctl };

/* Refused unless a server or control= needs them. */
static const int network[] = { SYS_socket, SYS_connect, SYS_bind,
	SYS_listen };

enum {
	PROGRAM = 8 + COUNT(never) + COUNT(network),
	SMALL = 16 << 20,	/* bytes */
};

static struct sock_filter
filter_statement(unsigned code, uint32_t k)
{
	return (struct sock_filter){ (uint16_t)code, 0, 0, k };
}

/* A jump: skip "yes" statements if the comparison with k holds. */
static struct sock_filter
filter_branch(unsigned code, uint32_t k, unsigned yes)
{
	return (struct sock_filter){ (uint16_t)(BPF_JMP | code | BPF_K),
		(uint8_t)yes, 0, k };
}

/* Each number jumps to the last statement, which refuses. */
static unsigned
filter_build(struct sock_filter *f, bool quiet, bool mounts)
{
	unsigned n = 0, i = mounts, all = COUNT(never) + (quiet ?
	    COUNT(network) : 0);

	f[n++] = filter_statement(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, arch));
	f[n++] = filter_branch(BPF_JEQ, MACHINE, 1);
	f[n++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	f[n++] = filter_statement(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	f[n++] = filter_branch(BPF_JGE, 0x40000000, all - i + 1); /* x32 */
#endif
	for (; i < all; i++)
		f[n++] = filter_branch(BPF_JEQ, (uint32_t)(i < COUNT(never) ?
		    never[i] : network[i - COUNT(never)]), all - i);
	f[n++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	return n;
}

static bool
has_filters(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return MACHINE != 0 && syscall(SYS_seccomp,
	    SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Whether the copy is long enough for seccomp. */
static bool
takes_time(const struct plan *p)
{
	return confine_any(p, confine_device) || p->length > SMALL ||
	    p->opts->map != NULL;
}

static bool
confine_calls(const struct plan *p)
{
	struct sock_filter f[PROGRAM];
	struct sock_fprog program = { .filter = f };

	if (MACHINE == 0 || !takes_time(p))
		return false;
	program.len = (unsigned short)filter_build(f, p->opts->control ==
	    NULL && !confine_any(p, confine_distant), p->opts->view != NULL);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

/* --- capabilities ------------------------------------------------------- */

static uint64_t
capability_bit(unsigned capability)
{
	return UINT64_C(1) << capability;
}

/*
 * The capabilities of root that are needed: to open files of others, to use
 * blocks reserved for root, and to send commands to disks.
 */
static uint64_t
confine_needed(const struct plan *p)
{
	uint64_t keep = capability_bit(CAP_DAC_OVERRIDE) |
	    capability_bit(CAP_SYS_RESOURCE) | capability_bit(CAP_IPC_LOCK);

	if (((p->opts->iflag | p->opts->oflag) & FLAG_NOATIME) != 0)
		keep |= capability_bit(CAP_FOWNER);
	if (confine_any(p, confine_device) || p->opts->wait >= 0)
		keep |= capability_bit(CAP_SYS_RAWIO) |
		    capability_bit(CAP_SYS_ADMIN);
	if (p->opts->view != NULL)
		keep |= capability_bit(CAP_SYS_ADMIN);
	if (p->opts->control != NULL)
		keep |= capability_bit(CAP_SYS_NICE) |
		    capability_bit(CAP_SYS_ADMIN);
	return keep;
}

static bool
confine_capabilities(const struct plan *p)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];
	uint64_t keep = confine_needed(p);
	unsigned i;

	if (syscall(SYS_capget, &h, d) != 0)
		return false;
	for (i = 0; i < 2; i++) {
		d[i].permitted &= (uint32_t)(keep >> 32 * i);
		d[i].effective &= d[i].permitted;
		d[i].inheritable = 0;
	}
	return syscall(SYS_capset, &h, d) == 0;
}

/* ------------------------------------------------------------------------ */

unsigned
confine(const struct plan *p)
{
	unsigned holds = 0;

	if (free_to_act(p) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return 0;
	holds |= CONFINED_PRIVILEGES;
	if (confine_any(p, by_kernel))
		return holds;
	holds |= confine_capabilities(p) ? CONFINED_CAPABILITIES : 0;
	if (confine_reconnects(p))
		return holds;
	if (p->opts->view == NULL)
		holds |= confine_files(p) ? CONFINED_FILES : 0;
	holds |= confine_calls(p) ? CONFINED_CALLS : 0;
	return holds;
}

unsigned
confine_look(const struct plan *p)
{
	if (free_to_act(p))
		return 0;
	if (confine_any(p, by_kernel))
		return CONFINED_PRIVILEGES;
	if (confine_reconnects(p))
		return CONFINED_PRIVILEGES | CONFINED_CAPABILITIES;
	return CONFINED_PRIVILEGES | CONFINED_CAPABILITIES |
	    (p->opts->view == NULL && landlock_version() >= 1 ?
	    CONFINED_FILES : 0) |
	    (takes_time(p) && has_filters() ? CONFINED_CALLS : 0);
}

const char *
confine_word(unsigned i, unsigned holds)
{
	static const struct { unsigned bit; const char *word; } all[] = {
		{ CONFINED_PRIVILEGES, "no_new_privs" },
		{ CONFINED_CAPABILITIES, "capabilities" },
		{ CONFINED_FILES, "landlock" },
		{ CONFINED_CALLS, "seccomp" },
	};
	unsigned at;

	for (at = 0; at < COUNT(all); at++)
		if ((holds & all[at].bit) != 0 && i-- == 0)
			return all[at].word;
	return NULL;
}
