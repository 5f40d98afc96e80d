# shellcheck shell=bash disable=SC2119,SC2154
# lab: -j 1 -D size=8M,bus=nvme,serial=NVME0001 -D size=8M,bus=ata,serial=ATA0001
# Disks that are not written like others, and nodes of something that is no disk.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -q nvme || { echo 'Bail out! no modules'; exit 1; }
wait_for 10 test -b /dev/nvme0n1 || { echo 'Bail out! no NVMe disk'; exit 1; }

nvme_node()
{
	"$blocks" make img 1M 1 || return
	for look in '' -d; do
		refused 'an NVMe controller.*/dev/nvme0n1' if="$1" of=copy ${look:+"$look"} &&
		    refused 'an NVMe controller' if=img of="$1" ${look:+"$look"} || return
	done
	[[ ! -e copy ]]
}
# It is asked, answers, and hides nothing; the image is all of it.
ata_disk()
{
	modprobe -a ahci sd_mod sg && wait_for 20 count_is ATA 1 && name_disks A ATA &&
	    "$blocks" make "$ASD1" 8M 1 && forget && exits 0 "$pardd" if="$ASD1" of=copy &&
	    complete && holds copy 0 0 8M 1 && does_not_say hides &&
	    was_sent "$AHCTL1" '85 07 20 00 00 00 00 00 00 00 00 00 00 40 27' &&
	    exits 0 "$pardd" if="$ASG1" of=copy2 && same copy copy2
}
it "copies a disk of AHCI, which hides nothing" ata_disk
it "does not take an NVMe controller for a stream" nvme_node /dev/nvme0
onto_nvme()
{
	"$blocks" make img 8M 1 && exits 0 "$pardd" if=img of=/dev/nvme0n1 verify=1 && complete
}
it "writes to the disk itself" onto_nvme
