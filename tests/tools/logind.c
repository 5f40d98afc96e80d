/*
 * logind: stand in for org.freedesktop.login1 on the bus of
 * DBUS_SYSTEM_BUS_ADDRESS, with what an inhibitor is asked for.
 *
 *	logind
 *
 * It prints "here" when it can be asked, "held WHAT WHO WHY MODE" when it is, and
 * "let" when the descriptor that it gave is closed; then it ends.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#if __has_include(<systemd/sd-bus.h>)
#include <systemd/sd-bus.h>

#define FUNCTIONS(X) \
	X(sd_bus_open_system) X(sd_bus_add_object) X(sd_bus_request_name) \
	X(sd_bus_process) X(sd_bus_wait) X(sd_bus_message_is_method_call) \
	X(sd_bus_message_read) \
	X(sd_bus_reply_method_return)
#define DEFINE(name) static __typeof__(name) *the_##name;
FUNCTIONS(DEFINE)

static int fifo[2];
static int held;

static int
inhibit(sd_bus_message *m, void *data, sd_bus_error *error)
{
	const char *what, *who, *why, *mode;

	(void)data;
	(void)error;
	if (the_sd_bus_message_is_method_call(m,
	    "org.freedesktop.login1.Manager", "Inhibit") <= 0)
		return 0;
	if (the_sd_bus_message_read(m, "ssss", &what, &who, &why, &mode) < 0)
		return -1;
	printf("held %s %s %s %s\n", what, who, why, mode);
	held = 1;
	return the_sd_bus_reply_method_return(m, "h", fifo[1]);
}

int
main(void)
{
	void *lib = dlopen("libsystemd.so.0", RTLD_NOW);
	struct pollfd p = { .events = POLLIN };
	sd_bus *bus;
	int n;

	if (lib == NULL)
		return 77;
#define LOAD(name) the_##name = (__typeof__(the_##name))dlsym(lib, #name);
	FUNCTIONS(LOAD)
	setlinebuf(stdout);
	if (pipe2(fifo, O_CLOEXEC) != 0 || the_sd_bus_open_system(&bus) < 0 ||
	    the_sd_bus_add_object(bus, NULL, "/org/freedesktop/login1",
	    inhibit, NULL) < 0 ||
	    the_sd_bus_request_name(bus, "org.freedesktop.login1", 0) < 0)
		return 1;
	printf("here\n");
	while (!held)
		if ((n = the_sd_bus_process(bus, NULL)) < 0 ||
		    (n == 0 && the_sd_bus_wait(bus, UINT64_MAX) < 0))
			return 1;
	close(fifo[1]);
	p.fd = fifo[0];
	while ((p.revents & POLLHUP) == 0)
		if (poll(&p, 1, -1) < 0)
			return 1;
	printf("let\n");
	return 0;
}
#else
int
main(void)
{
	return 77;
}
#endif
