# shellcheck shell=bash disable=SC2154
# lab: -D size=8M,bus=nvme,serial=NVME0001 -D size=8M,bus=nvme,serial=NVME0001 -D size=8M,bus=nvme,serial=OTHER -D size=8M,bus=usb,serial=USB4711 -D size=8M,bus=usb
# Which disk it is where serial numbers do not tell, or are hard to find: the
# namespaces of an NVMe controller, disks on USB.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -a nvme xhci_pci usb_storage || { echo 'Bail out! no modules'; exit 1; }

# usb_is SERIAL: the node of that disk, when it is there, is in $usb
usb_is()
{
	local dir at
	for dir in /sys/block/sd*; do
		at=$(readlink -f "$dir/device/../../../../")
		[[ $(cat "$at/serial" 2>/dev/null) = "$1" ]] && usb=/dev/${dir##*/} && return
	done
	return 1
}
all_there()
{
	[[ -b /dev/nvme0n1 && -b /dev/nvme0n2 && -b /dev/nvme1n1 ]] && usb_is USB4711
}
until_true 30 all_there || { echo 'Bail out! not all disks came'; exit 1; }
wwn()
{
	cat "/sys/block/$1/wwid"
}
"$blocks" make /tmp/src 64k 1
# The controllers may be numbered either way.
pair=nvme0 other=nvme1
[[ -b /dev/nvme0n2 ]] || pair=nvme1 other=nvme0

shared_serial()
{
	local n
	for n in 1 2; do
		dd if=/dev/zero of="/dev/${pair}n$n" bs=1M count=1 conv=fsync status=none
		refused "oserial=NVME0001: ${pair}n$n and ${pair}n[12] have this serial number" \
		    if=/tmp/src of="/dev/${pair}n$n" oserial=NVME0001 \
		    force=mounted,swap,held,looped,overlap &&
		    grep -qw "$(wwn "${pair}n1")" err && grep -qw "$(wwn "${pair}n2")" err &&
		    cmp -n 1M "/dev/${pair}n$n" /dev/zero || return
	done
	refused "iserial=NVME0001: " if="/dev/${pair}n1" of=copy iserial=NVME0001 &&
	    [[ ! -e copy ]] && exits 0 "$pardd" if=/tmp/src of="/dev/${other}n1" oserial=OTHER
}
it "takes no serial number that two namespaces have" shared_serial
whole_wwn()
{
	local one two
	one=$(wwn "${pair}n1") two=$(wwn "${pair}n2")
	[[ ${#one} -gt 63 && ${one::63} = "${two::63}" ]] || fail "$one $two" || return
	refused 'not the disk that oserial=' if=/tmp/src of="/dev/${pair}n1" oserial="$two" &&
	    refused 'not the disk that oserial=' if=/tmp/src of="/dev/${pair}n1" oserial="${one::63}" &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/${pair}n1" oserial="$one" && complete &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/${pair}n1" -d && grep -qx "output_wwn=$one" out
}
it "tells namespaces by their whole WWN" whole_wwn
other_map()
{
	exits 0 "$pardd" if="/dev/${pair}n1" of=dst map=m count=8 && complete &&
	    refused 'map of another source' if="/dev/${pair}n2" of=dst map=m count=8 &&
	    exits 0 "$pardd" if="/dev/${pair}n1" of=dst map=m count=8
}
it "goes on with a map for that namespace only" other_map
apart()
{
	exits 0 "$pardd" if="/dev/${pair}n1" of="/dev/${pair}n2" && complete &&
	    same "/dev/${pair}n1" "/dev/${pair}n2"
}
it "does not take two namespaces for one disk" apart

usb_serial()
{
	exits 0 "$pardd" -l && grep -q "^$usb .* USB4711 " out &&
	    exits 0 "$pardd" if=/tmp/src of="$usb" oserial=USB4711 && complete &&
	    exits 0 "$pardd" if="$usb" of=dst map=m wait=1 count=8 && complete &&
	    grep -q serial=USB4711 m &&
	    refused 'its serial number is USB4711' if=/tmp/src of="$usb" oserial=USB471
}
it "knows a USB disk by the serial number of its USB device" usb_serial
