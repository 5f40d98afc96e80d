/*
 * The header of what LUKS has encrypted.  Only its own mapping, where that is
 * open, shows what it contains; here is by which name to know that.
 *
 * "LUKS1 On-Disk Format Specification" 1.2.3, 2.1: the header; "LUKS2 On-Disk
 * Format Specification", 2.1: the binary header, which has the UUID at the same
 * place, and which is there twice, each followed by a text.
 */
#include <string.h>

#include "fsread.h"

enum {
	HEAD = 4096,
	SECTOR = 512,
	H_VERSION = 6, H_SIZE = 8,	/* of LUKS2: both, with the text */
	H_PAYLOAD = 104,		/* of LUKS1: in sectors */
	H_LABEL = 24, LABEL = 48,	/* of LUKS2 */
	H_UUID = 168,
	KEYS = 16 << 20,		/* bytes before the payload of LUKS2, as
					 * a rule: mostly of keys */
};

/* Copy the UUID without its dashes; false if it is none. */
static bool
luks_uuid(const unsigned char *from, char *to)
{
	size_t i, n = 0;

	for (i = 0; i < FS_UUID + 4 && from[i] != '\0'; i++) {
		if (from[i] == '-')
			continue;
		if (n == FS_UUID || strchr("0123456789abcdef", from[i]) == NULL)
			return false;
		to[n++] = (char)from[i];
	}
	to[n] = '\0';
	return n == FS_UUID && from[i] == '\0';
}

struct luks {
	struct fs_io	*io;
	unsigned char	 b[HEAD];
};

static bool
luks_open(void *state)
{
	struct luks *l = state;

	return fs_by_start(l->io) && fs_get(l->io, 0, l->b, SECTOR) == 0 &&
	    memcmp(l->b, "LUKS\xba\xbe", H_VERSION) == 0 &&
	    fs_get(l->io, 0, l->b, HEAD) == 0;
}

static void
luks_read(void *state)
{
	struct luks *l = state;
	struct fs_map *m = l->io->map;
	const unsigned char *b = l->b;
	uint64_t version = fs_be(b + H_VERSION, 2), payload;
	uint64_t length = l->io->src->length;

	fs_doubt(l->io, FS_UNKNOWN, "it is encrypted, and stays so");
	payload = version == 1 ? fs_be(b + H_PAYLOAD, 4) * SECTOR :
	    fs_be(b + H_SIZE, 8);
	if (version < 1 || version > 2 || payload > length / 2)
		return;
	if (version == 2) {
		fs_label(l->io, b + H_LABEL, LABEL);
		payload *= 2;
	}
	fs_note_meta(l->io, 0, version == 2 && payload < KEYS && KEYS < length ?
	    KEYS : payload);
	m->stamp = fs_crc32(0, b, HEAD);
	m->payload = payload > HEAD ? payload : HEAD;
	if (!luks_uuid(b + H_UUID, m->container))
		m->container[0] = '\0';
}

const struct fs_kind fs_luks = { { "crypto_LUKS" }, sizeof(struct luks),
	luks_open, luks_read, NULL, NULL };
