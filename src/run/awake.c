/*
 * An inhibitor of logind (org.freedesktop.login1), by libsystemd.  It is asked
 * without waiting long: a bus that does not answer is no reason not to copy.
 */
#include "run/run.h"

#include "config.h"

#ifdef HAVE_LIBSYSTEMD
#include <fcntl.h>
#include <systemd/sd-bus.h>

#include "base/clock.h"
#include "base/library.h"

#define BUS_FUNCTIONS(X) \
	X(sd_bus_open_system) X(sd_bus_call_method_async) X(sd_bus_process) \
	X(sd_bus_wait) X(sd_bus_message_read) X(sd_bus_close_unref)

LIBRARY_STATIC(libsystemd, "libsystemd.so.0", "libsystemd0", BUS_FUNCTIONS);

enum { LONG = 1 << 30 };	/* bytes; what is shorter does not take long */

static const uint64_t answer_within = 500000000;	/* ns */

struct inhibition {		/* asked for */
	const struct libsystemd *lib;
	bool		 answered;
	int		 fd;		/* that holds it, or -1 */
};

/* The descriptor is the message's, and goes with it. */
static int
awake_answered(sd_bus_message *m, void *arg, sd_bus_error *error)
{
	struct inhibition *in = arg;
	int fd;

	(void)error;
	in->answered = true;
	if (in->lib->sd_bus_message_read(m, "h", &fd) > 0)
		in->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return 1;
}

static void
awake_ask(sd_bus *bus, struct inhibition *in)
{
	uint64_t until = clock_ns() + answer_within, now;
	int n = in->lib->sd_bus_call_method_async(bus, NULL,
	    "org.freedesktop.login1", "/org/freedesktop/login1",
	    "org.freedesktop.login1.Manager", "Inhibit", awake_answered, in,
	    "ssss", "sleep:idle:handle-lid-switch", "pardd",
	    "a copy is not finished", "block");

	while (n >= 0 && !in->answered && (now = clock_ns()) < until) {
		n = in->lib->sd_bus_process(bus, NULL);
		if (n == 0)
			n = in->lib->sd_bus_wait(bus, (until - now) / 1000);
	}
}

int
awake_hold(const struct plan *p)
{
	struct libsystemd lib;
	struct inhibition in = { .lib = &lib, .fd = -1 };
	struct fault f;
	sd_bus *bus = NULL;

	if (p->bounded ? p->length < LONG : !p->dst->is.device)
		return -1;
	if (library_load(&libsystemd, &lib, "logind", &f) != 0)
		return -1;
	if (lib.sd_bus_open_system(&bus) >= 0)
		awake_ask(bus, &in);
	lib.sd_bus_close_unref(bus);
	return in.fd;
}
#else
int
awake_hold(const struct plan *p)
{
	(void)p;
	return -1;
}
#endif
