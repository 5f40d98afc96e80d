/*
 * Waiting for a source that has disappeared, on a mock machine, by a clock that
 * only waiting advances; and the command of ongone=, a real one.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "../tools/preload.h"
#include "base/signals.h"
#include "disks.h"
#define POOR_OF_ALL
#include "poor.h"
#include "record/events.h"
#include "run/reattach.h"
#include "said.h"

/* ------------------------------------------------------------- made up, too */

static struct {
	uint64_t ms;		/* by the clock */
	unsigned brief;		/* ms that a brief wait takes by it */
} now;

int
clock_gettime(clockid_t id, struct timespec *t)
{
	*t = (struct timespec){ .tv_sec = (time_t)(1 + now.ms / 1000),
		.tv_nsec = (long)(now.ms % 1000 * 1000000) };
	return 0;
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	const struct timespec none = { 0, 0 }, tick = { 0, 5000000 };
	int got = (int)syscall(SYS_ppoll, p, n, ms >= 1000 ? &none : &tick,
	    NULL, 0);

	if (got == 0)
		now.ms += ms >= 1000 ? (unsigned)ms : now.brief;
	return got;
}

static const char *failing;	/* one of these calls */

#define FAILING(name, params, args)					\
int									\
name params								\
{									\
	REAL(real, name);						\
	return failing != NULL && strcmp(failing, #name) == 0 ?		\
	    ENOMEM : real args;						\
}

FAILING(posix_spawn_file_actions_init, (posix_spawn_file_actions_t *x), (x))
FAILING(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t *x, int from,
    int to), (x, from, to))
FAILING(posix_spawnattr_init, (posix_spawnattr_t *x), (x))
FAILING(posix_spawnattr_setflags, (posix_spawnattr_t *x, short flags),
    (x, flags))
FAILING(posix_spawnattr_setsigmask, (posix_spawnattr_t *restrict x,
    const sigset_t *restrict s), (x, s))

static struct opts o;
static struct plan p;
static struct endpoint dst;
static struct outcome out;
static struct events ev;
static struct reattach a;
static struct signals signals;
static int sent;		/* the other end of it */

static int
begin(void **state)
{
	int fd[2];

	if (world_begin(state) != 0 || pipe2(fd, O_CLOEXEC | O_NONBLOCK) != 0)
		return -1;
	signals.fd = fd[0];
	sent = fd[1];
	now.ms = 0;
	now.brief = 1;
	failing = NULL;
	two_disks();
	has("/sys/block/sda/serial", "S1\n");
	has("/sys/block/sdb/serial", "S2\n");
	set_end(SDA);
	dst = (struct endpoint){ .be = &backend, .name = "there", .fd = -1,
		.dir = -1 };
	o = (struct opts){ .wait = 2 };
	p = (struct plan){ .opts = &o, .src = &end, .dst = &dst,
		.targets = 1, .bs = 512 };
	memset(&out, 0, sizeof(out));
	strcpy(out.fault.text, "it: gone");
	out.gone_at = 4096;
	memset(&ev, 0, sizeof(ev));
	ev.json.fd = ev.log.fd = -1;
	return 0;
}

static int
finish(void **state)
{
	close(signals.fd);
	close(sent);
	return world_end(state);
}

EACH(begin, finish)

static void
signal_came(int signo)
{
	struct signalfd_siginfo si = { .ssi_signo = (uint32_t)signo };

	assert_int_equal(write(sent, &si, sizeof(si)), sizeof(si));
}

/* What is said while it is waited for; whether it is back. */
static bool back;

static const char *
waiting(void)
{
	return SAID(back = reattach_source(&a, &p, &signals, &ev, &out));
}

/* It does not come back, and why. */
static void
waits_in_vain_still(const char *why)
{
	char text[sizeof(out.fault.text)];

	strcpy(out.fault.text, "it: gone");
	waiting();
	assert_false(back);
	snprintf(text, sizeof(text), "it: gone; it did not come back within "
	    "wait=2 seconds%s", why);
	assert_string_equal(out.fault.text, text);
}

/* The same, after something has been read. */
static void
waits_in_vain(const char *why)
{
	out.tally.read++;
	waits_in_vain_still(why);
}

/* ----------------------------------------------------------------- the source */

CASE(waits_for_that_disk_only)
{
	reattach_begin(&a, &p);
	assert_int_equal(a.node, NODE_BLOCK);
	assert_string_equal(a.was.serial, "S1");
	has("/sys/block/sda/serial", "S3\n");
	waits_in_vain("");
	assert_int_equal(now.ms, 2000);
	has("/sys/block/sda/serial", "S1\n");
	has("/sys/block/sdb/serial", "S1\n");
	waits_in_vain("; 2 disks are called the same");
	has("/sys/block/sda/serial", "S3\n");
	dst.is.device = dst.id.known = true;	/* that is the target */
	dst.id.dev = SDB;
	waits_in_vain("");
	dst.id.dev = SDA;
	waits_in_vain("; /dev/sdb: size: Inappropriate ioctl for device");
	world.n--;				/* it has no node yet */
	waits_in_vain("");
}

CASE(waits_for_that_partition_only)
{
	add_part("ata1", "sda", SDA, 1, 100, 200);
	set_end(SDA + 1);
	reattach_begin(&a, &p);
	assert_int_equal(a.was.partition, 1);
	waits_in_vain("; /dev/sda1: size: Inappropriate ioctl for device");
	has("/sys/devices/ata1/block/sda/sda1/start", "101\n");
	waits_in_vain("");
	has("/sys/devices/ata1/block/sda/sda1/start", "100\n");
	has("/sys/devices/ata1/block/sda/sda1/size", "201\n");
	waits_in_vain("");
	has("/sys/devices/ata1/block/sda/sda1/size", "200\n");
	has("/sys/devices/ata1/block/sda/sda1/partition", "2\n");
	waits_in_vain("");
	has("/sys/devices/ata1/block/sda/sda1/partition", "1\n");
	world.broken = "/8:0";			/* they are not known */
	world.err = EMFILE;
	waits_in_vain("");
	world.broken = NULL;
	world.n--;
	waits_in_vain("");
}

/* As the kind of node that it was, whatever that is called then. */
CASE(waits_for_that_kind_of_node)
{
	has("/sys/block/sda/device/scsi_generic/sg0/dev", "21:0\n");
	has("/sys/dev/char/21:0/device/block/sda/dev", "8:0\n");
	add_node("sg0", makedev(21, 0), 0)->character = true;
	set_end(SDA);
	end.id.node = makedev(21, 0);
	reattach_begin(&a, &p);
	assert_int_equal(a.node, NODE_SG);
	end.id.node = makedev(21, 1);		/* that is another's */
	reattach_begin(&a, &p);
	assert_int_equal(a.node, NODE_BLOCK);
}

/* A source that is no disk on this machine. */
static void
begin_elsewhere(struct endpoint *src)
{
	has("/img", "0123456789");
	o.input = "/img";
	assert_int_equal(endpoint_open(src, SOURCE, &o, false, &f), 0);
	src->is.remote = true;
	p.src = src;
	reattach_begin(&a, &p);
}

/* It is opened by its name again. */
CASE(opens_again_what_is_elsewhere)
{
	struct endpoint src;

	begin_elsewhere(&src);
	assert_string_equal(waiting(), "pardd: it: gone\npardd: the map is saved; waiting "
	    "up to 2 seconds for the disk to come back\npardd: it is back as "
	    "/img, and the copy continues\n");
	out.unsaved.status = STATUS_FILE;
	assert_true(back);
	out.tally.read++;
	assert_non_null(strstr(waiting(), "the map could not be saved; waiting"));
	o.status = SHOW_NONE;
	assert_true(back);
	out.tally.read++;
	assert_string_equal(waiting(), "");
	assert_true(back);
	has("/img", "01234567");
	waiting();
	assert_false(back);
	assert_non_null(strstr(out.fault.text, "is another: 8 bytes"));
	endpoint_close(&src);
}

static int hangs_with;		/* a signal; or 0: it does not hang */

/* Part of opening a file. */
int
fstatfs(int fd, struct statfs *fs)
{
	REAL(real, fstatfs);
	if (hangs_with > 0) {
		if (hangs_with != SIGCHLD)
			signal_came(hangs_with);
		for (;;)
			pause();
	}
	return real(fd, fs);
}

/* Whoever opens it may never come back, and keeps what it uses. */
CASE(leaves_what_does_not_answer)
{
	struct endpoint src;

	begin_elsewhere(&src);
	hangs_with = SIGTERM;
	waiting();
	assert_false(back);
	assert_int_equal(out.signal, SIGTERM);
	assert_true(src.is.stuck);
	src.is.stuck = false;
	out.signal = 0;
	hangs_with = SIGCHLD;			/* none */
	now.brief = 1000;
	waits_in_vain("; it does not answer");
	assert_in_range(now.ms, 10000, 14000);
	assert_true(src.is.stuck);
	hangs_with = 0;
	endpoint_close(&src);
}

/* The old time counts, unless something was read meanwhile. */
CASE(waits_longer_where_something_was_read)
{
	reattach_begin(&a, &p);
	lacks("/sys/block/sda/serial");
	waits_in_vain_still("");
	assert_int_equal(now.ms, 2000);
	waits_in_vain_still("");
	assert_int_equal(now.ms, 2000);
	waits_in_vain("");
	assert_int_equal(now.ms, 4000);
	o.wait = -1;
	reattach_begin(&a, &p);
	assert_string_equal(a.was.serial, "");
}

CASE(answers_signals_meanwhile)
{
	reattach_begin(&a, &p);
	has("/sys/block/sda/serial", "S3\n");
	signal_came(SIGUSR1);
	assert_non_null(strstr(waiting(), "bytes"));
	assert_int_equal(out.signal, 0);
	out.tally.read = 1;
	signal_came(SIGUSR1);
	signal_came(SIGINT);
	now.ms = 0;
	waiting();
	assert_false(back);
	assert_int_equal(out.signal, SIGINT);
	assert_int_equal(now.ms, 0);
}

/* --------------------------------------------------------------- the command */

static char told[64];

/* What the command has written to a file. */
static const char *
wrote(void)
{
	static char text[256];
	char path[PATH_MAX];
	int fd = open(world_path(told, path), O_RDONLY);

	assert_true(fd >= 0);
	memset(text, 0, sizeof(text));
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	return text;
}

/* Run it to its end; the fault that it was told of. */
static const char *
runs(const char *words)
{
	static char command[128];
	struct ongone g;

	strcpy(told, "/told");
	has(told, "%s", "");
	snprintf(command, sizeof(command), "cd %s && %s", world.root, words);
	o.ongone = command;
	assert_int_equal(ongone_start(&g, &p, &a.was, out.gone_at, &f), 0);
	while (!ongone_ended(&g, &f))
		poll(NULL, 0, 50);
	assert_int_equal(g.pid, 0);
	assert_true(ongone_ended(&g, &f));	/* nothing runs any more */
	ongone_stop(&g);
	return wrote();
}

CASE(a_command_knows_what_has_gone)
{
	assert_int_equal(setenv("PARDD_SERIAL", "old", 1), 0);
	assert_int_equal(setenv("PARDD_POSITION", "old", 1), 0);
	reattach_begin(&a, &p);
	assert_string_equal(runs("env | grep ^PARDD_ | sort >told"),
	    "PARDD_POSITION=4096\nPARDD_SERIAL=S1\nPARDD_SOURCE=it\n");
	out.gone_at = NOWHERE;
	assert_string_equal(runs("env | grep ^PARDD_P >told"),
	    "PARDD_POSITION=\n");
	unsetenv("PARDD_SERIAL");
	unsetenv("PARDD_POSITION");
}

/* Whatever this process does with signals. */
CASE(a_command_ignores_and_blocks_no_signal)
{
	/* qemu-user moves those of the C library to the first two */
	const int of[] = { SIGHUP, SIGUSR1, SIGPIPE, SIGWINCH, SIGRTMIN + 2,
		SIGRTMAX };
	sigset_t blocked, were;
	uint64_t ignored;
	const char *text;

	reattach_begin(&a, &p);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, &were);
	EACH_OF(i, of)
		signal(of[i], SIG_IGN);
	text = runs("grep -E '^Sig(Blk|Ign)' /proc/self/status >told");
	assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
	text = strstr(text, "SigIgn:");
	assert_non_null(text);
	ignored = strtoull(text + strlen("SigIgn:"), NULL, 16);
	EACH_OF(i, of) {
		assert_int_equal(ignored >> (of[i] - 1) & 1, 0);
		signal(of[i], SIG_DFL);
	}
	sigprocmask(SIG_SETMASK, &were, NULL);
}

/* How a command ends, as it is told. */
static const char *
ends(const char *command)
{
	struct ongone g;

	o.ongone = command;
	assert_int_equal(ongone_start(&g, &p, &a.was, 0, &f), 0);
	while (!ongone_ended(&g, &f))
		poll(NULL, 0, 50);
	return f.status == 0 ? "" : f.text;
}

CASE(tells_how_a_command_ended)
{
	char text[64];

	reattach_begin(&a, &p);
	assert_string_equal(ends("exit 0"), "");
	assert_string_equal(ends("exit 3"), "ongone=: ended with status 3");
	assert_string_equal(ends("kill -TERM $$"), "ongone=: ended by SIGTERM");
	snprintf(text, sizeof(text), "kill -%d $$", SIGRTMIN + 3);
	assert_non_null(strstr(ends(text), "ongone=: ended by signal "));
}

CASE(ends_a_command_however_it_takes_that)
{
	static const char *const commands[] = { "sleep 1000",
		"trap '' TERM; while :; do sleep 0.01; done" };
	struct ongone g;
	pid_t group;
	size_t i;

	reattach_begin(&a, &p);
	for (i = 0; i < 2; i++) {
		o.ongone = commands[i];
		assert_int_equal(ongone_start(&g, &p, &a.was, 0, &f), 0);
		group = g.pid;
		poll(NULL, 0, 50);
		assert_false(ongone_ended(&g, &f));
		ongone_stop(&g);
		assert_int_equal(g.pid, 0);
		assert_int_equal(waitpid(group, NULL, 0), -1);
	}
}

CASE(tells_that_it_cannot_be_started)
{
	static const char *const calls[] = { "posix_spawn_file_actions_init",
		"posix_spawn_file_actions_adddup2", "posix_spawnattr_init",
		"posix_spawnattr_setflags", "posix_spawnattr_setsigmask" };
	struct ongone g;

	reattach_begin(&a, &p);
	o.ongone = "exit 0";
	EACH_OF(i, calls) {
		failing = calls[i];
		assert_int_equal(ongone_start(&g, &p, &a.was, 0, &f), -1);
		assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
		assert_string_equal(f.text,
		    "ongone=: /bin/sh: Cannot allocate memory");
		assert_int_equal(g.pid, 0);
		assert_true(ongone_ended(&g, &f));
	}
}

#ifdef POOR
CASE(tells_each_lack_of_memory)
{
	struct ongone g;
	unsigned n, told_of = 0;
	bool refused = true;

	reattach_begin(&a, &p);
	o.ongone = "exit 0";
	for (n = 0; refused; n++) {
		poor_after(n);
		f.status = 0;
		if (ongone_start(&g, &p, &a.was, 0, &f) != 0) {
			assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
			told_of++;
		}
		refused = poor_was();
		assert_true(refused || f.status == 0);
		while (!ongone_ended(&g, &f))
			poll(NULL, 0, 50);
		assert_int_equal(f.status, 0);
	}
	assert_true(told_of > 4);
}
#endif

/* Before the wait, and within its time. */
CASE(waits_for_the_command_first)
{
	reattach_begin(&a, &p);
	has("/sys/block/sda/serial", "S3\n");
	o.ongone = "exit 3";
	strcpy(out.fault.text, "it: gone");
	assert_non_null(strstr(waiting(), "pardd: ongone=: ended with status 3\n"));
	assert_int_equal(out.signal, 0);
	/* there is no time for it */
	assert_null(strstr(waiting(), "ongone"));
	out.tally.read = 1;
	o.ongone = "sleep 1000";
	now.brief = 1000;
	assert_non_null(strstr(waiting(), "pardd: ongone=: it was not done within "
	    "wait=2 seconds\n"));
	out.tally.read = 2;
	now.brief = 1;
	signal_came(SIGTERM);
	waiting();
	assert_int_equal(out.signal, SIGTERM);
	assert_null(strstr(said.text, "ongone"));
	out.tally.read = 3;
	failing = "posix_spawnattr_init";
	assert_non_null(strstr(waiting(), "pardd: ongone=: /bin/sh: Cannot"));
}
