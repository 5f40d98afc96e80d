/*
 * An end of the copy as JSON, for events and manifests.
 */
#include "describe.h"

#include <jansson.h>
#include <limits.h>
#include <sys/sysmacros.h>

#include "base/value.h"
#include "disk/disk.h"

json_t *
describe_unknown(const char *name)
{
	return json_pack("{s:o, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:b}",
	    "name", value_text(name), "kind", "size", "block", "offset",
	    "device", "inode", "disk", "created", 0);
}

static json_t *
describe_device(const struct identity *id)
{
	return id->known ? json_sprintf("%u:%u", major(id->dev),
	    minor(id->dev)) : json_null();
}

/* The disk of an end, or null. */
static json_t *
disk_of(const struct endpoint *ep)
{
	char by_id[NAME_MAX + 1] = "";
	struct disk d;

	if (!endpoint_disk(ep, &d))
		return json_null();
	if (d.node != 0)
		disk_by_id(d.node, by_id, sizeof(by_id));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}",
	    "name", value_known(d.whole_name),
	    "vendor", value_known(d.vendor), "model", value_known(d.model),
	    "serial", value_known(d.serial), "wwn", value_known(d.wwn),
	    "transport", value_known(d.transport),
	    "by_id", value_known(by_id), "backing", value_known(d.backing),
	    "partition", d.partition);
}

json_t *
describe_end(const struct endpoint *ep, uint64_t off)
{
	const struct identity *id = &ep->id;
	json_t *o = json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:b}",
	    "name", value_text(ep->name), "kind", endpoint_kind(ep)->json,
	    "size", value_amount(ep->is.absent ? -1 :
	    ep->lim.part > 0 ? ep->lim.disk_size : ep->geo.size),
	    "block", value_amount(ep->geo.block > 0 ? (int64_t)ep->geo.block :
	    -1), "offset", value_count(off), "device", describe_device(id),
	    "inode", id->known && id->ino != 0 ? value_count(id->ino) :
	    json_null(),
	    "created", ep->is.absent);

	return value_set(o, "disk", disk_of(ep));
}
