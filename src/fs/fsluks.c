/*
 * The header of what LUKS or BitLocker has encrypted.  Only its own mapping,
 * where that is open, shows what it contains; here is where that may begin.
 *
 * "LUKS1 On-Disk Format Specification" 1.2.3, 2.1: the header; "LUKS2 On-Disk
 * Format Specification", 2.1: the binary header, which is there twice, each
 * followed by a text.  BitLocker has a boot sector with its name, and elsewhere
 * the one that its mapping shows (libbde, "BitLocker Drive Encryption format").
 */
#include <string.h>

#include "fsread.h"

enum {
	HEAD = 4096,
	SECTOR = 512,
	B_NAME = 3, B_KEYS = 176,	/* of BitLocker: its three areas */
	B_ROOM = 64 << 10,		/* begin there */
	H_VERSION = 6, H_SIZE = 8,	/* of LUKS2: both, with the text */
	H_PAYLOAD = 104,		/* of LUKS1: in sectors */
	H_LABEL = 24, LABEL = 48,	/* of LUKS2 */
	KEYS = 16 << 20,		/* bytes before the payload of LUKS2, as
					 * a rule: mostly of keys */
};

struct luks {
	struct fs_io	*io;
	unsigned char	 b[HEAD];
};

static bool
is_bitlocker(const struct luks *l)
{
	return memcmp(l->b + B_NAME, "-FVE-FS-", 8) == 0;
}

static bool
luks_open(void *state)
{
	struct luks *l = state;

	return fs_by_start(l->io) && fs_get(l->io, 0, l->b, SECTOR) == 0 &&
	    (memcmp(l->b, "LUKS\xba\xbe", H_VERSION) == 0 ||
	    is_bitlocker(l)) && fs_get(l->io, 0, l->b, HEAD) == 0;
}

static void
luks_read(void *state)
{
	struct luks *l = state;
	struct fs_map *m = l->io->map;
	const unsigned char *b = l->b;
	uint64_t version = fs_be(b + H_VERSION, 2), payload;
	uint64_t length = l->io->src->length;
	size_t i;

	fs_doubt(l->io, FS_UNKNOWN, "it is encrypted, and stays so");
	m->stamp = fs_crc32(0, b, HEAD);
	if (is_bitlocker(l)) {
		m->payload = SECTOR;
		fs_note_meta(l->io, 0, HEAD);
		for (i = 0; i < 3; i++)
			fs_note_meta(l->io, fs_le(b + B_KEYS + 8 * i, 8),
			    B_ROOM);
		memcpy(m->type, fs_luks.type[1], sizeof("BitLocker"));
		return;
	}
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
	m->payload = payload > HEAD ? payload : HEAD;
}

const struct fs_kind fs_luks = { { "crypto_LUKS", "BitLocker" },
	sizeof(struct luks), luks_open, luks_read, NULL, NULL };
