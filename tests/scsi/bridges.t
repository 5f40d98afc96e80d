# shellcheck shell=bash disable=SC2016,SC2154
# lab: -j 1 -D size=4M,bus=ata,serial=ATA,bad=2048,bad=6001 -D size=4M,bus=usb,serial=USB,bad=6001 -D size=4M,bus=nvme,serial=NVME,bad=6001
# Rescues of disks that report an unreadable block as an aborted command, as AHCI and USB
# adapters do, or in their own way, as NVMe disks do.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -a ahci xhci_pci usb_storage nvme sg ||
	{ echo 'Bail out! no modules'; exit 1; }

# The disks by their block nodes, and by the nodes that take commands.
declare -A block char
# find_scsi SERIAL FILE: the file of this name below the disk's device
find_scsi()
{
	local dir
	for dir in /sys/block/sd*; do
		{ tr -d '\0' <"$dir/device/$2" | grep -q "$1"; } 2>/dev/null || continue
		block[$1]=/dev/${dir##*/} char[$1]=$(echo "$dir"/device/scsi_generic/sg*)
		char[$1]=/dev/${char[$1]##*/}
		[[ -b ${block[$1]} && -c ${char[$1]} ]] && return
	done
	return 1
}
all_there()
{
	block[NVME]=/dev/nvme0n1 char[NVME]=/dev/ng0n1
	[[ -b ${block[NVME]} && -c ${char[NVME]} ]] && find_scsi ATA vpd_pg80 &&
	    find_scsi USB ../../../../serial
}
until_true 60 all_there || { echo 'Bail out! not all disks came'; exit 1; }
"$blocks" make /tmp/src 4M 1
truncate -s 4M /tmp/empty
for node in "${block[@]}"; do
	dd if=/tmp/src of="$node" bs=1M oflag=direct status=none
	blockdev --flushbufs "$node"
done

maps=$tools/maps
# rescues RANGES NODE OPERANDS...: everything but these ranges
rescues()
{
	cp /tmp/empty dst &&
	    exits 100 "$pardd" if="$2" of=dst map=map bs=512 "${@:3}" &&
	    says 'NOT complete: [0-9]* bytes could not be read' &&
	    [[ $("$maps" list map -) = "$1" && -z $("$maps" list map '?*/') ]] &&
	    "$maps" check map /tmp/src dst /tmp/empty 0 0 4194304
}
one=3072512+512
two=1048576+512,$one
it "rescues all but the bad blocks of a disk behind AHCI" rescues $two "${block[ATA]}"
it "... by SCSI commands" rescues $two "${char[ATA]}"
it "... by SCSI commands to its block node, with two workers" \
    rescues $two "${block[ATA]}" iflag=sgio thr=2
it "... of a disk behind USB, by SCSI commands" rescues $one "${char[USB]}"
it "... of an NVMe disk, by its own commands" rescues $one "${char[NVME]}"
