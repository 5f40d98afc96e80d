/*
 * The temperature of a disk, by hwmon: SATA and SCSI disks have a sensor there
 * if the module drivetemp is loaded; NVMe disks have their own.
 */
#include "disk/disk.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk/sysfs.h"

/* Read the first sensor of a directory, in thousandths of a degree. */
static bool
read_first(int dir, const char *directory, double *celsius)
{
	struct dirent **list;
	int n = sysfs_entries(dir, directory, &list), i;
	char path[320], text[32], *end = text;
	bool is = false;
	long value;

	for (i = 0; i < n && !is; i++) {
		if (strncmp(list[i]->d_name, "hwmon", 5) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s/temp1_input", directory,
		    list[i]->d_name);
		if (!sysfs_text(dir, path, text, sizeof(text)))
			continue;
		value = strtol(text, &end, 10);
		is = end > text && *end == '\0';
		*celsius = (double)value / 1000;
	}
	sysfs_forget(list, n);
	return is;
}

bool
disk_temperature(dev_t whole, double *celsius)
{
	int dir = sysfs_open("block", whole);
	bool is;

	if (dir < 0)
		return false;
	is = read_first(dir, "device/hwmon", celsius) ||
	    read_first(dir, "device", celsius);
	close(dir);
	return is;
}
