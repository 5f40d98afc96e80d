/*
 * The records of a mock NTFS, and what they are made of; included by a test,
 * which says before how many CLUSTERS and RECORDS it has, and where its MIRROR
 * is.
 */
#ifndef PARDD_TEST_FSNTFS_IMAGE_H
#define PARDD_TEST_FSNTFS_IMAGE_H

#include "../../src/fs/fsntfs.h"
#include "fsimage.h"

#define CLUSTER	((size_t)512)
#define RECORD	((size_t)1024)

enum {
	FIRST = 56,			/* of a record's attributes */
	MFT = 4,			/* cluster */
};

/* There is room for a backup of the boot sector. */
static unsigned char disk[(CLUSTERS + 1) * CLUSTER];

static inline unsigned char *
at(unsigned cluster)
{
	return disk + (size_t)cluster * CLUSTER;
}

static inline unsigned char *
record(unsigned i)
{
	return at(MFT) + (size_t)i * RECORD;
}

static inline unsigned char *
make_record(unsigned i, unsigned flags)
{
	unsigned char *p = record(i);

	memset(p, 0, RECORD);
	memcpy(p, "FILE", 4);
	put(p + R_FIX, 2, 48);
	put(p + R_FIXES, 2, RECORD / NTFS_STRIDE + 1);
	put(p + R_SEQUENCE, 2, 1);
	put(p + R_ATTRIBUTES, 2, FIRST);
	put(p + R_FLAGS, 2, flags);
	put(p + FIRST, 4, UINT32_MAX);
	return p;
}

static inline unsigned char *
add(unsigned i, uint32_t kind, size_t len)
{
	unsigned char *a = record(i) + FIRST;

	while (fs_le(a, 4) != UINT32_MAX)
		a += fs_le(a + A_LENGTH, 4);
	put(a, 4, kind);
	put(a + A_LENGTH, 4, len);
	put(a + len, 4, UINT32_MAX);
	return a;
}

/* One whose value is in the record. */
static inline unsigned char *
add_value(unsigned i, uint32_t kind, size_t size)
{
	unsigned char *a = add(i, kind, (24 + size + 7) / 8 * 8);

	put(a + A_VALUE, 2, 24);
	put(a + A_VALUE_SIZE, 4, size);
	return a + 24;
}

static inline unsigned char *
add_run(unsigned i, uint32_t kind, unsigned lcn, unsigned clusters)
{
	unsigned char *a = add(i, kind, 72);

	a[A_OUTSIDE] = 1;
	put(a + A_RUNS, 2, 64);
	put(a + A_SIZE, 8, (uint64_t)clusters * CLUSTER);
	put(a + A_VALID, 8, (uint64_t)clusters * CLUSTER);
	a[64] = 0x21;
	a[65] = (unsigned char)clusters;
	put(a + 66, 2, lcn);
	return a;
}

static inline uint64_t
reference(unsigned i)
{
	return UINT64_C(1) << 48 | i;
}

static inline void
put_name(unsigned char *v, unsigned directory, const char *name, unsigned space)
{
	size_t n = strlen(name), i;

	put(v, 8, reference(directory));
	v[64] = (unsigned char)n;
	v[65] = (unsigned char)space;
	for (i = 0; i < n; i++)
		v[66 + 2 * i] = (unsigned char)name[i];
}

static inline void
add_name(unsigned i, unsigned directory, const char *name, unsigned space)
{
	put_name(add_value(i, AT_NAME, 66 + 2 * strlen(name)), directory, name,
	    space);
}

/* Its sectors end in what its head says. */
static inline void
seal_at(unsigned char *p, unsigned strides)
{
	size_t fix = fs_le(p + R_FIX, 2), i;

	put(p + fix, 2, 7);
	for (i = 1; i <= strides; i++) {
		memcpy(p + fix + 2 * i, p + i * NTFS_STRIDE - 2, 2);
		put(p + i * NTFS_STRIDE - 2, 2, 7);
	}
}

static inline void
make_boot(void)
{
	memcpy(disk + 3, "NTFS    ", 8);
	put(disk + 11, 2, CLUSTER);
	disk[13] = 1;
	put(disk + 40, 8, CLUSTERS);
	put(disk + 48, 8, MFT);
	put(disk + 56, 8, MIRROR);
	disk[64] = (unsigned char)-10;
	disk[68] = (unsigned char)-12;
	put(disk + 510, 2, 0xaa55);
}

#endif
