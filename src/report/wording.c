/*
 * Describing an end of the copy for people.
 */
#include "report/report.h"

#include <bsd/string.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "disk/disk.h"

const char *
wording_name(char *text, size_t room, const struct endpoint *ep, size_t most)
{
	static const char cut[] = "...";
	const char *name = ep->name;
	size_t n = strlen(name);

	most = most < room ? most : room - 1;
	if (n <= most)
		strlcpy(text, name, room);
	else
		snprintf(text, room, "%s%s", cut,
		    name + n - most + sizeof(cut) - 1);
	return text;
}

static void __attribute__((format(printf, 3, 4)))
wording_add(char *text, size_t room, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, room - n, fmt, ap);
	va_end(ap);
}

static void
add_model(char *text, size_t room, const struct disk *d)
{
	if (d->model[0] != '\0')
		wording_add(text, room, ", %s%s%s", d->vendor, d->vendor[0] !=
		    '\0' ? " " : "", d->model);
}

static void
wording_add_disk(char *text, size_t room, const struct endpoint *ep)
{
	struct disk d;
	char zoned[32];

	if (!endpoint_disk(ep, &d))
		return;
	if (disk_zoned(d.whole, zoned, sizeof(zoned)))
		wording_add(text, room, ", zoned (%s)", zoned);
	if (d.partition > 0)
		wording_add(text, room, ", partition %d of %s", d.partition,
		    d.whole_name);
	add_model(text, room, &d);
	if (d.transport[0] != '\0')
		wording_add(text, room, ", %s", d.transport);
	if (d.removable)
		wording_add(text, room, ", removable");
	if (d.serial[0] != '\0')
		wording_add(text, room, ", serial %.64s", d.serial);
	if (d.backing[0] != '\0')
		wording_add(text, room, ", on %.120s", d.backing);
}

/* The size of the end, or of the partition it is limited to; -1: none. */
static int64_t
wording_size(const struct endpoint *ep)
{
	if (ep->is.absent || ep->is.piped || !endpoint_holds(ep))
		return -1;
	return ep->lim.part > 0 ? ep->geo.size - (int64_t)ep->lim.base :
	    ep->geo.size;
}

static void
add_size(char *text, size_t room, const struct endpoint *ep)
{
	int64_t size = wording_size(ep);
	char si[32];

	if (size >= 0)
		wording_add(text, room, ", %s", number_si(si, sizeof(si),
		    (double)size));
}

const char *
wording_brief(char *text, size_t room, const struct endpoint *ep)
{
	struct disk d;
	bool disk = endpoint_disk(ep, &d);

	text[0] = '\0';
	if (disk)
		add_model(text, room, &d);
	add_size(text, room, ep);
	if (disk && d.serial[0] != '\0')
		wording_add(text, room, ", serial %.64s", d.serial);
	return text;
}

const char *
wording_who(char *text, size_t room, const struct endpoint *ep)
{
	struct disk d;

	text[0] = '\0';
	if (!endpoint_disk(ep, &d))
		strlcpy(text, endpoint_kind(ep)->text, room);
	else if (d.model[0] != '\0')
		snprintf(text, room, "%s%s%s", d.model, d.serial[0] != '\0' ?
		    ", " : "", d.serial);
	else
		strlcpy(text, d.serial[0] != '\0' ? d.serial :
		    endpoint_kind(ep)->text, room);
	return text;
}

const char *
wording_end(char *text, size_t room, const struct endpoint *ep)
{
	strlcpy(text, endpoint_kind(ep)->text, room);
	if (ep->is.absent)
		wording_add(text, room, ", to be created");
	add_size(text, room, ep);
	if (ep->geo.block > 0)
		wording_add(text, room, " in blocks of %u", ep->geo.block);
	wording_add_disk(text, room, ep);
	if (ep->offers[0] != '\0')
		wording_add(text, room, ", %s", ep->offers);
	return text;
}

const char *
wording_loss(char *text, size_t room, const struct loss *l)
{
	text[0] = '\0';
	if (l->known && l->files + l->structures == 0)
		wording_add(text, room, "all these bytes are free space");
	else if (l->known)
		wording_add(text, room, "of these, %llu bytes are in files, "
		    "%llu in the file system's own structures, %llu free",
		    (ull)l->files, (ull)l->structures, (ull)l->free);
	if (l->known && l->state != FS_CLEAN)
		wording_add(text, room, ", as it seems");
	return text;
}
