/*
 * What the process gives up for a plan, with a mock kernel: which files it may
 * open, which system calls and capabilities are left.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "end/backend.h"
#include "plan/confine.h"

enum {
	CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446,
	RULES = 16, STATEMENTS = 64,
	READS = 1 << 2, WRITES = 1 << 1, MAKES = 1 << 8, TCP = 3,
	FILES = CONFINED_PRIVILEGES | CONFINED_CAPABILITIES | CONFINED_FILES,
};

#define MIB	(UINT64_C(1) << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

static struct {
	long	 version;		/* of Landlock; 0: none */
	bool	 refuses;		/* rules */
	uint64_t fs, net;		/* what is handled */
	size_t	 size;			/* of what it was told this in */
	struct {
		char	 path[64];
		uint64_t access;
	} rule[RULES];
	unsigned rules;
	bool	 restricted;
	struct sock_filter program[STATEMENTS];
	unsigned statements;		/* 0: no filter */
	uint64_t keeps;			/* capabilities */
} kernel;

static long
refuse(int err)
{
	errno = err;
	return -1;
}

static long
make_rules(const uint64_t *attr, size_t size)
{
	if (attr == NULL)
		return kernel.version > 0 ? kernel.version : refuse(ENOSYS);
	kernel.fs = attr[0];
	kernel.net = size > sizeof(*attr) ? attr[1] : 0;
	kernel.size = size;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static long
add_rule(const unsigned char *attr)
{
	char link[32];
	uint64_t access;
	int32_t fd;

	memcpy(&access, attr, sizeof(access));
	memcpy(&fd, attr + sizeof(access), sizeof(fd));
	if (kernel.refuses)
		return refuse(EINVAL);
	assert_true(kernel.rules < RULES);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, kernel.rule[kernel.rules].path,
	    sizeof(kernel.rule[0].path) - 1) > 0);
	kernel.rule[kernel.rules++].access = access;
	return 0;
}

static long
take_program(const struct sock_fprog *program)
{
	assert_true(program->len <= STATEMENTS);
	memcpy(kernel.program, program->filter,
	    program->len * sizeof(kernel.program[0]));
	kernel.statements = program->len;
	return 0;
}

static void
keep(const struct __user_cap_data_struct *d)
{
	kernel.keeps = d[0].effective | (uint64_t)d[1].effective << 32;
	assert_int_equal(d[0].inheritable | d[1].inheritable, 0);
}

/* In the place of the C library. */
long
syscall(long number, ...)
{
	va_list ap;
	long a, b, c;

	va_start(ap, number);
	a = va_arg(ap, long);
	b = va_arg(ap, long);
	c = number == ADD_RULE || number == SYS_seccomp ? va_arg(ap, long) : 0;
	va_end(ap);
	switch (number) {
	case CREATE_RULESET:
		return make_rules((const uint64_t *)a, (size_t)b);
	case ADD_RULE:
		return add_rule((const unsigned char *)c);
	case RESTRICT_SELF:
		kernel.restricted = true;
		return 0;
	case SYS_seccomp:
		return (unsigned)a == SECCOMP_SET_MODE_FILTER ?
		    take_program((const struct sock_fprog *)c) : 0;
	case SYS_capget:
		memset((void *)b, 0xff, 2 *
		    sizeof(struct __user_cap_data_struct));
		return 0;
	case SYS_capset:
		keep((const struct __user_cap_data_struct *)b);
		return 0;
	}
	return refuse(ENOSYS);
}

int
prctl(int option, ...)
{
	assert_int_equal(option, PR_SET_NO_NEW_PRIVS);
	return 0;
}

/* ---------------------------------------------------------------- the plan */

static const struct backend nothing = { .open = NULL };
static char from[] = "/tmp/pardd-from.XXXXXX", to[] = "/tmp/pardd-to.XXXXXX";
static struct opts o;
static struct endpoint src, dst;
static struct plan p;

static void
make_end(struct endpoint *ep, const char *name, enum role role)
{
	struct stat st = { .st_ino = 0 };

	assert_int_equal(stat(name, &st), 0);
	*ep = (struct endpoint){ .name = name, .be = &nothing, .dir = -1,
		.fd = -1, .kind = END_FILE, .spec.role = role,
		.id = { .file_dev = st.st_dev, .file_ino = st.st_ino } };
}

/* A copy from file to file of so many bytes. */
static void
make(uint64_t length)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.version = 6;
	o = (struct opts){ .wait = -1, .maxtemp = -1 };
	make_end(&src, from, SOURCE);
	make_end(&dst, to, TARGET);
	p = (struct plan){ .opts = &o, .src = &src, .dst = &dst, .targets = 1,
		.length = length };
}

static int
begin(void **state)
{
	int a, b;

	stpcpy(strrchr(from, '.'), ".XXXXXX");
	stpcpy(strrchr(to, '.'), ".XXXXXX");
	a = mkstemp(from);
	b = mkstemp(to);
	if (a < 0 || b < 0 || close(a) != 0 || close(b) != 0)
		return -1;
	make(64 * MIB);
	return 0;
}

static int
end(void **state)
{
	return unlink(from) + unlink(to);
}

EACH(begin, end)

#ifdef SANITIZED
/* It writes its reports, and runs programs. */
CASE(keeps_all_rights_with_a_sanitizer)
{
	assert_int_equal(confine(&p), 0);
	assert_int_equal(confine_look(&p), 0);
	assert_false(kernel.restricted);
	assert_int_equal(kernel.statements, 0);
}
#else
/* What may be done with a path; 0: there is no rule for it. */
static uint64_t
allowed(const char *path)
{
	uint64_t access = 0;
	unsigned i;

	for (i = 0; i < kernel.rules; i++)
		if (strcmp(kernel.rule[i].path, path) == 0)
			access |= kernel.rule[i].access;
	return access;
}

/* ------------------------------------------------------------------- files */

static unsigned
descriptors(void)
{
	unsigned n = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

CASE(may_open_its_ends_and_no_other_file)
{
	unsigned before = descriptors();

	assert_int_equal(confine(&p) & FILES, FILES);
	assert_true(kernel.restricted);
	assert_int_equal(kernel.rules, 2);
	assert_int_equal(allowed(from) & (READS | WRITES), READS);
	assert_int_equal(allowed(to) & (READS | WRITES), READS | WRITES);
	assert_int_equal(descriptors(), before);
}

CASE(may_make_its_outputs)
{
	unsigned before = descriptors();

	o.map = "/tmp/m";
	o.domain = from;
	dst.is.absent = true;
	dst.dir = open("/var", O_PATH | O_CLOEXEC);
	assert_int_equal(confine(&p) & FILES, FILES);
	assert_true((allowed("/tmp") & MAKES) != 0);
	assert_true((allowed("/var") & MAKES) != 0);
	assert_int_equal(allowed(to), 0);
	close(dst.dir);
	assert_int_equal(descriptors(), before);
}

/* Disks, threads and a disk that is waited for are looked up. */
CASE(may_look_up_what_it_asks_for)
{
	confine(&p);
	assert_int_equal(allowed("/proc") | allowed("/sys") | allowed("/dev"),
	    0);
	make(MIB);
	o.control = "/tmp/socket";
	confine(&p);
	assert_true(allowed("/proc") != 0);
	assert_int_equal(allowed("/sys"), 0);
	make(MIB);
	o.maxtemp = 50;
	confine(&p);
	assert_true(allowed("/proc") != 0 && allowed("/sys") != 0);
	assert_int_equal(allowed("/dev"), 0);
	make(MIB);
	o.wait = 0;
	confine(&p);
	assert_true(allowed("/proc") != 0 && allowed("/sys") != 0);
	assert_true((allowed("/dev") & WRITES) != 0);
}

/* The command of ongone= may do what its user may. */
CASE(keeps_all_rights_for_a_command)
{
	o.ongone = "true";
	assert_int_equal(confine(&p), 0);
	assert_false(kernel.restricted);
	assert_int_equal(kernel.statements, 0);
	assert_int_equal(kernel.keeps, 0);
}

/* Each version of Landlock is told of what it knows, and of nothing else. */
CASE(asks_for_what_the_kernel_knows)
{
	const uint64_t first = (1 << 13) - 1, refer = 1 << 13,
	    truncate = 1 << 14;
	static const uint64_t net[] = { 0, 0, 0, 0, TCP, TCP };
	long v;

	for (v = 1; v <= 5; v++) {
		make(MIB);
		kernel.version = v;
		assert_true((confine(&p) & CONFINED_FILES) != 0);
		assert_int_equal(kernel.fs, first | (v >= 2 ? refer : 0) |
		    (v >= 3 ? truncate : 0));
		assert_int_equal(kernel.net, net[v]);
		assert_int_equal(kernel.size, v >= 4 ? 16 : 8);
	}
	make(MIB);
	src.kind = END_NBD;		/* it may connect again */
	confine(&p);
	assert_int_equal(kernel.net, 0);
	make(MIB);
	kernel.version = 0;
	assert_int_equal(confine(&p) & CONFINED_FILES, 0);
	make(MIB);
	kernel.refuses = true;
	assert_int_equal(confine(&p) & CONFINED_FILES, 0);
	assert_false(kernel.restricted);
}

/* ------------------------------------------------------------ system calls */

#if defined(__x86_64__) || defined(__aarch64__)
#define FILTERED
/* What the program says of a system call. */
static uint32_t
answer(uint32_t arch, uint32_t number)
{
	const struct sock_filter *s = kernel.program;
	uint32_t a = 0;
	unsigned n = 0;

	for (; s < kernel.program + kernel.statements; s++, n++) {
		if (s->code == (BPF_LD | BPF_W | BPF_ABS))
			a = s->k == offsetof(struct seccomp_data, nr) ?
			    number : arch;
		else if (s->code == (BPF_JMP | BPF_JEQ | BPF_K))
			s += a == s->k ? s->jt : s->jf;
		else if (s->code == (BPF_JMP | BPF_JGE | BPF_K))
			s += a >= s->k ? s->jt : s->jf;
		else if (s->code == (BPF_RET | BPF_K))
			return s->k;
	}
	fail_msg("the program has no end");
	return 0;
}

/* The architecture that the program is for. */
static uint32_t
ours(void)
{
	return kernel.program[1].k;
}

static bool
passes(long number)
{
	return answer(ours(), (uint32_t)number) == SECCOMP_RET_ALLOW;
}

CASE(runs_no_program_and_connects_to_nobody)
{
	assert_int_equal(confine(&p) & CONFINED_CALLS, CONFINED_CALLS);
	assert_true(passes(SYS_read) && passes(SYS_openat));
	assert_false(passes(SYS_execve));
	assert_false(passes(SYS_keyctl));
	assert_false(passes(SYS_socket) || passes(SYS_listen));
	assert_true(answer(ours() + 1, SYS_read) != SECCOMP_RET_ALLOW);
#ifdef __x86_64__
	assert_false(passes(0x40000000 | SYS_read));
#endif
}

/* A server, or who is asked by control=, needs connections. */
CASE(connects_where_it_has_to)
{
	int i;

	for (i = 0; i < 3; i++) {
		make(64 * MIB);
		src.kind = i == 0 ? END_NBD : END_FILE;
		dst.kind = i == 1 ? END_NBD : END_FILE;
		o.control = i == 2 ? "/tmp/socket" : NULL;
		assert_int_equal(confine(&p) & CONFINED_CALLS, CONFINED_CALLS);
		assert_true(passes(SYS_connect) && passes(SYS_listen));
		assert_false(passes(SYS_execve) || passes(SYS_ptrace));
	}
}

/* All but a small copy of files without a map. */
CASE(filters_what_takes_time)
{
	static const struct {
		uint64_t length;
		bool	 device, map, filtered;
	} row[] = {
		{ 16 * MIB, false, false, false },
		{ 16 * MIB + 1, false, false, true },
		{ MIB, true, false, true }, { MIB, false, true, true },
	};

	EACH_OF(i, row) {
		make(row[i].length);
		src.is.device = row[i].device;
		o.map = row[i].map ? "/tmp/m" : NULL;
		assert_int_equal((confine(&p) & CONFINED_CALLS) != 0,
		    row[i].filtered);
		assert_int_equal(kernel.statements > 0, row[i].filtered);
		assert_int_equal((confine_look(&p) & CONFINED_CALLS) != 0,
		    row[i].filtered);
	}
}

#endif

/* ------------------------------------------------------------ capabilities */

CASE(keeps_the_capabilities_that_it_needs)
{
	const uint64_t files = 1 << CAP_DAC_OVERRIDE | 1 << CAP_SYS_RESOURCE |
	    1 << CAP_IPC_LOCK, disks = 1 << CAP_SYS_RAWIO |
	    1 << CAP_SYS_ADMIN, priority = 1 << CAP_SYS_NICE |
	    1 << CAP_SYS_ADMIN;

	confine(&p);
	assert_int_equal(kernel.keeps, files);
	o.oflag = FLAG_NOATIME;
	confine(&p);
	assert_int_equal(kernel.keeps, files | 1 << CAP_FOWNER);
	make(MIB);
	o.control = "/tmp/socket";
	confine(&p);
	assert_int_equal(kernel.keeps, files | priority);
	make(MIB);
	dst.is.device = true;
	confine(&p);
	assert_int_equal(kernel.keeps, files | disks);
	make(MIB);
	o.wait = 0;
	confine(&p);
	assert_int_equal(kernel.keeps, files | disks);
}
#endif
