# shellcheck shell=bash disable=SC2119,SC2154
# lab: -j 1 -D size=8M,bus=nvme,serial=NVME0001
# Disks that are not written as others are, and nodes that are none of a disk.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -aq nvme null_blk || { echo 'Bail out! no modules'; exit 1; }
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
it "takes no NVMe controller for a stream" nvme_node /dev/nvme0
onto_nvme()
{
	"$blocks" make img 8M 1 && exits 0 "$pardd" if=img of=/dev/nvme0n1 verify=1 && complete
}
it "writes to the disk itself" onto_nvme

# Zones of 4 MiB, the first two conventional.
null=/sys/kernel/config/nullb/zoned
make_zoned()
{
	mount -t configfs config /sys/kernel/config 2>/dev/null
	mkdir "$null" && echo 4096 >"$null/blocksize" && echo 32 >"$null/size" &&
	    echo 1 >"$null/memory_backed" && echo 1 >"$null/zoned" &&
	    echo 4 >"$null/zone_size" && echo 2 >"$null/zone_nr_conv" &&
	    echo 1 >"$null/power" && zoned=/dev/zoned &&
	    wait_for 10 test -b "$zoned"
}
zoned_target()
{
	"$blocks" make img 8M 1 && refused 'zoned disk' if=img of="$1" "${@:2}" &&
	    refused 'zoned disk' if=img of="$1" "${@:2}" -d &&
	    exits 0 "$pardd" if="$1" of=copy count=9 && complete
}
if make_zoned; then
	it "writes to no zoned disk, and reads it" zoned_target "$zoned"
else
	skip "no null_blk with zones" "writes to no zoned disk"
fi
if sdebug zbc=host-managed zone_size_mb=4 dev_size_mb=32 zone_nr_conv=1; then
	for node in "$SD1" "$SG1" "$BSG1"; do
		it "writes to no zoned SCSI disk, and reads it: ${node%/*}" zoned_target "$node"
	done
	it "nor by the commands of its block node" zoned_target "$SD1" oflag=sgio
else
	skip "no scsi_debug with zones" "writes to no zoned SCSI disk"
fi
