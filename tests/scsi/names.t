# shellcheck shell=bash disable=SC2154
# lab: -j 1 -D size=8M,bus=nvme,serial=NVME0001 -D size=8M,bus=nvme,serial=NVME0001 -D size=8M,bus=nvme,serial=OTHER -D size=8M,bus=usb,serial=USB4711 -D size=8M,bus=usb -D size=8M,serial=ONE,wwn=0x5000c50012345678 -D size=8M,serial=TWO,wwn=0x5000c50012345678
# Which disk it is, if serial numbers do not tell or are hard to find: the namespaces of an
# NVMe controller, disks on USB, cheap adapters.  Also disks that the kernel exports.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -a nvme xhci_pci usb_storage loop ext4 configfs nvmet target_core_file ||
    { echo 'Bail out! no modules'; exit 1; }
mount -t configfs none /sys/kernel/config
config=/sys/kernel/config

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
		refused "oserial=NVME0001: ${pair}n$n and ${pair}n[12] are both called that" \
		    if=/tmp/src of="/dev/${pair}n$n" oserial=NVME0001 \
		    force=mounted,swap,held,looped,overlap &&
		    grep -qw "$(wwn "${pair}n1")" err && grep -qw "$(wwn "${pair}n2")" err &&
		    cmp -n 1M "/dev/${pair}n$n" /dev/zero || return
	done
	refused "iserial=NVME0001: " if="/dev/${pair}n1" of=copy iserial=NVME0001 &&
	    [[ ! -e copy ]] && exits 0 "$pardd" if=/tmp/src of="/dev/${other}n1" oserial=OTHER
}
it "uses no serial number that two namespaces have" shared_serial
whole_wwn()
{
	local one two
	one=$(wwn "${pair}n1") two=$(wwn "${pair}n2")
	[[ ${#one} -gt 63 && ${one::63} = "${two::63}" ]] || fail "$one $two" || return
	refused 'not the disk that oserial=' if=/tmp/src of="/dev/${pair}n1" oserial="$two" &&
	    refused 'not the disk that oserial=' if=/tmp/src of="/dev/${pair}n1" oserial="${one::63}" &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/${pair}n1" oserial="$one" && complete &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/${pair}n1" -dv && grep -qx "target_wwn=$one" out
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

shared_wwn()
{
	local disk one='' two=''
	for disk in /sys/block/sd*; do
		! grep -qs ONE "$disk/device/vpd_pg80" || one=/dev/${disk##*/}
		! grep -qs TWO "$disk/device/vpd_pg80" || two=/dev/${disk##*/}
	done
	[[ $one && $two ]] && refused 'oserial=5000c50012345678: sd. and sd. are both called that' \
	    if=/tmp/src of="$one" oserial=5000c50012345678 &&
	    exits 0 "$pardd" if=/tmp/src of="$one" oserial=ONE && complete &&
	    refused 'not the disk' if=/tmp/src of="$one" oserial=TWO &&
	    exits 0 "$pardd" if="$one" of="$two" && complete
}
it "uses no WWN that two disks have, and does not take them for one disk" shared_wwn

usb_serial()
{
	exits 0 "$pardd" -l && listed | grep -q "^$usb .* serial USB4711 " &&
	    exits 0 "$pardd" if=/tmp/src of="$usb" oserial=USB4711 && complete &&
	    exits 0 "$pardd" if="$usb" of=dst map=m wait=1 count=8 && complete &&
	    grep -q serial=USB4711 m &&
	    refused 'its serial number is USB4711' if=/tmp/src of="$usb" oserial=USB471
}
it "knows a USB disk by the serial number of its USB device" usb_serial

# ------------------------------------------------------------------- exported

# nvmet PATH: a namespace of the kernel's NVMe target
nvmet()
{
	local sub=$config/nvmet/subsystems/pardd
	mkdir "$sub" && undo rmdir "$sub" && mkdir "$sub/namespaces/1" &&
	    undo rmdir "$sub/namespaces/1" && echo -n "$1" >"$sub/namespaces/1/device_path" &&
	    echo 1 >"$sub/namespaces/1/buffered_io" &&
	    echo 1 >"$sub/namespaces/1/enable" && undo eval "echo 0 >$sub/namespaces/1/enable"
}
# lio PATH: a disk of the kernel's SCSI target
lio()
{
	local dir=$config/target/core/fileio_0
	mkdir -p "$dir" && undo rmdir "$dir" && mkdir "$dir/a" && undo rmdir "$dir/a" &&
	    echo "fd_dev_name=$1,fd_dev_size=1048576" >"$dir/a/control" &&
	    echo 1 >"$dir/a/enable"
}
exported()
{
	local by=$1 what=$2 node=/dev/${other}n1
	"$what" "$node" || return
	refused "is held by $by.*force=held writes anyway\)$" if=/tmp/src of="$node" \
	    force=mounted,swap,looped,overlap &&
	    exits 0 "$pardd" -l && listed | grep "^$node .*held by $by" &&
	    exits 0 "$pardd" if=/tmp/src of="$node" force=held && complete
}
exported_file()
{
	local by=$1 what=$2
	truncate -s 1M 'a file' && "$what" "$PWD/a file" || return
	refused "the file is held by $by.*force=held writes anyway\)$" if=/tmp/src of='a file' &&
	    exits 0 "$pardd" if=/tmp/src of='a file' force=held && complete
}
not_yet()
{
	nvmet "/dev/${other}n1" && echo 0 >$config/nvmet/subsystems/pardd/namespaces/1/enable &&
	    exits 0 "$pardd" if=/tmp/src of="/dev/${other}n1" && complete
}
it "refuses a disk that the NVMe target exports" exported "the NVMe target" nvmet
it "... and a file" exported_file "the NVMe target" nvmet
it "... but not one that it does not export yet" not_yet
it "refuses a disk that the SCSI target exports as a file" exported "the SCSI target" lio
it "... and a file" exported_file "the SCSI target" lio
