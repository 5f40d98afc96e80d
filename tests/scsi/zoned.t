# shellcheck shell=bash disable=SC2016,SC2119,SC2154
# lab: -j 1 -D size=32M,bus=nvme,serial=ZNS,zones=8M,zcap=6M -D size=32M,bus=nvme,serial=ZNS,zones=8M,zcap=6M -D size=32M,bus=nvme,serial=ZNS,zones=4M -D size=16M,bus=nvme,serial=ZNS,zones=4M,badwrite=10000
# Zoned disks as targets: zone by zone, in order, or not at all.

# shellcheck source=tests/scsi/suite.sh
. ./suite.sh
modprobe -aq nvme null_blk || { echo 'Bail out! no modules'; exit 1; }
wait_for 20 test -b /dev/nvme0n4 || { echo 'Bail out! no NVMe disks'; exit 1; }
a=/dev/nvme0n1 b=/dev/nvme0n2 c=/dev/nvme0n3 bad=/dev/nvme0n4

# Two zones of 8 MiB that hold 6 MiB each, the second in part; the same with
# something where the first has no blocks; 32 MiB.
"$blocks" make /tmp/large 32M 1
{ head -c 6M /tmp/large; head -c 2M /dev/zero; tail -c 3M /tmp/large; } >/tmp/fits
{ head -c 7M /tmp/large; head -c 1M /dev/zero; tail -c 3M /tmp/large; } >/tmp/not

# is_on FILE DISK: all of it, on the medium
is_on()
{
	dd if="$2" bs=1M count=$((($(stat -c %s "$1") + 1048575) >> 20)) iflag=direct status=none |
	    cmp -n "$(stat -c %s "$1")" - "$1"
}

# interrupted_by SIGNAL FILE DISK OPERANDS...: once that much is on the disk
interrupted_by()
{
	local signal=$1 file=$2 disk=$3 pid
	shift 3
	"$tools/ends" how "$pardd" "$@" 2>err &
	until_true 60 is_on "$file" "$disk" 2>/dev/null && read -r _ pid <how && kill -s "$signal" "$pid" || return
	wait $!
	ended signal "$(kill -l "$signal")"
}

tells()
{
	exits 0 "$pardd" -l && listed | grep -q "^$a .* zoned (host-managed)" &&
	    exits 0 "$pardd" -l --json && grep -q '"node": *"/dev/nvme0n1".*"zoned": *"host-managed"' out &&
	    exits 0 "$pardd" if=/tmp/fits of="$a" -dv && grep -qx 'target_zoned=host-managed' out &&
	    grep -qx 'engine=threads (a zoned disk is written in order)' out && grep -qx workers=1 out &&
	    exits 0 "$pardd" if="$a" of=dst -d && grep -q 'zoned (host-managed)' out
}
it "lists them, and says so in the plan" tells
writes_once()
{
	exits 0 "$pardd" if=/tmp/fits of="$a" verify=1 && complete && is_on /tmp/fits "$a" &&
	    refused 'the zone at byte 0 holds data.*oflag=reset' if=/tmp/large of="$a" count=8 &&
	    refused 'the zone at byte 0 holds data' if=/tmp/large of="$a" count=8 -d && is_on /tmp/fits "$a"
}
it "writes empty zones in order, and none that holds data" writes_once
it "goes on where a zone is written next" eval 'head -c 11M /tmp/large | tail -c 1M >part &&
    exits 0 "$pardd" if=part of="$a" bs=1M seek=11 && complete && is_on /tmp/fits "$a" &&
    refused "is written next at byte 12582912, and nowhere else" if=part of="$a" bs=1M seek=13'
resets()
{
	exits 0 "$pardd" if=/tmp/large of="$a" bs=1M count=3 oflag=reset && complete &&
	    head -c 3M /tmp/large >three && is_on three "$a" &&
	    dd if="$a" bs=1M skip=8 count=3 iflag=direct status=none | cmp - <(tail -c 3M /tmp/large) &&
	    refused 'a reset would lose what lies before' if=three of="$a" bs=1M seek=1 oflag=reset
}
it "resets the zones of the range where asked, and no others" resets
no_room()
{
	exits 78 "$pardd" if=/tmp/not of="$a" oflag=reset && says 'the zone has no blocks from there on, and this is not zeros' &&
	    says 'NOT complete'
}
it "is not complete where a zone has no blocks for what is not zeros" no_room
fails()
{
	within 60 exits 55 timeout 50 "$pardd" if=/tmp/large of="$bad" count=16M bs=1 &&
	    says "$bad: writing .* Input/output error" && says 'NOT complete' && head -c 4M /tmp/large >part && is_on part "$bad"
}
it "ends at a write error" fails
it "refuses map=, and says why" refused 'map= cannot be used, for a rescue goes back' \
    if=/tmp/fits of="$b" map=m
it "refuses oflag=sparing" refused 'oflag=sparing cannot be used' if=/tmp/fits of="$b" oflag=sparing
stopped()
{
	head -c 1M /tmp/fits >part && interrupted_by INT part "$b" if=/tmp/fits of="$b" oflag=reset rate=4M &&
	    says 'NOT complete: stopped by SIGINT' && does_not_say 'complete, flushed' && does_not_say oflag=sparing
}
it "says of a copy that was stopped nothing that does not help" stopped
gaps()
{
	truncate -s 16M fs && mke2fs -q fs && usage "used= leaves out what is free, and $b is written in order" \
	    if=fs of="$b" used=only
}
it "refuses used=only, for it would leave gaps" gaps
it "knows oflag=reset for zoned disks only" usage 'reset is for zoned disks' if=/tmp/fits of=dst oflag=reset
many()
{
	exits 0 "$pardd" if=/tmp/fits of="$b" oflag=reset thr=16 bpt=3 && complete && is_on /tmp/fits "$b"
}
it "has one writer, whatever thr= says" many
it "takes a pipe" eval 'exits 0 "$pardd" of="$b" oflag=reset </tmp/fits && complete && is_on /tmp/fits "$b" &&
    cat /tmp/fits | exits 0 "$pardd" of="$b" oflag=reset && complete && is_on /tmp/fits "$b"'

# -------------------------------------------------------- zoned to zoned

clone()
{
	exits 0 "$pardd" if=/tmp/fits of="$a" oflag=reset && exits 0 "$pardd" if="$a" of="$b" oflag=reset verify=1 &&
	    complete && cmp "$a" "$b" &&
	    refused 'is written next at byte 11534336, and nowhere else' if=/tmp/fits of="$b" bs=1M seek=12 count=1 &&
	    exits 0 "$pardd" if=/tmp/fits of="$b" bs=1M seek=16 count=1 && complete
}
it "writes no further than the source is written, so that the pointers are equal" clone
it "refuses zones of another size" refused 'write pointers cannot become equal' if="$a" of="$c" oflag=reset
it "reads one onto what is none" eval 'exits 0 "$pardd" if="$a" of=dst && complete && cmp -n 11M dst /tmp/fits'
it "refuses the NVMe commands to one" refused 'not by commands' if=/tmp/fits of="$a" oflag=nvme

# ---------------------------------------------------- conventional zones, SMR

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
conventional()
{
	head -c 14M /tmp/large >img && exits 0 "$pardd" if=img of="$1" verify=1 && complete && is_on img "$1" &&
	    exits 0 "$pardd" if=img of="$1" count=$((4 << 20))B && complete &&
	    refused 'holds data' if=img of="$1" && exits 0 "$pardd" if=img of="$1" oflag=reset && complete &&
	    is_on img "$1" && refused 'within a logical block of 4096' if=img of="$1" bs=512 seek=8193 count=8
}
if make_zoned; then
	it "writes conventional zones as any disk" conventional "$zoned"
else
	skip "no null_blk with zones" "writes conventional zones as any disk"
fi
smr()
{
	head -c 14M /tmp/large >img && exits 0 "$pardd" if=img of="$SD1" && complete && is_on img "$SD1" &&
	    refused 'holds data' if=img of="$SD1" && refused 'zoned disk' if=img of="$SG1" &&
	    refused 'zoned disk' if=img of="$BSG1" -d && refused 'zoned disk' if=img of="$SD1" oflag=sgio &&
	    exits 0 "$pardd" if="$SG1" of=dst bs=1M count=14 && complete && cmp dst img
}
if sdebug zbc=host-managed zone_size_mb=4 dev_size_mb=32 zone_nr_conv=1; then
	it "writes a SCSI disk by its block node, and reads it by any" smr
else
	skip "no scsi_debug with zones" "writes a zoned SCSI disk"
fi
