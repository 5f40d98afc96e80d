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

bool
fs_read_luks(struct fs_io *io)
{
	struct fs_map *m = io->map;
	unsigned char b[HEAD];
	uint64_t version, payload, length = io->src->length;

	if (!fs_by_start(io) || fs_get(io, 0, b, SECTOR) != 0 ||
	    memcmp(b, "LUKS\xba\xbe", H_VERSION) != 0 ||
	    fs_get(io, 0, b, HEAD) != 0)
		return false;
	memcpy(m->type, "crypto_LUKS", sizeof("crypto_LUKS"));
	fs_doubt(io, FS_UNKNOWN, "it is encrypted, and stays so");
	version = fs_be(b + H_VERSION, 2);
	payload = version == 1 ? fs_be(b + H_PAYLOAD, 4) * SECTOR :
	    fs_be(b + H_SIZE, 8);
	if (version < 1 || version > 2 || payload > length / 2)
		return true;
	if (version == 2) {
		fs_label(io, b + H_LABEL, LABEL);
		payload *= 2;
	}
	fs_note_meta(io, 0, version == 2 && payload < KEYS && KEYS < length ?
	    KEYS : payload);
	m->stamp = fs_crc32(0, b, HEAD);
	m->payload = payload > HEAD ? payload : HEAD;
	if (!luks_uuid(b + H_UUID, m->container))
		m->container[0] = '\0';
	return true;
}
